//! What an acknowledgement or the timer means.

use super::scoreboard::{Progress, Seen, DUP_THRESH};
use super::window::Prr;
use super::{Recovery, RtoRule, Sender, SenderStats, State, WindowUnit};
use crate::transport::congestion::{AckEvent, CongestionEvent, Signal};
use crate::transport::ranges::Range;
use crate::transport::segment::{Ack, Control};
use sojourn_units::{Bytes, Instant, Packets, Span};

impl Sender {
    /// The retransmission timer; too early a call does nothing.
    pub fn on_timer(&mut self, now: Instant) {
        if self.early.is_some_and(|(at, _)| now >= at) {
            self.on_early_timer(now);
        }
        if now < self.rto_deadline {
            return;
        }
        if self.board.flight() == 0 {
            self.on_idle_timer(now);
            return;
        }
        let reduce = match self.state {
            State::Open => true,
            State::Reducing { .. } | State::Recovery { .. } => self.config.rto == RtoRule::Ns3,
            State::Loss { .. } => self.expiries == 0 || self.config.rto == RtoRule::Ns3,
        };
        if reduce {
            let event = CongestionEvent { now, signal: Signal::Timeout, in_flight: Bytes::new(self.board.pipe()) };
            self.congestion.on_congestion(&event);
        }
        let outstanding = self.board.pipe() + self.board.credit();
        self.board.mark_all_lost(self.rack_horizon(now));
        self.total_lost += outstanding.saturating_sub(self.board.pipe() + self.board.credit());
        (self.early, self.tail) = (None, None);
        self.congestion.on_rto(now, Bytes::new(self.total_lost));
        self.anonymous = 0;
        self.duplicates = 0;
        self.stats.timeouts += 1;
        self.expiries += 1;
        self.backoff += 1;
        self.force = true;
        self.next_paced = now;
        self.announce_reduction = true;
        self.reduced_at = Some(self.board.next);
        self.state = State::Loss { point: self.board.next };
        self.cwnd = self.congestion.cwnd().get();
        self.rto_deadline = now + self.rtt.rto(self.backoff);
        // The window is below `ssthresh` again, so what is noted at an acknowledgement would miss it.
        self.stats.left_slow_start.get_or_insert(now);
    }

    /// Notes the end of slow start and the window of the first second.
    #[inline]
    fn note_window(&mut self, now: Instant) {
        if self.stats.left_slow_start.is_none() && !self.in_slow_start() {
            self.stats.left_slow_start = Some(now);
        }
        if self.stats.first_sent.is_some_and(|first| now.since(first) <= SenderStats::FIRST) {
            self.stats.cwnd_after_second = Bytes::new(self.cwnd);
        }
    }

