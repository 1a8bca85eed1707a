use sojourn_units::Instant;

/// How far from the end of the list an arrival may come in.
const REACH: u32 = 16;

/// Packets on their way to one place, in the order in which they arrive there.
///
/// Most come in the order in which they are sent, so the list replaces one event each; what overtakes many others takes an
/// event instead.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// When the first arrives; `NEVER` when none is on its way.
    pub first: Instant,
    /// When the last arrives, or has.
    last: Instant,
    /// Places of the first and behind the last, modulo the length of the ring.
    head: u32,
    tail: u32,
    /// A power of two long, or empty.
    ring: Vec<(Instant, u32)>,
}

impl Default for Pending {
    fn default() -> Self {
        Self { first: Instant::NEVER, last: Instant::ZERO, head: 0, tail: 0, ring: Vec::new() }
    }
}

impl Pending {
    /// `handle` will arrive at `at`, after all that arrive at the same instant; false when it comes in too far from the end.
    #[inline(always)]
    pub fn insert(&mut self, at: Instant, handle: u32) -> bool {
        if at < self.last || self.len() == self.ring.len() {
            return self.insert_before(at, handle);
        }
        let place = self.tail as usize & (self.ring.len() - 1);
        self.ring[place] = (at, handle);
        self.tail = self.tail.wrapping_add(1);
        self.last = at;
        self.first = self.first.min(at);
        true
    }

    /// As [`Self::insert`], wherever the arrival belongs and whether there is room or not.
    #[inline(never)]
    fn insert_before(&mut self, at: Instant, handle: u32) -> bool {
        let mut place = self.tail;
        while place != self.head && self.at(place.wrapping_sub(1)).0 > at {
            if self.tail.wrapping_sub(place) == REACH {
                return false;
            }
            place = place.wrapping_sub(1);
        }
        if self.len() == self.ring.len() {
            self.grow();
            place = place.wrapping_sub(self.head);
            (self.tail, self.head) = (self.tail.wrapping_sub(self.head), 0);
        }
        let mask = self.ring.len() - 1;
        let mut moved = (at, handle);
        while place != self.tail {
            std::mem::swap(&mut self.ring[place as usize & mask], &mut moved);
            place = place.wrapping_add(1);
        }
        self.ring[place as usize & mask] = moved;
        self.tail = self.tail.wrapping_add(1);
        (self.last, self.first) = (moved.0, self.first.min(at));
        true
    }

    fn at(&self, place: u32) -> (Instant, u32) {
        self.ring[place as usize & (self.ring.len() - 1)]
    }

    /// Room for twice as many; the first comes to the front.
    #[cold]
    fn grow(&mut self) {
        let mut ring: Vec<_> = (0..self.len() as u32).map(|i| self.at(self.head.wrapping_add(i))).collect();
        ring.resize((2 * self.ring.len()).max(8), (Instant::NEVER, 0));
        self.ring = ring;
    }

    /// Takes the first, if it arrives at `until` or before.
    #[inline(always)]
    pub fn pop(&mut self, until: Instant) -> Option<(Instant, u32)> {
        if self.first > until || self.head == self.tail {
            return None;
        }
        let mask = self.ring.len().wrapping_sub(1);
        let (at, handle) = *self.ring.get(self.head as usize & mask)?;
        self.head = self.head.wrapping_add(1);
        self.first = Instant::NEVER;
        if self.head != self.tail {
            self.first = self.ring[self.head as usize & mask].0;
        }
        Some((at, handle))
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_come_out_in_the_order_of_time_and_of_sending() {
        let at = Instant::from_nanos;
        let mut pending = Pending::default();
        for (time, handle) in [(10, 0), (30, 1), (20, 2), (30, 3), (10, 4)] {
            assert!(pending.insert(at(time), handle));
        }
        assert_eq!((pending.len(), pending.first, pending.pop(at(9))), (5, at(10), None));
        let order: Vec<u32> = std::iter::from_fn(|| pending.pop(at(30))).map(|(_, handle)| handle).collect();
        assert_eq!(order, [0, 4, 2, 1, 3]);
        // Before more than REACH others: not into the list.
        (0..=REACH).for_each(|handle| assert!(pending.insert(at(50), handle)));
        assert!(!pending.insert(at(49), 99) && pending.insert(at(50), 99));
    }
}
