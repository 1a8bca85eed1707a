//! The four states of ProbeBW, and the long-term bound that probes learn.
//!
//! Text: draft-ietf-ccwg-bbr, "ProbeBW Algorithm Details", "Design Considerations for Choosing Constant Parameters" and
//! "Probing for Bandwidth In ProbeBW".

use super::model::{Sample, BETA, UNBOUNDED};
use super::state::{AckPhase, Bbr3, State};
use crate::congestion::AckEvent;
use sojourn_aqm::Random;
use sojourn_units::{Instant, Span};

/// Share of `inflight_longterm` that is left to others (`Headroom`).
const HEADROOM: f64 = 0.15;
/// Shortest time between probes; a random second more.
const PROBE_WAIT: Span = Span::from_secs(2);
/// Most rounds between probes.
const RENO_ROUNDS: u64 = 63;
/// Doublings of the slope of `inflight_longterm` at the most.
const STEEPEST: u32 = 30;

impl Bbr3 {
    /// `StartProbeBW_DOWN`, with `PickProbeWait`.
    pub(super) fn start_down(&mut self, now: Instant) {
        self.model.reset_signals();
        self.cycle.acked_per_increment = UNBOUNDED;
        self.cycle.rounds_since_up = self.random.below(2) as u32;
        self.cycle.wait = PROBE_WAIT + Span::from_nanos(self.random.below(1_000_000_000));
        self.cycle.since = now;
        self.cycle.stop_probing();
        self.model.start_round();
        self.state = State::Down;
    }

    /// `StartProbeBW_REFILL`.
    fn start_refill(&mut self) {
        self.model.reset_short_term();
        (self.cycle.up_rounds, self.cycle.up_acked) = (0, 0);
        self.cycle.was_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.model.start_round();
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, sample: &Sample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round();
        self.model.full.reset(sample.rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, ack: &AckEvent, sample: &Sample) {
        if !self.model.full.reached || self.adapt_long_term(ack, sample) {
            return;
        }
        match self.state {
            State::Down => {
                if !self.probe_if_time(ack.now) && self.is_time_to_cruise(ack.in_flight.get()) {
                    self.state = State::Cruise;
                }
            }
            State::Cruise => _ = self.probe_if_time(ack.now),
            State::Refill => {
                if self.model.round_start {
                    self.cycle.is_probe_sample = true;
                    self.start_up(sample);
                }
            }
            State::Up => {
                if self.is_time_to_go_down(ack, sample) {
                    self.cycle.was_too_high = false;
                    self.start_down(ack.now);
                }
            }
            State::Startup | State::Drain { .. } | State::ProbeRtt { .. } => {}
        }
    }

    /// `IsTimeToProbeBW`.
    fn probe_if_time(&mut self, now: Instant) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss).min(RENO_ROUNDS);
        let due = now.since(self.cycle.since) > self.cycle.wait || u64::from(self.cycle.rounds_since_up) >= reno_rounds;
        if due {
            self.start_refill();
        }
        due
    }

    /// `InflightWithHeadroom`.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        let most = self.model.inflight_longterm;
        if most == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = ((HEADROOM * most as f64) as u64).max(self.mss);
        most.saturating_sub(headroom).max(self.min_pipe())
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, in_flight: u64) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.model.max_bw(), 1.0)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, ack: &AckEvent, sample: &Sample) -> bool {
        if self.cycle.was_too_high && ack.in_flight.get() >= self.model.inflight_longterm {
            self.cycle.was_precautionary = true;
            // The draft clears the flag on the way down, and the probe that follows is not one of caution.
            return true;
        }
        if ack.cwnd_limited && self.cwnd >= self.model.inflight_longterm {
            self.model.full.reset(sample.rate);
            return false;
        }
        self.model.full.now
    }

    /// `RaiseInflightLongtermSlope`.
    fn raise_slope(&mut self) {
        let growth = 1_u64 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(STEEPEST);
        self.cycle.acked_per_increment = (self.cwnd / growth).max(self.mss);
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_upward(&mut self, ack: &AckEvent, sample: &Sample) {
        if !ack.cwnd_limited || self.cwnd < self.model.inflight_longterm {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.up_acked += sample.newly_acked;
        let steps = cycle.up_acked / cycle.acked_per_increment;
        cycle.up_acked -= steps * cycle.acked_per_increment;
        self.model.inflight_longterm += steps * self.mss;
        if self.model.round_start {
            self.raise_slope();
        }
    }

    /// `AdaptLongTermModel`; true when it has decided on a state.
    fn adapt_long_term(&mut self, ack: &AckEvent, sample: &Sample) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.model.round_start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.model.round_start {
            self.cycle.is_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !sample.app_limited {
                self.model.advance_max_bw();
            }
            if self.state.is_probe_bw() && self.cycle.was_precautionary && !self.cycle.was_too_high {
                self.start_refill();
                return true;
            }
        }
        if sample.is_too_high() || self.model.inflight_longterm == UNBOUNDED {
            return false;
        }
        self.model.inflight_longterm = self.model.inflight_longterm.max(sample.tx_in_flight);
        if self.state == State::Up {
            self.probe_upward(ack, sample);
        }
        false
    }

    /// `HandleInflightTooHigh`.
    pub(super) fn handle_inflight_too_high(&mut self, now: Instant, sample: &Sample) {
        self.cycle.was_too_high = true;
        self.cycle.is_probe_sample = false;
        if !sample.app_limited {
            let least = (self.target_inflight() as f64 * BETA) as u64;
            self.model.inflight_longterm = sample.tx_in_flight.max(least);
        }
        if self.state == State::Up {
            self.start_down(now);
        }
    }
}
