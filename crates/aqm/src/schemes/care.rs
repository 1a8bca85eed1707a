//! CARE: drops the arrivals of flows that were captured more often than their fair share of a random sample of arrivals.
//!
//! CARE estimates two things by the method of biologists who count animals. Arrivals are captured at random into a list. From
//! how often the flows in it were captured follow the number of flows, and each flow's share of the arrivals. A flow with
//! more than its fair share is dropped in proportion to the excess.
//!
//! # Control law
//! Each arrival is captured with probability `p_cap`. The list holds the flows of the last t captures (`captures`); c of
//! them have been made, up to t. With S flows in the list, f_1 of them captured once, the number of flows is
//! `N = S + f_1 (c - 1)/c`: the first-order jackknife for populations in which each individual has its own probability of
//! capture, as flows of different rates have. A flow captured n_i times has the estimated share n_i/c of the arrivals.
//!
//! While more than `q_th` packets wait, an arrival of flow i is dropped with probability `1 - (1/N)/(n_i/c)`, or 0 if that
//! is negative. What remains of a flow is its fair share 1/N of the arrivals.
//!
//! ECN: no marks, because the drops are directed against flows that do not respond to congestion signals.
//!
//! # Deviations and interpretations
//! The paper was not available to us. Its abstract says that the number of flows and the rate of a flow are estimated by a
//! capture-recapture model of incoming packets that are captured at random, and that fair shares follow from these. The rest
//! is our reading:
//!
//! * The estimator of N is the one that Burnham and Overton give for such populations. The paper may use a higher order.
//! * A capture occasion is one captured packet, so that the list has a fixed length and its oldest capture leaves first.
//! * An arrival that is captured counts in its own judgement.
//! * The drop probability is that which leaves the fair share, as in core-stateless fair queueing. The share is one of the
//!   arrivals: what flows below their share leave unused is not divided among the others.
//! * Drops begin above a queue length, `q_th`, because without a queue nothing has to be shared.
//!
//! The sample is small. With n equal flows n_i varies by about `sqrt(t/n)`, and a flow above its share by chance is dropped:
//! `sqrt(n/(2 pi t))` of all arrivals, which are 13 % with 20 flows and t = 200. A longer list lowers this and reacts later.
//!
//! # Work per packet
//! Constant.
//!
//! # References
//! * M.-K. Chan and M. Hamdi, "An active queue management scheme based on a capture-recapture model", IEEE Journal on
//!   Selected Areas in Communications 21(4), 2003, abstract.
//! * K. P. Burnham and W. S. Overton, "Estimation of the size of a closed population when capture probabilities vary among
//!   animals", Biometrika 65(3), 1978.

use crate::queues::flow_table::FlowTable;
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_units::{BitRate, Instant, Packets, Probability};

