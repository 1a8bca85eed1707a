//! Ratios are of the packets that leave in the measured time, and shares lie between 0 and 1.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{metric, runs};
use sojourn_sim::RunReport;

fn one(text: &str) -> RunReport {
    runs(text, None, 1, 1).remove(0)
}

/// 1250 B every 2.5 ms until 1 s into 1 Mbit/s, which takes 10 ms for each: some 300 wait when the measured second begins, in
/// which none arrives.
fn after_the_flood(queue: &str) -> RunReport {
    one(&format!(
        "name = \"flood\"\nduration = \"2005 ms\"\nwarm_up = \"1005 ms\"\n\
         [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"{queue}\"\n\
         under_test = true\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nstop = \"1 s\"\n\
         transport = {{ kind = \"udp\", header = \"0 B\" }}\n\
         traffic = {{ kind = \"cbr\", rate = \"4 Mbit/s\", packet_size = \"1250 B\" }}\n"
    ))
}

#[test]
fn packets_that_came_before_the_measurement_count_when_they_leave() {
    // One packet starts every 10 ms: 100 in the measured second.
    let report = after_the_flood("pfifo limit 1000p");
    let value = |name: &str| metric(&report, name);
    assert_eq!((value("arrivals_packets"), value("drops_packets"), value("loss_ratio")), (100.0, 0.0, 0.0));
    assert_eq!((value("sent_packets"), value("delivered_packets")), (0.0, 100.0));
}

#[test]
fn drops_and_marks_are_among_the_packets_that_they_are_divided_by() {
    // CoDel drops at the head: 100 packets are sent, as the link is never idle, and the others that leave are dropped.
    let report = after_the_flood("codel limit 1000p");
    let (left, drops) = (metric(&report, "arrivals_packets"), metric(&report, "drops_packets"));
    assert!(left == 100.0 + drops && drops > 5.0, "{left} left, of which {drops} were dropped");
    assert_eq!(metric(&report, "loss_ratio"), drops / left);
    assert!(metric(&report, "burst_ratio") >= 0.0);
    // The flow sends nothing in that second; what is lost or arrives is of before.
    let flow = &report.flows[0].metrics;
    assert_eq!((flow.of("dropped_packets"), flow.of("delivered_packets")), (Some(drops), Some(100.0)));
    assert_eq!(flow.of("loss_ratio"), Some(drops / left));
}

#[test]
fn marks_count_when_packets_leave() {
    // RED marks arrivals. What leaves until 1 s and what leaves after that is what leaves in all, and as nothing is dropped, all
    // that RED has marked.
    let part = |warm_up: &str, duration: &str| {
        one(&format!(
            "name = \"m\"\nduration = \"{duration}\"\nwarm_up = \"{warm_up}\"\n\
             [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"3 Mbit/s\"\ndelay = \"10 ms\"\nunder_test = true\n\
             queue = \"red min 2p max 5p max_p 1 limit 1000p avpkt 1500b w 1 ecn nodrop\"\n\
             [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ ecn = true, congestion_control = \"dctcp\" }}\n\
             traffic = {{ kind = \"transfer\", size = \"600 kB\" }}\n"
        ))
    };
    let (early, late, all) = (part("0 s", "1 s"), part("1 s", "9 s"), part("0 s", "9 s"));
    for name in ["arrivals_packets", "marks_packets"] {
        assert_eq!(metric(&early, name) + metric(&late, name), metric(&all, name), "{name}");
    }
    let counted = all.queues[0].counts.as_ref().expect("counts of a queue under test").marked.packets;
    assert_eq!((metric(&all, "marks_packets"), metric(&all, "drops_packets")), (counted as f64, 0.0));
    assert!(metric(&early, "marks_packets") > 0.0 && metric(&late, "marks_packets") > 0.0);
    assert_eq!(metric(&all, "mark_ratio"), metric(&all, "marks_packets") / metric(&all, "arrivals_packets"));
}

