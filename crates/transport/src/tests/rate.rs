//! Delivery-rate samples and what else an acknowledgement tells congestion control: losses, retransmissions, the application's pauses.

use super::*;
use crate::congestion::{AckEvent, CongestionControl, CongestionEvent, Phase};
use crate::{Data, ReceiverConfig, Sender};
use sojourn_units::BitRate;
use std::sync::{Arc, Mutex};

/// Keeps a fixed window and all that it is told.
#[derive(Clone, Debug, Default)]
struct Witness(Arc<Mutex<Vec<AckEvent>>>, Arc<Mutex<Vec<Bytes>>>);

impl CongestionControl for Witness {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.0.lock().expect("one thread").push(*ack);
    }
    fn on_congestion(&mut self, _: &CongestionEvent) {}
    fn on_rto(&mut self, _: Instant, total_lost: Bytes) {
        self.1.lock().expect("one thread").push(total_lost);
    }
    fn cwnd(&self) -> Bytes {
        segments(20)
    }
    fn ssthresh(&self) -> Bytes {
        segments(20)
    }
    fn set_cwnd(&mut self, _: Bytes) {}
    fn set_ssthresh(&mut self, _: Bytes) {}
    fn controls_recovery(&self) -> bool {
        true
    }
    fn reads_rates(&self) -> bool {
        true
    }
}

/// A sender of `bytes` (without end, if none) over 40 ms with an acknowledgement a segment.
fn witnessed(unlimited: bool) -> (Path, Witness) {
    let witness = Witness::default();
    let config = Config { unlimited, ..bulk("reno") };
    let receiver = ReceiverConfig { ack_every: Packets::new(1), ..ReceiverConfig::default() };
    let sender = Sender::with_congestion_control(config, Box::new(witness.clone()));
    let mut path = Path::with_sender(sender, receiver, ms(40));
    path.bottleneck = Some((BitRate::from_bit_s(12_000_000), 1_000));
    (path, witness)
}

fn events(witness: &Witness) -> Vec<AckEvent> {
    witness.0.lock().expect("one thread").clone()
}

#[test]
fn losses_are_counted_once_and_again_when_lost_again() {
    let (mut path, witness) = witnessed(true);
    path.fate = Box::new(drop_once(&[30, 32, 33]));
    path.run(at_ms(500));
    let seen = events(&witness);
    let newly: u64 = seen.iter().map(|e| e.lost.get()).sum();
    assert_eq!(newly, 3 * MSS);
    assert_eq!(seen.last().map(|e| e.total_lost), Some(segments(3)));
    // From the third duplicate to the acknowledgement of all that was sent by then.
    let phases: Vec<Phase> = seen.iter().map(|e| e.phase).collect();
    let first = phases.iter().position(|p| *p == Phase::Recovery);
    assert_eq!(first, seen.iter().position(|e| e.lost > Bytes::ZERO));
    assert_eq!(phases.last(), Some(&Phase::Open));
    // All in flight is lost with a timeout: twenty segments, then the one sent again.
    path.fate = Box::new(|_, _| Fate::Drop);
    path.run_while(at_ms(9_000), |p| p.sender.stats().timeouts < 2);
    let timeouts = witness.1.lock().expect("one thread").clone();
    // What was in flight when the path broke arrives; the window of 20 after that is lost, and then once more what went again: the window.
    assert_eq!(timeouts[0], segments(3 + 20));
    assert_eq!(timeouts[1], segments(3 + 20 + 20));
}

#[test]
fn the_sample_is_that_of_the_segment_sent_last_and_says_if_it_was_sent_again() {
    let (mut path, witness) = witnessed(true);
    path.fate = Box::new(drop_once(&[30]));
    path.run(at_ms(500));
    let seen = events(&witness);
    let again: Vec<_> = seen.iter().filter(|e| e.delivery.rate.is_some_and(|r| r.retransmitted)).collect();
    // The acknowledgement that the retransmission brings, and no other.
    assert_eq!(again.len(), 1);
    let sample = again[0].delivery.rate.expect("just seen");
    let resent = path.sent.iter().find(|(_, d)| d.has(Data::RETRANSMIT)).map(|(at, _)| *at).expect("sent again");
    // What had been delivered when it was sent again, not at first: all acknowledged by then.
    let by_then = seen.iter().filter(|e| e.now <= resent).map(|e| e.delivery.total).max();
    assert_eq!(Some(sample.prior_delivered), by_then);
    // 20 segments in flight share 12 Mbit/s, a millisecond each: 1448 B a millisecond, or the window a round trip of 41 ms.
    let expected = 20.0 * 1448.0 * 8.0 / 0.041;
    let rate = seen.last().and_then(|e| e.delivery.rate).map_or(0.0, |r| r.rate().bit_s() as f64);
    assert!((rate / expected - 1.0).abs() < 0.03, "{rate}, not {expected}");
}

#[test]
fn samples_are_the_applications_until_all_sent_before_it_had_more_is_delivered() {
    let (mut path, witness) = witnessed(false);
    // Five segments into a window of twenty: the bubble begins behind the last of them.
    path.sender.write(segments(5));
    path.run(at_ms(30));
    path.sender.write(segments(200));
    path.run(at_ms(400));
    let seen = events(&witness);
    let limited: Vec<bool> = seen.iter().map(|e| e.delivery.rate.is_some_and(|r| r.app_limited)).collect();
    // The first five were sent before anyone knew; the next fifteen fill the window while the bubble is in the pipe (its end
    // is five delivered, passed by the sixth): so are the five more that the acknowledgements of the first five let out.
    assert_eq!(limited.iter().position(|l| *l), Some(5));
    assert_eq!(limited.iter().filter(|l| **l).count(), 15 + 5);
    assert!(limited[5..25].iter().all(|l| *l));
    // And `now` follows the bubble itself.
    let bubble: Vec<bool> = seen.iter().map(|e| e.delivery.app_limited).collect();
    assert_eq!(bubble.iter().filter(|l| **l).count(), 5);
}
