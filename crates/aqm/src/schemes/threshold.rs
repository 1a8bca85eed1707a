//! Threshold: drops every arrival that finds the queue at or above a fixed threshold.
//!
//! The scheme compares the number of waiting packets with `q_th` and drops the arrival if the threshold is reached. It has
//! no memory, no timer and no randomness, so losses come in bursts. Gupta (2024) uses it on a single router that is chosen
//! by Katz centrality.
//!
//! # Control law
//! An arrival that finds q waiting packets is dropped if `q >= q_th`.
//!
//! # Deviations and interpretations
//! * The source says that "Threshold policy deterministically drops packets if the queue size is greater than the threshold
//!   (q_th)", and also that it drops "once the queue size reaches the defined threshold". `at reaches` (default) is `q >=
//!   q_th`, so that the queue never exceeds q_th. `at exceeds` is `q > q_th`, which admits one packet more.
//! * q is counted before the arrival joins, without the packet that is being sent.
//! * `ecn` marks instead of dropping, which the source does not mention. The scheme then is a step marker.
//!
//! # Work per packet
//! Constant.
//!
//! # References
//! * M. Gupta, "A Simulation Study of Minimal Input Based AQM Deployment in Internet Routers", Indian Institute of
//!   Technology Mandi, 2024. Its values of q_th are 15 and 100.

use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use sojourn_units::{BitRate, Instant, Packets};

crate::choice! {
    /// When the threshold acts.
    pub enum At {
        /// The queue has reached it: `q >= q_th`.
        Reaches = "reaches",
        /// The queue is longer: `q > q_th`.
        Exceeds = "exceeds",
    }
}

crate::params! {
    /// Parameters of `threshold`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped regardless of the threshold.
        limit: Limit = Limit::packets(1000),
        /// Waiting packets at which arrivals are dropped (Gupta 2024: 15 p, and 100 p).
        q_th: Packets = Packets::new(15),
        /// Whether the queue must reach or exceed q_th (Gupta 2024 says both).
        at: At = At::Reaches,
        /// Mark ECN-capable packets instead of dropping them (our choice).
        ecn: bool = false,
    }
}

/// The algorithm; it has no state.
#[derive(Clone, Debug)]
pub struct Threshold {
    params: Params,
}

impl Threshold {
    fn acts(&self, waiting: u64) -> bool {
        match self.params.at {
            At::Reaches => waiting >= self.params.q_th.get(),
            At::Exceeds => waiting > self.params.q_th.get(),
        }
    }
}

impl Aqm for Threshold {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if self.params.limit.is_full(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        if self.acts(queue.len() as u64) {
            return cx.signal(queue, packet, self.params.ecn);
        }
        queue.push(packet);
    }

    #[inline(always)]
    fn passes(&mut self, _now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        true
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("q_th", self.params.q_th.get() as f64);
    }
}

impl Algorithm for Threshold {
    type Params = Params;

    const ABOUT: About = About {
        title: "Threshold",
        summary: "drops every arrival while the queue is at a threshold",
        source: "Gupta 2024",
        signals_on: "queue length",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: false,
    };

    fn set_params(&mut self, params: &Params) {
        self.params = params.clone();
    }

    fn new(params: &Params) -> Self {
        Self { params: params.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{canonical, refused, Fate, Host};
    use crate::Ecn;

    fn host(at: At, ecn: bool) -> Host<Threshold> {
        let params = Params { q_th: Packets::new(3), at, ecn, limit: Limit::packets(5) };
        Host::new(params)
    }

    #[test]
    fn reaches_keeps_the_queue_at_q_th() {
        let mut host = host(At::Reaches, false);
        // Arrivals find 0, 1, 2 waiting: below 3. The fourth finds 3.
        assert_eq!(host.arrive_many(3), 3);
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        assert!(host.send().is_some());
        assert_eq!(host.arrive(), Fate::Queued);
        assert_eq!(host.len(), 3);
    }

    #[test]
    fn exceeds_admits_one_more() {
        let mut host = host(At::Exceeds, false);
        assert_eq!(host.arrive_many(4), 4);
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    }

    #[test]
    fn ecn_marks_until_the_buffer_is_full() {
        let mut host = host(At::Reaches, true);
        host.ecn = Ecn::Ect0;
        assert_eq!(host.arrive_many(3), 3);
        assert_eq!(host.arrive(), Fate::Marked);
        assert_eq!(host.arrive(), Fate::Marked);
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Overflow));
        // Not ECN-capable: a mark is a drop.
        host.send();
        host.ecn = Ecn::NotEct;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    }

    #[test]
    fn no_draws() {
        let mut host = host(At::Reaches, false);
        host.arrive_many(10);
        assert_eq!(host.random.draws, 0);
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("threshold q_th 100p at exceeds"), "threshold q_th 100p at exceeds");
        assert_eq!(canonical("threshold q_th 15"), "threshold");
        assert!(refused("threshold at above").contains("allowed: reaches, exceeds"));
    }
}
