//! Delivery rate: draft-cheng-iccrg-delivery-rate-estimation, in bytes.

use super::scoreboard::{Segment, REPEATED};
use crate::congestion::RateSample;
use sojourn_units::{Bytes, Instant, Span};
use std::collections::VecDeque;

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
    /// Of each segment in flight, in the order of the scoreboard.
    stamps: VecDeque<Stamp>,
}

/// What the delivery of a segment will be compared with.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    /// Sent while the application did not fill the window.
    app_limited: bool,
    traffic: Traffic,
}

/// What there was when a segment left.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    /// In flight, the segment included.
    pub in_flight: u64,
    /// Taken as lost since the start.
    pub lost: u64,
    /// Nothing was in flight before it.
    pub alone: bool,
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
    traffic: Traffic,
}

impl RateSampler {
    /// What is sent now is bounded by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// A segment that leaves at `sent`.
    fn stamp(&mut self, sent: Instant, traffic: Traffic) -> Stamp {
        if traffic.alone {
            self.first_sent = sent;
            self.delivered_at = sent;
        }
        let Self { delivered, delivered_at, first_sent, .. } = *self;
        Stamp { delivered, delivered_at, first_sent, app_limited: self.app_limited > 0, traffic }
    }

    /// A new segment leaves at `sent`.
    #[inline(never)]
    pub fn on_send(&mut self, sent: Instant, traffic: Traffic) {
        let stamp = self.stamp(sent, traffic);
        self.stamps.push_back(stamp);
    }

    /// The segment at `place` leaves again at `sent`.
    #[inline(never)]
    pub fn on_resend(&mut self, place: usize, sent: Instant, traffic: Traffic) {
        let stamp = self.stamp(sent, traffic);
        if let Some(held) = self.stamps.get_mut(place) {
            *held = stamp;
        }
    }

    /// The first segment is acknowledged.
    #[inline(never)]
    pub fn pop(&mut self) {
        self.stamps.pop_front();
    }

    /// The segment at `place` has become part of another.
    pub fn remove(&mut self, place: usize) {
        self.stamps.remove(place);
    }

    /// The application has no more data while the window has room for `in_flight` and more.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// `bytes` of `segment`, the one at `place`, have been delivered.
    #[inline(never)]
    pub fn on_delivered(&mut self, place: usize, segment: &Segment, bytes: u64, now: Instant) {
        self.delivered += bytes;
        self.delivered_at = now;
        let Some(stamp) = self.stamps.get(place) else { return };
        let order = (segment.sent, segment.end());
        if self.newest.is_none_or(|n| order > n.order) {
            self.newest = Some(Newest {
                order,
                delivered: stamp.delivered,
                delivered_at: stamp.delivered_at,
                send_elapsed: segment.sent.since(stamp.first_sent),
                app_limited: stamp.app_limited,
                retransmitted: segment.flags & REPEATED != 0,
                traffic: stamp.traffic,
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

    /// The sample of the acknowledgement just taken in, by which so much has been lost since the start.
    #[inline(never)]
    pub fn finish(&mut self, min_rtt: Span, total_lost: u64) -> Option<RateSample> {
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
            tx_in_flight: Bytes::new(newest.traffic.in_flight),
            lost: Bytes::new(total_lost.saturating_sub(newest.traffic.lost)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// 1000 B at `seq`, sent at `sent` ms when `delivered` had been delivered.
    fn segment(seq: u64, sent: u64, delivered: u64, app_limited: bool, flags: u8) -> (Segment, Stamp) {
        let (delivered_at, first_sent) = (at_ms(sent), at_ms(sent - 1));
        let traffic = Traffic { in_flight: 7_000 + delivered, lost: 500, alone: false };
        let stamp = Stamp { delivered, delivered_at, first_sent, app_limited, traffic };
        (Segment { seq, sent: at_ms(sent), len: 1000, flags }, stamp)
    }

    /// Its delivery at 15 ms.
    fn deliver(rate: &mut RateSampler, (segment, stamp): (Segment, Stamp)) {
        rate.stamps.push_front(stamp);
        rate.on_delivered(0, &segment, 1_000, at_ms(15));
        rate.pop();
    }

    #[test]
    fn of_several_segments_the_one_sent_last_gives_the_sample() {
        let resent = segment(0, 5, 3_000, false, REPEATED);
        let (old, older) = (segment(1_000, 2, 1_000, true, 0), segment(2_000, 2, 1_000, false, 0));
        for order in [[resent, old, older], [older, old, resent], [old, resent, older]] {
            let mut rate = RateSampler { delivered: 3_000, ..RateSampler::default() };
            for segment in order {
                deliver(&mut rate, segment);
            }
            let sample = rate.finish(Span::from_millis(1), 2_000);
            // 3000 B in the 10 ms since it was sent; between first_sent and sent there was 1 ms.
            let expected = RateSample {
                delivered: Bytes::new(3_000),
                interval: Span::from_millis(10),
                prior_delivered: Bytes::new(3_000),
                app_limited: false,
                retransmitted: true,
                // Of the segment sent last: 1500 B were lost since.
                tx_in_flight: Bytes::new(10_000),
                lost: Bytes::new(1_500),
            };
            assert_eq!(sample, Some(expected));
            // The next flight is measured from there.
            assert_eq!(rate.first_sent, at_ms(5));
        }
        // Of two that left at once, the later in the stream.
        let mut rate = RateSampler { delivered: 3_000, ..RateSampler::default() };
        deliver(&mut rate, older);
        deliver(&mut rate, old);
        assert_eq!(rate.finish(Span::from_millis(1), 0).map(|sample| sample.app_limited), Some(false));
    }

    #[test]
    fn a_sample_shorter_than_the_smallest_rtt_is_none() {
        for (min_rtt, valid) in [(10, true), (11, false)] {
            let mut rate = RateSampler::default();
            deliver(&mut rate, segment(0, 5, 0, false, 0));
            assert_eq!(rate.finish(Span::from_millis(min_rtt), 0).is_some(), valid);
        }
    }
}
