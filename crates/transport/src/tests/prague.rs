//! Prague: alpha, its answers, and the rates that follow, which no RTT below the reference changes.

use super::*;
use crate::congestion::{
    prague::{self, Prague},
    AckEvent, CongestionEvent, Signal,
};
use crate::{CongestionControl, EcnFeedback, Ect, ReceiverConfig};
use sojourn_units::BitRate;

/// At `at` ms, `n` segments of 1000 B acknowledged up to `una`, `marked` of them marked, and sent up to `next`; the RTT is `rtt` ms.
fn acked(at: u64, n: u64, una: u64, next: u64, marked: u64, rtt: u64) -> AckEvent {
    AckEvent { ce: amount(marked, 1000), rtt: steady(ms(rtt)), ..event(at, 1000, n, una, next) }
}

/// Out of slow start at a window of 10 segments, some rounds old, with this RTT in ms; returns the time.
fn settled(rtt: u64) -> (Prague, u64) {
    let mut prague = Prague::new(&parameters(1000), prague::Keys::default());
    prague.set_ssthresh(Bytes::new(10_000));
    let mut at = 0;
    for round in 1..=5 {
        at += 50;
        // All marked: nothing grows; the first mark would halve, so the segments are only reported.
        prague.on_ack(&AckEvent { may_grow: false, ..acked(at, 1, round, round + 1, 0, rtt) });
    }
    (prague, at)
}

#[test]
fn the_first_mark_halves_and_ends_slow_start() {
    let mut prague = Prague::new(&parameters(1000), prague::Keys::default());
    prague.on_ack(&acked(50, 2, 2, 14, 0, 50));
    near(internal_of(&prague, "cwnd_bytes"), 12_000.0);
    // Two of four marked: two segments grow, and alpha is still 1.
    prague.on_ack(&acked(51, 4, 6, 16, 2, 50));
    near(internal_of(&prague, "cwnd_bytes"), 7_000.0);
    assert_eq!(prague.ssthresh(), Bytes::new(7_000));
    // No second answer within the round trip; the unmarked one of two earns 1/7 of a segment at once.
    prague.on_ack(&acked(60, 2, 8, 17, 1, 50));
    near(internal_of(&prague, "cwnd_bytes"), 7_000.0 + 1_000.0 / 7.0);
}

#[test]
fn alpha_is_the_average_share_of_marked_packets_a_round() {
    let (mut prague, at) = settled(50);
    near(internal_of(&prague, "alpha"), 1.0);
    // A round ends when what was sent at its start is acknowledged and the RTT is over: 1 of 2 marked, 1 - 0.5/16.
    prague.on_ack(&acked(at + 50, 2, 7, 20, 1, 50));
    near(internal_of(&prague, "alpha"), 1.0 - 0.5 / 16.0);
    // Before 20 is acknowledged nothing changes; then 3 of 13.
    prague.on_ack(&acked(at + 110, 12, 19, 30, 3, 50));
    near(internal_of(&prague, "alpha"), 1.0 - 0.5 / 16.0);
    prague.on_ack(&acked(at + 111, 1, 20, 31, 0, 50));
    let expected = (1.0 - 0.5 / 16.0) * 15.0 / 16.0 + 3.0 / 13.0 / 16.0;
    near(internal_of(&prague, "alpha"), expected);
}

#[test]
fn below_the_reference_the_increase_is_squared_and_rounds_are_longer() {
    for (rtt, increase, virtual_ms) in [(50, 1.0, 50.0), (25, 1.0, 25.0), (10, 0.16, 25.0), (5, 0.04, 25.0)] {
        let (mut prague, at) = settled(rtt);
        near(internal_of(&prague, "virtual_rtt_s") * 1e3, virtual_ms);
        // A window of ten acknowledged at once.
        prague.on_ack(&acked(at + 1, 10, 16, 26, 0, rtt));
        near(internal_of(&prague, "cwnd_bytes"), 10_000.0 + 1_000.0 * increase);
    }
    // A reduction holds for the virtual round trip: 10 ms later the next is not due, 25 ms later it is.
    let (mut prague, at) = settled(10);
    prague.on_ack(&acked(at + 1, 1, 7, 8, 1, 10));
    let once = internal_of(&prague, "cwnd_bytes");
    near(once, 5_000.0);
    prague.on_ack(&acked(at + 12, 1, 9, 10, 1, 10));
    near(internal_of(&prague, "cwnd_bytes"), once);
    let alpha = internal_of(&prague, "alpha");
    prague.on_ack(&acked(at + 26, 1, 11, 12, 1, 10));
    near(internal_of(&prague, "cwnd_bytes"), once * (1.0 - alpha / 2.0));
}

