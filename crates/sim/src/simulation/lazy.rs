//! Ports that are computed late: arrivals and ends of transmissions, each as of its instant, when the next packet comes or
//! before what they send can be seen.

use super::net::{before, rank, Egress, Hashes, Hop, Net, Next};
use super::ports::stamped;
use super::Event;
use crate::engine::{Lane, Wheel};
use crate::packet::Slab;
use crate::port::{Dropped, Line, LineQueue, Port, Probe};
use sojourn_aqm::{Cx, Dequeued, Discipline, Ecn, Opened, Session};
use sojourn_units::{Instant, Span};

/// A packet on its way from a port.
#[derive(Clone, Copy)]
struct Departure {
    handle: u32,
    /// Where it goes next.
    hop: u32,
    /// IP size.
    bytes: u32,
    /// When it is there.
    at: Instant,
}

/// What happens at a lazy port that concerns others.
enum PortEvent {
    /// Nothing more.
    Over,
    /// A packet arrives while the link is free, or somebody watches.
    Arrival(Instant, u32),
    /// A transmission ends at a port that somebody watches, or whose link does more than to carry packets.
    Free(Instant),
    /// A packet goes on.
    Departure(Departure),
    /// Packets have been dropped; then one may go on.
    Dropped(Instant, Option<Departure>),
    /// A line behind the port drops a packet: which, and which line.
    Lost(u32, u32, Instant),
}

impl Net {
    /// A packet will reach a port at `at`.
    #[inline(always)]
    pub(super) fn approach_port(&mut self, index: u32, handle: u32, at: Instant) {
        let Self { ports, slab, ranks, wheel, .. } = self;
        let port = &mut ports[index as usize];
        if !port.pending.insert(at, handle, |handle| rank(slab, ranks, handle)) {
            return wheel.push(at, Event::Enqueue(handle));
        }
        if !port.lazy {
            return wheel.push_late(at, Event::Approach(index));
        }
        // While it sends, it will be called back for what it sends now, which comes first.
        if !port.waking {
            port.call_back(index, wheel);
        }
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

    /// Brings the lazy ports of a way up to what came before now: what has come there has been told apart by the hashes that its
    /// flow had then.
    ///
    /// Bound: the length of the route.
    #[cold]
    pub(super) fn settle_route(&mut self, way: Egress) {
        for hop in self.hops(way) {
            if let Next::Port(index) = self.routes[hop].next() {
                self.settle_before_now(index);
            }
        }
    }

    /// Brings a port, if it is lazy, up to what came before now.
    #[cold]
    pub(super) fn settle_before_now(&mut self, index: u32) {
        if self.ports[index as usize].lazy {
            self.settle_lazy(index, before(self.now));
        }
    }

    /// Brings a lazy port up to `until`, which is not after now: arrivals and ends of transmissions, each at its instant.
    ///
    /// Bound: the packets that come or go within one propagation delay.
    #[inline(never)]
    fn settle_lazy(&mut self, index: u32, until: Instant) {
        let nested = std::mem::replace(&mut self.catching_up, true);
        loop {
            match self.proceed(index, until) {
                PortEvent::Over => break,
                PortEvent::Arrival(at, handle) => {
                    self.ports[index as usize].ask_late(at, &mut self.dropped);
                    self.enqueue(index, handle, at);
                }
                PortEvent::Free(at) => self.link_free(index, at),
                PortEvent::Departure(Departure { handle, hop, bytes, at }) => self.forward(handle, hop, bytes, at),
                PortEvent::Lost(handle, line, at) => self.lose_at_line(handle, line, at),
                PortEvent::Dropped(now, departure) => {
                    self.count_drops(index, now);
                    if let Some(Departure { handle, hop, bytes, at }) = departure {
                        self.ports[index as usize].left_behind();
                        self.forward(handle, hop, bytes, at);
                    }
                }
            }
        }
        let port = &mut self.ports[index as usize];
        port.ask_late(until, &mut self.dropped);
        port.call_back(index, &mut self.wheel);
        self.catching_up = nested;
    }

    /// What happens at a lazy port up to `until` as long as it is all between this port, which nobody watches, and receivers behind
    /// it; then what else happens first.
    ///
    /// A transmission that ends at the very instant of an arrival ends first: ties are common where acknowledgements clock
    /// the packets, and must not depend on how the end is noticed.
    #[inline(always)]
    fn proceed(&mut self, index: u32, until: Instant) -> PortEvent {
        let Self { ports, slab, hashes, dropped, routes, lines, line_queues, wheel, ahead_to, .. } = self;
        let port = &mut ports[index as usize];
        let plain = port.probe.watch.is_none() && port.probe.system.is_none() && port.channel.is_none();
        let Port { server, probe, pending, busy_until, waking, unasked, delay, .. } = port;
        let (opened, mut cx) = server.open(dropped);
        let surroundings = Surroundings { slab, hashes, routes, lines, line_queues, wheel, ahead_to: *ahead_to };
        let delay = *delay;
        match opened {
            Opened { tail_drop: Some(session), .. } => {
                BusyPort { session, probe, pending, busy_until, waking, unasked, delay, plain }.run_until(
                    &mut cx,
                    surroundings,
                    until,
                )
            }
            Opened { other: Some(session), .. } => {
                BusyPort { session, probe, pending, busy_until, waking, unasked, delay, plain }.run_until(
                    &mut cx,
                    surroundings,
                    until,
                )
            }
            Opened { .. } => PortEvent::Over,
        }
    }
}

/// What lies surroundings a port.
struct Surroundings<'a> {
    slab: &'a mut Slab,
    hashes: &'a [Hashes],
    routes: &'a [Hop],
    lines: &'a mut [Line],
    line_queues: &'a mut Vec<LineQueue>,
    wheel: &'a mut Wheel<Event>,
    /// See [`Net::ahead_to`].
    ahead_to: Instant,
}

