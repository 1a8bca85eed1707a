//! Loss recovery as ns-3 has it.
//!
//! Text: RFC 6675 and RFC 6937, departing from them as ns-3 3.37 is seen to send (`tests/ns3_recovery.txt`). Of 2,360 random
//! losses of one to three hundred segments all of 2,055 in streams of full segments were sent to the byte for 2.5 s, and 285 of 305 in
//! streams with short ones, which small writes into a full send buffer leave. Work as RFC 6675's.
//!
//! * Outside recovery, an acknowledgement that SACKs something is a duplicate also when it advances: the window does not
//!   grow, the timer runs on, and the application does not hear of the room in its buffer before it is asked for more.
//! * Recovery begins with the third duplicate in a row, or with an earlier one when a full segment behind the first is
//!   lost; what is known as lost is sent again before that, too, as the window allows.
//! * A segment is lost when three SACKed ones are above it, however short.
//! * One segment goes out whatever the window when recovery begins, and when a partial acknowledgement stops at one that has
//!   not been sent again, or is short: the first that is lost, else a new one, else the first once more.
//! * `NextSeg`'s third rule takes any segment, with SACKed ones above it or without.
//! * A short segment that is sent again is filled up with what follows it.
//! * What was sent again stays in the pipe until the cumulative acknowledgement passes it, SACKed or not.
//! * PRR's RecoverFS is all that is outstanding, SACKed or not, and its product has 32 bits. What a partial acknowledgement that
//!   SACKs has delivered counts twice. Below the threshold an acknowledgement lets out what it delivers; one for a full segment
//!   that was sent again also makes up for what was not sent before.
//!
//! Deviations: in those 20 what is sent differs from some point on. ns-3 holds the receiver's window against the pipe, we against
//! the sequence; and it counts a duplicate that advances and begins recovery as a partial acknowledgement, too.

use super::super::config::WindowUnit;
use super::super::core::Core;
use super::super::episode::State;
use super::super::progress::Progress;
use super::super::rate::RateSampler;
use super::super::scoreboard::{Scoreboard, Segment, DUP_THRESH, FIN, LAST, LOST, RESENT, SACKED};
use super::super::window::Prr;
use super::sack::update_and_mark;
use super::{NextSegRule3, Strategy};
use crate::ranges::Range;
use crate::segment::{Ack, Data};
use sojourn_units::Instant;

/// ns-3's.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Ns3 {
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
    /// The cumulative acknowledgement as the application of an unlimited source has heard of it.
    known_to_application: u64,
    /// It hears of an advance once a segment that must go out is on its way.
    informs_application: bool,
}

/// What ns-3 does where the other recoveries do as the texts say: of them, nothing is left when they are compiled.
///
/// With [`Ns3Habits::NS3`], what is lost is sent again before recovery begins, too; what must go out whatever the window may be a
/// new segment; and a block SACKs only segments that it covers whole, of which those sent again stay in the pipe.
pub(in super::super) trait Ns3Habits: Sized {
    /// It is ns-3's.
    const NS3: bool = false;

    /// PRR's RecoverFS.
    fn recover_fs(core: &Core<Self>) -> u64 {
        core.cwnd
    }

    /// The reduction goes on by what was delivered.
    #[inline(always)]
    fn follow(core: &mut Core<Self>, delivered: u64, advanced: bool, progress: &Progress)
    where
        Self: Strategy,
    {
        core.follow_reduction(delivered, advanced && progress.lost == 0);
    }

    /// Up to where the application has heard of acknowledgements when they have come up to `una`.
    #[inline(always)]
    fn known_to_application(&self, una: u64) -> u64 {
        una
    }

    /// The application hears of an advance, which was no duplicate.
    #[inline(always)]
    fn on_advance(_core: &mut Core<Self>) {}

    /// The most that a new segment at `seq` may hold.
    #[inline(always)]
    fn max_new_len(core: &mut Core<Self>, _seq: u64) -> u64 {
        core.mss
    }

    /// The segment that had to go out is on its way.
    #[inline(always)]
    fn on_forced(core: &mut Core<Self>) {
        core.force = false;
    }

    /// Payload for which the window must have room before `segment` is sent again.
    fn resend_len(_core: &Core<Self>, segment: &Segment) -> u64 {
        u64::from(segment.len)
    }

    /// `segment` as it is sent again.
    fn repacketized(_core: &mut Core<Self>, segment: Segment) -> Segment {
        segment
    }

    /// What goes out where one must and there is neither a lost nor a new one.
    fn poll_forced(_core: &mut Core<Self>, _now: Instant) -> Option<Data> {
        None
    }
}

