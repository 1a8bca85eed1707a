//! What to send now.

use super::connection::Step;
use super::rate::RateSampler;
use super::scoreboard::{Segment, FIN, LAST, REPEATED, RESENT};
use super::{Ect, IdleRestart, Recovery, RtoRule, Sender, State};
use crate::transport::congestion::EcnFeedback;
use crate::transport::segment::{Data, DATA_HEADER};
use sojourn_units::{BitRate, Bytes, Instant};

/// What a segment that is the last says of it.
fn end_flag(flags: u8) -> u8 {
    match flags & (FIN | LAST) {
        0 => 0,
        LAST => Data::LAST,
        _ => Data::FIN,
    }
}

impl Sender {
    /// The next segment to send now; `None` when nothing may be sent. To be called until it says so.
    pub fn poll(&mut self, now: Instant) -> Option<Data> {
        self.pacing_waits = false;
        if self.step != Step::Stream {
            if let Some(data) = self.poll_step(now) {
                return Some(data);
            }
            if self.step != Step::Stream {
                return None;
            }
        }
        let recovers = matches!(self.state, State::Recovery { .. } | State::Loss { .. }) || self.is_ns3();
        if self.board.pending() > 0 && recovers {
            return self.poll_lost(now);
        }
        let seq = self.board.next;
        let mut most = self.mss;
        if self.told < self.board.una && !self.force && self.ask_for_more(seq) {
            most = most.min(self.cwnd - self.board.pipe());
        }
        let available = self.data_end().saturating_sub(seq);
        if available == 0 {
            return self.poll_end(now);
        }
        let len = available.min(most);
        let forced = self.force && self.is_ns3();
        if self.occupied() + self.board.weight(len) > self.cwnd && !forced {
            return self.stop(now, true);
        }
        let room = self.receiver_edge.map_or(u64::MAX, |edge| edge.saturating_sub(seq));
        let len = if len <= room {
            len
        } else if self.board.flight() > 0 {
            return self.poll_doubtful(now);
        } else if room > 0 && 2 * room >= self.widest {
            // RFC 9293, 3.8.6.2.1: less than a segment only when it is half the widest window ever offered.
            room
        } else {
            self.persist(now);
            return self.stop(now, false);
        };
        if self.config.nagle && len < self.mss && self.board.flight() > 0 && !self.closed {
            return self.poll_idle(now);
        }
        if self.paced(now, len) {
            return self.stop(now, false);
        }
        if self.board.flight() == 0 {
            self.restart_after_idle(now);
        }
        if forced {
            self.on_forced();
        }
        Some(self.send_new(now, seq, len))
    }

    /// RFC 6675's `NextSeg`, rule 1; new data waits behind it.
    fn poll_lost(&mut self, now: Instant) -> Option<Data> {
        let segment = *self.board.next_lost()?;
        let len = self.resend_len(&segment);
        if !self.force && self.board.pipe() + self.board.weight(len) > self.cwnd {
            return self.stop(now, true);
        }
        if self.paced(now, len) {
            return self.stop(now, false);
        }
        let segment = self.filled(segment);
        let nothing_in_flight = self.board.pipe() == 0;
        let at = self.stamp(now, segment.seq);
        let data = Self::resend(self.board.next_lost()?, now, at, &mut self.rate, nothing_in_flight);
        self.on_resent(now, &segment);
        Some(self.with_codepoint(data))
    }

    /// The application has nothing to send.
    pub(super) fn poll_idle(&mut self, now: Instant) -> Option<Data> {
        let pipe = self.board.pipe();
        if pipe + self.mss <= self.cwnd {
            self.rate.on_app_limited(pipe);
        }
        self.poll_doubtful(now)
    }

    /// No new data may be sent: in recovery `NextSeg`'s rule 3, else the end of sending for now.
    fn poll_doubtful(&mut self, now: Instant) -> Option<Data> {
        if let Some(data) = self.poll_first_ns3(now) {
            return Some(data);
        }
        if matches!(self.state, State::Recovery { .. })
            && matches!(self.config.recovery, Recovery::Sack | Recovery::Ns3)
        {
            if let Some(segment) = self.board.next_doubtful().map(|s| *s) {
                let len = self.resend_len(&segment);
                if self.board.pipe() + self.board.weight(len) <= self.cwnd && !self.paced(now, len) {
                    let segment = self.filled(segment);
                    let data = Self::resend(self.board.next_doubtful()?, now, now, &mut self.rate, false);
                    self.on_resent(now, &segment);
                    return Some(self.with_codepoint(data));
                }
            }
        }
        self.stop(now, self.board.pipe() + self.mss > self.cwnd)
    }

