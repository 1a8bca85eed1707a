use super::*;
use crate::test_host::DisciplineHost;
use crate::{Discipline, Ecn, Fifo};
use std::vec::Vec;

fn codel(change: impl FnOnce(&mut Params)) -> Fifo<Codel> {
    let mut params = Params::default();
    change(&mut params);
    Fifo::new(params)
}

fn fill(host: &mut DisciplineHost, queue: &mut Fifo<Codel>, n: usize, ecn: Ecn) {
    for _ in 0..n {
        host.offer(queue, 0, 1500, ecn);
    }
}

/// A queue that never empties, all enqueued at 0; asks for a packet every `step_us`, and gives the times of drops in ms.
fn drop_times(queue: &mut Fifo<Codel>, host: &mut DisciplineHost, step_us: u64, until_ms: u64) -> Vec<f64> {
    let mut times = Vec::new();
    let mut now = host.now;
    while now < Instant::ZERO + Span::from_millis(until_ms) {
        host.now = now;
        let before = host.log.dropped.len();
        assert!(host.take(queue).is_some(), "the queue must not run dry");
        times.extend((before..host.log.dropped.len()).map(|_| now.seconds() * 1e3));
        now += Span::from_micros(step_us);
    }
    times
}

fn close(times: &[f64], expected: &[f64], resolution_ms: f64) {
    assert_eq!(times.len(), expected.len(), "{times:?} against {expected:?}");
    for (time, expected) in times.iter().zip(expected) {
        // The drop comes with the first dequeue at or after its due time.
        assert!((0.0..resolution_ms).contains(&(time - expected)), "{times:?} against {expected:?}");
    }
}

#[test]
fn exact_law_spaces_drops_by_interval_over_square_root() {
    let (mut host, mut queue) = (DisciplineHost::new(), codel(|params| params.limit = Limit::packets(20_000)));
    fill(&mut host, &mut queue, 10_000, Ecn::NotEct);
    host.at_ms(10.0);
    // First dequeue at 10 ms: sojourn 10 >= 5, so first_above = 110. Drop 1 at 110; then after
    // 100/sqrt(1) = 100: 210; 100/sqrt(2) = 70.7107: 280.7107; 100/sqrt(3) = 57.7350: 338.4457;
    // 100/sqrt(4) = 50: 388.4457; 100/sqrt(5) = 44.7214: 433.1671.
    let times = drop_times(&mut queue, &mut host, 100, 450);
    close(&times, &[110.0, 210.0, 280.7107, 338.4457, 388.4457, 433.1671], 0.1);
}

#[test]
fn newton_law_spaces_the_drop_after_the_second_by_half_an_interval() {
    let newton = |params: &mut Params| {
        params.control_law = ControlLaw::Newton;
        params.limit = Limit::packets(20_000);
    };
    let (mut host, mut queue) = (DisciplineHost::new(), codel(newton));
    fill(&mut host, &mut queue, 10_000, Ecn::NotEct);
    host.at_ms(10.0);
    // y1 = 1; each step y <- y (3 - n y^2) / 2:
    // n=2: (3 - 2)/2 = 0.5; n=3: 0.5 (3 - 0.75)/2 = 0.5625; n=4: 0.5625 (3 - 1.265625)/2 = 0.487793;
    // n=5: 0.487793 (3 - 5 x 0.237942)/2 = 0.441524.
    // The interval must be over, so the first drop is not at 110 ms but with the next packet, 0.1 ms later. Drops at
    // 110.1, +100 = 210.1, +50 = 260.1, +56.25 = 316.35, +48.7793 = 365.1293, +44.1524 = 409.2817.
    let times = drop_times(&mut queue, &mut host, 100, 440);
    // 16 bits hold y to 2^-16, so a spacing to 100 ms x 2^-15 = 0.003 ms early.
    let times: Vec<f64> = times.iter().map(|time| time + 0.02).collect();
    close(&times, &[110.1, 210.1, 260.1, 316.35, 365.1293, 409.2817], 0.12 + 0.02);
}

#[test]
fn newton_reads_time_in_units_of_1024_ns() {
    let (mut host, mut queue) = (DisciplineHost::new(), codel(|params| params.control_law = ControlLaw::Newton));
    fill(&mut host, &mut queue, 100, Ecn::NotEct);
    // 5 ms are 4882.8 units, so the target is 4882: 4,999,168 ns. One nanosecond before, nothing starts.
    host.at_ms(4.999_167);
    host.take(&mut queue);
    assert!(host.internal(&mut queue, "first_above_s").is_nan());
    host.at_ms(4.999_168);
    host.take(&mut queue);
    // 100 ms are 97,656 units: over after unit 4882 + 97,656 = 102,538, from 102,539 x 1024 ns = 104,999,936 ns on.
    assert_eq!(host.internal(&mut queue, "first_above_s"), 102_538.0 * 1024e-9);
    host.at_ms(104.999_935);
    host.take(&mut queue);
    assert!(host.log.dropped.is_empty());
    host.at_ms(104.999_936);
    host.take(&mut queue);
    assert_eq!(host.log.dropped.len(), 1);
    // (97,656 x 65,535) >> 16 = 97,654 units to the next.
    assert_eq!(host.internal(&mut queue, "drop_next_s"), (102_539.0 + 97_654.0) * 1024e-9);
}

