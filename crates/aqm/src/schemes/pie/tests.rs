use super::*;
use crate::test_host::{canonical, close, queue_of, refused, DisciplineHost, Fate, Host};
use crate::{Ecn, Fifo};
use alloc::format;

fn pie(params: Params) -> Pie {
    Pie::new(&params)
}

fn variant(variant: Variant) -> Params {
    Params { variant, ..Params::default() }
}

fn ms(n: u64) -> Instant {
    Instant::ZERO + Span::from_millis(n)
}

/// p after an update with these delays (in ms) from this p, with no burst allowance left.
fn updated(params: Params, p: f64, old_ms: f64, delay_ms: f64, backlog: u64) -> f64 {
    let mut pie = pie(params);
    pie.probability = p;
    pie.delay_old = old_ms / 1e3;
    pie.burst_allowance = Span::ZERO;
    pie.update(delay_ms / 1e3, backlog);
    close(pie.delay_old, delay_ms / 1e3);
    pie.probability
}

#[test]
fn proportional_and_integral_parts() {
    // p = 0.5, so unscaled. Integral alone: 0.125 (0.020 - 0.015) = 0.000625.
    close(updated(Params::default(), 0.5, 20.0, 20.0, 1), 0.500_625);
    // Proportional too: 1.25 (0.020 - 0.016) = 0.005.
    close(updated(Params::default(), 0.5, 16.0, 20.0, 1), 0.505_625);
    // Falling: 0.125 (0.010 - 0.015) + 1.25 (0.010 - 0.016) = -0.000625 - 0.0075.
    close(updated(Params::default(), 0.5, 16.0, 10.0, 1), 0.491_875);
    // At the target and standing still: nothing.
    close(updated(Params::default(), 0.5, 15.0, 15.0, 1), 0.5);
}

#[test]
fn auto_tuning_table() {
    // Section 4.2: the step of 0.005625 (16 -> 20 ms) divided by 2048, 512, 128, 32, 8, 2, 1.
    for (p, divisor) in [
        (0.0, 2048.0),
        (0.000_000_9, 2048.0),
        (0.000_001, 512.0),
        (0.000_009, 512.0),
        (0.000_01, 128.0),
        (0.000_09, 128.0),
        (0.000_1, 32.0),
        (0.000_9, 32.0),
        (0.001, 8.0),
        (0.009, 8.0),
        (0.01, 2.0),
        (0.09, 2.0),
        (0.1, 1.0),
        (0.9, 1.0),
    ] {
        let got = updated(Params::default(), p, 16.0, 20.0, 1);
        assert!((got - (p + 0.005_625 / divisor)).abs() < 1e-15, "{p}: {got}");
    }
}

#[test]
fn the_step_is_capped_from_a_tenth_on() {
    // 0 -> 100 ms: 0.125 x 0.085 + 1.25 x 0.1 = 0.135625. Half of it below 0.1, 0.02 from 0.1 on.
    close(updated(Params::default(), 0.099, 0.0, 100.0, 1), 0.099 + 0.135_625 / 2.0);
    close(updated(Params::default(), 0.1, 0.0, 100.0, 1), 0.12);
    // Steps down are not capped: 0.125 x (0.001 - 0.015) + 1.25 x (0.001 - 0.100) = -0.1255.
    close(updated(Params::default(), 0.5, 100.0, 1.0, 1), 0.3745);
}

#[test]
fn p_decays_when_two_delays_are_zero() {
    // 0.125 x -0.015 = -0.001875, then 0.98.
    close(updated(Params::default(), 0.5, 0.0, 0.0, 0), (0.5 - 0.001_875) * 0.98);
    // One of them above zero: no decay.
    close(updated(Params::default(), 0.5, 1.0, 0.0, 0), 0.5 - 0.001_875 - 0.00125);
    close(updated(variant(Variant::Ns3), 0.5, 0.0, 0.0, 0), (0.5 - 0.001_875) * 0.98);
    // Linux: 1/64, and not while packets wait.
    close(updated(variant(Variant::Linux), 0.5, 0.0, 0.0, 0), (0.5 - 0.001_875) * 63.0 / 64.0);
    close(updated(variant(Variant::Linux), 0.5, 0.0, 0.0, 1), 0.5 - 0.001_875);
}

