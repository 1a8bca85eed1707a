//! Compound TCP: the second window, and what both come to.

use super::congestion::mean_window;
use super::dctcp::acked;
use super::*;
use crate::congestion::{AckEvent, CongestionEvent, Control, Parameters, Signal};
use crate::CongestionControl;

/// In congestion avoidance with windows of `cwnd` and, after a round trip of as many, what one round trip of `rtt` over a
/// smallest of 100 ms makes of the second window.
fn after_round_trip(cwnd: u64, rtt: Span) -> Control {
    let parameters = Parameters { initial_window: Packets::new(cwnd), ..parameters(MSS) };
    let mut compound = (find("compound").expect("in the registry").build)(&parameters, &Keys::default());
    compound.set_ssthresh(segments(cwnd));
    let ack =
        |una| AckEvent { rtt: Rtt { min: ms(100), ..steady(rtt) }, may_grow: true, ..acked(1, una, una + cwnd, false) };
    // The first sample begins a round trip; what ends it comes with the acknowledgement of what is sent then.
    compound.on_ack(&AckEvent { may_grow: false, ..ack(1) });
    compound.on_ack(&ack(cwnd + 2));
    compound
}

fn windows(compound: &dyn CongestionControl) -> (f64, f64) {
    (internal_of(compound, "loss_window_segments"), internal_of(compound, "delay_window_segments"))
}

#[test]
fn without_a_queue_the_second_window_grows_with_a_power_of_the_window() {
    // win = 100 + 1/100 once the acknowledgement has counted: 100.01^0.75 / 8 - 1 = 31.6252 / 8 - 1 = 2.9531.
    let (cwnd, dwnd) = windows(&after_round_trip(100, ms(100)));
    assert!((cwnd - 100.01).abs() < 1e-9 && (dwnd - 2.9531).abs() < 1e-3, "{cwnd} {dwnd}");
    // 10.1^0.75 / 8 - 1 < 0: a small window is Reno's.
    assert_eq!(windows(&after_round_trip(10, ms(100))).1, 0.0);
    // 29 of 100 segments wait at 141 ms (100 (1 - 100/141) = 29.1): not yet 30.
    assert!(windows(&after_round_trip(100, ms(141))).1 > 2.9);
}

#[test]
fn a_queue_of_thirty_segments_takes_the_second_window_back() {
    let mut compound = after_round_trip(100, ms(100));
    let before = windows(&compound).1;
    // 102.96 (1 - 100/150) = 34.3 segments wait: more than the second window has.
    let ack = |una| AckEvent {
        rtt: Rtt { min: ms(100), ..steady(ms(150)) },
        may_grow: true,
        ..acked(1, una, una + 100, false)
    };
    compound.on_ack(&ack(300));
    assert!(before > 2.9 && windows(&compound).1 == 0.0);
}

#[test]
fn a_loss_halves_both_windows_and_a_timeout_forgets_the_second() {
    let mut compound = after_round_trip(100, ms(100));
    let (cwnd, dwnd) = windows(&compound);
    compound.on_congestion(&CongestionEvent { now: at_ms(0), signal: Signal::Loss, in_flight: segments(100) });
    let halved = windows(&compound);
    assert!((halved.0 - cwnd / 2.0).abs() < 1e-9 && (halved.1 - dwnd / 2.0).abs() < 1e-9);
    // In whole segments: (100.01 + 2.95) / 2 = 51.48.
    assert_eq!(compound.ssthresh(), segments(51));
    compound.on_rto(at_ms(0), Bytes::ZERO);
    assert_eq!((compound.cwnd(), windows(&compound).1), (segments(1), 0.0));
}

#[test]
fn it_obeys_its_response_function() {
    // Without a queue win grows by about win^(3/4) / 8 a round trip (Reno's one segment and alpha win^k - 1), from W/2 to W,
    // and a cycle has 1/p = 10,000 segments: W^(5/4) (1 - 2^(-5/4)) = 10,000 * 5/4 / 8, so W = 555.4; it takes
    // 32 (W^(1/4) - (W/2)^(1/4)) = 24.7 round trips, so the mean is 10,000 / 24.7 = 404.6.
    let mean = mean_window(bulk("compound"), ms(100), 10_000, 4_000);
    assert!((mean / 404.6 - 1.0).abs() < 0.1, "{mean}");
}
