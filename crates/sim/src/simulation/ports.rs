//! Packets at ports that run a discipline: queueing, sending, and the shared channel of a bus.

use super::net::{Hashes, Net};
use super::Event;
use crate::packet::{Body, Packet as Sent, Payload};
use crate::port::{Medium, Port, Station};
use crate::wlan::Cell;
use sojourn_aqm::{AckFields, Config, Dequeued, Ecn, Packet, Random};
use sojourn_measure::trace;
use sojourn_scenario::Change;
use sojourn_units::{Bytes, Instant, Span};

/// ns-3's CsmaNetDevice: slot, longest back-off in slots, exponent, attempts.
const SLOT: Span = Span::from_micros(1);
const MAX_SLOTS: u32 = 1000;
const MAX_EXPONENT: u32 = 10;
const MAX_RETRIES: u32 = 1000;

/// What the discipline of a port gave.
#[derive(Clone, Copy)]
struct Taken {
    handle: u32,
    /// On the wire.
    bytes: u32,
}

impl Net {
    /// A packet is at a port now.
    pub(super) fn arrive(&mut self, index: u32, handle: u32) {
        self.settle(index, self.now);
        self.enqueue(index, handle, self.now);
        let port = &mut self.ports[index as usize];
        if port.lazy {
            port.call_back(index, &mut self.wheel);
        }
    }

    /// Offers a packet to a port, which is up to `now`.
    #[inline(never)]
    pub(super) fn enqueue(&mut self, index: u32, handle: u32, now: Instant) {
        let Self { slab, hashes, ports, dropped, total, .. } = self;
        let port = &mut ports[index as usize];
        let sent = slab.get(handle);
        port.probe.offered(now, sent);
        let hashes = &hashes[sent.flow as usize];
        let packet = if port.probe.watch.is_some() {
            let packet = Packet {
                bytes: port.framed(sent.bytes()),
                ack: sent.ack_fields(),
                window: sent.window(),
                ..port.stamp(handle, sent, hashes)
            };
            let watch = &mut port.probe.watch;
            dropped.attend(watch.as_deref());
            if dropped.logs {
                dropped.note_of(now, packet.serial, trace::EventKind::Arrived((&packet).into()), sent.flow);
            }
            if let Some(tap) = watch.as_mut().and_then(|watch| watch.tap.as_mut()) {
                tap.arrived(now, &packet, sent);
            }
            packet
        } else {
            port.stamp(handle, sent, hashes)
        };
        port.server.arrive(now, dropped, packet);
        dropped.logs = false;
        port.probe.joined(now);
        if port.eager {
            count(total, |(waiting, system)| {
                waiting.up(now);
                system.up(now);
            });
        }
        if !dropped.packets.is_empty() {
            self.count_drops(index, now);
        }
        // Nearly always the link is busy and will ask by itself, and nobody watches.
        let port = &self.ports[index as usize];
        if !(port.lazy && port.waking && port.probe.watch.is_none()) {
            self.serve_watched(index, now);
        }
    }

    /// A packet has been offered to a port.
    #[inline(never)]
    fn serve_watched(&mut self, index: u32, now: Instant) {
        self.serve(index, now);
        let watch = &mut self.ports[index as usize].probe.watch;
        if let Some(record) = watch.as_mut().and_then(|watch| watch.record.as_mut()) {
            record.close_if_full(now);
        }
    }

    /// Another rate, delay or loss for a port that runs a discipline and sends into a link, or another rate for one of a station
    /// of a cell, now. What is being sent keeps its own.
    pub(super) fn change_link(&mut self, index: u32, &Change { rate, delay, loss, .. }: &Change) {
        if rate.is_none() && delay.is_none() && loss.is_none() {
            return;
        }
        let now = self.now;
        self.settle(index, now);
        let port = &mut self.ports[index as usize];
        if let Some(delay) = delay {
            port.set_delay(delay);
        }
        if let (Some(loss), Some(channel)) = (loss, &mut port.channel) {
            channel.set_loss(loss);
        }
        if let Some(rate) = rate {
            self.dropped.attend(port.probe.watch.as_deref());
            let saved = port.saved(now);
            port.server.set_rate(now, &mut self.dropped, rate);
            // At a lower rate the bytes of a bucket are more time.
            port.saved_before += port.saved(now).saturating_sub(saved);
            self.dropped.logs = false;
            if let Medium::Cell { cell, station } = port.medium {
                let Cell { spec, stations, .. } = &mut self.cells[cell as usize];
                stations[station as usize].set_rate(rate, spec);
            }
            self.count_drops(index, now);
        }
        let port = &mut self.ports[index as usize];
        if port.lazy {
            port.call_back(index, &mut self.wheel);
        }
    }

