use sojourn_units::{Instant, Span};
use std::collections::VecDeque;

/// A tail-drop FIFO in front of a link of constant rate, computed instead of simulated.
///
/// In a FIFO the instant at which a packet starts is known when it arrives: when the link has sent what came
/// before. So a packet costs no event here, and the queue length at an arrival is the number of starts still
/// to come. Exactly `pfifo`; arrivals must come in the order of time.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    limit: usize,
    starts: VecDeque<Instant>,
}

impl Line {
    pub fn new(limit: usize) -> Self {
        Self { limit, starts: VecDeque::new() }
    }

    /// The next packet that has started by `now` and was still counted as waiting: the instant at which it started.
    pub fn started(&mut self, now: Instant) -> Option<Instant> {
        let start = *self.starts.front()?;
        if start > now {
            return None;
        }
        self.starts.pop_front()
    }

    /// True when an arrival is dropped.
    pub fn is_full(&self) -> bool {
        self.starts.len() >= self.limit
    }

    /// A packet arrives at `now` and takes `time` on a link that is busy until `busy_until`: the instant at which it starts.
    pub fn add(&mut self, now: Instant, busy_until: &mut Instant, time: Span) -> Instant {
        let start = now.max(*busy_until);
        *busy_until = start + time;
        if start > now {
            self.starts.push_back(start);
        }
        start
    }
}
