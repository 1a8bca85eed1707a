//! Loss detection by time, and tail loss probes: RTT 100 ms, flights of 10, 20, 40 segments at 0, 100, 200 ms.

use super::*;
use crate::{Ack, Data, ReceiverConfig, SackBlock, Sender};

fn every_segment() -> ReceiverConfig {
    ReceiverConfig { ack_every: Packets::new(1), ..ReceiverConfig::default() }
}

fn config(recovery: Recovery, tail_loss_probe: bool) -> Config {
    Config { recovery, tail_loss_probe, ..bulk("reno") }
}

fn path(config: Config, lost: &'static [u64]) -> Path {
    let mut path = Path::new(config, every_segment(), ms(100));
    path.fate = Box::new(drop_once(lost));
    path
}

#[test]
fn losses_are_found_as_early_as_by_counting() {
    // Three segments SACKed and no reordering seen: the reordering window is none (RFC 8985, step 4).
    for lost in [&[40][..], &[40, 45, 50], &[41, 42, 43, 60, 61]] {
        let lost: &'static [u64] = lost;
        let mut by_time = path(config(Recovery::Rack, false), lost);
        by_time.run(at_ms(1_000));
        let expected: Vec<(u64, u64)> = lost.iter().map(|n| (300, *n)).collect();
        assert_eq!(retransmissions(&by_time), expected);
        let stats = by_time.sender.stats();
        assert_eq!((stats.fast_retransmits, stats.timeouts), (1, 0));
        assert_eq!(by_time.receiver.stats().duplicate_segments, 0);
    }
}

#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    // 40 is lost twice. What is sent behind its retransmission at 300 ms is SACKed at 400 ms: sent again then, without timer.
    let twice = |n: &mut u32| {
        *n += 1;
        *n <= 2
    };
    for (recovery, timeouts, at) in [(Recovery::Rack, 0, Some(400)), (Recovery::Sack, 1, None)] {
        let mut path = path(config(recovery, false), &[]);
        let mut seen = 0;
        path.fate =
            Box::new(move |_, d| if d.seq == 40 * MSS && twice(&mut seen) { Fate::Drop } else { Fate::Deliver });
        path.run(at_ms(2_000));
        assert_eq!(path.sender.stats().timeouts, timeouts, "{recovery:?}");
        let again: Vec<u64> = retransmissions(&path).iter().filter(|(_, n)| *n == 40).map(|(at, _)| *at).collect();
        assert_eq!(again[0], 300);
        if let Some(at) = at {
            assert_eq!(again, [300, at]);
        }
    }
}

#[test]
fn a_retransmission_lost_after_a_timeout_is_a_congestion_of_its_own() {
    // The flight of 200 ms, 30 to 69, is lost; the timer has 30 sent again, its acknowledgement 31 and 32. 31 is lost once
    // more, which the SACK of 32 tells: fast recovery, and the threshold is half the window of then.
    let mut path = path(config(Recovery::Rack, false), &[]);
    let mut again = 0;
    path.fate = Box::new(move |_, d| {
        let retransmitted = d.has(Data::RETRANSMIT);
        again += u32::from(retransmitted && d.seq == 31 * MSS);
        match d.seq / MSS {
            30..70 if !retransmitted => Fate::Drop,
            31 if again == 1 => Fate::Drop,
            _ => Fate::Deliver,
        }
    });
    path.run_while(at_ms(60_000), |p| p.sender.stats().fast_retransmits == 0);
    let stats = path.sender.stats();
    assert_eq!((stats.timeouts, path.sender.acknowledged()), (1, segments(31)));
    assert_eq!(path.sender.ssthresh(), segments(2));
    path.run(path.now + ms(100));
    let sent: Vec<u64> = retransmissions(&path).iter().filter(|(_, n)| *n == 31).map(|(at, _)| *at).collect();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1] - sent[0], 100);
}

#[test]
fn reordering_within_a_quarter_of_the_rtt_costs_nothing_once_it_is_seen() {
    // Segments 28 and 40 come 20 ms late: the former behind one other, the latter behind 25.
    let late = |recovery| {
        let mut path = path(config(recovery, false), &[]);
        path.fate = Box::new(|_, d| match d.seq / MSS {
            28 | 40 if !d.has(Data::RETRANSMIT) => Fate::Late(ms(20)),
            _ => Fate::Deliver,
        });
        path.run(at_ms(1_000));
        path
    };
    // One SACK is not three: 28 is waited for until a quarter of the RTT has passed, and comes before. That was reordering,
    // so 40 is waited for as well, whatever is SACKed: until 200 + 100 + 25 ms, and it is acknowledged at 320.
    assert_eq!(retransmissions(&late(Recovery::Rack)), []);
    // Counting to three does not wait.
    assert_eq!(retransmissions(&late(Recovery::Sack)), [(300, 40)]);
}

