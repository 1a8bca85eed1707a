//! Sender and receiver on a miniature path.

mod accecn;
mod adaptive;
mod bbr;
mod bbr3;
mod bic;
mod compound;
mod congestion;
mod connection;
mod dctcp;
mod fuzz;
mod ledbat;
mod ns2;
mod ns3;
mod ns3_recovery;
mod offload;
mod path;
mod prague;
mod rack;
mod rate;
mod receiver;
mod recovery;
mod sender;
mod timer;
mod undo;
mod veno;
mod westwood;
mod window;

use super::congestion::{find, AckEvent, Amount, CongestionControl, Delivery, Keys, Parameters, Phase, Rtt};
use super::sender::{Config, Recovery};
use path::{Fate, Path};
use serde::de::value::Error;
use sojourn_document::keys::{KeySet, Scalar};
use sojourn_units::{Bytes, Instant, Packets, Span};

const MSS: u64 = 1448;

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

pub(super) fn at_ms(at: u64) -> Instant {
    Instant::ZERO + ms(at)
}

pub(super) fn segments(n: u64) -> Bytes {
    Bytes::new(n * MSS)
}

/// A bulk sender with the named algorithm. No handshake, unless the test is about it: numbers then follow from the stream.
fn bulk(congestion_control: &str) -> Config {
    let congestion_control = find(congestion_control).expect("in the registry");
    Config { congestion_control, unlimited: true, handshake: false, send_buffer: None, ..Config::default() }
}

/// What a congestion control is built from: ten segments of `mss` bytes at the start, HyStart off.
pub(super) fn parameters(mss: u64) -> Parameters {
    let (mss, initial_window) = (Bytes::new(mss), Packets::new(10));
    Parameters { mss, initial_window, window_limit: None, seed: 0 }
}

/// An acknowledgement at `at` ms of `n` segments of `mss` bytes, which comes up to segment `una`; those before `next` are sent.
/// It tells no RTT and no rate.
fn event(at: u64, mss: u64, n: u64, una: u64, next: u64) -> AckEvent {
    AckEvent {
        now: at_ms(at),
        acked: amount(n, mss),
        sacked: Amount::default(),
        ce: Amount::default(),
        rtt: Rtt { sample: None, min: Span::MAX, smoothed: Span::ZERO, one_way: None },
        delivery: Delivery { total: Bytes::new(una * mss), ..Delivery::default() },
        in_flight: Bytes::new((next - una) * mss),
        prior_in_flight: Bytes::new((next - una + n) * mss),
        lost: Bytes::ZERO,
        total_lost: Bytes::ZERO,
        phase: Phase::Open,
        una: una * mss,
        next: next * mss,
        may_grow: true,
        cwnd: Bytes::ZERO,
        timeout_over: None,
        cwnd_limited: true,
    }
}

/// `n` segments of `mss` bytes.
fn amount(n: u64, mss: u64) -> Amount {
    Amount { packets: Packets::new(n), bytes: Bytes::new(n * mss) }
}

/// An RTT, which is the smallest and the mean, too.
fn steady(rtt: Span) -> Rtt {
    Rtt { sample: Some(rtt), min: rtt, smoothed: rtt, one_way: None }
}

/// The variable of this name; not a number without one.
fn internal_of(control: &dyn CongestionControl, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    control.internals(&mut |name, value| {
        if name == wanted {
            found = value;
        }
    });
    found
}

fn internal(path: &Path, wanted: &str) -> f64 {
    internal_of(path.sender.congestion_control(), wanted)
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{value}, not {expected}");
}

/// Default keys, with HyStart or without in all that have it.
fn hystart(on: bool) -> Keys {
    let mut keys = Keys::default();
    assert_eq!(keys.set::<Error>("hystart", &Scalar::Bool(on)), Some(Ok(())));
    keys
}

/// Segments of `path` sent in each round trip of `rtt`.
fn per_round_trip(path: &Path, rtt: Span) -> Vec<u64> {
    let mut counts = Vec::new();
    for (at, _) in &path.sent {
        let round = (at.nanos() / rtt.nanos()) as usize;
        counts.resize(counts.len().max(round + 1), 0);
        counts[round] += 1;
    }
    counts
}

/// Pairs of lines: a case, and what a peer printed for it.
fn vectors(text: &str) -> Vec<(&str, &str)> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Numbers with spaces between.
fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

/// Times in milliseconds and sequence numbers (in segments) of the retransmissions.
fn retransmissions(path: &Path) -> Vec<(u64, u64)> {
    let resent = path.sent.iter().filter(|(_, d)| d.has(super::Data::RETRANSMIT));
    resent.map(|(at, d)| (at.nanos() / 1_000_000, d.seq / MSS)).collect()
}

/// Drops the first transmission of these segments.
fn drop_once(wanted: &'static [u64]) -> impl FnMut(usize, &super::Data) -> Fate {
    move |_, data| {
        let first = !data.has(super::Data::RETRANSMIT);
        if first && wanted.contains(&(data.seq / MSS)) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    }
}
