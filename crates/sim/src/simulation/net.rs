//! What lies between hosts: packets on their routes, through ports and lines.

use super::What;
use crate::engine::Wheel;
use crate::packet::{Packet, Slab};
use crate::port::{Dropped, Line, LineQueue, Port};
use crate::random::Stream;
use crate::wlan::Cell;
use sojourn_measure::Level;
use sojourn_units::Instant;

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// To its receiver.
    End,
    /// Into a port that runs a discipline.
    Port(u32),
    /// Into a line.
    Line(u32),
    /// Into a line whose packets all come from one other port of constant delay. They arrive in the order in which
    /// that port sends, so the line is computed when it sends, without an event.
    Fused(u32),
}

/// A [`Next`] in four bytes: its kind in the two highest bits. Routes are many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop(u32);

const INDEX: u32 = (1 << 30) - 1;

impl Hop {
    pub fn new(next: Next) -> Self {
        Self(match next {
            Next::End => 0,
            Next::Port(index) => (1 << 30) | (index & INDEX),
            Next::Line(index) => (2 << 30) | (index & INDEX),
            Next::Fused(index) => (3 << 30) | (index & INDEX),
        })
    }

    #[inline(always)]
    fn next(self) -> Next {
        let index = self.0 & INDEX;
        match self.0 >> 30 {
            0 => Next::End,
            1 => Next::Port(index),
            2 => Next::Line(index),
            _ => Next::Fused(index),
        }
    }
}

/// Where one of the network's ports is found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Port(u32),
    Line(u32),
}

/// What disciplines tell flows and hosts apart by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub flow: u32,
    pub source: u32,
    pub destination: u32,
    /// Differentiated services codepoint.
    pub dscp: u8,
}

/// Packets of one flow that were dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    pub packets: u64,
    /// Runs of drops of packets that the flow sent one after another, and the last one dropped.
    pub runs: u64,
    last: Option<u32>,
}

/// Counts that never restart, for the final audit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Audit {
    pub sent: u64,
    pub delivered: u64,
    pub dropped: u64,
}

/// Everything between hosts.
#[derive(Clone)]
pub(super) struct Net {
    pub now: Instant,
    pub wheel: Wheel<What>,
    pub slab: Slab,
    /// All routes one after another.
    pub routes: Vec<Hop>,
    /// Ports that are computed.
    pub lines: Vec<Line>,
    pub line_queues: Vec<LineQueue>,
    /// Ports that run a discipline.
    pub ports: Vec<Port>,
    /// Of each flow.
    pub hashes: Vec<Hashes>,
    pub losses: Vec<Losses>,
    /// What a discipline has just dropped.
    pub dropped: Dropped,
    pub audit: Audit,
    /// Where each of the network's ports is found.
    pub places: Vec<Place>,
    /// For each bus: the instant at which the channel is idle again.
    pub bus_idle: Vec<Instant>,
    /// The 802.11 cells.
    pub cells: Vec<Cell>,
    /// Of each entry of `routes` at an access point: the station that the packet is for. Empty where there is no cell.
    pub receivers: Vec<u32>,
    pub backoff: Stream,
    /// Waiting, and in the system, at all queues under test together, where there are several.
    pub total: Option<(Level, Level)>,
}

impl Net {
    /// A host sends a packet along its route.
    #[inline(never)]
    pub fn launch(&mut self, packet: Packet) {
        let next = self.routes[packet.hop as usize].next();
        let bytes = packet.bytes();
        let handle = self.slab.insert(packet);
        self.audit.sent += 1;
        match next {
            Next::Line(line) | Next::Fused(line) => self.cross(handle, line, bytes),
            Next::Port(port) => self.enqueue(port, handle),
            // A route is never empty.
            Next::End => {}
        }
    }

    /// A packet reaches a line.
    #[inline(never)]
    pub fn reach_line(&mut self, handle: u32) {
        let packet = self.slab.get(handle);
        let bytes = packet.bytes();
        if let Next::Line(line) | Next::Fused(line) = self.routes[packet.hop as usize].next() {
            self.cross(handle, line, bytes);
        }
    }

    /// A packet reaches a port that runs a discipline.
    #[inline]
    pub fn reach_port(&mut self, handle: u32) {
        if let Next::Port(port) = self.routes[self.slab.get(handle).hop as usize].next() {
            self.enqueue(port, handle);
        }
    }

    /// A packet of `bytes` enters a line now.
    #[inline(always)]
    fn cross(&mut self, handle: u32, line: u32, bytes: u32) {
        match self.lines[line as usize].enter(&mut self.line_queues, line, self.now, bytes) {
            Some(at) => self.travel(handle, bytes, at),
            None => self.lose(handle),
        }
    }

    /// A packet of `bytes` has been sent and reaches its next hop at `at`; hops that need no event are taken at once.
    #[inline(always)]
    pub fn travel(&mut self, handle: u32, bytes: u32, at: Instant) {
        let packet = self.slab.get_mut(handle);
        packet.hop += 1;
        match self.routes[packet.hop as usize].next() {
            Next::End => self.wheel.push(at, What::Deliver(handle)),
            Next::Port(_) => self.wheel.push(at, What::Enqueue(handle)),
            Next::Line(_) => self.wheel.push(at, What::Cross(handle)),
            Next::Fused(line) => {
                let last = self.routes[packet.hop as usize + 1].next() == Next::End;
                match self.lines[line as usize].enter(&mut self.line_queues, line, at, bytes) {
                    Some(at) if last => {
                        packet.hop += 1;
                        self.wheel.push(at, What::Deliver(handle));
                    }
                    Some(at) => self.travel_on(handle, bytes, at),
                    None => self.lose(handle),
                }
            }
        }
    }

    /// As [`Net::travel`], when a line was not the last hop.
    ///
    /// Bound: the length of the route.
    #[inline(never)]
    fn travel_on(&mut self, handle: u32, bytes: u32, at: Instant) {
        self.travel(handle, bytes, at);
    }

    /// A packet is gone.
    #[cold]
    #[inline(never)]
    pub fn lose(&mut self, handle: u32) {
        let packet = self.slab.remove(handle);
        self.audit.dropped += 1;
        if let Some(ordinal) = packet.ordinal() {
            let losses = &mut self.losses[packet.flow as usize];
            losses.packets += 1;
            // Several drops of one instant are told in any order.
            let last = losses.last.replace(ordinal);
            losses.runs += u64::from(last.is_none_or(|last| last.abs_diff(ordinal) != 1));
        }
    }

    /// Packets that are on a wire: their arrivals are scheduled.
    pub fn on_wire(&self) -> u64 {
        self.wheel.pending().filter(|event| event.what.is_arrival()).count() as u64
    }
}
