//! LEDBAT on scenarios: the queue it holds alone, what it leaves to Reno, and what of the link it uses otherwise.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{metric, runs};
use sojourn_sim::RunReport;

/// Two flows over 20 Mbit/s and 40 ms with room for 500 packets, 300 ms.
const HEAD: &str = r#"
    name = "ledbat"
    duration = "260 s"
    warm_up = "160 s"
"#;
const FLOWS: &str = r#"
    [[flows]]
    name = "ledbat"
    from = "s0"
    to = "r0"
    transport = { congestion_control = "ledbat" }
    [[flows]]
    name = "reno"
    from = "s1"
    to = "r1"
    start = { uniform = ["1 s", "2 s"] }
    transport = { congestion_control = "reno" }
"#;

fn pair() -> String {
    format!("{HEAD}{}{FLOWS}", crate::common::dumbbell("20 Mbit/s", "19 ms", "pfifo limit 500p"))
}

/// Of a flow, Mbit/s.
fn goodput(report: &RunReport, group: &str) -> f64 {
    let flow = report.flows.iter().find(|flow| flow.name == format!("{group}[0]")).unwrap();
    flow.metrics.of("goodput_bit_s").unwrap() / 1e6
}

fn alone() -> String {
    pair().split("    [[flows]]\n    name = \"reno\"").next().unwrap().to_owned()
}

#[test]
fn alone_it_fills_the_link_and_holds_the_queue_at_its_target() {
    // The last of the approach has the time constant target * (base RTT + target) / segment time = 100 ms * 140 ms / 0.6 ms = 23 s;
    // 160 s are seven of them. Delays are taken of one segment in two, the first of each pair: up to a packet's 0.6 ms less.
    for target in [100.0, 25.0] {
        let text = alone().replace("\"ledbat\" }", &format!("\"ledbat\", ledbat_target = \"{target} ms\" }}"));
        for report in runs(&text, None, 1, 1) {
            let mean = metric(&report, "sojourn_ms_mean");
            println!("target {target} ms: {mean} ms, utilisation {}", metric(&report, "utilisation"));
            assert!((mean / target - 1.0).abs() < 0.05, "{mean} ms, target {target} ms");
            assert!(metric(&report, "utilisation") > 0.99);
        }
    }
}

#[test]
fn it_yields_to_reno() {
    // Reno's window swings between half of and 67 + 500 packets: its queue between 217 and 500 packets, 130 and 300 ms, is always above the
    // target, so LEDBAT keeps two segments a round trip of 170 ms at least: 2 * 1500 B / 170 ms = 0.14 Mbit/s, 0.7 %.
    for report in runs(&pair(), None, 2, 2) {
        let (ledbat, reno) = (goodput(&report, "ledbat"), goodput(&report, "reno"));
        println!("{ledbat} and {reno} Mbit/s");
        assert!(ledbat / (ledbat + reno) < 0.02, "{ledbat} and {reno} Mbit/s");
        assert!(ledbat > 0.05, "it is slow, not dead: {ledbat} Mbit/s");
    }
}

#[test]
fn in_a_buffer_below_its_target_it_is_a_flow_like_reno() {
    // With room for 50 ms it never sees 100 ms: growth (1 - 50/100 at the least) of a segment a round trip, and halving on loss.
    let text = pair().replace("limit 500p", "limit 83p");
    for report in runs(&text, None, 2, 2) {
        let ratio = goodput(&report, "ledbat") / goodput(&report, "reno");
        println!("ratio {ratio}");
        assert!((0.3..1.3).contains(&ratio), "{ratio}");
    }
}
