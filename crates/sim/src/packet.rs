//! Packets on their way: a slab of records of one cache line, named by 4-byte handles.

use sojourn_aqm::{AckFields, Ecn};
use sojourn_transport::segment::{unstamped_saves, Accurate};
use sojourn_transport::{Ack, Control, Data, Hints, SackBlock};
use sojourn_units::Instant;

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// A TCP acknowledgement.
    Ack(Packed),
    /// Anything else; the sizes of all lie at one place.
    Load(Load, Payload),
}

/// What a packet carries that is no acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload {
    /// A TCP segment.
    Data(Data),
    /// A UDP datagram.
    Datagram(Datagram),
    /// One that its receiver returns.
    Request(Datagram),
    /// One that comes back.
    Reply(Datagram),
}

/// What data has that acknowledgements do without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// IP size.
    pub bytes: u32,
    /// Number of this packet among those of its flow, in the order of sending.
    pub ordinal: u32,
    pub ecn: Ecn,
    /// ACE of a TCP segment and its sender's window, as in [`Hints`], where somebody wants to know; else zeros.
    pub ace: u8,
    pub window: u16,
}

impl Load {
    /// Of a packet that tells no hints.
    #[inline(always)]
    pub fn new(bytes: u32, ordinal: u32, ecn: Ecn) -> Self {
        Self { bytes, ordinal, ecn, ace: 0, window: 0 }
    }

    /// With hints.
    pub fn telling(self, Hints { window, ace }: Hints) -> Self {
        Self { ace, window, ..self }
    }
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram {
    pub sent: Instant,
    pub payload: u32,
}

/// An acknowledgement with its IP size, in the place of an [`Ack`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    ack: u64,
    echo: Instant,
    received_at: Instant,
    sack: [SackBlock; 3],
    window: u32,
    accurate: Accurate,
    bytes: u8,
    control_bits: ControlBits,
}

/// [`Control`] and ECE.
#[derive(Clone, Copy, Debug)]
enum ControlBits {
    Plain,
    Echo,
    Syn,
    SynEcho,
    Fin,
    FinEcho,
}

impl Packed {
    /// `ack` on the wire, with timestamps or without.
    #[inline(always)]
    pub fn new(ack: &Ack, unstamped: bool) -> Self {
        let saved = if unstamped { unstamped_saves(ack.control == Control::Syn) } else { 0 };
        let control_bits = match (ack.control, ack.ece) {
            (Control::None, false) => ControlBits::Plain,
            (Control::None, true) => ControlBits::Echo,
            (Control::Syn, false) => ControlBits::Syn,
            (Control::Syn, true) => ControlBits::SynEcho,
            (Control::Fin, false) => ControlBits::Fin,
            (Control::Fin, true) => ControlBits::FinEcho,
        };
        let Ack { ack: number, echo, received_at, sack, window, accurate, .. } = *ack;
        let bytes = (ack.header_bytes().get() as u32 - saved) as u8;
        Self { ack: number, echo, received_at, sack, window, accurate, bytes, control_bits }
    }

    /// IP size.
    #[inline(always)]
    pub fn bytes(&self) -> u32 {
        u32::from(self.bytes)
    }

    /// See [`Packet::ack_fields`]. ECE and CWR are two of ACE's three bits.
    fn fields(&self) -> AckFields {
        let (bare, ece) = match self.control_bits {
            ControlBits::Plain => (true, false),
            ControlBits::Echo => (true, true),
            ControlBits::Syn | ControlBits::SynEcho | ControlBits::Fin | ControlBits::FinEcho => (false, false),
        };
        let has_sack = self.sack[0].len > 0;
        AckFields::of_segment(bare, number_of(self.ack), ece || self.accurate.ace & 0b011 != 0, has_sack)
    }

    /// As it was.
    #[inline(always)]
    pub fn unpack(&self) -> Ack {
        let (control, ece) = match self.control_bits {
            ControlBits::Plain => (Control::None, false),
            ControlBits::Echo => (Control::None, true),
            ControlBits::Syn => (Control::Syn, false),
            ControlBits::SynEcho => (Control::Syn, true),
            ControlBits::Fin => (Control::Fin, false),
            ControlBits::FinEcho => (Control::Fin, true),
        };
        let Self { ack, echo, received_at, sack, window, accurate, .. } = *self;
        Ack { ack, echo, received_at, sack, window, accurate, ece, control }
    }
}

/// The number by which TCP's header acknowledges up to `offset`: the SYN takes the first.
pub(crate) fn number_of(offset: u64) -> u32 {
    offset.wrapping_add(1) as u32
}

/// The ordinal number of a copy.
const COPY: u32 = u32::MAX;

