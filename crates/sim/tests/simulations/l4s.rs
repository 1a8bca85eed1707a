//! DualPI2 with a scalable sender beside a classic one, as RFC 9332 says: the L4S queue stays near empty, the classic one
//! near its target, and both flows share the link alike.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{metric, runs};
use sojourn_sim::RunReport;

/// DCTCP with ECT(1) and CUBIC over 40 Mbit/s and 20 ms.
const HEAD: &str = r#"
    name = "l4s"
    duration = "60 s"
    warm_up = "10 s"
"#;
const FLOWS: &str = r#"
    [[flows]]
    name = "l4s"
    from = "s0"
    to = "r0"
    start = { uniform = ["0 s", "1 s"] }
    transport = { congestion_control = "dctcp", ecn = true, ect = 1 }
    [[flows]]
    name = "classic"
    from = "s1"
    to = "r1"
    start = { uniform = ["0 s", "1 s"] }
    transport = { congestion_control = "cubic" }
"#;

fn pair() -> String {
    format!("{HEAD}{}{FLOWS}", crate::common::dumbbell("40 Mbit/s", "9 ms", "dualpi2"))
}

const PRESETS: [&str; 2] = ["dualpi2", "dualpi2 preset linux-7.2"];

/// Of every flow of a group: mean and standard deviation of the queueing delay in ms, and the rate in Mbit/s.
fn flows(report: &RunReport, group: &str) -> Vec<[f64; 3]> {
    let members = report.flows.iter().filter(|flow| flow.name.starts_with(&format!("{group}[")));
    let measures = members.map(|flow| {
        let metric = |name: &str| flow.metrics.of(name).unwrap_or_else(|| panic!("no {name}"));
        // 10 ms of propagation; 1500 B take 0.3 ms at 40 Mbit/s and 0.012 ms at each 1 Gbit/s.
        let queueing = metric("one_way_delay_ms_mean") - 10.324;
        [queueing, metric("one_way_delay_ms_sd"), metric("goodput_bit_s") / 1e6]
    });
    measures.collect()
}

fn four_of_each() -> String {
    pair().replace("from = \"s0\"", "count = 4\nfrom = \"s0\"").replace("from = \"s1\"", "count = 4\nfrom = \"s1\"")
}

#[test]
fn the_l4s_queue_stays_below_a_millisecond_the_classic_one_at_its_target_and_rates_are_alike() {
    for scheme in PRESETS {
        for (text, what) in [(pair().to_owned(), "one of each"), (four_of_each(), "four of each")] {
            for report in runs(&text, Some(scheme), 2, 2) {
                let (l4s, classic) = (flows(&report, "l4s"), flows(&report, "classic"));
                assert!(metric(&report, "utilisation") > 0.99, "{scheme}, {what}");
                // The ramp ends at 1.2 ms, the step is at 1 ms.
                for [mean, sd, _] in &l4s {
                    assert!(*mean > 0.0 && mean + 3.0 * sd < 1.3, "{scheme}, {what}: L4S {mean} ms, sd {sd} ms");
                }
                // The controller holds the older head at 15 ms; the sawtooth of a single CUBIC flow hangs below.
                for [mean, _, _] in &classic {
                    assert!((12.0..17.0).contains(mean), "{scheme}, {what}: classic {mean} ms");
                }
                for [.., scalable] in &l4s {
                    for [.., cubic] in &classic {
                        let ratio = scalable / cubic;
                        assert!((0.5..2.0).contains(&ratio), "{scheme}, {what}: {scalable} to {cubic} Mbit/s");
                    }
                }
            }
        }
    }
}

#[test]
fn alone_a_scalable_flow_fills_the_link_with_about_a_millisecond_of_queue() {
    let both = pair();
    let alone = both.split("    [[flows]]\n    name = \"classic\"").next().unwrap();
    for scheme in PRESETS {
        for report in runs(alone, Some(scheme), 2, 2) {
            assert!(metric(&report, "utilisation") > 0.99, "{scheme}");
            assert_eq!(metric(&report, "drops_packets"), 0.0, "{scheme}");
            // Nothing is coupled: the ramp (0.8 to 1.2 ms) or the step (1 ms) alone holds the top of the queue.
            let top = metric(&report, "sojourn_ms_p99");
            assert!((0.8..1.4).contains(&top), "{scheme}: {top} ms");
        }
    }
}

#[test]
fn without_the_identifier_a_scalable_flow_waits_with_the_classic_one_and_crowds_it_out() {
    // The squared probability is for senders that halve: this is what the coupling and the identifier are for.
    let unidentified = pair().replace("ect = 1", "ect = 0");
    for report in runs(&unidentified, None, 2, 2) {
        let ([delay, _, scalable], [_, _, cubic]) = (flows(&report, "l4s")[0], flows(&report, "classic")[0]);
        assert!((12.0..17.0).contains(&delay), "{delay} ms");
        assert!(scalable > 5.0 * cubic, "{scalable} to {cubic} Mbit/s");
    }
}