crate::params! {
    /// Parameters of `care`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (our choice).
        limit: Limit = Limit::packets(1000),
        /// Probability that an arrival is captured (our choice).
        p_cap: Probability = Probability::clamped(0.04),
        /// Captures that the list holds, t, 2 to 1024 (our choice).
        captures: u32 = 200,
        /// Waiting packets above which flows with more than their share are dropped (our choice: RED's min).
        q_th: Packets = Packets::new(5),
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Care {
    limit: Limit,
    p_cap: f64,
    q_th: u64,
    list: List,
    probability: f64,
}

/// The last t captures, and what is counted of them.
#[derive(Clone, Debug)]
struct List {
    /// Flows in the order of capture, from `oldest` on in a circle once t have been captured.
    captures: Vec<u32>,
    /// t.
    room: usize,
    oldest: usize,
    /// How often each flow is in `captures`; its number of flows is S.
    times: FlowTable<u64>,
    /// f_1.
    once: u64,
}

impl List {
    fn new(room: usize) -> Self {
        Self { captures: Vec::with_capacity(room), room, oldest: 0, times: FlowTable::with_room_for(room), once: 0 }
    }

    fn capture(&mut self, flow: u32) {
        if self.captures.len() < self.room {
            self.captures.push(flow);
        } else if let Some(place) = self.captures.get_mut(self.oldest) {
            let gone = core::mem::replace(place, flow);
            self.oldest = (self.oldest + 1) % self.room;
            self.release(gone);
        }
        let times = self.times.get_or(flow, 0);
        *times += 1;
        match *times {
            1 => self.once += 1,
            2 => self.once -= 1,
            _ => {}
        }
    }

    fn release(&mut self, flow: u32) {
        let mut left = 0;
        self.times.update(flow, |times| {
            *times -= 1;
            left = *times;
            left > 0
        });
        match left {
            0 => self.once -= 1,
            1 => self.once += 1,
            _ => {}
        }
    }

    /// N, the estimated number of flows; 0 without captures.
    fn flows(&self) -> f64 {
        match self.captures.len() {
            0 => 0.0,
            c => self.times.len() as f64 + self.once as f64 * (c - 1) as f64 / c as f64,
        }
    }

    /// By how much a flow exceeds its share, as the part of its arrivals to drop.
    fn excess(&self, flow: u32) -> f64 {
        match self.times.get(flow) {
            Some(times) => (1.0 - self.captures.len() as f64 / (self.flows() * *times as f64)).max(0.0),
            None => 0.0,
        }
    }
}

impl Aqm for Care {
    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if cx.chance(self.p_cap) {
            self.list.capture(packet.flow);
        }
        if self.limit.is_full(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        self.probability = if queue.len() as u64 > self.q_th { self.list.excess(packet.flow) } else { 0.0 };
        if cx.chance(self.probability) {
            return cx.drop(packet, Reason::Flow);
        }
        queue.push(packet);
    }

    #[inline(always)]
    fn passes(&mut self, _now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        true
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("probability", self.probability);
        visit("captures", self.list.captures.len() as f64);
        visit("captured_flows", self.list.times.len() as f64);
        visit("captured_once", self.list.once as f64);
        visit("n_flows", self.list.flows());
    }
}

impl Algorithm for Care {
    type Params = Params;

    const ABOUT: About = About {
        title: "CARE",
        summary: "drops a flow's excess over a fair share, both estimated from randomly captured arrivals",
        source: "Chan and Hamdi 2003, abstract; Burnham and Overton 1978",
        signals_on: "captured arrivals; queue length",
        drops_at: DropsAt::Enqueue,
        ecn: false,
        per_flow_state: true,
    };

    fn check(params: &Params) -> Result<(), String> {
        if !(2..=1024).contains(&params.captures) {
            return Err(format!("captures is {}; allowed: 2 to 1024", params.captures));
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        self.probability = old.probability;
        // A list of another length begins anew.
        if old.list.room == self.list.room {
            self.list = old.list;
        }
    }

    fn new(params: &Params) -> Self {
        Self {
            limit: params.limit,
            p_cap: params.p_cap.get(),
            q_th: params.q_th.get(),
            list: List::new(params.captures as usize),
            probability: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{canonical, close, refused, Fate, Host, Stream};
    use crate::Random;
    use alloc::collections::BTreeMap;

    fn captured(room: usize, flows: &[u32]) -> List {
        let mut list = List::new(room);
        flows.iter().for_each(|flow| list.capture(*flow));
        list
    }

    #[test]
    fn the_number_of_flows_is_the_jackknife() {
        assert_eq!(captured(9, &[]).flows(), 0.0);
        // S = 1, f_1 = 1, c = 1: 1 + 1 x 0.
        close(captured(9, &[7]).flows(), 1.0);
        // Flow 1 three times, 2 twice, 3 and 4 once: S = 4, f_1 = 2, c = 7: 4 + 2 x 6/7.
        close(captured(9, &[1, 2, 1, 3, 1, 2, 4]).flows(), 4.0 + 12.0 / 7.0);
        // All twice: no flow is presumed to have been missed.
        close(captured(9, &[1, 2, 3, 1, 2, 3]).flows(), 3.0);
    }

    #[test]
    fn a_flow_keeps_its_fair_share_of_the_arrivals() {
        // N = 4 + 12/7 = 40/7. Flow 1: 1 - (7/40)/(3/7) = 1 - 49/120. Flow 2: 1 - (7/40)/(2/7) = 1 - 49/80.
        let list = captured(9, &[1, 2, 1, 3, 1, 2, 4]);
        close(list.excess(1), 71.0 / 120.0);
        close(list.excess(2), 31.0 / 80.0);
        // Flow 3: 1 - (7/40)/(1/7) < 0. Flow 9 was not captured.
        assert_eq!((list.excess(3), list.excess(9)), (0.0, 0.0));
    }

    #[test]
    fn the_oldest_capture_leaves_a_full_list() {
        // The last three of 1, 1, 2, 3, 3 are 2, 3, 3: S = 2, f_1 = 1.
        let list = captured(3, &[1, 1, 2, 3, 3]);
        assert_eq!((list.times.len(), list.once, list.times.get(1)), (2, 1, None));
        close(list.flows(), 2.0 + 2.0 / 3.0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn counts_agree_with_a_count_of_the_list() {
        let (mut list, mut script) = (List::new(12), Stream::new(3));
        for _ in 0..20_000 {
            list.capture(script.below(9) as u32);
            let mut times = BTreeMap::new();
            list.captures.iter().for_each(|flow| *times.entry(*flow).or_insert(0) += 1);
            assert_eq!(list.times.len(), times.len());
            assert_eq!(list.once, times.values().filter(|times| **times == 1).count() as u64);
            assert!(times.iter().all(|(flow, times)| list.times.get(*flow) == Some(times)));
        }
    }

    #[test]
    fn drops_begin_above_q_th_and_the_captured_arrival_counts() {
        let mut host = Host::<Care>::new(Params {
            p_cap: Probability::clamped(0.5),
            q_th: Packets::new(1),
            limit: Limit::packets(4),
            ..Params::default()
        });
        host.random.fixed = Some(0.4);
        for flow in [1, 2] {
            host.flow = flow;
            assert_eq!(host.arrive(), Fate::Queued);
        }
        // Two wait. Captures 1, 2 and now 1: N = 2 + 1 x 2/3 = 8/3, flow 1: 1 - 3/(8/3 x 2) = 7/16 > 0.4.
        host.flow = 1;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow));
        close(host.internal("probability"), 7.0 / 16.0);
        // Captures 1, 2, 1, 3: N = 3 + 2 x 3/4 = 9/2, flow 3: 1 - 4/(9/2) = 1/9 < 0.4.
        host.flow = 3;
        assert_eq!(host.arrive(), Fate::Queued);
        close(host.internal("probability"), 1.0 / 9.0);
        host.flow = 4;
        assert_eq!((host.arrive(), host.arrive()), (Fate::Queued, Fate::Dropped(Reason::Overflow)));
        assert_eq!(host.internal("captures"), 6.0);
    }

    #[test]
    fn at_q_th_nothing_is_dropped() {
        let mut host = Host::<Care>::new(Params { p_cap: Probability::clamped(1.0), ..Params::default() });
        host.random.fixed = Some(0.0);
        for flow in [1, 2, 1, 1, 1, 1] {
            host.flow = flow;
            assert_eq!(host.arrive(), Fate::Queued);
        }
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow));
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn a_flow_with_half_of_the_arrivals_is_cut_to_its_share() {
        let mut host =
            Host::<Care>::new(Params { captures: 1000, p_cap: Probability::clamped(0.2), ..Params::default() });
        let mut script = Stream::new(5);
        let (mut offered, mut lost) = ([0.0_f64; 2], [0.0_f64; 2]);
        for step in 0..120_000 {
            let draw = script.below(20);
            host.flow = if draw < 10 { 0 } else { draw as u32 };
            let dropped = matches!(host.arrive(), Fate::Dropped(_));
            if step > 20_000 {
                let heavy = usize::from(draw < 10);
                offered[heavy] += 1.0;
                lost[heavy] += f64::from(u8::from(dropped));
            }
            while host.len() > 20 {
                host.send();
            }
        }
        // 11 flows, each captured some 50 times or more: N = 11. Flow 0 has half: 1 - (1/11)/(1/2) = 9/11 = 0.818. n_i/c varies
        // by 0.016 of 0.5, so the mean over 20 lists is within 0.01.
        assert!((lost[1] / offered[1] - 9.0 / 11.0).abs() < 0.01, "{lost:?} of {offered:?}");
        // The others have 0.05 < 1/11: n_i of 50 would have to reach 91, six standard deviations away.
        assert_eq!(lost[0], 0.0);
        assert_eq!(host.internal("n_flows"), 11.0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn equal_flows_are_dropped_for_chance_excess_as_the_header_says() {
        // n = 20, t = 200, every arrival captured: the mean over flows of n_i/t - 1/n where positive, times n: the half of
        // the mean absolute deviation of a binomial of mean 10 and deviation 3.08: 20 x 0.399 x 3.08/200 = 0.123; as N >= S
        // exceeds 20 at times, a little more. sqrt(20/(2 pi 200)) = 0.126.
        let mut host = Host::<Care>::new(Params { p_cap: Probability::clamped(1.0), ..Params::default() });
        let mut script = Stream::new(17);
        let mut lost = 0.0_f64;
        for step in 0..200_000 {
            host.flow = script.below(20) as u32;
            let dropped = matches!(host.arrive(), Fate::Dropped(_));
            lost += f64::from(u8::from(dropped && step >= 1000));
            while host.len() > 20 {
                host.send();
            }
        }
        let share = lost / 199_000.0;
        assert!((share - 0.126).abs() < 0.01, "{share}");
    }

    #[test]
    fn a_list_of_another_length_begins_anew() {
        let mut host = Host::<Care>::new(Params { p_cap: Probability::clamped(1.0), ..Params::default() });
        host.arrive_many(3);
        host.with(|care| {
            care.set_params(&Params { p_cap: Probability::clamped(0.0), ..Params::default() });
            assert_eq!((care.list.captures.len(), care.p_cap), (3, 0.0));
            care.set_params(&Params { captures: 2, ..Params::default() });
            assert_eq!(care.list.captures.len(), 0);
        });
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("care p_cap 0.1 captures 64 q_th 9p"), "care p_cap 0.1 captures 64 q_th 9p");
        assert!(refused("care captures 1").contains("2 to 1024"));
        assert!(refused("care captures 1025").contains("2 to 1024"));
    }
}
