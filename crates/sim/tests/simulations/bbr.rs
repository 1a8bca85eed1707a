//! BBR version 1 on scenarios: throughput and queue alone, sharing with its like and with CUBIC.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{metric, runs};
use sojourn_sim::RunReport;

/// Flows over 20 Mbit/s and 40 ms, of which 38 ms on the bottleneck.
fn scenario(flows: &[(&str, &str)], queue: &str, seconds: u32, warm_up: u32) -> String {
    let mut text = format!(
        r#"
        name = "bbr"
        duration = "{seconds} s"
        warm_up = "{warm_up} s"
        "#
    );
    text += &crate::common::dumbbell("20 Mbit/s", "19 ms", queue);
    for (index, (name, control)) in flows.iter().enumerate() {
        text += &format!(
            r#"
        [[flows]]
        name = "{name}"
        from = "s{index}"
        to = "r{index}"
        start = {{ uniform = ["0 s", "1 s"] }}
        transport = {{ congestion_control = "{control}" }}
        "#
        );
    }
    text
}

/// Of a flow, Mbit/s.
fn goodput(report: &RunReport, group: &str) -> f64 {
    let flow = report.flows.iter().find(|flow| flow.name == format!("{group}[0]")).unwrap();
    flow.metrics.of("goodput_bit_s").unwrap() / 1e6
}

#[test]
fn alone_it_fills_the_link_and_keeps_the_queue_below_a_bandwidth_delay_product() {
    let text = scenario(&[("bbr", "bbr")], "pfifo limit 1000p", 60, 5);
    for report in runs(&text, None, 2, 2) {
        // 20 * 1448/1500 = 19.31 Mbit/s of payload; ProbeRtt takes 0.2 to 0.3 s of each 10.2 to 10.3: 2 to 3 % at the most.
        let share = goodput(&report, "bbr") / (20.0 * 1448.0 / 1500.0);
        assert!((0.95..=1.0).contains(&share), "{share}");
        // The window of 2 BDP leaves a BDP of queue at the most, 67 packets or 40 ms, and 12 packets for bursts: 7 ms.
        let [mean, top] = ["sojourn_ms_mean", "sojourn_ms_p99"].map(|name| metric(&report, name));
        println!("share {share}, queue {mean} ms, p99 {top} ms");
        assert!(mean < 40.0 && top < 47.0, "{mean} ms, p99 {top} ms");
        assert_eq!(metric(&report, "drops_packets"), 0.0);
    }
}

#[test]
fn two_flows_share_alike() {
    let text = scenario(&[("a", "bbr"), ("b", "bbr")], "pfifo limit 1000p", 80, 20);
    for report in runs(&text, None, 3, 2) {
        let (a, b) = (goodput(&report, "a"), goodput(&report, "b"));
        println!("{a} {b} queue {}", metric(&report, "sojourn_ms_mean"));
        assert!((a - b).abs() / (a + b) < 0.2, "{a} and {b} Mbit/s");
        assert!(a + b > 0.95 * 19.31);
    }
}

#[test]
fn beside_cubic_it_takes_more_of_a_shallow_buffer_and_less_of_a_deep_one() {
    // Known of version 1 (Hock et al., ICNP 2017; Ware et al., IMC 2019): its window is 2 BDP whatever is lost, CUBIC's
    // the BDP and the buffer. With a buffer of one BDP BBR wins; with eight, the flows share by their windows.
    for (limit, range) in [(67, 1.2..100.0), (536, 0.02..0.9)] {
        let text = scenario(&[("bbr", "bbr"), ("cubic", "cubic")], &format!("pfifo limit {limit}p"), 80, 20);
        for report in runs(&text, None, 2, 2) {
            let ratio = goodput(&report, "bbr") / goodput(&report, "cubic");
            println!("{limit}: {ratio}");
            assert!(range.contains(&ratio), "{limit} packets: {ratio}");
        }
    }
}
