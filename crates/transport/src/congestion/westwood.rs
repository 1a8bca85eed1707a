//! Westwood+: Reno that after a loss goes back to what the path delivered, not to half of its window.
//!
//! Text: Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion control",
//! ACM CCR 34(2), 2004. Law, once a round trip, with d the bytes that it delivered in the time T:
//!
//! ```text
//! BWE <- 0.9 BWE + 0.1 d / T                      the first sample as it is
//! loss, mark  -> ssthresh = cwnd = max(BWE * RTTmin, 2 segments)
//! timeout     -> ssthresh = max(BWE * RTTmin, 2 segments), cwnd = 1 segment
//! growth      as reno
//! ```
//!
//! A flow that has filled a queue thereby empties it: BWE is the rate of the link, and BWE * RTTmin the window without a queue. A
//! loss without a queue leaves the window near where it was.
//!
//! Interpretations: a round trip is the smoothed RTT, over which SACKed bytes count as delivered; a pause of the application counts
//! as a slow round trip; the reduction is spread over a
//! round trip where the sender does so (PRR). Linux instead filters twice with 7/8, over 50 ms at least, and measures RTTmin anew
//! after a timeout. Work: O(1).

use super::window::{window_in, SegmentWindow};
use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters};
use sojourn_units::{Bytes, Instant, Span};

/// What the registry says of it.
pub const ABOUT: About = About { name: "westwood", source: "Westwood+ (Grieco and Mascolo, ACM CCR 2004)" };

/// Weight of the past in the bandwidth estimate.
const PAST: f64 = 0.9;
/// Smallest threshold in segments.
const MIN_SEGMENTS: u64 = 2;

/// State.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: SegmentWindow,
    /// In bytes a second; none before the first sample.
    bandwidth: Option<f64>,
    min_rtt: Span,
    /// When the present sample began; none before the first acknowledgement.
    began: Option<Instant>,
    /// Delivered since then.
    delivered: Bytes,
}

impl Westwood {
    /// At the initial window, threshold unset, no bandwidth known.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        let window = SegmentWindow::new(p);
        Self { window, bandwidth: None, min_rtt: Span::MAX, began: None, delivered: Bytes::ZERO }
    }

    fn observe(&mut self, ack: &AckEvent) {
        self.min_rtt = ack.rtt.min;
        // The first acknowledgement starts the clock: nothing says when its bytes began to arrive.
        let Some(began) = self.began else {
            self.began = Some(ack.now);
            return;
        };
        self.delivered += ack.newly_delivered();
        let time = ack.now.since(began);
        if time.is_zero() || time < ack.rtt.smoothed {
            return;
        }
        let sample = self.delivered.get() as f64 / time.seconds();
        self.bandwidth = Some(self.bandwidth.map_or(sample, |past| PAST * past + (1.0 - PAST) * sample));
        (self.began, self.delivered) = (Some(ack.now), Bytes::ZERO);
    }

    /// BWE * RTTmin in whole segments; Reno's half before the first sample.
    fn delivered_segments(&self) -> u64 {
        match self.bandwidth {
            Some(bandwidth) if self.min_rtt < Span::MAX => {
                self.window.segments(Bytes::new((bandwidth * self.min_rtt.seconds()) as u64))
            }
            _ => self.window.cwnd / 2,
        }
    }
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.observe(ack);
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
        self.window.ssthresh = self.delivered_segments().max(MIN_SEGMENTS);
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.window.collapse();
    }

    window_in!(window);

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("bandwidth_bit_s", self.bandwidth.unwrap_or(0.0) * 8.0);
    }
}
