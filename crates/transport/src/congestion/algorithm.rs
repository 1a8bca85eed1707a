//! What an algorithm is, and what it is built from.

use super::event::{AckEvent, CongestionEvent, EcnFeedback};
use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};
use std::fmt;

/// What an algorithm is built from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Window at the start.
    pub initial_window: Packets,
    /// The window never exceeds this.
    pub window_limit: Option<Bytes>,
    /// Of the algorithm's own random numbers.
    pub seed: u64,
}

/// What a module says of its algorithm.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Name in configuration.
    pub name: &'static str,
    /// Governing text.
    pub source: &'static str,
}

/// A congestion control algorithm. All state is its own; `now` is always given.
pub trait CongestionControl: CloneBox + fmt::Debug + Send + Sync {
    /// An acknowledgement that acknowledged or SACKed something.
    fn on_ack(&mut self, ack: &AckEvent);

    /// An episode starts: sets `ssthresh`. The window itself follows by [`CongestionControl::set_cwnd`].
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// Everything outstanding is taken as lost (after `on_congestion`, where that is due): the window is one segment.
    /// `total_lost` counts since the start, as in [`AckEvent`].
    fn on_rto(&mut self, now: Instant, total_lost: Bytes);

    /// The episode of `on_congestion` has ended and the window has been set to `ssthresh`.
    fn on_recovery_exit(&mut self, _now: Instant) {}

    /// The last reduction was not needed: window and threshold have come back.
    fn on_undo(&mut self) {}

    /// The handshake is over: its RTT, where it gave a sample. The initial window is set.
    fn on_established(&mut self, _now: Instant, _rtt: Option<Span>) {}

    /// The handshake has agreed on this feedback, which may be less than it reads.
    fn on_feedback(&mut self, _feedback: EcnFeedback) {}

    /// Sending starts again with nothing in flight, `idle` after the last segment; `app_limited` when the application
    /// was the reason.
    fn on_restart(&mut self, _now: Instant, _idle: Span, _app_limited: bool) {}

    /// The window.
    fn cwnd(&self) -> Bytes;

    /// Slow-start threshold; `u64::MAX` bytes when unset.
    fn ssthresh(&self) -> Bytes;

    /// Sets the window (end of recovery, restart after idle time).
    fn set_cwnd(&mut self, cwnd: Bytes);

    /// Sets the slow-start threshold (restart after idle time).
    fn set_ssthresh(&mut self, ssthresh: Bytes);

    /// The feedback that it reads; one that is accurate also has its retransmissions ECN-capable.
    fn ecn_feedback(&self) -> EcnFeedback {
        EcnFeedback::Classic
    }

    /// Rate at which to space segments; `None` sends as the window opens.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }

    /// False for algorithms that never ask for a rate.
    fn paces(&self) -> bool {
        false
    }

    /// Segments that go back to back when pacing lets one go, at least 1; the pause after them is that of all.
    fn pacing_burst(&self) -> u64 {
        1
    }

    /// True for model-based algorithms whose `cwnd` holds during loss recovery too: then the sender does not reduce.
    fn controls_recovery(&self) -> bool {
        false
    }

    /// True while what is sent says nothing of the path's bandwidth: samples count as bounded by the application.
    fn disowns_samples(&self) -> bool {
        false
    }

    /// True for algorithms that read delivery rates, or whether the application bounds them: only for them are they kept.
    fn reads_rates(&self) -> bool {
        false
    }

    /// True for algorithms that answer marks within [`CongestionControl::on_ack`]: then a mark starts no episode.
    fn answers_marks(&self) -> bool {
        false
    }

    /// True for algorithms that ask for L4S treatment: their packets carry ECT(1) and nothing else.
    fn is_l4s(&self) -> bool {
        false
    }

    /// True for algorithms that live on one-way delays, which the timestamps option tells.
    fn needs_timestamps(&self) -> bool {
        false
    }

    /// Shows internal variables by name, for tests; the unit is in the name.
    fn internals(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// A copy behind a pointer, which every algorithm has that can be copied.
pub trait CloneBox {
    /// A copy with its state.
    fn clone_box(&self) -> Box<dyn CongestionControl>;
}

impl<T: CongestionControl + Clone + 'static> CloneBox for T {
    fn clone_box(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CongestionControl> {
    fn clone(&self) -> Self {
        // Not of the box, which is what a call on itself would copy.
        (**self).clone_box()
    }
}
