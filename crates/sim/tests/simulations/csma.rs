//! The shared channel: carrier sense, back-off, and a channel that stays busy for the propagation delay.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{metric, runs};

/// `n` stations each send `rate` of UDP (1000 B with headers and framing) to one server over a bus of 1 Gbit/s.
fn bus(n: u64, rate: &str, delay: &str, duration: &str) -> String {
    format!(
        r#"
        name = "bus"
        duration = "{duration}"
        [[nodes]]
        name = "station"
        count = {n}
        [[buses]]
        name = "lan"
        stations = ["station", "server"]
        rate = "1 Gbit/s"
        delay = "{delay}"
        queue = "pfifo limit 20p"
        under_test = true
        [[flows]]
        name = "cbr"
        from = "station"
        to = "server"
        start = {{ uniform = ["0 s", "10 ms"] }}
        transport = {{ kind = "udp", header = "28 B" }}
        traffic = {{ kind = "cbr", rate = "{rate}", packet_size = "972 B" }}
        "#
    )
}

#[test]
fn an_idle_channel_takes_a_frame_at_once() {
    // One station, 100 frames/s: 8 us of transmission and 1 ms of propagation, never a wait.
    let report = runs(&bus(1, "777600 bit/s", "1 ms", "5 s"), None, 1, 1).remove(0);
    assert!((metric(&report, "one_way_delay_ms_mean") - 1.008).abs() < 1e-9);
    assert_eq!(metric(&report, "drops_packets"), 0.0);
    // 100 frames/s for 1.008 ms each.
    assert!((metric(&report, "utilisation") - 0.1008).abs() < 0.0005);
}

#[test]
fn propagation_caps_the_frame_rate() {
    // Saturated by one station: it transmits (8 us), then finds the channel propagating for 1 ms and backs off in slots
    // uniform in 1..min(2^k - 1, 1000) until it is idle. A cycle is 1.008 ms plus the overshoot of the last back-off,
    // which is between 0 and 1 ms: so between 498 and 992 frames/s. ns-3 3.37 gives the same order ("near 1000").
    let report = runs(&bus(1, "20 Mbit/s", "1 ms", "20 s"), None, 1, 1).remove(0);
    let frames = metric(&report, "delivered_packets") / 20.0;
    assert!((498.0..992.0).contains(&frames), "{frames} frames/s");
}

#[test]
fn more_stations_fill_the_gaps() {
    // With more stations waiting, the first to look after the channel falls idle takes it: the gap shrinks.
    let frames =
        |n| metric(&runs(&bus(n, "20 Mbit/s", "1 ms", "20 s"), None, 1, 1).remove(0), "delivered_packets") / 20.0;
    let (one, ten) = (frames(1), frames(10));
    assert!(ten > one && ten < 992.1, "{one} with one station, {ten} with ten");
    // The gap is the least of ten residual back-offs with a mean of at least 1/11 of ... at most 1 ms / 10.
    assert!(ten > 1000.0 / 1.108, "{ten}");
}

#[test]
fn without_propagation_the_rate_is_the_link_rate() {
    // 1 us of delay: a cycle is 8 us + 1 us + at most a few slots of 1 us; the channel carries most of its 1 Gbit/s.
    let report = runs(&bus(2, "600 Mbit/s", "1 us", "100 ms"), None, 1, 1).remove(0);
    let frames = metric(&report, "delivered_packets") / 0.1;
    assert!((1e6 / 13.0..1e6 / 9.0).contains(&frames), "{frames}");
}

#[test]
fn who_answers_a_frame_finds_the_channel_still_taken() {
    // A segment of 1052 B of IP (8.416 us) and its acknowledgement of 52 B (0.416 us), 1 ms each way; the answer comes at the
    // instant at which the channel falls idle, and backs off for the one slot of a first attempt.
    let text = r#"
        name = "bus"
        duration = "1 s"
        [[buses]]
        name = "lan"
        stations = ["station", "server"]
        rate = "1 Gbit/s"
        delay = "1 ms"
        [[flows]]
        name = "one"
        from = "station"
        to = "server"
        start = "10 ms"
        transport = { mss = "1000 B", handshake = false, ack_every = "1 p" }
        traffic = { kind = "transfer", size = "1000 B" }
        "#;
    let report = runs(text, None, 1, 1).remove(0);
    let expected = 8.416e-3 + 1.0 + 1e-3 + 0.416e-3 + 1.0;
    assert!((metric(&report, "rtt_ms_mean") - expected).abs() < 1e-9, "{}", metric(&report, "rtt_ms_mean"));
}

#[test]
fn the_device_queue_hides_packets_from_the_scheme() {
    // With a device queue of 50 below it, a scheme of 20 never sees more than what does not fit in 50.
    let text = bus(1, "20 Mbit/s", "1 ms", "5 s");
    let with = text.replace("under_test = true", "under_test = true\n device_queue = \"50 p\"");
    let (plain, hidden) = (runs(&text, None, 1, 1).remove(0), runs(&with, None, 1, 1).remove(0));
    let waiting = |r| metric(r, "queue_packets_mean");
    let system = |r| metric(r, "system_packets_mean");
    assert!((waiting(&plain) - waiting(&hidden)).abs() < 1.0);
    // Fifty more in the system, nearly from the start.
    assert!((system(&hidden) - system(&plain) - 50.0).abs() < 1.5, "{} {}", system(&plain), system(&hidden));
}

/// One station of `text`'s bus offers more than the channel takes.
fn saturated(delay: &str, duration: &str, warm_up: &str) -> f64 {
    let text =
        bus(1, "900 Mbit/s", delay, duration).replace("[[nodes]]", &format!("warm_up = \"{warm_up}\"\n[[nodes]]"));
    let text = text.replace("start = { uniform = [\"0 s\", \"10 ms\"] }", "start = \"0 s\"");
    metric(&runs(&text, None, 1, 1).remove(0), "utilisation")
}

#[test]
fn a_frame_on_the_channel_counts_within_the_measurement_only() {
    // A frame of 1000 B holds the channel from 0 s (the first packet is there after an interval of 8.64 us) for 8 us and
    // 400 ms of propagation, longer than the run: all that is left of it counts, and no more.
    let gap = 972.0 * 8.0 / 900e6;
    let whole = saturated("400 ms", "100 ms", "0 s");
    assert!((whole - (0.1 - gap) / 0.1).abs() < 1e-6, "{whole}");
    // The measurement begins within the frame: the channel is held all the time.
    assert_eq!(saturated("400 ms", "100 ms", "50 ms"), 1.0);
    // It begins in the frame's propagation, whose end at 40.01664 ms lies within it; the next one outlasts the run.
    // In between the station looks again after at most a back-off of 1 ms.
    let cut = saturated("40 ms", "50 ms", "30 ms");
    assert!((0.95..=1.0).contains(&cut), "{cut}");
}
