//! A way out that is slower than the set rate, or gone: packets wait in the scheme's queue, and every frame is counted once.

use sojourn_aqm::Backlog;
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::path::{Path, PathConfig, RING_UNQUEUED};
use sojourn_device::pool::{Frame, Pool};
use sojourn_device::port::{loopback, FarEnd, Port, PortCounters, PortError};
use sojourn_device::record::{Recorder, Setting};
use sojourn_measure::Sampled;
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Of every frame.
const LENGTH: u64 = 1000;
const MBIT: u64 = 1_000_000;

/// Sends at a rate of its own, in virtual time; at rate 0 nothing.
struct Slow {
    now: Arc<AtomicU64>,
    bit_s: Arc<AtomicU64>,
    /// When its wire is free.
    free_at: u64,
    /// Frames that it takes at most before they have left.
    room: usize,
    taken: VecDeque<Frame>,
    counters: PortCounters,
}

impl Slow {
    /// Sends what has had its time.
    fn work(&mut self, pool: &mut Pool) {
        let (now, bit_s) = (self.now.load(Ordering::Relaxed), self.bit_s.load(Ordering::Relaxed));
        while bit_s > 0 && self.free_at <= now {
            let Some(frame) = self.taken.pop_front() else {
                self.free_at = now;
                return;
            };
            self.free_at += LENGTH * 8 * 1_000_000_000 / bit_s;
            self.counters.sent += 1;
            pool.give(frame);
        }
        self.free_at = if bit_s == 0 { now } else { self.free_at };
    }
}

impl Port for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn receive(&mut self, pool: &mut Pool, _: &mut Vec<Frame>) -> Result<(), PortError> {
        self.work(pool);
        Ok(())
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        let room = self.room - self.taken.len();
        self.taken.extend(frames.drain(..frames.len().min(room)));
        self.work(pool);
        Ok(())
    }

    fn leaving(&self) -> Backlog {
        let frames = self.taken.len() as u64;
        Backlog { packets: frames, bytes: frames * LENGTH }
    }

    fn counters(&mut self) -> PortCounters {
        self.counters
    }
}

/// The device between a source and a slow port.
struct World {
    engine: Engine,
    source: FarEnd,
    now: Arc<AtomicU64>,
    bit_s: Arc<AtomicU64>,
    put: u64,
}

impl World {
    fn new(scheme: Option<&str>, set_mbit: u64, port_mbit: u64, room: usize, delay: Span) -> Self {
        let config = PathConfig {
            scheme: scheme.map(|text| text.parse().unwrap()),
            rate: BitRate::from_bit_s(set_mbit * MBIT),
            overhead: Bytes::new(0),
            burst: Span::from_millis(1),
            delay,
        };
        let recorder = Recorder::new(u64::MAX, config.rate, config.overhead, Setting::default(), Box::new(|_| {}));
        let forth = Path::new(&config, Box::new(Stream::seeded(1)), 7, recorder);
        let back = PathConfig { scheme: None, delay: Span::ZERO, ..config };
        let back = Path::new(&back, Box::new(Stream::seeded(2)), 7, Recorder::idle());
        let (now, bit_s) = (Arc::<AtomicU64>::default(), Arc::new(AtomicU64::new(port_mbit * MBIT)));
        let slow = Slow {
            now: Arc::clone(&now),
            bit_s: Arc::clone(&bit_s),
            free_at: 0,
            room,
            taken: VecDeque::new(),
            counters: PortCounters::default(),
        };
        let (a, source) = loopback("a");
        let pool = Pool::new(4096, 2048, 0).unwrap();
        let engine = Engine::new(pool, [Box::new(a), Box::new(slow)], [forth, back]);
        Self { engine, source, now, bit_s, put: 0 }
    }

    /// From `from` to `to`, one frame arrives every `every_us`; the device looks every 20 us.
    fn run(&mut self, from_ms: u64, to_ms: u64, every_us: u64) {
        for us in (from_ms * 1000..to_ms * 1000).step_by(20) {
            if us % every_us == 0 {
                let mut frame = vec![0; LENGTH as usize];
                frame[12..14].copy_from_slice(&[0x88, 0xb5]);
                self.source.put(frame);
                self.put += 1;
            }
            self.now.store(us * 1000, Ordering::Relaxed);
            self.engine.step(Instant::ZERO + Span::from_micros(us)).unwrap();
            self.assert_conserved();
        }
    }

