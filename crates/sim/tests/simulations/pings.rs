//! Datagrams that come back, and codepoints.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::runs;
use sojourn_sim::RunReport;

/// A ping of 100 B each 200 ms for 10 s over one line of 10 Mbit/s down and 1 Mbit/s up, and what else there is.
fn line(keys: &str, ping: &str, more: &str) -> RunReport {
    let text = format!(
        "name = \"t\"\nduration = \"10 s\"\nwarm_up = \"2 s\"\nseries = {{ interval = \"1 s\", flows = true }}\n\
         [[links]]\nname = \"l\"\nfrom = \"net\"\nto = \"home\"\ndelay = {{ down = \"10 ms\", up = \"20 ms\" }}\n\
         rate = {{ down = \"10 Mbit/s\", up = \"1 Mbit/s\" }}\nunder_test = {{ down = true, up = true }}\n{keys}\n\
         [[flows]]\nname = \"ping\"\nfrom = \"home\"\nto = \"net\"\ntransport = {{ kind = \"udp\", header = \"0 B\", echo = true }}\n\
         traffic = {{ kind = \"cbr\", rate = \"4 kbit/s\", packet_size = \"100 B\" }}\n{ping}\n{more}"
    );
    let scenario = sojourn_scenario::load(&text, "test", &[]).unwrap_or_else(|e| panic!("{e}"));
    let options = sojourn_sim::Options { series: Some(scenario.series.unwrap().interval.0), ..Default::default() };
    let network = std::sync::Arc::new(scenario.resolve().unwrap());
    sojourn_sim::Simulation::new(network, options).run().unwrap()
}

fn group(report: &RunReport, name: &str, metric: &str) -> Option<f64> {
    report.groups.iter().find(|group| group.name == name).expect("the group").metrics.get(metric).flatten()
}

#[test]
fn a_round_trip_is_both_ways_together() {
    let report = line("", "", "");
    // 100 B up at 1 Mbit/s: 0.8 ms and 20 ms. Down at 10 Mbit/s: 0.08 ms and 10 ms. Together 30.88 ms.
    for metric in ["rtt_ms_mean", "rtt_ms_p50", "rtt_ms_p99"] {
        let found = group(&report, "ping", metric).expect("measured");
        assert!((found / 30.88 - 1.0).abs() < 0.008, "{metric}: {found}");
    }
    assert!((group(&report, "ping", "one_way_delay_ms_mean").expect("measured") - 20.8).abs() < 1e-9);
    // Five a second for 8 s, each counted once as delivered; what comes back is no goodput.
    assert_eq!(group(&report, "ping", "delivered_packets"), Some(40.0));
    assert_eq!(group(&report, "ping", "goodput_bit_s"), Some(4000.0));
    assert_eq!(report.metrics.of("rtt_ms_mean"), None);
    let series = report.series.iter().find(|series| series.name == "rtt_ms:ping[0]").expect("the series");
    assert!(series.value.iter().all(|ms| ms.is_some_and(|ms| (ms - 30.88).abs() < 1e-9)), "{:?}", series.value);
    // 100 requests and replies in all, less what is under way.
    assert_eq!(report.conservation.delivered + report.conservation.in_flight, report.conservation.sent);
}

#[test]
fn a_ping_is_lost_where_either_way_loses_it() {
    let report = line("loss = { down = \"50%\" }\nduplicate = { up = \"50%\" }", "", "");
    // Of 40 the half comes back: 20, standard error 3.2. A copy that comes back does not count as another.
    let lost = group(&report, "ping", "loss_ratio").expect("measured");
    assert!((lost - 0.5).abs() < 4.0 * 0.08, "{lost}");
}

#[test]
fn codepoints_select_the_tin_in_both_directions() {
    // CAKE's highest tin in its own queue: a marked ping waits for the packet being sent alone, a plain one shares the tin with
    // the upload, whose packets take 12 ms each.
    let bulk = "[[flows]]\nname = \"up\"\nfrom = \"home\"\nto = \"net\"\n";
    let rtt = |dscp: &str| {
        let queues = "queue = { up = \"cake bandwidth 950kbit diffserv4 flowblind\" }";
        group(&line(queues, dscp, bulk), "ping", "rtt_ms_mean").expect("measured")
    };
    let (plain, marked) = (rtt(""), rtt("dscp = \"EF\""));
    assert!(marked < 30.88 + 26.0 && plain > marked + 10.0, "{plain} {marked}");
    // The receiver's packets carry it, too: background traffic down yields to nobody here, and is not refused.
    assert_eq!(runs(&scenario_with("dscp = \"CS1\""), None, 1, 1).len(), 1);
    let refused = sojourn_scenario::load(&scenario_with("dscp = \"EFF\""), "t", &[]).expect_err("refused").to_string();
    assert!(
        refused
            .contains("key `flows[0].dscp`: \"EFF\" is no codepoint (did you mean \"EF\"?); allowed: a codepoint: CS0"),
        "{refused}"
    );
}

fn scenario_with(key: &str) -> String {
    format!(
        "name = \"t\"\nduration = \"1 s\"\n[[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{key}\n"
    )
}

#[test]
fn a_way_on_which_packets_would_multiply_is_refused() {
    let links: String = (0..8)
        .map(|n| format!("[[links]]\nname = \"l{n}\"\nfrom = \"n{n}\"\nto = \"n{}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nduplicate = \"100%\"\n", n + 1))
        .collect();
    let text =
        format!("name = \"t\"\nduration = \"1 s\"\n{links}[[flows]]\nname = \"f\"\nfrom = \"n0\"\nto = \"n8\"\n");
    let message = sojourn_scenario::load(&text, "t", &[]).expect_err("refused").to_string();
    assert!(
        message
            .contains("key `flows[0]`: sends over links that make 256 of one packet by `duplicate`; allowed: up to 64"),
        "{message}"
    );
}
