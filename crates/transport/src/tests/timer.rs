//! The retransmission timer, on a sender driven by hand.

use super::*;
use crate::{Ack, Data, ReceiverConfig, RtoRule, Sender};

fn sender() -> Sender {
    Sender::new(bulk("reno"))
}

fn drain(sender: &mut Sender, now: Instant) -> Vec<Data> {
    std::iter::from_fn(|| sender.poll(now)).collect()
}

fn ack(up_to: u64, echo: Instant) -> Ack {
    Ack { ack: up_to * MSS, echo, window: 1 << 30, ..Ack::default() }
}

#[test]
fn it_runs_from_the_first_segment_and_restarts_with_each_advance() {
    let mut s = sender();
    assert_eq!(s.timer(), Instant::NEVER);
    assert_eq!(drain(&mut s, at_ms(5)).len(), 10);
    assert_eq!(s.timer(), at_ms(1005));
    s.on_ack(at_ms(105), &ack(2, at_ms(5)));
    // The first sample of 100 ms: 100 + max(2 * 100, 200).
    assert_eq!((s.srtt(), s.timer()), (ms(100), at_ms(405)));
    // Later transmissions do not move it.
    assert_eq!(drain(&mut s, at_ms(106)).len(), 4);
    assert_eq!(s.timer(), at_ms(405));
    s.on_ack(at_ms(110), &ack(3, at_ms(10)));
    assert_eq!(s.timer(), at_ms(410));
    // All acknowledged: off.
    s.on_ack(at_ms(206), &ack(14, at_ms(106)));
    assert_eq!(s.timer(), Instant::NEVER);
}

#[test]
fn each_expiry_doubles_it_and_sends_one_segment() {
    let mut s = sender();
    drain(&mut s, at_ms(0));
    let mut expiries = Vec::new();
    for _ in 0..10 {
        let at = s.timer();
        expiries.push(at.nanos() / 1_000_000_000);
        s.on_timer(at);
        let sent = drain(&mut s, at);
        assert_eq!((sent.len(), sent[0].seq, sent[0].flags), (1, 0, Data::RETRANSMIT));
        assert_eq!(s.cwnd(), segments(1));
    }
    // 1 s, then 2, 4, ... 64, and 120 from there on.
    assert_eq!(expiries, [1, 3, 7, 15, 31, 63, 127, 247, 367, 487]);
    assert_eq!((s.stats().timeouts, s.stats().segments_retransmitted), (10, 10));
}

#[test]
fn too_early_a_call_does_nothing() {
    let mut s = sender();
    drain(&mut s, at_ms(0));
    s.on_timer(at_ms(999));
    assert_eq!((s.stats().timeouts, s.timer(), s.poll(at_ms(999))), (0, at_ms(1000), None));
}

