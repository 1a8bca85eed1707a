//! Ports of DPDK's at which cores of their own receive and send. Needs Debian's libdpdk-dev:
//! `cargo test -p sojourn-device --features dpdk --test dpdk_cores`.

#![cfg(feature = "dpdk")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod halved;

use halved::TURN;
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::pool::Pool;
use sojourn_device::port::{dpdk, Dpdk, Port, PortCounters};
use sojourn_units::Instant;
use std::collections::VecDeque;

/// Turns in which something must come about; a core that works needs a few thousand, however slow.
const TURNS: usize = 5_000_000;

/// Turns until `done`.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..TURNS {
        if done() {
            return;
        }
        std::thread::yield_now();
    }
    panic!("never: {what}");
}

fn open(name: &str) -> Box<dyn Port> {
    let port = Dpdk::open(name).unwrap();
    assert_eq!(port.mode(), "dpdk, 2 cores receive and send");
    Box::new(port)
}

/// DPDK starts once a process, so this is one test.
#[test]
fn cores_receive_and_send() {
    // Three cores of DPDK's on two CPUs: the first is that of this thread.
    let arguments = [
        "--lcores=0@0,1@0,2@1",
        "--no-huge",
        "-m",
        "64",
        "--no-shconf",
        "--no-pci",
        "--no-telemetry",
        "--log-level=error",
        "--vdev=net_ring0",
        "--vdev=net_ring1",
        "--vdev=net_null0,size=100",
        "--vdev=net_null1,no-rx=1",
        "--vdev=net_null2,no-rx=1",
        "--vdev=net_ring2",
    ];
    dpdk::start(&arguments.map(str::to_owned)).unwrap();
    order_is_kept();
    what_finds_no_room_or_is_left_is_missed();
    what_was_handed_over_is_sent_at_the_end();
    every_frame_is_somewhere();
}

/// What is sent into a ring arrives out of it.
fn order_is_kept() {
    const FRAMES: u64 = 20_000;
    // Two at a time, so that every core has work of both.
    let mut ports = [open("net_ring0"), open("net_ring1")];
    let mut pool = Pool::new(256, 2048, 0).unwrap();
    let (mut out, mut came) = ([VecDeque::new(), VecDeque::new()], [0_u64; 2]);
    let (mut handed, mut frames) = ([0_u64; 2], Vec::new());
    until("all frames came", || {
        for (at, port) in ports.iter_mut().enumerate() {
            // Fewer on their way than the shortest ring holds (255).
            while handed[at] < FRAMES && handed[at] - came[at] < 100 {
                let mut contents = [at as u8; 60];
                contents[..8].copy_from_slice(&handed[at].to_be_bytes());
                out[at].push_back(pool.copy_in(&contents).unwrap());
                handed[at] += 1;
            }
            port.send(&mut pool, &mut out[at]).unwrap();
            port.receive(&mut pool, &mut frames).unwrap();
            for frame in frames.drain(..) {
                assert_eq!(pool.contents(frame)[..8], came[at].to_be_bytes());
                assert_eq!(pool.contents(frame)[8..], [at as u8; 52]);
                came[at] += 1;
                pool.give(frame);
            }
        }
        came == [FRAMES; 2]
    });
    let all = PortCounters {
        received: FRAMES,
        received_bytes: 60 * FRAMES,
        sent: FRAMES,
        sent_bytes: 60 * FRAMES,
        ..PortCounters::default()
    };
    for port in &mut ports {
        port.finish().unwrap();
        assert_eq!(port.counters(), all);
    }
    assert_eq!(pool.free(), 256);
}

/// 3000 frames into a ring whose other end nobody empties.
fn what_finds_no_room_or_is_left_is_missed() {
    let mut port = open("net_ring2");
    let mut pool = Pool::new(256, 2048, 0).unwrap();
    let (mut out, mut handed) = (VecDeque::new(), 0);
    until("3000 frames left", || {
        while handed < 3000 {
            let Some(frame) = pool.copy_in(&[7; 100]) else { break };
            out.push_back(frame);
            handed += 1;
        }
        port.send(&mut pool, &mut out).unwrap();
        let counters = port.counters();
        assert_eq!(counters.sent + counters.leaving + out.len() as u64, handed);
        counters.sent == 3000
    });
    // 1023 wait for this thread.
    until("1977 frames found no room", || port.counters().missed == 1977);
    let mut frames = Vec::new();
    port.receive(&mut pool, &mut frames).unwrap();
    assert_eq!(frames.len(), 64);
    port.finish().unwrap();
    let counters = port.counters();
    // 3000 less the 64 that were taken.
    assert_eq!((counters.sent, counters.received, counters.missed, counters.send_failed), (3000, 64, 2936, 0));
}

/// The end comes right after frames were handed over.
fn what_was_handed_over_is_sent_at_the_end() {
    let mut port = open("net_null2");
    let mut pool = Pool::new(256, 2048, 0).unwrap();
    let mut out: VecDeque<_> = (0..200).map(|_| pool.copy_in(&[7; 100]).unwrap()).collect();
    until("200 frames were handed over", || {
        port.send(&mut pool, &mut out).unwrap();
        out.is_empty()
    });
    port.finish().unwrap();
    let counters = port.counters();
    assert_eq!((counters.sent, counters.sent_bytes, counters.send_failed, counters.leaving), (200, 20_000, 0, 0));
}

/// Frames without end through a queue at half of what comes; the sum holds at every turn and after a stop under load.
fn every_frame_is_somewhere() {
    let mut engine = halved::engine([open("net_null0"), open("net_null1")]);
    let sum = |engine: &mut Engine| {
        let [a, b] = engine.port_counters();
        let at = engine.frame_counts(Direction::AToB);
        let dropped = engine.path(Direction::AToB).counters().dropped_total().packets;
        let inside = at.queued + at.delayed + at.ready;
        assert_eq!(a.received, b.sent + b.leaving + b.send_failed + dropped + inside);
        assert_eq!((engine.pool.free() as u64, b.received), (halved::FRAMES - inside, 0));
        (a, b)
    };
    let mut turn = 0;
    until("frames passed, were dropped and found no room", || {
        engine.step(Instant::ZERO + TURN * turn).unwrap();
        turn += 1;
        let (a, b) = sum(&mut engine);
        b.sent > 10_000 && a.received > 15_000 && a.missed > 0
    });
    for port in engine.ports() {
        port.finish().unwrap();
    }
    let (a, b) = sum(&mut engine);
    assert_eq!((b.leaving, b.send_failed, b.sent_bytes), (0, 0, 100 * b.sent));
    // Nobody works at the ports any more.
    assert_eq!(sum(&mut engine), (a, b));
}
