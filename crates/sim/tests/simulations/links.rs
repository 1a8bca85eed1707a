//! Links whose directions differ, and links that change during the run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{metric, runs};
use sojourn_sim::RunReport;

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
    flow.metrics.of(name).expect("measured")
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
    let refused = |changes: &str| {
        sojourn_scenario::load(&link("", "1 Mbit/s", changes), "test", &[]).expect_err("refused").to_string()
    };
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
    let back = sojourn_scenario::load(&text, "test", &[]).expect_err("refused").to_string();
    assert!(back.contains("`links[0].reverse_rate`: is 0"), "{back}");
}

#[test]
fn a_link_loses_packets_apart_from_its_queue() {
    let lost = |report: &RunReport, queue: usize| report.queues[queue].metrics.get("link_losses_packets").flatten();
    let report = one(&link("loss = \"5%\"", "8 Mbit/s", ""));
    // 2667 packets: 133 lost, standard error sqrt(2667 * 0.05 * 0.95) = 11.3; none dropped, and all are accounted for.
    let found = lost(&report, 0).expect("of a link with loss");
    assert!((found - 133.3).abs() < 4.0 * 11.3, "{found}");
    assert_eq!((metric(&report, "drops_packets"), lost(&report, 1)), (0.0, None));
    assert_eq!(report.conservation.dropped as f64, found);
    let there = report.flows.iter().find(|flow| flow.group == "there").expect("the flow");
    let share = there.metrics.of("loss_ratio").expect("measured");
    assert!((share - found / 2667.0).abs() < 1e-3, "{share}");
    // The other direction, and in bursts: runs of 10 packets, so the burst ratio of the flow is far above 1.
    let report = one(&link("reverse_loss = \"gemodel 1% 10%\"", "1 Mbit/s", ""));
    let back = report.flows.iter().find(|flow| flow.group == "back").expect("the flow");
    assert!(lost(&report, 0).is_none() && lost(&report, 1).is_some_and(|lost| lost > 0.0));
    assert!(back.metrics.of("burst_ratio").is_some_and(|ratio| ratio > 3.0), "{:?}", back.metrics.of("burst_ratio"));
    // From an instant on: half of 2667.
    let report = one(&link("", "8 Mbit/s", "[[changes]]\nat = \"2 s\"\nloss = \"1\"\n"));
    assert_eq!(lost(&report, 0).map(|lost| (lost - 1333.0).abs() <= 2.0), Some(true));
}

#[test]
fn what_is_lost_at_random_is_the_same_whatever_the_scheme() {
    let lost = |queue: &str| {
        let text = link("loss = \"2%\"", "8 Mbit/s", "").replace("pfifo limit 10p", queue);
        one(&text).queues[0].metrics.of("link_losses_packets")
    };
    assert_eq!(lost("pfifo limit 10p"), lost("codel"));
}

/// Metrics of the queue towards `b`.
fn there(report: &RunReport, name: &str) -> Option<f64> {
    report.queues[0].metrics.get(name).flatten()
}

#[test]
fn losses_in_bursts_have_the_share_and_the_length_of_the_model() {
    // Gilbert's channel with p = 2 % and r = 25 %, all lost in the bad state: a share of p/(p + r) = 7.407 %, in runs of 1/r = 4.
    // 8 Mbit/s in packets of 150 B are 26,667 in 4 s. Losses of packets i and i + k have the correlation (1 - p - r)^k = 0.73^k,
    // so the variance of the share is that of independent losses times (1 + 0.73)/(1 - 0.73) = 6.41:
    // standard error sqrt(6.41 * 0.07407 * 0.92593 / 26,667) = 0.00406.
    let text = link("loss = \"gemodel 2% 25%\"", "8 Mbit/s", "").replace("1500 B", "150 B");
    let report = one(&text);
    let flow = report.flows.iter().find(|flow| flow.group == "there").expect("the flow");
    let sent = flow.metrics.of("sent_packets").expect("counted");
    let share = there(&report, "link_losses_packets").expect("counted") / sent;
    assert!((share - 2.0 / 27.0).abs() < 4.0 * 0.00406, "{share}");
    // The burst ratio is the mean length, 4, times 1 - share = 3.704. Some 494 runs, geometric with a deviation of
    // sqrt(0.75)/0.25 = 3.46: standard error 3.46/sqrt(494) * 0.926 = 0.144.
    let burst = flow.metrics.of("burst_ratio").expect("losses");
    assert!((burst - 3.704).abs() < 4.0 * 0.144, "{burst}");
}

