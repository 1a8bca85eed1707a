//! The receiving side: reassembly, and when to acknowledge what.
//!
//! Texts: RFC 5681, section 4.2 (delayed acknowledgements), RFC 2018 (SACK), RFC 7323, section 4.3 (which timestamp to echo),
//! RFC 3168 (ECE until CWR), RFC 8257, section 3.2 (ECE as the segments acknowledged were marked) or RFC 9768 (counters), RFC 9293, sections 3.5 and
//! 3.6 (SYN-ACK and FIN, with `connection`) and 3.8.6 (the window of a reader, with `reader`).
//! As Linux: the first segments of a connection are acknowledged one by one, and so are the first after a mark. More of Linux's
//! rule is in `adaptive`; without it the delay is fixed and duplicate acknowledgements are not thinned out.
//! Deviation: every segment counts towards `ack_every` whatever its size (Linux: bytes of two full segments).
//! A receiver that never sees a SYN takes the stream as it comes, as ns-2's one-way agents do. Work: O(log n) in the number of holes.

mod adaptive;
mod config;
mod connection;
mod reader;
mod stats;

pub use config::{AckPolicy, ReceiverConfig};
pub use stats::ReceiverStats;

use crate::congestion::EcnFeedback;
use crate::ranges::{Range, Ranges};
use crate::segment::{ace_of, Accurate, Ack, Control, Counters, Data, SackBlock, ACE_AT_START, ACE_MASK};
use adaptive::{Adaptive, Arrival, QUICK_AFTER_MARK};
use connection::Connection;
use reader::Reader;
use sojourn_aqm::Ecn;
use sojourn_units::{Bytes, Instant};
use std::sync::Arc;

/// What to do after a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckAction {
    /// Nothing to send.
    None,
    /// Nothing to send before this time, the timer's.
    Delay(Instant),
    /// Send this.
    Now(Ack),
}

/// SACK blocks remembered, most recent first; one more than is sent, as a merge may swallow some.
const REMEMBERED: usize = 4;

/// Marked packets after which Accurate ECN acknowledges at once (RFC 9768, 3.2.2.5.1: 2 where data is unacknowledged).
const CE_BEFORE_ACK: u8 = 2;

/// A TCP receiver. In the order of use: what each segment touches comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    /// Everything before this offset has arrived.
    next: u64,
    /// Shared by flows of one kind.
    config: Arc<ReceiverConfig>,
    /// Segments not yet acknowledged.
    unacked: u64,
    quick: u64,
    /// Of the delayed acknowledgement.
    deadline: Instant,
    /// RFC 7323's Last.ACK.sent and TS.Recent.
    last_ack: u64,
    echo: Instant,
    echo_arrived: Instant,
    /// Right edge of the window offered: it never moves left.
    edge: u64,
    /// Feedback is classic, the application reads at once, the rule is RFC 5681's, the connection is open and its end unknown.
    plain: bool,
    ece: bool,
    /// ECN was agreed on, or there was no handshake.
    ecn: bool,
    /// What both sides speak.
    feedback: EcnFeedback,
    /// How the SYN arrived.
    syn_ecn: Ecn,
    /// Marked packets since the last acknowledgement.
    ce_unacked: u8,
    /// Counters of Accurate ECN: packets, and bytes.
    ce_packets: u8,
    out_of_order: Ranges,
    stats: ReceiverStats,
    counters: Counters,
    /// Ranges of `out_of_order`, the most recently changed first; empty ones last.
    recent: [Range; REMEMBERED],
    /// Of a window update, SYN-ACK or FIN, whichever is first.
    other: Instant,
    /// End of the stream, its FIN included.
    fin: Option<u64>,
    /// What of `fin` is a FIN: 0 or 1.
    fin_place: u64,
    connection: Connection,
    reader: Option<Box<Reader>>,
    /// Of Linux's rule.
    adaptive: Option<Box<Adaptive>>,
}

