//! One direction of the device: frames that arrived wait in a discipline, leave at the shaped rate, and travel a delay line.
//!
//! Time comes from the host alone, so the same frames at the same instants give the same decisions on a live port, in
//! memory, and in the simulator. Departures have nominal instants: when the wire has sent what went before. A host that
//! comes late serves what fell due meanwhile at those instants, so the rate is exact over time. While the port has no room
//! the wire stands still, and packets wait in the discipline.

mod dates;
mod link;
mod queued;
mod room;

use crate::clock::Time;
use crate::delay::Delay;
use crate::frame::{self, Fault, Key};
use crate::pool::{Frame, Pool};
use crate::port::{Port, PortError, BURST};
use crate::record::{Recorder, Setting};
use dates::Lateness;
use ipnet::IpNet;
use link::Changes;
use queued::{note, Host, Queued};
use room::Room;
use sojourn_aqm::{Backlog, ChannelCounts, Config, Counters, Dequeued, Ecn, Packet, Rates, Server, Traced};
use sojourn_measure::trace::EventKind;
use sojourn_units::{BitRate, Bytes, Instant, Span, Wire};
use std::collections::VecDeque;

pub use crate::delay::Drawn;
pub use dates::Reading;
pub use link::{Link, LinkChange};
pub use queued::Log;
pub use room::{RING, RING_FRAMES, RING_UNQUEUED};

/// How long a frame may wait for room at the port, unless told otherwise.
pub const STALE_AFTER: Span = Span::from_millis(100);

/// How a direction treats its frames.
#[derive(Clone, Debug)]
pub struct PathConfig {
    /// The scheme; `None` forwards at once, without queue or shaping.
    pub scheme: Option<Config>,
    /// The shaped rate.
    pub rate: BitRate,
    /// Added to the length of every frame on the wire (tc's `overhead`): 24 B for Ethernet's preamble, FCS and gap.
    pub overhead: Bytes,
    /// What a host that came late may catch up on at once; time lost beyond it is lost to the rate.
    pub burst: Span,
    /// One-way delay added after the queue.
    pub delay: Span,
}

/// One direction.
pub struct Path {
    queue: Option<Queued>,
    line: Delay,
    /// Frames to be sent at the next opportunity.
    ready: VecDeque<Frame>,
    lateness: Lateness,
    room: Room,
    /// Released, and dropped because the port had no room for too long.
    stale: u64,
    /// Without a queue, and dropped because as many waited for the port as may.
    no_room: u64,
    /// What was seen, for windows and status.
    pub recorder: Recorder,
    /// Of the flow hashes.
    key: Key,
    /// Frames with a fault, in the order of [`Fault::ALL`].
    faults: [u64; 3],
    /// Frames that passed without a queue.
    passed: u64,
    /// The last instant at which anything was decided.
    seen: Instant,
    log: Option<Log>,
    /// Of the link, at given times.
    changes: Changes,
}

/// Frames of a direction, each in one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Wait in the discipline.
    pub queued: u64,
    /// Travel the delay line.
    pub delayed: u64,
    /// Wait for room at the port.
    pub ready: u64,
}

impl Path {
    /// A direction under `config`; `random` is its stream of random numbers, `key` that of its flow hashes.
    #[must_use]
    pub fn new(config: &PathConfig, random: Drawn, key: impl Into<Key>, recorder: Recorder) -> Self {
        let queue = config.scheme.as_ref().map(|scheme| Queued {
            scheme: scheme.clone(),
            server: Server::new(scheme, Wire::new(config.rate, config.overhead), random),
            burst: config.burst,
            free_at: Instant::ZERO,
            idle: true,
            late: Span::ZERO,
            blocked: Span::ZERO,
            held: false,
            framing: None,
            trace: None,
        });
        let mut path = Self {
            room: Room::new(queue.as_ref().map(|_| config.rate), STALE_AFTER),
            queue,
            line: Delay::new(config.delay),
            ready: VecDeque::with_capacity(RING_UNQUEUED as usize),
            lateness: Lateness::with_capacity(RING_UNQUEUED as usize),
            stale: 0,
            no_room: 0,
            recorder,
            key: key.into(),
            faults: [0; 3],
            passed: 0,
            seen: Instant::ZERO,
            log: None,
            changes: Changes::default(),
        };
        path.room.set_delay(path.line.longest());
        path
    }

