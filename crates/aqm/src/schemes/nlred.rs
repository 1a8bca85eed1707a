//! NLRED (nonlinear RED): RED whose drop probability rises with the square of the average queue length.
//!
//! NLRED is RED with another curve between the two thresholds. Just above `min` it drops less than RED does, and close to
//! `max` it drops more. Short bursts therefore suffer fewer losses, while a long queue still meets strong resistance.
//!
//! # Control law
//! As [`red`], but with `p_b = 1.5 max_p ((avg - min) / (max - min))^2` between `min` and `max`. The factor 1.5
//! gives the curve the same area as RED's: the integral of 1.5 x^2 from 0 to 1 is 1/2, as is that of x.
//!
//! # Deviations and interpretations
//! * Everything else is as in RED, including the spacing of signals by count and `gentle`. With `gentle` the probability
//!   rises from 1.5 max_p.
//! * A value of p_b above 1 (if max_p is above 2/3) counts as 1.
//! * The original paper was not available to us; the curve is as Barczyk and Chydzinski (2022) print it (their d3).
//!
//! # Work per packet
//! Constant.
//!
//! # References
//! * K. Zhou, K. L. Yeung and V. O. K. Li, "Nonlinear RED: a simple yet efficient active queue management scheme", Computer
//!   Networks 50, 2006.
//! * M. Barczyk and A. Chydzinski, "AQM based on the queue length: A real-network study", PLoS ONE 17(2), e0263407, 2022.

use crate::acts::{Acts, ON};
use crate::schemes::red::law::Square;
use crate::schemes::red::{self, as_red, shares, Length, Red};
use crate::{About, Algorithm, Aqm, Cx, Internal, Limit, Packet, Queue};
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Probability};

crate::params! {
    /// Parameters of `nlred`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (default as RED).
        limit: Limit = Limit::packets(1000),
        /// Average queue length below which nothing is dropped, packets or bytes (default as RED).
        min: Length = Length::packets(5),
        /// Average queue length from which every arrival is dropped; with gentle, a growing share of them (default as RED).
        max: Length = Length::packets(15),
        /// RED's max_p; the probability reaches 1.5 max_p when the average reaches max (default as RED).
        max_p: Probability = Probability::clamped(0.1),
        /// Weight of one arrival in the average (default as RED).
        w: Probability = Probability::clamped(0.002),
        /// Mean packet size, used for idle times and bytemode (default as RED).
        avpkt: Bytes = Bytes::new(1000),
        /// Let the probability rise from 1.5 max_p to 1 between max and twice max, instead of being 1 from max on (default as RED).
        gentle: bool = false,
        /// No drop or mark before 1/p_b arrivals since the last one, and one after 2/p_b at the latest (default as RED).
        wait: bool = false,
        /// Multiply the probability by the packet's size divided by avpkt (default as RED).
        bytemode: bool = false,
        /// Mark ECN-capable packets instead of dropping them (default as RED).
        ecn: bool = false,
        /// Drop ECN-capable packets, too, where every arrival is signalled (default as RED).
        harddrop: bool = false => [Acts::With("ecn", ON)],
    }
}

shares!(limit min max max_p w avpkt gentle wait bytemode ecn harddrop);

/// [`Red`] on the square's curve.
#[derive(Clone, Debug)]
pub struct Nlred {
    red: Red<Square>,
}

impl Aqm for Nlred {
    as_red!();

    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.red.enqueue(cx, queue, packet);
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        self.red.internals(visit);
    }
}

impl Algorithm for Nlred {
    type Params = Params;

    const ABOUT: About = About {
        title: "NLRED",
        summary: "RED whose drop probability rises with the square of the average queue length",
        source: "Zhou, Yeung and Li 2006",
        ..<Red>::ABOUT
    };

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
    use crate::schemes::red::law::{Band, Curve, Linear, Region};
    use crate::test_host::{canonical, close, refused, Fate, Host};
    use crate::Reason;

    fn band(gentle: bool) -> Band<Square> {
        Band::new(5.0, 15.0, 0.1, gentle)
    }

    #[track_caller]
    fn early(band: Band<Square>, avg: f64, p_b: f64) {
        let Region::Early(p) = band.region(avg) else { panic!("{avg} is not in the early region") };
        close(p, p_b);
    }

    #[test]
    fn the_square_by_hand() {
        assert_eq!(band(true).region(4.999), Region::Below);
        early(band(true), 5.0, 0.0);
        // x = 1/4: 0.15/16; x = 1/2: 0.15/4; x = 0.9: 0.15 x 0.81.
        early(band(true), 7.5, 0.009_375);
        early(band(true), 10.0, 0.0375);
        early(band(true), 14.0, 0.1215);
        // Gentle: from 0.15; halfway to 30 it is (0.15 + 1)/2.
        early(band(true), 15.0, 0.15);
        early(band(true), 22.5, 0.575);
        assert_eq!(band(true).region(30.0), Region::Forced);
        assert_eq!(band(false).region(15.0), Region::Forced);
        // 1.5 x 0.8 x 0.95^2 = 1.083: no more than 1.
        early(band(true).up_to(0.8), 14.5, 1.0);
    }

    #[test]
    fn red_and_nlred_drop_alike_over_the_whole_band() {
        // Means over 5..15 by the midpoint rule; of the square: 0.15/3 = 0.05, and RED's: 0.1/2.
        fn mean<C: Curve>(band: Band<C>) -> f64 {
            let p_b = |k: i32| match band.region(5.0 + (f64::from(k) + 0.5) / 100.0) {
                Region::Early(p_b) => p_b,
                region => panic!("{region:?}"),
            };
            (0..1000).map(p_b).sum::<f64>() / 1000.0
        }
        assert!(
            (mean(band(true)) - 0.05).abs() < 1e-6
                && (mean(Band::<Linear>::new(5.0, 15.0, 0.1, true)) - 0.05).abs() < 1e-6
        );
    }

    #[test]
    fn it_decides_by_the_square_spread_by_count() {
        let mut host = Host::<Nlred>::new(Params { w: Probability::clamped(1.0), ..Params::default() });
        host.random.fixed = Some(0.999_999);
        host.arrive_many(11);
        // The 11th finds 10 and has counted those that found 6 to 10: 0.0375 / (1 - 5 x 0.0375).
        close(host.internal("probability"), 0.0375 / 0.8125);
        host.random.fixed = Some(0.0);
        // Finds 11: 0.15 x 0.36 = 0.054, count 6: 0.054 / (1 - 0.324), and the draw is below it.
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        close(host.internal("probability"), 0.054 / 0.676);
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("nlred min 30p max 90p limit 1000p"), "nlred min 30p max 90p");
        assert!(refused("nlred min 90p max 30p").contains("min (90p) is not below max (30p)"));
        assert!(refused("nlred min none").contains("\"none\" is refused"));
        assert!(refused("nlred adaptive").contains("unknown parameter \"adaptive\""));
    }
}
