//! Finding and mending losses.

use super::*;
use crate::{Data, ReceiverConfig};
use sojourn_units::BitRate;

const ALL: [Recovery; 3] = [Recovery::Reno, Recovery::NewReno, Recovery::Sack];

fn every_segment(recovery: Recovery) -> ReceiverConfig {
    ReceiverConfig { ack_every: Packets::new(1), sack: recovery == Recovery::Sack, ..ReceiverConfig::default() }
}

/// `reno` without PRR: the RFCs' own reductions. RTT 100 ms; flights leave at 0, 100, 200 ms: 0-9, 10-29, 30-69, 70-149.
fn path(recovery: Recovery, lost: &'static [u64]) -> Path {
    let mut path = Path::new(Config { recovery, prr: false, ..bulk("reno") }, every_segment(recovery), ms(100));
    path.fate = Box::new(drop_once(lost));
    path
}

#[test]
fn a_single_loss_is_mended_without_the_timer_in_every_way() {
    for recovery in ALL {
        for prr in [false, true] {
            let mut path = path(recovery, &[40]);
            path.sender = crate::Sender::new(Config { recovery, prr, ..bulk("reno") });
            path.run(at_ms(390));
            // 30 to 69 left at 200 ms; the duplicates come at 300 ms.
            assert_eq!(retransmissions(&path), [(300, 40)], "{recovery:?} {prr}");
            // 40 segments and the ten of 30 to 39 acknowledged before: 50, halved.
            assert_eq!(path.sender.ssthresh(), segments(25), "{recovery:?} {prr}");
            path.run(at_ms(450));
            assert_eq!(path.sender.cwnd(), segments(25), "{recovery:?} {prr}");
            let stats = path.sender.stats();
            assert_eq!((stats.fast_retransmits, stats.timeouts, stats.segments_retransmitted), (1, 0, 1));
            assert_eq!(path.receiver.stats().duplicate_segments, 0);
        }
    }
}

#[test]
fn three_losses_take_newreno_three_round_trips_and_sack_one() {
    let mut newreno = path(Recovery::NewReno, &[40, 45, 50]);
    newreno.run(at_ms(1_000));
    assert_eq!(retransmissions(&newreno), [(300, 40), (400, 45), (500, 50)]);
    let mut sack = path(Recovery::Sack, &[40, 45, 50]);
    sack.run(at_ms(1_000));
    assert_eq!(retransmissions(&sack), [(300, 40), (300, 45), (300, 50)]);
    for path in [newreno, sack] {
        let stats = path.sender.stats();
        assert_eq!((stats.fast_retransmits, stats.timeouts), (1, 0));
        assert_eq!(path.receiver.stats().duplicate_segments, 0);
    }
}

#[test]
fn three_losses_cost_plain_reno_a_timeout() {
    // RFC 5681 leaves recovery on the partial acknowledgement; nothing below the recovery point is resent before the timer.
    let mut path = path(Recovery::Reno, &[40, 45, 50]);
    path.run(at_ms(3_000));
    let stats = path.sender.stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts), (1, 1));
    assert!(path.receiver.delivered() > segments(500));
}

#[test]
fn half_a_window_lost_is_mended_by_sack_in_recovery() {
    const LOST: [u64; 20] = [50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69];
    for prr in [false, true] {
        // 30 to 49 arrive, 50 to 69 do not, 70 and on come with the acknowledgements of the former.
        let mut path = path(Recovery::Sack, &LOST);
        path.sender = crate::Sender::new(Config { prr, ..bulk("reno") });
        path.run(at_ms(2_000));
        let stats = path.sender.stats();
        assert_eq!((stats.fast_retransmits, stats.timeouts, stats.segments_retransmitted), (1, 0, 20), "{prr}");
        assert_eq!(path.receiver.stats().duplicate_segments, 0);
        // 20 acknowledged and 40 sent: 60 segments of window, halved.
        assert!(path.sender.ssthresh() == segments(30), "{}", path.sender.ssthresh());
    }
}

