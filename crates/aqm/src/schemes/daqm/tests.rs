use super::*;
use crate::test_host::{canonical, refused, DisciplineHost};
use crate::{Config, Discipline, Ecn, Random, Value};
use alloc::format;
use std::vec::Vec;

fn daqm(text: &str) -> std::boxed::Box<dyn Discipline> {
    format!("daqm {text}").parse::<Config>().unwrap().build()
}

/// Arrivals at these times.
fn arrive(host: &mut DisciplineHost, queue: &mut dyn Discipline, at_ms: &[f64]) {
    for ms in at_ms {
        host.at_ms(*ms);
        host.offer(queue, 0, 1000, Ecn::NotEct);
    }
}

/// Six packets at 0, 2, 5, 6, 10 and 11 ms; then the clock stands at 12 ms. With `interarrival 2ms sample 2ms`:
/// waits 12, 10, 7, 6, 2 (and 1): S1 = (12-10)/2 = 1; a = (7-12)/4 = -1.25; b = (6-10)/4 = -1; c = (2-7)/4 = -1.25;
/// S2 = (b-a)/2 = 0.125; S3 = ((c-b)/2 - 0.125)/2 = (-0.125-0.125)/2 = -0.125; S0 = 12.
/// Lengths at 4, 6, 8, 10, 12 ms, each before an arrival at the same instant: 2, 3, 4, 4, 6:
/// Q1 = 2-3 = -1; a = (4-2)/2 = 1; b = (4-3)/2 = 0.5; c = (6-4)/2 = 1; Q2 = b-a = -0.5; Q3 = 0.5 - -0.5 = 1; Q0 = 6.
fn six(text: &str) -> (DisciplineHost, std::boxed::Box<dyn Discipline>) {
    let (mut host, mut queue) = (DisciplineHost::new(), daqm(&format!("interarrival 2ms sample 2ms {text}")));
    arrive(&mut host, &mut *queue, &[0.0, 2.0, 5.0, 6.0, 10.0, 11.0]);
    host.at_ms(12.0);
    (host, queue)
}

/// The magnitudes of all features in `six`, in the order in which they are looked at.
const SIX: [(&str, f64); 8] =
    [("s3", 0.125), ("q3", 1.0), ("s2", 0.125), ("q2", 0.5), ("s1", 1.0), ("q1", 1.0), ("s0", 12.0), ("q0", 6.0)];

fn threshold(name: &str, value: f64) -> String {
    match name {
        "s0" => format!("s0 {value}ms "),
        "q0" => format!("q0 {value}p "),
        _ => format!("{name} {value} "),
    }
}

/// A threshold a little below the feature's value.
fn below(name: &str, value: f64) -> String {
    threshold(name, if matches!(name, "s0" | "q0") { value - 1.0 } else { value * 0.999 })
}

#[test]
fn derivatives_are_equations_18_to_33() {
    // a = (5-10)/4 = -1.25; b = (4-8)/4 = -1; c = (0-5)/4 = -1.25; d = (b-a)/2 = 0.125; e = (c-b)/2 = -0.125.
    let values = [10.0, 8.0, 5.0, 4.0, 0.0];
    assert_eq!(signals::derivatives(&values, 2.0)[0], 1.0);
    assert_eq!(signals::derivatives(&values, 2.0)[1], 0.125);
    assert_eq!(signals::derivatives(&values, 2.0)[2], -0.125);
    // Unit step: a = -2.5; b = -2; c = -2.5; d = 0.5; e = -0.5.
    assert_eq!(signals::derivatives(&values, 1.0)[0], 2.0);
    assert_eq!(signals::derivatives(&values, 1.0)[1], 0.5);
    assert_eq!(signals::derivatives(&values, 1.0)[2], -1.0);
    // A straight line has only a first derivative, a parabola only two: 0, 1, 4, 9, 16 has the second difference 2.
    assert_eq!(signals::derivatives(&[1.0, 3.0, 5.0, 7.0, 9.0], 1.0)[1], 0.0);
    assert_eq!(signals::derivatives(&[0.0, 1.0, 4.0, 9.0, 16.0], 1.0)[1], 2.0);
    assert_eq!(signals::derivatives(&[0.0, 1.0, 4.0, 9.0, 16.0], 1.0)[2], 0.0);
}