    /// Sending pauses; `limited` says that the window is full.
    pub(super) fn stop(&mut self, now: Instant, limited: bool) -> Option<Data> {
        if !self.sending && !limited {
            return None;
        }
        self.sending = false;
        self.usage.observe(limited, self.board.load(), self.board.una, self.board.next);
        if self.usage.is_limited(self.cwnd, || self.in_slow_start()) {
            self.usage.full(now);
            return None;
        }
        let unused = self.usage.partial(now, self.board.load()) >= self.rtt.rto(self.backoff);
        // A full send buffer means that the application would have sent more.
        let starved = self.buffer_space() > Bytes::ZERO;
        let decays = self.config.slow_start_after_idle
            && self.config.idle_restart == IdleRestart::Decay
            && !self.congestion.controls_recovery();
        if unused && starved && decays && matches!(self.state, State::Open) {
            let initial = self.config.initial_window.get() * self.mss;
            let used = self.usage.restart(now).max(initial);
            if used < self.cwnd {
                self.set_window((self.cwnd + used) / 2);
            }
        }
        None
    }

    /// RFC 2861: a window not used at all decays by half a timeout, to the initial one at the least; RFC 5681: to that at once.
    fn restart_after_idle(&mut self, now: Instant) {
        let idle = now.since(self.last_sent);
        if self.stats.segments_sent == 0 || idle.is_zero() {
            return;
        }
        self.congestion.on_restart(now, idle, self.rate.is_app_limited());
        self.set_pacing();
        let rto = self.rtt.rto(self.backoff);
        if self.congestion.controls_recovery() {
            self.cwnd = self.congestion.cwnd().get();
            return;
        }
        if !self.config.slow_start_after_idle || idle <= rto || !matches!(self.state, State::Open) {
            return;
        }
        let floor = (self.config.initial_window.get() * self.mss).min(self.cwnd);
        if self.config.idle_restart == IdleRestart::Initial {
            self.congestion.set_cwnd(Bytes::new(floor));
            self.cwnd = self.congestion.cwnd().get();
            return;
        }
        let periods = ((idle.nanos() - 1) / rto.nanos().max(1)).min(63);
        self.set_window((self.cwnd >> periods).max(floor));
        self.usage.restart(now);
    }

    /// A window unused is forgotten, but three quarters of it stay the threshold.
    fn set_window(&mut self, cwnd: u64) {
        let remembered = Bytes::new(self.cwnd / 2 + self.cwnd / 4);
        self.congestion.set_ssthresh(self.congestion.ssthresh().max(remembered));
        self.congestion.set_cwnd(Bytes::new(cwnd));
        self.cwnd = self.congestion.cwnd().get();
    }

    /// What counts against the window for new data.
    fn occupied(&self) -> u64 {
        // Without limited transmit, duplicate acknowledgements open the window only in recovery.
        if !self.config.limited_transmit && matches!(self.state, State::Open) {
            self.board.load()
        } else {
            self.board.pipe()
        }
    }

    /// The rate at which segments leave: congestion control's or, where `pacing` is on, Linux's `tcp_update_pacing_rate`.
    pub(super) fn set_pacing(&mut self) {
        self.pacing_rate = self.congestion.pacing_rate();
        let rtt = self.rtt.srtt();
        if self.pacing_rate.is_some() || !self.config.pacing || rtt.is_zero() {
            return;
        }
        let window = self.congestion.cwnd().get();
        let percent = if window < self.congestion.ssthresh().get() / 2 { 200 } else { 120 };
        let wire = window.max(self.board.pipe()) / self.mss * (self.mss + DATA_HEADER.get());
        let bit_s = u128::from(wire) * 8 * percent * 10_000_000 / u128::from(rtt.nanos());
        self.pacing_rate = Some(BitRate::from_bit_s(u64::try_from(bit_s).unwrap_or(u64::MAX).max(1)));
    }

    /// True when pacing holds the next segment back.
    fn paced(&mut self, now: Instant, len: u64) -> bool {
        let Some(rate) = self.pacing_rate else {
            return false;
        };
        let time = rate.time_for(Bytes::new(len) + DATA_HEADER);
        if now >= self.next_paced {
            self.burst_left = self.congestion.pacing_burst().saturating_sub(1);
            self.next_paced = now + time;
        } else if self.burst_left > 0 {
            self.burst_left -= 1;
            self.next_paced += time;
        } else {
            self.pacing_waits = true;
            return true;
        }
        false
    }

