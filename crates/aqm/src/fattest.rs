//! Which of many queues holds the most: an indexed binary heap, kept in order while that is asked for.

use alloc::vec::Vec;

/// Queues numbered from 0 by what they hold, the most at the top; among equals the lowest number.
///
/// Who never asks pays for a store a change. A question puts the heap in order (once through it), and from then on a change
/// takes at most twice the binary logarithm of the number of queues and a question none, until so many changes have gone
/// by without a question that putting it in order again costs less than a constant for each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fattest {
    /// Numbers of queues; each is above its children `2 i + 1` and `2 i + 2`.
    heap: Vec<u32>,
    /// Where each queue is in `heap`.
    place: Vec<u32>,
    /// What each queue holds.
    held: Vec<u64>,
    /// Changes for which the heap will still be kept in order; 0 when it is not.
    kept: u32,
}

impl Fattest {
    /// One more queue, which holds nothing.
    pub(crate) fn push(&mut self) {
        let at = self.heap.len() as u32;
        self.heap.push(at);
        self.place.push(at);
        self.held.push(0);
    }

    /// The queue that holds the most, and how much; `None` when all are empty.
    pub(crate) fn first(&mut self) -> Option<(usize, u64)> {
        if self.kept == 0 {
            (0..self.heap.len() / 2).rev().for_each(|at| self.sink(at));
        }
        self.kept = 4 * self.heap.len() as u32;
        let queue = *self.heap.first()? as usize;
        Some((queue, self.held[queue])).filter(|(_, held)| *held > 0)
    }

    /// `queue` holds `held` now.
    #[inline]
    pub(crate) fn set(&mut self, queue: usize, held: u64) {
        let before = core::mem::replace(&mut self.held[queue], held);
        if self.kept > 0 {
            self.kept -= 1;
            self.restore(queue, held > before);
        }
    }

    fn restore(&mut self, queue: usize, more: bool) {
        let at = self.place[queue] as usize;
        if more {
            self.rise(at);
        } else {
            self.sink(at);
        }
    }

    /// The queue at `a` belongs above the one at `b`.
    fn above(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.heap[a], self.heap[b]);
        (self.held[a as usize], b) > (self.held[b as usize], a)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a] as usize] = a as u32;
        self.place[self.heap[b] as usize] = b as u32;
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.above(at, (at - 1) / 2) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                return;
            }
            if child + 1 < self.heap.len() && self.above(child + 1, child) {
                child += 1;
            }
            if !self.above(child, at) {
                return;
            }
            self.swap(child, at);
            at = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Stream;
    use crate::Random;

    #[test]
    fn the_first_is_what_a_search_finds() {
        let mut script = Stream::new(1);
        let (mut fattest, mut held) = (Fattest::default(), Vec::new());
        assert_eq!(fattest.first(), None);
        for step in 0..20_000 {
            if held.len() < 50 && script.below(100) == 0 {
                fattest.push();
                held.push(0);
            }
            if let Some(queue) = (!held.is_empty()).then(|| script.below(held.len() as u64) as usize) {
                // Few values, so that equals are common.
                held[queue] = script.below(6);
                fattest.set(queue, held[queue]);
            }
            // Long silences too, so that the heap falls asleep.
            if step % 1000 < 500 && script.below(10) > 0 {
                continue;
            }
            let most = held.iter().copied().max().unwrap_or(0);
            let expected = held.iter().position(|n| *n == most).filter(|_| most > 0).map(|queue| (queue, most));
            assert_eq!(fattest.first(), expected);
        }
    }
}
