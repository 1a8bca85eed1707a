//! DCTCP: the window shrinks by the share of data that was marked, so that a queue can mark early and often.
//!
//! Text: RFC 8257, section 3.3; the receiver's side, section 3.2, is the receiver's [`EcnFeedback::Accurate`]. With
//! `ecn_feedback = "accecn"` marked bytes are those that Accurate ECN (RFC 9768) counts.
//! Law: once per window of data, `alpha <- alpha (1 - g) + g M`, M the share of its bytes that was reported as marked;
//! on a mark, at most once per window, `ssthresh = cwnd (1 - alpha / 2)`; on loss and timeout `cwnd / 2`; growth is
//! `reno`'s, in bytes: slow start up to `ssthresh`, then one segment per window, only while the window limits the sender.
//! Where the receiver has classic ECN only, a mark halves as a loss does.
//! With ECT(1) (`ect = 1`) it is the scalable sender that an L4S queue expects, without the other requirements on
//! one for the Internet (RFC 9331, section 4: it favours short RTTs, and does not fall back to Reno).
//!
//! As Linux, where the text leaves room: g = 1/16, alpha starts from 1, the window is 2 segments at least after a reduction,
//! the reduction is spread over a round trip (PRR) during which the window does not grow, bytes count as acknowledged
//! when they are delivered (SACKed too), and retransmissions are ECN-capable (RFC 8311, section 4.3).
//! Deviations: the acknowledgement that ends a window and reports a mark reduces by the alpha before it (the sender reacts
//! before congestion control hears of the acknowledgement); acknowledgements are ECN-capable only with `ect_on` `acks`, though Linux sends them so.
//! Work: O(1).

use super::{About, AckEvent, CongestionControl, CongestionEvent, EcnFeedback, Parameters, Signal};
use sojourn_units::{Bytes, Instant};

/// What the registry says of it.
pub const ABOUT: About = About { name: "dctcp", source: "RFC 8257, with Linux's choices" };

/// g: the weight of a window in alpha (RFC 8257, section 4.2).
const GAIN: f64 = 1.0 / 16.0;

/// State.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// In bytes, with the fraction earned.
    cwnd: f64,
    /// In bytes.
    ssthresh: u64,
    mss: u64,
    limit: u64,
    /// `DCTCP.Alpha`.
    alpha: f64,
    /// `DCTCP.BytesAcked`.
    acked: u64,
    /// `DCTCP.BytesMarked`.
    marked: u64,
    /// `DCTCP.WindowEnd`.
    window_end: u64,
    /// The receiver says no more than RFC 3168 has it.
    classic: bool,
}

impl Dctcp {
    /// At the initial window, threshold unset, expecting the worst: alpha is 1.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        let mss = p.mss.get().max(1);
        let limit = p.window_limit.map_or(u64::MAX, |limit| limit.get().max(mss));
        let cwnd = (p.initial_window.get().max(1) * mss).min(limit) as f64;
        Self { cwnd, ssthresh: u64::MAX, mss, limit, alpha: 1.0, acked: 0, marked: 0, window_end: 0, classic: false }
    }

    /// Section 3.3, steps 1 to 8.
    fn observe(&mut self, ack: &AckEvent) {
        let delivered = ack.newly_delivered().get();
        self.acked += delivered;
        self.marked += ack.ce.bytes.get().min(delivered);
        if ack.una <= self.window_end {
            return;
        }
        if self.acked > 0 {
            let share = self.marked as f64 / self.acked as f64;
            self.alpha = self.alpha * (1.0 - GAIN) + GAIN * share;
        }
        self.window_end = ack.next;
        self.acked = 0;
        self.marked = 0;
    }

    fn grow(&mut self, mut acked: u64) {
        let cwnd = self.cwnd as u64;
        if cwnd < self.ssthresh {
            let grown = acked.min(self.ssthresh - cwnd);
            self.cwnd += grown as f64;
            acked -= grown;
        }
        if acked > 0 {
            self.cwnd += self.mss as f64 * acked as f64 / self.cwnd;
        }
        self.cwnd = self.cwnd.min(self.limit as f64);
    }
}

impl CongestionControl for Dctcp {
    fn ecn_feedback(&self) -> EcnFeedback {
        EcnFeedback::Accurate
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.observe(ack);
        if ack.may_grow && ack.cwnd_limited {
            self.grow(ack.newly_delivered().get());
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let share = if event.signal == Signal::Ecn && !self.classic { self.alpha } else { 1.0 };
        self.ssthresh = ((self.cwnd * (1.0 - share / 2.0)) as u64).max(2 * self.mss);
    }

    fn on_feedback(&mut self, feedback: EcnFeedback) {
        self.classic = feedback == EcnFeedback::Classic;
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.cwnd = self.mss as f64;
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd as u64)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::new(self.ssthresh)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.get().clamp(self.mss, self.limit) as f64;
    }

    fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh.get();
    }

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha);
    }
}
