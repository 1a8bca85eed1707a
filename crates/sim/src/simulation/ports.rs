//! Packets at ports: queueing, sending, and the shared channel.

use super::{Hashes, Hop, Simulation, What};
use crate::packet::Body;
use crate::port::{class, Medium, Station};
use sojourn_aqm::{replace, Config, Cx, Dequeued, Ecn, Packet, Random};
use sojourn_units::{Instant, Span};

/// ns-3's CsmaNetDevice: slot, longest back-off in slots, exponent, attempts.
const SLOT: Span = Span::from_micros(1);
const MAX_SLOTS: u32 = 1000;
const MAX_EXPONENT: u32 = 10;
const MAX_RETRIES: u32 = 1000;

impl Simulation {
    /// A packet reaches the port at its hop, or its receiver.
    #[inline]
    pub(super) fn arrive(&mut self, handle: u32) {
        self.audit.on_wire -= 1;
        let hop = self.slab.get(handle).hop;
        match self.routes[hop as usize] {
            Hop::End => self.deliver(handle),
            hop => self.enter(handle, hop),
        }
    }

    /// Offers a packet to the port where it goes next, now.
    #[inline]
    pub(super) fn enter(&mut self, handle: u32, hop: Hop) {
        match hop {
            // A route is never empty, so this is seen by `arrive` alone.
            Hop::End => {}
            Hop::Port(port) => self.discipline_enter(port, handle),
            Hop::Line(index) | Hop::Fused(index) => {
                let bytes = self.slab.get(handle).bytes;
                let queue = &mut self.line_queues[index as usize];
                match self.lines[index as usize].enter(queue, self.now, bytes) {
                    Some(at) => self.travel(handle, at),
                    None => self.lose(handle),
                }
            }
        }
    }

    /// A packet has been sent and reaches its next hop at `at`; hops that need no event are taken at once.
    #[inline]
    pub(super) fn travel(&mut self, handle: u32, mut at: Instant) {
        let packet = self.slab.get_mut(handle);
        packet.hop += 1;
        // Bound: the length of the route.
        while let Some(&Hop::Fused(index)) = self.routes.get(packet.hop as usize) {
            let queue = &mut self.line_queues[index as usize];
            let Some(later) = self.lines[index as usize].enter(queue, at, packet.bytes) else {
                self.lose(handle);
                return;
            };
            at = later;
            packet.hop += 1;
        }
        self.audit.on_wire += 1;
        self.wheel.push(at, What::Arrive(handle));
    }

    /// Offers a packet to a port that runs a discipline.
    #[inline(never)]
    fn discipline_enter(&mut self, index: u32, handle: u32) {
        self.free_first(index);
        let now = self.now;
        let sim_packet = self.slab.get(handle);
        let Hashes { flow, source, destination, dscp } = self.hashes[sim_packet.flow as usize];
        // The two directions of a connection are two flows, as a five-tuple hash has it.
        let (flow, source, destination) = if matches!(sim_packet.body, Body::Ack(_)) {
            (flow.rotate_left(16) ^ 0x9e37_79b9, destination, source)
        } else {
            (flow, source, destination)
        };
        let port = &mut self.ports[index as usize];
        let packet = Packet {
            serial: port.serial,
            handle,
            bytes: sim_packet.bytes + port.wire.overhead(),
            flow,
            source,
            destination,
            ecn: sim_packet.ecn,
            dscp,
            ..Packet::default()
        };
        port.serial += 1;
        if let Some(record) = &mut port.record {
            record.arrived(sim_packet.bytes, class(sim_packet));
        }
        if port.under_test {
            if let Some(last) = port.meter.last_arrival.replace(now) {
                port.meter.spacing.add(now - last);
            }
        }
        self.dropped.asks(index);
        self.dropped.arrives(now, &packet);
        let mut cx = Cx {
            now,
            rate: port.wire.rate(),
            random: &mut port.random,
            observer: &mut self.dropped,
            counters: &mut port.counters,
        };
        port.discipline.enqueue(&mut cx, packet);
        port.meter.waiting.up(now);
        if let Some(window) = &mut port.window {
            window.arrived(now);
        }
        if let Some(record) = &mut port.record {
            record.waiting(now, port.meter.waiting.get());
        }
        if port.under_test {
            port.meter.system.up(now);
        }
        if let Some((waiting, system)) = &mut self.total {
            if port.under_test {
                waiting.up(now);
                system.up(now);
            }
        }
        self.take_drops(index);
        self.serve(index);
        if let Some(record) = &mut self.ports[index as usize].record {
            record.close_if_full(now);
        }
    }

