//! What is believed of the path: rounds, bandwidth, smallest RTT, aggregation, and what losses leave of it.
//!
//! Text: draft-ietf-ccwg-bbr, "Updating Network Path Model Parameters" and "Updating the Model Upon Packet Loss".

use crate::congestion::AckEvent;
use sojourn_units::{Instant, Span};

/// No bound.
pub(super) const UNBOUNDED: u64 = u64::MAX;
/// Share of what was in flight whose loss is too much (`LossThresh`).
const LOSS_THRESH: f64 = 0.02;
/// What a round with losses leaves of the short-term model (`Beta`).
pub(super) const BETA: f64 = 0.7;
/// Time over which the smallest RTT counts (`MinRTTFilterLen`).
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Time after which it is looked for (`ProbeRTTInterval`).
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
/// Growth that says that a probe goes on.
const FULL_GROWTH: f64 = 1.25;
/// Rounds without it that end one.
const FULL_ROUNDS: u32 = 3;
/// Rounds over which the largest aggregation counts (`ExtraAckedFilterLen`).
const AGGREGATION_ROUNDS: usize = 10;

/// `RS`: what an acknowledgement says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// `delivery_rate`; 0 where there is none.
    pub rate: f64,
    /// `delivered`, in the time of the sample.
    pub delivered: u64,
    /// `P.delivered`, of the packet that gave it.
    pub prior_delivered: Option<u64>,
    pub app_limited: bool,
    pub tx_in_flight: u64,
    pub lost: u64,
    pub newly_acked: u64,
    /// `C.delivered`.
    pub delivered_total: u64,
}

impl Sample {
    pub fn of(ack: &AckEvent) -> Self {
        let newly_acked = ack.newly_delivered().get();
        let none = Self {
            rate: 0.0,
            delivered: 0,
            prior_delivered: None,
            app_limited: ack.delivery.app_limited,
            tx_in_flight: 0,
            lost: 0,
            newly_acked,
            delivered_total: ack.delivery.total.get(),
        };
        ack.delivery.rate.map_or(none, |rate| Self {
            rate: rate.delivered.get() as f64 / rate.interval.seconds(),
            delivered: rate.delivered.get(),
            prior_delivered: Some(rate.prior_delivered.get()),
            app_limited: rate.app_limited,
            tx_in_flight: rate.tx_in_flight.get(),
            lost: rate.lost.get(),
            ..none
        })
    }

    /// `IsInflightTooHigh`.
    pub fn is_too_high(&self) -> bool {
        self.lost as f64 > self.tx_in_flight as f64 * LOSS_THRESH
    }

    /// `InflightAtLoss`, where the last `size` bytes lost made it too high.
    pub fn inflight_at_loss(&self, size: u64) -> u64 {
        let inflight_prev = self.tx_in_flight.saturating_sub(size) as f64;
        let lost_prev = self.lost.saturating_sub(size) as f64;
        let lost_prefix = (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH);
        (inflight_prev + lost_prefix).max(0.0) as u64
    }
}

/// The full pipe estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// `full_bw_reached`: ever.
    pub reached: bool,
    /// `full_bw_now`: since it was reset.
    pub now: bool,
    pub bw: f64,
    count: u32,
}

impl FullPipe {
    /// `ResetFullBW`, with the bandwidth to compare with.
    pub fn reset(&mut self, bw: f64) {
        *self = Self { bw, count: 0, now: false, ..*self };
    }
}

/// `extra_acked`: what was acknowledged beyond what the bandwidth explains.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    since: Instant,
    delivered: u64,
    /// The largest of each of the last rounds, in a ring.
    rounds: [u64; AGGREGATION_ROUNDS],
    at: usize,
}

impl Aggregation {
    /// The application has paused.
    pub fn restart(&mut self, now: Instant) {
        self.since = now;
    }

    /// Of ten rounds, or of the present one before the pipe is full.
    pub fn most(&self, full: bool) -> u64 {
        if full {
            self.rounds.iter().copied().max().unwrap_or(0)
        } else {
            self.rounds[self.at]
        }
    }
}

/// The model.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// `C.delivered`.
    pub delivered: u64,
    next_round_delivered: u64,
    pub round_count: u32,
    pub round_start: bool,
    /// Largest bandwidth of the present cycle and of the one before (`max_bw_filter`).
    bandwidths: [f64; 2],
    pub full: FullPipe,
    min_rtt: Option<(Span, Instant)>,
    probe_rtt_min: Option<(Span, Instant)>,
    pub probe_rtt_expired: bool,
    pub aggregation: Aggregation,
    pub loss_round_delivered: u64,
    pub loss_round_start: bool,
    pub is_loss_in_round: bool,
    bw_latest: f64,
    pub inflight_latest: u64,
    bw_shortterm: f64,
    pub inflight_shortterm: u64,
    pub inflight_longterm: u64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            delivered: 0,
            next_round_delivered: 0,
            round_count: 0,
            round_start: false,
            bandwidths: [0.0; 2],
            full: FullPipe::default(),
            min_rtt: None,
            probe_rtt_min: None,
            probe_rtt_expired: false,
            aggregation: Aggregation::default(),
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            bw_latest: 0.0,
            inflight_latest: 0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: UNBOUNDED,
            inflight_longterm: UNBOUNDED,
        }
    }
}

