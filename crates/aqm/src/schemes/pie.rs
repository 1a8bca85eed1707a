//! PIE: drops or marks arrivals with a probability that a controller adjusts to hold the queue delay at `target`.
//!
//! PIE estimates the queue delay and updates a drop probability every `tupdate`: the probability rises while the delay is
//! above the target or grows, and falls otherwise. Arrivals are dropped (or, with `ecn`, marked) at random with this
//! probability. Since all decisions are made on arrival, PIE suits hardware and cable modems; bursts of up to `max_burst`
//! pass without a loss.
//!
//! # Control law
//! Every `tupdate`, `p += alpha (d - target) + beta (d - d_old)`, where d is the present delay and d_old that of the last
//! update. The step is scaled down while p is small (RFC 8033, section 4.2). Implemented sections of RFC 8033:
//!
//! * 4.1: random dropping and its two safeguards;
//! * 4.2: probability, automatic tuning, decay and bounds;
//! * 4.3 and 5.2: latency by timestamps or by Little's law with an estimate of the departure rate;
//! * 4.4: burst allowance;
//! * 5.1: ECN below `mark_ecnth`;
//! * 5.3: switching between active and inactive, with `activate`;
//! * 5.4: de-randomization, with `derandomize`;
//! * 5.5: bounded increase of the probability.
//!
//! # Deviations and interpretations
//! * RFC 8033's timestamps give the delay of departing packets. `delay timestamps` (default) takes the age of the packet at
//!   the head at the nominal time of the update, or 0 for an empty queue, so that no packet has to leave before a delay is
//!   known. `delay departures` takes the sojourn time of the last packet that left, or 0 if it left nothing behind, as Linux
//!   and ns-3 do; with a standing queue it is higher by half a transmission time. `delay departure_rate` is section 5.2.
//! * The counter of de-randomization runs only after the burst allowance is used up (section 4.4: the random drop is
//!   bypassed). The RFC's appendix would let it run during the allowance, too. An overflow resets it, as in the appendix.
//! * `activate`: an arrival that finds a third of `limit` (in the unit of `limit`; the RFC counts bytes) keeps PIE active
//!   even without congestion. Otherwise such an arrival would switch it on and the next one off.
//! * `bytemode` (tc-pie(8)) multiplies the probability by the packet's size divided by `avpkt`, limited to 1. The RFC leaves
//!   scaling by size open.
//! * Updates take place at whole multiples of `tupdate` on the host's clock, beginning with the first arrival.
//! * `variant linux`: an update that finds a delay above 250 ms raises p by a further 2 %. The decay factor is 1/64 and is
//!   left out when the delay is 0 although packets wait. (The comment in Linux says that the whole update is left out, but
//!   its code leaves out only the decay.) p is not limited to 1: Linux keeps it in 64 bits, of which 56 are the fraction, and
//!   looks only for their overflow (6.1.192, `pie_calculate_probability`). After a long overload p comes down from there, and
//!   everything is dropped meanwhile. The internal `drop_probability` is 1 then; `tc -s` prints the fraction. A queue of less
//!   than two `avpkt` is spared, not one of up to as much, so that two full packets are not. Departure rates are averaged with
//!   weight 1/8. With `delay departures`, the safeguard of section 4.1 looks at the delay of the last packet that left, not at
//!   that of the last update. Not reproduced: fixed-point arithmetic and the decrease of the allowance at departures.
//! * `variant ns3`: p stays 0 while burst allowance is left. Departure rates are averaged with weight 1/2. With a limit in
//!   packets, a queue of up to 2 packets is spared, rather than 2 mean packets. The allowance is restored only after 1.5 s
//!   of consecutive updates without congestion.
//!
//! # Work per packet
//! Constant for a packet and an update. At most 4096 updates are made up at once (61 s at the default tupdate), and none on
//! an empty queue once p is 0; earlier updates are left out. With the default gains p has then reached 0 on an empty queue
//! (with any gains: 0.98^4096 is 1e-36), and 1 if the packet at the head has waited for a minute (`variant linux`: 1 or more).
//!
//! # References
//! * RFC 8033, "Proportional Integral Controller Enhanced (PIE): A Lightweight Control Scheme to Address the Bufferbloat
//!   Problem", 2017.
//! * tc-pie(8).

