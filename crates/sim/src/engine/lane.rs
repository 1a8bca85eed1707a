//! Packets or events that come nearly in the order of time: a ring.

use sojourn_units::Instant;

/// Before how many others an item may come in.
const REACH: usize = 16;

/// Items with an instant each, in the order of instants, of which most come in that order: a ring, to which an item is added
/// behind the last.
#[derive(Clone, Debug)]
pub(crate) struct Lane<T> {
    /// Instant of the first; `NEVER` when there is none.
    pub first: Instant,
    /// Instant of the last, or of the last that was taken.
    last: Instant,
    /// Places of the first and behind the last, modulo the length of the ring.
    head: u32,
    tail: u32,
    /// A power of two long, or empty.
    slots: Vec<(Instant, T)>,
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Self { first: Instant::NEVER, last: Instant::ZERO, head: 0, tail: 0, slots: Vec::new() }
    }
}

impl<T: Copy> Lane<T> {
    /// Number of items.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    /// The items, from the last to the first.
    pub fn backwards(&self) -> impl Iterator<Item = &(Instant, T)> {
        (1..=self.len() as u32).map(|back| &self.slots[self.place(self.tail.wrapping_sub(back))])
    }

    /// The first.
    #[inline(always)]
    pub fn front(&self) -> Option<&(Instant, T)> {
        if self.head == self.tail {
            return None;
        }
        self.slots.get(self.place(self.head))
    }

    /// Adds an item at `at`, which is `last` or later.
    #[inline(always)]
    pub fn push(&mut self, at: Instant, item: T) {
        if self.len() == self.slots.len() {
            self.grow(item);
        }
        let place = self.place(self.tail);
        self.slots[place] = (at, item);
        self.tail = self.tail.wrapping_add(1);
        self.last = at;
        if self.first == Instant::NEVER {
            self.first = at;
        }
    }

    /// Adds an item, of those of the same instant behind all of the same `rank` or a lower one; false when it would come in before
    /// too many.
    #[inline(always)]
    pub fn insert(&mut self, at: Instant, item: T, rank: impl Fn(T) -> u32) -> bool {
        if at <= self.last {
            return self.insert_before(at, item, rank);
        }
        self.push(at, item);
        true
    }

    #[inline(never)]
    fn insert_before(&mut self, at: Instant, item: T, rank: impl Fn(T) -> u32) -> bool {
        let own = rank(item);
        let is_later = |&&(other, one): &&(Instant, T)| other > at || (other == at && rank(one) > own);
        let later = self.backwards().take(REACH + 1).take_while(is_later).count();
        if later > REACH {
            return false;
        }
        self.push(at, item);
        for back in 1..=later as u32 {
            let place = self.tail.wrapping_sub(back);
            let (here, before) = (self.place(place), self.place(place.wrapping_sub(1)));
            self.slots.swap(here, before);
        }
        self.last = self.slots[self.place(self.tail.wrapping_sub(1))].0;
        self.first = self.first.min(at);
        true
    }

    /// Adds an item at `at`, before which nothing else is left: of those of the same instant behind all of the same `rank` or a lower one.
    ///
    /// Bound: the items of that instant.
    #[inline(never)]
    pub fn insert_early(&mut self, at: Instant, item: T, rank: impl Fn(T) -> u32) {
        if self.len() == 0 {
            return self.push(at, item);
        }
        if self.len() == self.slots.len() {
            self.grow(item);
        }
        let own = rank(item);
        self.head = self.head.wrapping_sub(1);
        let mut place = self.place(self.head);
        self.slots[place] = (at, item);
        for ahead in 1..self.len() as u32 {
            let next = self.place(self.head.wrapping_add(ahead));
            let (other, one) = self.slots[next];
            if other > at || rank(one) > own {
                break;
            }
            self.slots.swap(place, next);
            place = next;
        }
        self.first = at;
    }

