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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFields {
    /// A pure ACK: no payload, no SYN, FIN or RST.
    pub pure: bool,
    /// Carries SACK blocks, ECE or CWR, which a filter must not lose.
    pub precious: bool,
    /// Cumulative acknowledgement, the low 32 bits.
    pub number: u32,
}

impl AckFields {
    /// Those of a packet that is no TCP segment.
    pub const NONE: Self = Self { pure: false, precious: false, number: 0 };

    /// Those of a segment that acknowledges up to `number`. `bare` has no payload, and neither SYN, FIN nor RST.
    #[must_use]
    #[inline]
    pub const fn of_segment(bare: bool, number: u32, has_ece_or_cwr: bool, has_sack: bool) -> Self {
        Self { pure: bare, precious: bare && (has_ece_or_cwr || has_sack), number }
    }
}

/// The signals of a packet that a host has to put together for a discipline that reads them.
///
/// A host may leave them at "unknown" for a discipline that reads neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// [`Packet::ack`].
    pub ack: bool,
    /// [`Packet::window`].
    pub window: bool,
}

impl Reads {
    /// Neither.
    pub const NONE: Self = Self { ack: false, window: false };

    /// One of them.
    #[must_use]
    pub const fn any(self) -> bool {
        self.ack || self.window
    }
}

/// A packet as an algorithm sees it: facts about it, and the host's handle to its contents.
///
/// Handed over by value, so that it is in one place only: queued, forwarded or dropped.
/// `Clone` exists for checkpoints of a whole simulation. There is no `Default`: a host that forgets a signal does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// A packet of this size without any signal: for empty places, tests and benchmarks. What carries packets names every field.
    #[must_use]
    pub const fn without_signals(bytes: u32) -> Self {
        Self {
            enqueued: Instant::ZERO,
            serial: 0,
            handle: 0,
            flow: 0,
            source: 0,
            destination: 0,
            bytes,
            window: 0,
            ecn: Ecn::NotEct,
            dscp: 0,
            ack: AckFields::NONE,
        }
    }

    /// Size on the wire.
    #[must_use]
    pub const fn size(&self) -> Bytes {
        Bytes::new(self.bytes as u64)
    }
}

const _: () = assert!(size_of::<Packet>() <= 56);
