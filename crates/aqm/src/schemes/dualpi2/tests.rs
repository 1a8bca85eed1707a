use super::*;
use crate::test_host::{canonical, close, refused, DisciplineHost};
use crate::Parameters;
use sojourn_units::Bytes;
use std::string::ToString;
use std::vec::Vec;

const CLASSIC: Ecn = Ecn::NotEct;
const L4S: Ecn = Ecn::Ect1;

fn queue(change: impl FnOnce(&mut Params)) -> DualPi2 {
    build(Params::default(), change)
}

fn linux(change: impl FnOnce(&mut Params)) -> DualPi2 {
    build(Params::linux(), change)
}

fn build(mut params: Params, change: impl FnOnce(&mut Params)) -> DualPi2 {
    change(&mut params);
    DualPi2::check(&params).unwrap();
    DualPi2::new(&params)
}

/// `n` arrivals of 1500 B.
fn offer(host: &mut DisciplineHost, queue: &mut DualPi2, ecn: Ecn, n: usize) -> Vec<u64> {
    (0..n).map(|_| host.offer(queue, 1, 1500, ecn)).collect()
}

/// Puts p' where it would take long to bring it; it stays until the next update.
fn set(queue: &mut DualPi2, base: f64) {
    queue.base = base;
    queue.classic_probability = base * base;
    queue.coupled = queue.params.coupling_factor * base;
}

fn dropped(host: &DisciplineHost) -> Vec<u64> {
    host.log
        .dropped
        .iter()
        .map(|(serial, reason)| {
            assert_eq!(*reason, Reason::Early);
            *serial
        })
        .collect()
}

#[test]
fn the_last_bit_of_the_ecn_field_chooses_the_queue() {
    for (text_any, expected) in [(false, [Ecn::Ect1, Ecn::Ce].as_slice()), (true, &[Ecn::Ect0, Ecn::Ect1, Ecn::Ce])] {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let (mut host, mut queue) = (DisciplineHost::new(), queue(|p| p.any_ect = text_any));
            offer(&mut host, &mut queue, ecn, 1);
            let l4s = f64::from(u8::from(expected.contains(&ecn)));
            assert_eq!(host.internal(&mut queue, "l4s_packets"), l4s, "{ecn:?}");
            assert_eq!(host.internal(&mut queue, "classic_bytes"), 1500.0 * (1.0 - l4s), "{ecn:?}");
        }
    }
}

#[test]
fn both_queues_share_one_limit() {
    let held = |queue: &mut DualPi2| {
        let mut host = DisciplineHost::new();
        for _ in 0..400 {
            offer(&mut host, queue, CLASSIC, 1);
            offer(&mut host, queue, L4S, 1);
        }
        assert!(host.log.dropped.iter().all(|(_, reason)| *reason == Reason::Overflow));
        queue.backlog().packets
    };
    assert_eq!(held(&mut queue(|p| p.limit = BufferLimit::Packets(Packets::new(7)))), 7);
    // n 1500 + 1514 <= 10,000 for n up to 5: a sixth fits.
    assert_eq!(held(&mut queue(|p| p.limit = BufferLimit::Bytes(Bytes::new(10_000)))), 6);
    // 250 ms at 10 Mbit/s are 312,500 B: n 1500 + 1514 <= 312,500 for n up to 207.
    assert_eq!(held(&mut queue(|_| ())), 208);
    // (n + 1) (640 + 1664) <= 13,824 for n up to 5.
    assert_eq!(held(&mut queue(|p| p.memlimit = Some(Bytes::new(13_824)))), 6);
    assert_eq!(held(&mut queue(|p| p.memlimit = Some(Bytes::new(13_823)))), 5);
}

