//! A tin's queues and the rotations that they are in.

use crate::queues::pool::Chain;
use crate::schemes::cobalt::Control;

/// No queue.
const NONE: u32 = u32::MAX;

/// What a queue counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// In no rotation: empty, and COBALT at rest.
    Idle,
    /// Has not used up its first quantum.
    Sparse,
    /// Sparse and empty, but in the bulk rotation because it has used up its quantum.
    SparseWait,
    /// Backlogged.
    Bulk,
    /// Empty, while COBALT comes to rest.
    Decaying,
}

/// A rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Sparse queues.
    New,
    /// Bulk queues.
    Old,
    /// Empty ones.
    Decaying,
}

impl List {
    pub const DECAYING_FIRST: [Self; 3] = [Self::Decaying, Self::New, Self::Old];
    pub const DECAYING_LAST: [Self; 3] = [Self::New, Self::Old, Self::Decaying];
}

/// One queue. What every packet touches lies before what only COBALT does.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Flow {
    pub chain: Chain,
    /// Bytes it may still send before its turn ends.
    pub deficit: i64,
    prev: u32,
    next: u32,
    /// Where its source's and its destination's counts are.
    pub hosts: [u16; 2],
    pub tin: u8,
    pub set: Set,
    list: Option<List>,
    pub control: Control,
}

impl Flow {
    pub fn new(tin: usize, control: Control) -> Self {
        let chain = Chain::default();
        Self {
            chain,
            control,
            deficit: 0,
            hosts: [0; 2],
            tin: tin as u8,
            set: Set::Idle,
            list: None,
            prev: NONE,
            next: NONE,
        }
    }
}

/// The rotations of a tin, linked through its queues.
#[derive(Clone, Debug)]
pub(super) struct Lists([(u32, u32); 3]);

impl Default for Lists {
    fn default() -> Self {
        Self([(NONE, NONE); 3])
    }
}

impl Lists {
    #[inline]
    pub fn first(&self, list: List) -> Option<usize> {
        let (first, _) = self.0[list as usize];
        (first != NONE).then_some(first as usize)
    }

    /// Takes a queue out of its rotation, if it is in one.
    #[inline]
    pub fn unlink(&mut self, flows: &mut [Flow], at: usize) {
        let flow = &mut flows[at];
        let Some(list) = flow.list.take() else { return };
        let (prev, next) = (flow.prev, flow.next);
        let (first, last) = &mut self.0[list as usize];
        match flows.get_mut(prev as usize) {
            Some(before) => before.next = next,
            None => *first = next,
        }
        match flows.get_mut(next as usize) {
            Some(after) => after.prev = prev,
            None => *last = prev,
        }
    }

    /// Puts a queue at the end of a rotation, from wherever it was.
    #[inline]
    pub fn move_to(&mut self, list: List, flows: &mut [Flow], at: usize) {
        let flow = &flows[at];
        if flow.list == Some(list) && flow.next == NONE {
            return;
        }
        self.unlink(flows, at);
        let (first, last) = &mut self.0[list as usize];
        let flow = &mut flows[at];
        (flow.list, flow.prev, flow.next) = (Some(list), *last, NONE);
        match flows.get_mut(*last as usize) {
            Some(before) => before.next = at as u32,
            None => *first = at as u32,
        }
        *last = at as u32;
    }
}
