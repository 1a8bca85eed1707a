//! Every scheme of the registry takes other parameters while packets wait, and keeps what it has learnt.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::Stream;
use sojourn_aqm::{registry, Config, Dequeued, Ecn, Observer, Packet, Reason, Server};
use sojourn_units::{BitRate, Bytes, Instant, Span, Wire};

#[derive(Default)]
struct Log(Vec<(Instant, u64, Option<Reason>)>);

impl Observer for Log {
    fn dropped(&mut self, now: Instant, packet: Packet, reason: Reason) {
        self.0.push((now, packet.serial, Some(reason)));
    }

    fn marked(&mut self, now: Instant, packet: &Packet) {
        self.0.push((now, packet.serial, None));
    }
}

/// A queue of 8 Mbit/s that is offered more than it sends for two thirds of the time.
struct Host {
    server: Server<Stream>,
    log: Log,
    sent: Vec<u64>,
    now: Instant,
    next: Instant,
    arrivals: u64,
}

fn config(text: &str) -> Config {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

impl Host {
    fn new(text: &str) -> Self {
        let wire = Wire::new(BitRate::from_bit_s(8_000_000), Bytes::ZERO);
        let server = Server::new(&config(text), wire, Stream(1));
        let (now, next) = (Instant::ZERO, Instant::ZERO);
        Self { server, log: Log::default(), sent: Vec::new(), now, next, arrivals: 0 }
    }

    /// Arrivals of 1000 B of eight flows for 3 s, every 0.8 ms or, in every third half second, 2 ms.
    fn run(&mut self, until: Span) {
        let until = Instant::ZERO + until;
        while self.now < until {
            while self.next <= self.now {
                let at = self.next;
                if let Dequeued::Packet(packet) = self.server.depart(at, &mut self.log) {
                    self.sent.push(packet.serial);
                }
                self.next = at + Span::from_millis(1);
            }
            let serial = self.server.number();
            let packet = Packet {
                serial,
                bytes: 1000,
                flow: (self.arrivals % 8) as u32 * 0x1234_5677,
                ecn: if self.arrivals.is_multiple_of(3) { Ecn::Ect0 } else { Ecn::NotEct },
                ..Packet::without_signals(0)
            };
            self.server.arrive(self.now, &mut self.log, packet);
            self.arrivals += 1;
            let slow = (self.now.nanos() / 500_000_000) % 3 == 2;
            self.now += Span::from_micros(if slow { 2000 } else { 800 });
        }
    }

    fn set(&mut self, text: &str) {
        assert!(self.server.set_params(self.now, &mut self.log, &config(text)), "{text}");
    }

    /// By name; as bits, since some are not a number.
    fn internals(&mut self) -> Vec<(&'static str, u64)> {
        let mut all = Vec::new();
        self.server.internals(self.now, &mut |name, value| all.push((name, value.to_bits())));
        all
    }
}

#[test]
fn the_same_parameters_change_nothing() {
    for entry in registry::ALL {
        let (mut left, mut alone) = (Host::new(entry.name), Host::new(entry.name));
        for step in 1..=30 {
            left.run(Span::from_millis(100 * step));
            alone.run(Span::from_millis(100 * step));
            left.set(entry.name);
            // Which brings every queue of a fair one up to the present, too: PIE leaves out updates of a queue that was not
            // looked at for long.
            alone.server.set_rate(alone.now, &mut alone.log, BitRate::from_bit_s(8_000_000));
            assert_eq!(left.internals(), alone.internals(), "{} at {step}", entry.name);
        }
        assert_eq!((&left.log.0, &left.sent), (&alone.log.0, &alone.sent), "{}", entry.name);
        assert!(entry.name == "pfifo" || entry.name == "bfifo" || !left.log.0.is_empty() || left.sent.len() > 1000);
    }
}

#[test]
fn what_has_been_learnt_is_kept_and_new_values_act() {
    // The learnt internal, a change of a parameter that it does not depend on, and one that shows whether the change acts.
    for (text, changed, learnt) in [
        ("pie", "pie limit 500p", "drop_probability"),
        ("fq_pie", "fq_pie quantum 3000B", "drop_probability"),
        ("pi", "pi limit 500p", "drop_probability"),
        ("rem", "rem limit 500p", "price"),
        ("blue limit 30p", "blue limit 40p", "probability"),
        ("red", "red limit 500p", "avg"),
        ("ared", "ared limit 500p", "max_p"),
        ("codel", "codel limit 500p", "count"),
        ("cobalt", "cobalt limit 500p", "count"),
        ("avq", "avq limit 500p", "virtual_queue"),
        ("dualpi2", "dualpi2 limit 500p", "base_probability"),
    ] {
        let mut host = Host::new(text);
        host.run(Span::from_millis(900));
        let of = |all: Vec<(&'static str, u64)>| {
            let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
            let found = all.iter().find(|(name, _)| *name == learnt);
            f64::from_bits(found.unwrap_or_else(|| panic!("{text} has {names:?}")).1)
        };
        let before = of(host.internals());
        assert!(before > 0.0, "{text}: {learnt} is {before}");
        host.set(changed);
        assert_eq!(of(host.internals()), before, "{text}");
    }
    // From 5 ms to 50 ms of target at 900 ms: fewer drops than without.
    let drops = |change: &str| {
        let mut host = Host::new("codel limit 1000p");
        host.run(Span::from_millis(900));
        host.set(change);
        host.run(Span::from_millis(3000));
        host.log.0.len()
    };
    assert!(drops("codel limit 1000p target 50ms interval 500ms") < drops("codel limit 1000p") / 2);
}

#[test]
fn another_algorithm_is_refused_and_so_is_a_table_of_another_size() {
    let mut host = Host::new("pie");
    assert!(!host.server.set_params(host.now, &mut host.log, &config("codel")));
    let why = config("fq_codel").with("flows 8").expect_err("refused").to_string();
    assert!(why.starts_with("fq_codel: flows cannot change during a run; allowed: limit, quantum"), "{why}");
    assert!(config("fq_codel").with("flows 1024").is_ok());
    let why = config("codel").with("taget 8ms").expect_err("refused").to_string();
    assert!(why.contains("did you mean \"target\""), "{why}");
}
