//! Rotations of queues (RFC 8290 section 4.2): singly linked through the queues, so that no step allocates.

use crate::{Backlog, Queue};

/// No queue.
pub(crate) const NONE: u32 = u32::MAX;

/// One queue under its own algorithm. What the scheduler touches lies before what only the algorithm does.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Flow<A, Q = Queue> {
    pub queue: Q,
    /// Bytes it may still send before its turn ends.
    pub deficit: i64,
    /// The next in the same rotation, or `NONE`.
    next: u32,
    /// In a rotation.
    pub active: bool,
    pub aqm: A,
}

impl<A, Q: Default> Flow<A, Q> {
    pub fn new(aqm: A) -> Self {
        Self { aqm, queue: Q::default(), deficit: 0, active: false, next: NONE }
    }
}

impl<A> Flow<A> {
    /// What waits in this queue.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u64, bytes: self.queue.bytes() }
    }
}

/// Active queues in the order of their turns.
#[derive(Clone, Debug)]
pub(crate) struct Rotation {
    first: u32,
    last: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl Rotation {
    /// Nobody's turn.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// Whose turn it is; beyond all queues when nobody's.
    #[inline]
    pub fn first(&self) -> usize {
        self.first as usize
    }

    /// Appends `at`, which is in no rotation.
    #[inline]
    pub fn append<A, Q>(&mut self, flows: &mut [Flow<A, Q>], at: usize) {
        if let Some(flow) = flows.get_mut(at) {
            (flow.active, flow.next) = (true, NONE);
        }
        match flows.get_mut(self.last as usize) {
            Some(last) => last.next = at as u32,
            None => self.first = at as u32,
        }
        self.last = at as u32;
    }

    /// Takes the queue whose turn it is out.
    #[inline]
    pub fn remove<A, Q>(&mut self, flows: &mut [Flow<A, Q>]) -> Option<usize> {
        let at = self.first();
        let flow = flows.get_mut(at)?;
        flow.active = false;
        self.first = flow.next;
        if self.first == NONE {
            self.last = NONE;
        }
        Some(at)
    }

    /// Ends the turn: the queue goes to the end.
    #[inline]
    pub fn turn<A, Q>(&mut self, flows: &mut [Flow<A, Q>]) {
        if self.first != self.last {
            if let Some(at) = self.remove(flows) {
                self.append(flows, at);
            }
        }
    }

    /// The queues, in the order of their turns.
    pub fn queues<'a, A, Q>(&self, flows: &'a [Flow<A, Q>]) -> impl Iterator<Item = &'a Flow<A, Q>> {
        core::iter::successors(flows.get(self.first()), |flow| flows.get(flow.next as usize))
    }

    /// How many queues there are; visits each.
    pub fn len<A, Q>(&self, flows: &[Flow<A, Q>]) -> usize {
        self.queues(flows).count()
    }
}
