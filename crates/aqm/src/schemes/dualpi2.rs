//! DualPI2: two queues, one for classic and one for L4S traffic, coupled so that both kinds of flows share the link fairly
//! while only classic packets wait.
//!
//! Packets with ECT(1) or CE go to the L4S queue, and so do packets of non-queue-building traffic by their DSCP (`nqb`); all
//! others go to the classic queue. One PI controller holds the delay of the
//! classic queue at `target` by dropping or marking. The L4S queue is marked with a probability coupled to it, and also as
//! soon as its own short queue exceeds a low threshold. Scalable senders (DCTCP, TCP Prague) then get a delay below a
//! millisecond at about the same rate as classic ones.
//!
//! # Control law
//! Every `tupdate`, `p' += alpha (d - target) + beta (d - d_old)`, where d is the age of the older packet of the two heads.
//! Classic packets are dropped or marked with probability `p_C = p'^2`. L4S packets are marked with probability `p_L =
//! max(native, p_CL)`, where `p_CL = k p'` is the coupled probability, k is `coupling_factor` and native comes from the L4S
//! queue's own ramp or step.
//!
//! Implemented parts of the pseudocode in RFC 9332: `dualpi2_enqueue` (one buffer; ECT(1) and CE go to the L4S queue),
//! `dualpi2_dequeue` with overload protection, `recur`, `laqm` (ramp), `dualpi2_update` and `scheduler` (weighted round
//! robin or time-shifted FIFO). Overload protection: once p_CL reaches 1, and therefore p_C reaches p_Cmax = 1/k^2, packets
//! are dropped in both queues, ECN-capable or not.
//!
//! # Deviations and interpretations
//! * In the RFC's pseudocode, `lq.time()` after `lq.dequeue(pkt)` is the sojourn time of that packet, and `lq.len() >
//!   Th_len` counts the packets behind it.
//! * PI2 does nothing while less than 2 `mtu` wait in both queues together, as in Linux. The RFC's pseudocode has no such
//!   rule; `mtu 0B` switches it off. The L4S queue's own ramp or step acts in any case.
//! * MAX_LINK_RATE in the RFC's limit (250 ms) is the highest rate seen so far, and one packet always fits.
//! * `recur` treats a likelihood above 1 (p_CL during overload) as 1; otherwise its accumulator would never decrease.
//! * The round robin is that of Linux: a credit in weighted bytes that changes only while both queues hold packets, and only
//!   with packets that are sent. It starts again, with the L4S queue first, whenever both queues are found empty.
//! * `marking random` compares two random numbers with p' for a classic drop, as Linux does, instead of one with its square.
//! * p_Lmax is 1. `coupling_factor` is at least 1, as in Linux, so that p_C >= p_Cmax and p_CL >= p_Lmax are the same
//!   condition.
//! * Updates take place at whole multiples of `tupdate` on the host's clock, beginning with the first arrival. p' has 70
//!   binary digits; the 32 of Linux, and the rounding of its gains, are not reproduced.
//! * `memlimit` counts the memory of packets as for frames from an Ethernet driver. By default there is
//!   no such limit.
//! * After a change to a lower `limit` or `memlimit`, the classic queue loses its first packets, and then the L4S
//!   queue, as in `dualpi2_change` of Linux 7.2.
//! * Filters in Linux can put other packets into the L4S queue. Here only the ECN field and one DSCP decide.
//! * Non-queue-building packets that are not ECT(1) or CE are never marked, and are dropped only during overload and where more
//!   than `nqb_limit` of data waits in the L4S queue. RFC 9956 demands such a short buffer for them. The traffic protection that it
//!   recommends, which puts misbehaving flows into the classic queue, is not implemented. Linux knows no such packets.
//! * `split_gso` is accepted and has no effect, because packets are never aggregated here.
//! * The alternative of the RFC's appendix B, Curvy RED, is not implemented; only its time-shifted FIFO is, as `scheduler
//!   ts_fifo`.
//!
//! # Work per packet
//! An arrival and any number of updates take constant time. A departure takes constant time for each packet that it drops;
//! these are at most all waiting packets, and all of them only if p' = 1.
//!
//! # References
//! * RFC 9332, "Dual-Queue Coupled Active Queue Management (AQM) for Low Latency, Low Loss, and Scalable Throughput (L4S)",
//!   2023, appendix A, and appendix B for `scheduler ts_fifo`.
//! * RFC 9956, "A Non-Queue-Building Per-Hop Behavior (NQB PHB) for Differentiated Services", 2026, for `nqb`.
//! * tc-dualpi2(8) and the sch_dualpi2 of Linux 7.2, for preset `linux-7.2`.