    /// A transmission that ends at the very instant of an arrival ends first, whether its end is an event or not:
    /// ties are common where acknowledgements clock the packets, and must not depend on how the end is noticed.
    #[inline]
    fn free_first(&mut self, index: u32) {
        let port = &self.ports[index as usize];
        if port.waking && port.busy_until == self.now && matches!(port.medium, Medium::Link) {
            self.link_free(index);
        } else {
            self.ask_late(index);
        }
    }

    /// The link became free while nothing waited, and the discipline has not been asked since: asks it now, as of then.
    /// Nothing has happened at this port in between, so the answer is the one that it would have given.
    #[inline]
    pub(super) fn ask_late(&mut self, index: u32) {
        let port = &self.ports[index as usize];
        if port.unasked && port.busy_until <= self.now {
            self.ask_since(index);
        }
    }

    #[inline(never)]
    fn ask_since(&mut self, index: u32) {
        let port = &mut self.ports[index as usize];
        port.unasked = false;
        if port.under_test {
            port.meter.system.down(port.busy_until);
        }
        self.dropped.asks(index);
        let mut cx = Cx {
            now: port.busy_until,
            rate: port.wire.rate(),
            random: &mut port.random,
            observer: &mut self.dropped,
            counters: &mut port.counters,
        };
        let _empty = port.discipline.dequeue(&mut cx);
        debug_assert!(matches!(_empty, Dequeued::Empty));
    }

    /// Another scheme for a port that runs a discipline, now.
    pub(super) fn replace_scheme(&mut self, index: u32, scheme: &Config) {
        self.free_first(index);
        let now = self.now;
        let port = &mut self.ports[index as usize];
        self.dropped.asks(index);
        let mut cx = Cx {
            now,
            rate: port.wire.rate(),
            random: &mut port.random,
            observer: &mut self.dropped,
            counters: &mut port.counters,
        };
        replace(&mut port.discipline, scheme.build(), &mut cx);
        port.switched.push((now, scheme.clone()));
        self.take_drops(index);
        if let Some(record) = &mut self.ports[index as usize].record {
            record.switched(now);
        }
        // The old scheme may have held back what the new one lets go.
        if self.ports[index as usize].meter.waiting.get() > 0 {
            self.serve(index);
        }
    }

    /// Frees what a discipline has dropped.
    #[inline]
    fn take_drops(&mut self, index: u32) {
        if !self.dropped.packets.is_empty() {
            self.count_drops(index);
        }
    }

    #[inline(never)]
    fn count_drops(&mut self, index: u32) {
        while let Some((packet, reason)) = self.dropped.packets.pop() {
            let now = self.now;
            let port = &mut self.ports[index as usize];
            port.meter.losses.add(packet.serial);
            port.meter.dropped.add(now - packet.enqueued);
            port.meter.waiting.down(now);
            if let Some(window) = &mut port.window {
                window.dropped(now);
            }
            if let Some(record) = &mut port.record {
                record.waiting(now, port.meter.waiting.get());
                record.dropped(packet.serial, reason, class(self.slab.get(packet.handle)));
            }
            if port.under_test {
                port.meter.system.down(now);
                if let Some((waiting, system)) = &mut self.total {
                    waiting.down(now);
                    system.down(now);
                }
            }
            self.lose(packet.handle);
        }
    }

