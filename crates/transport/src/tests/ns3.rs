//! ns-3's TCP where it is not Linux's: CUBIC, Reno and the retransmission timer, on a sender driven by hand.

use super::*;
use crate::segment::SackBlock;
use crate::{Ack, Data, RtoRule, Sender};

fn drain(sender: &mut Sender, now: Instant) -> Vec<Data> {
    std::iter::from_fn(|| sender.poll(now)).collect()
}

/// All before segment `up_to` and the segments from `first` to before `last` of each block.
fn ack(up_to: u64, blocks: &[(u64, u64)], echo: Instant) -> Ack {
    let mut ack = Ack { ack: up_to * MSS, echo, window: 1 << 30, ..Ack::default() };
    for (block, (first, last)) in ack.sack.iter_mut().zip(blocks) {
        *block = SackBlock { offset: ((first - up_to) * MSS) as u32, len: ((last - first) * MSS) as u32 };
    }
    ack
}

fn with_rto(rto: RtoRule) -> Sender {
    Sender::new(Config { rto, min_rto: ms(1000), ..bulk("ns3_cubic") })
}

/// Segments 0, 3 and 6 of ten are missing; the retransmissions of 0 and 3 arrive at 200 and 250 ms.
fn in_a_long_recovery(rto: RtoRule) -> Sender {
    let mut s = with_rto(rto);
    assert_eq!(drain(&mut s, at_ms(0)).len(), 10);
    s.on_ack(at_ms(100), &ack(0, &[(1, 3), (4, 6), (7, 10)], at_ms(0)));
    drain(&mut s, at_ms(100));
    s.on_ack(at_ms(200), &ack(3, &[(4, 6), (7, 10)], at_ms(100)));
    drain(&mut s, at_ms(200));
    s.on_ack(at_ms(250), &ack(6, &[(7, 10)], at_ms(100)));
    drain(&mut s, at_ms(250));
    s
}

#[test]
fn only_the_first_partial_acknowledgement_restarts_the_timer() {
    assert_eq!(in_a_long_recovery(RtoRule::Rfc6298).timer(), at_ms(1250));
    assert_eq!(in_a_long_recovery(RtoRule::Ns3).timer(), at_ms(1200));
}

#[test]
fn what_was_sent_again_gives_no_sample_though_timestamps_would() {
    // 100 ms from the second acknowledgement's echo, then 150 ms: 7/8 x 100 + 1/8 x 150 = 106.25 ms.
    assert_eq!(in_a_long_recovery(RtoRule::Rfc6298).srtt(), Span::from_micros(106_250));
    assert_eq!(in_a_long_recovery(RtoRule::Ns3).srtt(), Span::ZERO);
}

#[test]
fn a_timeout_in_a_recovery_lowers_the_threshold_again() {
    // The loss: 0.7 x 10 segments. The recovery holds the window below that; 0.7 of it in whole segments.
    for rto in [RtoRule::Rfc6298, RtoRule::Ns3] {
        let mut s = in_a_long_recovery(rto);
        assert_eq!(s.ssthresh(), segments(7));
        let window = s.cwnd().get() / MSS;
        assert!(window <= 7, "{window}");
        let at = s.timer();
        s.on_timer(at);
        assert_eq!((s.stats().timeouts, s.cwnd()), (1, segments(1)));
        let expected = if rto == RtoRule::Ns3 { (window * 7 / 10).max(2) } else { 7 };
        assert_eq!(s.ssthresh(), segments(expected), "{rto:?}");
    }
}

#[test]
fn every_expiry_lowers_the_threshold() {
    // Half of ten segments; then, where the second expiry counts, half of one, but two at the least.
    for (rto, second) in [(RtoRule::Rfc6298, 5), (RtoRule::Ns3, 2)] {
        let mut s = Sender::new(Config { rto, min_rto: ms(1000), ..bulk("ns3_reno") });
        drain(&mut s, at_ms(0));
        for threshold in [5, second] {
            let at = s.timer();
            s.on_timer(at);
            assert_eq!(s.ssthresh(), segments(threshold), "{rto:?}");
            drain(&mut s, at);
        }
    }
}

#[test]
fn the_back_off_ends_with_any_advance() {
    for (rto, timer) in [(RtoRule::Rfc6298, 3100), (RtoRule::Ns3, 2100)] {
        let mut s = Sender::new(Config { timestamps: false, rto, min_rto: ms(1000), ..bulk("ns3_cubic") });
        drain(&mut s, at_ms(0));
        s.on_timer(at_ms(1000));
        drain(&mut s, at_ms(1000));
        // Karn: no sample. The timeout is 1 s, doubled while the back-off lasts.
        s.on_ack(at_ms(1100), &ack(1, &[], at_ms(1000)));
        assert_eq!(s.timer(), at_ms(timer), "{rto:?}");
    }
}

