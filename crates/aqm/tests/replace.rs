//! Every scheme of the registry takes over the queue of every other without losing count of a packet.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::Stream;
use sojourn_aqm::{
    registry, replace, Backlog, Config, Counters, Cx, Dequeued, Discipline, Ecn, Observer, Packet, Reason,
};
use sojourn_units::{BitRate, Instant, Span};
use std::collections::BTreeMap;

#[derive(Default)]
struct Log(Vec<(Instant, Packet, Reason)>);

impl Observer for Log {
    fn dropped(&mut self, now: Instant, packet: Packet, reason: Reason) {
        self.0.push((now, packet, reason));
    }
}

struct Host {
    queue: Box<dyn Discipline>,
    now: Instant,
    random: Stream,
    log: Log,
    counters: Counters,
    /// When each waiting packet had joined, by serial number.
    inside: BTreeMap<u64, Instant>,
    arrivals: u64,
}

impl Host {
    fn new(text: &str) -> Self {
        Self {
            queue: config(text).build(),
            now: Instant::ZERO,
            random: Stream(1),
            log: Log::default(),
            counters: Counters::default(),
            inside: BTreeMap::new(),
            arrivals: 0,
        }
    }

    fn cx(&mut self) -> (&mut Box<dyn Discipline>, Cx<'_>) {
        let cx = Cx {
            now: self.now,
            rate: BitRate::from_bit_s(8_000_000),
            random: &mut self.random,
            observer: &mut self.log,
            counters: &mut self.counters,
            has_dropped: false,
        };
        (&mut self.queue, cx)
    }

    /// A packet of 1000 bytes of one of eight flows, every 100 us.
    fn arrive(&mut self) {
        self.now += Span::from_micros(100);
        let packet = Packet {
            serial: self.arrivals,
            bytes: 1000,
            flow: (self.arrivals % 8) as u32 * 0x1234_5677,
            ecn: Ecn::NotEct,
            ..Packet::without_signals(0)
        };
        self.inside.insert(packet.serial, self.now);
        self.arrivals += 1;
        let (queue, mut cx) = self.cx();
        queue.enqueue(&mut cx, packet);
        self.settle();
    }

    fn switch(&mut self, text: &str) {
        let next = config(text).build();
        let (queue, mut cx) = self.cx();
        replace(queue, next, &mut cx);
    }

    /// Takes what was dropped out of the model.
    fn settle(&mut self) -> Vec<(u64, Reason)> {
        let dropped = std::mem::take(&mut self.log.0);
        let one = |(now, packet, reason): (Instant, Packet, Reason)| {
            assert_eq!(now, self.now, "dropped at another instant");
            assert_eq!(self.inside.remove(&packet.serial), Some(packet.enqueued), "not held, or its age changed");
            (packet.serial, reason)
        };
        dropped.into_iter().map(one).collect()
    }

    /// arrived = left + dropped + queued, in packets and in bytes, and what is queued is what the model holds.
    fn conserves(&self, what: &str) {
        let Backlog { packets, bytes } = self.queue.backlog();
        let (c, dropped) = (&self.counters, self.counters.dropped_total());
        assert_eq!(packets, self.inside.len() as u64, "{what}: backlog");
        assert_eq!(c.arrived.packets, self.arrivals, "{what}: an arrival counted twice or never");
        assert_eq!(c.arrived.packets, c.forwarded.packets + dropped.packets + packets, "{what}: packets");
        assert_eq!(c.arrived.bytes, c.forwarded.bytes + dropped.bytes + bytes, "{what}: bytes");
    }

    /// Sends everything that may go; each packet is one that waits, as old as it is.
    fn send_all(&mut self, what: &str) {
        // A shaper holds packets for a while: time goes on. Bound: what waits, and as many waits.
        for _ in 0..4 * self.arrivals {
            let (queue, mut cx) = self.cx();
            let given = queue.dequeue(&mut cx);
            self.settle();
            match given {
                Dequeued::Packet(packet) => {
                    assert_eq!(self.inside.remove(&packet.serial), Some(packet.enqueued), "{what}: {packet:?}");
                }
                Dequeued::NotBefore(at) => self.now = at,
                Dequeued::Empty => return,
            }
            self.conserves(what);
        }
        panic!("{what}: packets wait for ever");
    }
}

fn config(text: &str) -> Config {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_scheme_takes_over_the_queue_of_every_other() {
    let names: Vec<&str> = registry::ALL.iter().map(|entry| entry.name).collect();
    for from in &names {
        for to in &names {
            let what = format!("{from} to {to}");
            let mut host = Host::new(from);
            (0..60).for_each(|_| host.arrive());
            host.now += Span::from_millis(3);
            host.switch(to);
            host.settle();
            host.conserves(&what);
            (0..20).for_each(|_| host.arrive());
            host.conserves(&what);
            host.send_all(&what);
            assert!(host.inside.is_empty(), "{what}: packets left behind");
        }
    }
}

#[test]
fn a_scheme_that_holds_as_much_drops_nothing() {
    // 60 packets of 1000 bytes, 100 us apart, are below every default limit but that of the threshold (15 packets); RED's
    // family compares an average with 30 packets, which after 60 arrivals at a weight of 0.002 is about
    // 0.002 * (0 + 1 + ... + 59) = 3.5; BLUE, REM and the like decide by chance.
    let certain = ["threshold", "choke", "black", "fred"];
    for entry in registry::ALL.iter().filter(|entry| !certain.contains(&entry.name)) {
        let mut host = Host::new("pfifo");
        (0..60).for_each(|_| host.arrive());
        host.switch(entry.name);
        assert_eq!(host.settle(), [], "{}", entry.name);
    }
}

#[test]
fn what_the_new_limit_cannot_hold_is_dropped_for_that_reason() {
    // Ten wait; the new queue holds four. Tail drop keeps the four oldest, a head drop the four youngest.
    let mut host = Host::new("pfifo");
    (0..10).for_each(|_| host.arrive());
    host.switch("pfifo limit 4p");
    let tail: Vec<_> = (4..10).map(|serial| (serial, Reason::Overflow)).collect();
    assert_eq!(host.settle(), tail);
    host.conserves("tail");
    // The threshold of three refuses the fourth, by its own rule.
    host.switch("threshold q_th 3p");
    assert_eq!(host.settle(), [(3, Reason::Early)]);
}

#[test]
fn packets_keep_their_age_and_the_order_of_arrival() {
    let mut host = Host::new("fq_codel");
    (0..24).for_each(|_| host.arrive());
    let joined = host.inside.clone();
    // Three rounds of fair queueing and back to one queue.
    host.switch("pfifo");
    let mut last = None;
    while let Some(packet) = host.queue.drain() {
        assert_eq!(Some(&packet.enqueued), joined.get(&packet.serial));
        assert!(last < Some(packet.serial), "{last:?} before {}", packet.serial);
        last = Some(packet.serial);
    }
    assert_eq!(last, Some(23));
}

#[test]
fn no_chance_is_taken_on_a_packet_that_was_admitted() {
    // A drop probability of 0.5 at any length: all of 60 fresh arrivals pass with probability 2^-60.
    let half = "dropping_function table 0:0.5 limit 1000p";
    let mut fresh = Host::new(half);
    (0..60).for_each(|_| fresh.arrive());
    assert!(fresh.counters.dropped[Reason::Early as usize].packets > 0);
    let mut moved = Host::new("pfifo");
    (0..60).for_each(|_| moved.arrive());
    moved.switch(half);
    assert_eq!(moved.settle(), []);
}
