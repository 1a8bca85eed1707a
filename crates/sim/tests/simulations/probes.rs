//! What a report says of slow start, of flows that began, and of dAQM's conditions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{metric, runs};
use sojourn_sim::RunReport;

/// `flows` over 800 Mbit/s (a byte takes 10 ns) and 100 ms each way.
fn run(duration: &str, queue: &str, flows: &str) -> RunReport {
    let text = format!(
        r#"
        name = "probes"
        duration = "{duration}"
        [[links]]
        name = "link"
        from = "a"
        to = "b"
        rate = "800 Mbit/s"
        delay = "100 ms"
        queue = "{queue}"
        under_test = true
        {flows}
        "#
    );
    runs(&text, None, 1, 1).remove(0)
}

fn flow(name: &str, start: &str, transport: &str, traffic: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nstart = \"{start}\"\n\
         transport = {{ {transport} }}\ntraffic = {{ {traffic} }}\n"
    )
}

const RENO: &str = r#"congestion_control = "reno", handshake = false"#;
const BULK: &str = r#"kind = "bulk""#;

#[test]
fn a_window_that_doubles_has_grown_by_so_much_after_a_second() {
    let report = run("3 s", "pfifo limit 10000p", &flow("tcp", "0 s", RENO, BULK));
    // A round trip is 200 ms and a little: 4 within the first second, so 10 * 2^4 - 10. Nothing is lost: the window has
    // not left slow start when the run ends.
    assert_eq!(metric(&report, "cwnd_growth_segments_mean"), 150.0);
    assert_eq!(metric(&report, "slow_start_s_mean"), 3.0);
    let flow = &report.flows[0].metrics;
    assert_eq!((flow.of("cwnd_growth_segments"), flow.of("slow_start_s")), (Some(150.0), Some(3.0)));
}

#[test]
fn slow_start_ends_with_the_first_loss_with_the_transfer_or_with_the_run() {
    // 10 segments at once into a queue of 5 and the link: the last 4 are lost, which only what the 6 acknowledgements
    // release can show. It is sent after 200 ms, and its duplicates come back after 400.
    let lossy = run("3 s", "pfifo limit 5p", &flow("tcp", "0 s", RENO, BULK));
    let ends = metric(&lossy, "slow_start_s_mean");
    assert!((0.4..0.402).contains(&ends), "{ends}");
    assert!(lossy.flows[0].metrics.of("retransmissions_segments") > Some(0.0));
    // One segment of 1448 B and its 52 B of headers at 800 Mbit/s: 15 us, and 100 ms.
    let short = run("3 s", "pfifo limit 10000p", &flow("tcp", "1 s", RENO, r#"kind = "transfer", size = "1448 B""#));
    assert_eq!(metric(&short, "slow_start_s_mean"), 0.100_015);
    // It began half a second before the end.
    let late = run("3 s", "pfifo limit 10000p", &flow("tcp", "2500 ms", RENO, BULK));
    assert_eq!(metric(&late, "slow_start_s_mean"), 0.5);
    assert_eq!(late.metrics.of("cwnd_growth_segments_mean"), None, "its first second is not over");
    assert_eq!(late.flows[0].metrics.of("cwnd_growth_segments"), None);
}

#[test]
fn flows_that_began_are_counted_and_udp_has_no_slow_start() {
    let udp = r#"kind = "udp""#;
    let cbr = r#"kind = "cbr", rate = "1 Mbit/s", packet_size = "1000 B""#;
    let flows = flow("first", "0 s", udp, cbr) + &flow("second", "1 s", RENO, BULK) + &flow("third", "5 s", RENO, BULK);
    let report = run("2 s", "pfifo limit 10000p", &flows);
    assert_eq!(metric(&report, "flows_started"), 2.0);
    assert_eq!(metric(&report, "slow_start_s_mean"), 1.0);
    assert_eq!(report.flows[0].metrics.of("slow_start_s"), None);
    assert_eq!(report.flows[2].metrics.of("slow_start_s"), None);
}

/// 4 Mbit/s, and from the end of the warm-up 12 Mbit/s more, into 8 Mbit/s: 1 ms a packet of 1000 B.
fn overload(queue: &str) -> RunReport {
    let flow = |name: &str, start: &str, rate: &str| {
        format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nstart = \"{start}\"\n\
             transport = {{ kind = \"udp\", header = \"28 B\" }}\n\
             traffic = {{ kind = \"cbr\", rate = \"{rate}\", packet_size = \"972 B\" }}\n"
        )
    };
    let text = format!(
        "name = \"overload\"\nduration = \"2 s\"\nwarm_up = \"1 s\"\n[[links]]\nname = \"link\"\nfrom = \"a\"\nto = \"b\"\n\
         rate = \"8 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"{queue}\"\nunder_test = true\n{}{}",
        flow("light", "0 s", "4 Mbit/s"),
        flow("heavy", "1 s", "12 Mbit/s"),
    );
    runs(&text, None, 1, 1).remove(0)
}

#[test]
fn hits_of_daqm_are_over_packets_that_left_in_the_measured_time() {
    // A hit drops the head and opens a phase of 3 ms in which nothing is looked at and, with a drop rate of 0, nothing
    // dropped: 3 packets are sent for each hit, so of 4 that leave one is a hit. In the warm-up 500 leave without.
    let report = overload("daqm s0 none q0 5p drop_rate 0 drop_duration 3ms limit 5000p");
    let ratio = metric(&report, "daqm_hit_ratio");
    assert!((ratio - 0.25).abs() < 0.003, "{ratio}");
    assert_eq!(report.queues[0].metrics.of("daqm_hit_ratio"), Some(ratio));
    let internals = &report.queues[0].internals;
    assert!((internals["hits"] - 333.0).abs() <= 5.0, "{internals:?}");
    assert_eq!(internals["hits"], internals["head_drops"]);
    // What another scheme drops is no hit.
    assert_eq!(overload("codel limit 5000p").metrics.of("daqm_hit_ratio"), None);
}
