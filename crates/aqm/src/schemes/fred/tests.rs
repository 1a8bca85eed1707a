use super::*;
use crate::test_host::{canonical, close, refused, Fate, Host, Stream};
use crate::{Config, Discipline, Ecn, Fifo, Random};
use alloc::vec::Vec;
use sojourn_units::Span;
use std::collections::BTreeMap;

const FLOW: Fate = Fate::Dropped(Reason::Flow);
const EARLY: Fate = Fate::Dropped(Reason::Early);

/// The average hardly moves by itself; a test sets it.
fn slow() -> Params {
    Params { w: Probability::clamped(1e-15), ..Params::default() }
}

fn arrive(host: &mut Host<Fred>, flow: u32) -> Fate {
    host.flow = flow;
    host.arrive()
}

fn set_average(host: &mut Host<Fred>, avg: f64) {
    host.with(|fred| fred.red.average.set(avg));
}

#[test]
fn below_max_a_flow_queues_at_most_min_packets() {
    let mut host = Host::<Fred>::new(slow());
    for _ in 0..5 {
        assert_eq!(arrive(&mut host, 1), Fate::Queued);
    }
    assert_eq!(arrive(&mut host, 1), FLOW);
    assert_eq!(arrive(&mut host, 2), Fate::Queued, "another flow is not meant");
    // avg is almost 0 over two flows; the share is never below 1.
    assert_eq!((host.random.draws, host.internal("avgcq")), (0, 1.0));
}

#[test]
fn a_flow_with_two_strikes_queues_less_than_its_share_until_it_has_left() {
    let mut host = Host::<Fred>::new(slow());
    for expected in [Fate::Queued; 5].into_iter().chain([FLOW]) {
        assert_eq!(arrive(&mut host, 1), expected);
    }
    // One strike: below 5 queued it may come in again.
    host.send();
    assert_eq!(arrive(&mut host, 1), Fate::Queued);
    assert_eq!(arrive(&mut host, 1), FLOW);
    // Two strikes. avgcq is 1: nothing while one waits.
    for _ in 0..4 {
        host.send();
    }
    assert_eq!((host.len(), arrive(&mut host, 1)), (1, FLOW));
    // A larger share: avg 4 over one flow, so that up to 3 may wait and be joined.
    set_average(&mut host, 4.0);
    for expected in [Fate::Queued, Fate::Queued, Fate::Queued, FLOW] {
        assert_eq!(arrive(&mut host, 1), expected, "{} wait", host.len());
    }
    while host.send().is_some() {}
    set_average(&mut host, 0.0);
    for _ in 0..5 {
        assert_eq!(arrive(&mut host, 1), Fate::Queued, "forgotten with the last packet");
    }
}

/// Flow 1 has three packets queued, nine others have one each, and the average is `avg`.
fn crowd(params: Params, avg: f64) -> Host<Fred> {
    let mut host = Host::new(params);
    for flow in [1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] {
        assert_eq!(arrive(&mut host, flow), Fate::Queued);
    }
    set_average(&mut host, avg);
    close(host.internal("avgcq"), (avg / 10.0).max(1.0));
    host
}

#[test]
fn between_min_and_max_only_flows_with_a_share_are_drawn_for() {
    let mut host = crowd(slow(), 10.0);
    host.random.fixed = Some(0.0);
    // avgcq 1, minq 2. One queued: no draw, but it counts. The first counts 0.
    assert_eq!(arrive(&mut host, 2), Fate::Queued);
    assert_eq!((host.random.draws, host.internal("count")), (0, 0.0));
    // Three queued: p_b = 0.1 x 5/10, count 1: 0.05 / 0.95.
    assert_eq!(arrive(&mut host, 1), EARLY);
    assert_eq!((host.random.draws, host.internal("count")), (1, 0.0));
    close(host.internal("probability"), 0.05 / 0.95);
    // Just above the next probability, count 1 again: queued.
    host.random.fixed = Some(0.0527);
    assert_eq!(arrive(&mut host, 1), Fate::Queued);
    assert_eq!(host.random.draws, 2);
    // minq 3: flow 2, with two, is not drawn for.
    let mut host = crowd(Params { minq: Packets::new(3), ..slow() }, 10.0);
    host.random.fixed = Some(0.0);
    assert_eq!([arrive(&mut host, 2), arrive(&mut host, 2)], [Fate::Queued; 2]);
    assert_eq!(arrive(&mut host, 2), EARLY);
}

