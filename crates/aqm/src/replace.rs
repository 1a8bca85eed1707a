//! Another scheme over the same waiting packets, at run time: what simulator and device switch with.
//!
//! The packets that wait meet the new scheme as arrivals, each at the instant at which it had joined the queue, in that
//! order: so it keeps its age, and what the new scheme counts at arrivals (per-flow counts, bins, averages) is what these
//! packets alone would have left there. They were admitted once, so no chance is taken on them again: every uniform draw
//! is the largest below 1. What remains is what the new scheme refuses with certainty: its limit (`overflow`), and a rule
//! that leaves nothing to chance, as a threshold, an average above RED's maximum, or a match of flows (`early`, `flow`).
//!
//! Bound: one arrival at the new scheme for each waiting packet; one allocation. Not for the packet path.

use crate::{Counters, Cx, Discipline, Observer, Packet, Random, Reason};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::Instant;

/// Puts `next` in the place of `queue`, which holds packets; `cx` is that of the queue, which stays the same to its host.
///
/// Every packet that waited waits in `next`, with its [`enqueued`](Packet::enqueued), or is dropped now through
/// [`Observer::dropped`]. None counts as arrived again, so conservation holds over the switch. What the old scheme had
/// learnt is gone, also where `next` is of the same scheme.
pub fn replace(queue: &mut Box<dyn Discipline>, next: Box<dyn Discipline>, cx: &mut Cx<'_>) {
    let mut waiting: Vec<Packet> = Vec::with_capacity(queue.backlog().packets as usize);
    // Bound: what waits.
    while let Some(packet) = queue.drain() {
        waiting.push(packet);
    }
    // A fair queue drains by turns.
    waiting.sort_by_key(|packet| (packet.enqueued, packet.serial));
    *queue = next;
    let mut moved = Counters::default();
    for packet in waiting {
        let joined = packet.enqueued;
        let mut then = Cx {
            now: joined,
            rate: cx.rate,
            random: &mut Lenient(cx.random),
            observer: &mut Later { now: cx.now, host: cx.observer },
            counters: &mut moved,
            has_dropped: false,
        };
        queue.enqueue(&mut then, packet);
        cx.has_dropped |= then.has_dropped;
    }
    for (mine, theirs) in cx.counters.dropped.iter_mut().zip(moved.dropped) {
        mine.packets += theirs.packets;
        mine.bytes += theirs.bytes;
    }
    cx.counters.marked.packets += moved.marked.packets;
    cx.counters.marked.bytes += moved.marked.bytes;
}

/// The host's stream, but no chance comes true; seeds of hashes are drawn as ever.
struct Lenient<'a>(&'a mut dyn Random);

impl Random for Lenient<'_> {
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn uniform(&mut self) -> f64 {
        1.0 - f64::EPSILON / 2.0
    }
}

/// The host, which sees drops of earlier arrivals when they happen: now.
struct Later<'a> {
    now: Instant,
    host: &'a mut dyn Observer,
}

impl Observer for Later<'_> {
    fn dropped(&mut self, _joined: Instant, packet: Packet, reason: Reason) {
        self.host.dropped(self.now, packet, reason);
    }

    fn marked(&mut self, _joined: Instant, packet: &Packet) {
        self.host.marked(self.now, packet);
    }
}