    /// Another scheme for a port that runs a discipline, now.
    pub(super) fn replace_scheme(&mut self, index: u32, scheme: &Config) {
        let now = self.now;
        self.settle(index, now);
        let port = &mut self.ports[index as usize];
        port.probe.waiting.settle(now);
        port.probe.derive_system(false);
        port.close_hits(now);
        self.dropped.attend(port.probe.watch.as_deref());
        port.server.switch(now, &mut self.dropped, scheme);
        self.dropped.logs = false;
        if scheme.name() == "daqm" {
            port.open_hits(now);
        }
        port.switched.push((now, scheme.clone()));
        self.windows_read |= port.follow(scheme);
        self.is_lazy_no_more(index);
        self.count_drops(index, now);
        let port = &mut self.ports[index as usize];
        if let Some(record) = port.probe.watch.as_mut().and_then(|watch| watch.record.as_mut()) {
            record.switched(now);
        }
        // The old scheme may have held back what the new one lets go.
        if port.probe.waiting.get() > 0 {
            self.serve(index, now);
        }
        let port = &mut self.ports[index as usize];
        port.lazy = port.may_be_lazy();
        if port.lazy {
            port.call_back(index, &mut self.wheel);
        }
    }

    /// Other parameters for the scheme of a port that runs a discipline and began with `first`, now. They have been checked.
    pub(super) fn change_parameters(&mut self, index: u32, parameters: &str, first: &Config) {
        let present = self.ports[index as usize].switched.last().map_or(first, |(_, scheme)| scheme);
        let Ok(scheme) = present.with(parameters) else { return };
        self.take_parameters(index, scheme);
    }

    /// The scheme has the parameters of `scheme`, which is of the same algorithm.
    pub(super) fn take_parameters(&mut self, index: u32, scheme: Config) {
        let now = self.now;
        self.settle(index, now);
        let port = &mut self.ports[index as usize];
        port.probe.waiting.settle(now);
        port.probe.derive_system(false);
        self.dropped.attend(port.probe.watch.as_deref());
        let _is_same = port.server.set_params(now, &mut self.dropped, &scheme);
        self.dropped.logs = false;
        debug_assert!(_is_same, "parameters of another algorithm");
        self.windows_read |= port.follow(&scheme);
        port.switched.push((now, scheme));
        self.count_drops(index, now);
        let port = &mut self.ports[index as usize];
        if let Some(record) = port.probe.watch.as_mut().and_then(|watch| watch.record.as_mut()) {
            record.switched(now);
        }
        // A shaper that held a packet back may let it go, and what was none may have become one.
        let is_lazy = port.may_be_lazy();
        if !is_lazy {
            self.is_lazy_no_more(index);
        }
        if !is_lazy && self.ports[index as usize].probe.waiting.get() > 0 {
            self.serve(index, now);
        }
        let port = &mut self.ports[index as usize];
        port.lazy = is_lazy;
        if port.lazy {
            port.call_back(index, &mut self.wheel);
        }
    }

    /// A port, if it is lazy, gets an event for all that happens there.
    fn is_lazy_no_more(&mut self, index: u32) {
        let Self { ports, wheel, .. } = self;
        let port = &mut ports[index as usize];
        if !std::mem::replace(&mut port.lazy, false) {
            return;
        }
        // The event that would look at it finds it otherwise busy.
        port.wake_at = Instant::NEVER;
        if port.waking {
            wheel.push(port.busy_until, Event::Free(index));
        }
        // Bound: what is on its way there.
        port.pending.backwards().for_each(|(at, _)| wheel.push_late(*at, Event::Approach(index)));
    }

