//! BLACK: RED that samples the queue to find flows with more than their fair share, and drops these flows in proportion to
//! the excess.
//!
//! BLACK estimates the share of a flow from samples: an arrival looks at one randomly chosen queued packet and notes its
//! flow. Flows whose packets are found often enter a small cache. Arrivals of a cached flow are dropped with a probability
//! that grows with the excess of its share over the fair one; all other arrivals are treated as by RED.
//!
//! # Control law
//! An arrival that finds more than `q_th` waiting packets draws one of them, each with equal probability: a sample. If both
//! belong to one flow (a match), the flow enters the cache. A period has m samples. H_i, the hits of flow i in the last
//! period divided by m, estimates the flow's share of the queue. Within a period the running value is
//! `(Hit_i + H_i m) / (m' + m)`, where Hit_i is the number of hits and m' the number of samples so far. `1 / N_act` is the
//! same running value for matches.
//!
//! An arrival of a cached flow is dropped with probability `p_i (avg - min) / (max - min)`, where `p_i = (H_i - 1/N_act) /
//! (1/N_act)`, limited to 0 to 1. All other arrivals meet [`red`]. From `max` on every arrival is dropped.
//!
//! ECN: RED's signals become marks. Drops by p_i remain drops, because they are directed against flows that do not respond
//! to congestion signals.
//!
//! # Deviations and interpretations
//! The original paper was not available to us; the equations are as Hassan, Hassan and Arif print them.
//!
//! * Their running value is divided by "m - m"; we read this as the sum m' + m.
//! * `hit = drawn` (default): a sample is a hit for the flow of the drawn packet, once that flow is in the cache. Hits then
//!   estimate shares of the queue, as the text says that they do. It also says that a match sets the hit: `hit = matched`
//!   counts only matches. Then the hits of one flow never exceed all matches together, so H_i <= 1/N_act and p_i is always
//!   0.
//! * N_act is the number of samples divided by that of matches: with n equal flows, one of n samples matches. Without a
//!   match there is no estimate, and p_i is 0.
//! * At the end of a period, a flow without a hit leaves the cache. No flow enters a full cache.
//! * A period ends with its last sample, before the arrival that drew this sample is judged.
//! * Arrivals judged by p_i do not change RED's count.
//!
//! # Work per packet
//! Constant. The last sample of a period looks at every place of the cache: up to 32 for each flow and 2048 in all.
//!
//! # References
//! * G. Chatranon, M. A. Labrador and S. Banerjee, "BLACK: detection and preferential dropping of high bandwidth
//!   unresponsive flows", IEEE ICC 2003.
//! * S. Hassan, A. F. Hassan and S. Arif, "A Fairness Investigation on Active Queue Management Schemes in Wireless Local
//!   Area Network", section III.D, equations 3 and 4.

use crate::queues::flow_table::FlowTable;
use crate::schemes::red::law::{linear, Region};
use crate::schemes::red::{self, as_red, shares, Red};
use crate::{About, Algorithm, Aqm, Cx, Internal, Limit, Packet, Queue, Reason};
use alloc::format;
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Packets, Probability};

crate::choice! {
    /// What counts as a hit of a cached flow.
    pub enum Hit {
        /// A drawn packet of the flow.
        Drawn = "drawn",
        /// A drawn packet of the flow when the arrival is of it too.
        Matched = "matched",
    }
}

crate::params! {
    /// Parameters of `black`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (default as RED).
        limit: Limit = Limit::packets(1000),
        /// Average queue length below which nothing is dropped (default as RED).
        min: Packets = Packets::new(5),
        /// Average queue length from which every arrival is dropped (default as RED).
        max: Packets = Packets::new(15),
        /// RED's drop probability when the average reaches max (default as RED).
        max_p: Probability = Probability::clamped(0.1),
        /// Weight of one arrival in the average (default as RED).
        w: Probability = Probability::clamped(0.002),
        /// Waiting packets above which an arrival draws a sample (our choice: RED's min).
        q_th: Packets = Packets::new(5),
        /// Samples in a period, 1 or more (our choice: H_i then has a standard deviation of at most 0.016).
        m: u32 = 1000,
        /// Flows that the cache holds, 1 to 256 (our choice).
        cache: u32 = 20,
        /// What a hit is: the drawn packet's flow, or only a match (see the interpretations below).
        hit: Hit = Hit::Drawn,
        /// Mean packet size, used for idle times (default as RED).
        avpkt: Bytes = Bytes::new(1000),
        /// Mark ECN-capable packets where RED would drop them (our choice).
        ecn: bool = false,
    }
}

shares!(limit min max max_p w avpkt ecn, own q_th m cache hit);

