//! CUBIC: the window follows a cubic of the time since the last reduction, whatever the RTT.
//!
//! Text: RFC 9438; behaviour of Linux's `tcp_cubic.c` where the two differ. HyStart: Ha and Rhee,
//! "Taming the elephants: new TCP slow start", Computer Networks 55 (2011), as Linux has it (RFC 9406 is HyStart++, another).
//! Law, in segments and seconds:
//!
//! ```text
//! on loss   W_max = cwnd, or cwnd (1 + beta) / 2 when cwnd < previous W_max (fast convergence); ssthresh = beta cwnd
//! K         = cbrt((W_max - cwnd) / C), the time to return to W_max
//! target(t) = W_max + C (t - K)^3, asked for one smallest RTT ahead
//! growth    = one segment for every cnt = cwnd / (target - cwnd) acknowledged
//! Reno      = W_est grows one segment for every cwnd (1 + beta) / (3 (1 - beta)) acknowledged; cnt = cwnd / (W_est - cwnd) where that is faster
//! ```
//!
//! As Linux, not in RFC 9438: `target` is taken in whole segments and no faster than 1.5-fold per RTT (`cnt` at least 2);
//! recomputed at most every 1/32 s while the window stands still; 5 % per RTT at least before the first loss (`cnt` at most 20);
//! the epoch moves with idle time; W_est keeps its slope above W_max; a timeout forgets W_max.
//!
//! Deviations from the kernel: floating point seconds instead of fixed-point jiffies (no tick rounding of t, K and the 1/32 s),
//! C is 0.4 and not 410/1024, the Reno slope 1.8904 and not 15/8 = 1.875, beta is the kernel's 717/1024. `now` of HyStart has nanoseconds.
//! Work: O(1), one cube root per episode.

use super::window::{window_in, SegmentWindow};
use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters};
use sojourn_document::keys;
use sojourn_units::{Bytes, Instant, Span};

/// What the registry says of it.
pub const ABOUT: About =
    About { name: "cubic", source: "RFC 9438 and HyStart (Ha and Rhee, 2011), as in Linux's tcp_cubic" };

keys! {
    /// Keys of the TCP table.
    pub struct Keys {
        /// CUBIC's HyStart, which ends slow start before a loss. Linux true; RFC 9438 recommends HyStart++ (RFC 9406).
        hystart: bool = true;
    }
}

/// Multiplicative decrease.
const BETA: f64 = 717.0 / 1024.0;
/// Scale of the cubic in segments/s^3 (RFC 9438, section 5).
const C: f64 = 0.4;
/// Acknowledged segments per segment of W_est, in windows: (1 + beta) / (3 (1 - beta)), RFC 9438's alpha_cubic inverted.
const RENO_SLOPE: f64 = (1.0 + BETA) / (3.0 * (1.0 - BETA));
/// The cubic is evaluated again after this much time when the window has not changed.
const REFRESH: Span = Span::from_micros(31_250);
/// Right after an episode RTT samples still hold its queue: not taken for the smallest RTT.
const IGNORE_RTT: Span = Span::from_secs(1);

/// HyStart: no exit below this window, in segments.
const LOW_WINDOW: u64 = 16;
/// HyStart: acknowledgements closer than this form a train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// HyStart: RTT samples of a round before its delay is judged.
const SAMPLES: u32 = 8;
/// HyStart: bounds of the delay increase that ends slow start, else 1/8 of the smallest RTT.
const DELAY_MIN: Span = Span::from_millis(4);
/// See [`DELAY_MIN`].
const DELAY_MAX: Span = Span::from_millis(16);
/// HyStart: four maximal offload bursts; the time they take at the present rate, at most 1 ms, is allowed on top of a train.
const BURST_ALLOWANCE: f64 = 4.0 * 65_536.0;

/// The growth since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Segments the cubic aims at.
    origin: u64,
    /// Seconds from the start to the origin.
    k: f64,
    /// Acknowledged segments not yet turned into `reno`.
    acked: f64,
    /// RFC 9438's W_est in segments.
    reno: u64,
}

/// A round of HyStart.
#[derive(Clone, Copy, Debug)]
struct Round {
    start: Instant,
    last_ack: Instant,
    /// The round ends when the cumulative acknowledgement passes this.
    end: u64,
    min_rtt: Span,
    samples: u32,
}

/// State.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: SegmentWindow,
    /// Segments; 0 before the first loss and after a timeout.
    w_max: u64,
    epoch: Option<Epoch>,
    /// Acknowledged segments per segment of growth.
    cnt: u64,
    /// Window and time of the last evaluation of the cubic.
    evaluated: (u64, Instant),
    /// Smallest RTT seen, without those right after an episode; zero before the first.
    delay_min: Span,
    hystart: bool,
    round: Option<Round>,
    /// HyStart has ended slow start.
    found: bool,
}

