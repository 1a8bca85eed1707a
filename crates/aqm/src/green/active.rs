use crate::flow_table::FlowTable;
use alloc::vec::Vec;
use sojourn_units::{Instant, Span};

/// No entry.
const NONE: u32 = u32::MAX;

/// The flows that had an arrival lately, in the order of their last arrivals.
///
/// A doubly linked list through a vector, found by a hash table: every operation is constant work, and memory is that
/// of the most flows ever active at once.
#[derive(Clone, Debug)]
pub(super) struct Active {
    window: Span,
    most: usize,
    places: FlowTable<u32>,
    entries: Vec<Entry>,
    oldest: u32,
    newest: u32,
    /// Entries that belong to no flow, linked by `newer`.
    free: u32,
}

#[derive(Clone, Debug)]
struct Entry {
    flow: u32,
    last: Instant,
    older: u32,
    newer: u32,
}

impl Active {
    /// None yet; a flow is active up to `window` after its last arrival, and `most` are at once.
    pub(super) fn new(window: Span, most: u32) -> Self {
        let most = most as usize;
        let (places, entries) = (FlowTable::with_room_for(most.min(256)), Vec::with_capacity(most.min(256)));
        Self { window, most, places, entries, oldest: NONE, newest: NONE, free: NONE }
    }

    /// Active flows, as of the last call of another method.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Forgets flows whose last arrival is more than `window` ago.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some(entry) = self.entries.get(self.oldest as usize) {
            if now.since(entry.last) <= self.window {
                return;
            }
            self.forget_oldest();
        }
    }

    /// `flow` has an arrival now; those past their time have expired.
    pub(super) fn arrival(&mut self, now: Instant, flow: u32) {
        if let Some(at) = self.places.get(flow).copied() {
            self.entries[at as usize].last = now;
            if at != self.newest {
                self.unlink(at);
                self.link_newest(at);
            }
            return;
        }
        if self.places.len() >= self.most {
            self.forget_oldest();
        }
        let entry = Entry { flow, last: now, older: NONE, newer: NONE };
        let at = if self.free == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let at = self.free;
            self.free = self.entries[at as usize].newer;
            self.entries[at as usize] = entry;
            at
        };
        self.places.get_or(flow, at);
        self.link_newest(at);
    }

    fn forget_oldest(&mut self) {
        let at = self.oldest;
        let flow = self.entries[at as usize].flow;
        self.places.update(flow, |_| false);
        self.unlink(at);
        self.entries[at as usize].newer = self.free;
        self.free = at;
    }

    fn unlink(&mut self, at: u32) {
        let Entry { older, newer, .. } = self.entries[at as usize];
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
    }

    fn link_newest(&mut self, at: u32) {
        let older = self.newest;
        (self.entries[at as usize].older, self.entries[at as usize].newer) = (older, NONE);
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = at,
            None => self.oldest = at,
        }
        self.newest = at;
    }
}