// Names in comments with brackets are those of the pseudocode in RFC 9332, appendix A.

mod controller;
mod params;
mod values;

pub use params::{L4sAqm, Marking, Params, Scheduler};
pub use values::{BufferLimit, Share, StepThreshold};

use crate::discipline::standalone;
use crate::ticks::Ticks;
use crate::{
    About, Backlog, Cx, Dequeued, Discipline, DropsAt, Dscp, Ecn, Excess, Internal, Order, Packet, Queue, Reason,
    Standalone,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use controller::{Controller, GAIN_MAX};
use core::any::Any;
use sojourn_units::{BitRate, Instant, Packets, Span};

/// Which queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    L4s,
    Classic,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// Both queues and the controller.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    params: Params,
    l4s: Queue,
    classic: Queue,
    /// Of every packet in `l4s`, whether the step may mark it; unused while `min_qlen_step` is 0.
    steps: VecDeque<bool>,
    controller: Controller,
    updates: Ticks,
    /// p'.
    base: f64,
    /// `p_C`.
    classic_probability: f64,
    /// `p_CL`.
    coupled: f64,
    /// `q.count` of `recur`, by [`Class`].
    due: [f64; 2],
    /// Bytes times weight; the L4S queue's turn up to 0.
    credit: i64,
    /// What `credit` starts from.
    credit_start: i64,
    /// Weights of both queues in millionths, by [`Class`].
    weights: [i64; 2],
    /// MAX_LINK_RATE, as far as known.
    highest_rate: BitRate,
    /// Bytes of a limit in time at that rate.
    room: u64,
    /// A bit for each ECN codepoint that is L4S.
    l4s_codepoints: u8,
    /// DSCP of non-queue-building packets; no packet has [`NO_DSCP`].
    nqb: u8,
}

/// Beyond 0 to 63.
const NO_DSCP: u8 = u8::MAX;

impl DualPi2 {
    /// [`Params::is_l4s`].
    fn is_l4s(&self, ecn: Ecn) -> bool {
        self.l4s_codepoints >> (ecn as u8) & 1 == 1
    }

    /// The short buffer of non-queue-building packets; one always fits.
    #[inline(never)]
    fn is_shallow_full(&self, rate: BitRate, packet: &Packet) -> bool {
        let room = rate * self.params.nqb_limit;
        !self.l4s.is_empty() && self.l4s.bytes() + u64::from(packet.bytes) > room.get()
    }

    fn waiting(&self) -> Backlog {
        Backlog {
            packets: (self.l4s.len() + self.classic.len()) as u64,
            bytes: self.l4s.bytes() + self.classic.bytes(),
        }
    }

    /// `dualpi2_enqueue`, line 2.
    fn is_full(&self, bytes: u32) -> bool {
        let Backlog { packets, bytes: waiting } = self.waiting();
        let bytes = u64::from(bytes);
        let mtu = self.params.mtu.get();
        let full = match self.params.limit {
            BufferLimit::Packets(limit) => packets >= limit.get(),
            BufferLimit::Bytes(limit) => waiting + bytes.max(mtu) > limit.get(),
            BufferLimit::Time(_) => packets > 0 && waiting + bytes.max(mtu) > self.room,
        };
        let all = Backlog { packets: packets + 1, bytes: waiting + bytes };
        full || self.params.memlimit.is_some_and(|limit| all.exceeds(limit.get()))
    }

    fn learn_rate(&mut self, rate: BitRate) {
        self.highest_rate = rate;
        if let BufferLimit::Time(time) = self.params.limit {
            self.room = (rate * time).get();
        }
    }

    /// `dualpi2_update` at every nominal instant up to and including `now`.
    fn advance(&mut self, now: Instant) {
        let Some(first) = self.updates.take(now) else { return };
        let n = 1 + self.updates.due(now);
        self.updates.skip_to_last(now, 0);
        let heads = [self.l4s.head(), self.classic.head()];
        let oldest = heads.into_iter().flatten().map(|packet| packet.enqueued).min();
        self.controller.updates(n, oldest.map(|enqueued| first.since(enqueued)));
        self.base = self.controller.base_probability();
        self.classic_probability = self.base * self.base;
        self.coupled = self.params.coupling_factor * self.base;
    }