#[test]
fn newton_steps_are_the_equation_in_sixteen_bits() {
    let mut spacing = Spacing::new(ControlLaw::Newton);
    let (interval, mut y) = (Span::from_nanos(1 << 32), 65535.0 / 65536.0);
    for count in 2..2000_u32 {
        spacing.step(count);
        y = y * (3.0 - f64::from(count) * y * y) / 2.0;
        let held = spacing.after(interval, count).nanos() as f64 / f64::from(1 << 16) / 65536.0;
        assert!((held - y).abs() < 2.0 / 65536.0, "count {count}: {held} against {y}");
        y = held;
    }
    // After many steps the approximation has found the root: 1/sqrt(1999) = 0.022366.
    assert!((y - 0.022366).abs() < 2.0 / 65536.0, "{y}");
}

#[test]
fn nothing_is_dropped_before_an_interval_above_target() {
    let (mut host, mut queue) = (DisciplineHost::new(), codel(|_| ()));
    fill(&mut host, &mut queue, 1000, Ecn::NotEct);
    host.at_ms(4.999);
    host.take(&mut queue);
    assert!(host.internal(&mut queue, "first_above_s").is_nan(), "4.999 ms is below target");
    host.at_ms(5.0);
    host.take(&mut queue);
    // "sojourn < target" resets: 5 ms itself is above. first_above = 5 + 100 ms.
    assert_eq!(host.internal(&mut queue, "first_above_s"), 0.105);
    host.at_ms(104.999);
    host.take(&mut queue);
    assert!(host.log.dropped.is_empty());
    host.at_ms(105.0);
    host.take(&mut queue);
    assert_eq!(host.log.dropped, [(3, Reason::Early)], "the head goes, and the next is delivered");
    assert_eq!(host.take(&mut queue), Some(5));
}

#[test]
fn one_sojourn_below_target_starts_the_interval_again() {
    let (mut host, mut queue) = (DisciplineHost::new(), codel(|_| ()));
    fill(&mut host, &mut queue, 2, Ecn::NotEct);
    host.at_ms(50.0);
    fill(&mut host, &mut queue, 10, Ecn::NotEct);
    host.take(&mut queue);
    assert_eq!(host.internal(&mut queue, "first_above_s"), 0.150);
    host.take(&mut queue);
    host.at_ms(52.0);
    host.take(&mut queue);
    assert!(host.internal(&mut queue, "first_above_s").is_nan(), "this one waited 2 ms");
}

#[test]
fn nothing_is_dropped_while_at_most_an_mtu_waits_behind_the_head() {
    for (behind, drops) in [(1514, 0), (1515, 1)] {
        let (mut host, mut queue) = (DisciplineHost::new(), codel(|_| ()));
        let feed = |host: &mut DisciplineHost, queue: &mut Fifo<Codel>| {
            host.offer(queue, 0, behind, Ecn::NotEct);
        };
        feed(&mut host, &mut queue);
        for ms in [200.0, 400.0] {
            feed(&mut host, &mut queue);
            host.at_ms(ms);
            assert!(host.take(&mut queue).is_some());
        }
        // Every sojourn was far above target, with exactly `behind` bytes left after the head; above once at 200 ms
        // and due 100 ms later, at 400.
        assert_eq!(host.log.dropped.len(), drops, "{behind} B behind");
    }
}

/// Drops until `ms`, then two packets that never waited end the dropping phase.
fn end_phase(host: &mut DisciplineHost, queue: &mut Fifo<Codel>) {
    while host.take(queue).is_some() {}
    assert_eq!(host.internal(queue, "dropping"), 0.0);
}

