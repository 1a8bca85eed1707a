//! BBR, version 1: a model of the path, its bandwidth and its smallest RTT, says how fast to send and how much.
//!
//! Texts: Cardwell et al., "BBR: congestion-based congestion control", ACM Queue 14 (2016);
//! draft-cardwell-iccrg-bbr-congestion-control-00; behaviour of Linux's `tcp_bbr.c` (5.1 and later), which the drafts describe.
//! Law, `bw` the largest delivery rate of ten rounds, `rtt` the smallest RTT of ten seconds:
//!
//! ```text
//! pacing rate = 0.99 * pacing gain * bw         cwnd = cwnd gain * bw * rtt + aggregation + offload budget
//! Startup     gains 2.89, 2.89 until bw has not grown by 25 % in three rounds
//! Drain       gains 0.34, 2.89 until no more than bw * rtt is in flight
//! ProbeBw     gains 1.25, 0.75, then six phases of 1, a smallest RTT each (random phase at first); cwnd gain 2
//! ProbeRtt    four segments in flight for 200 ms and a round, when the smallest RTT is ten seconds old
//! ```
//!
//! In fast recovery, packets are conserved for a round; the window from before it returns at its end. After a timeout it grows
//! from one segment. Marks are ignored, as in Linux's version 1. The parts: `filter` (windowed maximum), `policer` (long-term
//! bandwidth), `aggregation` (acknowledgements in bursts).
//!
//! Deviations: rates and windows count bytes, targets are whole segments; floating point instead of 24-bit fractions; times have
//! nanoseconds instead of microseconds, and jiffies for the ten seconds and 200 ms. Pacing lets Linux's offload bursts go
//! (`tso_segs_goal`), for three of which the window has room. Without a handshake the
//! first pacing rate comes from the 1 ms that Linux takes where it has no RTT sample. Work: O(1).

mod aggregation;
mod filter;
mod policer;

use super::window::window_in_bytes;
use super::{About, AckEvent, CongestionControl, CongestionEvent, Parameters, Phase};
use crate::segment::DATA_HEADER;
use aggregation::Aggregation;
use filter::WindowedMax;
use policer::{Policer, Sight};
use sojourn_aqm::Random;
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Instant, Span};

/// What the registry says of it.
pub const ABOUT: About = About {
    name: "bbr",
    source: "BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00), as in Linux's tcp_bbr",
};

/// 2/ln 2, the smallest gain that doubles the rate each round, in Linux's fraction of 256 (2885/1000, plus 1/256).
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// The inverse, which empties in a round the queue that Startup built.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// Pacing gains of the phases of ProbeBw.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Window in ProbeBw, in bandwidth-delay products: room for delayed and bunched acknowledgements.
const CWND_GAIN: f64 = 2.0;
/// Paced slower than the estimate by this, so that queues drain over time.
const PACING_MARGIN: f64 = 0.99;
/// Rounds over which the largest bandwidth counts: a cycle and two.
const BANDWIDTH_ROUNDS: u32 = 10;
/// Growth that says that Startup goes on.
const FULL_THRESHOLD: f64 = 1.25;
/// Rounds without it that end Startup.
const FULL_ROUNDS: u32 = 3;
/// Time over which the smallest RTT counts.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Time in ProbeRtt.
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// Smallest window, and that of ProbeRtt, in segments.
const MIN_SEGMENTS: u64 = 4;
/// Linux's TCP_INIT_CWND, in segments.
const INITIAL_SEGMENTS: u64 = 10;
/// Stands for the RTT before the first sample.
const FIRST_RTT: Span = Span::from_millis(1);
/// Below this pacing rate, in bytes a second, Linux sends single segments; else bursts of two at least.
const MIN_TSO_RATE: f64 = 150_000.0;
/// Linux's largest offload burst in bytes, of 1/1024 s at the most.
const MAX_BURST: f64 = 65_215.0;

/// What the sender does to learn about the path.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw {
        /// Index into [`CYCLE`].
        phase: usize,
        since: Instant,
    },
    ProbeRtt {
        /// Few enough were in flight: stay until this time, and until a round has ended since.
        hold: Option<(Instant, bool)>,
    },
}

/// State.
#[derive(Clone, Debug)]
pub struct Bbr {
    mss: u64,
    limit: u64,
    /// In bytes, as all data here.
    cwnd: u64,
    /// Window before the episode or ProbeRtt.
    prior_cwnd: u64,
    ssthresh: u64,
    mode: Mode,
    /// Largest bandwidth in payload bytes a second.
    bandwidth: WindowedMax,
    /// Smallest RTT and when it was seen.
    min_rtt: Option<(Span, Instant)>,
    /// A round ends when a segment is acknowledged that was sent when this much was delivered.
    round_end: u64,
    rounds: u32,
    round_start: bool,
    /// Bandwidth that Startup compares with, and rounds that did not exceed it enough.
    full_bandwidth: f64,
    full_count: u32,
    full: bool,
    /// In packets on the wire: bytes a second.
    pacing: f64,
    seen_rtt: bool,
    phase: Phase,
    conserve: bool,
    idle_restart: bool,
    policer: Policer,
    aggregation: Aggregation,
    /// Delivered since the start, and when the last was.
    delivered: u64,
    delivered_at: Instant,
    random: Stream,
}

