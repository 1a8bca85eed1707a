//! Compound TCP: Reno's window, and beside it one that grows with a power of the window while there is no queue.
//!
//! Text: Tan, Song, Zhang and Sridharan, "A compound TCP approach for high-speed and long distance networks", INFOCOM 2006;
//! draft-sridharan-tcpm-ctcp-02. The window `win = cwnd + dwnd`. Law, in segments:
//!
//! ```text
//! Reno's    cwnd grows by acknowledged / win in congestion avoidance, and in slow start by what is acknowledged
//! once an   diff = win (1 - baseRTT / RTT), the segments that wait in queues; RTT is the mean of the round trip's samples
//! RTT       dwnd += max(alpha win^k - 1, 0) where diff < gamma, else dwnd = max(dwnd - zeta diff, 0)
//! on loss   ssthresh = win (1 - beta); cwnd = cwnd / 2, dwnd = win (1 - beta) - cwnd / 2
//! timeout   dwnd = 0
//! ```
//!
//! alpha = 1/8, beta = 1/2, k = 3/4, gamma = 30 segments, zeta = 1.
//! Deviations: gamma is fixed (the draft may lower it for flows that find little room). Work: O(1), two square roots a round
//! trip.

use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters};
use sojourn_units::{Bytes, Instant, Span};

/// What the registry says of it.
pub const ABOUT: About =
    About { name: "compound", source: "Tan et al. (INFOCOM 2006) and draft-sridharan-tcpm-ctcp-02" };

const ALPHA: f64 = 0.125;
const BETA: f64 = 0.5;
/// Segments in queues from which on the second window shrinks.
const GAMMA: f64 = 30.0;
const ZETA: f64 = 1.0;

/// State; windows are in segments.
#[derive(Clone, Debug)]
pub struct Compound {
    /// Reno's.
    cwnd: f64,
    /// That of the delay.
    dwnd: f64,
    ssthresh: f64,
    limit: f64,
    mss: u64,
    /// The round trip ends when the cumulative acknowledgement passes this.
    round_end: u64,
    /// Of its RTT samples.
    sum: Span,
    samples: u64,
}

impl Compound {
    /// At the initial window, threshold unset.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        let mss = p.mss.get().max(1);
        let limit = p.window_limit.map_or(f64::INFINITY, |limit| (limit.get() / mss).max(1) as f64);
        Self {
            cwnd: (p.initial_window.get().max(1) as f64).min(limit),
            dwnd: 0.0,
            ssthresh: f64::INFINITY,
            limit,
            mss,
            round_end: 0,
            sum: Span::ZERO,
            samples: 0,
        }
    }

    fn win(&self) -> f64 {
        (self.cwnd + self.dwnd).min(self.limit)
    }

    /// Once a round trip, in congestion avoidance.
    fn compare_rtts(&mut self, base: Span) {
        let rtt = self.sum.seconds() / self.samples as f64;
        let win = self.win();
        let diff = win * (1.0 - (base.seconds() / rtt).min(1.0));
        let dwnd = if diff < GAMMA {
            // win^(3/4)
            let power = win.sqrt() * win.sqrt().sqrt();
            self.dwnd + (ALPHA * power - 1.0).max(0.0)
        } else {
            self.dwnd - ZETA * diff
        };
        self.dwnd = dwnd.min(self.limit - self.cwnd).max(0.0);
    }

    fn bytes(&self, window: f64) -> Bytes {
        if window.is_finite() {
            Bytes::new(window as u64 * self.mss)
        } else {
            Bytes::new(u64::MAX)
        }
    }
}

impl CongestionControl for Compound {
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt.sample {
            self.sum += rtt;
            self.samples += 1;
        }
        let is_over = ack.una > self.round_end;
        if ack.may_grow && ack.cwnd_limited {
            let acked = ack.newly_delivered_packets().get() as f64;
            let slow = acked.min((self.ssthresh - self.win()).max(0.0));
            self.cwnd += slow;
            if acked > slow {
                self.cwnd += (acked - slow) / self.win();
                if is_over && self.samples > 0 && ack.rtt.min < Span::MAX {
                    self.compare_rtts(ack.rtt.min);
                }
            }
            self.cwnd = self.cwnd.min(self.limit);
        }
        if is_over {
            (self.round_end, self.sum, self.samples) = (ack.next, Span::ZERO, 0);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        let reduced = self.win() * (1.0 - BETA);
        self.ssthresh = reduced.max(2.0);
        self.dwnd = (reduced - self.cwnd / 2.0).max(0.0);
        self.cwnd = self.ssthresh - self.dwnd;
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        (self.cwnd, self.dwnd) = (1.0, 0.0);
    }

    fn cwnd(&self) -> Bytes {
        self.bytes(self.win())
    }

    fn ssthresh(&self) -> Bytes {
        self.bytes(self.ssthresh)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        let win = ((cwnd.get() / self.mss) as f64).clamp(1.0, self.limit);
        self.dwnd = self.dwnd.min(win - 1.0);
        self.cwnd = win - self.dwnd;
    }

    fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = if ssthresh.get() == u64::MAX { f64::INFINITY } else { (ssthresh.get() / self.mss) as f64 };
    }

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("loss_window_segments", self.cwnd);
        see("delay_window_segments", self.dwnd);
    }
}
