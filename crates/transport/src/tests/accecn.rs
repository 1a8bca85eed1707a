//! Accurate ECN from end to end: who speaks it, what the receiver counts and when it says so, and what the sender reads.

use super::*;
use crate::congestion::{AckEvent, CongestionEvent};
use crate::segment::{ace_of, Counters};
use crate::{
    Ack, AckAction, CongestionControl, Data, EcnFeedback, Ect, EctOn, FeedbackRule, Hints, Receiver, ReceiverConfig,
    Sender,
};
use sojourn_aqm::Ecn;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// Numbers as if drawn at random: splitmix64.
fn drawn(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn speaks(ecn_feedback: EcnFeedback) -> ReceiverConfig {
    ReceiverConfig { ecn_feedback, quick_acks: Packets::ZERO, ..ReceiverConfig::default() }
}

fn asks(congestion_control: &str, ecn_feedback: FeedbackRule) -> Config {
    Config { ecn: true, ecn_feedback, handshake: true, ..bulk(congestion_control) }
}

#[test]
fn the_handshake_agrees_on_what_both_speak() {
    use EcnFeedback::{AccEcn, Classic};
    // What the sender asks for, what the receiver speaks, ACE and ECE of the SYN-ACK, and what comes of it.
    for (rule, receiver, answer, expected) in [
        (FeedbackRule::AccEcn, speaks(AccEcn), (ace_of(Ecn::NotEct), false), (true, AccEcn)),
        (FeedbackRule::AccEcn, speaks(Classic), (0, true), (true, Classic)),
        (FeedbackRule::AccEcn, ReceiverConfig { ecn: false, ..speaks(AccEcn) }, (0, false), (false, Classic)),
        (FeedbackRule::Classic, speaks(AccEcn), (0, true), (true, Classic)),
    ] {
        let mut path = Path::new(asks("cubic", rule), receiver, ms(20));
        path.run(at_ms(100));
        let syn = path.sent[0].1;
        assert_eq!((syn.has(Data::CWR), syn.has(Data::AE)), (true, rule == FeedbackRule::AccEcn));
        assert_eq!((path.acks[0].1.accurate.ace, path.acks[0].1.ece), answer);
        assert_eq!((path.sender.ecn(), path.sender.ecn_feedback()), expected);
        assert!(path.receiver.delivered() > segments(10));
    }
    // A SYN that comes again asks for no ECN at all.
    let mut path = Path::new(asks("cubic", FeedbackRule::AccEcn), speaks(AccEcn), ms(20));
    path.fate = Box::new(|n, _| if n == 0 { Fate::Drop } else { Fate::Deliver });
    path.run(at_ms(2_000));
    assert!(!path.sent[1].1.has(Data::AE) && !path.sender.ecn());
    // Prague asks by itself, and so does every other for what it reads.
    for (name, expected) in [("prague", AccEcn), ("dctcp", EcnFeedback::Accurate), ("cubic", Classic)] {
        let mut path = Path::new(asks(name, FeedbackRule::Auto), speaks(expected), ms(20));
        path.run(at_ms(100));
        assert_eq!(path.sender.ecn_feedback(), expected, "{name}");
    }
}

/// Segment `n` arrives: what is acknowledged for it, as (segments, ACE).
fn arrive(receiver: &mut Receiver, n: u64, ce: bool) -> Option<(u64, u8)> {
    let data = Data { seq: n * MSS, len: MSS as u32, sent: at_ms(n), flags: Data::ECT | Data::ECT_1 };
    assert_eq!(receiver.on_codepoint(ce), None);
    match receiver.on_data(at_ms(n), &data, ce) {
        AckAction::Now(ack) => {
            assert!(!ack.ece);
            Some((ack.ack / MSS, ack.accurate.ace))
        }
        _ => None,
    }
}

#[test]
fn the_receiver_counts_and_acknowledges_changes_and_every_second_mark() {
    let mut receiver = Receiver::new(ReceiverConfig { ack_every: Packets::new(8), ..speaks(EcnFeedback::AccEcn) });
    assert_eq!([0, 1, 2].map(|n| arrive(&mut receiver, n, false)), [None; 3]);
    // The first mark after unmarked ones at once, with those before it: ACE 5 + 1. The next with the one after it.
    assert_eq!(arrive(&mut receiver, 3, true), Some((4, 6)));
    assert_eq!([4, 5, 6].map(|n| arrive(&mut receiver, n, true)), [None, Some((6, 0)), None]);
    // A change back: 5 + 4 = 9 is 1.
    assert_eq!(arrive(&mut receiver, 7, false), Some((8, 1)));
    let data = Data { seq: 8 * MSS, len: MSS as u32, sent: at_ms(8), flags: Data::ECT | Data::ECT_1 };
    let AckAction::Now(ack) = receiver.on_data(at_ms(8), &data, true) else { panic!("a change") };
    // Five marked; four not, and RFC 9768's 1 at the start.
    let expected = Counters { marked: 5 * MSS as u32, unmarked: 4 * MSS as u32 + 1 };
    assert_eq!((ack.accurate.ace, ack.counters()), (2, Some(expected)));
    // With the option there is room for two SACK blocks; without it for three.
    for (accecn_option, blocks) in [(true, 2), (false, 3)] {
        let mut receiver = Receiver::new(ReceiverConfig { accecn_option, ..speaks(EcnFeedback::AccEcn) });
        let mut last = None;
        for n in [2, 4, 6, 8] {
            let data = Data { seq: n * MSS, len: MSS as u32, sent: at_ms(n), flags: 0 };
            last = match receiver.on_data(at_ms(n), &data, false) {
                AckAction::Now(ack) => Some((ack.sack_blocks(), ack.counters().is_some())),
                _ => None,
            };
        }
        assert_eq!(last, Some((blocks, accecn_option)));
    }
}

/// A window that does not move, and the marks that it was told of.
#[derive(Clone, Debug, Default)]
struct Spy {
    packets: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

impl CongestionControl for Spy {
    fn ecn_feedback(&self) -> EcnFeedback {
        EcnFeedback::AccEcn
    }

    fn answers_marks(&self) -> bool {
        true
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.packets.fetch_add(ack.ce.packets.get(), Relaxed);
        self.bytes.fetch_add(ack.ce.bytes.get(), Relaxed);
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {}

    fn cwnd(&self) -> Bytes {
        segments(40)
    }

    fn ssthresh(&self) -> Bytes {
        segments(40)
    }

    fn set_cwnd(&mut self, _cwnd: Bytes) {}

    fn set_ssthresh(&mut self, _ssthresh: Bytes) {}
}

/// Marks that the sender was told of, and those that the receiver saw, when one in three segments is marked and one in
/// `lost` acknowledgements (0 for none) is lost.
fn told(option: bool, ack_every: u64, lost: u64) -> (u64, u64, u64) {
    let spy = Spy::default();
    let config = Config { unlimited: false, ..asks("cubic", FeedbackRule::Auto) };
    let sender = Sender::with_congestion_control(config, Box::new(spy.clone()));
    let receiver =
        ReceiverConfig { accecn_option: option, ack_every: Packets::new(ack_every), ..speaks(EcnFeedback::AccEcn) };
    let mut path = Path::with_sender(sender, receiver, ms(20));
    path.bottleneck = Some((sojourn_units::BitRate::from_bit_s(20_000_000), 1000));
    // Payload alone makes the bytes.
    let is_marked = |n: usize, data: &Data| data.len > 0 && drawn(n as u64).is_multiple_of(3);
    path.fate = Box::new(move |n, data| if is_marked(n, data) { Fate::Mark } else { Fate::Deliver });
    path.lose_ack = Box::new(move |n| lost > 0 && n > 2 && drawn(n as u64 + 77).is_multiple_of(lost));
    path.transfer(segments(3_000), at_ms(100_000));
    path.run(path.now + ms(500));
    (spy.packets.load(Relaxed), spy.bytes.load(Relaxed), path.receiver.stats().ce_segments)
}

#[test]
fn the_sender_reads_what_the_receiver_counts() {
    for ack_every in [1, 2, 8, 20] {
        // The last acknowledgements come through or not; all before them are exact, for the bytes tell how often ACE has wrapped.
        for lost in [0, 3] {
            let (packets, bytes, seen) = told(true, ack_every, lost);
            assert!(seen > 900 && packets == seen, "{packets} of {seen}, one in {ack_every}, {lost} lost");
            assert_eq!(bytes, seen * MSS);
        }
        // Without the option, ACE alone is exact as long as it cannot wrap between two acknowledgements, and else errs on the safe side.
        let (packets, _, seen) = told(false, ack_every, 0);
        assert!(packets == seen || (ack_every >= 8 && packets > seen), "{packets} of {seen}, one in {ack_every}");
        let (packets, _, seen) = told(false, ack_every, 3);
        assert!(packets >= seen, "{packets} of {seen}, one in {ack_every}");
    }
}

#[test]
fn a_sender_that_halves_answers_a_counted_mark_once_a_round_trip() {
    for rule in [FeedbackRule::Classic, FeedbackRule::AccEcn] {
        let config = Config { handshake: false, keys: hystart(false), ..asks("reno", rule) };
        let mut path = Path::new(config, speaks(rule.of(EcnFeedback::Classic)), ms(100));
        path.fate = Box::new(|n, _| if (100..130).contains(&n) { Fate::Mark } else { Fate::Deliver });
        path.run(at_ms(1_500));
        // Slow start sends 10, 20, 40 and 80 segments, the marked ones in the same round trip: one window, one answer.
        assert_eq!(path.sender.stats().ecn_reductions, 1, "{rule:?}");
        assert_eq!(path.sender.stats().timeouts + path.sender.stats().segments_retransmitted, 0);
    }
}

#[test]
fn dctcp_with_counted_bytes_obeys_its_law() {
    // As with RFC 8257's feedback: the window is sqrt(2)/p; 5 % of all segments are marked.
    let config = Config { handshake: false, ect: Ect::One, ..asks("dctcp", FeedbackRule::AccEcn) };
    let mut path =
        Path::new(config, ReceiverConfig { ack_every: Packets::new(1), ..speaks(EcnFeedback::AccEcn) }, ms(20));
    path.fate = Box::new(|n, _| if drawn(n as u64).is_multiple_of(20) { Fate::Mark } else { Fate::Deliver });
    path.run(at_ms(20_000));
    let before = path.sent.len();
    path.run(at_ms(120_000));
    let window = (path.sent.len() - before) as f64 / 5_000.0;
    assert!((window / (2.0_f64.sqrt() / 0.05) - 1.0).abs() < 0.1, "{window}");
}

#[test]
fn without_accurate_feedback_scalable_senders_are_reno_with_ect_0() {
    for name in ["prague", "dctcp"] {
        let config = Config { ect: Ect::One, ..asks(name, FeedbackRule::AccEcn) };
        let receiver = ReceiverConfig { ack_every: Packets::new(1), ..speaks(EcnFeedback::Classic) };
        let mut path = Path::new(config, receiver, ms(50));
        path.fate = Box::new(|n, _| if n % 1000 == 999 { Fate::Mark } else { Fate::Deliver });
        path.run(at_ms(50_000));
        let before = path.receiver.delivered();
        path.run(at_ms(150_000));
        let window = (path.receiver.delivered() - before).get() as f64 / MSS as f64 / 2_000.0;
        // Mathis et al. (1997), one mark in 1000: sqrt(3/2 * 1000) = 38.7. One in 1000 would leave DCTCP some 1414.
        assert!((window / 38.7 - 1.0).abs() < 0.15, "{name}: {window}");
        // L4S treatment is for those with accurate feedback (RFC 9331, section 4.2).
        let mut data = path.sent.iter().filter(|(_, data)| data.len > 0);
        assert!(data.all(|(_, data)| data.has(Data::ECT) && !data.has(Data::ECT_1)), "{name}");
    }
}

/// Codepoints of SYN, third packet of the handshake, data, SYN-ACK and last acknowledgement.
fn codepoints(rule: FeedbackRule, feedback: EcnFeedback, ect: Ect, ect_on: EctOn) -> [Ecn; 5] {
    let receiver = ReceiverConfig { ect, ect_on, ..speaks(feedback) };
    let mut path = Path::new(Config { ect, ect_on, ..asks("cubic", rule) }, receiver, ms(20));
    path.run(at_ms(100));
    let sent = |n: usize| path.sent[n].1.codepoint();
    assert!(path.sent[1].1.is_bare() && path.sent[2].1.len > 0);
    let acked = |ack: &Ack| ack.accurate.ecn();
    [sent(0), sent(1), sent(2), acked(&path.acks[0].1), acked(&path.acks.last().unwrap().1)]
}

#[test]
fn acknowledgements_are_ecn_capable_where_accurate_ecn_is_spoken() {
    use Ecn::{Ect0, Ect1, NotEct};
    let accecn = |ect, on| codepoints(FeedbackRule::AccEcn, EcnFeedback::AccEcn, ect, on);
    // As Linux: all but SYN and SYN-ACK.
    assert_eq!(accecn(Ect::Zero, EctOn::Auto), [NotEct, Ect0, Ect0, NotEct, Ect0]);
    assert_eq!(accecn(Ect::One, EctOn::Auto), [NotEct, Ect1, Ect1, NotEct, Ect1]);
    // RFC 3168, 6.1.1 and 6.1.4.
    assert_eq!(accecn(Ect::One, EctOn::Data), [NotEct, NotEct, Ect1, NotEct, NotEct]);
    // ECN++.
    assert_eq!(accecn(Ect::Zero, EctOn::All), [Ect0; 5]);
    // Classic feedback has no way to report marks on acknowledgements.
    let classic = |on| codepoints(FeedbackRule::Classic, EcnFeedback::Classic, Ect::Zero, on);
    assert_eq!(classic(EctOn::Auto), [NotEct, NotEct, Ect0, NotEct, NotEct]);
    // DCTCP's feedback (RFC 8257) only where asked for.
    let dctcp = |on| codepoints(FeedbackRule::Dctcp, EcnFeedback::Accurate, Ect::Zero, on);
    assert_eq!(dctcp(EctOn::Auto), [NotEct, NotEct, Ect0, NotEct, NotEct]);
    assert_eq!(dctcp(EctOn::Acks), [NotEct, Ect0, Ect0, NotEct, Ect0]);
    // A receiver that refuses has the connection fall back, on acknowledgements, too.
    let refused = codepoints(FeedbackRule::AccEcn, EcnFeedback::Classic, Ect::Zero, EctOn::Auto);
    assert_eq!(refused, [NotEct, NotEct, Ect0, NotEct, NotEct]);
}

#[test]
fn a_marked_syn_makes_the_initial_window_one_segment() {
    for (marked, window) in [(false, 10), (true, 1)] {
        let receiver = ReceiverConfig { ect_on: EctOn::All, ..speaks(EcnFeedback::AccEcn) };
        let config = Config { ect_on: EctOn::All, ..asks("cubic", FeedbackRule::AccEcn) };
        let mut path = Path::new(config, receiver, ms(20));
        path.fate = Box::new(move |n, _| if n == 0 && marked { Fate::Mark } else { Fate::Deliver });
        // The SYN-ACK is there after 20 ms, the first acknowledgement of data after 40.
        path.run(at_ms(30));
        assert_eq!(path.acks[0].1.accurate.ace, ace_of(if marked { Ecn::Ce } else { Ecn::Ect0 }));
        assert_eq!(path.sent.iter().filter(|(_, data)| data.len > 0).count(), window);
    }
}

/// Keeps what is told with each segment.
struct Heard(Ack, Vec<Hints>);

impl crate::Path for Heard {
    fn ack(&self) -> Ack {
        self.0
    }
    fn send(&mut self, _data: Data, _number: u64, hints: Hints) {
        self.1.push(hints);
    }
}

#[test]
fn segments_tell_the_window_and_the_marks_on_acknowledgements() {
    let config = Config { ecn: true, ecn_feedback: FeedbackRule::AccEcn, handshake: false, ..bulk("cubic") };
    let mut sender = Sender::new(config);
    let mut heard = Heard(Ack::default(), Vec::new());
    sender.drain(at_ms(0), &mut heard);
    assert_eq!(heard.1, vec![Hints { window: 10, ace: 5 }; 10]);
    heard.1.clear();
    // Ten marked acknowledgements of a segment each: in slow start each lets two leave, and the window grows by one. ACE: 5 + n
    // modulo 8.
    for n in 1..=10_u64 {
        let accurate = crate::segment::Accurate::new(5, false, Ecn::Ce);
        heard.0 = Ack { ack: n * MSS, received_at: at_ms(n), window: 1 << 30, accurate, ..Ack::default() };
        sender.answer(at_ms(20 + n), &mut heard);
        let told = Hints { window: 10 + n as u16, ace: ((5 + n) % 8) as u8 };
        assert_eq!(heard.1.drain(..).collect::<Vec<_>>(), [told; 2], "{n}");
    }
    assert_eq!(sender.stats().marked_acks, 10);
}
