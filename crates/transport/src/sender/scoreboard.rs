//! The segments in flight and what is known of each: sent, SACKed, lost, sent again.
//!
//! Text: RFC 6675, section 4 (`Update`, `IsLost`, `SetPipe`, `NextSeg`).
//! The sums (`pipe`, SACKed, lost, to send again) are kept as the bits change. A SACK block touches only the segments it
//! newly covers; `IsLost` is a bound on the sequence numbers that only rises, so each segment is judged once,
//! and the search for the next segment to send again never goes back except after a timeout:
//! amortised O(1) a segment, O(log n) a SACK block. Debug builds compare all of it with the definitions.

mod segments;
#[cfg(debug_assertions)]
mod verify;

pub(super) use segments::Segment;

use super::config::WindowUnit;
use super::progress::Progress;
use super::rate::RateSampler;
use super::recovery::{NextSegRule3, Strategy};
use crate::ranges::{Range, Ranges};
use segments::Segments;
use sojourn_units::Instant;

/// The receiver has it.
pub(super) const SACKED: u8 = 1;
/// Taken as lost (`IsLost`, or the timer).
pub(super) const LOST: u8 = 1 << 1;
/// Sent again since it was last taken as lost.
pub(super) const RESENT: u8 = 1 << 2;
/// Sent more than once: no RTT sample without timestamps.
pub(super) const REPEATED: u8 = 1 << 3;
/// The last of a finite transfer.
pub(super) const LAST: u8 = 1 << 4;
/// A FIN takes the last place in the sequence: no payload.
pub(super) const FIN: u8 = 1 << 6;

/// RFC 6675's DupThresh.
pub(super) const DUP_THRESH: u32 = 3;

impl WindowUnit {
    fn weight(self, len: u32, mss: u64) -> u64 {
        match self {
            Self::Bytes => u64::from(len),
            Self::Packets => mss,
        }
    }
}

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Its place among those held.
    pub place: usize,
    pub end: u64,
}

/// What an advance has passed where the board is clean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub bytes: u64,
    pub packets: u64,
    /// When the first and the last of these segments were sent.
    pub first: Instant,
    pub last: Instant,
}

/// In the order of use: what an advance over a clean board touches comes first.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Scoreboard {
    pub una: u64,
    pub next: u64,
    pub segments: Segments,
    /// Sums over segments, as they count in a window.
    sacked: u64,
    lost: u64,
    pub resent: u64,
    /// Without SACK: what the duplicate acknowledgements stand for.
    credit: u64,
    pub unit: WindowUnit,
    pub mss: u64,
    /// LOST and not RESENT: to be sent again.
    pub pending: u64,
    /// Number of the first segment that `IsLost` has not passed.
    pub marked: u64,
    /// Number of the first segment that may have to be sent again.
    pub resend: u64,
    pub sacks: Ranges,
    sacked_segments: u64,
}

impl Scoreboard {
    pub fn new(mss: u64, unit: WindowUnit) -> Self {
        Self { mss, unit, ..Self::default() }
    }

    /// What a segment of `len` bytes counts in a window.
    pub fn weight(&self, len: u64) -> u64 {
        self.unit.weight(len as u32, self.mss)
    }

    /// What is sent and not cumulatively acknowledged counts in a window.
    pub fn load(&self) -> u64 {
        match self.unit {
            WindowUnit::Bytes => self.flight(),
            WindowUnit::Packets => self.segments.len() as u64 * self.mss,
        }
    }

    /// Sent and not cumulatively acknowledged (RFC 5681's FlightSize).
    pub fn flight(&self) -> u64 {
        self.next - self.una
    }

    /// RFC 6675's pipe.
    #[inline(always)]
    pub fn pipe(&self) -> u64 {
        self.load() + self.resent - self.sacked - self.lost - self.credit
    }

    /// Number of the first segment held.
    pub fn base(&self) -> u64 {
        self.segments.first
    }

    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    pub fn has_sacks(&self) -> bool {
        !self.sacks.is_empty()
    }