const BURST: &str = "name = \"tb\"\nduration = \"2 s\"\nwarm_up = \"1 s\"\n\
    [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nburst = \"20 kB\"\nunder_test = true\n\
    [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nstart = \"1 s\"\ntransport = { kind = \"udp\", header = \"0 B\" }\n\
    traffic = { kind = \"cbr\", rate = \"5 Mbit/s\", packet_size = \"1000 B\" }\n";

#[test]
fn a_token_bucket_lets_a_link_send_no_more_than_it_can() {
    // In the measured second the link makes tokens for 1 s and has saved 20 kB, 160 ms: it can send for 1.16 s. 1000 B come every
    // 1.6 ms and take 8 ms: until the first of them the full bucket saves nothing more, and after that all is used.
    let used = metric(&one(BURST), "utilisation");
    assert!((1.1584 / 1.16 - 1e-9..=1.0).contains(&used), "{used}");
    // 12.5 kB/s take 100 ms of each second, and no bucket is short of that: 0.1 s of 1.16 s.
    let used = metric(&one(&BURST.replace("5 Mbit/s", "0.1 Mbit/s")), "utilisation");
    assert!((used - 0.1 / 1.16).abs() < 0.008 / 1.16 + 1e-9, "{used}");
    // In a phase it is what is saved at its begin that counts, here nothing: of all that the link can send, it sends all.
    let phases = "[[changes]]\nat = \"1500 ms\"\nphase = \"late\"\nstart = [\"f\"]\n";
    let report = one(&format!("{BURST}{phases}"));
    let late = report.phases.iter().find(|phase| phase.phase == "late").expect("a phase");
    assert_eq!(late.metrics.of("utilisation"), Some(1.0));
}

#[test]
fn hits_of_daqm_count_while_the_queue_runs_it() {
    // Switched away from after 9.9 s, it has the ratio of a run that ends then.
    let text = "name = \"d\"\nduration = \"10 s\"\nwarm_up = \"2 s\"\n\
        [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"daqm\"\nunder_test = true\n\
        [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n";
    let whole = metric(&one(&text.replace("10 s", "9900 ms")), "daqm_hit_ratio");
    assert!(whole > 0.0);
    let switch = |at: &str, scheme: &str| format!("[[changes]]\nat = \"{at}\"\nscheme = \"{scheme}\"\n");
    assert_eq!(metric(&one(&(text.to_owned() + &switch("9900 ms", "fq_pie"))), "daqm_hit_ratio"), whole);
    // Away before the measurement and back in it: of the time since. Away for all of it: none.
    let away = text.to_owned() + &switch("1 s", "pie");
    let back = one(&(away.clone() + &switch("3 s", "daqm")));
    assert!((0.0..=1.0).contains(&metric(&back, "daqm_hit_ratio")));
    assert_eq!(one(&away).metrics.of("daqm_hit_ratio"), None);
}

#[test]
fn a_queue_measures_no_packet_that_comes_after_the_end() {
    // The first link takes 45 ms for each of the packets that wait in it, so that the last one learns at once of packets that
    // come seconds later. It can be in use for 264 of 457 parts of the time at the most.
    let text = |tested: &str| {
        let link = |name: &str, from: &str, to: &str, rate: u64, delay: u64| {
            format!("[[links]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate} kbit/s\"\ndelay = \"{delay} ms\"\n")
        };
        let links = [link("slow", "a", "b", 264, 7), link("mid", "b", "c", 608, 1), link("last", "c", "d", 457, 10)];
        let flow = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"d\"\n";
        format!("name = \"chain\"\nduration = \"3 s\"\n{}{tested}{flow}", links.concat())
    };
    let used = |report: &RunReport| {
        let last = report.queues.iter().find(|queue| queue.name == "c->d").expect("the last queue");
        last.metrics.of("utilisation").expect("a share")
    };
    let (plain, tested) = (used(&one(&text(""))), used(&one(&text("under_test = true\n"))));
    assert_eq!(plain, tested);
    assert!(plain > 0.5 && plain <= 264.0 / 457.0, "{plain}");
}
