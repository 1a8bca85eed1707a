//! Windows, buffers and the application.

use super::*;
use crate::congestion::{AckEvent, CongestionControl, CongestionEvent};
use crate::{Ack, Data, ReceiverConfig, Sender};
use sojourn_units::BitRate;
use std::num::NonZeroU32;

fn every_segment() -> ReceiverConfig {
    ReceiverConfig { ack_every: Packets::new(1), ..ReceiverConfig::default() }
}

fn every_second() -> ReceiverConfig {
    ReceiverConfig { quick_acks: Packets::ZERO, ..ReceiverConfig::default() }
}

#[test]
fn slow_start_doubles_each_round_trip() {
    for algorithm in ["newreno", "reno", "cubic"] {
        let mut path = Path::new(Config { keys: hystart(false), ..bulk(algorithm) }, every_segment(), ms(100));
        path.run(at_ms(499));
        assert_eq!(per_round_trip(&path, ms(100)), [10, 20, 40, 80, 160], "{algorithm}");
    }
}

#[test]
fn delayed_acknowledgements_slow_down_newreno_but_not_reno() {
    let mut path = Path::new(bulk("reno"), every_second(), ms(100));
    path.run(at_ms(399));
    assert_eq!(per_round_trip(&path, ms(100)), [10, 20, 40, 80]);
    // newreno: 10 segments give 5 acknowledgements and 5 segments of growth, then 15 give 8 (the last by the timer).
    let mut path = Path::new(bulk("newreno"), every_second(), ms(100));
    path.run(at_ms(299));
    assert_eq!(per_round_trip(&path, ms(100))[..2], [10, 15]);
    assert_eq!(path.sender.cwnd(), segments(10 + 5 + 8));
}

/// Window growth over 20 round trips of congestion avoidance.
fn growth(algorithm: &str) -> f64 {
    let mut path = Path::new(bulk(algorithm), every_second(), ms(100));
    path.fate = Box::new(drop_once(&[60]));
    path.run_while(at_ms(5_000), |p| p.sender.stats().fast_retransmits == 0);
    path.run(path.now + ms(350));
    let (before, start) = (path.sender.cwnd().get(), path.now);
    path.run(start + ms(2000));
    assert_eq!(path.sender.stats().segments_retransmitted, 1);
    (path.sender.cwnd().get() - before) as f64 / MSS as f64
}

#[test]
fn congestion_avoidance_grows_by_a_half_or_a_whole_segment() {
    // 20 round trips: 10 segments for one increment per acknowledgement of two segments, 20 when segments are counted.
    let (newreno, reno) = (growth("newreno"), growth("reno"));
    assert!((9.0..=10.5).contains(&newreno), "{newreno}");
    assert!((19.0..=21.0).contains(&reno), "{reno}");
}

#[test]
fn an_application_that_does_not_use_the_window_does_not_widen_it() {
    for (algorithm, grows) in [("reno", false), ("cubic", false), ("newreno", true)] {
        let config = Config { unlimited: false, slow_start_after_idle: false, ..bulk(algorithm) };
        let mut path = Path::new(config, every_segment(), ms(100));
        // A segment each 20 ms: five in flight of ten.
        for i in 0..500 {
            path.run(at_ms(20 * i));
            assert_eq!(path.sender.write(segments(1)), segments(1));
            path.pump();
        }
        // newreno does as ns-3 does: a segment for each of the 500 - 5 acknowledgements, save the last few.
        let expected = if grows { segments(10 + 495) } else { segments(10) };
        let cwnd = path.sender.cwnd();
        assert!(cwnd.get().abs_diff(expected.get()) <= if grows { 3 * MSS } else { 0 }, "{algorithm}: {cwnd}");
        assert_eq!(path.sent.len(), 500);
    }
}