#[test]
fn a_segment_later_than_the_reordering_window_is_lost_when_the_timer_says_so() {
    let mut sender = Sender::new(config(Recovery::Rack, false));
    let mut sent = 0;
    while sender.poll(at_ms(0)).is_some() {
        sent += 1;
    }
    assert_eq!(sent, 10);
    let ack = |n: u64, first: u64, count: u64| Ack {
        ack: n * MSS,
        window: 1 << 30,
        sack: [
            SackBlock { offset: ((first - n) * MSS) as u32, len: (count * MSS) as u32 },
            SackBlock::default(),
            SackBlock::default(),
        ],
        ..Ack::default()
    };
    // 0 is missing and 1 is SACKed after 100 ms: a single SACK. It may come until 0 + 100 + 100/4 ms, to the nanosecond or
    // two by which the burst was stamped apart.
    sender.on_ack(at_ms(100), &ack(0, 1, 1));
    let due = sender.timer();
    assert!(due.since(at_ms(125)) < Span::from_nanos(3) && at_ms(125).since(due) < Span::from_nanos(3), "{due:?}");
    assert_eq!(sender.stats().fast_retransmits, 0);
    while sender.poll(at_ms(100)).is_some() {}
    sender.on_timer(due);
    assert_eq!(sender.stats().fast_retransmits, 1);
    assert!(sender.poll(due).is_some_and(|d| d.seq == 0 && d.has(Data::RETRANSMIT)));
}

#[test]
fn what_the_reordering_timer_finds_is_sent_again_at_the_pace_of_a_reduction() {
    // 0 to 4 are missing, 5 is SACKed at 100 ms. At the timer 4 of the first flight and the one sent for the SACK are in flight:
    // no fewer than the threshold of 5, so the reduction begins with a single segment, and not with all five.
    let mut sender = Sender::new(config(Recovery::Rack, false));
    while sender.poll(at_ms(0)).is_some() {}
    let mut sack = [SackBlock::default(); 3];
    sack[0] = SackBlock { offset: (5 * MSS) as u32, len: MSS as u32 };
    sender.on_ack(at_ms(100), &Ack { ack: 0, window: 1 << 30, sack, ..Ack::default() });
    while sender.poll(at_ms(100)).is_some() {}
    let due = sender.timer() + ms(1);
    sender.on_timer(due);
    assert_eq!((sender.stats().fast_retransmits, sender.ssthresh()), (1, segments(5)));
    let sent: Vec<u64> = std::iter::from_fn(|| sender.poll(due)).map(|d| d.seq / MSS).collect();
    assert_eq!(sent, [0]);
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    // A transfer of 30: 10 at 0, 20 at 100 ms. The last three are lost; 26 is acknowledged at 200 ms. Three segments are in
    // flight, so the probe is due after 2 * 100 ms: at 400 ms, and it repeats the last.
    let transfer = |recovery, tail_loss_probe| {
        let config = Config { unlimited: false, ..config(recovery, tail_loss_probe) };
        let mut path = path(config, &[27, 28, 29]);
        path.transfer(segments(30), at_ms(10_000));
        path
    };
    // Its SACK at 500 ms: 27 and 28 were sent more than a round trip and a quarter before. PRR lets one go for one delivered,
    // the other follows its acknowledgement.
    let probed = transfer(Recovery::Rack, true);
    assert_eq!(retransmissions(&probed), [(400, 29), (500, 27), (600, 28)]);
    assert_eq!((probed.now, probed.sender.stats().timeouts, probed.sender.stats().tail_probes), (at_ms(700), 0, 1));
    // Without the probe the timer of 300 ms after the last acknowledgement has one sent, and slow start the others.
    let timed = transfer(Recovery::Rack, false);
    assert_eq!((retransmissions(&timed)[0], timed.sender.stats().timeouts), ((500, 27), 1));
    assert_eq!((timed.now, timed.sender.cwnd() < probed.sender.cwnd()), (at_ms(700), true));
}

#[test]
fn the_probe_of_a_single_segment_waits_for_a_delayed_acknowledgement() {
    // Two round trips and 200 ms are 400 ms, later than the timeout of 300 ms: the probe takes its place, and it, too, is
    // no timeout: the window stays.
    let config = Config { unlimited: false, ..config(Recovery::Rack, true) };
    let mut path = path(config, &[10]);
    path.sender.write(segments(10));
    path.run(at_ms(150));
    path.sender.write(segments(1));
    path.run(at_ms(3_000));
    assert_eq!(retransmissions(&path), [(450, 10)]);
    assert_eq!((path.sender.stats().timeouts, path.sender.stats().tail_probes), (0, 1));
}

