//! The sending side: what to send now, and what an acknowledgement or the timer means.
//!
//! Texts: RFC 9293 (transmission), RFC 5681, 6582, 6675 (recovery), 3042 (limited transmit), 6937 (PRR), 6298 (timer),
//! 3168 (ECN), 7661 in Linux's form (window validation). Work: amortised O(1) a segment sent or acknowledged.
//!
//! Where texts and implementations differ:
//! * The window is counted in bytes, also where an algorithm counts segments: small segments weigh what they are (Linux counts packets).
//! * Without SACK, a duplicate acknowledgement takes one segment out of `pipe` instead of adding one to `cwnd` (RFC 5681's inflation):
//!   the same transmissions, and PRR and ECN need no second set of rules.
//! * Without SACK, no fast retransmit before the cumulative acknowledgement has passed all that was outstanding at the last reduction
//!   (RFC 6582's `recover`; ns-2's `bugFix_`), for `Recovery::Reno` too, for which RFC 5681 asks no such care.
//! * RFC 6675's rescue retransmission, F-RTO, tail-loss probes and RACK are not part of it: a lost retransmission waits for the timer.
//! * As Linux, `ssthresh` is not reduced again by a timeout within a recovery that already reduced it.
//! * The timer has no granularity (Linux: one jiffy).

mod config;
mod rate;
mod rtt;
mod scoreboard;
mod stats;
mod window;

pub use config::{Config, Recovery, RtoRule};
pub use stats::SenderStats;

use crate::transport::congestion::{AckEvent, CongestionControl, CongestionEvent, Signal};
use crate::transport::ranges::Range;
use crate::transport::segment::{Ack, Data, DATA_HEADER};
use rate::RateSampler;
use rtt::RttEstimator;
use scoreboard::{Progress, Scoreboard, Segment, DUP_THRESH, LAST, REPEATED, RESENT};
use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};
use window::{Prr, Usage};

/// Where the sender stands towards congestion.
#[derive(Clone, Copy, Debug)]
enum State {
    /// No episode.
    Open,
    /// Reducing in answer to a mark, until something sent after `point` is acknowledged.
    Reducing { point: u64, prr: Option<Prr> },
    /// Fast recovery, until `point` is acknowledged.
    Recovery { point: u64, prr: Option<Prr> },
    /// After a timeout, until `point` is acknowledged.
    Loss { point: u64 },
}

/// A TCP sender.
#[derive(Clone, Debug)]
pub struct Sender {
    config: Config,
    congestion: Box<dyn CongestionControl>,
    state: State,
    board: Scoreboard,
    rate: RateSampler,
    rtt: RttEstimator,
    usage: Usage,
    stats: SenderStats,
    mss: u64,
    /// The window in force: congestion control's, or that of the episode.
    cwnd: u64,
    /// The receiver takes data up to here; unknown before the first acknowledgement.
    receiver_edge: Option<u64>,
    /// End of what the application has written.
    written: u64,
    closed: bool,
    duplicates: u32,
    /// Without SACK: bytes that duplicate acknowledgements have reported and no cumulative one has confirmed.
    anonymous: u64,
    /// `next` at the last reduction.
    reduced_at: Option<u64>,
    /// One retransmission goes out whatever the window.
    force: bool,
    /// The next new segment carries CWR.
    announce_reduction: bool,
    /// Something was sent since the last pause.
    sending: bool,
    last_sent: Instant,
    rto_deadline: Instant,
    /// Expiries in a row, for the back-off.
    backoff: u32,
    /// Expiries since the cumulative acknowledgement last advanced.
    expiries: u32,
    ce_packets: u16,
    pacing_rate: Option<BitRate>,
    next_paced: Instant,
    pacing_waits: bool,
}

