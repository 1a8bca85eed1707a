//! When the receiver acknowledges, and what it says.

use super::*;
use crate::{Ack, AckAction, Data, Receiver, ReceiverConfig, SackBlock};

fn data(n: u64, sent: Instant) -> Data {
    Data { seq: n * MSS, len: MSS as u32, sent, flags: 0 }
}

fn plain() -> ReceiverConfig {
    ReceiverConfig { quick_acks: Packets::ZERO, ..ReceiverConfig::default() }
}

fn now(action: AckAction) -> Ack {
    match action {
        AckAction::Now(ack) => ack,
        other => panic!("expected an acknowledgement, got {other:?}"),
    }
}

#[test]
fn every_second_segment_or_after_the_delay() {
    let mut receiver = Receiver::new(plain());
    assert_eq!(receiver.on_data(at_ms(10), &data(0, at_ms(0)), false), AckAction::Delay(at_ms(50)));
    assert_eq!(receiver.timer(), at_ms(50));
    let ack = now(receiver.on_data(at_ms(11), &data(1, at_ms(1)), false));
    assert_eq!((ack.ack, receiver.timer()), (2 * MSS, Instant::NEVER));
    assert_eq!(receiver.on_timer(at_ms(50)), None);

    assert_eq!(receiver.on_data(at_ms(60), &data(2, at_ms(40)), false), AckAction::Delay(at_ms(100)));
    assert_eq!(receiver.on_timer(at_ms(99)), None);
    assert_eq!(receiver.on_timer(at_ms(100)).map(|ack| ack.ack), Some(3 * MSS));
    assert_eq!(receiver.stats().acks, 2);
}

#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let at_once = (0..40)
        .filter(|n| matches!(receiver.on_data(at_ms(*n), &data(*n, at_ms(*n)), false), AckAction::Now(_)))
        .count();
    // 16 of the first 16, and 12 of the other 24.
    assert_eq!(at_once, 28);
}

#[test]
fn holes_and_what_fills_them_are_acknowledged_at_once() {
    let mut receiver = Receiver::new(plain());
    let t = at_ms(5);
    assert_eq!(now(receiver.on_data(t, &data(1, t), false)).ack, 0);
    assert_eq!(now(receiver.on_data(t, &data(3, t), false)).ack, 0);
    // Fills the first hole in part of the sequence; a hole remains.
    assert_eq!(now(receiver.on_data(t, &data(0, t), false)).ack, 2 * MSS);
    assert_eq!(now(receiver.on_data(t, &data(2, t), false)).ack, 4 * MSS);
    // A duplicate as well.
    assert_eq!(now(receiver.on_data(t, &data(2, t), false)).ack, 4 * MSS);
    assert_eq!(receiver.on_data(t, &data(4, t), false), AckAction::Delay(at_ms(45)));
    let stats = receiver.stats();
    assert_eq!((stats.segments, stats.duplicate_segments, stats.out_of_order_segments), (6, 1, 2));
    assert_eq!((receiver.delivered(), stats.duplicate_bytes), (segments(5), segments(1)));
}

#[test]
fn sack_blocks_most_recent_first_and_at_most_three() {
    let mut receiver = Receiver::new(plain());
    let mut last = Ack::default();
    for n in [2, 4, 6, 8, 3] {
        last = now(receiver.on_data(at_ms(1), &data(n, at_ms(1)), false));
    }
    let m = MSS as u32;
    // 3 joined 2 and 4; then 8, then 6.
    let block = |from: u32, segments: u32| SackBlock { offset: from * m, len: segments * m };
    assert_eq!(last.sack, [block(2, 3), block(8, 1), block(6, 1)]);
    // A repeated segment is reported first, with its whole block.
    last = now(receiver.on_data(at_ms(1), &data(6, at_ms(1)), false));
    assert_eq!(last.sack, [block(6, 1), block(2, 3), block(8, 1)]);
    // The cumulative acknowledgement moves to 5; offsets are from it.
    receiver.on_data(at_ms(1), &data(0, at_ms(1)), false);
    last = now(receiver.on_data(at_ms(1), &data(1, at_ms(1)), false));
    assert_eq!((last.ack, last.sack), (5 * MSS, [block(1, 1), block(3, 1), SackBlock::default()]));
    // Without SACK, none.
    let mut receiver = Receiver::new(ReceiverConfig { sack: false, ..plain() });
    assert_eq!(now(receiver.on_data(at_ms(1), &data(5, at_ms(1)), false)).sack_blocks(), 0);
}

