//! What a packet tells a queue: windows of senders, fields of acknowledgements, and ECN on acknowledgements.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{metric, runs};
use sojourn_measure::trace::{EventKind, Facts};
use sojourn_sim::{Options, RunReport, Simulation};
use sojourn_units::{Instant, Span};
use std::sync::Arc;

/// Downloads over an asymmetric line whose upstream queue is under test.
fn downloads(up: &str, transport: &str, more: &str) -> String {
    format!(
        "name = \"acks\"\nduration = \"8 s\"\nwarm_up = \"2 s\"\n\
         [[links]]\nname = \"line\"\nfrom = \"net\"\nto = \"home\"\ndelay = \"15 ms\"\n\
         rate = {{ down = \"50 Mbit/s\", up = \"500 kbit/s\" }}\n\
         queue = {{ down = \"pfifo limit 300p\", up = \"{up}\" }}\nreverse_under_test = true\n\
         [[flows]]\nname = \"download\"\nfrom = \"net\"\nto = \"home\"\ncount = 4\ntransport = {{ {transport} }}\n{more}"
    )
}

fn one(text: &str, scheme: Option<&str>) -> RunReport {
    runs(text, scheme, 1, 1).remove(0)
}

/// The arrivals at the first queue under test.
fn arrivals(text: &str) -> Vec<Facts> {
    let network = Arc::new(sojourn_scenario::load(text, "test", &[]).unwrap().resolve().unwrap());
    let port = network.ports.iter().position(|port| port.under_test).unwrap();
    let mut simulation = Simulation::new(network, Options::default());
    assert!(simulation.log(port));
    simulation.run_until(simulation.end());
    let log = simulation.take_log();
    let arrived = log.iter().filter_map(|event| match event.what {
        EventKind::Arrived(facts) => Some(facts),
        _ => None,
    });
    arrived.collect()
}

#[test]
fn cake_filters_acknowledgements() {
    let text = downloads("pfifo", "", "");
    let of = |filter: &str| one(&text, Some(&format!("cake bandwidth 500kbit {filter}")));
    let (off, on) = (of("no-ack-filter"), of("ack-filter"));
    // Only the filter drops here, before the memory is full.
    assert_eq!(metric(&off, "drops_flow_packets"), 0.0);
    assert!(metric(&on, "drops_flow_packets") > 1_000.0);
    assert!(metric(&on, "queue_packets_mean") < metric(&off, "queue_packets_mean") / 3.0);
}

#[test]
fn a_filter_that_takes_over_knows_the_acknowledgements_that_wait() {
    // At 3 s some hundred acknowledgements wait. The next one of each flow makes one superfluous, and so on.
    let change = "[[changes]]\nat = \"3 s\"\nqueue = \"home->net\"\nscheme = \"cake bandwidth 500kbit ack-filter\"\n";
    let text = downloads("pfifo limit 1000p", "", change);
    let network = Arc::new(sojourn_scenario::load(&text, "test", &[]).unwrap().resolve().unwrap());
    let port = network.ports.iter().position(|port| port.under_test).unwrap();
    let mut simulation = Simulation::new(network, Options::default());
    assert!(simulation.log(port));
    simulation.run_until(Instant::ZERO + Span::from_secs(4));
    let log = simulation.take_log();
    let change = Instant::ZERO + Span::from_secs(3);
    let arrived_before = |serial| {
        log.iter()
            .any(|event| event.serial == serial && event.at < change && matches!(event.what, EventKind::Arrived(_)))
    };
    let filtered = log.iter().filter(|event| matches!(event.what, EventKind::Dropped(_)) && event.at >= change);
    assert!(filtered.filter(|event| arrived_before(event.serial)).count() > 50);
}