#[test]
fn a_probe_that_mends_a_loss_reduces_the_window_and_one_for_nothing_does_not() {
    let window = |lost: &'static [u64], late: bool| {
        let config = Config { unlimited: false, slow_start_after_idle: false, ..config(Recovery::Rack, true) };
        let mut path = path(config, lost);
        if late {
            // 29 comes at 530 ms, when the probe of 500 ms is under way: nothing was lost.
            path.fate = Box::new(|_, d| match d.seq / MSS {
                29 if !d.has(Data::RETRANSMIT) => Fate::Late(ms(380)),
                _ => Fate::Deliver,
            });
        }
        path.sender.write(segments(30));
        path.run(at_ms(1_500));
        assert_eq!(path.sender.stats().tail_probes, 1);
        // More data, so that an acknowledgement passes the probe.
        path.sender.write(segments(1));
        path.run(at_ms(2_000));
        path.sender.cwnd()
    };
    // The window had grown to 10 + 29 or 10 + 30; 29 repeated by the probe was lost: half of it.
    let (mended, idle) = (window(&[29], false), window(&[], true));
    assert!(mended < segments(25) && mended >= segments(15), "{mended}");
    assert!(idle >= segments(39), "{idle}");
}

#[test]
fn new_data_probes_before_old_does() {
    // The congestion window is full with ten segments and nothing comes back: after 1 s (no RTT is known) it would be the
    // timer's turn; the probe comes at the same time and is segment 10, beyond the window.
    let mut path = path(config(Recovery::Rack, true), &[]);
    path.fate = Box::new(|n, _| if n < 10 { Fate::Drop } else { Fate::Deliver });
    path.run(at_ms(1_050));
    assert_eq!(path.sent.len(), 11);
    assert_eq!((path.sent[10].0, path.sent[10].1.seq, path.sent[10].1.flags), (at_ms(1_000), 10 * MSS, 0));
}

/// Acknowledges `n` segments and SACKs `count` from `first` on.
fn sack(n: u64, first: u64, count: u64) -> Ack {
    let block = SackBlock { offset: ((first - n) * MSS) as u32, len: (count * MSS) as u32 };
    Ack { ack: n * MSS, window: 1 << 30, sack: [block, SackBlock::default(), SackBlock::default()], ..Ack::default() }
}

/// Sends all that the window allows; how many segments.
fn send(sender: &mut Sender, at: u64) -> usize {
    std::iter::from_fn(|| sender.poll(at_ms(at))).count()
}

#[test]
fn the_timer_starts_again_while_what_left_before_the_first_segment_is_sacked() {
    let mut sender = Sender::new(config(Recovery::Rack, false));
    assert_eq!(send(&mut sender, 0), 10);
    // The first RTT is 100 ms: srtt 100, rttvar 50, RTO 300 ms; the timer runs since 0 with the initial RTO of 1 s.
    sender.on_ack(at_ms(100), &sack(0, 1, 4));
    // 0 is sent again at 100 ms.
    assert_eq!(send(&mut sender, 100), 1);
    // 5 to 9 left at 0 ms, before 0 was sent again. The RTT of 250 ms: srtt 100 + (250 - 100)/8 = 118.75, rttvar 50 + (150 - 50)/4
    // = 75, so the RTO is 118.75 + 4 x 75 = 418.75 ms, from 250 ms on, but for the nanoseconds that tell a burst apart.
    sender.on_ack(at_ms(250), &sack(0, 1, 9));
    let (due, expected) = (sender.timer(), Instant::ZERO + Span::from_micros(668_750));
    assert!(expected.since(due) < Span::from_nanos(10) && due <= expected, "{due:?}");
    // 10 leaves after it, so its SACK says that the answer to 0 is overdue: the timer stays.
    assert!(send(&mut sender, 250) > 0);
    sender.on_ack(at_ms(300), &sack(0, 10, 1));
    assert_eq!(sender.timer(), due);
    // Without RACK only what is newly acknowledged starts it again.
    let mut sender = Sender::new(config(Recovery::Sack, false));
    send(&mut sender, 0);
    let before = sender.timer();
    sender.on_ack(at_ms(100), &sack(0, 1, 4));
    sender.on_ack(at_ms(250), &sack(0, 1, 5));
    assert_eq!(sender.timer(), before);
}