    /// Frees what a discipline has dropped.
    #[cold]
    #[inline(never)]
    pub(super) fn count_drops(&mut self, index: u32, now: Instant) {
        let delay = self.ports[index as usize].queueing_delay();
        while let Some((packet, reason)) = self.dropped.packets.pop() {
            let port = &mut self.ports[index as usize];
            port.probe.dropped(now, &packet, reason, self.slab.get(packet.handle));
            if port.eager {
                count(&mut self.total, |(waiting, system)| {
                    waiting.down(now);
                    system.down(now);
                });
            }
            self.lose_at(packet.handle, now, delay);
        }
    }

    /// Asks a port's discipline for the next packet, as of `now`. The packet has left the queue under study.
    #[inline(always)]
    fn ask(&mut self, index: u32, now: Instant) -> Option<Taken> {
        let Self { slab, ports, dropped, total, wheel, .. } = self;
        let port = &mut ports[index as usize];
        let is_watched = port.probe.watch.is_some();
        if is_watched {
            dropped.attend(port.probe.watch.as_deref());
        }
        let mut taken = None;
        match port.server.depart(now, dropped) {
            Dequeued::Packet(packet) => {
                if is_watched && dropped.logs {
                    dropped.note(now, packet.serial, trace::EventKind::Left { ce: packet.ecn == Ecn::Ce });
                }
                let sent = slab.get_mut(packet.handle);
                port.probe.left(now, &packet, sent);
                if port.eager {
                    count(total, |(waiting, _)| waiting.down(now));
                }
                if packet.ecn == Ecn::Ce {
                    port.probe.marked += u64::from(sent.ecn() != Ecn::Ce);
                    sent.mark();
                }
                taken = Some(Taken { handle: packet.handle, bytes: packet.bytes });
            }
            Dequeued::Empty => {}
            Dequeued::NotBefore(at) => wheel.push(at.max(now + Span::from_nanos(1)), Event::Release(index)),
        }
        dropped.logs = false;
        if !dropped.packets.is_empty() {
            self.count_drops(index, now);
        }
        taken
    }

    /// Moves packets on from the discipline as far as the device queue and the link allow.
    #[inline(never)]
    fn serve(&mut self, index: u32, now: Instant) {
        if self.ports[index as usize].device.is_some() {
            self.fill_device(index);
        }
        let port = &mut self.ports[index as usize];
        match port.medium {
            Medium::Link => {
                if port.waking {
                } else if port.busy_until <= now {
                    self.send_next(index, now);
                } else {
                    port.waking = true;
                    port.unasked = false;
                    if !port.lazy {
                        self.wheel.push(port.busy_until, Event::Free(index));
                    }
                }
            }
            Medium::Trace => self.traced_serve(index, now),
            Medium::Shaped => self.shaped_serve(index, now),
            Medium::Bus { station: Station::Idle, .. } => self.contend(index, true),
            Medium::Bus { .. } => {}
            Medium::Cell { cell, station } => self.cell_serve(index, cell, station),
        }
    }

    /// A shaper's packet may go.
    pub(super) fn release(&mut self, index: u32) {
        self.serve(index, self.now);
    }

    /// Fills the device queue from the discipline.
    #[inline(never)]
    fn fill_device(&mut self, index: u32) {
        loop {
            match &self.ports[index as usize].device {
                Some(device) if device.handles.len() < device.limit => {}
                _ => return,
            }
            let Some(taken) = self.ask(index, self.now) else { return };
            if let Some(device) = &mut self.ports[index as usize].device {
                device.handles.push_back(taken.handle);
            }
        }
    }

    /// The next packet for the wire: from the device queue where there is one.
    #[inline(never)]
    pub(super) fn next_for_wire(&mut self, index: u32) -> Option<u32> {
        if self.ports[index as usize].device.is_none() {
            return self.ask(index, self.now).map(|taken| taken.handle);
        }
        let next = self.ports[index as usize].device.as_mut().and_then(|device| device.handles.pop_front());
        self.fill_device(index);
        next
    }

