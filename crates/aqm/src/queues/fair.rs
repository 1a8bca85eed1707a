//! Fair queueing: shares the link among hashed flows, with an AQM instance in every queue.
//!
//! Flows are hashed into queues, which take turns by deficit round robin, and a flow that has been idle may send its first
//! packets before the others. A separate instance of an AQM algorithm manages each queue.
//!
//! # Scheduling
//! * A flow that was idle joins the list of new queues and goes before all old ones for one quantum (RFC 8290, section 4.2).
//! * On overflow the queue with the most bytes loses half of its packets from the head, rounded up, and at most 64 (section
//!   4.1).
//!
//! # Deviations and interpretations
//! * The perturbation of the hash is drawn from the random stream at the first arrival. So every replication has other
//!   collisions, and the same seed has the same ones. A reset does not change it.
//! * `memory_limit` counts the memory of packets: 2304 B for one of up to 1664 B. In Linux that of a
//!   packet depends on where it comes from; this is what it is for a frame from an Ethernet driver.
//! * Linux's fq_codel drops half the bytes of the longest queue, at most 64 packets; RFC 8290 and this implementation drop
//!   half of its packets.
//! * Linux acts on an overflow once per arrival, so that it can stay above `memory_limit`. Here it is repeated
//!   until the limit holds.
//! * The inner algorithm's own `limit` is set above that of the whole queue, so that it never acts. The inner algorithm is
//!   informed of an overflow instead.
//! * After a change to a lower `limit` or `memory_limit`, packets are taken as for sending and dropped until both hold, as in
//!   Linux's `fq_codel_change`. Its `fq_pie_change` looks at `limit` only.
//! * Each instance sees the rate of the whole link, and its timers act only when its own queue is used. Nothing else changes
//!   in between, except for the rate, and a change of the rate updates all instances first.
//!
//! # Work per packet
//! * Arrival: constant, plus the inner algorithm's work.
//! * Overflow: one look at every queue in use (as in Linux) and at most 64 drops; once for a limit in packets, and for a
//!   limit of memory until the arrival fits.
//! * Departure: at most `1 + ceil(longest packet / quantum)` visits to every active queue, constant work for each, plus the
//!   inner algorithm's work.
//! * Memory: 4 bytes for each hash value, and a queue only for values that have occurred.
//!
//! # References
//! * RFC 8290, "The Flow Queue CoDel Packet Scheduler and Active Queue Management Algorithm", 2018.
//! * tc-fq_codel(8).

use crate::discipline::look;
use crate::{
    Algorithm, Backlog, Cx, Dequeued, Discipline, Internal, ListedQueue, Packet, Parameters, Queue, Reads, Reason,
};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::any::Any;
use lists::{Flow, Rotation, NONE};
use sojourn_units::{BitRate, Bytes, Instant, Packets};

pub(crate) mod lists;
#[cfg(test)]
mod tests;

crate::params! {
    /// Parameters of fair queueing, whatever runs in each queue.
    pub struct Params {
        /// Packets waiting in all queues together above which the longest queue loses packets (RFC 8290 section 5.2.3).
        limit: Packets = Packets::new(10240),
        /// Number of queues that flows are hashed into, 1 to 65536 (RFC 8290 section 5.2.5).
        flows: u32 = 1024,
        /// Bytes a queue may send in a round, 256 B to 1 MiB (RFC 8290 section 5.2.4; the bounds are Linux's).
        quantum: Bytes = Bytes::new(1514),
        /// Memory of all waiting packets, 2304 B for one of up to 1664 B, above which the longest queue loses packets
        /// (tc-fq_codel(8)).
        memory_limit: Bytes = Bytes::new(32 << 20),
        /// Most packets dropped at one overflow (RFC 8290 section 4.1; tc-fq_codel(8)).
        drop_batch: Packets = Packets::new(64),
    }
}

