//! Veno: Reno that asks how much of its window waits in queues, and takes a loss without a queue for one of a radio link.
//!
//! Text: Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC 21(2), 2003.
//! Law, in segments, with N the part of the window that waits in queues:
//!
//! ```text
//! N = cwnd (1 - BaseRTT / RTT)
//! growth  N < 3: one segment a round trip, else one every second round trip; slow start as Reno
//! loss    N < 3: ssthresh = 4/5 cwnd, else 1/2 cwnd
//! mark    ssthresh = 1/2 cwnd, because a queue has spoken; timeout the same, and cwnd = 1 segment
//! ```
//!
//! As ns-3 and Linux: RTT is the last sample before the event, BaseRTT the smallest since the start (the paper forgets it at each
//! loss, Linux at each pause), and the window grows only when it is what limits the sender.
//! Deviation: the slower growth is one segment for two windows of acknowledged segments. Linux takes 4/5 after a mark and a timeout
//! as well. Work: O(1).

use super::window::{window_in, SegmentWindow};
use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters, Signal};
use sojourn_units::{Bytes, Instant, Span};

/// What the registry says of it.
pub const ABOUT: About = About { name: "veno", source: "Fu and Liew (IEEE JSAC 2003)" };

/// Segments in queues from which on the network counts as congested (beta).
const BETA: f64 = 3.0;

/// State.
#[derive(Clone, Debug)]
pub struct Veno {
    window: SegmentWindow,
    /// `BaseRTT`; [`Span::MAX`] before the first sample.
    base: Span,
    /// The last sample.
    rtt: Span,
}

impl Veno {
    /// At the initial window, threshold unset, no RTT known.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        Self { window: SegmentWindow::new(p), base: Span::MAX, rtt: Span::ZERO }
    }

    /// N; 0 before the first sample.
    fn queued(&self) -> f64 {
        if self.rtt.is_zero() {
            return 0.0;
        }
        self.window.cwnd as f64 * (1.0 - self.base.seconds() / self.rtt.seconds()).max(0.0)
    }

    fn is_congested(&self) -> bool {
        self.queued() >= BETA
    }
}

impl CongestionControl for Veno {
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt.sample {
            (self.base, self.rtt) = (self.base.min(rtt), rtt);
        }
        if !ack.may_grow || !ack.cwnd_limited {
            return;
        }
        let mut acked = ack.newly_delivered_packets().get();
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked > 0 {
            let round_trips = if self.is_congested() { 2 } else { 1 };
            self.window.additive(round_trips * self.window.cwnd, acked);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let is_random = event.signal == Signal::Loss && !self.is_congested();
        let kept = if is_random { self.window.cwnd * 4 / 5 } else { self.window.cwnd / 2 };
        self.window.ssthresh = kept.max(2);
    }

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.window.collapse();
    }

    window_in!(window);

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("queued_segments", self.queued());
    }
}
