//! DRR (deficit round robin): shares the link equally, in bytes, among hashed flows, each in a first-in first-out queue of
//! its own.
//!
//! Flows are hashed into queues that take turns. At each turn a queue may send `quantum` bytes more, and what it does not
//! use is kept for its next turn. When the buffer is full, the longest queue loses a packet. There is no early drop and no
//! priority.
//!
//! # Scheduling
//! * At its turn a queue's deficit grows by `quantum`. The queue sends while the packet at its head is not longer than the
//!   deficit, and each packet sent reduces the deficit by its length. A queue that becomes empty leaves the round and loses
//!   its deficit.
//! * When a packet arrives while `limit` packets wait, the queue with the most bytes, counting this arrival, loses one
//!   packet (McKenney's buffer stealing, which the paper uses).
//! * `fq_pfifo` differs in three ways. Flows that were idle go before all others. A queue may overdraw its deficit (RFC 8290
//!   sends while the deficit is above 0). An overflow removes half of the longest queue.
//!
//! # Deviations and interpretations
//! * The paper does not say which packet of the longest queue is dropped. It is the last one by default, as in Linux's SFQ,
//!   or the first one with `headdrop`.
//! * Linux's `drr` schedules classes that the user defines, and has no hash.
//! * The perturbation of the hash is drawn at the first arrival, as for [`FairQueue`](crate::FairQueue).
//!
//! # Work per packet
//! An arrival takes constant time and, if the buffer is full, at most one look at every queue in use. A departure visits
//! each active queue at most `1 + ceil(longest packet / quantum)` times. The memory is that of the packets, whatever their
//! flows.
//!
//! # References
//! * M. Shreedhar and G. Varghese, "Efficient Fair Queueing using Deficit Round Robin", ACM SIGCOMM 1995, section 3.

use crate::discipline::standalone;
use crate::queues::fair::lists::{Flow, Rotation, NONE};
use crate::queues::fattest::Fattest;
use crate::queues::pool::{Chain, Pool};
use crate::{
    About, Backlog, Cx, Dequeued, Discipline, DropsAt, Excess, Internal, ListedQueue, Order, Packet, Reason, Standalone,
};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::any::Any;
use sojourn_units::{BitRate, Bytes, Instant, Packets};

crate::params! {
    /// Parameters of `drr`.
    pub struct Params {
        /// Packets waiting in all queues together above which the longest queue loses one (that of pfifo here).
        limit: Packets = Packets::new(1000),
        /// Number of queues that flows are hashed into, 1 to 65536 (that of FQ-CoDel).
        flows: u32 = 1024,
        /// Bytes a queue may send in a round: one full frame, so that every turn sends (the paper, section 3.3).
        quantum: Bytes = Bytes::new(1514),
        /// The longest queue loses its first packet instead of its last (tc-sfq(8)).
        headdrop: bool = false,
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Drr {
    limit: u64,
    quantum: i64,
    headdrop: bool,
    /// Seed of the hash, once drawn.
    perturbation: Option<u64>,
    /// Where the queue of each hash value is in `flows`; `NONE` before its first packet.
    slots: Vec<u32>,
    /// Queues in use, in the order of their first packets.
    flows: Vec<Flow<(), Chain>>,
    pool: Pool,
    /// The round.
    round: Rotation,
    /// The queue at the head of the round has been given its quantum.
    given: bool,
    /// By bytes.
    fattest: Fattest,
    waiting: Backlog,
}

impl Drr {
    #[inline]
    fn classify(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> usize {
        let seed = match self.perturbation {
            Some(seed) => seed,
            None => *self.perturbation.insert(cx.random.next_u64()),
        };
        let slot = crate::queues::fair::hash(packet.flow, seed, self.slots.len());
        let at = self.slots[slot];
        if at == NONE {
            return self.first_use(slot);
        }
        at as usize
    }

    /// A queue for a hash value that has not occurred before.
    #[cold]
    fn first_use(&mut self, slot: usize) -> usize {
        let at = self.flows.len();
        self.slots[slot] = at as u32;
        self.flows.push(Flow::new(()));
        self.fattest.make_room(at + 1);
        at
    }

    /// A packet left the queues.
    #[inline]
    fn removed(&mut self, bytes: u64) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= bytes;
    }

    /// The longest queue loses a packet.
    #[inline(never)]
    fn steal(&mut self, cx: &mut Cx<'_>) {
        let Some((at, _)) = self.fattest.first(&self.flows, |flow| flow.queue.bytes()) else { return };
        let queue = &mut self.flows[at].queue;
        let stolen = if self.headdrop { self.pool.pop(queue) } else { self.pool.pop_last(queue) };
        if let Some(packet) = stolen {
            self.removed(u64::from(packet.bytes));
            cx.drop(packet, Reason::Overflow);
        }
    }

    /// The paper's dequeuing module, one packet at a time: the queue whose head is sent, which is counted as gone.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            let flow = self.flows.get_mut(self.round.first())?;
            let Some(length) = self.pool.head(&flow.queue).map(|packet| packet.bytes) else {
                // Overflow emptied it.
                self.leave();
                continue;
            };
            if !self.given {
                flow.deficit = flow.deficit.saturating_add(self.quantum);
                self.given = true;
            }
            if i64::from(length) > flow.deficit {
                self.round.turn(&mut self.flows);
                self.given = false;
                continue;
            }
            flow.deficit -= i64::from(length);
            let at = self.round.first();
            if flow.queue.len() == 1 {
                self.leave();
            }
            self.removed(u64::from(length));
            return Some(at);
        }
    }

    /// The queue whose turn it is leaves the round.
    fn leave(&mut self) {
        if let Some(at) = self.round.remove(&mut self.flows) {
            self.flows[at].deficit = 0;
        }
        self.given = false;
    }
}

