//! Congestion control over its path: the shapes and the averages that the texts derive.

use super::dctcp::acked;
use super::*;
use crate::congestion::{AckEvent, CongestionEvent, Parameters, Signal, ALGORITHMS};
use crate::{CongestionControl, Data, ReceiverConfig};
use sojourn_units::BitRate;

pub(super) fn every_segment() -> ReceiverConfig {
    ReceiverConfig { ack_every: Packets::new(1), ..ReceiverConfig::default() }
}

pub(super) fn cwnd(path: &Path) -> f64 {
    path.sender.cwnd().get() as f64 / MSS as f64
}

/// A bulk flow that loses one segment when its window has reached `window` segments, run to the end of that recovery.
pub(super) fn after_one_loss(config: Config, rtt: Span, window: u64) -> Path {
    let mut path = Path::new(config, every_segment(), rtt);
    path.run_while(at_ms(60_000), |p| p.sender.cwnd() < segments(window));
    let lost = path.sent.len();
    path.fate = Box::new(move |n, _| if n == lost { Fate::Drop } else { Fate::Deliver });
    path.run_while(at_ms(60_000), |p| p.sender.stats().fast_retransmits == 0);
    // The retransmission takes one round trip.
    path.run(path.now + rtt);
    assert_eq!(path.sender.stats().segments_retransmitted, 1);
    path
}

#[test]
fn every_algorithm_starts_at_the_initial_window() {
    for algorithm in ALGORITHMS {
        let path = Path::new(bulk(algorithm.name), every_segment(), ms(10));
        assert_eq!(path.sender.cwnd(), segments(10));
        assert!(!algorithm.source.is_empty() && find(algorithm.name) == Some(algorithm));
    }
    assert_eq!(find("vegas"), None);
    assert_eq!(Config::default().congestion_control.name, "cubic");
}

#[test]
fn every_file_is_in_the_registry() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/congestion");
    let files = |folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut declared = 0;
    for file in files(folder.clone()).chain(files(folder.join("ns3"))).filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(&file).unwrap();
        let Some((_, about)) = text.split_once("pub const ABOUT: About") else { continue };
        let name = about.split('"').nth(1).unwrap();
        assert!(
            find(name).is_some(),
            "{}: {name} has no line in `congestion_controls!`, in congestion.rs",
            file.display()
        );
        declared += 1;
    }
    assert_eq!(declared, ALGORITHMS.len());
}

#[test]
fn every_key_has_a_source_and_a_range() {
    for key in Keys::default().list() {
        let name = key.name;
        assert!(key.doc.len() > 30, "say in the description of `{name}` what it does, and whose default it is");
        assert!(key.bounded, "give `{name}` a range, as in `ledbat_gain: f64 = 1.0, above_zero(100.0)`");
        assert_eq!(key.refused, None, "the default of `{name}`");
    }
}

#[test]
fn decrease_factors() {
    for (algorithm, factor) in [("newreno", 0.5), ("reno", 0.5), ("cubic", 717.0 / 1024.0)] {
        let config = Config { keys: hystart(false), ..bulk(algorithm) };
        let mut path = Path::new(config, every_segment(), ms(50));
        path.run_while(at_ms(60_000), |p| p.sender.cwnd() < segments(200));
        let lost = path.sent.len();
        path.fate = Box::new(move |n, _| if n == lost { Fate::Drop } else { Fate::Deliver });
        let mut before = 0.0;
        path.run_while(at_ms(60_000), |p| p.sender.stats().fast_retransmits == 0 && cwnd(p) > 0.0);
        if algorithm == "cubic" {
            before = internal(&path, "w_max_segments");
        }
        let after = path.sender.ssthresh().get() as f64 / MSS as f64;
        path.run(path.now + ms(50));
        // Growth has begun again with the acknowledgements behind the mended hole.
        assert!(cwnd(&path) >= after && cwnd(&path) <= after + 2.0, "{algorithm}: {} after {after}", cwnd(&path));
        if algorithm == "cubic" {
            assert_eq!(after, (before * factor).floor());
        } else {
            // Slow start had taken the window to 400 or less when the loss showed; newreno halves what is in flight.
            let flight = path.sender.stats().segments_sent;
            assert!(after >= 100.0 && after <= flight as f64 * factor, "{algorithm}: {after}");
        }
    }
}

