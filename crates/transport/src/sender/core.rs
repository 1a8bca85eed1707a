//! What a sender consists of, and its application's side.

use super::accecn::{MarkCounters, Marks};
use super::config::{Config, RtoRule};
use super::connection::Step;
use super::episode::State;
use super::offload::Groups;
use super::rate::RateSampler;
use super::recovery::Strategy;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::stats::SenderStats;
use super::tail::Tail;
use super::undo::Undo;
use super::window::Usage;
use crate::congestion::{CongestionControl, Control, EcnFeedback};
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::sync::Arc;

/// A sender under the recovery `R`. In the order of use: what an expected acknowledgement touches comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Core<R> {
    /// Only the windows, and what there is to send, decide what leaves and when: no pacing, groups, probes of the tail or samples
    /// of the delivery rate; and segments carry no hints.
    pub plain: bool,
    pub step: Step,
    pub marks: Marks,
    /// One retransmission goes out whatever the window; as ns-3 has it, one segment.
    pub force: bool,
    /// What [`SenderStats`] say of the beginning is not complete.
    pub notes_window: bool,
    /// The window in force: congestion control's, or that of the episode.
    pub cwnd: u64,
    pub peer: Peer,
    pub timer: Timer,
    pub mss: u64,
    /// Shared by flows of one kind.
    pub config: Arc<Config>,
    /// Only for those who read delivery rates.
    pub rate: Option<Box<RateSampler>>,
    pub usage: Usage,
    pub source: Source,
    pub rtt: RttEstimator,
    pub board: Scoreboard,
    pub recovery: R,
    pub state: State,
    pub stats: SenderStats,
    pub congestion: Control,
    /// `next` at the last reduction.
    pub reduced_at: Option<u64>,
    /// Taken as lost since the start, in bytes.
    pub total_lost: u64,
    pub tail: Tail,
    pub pacing: Pacing,
    /// What is known of reductions, where they may be undone.
    pub undo: Option<Box<Undo>>,
    /// MarkCounters of Accurate ECN, where it is spoken.
    pub ecn_counters: Option<Box<MarkCounters>>,
    /// Where segments leave in groups.
    pub groups: Option<Groups>,
    /// Segments carry [`Hints`](super::Hints).
    pub hints: bool,
}

/// What the application has written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// End of it; `u64::MAX` without end.
    pub written: u64,
    pub closed: bool,
    /// Its last write did not fit.
    pub waits: bool,
    refill: Refill,
}

/// How far an application without end fills the send buffer.
#[derive(Clone, Copy, Debug)]
enum Refill {
    /// It writes by itself, or there is no bound.
    Written,
    /// By so many bytes, whole segments: an application that refills the buffer never has a short one sent.
    Segments(u64),
    /// By writes of `size` into `buffer` bytes.
    Writes { buffer: u64, size: u64 },
    /// Up to `end`, and further by whole `unit`s when a third of `buffer` bytes is free.
    ByThirds { buffer: u64, unit: u64, end: u64 },
}

/// When Linux wakes who waits for room: what is free is at least half of what is held (6.1, `sk_stream_min_wspace`). In a
/// recording of flows of 3 MB in flight, `ss` has 0.667 to 0.984 of the buffer's 4 MiB in use.
#[inline(always)]
fn is_third_free(held: u64, buffer: u64) -> bool {
    held + held / 2 <= buffer
}

/// What is known of the receiver's window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    /// It takes data up to here; `u64::MAX` before the first acknowledgement.
    pub edge: u64,
    /// The largest window that it has offered.
    pub widest: u64,
    /// Probes in a row of a closed window.
    pub probes: u32,
}

/// The retransmission timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    pub deadline: Instant,
    /// Expiries in a row, for the back-off.
    pub backoff: u32,
}

/// The spacing of segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacing {
    /// Segments may be spaced at all.
    pub wanted: bool,
    pub rate: Option<BitRate>,
    pub next: Instant,
    /// Segments of the present burst that may go at once.
    pub burst_left: u32,
    pub waits: bool,
}

impl Source {
    fn new(config: &Config, mss: u64) -> Self {
        let size = config.write_size.map(|size| u64::from(size.get()));
        let refill = match (config.send_buffer.map(Bytes::get), size) {
            (Some(buffer), size) if config.unlimited => {
                let segments = (buffer / mss).max(1) * mss;
                match (config.write_at_once, size) {
                    (true, Some(size)) => Refill::Writes { buffer, size },
                    (true, None) => Refill::Segments(segments),
                    (false, Some(size)) => Refill::ByThirds { buffer, unit: size, end: buffer / size * size },
                    (false, None) => Refill::ByThirds { buffer: segments, unit: mss, end: segments },
                }
            }
            _ => Refill::Written,
        };
        Self { written: if config.unlimited { u64::MAX } else { 0 }, closed: false, waits: false, refill }
    }

    /// There is only `first` for now.
    pub fn hold(&mut self, first: Bytes) {
        self.written = first.get();
    }

    /// From now on there is always some.
    pub fn release(&mut self) {
        if !self.closed {
            self.written = u64::MAX;
        }
    }

    /// End of the data in the send buffer, when the application has heard of all that is acknowledged up to `una`.
    #[inline(always)]
    fn end(&self, una: u64) -> u64 {
        match self.refill {
            Refill::Written => self.written,
            Refill::Segments(bytes) => self.written.min(una + bytes),
            Refill::Writes { buffer, size } => self.written.min((una + buffer) / size * size),
            Refill::ByThirds { end, .. } => self.written.min(end),
        }
    }

