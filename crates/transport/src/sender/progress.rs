//! What one acknowledgement said of the segments in flight.

use super::scoreboard::{Segment, REPEATED};
use sojourn_units::Instant;

/// What one acknowledgement changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Newly acknowledged cumulatively, without what had been SACKed before.
    pub acked: u64,
    pub acked_packets: u64,
    /// Newly SACKed.
    pub sacked: u64,
    pub sacked_packets: u64,
    /// When the first and the last of these segments were sent, of those sent only once.
    pub acked_sent: SentBetween,
    pub sacked_sent: SentBetween,
    /// Among the acknowledged is one sent more than once: which transmission arrived is unknown (Karn).
    pub ambiguous: bool,
    /// Among the segments that it passes is one sent more than once or taken as lost.
    pub doubtful: bool,
    /// Newly taken as lost, be it for the first time or again.
    pub lost: u64,
    /// Some of it is a retransmission.
    pub lost_again: bool,
    /// ns-3's `IsRetransmittedDataAcked`.
    pub resent_acked: bool,
    /// For RACK: of what was delivered, the transmission that left last, and its end; and what order it came in.
    pub latest: Option<(Instant, u64)>,
    pub order: DeliveryOrder,
}

/// What RACK wants to know of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryOrder {
    /// A segment sent more than once and delivered in less than the smallest RTT, so sent after this, was the original.
    pub credible: Instant,
    /// The highest delivered.
    pub highest: u64,
    /// A segment sent once came after one sent behind it.
    pub reordered: bool,
}

impl Progress {
    pub fn delivered(&self) -> u64 {
        self.acked + self.sacked
    }

    /// RFC 8985, steps 2 and 3, for one segment.
    pub(super) fn note_order(&mut self, segment: &Segment) {
        let repeated = segment.flags & REPEATED != 0;
        if repeated && segment.sent > self.order.credible {
            return;
        }
        let end = segment.end();
        self.latest = self.latest.max(Some((segment.sent, end)));
        self.order.reordered |= end < self.order.highest && !repeated;
        self.order.highest = self.order.highest.max(end);
    }
}

/// When the first and the last of some segments were sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentBetween {
    first: Instant,
    last: Instant,
}

impl Default for SentBetween {
    /// Of none.
    fn default() -> Self {
        Self { first: Instant::NEVER, last: Instant::ZERO }
    }
}

impl SentBetween {
    #[inline]
    pub(super) fn widen(&mut self, at: Instant) {
        self.first = self.first.min(at);
        self.last = self.last.max(at);
    }

    pub fn first(&self) -> Option<Instant> {
        (self.first != Instant::NEVER).then_some(self.first)
    }

    pub fn last(&self) -> Option<Instant> {
        (self.first != Instant::NEVER).then_some(self.last)
    }
}
