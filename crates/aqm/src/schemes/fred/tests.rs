use super::*;
use crate::test_host::{canonical, close, refused, Fate, Host};
use crate::{Config, Discipline, Ecn, Fifo};
use sojourn_units::Span;

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

#[test]
fn texts() {
    assert_eq!(canonical("fred min 30p max 90p minq 4 ecn"), "fred min 30p max 90p minq 4p ecn");
    assert!(refused("fred min 0p").contains("min is 0"));
    assert!(refused("fred min 90p max 30p").contains("min (90p) is not below max (30p)"));
    assert!("fred limit 150kB".parse::<Config>().is_ok());
}
