//! The window of ns-3's congestion controls: in bytes, growing by whole acknowledged segments, whatever limits the sender.

use crate::congestion::{AckEvent, Parameters};
use sojourn_units::Bytes;

/// Window and threshold, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Ns3Window {
    pub cwnd: u64,
    /// The window in force at the last acknowledgement: within a recovery not `cwnd`.
    pub present: u64,
    pub ssthresh: u64,
    pub mss: u64,
    /// Acknowledged segments that have not yet made the window grow.
    pub credit: u64,
    limit: u64,
    /// Cumulative acknowledgement so far, less what of it is no whole segment.
    una: u64,
}

impl Ns3Window {
    pub fn new(p: &Parameters) -> Self {
        let mss = p.mss.get().max(1);
        let limit = p.window_limit.map_or(u64::MAX, |limit| limit.get().max(mss));
        let cwnd = (p.initial_window.get().max(1) * mss).min(limit);
        Self { cwnd, present: cwnd, ssthresh: u64::MAX, mss, credit: 0, limit, una: 0 }
    }

    /// Segments that an acknowledgement makes the window grow by, once it may. Nothing of what was sent before a timeout
    /// counts in the one that ends the time after it.
    pub fn acknowledged(&mut self, ack: &AckEvent) -> u64 {
        let segments = (ack.una - self.una) / self.mss;
        self.una += segments * self.mss;
        self.present = ack.cwnd.get();
        ack.timeout_over.map_or(segments, |point| ack.una.saturating_sub(point) / self.mss)
    }

    /// The window has grown.
    pub fn grown(&mut self) {
        self.cwnd = self.cwnd.min(self.limit);
        self.present = self.cwnd;
    }

    /// One segment.
    pub fn collapse(&mut self) {
        (self.cwnd, self.present) = (self.mss, self.mss);
    }

    pub fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.get().clamp(self.mss, self.limit);
        self.present = self.cwnd;
    }

    pub fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh.get();
    }

    pub fn cwnd_bytes(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    pub fn ssthresh_bytes(&self) -> Bytes {
        Bytes::new(self.ssthresh)
    }
}
