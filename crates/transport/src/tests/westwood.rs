//! Westwood+: the bandwidth that it measures, and the window that follows from it after a loss.

use super::congestion::every_segment;
use super::dctcp::acked;
use super::*;
use crate::congestion::{AckEvent, CongestionEvent, Control, Signal};
use crate::{CongestionControl, Data};
use sojourn_units::BitRate;

fn event(signal: Signal) -> CongestionEvent {
    CongestionEvent { now: at_ms(0), signal, in_flight: segments(1) }
}

fn westwood() -> Control {
    (find("westwood").expect("in the registry").build)(&parameters(MSS), &Keys::default())
}

/// `n` segments acknowledged at `at` ms, with an RTT of `rtt` ms over a smallest of 80 ms.
fn ack(at: u64, n: u64, rtt: u64) -> AckEvent {
    AckEvent { now: at_ms(at), rtt: Rtt { min: ms(80), ..steady(ms(rtt)) }, ..acked(n, at, at + 10, false) }
}

#[test]
fn the_bandwidth_is_filtered_once_a_round_trip() {
    let mut westwood = westwood();
    let segments_s = |westwood: &Control| internal_of(westwood, "bandwidth_bit_s") / (8.0 * MSS as f64);
    // The first acknowledgement starts the clock.
    westwood.on_ack(&ack(100, 2, 100));
    westwood.on_ack(&ack(150, 4, 100));
    assert_eq!(segments_s(&westwood), 0.0);
    // 4 + 6 segments in 100 ms: the first sample, taken as it is.
    westwood.on_ack(&ack(200, 6, 100));
    assert!((segments_s(&westwood) - 100.0).abs() < 1e-9);
    // SACKed ones were delivered, too: 10 + 5 in 120 ms are 125 a second; 0.9 * 100 + 0.1 * 125.
    westwood.on_ack(&AckEvent { sacked: amount(5, MSS), ..ack(320, 10, 120) });
    assert!((segments_s(&westwood) - 102.5).abs() < 1e-9, "{}", segments_s(&westwood));
}

#[test]
fn after_a_loss_the_window_is_bandwidth_times_smallest_rtt() {
    let mut westwood = westwood();
    // No sample yet: half of ten.
    westwood.on_congestion(&event(Signal::Loss));
    assert_eq!(westwood.ssthresh(), segments(5));
    westwood.on_ack(&ack(100, 1, 100));
    westwood.on_ack(&ack(200, 50, 100));
    // 500 segments a second times 80 ms, whatever the window.
    for signal in [Signal::Loss, Signal::Ecn, Signal::Timeout] {
        westwood.set_ssthresh(segments(9));
        westwood.on_congestion(&event(signal));
        assert_eq!(westwood.ssthresh(), segments(40));
    }
    westwood.on_rto(at_ms(300), Bytes::ZERO);
    assert_eq!(westwood.cwnd(), segments(1));
    // Two segments at the least: 10 a second times 80 ms are less than one, in the end.
    for round in 1..200 {
        westwood.on_ack(&ack(200 + 100 * round, 1, 100));
    }
    westwood.on_congestion(&event(Signal::Loss));
    assert_eq!(westwood.ssthresh(), segments(2));
}

#[test]
fn a_loss_at_a_full_queue_empties_it_and_no_more() {
    // 20 Mbit/s, 40 ms and 0.6 ms for a packet: 20e6 / 8 * 0.0406 / 1500 = 67.7 segments without a queue. 20 may wait, so that Reno
    // would keep half of 87, and leave the link idle.
    let mut path = Path::new(bulk("westwood"), every_segment(), ms(40));
    path.bottleneck = Some((BitRate::from_bit_s(20_000_000), 20));
    path.run(at_ms(20_000));
    let (mut reductions, before) = (0, path.receiver.delivered());
    while path.now < at_ms(40_000) {
        let seen = path.sender.stats().fast_retransmits;
        path.step(at_ms(40_000));
        if path.sender.stats().fast_retransmits > seen {
            reductions += 1;
            assert!((66..=68).contains(&(path.sender.ssthresh().get() / MSS)), "{}", path.sender.ssthresh());
        }
    }
    assert!(reductions > 10, "{reductions}");
    let utilisation = (path.receiver.delivered() - before).get() as f64 * 8.0 / 20.0 / (20e6 * 1448.0 / 1500.0);
    assert!(utilisation > 0.99, "{utilisation}");
}

#[test]
fn a_loss_keeps_the_share_of_the_rtt_that_is_no_queue() {
    // After the first 20 segments everything takes 10 ms longer: 40 ms of 50 are kept, W' = 0.8 (W - 10), as the filter is 0.9/0.1 = 9
    // round trips behind a window that grows by one a round trip, and the sample another. One segment in 10,000 is lost:
    // (W - W') (W + W') / 2 = 10,000, so W = 219.0, W' = 167.2, and a cycle of 51.8 round trips has a mean of 193.1 (Reno: 122).
    let period = 10_000;
    let mut path = Path::new(bulk("westwood"), every_segment(), ms(40));
    path.fate = Box::new(move |n, data: &Data| {
        if !data.has(Data::RETRANSMIT) && (data.seq / MSS) % period == period - 1 {
            return Fate::Drop;
        }
        if n < 20 {
            Fate::Deliver
        } else {
            Fate::Late(ms(10))
        }
    });
    let half = at_ms(50_000);
    path.run(half);
    let before = path.receiver.delivered();
    path.run(half + ms(50_000));
    assert!(path.sender.cwnd() > Bytes::ZERO && path.sender.stats().timeouts == 0);
    let mean = (path.receiver.delivered() - before).get() as f64 / MSS as f64 / 1000.0;
    assert!((mean / 193.1 - 1.0).abs() < 0.05, "{mean}");
}