    /// Takes the first.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Instant, T)> {
        let item = *self.front()?;
        self.head = self.head.wrapping_add(1);
        self.first = self.front().map_or(Instant::NEVER, |(at, _)| *at);
        Some(item)
    }

    /// Puts an item in the place of the only one, if that is of `until` or before: the one that was there.
    #[inline(always)]
    pub fn replace_only(&mut self, until: Instant, at: Instant, item: T) -> Option<(Instant, T)> {
        let first = self.first;
        if first > until || self.len() != 1 {
            return None;
        }
        let place = self.place(self.head);
        let was = std::mem::replace(self.slots.get_mut(place)?, (at, item));
        (self.first, self.last) = (at, at);
        Some(was)
    }

    /// Takes the first, if its instant is `until` or before.
    #[inline(always)]
    pub fn pop_until(&mut self, until: Instant) -> Option<(Instant, T)> {
        if self.first > until {
            return None;
        }
        self.pop()
    }

    /// Room for twice as many; the first comes to the front. New slots hold `filler`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let (len, first) = (self.len(), self.place(self.head));
        if first > 0 {
            self.slots.rotate_left(first);
        }
        self.slots.resize((2 * self.slots.len()).max(8), (Instant::NEVER, filler));
        (self.head, self.tail) = (0, len as u32);
    }

    #[inline(always)]
    fn place(&self, number: u32) -> usize {
        number as usize & self.slots.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_out_in_the_order_of_time_and_of_coming() {
        let at = Instant::from_nanos;
        let mut lane = Lane::default();
        // Of the same instant, those of the lower rank first: 5 and 6 come before 3, which is as late as 1.
        let rank = |item: u32| u32::from(item < 5);
        for (time, item) in [(10, 0), (30, 1), (20, 2), (30, 3), (10, 4), (30, 5), (30, 6)] {
            assert!(lane.insert(at(time), item, rank));
        }
        assert_eq!((lane.len(), lane.first, lane.pop_until(at(9))), (7, at(10), None));
        let order: Vec<u32> = std::iter::from_fn(|| lane.pop_until(at(30))).map(|(_, item)| item).collect();
        assert_eq!(order, [0, 4, 2, 5, 6, 1, 3]);
        assert_eq!((lane.first, lane.pop_until(Instant::NEVER)), (Instant::NEVER, None));
        // In the place of the only one, and of no other.
        assert!(lane.insert(at(40), 5, rank));
        assert_eq!(
            (lane.replace_only(at(39), at(41), 6), lane.replace_only(at(40), at(42), 7)),
            (None, Some((at(40), 5)))
        );
        assert!(lane.insert(at(43), 8, rank));
        assert_eq!(
            (lane.replace_only(at(50), at(51), 9), lane.pop(), lane.pop()),
            (None, Some((at(42), 7)), Some((at(43), 8)))
        );
        // At the front, of the same instant by rank; 0 to 4 rank before 5.
        let mut early = Lane::default();
        [(60, 5), (60, 7), (61, 1)].into_iter().for_each(|(time, item)| early.push(at(time), item));
        [4, 6, 8].into_iter().for_each(|item| early.insert_early(at(60), item, |item| item));
        let order: Vec<u32> = std::iter::from_fn(|| early.pop()).map(|(_, item)| item).collect();
        assert_eq!((order, early.first), (vec![4, 5, 6, 7, 8, 1], Instant::NEVER));
        // Before more than REACH others: not into the list.
        (0..=REACH as u32).for_each(|item| assert!(lane.insert(at(50), item, rank)));
        assert!(!lane.insert(at(49), 99, rank) && lane.insert(at(50), 99, rank));
    }

    #[test]
    fn items_keep_their_order_while_the_ring_grows() {
        // Two in, one out: after 100 turns the ring has grown several times, with its first item anywhere in it.
        let (mut lane, mut taken) = (Lane::default(), 0);
        for turn in 0..100 {
            lane.push(Instant::from_nanos(2 * turn), 2 * turn);
            lane.push(Instant::from_nanos(2 * turn + 1), 2 * turn + 1);
            assert_eq!(lane.pop(), Some((Instant::from_nanos(taken), taken)));
            taken += 1;
            assert_eq!((lane.len() as u64, lane.first), (turn + 1, Instant::from_nanos(taken)));
        }
        assert!(lane.backwards().map(|(_, item)| *item).eq((100..200).rev()));
        assert!((100..200).all(|item| lane.pop().is_some_and(|(_, taken)| taken == item)));
        assert_eq!(lane.pop(), None);
    }
}
