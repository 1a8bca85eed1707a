//! How long frames take.

use crate::scenario::Cell;
use sojourn_units::{BitRate, Span};

/// Lengths of control frames in bytes, check sequence included (9.3.1).
pub(super) const RTS: u64 = 20;
pub(super) const CTS: u64 = 14;
pub(super) const ACK: u64 = 14;
/// A compressed block acknowledgement.
pub(super) const BLOCK_ACK: u64 = 32;

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
    pub(crate) fn long_space(&self) -> Span {
        self.sifs + self.control_time(ACK) + self.difs()
    }

    /// Air time of `psdu` bytes of data at `rate`, preamble and PHY header included.
    #[must_use]
    pub fn data_time(&self, psdu: u64, rate: BitRate) -> Span {
        self.preamble + self.payload_time(psdu, rate)
    }

    /// Air time of a control frame.
    pub(crate) fn control_time(&self, bytes: u64) -> Span {
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
    pub(super) fn longest_aggregate(&self, rate: BitRate) -> u64 {
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
    pub(super) fn needs_rts(&self, psdu: u64) -> bool {
        self.rts_threshold.is_some_and(|threshold| psdu > threshold.get())
    }

    /// A frame of `bytes` within an A-MPDU: a delimiter before it, padding after it (9.7.1).
    pub(super) fn subframe(bytes: u64) -> u64 {
        4 + bytes.next_multiple_of(4)
    }
}
