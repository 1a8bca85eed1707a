//! LEDBAT: its equation by hand, its memory of delays, and the queue that it holds.

use super::*;
use crate::congestion::{
    ledbat::{self, Ledbat},
    AckEvent, CongestionEvent, Keys, Phase, Signal,
};
use crate::{CongestionControl, ReceiverConfig};
use sojourn_units::BitRate;

/// `n` segments of 1000 B acknowledged after a one-way delay of `delay` ms, `flight` segments in flight before.
fn acked(at: u64, n: u64, delay: u64, flight: u64) -> AckEvent {
    let rtt = Rtt { sample: Some(ms(2 * delay)), one_way: Some(ms(delay)), ..steady(ms(20)) };
    AckEvent { rtt, ..event(at, 1000, n, n, flight) }
}

#[test]
fn the_window_by_hand() {
    let mut ledbat = Ledbat::new(&parameters(1000), ledbat::Keys::default());
    let cwnd = |ledbat: &Ledbat| internal_of(ledbat, "cwnd_bytes");
    // No queue: off_target 1, 5 of 10 segments acknowledged: half a segment.
    ledbat.on_ack(&acked(1, 5, 10, 10));
    near(cwnd(&ledbat), 10_500.0);
    // Three delays of 60 ms do not pass the filter of four, whose least is still 10; the fourth does: off_target (100 - 50)/100.
    let mut expected = 10_500.0_f64;
    for n in 0..4 {
        expected += if n < 3 { 1.0 } else { 0.5 } * 1000.0 * 1000.0 / expected;
        ledbat.on_ack(&acked(2, 1, 60, 11));
        near(cwnd(&ledbat), expected);
    }
    near(internal_of(&ledbat, "queueing_delay_s"), 0.05);
    // 210 ms, four times: off_target (100 - 200)/100 = -1.
    for _ in 0..3 {
        ledbat.on_ack(&AckEvent { acked: amount(1, 1), ..acked(3, 1, 210, 11) });
    }
    let before = cwnd(&ledbat);
    ledbat.on_ack(&acked(3, 4, 210, 11));
    near(cwnd(&ledbat), before - 4000.0 * 1000.0 / before);
    // Not above what is in flight and one segment, nor below two.
    ledbat.on_ack(&acked(4, 1, 10, 5));
    near(cwnd(&ledbat), 6_000.0);
    ledbat.on_ack(&acked(4, 1, 10, 1));
    near(cwnd(&ledbat), 2_000.0);
}

#[test]
fn gain_and_target_scale_it() {
    // RFC 7928, section 5.4: target 5 ms, gain 10.
    let ledbat = ledbat::Keys { ledbat_target: ms(5), ledbat_gain: 10.0, ..Default::default() };
    let mut ledbat = Ledbat::new(&parameters(1000), ledbat);
    ledbat.on_ack(&acked(1, 1, 10, 100));
    near(internal_of(&ledbat, "cwnd_bytes"), 11_000.0);
    for _ in 0..3 {
        ledbat.on_ack(&AckEvent { phase: Phase::Recovery, ..acked(1, 1, 12, 100) });
    }
    // 2 ms of 5 ms: 0.6 * 10 / 11 of a segment.
    ledbat.on_ack(&acked(1, 1, 12, 100));
    near(internal_of(&ledbat, "cwnd_bytes"), 11_000.0 + 0.6 * 10.0 * 1000.0 / 11.0);
}

#[test]
fn the_base_delay_is_forgotten_after_ten_minutes() {
    let mut ledbat = Ledbat::new(&parameters(1000), ledbat::Keys::default());
    ledbat.on_ack(&acked(0, 1, 10, 10));
    // The least of minute 0 is among the last ten until minute 10 begins.
    for second in 1..600 {
        ledbat.on_ack(&acked(second * 1000, 1, 30, 10));
    }
    near(internal_of(&ledbat, "queueing_delay_s"), 0.02);
    ledbat.on_ack(&acked(600_000, 1, 30, 10));
    near(internal_of(&ledbat, "queueing_delay_s"), 0.0);
}