    /// The link behind the queue is `link` from now on. `stream` gives the random numbers of each effect.
    pub fn set_link(&mut self, link: Link, stream: impl FnMut(&'static str) -> Drawn) {
        let Link { mut impairments, framing, trace, changes } = link;
        if changes.iter().any(|change| change.loss.is_some()) {
            impairments.loss.get_or_insert_default();
        }
        if !impairments.is_none() || changes.iter().any(|change| change.delay.is_some()) {
            self.line.impair(&impairments, stream);
        }
        if let Some(queue) = &mut self.queue {
            // A trace of opportunities counts bytes of IP.
            let of_ip = trace.as_ref().is_some_and(|(rates, _)| matches!(**rates, Rates::Opportunities(_)));
            queue.framing = framing.or_else(|| of_ip.then(|| "raw".parse().ok()).flatten());
            queue.trace = trace.map(|(rates, window)| Traced::new(rates, window));
        }
        self.changes = Changes::new(changes);
        self.room.set_delay(self.line.longest());
    }

    /// What the link lost, reordered and doubled.
    #[must_use]
    pub fn link_counts(&self) -> ChannelCounts {
        self.line.counts()
    }

    /// The rate follows a trace.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.trace.is_some())
    }

    /// Begins the decision log, or ends it.
    pub fn log_to(&mut self, log: Option<Log>) {
        self.log = log;
    }

    /// Frames arrived, in this order. Each counts as of the last instant at which it can have arrived, after what was due
    /// before it has left; what the port takes on the way is sent. Returns the instant as of which the last of them counts.
    ///
    /// # Errors
    /// The port stopped working.
    pub fn arrive(
        &mut self,
        reading: &Reading<'_, impl Time>,
        pool: &mut Pool,
        frames: &mut Vec<Frame>,
        port: &mut dyn Port,
    ) -> Result<Instant, PortError> {
        let mut is_first = true;
        for frame in frames.drain(..) {
            let (first, last) = reading.bounds(pool.note(frame).arrived_ns);
            // Time does not go back: what was decided meanwhile was decided without this frame.
            let at = last.max(self.seen);
            self.lateness.dated.add(at.since(first));
            if is_first || at > self.seen {
                if !is_first {
                    // As of then, too.
                    self.make_room(self.seen, pool, port)?;
                }
                self.serve(at, pool);
                self.make_room(at, pool, port)?;
                is_first = false;
            }
            self.take_in(at, pool, frame);
        }
        self.make_room(self.seen, pool, port)?;
        Ok(self.seen)
    }

    /// Sends what is ready where something due found no room.
    fn make_room(&mut self, now: Instant, pool: &mut Pool, port: &mut dyn Port) -> Result<(), PortError> {
        if self.is_held() {
            self.send(now, pool, port)?;
        }
        Ok(())
    }

    /// One frame arrives.
    fn take_in(&mut self, now: Instant, pool: &mut Pool, frame: Frame) {
        let parsed = frame::parse(pool.contents(frame), self.key);
        if let Some(fault) = parsed.fault {
            self.faults[fault as usize] += 1;
            if fault == Fault::Runt {
                pool.give(frame);
                return;
            }
        }
        let noted = pool.note_mut(frame);
        noted.ip = parsed.ip;
        noted.class = parsed.class;
        noted.dscp = parsed.dscp;
        let seen = *noted;
        let length = u32::from(seen.length);
        let Some(queue) = &mut self.queue else {
            self.passed += 1;
            self.room.released(length);
            self.travel(now, frame, pool);
            return;
        };
        let packet = Packet {
            enqueued: now,
            serial: queue.server.number(),
            handle: frame.index(),
            flow: parsed.flow,
            source: parsed.source,
            destination: parsed.destination,
            bytes: queue.on_link(length, parsed.ip),
            window: 0,
            ecn: Ecn::from_bits(parsed.ecn),
            dscp: parsed.dscp,
            ack: parsed.ack,
        };
        self.recorder.arrived(now, seen);
        note(&mut self.log, now, packet.serial, || EventKind::Arrived((&packet).into()));
        let mut host = Host { pool, recorder: &mut self.recorder, log: &mut self.log };
        queue.show_rate(now, &mut host);
        queue.server.arrive(now, &mut host, packet);
        self.recorder.backlog(now, queue.server.backlog());
        if queue.idle && queue.free_at <= now {
            self.serve(now, pool);
        }
    }

