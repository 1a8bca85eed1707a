use super::*;
use crate::queues::fair;
use crate::test_host::{canonical, refused, DisciplineHost};
use crate::{Discipline, Ecn, FairQueue, Fifo};
use std::vec::Vec;

fn cobalt(change: impl FnOnce(&mut Params)) -> Fifo<Cobalt> {
    let mut params = Params { limit: Limit::packets(20_000), ..Params::default() };
    change(&mut params);
    Fifo::new(params)
}

fn offer(host: &mut DisciplineHost, queue: &mut dyn Discipline, n: usize, ecn: Ecn) {
    for _ in 0..n {
        host.offer(queue, 0, 1500, ecn);
    }
}

/// One packet passes at 0 ms without waiting, so `drop_next` is 100 ms; then `n` wait from 0 ms on and the clock shows 10 ms.
fn backlogged(n: usize, ecn: Ecn, change: impl FnOnce(&mut Params)) -> (DisciplineHost, Fifo<Cobalt>) {
    let (mut host, mut queue) = (DisciplineHost::new(), cobalt(change));
    offer(&mut host, &mut queue, 1, ecn);
    host.take(&mut queue);
    assert_eq!(host.internal(&mut queue, "drop_next_s"), 0.1);
    offer(&mut host, &mut queue, n, ecn);
    host.at_ms(10.0);
    (host, queue)
}

/// A dequeue every 0.1 ms until `until_ms`: the times at which the number of signals grew, in ms.
fn signals(host: &mut DisciplineHost, queue: &mut Fifo<Cobalt>, until_ms: u64) -> Vec<f64> {
    let mut times = Vec::new();
    let end = Instant::ZERO + Span::from_millis(until_ms);
    while host.now < end {
        let before = host.log.dropped.len() + host.log.marked.len();
        assert!(host.take(queue).is_some());
        let after = host.log.dropped.len() + host.log.marked.len();
        times.extend((before..after).map(|_| host.now.seconds() * 1e3));
        host.now += Span::from_micros(100);
    }
    times
}

fn close(times: &[f64], expected: &[f64]) {
    assert_eq!(times.len(), expected.len(), "{times:?} against {expected:?}");
    for (time, expected) in times.iter().zip(expected) {
        assert!((-1e-6..0.1).contains(&(time - expected)), "{times:?} against {expected:?}");
    }
}

/// Above target at 10 ms with count 1: due at 10 + 100 = 110. Then count 2: + 100/sqrt(2) = 180.7107;
/// 3: + 57.7350 = 238.4457; 4: + 50 = 288.4457; 5: + 44.7214 = 333.1671.
const DUE: [f64; 4] = [110.0, 180.7107, 238.4457, 288.4457];

#[test]
fn signals_are_spaced_by_the_count_they_have_raised() {
    let (mut host, mut queue) = backlogged(5000, Ecn::NotEct, |_| ());
    close(&signals(&mut host, &mut queue, 330), &DUE);
    assert_eq!(host.internal(&mut queue, "count"), 5.0);
    assert!(host.log.dropped.iter().all(|(_, reason)| *reason == Reason::Early));
    // ECN marks on the same schedule and drops nothing.
    let (mut host, mut queue) = backlogged(5000, Ecn::Ect0, |params| params.ecn = true);
    close(&signals(&mut host, &mut queue, 330), &DUE);
    assert_eq!((host.log.dropped.len(), host.log.marked.len()), (0, 4));
    // With ecn off the same packets are dropped.
    let (mut host, mut queue) = backlogged(5000, Ecn::Ect0, |_| ());
    signals(&mut host, &mut queue, 330);
    assert_eq!((host.log.dropped.len(), host.log.marked.len()), (4, 0));
}

/// After the four signals above: count 5, next step due at 333.1671 ms, all that waited gone, dropping off.
fn calm() -> (DisciplineHost, Fifo<Cobalt>) {
    let (mut host, mut queue) = backlogged(5000, Ecn::NotEct, |_| ());
    signals(&mut host, &mut queue, 300);
    while queue.drain().is_some() {}
    pass(&mut host, &mut queue, 300.0);
    assert_eq!((host.internal(&mut queue, "count"), host.internal(&mut queue, "dropping")), (5.0, 0.0));
    (host, queue)
}

