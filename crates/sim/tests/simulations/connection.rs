//! Whole connections over a link: what opening, closing, agreeing on ECN and reading slowly come to.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{metric, runs};
use sojourn_sim::RunReport;

/// One flow over 8 Mbit/s (a byte takes 1 us) and 10 ms each way, from 1 ms on.
fn run(transport: &str, traffic: &str, queue: &str) -> RunReport {
    run_from("1 ms", transport, traffic, queue)
}

fn run_from(start: &str, transport: &str, traffic: &str, queue: &str) -> RunReport {
    let text = format!(
        r#"
        name = "one flow"
        duration = "20 s"
        [[links]]
        name = "link"
        from = "a"
        to = "b"
        rate = "8 Mbit/s"
        delay = "10 ms"
        queue = "{queue}"
        under_test = true
        [[flows]]
        name = "flow"
        from = "a"
        to = "b"
        start = "{start}"
        transport = {{ {transport} }}
        traffic = {{ {traffic} }}
        "#
    );
    runs(&text, None, 1, 1).remove(0)
}

#[test]
fn a_transfer_takes_its_handshake_and_the_time_of_its_bytes() {
    let one = r#"kind = "transfer", size = "1448 B""#;
    let completion = |transport: &str| metric(&run(transport, one, "pfifo limit 100p"), "flow_completion_s_mean");
    // SYN 60 us + 10 ms, SYN-ACK the same, then the 52 us of the acknowledgement and the 1500 us of the segment, 10 ms.
    let opened = completion("") - 31.672e-3;
    assert!(opened.abs() < 1e-9, "{opened}");
    // Without it the segment alone.
    let bare = completion("handshake = false") - 11.5e-3;
    assert!(bare.abs() < 1e-9, "{bare}");
    // Without timestamps either it is 12 B shorter.
    let unstamped = completion("handshake = false, timestamps = false") - 11.488e-3;
    assert!(unstamped.abs() < 1e-9, "{unstamped}");
}

#[test]
fn what_starts_with_the_measurement_is_measured() {
    let transfer = r#"kind = "transfer", size = "14480 B""#;
    let report = run_from("0 s", "handshake = false", transfer, "pfifo limit 100p");
    assert_eq!(metric(&report, "sent_packets"), 10.0);
}

#[test]
fn segments_without_payload_are_no_data_packets_but_pass_the_queue() {
    let report = run("", r#"kind = "transfer", size = "14480 B""#, "pfifo limit 100p");
    for name in ["sent_packets", "delivered_packets"] {
        assert_eq!(metric(&report, name), 10.0, "{name}");
    }
    // SYN, its acknowledgement, ten segments and the acknowledgement of the receiver's FIN.
    assert_eq!(metric(&report, "arrivals_packets"), 13.0);
    assert_eq!(report.conservation.in_flight, 0);
}

#[test]
fn a_queue_that_drops_everything_sees_five_syns_in_twenty_seconds_and_no_data() {
    // Nothing but SYNs is ever sent, and none passes: after 0, 1, 3, 7 and 15 s.
    let report = run("", r#"kind = "bulk""#, "pfifo limit 0p");
    assert_eq!(metric(&report, "sent_packets"), 0.0);
    assert_eq!((metric(&report, "arrivals_packets"), metric(&report, "timeouts")), (5.0, 4.0));
}

#[test]
fn a_receiver_that_does_not_want_ecn_gets_drops_instead_of_marks() {
    let signals = |transport: &str| {
        let report = run(transport, r#"kind = "bulk""#, "codel ecn");
        (metric(&report, "marks_packets") > 0.0, metric(&report, "drops_early_packets") > 0.0)
    };
    assert_eq!(signals("ecn = true"), (true, false));
    assert_eq!(signals("ecn = true, ecn_accept = false"), (false, true));
    // Without handshake there is nobody to ask.
    assert_eq!(signals("ecn = true, ecn_accept = false, handshake = false"), (true, false));
}

#[test]
fn losses_found_by_time_cost_no_more_than_losses_counted() {
    let figures = |transport: &str| {
        let report = run(transport, r#"kind = "bulk""#, "pfifo limit 20p");
        (metric(&report, "utilisation"), metric(&report, "drops_packets"), metric(&report, "retransmissions_segments"))
    };
    let counted = figures("congestion_control = \"reno\"");
    let timed = figures("congestion_control = \"reno\", recovery = \"rack\", tail_loss_probe = true");
    // In order, as here, both find the same segments missing: each drop is sent again once, and little besides.
    for (utilisation, drops, again) in [counted, timed] {
        assert!(utilisation > 0.97, "{utilisation}");
        assert!(drops > 5.0 && again >= drops && again <= drops + 2.0, "{drops} dropped, {again} sent again");
    }
    assert!((timed.0 - counted.0).abs() < 0.005);
}

#[test]
fn a_tail_lost_is_mended_sooner_with_a_probe() {
    // 50 transfers of 9 segments, one at a time, over a queue of 6: the last of the burst are lost.
    let completion = |transport: &str| {
        let text = format!(
            r#"
            name = "tails"
            duration = "60 s"
            [[links]]
            name = "link"
            from = "a"
            to = "b"
            rate = "8 Mbit/s"
            delay = "50 ms"
            queue = "pfifo limit 6p"
            under_test = true
            [[flows]]
            name = "flow"
            from = "a"
            to = "b"
            count = 50
            start = {{ first = "1 ms", every = "1 s" }}
            transport = {{ {transport} }}
            traffic = {{ kind = "transfer", size = "13032 B" }}
            "#
        );
        let report = runs(&text, None, 1, 1).remove(0);
        assert_eq!(metric(&report, "flows_completed"), 50.0);
        (metric(&report, "flow_completion_s_mean"), metric(&report, "timeouts"))
    };
    // Nine segments at once, of which the last two or three find no room: RTT 100 ms, so the probe goes out two of these
    // later and the timer three.
    let (counted, timeouts) = completion("");
    let (probed, none) = completion("recovery = \"rack\", tail_loss_probe = true");
    assert!(timeouts >= 50.0 && none == 0.0, "{timeouts}, {none}");
    assert!(probed < counted, "{probed} s, {counted} s");
}

#[test]
fn goodput_is_that_of_a_slow_reader() {
    let report = run(r#"read_rate = "1 Mbit/s", receive_buffer = "64 KiB""#, r#"kind = "bulk""#, "pfifo limit 100p");
    // 20 s at 1 Mbit/s and the buffer ahead of them: 20 Mbit + 0.52 Mbit, less the first round trip.
    let goodput = metric(&report, "goodput_bit_s");
    assert!((1.0e6..=1.0265e6).contains(&goodput), "{goodput}");
    assert_eq!((metric(&report, "drops_packets"), metric(&report, "timeouts")), (0.0, 0.0));
}

#[test]
fn a_flow_that_stops_closes_and_the_network_falls_silent() {
    let text = r#"
        name = "stop"
        duration = "20 s"
        [[links]]
        name = "link"
        from = "a"
        to = "b"
        rate = "8 Mbit/s"
        delay = "10 ms"
        under_test = true
        [[flows]]
        name = "flow"
        from = "a"
        to = "b"
        stop = "2 s"
    "#;
    let report = runs(text, None, 1, 1).remove(0);
    assert_eq!(report.conservation.in_flight, 0);
    assert!(report.conservation.sent > 2_000);
}