/// A packet between sender and receiver.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Packet {
    pub body: Body,
    pub flow: u32,
    /// Index into the table of routes: the port that the packet is at or goes to next.
    pub hop: u32,
}

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// IP size.
    #[inline]
    pub fn bytes(&self) -> u32 {
        match &self.body {
            Body::Load(load, _) => load.bytes,
            Body::Ack(ack) => u32::from(ack.bytes),
        }
    }

    /// The ECN field.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match &self.body {
            Body::Load(load, _) => load.ecn,
            Body::Ack(ack) => ack.accurate.ecn(),
        }
    }

    /// What an ACK filter is told of it, as the headers of [`Frame`](crate::port::Tap) have it.
    pub fn ack_fields(&self) -> AckFields {
        match &self.body {
            Body::Ack(ack) => ack.fields(),
            // The receiver sends no data: what acknowledges it says 1, after the SYN.
            Body::Load(load, Payload::Data(data)) => {
                let says_ecn = data.has(Data::CWR) || load.ace & 0b011 != 0;
                AckFields::of_segment(data.is_bare(), 1, says_ecn, false)
            }
            Body::Load(..) => AckFields::NONE,
        }
    }

    /// The congestion window of its sender when it was sent, in packets; 0 when unknown.
    pub fn window(&self) -> u16 {
        match &self.body {
            Body::Load(load, Payload::Data(_)) => load.window,
            Body::Ack(_) | Body::Load(..) => 0,
        }
    }

    /// It goes back to where the flow's data come from.
    #[inline]
    pub fn goes_back(&self) -> bool {
        matches!(self.body, Body::Ack(_) | Body::Load(_, Payload::Reply(_)))
    }

    /// A queue has marked it.
    #[inline]
    pub fn mark(&mut self) {
        match &mut self.body {
            Body::Load(load, _) => load.ecn = Ecn::Ce,
            Body::Ack(ack) => ack.accurate.set_ecn(Ecn::Ce),
        }
    }

    /// Of a packet of the flow's data, with payload: its ordinal number. A copy has none.
    #[inline]
    pub fn ordinal(&self) -> Option<u32> {
        let ordinal = match &self.body {
            Body::Ack(_) | Body::Load(_, Payload::Data(Data { len: 0, .. })) => return None,
            Body::Load(load, _) => load.ordinal,
        };
        (ordinal != COPY).then_some(ordinal)
    }

    /// What a link makes of it that doubles it. Its loss is none of the flow, and a datagram's payload counts once.
    pub fn copy(&self) -> Self {
        let mut copy = *self;
        if let Body::Load(load, payload) = &mut copy.body {
            load.ordinal = COPY;
            match payload {
                Payload::Data(_) => {}
                Payload::Datagram(datagram) | Payload::Request(datagram) | Payload::Reply(datagram) => {
                    datagram.payload = 0;
                }
            }
        }
        copy
    }
}

/// All packets in flight.
#[derive(Clone, Debug)]
pub(crate) struct Slab {
    packets: Vec<Packet>,
    /// The first free slot; a free slot's `hop` names the next.
    free: u32,
}

/// Ends the list of free slots.
const NONE: u32 = u32::MAX;

impl Default for Slab {
    fn default() -> Self {
        Self { packets: Vec::new(), free: NONE }
    }
}

impl Slab {
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let handle = self.free;
        if let Some(slot) = self.packets.get_mut(handle as usize) {
            self.free = slot.hop;
            // Put together where it lies: `grow` does not see it.
            *slot = packet;
        }
        handle
    }

    /// One more slot: none is free.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let load = Load::new(0, 0, Ecn::NotEct);
        let body = Body::Load(load, Payload::Datagram(Datagram { sent: Instant::ZERO, payload: 0 }));
        self.free = self.packets.len() as u32;
        self.packets.push(Packet { body, flow: 0, hop: NONE });
    }

    #[inline]
    pub fn get(&self, handle: u32) -> &Packet {
        &self.packets[handle as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, handle: u32) -> &mut Packet {
        &mut self.packets[handle as usize]
    }

    /// Frees the slot; what was in it stays readable through the reference.
    #[inline]
    pub fn remove(&mut self, handle: u32) -> &Packet {
        let packet = &mut self.packets[handle as usize];
        packet.hop = self.free;
        self.free = handle;
        packet
    }

    /// Packets in use; it counts the slots that are free.
    pub fn len(&self) -> usize {
        let following = |slot: &u32| self.packets.get(*slot as usize).map(|free| free.hop);
        let free = std::iter::successors(Some(self.free), following).take_while(|slot| *slot != NONE);
        // Bound: a list that bites its own tail would count more slots than there are.
        self.packets.len() - free.take(self.packets.len()).count()
    }
}
