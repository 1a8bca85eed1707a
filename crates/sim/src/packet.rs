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
}

/// All packets in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slab {
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl Slab {
    pub fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.packets[handle as usize] = packet;
            return handle;
        }
        self.packets.push(packet);
        (self.packets.len() - 1) as u32
    }

    pub fn get(&self, handle: u32) -> &Packet {
        &self.packets[handle as usize]
    }

    pub fn get_mut(&mut self, handle: u32) -> &mut Packet {
        &mut self.packets[handle as usize]
    }

    pub fn remove(&mut self, handle: u32) -> Packet {
        self.free.push(handle);
        self.packets[handle as usize]
    }

    /// Packets in use.
    pub fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}
