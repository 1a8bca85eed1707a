//! BBR over its path, against what its model implies.

use super::*;
use crate::congestion::{bbr::Bbr, AckEvent, CongestionEvent, Parameters, Phase, RateSample, Signal};
use crate::{CongestionControl, Data, ReceiverConfig};
use sojourn_units::BitRate;

/// 20 Mbit/s on the wire are 20e6 * 1448/1500 = 19.307 Mbit/s of payload.
const PAYLOAD: f64 = 20e6 * 1448.0 / 1500.0;
/// With 40 ms a bandwidth-delay product is 2,413,333 B/s * 0.04 s / 1448 B = 66.67 segments.
const BDP: f64 = 20e6 / 8.0 * 0.04 / 1500.0;

fn every_segment() -> ReceiverConfig {
    ReceiverConfig { ack_every: Packets::new(1), ..ReceiverConfig::default() }
}

/// A bulk flow through 20 Mbit/s and 40 ms with room for `limit` packets.
fn bulk_path(limit: u64) -> Path {
    let mut path = Path::new(bulk("bbr"), every_segment(), ms(40));
    path.bottleneck = Some((BitRate::from_bit_s(20_000_000), limit));
    path
}

/// Runs to `until`, noting each change of an internal and its time in seconds.
fn changes(path: &mut Path, wanted: &str, until: Instant) -> Vec<(f64, f64)> {
    let mut seen: Vec<(f64, f64)> = Vec::new();
    path.pump();
    while path.step(until) {
        let value = internal(path, wanted);
        if seen.last().is_none_or(|(_, last)| *last != value) {
            seen.push((path.now.since(Instant::ZERO).seconds(), value));
        }
    }
    seen
}

#[test]
fn startup_doubles_each_round_and_ends_three_rounds_after_the_pipe_is_full() {
    let mut path = bulk_path(2_000);
    let modes = changes(&mut path, "mode", at_ms(2_000));
    // Ten segments in the first round trip, then 2-fold or more each: 10 * 2^3 = 80 exceed the BDP of 67 in the fourth round,
    // whose rate is measured in the fifth; three rounds without growth follow, longer by the queue each, then one of Drain.
    let [(_, startup), (drain, one), (probe, two), ..] = modes[..] else { panic!("{modes:?}") };
    assert_eq!((startup, one, two), (0.0, 1.0, 2.0));
    assert!((0.24..0.60).contains(&drain), "{modes:?}");
    // Of 2.89 * 67.7 = 195 segments and 6 for bursts, all but 68 + 6 drain at 1 - 0.99 * 0.34 = 0.66 of 1667 a second: 116 ms,
    // and a round trip passes before the first acknowledgement of a segment paced so.
    assert!((0.1..0.116 + 0.041).contains(&(probe - drain)), "{modes:?}");
    // The largest rate over ten rounds is that of the link; single acknowledgements cannot exceed it.
    assert!(
        (internal(&path, "bandwidth_bit_s") / PAYLOAD - 1.0).abs() < 0.005,
        "{}",
        internal(&path, "bandwidth_bit_s")
    );
    // 40 ms and the 0.6 ms that a packet of 1500 B takes.
    assert!((internal(&path, "min_rtt_s") - 0.0406).abs() < 1e-6);
    assert_eq!(path.queue_drops, 0);
}

#[test]
fn the_cycle_has_eight_phases_of_a_smallest_rtt_and_begins_anywhere_but_in_the_second() {
    let mut first_phases = [false; 3];
    for seed in 0..30 {
        let config = bulk("bbr");
        let mut path = Path::with_sender(crate::Sender::seeded(config, seed), every_segment(), ms(40));
        path.bottleneck = Some((BitRate::from_bit_s(20_000_000), 2_000));
        path.run_while(at_ms(2_000), |p| internal(p, "mode") != 2.0);
        let first = internal(&path, "pacing_gain");
        assert_ne!(first, 0.75);
        first_phases[if first > 1.0 { 0 } else { 1 }] = true;
        first_phases[2] |= first < 1.0;
        if seed > 0 {
            continue;
        }
        let gains = changes(&mut path, "pacing_gain", at_ms(8_000));
        let ups: Vec<f64> = gains.iter().filter(|(_, gain)| *gain == 1.25).map(|(at, _)| *at).collect();
        let periods: Vec<f64> = ups.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Six phases last just over 40.6 ms; that of 0.75 ends early when the queue is gone. 1.25 lasts until 1.25 BDP are
        // in flight, which a round trip of growth by a quarter does.
        for period in &periods {
            assert!((6.0 * 0.0406..8.6 * 0.0406).contains(period), "{period} s of {periods:?}");
        }
        assert!(periods.len() > 15);
        // Never two of one gain but the cruise: 1.25, 0.75, 1.
        for triple in gains.windows(3).filter(|w| w[0].1 == 1.25) {
            assert_eq!((triple[1].1, triple[2].1), (0.75, 1.0));
        }
    }
    assert_eq!(first_phases, [true, true, false]);
}

