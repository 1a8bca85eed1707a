//! FRED: RED with an account of every flow that has packets queued, so that none may hold much more than its share.
//!
//! Governing text: Lin and Morris, "Dynamics of random early detection", ACM SIGCOMM 1997, section 4, as the fairness
//! investigation of AQM schemes in wireless networks retells it (section III.B).
//! Control law: `avgcq = max(1, avg / N)`, N the flows with packets queued; qlen the packets that the arrival's flow has
//! queued. `maxq = min`, but 2 while `avg >= max`. An arrival is dropped, and its flow gets a strike, when
//! `qlen >= maxq`, or `avg >= max` and `qlen > 2 avgcq`, or `qlen >= avgcq` and the flow has more than one strike.
//! Else, while `min <= avg < max`, flows with `qlen >= max(minq, avgcq)` meet RED's p_a; from `max` on all arrivals are
//! dropped. A flow's account ends, strikes forgotten, as its last packet leaves.
//! ECN: RED's signals mark. The other drops stay drops, since they exist against flows that do not respond.
//!
//! Readings and deviations:
//! * The average also takes the queue that a departure leaves behind. Arrivals that are dropped do not move it, unless they
//!   find the queue empty: otherwise a flood that is dropped would repeat one queue length. It stands as it was before an
//!   arrival while that is judged, and takes the queue that an accepted one found.
//! * The second rule is not computed: with maxq 2 and avgcq 1 or more, the first forbids all that it forbids.
//! * avgcq is computed from the present avg and N whenever it is needed; the arrival's own flow counts in N once it is queued.
//! * Every arrival between `min` and `max` that breaks no rule adds to RED's count, whether it is drawn for or not.
//! * Idle time and a full queue are as in [`red`](crate::red); an overflow is not a strike.
//! * `min`, `max`, `max_p` and `w` default to RED's; the paper's are min a quarter of the buffer and max twice min.
//! * Packets removed by others (a change of algorithm, an overflow of fair queueing, a reset) are noticed by their number:
//!   then what waits is counted anew.
//!
//! Bound: constant work a packet; after a removal by others one look at every waiting packet and every flow. Memory: an
//! entry for every flow with packets queued, at most twice `limit` entries of 16 bytes, rounded up to a power of two.

use crate::flow_table::FlowTable;
use crate::red::law::Region;
use crate::red::{self, Length, Red};
use crate::{About, Algorithm, Aqm, Cx, Internal, Limit, Packet, Queue, Reason};
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Packets, Probability};

crate::params! {
    /// Parameters of `fred`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (RED's).
        limit: Limit = Limit::packets(1000),
        /// Average below which no arrival is dropped at random, and the most packets that a flow may queue (RED's).
        min: Packets = Packets::new(5),
        /// Average from which every arrival is dropped (RED's).
        max: Packets = Packets::new(15),
        /// RED's probability as the average reaches max (RED's).
        max_p: Probability = Probability::clamped(0.1),
        /// Weight of one sample in the average (RED's).
        w: Probability = Probability::clamped(0.002),
        /// Queued packets below which a flow is not dropped at random (2 for small buffers, 4 for large ones).
        minq: Packets = Packets::new(2),
        /// Mean packet size, for idle time (RED's).
        avpkt: Bytes = Bytes::new(1000),
        /// Mark ECN-capable packets instead of RED's drops (ours).
        ecn: bool = false,
    }
}

impl From<&Params> for red::Params {
    fn from(p: &Params) -> Self {
        Self {
            limit: p.limit,
            min: Some(Length::Packets(p.min)),
            max: Some(Length::Packets(p.max)),
            max_p: p.max_p,
            w: Some(p.w),
            avpkt: p.avpkt,
            ecn: p.ecn,
            ..Self::default()
        }
    }
}

/// The account of a flow that has packets queued.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// qlen: packets queued.
    queued: u32,
    strikes: u32,
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Fred {
    red: Red,
    minq: f64,
    ecn: bool,
    flows: FlowTable<Account>,
    /// Packets in all accounts.
    counted: usize,
}

impl Fred {
    /// avgcq: the mean share of a flow.
    fn share(&self) -> f64 {
        (self.red.average.get() / self.flows.len().max(1) as f64).max(1.0)
    }

