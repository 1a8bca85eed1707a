//! Adaptive RED: RED that sets its thresholds and weight from the link and adapts max_p.
//!
//! Governing text: Floyd, Gummadi and Shenker, "Adaptive RED: an algorithm for increasing the robustness of RED's
//! active queue management" (2001), sections 4 and 5.
//! Control law: [`red`](crate::red), and every `interval` max_p rises by `min(alpha, max_p / 4)` when the average is above
//! `min + 0.6 (max - min)`, or falls by the factor `beta` when below `min + 0.4 (max - min)`; max_p stays within 0.01 and 0.5.
//! Unless given, `min = max(5, target C / 2)` packets, `max = 3 min`, `w = 1 - exp(-1/C)`, C the link's rate in packets of
//! `avpkt` a second; they follow the rate when it changes.
//! Readings: an adaptation due while the link is idle sees the average as decayed by then (as Linux does; the paper adapts
//! on arrivals). max_p starts at RED's 0.1. Gentle, as in all of the paper's experiments.
//! Preset `shu2023`: the thesis' Table 2 read as ARED switched on with its own thresholds and weight; see [`red`](crate::red).
//! Bound: as RED's.

use crate::red::{self, Length, Red};
use crate::{About, Algorithm, Aqm, Cx, Internal, Limit, Packet, Queue};
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Probability, Span};

crate::params! {
    /// Parameters of `ared`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (tc-red(8)).
        limit: Limit = Limit::packets(1000),
        /// Average below which nothing is dropped; "none": max(5, target C / 2) packets (section 5).
        min: Option<Length> = None,
        /// Average from which the probability exceeds max_p; "none": three times min (section 5).
        max: Option<Length> = None,
        /// Probability as the average reaches max, at the start (0.1: RED's).
        max_p: Probability = Probability::clamped(0.1),
        /// Weight of one arrival in the average; "none": 1 - exp(-1/C) (section 5).
        w: Option<Probability> = None,
        /// Mean packet size, for C, idle time and bytemode (tc-red(8)).
        avpkt: Bytes = Bytes::new(1000),
        /// Let the probability rise from max_p to 1 between max and twice max (section 2: all experiments).
        gentle: bool = true,
        /// No signal before 1/p_b arrivals, and one at the latest after 2/p_b (ns-2, ns-3).
        wait: bool = false,
        /// Scale the probability by the packet's size (Floyd and Jacobson 1993; ns-2).
        bytemode: bool = false,
        /// Mark ECN-capable packets instead of dropping them (tc-red(8)).
        ecn: bool = false,
        /// Drop, not mark, where every arrival is signalled (tc-red(8)).
        harddrop: bool = false,
        /// Queue delay from which min is computed (section 5).
        target: Span = Span::from_millis(5),
        /// Time between adaptations of max_p (section 4).
        interval: Span = Span::from_millis(500),
        /// Largest increase of max_p in an adaptation; a quarter of max_p when that is less (section 4).
        alpha: Probability = Probability::clamped(0.01),
        /// Factor by which max_p decreases in an adaptation (section 4).
        beta: Probability = Probability::clamped(0.9),
    }
}

impl From<&Params> for red::Params {
    fn from(p: &Params) -> Self {
        Self {
            limit: p.limit,
            min: p.min,
            max: p.max,
            max_p: p.max_p,
            w: p.w,
            avpkt: p.avpkt,
            gentle: p.gentle,
            wait: p.wait,
            bytemode: p.bytemode,
            ecn: p.ecn,
            harddrop: p.harddrop,
            nodrop: false,
            adaptive: true,
            target: p.target,
            interval: p.interval,
            alpha: p.alpha,
            beta: p.beta,
        }
    }
}

/// [`Red`] with `adaptive` on.
#[derive(Clone, Debug)]
pub struct Ared(Red);

impl Aqm for Ared {
    #[inline]
    fn advance(&mut self, now: Instant, rate: BitRate, queue: &Queue) {
        self.0.advance(now, rate, queue);
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.0.enqueue(cx, queue, packet);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        self.0.dequeue(cx, queue)
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        self.0.internals(visit);
    }
}

impl Algorithm for Ared {
    type Params = Params;

    const ABOUT: About = About {
        title: "ARED",
        summary: "RED that sets its thresholds from the link and adapts max_p to keep the average in between",
        source: "Floyd, Gummadi and Shenker 2001",
        ..Red::ABOUT
    };

    const PRESETS: &'static [&'static str] = &["shu2023"];

    fn preset(name: &str) -> Option<Params> {
        let thesis = red::Params::shu2023();
        (name == "shu2023").then(|| Params {
            limit: thesis.limit,
            min: thesis.min,
            max: thesis.max,
            max_p: thesis.max_p,
            w: thesis.w,
            avpkt: thesis.avpkt,
            gentle: thesis.gentle,
            wait: thesis.wait,
            harddrop: thesis.harddrop,
            ..Params::default()
        })
    }

    fn check(params: &Params) -> Result<(), String> {
        red::Params::from(params).check()
    }

    fn new(params: &Params) -> Self {
        Self(Red::new(&params.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{canonical, close, refused, Host};

    #[test]
    fn thresholds_and_weight_follow_the_rate() {
        let mut host = Host::<Ared>::new(Params::default());
        // 8 Mbit/s of 1000 B packets: C = 1000/s. target C / 2 = 2.5 packets, so 5. w = 1 - exp(-1/1000).
        close(host.internal("min"), 5.0);
        close(host.internal("max"), 15.0);
        close(host.internal("w"), 1.0 - libm::exp(-0.001));
        // 80 Mbit/s: C = 10,000/s, 25 packets.
        host.rate = BitRate::from_bit_s(80_000_000);
        close(host.internal("min"), 25.0);
        close(host.internal("max"), 75.0);
        close(host.internal("w"), 1.0 - libm::exp(-0.0001));
        // A link that does not move has no packets a second; nothing may become infinite.
        host.rate = BitRate::ZERO;
        close(host.internal("min"), 5.0);
        close(host.internal("w"), 1.0);
    }

    #[test]
    fn a_given_threshold_stays() {
        let params = Params { min: Some(Length::packets(10)), ..Params::default() };
        let mut host = Host::<Ared>::new(params);
        assert_eq!((host.internal("min"), host.internal("max")), (10.0, 30.0));
    }

    #[test]
    fn it_is_red_with_adaptive_on() {
        let text = "ared preset shu2023";
        assert_eq!(canonical(text), "ared limit 2000p min 500p max 1000p max_p 0.02 w 0.002 avpkt 500B wait harddrop");
        assert_eq!(canonical("ared target 10ms nogentle"), "ared nogentle target 10ms");
        assert!(refused("ared max 30p").contains("max is given without min"));
        assert!(refused("ared adaptive").contains("unknown parameter \"adaptive\""));
    }
}
