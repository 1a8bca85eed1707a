//! What TCP puts on the wire, reduced to what the simulation needs.
//!
//! The records are small and `Copy`: a packet of the engine holds one inside 64 bytes.
//! Header sizes are the real ones, so that a 1448 B payload is a 1500 B IP packet.

use sojourn_aqm::Ecn;
use sojourn_units::{Bytes, Instant};

/// IPv4 header without options (RFC 791).
pub const IPV4_HEADER: Bytes = Bytes::new(20);
/// TCP header without options (RFC 9293).
pub const TCP_HEADER: Bytes = Bytes::new(20);
/// Timestamps option with its padding (RFC 7323, appendix A).
pub const TIMESTAMPS_OPTION: Bytes = Bytes::new(12);
/// What a data segment carries besides its payload: IPv4, TCP and timestamps, 52 B.
pub const DATA_HEADER: Bytes = Bytes::new(20 + 20 + 12);
/// A SYN or a SYN-ACK: besides timestamps it has the options of maximum segment size (4 B), SACK permitted (2 B, in the
/// place of the timestamps' padding) and window scale (3 B and one of padding), 60 B.
pub const SYN_HEADER: Bytes = Bytes::new(20 + 20 + 20);

/// What a packet is shorter by without the timestamps option: a SYN's other options then need padding of their own (RFC 7323,
/// appendix A).
#[must_use]
pub const fn unstamped_saves(is_syn: bool) -> u32 {
    if is_syn {
        8
    } else {
        12
    }
}

/// A segment of the sender's: data, or one without payload that opens, closes, confirms or probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Offset of the first byte in the stream; of a segment that takes none of it, the next new byte's.
    pub seq: u64,
    /// When it left the sender: the value of the timestamps option (TSval, in nanoseconds instead of milliseconds).
    pub sent: Instant,
    /// Payload in bytes.
    pub len: u32,
    /// Any of [`Data::RETRANSMIT`], [`Data::CWR`], [`Data::FIN`], [`Data::ECT`], [`Data::ECT_1`], [`Data::SYN`],
    /// [`Data::LAST`], [`Data::PUSH`].
    pub flags: u8,
}

impl Data {
    /// These bytes were sent before.
    pub const RETRANSMIT: u8 = 1;
    /// Congestion window reduced (RFC 3168): the sender has answered the echoed mark.
    /// On a SYN, ECE and CWR together: the sender asks for ECN (RFC 3168, 6.1.1).
    pub const CWR: u8 = 1 << 1;
    /// No more data: this takes one place in the sequence, behind the last byte (RFC 9293, 3.6).
    pub const FIN: u8 = 1 << 2;
    /// ECN-capable transport: a queue may mark this packet instead of dropping it. Not on retransmissions (RFC 3168, 6.1.5)
    /// unless the receiver's feedback is accurate (RFC 8311, 4.3).
    pub const ECT: u8 = 1 << 3;
    /// The codepoint is ECT(1), the identifier of L4S (RFC 9331), not ECT(0); only with [`Data::ECT`].
    pub const ECT_1: u8 = 1 << 4;
    /// Opens the connection (RFC 9293, 3.5). Offsets count from the first byte of data, so that it takes no place in them.
    pub const SYN: u8 = 1 << 5;
    /// The last byte of a transfer without FIN is in this segment: what a sender without handshake says in its place.
    pub const LAST: u8 = 1 << 6;
    /// PSH (RFC 9293, 3.9.1.2): a receiver whose application has read everything acknowledges it at once.
    pub const PUSH: u8 = 1 << 7;

    /// On a SYN with [`Data::CWR`]: AE, so that the sender asks for Accurate ECN (RFC 9768, 3.1.1). A SYN has no last byte.
    pub const AE: u8 = Self::LAST;

    /// The ECN field, by [`Data::ECT`] and [`Data::ECT_1`]; the second alone says nothing.
    #[must_use]
    #[inline(always)]
    pub fn codepoint(&self) -> Ecn {
        const BY_FLAGS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1];
        const _: () = assert!(Data::ECT == 1 << 3 && Data::ECT_1 == 1 << 4);
        BY_FLAGS[usize::from(self.flags >> 3 & 3)]
    }

    /// True when `flag` is set.
    #[must_use]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Offset just after the last byte, a FIN included.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64 + (self.flags & Self::FIN != 0) as u64
    }

    /// Neither payload nor FIN nor SYN: a bare acknowledgement, or a probe of a closed window.
    #[must_use]
    pub const fn is_bare(&self) -> bool {
        self.len == 0 && self.flags & (Self::FIN | Self::SYN) == 0
    }

    /// Size of the IP packet with timestamps; without, [`unstamped_saves`].
    #[must_use]
    pub const fn ip_bytes(&self) -> Bytes {
        let header = if self.flags & Self::SYN == 0 { DATA_HEADER } else { SYN_HEADER };
        Bytes::new(header.get() + self.len as u64)
    }
}

