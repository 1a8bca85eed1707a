//! Links whose directions differ, and links that change during the run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{metric, runs};
use sojourn_sim::{scenario, RunReport};

/// Datagrams of 1500 B at `rate` for 4 s over one link of 10 Mbit/s and 10 ms, with a queue of 10 packets.
fn link(link: &str, rate: &str, more: &str) -> String {
    format!(
        "name = \"t\"\nduration = \"4 s\"\nwarm_up = \"0 s\"\n\
         [[nodes]]\nname = \"a\"\n[[nodes]]\nname = \"b\"\n\
         [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = \"pfifo limit 10p\"\nunder_test = true\n{link}\n\
         [[flows]]\nname = \"there\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{kind = \"udp\", header = \"0 B\"}}\n\
         traffic = {{kind = \"cbr\", rate = \"{rate}\", packet_size = \"1500 B\"}}\n\
         [[flows]]\nname = \"back\"\nfrom = \"b\"\nto = \"a\"\ntransport = {{kind = \"udp\", header = \"0 B\"}}\n\
         traffic = {{kind = \"cbr\", rate = \"1 Mbit/s\", packet_size = \"1250 B\"}}\n{more}"
    )
}

fn one(text: &str) -> RunReport {
    runs(text, None, 1, 1).remove(0)
}

fn delay_ms(report: &RunReport, group: &str, name: &str) -> f64 {
    let flow = report.flows.iter().find(|flow| flow.group == group).expect("the flow");
    flow.metrics[name].expect("measured")
}

#[test]
fn each_direction_has_its_own_rate_and_delay() {
    let report = one(&link("reverse_rate = \"2 Mbit/s\"\nreverse_delay = \"30 ms\"", "1 Mbit/s", ""));
    // 1500 B at 10 Mbit/s: 1.2 ms and 10 ms. Back, 1250 B at 2 Mbit/s: 5 ms and 30 ms.
    assert!((delay_ms(&report, "there", "one_way_delay_ms_mean") - 11.2).abs() < 1e-9);
    assert!((delay_ms(&report, "back", "one_way_delay_ms_mean") - 35.0).abs() < 1e-9);
}

#[test]
fn a_new_rate_serves_what_comes_after_it() {
    // 8 Mbit/s are offered: 667 packets a second. At 10 Mbit/s all pass; from 1 s on 4 Mbit/s pass, 333 a second; from 3 s on
    // all again. Of 2666, 2 s * 333.3 are dropped, less the 10 that wait and are sent later.
    let changes = "[[changes]]\nat = \"1 s\"\nrate = \"4 Mbit/s\"\n[[changes]]\nat = \"3 s\"\nrate = \"10 Mbit/s\"\n";
    let report = one(&link("", "8 Mbit/s", changes));
    let drops = metric(&report, "drops_packets");
    assert!((drops - (2.0 * 1000.0 / 3.0 - 10.0)).abs() <= 2.0, "{drops}");
    // At 9 Mbit/s all pass.
    let report = one(&link("", "8 Mbit/s", &changes.replace("4 Mbit/s", "9 Mbit/s")));
    assert_eq!(metric(&report, "drops_packets"), 0.0);
}

#[test]
fn a_new_delay_holds_for_what_is_sent_from_then_on() {
    // 1 Mbit/s of 1500 B: one packet each 12 ms. Half of the run has 10 ms, half 50 ms.
    let change = "[[changes]]\nat = \"2 s\"\ndelay = \"50 ms\"\n";
    let report = one(&link("", "1 Mbit/s", change));
    let mean = delay_ms(&report, "there", "one_way_delay_ms_mean");
    assert!((mean - (1.2 + 30.0)).abs() < 0.3, "{mean}");
    // The other direction keeps its own, 1250 B at 10 Mbit/s.
    assert!((delay_ms(&report, "back", "one_way_delay_ms_mean") - 11.0).abs() < 1e-9);
    // Shorter: those sent after the change overtake those on their way, and none is lost.
    let report = one(&link("", "8 Mbit/s", &change.replace("50 ms", "1 ms")));
    assert_eq!((metric(&report, "drops_packets"), report.conservation.dropped), (0.0, 0));
}

