//! What lies between hosts: packets on their routes, through ports and lines.

use super::event::Event;
use crate::engine::Wheel;
use crate::packet::{Body, Packet, Slab};
use crate::port::{Approach, Dropped, Line, LineQueue, Port};
use crate::wlan::Cell;
use sojourn_measure::{Level, LossEvents, Synchronisation};
use sojourn_random::Stream;
use sojourn_units::{Instant, Span};
use std::collections::BTreeMap;

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// To its receiver.
    End,
    /// Into a port that runs a discipline.
    Port(u32),
    /// Into a line.
    Line(u32),
    /// Into a line whose packets all come from hosts, now, or all from one other port of constant delay: they arrive in the
    /// order in which that port sends, so the line is computed when it sends, without an event.
    Fused(u32),
    /// As `Fused`, to its receiver.
    Last(u32),
}

/// A [`Next`] in four bytes: its kind in the three highest bits. Routes are many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop(u32);

const INDEX_BITS: u32 = 29;
const INDEX: u32 = (1 << INDEX_BITS) - 1;

impl Hop {
    pub fn new(next: Next) -> Self {
        let (kind, index) = match next {
            Next::End => (0, 0),
            Next::Port(index) => (1, index),
            Next::Line(index) => (2, index),
            Next::Fused(index) => (3, index),
            Next::Last(index) => (4, index),
        };
        Self((kind << INDEX_BITS) | (index & INDEX))
    }

    #[inline(always)]
    pub fn next(self) -> Next {
        let index = self.0 & INDEX;
        match self.0 >> INDEX_BITS {
            0 => Next::End,
            1 => Next::Port(index),
            2 => Next::Line(index),
            3 => Next::Fused(index),
            _ => Next::Last(index),
        }
    }
}

/// How a host's packets set out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Egress {
    /// The first hop that is not the host's own line.
    hop: u32,
    /// The host's own line; of no line where it has none.
    line: u32,
    /// What is at `hop`.
    next: Hop,
}

/// Where one of the network's ports is found.
#[derive(Clone, Copy, Debug)]
pub(super) enum PortRef {
    Port(u32),
    Line(u32),
}

/// What disciplines tell flows and hosts apart by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub flow: u32,
    pub source: u32,
    pub destination: u32,
    /// Differentiated services codepoint.
    pub dscp: u8,
}

impl Hashes {
    /// Of packets that go back: the two directions of a connection are two flows, as a five-tuple hash has it.
    #[cold]
    #[inline(never)]
    pub fn back(&self) -> Self {
        let Self { flow, source, destination, dscp } = *self;
        Self { flow: flow.rotate_left(16) ^ 0x9e37_79b9, source: destination, destination: source, dscp }
    }
}

/// A packet of data that was dropped, as flows see it. The fields are in the order in which losses count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Loss {
    at: Instant,
    flow: u32,
    ordinal: u32,
    /// Of the flow, with the delay of the queue that dropped it.
    rtt: Span,
}

/// Losses that are put in order at once.
const LOSSES: usize = 4096;

/// Packets of one flow that were dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    pub packets: u64,
    /// Runs of drops of packets that the flow sent one after another, and the last one dropped.
    pub runs: u64,
    last: Option<u32>,
    pub events: LossEvents,
    /// The latest loss event of the group of flows, and of all flows, in which it lost.
    seen: [u64; 2],
    /// Its group of flows.
    group: u32,
    base_rtt: Span,
}

impl Losses {
    pub fn new(group: usize, base_rtt: Span) -> Self {
        Self { group: group as u32, base_rtt, ..Self::default() }
    }

    /// Forgets what was counted.
    pub fn restart(&mut self) {
        *self = Self { group: self.group, base_rtt: self.base_rtt, ..Self::default() };
    }
}

/// Counts that never restart, for the final audit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Audit {
    pub sent: u64,
    /// Copies that links have made.
    pub duplicated: u64,
    pub delivered: u64,
    pub dropped: u64,
}