    /// `recur`, or a draw.
    fn happens(&mut self, cx: &mut Cx<'_>, class: Class, likelihood: f64) -> bool {
        if self.params.marking == Marking::Random {
            return cx.chance(likelihood);
        }
        let due = &mut self.due[class as usize];
        *due += likelihood.min(1.0);
        let whole = *due > 1.0;
        if whole {
            *due -= 1.0;
        }
        whole
    }

    /// The same with p_C.
    fn happens_squared(&mut self, cx: &mut Cx<'_>, class: Class) -> bool {
        if self.params.marking == Marking::Random {
            return cx.chance(self.base) && cx.chance(self.base);
        }
        self.happens(cx, class, self.classic_probability)
    }

    /// PI2 acts only on a standing queue.
    fn stands(&self) -> bool {
        self.waiting().bytes >= 2 * self.params.mtu.get()
    }

    /// `p_CL >= p_Lmax`, and so `p_C >= p_Cmax`.
    fn is_overloaded(&self) -> bool {
        self.params.drop_on_overload && self.coupled >= 1.0
    }

    /// `dualpi2_dequeue`, lines 10 to 17.
    fn judge_classic(&mut self, cx: &mut Cx<'_>, ecn: Ecn) -> Verdict {
        if !self.stands() || !self.happens_squared(cx, Class::Classic) {
            Verdict::Pass
        } else if ecn == Ecn::NotEct || self.is_overloaded() {
            Verdict::Drop
        } else {
            Verdict::Mark
        }
    }