    /// A new segment leaves.
    #[inline]
    pub fn push(&mut self, segment: Segment) {
        self.next = segment.end();
        self.segments.push_back(segment);
    }

    /// Nothing is SACKed, lost or sent again, nor stand duplicates for anything.
    #[inline(always)]
    pub fn is_clean(&self) -> bool {
        self.sacked | self.lost | self.resent | self.credit == 0
    }

    /// As [`Scoreboard::cumulative`], where the board is clean.
    #[inline(always)]
    pub fn pass(&mut self, ack: u64) -> Passed {
        let mut passed = Passed { bytes: ack - self.una, packets: 0, first: Instant::NEVER, last: Instant::ZERO };
        self.una = ack;
        let mut gone = 0;
        // Bound: the segments that it acknowledges.
        while let Some(segment) = self.segments.get_mut(gone) {
            if segment.seq >= ack {
                break;
            }
            passed.packets += 1;
            passed.first = passed.first.min(segment.sent);
            passed.last = passed.last.max(segment.sent);
            let end = segment.end();
            if end > ack {
                // A part of a segment: our receiver never acknowledges that, another might.
                (segment.seq, segment.len) = (ack, (end - ack) as u32);
                break;
            }
            gone += 1;
        }
        self.segments.first += gone as u64;
        passed
    }

