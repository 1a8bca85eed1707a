//! DCTCP: what the receiver says of marks, and what the sender makes of it.

use super::*;
use crate::congestion::{dctcp::Dctcp, AckEvent, CongestionEvent, Signal};
use crate::{AckAction, CongestionControl, Data, EcnFeedback, Ect, Receiver, ReceiverConfig};

fn accurate() -> ReceiverConfig {
    ReceiverConfig { ecn_feedback: EcnFeedback::Accurate, quick_acks: Packets::ZERO, ..ReceiverConfig::default() }
}

/// Segment `n` arrives: what is acknowledged for it, as (segments, ECE).
fn arrive(receiver: &mut Receiver, n: u64, flags: u8, ce: bool) -> Vec<(u64, bool)> {
    let data = Data { seq: n * MSS, len: MSS as u32, sent: at_ms(n), flags };
    let before = receiver.on_codepoint(ce);
    let after = match receiver.on_data(at_ms(n), &data, ce) {
        AckAction::Now(ack) => Some(ack),
        _ => None,
    };
    before.into_iter().chain(after).map(|ack| (ack.ack / MSS, ack.ece)).collect()
}

#[test]
fn a_change_of_marking_is_acknowledged_at_once_and_apart_from_what_came_before() {
    let mut receiver = Receiver::new(accurate());
    assert_eq!(arrive(&mut receiver, 0, 0, false), []);
    // Segment 0 was still to be acknowledged, unmarked; 1 is marked.
    assert_eq!(arrive(&mut receiver, 1, 0, true), [(1, false), (2, true)]);
    // No change: every second segment.
    assert_eq!(arrive(&mut receiver, 2, 0, true), []);
    assert_eq!(arrive(&mut receiver, 3, 0, true), [(4, true)]);
    // Nothing was pending: one acknowledgement.
    assert_eq!(arrive(&mut receiver, 4, 0, false), [(5, false)]);
    assert_eq!(arrive(&mut receiver, 5, 0, true), [(6, true)]);
    // CWR says nothing of its own.
    assert_eq!(arrive(&mut receiver, 6, Data::CWR, true), []);
    assert_eq!(arrive(&mut receiver, 7, Data::CWR, true), [(8, true)]);
    assert_eq!(receiver.stats().ce_segments, 6);
    // Classic feedback knows no such thing.
    let mut receiver = Receiver::new(ReceiverConfig { ecn_feedback: EcnFeedback::Classic, ..accurate() });
    assert_eq!(arrive(&mut receiver, 0, 0, false), []);
    assert_eq!(arrive(&mut receiver, 1, 0, true), [(2, true)]);
}

#[test]
fn bytes_acknowledged_with_ece_are_the_bytes_marked() {
    for (ack_every, percent) in [(1, 30), (2, 3), (2, 50), (3, 90), (8, 20)] {
        let mut receiver = Receiver::new(ReceiverConfig { ack_every: Packets::new(ack_every), ..accurate() });
        let mut state = 0x1234_5678_u64 + ack_every;
        let (mut marked, mut una, mut echoed) = (0, 0, 0);
        for n in 0..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // The last is unmarked, so that all is acknowledged but at most `ack_every` unmarked ones.
            let ce = (state >> 33) % 100 < percent && n < 1999;
            marked += u64::from(ce);
            for (ack, ece) in arrive(&mut receiver, n, 0, ce) {
                echoed += if ece { ack - una } else { 0 };
                una = ack;
            }
        }
        assert_eq!(echoed, marked, "one of {ack_every}, {percent} %");
    }
}

/// An acknowledgement of `n` segments up to `una`, with `next` sent.
pub(super) fn acked(n: u64, una: u64, next: u64, ece: bool) -> AckEvent {
    AckEvent { may_grow: false, ce: amount(if ece { n } else { 0 }, MSS), ..event(0, MSS, n, una, next) }
}

fn after(mut dctcp: Dctcp, signal: Signal) -> u64 {
    dctcp.on_congestion(&CongestionEvent { now: at_ms(0), signal, in_flight: segments(1) });
    dctcp.ssthresh().get()
}

#[test]
fn alpha_is_the_average_share_of_marked_bytes_a_window() {
    let mut dctcp = Dctcp::new(&parameters(MSS));
    let alpha = |dctcp: &Dctcp| internal_of(dctcp, "alpha");
    assert_eq!(alpha(&dctcp), 1.0);
    // The first acknowledgement ends the first window: alpha = 15/16 + 0; the next ends with what was sent by then.
    dctcp.on_ack(&acked(2, 2, 12, false));
    assert_eq!(alpha(&dctcp), 0.9375);
    // 4 of 11 segments marked; the end itself does not end the window, one beyond does.
    dctcp.on_ack(&acked(4, 6, 16, true));
    dctcp.on_ack(&acked(6, 12, 22, false));
    assert_eq!(alpha(&dctcp), 0.9375);
    dctcp.on_ack(&acked(1, 13, 24, false));
    let expected = 0.9375 * 15.0 / 16.0 + 4.0 / 11.0 / 16.0;
    assert!((alpha(&dctcp) - expected).abs() < 1e-15);
    // Segments SACKed were delivered too: 3 of 12 marked.
    dctcp.on_ack(&AckEvent { sacked: amount(3, MSS), ce: amount(3, MSS), ..acked(0, 13, 24, true) });
    dctcp.on_ack(&acked(9, 25, 30, false));
    assert!((alpha(&dctcp) - (expected * 15.0 / 16.0 + 0.25 / 16.0)).abs() < 1e-15);
}

