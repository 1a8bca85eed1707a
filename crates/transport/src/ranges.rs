//! A sorted list of disjoint byte ranges: what is SACKed at the sender, what waits out of order at the receiver.
//!
//! Ranges that touch are one range. Lookups are O(log n) in the number of ranges, which is the number of holes;
//! an insertion that repeats what is known changes nothing and costs one lookup.

/// Bytes from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub start: u64,
    pub end: u64,
}

impl Range {
    /// No bytes.
    pub const EMPTY: Self = Self { start: 0, end: 0 };
}

#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Ranges {
    bytes: u64,
    /// Ascending; those before `first` are forgotten.
    list: Vec<Range>,
    first: usize,
}

/// Highest ranges that are looked at one by one.
const FEW: usize = 4;
/// Forgotten ranges that may stay in the list.
const STALE: usize = 32;

impl Ranges {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// There is one range.
    #[inline(always)]
    pub fn is_single(&self) -> bool {
        self.list.len() - self.first == 1
    }

    /// Bytes in all ranges.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn first(&self) -> Option<Range> {
        self.list.get(self.first).copied()
    }

    pub fn last(&self) -> Option<Range> {
        self.list.last().copied()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range> + '_ {
        self.list.iter().skip(self.first).copied()
    }

    /// All of `range` is there, in one of the highest ranges; false may be wrong for others.
    #[inline(always)]
    pub fn holds(&self, range: Range) -> bool {
        let few = self.list.iter().rev().take(FEW);
        few.take_while(|r| r.end > range.start).any(|r| r.start <= range.start && range.end <= r.end)
    }

    /// Adds `new` where it begins in the highest range, at its end, or above it: what of it was not there.
    #[inline(always)]
    pub fn append(&mut self, new: Range) -> Option<Range> {
        let known = match self.list.last_mut() {
            Some(last) if new.start < last.start => return None,
            Some(last) if new.start <= last.end => {
                let known = last.end;
                last.end = known.max(new.end);
                known
            }
            _ => {
                self.list.push(new);
                new.start
            }
        };
        let gap = Range { start: known, end: new.end.max(known) };
        self.bytes += gap.end - gap.start;
        Some(gap)
    }

    /// Adds `new`; `gap` sees every part of it that was not there. Returns the range that now holds it.
    #[inline(never)]
    pub fn insert(&mut self, new: Range, gap: &mut dyn FnMut(Range)) -> Range {
        let at = self.first + self.list[self.first..].partition_point(|r| r.end < new.start);
        if let Some(r) = self.list.get(at) {
            if r.start <= new.start && new.end <= r.end {
                return *r;
            }
        }
        let mut merged = new;
        let mut cursor = new.start;
        let mut after = at;
        while let Some(&r) = self.list.get(after).filter(|r| r.start <= new.end) {
            if r.start > cursor {
                self.bytes += r.start - cursor;
                gap(Range { start: cursor, end: r.start });
            }
            merged = Range { start: merged.start.min(r.start), end: merged.end.max(r.end) };
            cursor = cursor.max(r.end);
            after += 1;
        }
        if cursor < new.end {
            self.bytes += new.end - cursor;
            gap(Range { start: cursor, end: new.end });
        }
        match self.list.get_mut(at) {
            Some(first) if after > at => {
                *first = merged;
                self.list.drain(at + 1..after);
            }
            _ => self.list.insert(at, merged),
        }
        merged
    }

    /// Forgets everything before `seq`.
    #[inline]
    pub fn trim(&mut self, seq: u64) {
        while let Some(first) = self.list.get_mut(self.first).filter(|first| first.start < seq) {
            if first.end > seq {
                self.bytes -= seq - first.start;
                first.start = seq;
                break;
            }
            self.bytes -= first.end - first.start;
            self.first += 1;
        }
        if self.first == self.list.len() {
            self.list.clear();
            self.first = 0;
        } else if self.first >= STALE && 2 * self.first >= self.list.len() {
            self.list.drain(..self.first);
            self.first = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As their users do it.
    fn insert_any(ranges: &mut Ranges, new: Range, gap: &mut dyn FnMut(Range)) -> Range {
        let Some(fresh) = ranges.append(new) else { return ranges.insert(new, gap) };
        if fresh.start < fresh.end {
            gap(fresh);
        }
        ranges.last().expect("it has been added")
    }

    fn insert(ranges: &mut Ranges, start: u64, end: u64) -> (Range, Vec<(u64, u64)>) {
        let mut gaps = Vec::new();
        let merged = insert_any(ranges, Range { start, end }, &mut |g| gaps.push((g.start, g.end)));
        (merged, gaps)
    }

    #[test]
    fn only_what_was_missing_is_reported() {
        let mut ranges = Ranges::default();
        assert_eq!(insert(&mut ranges, 10, 20).1, [(10, 20)]);
        assert_eq!(insert(&mut ranges, 30, 40).1, [(30, 40)]);
        assert_eq!(insert(&mut ranges, 12, 18).1, []);
        // Bridges both, and reaches beyond: two gaps, one range.
        let (merged, gaps) = insert(&mut ranges, 15, 45);
        assert_eq!((merged, gaps), (Range { start: 10, end: 45 }, vec![(20, 30), (40, 45)]));
        assert_eq!((ranges.iter().count(), ranges.bytes()), (1, 35));
        // Touching ranges are one.
        assert_eq!(insert(&mut ranges, 5, 10).0, Range { start: 5, end: 45 });
        ranges.trim(44);
        assert_eq!((ranges.first(), ranges.bytes()), (Some(Range { start: 44, end: 45 }), 1));
        ranges.trim(100);
        assert!(ranges.is_empty() && ranges.bytes() == 0);
    }

    #[test]
    fn agrees_with_a_bitmap() {
        let mut random = 1_u64;
        let mut ranges = Ranges::default();
        let mut bitmap = [false; 300];
        let mut below = 0;
        for step in 0..4000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let start = below + (random >> 33) % (300 - below);
            let end = (start + 1 + (random >> 20) % 20).min(300);
            let mut fresh = 0;
            insert_any(&mut ranges, Range { start, end }, &mut |g| fresh += g.end - g.start);
            let expected = bitmap[start as usize..end as usize].iter().filter(|b| !**b).count() as u64;
            assert_eq!(fresh, expected, "step {step}");
            bitmap[start as usize..end as usize].fill(true);
            if step % 16 == 0 {
                below = (below + 1) % 299;
                if below == 0 {
                    ranges = Ranges::default();
                    bitmap.fill(false);
                }
                ranges.trim(below);
                bitmap[..below as usize].fill(false);
            }
            assert_eq!(ranges.bytes(), bitmap.iter().filter(|b| **b).count() as u64);
            let runs = bitmap
                .iter()
                .zip(std::iter::once(&false).chain(bitmap.iter()))
                .filter(|(b, before)| **b && !**before)
                .count();
            assert_eq!(ranges.iter().count(), runs);
        }
    }
}