impl Receiver {
    /// A receiver at the start of the stream.
    #[must_use]
    pub fn new(config: impl Into<Arc<ReceiverConfig>>) -> Self {
        let config = config.into();
        Self {
            next: 0,
            out_of_order: Ranges::default(),
            recent: [Range::EMPTY; REMEMBERED],
            edge: config.space(),
            unacked: 0,
            deadline: Instant::NEVER,
            other: Instant::NEVER,
            quick: config.quick_acks.get(),
            last_ack: 0,
            echo: Instant::ZERO,
            echo_arrived: Instant::ZERO,
            ece: false,
            ecn: true,
            feedback: config.ecn_feedback,
            syn_ecn: Ecn::NotEct,
            ce_packets: ACE_AT_START,
            counters: Counters { marked: 0, unmarked: 1 },
            ce_unacked: 0,
            fin: None,
            fin_place: 0,
            plain: config.ecn_feedback == EcnFeedback::Classic
                && config.read_rate.is_none()
                && config.ack_policy == AckPolicy::Rfc,
            connection: Connection::default(),
            reader: config.read_rate.map(|rate| Box::new(Reader::new(rate))),
            adaptive: (config.ack_policy == AckPolicy::Linux).then(|| Box::new(Adaptive::new(config.ack_delay))),
            stats: ReceiverStats::default(),
            config,
        }
    }

    /// To be called before [`Receiver::on_data`]: an acknowledgement that must leave first, so that none acknowledges
    /// marked and unmarked segments together (RFC 8257, section 3.2, with two acknowledgements at a change as it allows
    /// and Linux does). CWR needs no answer here: the mark of the same segment is taken after it.
    pub fn on_codepoint(&mut self, ce: bool) -> Option<Ack> {
        if self.feedback != EcnFeedback::Accurate || ce == self.ece || !self.ecn {
            return None;
        }
        let before = (self.unacked > 0).then(|| self.acknowledge_apart());
        self.ece = ce;
        self.quick = self.quick.max(1);
        before
    }

    /// A segment arrives, marked `ce` or not.
    #[inline]
    pub fn on_data(&mut self, now: Instant, data: &Data, ce: bool) -> AckAction {
        if self.expects(data, ce) {
            self.on_expected_data(now, data)
        } else {
            self.on_other_data(now, data, ce)
        }
    }

    /// As [`Receiver::on_data`], as if none were expected.
    #[cfg(test)]
    pub fn on_data_by_the_book(&mut self, now: Instant, data: &Data, ce: bool) -> AckAction {
        self.on_any_data(now, data, ce)
    }

    /// It is the next of the stream, nothing is missing before it, and it says nothing else.
    #[inline(always)]
    pub fn expects(&self, data: &Data, ce: bool) -> bool {
        data.seq == self.next && self.is_plain(data, ce) && self.out_of_order.is_empty()
    }

    /// It says nothing but its place in the stream, and nothing else is to be seen to.
    #[inline(always)]
    fn is_plain(&self, data: &Data, ce: bool) -> bool {
        const SAYS: u8 = Data::CWR | Data::FIN | Data::SYN | Data::LAST;
        self.plain && !ce && data.len > 0 && data.flags & SAYS == 0
    }

    /// As [`Receiver::on_data`], of one that is not expected.
    #[inline(always)]
    pub fn on_other_data(&mut self, now: Instant, data: &Data, ce: bool) -> AckAction {
        if !self.is_plain(data, ce) {
            return self.on_any_data(now, data, ce);
        }
        self.count(now, data);
        let had_holes = !self.out_of_order.is_empty();
        let in_order = self.place(data);
        self.answer(now, !in_order || had_holes)
    }

    /// As [`Receiver::on_data`], of one that is expected: nearly all are.
    #[inline(always)]
    pub fn on_expected_data(&mut self, now: Instant, data: &Data) -> AckAction {
        self.stats.segments += 1;
        // Nothing has arrived behind Last.ACK.sent.
        if self.unacked == 0 && data.sent >= self.echo {
            (self.echo, self.echo_arrived) = (data.sent, now);
        }
        self.next += u64::from(data.len);
        self.unacked += 1;
        if self.quick > 0 || self.unacked >= self.config.ack_every.get() {
            return AckAction::Now(self.acknowledge_expected());
        }
        if self.deadline == Instant::NEVER {
            self.deadline = now + self.config.ack_delay;
            return AckAction::Delay(self.deadline);
        }
        AckAction::None
    }

    /// As [`Receiver::acknowledge`], of a segment that was expected: the whole buffer is free.
    #[inline(always)]
    fn acknowledge_expected(&mut self) -> Ack {
        let window = self.config.space();
        self.quick = self.quick.saturating_sub(self.unacked);
        self.unacked = 0;
        self.deadline = Instant::NEVER;
        self.last_ack = self.next;
        self.edge = self.next + window;
        self.stats.acks += 1;
        Ack {
            ack: self.next,
            echo: self.echo,
            received_at: self.echo_arrived,
            window: window as u32,
            ece: self.ece,
            ..Ack::default()
        }
    }