#[test]
fn half_a_window_in_use_is_enough_to_grow_in_slow_start_only() {
    let config = Config { unlimited: false, slow_start_after_idle: false, ..bulk("reno") };
    // A segment each 15 ms: at most seven in flight. Slow start widens the window until it is twice that.
    let mut path = Path::new(config, every_segment(), ms(100));
    for i in 0..200 {
        path.run(at_ms(15 * i));
        path.sender.write(segments(1));
        path.pump();
    }
    assert_eq!((path.sender.cwnd(), path.sender.ssthresh()), (segments(14), Bytes::new(u64::MAX)));
    // After a loss has halved it to ten of which seven are used: nothing.
    let mut path = Path::new(config, every_segment(), ms(100));
    path.fate = Box::new(drop_once(&[15]));
    path.sender.write(segments(30));
    path.run(at_ms(1_000));
    let reduced = path.sender.cwnd();
    assert_eq!((path.sender.stats().fast_retransmits, reduced), (1, path.sender.ssthresh()));
    let gap = ms(100 * MSS * 3 / (2 * reduced.get()));
    for i in 0..200 {
        path.run(at_ms(1_000) + gap * i);
        path.sender.write(segments(1));
        path.pump();
    }
    assert_eq!(path.sender.cwnd(), reduced);
}

#[test]
fn a_window_unused_decays_to_the_initial_one() {
    for (on, expected) in [(true, 10), (false, 40)] {
        let config = Config { unlimited: false, slow_start_after_idle: on, ..bulk("reno") };
        let mut path = Path::new(config, every_segment(), ms(100));
        path.sender.write(segments(30));
        path.run(at_ms(250));
        // 10 sent and acknowledged: 20; 20 sent and acknowledged: 40.
        assert_eq!(path.sender.cwnd(), segments(40));
        // 3 s later, many timeouts of 300 ms: a new segment finds the initial window.
        path.run(at_ms(3_250));
        path.sender.write(segments(1));
        path.pump();
        assert_eq!(path.sender.cwnd(), segments(expected), "{on}");
    }
}

#[test]
fn idle_for_one_and_a_half_timeouts_halves_the_window_once() {
    let mut path = Path::new(Config { unlimited: false, ..bulk("reno") }, every_segment(), ms(100));
    path.sender.write(segments(30));
    path.run(at_ms(201));
    assert_eq!((path.sender.cwnd(), path.sender.rto()), (segments(40), ms(300)));
    // The last segment left at 100 ms; 1.5 timeouts of 300 ms later:
    path.run(at_ms(550));
    path.sender.write(segments(1));
    path.pump();
    assert_eq!(path.sender.cwnd(), segments(20));
}

#[test]
fn an_idle_time_in_the_ways_of_rfc_2861_and_rfc_5681() {
    use crate::IdleRestart::{Decay, Initial};
    // Window 40 and timeout 300 ms as above, the last segment sent at 100 ms: what is left after an idle time, in segments.
    let after = |rule, on, idle: u64| {
        let config = Config { unlimited: false, idle_restart: rule, slow_start_after_idle: on, ..bulk("reno") };
        let mut path = Path::new(config, every_segment(), ms(100));
        path.sender.write(segments(30));
        path.run(at_ms(100 + idle));
        path.sender.write(segments(1));
        path.pump();
        path.sender.cwnd().get() / MSS
    };
    // Not longer than the timeout: nothing. Then RFC 2861 halves for each whole one; RFC 5681 is at the restart window at once.
    assert_eq!((after(Decay, true, 300), after(Initial, true, 300)), (40, 40));
    assert_eq!((after(Decay, true, 450), after(Initial, true, 450)), (20, 10));
    assert_eq!((after(Decay, true, 2_000), after(Initial, true, 2_000)), (10, 10));
    assert_eq!((after(Decay, false, 2_000), after(Initial, false, 2_000)), (40, 40));
}

