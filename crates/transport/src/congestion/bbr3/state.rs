//! The state of BBR version 3, and the targets that follow from its model of the path.

use super::model::{Model, UNBOUNDED};
use crate::congestion::{Parameters, Phase};
use crate::segment::DATA_HEADER;
use sojourn_random::Stream;
use sojourn_units::{Instant, Span};

/// `StartupPacingGain`: 4 ln 2.
pub(super) const STARTUP_PACING_GAIN: f64 = 2.77;
/// `MinPipeCwnd` in segments.
const MIN_PIPE_SEGMENTS: u64 = 4;
/// Stands for the RTT before the first sample.
pub(super) const FIRST_RTT: Span = Span::from_millis(1);
/// Longest `send_quantum` in time and in bytes.
const QUANTUM_TIME: f64 = 0.001;
const QUANTUM_MOST: f64 = 65_536.0;

/// `ack_phase`: what acknowledgements say of the probe.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of ProbeBW.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    /// `is_bw_probe_sample`.
    pub is_probe_sample: bool,
    /// `rounds_since_probe_up`.
    pub rounds_since_up: u32,
    /// `bw_probe_wait`.
    pub wait: Span,
    /// `cycle_stamp`.
    pub since: Instant,
    /// `bw_probe_up_rounds`, `bw_probe_up_acked` and `probe_up_acked_per_inc`.
    pub up_rounds: u32,
    pub up_acked: u64,
    pub acked_per_increment: u64,
    /// `prev_probe_too_high` and `prev_probe_precautionary`.
    pub was_too_high: bool,
    pub was_precautionary: bool,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            is_probe_sample: false,
            rounds_since_up: 0,
            wait: Span::ZERO,
            since: Instant::ZERO,
            up_rounds: 0,
            up_acked: 0,
            acked_per_increment: UNBOUNDED,
            was_too_high: false,
            was_precautionary: false,
        }
    }
}

impl Cycle {
    /// What is acknowledged from now on was not sent by a probe.
    pub fn stop_probing(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }
}

/// `BBR.state`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    Startup,
    Drain {
        /// `drain_start_round`.
        since: u32,
    },
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt {
        /// `probe_rtt_done_stamp` and `probe_rtt_round_done`, once little enough is in flight.
        hold: Option<(Instant, bool)>,
    },
}

impl State {
    /// `IsInAProbeBWState`.
    pub fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW`.
    pub fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// All state; data in bytes of payload, rates in bytes a second.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    pub(super) mss: u64,
    pub(super) limit: u64,
    pub(super) initial_cwnd: u64,
    pub(super) cwnd: u64,
    /// `prior_cwnd`: before the episode or ProbeRTT.
    pub(super) prior_cwnd: u64,
    pub(super) ssthresh: u64,
    pub(super) state: State,
    pub(super) model: Model,
    pub(super) cycle: Cycle,
    /// Of packets on the wire.
    pub(super) pacing: f64,
    pub(super) seen_rtt: bool,
    pub(super) phase: Phase,
    pub(super) idle_restart: bool,
    /// Acknowledgements of this round that reported a loss.
    pub(super) losses: u32,
    pub(super) random: Stream,
}

impl Bbr3 {
    /// At the initial window, in Startup.
    #[must_use]
    pub fn new(p: &Parameters) -> Self {
        let mss = p.mss.get().max(1);
        let limit = p.window_limit.map_or(u64::MAX, |limit| limit.get().max(mss));
        let cwnd = (p.initial_window.get().max(1) * mss).min(limit);
        let mut bbr = Self {
            mss,
            limit,
            initial_cwnd: cwnd,
            cwnd,
            prior_cwnd: 0,
            ssthresh: u64::MAX,
            state: State::Startup,
            model: Model::default(),
            cycle: Cycle::default(),
            pacing: 0.0,
            seen_rtt: false,
            phase: Phase::Open,
            idle_restart: false,
            losses: 0,
            random: Stream::new(p.seed, 0, "bbr3"),
        };
        bbr.pacing = bbr.first_pacing(FIRST_RTT);
        bbr
    }

    // Targets.

    pub(super) fn min_pipe(&self) -> u64 {
        MIN_PIPE_SEGMENTS * self.mss
    }

    /// `send_quantum`.
    pub(super) fn quantum(&self) -> u64 {
        let payload = self.pacing * self.mss as f64 / (self.mss + DATA_HEADER.get()) as f64;
        ((payload * QUANTUM_TIME).min(QUANTUM_MOST) as u64).max(2 * self.mss)
    }

    /// `BDPMultiple`, of a bandwidth.
    pub(super) fn bdp(&self, bandwidth: f64, gain: f64) -> u64 {
        self.model.min_rtt().map_or(self.initial_cwnd, |rtt| (bandwidth * rtt.seconds() * gain) as u64)
    }

    /// `QuantizationBudget`.
    pub(super) fn quantized(&self, inflight: u64) -> u64 {
        let cap = inflight.max(3 * self.quantum()).max(self.min_pipe());
        if self.state == State::Up {
            cap + 2 * self.mss
        } else {
            cap
        }
    }

    /// `Inflight`, of a bandwidth.
    pub(super) fn inflight(&self, bandwidth: f64, gain: f64) -> u64 {
        self.quantized(self.bdp(bandwidth, gain))
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp(self.model.bw(), 1.0).min(self.cwnd)
    }

    /// Payload at `bandwidth` in packets on the wire.
    pub(super) fn pacing_for(&self, bandwidth: f64, gain: f64) -> f64 {
        let wire = (self.mss + DATA_HEADER.get()) as f64 / self.mss as f64;
        bandwidth * wire * gain
    }

    /// `InitPacingRate`.
    pub(super) fn first_pacing(&self, rtt: Span) -> f64 {
        self.pacing_for(self.initial_cwnd as f64 / rtt.seconds(), STARTUP_PACING_GAIN)
    }
}
