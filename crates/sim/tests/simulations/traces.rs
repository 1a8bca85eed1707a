//! Links whose rate follows a trace.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{metric, runs};
use sojourn_sim::{Options, RunReport, Simulation};
use sojourn_units::Span;
use std::sync::Arc;

/// Datagrams of 1500 B at `rate` for 4 s over one link with these keys, and a queue of 100 packets.
fn link(keys: &str, rate: &str) -> String {
    format!(
        "name = \"t\"\nduration = \"4 s\"\nwarm_up = \"0 s\"\n\
         [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\ndelay = \"10 ms\"\n\
         queue = \"pfifo limit 100p\"\nunder_test = true\n{keys}\n\
         [[flows]]\nname = \"there\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{kind = \"udp\", header = \"0 B\"}}\n\
         traffic = {{kind = \"cbr\", rate = \"{rate}\", packet_size = \"1500 B\"}}\n"
    )
}

fn one(text: &str) -> RunReport {
    runs(text, None, 1, 1).remove(0)
}

fn mean_delay_ms(report: &RunReport) -> f64 {
    metric(report, "one_way_delay_ms_mean")
}

#[test]
fn a_trace_of_one_rate_is_a_link_of_that_rate() {
    // The same metrics bit for bit, for several schemes, on a link that is full of TCP and one of datagrams.
    let text = |rate: &str, scheme: &str| {
        format!(
            "name = \"t\"\nduration = \"5 s\"\nwarm_up = \"1 s\"\n\
             [[nodes]]\nname = \"s\"\ncount = 2\n\
             [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\ndelay = \"10 ms\"\n{rate}\nunder_test = true\n\
             queue = \"{scheme}\"\noverhead = \"18 B\"\n\
             [[links]]\nname = \"in\"\nfrom = \"s\"\nto = \"a\"\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n\
             [[flows]]\nname = \"bulk\"\nfrom = \"s\"\nto = \"b\"\n\
             [[flows]]\nname = \"udp\"\nfrom = \"s0\"\nto = \"b\"\ntransport = {{kind = \"udp\"}}\n\
             traffic = {{kind = \"poisson\", rate = \"1 Mbit/s\", packet_size = \"300 B\"}}\n"
        )
    };
    for scheme in ["pfifo limit 50p", "codel", "pie", "fq_codel", "red", "cake bandwidth 5Mbit/s", "avq", "dualpi2"] {
        let constant = one(&text("rate = \"7 Mbit/s\"", scheme));
        let traced = one(&text("trace = {rates = [[\"0 s\", \"7 Mbit/s\"]]}", scheme));
        // What the link could send is counted in another way.
        let but_utilisation = |report: &RunReport| {
            let metrics = report.metrics.iter().filter(|(name, _)| *name != "utilisation").collect::<Vec<_>>();
            (metrics, report.groups.iter().map(|group| group.metrics.clone()).collect::<Vec<_>>())
        };
        assert_eq!(but_utilisation(&constant), but_utilisation(&traced), "{scheme}");
        let [a, b] = [&constant, &traced].map(|report| metric(report, "utilisation"));
        assert!((a - b).abs() < 2e-3, "{scheme}: {a}, {b}");
    }
}

#[test]
fn opportunities_set_the_pace() {
    // An opportunity every 3 ms: 4 Mbit/s. 2 Mbit/s of 1500 B, one each 6 ms from 0 or 6 ms on: each waits for the next
    // opportunity, at 3, 9, ... ms, so 3 ms, and takes no time to be sent.
    let report = one(&link("trace = {opportunities = \"3\"}", "2 Mbit/s"));
    assert_eq!((mean_delay_ms(&report), metric(&report, "sojourn_ms_mean")), (13.0, 3.0));
    // Half of the opportunities are used.
    assert!((metric(&report, "utilisation") - 0.5).abs() < 1e-3);
    // 8 Mbit/s are offered: half is dropped, but for the 100 that wait at the end. All opportunities are used.
    let report = one(&link("trace = {opportunities = \"3\"}", "8 Mbit/s"));
    assert!((metric(&report, "drops_packets") - (2667.0 - 1333.0 - 100.0)).abs() <= 2.0);
    assert!((metric(&report, "utilisation") - 1.0).abs() < 1e-3);
    assert_eq!(
        report.conservation.sent,
        report.conservation.delivered + report.conservation.dropped + report.conservation.in_flight
    );
}

