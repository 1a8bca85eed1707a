//! Undoing reductions: RTT 100 ms, flights of 10, 20, 40 segments at 0, 100, 200 ms.

use super::*;
use crate::{Ack, AckPolicy, Data, ReceiverConfig, SackBlock, Sender};

fn config(undo: bool, timestamps: bool) -> Config {
    Config { recovery: Recovery::Rack, undo, timestamps, ..bulk("reno") }
}

/// Segment `n` arrives `late` after the others of its flight.
fn late(undo: bool, timestamps: bool, ack_policy: AckPolicy, delays: &'static [(u64, u64)]) -> Path {
    let receiver = ReceiverConfig { ack_every: Packets::new(1), ack_policy, ..ReceiverConfig::default() };
    let mut path = Path::new(config(undo, timestamps), receiver, ms(100));
    path.fate = Box::new(move |_, d| {
        let by = delays.iter().find(|(n, _)| d.seq == n * MSS && !d.has(Data::RETRANSMIT));
        by.map_or(Fate::Deliver, |(_, by)| Fate::Late(ms(*by)))
    });
    path
}

const UNSET: Bytes = Bytes::new(u64::MAX);

#[test]
fn eifel_undoes_a_recovery_when_the_original_is_acknowledged() {
    // 40 is late by 60 ms: taken as lost at 300 ms, when three segments behind it are SACKed, and sent again. The original arrives
    // at 200 + 50 + 60 ms and is acknowledged at 360 ms with its own time, 200 ms, which is before 300 ms.
    for undo in [true, false] {
        let mut path = late(undo, true, AckPolicy::Rfc, &[(40, 60)]);
        path.run(at_ms(355));
        assert_eq!(retransmissions(&path), [(300, 40)]);
        // 10, then 20, then 40 and the ten of 30 to 39: 50, halved.
        assert_eq!(path.sender.ssthresh(), segments(25));
        path.run(at_ms(365));
        assert_eq!(path.sender.undone().undos, u64::from(undo));
        // Back to slow start with 50, and one more for 40.
        let after = if undo { (UNSET, segments(51)) } else { (segments(25), path.sender.cwnd()) };
        assert_eq!((path.sender.ssthresh(), path.sender.cwnd()), after);
        assert!(path.sender.cwnd() == segments(51) || !undo && path.sender.cwnd() < segments(41));
    }
}

#[test]
fn a_dsack_of_every_retransmission_undoes_what_no_timestamp_tells() {
    // As above without timestamps. The copy of 40 arrives at 350 ms; its DSACK at 400 ms.
    let mut path = late(true, false, AckPolicy::Linux, &[(40, 60)]);
    path.run(at_ms(399));
    assert_eq!((path.sender.ssthresh(), path.sender.undone().undos), (segments(25), 0));
    path.run_while(at_ms(401), |p| p.sender.undone().dsacks == 0);
    assert_eq!((path.sender.ssthresh(), path.sender.cwnd(), path.sender.undone().undos), (UNSET, segments(50), 1));
    // RFC 5681's receiver has no DSACK.
    let mut path = late(true, false, AckPolicy::Rfc, &[(40, 60)]);
    path.run(at_ms(1_000));
    assert_eq!((path.sender.undone().undos, path.sender.undone().dsacks), (0, 0));
}

#[test]
fn a_dsack_for_one_of_two_retransmissions_undoes_nothing() {
    // 40 is late and 41 is lost: one retransmission of two was needed. The receiver holds the later SACKs back for 1.1 ms.
    let mut path = late(true, false, AckPolicy::Linux, &[]);
    path.fate = Box::new(|_, d| match d.seq / MSS {
        40 if !d.has(Data::RETRANSMIT) => Fate::Late(ms(60)),
        41 if !d.has(Data::RETRANSMIT) => Fate::Drop,
        _ => Fate::Deliver,
    });
    path.run(at_ms(600));
    assert_eq!(retransmissions(&path), [(300, 40), (301, 41)]);
    assert_eq!((path.sender.undone().dsacks, path.sender.undone().undos), (1, 0));
    assert_eq!(path.sender.ssthresh(), segments(25));
}

/// An acknowledgement up to segment `n` that SACKs `count` segments from `first` on.
fn ack(n: u64, first: u64, count: u64) -> Ack {
    let offset = first.saturating_sub(n) * MSS;
    let block = SackBlock { offset: offset as u32, len: (count * MSS) as u32 };
    Ack { ack: n * MSS, window: 1 << 30, sack: [block, SackBlock::default(), SackBlock::default()], ..Ack::default() }
}

