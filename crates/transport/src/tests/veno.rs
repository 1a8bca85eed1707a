//! Veno: losses with a queue and without, and the window that follows from either.

use super::congestion::{every_segment, mean_window};
use super::dctcp::acked;
use super::*;
use crate::congestion::{AckEvent, CongestionEvent, Control, Signal};
use crate::{CongestionControl, Data};

/// A window of 100 segments beyond slow start, with a smallest RTT of 100 ms and a last one of `rtt` ms.
fn settled(rtt: u64) -> Control {
    let mut veno = (find("veno").expect("in the registry").build)(&parameters(MSS), &Keys::default());
    veno.set_cwnd(segments(100));
    veno.set_ssthresh(segments(100));
    for sample in [100, rtt] {
        veno.on_ack(&AckEvent { rtt: steady(ms(sample)), ..acked(1, 1, 101, false) });
    }
    veno
}

fn after(rtt: u64, signal: Signal) -> Bytes {
    let mut veno = settled(rtt);
    veno.on_congestion(&CongestionEvent { now: at_ms(0), signal, in_flight: segments(1) });
    veno.ssthresh()
}

#[test]
fn a_loss_with_less_than_three_segments_in_queues_takes_a_fifth() {
    // 100 (1 - 100/103) = 2.91 segments wait, and 100 (1 - 100/104) = 3.85.
    assert!((internal_of(&settled(103), "queued_segments") - 2.9126).abs() < 1e-3);
    assert_eq!(after(103, Signal::Loss), segments(80));
    assert_eq!(after(104, Signal::Loss), segments(50));
    // A mark comes from a queue; after a timeout nothing is known.
    assert_eq!(after(103, Signal::Ecn), segments(50));
    assert_eq!(after(103, Signal::Timeout), segments(50));
}

#[test]
fn growth_is_a_segment_a_round_trip_or_every_second_one() {
    for (rtt, acks, expected) in [(103, 99, 100), (103, 100, 101), (104, 100, 100), (104, 199, 100), (104, 200, 101)] {
        let mut veno = settled(rtt);
        for _ in 0..acks {
            veno.on_ack(&AckEvent { rtt: steady(ms(rtt)), may_grow: true, ..acked(1, 1, 101, false) });
        }
        assert_eq!(veno.cwnd(), segments(expected), "{rtt} ms, {acks} acknowledged");
    }
    // Slow start is Reno's, queue or not.
    let mut veno = settled(200);
    veno.set_ssthresh(segments(150));
    veno.on_ack(&AckEvent { rtt: steady(ms(200)), may_grow: true, ..acked(40, 1, 101, false) });
    assert_eq!(veno.cwnd(), segments(140));
}

#[test]
fn random_losses_cost_it_less_than_reno_and_losses_of_a_full_queue_as_much() {
    // Without a queue: from 4/5 W to W in W/5 round trips, 0.9 W W/5 = 5000 segments, W = 166.7; the mean is 0.9 W = 150 (Reno's 86.6).
    let mean = mean_window(bulk("veno"), ms(100), 5_000, 4_000);
    assert!((mean / 150.0 - 1.0).abs() < 0.1, "{mean}");
    // With a fifth of the window in queues: from W/2 to W in W round trips, 3/4 W W = 5000, the mean 3/4 W = 61.2.
    let mut path = Path::new(bulk("veno"), every_segment(), ms(80));
    path.fate = Box::new(|n, data: &Data| {
        if !data.has(Data::RETRANSMIT) && (data.seq / MSS) % 5_000 == 4_999 {
            return Fate::Drop;
        }
        if n < 10 {
            Fate::Deliver
        } else {
            Fate::Late(ms(20))
        }
    });
    path.run(at_ms(200_000));
    let before = path.receiver.delivered();
    path.run(at_ms(400_000));
    let mean = (path.receiver.delivered() - before).get() as f64 / MSS as f64 / 2000.0;
    assert!((mean / 61.2 - 1.0).abs() < 0.1, "{mean}");
}
