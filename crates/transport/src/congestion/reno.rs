//! Reno's window as Linux has it: in whole segments, counting acknowledged segments.
//!
//! Text: RFC 5681 with appropriate byte counting (RFC 3465, in segments and without its limit).
//! Law: slow start adds the acknowledged segments up to `ssthresh`; congestion avoidance adds one segment for every
//! `cwnd` acknowledged; on loss `ssthresh = max(cwnd / 2, 2)`. The window grows only when it is what limits the sender
//! (RFC 7661). Acknowledgements for every second segment thus do not slow it down: one segment per RTT.
//! Deviations: none known. Work: O(1).

use super::window::{window_in, SegmentWindow};
use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters};
use sojourn_units::{Bytes, Instant};

/// What the registry says of it.
pub const ABOUT: About = About {
    name: "reno",
    source: "RFC 5681 counting acknowledged segments, growing only when window-limited, as in Linux",
};

/// State.
#[derive(Clone, Debug)]
pub struct Reno {
    window: SegmentWindow,
}

impl Reno {
    /// At the initial window, threshold unset.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        Self { window: SegmentWindow::new(p) }
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &AckEvent) {
        if !ack.may_grow || !ack.cwnd_limited {
            return;
        }
        let mut acked = ack.newly_delivered_packets().get();
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked > 0 {
            self.window.additive(self.window.cwnd, acked);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        self.window.ssthresh = (self.window.cwnd / 2).max(2);
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.window.collapse();
    }

    window_in!(window);
}