#[test]
fn a_share_above_minq_protects_too() {
    // avg 14 over 3 flows: avgcq 4.67, so that four queued are not drawn for.
    let mut host = Host::<Fred>::new(slow());
    for flow in [1, 1, 1, 1, 2, 3] {
        arrive(&mut host, flow);
    }
    set_average(&mut host, 14.0);
    host.random.fixed = Some(0.0);
    assert_eq!((arrive(&mut host, 1), host.random.draws), (Fate::Queued, 0));
}

#[test]
fn from_max_on_two_are_a_strike_and_fewer_are_dropped_too() {
    let mut host = crowd(slow(), 15.0);
    assert_eq!(arrive(&mut host, 1), FLOW, "three queued");
    assert_eq!(arrive(&mut host, 2), EARLY, "one queued");
    assert_eq!(arrive(&mut host, 99), EARLY, "none queued");
    assert_eq!((host.internal("probability"), host.internal("active_flows")), (1.0, 10.0));
    set_average(&mut host, 14.999);
    assert_eq!(arrive(&mut host, 99), Fate::Queued);
}

#[test]
fn only_random_drops_become_marks() {
    let mut host = crowd(Params { ecn: true, ..slow() }, 10.0);
    host.ecn = Ecn::Ect0;
    host.random.fixed = Some(0.0);
    arrive(&mut host, 2);
    assert_eq!(arrive(&mut host, 1), Fate::Marked);
    host.random.fixed = Some(0.999_999);
    assert_eq!(arrive(&mut host, 1), Fate::Queued);
    assert_eq!(arrive(&mut host, 1), FLOW, "five queued");
    set_average(&mut host, 15.0);
    assert_eq!(arrive(&mut host, 99), EARLY);
}

#[test]
fn the_average_takes_departures_and_accepted_arrivals() {
    let mut host = Host::<Fred>::new(Params { w: Probability::clamped(0.5), ..Params::default() });
    // Flow 1 queues five; they find 0, 1, 2, 3, 4: 0, 0.5, 1.25, 2.125, 3.0625.
    for _ in 0..5 {
        arrive(&mut host, 1);
    }
    close(host.internal("avg"), 3.0625);
    assert_eq!(arrive(&mut host, 1), FLOW);
    close(host.internal("avg"), 3.0625);
    // Leaves four behind.
    host.send();
    close(host.internal("avg"), 3.531_25);
    while host.send().is_some() {}
    // 3, 2, 1 and 0 left behind.
    let avg = ((((3.531_25 + 3.0) / 2.0 + 2.0) / 2.0 + 1.0) / 2.0) / 2.0;
    close(host.internal("avg"), avg);
    // Idle for 2 ms at 1000 mean packets a second: a quarter, and that before the arrival is judged.
    host.wait(Span::from_millis(2));
    arrive(&mut host, 1);
    close(host.internal("avg"), avg / 4.0);
}

#[test]
fn what_others_remove_is_noticed() {
    let mut fred = Fifo::<Fred>::new(slow());
    let mut host = crate::test_host::DisciplineHost::new();
    let flows = |fred: &mut Fifo<Fred>, host: &crate::test_host::DisciplineHost| host.internal(fred, "active_flows");
    for flow in [1, 1, 1, 1, 1, 1, 1, 2, 3] {
        host.offer(&mut fred, flow, 1000, Ecn::NotEct);
    }
    // Two of flow 1 were dropped: two strikes.
    assert_eq!((host.log.dropped.len(), flows(&mut fred, &host)), (2, 3.0));
    for _ in 0..4 {
        fred.drain();
    }
    assert_eq!(flows(&mut fred, &host), 3.0);
    // One of flow 1 is left, and its strikes: nothing while one waits.
    host.offer(&mut fred, 1, 1000, Ecn::NotEct);
    assert_eq!(host.log.dropped.len(), 3);
    // A reset forgets the strikes, not what waits.
    fred.reset();
    assert_eq!(flows(&mut fred, &host), 3.0);
    for _ in 0..4 {
        host.offer(&mut fred, 1, 1000, Ecn::NotEct);
    }
    assert_eq!(host.log.dropped.len(), 3);
    host.offer(&mut fred, 1, 1000, Ecn::NotEct);
    assert_eq!(host.log.dropped.len(), 4, "five of flow 1 wait");
    while fred.drain().is_some() {}
    assert_eq!(flows(&mut fred, &host), 0.0);
}

/// The rules one by one, on a list of what waits: N and qlen are counted anew for every arrival.
#[derive(Default)]
struct Model {
    waiting: Vec<u32>,
    strikes: BTreeMap<u32, u32>,
    avg: f64,
    count: f64,
    idle: Option<f64>,
}

const W: f64 = 0.02;
const MAX_P: f64 = 0.3;
const LIMIT: usize = 17;