#[test]
fn what_was_outstanding_at_a_timeout_does_not_open_the_window() {
    // All ten arrived after all: Reno counts them in slow start, here only what lies beyond them does.
    for (algorithm, window) in [("reno", 5 + 1), ("ns3_cubic", 1), ("ns3_reno", 1)] {
        let mut s = Sender::new(bulk(algorithm));
        drain(&mut s, at_ms(0));
        s.on_timer(at_ms(1000));
        drain(&mut s, at_ms(1000));
        s.on_ack(at_ms(1100), &ack(10, &[], at_ms(0)));
        assert_eq!(s.cwnd(), segments(window), "{algorithm}");
    }
}

#[test]
fn the_window_grows_though_the_application_does_not_use_it() {
    // A segment at a time. HyStart's rounds end with every acknowledgement: it never has its eight samples.
    for (algorithm, window) in [("cubic", 10), ("reno", 10), ("ns3_cubic", 10 + 100), ("ns3_reno", 10 + 100)] {
        assert_eq!(after_a_hundred(algorithm).cwnd(), segments(window), "{algorithm}");
    }
}

/// Segments 0 to 99 sent and acknowledged one at a time, 100 ms each.
fn after_a_hundred(algorithm: &str) -> Sender {
    let mut s = Sender::new(Config { unlimited: false, slow_start_after_idle: false, ..bulk(algorithm) });
    for k in 0..100 {
        one_segment(&mut s, k);
    }
    s
}

/// Segment `k`, sent and acknowledged alone.
fn one_segment(s: &mut Sender, k: u64) {
    let at = at_ms(100 * k);
    s.write(segments(1));
    assert_eq!(drain(s, at).len(), 1);
    s.on_ack(at + ms(50), &ack(k + 1, &[], at));
}

#[test]
fn half_of_an_unused_window_is_no_reduction() {
    let mut s = after_a_hundred("ns3_reno");
    s.write(segments(10));
    assert_eq!(drain(&mut s, at_ms(10_000)).len(), 10);
    s.on_ack(at_ms(10_100), &ack(100, &[(101, 104)], at_ms(10_000)));
    // 110 / 2, though ten were in flight.
    assert_eq!((s.stats().fast_retransmits, s.ssthresh()), (1, segments(55)));
    drain(&mut s, at_ms(10_100));
    s.on_ack(at_ms(10_200), &ack(110, &[], at_ms(10_100)));
    // That covers ten segments, SACKed or not; 55 acknowledged make the window grow, so 45 more.
    for k in 110..154 {
        one_segment(&mut s, k);
    }
    assert_eq!(s.cwnd(), segments(55));
    one_segment(&mut s, 154);
    assert_eq!(s.cwnd(), segments(56));
}

#[test]
fn short_segments_count_for_what_they_are() {
    let mut s = Sender::new(Config { unlimited: false, slow_start_after_idle: false, ..bulk("ns3_reno") });
    for k in 1..=10 {
        let at = at_ms(100 * k);
        s.write(Bytes::new(MSS / 2));
        assert_eq!(drain(&mut s, at).len(), 1);
        s.on_ack(at + ms(50), &Ack { ack: k * MSS / 2, echo: at, window: 1 << 30, ..Ack::default() });
    }
    // Ten halves are five segments.
    assert_eq!(s.cwnd(), segments(10 + 5));
}

#[test]
fn three_short_segments_tell_of_a_loss_and_it_is_sent_again_before_recovery() {
    // 1500 B SACKed in one piece: not three ranges and less than two segments, so nothing is lost by RFC 6675.
    for (recovery, again) in [(Recovery::Sack, vec![]), (Recovery::Ns3, vec![0])] {
        let mut s = Sender::new(Config { unlimited: false, recovery, ..bulk("ns3_reno") });
        for _ in 0..4 {
            s.write(Bytes::new(500));
            assert_eq!(drain(&mut s, at_ms(0)).len(), 1);
        }
        let sack = [SackBlock { offset: 500, len: 1500 }, SackBlock::default(), SackBlock::default()];
        s.on_ack(at_ms(100), &Ack { ack: 0, sack, window: 1 << 30, ..Ack::default() });
        let sent: Vec<u64> = drain(&mut s, at_ms(100)).iter().map(|data| data.seq).collect();
        assert_eq!((sent, s.stats().fast_retransmits), (again, 0), "{recovery:?}");
    }
}

#[test]
fn hystart_ends_slow_start_when_the_smoothed_rtt_has_doubled() {
    // 16 segments at 10 ms, then RTTs that rise: out when the smallest smoothed RTT of a round's first eight passes
    // 10 + max(4, 10) ms, where an eighth of the RTT, at least 4 ms, would do for `cubic`.
    let left_at = |rtt: u64| {
        let mut s = Sender::new(bulk("ns3_cubic"));
        let (mut now, mut una) = (0, 0);
        for round in 0..6 {
            let sent = drain(&mut s, at_ms(now));
            let rtt = if round < 2 { 10 } else { rtt };
            // Acknowledgements 3 ms apart are no train.
            for (k, _) in sent.iter().enumerate() {
                una += 1;
                s.on_ack(at_ms(now + rtt + 3 * k as u64), &ack(una, &[], at_ms(now + 3 * k as u64)));
            }
            now += rtt + 3 * sent.len() as u64;
        }
        s.ssthresh() < segments(1 << 20)
    };
    assert!(!left_at(19));
    assert!(left_at(40));
}