#[test]
fn all_eight_features_of_a_known_queue() {
    let thresholds: String = SIX.iter().map(|(name, _)| threshold(name, 1000.0)).collect();
    let (mut host, mut queue) = six(&thresholds);
    assert_eq!(host.take(&mut *queue), Some(0));
    let signed = [12.0, 1.0, 0.125, -0.125, 6.0, -1.0, -0.5, 1.0];
    for (name, value) in NAMES.iter().zip(signed) {
        assert_eq!(host.internal(&mut *queue, name), value, "{name}");
    }
    assert!(host.log.dropped.is_empty());
}

#[test]
fn the_first_feature_strictly_above_its_threshold_wins() {
    // From each place in the order on, thresholds lie just below the values; before it, exactly at them.
    for first in 0..SIX.len() {
        let mut text = String::new();
        for (place, (name, value)) in SIX.iter().enumerate() {
            text += &if place < first { threshold(name, *value) } else { below(name, *value) };
            text += &format!("{name}_drop_rate 0.{} ", place + 1);
        }
        let (mut host, mut queue) = six(&text);
        host.take(&mut *queue);
        assert_eq!(host.log.dropped, [(0, Reason::Early)], "{}", SIX[first].0);
        let rate: f64 = format!("0.{}", first + 1).parse().unwrap();
        assert_eq!(host.internal(&mut *queue, "drop_rate"), rate, "{}", SIX[first].0);
        // The rest are not looked at.
        for (name, _) in &SIX[first + 1..] {
            let internal = NAMES.iter().find(|internal| internal.starts_with(name)).unwrap();
            assert!(host.internal(&mut *queue, internal).is_nan(), "{name} after {}", SIX[first].0);
        }
    }
    // All exactly at their thresholds: none wins.
    let text: String = SIX.iter().map(|(name, value)| threshold(name, *value)).collect();
    let (mut host, mut queue) = six(&text);
    host.take(&mut *queue);
    assert!(host.log.dropped.is_empty());
}

#[test]
fn hits_and_drops_at_a_dequeue_are_counted() {
    // 9 wait, 9 > 6: a hit. With peek it drops the head; a loss of the five looked at for S3 (never above 1000) adds 5.
    for (text, head_drops) in [("", 1.0), ("interarrival 1ms s3 1000 inspect lose ", 6.0)] {
        let (mut host, mut queue) =
            (DisciplineHost::new(), daqm(&format!("{text}s0 none q0 6p drop_rate 0.4 drop_duration 5ms")));
        arrive(&mut host, &mut *queue, &[1.0; 9]);
        host.at_ms(10.0);
        host.take(&mut *queue);
        assert_eq!(host.internal(&mut *queue, "hits"), 1.0);
        assert_eq!(host.internal(&mut *queue, "head_drops"), head_drops, "{text}");
        // Within the phase nothing is looked at; after it too few wait for a hit.
        host.take(&mut *queue);
        host.at_ms(20.0);
        host.take(&mut *queue);
        assert_eq!(host.internal(&mut *queue, "hits"), 1.0);
    }
}

#[test]
fn a_hit_drops_the_head_delivers_the_next_and_opens_a_phase() {
    let (mut host, mut queue) = (DisciplineHost::new(), daqm("s0 none q0 6p drop_rate 0.4 drop_duration 100ms"));
    arrive(&mut host, &mut *queue, &[1.0; 9]);
    host.at_ms(10.0);
    assert_eq!(host.take(&mut *queue), Some(1), "9 > 6: packet 0 is dropped, 1 delivered");
    assert_eq!(host.log.dropped, [(0, Reason::Early)]);
    // While the phase is on nothing is looked at, although 7 > 6.
    assert_eq!(host.take(&mut *queue), Some(2));
    assert_eq!(host.log.dropped.len(), 1);
    // Arrivals are dropped with 0.4: a draw of 0.39 drops, one of 0.4 does not.
    host.random.fixed = Some(0.39);
    arrive(&mut host, &mut *queue, &[109.999]);
    assert_eq!(host.log.dropped.last(), Some(&(9, Reason::Early)));
    host.random.fixed = Some(0.4);
    arrive(&mut host, &mut *queue, &[109.999]);
    assert_eq!(queue.backlog().packets, 7);
    // It ends at 10 + 100 ms, before an arrival at that very instant.
    host.random.fixed = Some(0.0);
    arrive(&mut host, &mut *queue, &[110.0]);
    assert_eq!((host.log.dropped.len(), queue.backlog().packets), (2, 8));
    assert_eq!(host.take(&mut *queue), Some(4), "8 > 6: looked at again");
    assert_eq!(host.log.dropped.last(), Some(&(3, Reason::Early)));
}

