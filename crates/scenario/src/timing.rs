//! How long frames of an 802.11 cell take.

use crate::network::Cell;
use sojourn_units::{BitRate, Span};

/// Bytes of an RTS, check sequence included (9.3.1), as of the other control frames.
pub const RTS: u64 = 20;
/// Bytes of a CTS.
pub const CTS: u64 = 14;
/// Bytes of an acknowledgement.
pub const ACK: u64 = 14;
/// Bytes of a compressed block acknowledgement.
pub const BLOCK_ACK: u64 = 32;

/// Service field and tail bits of an OFDM frame (17.3.5).
const SERVICE_AND_TAIL: u64 = 16 + 6;

const SECOND: u64 = 1_000_000_000;

impl Cell {
    /// The time for which the channel must be idle (10.3.2.3.5).
    #[must_use]
    pub fn difs(&self) -> Span {
        self.sifs + self.slot * 2
    }

    /// The time for which it must be idle after a frame that could not be read (10.3.2.3.7).
    #[must_use]
    pub fn long_space(&self) -> Span {
        self.sifs + self.control_time(ACK) + self.difs()
    }

    /// Air time of `psdu` bytes of data at `rate`, preamble and PHY header included.
    #[must_use]
    pub fn data_time(&self, psdu: u64, rate: BitRate) -> Span {
        self.preamble + self.payload_time(psdu, rate)
    }

    /// Air time of a control frame.
    #[must_use]
    pub fn control_time(&self, bytes: u64) -> Span {
        self.control_preamble + self.payload_time(bytes, self.basic_rate)
    }

    fn payload_time(&self, bytes: u64, rate: BitRate) -> Span {
        let bits = bytes * 8;
        if self.symbol.is_zero() {
            return Span::from_nanos((bits * SECOND).div_ceil(rate.bit_s().max(1)));
        }
        // Bits of a symbol are rate times its length; the last symbol is padded.
        let symbols = u128::from((bits + SERVICE_AND_TAIL) * SECOND)
            .div_ceil((u128::from(rate.bit_s()) * u128::from(self.symbol.nanos())).max(1));
        self.symbol * symbols as u64
    }

    /// Bytes of the longest A-MPDU at `rate`: in size, and in time.
    #[must_use]
    pub fn longest_aggregate(&self, rate: BitRate) -> u64 {
        let time = self.aggregate_duration.saturating_sub(self.preamble);
        let (time, tail) = match self.symbol.nanos() {
            0 => (time.nanos(), 0),
            symbol => (time.nanos() / symbol * symbol, SERVICE_AND_TAIL),
        };
        let bits = u128::from(time) * u128::from(rate.bit_s()) / u128::from(SECOND);
        let most = u128::from(self.aggregate_bytes.get());
        (bits.saturating_sub(u128::from(tail)) / 8).min(most) as u64
    }

    /// Whether data of so many bytes are announced by an RTS.
    #[must_use]
    pub fn needs_rts(&self, psdu: u64) -> bool {
        self.rts_threshold.is_some_and(|threshold| psdu > threshold.get())
    }

    /// A frame of `bytes` within an A-MPDU: a delimiter before it, padding after it (9.7.1).
    #[must_use]
    pub fn subframe(bytes: u64) -> u64 {
        4 + bytes.next_multiple_of(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(keys: &str) -> Cell {
        let text = format!(
            "name = \"x\"\nduration = \"1 s\"\n[[nodes]]\nname = \"s\"\n[[cells]]\nname = \"c\"\naccess_point = \"ap\"\n\
             stations = [\"s\"]\n{keys}\n[[flows]]\nname = \"f\"\nfrom = \"s\"\nto = \"ap\"\ntransport = {{kind = \"tcp\"}}\n"
        );
        let network = crate::load(&text, "test.toml", &[]).and_then(|document| document.resolve());
        match network {
            Ok(mut network) => network.cells.remove(0),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn the_longest_aggregate_by_hand() {
        let longest = |keys: &str, mbit_s: u64| cell(keys).longest_aggregate(BitRate::from_bit_s(mbit_s * 1_000_000));
        // 802.11n at 65 Mbit/s: 36 us of preamble, symbols of 4 us and 260 bits, 22 bits of service and tail.
        // (5484 - 36) / 4 = 1362 symbols: (354,120 - 22) / 8.
        assert_eq!(longest("profile = \"802.11n\"", 65), 44_262);
        // 1362.5 symbols are 1362.
        assert_eq!(longest("profile = \"802.11n\"\naggregate_duration = \"5.486 ms\"", 65), 44_262);
        // 2491 symbols would carry 80,954 B.
        assert_eq!(longest("profile = \"802.11n\"\naggregate_duration = \"10 ms\"", 65), 65_535);
        // Without symbols, after 192 us: 9808 us at 11 Mbit/s.
        assert_eq!(longest("profile = \"802.11b\"\naggregate_duration = \"10 ms\"", 11), 13_486);
    }

    #[test]
    fn a_subframe_has_a_delimiter_and_padding() {
        assert_eq!([1, 4, 1538, 1540].map(Cell::subframe), [8, 8, 1544, 1544]);
    }
}