#[test]
fn short_segments_count_whole_in_a_window_of_packets() {
    use crate::WindowUnit::{Bytes as InBytes, Packets as InPackets};
    // Writes of 100 bytes, each sent by itself: the initial window of ten holds 144 of them in bytes, ten in packets.
    let sent = |window_unit| {
        let config = Config { unlimited: false, window_unit, ..bulk("reno") };
        let mut path = Path::new(config, every_segment(), ms(100));
        for _ in 0..200 {
            path.sender.write(Bytes::new(100));
            path.pump();
        }
        let first = path.sent.len();
        path.run(at_ms(150));
        (first, path.sent[first..].first().map(|(at, d)| (*at, d.len)))
    };
    assert_eq!(sent(InBytes).0, 144);
    // What could not be sent has gathered: full segments, 20 in place of 10 after a round trip, of the 19,000 bytes left.
    assert_eq!(sent(InPackets), (10, Some((at_ms(100), MSS as u32))));
    // Of full segments the two say the same.
    let bulk_of = |window_unit, recovery| {
        let mut path = Path::new(Config { window_unit, recovery, ..bulk("newreno") }, every_segment(), ms(100));
        path.fate = Box::new(drop_once(&[15, 40, 45, 46, 100, 333]));
        path.run(at_ms(5_000));
        path.sent
    };
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        assert_eq!(bulk_of(InBytes, recovery), bulk_of(InPackets, recovery), "{recovery:?}");
    }
}

#[test]
fn the_send_buffer_takes_what_fits_and_frees_what_is_acknowledged() {
    let config = Config { unlimited: false, send_buffer: Some(segments(20)), ..bulk("reno") };
    let mut path = Path::new(config, every_segment(), ms(100));
    assert_eq!(path.sender.write(segments(15)), segments(15));
    assert_eq!(path.sender.write(segments(15)), segments(5));
    assert_eq!(path.sender.buffer_space(), Bytes::ZERO);
    path.run(at_ms(99));
    assert_eq!((path.sent.len(), path.sender.buffer_space()), (10, Bytes::ZERO));
    path.run(at_ms(100));
    assert_eq!((path.sent.len(), path.sender.buffer_space()), (20, segments(10)));
    path.sender.close();
    assert_eq!((path.sender.write(segments(1)), path.sender.finished()), (Bytes::ZERO, false));
    path.run(at_ms(200));
    assert!(path.sender.finished());
    assert_eq!(path.sender.timer(), Instant::NEVER);
}

#[test]
fn a_full_send_buffer_is_filled_again_when_a_third_of_it_is_free() {
    let buffer = Some(segments(12));
    let acknowledged = |sender: &mut Sender, number: u64| {
        let ack = Ack { ack: number * MSS, echo: Instant::ZERO, window: 1 << 30, ..Ack::default() };
        sender.on_ack(at_ms(100), &ack);
    };
    // The initial window is 10. Its first acknowledgement allows 11 + 1 - 10 = 2 more, and the buffer is empty of new data. With
    // four acknowledged, 8 of 12 are held, which are two thirds: four are written and sent. With writes at once,
    // the window's 12 - 10 = 2 at the second acknowledgement, then one for each.
    let sent = |write_at_once: bool| {
        let mut sender = Sender::new(Config { send_buffer: buffer, write_at_once, ..bulk("reno") });
        let mut sends = |number: u64| {
            acknowledged(&mut sender, number);
            std::iter::from_fn(|| sender.poll(at_ms(100))).count()
        };
        [0, 1, 2, 3, 4, 5].map(&mut sends)
    };
    assert_eq!(sent(false), [10, 2, 0, 0, 4, 0]);
    assert_eq!(sent(true), [10, 2, 2, 1, 1, 1]);

    // So does the application of a transfer, whose writes find no room before.
    let written = |write_at_once: bool| {
        let config = Config { unlimited: false, send_buffer: buffer, write_at_once, ..bulk("reno") };
        let mut sender = Sender::new(config);
        let mut writes = |number: u64| {
            acknowledged(&mut sender, number);
            while sender.poll(at_ms(100)).is_some() {}
            sender.write(segments(20)).get() / MSS
        };
        let first = writes(0);
        [first, writes(0), writes(1), writes(3), writes(4), writes(5)]
    };
    assert_eq!(written(false), [12, 0, 0, 0, 4, 0]);
    assert_eq!(written(true), [12, 0, 1, 2, 1, 1]);
}

