//! Recovery by a scoreboard of selective acknowledgements.
//!
//! Text: RFC 6675. `Update` is [`update`], `IsLost` and `NextSeg` are the scoreboard's, `SetPipe` its sums.
//! Deviation: no rescue retransmission (its rule 4 of `NextSeg`); a lost retransmission waits for the timer.

use super::super::core::Core;
use super::super::progress::Progress;
use super::super::scoreboard::DUP_THRESH;
use super::{NextSegRule3, Strategy};
use crate::ranges::Range;
use crate::segment::Ack;
use sojourn_units::Instant;

/// RFC 6675.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Sack {
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
}

/// RFC 6675's `Update`.
#[inline(always)]
pub(super) fn update<R: Strategy>(core: &mut Core<R>, now: Instant, ack: &Ack, progress: &mut Progress) {
    for block in ack.blocks() {
        let start = ack.ack + u64::from(block.offset);
        let range = Range { start, end: start + u64::from(block.len) };
        core.board.sack::<R>(range, now, progress, core.rate.as_deref_mut());
    }
}

/// [`update`], and what `IsLost` says then.
#[inline(always)]
pub(super) fn update_and_mark<R: Strategy>(core: &mut Core<R>, now: Instant, ack: &Ack, progress: &mut Progress) {
    update(core, now, ack, progress);
    if progress.sacked > 0 {
        core.board.update_lost::<R>(progress);
    }
}

/// An acknowledgement that SACKs something and does not advance is a duplicate (RFC 6675, section 2).
pub(super) fn is_duplicate(advanced: bool, progress: &Progress) -> bool {
    !advanced && progress.sacked > 0
}

impl Strategy for Sack {
    const NEXT_SEG_RULE_3: NextSegRule3 = NextSegRule3::Below;

    #[inline(always)]
    fn process_ack(core: &mut Core<Self>, now: Instant, ack: &Ack, advanced: bool, progress: &mut Progress) -> bool {
        if ack.sack[0].len > 0 {
            update_and_mark(core, now, ack, progress);
        }
        let duplicate = is_duplicate(advanced, progress);
        core.recovery.duplicates += u32::from(duplicate);
        if advanced {
            core.recovery.duplicates = 0;
        }
        duplicate
    }

    #[inline]
    fn has_lost(core: &Core<Self>, _duplicate: bool) -> bool {
        core.board.has_lost() || (core.recovery.duplicates >= DUP_THRESH && core.board.has_sacks())
    }

    fn on_timeout(core: &mut Core<Self>) {
        core.recovery.duplicates = 0;
    }
}
