//! Opening and closing: what is sent when, and what a loss among it costs.

use super::*;
use crate::{Ack, Control, Data, Receiver, ReceiverConfig, RtoRule, Sender};

fn config(unlimited: bool) -> Config {
    Config { handshake: true, unlimited, ..bulk("reno") }
}

/// RTT 100 ms; segments number `lost` (SYNs and bare acknowledgements counted) do not arrive.
fn path(config: Config, lost: &'static [usize]) -> Path {
    let mut path = Path::new(config, ReceiverConfig::default(), ms(100));
    path.fate = Box::new(move |n, _| if lost.contains(&n) { Fate::Drop } else { Fate::Deliver });
    path
}

/// What was sent: time in milliseconds, and a word for each.
fn story(path: &Path) -> Vec<(u64, &'static str)> {
    let word = |d: &Data| match (d.has(Data::SYN), d.has(Data::FIN), d.len) {
        (true, _, _) => "syn",
        (_, true, 0) => "fin",
        (_, true, _) => "data+fin",
        (_, false, 0) => "ack",
        (_, false, _) => "data",
    };
    path.sent.iter().map(|(at, d)| (at.nanos() / 1_000_000, word(d))).collect()
}

#[test]
fn three_segments_open_and_data_follows_a_round_trip_after_the_syn() {
    let mut path = path(config(true), &[]);
    path.run(at_ms(150));
    let told = story(&path);
    assert_eq!(told[..3], [(0, "syn"), (100, "ack"), (100, "data")]);
    // The initial window of ten, all at once.
    assert_eq!((told.len(), told[11]), (12, (100, "data")));
    assert_eq!(
        path.acks[0].1,
        Ack { window: 6 << 20, received_at: at_ms(50), control: Control::Syn, ..Ack::default() }
    );
    // The handshake is the timer's first sample: 100 ms + max(2 * 100, 200).
    assert_eq!((path.sender.srtt(), path.sender.rto()), (ms(100), ms(300)));
    let stats = path.sender.stats();
    assert_eq!((stats.syns, stats.segments_sent, stats.rtt_samples, stats.first_sent), (1, 10, 0, Some(at_ms(0))));
}

#[test]
fn a_syn_is_repeated_after_1_3_and_7_seconds() {
    let mut path = path(config(true), &[0, 1, 2]);
    path.run(at_ms(7_150));
    assert_eq!(story(&path)[..5], [(0, "syn"), (1_000, "syn"), (3_000, "syn"), (7_000, "syn"), (7_100, "ack")]);
    assert_eq!((path.sender.stats().syns, path.sender.stats().timeouts), (4, 3));
}

/// Window in segments and timeout just after a handshake of which `lost` SYNs were lost.
fn after_syn_losses(rto: RtoRule, timestamps: bool, lost: &'static [usize]) -> (u64, Span) {
    let mut path = path(Config { rto, timestamps, ..config(true) }, lost);
    path.run_while(at_ms(60_000), |p| p.sender.stats().segments_sent == 0);
    (path.sender.cwnd().get() / MSS, path.sender.rto())
}

#[test]
fn what_a_lost_syn_leaves() {
    // Linux: one lost SYN changes nothing; two, and the window is one segment. Timestamps tell which SYN was answered.
    assert_eq!(after_syn_losses(RtoRule::Linux, true, &[]), (10, ms(300)));
    assert_eq!(after_syn_losses(RtoRule::Linux, true, &[0]), (10, ms(300)));
    assert_eq!(after_syn_losses(RtoRule::Linux, true, &[0, 1]), (1, ms(300)));
    // Without them there is no sample: 3 s.
    assert_eq!(after_syn_losses(RtoRule::Linux, false, &[0]), (10, ms(3_000)));
    // RFC 5681, 3.1 and RFC 6298, 5.7: one segment and 3 s after the first.
    assert_eq!(after_syn_losses(RtoRule::Rfc6298, true, &[]), (10, ms(300)));
    assert_eq!(after_syn_losses(RtoRule::Rfc6298, true, &[0]), (1, ms(3_000)));
    // The first sample of data ends it: RTTVAR = 3/4 * 50 = 37.5 from the two samples of 100 ms; 100 + 4 * 37.5.
    let mut path = path(Config { rto: RtoRule::Rfc6298, ..config(true) }, &[0]);
    path.run(at_ms(1_250));
    assert_eq!(path.sender.rto(), ms(250));
}