#[test]
fn a_framed_packet_takes_the_time_of_its_frame() {
    // 1500 B take 32 cells of 48 B, 1696 B on the wire: 6.784 ms at 2 Mbit/s, and 10 ms of delay; one packet each 12 ms.
    let rates = "trace = {rates = [[\"0 s\", \"2 Mbit/s\"]]}";
    let report = one(&link(&format!("framing = \"atm\"\n{rates}"), "1 Mbit/s"));
    assert!((mean_delay_ms(&report) - 16.784).abs() < 1e-6, "{}", mean_delay_ms(&report));
    assert!((metric(&report, "utilisation") - 6.784 / 12.0).abs() < 2e-3, "{}", metric(&report, "utilisation"));
    // The same as of a link of this rate.
    let constant = one(&link("framing = \"atm\"\nrate = \"2 Mbit/s\"", "1 Mbit/s"));
    assert_eq!(mean_delay_ms(&report), mean_delay_ms(&constant));
}

#[test]
fn series_show_what_a_changing_link_can_send() {
    let capacity = |keys: &str| -> Vec<(String, Vec<f64>)> {
        let document = sojourn_scenario::load(&link(keys, "1 Mbit/s"), "t", &[]).expect("a scenario");
        let network = Arc::new(document.resolve().expect("a network"));
        let options = Options { series: Some(Span::from_millis(500)), ..Options::default() };
        let report = Simulation::new(network, options).run().expect("a run");
        let series = report.series.into_iter().filter(|series| series.name.starts_with("capacity"));
        series.map(|it| (it.name, it.value.into_iter().map(|value| value.expect("a value") / 1e6).collect())).collect()
    };
    // In Mbit/s: a table, of which one interval has halves of both rates.
    let table = "trace = {rates = [[\"0 s\", \"8 Mbit/s\"], [\"1.25 s\", \"2 Mbit/s\"]], hold = true}";
    let expected = vec![8.0, 8.0, 5.0, 2.0, 2.0, 2.0, 2.0, 2.0];
    assert_eq!(capacity(table), [("capacity_bit_s:a->b".to_owned(), expected.clone())]);
    // The same by changes, of which the last of an instant holds.
    let change = |rate: &str| format!("[[changes]]\nat = \"1.25 s\"\nrate = \"{rate}\"\n");
    let changes = format!("rate = \"8 Mbit/s\"\n{}{}", change("3 Mbit/s"), change("2 Mbit/s"));
    assert_eq!(capacity(&changes), [("capacity_bit_s:a->b".to_owned(), expected)]);
    // An opportunity at 300, 600, ... ms: one of 12,000 bits in the first half of a second, two in the next, ...
    let found = capacity("trace = {opportunities = \"300\"}").remove(0).1;
    let expected = [1.0, 2.0, 2.0, 1.0, 2.0, 2.0, 1.0, 2.0].map(|number| number * 0.024);
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12) && found.len() == 8, "{found:?}");
    assert!(capacity("rate = \"8 Mbit/s\"").is_empty());
}

#[test]
fn many_flows_have_quantiles_as_a_group_alone() {
    let keys = "rate = \"12 Mbit/s\"";
    let p99 = |count: u32| {
        let report =
            one(&link(keys, "0.5 Mbit/s").replace("name = \"there\"", &format!("name = \"there\"\ncount = {count}")));
        let own = [&report.groups[0].metrics, &report.flows[0].metrics];
        own.map(|metrics| metrics.get("delay_variation_ms_p99").flatten())
    };
    // Each of 16 flows has its own; of 17 the group alone. The packets of all come at once, and each takes 1 ms: the flow that
    // always comes first never waits, the least delay is its, and the last one of 16 waits for 15.
    let [group, flow] = p99(16);
    assert!((group.expect("a value") - 15.0).abs() < 0.2 && flow == Some(0.0), "{group:?} {flow:?}");
    let [group, flow] = p99(17);
    assert!((group.expect("a value") - 16.0).abs() < 0.2 && flow.is_none(), "{group:?} {flow:?}");
}