impl Discipline for Drr {
    fn enqueue(&mut self, cx: &mut Cx<'_>, mut packet: Packet) {
        packet.enqueued = cx.now;
        cx.arrived(&packet);
        let at = self.classify(cx, &packet);
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(packet.bytes);
        let flow = &mut self.flows[at];
        self.pool.push(&mut flow.queue, packet);
        self.fattest.grown(at, flow.queue.bytes());
        if !flow.active {
            self.round.append(&mut self.flows, at);
        }
        self.shed(cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued {
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
        self.flows.iter_mut().for_each(|flow| flow.deficit = 0);
        self.given = false;
    }

    fn backlog(&self) -> Backlog {
        self.waiting
    }

    fn internals(&mut self, _now: Instant, _rate: BitRate, visit: &mut Internal<'_>) {
        visit("queues", self.flows.len() as f64);
        visit("active_queues", self.round.len(&self.flows) as f64);
        let fattest = self.fattest.first(&self.flows, |flow| flow.queue.bytes());
        visit("fattest_bytes", fattest.map_or(0.0, |(_, bytes)| bytes as f64));
    }

    fn listed_queues(&self, visit: &mut dyn FnMut(ListedQueue)) {
        self.round.queues(&self.flows).for_each(|flow| {
            let backlog = Backlog { packets: flow.queue.len() as u64, bytes: flow.queue.bytes() };
            let head = self.pool.head(&flow.queue).map(|packet| packet.flow);
            visit(ListedQueue { list: "active", deficit_bytes: flow.deficit, backlog, flow: head });
        });
    }

    fn clone_box(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

impl Standalone for Drr {
    type Params = Params;
    const FIXED: &'static [&'static str] = &["flows"];

    const ABOUT: About = About {
        title: "DRR",
        summary: "deficit round robin over hashed flows; the longest queue loses packets when the buffer is full",
        source: "Shreedhar and Varghese 1995",
        signals_on: "full buffer",
        drops_at: DropsAt::Enqueue,
        ecn: false,
        per_flow_state: true,
    };

    const ORDER: Order = Order::Flow;

    fn check(params: &Params) -> Result<(), String> {
        let Params { limit, flows, quantum, .. } = params;
        if *limit == Packets::ZERO {
            return Err("limit is 0 p; allowed: 1 p or more".into());
        }
        if !(1..=65536).contains(flows) {
            return Err(format!("flows is {flows}; allowed: 1 to 65536"));
        }
        if !(64..=1 << 20).contains(&quantum.get()) {
            return Err(format!("quantum is {quantum}; allowed: 64 B to 1 MiB"));
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        self.limit = params.limit.get();
        self.quantum = i64::try_from(params.quantum.get()).unwrap_or(i64::MAX);
        self.headdrop = params.headdrop;
    }

    const EXCESS: Excess = Excess::Longest;

    fn shed(&mut self, cx: &mut Cx<'_>) -> bool {
        let is_over = self.waiting.packets > self.limit;
        if is_over {
            self.steal(cx);
        }
        is_over
    }

    fn new(params: &Params) -> Self {
        Self {
            limit: params.limit.get(),
            quantum: i64::try_from(params.quantum.get()).unwrap_or(i64::MAX),
            headdrop: params.headdrop,
            perturbation: None,
            slots: vec![NONE; params.flows as usize],
            flows: Vec::new(),
            pool: Pool::default(),
            round: Rotation::default(),
            given: false,
            fattest: Fattest::default(),
            waiting: Backlog::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{canonical, refused, DisciplineHost};
    use crate::Ecn;

    /// Enough slots that the few flows of a test do not collide.
    fn drr(change: impl FnOnce(&mut Params)) -> Drr {
        let mut params = Params { flows: 65536, ..Params::default() };
        change(&mut params);
        Drr::new(&params)
    }

    fn offer(host: &mut DisciplineHost, queue: &mut Drr, flow: u32, bytes: u32, n: usize) -> Vec<u64> {
        (0..n).map(|_| host.offer(queue, flow, bytes, Ecn::NotEct)).collect()
    }

    #[test]
    fn the_papers_example() {
        // Figures 2 and 3 of the paper: quantum 500, flow 1 holds 200, 750, 20; flow 2 holds 500, 500.
        let (mut host, mut queue) = (DisciplineHost::new(), drr(|params| params.quantum = Bytes::new(500)));
        let a = [200, 750, 20].map(|bytes| offer(&mut host, &mut queue, 1, bytes, 1)[0]);
        let b = offer(&mut host, &mut queue, 2, 500, 2);
        // Flow 1: 500 sends 200, keeps 300 (750 does not fit). Flow 2: 500 sends one. Flow 1: 800 sends 750, keeps 50, sends 20.
        assert_eq!(host.take_all(&mut queue), [a[0], b[0], a[1], a[2], b[1]]);
    }

    #[test]
    fn an_emptied_queue_forgets_its_deficit() {
        let (mut host, mut queue) = (DisciplineHost::new(), drr(|params| params.quantum = Bytes::new(500)));
        offer(&mut host, &mut queue, 1, 100, 1);
        host.take(&mut queue);
        // 400 were left over; with them 900 would go at once, before the other flow.
        let a = offer(&mut host, &mut queue, 1, 900, 1);
        let b = offer(&mut host, &mut queue, 2, 400, 1);
        assert_eq!(host.take_all(&mut queue), [b[0], a[0]]);
    }

    #[test]
    fn idle_flows_wait_their_turn() {
        let (mut host, mut queue) = (DisciplineHost::new(), drr(|_| ()));
        let a = offer(&mut host, &mut queue, 1, 1514, 3);
        let b = offer(&mut host, &mut queue, 2, 1514, 2);
        assert_eq!(host.take(&mut queue), Some(a[0]));
        let sparse = offer(&mut host, &mut queue, 3, 100, 1);
        // Flow 1's deficit is used up: to the end of the round, behind the newcomer.
        assert_eq!(host.take_all(&mut queue), [b[0], sparse[0], a[1], b[1], a[2]]);
    }

    #[test]
    fn the_longest_queue_pays() {
        let (mut host, mut queue) = (DisciplineHost::new(), drr(|params| params.limit = Packets::new(4)));
        let a = offer(&mut host, &mut queue, 1, 1000, 3);
        let b = offer(&mut host, &mut queue, 2, 100, 2);
        // The fifth packet is of the short queue; the long one loses its last.
        assert_eq!(host.log.dropped, [(a[2], Reason::Overflow)]);
        assert_eq!(queue.backlog(), Backlog { packets: 4, bytes: 2200 });
        let last = offer(&mut host, &mut queue, 1, 1000, 1);
        assert_eq!(host.log.dropped[1].0, last[0]);
        assert_eq!(host.take_all(&mut queue), [a[0], b[0], b[1], a[1]]);
        queue.headdrop = true;
        let a = offer(&mut host, &mut queue, 1, 1000, 5);
        assert_eq!(host.log.dropped[2].0, a[0]);
    }

    #[test]
    fn backlogged_flows_get_equal_bytes_whatever_their_packets() {
        let (mut host, mut queue) = (DisciplineHost::new(), drr(|params| params.limit = Packets::new(2400)));
        offer(&mut host, &mut queue, 1, 1500, 400);
        offer(&mut host, &mut queue, 2, 300, 2000);
        let mut sent = [0_i64; 3];
        for _ in 0..1800 {
            let packet = host.take_packet(&mut queue).unwrap();
            sent[packet.flow as usize] += i64::from(packet.bytes);
            // The paper's fairness measure: within quantum + 2 of the longest packet.
            assert!((sent[1] - sent[2]).abs() <= 1514 + 2 * 1500, "{sent:?}");
        }
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("drr quantum 500 headdrop"), "drr quantum 500B headdrop");
        assert!(refused("drr limit 0").contains("limit is 0 p; allowed: 1 p or more"));
        assert!(refused("drr flows 0").contains("flows is 0; allowed: 1 to 65536"));
        assert!(refused("drr quantum 1B").contains("quantum is 1 B; allowed: 64 B to 1 MiB"));
    }
}
