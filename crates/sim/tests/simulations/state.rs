//! What a report says of a queue under test at the end of the run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::runs;

const TWO_HOPS: &str = r#"
    name = "state"
    duration = "2 s"
    warm_up = "1 s"
    [[links]]
    name = "bottleneck"
    from = "a"
    to = "b"
    rate = "8 Mbit/s"
    delay = "1 ms"
    queue = "codel limit 20p"
    under_test = true
    [[flows]]
    name = "cbr"
    from = "a"
    to = "b"
    transport = { kind = "udp", header = "28 B" }
    traffic = { kind = "cbr", rate = "9.5 Mbit/s", packet_size = "972 B" }
"#;

#[test]
fn counts_are_from_the_start_and_conserve_packets_and_bytes() {
    let report = runs(TWO_HOPS, None, 1, 1).remove(0);
    let [forth, back] = &report.queues[..] else { panic!("{} queues", report.queues.len()) };
    assert!(back.counts.is_none() && back.internals.is_empty(), "only queues under test have a state");
    let Some(counts) = &forth.counts else { panic!("no counts") };
    let gone = [counts.forwarded, counts.dropped_overflow, counts.dropped_early, counts.dropped_flow, counts.waiting];
    assert_eq!(counts.arrived.packets, gone.iter().map(|count| count.packets).sum::<u64>());
    assert_eq!(counts.arrived.bytes, 1000 * counts.arrived.packets);
    assert_eq!(counts.forwarded.bytes, 1000 * counts.forwarded.packets);
    // 1000 B at 8 Mbit/s take 1 ms: 2000 packets in all 2 s, not the 1000 of the measured second.
    assert!((1999..=2001).contains(&counts.forwarded.packets), "{counts:?}");
    assert!(counts.dropped_early.packets > 0 && forth.internals["count"] >= 1.0, "{:?}", forth.internals);
}