#[test]
fn a_lost_syn_ack_costs_a_second() {
    let mut path = path(config(true), &[]);
    path.lose_ack = Box::new(|n| n == 0);
    path.run(at_ms(1_150));
    // The SYN comes again at 1050 ms, just when the SYN-ACK of 50 ms would be repeated; it is answered once.
    assert_eq!(story(&path)[..3], [(0, "syn"), (1_000, "syn"), (1_100, "ack")]);
    assert_eq!(path.receiver.stats().syn_acks, 2);
    // A timestamp says which SYN was answered.
    assert_eq!(path.sender.srtt(), ms(100));
}

#[test]
fn a_lost_acknowledgement_of_the_syn_ack_is_made_good_by_data_or_the_receivers_timer() {
    let mut busy = path(config(true), &[1]);
    busy.run(at_ms(1_900));
    assert_eq!((busy.receiver.stats().syn_acks, busy.sender.stats().segments_retransmitted), (1, 0));
    // Nothing to send: SYN-ACK at 50, 1050 and 3050 ms, each acknowledged; the last of these arrives.
    let mut idle = path(config(false), &[1, 2]);
    idle.run(at_ms(20_000));
    assert_eq!(story(&idle), [(0, "syn"), (100, "ack"), (1_100, "ack"), (3_100, "ack")]);
    assert_eq!((idle.receiver.stats().syn_acks, idle.receiver.timer()), (3, Instant::NEVER));
}

#[test]
fn ecn_is_used_when_both_want_it() {
    for (asked, accepted) in [(true, true), (true, false), (false, true), (false, false)] {
        let receiver = ReceiverConfig { ecn: accepted, ..ReceiverConfig::default() };
        let mut path = Path::new(Config { ecn: asked, ..config(true) }, receiver, ms(100));
        path.run(at_ms(150));
        let (syn, data) = (path.sent[0].1, path.sent[2].1);
        // RFC 3168, 6.1.1: an ECN-setup SYN has ECE and CWR and is not ECN-capable itself.
        assert_eq!((syn.has(Data::CWR), syn.has(Data::ECT)), (asked, false));
        assert_eq!(path.acks[0].1.ece, asked && accepted);
        assert_eq!((data.has(Data::ECT), path.sender.ecn()), (asked && accepted, asked && accepted));
    }
}

#[test]
fn a_syn_sent_again_no_longer_asks_for_ecn() {
    let mut path = path(Config { ecn: true, ..config(true) }, &[0]);
    path.run(at_ms(1_150));
    assert_eq!(path.sent[1].1.flags, Data::SYN | Data::RETRANSMIT);
    assert!(!path.sender.ecn() && !path.sent[3].1.has(Data::ECT));
}

#[test]
fn marks_mean_nothing_without_agreement() {
    let mut path = Path::new(config(true), ReceiverConfig::default(), ms(100));
    path.fate = Box::new(|_, _| Fate::Mark);
    path.run(at_ms(1_000));
    assert_eq!(path.sender.stats().ecn_reductions, 0);
    assert!(path.acks.iter().all(|(_, ack)| !ack.ece));
}

#[test]
fn the_last_data_carries_the_fin_and_both_sides_close() {
    let mut path = path(config(false), &[]);
    path.transfer(segments(3), at_ms(1_000));
    assert_eq!(story(&path)[..5], [(0, "syn"), (100, "ack"), (100, "data"), (100, "data"), (100, "data+fin")]);
    let fin = path.acks.last().map(|(_, ack)| *ack).expect("acknowledged");
    // The FIN takes a place in the sequence; the receiver's own comes with its acknowledgement.
    assert_eq!((fin.ack, fin.control), (3 * MSS + 1, Control::Fin));
    assert_eq!((path.sender.acknowledged(), path.receiver.delivered()), (segments(3), segments(3)));
    assert!(!path.receiver.closed());
    path.run(at_ms(10_000));
    // Data and acknowledgement, 100 ms each, after 100 ms of handshake; then the last acknowledgement.
    assert_eq!(story(&path)[5..], [(200, "ack")]);
    assert!(path.receiver.closed());
    assert_eq!((path.sender.timer(), path.receiver.timer()), (Instant::NEVER, Instant::NEVER));
}

