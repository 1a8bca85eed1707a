//! Changes of parameters and flows, and statistics of the phases that changes begin.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{metric, runs};
use sojourn_sim::simulation::PhaseReport;
use sojourn_sim::RunReport;

/// 8 Mbit/s of 1500 B for 6 s over 10 Mbit/s, measured from 1 s on, and a second group of 1 Mbit/s.
fn link(changes: &str) -> String {
    format!(
        "name = \"t\"\nduration = \"6 s\"\nwarm_up = \"1 s\"\n\
         [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = \"pfifo limit 10p\"\nunder_test = true\n\
         [[flows]]\nname = \"there\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{kind = \"udp\", header = \"0 B\"}}\n\
         traffic = {{kind = \"cbr\", rate = \"8 Mbit/s\", packet_size = \"1500 B\"}}\n\
         [[flows]]\nname = \"small\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{kind = \"udp\", header = \"0 B\"}}\n\
         traffic = {{kind = \"cbr\", rate = \"1 Mbit/s\", packet_size = \"125 B\"}}\n{changes}"
    )
}

fn one(text: &str) -> RunReport {
    runs(text, None, 1, 1).remove(0)
}

fn phase<'a>(report: &'a RunReport, name: &str, occurrence: u64, group: &str) -> &'a PhaseReport {
    let is = |one: &&PhaseReport| one.phase == name && one.occurrence == occurrence && one.group == group;
    report.phases.iter().find(is).unwrap_or_else(|| panic!("no {name} {occurrence} {group}"))
}

const SLOW: &str = "[[changes]]\nat = \"2 s\"\nevery = \"2 s\"\nrate = \"4.5 Mbit/s\"\nphase = \"slow\"\n\
                    [[changes]]\nat = \"3 s\"\nevery = \"2 s\"\nrate = \"10 Mbit/s\"\nphase = \"start\"\n";

#[test]
fn phases_have_their_own_statistics_which_add_up_by_name() {
    let report = one(&link(SLOW));
    // Measured: start 1 to 2, slow 2 to 3, start 3 to 4, slow 4 to 5, start 5 to 6 s.
    let rows: Vec<_> = report
        .phases
        .iter()
        .map(|p| (p.phase.as_str(), p.occurrence, p.group.as_str(), p.from_s, p.to_s, p.measured_s))
        .collect();
    assert_eq!(
        rows,
        [
            ("start", 0, "", 1.0, 6.0, 3.0),
            ("start", 0, "there", 1.0, 6.0, 3.0),
            ("start", 0, "small", 1.0, 6.0, 3.0),
            ("slow", 0, "", 2.0, 5.0, 2.0),
            ("slow", 0, "there", 2.0, 5.0, 2.0),
            ("slow", 0, "small", 2.0, 5.0, 2.0),
            ("start", 1, "", 1.0, 2.0, 1.0),
            ("slow", 1, "", 2.0, 3.0, 1.0),
            ("start", 2, "", 3.0, 4.0, 1.0),
            ("slow", 2, "", 4.0, 5.0, 1.0),
            ("start", 3, "", 5.0, 6.0, 1.0),
        ]
    );
    let of = |name: &str, occurrence, group: &str, metric: &str| {
        phase(&report, name, occurrence, group).metrics.of(metric).expect(metric)
    };
    // While slow the link is never idle, carries 4.5 of 9 Mbit/s, and its queue of 10 packets is full; in the first second
    // 9 of 10 Mbit/s pass.
    assert!((of("slow", 0, "", "utilisation") - 1.0).abs() < 2e-3);
    assert!((of("start", 1, "", "utilisation") - 0.9).abs() < 3e-3);
    assert!((of("slow", 0, "", "goodput_bit_s") / 4.5e6 - 1.0).abs() < 0.02);
    assert!((of("start", 1, "", "goodput_bit_s") / 9e6 - 1.0).abs() < 0.01);
    assert!(of("slow", 2, "", "queue_packets_mean") > 9.0 && of("start", 1, "", "queue_packets_mean") < 1.0);
    assert!(of("slow", 0, "", "sojourn_ms_p99") > 10.0 && of("start", 1, "", "sojourn_ms_p99") < 3.0);
    assert_eq!(of("start", 1, "", "drops_packets"), 0.0);
    // Phases add up to the run, groups to the phase.
    for name in ["drops_packets", "arrivals_packets", "sent_packets", "delivered_packets"] {
        let parts = of("start", 0, "", name) + of("slow", 0, "", name);
        assert_eq!(parts, metric(&report, name), "{name}");
        let single: f64 =
            report.phases.iter().filter(|p| p.occurrence > 0).map(|p| p.metrics.of(name).expect(name)).sum();
        assert_eq!(single, parts, "{name}");
    }
    let groups = ["there", "small"].map(|group| of("slow", 0, group, "goodput_bit_s"));
    assert!((groups[0] + groups[1] - of("slow", 0, "", "goodput_bit_s")).abs() < 1e-6);
    assert!(of("slow", 0, "there", "loss_ratio") > 0.3);
}

