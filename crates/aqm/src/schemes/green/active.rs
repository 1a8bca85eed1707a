use crate::queues::flow_table::FlowTable;
use alloc::vec::Vec;
use sojourn_units::{Instant, Span};

/// The entry that is no flow's: before the oldest and after the newest.
const ENDS: u32 = 0;

/// The flows that had an arrival lately, in the order of their last arrivals.
///
/// A doubly linked list through a vector, found by a hash table: every operation is constant work, and memory is that
/// of the most flows ever active at once.
#[derive(Clone, Debug)]
pub(super) struct Active {
    window: Span,
    most: usize,
    places: FlowTable<u32>,
    /// The first is [`ENDS`].
    entries: Vec<Entry>,
    /// Entries that belong to no flow, linked by `newer`; [`ENDS`] when there is none.
    free: u32,
    /// No flow's time is over before this has passed.
    expiry: Instant,
}

#[derive(Clone, Copy, Debug)]
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
        let (places, mut entries) = (FlowTable::with_room_for(most.min(256)), Vec::with_capacity(most.min(256) + 1));
        entries.push(Entry { flow: 0, last: Instant::ZERO, older: ENDS, newer: ENDS });
        Self { window, most, places, entries, free: ENDS, expiry: Instant::ZERO + window }
    }

    /// Flows are active for another time from now on.
    pub(super) fn set_window(&mut self, window: Span) {
        // No later than either says: it is looked at once more than it had to be.
        self.expiry = if window < self.window { Instant::ZERO } else { self.expiry };
        self.window = window;
    }

    /// Active flows, as of the last call of another method.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Forgets flows whose last arrival is more than `window` ago; false when there cannot be any.
    #[inline]
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let may_be = now > self.expiry;
        if may_be {
            self.forget_expired(now);
        }
        may_be
    }

    #[cold]
    fn forget_expired(&mut self, now: Instant) {
        let mut oldest = now;
        while self.oldest() != ENDS {
            oldest = self.entries[self.oldest() as usize].last;
            if now.since(oldest) <= self.window {
                break;
            }
            self.forget_oldest();
            oldest = now;
        }
        self.expiry = oldest + self.window;
    }

    /// `flow` has an arrival now; those past their time have expired. False when it was not known.
    #[inline]
    pub(super) fn arrival(&mut self, now: Instant, flow: u32) -> bool {
        let Some(at) = self.places.get(flow).copied() else {
            self.enter(now, flow);
            return false;
        };
        self.entries[at as usize].last = now;
        self.unlink(at);
        self.link_newest(at);
        true
    }

    /// A flow that is not known.
    #[inline(never)]
    fn enter(&mut self, now: Instant, flow: u32) {
        if self.places.len() >= self.most {
            self.forget_oldest();
        }
        let entry = Entry { flow, last: now, older: ENDS, newer: ENDS };
        let at = if self.free == ENDS {
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

    fn oldest(&self) -> u32 {
        self.entries[ENDS as usize].newer
    }

    fn newest(&self) -> u32 {
        self.entries[ENDS as usize].older
    }

    fn forget_oldest(&mut self) {
        let at = self.oldest();
        let flow = self.entries[at as usize].flow;
        self.places.update(flow, |_| false);
        self.unlink(at);
        self.entries[at as usize].newer = self.free;
        self.free = at;
    }

    fn unlink(&mut self, at: u32) {
        let Entry { older, newer, .. } = self.entries[at as usize];
        self.entries[older as usize].newer = newer;
        self.entries[newer as usize].older = older;
    }

    fn link_newest(&mut self, at: u32) {
        let older = self.newest();
        self.entries[at as usize].older = older;
        self.entries[at as usize].newer = ENDS;
        self.entries[older as usize].newer = at;
        self.entries[ENDS as usize].older = at;
    }
}