#[test]
fn prr_catches_up_in_slow_start_after_a_heavy_loss() {
    const LOST: [u64; 34] = {
        let mut lost = [0; 34];
        let mut i = 0;
        while i < 34 {
            lost[i] = 36 + i as u64;
            i += 1;
        }
        lost
    };
    // 30 to 35 bring 12 new segments, whose duplicates come at 400 ms: two bring new ones (limited transmit), ten bring
    // retransmissions. At 500 ms the former bring one each and the latter two each: 10 + 2 + 20 of 34.
    // Mere conservation would have sent 10 + 2 + 10.
    let mut path = path(Recovery::Sack, &LOST);
    path.sender = crate::Sender::new(bulk("reno"));
    path.run(at_ms(590));
    assert_eq!((path.sender.stats().segments_retransmitted, path.sender.stats().timeouts), (32, 0));
    path.run(at_ms(700));
    assert_eq!((path.sender.stats().segments_retransmitted, path.sender.stats().timeouts), (34, 0));
    assert!(path.sender.acknowledged() >= segments(84));
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    for recovery in [Recovery::NewReno, Recovery::Sack] {
        let mut path = path(recovery, &[]);
        let mut losses = 0;
        path.fate = Box::new(move |_, data: &Data| {
            let lost = data.seq == 40 * MSS && losses < 2;
            losses += u32::from(lost);
            if lost {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        });
        path.run(at_ms(3_000));
        let stats = path.sender.stats();
        assert_eq!((stats.fast_retransmits, stats.timeouts), (1, 1), "{recovery:?}");
        // Resent at 300 ms; the timer of srtt + 200 ms runs from there.
        let times: Vec<u64> = retransmissions(&path).iter().filter(|(_, n)| *n == 40).map(|(at, _)| *at).collect();
        assert_eq!(times, [300, 600], "{recovery:?}");
        assert!(path.receiver.delivered() > segments(300));
    }
}

#[test]
fn after_a_timeout_only_what_is_missing_is_sent_again_by_sack() {
    // 40 to 91 is all that leaves from 200 ms on; it is lost but for 60 and 61: less than IsLost asks for.
    let mut path = path(Recovery::Sack, &[]);
    path.fate = Box::new(|_, data: &Data| {
        let n = data.seq / MSS;
        let gone = (40..92).contains(&n) && !(60..62).contains(&n) && !data.has(Data::RETRANSMIT);
        if gone {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    path.run(at_ms(3_000));
    assert_eq!(path.sender.stats().timeouts, 1);
    assert_eq!(path.receiver.stats().duplicate_segments, 0);
    assert!(retransmissions(&path).iter().all(|(_, n)| !(60..62).contains(n)));
}

#[test]
fn the_tail_lost_waits_for_the_timer() {
    for recovery in ALL {
        let config = Config { recovery, unlimited: false, ..bulk("reno") };
        let mut path = Path::new(config, every_segment(recovery), ms(100));
        path.fate = Box::new(drop_once(&[19]));
        path.transfer(segments(20), at_ms(2_000));
        // 10 to 19 left at 100 ms, 18 is acknowledged at 200 ms, the timeout is 300 ms.
        assert_eq!(retransmissions(&path), [(500, 19)], "{recovery:?}");
        assert_eq!((path.sender.stats().timeouts, path.now), (1, at_ms(600)));
    }
}

#[test]
fn limited_transmit_saves_small_windows_from_the_timer() {
    for recovery in ALL {
        for limited_transmit in [false, true] {
            let config =
                Config { recovery, limited_transmit, prr: false, window_limit: Some(segments(3)), ..bulk("reno") };
            let mut path = Path::new(config, every_segment(recovery), ms(100));
            path.fate = Box::new(drop_once(&[30]));
            path.run(at_ms(3_000));
            // 30, 31, 32 in flight give two duplicates: not enough, unless they bring two new segments.
            let stats = path.sender.stats();
            let expected = if limited_transmit { (1, 0) } else { (0, 1) };
            assert_eq!((stats.fast_retransmits, stats.timeouts), expected, "{recovery:?} {limited_transmit}");
        }
    }
}

/// A window of 50 on a path of 100 ms whose acknowledgements are spread out by a bottleneck of one segment each 2 ms;
/// one loss. Returns the longest pause between transmissions from the loss on, the sent and the delivered during recovery.
fn recovery_on_a_bottleneck(prr: bool) -> (Span, u64, u64) {
    let config = Config { prr, window_limit: Some(segments(50)), ..bulk("reno") };
    let mut path = Path::new(config, every_segment(Recovery::Sack), ms(98));
    path.bottleneck = Some((BitRate::from_bit_s(6_000_000), 1000));
    path.fate = Box::new(drop_once(&[300]));
    path.run_while(at_ms(5_000), |p| p.sender.stats().fast_retransmits == 0);
    let (start, sent, acks) = (path.now, path.sent.len(), path.acks_arrived);
    path.run_while(at_ms(5_000), |p| p.sender.acknowledged() < segments(301));
    assert_eq!((path.sender.cwnd(), path.sender.stats().timeouts), (segments(25), 0));
    let times: Vec<Instant> = path.sent.iter().map(|(at, _)| *at).filter(|at| *at >= start).collect();
    let pause = times.windows(2).map(|w| w[1] - w[0]).max().unwrap_or_default();
    (pause, (path.sent.len() - sent) as u64 + 1, path.acks_arrived - acks)
}

#[test]
fn prr_spreads_the_reduction_over_the_round_trip() {
    // Without: half the window must drain, 25 acknowledgements 2 ms apart, before anything new is sent.
    let (pause, _, _) = recovery_on_a_bottleneck(false);
    assert!(pause >= ms(40), "{pause}");
    // With: one for every two delivered.
    let (pause, sent, delivered) = recovery_on_a_bottleneck(true);
    assert!(pause <= ms(6), "{pause}");
    assert!(sent.abs_diff(delivered / 2) <= 2, "{sent} sent for {delivered}");
}

#[test]
fn marks_reduce_the_window_once_a_round_trip_and_lose_nothing() {
    let config = Config { ecn: true, ..bulk("reno") };
    let mut path = Path::new(config, every_segment(Recovery::Sack), ms(100));
    path.fate =
        Box::new(|_, data: &Data| if [40, 45, 60].contains(&(data.seq / MSS)) { Fate::Mark } else { Fate::Deliver });
    path.run(at_ms(890));
    let stats = path.sender.stats();
    assert_eq!((stats.ecn_reductions, stats.fast_retransmits, stats.segments_retransmitted), (1, 0, 0));
    // 40 is acknowledged at 300 ms: 30 to 39 have made the window 50; halved, and one more each round trip since 500 ms.
    assert_eq!(path.sender.ssthresh(), segments(25));
    assert!((25..=29).contains(&(path.sender.cwnd().get() / MSS)), "{}", path.sender.cwnd());
    // CWR is announced once, with the first new segment after the reduction.
    assert_eq!(path.sent.iter().filter(|(_, d)| d.has(Data::CWR)).count(), 1);
    assert!(path.sent.iter().all(|(_, d)| d.has(Data::ECT)));

    // All marked: a reduction a round trip or (the announcement takes one) every other, down to two segments.
    let mut path = Path::new(config, every_segment(Recovery::Sack), ms(100));
    path.run(at_ms(250));
    path.fate = Box::new(|_, _| Fate::Mark);
    path.run(at_ms(2_250));
    let reductions = path.sender.stats().ecn_reductions;
    assert!((9..=20).contains(&reductions), "{reductions}");
    assert_eq!(path.sender.ssthresh(), segments(2));
    assert_eq!(path.sender.stats().timeouts, 0);
}

#[test]
fn without_ecn_marks_mean_nothing() {
    let mut path = Path::new(bulk("reno"), every_segment(Recovery::Sack), ms(100));
    path.fate = Box::new(|_, _| Fate::Mark);
    path.run(at_ms(399));
    assert_eq!(per_round_trip(&path, ms(100)), [10, 20, 40, 80]);
    assert!(path.sent.iter().all(|(_, d)| !d.has(Data::ECT)));
}

#[test]
fn reordering_by_less_than_three_segments_is_not_loss() {
    let mut path = Path::new(bulk("reno"), every_segment(Recovery::Sack), ms(100));
    path.bottleneck = Some((BitRate::from_bit_s(12_000_000), 1000));
    // Segments are 1 ms apart: 2.5 ms late is behind two others.
    path.fate = Box::new(|n, _| if n % 20 == 19 { Fate::Late(Span::from_micros(2_500)) } else { Fate::Deliver });
    path.run(at_ms(1_000));
    assert_eq!(path.sender.stats().segments_retransmitted, 0);
    assert!(path.receiver.stats().out_of_order_segments > 20);
}

#[test]
fn growth_does_not_count_what_was_sacked_before() {
    // 40 is lost and its retransmission mends a hole below hundreds of SACKed segments: that is one segment of growth.
    let mut path = Path::new(bulk("reno"), every_segment(Recovery::Sack), ms(100));
    path.fate = Box::new(drop_once(&[40]));
    path.run_while(at_ms(1_000), |p| p.sender.acknowledged() <= segments(40));
    assert!(path.sender.acknowledged() > segments(60));
    assert_eq!(path.sender.cwnd(), path.sender.ssthresh());
}