#[test]
fn an_acknowledgement_ends_the_back_off_and_moves_the_deadline_earlier() {
    let mut s = sender();
    drain(&mut s, at_ms(0));
    for _ in 0..4 {
        let at = s.timer();
        s.on_timer(at);
        drain(&mut s, at);
    }
    // Expired at 1, 3, 7 and 15 s.
    assert_eq!(s.timer(), at_ms(31_000));
    s.on_ack(at_ms(15_100), &ack(1, at_ms(15_000)));
    assert_eq!(s.timer(), at_ms(15_400));
    // Slow start over what was taken as lost.
    assert_eq!(drain(&mut s, at_ms(15_100)).iter().map(|d| d.seq / MSS).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn without_timestamps_a_retransmission_gives_no_sample_and_the_back_off_stays() {
    let mut s = Sender::new(Config { timestamps: false, ..bulk("reno") });
    drain(&mut s, at_ms(0));
    s.on_timer(at_ms(1000));
    drain(&mut s, at_ms(1000));
    s.on_ack(at_ms(1100), &ack(1, at_ms(1000)));
    assert_eq!((s.srtt(), s.rto(), s.timer()), (Span::ZERO, ms(2000), at_ms(3100)));
    drain(&mut s, at_ms(1100));
    // 1 and 2 were sent again, too: Karn.
    s.on_ack(at_ms(1200), &ack(3, at_ms(1100)));
    assert_eq!(s.srtt(), Span::ZERO);
}

#[test]
fn an_acknowledgement_that_covers_a_retransmission_gives_no_sample() {
    let mut s = Sender::new(Config { timestamps: false, recovery: Recovery::NewReno, ..bulk("reno") });
    drain(&mut s, at_ms(0));
    for _ in 0..3 {
        s.on_ack(at_ms(100), &ack(0, at_ms(0)));
        drain(&mut s, at_ms(100));
    }
    assert_eq!(s.stats().segments_retransmitted, 1);
    // 1 to 9 were sent once, but arrived long before: 200 ms would be the time that the hole took.
    s.on_ack(at_ms(200), &ack(10, at_ms(0)));
    assert_eq!((s.srtt(), s.acknowledged()), (Span::ZERO, segments(10)));
}

#[test]
fn a_timeout_halves_once_and_goes_on_from_the_first_hole() {
    let mut s = sender();
    drain(&mut s, at_ms(0));
    let at = s.timer();
    s.on_timer(at);
    assert_eq!((s.cwnd(), s.ssthresh(), s.in_flight()), (segments(1), segments(5), Bytes::ZERO));
    drain(&mut s, at);
    assert_eq!(s.in_flight(), segments(1));
    let again = s.timer();
    s.on_timer(again);
    // The second expiry of the same segment is no news: ssthresh would be max(1 / 2, 2) = 2 otherwise.
    assert_eq!(s.ssthresh(), segments(5));
}

#[test]
fn rfc_6298_and_ns3_wait_at_least_a_second() {
    let config = Config { rto: RtoRule::Rfc6298, min_rto: Span::from_secs(1), ..bulk("newreno") };
    let mut path = Path::new(config, ReceiverConfig::default(), ms(50));
    path.run(at_ms(500));
    assert_eq!(path.sender.rto(), Span::from_secs(1));
    assert_eq!(path.sender.timer(), at_ms(1500));
}

#[test]
fn a_path_that_was_down_comes_back() {
    let mut path = Path::new(bulk("cubic"), ReceiverConfig::default(), ms(100));
    path.run(at_ms(1_000));
    let up = path.receiver.delivered();
    path.fate = Box::new(|_, _| Fate::Drop);
    path.run(at_ms(8_000));
    // What was on its way arrives; then the timer expires after about 0.3, 0.6, 1.2, 2.4 s: 4 times in 7 s.
    assert_eq!(path.sender.stats().timeouts, 4);
    path.fate = Box::new(|_, _| Fate::Deliver);
    path.run(at_ms(15_000));
    assert!(path.receiver.delivered() > up + segments(1_000), "{}", path.receiver.delivered());
    // The fifth, after 4.8 s more, finds it up.
    assert_eq!(path.sender.stats().timeouts, 5);
}

#[test]
fn a_timeout_after_progress_halves_again() {
    let mut s = sender();
    drain(&mut s, at_ms(0));
    s.on_timer(at_ms(1000));
    drain(&mut s, at_ms(1000));
    s.on_ack(at_ms(1100), &ack(1, at_ms(1000)));
    drain(&mut s, at_ms(1100));
    s.on_ack(at_ms(1200), &ack(3, at_ms(1100)));
    drain(&mut s, at_ms(1200));
    // Slow start: 1, 2, 4.
    assert_eq!((s.cwnd(), s.ssthresh()), (segments(4), segments(5)));
    let at = s.timer();
    s.on_timer(at);
    assert_eq!((s.cwnd(), s.ssthresh()), (segments(1), segments(2)));
}

#[test]
fn a_fast_retransmit_restarts_it() {
    let mut s = sender();
    drain(&mut s, at_ms(0));
    s.on_ack(at_ms(100), &ack(1, at_ms(0)));
    drain(&mut s, at_ms(100));
    assert_eq!(s.timer(), at_ms(400));
    for n in 1..=3 {
        let mut duplicate = ack(1, at_ms(0));
        duplicate.sack[0] = crate::SackBlock { offset: MSS as u32, len: (n * MSS) as u32 };
        s.on_ack(at_ms(150), &duplicate);
    }
    assert!(drain(&mut s, at_ms(150)).iter().any(|d| d.seq == MSS && d.has(Data::RETRANSMIT)));
    // The duplicates were samples of 150 ms: SRTT 100 + 50/8 + ..., deviation still below the 200 ms that count.
    assert_eq!(s.timer(), at_ms(150) + s.rto());
}

#[test]
fn timestamps_with_a_tick_tell_whole_ticks_and_only_of_what_was_sent_again() {
    // Sent at 0.3 ms, acknowledged at 25.4 ms: the times of sending tell 25.1 ms, as without a tick.
    let us = |us: u64| Instant::ZERO + Span::from_micros(us);
    let rtts = |timestamp_tick: Span| {
        let mut s = Sender::new(Config { timestamp_tick, ..bulk("reno") });
        drain(&mut s, us(300));
        s.on_ack(us(25_400), &ack(1, us(300)));
        let certain = s.srtt();
        drain(&mut s, us(25_400));
        // The timer sends segment 1 again at 500.9 ms, and 526.0 ms is 25.1 ms later: 526 less 500 ticks.
        s.on_timer(us(500_900));
        drain(&mut s, us(500_900));
        s.on_ack(us(526_000), &ack(2, us(500_900)));
        (certain, s.srtt())
    };
    let first = Span::from_micros(25_100);
    assert_eq!(rtts(Span::ZERO), (first, first));
    // An eighth of the way from 25.1 to 26 ms.
    assert_eq!(rtts(ms(1)), (first, Span::from_nanos(25_212_500)));
    // With ticks of 10 ms: 52 less 50.
    assert_eq!(rtts(ms(10)), (first, Span::from_nanos(24_462_500)));
}