#[test]
fn the_drop_rate_is_a_probability() {
    let (mut host, mut queue) =
        (DisciplineHost::new(), daqm("s0 none q0 5p drop_rate 0.3 drop_duration 1h limit 100000p"));
    arrive(&mut host, &mut *queue, &[1.0; 6]);
    host.take(&mut *queue);
    arrive(&mut host, &mut *queue, &[2.0; 10_000]);
    // Binomial: 3000 +- 5 sqrt(10000 x 0.3 x 0.7) = 229; one more from the head.
    let dropped = host.log.dropped.len() - 1;
    assert!((2771..=3229).contains(&dropped), "{dropped}");
}

#[test]
fn nothing_is_looked_at_with_five_packets_or_before_the_target() {
    for (waiting, now_ms, hit) in [(5, 100.001, false), (6, 100.0, false), (6, 100.001, true)] {
        let (mut host, mut queue) = (DisciplineHost::new(), daqm("target 100ms s0 1ms"));
        arrive(&mut host, &mut *queue, &std::vec![1.0; waiting]);
        host.at_ms(now_ms);
        host.take(&mut *queue);
        assert_eq!(!host.log.dropped.is_empty(), hit, "{waiting} packets at {now_ms} ms");
    }
}

#[test]
fn five_packets_are_enough_and_count_the_one_in_hand_as_the_parameters_say() {
    for (text, enough) in [
        ("", 6),
        ("min_queue 5p", 5),
        ("min_queue 5p in_hand apart", 6),
        ("in_hand apart", 7),
        ("min_queue 9p in_hand apart", 10),
    ] {
        for (waiting, hit) in [(enough - 1, false), (enough, true)] {
            let (mut host, mut queue) = (DisciplineHost::new(), daqm(&format!("s0 1ms {text}")));
            arrive(&mut host, &mut *queue, &std::vec![1.0; waiting]);
            host.at_ms(3.0);
            assert_eq!(host.take(&mut *queue), Some(u64::from(hit)), "{waiting} packets, {text:?}");
            assert_eq!(host.log.dropped.len(), usize::from(hit), "{waiting} packets, {text:?}");
        }
    }
}

#[test]
fn features_leave_out_a_packet_in_hand_that_is_apart() {
    // A seventh packet before those of `six`, which are then behind the one in hand: all features are theirs, but Q1 to Q3,
    // whose samples no dequeue sees: 3, 4, 5, 5, 7 have the derivatives of 2, 3, 4, 4, 6.
    let thresholds: String = SIX.iter().map(|(name, _)| threshold(name, 1000.0)).collect();
    let text = format!("in_hand apart interarrival 2ms sample 2ms {thresholds}");
    let (mut host, mut queue) = (DisciplineHost::new(), daqm(&text));
    arrive(&mut host, &mut *queue, &[0.0, 0.0, 2.0, 5.0, 6.0, 10.0, 11.0]);
    host.at_ms(12.0);
    assert_eq!(host.take(&mut *queue), Some(0));
    for (name, value) in NAMES.iter().zip([12.0, 1.0, 0.125, -0.125, 6.0, -1.0, -0.5, 1.0]) {
        assert_eq!(host.internal(&mut *queue, name), value, "{name}");
    }
}

#[test]
fn tail_drop_comes_before_the_phase() {
    let (mut host, mut queue) = (DisciplineHost::new(), daqm("limit 7p s0 none q0 5p drop_rate 1 drop_duration 1s"));
    arrive(&mut host, &mut *queue, &[1.0; 8]);
    assert_eq!(host.log.dropped, [(7, Reason::Overflow)]);
    host.take(&mut *queue);
    arrive(&mut host, &mut *queue, &[2.0]);
    assert_eq!(host.log.dropped[1..], [(0, Reason::Early), (8, Reason::Early)]);
}

