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

use super::congestion::{find, Keys, Parameters};
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
    Parameters { mss, initial_window, window_limit: None, seed: 0, keys: hystart(false) }
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