/// Numbers of the segments sent.
fn sent(sender: &mut Sender, at: u64) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll(at_ms(at))).map(|data| data.seq / MSS).collect()
}

/// A sender whose second flight, 10 to 29, is answered by nobody until the timer expires at 400 ms: 100 + 200 ms of variation after
/// the acknowledgement at 100 ms. 10 is sent again.
fn timed_out(config: Config) -> Sender {
    let mut sender = Sender::new(config);
    assert_eq!(sent(&mut sender, 0).len(), 10);
    sender.on_ack(at_ms(100), &ack(10, 0, 0));
    assert_eq!(sent(&mut sender, 100).len(), 20);
    assert_eq!(sender.timer(), at_ms(400));
    sender.on_timer(at_ms(400));
    assert_eq!((sender.ssthresh(), sender.stats().timeouts), (segments(10), 1));
    assert_eq!(sent(&mut sender, 400), [10]);
    sender
}

#[test]
fn f_rto_sends_new_data_and_takes_a_late_original_for_a_spurious_timeout() {
    let mut sender = timed_out(config(true, false));
    // RFC 5682, 3.1, step 2b: the window is 2, and two new segments leave, not what is taken as lost.
    sender.on_ack(at_ms(450), &ack(11, 0, 0));
    assert_eq!(sent(&mut sender, 450), [30, 31]);
    // Step 3b: 11 was sent once, and before the timeout. The window of 20 comes back, one more for 11; 12 to 31 are in flight.
    sender.on_ack(at_ms(451), &ack(12, 0, 0));
    assert_eq!((sender.ssthresh(), sender.cwnd(), sender.in_flight()), (UNSET, segments(21), segments(20)));
    assert_eq!((sender.undone().undos, sender.undone().spurious_timeouts), (1, 1));
    assert_eq!(sent(&mut sender, 451), [32]);
    assert_eq!(sender.stats().segments_retransmitted, 1);
    // Without it the rest leaves again.
    let mut sender = timed_out(config(false, false));
    sender.on_ack(at_ms(450), &ack(11, 0, 0));
    assert_eq!(sent(&mut sender, 450), [11, 12]);
}

#[test]
fn f_rto_goes_on_with_what_is_lost_when_only_new_data_arrives() {
    let mut sender = timed_out(config(true, false));
    sender.on_ack(at_ms(450), &ack(11, 0, 0));
    assert_eq!(sent(&mut sender, 450), [30, 31]);
    // Step 3a. The window of 2 has room for one, as 31 is in flight.
    sender.on_ack(at_ms(550), &ack(11, 30, 1));
    assert_eq!(sent(&mut sender, 550), [11]);
    assert_eq!((sender.undone().undos, sender.ssthresh()), (0, segments(10)));
}

#[test]
fn f_rto_without_new_data_repairs_at_once() {
    let mut sender = Sender::new(Config { unlimited: false, ..config(true, false) });
    sender.write(segments(10));
    assert_eq!(sent(&mut sender, 0).len(), 10);
    sender.on_timer(at_ms(1_000));
    assert_eq!(sent(&mut sender, 1_000), [0]);
    sender.on_ack(at_ms(1_100), &ack(1, 0, 0));
    assert_eq!(sent(&mut sender, 1_100), [1, 2]);
}

#[test]
fn eifel_undoes_a_timeout_at_the_first_advance() {
    let mut sender = timed_out(config(true, true));
    // The echo is of the original, which left at 100 ms.
    sender.on_ack(at_ms(450), &Ack { echo: at_ms(100), ..ack(11, 0, 0) });
    assert_eq!((sender.ssthresh(), sender.cwnd(), sender.undone().undos), (UNSET, segments(21), 1));
    // Of the retransmission: it was needed.
    let mut sender = timed_out(config(true, true));
    sender.on_ack(at_ms(500), &Ack { echo: at_ms(400), ..ack(11, 0, 0) });
    assert_eq!((sender.ssthresh(), sender.undone().undos), (segments(10), 0));
}

