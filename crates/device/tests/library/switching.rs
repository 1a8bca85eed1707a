//! Schemes switched every 100 ms under load, through the commands that the control interface sends, in virtual time.

use sojourn_aqm::registry;
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::orders::{Command, Order};
use sojourn_device::path::{Path, PathConfig};
use sojourn_device::pool::Pool;
use sojourn_device::port::{loopback, FarEnd};
use sojourn_device::record::Recorder;
use sojourn_device::run::run_commands;
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::sync::mpsc::channel;

const FRAMES: u32 = 16_384;

/// 20 Mbit/s from a to b with `scheme` and so many frames, and the far ends of both ports.
fn gateway(scheme: &str, frames: u32) -> (Engine, FarEnd, FarEnd) {
    let (a, far_a) = loopback("a");
    let (b, far_b) = loopback("b");
    let config = PathConfig {
        scheme: Some(scheme.parse().unwrap()),
        rate: BitRate::from_bit_s(20_000_000),
        overhead: Bytes::new(24),
        burst: Span::from_millis(1),
        delay: Span::from_millis(2),
    };
    let at_once = PathConfig { scheme: None, ..config.clone() };
    let path = |config, seed| Path::new(config, Box::new(Stream::seeded(seed)), seed, Recorder::idle());
    let paths = [path(&config, 1), path(&at_once, 2)];
    let pool = Pool::new(frames, 2048, 256).unwrap();
    (Engine::new(pool, [Box::new(a), Box::new(b)], paths), far_a, far_b)
}

/// IPv4 and UDP of one of eight flows, in 664 B; the number after the headers.
fn frame(number: u64) -> Vec<u8> {
    datagram((number % 8) as u8, 664, number)
}

/// A frame of so many bytes from this port; the number after the headers.
fn datagram(port: u8, bytes: u16, number: u64) -> Vec<u8> {
    let mut frame = vec![0; usize::from(bytes)];
    frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    frame[16..18].copy_from_slice(&(bytes - 14).to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
    frame[34..38].copy_from_slice(&[0, port, 0, 9]);
    frame[38..40].copy_from_slice(&(bytes - 34).to_be_bytes());
    frame[42..50].copy_from_slice(&number.to_be_bytes());
    frame
}

/// 100,000 frames of 60 B a second, some three times the link, beside 500 of 664 B (2.7 Mbit/s). A limit of memory is one of packets,
/// however short, so the flood cannot take the three quarters of the pool that a direction may have.
#[test]
fn a_flood_of_short_frames_leaves_room_in_the_pool() {
    // 15,503,360 / 2304 = 6728 packets of 12,288; 3,000,000 / 2304 = 1302 of 1536.
    for (scheme, frames) in
        [("cake", FRAMES), ("cake memlimit 3MB", 2048), ("fq_codel limit 100000p memory_limit 3MB noecn", 2048)]
    {
        let (mut engine, far_a, far_b) = gateway(scheme, frames);
        let (mut put, mut got) = (0, 0);
        for us in (0_u64..2_000_000).step_by(10) {
            far_a.put(datagram(1, 60, us));
            if us % 2000 == 0 && us < 1_900_000 {
                far_a.put(datagram(2, 664, us));
                put += 1;
            }
            engine.step(Instant::ZERO + Span::from_micros(us)).unwrap();
            while let Some(frame) = far_b.get() {
                got += usize::from(frame.len() == 664);
            }
        }
        assert_eq!((engine.port_counters()[0].missed, got), (0, put), "{scheme}");
    }
}

/// A lower limit acts at once, also in the scheme that runs already.
#[test]
fn a_switch_to_a_lower_limit_drops_the_excess_at_once() {
    for scheme in ["pfifo", "codel", "pie", "choke", "sfq depth 400p", "fq_codel", "fq_pie", "dualpi2"] {
        let (mut engine, far_a, _far_b) = gateway("pfifo", FRAMES);
        let (commands, orders) = sojourn_device::orders::orders();
        let switch = |engine: &mut Engine, limit: &str| {
            let scheme = format!("{scheme} limit {limit}").parse().unwrap();
            let switch = Order::Switch { direction: Direction::AToB, scheme, label: "x".into(), slot: None };
            commands.send(Command { order: Order::All(vec![switch]), reply: None }).unwrap();
            assert!(!run_commands(engine, Instant::ZERO, &orders));
        };
        switch(&mut engine, "1000p");
        (0..200).for_each(|number| far_a.put(frame(number)));
        // Enough steps for all that a step takes at most.
        for _ in 0..10 {
            engine.step(Instant::ZERO).unwrap();
        }
        let queued = |engine: &Engine| engine.path(Direction::AToB).frame_counts().queued;
        assert!(queued(&engine) > 100, "{scheme}: {}", queued(&engine));
        switch(&mut engine, "10p");
        // FQ-CoDel drops half of its longest queue at a time, here one packet of two.
        assert!((9..=10).contains(&queued(&engine)), "{scheme}: {}", queued(&engine));
        let at = engine.path(Direction::AToB).frame_counts();
        assert_eq!(engine.pool.free() as u64 + at.queued + at.delayed + at.ready, u64::from(FRAMES), "{scheme}");
    }
}

/// A minute with 22 Mbit/s offered, every registered scheme in turn.
#[test]
fn switching_every_100_ms_for_a_minute_loses_nothing_that_no_algorithm_dropped() {
    let (mut engine, far_a, far_b) = gateway("pfifo", FRAMES);
    let (commands, orders) = sojourn_device::orders::orders();
    let schemes: Vec<_> =
        registry::ALL.iter().map(|entry| entry.name.parse::<sojourn_aqm::Config>().unwrap()).collect();
    let (mut put, mut got, mut switched) = (0_u64, 0_u64, 0_usize);
    // Of every frame its number, so that none may come twice.
    let mut seen = std::collections::HashSet::new();
    // 250 us at 22 Mbit/s are 687.5 bytes: a frame of 664 B and 24 B of overhead.
    for turn in 0_u64..240_000 {
        let now = Instant::ZERO + Span::from_micros(250 * turn);
        if turn % 400 == 0 {
            let scheme = schemes[switched % schemes.len()].clone();
            let (reply, answer) = channel();
            let switch = Order::Switch { direction: Direction::AToB, scheme, label: "x".into(), slot: None };
            commands.send(Command { order: Order::All(vec![switch]), reply: Some(reply) }).unwrap();
            assert!(!run_commands(&mut engine, now, &orders));
            assert_eq!(answer.try_recv().unwrap(), Ok(()));
            switched += 1;
        }
        far_a.put(frame(turn));
        put += 1;
        engine.step(now).unwrap();
        while let Some(frame) = far_b.get() {
            got += 1;
            assert!(seen.insert(frame[42..50].to_vec()), "a frame came twice");
        }
        let path = engine.path(Direction::AToB);
        let (counters, at) = (path.counters(), path.frame_counts());
        // Received = sent + dropped + queued, to the packet, at every turn.
        assert_eq!(counters.arrived.packets, put);
        assert_eq!(put, got + counters.dropped_total().packets + at.queued + at.delayed + at.ready, "turn {turn}");
        assert_eq!(engine.pool.free() as u64 + at.queued + at.delayed + at.ready, u64::from(FRAMES));
    }
    assert_eq!(switched, 600);
    // The link was never idle for long: 60 s at 20 Mbit/s are 218 023 packets of 688 B, and shaping is exact.
    assert!(got > 215_000, "{got}");
    let (path, pool) = engine.path_mut(Direction::AToB);
    path.clear(pool);
    assert_eq!(engine.pool.free(), FRAMES as usize);
}