    /// As [`Receiver::on_data`], of any.
    #[inline(never)]
    fn on_any_data(&mut self, now: Instant, data: &Data, ce: bool) -> AckAction {
        if let Some(reader) = &mut self.reader {
            reader.read(now, self.next);
        }
        if data.is_bare() || data.has(Data::SYN) || !self.connection.is_open() {
            if let Some(action) = self.on_connection(now, data, ce) {
                self.plan();
                return action;
            }
        }
        let action = self.on_segment(now, data, ce);
        if self.reader.is_some() {
            self.plan();
        }
        action
    }

    /// A segment of data, or a FIN.
    #[inline(always)]
    fn on_segment(&mut self, now: Instant, data: &Data, ce: bool) -> AckAction {
        self.take_mark(data, ce);
        self.count(now, data);
        let fin_again = data.has(Data::FIN | Data::LAST) && self.take_fin(data);
        let (before, had_holes) = (self.next, !self.out_of_order.is_empty());
        let in_order = self.place(data);
        if fin_again {
            // It was counted among what had arrived before, and is not payload.
            self.stats.duplicate_bytes = self.stats.duplicate_bytes.saturating_sub(Bytes::new(1));
        }

        let all = self.fin == Some(self.next);
        if all && self.fin_place > 0 {
            self.connection.close(&self.config, now);
            self.plan();
        }
        if self.adaptive.is_some() {
            let is_old = data.end() <= before;
            let (has_holes, duplicates) = (!self.out_of_order.is_empty(), self.stats.duplicate_segments);
            return self.adapt(now, data, &Arrival { in_order, is_old, had_holes, has_holes, duplicates, all });
        }
        self.answer(now, !in_order || had_holes || all)
    }

    /// RFC 7323, 4.3: whose timestamp to echo.
    #[inline(always)]
    fn count(&mut self, now: Instant, data: &Data) {
        self.stats.segments += 1;
        self.unacked += 1;
        if data.seq <= self.last_ack && data.sent >= self.echo {
            (self.echo, self.echo_arrived) = (data.sent, now);
        }
    }

    /// Where a segment belongs in the stream; true when this goes on with it.
    #[inline(always)]
    fn place(&mut self, data: &Data) -> bool {
        let (before, end) = (self.next, data.end());
        if end <= before {
            self.duplicate(end - data.seq);
            self.stats.duplicate_segments += 1;
            return false;
        }
        if data.seq > before {
            self.hold(data);
            return false;
        }
        self.duplicate(before - data.seq);
        self.next = end;
        if !self.out_of_order.is_empty() {
            self.fill(end);
        }
        true
    }

    /// RFC 5681, 4.2: at once, or with the next segment, or after the delay.
    #[inline(always)]
    fn answer(&mut self, now: Instant, at_once: bool) -> AckAction {
        if at_once || self.quick > 0 || self.unacked >= self.config.ack_every.get() {
            return AckAction::Now(self.acknowledge());
        }
        if self.deadline == Instant::NEVER {
            self.deadline = now + self.config.ack_delay;
            return AckAction::Delay(self.deadline);
        }
        AckAction::None
    }

    /// As [`Receiver::answer`], by Linux's rule.
    fn adapt(&mut self, now: Instant, data: &Data, arrival: &Arrival) -> AckAction {
        let Some(rule) = &mut self.adaptive else { return AckAction::None };
        let Some(due) = rule.on_segment(now, data, arrival, &self.config, &mut self.quick) else {
            return AckAction::Now(self.acknowledge_apart());
        };
        if due >= self.deadline {
            return AckAction::None;
        }
        self.deadline = due;
        AckAction::Delay(due)
    }