#[test]
fn p_stays_a_probability() {
    close(updated(Params::default(), 0.99, 0.0, 5000.0, 1), 1.0);
    close(updated(Params::default(), 0.001, 500.0, 0.0, 1), 0.0);
}

#[test]
fn linux_goes_beyond_one_until_64_bits_overflow() {
    // 0.02 and 0.02 more, as it stands above 250 ms.
    close(updated(variant(Variant::Linux), 0.99, 251.0, 251.0, 1), 1.03);
    close(updated(variant(Variant::Linux), 255.97, 251.0, 251.0, 1), 1.0);
    close(updated(variant(Variant::Linux), 0.001, 500.0, 0.0, 1), 0.0);
    // It comes down as it would from below: 0.125 x -0.015 = -0.001875, then 1/64 less.
    close(updated(variant(Variant::Linux), 1.5, 0.0, 0.0, 0), (1.5 - 0.001_875) * 63.0 / 64.0);
}

#[test]
fn linux_adds_two_percent_above_a_quarter_second() {
    // Standing at 251 ms: 0.125 x 0.236 = 0.0295, capped to 0.02, and 0.02 more.
    close(updated(variant(Variant::Linux), 0.5, 251.0, 251.0, 1), 0.54);
    close(updated(variant(Variant::Linux), 0.5, 250.0, 250.0, 1), 0.52);
    close(updated(Params::default(), 0.5, 251.0, 251.0, 1), 0.52);
}

#[test]
fn ns3_holds_p_at_zero_during_the_allowance() {
    for (which, expected) in [(Variant::Ns3, 0.0), (Variant::Rfc, 0.135_625 / 2048.0)] {
        let mut pie = pie(variant(which));
        pie.update(0.1, 1);
        assert!((pie.probability - expected).abs() < 1e-15, "{}", pie.probability);
    }
}

#[test]
fn burst_allowance_runs_down_and_is_given_back() {
    let mut host = Host::<Pie>::new(Params::default());
    host.arrive_many(50);
    // The first nominal instant after 0 is 15 ms: one tupdate less. At 7.5 ms the head's age is half the target: calm no more.
    host.wait(Span::from_millis(15));
    close(host.internal("burst_allowance_s"), 0.135);
    assert_eq!(host.arrive(), Fate::Queued);
    close(host.internal("burst_allowance_s"), 0.135);
    host.wait(Span::from_millis(130));
    // 145 ms: 9 updates.
    close(host.internal("burst_allowance_s"), 0.015);
    host.wait(Span::from_millis(5));
    close(host.internal("burst_allowance_s"), 0.0);
    // Empty the queue and let p come to rest; an arrival then finds MAX_BURST again.
    while host.send().is_some() {}
    host.wait(Span::from_secs(20));
    assert_eq!(host.internal("drop_probability"), 0.0);
    close(host.internal("burst_allowance_s"), 0.0);
    host.arrive();
    close(host.internal("burst_allowance_s"), 0.150);
}

#[test]
fn no_random_drop_while_allowance_is_left() {
    let mut host = Host::<Pie>::new(Params { max_burst: Span::from_millis(30), ..Params::default() });
    host.arrive_many(20);
    host.random.fixed = Some(0.0);
    // 15 ms: 15 ms left, though p is above 0. 30 ms: none left.
    host.wait(Span::from_millis(15));
    host.wait(Span::from_millis(14));
    assert!(host.internal("drop_probability") > 0.0);
    assert_eq!((host.arrive(), host.random.draws), (Fate::Queued, 0));
    host.wait(Span::from_millis(1));
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
}

/// A host that would drop everything at p: delay 20 ms at the last update, ten packets waiting, no allowance.
fn congested(params: Params, p: f64) -> Host<Pie> {
    let mut host = Host::<Pie>::new(params);
    host.arrive_many(10);
    host.wait(Span::from_millis(1));
    host.with(|pie| {
        pie.probability = p;
        pie.delay_old = 0.020;
        pie.delay_seen = 0.020;
        pie.burst_allowance = Span::ZERO;
    });
    host.random.fixed = Some(0.0);
    host
}

