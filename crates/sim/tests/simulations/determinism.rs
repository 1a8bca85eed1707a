//! One seed gives one result, bit for bit: twice, on one thread and on several.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::runs;

const DUMBBELL: &str = include_str!("../../../../python/sojourn/model/scenarios/dumbbell.toml");
const LAN: &str = include_str!("../../../../python/sojourn/model/scenarios/lan.toml");

fn short(text: &str) -> String {
    text.replace("duration = \"60 s\"", "duration = \"4 s\"").replace("warm_up = \"12 s\"", "warm_up = \"1 s\"")
}

/// The whole report of every run, as text.
fn printed(text: &str, scheme: &str, jobs: usize) -> Vec<String> {
    runs(text, Some(scheme), 3, jobs).iter().map(|r| serde_json::to_string(r).unwrap()).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for scheme in
        ["pfifo limit 1000p", "fq_codel", "pie", "red min 30p max 90p limit 1000p", "daqm preset c2 interarrival 1ms"]
    {
        for text in [short(DUMBBELL), short(LAN)] {
            let once = printed(&text, scheme, 1);
            assert_eq!(once, printed(&text, scheme, 1), "{scheme}: again");
            assert_eq!(once, printed(&text, scheme, 2), "{scheme}: on two threads");
            assert_ne!(once[0], once[1], "{scheme}: replications differ");
        }
    }
}

#[test]
fn every_scheme_sees_the_same_traffic() {
    // Sources that do not react send the same packets at the same instants whatever the queue does.
    let text = r#"
        name = "open loop"
        duration = "20 s"
        [[links]]
        name = "link"
        from = "a"
        to = "b"
        rate = "1 Mbit/s"
        delay = "1 ms"
        queue = "pfifo limit 10p"
        under_test = true
        [[flows]]
        name = "poisson"
        from = "a"
        to = "b"
        transport = { kind = "udp" }
        traffic = { kind = "poisson", packets_per_second = 120, packet_size = "1000 B" }
    "#;
    let sent = |scheme: &str| {
        let report = runs(text, Some(scheme), 1, 1).remove(0);
        let arrived = report.queues.iter().find_map(|queue| queue.counts.as_ref()).unwrap().arrived.packets;
        (crate::common::metric(&report, "sent_packets"), arrived)
    };
    let first = sent("pfifo limit 10p");
    for scheme in ["codel", "pie", "red min 3p max 9p limit 20p", "bfifo limit 5kB"] {
        assert_eq!(sent(scheme), first, "{scheme}");
    }
}