    /// A SYN, a segment without payload, or the first after a SYN-ACK.
    /// Nothing where it is to be taken as any other segment.
    #[inline(never)]
    fn on_connection(&mut self, now: Instant, data: &Data, ce: bool) -> Option<AckAction> {
        if data.has(Data::SYN) {
            return Some(AckAction::Now(self.on_syn(now, data, ce)));
        }
        if let Connection::SynReceived(_) = self.connection {
            // Every later segment acknowledges the SYN-ACK.
            self.connection = Connection::Open;
            self.plain = self.feedback == EcnFeedback::Classic && self.reader.is_none() && self.adaptive.is_none();
            if let Some(rule) = &mut self.adaptive {
                rule.on_open(now);
            }
            self.plan();
        }
        if !data.is_bare() {
            return None;
        }
        if ce && self.feedback == EcnFeedback::AccEcn {
            self.count_mark(data, ce);
        }
        if self.connection.is_closing() && data.seq == self.next {
            self.connection = Connection::Closed;
        }
        // Before the window: not acceptable, to be answered (RFC 9293, 3.10.7.4). A probe of a closed window is one.
        if data.seq < self.last_ack {
            return Some(AckAction::Now(self.acknowledge_apart()));
        }
        Some(AckAction::None)
    }

    fn on_syn(&mut self, now: Instant, data: &Data, ce: bool) -> Ack {
        let fresh = self.next == 0 && self.stats.segments == 0;
        if !fresh {
            return self.acknowledge_apart();
        }
        self.connection.on_syn(&self.config, now);
        self.plain = false;
        self.ecn = self.config.ecn && data.has(Data::CWR);
        // RFC 9768, 3.1.1 and 3.1.2: a host that does not speak it sees a SYN of RFC 3168.
        self.feedback = match self.config.ecn_feedback {
            EcnFeedback::AccEcn if !(self.ecn && data.has(Data::AE)) => EcnFeedback::Classic,
            feedback => feedback,
        };
        self.syn_ecn = if ce { Ecn::Ce } else { data.codepoint() };
        (self.echo, self.echo_arrived) = (data.sent, now);
        self.syn_ack(now)
    }

    fn syn_ack(&mut self, now: Instant) -> Ack {
        self.stats.syn_acks += 1;
        if let Some(rule) = &mut self.adaptive {
            rule.on_syn_ack(now);
        }
        let accurate = match self.ecn && self.feedback == EcnFeedback::AccEcn {
            false => Accurate::default(),
            true if !self.config.ect_on.has_syns(self.feedback) => {
                Accurate::new(ace_of(self.syn_ecn), false, Ecn::NotEct)
            }
            true => Accurate::new(ace_of(self.syn_ecn), false, self.config.ecn_of_acks(self.feedback)),
        };
        Ack {
            ack: 0,
            echo: self.echo,
            received_at: self.echo_arrived,
            window: self.edge as u32,
            ece: self.ecn && self.feedback != EcnFeedback::AccEcn,
            accurate,
            control: Control::Syn,
            ..Ack::default()
        }
    }

    /// The stream's end is known; true for a FIN that has been here before.
    #[inline(never)]
    fn take_fin(&mut self, data: &Data) -> bool {
        self.plain = false;
        self.fin_place = u64::from(data.has(Data::FIN));
        self.fin.replace(data.end()).is_some() && self.fin_place > 0
    }

    /// Classic feedback: ECE stands from a mark until the sender says that it has reduced its window.
    fn take_mark(&mut self, data: &Data, ce: bool) {
        match self.feedback {
            EcnFeedback::Classic => self.ece &= !data.has(Data::CWR),
            EcnFeedback::Accurate => {}
            EcnFeedback::AccEcn => return self.count_mark(data, ce),
        }
        if ce && self.ecn {
            self.stats.ce_segments += 1;
            if self.feedback == EcnFeedback::Classic && !self.ece {
                self.quick = self.quick.max(QUICK_AFTER_MARK);
            }
            self.ece = true;
        }
    }

    /// Accurate ECN: counts, and acknowledges a change of marking and every second marked packet at once (RFC 9768, 3.2.2.5.1 and
    /// 3.2.3.3).
    #[inline(never)]
    fn count_mark(&mut self, data: &Data, ce: bool) {
        let counter = if ce { &mut self.counters.marked } else { &mut self.counters.unmarked };
        if ce || data.has(Data::ECT) {
            *counter = counter.wrapping_add(data.len) & Ack::COUNTER_MASK;
        }
        if ce {
            self.stats.ce_segments += 1;
            self.ce_packets = self.ce_packets.wrapping_add(1);
            self.ce_unacked = self.ce_unacked.saturating_add(1);
        }
        if ce != self.ece || self.ce_unacked >= CE_BEFORE_ACK {
            self.quick = self.quick.max(1);
        }
        // Of the last packet only: no acknowledgement carries it.
        self.ece = ce;
    }

