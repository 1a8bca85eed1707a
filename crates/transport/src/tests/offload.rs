//! Groups of segments, and which of them carry PSH.

use super::path::drained;
use super::*;
use crate::segment::Control;
use crate::{Ack, Data, ReceiverConfig, Sender};

fn grouped(initial_window: u64) -> Config {
    let initial_window = Packets::new(initial_window);
    Config { segmentation_offload: true, handshake: true, initial_window, ..bulk("reno") }
}

/// Numbers of the full segments with PSH among those sent.
fn pushed(sent: impl IntoIterator<Item = Data>) -> Vec<u64> {
    let sent = sent.into_iter().filter(|data| data.len > 0 && data.has(Data::PUSH));
    sent.map(|data| data.seq / MSS).collect()
}

/// A sender after a handshake of `rtt`, and what it sent then.
fn opened(config: Config, rtt: Span) -> (Sender, Instant, Vec<Data>) {
    let mut sender = Sender::new(config);
    drained(&mut sender, Instant::ZERO);
    let now = Instant::ZERO + rtt;
    let ack = Ack { echo: Instant::ZERO, received_at: now, window: 6 << 20, control: Control::Syn, ..Ack::default() };
    sender.on_ack(now, &ack);
    let sent = drained(&mut sender, now);
    (sender, now, sent.into_iter().filter(|data| data.len > 0).collect())
}

#[test]
fn a_group_is_a_millisecond_of_the_rate_and_two_segments_at_the_least() {
    // Twice 10 segments in 100 ms: 290 B in 1/1024 s, so two segments.
    let (_, _, sent) = opened(grouped(10), ms(100));
    assert_eq!((sent.len(), pushed(sent)), (10, vec![1, 3, 5, 7, 9]));
    // Twice 30 segments in 10 ms: 8484 B, which is 5.9 segments.
    let (_, _, sent) = opened(grouped(30), ms(10));
    assert_eq!((sent.len(), pushed(sent)), (30, vec![4, 9, 14, 19, 24, 29]));
    // 1 ms of RTT adds 64 KiB / 2: 32,768 B and twice 10 segments in 1 ms, 28,281 B: more than half the window of 10.
    let (_, _, sent) = opened(grouped(10), ms(1));
    assert_eq!((sent.len(), pushed(sent)), (10, vec![4, 9]));
    // Without groups nothing has PSH.
    let (_, _, sent) = opened(Config { segmentation_offload: false, ..grouped(10) }, ms(100));
    assert_eq!((sent.len(), pushed(sent)), (10, vec![]));
}

#[test]
fn a_buffer_holds_45_segments_and_a_single_one_has_no_push() {
    // 65,215 B are 45.04 segments: number 44 is alone, and the groups of the next buffer begin with 45.
    let (_, _, sent) = opened(grouped(50), ms(100));
    let expected: Vec<u64> = (1..44).step_by(2).chain([46, 48]).collect();
    assert_eq!((sent.len(), pushed(sent)), (50, expected));
}

#[test]
fn the_congestion_window_does_not_grow_while_the_receivers_is_the_smaller_one() {
    // In slow start it grows while it is below twice what was in flight: 2 x 20 segments.
    let receiver = ReceiverConfig { buffer: segments(20), ..ReceiverConfig::default() };
    let mut path = Path::new(grouped(10), receiver, ms(100));
    path.run(at_ms(10_000));
    assert_eq!(path.sender.cwnd(), segments(40));
}

#[test]
fn room_for_less_than_a_group_waits_while_the_next_acknowledgement_is_near() {
    let config = Config { window_limit: Some(segments(12)), ..grouped(12) };
    let (mut sender, start, _) = opened(config, ms(100));
    let mut after = |at: Instant, acked: u64| {
        let ack = Ack { ack: acked * MSS, echo: start, received_at: at, window: 6 << 20, ..Ack::default() };
        sender.on_ack(at, &ack);
        let sent = drained(&mut sender, at);
        (sent.len(), pushed(sent))
    };
    let half = Span::from_micros(500);
    let first = start + ms(100);
    // Nothing has left for 100 ms: one segment goes.
    assert_eq!(after(first, 1), (1, vec![]));
    // The last left 0.5 ms ago, and the next acknowledgement is due: one waits for another, and they go together.
    assert_eq!(after(first + half, 2), (0, vec![]));
    assert_eq!(after(first + half * 2, 3), (2, vec![14]));
    // The last left 1.5 ms ago.
    assert_eq!(after(first + half * 5, 4), (1, vec![]));
}

#[test]
fn the_last_segment_of_a_write_has_push() {
    let mut sender = Sender::new(Config { unlimited: false, handshake: false, ..grouped(10) });
    sender.write(Bytes::new(3 * MSS + 100));
    let sent = drained(&mut sender, at_ms(1));
    assert_eq!(sent.iter().map(|data| (data.len, data.has(Data::PUSH))).next_back(), Some((100, true)));
}

#[test]
fn a_stream_that_is_held_back_sends_its_first_bytes_and_no_more() {
    let mut path = Path::new(bulk("cubic"), ReceiverConfig::default(), ms(10));
    path.sender.hold(Bytes::new(37));
    path.run(at_ms(100));
    assert_eq!(path.sent.iter().map(|(_, data)| data.len).collect::<Vec<_>>(), [37]);
    path.sender.release();
    path.pump();
    assert_eq!(path.sent.iter().map(|(_, data)| data.len).nth(1), Some(MSS as u32));
    path.sender.close();
    path.sender.release();
    path.run(at_ms(500));
    assert!(path.sender.finished());
}