#[test]
fn ns3_gives_the_allowance_back_after_a_second_and_a_half_of_calm() {
    // One packet a second, sent at once. The allowance of the first is used up at the tenth update, 150 ms; at 1 s, 57 updates
    // have been calm with that one, at 2 s 124; ns-3 wants more than 1 + 1500/15.
    for (which, at_1_s, at_2_s) in [(Variant::Rfc, 0.150, 0.150), (Variant::Ns3, 0.0, 0.150)] {
        let mut host = Host::<Pie>::new(variant(which));
        for expected in [0.150, at_1_s, at_2_s] {
            assert_eq!(host.arrive(), Fate::Queued);
            close(host.internal("burst_allowance_s"), expected);
            host.send();
            host.wait(Span::from_secs(1));
        }
    }
}

#[test]
fn low_delay_and_low_p_are_spared() {
    let dropped = Fate::Dropped(Reason::Early);
    // Section 4.1: qdelay_old_ < 7.5 ms and p < 0.2.
    for (p, old, fate) in [(0.199, 0.0074, Fate::Queued), (0.2, 0.0074, dropped), (0.199, 0.0075, dropped)] {
        let mut host = congested(Params::default(), p);
        host.with(|pie| pie.delay_seen = old);
        assert_eq!(host.arrive(), fate, "{p} {old}");
    }
}

#[test]
fn two_mean_packets_are_spared() {
    let mut host = congested(Params { avpkt: Bytes::new(1000), ..Params::default() }, 0.5);
    while host.len() > 2 {
        host.send();
    }
    // 2000 B wait: 2 MEAN_PKTSIZE. Then 3000 B.
    assert_eq!(host.arrive(), Fate::Queued);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
}

#[test]
fn linux_spares_less_than_two_packets() {
    let mut host = congested(Params { avpkt: Bytes::new(1000), variant: Variant::Linux, ..Params::default() }, 0.5);
    while host.len() > 1 {
        host.send();
    }
    // 1000 B wait, then 2000 B.
    assert_eq!(host.arrive(), Fate::Queued);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
}

#[test]
fn ns3_spares_two_packets_of_any_size() {
    // Packets of 1000 B against a mean of 500 B: the RFC spares one of them, ns-3 two.
    for (which, spared) in [(Variant::Rfc, 1), (Variant::Ns3, 2)] {
        let mut host = congested(Params { avpkt: Bytes::new(500), variant: which, ..Params::default() }, 0.5);
        while host.len() > 0 {
            host.send();
        }
        for _ in 0..=spared {
            assert_eq!(host.arrive(), Fate::Queued, "{which:?}");
        }
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early), "{which:?}");
    }
}

#[test]
fn the_draw_is_compared_with_p() {
    let mut host = congested(Params::default(), 0.25);
    host.random.fixed = Some(0.25);
    assert_eq!(host.arrive(), Fate::Queued);
    host.random.fixed = Some(0.249);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
}

#[test]
fn bytemode_scales_by_size() {
    let mut host = congested(Params { bytemode: true, avpkt: Bytes::new(1000), ..Params::default() }, 0.4);
    // 500 B: 0.2. 2000 B: 0.8. 3000 B: certain, so no draw.
    for (bytes, draw, fate) in [
        (500, 0.201, Fate::Queued),
        (500, 0.199, Fate::Dropped(Reason::Early)),
        (2000, 0.801, Fate::Queued),
        (2000, 0.799, Fate::Dropped(Reason::Early)),
        (3000, 0.999, Fate::Dropped(Reason::Early)),
    ] {
        host.bytes = bytes;
        host.random.fixed = Some(draw);
        assert_eq!(host.arrive(), fate, "{bytes} B, {draw}");
    }
}

