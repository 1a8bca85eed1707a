//! Hosts for unit tests: [`Host`] drives an algorithm over one queue, [`DisciplineHost`] any discipline. Both record what it does.

use crate::{Algorithm, Aqm, Config, Counters, Cx, Dequeued, Discipline, Ecn, Observer, Packet, Queue, Random, Reason};
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_units::{BitRate, Instant, Span};
use std::collections::BTreeMap;

/// A stream of random numbers that a test can also replay by hand (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    state: u64,
    /// Draws so far.
    pub(crate) draws: u64,
    /// When set, every uniform number is this.
    pub(crate) fixed: Option<f64>,
}

impl Stream {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, draws: 0, fixed: None }
    }
}

impl Random for Stream {
    fn next_u64(&mut self) -> u64 {
        self.draws += 1;
        if let Some(u) = self.fixed {
            return ((u * 9_007_199_254_740_992.0) as u64) << 11;
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// What became of dropped packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) dropped: Vec<(u64, Reason)>,
    pub(crate) marked: Vec<u64>,
}

impl Observer for Log {
    fn dropped(&mut self, _now: Instant, packet: Packet, reason: Reason) {
        self.dropped.push((packet.serial, reason));
    }
    fn marked(&mut self, _now: Instant, packet: &Packet) {
        self.marked.push(packet.serial);
    }
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Queued,
    Marked,
    Dropped(Reason),
}

/// One algorithm over one queue, the clock, and the record.
pub(crate) struct Host<A: Algorithm> {
    aqm: A,
    queue: Queue,
    pub(crate) now: Instant,
    pub(crate) rate: BitRate,
    pub(crate) random: Stream,
    pub(crate) log: Log,
    pub(crate) counters: Counters,
    serial: u64,
    pub(crate) bytes: u32,
    pub(crate) ecn: Ecn,
    pub(crate) flow: u32,
    pub(crate) window: u16,
}

impl<A: Algorithm> Host<A> {
    /// 1000-byte packets over 8 Mbit/s: 1 ms each.
    pub(crate) fn new(params: A::Params) -> Self {
        A::check(&params).unwrap();
        Self {
            aqm: A::new(&params),
            queue: Queue::default(),
            now: Instant::ZERO,
            rate: BitRate::from_bit_s(8_000_000),
            random: Stream::new(1),
            log: Log::default(),
            counters: Counters::default(),
            serial: 0,
            bytes: 1000,
            ecn: Ecn::NotEct,
            flow: 0,
            window: 0,
        }
    }

    pub(crate) fn wait(&mut self, span: Span) {
        self.now += span;
    }

    /// Brings periodic updates up to now, then acts, as [`crate::Fifo`] does.
    fn act<R>(&mut self, act: impl FnOnce(&mut A, &mut Cx<'_>, &mut Queue) -> R) -> R {
        self.aqm.advance(self.now, self.rate, &self.queue);
        let mut cx = Cx {
            now: self.now,
            rate: self.rate,
            random: &mut self.random,
            observer: &mut self.log,
            counters: &mut self.counters,
            has_dropped: false,
        };
        act(&mut self.aqm, &mut cx, &mut self.queue)
    }

    /// Puts the algorithm into a state that would take long to reach.
    pub(crate) fn with(&mut self, change: impl FnOnce(&mut A)) {
        change(&mut self.aqm);
    }

    /// One packet arrives.
    pub(crate) fn arrive(&mut self) -> Fate {
        let serial = self.serial;
        self.serial += 1;
        let Self { bytes, ecn, flow, window, now, .. } = *self;
        let packet = Packet { serial, bytes, ecn, flow, window, enqueued: now, ..Packet::without_signals(0) };
        let (dropped, marked) = (self.log.dropped.len(), self.log.marked.len());
        self.act(|aqm, cx, queue| aqm.enqueue(cx, queue, packet));
        if let Some((_, reason)) = self.log.dropped.get(dropped) {
            return Fate::Dropped(*reason);
        }
        if self.log.marked.len() > marked {
            Fate::Marked
        } else {
            Fate::Queued
        }
    }

    /// `n` packets arrive; how many joined the queue.
    pub(crate) fn arrive_many(&mut self, n: usize) -> usize {
        (0..n).filter(|_| !matches!(self.arrive(), Fate::Dropped(_))).count()
    }

    /// The link is free.
    pub(crate) fn send(&mut self) -> Option<Packet> {
        if A::PASSES && self.aqm.passes(self.now, self.rate, &self.queue) {
            return self.queue.pop();
        }
        self.act(|aqm, cx, queue| aqm.dequeue(cx, queue))
    }

    pub(crate) fn len(&self) -> u64 {
        self.queue.len() as u64
    }

    /// Every named internal.
    pub(crate) fn internals(&mut self) -> BTreeMap<&'static str, f64> {
        let mut map = BTreeMap::new();
        self.aqm.advance(self.now, self.rate, &self.queue);
        self.aqm.internals(&mut |name, value| {
            map.insert(name, value);
        });
        map
    }

    /// One named internal.
    pub(crate) fn internal(&mut self, name: &str) -> f64 {
        self.internals()[name]
    }
}

/// The clock, the record and the count of arrivals, for any discipline, which the test gives at every call.
pub(crate) struct DisciplineHost {
    pub(crate) now: Instant,
    pub(crate) rate: BitRate,
    pub(crate) random: Stream,
    pub(crate) log: Log,
    pub(crate) counters: Counters,
    serial: u64,
}

impl DisciplineHost {
    /// At time zero, over 10 Mbit/s.
    pub(crate) fn new() -> Self {
        Self {
            now: Instant::ZERO,
            rate: BitRate::from_bit_s(10_000_000),
            random: Stream::new(1),
            log: Log::default(),
            counters: Counters::default(),
            serial: 0,
        }
    }

    pub(crate) fn cx(&mut self) -> Cx<'_> {
        Cx {
            now: self.now,
            rate: self.rate,
            random: &mut self.random,
            observer: &mut self.log,
            counters: &mut self.counters,
            has_dropped: false,
        }
    }

    pub(crate) fn at_ms(&mut self, ms: f64) {
        self.now = Instant::ZERO + Span::from_seconds(ms / 1e3);
    }

    /// Offers a packet and gives its serial number.
    pub(crate) fn offer(&mut self, queue: &mut dyn Discipline, flow: u32, bytes: u32, ecn: Ecn) -> u64 {
        let serial = self.serial;
        self.serial += 1;
        queue.enqueue(&mut self.cx(), Packet { serial, flow, bytes, ecn, ..Packet::without_signals(0) });
        serial
    }

    /// The serial number of the next packet.
    pub(crate) fn take(&mut self, queue: &mut dyn Discipline) -> Option<u64> {
        self.take_packet(queue).map(|packet| packet.serial)
    }

    pub(crate) fn take_packet(&mut self, queue: &mut dyn Discipline) -> Option<Packet> {
        match queue.dequeue(&mut self.cx()) {
            Dequeued::Packet(packet) => Some(packet),
            _ => None,
        }
    }

    /// Serial numbers until nothing is left.
    pub(crate) fn take_all(&mut self, queue: &mut dyn Discipline) -> Vec<u64> {
        core::iter::from_fn(|| self.take(queue)).collect()
    }

    /// The present value of a named internal.
    pub(crate) fn internal(&self, queue: &mut dyn Discipline, name: &str) -> f64 {
        let mut found = None;
        queue.internals(self.now, self.rate, &mut |key, value| {
            if key == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no internal called {name}"))
    }
}

/// A queue of `n` packets of 1000 bytes that joined at `at`.
pub(crate) fn queue_of(n: usize, at: Instant) -> Queue {
    let mut queue = Queue::default();
    for serial in 0..n {
        queue.push(Packet { serial: serial as u64, bytes: 1000, enqueued: at, ..Packet::without_signals(0) });
    }
    queue
}

/// The error of a text that must be refused.
pub(crate) fn refused(text: &str) -> String {
    match text.parse::<Config>() {
        Ok(config) => panic!("accepted: {text} as {config:?}"),
        Err(error) => alloc::format!("{error}"),
    }
}

/// The canonical text of a text that must be accepted; it must read back to itself.
pub(crate) fn canonical(text: &str) -> String {
    let once = text.parse::<Config>().unwrap().text();
    assert_eq!(once.parse::<Config>().unwrap().text(), once, "the canonical text does not read back");
    once
}

/// `a` within `1e-12` of `b`, relative to the larger of 1 and `|b|`.
#[track_caller]
pub(crate) fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
}

/// Advances an algorithm without a queueing host.
pub(crate) fn advance<A: Aqm>(aqm: &mut A, now: Instant, queue: &Queue) {
    aqm.advance(now, BitRate::from_bit_s(8_000_000), queue);
}
