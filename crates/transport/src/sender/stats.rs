//! What a sender counts.

use sojourn_units::{Bytes, Instant, Span};

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included; nothing without payload is counted.
    pub segments_sent: u64,
    /// Sum of the RTT samples; divide by `rtt_samples`.
    pub rtt_sum: Span,
    /// RTT samples: one per acknowledgement of new data.
    pub rtt_samples: u64,
    /// Of the segments, retransmissions.
    pub segments_retransmitted: u64,
    /// Entries into fast recovery.
    pub fast_retransmits: u64,
    /// Tail loss probes sent.
    pub tail_probes: u64,
    /// Expiries of the retransmission timer, a SYN's included.
    pub timeouts: u64,
    /// Window reductions in answer to marks.
    pub ecn_reductions: u64,
    /// Acknowledgements that arrived marked CE, where Accurate ECN is spoken.
    pub marked_acks: u64,
    /// SYNs sent, repeated ones included.
    pub syns: u64,
    /// Probes of a closed window sent (RFC 9293, 3.8.6.1).
    pub window_probes: u64,
    /// When the first segment, a SYN included, left, if any did.
    pub first_sent: Option<Instant>,
    /// When the window first reached `ssthresh`, by its growth or because of congestion; none for algorithms without one.
    pub left_slow_start: Option<Instant>,
    /// The window at the last acknowledgement of the first second since `first_sent`; 0 without one.
    pub cwnd_after_second: Bytes,
}

impl SenderStats {
    /// How long after `first_sent` the window is noted.
    pub const FIRST: Span = Span::from_secs(1);

    pub(super) fn rtt(&mut self, rtt: Span) {
        self.rtt_sum += rtt;
        self.rtt_samples += 1;
    }
}