#[test]
fn derandomization_waits_until_085_and_forces_at_85() {
    let mut host = congested(Params { derandomize: true, ..Params::default() }, 0.3);
    // 0.3, 0.6: too early. 0.9: the draw decides.
    assert_eq!([host.arrive(), host.arrive()], [Fate::Queued, Fate::Queued]);
    assert_eq!(host.random.draws, 0);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    close(host.internal("accumulated_probability"), 0.0);
    // Draws that never drop: 28 arrivals make 8.4; the 29th 8.7, and is dropped whatever is drawn.
    host.random.fixed = Some(0.999);
    assert_eq!(host.arrive_many(28), 28);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    // p = 0 clears the counter.
    host.arrive();
    host.with(|pie| pie.probability = 0.0);
    host.arrive();
    close(host.internal("accumulated_probability"), 0.0);
}

#[test]
fn overflow_comes_first_and_clears_the_counter() {
    let mut host = congested(Params { derandomize: true, limit: Limit::packets(12), ..Params::default() }, 0.3);
    host.arrive();
    host.arrive();
    close(host.internal("accumulated_probability"), 0.6);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Overflow));
    close(host.internal("accumulated_probability"), 0.0);
}

#[test]
fn ecn_marks_below_the_threshold() {
    // Section 5.1: p < 10 % marks, from 10 % on drops.
    for (p, fate) in [(0.099, Fate::Marked), (0.1, Fate::Dropped(Reason::Early))] {
        let mut host = congested(Params { ecn: true, ..Params::default() }, p);
        host.ecn = Ecn::Ect0;
        assert_eq!(host.arrive(), fate, "{p}");
        host.ecn = Ecn::NotEct;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    }
    let mut host = congested(Params::default(), 0.05);
    host.ecn = Ecn::Ect0;
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early), "ecn is off");
}

#[test]
fn timestamps_take_the_heads_age_at_the_nominal_instant() {
    let mut host = Host::<Pie>::new(Params::default());
    host.wait(Span::from_millis(10));
    host.arrive();
    // Nominal instants 15 and 30; seen only at 40. The head joined at 10.
    host.wait(Span::from_millis(19));
    close(host.internal("delay_s"), 0.005);
    host.wait(Span::from_millis(11));
    close(host.internal("delay_s"), 0.020);
}

#[test]
fn departures_take_the_last_sojourn_time() {
    let mut host = Host::<Pie>::new(Params { delay: Delay::Departures, ..Params::default() });
    host.arrive_many(2);
    host.wait(Span::from_millis(4));
    host.send();
    host.wait(Span::from_millis(11));
    close(host.internal("delay_s"), 0.004);
    // The last packet leaves nothing behind: 0.
    host.send();
    host.wait(Span::from_millis(15));
    close(host.internal("delay_s"), 0.0);
}

/// Measures 1000-byte departures, one a millisecond, from a backlog that stays at 20,000 B.
fn measured(weight: Weight, ends_ms: &[u64]) -> f64 {
    let mut departures = Departures::new(Bytes::new(16_384), weight);
    for end in ends_ms {
        departures.departure(ms(*end), 1000, 20_000);
    }
    departures.bytes_s()
}

#[test]
fn departure_rate_by_hand() {
    let first: [u64; 17] = core::array::from_fn(|i| i as u64);
    // 17 packets make 17,000 B, at or above 2^14, after 16 ms. RFC: 16,384 B in 16 ms = 1,024,000 B/s.
    close(measured(Weight::OfTime, &first), 1_024_000.0);
    assert_eq!(measured(Weight::OfTime, &first[..16]), 0.0);
    // By bytes: 17,000 B / 16 ms.
    close(measured(Weight::OfRate(0.125), &first), 1_062_500.0);
    // A second measurement, twice as slow: 17 packets at 20, 22, ..., 52 ms: 32 ms.
    let both: [u64; 34] = core::array::from_fn(|i| if i < 17 { i as u64 } else { 20 + 2 * (i as u64 - 17) });
    // RFC: weight 2^14/2^16: 0.75 x 16 ms + 0.25 x 32 ms = 20 ms: 819,200 B/s.
    close(measured(Weight::OfTime, &both), 819_200.0);
    // By rate the next measurement starts with the last departure of the one before, at 16 ms: 17 packets from
    // 20 to 52 ms make 17,000 B in 36 ms.
    let second = 17_000.0 / 0.036;
    close(measured(Weight::OfRate(0.125), &both), 0.875 * 1_062_500.0 + 0.125 * second);
}