#[test]
fn the_echo_is_that_of_the_earliest_unacknowledged_segment() {
    let mut receiver = Receiver::new(plain());
    receiver.on_data(at_ms(20), &data(0, at_ms(10)), false);
    // RFC 7323, 4.3, case A: delayed acknowledgement.
    let ack = now(receiver.on_data(at_ms(22), &data(1, at_ms(12)), false));
    assert_eq!((ack.echo, ack.received_at), (at_ms(10), at_ms(20)));
    // Case B: segments above a hole do not change it; 2 is lost.
    let ack = now(receiver.on_data(at_ms(24), &data(3, at_ms(14)), false));
    assert_eq!(ack.echo, at_ms(10));
    // Case C: the one that fills the hole does.
    let ack = now(receiver.on_data(at_ms(50), &data(2, at_ms(40)), false));
    assert_eq!((ack.ack, ack.echo, ack.received_at), (4 * MSS, at_ms(40), at_ms(50)));
}

#[test]
fn the_window_is_the_free_buffer_and_its_edge_never_retreats() {
    let mut receiver = Receiver::new(ReceiverConfig { buffer: segments(10), ..plain() });
    let window = |ack: Ack| u64::from(ack.window) / MSS;
    assert_eq!(window(now(receiver.on_data(at_ms(1), &data(1, at_ms(1)), false))), 10);
    assert_eq!(window(now(receiver.on_data(at_ms(1), &data(2, at_ms(1)), false))), 10);
    // All read: the edge was 10, is 13.
    assert_eq!(window(now(receiver.on_data(at_ms(1), &data(0, at_ms(1)), false))), 10);
    // 3 missing, 4 to 9 wait; 10, 11 fill the buffer's last places, and the edge stays at 13.
    for n in 4..10 {
        receiver.on_data(at_ms(1), &data(n, at_ms(1)), false);
    }
    assert_eq!(window(now(receiver.on_data(at_ms(1), &data(11, at_ms(1)), false))), 10);
    // 3 arrives: 10 is missing, 11 waits: edge 10 + 10 - 1 = 19.
    assert_eq!(window(now(receiver.on_data(at_ms(1), &data(3, at_ms(1)), false))), 9);
    assert_eq!(receiver.waiting(), segments(1));
}

#[test]
fn a_mark_is_echoed_until_the_sender_has_answered() {
    let mut receiver = Receiver::new(plain());
    // The first mark is reported at once, and so is the next segment.
    let ack = now(receiver.on_data(at_ms(1), &data(0, at_ms(1)), true));
    assert!(ack.ece && ack.accurate.ace == 0);
    assert!(now(receiver.on_data(at_ms(1), &data(1, at_ms(1)), false)).ece);
    receiver.on_data(at_ms(1), &data(2, at_ms(1)), false);
    assert!(now(receiver.on_data(at_ms(1), &data(3, at_ms(1)), false)).ece);
    let reduced = Data { flags: Data::CWR, ..data(4, at_ms(1)) };
    receiver.on_data(at_ms(1), &reduced, false);
    assert!(!now(receiver.on_data(at_ms(1), &data(5, at_ms(1)), false)).ece);
    // A marked segment that carries CWR starts a new echo.
    let reduced = Data { flags: Data::CWR, ..data(6, at_ms(1)) };
    let ack = now(receiver.on_data(at_ms(1), &reduced, true));
    assert!(ack.ece && receiver.stats().ce_segments == 2);
}

#[test]
fn a_large_segment_over_several_ranges_is_counted_once() {
    let mut receiver = Receiver::new(plain());
    for n in [1, 3] {
        receiver.on_data(at_ms(1), &data(n, at_ms(1)), false);
    }
    // 0 to 3.5: 1 and half of 3 were there, and 3 reaches on.
    let large = Data { seq: 0, len: (3 * MSS + MSS / 2) as u32, sent: at_ms(2), flags: 0 };
    assert_eq!(now(receiver.on_data(at_ms(2), &large, false)).ack, 4 * MSS);
    assert_eq!(receiver.stats().duplicate_bytes, Bytes::new(MSS + MSS / 2));
    assert_eq!(receiver.waiting(), Bytes::ZERO);
}