#[test]
fn every_ten_seconds_four_segments_for_200_ms() {
    let mut path = bulk_path(2_000);
    let modes = changes(&mut path, "mode", at_ms(45_000));
    let entries: Vec<f64> = modes.iter().filter(|(_, mode)| *mode == 3.0).map(|(at, _)| *at).collect();
    // The smallest RTT is that of the first segment, at 40.6 ms, and no later one is smaller; each episode renews it at its end.
    assert!((entries[0] - 10.0406).abs() < 0.002, "{entries:?}");
    assert_eq!(entries.len(), 4);
    for entry in &entries {
        let end = modes.iter().find(|(at, mode)| at > entry && *mode == 2.0).map_or(f64::NAN, |(at, _)| *at);
        // A window in flight drains to four within a round trip of a queue of 1 BDP at most, 81 ms; then 200 ms, and a round.
        assert!((0.2..0.2 + 0.081 + 0.041).contains(&(end - entry)), "{entry} to {end}");
        // In the middle, four segments a round trip of 40 ms.
        let from = Instant::ZERO + Span::from_seconds(end - 0.1);
        let sent = path.sent.iter().filter(|(at, _)| *at >= from && *at < from + ms(80)).count();
        assert!((4..=12).contains(&sent), "{sent} in two round trips");
    }
    for pair in entries.windows(2) {
        assert!((10.2..10.4).contains(&(pair[1] - pair[0])), "{entries:?}");
    }
}

#[test]
fn what_is_in_flight_stays_below_two_bdp_and_the_room_for_bursts() {
    let mut path = bulk_path(2_000);
    path.run(at_ms(2_000));
    let (mut most, mut sum, mut count) = (0.0_f64, 0.0, 0.0);
    while path.step(at_ms(9_900)) {
        let in_flight = path.sender.in_flight().get() as f64 / MSS as f64;
        most = most.max(in_flight);
        sum += in_flight;
        count += 1.0;
    }
    // 2 BDP = 134 (of 40.6 ms: 135.4, so 136), 3 bursts of 2, 2 in the phase of growth, and what is acknowledged at once: one or two.
    assert!(most <= 136.0 + 6.0 + 2.0 + 4.0, "{most}");
    // Alone it holds the pipe just full: 1.25 for one phase in eight, and the queue of that is drained in the next.
    let mean = sum / count;
    assert!((0.95..1.25).contains(&(mean / BDP)), "{mean} segments");
}

#[test]
fn a_segment_lost_is_repaired_without_a_smaller_rate() {
    let mut path = bulk_path(2_000);
    path.fate = Box::new(drop_once(&[5_000, 5_003, 5_004]));
    path.run(at_ms(3_000));
    let before = path.receiver.delivered();
    path.run(at_ms(6_000));
    // Segment 5000 leaves at some 3.1 s; rate before and after are those of the link.
    let goodput = (path.receiver.delivered() - before).get() as f64 * 8.0 / 3.0;
    assert!(goodput > 0.97 * PAYLOAD, "{goodput}");
    let stats = path.sender.stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits, stats.segments_retransmitted), (0, 1, 3));
}

