//! Every metric is in the scopes that it is declared for, and new ones are what follows by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::runs;
use crate::laws::MIXED;
use sojourn_aqm::EFFECTS;
use sojourn_sim::simulation::catalogue::{Scope, METRICS};
use sojourn_sim::simulation::Metrics;
use sojourn_sim::RunReport;
use std::collections::BTreeSet;

const APPLICATIONS: &str = r#"
    name = "applications"
    duration = "20 s"
    [[links]]
    name = "l"
    from = "a"
    to = "b"
    rate = "10 Mbit/s"
    delay = "1 ms"
    [[flows]]
    name = "web"
    from = "a"
    to = "b"
    traffic = { kind = "web" }
    [[flows]]
    name = "api"
    from = "a"
    to = "b"
    traffic = { kind = "request_response", response_size = "1 kB" }
    [[flows]]
    name = "video"
    from = "a"
    to = "b"
    traffic = { kind = "video" }
    [[flows]]
    name = "call"
    from = "a"
    to = "b"
    transport = { kind = "udp" }
    traffic = { kind = "voip" }
    [[flows]]
    name = "game"
    from = "a"
    to = "b"
    transport = { kind = "udp" }
    traffic = { kind = "gaming" }
"#;

/// A scalable flow, and one of datagrams that come back.
const FURTHER: &str = r#"
    [[flows]]
    name = "scalable"
    from = "s1"
    to = "d1"
    transport = { kind = "tcp", congestion_control = "prague", ecn = true, ect = 1 }
    traffic = { kind = "bulk" }
    [[flows]]
    name = "ping"
    from = "s0"
    to = "d0"
    transport = { kind = "udp", echo = true }
    traffic = { kind = "cbr", rate = "100 kbit/s", packet_size = "100 B" }
"#;

const PHASE: &str = "[[changes]]\nat = \"3 s\"\nphase = \"later\"\n";

fn of(report: &RunReport, scope: Scope) -> Vec<&Metrics> {
    match scope {
        Scope::Run => vec![&report.metrics],
        Scope::Queue => report.queues.iter().filter(|queue| queue.under_test).map(|queue| &queue.metrics).collect(),
        Scope::Group => report.groups.iter().map(|group| &group.metrics).collect(),
        Scope::Flow => report.flows.iter().map(|flow| &flow.metrics).collect(),
        Scope::Phase => report.phases.iter().map(|phase| &phase.metrics).collect(),
    }
}

#[test]
fn every_metric_has_a_value_in_each_scope_that_it_is_declared_for() {
    let mixed = format!("{MIXED}{FURTHER}{PHASE}");
    let run = |text: &str, scheme| runs(text, scheme, 1, 1).remove(0);
    let reports = [
        run(&mixed, Some("dualpi2")),
        run(&mixed, Some("daqm preset c1 interarrival 1ms")),
        run(&format!("{APPLICATIONS}{PHASE}"), None),
    ];
    for scope in [Scope::Run, Scope::Queue, Scope::Group, Scope::Flow, Scope::Phase] {
        let all = || reports.iter().flat_map(|report| of(report, scope)).flat_map(Metrics::iter);
        let reported: BTreeSet<&str> = all().map(|(name, _)| name).collect();
        let valued: BTreeSet<&str> = all().filter_map(|(name, value)| value.map(|_| name)).collect();
        let declared = METRICS.iter().filter(|metric| metric.is_simulated(scope)).map(|metric| metric.name);
        let declared: BTreeSet<&str> = declared.collect();
        let missing: Vec<_> = declared.difference(&reported).collect();
        let (scope, place) = (scope.name(), "crates/sim/src/simulation/report/catalogue.rs");
        assert!(missing.is_empty(), "no {scope} reports {missing:?}: it lacks the accumulator that {place} names");
        // Effects of links are tested in links.rs: not every link has one.
        let of_effects = |name: &str| EFFECTS.iter().any(|effect| effect.metric == name);
        let empty: Vec<_> = declared.difference(&valued).filter(|name| !of_effects(name)).collect();
        assert!(empty.is_empty(), "no {scope} has a value of {empty:?}, declared in {place}");
        assert_eq!(reported, declared, "{scope}");
    }
}

#[test]
fn every_metric_is_declared_for_a_scope() {
    for metric in METRICS {
        assert!(metric.scopes().next().is_some(), "{} is declared for no scope", metric.name);
    }
}