impl Model {
    fn average(&mut self, now: f64) {
        if let (true, Some(since)) = (self.waiting.is_empty(), self.idle) {
            self.avg *= libm::exp(libm::log(1.0 - W) * (now - since) * 1000.0);
            self.idle = Some(now);
        } else {
            self.idle = None;
            self.avg = (1.0 - W) * self.avg + W * self.waiting.len() as f64;
        }
    }

    fn arrival(&mut self, now: f64, flow: u32, draws: &mut Stream) -> Fate {
        if self.waiting.is_empty() {
            self.average(now);
        }
        if self.waiting.len() >= LIMIT {
            self.count = 0.0;
            return Fate::Dropped(Reason::Overflow);
        }
        let mut active = self.waiting.clone();
        active.sort_unstable();
        active.dedup();
        let avgcq = if active.is_empty() { self.avg } else { self.avg / active.len() as f64 };
        let avgcq = if avgcq < 1.0 { 1.0 } else { avgcq };
        let qlen = self.waiting.iter().filter(|other| **other == flow).count() as f64;
        let strikes = self.strikes.get(&flow).copied().unwrap_or(0);
        let (min, max) = (5.0, 15.0);
        let maxq = if self.avg >= max { 2.0 } else { min };
        if qlen >= maxq || (self.avg >= max && qlen > 2.0 * avgcq) || (qlen >= avgcq && strikes > 1) {
            self.strikes.insert(flow, strikes + 1);
            return FLOW;
        }
        if self.avg >= max {
            self.count = 0.0;
            return EARLY;
        }
        if self.avg >= min {
            self.count += 1.0;
            let p_b = MAX_P * (self.avg - min) / (max - min);
            let x = self.count * p_b;
            let p_a = if x < 1.0 { p_b / (1.0 - x) } else { 1.0 };
            if qlen >= 2.0 && qlen >= avgcq && (p_a >= 1.0 || (p_a > 0.0 && draws.uniform() < p_a)) {
                self.count = 0.0;
                return EARLY;
            }
        } else {
            self.count = -1.0;
        }
        if !self.waiting.is_empty() {
            self.average(now);
        }
        self.waiting.push(flow);
        Fate::Queued
    }

    fn departure(&mut self, now: f64) {
        if self.waiting.is_empty() {
            self.idle = self.idle.or(Some(now));
            return;
        }
        let flow = self.waiting.remove(0);
        self.idle = None;
        self.avg = (1.0 - W) * self.avg + W * self.waiting.len() as f64;
        if !self.waiting.contains(&flow) {
            self.strikes.remove(&flow);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn a_random_walk_agrees_with_the_rules_one_by_one() {
    let (w, max_p) = (Probability::clamped(W), Probability::clamped(MAX_P));
    let params = Params { w, max_p, limit: Limit::packets(LIMIT as u64), ..Params::default() };
    let mut host = Host::<Fred>::new(params);
    let (mut draws, mut script) = (host.random.clone(), Stream::new(11));
    let mut model = Model { count: -1.0, ..Model::default() };
    let mut fates = [0; 4];
    for step in 0..60_000 {
        host.wait(match script.below(2000) {
            0 => Span::from_millis(script.below(3000)),
            _ => Span::from_micros(script.below(900)),
        });
        let now = host.now.seconds();
        let load = [40, 55, 75, 45, 97][(step / 300) % 5];
        if script.below(100) >= load {
            host.send();
            model.departure(now);
        } else {
            // A flood, some with several packets in a row, and many small flows.
            let flow = [0, 0, 1, 1, 2, 3, 10 + script.below(60) as u32, 10 + script.below(60) as u32];
            host.flow = flow[script.below(8) as usize];
            let expected = model.arrival(now, host.flow, &mut draws);
            assert_eq!(host.arrive(), expected, "step {step}, avg {}", model.avg);
            fates[if let Fate::Dropped(reason) = expected { reason as usize } else { 3 }] += 1;
        }
        let avg = host.internal("avg");
        assert!((avg - model.avg).abs() < 1e-9, "step {step}: {avg} {}", model.avg);
    }
    assert_eq!(host.random.draws, draws.draws);
    assert!(fates.iter().all(|n| *n > 100), "overflow, early, flow, queued: {fates:?}");
}

#[test]
fn texts() {
    assert_eq!(canonical("fred min 30p max 90p minq 4 ecn"), "fred min 30p max 90p minq 4p ecn");
    assert!(refused("fred min 0p").contains("min is 0"));
    assert!(refused("fred min 90p max 30p").contains("min (90p) is not below max (30p)"));
    assert!("fred limit 150kB".parse::<Config>().is_ok());
}
