//! After warm-up the whole packet path allocates nothing: ports, parser, discipline, delay line, measurement.

#![allow(clippy::unwrap_used)]

#[path = "../../aqm/tests/common/counting.rs"]
mod counting;

use counting::allocations;
use sojourn_aqm::Impairments;
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::path::{Link, Path, PathConfig};
use sojourn_device::pool::{Frame, Pool};
use sojourn_device::port::{Port, PortCounters, PortError};
use sojourn_device::record::{Recorder, Setting};
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::collections::VecDeque;

/// Hands out UDP frames of 40 flows, `burst` at each call, and gives back what is sent.
struct Source {
    frame: Vec<u8>,
    burst: u64,
    counters: PortCounters,
}

impl Source {
    fn new(burst: u64) -> Self {
        let mut frame = vec![0; 200];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        // IPv4 of 186 B, UDP, ECT(0) so that marking is on the path, 10.0.0.1 to 10.0.0.2.
        frame[14..34].copy_from_slice(&[0x45, 2, 0, 186, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        Self { frame, burst, counters: PortCounters::default() }
    }
}

impl Port for Source {
    fn name(&self) -> &str {
        "source"
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        for _ in 0..self.burst {
            self.frame[35] = (self.counters.received % 40) as u8;
            match pool.copy_in(&self.frame) {
                Some(frame) => {
                    self.counters.received += 1;
                    into.push(frame);
                }
                None => self.counters.missed += 1,
            }
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

fn path(scheme: Option<&str>) -> Path {
    let rate = BitRate::from_bit_s(100_000_000);
    let config = PathConfig {
        scheme: scheme.map(|text| text.parse().unwrap()),
        rate,
        overhead: Bytes::new(24),
        burst: Span::from_millis(1),
        delay: Span::from_millis(2),
    };
    let recorder = Recorder::new(u64::MAX, rate, Bytes::new(24), Setting::default(), Box::new(|_| {}));
    Path::new(&config, Box::new(Stream::seeded(1)), 7, recorder)
}

/// As [`path`], over a link that loses, reorders and doubles.
fn impaired(scheme: &str) -> Path {
    let mut path = path(Some(scheme));
    let loss = Impairments { loss: "2%".parse().ok(), ..Impairments::default() };
    let impairments = Impairments { jitter: "1 ms".parse().ok(), duplicate: "2%".parse().ok(), ..loss };
    path.set_link(Link { impairments, ..Link::default() }, |name| Box::new(Stream::seeded(name.len() as u64)));
    path
}

/// 20 microseconds pass between turns. 100 Mbit/s carry 1.1 frames of 224 B in them: bursts of four overload it, none lets
/// it drain.
fn drive(engine: &mut Engine, from: u64, turns: u64) {
    for turn in from..from + turns {
        engine.step(Instant::ZERO + Span::from_micros(20 * turn)).unwrap();
    }
}

#[test]
fn the_packet_path_allocates_nothing_after_warm_up() {
    for scheme in [
        "codel ecn",
        "fq_codel ecn",
        "pie ecn",
        "red min 30p max 90p limit 300p",
        "pfifo limit 300p",
        "dropping_function function d4",
        "dropping_function formula \"min(1, max(0, (sojourn - 5ms) / 50ms))\" ecn",
    ] {
        let pool = Pool::new(20_000, 2048, 256).unwrap();
        let ports: [Box<dyn Port>; 2] = [Box::new(Source::new(4)), Box::new(Source::new(1))];
        let mut engine = Engine::new(pool, ports, [path(Some(scheme)), path(None)]);
        drive(&mut engine, 0, 100_000);
        let before = allocations();
        drive(&mut engine, 100_000, 100_000);
        assert_eq!(allocations() - before, 0, "{scheme}");
        let counters = engine.path(Direction::AToB).counters();
        // Offered 4 x 200,000 where 4 s x 100 Mbit/s / (224 x 8 bit) = 223,214 leave, but for what RED's empty queue
        // now and then costs, below 0.1 %: the path was busy and full.
        assert_eq!(counters.arrived.packets, 800_000, "{scheme}");
        assert!(counters.forwarded.packets.abs_diff(223_214) < 223, "{scheme}: {}", counters.forwarded.packets);
        let [a, b] = engine.port_counters();
        let at = engine.frame_counts(Direction::AToB);
        let waiting = at.queued + at.delayed + at.ready;
        assert_eq!(a.received, b.sent + counters.dropped_total().packets + waiting, "{scheme}");
        assert_eq!((a.missed, b.missed), (0, 0), "{scheme}");
    }
}

#[test]
fn an_impaired_link_allocates_nothing_after_warm_up_and_loses_no_frame() {
    let pool = Pool::new(20_000, 2048, 256).unwrap();
    let ports: [Box<dyn Port>; 2] = [Box::new(Source::new(4)), Box::new(Source::new(1))];
    let mut engine = Engine::new(pool, ports, [impaired("codel ecn"), path(None)]);
    drive(&mut engine, 0, 100_000);
    let before = allocations();
    drive(&mut engine, 100_000, 100_000);
    assert_eq!(allocations() - before, 0);
    let dropped = engine.path(Direction::AToB).counters().dropped_total().packets;
    let link = engine.path(Direction::AToB).link_counts();
    let [a, b] = engine.port_counters();
    let at = engine.frame_counts(Direction::AToB);
    let (lost, doubled) = (link.lost.unwrap(), link.duplicates.unwrap());
    assert_eq!(a.received + doubled, b.sent + dropped + lost + at.queued + at.delayed + at.ready);
    // 223,214 leave, see above; of 2 % the standard error is 66.
    assert!(lost.abs_diff(4_464) < 270 && doubled.abs_diff(4_375) < 270, "{link:?}");
    // 1 ms of jitter each way, packets 18 us apart: most overtake.
    assert!(link.overtakes > Some(100_000), "{link:?}");
    // Turns are 20 us apart, so frames go to the port up to so much later than they arrive.
    let lateness = &engine.path(Direction::AToB).lateness().least;
    let mean = lateness.moments.mean_ms().unwrap();
    assert!((0.005..0.015).contains(&mean) && lateness.histogram.quantile_ms(1.0).unwrap() < 0.0203, "{mean}");
}
