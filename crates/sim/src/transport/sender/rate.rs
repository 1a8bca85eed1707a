//! Delivery rate: draft-cheng-iccrg-delivery-rate-estimation, in bytes.

use super::scoreboard::{Segment, APP_LIMITED, REPEATED};
use crate::transport::congestion::RateSample;
use sojourn_units::{Bytes, Instant, Span};

#[derive(Clone, Debug, Default)]
pub(super) struct RateSampler {
    /// Delivered (acknowledged or SACKed) since the start.
    pub delivered: u64,
    delivered_at: Instant,
    /// When the first segment of the present sampling flight left.
    first_sent: Instant,
    /// Until this much is delivered, samples are bounded by the application; 0 when not.
    app_limited: u64,
    /// The most recently sent segment of this acknowledgement.
    newest: Option<Newest>,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    /// When it was sent and where it ends: of segments that left at one time the later one in the stream is the newer.
    order: (Instant, u64),
    delivered: u64,
    delivered_at: Instant,
    send_elapsed: Span,
    app_limited: bool,
    retransmitted: bool,
}

impl RateSampler {
    /// What is sent now is bounded by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// Notes in `segment`, which leaves now, what its delivery will be compared with.
    pub fn on_send(&mut self, segment: &mut Segment, nothing_in_flight: bool) {
        if nothing_in_flight {
            self.first_sent = segment.sent;
            self.delivered_at = segment.sent;
        }
        segment.first_sent = self.first_sent;
        segment.delivered_at = self.delivered_at;
        segment.delivered = self.delivered;
        segment.flags = if self.app_limited > 0 { segment.flags | APP_LIMITED } else { segment.flags & !APP_LIMITED };
    }

    /// The application has no more data while the window has room for `in_flight` and more.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    pub fn on_delivered(&mut self, segment: &Segment, bytes: u64, now: Instant) {
        self.delivered += bytes;
        self.delivered_at = now;
        let order = (segment.sent, segment.end());
        if self.newest.is_none_or(|n| order > n.order) {
            self.newest = Some(Newest {
                order,
                delivered: segment.delivered,
                delivered_at: segment.delivered_at,
                send_elapsed: segment.sent.since(segment.first_sent),
                app_limited: segment.flags & APP_LIMITED != 0,
                retransmitted: segment.flags & REPEATED != 0,
            });
            self.first_sent = segment.sent;
        }
    }

    /// Without SACK a duplicate acknowledgement says that something arrived, but not what.
    pub fn on_anonymous(&mut self, bytes: u64, now: Instant) {
        self.delivered += bytes;
        self.delivered_at = now;
    }

    /// Bytes counted by `on_anonymous` have now been counted by name.
    pub fn retract(&mut self, bytes: u64) {
        self.delivered -= bytes;
    }

    /// The sample of the acknowledgement just taken in.
    pub fn finish(&mut self, min_rtt: Span) -> Option<RateSample> {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let newest = self.newest.take()?;
        let interval = newest.send_elapsed.max(self.delivered_at.since(newest.delivered_at));
        // Shorter than the path allows: a retransmission was taken for its original or the reverse.
        if interval.is_zero() || (min_rtt != Span::MAX && interval < min_rtt) {
            return None;
        }
        Some(RateSample {
            delivered: Bytes::new(self.delivered - newest.delivered),
            interval,
            prior_delivered: Bytes::new(newest.delivered),
            app_limited: newest.app_limited,
            retransmitted: newest.retransmitted,
        })
    }
}