#[test]
fn writes_of_a_size_leave_short_segments_where_the_buffer_bounds_the_flow() {
    let lengths = |nagle: bool| {
        let config = Config {
            send_buffer: Some(Bytes::new(5_000)),
            write_size: NonZeroU32::new(512),
            write_at_once: true,
            nagle,
            ..bulk("reno")
        };
        let mut sender = Sender::new(config);
        let mut drain = |at: u64, acknowledged: u64| {
            let ack = Ack { ack: acknowledged, echo: Instant::ZERO, window: 1 << 30, ..Ack::default() };
            sender.on_ack(at_ms(at), &ack);
            std::iter::from_fn(|| sender.poll(at_ms(at))).map(|data| data.len).collect::<Vec<_>>()
        };
        [drain(0, 0), drain(100, 2 * MSS)]
    };
    // Nine writes fit: 9 x 512 = 4608 = 3 x 1448 + 264. With two segments acknowledged fifteen do, of 2896 + 5000 = 7896:
    // 15 x 512 = 7680, so 7680 - 4608 = 3072 = 2 x 1448 + 176 more.
    assert_eq!(lengths(false), [vec![1448, 1448, 1448, 264], vec![1448, 1448, 176]]);
    // Nagle's algorithm holds the short ones: 7680 = 5 x 1448 + 440.
    assert_eq!(lengths(true), [vec![1448, 1448, 1448], vec![1448, 1448]]);
}

#[test]
fn a_send_buffer_bounds_an_unlimited_source_to_whole_segments() {
    let config = Config { send_buffer: Some(Bytes::new(12 * MSS + 100)), write_at_once: true, ..bulk("reno") };
    let mut path = Path::new(config, every_segment(), ms(100));
    path.run(at_ms(999));
    assert_eq!(per_round_trip(&path, ms(100)), [10, 12, 12, 12, 12, 12, 12, 12, 12, 12]);
    assert!(path.sent.iter().all(|(_, data)| u64::from(data.len) == MSS));
    // Slow start grows the window to twice what is used; the application would use more, so it never decays as an idle one does.
    let mut path = Path::new(config, every_segment(), ms(100));
    let mut widest = Bytes::ZERO;
    path.run_while(at_ms(2_000), |p| p.now < at_ms(300));
    while path.step(at_ms(999)) {
        assert!(path.sender.cwnd() >= widest, "{} after {widest}", path.sender.cwnd());
        widest = path.sender.cwnd();
    }
    assert_eq!(widest, segments(24));
    path.sender.close();
    path.run(at_ms(2_000));
    assert!(path.sender.finished() && path.sent.len() == 118);
}

#[test]
fn the_last_segment_of_a_transfer_says_so() {
    // By its FIN after a handshake, which takes a round trip of its own.
    for (handshake, says, end) in [(false, Data::LAST, at_ms(100)), (true, Data::FIN, at_ms(200))] {
        let config = Config { unlimited: false, handshake, ..bulk("reno") };
        let mut path = Path::new(config, every_second(), ms(100));
        path.transfer(Bytes::new(4 * MSS + 1), at_ms(1_000));
        let flags: Vec<_> = path.sent.iter().filter(|(_, d)| d.len > 0).map(|(_, d)| (d.len, d.flags)).collect();
        assert_eq!(flags, [(1448, 0), (1448, 0), (1448, 0), (1448, 0), (1, says)]);
        // The end is acknowledged at once, though it is the fifth segment.
        assert_eq!(path.now, end);
    }
}

