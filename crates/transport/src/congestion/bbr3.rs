//! BBR, version 3: a model of the path says how fast to send and how much, and losses bound what the model believes.
//!
//! Text: draft-ietf-ccwg-bbr as of August 2026, whose names the comments use; its appendix of test cases is tests/bbr3.rs. Law, `bw`
//! the smaller of the largest delivery rate of two probing cycles (`max_bw`) and of what losses left of it (`bw_shortterm`), and
//! `bdp = bw * min_rtt`:
//!
//! ```text
//!                 pacing gain  cwnd gain   until
//! Startup         2.77         2           three rounds without 25 % more, or a round of recovery with 2 % lost in six pieces
//! Drain           0.5          2           no more than bdp is in flight, or three rounds
//! ProbeBW Down    0.9          2           no more than bdp and 0.85 inflight_longterm is in flight, or it is time to probe
//!         Cruise  1            2           it is time to probe: 2 to 3 s, or as many rounds as Reno would take, at most 63
//!         Refill  1            2           one round; the short-term model is forgotten at its begin
//!         Up      1.25         2.25        three rounds without 25 % more, or 2 % lost, which sets inflight_longterm
//! ProbeRTT        1            0.5         200 ms and a round, when the smallest RTT of the last 5 s is that old
//! loss, each round, not in Startup, Refill or Up:  bw_shortterm, inflight_shortterm * 0.7, not below what was delivered
//! ```
//!
//! `model` holds what is believed of the path, `state` all state and its targets, `cycle` the four states of ProbeBW, and this file the others.
//!
//! Deviations: losses are judged once an acknowledgement, by the packet that it delivered last (the draft looks at each lost packet), and
//! the pieces lost in Startup are counted as acknowledgements that report a loss. A recovery that turns out to be spurious is not undone,
//! because the sender here does not tell. The draft does not answer marks, so they are ignored. Rates count payload, which is paced as
//! packets on the wire. Work: O(1).

mod cycle;
mod model;
mod state;

pub use state::Bbr3;

use super::window::window_in_bytes;
use super::{About, AckEvent, CongestionControl, CongestionEvent, Phase, Signal};
use model::{Sample, UNBOUNDED};
use sojourn_units::{BitRate, Bytes, Instant, Span};
use state::{State, FIRST_RTT, STARTUP_PACING_GAIN};

/// What the registry says of it.
pub const ABOUT: About = About { name: "bbr3", source: "BBR version 3 (draft-ietf-ccwg-bbr)" };

/// `DrainPacingGain`.
const DRAIN_PACING_GAIN: f64 = 0.5;
/// `DefaultCwndGain`.
const CWND_GAIN: f64 = 2.0;
/// In ProbeBW Up.
const UP_CWND_GAIN: f64 = 2.25;
/// `ProbeRTTCwndGain`.
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// Paced slower than the estimate by this (`PacingMarginPercent`).
const PACING_MARGIN: f64 = 0.99;
/// Rounds after which Drain ends whatever is in flight.
const DRAIN_ROUNDS: u32 = 3;
/// `ProbeRTTDuration`.
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// `BBRStartupFullLossCnt`.
const STARTUP_LOSSES: u32 = 6;