/// Nine packets whose third sojourn derivative is 0.125 with an interarrival of 2 ms (see `six`); what leaves and what is lost.
fn inspected(text: &str) -> (Vec<u64>, Vec<u64>) {
    let (mut host, mut queue) =
        (DisciplineHost::new(), daqm(&format!("s0 none interarrival 2ms drop_duration 1h {text}")));
    arrive(&mut host, &mut *queue, &[0.0, 2.0, 5.0, 6.0, 10.0, 11.0, 11.0, 11.0, 11.0]);
    let left = host.take_all(&mut *queue);
    (left, host.log.dropped.iter().map(|(serial, _)| *serial).collect())
}

#[test]
fn what_becomes_of_packets_that_are_looked_at() {
    assert_eq!(inspected("s3 0.1"), ([1, 2, 3, 4, 5, 6, 7, 8].into(), [0].into()));
    // Five are taken and sent, and the packet after them is dropped.
    assert_eq!(inspected("s3 0.1 inspect deliver"), ([0, 1, 2, 3, 4, 6, 7, 8].into(), [5].into()));
    // S2 takes four, S1 two.
    assert_eq!(inspected("s2 0.1 inspect deliver"), ([0, 1, 2, 3, 5, 6, 7, 8].into(), [4].into()));
    assert_eq!(inspected("s1 0.1 inspect deliver"), ([0, 1, 3, 4, 5, 6, 7, 8].into(), [2].into()));
    assert_eq!(inspected("s3 0.1 inspect lose"), ([6, 7, 8].into(), [0, 1, 2, 3, 4, 5].into()));
    // Without a hit the five are lost all the same; four wait then, too few for another look.
    assert_eq!(inspected("s3 9 inspect lose"), ([5, 6, 7, 8].into(), [0, 1, 2, 3, 4].into()));
    // And sent all the same.
    assert_eq!(inspected("s3 9 inspect deliver"), ((0..9).collect(), [].into()));
    // Nothing is dequeued for the queue length.
    assert_eq!(inspected("q0 8p inspect lose"), ([1, 2, 3, 4, 5, 6, 7, 8].into(), [0].into()));
}

#[test]
fn a_packet_in_hand_is_what_a_hit_drops() {
    // Packet 0 is in hand, S3 of the five behind it: spacings 2, 3, 1, 4 as in `six` after one more at 0 ms.
    let apart = |text: &str| {
        let (mut host, mut queue) =
            (DisciplineHost::new(), daqm(&format!("s0 none interarrival 2ms drop_duration 1h in_hand apart {text}")));
        arrive(&mut host, &mut *queue, &[0.0, 0.0, 2.0, 5.0, 6.0, 10.0, 11.0, 11.0]);
        let left = host.take_all(&mut *queue);
        (left, host.log.dropped.iter().map(|(serial, _)| *serial).collect::<Vec<_>>())
    };
    assert_eq!(apart("s3 0.1"), ([1, 2, 3, 4, 5, 6, 7].into(), [0].into()));
    // The five behind it are sent; in order.
    assert_eq!(apart("s3 0.1 inspect deliver"), ([1, 2, 3, 4, 5, 6, 7].into(), [0].into()));
    // The five are lost before it.
    assert_eq!(apart("s3 0.1 inspect lose"), ([6, 7].into(), [1, 2, 3, 4, 5, 0].into()));
    // Without a hit it leaves, and two wait then.
    assert_eq!(apart("s3 9 inspect lose"), ([0, 6, 7].into(), [1, 2, 3, 4, 5].into()));
    assert_eq!(apart("s3 9 inspect deliver"), ((0..8).collect(), [].into()));
}

#[test]
fn the_packets_behind_one_in_hand_are_sent_without_a_look() {
    // 20 wait, S1 takes two. Without a hit three leave to a look; with a hit (a phase of no length) the one in hand is lost.
    for (q0, dropped) in [("1000p", [0; 6]), ("5p", [1, 1, 2, 2, 3, 3])] {
        let text = format!("s0 none s1 1000 q0 {q0} interarrival 2ms drop_duration 0ms in_hand apart inspect deliver");
        let (mut host, mut queue) = (DisciplineHost::new(), daqm(&text));
        arrive(&mut host, &mut *queue, &[1.0; 20]);
        host.at_ms(2.0);
        let mut looks = Vec::new();
        let drops = [(); 6].map(|()| {
            host.take(&mut *queue);
            looks.push(host.internal(&mut *queue, "q0_packets"));
            host.log.dropped.len()
        });
        assert_eq!(drops, dropped, "q0 {q0}");
        // 19 behind the first in hand; then those of the second look.
        let second =
            if q0 == "5p" { [19.0, 19.0, 16.0, 16.0, 13.0, 13.0] } else { [19.0, 19.0, 19.0, 16.0, 16.0, 16.0] };
        assert_eq!(looks, second, "q0 {q0}");
    }
}

