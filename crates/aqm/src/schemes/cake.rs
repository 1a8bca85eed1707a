//! CAKE: a complete queue for a home gateway: shaper, fairness between hosts and flows, priorities, COBALT and an ACK
//! filter.
//!
//! CAKE limits the rate to `bandwidth`, so that packets wait in its own queues rather than in the modem. It shares this rate
//! first between hosts and then between the flows of each host, and COBALT keeps the delay of every flow short. Packets can
//! be sorted into priority classes (tins) by their DSCP, and superfluous acknowledgements can be removed.
//!
//! # What happens to a packet
//! In this order:
//!
//! * Tin: the DSCP selects a tin (`diffserv`). `wash` then clears the DSCP.
//! * Queue: the flow selects one of the tin's 1024 queues. A queue can be in any of 8 places next to the one that the hash
//!   selects, so flows share a queue only where nine or more meet in such a set. `flowmode` defines what a flow is.
//! * ACK filter: `ack_filter` drops an earlier acknowledgement that the new one makes superfluous.
//! * Overflow: while the waiting packets take more memory than `memlimit`, the queue with the most bytes loses its head, and
//!   its COBALT is informed. A packet of up to 1664 B takes 2304 B of memory, however short it is.
//! * Shaper: with `bandwidth`, a packet is sent when the transmission times of those before it have passed; no burst
//!   accumulates while nothing waits. Overhead, framing and minimum size are counted as on the link below.
//! * Choice of the tin: the highest tin with packets that has not used up its own share of the bandwidth sends first;
//!   otherwise the one whose share is available first. Without `bandwidth` they take turns by deficits.
//! * Choice of the queue: within a tin DRR++ is used: a queue that was idle is sparse, and it goes before the bulk queues
//!   for one quantum. The quantum of a flow is divided by the number of bulk flows of its source or destination host,
//!   whichever has more.
//! * COBALT judges the packet at the head, but never drops the last packet of a queue. An empty queue stays in a rotation of
//!   its own until COBALT's state has decayed.
//!
//! Defaults that depend on others:
//!
//! * quantum: the tin's bandwidth in bytes/s divided by 4096, between 300 and 1514 B;
//! * target: rtt/20, but at least 1.5 full frames at the tin's bandwidth; interval: rtt, extended by the same time and at
//!   least two targets;
//! * `memlimit`: 4 bandwidth rtt, at least 4 MiB and at most 10240 * 1514 B, as in Linux. These hold 1820 and 6728 packets.
//!
//! # Deviations and interpretations
//! * The size of a packet is what it takes on the wire. Linux subtracts a link header that it knows of before it adds
//!   `overhead`.
//! * Memory is that of frames from an Ethernet driver. In Linux the memory of a packet (`truesize`)
//!   depends on where it comes from: short packets from programs of the same machine take less.
//! * The seed of the hash is drawn from the random stream at the first arrival. A reset changes neither the seed nor the
//!   shaper's times.
//! * A divided quantum is rounded at random, so that it is exact on average; an undivided quantum is exact (Linux also
//!   rounds it). The shaper keeps remainders of a nanosecond, and COBALT's square root is exact unless `control_law` says
//!   otherwise.
//! * A queue that has become empty but still has its turn does not count among its host's flows. Eight CUBIC flows, whose
//!   queues are now and then empty, therefore get 52 % beside another host's single flow; senders that always have packets
//!   waiting get half for each host.
//! * COBALT waits for 2 MTU times of each bulk flow only with `ingress`, as in Linux.
//! * The first spell above target of each queue makes a drop due at once, as in Linux, whose reciprocal square root is 0 until
//!   the count changes; later spells wait for an interval.
//! * Where nine flows meet in a set, one takes over the queue of another, whose later packets can then overtake its earlier
//!   ones.
//! * `autorate-ingress`, `fwmark`, `nat` and `split-gso` have no effect here: hashes and packets are given.
//! * Non-queue-building traffic (RFC 9956, DSCP 45) is in the tin of best effort: the RFC wants it apart from other flows but not
//!   before them, and here every flow has a queue of its own. `precedence` goes by the upper three bits alone.
//! * `noecn` is an addition of this library; Linux always marks.
//!
//! # Work per packet
//! * Arrival: 8 places for the queue and 8 for each host; with an ACK filter its whole queue; and for each packet dropped by
//!   `memlimit` at most one look at every queue in use.
//! * Departure: at most `1 + ceil(longest packet / quantum)` visits to each active queue of a tin, and drops of at most all
//!   but the last packet of each visited queue.
//!
//! # References
//! * T. Høiland-Jørgensen, D. Täht and J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home
//!   Gateways", IEEE LANMAN 2018.
//! * tc-cake(8), for parameters and defaults, and Linux's sch_cake for behaviour.