#[test]
fn jitter_changes_delays_and_the_order_unless_it_is_ordered() {
    // 1500 B at 8 Mbit/s: one packet each 1.5 ms, 2667 of them. Alone in the queue, each takes 1.2 ms + 10 ms + jitter.
    let run = |jitter: &str| one(&link(&format!("jitter = \"{jitter}\""), "8 Mbit/s", ""));
    let report = run("6 ms");
    // Uniform: standard deviation 6/sqrt(3) = 3.464 ms, standard error of the mean 0.067 ms.
    let (mean, sd) =
        (delay_ms(&report, "there", "one_way_delay_ms_mean"), delay_ms(&report, "there", "one_way_delay_ms_sd"));
    assert!((mean - 11.2).abs() < 0.27 && (sd - 3.464).abs() < 0.2, "{mean} {sd}");
    assert!(there(&report, "link_overtakes_packets") > Some(1000.0));
    assert_eq!(there(&report, "link_losses_packets"), None);
    // The other direction has none, and no value of it.
    assert_eq!(report.queues[1].metrics.get("link_overtakes_packets"), Some(None));
    let normal = run("2 ms normal");
    let sd = delay_ms(&normal, "there", "one_way_delay_ms_sd");
    assert!((sd - 2.0).abs() < 0.12, "{sd}");
    // In order, a packet waits for those sent before it, so that the mean delay is longer.
    let ordered = run("6 ms ordered");
    assert_eq!(there(&ordered, "link_overtakes_packets"), Some(0.0));
    assert!(delay_ms(&ordered, "there", "one_way_delay_ms_mean") > mean + 1.0);
    assert_eq!(run("6 ms ordered").conservation, ordered.conservation);
}

#[test]
fn a_doubled_packet_counts_once_for_its_flow() {
    let report = one(&link("duplicate = \"10%\"", "8 Mbit/s", ""));
    // 2667 packets: 267 doubled, standard error sqrt(2667 * 0.1 * 0.9) = 15.5. All are delivered but those on their way.
    let copies = there(&report, "link_duplicates_packets").expect("counted");
    assert!((copies - 266.7).abs() < 4.0 * 15.5, "{copies}");
    let books = report.conservation;
    assert_eq!((books.duplicated as f64, books.dropped), (copies, 0));
    assert_eq!(books.sent + books.duplicated, books.delivered + books.in_flight);
    let flow = report.flows.iter().find(|flow| flow.group == "there").expect("the flow");
    assert!((flow.metrics.of("goodput_bit_s").expect("measured") - 8e6).abs() < 8e6 * 0.01);
    assert!(flow.metrics.of("throughput_bit_s").expect("measured") > 8.5e6);
    // Copies that a later queue drops are no losses of the flow.
    assert_eq!(flow.metrics.of("loss_ratio"), Some(0.0));
}

#[test]
fn what_a_link_does_is_seen_on_computed_and_simulated_links_behind_it() {
    // A plain queue behind a link with jitter is computed; one under test is simulated. Both see the same arrivals.
    let text = |under_test: bool, more: &str| {
        format!(
            "name = \"t\"\nduration = \"5 s\"\nwarm_up = \"1 s\"\n\
             [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"m\"\nrate = \"20 Mbit/s\"\ndelay = \"3 ms\"\nqueue = \"codel\"\n{more}\n\
             [[links]]\nname = \"k\"\nfrom = \"m\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"7 ms\"\n\
             queue = \"pfifo limit 40p\"\nunder_test = {under_test}\n\
             [[flows]]\nname = \"tcp\"\nfrom = \"a\"\nto = \"b\"\ncount = 3\n"
        )
    };
    let metrics = ["goodput_bit_s", "delivered_packets", "one_way_delay_ms_mean", "retransmissions_segments"];
    for more in
        ["jitter = \"5 ms\"", "jitter = \"2 ms normal ordered\"", "duplicate = \"2%\"", "framing = \"pppoe-llcsnap\""]
    {
        let [computed, simulated] = [false, true].map(|under_test| one(&text(under_test, more)));
        for name in metrics {
            assert_eq!(computed.metrics.of(name), simulated.metrics.of(name), "{more}: {name}");
        }
        assert_eq!(computed.conservation, simulated.conservation, "{more}");
        let plain = one(&text(true, ""));
        assert_ne!(plain.metrics.of("one_way_delay_ms_mean"), simulated.metrics.of("one_way_delay_ms_mean"), "{more}");
    }
}

