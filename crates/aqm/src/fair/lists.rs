//! The lists of new and old queues (RFC 8290 section 4.2): singly linked through the queues, so that no step allocates.

use crate::Queue;

/// No queue.
pub(crate) const NONE: u32 = u32::MAX;

/// One queue under its own algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Flow<A, Q = Queue> {
    pub aqm: A,
    pub queue: Q,
    /// Bytes it may still send before its turn ends.
    pub deficit: i64,
    /// In one of the lists.
    pub active: bool,
    /// The next in the same list, or `NONE`.
    next: u32,
}

impl<A, Q: Default> Flow<A, Q> {
    pub fn new(aqm: A) -> Self {
        Self { aqm, queue: Q::default(), deficit: 0, active: false, next: NONE }
    }
}

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// Queues that became active since their last turn: served first.
    New,
    /// All other active queues.
    Old,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
    count: u32,
}

/// Both lists.
#[derive(Clone, Debug)]
pub(crate) struct Lists([Ends; 2]);

impl Default for Lists {
    fn default() -> Self {
        Self([Ends { first: NONE, last: NONE, count: 0 }; 2])
    }
}

impl Lists {
    /// Whose turn it is: the first new queue, else the first old one.
    pub fn head(&self) -> Option<(usize, List)> {
        [List::New, List::Old].into_iter().find_map(|list| {
            let first = self.0[list as usize].first;
            (first != NONE).then_some((first as usize, list))
        })
    }

    /// Appends `at`, which is in no list.
    pub fn push<A, Q>(&mut self, list: List, flows: &mut [Flow<A, Q>], at: usize) {
        let ends = &mut self.0[list as usize];
        flows[at].active = true;
        flows[at].next = NONE;
        match flows.get_mut(ends.last as usize) {
            Some(last) if ends.last != NONE => last.next = at as u32,
            _ => ends.first = at as u32,
        }
        ends.last = at as u32;
        ends.count += 1;
    }

    /// Takes the queue whose turn it is out.
    pub fn remove<A, Q>(&mut self, flows: &mut [Flow<A, Q>]) -> Option<usize> {
        let (at, list) = self.head()?;
        let ends = &mut self.0[list as usize];
        ends.first = flows[at].next;
        if ends.first == NONE {
            ends.last = NONE;
        }
        ends.count -= 1;
        flows[at].active = false;
        Some(at)
    }

    /// Moves the queue whose turn it is to the end of the old list.
    pub fn requeue<A, Q>(&mut self, flows: &mut [Flow<A, Q>]) {
        if let Some(at) = self.remove(flows) {
            self.push(List::Old, flows, at);
        }
    }

    /// How many queues are in the new and in the old list.
    pub fn counts(&self) -> [u32; 2] {
        [self.0[0].count, self.0[1].count]
    }
}
