//! COBALT: combines CoDel, whose drop count decays step by step, with BLUE for flows that do not respond to congestion
//! signals.
//!
//! COBALT drops from the head as CoDel does while packets wait longer than `target`. In addition it keeps a drop probability
//! as BLUE does: a full queue raises it and an empty queue lowers it. This second part holds down unresponsive floods,
//! against which CoDel alone is slow. COBALT manages the queues inside CAKE.
//!
//! # Control law
//! * While the sojourn time is above `target`, a drop (or mark) is due `interval / sqrt(count)` after the previous one and
//!   raises `count`. While it is not, `count` decreases by one on the same schedule. The first drop is due `interval /
//!   sqrt(count)` after the sojourn time rose above the target, or at once if a step of the count was still due.
//! * After an interval without packets, a sojourn time above the target makes a drop due with the next packet, as in Linux.
//! * BLUE: an overflow raises the drop probability by `p_inc` and makes a drop due immediately. An empty queue lowers it by
//!   `p_dec` and ends the dropping phase. Each of the two acts at most once per `target`. BLUE drops and never marks.
//!
//! # Deviations and interpretations
//! * `blue_threshold` is ns-3's BlueThreshold, 400 ms there. Linux has no such threshold, and by default there is none here.
//!   A sojourn time above it also raises BLUE's probability, at most once per `target`, before the random draw for this
//!   packet.
//! * The spacing uses the exact square root by default. `control_law newton` is the computation of Linux and ns-3: a table
//!   of converged values for counts below 16, and one Newton step per change of the count above. Theirs has 32 bits and this
//!   one 16, which is within 0.3 % of the root for counts up to 1000.
//! * As in ns-3 the last waiting packet may be dropped; CAKE sends it. `mtu` adds CAKE's rule for slow links: to be above
//!   the target, a sojourn time must also exceed four transmission times of such a packet.
//! * Times are in nanoseconds; ns-3 uses units of 1024 ns.
//! * The probability is a double, as in ns-3; Linux uses 32 bits.
//!
//! # Work per packet
//! An arrival takes constant time. A departure judges packets until one is kept: at most the whole queue, and each packet
//! once. After an idle time `count` falls by one per step and never below zero, and each step was preceded by a drop.
//!
//! # References
//! * J. Palmei et al., "Design and Evaluation of COBALT Queue Discipline", IEEE LANMAN 2019. There is no RFC.
//! * Linux's sch_cake and ns-3's CobaltQueueDisc, whose behaviour this reproduces.
//! * S. Shu, "Adaptive In-Network Queue Management based on the Stochasticity of Network Flows", University of Groningen,
//!   2023, section 2.5.

use crate::acts::{Acts, Kind};
use crate::schemes::codel::{ControlLaw, Spacing};
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::string::String;
use sojourn_units::{Bytes, Instant, Probability, Span};

#[cfg(test)]
mod tests;

crate::params! {
    /// Parameters of `cobalt`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (ns-3's MaxSize).
        limit: Limit = Limit::packets(1000),
        /// Acceptable standing sojourn time, and the least time between two changes of BLUE's probability (Linux, ns-3).
        target: Span = Span::from_millis(5),
        /// Spacing of drops at count 1; a worst-case round-trip time (Linux, ns-3).
        interval: Span = Span::from_millis(100),
        /// Mark ECN-capable packets instead of dropping them, except by BLUE (ns-3's UseEcn).
        ecn: bool = false,
        /// Mark every ECN-capable packet whose sojourn time is above this (ns-3's CeThreshold).
        ce_threshold: Option<Span> = None => [Acts::On(Kind::EcnCapable)],
        /// Increase of BLUE's drop probability at an overflow (Linux, ns-3).
        p_inc: Probability = Probability::clamped(1.0 / 256.0),
        /// Decrease of BLUE's drop probability when the queue is empty (Linux, ns-3).
        p_dec: Probability = Probability::clamped(1.0 / 4096.0),
        /// Sojourn time above which BLUE's drop probability rises as by an overflow (ns-3's BlueThreshold).
        blue_threshold: Option<Span> = None,
        /// If given, only a sojourn time above four transmission times of such a packet counts as above target (Linux's sch_cake).
        mtu: Option<Bytes> = None,
        /// How the spacing of drops is computed: exact, or newton as in Linux and ns-3.
        control_law: ControlLaw = ControlLaw::Exact,
    }
}

