//! A hierarchical timing wheel: O(1) a push, and a pop touches each event at most once a level.
//!
//! The finest level holds the next 2^12 ticks in a circle, so an event less than that ahead goes straight into its
//! slot; one further ahead waits in a coarse slot until the wheel comes to the block of ticks that it stands for.
//! A slot with few events hands out the first; one with many is sorted before. Events live in one pool with a free list,
//! so memory follows the number of pending events and nothing allocates after the high-water mark.

use sojourn_units::Instant;
use std::cmp::Reverse;

/// Slots of the finest level, as a power of two.
const FINE_BITS: u32 = 12;
/// Slots of each coarser level, as a power of two.
const COARSE_BITS: u32 = 8;
const FINE: usize = 1 << FINE_BITS;
const COARSE: usize = 1 << COARSE_BITS;
/// Enough coarse levels for every 64-bit instant at the narrowest tick (2^0 ns): 12 + 7 * 8 >= 64.
const LEVELS: usize = 7;
const NONE: u32 = u32::MAX;
/// In the order of an event that comes behind all others of its instant.
const LATE: u64 = 1 << 63;
/// A slot of up to one more event than this is searched, not sorted.
const FEW: usize = 4;

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduled<T> {
    /// When.
    pub time: Instant,
    /// Number in the order of scheduling; those that come late have the higher ones.
    pub order: u64,
    /// What.
    pub what: T,
}

/// Half a cache line, and never across two.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node<T> {
    event: Scheduled<T>,
    next: u32,
}

/// The pending events.
#[derive(Clone, Debug)]
pub struct Wheel<T> {
    /// A tick is 2^shift nanoseconds.
    shift: u32,
    /// The present tick.
    tick: u64,
    /// 1 while the events up to the present tick are in `current`, and none of them in its slot; else 0.
    sorted: u64,
    /// Events up to the present tick, where they are many or come late: latest first.
    current: Vec<Scheduled<T>>,
    fine: Box<[u32; FINE]>,
    fine_used: [u64; FINE / 64],
    coarse: Box<[[u32; COARSE]; LEVELS]>,
    coarse_used: [[u64; COARSE / 64]; LEVELS],
    pool: Vec<Node<T>>,
    free: u32,
    scheduled: u64,
}

/// First used slot at or after `from`.
#[inline(always)]
fn next_used(used: &[u64], from: usize) -> Option<usize> {
    let mut word = from / 64;
    let mut bits = *used.get(word)? & (u64::MAX << (from % 64));
    loop {
        if bits != 0 {
            return Some(word * 64 + bits.trailing_zeros() as usize);
        }
        word += 1;
        bits = *used.get(word)?;
    }
}

impl<T: Copy> Wheel<T> {
    /// An empty wheel with ticks of 2^`shift` nanoseconds; about one packet time of the fastest busy link is good.
    #[must_use]
    pub fn new(shift: u32) -> Self {
        Self {
            shift: shift.min(40),
            tick: 0,
            sorted: 0,
            current: Vec::with_capacity(64),
            fine: Box::new([NONE; FINE]),
            fine_used: [0; FINE / 64],
            coarse: Box::new([[NONE; COARSE]; LEVELS]),
            coarse_used: [[0; COARSE / 64]; LEVELS],
            pool: Vec::new(),
            free: NONE,
            scheduled: 0,
        }
    }

