//! Another scheme in the middle of a run, and stepping through runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{dumbbell, metric, runs};
use sojourn_sim::{Options, RunReport, Simulation};
use sojourn_units::{Instant, Span};
use std::sync::Arc;

const HEAD: &str = "name = \"t\"\nduration = \"6 s\"\nwarm_up = \"1 s\"\n";

/// Two TCP flows over 10 Mbit/s.
fn tcp(queue: &str, changes: &str) -> String {
    format!(
        "{HEAD}{}\n[[flows]]\nname = \"bulk\"\nfrom = \"s\"\nto = \"r\"\n{changes}",
        dumbbell("10 Mbit/s", "10 ms", queue)
    )
}

/// 12 Mbit/s of datagrams of 1500 B on 10 Mbit/s.
fn overload(queue: &str, changes: &str) -> String {
    let flow =
        "[[flows]]\nname = \"cbr\"\nfrom = \"s0\"\nto = \"r0\"\ntransport = {kind = \"udp\", header = \"0 B\"}\n\
                traffic = {kind = \"cbr\", rate = \"12 Mbit/s\", packet_size = \"1500 B\"}\n";
    format!("{HEAD}{}\n{flow}{changes}", dumbbell("10 Mbit/s", "10 ms", queue))
}

fn change(at: &str, scheme: &str) -> String {
    format!("[[changes]]\nat = \"{at}\"\nscheme = \"{scheme}\"\n")
}

fn one(text: &str) -> RunReport {
    runs(text, None, 1, 1).remove(0)
}

fn simulation(text: &str) -> Simulation {
    let document = sojourn_scenario::load(text, "test", &[]).unwrap_or_else(|e| panic!("{e}"));
    let network = Arc::new(document.resolve().unwrap_or_else(|e| panic!("{e}")));
    Simulation::new(network, Options { seed: 7, ..Options::default() })
}

fn at(seconds: f64) -> Instant {
    Instant::ZERO + Span::from_nanos((seconds * 1e9) as u64)
}

/// All that was measured, without what a change adds to a report.
fn measured(report: &RunReport) -> String {
    let queues: Vec<_> = report.queues.iter().map(|queue| (&queue.metrics, &queue.counts)).collect();
    let flows: Vec<_> = report.flows.iter().map(|flow| &flow.metrics).collect();
    format!("{:?} {queues:?} {flows:?} {:?}", report.metrics, report.conservation)
}

#[test]
fn a_tail_drop_that_replaces_itself_changes_nothing() {
    // It has nothing to forget, and every packet keeps its age and place.
    let plain = one(&tcp("pfifo limit 30p", ""));
    let changed = one(&tcp("pfifo limit 30p", &change("2500 ms", "pfifo limit 30p")));
    assert_eq!(measured(&changed), measured(&plain));
    let switched = &changed.queues[0].switched;
    assert_eq!((switched.len(), switched[0].at_s, switched[0].scheme.as_str()), (1, 2.5, "pfifo limit 30p"));
}

#[test]
fn a_queue_that_is_computed_until_it_is_to_change_gives_the_same() {
    // Queue `s0->left` is not under test: without a change a line, with one a port that runs a discipline.
    let named = "[[changes]]\nat = \"2 s\"\nqueue = \"s0->left\"\nscheme = \"pfifo limit 1000p\"\n";
    let (with, without) = (one(&overload("codel", named)), one(&overload("codel", "")));
    assert_eq!(with.metrics, without.metrics);
    assert_eq!(with.queues[2].name, "s0->left");
    assert_eq!((with.queues[2].switched.len(), without.queues[2].switched.len()), (1, 0));
}

#[test]
fn a_smaller_limit_drops_what_it_cannot_hold_and_the_rest_keeps_its_age() {
    // 12 into 10 Mbit/s: 166.67 packets of 1500 B a second too many, so after 2 s of traffic 100 wait. At a limit of 10 packets
    // 90 are dropped at once, the queue stays at 9 to 10, and whoever leaves has waited 9 to 10 times 1.2 ms.
    let mut run = simulation(&overload("pfifo limit 1000p", &change("4 s", "pfifo limit 10p")));
    run.watch();
    run.run_until(at(4.0) + Span::from_nanos(1));
    let window = run.window(0).expect("the bottleneck is under test");
    assert_eq!(window.backlog_packets, 10);
    // 666.67 packets in 4 s too many at most, less the 10 that wait and about as many under way.
    let excess = 4.0 * 2e6 / 12e3;
    assert!((window.drops_packets as f64 - (excess - 10.0)).abs() < 3.0, "{} drops", window.drops_packets);
    // The ten were the oldest; they are gone after 12 ms.
    run.run_until(at(4.1));
    let _ = run.window(0);
    run.run_until(at(5.1));
    let window = run.window(0).expect("the bottleneck is under test");
    let sojourn = window.sojourn_ms_mean.expect("packets left");
    assert!((9.0 * 1.2..=10.0 * 1.2).contains(&sojourn), "{sojourn} ms");
    // 166.67 a second.
    assert!((window.drops_packets as f64 - 166.67).abs() < 2.0, "{} drops", window.drops_packets);
    assert!(run.run().is_ok());
}

#[test]
fn packets_that_a_shaper_holds_go_when_its_successor_lets_them() {
    // CAKE shapes to 1 Mbit/s; pfifo sends at 10: the second after the change carries ten times as much.
    let mut run = simulation(&overload("cake bandwidth 1mbit", &change("3 s", "pfifo limit 10p")));
    run.watch();
    run.run_until(at(2.0));
    let _ = run.window(0);
    run.run_until(at(3.0));
    let shaped = run.window(0).and_then(|window| window.throughput_bit_s).expect("watched");
    run.run_until(at(4.0));
    let free = run.window(0).and_then(|window| window.throughput_bit_s).expect("watched");
    assert!((shaped - 1e6).abs() < 0.02e6 && (free - 10e6).abs() < 0.02e6, "{shaped} then {free} bit/s");
    assert!(run.run().is_ok());
}

