//! Adaptive RED: RED that computes its thresholds and weight from the link's rate and adapts max_p to the load.
//!
//! RED works well only when its parameters fit the link and the number of flows. Adaptive RED computes `min`, `max` and `w`
//! from the link's rate and a target delay. During operation it raises or lowers the drop probability so that the average
//! queue length stays in the middle between `min` and `max`.
//!
//! # Control law
//! As [`red`]. In addition, every `interval`:
//!
//! * `max_p` rises by `min(alpha, max_p / 4)` if the average is above `min + 0.6 (max - min)`;
//! * `max_p` is multiplied by `beta` if the average is below `min + 0.4 (max - min)`;
//! * `max_p` always stays between 0.01 and 0.5.
//!
//! C is the link's rate in packets of `avpkt` per second. Parameters that are not given follow from it: `min = max(5, target
//! C / 2)` packets, `max = 3 min` and `w = 1 - exp(-1/C)`. They change with the rate.
//!
//! # Deviations and interpretations
//! * An adaptation that falls into an idle time uses the average as it has decayed by then, as in Linux; the paper adapts
//!   when a packet arrives.
//! * `max_p` starts at RED's default, 0.1.
//! * `gentle` is on, as in all experiments of the paper.
//!
//! # Work per packet
//! Constant, as for RED.
//!
//! # References
//! * S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED: an algorithm for increasing the robustness of RED's active queue
//!   management", 2001, sections 4 and 5.

use crate::acts::{Acts, NONE, ON};
use crate::schemes::red::{self, as_red, shares, Length, Red};
use crate::{About, Algorithm, Aqm, Cx, Internal, Limit, Packet, Queue};
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Probability, Span};

crate::params! {
    /// Parameters of `ared`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (tc-red(8)).
        limit: Limit = Limit::packets(1000),
        /// Average queue length below which nothing is dropped; "none": max(5, target C / 2) packets (section 5).
        min: Option<Length> = None,
        /// Average queue length from which the probability exceeds max_p; "none": three times min (section 5).
        max: Option<Length> = None,
        /// Drop probability when the average reaches max, at the start (0.1, as RED).
        max_p: Probability = Probability::clamped(0.1),
        /// Weight of one arrival in the average; "none": 1 - exp(-1/C) (section 5).
        w: Option<Probability> = None,
        /// Mean packet size, used for C, idle times and bytemode (tc-red(8)).
        avpkt: Bytes = Bytes::new(1000),
        /// Let the probability rise from max_p to 1 between max and twice max (section 2: all experiments).
        gentle: bool = true,
        /// No drop or mark before 1/p_b arrivals since the last one, and one after 2/p_b at the latest (ns-2, ns-3).
        wait: bool = false,
        /// Multiply the probability by the packet's size divided by avpkt (Floyd and Jacobson 1993; ns-2).
        bytemode: bool = false,
        /// Mark ECN-capable packets instead of dropping them (tc-red(8)).
        ecn: bool = false,
        /// Drop ECN-capable packets, too, where every arrival is signalled (tc-red(8)).
        harddrop: bool = false => [Acts::With("ecn", ON)],
        /// Queue delay from which min is computed (section 5).
        target: Span = Span::from_millis(5) => [Acts::With("min", NONE)],
        /// Time between adaptations of max_p (section 4).
        interval: Span = Span::from_millis(500),
        /// Largest increase of max_p in an adaptation; a quarter of max_p when that is less (section 4).
        alpha: Probability = Probability::clamped(0.01),
        /// Factor by which max_p decreases in an adaptation (section 4).
        beta: Probability = Probability::clamped(0.9),
    }
}

/// [`Red`] with `adaptive` on.
#[derive(Clone, Debug)]
pub struct Ared {
    red: Red,
}

shares!(limit min max max_p w avpkt gentle wait bytemode ecn harddrop target interval alpha beta, with adaptive true);

impl Aqm for Ared {
    as_red!();

    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.red.enqueue(cx, queue, packet);
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        self.red.internals(visit);
    }
}

impl Algorithm for Ared {
    type Params = Params;

    const ABOUT: About = About {
        title: "ARED",
        summary: "RED that sets its thresholds from the link and adapts max_p to keep the average in between",
        source: "Floyd, Gummadi and Shenker 2001",
        ..<Red>::ABOUT
    };

    const PRESETS: &'static [&'static str] = &["shu2023"];

    fn preset(name: &str) -> Option<Params> {
        (name == "shu2023").then(|| {
            let red::Params { limit, min, max, max_p, w, avpkt, gentle, wait, harddrop, .. } = red::Params::shu2023();
            Params { limit, min, max, max_p, w, avpkt, gentle, wait, harddrop, ..Params::default() }
        })
    }

    fn check(params: &Params) -> Result<(), String> {
        red::Params::from(params).check()
    }

    fn set_params(&mut self, params: &Params) {
        self.red.set_params(&params.into());
    }

    fn new(params: &Params) -> Self {
        Self { red: Red::new(&params.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{canonical, close, refused, Host};

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