#[test]
fn a_change_repeats_until_the_end() {
    // 4 Mbit/s in every other second of four, from 0 s on; 8 Mbit/s are offered, so 333 packets are dropped in each of the two,
    // less the 10 that wait.
    let changes = "[[changes]]\nat = \"0 s\"\nevery = \"2 s\"\nrate = \"4 Mbit/s\"\n\
                   [[changes]]\nat = \"1 s\"\nevery = \"2 s\"\nrate = \"10 Mbit/s\"\n";
    let drops = metric(&one(&link("", "8 Mbit/s", changes)), "drops_packets");
    assert!((drops - 2.0 * (1000.0 / 3.0 - 10.0)).abs() <= 4.0, "{drops}");
}

#[test]
fn changes_that_mean_nothing_are_refused() {
    let refused =
        |changes: &str| scenario::load(&link("", "1 Mbit/s", changes), "test", &[]).expect_err("refused").to_string();
    let nothing = refused("[[changes]]\nat = \"1 s\"\n");
    assert!(
        nothing.contains("`changes[0]`: changes nothing; allowed: at least one of `scheme`, `parameters`, `rate`"),
        "{nothing}"
    );
    let stopped = refused("[[changes]]\nat = \"1 s\"\nrate = \"0 bit/s\"\n");
    assert!(stopped.contains("`changes[0].rate`: is 0; allowed: a rate above 0"), "{stopped}");
    let negative = refused("[[changes]]\nat = \"1 s\"\ndelay = \"-1 ms\"\n");
    assert!(negative.contains("`changes[0].delay`: \"-1 ms\" is negative"), "{negative}");
    let often = refused("[[changes]]\nat = \"1 s\"\nevery = \"1 ns\"\nloss = \"0\"\n");
    assert!(often.contains("`changes[0].every`: makes 3000000000 changes; allowed: up to 100000"), "{often}");
    let text = link("reverse_rate = \"0 bit/s\"", "1 Mbit/s", "");
    let back = scenario::load(&text, "test", &[]).expect_err("refused").to_string();
    assert!(back.contains("`links[0].reverse_rate`: is 0"), "{back}");
}

#[test]
fn a_link_loses_packets_apart_from_its_queue() {
    let lost =
        |report: &RunReport, queue: usize| report.queues[queue].metrics.get("link_losses_packets").copied().flatten();
    let report = one(&link("loss = \"5%\"", "8 Mbit/s", ""));
    // 2667 packets: 133 lost, standard error sqrt(2667 * 0.05 * 0.95) = 11.3; none dropped, and all are accounted for.
    let found = lost(&report, 0).expect("of a link with loss");
    assert!((found - 133.3).abs() < 4.0 * 11.3, "{found}");
    assert_eq!((metric(&report, "drops_packets"), lost(&report, 1)), (0.0, None));
    assert_eq!(report.conservation.dropped as f64, found);
    let there = report.flows.iter().find(|flow| flow.group == "there").expect("the flow");
    let share = there.metrics["loss_ratio"].expect("measured");
    assert!((share - found / 2667.0).abs() < 1e-3, "{share}");
    // The other direction, and in bursts: runs of 10 packets, so the burst ratio of the flow is far above 1.
    let report = one(&link("reverse_loss = \"gemodel 1% 10%\"", "1 Mbit/s", ""));
    let back = report.flows.iter().find(|flow| flow.group == "back").expect("the flow");
    assert!(lost(&report, 0).is_none() && lost(&report, 1).is_some_and(|lost| lost > 0.0));
    assert!(back.metrics["burst_ratio"].is_some_and(|ratio| ratio > 3.0), "{:?}", back.metrics["burst_ratio"]);
    // From an instant on: half of 2667.
    let report = one(&link("", "8 Mbit/s", "[[changes]]\nat = \"2 s\"\nloss = \"1\"\n"));
    assert_eq!(lost(&report, 0).map(|lost| (lost - 1333.0).abs() <= 2.0), Some(true));
}

#[test]
fn what_is_lost_at_random_is_the_same_whatever_the_scheme() {
    let lost = |queue: &str| {
        let text = link("loss = \"2%\"", "8 Mbit/s", "").replace("pfifo limit 10p", queue);
        one(&text).queues[0].metrics["link_losses_packets"]
    };
    assert_eq!(lost("pfifo limit 10p"), lost("codel"));
}
