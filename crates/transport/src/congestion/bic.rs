//! BIC: after a loss the window searches for the largest that did not lose, by halves of what is missing, and then beyond it.
//!
//! Text: Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast long-distance networks", INFOCOM 2004; constants
//! and the growth around the maximum as in Linux's `tcp_bic.c`, which ns-3 follows. Law, in segments:
//!
//! ```text
//! loss      W_max = cwnd, or cwnd (1 + beta) / 2 when cwnd < previous W_max (fast convergence)
//!           ssthresh = beta cwnd, beta = 819/1024; cwnd / 2 up to 14 segments
//! a round trip adds, d = W_max - cwnd below W_max and d = cwnd - W_max from there on:
//!   cwnd <= 14                  1                   as Reno
//!   below, d / 4 > 16           16                  additive increase
//!   below, 2 <= d / 4 <= 16     d / 4               binary search
//!   below, d / 4 < 2            1/5                 the end of the search
//!   above, d < 4                1/5                 max probing: slow at first,
//!   above, d < 48               d / 3               then faster,
//!   above                       16                  then additive
//! ```
//!
//! Before the first loss a round trip adds 5 % of the window at the least. A timeout forgets W_max. `d / 4` and the number of
//! acknowledged segments for each added one are whole numbers.
//! Deviation: Linux also divides by the segments that an acknowledgement stands for; here segments are counted. Work: O(1).

use super::window::{window_in, SegmentWindow};
use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters};
use sojourn_units::{Bytes, Instant};

/// What the registry says of it.
pub const ABOUT: About = About { name: "bic", source: "Xu, Harfoush and Rhee (INFOCOM 2004), as in Linux's tcp_bic" };

/// Multiplicative decrease, in 1024ths.
const BETA: u64 = 819;
/// One of `BETA`.
const SCALE: u64 = 1024;
/// Up to this window it is Reno.
const LOW_WINDOW: u64 = 14;
/// Most segments added a round trip (Smax).
const MAX_INCREMENT: u64 = 16;
/// What the distance is divided by.
const SEARCH: u64 = 4;
/// Round trips for the last [`SEARCH`] segments.
const SMOOTH: u64 = 20;
/// Acknowledged segments for each that is added before the first loss, at the most.
const FIRST_COUNT: u64 = 20;

/// State.
#[derive(Clone, Debug)]
pub struct Bic {
    window: SegmentWindow,
    /// `W_max` in segments; 0 for none.
    max: u64,
}

impl Bic {
    /// At the initial window, threshold unset.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        Self { window: SegmentWindow::new(p), max: 0 }
    }

    /// Acknowledged segments for each that is added.
    fn count(&self) -> u64 {
        let (cwnd, max) = (self.window.cwnd, self.max);
        if cwnd <= LOW_WINDOW {
            return cwnd;
        }
        let slow = cwnd * SMOOTH / SEARCH;
        let count = if cwnd < max {
            match (max - cwnd) / SEARCH {
                step if step > MAX_INCREMENT => cwnd / MAX_INCREMENT,
                0 | 1 => slow,
                step => cwnd / step,
            }
        } else {
            match cwnd - max {
                beyond if beyond < SEARCH => slow,
                beyond if beyond < MAX_INCREMENT * (SEARCH - 1) => cwnd * (SEARCH - 1) / beyond,
                _ => cwnd / MAX_INCREMENT,
            }
        };
        let most = if max == 0 { FIRST_COUNT } else { u64::MAX };
        count.min(most).max(1)
    }
}

impl CongestionControl for Bic {
    fn on_ack(&mut self, ack: &AckEvent) {
        if !ack.may_grow || !ack.cwnd_limited {
            return;
        }
        let mut acked = ack.newly_delivered_packets().get();
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked > 0 {
            self.window.additive(self.count(), acked);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        let cwnd = self.window.cwnd;
        self.max = if cwnd < self.max { cwnd * (SCALE + BETA) / (2 * SCALE) } else { cwnd };
        let kept = if cwnd <= LOW_WINDOW { cwnd / 2 } else { cwnd * BETA / SCALE };
        self.window.ssthresh = kept.max(2);
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.window.collapse();
        self.max = 0;
    }

    window_in!(window);

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("w_max_segments", self.max as f64);
    }
}