#[test]
fn departure_rate_needs_a_standing_queue() {
    let mut departures = Departures::new(Bytes::new(16_384), Weight::OfTime);
    for at in 0..100 {
        departures.departure(ms(at), 1000, 16_383);
    }
    assert_eq!((departures.bytes_s(), departures.delay(5000)), (0.0, 0.0));
    // Once begun it goes on, whatever is left.
    departures.departure(ms(100), 1000, 16_384);
    for at in 101..117 {
        departures.departure(ms(at), 1000, 0);
    }
    close(departures.bytes_s(), 1_024_000.0);
    // Little's law: 10,240 B / 1,024,000 B/s.
    close(departures.delay(10_240), 0.010);
}

#[test]
fn packets_that_leave_at_one_instant_are_no_infinite_rate() {
    let mut departures = Departures::new(Bytes::new(1500), Weight::OfRate(0.5));
    departures.departure(ms(0), 1000, 9000);
    departures.departure(ms(0), 1000, 9000);
    assert_eq!(departures.bytes_s(), 0.0);
    // 3000 B in 1 ms.
    departures.departure(ms(1), 1000, 9000);
    close(departures.bytes_s(), 3_000_000.0);
}

#[test]
fn departure_rate_drives_the_controller_when_asked_to() {
    let mut host = Host::<Pie>::new(Params { delay: Delay::DepartureRate, ..Params::default() });
    host.arrive_many(60);
    for _ in 0..19 {
        host.send();
        host.wait(Span::from_millis(1));
    }
    // 18 ms is past; the update at 15 ms knew no rate yet. Seventeen packets by 16 ms: 1,024,000 B/s.
    close(host.internal("departure_rate_bytes_s"), 1_024_000.0);
    close(host.internal("delay_s"), 0.0);
    host.wait(Span::from_millis(11));
    // 41 packets of 1000 B wait at 30 ms.
    close(host.internal("delay_s"), 41_000.0 / 1_024_000.0);
}

#[test]
fn activation_at_a_third_of_the_limit() {
    let mut host = Host::<Pie>::new(Params { activate: true, limit: Limit::packets(30), ..Params::default() });
    host.wait(Span::from_millis(1));
    assert_eq!(host.arrive_many(9), 9);
    host.wait(Span::from_millis(60));
    assert_eq!((host.internal("active"), host.internal("drop_probability")), (0.0, 0.0));
    // The tenth makes 3 x 10 >= 30; the controller starts from its beginning.
    host.arrive();
    assert_eq!((host.internal("active"), host.internal("burst_allowance_s")), (1.0, 0.150));
    host.wait(Span::from_millis(15));
    assert!(host.internal("drop_probability") > 0.0);
    while host.send().is_some() {}
    host.wait(Span::from_secs(30));
    assert_eq!(host.internal("active"), 1.0, "only an arrival looks");
    host.arrive();
    assert_eq!(host.internal("active"), 0.0);
    // A burst of eleven: no delay yet and p is 0, but a third of the buffer is in use, so congestion has not gone.
    host.send();
    assert_eq!(host.arrive_many(11), 11);
    assert_eq!(host.internal("active"), 1.0);
}

#[test]
fn updates_come_at_nominal_instants_however_late_they_are_seen() {
    let run = |steps: &[u64]| {
        let mut pie = pie(Params::default());
        let queue = queue_of(10, ms(0));
        pie.updates.start(ms(0));
        for at in steps {
            crate::test_host::advance(&mut pie, ms(*at), &queue);
        }
        (pie.probability, pie.delay_old, pie.burst_allowance)
    };
    let every: [u64; 300] = core::array::from_fn(|i| i as u64);
    let often = run(&every);
    assert_eq!(often, run(&[299]));
    // 19 updates up to 285 ms.
    close(often.1, 0.285);
    assert!(often.0 > 0.1);
}