    /// Who filled the buffer writes again if a third of it is free now.
    #[inline(always)]
    pub fn on_advance(&mut self, una: u64) {
        if let Refill::ByThirds { buffer, unit, end } = &mut self.refill {
            if is_third_free(end.saturating_sub(una), *buffer) {
                *end = (una + *buffer) / *unit * *unit;
            }
        }
    }
}

impl Pacing {
    /// When the pause ends for which a segment waits.
    #[inline]
    pub fn deadline(&self) -> Instant {
        if self.waits {
            self.next
        } else {
            Instant::NEVER
        }
    }
}

impl<R: Strategy> Core<R> {
    pub fn new(config: Arc<Config>, mut congestion: Control) -> Self {
        let marks = Marks::new(&config, config.ecn_feedback.of(congestion.ecn_feedback()));
        if marks.ecn {
            congestion.on_feedback(marks.feedback);
        }
        let hints = config.ecn && config.ecn_feedback.of(congestion.ecn_feedback()) == EcnFeedback::AccEcn;
        let mss = config.mss.get().clamp(1, u64::from(u32::MAX));
        let paces = congestion.paces() || config.pacing;
        let probes = config.tail_loss_probe || R::NS3;
        Self {
            board: Scoreboard::new(mss, config.window_unit),
            cwnd: congestion.cwnd().get(),
            mss,
            state: State::Open,
            recovery: R::default(),
            undo: (R::BY_TIME && config.undo).then(Box::default),
            source: Source::new(&config, mss),
            peer: Peer { edge: u64::MAX, widest: 0, probes: 0 },
            timer: Timer { deadline: Instant::NEVER, backoff: 0 },
            rtt: RttEstimator::new(&config),
            usage: Usage::default(),
            stats: SenderStats::default(),
            tail: Tail::default(),
            pacing: Pacing {
                wanted: paces,
                rate: congestion.pacing_rate(),
                next: Instant::ZERO,
                burst_left: 0,
                waits: false,
            },
            ecn_counters: marks.counters(),
            marks,
            groups: config.segmentation_offload.then(Groups::default),
            step: if config.handshake { Step::Syn } else { Step::Stream },
            plain: !(paces || probes || config.segmentation_offload || congestion.reads_rates() || hints),
            hints,
            force: false,
            notes_window: true,
            reduced_at: None,
            total_lost: 0,
            rate: congestion.reads_rates().then(Box::default),
            congestion,
            config,
        }
    }

    pub fn give_hints(&mut self) {
        (self.plain, self.hints) = (false, true);
    }

    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        if self.source.waits && !self.may_write_again() {
            return Bytes::ZERO;
        }
        let taken = bytes.min(self.buffer_space());
        self.source.waits = taken < bytes;
        self.source.written += taken.get();
        taken
    }

    fn may_write_again(&self) -> bool {
        let held = self.source.written - self.board.una;
        self.config.write_at_once || self.config.send_buffer.is_none_or(|buffer| is_third_free(held, buffer.get()))
    }

    pub fn pause(&mut self) {
        if !self.source.closed {
            self.source.written = self.board.next;
        }
    }

    pub fn close(&mut self) {
        if self.config.unlimited && !self.source.closed {
            self.source.written = self.board.next;
        }
        self.source.closed = true;
    }

    pub fn buffer_space(&self) -> Bytes {
        match self.config.send_buffer {
            _ if self.source.closed || self.config.unlimited => Bytes::ZERO,
            None => Bytes::new(u64::MAX - 1 - self.source.written),
            Some(buffer) => buffer.saturating_sub(Bytes::new(self.source.written - self.board.una)),
        }
    }

    pub fn finished(&self) -> bool {
        self.source.closed && self.board.una == self.end()
    }

    /// End of the stream of a sender that is closed, its FIN included.
    pub fn end(&self) -> u64 {
        self.source.written + u64::from(self.config.handshake)
    }

    /// End of the data in the send buffer.
    #[inline(always)]
    pub fn data_end(&self) -> u64 {
        self.source.end(self.recovery.known_to_application(self.board.una))
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.congestion.ssthresh().get()
    }

    /// The retransmission timeout, back-off included.
    #[inline(always)]
    pub fn rto(&self) -> Span {
        self.rtt.rto(self.timer.backoff)
    }

    /// When the first of the timers expires.
    #[inline]
    pub fn timer(&self) -> Instant {
        self.tail.at().min(self.timer.deadline)
    }

    /// When the first of the timers expires, and when the pause of pacing ends.
    #[inline]
    pub fn deadlines(&self) -> (Instant, Instant) {
        (self.timer(), self.pacing.deadline())
    }

    /// The timer runs a full timeout from now.
    #[inline(always)]
    pub fn restart_timer(&mut self, now: Instant) {
        let rto = self.rto();
        self.timer.deadline = if R::BY_TIME { self.ticked(now, rto) } else { now + rto };
    }

    /// When a timer of `wait` expires. As Linux: ticks are whole, and count from the last one, so up to one is missing.
    pub fn ticked(&self, now: Instant, wait: Span) -> Instant {
        let tick = self.config.tick.nanos();
        if tick == 0 {
            return now + wait;
        }
        Instant::from_nanos((now.nanos() / tick + wait.nanos().div_ceil(tick)).saturating_mul(tick))
    }

    /// The rule of the timer.
    pub fn rule(&self) -> RtoRule {
        self.config.rto
    }
}