    fn duplicate(&mut self, bytes: u64) {
        self.stats.duplicate_bytes += Bytes::new(bytes);
    }

    /// The stream has advanced to `reached`, the end of a segment: what waits behind it follows.
    fn fill(&mut self, reached: u64) {
        // A segment larger than its hole overlaps what had arrived.
        let waiting = self.out_of_order.bytes();
        self.out_of_order.trim(reached);
        let overlap = waiting - self.out_of_order.bytes();
        self.duplicate(overlap);
        if let Some(first) = self.out_of_order.first().filter(|first| first.start == reached) {
            self.next = first.end;
            self.out_of_order.trim(first.end);
        }
        if self.out_of_order.is_empty() {
            self.recent = [Range::EMPTY; REMEMBERED];
        } else {
            let next = self.next;
            self.remember(|r| r.end > next);
        }
    }

    /// Keeps the remembered ranges that `wanted` wants, in order.
    #[inline(never)]
    fn remember(&mut self, wanted: impl Fn(&Range) -> bool) {
        let mut kept = [Range::EMPTY; REMEMBERED];
        let survivors = self.recent.iter().filter(|r| r.end > 0 && wanted(r));
        for (slot, range) in kept.iter_mut().zip(survivors) {
            *slot = *range;
        }
        self.recent = kept;
    }

    /// A segment above a hole.
    fn hold(&mut self, data: &Data) {
        let new = Range { start: data.seq, end: data.end() };
        let mut fresh = 0;
        let range = match self.out_of_order.append(new).zip(self.out_of_order.last()) {
            Some((gap, range)) => {
                fresh = gap.end - gap.start;
                range
            }
            None => self.out_of_order.insert(new, &mut |gap| fresh += gap.end - gap.start),
        };
        self.duplicate(new.end - new.start - fresh);
        if fresh == 0 {
            self.stats.duplicate_segments += 1;
        } else {
            self.stats.out_of_order_segments += 1;
        }
        if self.out_of_order.is_single() {
            self.recent = [range, Range::EMPTY, Range::EMPTY, Range::EMPTY];
        } else {
            self.remember(|r| r.end < range.start || r.start > range.end);
            self.recent.rotate_right(1);
            self.recent[0] = range;
        }
    }

    /// As [`Receiver::acknowledge`], out of the way of the one that follows a segment.
    #[inline(never)]
    fn acknowledge_apart(&mut self) -> Ack {
        let mut ack = self.acknowledge();
        if let Some(rule) = &mut self.adaptive {
            rule.report_twice(&mut ack);
        }
        ack
    }

    /// The acknowledgement due now.
    #[inline(always)]
    fn acknowledge(&mut self) -> Ack {
        match &mut self.adaptive {
            None => self.quick = self.quick.saturating_sub(self.unacked.max(1)),
            Some(rule) => {
                rule.on_ack(self.quick == 1);
                self.quick = self.quick.saturating_sub(1);
            }
        }
        self.unacked = 0;
        self.deadline = Instant::NEVER;
        self.last_ack = self.next;
        self.stats.acks += 1;
        match &self.reader {
            None => self.edge = self.edge.max(self.next + self.free()),
            Some(_) => self.offer(),
        }
        let mut sack = [SackBlock::default(); 3];
        if self.config.sack && !self.out_of_order.is_empty() {
            for (block, range) in sack.iter_mut().zip(self.recent.iter().take_while(|r| r.end > 0)) {
                *block = SackBlock { offset: (range.start - self.next) as u32, len: (range.end - range.start) as u32 };
            }
        }
        let (ece, accurate) = match self.feedback {
            EcnFeedback::AccEcn => self.count_in(&mut sack),
            feedback => (self.ece, Accurate::new(0, false, self.ecn_of_acks(feedback))),
        };
        Ack {
            ack: self.next,
            echo: self.echo,
            received_at: self.echo_arrived,
            sack,
            // A sender without handshake does not know the first window and may have sent more.
            window: self.edge.saturating_sub(self.next) as u32,
            accurate,
            ece,
            control: if self.connection.is_closing() { Control::Fin } else { Control::None },
        }
    }