/// A number of samples in the present period and in the last one.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    now: u64,
    last: u64,
}

impl Tally {
    /// What the running value is made of: `Hit + H m`, since H is hits over m.
    fn both(self) -> u64 {
        self.now + self.last
    }

    fn next_period(&mut self) {
        *self = Self { now: 0, last: self.now };
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Black {
    red: Red,
    q_th: u64,
    m: u64,
    hit: Hit,
    samples: Tally,
    matches: Tally,
    /// Hits of each flow in the cache.
    cache: FlowTable<Tally>,
    room: usize,
}

impl Black {
    /// Compares an arrival of `flow` with a packet of the flow `drawn`.
    fn sample(&mut self, flow: u32, drawn: u32) {
        self.samples.now += 1;
        let matched = flow == drawn;
        if matched {
            self.matches.now += 1;
        }
        let room = self.cache.len() < self.room;
        if let Some(hits) = self.cache.get_mut(drawn) {
            hits.now += u64::from(matched || self.hit == Hit::Drawn);
        } else if matched && room {
            self.cache.get_or(drawn, Tally { now: 1, last: 0 });
        }
        if self.samples.now >= self.m {
            self.end_period();
        }
    }

    fn end_period(&mut self) {
        self.samples.next_period();
        self.matches.next_period();
        self.cache.values_mut().for_each(Tally::next_period);
        self.cache.retain(|hits| hits.last > 0);
    }

    /// p_i of equation 3: both running values have the same divisor, which cancels.
    fn excess(&self, hits: Tally) -> f64 {
        match self.matches.both() {
            0 => 0.0,
            matches => (hits.both() as f64 / matches as f64 - 1.0).clamp(0.0, 1.0),
        }
    }
}

impl Aqm for Black {
    as_red!();

    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.red.observe(cx.now, queue);
        let waiting = queue.len() as u64;
        if waiting > self.q_th {
            if let Some(drawn) = queue.get(cx.random.below(waiting) as usize) {
                self.sample(packet.flow, drawn.flow);
            }
        }
        if self.red.overflows(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        let band = self.red.band;
        let avg = self.red.average.get();
        if let (Region::Early(_), Some(hits)) = (band.region(avg), self.cache.get(packet.flow)) {
            // Equation 4.
            let p = linear(avg, band.min, band.max, self.excess(*hits));
            self.red.probability = p;
            if cx.chance(p) {
                return cx.drop(packet, Reason::Flow);
            }
            return queue.push(packet);
        }
        self.red.decide(cx, queue, packet, &band);
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        let per = |value: u64, of: u64| if of == 0 { 0.0 } else { value as f64 / of as f64 };
        let most = self.cache.values().map(|hits| hits.both()).max().unwrap_or(0);
        visit("avg", self.red.average.get());
        visit("count", self.red.count.packets());
        visit("probability", self.red.probability);
        visit("samples", self.samples.now as f64);
        visit("n_act", per(self.samples.both(), self.matches.both()));
        visit("cached_flows", self.cache.len() as f64);
        visit("largest_hit_fraction", per(most, self.samples.both()));
    }
}

impl Algorithm for Black {
    type Params = Params;

    const ABOUT: About = About {
        title: "BLACK",
        summary: "RED that drops flows by how far their sampled share of the queue exceeds a fair one",
        source: "Chatranon, Labrador and Banerjee 2003",
        signals_on: "average queue length; sampled shares of the queue",
        per_flow_state: true,
        ..<Red>::ABOUT
    };

    fn check(params: &Params) -> Result<(), String> {
        if params.m == 0 {
            return Err("m is 0; allowed: 1 sample or more".into());
        }
        if !(1..=256).contains(&params.cache) {
            return Err(format!("cache is {}; allowed: 1 to 256 flows", params.cache));
        }
        red::Params::from(params).check()
    }

    fn set_params(&mut self, params: &Params) {
        // A cache of another size begins anew.
        let room = params.cache as usize;
        if room != self.room {
            (self.cache, self.room) = (FlowTable::with_room_for(8 * room), room);
        }
        self.red.set_params(&params.into());
        (self.q_th, self.m, self.hit) = (params.q_th.get(), u64::from(params.m), params.hit);
    }

    fn new(params: &Params) -> Self {
        let room = params.cache as usize;
        Self {
            red: Red::new(&params.into()),
            q_th: params.q_th.get(),
            m: u64::from(params.m),
            hit: params.hit,
            samples: Tally::default(),
            matches: Tally::default(),
            cache: FlowTable::with_room_for(8 * room),
            room,
        }
    }
}

#[cfg(test)]
mod tests;