#[test]
fn nagle_holds_a_short_segment_back() {
    for (nagle, expected) in [(false, vec![100, 100, 100]), (true, vec![100, 200])] {
        let config = Config { unlimited: false, nagle, ..bulk("reno") };
        let mut path = Path::new(config, every_segment(), ms(100));
        for _ in 0..3 {
            path.sender.write(Bytes::new(100));
            path.pump();
        }
        path.run(at_ms(500));
        assert_eq!(path.sent.iter().map(|(_, d)| d.len).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn the_receive_window_bounds_what_is_outstanding() {
    let receiver = ReceiverConfig { buffer: segments(15), ..every_segment() };
    let mut path = Path::new(bulk("reno"), receiver, ms(100));
    path.run(at_ms(599));
    assert_eq!(per_round_trip(&path, ms(100)), [10, 15, 15, 15, 15, 15]);
}

#[test]
fn the_window_limit_is_ns2s_window() {
    for algorithm in ["newreno", "reno", "cubic"] {
        let config = Config { window_limit: Some(segments(20)), ..bulk(algorithm) };
        let mut path = Path::new(config, every_segment(), ms(100));
        path.run(at_ms(599));
        assert_eq!(per_round_trip(&path, ms(100)), [10, 20, 20, 20, 20, 20], "{algorithm}");
    }
}

/// A fixed window, paced; keeps the last event and the sum of what was delivered.
#[derive(Clone, Debug)]
struct Paced(Option<AckEvent>, u64);

impl CongestionControl for Paced {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.0 = Some(*ack);
        self.1 += ack.newly_delivered().get();
    }
    fn on_congestion(&mut self, _: &CongestionEvent) {}
    fn on_rto(&mut self, _: Instant, _: Bytes) {}
    fn cwnd(&self) -> Bytes {
        segments(1000)
    }
    fn ssthresh(&self) -> Bytes {
        Bytes::new(u64::MAX)
    }
    fn set_cwnd(&mut self, _: Bytes) {}
    fn set_ssthresh(&mut self, _: Bytes) {}
    fn pacing_rate(&self) -> Option<BitRate> {
        Some(BitRate::from_bit_s(12_000_000))
    }
    fn reads_rates(&self) -> bool {
        true
    }
    fn paces(&self) -> bool {
        true
    }
    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(event) = self.0 {
            let rate = event.delivery.rate.map_or(0.0, |r| r.rate().bit_s() as f64);
            see("rate_bit_s", rate);
            see("app_limited", f64::from(u8::from(event.delivery.rate.is_some_and(|r| r.app_limited))));
            see("delivered_bytes", event.delivery.total.get() as f64);
            see("sum_bytes", self.1 as f64);
            see("one_way_delay_ms", event.rtt.one_way.map_or(0.0, Span::millis));
        }
    }
}

#[test]
fn pacing_spaces_segments() {
    let sender = Sender::with_congestion_control(bulk("reno"), Box::new(Paced(None, 0)));
    let mut path = Path::with_sender(sender, every_segment(), ms(40));
    path.run(at_ms(9));
    // 1500 B at 12 Mbit/s: one each millisecond, not the window at once.
    assert_eq!(
        path.sent.iter().map(|(at, _)| at.nanos() / 1_000).collect::<Vec<_>>(),
        (0..10).map(|i| 1_000 * i).collect::<Vec<_>>()
    );
}

#[test]
fn a_group_that_leaves_late_makes_up_for_half_of_its_time_at_the_most() {
    let config = Config { unlimited: false, segmentation_offload: true, ..bulk("reno") };
    let sender = Sender::with_congestion_control(config, Box::new(Paced(None, 0)));
    let mut path = Path::with_sender(sender, every_segment(), ms(40));
    let us = |n| Instant::ZERO + Span::from_micros(n);
    for (at, written) in [(100_000, 1), (101_300, 1), (102_900, 3)] {
        path.run(us(at));
        path.sender.write(segments(written));
        path.pump();
    }
    path.run(us(110_000));
    // A segment takes 1 ms. After the first the next may leave at 100.5 ms; it is 0.8 ms late, so the third may leave at 101.8 ms.
    // That one is 1.1 ms late, the fourth leaves at 103.4 ms in time, and the fifth 1 ms later.
    let left: Vec<_> = path.sent.iter().map(|(at, _)| at.nanos() / 1_000).collect();
    assert_eq!(left, [100_000, 101_300, 102_900, 103_400, 104_400]);
}

#[test]
fn the_delivery_rate_is_that_of_the_path() {
    let sender = Sender::with_congestion_control(bulk("reno"), Box::new(Paced(None, 0)));
    let mut path = Path::with_sender(sender, every_segment(), ms(40));
    path.run(at_ms(500));
    // 1448 B of payload each millisecond = 11.584 Mbit/s.
    assert!((internal(&path, "rate_bit_s") - 11_584_000.0).abs() < 1_000.0, "{}", internal(&path, "rate_bit_s"));
    assert_eq!(internal(&path, "app_limited"), 0.0);
    assert_eq!(internal(&path, "one_way_delay_ms"), 20.0);
    // A bottleneck of half the pacing rate: the rate of the acknowledgements, and the delay of its queue.
    path.bottleneck = Some((BitRate::from_bit_s(6_000_000), 2000));
    path.run(at_ms(1500));
    assert!((internal(&path, "rate_bit_s") - 5_792_000.0).abs() < 10_000.0, "{}", internal(&path, "rate_bit_s"));
    assert!(internal(&path, "one_way_delay_ms") > 100.0);
}

#[test]
fn samples_bounded_by_the_application_say_so() {
    let config = Config { unlimited: false, ..bulk("reno") };
    let sender = Sender::with_congestion_control(config, Box::new(Paced(None, 0)));
    let mut path = Path::with_sender(sender, every_segment(), ms(40));
    for i in 0..50 {
        path.run(at_ms(10 * i));
        path.sender.write(segments(1));
        path.pump();
    }
    assert_eq!(internal(&path, "app_limited"), 1.0);
}

#[test]
fn acknowledgements_of_nothing_sent_or_long_known_are_ignored() {
    let mut path = Path::new(bulk("reno"), every_segment(), ms(100));
    path.run(at_ms(150));
    let before = format!("{:?}", path.sender);
    path.sender.on_ack(at_ms(150), &Ack { ack: 10_000 * MSS, ..Ack::default() });
    path.sender.on_ack(at_ms(150), &Ack { ack: MSS, ..Ack::default() });
    assert_eq!(format!("{:?}", path.sender), before);
}

#[test]
fn what_is_delivered_is_counted_once_however_it_was_reported() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let config = Config { recovery, unlimited: false, ..bulk("reno") };
        let sender = Sender::with_congestion_control(config, Box::new(Paced(None, 0)));
        let receiver = ReceiverConfig { sack: recovery == Recovery::Sack, ..every_segment() };
        let mut path = Path::with_sender(sender, receiver, ms(40));
        path.fate = Box::new(drop_once(&[40, 45, 50, 150]));
        path.transfer(segments(300), at_ms(20_000));
        assert_eq!(internal(&path, "sum_bytes"), (300 * MSS) as f64, "{recovery:?}");
        assert_eq!(internal(&path, "delivered_bytes"), (300 * MSS) as f64, "{recovery:?}");
    }
}