    /// A packet is gone.
    #[cold]
    #[inline(never)]
    pub(super) fn lose(&mut self, handle: u32) {
        let packet = self.slab.remove(handle);
        self.audit.dropped += 1;
        if packet.is_data() {
            let ordinal = packet.ordinal;
            let meter = &mut self.meters[packet.flow as usize];
            meter.dropped_packets += 1;
            // Several drops of one instant are told in any order.
            let last = meter.last_dropped.replace(ordinal);
            meter.drop_runs += u64::from(last.is_none_or(|last| last.abs_diff(ordinal) != 1));
        }
    }

    /// Asks a port's discipline for the next packet, as of now. The packet has left the queue under study.
    #[inline]
    fn ask(&mut self, index: u32) -> Option<u32> {
        let now = self.now;
        let port = &mut self.ports[index as usize];
        self.dropped.asks(index);
        let mut cx = Cx {
            now,
            rate: port.wire.rate(),
            random: &mut port.random,
            observer: &mut self.dropped,
            counters: &mut port.counters,
        };
        let dequeued = port.discipline.dequeue(&mut cx);
        let handle = match dequeued {
            Dequeued::Packet(packet) => {
                self.dropped.left(now, &packet);
                port.meter.waiting.down(now);
                port.meter.sojourn.add(now - packet.enqueued);
                if let Some(window) = &mut port.window {
                    window.left(now, packet.enqueued);
                }
                if let Some(record) = &mut port.record {
                    let sent = self.slab.get(packet.handle);
                    let is_marked = packet.ecn == Ecn::Ce && sent.ecn != Ecn::Ce;
                    record.waiting(now, port.meter.waiting.get());
                    record.forwarded(now - packet.enqueued, is_marked, class(sent));
                }
                if port.under_test {
                    if let Some((waiting, _)) = &mut self.total {
                        waiting.down(now);
                    }
                }
                if packet.ecn == Ecn::Ce {
                    self.slab.get_mut(packet.handle).ecn = Ecn::Ce;
                }
                Some(packet.handle)
            }
            Dequeued::Empty => None,
            Dequeued::NotBefore(at) => {
                self.wheel.push(at.max(now + Span::from_nanos(1)), What::Release(index));
                None
            }
        };
        self.take_drops(index);
        handle
    }

    /// Moves packets on from the discipline as far as the device queue and the link allow.
    #[inline]
    fn serve(&mut self, index: u32) {
        if self.ports[index as usize].device.is_some() {
            self.fill_device(index);
        }
        let port = &self.ports[index as usize];
        match port.medium {
            Medium::Link => {
                if port.busy_until <= self.now && !port.waking {
                    self.send_next(index);
                } else if !port.waking {
                    let at = port.busy_until;
                    self.ports[index as usize].waking = true;
                    self.ports[index as usize].unasked = false;
                    self.wheel.push(at, What::Free(index));
                }
            }
            Medium::Bus { station: Station::Idle, .. } => self.contend(index, true),
            Medium::Bus { .. } => {}
            Medium::Cell { cell, station } => self.cell_serve(cell, station),
        }
    }

    /// Fills the device queue from the discipline.
    #[inline(never)]
    fn fill_device(&mut self, index: u32) {
        loop {
            match &self.ports[index as usize].device {
                Some(device) if device.handles.len() < device.limit => {}
                _ => return,
            }
            let Some(handle) = self.ask(index) else { return };
            if let Some(device) = &mut self.ports[index as usize].device {
                device.handles.push_back(handle);
            }
        }
    }

    /// The next packet for the wire: from the device queue where there is one.
    #[inline]
    pub(super) fn next_for_wire(&mut self, index: u32) -> Option<u32> {
        if self.ports[index as usize].device.is_none() {
            return self.ask(index);
        }
        let next = self.ports[index as usize].device.as_mut().and_then(|device| device.handles.pop_front());
        self.fill_device(index);
        next
    }

    /// Sends the next packet over a free link.
    fn send_next(&mut self, index: u32) {
        let Some(handle) = self.next_for_wire(index) else { return };
        let bytes = self.slab.get(handle).bytes;
        let port = &mut self.ports[index as usize];
        let time = port.wire.take(bytes);
        port.busy_until = self.now + time;
        port.meter.busy.add(self.now, port.busy_until);
        let more = port.meter.waiting.get() > 0 || port.device.as_ref().is_some_and(|d| !d.handles.is_empty());
        port.unasked = !(more || port.eager);
        port.waking = more || port.eager;
        let (free_at, arrival) = (port.busy_until, port.busy_until + port.delay);
        if port.waking {
            self.wheel.push(free_at, What::Free(index));
        }
        self.travel(handle, arrival);
    }

