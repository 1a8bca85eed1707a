//! Loss detection by time, and the probe of a silent tail.
//!
//! Text: RFC 8985 (RACK in section 6, TLP in section 7), as Linux has them (`tcp_recovery = 1`, `tcp_early_retrans = 3`).
//! RACK: a segment is lost when one sent after it has been delivered, and a round trip and the reordering window ago it was
//! sent; the window is none while no reordering has been seen and three segments are SACKed or recovery is under way, and a
//! quarter of the smallest RTT otherwise. A retransmission can be lost like any other segment.
//! TLP: without an answer for two smoothed RTTs, new data or else the last segment once more, whatever the window.
//! Deviations: the reordering timer is set for the first segment that waits (RFC 8985, step 5: for the last), so that each is
//! looked at once; without DSACK, the reordering window does not grow, and of a probe that was for nothing the pure duplicate
//! acknowledgement tells; two jiffies that Linux adds to the probe's timeout are none.
//! Work: amortised O(1) a transmission, O(log n) the lookup of a segment.

use super::scoreboard::{Found, Progress, DUP_THRESH};
use super::{Sender, State, Step};
use crate::transport::congestion::Signal;
use crate::transport::segment::Data;
use sojourn_units::{Instant, Span};
use std::collections::VecDeque;

/// RFC 8985's WCDelAckT: what a single segment's acknowledgement may be delayed.
const DELAYED_ACK: Span = Span::from_millis(200);

/// RACK's variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: of all delivered segments, the one sent last.
    latest: (Instant, u64),
    rtt: Span,
    /// RACK.fack: the highest delivered.
    pub highest: u64,
    /// RACK.reordering_seen.
    pub reordered: bool,
    /// Transmissions in the order of time: when, and the segment's first byte. What has been settled since is dropped
    /// when it comes to the front.
    order: VecDeque<(Instant, u64)>,
}

/// The tail loss probe in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    /// TLP.end_seq.
    end: u64,
    /// It repeated the last segment.
    repeated: bool,
}

/// What the early timer, before the retransmission timeout, is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Early {
    /// A segment that may be late or lost.
    Reordering,
    /// A tail loss probe.
    Probe,
}

impl Sender {
    /// A transmission of the segment that starts at `seq`: when it is taken to leave. What leaves at one instant here is
    /// told apart by nanoseconds, as a host's clock would; RFC 8985 settles ties by sequence, which misjudges a
    /// retransmission among new segments.
    pub(super) fn stamp(&mut self, now: Instant, seq: u64) -> Instant {
        let Some(rack) = &mut self.rack else { return now };
        let after = rack.order.back().map_or(now, |(last, _)| now.max(*last + Span::from_nanos(1)));
        rack.order.push_back((after, seq));
        after
    }

    /// Steps 1 to 3 of RFC 8985, section 6.2, for what an acknowledgement has delivered; then the rest.
    pub(super) fn rack_on_ack(&mut self, now: Instant, progress: &mut Progress) {
        let Some(rack) = &mut self.rack else { return };
        let (latest, seen) = (progress.latest, &progress.seen);
        rack.highest = seen.highest;
        rack.reordered |= seen.reordered;
        if let Some(latest) = latest {
            rack.rtt = now.since(latest.0);
            rack.latest = rack.latest.max(latest);
        }
        self.rack_detect(now, progress);
    }

    /// Steps 4 and 5: marks what is lost, and sets the timer for the first that may yet come.
    pub(super) fn rack_detect(&mut self, now: Instant, progress: &mut Progress) {
        let episode = matches!(self.state, State::Recovery { .. } | State::Loss { .. });
        let Some(rack) = &mut self.rack else { return };
        let at_once = !rack.reordered && (episode || self.board.sacked_segments() >= u64::from(DUP_THRESH));
        let window = if at_once { Span::ZERO } else { (self.rtt.min / 4).min(self.rtt.srtt()) };
        let mut wait = None;
        while let Some(&(sent, seq)) = rack.order.front() {
            if let Some(Found { place, end }) = self.board.find_sent(seq, sent) {
                if (sent, end) >= rack.latest {
                    break;
                }
                let due = sent + rack.rtt + window;
                if due > now {
                    wait = Some(due);
                    break;
                }
                self.board.mark_lost(place, progress);
            }
            rack.order.pop_front();
        }
        match wait {
            Some(due) => self.early = Some((due, Early::Reordering)),
            None if self.early.is_some_and(|(_, what)| what == Early::Reordering) => self.early = None,
            None => {}
        }
    }