/// Everything between hosts.
#[derive(Clone)]
pub(super) struct Net {
    pub now: Instant,
    /// A scheme, or a decision log, reads congestion windows in packets.
    pub windows_read: bool,
    pub wheel: Wheel<Event>,
    pub slab: Slab,
    /// All routes one after another.
    pub routes: Vec<Hop>,
    /// Ports that are computed.
    pub lines: Vec<Line>,
    pub line_queues: Vec<LineQueue>,
    /// Ports that run a discipline.
    pub ports: Vec<Port>,
    /// Of each flow.
    pub hashes: Vec<Hashes>,
    pub losses: Vec<Losses>,
    /// Of each group of flows, then of all flows.
    pub synchronisation: Vec<Synchronisation>,
    /// What a discipline has just dropped.
    pub dropped: Dropped,
    /// Packets that lines will drop, with the delay of their queues then.
    pub lost: BTreeMap<u32, Span>,
    /// Losses that have not been put in order: ports and lines tell of theirs when they are looked at.
    pub losses_untold: Vec<Loss>,
    /// When the measurement begins and ends.
    pub begin: Instant,
    pub end: Instant,
    /// The last instant that lines may be computed ahead to without a look at the two: the one before the first, then the second.
    pub ahead_to: Instant,
    /// A lazy port or line is being brought up to the present: others wait for their turn.
    pub catching_up: bool,
    pub audit: Audit,
    /// Where each of the network's ports is found.
    pub places: Vec<PortRef>,
    /// For each bus: the instant at which the channel is idle again.
    pub bus_idle: Vec<Instant>,
    /// The 802.11 cells.
    pub cells: Vec<Cell>,
    /// Of each entry of `routes` at an access point: the station that the packet is for. Empty where there is no cell.
    pub receivers: Vec<u32>,
    /// Of each entry of `routes`: its number in the network. See [`rank`].
    pub ranks: Vec<u32>,
    pub backoff: Stream,
    /// Waiting, and in the system, at all queues under test together, where the scenario asks for it.
    pub total: Option<(Level, Level)>,
}

/// The link over which a packet comes, by its number in the network: of packets that reach one place at one instant, the order of these
/// decides, whoever computes them when. What a host there sends itself comes last.
pub(super) fn rank(slab: &Slab, ranks: &[u32], handle: u32) -> u32 {
    let hop = slab.get(handle).hop as usize;
    hop.checked_sub(1).and_then(|before| ranks.get(before)).copied().unwrap_or(u32::MAX)
}

/// The instant before `now`.
pub(super) fn before(now: Instant) -> Instant {
    Instant::from_nanos(now.nanos().saturating_sub(1))
}

impl Net {
    /// The way of packets that a host sends along the route that begins at `route`.
    pub fn way(&self, route: u32) -> Egress {
        let hop = |place: u32| self.routes[place as usize];
        // What a host sends over a line of its own is on its way to the next hop at once.
        match hop(route).next() {
            Next::Fused(line) => Egress { hop: route + 1, line, next: hop(route + 1) },
            _ => Egress { hop: route, line: u32::MAX, next: hop(route) },
        }
    }

    /// The places in `routes` of the hops of a way that are no line of the host's own.
    pub fn hops(&self, way: Egress) -> std::ops::Range<usize> {
        let first = way.hop as usize;
        let count = self.routes[first..].iter().take_while(|hop| hop.next() != Next::End).count();
        first..first + count
    }

    /// A host sends a packet of `bytes` on its way.
    ///
    /// Inlined, so that the packet is put together where it will lie.
    #[inline(always)]
    pub fn launch(&mut self, body: Body, flow: u32, way: Egress, bytes: u32) {
        let handle = self.slab.insert(Packet { body, flow, hop: way.hop });
        self.audit.sent += 1;
        self.set_out(handle, way, bytes);
    }

    /// As [`Net::launch`], of one of several segments in a row, which are on their way to a port.
    #[inline(always)]
    pub fn launch_next(&mut self, body: Body, flow: u32, way: Egress, bytes: u32) {
        let handle = self.slab.insert(Packet { body, flow, hop: way.hop });
        self.audit.sent += 1;
        let (Next::Port(port), Some(line)) = (way.next.next(), self.lines.get_mut(way.line as usize)) else {
            return self.set_out(handle, way, bytes);
        };
        match line.enter(&mut self.line_queues, way.line, self.now, bytes) {
            Some(at) => self.approach_port(port, handle, at),
            None => self.lose_at_line(handle, way.line, self.now),
        }
    }