#[test]
fn beside_a_classic_flow_the_coupling_marks_as_much_as_the_l4s_flow_needs_so_that_its_own_queue_stays_below_the_ramp() {
    // The ramp begins at 0.8 ms, Linux's step is at 1 ms.
    for (scheme, native_ms) in PRESETS.into_iter().zip([0.8, 1.0]) {
        for report in runs(&pair(), Some(scheme), 2, 2) {
            let packets = |flow: usize| report.flows[flow].metrics.of("delivered_packets").unwrap();
            // RFC 9332 section 2.1: p_C = p'^2 and p_CL = 2 p', so CUBIC's share of drops tells the share of coupled marks.
            let coupled = 2.0 * (metric(&report, "drops_packets") / packets(1)).sqrt();
            let marked = metric(&report, "marks_packets") / packets(0);
            // p' varies, so its mean is below the root of its mean square; some 40 drops tell that root to within 8 %.
            assert!((0.75..1.1).contains(&(marked / coupled)), "{scheme}: {marked} marked, {coupled} coupled");
            // DCTCP grows by a packet in a round-trip time without a mark and else shrinks by alpha/2 = p/2 of its window W:
            // exp(-p W) = (1 - exp(-p W)) p W / 2, so p W = 1.05, more where marks come in clusters.
            let flow = &report.flows[0].metrics;
            let window = flow.of("goodput_bit_s").unwrap() * flow.of("rtt_ms_mean").unwrap() / 1e3 / 8.0 / 1448.0;
            assert!((0.9..1.7).contains(&(marked * window)), "{scheme}: {marked} marked, window {window}");
            let [mean, sd, _] = flows(&report, "l4s")[0];
            assert!(mean + 2.0 * sd < native_ms, "{scheme}: {mean} ms, sd {sd} ms");
        }
    }
}

#[test]
fn the_report_measures_the_two_queues_apart() {
    for report in runs(&pair(), Some("dualpi2"), 2, 2) {
        let queue = |name: &str| report.queues.iter().find(|queue| queue.under_test).unwrap().metrics.of(name).unwrap();
        let ([l4s, ..], [classic, ..]) = (flows(&report, "l4s")[0], flows(&report, "classic")[0]);
        // Each queue has one flow's data, whose queueing delay is the sojourn time: there is no other queue. The access links of
        // 1 Gbit/s have one when a window opens by several packets, 12 us each.
        assert!((queue("l4s_sojourn_ms_mean") - l4s).abs() < 0.05, "{l4s}");
        assert!((queue("classic_sojourn_ms_mean") - classic).abs() < 0.05, "{classic}");
        assert!(queue("l4s_sojourn_ms_p99") < 1.3 && queue("classic_sojourn_ms_p99") > 15.0);
        // All packets are in one of them; all marks are of one and all drops of the other.
        let [l4s, classic] = ["l4s_packets", "classic_packets"].map(queue);
        // What waited at the start of the measurement and leaves after it, or the other way round, is the only difference.
        assert!((l4s + classic + queue("drops_packets") - queue("arrivals_packets")).abs() < 300.0);
        assert_eq!((queue("l4s_drops_packets"), queue("classic_drops_packets")), (0.0, queue("drops_packets")));
        assert!((queue("l4s_mark_ratio") * l4s - queue("marks_packets")).abs() < 0.5);
        assert!(
            (queue("classic_signal_ratio") * (classic + queue("drops_packets")) - queue("drops_packets")).abs() < 0.5
        );
        // k = 2; as in the test above, p' varies, and some 40 drops tell p_C.
        assert!((1.5..2.2).contains(&queue("coupling_ratio")), "{}", queue("coupling_ratio"));
        assert_eq!(queue("coupling_ratio"), metric(&report, "coupling_ratio"));
    }
    let report = &runs(&pair(), Some("codel"), 1, 1)[0];
    assert_eq!(report.metrics.of("l4s_packets"), None);
}

#[test]
fn non_queue_building_traffic_waits_with_the_l4s_flow_and_not_with_the_classic_one() {
    let voice = r#"
        [[flows]]
        name = "voice"
        from = "s0"
        to = "r1"
        dscp = "DSCP"
        transport = { kind = "udp" }
        traffic = { kind = "cbr", rate = "80 kbit/s", packet_size = "200 B" }
    "#;
    // With the L4S queue's ramp; in the classic queue, at its target.
    for (dscp, scheme, expected) in [
        ("NQB", "dualpi2", 0.0..1.3),
        ("EF", "dualpi2", 12.0..17.0),
        ("NQB", "dualpi2 preset linux-7.2", 12.0..17.0),
        ("EF", "dualpi2 nqb EF", 0.0..1.3),
    ] {
        let text = format!("{}{}", pair(), voice.replace("DSCP", dscp));
        for report in runs(&text, Some(scheme), 1, 1) {
            let [mean, ..] = flows(&report, "voice")[0];
            assert!(expected.contains(&mean), "{dscp}, {scheme}: {mean} ms");
            let group = report.groups.iter().find(|group| group.name == "voice").unwrap();
            let lost = group.metrics.of("dropped_packets").unwrap();
            assert!(expected.end > 2.0 || lost == 0.0, "{dscp}, {scheme}: {lost} dropped");
        }
    }
}