    /// `dualpi2_dequeue`, lines 4 to 8; `coupling` where p' counts here.
    fn judge_l4s(&mut self, cx: &mut Cx<'_>, native: f64, coupling: bool) -> Verdict {
        let coupled = if coupling && self.stands() { self.coupled } else { 0.0 };
        if coupled >= 1.0 && self.is_overloaded() && self.happens_squared(cx, Class::L4s) {
            return Verdict::Drop;
        }
        if self.happens(cx, Class::L4s, coupled.max(native)) {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }

    /// In the L4S queue by its DSCP: no mark, and no drop but during overload.
    #[inline(never)]
    fn judge_nqb(&mut self, cx: &mut Cx<'_>, coupling: bool) -> Verdict {
        if coupling && self.stands() && self.is_overloaded() && self.happens_squared(cx, Class::L4s) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }

    /// `laqm`, for a packet that has just left the L4S queue.
    fn native(&self, sojourn: Span, may_step: bool) -> f64 {
        let Params { min_th, range, th_len, step_thresh, .. } = self.params;
        match self.params.l4s_aqm {
            L4sAqm::Ramp if (self.l4s.len() as u64) <= th_len.get() => 0.0,
            L4sAqm::Ramp if sojourn >= min_th + range => 1.0,
            L4sAqm::Ramp if sojourn <= min_th => 0.0,
            L4sAqm::Ramp => (sojourn.nanos() - min_th.nanos()) as f64 / range.nanos() as f64,
            L4sAqm::Step => {
                let beyond = match step_thresh {
                    StepThreshold::Time(time) => sojourn > time,
                    StepThreshold::Packets(packets) => self.l4s.len() as u64 > packets.get(),
                };
                f64::from(u8::from(may_step && beyond))
            }
        }
    }

    /// `scheduler`: whose turn it is, and whether the other had waited for it too.
    fn turn(&self, now: Instant) -> Option<(Class, bool)> {
        match (self.l4s.head(), self.classic.head()) {
            (None, None) => None,
            (Some(_), None) => Some((Class::L4s, false)),
            (None, Some(_)) => Some((Class::Classic, false)),
            (Some(l4s), Some(classic)) => {
                let l4s_first = match self.params.scheduler {
                    Scheduler::Wrr => self.credit <= 0,
                    Scheduler::TsFifo => now.since(l4s.enqueued) + self.params.tshift >= now.since(classic.enqueued),
                };
                Some((if l4s_first { Class::L4s } else { Class::Classic }, true))
            }
        }
    }

    fn pop(&mut self, class: Class) -> Option<Packet> {
        match class {
            Class::L4s => self.l4s.pop(),
            Class::Classic => self.classic.pop(),
        }
    }

    /// What becomes of a packet that has just left its queue.
    fn judge_departure(&mut self, cx: &mut Cx<'_>, class: Class, packet: &Packet) -> Verdict {
        let coupling = !self.params.drop_enqueue;
        match class {
            Class::Classic if coupling => self.judge_classic(cx, packet.ecn),
            Class::Classic => Verdict::Pass,
            Class::L4s => {
                let may_step = self.params.min_qlen_step == Packets::ZERO || self.steps.pop_front().unwrap_or(true);
                if !self.is_l4s(packet.ecn) {
                    return self.judge_nqb(cx, coupling);
                }
                let native = self.native(cx.now.since(packet.enqueued), may_step);
                self.judge_l4s(cx, native, coupling)
            }
        }
    }

    /// The round robin: what one queue sends while the other waits earns the other its turn.
    fn charge(&mut self, class: Class, bytes: u32) {
        self.credit += match class {
            Class::L4s => i64::from(bytes) * self.weights[Class::Classic as usize],
            Class::Classic => -i64::from(bytes) * self.weights[Class::L4s as usize],
        };
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, cx: &mut Cx<'_>, mut packet: Packet) {
        packet.enqueued = cx.now;
        cx.arrived(&packet);
        self.advance(cx.now);
        self.updates.start(cx.now);
        if cx.rate > self.highest_rate {
            self.learn_rate(cx.rate);
        }
        if self.is_full(packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        let is_l4s = self.is_l4s(packet.ecn);
        let is_nqb = !is_l4s && packet.dscp == self.nqb;
        if is_nqb && self.is_shallow_full(cx.rate, &packet) {
            return cx.drop(packet, Reason::Overflow);
        }
        let class = if is_l4s || is_nqb { Class::L4s } else { Class::Classic };
        if self.params.drop_enqueue {
            let verdict = match class {
                Class::L4s if is_nqb => self.judge_nqb(cx, true),
                Class::L4s => self.judge_l4s(cx, 0.0, true),
                Class::Classic => self.judge_classic(cx, packet.ecn),
            };
            match verdict {
                Verdict::Pass => {}
                Verdict::Mark => _ = cx.mark(&mut packet),
                Verdict::Drop => return cx.drop(packet, Reason::Early),
            }
        }
        match class {
            Class::L4s => {
                let least = self.params.min_qlen_step.get();
                if least > 0 {
                    self.steps.push_back(self.l4s.len() as u64 >= least);
                }
                self.l4s.push(packet);
            }
            Class::Classic => self.classic.push(packet),
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued {
        self.advance(cx.now);
        while let Some((class, contended)) = self.turn(cx.now) {
            let Some(mut packet) = self.pop(class) else { break };
            match self.judge_departure(cx, class, &packet) {
                Verdict::Pass => {}
                Verdict::Mark => _ = cx.mark(&mut packet),
                Verdict::Drop => {
                    cx.drop(packet, Reason::Early);
                    continue;
                }
            }
            if contended {
                self.charge(class, packet.bytes);
            }
            cx.forwarded(&packet);
            return Dequeued::Packet(packet);
        }
        self.credit = self.credit_start;
        Dequeued::Empty
    }

    fn set_rate(&mut self, cx: &mut Cx<'_>, _rate: BitRate) {
        self.advance(cx.now);
    }

    fn set_params(&mut self, cx: &mut Cx<'_>, params: &dyn Any) -> bool {
        // Updates that are due are of the old parameters.
        self.set_rate(cx, cx.rate);
        standalone(self, cx, params)
    }

    fn drain(&mut self) -> Option<Packet> {
        let first = |queue: &Queue| queue.head().map_or(Instant::NEVER, |packet| packet.enqueued);
        if first(&self.classic) < first(&self.l4s) {
            return self.classic.pop();
        }
        self.steps.pop_front();
        self.l4s.pop().or_else(|| self.classic.pop())
    }

    fn reset(&mut self) {
        let fresh = Self::new(&self.params);
        let (l4s, classic) = (core::mem::take(&mut self.l4s), core::mem::take(&mut self.classic));
        *self = Self { l4s, classic, steps: core::mem::take(&mut self.steps), ..fresh };
    }

    fn backlog(&self) -> Backlog {
        self.waiting()
    }

    fn internals(&mut self, now: Instant, _rate: BitRate, visit: &mut Internal<'_>) {
        self.advance(now);
        visit("base_probability", self.base);
        visit("classic_probability", self.classic_probability);
        visit("coupled_probability", self.coupled.min(1.0));
        visit("delay_s", self.controller.delay_s());
        visit("classic_packets", self.classic.len() as f64);
        visit("classic_bytes", self.classic.bytes() as f64);
        visit("l4s_packets", self.l4s.len() as f64);
        visit("l4s_bytes", self.l4s.bytes() as f64);
        visit("credit_bytes", self.credit as f64 / 1e6);
    }

    fn clone_box(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

impl Standalone for DualPi2 {
    type Params = Params;

    const ABOUT: About = About {
        title: "DualPI2",
        summary:
            "a classic and an L4S queue whose marking is coupled: the L4S queue stays near empty, flows share alike",
        source: "RFC 9332",
        signals_on: "queue delay",
        drops_at: DropsAt::Both,
        ecn: true,
        per_flow_state: false,
    };

    const ORDER: Order = Order::Codepoint;

    // Linux has it since 6.17.
    const PRESETS: &'static [&'static str] = &["rfc", "linux-7.2"];

    const WORDS: &'static [(&'static str, &'static str, &'static str)] = &[
        ("overflow", "drop_on_overload", "false"),
        ("drop_dequeue", "drop_enqueue", "false"),
        ("l4s_ect", "any_ect", "false"),
        ("no_split_gso", "split_gso", "false"),
    ];

    fn preset(name: &str) -> Option<Params> {
        match name {
            "rfc" => Some(Params::default()),
            "linux-7.2" => Some(Params::linux()),
            _ => None,
        }
    }

    fn check(params: &Params) -> Result<(), String> {
        if params.tupdate.is_zero() {
            return Err("tupdate is 0; allowed: a time above 0, as in \"15ms\"".into());
        }
        let k = params.coupling_factor;
        if !(1.0..=255.0).contains(&k) {
            return Err(format!("coupling_factor is {k}; allowed: 1 to 255"));
        }
        for (name, gain) in [("alpha", params.alpha), ("beta", params.beta)] {
            if gain > GAIN_MAX {
                return Err(format!("{name} is {gain}; allowed: 0 to {GAIN_MAX}, in Hz"));
            }
        }
        let shortest = Span::from_micros(1);
        for (name, rtt) in [("max_rtt", params.max_rtt), ("typical_rtt", params.typical_rtt)] {
            if let Some(rtt) = rtt.filter(|rtt| *rtt < shortest) {
                return Err(format!("{name} is {rtt}; allowed: {shortest} or more, or \"none\""));
            }
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        self.controller.keep(&old.controller);
        self.updates = old.updates.every(self.params.tupdate);
        self.l4s = old.l4s;
        self.classic = old.classic;
        self.steps = old.steps;
        self.base = old.base;
        self.classic_probability = old.classic_probability;
        self.coupled = old.coupled;
        self.due = old.due;
        self.credit = old.credit;
        self.learn_rate(old.highest_rate);
    }

    const EXCESS: Excess = Excess::Classic;

    fn shed(&mut self, cx: &mut Cx<'_>) -> bool {
        let waiting @ Backlog { packets, bytes } = self.waiting();
        let is_over = match self.params.limit {
            BufferLimit::Packets(limit) => packets > limit.get(),
            BufferLimit::Bytes(limit) => bytes > limit.get(),
            BufferLimit::Time(_) => packets > 1 && bytes > self.room,
        };
        if !is_over && self.params.memlimit.is_none_or(|limit| !waiting.exceeds(limit.get())) {
            return false;
        }
        let lost = self.classic.pop().or_else(|| {
            self.steps.pop_front();
            self.l4s.pop()
        });
        lost.map(|packet| cx.drop(packet, Reason::Overflow)).is_some()
    }

    fn new(params: &Params) -> Self {
        let params = params.derived();
        let cap = if params.drop_on_overload { 1.0 } else { 1.0 / params.coupling_factor };
        let controller = Controller::new(params.alpha, params.beta, params.target, params.tupdate, cap);
        let classic = libm::round(params.classic_protection.get() * 1e6) as i64;
        let codepoints = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let weights = [1_000_000 - classic, classic];
        let mtu = i64::try_from(params.mtu.get().min(u64::from(u32::MAX))).unwrap_or(0);
        let credit = mtu * (weights[Class::Classic as usize] - weights[Class::L4s as usize]);
        Self {
            l4s: Queue::default(),
            classic: Queue::default(),
            steps: VecDeque::new(),
            controller,
            updates: Ticks::new(params.tupdate),
            base: 0.0,
            classic_probability: 0.0,
            coupled: 0.0,
            due: [0.0; 2],
            credit,
            credit_start: credit,
            weights,
            highest_rate: BitRate::ZERO,
            room: 0,
            l4s_codepoints: codepoints.map(|ecn| u8::from(params.is_l4s(ecn)) << (ecn as u8)).iter().sum(),
            nqb: params.nqb.map_or(NO_DSCP, Dscp::get),
            params,
        }
    }
}

#[cfg(test)]
mod tests;
