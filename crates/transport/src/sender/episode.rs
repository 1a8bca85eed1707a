//! Episodes of congestion: their states, and how the window is reduced within one.
//!
//! Texts: RFC 5681, RFC 6937 (PRR), RFC 3168.

use super::core::Core;
use super::progress::Progress;
use super::recovery::Strategy;
use super::window::Prr;
use crate::congestion::{CongestionControl, CongestionEvent, Phase, Signal};
use sojourn_units::{Bytes, Instant};

/// Where the sender stands towards congestion.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// No episode.
    Open,
    /// Reducing in answer to a mark, until something sent after `point` is acknowledged.
    Reducing { point: u64, prr: Option<Prr> },
    /// Fast recovery, until `point` is acknowledged; `partial`: an acknowledgement has advanced since it began.
    Recovery { point: u64, prr: Option<Prr>, partial: bool },
    /// After a timeout, until `point` is acknowledged; `advanced` as in [`State::Recovery`]'s `partial`.
    Loss { point: u64, advanced: bool },
}

impl State {
    pub fn phase(&self) -> Phase {
        match self {
            Self::Open => Phase::Open,
            Self::Reducing { .. } => Phase::Reducing,
            Self::Recovery { .. } => Phase::Recovery,
            Self::Loss { .. } => Phase::Loss,
        }
    }

    #[inline]
    pub fn is_recovery(&self) -> bool {
        matches!(self, Self::Recovery { .. })
    }

    /// Sends again what is missing.
    #[inline]
    pub fn is_repairing(&self) -> bool {
        matches!(self, Self::Recovery { .. } | Self::Loss { .. })
    }

    /// Reduces the window.
    #[inline]
    pub fn is_reducing(&self) -> bool {
        matches!(self, Self::Recovery { .. } | Self::Reducing { .. })
    }

    /// The course of a reduction under way.
    #[inline]
    pub fn prr(&mut self) -> Option<&mut Prr> {
        match self {
            Self::Recovery { prr, .. } | Self::Reducing { prr, .. } => prr.as_mut(),
            Self::Open | Self::Loss { .. } => None,
        }
    }
}

impl<R: Strategy> Core<R> {
    /// Leaves and enters episodes. `duplicate` is the recovery's word for this acknowledgement.
    #[inline(always)]
    pub fn turn_state(&mut self, now: Instant, advanced: bool, duplicate: bool, ece: bool, progress: &mut Progress) {
        let una = self.board.una;
        match self.state {
            State::Open => {}
            State::Recovery { point, .. } => {
                if una >= point || (advanced && R::ENDS_WITH_ANY) {
                    self.leave_reduction(now);
                } else if advanced {
                    R::on_partial(self, progress);
                }
            }
            // Only something sent after the reduction carries the news of it (CWR).
            State::Reducing { point, .. } => {
                if una > point {
                    self.leave_reduction(now);
                }
            }
            State::Loss { point, .. } => {
                if una >= point {
                    self.state = State::Open;
                }
            }
        }
        let may_enter = match self.state {
            State::Open | State::Reducing { .. } => true,
            State::Recovery { .. } => false,
            // As Linux (FLAG_LOST_RETRANS): what the timer had sent again and is lost once more is a congestion of its own.
            State::Loss { .. } => progress.lost_again,
        };
        if may_enter && R::has_lost(self, duplicate) {
            self.enter_recovery(now, progress);
        }
        if ece && self.marks.ecn {
            self.answer_echo(now);
        }
    }

    /// RFC 3168, 6.1.2: at most one reduction a window of data.
    fn answer_echo(&mut self, now: Instant) {
        let fresh = self.reduced_at.is_none_or(|at| self.board.una > at);
        if fresh && matches!(self.state, State::Open) && !self.congestion.answers_marks() {
            self.stats.ecn_reductions += 1;
            if R::BY_TIME {
                self.forget_reduction();
            }
            let prr = self.reduce(now, Signal::Ecn);
            self.state = State::Reducing { point: self.board.next, prr };
        }
    }

    /// The window of a reduction under way, `delivered` bytes later; `safe` as in [`Prr`].
    #[inline]
    pub fn follow_reduction(&mut self, delivered: u64, safe: bool) {
        if let Some(prr) = self.state.prr() {
            let (pipe, mss) = (self.board.pipe(), self.mss);
            let ssthresh = self.congestion.ssthresh().get();
            self.cwnd = R::prr_window(prr, delivered, safe, pipe, ssthresh, mss);
        }
    }

    pub fn enter_recovery(&mut self, now: Instant, progress: &mut Progress) {
        self.stats.fast_retransmits += 1;
        if R::BY_TIME {
            self.remember(!matches!(self.state, State::Reducing { .. }));
        }
        let prr = match self.state {
            State::Reducing { prr, .. } => prr,
            _ => self.reduce(now, Signal::Loss),
        };
        self.state = State::Recovery { point: self.board.next, prr, partial: false };
        if !self.board.has_lost() {
            self.board.mark_first_lost(progress);
        }
        R::credit(self);
        self.force = true;
    }

    /// Asks congestion control for the new threshold; without PRR the window follows at once.
    pub fn reduce(&mut self, now: Instant, signal: Signal) -> Option<Prr> {
        let event = CongestionEvent { now, signal, in_flight: Bytes::new(self.board.pipe()) };
        let prr = Prr::new(R::recover_fs(self));
        self.congestion.on_congestion(&event);
        self.marks.announce = true;
        self.reduced_at = Some(self.board.next);
        if self.congestion.controls_recovery() {
            self.cwnd = self.congestion.cwnd().get();
            None
        } else if self.config.prr {
            Some(prr)
        } else {
            self.cwnd = self.congestion.ssthresh().get();
            None
        }
    }

    pub fn leave_reduction(&mut self, now: Instant) {
        self.state = State::Open;
        self.force = false;
        R::on_leave(self);
        if !self.congestion.controls_recovery() {
            self.congestion.set_cwnd(self.congestion.ssthresh());
        }
        self.congestion.on_recovery_exit(now);
        self.cwnd = self.congestion.cwnd().get();
    }
}
