//! The scoreboard compared with its definitions, in debug builds.

use super::super::config::WindowUnit;
use super::super::recovery::Strategy;
use super::{Scoreboard, Segment, DUP_THRESH, LOST, RESENT, SACKED};

impl Scoreboard {
    /// Compares every incremental quantity with its definition.
    pub fn verify<R: Strategy>(&self) {
        let sack = R::SELECTIVE;
        let sum = |with: u8, without: u8| -> u64 {
            let wanted = |s: &&Segment| s.flags & with == with && s.flags & without == 0;
            self.segments.iter().filter(wanted).map(|s| self.weight(u64::from(s.len))).sum()
        };
        assert_eq!(sum(SACKED, 0), self.sacked, "SACKed");
        if self.unit == WindowUnit::Bytes && !R::NS3 {
            assert_eq!(self.sacks.bytes(), self.sacked, "SACKed ranges");
        }
        assert_eq!(sum(LOST, 0), self.lost, "lost");
        assert_eq!(sum(RESENT, 0), self.resent, "sent again");
        assert_eq!(sum(LOST, RESENT), self.pending, "to be sent again");
        assert_eq!(sum(SACKED | LOST, 0), 0, "SACKed and missing");
        assert!(R::NS3 || sum(SACKED | RESENT, 0) == 0, "SACKed and missing");
        let mut seq = self.una;
        for segment in self.segments.iter() {
            assert_eq!(segment.seq, seq, "contiguous");
            seq = segment.end();
        }
        assert_eq!(seq, self.next);
        assert!(self.credit + self.lost + self.sacked <= self.load());
        if sack {
            assert_eq!(self.sacked_segments, self.segments.iter().filter(|s| s.flags & SACKED != 0).count() as u64);
            let is_rfc_6675 = !R::BY_TIME && !R::NS3;
            // IsLost of RFC 6675, octet by octet replaced by segment by segment.
            for segment in self.segments.iter().filter(|s| is_rfc_6675 && s.flags & SACKED == 0) {
                let above = self.sacks.iter().filter(|r| r.start >= segment.end());
                let (count, bytes) = above.fold((0, 0), |(n, b), r| (n + 1, b + r.end - r.start));
                if count >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * self.mss {
                    assert!(segment.flags & LOST != 0, "IsLost({}) and not marked", segment.seq);
                }
            }
        }
        if sack && !R::NS3 {
            // The ranges are the runs of SACKed segments.
            let mut segments = self.segments.iter().filter(|s| s.flags & SACKED != 0).peekable();
            for range in self.sacks.iter() {
                assert_eq!(segments.peek().map(|s| s.seq), Some(range.start), "ranges and segments");
                let mut end = range.start;
                while let Some(segment) = segments.next_if(|s| s.seq == end) {
                    end = segment.end();
                }
                assert_eq!(end, range.end, "ranges and segments");
            }
            assert!(segments.next().is_none(), "ranges and segments");
        }
        let first = self.segments.iter().position(|s| s.flags & (SACKED | LOST | RESENT) == LOST);
        if let Some(first) = first {
            assert!(self.resend <= self.base() + first as u64, "a lost segment behind the search");
        }
    }

    /// Number of segments held.
    pub fn len(&self) -> usize {
        self.segments.len()
    }
}
