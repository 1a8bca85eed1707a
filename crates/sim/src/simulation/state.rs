//! What a queue under test has come to when the run ends: its counts since the start, what waits, and its internals.

use super::net::PortRef;
use super::Simulation;
use crate::port::Port;
use serde::Serialize;
use sojourn_aqm::{Backlog, Tally};
use sojourn_units::Instant;
use std::collections::BTreeMap;

/// Packets and their bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

/// Counts from the start of the run, warm-up included, as a discipline's own statistics have them:
/// arrived = forwarded + dropped + waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Offered to the queue.
    pub arrived: Count,
    /// Left to be sent.
    pub forwarded: Count,
    /// Dropped because the queue was full.
    pub dropped_overflow: Count,
    /// Dropped by decision of the algorithm.
    pub dropped_early: Count,
    /// Dropped by decision against their flow.
    pub dropped_flow: Count,
    /// Marked CE here.
    pub marked: Count,
    /// Arrived with CE set.
    pub ce_on_arrival: Count,
    /// Still waiting.
    pub waiting: Count,
}

/// The algorithm's named internals; not-a-number where one is undefined.
pub type Internals = BTreeMap<&'static str, f64>;

impl From<Tally> for Count {
    fn from(Tally { packets, bytes }: Tally) -> Self {
        Self { packets, bytes }
    }
}

impl From<Backlog> for Count {
    fn from(Backlog { packets, bytes }: Backlog) -> Self {
        Self { packets, bytes }
    }
}

impl Port {
    /// What the dAQM that it runs has counted: hits, and packets that left the port's queue or that it dropped at a dequeue.
    fn hits(&mut self, now: Instant) -> [u64; 2] {
        let mut found = [0, self.server.counters().forwarded.packets];
        self.server.internals(now, &mut |name, value| match name {
            "hits" => found[0] += value as u64,
            "head_drops" => found[1] += value as u64,
            _ => {}
        });
        found
    }

    /// The measured time under dAQM is over for now, where the port runs it.
    pub(super) fn close_hits(&mut self, now: Instant) {
        if self.probe.hits.is_some_and(|hits| hits.since.is_some()) {
            let found = self.hits(now);
            self.probe.hits.iter_mut().for_each(|hits| hits.close(found));
        }
    }

    /// A stretch of time under dAQM begins.
    pub(super) fn open_hits(&mut self, now: Instant) {
        let found = self.hits(now);
        self.probe.hits.get_or_insert_default().since = Some(found);
    }

    /// The measurement begins.
    pub(super) fn restart_hits(&mut self, now: Instant) {
        if self.probe.hits.is_some_and(|hits| hits.since.is_some()) {
            self.probe.hits = None;
            self.open_hits(now);
        } else {
            self.probe.hits = None;
        }
    }
}

impl Simulation {
    /// The state of the network's port number `index` now; nothing for a port that runs no discipline.
    pub(super) fn state(&mut self, index: usize) -> (Option<Counts>, Internals) {
        let PortRef::Port(port) = self.net.places[index] else { return (None, Internals::new()) };
        let port = &mut self.net.ports[port as usize];
        let mut internals = Internals::new();
        port.server.internals(self.net.now, &mut |name, value| {
            internals.insert(name, value);
        });
        let [overflow, early, flow] = port.server.counters().dropped.map(Count::from);
        let counts = Counts {
            arrived: port.server.counters().arrived.into(),
            forwarded: port.server.counters().forwarded.into(),
            dropped_overflow: overflow,
            dropped_early: early,
            dropped_flow: flow,
            marked: port.server.counters().marked.into(),
            ce_on_arrival: port.server.counters().ce_on_arrival.into(),
            waiting: port.server.backlog().into(),
        };
        (Some(counts), internals)
    }
}