#[test]
fn cubic_follows_its_cubic() {
    let rtt = ms(50);
    let config = Config { keys: hystart(false), ..bulk("cubic") };
    let mut path = after_one_loss(config, rtt, 500);
    let w_max = internal(&path, "w_max_segments");
    let k = internal(&path, "k_s");
    // K = cbrt(W_max (1 - beta) / C) with beta = 0.7002 and C = 0.4, from the whole segments left.
    let left = (w_max * 717.0 / 1024.0).floor();
    assert!((k - ((w_max - left) / 0.4).cbrt()).abs() < 1e-9, "{k}");
    let start = path.now;
    let mut worst: f64 = 0.0;
    for step in 1..=60 {
        let at = start + Span::from_seconds(k * 1.5 * f64::from(step) / 60.0);
        path.run(at);
        let t = (at - start).seconds();
        let expected = w_max + 0.4 * (t - k).powi(3);
        worst = worst.max((cwnd(&path) - expected).abs() / expected);
    }
    // Growth is spread over the round trip for which the target was set, and the target is a whole number of segments.
    assert!(worst < 0.01, "off by {worst}");
    assert_eq!(path.sender.stats().segments_retransmitted, 1);
}

#[test]
fn cubic_converges_fast_when_the_window_shrinks() {
    let config = Config { keys: hystart(false), ..bulk("cubic") };
    let mut path = after_one_loss(config, ms(50), 200);
    let w_max = internal(&path, "w_max_segments");
    let lost = path.sent.len();
    path.fate = Box::new(move |n, _| if n == lost { Fate::Drop } else { Fate::Deliver });
    let at_loss = cwnd(&path);
    path.run_while(at_ms(60_000), |p| p.sender.stats().fast_retransmits == 1);
    // Below the last W_max: W_max = cwnd (1 + 0.7002) / 2; growth between loss and its detection is a segment or two.
    let expected = at_loss * (1.0 + 717.0 / 1024.0) / 2.0;
    let now = internal(&path, "w_max_segments");
    assert!(now < w_max && (now - expected).abs() <= 4.0, "{now}, not {expected}");
}

#[test]
fn cubic_grows_as_reno_where_that_is_faster() {
    // RTT 5 ms and a window of 20: K = cbrt(6/0.4) = 2.5 s, 500 round trips for 6 segments; Reno's line gains
    // 3 (1 - 0.7)/(1 + 0.7) = 0.529 segments a round trip, 6 in 11 round trips.
    let rtt = ms(5);
    let config = Config { keys: hystart(false), ..bulk("cubic") };
    let mut path = after_one_loss(config, rtt, 20);
    let before = cwnd(&path);
    path.run(path.now + rtt * 40);
    let slope = (cwnd(&path) - before) / 40.0;
    assert!((slope - 0.529).abs() < 0.08, "{slope}");
}

