//! Measures the CPU time of an enqueue and a dequeue, for each scheme given as an argument, on one packet sequence;
//! prints one line of JSON. `benches/cost.py` calls it and makes the table.
//!
//! `cost [--rounds 40] [--loads 0.7,1.2] SCHEME...`
//! `cost --rounds 0 [--loads 0.7,1.2] SCHEME...`: one round without the clock, for programs that count instructions.
//! `cost --sequence FILE`: writes the sequence, for programs that measure others on it.
//!
//! A round runs every scheme once at every load, new each time, so that a change of the machine's speed meets all.
//! Its work is the same in every round, so the smallest time of each stretch of 2048 packets, over the rounds, is
//! that stretch without the machine's other work; their sum is the result. Stretches before the warm-up's end are
//! left out.

mod sequence;

use rustix::time::{clock_gettime, ClockId};
use sequence::{Arrival, Generator, SERVICE_NS_PER_BYTE};
use sojourn_aqm::{Config, Counters, Cx, Dequeued, Discipline, Ecn, Observer, Packet, Reason};
use sojourn_units::{BitRate, Instant, Span};
use std::process::ExitCode;
use std::slice::ChunksExact;

const STRETCH: usize = 2048;
const WARM_UP_STRETCHES: usize = 16;
const MEASURED_STRETCHES: usize = 32;

/// No dequeue is due: nothing waits.
const IDLE: u64 = u64::MAX;

#[derive(Default)]
struct Dropped(u64);

impl Observer for Dropped {
    fn dropped(&mut self, _: Instant, packet: Packet, _: Reason) {
        self.0 += u64::from(packet.bytes);
    }
}

/// One discipline before one link.
struct Host {
    discipline: Box<dyn Discipline>,
    random: Generator,
    observer: Dropped,
    counters: Counters,
    now_ns: u64,
    /// When the link asks next.
    asks_ns: u64,
    serial: u64,
}

impl Host {
    fn new(config: &Config) -> Self {
        Self {
            discipline: config.build(),
            random: Generator::new(1),
            observer: Dropped::default(),
            counters: Counters::default(),
            now_ns: 0,
            asks_ns: IDLE,
            serial: 0,
        }
    }

    /// The link asks at `at_ns` and is busy, or waits, until its next question.
    #[inline]
    fn dequeue(&mut self, at_ns: u64) {
        let mut cx = context(at_ns, &mut self.random, &mut self.observer, &mut self.counters);
        self.asks_ns = match self.discipline.dequeue(&mut cx) {
            Dequeued::Packet(packet) => at_ns + u64::from(packet.bytes) * SERVICE_NS_PER_BYTE,
            Dequeued::NotBefore(instant) => instant.nanos().max(at_ns + 1),
            Dequeued::Empty => IDLE,
        };
    }

    #[inline]
    fn run(&mut self, arrivals: &[Arrival], gap_scale: u64) {
        for arrival in arrivals {
            self.now_ns += (u64::from(arrival.gap_ns) * gap_scale) >> 16;
            while self.asks_ns <= self.now_ns {
                self.dequeue(self.asks_ns);
            }
            self.serial += 1;
            let flow = u32::from(arrival.flow).wrapping_add(1).wrapping_mul(0x9E37_79B1);
            let packet = Packet {
                serial: self.serial,
                bytes: u32::from(arrival.bytes),
                flow,
                source: flow ^ 0x5bd1_e995,
                destination: flow.rotate_left(16),
                window: 1 + u16::from(arrival.flow & 31),
                ecn: Ecn::from_bits(arrival.ecn),
                ..Packet::without_signals(0)
            };
            let mut cx = context(self.now_ns, &mut self.random, &mut self.observer, &mut self.counters);
            self.discipline.enqueue(&mut cx, packet);
            if self.asks_ns == IDLE {
                self.dequeue(self.now_ns);
            }
        }
    }
}

