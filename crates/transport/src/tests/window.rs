//! A receiver whose application reads slowly: the closed window, its probes and its updates.

use super::*;
use crate::{Data, ReceiverConfig};
use sojourn_units::BitRate;

/// The application reads `segments_a_second`, from a buffer of `buffer` segments.
fn reader(segments_a_second: u64, buffer: u64) -> ReceiverConfig {
    ReceiverConfig {
        read_rate: Some(BitRate::from_bit_s(segments_a_second * MSS * 8)),
        buffer: segments(buffer),
        ..ReceiverConfig::default()
    }
}

#[test]
fn goodput_is_the_readers_rate() {
    // 100 segments a second, buffer of 20: the sender could send 200 in each round trip of 20 ms.
    let mut path = Path::new(bulk("reno"), reader(100, 20), ms(20));
    path.run(at_ms(10_000));
    let arrived = path.receiver.delivered().get() / MSS;
    // 1000 read, and no more than the buffer ahead.
    assert!((1000..=1020).contains(&arrived), "{arrived}");
    assert!(path.receiver.unread() <= segments(20));
    assert_eq!((path.sender.stats().timeouts, path.sender.stats().segments_retransmitted), (0, 0));
}

#[test]
fn the_window_closes_in_whole_steps_and_opens_with_an_update() {
    // Ten segments fill the buffer, and the reader takes 1 s for each.
    let mut path = Path::new(bulk("reno"), reader(1, 10), ms(80));
    path.run(at_ms(1_900));
    // All arrive at 40 ms; each acknowledgement offers one segment less.
    let windows: Vec<u64> = path.acks.iter().map(|(_, ack)| u64::from(ack.window) / MSS).collect();
    assert_eq!(windows[..10], [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    // The first segment is read at 1040 ms: room for one, and twice nothing is nothing, so the update leaves at once.
    let (at, update) = path.acks[windows.iter().skip(9).position(|w| *w > 0).expect("an update") + 9];
    assert_eq!((at, u64::from(update.window)), (at_ms(1_040), MSS));
    assert_eq!(path.receiver.stats().window_updates, 1);
    // It has reached the sender at 1080 ms; before, nothing but probes.
    let eleventh = path.sent.iter().find(|(_, d)| d.seq == 10 * MSS && d.len > 0).expect("sent");
    assert_eq!((eleventh.0, eleventh.1.len), (at_ms(1_080), MSS as u32));
}

#[test]
fn probes_of_a_closed_window_back_off() {
    // A reader of a segment in 1000 s. The window is seen closed at 100 ms; the timeout after samples of 100 ms is 300 ms.
    let config = ReceiverConfig { read_rate: Some(BitRate::from_bit_s(MSS * 8 / 1000)), ..reader(1, 10) };
    let mut path = Path::new(bulk("reno"), config, ms(100));
    path.run(at_ms(600_000));
    let probes: Vec<u64> = path.sent.iter().filter(|(_, d)| d.len == 0).map(|(at, _)| at.nanos() / 1_000_000).collect();
    // 300 ms after 100, then 600, 1200 and so on, up to 120 s: 400, 1000, 2200, 4600, ...
    let (mut at, mut expected) = (100, Vec::new());
    for n in 0.. {
        at += (300_u64 << n.min(20)).min(120_000);
        if at > 600_000 {
            break;
        }
        expected.push(at);
    }
    assert_eq!(probes, expected);
    // Each is answered, before the window: sequence number one below it.
    assert!(path.sent.iter().filter(|(_, d)| d.len == 0).all(|(_, d)| d.seq == 10 * MSS - 1));
    assert_eq!(path.acks.len(), 10 + probes.len());
    assert_eq!((path.sender.stats().window_probes, path.sender.stats().timeouts), (probes.len() as u64, 0));
}

#[test]
fn a_lost_window_update_is_made_good_by_a_probe() {
    let mut path = Path::new(bulk("reno"), reader(1, 10), ms(100));
    // The eleventh acknowledgement and the next few: the answers to probes at 400 ms and 1000 ms still say closed.
    path.lose_ack = Box::new(|n| (10..14).contains(&n));
    path.run(at_ms(60_000));
    let arrived = path.receiver.delivered().get() / MSS;
    assert!(arrived > 60, "{arrived}");
    assert!(path.sender.stats().window_probes >= 3);
}

#[test]
fn small_steps_of_the_window_are_not_offered() {
    // RFC 9293, 3.8.6.2.2: every window offered moves the edge by a segment, here of 1448 of 14480 bytes, or not at all.
    let mut path = Path::new(bulk("reno"), reader(333, 10), ms(7));
    path.run(at_ms(5_000));
    let mut edge = 10 * MSS;
    for (_, ack) in &path.acks {
        let offered = ack.ack + u64::from(ack.window);
        assert!(offered == edge || offered >= edge + MSS, "{edge} to {offered}");
        edge = offered;
    }
    // Nor does the sender send less than a segment.
    assert!(path.sent.iter().all(|(_, d)| d.len == 0 || d.len == MSS as u32));
}

#[test]
fn a_buffer_below_two_segments_is_used_by_halves() {
    // One and a half segments: a segment, then nothing below half the widest window, which is 0.75 of one.
    let config = ReceiverConfig { buffer: Bytes::new(MSS * 3 / 2), ..reader(100, 1) };
    // With a handshake, as without one the sender does not know the first window.
    let mut path = Path::new(Config { handshake: true, ..bulk("reno") }, config, ms(20));
    path.run(at_ms(10_000));
    let least = path.sent.iter().filter(|(_, d)| d.len > 0).map(|(_, d)| d.len).min();
    assert!(least >= Some((MSS * 3 / 4) as u32), "{least:?}");
    // Half a window at the least in a round trip of 20 ms and the 15 ms in which the buffer is read: 21 a second.
    assert!(path.receiver.delivered() > segments(210), "{}", path.receiver.delivered());
}

#[test]
fn a_fin_waits_for_the_window_and_gets_through() {
    let config = Config { unlimited: false, handshake: true, ..bulk("reno") };
    let mut path = Path::new(config, reader(2, 10), ms(100));
    path.sender.write(segments(10));
    path.run(at_ms(250));
    // All ten are in the buffer, unread.
    path.sender.close();
    path.transfer(Bytes::ZERO, at_ms(20_000));
    assert!(path.sent.iter().any(|(_, d)| d.has(Data::FIN) && d.len == 0));
}