#[test]
fn an_outage_keeps_packets_in_the_queue() {
    // 12 Mbit/s for 1 s, nothing for 0.1 s, 12 Mbit/s from then on. 1.2 Mbit/s of 1500 B: one each 10 ms. The ten that come
    // within the outage are sent at its end.
    let keys =
        "trace = {rates = [[\"0 s\", \"12 Mbit/s\"], [\"1 s\", \"0 bit/s\"], [\"1.1 s\", \"12 Mbit/s\"]], hold = true}";
    let report = one(&link(keys, "1.2 Mbit/s"));
    // Those that come at 1000, 1010, ..., 1110 ms leave at 1100, 1101, ..., 1111 ms: they wait 100, 91, ..., 10 and 1 ms. Four of
    // 400 packets, 1 %, waited longer than the fifth, 64 ms, which is known to 0.8 %.
    assert!((metric(&report, "sojourn_ms_p99") - 64.0).abs() < 0.6 && metric(&report, "drops_packets") == 0.0);
    // 1 ms to send and 10 ms of delay come on top, the least there is. The last packet is on its way at the end: of the other 399,
    // 395.01 are 99 %, so the fourth longest wait counts, 73 ms. The same of the run, the group and the flow.
    let own = [&report.metrics, &report.groups[0].metrics, &report.flows[0].metrics];
    for (name, expected) in
        [("one_way_delay_ms_p50", 11.0), ("one_way_delay_ms_p99", 84.0), ("delay_variation_ms_p99", 73.0)]
    {
        let found = own.map(|metrics| metrics.get(name).flatten().unwrap_or(f64::NAN));
        assert!(found.iter().all(|value| (value - expected).abs() < 0.7 && *value == found[0]), "{name}: {found:?}");
    }
    let sum = metric(&report, "sojourn_ms_mean") * metric(&report, "arrivals_packets");
    assert!((sum - 606.0).abs() < 0.01, "{sum}");
    // An outage without end: nothing more arrives, and all packets are accounted for.
    let keys = "trace = {rates = [[\"0 s\", \"12 Mbit/s\"], [\"1 s\", \"0 bit/s\"]], hold = true}";
    let report = one(&link(keys, "1.2 Mbit/s"));
    assert!((metric(&report, "delivered_packets") - 100.0).abs() <= 2.0);
}

#[test]
fn a_random_rate_is_another_in_each_replication_and_the_same_for_each_scheme() {
    let keys =
        "trace = {states = [{rate = \"8 Mbit/s\", mean = \"200 ms\"}, {rate = \"1 Mbit/s\", mean = \"100 ms\"}]}";
    let text = link(keys, "20 Mbit/s");
    let bits = |scheme: &str| -> Vec<f64> {
        runs(&text, Some(scheme), 20, 1).iter().map(|report| metric(report, "throughput_bit_s")).collect()
    };
    let (left, right) = (bits("pfifo limit 100p"), bits("codel limit 100p"));
    assert!(left.iter().zip(&right).all(|(a, b)| (a - b).abs() < 0.02 * a), "{left:?} {right:?}");
    // Two thirds of 8 Mbit/s and a third of 1: 5.67 Mbit/s. The variance of the mean over 4 s is about 2 v tau / 4 s with
    // v = 49 * 2/9 and tau = 1 / (5 + 10) s: 0.36, and of 20 means 0.018: 0.13 Mbit/s; three of them, and what is on its way.
    let mean = left.iter().sum::<f64>() / left.len() as f64;
    assert!((mean / 1e6 - 5.67).abs() < 0.42, "{mean}");
    assert!(left.iter().zip(&left[1..]).all(|(a, b)| a != b));
}