    /// Sends the next packet over a link that is free from `now` on.
    #[inline(never)]
    fn send_next(&mut self, index: u32, now: Instant) {
        let (taken, held) = match &self.ports[index as usize].device {
            None => (self.ask(index, now), false),
            Some(_) => {
                let next = self.next_for_wire(index);
                let port = &self.ports[index as usize];
                let taken = |handle| Taken { handle, bytes: port.framed(self.slab.get(handle).bytes()) };
                (next.map(taken), port.device.as_ref().is_some_and(|device| !device.handles.is_empty()))
            }
        };
        let Some(Taken { handle, bytes }) = taken else { return };
        let port = &mut self.ports[index as usize];
        let overhead = port.server.wire.overhead();
        port.busy_until = now + port.server.wire.take_framed(bytes);
        port.probe.busy.add(now, port.busy_until);
        port.waking = port.eager || held || port.probe.waiting.get() > 0;
        port.unasked = !port.waking;
        let arrival = port.busy_until + port.delay;
        // A lazy port is called back by whoever brings it up to the present.
        if port.waking && !port.lazy {
            self.wheel.push(port.busy_until, Event::Free(index));
        }
        self.transmit(index, handle, bytes - overhead, arrival);
    }

    /// A packet of `bytes` has been sent by a port and reaches its next hop at `at`, unless the link has other plans.
    #[inline(always)]
    pub(super) fn transmit(&mut self, index: u32, handle: u32, bytes: u32, at: Instant) {
        if self.ports[index as usize].channel.is_some() {
            return self.go_through(index, handle, at);
        }
        self.travel(handle, bytes, at);
    }

    /// As [`Net::go`], over a link that does more than to carry packets; `at` is the earliest arrival.
    #[inline(never)]
    fn go_through(&mut self, index: u32, handle: u32, at: Instant) {
        let port = &mut self.ports[index as usize];
        let Some(channel) = &mut port.channel else { return };
        let sent = at.before(port.delay);
        let Some(arrival) = channel.carry(sent) else { return self.lose_at(handle, sent, Span::ZERO) };
        let packet = self.slab.get(handle);
        let bytes = packet.bytes();
        let copy = arrival.copy.map(|at| (packet.copy(), at));
        self.travel(handle, bytes, arrival.at);
        if let Some((copy, at)) = copy {
            self.audit.duplicated += 1;
            let handle = self.slab.insert(copy);
            self.travel(handle, bytes, at);
        }
    }

    /// A port has finished sending, or a lazy one is to be looked at.
    pub(super) fn port_free(&mut self, index: u32) {
        let now = self.now;
        let port = &mut self.ports[index as usize];
        match &mut port.medium {
            Medium::Link if port.lazy => {
                if port.wake_at == now {
                    port.wake_at = Instant::NEVER;
                    self.settle(index, now);
                }
            }
            // An arrival at this instant may have come here before.
            Medium::Link if port.waking && port.busy_until == now => self.link_free(index, now),
            Medium::Link => {}
            Medium::Trace if port.waking && port.busy_until == now => self.traced_free(index, now),
            Medium::Trace => {}
            Medium::Shaped if port.waking && port.busy_until == now => self.shaped_free(index, now),
            Medium::Shaped => {}
            Medium::Bus { station, .. } => {
                *station = Station::Idle;
                self.sent(index, now);
                self.contend(index, false);
            }
            Medium::Cell { cell, station } => {
                let (cell, station) = (*cell, *station);
                self.cell_sent(index, cell, station);
            }
        }
    }

    #[inline]
    pub(super) fn link_free(&mut self, index: u32, now: Instant) {
        self.sent(index, now);
        self.send_next(index, now);
    }