impl Cubic {
    /// At the initial window, threshold unset.
    #[must_use]
    pub fn new(p: &Parameters, keys: Keys) -> Self {
        Self {
            window: SegmentWindow::new(p),
            w_max: 0,
            epoch: None,
            cnt: 0,
            evaluated: (0, Instant::ZERO),
            delay_min: Span::ZERO,
            hystart: keys.hystart,
            round: None,
            found: false,
        }
    }

    /// Sets `cnt` from the cubic and from Reno's line.
    #[inline(never)]
    fn update(&mut self, now: Instant, acked: u64) {
        let cwnd = self.window.cwnd;
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked as f64;
            if self.evaluated.0 == cwnd && now.since(self.evaluated.1) <= REFRESH {
                return;
            }
        }
        self.evaluated = (cwnd, now);
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| {
            let (origin, k) = if w_max > cwnd { (w_max, libm::cbrt((w_max - cwnd) as f64 / C)) } else { (cwnd, 0.0) };
            Epoch { start: now, origin, k, acked: acked as f64, reno: cwnd }
        });

        let t = (now.since(epoch.start) + self.delay_min).seconds() - epoch.k;
        // Whole segments as in the kernel: the last one towards the origin is waited for.
        let distance = (C * t.abs() * t * t) as u64;
        let target = if t < 0.0 { epoch.origin.saturating_sub(distance) } else { epoch.origin + distance };
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if w_max == 0 {
            self.cnt = self.cnt.min(20);
        }

        let per_segment = cwnd as f64 * RENO_SLOPE;
        if epoch.acked > per_segment {
            let grown = (epoch.acked / per_segment) as u64;
            epoch.acked -= grown as f64 * per_segment;
            epoch.reno += grown;
        }
        if epoch.reno > cwnd {
            self.cnt = self.cnt.min(cwnd / (epoch.reno - cwnd));
        }
        self.cnt = self.cnt.max(2);
    }

    /// HyStart on one RTT sample below the threshold: as in the kernel that is a reduction's course as well, where what it
    /// finds lowers the threshold once more.
    #[inline(always)]
    fn hystart(&mut self, ack: &AckEvent, rtt: Span) {
        let fresh = Round { start: ack.now, last_ack: ack.now, end: ack.next, min_rtt: Span::MAX, samples: 0 };
        let round = self.round.get_or_insert(fresh);
        if ack.una > round.end {
            *round = fresh;
        }
        let cwnd = self.window.segments(ack.cwnd);
        if cwnd < LOW_WINDOW {
            return;
        }
        // A train of acknowledgements as long as half the smallest RTT: the pipe is full.
        if ack.now.since(round.last_ack) <= TRAIN_GAP {
            round.last_ack = ack.now;
            let rate = 2.0 * ack.cwnd.get() as f64 / ack.rtt.smoothed.seconds();
            let allowance = Span::from_seconds((BURST_ALLOWANCE / rate).min(1e-3));
            if ack.now.since(round.start) > (self.delay_min + allowance) / 2 {
                self.found = true;
            }
        }
        // The round's smallest RTT has risen: a queue builds up.
        round.min_rtt = round.min_rtt.min(rtt);
        if round.samples < SAMPLES {
            round.samples += 1;
        } else if round.min_rtt > self.delay_min + (self.delay_min / 8).clamp(DELAY_MIN, DELAY_MAX) {
            self.found = true;
        }
        if self.found {
            self.window.ssthresh = cwnd;
        }
    }
}

impl CongestionControl for Cubic {
    #[inline(always)]
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt.sample {
            let settled = self.epoch.is_none_or(|e| ack.now.since(e.start) >= IGNORE_RTT);
            if settled {
                if self.delay_min.is_zero() || rtt < self.delay_min {
                    self.delay_min = rtt;
                }
                if self.hystart && !self.found && self.window.segments(ack.cwnd) < self.window.ssthresh {
                    self.hystart(ack, rtt);
                }
            }
        }
        if !ack.may_grow || !ack.cwnd_limited {
            return;
        }
        let mut acked = ack.newly_delivered_packets().get();
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked > 0 {
            self.update(ack.now, acked);
            self.window.additive(self.cnt, acked);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        let cwnd = self.window.cwnd;
        self.epoch = None;
        self.w_max = if cwnd < self.w_max { (cwnd as f64 * (1.0 + BETA) / 2.0) as u64 } else { cwnd };
        self.window.ssthresh = ((cwnd as f64 * BETA) as u64).max(2);
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.window.collapse();
        self.w_max = 0;
        self.epoch = None;
        self.delay_min = Span::ZERO;
        self.round = None;
        self.found = false;
    }

    fn on_restart(&mut self, now: Instant, idle: Span, _app_limited: bool) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    window_in!(window);

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("w_max_segments", self.w_max as f64);
        see("w_est_segments", self.epoch.map_or(0.0, |e| e.reno as f64));
        see("k_s", self.epoch.map_or(0.0, |e| e.k));
        see("delay_min_s", self.delay_min.seconds());
    }
}