    /// Number of pending events; it counts them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending().count()
    }

    /// True when nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending().next().is_none()
    }

    /// Number of events ever scheduled.
    #[must_use]
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// The pending events, in no particular order.
    pub fn pending(&self) -> impl Iterator<Item = &Scheduled<T>> {
        let heads = self.fine.iter().chain(self.coarse.iter().flatten()).copied();
        let listed = heads.flat_map(|head| {
            let at = |place: u32| self.pool.get(place as usize);
            std::iter::successors(at(head), move |node| at(node.next)).map(|node| &node.event)
        });
        self.current.iter().chain(listed)
    }

    /// Schedules `what` at `time`, which must not lie before the event popped last.
    #[inline(always)]
    pub fn push(&mut self, time: Instant, what: T) {
        self.push_as(time, self.scheduled, what);
    }

    /// As [`Self::push`], behind all events of this instant that `push` schedules, also those that it schedules later.
    #[inline(always)]
    pub fn push_late(&mut self, time: Instant, what: T) {
        self.push_as(time, self.scheduled | LATE, what);
    }

    #[inline(always)]
    fn push_as(&mut self, time: Instant, order: u64, what: T) {
        self.scheduled += 1;
        let tick = time.nanos() >> self.shift;
        // Past ticks wrap around to far ones, and `far` sorts them out.
        if tick.wrapping_sub(self.tick).wrapping_sub(self.sorted) < FINE as u64 - 1 {
            self.place_fine(tick, time, order, what);
        } else {
            self.far(tick, time, order, what);
        }
    }

    /// An event of the present tick when that is sorted, of a past one, or of one at the end of the finest level or beyond.
    #[inline(never)]
    fn far(&mut self, tick: u64, time: Instant, order: u64, what: T) {
        if tick > self.tick {
            // The last slot of the finest level, which `push` leaves to this.
            if tick - self.tick < FINE as u64 {
                self.place_fine(tick, time, order, what);
            } else {
                self.place_coarse(tick, time, order, what);
            }
            return;
        }
        self.sort_present();
        // The present bucket holds few events, latest first, so search from the early end.
        let after = self.current.iter().rev().take_while(|e| (e.time, e.order) < (time, order)).count();
        self.current.insert(self.current.len() - after, Scheduled { time, order, what });
    }

    /// Into the slot of the present tick or one of the next.
    #[inline(always)]
    fn place_fine(&mut self, tick: u64, time: Instant, order: u64, what: T) {
        let slot = tick as usize % FINE;
        self.fine_used[slot / 64] |= 1 << (slot % 64);
        self.fine[slot] = self.node(time, order, what, self.fine[slot]);
    }

    /// Into the slot of the coarse level at which the tick first differs from the present one.
    fn place_coarse(&mut self, tick: u64, time: Instant, order: u64, what: T) {
        let differ = tick ^ self.tick;
        let level = (63 - differ.leading_zeros() - FINE_BITS) / COARSE_BITS;
        let slot = (tick >> (FINE_BITS + level * COARSE_BITS)) as usize % COARSE;
        let level = level as usize;
        self.coarse_used[level][slot / 64] |= 1 << (slot % 64);
        self.coarse[level][slot] = self.node(time, order, what, self.coarse[level][slot]);
    }

    /// Stores an event in front of `next`.
    #[inline(always)]
    fn node(&mut self, time: Instant, order: u64, what: T, next: u32) -> u32 {
        let place = self.free;
        let Some(node) = self.pool.get_mut(place as usize) else { return self.grow(time, order, what, next) };
        self.free = node.next;
        // Field by field into its place: a record put together elsewhere and copied costs more than the rest.
        node.event.time = time;
        node.event.order = order;
        node.event.what = what;
        node.next = next;
        place
    }

    /// One more place in the pool: none is free.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, time: Instant, order: u64, what: T, next: u32) -> u32 {
        self.pool.push(Node { event: Scheduled { time, order, what }, next });
        (self.pool.len() - 1) as u32
    }

    /// No event of the instant of the one popped last is left.
    #[inline]
    pub fn is_over(&self, now: Instant) -> bool {
        let slot = self.tick as usize % FINE;
        let at = |place: u32| self.pool.get(place as usize);
        let mut listed = std::iter::successors(at(self.fine[slot]), |node| at(node.next));
        self.current.last().is_none_or(|event| event.time > now) && listed.all(|node| node.event.time != now)
    }

    /// Takes the next event, if it happens at `until` or before: when and what.
    #[inline(always)]
    pub fn pop_until(&mut self, until: Instant) -> Option<(Instant, T)> {
        // Most slots hold one event, which needs neither copying nor sorting, and the next one is near.
        if self.sorted == 0 {
            let position = self.tick as usize % FINE;
            if let Some(slot) = next_used(&self.fine_used, position) {
                let head = self.fine[slot];
                if let Some(node) = self.pool.get_mut(head as usize) {
                    if node.next == NONE && node.event.time <= until {
                        self.fine_used[slot / 64] &= !(1 << (slot % 64));
                        self.fine[slot] = NONE;
                        self.tick += (slot - position) as u64;
                        node.next = self.free;
                        self.free = head;
                        return Some((node.event.time, node.event.what));
                    }
                }
            }
        }
        let place = self.pop_any(until)?;
        self.pool.get(place as usize).map(|node| (node.event.time, node.event.what))
    }

    /// As [`Self::pop_until`], wherever the next event is: the place in the pool, free again, where it can be read.
    // Not the event, which would have to be returned in memory, and the short way's with it.
    #[inline(never)]
    fn pop_any(&mut self, until: Instant) -> Option<u32> {
        if self.current.is_empty() {
            let slot = self.turn()?;
            if let Some(found) = self.pop_few(slot, until) {
                return found;
            }
            self.sort_present();
        }
        let event = self.current.pop_if(|event| event.time <= until)?;
        self.sorted = u64::from(!self.current.is_empty());
        // Its own place is free since it was sorted, so that one is.
        let Some(node) = self.pool.get_mut(self.free as usize) else {
            self.free = self.grow(event.time, event.order, event.what, NONE);
            return Some(self.free);
        };
        node.event = event;
        Some(self.free)
    }

    /// Takes the first event of a slot that holds a few: its place; `None` when it holds more.
    #[inline(always)]
    fn pop_few(&mut self, slot: usize, until: Instant) -> Option<Option<u32>> {
        let mut first = *self.pool.get(self.fine[slot] as usize)?;
        let (mut place, mut before) = (self.fine[slot], NONE);
        let (mut last, mut at) = (place, first.next);
        // Bound: few.
        for _ in 0..FEW {
            let Some(node) = self.pool.get(at as usize) else { break };
            if (node.event.time, node.event.order) < (first.event.time, first.event.order) {
                (first, place, before) = (*node, at, last);
            }
            (last, at) = (at, node.next);
        }
        if at != NONE {
            return None;
        }
        if first.event.time > until {
            return Some(None);
        }
        match self.pool.get_mut(before as usize) {
            Some(node) => node.next = first.next,
            None => {
                self.fine[slot] = first.next;
                if first.next == NONE {
                    self.fine_used[slot / 64] &= !(1 << (slot % 64));
                }
            }
        }
        self.pool[place as usize].next = self.free;
        self.free = place;
        Some(Some(place))
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<(Instant, T)> {
        self.pop_until(Instant::NEVER)
    }

    /// Moves on to the next tick that has events: its slot; `None` when nothing is left.
    fn turn(&mut self) -> Option<usize> {
        loop {
            let position = self.tick as usize % FINE;
            if let Some(slot) = next_used(&self.fine_used, position) {
                self.tick += (slot - position) as u64;
                return Some(slot);
            }
            if !self.next_block() {
                return None;
            }
        }
    }

    /// Moves the present tick's events into `current`, latest first, and frees their nodes.
    fn sort_present(&mut self) {
        let slot = self.tick as usize % FINE;
        self.fine_used[slot / 64] &= !(1 << (slot % 64));
        let mut at = std::mem::replace(&mut self.fine[slot], NONE);
        while let Some(node) = self.pool.get_mut(at as usize) {
            self.current.push(node.event);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = at;
            at = next;
        }
        self.current.sort_unstable_by_key(|event| Reverse((event.time, event.order)));
        self.sorted = 1;
    }

    /// The block of ticks is over: moves on to the first tick of the next block that has events. What waits for it at a coarse level
    /// joins what is in its slots already; false when nothing is left.
    #[inline(never)]
    fn next_block(&mut self) -> bool {
        if next_used(&self.fine_used, 0).is_some() {
            // The slots behind are those of the very next block.
            let block = (self.tick >> FINE_BITS) + 1;
            self.tick = block << FINE_BITS;
            // A block that begins a slot of a coarser level is found there.
            let level = (block.trailing_zeros() / COARSE_BITS) as usize;
            if level < LEVELS {
                let slot = (block >> (level as u32 * COARSE_BITS)) as usize % COARSE;
                self.spread(level, slot);
            }
            return true;
        }
        for level in 0..LEVELS {
            let shift = FINE_BITS + level as u32 * COARSE_BITS;
            if shift >= 64 {
                return false;
            }
            let position = (self.tick >> shift) as usize % COARSE;
            let Some(slot) = next_used(&self.coarse_used[level], position) else { continue };
            let above = shift + COARSE_BITS;
            let high = if above >= 64 { 0 } else { self.tick >> above << above };
            self.tick = high | (slot as u64) << shift;
            self.spread(level, slot);
            return true;
        }
        false
    }

    /// Spreads the events of a coarse slot over the levels below; the present tick is the slot's first.
    fn spread(&mut self, level: usize, slot: usize) {
        self.coarse_used[level][slot / 64] &= !(1 << (slot % 64));
        let mut at = std::mem::replace(&mut self.coarse[level][slot], NONE);
        while let Some(node) = self.pool.get_mut(at as usize) {
            let (event, next) = (node.event, node.next);
            node.next = self.free;
            self.free = at;
            at = next;
            let tick = event.time.nanos() >> self.shift;
            if tick - self.tick < FINE as u64 {
                self.place_fine(tick, event.time, event.order, event.what);
            } else {
                self.place_coarse(tick, event.time, event.order, event.what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the same random schedule through the wheel and through a sorted list.
    fn agrees_with_sorted_list(shift: u32, spread_ns: u64, seed: u64) {
        let mut wheel = Wheel::new(shift);
        let mut list: Vec<(u64, u64)> = Vec::new();
        let mut state = seed;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        let mut now = 0;
        let mut orders = std::collections::BTreeMap::new();
        for step in 0..20_000_u64 {
            if random() % 5 < 3 || list.is_empty() {
                // Mostly near, at times far or at once, so that every level and tie is used.
                let ahead = match random() % 8 {
                    0 => 0,
                    1 => random() % (spread_ns * 1000),
                    _ => random() % spread_ns,
                };
                let (at, order) = (Instant::from_nanos(now + ahead), wheel.scheduled());
                let is_late = random() % 4 == 0;
                if is_late {
                    wheel.push_late(at, step);
                } else {
                    wheel.push(at, step);
                }
                // Late ones come behind all others of their instant: 2^40 is more than all that are scheduled.
                let order = order + (u64::from(is_late) << 40);
                list.push((now + ahead, order));
                orders.insert(step, order);
            } else {
                list.sort_unstable();
                let (time, order) = list.remove(0);
                assert!(time == 0 || wheel.pop_until(Instant::from_nanos(time - 1)).is_none());
                let (at, what) = wheel.pop().unwrap();
                assert_eq!((at.nanos(), orders[&what]), (time, order));
                now = time;
                assert_eq!(wheel.is_over(at), list.iter().all(|(time, _)| *time != now));
            }
            assert_eq!(wheel.len(), list.len());
        }
    }

    #[test]
    fn order_is_that_of_a_sorted_list() {
        for (shift, spread) in [(0, 10), (0, 1 << 40), (13, 1 << 13), (13, 20_000_000), (20, 1 << 34)] {
            agrees_with_sorted_list(shift, spread, 1 + u64::from(shift) + spread);
        }
    }

    #[test]
    fn ties_come_out_in_the_order_of_scheduling() {
        let mut wheel = Wheel::new(10);
        for what in 0..100 {
            wheel.push(Instant::from_nanos(5_000_000), what);
        }
        for what in 0..100 {
            assert_eq!(wheel.pop().map(|(_, what)| what), Some(what));
        }
        assert!(wheel.pop().is_none());
    }

    #[test]
    fn the_border_of_the_finest_level_has_no_gap() {
        let fine = FINE as u64;
        for (start, ties) in [0, 1, fine - 1, fine, 3 * fine + 1].into_iter().flat_map(|start| [(start, 1), (start, 9)])
        {
            for distance in fine - 2..=fine + 1 {
                let mut wheel = Wheel::new(0);
                (0..ties).for_each(|tie| wheel.push(Instant::from_nanos(start), tie));
                assert_eq!(wheel.pop(), Some((Instant::from_nanos(start), 0)));
                wheel.push(Instant::from_nanos(start + distance), ties);
                (1..ties).for_each(|tie| assert_eq!(wheel.pop(), Some((Instant::from_nanos(start), tie))));
                assert_eq!(wheel.pop(), Some((Instant::from_nanos(start + distance), ties)));
                assert_eq!(wheel.pop(), None);
            }
        }
    }

    #[test]
    fn the_last_instant_is_reachable() {
        let mut wheel = Wheel::new(0);
        wheel.push(Instant::from_nanos(u64::MAX), 'z');
        wheel.push(Instant::from_nanos(u64::MAX - 1), 'y');
        assert_eq!(wheel.pop().map(|(_, what)| what), Some('y'));
        assert_eq!(wheel.pop().map(|(_, what)| what), Some('z'));
    }
}
