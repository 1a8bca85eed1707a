//! CoDel (controlled delay): drops from the head of the queue while packets wait longer than a target.
//!
//! CoDel measures how long each packet has waited. If this sojourn time stays above `target` for a whole `interval`, CoDel
//! drops (or, with `ecn`, marks) the packet at the head, and then further packets at shorter and shorter spacing until the
//! sojourn time is below the target. A burst that drains within an interval loses nothing, while a standing queue
//! disappears. No parameter depends on the link's rate.
//!
//! # Control law
//! In a dropping phase the drop after the n-th is due `interval / sqrt(n)` later.
//!
//! # Deviations and interpretations
//! * `control_law newton` takes one 16-bit Newton step per drop, as Linux and ns-3 do. The spacing after the second drop is
//!   then 0.500 interval rather than 0.707. Times are read in whole units of 1024 ns (as in ns-3, also the sojourn time),
//!   and a drop takes place after the interval has passed rather than at its end. With arrivals that do not react, the drops
//!   are exactly ns-3's.
//! * `stale_first_above` is the behaviour of Linux before 6.1.191, 6.12.115 and 7.0, and of ns-3: a request for a packet that
//!   finds an empty queue ends the dropping phase and changes nothing else. According to RFC 8289 the sojourn time has then
//!   been below the target. It matters with `mtu_counts all`, where the last packet of a queue does not reset the time: the
//!   next packet that waits longer than the target, more than an interval later, is dropped.
//! * `mtu_counts all` is the behaviour of Linux's fq_codel: it compares `mtu` with the bytes in all queues. ns-3 and RFC
//!   8290 look at the one queue.
//! * ECN and `ce_threshold` are as in Linux (tc-codel(8)), because RFC 8289 leaves them open. A mark counts as a drop, and
//!   the packet leaves.
//! * `count_overflow` is the behaviour of Linux's fq_codel: drops because of a full queue raise the count of the queue that
//!   they hit. RFC 8290 does not do this.
//!
//! # Work per packet
//! Constant, plus the dropped packets: at most the whole queue, and each packet once.
//!
//! # References
//! * RFC 8289, "Controlled Delay Active Queue Management", 2018, section 5.
//! * tc-codel(8) and tc-fq_codel(8).

// Functions are named as in the pseudocode of RFC 8289, section 5.

mod selector;

pub use selector::Selector;

use crate::acts::{Acts, Kind, ANY};
use crate::params::KERNELS;
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Span};

crate::choice! {
    /// How the spacing of drops is computed.
    pub enum ControlLaw {
        /// `interval / sqrt(count)`, as RFC 8289 section 5.3 writes it.
        Exact = "exact",
        /// One Newton step for `1/sqrt(count)` a drop, in 16 bits, and times in units of 1024 ns, as Linux and ns-3 do.
        Newton = "newton",
    }
}

crate::choice! {
    /// Which bytes must be more than `mtu` for a drop.
    pub enum MtuCounts {
        /// The bytes in this queue.
        Queue = "queue",
        /// The bytes in all queues of a fair queue.
        All = "all",
    }
}