    /// True when the rules on single flows forbid this flow another packet.
    fn breaks(&self, account: Account) -> bool {
        let band = self.red.band;
        let maxq = if self.red.average.get() >= band.max { 2.0 } else { band.min };
        let queued = f64::from(account.queued);
        queued >= maxq || (account.strikes > 1 && queued >= self.share())
    }

    /// True when RED may signal this flow; the share costs a division, so it comes last.
    fn is_robust(&self, account: Account) -> bool {
        let queued = f64::from(account.queued);
        queued >= self.minq && queued >= self.share()
    }

    fn accept(&mut self, cx: &Cx<'_>, queue: &mut Queue, packet: Packet) {
        if !queue.is_empty() {
            self.red.observe(cx.now, queue);
        }
        self.flows.get_or(packet.flow, Account::default()).queued += 1;
        self.counted += 1;
        queue.push(packet);
    }

    /// Counts what waits, keeping the strikes of flows that still wait.
    #[cold]
    fn recount(&mut self, queue: &Queue) {
        self.flows.values_mut().for_each(|account| account.queued = 0);
        for packet in queue.iter() {
            self.flows.get_or(packet.flow, Account::default()).queued += 1;
        }
        self.flows.retain(|account| account.queued > 0);
        self.counted = queue.len();
    }
}

impl Aqm for Fred {
    fn advance(&mut self, now: Instant, rate: BitRate, queue: &Queue) {
        self.red.advance(now, rate, queue);
        if self.counted != queue.len() {
            self.recount(queue);
        }
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, mut packet: Packet) {
        if queue.is_empty() {
            self.red.observe(cx.now, queue);
        }
        if self.red.overflows(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        let account = self.flows.get(packet.flow).copied().unwrap_or_default();
        if self.breaks(account) {
            self.flows.update(packet.flow, |account| {
                account.strikes = account.strikes.saturating_add(1);
                true
            });
            return cx.drop(packet, Reason::Flow);
        }
        match self.red.band.region(self.red.average.get()) {
            Region::Below => {
                self.red.count.below();
                self.red.probability = 0.0;
            }
            Region::Early(p_b) => {
                if !self.is_robust(account) {
                    self.red.count.arrival(packet.bytes);
                    self.red.probability = 0.0;
                } else if self.red.draw(cx, p_b, packet.bytes) && !(self.ecn && cx.mark(&mut packet)) {
                    return cx.drop(packet, Reason::Early);
                }
            }
            Region::Forced => {
                self.red.count.signalled();
                self.red.probability = 1.0;
                return cx.drop(packet, Reason::Early);
            }
        }
        self.accept(cx, queue, packet);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        let packet = queue.pop();
        self.red.average.departure(cx.now, packet.is_some());
        if let Some(packet) = &packet {
            self.red.sample(queue);
            self.counted -= 1;
            self.flows.update(packet.flow, |account| {
                account.queued -= 1;
                account.queued > 0
            });
        }
        packet
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("avg", self.red.average.get());
        visit("avgcq", self.share());
        visit("active_flows", self.flows.len() as f64);
        visit("count", self.red.count.packets());
        visit("probability", self.red.probability);
    }
}

impl Algorithm for Fred {
    type Params = Params;

    const ABOUT: About = About {
        title: "FRED",
        summary: "RED that drops arrivals of flows with more than their share of the queue",
        source: "Lin and Morris 1997",
        signals_on: "average queue length; packets queued per flow",
        per_flow_state: true,
        ..Red::ABOUT
    };

    fn check(params: &Params) -> Result<(), String> {
        if params.min == Packets::ZERO {
            return Err("min is 0: no flow could queue a packet; allowed: 1 p or more".into());
        }
        red::Params::from(params).check()
    }

    fn new(params: &Params) -> Self {
        let room = params.limit.in_packets(params.avpkt) as usize;
        Self {
            red: Red::new(&params.into()),
            minq: params.minq.get() as f64,
            ecn: params.ecn,
            flows: FlowTable::with_room_for(room),
            counted: 0,
        }
    }
}

#[cfg(test)]
mod tests;
