//! What a run reports of queues and flows does not depend on who looks: queues under test, series, windows and phases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use sojourn_sim::{scenario, Options, RunReport, Simulation};
use sojourn_units::Span;
use std::fmt::Write;
use std::sync::Arc;

/// Draws for scenarios (splitmix64, Steele et al. 2014).
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A network of routers in a chain with hosts on some of them. One of four has round rates, delays and starts, so that much
/// happens at one instant; in the others hardly two things do.
struct Drawn {
    head: String,
    links: Vec<String>,
    flows: String,
}

const QUEUES: [&str; 8] = [
    "pfifo limit 1000p",
    "pfifo limit 8p",
    "pfifo limit 3p",
    "bfifo limit 9kB",
    "codel target 1ms interval 20ms ecn",
    "red min 3p max 9p limit 20p ecn",
    "fq_codel target 2ms interval 30ms",
    "pie target 3ms ecn",
];

fn draw(seed: u64) -> Drawn {
    let mut draws = Draws(seed);
    let is_round = seed % 4 == 3;
    let routers = draws.within(2, 5);
    let duration = draws.within(2001, 6007);
    let warm_up = if draws.below(3) == 0 { 0 } else { draws.within(101, duration / 2) };
    let head = format!("name = \"drawn\"\nduration = \"{duration} ms\"\nwarm_up = \"{warm_up} ms\"\n");
    let mut links = Vec::new();
    let mut link = |draws: &mut Draws, name: &str, from: &str, to: &str| {
        let (kbit_s, us) = match is_round {
            true => (1000 * [1, 2, 5, 10][draws.below(4) as usize], 1000 * [1, 2, 5, 10][draws.below(4) as usize]),
            false => (draws.within(211, 19_997), draws.within(17, 30_011)),
        };
        let queue = draws.one_of(&QUEUES);
        links.push(format!(
            "[[links]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{kbit_s} kbit/s\"\n\
             delay = \"{us} us\"\nqueue = \"{queue}\"\n"
        ));
    };
    for router in 1..routers {
        link(&mut draws, &format!("l{router}"), &format!("r{}", router - 1), &format!("r{router}"));
    }
    let mut ends: Vec<String> = (0..routers).map(|router| format!("r{router}")).collect();
    for host in 0..draws.below(4) {
        let (name, router) = (format!("h{host}"), draws.below(routers));
        link(&mut draws, &format!("a{host}"), &name, &format!("r{router}"));
        ends.push(name);
    }
    let mut flows = String::new();
    for flow in 0..draws.within(1, 4) {
        let from = draws.below(ends.len() as u64) as usize;
        let to = (from + 1 + draws.below(ends.len() as u64 - 1) as usize) % ends.len();
        let traffic = match draws.below(4) {
            0 => format!(
                "transport = {{ kind = \"udp\" }}\ntraffic = {{ kind = \"poisson\", packets_per_second = {}, packet_size = \"{} B\" }}\n",
                draws.within(50, 900),
                draws.within(60, 1400)
            ),
            1 => "traffic = { kind = \"transfer\", size = \"90 kB\" }\n".to_owned(),
            _ => format!("transport = {{ ecn = {} }}\n", draws.below(2) == 0),
        };
        let _infallible = write!(
            flows,
            "[[flows]]\nname = \"f{flow}\"\nfrom = \"{}\"\nto = \"{}\"\nstart = \"{} us\"\n{traffic}",
            ends[from],
            ends[to],
            if is_round { 100_000 * draws.below(9) } else { draws.below(900_000) }
        );
    }
    Drawn { head, links, flows }
}

impl Drawn {
    /// The links whose bit in `tested` is set are under test, in both directions.
    fn text(&self, tested: u32, more: &str) -> String {
        let mut text = self.head.clone();
        let flag = |link: usize| if tested >> link & 1 == 1 { "under_test = true\n" } else { "" };
        self.links.iter().enumerate().for_each(|(number, link)| text.extend([link.as_str(), flag(number)]));
        text + &self.flows + more
    }
}

fn run(text: &str, series: Option<Span>) -> RunReport {
    let document = scenario::load(text, "drawn", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let network = Arc::new(document.resolve().unwrap_or_else(|error| panic!("{error}\n{text}")));
    let options = Options { seed: 3, series, ..Options::default() };
    Simulation::new(network, options).run().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What both reports have and differ in.
fn differences(one: &RunReport, other: &RunReport) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, one: &sojourn_sim::simulation::Metrics, other: &sojourn_sim::simulation::Metrics| {
        for (name, value) in one.iter() {
            if other.get(name).is_some_and(|seen| seen != value) {
                found.push(format!("{name} of {what}: {value:?} and {:?}", other.get(name).flatten()));
            }
        }
    };
    for (one, other) in one.queues.iter().zip(&other.queues) {
        compare(&one.name, &one.metrics, &other.metrics);
    }
    for (one, other) in one.flows.iter().zip(&other.flows) {
        compare(&one.name, &one.metrics, &other.metrics);
    }
    for (one, other) in one.groups.iter().zip(&other.groups) {
        compare(&one.name, &one.metrics, &other.metrics);
    }
    if one.conservation != other.conservation {
        found.push(format!("{:?} and {:?}", one.conservation, other.conservation));
    }
    found
}

/// Networks that are compared, unless the environment variable `DRAWN` says how many.
const DRAWN: u64 = 60;

/// And these: losses at several queues in another order, and two things at one instant.
const BESIDES: [u64; 5] = [129, 165, 166, 318, 340];

#[test]
fn who_looks_changes_nothing() {
    let (mut unequal, mut packets) = (Vec::new(), 0);
    let drawn = std::env::var("DRAWN").ok().map_or(DRAWN, |text| text.parse().expect("DRAWN is a number"));
    for seed in (0..drawn).chain(BESIDES.into_iter().filter(|seed| *seed >= drawn)) {
        let drawn = draw(seed);
        let all = (1 << drawn.links.len()) - 1;
        let plain = run(&drawn.text(0, ""), None);
        packets += plain.conservation.delivered;
        let mut check = |what: String, text: &str, series| {
            let found = differences(&plain, &run(text, series));
            if !found.is_empty() {
                unequal.push(format!("network {seed}, {what}: {}", found.join("; ")));
            }
        };
        for link in 0..drawn.links.len() {
            check(format!("l{link} under test"), &drawn.text(1 << link, ""), None);
        }
        check("all under test".into(), &drawn.text(all, ""), None);
        check("series".into(), &drawn.text(0, ""), Some(Span::from_millis(37)));
        check("series of all".into(), &drawn.text(all, ""), Some(Span::from_millis(37)));
        let windows = drawn.text(1, "").replacen("name =", "windows = \"50p\"\nname =", 1);
        check("windows".into(), &windows, None);
        // Nothing has stopped, so that nothing starts; but a phase begins.
        let phases = "[[changes]]\nat = \"333 ms\"\nevery = \"111 ms\"\nphase = \"next\"\nstart = [\"f0\"]\n";
        check("phases".into(), &drawn.text(0, phases), None);
        check("phases of all".into(), &drawn.text(all, phases), None);
    }
    assert!(unequal.is_empty(), "{} differences:\n{}", unequal.len(), unequal.join("\n"));
    // Idle networks prove nothing.
    assert!(packets > 1000 * drawn, "{packets} packets delivered");
}