#[test]
fn data_tells_the_window_that_it_was_sent_with() {
    // Ten segments of the initial window; each acknowledgement of two then lets three more leave (slow start), and the window
    // has grown by two. Nothing is lost on a fast link.
    let text =
        "name = \"w\"\nduration = \"95 ms\"\n[[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Gbit/s\"\n\
                delay = \"20 ms\"\nunder_test = true\n\
                [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
                transport = { congestion_control = \"newreno\", handshake = false, ack_every = \"1 p\" }\n";
    let windows: Vec<u16> = arrivals(text).iter().map(|facts| facts.window).collect();
    // Each segment's acknowledgement: the window grows by one segment, and two leave.
    let grown = (11..=20).flat_map(|window| [window; 2]);
    assert_eq!(windows[..30], [vec![10; 10], grown.collect()].concat());
    // Acknowledgements tell none.
    let acks = arrivals(&downloads("pfifo", "", ""));
    assert!(acks.len() > 1_000 && acks.iter().all(|facts| facts.window == 0));
    // All are pure but the four SYN-ACKs.
    assert_eq!(acks.iter().filter(|facts| facts.ack.is_none()).count(), 4);
}

#[test]
fn shred_is_not_red_where_windows_differ() {
    let text = "name = \"s\"\nduration = \"10 s\"\nwarm_up = \"2 s\"\n\
                [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nunder_test = true\n\
                [[flows]]\nname = \"long\"\nfrom = \"a\"\nto = \"b\"\ncount = 4\n\
                [[flows]]\nname = \"short\"\nfrom = \"a\"\nto = \"b\"\ncount = 60\n\
                start = { every = \"150 ms\" }\ntraffic = { kind = \"transfer\", size = \"20 kB\" }\n";
    let of = |scheme| {
        let report = one(text, Some(scheme));
        let group = |name: &str, metric: &str| {
            let found = report.groups.iter().find(|group| group.name == name).unwrap();
            found.metrics.of(metric).unwrap()
        };
        [group("short", "loss_ratio"), group("long", "loss_ratio")]
    };
    let ([red_short, _], [shred_short, shred_long]) = (of("red"), of("shred window_w 0.02"));
    // Its purpose: short flows lose less than under RED, and less than long ones.
    assert!(shred_short < red_short && shred_short < shred_long, "{red_short} {shred_short} {shred_long}");
}

#[test]
fn acknowledgements_of_accurate_ecn_use_the_l4s_queue() {
    // Both directions have 5 ms of propagation and DualPI2. A CUBIC upload keeps the classic queue of the way back at its
    // target of 15 ms. In the L4S queue acknowledgements wait about a millisecond: 10 + 1 + 1 ms.
    let text = |on: &str| {
        format!(
            "name = \"l4s\"\nduration = \"20 s\"\nwarm_up = \"5 s\"\n\
             [[links]]\nname = \"line\"\nfrom = \"net\"\nto = \"home\"\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
             queue = \"dualpi2\"\nreverse_queue = \"dualpi2\"\nunder_test = true\nreverse_under_test = true\n\
             [[flows]]\nname = \"prague\"\nfrom = \"net\"\nto = \"home\"\n\
             transport = {{ congestion_control = \"prague\", ecn = true, ect = 1, recovery = \"rack\"{on} }}\n\
             [[flows]]\nname = \"up\"\nfrom = \"home\"\nto = \"net\"\n"
        )
    };
    let rtt = |on: &str| {
        let report = one(&text(on), None);
        let prague = report.groups.iter().find(|group| group.name == "prague").unwrap();
        (prague.metrics.of("rtt_ms_mean").unwrap(), prague.metrics.of("marked_acks_packets").unwrap())
    };
    let (as_linux, marked) = rtt("");
    assert!((11.0..13.5).contains(&as_linux), "{as_linux}");
    // The coupling marks some of them.
    assert!(marked > 10.0);
    let (data_only, none) = rtt(", ect_on = \"data\"");
    assert!(data_only > as_linux + 10.0 && none == 0.0, "{data_only}");
}