#[test]
fn sent_packets_are_not_looked_at_again() {
    // 12 wait; q0 would hit at every look. S1 takes two: the second leaves without a look.
    let (mut host, mut queue) =
        (DisciplineHost::new(), daqm("s0 none s1 1000 q0 5p interarrival 2ms drop_duration 0ms inspect deliver"));
    arrive(&mut host, &mut *queue, &[1.0; 12]);
    host.at_ms(2.0);
    let mut drops = Vec::new();
    for _ in 0..4 {
        host.take(&mut *queue);
        drops.push(host.log.dropped.len());
    }
    assert_eq!(drops, [1, 1, 2, 2]);
}

#[test]
fn a_sent_packet_is_one_less_even_where_too_few_wait_for_a_look() {
    // Of 6 the look drops the third and sends the first; the second leaves of 5. The next look is then due at once.
    let (mut host, mut queue) =
        (DisciplineHost::new(), daqm("s0 none s1 1000 q0 5p interarrival 2ms drop_duration 0ms inspect deliver"));
    arrive(&mut host, &mut *queue, &[1.0; 6]);
    host.at_ms(2.0);
    host.take(&mut *queue);
    arrive(&mut host, &mut *queue, &[2.5]);
    host.take(&mut *queue);
    assert_eq!(host.log.dropped.len(), 1);
    arrive(&mut host, &mut *queue, &[3.0; 8]);
    host.at_ms(4.0);
    host.take(&mut *queue);
    assert_eq!(host.log.dropped.len(), 2);
}

#[test]
fn measured_spacing_counts_only_packets_that_left() {
    let (mut host, mut queue) = (DisciplineHost::new(), daqm("s0 none s1 1000 interarrival measured"));
    arrive(&mut host, &mut *queue, &[0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0, 255.0]);
    host.take(&mut *queue);
    assert!(host.internal(&mut *queue, "interarrival_ms").is_nan(), "one packet has no spacing");
    assert!(host.internal(&mut *queue, "s1").is_nan());
    host.take(&mut *queue);
    assert_eq!(host.internal(&mut *queue, "interarrival_ms"), 1.0);
    host.take(&mut *queue);
    // At the third look packets 2 and 3 head the queue: S1 = (7 - 3)/1; then packet 2 leaves: 1 + (2 - 1)/16.
    assert_eq!(host.internal(&mut *queue, "s1"), 4.0);
    assert_eq!(host.internal(&mut *queue, "interarrival_ms"), 1.0625);
}

#[test]
fn packets_that_came_together_give_no_spacing_to_divide_by() {
    let (mut host, mut queue) = (DisciplineHost::new(), daqm("s0 none s1 0 s2 0 s3 0 interarrival measured"));
    arrive(&mut host, &mut *queue, &[1.0; 20]);
    host.at_ms(2.0);
    assert_eq!(host.take_all(&mut *queue).len(), 20);
}

#[test]
fn departures_take_each_sojourn_at_its_own_departure() {
    let (mut host, mut queue) = (DisciplineHost::new(), daqm("s0 none s1 1000 interarrival 2ms sojourn departures"));
    arrive(&mut host, &mut *queue, &[0.0; 20]);
    for ms in [1.0, 4.0, 5.0, 7.0, 8.0] {
        host.at_ms(ms);
        host.take(&mut *queue);
        assert!(host.internal(&mut *queue, "s1").is_nan(), "fewer than five have left at {ms} ms");
    }
    host.take(&mut *queue);
    // Sojourn times 1, 4, 5, 7, 8: S1 = (1 - 4)/2. At one instant it would be 0: all came together.
    assert_eq!(host.internal(&mut *queue, "s1"), -1.5);
}

