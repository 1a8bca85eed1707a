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

use super::window::Ns3Window;
use crate::congestion::window::window_in;
use crate::congestion::{About, AckEvent, CongestionControl, CongestionEvent, Parameters};
use sojourn_units::{Bytes, Instant};

/// What the registry says of it.
pub const ABOUT: About = About {
    name: "ns3_reno",
    source: "RFC 5681 counting acknowledged segments, growing whatever limits the sender, as in ns-3's TcpLinuxReno",
};

/// State.
#[derive(Clone, Debug)]
pub struct Ns3Reno(Ns3Window);

impl Ns3Reno {
    /// At the initial window, threshold unset.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        Self(Ns3Window::new(p))
    }

    fn grow(&mut self, segments: u64) {
        let w = &mut self.0;
        if w.cwnd < w.ssthresh {
            w.cwnd = (w.cwnd + segments * w.mss).min(w.ssthresh);
        } else {
            let window = (w.cwnd / w.mss).max(1);
            // The window may have shrunk below what was earned: that earns one segment, not a burst.
            if w.credit >= window {
                w.credit = 0;
                w.cwnd += w.mss;
            }
            w.credit += segments;
            w.cwnd += w.credit / window * w.mss;
            w.credit %= window;
        }
        w.grown();
    }
}

impl CongestionControl for Ns3Reno {
    fn on_ack(&mut self, ack: &AckEvent) {
        let segments = self.0.acknowledged(ack);
        if ack.may_grow {
            self.grow(segments);
        }
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        self.0.ssthresh = (self.0.present / 2).max(2 * self.0.mss);
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.0.collapse();
    }

    window_in!(0);
}
