//! SFQ: stochastic fairness queueing, round robin over hashed flows whose hash may change from time to time.
//!
//! Governing text: McKenney, "Stochastic Fairness Queueing", IEEE INFOCOM 1990; tc-sfq(8), whose parameters and defaults these
//! are; behaviour as of Linux's sch_sfq.
//! Rule: a flow's hash leads to one of `divisor` buckets, and a bucket that holds packets has one of `flows` queues. Queues are
//! served in turn: one whose allotment is used up gets a `quantum` more and goes to the end of the round, any other sends a
//! packet, which its allotment pays for. An arrival finds no queue free, or its queue at `depth`: it is dropped, or (`headdrop`)
//! the first packet of its queue is. Where more than `limit` packets wait, the queue with the most packets loses its last
//! (`headdrop`: its first); where no queue has more than one, the queue whose turn it is.
//! `fq_pfifo` differs: there flows that were idle go before all others, and the limit is for all queues together only.
//! Readings and deviations:
//! * The default of `perturb` is 0: the hash never changes (tc-sfq(8)). Its seed is drawn at the first arrival. Changes are
//!   at multiples of `perturb` and take effect at the next packet. As in Linux waiting packets then move to their new queues,
//!   in their order, and what exceeds `depth` or finds no queue is dropped.
//! * Among queues of the same length the lowest-numbered loses; in Linux the last that reached it.
//! * `divisor` may be any number, Linux's a power of two. tc's RED inside each queue (`redflowlimit` and so on) is `fq_red`.
//!
//! Bound: an arrival is constant work, and in a full buffer at most one look at every queue; a departure visits each active
//! queue at most `1 + ceil(longest packet / quantum)` times; a change of the hash visits every waiting packet.

use crate::fair::lists::{Flow, Rotation, NONE};
use crate::fattest::Fattest;
use crate::pool::{Chain, Pool};
use crate::{About, Backlog, Cx, Dequeued, Discipline, DropsAt, Internal, Order, Packet, Reason, Standalone};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};

crate::params! {
    /// Parameters of `sfq`.
    pub struct Params {
        /// Packets waiting in all queues together above which the longest loses one (tc-sfq(8)).
        limit: Packets = Packets::new(127),
        /// Most packets in one queue (tc-sfq(8)).
        depth: Packets = Packets::new(127),
        /// Most queues at one time, 1 to 65536 (tc-sfq(8)).
        flows: u32 = 127,
        /// Number of buckets that flows are hashed into, 1 to 65536 (tc-sfq(8)).
        divisor: u32 = 1024,
        /// Bytes a queue may send in a round (tc-sfq(8): the device's MTU).
        quantum: Bytes = Bytes::new(1514),
        /// Time between changes of the hash; 0 is never (tc-sfq(8)).
        perturb: Span = Span::ZERO,
        /// Queues lose their first packet instead of their last (tc-sfq(8)).
        headdrop: bool = false,
    }
}

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
    /// Holds the packets while they move to other queues.
    moving: Vec<Packet>,
}

impl Sfq {
    fn bucket(&self, flow: u32) -> usize {
        let seed = self.seed.unwrap_or(0).wrapping_add(self.generation);
        crate::fair::hash(flow, seed, self.buckets.len())
    }