#[test]
fn after_a_timeout_the_window_has_room_for_what_is_in_flight_and_one_more() {
    for (recovery, in_flight) in [(Recovery::Rack, 3), (Recovery::Sack, 0)] {
        let mut sender = Sender::new(Config { unlimited: false, ..config(recovery, false) });
        let write = |sender: &mut Sender, count, at| {
            sender.write(segments(count));
            assert_eq!(send(sender, at), count as usize);
        };
        write(&mut sender, 1, 0);
        // An RTT of 100 ms, so an RTO of 300 ms.
        sender.on_ack(at_ms(100), &Ack { ack: MSS, window: 1 << 30, ..Ack::default() });
        write(&mut sender, 5, 200);
        write(&mut sender, 3, 450);
        sender.on_timer(at_ms(500));
        assert_eq!(sender.stats().timeouts, 1);
        // By RACK what left at 450 ms, less than a round trip ago, is in flight. Without it all is lost, and the window is one
        // segment (RFC 5681, 3.1).
        assert_eq!(sender.in_flight(), segments(in_flight), "{recovery:?}");
        assert_eq!(sender.cwnd(), segments(in_flight + 1), "{recovery:?}");
    }
}

#[test]
fn what_was_lost_before_a_timeout_is_sent_again_however_late_it_left() {
    let mut sender = Sender::new(Config { unlimited: false, ..config(Recovery::Rack, false) });
    sender.write(segments(1));
    assert_eq!(send(&mut sender, 0), 1);
    sender.on_ack(at_ms(100), &Ack { ack: MSS, window: 1 << 30, ..Ack::default() });
    // 1 and 2 at 100 ms, with the timer for 400 ms; 3 to 8 at 200 ms.
    for (at, count) in [(100, 2), (200, 6)] {
        sender.write(segments(count));
        assert_eq!(send(&mut sender, at), count as usize);
    }
    // Three are SACKed, so 1 to 5, sent before, are lost at once. The host sends nothing again for now.
    sender.on_ack(at_ms(300), &sack(1, 6, 3));
    assert_eq!(sender.in_flight(), Bytes::ZERO);
    // 2 is only late: its round trip took 290 ms. So at 400 ms what has left since 110 ms is not lost by the timer, but 3 to 5 are
    // already.
    sender.on_ack(at_ms(390), &sack(1, 2, 1));
    sender.on_timer(at_ms(400));
    assert_eq!((sender.stats().timeouts, sender.in_flight()), (1, Bytes::ZERO));
    let again = |sender: &mut Sender, at| -> Vec<u64> {
        std::iter::from_fn(|| sender.poll(at_ms(at))).map(|data| data.seq / MSS).collect()
    };
    assert_eq!(again(&mut sender, 400), [1]);
    sender.on_ack(at_ms(500), &sack(3, 6, 3));
    assert_eq!(again(&mut sender, 500)[0], 3);
}

#[test]
fn timers_go_by_ticks_and_early_ones_wait_two_more() {
    let sender = |tick: u64, tail_loss_probe| {
        let mut sender = Sender::new(Config { tick: ms(tick), ..config(Recovery::Rack, tail_loss_probe) });
        assert_eq!(send(&mut sender, 1), 10);
        sender
    };
    // The RTT is 101 ms, so the RTO is 303 ms: 405 ms, or 76 ticks of 4 ms from the 25th on.
    for (tick, due) in [(0, 405), (4, 404)] {
        let mut sender = sender(tick, false);
        sender.on_ack(at_ms(102), &Ack { echo: at_ms(1), ack: MSS, window: 1 << 30, ..Ack::default() });
        assert_eq!(sender.timer(), at_ms(due));
        // The probe: 202 ms, or 51 ticks and two from the 25th on.
    }
    for (tick, due) in [(0, 304), (4, 312)] {
        let mut sender = sender(tick, true);
        sender.on_ack(at_ms(102), &Ack { echo: at_ms(1), ack: MSS, window: 1 << 30, ..Ack::default() });
        assert_eq!(sender.timer(), at_ms(due));
    }
    // 5 is SACKed after 101 ms; 0 is waited for until a quarter of that has passed: 25.25 ms from 102 ms on, or seven ticks and two
    // from the 25th on. But for the nanoseconds that tell a burst apart.
    for (tick, due) in [(0, 127_250), (4, 136_000)] {
        let mut sender = sender(tick, false);
        sender.on_ack(at_ms(102), &sack(0, 5, 1));
        let expected = Instant::ZERO + Span::from_micros(due);
        assert!(
            expected.since(sender.timer()) < Span::from_nanos(10) && sender.timer() <= expected,
            "{:?}",
            sender.timer()
        );
    }
}
