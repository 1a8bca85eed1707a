//! What to send now.
//!
//! Texts: RFC 9293, 3.8.6.2 (silly windows), RFC 5681, RFC 6675 (`NextSeg`), RFC 2861 and 5681, 4.1 (idle times).

use super::connection::Step;
use super::core::Core;
use super::episode::State;
use super::rate::Traffic;
use super::recovery::Strategy;
use super::scoreboard::{Segment, FIN, LAST, REPEATED, RESENT};
use super::{Ect, Hints, IdleRestart, Path};
use crate::congestion::{CongestionControl, EcnFeedback};
use crate::segment::{Data, DATA_HEADER};
use sojourn_units::{BitRate, Bytes, Instant};

/// What a segment that is the last says of it.
#[inline]
fn end_flag(flags: u8) -> u8 {
    match flags & (FIN | LAST) {
        0 => 0,
        LAST => Data::LAST,
        _ => Data::FIN,
    }
}

impl<R: Strategy> Core<R> {
    /// The next segment to send now; `None` when nothing may be sent. To be called until it says so.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Data> {
        self.pacing.waits = false;
        if self.step != Step::Stream {
            if let Some(data) = self.poll_step(now) {
                return Some(data);
            }
            if self.step != Step::Stream {
                return None;
            }
        }
        let repairs = self.board.pending > 0 && (R::NS3 || self.state.is_repairing());
        if repairs && !(R::BY_TIME && self.puts_new_first()) {
            return self.poll_lost(now);
        }
        let seq = self.board.next;
        let most = R::max_new_len(self, seq);
        let available = self.data_end().saturating_sub(seq);
        if available == 0 {
            return self.poll_end(now);
        }
        let len = available.min(most);
        let forced = R::NS3 && self.force;
        if self.occupied() + self.board.weight(len) > self.cwnd && !forced {
            return self.stop(now, true);
        }
        let room = self.peer.edge.saturating_sub(seq);
        if len < self.mss || len > room || self.pacing.rate.is_some() || self.groups.is_some() {
            return self.poll_short(now, seq, len, room);
        }
        Some(self.send_next(now, seq, len))
    }

    /// Sends all that may go now.
    #[inline(always)]
    pub fn drain(&mut self, now: Instant, path: &mut impl Path) {
        if self.plain && self.is_streaming() && !(self.board.pending > 0 && self.state.is_repairing()) {
            let in_flight = self.occupied();
            let is_open = matches!(self.state, State::Open);
            if (is_open || in_flight + self.mss > self.cwnd) && self.send_full(now, in_flight, path) {
                return;
            }
        }
        self.poll_all(now, path);
    }

    /// As [`Core::drain`], segment by segment.
    #[inline(never)]
    pub fn poll_all(&mut self, now: Instant, path: &mut impl Path) {
        // Bound: the window, which the sender itself limits.
        while let Some(data) = self.poll(now) {
            let hints = if self.hints { self.hints() } else { Hints::default() };
            path.send(data, self.stats.segments_sent, hints);
        }
    }

    /// The stream goes on behind what is in flight.
    #[inline(always)]
    pub fn is_streaming(&self) -> bool {
        self.step == Step::Stream && !self.source.closed && self.board.flight() > 0
    }

    /// Sends the full segments of new data that may leave now, with `in_flight` of the window taken, where the sender is plain,
    /// streams, has nothing to repair, and either is in no episode or has a full window. False where [`Core::poll`] must see whether more may go.
    #[inline(always)]
    pub fn send_full(&mut self, now: Instant, in_flight: u64, path: &mut impl Path) -> bool {
        let (mss, mut seq) = (self.mss, self.board.next);
        let data = self.data_end().saturating_sub(seq);
        let window = self.cwnd.saturating_sub(in_flight);
        let fits = window.min(data).min(self.peer.edge.saturating_sub(seq));
        let mut left = fits;
        if fits >= mss {
            self.usage.sending = true;
            self.usage.last_sent = now;
            if self.timer.deadline == Instant::NEVER {
                self.restart_timer(now);
            }
            let mut number = self.stats.segments_sent;
            // Bound: the window.
            while left >= mss {
                let sent = self.recovery.stamp(now, seq);
                self.board.segments.push_back(Segment { seq, sent, len: mss as u32, flags: 0 });
                let data = Data { seq, sent: now, len: mss as u32, flags: self.new_flags() };
                number += 1;
                seq += mss;
                left -= mss;
                path.send_next(data, number);
            }
            self.stats.segments_sent = number;
            self.board.next = seq;
        }
        // There is a segment more, for which the window has no room.
        let is_full = data - fits >= mss && window - fits + left < mss;
        if is_full {
            self.usage.fill(now, self.board.load(), seq);
        }
        is_full
    }

    /// See [`Hints`].
    #[cold]
    fn hints(&self) -> Hints {
        let window = (self.cwnd / self.mss).clamp(1, u64::from(u16::MAX)) as u16;
        Hints { window, ace: self.ace() }
    }

    /// What a segment without payload says of ECN.
    pub(super) fn bare_flags(&self) -> u8 {
        if self.marks.ecn && self.config.ect_on.has_acks(self.marks.feedback) {
            self.codepoint()
        } else {
            0
        }
    }

    /// What a segment of new data says of ECN.
    #[inline(always)]
    fn new_flags(&mut self) -> u8 {
        if !self.marks.ecn {
            return 0;
        }
        let announced = if std::mem::take(&mut self.marks.announce) { Data::CWR } else { 0 };
        self.codepoint() | announced
    }

    /// A segment that is not full, does not fit the receiver's window, is paced, or leaves in a group.
    #[inline(never)]
    fn poll_short(&mut self, now: Instant, seq: u64, len: u64, room: u64) -> Option<Data> {
        let len = if len <= room {
            len
        } else if self.board.flight() > 0 {
            return self.poll_doubtful(now);
        } else if room > 0 && 2 * room >= self.peer.widest {
            // RFC 9293, 3.8.6.2.1: less than a segment only when it is half the widest window ever offered.
            room
        } else {
            self.persist(now);
            return self.stop(now, false);
        };
        if self.config.nagle && len < self.mss && self.board.flight() > 0 && !self.source.closed {
            return self.poll_idle(now);
        }
        if self.groups.is_some() && !self.pause_lasts(now) && self.waits_for_group(now, seq) {
            // If the receiver's window is the smaller one, the congestion window is not used in full.
            return self.stop(now, self.cwnd.saturating_sub(self.occupied()) < room);
        }
        if self.paced(now, len) {
            return self.stop(now, false);
        }
        Some(self.send_next(now, seq, len))
    }

    /// A new segment, which may be sent.
    #[inline]
    fn send_next(&mut self, now: Instant, seq: u64, len: u64) -> Data {
        if self.board.flight() == 0 {
            self.restart_after_idle(now);
        }
        if R::NS3 && self.force {
            R::on_forced(self);
        }
        self.send_new(now, seq, len)
    }

    /// RFC 6675's `NextSeg`, rule 1; new data waits behind it.
    #[inline(never)]
    fn poll_lost(&mut self, now: Instant) -> Option<Data> {
        let place = self.board.next_lost()?;
        let segment = self.board.segment(place)?;
        let len = R::resend_len(self, &segment);
        if !self.force && self.board.pipe() + self.board.weight(len) > self.cwnd {
            return self.stop(now, true);
        }
        if self.paced(now, len) {
            return self.stop(now, false);
        }
        let segment = R::repacketized(self, segment);
        let nothing_in_flight = self.board.pipe() == 0;
        let at = self.recovery.stamp(now, segment.seq);
        let place = self.board.next_lost()?;
        if R::BY_TIME {
            self.note_resent(now);
        }
        Some(self.resend(now, at, place, segment, nothing_in_flight))
    }

    /// The application has nothing to send.
    pub fn poll_idle(&mut self, now: Instant) -> Option<Data> {
        let pipe = self.board.pipe();
        if pipe + self.mss <= self.cwnd {
            if let Some(rate) = &mut self.rate {
                rate.on_app_limited(pipe);
            }
        }
        self.poll_doubtful(now)
    }

    /// No new data may be sent: in recovery `NextSeg`'s rule 3, else the end of sending for now.
    fn poll_doubtful(&mut self, now: Instant) -> Option<Data> {
        if let Some(data) = R::poll_forced(self, now) {
            return Some(data);
        }
        if self.state.is_recovery() {
            if let Some(segment) = self.board.next_doubtful::<R>().and_then(|place| self.board.segment(place)) {
                let len = R::resend_len(self, &segment);
                if self.board.pipe() + self.board.weight(len) <= self.cwnd && !self.paced(now, len) {
                    let segment = R::repacketized(self, segment);
                    let place = self.board.next_doubtful::<R>()?;
                    return Some(self.resend(now, now, place, segment, false));
                }
            }
        }
        self.stop(now, self.board.pipe() + self.mss > self.cwnd)
    }

    /// Sending pauses; `limited` says that the window is full.
    pub fn stop(&mut self, now: Instant, limited: bool) -> Option<Data> {
        if !self.usage.sending && !limited {
            return None;
        }
        self.usage.sending = false;
        self.usage.observe(limited, self.board.load(), self.board.una, self.board.next);
        if self.usage.is_limited(self.cwnd, self.congestion.ssthresh().get()) {
            self.usage.full(now);
        } else {
            self.decay(now);
        }
        None
    }

    /// RFC 2861: the window is not used in full.
    #[inline(never)]
    fn decay(&mut self, now: Instant) {
        let unused = self.usage.partial(now, self.board.load()) >= self.rto();
        // A full send buffer means that the application would have sent more.
        let starved = self.buffer_space() > Bytes::ZERO && !self.source.waits;
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
    }

    /// RFC 2861: a window not used at all decays by half a timeout, to the initial one at the least; RFC 5681: to that at once.
    #[inline(never)]
    fn restart_after_idle(&mut self, now: Instant) {
        let idle = now.since(self.usage.last_sent);
        if self.stats.segments_sent == 0 || idle.is_zero() {
            return;
        }
        let app_limited = self.rate.as_ref().is_some_and(|rate| rate.is_app_limited());
        self.congestion.on_restart(now, idle, app_limited);
        self.set_pacing();
        let rto = self.rto();
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
    #[inline(always)]
    pub fn occupied(&self) -> u64 {
        // Without limited transmit, duplicate acknowledgements open the window only in recovery.
        if !self.config.limited_transmit && matches!(self.state, State::Open) {
            self.board.load()
        } else {
            self.board.pipe()
        }
    }

    /// The rate at which segments leave: congestion control's or, where `pacing` is on, Linux's `tcp_update_pacing_rate`.
    #[inline(never)]
    pub fn set_pacing(&mut self) {
        self.pacing.rate = self.congestion.pacing_rate();
        if self.pacing.rate.is_none() && self.config.pacing {
            self.pace_by_window();
        }
    }

    fn pace_by_window(&mut self) {
        let rtt = self.rtt.srtt();
        if rtt.is_zero() {
            return;
        }
        let window = self.congestion.cwnd().get();
        let percent = if window < self.congestion.ssthresh().get() / 2 { 200 } else { 120 };
        let wire = window.max(self.board.pipe()) / self.mss * (self.mss + DATA_HEADER.get());
        let bit_s = u128::from(wire) * 8 * percent * 10_000_000 / u128::from(rtt.nanos());
        self.pacing.rate = Some(BitRate::from_bit_s(u64::try_from(bit_s).unwrap_or(u64::MAX).max(1)));
    }

    /// The last group's time on the wire, as paced, is not over.
    fn pause_lasts(&self, now: Instant) -> bool {
        self.pacing.rate.is_some() && now < self.pacing.next && self.pacing.burst_left == 0
    }

    /// True when pacing holds the next segment back.
    fn paced(&mut self, now: Instant, len: u64) -> bool {
        let pacing = &mut self.pacing;
        let Some(rate) = pacing.rate else { return false };
        let time = rate.time_for(Bytes::new(len) + DATA_HEADER);
        if now >= pacing.next {
            pacing.burst_left = match &self.groups {
                Some(groups) => groups.following(),
                None => self.congestion.pacing_burst().saturating_sub(1),
            }
            .try_into()
            .unwrap_or(u32::MAX);
            pacing.next = match &self.groups {
                Some(_) => {
                    // The whole group is paced at once; of how late it is, up to half of its time is made up for.
                    let all = time * (u64::from(pacing.burst_left) + 1);
                    now + all.saturating_sub(now.since(pacing.next).min(all / 2))
                }
                None => now + time,
            };
        } else if pacing.burst_left > 0 {
            pacing.burst_left -= 1;
            if self.groups.is_none() {
                pacing.next += time;
            }
        } else {
            pacing.waits = true;
        }
        pacing.waits
    }

    /// As [`Core::send_new`], out of the way of the one that goes with the window.
    #[inline(never)]
    pub fn send_apart(&mut self, now: Instant, seq: u64, len: u64) -> Data {
        self.send_new(now, seq, len)
    }

    #[inline(always)]
    fn send_new(&mut self, now: Instant, seq: u64, len: u64) -> Data {
        let (mut flags, mut fin) = (0, false);
        if self.source.closed && seq + len == self.source.written {
            // A FIN needs its place in the window, too; it follows alone where there is none.
            fin = self.config.handshake && seq + len < self.peer.edge;
            flags = match self.config.handshake {
                false => LAST,
                true if fin => FIN,
                true => 0,
            };
        }
        let sent = self.recovery.stamp(now, seq);
        let fresh = self.board.flight() == 0;
        if let Some(rate) = &mut self.rate {
            rate.on_send(sent, Traffic { in_flight: self.board.pipe() + len, lost: self.total_lost, alone: fresh });
        }
        self.board.push(Segment { seq, sent, len: len as u32 + u32::from(fin), flags });
        if fresh {
            // What ran was a closed window's.
            self.timer.deadline = Instant::NEVER;
        }
        let mut flags = end_flag(flags) | if len > 0 { self.new_flags() } else { self.bare_flags() };
        if let Some(groups) = &mut self.groups {
            let ends_write = seq + len == self.source.written;
            if groups.on_sent() || ends_write {
                flags |= Data::PUSH;
            }
        }
        self.on_sent(now, len);
        if self.config.tail_loss_probe {
            self.schedule_tail_probe(now);
        }
        Data { seq, sent: now, len: len as u32, flags }
    }

    /// The segment at `place`, `segment` so far, leaves again now, stamped `at`.
    pub fn resend(&mut self, now: Instant, at: Instant, place: usize, segment: Segment, alone: bool) -> Data {
        self.board.set(place, Segment { flags: segment.flags | RESENT | REPEATED, sent: at, ..segment });
        if let Some(rate) = &mut self.rate {
            let in_flight = self.board.pipe() + u64::from(segment.len);
            rate.on_resend(place, at, Traffic { in_flight, lost: self.total_lost, alone });
        }
        let payload = segment.len - u32::from(segment.flags & FIN != 0);
        R::on_forced(self);
        self.board.on_resent(&segment);
        self.stats.segments_retransmitted += 1;
        if self.board.is_first(segment.seq) && self.rule().restarts_on_resend() {
            self.timer.deadline = Instant::NEVER;
        }
        self.on_sent(now, u64::from(payload));
        let mut flags = Data::RETRANSMIT | end_flag(segment.flags);
        // Retransmissions are ECN-capable only where feedback is accurate.
        if payload == 0 {
            flags |= self.bare_flags();
        } else if self.marks.ecn && self.marks.feedback != EcnFeedback::Classic {
            flags |= self.codepoint();
        }
        Data { seq: segment.seq, sent: now, len: payload, flags }
    }

    /// What makes a segment ECN-capable. Who wanted accurate feedback and has none sends no ECT(1) (RFC 9331, section 4.2).
    pub(super) fn codepoint(&self) -> u8 {
        match self.config.ect {
            Ect::One
                if self.marks.feedback == EcnFeedback::Classic && self.wanted_feedback() != EcnFeedback::Classic =>
            {
                Data::ECT
            }
            Ect::Zero => Data::ECT,
            Ect::One => Data::ECT | Data::ECT_1,
        }
    }

    /// The last segment once more.
    pub fn resend_last(&mut self, now: Instant) -> Option<Data> {
        let place = self.board.last()?;
        let segment = self.board.segment(place)?;
        let at = self.recovery.stamp(now, segment.seq);
        Some(self.resend(now, at, place, segment, false))
    }

    #[inline(always)]
    fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.usage.sending = true;
        self.usage.last_sent = now;
        self.stats.segments_sent += u64::from(bytes > 0);
        self.stats.first_sent.get_or_insert(now);
        let weight = self.board.weight(bytes);
        if let Some(prr) = self.state.prr() {
            prr.on_sent(weight);
        }
        if self.timer.deadline == Instant::NEVER {
            self.restart_timer(now);
        }
    }
}