    /// Joins the queue of its flow, or is dropped where that has no room.
    #[inline]
    fn place(&mut self, cx: &mut Cx<'_>, packet: Packet) {
        let bucket = self.bucket(packet.flow);
        if self.buckets[bucket] == NONE {
            let Some(free) = self.free.pop() else {
                return cx.drop(packet, Reason::Overflow);
            };
            self.buckets[bucket] = free;
            let flow = &mut self.flows[free as usize];
            (flow.aqm, flow.deficit) = (bucket as u32, self.quantum);
            self.round.append(&mut self.flows, free as usize);
        }
        let at = self.buckets[bucket] as usize;
        if self.flows[at].queue.len() >= self.depth {
            let first = if self.headdrop { self.pool.pop(&mut self.flows[at].queue) } else { None };
            let Some(first) = first else {
                return cx.drop(packet, Reason::Overflow);
            };
            self.removed(u64::from(first.bytes));
            cx.drop(first, Reason::Overflow);
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
            self.place(cx, packet);
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
        self.place(cx, packet);
        if self.waiting.packets > self.limit {
            self.overflow(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued {
        if cx.now >= self.next_perturb {
            self.change_hash(cx);
        }
        let Some(at) = self.next() else { return Dequeued::Empty };
        let queue = &mut self.flows[at].queue;
        if let Some(head) = self.pool.head(queue) {
            cx.forwarded(head);
        }
        match self.pool.pop(queue) {
            Some(packet) => Dequeued::Packet(packet),
            None => Dequeued::Empty,
        }
    }

    fn drain(&mut self) -> Option<Packet> {
        let at = self.next()?;
        self.pool.pop(&mut self.flows[at].queue)
    }

    fn reset(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.deficit = self.quantum);
    }

    fn backlog(&self) -> Backlog {
        self.waiting
    }

    fn internals(&mut self, _now: Instant, _rate: BitRate, visit: &mut Internal<'_>) {
        visit("active_queues", self.round.len(&self.flows) as f64);
        let longest = self.longest.first(&self.flows, |flow| flow.queue.len() as u64);
        visit("longest_packets", longest.map_or(0.0, |(_, packets)| packets as f64));
        visit("perturbations", self.generation as f64);
    }

    fn clone_box(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

impl Standalone for Sfq {
    type Params = Params;

    const ABOUT: About = About {
        title: "SFQ",
        summary: "round robin over hashed flows with a small buffer; the longest queue loses packets when it is full",
        source: "McKenney 1990; tc-sfq(8)",
        signals_on: "full buffer",
        drops_at: DropsAt::Enqueue,
        ecn: false,
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
        Ok(())
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
            moving: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{canonical, refused};
    use crate::testing::Host;
    use crate::Ecn;

    /// Enough buckets that the few flows of a test do not collide.
    fn sfq(change: impl FnOnce(&mut Params)) -> Sfq {
        let mut params = Params { divisor: 65536, ..Params::default() };
        change(&mut params);
        Sfq::check(&params).unwrap();
        Sfq::new(&params)
    }

    fn offer(host: &mut Host, queue: &mut Sfq, flow: u32, bytes: u32, n: usize) -> Vec<u64> {
        (0..n).map(|_| host.offer(queue, flow, bytes, Ecn::NotEct)).collect()
    }

    #[test]
    fn queues_take_turns_of_a_quantum() {
        let (mut host, mut queue) = (Host::new(), sfq(|_| ()));
        let a = offer(&mut host, &mut queue, 1, 1000, 4);
        let b = offer(&mut host, &mut queue, 2, 1000, 2);
        // A: 1514 pays for two and is overdrawn (-486); then B's two; A again.
        assert_eq!([host.take(&mut queue), host.take(&mut queue)], [Some(a[0]), Some(a[1])]);
        // A flow that was idle goes to the end.
        let c = offer(&mut host, &mut queue, 3, 100, 1);
        assert_eq!(host.take_all(&mut queue), [b[0], b[1], c[0], a[2], a[3]]);
    }

    #[test]
    fn the_longest_queue_in_packets_loses_its_last() {
        let (mut host, mut queue) = (Host::new(), sfq(|params| params.limit = Packets::new(5)));
        let a = offer(&mut host, &mut queue, 1, 100, 4);
        let b = offer(&mut host, &mut queue, 2, 1500, 2);
        assert_eq!(host.log.dropped, [(a[3], Reason::Overflow)]);
        // 3 of A and 2 of B: with another of B the lengths are equal, and A's queue was first.
        offer(&mut host, &mut queue, 2, 1500, 1);
        assert_eq!(host.log.dropped[1].0, a[2]);
        assert_eq!(host.take(&mut queue), Some(a[0]));
        queue.headdrop = true;
        offer(&mut host, &mut queue, 2, 1500, 2);
        assert_eq!(host.log.dropped[2].0, b[0]);
    }

    #[test]
    fn where_all_hold_one_packet_the_next_to_send_loses_it() {
        let (mut host, mut queue) = (Host::new(), sfq(|params| params.limit = Packets::new(3)));
        let serials: Vec<u64> = (1..=4).flat_map(|flow| offer(&mut host, &mut queue, flow, 100, 1)).collect();
        assert_eq!(host.log.dropped, [(serials[0], Reason::Overflow)]);
        assert_eq!(host.take_all(&mut queue), serials[1..]);
    }

    #[test]
    fn depth_and_flows_limit() {
        let (mut host, mut queue) = (
            Host::new(),
            sfq(|params| {
                params.depth = Packets::new(2);
                params.flows = 2;
            }),
        );
        let a = offer(&mut host, &mut queue, 1, 100, 3);
        assert_eq!(host.log.dropped, [(a[2], Reason::Overflow)]);
        let b = offer(&mut host, &mut queue, 2, 100, 1);
        let c = offer(&mut host, &mut queue, 3, 100, 1);
        assert_eq!(host.log.dropped[1].0, c[0], "both queues are in use");
        queue.headdrop = true;
        let more = offer(&mut host, &mut queue, 1, 100, 1);
        assert_eq!(host.log.dropped[2].0, a[0]);
        assert_eq!(host.take_all(&mut queue), [a[1], more[0], b[0]]);
        // Emptied queues are free again.
        assert_eq!(offer(&mut host, &mut queue, 3, 100, 2).len(), 2);
        assert_eq!(host.log.dropped.len(), 3);
    }

    #[test]
    fn a_change_of_the_hash_parts_flows_that_collided() {
        // Two buckets: some flow collides with flow 0 now and does not later.
        let mut parted = 0;
        for other in 1..20 {
            let (mut host, mut queue) = (
                Host::new(),
                sfq(|params| {
                    params.divisor = 2;
                    params.perturb = Span::from_secs(1);
                }),
            );
            let a = offer(&mut host, &mut queue, 0, 1000, 3);
            let b = offer(&mut host, &mut queue, other, 1000, 3);
            let before = host.internal(&mut queue, "active_queues");
            host.at_ms(3500.0);
            let taken = host.take_all(&mut queue);
            assert_eq!(host.internal(&mut queue, "perturbations"), 3.0);
            let of = |flow: &[u64]| taken.iter().copied().filter(|n| flow.contains(n)).collect::<Vec<_>>();
            assert_eq!((of(&a), of(&b)), (a.clone(), b.clone()), "order within each flow");
            let together = [&a[..], &b].concat();
            parted += usize::from(before == 1.0 && taken != together);
        }
        // Half collide at first, and half of those part: about 5 of 19.
        assert!((1..=11).contains(&parted), "{parted}");
    }

    #[test]
    fn moving_packets_respects_depth() {
        let mut seen = 0;
        for other in 1..20 {
            let (mut host, mut queue) = (
                Host::new(),
                sfq(|params| {
                    params.divisor = 2;
                    params.depth = Packets::new(3);
                    params.perturb = Span::from_secs(1);
                }),
            );
            offer(&mut host, &mut queue, 0, 1000, 3);
            offer(&mut host, &mut queue, other, 1000, 3);
            let before = queue.backlog().packets;
            host.at_ms(1000.0);
            host.take(&mut queue);
            let lost = before - 1 - queue.backlog().packets;
            assert!(lost == 0 || (before, lost) == (6, 3), "two full queues that merge lose one");
            seen += lost;
            assert_eq!(queue.backlog().bytes, queue.backlog().packets * 1000);
        }
        assert!(seen > 0);
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("sfq limit 3000 perturb 10s divisor 512"), "sfq limit 3000p divisor 512 perturb 10s");
        assert!(refused("sfq depth 0").contains("depth is 0 p; allowed: 1 p or more"));
        assert!(refused("sfq divisor 0").contains("divisor is 0; allowed: 1 to 65536"));
        assert!(refused("sfq quantum 1B").contains("quantum is 1 B; allowed: 64 B to 1 MiB"));
        // tc's perturb is in seconds, and its manual page writes it bare.
        assert_eq!(canonical("sfq perturb 10"), "sfq perturb 10s");
        assert!(refused("sfq perturb ten").contains("perturb"));
    }
}
