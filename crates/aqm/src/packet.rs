use sojourn_units::{Bytes, Instant};

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, the L4S identifier (RFC 9331).
    Ect1 = 1,
    /// ECN-capable.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// From the two bits of the header.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// What an ACK filter needs to know of a TCP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFields {
    /// A pure ACK: no payload, no SYN, FIN or RST.
    pub pure: bool,
    /// Carries SACK blocks, ECE or CWR, which a filter must not lose.
    pub precious: bool,
    /// Cumulative acknowledgement, the low 32 bits.
    pub number: u32,
}

/// A packet as an algorithm sees it: facts about it, and the host's handle to its contents.
///
/// Handed over by value, so that it is in one place only: queued, forwarded or dropped.
/// `Clone` exists for checkpoints of a whole simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// When it joined the queue; set by the discipline.
    pub enqueued: Instant,
    /// Number of this arrival at this queue, counted by the host from 0.
    pub serial: u64,
    /// The host's own name for the contents (a slot, a frame address).
    pub handle: u32,
    /// Hash of the five-tuple.
    pub flow: u32,
    /// Hash of the source host.
    pub source: u32,
    /// Hash of the destination host.
    pub destination: u32,
    /// Size on the wire.
    pub bytes: u32,
    /// Congestion window hint in packets (SHRED); 0 when unknown.
    pub window: u16,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// For ACK filters.
    pub ack: AckFields,
}

impl Packet {
    /// Size on the wire.
    #[must_use]
    pub const fn size(&self) -> Bytes {
        Bytes::new(self.bytes as u64)
    }
}

const _: () = assert!(size_of::<Packet>() <= 56);
