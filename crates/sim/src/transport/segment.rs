//! What TCP puts on the wire, reduced to what the simulation needs.
//!
//! The records are small and `Copy`: a packet of the engine holds one inside 64 bytes.
//! Header sizes are the real ones, so that a 1448 B payload is a 1500 B IP packet.

use sojourn_units::{Bytes, Instant};

/// IPv4 header without options (RFC 791).
pub const IPV4_HEADER: Bytes = Bytes::new(20);
/// TCP header without options (RFC 9293).
pub const TCP_HEADER: Bytes = Bytes::new(20);
/// Timestamps option with its padding (RFC 7323, appendix A).
pub const TIMESTAMPS_OPTION: Bytes = Bytes::new(12);
/// What a data segment carries besides its payload: IPv4, TCP and timestamps, 52 B.
pub const DATA_HEADER: Bytes = Bytes::new(20 + 20 + 12);

/// A data segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Offset of the first byte in the stream.
    pub seq: u64,
    /// When it left the sender: the value of the timestamps option (TSval, in nanoseconds instead of milliseconds).
    pub sent: Instant,
    /// Payload in bytes.
    pub len: u32,
    /// Any of [`Data::RETRANSMIT`], [`Data::CWR`], [`Data::FIN`], [`Data::ECT`], [`Data::ECT_1`].
    pub flags: u8,
}

impl Data {
    /// These bytes were sent before.
    pub const RETRANSMIT: u8 = 1;
    /// Congestion window reduced (RFC 3168): the sender has answered the echoed mark.
    pub const CWR: u8 = 1 << 1;
    /// The last byte of a finite transfer is in this segment.
    pub const FIN: u8 = 1 << 2;
    /// ECN-capable transport: a queue may mark this packet instead of dropping it. Not on retransmissions (RFC 3168, 6.1.5)
    /// unless the receiver's feedback is accurate (RFC 8311, 4.3).
    pub const ECT: u8 = 1 << 3;
    /// The codepoint is ECT(1), the identifier of L4S (RFC 9331), not ECT(0); only with [`Data::ECT`].
    pub const ECT_1: u8 = 1 << 4;

    /// True when `flag` is set.
    #[must_use]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Offset just after the last byte.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64
    }

    /// Size of the IP packet.
    #[must_use]
    pub const fn ip_bytes(&self) -> Bytes {
        Bytes::new(DATA_HEADER.get() + self.len as u64)
    }
}

/// One block of received data above the cumulative acknowledgement (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// Distance of its first byte from the cumulative acknowledgement, in bytes.
    pub offset: u32,
    /// Its length in bytes; 0 for no block.
    pub len: u32,
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
    /// CE-marked packets received so far, modulo 2^16 (AccECN's counter with more bits).
    pub ce_packets: u16,
    /// ECN echo (RFC 3168).
    pub ece: bool,
}

impl Ack {
    /// SACK blocks carried.
    #[must_use]
    pub fn sack_blocks(&self) -> usize {
        self.sack.iter().take_while(|block| block.len > 0).count()
    }

    /// Size of the IP packet: 52 B, and with SACK blocks two bytes of padding, two of option header and 8 B a block.
    #[must_use]
    pub fn header_bytes(&self) -> Bytes {
        match self.sack_blocks() {
            0 => DATA_HEADER,
            n => DATA_HEADER + Bytes::new(4 + 8 * n as u64),
        }
    }
}

// The engine's packet has 64 bytes.
const _: () = assert!(size_of::<Data>() <= 24 && size_of::<Ack>() <= 56);

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