#[test]
fn departures_measure_spacings_older_than_the_five() {
    let (mut host, mut queue) =
        (DisciplineHost::new(), daqm("s0 none s1 1000 interarrival measured sojourn departures"));
    let at: Vec<f64> = (0..20).map(f64::from).collect();
    arrive(&mut host, &mut *queue, &at);
    for left in 1..=7 {
        host.take(&mut *queue);
        // The seventh departure pushes the second out of the five: one spacing, 1 ms.
        assert_eq!(host.internal(&mut *queue, "interarrival_ms").is_nan(), left < 7, "{left}");
    }
    assert_eq!(host.internal(&mut *queue, "interarrival_ms"), 1.0);
}

#[test]
fn samples_slide_or_restart() {
    let fives = |ring: Ring| {
        let mut samples = Samples::new(ring);
        (1..=11)
            .map(|n| {
                samples.push(f64::from(n));
                samples.last_five().map(|five| five[0])
            })
            .collect::<Vec<_>>()
    };
    let none = [None; 4];
    assert_eq!(fives(Ring::Slides), [&none[..], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0].map(Some)].concat());
    assert_eq!(fives(Ring::Restarts), [&none[..], &[1.0, 1.0, 1.0, 1.0, 1.0, 6.0, 6.0].map(Some)].concat());
    // The sixth replaces the first in its place, the eleventh the sixth.
    assert_eq!(fives(Ring::Array), [&none[..], &[1.0, 6.0, 6.0, 6.0, 6.0, 6.0, 11.0].map(Some)].concat());
}

#[test]
fn derivatives_of_an_array_take_its_places() {
    // 1, 4, 9, 16, 25, 36: the array is 36, 4, 9, 16, 25. Q1 = 36 - 4 = 32; a = (9 - 36)/2, b = (16 - 4)/2, c = (25 - 9)/2:
    // Q2 = 6 + 13.5 = 19.5; Q3 = (8 - 6) - 19.5 = -17.5. Of the last five, oldest first: -5, 2, 0.
    for (ring, expected) in [(Ring::Array, [32.0, 19.5, -17.5]), (Ring::Slides, [-5.0, 2.0, 0.0])] {
        let mut samples = Samples::new(ring);
        for sample in [1.0, 4.0, 9.0, 16.0, 25.0, 36.0] {
            samples.push(sample);
        }
        assert_eq!(samples.derivatives(), Some(expected));
    }
}

#[test]
fn samples_caught_up_after_idle_equal_a_timers() {
    for ring in ["slides", "restarts", "array"] {
        let params = Params { ring: Value::read(ring).unwrap(), ..Params::default() };
        let (mut lazy, mut timer) = (Daqm::new(&params), Daqm::new(&params));
        let mut random = crate::test_host::Stream::new(3);
        let (mut queue, mut now) = (Queue::default(), Instant::ZERO);
        for _ in 0..2000 {
            // Idle for 0 to 200 ms, seldom for hours.
            let idle = if random.below(50) == 0 { random.below(3_600_000) } else { random.below(200) };
            let next = now + Span::from_millis(idle);
            let mut sample = now;
            while sample <= next && idle < 100_000 {
                timer.advance(sample, BitRate::ZERO, &queue);
                sample += Span::from_millis(1);
            }
            // An hour is stepped through sample by sample.
            while sample <= next {
                timer.advance(sample, BitRate::ZERO, &queue);
                sample += Span::from_millis(15);
            }
            now = next;
            timer.advance(now, BitRate::ZERO, &queue);
            lazy.advance(now, BitRate::ZERO, &queue);
            assert_eq!(lazy.samples.last_five(), timer.samples.last_five());
            if random.below(2) == 0 {
                queue.push(Packet::without_signals(0));
            } else {
                queue.pop();
            }
        }
    }
}

#[test]
fn samples_begin_at_the_start_of_the_clock() {
    // The first event is at 70 ms: samples at 0, 15, 30, 45 and 60 ms saw an empty queue.
    let (mut host, mut queue) = (DisciplineHost::new(), daqm("s0 none q1 1000"));
    arrive(&mut host, &mut *queue, &[70.0; 8]);
    host.take(&mut *queue);
    assert_eq!(host.internal(&mut *queue, "q1"), 0.0);
    // 8 - 1 waited at 75 ms; the last five begin at 15 ms.
    host.at_ms(75.0);
    host.take(&mut *queue);
    assert_eq!(host.internal(&mut *queue, "q1"), 0.0);
    // At 120 ms the last five are those of 60 (0), 75 (7), ...: 0 - 7.
    host.at_ms(120.0);
    host.take(&mut *queue);
    assert_eq!(host.internal(&mut *queue, "q1"), -7.0);
}