    /// Every frame is in one place, or was counted once.
    fn assert_conserved(&mut self) {
        let [_, b] = self.engine.port_counters();
        let at = self.engine.frame_counts(Direction::AToB);
        let leaving = self.engine.ports()[1].leaving().packets;
        let path = self.engine.path(Direction::AToB);
        let dropped = path.counters().dropped_total().packets + path.stale() + path.no_room();
        assert_eq!(self.put, b.sent + leaving + dropped + at.queued + at.delayed + at.ready);
        let inside = at.queued + at.delayed + at.ready + leaving;
        assert_eq!(self.engine.pool.frames() as u64, self.engine.pool.free() as u64 + inside);
    }

    fn sent(&mut self) -> u64 {
        self.engine.port_counters()[1].sent
    }

    fn path(&self) -> &Path {
        self.engine.path(Direction::AToB)
    }

    /// Sojourn times in the queue since it was last asked.
    fn sojourn(&mut self) -> &Sampled {
        self.engine.path_mut(Direction::AToB).0.recorder.take_live()
    }
}

/// A frame of 1000 B takes 0.08 ms at the set 100 Mbit/s and 0.8 ms at the port's 10 Mbit/s; 20 Mbit/s are offered, one every
/// 0.4 ms. Behind the queue lie 32 frames: 2 ms at the set rate are 25.
#[test]
fn delay_and_drops_behind_a_slow_port_are_those_of_the_scheme() {
    // A port that takes one frame at a time, and one that takes all and says what has not left, as AF_XDP does.
    for room in [1, 2048] {
        let mut world = World::new(Some("pfifo limit 100p"), 100, 10, room, Span::ZERO);
        world.run(0, 1000, 400);
        world.sojourn();
        world.run(1000, 3000, 400);
        // Each waits for the 99 or 100 before it.
        let mean_ms = world.sojourn().moments.mean_ms().unwrap();
        assert!((79.0..=80.9).contains(&mean_ms), "{room}: {mean_ms} ms");
        let at = world.engine.frame_counts(Direction::AToB);
        assert!(at.queued >= 99, "{room}: {at:?}");
        let behind = at.delayed + at.ready + world.engine.ports()[1].leaving().packets;
        assert!((30..=33).contains(&behind), "{room}: {behind}");
        // 7500 were offered, 3750 sent: what is not inside was dropped, by the scheme alone.
        let dropped = world.path().counters().dropped_total().packets;
        assert_eq!((world.put, world.path().stale(), world.path().no_room()), (7500, 0, 0));
        assert!(world.sent().abs_diff(3750) <= 2, "{room}: {}", world.sent());
        assert!(dropped.abs_diff(7500 - 3750 - 132) <= 4, "{room}: {dropped}");
        // It was due all the time, and nothing was lost for want of the host.
        assert!(world.path().blocked() > Span::from_millis(2500), "{room}: {:?}", world.path().blocked());
        assert_eq!(world.path().late(), Span::ZERO);
    }
}

/// CoDel at a set 100 Mbit/s before a port of 10 Mbit/s drops as CoDel at a set 10 Mbit/s before a fast one.
#[test]
fn codel_keeps_its_target_behind_a_slow_port() {
    let run = |set_mbit, port_mbit| {
        let mut world = World::new(Some("codel"), set_mbit, port_mbit, 1, Span::ZERO);
        // 10.5 Mbit/s: one frame every 760 us. Of 1316 a second 66 are too many: what CoDel drops after 44 in a row, within 2 s.
        world.run(0, 4000, 760);
        world.sojourn();
        world.run(4000, 14_000, 760);
        let sojourn_ms = world.sojourn().moments.mean_ms().unwrap();
        (sojourn_ms, world.path().counters().dropped_total().packets, world.path().stale())
    };
    let ((behind_slow, dropped, stale), (alone, expected, _)) = (run(100, 10), run(10, 1000));
    assert_eq!(stale, 0);
    // 14 s x 66.
    assert!(expected > 800 && dropped.abs_diff(expected) * 20 < expected, "{dropped} and {expected}");
    assert!((behind_slow - alone).abs() < 2.0 && behind_slow < 20.0, "{behind_slow} and {alone} ms");
}