    /// A packet of `bytes` leaves its host.
    #[inline(never)]
    fn set_out(&mut self, handle: u32, way: Egress, bytes: u32) {
        let Some(line) = self.lines.get_mut(way.line as usize) else {
            return self.set_out_apart(handle, way.hop, bytes);
        };
        let Some(at) = line.enter(&mut self.line_queues, way.line, self.now, bytes) else {
            return self.lose_at_line(handle, way.line, self.now);
        };
        match way.next.next() {
            Next::Line(line) => self.approach_line(line, handle, way.hop, bytes, at),
            Next::Port(port) => self.approach_port(port, handle, at),
            _ => self.go_far(handle, way.hop, bytes, at),
        }
    }

    /// A packet of `bytes` leaves its host otherwise.
    ///
    /// What comes over a link at this instant is there before it, and may not have been told of yet.
    #[inline(never)]
    fn set_out_apart(&mut self, handle: u32, hop: u32, bytes: u32) {
        match self.routes[hop as usize].next() {
            Next::Line(line) => {
                let approach = &mut self.line_queues[line as usize].approach;
                approach.get_or_insert_with(|| Box::new(Approach::new(Span::ZERO))).apart += 1;
                self.reach_line(handle);
            }
            Next::Port(port) if self.ports[port as usize].is_passed => self.reach_port(handle),
            Next::Port(port) => self.arrive(port, handle),
            Next::Fused(_) | Next::Last(_) => self.forward(handle, hop, bytes, self.now),
            // A route is never empty.
            Next::End => {}
        }
    }

    /// A packet that is not among those on their way to a line reaches it now. It takes its turn at the end of this instant.
    #[inline(never)]
    pub fn reach_line(&mut self, handle: u32) {
        if let Next::Line(line) = self.routes[self.slab.get(handle).hop as usize].next() {
            self.let_in(line, before(self.now));
            let Self { slab, ranks, line_queues, now, .. } = self;
            if let Some(approach) = &mut line_queues[line as usize].approach {
                approach.apart -= 1;
                approach.pending.insert_early(*now, handle, |handle| rank(slab, ranks, handle));
            }
            self.look_later(line);
        }
    }

    /// The first of the packets on their way to a port reaches it, if they still are.
    #[inline]
    pub fn reach_port_in_turn(&mut self, port: u32) {
        let found = &mut self.ports[port as usize];
        // One that has become lazy looks by itself.
        if found.lazy {
            return;
        }
        if let Some((_, handle)) = found.pending.pop_until(self.now) {
            self.arrive(port, handle);
        }
    }

    /// A packet that is not among those on their way to a port reaches it now. It takes its turn at the end of this instant.
    #[inline(never)]
    pub fn reach_port(&mut self, handle: u32) {
        let Next::Port(port) = self.routes[self.slab.get(handle).hop as usize].next() else { return };
        self.settle_before_now(port);
        let Self { ports, slab, ranks, now, wheel, .. } = self;
        let found = &mut ports[port as usize];
        found.pending.insert_early(*now, handle, |handle| rank(slab, ranks, handle));
        if found.lazy {
            found.call_back(port, wheel);
        } else {
            wheel.push_late(*now, Event::Approach(port));
        }
    }

    /// A packet of `bytes` enters a line, its hop `hop`, at `now`, which may lie behind.
    #[inline(always)]
    fn cross(&mut self, handle: u32, line: u32, hop: u32, bytes: u32, now: Instant) {
        match self.lines[line as usize].enter(&mut self.line_queues, line, now, bytes) {
            Some(at) => self.forward(handle, hop + 1, bytes, at),
            None => self.lose_at_line(handle, line, now),
        }
    }

    /// A packet of `bytes` has been sent and reaches its next hop at `at`.
    pub fn travel(&mut self, handle: u32, bytes: u32, at: Instant) {
        self.forward(handle, self.slab.get(handle).hop + 1, bytes, at);
    }

    /// A packet of `bytes` reaches its hop `hop` at `at`; hops that need no event are taken at once.
    #[inline(always)]
    pub fn forward(&mut self, handle: u32, hop: u32, bytes: u32, at: Instant) {
        match self.routes[hop as usize].next() {
            Next::Last(line) => {
                if at > self.ahead_to && self.waits_for_end(handle, line, hop, at) {
                    return;
                }
                match self.lines[line as usize].enter(&mut self.line_queues, line, at, bytes) {
                    Some(at) => self.wheel.push(at, Event::Deliver(handle)),
                    None => self.lose_at_line(handle, line, at),
                }
            }
            Next::Port(port) => {
                self.slab.get_mut(handle).hop = hop;
                self.approach_port(port, handle, at);
            }
            Next::Line(line) => {
                self.slab.get_mut(handle).hop = hop;
                self.approach_next_line(line, handle, hop, bytes, at);
            }
            Next::Fused(line) => {
                if at > self.ahead_to && self.waits_for_end(handle, line, hop, at) {
                    return;
                }
                self.cross_next(handle, line, hop, bytes, at);
            }
            Next::End => self.wheel.push(at, Event::Deliver(handle)),
        }
    }