    /// A frame leaves without a queue.
    fn travel(&mut self, now: Instant, frame: Frame, pool: &mut Pool) {
        let length = u32::from(pool.note(frame).length);
        let carried = self.line.push(now, frame, pool);
        self.room.carried(carried, length);
    }

    /// Sends what fell due by `now`, each at its nominal instant, and moves what has travelled the delay line to the port.
    ///
    /// Bound: the departures that fit between the last call and `now`, at most what waits.
    pub fn serve(&mut self, now: Instant, pool: &mut Pool) {
        // Bound: the changes that are due.
        while let Some(at) = self.changes.next().filter(|at| *at <= now) {
            self.serve_until(at, pool);
            self.change_next(pool);
        }
        self.serve_until(now, pool);
    }

    /// As [`Path::serve`], where nothing changes.
    fn serve_until(&mut self, now: Instant, pool: &mut Pool) {
        self.seen = now;
        if let Some(queue) = &mut self.queue {
            queue.held = false;
            let earliest = now.before(queue.burst);
            if queue.free_at < earliest {
                if !queue.idle && queue.server.backlog().packets > 0 {
                    queue.late += earliest - queue.free_at;
                }
                queue.free_at = earliest;
            }
            while queue.free_at <= now {
                // An idle wire takes what arrives at once: nothing was due before now.
                let at = if queue.idle { now } else { queue.free_at };
                if queue.idle && queue.server.backlog().packets == 0 {
                    break;
                }
                if let Some(ready) = queue.trace.as_mut().map(|trace| trace.ready(at, queue.idle)).filter(|r| *r > at) {
                    (queue.free_at, queue.idle) = (ready, false);
                    continue;
                }
                if self.room.is_full(now) && queue.server.backlog().packets > 0 {
                    queue.held = true;
                    break;
                }
                let mut host = Host { pool, recorder: &mut self.recorder, log: &mut self.log };
                queue.show_rate(at, &mut host);
                match queue.server.depart(at, &mut host) {
                    Dequeued::Packet(packet) => {
                        note(&mut self.log, at, packet.serial, || EventKind::Left { ce: packet.ecn == Ecn::Ce });
                        let frame = Frame::from_index(packet.handle);
                        let noted = pool.note(frame);
                        let length = u32::from(noted.length);
                        if packet.dscp != noted.dscp {
                            frame::set_dscp(pool.contents_mut(frame), usize::from(noted.ip), packet.dscp);
                        }
                        self.recorder.forwarded(at, &packet);
                        self.recorder.backlog(at, queue.server.backlog());
                        queue.idle = false;
                        queue.free_at = queue.out(at, packet.bytes);
                        self.room.released(length);
                        // Out when its last bit is.
                        let carried = self.line.push(queue.free_at, frame, pool);
                        self.room.carried(carried, length);
                    }
                    Dequeued::Empty => {
                        self.recorder.backlog(at, queue.server.backlog());
                        queue.idle = true;
                        break;
                    }
                    Dequeued::NotBefore(later) => {
                        queue.idle = false;
                        queue.free_at = later.max(at + Span::from_nanos(1));
                    }
                }
            }
        }
        // Bound: what travels.
        while let Some((at, frame)) = self.line.pop(now) {
            if self.queue.is_none() && self.ready.len() as u64 >= RING_UNQUEUED && self.room.is_stuck() {
                self.room.lost(u64::from(pool.note(frame).length));
                pool.give(frame);
                self.no_room += 1;
                continue;
            }
            self.ready.push_back(frame);
            self.lateness.ready(at);
        }
    }

    /// Carries out the next change, at its instant.
    fn change_next(&mut self, pool: &mut Pool) {
        let Some(change) = self.changes.take() else { return };
        let LinkChange { at, rate, delay, loss, scheme, .. } = change;
        if let Some(delay) = delay {
            self.set_delay(delay);
        }
        if let Some(loss) = loss {
            self.line.set_loss(loss);
        }
        if let Some(rate) = rate {
            self.put_rate(at, pool, rate);
        }
        if let Some(scheme) = scheme {
            let label = scheme.name().to_owned();
            self.put_scheme(at, pool, &scheme, &label, None);
        }
    }