#[test]
fn a_limit_in_time_holds_at_the_highest_rate_and_lets_one_packet_in() {
    let (mut host, mut queue) = (DisciplineHost::new(), queue(|p| p.limit = BufferLimit::Time(Span::from_millis(10))));
    host.rate = BitRate::ZERO;
    offer(&mut host, &mut queue, CLASSIC, 3);
    assert_eq!(queue.backlog().packets, 1, "nothing is known of the rate");
    // 10 ms at 10 Mbit/s are 12,500 B: n 1500 + 1514 <= 12,500 for n up to 7.
    host.rate = BitRate::from_bit_s(10_000_000);
    offer(&mut host, &mut queue, CLASSIC, 1);
    host.rate = BitRate::from_bit_s(64_000);
    offer(&mut host, &mut queue, CLASSIC, 20);
    assert_eq!(queue.backlog().packets, 8);
}

#[test]
fn p_follows_the_older_head_and_is_squared_for_classic_and_coupled_for_l4s() {
    for first in [CLASSIC, L4S] {
        let (mut host, mut queue) = (DisciplineHost::new(), queue(|_| ()));
        offer(&mut host, &mut queue, first, 2);
        host.at_ms(10.0);
        offer(&mut host, &mut queue, if first == L4S { CLASSIC } else { L4S }, 2);
        host.at_ms(14.999);
        assert_eq!(host.internal(&mut queue, "base_probability"), 0.0);
        // 15 ms: 0.15 (0.015 - 0.015) + 3 * 0.015 = 0.045.
        host.at_ms(15.0);
        close(host.internal(&mut queue, "base_probability"), 0.045);
        close(host.internal(&mut queue, "classic_probability"), 0.045 * 0.045);
        close(host.internal(&mut queue, "coupled_probability"), 0.09);
        close(host.internal(&mut queue, "delay_s"), 0.015);
        // 30 ms: + 0.15 * 0.015 + 3 * 0.015 = 0.09225.
        host.at_ms(44.0);
        close(host.internal(&mut queue, "base_probability"), 0.09225);
    }
}

#[test]
fn classic_packets_are_dropped_or_marked_evenly_with_the_square() {
    for (ecn, marks) in [(Ecn::NotEct, false), (Ecn::Ect0, true)] {
        let (mut host, mut queue) = (DisciplineHost::new(), queue(|_| ()));
        let serials = offer(&mut host, &mut queue, ecn, 22);
        set(&mut queue, 0.4);
        host.take_all(&mut queue);
        // p_C = 0.16: 7 * 0.16 = 1.12 at the 7th, 0.12 + 6 * 0.16 = 1.08 at the 13th, 0.08 + 6 * 0.16 = 1.04 at the 19th.
        // The last three leave 3000 B or less behind, under 2 MTU, and do not count.
        let expected = [serials[6], serials[12], serials[18]];
        assert_eq!(if marks { host.log.marked.clone() } else { dropped(&host) }, expected, "{ecn:?}");
        assert_eq!(host.log.marked.len() + host.log.dropped.len(), 3);
        // 19 packets counted 0.16 each, and three wholes were taken.
        close(queue.due[Class::Classic as usize], 19.0 * 0.16 - 3.0);
    }
}

#[test]
fn l4s_packets_are_marked_with_the_coupled_probability() {
    let (mut host, mut queue) = (DisciplineHost::new(), queue(|_| ()));
    let serials = offer(&mut host, &mut queue, L4S, 8);
    set(&mut queue, 0.25);
    host.take_all(&mut queue);
    // p_CL = 0.5: the sum exceeds 1 at the third, and at every second from there; the last three leave too little.
    assert_eq!(host.log.marked, [serials[2], serials[4]]);
    assert_eq!(host.log.dropped, []);
    // CE on arrival stays CE and is not marked again.
    let (mut host, mut queue) = (DisciplineHost::new(), super::tests::queue(|_| ()));
    offer(&mut host, &mut queue, Ecn::Ce, 8);
    set(&mut queue, 0.25);
    assert_eq!(host.take_all(&mut queue).len(), 8);
    assert_eq!(host.log.marked, []);
}

#[test]
fn nothing_happens_below_two_mtu_unless_mtu_is_0() {
    // Two packets of 1514 B: the first leaves 1514 B behind.
    for (mtu, expected) in [(1514, 0), (0, 2), (757, 1)] {
        let (mut host, mut queue) = (DisciplineHost::new(), queue(|p| p.mtu = Bytes::new(mtu)));
        for _ in 0..2 {
            host.offer(&mut queue, 1, 1514, Ecn::Ect0);
        }
        set(&mut queue, 0.499_999);
        queue.due = [0.9; 2];
        host.take(&mut queue);
        queue.due = [0.9; 2];
        host.take(&mut queue);
        assert_eq!(host.log.marked.len(), expected, "mtu {mtu}");
    }
}

