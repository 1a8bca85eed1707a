//! SFQ (stochastic fairness queueing): serves hashed flows in turn, with a small buffer and, if wanted, RED in every queue.
//!
//! Flows are hashed into buckets, and each bucket with packets has a queue. The queues send in turn, so that each flow gets
//! about the same rate. The hash can change from time to time, so that two flows that share a bucket do not do so for long.
//! Linux has shipped SFQ for decades; its delay is bounded only by its limits.
//!
//! # Scheduling
//! * A flow's hash leads to one of `divisor` buckets, and a bucket that holds packets has one of `flows` queues. A queue
//!   whose allotment is used up gets `quantum` bytes more and goes to the end of the round; any other queue sends a packet,
//!   which reduces its allotment.
//! * An arrival that finds no free queue, or its own queue at `depth`, is dropped; with `headdrop` the first packet of its
//!   queue is dropped instead.
//! * If more than `limit` packets wait, the queue with the most packets loses its last one (`headdrop`: its first). If no
//!   queue has more than one packet, it is the queue whose turn it is.
//! * With `min` and `max` each queue also has RED over its bytes. An arrival updates the average. According to RED, either
//!   the arrival passes, or one packet of the queue is marked (`ecn`) or dropped: the first one with `headdrop`, otherwise
//!   the arrival.
//! * `fq_pfifo` differs: flows that were idle go before all others, and only all queues together have a limit.
//!
//! # Deviations and interpretations
//! * The default of `perturb` is 0: the hash never changes (tc-sfq(8)). Its seed is drawn at the first arrival. Changes are
//!   due at multiples of `perturb` and take effect at the next packet. As in Linux, waiting packets then move to their new
//!   queues in order, and packets that exceed `depth` or find no queue are dropped.
//! * Among queues of the same length the one with the lowest number loses; in Linux it is the last one that reached this
//!   length.
//! * `divisor` may be any number; Linux needs a power of two.
//! * RED is as in Linux: a queue that becomes empty is given back, so no average decays during idle time, and the first
//!   packet of a queue is not judged. Packets that move to another queue update its average but are not judged. As in `red`,
//!   and unlike Linux, signals are uniformly 1 to 1/p_b - 1 arrivals apart. If `max` is not given, a quarter of tc's
//!   `redflowlimit` is used; Linux uses that parameter for nothing else, whatever tc-sfq(8) says.
//!
//! # Work per packet
//! An arrival takes constant time and, if the buffer is full, at most one look at every queue. A departure visits each
//! active queue at most `1 + ceil(longest packet / quantum)` times. A change of the hash visits every waiting packet.
//!
//! # References
//! * P. E. McKenney, "Stochastic Fairness Queueing", IEEE INFOCOM 1990.
//! * tc-sfq(8), for parameters and defaults, and Linux's sch_sfq for behaviour.

mod early;
mod params;

pub use params::Params;

use crate::discipline::standalone;
use crate::queues::fair::lists::{Flow, Rotation, NONE};
use crate::queues::fattest::Fattest;
use crate::queues::pool::{Chain, Pool};
use crate::{About, Backlog, Cx, Dequeued, Discipline, DropsAt, Excess, Internal, Order, Packet, Reason, Standalone};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::any::Any;
use early::Early;
use sojourn_units::{BitRate, Instant, Packets, Span};

/// The discipline.
#[derive(Clone, Debug)]
pub struct Sfq {
    limit: u64,
    depth: usize,
    quantum: i64,
    perturb: Span,
    headdrop: bool,
    /// The first hash's seed; drawn at the first arrival.
    seed: Option<u64>,
    /// Changes of the hash so far.
    generation: u64,
    /// When it changes next; never without `perturb` or before the first arrival.
    next_perturb: Instant,
    /// The queue of each bucket, `NONE` while it has no packets.
    buckets: Vec<u32>,
    /// Each with its bucket.
    flows: Vec<Flow<u32, Chain>>,
    pool: Pool,
    /// Queues without packets.
    free: Vec<u32>,
    /// The round.
    round: Rotation,
    /// By packets.
    longest: Fattest,
    waiting: Backlog,
    early: Option<Box<Early>>,
    /// Holds the packets while they move to other queues.
    moving: Vec<Packet>,
}

impl Sfq {
    fn bucket(&self, flow: u32) -> usize {
        let seed = self.seed.unwrap_or(0).wrapping_add(self.generation);
        crate::queues::fair::hash(flow, seed, self.buckets.len())
    }

