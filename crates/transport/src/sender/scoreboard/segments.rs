//! A ring of segments, numbered from the first that was ever sent.

use sojourn_units::Instant;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Segment {
    pub seq: u64,
    pub sent: Instant,
    pub len: u32,
    pub flags: u8,
}

impl Segment {
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

/// The segments in flight, in the order of the stream.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Segments {
    /// A power of two of them, or none: segment number `n` is at `n` modulo that.
    ring: Vec<Segment>,
    /// Number of the first segment held.
    pub first: u64,
    /// Number of the next segment.
    next: u64,
}

/// Places of the smallest ring.
const LEAST: usize = 4;

impl Segments {
    #[inline(always)]
    pub fn len(&self) -> usize {
        (self.next - self.first) as usize
    }

    #[inline(always)]
    fn at(&self, number: u64) -> usize {
        number as usize & self.ring.len().wrapping_sub(1)
    }

    /// The `place`th of those held.
    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<&Segment> {
        let number = self.first + place as u64;
        if number < self.next {
            self.ring.get(self.at(number))
        } else {
            None
        }
    }

    #[inline(always)]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut Segment> {
        let number = self.first + place as u64;
        let at = self.at(number);
        if number < self.next {
            self.ring.get_mut(at)
        } else {
            None
        }
    }

    #[inline(always)]
    pub fn front(&self) -> Option<&Segment> {
        self.get(0)
    }

    #[inline(always)]
    pub fn front_mut(&mut self) -> Option<&mut Segment> {
        self.get_mut(0)
    }

    /// The first has left; there is one.
    #[inline(always)]
    pub fn pop_front(&mut self) {
        self.first += 1;
    }

    #[inline(always)]
    pub fn push_back(&mut self, segment: Segment) {
        if self.len() == self.ring.len() {
            self.grow(segment);
        }
        let at = self.at(self.next);
        if let Some(place) = self.ring.get_mut(at) {
            *place = segment;
        }
        self.next += 1;
    }

    /// Twice the places; `filler` fills those that are free.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: Segment) {
        let before = self.ring.len();
        self.ring.resize((2 * before).max(LEAST), filler);
        // The places in the first half are those of before; half of the segments belong into the second.
        for number in self.first..self.next {
            let at = self.at(number);
            if at >= before {
                self.ring[at] = self.ring[at - before];
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Segment> {
        let (before, from) = self.ring.split_at(self.at(self.first).min(self.ring.len()));
        from.iter().chain(before).take(self.len())
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Segment> {
        let (first, len) = (self.at(self.first).min(self.ring.len()), self.len());
        let (before, from) = self.ring.split_at_mut(first);
        from.iter_mut().chain(before).take(len)
    }

    /// Those before `place`, the last first.
    pub fn back_from(&self, place: usize) -> impl Iterator<Item = &Segment> {
        (0..place).rev().filter_map(|place| self.get(place))
    }

    /// How many fulfil `wanted`, which no later one does when one does not.
    pub fn partition_point(&self, wanted: impl Fn(&Segment) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Takes out the one at `place`.
    pub fn remove(&mut self, place: usize) {
        for place in place..self.len() - 1 {
            if let Some(following) = self.get(place + 1).copied() {
                if let Some(held) = self.get_mut(place) {
                    *held = following;
                }
            }
        }
        self.next -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn a_ring_is_a_queue() {
        let (mut ring, mut queue) = (Segments::default(), VecDeque::new());
        let mut random = 1_u64;
        for seq in 0..5_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Now longer, now shorter, so that it grows at any place of the first.
            let grows = if seq / 100 % 2 == 0 { 3 } else { 1 };
            if random >> 62 <= grows {
                ring.push_back(Segment { seq, sent: Instant::ZERO, len: 1, flags: 0 });
                queue.push_back(seq);
            } else if queue.pop_front().is_some() {
                ring.pop_front();
            }
            if random >> 40 & 63 == 0 && queue.len() > 2 {
                ring.remove(1);
                queue.remove(1);
            }
            if let Some((last, held)) = queue.back_mut().zip(ring.iter_mut().last()) {
                *last += 1;
                held.seq += 1;
            }
            assert_eq!(ring.iter().map(|s| s.seq).collect::<VecDeque<_>>(), queue);
            assert_eq!(ring.back_from(3).map(|s| s.seq).next(), queue.iter().take(3).next_back().copied());
            assert_eq!(ring.partition_point(|s| s.seq < seq / 2), queue.partition_point(|s| *s < seq / 2));
            assert_eq!((ring.len(), ring.front().map(|s| s.seq)), (queue.len(), queue.front().copied()));
        }
    }
}