    /// What a segment must have been sent before, to be taken as lost by the retransmission timer.
    pub(super) fn rack_horizon(&self, now: Instant) -> Instant {
        match &self.rack {
            Some(rack) => Instant::ZERO + Span::from_nanos(now.nanos().saturating_sub(rack.rtt.nanos())),
            None => Instant::NEVER,
        }
    }

    /// The early timer has expired.
    pub(super) fn on_early_timer(&mut self, now: Instant) {
        let Some((_, what)) = self.early.take() else { return };
        match what {
            Early::Probe => {
                if self.step == Step::Stream && self.board.flight() > 0 {
                    self.step = Step::TailProbe;
                    self.rto_deadline = now + self.rtt.rto(self.backoff);
                }
            }
            Early::Reordering => {
                let mut progress = Progress::default();
                self.rack_detect(now, &mut progress);
                if progress.lost > 0 && !matches!(self.state, State::Recovery { .. }) {
                    self.enter_recovery(now, &mut progress);
                    // As Linux (`tcp_rack_reo_timeout`): the reduction begins now, as if one segment had been delivered.
                    self.follow_reduction(self.mss, false);
                    self.rto_deadline = now + self.rtt.rto(self.backoff);
                }
                self.total_lost += progress.lost;
            }
        }
    }

    /// RFC 8985, section 7.2: when to probe, from now.
    pub(super) fn schedule_tail_probe(&mut self, now: Instant) {
        if self.early.is_some_and(|(_, what)| what == Early::Reordering) {
            return;
        }
        let wanted = self.tail.is_none()
            && self.board.flight() > 0
            && !self.board.has_sacks()
            && matches!(self.state, State::Open | State::Reducing { .. })
            && self.config.recovery.is_selective();
        self.early = wanted.then(|| {
            let srtt = self.rtt.srtt();
            let one = self.board.is_single();
            let timeout = match (srtt.is_zero(), one) {
                (true, _) => self.rtt.rto(0),
                (false, true) => srtt * 2 + DELAYED_ACK,
                (false, false) => srtt * 2,
            };
            ((now + timeout).min(self.rto_deadline), Early::Probe)
        });
    }

    /// Section 7.3: the probe.
    pub(super) fn send_tail_probe(&mut self, now: Instant) -> Option<Data> {
        let seq = self.board.next;
        let room = self.receiver_edge.map_or(u64::MAX, |edge| edge.saturating_sub(seq));
        let len = self.data_end().saturating_sub(seq).min(self.mss);
        let fresh = len > 0 && len <= room;
        let data = if fresh { self.send_apart(now, seq, len) } else { self.resend_last(now)? };
        self.stats.tail_probes += 1;
        self.tail = Some(Tail { end: self.board.next, repeated: !fresh });
        self.early = None;
        self.rto_deadline = now + self.rtt.rto(self.backoff);
        Some(data)
    }

    /// Section 7.4: what an acknowledgement says of the probe. `pure` is a duplicate that brings no news.
    pub(super) fn tail_on_ack(&mut self, now: Instant, pure: bool) {
        let Some(Tail { end, repeated }) = self.tail else { return };
        let una = self.board.una;
        if una < end {
            return;
        }
        if !repeated || pure {
            self.tail = None;
        } else if una > end {
            // The probe has mended a loss, which nothing else tells of.
            self.tail = None;
            if matches!(self.state, State::Open) {
                self.reduce(now, Signal::Loss);
                self.leave_reduction(now);
            }
        }
    }
}