    /// Joins the queue of its flow, or is dropped where that has no room.
    #[inline]
    fn place(&mut self, cx: &mut Cx<'_>, mut packet: Packet, moves: bool) {
        let bucket = self.bucket(packet.flow);
        let begins = self.buckets[bucket] == NONE;
        if begins {
            let Some(free) = self.free.pop() else {
                return cx.drop(packet, Reason::Overflow);
            };
            self.buckets[bucket] = free;
            let flow = &mut self.flows[free as usize];
            (flow.aqm, flow.deficit) = (bucket as u32, self.quantum);
            self.round.append(&mut self.flows, free as usize);
        }
        let at = self.buckets[bucket] as usize;
        let mut lost = None;
        if let Some(early) = &mut self.early {
            let queue = &self.flows[at].queue;
            if begins {
                early.begin(at);
            }
            if moves {
                early.moved(at, queue.bytes());
            } else if !begins && early.drops(cx, at, queue, &mut self.pool, &mut packet) {
                lost = Some(Reason::Early);
            }
        }
        if lost.is_none() && self.flows[at].queue.len() >= self.depth {
            lost = Some(Reason::Overflow);
        }
        if let Some(reason) = lost {
            let first = if self.headdrop { self.pool.pop(&mut self.flows[at].queue) } else { None };
            let Some(first) = first else {
                return cx.drop(packet, reason);
            };
            self.removed(u64::from(first.bytes));
            cx.drop(first, reason);
        }
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(packet.bytes);
        let queue = &mut self.flows[at].queue;
        self.pool.push(queue, packet);
        self.longest.grown(at, queue.len() as u64);
    }

    /// A packet left the queues.
    #[inline]
    fn removed(&mut self, bytes: u64) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= bytes;
    }

    /// The queue whose turn it is has no packets any more.
    fn leave(&mut self) {
        if let Some(at) = self.round.remove(&mut self.flows) {
            self.buckets[self.flows[at].aqm as usize] = NONE;
            self.free.push(at as u32);
        }
    }

    /// More than `limit` packets wait.
    #[inline(never)]
    fn overflow(&mut self, cx: &mut Cx<'_>) {
        let Some((mut at, packets)) = self.longest.first(&self.flows, |flow| flow.queue.len() as u64) else { return };
        if packets == 1 {
            at = self.round.first();
        }
        let Some(Flow { queue, .. }) = self.flows.get_mut(at) else { return };
        let lost = if self.headdrop { self.pool.pop(queue) } else { self.pool.pop_last(queue) };
        if let Some(packet) = lost {
            self.removed(u64::from(packet.bytes));
            cx.drop(packet, Reason::Overflow);
        }
        if packets == 1 {
            self.leave();
        }
    }

    /// The queue whose head is sent, which is counted as gone.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            let flow = self.flows.get_mut(self.round.first())?;
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.round.turn(&mut self.flows);
                continue;
            }
            let bytes = self.pool.head(&flow.queue)?.bytes;
            flow.deficit -= i64::from(bytes);
            let at = self.round.first();
            if flow.queue.len() == 1 {
                self.leave();
            }
            self.removed(u64::from(bytes));
            return Some(at);
        }
    }

    /// Changes the hash; that is due.
    #[cold]
    fn change_hash(&mut self, cx: &mut Cx<'_>) {
        if self.perturb.is_zero() {
            return;
        }
        let passed = cx.now.since(self.next_perturb).nanos() / self.perturb.nanos() + 1;
        self.next_perturb += self.perturb * passed;
        self.generation = self.generation.wrapping_add(passed);
        while let Some(flow) = self.flows.get_mut(self.round.first()) {
            while let Some(packet) = self.pool.pop(&mut flow.queue) {
                self.moving.push(packet);
            }
            self.leave();
        }
        self.waiting = Backlog::default();
        let mut moving = core::mem::take(&mut self.moving);
        for packet in moving.drain(..) {
            self.place(cx, packet, true);
        }
        self.moving = moving;
    }
}