use crate::acts::{Acts, Kind};
use crate::discipline::standalone;
use crate::queues::fattest::Fattest;
use crate::queues::pool::Pool;
use crate::schemes::cobalt::{self, Verdict};
use crate::schemes::codel::ControlLaw;
use crate::{
    About, Backlog, Cx, Dequeued, Discipline, DropsAt, Excess, Internal, Order, Packet, Reads, Reason, Standalone,
};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::any::Any;
use flows::{Flow, List, Set};
use shaper::Shaper;
use sojourn_units::{BitRate, Bytes, Instant, Span};
use tins::{Tin, MTU};

mod acks;
mod flows;
mod shaper;
mod statistics;
mod stats;
#[cfg(test)]
mod tests;
mod tins;
mod ways;

pub use crate::link::framing::{LinkLayer, Overhead};
pub use tins::Diffserv;
pub use ways::FlowMode;

crate::choice! {
    /// Whether superfluous acknowledgements are dropped.
    pub enum AckFilter {
        /// Nothing is dropped.
        Off = "off",
        /// An earlier one is dropped where two of them wait.
        On = "on",
        /// The only earlier one is dropped, too, if it waits directly before the new one.
        Aggressive = "aggressive",
    }
}

crate::params! {
    /// Parameters of `cake`.
    pub struct Params {
        /// Rate of the shaper; "none": no shaper (tc-cake(8)).
        bandwidth: Option<BitRate> = None,
        /// Expected round-trip time: COBALT's interval, and twenty times its target (tc-cake(8)).
        rtt: Span = Span::from_millis(100),
        /// How DSCPs are sorted into tins (tc-cake(8)).
        diffserv: Diffserv = Diffserv::Diffserv3,
        /// Between what the rate is shared: hosts, flows, or both (tc-cake(8)).
        flowmode: FlowMode = FlowMode::TripleIsolate,
        /// Drop acknowledgements that a later one makes superfluous (tc-cake(8)).
        ack_filter: AckFilter = AckFilter::Off => [Acts::On(Kind::Acks)],
        /// Clear the DSCP after it has selected the tin (tc-cake(8)).
        wash: bool = false => [Acts::OnDevices("each queue sees the DSCP that the flow has")],
        /// For a shaper behind the bottleneck (incoming traffic): dropped packets use bandwidth, too (tc-cake(8)).
        ingress: bool = false,
        /// Bytes that the link below adds to each packet; may be negative (tc-cake(8)).
        overhead: Overhead = Overhead(0) => [Acts::OnBareLinks],
        /// Least size of a packet on the link below, overhead included; at most 256 B (tc-cake(8)).
        mpu: Bytes = Bytes::ZERO => [Acts::OnBareLinks],
        /// Framing of the link below (tc-cake(8)).
        framing: LinkLayer = LinkLayer::Noatm => [Acts::OnBareLinks],
        /// Memory of waiting packets, 2304 B for one of up to 1664 B, above which the longest queue loses packets; "none":
        /// computed from bandwidth and rtt (tc-cake(8)).
        memlimit: Option<Bytes> = None,
        /// Mark ECN-capable packets instead of dropping them (Linux always does).
        ecn: bool = true,
        /// How COBALT computes the spacing of drops: exact, or newton as in Linux.
        control_law: ControlLaw = ControlLaw::Exact,
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Cake {
    params: Params,
    memory: u64,
    shaper: Option<Shaper>,
    /// Seed of the hashes, once drawn.
    seed: Option<u64>,
    tins: Vec<Tin>,
    /// The tin of each DSCP.
    tin_of: [u8; 64],
    /// Whose turn it is without a shaper.
    current: usize,
    /// Queues in use of all tins, in the order of their first packets.
    flows: Vec<Flow>,
    pool: Pool,
    /// By bytes.
    fattest: Fattest,
    waiting: Backlog,
}

impl Cake {
    /// The queue of a packet.
    #[inline]
    fn classify(&mut self, tin: usize, packet: &Packet, seed: u64) -> usize {
        let hash = self.params.flowmode.hash(packet, seed);
        match self.tins[tin].ways.at_once(&self.flows, hash) {
            Some(at) => at,
            None => self.look_up(tin, packet, seed, hash),
        }
    }

    /// The queue of a flow that is elsewhere, or nowhere yet, or whose hosts have to be looked up.
    #[inline(never)]
    fn look_up(&mut self, number: usize, packet: &Packet, seed: u64, hash: u32) -> usize {
        let tin = &mut self.tins[number];
        let (place, look_up) = tin.ways.place(&self.flows, hash);
        let at = tin.ways.queue(place).unwrap_or_else(|| {
            let at = self.flows.len();
            tin.ways.set_queue(place, at);
            tin.met();
            self.flows.push(Flow::new(number, tin.control.clone()));
            self.fattest.make_room(at + 1);
            at
        });
        if look_up {
            tin.ways.look_up_hosts(self.params.flowmode, packet, seed, &mut self.flows[at]);
        }
        at
    }

    /// The packet's time on the link is counted; gives its size there.
    #[inline]
    fn charge(&mut self, tin: usize, now: Instant, bytes: u32, sent: bool) -> i64 {
        let size = self.params.framing.size(bytes, self.params.overhead, self.params.mpu);
        if let Some(shaper) = &mut self.shaper {
            shaper.charge(size, sent);
            self.tins[tin].charge(now, size);
        }
        size as i64
    }

    /// A packet leaves a queue of this tin.
    #[inline]
    fn removed(&mut self, tin: usize, bytes: u32) {
        for waiting in [&mut self.waiting, &mut self.tins[tin].waiting] {
            waiting.packets -= 1;
            waiting.bytes -= u64::from(bytes);
        }
    }

    /// The longest queue loses its head.
    fn overflow(&mut self, cx: &mut Cx<'_>) -> Option<()> {
        let (at, _) = self.fattest.first(&self.flows, |flow| flow.chain.bytes())?;
        let flow = &mut self.flows[at];
        let packet = self.pool.pop(&mut flow.chain)?;
        flow.control.full(cx.now);
        let tin = flow.tin as usize;
        self.removed(tin, packet.bytes);
        self.tins[tin].stats.drops += 1;
        if self.params.ingress {
            self.charge(tin, cx.now, packet.bytes, false);
        }
        cx.drop(packet, Reason::Overflow);
        Some(())
    }

    /// Drops the acknowledgement that the last packet of the queue `at` makes superfluous.
    fn filter(&mut self, cx: &mut Cx<'_>, at: usize) -> Option<()> {
        let chain = &self.flows[at].chain;
        let place = acks::superfluous(&self.pool, chain, self.params.ack_filter == AckFilter::Aggressive)?;
        let packet = self.pool.take(&mut self.flows[at].chain, place)?;
        let tin = self.flows[at].tin as usize;
        self.removed(tin, packet.bytes);
        self.tins[tin].stats.ack_drops += 1;
        cx.drop(packet, Reason::Flow);
        Some(())
    }

    /// The tin to serve; some tin has packets.
    fn choose(&mut self, now: Instant) -> usize {
        if self.shaper.is_some() {
            // The highest within its share, else the one that is within it first.
            let mut best = (Span::MAX, 0);
            for (at, tin) in self.tins.iter().enumerate() {
                let wait = tin.next.since(now);
                if tin.is_active() && (wait.is_zero() || wait <= best.0) {
                    best = (wait, at);
                }
            }
            return best.1;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.is_active() && tin.deficit >= 0 {
                return self.current;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.share;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    /// The queue at `at` was found empty at its turn.
    fn emptied(&mut self, at: usize, now: Instant) {
        let flow = &mut self.flows[at];
        let tin = &mut self.tins[flow.tin as usize];
        flow.control.empty(now);
        if flow.control.is_at_rest(now) {
            tin.change(flow, Set::Idle);
            tin.lists.unlink(&mut self.flows, at);
        } else {
            tin.change(flow, Set::Decaying);
            tin.lists.move_to(List::Decaying, &mut self.flows, at);
        }
    }

    /// The queue at `at` has used up its turn.
    fn next_turn(&mut self, cx: &mut Cx<'_>, at: usize) {
        let flow = &mut self.flows[at];
        let tin = &mut self.tins[flow.tin as usize];
        // A queue in debt is in the bulk rotation; one without packets still counts as sparse there.
        if flow.set == Set::Sparse {
            tin.change(flow, if flow.chain.is_empty() { Set::SparseWait } else { Set::Bulk });
        }
        flow.deficit += tin.quantum(cx, flow);
        tin.lists.move_to(List::Old, &mut self.flows, at);
    }

    /// The queue whose head is sent: the next that COBALT lets pass. Something waits, and the shaper does not hold it.
    #[inline]
    fn next(&mut self, cx: &mut Cx<'_>) -> Option<usize> {
        // Another tin is chosen where this one has nothing left, or has used bandwidth.
        let mut tin = self.choose(cx.now);
        // One queue without packets is visited a departure, so that its state decays.
        let mut order = &List::DECAYING_FIRST;
        loop {
            let first = order.iter().find_map(|list| self.tins[tin].lists.first(*list));
            order = &List::DECAYING_LAST;
            let at = first?;
            let flow = &self.flows[at];
            if flow.deficit <= 0 {
                self.next_turn(cx, at);
            } else if flow.chain.is_empty() {
                self.emptied(at, cx.now);
                if !self.tins[tin].is_active() {
                    tin = self.choose(cx.now);
                }
            } else if self.run_cobalt(cx, tin, at) {
                return Some(at);
            } else {
                tin = self.choose(cx.now);
            }
        }
    }

    /// COBALT's judgement of the queue at `at` from its head, up to the first packet that is sent, which is counted as gone.
    /// False: with `ingress` a dropped packet has used up bandwidth.
    #[inline]
    fn run_cobalt(&mut self, cx: &mut Cx<'_>, tin: usize, at: usize) -> bool {
        let least = self.tins[tin].least_sojourn(self.params.ingress);
        loop {
            let flow = &mut self.flows[at];
            let Some(head) = self.pool.head_mut(&flow.chain) else { return false };
            let marked = cx.counters.marked.packets;
            let verdict = flow.control.should_drop(cx, head, |sojourn| sojourn > least);
            let (bytes, sojourn) = (head.bytes, cx.now.since(head.enqueued));
            let sent = verdict == Verdict::Keep || flow.chain.len() == 1;
            if sent {
                cx.forwarded(head);
            }
            self.removed(tin, bytes);
            self.tins[tin].stats.marks += cx.counters.marked.packets - marked;
            if sent || self.params.ingress {
                let size = self.charge(tin, cx.now, bytes, sent);
                self.flows[at].deficit -= size;
                self.tins[tin].deficit -= size;
            }
            if sent {
                self.tins[tin].stats.sent(sojourn);
                return true;
            }
            self.tins[tin].stats.drops += 1;
            if let Some(dropped) = self.pool.pop(&mut self.flows[at].chain) {
                cx.drop(dropped, Reason::Early);
            }
            if self.params.ingress {
                return false;
            }
        }
    }
}

impl Discipline for Cake {
    fn reads(&self) -> Reads {
        Reads { ack: self.params.ack_filter != AckFilter::Off, ..Reads::NONE }
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, mut packet: Packet) {
        packet.enqueued = cx.now;
        cx.arrived(&packet);
        let seed = match self.seed {
            Some(seed) => seed,
            None => *self.seed.insert(cx.random.next_u64()),
        };
        let tin = usize::from(self.tin_of[usize::from(packet.dscp & 63)]);
        if self.params.wash {
            packet.dscp = 0;
        }
        let at = self.classify(tin, &packet, seed);
        let state = &mut self.tins[tin];
        // Time that was not used is not saved up.
        if state.waiting.packets == 0 {
            state.next = state.next.max(cx.now);
        }
        if self.waiting.packets == 0 {
            if let Some(shaper) = &mut self.shaper {
                shaper.wake(cx.now);
            }
        }
        for waiting in [&mut self.waiting, &mut state.waiting] {
            waiting.packets += 1;
            waiting.bytes += u64::from(packet.bytes);
        }
        let flow = &mut self.flows[at];
        self.pool.push(&mut flow.chain, packet);
        self.fattest.grown(at, flow.chain.bytes());
        match flow.set {
            Set::Idle | Set::Decaying => {
                state.change(flow, Set::Sparse);
                flow.deficit = state.quantum(cx, flow);
                state.lists.move_to(List::New, &mut self.flows, at);
            }
            // It was empty, but in the bulk rotation already.
            Set::SparseWait => state.change(flow, Set::Bulk),
            Set::Sparse | Set::Bulk => {}
        }
        if self.params.ack_filter != AckFilter::Off {
            self.filter(cx, at);
        }
        while self.waiting.exceeds(self.memory) {
            if self.overflow(cx).is_none() {
                break;
            }
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued {
        if self.waiting.packets == 0 {
            return Dequeued::Empty;
        }
        if let Some(until) = self.shaper.as_ref().and_then(|shaper| shaper.blocked_until(cx.now)) {
            return Dequeued::NotBefore(until);
        }
        let Some(at) = self.next(cx) else { return Dequeued::Empty };
        match self.pool.pop(&mut self.flows[at].chain) {
            Some(packet) => Dequeued::Packet(packet),
            None => Dequeued::Empty,
        }
    }

    /// One packet of each queue in turn, the highest tin first.
    fn is_shaper(&self) -> bool {
        true
    }

    fn set_params(&mut self, cx: &mut Cx<'_>, params: &dyn Any) -> bool {
        standalone(self, cx, params)
    }

    fn drain(&mut self) -> Option<Packet> {
        let tin = self.tins.iter().rposition(|tin| tin.waiting.packets > 0)?;
        loop {
            let at = List::DECAYING_LAST.iter().find_map(|list| self.tins[tin].lists.first(*list))?;
            let (flow, state) = (&mut self.flows[at], &mut self.tins[tin]);
            let Some(packet) = self.pool.pop(&mut flow.chain) else {
                state.change(flow, Set::Idle);
                state.lists.unlink(&mut self.flows, at);
                continue;
            };
            state.lists.move_to(List::Old, &mut self.flows, at);
            self.removed(tin, packet.bytes);
            return Some(packet);
        }
    }

    fn reset(&mut self) {
        for flow in &mut self.flows {
            let tin = &self.tins[flow.tin as usize];
            flow.control = tin.control.clone();
            flow.deficit = i64::from(tin.quantum);
        }
        self.tins.iter_mut().for_each(|tin| tin.deficit = 0);
    }

    fn backlog(&self) -> Backlog {
        self.waiting
    }

    fn internals(&mut self, now: Instant, _rate: BitRate, visit: &mut Internal<'_>) {
        visit("queues", self.flows.len() as f64);
        let fattest = self.fattest.first(&self.flows, |flow| flow.chain.bytes());
        visit("fattest_bytes", fattest.map_or(0.0, |(_, bytes)| bytes as f64));
        visit("memory_limit_bytes", self.memory as f64);
        let held = self.shaper.as_ref().and_then(|shaper| shaper.blocked_until(now));
        visit("shaper_holds_s", held.map_or(0.0, |until| until.since(now).seconds()));
        statistics::show(&self.tins, visit);
    }

    fn clone_box(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

impl Standalone for Cake {
    type Params = Params;
    const FIXED: &'static [&'static str] = &["diffserv", "flowmode"];

    const ABOUT: About = About {
        title: "CAKE",
        summary: "shaper, isolation of hosts and flows, priorities by DSCP, COBALT in every queue, ACK filter",
        source: "Høiland-Jørgensen et al. 2018; tc-cake(8)",
        signals_on: "sojourn time; full and empty queue",
        drops_at: DropsAt::Both,
        ecn: true,
        per_flow_state: true,
    };

    const ORDER: Order = Order::Flow;

    const PRESETS: &'static [&'static str] =
        &["datacentre", "lan", "metro", "regional", "internet", "oceanic", "satellite", "interplanetary"];

    const WORDS: &'static [(&'static str, &'static str, &'static str)] = &[
        ("unlimited", "bandwidth", "none"),
        ("datacentre", "rtt", "100us"),
        ("lan", "rtt", "1ms"),
        ("metro", "rtt", "10ms"),
        ("regional", "rtt", "30ms"),
        ("internet", "rtt", "100ms"),
        ("oceanic", "rtt", "300ms"),
        ("satellite", "rtt", "1s"),
        ("interplanetary", "rtt", "1000s"),
        ("besteffort", "diffserv", "besteffort"),
        ("precedence", "diffserv", "precedence"),
        ("diffserv3", "diffserv", "diffserv3"),
        ("diffserv4", "diffserv", "diffserv4"),
        ("diffserv8", "diffserv", "diffserv8"),
        ("flowblind", "flowmode", "flowblind"),
        ("srchost", "flowmode", "srchost"),
        ("dsthost", "flowmode", "dsthost"),
        ("hosts", "flowmode", "hosts"),
        ("flows", "flowmode", "flows"),
        ("dual-srchost", "flowmode", "dual-srchost"),
        ("dual-dsthost", "flowmode", "dual-dsthost"),
        ("triple-isolate", "flowmode", "triple-isolate"),
        ("no-ack-filter", "ack_filter", "off"),
        ("ack-filter", "ack_filter", "on"),
        ("ack-filter-aggressive", "ack_filter", "aggressive"),
        ("noatm", "framing", "noatm"),
        ("atm", "framing", "atm"),
        ("ptm", "framing", "ptm"),
        ("egress", "ingress", "false"),
    ];

    /// tc-cake(8)'s words for a round-trip time.
    fn preset(name: &str) -> Option<Params> {
        let (_, _, rtt) = Self::WORDS.iter().find(|(word, param, _)| *word == name && *param == "rtt")?;
        Some(Params { rtt: rtt.parse().ok()?, ..Params::default() })
    }

    fn check(params: &Params) -> Result<(), String> {
        if params.rtt.is_zero() {
            return Err("rtt is 0; allowed: a time above 0, as in \"100ms\"".into());
        }
        if params.bandwidth.is_some_and(|rate| rate.bit_s() < 512) {
            let rate = params.bandwidth.map_or_else(String::new, |rate| rate.to_string());
            return Err(format!("bandwidth is {rate}; allowed: 512 bit/s or more, or \"none\""));
        }
        // As tc, which keeps the number of rounds that a packet may cost small.
        if params.mpu > Bytes::new(256) {
            return Err(format!("mpu is {}; allowed: 0 B to 256 B", params.mpu));
        }
        if params.memlimit.is_some_and(|limit| limit == Bytes::ZERO) {
            return Err("memlimit is 0 B; allowed: 1 B or more, or \"none\"".into());
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let next = Self::new(params);
        (self.params, self.memory, self.tin_of) = (next.params, next.memory, next.tin_of);
        self.shaper = match (next.shaper, self.shaper.take()) {
            (Some(next), Some(old)) => Some(next.after(&old)),
            (next, _) => next,
        };
        for (tin, next) in self.tins.iter_mut().zip(next.tins) {
            tin.keep(next);
        }
        for flow in &mut self.flows {
            if let Some(tin) = self.tins.get(flow.tin as usize) {
                flow.control.follow(&tin.control);
            }
        }
    }

    const EXCESS: Excess = Excess::Arrival;

    fn shed(&mut self, _cx: &mut Cx<'_>) -> bool {
        false
    }

    fn new(params: &Params) -> Self {
        let cobalt = cobalt::Params { ecn: params.ecn, control_law: params.control_law, ..cobalt::Params::default() };
        let frames = 10_240 * MTU.get();
        let memory = match (params.memlimit, params.bandwidth) {
            (Some(limit), _) => limit.get(),
            (None, Some(rate)) => ((4.0 * rate.bytes_s() * params.rtt.seconds()) as u64).clamp(4 << 20, frames),
            (None, None) => frames,
        };
        Self {
            memory,
            shaper: params.bandwidth.map(Shaper::new),
            seed: None,
            tins: params
                .diffserv
                .shares()
                .into_iter()
                .map(|share| Tin::new(share, params.bandwidth, params.rtt, &cobalt))
                .collect(),
            tin_of: core::array::from_fn(|dscp| params.diffserv.tin(dscp as u8) as u8),
            current: 0,
            flows: Vec::new(),
            pool: Pool::default(),
            fattest: Fattest::default(),
            waiting: Backlog::default(),
            params: params.clone(),
        }
    }
}
