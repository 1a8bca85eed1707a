//! CAKE: a shaper, fairness among hosts and then among their flows, priorities by DSCP, COBALT in every queue, an ACK filter.
//!
//! Governing texts: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home
//! Gateways", IEEE LANMAN 2018; tc-cake(8), whose parameters and defaults these are; behaviour as of Linux's sch_cake.
//!
//! What happens to a packet, in order:
//! * Its DSCP leads to a tin (`diffserv`; [`tins`]); `wash` then clears it.
//! * Its flow leads to one of the tin's 1024 queues. A queue can be in any of 8 places next to where the hash points, so that
//!   flows share one only where nine or more meet in a set ([`ways`]). What a flow is, `flowmode` says.
//! * `ack_filter` drops an earlier acknowledgement that this one makes superfluous ([`acks`]).
//! * While more than `memlimit` bytes wait, the queue with the most of them loses its head, and COBALT there hears of it.
//! * The shaper (`bandwidth`) lets a packet go when those before it have taken their time ([`shaper`]); no burst saves up while
//!   nothing waits. Overhead, framing and least size are counted as the link below counts them.
//! * Of the tins with packets the highest whose own share of the bandwidth is not used up goes first, else the one whose
//!   share comes back first. Without a bandwidth they take turns by deficits.
//! * Within a tin DRR++: a queue that was idle is sparse and goes before the bulk ones for one quantum. The quantum of a
//!   flow is divided by the number of bulk flows of its source or destination host, whichever has more.
//! * COBALT judges the head, but never drops the last packet of a queue. An empty queue stays in a rotation of its own until
//!   COBALT's state has come to rest.
//!
//! Defaults that follow from others: quantum = bandwidth of the tin in bytes/s over 4096, within 300 and 1514 B; target =
//! rtt/20, but at least 1.5 full frames at the tin's bandwidth, and interval = rtt, longer by as much and at least two targets;
//! `memlimit` = 4 bandwidth rtt, at least 4 MiB and at most 10240 full frames. A full frame is 1514 B.
//!
//! Readings and deviations:
//! * `bytes` of a packet is all that its host says it has on the wire; Linux subtracts a link header that it knows of before
//!   it adds `overhead`. Memory counts the same bytes, in Linux the kernel's for them.
//! * The hash seed is drawn from the host's stream at the first arrival; it outlives `reset`, as do the shaper's times.
//! * A divided quantum is rounded by a random draw, so that it is exact on average; the whole quantum is exact (Linux rounds that
//!   too). The shaper carries remainders of a nanosecond, and the square root of COBALT is exact unless `control_law` says
//!   otherwise.
//! * COBALT waits for 2 MTU times of each bulk flow only with `ingress`, as in Linux.
//! * Where nine flows meet in a set one takes over the queue of another, whose later packets can then overtake its earlier ones.
//! * `autorate-ingress`, `fwmark`, `nat` and `split-gso` have nothing to work on here: the host gives hashes and packets.
//! * `noecn` is ours; Linux always marks.
//!
//! Bound: an arrival looks at 8 places for the queue and 8 for each host, with an ACK filter at its whole queue, and for a packet
//! dropped by `memlimit` at most once at every queue in use. A departure visits each active queue of a tin at most `1 + ceil(longest packet / quantum)`
//! times and drops at most all but the last packet of each that it visits.

use crate::cobalt::Verdict;
use crate::codel::ControlLaw;
use crate::fattest::Fattest;
use crate::pool::Pool;
use crate::{About, Backlog, Cx, Dequeued, Discipline, DropsAt, Internal, Order, Packet, Reason, Standalone};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use flows::{Flow, List, Set};
use shaper::Shaper;
use sojourn_units::{BitRate, Bytes, Instant, Span};
use tins::Tin;

mod acks;
mod flows;
mod shaper;
mod statistics;
#[cfg(test)]
mod tests;
mod tins;
mod ways;

pub use shaper::{Framing, Overhead};
pub use tins::Diffserv;

