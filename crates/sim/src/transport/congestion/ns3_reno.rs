//! Reno as ns-3 3.37 has it under the name of Linux's; for comparison, `reno` is what Linux hosts run.
//!
//! Text: ns-3 3.37, `TcpLinuxReno`. Law: slow start adds the acknowledged segments up to `ssthresh`, congestion avoidance one
//! segment for every `cwnd` acknowledged; on loss `ssthresh = max(cwnd / 2, 2)`. Where it is not Linux:
//!
//! * The window grows whether or not the sender uses it: one that its buffer bounds ends with a window of thousands of
//!   segments, and halving that is no reduction.
//! * Segments are counted by acknowledged bytes, so short ones count for what they are, and also what had been SACKed
//!   counts when the cumulative acknowledgement covers it; of the one that ends the time after a timeout what lies
//!   beyond what was outstanding then.
//! * What slow start leaves of an acknowledgement is void, and what was earned outlives a reduction.
//!
//! Deviations: none known here; for what recovery makes of it, `Recovery::Ns3`. Work: O(1).

use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters};
use sojourn_units::{Bytes, Instant};

/// What the registry says of it.
pub const ABOUT: About = About {
    name: "ns3_reno",
    source: "RFC 5681 counting acknowledged segments, growing whatever limits the sender, as in ns-3's TcpLinuxReno",
};

/// State; windows in bytes.
#[derive(Clone, Debug)]
pub struct Ns3Reno {
    cwnd: u64,
    /// The window in force at the last acknowledgement: within a recovery not `cwnd`.
    present: u64,
    ssthresh: u64,
    mss: u64,
    limit: u64,
    /// Acknowledged segments that have not yet made the window grow.
    credit: u64,
    /// Cumulative acknowledgement so far, less what of it is no whole segment.
    una: u64,
}

impl Ns3Reno {
    /// At the initial window, threshold unset.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        let mss = p.mss.get().max(1);
        let limit = p.window_limit.map_or(u64::MAX, |limit| limit.get().max(mss));
        let cwnd = (p.initial_window.get().max(1) * mss).min(limit);
        Self { cwnd, present: cwnd, ssthresh: u64::MAX, mss, limit, credit: 0, una: 0 }
    }

    fn grow(&mut self, segments: u64) {
        if self.cwnd < self.ssthresh {
            self.cwnd = (self.cwnd + segments * self.mss).min(self.ssthresh);
        } else {
            let window = (self.cwnd / self.mss).max(1);
            // The window may have shrunk below what was earned: that earns one segment, not a burst.
            if self.credit >= window {
                self.credit = 0;
                self.cwnd += self.mss;
            }
            self.credit += segments;
            self.cwnd += self.credit / window * self.mss;
            self.credit %= window;
        }
        self.cwnd = self.cwnd.min(self.limit);
    }
}

impl CongestionControl for Ns3Reno {
    fn on_ack(&mut self, ack: &AckEvent) {
        let segments = (ack.una - self.una) / self.mss;
        self.una += segments * self.mss;
        self.present = ack.cwnd.get();
        if ack.may_grow {
            self.grow(ack.timeout_over.map_or(segments, |point| (ack.una - point) / self.mss));
            self.present = self.cwnd;
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        self.ssthresh = (self.present / 2).max(2 * self.mss);
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.cwnd = self.mss;
        self.present = self.mss;
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::new(self.ssthresh)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.get().clamp(self.mss, self.limit);
        self.present = self.cwnd;
    }

    fn set_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh.get();
    }

    fn clone_box(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}