#[test]
fn a_phase_soon_after_the_last_resumes_its_rate() {
    // 16 intervals = 1.6 s after drop_next the memory is lost.
    for (pause_ms, resumed) in [(1000.0, true), (1_599.0, true), (1_601.0, false)] {
        let (mut host, mut queue) = (DisciplineHost::new(), codel(|params| params.limit = Limit::packets(20_000)));
        fill(&mut host, &mut queue, 10_000, Ecn::NotEct);
        host.at_ms(10.0);
        assert_eq!(drop_times(&mut queue, &mut host, 100, 450).len(), 6);
        assert_eq!(host.internal(&mut queue, "count"), 6.0);
        let drop_next = host.internal(&mut queue, "drop_next_s") * 1e3;
        // All that wait leave now, so the phase ends before drop_next = 433.1671 + 100/sqrt(6) = 473.9919 ms.
        assert!((drop_next - 473.9919).abs() < 1e-3);
        end_phase(&mut host, &mut queue);
        // A phase begins with the first drop, an interval after the first sojourn above target.
        host.at_ms(drop_next + pause_ms - 110.0);
        fill(&mut host, &mut queue, 100, Ecn::NotEct);
        host.at_ms(drop_next + pause_ms - 100.0);
        host.take(&mut queue);
        host.at_ms(drop_next + pause_ms);
        let dropped = host.log.dropped.len();
        host.take(&mut queue);
        assert_eq!(host.log.dropped.len(), dropped + 1);
        // count - lastcount = 6 - 1 = 5 > 1.
        assert_eq!(host.internal(&mut queue, "count"), if resumed { 5.0 } else { 1.0 });
        // 100/sqrt(5) = 44.7214, or 100.
        let next = host.internal(&mut queue, "drop_next_s") * 1e3 - (drop_next + pause_ms);
        assert!((next - if resumed { 44.7214 } else { 100.0 }).abs() < 1e-3, "{next}");
    }
}

#[test]
fn a_phase_of_one_drop_leaves_no_memory() {
    let (mut host, mut queue) = (DisciplineHost::new(), codel(|_| ()));
    for begin in [0.0, 300.0] {
        host.at_ms(begin);
        fill(&mut host, &mut queue, 10, Ecn::NotEct);
        host.at_ms(begin + 10.0);
        host.take(&mut queue);
        host.at_ms(begin + 110.0);
        host.take(&mut queue);
        // delta = 1 - 0 at first and 1 - 1 then: not above 1.
        assert_eq!(host.internal(&mut queue, "count"), 1.0);
        end_phase(&mut host, &mut queue);
    }
    assert_eq!(host.log.dropped.len(), 2);
}

#[test]
fn a_phase_of_two_drops_leaves_no_memory_under_either_law() {
    for law in [ControlLaw::Exact, ControlLaw::Newton] {
        let (mut host, mut queue) = (DisciplineHost::new(), codel(|params| params.control_law = law));
        fill(&mut host, &mut queue, 10, Ecn::NotEct);
        for ms in [10.0, 110.01, 210.01] {
            host.at_ms(ms);
            host.take(&mut queue);
        }
        assert_eq!(host.internal(&mut queue, "count"), 2.0);
        end_phase(&mut host, &mut queue);
        host.at_ms(300.0);
        fill(&mut host, &mut queue, 10, Ecn::NotEct);
        for ms in [310.0, 410.01] {
            host.at_ms(ms);
            host.take(&mut queue);
        }
        // delta = 2 - 1 is not above 1: count 1, and a whole interval to the next (Newton's 1 is 65535/65536, and now,
        // interval and spacing are rounded down to 1.024 us each).
        let next = host.internal(&mut queue, "drop_next_s") * 1e3 - 410.01;
        assert!((next - 100.0).abs() < 0.002 + 3.0 * 0.001_024, "{law:?}: {next}");
    }
}

#[test]
fn several_drops_may_fall_due_at_one_dequeue() {
    let (mut host, mut queue) = (DisciplineHost::new(), codel(|_| ()));
    fill(&mut host, &mut queue, 100, Ecn::NotEct);
    host.at_ms(10.0);
    host.take(&mut queue);
    host.at_ms(110.0);
    host.take(&mut queue);
    // Due at 210, 280.7, 338.4, 388.4 (see the exact law): four by 400 ms.
    host.at_ms(400.0);
    host.take(&mut queue);
    assert_eq!(host.log.dropped.len(), 1 + 4);
}

