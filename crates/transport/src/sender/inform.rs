//! What congestion control is told of an acknowledgement, and the window that it answers with.

use super::accecn::Reported;
use super::core::Core;
use super::progress::Progress;
use super::recovery::Strategy;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::window::Usage;
use crate::congestion::{self, AckEvent, Amount, CongestionControl, Delivery, Phase, Rtt};
use crate::segment::Ack;
use sojourn_units::{Bytes, Instant, Packets, Span};

/// An acknowledgement as its parts see it.
pub(super) struct AckInfo<'a> {
    pub now: Instant,
    pub ack: &'a Ack,
    /// The cumulative acknowledgement has advanced.
    pub advanced: bool,
    /// What goes with an advance, which the recovery does not take for a duplicate alone.
    pub advances: bool,
    /// In flight before it.
    pub prior_in_flight: u64,
    /// It ends the time after a timeout, which lasted up to here.
    pub timeout_over: Option<u64>,
    /// What it newly says of marks.
    pub marked: Reported,
}

/// What an [`AckEvent`] is put together from, each part when it is read.
struct EventParts<'a> {
    info: &'a AckInfo<'a>,
    progress: &'a Progress,
    board: &'a Scoreboard,
    usage: &'a Usage,
    estimate: &'a RttEstimator,
    /// Of the segment sent last among those that it reports.
    rtt: Option<Span>,
    /// It has a timestamp.
    stamped: bool,
    delivery: Delivery,
    total_lost: u64,
    phase: Phase,
    cwnd: u64,
    may_grow: bool,
}

#[inline(always)]
fn amount(packets: u64, bytes: u64) -> Amount {
    Amount { packets: Packets::new(packets), bytes: Bytes::new(bytes) }
}

impl congestion::EventSource for EventParts<'_> {
    #[inline(always)]
    fn event(&self, ssthresh: Bytes) -> AckEvent {
        let Self { info, progress, board, estimate, .. } = self;
        AckEvent {
            now: info.now,
            acked: amount(progress.acked_packets, progress.acked),
            sacked: amount(progress.sacked_packets, progress.sacked),
            ce: amount(info.marked.packets, info.marked.bytes),
            rtt: Rtt {
                sample: self.rtt,
                min: estimate.min,
                smoothed: estimate.srtt(),
                one_way: self.stamped.then(|| info.ack.received_at.since(info.ack.echo)),
            },
            delivery: self.delivery,
            in_flight: Bytes::new(board.pipe()),
            prior_in_flight: Bytes::new(info.prior_in_flight),
            lost: Bytes::new(progress.lost),
            total_lost: Bytes::new(self.total_lost),
            phase: self.phase,
            cwnd: Bytes::new(self.cwnd),
            timeout_over: info.timeout_over,
            una: board.una,
            next: board.next,
            may_grow: self.may_grow,
            cwnd_limited: self.usage.is_limited(self.cwnd, ssthresh.get()),
        }
    }
}

impl<R: Strategy> Core<R> {
    /// Congestion control sees an expected acknowledgement: outside an episode, without samples of the delivery rate.
    #[inline(always)]
    pub fn grow(&mut self, now: Instant, ack: &Ack, progress: &Progress, rtt: Span, prior_in_flight: u64) {
        let (timeout_over, marked) = (None, Reported::default());
        let info = AckInfo { now, ack, advanced: true, advances: true, prior_in_flight, timeout_over, marked };
        let parts = EventParts {
            info: &info,
            progress,
            board: &self.board,
            usage: &self.usage,
            estimate: &self.rtt,
            rtt: Some(rtt),
            stamped: self.config.timestamps,
            delivery: Delivery::default(),
            total_lost: self.total_lost,
            phase: Phase::Open,
            cwnd: self.cwnd,
            may_grow: true,
        };
        self.cwnd = self.congestion.answer(&parts, &mut self.stats.ecn_reductions).get();
    }

    /// Congestion control sees what has happened, and the window follows it.
    #[inline(always)]
    pub fn inform_congestion_control(&mut self, info: &AckInfo<'_>, progress: &Progress, rtt: Option<Span>) {
        if !(info.advanced || progress.delivered() > 0 || info.marked.packets > 0 || info.ack.ece) {
            return;
        }
        let is_reducing = self.state.is_reducing();
        let delivery = self.delivery(info.now);
        let parts = EventParts {
            info,
            progress,
            board: &self.board,
            usage: &self.usage,
            estimate: &self.rtt,
            rtt,
            stamped: self.config.timestamps,
            delivery,
            total_lost: self.total_lost,
            phase: self.state.phase(),
            cwnd: self.cwnd,
            may_grow: info.advances && !is_reducing,
        };
        let cwnd = self.congestion.answer(&parts, &mut self.stats.ecn_reductions);
        if self.pacing.wanted {
            self.set_pacing();
        }
        if let Some(rate) = &mut self.rate {
            if self.congestion.disowns_samples() {
                rate.on_app_limited(self.board.pipe());
            }
        }
        if !is_reducing || self.congestion.controls_recovery() {
            self.cwnd = cwnd.get();
        }
    }

    #[inline(always)]
    fn delivery(&mut self, now: Instant) -> Delivery {
        let Some(sampler) = &mut self.rate else { return Delivery::default() };
        let rate = sampler.finish(self.rtt.min, self.total_lost);
        let (total, app_limited) = (Bytes::new(sampler.delivered), sampler.is_app_limited());
        Delivery { rate, total, app_limited, departs_in: self.pacing.next.since(now) }
    }
}
