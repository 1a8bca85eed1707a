//! SHRED: RED that drops packets of short flows later and less often, recognised by their small congestion windows.
//!
//! The loss of one packet costs a short flow, such as a web page, far more time than a long transfer. SHRED needs senders
//! that write their congestion window into each packet. If this window is below the average window, SHRED raises RED's lower
//! threshold and lowers its drop probability for the packet.
//!
//! # Control law
//! w is the congestion window in the packet and w_avg the average over arrivals. For `w < w_avg` the arrival meets
//! [`red`] with `min' = min + (max - min)(1 - w / w_avg)` and `max_p' = max_p w / w_avg`. Otherwise, and if w is
//! unknown (0), it meets RED with the parameters as given.
//!
//! # Deviations and interpretations
//! The original paper was not available to us; the equations are our interpretation of descriptions of it.
//!
//! * w_avg is an exponential average with weight `window_w`. The first known window is its initial value, and the arrival's
//!   own window enters it before the arrival is judged. Dropped packets count, packets with an unknown window do not.
//! * One count spaces the signals of all flows, whichever thresholds they met. An arrival below its own min' restarts it.
//! * With `gentle` the probability between `max` and twice `max` rises from max_p'.
//!
//! # Work per packet
//! Constant.
//!
//! # References
//! * M. Claypool, R. Kinicki and M. Hartling, "Active queue management for web traffic", IEEE IPCCC 2004, to which Hassan,
//!   Hassan and Arif refer.

use crate::acts::{Acts, ON};
use crate::schemes::red::{self, as_red, shares, Length, Red};
use crate::{About, Algorithm, Aqm, Cx, Internal, Limit, Packet, Queue, Reads, Reason};
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Probability};