#[test]
fn packets_that_a_shaper_holds_go_at_once_though_nothing_arrives() {
    // At 8 kbit/s CAKE sends a packet at 0, 1.5, 3, 4.5 s: traffic ends at 2.5 s, the switch is at 3.2 s, and the ten that pfifo
    // keeps are gone 12 ms later.
    let text = overload("cake bandwidth 8kbit", &change("3200 ms", "pfifo limit 10p"));
    let mut run =
        simulation(&text.replace("from = \"s0\"\nto = \"r0\"", "from = \"s0\"\nto = \"r0\"\nstop = \"2500 ms\""));
    run.watch();
    run.run_until(at(3.199));
    assert!(run.window(0).is_some_and(|window| window.backlog_packets > 100 && window.departures_packets < 5));
    run.run_until(at(3.22));
    let after = run.window(0).expect("the bottleneck is under test");
    assert_eq!((after.departures_packets, after.backlog_packets), (10, 0));
}

#[test]
fn a_switch_takes_effect_on_tcp_and_conserves_packets_under_every_scheme() {
    let plain = one(&tcp("pfifo limit 300p", ""));
    let changed = one(&tcp("pfifo limit 300p", &change("2 s", "codel")));
    // A full buffer of 300 packets is 360 ms; CoDel's target is 5 ms.
    let (before, after) = (metric(&plain, "sojourn_ms_mean"), metric(&changed, "sojourn_ms_mean"));
    assert!(after < 0.7 * before, "{before} ms, {after} ms with CoDel for four of the five seconds");
    // The audit of every run checks its books; every scheme once, every 100 ms another.
    let names: Vec<&str> = sojourn_aqm::registry::ALL.iter().map(|entry| entry.name).collect();
    let changes: String = (0..55).map(|i| change(&format!("{} ms", 100 * (i + 2)), names[i % names.len()])).collect();
    let report = one(&tcp("pfifo limit 300p", &changes));
    assert_eq!(report.queues[0].switched.len(), 55);
}

#[test]
fn a_bus_changes_every_station() {
    let bus = "[[buses]]\nname = \"lan\"\nrate = \"5 Mbit/s\"\ndelay = \"10 us\"\nstations = [\"s0\", \"s1\", \"r0\"]\nunder_test = true\n\
               [[flows]]\nname = \"bulk\"\nfrom = \"s0\"\nto = \"r0\"\n";
    let report = one(&format!("{HEAD}{bus}{}", change("2 s", "fq_codel")));
    assert!(report.queues.iter().all(|queue| queue.switched.len() == 1));
}

#[test]
fn stepping_changes_nothing() {
    let text = tcp("pie", "");
    let whole = simulation(&text).run().expect("books balance");
    let mut stepped = simulation(&text);
    stepped.watch();
    let mut windows = Vec::new();
    for step in 1..=857 {
        stepped.run_until(at(f64::from(step) * 0.007));
        windows.push(stepped.window(0).expect("the bottleneck is under test"));
    }
    stepped.run_until(stepped.end());
    windows.push(stepped.window(0).expect("the bottleneck is under test"));
    let report = stepped.run().expect("books balance");
    assert_eq!(measured(&report), measured(&whole));
    assert_eq!(report.events, whole.events);
    // Windows add up to the counts since the start, warm-up included.
    let counts = whole.queues[0].counts.as_ref().expect("counts of a queue under test");
    let arrivals: u64 = windows.iter().map(|window| window.arrivals_packets).sum();
    let drops: u64 = windows.iter().map(|window| window.drops_packets).sum();
    assert_eq!(arrivals, counts.arrived.packets);
    assert_eq!(drops, counts.dropped_overflow.packets + counts.dropped_early.packets + counts.dropped_flow.packets);
    // And after the warm-up to the metrics of the run.
    let measured: Vec<_> = windows.iter().filter(|window| window.from_s >= 1.0).collect();
    let bits: f64 = measured.iter().map(|w| w.goodput_bit_s.unwrap() * (w.to_s - w.from_s)).sum();
    let seconds: f64 = measured.iter().map(|w| w.to_s - w.from_s).sum();
    // The window in which the warm-up ends is left out: less than one window, 0.007 s at 10 Mbit/s.
    let goodput = metric(&whole, "goodput_bit_s");
    assert!((bits / seconds - goodput).abs() < 10e6 * 0.007 / 5.0 + 1e4, "{} and {goodput} bit/s", bits / seconds);
}

#[test]
fn impossible_changes_are_refused_with_what_is_allowed() {
    let refused =
        |changes: &str| sojourn_scenario::load(&tcp("pfifo", changes), "test", &[]).expect_err("refused").to_string();
    let late = refused(&change("6 s", "codel"));
    assert!(late.contains("key `changes[0].at`: is 6 s") && late.contains("less than `duration`, 6 s"), "{late}");
    let unknown = refused("[[changes]]\nat = \"1 s\"\nqueue = \"left\"\nscheme = \"codel\"\n");
    assert!(unknown.contains("`changes[0].queue`: is \"left\"") && unknown.contains("left->right"), "{unknown}");
    let scheme = refused(&change("1 s", "coddle"));
    assert!(scheme.contains("unknown algorithm \"coddle\""), "{scheme}");
}