    /// Sends what is ready and serves what that makes room for, until nothing is due or the port takes no more; the wire
    /// stands still then. How many frames the port took.
    ///
    /// Bound: a burst a turn, of what was due and ready.
    ///
    /// # Errors
    /// The port stopped working.
    pub fn send(&mut self, now: Instant, pool: &mut Pool, port: &mut dyn Port) -> Result<u64, PortError> {
        let mut sent = 0;
        loop {
            self.room.look(port.leaving());
            if self.is_held() && !self.room.is_full(now) {
                self.serve(now, pool);
            }
            let taken = self.hand_over(now, pool, port)?;
            sent += taken;
            if taken == 0 || !self.is_held() {
                break;
            }
        }
        if let Some(queue) = self.queue.as_mut().filter(|queue| queue.held) {
            // What is idle was not due before now.
            if !queue.idle {
                queue.blocked += now.since(queue.free_at);
            }
            queue.free_at = now.max(queue.free_at);
            queue.idle = false;
            self.room.found_full(now);
        }
        Ok(sent)
    }

    /// One burst to the port. How many frames it took.
    fn hand_over(&mut self, now: Instant, pool: &mut Pool, port: &mut dyn Port) -> Result<u64, PortError> {
        for _ in 0..self.room.stale(now) {
            let Some(frame) = self.ready.pop_front() else { break };
            self.lateness.dropped();
            self.room.lost(u64::from(pool.note(frame).length));
            pool.give(frame);
            self.stale += 1;
        }
        if self.ready.is_empty() {
            return Ok(0);
        }
        let before = self.ready.len();
        let offered = before.min(BURST);
        let bytes = room::bytes(pool, &self.ready, offered);
        if !self.room.is_port_full() {
            port.send(pool, &mut self.ready)?;
        }
        let taken = before - self.ready.len();
        self.lateness.took(taken);
        let rest = room::bytes(pool, &self.ready, offered - taken.min(offered));
        self.room.took(now, taken as u64, bytes - rest, self.ready.len());
        self.room.look(port.leaving());
        if taken == 0 {
            self.room.found_full(now);
        }
        Ok(taken as u64)
    }

    /// Frames were handed over to the port whose lateness is not known yet.
    #[must_use]
    #[inline]
    pub fn has_sent(&self) -> bool {
        self.lateness.is_open()
    }

    /// What was handed over left between these two readings of the clock.
    pub fn sent_between(&mut self, before: Instant, after: Instant) {
        self.lateness.settle(before, after);
    }