#[test]
fn effects_draw_from_streams_of_their_own() {
    let lost =
        |more: &str| there(&one(&link(&format!("loss = \"2%\"\n{more}"), "8 Mbit/s", "")), "link_losses_packets");
    assert_eq!(lost(""), lost("jitter = \"3 ms\"\nduplicate = \"5%\""));
}

#[test]
fn a_changed_delay_is_the_mean_of_a_link_with_jitter() {
    let change = "[[changes]]\nat = \"0 s\"\ndelay = \"50 ms\"\n";
    let report = one(&link("jitter = \"6 ms\"", "8 Mbit/s", change));
    let mean = delay_ms(&report, "there", "one_way_delay_ms_mean");
    assert!((mean - 51.2).abs() < 0.27, "{mean}");
}

#[test]
fn framing_takes_its_share_of_the_rate() {
    // Packets of 1492 B offered above the rate: the link is always busy, so goodput is 10 Mbit/s times 1492 over the framed
    // size: ADSL with PPPoE and LLC, 32 cells of 53 B; VDSL2, 1492 + 30 and one more for each 64, 1546 B.
    let goodput = |framing: &str, size: u32| {
        let text = link(&format!("framing = \"{framing}\""), "20 Mbit/s", "").replace("1500 B", &format!("{size} B"));
        let report = one(&text);
        let flow = report.flows.iter().find(|flow| flow.group == "there").expect("the flow");
        flow.metrics.of("goodput_bit_s").expect("measured")
    };
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.005, "{found} {expected}");
    near(goodput("pppoe-llcsnap", 1492), 1e7 * 1492.0 / 1696.0);
    near(goodput("pppoe-ptm", 1492), 1e7 * 1492.0 / 1546.0);
    near(goodput("docsis", 1500), 1e7 * 1500.0 / 1518.0);
    near(goodput("ethernet", 28), 1e7 * 28.0 / 84.0);
    // With a device queue below the scheme, too, and the scheme counts framed bytes: two packets of 1696 B wait in 3500 B.
    let text = link("framing = \"pppoe-llcsnap\"\ndevice_queue = \"1 p\"", "20 Mbit/s", "");
    let text = text.replace("1500 B", "1492 B").replace("pfifo limit 10p", "bfifo limit 3500b");
    let report = one(&text);
    let flow = report.flows.iter().find(|flow| flow.group == "there").expect("the flow");
    near(flow.metrics.of("goodput_bit_s").expect("measured"), 1e7 * 1492.0 / 1696.0);
    assert_eq!(there(&report, "queue_packets_p99"), Some(2.0));
    assert!(there(&report, "utilisation") > Some(0.999));
}

#[test]
fn a_token_bucket_lets_packets_go_whole() {
    // 1 Mbit/s of 1500 B on 10 Mbit/s: the bucket has always filled up again, so that a packet takes 10 ms and no time to be sent.
    let report = one(&link("burst = \"1600 B\"", "1 Mbit/s", ""));
    assert!((delay_ms(&report, "there", "one_way_delay_ms_mean") - 10.0).abs() < 1e-9);
    // The other direction has no bucket: 1250 B at 10 Mbit/s.
    assert!((delay_ms(&report, "back", "one_way_delay_ms_mean") - 11.0).abs() < 1e-9);
    // Above the rate, what leaves in 4 s is 4 s * 10 Mbit/s / 1500 B = 3333 packets and the bucket's: 30000 B are 20, one more may
    // leave a bucket that owes nothing, and what left in the last 10 ms has not arrived. The link is busy all the time, that in
    // which the bucket was filled included.
    for (burst, more) in [("1600 B", 2.0), ("30000 B", 21.0)] {
        let report = one(&link(&format!("burst = \"{burst}\""), "20 Mbit/s", ""));
        let arrived = delay_ms(&report, "there", "goodput_bit_s") * 4.0 / 12_000.0;
        let expected = 10_000.0 / 3.0 + more - 10.0 / 1.2;
        assert!((arrived - expected).abs() <= 2.0, "{burst}: {arrived} {expected}");
        assert!(metric(&report, "utilisation") > 0.999);
    }
}