    /// A packet arrives at a line, its hop `hop`, while or after the measurement begins: the line's begins. True after its end,
    /// when the packet does not enter: the line's is over.
    #[cold]
    #[inline(never)]
    fn waits_for_end(&mut self, handle: u32, line: u32, hop: u32, at: Instant) -> bool {
        if at > self.end {
            self.slab.get_mut(handle).hop = hop;
            self.wheel.push(at, Event::Cross(handle));
            return true;
        }
        self.begin_line(line as usize);
        false
    }

    /// The measurement of a line begins, unless it has.
    pub fn begin_line(&mut self, line: usize) {
        let queue = &mut self.line_queues[line];
        if queue.since < self.begin {
            self.lines[line].restart(queue, self.begin);
        }
    }

    /// As [`Net::forward`], after a hop that was no line.
    #[inline(never)]
    fn go_far(&mut self, handle: u32, hop: u32, bytes: u32, at: Instant) {
        self.forward(handle, hop, bytes, at);
    }

    /// As [`Net::cross`], behind another hop.
    ///
    /// Bound: the length of the route.
    #[inline(never)]
    fn cross_next(&mut self, handle: u32, line: u32, hop: u32, bytes: u32, at: Instant) {
        self.cross(handle, line, hop, bytes, at);
    }

    /// As [`Net::approach_line`], behind another hop than a host's own line.
    #[inline(never)]
    fn approach_next_line(&mut self, line: u32, handle: u32, hop: u32, bytes: u32, at: Instant) {
        self.approach_line(line, handle, hop, bytes, at);
    }

    /// A packet of `bytes` will reach a line at `at`. What has come there since the line was looked at last goes on.
    #[inline(always)]
    fn approach_line(&mut self, line: u32, handle: u32, hop: u32, bytes: u32, at: Instant) {
        let approach =
            self.line_queues[line as usize].approach.get_or_insert_with(|| Box::new(Approach::new(Span::ZERO)));
        if at < self.now.later(approach.ahead) && at <= self.ahead_to && approach.apart == 0 {
            if approach.pending.first <= at {
                self.let_in(line, at);
            }
            return self.cross(handle, line, hop, bytes, at);
        }
        let Self { slab, ranks, .. } = self;
        if !approach.pending.insert(at, handle, |handle| rank(slab, ranks, handle)) {
            approach.apart += 1;
            self.wheel.push(at, Event::Cross(handle));
            return;
        }
        // What comes at this instant may yet be followed by what goes before it.
        if approach.pending.first < self.now && !self.catching_up {
            self.let_in(line, before(self.now));
        }
        self.look_later(line);
    }

    /// What has reached a line by `until` enters it, each at its instant.
    ///
    /// Bound: the packets that come within one propagation delay.
    #[inline(never)]
    pub fn let_in(&mut self, line: u32, until: Instant) {
        let nested = std::mem::replace(&mut self.catching_up, true);
        while let Some(approach) = &mut self.line_queues[line as usize].approach {
            let Some((at, handle)) = approach.pending.pop_until(until) else { break };
            let packet = self.slab.get(handle);
            let (hop, bytes) = (packet.hop, packet.bytes());
            self.cross(handle, line, hop, bytes, at);
        }
        self.catching_up = nested;
    }

    /// Sees to it that a line is looked at before the first packet on its way there can reach the far end.
    #[inline(always)]
    fn look_later(&mut self, line: u32) {
        let Some(approach) = &mut self.line_queues[line as usize].approach else { return };
        let first = approach.pending.first;
        if first == Instant::NEVER {
            return;
        }
        let at = first + self.lines[line as usize].delay;
        if at < approach.wake_at {
            approach.wake_at = at;
            self.wheel.push_late(at, Event::Look(line));
        }
    }