// Names in comments with a trailing underscore are those of the pseudocode in RFC 8033.

mod departures;
mod gain;
mod tuning;

pub use gain::Gain;

use crate::acts::{Acts, ON};
use crate::params::KERNELS;
use crate::ticks::Ticks;
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::string::String;
use departures::{Departures, Weight};
use sojourn_units::{BitRate, Bytes, Instant, Probability, Span};
use tuning::auto_tune;

/// ns-3's `BURST_RESET_TIMEOUT`.
const BURST_RESET: Span = Span::from_millis(1500);

/// The most updates that are caught up at once.
const CATCH_UP: u64 = 4096;
/// Where Linux's probability overflows: 8 of its 64 bits are above the fraction.
const LINUX_MOST: f64 = 256.0;

crate::choice! {
    /// Where the delay comes from.
    pub enum Delay {
        /// The head's age.
        Timestamps = "timestamps",
        /// The sojourn time of the packet that left last.
        Departures = "departures",
        /// Backlog over the departure rate.
        DepartureRate = "departure_rate",
    }
}

crate::choice! {
    /// Which implementation is followed where they differ.
    pub enum Variant {
        /// RFC 8033.
        Rfc = "rfc",
        /// Linux's sch_pie.
        Linux = "linux",
        /// ns-3's PieQueueDisc.
        Ns3 = "ns3",
    }
}

crate::params! {
    /// Parameters of `pie`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped, TAIL_DROP (tc-pie(8)).
        limit: Limit = Limit::packets(1000),
        /// Target queue delay, QDELAY_REF (RFC 8033 section 4.2; 15 ms).
        target: Span = Span::from_millis(15),
        /// Time between updates, T_UPDATE (RFC 8033 section 4.2; 15 ms).
        tupdate: Span = Span::from_millis(15),
        /// Gain in Hz: change of p in an update for each second by which the delay exceeds target; a whole number counts sixteenths, as in tc (RFC 8033 section 4.2; 1/8).
        alpha: Gain = Gain::from_hz(0.125),
        /// Gain in Hz: change of p in an update for each second by which the delay has grown since the last one; written as alpha (RFC 8033 section 4.2; 1 + 1/4).
        beta: Gain = Gain::from_hz(1.25),
        /// How long a burst passes without random drops, MAX_BURST (RFC 8033 section 4.4; 150 ms).
        max_burst: Span = Span::from_millis(150),
        /// Mark ECN-capable packets instead of dropping them (RFC 8033 section 5.1; tc-pie(8)).
        ecn: bool = false,
        /// Drop probability from which ECN-capable packets are dropped instead of marked (RFC 8033 section 5.1; 10 %).
        mark_ecnth: Probability = Probability::clamped(0.1) => [Acts::With("ecn", ON)],
        /// Multiply the probability by the packet's size divided by avpkt (tc-pie(8)).
        bytemode: bool = false,
        /// Mean packet size, MEAN_PKTSIZE: nothing is dropped at random while at most two of them wait (RFC 8033 section 4.1; the value is RFC 8034's).
        avpkt: Bytes = Bytes::new(1024) => [Acts::Without("variant", &["ns3"])],
        /// Where the delay comes from (RFC 8033 sections 4.3 and 5.2).
        delay: Delay = Delay::Timestamps,
        /// Backlog from which departures are measured, and bytes of one measurement, DQ_THRESHOLD (RFC 8033 section 5.2; 2^14).
        dq_threshold: Bytes = Bytes::new(16_384) => [Acts::With("delay", &["departure_rate"])],
        /// Prevent random drops from being too close together or too far apart (RFC 8033 section 5.4).
        derandomize: bool = false,
        /// Start random drops only when the queue has reached a third of limit, and stop when congestion has ended (RFC 8033 section 5.3).
        activate: bool = false,
        /// Which implementation is followed where they differ.
        variant: Variant = Variant::Rfc,
    }
}