#[test]
fn pacing_spaces_a_window_over_half_a_round_trip_in_slow_start() {
    let limited = Config { window_limit: Some(segments(20)), keys: hystart(false), ..bulk("reno") };
    let gaps = |pacing: bool| -> Vec<u64> {
        let mut path = Path::new(Config { pacing, ..limited }, every_segment(), ms(100));
        path.run(at_ms(2_000));
        let late: Vec<Instant> = path.sent.iter().map(|(at, _)| *at).filter(|at| *at >= at_ms(1_000)).collect();
        late.windows(2).map(|pair| pair[1].since(pair[0]).nanos() / 1_000).collect()
    };
    // The threshold is unset, so twice 20 segments in 100 ms: one each 2.5 ms, and nothing for the other half of the round trip.
    // (The second of each is 4.5 ms behind the first: so far apart the eleven of an earlier window were, and acknowledgements keep it.)
    let paced = gaps(true);
    let (least, most) = (paced.iter().min().copied(), paced.iter().max().copied());
    assert!(least == Some(2_500) && most.is_some_and(|gap| gap > 50_000), "{paced:?}");
    assert_eq!(paced.iter().filter(|gap| **gap == 2_500).count() * 20, paced.len().next_multiple_of(20) * 18);
    // Without it they come as the first ten and the next did, in bursts.
    assert!(gaps(false).iter().filter(|gap| **gap == 0).count() > gaps(false).len() / 2);
}
