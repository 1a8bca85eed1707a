//! PI: a proportional-integral controller that holds the queue length at `q_ref`.
//!
//! The controller updates a drop probability 160 times a second. The probability rises while the queue is longer than the
//! reference `q_ref` or grows, and falls otherwise. Every arrival is dropped (or, with `ecn`, marked) at random with this
//! probability. The two gains are constants, so they fit only a limited range of link rates and numbers of flows.
//!
//! # Control law
//! Every `tupdate` (1/160 s), `p <- p + a (q - q_ref) - b (q_old - q_ref)`, limited to 0 to 1. q is the queue length in
//! packets at this update and q_old that at the last one.
//!
//! # Deviations and interpretations
//! * Updates take place at whole multiples of `tupdate` on the host's clock after the first arrival; q_old is 0 at first.
//! * The gains a and b belong to the update interval: another `tupdate` needs other gains.
//!
//! # Work per packet
//! Constant. While updates are made up after an idle time the queue length is constant, so p changes linearly.
//!
//! # References
//! * C. V. Hollot, V. Misra, D. Towsley and W. Gong, "On Designing Improved Controllers for AQM Routers Supporting TCP
//!   Flows", IEEE INFOCOM 2001, section IV. Its design example has these values of a, b and q_ref, and 160 updates a second.

use crate::ticks::Ticks;
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::format;
use alloc::string::String;
use sojourn_units::{BitRate, Instant, Packets, Span};

/// The greatest gain that is accepted.
const GAIN_MAX: f64 = 1e7;

crate::params! {
    /// Parameters of `pi`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped.
        limit: Limit = Limit::packets(1000),
        /// Gain: change of p for each packet by which the queue now exceeds q_ref (Hollot et al. 2001).
        a: f64 = 1.822e-5,
        /// Gain: change of p, subtracted, for each packet by which the queue exceeded q_ref at the last update (Hollot et al. 2001).
        b: f64 = 1.816e-5,
        /// Reference queue length (ns-2's qref_).
        q_ref: Packets = Packets::new(50),
        /// Time between updates: 160 a second (Hollot et al. 2001).
        tupdate: Span = Span::from_micros(6250),
        /// Mark ECN-capable packets instead of dropping them (the paper allows marking).
        ecn: bool = false,
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Pi {
    params: Params,
    probability: f64,
    /// Queue length at the last update, less `q_ref`.
    excess_old: f64,
    updates: Ticks,
}

impl Pi {
    /// The updates due up to `now`.
    #[cold]
    fn catch_up(&mut self, now: Instant, queue: &Queue) {
        if self.updates.take(now).is_some() {
            let rest = self.updates.due(now);
            self.update(queue.len() as f64, rest);
            if rest > 0 {
                self.updates.skip_to_last(now, 0);
            }
        }
    }

    /// One update, and `rest` more over which `queue` packets wait.
    fn update(&mut self, queue: f64, rest: u64) {
        let Params { a, b, q_ref, .. } = self.params;
        let excess = queue - q_ref.get() as f64;
        let p = (self.probability + a * excess - b * self.excess_old).clamp(0.0, 1.0);
        self.probability = (p + rest as f64 * (a - b) * excess).clamp(0.0, 1.0);
        self.excess_old = excess;
    }
}

impl Aqm for Pi {
    #[inline]
    fn advance(&mut self, now: Instant, _rate: BitRate, queue: &Queue) {
        if self.updates.is_due(now) {
            self.catch_up(now, queue);
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.updates.start(cx.now);
        if self.params.limit.is_full(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        if cx.chance(self.probability) {
            return cx.signal(queue, packet, self.params.ecn);
        }
        queue.push(packet);
    }

    #[inline(always)]
    fn passes(&mut self, now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        !self.updates.is_due(now)
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("drop_probability", self.probability);
        visit("excess_packets", self.excess_old);
    }
}

impl Algorithm for Pi {
    type Params = Params;

    const ABOUT: About = About {
        title: "PI",
        summary:
            "drops an arrival with a probability that a proportional-integral controller moves to hold a queue length",
        source: "Hollot et al. 2001",
        signals_on: "queue length",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: false,
    };

    fn check(params: &Params) -> Result<(), String> {
        if params.tupdate.is_zero() {
            return Err("tupdate is 0; allowed: a time above 0, as in \"6250us\"".into());
        }
        // Beyond, the difference of two infinite terms could make the probability no number for good.
        for (name, gain) in [("a", params.a), ("b", params.b)] {
            if gain > GAIN_MAX {
                return Err(format!("{name} is above {GAIN_MAX}; allowed: 0 to {GAIN_MAX}"));
            }
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        self.updates = old.updates.every(params.tupdate);
        self.probability = old.probability;
        // The same length, as a distance from the new reference.
        self.excess_old += old.excess_old + old.params.q_ref.get() as f64;
    }

    fn new(params: &Params) -> Self {
        Self {
            probability: 0.0,
            excess_old: -(params.q_ref.get() as f64),
            updates: Ticks::new(params.tupdate),
            params: params.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{canonical, close, refused, Fate, Host};
    use crate::Ecn;

    const PERIOD: Span = Span::from_micros(6250);

    #[test]
    fn probability_by_hand() {
        let mut host = Host::<Pi>::new(Params::default());
        host.arrive_many(150);
        assert_eq!(host.internal("drop_probability"), 0.0);
        host.wait(PERIOD);
        // a (150 - 50) - b (0 - 50) = 1.822e-3 + 0.908e-3.
        close(host.internal("drop_probability"), 2.73e-3);
        host.wait(PERIOD);
        // + (a - b) 100 = 6e-6 an update; four of them.
        close(host.internal("drop_probability"), 2.736e-3);
        host.wait(PERIOD * 3);
        close(host.internal("drop_probability"), 2.754e-3);
        for _ in 0..150 {
            host.send();
        }
        host.wait(PERIOD);
        // a (-50) - b (100) = -0.911e-3 - 1.816e-3 = -2.727e-3; then -(a - b) 50 = -3e-6 an update: 0 after nine.
        close(host.internal("drop_probability"), 0.027e-3);
        host.wait(PERIOD * 8);
        close(host.internal("drop_probability"), 0.003e-3);
        host.wait(Span::from_secs(100));
        assert_eq!(host.internal("drop_probability"), 0.0);
    }

    #[test]
    fn the_probability_ends_at_1() {
        let mut host = Host::<Pi>::new(Params { ecn: true, ..Params::default() });
        host.arrive_many(150);
        // 1 / 6e-6 updates are 1042 s.
        host.wait(Span::from_secs(1000));
        assert!(host.internal("drop_probability") < 1.0);
        host.wait(Span::from_secs(10_000));
        assert_eq!(host.internal("drop_probability"), 1.0);
        host.ecn = Ecn::Ect1;
        assert_eq!(host.arrive(), Fate::Marked);
        host.ecn = Ecn::NotEct;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("pi q_ref 200 a 0.00001822"), "pi q_ref 200p");
        assert!(refused("pi a 1e308").contains("a is above 10000000; allowed: 0 to 10000000"));
        assert!(refused("pi b 1e308").contains("b is above 10000000; allowed: 0 to 10000000"));
        assert!(refused("pi tupdate 0s").contains("tupdate is 0; allowed: a time above 0"));
    }
}
