//! CUBIC as ns-3 3.37 has it, the default of its TCP; for comparison, `cubic` is what real hosts run.
//!
//! Text: ns-3 3.37, `TcpCubic` with its default attributes. Where it is not RFC 9438 or Linux:
//!
//! * The window grows whether or not the sender uses it: a sender that the application limits ends with a window that
//!   nothing checks.
//! * No Reno-friendly region, so small windows grow by the cubic alone.
//! * At most one segment for an acknowledgement. All that it covers counts, also what had been SACKed; of the one that
//!   ends the time after a timeout what lies beyond what was outstanding then.
//! * HyStart works in a recovery, too, on the window that the recovery has just then, and sees the smoothed RTT; the increase that ends slow start is the smallest of these itself within 4 ms and
//!   1 s, not an eighth of it; a train of acknowledgements must last that RTT, not half of it.
//!
//! Deviation: RTT samples have nanoseconds, in ns-3 the milliseconds of the timestamps.
//! Work: O(1), one cube root per episode.

use super::window::Ns3Window;
use crate::congestion::window::window_in;
use crate::congestion::{About, AckEvent, CongestionControl, CongestionEvent, Parameters};
use sojourn_units::{Bytes, Instant, Span};

/// What the registry says of it.
pub const ABOUT: About = About {
    name: "ns3_cubic",
    source: "RFC 8312 without its Reno-friendly region, and HyStart, as in ns-3's TcpCubic",
};

pub use crate::congestion::cubic::Keys;

const BETA: f64 = 0.7;
/// Segments/s^3.
const C: f64 = 0.4;
/// After an episode the RTT is not looked at for so long.
const DELTA: Span = Span::from_millis(10);
/// Acknowledged segments per segment of growth before the first loss, at most.
const CLAMP: u64 = 20;
/// HyStart: see `cubic`, whose names these are.
const LOW_WINDOW: u64 = 16;
const TRAIN_GAP: Span = Span::from_millis(2);
const SAMPLES: u32 = 8;
const DELAY_MIN: Span = Span::from_millis(4);
const DELAY_MAX: Span = Span::from_secs(1);

/// The growth since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Segments the cubic aims at.
    origin: u64,
    /// Seconds from the start to the origin.
    k: f64,
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
pub struct Ns3Cubic {
    window: Ns3Window,
    /// Segments; 0 before the first loss and after a timeout.
    w_max: u64,
    epoch: Option<Epoch>,
    /// Smallest smoothed RTT.
    delay_min: Option<Span>,
    hystart: bool,
    round: Round,
    /// HyStart has ended slow start.
    found: bool,
}

impl Ns3Cubic {
    /// At the initial window, threshold unset.
    #[must_use]
    pub fn new(p: &Parameters, keys: Keys) -> Self {
        let round = Round { start: Instant::ZERO, last_ack: Instant::ZERO, end: 0, min_rtt: Span::MAX, samples: 0 };
        Self {
            window: Ns3Window::new(p),
            w_max: 0,
            epoch: None,
            delay_min: None,
            hystart: keys.hystart,
            round,
            found: false,
        }
    }

    fn segments(&self) -> u64 {
        self.window.cwnd / self.window.mss
    }

    /// An RTT, smoothed.
    fn sample(&mut self, now: Instant, srtt: Span) {
        if self.epoch.is_some_and(|epoch| now.since(epoch.start) < DELTA) {
            return;
        }
        let delay_min = self.delay_min.map_or(srtt, |least| least.min(srtt));
        self.delay_min = Some(delay_min);
        let slow = self.window.present <= self.window.ssthresh && self.window.present >= LOW_WINDOW * self.window.mss;
        if !self.hystart || self.found || !slow {
            return;
        }
        let round = &mut self.round;
        if now.since(round.last_ack) <= TRAIN_GAP {
            round.last_ack = now;
            self.found |= now.since(round.start) > delay_min;
        }
        if round.samples < SAMPLES {
            round.min_rtt = round.min_rtt.min(srtt);
            round.samples += 1;
        } else {
            self.found |= round.min_rtt > delay_min + delay_min.clamp(DELAY_MIN, DELAY_MAX);
        }
        if self.found {
            self.window.ssthresh = self.window.present;
        }
    }

    fn restart_round(&mut self, now: Instant, end: u64) {
        self.round = Round { start: now, last_ack: now, end, min_rtt: Span::MAX, samples: 0 };
    }

    /// Acknowledged segments per segment of growth.
    fn per_segment(&mut self, now: Instant) -> u64 {
        let (cwnd, w_max) = (self.segments(), self.w_max);
        let epoch = *self.epoch.get_or_insert_with(|| {
            let (origin, k) = if w_max > cwnd { (w_max, libm::cbrt((w_max - cwnd) as f64 / C)) } else { (cwnd, 0.0) };
            Epoch { start: now, origin, k }
        });
        let t = (now.since(epoch.start) + self.delay_min.unwrap_or_default()).seconds() - epoch.k;
        let distance = (C * t.abs() * t * t) as u64;
        let target = if t < 0.0 { epoch.origin.saturating_sub(distance) } else { epoch.origin + distance };
        let count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if w_max == 0 { count.min(CLAMP) } else { count }.max(2)
    }

    fn grow(&mut self, ack: &AckEvent, segments: u64) {
        if self.window.cwnd < self.window.ssthresh {
            if self.hystart && ack.una > self.round.end {
                self.restart_round(ack.now, ack.next);
            }
            // Past the threshold, too: all of them count as slow start's.
            self.window.cwnd += segments * self.window.mss;
        } else if segments > 0 {
            self.window.credit += segments;
            let count = self.per_segment(ack.now);
            if self.window.credit >= count {
                self.window.cwnd += self.window.mss;
                self.window.credit -= count;
            }
        }
        self.window.grown();
    }
}

impl CongestionControl for Ns3Cubic {
    fn on_ack(&mut self, ack: &AckEvent) {
        let segments = self.window.acknowledged(ack);
        self.sample(ack.now, ack.rtt.smoothed);
        if ack.may_grow {
            self.grow(ack, segments);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        let cwnd = self.window.present / self.window.mss;
        self.w_max = if cwnd < self.w_max { (cwnd as f64 * (1.0 + BETA) / 2.0) as u64 } else { cwnd };
        self.epoch = None;
        self.window.ssthresh = ((cwnd as f64 * BETA) as u64).max(2) * self.window.mss;
    }

    fn on_rto(&mut self, now: Instant, _total_lost: Bytes) {
        self.window.collapse();
        self.w_max = 0;
        self.delay_min = None;
        self.found = false;
        self.restart_round(now, self.round.end);
    }

    window_in!(window);

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("w_max_segments", self.w_max as f64);
        see("k_s", self.epoch.map_or(0.0, |epoch| epoch.k));
        see("delay_min_s", self.delay_min.map_or(0.0, |delay| delay.seconds()));
    }
}