/// What an acknowledgement says of the connection besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// Nothing.
    #[default]
    None,
    /// It is a SYN-ACK; with `ece` it agrees to ECN.
    Syn,
    /// The receiver closes its half, too.
    Fin,
}

/// One block of received data above the cumulative acknowledgement (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// Distance of its first byte from the cumulative acknowledgement, in bytes; below zero, modulo 2^32, in a DSACK of older data
    /// (RFC 2883).
    pub offset: u32,
    /// Its length in bytes; 0 for no block.
    pub len: u32,
}

impl SackBlock {
    /// It is a DSACK of data before the cumulative acknowledgement.
    #[must_use]
    pub const fn is_below(&self) -> bool {
        self.offset > u32::MAX / 2
    }
}

/// Where the ACE field starts from (RFC 9768, 3.2.1).
pub const ACE_AT_START: u8 = 5;
/// It has three bits.
pub const ACE_MASK: u8 = 7;
/// What ACE says of a SYN or of a SYN-ACK that arrived with this codepoint (RFC 9768, tables 2 and 4).
#[must_use]
pub const fn ace_of(codepoint: Ecn) -> u8 {
    match codepoint {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}
/// The option of Accurate ECN with two counters; with the timestamps option there is room for two SACK blocks beside it.
pub const COUNTERS_OPTION: Bytes = Bytes::new(8);

/// Counters of the option of Accurate ECN (RFC 9768, 3.2.3), in bytes of payload modulo 2^24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// ECEB: received marked.
    pub marked: u32,
    /// EE0B or EE1B: received with the codepoint that the sender uses, plus 1.
    pub unmarked: u32,
}

impl From<Counters> for SackBlock {
    fn from(Counters { marked, unmarked }: Counters) -> Self {
        Self { offset: marked, len: unmarked }
    }
}

impl From<SackBlock> for Counters {
    fn from(SackBlock { offset, len }: SackBlock) -> Self {
        Self { marked: offset, unmarked: len }
    }
}

/// What an acknowledgement says of Accurate ECN, zero where the connection does not speak it, and its own ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(2))]
pub struct Accurate {
    /// The ACE field (RFC 9768, 3.2.2), AE, CWR and ECE: CE-marked packets received so far, from 5 on, modulo 8. Of a SYN-ACK: how
    /// the SYN was marked, never 0.
    pub ace: u8,
    /// Whether it has the option, and above that the ECN field of the IP header.
    bits: u8,
}

impl Accurate {
    const OPTION: u8 = 1;

    /// With this ACE field, option or none, and ECN field.
    #[must_use]
    pub const fn new(ace: u8, has_counters: bool, ecn: Ecn) -> Self {
        Self { ace, bits: has_counters as u8 | (ecn as u8) << 1 }
    }

    /// The third SACK block's place holds the option, [`Ack::counters`].
    #[must_use]
    #[inline(always)]
    pub const fn has_counters(self) -> bool {
        self.bits & Self::OPTION != 0
    }

    /// The ECN field of its IP header.
    #[must_use]
    #[inline(always)]
    pub const fn ecn(self) -> Ecn {
        Ecn::from_bits(self.bits >> 1)
    }

    /// Changes the ECN field.
    #[inline(always)]
    pub const fn set_ecn(&mut self, ecn: Ecn) {
        self.bits = self.bits & Self::OPTION | (ecn as u8) << 1;
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// Everything before this offset has arrived.
    pub ack: u64,
    /// TSecr: the `sent` of the segment that RFC 7323 has echoed.
    pub echo: Instant,
    /// When that segment arrived; `received_at - echo` is its one-way delay.
    pub received_at: Instant,
    /// Blocks above `ack`, the most recently changed first; unused ones last, with `len` 0.
    pub sack: [SackBlock; 3],
    /// Receive window in bytes, exact (the window scale option loses nothing here).
    pub window: u32,
    /// What Accurate ECN adds.
    pub accurate: Accurate,
    /// ECN echo (RFC 3168).
    pub ece: bool,
    /// SYN or FIN of the receiver.
    pub control: Control,
}

impl Ack {
    /// SACK blocks carried.
    #[must_use]
    #[inline(always)]
    pub fn sack_blocks(&self) -> usize {
        match &self.sack {
            [SackBlock { len: 0, .. }, ..] => 0,
            [_, SackBlock { len: 0, .. }, _] => 1,
            [.., third] if third.len == 0 || self.accurate.has_counters() => 2,
            _ => 3,
        }
    }