/// The port stands still for 500 ms. What has left the queue is dropped 100 ms after it found no room; the rest waits.
#[test]
fn what_waits_too_long_behind_the_queue_is_dropped_and_counted_apart() {
    for (delay_ms, behind) in [(0, 32..=33), (20, 232..=233)] {
        let mut world = World::new(Some("pfifo limit 1000p"), 100, 200, 1, Span::from_millis(delay_ms));
        // One frame every 80 us: 100 Mbit/s.
        world.run(0, 100, 80);
        assert_eq!((world.path().stale(), world.path().blocked()), (0, Span::ZERO));
        world.bit_s.store(0, Ordering::Relaxed);
        // 250 frames on a line of 20 ms fall due while the port stands still, and go with the others.
        world.run(100, 350, 400);
        let stale = world.path().stale();
        assert!(stale >= *behind.start(), "{delay_ms} ms: {stale}");
        assert_eq!(world.path().counters().dropped_total().packets, 0);
        // The line does not fill further meanwhile: every 100 ms the ring behind the queue is renewed.
        let at = world.engine.frame_counts(Direction::AToB);
        assert!(at.delayed + at.ready <= *behind.end() + 1, "{delay_ms} ms: {at:?}");
        world.bit_s.store(200 * MBIT, Ordering::Relaxed);
        world.run(350, 800, 400);
        // Back at once: what waited in the queue has left, and nothing more was lost.
        assert_eq!(world.path().frame_counts().queued, 0);
        let late = world.path().stale() - stale;
        assert!(late <= 33, "{delay_ms} ms: {late}");
    }
}

/// 100 Mbit/s into a delay line of 50 ms before a port of 10 Mbit/s: after a start at which the line was full of 625 frames,
/// as much is under way as the port takes in 50 ms, and nothing is stale.
#[test]
fn a_delay_line_before_a_slow_port_holds_what_a_wire_to_it_would() {
    let mut world = World::new(Some("pfifo limit 100p"), 100, 10, 1, Span::from_millis(50));
    world.run(0, 2000, 160);
    let (stale, sent) = (world.path().stale(), world.sent());
    world.sojourn();
    world.run(2000, 6000, 160);
    // 4 s at 10 Mbit/s are 5000 frames.
    assert_eq!(world.path().stale(), stale);
    assert!((world.sent() - sent).abs_diff(5000) <= 5, "{}", world.sent() - sent);
    let at = world.engine.frame_counts(Direction::AToB);
    // 62.5 in 50 ms, and the ring.
    assert!(at.delayed + at.ready <= 32 + 66, "{at:?}");
    let mean_ms = world.sojourn().moments.mean_ms().unwrap();
    assert!((76.0..=84.0).contains(&mean_ms), "{mean_ms} ms");
}

#[test]
fn without_a_queue_a_bounded_number_waits_for_the_port() {
    let mut world = World::new(None, 100, 10, 1, Span::ZERO);
    world.run(0, 1000, 400);
    let at = world.engine.frame_counts(Direction::AToB);
    assert!(at.ready <= RING_UNQUEUED, "{at:?}");
    // 2500 came, 1250 went; in 100 ms 250 come, and older ones are stale.
    assert!((249..=251).contains(&at.ready), "{at:?}");
    assert!(world.path().stale() > 0);
    assert!(world.sent().abs_diff(1250) <= 2);
    // Faster than frames get stale: 50 Mbit/s in, of which 256 may wait.
    let mut world = World::new(None, 100, 40, 1, Span::ZERO);
    world.run(0, 1000, 80);
    assert!(world.path().no_room() > 0 && world.path().stale() == 0);
    assert!(world.engine.frame_counts(Direction::AToB).ready <= RING_UNQUEUED);
}

/// The pool has 256 frames, and a delay line of 10 s would take all; the return path finds its quarter.
#[test]
fn a_direction_that_stands_still_leaves_the_other_its_share() {
    let config = PathConfig {
        scheme: Some("pfifo limit 100000p".parse().unwrap()),
        rate: BitRate::from_bit_s(1000),
        overhead: Bytes::new(0),
        burst: Span::from_millis(1),
        delay: Span::ZERO,
    };
    let forth = Path::new(&config, Box::new(Stream::seeded(1)), 7, Recorder::idle());
    let back = PathConfig { scheme: None, ..config };
    let back = Path::new(&back, Box::new(Stream::seeded(2)), 7, Recorder::idle());
    let ((a, far_a), (b, far_b)) = (loopback("a"), loopback("b"));
    let mut engine = Engine::new(Pool::new(256, 2048, 0).unwrap(), [Box::new(a), Box::new(b)], [forth, back]);
    (0..1000).for_each(|_| far_a.put(vec![1; 60]));
    for us in 0..20 {
        engine.step(Instant::ZERO + Span::from_micros(us)).unwrap();
    }
    assert_eq!((engine.pool.free(), engine.port_counters()[0].missed), (64, 1000 - 192));
    (0..64).for_each(|_| far_b.put(vec![2; 60]));
    engine.step(Instant::ZERO + Span::from_micros(20)).unwrap();
    assert_eq!(std::iter::from_fn(|| far_a.get()).filter(|frame| frame[0] == 2).count(), 64);
    assert_eq!(engine.port_counters()[1].missed, 0);
}