#[test]
fn the_ramp_goes_from_0_at_min_th_to_1_at_min_th_plus_range() {
    let mut queue = queue(|_| ());
    let mut host = DisciplineHost::new();
    offer(&mut host, &mut queue, L4S, 2);
    for (us, expected) in [(0, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1100, 0.75), (1200, 1.0), (9000, 1.0)] {
        close(queue.native(Span::from_micros(us), true), expected);
    }
    // One left behind is not more than th_len.
    host.take(&mut queue);
    close(queue.native(Span::from_micros(9000), true), 0.0);
    queue.params.th_len = Packets::ZERO;
    close(queue.native(Span::from_micros(9000), true), 1.0);
    queue.params.range = Span::ZERO;
    close(queue.native(Span::from_micros(799), true), 0.0);
    close(queue.native(Span::from_micros(800), true), 1.0);
}

#[test]
fn the_larger_of_native_and_coupled_probability_marks() {
    for (base, ms, expected) in [(0.1, 1.0, 0.5), (0.4, 1.0, 0.8), (0.0, 0.9, 0.25), (0.2, 0.0, 0.4)] {
        let (mut host, mut queue) = (DisciplineHost::new(), queue(|_| ()));
        offer(&mut host, &mut queue, L4S, 9);
        set(&mut queue, base);
        host.at_ms(ms);
        host.take(&mut queue);
        close(queue.due[Class::L4s as usize], expected);
    }
}

#[test]
fn the_step_marks_beyond_its_threshold_whatever_p_is() {
    let (mut host, mut queue) = (DisciplineHost::new(), linux(|_| ()));
    let serials = offer(&mut host, &mut queue, L4S, 3);
    host.at_ms(1.0);
    host.take(&mut queue);
    assert_eq!(host.log.marked, [], "not beyond 1 ms");
    host.at_ms(1.000_001);
    host.take_all(&mut queue);
    assert_eq!(host.log.marked, serials[1..]);
    // In packets: those that leave more than 2 behind.
    let (mut host, mut queue) =
        (DisciplineHost::new(), linux(|p| p.step_thresh = StepThreshold::Packets(Packets::new(2))));
    let serials = offer(&mut host, &mut queue, L4S, 5);
    host.take_all(&mut queue);
    assert_eq!(host.log.marked, serials[..2]);
}

#[test]
fn the_step_spares_packets_that_found_a_short_queue() {
    let (mut host, mut queue) = (DisciplineHost::new(), linux(|p| p.min_qlen_step = Packets::new(3)));
    let serials = offer(&mut host, &mut queue, L4S, 5);
    host.at_ms(9.0);
    host.take(&mut queue);
    // Found 4: counts. The first three had found 0, 1 and 2.
    let late = offer(&mut host, &mut queue, L4S, 1);
    host.at_ms(14.0);
    host.take_all(&mut queue);
    assert_eq!(host.log.marked, [serials[3], serials[4], late[0]]);
    assert_eq!(queue.steps.len(), 0);
}

#[test]
fn overload_drops_in_both_queues_whatever_the_ecn_field() {
    let (mut host, mut classic) = (DisciplineHost::new(), queue(|_| ()));
    let serials = offer(&mut host, &mut classic, Ecn::Ect0, 9);
    set(&mut classic, 0.6);
    host.take_all(&mut classic);
    // p_C = 0.36 >= 1/4: 0.36, 0.72, 1.08 drops the 3rd; 0.44, 0.8, 1.16 the 6th; the last three leave too little.
    assert_eq!(dropped(&host), [serials[2], serials[5]]);
    assert_eq!(host.log.marked, []);

    let (mut host, mut l4s) = (DisciplineHost::new(), queue(|_| ()));
    let serials = offer(&mut host, &mut l4s, L4S, 7);
    set(&mut l4s, 0.6);
    host.take_all(&mut l4s);
    // One accumulator: 1st 0.36, then + 1 marks and leaves 0.36; 2nd 0.72, marked; 3rd 1.08, dropped, 0.08;
    // 4th 0.44, marked; the last three leave too little behind.
    assert_eq!(dropped(&host), [serials[2]]);
    assert_eq!(host.log.marked, [serials[0], serials[1], serials[3]]);
}