    /// A port has finished sending.
    pub(super) fn port_free(&mut self, index: u32) {
        let port = &mut self.ports[index as usize];
        match &mut port.medium {
            // An arrival at this instant may have come here before.
            Medium::Link if port.waking && port.busy_until == self.now => self.link_free(index),
            Medium::Link => {}
            Medium::Bus { station, .. } => {
                *station = Station::Idle;
                self.sent(index);
                self.contend(index, false);
            }
            Medium::Cell { cell, station } => {
                let (cell, station) = (*cell, *station);
                self.cell_sent(index, cell, station);
            }
        }
    }

    fn link_free(&mut self, index: u32) {
        self.sent(index);
        self.send_next(index);
    }

    /// The packet being sent is out.
    pub(super) fn sent(&mut self, index: u32) {
        let now = self.now;
        let port = &mut self.ports[index as usize];
        port.waking = false;
        if port.under_test {
            port.meter.system.down(now);
            if let Some((_, system)) = &mut self.total {
                system.down(now);
            }
        }
    }

    /// A shaper's packet may go.
    pub(super) fn release(&mut self, index: u32) {
        self.serve(index);
    }

    /// A station takes its next frame and looks at the channel. `answers`: what makes it do so is a packet just come.
    fn contend(&mut self, index: u32, answers: bool) {
        let Some(handle) = self.next_for_wire(index) else { return };
        if let Medium::Bus { station, .. } = &mut self.ports[index as usize].medium {
            *station = Station::Contending { handle, retries: 0 };
        }
        self.attempt(index, answers);
    }

    /// A station with a frame looks at the channel: idle, it sends; busy, it backs off (ns-3's `CsmaNetDevice::TransmitStart`).
    pub(super) fn attempt(&mut self, index: u32, answers: bool) {
        let now = self.now;
        let Medium::Bus { bus, station: Station::Contending { handle, retries } } = self.ports[index as usize].medium
        else {
            return;
        };
        // Who answers a frame at the instant of its arrival still finds the channel taken, as in ns-3, where a channel is
        // idle after all that an arrival causes: else the receiver of a frame would always have the next word.
        let idle = self.bus_idle[bus as usize];
        let taken = idle > now || (answers && idle == now && now > Instant::ZERO);
        if !taken {
            let bytes = self.slab.get(handle).bytes;
            let port = &mut self.ports[index as usize];
            let time = port.wire.take(bytes);
            port.busy_until = now + time;
            let arrival = port.busy_until + port.delay;
            port.meter.busy.add(now, arrival);
            port.medium = Medium::Bus { bus, station: Station::Sending };
            // The channel is taken until the frame has reached the last station.
            self.bus_idle[bus as usize] = arrival;
            let free_at = port.busy_until;
            port.waking = true;
            self.wheel.push(free_at, What::Free(index));
            self.travel(handle, arrival);
            return;
        }
        if retries >= MAX_RETRIES {
            let port = &mut self.ports[index as usize];
            port.abandoned += 1;
            port.medium = Medium::Bus { bus, station: Station::Idle };
            if port.under_test {
                port.meter.system.down(now);
                if let Some((_, system)) = &mut self.total {
                    system.down(now);
                }
            }
            self.lose(handle);
            self.contend(index, false);
            return;
        }
        let retries = retries + 1;
        self.ports[index as usize].medium = Medium::Bus { bus, station: Station::Contending { handle, retries } };
        let most = ((1_u32 << retries.min(MAX_EXPONENT)) - 1).min(MAX_SLOTS);
        // ns-3 truncates a real number uniform in [1, most), so `most` itself comes up only when it is 1.
        let slots = 1 + self.backoff.below(u64::from(most.max(2) - 1));
        self.wheel.push(now + SLOT * slots, What::Retry(index));
    }
}