    /// An acknowledgement has arrived.
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) {
        if ack.control != Control::None && self.on_control(now, ack) {
            return;
        }
        let before = self.board.una;
        if ack.ack < before || ack.ack > self.board.next {
            return;
        }
        let advanced = ack.ack > before;
        let edge = ack.ack + u64::from(ack.window);
        self.receiver_edge = Some(self.receiver_edge.map_or(edge, |known| known.max(edge)));
        self.widest = self.widest.max(u64::from(ack.window));
        if self.probes > 0 {
            self.reopen();
        }

        let prior_in_flight = Bytes::new(self.board.pipe());
        let mut progress = Progress::default();
        if let Some(rack) = &self.rack {
            progress.seen = Seen {
                wanted: true,
                credible: Instant::from_nanos(now.nanos().saturating_sub(self.rtt.min.nanos())),
                highest: rack.highest,
                reordered: rack.reordered,
            };
        }
        if advanced {
            self.board.cumulative(ack.ack, now, &mut progress, &mut self.rate);
            self.stats.bytes_acked += Bytes::new(ack.ack.min(self.written) - before);
        }
        if !self.config.recovery.is_selective() {
            self.anonymous_duplicates(now, advanced, &mut progress);
        } else if ack.sack[0].len > 0 {
            for block in ack.sack.iter().take_while(|block| block.len > 0) {
                let start = ack.ack + u64::from(block.offset);
                let range = Range { start, end: start + u64::from(block.len) };
                self.board.sack(range, now, &mut progress, &mut self.rate);
            }
            if progress.sacked > 0 && self.rack.is_none() {
                self.board.judge(&mut progress);
            }
        }
        let duplicate = if self.is_ns3() { self.is_ns3_duplicate(&progress) } else { !advanced && progress.sacked > 0 };
        self.duplicates += u32::from(duplicate && self.config.recovery.is_selective());
        // What goes with an advance, unless ns-3 takes it for a duplicate alone.
        let advances = advanced && !duplicate;
        if advances {
            self.duplicates = 0;
        }
        let rtt = self.take_rtt(now, advanced, ack, &progress);
        if self.rack.is_some() && progress.delivered() > 0 {
            self.rack_on_ack(now, &mut progress);
        }
        if advanced {
            self.expiries = 0;
        }

        let timeout_over = match self.state {
            State::Loss { point } if self.board.una >= point => Some(point),
            _ => None,
        };
        self.advance(now, advanced, duplicate, ack.ece, &mut progress);
        if advances {
            self.tells = self.force && self.is_ns3();
            if !self.tells {
                self.told = self.board.una;
            }
        }
        self.total_lost += progress.lost;

        let ce_packets = ack.ce_packets.wrapping_sub(std::mem::replace(&mut self.ce_packets, ack.ce_packets));
        if advanced || progress.delivered() > 0 || ce_packets > 0 || ack.ece {
            let reducing = matches!(self.state, State::Recovery { .. } | State::Reducing { .. });
            let event = AckEvent {
                now,
                acked: Bytes::new(progress.acked),
                acked_packets: Packets::new(progress.acked_packets),
                sacked: Bytes::new(progress.sacked),
                sacked_packets: Packets::new(progress.sacked_packets),
                rtt,
                min_rtt: self.rtt.min,
                srtt: self.rtt.srtt(),
                one_way_delay: self.config.timestamps.then(|| ack.received_at.since(ack.echo)),
                rate: self.rate.finish(self.rtt.min),
                delivered: Bytes::new(self.rate.delivered),
                in_flight: Bytes::new(self.board.pipe()),
                prior_in_flight,
                lost: Bytes::new(progress.lost),
                total_lost: Bytes::new(self.total_lost),
                phase: self.state.phase(),
                cwnd: Bytes::new(self.cwnd),
                timeout_over,
                una: self.board.una,
                next: self.board.next,
                may_grow: advances && !reducing,
                cwnd_limited: self.usage.is_limited(self.cwnd, || self.in_slow_start()),
                app_limited: self.rate.is_app_limited(),
                ece: ack.ece,
                ce_packets: Packets::new(u64::from(ce_packets)),
            };
            let before = self.congestion.cwnd();
            self.congestion.on_ack(&event);
            if self.congestion.answers_marks() && self.congestion.cwnd() < before {
                self.stats.ecn_reductions += 1;
            }
            self.set_pacing();
            if self.congestion.disowns_samples() {
                self.rate.on_app_limited(self.board.pipe());
            }
            if !reducing || self.congestion.controls_recovery() {
                self.cwnd = self.congestion.cwnd().get();
            }
        }
        self.note_window(now);
        if advances {
            let idle = self.board.flight() == 0;
            let partial = matches!(self.state, State::Recovery { .. });
            let again = partial && std::mem::replace(&mut self.partial_seen, true);
            if idle {
                self.rto_deadline = Instant::NEVER;
            } else if !(again && self.config.rto == RtoRule::Ns3) {
                self.rto_deadline = now + self.rtt.rto(self.backoff);
            }
        }
        if self.config.tail_loss_probe {
            self.tail_on_ack(now, !advanced && progress.delivered() == 0);
            if advanced || progress.sacked > 0 {
                self.schedule_tail_probe(now);
            }
        }
        // It looks at every segment: of long boards now and then, because what is wrong stays wrong.
        #[cfg(debug_assertions)]
        if self.board.len() <= 32 || self.stats.rtt_samples.is_multiple_of(64) {
            let recovery = self.config.recovery;
            self.board.verify(recovery.is_selective(), recovery == Recovery::Sack);
        }
    }

    /// Without SACK: what duplicate acknowledgements say, and what a cumulative one makes of it.
    fn anonymous_duplicates(&mut self, now: Instant, advanced: bool, progress: &mut Progress) {
        let beyond_first = |bytes: u64| bytes.saturating_sub(self.mss);
        if advanced {
            // One segment filled the hole and the rest had been reported by duplicates; what is still outstanding
            // has a hole of its own, which bounds what of it can have been.
            let unconfirmed = self.reported.saturating_sub(beyond_first(self.board.flight()));
            let known = self.reported.min(beyond_first(progress.acked)).max(unconfirmed);
            self.rate.retract(known);
            progress.acked -= known;
            progress.acked_packets = progress.acked_packets.saturating_sub(known / self.mss).max(1);
            self.reported -= known;
            let recovering = matches!(self.state, State::Recovery { .. });
            self.anonymous = if recovering { self.anonymous.saturating_sub(known) } else { 0 };
        } else if self.board.flight() > 0 && !matches!(self.state, State::Loss { .. }) {
            let counted = self.mss.min(beyond_first(self.board.flight()).saturating_sub(self.reported));
            self.anonymous = (self.anonymous + self.mss).min(beyond_first(self.board.load()));
            self.duplicates += 1;
            self.reported += counted;
            self.rate.on_anonymous(counted, now);
            progress.sacked += counted;
            progress.sacked_packets += u64::from(counted > 0);
        }
        self.credit();
    }

    /// Limited transmit: outside recovery two duplicates count.
    fn credit(&mut self) {
        let bound = if matches!(self.state, State::Recovery { .. }) { u64::MAX } else { 2 * self.mss };
        if self.anonymous > 0 || self.board.credit() > 0 {
            self.board.set_credit(self.anonymous.min(bound));
        }
    }

    /// RTT of this acknowledgement for the timer, and of its most recent segment for congestion control.
    fn take_rtt(&mut self, now: Instant, advanced: bool, ack: &Ack, progress: &Progress) -> Option<Span> {
        if self.config.rto == RtoRule::Ns3 {
            if advanced {
                self.backoff = 0;
            }
            if progress.doubtful || !advanced {
                return None;
            }
        }
        let acked_sent = if progress.ambiguous { None } else { progress.acked_sent };
        let echoed = (advanced && self.config.timestamps).then(|| now.since(ack.echo));
        let oldest = echoed.or_else(|| acked_sent.or(progress.sacked_sent).map(|(first, _)| now.since(first)));
        // As Linux (`tcp_ack_update_rtt`): of what was sent again only the timestamp tells.
        let newest = progress.sacked_sent.or(acked_sent).map(|(_, last)| now.since(last)).or(echoed);
        if let Some(rtt) = newest {
            self.rtt.min = self.rtt.min.min(rtt);
        }
        if let Some(rtt) = oldest {
            self.rtt.sample(rtt, self.board.una, self.board.next);
            self.backoff = 0;
            if advanced {
                self.stats.rtt(rtt);
            }
        }
        newest
    }

    /// Leaves and enters episodes, and reduces the window within one.
    fn advance(&mut self, now: Instant, advanced: bool, duplicate: bool, ece: bool, progress: &mut Progress) {
        let una = self.board.una;
        match self.state {
            State::Open => {}
            State::Recovery { point, .. } => {
                let over = una >= point || (advanced && self.config.recovery == Recovery::Reno);
                if over {
                    self.leave_reduction(now);
                } else if advanced && self.config.recovery == Recovery::NewReno {
                    self.board.mark_first_lost(progress);
                    self.force = true;
                } else if advanced && self.is_ns3() {
                    self.force |= !self.board.is_first_resent();
                }
            }
            // Only something sent after the reduction carries the news of it (CWR).
            State::Reducing { point, .. } => {
                if una > point {
                    self.leave_reduction(now);
                }
            }
            State::Loss { point } => {
                if una >= point {
                    self.state = State::Open;
                }
            }
        }
        let may_enter = match self.state {
            State::Open | State::Reducing { .. } => true,
            State::Recovery { .. } => false,
            // As Linux (FLAG_LOST_RETRANS): what the timer had sent again and is lost once more is a congestion of its own.
            State::Loss { .. } => progress.lost_again,
        };
        if may_enter && self.loss_detected(duplicate) {
            self.enter_recovery(now, progress);
        }
        let answers = self.ecn && !self.congestion.answers_marks();
        if ece && answers && matches!(self.state, State::Open) && self.reduced_at.is_none_or(|at| una > at) {
            self.stats.ecn_reductions += 1;
            let prr = self.reduce(now, Signal::Ecn);
            self.state = State::Reducing { point: self.board.next, prr };
        }
        if progress.delivered() > 0 {
            let delivered = match self.config.window_unit {
                WindowUnit::Bytes => progress.delivered(),
                WindowUnit::Packets => (progress.acked_packets + progress.sacked_packets) * self.mss,
            };
            let safe = if self.is_ns3() { progress.resent_acked } else { advanced && progress.lost == 0 };
            self.follow_reduction(delivered, safe);
            if self.is_ns3() && advanced && progress.sacked > 0 && matches!(self.state, State::Recovery { .. }) {
                // Once as a duplicate, once as a partial acknowledgement.
                self.follow_reduction(delivered, safe);
            }
        }
    }

    /// The window of a reduction under way, `delivered` bytes later; `safe` as in [`Prr`].
    pub(super) fn follow_reduction(&mut self, delivered: u64, safe: bool) {
        if let State::Recovery { prr: Some(prr), .. } | State::Reducing { prr: Some(prr), .. } = &mut self.state {
            let ssthresh = self.congestion.ssthresh().get();
            self.cwnd = prr.on_ack(delivered, safe, self.board.pipe(), ssthresh, self.mss);
        }
    }

    fn loss_detected(&self, duplicate: bool) -> bool {
        if self.rack.is_some() {
            self.board.has_lost()
        } else if self.is_ns3() {
            duplicate && self.is_ns3_loss()
        } else if self.config.recovery == Recovery::Sack {
            self.board.has_lost() || (self.duplicates >= DUP_THRESH && self.board.has_sacks())
        } else {
            self.duplicates >= DUP_THRESH && self.reduced_at.is_none_or(|at| self.board.una > at)
        }
    }

    pub(super) fn enter_recovery(&mut self, now: Instant, progress: &mut Progress) {
        self.stats.fast_retransmits += 1;
        self.partial_seen = false;
        let prr = match self.state {
            State::Reducing { prr, .. } => prr,
            _ => self.reduce(now, Signal::Loss),
        };
        self.state = State::Recovery { point: self.board.next, prr };
        if !self.board.has_lost() {
            self.board.mark_first_lost(progress);
        }
        self.credit();
        self.force = true;
    }

    /// Asks congestion control for the new threshold; without PRR the window follows at once.
    pub(super) fn reduce(&mut self, now: Instant, signal: Signal) -> Option<Prr> {
        let event = CongestionEvent { now, signal, in_flight: Bytes::new(self.board.pipe()) };
        let prr = if self.is_ns3() { Prr::ns3(self.board.flight()) } else { Prr::new(self.cwnd) };
        self.congestion.on_congestion(&event);
        self.announce_reduction = true;
        self.reduced_at = Some(self.board.next);
        if self.congestion.controls_recovery() {
            self.cwnd = self.congestion.cwnd().get();
            None
        } else if self.config.prr {
            Some(prr)
        } else {
            self.cwnd = self.congestion.ssthresh().get();
            None
        }
    }

    pub(super) fn leave_reduction(&mut self, now: Instant) {
        self.state = State::Open;
        self.force = false;
        self.anonymous = 0;
        self.credit();
        if !self.congestion.controls_recovery() {
            self.congestion.set_cwnd(self.congestion.ssthresh());
        }
        self.congestion.on_recovery_exit(now);
        self.cwnd = self.congestion.cwnd().get();
    }
}