crate::params! {
    /// Parameters of `codel`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (tc-codel(8)).
        limit: Limit = Limit::packets(1000),
        /// Acceptable standing sojourn time (RFC 8289 section 4.4).
        target: Span = Span::from_millis(5),
        /// How long the sojourn time must stay above target; a worst-case round-trip time (RFC 8289 section 4.3).
        interval: Span = Span::from_millis(100),
        /// Mark ECN-capable packets instead of dropping them (tc-codel(8)).
        ecn: bool = false,
        /// Mark every ECN-capable packet whose sojourn time is above this (tc-codel(8)).
        ce_threshold: Option<Span> = None => [Acts::On(Kind::EcnCapable)],
        /// Which packets ce_threshold marks; "none": all that are ECN-capable (tc-fq_codel(8)).
        ce_threshold_selector: Option<Selector> = None => [Acts::With("ce_threshold", ANY)],
        /// Nothing is dropped while at most this many bytes wait: one full frame (RFC 8289 section 5.4, `maxpacket_`).
        mtu: Bytes = Bytes::new(1514),
        /// What mtu is compared with: the bytes in this queue, or in all queues of a fair queue (Linux's fq_codel).
        mtu_counts: MtuCounts = MtuCounts::Queue => [Acts::InFairQueues],
        /// How the spacing of drops is computed (RFC 8289 section 5.3, or Linux's approximation).
        control_law: ControlLaw = ControlLaw::Exact,
        /// Packets dropped because the queue was full count as drops of the control law (Linux's fq_codel; not RFC 8290).
        count_overflow: bool = false,
        /// A request that finds an empty queue does not reset the time above target (Linux before 6.1.191, 6.12.115 and 7.0; not RFC 8289).
        stale_first_above: bool = false => [Acts::InFairQueues, Acts::With("mtu_counts", &["all"])],
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Codel {
    params: Params,
    /// When the sojourn time will have been above target for an interval; `None` while it is below.
    first_above: Option<Instant>,
    dropping: bool,
    /// Drops since this dropping phase began, and after it the memory of how many there were.
    count: u32,
    /// `count` when this or the last dropping phase began.
    last_count: u32,
    /// When the next drop of this phase is due, and after it the memory of when it would have been.
    drop_next: Instant,
    spacing: Spacing,
}

/// `interval / sqrt(count)` under either law.
#[derive(Clone, Debug)]
pub(crate) struct Spacing {
    law: ControlLaw,
    /// The bits of a time in nanoseconds that the law reads: all, or those of whole units of Linux's codel clock, 2^10 ns.
    mask: u64,
    /// Newton's running `1/sqrt(count)` in units of 2^-16.
    inverse_sqrt: u16,
}

impl Spacing {
    pub(crate) const fn new(law: ControlLaw) -> Self {
        let mask = match law {
            ControlLaw::Exact => u64::MAX,
            ControlLaw::Newton => !1023,
        };
        Self { law, mask, inverse_sqrt: u16::MAX }
    }

    pub(crate) const fn law(&self) -> ControlLaw {
        self.law
    }

    /// A time as the law reads it.
    const fn clock(&self, nanos: u64) -> u64 {
        nanos & self.mask
    }

    fn span(&self, span: Span) -> Span {
        Span::from_nanos(self.clock(span.nanos()))
    }

    /// Whether the interval that ends at `due` has passed: RFC 8289 says "now >= first_above_time_", Linux "after".
    fn is_over(&self, now: Instant, due: Instant) -> bool {
        match self.law {
            ControlLaw::Exact => now >= due,
            ControlLaw::Newton => now > due,
        }
    }

    /// `count` starts again from 1.
    pub(crate) fn restart(&mut self) {
        self.inverse_sqrt = u16::MAX;
    }

    /// One step of `y <- y (3 - count y^2) / 2`.
    pub(crate) fn step(&mut self, count: u32) {
        if self.law == ControlLaw::Exact {
            return;
        }
        let y = u64::from(self.inverse_sqrt) << 16;
        let y2 = (y * y) >> 32;
        let three_less = (3_u64 << 32).wrapping_sub(u64::from(count) * y2) >> 2;
        self.inverse_sqrt = ((three_less.wrapping_mul(y) >> 31) >> 16) as u16;
    }

    /// As COBALT reads it: a converged value below 16 (its table), and one step from there on.
    pub(crate) fn converge(&mut self, count: u32) {
        if count >= 16 {
            self.step(count);
        } else if self.law == ControlLaw::Newton {
            // The table is made by four steps a count from 1 on.
            self.restart();
            (2..=count).for_each(|n| (0..4).for_each(|_| self.step(n)));
        }
    }

    /// The spacing before the drop that follows number `count`.
    pub(crate) fn after(&self, interval: Span, count: u32) -> Span {
        match self.law {
            ControlLaw::Exact => interval.scaled(1.0 / libm::sqrt(f64::from(count.max(1)))),
            ControlLaw::Newton => {
                let scaled = u128::from(interval.nanos()) * u128::from(self.inverse_sqrt);
                Span::from_nanos((scaled >> 16) as u64)
            }
        }
    }
}

impl Codel {
    /// RFC 8289 section 5.5, `dodequeue`: whether the head, which is still in the queue, may be dropped.
    #[inline]
    fn may_drop(&mut self, now: Instant, queue: &Queue) -> bool {
        let Some(head) = queue.head() else {
            self.first_above = None;
            return false;
        };
        let sojourn = self.spacing.span(now.since(head.enqueued));
        let beside = if self.params.mtu_counts == MtuCounts::All { queue.bytes_beside() } else { 0 };
        let left_behind = beside + queue.bytes() - u64::from(head.bytes);
        if sojourn < self.params.target || left_behind <= self.params.mtu.get() {
            self.first_above = None;
            return false;
        }
        let now = self.clock(now);
        match self.first_above {
            None => {
                self.first_above = Some(now + self.params.interval);
                false
            }
            Some(due) => self.spacing.is_over(now, due),
        }
    }

    /// Marks the head, or drops it; true when it is marked.
    fn signal(&self, cx: &mut Cx<'_>, queue: &mut Queue) -> bool {
        if self.params.ecn && queue.head_mut().is_some_and(|head| cx.mark(head)) {
            return true;
        }
        queue.drop_head(cx, Reason::Early);
        false
    }

    fn clock(&self, now: Instant) -> Instant {
        Instant::from_nanos(self.spacing.clock(now.nanos()))
    }

    /// Section 5.3, `control_law`.
    fn next_drop(&self, from: Instant) -> Instant {
        from + self.spacing.span(self.spacing.after(self.params.interval, self.count))
    }

    /// Section 5.6: a dropping phase begins; resume the drop rate that controlled the queue before, if that was recent.
    fn begin(&mut self, now: Instant) {
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        if delta > 1 && now.since(self.drop_next) < self.params.interval * 16 {
            self.count = delta;
            self.spacing.step(self.count);
        } else {
            self.count = 1;
            self.spacing.restart();
        }
        self.last_count = self.count;
        self.drop_next = self.next_drop(now);
    }

    /// Section 5.6, `deque`: what it leaves at the head is to be sent.
    #[inline]
    fn drop_or_mark(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) {
        if !self.keeps_head(cx.now, queue) {
            self.act(cx, queue);
        }
    }

    /// True when the head, if there is one, is neither dropped nor marked now.
    #[inline]
    fn keeps_head(&mut self, now: Instant, queue: &Queue) -> bool {
        if queue.is_empty() && self.params.stale_first_above {
            self.dropping = false;
            return true;
        }
        if !self.may_drop(now, queue) {
            self.dropping = false;
            return true;
        }
        self.dropping && self.clock(now) < self.drop_next
    }

    /// The rest of `deque`, when the head may be dropped and no phase is on that puts it off.
    #[inline(never)]
    fn act(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) {
        let now = self.clock(cx.now);
        if !self.dropping {
            if !self.signal(cx, queue) {
                self.may_drop(cx.now, queue);
            }
            return self.begin(now);
        }
        // Several drops may be due at once when packets are long or the link was away.
        while self.dropping && now >= self.drop_next {
            self.count = self.count.wrapping_add(1);
            self.spacing.step(self.count);
            if self.signal(cx, queue) {
                self.drop_next = self.next_drop(self.drop_next);
                return;
            }
            self.dropping = self.may_drop(cx.now, queue);
            if self.dropping {
                self.drop_next = self.next_drop(self.drop_next);
            }
        }
    }
}

impl Aqm for Codel {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if self.params.limit.is_full(queue, packet.bytes) {
            self.overflowed(cx.now, 1);
            cx.drop(packet, Reason::Overflow);
        } else {
            queue.push(packet);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        self.drop_or_mark(cx, queue);
        if let Some(above) = self.params.ce_threshold {
            if let Some(head) = queue.head_mut().filter(|head| cx.now.since(head.enqueued) > above) {
                if self.params.ce_threshold_selector.is_none_or(|selector| selector.selects(head)) {
                    let _ = cx.mark(head);
                }
            }
        }
        queue.pop()
    }

    #[inline(always)]
    fn passes(&mut self, now: Instant, _rate: BitRate, queue: &Queue) -> bool {
        self.params.ce_threshold.is_none() && self.keeps_head(now, queue)
    }

    fn overflowed(&mut self, _now: Instant, packets: u64) {
        if self.params.count_overflow {
            self.count = self.count.wrapping_add(packets as u32);
        }
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("count", f64::from(self.count));
        visit("dropping", f64::from(u8::from(self.dropping)));
        visit("drop_next_s", self.drop_next.seconds());
        visit("first_above_s", self.first_above.map_or(f64::NAN, Instant::seconds));
    }
}

impl Algorithm for Codel {
    type Params = Params;

    const ABOUT: About = About {
        title: "CoDel",
        summary: "drops the head once the sojourn time has exceeded target for an interval",
        source: "RFC 8289",
        signals_on: "sojourn time",
        drops_at: DropsAt::Dequeue,
        ecn: true,
        per_flow_state: false,
    };

    const PRESETS: &'static [&'static str] = KERNELS;

    fn preset(name: &str) -> Option<Params> {
        KERNELS.contains(&name).then(|| Params {
            control_law: ControlLaw::Newton,
            mtu_counts: MtuCounts::All,
            count_overflow: true,
            ..Params::default()
        })
    }

    fn check(params: &Params) -> Result<(), String> {
        if params.interval.is_zero() {
            return Err("interval is 0; allowed: a time above 0, as in \"100ms\"".into());
        }
        Ok(())
    }

    // RFC 8290 section 5.2 and Linux's fq_codel_init: ECN is on by default.
    fn in_fair_queue(_: Option<&str>, params: Params) -> Params {
        Params { ecn: true, ..params }
    }

    fn set_params(&mut self, params: &Params) {
        let is_same = params.control_law == self.params.control_law;
        let old = core::mem::replace(self, Self::new(params));
        self.first_above = old.first_above;
        self.dropping = old.dropping;
        self.count = old.count;
        self.last_count = old.last_count;
        self.drop_next = old.drop_next;
        if is_same {
            self.spacing = old.spacing;
        }
    }

    fn new(params: &Params) -> Self {
        let spacing = Spacing::new(params.control_law);
        Self {
            params: Params {
                target: spacing.span(params.target),
                interval: spacing.span(params.interval),
                ..params.clone()
            },
            first_above: None,
            dropping: false,
            count: 0,
            last_count: 0,
            drop_next: Instant::ZERO,
            spacing,
        }
    }
}

#[cfg(test)]
mod tests;