impl Discipline for Sfq {
    fn enqueue(&mut self, cx: &mut Cx<'_>, mut packet: Packet) {
        packet.enqueued = cx.now;
        cx.arrived(&packet);
        if self.seed.is_none() {
            self.seed = Some(cx.random.next_u64());
            if !self.perturb.is_zero() {
                let whole = cx.now.nanos() / self.perturb.nanos();
                self.next_perturb = Instant::ZERO + self.perturb * whole + self.perturb;
            }
        }
        if cx.now >= self.next_perturb {
            self.change_hash(cx);
        }
        self.place(cx, packet, false);
        self.shed(cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued {
        if cx.now >= self.next_perturb {
            self.change_hash(cx);
        }
        let Some(at) = self.next() else { return Dequeued::Empty };
        self.pool.send(cx, &mut self.flows[at].queue)
    }

    fn set_params(&mut self, cx: &mut Cx<'_>, params: &dyn Any) -> bool {
        standalone(self, cx, params)
    }

    fn drain(&mut self) -> Option<Packet> {
        let at = self.next()?;
        self.pool.pop(&mut self.flows[at].queue)
    }

    fn reset(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.deficit = self.quantum);
        if let Some(early) = &mut self.early {
            early.reset();
        }
    }

    fn backlog(&self) -> Backlog {
        self.waiting
    }

    fn internals(&mut self, _now: Instant, _rate: BitRate, visit: &mut Internal<'_>) {
        visit("active_queues", self.round.len(&self.flows) as f64);
        let longest = self.longest.first(&self.flows, |flow| flow.queue.len() as u64);
        visit("longest_packets", longest.map_or(0.0, |(_, packets)| packets as f64));
        visit("perturbations", self.generation as f64);
        Early::internals(self.early.as_deref(), visit);
    }

    fn clone_box(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

impl Standalone for Sfq {
    type Params = Params;
    const FIXED: &'static [&'static str] = &["flows", "divisor", "perturb"];

    const ABOUT: About = About {
        title: "SFQ",
        summary: "round robin over hashed flows with a small buffer; the longest queue loses packets when it is full, and queues may have RED",
        source: "McKenney 1990; tc-sfq(8)",
        signals_on: "full buffer",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: true,
    };

    const ORDER: Order = Order::Flow;

    fn check(params: &Params) -> Result<(), String> {
        let Params { limit, depth, flows, divisor, quantum, .. } = params;
        for (name, packets) in [("limit", limit), ("depth", depth)] {
            if *packets == Packets::ZERO {
                return Err(format!("{name} is 0 p; allowed: 1 p or more"));
            }
        }
        for (name, count) in [("flows", flows), ("divisor", divisor)] {
            if !(1..=65536).contains(count) {
                return Err(format!("{name} is {count}; allowed: 1 to 65536"));
            }
        }
        if !(64..=1 << 20).contains(&quantum.get()) {
            return Err(format!("quantum is {quantum}; allowed: 64 B to 1 MiB"));
        }
        match (params.min, params.max) {
            (Some(min), Some(max)) if min >= max => {
                let (min, max) = (crate::Value::print(&min), crate::Value::print(&max));
                return Err(format!("min ({min}) is not below max ({max}); allowed: min < max"));
            }
            (Some(_), None) => return Err("min is given without max; allowed: both, or none".into()),
            (None, Some(_)) => return Err("max is given without min; allowed: both, or none".into()),
            (None, None) if params.ecn || params.harddrop => {
                return Err(
                    "ecn and harddrop act only with RED, which min and max turn on; allowed: all of them, or none"
                        .into(),
                );
            }
            _ => {}
        }
        if params.w.get() <= 0.0 {
            return Err("w is 0: the average would never move; allowed: above 0, up to 1".into());
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        self.limit = params.limit.get();
        self.depth = usize::try_from(params.depth.get()).unwrap_or(usize::MAX);
        self.quantum = i64::try_from(params.quantum.get()).unwrap_or(i64::MAX);
        (self.perturb, self.headdrop) = (params.perturb, params.headdrop);
        let early = Early::new(params).map(Box::new);
        self.early = match (early, self.early.take()) {
            (Some(mut next), Some(old)) => {
                next.keep(*old);
                Some(next)
            }
            (next, _) => next,
        };
    }

    const EXCESS: Excess = Excess::Longest;

    fn shed(&mut self, cx: &mut Cx<'_>) -> bool {
        let is_over = self.waiting.packets > self.limit;
        if is_over {
            self.overflow(cx);
        }
        is_over
    }

    fn new(params: &Params) -> Self {
        let mut longest = Fattest::default();
        longest.make_room(params.flows as usize);
        Self {
            limit: params.limit.get(),
            depth: usize::try_from(params.depth.get()).unwrap_or(usize::MAX),
            quantum: i64::try_from(params.quantum.get()).unwrap_or(i64::MAX),
            perturb: params.perturb,
            headdrop: params.headdrop,
            seed: None,
            generation: 0,
            next_perturb: Instant::NEVER,
            buckets: vec![NONE; params.divisor as usize],
            pool: Pool::default(),
            flows: (0..params.flows).map(|_| Flow::new(NONE)).collect(),
            free: (0..params.flows).rev().collect(),
            round: Rotation::default(),
            longest,
            waiting: Backlog::default(),
            early: Early::new(params).map(Box::new),
            moving: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