impl Ns3Habits for super::Reno {}
impl Ns3Habits for super::NewReno {}
impl Ns3Habits for super::Sack {}
impl Ns3Habits for super::Rack {}

/// The application is asked for more when the window takes more than there is from `seq` on, which is to be sent.
/// True when it is.
fn ask_for_more(core: &mut Core<Ns3>, seq: u64) -> bool {
    let left = core.data_end().saturating_sub(seq);
    let asked = left > 0 && left < core.cwnd.saturating_sub(core.board.pipe());
    if asked {
        core.recovery.known_to_application = core.board.una;
    }
    asked
}

impl Strategy for Ns3 {
    const NEXT_SEG_RULE_3: NextSegRule3 = NextSegRule3::Any;

    fn expects(&self) -> bool {
        false
    }

    fn process_ack(core: &mut Core<Self>, now: Instant, ack: &Ack, advanced: bool, progress: &mut Progress) -> bool {
        if ack.sack[0].len > 0 {
            update_and_mark(core, now, ack, progress);
        }
        // Also one that advances, outside recovery.
        let duplicate = progress.sacked > 0 && matches!(core.state, State::Open);
        core.recovery.duplicates += u32::from(duplicate);
        if advanced && !duplicate {
            core.recovery.duplicates = 0;
        }
        duplicate
    }

    fn has_lost(core: &Core<Self>, duplicate: bool) -> bool {
        duplicate && (core.recovery.duplicates >= DUP_THRESH || core.board.is_lost_behind_first())
    }

    fn on_partial(core: &mut Core<Self>, _progress: &mut Progress) {
        core.force |= !core.board.is_first_resent();
    }

    fn on_timeout(core: &mut Core<Self>) {
        core.recovery.duplicates = 0;
    }

    fn prr_window(prr: &mut Prr, delivered: u64, safe: bool, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        prr.delivered += delivered;
        let send = if pipe > ssthresh {
            // Its product has 32 bits.
            let product = (prr.delivered as u32).wrapping_mul(ssthresh as u32);
            u64::from(product).div_ceil(prr.prior).saturating_sub(prr.out)
        } else {
            let bound = match safe {
                false => delivered,
                // Its difference wraps, and the segment brings it back.
                true if prr.delivered < prr.out => (prr.delivered + mss).saturating_sub(prr.out),
                true => (prr.delivered - prr.out).max(delivered) + mss,
            };
            bound.min(ssthresh - pipe)
        };
        prr.window(pipe, send, mss)
    }
}

impl Ns3Habits for Ns3 {
    const NS3: bool = true;

    fn recover_fs(core: &Core<Self>) -> u64 {
        core.board.flight()
    }

    fn follow(core: &mut Core<Self>, delivered: u64, advanced: bool, progress: &Progress) {
        core.follow_reduction(delivered, progress.resent_acked);
        if advanced && progress.sacked > 0 && core.state.is_recovery() {
            // Once as a duplicate, once as a partial acknowledgement.
            core.follow_reduction(delivered, progress.resent_acked);
        }
    }

    fn known_to_application(&self, _una: u64) -> u64 {
        self.known_to_application
    }

    fn on_advance(core: &mut Core<Self>) {
        core.recovery.informs_application = core.force;
        if !core.force {
            core.recovery.known_to_application = core.board.una;
        }
    }

    fn max_new_len(core: &mut Core<Self>, seq: u64) -> u64 {
        if core.recovery.known_to_application < core.board.una && !core.force && ask_for_more(core, seq) {
            core.mss.min(core.cwnd - core.board.pipe())
        } else {
            core.mss
        }
    }

    fn on_forced(core: &mut Core<Self>) {
        core.force = false;
        if std::mem::take(&mut core.recovery.informs_application) {
            core.recovery.known_to_application = core.board.una;
        }
    }

    fn resend_len(core: &Core<Self>, segment: &Segment) -> u64 {
        core.mss.min(core.data_end().saturating_sub(segment.seq))
    }

    fn repacketized(core: &mut Core<Self>, segment: Segment) -> Segment {
        ask_for_more(core, segment.seq);
        core.board.fill(segment, core.rate.as_deref_mut())
    }

    /// The first segment once more, where one must go out and there is no other.
    fn poll_forced(core: &mut Core<Self>, now: Instant) -> Option<Data> {
        if !core.force {
            return None;
        }
        let before = core.board.first()?;
        let before = core.board.fill(before, core.rate.as_deref_mut());
        Some(core.resend(now, now, 0, before, false))
    }
}

