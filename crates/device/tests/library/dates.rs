//! A thread that loses the processor at any point of a turn: no frame leaves before its time, and what was late or dated late
//! is told, by both ends of the error.

use sojourn_aqm::Random;
use sojourn_device::clock::Time;
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::path::{Path, PathConfig};
use sojourn_device::pool::{Frame, Pool};
use sojourn_device::port::{Port, PortCounters, PortError, BURST};
use sojourn_device::record::Recorder;
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

const DELAY: Span = Span::from_millis(20);
/// A frame of each direction arrives so often on average.
const EVERY: Span = Span::from_micros(200);
const FRAMES: u64 = 10_000;

/// The true time. It passes while the thread works, and where the thread loses the processor.
struct World {
    now: Instant,
    chance: Stream,
}

impl World {
    /// Something is done. One time in 1000 the thread loses the processor meanwhile, for up to 8 ms.
    fn pass(&mut self) -> Instant {
        let lost = if self.chance.uniform() < 0.001 { self.chance.uniform() * 8e6 } else { 0.0 };
        self.now += Span::from_nanos(200 + lost as u64);
        self.now
    }
}

#[derive(Clone)]
struct Shared(Arc<Mutex<World>>);

impl Shared {
    fn pass(&self) -> Instant {
        self.0.lock().unwrap().pass()
    }
}

impl Time for Shared {
    fn now(&self) -> Instant {
        self.pass();
        let now = self.0.lock().unwrap().now;
        self.pass();
        now
    }

    fn when(&self, monotonic_ns: u64) -> Instant {
        Instant::from_nanos(monotonic_ns)
    }
}

/// A port at which numbered frames arrive at times of their own, and which notes when each leaves.
struct Dated {
    world: Shared,
    /// Whether it says when frames arrived.
    tells: bool,
    arriving: VecDeque<(u64, Instant)>,
    left: Arc<Mutex<Vec<(u64, Instant)>>>,
    counters: PortCounters,
}

impl Port for Dated {
    fn name(&self) -> &str {
        "dated"
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        let now = self.world.pass();
        for _ in 0..BURST {
            let Some((number, at)) = self.arriving.front().filter(|(_, at)| *at <= now).copied() else { break };
            let mut contents = [0; 100];
            contents[50..58].copy_from_slice(&number.to_le_bytes());
            let Some(frame) = pool.copy_in(&contents) else { break };
            self.arriving.pop_front();
            pool.note_mut(frame).arrived_ns = if self.tells { at.nanos() } else { 0 };
            into.push(frame);
        }
        self.world.pass();
        Ok(())
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        for _ in 0..BURST {
            let Some(frame) = frames.pop_front() else { break };
            let number = u64::from_le_bytes(pool.contents(frame)[50..58].try_into().unwrap());
            self.left.lock().unwrap().push((number, self.world.pass()));
            pool.give(frame);
        }
        Ok(())
    }

    fn counters(&mut self) -> PortCounters {
        self.counters
    }
}

/// When frames arrive: at random, so that some come while the thread is away.
fn arrivals(seed: u64) -> VecDeque<(u64, Instant)> {
    let (mut chance, mut at) = (Stream::seeded(seed), Instant::ZERO);
    let mut next = |number| {
        at += Span::from_nanos((chance.uniform() * 2.0 * EVERY.nanos() as f64) as u64);
        (number, at)
    };
    (0..FRAMES).map(&mut next).collect()
}