#[test]
fn without_drop_on_overload_ecn_capable_packets_are_only_marked() {
    let (mut host, mut queue) = (DisciplineHost::new(), queue(|p| p.drop_on_overload = false));
    offer(&mut host, &mut queue, L4S, 50);
    offer(&mut host, &mut queue, Ecn::Ect0, 50);
    offer(&mut host, &mut queue, Ecn::NotEct, 10);
    host.at_ms(2000.0);
    // p' is held at 1/k, so that p_CL is 1 and p_C a quarter.
    assert_eq!(host.internal(&mut queue, "base_probability"), 0.5);
    host.take_all(&mut queue);
    assert!(dropped(&host).iter().all(|serial| *serial >= 100));
    assert!(!host.log.dropped.is_empty() && host.log.marked.len() > 50);
    // With it, p' goes on to 1: p_C = 1 drops all that leave 2 MTU behind.
    let (mut host, mut queue) = (DisciplineHost::new(), super::tests::queue(|_| ()));
    offer(&mut host, &mut queue, Ecn::Ect0, 50);
    host.at_ms(2000.0);
    assert_eq!(host.internal(&mut queue, "base_probability"), 1.0);
    queue.due = [0.5; 2];
    assert_eq!(host.take_all(&mut queue).len(), 3);
}

#[test]
fn drop_enqueue_decides_on_arrivals_and_leaves_only_the_native_marking_for_departures() {
    let (mut host, mut queue) = (DisciplineHost::new(), queue(|p| p.drop_enqueue = true));
    set(&mut queue, 0.4);
    let serials = offer(&mut host, &mut queue, CLASSIC, 9);
    // The first three arrivals find less than 3028 B; the 7th that counts is the 10th.
    assert_eq!(dropped(&host), []);
    let tenth = offer(&mut host, &mut queue, CLASSIC, 1);
    assert_eq!(dropped(&host), tenth);
    assert_eq!(host.take_all(&mut queue), serials);
    assert_eq!(host.log.dropped.len(), 1);

    let (mut host, mut queue) = (DisciplineHost::new(), super::tests::queue(|p| p.drop_enqueue = true));
    set(&mut queue, 0.25);
    // p_CL = 0.5 from the 4th on: 0.5, 1.0, 1.5 marks the 6th, then the 8th.
    let serials = offer(&mut host, &mut queue, L4S, 8);
    assert_eq!(host.log.marked, [serials[5], serials[7]]);
    host.take(&mut queue);
    assert_eq!(host.log.marked.len(), 2, "p' does not count again");
    host.at_ms(2.0);
    queue.due = [0.5; 2];
    host.take(&mut queue);
    assert_eq!(host.log.marked[2..], [serials[1]], "beyond the ramp");
}

/// Serial numbers of classic packets in the order of service, all queues backlogged.
fn classic_turns(queue: &mut DualPi2, n: usize) -> Vec<usize> {
    let mut host = DisciplineHost::new();
    offer(&mut host, queue, L4S, n);
    let classic = offer(&mut host, queue, CLASSIC, n);
    (0..n).filter(|_| host.take(queue).is_some_and(|serial| serial >= classic[0])).collect()
}

