//! What a report says of startup, self probes and loss events, on paths whose times are known.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::runs;
use sojourn_sim::RunReport;

/// `flows` over a link.
fn run(duration: &str, link: &str, flows: &str) -> RunReport {
    let text = format!(
        "name = \"t\"\nduration = \"{duration}\"\n[[links]]\nname = \"link\"\nfrom = \"a\"\nto = \"b\"\nunder_test = true\n\
         {link}\n{flows}"
    );
    runs(&text, None, 1, 1).remove(0)
}

fn flow(name: &str, keys: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n{keys}\n")
}

/// A byte takes 10 ns, and 100 ms each way.
const FAST: &str = "rate = \"800 Mbit/s\"\ndelay = \"100 ms\"\nqueue = \"pfifo limit 10000p\"";

#[test]
fn a_flow_starts_up_with_a_handshake_and_a_way() {
    let report = run("3 s", FAST, &flow("tcp", "start = \"1 s\"\ntransport = { kind = \"tcp\" }"));
    // SYN, SYN-ACK and the first segment take 100 ms each, and each less than 20 us to send.
    let own = &report.flows[0].metrics;
    let near = |metric: &str, expected: f64, least: f64| {
        let found = own.of(metric).expect(metric);
        assert!((0.0..least).contains(&(found - expected)), "{metric}: {found}");
    };
    near("connect_ms", 200.0, 0.02);
    near("flow_startup_s", 0.3, 4e-5);
    assert_eq!(own.of("base_rtt_ms"), Some(200.0));
    assert_eq!(report.metrics.of("flow_startup_s_mean"), own.of("flow_startup_s"));
    // Without a handshake, only the way.
    let keys = "transport = { kind = \"tcp\", handshake = false }";
    let own = &run("3 s", FAST, &flow("tcp", keys)).flows[0].metrics;
    assert_eq!(own.of("connect_ms"), Some(0.0));
    assert!((own.of("flow_startup_s").unwrap() - 0.1).abs() < 2e-5);
    // A flow that never delivered has none of these.
    let own = &run("3 s", FAST, &flow("tcp", "start = \"2900 ms\"")).flows[0].metrics;
    assert_eq!((own.of("connect_ms"), own.of("flow_startup_s")), (None, None));
}

#[test]
fn a_self_probe_waits_for_the_window_and_crosses_the_path() {
    // Slow start sends a window at 0, 200, 400 ms and so on, in less than 1 ms. What is asked for 50 ms after a window is
    // sent 150 ms later with the next one, crosses in 100 ms, and was asked for 100 ms before: 350 ms. 50 ms later it
    // takes 50 ms less.
    let keys = "transport = { kind = \"tcp\", congestion_control = \"reno\", handshake = false }\n\
                traffic = { kind = \"bulk\", self_probes = \"50 ms\" }";
    let report = run("1 s", FAST, &flow("tcp", keys));
    let series = report.series.iter().find(|series| series.name == "self_probe_ms:tcp[0]").expect("the series");
    assert_eq!(series.unit, "ms");
    let expected = [350.0, 300.0, 250.0, 200.0].iter().cycle();
    for ((value, at), expected) in series.value.iter().zip(&series.t_s).zip(expected) {
        let value = value.expect("a time");
        assert!((0.0..1.0).contains(&(value - expected)), "{value} at {at} instead of {expected}");
    }
    // Windows reach b at 300, 500, 700 and 900 ms: four answers each.
    assert_eq!(series.value.len(), 16);
}

#[test]
fn loss_events_last_a_round_trip() {
    // 2.5 packets of 1000 B a ms into 1.25: every second is dropped, one each 0.8 ms, with 50 waiting, 40 ms, after a base
    // RTT of 20 ms. The 75th loss after the first still is within 60 ms; the 76th, 152 packets later, begins an event.
    let slow = |queue: &str| format!("rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"{queue}\"");
    let sends = |rate: &str| {
        format!(
            "transport = {{ kind = \"udp\", header = \"0 B\" }}\n\
             traffic = {{ kind = \"cbr\", rate = \"{rate}\", packet_size = \"1000 B\" }}"
        )
    };
    let heavy = flow("heavy", &sends("20 Mbit/s"));
    let report = run("10 s", &slow("pfifo limit 50p"), &heavy);
    assert_eq!(report.flows[0].metrics.of("loss_interval_packets_mean"), Some(152.0));
    assert_eq!(report.metrics.of("loss_interval_packets_mean"), Some(152.0));
    // A single flow is not synchronised with any.
    assert_eq!(report.metrics.of("loss_synchronisation"), None);
    // The light flow has a queue of its own and never loses: one of two.
    let both = heavy + &flow("light", &sends("1 Mbit/s"));
    let report = run("10 s", &slow("fq_codel noecn limit 100p"), &both);
    assert_eq!(report.flows[1].metrics.of("dropped_packets"), Some(0.0));
    assert_eq!(report.metrics.of("loss_synchronisation"), Some(0.5));
    assert_eq!(report.groups[0].metrics.of("loss_synchronisation"), None);
    // Poisson packets of both into one full queue: both lose in nearly every event.
    let poisson = |name: &str| flow(name, &sends("20 Mbit/s").replace("cbr", "poisson"));
    let report = run("10 s", &slow("pfifo limit 50p"), &(poisson("one") + &poisson("two")));
    let share = report.metrics.of("loss_synchronisation").expect("losses");
    // An event of 60 ms has some 225 losses; that all of them are of one flow has probability 2^-224.
    assert!(share > 0.99, "{share}");
}