/// A packet that does not wait passes.
fn pass(host: &mut DisciplineHost, queue: &mut Fifo<Cobalt>, at_ms: f64) {
    host.at_ms(at_ms);
    offer(host, queue, 1, Ecn::NotEct);
    assert!(host.take(queue).is_some());
}

#[test]
fn below_target_the_count_decays_on_its_schedule() {
    let (mut host, mut queue) = calm();
    // At 333.1671 to 4, + 100/sqrt(4) = 383.1671 to 3, + 57.7350 = 440.9021 to 2, + 70.7107 = 511.6128 to 1, + 100 to 0.
    for (ms, count) in
        [(333.1, 5.0), (333.2, 4.0), (383.1, 4.0), (383.2, 3.0), (440.9, 3.0), (441.0, 2.0), (511.6, 2.0)]
    {
        pass(&mut host, &mut queue, ms);
        assert_eq!(host.internal(&mut queue, "count"), count, "at {ms} ms");
    }
    // Two steps at once where packets were long in coming: 511.6128 and 611.6128.
    pass(&mut host, &mut queue, 612.0);
    assert_eq!(host.internal(&mut queue, "count"), 0.0);
    // With nothing to remember, the schedule waits an interval from each packet.
    assert_eq!(host.internal(&mut queue, "drop_next_s"), 0.712);
}

#[test]
fn a_remembered_count_resumes_its_rate() {
    let (mut host, mut queue) = calm();
    pass(&mut host, &mut queue, 340.0);
    assert_eq!(host.internal(&mut queue, "count"), 4.0);
    offer(&mut host, &mut queue, 2000, Ecn::NotEct);
    host.at_ms(350.0);
    // Above target at 350: due 100/sqrt(4) = 50 later, at 400; then count 5: + 44.7214.
    close(&signals(&mut host, &mut queue, 450), &[400.0, 444.7214]);
}

#[test]
fn a_step_still_owed_is_signalled_at_once() {
    let (mut host, mut queue) = calm();
    host.at_ms(320.0);
    offer(&mut host, &mut queue, 100, Ecn::NotEct);
    // Due since 333.1671 and now above target.
    host.at_ms(340.0);
    host.take(&mut queue);
    assert_eq!(host.log.dropped.len(), 4 + 1);
    // count 6; drop_next = 340 + 100/sqrt(5) (the phase begins) + 100/sqrt(6).
    let next = host.internal(&mut queue, "drop_next_s") * 1e3;
    assert!((next - (340.0 + 44.7214 + 40.8248)).abs() < 1e-3, "{next}");
}

#[test]
fn signals_missed_while_nothing_was_asked_for_are_not_owed() {
    let (mut host, mut queue) = backlogged(100, Ecn::Ect0, |params| params.ecn = true);
    host.take(&mut queue);
    // Due at 110 and, with count 2, at 180.7: one mark now, and the schedule goes on from here.
    host.at_ms(500.0);
    assert_eq!(host.take_packet(&mut queue).map(|packet| packet.ecn), Some(Ecn::Ce));
    assert_eq!(host.internal(&mut queue, "drop_next_s"), 0.5);
}

#[test]
fn after_an_idle_interval_the_schedule_starts_at_once() {
    let (mut host, mut queue) = backlogged(0, Ecn::NotEct, |_| ());
    // Nothing passed for longer than drop_next = 100 ms; the next packets wait 10 ms.
    host.at_ms(200.0);
    offer(&mut host, &mut queue, 3, Ecn::NotEct);
    host.at_ms(210.0);
    assert_eq!(host.take(&mut queue), Some(1));
    assert_eq!((host.internal(&mut queue, "count"), host.internal(&mut queue, "drop_next_s")), (1.0, 0.21));
    assert_eq!(host.take(&mut queue), Some(3), "2 is dropped");
}

#[test]
fn exactly_target_is_not_above_it() {
    for (ms, dropping) in [(5.0, 0.0), (5.001, 1.0)] {
        let (mut host, mut queue) = backlogged(100, Ecn::NotEct, |_| ());
        host.at_ms(ms);
        host.take(&mut queue);
        assert_eq!(host.internal(&mut queue, "dropping"), dropping);
    }
}

