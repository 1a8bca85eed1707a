//! Measures packets a second on one core through the whole engine of the device: receive, parse, decide, queue, dequeue,
//! measure, send; one clock reading a burst. Ports are memory: frames are in the pool already, as where a network card
//! has put them. Prints one line of JSON.
//!
//! `path [--rounds 20] [--bytes 100] [--loads 0.9,1.2] SCHEME...`
//!
//! Time of the engine is virtual, so that the link has the load asked for; time that is measured is CPU time of this thread.
//! The smallest of each stretch of bursts over the rounds counts, so that the machine's other work does not.

use rustix::time::{clock_gettime, ClockId};
use sojourn_aqm::Config;
use sojourn_device::clock::Clock;
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::path::{Path, PathConfig};
use sojourn_device::pool::{Frame, Pool};
use sojourn_device::port::{Port, PortCounters, PortError};
use sojourn_device::record::{Recorder, Setting};
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::collections::VecDeque;
use std::hint::black_box;
use std::process::ExitCode;

const FLOWS: u32 = 64;
const FRAMES: u32 = 16384;
/// Frames a turn.
const BURST: u64 = 32;
const STRETCH: u64 = 128;
const WARM_UP_STRETCHES: u64 = 20;
const MEASURED_STRETCHES: usize = 60;
/// 10 Gbit/s.
const RATE: u64 = 10_000_000_000;

/// Hands out frames that are filled already, and takes them back.
struct Memory {
    bytes: usize,
    gives: bool,
    counters: PortCounters,
}

impl Port for Memory {
    fn name(&self) -> &str {
        "memory"
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        for _ in 0..if self.gives { BURST } else { 0 } {
            let Some(frame) = pool.take() else {
                self.counters.missed += 1;
                continue;
            };
            pool.filled(frame, self.bytes);
            self.counters.received += 1;
            into.push(frame);
        }
        Ok(())
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        while let Some(frame) = frames.pop_front() {
            self.counters.sent += 1;
            pool.give(frame);
        }
        Ok(())
    }

    fn counters(&mut self) -> PortCounters {
        self.counters
    }
}

/// A UDP datagram of one of the flows.
fn fill(frame: &mut [u8], flow: u32) {
    let length = frame.len() as u16;
    frame.fill(0);
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17]);
    frame[16..18].copy_from_slice(&(length - 14).to_be_bytes());
    frame[26..34].copy_from_slice(&[10, 0, 0, flow as u8, 10, 0, 1, 1]);
    frame[34..36].copy_from_slice(&(flow as u16).to_be_bytes());
    frame[38..40].copy_from_slice(&(length - 34).to_be_bytes());
}

fn engine(scheme: &Config, bytes: usize) -> std::io::Result<Engine> {
    let config = PathConfig {
        scheme: Some(scheme.clone()),
        rate: BitRate::from_bit_s(RATE),
        overhead: Bytes::new(24),
        burst: Span::from_millis(10),
        delay: Span::ZERO,
    };
    let recorder = Recorder::new(2_000_000, config.rate, config.overhead, Setting::default(), Box::new(|_| {}));
    let forth = Path::new(&config, Box::new(Stream::seeded(1)), 1, recorder);
    let back = Path::new(&PathConfig { scheme: None, ..config }, Box::new(Stream::seeded(2)), 1, Recorder::idle());
    let mut pool = Pool::new(FRAMES, 2048, 256)?;
    for index in 0..FRAMES {
        fill(&mut pool.room_of(Frame::from_index(index))[..bytes], index * 7919 % FLOWS);
    }
    let port = |gives| Box::new(Memory { bytes, gives, counters: PortCounters::default() });
    Ok(Engine::new(pool, [port(true), port(false)], [forth, back]))
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// One scheme at one load.
struct Measurement {
    scheme: Config,
    load: f64,
    bytes: usize,
    smallest_ns: Vec<u64>,
    dropped: f64,
    waiting: f64,
}

impl Measurement {
    fn round(&mut self) -> Result<(), String> {
        let mut engine = engine(&self.scheme, self.bytes).map_err(|error| error.to_string())?;
        let clock = Clock::start();
        let turn = Span::from_nanos((BURST as f64 * (self.bytes + 24) as f64 * 8e9 / RATE as f64 / self.load) as u64);
        let mut now = Instant::ZERO;
        let mut stretch = |engine: &mut Engine| {
            for _ in 0..STRETCH {
                // The device reads it as the turn begins, after the burst, and after sending.
                for _ in 0..3 {
                    black_box(clock.now());
                }
                engine.step(now).map_err(|error| error.to_string())?;
                now += turn;
            }
            Ok::<(), String>(())
        };
        for _ in 0..WARM_UP_STRETCHES {
            stretch(&mut engine)?;
        }
        for smallest in &mut self.smallest_ns {
            let start = cpu_ns();
            stretch(&mut engine)?;
            *smallest = (*smallest).min(cpu_ns() - start);
        }
        let counters = engine.path(Direction::AToB).counters();
        self.dropped = counters.dropped_total().packets as f64 / counters.arrived.packets as f64;
        self.waiting = engine.path(Direction::AToB).backlog().packets as f64;
        let [a, _] = engine.port_counters();
        if a.missed > 0 {
            return Err(format!("{}: {} frames found no room in the pool", self.scheme.text(), a.missed));
        }
        Ok(())
    }

    fn json(&self) -> serde_json::Value {
        let packets = MEASURED_STRETCHES as u64 * STRETCH * BURST;
        let ns = self.smallest_ns.iter().sum::<u64>() as f64 / packets as f64;
        serde_json::json!({
            "scheme": self.scheme.text(),
            "load": self.load,
            "frame_bytes": self.bytes,
            "ns_packet": ns,
            "packets_s": 1e9 / ns,
            "dropped": self.dropped,
            "waiting_packets": self.waiting,
        })
    }
}

fn run(arguments: &[String]) -> Result<serde_json::Value, String> {
    let (mut rounds, mut bytes, mut loads, mut schemes) = (20, 100, vec![0.9, 1.2], Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        let wrong = |_| format!("{argument}: not a number");
        match argument.as_str() {
            "--rounds" => rounds = value()?.parse().map_err(wrong)?,
            "--bytes" => bytes = value()?.parse().map_err(wrong)?,
            "--loads" => {
                let texts = value()?.split(',');
                loads =
                    texts.map(|load| load.parse().map_err(|_| format!("--loads: {load}"))).collect::<Result<_, _>>()?;
            }
            scheme => schemes.push(scheme.parse::<Config>().map_err(|error| error.to_string())?),
        }
    }
    if !(60..=1700).contains(&bytes) {
        return Err(format!("--bytes {bytes}: allowed are 60 to 1700"));
    }
    let mut measurements: Vec<Measurement> = schemes
        .iter()
        .flat_map(|scheme| loads.iter().map(move |load| (scheme.clone(), *load)))
        .map(|(scheme, load)| Measurement {
            scheme,
            load,
            bytes,
            smallest_ns: vec![u64::MAX; MEASURED_STRETCHES],
            dropped: 0.0,
            waiting: 0.0,
        })
        .collect();
    for _ in 0..rounds {
        for measurement in &mut measurements {
            measurement.round()?;
        }
    }
    Ok(measurements.iter().map(Measurement::json).collect())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(results) => {
            println!("{results}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("path: {error}");
            ExitCode::from(2)
        }
    }
}