#[test]
fn round_robin_gives_classic_its_weight() {
    // Credit in packets: from (1514/1500)(1/16 - 15/16) = -0.883 up by 1/16 a packet; above 0 after 15 L4S packets (0.054);
    // a classic packet takes 15/16: -0.883, and so on: every 16th.
    let turns = classic_turns(&mut queue(|_| ()), 100);
    assert_eq!(turns, [15, 31, 47, 63, 79, 95]);
    // Linux, 10 %: -0.807 + 0.1 n > 0 for n = 9; then -0.9 + 0.0926: every tenth.
    let turns = classic_turns(&mut linux(|p| p.limit = BufferLimit::Packets(Packets::new(1000))), 50);
    assert_eq!(turns, [9, 19, 29, 39, 49]);
    // No protection at all is strict priority, full protection the other way round.
    assert_eq!(classic_turns(&mut queue(|p| p.classic_protection = Share::new(0.0)), 50), []);
    assert_eq!(classic_turns(&mut queue(|p| p.classic_protection = Share::new(1.0)), 50).len(), 50);
}

#[test]
fn the_credit_moves_only_while_both_wait_and_starts_again_when_both_are_empty() {
    let (mut host, mut queue) = (DisciplineHost::new(), queue(|_| ()));
    offer(&mut host, &mut queue, L4S, 20);
    offer(&mut host, &mut queue, CLASSIC, 1);
    let start = host.internal(&mut queue, "credit_bytes");
    close(start, -1514.0 * 14.0 / 16.0);
    host.take(&mut queue);
    close(host.internal(&mut queue, "credit_bytes"), start + 1500.0 / 16.0);
    for _ in 0..15 {
        host.take(&mut queue);
    }
    let after = start + 15.0 * 1500.0 / 16.0 - 1500.0 * 15.0 / 16.0;
    close(host.internal(&mut queue, "credit_bytes"), after);
    host.take(&mut queue);
    close(host.internal(&mut queue, "credit_bytes"), after);
    host.take_all(&mut queue);
    close(host.internal(&mut queue, "credit_bytes"), start);
}

#[test]
fn a_dropped_packet_does_not_move_the_credit() {
    let (mut host, mut queue) = (DisciplineHost::new(), queue(|p| p.classic_protection = Share::new(1.0)));
    offer(&mut host, &mut queue, CLASSIC, 5);
    offer(&mut host, &mut queue, L4S, 5);
    queue.params.classic_protection = Share::new(0.0);
    queue.weights = [500_000, 500_000];
    set(&mut queue, 0.4);
    queue.due = [0.95; 2];
    let before = queue.credit;
    // The head is dropped (0.95 + 0.16 > 1) and the next sent.
    host.take(&mut queue);
    assert_eq!(host.log.dropped.len(), 1);
    assert_eq!(before - queue.credit, 1500 * 500_000);
}

#[test]
fn a_time_shifted_fifo_sends_the_packet_that_has_waited_longest_less_the_shift() {
    let (mut host, mut queue) = (DisciplineHost::new(), queue(|p| p.scheduler = Scheduler::TsFifo));
    let classic = offer(&mut host, &mut queue, CLASSIC, 3);
    host.at_ms(50.0);
    let l4s = offer(&mut host, &mut queue, L4S, 1);
    assert_eq!(host.take(&mut queue), Some(l4s[0]), "0 + 50 >= 50");
    host.at_ms(50.000_001);
    let l4s = offer(&mut host, &mut queue, L4S, 1);
    assert_eq!(host.take(&mut queue), Some(classic[0]), "0 + 50 < 50.000001");
    // Service goes by age alone: 0.7 ms later nothing has changed.
    host.at_ms(50.7);
    assert_eq!(host.take_all(&mut queue), [classic[1], classic[2], l4s[0]]);
}