crate::choice! {
    /// What is isolated from what.
    pub enum FlowMode {
        /// Nothing: one queue a tin.
        Flowblind = "flowblind",
        /// Source hosts.
        Srchost = "srchost",
        /// Destination hosts.
        Dsthost = "dsthost",
        /// Pairs of hosts.
        Hosts = "hosts",
        /// Flows by their five-tuple.
        Flows = "flows",
        /// Source hosts, and flows within each.
        DualSrchost = "dual-srchost",
        /// Destination hosts, and flows within each.
        DualDsthost = "dual-dsthost",
        /// Source hosts and destination hosts, and flows within each.
        TripleIsolate = "triple-isolate",
    }
}

impl FlowMode {
    /// Source hosts share the bandwidth, whatever their flows.
    fn isolates_sources(self) -> bool {
        matches!(self, Self::DualSrchost | Self::TripleIsolate)
    }

    fn isolates_destinations(self) -> bool {
        matches!(self, Self::DualDsthost | Self::TripleIsolate)
    }
}

crate::choice! {
    /// Whether superfluous acknowledgements are dropped.
    pub enum AckFilter {
        /// No.
        Off = "off",
        /// Where two earlier ones wait.
        On = "on",
        /// Also where the packet before this one is the only one.
        Aggressive = "aggressive",
    }
}

crate::params! {
    /// Parameters of `cake`.
    pub struct Params {
        /// Rate of the shaper; none leaves it to the link (tc-cake(8)).
        bandwidth: Option<BitRate> = None,
        /// Round-trip time to be ready for: COBALT's interval, and twenty times its target (tc-cake(8)).
        rtt: Span = Span::from_millis(100),
        /// How DSCPs are sorted into tins (tc-cake(8)).
        diffserv: Diffserv = Diffserv::Diffserv3,
        /// What is isolated from what (tc-cake(8)).
        flowmode: FlowMode = FlowMode::TripleIsolate,
        /// Drop acknowledgements that a later one makes superfluous (tc-cake(8)).
        ack_filter: AckFilter = AckFilter::Off,
        /// Clear the DSCP once it has chosen the tin (tc-cake(8)).
        wash: bool = false,
        /// The shaper stands after the bottleneck: dropped packets have used bandwidth too (tc-cake(8)).
        ingress: bool = false,
        /// What the link below adds to each packet; may be negative (tc-cake(8)).
        overhead: Overhead = Overhead(0),
        /// Least size of a packet on the link below, overhead included; at most 256 B (tc-cake(8)).
        mpu: Bytes = Bytes::ZERO,
        /// How the link below packs what it sends (tc-cake(8)).
        framing: Framing = Framing::Noatm,
        /// Waiting bytes above which the fattest queue loses packets; none follows from bandwidth and rtt (tc-cake(8)).
        memlimit: Option<Bytes> = None,
        /// Mark ECN-capable packets instead of dropping them (Linux always does).
        ecn: bool = true,
        /// How COBALT computes the spacing of drops: exact, or newton as in Linux.
        control_law: ControlLaw = ControlLaw::Exact,
    }
}

/// A full frame.
const MTU: Bytes = Bytes::new(1514);

/// The discipline.
#[derive(Clone, Debug)]
pub struct Cake {
    params: Params,
    memory: u64,
    shaper: Option<Shaper>,
    /// Seed of the hashes, once drawn.
    seed: Option<u64>,
    tins: Vec<Tin>,
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
    /// The flow is in another state now: the counts of its tin and of its hosts follow.
    fn change(&mut self, at: usize, set: Set) {
        let flow = &mut self.flows[at];
        let before = core::mem::replace(&mut flow.set, set);
        let tin = &mut self.tins[flow.tin as usize];
        for (set, step) in [(before, -1), (set, 1)] {
            match set {
                Set::Idle => {}
                Set::Sparse | Set::SparseWait => tin.sparse += step,
                Set::Decaying => tin.decaying += step,
                Set::Bulk => {
                    tin.bulk += step;
                    tin.ways.count_bulk(flow.hosts, step);
                }
            }
        }
    }

    /// Bytes that a flow may send in a round: less, the more bulk flows its busier host has.
    fn quantum(&self, cx: &mut Cx<'_>, at: usize) -> i64 {
        let flow = &self.flows[at];
        let tin = &self.tins[flow.tin as usize];
        let [source, destination] = tin.ways.bulk(flow.hosts);
        let sources = if self.params.flowmode.isolates_sources() { source } else { 1 };
        let destinations = if self.params.flowmode.isolates_destinations() { destination } else { 1 };
        match sources.max(destinations) {
            0 | 1 => i64::from(tin.quantum),
            load => ((i64::from(tin.quantum) << 16) / i64::from(load) + (cx.random.next_u64() & 0xffff) as i64) >> 16,
        }
    }

