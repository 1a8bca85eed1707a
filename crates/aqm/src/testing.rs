//! A host for unit tests of any discipline: the test sets the clock and gives the discipline at every call.

use crate::harness::{Log, Stream};
use crate::{Counters, Cx, Dequeued, Discipline, Ecn, Packet};
use sojourn_units::{BitRate, Instant, Span};
use std::vec::Vec;

/// The clock, the record, and the count of arrivals.
pub(crate) struct Host {
    pub now: Instant,
    pub rate: BitRate,
    pub random: Stream,
    pub log: Log,
    pub counters: Counters,
    serial: u64,
}

impl Host {
    /// At time zero, over 10 Mbit/s.
    pub fn new() -> Self {
        Self {
            now: Instant::ZERO,
            rate: BitRate::from_bit_s(10_000_000),
            random: Stream::new(1),
            log: Log::default(),
            counters: Counters::default(),
            serial: 0,
        }
    }

    pub fn cx(&mut self) -> Cx<'_> {
        Cx {
            now: self.now,
            rate: self.rate,
            random: &mut self.random,
            observer: &mut self.log,
            counters: &mut self.counters,
        }
    }

    pub fn at_ms(&mut self, ms: f64) {
        self.now = Instant::ZERO + Span::from_seconds(ms / 1e3);
    }

    /// Offers a packet and gives its serial number.
    pub fn offer(&mut self, queue: &mut dyn Discipline, flow: u32, bytes: u32, ecn: Ecn) -> u64 {
        let serial = self.serial;
        self.serial += 1;
        queue.enqueue(&mut self.cx(), Packet { serial, flow, bytes, ecn, ..Packet::default() });
        serial
    }

    /// The serial number of the next packet.
    pub fn take(&mut self, queue: &mut dyn Discipline) -> Option<u64> {
        self.take_packet(queue).map(|packet| packet.serial)
    }

    pub fn take_packet(&mut self, queue: &mut dyn Discipline) -> Option<Packet> {
        match queue.dequeue(&mut self.cx()) {
            Dequeued::Packet(packet) => Some(packet),
            _ => None,
        }
    }

    /// Serial numbers until nothing is left.
    pub fn take_all(&mut self, queue: &mut dyn Discipline) -> Vec<u64> {
        core::iter::from_fn(|| self.take(queue)).collect()
    }

    /// The present value of a named internal.
    pub fn internal(&self, queue: &mut dyn Discipline, name: &str) -> f64 {
        let mut found = None;
        queue.internals(self.now, self.rate, &mut |key, value| {
            if key == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no internal called {name}"))
    }
}