impl Params {
    fn linux() -> Self {
        Self {
            variant: Variant::Linux,
            delay: Delay::Departures,
            derandomize: true,
            avpkt: Bytes::new(1514),
            ..Self::default()
        }
    }

    fn ns3() -> Self {
        Self {
            variant: Variant::Ns3,
            delay: Delay::Departures,
            limit: Limit::packets(25),
            avpkt: Bytes::new(1000),
            ..Self::default()
        }
    }

    /// Shu (2023), Table 2 and, for the buffer, Table 3.
    fn shu2023() -> Self {
        Self { limit: Limit::packets(2000), dq_threshold: Bytes::new(20), ..Self::ns3() }
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Pie {
    params: Params,
    /// `drop_prob_`.
    probability: f64,
    /// `qdelay_old_` in seconds: the delay at the last update.
    delay_old: f64,
    /// Half of the target, in seconds.
    half_target: f64,
    /// Up to here nothing is dropped at random.
    spared: Limit,
    /// Neither `bytemode` nor `derandomize`: every arrival is dropped with p.
    is_plain: bool,
    /// What the safeguard of section 4.1 looks at: `delay_old`, or the delay of a packet that left since, as in Linux.
    delay_seen: f64,
    /// `burst_allowance_`.
    burst_allowance: Span,
    /// `accu_prob_`.
    accumulated: f64,
    /// `active_`; always true without `activate`.
    active: bool,
    /// Sojourn time of the packet that left last; 0 if it left nothing behind.
    last_sojourn: Span,
    departures: Departures,
    updates: Ticks,
    /// `variant = ns3`: updates in a row without congestion since the allowance was used up, the first of them counted for good.
    calm_updates: u32,
}

impl Pie {
    /// `current_qdelay`, in seconds, at `now`.
    #[inline]
    fn delay(&self, now: Instant, queue: &Queue) -> f64 {
        if self.params.delay == Delay::Timestamps {
            return queue.head_sojourn(now).map_or(0.0, Span::seconds);
        }
        self.delay_otherwise(queue)
    }

    /// The same without timestamps. Apart, or its divisions would be made for all.
    #[inline(never)]
    fn delay_otherwise(&self, queue: &Queue) -> f64 {
        match self.params.delay {
            Delay::DepartureRate => self.departures.delay(queue.bytes()),
            Delay::Departures | Delay::Timestamps => self.last_sojourn.seconds(),
        }
    }

    /// Sections 4.2 and 5.5, `calculate_drop_prob`; `delay` in seconds.
    #[inline]
    fn update(&mut self, delay: f64, backlog: u64) {
        let Params { alpha, beta, variant, tupdate, .. } = self.params;
        let p = self.probability;
        let mut step = alpha * (delay - 2.0 * self.half_target) + beta * (delay - self.delay_old);
        step *= auto_tune(p);
        // Section 5.5.
        let most = if p >= 0.1 { 0.02 } else { f64::INFINITY };
        step = if step > most { most } else { step };
        // One look at the variant, for the one that is mostly there.
        if variant != Variant::Rfc {
            return self.update_otherwise(step, delay, backlog);
        }
        let mut p = p + step;
        if delay == 0.0 && self.delay_old == 0.0 {
            p *= 0.98;
        }
        self.probability = p.clamp(0.0, 1.0);
        self.delay_old = delay;
        // Section 4.4.
        self.burst_allowance = self.burst_allowance.saturating_sub(tupdate);
    }

    /// The same under the other variants, whose adjustment is `step`.
    #[inline(never)]
    fn update_otherwise(&mut self, step: f64, delay: f64, backlog: u64) {
        let old = core::mem::replace(&mut self.delay_old, delay);
        let is_zero = delay == 0.0 && old == 0.0;
        let p = self.probability + step;
        if self.params.variant == Variant::Linux {
            let p = if delay > 0.25 { p + 0.02 } else { p };
            // What overflows is set to 1.
            let p = if p < LINUX_MOST { p.max(0.0) } else { 1.0 };
            self.probability = if is_zero && backlog == 0 { p * (1.0 - 1.0 / 64.0) } else { p };
        } else {
            let p = if self.burst_allowance.is_zero() { p } else { 0.0 };
            self.probability = (if is_zero { p * 0.98 } else { p }).clamp(0.0, 1.0);
        }
        self.burst_allowance = self.burst_allowance.saturating_sub(self.params.tupdate);
        if self.params.variant == Variant::Ns3 {
            self.count_calm(delay.max(old));
        }
    }

    /// ns-3's way to an allowance: after an update whose delay and the one before are at most `delay`.
    fn count_calm(&mut self, delay: f64) {
        if delay < self.half_target && self.probability == 0.0 && self.burst_allowance.is_zero() {
            self.calm_updates = self.calm_updates.saturating_add(1);
        } else if !self.is_rested() {
            self.calm_updates = self.calm_updates.min(1);
        }
    }

    /// ns-3's `NO_BURST`: more than so many updates were calm, after the one that ended the protection.
    fn is_rested(&self) -> bool {
        u64::from(self.calm_updates) > 1 + BURST_RESET.nanos() / self.params.tupdate.nanos().max(1)
    }

    /// ns-3 gives the allowance back.
    #[inline(never)]
    fn may_rest(&self) -> bool {
        self.burst_allowance.is_zero() && self.is_rested()
    }

    /// The updates due up to `now`.
    #[inline(never)]
    fn catch_up(&mut self, now: Instant, queue: &Queue) {
        if !self.active {
            self.updates.take_all(now);
            return;
        }
        self.updates.skip_to_last(now, CATCH_UP);
        match queue.head() {
            Some(head) if self.params.delay == Delay::Timestamps => {
                let enqueued = head.enqueued;
                while let Some(at) = self.updates.take(now) {
                    // Signed, because that converts in one instruction.
                    self.update(at.since(enqueued).nanos() as i64 as f64 / 1e9, queue.bytes());
                }
                self.delay_seen = self.delay_old;
            }
            _ => self.catch_up_otherwise(now, queue),
        }
    }

    /// The same on an empty queue, or without timestamps.
    #[inline(never)]
    fn catch_up_otherwise(&mut self, now: Instant, queue: &Queue) {
        while self.updates.is_due(now) {
            if self.is_settled(queue) {
                return self.rest(now);
            }
            let Some(at) = self.updates.take(now) else { return };
            self.update(self.delay(at, queue), queue.bytes());
            self.delay_seen = self.delay_old;
        }
    }

    /// The updates due up to `now` of a queue that is settled.
    #[inline(never)]
    fn rest(&mut self, now: Instant) {
        let updates = self.updates.take_all(now);
        if !self.active {
            return;
        }
        let tupdate = self.params.tupdate;
        if self.params.variant == Variant::Ns3 {
            // The update that uses the allowance up is calm already.
            let used_up = self.burst_allowance.nanos().div_ceil(tupdate.nanos().max(1)).max(1);
            let calm = (updates + 1).saturating_sub(used_up);
            self.calm_updates = self.calm_updates.saturating_add(u32::try_from(calm).unwrap_or(u32::MAX));
        }
        if !self.burst_allowance.is_zero() {
            self.burst_allowance = self.burst_allowance.saturating_sub(tupdate * updates);
        }
    }

    /// Updates change nothing but the allowance until a packet comes: p is 0, and below target it does not rise.
    #[inline]
    fn is_settled(&self, queue: &Queue) -> bool {
        queue.is_empty() && self.probability == 0.0 && self.delay_old == 0.0 && self.last_sojourn.is_zero()
    }

    /// Section 5.3: congestion has gone, as far as an arrival at `now` sees.
    #[inline]
    fn is_calm(&self, now: Instant, queue: &Queue) -> bool {
        (self.probability == 0.0) & (self.delay_old < self.half_target) && self.delay_is_low(now, queue)
    }

    /// `current_qdelay < QDELAY_REF/2`.
    #[inline]
    fn delay_is_low(&self, now: Instant, queue: &Queue) -> bool {
        let sojourn = match self.params.delay {
            Delay::Timestamps => queue.head_sojourn(now).unwrap_or(Span::ZERO),
            Delay::Departures => self.last_sojourn,
            Delay::DepartureRate => return self.delay(now, queue) < self.half_target,
        };
        sojourn * 2 < self.params.target
    }

    /// Section 5.3, after an arrival that saw `calm` or not.
    #[inline(never)]
    fn switch(&mut self, calm: bool, queue: &Queue) {
        if !self.active && self.third_reached(queue) {
            self.begin();
        } else if self.active && calm && !self.third_reached(queue) {
            self.active = false;
        }
    }

    /// Section 5.3: the queue has reached a third of the limit.
    fn begin(&mut self) {
        self.active = true;
        (self.delay_old, self.delay_seen) = (0.0, 0.0);
        self.probability = 0.0;
        self.burst_allowance = self.params.max_burst;
        self.accumulated = 0.0;
        self.departures.restart();
    }

    /// Section 4.1, `drop_early`, with sections 4.4 and 5.4.
    #[inline]
    fn drop_early(&mut self, cx: &mut Cx<'_>, queue: &Queue, packet: &Packet) -> bool {
        let is_low = (self.delay_seen < self.half_target) & (self.probability < 0.2);
        // One branch: none of them can be foreseen where the packets of many flows take turns.
        if !self.active | !self.burst_allowance.is_zero() | is_low | self.is_spared(queue) {
            return false;
        }
        if self.is_plain {
            return cx.chance(self.probability);
        }
        self.draw_otherwise(cx, packet)
    }

    /// The draw with `bytemode` or `derandomize`.
    #[inline(never)]
    fn draw_otherwise(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> bool {
        let mut p = self.probability;
        if self.params.bytemode {
            p *= f64::from(packet.bytes) / self.params.avpkt.get() as f64;
        }
        if self.params.derandomize {
            if self.probability == 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += p;
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                return true;
            }
        }
        cx.chance(p)
    }

    /// Section 4.1: no more than two packets wait.
    #[inline]
    fn is_spared(&self, queue: &Queue) -> bool {
        match self.spared {
            Limit::Bytes(bytes) => queue.bytes() <= bytes.get(),
            Limit::Packets(packets) => queue.len() as u64 <= packets.get(),
        }
    }

    /// Section 5.3: a third of the buffer is in use.
    fn third_reached(&self, queue: &Queue) -> bool {
        match self.params.limit {
            Limit::Packets(limit) => 3 * queue.len() as u64 >= limit.get(),
            Limit::Bytes(limit) => queue.bytes().saturating_mul(3) >= limit.get(),
        }
    }
}

impl Aqm for Pie {
    #[inline]
    fn advance(&mut self, now: Instant, _rate: BitRate, queue: &Queue) {
        if self.updates.is_due(now) {
            if self.is_settled(queue) {
                self.rest(now);
            } else {
                self.catch_up(now, queue);
            }
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.updates.start(cx.now);
        // Section 4.4: given back before the decision.
        let calm = self.is_calm(cx.now, queue);
        let given = match self.params.variant {
            Variant::Rfc | Variant::Linux => calm,
            Variant::Ns3 => self.may_rest(),
        };
        if given {
            self.burst_allowance = self.params.max_burst;
            self.calm_updates = 0;
        }
        if self.params.limit.is_full(queue, packet.bytes) {
            self.accumulated = 0.0;
            cx.drop(packet, Reason::Overflow);
        } else if self.drop_early(cx, queue, &packet) {
            self.accumulated = 0.0;
            let ecn = self.params.ecn && self.probability < self.params.mark_ecnth.get();
            cx.signal(queue, packet, ecn);
        } else {
            queue.push(packet);
        }
        if self.params.activate {
            self.switch(calm, queue);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        if let Some(head) = queue.head() {
            let left_behind = queue.bytes() - u64::from(head.bytes);
            match self.params.delay {
                Delay::Timestamps => {}
                Delay::Departures => {
                    self.last_sojourn = if queue.len() == 1 { Span::ZERO } else { cx.now.since(head.enqueued) };
                    if self.params.variant == Variant::Linux {
                        self.delay_seen = self.last_sojourn.seconds();
                    }
                }
                Delay::DepartureRate => self.departures.departure(cx.now, head.bytes, left_behind),
            }
        }
        queue.pop()
    }

    #[inline(always)]
    fn passes(&mut self, now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        self.params.delay == Delay::Timestamps && !self.updates.is_due(now)
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("drop_probability", self.probability.min(1.0));
        visit("delay_s", self.delay_old);
        visit("burst_allowance_s", self.burst_allowance.seconds());
        visit("accumulated_probability", self.accumulated);
        visit("active", f64::from(u8::from(self.active)));
        visit("departure_rate_bytes_s", self.departures.bytes_s());
    }
}

impl Algorithm for Pie {
    type Params = Params;

    const ABOUT: About = About {
        title: "PIE",
        summary: "drops an arrival with a probability that a controller moves to hold the queue delay at a target",
        source: "RFC 8033",
        signals_on: "queue delay",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: false,
    };

    const PRESETS: &'static [&'static str] = &["linux-6.1", "linux-6.12", "linux-7.2", "ns3", "shu2023"];

    fn preset(name: &str) -> Option<Params> {
        match name {
            "ns3" => Some(Params::ns3()),
            "shu2023" => Some(Params::shu2023()),
            kernel => KERNELS.contains(&kernel).then(Params::linux),
        }
    }

    // ns-3's FqPieQueueDisc has ECN on by default; Linux's fq_pie has it off.
    fn in_fair_queue(preset: Option<&str>, params: Params) -> Params {
        Params { ecn: matches!(preset, Some("ns3" | "shu2023")), ..params }
    }

    fn check(params: &Params) -> Result<(), String> {
        if params.tupdate.is_zero() {
            return Err("tupdate is 0; allowed: a time above 0, as in \"15ms\"".into());
        }
        if params.avpkt.get() == 0 {
            return Err("avpkt is 0; allowed: 1 B or more".into());
        }
        if params.dq_threshold.get() == 0 {
            return Err("dq_threshold is 0; allowed: 1 B or more, as in \"16KiB\"".into());
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        self.updates = old.updates.every(params.tupdate);
        self.departures.keep(&old.departures);
        self.active = old.active || !params.activate;
        self.burst_allowance = old.burst_allowance.min(params.max_burst);
        self.probability = old.probability;
        (self.delay_old, self.delay_seen) = (old.delay_old, old.delay_seen);
        self.accumulated = old.accumulated;
        self.last_sojourn = old.last_sojourn;
        self.calm_updates = old.calm_updates;
    }

    fn new(params: &Params) -> Self {
        let weight = match params.variant {
            Variant::Rfc => Weight::OfTime,
            Variant::Linux => Weight::OfRate(1.0 / 8.0),
            Variant::Ns3 => Weight::OfRate(1.0 / 2.0),
        };
        Self {
            probability: 0.0,
            delay_old: 0.0,
            half_target: params.target.seconds() / 2.0,
            spared: match (params.variant, params.limit) {
                (Variant::Ns3, Limit::Packets(_)) => Limit::packets(2),
                (Variant::Linux, _) => Limit::Bytes(Bytes::new((2 * params.avpkt.get()).saturating_sub(1))),
                _ => Limit::Bytes(Bytes::new(2 * params.avpkt.get())),
            },
            is_plain: !params.bytemode && !params.derandomize,
            delay_seen: 0.0,
            burst_allowance: params.max_burst,
            accumulated: 0.0,
            active: !params.activate,
            last_sojourn: Span::ZERO,
            departures: Departures::new(params.dq_threshold, weight),
            updates: Ticks::new(params.tupdate),
            calm_updates: 0,
            params: params.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