impl Bbr3 {
    // Gains.

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain { .. } => DRAIN_PACING_GAIN,
            State::Down => 0.9,
            State::Up => 1.25,
            State::Cruise | State::Refill | State::ProbeRtt { .. } => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt { .. } => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    /// `ProbeRTTCwnd`.
    fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(self.model.bw(), PROBE_RTT_CWND_GAIN).max(self.min_pipe())
    }

    // Per-loss steps.

    /// `HandleLostPacket`, for all that an acknowledgement reports.
    fn take_losses(&mut self, now: Instant, newly_lost: u64, sample: &mut Sample) {
        if newly_lost == 0 {
            return;
        }
        self.losses += 1;
        self.note_loss(sample.delivered_total);
        if self.cycle.is_probe_sample && sample.is_too_high() {
            sample.tx_in_flight = sample.inflight_at_loss(newly_lost);
            self.handle_inflight_too_high(now, sample);
        }
    }

    /// `NoteLoss`.
    fn note_loss(&mut self, delivered: u64) {
        if !self.model.is_loss_in_round {
            self.model.loss_round_delivered = delivered;
        }
        self.model.is_loss_in_round = true;
    }

    // Startup and Drain.

    /// `CheckStartupDone` with `CheckStartupHighLoss`.
    fn check_startup_done(&mut self, ack: &AckEvent, sample: &Sample) {
        if !self.model.full.reached && self.model.loss_round_start {
            let high = ack.phase == Phase::Recovery && self.losses >= STARTUP_LOSSES && sample.is_too_high();
            if high {
                self.model.full.reached = true;
                let bdp = self.bdp(self.model.max_bw(), 1.0);
                self.model.inflight_longterm = bdp.max(self.model.inflight_latest);
            }
        }
        if self.model.loss_round_start {
            self.losses = 0;
        }
        if self.state == State::Startup && self.model.full.reached {
            self.state = State::Drain { since: self.model.round_count };
        }
    }

    /// `CheckDrainDone`.
    fn check_drain_done(&mut self, ack: &AckEvent) {
        let State::Drain { since } = self.state else { return };
        let drained = ack.in_flight.get() <= self.inflight(self.model.bw(), 1.0);
        if drained || self.model.round_count > since + DRAIN_ROUNDS {
            self.start_down(ack.now);
        }
    }

    // ProbeRTT.

    /// `CheckProbeRTT`.
    fn check_probe_rtt(&mut self, ack: &AckEvent, sample: &Sample) {
        if !matches!(self.state, State::ProbeRtt { .. }) && self.model.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt { hold: None };
            self.cycle.stop_probing();
            self.model.start_round();
        }
        if let State::ProbeRtt { hold } = self.state {
            match hold {
                None if ack.in_flight.get() <= self.probe_rtt_cwnd() => {
                    self.state = State::ProbeRtt { hold: Some((ack.now + PROBE_RTT_TIME, false)) };
                    self.model.start_round();
                }
                None => {}
                Some((until, done)) => {
                    let done = done || self.model.round_start;
                    self.state = State::ProbeRtt { hold: Some((until, done)) };
                    if done {
                        self.check_probe_rtt_done(ack.now);
                    }
                }
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`.
    fn check_probe_rtt_done(&mut self, now: Instant) {
        let State::ProbeRtt { hold: Some((until, _)) } = self.state else { return };
        if now <= until {
            return;
        }
        self.model.probe_rtt_seen(now);
        self.restore_cwnd();
        self.model.reset_short_term();
        if self.model.full.reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    // The window before an episode.

    fn save_cwnd(&mut self) {
        let fresh = self.phase < Phase::Recovery && !matches!(self.state, State::ProbeRtt { .. });
        self.prior_cwnd = if fresh { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    // What follows from the model.

    /// `SetPacingRateWithGain`.
    fn set_pacing(&mut self, gain: f64) {
        let rate = self.pacing_for(self.model.bw(), gain) * PACING_MARGIN;
        if self.model.full.reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// `SetCwnd`.
    fn set_window(&mut self, newly_acked: u64) {
        let most = self.quantized(self.bdp(self.model.bw(), self.cwnd_gain()) + self.extra_acked());
        if self.model.full.reached {
            self.cwnd = (self.cwnd + newly_acked).min(most);
        } else if self.cwnd < most || self.model.delivered < self.initial_cwnd {
            self.cwnd += newly_acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe());
        if matches!(self.state, State::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.cap()).min(self.limit);
    }

    fn extra_acked(&self) -> u64 {
        self.model.aggregation.most(self.model.full.reached)
    }

    /// `BoundCwndForModel`.
    fn cap(&self) -> u64 {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.model.inflight_longterm,
            State::Cruise | State::ProbeRtt { .. } => self.inflight_with_headroom(),
            State::Startup | State::Drain { .. } => UNBOUNDED,
        };
        cap.min(self.model.inflight_shortterm).max(self.min_pipe())
    }

    /// The first RTT sets the rate where no handshake has.
    fn take_first_rtt(&mut self, srtt: Span) {
        if !self.seen_rtt && !srtt.is_zero() {
            self.seen_rtt = true;
            self.pacing = self.first_pacing(srtt);
        }
    }
}

impl CongestionControl for Bbr3 {
    /// `UpdateOnACK`.
    fn on_ack(&mut self, ack: &AckEvent) {
        let mut sample = Sample::of(ack);
        self.model.delivered = sample.delivered_total;
        if self.phase >= Phase::Recovery && ack.phase < Phase::Recovery {
            self.restore_cwnd();
        }
        self.phase = ack.phase;
        self.take_losses(ack.now, ack.lost.get(), &mut sample);
        self.model.update_latest(&sample);
        self.model.update_max_bw(&sample);
        if self.model.round_start {
            self.cycle.rounds_since_up += 1;
        }
        self.model.adapt_to_losses(self.state.is_probing(), self.cwnd);
        self.model.update_aggregation(ack.now, &sample, self.cwnd);
        self.model.check_full(&sample);
        self.check_startup_done(ack, &sample);
        self.check_drain_done(ack);
        self.update_cycle(ack, &sample);
        self.model.update_min_rtt(ack.now, ack.rtt.sample);
        self.check_probe_rtt(ack, &sample);
        self.model.advance_latest(&sample);
        self.take_first_rtt(ack.rtt.smoothed);
        self.set_pacing(self.pacing_gain());
        self.set_window(sample.newly_acked);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.signal != Signal::Ecn {
            self.save_cwnd();
        }
    }

    /// `OnEnterRTO`: what is left in flight is nothing.
    fn on_rto(&mut self, _now: Instant, _total_lost: Bytes) {
        self.save_cwnd();
        self.note_loss(self.model.delivered);
        self.phase = Phase::Loss;
        self.cwnd = self.mss;
    }

    fn on_established(&mut self, now: Instant, rtt: Option<Span>) {
        let rtt = rtt.filter(|rtt| !rtt.is_zero());
        self.seen_rtt = rtt.is_some();
        if let Some(rtt) = rtt {
            self.model.update_min_rtt(now, Some(rtt));
        }
        self.pacing = self.first_pacing(rtt.unwrap_or(FIRST_RTT));
    }

    /// `HandleRestartFromIdle`.
    fn on_restart(&mut self, now: Instant, _idle: Span, app_limited: bool) {
        if !app_limited {
            return;
        }
        self.idle_restart = true;
        self.model.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing(1.0);
        } else {
            self.check_probe_rtt_done(now);
        }
    }

    window_in_bytes!();

    fn pacing_burst(&self) -> u64 {
        self.quantum() / self.mss
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
        matches!(self.state, State::ProbeRtt { .. })
    }

    fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        // 0 Startup, 1 Drain, 2 to 5 ProbeBW Down, Cruise, Refill and Up, 6 ProbeRTT.
        let state = match self.state {
            State::Startup => 0.0,
            State::Drain { .. } => 1.0,
            State::Down => 2.0,
            State::Cruise => 3.0,
            State::Refill => 4.0,
            State::Up => 5.0,
            State::ProbeRtt { .. } => 6.0,
        };
        see("state", state);
        see("pacing_gain", self.pacing_gain());
        see("pacing_bit_s", self.pacing * 8.0);
        see("extra_acked_bytes", self.extra_acked() as f64);
        self.model.internals(see);
    }
}
