//! Which of many queues holds the most, for who asks seldom: a bound for each block of queues says which need no look.

use alloc::vec::Vec;

/// Queues that share a bound.
const BLOCK: usize = 16;

/// The queue that holds the most, by whatever measure; among equals the lowest-numbered.
///
/// An arrival is one comparison, a departure nothing. A question looks at every bound, and at the queues of each block
/// that can hold the answer, whose bound it then makes exact: all queues at worst. Where questions come every few packets,
/// most bounds are below what the last answer still holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fattest {
    /// No queue of the block holds more.
    bounds: Vec<u64>,
    /// The last answer.
    last: usize,
}

impl Fattest {
    /// There are `queues` now; new ones hold nothing.
    pub(crate) fn make_room(&mut self, queues: usize) {
        self.bounds.resize(queues.div_ceil(BLOCK), 0);
    }

    /// `queue` has grown, and holds `held` now.
    #[inline]
    pub(crate) fn grown(&mut self, queue: usize, held: u64) {
        if let Some(bound) = self.bounds.get_mut(queue / BLOCK) {
            *bound = held.max(*bound);
        }
    }

    /// The queue that holds the most, and how much; `None` when all are empty. `held` measures one of `queues`.
    pub(crate) fn first<Q>(&mut self, queues: &[Q], held: impl Fn(&Q) -> u64) -> Option<(usize, u64)> {
        // The answer holds at least this.
        let least = queues.get(self.last).map_or(0, &held);
        let (mut first, mut most) = (None, 0);
        for (block, (queues, bound)) in queues.chunks(BLOCK).zip(&mut self.bounds).enumerate() {
            if *bound < least || *bound <= most {
                continue;
            }
            let (mut at, mut exact) = (0, 0);
            for (i, queue) in queues.iter().enumerate() {
                let held = held(queue);
                (at, exact) = if held > exact { (i, held) } else { (at, exact) };
            }
            *bound = exact;
            if exact > most {
                (first, most) = (Some(block * BLOCK + at), exact);
            }
        }
        self.last = first?;
        Some((self.last, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::Stream;
    use crate::Random;

    #[test]
    fn the_first_is_what_a_search_finds() {
        let mut script = Stream::new(1);
        let (mut fattest, mut held) = (Fattest::default(), Vec::new());
        assert_eq!(fattest.first(&held, |n| *n), None);
        for step in 0..if cfg!(miri) { 500 } else { 20_000 } {
            if held.len() < 50 && script.below(100) == 0 {
                held.push(0);
                fattest.make_room(held.len());
            }
            if let Some(queue) = (!held.is_empty()).then(|| script.below(held.len() as u64) as usize) {
                // Few values, so that equals are common.
                let before = core::mem::replace(&mut held[queue], script.below(6));
                if held[queue] > before {
                    fattest.grown(queue, held[queue]);
                }
            }
            // Long silences too, so that bounds are far off.
            if step % 1000 < 500 && script.below(10) > 0 {
                continue;
            }
            let most = held.iter().copied().max().unwrap_or(0);
            let expected = held.iter().position(|n| *n == most).filter(|_| most > 0).map(|queue| (queue, most));
            assert_eq!(fattest.first(&held, |n| *n), expected);
        }
    }

    #[test]
    fn a_block_that_cannot_hold_the_answer_is_not_looked_at() {
        let (mut fattest, mut held) = (Fattest::default(), std::vec![1_u64; 10 * BLOCK]);
        fattest.make_room(held.len());
        held[100] = 7;
        (0..held.len()).for_each(|queue| fattest.grown(queue, held[queue]));
        let looks = core::cell::Cell::new(0);
        let mut first = |held: &[u64]| {
            looks.set(0);
            let answer = fattest.first(held, |n| {
                looks.set(looks.get() + 1);
                *n
            });
            (answer, looks.get())
        };
        // Nothing is known of the answer: block 0, and the one of queue 100; before them queue 0.
        assert_eq!(first(&held), (Some((100, 7)), 1 + 2 * BLOCK));
        // It holds 6 at least: its own block only.
        held[100] = 6;
        assert_eq!(first(&held), (Some((100, 6)), 1 + BLOCK));
    }
}
