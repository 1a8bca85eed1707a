//! After warm-up no discipline allocates on the packet path.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/counting.rs"]
mod counting;

use counting::allocations;
use sojourn_aqm::registry;
use sojourn_aqm::{Config, Counters, Cx, Dequeued, Discipline, Ecn, Observer, Packet, Random, Reason};
use sojourn_units::{BitRate, Instant, Span};

struct Stream(u64);

impl Random for Stream {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ (self.0 >> 31)
    }
}

struct Sink;

impl Observer for Sink {
    fn dropped(&mut self, _now: Instant, _packet: Packet, _reason: Reason) {}
}

struct Host {
    now: Instant,
    random: Stream,
    sink: Sink,
    counters: Counters,
}

impl Host {
    /// Bursts and lulls of 64 flows: `n` times some arrivals, some departures, and time passing.
    fn drive(&mut self, queue: &mut dyn Discipline, n: u64) {
        for step in 0..n {
            // 100 steps grow the queue by 4 packets each, 100 shrink it by as many.
            let arrivals = if step % 200 < 100 { 10 } else { 2 };
            for k in 0..arrivals {
                let packet = Packet {
                    serial: step * 10 + k,
                    bytes: 1500,
                    flow: (self.random.next_u64() % 64) as u32,
                    ecn: Ecn::from_bits(k as u8),
                    ..Packet::without_signals(0)
                };
                let mut cx = self.cx();
                queue.enqueue(&mut cx, packet);
            }
            for _ in 0..6 {
                if let Dequeued::NotBefore(_) = queue.dequeue(&mut self.cx()) {
                    break;
                }
            }
            self.now += Span::from_millis(3);
        }
    }

    fn cx(&mut self) -> Cx<'_> {
        Cx {
            now: self.now,
            rate: BitRate::from_bit_s(20_000_000),
            random: &mut self.random,
            observer: &mut self.sink,
            counters: &mut self.counters,
            has_dropped: false,
        }
    }
}

/// Allocations in 4000 steps after as many to warm up.
fn of_scheme(text: &str) -> u64 {
    let config: Config = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut queue = config.build();
    let mut host = Host { now: Instant::ZERO, random: Stream(1), sink: Sink, counters: Counters::default() };
    // Warm-up: every flow's queue grows beyond what the traffic fills it to.
    for flow in 0..64 {
        for _ in 0..2000 {
            queue.enqueue(&mut host.cx(), Packet { bytes: 1500, flow, ..Packet::without_signals(0) });
        }
        while queue.drain().is_some() {}
    }
    // And so does a queue for all, where an algorithm admits but few packets of each flow.
    for n in 0..128_000 {
        queue.enqueue(&mut host.cx(), Packet { bytes: 1500, flow: n % 64, ..Packet::without_signals(0) });
    }
    while queue.drain().is_some() {}
    host.drive(&mut *queue, 4000);
    let before = allocations();
    host.drive(&mut *queue, 4000);
    let after = allocations();
    assert!(host.counters.forwarded.packets > 1000, "{text}: traffic must flow");
    after - before
}

#[test]
fn the_packet_path_allocates_nothing_after_warm_up() {
    for entry in registry::ALL {
        let texts = std::iter::once(entry.name.to_owned())
            .chain(entry.presets.iter().map(|preset| format!("{} preset {preset}", entry.name)));
        for text in texts {
            // dAQM's presets with sojourn derivatives need an interarrival time.
            let text = if text.parse::<Config>().is_ok() { text } else { format!("{text} interarrival 1ms") };
            assert_eq!(of_scheme(&text), 0, "{text}");
        }
    }
    // A formula is evaluated at each arrival.
    assert_eq!(of_scheme("dropping_function formula exp(0-5ms/(sojourn+head))*utilisation+average/1000"), 0);
}

#[test]
fn the_counter_counts() {
    let before = allocations();
    let vector: Vec<u8> = Vec::with_capacity(16);
    assert_eq!((allocations() - before, vector.len()), (1, 0));
}