#[test]
fn a_token_bucket_keeps_its_debt_when_the_rate_changes() {
    // At 10 Mbit/s 20 ms of packets and from 2 s on 5 Mbit/s: 1667 and 833 packets, and two at the beginning, less those of the
    // last 10 ms.
    let change = "[[changes]]\nat = \"2 s\"\nrate = \"5 Mbit/s\"\n";
    let report = one(&link("burst = \"1600 B\"", "20 Mbit/s", change));
    let arrived = delay_ms(&report, "there", "goodput_bit_s") * 4.0 / 12_000.0;
    assert!((arrived - (2_500.0 + 2.0 - 10.0 / 2.4)).abs() <= 2.0, "{arrived}");
}

#[test]
fn a_shaper_does_not_ask_an_empty_queue() {
    // 40 Mbit/s are four times the rate, so that RED drops three quarters. The first arrival after a drop is dropped with p / (1 - p)
    // and the second with p / (1 - 2 p), which is 1 from p = 1/3 on; a drop every 4/3 arrivals needs p / (1 - p) = 2/3, p = 0.4, an
    // average of 1 + 0.4 * 7 = 3.8 packets. A wire that idles for a second makes RED forget it. A shaper does not ask while nothing
    // waits, so that RED does not learn that the link idles: its average falls with arrivals only, by a tenth each, to 1 after 12.
    let late = |burst: &str| -> Vec<f64> {
        let text = link(burst, "40 Mbit/s", "").replacen("traffic", "stop = \"100 ms\"\ntraffic", 1)
            + "[[flows]]\nname = \"late\"\nfrom = \"a\"\nto = \"b\"\nstart = \"1 s\"\ntransport = {kind = \"udp\", header = \"0 B\"}\n\
               traffic = {kind = \"cbr\", rate = \"1 Mbit/s\", packet_size = \"1500 B\"}\n";
        let red = "red limit 100p min 1p max 8p max_p 1 w 0.1";
        let goodput = |report: RunReport| {
            let flow = report.flows.iter().find(|flow| flow.group == "late").expect("the flow");
            flow.metrics.of("goodput_bit_s").expect("measured")
        };
        runs(&text.replace("pfifo limit 10p", red), None, u64::from(RUNS), 2).into_iter().map(goodput).collect()
    };
    // 3 s hold 250 packets of 12 ms; a lost one is 12000 bits of 4 s.
    let lost: Vec<f64> = late("")
        .iter()
        .zip(late("burst = \"1600 B\""))
        .map(|(wire, shaped)| (wire - shaped) * 4.0 / 12_000.0)
        .collect();
    let mean = lost.iter().sum::<f64>() / f64::from(RUNS);
    let variance = lost.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / f64::from(RUNS - 1);
    let error = (variance / f64::from(RUNS)).sqrt();
    // The average at the end of the overload is near to 3.8: it is a mean of the last ten or so queues, whole numbers of packets.
    let (least, most) = (lost_by_red(3.5), lost_by_red(4.1));
    assert!(mean > least - 3.0 * error && mean < most + 3.0 * error, "{mean} ± {error}, {least} to {most}");
}

const RUNS: u32 = 40;

/// Mean number of packets that RED with `min` 1, `max` 8, `max_p` 1 and `w` 0.1 loses of a flow that never waits, from this average
/// on: p_b = (avg - 1) / 7, and p_a = p_b / (1 - count p_b) with the arrivals since the last loss (Floyd and Jacobson 1993). The
/// distribution of count is followed from arrival to arrival.
fn lost_by_red(mut average: f64) -> f64 {
    let (mut counts, mut lost) = (vec![1.0], 0.0);
    loop {
        average *= 0.9;
        if average < 1.0 {
            return lost;
        }
        let p_b = (average - 1.0) / 7.0;
        let mut next = vec![0.0; counts.len() + 1];
        for (count, weight) in counts.iter().enumerate() {
            let left = 1.0 - (count + 1) as f64 * p_b;
            let p_a = if left > 0.0 { (p_b / left).min(1.0) } else { 1.0 };
            lost += weight * p_a;
            next[0] += weight * p_a;
            next[count + 1] += weight * (1.0 - p_a);
        }
        counts = next;
    }
}