impl Sender {
    /// A sender at the start of its stream.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self::with_congestion_control(
            config,
            (config.congestion_control.build)(&config.parameters()),
        )
    }

    /// As [`Sender::new`], with an algorithm that is not in the registry.
    #[must_use]
    pub fn with_congestion_control(config: Config, congestion: Box<dyn CongestionControl>) -> Self {
        let mss = config.mss.get().clamp(1, u64::from(u32::MAX));
        Self {
            state: State::Open,
            board: Scoreboard::new(mss),
            rate: RateSampler::default(),
            rtt: RttEstimator::new(&config),
            usage: Usage::default(),
            stats: SenderStats::default(),
            mss,
            cwnd: congestion.cwnd().get(),
            receiver_edge: None,
            written: 0,
            closed: false,
            duplicates: 0,
            anonymous: 0,
            reduced_at: None,
            force: false,
            announce_reduction: false,
            sending: false,
            last_sent: Instant::ZERO,
            rto_deadline: Instant::NEVER,
            backoff: 0,
            expiries: 0,
            ce_packets: 0,
            pacing_rate: congestion.pacing_rate(),
            next_paced: Instant::ZERO,
            pacing_waits: false,
            congestion,
            config,
        }
    }

    // The application's side.

    /// The application hands over `bytes`; returns how many the send buffer took.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        if self.closed || self.config.unlimited {
            return Bytes::ZERO;
        }
        let taken = bytes.min(self.buffer_space());
        self.written += taken.get();
        taken
    }

    /// No more data will be written; an unlimited source ends with what it has sent.
    pub fn close(&mut self) {
        if self.config.unlimited {
            self.config.unlimited = false;
            self.written = self.board.next;
        }
        self.closed = true;
    }

    /// What [`Sender::write`] would take.
    #[must_use]
    pub fn buffer_space(&self) -> Bytes {
        match self.config.send_buffer {
            _ if self.closed || self.config.unlimited => Bytes::ZERO,
            None => Bytes::new(u64::MAX - self.written),
            Some(buffer) => buffer.saturating_sub(Bytes::new(self.written - self.board.una)),
        }
    }

    /// Closed, and everything written is acknowledged.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.closed && self.board.una == self.written
    }

    /// End of the data that may be sent as far as the application goes.
    fn data_end(&self) -> u64 {
        if !self.config.unlimited {
            return self.written;
        }
        match self.config.send_buffer {
            None => u64::MAX,
            // Whole segments: an application that always has data never sends a short one.
            Some(buffer) => self.board.una + (buffer.get() / self.mss).max(1) * self.mss,
        }
    }

    // The network's side: out.

    /// The next segment to send now; `None` when nothing may be sent. To be called until it says so.
    pub fn poll(&mut self, now: Instant) -> Option<Data> {
        self.pacing_waits = false;
        if self.board.pending() > 0
            && matches!(self.state, State::Recovery { .. } | State::Loss { .. })
        {
            return self.poll_lost(now);
        }
        let seq = self.board.next;
        let available = self.data_end().saturating_sub(seq);
        if available == 0 {
            return self.poll_idle(now);
        }
        let len = available.min(self.mss);
        if self.occupied() + len > self.cwnd {
            return self.stop(now, true);
        }
        let room = self
            .receiver_edge
            .map_or(u64::MAX, |edge| edge.saturating_sub(seq));
        let len = if len <= room {
            len
        } else if self.board.flight() == 0 && room > 0 {
            room
        } else {
            return self.poll_doubtful(now);
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
        Some(self.send_new(now, seq, len))
    }

    /// RFC 6675's `NextSeg`, rule 1; new data waits behind it.
    fn poll_lost(&mut self, now: Instant) -> Option<Data> {
        let segment = *self.board.next_lost()?;
        let len = u64::from(segment.len);
        if !self.force && self.board.pipe() + len > self.cwnd {
            return self.stop(now, true);
        }
        if self.paced(now, len) {
            return self.stop(now, false);
        }
        let nothing_in_flight = self.board.pipe() == 0;
        let data = Self::resend(
            self.board.next_lost()?,
            now,
            &mut self.rate,
            nothing_in_flight,
        );
        self.on_resent(now, &segment);
        Some(data)
    }

    /// The application has nothing to send.
    fn poll_idle(&mut self, now: Instant) -> Option<Data> {
        let pipe = self.board.pipe();
        if pipe + self.mss <= self.cwnd {
            self.rate.on_app_limited(pipe);
        }
        self.poll_doubtful(now)
    }

    /// No new data may be sent: in recovery `NextSeg`'s rule 3, else the end of sending for now.
    fn poll_doubtful(&mut self, now: Instant) -> Option<Data> {
        if matches!(self.state, State::Recovery { .. }) && self.config.recovery == Recovery::Sack {
            if let Some(segment) = self.board.next_doubtful().map(|s| *s) {
                let len = u64::from(segment.len);
                if self.board.pipe() + len <= self.cwnd && !self.paced(now, len) {
                    let data =
                        Self::resend(self.board.next_doubtful()?, now, &mut self.rate, false);
                    self.on_resent(now, &segment);
                    return Some(data);
                }
            }
        }
        self.stop(now, self.board.pipe() + self.mss > self.cwnd)
    }

    /// Sending pauses; `limited` says that the window is full.
    fn stop(&mut self, now: Instant, limited: bool) -> Option<Data> {
        if !self.sending && !limited {
            return None;
        }
        self.sending = false;
        self.usage.observe(limited, self.board.una, self.board.next);
        if self.usage.is_limited(self.cwnd, self.in_slow_start()) {
            self.usage.full(now);
            return None;
        }
        let unused = self.usage.partial(now, self.board.flight()) >= self.rtt.rto(self.backoff);
        // A full send buffer means that the application would have sent more.
        let starved = self.buffer_space() > Bytes::ZERO;
        if unused
            && starved
            && self.config.slow_start_after_idle
            && matches!(self.state, State::Open)
        {
            let initial = self.config.initial_window.get() * self.mss;
            let used = self.usage.restart(now).max(initial);
            if used < self.cwnd {
                self.set_window((self.cwnd + used) / 2);
            }
        }
        None
    }

    /// RFC 2861: a window not used at all decays by half a timeout, to the initial one at the least.
    fn restart_after_idle(&mut self, now: Instant) {
        let idle = now.since(self.last_sent);
        if self.stats.segments_sent == 0 || idle.is_zero() {
            return;
        }
        self.congestion.on_restart(now, idle);
        let rto = self.rtt.rto(self.backoff);
        if !self.config.slow_start_after_idle || idle <= rto || !matches!(self.state, State::Open) {
            return;
        }
        let floor = (self.config.initial_window.get() * self.mss).min(self.cwnd);
        let periods = ((idle.nanos() - 1) / rto.nanos().max(1)).min(63);
        self.set_window((self.cwnd >> periods).max(floor));
        self.usage.restart(now);
    }

    /// A window unused is forgotten, but three quarters of it stay the threshold.
    fn set_window(&mut self, cwnd: u64) {
        let remembered = Bytes::new(self.cwnd / 2 + self.cwnd / 4);
        self.congestion
            .set_ssthresh(self.congestion.ssthresh().max(remembered));
        self.congestion.set_cwnd(Bytes::new(cwnd));
        self.cwnd = self.congestion.cwnd().get();
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.congestion.ssthresh().get()
    }

    /// What counts against the window for new data.
    fn occupied(&self) -> u64 {
        // Without limited transmit, duplicate acknowledgements open the window only in recovery.
        if !self.config.limited_transmit && matches!(self.state, State::Open) {
            self.board.flight()
        } else {
            self.board.pipe()
        }
    }

    /// True when pacing holds the next segment back.
    fn paced(&mut self, now: Instant, len: u64) -> bool {
        let Some(rate) = self.pacing_rate else {
            return false;
        };
        if now < self.next_paced {
            self.pacing_waits = true;
            return true;
        }
        self.next_paced = now + rate.time_for(Bytes::new(len) + DATA_HEADER);
        false
    }

    fn send_new(&mut self, now: Instant, seq: u64, len: u64) -> Data {
        let last = self.closed && seq + len == self.written;
        let mut segment = Segment {
            seq,
            sent: now,
            delivered: 0,
            delivered_at: now,
            first_sent: now,
            len: len as u32,
            flags: if last { LAST } else { 0 },
        };
        self.rate.on_send(&mut segment, self.board.flight() == 0);
        self.board.push(segment);
        let mut flags = if last { Data::FIN } else { 0 };
        if self.config.ecn {
            flags |= Data::ECT;
            if std::mem::take(&mut self.announce_reduction) {
                flags |= Data::CWR;
            }
        }
        self.on_sent(now, len);
        Data {
            seq,
            sent: now,
            len: segment.len,
            flags,
        }
    }

    fn resend(
        segment: &mut Segment,
        now: Instant,
        rate: &mut RateSampler,
        nothing_in_flight: bool,
    ) -> Data {
        segment.flags |= RESENT | REPEATED;
        segment.sent = now;
        rate.on_send(segment, nothing_in_flight);
        let fin = if segment.flags & LAST != 0 {
            Data::FIN
        } else {
            0
        };
        Data {
            seq: segment.seq,
            sent: now,
            len: segment.len,
            flags: Data::RETRANSMIT | fin,
        }
    }

    fn on_resent(&mut self, now: Instant, before: &Segment) {
        self.force = false;
        self.board.on_resent(before);
        self.stats.segments_retransmitted += 1;
        if self.board.is_first(before.seq) {
            self.rto_deadline = Instant::NEVER;
        }
        self.on_sent(now, u64::from(before.len));
    }

    fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.sending = true;
        self.last_sent = now;
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += Bytes::new(bytes);
        self.stats.first_sent.get_or_insert(now);
        if let State::Recovery { prr: Some(prr), .. } | State::Reducing { prr: Some(prr), .. } =
            &mut self.state
        {
            prr.on_sent(bytes);
        }
        if self.rto_deadline == Instant::NEVER {
            self.rto_deadline = now + self.rtt.rto(self.backoff);
        }
    }

    /// When to call [`Sender::on_timer`]; it may move earlier as well as later at any call.
    #[must_use]
    pub fn timer(&self) -> Instant {
        self.rto_deadline
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

    // The network's side: in.

    /// The retransmission timer; too early a call does nothing.
    pub fn on_timer(&mut self, now: Instant) {
        if now < self.rto_deadline {
            return;
        }
        if self.board.flight() == 0 {
            self.rto_deadline = Instant::NEVER;
            return;
        }
        let reduce = match self.state {
            State::Open => true,
            State::Reducing { .. } | State::Recovery { .. } => false,
            State::Loss { .. } => self.expiries == 0,
        };
        if reduce {
            let event = CongestionEvent {
                now,
                signal: Signal::Timeout,
                in_flight: Bytes::new(self.board.pipe()),
            };
            self.congestion.on_congestion(&event);
        }
        self.congestion.on_rto(now);
        self.board.mark_all_lost();
        self.anonymous = 0;
        self.duplicates = 0;
        self.stats.timeouts += 1;
        self.expiries += 1;
        self.backoff += 1;
        self.force = true;
        self.next_paced = now;
        self.announce_reduction = true;
        self.reduced_at = Some(self.board.next);
        self.state = State::Loss {
            point: self.board.next,
        };
        self.cwnd = self.congestion.cwnd().get();
        self.rto_deadline = now + self.rtt.rto(self.backoff);
    }

    /// An acknowledgement has arrived.
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) {
        let before = self.board.una;
        if ack.ack < before || ack.ack > self.board.next {
            return;
        }
        let advanced = ack.ack > before;
        let edge = ack.ack + u64::from(ack.window);
        self.receiver_edge = Some(self.receiver_edge.map_or(edge, |known| known.max(edge)));

        let mut progress = Progress::default();
        if advanced {
            self.board
                .cumulative(ack.ack, now, &mut progress, &mut self.rate);
            self.stats.bytes_acked += Bytes::new(ack.ack - before);
        }
        if self.config.recovery != Recovery::Sack {
            self.anonymous_duplicates(now, advanced, &mut progress);
        } else if ack.sack[0].len > 0 {
            for block in ack.sack.iter().take_while(|block| block.len > 0) {
                let start = ack.ack + u64::from(block.offset);
                let range = Range {
                    start,
                    end: start + u64::from(block.len),
                };
                self.board.sack(range, now, &mut progress, &mut self.rate);
            }
            if progress.sacked > 0 {
                self.board.judge(&mut progress);
            }
        }
        self.count_duplicates(advanced, &progress);
        let rtt = self.take_rtt(now, advanced, ack, &progress);
        if advanced {
            self.expiries = 0;
        }

        self.advance(now, advanced, ack.ece, &mut progress);

        let ce_packets = ack
            .ce_packets
            .wrapping_sub(std::mem::replace(&mut self.ce_packets, ack.ce_packets));
        if progress.delivered() > 0 || ce_packets > 0 || ack.ece {
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
                one_way_delay: self
                    .config
                    .timestamps
                    .then(|| ack.received_at.since(ack.echo)),
                rate: self.rate.finish(self.rtt.min),
                delivered: Bytes::new(self.rate.delivered),
                in_flight: Bytes::new(self.board.pipe()),
                una: self.board.una,
                next: self.board.next,
                may_grow: advanced && !reducing,
                cwnd_limited: self.usage.is_limited(self.cwnd, self.in_slow_start()),
                ece: ack.ece,
                ce_packets: Packets::new(u64::from(ce_packets)),
            };
            self.congestion.on_ack(&event);
            self.pacing_rate = self.congestion.pacing_rate();
            if !reducing || self.congestion.controls_recovery() {
                self.cwnd = self.congestion.cwnd().get();
            }
        }
        if advanced {
            let idle = self.board.flight() == 0;
            self.rto_deadline = if idle {
                Instant::NEVER
            } else {
                now + self.rtt.rto(self.backoff)
            };
        }
        #[cfg(debug_assertions)]
        if self.board.len() <= 256 || self.stats.rtt_samples % 64 == 0 {
            self.board.verify(self.config.recovery == Recovery::Sack);
        }
    }

    /// Without SACK: what duplicate acknowledgements say, and what a cumulative one makes of it.
    fn anonymous_duplicates(&mut self, now: Instant, advanced: bool, progress: &mut Progress) {
        if advanced {
            // One segment filled the hole; the rest had been reported by duplicates.
            let known = self.anonymous.min(progress.acked.saturating_sub(self.mss));
            self.rate.retract(known);
            progress.acked -= known;
            progress.acked_packets = progress
                .acked_packets
                .saturating_sub(known / self.mss)
                .max(1);
            self.anonymous -= known;
            if !matches!(self.state, State::Recovery { .. }) {
                self.anonymous = 0;
            }
        } else if self.board.flight() > 0 && !matches!(self.state, State::Loss { .. }) {
            let most = self.board.flight() - self.mss.min(self.board.flight());
            let counted = self.mss.min(most.saturating_sub(self.anonymous));
            self.anonymous += counted;
            self.rate.on_anonymous(counted, now);
            progress.sacked += counted;
            progress.sacked_packets += u64::from(counted > 0);
        }
        self.credit();
    }

    /// Limited transmit: outside recovery two duplicates count.
    fn credit(&mut self) {
        let bound = if matches!(self.state, State::Recovery { .. }) {
            u64::MAX
        } else {
            2 * self.mss
        };
        if self.anonymous > 0 || self.board.credit() > 0 {
            self.board.set_credit(self.anonymous.min(bound));
        }
    }

    fn count_duplicates(&mut self, advanced: bool, progress: &Progress) {
        if advanced {
            self.duplicates = 0;
        } else if progress.sacked > 0 {
            self.duplicates += 1;
        }
    }

    /// RTT of this acknowledgement for the timer, and of its most recent segment for congestion control.
    fn take_rtt(
        &mut self,
        now: Instant,
        advanced: bool,
        ack: &Ack,
        progress: &Progress,
    ) -> Option<Span> {
        let acked_sent = if progress.ambiguous {
            None
        } else {
            progress.acked_sent
        };
        let sent = acked_sent.or(progress.sacked_sent);
        let oldest = if advanced && self.config.timestamps {
            Some(now.since(ack.echo))
        } else {
            sent.map(|(first, _)| now.since(first))
        };
        let newest = sent.map(|(_, last)| now.since(last));
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
    fn advance(&mut self, now: Instant, advanced: bool, ece: bool, progress: &mut Progress) {
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
        let may_enter = matches!(self.state, State::Open | State::Reducing { .. });
        if may_enter && self.loss_detected() {
            self.enter_recovery(now, progress);
        }
        if ece
            && self.config.ecn
            && matches!(self.state, State::Open)
            && self.reduced_at.is_none_or(|at| una > at)
        {
            self.stats.ecn_reductions += 1;
            let prr = self.reduce(now, Signal::Ecn);
            self.state = State::Reducing {
                point: self.board.next,
                prr,
            };
        }
        let safe = advanced && progress.lost == 0;
        if let State::Recovery { prr: Some(prr), .. } | State::Reducing { prr: Some(prr), .. } =
            &mut self.state
        {
            if progress.delivered() > 0 {
                let ssthresh = self.congestion.ssthresh().get();
                self.cwnd = prr.on_ack(
                    progress.delivered(),
                    safe,
                    self.board.pipe(),
                    ssthresh,
                    self.mss,
                );
            }
        }
    }

    fn loss_detected(&self) -> bool {
        if self.config.recovery == Recovery::Sack {
            self.board.has_lost() || (self.duplicates >= DUP_THRESH && self.board.has_sacks())
        } else {
            self.duplicates >= DUP_THRESH && self.reduced_at.is_none_or(|at| self.board.una > at)
        }
    }

    fn enter_recovery(&mut self, now: Instant, progress: &mut Progress) {
        self.stats.fast_retransmits += 1;
        let prr = match self.state {
            State::Reducing { prr, .. } => prr,
            _ => self.reduce(now, Signal::Loss),
        };
        self.state = State::Recovery {
            point: self.board.next,
            prr,
        };
        if !self.board.has_lost() {
            self.board.mark_first_lost(progress);
        }
        self.credit();
        self.force = true;
    }

    /// Asks congestion control for the new threshold; without PRR the window follows at once.
    fn reduce(&mut self, now: Instant, signal: Signal) -> Option<Prr> {
        let event = CongestionEvent {
            now,
            signal,
            in_flight: Bytes::new(self.board.pipe()),
        };
        let prr = Prr::new(self.cwnd);
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

    fn leave_reduction(&mut self, now: Instant) {
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

    // Looking in.

    /// The window in force.
    #[must_use]
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    /// Slow-start threshold; `u64::MAX` bytes when unset.
    #[must_use]
    pub fn ssthresh(&self) -> Bytes {
        self.congestion.ssthresh()
    }

    /// Smoothed RTT; zero before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Span {
        self.rtt.srtt()
    }

    /// The retransmission timeout, back-off included.
    #[must_use]
    pub fn rto(&self) -> Span {
        self.rtt.rto(self.backoff)
    }

    /// In flight: sent, neither acknowledged nor SACKed nor lost (RFC 6675's pipe).
    #[must_use]
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.board.pipe())
    }

    /// Everything before this offset is acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> Bytes {
        Bytes::new(self.board.una)
    }

    /// Counts since the start.
    #[must_use]
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// Parameters.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The algorithm, for its name and internals.
    #[must_use]
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        &*self.congestion
    }
}

// 100,000 flows must fit.
const _: () = assert!(size_of::<Sender>() <= 1024);
