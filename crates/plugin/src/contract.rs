//! What `sojourn check aqm` runs: the contract of every built-in algorithm, and a workload whose decisions can be compared.

// The body is that of the tests of `sojourn-aqm`, which fail by panics; `guarded` makes texts of them. It is a link, which Cargo
// packages as a file.
#[allow(clippy::expect_used, clippy::panic, dead_code, missing_docs)]
mod body;

use body::Stream;
use sojourn_aqm::{
    registry, replace, Config, Counters, Cx, Dequeued, Ecn, Observer, Packet, Param, Random, Reason, Server,
};
use sojourn_units::{BitRate, Bytes, Instant, Span, Wire};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A part of the suite and what it found; nothing if all is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What was checked.
    pub name: &'static str,
    /// How often, or on what.
    pub scope: String,
    /// The first violation.
    pub violation: Option<String>,
}

/// Strings of operations for each configuration, and bytes of one.
const STRINGS: u64 = 12;
const LENGTH: usize = 2000;

/// Runs the suite for an algorithm that has been added.
///
/// # Errors
/// There is no such algorithm.
pub fn check(name: &str) -> Result<Vec<Part>, String> {
    let entry = registry::find(name).ok_or_else(|| registry::unknown_algorithm(name))?;
    let texts = changes(name, &entry.params());
    let single: Vec<Config> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    let fair: Vec<Config> = [format!("fq:{name} flows 4"), format!("fq:{name} flows 2 limit 9p")]
        .iter()
        .map(|text| text.parse().map_err(|error: sojourn_aqm::ConfigError| error.to_string()))
        .collect::<Result<_, _>>()?;
    let default: Config = name.parse().map_err(|error: sojourn_aqm::ConfigError| error.to_string())?;
    let contract = |configs: &[Config]| {
        configs.iter().find_map(|config| {
            // It is changed to the defaults and back during a run.
            let both = [config.clone(), default.clone()];
            (0..STRINGS).find_map(|seed| guarded(|| body::check_configs(&both, &body::bytes(seed, LENGTH))))
        })
    };
    let parts = vec![
        Part {
            name: "conservation, order, ECN, determinism, copies, reset, changes of parameters",
            scope: format!("{} settings, {STRINGS} strings of {LENGTH} random bytes each", single.len()),
            violation: contract(&single),
        },
        Part {
            name: "the same in each queue of a fair queue",
            scope: format!("fq:{name}, {} settings", fair.len()),
            violation: contract(&fair),
        },
        Part {
            name: "switch of schemes while packets wait",
            scope: "to codel and back, 50 times".into(),
            violation: switches_lose(&default),
        },
        Part {
            name: "a loaded link",
            scope: "200000 packets at 20 Mbit/s, load alternating between 0.6 and 1.5".into(),
            violation: loaded(&default),
        },
    ];
    Ok(parts)
}

/// The defaults, and each parameter with other values.
fn changes(name: &str, params: &[Param]) -> Vec<String> {
    let mut texts = vec![name.to_owned()];
    for param in params {
        let values: &[&str] = match param.kind {
            "time" => &["0ns", "1ns", "3ms", "1s"],
            "bytes" => &["0B", "1514B", "1GiB"],
            "packets" | "packets or bytes" => &["0p", "1p", "7p", "100000p"],
            "probability" => &["0", "1", "0.5"],
            "rate" => &["1bit", "100gbit"],
            "count" => &["0", "1", "65536"],
            "number" => &["0", "0.001", "1000000"],
            "flag" => {
                texts.push(format!("{name} {}", param.name));
                texts.push(format!("{name} no{}", param.name));
                continue;
            }
            _ => continue,
        };
        texts.extend(values.iter().map(|value| format!("{name} {} {value}", param.name)));
    }
    texts
}

/// What a part panics with; nothing if it does not.
fn guarded(part: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(part)).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).or_else(|| Some("a panic".into()))
}

/// Counts drops and writes decisions down.
#[derive(Default)]
struct Book {
    dropped: u64,
    marked: u64,
    digest: u64,
    /// The first decisions, for a comparison that says where two algorithms part.
    first: Vec<String>,
    keep: usize,
}