#[test]
fn a_reduction_for_a_mark_stays() {
    // ECE at 100 ms halves the window of 10; a packet that the network doubles gives a DSACK, and a loss within the reduction gives
    // a retransmission that Eifel finds needless: the state ends, the window stays reduced.
    let mut sender = Sender::new(Config { ecn: true, ..config(true, true) });
    assert_eq!(sent(&mut sender, 0).len(), 10);
    sender.on_ack(at_ms(100), &Ack { ece: true, echo: at_ms(0), ..ack(1, 0, 0) });
    let threshold = sender.ssthresh();
    assert!(threshold < segments(10));
    sent(&mut sender, 100);
    sender.on_ack(at_ms(101), &Ack { echo: at_ms(0), ..ack(1, 2, 3) });
    assert_eq!((sender.stats().fast_retransmits, sent(&mut sender, 101).first()), (1, Some(&1)));
    sender.on_ack(at_ms(110), &Ack { echo: at_ms(0), ..ack(5, 0, 0) });
    assert_eq!((sender.undone().undos, sender.ssthresh()), (1, threshold));
    assert!(sender.cwnd() < segments(10));
}

#[test]
fn dsacks_widen_the_reordering_window_by_a_quarter_of_the_rtt() {
    // 28 comes 20 ms late: reordering is seen, and nothing is sent again. 40 comes 60 ms late, more than the 25 ms for which RACK then
    // waits: sent again 25 ms after the last SACK, for which the receiver takes 1.1 ms; its DSACK makes it 50 ms. 200 comes 40 ms
    // late, and is waited for.
    let delays: &[(u64, u64)] = &[(28, 20), (40, 60), (200, 40)];
    let run = |ack_policy, delays| {
        let mut path = late(true, true, ack_policy, delays);
        path.run(at_ms(900));
        retransmissions(&path)
    };
    assert_eq!(run(AckPolicy::Linux, delays), [(326, 40)]);
    // Without DSACK 200 is sent again as well.
    let again: Vec<u64> = run(AckPolicy::Rfc, delays).iter().map(|(_, n)| *n).collect();
    assert_eq!(again, [40, 200]);
    // And so is one that comes later than 50 ms.
    let again: Vec<u64> = run(AckPolicy::Linux, &[(28, 20), (40, 60), (200, 60)]).iter().map(|(_, n)| *n).collect();
    assert_eq!(again, [40, 200]);
}

#[test]
fn the_receiver_names_what_came_twice_in_the_first_block() {
    let config = ReceiverConfig { ack_policy: AckPolicy::Linux, ..ReceiverConfig::default() };
    let mut receiver = crate::Receiver::new(config);
    let mut take =
        |n: u64| match receiver.on_data(at_ms(n), &Data { seq: n * MSS, len: MSS as u32, ..Data::default() }, false) {
            crate::AckAction::Now(ack) => ack,
            other => panic!("{other:?}"),
        };
    let none = SackBlock::default();
    let below = |segments: u64| SackBlock { offset: ((segments * MSS) as u32).wrapping_neg(), len: MSS as u32 };
    let above = |segments: u64, count: u64| SackBlock { offset: (segments * MSS) as u32, len: (count * MSS) as u32 };
    for n in [0, 1] {
        take(n);
    }
    // RFC 2883, 4.1: 0 again, with 2 expected: two segments below.
    let ack = take(0);
    assert_eq!((ack.ack, ack.sack, ack.header_bytes()), (2 * MSS, [below(2), none, none], Bytes::new(64)));
    // Once is enough.
    assert_eq!(take(3).sack, [above(1, 1), none, none]);
    // 4.1.3: above the hole, the second block holds the first.
    assert_eq!(take(4).sack, [above(1, 2), none, none]);
    assert_eq!(take(3).sack, [above(1, 1), above(1, 2), none]);
}

#[test]
fn a_dsack_leaves_the_counters_of_accurate_ecn_in_their_place() {
    use crate::EcnFeedback;
    let config = ReceiverConfig {
        ack_policy: AckPolicy::Linux,
        ecn_feedback: EcnFeedback::AccEcn,
        accecn_option: true,
        ..ReceiverConfig::default()
    };
    let mut receiver = crate::Receiver::new(config);
    let mut take = |n: u64| {
        let data = Data { seq: n * MSS, len: MSS as u32, flags: Data::ECT, ..Data::default() };
        match receiver.on_data(at_ms(n), &data, false) {
            crate::AckAction::Now(ack) => ack,
            other => panic!("{other:?}"),
        }
    };
    let first = take(0);
    let again = take(0);
    assert!(first.accurate.has_counters() && again.accurate.has_counters());
    assert_eq!((first.sack_blocks(), again.sack_blocks()), (0, 1));
    assert!(again.sack[0].is_below());
    // One segment more has come.
    assert_eq!(again.sack[2].len, first.sack[2].len + MSS as u32);
}
