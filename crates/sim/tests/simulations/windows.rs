//! Windows of so many packets, and the burst ratio of flows.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::runs;
use sojourn_sim::RunReport;

/// 12 Mbit/s of datagrams of 1500 B, 1 ms apart, on 10 Mbit/s (1.2 ms each with 0 B of framing), measured from 1 to 7 s.
fn overload(head: &str, overhead: &str, changes: &str) -> RunReport {
    let text = format!(
        "name = \"t\"\nduration = \"7 s\"\nwarm_up = \"1 s\"\n{head}\n\
         [[links]]\nname = \"bottleneck\"\nfrom = \"s\"\nto = \"r\"\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\n\
         overhead = \"{overhead}\"\nqueue = \"pfifo limit 10p\"\nunder_test = true\n\
         [[flows]]\nname = \"cbr\"\nfrom = \"s\"\nto = \"r\"\ntransport = {{kind = \"udp\", header = \"0 B\"}}\n\
         traffic = {{kind = \"cbr\", rate = \"12 Mbit/s\", packet_size = \"1500 B\"}}\n{changes}"
    );
    runs(&text, None, 1, 1).remove(0)
}

#[test]
fn windows_of_a_steady_overload() {
    let report = overload("windows = \"600 p\"", "0 B", "");
    let windows = &report.queues[0].windows;
    // 6 s at 1000 packets a second: ten windows of 600.
    assert_eq!(windows.len(), 10);
    // The first begins with an arrival, the others just after one.
    assert_eq!(windows[0].row.ended_ns - windows[0].row.started_ns, 599_000_000);
    for window in &windows[1..] {
        let row = &window.row;
        assert_eq!(window.scheme, "pfifo limit 10p");
        assert_eq!((row.arrived, row.arrived_bytes, row.classes[1].arrived), (600, 900_000, 600));
        assert_eq!(row.ended_ns - row.started_ns, 600_000_000);
        assert!((row.load - 1.2).abs() < 1e-12);
        // A sixth of the arrivals finds no room, never two in a row: 1 * (1 - 1/6).
        assert_eq!((row.dropped_overflow, row.dropped_early, row.dropped_flow), (100, 0, 0));
        assert!((row.burst_ratio.unwrap() - 5.0 / 6.0).abs() < 1e-12);
        assert_eq!((row.mean_size_bytes, row.std_size_bytes), (Some(1500.0), Some(0.0)));
        // The queue goes between 9 and 10; an arrival that finds 10 is the one that is lost.
        let (mean, found) = (row.mean_queue_packets.unwrap(), row.mean_queue_arrivals_packets.unwrap());
        assert!((9.0..10.0).contains(&mean), "{mean}");
        assert!((found - (9.0 + 1.0 / 6.0)).abs() < 1e-9, "{found}");
        assert_eq!(row.forwarded, 500);
    }
    // What the queue says of the whole measured time is what the windows say, which end 1 ms before it.
    let metrics = &report.queues[0].metrics;
    let mean = windows.iter().filter_map(|window| window.row.mean_queue_packets).sum::<f64>() / 10.0;
    assert!((mean - metrics.of("queue_packets_mean").unwrap()).abs() < 1e-3, "{mean}");
    assert_eq!(metrics.of("drops_packets"), Some(1000.0));
}

#[test]
fn load_counts_framing_and_sizes_do_not() {
    // 1500 B and 100 B of framing each ms: 12.8 Mbit/s on 10.
    let row = overload("windows = \"600 p\"", "100 B", "").queues[0].windows[1].row.clone();
    assert!((row.load - 1.28).abs() < 1e-12);
    assert_eq!(row.mean_size_bytes, Some(1500.0));
}

#[test]
fn a_window_has_one_scheme() {
    let change = "[[changes]]\nat = \"2500 ms\"\nscheme = \"pfifo limit 30p\"\n";
    let report = overload("windows = \"600 p\"", "0 B", change);
    let windows = &report.queues[0].windows;
    // 1.0 to 2.2 s: two; the third is given up at 2.5 s. From there to 7 s: 4500 packets, seven windows.
    let schemes: Vec<_> = windows.iter().map(|window| window.scheme.as_str()).collect();
    assert_eq!(schemes, [["pfifo limit 10p"; 2].as_slice(), &["pfifo limit 30p"; 7]].concat());
    assert_eq!(windows[2].row.started_ns, 2_500_000_000);
    assert!(windows[8].row.mean_queue_packets.unwrap() > 28.0);
}

#[test]
fn without_the_key_there_are_none() {
    assert!(overload("", "0 B", "").queues[0].windows.is_empty());
}

#[test]
fn a_flow_alone_has_the_burst_ratio_of_its_queue() {
    let report = overload("", "0 B", "");
    let flow = report.flows[0].metrics.of("burst_ratio").unwrap();
    // One of six, each alone: mean run 1, times 5/6; the edges of the measured time are a packet in 6000.
    assert!((flow - 5.0 / 6.0).abs() < 1e-3, "{flow}");
}
