//! When frames arrived and left, and by how much either may be wrong: the thread can lose the processor between a reading of
//! the clock and what it dates. An arrival counts as of the last instant at which it can have been, so that no frame leaves
//! before its time. A frame left between the reading before it was handed over and the one after.

use crate::clock::Time;
use sojourn_measure::Sampled;
use sojourn_units::Instant;
use std::collections::VecDeque;

/// How frames of a port were read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a, T> {
    /// By which their dates are understood.
    pub time: &'a T,
    /// What arrived before this instant had been read before.
    pub since: Instant,
    /// After they were read.
    pub now: Instant,
}

impl<T: Time> Reading<'_, T> {
    /// The first and the last instant at which a frame can have arrived whose note says `arrived_ns`.
    #[inline]
    pub(super) fn bounds(&self, arrived_ns: u64) -> (Instant, Instant) {
        if arrived_ns == 0 {
            return (self.since, self.now);
        }
        let at = self.time.when(arrived_ns).min(self.now);
        (at, at)
    }
}

/// What a direction did too late.
#[derive(Default)]
pub struct Lateness {
    /// Nominal instants of the frames that are ready, after those of the first `handed_over`, which the port took.
    due: VecDeque<Instant>,
    handed_over: usize,
    /// How much later than their nominal instants frames were handed over, at least.
    pub least: Sampled,
    /// As `least`, at most.
    pub most: Sampled,
    /// How much later than they arrived frames count as arrived, at most.
    pub dated: Sampled,
}

impl Lateness {
    pub(super) fn with_capacity(frames: usize) -> Self {
        Self { due: VecDeque::with_capacity(frames), ..Self::default() }
    }

    /// A frame is ready that was due at `at`.
    #[inline]
    pub(super) fn ready(&mut self, at: Instant) {
        self.due.push_back(at);
    }

    /// The first of those that are ready is dropped.
    pub(super) fn dropped(&mut self) {
        self.due.remove(self.handed_over);
    }

    /// The port took the first `frames` of those that are ready.
    #[inline]
    pub(super) fn took(&mut self, frames: usize) {
        self.handed_over += frames;
    }

    /// Frames were handed over since the last [`Lateness::settle`].
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.handed_over > 0
    }

    /// What was handed over went between `before` and `after`.
    pub(super) fn settle(&mut self, before: Instant, after: Instant) {
        for at in self.due.drain(..self.handed_over.min(self.due.len())) {
            self.least.add(before.since(at));
            self.most.add(after.since(at));
        }
        self.handed_over = 0;
    }

    pub(super) fn clear(&mut self) {
        self.due.clear();
        self.handed_over = 0;
    }
}
