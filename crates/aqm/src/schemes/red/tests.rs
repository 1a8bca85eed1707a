use super::*;
use crate::test_host::{canonical, close, refused, Fate, Host, Stream};
use crate::Ecn;
use alloc::vec;
use alloc::vec::Vec;

/// The average is the queue length that an arrival finds.
fn instant() -> Params {
    Params { w: Probability::new(1.0), ..Params::default() }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn p(value: f64) -> Probability {
    Probability::clamped(value)
}

#[test]
fn average_by_hand() {
    let (mut average, weight) = (Average::default(), Weight::new(0.25, 1000.0));
    // w = 1/4: 0.75 x 0 + 0.25 x 8 = 2; 0.75 x 2 + 0.25 x 8 = 3.5.
    average.arrival(at(0), 8, &weight);
    close(average.get(), 2.0);
    average.arrival(at(0), 8, &weight);
    close(average.get(), 3.5);
    // An empty queue under a busy link is not idle: 0.75 x 3.5.
    average.departure(at(5), true);
    average.arrival(at(9), 0, &weight);
    close(average.get(), 2.625);
}

#[test]
fn idle_time_decays_by_mean_packets() {
    let (mut average, weight) = (Average::default(), Weight::new(0.25, 1000.0));
    average.sample(8, 1.0);
    average.departure(at(10), false);
    // A second question changes nothing: idle since 10 ms.
    average.departure(at(11), false);
    // 3 ms at 1000 mean packets a second: m = 3. 8 x 0.75^3 = 3.375, and no further step.
    close(average.at(at(13), &weight), 3.375);
    average.arrival(at(13), 0, &weight);
    close(average.get(), 3.375);
    // The arrival was dropped and the link is still idle: half a packet time more, m = 0.5.
    average.arrival(at(13) + Span::from_micros(500), 0, &weight);
    close(average.get(), 3.375 * 0.75_f64.sqrt());
    // Now one is queued: an ordinary step, and the link is idle no more.
    let before = average.get();
    average.arrival(at(14), 1, &weight);
    close(average.get(), 0.75 * before + 0.25);
    let before = average.get();
    average.arrival(at(99), 0, &weight);
    close(average.get(), 0.75 * before);
}

#[test]
fn regions_plain_and_gentle() {
    let mut band = Band::<Linear>::new(5.0, 15.0, 0.1, false);
    assert_eq!(band.region(4.999), Region::Below);
    assert_eq!(band.region(5.0), Region::Early(0.0));
    // 0.1 x (10 - 5) / 10.
    assert_eq!(band.region(10.0), Region::Early(0.05));
    assert_eq!(band.region(15.0), Region::Forced);
    band.gentle = true;
    assert_eq!(band.region(15.0), Region::Early(0.1));
    // 0.1 + 0.9 x (18 - 15) / 15.
    let Region::Early(p_b) = band.region(18.0) else { panic!() };
    close(p_b, 0.28);
    assert_eq!(band.region(30.0), Region::Forced);
}

#[test]
fn spacing_by_hand() {
    // Uniform: count 0: 0.25; 1: 0.25/0.75; 2: 0.25/0.5; 3: 0.25/0.25; then certain.
    for (count, p_a) in [(0.0, 0.25), (1.0, 1.0 / 3.0), (2.0, 0.5), (3.0, 1.0), (4.0, 1.0), (9.0, 1.0)] {
        close(law::uniform(0.25, count), p_a);
    }
    // wait: nothing while count p_b < 1; then 0.25/(2 - count p_b): 0.25, 1/3, 1/2, 1.
    for (count, p_a) in [(0.0, 0.0), (3.0, 0.0), (4.0, 0.25), (5.0, 1.0 / 3.0), (6.0, 0.5), (7.0, 1.0), (8.0, 1.0)] {
        close(law::wait(0.25, count), p_a);
    }
    assert_eq!(law::uniform(0.0, 1e9), 0.0);
    assert_eq!(law::wait(0.0, 1e9), 0.0);
}

/// How often each spacing between drops occurs while the average stands at 10 and p_b at `p_b`.
fn spacings(params: Params, drops: usize) -> Vec<usize> {
    let mut host = Host::<Red>::new(params);
    host.random.fixed = Some(0.999_999);
    assert_eq!(host.arrive_many(10), 10);
    host.random = Stream::new(7);
    let (mut seen, mut since, mut first) = (vec![0; 32], 0, true);
    while seen.iter().sum::<usize>() < drops {
        since += 1;
        match host.arrive() {
            Fate::Queued => assert!(host.send().is_some()),
            _ => {
                // The first spacing began before the queue stood.
                if !first {
                    seen[since] += 1;
                }
                (since, first) = (0, false);
            }
        }
    }
    seen
}

#[test]
fn signals_are_uniformly_one_to_one_over_p_b_less_one_apart() {
    // avg 10: p_b = 0.2 x 5/10 = 0.1. After a signal count is 1, 2, ...: 1/9, 1/8, ..., 1: uniform on 1 to 9.
    let seen = spacings(Params { max_p: p(0.2), ..instant() }, 9000);
    assert_eq!(seen[0], 0);
    assert_eq!(seen[10..].iter().sum::<usize>(), 0);
    // Binomial: 1000 with standard deviation sqrt(9000 x 1/9 x 8/9) = 29.8; within five of them.
    assert!(seen[1..10].iter().all(|n| (851..=1149).contains(n)), "{seen:?}");
}

#[test]
fn wait_makes_them_one_to_two_over_p_b_apart() {
    // p_b = 0.1: count 10 to 19, each 1/10.
    let seen = spacings(Params { max_p: p(0.2), wait: true, ..instant() }, 10_000);
    assert_eq!(seen[..10].iter().sum::<usize>() + seen[20..].iter().sum::<usize>(), 0, "{seen:?}");
    assert!(seen[10..20].iter().all(|n| (850..=1150).contains(n)), "{seen:?}");
}

#[test]
fn below_min_there_is_no_draw_and_count_is_forgotten() {
    let mut host = Host::<Red>::new(instant());
    host.random.fixed = Some(0.999_999);
    assert_eq!(host.arrive_many(5), 5);
    assert_eq!((host.random.draws, host.internal("count")), (0, -1.0));
    // Finds 5: count 0, p_b 0, no draw. Finds 6: count 1, p_b = 0.1 x 1/10 = 0.01, p_a = 0.01/0.99.
    host.arrive();
    assert_eq!((host.random.draws, host.internal("count")), (0, 0.0));
    host.arrive();
    assert_eq!((host.random.draws, host.internal("count")), (1, 1.0));
    close(host.internal("probability"), 0.01 / 0.99);
    while host.len() > 4 {
        host.send();
    }
    host.arrive();
    assert_eq!((host.internal("count"), host.internal("probability")), (-1.0, 0.0));
}

#[test]
fn from_max_on_every_arrival_is_dropped() {
    let mut host = Host::<Red>::new(instant());
    host.random.fixed = Some(0.999_999);
    // The 16th finds 15. Up to then p_a is below 1: count 9 at 14 found, p_b 0.09, 0.09/(1 - 0.81) = 0.47.
    assert_eq!(host.arrive_many(15), 15);
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    assert_eq!((host.internal("probability"), host.internal("count")), (1.0, 0.0));
}

#[test]
fn bytemode_scales_by_size_and_counts_bytes() {
    let params = Params { bytemode: true, max_p: p(0.2), ..instant() };
    let mut host = Host::<Red>::new(params);
    host.random.fixed = Some(0.999_999);
    host.arrive_many(10);
    // Finds 10: p_b 0.1. The arrivals that found 6 to 9 counted 4 packets of 1000 B (the one that found 5 counted none).
    // This one of 500 B makes it 4.5 mean packets: 0.1/(1 - 0.45), times 500/1000.
    host.bytes = 500;
    host.arrive();
    close(host.internal("probability"), 0.1 / 0.55 * 0.5);
    // Twice the mean is twice as likely: 6.5 mean packets, finds 11: p_b 0.12; 0.12/(1 - 0.78) x 2 is more than 1.
    host.bytes = 2000;
    assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    close(host.internal("probability"), 1.0);
}

#[test]
fn thresholds_in_bytes_average_bytes() {
    let (min, max) = (Length::Bytes(Bytes::new(5000)), Length::Bytes(Bytes::new(15_000)));
    let mut host = Host::<Red>::new(Params { min: Some(min), max: Some(max), ..instant() });
    host.bytes = 500;
    host.random.fixed = Some(0.999_999);
    // 12 packets of 500 B: the next finds 6000 B, p_b = 0.1 x 1000/10000. count: at 5000 found 0, 5500: 1, 6000: 2.
    host.arrive_many(12);
    host.arrive();
    close(host.internal("avg"), 6000.0);
    close(host.internal("probability"), 0.01 / 0.98);
}

#[test]
fn ecn_marks_and_harddrop_drops_where_all_are_signalled() {
    for (harddrop, forced) in [(false, Fate::Marked), (true, Fate::Dropped(Reason::Early))] {
        let mut host = Host::<Red>::new(Params { ecn: true, harddrop, limit: Limit::packets(17), ..instant() });
        host.ecn = Ecn::Ect0;
        host.random.fixed = Some(0.999_999);
        assert_eq!(host.arrive_many(10), 10);
        host.random.fixed = Some(0.0);
        assert_eq!(host.arrive(), Fate::Marked);
        host.random.fixed = Some(0.999_999);
        assert_eq!(host.arrive_many(4), 4);
        assert_eq!(host.arrive(), forced);
        host.ecn = Ecn::NotEct;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        if !harddrop {
            host.ecn = Ecn::Ect0;
            assert_eq!(host.arrive(), Fate::Marked);
            assert_eq!(host.arrive(), Fate::Dropped(Reason::Overflow), "17 wait: a full queue cannot mark");
        }
    }
}

#[test]
fn max_p_adapts_by_the_papers_rule() {
    let next = |max_p: f64, avg: f64| adapt::max_p(max_p, avg, 10.0, 30.0, 0.01, 0.9);
    // Middle fifth of 10..30: 18..22, its ends included in "leave it".
    for avg in [18.0, 20.0, 22.0] {
        assert_eq!(next(0.1, avg), 0.1);
    }
    close(next(0.1, 22.001), 0.11);
    // A quarter of max_p when that is less than alpha: 0.02 + 0.005.
    close(next(0.02, 25.0), 0.025);
    close(next(0.1, 17.999), 0.09);
    // Bounds 0.01 and 0.5.
    close(next(0.495, 25.0), 0.5);
    close(next(0.0105, 5.0), 0.01);
    // Started outside: never moved further out, nor pulled in.
    close(next(0.6, 25.0), 0.6);
    close(next(0.005, 5.0), 0.005);
}

#[test]
fn adaptations_come_at_nominal_instants_however_late_they_are_seen() {
    // avg stands at 14 of 5..15 (high from 11): max_p + 0.01 each half second.
    let params = Params { adaptive: true, ..instant() };
    let mut host = Host::<Red>::new(params);
    host.random.fixed = Some(0.999_999);
    assert_eq!(host.arrive_many(15), 15);
    host.wait(Span::from_millis(499));
    close(host.internal("max_p"), 0.1);
    host.wait(Span::from_millis(1));
    close(host.internal("max_p"), 0.11);
    host.wait(Span::from_millis(2600));
    // 1.0, 1.5, 2.0, 2.5, 3.0 s.
    close(host.internal("max_p"), 0.16);
}

#[test]
fn looking_at_an_unused_queue_changes_nothing() {
    let params = Params { adaptive: true, ..instant() };
    let (mut seen, mut unseen) = (Host::<Red>::new(params.clone()), Host::<Red>::new(params));
    seen.internals();
    for host in [&mut seen, &mut unseen] {
        host.wait(Span::from_secs(10));
        host.arrive();
        host.wait(Span::from_secs(1));
    }
    // Idle by the link's first question only: 10.5 and 11 s see an average of 0, below the band.
    close(seen.internal("max_p"), 0.081);
    assert_eq!(seen.internals(), unseen.internals());
}

#[test]
fn an_idle_link_brings_max_p_down() {
    let params = Params { adaptive: true, ..Params::default() };
    let mut host = Host::<Red>::new(Params { w: Probability::new(0.5), max_p: p(0.2), ..params });
    host.wait(Span::from_millis(100));
    host.arrive_many(15);
    while host.send().is_some() {}
    // The link asked at 0.1 s and got none. By 0.5 s the average has decayed by 0.5^400: below the band.
    host.wait(Span::from_millis(400));
    close(host.internal("max_p"), 0.18);
    // A day: 0.18 x 0.9^n is below 0.01 after 28 steps; bounded work, and at the floor.
    host.wait(Span::from_secs(86_400));
    close(host.internal("max_p"), 0.01);
}

#[test]
fn texts() {
    for text in [
        "red limit 1200p min 30p max 90p",
        "red min 45000B max 90000B gentle wait ecn",
        "red min none max none w none adaptive",
    ] {
        assert_eq!(canonical(text), text);
    }
    assert_eq!(canonical("red min 30p max 90p limit 1000p"), "red min 30p max 90p");
    assert_eq!(canonical("red min 30 p max 90 p"), "red min 30p max 90p");
}

#[test]
fn presets() {
    assert_eq!(canonical("red preset ns3"), "red limit 25p max_p 0.02 avpkt 500B gentle wait harddrop");
    assert_eq!(canonical("red preset linux-6.12"), "red limit 400000B min 30000B max 90000B max_p 0.02 w 0.03125");
    assert_eq!(
        canonical("red preset shu2023"),
        "red limit 2000p min 500p max 1000p max_p 0.02 avpkt 500B gentle wait harddrop"
    );
    // What is printed may also be written, and says the same.
    let written = "red preset shu2023 min 500p max 1000p w 0.002 target 5ms alpha 0.01 beta 0.9";
    assert_eq!(canonical(written), canonical("red preset shu2023"));
}

#[test]
fn refusals() {
    for (text, part) in [
        // To tc these are bytes, and its own arithmetic refuses them: a burst of (30 + 30 + 90) / 3000 = 0 packets.
        ("min 30", "burst 0 is too small for min, which is 0.03 mean packets; allowed: 1 or more (tc counts bytes"),
        ("nodrop", "nodrop is given without ecn"),
        ("min 30x", "\"30x\" is refused"),
        ("min 90p max 30p", "min (90p) is not below max (30p)"),
        ("min 15p", "min (15p) is not below max (15p)"),
        ("min 5kB", "both in packets or both in bytes"),
        ("min none", "max is given without min"),
        ("min 0p max none", "min is 0"),
        ("w 0", "w is 0"),
        ("w 2", "outside 0 to 1"),
        ("avpkt 0", "avpkt is 0"),
        ("interval 0ms", "interval is 0"),
        ("preset ns2", "allowed: ns3, linux-6.1, linux-6.12, linux-7.2, shu2023"),
    ] {
        let error = refused(&format!("red {text}"));
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn an_algorithm_on_red_has_the_values_of_a_caller_that_does_not_check_them() {
    macro_rules! as_given {
        ($packets:path; $($scheme:ident)+) => {$({
            use crate::schemes::$scheme;
            // `check` refuses a min that is not below max. No value is a default.
            let params = $scheme::Params {
                limit: Packets::new(99).shared(),
                min: $packets(70).shared(),
                max: $packets(60).shared(),
                max_p: p(1.0 / 3.0),
                w: p(1.0 / 7.0).shared(),
                ecn: true,
                ..Default::default()
            };
            let red = Params::from(&params);
            assert!(red.check().is_err());
            let found = (red.limit, red.min, red.max, red.max_p, red.w, red.ecn);
            let (min, max) = (Some(Length::packets(70)), Some(Length::packets(60)));
            let given = (Limit::packets(99), min, max, p(1.0 / 3.0), Some(p(1.0 / 7.0)), true);
            assert_eq!(found, given, stringify!($scheme));
        })+};
    }
    as_given!(Packets::new; black choke fred);
    as_given!(Length::packets; ared nlred shred);
}