#[test]
fn phases_change_nothing_else() {
    // The same changes with and without names, and with more phases than changes: every other number is the same.
    let plain = |text: &str| {
        let report = one(text);
        (
            report.metrics.clone(),
            report.conservation,
            report.groups.iter().map(|g| g.metrics.clone()).collect::<Vec<_>>(),
        )
    };
    let unnamed = SLOW.replace("phase = \"slow\"\n", "").replace("phase = \"start\"\n", "");
    let often = format!("{SLOW}[[changes]]\nat = \"5.25 s\"\nphase = \"late\"\n");
    assert_eq!(plain(&link(&unnamed)), plain(&link(SLOW)));
    assert_eq!(plain(&link(&unnamed)), plain(&link(&often)));
}

#[test]
fn phases_without_names_are_called_after_their_changes() {
    let unnamed = SLOW.replace("phase = \"slow\"\n", "delay = \"20 ms\"\n").replace("phase = \"start\"\n", "");
    let mut names: Vec<_> = one(&link(&unnamed)).phases.into_iter().map(|p| p.phase).collect();
    names.sort();
    names.dedup();
    assert_eq!(names, ["rate 10 Mbit/s", "rate 4.5 Mbit/s, delay 20 ms", "start"]);
    assert!(one(&link("")).phases.is_empty());
}

#[test]
fn groups_of_flows_stop_and_go_on() {
    let changes = "[[changes]]\nat = \"2 s\"\nstop = [\"small\"]\nphase = \"without\"\n\
                   [[changes]]\nat = \"4 s\"\nstart = [\"small\"]\nphase = \"with\"\n";
    let report = one(&link(changes));
    let sent = |name: &str| phase(&report, name, 0, "small").metrics.of("sent_packets").expect("sent");
    // 1000 packets a second.
    assert!(sent("without") <= 1.0 && (sent("with") - 2000.0).abs() <= 2.0 && (sent("start") - 1000.0).abs() <= 2.0);
    // A flow that is stopped from the start begins when it may.
    let late = "[[changes]]\nat = \"0 s\"\nstop = [\"small\"]\n[[changes]]\nat = \"5 s\"\nstart = [\"small\"]\n";
    let group = |report: &RunReport| report.groups[1].metrics.of("sent_packets").expect("sent");
    assert!((group(&one(&link(late))) - 1000.0).abs() <= 2.0);
    // TCP: while it stops, what it has sent is acknowledged, and nothing new is sent.
    let tcp = link(changes).replace(
        "name = \"small\"\nfrom = \"a\"\nto = \"b\"\ntransport = {kind = \"udp\", header = \"0 B\"}\n\
         traffic = {kind = \"cbr\", rate = \"1 Mbit/s\", packet_size = \"125 B\"}",
        "name = \"small\"\nfrom = \"a\"\nto = \"b\"",
    );
    let report = one(&tcp);
    let goodput = |name: &str| phase(&report, name, 0, "small").metrics.of("goodput_bit_s").expect("goodput");
    assert!(
        goodput("without") < 0.05 * goodput("with") && goodput("with") > 0.5 * goodput("start"),
        "{} {} {}",
        goodput("start"),
        goodput("without"),
        goodput("with")
    );
}

#[test]
fn parameters_change_and_what_was_learnt_stays() {
    let text = |changes: &str| {
        link(changes).replace("10 Mbit/s\"\ndelay", "6 Mbit/s\"\ndelay").replace("pfifo limit 10p", "pie limit 200p")
    };
    let probability = |report: &RunReport| report.queues[0].internals.get("drop_probability").copied();
    let report = one(&text("[[changes]]\nat = \"5.99 s\"\nparameters = \"limit 300p\"\n"));
    let switched: Vec<_> = report.queues[0].switched.iter().map(|s| (s.at_s, s.scheme.as_str())).collect();
    assert_eq!(switched, [(5.99, "pie limit 300p")]);
    // A third of what is offered has to go: the probability is what it was, where a new scheme starts at 0.
    assert_eq!(probability(&report), probability(&one(&text(""))));
    let anew = one(&text("[[changes]]\nat = \"5.99 s\"\nscheme = \"pie limit 300p\"\n"));
    assert!(probability(&report) > Some(0.2) && probability(&anew) < Some(0.05), "{:?}", probability(&report));
    // Two changes after one another keep each other's values.
    let two = "[[changes]]\nat = \"2 s\"\nparameters = \"limit 300p\"\n\
               [[changes]]\nat = \"3 s\"\nparameters = \"target 50ms\"\n";
    let report = one(&text(two));
    assert_eq!(report.queues[0].switched.last().map(|s| s.scheme.as_str()), Some("pie limit 300p target 50ms"));
    // A link by name has the queue of the way back, too, which is a pfifo.
    let both = "[[changes]]\nat = \"2 s\"\nlink = \"l\"\nparameters = \"limit 300p\"\n";
    assert_eq!(one(&text(both)).queues.iter().filter(|queue| !queue.switched.is_empty()).count(), 2);
    let refused = sojourn_scenario::load(&text(&both.replace("limit 300p", "target 50ms")), "t", &[])
        .expect_err("pfifo")
        .to_string();
    assert!(refused.contains("`changes[0].parameters`: pfifo: unknown parameter \"target\""), "{refused}");
}