#[inline]
fn context<'a>(
    now_ns: u64,
    random: &'a mut Generator,
    observer: &'a mut Dropped,
    counters: &'a mut Counters,
) -> Cx<'a> {
    let rate = BitRate::from_bit_s(8_000_000_000 / SERVICE_NS_PER_BYTE);
    Cx { now: Instant::ZERO + Span::from_nanos(now_ns), rate, random, observer, counters, has_dropped: false }
}

/// Nanoseconds since some instant.
type Clock = fn() -> u64;

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// One scheme at one load: the smallest time of each stretch, and what the scheme did.
struct Measurement {
    scheme: String,
    config: Config,
    load: f64,
    smallest_ns: Vec<u64>,
    dropped: f64,
    marked: f64,
}

impl Measurement {
    fn round(&mut self, arrivals: &[Arrival], clock: Clock) {
        let gap_scale = (65_536.0 / self.load) as u64;
        let mut host = Host::new(&self.config);
        let mut stretches = arrivals.chunks_exact(STRETCH);
        for stretch in stretches.by_ref().take(WARM_UP_STRETCHES) {
            host.run(stretch, gap_scale);
        }
        let warm = host.counters;
        self.measured(&mut host, stretches, gap_scale, clock);
        let share = |after: u64, before: u64| (after - before) as f64 / (MEASURED_STRETCHES * STRETCH) as f64;
        self.dropped = share(host.counters.dropped_total().packets, warm.dropped_total().packets);
        self.marked = share(host.counters.marked.packets, warm.marked.packets);
    }

    /// The stretches that count, in a function that callgrind can tell from the rest.
    #[inline(never)]
    fn measured(&mut self, host: &mut Host, stretches: ChunksExact<'_, Arrival>, gap_scale: u64, clock: Clock) {
        for (stretch, smallest_ns) in stretches.zip(&mut self.smallest_ns) {
            let start_ns = clock();
            host.run(stretch, gap_scale);
            *smallest_ns = (*smallest_ns).min(clock() - start_ns);
        }
    }

    fn json(&self) -> serde_json::Value {
        let total_ns: u64 = self.smallest_ns.iter().sum();
        serde_json::json!({
            "scheme": self.scheme,
            "load": self.load,
            "ns_per_packet": total_ns as f64 / (MEASURED_STRETCHES * STRETCH) as f64,
            "dropped": self.dropped,
            "marked": self.marked,
        })
    }
}

fn run() -> Result<(), String> {
    let mut rounds = 40_u32;
    let mut loads = vec![0.7, 1.2];
    let mut configs: Vec<(String, Config)> = Vec::new();
    let arrivals = sequence::arrivals((WARM_UP_STRETCHES + MEASURED_STRETCHES) * STRETCH);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if !word.starts_with("--") {
            configs.push((word.clone(), word.parse().map_err(|error| format!("{word}: {error}"))?));
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--rounds" => rounds = value.parse().map_err(|error| format!("{word} {value}: {error}"))?,
            "--loads" => {
                let read: Result<Vec<f64>, _> = value.split(',').map(str::parse).collect();
                loads = read.map_err(|error| format!("{word} {value}: {error}"))?;
            }
            "--sequence" => {
                return std::fs::write(&value, sequence::bytes(&arrivals)).map_err(|error| format!("{value}: {error}"));
            }
            _ => return Err(format!("unknown option {word}")),
        }
    }
    let mut measurements = Vec::new();
    for &load in &loads {
        for (scheme, config) in &configs {
            let (scheme, config) = (scheme.clone(), config.clone());
            let smallest_ns = vec![u64::MAX; MEASURED_STRETCHES];
            measurements.push(Measurement { scheme, config, load, smallest_ns, dropped: 0.0, marked: 0.0 });
        }
    }
    // Under valgrind the clock cannot be read.
    let clock: Clock = if rounds == 0 { || 0 } else { cpu_ns };
    for _ in 0..rounds.max(1) {
        for measurement in &mut measurements {
            measurement.round(&arrivals, clock);
        }
    }
    println!("{}", serde_json::Value::Array(measurements.iter().map(Measurement::json).collect()));
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("cost: {message}");
            ExitCode::from(2)
        }
    }
}
