//! Ports that are computed late: arrivals and ends of transmissions, each as of its instant, when the next packet comes or
//! before what they send can be seen.

use super::net::{Hashes, Net};
use super::What;
use crate::engine::Wheel;
use crate::packet::Slab;
use crate::port::{Dropped, Port};
use sojourn_aqm::{Dequeued, Ecn};
use sojourn_units::Instant;

/// A packet on its way from a port.
#[derive(Clone, Copy)]
struct Gone {
    handle: u32,
    /// IP size.
    bytes: u32,
    /// When it reaches the next hop.
    at: Instant,
}

impl Net {
    /// A packet will reach a port at `at`. What has happened there since the port was looked at last is computed.
    #[inline(never)]
    pub(super) fn approach_port(&mut self, index: u32, handle: u32, at: Instant) {
        let port = &mut self.ports[index as usize];
        if !(port.lazy && port.pending.insert(at, handle)) {
            self.wheel.push(at, What::Enqueue(handle));
            return;
        }
        let due = port.pending.first <= self.now || port.busy_until <= self.now;
        if due && !self.catching_up {
            return self.settle_lazy(index, self.now);
        }
        port.call_back(index, &mut self.wheel);
    }

    /// Brings a port up to `until`, which is not after now, before something happens there or somebody looks at it.
    #[inline(never)]
    pub(super) fn settle(&mut self, index: u32, until: Instant) {
        let port = &mut self.ports[index as usize];
        if port.lazy {
            self.settle_lazy(index, until);
        } else if port.waking && port.busy_until == until && port.is_link() {
            self.link_free(index, until);
        } else if port.is_traced() {
            self.traced_settle(index, until);
        } else if port.waking && port.busy_until == until && port.is_shaped() {
            self.shaped_free(index, until);
        } else {
            port.ask_late(until, &mut self.dropped);
        }
    }

    /// Brings a lazy port up to `until`, which is not after now: arrivals and ends of transmissions, each at its instant.
    ///
    /// A transmission that ends at the very instant of an arrival ends first: ties are common where acknowledgements clock
    /// the packets, and must not depend on how the end is noticed.
    ///
    /// Bound: the packets that come or go within one propagation delay.
    #[inline(always)]
    fn settle_lazy(&mut self, index: u32, until: Instant) {
        let nested = std::mem::replace(&mut self.catching_up, true);
        loop {
            let Self { ports, slab, hashes, dropped, .. } = self;
            let port = &mut ports[index as usize];
            let (plain, arrival) = (port.probe.watch.is_none(), port.pending.first);
            if port.waking && port.busy_until <= arrival.min(until) {
                let at = port.busy_until;
                if plain {
                    self.send_plain(index, at);
                } else {
                    self.link_free(index, at);
                }
                continue;
            }
            let Some((at, handle)) = port.pending.pop(until) else { break };
            port.ask_late(at, dropped);
            if !(plain && port.waking) {
                self.enqueue(index, handle, at);
                continue;
            }
            port.take(at, handle, slab, hashes, dropped);
            if !dropped.packets.is_empty() {
                self.count_drops(index, at);
            }
        }
        let port = &mut self.ports[index as usize];
        port.ask_late(until, &mut self.dropped);
        port.call_back(index, &mut self.wheel);
        self.catching_up = nested;
    }

    /// A transmission of a lazy port that nobody watches ends at `now`.
    #[inline(always)]
    fn send_plain(&mut self, index: u32, now: Instant) {
        let Self { slab, ports, dropped, .. } = self;
        let port = &mut ports[index as usize];
        let gone = port.give(now, slab, dropped);
        if !dropped.packets.is_empty() {
            self.count_drops(index, now);
            let port = &mut self.ports[index as usize];
            port.waking &= port.probe.waiting.get() > 0;
            port.unasked = gone.is_some() && !port.waking;
        }
        if let Some(Gone { handle, bytes, at }) = gone {
            self.go(index, handle, bytes, at);
        }
    }
}

impl Port {
    /// A packet arrives at `now`, while another is being sent: the discipline takes it, or drops some.
    #[inline(always)]
    fn take(&mut self, now: Instant, handle: u32, slab: &Slab, hashes: &[Hashes], dropped: &mut Dropped) {
        let sent = slab.get(handle);
        let packet = self.stamp(handle, sent, &hashes[sent.flow as usize]);
        self.probe.offered(now, sent);
        self.server.arrive(now, dropped, packet);
        self.probe.joined(now);
    }

    /// A transmission ends at `now`, and the discipline gives the next packet, if it has one.
    #[inline(always)]
    fn give(&mut self, now: Instant, slab: &mut Slab, dropped: &mut Dropped) -> Option<Gone> {
        self.probe.out(now);
        let Dequeued::Packet(packet) = self.server.depart(now, dropped) else {
            self.waking = false;
            return None;
        };
        let record = slab.get_mut(packet.handle);
        self.probe.left(now, &packet, record);
        if packet.ecn == Ecn::Ce {
            record.mark();
        }
        self.busy_until = now + self.server.wire.take_framed(packet.bytes);
        self.probe.busy.add(now, self.busy_until);
        self.waking = self.probe.waiting.get() > 0;
        self.unasked = !self.waking;
        let bytes = packet.bytes - self.server.wire.overhead();
        Some(Gone { handle: packet.handle, bytes, at: self.busy_until + self.delay })
    }

    /// The link became free while nothing waited, and the discipline has not been asked since: asks it now, as of then.
    /// Nothing has happened at this port in between, so the answer is the one that it would have given.
    #[inline(always)]
    pub(super) fn ask_late(&mut self, until: Instant, dropped: &mut Dropped) {
        if self.unasked && self.busy_until <= until {
            self.ask_empty(dropped);
        }
    }

    #[inline(never)]
    fn ask_empty(&mut self, dropped: &mut Dropped) {
        self.unasked = false;
        self.probe.out(self.busy_until);
        dropped.attend(self.probe.watch.as_deref());
        let _empty = self.server.depart(self.busy_until, dropped);
        dropped.logs = false;
        debug_assert!(matches!(_empty, Dequeued::Empty));
    }

    /// Sees to it that a lazy port is looked at before the next packet that it sends can reach the far end.
    #[inline(always)]
    pub(super) fn call_back(&mut self, index: u32, wheel: &mut Wheel<What>) {
        let next = if self.waking { self.busy_until } else { self.pending.first.max(self.busy_until) };
        let at = next + self.delay;
        if at < self.wake_at {
            self.wake_at = at;
            wheel.push(at, What::Free(index));
        }
    }
}
