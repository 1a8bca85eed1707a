//! Reno's window as ns-2 counts it: in packets, with fractions. For comparison with ns-2 alone.
//!
//! Text: RFC 5681, section 3.1, in the form of ns-2.35's `Agent/TCP/Reno` (`windowOption_ 1`, `precisionReduce_ true`).
//! Law: every acknowledgement that advances adds one packet in slow start, `1 / cwnd` afterwards, also the one that
//! ends a recovery and also when the window is not what limits the sender; on loss the window is halved and keeps the
//! fraction, the threshold loses it. What is sent follows the whole packets of the window.
//! `1 / cwnd` adds up to a little less than a packet a round trip, so a window of w packets takes w + 1
//! acknowledgements to grow, where `reno` takes w: at the small windows of the fairness study that is a tenth.
//! Deviation: ns-2 counts packets beyond the window that duplicates let out as part of the window it halves.
//! Work: O(1).

use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters};
use sojourn_units::{Bytes, Instant};

/// What the registry says of it.
pub const ABOUT: About =
    About { name: "ns2_reno", source: "RFC 5681 in packets with fractions, as in ns-2's Agent/TCP/Reno" };

/// State, in packets.
#[derive(Clone, Debug)]
pub struct Ns2Reno {
    cwnd: f64,
    ssthresh: f64,
    /// Half the window at the last reduction, with its fraction.
    halved: f64,
    limit: f64,
    mss: u64,
}

impl Ns2Reno {
    /// At the initial window, threshold unset.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        let mss = p.mss.get().max(1);
        let limit = p.window_limit.map_or(f64::INFINITY, |limit| (limit.get() / mss).max(1) as f64);
        let cwnd = (p.initial_window.get().max(1) as f64).min(limit);
        Self { cwnd, ssthresh: f64::INFINITY, halved: cwnd, limit, mss }
    }

    fn open(&mut self) {
        let more = if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        self.cwnd = (self.cwnd + more).min(self.limit);
    }
}

impl CongestionControl for Ns2Reno {
    fn on_ack(&mut self, ack: &AckEvent) {
        if ack.may_grow {
            self.open();
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        self.halved = (self.cwnd / 2.0).max(1.0);
        self.ssthresh = libm::floor(self.halved).max(2.0);
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.cwnd = 1.0;
    }

    fn on_recovery_exit(&mut self, _now: Instant) {
        self.cwnd = self.halved;
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd as u64 * self.mss)
    }

    fn ssthresh(&self) -> Bytes {
        // A float beyond the range becomes the largest integer.
        Bytes::new((self.ssthresh as u64).saturating_mul(self.mss))
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = ((cwnd.get() / self.mss) as f64).clamp(1.0, self.limit);
    }

    fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = if ssthresh.get() == u64::MAX { f64::INFINITY } else { (ssthresh.get() / self.mss) as f64 };
    }
}