    /// The packet's time on the link is counted; gives its size there.
    fn charge(&mut self, tin: usize, now: Instant, bytes: u32, sent: bool) -> i64 {
        let size = self.params.framing.size(bytes, self.params.overhead, self.params.mpu);
        if let Some(shaper) = &mut self.shaper {
            shaper.charge(size, sent);
            self.tins[tin].charge(now, size);
        }
        size as i64
    }

    /// A packet left the queue `at`.
    fn removed(&mut self, at: usize, packet: &Packet) {
        let bytes = u64::from(packet.bytes);
        self.waiting.packets -= 1;
        self.waiting.bytes -= bytes;
        let flow = &self.flows[at];
        let tin = &mut self.tins[flow.tin as usize];
        tin.waiting.packets -= 1;
        tin.waiting.bytes -= bytes;
    }

    /// The fattest queue loses its head.
    fn overflow(&mut self, cx: &mut Cx<'_>) -> Option<()> {
        let (at, _) = self.fattest.first(&self.flows, |flow| flow.chain.bytes())?;
        let flow = &mut self.flows[at];
        let packet = self.pool.pop(&mut flow.chain)?;
        flow.control.full(cx.now);
        let tin = flow.tin as usize;
        self.removed(at, &packet);
        self.tins[tin].seen.drops += 1;
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
        self.removed(at, &packet);
        self.tins[self.flows[at].tin as usize].seen.ack_drops += 1;
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
                if tin.sparse + tin.bulk > 0 && (wait.is_zero() || wait <= best.0) {
                    best = (wait, at);
                }
            }
            return best.1;
        }
        loop {
            let tin = &mut self.tins[self.current];
            let active = tin.sparse + tin.bulk > 0;
            if active && tin.deficit >= 0 {
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
        flow.control.empty(now);
        let rests = flow.control.is_at_rest(now);
        let tin = flow.tin as usize;
        self.tins[tin].lists.unlink(&mut self.flows, at);
        if rests {
            self.change(at, Set::Idle);
        } else {
            self.tins[tin].lists.append(List::Decaying, &mut self.flows, at);
            self.change(at, Set::Decaying);
        }
    }

    /// The queue at `at` has used up its turn.
    fn next_turn(&mut self, cx: &mut Cx<'_>, at: usize) {
        // A queue in debt is in the bulk rotation; one without packets still counts as sparse there.
        if self.flows[at].set == Set::Sparse {
            let set = if self.flows[at].chain.is_empty() { Set::SparseWait } else { Set::Bulk };
            self.change(at, set);
        }
        self.flows[at].deficit += self.quantum(cx, at);
        let lists = &mut self.tins[self.flows[at].tin as usize].lists;
        lists.unlink(&mut self.flows, at);
        lists.append(List::Old, &mut self.flows, at);
    }

    /// The next packet that COBALT lets pass; something waits, and the shaper does not hold it.
    fn next(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let mut at_rest_first = true;
        loop {
            let tin = self.choose(cx.now);
            // One queue without packets is visited a departure, so that its state decays.
            let order = if core::mem::take(&mut at_rest_first) { List::DECAYING_FIRST } else { List::DECAYING_LAST };
            let Some(at) = order.iter().find_map(|list| self.tins[tin].lists.first(*list)) else { continue };
            if self.flows[at].deficit <= 0 {
                self.next_turn(cx, at);
                continue;
            }
            let Some(mut packet) = self.pool.pop(&mut self.flows[at].chain) else {
                self.emptied(at, cx.now);
                continue;
            };
            loop {
                self.removed(at, &packet);
                let least = self.tins[tin].least_sojourn(self.params.ingress);
                let flow = &mut self.flows[at];
                let marked = cx.counters.marked.packets;
                let verdict = flow.control.judge(cx, &mut packet, least);
                self.tins[tin].seen.marks += cx.counters.marked.packets - marked;
                if verdict == Verdict::Keep || flow.chain.is_empty() {
                    self.sent(cx, at, &packet);
                    return Some(packet);
                }
                self.tins[tin].seen.drops += 1;
                let bytes = packet.bytes;
                cx.drop(packet, Reason::Early);
                if self.params.ingress {
                    let size = self.charge(tin, cx.now, bytes, false);
                    self.flows[at].deficit -= size;
                    self.tins[tin].deficit -= size;
                    break;
                }
                packet = self.pool.pop(&mut self.flows[at].chain)?;
            }
        }
    }

    fn sent(&mut self, cx: &Cx<'_>, at: usize, packet: &Packet) {
        let tin = self.flows[at].tin as usize;
        let size = self.charge(tin, cx.now, packet.bytes, true);
        self.flows[at].deficit -= size;
        self.tins[tin].deficit -= size;
        self.tins[tin].seen.sent(cx.now.since(packet.enqueued));
    }
}