    /// What was late, and what was dated late.
    #[must_use]
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// Something is due, and found no room at the last [`Path::serve`].
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.held)
    }

    /// When [`Path::serve`] or [`Path::send`] has something to do; `None` while nothing waits or travels.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let departure = self
            .queue
            .as_ref()
            .filter(|queue| queue.server.backlog().packets > 0 || !queue.idle)
            .map(|queue| if queue.held { self.room.retry_at() } else { queue.free_at });
        let retry = (!self.ready.is_empty()).then(|| self.room.retry_at());
        let due = departure.into_iter().chain(self.line.next()).chain(retry).chain(self.changes.next()).min();
        // A trace may have no further opportunity.
        due.filter(|due| *due < Instant::NEVER)
    }

    /// Puts another scheme in force at `now`: what waits waits in it, or is dropped by it (see [`sojourn_aqm::replace`]).
    /// False without a queue.
    pub fn switch(&mut self, now: Instant, pool: &mut Pool, scheme: &Config, label: &str, slot: Option<u64>) -> bool {
        self.serve(now, pool);
        self.put_scheme(now, pool, scheme, label, slot)
    }

    /// As [`Path::switch`], of a path that has been served up to `now`.
    fn put_scheme(&mut self, now: Instant, pool: &mut Pool, scheme: &Config, label: &str, slot: Option<u64>) -> bool {
        let Some(queue) = &mut self.queue else { return false };
        let setting = Setting { scheme: scheme.text(), label: label.to_owned(), slot };
        self.recorder.switched(now, queue.server.wire.rate(), setting);
        let mut host = Host { pool, recorder: &mut self.recorder, log: &mut self.log };
        queue.server.switch(now, &mut host, scheme);
        queue.scheme = scheme.clone();
        self.recorder.backlog(now, queue.server.backlog());
        true
    }

    /// The shaped rate becomes `rate` at `now`; the frame on the wire keeps its time.
    /// False without a queue, and where the rate follows a trace.
    pub fn set_rate(&mut self, now: Instant, pool: &mut Pool, rate: BitRate) -> bool {
        self.serve(now, pool);
        self.put_rate(now, pool, rate)
    }

    /// As [`Path::set_rate`], of a path that has been served up to `now`.
    fn put_rate(&mut self, now: Instant, pool: &mut Pool, rate: BitRate) -> bool {
        let Some(queue) = self.queue.as_mut().filter(|queue| queue.trace.is_none()) else { return false };
        let mut host = Host { pool, recorder: &mut self.recorder, log: &mut self.log };
        queue.server.set_rate(now, &mut host, rate);
        self.room.set_rate(rate);
        let setting = self.recorder.setting().clone();
        self.recorder.switched(now, rate, setting);
        true
    }

    /// The delay line becomes `delay` long for what leaves the queue from now on; order is kept.
    pub fn set_delay(&mut self, delay: Span) {
        self.line.set_span(delay);
        self.room.set_delay(self.line.longest());
    }

    /// A frame that left the queue and found no room at the port for so long is dropped.
    pub fn set_stale_after(&mut self, span: Span) {
        self.room.set_stale_after(span);
    }

    /// Length of the delay line.
    #[must_use]
    pub fn delay(&self) -> Span {
        self.line.span()
    }

    /// Frames to these networks travel delay lines of other lengths from now on; the first that fits counts.
    pub fn set_delays(&mut self, delays: &[(IpNet, Span)]) {
        self.line.set_others(delays);
        self.room.set_delay(self.line.longest());
    }

    /// Takes every frame out and gives it back to the pool, as the process ends. How many there were.
    pub fn clear(&mut self, pool: &mut Pool) -> u64 {
        let mut frames = 0;
        if let Some(queue) = &mut self.queue {
            while let Some(packet) = queue.server.drain() {
                pool.give(Frame::from_index(packet.handle));
                frames += 1;
            }
        }
        for frame in self.line.drain().chain(self.ready.drain(..)) {
            pool.give(frame);
            frames += 1;
        }
        self.room.clear();
        self.lateness.clear();
        frames
    }

    /// Frames that wait, travel or are ready.
    #[must_use]
    #[inline]
    pub fn inside(&self) -> u64 {
        self.backlog().packets + self.room.behind()
    }

    /// What may lie between the queue and the wire.
    #[must_use]
    pub fn room(&self) -> Backlog {
        self.room.bound()
    }

    /// Where the frames are that have arrived and not left.
    #[must_use]
    pub fn frame_counts(&self) -> FrameCounts {
        FrameCounts {
            queued: self.queue.as_ref().map_or(0, |queue| queue.server.backlog().packets),
            delayed: self.line.len() as u64,
            ready: self.ready.len() as u64,
        }
    }

    /// The queue's counters; zeros without a queue.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.queue.as_ref().map_or_else(Counters::default, |queue| *queue.server.counters())
    }

    /// What waits in the queue.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.queue.as_ref().map_or_else(Backlog::default, |queue| queue.server.backlog())
    }

    /// The scheme in force.
    #[must_use]
    pub fn scheme(&self) -> Option<&Config> {
        self.queue.as_ref().map(|queue| &queue.scheme)
    }

    /// The shaped rate.
    #[must_use]
    pub fn rate(&self) -> Option<BitRate> {
        self.queue.as_ref().map(|queue| queue.server.wire.rate())
    }

    /// Shows every named internal of the scheme.
    pub fn internals(&mut self, now: Instant, visit: &mut sojourn_aqm::Internal<'_>) {
        if let Some(queue) = &mut self.queue {
            queue.server.internals(now, visit);
        }
    }

    /// Frames with a fault, in the order of [`Fault::ALL`]. Runts were dropped, the others treated like any.
    #[must_use]
    pub fn faults(&self) -> [u64; 3] {
        self.faults
    }

    /// Time lost to the rate, because the host came later than [`PathConfig::burst`] allows for while frames waited.
    #[must_use]
    pub fn late(&self) -> Span {
        self.queue.as_ref().map_or(Span::ZERO, |queue| queue.late)
    }

    /// Time for which packets waited although they were due, because the port had no room.
    #[must_use]
    pub fn blocked(&self) -> Span {
        self.queue.as_ref().map_or(Span::ZERO, |queue| queue.blocked)
    }

    /// Frames that left the queue, or had none, and were dropped because the port had no room for too long.
    #[must_use]
    pub fn stale(&self) -> u64 {
        self.stale
    }

    /// Frames without a queue that were dropped because [`RING_UNQUEUED`] others waited for the port.
    #[must_use]
    pub fn no_room(&self) -> u64 {
        self.no_room
    }

    /// Frames that passed without a queue.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed
    }
}