    /// The cumulative acknowledgement advances to `ack`.
    #[inline]
    pub fn cumulative<R: Strategy>(
        &mut self,
        ack: u64,
        now: Instant,
        progress: &mut Progress,
        mut rate: Option<&mut RateSampler>,
    ) {
        while let Some(segment) = self.segments.front().copied().filter(|first| first.end() <= ack) {
            self.segments.pop_front();
            progress.resent_acked |= R::NS3 && self.is_resent_acked(&segment, ack);
            self.settle::<R>(&segment, segment.len, now, progress, rate.as_deref_mut());
            if let Some(rate) = &mut rate {
                rate.pop();
            }
        }
        if let Some(first) = self.segments.front_mut().filter(|first| first.seq < ack) {
            // A part of a segment: our receiver never acknowledges that, another might.
            let part = (ack - first.seq) as u32;
            let segment = *first;
            first.seq = ack;
            first.len -= part;
            self.settle_part::<R>(&segment, part, now, progress, rate);
        }
        self.una = ack;
        if !self.sacks.is_empty() {
            self.sacks.trim(ack);
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_part<R: Strategy>(
        &mut self,
        segment: &Segment,
        len: u32,
        now: Instant,
        progress: &mut Progress,
        rate: Option<&mut RateSampler>,
    ) {
        self.settle::<R>(segment, len, now, progress, rate);
    }

    /// Takes `len` bytes of `segment`, the first that has not been popped off `rate`, out of the sums: the cumulative
    /// acknowledgement has passed it.
    #[inline(always)]
    fn settle<R: Strategy>(
        &mut self,
        segment: &Segment,
        len: u32,
        now: Instant,
        progress: &mut Progress,
        rate: Option<&mut RateSampler>,
    ) {
        let bytes = u64::from(len);
        let flags = segment.flags;
        if flags & (SACKED | LOST | RESENT | REPEATED) != 0 {
            progress.doubtful |= flags & (REPEATED | LOST) != 0;
            let weight = match self.unit {
                WindowUnit::Bytes => bytes,
                // What is left of a segment still counts for one.
                WindowUnit::Packets => u64::from(len == segment.len) * self.mss,
            };
            if flags & SACKED != 0 {
                self.sacked -= weight;
                if flags & RESENT != 0 {
                    self.resent -= weight;
                }
                self.sacked_segments -= u64::from(len == segment.len);
                return;
            }
            self.unmark(flags, weight);
        }
        progress.acked += bytes;
        progress.acked_packets += 1;
        if flags & REPEATED == 0 {
            progress.acked_sent.widen(segment.sent);
        } else {
            progress.ambiguous = true;
        }
        if let Some(rate) = rate {
            rate.on_delivered(0, segment, bytes, now);
        }
        if R::BY_TIME {
            progress.note_order(segment);
        }
    }

    /// A segment with these flags is no longer missing.
    #[inline]
    fn unmark(&mut self, flags: u8, bytes: u64) {
        if flags & LOST != 0 {
            self.lost -= bytes;
            if flags & RESENT == 0 {
                self.pending -= bytes;
            }
        }
        if flags & RESENT != 0 {
            self.resent -= bytes;
        }
    }

    /// RFC 6675's `Update` for one SACK block.
    #[inline]
    pub fn sack<R: Strategy>(
        &mut self,
        block: Range,
        now: Instant,
        progress: &mut Progress,
        rate: Option<&mut RateSampler>,
    ) {
        let block = Range { start: block.start.max(self.una), end: block.end.min(self.next) };
        if block.start >= block.end {
            return;
        }
        if let Some(gap) = self.sacks.append(block) {
            if gap.start == gap.end {
                return;
            }
            match self.sacks.last() {
                Some(range) if R::NS3 => self.sack_whole(range, gap, now, progress, rate),
                _ => self.sack_gap::<R>(gap, now, progress, rate),
            }
        } else if !self.sacks.holds(block) {
            self.sack_between::<R>(block, now, progress, rate);
        }
    }

    /// As [`Scoreboard::sack`], where the block begins below the highest range.
    #[inline(never)]
    fn sack_between<R: Strategy>(
        &mut self,
        block: Range,
        now: Instant,
        progress: &mut Progress,
        mut rate: Option<&mut RateSampler>,
    ) {
        let mut sacks = std::mem::take(&mut self.sacks);
        let mut fresh: Option<Range> = None;
        let range = sacks.insert(block, &mut |gap| {
            if R::NS3 {
                fresh = Some(Range { start: fresh.map_or(gap.start, |f| f.start), end: gap.end });
            } else {
                self.sack_gap::<R>(gap, now, progress, rate.as_deref_mut());
            }
        });
        self.sacks = sacks;
        if let Some(fresh) = fresh {
            self.sack_whole(range, fresh, now, progress, rate);
        }
    }

    /// Every segment of `gap` becomes SACKed; none was.
    #[inline]
    fn sack_gap<R: Strategy>(
        &mut self,
        gap: Range,
        now: Instant,
        progress: &mut Progress,
        mut rate: Option<&mut RateSampler>,
    ) {
        let mut at = self.locate(gap.start);
        // Bound: the segments that the block newly covers.
        while self.segments.get(at).is_some_and(|s| s.seq < gap.end) {
            self.mark_sacked::<R>(at, now, progress, rate.as_deref_mut());
            at += 1;
        }
    }

    /// The segment at `place` becomes SACKed; it was not.
    #[inline(always)]
    pub fn mark_sacked<R: Strategy>(
        &mut self,
        place: usize,
        now: Instant,
        progress: &mut Progress,
        rate: Option<&mut RateSampler>,
    ) {
        let Some(segment) = self.segments.get_mut(place) else { return };
        let before = *segment;
        let stays = if R::NS3 { before.flags & RESENT } else { 0 };
        segment.flags = (before.flags | SACKED) & !(LOST | RESENT) | stays;
        let bytes = u64::from(before.len);
        let weight = self.weight(bytes);
        self.unmark(before.flags, weight);
        if stays != 0 {
            self.resent += weight;
        }
        self.sacked += weight;
        progress.sacked += bytes;
        progress.sacked_packets += 1;
        if before.flags & REPEATED == 0 {
            progress.sacked_sent.widen(before.sent);
        }
        if let Some(rate) = rate {
            rate.on_delivered(place, &before, bytes, now);
        }
        if R::BY_TIME {
            progress.note_order(&before);
        }
        self.sacked_segments += 1;
    }

    /// Place of the segment that starts at `seq`.
    #[inline]
    pub fn locate(&self, seq: u64) -> usize {
        // Nearly all segments are full, so this guess nearly always hits.
        let guess = self.segments.front().map_or(0, |first| ((seq - first.seq) / self.mss) as usize);
        match self.segments.get(guess) {
            Some(s) if s.seq == seq => guess,
            _ => self.segments.partition_point(|s| s.seq < seq),
        }
    }

    /// Below this sequence number `IsLost` holds for everything not SACKed: DupThresh discontiguous SACKed ranges
    /// above it, or more than DupThresh - 1 segments of SACKed bytes.
    pub fn is_lost_below(&self) -> u64 {
        let mut bytes = 0;
        for (count, range) in (1..).zip(self.sacks.iter().rev()) {
            bytes += range.end - range.start;
            if count >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * self.mss {
                return range.start;
            }
        }
        self.una
    }

    /// Marks what `IsLost` newly covers.
    #[inline(always)]
    pub fn update_lost<R: Strategy>(&mut self, progress: &mut Progress) {
        let below = if R::NS3 { self.third_sacked() } else { self.is_lost_below() };
        self.marked = self.marked.max(self.base());
        let base = self.base();
        while let Some(segment) = self.segments.get_mut((self.marked - base) as usize).filter(|s| s.seq < below) {
            self.marked += 1;
            if segment.flags & (SACKED | LOST) == 0 {
                segment.flags |= LOST;
                let (flags, weight) = (segment.flags, self.unit.weight(segment.len, self.mss));
                self.lost += weight;
                progress.lost += weight;
                if flags & RESENT == 0 {
                    self.pending += weight;
                }
            }
        }
    }

    /// The first segment is lost, whatever the scoreboard says (duplicate or partial acknowledgements).
    pub fn mark_first_lost(&mut self, progress: &mut Progress) {
        if let Some(first) = self.segments.front_mut() {
            if first.flags & (SACKED | LOST) == 0 {
                first.flags |= LOST;
                let weight = self.unit.weight(first.len, self.mss);
                self.lost += weight;
                progress.lost += weight;
                if first.flags & RESENT == 0 {
                    self.pending += weight;
                }
                self.marked = self.marked.max(self.base() + 1);
            }
        }
        self.set_credit(self.credit);
    }

    /// The timer expired: everything that is not SACKed is lost and to be sent again; with RACK, of what has been sent after
    /// `horizon` only the first (Linux's `tcp_timeout_mark_lost`).
    pub fn mark_all_lost(&mut self, horizon: Instant) {
        self.credit = 0;
        self.lost = 0;
        self.pending = 0;
        self.resent = 0;
        for (place, segment) in self.segments.iter_mut().enumerate() {
            if segment.flags & SACKED != 0 {
                segment.flags &= !RESENT;
                continue;
            }
            let bytes = self.unit.weight(segment.len, self.mss);
            if place == 0 || segment.sent <= horizon {
                segment.flags = (segment.flags | LOST) & !RESENT;
            }
            // What left later may be lost already, and wait to be sent again.
            let (lost, resent) = (segment.flags & LOST != 0, segment.flags & RESENT != 0);
            self.lost += if lost { bytes } else { 0 };
            self.resent += if resent { bytes } else { 0 };
            self.pending += if lost && !resent { bytes } else { 0 };
        }
        self.resend = self.base();
        self.marked = self.base() + self.segments.len() as u64;
    }

    /// The segment that starts at `seq`, if its last transmission was at `sent` and is neither delivered nor lost.
    pub fn find_sent(&self, seq: u64, sent: Instant) -> Option<Found> {
        if seq < self.una {
            return None;
        }
        let place = self.locate(seq);
        let segment = self.segments.get(place).filter(|s| s.seq == seq && s.sent == sent)?;
        let settled = segment.flags & SACKED != 0 || segment.flags & (LOST | RESENT) == LOST;
        (!settled).then(|| Found { place, end: segment.end() })
    }

    /// The segment at `place`, in flight, is lost, be it for the first time or again.
    pub fn mark_lost(&mut self, place: usize, progress: &mut Progress) {
        let Some(segment) = self.segments.get_mut(place) else { return };
        let bytes = self.unit.weight(segment.len, self.mss);
        if segment.flags & LOST == 0 {
            self.lost += bytes;
        }
        if segment.flags & RESENT != 0 {
            self.resent -= bytes;
            progress.lost_again = true;
        }
        progress.lost += bytes;
        segment.flags = (segment.flags | LOST) & !RESENT;
        self.pending += bytes;
        self.resend = self.resend.min(self.base() + place as u64);
    }

    /// What was taken as lost is in flight after all.
    pub fn unmark_lost(&mut self) {
        for segment in self.segments.iter_mut() {
            segment.flags &= !LOST;
        }
        (self.lost, self.pending) = (0, 0);
    }

    /// A retransmission is in flight, or was of the first segment.
    pub fn holds_resent(&self) -> bool {
        self.resent > 0 || self.first().is_some_and(|first| first.flags & REPEATED != 0)
    }

    /// Segments SACKed.
    pub fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// One segment is outstanding.
    pub fn is_single(&self) -> bool {
        self.segments.len() == 1
    }

    /// The segment that the cumulative acknowledgement waits for.
    pub fn first(&self) -> Option<Segment> {
        self.segments.front().copied()
    }

    /// Place of the segment sent first the latest.
    pub fn last(&self) -> Option<usize> {
        self.segments.len().checked_sub(1)
    }

    /// The segment at `place`.
    pub fn segment(&self, place: usize) -> Option<Segment> {
        self.segments.get(place).copied()
    }

    /// The segment at `place` becomes `segment`.
    pub fn set(&mut self, place: usize, segment: Segment) {
        if let Some(held) = self.segments.get_mut(place) {
            *held = segment;
        }
    }

    /// Duplicate acknowledgements stand for `bytes` that have left the network, as far as that is possible.
    pub fn set_credit(&mut self, bytes: u64) {
        self.credit = bytes.min(self.load() - self.lost - self.sacked);
    }

    pub fn credit(&self) -> u64 {
        self.credit
    }

    /// RFC 6675's `NextSeg`, rule 1: place of the first lost segment that has not been sent again.
    pub fn next_lost(&mut self) -> Option<usize> {
        self.next_with(u64::MAX, |flags| flags & (SACKED | LOST | RESENT) == LOST)
    }

    /// `NextSeg`, rule 3: place of the first segment below the highest SACK, or any, that is neither SACKed nor sent again.
    pub fn next_doubtful<R: Strategy>(&mut self) -> Option<usize> {
        let below = match R::NEXT_SEG_RULE_3 {
            NextSegRule3::None => return None,
            NextSegRule3::Below => self.sacks.last()?.end,
            NextSegRule3::Any => u64::MAX,
        };
        self.next_with(below, |flags| flags & (SACKED | RESENT) == 0)
    }

    /// Searches on for a segment that starts before `below` and has `wanted` flags.
    fn next_with(&mut self, below: u64, wanted: impl Fn(u8) -> bool) -> Option<usize> {
        self.resend = self.resend.max(self.base());
        loop {
            let place = (self.resend - self.base()) as usize;
            let segment = self.segments.get(place).filter(|s| s.seq < below)?;
            if wanted(segment.flags) {
                return Some(place);
            }
            self.resend += 1;
        }
    }

    /// `segment` (one of ours, as it was before) has just been sent again.
    pub fn on_resent(&mut self, before: &Segment) {
        if before.flags & RESENT != 0 {
            return;
        }
        let bytes = self.weight(u64::from(before.len));
        if before.flags & LOST != 0 {
            self.pending -= bytes;
        }
        self.resent += bytes;
    }

    /// True for the segment that the cumulative acknowledgement waits for.
    pub fn is_first(&self, seq: u64) -> bool {
        seq == self.una
    }
}
