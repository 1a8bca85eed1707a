//! How missing segments are found and sent again.
//!
//! A [`Strategy`] is one text's answer, or one implementation's. What most of them share is the trait's; what is one's own
//! stands in its file. What only detection by time does is [`ByTime`], and what only ns-3 does [`Ns3Habits`]. The others leave
//! these empty, so that they pay nothing for them.

mod newreno;
mod ns3;
mod rack;
mod sack;

pub(super) use newreno::{NewReno, Reno};
pub(super) use ns3::{Ns3, Ns3Habits};
pub(super) use rack::{ByTime, Rack};
pub(super) use sack::Sack;

use super::core::Core;
use super::progress::Progress;
use super::window::Prr;
use crate::segment::Ack;
use sojourn_units::Instant;
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
pub(super) trait Strategy: ByTime + Ns3Habits + Clone + Debug + Default + Send + Sync + 'static {
    /// It works on selective acknowledgements.
    const SELECTIVE: bool = true;
    /// Any new acknowledgement ends it.
    const ENDS_WITH_ANY: bool = false;
    /// `NextSeg`'s third rule.
    const NEXT_SEG_RULE_3: NextSegRule3 = NextSegRule3::None;

    /// Where the scoreboard is clean, an acknowledgement of new data means nothing more to it than [`Strategy::on_expected`].
    fn expects(&self) -> bool {
        true
    }

    /// An acknowledgement of new data where nothing is missing; the last segment of it was sent at `last`.
    #[inline(always)]
    fn on_expected(_core: &mut Core<Self>, _now: Instant, _last: Instant) {}

    /// What an acknowledgement says besides the cumulative part, which advanced or not. True where it counts as a duplicate.
    fn process_ack(core: &mut Core<Self>, now: Instant, ack: &Ack, advanced: bool, progress: &mut Progress) -> bool;

    /// Something is missing, so that recovery begins.
    fn has_lost(core: &Core<Self>, duplicate: bool) -> bool;

    /// The cumulative acknowledgement has advanced in recovery, not to its end.
    fn on_partial(_core: &mut Core<Self>, _progress: &mut Progress) {}

    /// What duplicates without SACK take out of the pipe.
    fn credit(_core: &mut Core<Self>) {}

    /// The episode is over.
    fn on_leave(_core: &mut Core<Self>) {}

    /// The retransmission timer has expired.
    fn on_timeout(_core: &mut Core<Self>) {}

    /// The window that PRR gives.
    fn prr_window(prr: &mut Prr, delivered: u64, safe: bool, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        prr.on_ack(delivered, safe, pipe, ssthresh, mss)
    }
}