/// What is to become of the packet at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Send it, perhaps marked.
    Keep,
    /// Drop it.
    Drop,
}

/// COBALT's state and decisions for one queue, apart from that queue.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    interval: Span,
    target: Span,
    p_inc: f64,
    p_dec: f64,
    /// [`Span::MAX`] when none is given.
    blue_threshold: Span,
    ecn: bool,
    /// The sojourn time is above target.
    dropping: bool,
    /// The count has not changed yet, and the first signal is not spaced.
    unspaced: bool,
    /// Signals lately: raised by each, lowered on the same schedule while the sojourn time is below target.
    count: u32,
    /// When `count` changes next; while it is 0, when the next signal can be due at the earliest.
    drop_next: Instant,
    spacing: Spacing,
    drop_probability: f64,
    /// When BLUE's probability last moved.
    blue_moved: Instant,
}

impl Control {
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            interval: params.interval,
            target: params.target,
            p_inc: params.p_inc.get(),
            p_dec: params.p_dec.get(),
            blue_threshold: params.blue_threshold.unwrap_or(Span::MAX),
            ecn: params.ecn,
            dropping: false,
            unspaced: false,
            count: 0,
            drop_next: Instant::ZERO,
            spacing: Spacing::new(params.control_law),
            drop_probability: 0.0,
            blue_moved: Instant::ZERO,
        }
    }

    /// Other parameters; what has been learnt is kept.
    pub(crate) fn set_params(&mut self, params: &Params) {
        self.follow(&Self::new(params));
    }

    /// The parameters of `other`; what has been learnt is kept.
    pub(crate) fn follow(&mut self, other: &Self) {
        let mut next = other.clone();
        if next.spacing.law() == self.spacing.law() {
            next.spacing = self.spacing.clone();
        }
        next.dropping = self.dropping;
        next.unspaced = self.unspaced;
        next.count = self.count;
        next.drop_next = self.drop_next;
        next.drop_probability = self.drop_probability;
        next.blue_moved = self.blue_moved;
        *self = next;
    }

    /// As sch_cake begins: the reciprocal root is 0 until the count changes for the first time, so that the first spell above
    /// target makes a drop due at once instead of after an interval.
    pub(crate) fn unspaced(self) -> Self {
        Self { unspaced: true, ..self }
    }

    /// True, and counted as a move, when BLUE may move now.
    fn may_move(&mut self, now: Instant) -> bool {
        let may = now.since(self.blue_moved) > self.target;
        if may {
            self.blue_moved = now;
        }
        may
    }

    #[inline(never)]
    fn raise(&mut self, now: Instant) {
        if self.may_move(now) {
            self.drop_probability = (self.drop_probability + self.p_inc).min(1.0);
        }
    }

    #[inline]
    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.unspaced = false;
        self.spacing.converge(count);
    }

    fn advance_drop_next(&mut self, from: Instant) {
        self.drop_next = from + self.spacing.after(self.interval, self.count);
    }

    /// The queue overflowed.
    pub(crate) fn full(&mut self, now: Instant) {
        self.raise(now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// A dequeue found nothing.
    pub(crate) fn empty(&mut self, now: Instant) {
        if self.drop_probability > 0.0 && self.may_move(now) {
            self.drop_probability = (self.drop_probability - self.p_dec).max(0.0);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.set_count(self.count - 1);
            self.advance_drop_next(self.drop_next);
        }
    }

    /// Judges the head, which has waited for too long when its sojourn time is above `target` and `is_long`.
    #[inline(always)]
    pub(crate) fn should_drop(
        &mut self,
        cx: &mut Cx<'_>,
        packet: &mut Packet,
        is_long: impl FnOnce(Span) -> bool,
    ) -> Verdict {
        let now = cx.now;
        let sojourn = now.since(packet.enqueued);
        let above = sojourn > self.target && is_long(sojourn);
        if self.count > 0 {
            if now >= self.drop_next || above != self.dropping {
                return self.should_drop_by_schedule(cx, packet, above);
            }
        } else if above {
            return self.should_drop_by_schedule(cx, packet, above);
        } else {
            self.dropping = false;
            self.drop_next = now + self.interval;
        }
        if sojourn > self.blue_threshold {
            self.raise(now);
        }
        if cx.chance(self.drop_probability) {
            Verdict::Drop
        } else {
            Verdict::Keep
        }
    }

    /// The same when CoDel's part has something to do.
    #[inline(never)]
    fn should_drop_by_schedule(&mut self, cx: &mut Cx<'_>, packet: &mut Packet, above: bool) -> Verdict {
        let now = cx.now;
        let (mut verdict, late) = self.follow_schedule(cx, packet, above);
        if now.since(packet.enqueued) > self.blue_threshold {
            self.raise(now);
        }
        // The draw is BLUE's own: a packet just marked can still be dropped.
        if cx.chance(self.drop_probability) {
            verdict = Verdict::Drop;
        }
        if self.count == 0 {
            self.drop_next = now + self.interval;
        } else if late && verdict == Verdict::Keep {
            // The schedule does not owe signals for the time that it was behind.
            self.drop_next = now;
        }
        verdict
    }

    /// CoDel's part: what is due when the head is `above` target or not, and whether the schedule is behind.
    #[inline]
    fn follow_schedule(&mut self, cx: &mut Cx<'_>, packet: &mut Packet, above: bool) -> (Verdict, bool) {
        let now = cx.now;
        let due = self.count > 0 && now >= self.drop_next;
        let mut late = now > self.drop_next;
        if above && self.count == 0 {
            self.drop_next = now;
            if !self.unspaced {
                self.advance_drop_next(now);
            }
            self.count = 1;
        } else if above && !self.dropping {
            self.advance_drop_next(now);
        }
        self.dropping = above;
        let mut verdict = Verdict::Keep;
        if due && self.dropping {
            if !(self.ecn && cx.mark(packet)) {
                verdict = Verdict::Drop;
            }
            self.set_count(self.count.saturating_add(1));
            self.advance_drop_next(self.drop_next);
            late = now > self.drop_next;
        } else if due {
            while self.count > 0 && now >= self.drop_next {
                self.set_count(self.count - 1);
                self.advance_drop_next(self.drop_next);
            }
            late = now > self.drop_next;
        }
        (verdict, late)
    }

    /// Nothing is remembered that would change the next decisions.
    pub(crate) fn is_at_rest(&self, now: Instant) -> bool {
        self.drop_probability == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// Target and interval.
    #[cfg(test)]
    pub(crate) fn aims(&self) -> (Span, Span) {
        (self.target, self.interval)
    }

    pub(crate) fn internals(&self, visit: &mut Internal<'_>) {
        visit("count", f64::from(self.count));
        visit("dropping", f64::from(u8::from(self.dropping)));
        visit("drop_next_s", self.drop_next.seconds());
        visit("drop_probability", self.drop_probability);
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Cobalt {
    limit: Limit,
    ce_threshold: Option<Span>,
    mtu: Option<Bytes>,
    control: Control,
}

impl Cobalt {
    /// Apart, so that an arrival that is queued saves no registers for it.
    #[inline(never)]
    fn overflow(&mut self, cx: &mut Cx<'_>, packet: Packet) {
        self.control.full(cx.now);
        cx.drop(packet, Reason::Overflow);
    }

    /// Judges the head.
    #[inline(always)]
    fn keeps(&mut self, cx: &mut Cx<'_>, head: &mut Packet) -> bool {
        let (mtu, rate) = (self.mtu, cx.rate);
        let is_long = |sojourn| mtu.is_none_or(|mtu| sojourn > rate.time_for(mtu) * 4);
        self.control.should_drop(cx, head, is_long) == Verdict::Keep
    }

    /// Marks the head, which is to be sent, where it has waited for longer than `above`.
    #[inline(never)]
    fn mark_late(above: Span, cx: &mut Cx<'_>, queue: &mut Queue) {
        if let Some(head) = queue.head_mut().filter(|head| cx.now.since(head.enqueued) > above) {
            let _ = cx.mark(head);
        }
    }

    /// Drops the head, which has been judged, and those after it up to one that is kept.
    // Apart, so that the way of a head that is kept saves no registers for it.
    #[inline(never)]
    fn drop_heads(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) {
        loop {
            queue.drop_head(cx, Reason::Early);
            let Some(head) = queue.head_mut() else { return self.control.empty(cx.now) };
            if self.keeps(cx, head) {
                return;
            }
        }
    }
}

impl Aqm for Cobalt {
    const PASSES: bool = false;

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if self.limit.is_full(queue, packet.bytes) {
            self.overflow(cx, packet);
        } else {
            queue.push(packet);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        let Some(head) = queue.head_mut() else {
            self.control.empty(cx.now);
            return None;
        };
        if !self.keeps(cx, head) {
            self.drop_heads(cx, queue);
        }
        if let Some(above) = self.ce_threshold {
            Self::mark_late(above, cx, queue);
        }
        queue.pop()
    }

    fn overflowed(&mut self, now: Instant, _packets: u64) {
        self.control.full(now);
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        self.control.internals(visit);
    }
}

impl Algorithm for Cobalt {
    type Params = Params;

    const ABOUT: About = About {
        title: "COBALT",
        summary: "CoDel whose count decays, beside BLUE's drop probability moved by overflow and idleness",
        source: "Palmei et al. 2019; Linux sch_cake",
        signals_on: "sojourn time; full and empty queue",
        drops_at: DropsAt::Dequeue,
        ecn: true,
        per_flow_state: false,
    };

    const PRESETS: &'static [&'static str] = &["shu2023", "ns3"];

    fn preset(name: &str) -> Option<Params> {
        let ns3 = Params { blue_threshold: Some(Span::from_millis(400)), ..Params::default() };
        match name {
            // Shu (2023), Table 2: Pdrop 0, Incr. 0.08, Decr. 0.04, Blue.Th 400, on ns-3.
            "shu2023" => Some(Params { p_inc: Probability::clamped(0.08), p_dec: Probability::clamped(0.04), ..ns3 }),
            "ns3" => Some(ns3),
            _ => None,
        }
    }

    fn check(params: &Params) -> Result<(), String> {
        if params.interval.is_zero() {
            return Err("interval is 0; allowed: a time above 0, as in \"100ms\"".into());
        }
        Ok(())
    }

    // As for FQ-CoDel (RFC 8290 section 5.2), and in ns-3's FqCobaltQueueDisc: ECN is on by default.
    fn in_fair_queue(_: Option<&str>, params: Params) -> Params {
        Params { ecn: true, ..params }
    }

    fn set_params(&mut self, params: &Params) {
        (self.limit, self.ce_threshold, self.mtu) = (params.limit, params.ce_threshold, params.mtu);
        self.control.set_params(params);
    }

    fn new(params: &Params) -> Self {
        Self { limit: params.limit, ce_threshold: params.ce_threshold, mtu: params.mtu, control: Control::new(params) }
    }
}