impl Params {
    /// Parameters of the inner algorithm that the container takes over.
    pub(crate) const HIDES: &'static [&'static str] = &["limit"];

    pub(crate) fn check(&self) -> Result<(), String> {
        let within = |ok: bool, name: &str, value: &dyn core::fmt::Display, allowed: &str| {
            if ok {
                Ok(())
            } else {
                Err(format!("{name} is {value}; allowed: {allowed}"))
            }
        };
        within(self.limit > Packets::ZERO, "limit", &self.limit, "1 p or more")?;
        within((1..=65536).contains(&self.flows), "flows", &self.flows, "1 to 65536")?;
        let quanta = Bytes::new(256)..=Bytes::new(1 << 20);
        within(quanta.contains(&self.quantum), "quantum", &self.quantum, "256 B to 1 MiB")?;
        within(self.memory_limit > Bytes::ZERO, "memory_limit", &self.memory_limit, "1 B or more")?;
        within(self.drop_batch > Packets::ZERO, "drop_batch", &self.drop_batch, "1 p or more")
    }

    /// `inner` with its own `limit`, if it has one, one beyond what the container can let it hold: never met.
    #[must_use]
    pub fn unlimited<P: Parameters>(&self, mut inner: P) -> P {
        let packets = format!("{}p", self.limit.get().saturating_add(1));
        if let Some(Err(_)) = inner.set("limit", &packets) {
            // A limit that is only ever bytes: the container holds its memory limit and one packet more.
            let bytes = format!("{}B", self.memory_limit.get().saturating_add(u64::from(u32::MAX)));
            let _ = inner.set("limit", &bytes);
        }
        inner
    }
}

/// Fair queueing over any single-queue algorithm.
#[derive(Clone, Debug)]
pub struct FairQueue<A: Algorithm> {
    limit: u64,
    memory_limit: u64,
    drop_batch: u64,
    quantum: i64,
    /// How a queue's algorithm begins.
    template: A,
    /// Seed of the hash, once drawn.
    perturbation: Option<u64>,
    /// Where the queue of each hash value is in `flows`; `NONE` before its first packet.
    slots: Vec<u32>,
    /// Queues in use, in the order of their first packets.
    flows: Vec<Flow<A>>,
    /// Queues that became active since their last turn: served first.
    new: Rotation,
    /// All other active queues.
    old: Rotation,
    waiting: Backlog,
}

impl<A: Algorithm> FairQueue<A> {
    /// Empty; both sets of parameters have passed their `check`.
    #[must_use]
    pub fn new(fair: Params, params: A::Params) -> Self {
        Self {
            limit: fair.limit.get(),
            memory_limit: fair.memory_limit.get(),
            drop_batch: fair.drop_batch.get(),
            quantum: i64::try_from(fair.quantum.get()).unwrap_or(i64::MAX),
            template: A::new(&fair.unlimited(params)),
            perturbation: None,
            slots: vec![NONE; fair.flows as usize],
            flows: Vec::new(),
            new: Rotation::default(),
            old: Rotation::default(),
            waiting: Backlog::default(),
        }
    }

