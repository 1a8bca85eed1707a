//! Packets on their way: a slab of small records, named by 4-byte handles.

use crate::transport::{Ack, Data};
use sojourn_aqm::Ecn;
use sojourn_units::Instant;

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// A TCP segment.
    Data(Data),
    /// A TCP acknowledgement.
    Ack(Ack),
    /// A UDP datagram.
    Datagram { sent: Instant, payload: u32 },
}

/// A packet between sender and receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub body: Body,
    pub flow: u32,
    /// Index into the table of routes: the port that the packet is at or goes to next.
    pub hop: u32,
    /// IP size.
    pub bytes: u32,
    pub ecn: Ecn,
    /// Of data: number of this packet among those of its flow, in the order of sending.
    pub ordinal: u32,
}

impl Packet {
    /// A packet of the flow's data, with payload.
    #[inline]
    pub fn is_data(&self) -> bool {
        match &self.body {
            Body::Ack(_) => false,
            Body::Data(data) => data.len > 0,
            Body::Datagram { .. } => true,
        }
    }
}

/// All packets in flight.
#[derive(Clone, Debug)]
pub(crate) struct Slab {
    packets: Vec<Packet>,
    /// The first free slot; a free slot's `hop` names the next.
    free: u32,
    used: usize,
}

/// Ends the list of free slots.
const NONE: u32 = u32::MAX;

impl Default for Slab {
    fn default() -> Self {
        Self { packets: Vec::new(), free: NONE, used: 0 }
    }
}

impl Slab {
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        self.used += 1;
        if self.free == NONE {
            self.grow();
        }
        let handle = self.free;
        let slot = &mut self.packets[handle as usize];
        self.free = slot.hop;
        *slot = packet;
        handle
    }

    /// One more slot.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.packets.len() as u32;
        let body = Body::Datagram { sent: Instant::ZERO, payload: 0 };
        self.packets.push(Packet { body, flow: 0, hop: NONE, bytes: 0, ecn: Ecn::NotEct, ordinal: 0 });
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
        self.used -= 1;
        packet
    }

    /// Packets in use.
    pub fn len(&self) -> usize {
        self.used
    }
}
