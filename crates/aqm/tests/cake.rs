//! What CAKE promises its users, on a small model of a home gateway: hosts share the bandwidth equally however many flows
//! each has, and a sparse flow hardly waits.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Stream;
use sojourn_aqm::{Config, Counters, Cx, Dequeued, Observer, Packet, Reason};
use sojourn_units::{BitRate, Instant, Span};
use std::collections::VecDeque;

/// Flows whose packets were dropped since it was last looked at.
#[derive(Default)]
struct Losses(Vec<u32>);

impl Observer for Losses {
    fn dropped(&mut self, _now: Instant, packet: Packet, _reason: Reason) {
        self.0.push(packet.flow);
    }
}

/// A sender has this many packets under way at any time: more than its share takes in a round-trip time, so that some wait.
const WINDOW: [u32; 2] = [150, 30];
const RTT: Span = Span::from_millis(20);
const SPARSE: u32 = 99;
const WARM_UP: Instant = Instant::from_nanos(5_000_000_000);
const END: Instant = Instant::from_nanos(35_000_000_000);

/// Goodput of each bulk flow in Mbit/s, and the longest wait of the sparse flow in ms.
fn gateway(text: &str, sources: &[u32]) -> (Vec<f64>, f64) {
    let config: Config = text.parse().unwrap();
    let mut queue = config.build();
    let (mut random, mut losses, mut counters) = (Stream(1), Losses::default(), Counters::default());
    // When a flow may send another packet, in the order of time: all of its window at first, then an acknowledgement, or the
    // news of a loss, a round-trip time after each.
    let mut windows: VecDeque<(Instant, u32)> = VecDeque::new();
    for (flow, source) in sources.iter().enumerate() {
        (0..WINDOW[*source as usize - 1]).for_each(|_| windows.push_back((Instant::ZERO, flow as u32)));
    }
    let (mut now, mut sparse_due, mut link_free) = (Instant::ZERO, Instant::ZERO, Instant::ZERO);
    let (mut sent, mut longest) = (vec![0.0; sources.len()], 0.0_f64);
    // The link below is faster than the shaper.
    let rate = BitRate::from_bit_s(1_000_000_000);
    while now < END {
        let mut cx =
            Cx { now, rate, random: &mut random, observer: &mut losses, counters: &mut counters, has_dropped: false };
        while windows.front().is_some_and(|(at, _)| *at <= now) {
            let flow = windows.pop_front().map_or(0, |(_, flow)| flow);
            let source = sources[flow as usize];
            let packet = Packet { bytes: 1514, flow, source, destination: 1000 + flow, ..Packet::without_signals(0) };
            queue.enqueue(&mut cx, packet);
        }
        if sparse_due <= now {
            let packet =
                Packet { bytes: 200, flow: SPARSE, source: SPARSE, destination: SPARSE, ..Packet::without_signals(0) };
            queue.enqueue(&mut cx, packet);
            sparse_due = now + Span::from_millis(7);
        }
        let mut next = sparse_due;
        if link_free <= now {
            match queue.dequeue(&mut cx) {
                Dequeued::Packet(packet) => {
                    link_free = now + Span::from_nanos(u64::from(packet.bytes) * 8);
                    next = next.min(link_free);
                    if packet.flow == SPARSE {
                        longest = longest.max(if now >= WARM_UP { now.since(packet.enqueued).millis() } else { 0.0 });
                    } else {
                        windows.push_back((now + RTT, packet.flow));
                        sent[packet.flow as usize] += if now >= WARM_UP { f64::from(packet.bytes) } else { 0.0 };
                    }
                }
                Dequeued::NotBefore(until) => next = next.min(until),
                Dequeued::Empty => {}
            }
        } else {
            next = next.min(link_free);
        }
        for flow in losses.0.drain(..).filter(|flow| *flow != SPARSE) {
            windows.push_back((now + RTT, flow));
        }
        next = next.min(windows.front().map_or(next, |(at, ..)| *at));
        now = next.max(now + Span::from_nanos(1));
    }
    let seconds = END.since(WARM_UP).seconds();
    (sent.iter().map(|bytes| bytes * 8.0 / seconds / 1e6).collect(), longest)
}

#[test]
fn a_host_with_one_flow_gets_as_much_as_one_with_eight_and_a_sparse_flow_hardly_waits() {
    let sources = [1, 2, 2, 2, 2, 2, 2, 2, 2];
    let (rates, longest) = gateway("cake bandwidth 50mbit", &sources);
    let (one, eight) = (rates[0], rates[1..].iter().sum::<f64>());
    // 50 Mbit/s less the sparse flow's 0.23, halved: 24.9 each.
    assert!((one - 24.9).abs() < 0.1 && (eight - 24.9).abs() < 0.1, "{one} {eight}");
    assert!(rates[1..].iter().all(|rate| (rate - eight / 8.0).abs() < 0.05), "{rates:?}");
    // At most the packet being sent goes before it: 0.24 ms; and one that was found while it came.
    assert!(longest < 1.0, "{longest} ms");
    // Without isolation of hosts the nine flows share alike: the test can tell.
    let (rates, longest) = gateway("cake bandwidth 50mbit flows", &sources);
    assert!((rates[0] - 49.77 / 9.0).abs() < 0.05, "{rates:?}");
    assert!(longest < 1.0, "{longest} ms");
    // And in one queue the sparse flow waits like all.
    let (_, longest) = gateway("cake bandwidth 50mbit flowblind", &sources);
    assert!(longest > 2.0, "{longest} ms");
}
