//! DPDK's virtual devices under the device: `cargo test -p sojourn-device --features dpdk --test dpdk`.

#![cfg(feature = "dpdk")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod halved;

use halved::{FRAMES, TURN};
use sojourn_device::engine::Direction;
use sojourn_device::pool::Pool;
use sojourn_device::port::{dpdk, Dpdk, Port};
use sojourn_units::Instant;
use std::collections::VecDeque;

/// DPDK starts once a process, so this is one test.
#[test]
fn frames_pass_rings_and_the_whole_engine() {
    assert!(Dpdk::open("net_ring0").unwrap_err().what.contains("was not started"));
    let arguments = [
        "--no-huge",
        "-m",
        "64",
        "--no-pci",
        "--no-telemetry",
        "-l",
        "0",
        "--log-level=error",
        "--vdev=net_ring0",
        "--vdev=net_null0,size=100",
        "--vdev=net_null1,no-rx=1",
        "--vdev=net_null2",
    ];
    dpdk::start(&arguments.map(str::to_owned)).unwrap();
    assert!(dpdk::start(&[]).unwrap_err().what.contains("twice"));
    assert!(Dpdk::open("net_ring9").unwrap_err().to_string().starts_with("net_ring9: cannot be opened"));

    // What is sent into a ring arrives out of it.
    let mut ring = Dpdk::open("net_ring0").unwrap();
    let mut pool = Pool::new(128, 4096, 256).unwrap();
    let mut out: VecDeque<_> = (0..100_u8).map(|n| pool.copy_in(&[n; 60 + 10]).unwrap()).collect();
    // Too long for DPDK's frames of 2048 B: refused, and the others go on.
    out.push_front(pool.copy_in(&[9; 3000]).unwrap());
    while !out.is_empty() {
        ring.send(&mut pool, &mut out).unwrap();
    }
    assert_eq!(pool.free(), 128);
    let mut frames = Vec::new();
    for _ in 0..3 {
        ring.receive(&mut pool, &mut frames).unwrap();
    }
    let contents: Vec<Vec<u8>> = frames.iter().map(|frame| pool.contents(*frame).to_vec()).collect();
    assert_eq!(contents, (0..100).map(|n| vec![n; 70]).collect::<Vec<_>>());
    let counters = ring.counters();
    assert_eq!((counters.sent, counters.send_failed, counters.received, counters.missed), (100, 1, 100, 0));
    assert_eq!((counters.sent_bytes, counters.received_bytes, pool.free()), (7000, 7000, 28));

    // A ring's driver says that it has a carrier.
    assert_eq!(ring.carrier(), Some(true));

    // It goes, as there are two at most.
    assert_eq!(ring.mode(), "dpdk, polled by the packet thread");
    drop(ring);

    // A device that always has frames, through a queue at half of what comes, into one that takes all.
    let ports: [Box<dyn Port>; 2] =
        [Box::new(Dpdk::open("net_null0").unwrap()), Box::new(Dpdk::open("net_null1").unwrap())];
    assert!(Dpdk::open("net_null2").unwrap_err().what.contains("No space left"));
    let mut engine = halved::engine(ports);
    for turn in 0..100 {
        engine.step(Instant::ZERO + TURN * turn).unwrap();
    }
    let [a, b] = engine.port_counters();
    let (counters, at) = (engine.path(Direction::AToB).counters(), engine.frame_counts(Direction::AToB));
    // 64 at every look; 32 are out by the end of each of the 99 spans between two.
    assert_eq!((a.received, b.received), (6400, 0));
    assert_eq!(a.received, b.sent + counters.dropped_total().packets + at.queued + at.delayed + at.ready);
    assert_eq!(b.sent, 32 * 99);
    assert_eq!(engine.pool.free() as u64, FRAMES - at.queued - at.delayed - at.ready);
}