#[test]
fn bad_traces_are_refused_with_their_place() {
    let refused =
        |keys: &str| sojourn_scenario::load(&link(keys, "1 Mbit/s"), "t", &[]).expect_err("refused").to_string();
    let both = refused("rate = \"1 Mbit/s\"\ntrace = {opportunities = \"1\"}");
    assert!(both.contains("key `links[0].trace`: is given together with `rate`; allowed: one of the two"), "{both}");
    let none = refused("");
    assert!(
        none.contains("key `links[0].rate`: is missing; allowed: a rate, as in \"10 Mbit/s\", or a `trace`"),
        "{none}"
    );
    let framed = refused("overhead = \"4 B\"\ntrace = {opportunities = \"1\"}");
    assert!(
        framed.contains("`links[0].trace.opportunities`: counts bytes of IP, and the link has `overhead`"),
        "{framed}"
    );
    let framed = refused("framing = \"atm\"\ntrace = {opportunities = \"1\"}");
    assert!(
        framed.contains("counts bytes of IP, and the link has `framing`; allowed: no `framing`, or `rates`"),
        "{framed}"
    );
    let zero = refused("trace = {opportunities = \"0x5\"}");
    assert!(zero.contains("has delivery opportunities at 0 only"), "{zero}");
    let two = refused("trace = {opportunities = \"1\", rates = []}");
    assert!(
        two.contains("`links[0].trace`: has none or several of `file`, `opportunities`, `rates` and `states`"),
        "{two}"
    );
    let still = refused("trace = {rates = [[\"0 s\", \"0 bit/s\"]]}");
    assert!(still.contains("`links[0].trace.rates`: has no rate above 0"), "{still}");
    let back = refused("trace = {rates = [[\"0 s\", \"1 Mbit/s\"], [\"0 s\", \"2 Mbit/s\"]]}");
    assert!(back.contains("entry 2 is not later than the one above it"), "{back}");
    let negative = refused("trace = {rates = [[\"0 s\", \"-1 Mbit/s\"]]}");
    assert!(negative.contains("negative"), "{negative}");
    let file = refused("trace = {file = \"x\"}");
    assert!(file.contains("key `links[0].trace.file`: names a file, and none can be read here"), "{file}");
    let next = refused("trace = {states = [{rate = \"1 Mbit/s\", mean = \"1 s\"}, {rate = \"0 bit/s\", mean = \"1 s\", next = [0, 0]}]}");
    assert!(next.contains("`links[0].trace.states[1].next`: is [0.0, 0.0]; allowed: 2 weights"), "{next}");
    let fast =
        refused("trace = {states = [{rate = \"1 Mbit/s\", mean = \"1 ns\"}, {rate = \"0 bit/s\", mean = \"1 s\"}]}");
    assert!(fast.contains("makes 4000000000 changes in a run"), "{fast}");
}

#[test]
fn files_become_part_of_the_document() {
    let read = |name: &str| match name {
        "up" => Ok("5\n10\n".into()),
        "down.csv" => Ok("time_s,rate_mbit_s\n0,1\n2,3\n".into()),
        "bad" => Ok("5\n4\n".into()),
        _ => Err("there is no such file".to_owned()),
    };
    let load = |keys: &str| sojourn_scenario::load_with(&link(keys, "1 Mbit/s"), "t", &[], &read);
    let document =
        load("trace = {file = \"up\"}\nreverse_trace = {file = \"down.csv\", window = \"1 s\"}").expect("good");
    let text = document.to_json();
    assert!(text.contains("\"trace\":{\"name\":\"up\",\"opportunities\":\"5x2\",\"window\":\"100 ms\"}"), "{text}");
    assert!(text.contains("\"rates\":[[\"0 ns\",\"1 Mbit/s\"],[\"2 s\",\"3 Mbit/s\"]]"), "{text}");
    assert_eq!(sojourn_scenario::load(&text, "canonical", &[]).expect("good").to_json(), text);
    let bad = load("trace = {file = \"bad\"}").expect_err("refused").to_string();
    assert!(
        bad.contains("key `links[0].trace.file`: bad: line 2: is 4, after 5; allowed: times that never fall"),
        "{bad}"
    );
    let none = load("trace = {file = \"none\"}").expect_err("refused").to_string();
    assert!(none.contains("key `links[0].trace.file`: there is no such file"), "{none}");
}