/// Where ns-3's scoreboard is not RFC 6675's.
impl Scoreboard {
    /// `fresh` is new in the SACKed `range`. Segments are SACKed whole, which since [`Self::fill`] they need not be on the way.
    pub fn sack_whole(
        &mut self,
        range: Range,
        fresh: Range,
        now: Instant,
        progress: &mut Progress,
        mut rate: Option<&mut RateSampler>,
    ) {
        let mut at = self.segments.partition_point(|s| s.end() <= fresh.start);
        // Bound: the segments that the block newly touches.
        while let Some(segment) = self.segments.get(at).filter(|s| s.seq < fresh.end) {
            if segment.seq >= range.start && segment.end() <= range.end && segment.flags & SACKED == 0 {
                self.mark_sacked::<Ns3>(at, now, progress, rate.as_deref_mut());
            }
            at += 1;
        }
    }

    /// As ns-3: DupThresh SACKed segments above it, however short.
    pub fn third_sacked(&self) -> u64 {
        let Some(end) = self.sacks.last().map(|range| range.end) else { return self.una };
        let above = self.segments.partition_point(|s| s.seq < end);
        let sacked = self.segments.back_from(above).filter(|s| s.flags & SACKED != 0);
        sacked.take(DUP_THRESH as usize).nth(DUP_THRESH as usize - 1).map_or(self.una, |s| s.seq)
    }

    /// ns-3's `IsLost` a full segment behind the first: of the segments from there on and below the highest SACKed, the first that
    /// is known is lost.
    pub fn is_lost_behind_first(&self) -> bool {
        let from = self.una + self.mss;
        let highest = self.sacks.last().map_or(0, |range| range.end);
        let known = self
            .segments
            .iter()
            .take_while(|s| s.end() < highest)
            .find(|s| s.seq >= from && s.flags & (SACKED | LOST) != 0);
        known.is_some_and(|s| s.flags & LOST != 0)
    }

    /// `segment`, which an advance to `ack` passes, was sent again, and ns-3 sees it: it looks at the ends of full segments, counted back
    /// from `ack`.
    pub fn is_resent_acked(&self, segment: &Segment, ack: u64) -> bool {
        let behind = ack - segment.end();
        let counted = behind.is_multiple_of(self.mss) && behind / self.mss < (ack - self.una) / self.mss;
        counted && segment.flags & (SACKED | RESENT) == RESENT
    }

    /// The full segment for which the cumulative acknowledgement waits has been sent again; of a short one ns-3 does not see that.
    pub fn is_first_resent(&self) -> bool {
        let end = self.una + self.mss;
        let first = self.segments.iter().take_while(|s| s.end() <= end).find(|s| s.end() == end);
        first.is_some_and(|s| s.flags & (SACKED | RESENT) == RESENT)
    }

    /// `first` is to be sent again: it takes what makes it a full segment from the one behind it, where that is missing in the
    /// same way. If one of the two had been sent again, it counts as if it had not. Returns the segment as it is now.
    pub fn fill(&mut self, mut first: Segment, rate: Option<&mut RateSampler>) -> Segment {
        let at = self.locate(first.seq);
        let Some(mut next) = self.segments.get(at + 1).copied() else { return first };
        let room = self.mss.saturating_sub(u64::from(first.len)).min(u64::from(next.len)) as u32;
        let alike = next.flags & (SACKED | LAST | FIN) == 0 && (first.flags ^ next.flags) & LOST == 0;
        if room == 0 || !alike || self.unit == WindowUnit::Packets {
            return first;
        }
        if (first.flags ^ next.flags) & RESENT != 0 {
            let again = if first.flags & RESENT != 0 { &first } else { &next };
            self.resent -= u64::from(again.len);
            if again.flags & LOST != 0 {
                self.pending += u64::from(again.len);
            }
            first.flags &= !RESENT;
            next.flags &= !RESENT;
            self.resend = self.resend.min(self.base() + at as u64);
        }
        first.len += room;
        next.len -= room;
        next.seq += u64::from(room);
        for (place, segment) in [(at, first), (at + 1, next)] {
            if let Some(held) = self.segments.get_mut(place) {
                *held = segment;
            }
        }
        if next.len > 0 {
            return first;
        }
        self.segments.remove(at + 1);
        if let Some(rate) = rate {
            rate.remove(at + 1);
        }
        let removed = self.base() + at as u64 + 1;
        self.marked -= u64::from(self.marked > removed);
        self.resend -= u64::from(self.resend > removed);
        first
    }
}
