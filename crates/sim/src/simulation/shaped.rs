//! Ports whose link is shaped by a token bucket: packets leave whole, and the next waits while the bucket owes.

use super::net::Net;
use super::Event;
use crate::port::{Medium, Port};
use sojourn_units::{Bytes, Instant, Span};

impl Net {
    /// Something may wait at a port that waited for nothing.
    pub(super) fn shaped_serve(&mut self, index: u32, now: Instant) {
        if !self.ports[index as usize].waking {
            self.shaped_next(index, now);
        }
    }

    /// The instant for which a port waited: its bucket owes nothing.
    pub(super) fn shaped_free(&mut self, index: u32, now: Instant) {
        self.ports[index as usize].waking = false;
        self.shaped_next(index, now);
    }

    /// Sends what may leave at `now`, and waits for what comes next.
    ///
    /// htb does not ask a queue in which nothing waits, so that its discipline does not learn that the link is idle.
    ///
    /// Bound: the packets that a full bucket has tokens for, and one.
    fn shaped_next(&mut self, index: u32, now: Instant) {
        loop {
            let port = &mut self.ports[index as usize];
            let Some(bucket) = port.bucket else { return };
            let held = port.device.as_ref().is_some_and(|device| !device.handles.is_empty());
            if port.probe.waiting.get() == 0 && !held {
                return;
            }
            let settled_at = bucket.settled_at();
            if settled_at > now {
                (port.waking, port.busy_until) = (true, settled_at);
                self.wheel.push(settled_at, Event::Free(index));
                return;
            }
            let Some(handle) = self.next_for_wire(index) else { return };
            let bytes = self.slab.get(handle).bytes();
            let port = &mut self.ports[index as usize];
            let taken = port.server.wire.take_framed(port.framed(bytes));
            let size = port.server.wire.rate().time_for(Bytes::new(bucket.bytes));
            if let Some(bucket) = &mut port.bucket {
                bucket.take(now, size, taken);
                // What it owes is time that is yet to come.
                port.probe.busy.extend(taken, bucket.settled_at());
            }
            let at = now + port.delay;
            self.sent(index, now);
            self.transmit(index, handle, bytes, at);
        }
    }
}

impl Port {
    /// What its token bucket has saved, as time at the link's rate; nothing without one.
    pub(super) fn saved(&self, now: Instant) -> Span {
        let size = |bytes: u64| self.server.wire.rate().time_for(Bytes::new(bytes));
        self.bucket.as_ref().map_or(Span::ZERO, |bucket| bucket.saved(now, size(bucket.bytes)))
    }

    /// A token bucket shapes its link.
    pub(super) fn is_shaped(&self) -> bool {
        matches!(self.medium, Medium::Shaped)
    }
}