#[test]
fn a_long_idle_time_takes_bounded_work_and_ends_at_rest() {
    let mut pie = pie(Params::default());
    pie.updates.start(ms(0));
    pie.probability = 1.0;
    pie.delay_old = 5.0;
    pie.delay_seen = 5.0;
    // A century: 2 x 10^11 updates.
    let century = Instant::ZERO + Span::from_secs(3_155_760_000);
    crate::test_host::advance(&mut pie, century, &Queue::default());
    assert_eq!((pie.probability, pie.delay_old, pie.burst_allowance), (0.0, 0.0, Span::ZERO));
    assert_eq!(pie.updates.due(century), 0);
    // A link that stalls as long: certain drop.
    crate::test_host::advance(&mut pie, century + Span::from_secs(3_155_760_000), &queue_of(3, century));
    assert_eq!(pie.probability, 1.0);
}

#[test]
fn every_update_at_rest_is_counted() {
    let mut pie = pie(Params { tupdate: Span::from_micros(1), ..Params::default() });
    pie.updates.start(ms(0));
    // 10,000 updates, each of which takes a microsecond from the 150 ms.
    crate::test_host::advance(&mut pie, ms(10), &Queue::default());
    assert_eq!(pie.burst_allowance, Span::from_millis(140));
}

#[test]
fn who_looks_changes_nothing() {
    // In 5 ms without an event 5000 updates fall due, of which 4096 are made up.
    let run = |looks: bool| {
        let (mut host, mut queue) = (
            DisciplineHost::new(),
            Fifo::<Pie>::new(Params {
                tupdate: Span::from_micros(1),
                target: Span::from_millis(1),
                max_burst: Span::ZERO,
                alpha: Gain::from_hz(0.001),
                beta: Gain::from_hz(0.0),
                ..Params::default()
            }),
        );
        (0..10).for_each(|_| _ = host.offer(&mut queue, 0, 1000, Ecn::NotEct));
        for at in [5.0, 10.0, 15.0] {
            host.at_ms(at);
            if looks {
                host.internal(&mut queue, "drop_probability");
            }
        }
        host.internal(&mut queue, "drop_probability")
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn texts_presets_refusals() {
    for text in [
        "pie limit 500p target 20ms tupdate 30ms ecn",
        "pie alpha 0.25 beta 2.5 bytemode delay departure_rate derandomize",
        "pie variant linux",
    ] {
        assert_eq!(canonical(text), text);
    }
    assert_eq!(canonical("pie preset linux-6.12"), "pie avpkt 1514B delay departures derandomize variant linux");
    assert_eq!(canonical("pie preset ns3"), "pie limit 25p avpkt 1000B delay departures variant ns3");
    let thesis = "pie limit 2000p avpkt 1000B delay departures dq_threshold 20B variant ns3";
    assert_eq!(canonical("pie preset shu2023"), thesis);
    for (text, part) in [
        ("tupdate 0ms", "tupdate is 0"),
        ("target 15", "has no unit"),
        ("avpkt 0", "avpkt is 0"),
        ("dq_threshold 0B", "dq_threshold is 0"),
        ("alpha -1", "a finite number, 0 or more"),
        ("delay head", "allowed: timestamps, departures, departure_rate"),
    ] {
        let error = refused(&format!("pie {text}"));
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn the_tuning_by_its_table_is_that_of_the_rfc() {
    // RFC 8033, section 4.2: the steps of p, each with the share of an adjustment from it on.
    let steps = [(0.1, 1), (0.01, 2), (0.001, 8), (0.000_1, 32), (0.000_01, 128), (0.000_001, 512), (0.0, 2048)];
    let expected = |p: f64| 1.0 / f64::from(steps.iter().find(|(from, _)| p >= *from).unwrap().1);
    for (bound, _) in steps {
        for p in [bound.next_down().max(0.0), bound, bound.next_up(), bound * 1.5, bound * 7.9] {
            assert_eq!(super::auto_tune(p), expected(p), "{p}");
        }
    }
    assert_eq!(super::auto_tune(1.0), 1.0);
}
