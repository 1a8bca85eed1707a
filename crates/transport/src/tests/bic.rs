//! BIC: what a round trip adds, and the way back to the largest window.

use super::congestion::{after_one_loss, cwnd};
use super::dctcp::acked;
use super::*;
use crate::congestion::{AckEvent, CongestionEvent, Control, Signal};
use crate::CongestionControl;

fn lose(bic: &mut Control) {
    bic.on_congestion(&CongestionEvent { now: at_ms(0), signal: Signal::Loss, in_flight: segments(1) });
}

/// A window of `cwnd` beyond slow start, after a loss at `max` segments if that is above 0.
fn at(max: u64, cwnd: u64) -> Control {
    let mut bic = (find("bic").expect("in the registry").build)(&parameters(MSS), &Keys::default());
    if max > 0 {
        bic.set_cwnd(segments(max));
        lose(&mut bic);
    }
    bic.set_cwnd(segments(cwnd));
    bic.set_ssthresh(segments(1));
    bic
}

/// Segments that `acked` acknowledged ones add.
fn added(mut bic: Control, packets: u64) -> u64 {
    let before = bic.cwnd();
    bic.on_ack(&AckEvent { may_grow: true, ..acked(packets, 1, packets + 1, false) });
    (bic.cwnd() - before).get() / MSS
}

#[test]
fn what_a_round_trip_adds_below_the_maximum_and_above() {
    // (window, acknowledged, added), after a loss at 1000 segments.
    for (cwnd, acknowledged, expected) in [
        // 200 / 4 > 16: one for each 800/16 = 50.
        (800, 800, 16),
        // 68 / 4 = 17 > 16; 67 / 4 = 16: one for each 933/16 = 58.
        (932, 932, 16),
        (933, 933, 16),
        // 60 / 4 = 15: one for each 940/15 = 62.
        (940, 940, 15),
        // 8 / 4 = 2: one for each 496.
        (992, 992, 2),
        // 7 / 4 = 1: one in five round trips.
        (993, 5 * 993 - 1, 0),
        (993, 5 * 993, 1),
        (1003, 5 * 1003 - 1, 0),
        (1003, 5 * 1003, 1),
        // Four beyond: one for each 1004 * 3/4 = 753; 47 beyond: one for each 1047 * 3/47 = 66; then 16 again.
        (1004, 752, 0),
        (1004, 753, 1),
        (1047, 1047, 15),
        (1048, 1048, 16),
        // A small window is Reno's.
        (14, 13, 0),
        (14, 14, 1),
    ] {
        assert_eq!(added(at(1000, cwnd), acknowledged), expected, "window {cwnd}, {acknowledged} acknowledged");
    }
    // Before any loss: one for each 20 acknowledged, or 16 a round trip where that is more.
    assert_eq!((added(at(0, 1000), 1000), added(at(0, 160), 160)), (50, 16));
}

#[test]
fn a_loss_keeps_four_fifths_and_a_second_one_below_the_maximum_lowers_it() {
    let mut bic = at(0, 1000);
    lose(&mut bic);
    // 1000 * 819/1024 = 799.8.
    assert_eq!(bic.ssthresh(), segments(799));
    assert_eq!(internal_of_max(&bic), 1000.0);
    bic.set_cwnd(segments(900));
    lose(&mut bic);
    // 900 * 819/1024 = 719.8; W_max = 900 (1024 + 819) / 2048 = 809.9.
    assert_eq!((bic.ssthresh(), internal_of_max(&bic)), (segments(719), 809.0));
    // Up to 14 segments half, beyond that four fifths: 15 * 819/1024 = 11.998.
    for (cwnd, kept) in [(14, 7), (15, 11), (2, 2)] {
        let mut bic = at(0, cwnd);
        lose(&mut bic);
        assert_eq!(bic.ssthresh(), segments(kept), "{cwnd}");
    }
    bic.on_rto(at_ms(0), Bytes::ZERO);
    assert_eq!((bic.cwnd(), internal_of_max(&bic)), (segments(1), 0.0));
}

fn internal_of_max(bic: &Control) -> f64 {
    internal_of(bic, "w_max_segments")
}

#[test]
fn the_way_back_is_linear_then_by_quarters_then_slow() {
    let rtt = ms(50);
    let mut path = after_one_loss(bulk("bic"), rtt, 500);
    let max = internal(&path, "w_max_segments");
    let rounds = |path: &mut Path, to: f64| {
        let start = path.now;
        path.run_while(at_ms(60_000), |p| cwnd(p) < to);
        (path.now - start).seconds() / rtt.seconds()
    };
    // 16 a round trip up to 64 below the maximum.
    let linear = (max - 64.0 - cwnd(&path)) / 16.0;
    let taken = rounds(&mut path, max - 64.0);
    assert!(linear > 2.0 && (taken - linear).abs() < 1.1, "{taken} round trips, {linear} expected");
    // What is missing shrinks by a quarter a round trip: ln(64 / 7) / ln(4 / 3) = 7.7, more slowly within one, as the step follows
    // the window: ln(64 / 7) * 4 = 8.9. Quarters are rounded down, by half on average: 1/2 of 2 to 16, some 1 + 10 % more.
    let taken = rounds(&mut path, max - 7.0);
    assert!((7.7..12.0).contains(&taken), "{taken}");
    // Seven at five round trips each.
    let taken = rounds(&mut path, max);
    assert!((taken / 35.0 - 1.0).abs() < 0.05, "{taken}");
}
