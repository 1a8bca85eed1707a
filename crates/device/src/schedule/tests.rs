use super::*;
use crate::clock::Clock;
use crate::orders::{orders, Orders};
use std::sync::atomic::{AtomicBool, Ordering};

fn schemes(n: usize) -> Vec<(String, Config)> {
    (0..n).map(|n| (format!("s{n}"), format!("pfifo limit {}p", n + 1).parse().unwrap())).collect()
}

fn plan(n: usize, seed: u64, design: Design) -> Plan {
    Plan::new(schemes(n), Span::from_secs(3600), seed, design, Direction::AToB).unwrap()
}

fn labels(plan: &Plan, slots: std::ops::Range<u64>) -> Vec<&str> {
    slots.map(|slot| plan.assignment(slot).0.as_str()).collect()
}

#[test]
fn an_assignment_depends_on_seed_and_slot_alone() {
    let (one, other) = (plan(10, 7, Design::Random), plan(10, 8, Design::Random));
    assert_eq!(labels(&one, 5..25), labels(&plan(10, 7, Design::Random), 0..25)[5..]);
    assert_ne!(labels(&one, 0..20), labels(&other, 0..20));
}

#[test]
fn random_draws_are_uniform_and_independent_of_their_predecessor() {
    let plan = plan(10, 1, Design::Random);
    let drawn: Vec<usize> = (0..10_000).map(|slot| plan.assignment(slot).0[1..].parse().unwrap()).collect();
    let mut pairs = vec![0_u32; 100];
    drawn.windows(2).for_each(|pair| pairs[10 * pair[0] + pair[1]] += 1);
    // Pearson's statistic of 9999 pairs over 100 cells: mean 99, deviation sqrt(2 * 99) = 14.1; five deviations.
    let expected = 9_999.0 / 100.0;
    let statistic: f64 = pairs.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
    assert!((statistic - 99.0).abs() < 70.0, "{statistic}");
}

