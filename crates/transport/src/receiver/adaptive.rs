//! When Linux acknowledges: more often after trouble, less often while a hole is open.
//!
//! What Linux 6.1.192 does (`net/ipv4/tcp_input.c`, `tcp_output.c`, `include/net/tcp.h`), in words:
//! * Quick acknowledgements, one for each segment: 16 at the start, and 16 more after a segment that brings nothing new and after
//!   a pause longer than the receiver's own retransmission timeout. Each acknowledgement uses up one (`tcp_incr_quickack`,
//!   `tcp_dec_quickack_mode`).
//! * With ECN, two more after a segment that is not ECN-capable, as it was probably sent again, and at once for one that says that
//!   the window was reduced (`__tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`).
//! * Otherwise at once for every second segment that advances the stream, for one with PSH, and when the last hole is filled.
//! * While a hole is open, the first three acknowledgements after an advance leave at once. From then on one stands for all
//!   segments of a twentieth of the RTT, a millisecond at the most, and the timer's slack of 0.1 ms (`tcp_comp_sack_delay_ns`).
//! * The acknowledgement after a segment that brings nothing new names it in its first block (`tcp_dsack_set`; RFC 2883).
//! * The longest delay adapts to the spacing of segments, from 40 ms up; the RTT limits it, and 200 ms (`icsk_ack.ato`).
//!
//! The RTT is that of the handshake: a receiver of one-way data has no later sample.
//! Deviations: times are not in jiffies, and the growth of the receive window, each step of which makes the next acknowledgement
//! a quick one, is left out.

use super::config::ReceiverConfig;
use crate::ranges::Range;
use crate::segment::{Ack, Data, SackBlock};
use sojourn_units::{Instant, Span};

/// Segments acknowledged at once after the first mark.
pub(super) const QUICK_AFTER_MARK: u64 = 2;
/// The longest delay.
const MOST: Span = Span::from_millis(200);
/// `TCP_RTO_MIN`.
const MIN_RTO: Span = Span::from_millis(200);
/// Acknowledgements that leave at once after an advance.
const AT_ONCE: u32 = 3;
/// The longest that one stands for others, and the slack of its timer.
const COMPRESSED: Span = Span::from_millis(1);
const SLACK: Span = Span::from_micros(100);

/// What the rule needs to know besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adaptive {
    /// When the last segment came, and the last SYN-ACK left.
    last: Instant,
    /// From SYN-ACK to its answer; zero before.
    rtt: Span,
    /// The least delay (`TCP_ATO_MIN`, 40 ms), and that of now.
    least: Span,
    delay: Span,
    /// Acknowledgements since the stream advanced, up to [`AT_ONCE`].
    repeats: u32,
    /// In-order segments since the last acknowledgement.
    in_order: u64,
    /// The timer that runs is of an acknowledgement that stands for several.
    compresses: bool,
    /// A segment was ECN-capable.
    sees_ect: bool,
    /// Segments that brought nothing new so far, and the last of them while it is not reported; empty without any.
    duplicates: u64,
    twice: Range,
}

/// What has become of a segment.
pub(super) struct Arrival {
    pub in_order: bool,
    /// It brought nothing new.
    pub is_old: bool,
    /// A hole was open before, and is open now.
    pub had_holes: bool,
    pub has_holes: bool,
    /// Segments that brought nothing new so far.
    pub duplicates: u64,
    /// The stream is complete.
    pub all: bool,
}

impl Adaptive {
    pub fn new(least: Span) -> Self {
        let (last, rtt) = (Instant::ZERO, Span::ZERO);
        Self {
            last,
            rtt,
            least,
            delay: least,
            repeats: 0,
            in_order: 0,
            compresses: false,
            sees_ect: false,
            duplicates: 0,
            twice: Range::EMPTY,
        }
    }

    /// A SYN-ACK leaves.
    pub fn on_syn_ack(&mut self, now: Instant) {
        self.last = now;
    }

    /// It is answered.
    pub fn on_open(&mut self, now: Instant) {
        self.rtt = now.since(self.last);
        self.last = now;
    }

    /// An acknowledgement leaves; `last`: of the quick ones it is the last.
    pub fn on_ack(&mut self, last: bool) {
        if last {
            self.delay = self.least;
        }
        self.in_order = 0;
        self.compresses = false;
    }

    /// RFC 2883: the first block names what came twice.
    pub fn report_twice(&mut self, ack: &mut Ack) {
        if self.twice.end == 0 {
            return;
        }
        let twice = std::mem::replace(&mut self.twice, Range::EMPTY);
        // Accurate ECN's counters have the place of the third block.
        let blocks = if ack.accurate.has_counters() { 2 } else { 3 };
        ack.sack[..blocks].rotate_right(1);
        ack.sack[0] =
            SackBlock { offset: twice.start.wrapping_sub(ack.ack) as u32, len: (twice.end - twice.start) as u32 };
    }

    /// RFC 6298's timeout with Linux's variation, after one sample.
    fn rto(&self) -> Span {
        self.rtt + MIN_RTO.max(self.rtt * 2)
    }

    /// The delay of the next acknowledgement.
    fn limited(&self) -> Span {
        let most = if self.rtt.is_zero() { MOST } else { self.rtt.max(self.least) };
        self.delay.min(most).min(MOST)
    }

    /// The spacing of segments changes the delay; true after a long pause.
    fn on_spacing(&mut self, now: Instant) -> bool {
        let pause = now.since(self.last);
        self.last = now;
        if pause <= self.least / 2 {
            self.delay = self.delay / 2 + self.least / 2;
        } else if pause < self.delay {
            self.delay = (self.delay / 2 + pause).min(self.rto());
        }
        pause > self.rto() && pause >= self.delay
    }

    /// A segment has arrived: when its acknowledgement is due; `None` for at once. `quick` is how many leave at once.
    #[inline(never)]
    pub fn on_segment(
        &mut self,
        now: Instant,
        data: &Data,
        arrival: &Arrival,
        config: &ReceiverConfig,
        quick: &mut u64,
    ) -> Option<Instant> {
        let most = config.quick_acks.get();
        if arrival.duplicates > self.duplicates {
            self.duplicates = arrival.duplicates;
            if config.sack {
                self.twice = Range { start: data.seq, end: data.end() };
            }
        }
        if arrival.is_old {
            self.delay = self.least;
            *quick = (*quick).max(most);
        } else if self.on_spacing(now) {
            *quick = (*quick).max(most);
        }
        if data.has(Data::ECT) {
            self.sees_ect = true;
        } else if self.sees_ect {
            self.delay = self.least;
            *quick = (*quick).max(QUICK_AFTER_MARK);
        }
        if arrival.in_order {
            self.in_order += 1;
            self.repeats = 0;
        }
        let filled = arrival.had_holes && !arrival.has_holes;
        let pushed = data.has(Data::PUSH) && config.read_rate.is_none() && arrival.in_order;
        let enough = self.in_order >= config.ack_every.get();
        let reduced = data.has(Data::CWR);
        if arrival.is_old || filled || pushed || enough || reduced || arrival.all || *quick > 0 {
            return None;
        }
        if !arrival.has_holes {
            return Some(now + self.limited());
        }
        if self.repeats < AT_ONCE {
            self.repeats += 1;
            return None;
        }
        self.compresses = true;
        let share = if self.rtt.is_zero() { COMPRESSED } else { COMPRESSED.min(self.rtt / 20) };
        Some(now + share + SLACK)
    }

    /// The delay has run out.
    pub fn stretch_delay(&mut self) {
        if !self.compresses {
            self.delay = (self.delay * 2).min(self.rto());
        }
    }
}
