//! What must hold for every scheme on every network.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{metric, runs};
use sojourn_aqm::registry;
use sojourn_sim::{Options, Simulation};
use sojourn_units::Span;
use std::sync::Arc;

/// Ten TCP flows and a UDP flow through 10 Mbit/s; everything stops early enough for the queue to empty.
pub const MIXED: &str = r#"
    name = "mixed"
    duration = "40 s"
    [[nodes]]
    name = "s"
    count = 10
    [[nodes]]
    name = "d"
    count = 10
    [[links]]
    name = "bottleneck"
    from = "left"
    to = "right"
    rate = "10 Mbit/s"
    delay = "10 ms"
    loss = "0.1%"
    queue = "pfifo limit 200p"
    reverse_queue = "codel"
    under_test = true
    [[links]]
    name = "in"
    from = "s"
    to = "left"
    rate = "100 Mbit/s"
    delay = "2 ms"
    [[links]]
    name = "out"
    from = "right"
    to = "d"
    rate = "100 Mbit/s"
    delay = "2 ms"
    [[flows]]
    name = "transfer"
    from = "s"
    to = "d"
    start = { uniform = ["0 s", "1 s"] }
    transport = { kind = "tcp", congestion_control = "cubic", ecn = true }
    traffic = { kind = "transfer", size = "1500 kB" }
    [[flows]]
    name = "noise"
    from = "s0"
    to = "d0"
    stop = "15 s"
    transport = { kind = "udp" }
    traffic = { kind = "poisson", packets_per_second = 200, packet_size = "700 B" }
"#;

/// Every registered algorithm with defaults that work without further parameters.
fn schemes() -> Vec<String> {
    registry::ALL
        .iter()
        .map(|entry| match entry.name {
            "red" => "red min 30p max 90p limit 200p ecn".to_owned(),
            "daqm" => "daqm preset c1 interarrival 1ms".to_owned(),
            name => name.to_owned(),
        })
        .collect()
}

#[test]
fn transfers_complete_and_every_byte_arrives_once() {
    for scheme in schemes() {
        let report = runs(MIXED, Some(&scheme), 1, 1).remove(0);
        assert_eq!(metric(&report, "flows_completed"), 10.0, "{scheme}");
        for flow in report.flows.iter().filter(|flow| flow.transport == "tcp") {
            let bits = flow.metrics.of("goodput_bit_s").unwrap() * report.measured_s;
            assert!((bits - 12e6).abs() < 1e-3, "{scheme}: {} delivered {bits} bit of 12,000,000", flow.name);
        }
        // All is over: nothing is in flight but what the engine could not know to be over.
        assert_eq!(report.conservation.in_flight, 0, "{scheme}");
        assert_eq!(report.conservation.sent, report.conservation.delivered + report.conservation.dropped, "{scheme}");
    }
}

#[test]
fn littles_law_holds_for_each_scheme() {
    // The queue is empty at both ends, so exactly: mean queue x time = sum of the times that packets waited,
    // those that were dropped after waiting (CoDel drops at the head) included.
    for scheme in schemes() {
        let report = runs(MIXED, Some(&scheme), 1, 1).remove(0);
        let area = metric(&report, "queue_packets_mean") * report.measured_s * 1e3;
        let (arrived, dropped) = (metric(&report, "arrivals_packets"), metric(&report, "drops_packets"));
        let dropped_wait = report.metrics.of("dropped_sojourn_ms_mean").unwrap_or(0.0) * dropped;
        let waited = metric(&report, "sojourn_ms_mean") * (arrived - dropped) + dropped_wait;
        assert!(area > 0.0 && (area / waited - 1.0).abs() < 1e-9, "{scheme}: {area} packet ms against {waited}");
    }
}