    /// ECE and what Accurate ECN has in its place; the option goes into the third of the blocks.
    #[inline(never)]
    fn count_in(&mut self, sack: &mut [SackBlock; 3]) -> (bool, Accurate) {
        self.ce_unacked = 0;
        if !self.ecn {
            return (false, Accurate::default());
        }
        let has_counters = self.config.accecn_option;
        if has_counters {
            sack[2] = self.counters.into();
        }
        (false, Accurate::new(self.ce_packets & ACE_MASK, has_counters, self.ecn_of_acks(EcnFeedback::AccEcn)))
    }

    /// The ECN field of an acknowledgement.
    fn ecn_of_acks(&self, feedback: EcnFeedback) -> Ecn {
        if self.ecn {
            self.config.ecn_of_acks(feedback)
        } else {
            Ecn::NotEct
        }
    }

    /// Room in the buffer: neither unread nor waiting for a hole to be filled.
    fn free(&self) -> u64 {
        let unread = self.reader.as_ref().map_or(0, |reader| reader.unread());
        self.config.space().saturating_sub(self.out_of_order.bytes() + unread)
    }

    /// Least step of the right edge.
    fn step(&self) -> u64 {
        self.config.mss.get().min(self.config.space() / 2).max(1)
    }

    /// What has arrived is there for the reader; moves the right edge, if the step is worth it.
    fn offer(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.see(self.next);
        }
        let edge = self.next + self.free();
        if edge >= self.edge + self.step() {
            self.edge = edge;
        }
    }

    /// What is due: a delayed acknowledgement, a window update, or a SYN-ACK or FIN once more.
    pub fn on_timer(&mut self, now: Instant) -> Option<Ack> {
        if let Some(reader) = &mut self.reader {
            reader.read(now, self.next);
        }
        let ack = if now >= self.connection.deadline() {
            self.connection.repeat(&self.config, now);
            Some(if self.connection.is_closing() { self.acknowledge_apart() } else { self.syn_ack(now) })
        } else if now >= self.update_at() {
            self.stats.window_updates += 1;
            Some(self.acknowledge_apart())
        } else {
            return (now >= self.deadline).then(|| {
                if let Some(rule) = &mut self.adaptive {
                    rule.stretch_delay();
                }
                let ack = self.acknowledge_apart();
                if self.reader.is_some() {
                    self.plan();
                }
                ack
            });
        };
        self.plan();
        ack
    }

    /// What is due besides the delayed acknowledgement, and when.
    #[inline(never)]
    fn plan(&mut self) {
        let (next, step, buffer) = (self.next, self.step(), self.config.space());
        if let Some(reader) = &mut self.reader {
            reader.see(next);
        }
        let free = self.free();
        if let Some(reader) = &mut self.reader {
            reader.plan(self.edge.saturating_sub(next), free, buffer, step);
        }
        self.other = self.connection.deadline().min(self.update_at());
    }

    /// When to call [`Receiver::on_timer`]; it may have moved either way after any call.
    #[must_use]
    pub fn timer(&self) -> Instant {
        self.deadline.min(self.other)
    }

    fn update_at(&self) -> Instant {
        self.reader.as_ref().map_or(Instant::NEVER, |reader| reader.update_at)
    }

    /// Delivered to the receiving host, in order: goodput.
    #[must_use]
    pub fn delivered(&self) -> Bytes {
        let fin = if self.fin == Some(self.next) { self.fin_place } else { 0 };
        Bytes::new(self.next - fin)
    }

    /// As [`Receiver::delivered`], where no end of the stream is known.
    #[must_use]
    #[inline(always)]
    pub fn reached(&self) -> Bytes {
        Bytes::new(self.next)
    }

    /// Arrived in order and not yet read by the application, as of the last event.
    #[must_use]
    pub fn unread(&self) -> Bytes {
        Bytes::new(self.reader.as_ref().map_or(0, |reader| reader.unread()))
    }

    /// Waiting for a hole to be filled.
    #[must_use]
    pub fn waiting(&self) -> Bytes {
        Bytes::new(self.out_of_order.bytes())
    }

    /// The last byte of a finite transfer, and all before it, has arrived.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.fin == Some(self.next)
    }

    /// The connection is closed in both directions.
    #[must_use]
    pub fn closed(&self) -> bool {
        matches!(self.connection, Connection::Closed)
    }

    /// Counts since the start.
    #[must_use]
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }
}