/// A lazy port at work.
struct BusyPort<'a, D: ?Sized> {
    session: Session<'a, D>,
    probe: &'a mut Probe,
    pending: &'a mut Lane<u32>,
    busy_until: &'a mut Instant,
    waking: &'a mut bool,
    unasked: &'a mut bool,
    delay: Span,
    /// Nobody watches, what is in the system follows from what else is measured, and the link does no more than to carry packets.
    plain: bool,
}

impl<D: Discipline + ?Sized> BusyPort<'_, D> {
    /// As [`Net::proceed`].
    #[inline(always)]
    fn run_until(&mut self, cx: &mut Cx<'_>, surroundings: Surroundings<'_>, until: Instant) -> PortEvent {
        loop {
            if *self.waking && *self.busy_until <= self.pending.first.min(until) {
                let now = *self.busy_until;
                if !self.plain {
                    return PortEvent::Free(now);
                }
                let departure = self.dequeue(cx, now, surroundings.slab);
                if cx.has_dropped {
                    return PortEvent::Dropped(now, departure);
                }
                let Some(Departure { handle, hop, bytes, at }) = departure else { continue };
                let Next::Last(line) = surroundings.routes[hop as usize].next() else {
                    return PortEvent::Departure(Departure { handle, hop, bytes, at });
                };
                if at > surroundings.ahead_to {
                    return PortEvent::Departure(Departure { handle, hop, bytes, at });
                }
                match surroundings.lines[line as usize].enter(surroundings.line_queues, line, at, bytes) {
                    Some(at) => surroundings.wheel.push(at, Event::Deliver(handle)),
                    None => return PortEvent::Lost(handle, line, at),
                }
            } else {
                let Some((now, handle)) = self.pending.pop_until(until) else { return PortEvent::Over };
                if !(self.plain && *self.waking) {
                    return PortEvent::Arrival(now, handle);
                }
                self.enqueue(cx, now, handle, surroundings.slab, surroundings.hashes);
                if cx.has_dropped {
                    return PortEvent::Dropped(now, None);
                }
            }
        }
    }

    /// A packet arrives at `now`, while another is being sent: the discipline takes it, or drops some.
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, now: Instant, handle: u32, slab: &Slab, hashes: &[Hashes]) {
        let sent = slab.get(handle);
        let (serial, overhead) = (self.session.number(), self.session.wire.overhead());
        let packet = stamped(serial, overhead, handle, sent, &hashes[sent.flow as usize]);
        self.probe.count_offered(now);
        self.session.arrive(cx, now, packet);
        self.probe.waiting.up(now);
    }

    /// A transmission ends at `now`, and the discipline gives the next packet, if it has one.
    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx<'_>, now: Instant, slab: &mut Slab) -> Option<Departure> {
        let Dequeued::Packet(packet) = self.session.depart(cx, now) else {
            *self.waking = false;
            return None;
        };
        let record = slab.get_mut(packet.handle);
        self.probe.count_left(now, packet.enqueued);
        if packet.ecn == Ecn::Ce {
            self.probe.marked += u64::from(record.ecn() != Ecn::Ce);
            record.mark();
        }
        let span = self.session.wire.take_framed(packet.bytes);
        // It begins before the end of the run.
        let until = now.later(span);
        *self.busy_until = until;
        self.probe.busy.extend(span, until);
        *self.waking = self.probe.waiting.get() > 0;
        *self.unasked = !*self.waking;
        let bytes = packet.bytes - self.session.wire.overhead();
        Some(Departure { handle: packet.handle, hop: record.hop + 1, bytes, at: until.later(self.delay) })
    }
}

impl Port {
    /// Packets have been dropped after the discipline gave one.
    fn left_behind(&mut self) {
        self.waking &= self.probe.waiting.get() > 0;
        self.unasked = !self.waking;
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
    pub(super) fn call_back(&mut self, index: u32, wheel: &mut Wheel<Event>) {
        let next = if self.waking { self.busy_until } else { self.pending.first.max(self.busy_until) };
        let at = next + self.delay;
        if at < self.wake_at {
            self.wake_at = at;
            wheel.push_late(at, Event::Free(index));
        }
    }
}