#[test]
fn groups_are_what_their_flows_sum_to() {
    let report = runs(MIXED, None, 1, 1).remove(0);
    assert!(report.groups.len() > 1);
    for group in &report.groups {
        let flows: Vec<_> = report.flows.iter().filter(|flow| flow.group == group.name).collect();
        for metric in ["goodput_bit_s", "sent_packets", "delivered_packets", "dropped_packets", "timeouts"] {
            let sum: f64 = flows.iter().map(|flow| flow.metrics.of(metric).unwrap()).sum();
            assert!((group.metrics.of(metric).unwrap() - sum).abs() <= 1e-9 * sum, "{metric} of {}", group.name);
        }
        // Of one flow's delays: mean and deviation over packets, so that a group's lie between those of its flows.
        let means: Vec<f64> = flows.iter().filter_map(|flow| flow.metrics.of("one_way_delay_ms_mean")).collect();
        let (least, most) = means.iter().fold((f64::MAX, 0.0_f64), |(a, b), mean| (a.min(*mean), b.max(*mean)));
        let mean = group.metrics.of("one_way_delay_ms_mean").unwrap();
        assert!(least <= mean && mean <= most, "{least} {mean} {most} of {}", group.name);
        assert!(group.metrics.of("one_way_delay_ms_p50") <= group.metrics.of("one_way_delay_ms_p99"));
    }
    let of_all: f64 = report.groups.iter().map(|group| group.metrics.of("goodput_bit_s").unwrap()).sum();
    assert!((report.metrics.of("goodput_bit_s").unwrap() - of_all).abs() <= 1e-9 * of_all);
}

/// A packet of 1000 B takes 1 ms over the first link and 4 ms over the second: 250 packets a second use a quarter of the one
/// and all of the other, which is the second in the document.
const TWO: &str = r#"
    name = "two"
    duration = "11 s"
    warm_up = "1 s"
    [[links]]
    name = "fast"
    from = "a"
    to = "b"
    rate = "8 Mbit/s"
    delay = "1 ms"
    under_test = true
    [[links]]
    name = "slow"
    from = "b"
    to = "c"
    rate = "2 Mbit/s"
    delay = "1 ms"
    queue = "pfifo limit 10p"
    under_test = true
    [[flows]]
    name = "noise"
    from = "a"
    to = "c"
    transport = { kind = "udp", header = "28 B" }
    traffic = { kind = "cbr", rate = "1944 kbit/s", packet_size = "972 B" }
"#;

#[test]
fn metrics_of_queues_are_of_the_busiest_and_never_of_several() {
    let network = Arc::new(sojourn_scenario::load(TWO, "two", &[]).unwrap().resolve().unwrap());
    let options = Options { series: Some(Span::from_millis(500)), ..Options::default() };
    let report = Simulation::new(network, options).run().unwrap();
    assert_eq!(report.queue.as_deref(), Some("b->c"));
    let [fast, slow] = ["a->b", "b->c"].map(|name| report.queues.iter().find(|queue| queue.name == name).unwrap());
    assert!((fast.metrics.of("utilisation").unwrap() - 0.25).abs() < 0.002);
    assert!(slow.metrics.of("utilisation").unwrap() > 0.998);
    for (name, value) in slow.metrics.iter() {
        assert_eq!(report.metrics.of(name), value, "{name}");
    }
    assert!(report.queues.iter().all(|queue| queue.name != "all"), "only where it is asked for");
    let names: Vec<_> = report.distributions.keys().map(|name| &**name).collect();
    let of_queues = ["queue_packets:a->b", "queue_packets:b->c", "sojourn_ms:a->b", "sojourn_ms:b->c"];
    assert_eq!(names, [&["one_way_delay_ms"][..], &of_queues].concat());
    let series: Vec<_> = report.series.iter().map(|series| &*series.name).collect();
    assert!(series.contains(&"sojourn_ms:a->b") && series.contains(&"queue_packets:b->c"), "{series:?}");
    // Together, where asked for: sums, and the mean share of the links' time; the rest of the report is the same.
    let both = runs(&TWO.replace("warm_up", "pooled = true\nwarm_up"), None, 1, 1).remove(0);
    let all = &both.queues.last().unwrap().metrics;
    assert_eq!(both.queues.last().map(|queue| (&*queue.name, queue.under_test)), Some(("all", false)));
    for name in ["arrivals_packets", "drops_packets", "queue_packets_mean"] {
        let sum = fast.metrics.of(name).unwrap() + slow.metrics.of(name).unwrap();
        assert!((all.of(name).unwrap() - sum).abs() < 1e-9 * sum.max(1.0), "{name}");
    }
    let share = (fast.metrics.of("utilisation").unwrap() + slow.metrics.of("utilisation").unwrap()) / 2.0;
    assert!((all.of("utilisation").unwrap() - share).abs() < 1e-12);
    assert_eq!(both.metrics, report.metrics);
}