#[test]
fn blocks_hold_every_scheme_once_in_changing_order() {
    let plan = plan(10, 3, Design::Blocks);
    let blocks: Vec<_> = (0..20).map(|block| labels(&plan, 10 * block..10 * (block + 1))).collect();
    for block in &blocks {
        let mut sorted = block.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"]);
    }
    assert!(blocks.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn what_is_no_schedule_is_refused() {
    let make = |schemes, length| Plan::new(schemes, length, 0, Design::Random, Direction::AToB).err();
    assert_eq!(make(schemes(1), Span::from_secs(1)), Some(PlanError::Few(1)));
    assert_eq!(make(schemes(2), Span::from_millis(9)), Some(PlanError::Short(Span::from_millis(9))));
    let twice = vec![schemes(1).remove(0), schemes(1).remove(0)];
    assert_eq!(make(twice, Span::from_secs(1)), Some(PlanError::Name("s0".into())));
}

type Recorded = Arc<Mutex<Vec<Slot>>>;

fn next(received: &Orders) -> Option<Command> {
    loop {
        match received.try_recv() {
            Ok(command) => return Some(command),
            Err(std::sync::mpsc::TryRecvError::Empty) => std::thread::yield_now(),
            Err(std::sync::mpsc::TryRecvError::Disconnected) => return None,
        }
    }
}

/// A worker in whose place of a packet thread all orders are granted, unless `refused`.
fn worker(last: Option<(u64, u64)>, refused: bool) -> (Worker, Recorded, JoinHandle<Vec<Order>>) {
    let (commands, received) = orders();
    let thread = std::thread::spawn(move || {
        let mut orders = Vec::new();
        while let Some(Command { order, reply }) = next(&received) {
            orders.push(order);
            reply.unwrap().send(if refused { Err("no queue".into()) } else { Ok(()) }).unwrap();
        }
        orders
    });
    let recorded = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&recorded);
    let worker = Worker {
        plan: plan(10, 7, Design::Random),
        dated: Dated::new(Clock::start()),
        ask: Box::new(|| None),
        last: Some(last),
        commands,
        slots: Box::new(move |slot| into.lock().unwrap().push(slot)),
        state: Arc::default(),
    };
    (worker, recorded, thread)
}

const HOUR_NS: u64 = 3_600_000_000_000;

#[test]
fn slots_lie_on_the_grid_of_the_first() {
    let (mut worker, recorded, thread) = worker(None, false);
    // Started at 100; woken early, in time, and a slot and a half late.
    let next: Vec<_> =
        [100, 101, 100 + HOUR_NS, 100 + 3 * HOUR_NS + HOUR_NS / 2].map(|now| worker.turn(now).unwrap()).into();
    assert_eq!(next, [100 + HOUR_NS, 100 + HOUR_NS, 100 + 2 * HOUR_NS, 100 + 4 * HOUR_NS]);
    let slots = recorded.lock().unwrap().clone();
    let found: Vec<_> = slots.iter().map(|slot| (slot.slot, slot.due_ns, slot.label.clone())).collect();
    let expected: Vec<_> =
        [0, 1, 3].map(|n| (n, 100 + n * HOUR_NS, plan(10, 7, Design::Random).assignment(n).0.clone())).into();
    assert_eq!(found, expected);
    drop(worker);
    let orders = thread.join().unwrap();
    assert_eq!(orders.len(), 3);
    assert!(matches!(&orders[2], Order::Switch { slot: Some(3), label, .. } if *label == expected[2].2));
}

#[test]
fn a_restart_goes_on_in_the_slot_under_way() {
    let last = Some((4, 1000));
    for (now, slot, due) in [(1000 + HOUR_NS / 2, 4, 1000), (1000 + 3 * HOUR_NS, 7, 1000 + 3 * HOUR_NS), (0, 4, 1000)] {
        let (mut worker, recorded, _) = worker(last, false);
        worker.turn(now).unwrap();
        let recorded = recorded.lock().unwrap();
        assert_eq!((recorded[0].slot, recorded[0].due_ns), (slot, due));
    }
}

#[test]
fn a_refused_switch_is_said_and_not_recorded() {
    let (mut worker, recorded, _) = worker(None, true);
    worker.turn(5).unwrap();
    assert!(recorded.lock().unwrap().is_empty());
    assert_eq!(worker.state.lock().unwrap().error.as_deref(), Some("no queue"));
}

/// A clock that was years ahead and was set right over a restart: on the old grid the next slot is years away.
#[test]
fn a_slot_that_lies_in_the_future_stalls_nothing() {
    let (now, decade) = (1_000 * HOUR_NS, 87_600 * HOUR_NS);
    let (mut worker, recorded, _) = worker(Some((90_000, now + decade)), false);
    let next: Vec<_> = [now, now + HOUR_NS / 2, now + HOUR_NS].map(|now| worker.turn(now).unwrap()).into();
    assert_eq!(next, [now + HOUR_NS, now + HOUR_NS, now + 2 * HOUR_NS]);
    let slots = recorded.lock().unwrap();
    let found: Vec<_> = slots.iter().map(|slot| (slot.slot, slot.due_ns)).collect();
    assert_eq!(found, [(90_001, now), (90_002, now + HOUR_NS)]);
}

/// Dates of a store that somebody wrote are no reason to overflow.
#[test]
fn the_last_slot_there_can_be_is_no_end() {
    for last in [(u64::MAX, u64::MAX), (u64::MAX, 0), (i64::MAX as u64, i64::MAX as u64), (0, 0)] {
        let (mut worker, recorded, _) = worker(Some(last), false);
        let now = 1_000 * HOUR_NS;
        let next = worker.turn(now).unwrap();
        assert!(next > now && next <= now + 2 * HOUR_NS, "{last:?}: {next}");
        assert!(recorded.lock().unwrap()[0].slot >= last.0);
    }
}

#[test]
fn it_waits_for_the_number_of_the_last_slot() {
    let (commands, received) = orders();
    let known = Arc::new(AtomicBool::new(false));
    let ask = Arc::clone(&known);
    let last = Box::new(move || ask.load(Ordering::Acquire).then_some(Some((41, 0))));
    let dated = Dated::new(Clock::start());
    let schedule = Schedule::new(plan(3, 1, Design::Blocks), dated, last, commands, Box::new(|_| {})).unwrap();
    schedule.start();
    while !schedule.state().running {
        std::thread::yield_now();
    }
    assert_eq!(
        schedule.state().error.as_deref(),
        Some("waiting for the store, which knows the number of the last slot")
    );
    assert!(received.try_recv().is_err());
    known.store(true, Ordering::Release);
    let Command { order: Order::Switch { slot, .. }, reply } = next(&received).unwrap() else { unreachable!() };
    assert!(slot > Some(41));
    reply.unwrap().send(Ok(())).unwrap();
}

#[test]
fn it_starts_and_stops_at_run_time() {
    let (commands, received) = orders();
    let dated = Dated::new(Clock::start());
    let last = Box::new(|| Some(None));
    let schedule = Schedule::new(plan(3, 1, Design::Blocks), dated, last, commands, Box::new(|_| {})).unwrap();
    assert!(!schedule.state().running);
    schedule.start();
    // The switch is asked for as it starts; the thread then waits for the reply.
    let Command { order: Order::Switch { slot, .. }, reply } = next(&received).unwrap() else { unreachable!() };
    assert_eq!(slot, Some(0));
    reply.unwrap().send(Ok(())).unwrap();
    schedule.stop();
    schedule.start();
    // Stopped in between: slot 0 is put in force again.
    let Command { order: Order::Switch { slot, .. }, reply } = next(&received).unwrap() else { unreachable!() };
    assert_eq!(slot, Some(0));
    reply.unwrap().send(Ok(())).unwrap();
    drop(schedule);
}
