use super::ewma::weight;
use crate::test_host::DisciplineHost;
use crate::{Config, Counters, Discipline, Ecn, Packet};
use std::boxed::Box;
use std::string::{String, ToString};
use std::vec::Vec;

fn build(text: &str) -> Box<dyn Discipline> {
    text.parse::<Config>().unwrap_or_else(|e| panic!("{text}: {e}")).build()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

#[test]
fn a_table_means_what_the_text_means() {
    for (kind, table, text) in [
        (
            "red",
            &[("limit", "400000"), ("min", "30000"), ("max", "90000"), ("burst", "55")][..],
            "red limit 400000 min 30000 max 90000 burst 55",
        ),
        ("pie", &[("alpha", "2"), ("dq_rate_estimator", "true")], "pie alpha 2 dq_rate_estimator"),
        ("pie", &[("dq_rate_estimator", "false")], "pie"),
        ("sfb", &[("rehash", "300000")], "sfb rehash 300s"),
        ("red", &[("qevent", "early_drop")], "red"),
    ] {
        let config = Config::from_pairs(kind, &pairs(table)).unwrap_or_else(|e| panic!("{table:?}: {e}"));
        assert_eq!(config.text(), text.parse::<Config>().unwrap_or_else(|e| panic!("{text}: {e}")).text());
    }
}

#[test]
fn weights() {
    // Every burst that fits 2^-1 alone: excess 1 <= (1 - 1/2^burst) 2 from burst 1 on.
    assert_eq!(weight(1.0, 1), Ok(0.5));
    // The paper's example, L = 50 and min 5: excess 46, (1 - (255/256)^50) 256 = 45.5 < 46 <= (1 - (511/512)^50) 512 = 47.7.
    // (The paper's own form sums 51 terms and lets w <= 0.0042 pass, so 2^-8.)
    assert_eq!(weight(5.0, 50), Ok(1.0 / 512.0));
    assert!(weight(5.0, 4).is_err_and(|why| why.contains("allowed: 6 or more")));
    // Excess 5 x 10^9 against a sum that is at most 2^31.
    assert!(weight(5.0, 5_000_000_000).is_err_and(|why| why.contains("too large")));
}

/// Five packets into a queue whose average is at once above `max`.
fn forced(text: &str, ecn: Ecn) -> Counters {
    let (mut host, mut queue) = (DisciplineHost::new(), build(text));
    for _ in 0..5 {
        host.offer(&mut *queue, 1, 1000, ecn);
    }
    host.counters
}

#[test]
fn nodrop_queues_what_cannot_be_marked() {
    // w 1: the average is the queue, 0 1 2 3 4 at the arrivals, so with max 2p three of five are signalled.
    let base = "red min 1p max 2p limit 100p w 1 max_p 0 ecn";
    let counted = |text: &str, ecn| {
        let counters = forced(text, ecn);
        (counters.dropped[1].packets, counters.marked.packets)
    };
    assert_eq!(counted(base, Ecn::Ect0), (0, 3));
    // Dropped at 2, which then stays 2.
    assert_eq!(counted(base, Ecn::NotEct), (3, 0));
    let nodrop = std::format!("{base} nodrop");
    assert_eq!(counted(&nodrop, Ecn::Ect0), (0, 3));
    assert_eq!(counted(&nodrop, Ecn::NotEct), (0, 0));
    // harddrop drops above max whatever the packet is.
    assert_eq!(counted(&std::format!("{nodrop} harddrop"), Ecn::NotEct), (3, 0));
}

#[test]
fn a_selector_names_the_packets_that_ce_threshold_marks() {
    let mut marked = Vec::new();
    for selector in ["none", "0x1/0x3", "0x0/0x0", "0xb8/0xfc"] {
        let mut queue = build(&std::format!("codel ce_threshold 1ms ce_threshold_selector {selector}"));
        let mut host = DisciplineHost::new();
        // ECT(1), ECT(0), and ECT(0) of class EF: 46 << 2 = 0xb8.
        host.offer(&mut *queue, 1, 1000, Ecn::Ect1);
        host.offer(&mut *queue, 1, 1000, Ecn::Ect0);
        queue.enqueue(&mut host.cx(), Packet { bytes: 1000, ecn: Ecn::Ect0, dscp: 46, ..Packet::without_signals(0) });
        host.at_ms(2.0);
        let ce: Vec<bool> = (0..3).filter_map(|_| host.take_packet(&mut *queue)).map(|p| p.ecn == Ecn::Ce).collect();
        marked.push(ce);
    }
    assert_eq!(marked, [[true, true, true], [true, false, false], [true, true, true], [false, false, true]]);
}