impl Model {
    pub fn max_bw(&self) -> f64 {
        self.bandwidths[0].max(self.bandwidths[1])
    }

    /// `BoundBWForModel`.
    pub fn bw(&self) -> f64 {
        self.max_bw().min(self.bw_shortterm)
    }

    pub fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }

    /// `StartRound`.
    pub fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// `UpdateLatestDeliverySignals`.
    pub fn update_latest(&mut self, sample: &Sample) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        if sample.prior_delivered.is_some_and(|prior| prior >= self.loss_round_delivered) {
            self.loss_round_delivered = self.delivered;
            self.loss_round_start = true;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub fn advance_latest(&mut self, sample: &Sample) {
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (sample.rate, sample.delivered);
        }
    }

    /// `ResetCongestionSignals`.
    pub fn reset_signals(&mut self) {
        (self.is_loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0);
    }

    /// `UpdateMaxBw` with `UpdateRound`.
    pub fn update_max_bw(&mut self, sample: &Sample) {
        self.round_start = sample.prior_delivered.is_some_and(|prior| prior >= self.next_round_delivered);
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            let aggregation = &mut self.aggregation;
            aggregation.at = (aggregation.at + 1) % AGGREGATION_ROUNDS;
            aggregation.rounds[aggregation.at] = 0;
        }
        if sample.rate > 0.0 && (!sample.app_limited || sample.rate >= self.max_bw()) {
            self.bandwidths[0] = self.bandwidths[0].max(sample.rate);
        }
    }

    /// `AdvanceMaxBwFilter`.
    pub fn advance_max_bw(&mut self) {
        self.bandwidths = [0.0, self.bandwidths[0]];
    }

    /// `AdaptLowerBoundsFromCongestion`, once a round with losses.
    pub fn adapt_to_losses(&mut self, probing: bool, cwnd: u64) {
        if !self.loss_round_start {
            return;
        }
        if self.is_loss_in_round && !probing {
            if self.bw_shortterm.is_infinite() {
                self.bw_shortterm = self.max_bw();
            }
            if self.inflight_shortterm == UNBOUNDED {
                self.inflight_shortterm = cwnd;
            }
            self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
            self.inflight_shortterm = self.inflight_latest.max((BETA * self.inflight_shortterm as f64) as u64);
        }
        self.is_loss_in_round = false;
    }

    /// `ResetShortTermModel`.
    pub fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, UNBOUNDED);
    }

    /// `UpdateACKAggregation`.
    pub fn update_aggregation(&mut self, now: Instant, sample: &Sample, cwnd: u64) {
        let bw = self.bw();
        let aggregation = &mut self.aggregation;
        let mut expected = (bw * now.since(aggregation.since).seconds()) as u64;
        if aggregation.delivered <= expected {
            (aggregation.delivered, aggregation.since, expected) = (0, now, 0);
        }
        aggregation.delivered += sample.newly_acked;
        let extra = (aggregation.delivered - expected).min(cwnd);
        let most = &mut aggregation.rounds[aggregation.at];
        *most = (*most).max(extra);
    }

    /// `CheckFullBWReached`.
    pub fn check_full(&mut self, sample: &Sample) {
        let full = &mut self.full;
        if full.now || !self.round_start || sample.app_limited {
            return;
        }
        if sample.rate >= full.bw * FULL_GROWTH {
            full.reset(sample.rate);
            return;
        }
        full.count += 1;
        full.now = full.count >= FULL_ROUNDS;
        full.reached |= full.now;
    }

    /// `UpdateMinRTT`.
    pub fn update_min_rtt(&mut self, now: Instant, rtt: Option<Span>) {
        let expired = |seen: Option<(Span, Instant)>, after| seen.is_some_and(|(_, at)| now.since(at) > after);
        self.probe_rtt_expired = expired(self.probe_rtt_min, PROBE_RTT_INTERVAL);
        if let Some(rtt) = rtt {
            if self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|(least, _)| rtt < least) {
                self.probe_rtt_min = Some((rtt, now));
            }
        }
        let Some((least, at)) = self.probe_rtt_min else { return };
        if expired(self.min_rtt, MIN_RTT_WINDOW) || self.min_rtt.is_none_or(|(rtt, _)| least < rtt) {
            self.min_rtt = Some((least, at));
        }
    }

    /// The next ProbeRTT is due an interval from now.
    pub fn probe_rtt_seen(&mut self, now: Instant) {
        if let Some((_, at)) = &mut self.probe_rtt_min {
            *at = now;
        }
    }

    pub fn internals(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("max_bandwidth_bit_s", self.max_bw() * 8.0);
        see("bandwidth_bit_s", self.bw() * 8.0);
        see("min_rtt_s", self.min_rtt().map_or(0.0, |rtt| rtt.seconds()));
        see("round_count", f64::from(self.round_count));
        let bound = |bytes: u64| if bytes == UNBOUNDED { f64::INFINITY } else { bytes as f64 };
        see("inflight_longterm_bytes", bound(self.inflight_longterm));
        see("inflight_shortterm_bytes", bound(self.inflight_shortterm));
    }
}