/// True times from arrival to leaving, of both directions, and the engine afterwards.
fn run(scheme: Option<&str>, tells: bool, seed: u64) -> ([Vec<Span>; 2], Engine) {
    let config = PathConfig {
        scheme: scheme.map(|text| text.parse().unwrap()),
        // 100 B take 8 us.
        rate: BitRate::from_bit_s(100_000_000),
        overhead: Bytes::new(0),
        burst: Span::from_millis(20),
        delay: DELAY,
    };
    let path = |seed| Path::new(&config, Box::new(Stream::seeded(seed)), 7, Recorder::idle());
    let world = Shared(Arc::new(Mutex::new(World { now: Instant::ZERO, chance: Stream::seeded(seed) })));
    let arriving = [arrivals(2 * seed), arrivals(2 * seed + 1)];
    let left: [Arc<Mutex<Vec<_>>>; 2] = Default::default();
    let ports = [0, 1].map(|port| -> Box<dyn Port> {
        let (world, arriving) = (world.clone(), arriving[port].clone());
        let left = Arc::clone(&left[1 - port]);
        Box::new(Dated { world, tells, arriving, left, counters: PortCounters::default() })
    });
    let mut engine = Engine::new(Pool::new(4096, 2048, 256).unwrap(), ports, [path(1), path(2)]);
    let count = |left: &Mutex<Vec<_>>| left.lock().unwrap().len();
    // Bound: a turn takes 1 us or more, the last frame arrives after some 2 s and leaves 20 ms later.
    for _ in 0..3_000_000 {
        if left.iter().all(|left| count(left) == FRAMES as usize) {
            break;
        }
        let now = world.now();
        engine.turn(now, &world).unwrap();
    }
    let times = [0, 1].map(|way| {
        let left = left[way].lock().unwrap();
        assert_eq!(left.len(), FRAMES as usize, "every frame leaves");
        left.iter().map(|(number, at)| *at - arriving[way][*number as usize].1).collect()
    });
    (times, engine)
}

#[test]
fn no_frame_is_early_wherever_the_thread_loses_the_processor() {
    // A frame travels for 20 ms, behind a queue after 8 us on the wire.
    for (scheme, least) in [(None, DELAY), (Some("pfifo limit 4000p"), DELAY + Span::from_micros(8))] {
        for tells in [false, true] {
            let (times, _) = run(scheme, tells, 3);
            for way in times {
                let early = way.iter().filter(|time| **time < least).count();
                assert_eq!(early, 0, "{scheme:?}, the port tells: {tells}");
                // The thread was away while frames arrived, so the test could have failed.
                let late = way.iter().filter(|time| **time > least + Span::from_millis(2)).count();
                assert!(late > 100, "{late}");
            }
        }
    }
}

#[test]
fn what_is_late_or_dated_late_lies_between_both_ends_of_the_error() {
    // Without a queue a frame's nominal time is 20 ms after its arrival, so that its true lateness is known here. The sums over
    // all frames differ by the mean times the number; a nanosecond is for the division.
    let ms = |sampled: &sojourn_measure::Sampled| sampled.moments.mean_ms().unwrap();
    for tells in [false, true] {
        let (times, engine) = run(None, tells, 5);
        for (direction, way) in Direction::ALL.into_iter().zip(times) {
            let late: Vec<f64> = way.iter().map(|time| time.saturating_sub(DELAY).seconds() * 1e3).collect();
            let (mean, longest) = (late.iter().sum::<f64>() / FRAMES as f64, late.iter().copied().fold(0.0, f64::max));
            let told = engine.path(direction).lateness();
            assert_eq!([&told.least, &told.most, &told.dated].map(|one| one.moments.count()), [FRAMES; 3]);
            let (least, most) = (ms(&told.least), ms(&told.most) + ms(&told.dated));
            assert!(least <= mean + 1e-6 && mean <= most + 1e-6, "{tells}: {least} <= {mean} <= {most}");
            // The histogram is exact to 0.8 %.
            let of = |sampled: &sojourn_measure::Sampled| sampled.histogram.quantile_ms(1.0).unwrap();
            assert!(longest <= (of(&told.most) + of(&told.dated)) * 1.008, "{tells}: {longest}");
            if tells {
                // Time passes no frame that has not been read.
                assert_eq!(ms(&told.dated), 0.0);
            }
        }
    }
}