#[test]
fn flags_reset_by_an_arrival_leave_the_uniform_rate() {
    let text = "s0 none q0 5p drop_rate 0.1 q0_drop_rate 0.9 drop_duration 100ms";
    for (flags, rates) in [("phase", [0.9, 0.9]), ("enqueue", [0.9, 0.1])] {
        let (mut host, mut queue) = (DisciplineHost::new(), daqm(&format!("{text} flags {flags}")));
        arrive(&mut host, &mut *queue, &[1.0; 8]);
        host.take(&mut *queue);
        host.random.fixed = Some(0.95);
        for rate in rates {
            assert_eq!(host.internal(&mut *queue, "drop_rate"), rate, "{flags}");
            arrive(&mut host, &mut *queue, &[2.0]);
        }
    }
}

#[test]
fn flags_that_no_arrival_resets_stop_every_look() {
    for (flags, arrival, hits) in [("phase", false, 2), ("enqueue", false, 1), ("enqueue", true, 2)] {
        let text = format!("s0 none q0 5p drop_rate 0 drop_duration 10ms flags {flags}");
        let (mut host, mut queue) = (DisciplineHost::new(), daqm(&text));
        arrive(&mut host, &mut *queue, &[1.0; 20]);
        host.take(&mut *queue);
        if arrival {
            arrive(&mut host, &mut *queue, &[2.0]);
        }
        host.at_ms(50.0);
        host.take(&mut *queue);
        assert_eq!(host.log.dropped.len(), hits, "{flags}, arrival in the phase: {arrival}");
    }
}

#[test]
fn presets_are_the_rows_of_table_2() {
    let c2 = "s0 600ms s1 0.1 s2 0.1 s3 0.1 q0 80p q1 0.1 q2 0.1 q3 0.1";
    for (given, same) in [
        ("preset f1", "daqm"),
        ("preset f2 interarrival 1ms", "daqm interarrival 1ms s0 none s1 0.01"),
        ("preset f3 interarrival 1ms", "daqm interarrival 1ms s0 none s2 0.01"),
        ("preset f4 interarrival 1ms", "daqm interarrival 1ms s0 none s3 0.01"),
        ("preset f5", "daqm s0 none q0 20p"),
        ("preset f6", "daqm s0 none q1 0.01"),
        ("preset f7", "daqm s0 none q2 0.01"),
        ("preset f8", "daqm s0 none q3 0.01"),
        (
            "interarrival measured preset c1",
            "daqm interarrival measured drop_rate 0.05 drop_duration 400ms s0 1s s1 10 s2 10 s3 10 q0 120p q1 1 q2 10 q3 10",
        ),
        (
            "preset c2 interarrival measured",
            &format!("daqm interarrival measured drop_rate 0.5 drop_duration 400ms {c2}"),
        ),
        (
            "preset c3 interarrival measured",
            "daqm interarrival measured drop_rate 0.98 drop_duration 400ms s0 100ms s1 0.01 s2 0.01 s3 0.01 q0 20p q1 0.01 q2 0.01 q3 0.01",
        ),
    ] {
        assert_eq!(canonical(&format!("daqm {given}")), same);
    }
    for name in Daqm::PRESETS {
        assert!(Daqm::preset(name).is_some(), "{name}");
    }
}

#[test]
fn impossible_parameters_are_refused() {
    for (text, part) in [
        ("preset c1", "metric interarrival_ms_mode"),
        ("s1 0.1", "or \"interarrival measured\""),
        ("s1 0.1 interarrival 0ms", "interarrival is 0"),
        ("interarrival 3", "allowed: a time above 0 with its unit"),
        ("sample 0s", "sample is 0"),
        ("min_queue 4p", "allowed: 5p or more"),
        ("s0 none", "no feature has a threshold"),
        ("q1 -1", "allowed: a finite number, 0 or more"),
        ("preset f9", "unknown preset \"f9\""),
        ("drop_rate 1.5", "outside 0 to 1"),
        ("inspect look", "allowed: peek, deliver, lose"),
    ] {
        let message = refused(&format!("daqm {text}"));
        assert!(message.contains(part), "{text}: {message}");
    }
}
