//! Frames through the whole engine in memory.

use sojourn_device::engine::{Direction, Engine};
use sojourn_device::path::{Path, PathConfig};
use sojourn_device::pool::Pool;
use sojourn_device::port::loopback;
use sojourn_device::record::Recorder;
use sojourn_measure::trace::{Event, EventKind};
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Instant, Span};

fn path(scheme: Option<&str>, delay: Span) -> Path {
    let config = PathConfig {
        scheme: scheme.map(|text| text.parse().unwrap()),
        rate: BitRate::from_bit_s(8_000_000),
        overhead: Bytes::new(0),
        burst: Span::from_millis(1),
        delay,
    };
    Path::new(&config, Box::new(Stream::seeded(1)), 7, Recorder::idle())
}

#[test]
fn a_queue_shapes_delays_and_drops_and_the_return_path_is_at_once() {
    let (a, far_a) = loopback("a");
    let (b, far_b) = loopback("b");
    let paths = [path(Some("pfifo limit 3p"), Span::from_millis(5)), path(None, Span::ZERO)];
    let mut engine = Engine::new(Pool::new(64, 2048, 256).unwrap(), [Box::new(a), Box::new(b)], paths);
    let at = |us: u64| Instant::ZERO + Span::from_micros(us);
    // 100 bytes at 8 Mbit/s take 100 us: one is sent, three wait, the fifth is dropped.
    (0..5).for_each(|_| far_a.put(vec![0; 100]));
    far_b.put(vec![1; 60]);
    engine.step(at(0)).unwrap();
    assert_eq!(far_a.get().unwrap().len(), 60);
    let counters = engine.path(Direction::AToB).counters();
    assert_eq!((counters.arrived.packets, counters.dropped_total().packets), (5, 1));
    // The first is out at 100 us and arrives at 5100 us, the others 100 us apart.
    let mut left = Vec::new();
    for us in (0..6000).step_by(50) {
        engine.step(at(us)).unwrap();
        while far_b.get().is_some() {
            left.push(us);
        }
    }
    assert_eq!(left, [5100, 5200, 5300, 5400]);
    assert_eq!(engine.pool.free(), 64);
}

#[test]
fn a_late_host_loses_what_it_may_not_catch_up_on_and_says_so() {
    let (a, far_a) = loopback("a");
    let (b, far_b) = loopback("b");
    let paths = [path(Some("pfifo limit 30p"), Span::ZERO), path(None, Span::ZERO)];
    let mut engine = Engine::new(Pool::new(64, 2048, 256).unwrap(), [Box::new(a), Box::new(b)], paths);
    (0..31).for_each(|_| far_a.put(vec![0; 100]));
    engine.step(Instant::ZERO).unwrap();
    assert_eq!(engine.path(Direction::AToB).late(), Span::ZERO);
    // The second was due at 100 us. Of the 11 ms until now 1 ms may be caught up on: 10 ms are lost, and the frames due at
    // 10.1, 10.2, ..., 11.1 ms leave; the last of these is still on the wire.
    engine.step(Instant::ZERO + Span::from_micros(11_100)).unwrap();
    assert_eq!(engine.path(Direction::AToB).late(), Span::from_millis(10));
    assert_eq!(std::iter::from_fn(|| far_b.get()).count(), 1 + 10);
    // 19 wait and were due from 11.2 ms on: until 500 ms 499 - 11.2 = 487.8 ms more are lost, and the 11 due at 499, 499.1, ...,
    // 500 ms leave. 8 wait, due from 500.1 ms on: until 900 ms 899 - 500.1 = 398.9 ms more are lost. Then nothing waits, and
    // coming late to an empty queue loses nothing.
    for (ms, late_us) in [(500, 497_800), (900, 896_700), (1300, 896_700)] {
        engine.step(Instant::ZERO + Span::from_millis(ms)).unwrap();
        assert_eq!(engine.path(Direction::AToB).late(), Span::from_micros(late_us));
    }
}

#[test]
fn frames_that_waited_for_the_host_count_as_of_their_arrival() {
    // Frames of 100 us arrive every 100 us from 100 us to 10 ms, and the host looks at 10 ms. Dated to their arrival, each but
    // the last has left, one after the other and without waiting. All at once, three would have found a place.
    let at = |us: u64| Instant::ZERO + Span::from_micros(us);
    for (dated, dropped) in [(true, 0), (false, 96)] {
        let (a, far_a) = loopback("a");
        let (b, far_b) = loopback("b");
        let mut paths = [path(Some("pfifo limit 3p"), Span::ZERO), path(None, Span::ZERO)];
        let (told, log) = std::sync::mpsc::channel();
        paths[0].log_to(Some(Box::new(move |event: Event| told.send(event).unwrap())));
        let mut engine = Engine::new(Pool::new(256, 2048, 256).unwrap(), [Box::new(a), Box::new(b)], paths);
        engine.step(Instant::ZERO).unwrap();
        for us in (100..=10_000).step_by(100) {
            far_a.put_at(vec![0; 100], if dated { at(us) } else { Instant::ZERO });
        }
        let now = at(10_000);
        // In two bursts.
        while engine.step(now).unwrap() {}
        let counters = engine.path(Direction::AToB).counters();
        assert_eq!((counters.arrived.packets, counters.dropped_total().packets), (100, dropped));
        assert_eq!(engine.path(Direction::AToB).late(), Span::ZERO);
        let events: Vec<Event> = log.try_iter().collect();
        assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at), "time goes back");
        if dated {
            assert_eq!(std::iter::from_fn(|| far_b.get()).count(), 99);
            let arrivals =
                events.iter().filter(|event| matches!(event.what, EventKind::Arrived(_))).map(|event| event.at);
            assert!(arrivals.eq((100..=10_000).step_by(100).map(at)));
        }
    }
}

/// Ethernet, IPv4 and UDP without data, 60 B: expedited forwarding (DSCP 46) and ECT(0).
/// The header's words 45ba + 002e + 4011 + 0a00 + 0001 + 0a00 + 0002 sum to 99fc, its complement is 6603.
fn expedited() -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..34].copy_from_slice(&[0x45, 0xba, 0, 46, 0, 0, 0, 0, 64, 17, 0x66, 0x03, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame[34..40].copy_from_slice(&[0, 5, 0, 9, 0, 26]);
    frame
}

#[test]
fn washing_writes_the_header_and_nothing_else_does() {
    // Without DSCP and with ECT(0) the first word is 4502, b8 less: the sum is 9944, the complement 66bb.
    let mut washed = expedited();
    washed[15] = 0x02;
    washed[24..26].copy_from_slice(&[0x66, 0xbb]);
    for (scheme, expected) in
        [("cake wash", washed), ("cake", expedited()), ("fq_codel", expedited()), ("pfifo", expedited())]
    {
        let (a, far_a) = loopback("a");
        let (b, far_b) = loopback("b");
        let paths = [path(Some(scheme), Span::ZERO), path(None, Span::ZERO)];
        let mut engine = Engine::new(Pool::new(64, 2048, 256).unwrap(), [Box::new(a), Box::new(b)], paths);
        far_a.put(expedited());
        engine.step(Instant::ZERO).unwrap();
        // 60 bytes at 8 Mbit/s take 60 us.
        engine.step(Instant::ZERO + Span::from_micros(60)).unwrap();
        assert_eq!(far_b.get(), Some(expected), "{scheme}");
    }
}