#[test]
fn a_sender_that_closes_late_sends_a_fin_alone_whatever_the_window() {
    let mut path = path(config(true), &[]);
    path.run(at_ms(110));
    // The window is full, and closed by the application.
    assert_eq!(path.sender.in_flight(), path.sender.cwnd());
    path.sender.close();
    path.run(at_ms(10_000));
    assert_eq!(story(&path)[12..], [(110, "fin"), (210, "ack")]);
    assert!(path.sender.finished() && path.receiver.closed());
    assert_eq!(path.receiver.delivered(), segments(10));
}

#[test]
fn a_stream_of_nothing_opens_and_closes() {
    let mut path = path(config(false), &[]);
    path.transfer(Bytes::ZERO, at_ms(1_000));
    path.run(at_ms(10_000));
    assert_eq!(story(&path), [(0, "syn"), (100, "ack"), (100, "fin"), (200, "ack")]);
    assert!(path.receiver.closed());
}

#[test]
fn a_lost_fin_is_sent_again() {
    // Number 4 is the last of three segments of data: the timer, 300 ms after the acknowledgement of the second at 200 ms.
    let mut lossy = path(config(false), &[4]);
    lossy.transfer(segments(3), at_ms(5_000));
    assert_eq!(story(&lossy)[5..], [(500, "data+fin"), (600, "ack")]);
    // A bare one: 12 is the FIN; everything else is acknowledged at 210 ms at the latest.
    let mut bare = path(config(true), &[12]);
    bare.run(at_ms(110));
    bare.sender.close();
    bare.run(at_ms(10_000));
    assert_eq!(story(&bare)[12..], [(110, "fin"), (500, "fin"), (600, "ack")]);
    assert!(bare.sender.finished() && bare.receiver.closed());
}

#[test]
fn the_receivers_fin_is_repeated_until_it_is_acknowledged() {
    // Number 5 is the last acknowledgement: the receiver's FIN of 150 ms comes again a second later.
    let mut path = path(config(false), &[5]);
    path.transfer(segments(3), at_ms(1_000));
    path.run(at_ms(10_000));
    assert_eq!(story(&path)[5..], [(200, "ack"), (1_200, "ack")]);
    assert!(path.receiver.closed());
}

#[test]
fn a_syn_out_of_time_changes_nothing() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let syn = Data { flags: Data::SYN, ..Data::default() };
    let data = Data { len: MSS as u32, ..Data::default() };
    receiver.on_data(at_ms(0), &syn, false);
    receiver.on_data(at_ms(1), &data, false);
    let crate::AckAction::Now(ack) = receiver.on_data(at_ms(2), &syn, false) else { panic!("silent") };
    assert_eq!((ack.control, ack.ack, receiver.delivered()), (Control::None, MSS, segments(1)));
}

#[test]
fn congestion_control_hears_of_the_handshake() {
    let mut sender = Sender::new(Config { rto: RtoRule::Rfc6298, ..config(true) });
    assert!(sender.poll(at_ms(0)).is_some_and(|syn| syn.has(Data::SYN)));
    assert_eq!((sender.poll(at_ms(0)), sender.timer()), (None, at_ms(1_000)));
    sender.on_timer(at_ms(1_000));
    sender.poll(at_ms(1_000));
    sender.on_ack(at_ms(1_100), &Ack { control: Control::Syn, window: 1 << 20, echo: at_ms(1_000), ..Ack::default() });
    assert_eq!((sender.congestion_control().cwnd(), sender.cwnd()), (segments(1), segments(1)));
}