#[test]
fn a_mark_takes_half_of_alpha_and_a_loss_half() {
    let mut dctcp = Dctcp::new(&parameters(MSS));
    dctcp.set_cwnd(segments(40));
    // alpha is 1 at first.
    assert_eq!(after(dctcp.clone(), Signal::Ecn), 20 * MSS);
    dctcp.on_ack(&acked(2, 2, 12, false));
    // 40 (1 - 0.9375 / 2) = 21.25 segments.
    assert_eq!(after(dctcp.clone(), Signal::Ecn), 21 * MSS + MSS / 4);
    assert_eq!(after(dctcp.clone(), Signal::Loss), 20 * MSS);
    assert_eq!(after(dctcp.clone(), Signal::Timeout), 20 * MSS);
    dctcp.set_cwnd(segments(2));
    assert_eq!(after(dctcp, Signal::Loss), 2 * MSS);
}

#[test]
fn growth_is_slow_start_then_a_segment_a_window() {
    let mut dctcp = Dctcp::new(&parameters(MSS));
    dctcp.set_ssthresh(segments(14));
    let grow = |n| AckEvent { may_grow: true, ..acked(n, 1, 1, false) };
    dctcp.on_ack(&grow(3));
    assert_eq!(dctcp.cwnd(), segments(13));
    // One up to the threshold; 7 of 14 acknowledged beyond: half a segment.
    dctcp.on_ack(&grow(8));
    assert_eq!(dctcp.cwnd(), segments(14) + Bytes::new(MSS / 2));
    // Neither while the application limits nor during a reduction.
    dctcp.on_ack(&AckEvent { cwnd_limited: false, ..grow(9) });
    dctcp.on_ack(&acked(9, 1, 1, false));
    assert_eq!(dctcp.cwnd(), segments(14) + Bytes::new(MSS / 2));
    dctcp.on_rto(at_ms(1), Bytes::ZERO);
    assert_eq!(dctcp.cwnd(), segments(1));
}

fn sender(ect: Ect) -> Config {
    Config { ecn: true, ect, ..bulk("dctcp") }
}

#[test]
fn one_reduction_a_window_however_many_marks() {
    let receiver = ReceiverConfig { ack_every: Packets::new(1), ..accurate() };
    let mut path = Path::new(sender(Ect::One), receiver, ms(100));
    path.fate = Box::new(|_, _| Fate::Mark);
    path.run(at_ms(5_000));
    // The first echo comes at 100 ms, and then one answer a round trip of 100 ms: 1 + 49.
    let reductions = path.sender.stats().ecn_reductions;
    assert_eq!(reductions, 50);
    assert_eq!(path.sender.cwnd(), segments(2));
}

#[test]
fn under_random_marks_the_window_is_the_square_root_of_two_over_p() {
    // With p marked, alpha is p and a reduction takes p W / 2 segments. It lasts a round trip, and the next mark comes
    // 1/p segments later, 1 / (p W) round trips, in which the window grows by as many segments: p W / 2 = 1 / (p W).
    for percent in [2, 5] {
        let receiver = ReceiverConfig { ack_every: Packets::new(1), ..accurate() };
        let mut path = Path::new(sender(Ect::One), receiver, ms(20));
        let mut state = 99_u64;
        path.fate = Box::new(move |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33) % 100 < percent {
                Fate::Mark
            } else {
                Fate::Deliver
            }
        });
        path.run(at_ms(20_000));
        let before = path.sent.len();
        path.run(at_ms(220_000));
        // 10,000 round trips.
        let window = (path.sent.len() - before) as f64 / 10_000.0;
        let expected = 2.0_f64.sqrt() / (percent as f64 / 100.0);
        assert!((window / expected - 1.0).abs() < 0.1, "{percent} %: {window} segments, theory {expected}");
    }
}

#[test]
fn the_codepoint_is_the_configured_one_and_retransmissions_carry_it_too() {
    let flags = |config: Config, receiver: ReceiverConfig| {
        let mut path = Path::new(config, receiver, ms(20));
        path.fate = Box::new(drop_once(&[30]));
        path.run(at_ms(500));
        let ect = |data: &Data| data.flags & (Data::ECT | Data::ECT_1);
        let of = |resent: bool| {
            let mut found: Vec<u8> =
                path.sent.iter().filter(|(_, d)| d.has(Data::RETRANSMIT) == resent).map(|(_, d)| ect(d)).collect();
            found.dedup();
            found
        };
        (of(false), of(true))
    };
    let both = Data::ECT | Data::ECT_1;
    assert_eq!(flags(sender(Ect::One), accurate()), (vec![both], vec![both]));
    assert_eq!(flags(sender(Ect::Zero), accurate()), (vec![Data::ECT], vec![Data::ECT]));
    assert_eq!(flags(Config { ecn: false, ..sender(Ect::One) }, accurate()), (vec![0], vec![0]));
    let cubic = Config { ecn: true, ..bulk("cubic") };
    assert_eq!(flags(cubic, ReceiverConfig::default()), (vec![Data::ECT], vec![0]));
}
