//! CAKE with transports: two hosts share the link alike however many flows each has, and a sparse flow hardly waits.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::runs;
use sojourn_sim::RunReport;

const CUBIC: &str = r#"transport = { congestion_control = "cubic" }"#;

/// Hosts s0 with one flow, s1 with several and s2 with a sparse one; CAKE shapes before a link that is faster.
/// Propagation takes 10 ms each way.
fn home(cake: &str, one: &str, (count, several): (u32, &str)) -> String {
    format!(
        r#"
        name = "home"
        duration = "40 s"
        warm_up = "10 s"
        [[links]]
        name = "bottleneck"
        from = "left"
        to = "right"
        rate = "1 Gbit/s"
        delay = "9900 us"
        queue = "{cake}"
        under_test = true
        [[nodes]]
        name = "s"
        count = 3
        [[nodes]]
        name = "r"
        count = 3
        [[links]]
        name = "in"
        from = "s"
        to = "left"
        rate = "1 Gbit/s"
        delay = "50 us"
        [[links]]
        name = "out"
        from = "right"
        to = "r"
        rate = "1 Gbit/s"
        delay = "50 us"
        [[flows]]
        name = "one"
        from = "s0"
        to = "r0"
        {one}
        [[flows]]
        name = "several"
        count = {count}
        from = "s1"
        to = "r1"
        start = {{ uniform = ["0 s", "1 s"] }}
        {several}
        [[flows]]
        name = "sparse"
        from = "s2"
        to = "r2"
        traffic = {{ kind = "cbr", rate = "64 kbit/s", packet_size = "160 B" }}
        transport = {{ kind = "udp" }}
        "#
    )
}

/// A sender that never lets up.
fn unresponsive(mbit_s: u32) -> String {
    format!(
        r#"traffic = {{ kind = "cbr", rate = "{mbit_s} Mbit/s", packet_size = "1472 B" }}
        transport = {{ kind = "udp" }}"#
    )
}

/// Goodput of a group of flows together in Mbit/s.
fn goodput(report: &RunReport, group: &str) -> f64 {
    let members = report.flows.iter().filter(|flow| flow.name.starts_with(&format!("{group}[")));
    let each = members.map(|flow| flow.metrics.of("goodput_bit_s").unwrap_or_else(|| panic!("no goodput")));
    each.sum::<f64>() / 1e6
}

/// Mean and standard deviation of the sparse flow's delay less propagation, in ms.
fn sparse_queueing(report: &RunReport) -> (f64, f64) {
    let flow = report.flows.iter().find(|flow| flow.name.starts_with("sparse")).unwrap();
    let metric = |name: &str| flow.metrics.of(name).unwrap_or_else(|| panic!("no {name}"));
    (metric("one_way_delay_ms_mean") - 10.0, metric("one_way_delay_ms_sd"))
}

#[test]
fn hosts_that_never_let_up_share_exactly_alike() {
    let text = home("cake bandwidth 50mbit", &unresponsive(60), (8, &unresponsive(10)));
    for report in runs(&text, None, 2, 2) {
        // 50 Mbit/s less the sparse flow's 64 x 188/160 kbit/s, halved; of 1500 B 1472 are payload.
        let share = (50.0 - 0.0752) / 2.0 * 1472.0 / 1500.0;
        for group in ["one", "several"] {
            let goodput = goodput(&report, group);
            assert!((goodput / share - 1.0).abs() < 0.002, "{group}: {goodput} of {share} Mbit/s");
        }
    }
}

#[test]
fn one_tcp_flow_has_the_same_of_half_the_link_as_of_a_link_of_its_own() {
    let beside = home("cake bandwidth 50mbit", CUBIC, (8, &unresponsive(10)));
    let alone = home("cake bandwidth 25mbit", CUBIC, (1, "stop = \"2 s\""));
    for (beside, alone) in runs(&beside, None, 2, 2).iter().zip(&runs(&alone, None, 2, 2)) {
        let (beside, alone) = (goodput(beside, "one"), goodput(alone, "one"));
        assert!((beside / alone - 1.0).abs() < 0.01, "{beside} beside others, {alone} Mbit/s alone");
    }
}

#[test]
fn a_host_with_one_tcp_flow_has_as_much_as_one_with_eight_and_a_sparse_flow_hardly_waits() {
    for report in runs(&home("cake bandwidth 50mbit", CUBIC, (8, CUBIC)), None, 2, 2) {
        let (one, several) = (goodput(&report, "one"), goodput(&report, "several"));
        // Each flow of the eight has 5 packets under way without a queue, so its queue is empty now and then. As in Linux the
        // quantum is divided by the host's bulk flows, and one that has emptied is none although it still has its turn: the
        // eight together get some 4 % more than half, and the single CUBIC flow does not use its half quite up.
        assert!((0.87..1.0).contains(&(one / several)), "{one} to {several} Mbit/s");
        // Together they fill the link: 1448 of 1500 B.
        assert!((one + several) / (49.92 * 1448.0 / 1500.0) > 0.99, "{one} and {several} Mbit/s");
        // The packet that is being sent, 0.24 ms, and few others.
        let (mean, sd) = sparse_queueing(&report);
        assert!(mean > 0.0 && mean + 3.0 * sd < 1.0, "{mean} ms, sd {sd} ms");
    }
    // Without isolation of hosts the nine flows share alike, and without that of flows the sparse one waits with them.
    for report in runs(&home("cake bandwidth 50mbit flows", CUBIC, (8, CUBIC)), None, 2, 2) {
        let ratio = goodput(&report, "one") / goodput(&report, "several");
        assert!((0.11..0.14).contains(&ratio), "{ratio}");
    }
    for report in runs(&home("cake bandwidth 50mbit flowblind", CUBIC, (8, CUBIC)), None, 2, 2) {
        let (mean, _) = sparse_queueing(&report);
        assert!(mean > 2.0, "{mean} ms");
    }
}