crate::params! {
    /// Parameters of `shred`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (default as RED).
        limit: Limit = Limit::packets(1000),
        /// Average queue length below which nothing is dropped, packets or bytes (default as RED).
        min: Length = Length::packets(5),
        /// Average queue length from which every arrival is dropped; with gentle, a growing share of them (default as RED).
        max: Length = Length::packets(15),
        /// Drop probability when the average reaches max, for windows from the average on (default as RED).
        max_p: Probability = Probability::clamped(0.1),
        /// Weight of one arrival in the average queue length (default as RED).
        w: Probability = Probability::clamped(0.002),
        /// Weight of one arrival in the average window (our choice: as in the average queue length).
        window_w: Probability = Probability::clamped(0.002),
        /// Mean packet size, used for idle times and bytemode (default as RED).
        avpkt: Bytes = Bytes::new(1000),
        /// Let the probability rise from max_p to 1 between max and twice max, instead of being 1 from max on (default as RED).
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

shares!(limit min max max_p w avpkt gentle wait bytemode ecn harddrop, own window_w);

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Shred {
    red: Red,
    window_w: f64,
    /// w_avg, in packets, once a window is known.
    window_avg: Option<f64>,
}

impl Shred {
    /// w_avg after an arrival with a known window.
    fn average(&mut self, window: f64) -> f64 {
        let avg = self.window_avg.get_or_insert(window);
        *avg += self.window_w * (window - *avg);
        *avg
    }
}

impl Aqm for Shred {
    const READS: Reads = Reads { window: true, ..Reads::NONE };

    as_red!();

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.red.observe(cx.now, queue);
        let mut band = self.red.band;
        if packet.window > 0 {
            let window = f64::from(packet.window);
            let avg = self.average(window);
            if window < avg {
                band = band.shortened(window / avg);
            }
        }
        if self.red.overflows(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        self.red.decide(cx, queue, packet, &band);
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("avg", self.red.average.get());
        visit("count", self.red.count.packets());
        visit("probability", self.red.probability);
        visit("window_avg", self.window_avg.unwrap_or(0.0));
    }
}

impl Algorithm for Shred {
    type Params = Params;

    const ABOUT: About = About {
        title: "SHRED",
        summary: "RED whose thresholds rise and whose probability falls for packets of small congestion windows",
        source: "Claypool, Kinicki and Hartling 2004",
        signals_on: "average queue length; congestion window hints",
        ..<Red>::ABOUT
    };

    fn check(params: &Params) -> Result<(), String> {
        if params.window_w.get() <= 0.0 {
            return Err("window_w is 0: the average window would never move; allowed: above 0, up to 1".into());
        }
        red::Params::from(params).check()
    }

    fn set_params(&mut self, params: &Params) {
        self.red.set_params(&params.into());
        self.window_w = params.window_w.get();
    }

    fn new(params: &Params) -> Self {
        Self { red: Red::new(&params.into()), window_w: params.window_w.get(), window_avg: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes::red::law::{Band, Region};
    use crate::test_host::{canonical, close, refused, Fate, Host};

    fn instant() -> Params {
        Params { w: Probability::clamped(1.0), window_w: Probability::clamped(0.5), ..Params::default() }
    }

    #[test]
    fn thresholds_by_hand() {
        let band = Band::new(5.0, 15.0, 0.1, true);
        // A quarter of the average window: min' = 5 + 10 x 3/4 = 12.5, max_p' = 0.025.
        let quarter = band.shortened(0.25);
        assert_eq!((quarter.min, quarter.max_p), (12.5, 0.025));
        assert_eq!(quarter.region(12.4), Region::Below);
        // Halfway from 12.5 to 15: 0.0125. RED at 13.75: 0.0875.
        assert_eq!(quarter.region(13.75), Region::Early(0.0125));
        // Gentle from 0.025: at 22.5 halfway to 1.
        assert_eq!(quarter.region(22.5), Region::Early(0.5125));
        assert_eq!(quarter.region(30.0), Region::Forced);
    }

    #[test]
    fn the_average_window_by_hand() {
        let mut host = Host::<Shred>::new(instant());
        for (window, avg) in [(0, 0.0), (8, 8.0), (4, 6.0), (0, 6.0), (2, 4.0), (12, 8.0)] {
            host.window = window;
            host.arrive();
            close(host.internal("window_avg"), avg);
        }
    }

    #[test]
    fn small_windows_are_spared() {
        let mut host = Host::<Shred>::new(Params { window_w: Probability::clamped(1e-15), ..instant() });
        host.window = 10;
        host.random.fixed = Some(0.999_999);
        assert_eq!(host.arrive_many(10), 10);
        host.random.fixed = Some(0.0);
        // Finds 10. A fifth of the average: min' = 13.
        host.window = 2;
        assert_eq!(host.arrive(), Fate::Queued);
        assert_eq!((host.internal("count"), host.internal("probability")), (-1.0, 0.0));
        // Finds 11. Half: min' = 10, max_p' 0.05: p_b = 0.05 x 1/5, count 0.
        host.window = 5;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        close(host.internal("probability"), 0.01);
        // The average, more than it, and unknown: 0.1 x 6/10, count 1.
        for window in [10, 1000, 0] {
            host.window = window;
            assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
            close(host.internal("probability"), 0.06 / 0.94);
        }
    }

    #[test]
    fn from_max_on_windows_do_not_help_and_a_full_queue_hears_them_too() {
        let mut host = Host::<Shred>::new(Params { limit: Limit::packets(15), ..instant() });
        host.random.fixed = Some(0.999_999);
        assert_eq!(host.arrive_many(15), 15);
        host.window = 8;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Overflow));
        close(host.internal("window_avg"), 8.0);
        let mut host = Host::<Shred>::new(instant());
        host.random.fixed = Some(0.999_999);
        host.window = 100;
        host.arrive_many(15);
        host.window = 1;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("shred min 30p max 90p window_w 0.01"), "shred min 30p max 90p window_w 0.01");
        assert!(refused("shred window_w 0").contains("window_w is 0"));
        assert!(refused("shred min 90p max 30p").contains("min (90p) is not below max (30p)"));
    }
}