#[test]
fn random_losses_do_not_slow_it_down() {
    // 2 % of all transmissions: CUBIC's window would be some ten segments. Loss up to a fifth is nothing to the model.
    let mut path = bulk_path(2_000);
    let mut state = 5_u64;
    path.fate = Box::new(move |_, _| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (state >> 33) % 100 < 2 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    path.run(at_ms(2_000));
    let before = path.receiver.delivered();
    path.run(at_ms(10_000));
    let goodput = (path.receiver.delivered() - before).get() as f64 * 8.0 / 8.0;
    assert!(goodput > 0.9 * PAYLOAD, "{goodput}");
}

#[test]
fn an_application_that_sends_little_does_not_lower_the_bandwidth() {
    let config = Config { unlimited: false, send_buffer: None, ..bulk("bbr") };
    let mut path = Path::new(config, every_segment(), ms(40));
    path.bottleneck = Some((BitRate::from_bit_s(20_000_000), 2_000));
    path.sender.write(segments(3_000));
    path.run(at_ms(2_500));
    assert!(path.sender.in_flight() == Bytes::ZERO);
    // Then a segment each 20 ms for five seconds: more than ten rounds of samples of 0.58 Mbit/s.
    for i in 0..250 {
        path.sender.write(segments(1));
        path.pump();
        path.run(at_ms(2_500 + 20 * (i + 1)));
    }
    assert!(
        (internal(&path, "bandwidth_bit_s") / PAYLOAD - 1.0).abs() < 0.01,
        "{}",
        internal(&path, "bandwidth_bit_s")
    );
}

#[test]
fn after_silence_it_sends_at_the_rate_of_the_path_not_in_a_burst() {
    let config = Config { unlimited: false, send_buffer: None, ..bulk("bbr") };
    let mut path = Path::new(config, every_segment(), ms(40));
    path.bottleneck = Some((BitRate::from_bit_s(20_000_000), 2_000));
    path.sender.write(segments(3_000));
    path.run(at_ms(15_000));
    let before = path.sent.len();
    let cwnd = path.sender.cwnd();
    path.sender.write(segments(50));
    path.run(at_ms(15_030));
    assert_eq!(path.sender.cwnd(), cwnd);
    // The window is kept (no slow start after idle time), and 0.99 of 20 Mbit/s are a packet each 0.6061 ms: 30 ms / 0.6061 ms, and one.
    assert_eq!(path.sent.len() - before, 50);
    // They go by two.
    let gaps: Vec<u64> = path.sent[before + 2..].windows(3).map(|w| w[2].0.since(w[0].0).nanos() / 1_000).collect();
    assert!(gaps.iter().all(|gap| (1_208..=1_218).contains(gap)), "{gaps:?}");
    // The ten seconds of the smallest RTT passed in silence: no need to drain what is empty.
    assert_eq!(internal(&path, "mode"), 2.0);
}

#[test]
fn after_a_timeout_the_window_grows_from_one_segment_and_the_rate_is_remembered() {
    let mut path = bulk_path(2_000);
    path.run(at_ms(2_000));
    path.fate = Box::new(|_, _| Fate::Drop);
    path.run_while(at_ms(9_000), |p| p.sender.stats().timeouts == 0);
    assert_eq!(path.sender.cwnd(), segments(1));
    path.fate = Box::new(|_, _| Fate::Deliver);
    let from = path.now;
    path.run(from + Span::from_secs(2));
    let before = path.receiver.delivered();
    path.run(path.now + Span::from_secs(2));
    let goodput = (path.receiver.delivered() - before).get() as f64 * 8.0 / 2.0;
    assert!(goodput > 0.97 * PAYLOAD, "{goodput}");
    assert!(path.sender.stats().timeouts <= 2);
}

#[test]
fn a_policer_is_found_and_its_rate_kept() {
    // A token bucket of 4 Mbit/s (wire) with 20 kB behind a path of 20 Mbit/s: without the long-term rate, every probe and
    // the ten-round maximum would overshoot and lose most of what is sent.
    let mut path = bulk_path(2_000);
    let (mut tokens, mut last, clock) = (20_000.0_f64, 0.0, std::rc::Rc::new(std::cell::Cell::new(0.0)));
    let now = std::rc::Rc::clone(&clock);
    path.fate = Box::new(move |_, data: &Data| {
        tokens = (tokens + (now.get() - last) * 500_000.0).min(20_000.0);
        last = now.get();
        let size = data.ip_bytes().get() as f64;
        if tokens < size {
            return Fate::Drop;
        }
        tokens -= size;
        Fate::Deliver
    });
    let mut used = 0_u32;
    path.pump();
    let mut at_half = Bytes::ZERO;
    while path.step(at_ms(20_000)) {
        clock.set(path.now.since(Instant::ZERO).seconds());
        used += u32::from(internal(&path, "long_term") == 1.0);
        if path.now <= at_ms(10_000) {
            at_half = path.receiver.delivered();
        }
    }
    assert!(used > 1_000, "{used}");
    let goodput = (path.receiver.delivered() - at_half).get() as f64 * 8.0 / 10.0;
    assert!((2.8e6..4.0e6).contains(&goodput), "{goodput}");
}

/// One segment of 1000 B acknowledged at `ms`, delivered at 1 MB/s, `delivered` kB in all.
fn acked(at: u64, delivered: u64, in_flight: u64) -> AckEvent {
    let rate = RateSample {
        delivered: Bytes::new(50_000),
        interval: ms(50),
        prior_delivered: Bytes::new(1000 * delivered.saturating_sub(50)),
        app_limited: false,
        retransmitted: false,
        tx_in_flight: Bytes::ZERO,
        lost: Bytes::ZERO,
    };
    let ack = event(at, 1000, 1, delivered, delivered + in_flight);
    AckEvent { rtt: steady(ms(50)), delivery: Delivery { rate: Some(rate), ..ack.delivery }, ..ack }
}

fn without_rate(ack: AckEvent) -> AckEvent {
    AckEvent { delivery: Delivery { rate: None, ..ack.delivery }, ..ack }
}

#[test]
fn pacing_by_hand() {
    let mut bbr = Bbr::new(&Parameters { seed: 1, ..parameters(1000) });
    let rate = |bbr: &Bbr| bbr.pacing_rate().map_or(0, BitRate::bit_s);
    // 10 segments of 1052 B each millisecond, 84.16 Mbit/s, times 739/256 times 0.99.
    assert!((rate(&bbr) as f64 - 84.16e6 * 739.0 / 256.0 * 0.99).abs() < 2.0, "{}", rate(&bbr));
    // A handshake of 50 ms: the window each 50 ms.
    let mut met = bbr.clone();
    met.on_established(at_ms(50), Some(ms(50)));
    assert!((rate(&met) as f64 - 84.16e6 / 50.0 * 739.0 / 256.0 * 0.99).abs() < 2.0, "{}", rate(&met));
    // The first sample of the RTT: 11 segments each 50 ms would be the same formula with the window of then, 10; bandwidth 1 MB/s is
    // 8 * 1.052 = 8.416 Mbit/s on the wire, larger.
    bbr.on_ack(&acked(50, 1, 9));
    assert!((rate(&bbr) as f64 - 8.416e6 * 739.0 / 256.0 * 0.99).abs() < 2.0, "{}", rate(&bbr));
    // Marks change nothing.
    bbr.on_congestion(&CongestionEvent { now: at_ms(50), signal: Signal::Ecn, in_flight: Bytes::new(9_000) });
    assert_eq!(bbr.cwnd(), Bytes::new(11_000));
}

#[test]
fn what_is_delivered_before_the_next_departure_is_not_in_the_network() {
    let mut bbr = Bbr::new(&Parameters { seed: 1, ..parameters(1000) });
    let mode = |bbr: &Bbr| {
        let mut found = f64::NAN;
        bbr.internals(&mut |name, value| found = if name == "mode" { value } else { found });
        found
    };
    // At a constant 1 MB/s Startup ends after three rounds of 50 ms.
    let mut n = 0;
    while mode(&bbr) == 0.0 {
        n += 1;
        bbr.on_ack(&acked(50 + n, n, 150));
    }
    assert_eq!(mode(&bbr), 1.0);
    // Drain ends with so many segments in flight, or fewer.
    let last = |departs_in| {
        let ends = |in_flight: &u64| {
            let mut bbr = bbr.clone();
            let ack = acked(51 + n, n + 1, *in_flight);
            bbr.on_ack(&AckEvent { delivery: Delivery { departs_in, ..ack.delivery }, ..ack });
            mode(&bbr) == 2.0
        };
        (0..150).rev().find(ends).unwrap()
    };
    // 50 segments are in a round trip, and there is room for three bursts of two.
    assert_eq!(last(Span::ZERO), 56);
    // In 5.9 ms at 1 MB/s five whole segments are delivered.
    assert_eq!(last(Span::from_micros(5_900)), 61);
}

#[test]
fn the_window_in_an_episode_by_hand() {
    let mut bbr = Bbr::new(&Parameters { seed: 1, ..parameters(1000) });
    // To 60 segments.
    for n in 1..=50 {
        bbr.on_ack(&acked(50 + n, n, 59));
    }
    assert_eq!(bbr.cwnd(), Bytes::new(60_000));
    // Fast recovery: what is in flight and what was just acknowledged.
    bbr.on_congestion(&CongestionEvent { now: at_ms(101), signal: Signal::Loss, in_flight: Bytes::new(56_000) });
    let lost = |n, in_flight, phase| AckEvent {
        lost: Bytes::new(3000),
        total_lost: Bytes::new(3000),
        phase,
        ..without_rate(acked(50 + n, n, in_flight))
    };
    bbr.on_ack(&lost(51, 40, Phase::Recovery));
    assert_eq!(bbr.cwnd(), Bytes::new(41_000));
    // 41 - 3 lost, but no less than 39 + 1.
    bbr.on_ack(&lost(52, 39, Phase::Recovery));
    assert_eq!(bbr.cwnd(), Bytes::new(40_000));
    // At its end the window from before is back: 60 and the segment acknowledged.
    bbr.on_ack(&without_rate(acked(104, 53, 38)));
    assert_eq!(bbr.cwnd(), Bytes::new(61_000));
    bbr.on_rto(at_ms(400), Bytes::new(40_000));
    assert_eq!(bbr.cwnd(), Bytes::new(1_000));
    // After a timeout four segments at least.
    bbr.on_ack(&AckEvent { phase: Phase::Loss, ..without_rate(acked(450, 54, 1)) });
    assert_eq!(bbr.cwnd(), Bytes::new(4_000));
}

#[test]
fn the_window_around_probe_rtt_by_hand() {
    let mut bbr = Bbr::new(&Parameters { seed: 1, ..parameters(1000) });
    for n in 1..=50 {
        bbr.on_ack(&acked(50 + n, n, 59));
    }
    // 60 segments are saved; an episode later the window is 30.
    bbr.on_congestion(&CongestionEvent { now: at_ms(101), signal: Signal::Ecn, in_flight: Bytes::new(56_000) });
    bbr.set_cwnd(Bytes::new(30_000));
    // Ten seconds after the first sample, at 51 ms: not yet; then four segments, and what is in flight are three.
    bbr.on_ack(&AckEvent { rtt: steady(ms(60)), ..acked(10_051, 51, 3) });
    assert_eq!(internal_of(&bbr, "mode"), 0.0);
    bbr.on_ack(&AckEvent { rtt: steady(ms(60)), ..acked(10_052, 52, 3) });
    assert_eq!((internal_of(&bbr, "mode"), bbr.cwnd()), (3.0, Bytes::new(4_000)));
    assert!(bbr.disowns_samples());
    // A round is over at 150 ms, yet 200 ms are not.
    bbr.on_ack(&acked(10_202, 110, 3));
    bbr.on_ack(&acked(10_252, 170, 3));
    assert_eq!((internal_of(&bbr, "mode"), bbr.cwnd()), (3.0, Bytes::new(4_000)));
    // Later than that the largest window saved is back and grows by a segment towards 2 * 50 and those for bursts; the bandwidth has
    // stood still for the rounds that began with 51, 110 and 170 delivered, so Startup is over.
    bbr.on_ack(&acked(10_253, 171, 3));
    assert_eq!((internal_of(&bbr, "mode"), bbr.cwnd()), (2.0, Bytes::new(61_000)));
    assert!(!bbr.disowns_samples());
}

#[test]
fn segments_go_in_bursts_of_two_and_the_pause_after_them_is_that_of_both() {
    // 20 Mbit/s are 2441 B in Linux's 1/1024 s, one segment; at least two go where the rate is above 1.2 Mbit/s.
    let mut path = bulk_path(2_000);
    path.run(at_ms(3_000));
    let times: Vec<Instant> = path.sent.iter().map(|(at, _)| *at).filter(|at| *at > at_ms(2_000)).collect();
    let pauses: Vec<f64> = times.windows(2).map(|pair| pair[1].since(pair[0]).seconds() * 1e3).collect();
    let bursts = pauses.chunks_exact(2).filter(|pair| (pair[0] == 0.0) != (pair[1] == 0.0)).count();
    assert!(bursts as f64 > 0.95 * pauses.len() as f64 / 2.0, "{bursts} of {}", pauses.len() / 2);
    // Two packets of 1500 B take 1.2 ms, at gains of 0.99 * 0.75 to 0.99 * 1.25: 1.62 ms to 0.97 ms.
    let between: Vec<f64> = pauses.iter().copied().filter(|pause| *pause > 0.0).collect();
    let within = between.iter().filter(|pause| (0.9..1.75).contains(*pause)).count();
    assert!(within as f64 > 0.95 * between.len() as f64, "{within} of {}", between.len());
}
