//! Prague through DualPI2: beside CUBIC, alone, and with flows of its kind at other RTTs.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{metric, runs};
use sojourn_sim::RunReport;

/// Two flows over 40 Mbit/s, with access links of this one-way delay; `l4s` is scalable.
fn scenario(delays: [&str; 2], controls: [&str; 2]) -> String {
    let mut text = String::from(
        r#"
        name = "prague"
        duration = "60 s"
        warm_up = "15 s"
        [[links]]
        name = "bottleneck"
        from = "left"
        to = "right"
        rate = "40 Mbit/s"
        delay = "1 ms"
        queue = "dualpi2"
        under_test = true
        "#,
    );
    for (index, (delay, control)) in delays.iter().zip(controls).enumerate() {
        if control.is_empty() {
            continue;
        }
        let ecn = if control == "cubic" { "" } else { ", ecn = true, ect = 1" };
        text += &format!(
            r#"
        [[links]]
        name = "in{index}"
        from = "s{index}"
        to = "left"
        rate = "1 Gbit/s"
        delay = "{delay}"
        [[links]]
        name = "out{index}"
        from = "right"
        to = "r{index}"
        rate = "1 Gbit/s"
        delay = "500 us"
        [[flows]]
        name = "flow{index}"
        from = "s{index}"
        to = "r{index}"
        start = {{ uniform = ["0 s", "1 s"] }}
        transport = {{ congestion_control = "{control}"{ecn} }}
        "#
        );
    }
    text
}

/// Of a flow, Mbit/s.
fn goodput(report: &RunReport, index: usize) -> f64 {
    let flow = report.flows.iter().find(|flow| flow.name == format!("flow{index}[0]")).unwrap();
    flow.metrics.of("goodput_bit_s").unwrap() / 1e6
}

#[test]
fn beside_cubic_rates_are_alike() {
    // Coupling with k = 2 makes CUBIC's (in its Reno region) and a scalable sender's rates equal for equal RTTs (RFC 9332);
    // the classic queue adds 15 ms to CUBIC's 20, and Prague counts its 20 as 25.
    let text = scenario(["8.5 ms", "8.5 ms"], ["prague", "cubic"]);
    for report in runs(&text, None, 3, 2) {
        let ratio = goodput(&report, 0) / goodput(&report, 1);
        println!("ratio {ratio}");
        assert!((0.5..2.0).contains(&ratio), "{ratio}");
        assert!(metric(&report, "utilisation") > 0.98);
    }
}

#[test]
fn alone_it_fills_the_link_with_a_millisecond_of_queue() {
    let text = scenario(["8.5 ms", "8.5 ms"], ["prague", ""]);
    for report in runs(&text, None, 2, 2) {
        let [mean, top] = ["sojourn_ms_mean", "sojourn_ms_p99"].map(|name| metric(&report, name));
        println!("mean {mean} ms, p99 {top} ms, utilisation {}", metric(&report, "utilisation"));
        // The ramp from 0.8 to 1.2 ms holds the top of the queue.
        assert!(mean < 1.0 && top < 1.5, "{mean} ms, p99 {top} ms");
        assert!(metric(&report, "utilisation") > 0.95);
        assert_eq!(metric(&report, "drops_packets"), 0.0);
    }
}

#[test]
fn flows_with_10_and_40_ms_share_more_equally_than_with_dctcp() {
    let delays = ["3.5 ms", "18.5 ms"];
    let ratio = |control| {
        let text = scenario(delays, [control, control]);
        let ratios: Vec<f64> = runs(&text, None, 3, 2).iter().map(|r| goodput(r, 0) / goodput(r, 1)).collect();
        ratios.iter().sum::<f64>() / ratios.len() as f64
    };
    let (prague, dctcp) = (ratio("prague"), ratio("dctcp"));
    println!("prague {prague}, dctcp {dctcp}");
    // Each rate is inversely proportional to the (virtual) RTT: 40/25 = 1.6 for Prague; DCTCP's 40/10 = 4 or more, as marks come
    // from a queue of a millisecond on which only the flow with short RTT keeps up.
    assert!((1.0..2.4).contains(&prague), "{prague}");
    assert!(dctcp > 1.5 * prague, "Prague {prague}, DCTCP {dctcp}");
}