#[test]
fn loss_halves_and_two_segments_are_the_least() {
    let mut prague = Prague::new(&parameters(1000), prague::Keys::default());
    let event = CongestionEvent { now: at_ms(1), signal: Signal::Loss, in_flight: Bytes::new(10_000) };
    prague.on_congestion(&event);
    assert_eq!(prague.ssthresh(), Bytes::new(5_000));
    prague.set_cwnd(Bytes::new(3_000));
    prague.on_congestion(&event);
    assert_eq!(prague.ssthresh(), Bytes::new(2_000));
    prague.on_ack(&acked(50, 1, 1, 3, 1, 50));
    assert_eq!(prague.cwnd(), Bytes::new(2_000));
    prague.on_rto(at_ms(60), Bytes::ZERO);
    assert_eq!(prague.cwnd(), Bytes::new(1_000));
}

#[test]
fn pacing_by_hand() {
    let mut prague = Prague::new(&parameters(1000), prague::Keys::default());
    assert_eq!(prague.pacing_rate(), None);
    prague.on_ack(&acked(50, 2, 2, 14, 0, 50));
    // 12 segments of 1052 B each 50 ms are 2.01984 Mbit/s; twice that in slow start.
    assert_eq!(prague.pacing_rate().map(BitRate::bit_s), Some(4_039_680));
    prague.set_ssthresh(Bytes::new(24_000));
    assert_eq!(prague.pacing_rate().map(BitRate::bit_s), Some(2_019_840));
}

/// Segments a second over a path of `rtt` that marks one in 20 at random.
fn rate_under_marks(rtt: Span) -> f64 {
    let config = Config { ecn: true, ect: Ect::One, ..bulk("prague") };
    let receiver =
        ReceiverConfig { ack_every: Packets::new(1), ecn_feedback: EcnFeedback::AccEcn, ..ReceiverConfig::default() };
    let mut path = Path::new(config, receiver, rtt);
    let mut state = 99_u64;
    path.fate = Box::new(move |_, _| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (state >> 33) % 100 < 5 {
            Fate::Mark
        } else {
            Fate::Deliver
        }
    });
    path.run(at_ms(20_000));
    let before = path.sent.len();
    path.run(at_ms(120_000));
    assert!(path.sender.stats().ecn_reductions > 1_000 && path.sender.stats().timeouts == 0);
    (path.sent.len() - before) as f64 / 100.0
}

#[test]
fn under_random_marks_rates_are_those_of_the_virtual_round_trip() {
    // With p = 0.05 marked, alpha is p. In round trips: a reduction of p W / 2 segments each 1 + 1/(p W), the round trip in which none
    // follows and the wait for a mark; growth 1 - p each: x^2 / 2 = (1 - p)(x + 1) for x = p W, x = 0.95 + sqrt(0.95^2 + 1.9) = 2.624,
    // W = 52.5. Below 25 ms, increase (R/25 ms)^2 and pause 25 ms / R make the same equation for p W 25 ms / R: one rate for all.
    for (rtt, expected) in [(5, 2099.0), (10, 2099.0), (25, 2099.0), (50, 1049.6)] {
        let rate = rate_under_marks(ms(rtt));
        assert!((rate / expected - 1.0).abs() < 0.1, "{rtt} ms: {rate} segments/s, theory {expected}");
    }
}