#[test]
fn random_marking_draws_twice_for_classic_and_once_for_l4s() {
    let (mut host, mut queue) = (DisciplineHost::new(), linux(|_| ()));
    offer(&mut host, &mut queue, Ecn::Ect0, 8);
    set(&mut queue, 0.3);
    host.random.fixed = Some(0.31);
    host.take(&mut queue);
    assert_eq!((host.random.draws, host.log.marked.len()), (1, 0), "the first draw has decided");
    host.random.fixed = Some(0.29);
    host.take(&mut queue);
    assert_eq!((host.random.draws, host.log.marked.len()), (3, 1));

    let (mut host, mut queue) = (DisciplineHost::new(), linux(|_| ()));
    offer(&mut host, &mut queue, L4S, 8);
    set(&mut queue, 0.3);
    host.random.fixed = Some(0.59);
    host.take(&mut queue);
    host.random.fixed = Some(0.61);
    host.take(&mut queue);
    assert_eq!((host.random.draws, host.log.marked.len()), (2, 1), "below 0.6 marks");
    // Overload: marked without a draw where the first of two has spared it from the classic drop.
    host.random.fixed = Some(0.71);
    set(&mut queue, 0.7);
    host.take(&mut queue);
    assert_eq!((host.random.draws, host.log.dropped.len(), host.log.marked.len()), (3, 0, 2));
    // Two draws below 0.7 drop, until what is left is under 2 MTU: of the five left two are dropped.
    host.random.fixed = Some(0.69);
    host.take(&mut queue);
    assert_eq!((host.random.draws, host.log.dropped.len(), host.log.marked.len()), (7, 2, 2));
}

#[test]
fn a_given_rtt_replaces_the_controllers_parameters() {
    let derived = |change: fn(&mut Params)| {
        let mut params = Params::default();
        change(&mut params);
        params.derived()
    };
    // 15 ms and 100 ms give the defaults.
    let internet = derived(|p| {
        p.typical_rtt = Some(Span::from_millis(15));
        p.max_rtt = Some(Span::from_millis(100));
        (p.target, p.tupdate, p.alpha, p.beta) = (Span::ZERO, Span::ZERO, 9.0, 9.0);
    });
    assert_eq!((internet.target, internet.tupdate), (Span::from_millis(15), Span::from_millis(15)));
    close(internet.alpha, 0.15);
    close(internet.beta, 3.0);
    // max_rtt 6 ms: target 1 ms, Tupdate min(1, 2) ms; 0.1 * 0.001 / 0.006^2 = 2.777..., 0.3 / 0.006 = 50.
    let short = derived(|p| p.max_rtt = Some(Span::from_millis(6)));
    assert_eq!((short.target, short.tupdate), (Span::from_millis(1), Span::from_millis(1)));
    close(short.alpha, 1e-4 / 36e-6);
    close(short.beta, 50.0);
    assert_eq!(derived(|p| p.typical_rtt = Some(Span::from_millis(1))), {
        Params { typical_rtt: short.max_rtt.map(|_| Span::from_millis(1)), max_rtt: None, ..short.clone() }
    });
    // Tupdate is bounded by a third of max_rtt.
    let slow = derived(|p| {
        p.typical_rtt = Some(Span::from_millis(80));
        p.max_rtt = Some(Span::from_millis(90));
    });
    assert_eq!((slow.target, slow.tupdate), (Span::from_millis(80), Span::from_millis(30)));
}

#[test]
fn reset_forgets_what_was_learnt_and_keeps_the_packets() {
    let (mut host, mut queue) = (DisciplineHost::new(), queue(|p| p.max_rtt = Some(Span::from_millis(50))));
    offer(&mut host, &mut queue, CLASSIC, 9);
    offer(&mut host, &mut queue, L4S, 9);
    host.at_ms(100.0);
    assert!(host.internal(&mut queue, "base_probability") > 0.0);
    queue.due = [0.5; 2];
    queue.reset();
    assert_eq!(host.internal(&mut queue, "base_probability"), 0.0);
    assert_eq!(queue.due, [0.0; 2]);
    assert_eq!(queue.backlog(), Backlog { packets: 18, bytes: 18 * 1500 });
}

#[test]
fn drain_goes_by_age_and_the_l4s_queue_first_among_equals() {
    let (mut host, mut queue) = (DisciplineHost::new(), queue(|_| ()));
    let classic = offer(&mut host, &mut queue, CLASSIC, 2);
    let l4s = offer(&mut host, &mut queue, L4S, 1);
    host.at_ms(1.0);
    let last = offer(&mut host, &mut queue, L4S, 1);
    let out: Vec<u64> = core::iter::from_fn(|| queue.drain()).map(|packet| packet.serial).collect();
    assert_eq!(out, [l4s[0], classic[0], classic[1], last[0]]);
}