    /// Its SACK blocks.
    #[inline]
    pub fn blocks(&self) -> impl Iterator<Item = &SackBlock> {
        let [first, second, third] = &self.sack;
        let third = if self.accurate.has_counters() { &SackBlock { offset: 0, len: 0 } } else { third };
        [first, second, third].into_iter().take_while(|block| block.len > 0)
    }

    /// Of a counter of the option.
    pub const COUNTER_MASK: u32 = (1 << 24) - 1;

    /// Size of the option of Accurate ECN.
    #[inline]
    const fn option_bytes(&self) -> Bytes {
        Bytes::new(COUNTERS_OPTION.get() * self.accurate.has_counters() as u64)
    }

    /// The option of Accurate ECN, where it has one.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        self.accurate.has_counters().then_some(self.sack[2].into())
    }

    /// Gives it the option, in the place of the third SACK block.
    pub fn set_counters(&mut self, counters: Counters) {
        self.accurate.bits |= Accurate::OPTION;
        self.sack[2] = counters.into();
    }

    /// Size of the IP packet with timestamps; without, [`unstamped_saves`]. 52 B, and with SACK blocks two bytes of padding, two
    /// of option header and 8 B a block.
    #[must_use]
    #[inline(always)]
    pub fn header_bytes(&self) -> Bytes {
        match self.sack_blocks() {
            _ if self.control == Control::Syn => SYN_HEADER,
            0 => DATA_HEADER + self.option_bytes(),
            n => DATA_HEADER + self.option_bytes() + Bytes::new(4 + 8 * n as u64),
        }
    }
}

// The engine's packet has 64 bytes.
const _: () = assert!(size_of::<Data>() <= 24 && size_of::<Ack>() <= 56);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fin_takes_one_place_in_the_sequence_and_no_byte_on_the_wire() {
        let fin = Data { seq: 1448, len: 100, flags: Data::FIN, ..Data::default() };
        assert_eq!((fin.end(), fin.ip_bytes()), (1549, Bytes::new(152)));
        let last = Data { flags: Data::LAST, ..fin };
        assert_eq!(last.end(), 1548);
    }

    #[test]
    fn sizes_on_the_wire() {
        let data = Data { len: 1448, ..Data::default() };
        assert_eq!(data.ip_bytes(), Bytes::new(1500));
        assert_eq!(DATA_HEADER, IPV4_HEADER + TCP_HEADER + TIMESTAMPS_OPTION);
        let mut ack = Ack::default();
        assert_eq!(ack.header_bytes(), Bytes::new(52));
        ack.sack[0] = SackBlock { offset: 1448, len: 1448 };
        // 2 NOP + kind and length + 8 = 12 more.
        assert_eq!(ack.header_bytes(), Bytes::new(64));
        ack.sack = [ack.sack[0]; 3];
        assert_eq!(ack.header_bytes(), Bytes::new(80));
        // The option of Accurate ECN with two counters has 8 B (RFC 9768, 3.2.3), and two blocks remain: 52 + 4 + 16 + 8.
        ack.set_counters(Counters { marked: 7, unmarked: 9 });
        assert_eq!((ack.header_bytes(), ack.sack_blocks()), (Bytes::new(80), 2));
        assert_eq!(ack.counters(), Some(Counters { marked: 7, unmarked: 9 }));
        // RFC 793's 20 and 20, MSS 4, SACK permitted 2, timestamps 10, NOP 1, window scale 3: as Linux sends it.
        assert_eq!(Data { flags: Data::SYN, ..Data::default() }.ip_bytes(), Bytes::new(40 + 4 + 2 + 10 + 1 + 3));
        assert_eq!(Ack { control: Control::Syn, ..Ack::default() }.header_bytes(), SYN_HEADER);
        // Without timestamps: MSS 4, NOP NOP SACK permitted 4, NOP window scale 4.
        assert_eq!(SYN_HEADER, Bytes::new(40 + 4 + 4 + 4) + Bytes::new(u64::from(unstamped_saves(true))));
        assert_eq!(DATA_HEADER, IPV4_HEADER + TCP_HEADER + Bytes::new(u64::from(unstamped_saves(false))));
    }
}
