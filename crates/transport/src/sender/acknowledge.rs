//! What an acknowledgement or the timer means.
//!
//! In the order of the texts: RFC 9293, 3.10.7.4 (is it acceptable, and the window), RFC 2018 and the recovery's own (what has
//! arrived), RFC 6298 (RTT), RFC 5681 and 6937 (episodes), congestion control, RFC 6298, 5 (timer), RFC 8985, 7 (tail).

use super::core::Core;
use super::episode::State;
use super::inform::AckInfo;
use super::progress::Progress;
use super::recovery::Strategy;
use super::scoreboard::Passed;
use super::tail::Tail;
use super::{Path, SenderStats, WindowUnit};
use crate::congestion::{CongestionControl, CongestionEvent, Signal};
use crate::segment::{Ack, Control};
use sojourn_units::{Bytes, Instant, Span};

impl<R: Strategy> Core<R> {
    /// The retransmission timer; too early a call does nothing.
    pub fn on_timer(&mut self, now: Instant) {
        if now >= self.tail.at() {
            self.on_early_timer(now);
        }
        if now < self.timer.deadline {
            return;
        }
        if self.board.flight() == 0 {
            self.on_idle_timer(now);
            return;
        }
        self.on_timeout(now);
    }

    /// RFC 6298, 5.4 to 5.6: everything that is outstanding is taken as lost.
    fn on_timeout(&mut self, now: Instant) {
        let reduce = match self.state {
            State::Open => true,
            State::Reducing { .. } | State::Recovery { .. } => self.rule().lowers_again(),
            State::Loss { advanced, .. } => advanced || self.rule().lowers_again(),
        };
        if R::BY_TIME {
            let fresh =
                matches!(self.state, State::Open | State::Reducing { .. } | State::Loss { advanced: false, .. });
            self.watch_timeout(now, fresh);
            if reduce {
                self.remember(true);
            }
        }
        if reduce {
            let event = CongestionEvent { now, signal: Signal::Timeout, in_flight: Bytes::new(self.board.pipe()) };
            self.congestion.on_congestion(&event);
        }
        let outstanding = self.board.pipe() + self.board.credit();
        self.board.mark_all_lost(self.recovery.horizon(now));
        self.total_lost += outstanding.saturating_sub(self.board.pipe() + self.board.credit());
        self.tail = Tail::default();
        self.congestion.on_rto(now, Bytes::new(self.total_lost));
        R::on_timeout(self);
        self.stats.timeouts += 1;
        self.timer.backoff += 1;
        self.force = true;
        self.pacing.next = now;
        self.marks.announce = true;
        self.reduced_at = Some(self.board.next);
        self.state = State::Loss { point: self.board.next, advanced: false };
        self.cwnd = self.congestion.cwnd().get();
        self.restart_timer(now);
        // The window is below `ssthresh` again, so what is noted at an acknowledgement would miss it.
        self.stats.left_slow_start.get_or_insert(now);
    }

    /// An acknowledgement has arrived, and all leaves that may go now, as from [`Core::drain`].
    #[inline(always)]
    pub fn answer(&mut self, now: Instant, path: &mut impl Path) -> (Instant, Instant) {
        let ack = path.ack();
        if !(self.plain && self.is_expected(&ack)) {
            match self.plain && self.says_sack_only(&ack) {
                true => self.answer_sack(now, path),
                false => self.answer_any(now, path),
            }
            return self.deadlines();
        }
        self.on_expected_ack(now, &ack, true);
        self.verify();
        if !(self.is_streaming() && self.send_full(now, self.board.load(), path)) {
            self.poll_all(now, path);
        }
        // Only recovery by time has another timer.
        (if R::BY_TIME { self.timer() } else { self.timer.deadline }, Instant::NEVER)
    }

    /// It does not advance, and says nothing but what was SACKed.
    #[inline(always)]
    fn says_sack_only(&self, ack: &Ack) -> bool {
        R::SELECTIVE && ack.ack == self.board.una && !ack.ece && ack.control == Control::None
    }

    /// As [`Core::answer`], of one that advances nothing, which is common in an episode.
    #[inline(never)]
    fn answer_sack(&mut self, now: Instant, path: &mut impl Path) {
        self.process_ack(now, &path.ack(), false);
        self.verify();
        self.drain(now, path);
    }

    /// As [`Core::answer`], of any.
    #[inline(never)]
    fn answer_any(&mut self, now: Instant, path: &mut impl Path) {
        let ack = path.ack();
        if !self.plain && self.is_expected(&ack) {
            self.on_expected_ack(now, &ack, false);
        } else if self.accepts(now, &ack) {
            self.on_any_ack(now, &ack);
        }
        self.verify();
        self.drain(now, path);
    }