    /// As [`Sender::send_new`], out of the way of the one that goes with the window.
    #[inline(never)]
    pub(super) fn send_apart(&mut self, now: Instant, seq: u64, len: u64) -> Data {
        self.send_new(now, seq, len)
    }

    #[inline(always)]
    fn send_new(&mut self, now: Instant, seq: u64, len: u64) -> Data {
        let last = self.closed && seq + len == self.written;
        // A FIN needs its place in the window, too; it follows alone where there is none.
        let fin = last && self.config.handshake && self.receiver_edge.is_none_or(|edge| seq + len < edge);
        let mut segment = Segment {
            seq,
            sent: self.stamp(now, seq),
            delivered: 0,
            delivered_at: now,
            first_sent: now,
            len: len as u32 + u32::from(fin),
            flags: match (last, self.config.handshake) {
                (true, false) => LAST,
                (true, true) if fin => FIN,
                _ => 0,
            },
        };
        let fresh = self.board.flight() == 0;
        self.rate.on_send(&mut segment, fresh);
        self.board.push(segment);
        if fresh {
            // What ran was a closed window's.
            self.rto_deadline = Instant::NEVER;
        }
        let mut flags = end_flag(segment.flags);
        if self.ecn && len > 0 {
            flags |= self.codepoint();
            if std::mem::take(&mut self.announce_reduction) {
                flags |= Data::CWR;
            }
        }
        self.on_sent(now, len);
        if self.config.tail_loss_probe {
            self.schedule_tail_probe(now);
        }
        Data { seq, sent: now, len: len as u32, flags }
    }

    /// `segment` leaves again, stamped `at`.
    pub(super) fn resend(
        segment: &mut Segment,
        now: Instant,
        at: Instant,
        rate: &mut RateSampler,
        alone: bool,
    ) -> Data {
        segment.flags |= RESENT | REPEATED;
        segment.sent = at;
        rate.on_send(segment, alone);
        let payload = segment.len - u32::from(segment.flags & FIN != 0);
        Data { seq: segment.seq, sent: now, len: payload, flags: Data::RETRANSMIT | end_flag(segment.flags) }
    }

    /// What makes a segment ECN-capable.
    fn codepoint(&self) -> u8 {
        match self.config.ect {
            Ect::Zero => Data::ECT,
            Ect::One => Data::ECT | Data::ECT_1,
        }
    }

    /// Retransmissions are ECN-capable only where feedback is accurate.
    pub(super) fn with_codepoint(&self, mut resent: Data) -> Data {
        if self.ecn && self.congestion.ecn_feedback() == EcnFeedback::Accurate {
            resent.flags |= self.codepoint();
        }
        resent
    }

    /// The last segment once more.
    pub(super) fn resend_last(&mut self, now: Instant) -> Option<Data> {
        let before = *self.board.last()?;
        let at = self.stamp(now, before.seq);
        let data = Self::resend(self.board.last()?, now, at, &mut self.rate, false);
        self.on_resent(now, &before);
        Some(self.with_codepoint(data))
    }

    pub(super) fn on_resent(&mut self, now: Instant, before: &Segment) {
        self.on_forced();
        self.board.on_resent(before);
        self.stats.segments_retransmitted += 1;
        if self.board.is_first(before.seq) && self.config.rto != RtoRule::Ns3 {
            self.rto_deadline = Instant::NEVER;
        }
        self.on_sent(now, u64::from(before.len) - u64::from(before.flags & FIN != 0));
    }

    #[inline(always)]
    fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.sending = true;
        self.last_sent = now;
        self.stats.segments_sent += u64::from(bytes > 0);
        self.stats.bytes_sent += Bytes::new(bytes);
        self.stats.first_sent.get_or_insert(now);
        if let State::Recovery { prr: Some(prr), .. } | State::Reducing { prr: Some(prr), .. } = &mut self.state {
            prr.on_sent(self.board.weight(bytes));
        }
        if self.rto_deadline == Instant::NEVER {
            self.rto_deadline = now + self.rtt.rto(self.backoff);
        }
    }

    /// When to call [`Sender::on_timer`]; it may move earlier as well as later at any call.
    #[must_use]
    pub fn timer(&self) -> Instant {
        self.early.map_or(self.rto_deadline, |(at, _)| at.min(self.rto_deadline))
    }

    /// When to call [`Sender::poll`] although nothing happens: only pacing asks for that.
    #[must_use]
    pub fn pacing_deadline(&self) -> Instant {
        if self.pacing_waits {
            self.next_paced
        } else {
            Instant::NEVER
        }
    }
}
