//! NewReno's window as ns-3 and ns-2 have it: in bytes, one increment per acknowledgement.
//!
//! Text: RFC 5681, section 3.1. Law: slow start adds one segment per acknowledgement, congestion avoidance
//! `SMSS * SMSS / cwnd`; on loss `ssthresh = max(in flight / 2, 2 SMSS)`.
//! With an acknowledgement for every second segment the window therefore grows by half a segment per RTT
//! (1.5-fold in slow start). It grows whether or not the sender uses it; that is ns-3's behaviour,
//! `reno` is the algorithm that validates its window.
//! Work: O(1).

use super::window::window_in_bytes;
use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters};
use sojourn_units::{Bytes, Instant};

/// What the registry says of it.
pub const ABOUT: About = About {
    name: "newreno",
    source: "RFC 5681 with one increment per acknowledgement, as in ns-3's TcpNewReno and ns-2",
};

/// State.
#[derive(Clone, Debug)]
pub struct NewReno {
    cwnd: u64,
    ssthresh: u64,
    mss: u64,
    limit: u64,
}

impl NewReno {
    /// At the initial window, threshold unset.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        let mss = p.mss.get().max(1);
        let limit = p.window_limit.map_or(u64::MAX, |limit| limit.get().max(mss));
        Self { cwnd: (p.initial_window.get().max(1) * mss).min(limit), ssthresh: u64::MAX, mss, limit }
    }
}

impl CongestionControl for NewReno {
    #[inline(always)]
    fn on_ack(&mut self, ack: &AckEvent) {
        if !ack.may_grow {
            return;
        }
        let mut segments = ack.newly_delivered_packets().get().max(1);
        if self.cwnd < self.ssthresh {
            self.cwnd += self.mss;
            segments -= 1;
        }
        if self.cwnd >= self.ssthresh && segments > 0 {
            self.cwnd += (self.mss * self.mss / self.cwnd).max(1);
        }
        self.cwnd = self.cwnd.min(self.limit);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.ssthresh = (event.in_flight.get() / 2).max(2 * self.mss);
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.cwnd = self.mss;
    }

    window_in_bytes!();
}