    /// A line is looked at.
    pub fn look(&mut self, line: u32) {
        match &mut self.line_queues[line as usize].approach {
            Some(approach) if approach.wake_at == self.now => approach.wake_at = Instant::NEVER,
            _ => return,
        }
        self.let_in(line, self.now);
        self.look_later(line);
    }

    /// Brings all ports and lines up to the present, which comes before what else happens at this instant; only of links that
    /// have become free with nothing to send, after.
    pub fn settle_before(&mut self) {
        self.settle_all(before(self.now));
        self.ports.iter_mut().for_each(|port| port.ask_late(self.now, &mut self.dropped));
    }

    /// Brings all ports and lines up to `until`.
    pub fn settle_all(&mut self, until: Instant) {
        (0..self.lines.len()).for_each(|line| self.let_in(line as u32, until));
        for port in 0..self.ports.len() {
            if self.ports[port].is_traced() {
                // Who looks tells the scheme nothing of the rate.
                self.traced_catch_up(port as u32, until);
            } else {
                self.settle(port as u32, until);
            }
        }
        (0..self.lines.len()).for_each(|line| self.look_later(line as u32));
    }

    /// A packet is gone.
    #[cold]
    #[inline(never)]
    pub fn lose(&mut self, handle: u32) {
        self.lose_at(handle, self.now, Span::ZERO);
    }

    /// A line drops a packet at `at`, which counts then.
    #[cold]
    #[inline(never)]
    pub fn lose_at_line(&mut self, handle: u32, line: u32, at: Instant) {
        let delay = self.lines[line as usize].queueing_delay(&self.line_queues[line as usize]);
        if at > self.now {
            self.lost.insert(handle, delay);
            return self.wheel.push(at, Event::Lose(handle));
        }
        self.lose_at(handle, at, delay);
    }

    /// A packet that a line has dropped counts now.
    pub fn lose_now(&mut self, handle: u32) {
        let delay = self.lost.remove(&handle).unwrap_or_default();
        self.lose_at(handle, self.now, delay);
    }

    /// A packet is gone at `now`, at a queue with so much delay.
    #[cold]
    #[inline(never)]
    pub fn lose_at(&mut self, handle: u32, now: Instant, delay: Span) {
        let packet = self.slab.remove(handle);
        self.audit.dropped += 1;
        if let Some(ordinal) = packet.ordinal() {
            let losses = &mut self.losses[packet.flow as usize];
            losses.packets += 1;
            let rtt = losses.base_rtt + delay;
            self.losses_untold.push(Loss { at: now, flow: packet.flow, ordinal, rtt });
            if self.losses_untold.len().is_multiple_of(LOSSES) {
                self.wheel.push(self.now, Event::Tell);
            }
        }
    }

    /// Puts the losses before the present in order. Nothing more is heard of that time.
    pub fn report_losses(&mut self) {
        self.settle_before();
        self.report_losses_before(self.now);
    }

    /// Puts the losses before `until` in order, all of which are known.
    pub fn report_losses_before(&mut self, until: Instant) {
        let mut untold = std::mem::take(&mut self.losses_untold);
        untold.sort_unstable();
        let known = untold.partition_point(|loss| loss.at < until);
        for Loss { at, flow, ordinal, rtt } in untold.drain(..known) {
            let losses = &mut self.losses[flow as usize];
            let last = losses.last.replace(ordinal);
            losses.runs += u64::from(last.is_none_or(|last| last.abs_diff(ordinal) != 1));
            losses.events.lost(at, ordinal, rtt);
            let [of_group, of_all] = &mut losses.seen;
            if let Some((all, groups)) = self.synchronisation.split_last_mut() {
                all.lost(at, rtt, of_all);
                if let Some(group) = groups.get_mut(losses.group as usize) {
                    group.lost(at, rtt, of_group);
                }
            }
        }
        self.losses_untold = untold;
    }

    /// Packets that are on a wire: their arrivals are scheduled.
    pub fn on_wire(&self) -> u64 {
        let events = self.wheel.pending().filter(|event| event.what.is_arrival()).count();
        let to_ports: usize = self.ports.iter().map(|port| port.pending.len()).sum();
        let approaches = self.line_queues.iter().filter_map(|queue| queue.approach.as_ref());
        (events + to_ports + approaches.map(|approach| approach.pending.len()).sum::<usize>()) as u64
    }
}