impl Bbr {
    /// At the initial window, in Startup.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        let mss = p.mss.get().max(1);
        let limit = p.window_limit.map_or(u64::MAX, |limit| limit.get().max(mss));
        let mut bbr = Self {
            mss,
            limit,
            cwnd: (p.initial_window.get().max(1) * mss).min(limit),
            prior_cwnd: 0,
            ssthresh: u64::MAX,
            mode: Mode::Startup,
            bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS),
            min_rtt: None,
            round_end: 0,
            rounds: 0,
            round_start: false,
            full_bandwidth: 0.0,
            full_count: 0,
            full: false,
            pacing: 0.0,
            seen_rtt: false,
            phase: Phase::Open,
            conserve: false,
            idle_restart: false,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            delivered: 0,
            delivered_at: Instant::ZERO,
            random: Stream::new(p.seed, 0, "bbr"),
        };
        bbr.pacing = bbr.first_pacing(FIRST_RTT);
        bbr
    }

    // The model's numbers.

    /// The bandwidth that everything is set by: a policer's where one was found.
    fn bandwidth(&self) -> f64 {
        self.policer.rate().unwrap_or(self.bandwidth.get())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw { phase, .. } if self.policer.rate().is_none() => CYCLE[phase % CYCLE.len()],
            Mode::ProbeBw { .. } | Mode::ProbeRtt { .. } => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw { .. } => CWND_GAIN,
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    /// Payload at `bandwidth` in packets on the wire.
    fn pacing_for(&self, bandwidth: f64, gain: f64) -> f64 {
        let wire = (self.mss + DATA_HEADER.get()) as f64 / self.mss as f64;
        bandwidth * wire * gain * PACING_MARGIN
    }

    /// Before there is a bandwidth: the window in an RTT, at Startup's gain.
    fn first_pacing(&self, rtt: Span) -> f64 {
        self.pacing_for(self.cwnd as f64 / rtt.seconds(), HIGH_GAIN)
    }

    /// Segments of Linux's offload burst at the present rate.
    fn burst_segments(&self) -> u64 {
        let least = if self.pacing < MIN_TSO_RATE { 1 } else { 2 };
        let bytes = (self.pacing / 1024.0).min(MAX_BURST) as u64;
        (bytes / self.mss).clamp(least, 127)
    }

    /// `gain` bandwidth-delay products, in whole segments.
    fn bdp_segments(&self, bandwidth: f64, gain: f64) -> u64 {
        match self.min_rtt {
            Some((rtt, _)) => libm::ceil(bandwidth * rtt.seconds() * gain / self.mss as f64) as u64,
            None => INITIAL_SEGMENTS,
        }
    }

    /// Room for bursts on top of a target: one being sent, one at the receiver's aggregation, one being acknowledged;
    /// even, for receivers that acknowledge every second segment.
    fn budget(&self, segments: u64) -> u64 {
        let even = (segments + 3 * self.burst_segments()).next_multiple_of(2);
        // Where a small window would otherwise not let the phase of growth have more in flight.
        even + if matches!(self.mode, Mode::ProbeBw { phase: 0, .. }) { 2 } else { 0 }
    }

    /// In bytes: `gain` bandwidth-delay products with room for bursts.
    fn inflight(&self, bandwidth: f64, gain: f64) -> u64 {
        self.budget(self.bdp_segments(bandwidth, gain)) * self.mss
    }

    // The model's changes, in the order of an acknowledgement.

    fn update_bandwidth(&mut self, ack: &AckEvent) {
        self.round_start = false;
        let Some(sample) = ack.delivery.rate else { return };
        if sample.prior_delivered.get() >= self.round_end {
            self.round_end = self.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserve = false;
        }
        self.watch_for_policer(ack.lost > Bytes::ZERO, ack.total_lost.get(), sample.app_limited);
        let bandwidth = sample.delivered.get() as f64 / sample.interval.seconds();
        // An application's pause is no sign of less bandwidth.
        if !sample.app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.update(self.rounds, bandwidth);
        }
    }

    fn watch_for_policer(&mut self, losses: bool, total_lost: u64, app_limited: bool) {
        let over = self.policer.observe(&Sight {
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            total_lost,
            losses,
            app_limited,
            round_start: self.round_start,
            probing: matches!(self.mode, Mode::ProbeBw { .. }),
        });
        if over {
            self.enter_probe_bw();
        }
    }

    fn update_aggregation(&mut self, ack: &AckEvent) {
        let acked = ack.newly_delivered().get();
        if acked > 0 && ack.delivery.rate.is_some() {
            let bandwidth = self.bandwidth();
            self.aggregation.update(self.delivered_at, acked, bandwidth, self.round_start, self.cwnd, self.mss);
        }
    }

    /// What will be in the network when the next segment departs, in bytes, of which this much is in flight now. While the sender
    /// asks for more, the burst that departs then is counted.
    fn in_network(&self, ack: &AckEvent, in_flight: Bytes, gain: f64) -> u64 {
        let burst = if gain > 1.0 { self.burst_segments() * self.mss } else { 0 };
        let delivered = (self.bandwidth() * ack.delivery.departs_in.seconds()) as u64 / self.mss * self.mss;
        (in_flight.get() + burst).saturating_sub(delivered)
    }

    fn update_cycle(&mut self, ack: &AckEvent) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let full_length = self.min_rtt.is_some_and(|(rtt, _)| self.delivered_at.since(since) > rtt);
        let gain = self.pacing_gain();
        let bandwidth = self.bandwidth.get();
        let in_flight = self.in_network(ack, ack.prior_in_flight, gain);
        let over = if gain > 1.0 {
            // Until what it asks for is in flight, unless a buffer is too small for that.
            let reached = in_flight >= self.inflight(bandwidth, gain);
            full_length && (ack.lost > Bytes::ZERO || reached)
        } else if gain < 1.0 {
            // Until the queue is gone.
            full_length || in_flight <= self.inflight(bandwidth, 1.0)
        } else {
            full_length
        };
        if over {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: self.delivered_at };
        }
    }

    fn check_full(&mut self, ack: &AckEvent) {
        if self.full || !self.round_start || ack.delivery.rate.is_none_or(|sample| sample.app_limited) {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= self.full_bandwidth * FULL_THRESHOLD {
            self.full_bandwidth = bandwidth;
            self.full_count = 0;
            return;
        }
        self.full_count += 1;
        self.full = self.full_count >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, ack: &AckEvent) {
        let target = self.inflight(self.bandwidth.get(), 1.0);
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.ssthresh = target;
        }
        if self.mode == Mode::Drain && self.in_network(ack, ack.in_flight, DRAIN_GAIN) <= target {
            self.enter_probe_bw();
        }
    }

    fn update_min_rtt(&mut self, ack: &AckEvent) {
        let now = ack.now;
        let expired = self.min_rtt.is_some_and(|(_, at)| now.since(at) > MIN_RTT_WINDOW);
        if let Some(rtt) = ack.rtt.sample {
            if self.min_rtt.is_none_or(|(min, _)| rtt < min) || (expired && !self.maybe_delayed(ack)) {
                self.min_rtt = Some((rtt, now));
            }
        }
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.mode = Mode::ProbeRtt { hold: None };
            // After the mode, as in Linux: the larger of this window and the last one saved comes back.
            self.save_cwnd();
        }
        if let Mode::ProbeRtt { hold } = self.mode {
            match hold {
                None if ack.in_flight.get() <= MIN_SEGMENTS * self.mss => {
                    self.mode = Mode::ProbeRtt { hold: Some((now + PROBE_RTT_TIME, false)) };
                    self.round_end = self.delivered;
                }
                None => {}
                Some((until, round_over)) => {
                    let round_over = round_over || self.round_start;
                    self.mode = Mode::ProbeRtt { hold: Some((until, round_over)) };
                    if round_over {
                        self.leave_probe_rtt(now);
                    }
                }
            }
        }
        if ack.delivery.rate.is_some_and(|sample| sample.delivered > Bytes::ZERO) {
            self.idle_restart = false;
        }
    }

    /// A lone short segment, whose acknowledgement the receiver may have delayed.
    fn maybe_delayed(&self, ack: &AckEvent) -> bool {
        let alone =
            ack.delivery.rate.is_some_and(|sample| sample.prior_delivered + ack.acked.bytes == ack.delivery.total);
        alone && ack.acked.packets.get() == 1 && ack.acked.bytes.get() < self.mss
    }

    // Transitions.

    fn enter_probe_bw(&mut self) {
        // Any phase but the second: there is no queue of its own to drain yet.
        let phase = (CYCLE.len() - self.random.below(CYCLE.len() as u64 - 1) as usize) % CYCLE.len();
        self.mode = Mode::ProbeBw { phase, since: self.delivered_at };
    }

    fn leave_probe_rtt(&mut self, now: Instant) {
        let Mode::ProbeRtt { hold: Some((until, _)) } = self.mode else { return };
        if now <= until {
            return;
        }
        if let Some((_, at)) = &mut self.min_rtt {
            *at = now;
        }
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full {
            self.enter_probe_bw();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save_cwnd(&mut self) {
        // Within an episode the window is already reduced.
        let fresh = self.phase < Phase::Recovery && !matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if fresh { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    // What follows from the model.

    fn set_pacing(&mut self, srtt: Span, gain: f64) {
        if !self.seen_rtt && !srtt.is_zero() {
            self.seen_rtt = true;
            self.pacing = self.first_pacing(srtt);
        }
        let rate = self.pacing_for(self.bandwidth(), gain);
        // Startup never slows down.
        if self.full || rate > self.pacing {
            self.pacing = rate;
        }
    }

    fn set_window(&mut self, ack: &AckEvent) {
        let acked = ack.newly_delivered().get();
        if acked > 0 && !self.recover(ack, acked) {
            let mut target = self.bdp_segments(self.bandwidth(), self.cwnd_gain());
            if self.full {
                target += self.aggregation.allowance(self.bandwidth()) / self.mss;
            }
            let target = self.budget(target) * self.mss;
            if self.full {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || self.delivered < INITIAL_SEGMENTS * self.mss {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(MIN_SEGMENTS * self.mss);
        }
        self.cwnd = self.cwnd.min(self.limit);
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(MIN_SEGMENTS * self.mss);
        }
    }

    /// The window on the way into and out of an episode; true while packets are conserved.
    fn recover(&mut self, ack: &AckEvent, acked: u64) -> bool {
        self.cwnd = self.cwnd.saturating_sub(ack.lost.get()).max(self.mss);
        let sending = ack.in_flight.get() + acked;
        if ack.phase == Phase::Recovery && self.phase != Phase::Recovery {
            self.conserve = true;
            self.round_end = self.delivered;
            self.cwnd = sending;
        } else if self.phase >= Phase::Recovery && ack.phase < Phase::Recovery {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.conserve = false;
        }
        self.phase = ack.phase;
        if self.conserve {
            self.cwnd = self.cwnd.max(sending);
        }
        self.conserve
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.delivered = ack.delivery.total.get();
        if ack.newly_delivered() > Bytes::ZERO {
            self.delivered_at = ack.now;
        }
        self.update_bandwidth(ack);
        self.update_aggregation(ack);
        self.update_cycle(ack);
        self.check_full(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.set_pacing(ack.rtt.smoothed, self.pacing_gain());
        self.set_window(ack);
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {
        self.save_cwnd();
    }

    fn on_rto(&mut self, _now: Instant, total_lost: Bytes) {
        self.phase = Phase::Loss;
        self.full_bandwidth = 0.0;
        self.round_start = true;
        self.watch_for_policer(true, total_lost.get(), false);
        self.cwnd = self.mss;
    }

    fn on_undo(&mut self) {
        self.full_bandwidth = 0.0;
        self.full_count = 0;
        self.policer = Policer::default();
    }

    fn on_established(&mut self, now: Instant, rtt: Option<Span>) {
        let rtt = rtt.filter(|rtt| !rtt.is_zero());
        self.min_rtt = rtt.map(|rtt| (rtt, now));
        self.seen_rtt = rtt.is_some();
        self.pacing = self.first_pacing(rtt.unwrap_or(FIRST_RTT));
    }

    fn on_restart(&mut self, now: Instant, _idle: Span, app_limited: bool) {
        if !app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            // No burst at a gain after silence.
            Mode::ProbeBw { .. } => self.set_pacing(Span::ZERO, 1.0),
            Mode::ProbeRtt { .. } => self.leave_probe_rtt(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    window_in_bytes!();

    fn pacing_burst(&self) -> u64 {
        self.burst_segments()
    }

    fn reads_rates(&self) -> bool {
        true
    }

    fn paces(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(BitRate::from_bit_s(((self.pacing * 8.0) as u64).max(1)))
    }

    fn controls_recovery(&self) -> bool {
        true
    }

    fn disowns_samples(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt { .. })
    }

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        // 0 Startup, 1 Drain, 2 ProbeBw, 3 ProbeRtt.
        let mode = match self.mode {
            Mode::Startup => 0.0,
            Mode::Drain => 1.0,
            Mode::ProbeBw { .. } => 2.0,
            Mode::ProbeRtt { .. } => 3.0,
        };
        see("mode", mode);
        see("bandwidth_bit_s", self.bandwidth() * 8.0);
        see("min_rtt_s", self.min_rtt.map_or(0.0, |(rtt, _)| rtt.seconds()));
        see("pacing_gain", self.pacing_gain());
        see("pacing_bit_s", self.pacing * 8.0);
        see("extra_acked_bytes", self.aggregation.extra() as f64);
        see("long_term", f64::from(u8::from(self.policer.rate().is_some())));
    }
}
