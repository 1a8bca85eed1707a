//! Where ns-3's scoreboard is not RFC 6675's: see [`super::super::ns3`].

use super::super::config::WindowUnit;
use super::super::rate::RateSampler;
use super::{Progress, Scoreboard, Segment, DUP_THRESH, FIN, LAST, LOST, RESENT, SACKED};
use crate::transport::ranges::Range;
use sojourn_units::Instant;

impl Scoreboard {
    /// `fresh` is new in the SACKed `range`. Segments are SACKed whole, which since [`Self::fill`] they need not be on the way.
    pub(super) fn sack_whole(
        &mut self,
        range: Range,
        fresh: Range,
        now: Instant,
        progress: &mut Progress,
        rate: &mut RateSampler,
    ) {
        let mut at = self.segments.partition_point(|s| s.end() <= fresh.start);
        // Bound: the segments that the block newly touches.
        while let Some(segment) = self.segments.get(at).filter(|s| s.seq < fresh.end) {
            if segment.seq >= range.start && segment.end() <= range.end && segment.flags & SACKED == 0 {
                self.mark_sacked(at, now, progress, rate);
            }
            at += 1;
        }
    }

    /// As ns-3: DupThresh SACKed segments above it, however short.
    pub(super) fn third_sacked(&self) -> u64 {
        let Some(end) = self.sacks.last().map(|range| range.end) else { return self.una };
        let above = self.segments.partition_point(|s| s.seq < end);
        let sacked = self.segments.range(..above).rev().filter(|s| s.flags & SACKED != 0);
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
    pub(super) fn is_resent_acked(&self, segment: &Segment, ack: u64) -> bool {
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
    pub fn fill(&mut self, mut first: Segment) -> Segment {
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
            self.resend = self.resend.min(self.base + at as u64);
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
        let removed = self.base + at as u64 + 1;
        self.judged -= u64::from(self.judged > removed);
        self.resend -= u64::from(self.resend > removed);
        first
    }
}
