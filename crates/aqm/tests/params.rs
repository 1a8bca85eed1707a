//! Every scheme of the registry takes other parameters while packets wait, and keeps what it has learnt.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::Stream;
use sojourn_aqm::{registry, Config, Dequeued, Ecn, Excess, Observer, Packet, Reason, Server, Tally};
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

/// 400 packets of 1000 B at once, under a limit that lets them wait.
fn filled(text: &str) -> Host {
    let mut host = Host::new(text);
    for flow in 0..400 {
        let serial = host.server.number();
        let packet = Packet { serial, bytes: 1000, flow: flow % 8 * 0x1234_5677, ..Packet::without_signals(0) };
        host.server.arrive(host.now, &mut host.log, packet);
    }
    host
}

/// Serials of all that waits, in order of arrival.
fn waiting(host: &Host) -> Vec<u64> {
    let mut copy = host.server.clone();
    let mut left: Vec<u64> = core::iter::from_fn(|| copy.drain().map(|packet| packet.serial)).collect();
    left.sort_unstable();
    left
}

#[test]
fn a_lower_limit_acts_as_each_original_says() {
    for entry in registry::ALL {
        let name = entry.name;
        let key = if name == "cake" { "memlimit" } else { "limit" };
        let takes = |text: &str| config(name).with(text).is_ok();
        let mut tried = 0;
        // What has a limit in packets, in bytes, or in either.
        for (high, low) in [("1000p", "10p"), ("1000000B", "10000B")] {
            let from = match name {
                "sfq" => "sfq depth 400p limit 1000p".to_owned(),
                "daqm" | "fq_daqm" => format!("{name} {key} {high} interarrival 1ms"),
                _ => format!("{name} {key} {high}"),
            };
            if !takes(&format!("{key} {high}")) || !takes(&format!("{key} {low}")) {
                continue;
            }
            tried += 1;
            let mut host = filled(&from);
            let (before, drops) = (waiting(&host), host.log.0.len());
            assert!(before.len() > 14, "{from} holds {} packets", before.len());
            let target = config(&from).with(&format!("{key} {low}")).unwrap();
            assert!(host.server.set_params(host.now, &mut host.log, &target));
            let dropped: Vec<u64> = host.log.0[drops..].iter().map(|(_, serial, _)| *serial).collect();
            let overflow = host.log.0[drops..].iter().all(|(_, _, reason)| *reason == Some(Reason::Overflow));
            let left = waiting(&host);
            // What was told and what waits are all that there was.
            assert_eq!(dropped.len() + left.len(), before.len(), "{from}");
            assert!(overflow, "{from}");
            // 10 packets of 1000 B are 10 p, and 10,000 B.
            match entry.excess {
                Excess::Oldest => assert_eq!(left, before[before.len() - 10..], "{from}"),
                // `choke_change` keeps the first 15: its table has 16 places, the next power of two above 10.
                Excess::Newest => assert_eq!(left, before[..15], "{from}"),
                Excess::Turn | Excess::Longest | Excess::Classic => assert_eq!(left.len(), 10, "{from}"),
                Excess::Sent => assert_eq!(left, before, "{from}"),
                Excess::Arrival => {
                    assert_eq!(left, before, "{from}");
                    let serial = host.server.number();
                    let packet = Packet { serial, bytes: 1000, flow: 1, ..Packet::without_signals(0) };
                    host.server.arrive(host.now, &mut host.log, packet);
                    // Of memory: 10,000 / 2304.
                    assert_eq!(host.server.backlog().packets, 4, "{from}");
                }
            }
            let counters = *host.server.counters();
            let Tally { packets, bytes } = counters.dropped_total();
            let backlog = host.server.backlog();
            assert_eq!(packets + counters.forwarded.packets + backlog.packets, counters.arrived.packets, "{from}");
            assert_eq!(bytes + counters.forwarded.bytes + backlog.bytes, counters.arrived.bytes, "{from}");
        }
        assert!(tried > 0, "{name} has no limit");
    }
}

#[test]
fn fair_queues_lose_what_they_would_send_next_and_sfq_from_its_longest_queue() {
    // Flow 0 has 5 packets, and flow 1 has 3; the limit falls to 4.
    let fill = |text: &str| {
        let mut host = Host::new(text);
        for flow in [0, 0, 0, 0, 0, 1, 1, 1] {
            let serial = host.server.number();
            let packet = Packet { serial, bytes: 1500, flow, ..Packet::without_signals(0) };
            host.server.arrive(host.now, &mut host.log, packet);
        }
        host
    };
    let dropped = |host: &Host| host.log.0.iter().map(|(_, serial, _)| *serial).collect::<Vec<_>>();
    // `fq_codel_change` asks `fq_codel_dequeue`: each flow in turn sends 1514 B, which is one packet and a second one that
    // the rest of 14 B lets go: 0 and 1, then 5 and 6.
    let mut host = fill("fq_codel");
    host.set("fq_codel limit 4p");
    assert_eq!((dropped(&host), waiting(&host)), (vec![0, 1, 5, 6], vec![2, 3, 4, 7]));
    // `sfq_change` asks `sfq_drop`: the last packet of the longest queue, until both have 2; among equals here the first queue.
    let mut host = fill("sfq");
    host.set("sfq limit 4p");
    assert_eq!((dropped(&host), waiting(&host)), (vec![4, 3, 2, 7], vec![0, 1, 5, 6]));
    let mut host = fill("sfq headdrop");
    host.set("sfq headdrop limit 4p");
    assert_eq!((dropped(&host), waiting(&host)), (vec![0, 1, 2, 5], vec![3, 4, 6, 7]));
}

#[test]
fn dualpi2_loses_classic_packets_first() {
    let fill = |text: &str| {
        let mut host = Host::new(text);
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct, Ecn::Ect1] {
            let serial = host.server.number();
            let packet = Packet { serial, bytes: 1000, flow: 1, ecn, ..Packet::without_signals(0) };
            host.server.arrive(host.now, &mut host.log, packet);
        }
        host
    };
    // `dualpi2_change` takes heads of the classic queue. Linux has no more to take when that is empty; here the L4S queue follows.
    for (to, left) in [("limit 4p", vec![1, 3, 4, 5]), ("limit 2p", vec![3, 5]), ("limit 4000B", vec![1, 3, 4, 5])] {
        let mut host = fill("dualpi2 limit 100p");
        host.set(&format!("dualpi2 {to}"));
        assert_eq!(waiting(&host), left, "{to}");
    }
    // A limit in time is in bytes at the highest rate: 8 Mbit/s for 3 ms are 3000 B.
    let mut host = fill("dualpi2");
    host.set("dualpi2 limit 3ms");
    assert_eq!(waiting(&host), [1, 3, 5]);
    let mut host = fill("dualpi2");
    host.set("dualpi2 memlimit 9216B");
    assert_eq!(waiting(&host), [1, 3, 4, 5]);
}