#[test]
fn ecn_marks_and_delivers_what_would_be_dropped() {
    let (mut host, mut queue) = (DisciplineHost::new(), codel(|params| params.ecn = true));
    fill(&mut host, &mut queue, 400, Ecn::Ect0);
    host.at_ms(10.0);
    host.take(&mut queue);
    host.at_ms(110.0);
    let packet = host.take_packet(&mut queue).expect("waits");
    assert_eq!((packet.serial, packet.ecn), (1, Ecn::Ce));
    // A mark ends this dequeue even when more are due: 210 and 280.7 are, one mark a dequeue.
    host.at_ms(300.0);
    assert_eq!(host.take_packet(&mut queue).map(|packet| packet.ecn), Some(Ecn::Ce));
    assert_eq!(host.take_packet(&mut queue).map(|packet| packet.ecn), Some(Ecn::Ce));
    assert_eq!(host.take_packet(&mut queue).map(|packet| packet.ecn), Some(Ecn::Ect0));
    assert_eq!((host.log.marked.as_slice(), host.log.dropped.len()), (&[1, 2, 3][..], 0));
    // What is not ECN-capable is dropped all the same.
    let (mut host, mut queue) = (DisciplineHost::new(), codel(|params| params.ecn = true));
    fill(&mut host, &mut queue, 400, Ecn::NotEct);
    host.at_ms(10.0);
    host.take(&mut queue);
    host.at_ms(110.0);
    host.take(&mut queue);
    assert_eq!(host.log.dropped, [(1, Reason::Early)]);
}

#[test]
fn ce_threshold_marks_every_capable_packet_above_it_whatever_ecn_says() {
    let (mut host, mut queue) =
        (DisciplineHost::new(), codel(|params| params.ce_threshold = Some(Span::from_millis(1))));
    fill(&mut host, &mut queue, 10, Ecn::Ect1);
    host.offer(&mut queue, 0, 1500, Ecn::NotEct);
    host.at_ms(1.0);
    assert_eq!(host.take_packet(&mut queue).map(|packet| packet.ecn), Some(Ecn::Ect1), "1 ms is not above 1 ms");
    host.at_ms(1.001);
    for _ in 1..10 {
        assert_eq!(host.take_packet(&mut queue).map(|packet| packet.ecn), Some(Ecn::Ce));
    }
    assert_eq!(host.take_packet(&mut queue).map(|packet| packet.ecn), Some(Ecn::NotEct));
    assert!(host.log.dropped.is_empty());
}

#[test]
fn limit_drops_arrivals_and_may_count_them() {
    for (count_overflow, count) in [(false, 0.0), (true, 3.0)] {
        let (mut host, mut queue) = (
            DisciplineHost::new(),
            codel(|params| {
                params.limit = Limit::packets(2);
                params.count_overflow = count_overflow;
            }),
        );
        fill(&mut host, &mut queue, 5, Ecn::NotEct);
        assert_eq!(host.log.dropped, [2, 3, 4].map(|serial| (serial, Reason::Overflow)));
        assert_eq!(host.internal(&mut queue, "count"), count);
    }
}

#[test]
fn the_last_packet_ends_the_phase() {
    let (mut host, mut queue) = (DisciplineHost::new(), codel(|params| params.mtu = Bytes::ZERO));
    fill(&mut host, &mut queue, 3, Ecn::NotEct);
    host.at_ms(10.0);
    host.take(&mut queue);
    host.at_ms(110.0);
    // Drops 1; then 2 is the last: nothing waits behind it (0 <= mtu), so the RFC gives it out.
    assert_eq!(host.take(&mut queue), Some(2));
    assert_eq!(host.log.dropped, [(1, Reason::Early)]);
    assert_eq!(host.take(&mut queue), None);
    assert_eq!(host.internal(&mut queue, "dropping"), 0.0);
    assert_eq!(queue.backlog().packets, 0);
}

#[test]
fn a_request_that_finds_nothing_resets_the_time_above_target_since_the_kernels_fix_of_2026() {
    let linux = Codel::preset("linux-6.1").expect("a preset");
    // By the RFC, as Linux was before, and as each kernel of the presets is.
    for (params, dropped) in [
        (Params::default(), 0),
        (Params { stale_first_above: true, ..Params::default() }, 1),
        (Params { stale_first_above: true, ..linux.clone() }, 1),
        (linux, 0),
    ] {
        let (mut host, mut queue) = (DisciplineHost::new(), Fifo::<Codel>::new(params.clone()));
        fill(&mut host, &mut queue, 3, Ecn::NotEct);
        host.at_ms(10.0);
        // Sojourn 10 ms with 3000 B left behind: from now on above target.
        assert!(host.take(&mut queue).is_some());
        // The last two go at once and a request finds nothing; by the RFC the sojourn time was below target with it.
        // (The last packet has nothing behind it, which resets it too: so the queue is drained past the algorithm.)
        while queue.drain().is_some() {}
        assert!(host.take(&mut queue).is_none());
        host.at_ms(105.0);
        fill(&mut host, &mut queue, 3, Ecn::NotEct);
        // 111 ms is 101 ms after the rise, and the sojourn time is 6 ms.
        host.at_ms(111.0);
        assert!(host.take(&mut queue).is_some());
        assert_eq!(host.log.dropped.len(), dropped, "{params:?}");
    }
}
