//! FRED (flow random early drop): RED that also counts each flow's queued packets, so that no flow holds much more than its
//! share.
//!
//! FRED keeps a counter for every flow that has packets in the queue. A flow that tries to queue much more than the average
//! flow is dropped and gets a strike; a flow with several strikes may not exceed its share at all. All other flows are
//! treated as by RED. In this way unresponsive flows cannot take the share that TCP gives up.
//!
//! # Control law
//! N is the number of flows with queued packets, `avgcq = max(1, avg / N)` the average number of packets per flow, and qlen
//! the number of queued packets of the arrival's own flow. `maxq` equals `min`, or 2 while `avg >= max`. The arrival is
//! dropped and its flow gets a strike in these cases:
//!
//! * `qlen >= maxq`;
//! * `avg >= max` and `qlen > 2 avgcq`;
//! * `qlen >= avgcq` and the flow has more than one strike.
//!
//! Otherwise, while `min <= avg < max`, flows with `qlen >= max(minq, avgcq)` are dropped with RED's probability p_a. From
//! `max` on every arrival is dropped. When a flow's last packet leaves the queue, its counter and its strikes are deleted.
//!
//! ECN: RED's random drops become marks. The drops for exceeding a share remain drops, because they are directed against
//! flows that do not respond to congestion signals.
//!
//! # Deviations and interpretations
//! * Departures also update the average, with the queue length that they leave behind. Dropped arrivals do not update it
//!   unless they find the queue empty; otherwise dropped packets of a flood would repeat one queue length many times. An
//!   arrival is judged with the average before it; if it is accepted, the queue length that it found enters the average.
//! * The second case needs no computation: with maxq = 2 and avgcq of at least 1 the first case includes it.
//! * avgcq is computed from the present avg and N whenever it is needed. The arrival's own flow counts in N once it has a
//!   packet queued.
//! * Every arrival between `min` and `max` to which none of the cases applies increases RED's count, whether or not it is
//!   drawn for.
//! * Idle time and a full queue are treated as in [`red`]. A drop because of a full queue is not a strike.
//! * `min`, `max`, `max_p` and `w` have RED's defaults. The paper has min at a quarter of the buffer and max at twice min.
//! * Packets can also leave by a change of algorithm, an overflow of fair queueing or a reset. FRED notices this by the
//!   number of waiting packets, and then counts all of them anew.
//!
//! # Work per packet
//! Constant. After such a removal, one look at every waiting packet and every flow. Memory: one entry for each flow with
//! queued packets, at most twice `limit` entries of 16 bytes, rounded up to a power of two.
//!
//! # References
//! * D. Lin and R. Morris, "Dynamics of random early detection", ACM SIGCOMM 1997, section 4, as described by Hassan, Hassan
//!   and Arif.
//! * S. Hassan, A. F. Hassan and S. Arif, "A Fairness Investigation on Active Queue Management Schemes in Wireless Local
//!   Area Network", section III.B.

use crate::queues::flow_table::FlowTable;
use crate::schemes::red::law::Region;
use crate::schemes::red::{self, shares, Red};
use crate::{About, Algorithm, Aqm, Cx, Internal, Limit, Packet, Queue, Reason};
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Packets, Probability};

crate::params! {
    /// Parameters of `fred`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (default as RED).
        limit: Limit = Limit::packets(1000),
        /// Average queue length below which no arrival is dropped at random, and the most packets that a flow may queue (default as RED).
        min: Packets = Packets::new(5),
        /// Average queue length from which every arrival is dropped (default as RED).
        max: Packets = Packets::new(15),
        /// RED's drop probability when the average reaches max (default as RED).
        max_p: Probability = Probability::clamped(0.1),
        /// Weight of one sample in the average (default as RED).
        w: Probability = Probability::clamped(0.002),
        /// Queued packets below which a flow is not dropped at random (2 for small buffers, 4 for large ones).
        minq: Packets = Packets::new(2),
        /// Mean packet size, used for idle times (default as RED).
        avpkt: Bytes = Bytes::new(1000),
        /// Mark ECN-capable packets where RED would drop them (our choice).
        ecn: bool = false,
    }
}

shares!(limit min max max_p w avpkt ecn, own minq);

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
    const PASSES: bool = false;

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
        ..<Red>::ABOUT
    };

    fn check(params: &Params) -> Result<(), String> {
        if params.min == Packets::ZERO {
            return Err("min is 0: no flow could queue a packet; allowed: 1 p or more".into());
        }
        red::Params::from(params).check()
    }

    fn set_params(&mut self, params: &Params) {
        self.red.set_params(&params.into());
        (self.minq, self.ecn) = (params.minq.get() as f64, params.ecn);
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