#[test]
fn overflow_raises_blue_once_per_target_and_starts_dropping() {
    let (mut host, mut queue) = (DisciplineHost::new(), cobalt(|params| params.limit = Limit::packets(2)));
    for (ms, p) in [(5.0, 0.0), (5.1, 1.0), (5.2, 1.0), (10.1, 1.0), (10.2, 2.0)] {
        host.at_ms(ms);
        offer(&mut host, &mut queue, 3, Ecn::NotEct);
        // Strictly more than 5 ms after the last move (or the start).
        assert_eq!(host.internal(&mut queue, "drop_probability"), p / 256.0, "at {ms} ms");
    }
    assert_eq!(host.internal(&mut queue, "count"), 1.0);
    assert_eq!(host.internal(&mut queue, "dropping"), 1.0);
    assert_eq!(host.internal(&mut queue, "drop_next_s"), 0.0102);
    // The head waited 5.3 ms, above target: dropped at once, without an interval's wait.
    host.at_ms(10.3);
    host.random.fixed = Some(0.999);
    let dropped = host.log.dropped.len();
    host.take(&mut queue);
    assert_eq!(host.log.dropped[dropped..], [(0, Reason::Early)]);
}

#[test]
fn an_empty_queue_lowers_blue_once_per_target() {
    let (mut host, mut queue) = (DisciplineHost::new(), cobalt(|params| params.limit = Limit::packets(1)));
    host.at_ms(6.0);
    offer(&mut host, &mut queue, 2, Ecn::NotEct);
    host.random.fixed = Some(0.999);
    assert!(host.take(&mut queue).is_some());
    for (ms, steps) in [(11.0, 0.0), (11.1, 1.0), (16.1, 1.0), (16.2, 2.0)] {
        host.at_ms(ms);
        assert_eq!(host.take(&mut queue), None);
        assert_eq!(host.internal(&mut queue, "drop_probability"), 1.0 / 256.0 - steps / 4096.0, "at {ms} ms");
    }
    // Never below zero: 1/256 is 16 steps.
    for step in 0..30 {
        host.at_ms(20.0 + 6.0 * f64::from(step));
        host.take(&mut queue);
    }
    assert_eq!(host.internal(&mut queue, "drop_probability"), 0.0);
}

#[test]
fn an_empty_queue_ends_the_phase_and_steps_the_count_down() {
    let (mut host, mut queue) = backlogged(5000, Ecn::NotEct, |_| ());
    signals(&mut host, &mut queue, 300);
    while queue.drain().is_some() {}
    assert_eq!(host.internal(&mut queue, "dropping"), 1.0);
    assert_eq!(host.take(&mut queue), None);
    assert_eq!((host.internal(&mut queue, "dropping"), host.internal(&mut queue, "count")), (0.0, 5.0));
    // Past 333.1671, one step a look.
    host.at_ms(1000.0);
    assert_eq!(host.take(&mut queue), None);
    assert_eq!(host.internal(&mut queue, "count"), 4.0);
}

#[test]
fn blue_threshold_raises_blue_before_the_draw() {
    let change = |params: &mut Params| params.blue_threshold = Some(Span::from_millis(400));
    let (mut host, mut queue) = backlogged(100, Ecn::NotEct, change);
    // The draw is below 1/256 = 0.0039: dropped as soon as the probability has risen.
    host.random.fixed = Some(0.003);
    host.at_ms(400.0);
    host.take(&mut queue);
    assert_eq!(host.internal(&mut queue, "drop_probability"), 0.0, "400 ms is not above 400 ms");
    let dropped = host.log.dropped.len();
    host.at_ms(400.1);
    host.random.fixed = Some(0.003);
    // All that wait are above it, the probability moves once, and every draw drops.
    assert_eq!(host.take(&mut queue), None);
    assert_eq!(host.internal(&mut queue, "drop_probability"), 1.0 / 256.0);
    assert_eq!(host.log.dropped.len() - dropped, 99);
}