    /// The packet being sent is out.
    #[inline]
    pub(super) fn sent(&mut self, index: u32, now: Instant) {
        let port = &mut self.ports[index as usize];
        port.waking = false;
        port.probe.out(now);
        if port.eager {
            count(&mut self.total, |(_, system)| system.down(now));
        }
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
            let bytes = self.slab.get(handle).bytes();
            let port = &mut self.ports[index as usize];
            port.busy_until = now + port.server.wire.take(bytes);
            let arrival = port.busy_until + port.delay;
            port.probe.busy.add(now, arrival);
            port.medium = Medium::Bus { bus, station: Station::Sending };
            // The channel is taken until the frame has reached the last station.
            self.bus_idle[bus as usize] = arrival;
            port.waking = true;
            self.wheel.push(port.busy_until, Event::Free(index));
            self.travel(handle, bytes, arrival);
            return;
        }
        if retries >= MAX_RETRIES {
            let port = &mut self.ports[index as usize];
            port.abandoned += 1;
            port.medium = Medium::Bus { bus, station: Station::Idle };
            port.probe.out(now);
            if port.eager {
                count(&mut self.total, |(_, system)| system.down(now));
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
        self.wheel.push(now + SLOT * slots, Event::Retry(index));
    }
}

impl Port {
    /// Full duplex point to point.
    pub(super) fn is_link(&self) -> bool {
        matches!(self.medium, Medium::Link)
    }

    /// What waits over the link's rate, or the mean sojourn time where that is longer, as at a shaper or an 802.11 cell.
    fn queueing_delay(&self) -> Span {
        let wire = &self.server.wire;
        let waiting = wire.rate().time_for(Bytes::new(self.server.backlog().bytes));
        waiting.max(self.probe.sojourn.moments.mean())
    }

    /// The port runs `scheme` from now on; true where it reads congestion windows.
    pub(super) fn follow(&mut self, scheme: &Config) -> bool {
        self.probe.follow(scheme);
        let reads = self.server.reads();
        if reads.any() {
            self.probe.watch();
        }
        reads.window
    }

    /// See [`Port::lazy`].
    pub(super) fn may_be_lazy(&self) -> bool {
        let plain = self.is_link() && self.device.is_none();
        plain && !self.eager && !self.server.is_shaper()
    }

    /// The packet that its discipline sees of `sent`.
    #[inline(always)]
    fn stamp(&mut self, handle: u32, sent: &Sent, hashes: &Hashes) -> Packet {
        stamped(self.server.number(), self.server.wire.overhead(), handle, sent, hashes)
    }

    /// What an IP packet of `bytes` takes on the wire.
    pub(super) fn framed(&self, bytes: u32) -> u32 {
        self.framing.map_or_else(|| bytes + self.server.wire.overhead(), |framing| framing.size(bytes))
    }

    /// Another propagation delay from now on.
    pub(super) fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
        if let Some(channel) = &mut self.channel {
            channel.set_delay(delay);
            self.delay = channel.least_delay();
        }
    }
}

/// The packet number `serial` that a discipline sees of `sent`, with so much framing; for one that reads neither fields of
/// acknowledgements nor windows: a port whose discipline does is watched ([`Watch`](crate::port::Watch)).
#[inline(always)]
pub(super) fn stamped(serial: u64, overhead: u32, handle: u32, sent: &Sent, hashes: &Hashes) -> Packet {
    let (bytes, ecn, hashes) = match &sent.body {
        Body::Load(load, Payload::Data(_) | Payload::Datagram(_)) => (load.bytes, load.ecn, *hashes),
        _ => other(sent, hashes),
    };
    let Hashes { flow, source, destination, dscp } = hashes;
    let bytes = bytes + overhead;
    Packet {
        enqueued: Instant::ZERO,
        serial,
        handle,
        flow,
        source,
        destination,
        bytes,
        window: 0,
        ecn,
        dscp,
        ack: AckFields::NONE,
    }
}

/// Size, ECN field and hashes of a packet that carries neither a segment of data nor a datagram that stays where it goes.
#[cold]
#[inline(never)]
fn other(sent: &Sent, hashes: &Hashes) -> (u32, Ecn, Hashes) {
    let hashes = if sent.goes_back() { hashes.back() } else { *hashes };
    (sent.bytes(), sent.ecn(), hashes)
}

/// Counts at all queues under test together.
#[cold]
fn count<T>(total: &mut Option<T>, change: impl FnOnce(&mut T)) {
    if let Some(total) = total {
        change(total);
    }
}
