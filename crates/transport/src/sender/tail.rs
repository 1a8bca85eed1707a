//! The probe of a silent tail, and the timer that comes before the retransmission timer.
//!
//! Text: RFC 8985, section 7, as Linux has it (`tcp_early_retrans = 3`): without an answer for two smoothed RTTs, new data or
//! else the last segment once more, whatever the window.
//! Of a probe that was for nothing the duplicate acknowledgement tells, with DSACK or without.
//! Linux adds two ticks of its clock to the timeout; so does `Config::tick`.

use super::connection::Step;
use super::core::Core;
use super::episode::State;
use super::recovery::Strategy;
use crate::congestion::Signal;
use crate::segment::Data;
use sojourn_units::{Instant, Span};

/// RFC 8985's WCDelAckT: what a single segment's acknowledgement may be delayed.
const DELAYED_ACK: Span = Span::from_millis(200);

/// The early timer, and the probe that is not yet accounted for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail {
    /// The timer of RACK or TLP, which comes before the retransmission timer.
    pub early: Option<(Instant, Early)>,
    pub probe: Option<Probe>,
}

/// The tail loss probe in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// TLP.end_seq.
    end: u64,
    /// It repeated the last segment.
    repeated: bool,
}

/// What the early timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Early {
    /// A segment that may be late or lost.
    Reordering,
    /// A tail loss probe.
    Probe,
}

impl Tail {
    /// When the early timer expires.
    #[inline]
    pub fn at(&self) -> Instant {
        self.early.map_or(Instant::NEVER, |(at, _)| at)
    }

    /// A probe that repeated a segment is in flight.
    pub fn repeats(&self) -> bool {
        self.probe.is_some_and(|probe| probe.repeated)
    }

    pub fn awaits(&self, what: Early) -> bool {
        self.early.is_some_and(|(_, early)| early == what)
    }
}

impl<R: Strategy> Core<R> {
    /// The early timer has expired.
    pub fn on_early_timer(&mut self, now: Instant) {
        let Some((_, what)) = self.tail.early.take() else { return };
        match what {
            Early::Probe => {
                if self.step == Step::Stream && self.board.flight() > 0 {
                    self.step = Step::TailProbe;
                    self.restart_timer(now);
                }
            }
            Early::Reordering => R::on_late(self, now),
        }
    }

    /// RFC 8985, section 7.2: when to probe, from now.
    pub fn schedule_tail_probe(&mut self, now: Instant) {
        if self.tail.awaits(Early::Reordering) {
            return;
        }
        let wanted = R::SELECTIVE
            && self.tail.probe.is_none()
            && self.board.flight() > 0
            && !self.board.has_sacks()
            && matches!(self.state, State::Open | State::Reducing { .. });
        self.tail.early = wanted.then(|| {
            let srtt = self.rtt.srtt();
            let one = self.board.is_single();
            let timeout = match (srtt.is_zero(), one) {
                (true, _) => self.rtt.rto(0),
                (false, true) => srtt * 2 + DELAYED_ACK,
                (false, false) => srtt * 2 + self.config.tick * 2,
            };
            (self.ticked(now, timeout).min(self.timer.deadline), Early::Probe)
        });
    }

    /// Section 7.3: the probe.
    pub fn send_tail_probe(&mut self, now: Instant) -> Option<Data> {
        let seq = self.board.next;
        let room = self.peer.edge.saturating_sub(seq);
        let len = self.data_end().saturating_sub(seq).min(self.mss);
        let fresh = len > 0 && len <= room;
        let data = if fresh { self.send_apart(now, seq, len) } else { self.resend_last(now)? };
        self.stats.tail_probes += 1;
        self.tail = Tail { early: None, probe: Some(Probe { end: self.board.next, repeated: !fresh }) };
        self.restart_timer(now);
        Some(data)
    }

    /// Section 7.4: what an acknowledgement says of the probe. `pure` is a duplicate that brings no news.
    pub fn tail_on_ack(&mut self, now: Instant, pure: bool) {
        let Some(Probe { end, repeated }) = self.tail.probe else { return };
        let una = self.board.una;
        if una < end {
            return;
        }
        if !repeated || pure {
            self.tail.probe = None;
        } else if una > end {
            // The probe has mended a loss, which nothing else tells of.
            self.tail.probe = None;
            if matches!(self.state, State::Open) {
                self.reduce(now, Signal::Loss);
                self.leave_reduction(now);
            }
        }
    }
}