    /// An acknowledgement has arrived.
    #[inline(never)]
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) {
        if self.is_expected(ack) {
            self.on_expected_ack(now, ack, false);
        } else if self.accepts(now, ack) {
            self.on_any_ack(now, ack);
        }
        self.verify();
    }

    /// As [`Core::on_ack`], as if none were expected.
    #[cfg(test)]
    pub fn on_ack_by_the_book(&mut self, now: Instant, ack: &Ack) {
        if self.accepts(now, ack) {
            self.on_any_ack(now, ack);
            self.verify();
        }
    }

    /// RFC 9293, 3.10.7.4: it acknowledges what may have been sent. What opens or closes the connection is dealt with here.
    #[inline]
    fn accepts(&mut self, now: Instant, ack: &Ack) -> bool {
        if ack.control != Control::None && self.on_control(now, ack) {
            return false;
        }
        self.board.una <= ack.ack && ack.ack <= self.board.next
    }

    /// Debug builds compare the scoreboard with its definition.
    #[inline(always)]
    fn verify(&self) {
        #[cfg(debug_assertions)]
        if self.board.len() <= 256 || self.stats.rtt_samples.is_multiple_of(64) {
            self.board.verify::<R>();
        }
    }

    /// Nothing is missing, and all that it says is that more has arrived.
    #[inline(always)]
    fn is_expected(&self, ack: &Ack) -> bool {
        ack.ack > self.board.una
            && ack.ack <= self.board.next
            && ack.sack[0].len == 0
            && !ack.ece
            && ack.control == Control::None
            && ack.accurate.ace == self.marks.plain_ace
            && self.peer.probes == 0
            && matches!(self.state, State::Open)
            && self.board.is_clean()
            && self.rate.is_none()
            && self.recovery.expects()
            && self.has_nothing_to_undo()
    }

    /// As [`Core::on_any_ack`], of one that is expected: nearly all are, and what they mean is little (Jacobson's header
    /// prediction). `plain` as [`Core::plain`], where it is known.
    #[inline(always)]
    fn on_expected_ack(&mut self, now: Instant, ack: &Ack, plain: bool) {
        // RFC 9293, 3.10.7.4.
        self.update_send_window(ack);
        let prior_in_flight = self.board.load();
        let Passed { bytes, packets, first, last } = self.board.pass(ack.ack);
        self.source.on_advance(self.board.una);
        // RFC 6298.
        let newest = now.since(last);
        let rtt = if self.config.timestamps { now.since(ack.echo) } else { now.since(first) };
        self.rtt.min = self.rtt.min.min(newest);
        self.rtt.sample(rtt, self.board.una, self.board.next);
        self.stats.rtt(rtt);
        self.timer.backoff = 0;
        R::on_expected(self, now, last);
        // RFC 5681, 3.1.
        let progress = Progress { acked: bytes, acked_packets: packets, ..Progress::default() };
        self.grow(now, ack, &progress, newest, prior_in_flight);
        if !plain && self.pacing.wanted {
            self.set_pacing();
        }
        if self.notes_window {
            self.note_window(now);
        }
        // RFC 6298, 5.2 and 5.3.
        if self.board.flight() == 0 {
            self.timer.deadline = Instant::NEVER;
        } else {
            self.restart_timer(now);
        }
        // RFC 8985, 7.
        if !plain && self.config.tail_loss_probe {
            self.tail_on_ack(now, false);
            self.schedule_tail_probe(now);
        }
    }

    /// An acknowledgement of what may have been sent.
    #[inline(always)]
    pub fn on_any_ack(&mut self, now: Instant, ack: &Ack) {
        self.process_ack(now, ack, ack.ack > self.board.una);
    }

    /// As [`Core::on_any_ack`]; whether it `advanced` is known.
    #[inline(always)]
    fn process_ack(&mut self, now: Instant, ack: &Ack, advanced: bool) {
        // RFC 9293, 3.10.7.4.
        let before = self.board.una;
        self.update_send_window(ack);
        let prior_in_flight = self.board.pipe();
        // RFC 2018 and the recovery's own: what has arrived.
        let mut progress = Progress { order: self.recovery.delivery_order(now, self.rtt.min), ..Progress::default() };
        if advanced {
            self.board.cumulative::<R>(ack.ack, now, &mut progress, self.rate.as_deref_mut());
        }
        let duplicate = R::process_ack(self, now, ack, advanced, &mut progress);
        let advances = advanced && !duplicate;
        // RFC 6298, and what is lost by time (RFC 8985, 6.2).
        let rtt = self.update_rtt(now, advanced, ack, &progress);
        if !R::BY_TIME || self.try_undo(now, ack, before, &progress) {
            R::detect(self, now, &mut progress);
        }
        // RFC 3168 or 9768: marks. RFC 5681 and 6937: episodes.
        let marked = self.update_marks(ack, &progress);
        if let State::Loss { advanced: since, .. } = &mut self.state {
            *since |= advanced;
        }
        let timeout_over = match self.state {
            State::Loss { point, .. } if self.board.una >= point => Some(point),
            _ => None,
        };
        self.turn_state(now, advanced, duplicate, ack.ece || marked.packets > 0, &mut progress);
        if progress.delivered() > 0 {
            let delivered = match self.config.window_unit {
                WindowUnit::Bytes => progress.delivered(),
                WindowUnit::Packets => (progress.acked_packets + progress.sacked_packets) * self.mss,
            };
            R::follow(self, delivered, advanced, &progress);
        }
        if advances {
            R::on_advance(self);
            self.source.on_advance(self.board.una);
        }
        self.total_lost += progress.lost;
        // Congestion control.
        let info = AckInfo { now, ack, advanced, advances, prior_in_flight, timeout_over, marked };
        self.inform_congestion_control(&info, &progress, rtt);
        if self.notes_window {
            self.note_window(now);
        }
        // RFC 6298, 5.
        if advances {
            self.restart_on_advance(now);
        } else if R::BY_TIME && self.first_left_after(&progress) {
            self.restart_timer(now);
        }
        // RFC 8985, 7.
        if self.config.tail_loss_probe {
            self.tail_on_ack(now, !advanced && progress.delivered() == 0);
            if advanced || progress.sacked > 0 {
                self.schedule_tail_probe(now);
            }
        }
    }

    /// As Linux 6.1: what is newly SACKed left before the first segment was last sent, so its answer is not due yet.
    fn first_left_after(&self, progress: &Progress) -> bool {
        let sacked = progress.sacked_sent.first();
        self.board.first().zip(sacked).is_some_and(|(first, sacked)| sacked < first.sent)
    }

    /// RFC 9293, 3.10.7.4: the window. Its right edge never moves left here.
    #[inline(always)]
    fn update_send_window(&mut self, ack: &Ack) {
        let (edge, window) = (ack.ack + u64::from(ack.window), u64::from(ack.window));
        let peer = &mut self.peer;
        peer.edge = if peer.edge == u64::MAX { edge } else { peer.edge.max(edge) };
        peer.widest = peer.widest.max(window);
        if peer.probes > 0 {
            self.reopen();
        }
    }

    /// RTT of this acknowledgement for the timer, and of its most recent segment for congestion control.
    #[inline(always)]
    fn update_rtt(&mut self, now: Instant, advanced: bool, ack: &Ack, progress: &Progress) -> Option<Span> {
        if self.rule().samples_the_certain() {
            if advanced {
                self.timer.backoff = 0;
            }
            if progress.doubtful || !advanced {
                return None;
            }
        }
        let (acked, sacked) = (&progress.acked_sent, &progress.sacked_sent);
        let certain = !progress.ambiguous;
        let echoed = (advanced && self.config.timestamps).then(|| now.since(ack.echo));
        let first = || acked.first().filter(|_| certain).or(sacked.first()).map(|first| now.since(first));
        // As Linux (`tcp_ack_update_rtt`): of what was sent again only the timestamp tells.
        let last = sacked.last().or(acked.last().filter(|_| certain)).map(|last| now.since(last));
        let (newest, sample) = if self.config.timestamp_tick.is_zero() {
            (last.or(echoed), echoed.or_else(first))
        } else {
            self.coarse(now, ack, echoed.is_some(), first(), last)
        };
        if let Some(rtt) = newest {
            self.rtt.min = self.rtt.min.min(rtt);
        }
        if let Some(rtt) = sample {
            self.rtt.sample(rtt, self.board.una, self.board.next);
            self.timer.backoff = 0;
            if advanced {
                self.stats.rtt(rtt);
            }
        }
        newest
    }

    /// The newest RTT and the timer's sample where timestamps have a clock of their own, as in Linux: it tells only what the times
    /// of sending do not. So after a loss the smallest RTT may come out below what it is, by up to a tick.
    #[inline(never)]
    fn coarse(
        &self,
        now: Instant,
        ack: &Ack,
        echoes: bool,
        first: Option<Span>,
        last: Option<Span>,
    ) -> (Option<Span>, Option<Span>) {
        if first.is_some() || !echoes {
            return (last, first);
        }
        let tick = self.config.timestamp_tick.nanos().max(1);
        let ticks =
            (now.since(Instant::ZERO).nanos() / tick).saturating_sub(ack.echo.since(Instant::ZERO).nanos() / tick);
        let told = Some(Span::from_nanos(ticks.max(1) * tick));
        (told, told)
    }

    /// Notes the end of slow start and the window of the first second, until both are over.
    #[inline(never)]
    fn note_window(&mut self, now: Instant) {
        if self.stats.left_slow_start.is_none() && !self.in_slow_start() {
            self.stats.left_slow_start = Some(now);
        }
        let is_first = self.stats.first_sent.is_none_or(|first| now.since(first) <= SenderStats::FIRST);
        if is_first {
            self.stats.cwnd_after_second = Bytes::new(self.cwnd);
        }
        self.notes_window = is_first || self.stats.left_slow_start.is_none();
    }

    /// RFC 6298, 5.2 and 5.3: the timer after an advance.
    #[inline]
    fn restart_on_advance(&mut self, now: Instant) {
        let again = match &mut self.state {
            State::Recovery { partial, .. } => std::mem::replace(partial, true),
            _ => false,
        };
        if self.board.flight() == 0 {
            self.timer.deadline = Instant::NEVER;
        } else if !(again && self.rule().is_impatient()) {
            self.restart_timer(now);
        }
    }
}