impl Book {
    fn write(&mut self, now: Instant, what: u64, serial: u64) {
        // FNV-1a over words: equal where all decisions are.
        for word in [now.nanos(), what, serial] {
            self.digest = (self.digest ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        }
        if self.first.len() < self.keep {
            let name = ["drop", "mark", "send"].get(what as usize).copied().unwrap_or_default();
            self.first.push(format!("{name} packet {serial} at {} ns", now.nanos()));
        }
    }
}

impl Observer for Book {
    fn dropped(&mut self, now: Instant, packet: Packet, reason: Reason) {
        self.dropped += 1;
        let _ = reason;
        self.write(now, 0, packet.serial);
    }
    fn marked(&mut self, now: Instant, packet: &Packet) {
        self.marked += 1;
        self.write(now, 1, packet.serial);
    }
}

/// What an algorithm decided on a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Decisions {
    /// Equal where all decisions are, with their instants.
    pub digest: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets sent.
    pub sent: u64,
    /// The first decisions, as many as were asked for.
    pub first: Vec<String>,
    /// See [`sojourn_aqm::Discipline::fault`].
    pub fault: Option<String>,
    /// Internals at the end.
    pub internals: Vec<(&'static str, f64)>,
}

/// The decisions on `packets` arrivals of 16 flows at 20 Mbit/s, whose load is 0.6 and 1.5 for two seconds each by turns.
#[must_use]
pub fn decisions(config: &Config, packets: u64, seed: u64, keep: usize) -> Decisions {
    let rate = BitRate::from_bit_s(20_000_000);
    let mut server = Server::new(config, Wire::new(rate, Bytes::ZERO), Stream(seed ^ 0x5eed));
    let mut book = Book { keep, ..Book::default() };
    let mut arrivals = Stream(seed);
    let (mut now, mut free, mut sent) = (Instant::ZERO, Instant::ZERO, 0);
    for serial in 0..packets {
        // After a wrong answer nothing is worth its time, which may be long: a loop that does not end is cut off each time.
        if serial % 256 == 255 && server.fault().is_some() {
            break;
        }
        let bytes = [1514_u32, 1514, 1514, 590, 64][arrivals.below(5) as usize];
        // 1039 bytes in the mean take 415.7 us at this rate.
        let gap = if (now.nanos() / 2_000_000_000).is_multiple_of(2) { 692_000 } else { 277_000 };
        now += Span::from_nanos(2 * arrivals.below(gap));
        while free <= now {
            let Dequeued::Packet(packet) = server.depart(free, &mut book) else {
                free = now;
                break;
            };
            book.write(free, 2, packet.serial);
            sent += 1;
            free += server.wire.take(packet.bytes);
        }
        let ecn = [Ecn::NotEct, Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][arrivals.below(4) as usize];
        let flow = arrivals.below(16) as u32;
        let packet = Packet { serial, bytes, ecn, flow, source: flow, destination: flow, ..Packet::without_signals(0) };
        server.arrive(now, &mut book, packet);
        if free <= now {
            // The link rests, so the arrival is sent at once.
            if let Dequeued::Packet(packet) = server.depart(now, &mut book) {
                book.write(now, 2, packet.serial);
                sent += 1;
                free = now + server.wire.take(packet.bytes);
            }
        }
    }
    let fault = server.fault();
    let mut internals = Vec::new();
    server.internals(now, &mut |name, value| internals.push((name, value)));
    let Book { dropped, marked, digest, first, .. } = book;
    Decisions { digest, dropped, marked, sent, first, fault, internals }
}

fn loaded(config: &Config) -> Option<String> {
    let seen = decisions(config, 200_000, 1, 0);
    let not_finite = seen.internals.iter().find(|(_, value)| !value.is_finite());
    let odd = not_finite.map(|(name, value)| format!("the internal {name} is {value}"));
    let silent = (seen.sent == 0).then(|| "no packet of 200000 is sent".to_owned());
    seen.fault.or(odd).or(silent)
}

fn cx<'a>(now: Instant, random: &'a mut Stream, book: &'a mut Book, counters: &'a mut Counters) -> Cx<'a> {
    Cx { now, rate: BitRate::from_bit_s(20_000_000), random, observer: book, counters, has_dropped: false }
}

/// Every packet that waited before a switch waits or is dropped after it.
fn switches_lose(config: &Config) -> Option<String> {
    let (mut random, mut book, mut counters) = (Stream(7), Book::default(), Counters::default());
    let codel: Config = "codel".parse().ok()?;
    let mut queue = config.build();
    let mut now = Instant::ZERO;
    for round in 0..50_u64 {
        for serial in 0..20 {
            now += Span::from_micros(500);
            let packet =
                Packet { serial: round * 20 + serial, bytes: 1000, ecn: Ecn::Ect0, ..Packet::without_signals(0) };
            queue.enqueue(&mut cx(now, &mut random, &mut book, &mut counters), packet);
        }
        for _ in 0..5 {
            now += Span::from_micros(400);
            let _ = queue.dequeue(&mut cx(now, &mut random, &mut book, &mut counters));
        }
        let fault = queue.fault();
        let next = if round % 2 == 0 { codel.build() } else { config.build() };
        replace(&mut queue, next, &mut cx(now, &mut random, &mut book, &mut counters));
        let out = counters.forwarded.packets + counters.dropped_total().packets + queue.backlog().packets;
        if counters.arrived.packets != out {
            return Some(format!(
                "{} packets arrived, and {out} are sent, dropped or waiting",
                counters.arrived.packets
            ));
        }
        if let Some(fault) = fault.or_else(|| queue.fault()) {
            return Some(fault);
        }
    }
    None
}