#[test]
fn tcs_words_and_texts() {
    let tc =
        "dualpi2 preset linux-7.2 limit 10000p target 15ms tupdate 16ms coupling_factor 2 l4s_ect drop_on_overload \
              drop_dequeue step_thresh 1ms min_qlen_step 0p classic_protection 10% split_gso";
    assert_eq!(canonical(tc), canonical("dualpi2 preset linux-7.2"));
    assert_eq!(
        canonical("dualpi2 overflow drop_enqueue any_ect no_split_gso step_thresh 5p memlimit 1mb max_rtt 50ms limit 100"),
        "dualpi2 limit 100p memlimit 1MiB max_rtt 50ms l4s_aqm step step_thresh 5p any_ect nodrop_on_overload drop_enqueue nosplit_gso"
    );
    assert_eq!(canonical("dualpi2 drop_on_overload drop_dequeue l4s_ect split_gso preset rfc"), "dualpi2");
    assert_eq!(canonical("dualpi2 overflow drop_on_overload"), "dualpi2");
    for (text, part) in [
        ("dualpi2 coupling_factor 0.5", "coupling_factor is 0.5; allowed: 1 to 255"),
        ("dualpi2 tupdate 0ms", "tupdate is 0"),
        ("dualpi2 alpha 1e8", "alpha is 100000000"),
        ("dualpi2 max_rtt 100ns", "max_rtt is 100 ns; allowed: 1 us or more"),
        ("dualpi2 step_thresh 1000", "a bare number, which tc reads as microseconds, is refused"),
        ("dualpi2 limit much", "packets, as in"),
    ] {
        let message = refused(text);
        assert!(message.contains(part), "{text}: {message}");
    }
    assert_eq!(
        Params::default().list().iter().find(|p| p.name == "limit").map(|p| p.value.to_string()),
        Some("250ms".into())
    );
}

/// `n` arrivals of 1500 B with DSCP 45.
fn offer_nqb(host: &mut DisciplineHost, queue: &mut DualPi2, ecn: Ecn, n: u64) {
    for serial in 0..n {
        queue.enqueue(&mut host.cx(), Packet { serial, bytes: 1500, ecn, dscp: 45, ..Packet::without_signals(0) });
    }
}

#[test]
fn non_queue_building_packets_join_the_l4s_queue_and_are_not_marked() {
    for (ecn, marks) in [(Ecn::NotEct, 0), (Ecn::Ect0, 0), (Ecn::Ect1, 5)] {
        let (mut host, mut queue) = (DisciplineHost::new(), queue(|_| ()));
        offer_nqb(&mut host, &mut queue, ecn, 8);
        assert_eq!(host.internal(&mut queue, "l4s_packets"), 8.0);
        // 5 ms of sojourn are beyond the ramp, and p_CL is 0.8: an L4S packet is marked, from the second on, while two stay behind.
        set(&mut queue, 0.4);
        host.at_ms(5.0);
        assert_eq!(host.take_all(&mut queue).len(), 8);
        assert_eq!((host.log.marked.len(), host.log.dropped.len()), (marks, 0), "{ecn:?}");
    }
    // Linux has no such class, unless asked for.
    for (codepoint, l4s) in [(None, 0.0), (Some(Dscp::NQB), 1.0)] {
        let (mut host, mut queue) = (DisciplineHost::new(), linux(|p| p.nqb = codepoint));
        offer_nqb(&mut host, &mut queue, Ecn::NotEct, 1);
        assert_eq!(host.internal(&mut queue, "l4s_packets"), l4s);
    }
}

#[test]
fn overload_drops_non_queue_building_packets_as_often_as_others() {
    let (mut host, mut queue) = (DisciplineHost::new(), queue(|_| ()));
    offer_nqb(&mut host, &mut queue, Ecn::NotEct, 7);
    set(&mut queue, 0.6);
    host.take_all(&mut queue);
    // p_C = 0.36: 0.36, 0.72, 1.08 drops the 3rd; 0.44, 0.8; the last two leave too little.
    assert_eq!(dropped(&host), [2]);
    assert_eq!(host.log.marked, []);
}