    /// Section 4.1, classification: the flow's place in `flows`.
    #[inline]
    fn classify(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> usize {
        let seed = match self.perturbation {
            Some(seed) => seed,
            None => *self.perturbation.insert(cx.random.next_u64()),
        };
        let slot = hash(packet.flow, seed, self.slots.len());
        // NONE lies beyond all queues.
        let at = self.slots[slot] as usize;
        if at >= self.flows.len() {
            return self.first_use(slot);
        }
        at
    }

    /// A queue for a hash value that has not occurred before.
    #[cold]
    fn first_use(&mut self, slot: usize) -> usize {
        let at = self.flows.len();
        self.slots[slot] = at as u32;
        self.flows.push(Flow::new(self.template.clone()));
        at
    }

    /// The queue with the most bytes, the earliest in use among equals.
    fn fattest(&self) -> Option<usize> {
        let mut most = None;
        for (at, flow) in self.flows.iter().enumerate() {
            if flow.queue.bytes() > most.map_or(0, |(_, bytes)| bytes) {
                most = Some((at, flow.queue.bytes()));
            }
        }
        most.map(|(at, _)| at)
    }

    /// More waits than the limits allow.
    #[inline]
    fn is_over(&self) -> bool {
        self.waiting.packets > self.limit || self.waiting.exceeds(self.memory_limit)
    }

    /// Section 4.1, overflow: half the packets of the longest queue, from its head.
    #[cold]
    fn overflow(&mut self, cx: &mut Cx<'_>) {
        let Some(flow) = self.fattest().and_then(|at| self.flows.get_mut(at)) else { return };
        let most = self.drop_batch;
        touch(flow, &mut self.waiting, cx, |aqm, cx, queue| {
            let drops = (queue.len() as u64).div_ceil(2).min(most);
            for _ in 0..drops {
                if let Some(packet) = queue.pop() {
                    cx.drop(packet, Reason::Overflow);
                }
            }
            aqm.overflowed(cx.now, drops);
        });
    }

    /// Section 4.2: gives the packet that `take` draws from the queues in their turn.
    #[inline]
    fn schedule(&mut self, mut take: impl FnMut(&mut Flow<A>, &mut Backlog) -> Option<Packet>) -> Option<Packet> {
        loop {
            let is_new = !self.new.is_empty();
            let turn = if is_new { &mut self.new } else { &mut self.old };
            let flow = self.flows.get_mut(turn.first())?;
            if flow.deficit > 0 {
                if let Some(packet) = take(flow, &mut self.waiting) {
                    flow.deficit -= i64::from(packet.bytes);
                    return Some(packet);
                }
                debug_assert!(flow.queue.is_empty(), "Aqm::dequeue gives None only when nothing waits");
                if !is_new {
                    self.old.remove(&mut self.flows);
                    continue;
                }
                // A new queue that empties becomes an old one, so that it cannot come back as new and starve the old.
            } else {
                flow.deficit += self.quantum;
            }
            if !is_new {
                self.old.turn(&mut self.flows);
            } else if let Some(at) = self.new.remove(&mut self.flows) {
                self.old.append(&mut self.flows, at);
            }
        }
    }
}

/// Runs one step of a queue's algorithm and keeps the sum over all queues.
#[inline]
fn touch<A: Algorithm, T>(
    flow: &mut Flow<A>,
    waiting: &mut Backlog,
    cx: &mut Cx<'_>,
    step: impl FnOnce(&mut A, &mut Cx<'_>, &mut Queue) -> T,
) -> T {
    let before = flow.backlog();
    flow.aqm.advance(cx.now, cx.rate, &flow.queue);
    let result = step(&mut flow.aqm, cx, &mut flow.queue);
    changed(waiting, before, flow.backlog());
    result
}

/// One of the queues that `waiting` is the sum of had `before` and has `after`.
#[inline(always)]
fn changed(waiting: &mut Backlog, before: Backlog, after: Backlog) {
    waiting.packets = waiting.packets + after.packets - before.packets;
    waiting.bytes = waiting.bytes + after.bytes - before.bytes;
}

/// `packet` has left one of the queues that `waiting` is the sum of.
#[inline(always)]
fn shorter(waiting: &mut Backlog, packet: Packet) -> Option<Packet> {
    waiting.packets -= 1;
    waiting.bytes -= u64::from(packet.bytes);
    Some(packet)
}

/// Which of `slots` a flow belongs to: multiplication and shifts mix all bits of flow and seed (splitmix64's finaliser).
pub(crate) fn hash(flow: u32, seed: u64, slots: usize) -> usize {
    let mut x = seed ^ u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    ((u128::from(x) * slots as u128) >> 64) as usize
}

impl<A: Algorithm> Discipline for FairQueue<A> {
    fn reads(&self) -> Reads {
        A::READS
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, mut packet: Packet) {
        packet.enqueued = cx.now;
        cx.arrived(&packet);
        let at = self.classify(cx, &packet);
        let flow = &mut self.flows[at];
        let before = flow.backlog();
        flow.aqm.advance(cx.now, cx.rate, &flow.queue);
        flow.aqm.enqueue(cx, &mut flow.queue, packet);
        changed(&mut self.waiting, before, flow.backlog());
        if !flow.active && !flow.queue.is_empty() {
            flow.deficit = self.quantum;
            self.new.append(&mut self.flows, at);
        }
        while self.is_over() {
            self.overflow(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued {
        let take = |flow: &mut Flow<A>, waiting: &mut Backlog| {
            flow.queue.set_bytes_beside(waiting.bytes - flow.queue.bytes());
            if flow.aqm.passes(cx.now, cx.rate, &flow.queue) {
                return shorter(waiting, flow.queue.pop()?);
            }
            touch(flow, waiting, cx, A::dequeue)
        };
        match self.schedule(take) {
            Some(packet) => {
                cx.forwarded(&packet);
                Dequeued::Packet(packet)
            }
            None => Dequeued::Empty,
        }
    }

    fn set_rate(&mut self, cx: &mut Cx<'_>, _rate: BitRate) {
        for flow in &mut self.flows {
            flow.aqm.advance(cx.now, cx.rate, &flow.queue);
        }
    }

    fn set_params(&mut self, cx: &mut Cx<'_>, params: &dyn Any) -> bool {
        let Some((fair, params)) = params.downcast_ref::<(Params, A::Params)>() else { return false };
        self.limit = fair.limit.get();
        self.memory_limit = fair.memory_limit.get();
        self.drop_batch = fair.drop_batch.get();
        self.quantum = i64::try_from(fair.quantum.get()).unwrap_or(i64::MAX);
        let params = fair.unlimited(params.clone());
        self.template = A::new(&params);
        // Updates that are due are of the old parameters.
        self.set_rate(cx, cx.rate);
        self.flows.iter_mut().for_each(|flow| flow.aqm.set_params(&params));
        // Bound: what waits.
        while self.is_over() {
            let Some(packet) = self.schedule(|flow, waiting| touch(flow, waiting, cx, A::dequeue)) else { break };
            cx.drop(packet, Reason::Overflow);
        }
        true
    }

    fn drain(&mut self) -> Option<Packet> {
        self.schedule(|flow, waiting| shorter(waiting, flow.queue.pop()?))
    }

    fn reset(&mut self) {
        for flow in &mut self.flows {
            flow.aqm = self.template.clone();
            flow.deficit = self.quantum;
        }
    }

    fn backlog(&self) -> Backlog {
        self.waiting
    }

    /// Of the scheduler, and then of the longest queue's algorithm (a fresh one's when nothing waits).
    fn internals(&mut self, now: Instant, rate: BitRate, visit: &mut Internal<'_>) {
        visit("queues", self.flows.len() as f64);
        visit("new_queues", self.new.len(&self.flows) as f64);
        visit("old_queues", self.old.len(&self.flows) as f64);
        let Some(flow) = self.fattest().and_then(|at| self.flows.get_mut(at)) else {
            visit("fattest_packets", 0.0);
            visit("fattest_bytes", 0.0);
            return look(&self.template, now, rate, &Queue::default(), visit);
        };
        visit("fattest_packets", flow.queue.len() as f64);
        visit("fattest_bytes", flow.queue.bytes() as f64);
        look(&flow.aqm, now, rate, &flow.queue, visit);
    }

    fn listed_queues(&self, visit: &mut dyn FnMut(ListedQueue)) {
        for (list, rotation) in [("new", &self.new), ("old", &self.old)] {
            rotation.queues(&self.flows).for_each(|queue| {
                let flow = queue.queue.head().map(|packet| packet.flow);
                visit(ListedQueue { list, deficit_bytes: queue.deficit, backlog: queue.backlog(), flow });
            });
        }
    }

    fn fault(&self) -> Option<String> {
        self.flows.iter().find_map(|flow| flow.aqm.fault())
    }

    fn clone_box(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}