/// Drops a segment each `period` new ones; returns the mean window over the second half, in segments.
pub(super) fn mean_window(config: Config, rtt: Span, period: u64, rounds: u64) -> f64 {
    let mut path = Path::new(config, every_segment(), rtt);
    path.fate = Box::new(move |_, data: &Data| {
        let lost = !data.has(Data::RETRANSMIT) && (data.seq / MSS) % period == period - 1;
        if lost {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    let half = Instant::ZERO + rtt * (rounds / 2);
    path.run(half);
    let before = path.receiver.delivered();
    path.run(half + rtt * (rounds / 2));
    assert_eq!(path.sender.stats().timeouts, 0);
    (path.receiver.delivered() - before).get() as f64 / MSS as f64 / (rounds / 2) as f64
}

#[test]
fn reno_obeys_the_square_root_law() {
    // Mathis et al. (1997), periodic losses, an acknowledgement a segment: W = sqrt(3/2) / sqrt(p).
    // The law leaves out the round trip of each recovery: some 2 segments below it, which matter less the larger W is.
    for period in [1000_u64, 5000] {
        for algorithm in ["reno", "newreno", "ns3_reno"] {
            let expected = (1.5 * period as f64).sqrt();
            let mean = mean_window(bulk(algorithm), ms(100), period, 4_000);
            assert!((mean / expected - 1.0).abs() < 0.1, "{algorithm}, one in {period}: {mean}, not {expected}");
        }
    }
}

#[test]
fn cubic_obeys_its_response_function() {
    // RFC 9438, section 5.1: W = (C (3 + beta) / (4 (1 - beta)))^(1/4) RTT^(3/4) / p^(3/4), above Reno's region.
    let period = 10_000_u64;
    let expected = (0.4_f64 * 3.7 / (4.0 * 0.3)).powf(0.25) * 0.1_f64.powf(0.75) * (period as f64).powf(0.75);
    let mean = mean_window(Config { keys: hystart(false), ..bulk("cubic") }, ms(100), period, 4_000);
    assert!((mean / expected - 1.0).abs() < 0.1, "{mean}, not {expected}");
}

#[test]
fn hystart_leaves_slow_start_before_loss() {
    // 20 Mbit/s, 100 ms: BDP 167 packets, and a queue of as many.
    for on in [true, false] {
        let mut path = Path::new(Config { keys: hystart(on), ..bulk("cubic") }, every_segment(), ms(100));
        path.bottleneck = Some((BitRate::from_bit_s(20_000_000), 167));
        path.run_while(at_ms(5_000), |p| p.sender.ssthresh() == Bytes::new(u64::MAX));
        let lost = path.queue_drops > 0;
        assert_eq!(lost, !on);
        if on {
            let window = path.sender.cwnd().get() / MSS;
            assert!((80..=250).contains(&window), "{window}");
        }
    }
}

#[test]
fn an_idle_time_does_not_count_as_time_of_growth() {
    // The cubic starts from where it was: 5 s of silence do not make the window jump.
    let config = Config { keys: hystart(false), slow_start_after_idle: false, unlimited: false, ..bulk("cubic") };
    let mut path = Path::new(config, every_segment(), ms(50));
    path.fate = Box::new(drop_once(&[300]));
    path.sender.write(segments(2_000));
    path.run(at_ms(20_000));
    assert!(path.sender.in_flight() == Bytes::ZERO);
    let before = cwnd(&path);
    path.sender.write(segments(600));
    path.run(path.now + ms(250));
    // Five round trips at W = 2 to 300 segments: Reno's 0.53 a round trip or the cubic's first, not 0.4 * 20^3 segments.
    assert!(cwnd(&path) - before < 60.0, "{before} to {}", cwnd(&path));
}

#[test]
fn without_a_w_max_cubic_gains_a_twentieth_each_round_trip() {
    // A timeout forgets W_max; slow start to the threshold of 0.7 times the window, and on from there.
    let config = Config { keys: hystart(false), ..bulk("cubic") };
    let mut path = Path::new(config, every_segment(), ms(50));
    path.run_while(at_ms(60_000), |p| p.sender.cwnd() < segments(200));
    path.fate = Box::new(|_, _| Fate::Drop);
    path.run_while(at_ms(60_000), |p| p.sender.stats().timeouts == 0);
    path.fate = Box::new(|_, _| Fate::Deliver);
    path.run_while(at_ms(60_000), |p| p.sender.cwnd() <= p.sender.ssthresh());
    let before = cwnd(&path);
    path.run(path.now + ms(500));
    let per_round = (cwnd(&path) / before).powf(0.1);
    // C t^3 adds no more than 0.4 * 0.5^3 segments in this time.
    assert!((per_round - 1.05).abs() < 0.005, "{per_round}");
}

#[test]
fn hystart_looks_at_the_window_of_a_reduction() {
    // 100 segments, a loss: the threshold is 100 * 717 / 1024 = 70. Eight samples of 60 ms over a smallest RTT of 20 ms are
    // taken of a new round trip, the ninth tells (60 > 20 + 20/8, at least 4): the threshold becomes the window that the
    // reduction has reached.
    for (window, expected) in [(50, 50), (80, 70)] {
        let parameters = Parameters { initial_window: Packets::new(100), ..parameters(MSS) };
        let mut cubic = (find("cubic").expect("in the registry").build)(&parameters, &hystart(true));
        let ack = |rtt, una, cwnd| AckEvent {
            rtt: Rtt { smoothed: ms(60), ..steady(rtt) },
            cwnd: segments(cwnd),
            ..acked(1, una, una + 100, false)
        };
        cubic.on_ack(&ack(ms(20), 1, 100));
        cubic.on_congestion(&CongestionEvent { now: at_ms(0), signal: Signal::Loss, in_flight: segments(100) });
        for _ in 0..8 {
            cubic.on_ack(&ack(ms(60), 102, window));
            assert_eq!(cubic.ssthresh(), segments(70));
        }
        cubic.on_ack(&ack(ms(60), 102, window));
        assert_eq!(cubic.ssthresh(), segments(expected));
    }
}

#[test]
fn after_a_timeout_the_rtt_comes_from_the_timestamp() {
    // The flight of 200 ms, segments 30 to 69, is lost, and the timer has 30 sent again. CUBIC has forgotten its smallest RTT;
    // the acknowledgement of 30 tells it again, where it echoes a timestamp.
    for (timestamps, expected) in [(true, 0.1), (false, 0.0)] {
        let config = Config { timestamps, keys: hystart(false), ..bulk("cubic") };
        let mut path = Path::new(config, every_segment(), ms(100));
        path.fate =
            Box::new(|_, d| if d.seq >= 30 * MSS && !d.has(Data::RETRANSMIT) { Fate::Drop } else { Fate::Deliver });
        path.run_while(at_ms(60_000), |p| p.sender.acknowledged() <= segments(30));
        assert_eq!(path.sender.stats().timeouts, 1);
        assert!((internal(&path, "delay_min_s") - expected).abs() < 1e-9, "{}", internal(&path, "delay_min_s"));
    }
}
