//! When a receiver like Linux's acknowledges.

use super::*;
use crate::{AckAction, AckPolicy, Data, Receiver, ReceiverConfig};

const WAIT: AckAction = AckAction::None;

fn adaptive(quick_acks: u64) -> Receiver {
    let quick_acks = Packets::new(quick_acks);
    Receiver::new(ReceiverConfig { quick_acks, ack_policy: AckPolicy::Linux, ..ReceiverConfig::default() })
}

fn data(n: u64, flags: u8) -> Data {
    Data { seq: n * MSS, len: MSS as u32, sent: Instant::ZERO, flags }
}

/// Acknowledged up to which segment, if at once.
fn acked(action: AckAction) -> Option<u64> {
    match action {
        AckAction::Now(ack) => Some(ack.ack / MSS),
        AckAction::Delay(_) | AckAction::None => None,
    }
}

#[test]
fn the_second_segment_and_one_with_push_are_acknowledged_at_once() {
    let mut receiver = adaptive(0);
    let flags = [0, 0, Data::PUSH, 0, Data::PUSH, 0];
    let mut take = |(n, flags)| acked(receiver.on_data(at_ms(n), &data(n, flags), false));
    let found: Vec<_> = (0..).zip(flags).map(&mut take).collect();
    assert_eq!(found, vec![None, Some(2), Some(3), None, Some(5), None]);
    // Another receiver does not look at PSH.
    let mut receiver = Receiver::new(ReceiverConfig { quick_acks: Packets::ZERO, ..ReceiverConfig::default() });
    assert_eq!(acked(receiver.on_data(at_ms(1), &data(0, Data::PUSH), false)), None);
}

#[test]
fn a_duplicate_and_a_long_pause_bring_sixteen_quick_acknowledgements() {
    let mut receiver = adaptive(16);
    let mut at_once = |from: u64, start: u64| -> usize {
        (0..40).filter(|n| acked(receiver.on_data(at_ms(start + n), &data(from + n, 0), false)).is_some()).count()
    };
    // 16 at the start, then every second of 24.
    assert_eq!(at_once(0, 0), 16 + 12);
    // 201 ms later: longer than a timeout of 200 ms, as the RTT is not known.
    assert_eq!(at_once(40, 39 + 201), 16 + 12);
    assert_eq!(at_once(80, 279 + 199), 20);
    // What has been here before uses the first of the sixteen.
    assert_eq!(acked(receiver.on_data(at_ms(520), &data(3, 0), false)), Some(120));
    let found = (0..20).filter(|n| acked(receiver.on_data(at_ms(521 + n), &data(120 + n, 0), false)).is_some()).count();
    assert_eq!(found, 15 + 2);
}

#[test]
fn with_ecn_a_reduction_is_acknowledged_at_once_and_so_are_two_after_what_was_sent_again() {
    let mut receiver = adaptive(0);
    let mut take = |n: u64, flags: u8| acked(receiver.on_data(at_ms(n), &data(n, flags), false));
    // Nothing is known of ECN: every second one.
    assert_eq!([take(0, 0), take(1, 0)], [None, Some(2)]);
    assert_eq!([take(2, Data::ECT), take(3, Data::ECT)], [None, Some(4)]);
    assert_eq!([take(4, Data::ECT | Data::CWR), take(5, Data::ECT)], [Some(5), None]);
    // Segment 6 is not ECN-capable: two quick ones, then every second one.
    assert_eq!([6, 7, 8, 9].map(|n| take(n, if n == 6 { 0 } else { Data::ECT })), [Some(7), Some(8), None, Some(10)]);
}

#[test]
fn behind_a_hole_one_acknowledgement_stands_for_a_millisecond_of_segments() {
    let mut receiver = adaptive(0);
    let mut take = |us: u64, n: u64| receiver.on_data(Instant::ZERO + Span::from_micros(us), &data(n, 0), false);
    let first: Vec<_> = (0..3).map(|i| acked(take(100 * i, 2 + i))).collect();
    assert_eq!(first, vec![Some(0); 3]);
    // 1 ms and the slack of 0.1 ms.
    let due = Instant::ZERO + Span::from_micros(300 + 1100);
    assert_eq!([take(300, 5), take(900, 6)], [AckAction::Delay(due), WAIT]);
    assert_eq!(receiver.timer(), due);
    let ack = receiver.on_timer(due).expect("due");
    assert_eq!((ack.ack, ack.sack_blocks(), u64::from(ack.sack[0].len)), (0, 1, 5 * MSS));
    // An advance that leaves a hole open brings three at once again; what fills the last one goes at once.
    let mut take = |us: u64, n: u64| acked(receiver.on_data(Instant::ZERO + Span::from_micros(us), &data(n, 0), false));
    assert_eq!([take(2000, 0), take(2100, 8), take(2200, 9), take(2300, 10)], [Some(1), Some(1), Some(1), None]);
    assert_eq!(take(2400, 1), Some(7));
    assert_eq!(take(2500, 7), Some(11));
}

#[test]
fn the_delay_follows_the_spacing_of_segments() {
    let mut receiver = adaptive(0);
    let delay = |receiver: &mut Receiver, at: u64, n: u64| match receiver.on_data(at_ms(at), &data(n, 0), false) {
        AckAction::Delay(due) => Some(due.since(at_ms(at)).nanos() / 1_000_000),
        AckAction::None | AckAction::Now(_) => None,
    };
    // 10 ms apart: 40/2 + 40/2. Every other segment is acknowledged with the one before.
    assert_eq!([0, 1, 2].map(|n| delay(&mut receiver, 10 + 10 * n, n)), [Some(40), None, Some(40)]);
    // 30 ms apart: 40/2 + 30 = 50, then 50/2 + 30 = 55, then 57.5.
    assert_eq!(delay(&mut receiver, 60, 3), None);
    assert_eq!([delay(&mut receiver, 90, 4), delay(&mut receiver, 120, 5)], [Some(55), None]);
    // Then 57.5/2 + 30 = 58.75 ms, and when it runs out twice as much: 117.5 ms. Half of that, and 20 ms after a short pause.
    assert_eq!(delay(&mut receiver, 150, 6), Some(58));
    assert!(receiver.on_timer(receiver.timer()).is_some());
    assert_eq!(delay(&mut receiver, 150 + 15, 7), Some(78));
}