impl Discipline for Cake {
    fn enqueue(&mut self, cx: &mut Cx<'_>, mut packet: Packet) {
        packet.enqueued = cx.now;
        cx.arrived(&packet);
        let seed = *self.seed.get_or_insert_with(|| cx.random.next_u64());
        let tin = self.params.diffserv.tin(packet.dscp);
        if self.params.wash {
            packet.dscp = 0;
        }
        let at = self.classify(tin, &packet, seed);
        // Time that was not used is not saved up.
        if self.tins[tin].waiting.packets == 0 {
            self.tins[tin].next = self.tins[tin].next.max(cx.now);
        }
        if self.waiting.packets == 0 {
            if let Some(shaper) = &mut self.shaper {
                shaper.wake(cx.now);
            }
        }
        for waiting in [&mut self.waiting, &mut self.tins[tin].waiting] {
            waiting.packets += 1;
            waiting.bytes += u64::from(packet.bytes);
        }
        self.pool.push(&mut self.flows[at].chain, packet);
        self.fattest.grown(at, self.flows[at].chain.bytes());
        if self.params.ack_filter != AckFilter::Off {
            self.filter(cx, at);
        }
        match self.flows[at].set {
            Set::Idle | Set::Decaying => {
                let lists = &mut self.tins[tin].lists;
                lists.unlink(&mut self.flows, at);
                lists.append(List::New, &mut self.flows, at);
                self.change(at, Set::Sparse);
                self.flows[at].deficit = self.quantum(cx, at);
            }
            // It was empty, but in the bulk rotation already.
            Set::SparseWait => self.change(at, Set::Bulk),
            Set::Sparse | Set::Bulk => {}
        }
        while self.waiting.bytes > self.memory {
            if self.overflow(cx).is_none() {
                break;
            }
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued {
        if self.waiting.packets == 0 {
            return Dequeued::Empty;
        }
        if let Some(until) = self.shaper.as_ref().and_then(|shaper| shaper.holds_until(cx.now)) {
            return Dequeued::NotBefore(until);
        }
        match self.next(cx) {
            Some(packet) => {
                cx.forwarded(&packet);
                Dequeued::Packet(packet)
            }
            None => Dequeued::Empty,
        }
    }

    /// One packet of each queue in turn, the highest tin first.
    fn drain(&mut self) -> Option<Packet> {
        let tin = self.tins.iter().rposition(|tin| tin.waiting.packets > 0)?;
        loop {
            let at = List::DECAYING_LAST.iter().find_map(|list| self.tins[tin].lists.first(*list))?;
            self.tins[tin].lists.unlink(&mut self.flows, at);
            let Some(packet) = self.pool.pop(&mut self.flows[at].chain) else {
                self.change(at, Set::Idle);
                continue;
            };
            self.tins[tin].lists.append(List::Old, &mut self.flows, at);
            self.removed(at, &packet);
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
        let held = self.shaper.as_ref().and_then(|shaper| shaper.holds_until(now));
        visit("shaper_holds_s", held.map_or(0.0, |until| until.since(now).seconds()));
        statistics::show(&self.tins, visit);
    }

    fn clone_box(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

impl Standalone for Cake {
    type Params = Params;

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

    fn new(params: &Params) -> Self {
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
            tins: params.diffserv.shares().into_iter().map(|share| Tin::new(params, share)).collect(),
            current: 0,
            flows: Vec::new(),
            pool: Pool::default(),
            fattest: Fattest::default(),
            waiting: Backlog::default(),
            params: params.clone(),
        }
    }
}