#[test]
fn changes_come_from_a_file() {
    let read = |_: &str| Ok("at,rate,phase\n# a comment\n0 s,4.5 Mbit/s,slow\n1 s,10 Mbit/s,start\n".into());
    let text = link("[[changes]]\nat = \"2 s\"\nevery = \"2 s\"\nfile = \"rates.csv\"\n");
    let document = sojourn_scenario::load_with(&text, "t", &[], &read).expect("good");
    assert_eq!(document, sojourn_scenario::load(&link(SLOW), "t", &[]).expect("good"));
    let refused = |csv: &'static str| {
        sojourn_scenario::load_with(&text, "t", &[], &|_| Ok(csv.into())).expect_err("refused").to_string()
    };
    for (csv, expected) in [
        ("at,rat\n", "line 1: there is no column \"rat\" (did you mean"),
        ("rate\n", "the column `at` is missing"),
        ("at,rate\n0 s,-1 Mbit/s\n", "line 2: rate: \"-1 Mbit/s\" is negative"),
        ("at,rate\n0 s\n", "line 2: has 1 values; allowed: 2, one a column"),
        ("", "is empty"),
    ] {
        assert!(refused(csv).contains(expected), "{csv:?}: {}", refused(csv));
    }
    // The run lasts 6 s, and the table's 2 s are added.
    let late = refused("at,rate\n1 s,1 Mbit/s\n5 s,1 Mbit/s\n");
    let expected = "key `changes[0].file`: rates.csv: line 3: at: is 7 s, the end of the run or later";
    assert!(late.contains(expected), "{late}");
    // A later table keeps its own number, and keys of the table are not those of a line.
    let refused = |more: &str| {
        let read = |_: &str| Ok("at,rate\n0 s,1 Mbit/s\n1 s,2 Mbit/s\n".into());
        sojourn_scenario::load_with(&(text.clone() + more), "t", &[], &read).expect_err("refused").to_string()
    };
    let late = refused("[[changes]]\nat = \"9 s\"\nrate = \"1 Mbit/s\"\n");
    assert!(late.contains("key `changes[1].at`: is 9 s, the end of the run or later"), "{late}");
    let missing = refused("[[changes]]\nat = \"1 s\"\nlink = \"m\"\nfile = \"rates.csv\"\n");
    assert!(missing.contains("key `changes[1].link`: is \"m\""), "{missing}");
}

#[test]
fn changes_that_cannot_be_are_refused() {
    let refused = |changes: &str| sojourn_scenario::load(&link(changes), "t", &[]).expect_err("refused").to_string();
    for (changes, expected) in [
        (
            "at = \"1 s\"\nlink = \"m\"\nrate = \"1 Mbit/s\"",
            "`changes[0].link`: is \"m\", and no link has that name (did you mean \"l\"?); allowed: l",
        ),
        (
            "at = \"1 s\"\nstop = [\"smal\"]",
            "`changes[0].stop[0]`: is \"smal\", and no group of flows has that name (did you mean \"small\"?)",
        ),
        ("at = \"1 s\"\nlink = \"l\"\nphase = \"x\"", "`changes[0].link`: is named, and nothing of it changes"),
        ("at = \"1 s\"\nparameters = \"target 5ms\"", "`changes[0].parameters`: pfifo: unknown parameter \"target\""),
        ("at = \"6 s\"\nphase = \"x\"", "`changes[0].at`: is 6 s, the end of the run or later"),
        ("at = \"1 s\"", "`changes[0]`: changes nothing"),
        (
            "at = \"1 s\"\nphase = \"x\"\n[[changes]]\nat = \"0 s\"\nevery = \"1 s\"\nphase = \"y\"",
            "`changes[1].phase`: is \"y\", and `changes[0]` begins the phase \"x\" at the same instant",
        ),
    ] {
        let found = refused(&format!("[[changes]]\n{changes}\n"));
        assert!(found.contains(expected), "{found}");
    }
}