#[test]
fn loss_halves_and_a_timeout_leaves_one_segment() {
    let mut ledbat = Ledbat::new(&parameters(1000), ledbat::Keys::default());
    let event = CongestionEvent { now: at_ms(1), signal: Signal::Loss, in_flight: Bytes::new(10_000) };
    ledbat.on_congestion(&event);
    assert_eq!(ledbat.ssthresh(), Bytes::new(5_000));
    ledbat.set_cwnd(Bytes::new(3_000));
    ledbat.on_congestion(&event);
    assert_eq!(ledbat.ssthresh(), Bytes::new(2_000));
    ledbat.on_rto(at_ms(2), Bytes::ZERO);
    assert_eq!(ledbat.cwnd(), Bytes::new(1_000));
    // Within recovery the window is the sender's.
    ledbat.on_ack(&AckEvent { phase: Phase::Recovery, ..acked(3, 1, 10, 5) });
    assert_eq!(ledbat.cwnd(), Bytes::new(1_000));
    ledbat.on_congestion(&event);
    assert_eq!(ledbat.ssthresh(), Bytes::new(1_000));
}

#[test]
fn slow_start_is_an_option_that_ends_at_three_quarters_of_the_target() {
    let ledbat = ledbat::Keys { ledbat_slow_start: true, ..Default::default() };
    let mut ledbat = Ledbat::new(&parameters(1000), ledbat);
    ledbat.on_ack(&acked(1, 5, 10, 10));
    near(internal_of(&ledbat, "cwnd_bytes"), 15_000.0);
    for _ in 0..4 {
        ledbat.on_ack(&AckEvent { phase: Phase::Recovery, ..acked(2, 1, 85, 15) });
    }
    // 75 ms is not above 75 ms.
    ledbat.on_ack(&acked(2, 1, 85, 15));
    near(internal_of(&ledbat, "cwnd_bytes"), 16_000.0);
    for _ in 0..4 {
        ledbat.on_ack(&AckEvent { phase: Phase::Recovery, ..acked(2, 1, 90, 15) });
    }
    ledbat.on_ack(&acked(2, 1, 90, 16));
    near(internal_of(&ledbat, "cwnd_bytes"), 16_000.0 + 0.2 * 1000.0 / 16.0);
    assert_eq!(ledbat.ssthresh(), Bytes::new(16_000));
}

#[test]
fn alone_it_approaches_its_target_exponentially() {
    // 12 Mbit/s are a packet of 1500 B a millisecond, with 40 ms a pipe of 41 segments; beyond it each segment queues 1 ms, W = 41 + q.
    // dW = (1 - q/T) a round trip of 41 + q ms: dq/dt = (1 - q/20) / (41 + q) per ms, with T = 20 ms a time constant of
    // 20 * (41..61) ms = 1.2 s at the most: after six of them (and 31 round trips of 41 ms to fill the pipe) within 1 % of 20 ms.
    let ledbat = ledbat::Keys { ledbat_target: ms(20), ..Default::default() };
    let config = Config { keys: Keys { ledbat, ..Keys::default() }, ..bulk("ledbat") };
    let receiver = ReceiverConfig { ack_every: Packets::new(1), ..ReceiverConfig::default() };
    let mut path = Path::new(config, receiver, ms(40));
    path.bottleneck = Some((BitRate::from_bit_s(12_000_000), 1_000));
    path.run(at_ms(9_000));
    let queue = internal_of(path.sender.congestion_control(), "queueing_delay_s");
    // The last segment of growth is not reached in whole: a packet's time.
    assert!((queue - 0.02).abs() <= 0.001, "{queue}");
    assert!((path.sender.cwnd().get() as f64 / MSS as f64 - 61.0).abs() < 1.5, "{}", path.sender.cwnd());
}
