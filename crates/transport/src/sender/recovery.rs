//! How missing segments are found and sent again.
//!
//! A [`Strategy`] is one text's answer, or one implementation's. What most of them share is the trait's; what is one's own
//! stands in its file. What only ns-3 does is [`Ns3Habits`], which the others leave empty, so that they pay nothing for it.

mod newreno;
mod ns3;
mod rack;
mod sack;

pub(super) use newreno::{NewReno, Reno};
pub(super) use ns3::{Ns3, Ns3Habits};
pub(super) use rack::Rack;
pub(super) use sack::Sack;

use super::config::Config;
use super::core::Core;
use super::progress::{DeliveryOrder, Progress};
use super::scoreboard::Scoreboard;
use super::undo::{Undo, UndoStats};
use super::window::Prr;
use crate::segment::Ack;
use sojourn_units::{Instant, Span};
use std::fmt::Debug;

/// Which segments `NextSeg`'s third rule (RFC 6675) sends although they are not known as lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NextSegRule3 {
    /// None.
    None,
    /// Those below the highest SACKed one.
    Below,
    /// Any.
    Any,
}

/// Loss recovery.
pub(super) trait Strategy: Ns3Habits + Clone + Debug + Default + Send + Sync + 'static {
    /// It works on selective acknowledgements.
    const SELECTIVE: bool = true;
    /// Any new acknowledgement ends it.
    const ENDS_WITH_ANY: bool = false;
    /// `NextSeg`'s third rule.
    const NEXT_SEG_RULE_3: NextSegRule3 = NextSegRule3::None;
    /// It detects losses by time, so it keeps the order of transmissions and looks at each delivery; its timers may go by the ticks of
    /// a clock, and its reductions may be undone.
    const BY_TIME: bool = false;
    /// `IsLost` of RFC 6675 holds for what it calls lost: for the check of the scoreboard.
    #[cfg(debug_assertions)]
    const IS_LOST: bool = false;

    /// Where the scoreboard is clean, an acknowledgement of new data means nothing more to it than [`Strategy::on_expected`].
    fn expects(&self) -> bool {
        true
    }

    /// An acknowledgement of new data where nothing is missing; the last segment of it was sent at `last`.
    #[inline(always)]
    fn on_expected(_core: &mut Core<Self>, _now: Instant, _last: Instant) {}

    /// What it wants to know of an acknowledgement.
    fn delivery_order(&self, _now: Instant, _min_rtt: Span) -> DeliveryOrder {
        DeliveryOrder::default()
    }

    /// What an acknowledgement says besides the cumulative part, which advanced or not.
    fn process_ack(core: &mut Core<Self>, now: Instant, ack: &Ack, advanced: bool, progress: &mut Progress);

    /// This acknowledgement counts as a duplicate; also counts it.
    fn count_duplicate(core: &mut Core<Self>, advanced: bool, progress: &Progress) -> bool;

    /// After the RTT is known: more that is lost.
    fn detect(_core: &mut Core<Self>, _now: Instant, _progress: &mut Progress) {}

    /// Something is missing, so that recovery begins.
    fn has_lost(core: &Core<Self>, duplicate: bool) -> bool;

    /// The cumulative acknowledgement has advanced in recovery, not to its end.
    fn on_partial(_core: &mut Core<Self>, _progress: &mut Progress) {}

    /// Below this sequence number everything that is not SACKed is lost.
    fn lost_below(board: &Scoreboard) -> u64 {
        board.is_lost_below()
    }

    /// What duplicates without SACK take out of the pipe.
    fn credit(_core: &mut Core<Self>) {}

    /// The episode is over.
    fn on_leave(_core: &mut Core<Self>) {}

    /// An acknowledgement that says nothing but that something was SACKed restarts the retransmission timer.
    fn restarts_on_sack(_core: &Core<Self>, _progress: &Progress) -> bool {
        false
    }

    /// The retransmission timer has expired.
    fn on_timeout(_core: &mut Core<Self>) {}

    /// What a segment must have been sent before, to be taken as lost by the retransmission timer.
    fn horizon(&self, _now: Instant) -> Instant {
        Instant::NEVER
    }

    /// The timer of segments that may be late has expired.
    fn on_late(_core: &mut Core<Self>, _now: Instant) {}

    /// At the start.
    fn with(_config: &Config) -> Self {
        Self::default()
    }

    /// What it remembers of reductions, where they may be undone.
    #[inline]
    fn undo(&mut self) -> Option<&mut Option<Box<Undo>>> {
        None
    }

    /// What has been undone.
    fn undone(&self) -> UndoStats {
        UndoStats::default()
    }

    /// A hole that began at `from` has been filled by what was late. True where reordering has been seen.
    fn on_reordering(&mut self, _from: u64) -> bool {
        false
    }

    /// What had been taken as lost may be lost again.
    fn requeue(_core: &mut Core<Self>) {}

    /// The window that PRR gives.
    fn prr_window(prr: &mut Prr, delivered: u64, safe: bool, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        prr.on_ack(delivered, safe, pipe, ssthresh, mss)
    }

    /// A transmission of the segment that starts at `seq`: when it is taken to leave.
    #[inline(always)]
    fn stamp(&mut self, now: Instant, _seq: u64) -> Instant {
        now
    }
}