#[test]
fn blue_drops_what_codel_only_marks() {
    let change = |params: &mut Params| {
        params.ecn = true;
        params.blue_threshold = Some(Span::from_millis(50));
        params.p_inc = Probability::ONE;
    };
    let (mut host, mut queue) = backlogged(10, Ecn::Ect0, change);
    host.at_ms(60.0);
    assert_eq!(host.take(&mut queue), None);
    assert_eq!(host.log.dropped.len(), 10);
}

#[test]
fn blue_drops_with_its_probability() {
    let change = |params: &mut Params| {
        params.limit = Limit::packets(10_000);
        params.p_inc = Probability::clamped(0.25);
        params.target = Span::from_secs(1);
    };
    let (mut host, mut queue) = (DisciplineHost::new(), cobalt(change));
    host.at_ms(1500.0);
    offer(&mut host, &mut queue, 10_001, Ecn::NotEct);
    assert_eq!(host.internal(&mut queue, "drop_probability"), 0.25);
    host.take_all(&mut queue);
    // 2500 of 10000, +- 5 sqrt(10000 x 0.25 x 0.75) = 217.
    let early = host.log.dropped.iter().filter(|(_, reason)| *reason == Reason::Early).count();
    assert!((2283..=2717).contains(&early), "{early}");
}

#[test]
fn mtu_spares_slow_links() {
    // At 1 Mbit/s 1514 B take 12.112 ms, four of them 48.448 ms.
    for (ms, mtu, dropping) in [(48.4, true, 0.0), (48.5, true, 1.0), (48.4, false, 1.0)] {
        let (mut host, mut queue) = backlogged(100, Ecn::NotEct, |params| params.mtu = mtu.then_some(Bytes::new(1514)));
        host.rate = sojourn_units::BitRate::from_bit_s(1_000_000);
        host.at_ms(ms);
        host.take(&mut queue);
        assert_eq!(host.internal(&mut queue, "dropping"), dropping, "{ms} ms");
    }
}

#[test]
fn ce_threshold_marks_whatever_ecn_says() {
    let (mut host, mut queue) = backlogged(3, Ecn::Ect1, |params| params.ce_threshold = Some(Span::from_millis(1)));
    host.at_ms(1.0);
    assert_eq!(host.take_packet(&mut queue).map(|packet| packet.ecn), Some(Ecn::Ect1));
    host.at_ms(1.1);
    assert_eq!(host.take_packet(&mut queue).map(|packet| packet.ecn), Some(Ecn::Ce));
}

#[test]
fn the_table_and_newtons_steps_follow_the_root() {
    let (interval, mut worst) = (Span::from_secs(1), 0.0_f64);
    let mut newton = Spacing::new(ControlLaw::Newton);
    let exact = Spacing::new(ControlLaw::Exact);
    for count in (1..=1000).chain((1..1000).rev()) {
        newton.converge(count);
        let ratio = newton.after(interval, count).seconds() / exact.after(interval, count).seconds();
        worst = worst.max((ratio - 1.0).abs());
    }
    assert!(worst < 0.003, "{worst}");
    // Without the table the spacing after the second would be 0.500.
    newton.converge(2);
    assert!((0.70..0.71).contains(&newton.after(interval, 2).seconds()));
}

#[test]
fn fair_queueing_tells_blue_of_overflow() {
    let fair = fair::Params { limit: sojourn_units::Packets::new(10), ..fair::Params::default() };
    let (mut host, mut queue) = (DisciplineHost::new(), FairQueue::<Cobalt>::new(fair, Params::default()));
    host.at_ms(6.0);
    offer(&mut host, &mut queue, 11, Ecn::NotEct);
    assert_eq!(host.internal(&mut queue, "drop_probability"), 1.0 / 256.0);
}

#[test]
fn presets_and_refusals() {
    assert_eq!(canonical("cobalt preset shu2023"), "cobalt p_inc 0.08 p_dec 0.04 blue_threshold 400ms");
    assert_eq!(canonical("cobalt preset ns3 limit 500"), "cobalt limit 500p blue_threshold 400ms");
    assert_eq!(canonical("cobalt p_inc 1/256 p_dec 1/4096"), "cobalt");
    assert!(refused("cobalt interval 0s").contains("interval is 0"));
    assert!(refused("cobalt preset linux-6.12").contains("allowed: shu2023, ns3"));
}
