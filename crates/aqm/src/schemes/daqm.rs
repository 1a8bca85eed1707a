//! dAQM: drops arrivals for a while after the queue length, the sojourn time or one of their derivatives has exceeded a
//! threshold.
//!
//! dAQM computes eight features: the sojourn time and the queue length, and the first three derivatives of each. Each
//! feature has its own threshold. When one is exceeded, dAQM drops the packet at the head and then drops arrivals at random,
//! with a given drop rate and for a given time. Shu (2023) proposes the scheme; this implementation reproduces it, including
//! its weaknesses, in order to examine it.
//!
//! # Control law
//! The features are S0 to S3 of the sojourn time and Q0 to Q3 of the queue length, each with its own threshold, drop rate
//! and drop duration. At a dequeue they are examined in the order |S3|, |Q3|, |S2|, |Q2|, |S1|, |Q1|, S0, Q0. The first one
//! strictly above its threshold drops the packet at the head and starts a dropping phase. In this phase every arrival is
//! dropped with the feature's drop rate, for the feature's drop duration. `limit` is checked before all of this. Nothing is
//! examined until the time `target` has passed, while fewer than `min_queue` packets wait, or during a dropping phase.
//!
//! # What the features measure
//! All sojourn derivatives come from the waiting times s1 (oldest) to s5 of the five oldest packets at one instant. s_i -
//! s_j is therefore exactly the spacing of these two arrivals: S1 to S3 measure how uneven arrivals were rather than how the
//! delay changes, and small thresholds are exceeded by almost any six packets. The thesis defines them so, and this is kept.
//! `sojourn departures` takes each s_i at the departure of its packet, which gives the derivative that the name promises.
//!
//! # Deviations and interpretations
//! The thesis leaves some choices open. The first value named is the default.
//!
//! * `interarrival`: the thesis divides by the mode, in whole milliseconds, of the spacing of arrivals at this queue in a
//!   FIFO run of the same scenario; give this time. `measured` is a proposal in its outlook: an average with weight 1/16
//!   over the spacings of packets that have left, and so never over the five examined packets (their S1 would be 1, S2 and
//!   S3 zero). The sojourn derivatives are examined only once it is above zero. A constant of 0 is refused.
//! * `inspect`: the thesis dequeues the packets that it examines (two for S1, four for S2, five for S3), drops "the next
//!   packet", and does not say what happens to those examined. `deliver` sends them without further checks, and a feature
//!   above its threshold drops the packet after them. `lose` drops them, and then also the packet after them. Nothing is
//!   dequeued for S0, Q0 to Q3 or `departures`. The default is none of these: `peek` examines packets and leaves them in
//!   the queue, which the thesis wanted and ns-3's queue did not allow.
//! * `min_queue`: section 4.1.1 asks for "at least five packets in the queue" (`5p`), Algorithm 3 for more than five (`6p`).
//! * `in_hand`: Algorithm 2 gets the packet that is about to leave before Algorithm 3 counts packets and examines "the
//!   oldest packet". `counts` takes it as the first packet of the queue all the same: it is in the queue length, also in
//!   `min_queue`, and the oldest. `apart` follows the algorithms: neither count nor features include it, and it is the one
//!   that a feature above its threshold drops. So five may mean 5, 6 or 7 packets with the one in hand.
//! * `ring`: "the sixth value will replace the first". `slides` uses the last five samples at every examination, the oldest
//!   first. `restarts` fills blocks of five and uses the last complete block. `array` uses the last five in the order of
//!   their places in the ring: after the sixth sample, this is the first value and the second sample the next.
//! * `flags`: Algorithm 1 resets the flags at an arrival in the dropping phase, so that later arrivals do not know which
//!   feature started it. `phase` keeps the flag as long as the phase. `enqueue` follows Algorithm 1 to the letter: the first
//!   arrival meets the feature's drop rate and resets the flag, later ones meet `drop_rate`. A phase without an arrival then
//!   leaves the flag set for ever (line 3 of Algorithm 3), after which nothing is examined again.
//! * Queue lengths are sampled at whole multiples of `sample` on the host's clock, with 0 at its start. `target` is counted
//!   from the start, too ("Now > target"). An end of a phase, or a sample, at the time of a packet comes before the packet.
//!   After a reset the ring holds the present length.
//! * Units: sojourn times and `interarrival` in milliseconds, queue lengths in packets, derivatives as the formulas give
//!   them.
//!
//! # Work per packet
//! Constant. After an idle time at most 10 samples are made up one by one; more leave equal ones only, which are written
//! at once.
//!
//! # References
//! * S. Shu, "Adaptive In-Network Queue Management based on the Stochasticity of Network Flows", bachelor thesis, University
//!   of Groningen, 2023, section 4 (equations 18 to 33, Algorithms 1 to 3) and Table 2.

use crate::ticks::Ticks;
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::string::String;
use params::Feature;
pub use params::{Flags, InHand, Inspect, Interarrival, Params, Ring, Sojourn};
pub use signals::derivatives;
use signals::{Departures, Samples};
use sojourn_units::{BitRate, Instant, Span};

mod params;
mod signals;
#[cfg(test)]
mod tests;

const S0: usize = 0;
const S1: usize = 1;
const S2: usize = 2;
const S3: usize = 3;
const Q0: usize = 4;
const Q1: usize = 5;
const Q2: usize = 6;
const Q3: usize = 7;

/// Algorithm 3, lines 7 to 22.
const ORDER: [usize; 8] = [S3, Q3, S2, Q2, S1, Q1, S0, Q0];

/// Names of the features' last values among the internals.
const NAMES: [&str; 8] = ["s0_ms", "s1", "s2", "s3", "q0_packets", "q1", "q2", "q3"];

/// The packets whose waiting times S3 takes.
const EXAMINED: u64 = 5;

#[derive(Clone, Debug)]
enum Phase {
    /// Features are looked at.
    Watching,
    /// Arrivals are dropped with `drop_rate` until `until`.
    Dropping { until: Instant, drop_rate: f64, flag: bool },
    /// The phase ended with its flag set (`flags enqueue`): nothing is looked at any more.
    Flagged,
}

/// What the parameters have computed or noted; the rest is left out on the packet path.
#[derive(Clone, Copy, Debug)]
struct Needs {
    /// The waiting times: a sojourn derivative has a threshold.
    waits: bool,
    /// The last packets that left.
    departures: bool,
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Daqm {
    limit: Limit,
    target: Span,
    /// Packets that must wait for a look, with the packet in hand.
    enough: usize,
    /// Where the packets that are looked at begin: behind the packet in hand if it is apart.
    first: usize,
    interarrival: Option<Interarrival>,
    sojourn: Sojourn,
    inspect: Inspect,
    flags: Flags,
    drop_rate: f64,
    features: [Feature; 8],
    /// Infinite where a feature is not looked at.
    thresholds: [f64; 8],
    /// Packets dequeued for a look (section 4.1.1); 0 where they are only peeked at.
    taken: usize,
    phase: Phase,
    /// Packets at the head that were taken for the last look and will be sent (`inspect deliver`).
    cleared: usize,
    ticks: Ticks,
    samples: Samples,
    departures: Departures,
    needs: Needs,
    /// Values at the last look; not a number where not looked at.
    seen: [f64; 8],
    /// Looks that found a feature above its threshold.
    hits: u64,
    /// Packets dropped at a dequeue, for a look or for a hit.
    head_drops: u64,
}

impl Daqm {
    /// Equations 18 to 25 and 26 to 33: the values of all features now; not a number where one cannot be had.
    #[inline]
    fn values(&self, now: Instant, queue: &Queue) -> [f64; 8] {
        let sojourn = if self.needs.waits { self.sojourn_derivatives(now, queue) } else { None };
        let [s1, s2, s3] = sojourn.unwrap_or([f64::NAN; 3]);
        let [q1, q2, q3] = self.samples.derivatives().unwrap_or([f64::NAN; 3]);
        let s0 = queue.get(self.first).map_or(f64::NAN, |oldest| now.since(oldest.enqueued).millis());
        [s0, s1, s2, s3, queue.len().saturating_sub(self.first) as f64, q1, q2, q3]
    }

    fn sojourn_derivatives(&self, now: Instant, queue: &Queue) -> Option<[f64; 3]> {
        Some(signals::derivatives(&self.waits(now, queue)?, self.spacing_ms()?))
    }

    /// s1 to s5 in ms.
    fn waits(&self, now: Instant, queue: &Queue) -> Option<[f64; 5]> {
        match self.sojourn {
            Sojourn::Departures => self.departures.sojourns_ms(),
            Sojourn::Instant => {
                let mut waits = [0.0; 5];
                for (position, wait) in waits.iter_mut().enumerate() {
                    *wait = now.since(queue.get(self.first + position)?.enqueued).millis();
                }
                Some(waits)
            }
        }
    }

    /// What sojourn derivatives divide by, in ms; never 0.
    fn spacing_ms(&self) -> Option<f64> {
        match self.interarrival? {
            Interarrival::Constant(span) => Some(span.millis()),
            Interarrival::Measured => self.departures.spacing_ms().filter(|ms| *ms > 0.0),
        }
    }

    /// The samples due up to `now`.
    #[inline(never)]
    fn take_samples(&mut self, now: Instant, queue: &Queue) {
        let sample = queue.len() as i64 as f64;
        if self.ticks.is_late(now, 10) {
            let due = self.ticks.take_all(now);
            self.samples.fill(sample, due);
            return;
        }
        while self.ticks.take(now).is_some() {
            self.samples.push(sample);
        }
    }

    /// Algorithm 3, line 3, and line 2.
    #[inline]
    fn looks(&self, now: Instant, queue: &Queue) -> bool {
        matches!(self.phase, Phase::Watching) && queue.len() >= self.enough && now.since(Instant::ZERO) > self.target
    }

    /// Algorithm 3, lines 4 to 23: the first feature above its threshold.
    fn look(&mut self, now: Instant, queue: &Queue) -> Option<usize> {
        let values = self.values(now, queue);
        // All at once and without branches, since mostly none is.
        let is_above = |feature: usize| values[feature].abs() > self.thresholds[feature];
        let any = (0..8).fold(false, |any, feature| any | is_above(feature));
        let hit = if any { ORDER.into_iter().find(|feature| is_above(*feature)) } else { None };
        for ((seen, value), threshold) in self.seen.iter_mut().zip(values).zip(self.thresholds) {
            *seen = if threshold < f64::INFINITY { value } else { f64::NAN };
        }
        if hit.is_some() {
            // Those after it are not looked at.
            ORDER
                .into_iter()
                .skip_while(|feature| Some(*feature) != hit)
                .skip(1)
                .for_each(|feature| self.seen[feature] = f64::NAN);
        }
        hit
    }

    /// Algorithm 2, lines 8 and 9.
    fn open(&mut self, now: Instant, feature: usize) {
        let Feature { drop_rate, drop_duration, .. } = self.features[feature];
        self.phase = Phase::Dropping { until: now + drop_duration, drop_rate, flag: true };
    }

    /// The head, which leaves the queue now.
    #[inline]
    fn head(&mut self, now: Instant, queue: &mut Queue) -> Option<Packet> {
        if self.needs.departures {
            if let Some(head) = queue.head() {
                self.departures.push(now, head, self.sojourn == Sojourn::Departures);
            }
        }
        queue.pop()
    }

    // Apart, so that the usual way of a packet saves no registers for it.
    /// Algorithm 2 after a look, with the packet in hand taken out before those that were looked at.
    #[inline(never)]
    fn dequeue_apart(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, is_hit: bool) -> Option<Packet> {
        let in_hand = self.head(cx.now, queue)?;
        if self.inspect == Inspect::Lose {
            for _ in 0..self.taken {
                self.drop_head(cx, queue);
            }
        } else {
            self.cleared = self.taken;
        }
        if !is_hit {
            return Some(in_hand);
        }
        self.head_drops += 1;
        cx.drop(in_hand, Reason::Early);
        // The first of them leaves in its place.
        self.cleared = self.cleared.saturating_sub(1);
        self.head(cx.now, queue)
    }

    fn drop_head(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) {
        if let Some(packet) = self.head(cx.now, queue) {
            self.head_drops += 1;
            cx.drop(packet, Reason::Early);
        }
    }
}

impl Aqm for Daqm {
    #[inline]
    fn advance(&mut self, now: Instant, _rate: BitRate, queue: &Queue) {
        if let Phase::Dropping { until, flag, .. } = self.phase {
            if now >= until {
                let stuck = flag && self.flags == Flags::Enqueue;
                self.phase = if stuck { Phase::Flagged } else { Phase::Watching };
            }
        }
        if self.ticks.is_due(now) {
            self.take_samples(now, queue);
        }
    }

    /// Algorithm 1.
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if self.limit.is_full(queue, packet.bytes) {
            cx.drop(packet, Reason::Overflow);
            return;
        }
        if let Phase::Dropping { drop_rate, flag, .. } = &mut self.phase {
            let dropped = cx.chance(*drop_rate);
            if self.flags == Flags::Enqueue {
                *flag = false;
                *drop_rate = self.drop_rate;
            }
            if dropped {
                cx.drop(packet, Reason::Early);
                return;
            }
        }
        queue.push(packet);
    }

    /// Algorithm 2.
    #[inline]
    fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        if self.cleared > 0 {
            self.cleared -= 1;
        } else if self.looks(cx.now, queue) {
            let hit = self.look(cx.now, queue);
            if let Some(feature) = hit {
                self.open(cx.now, feature);
                self.hits += 1;
            }
            if self.first > 0 {
                return self.dequeue_apart(cx, queue, hit.is_some());
            }
            match self.inspect {
                Inspect::Lose => {
                    for _ in 0..self.taken + usize::from(hit.is_some()) {
                        self.drop_head(cx, queue);
                    }
                }
                Inspect::Deliver if self.taken > 0 => {
                    if let Some(packet) = hit.and_then(|_| queue.remove(self.taken)) {
                        self.head_drops += 1;
                        cx.drop(packet, Reason::Early);
                    }
                    self.cleared = self.taken - 1;
                }
                Inspect::Peek | Inspect::Deliver => {
                    if hit.is_some() {
                        self.drop_head(cx, queue);
                    }
                }
            }
        }
        self.head(cx.now, queue)
    }

    #[inline(always)]
    fn passes(&mut self, now: Instant, _rate: BitRate, queue: &Queue) -> bool {
        let lasts = match self.phase {
            Phase::Watching | Phase::Flagged => true,
            Phase::Dropping { until, .. } => now < until,
        };
        let is_settled = lasts && !self.ticks.is_due(now);
        is_settled && self.cleared == 0 && !self.needs.departures && !self.looks(now, queue)
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        for (name, value) in NAMES.into_iter().zip(self.seen) {
            visit(name, value);
        }
        let drop_rate = if let Phase::Dropping { drop_rate, .. } = self.phase { drop_rate } else { 0.0 };
        visit("dropping", f64::from(u8::from(matches!(self.phase, Phase::Dropping { .. }))));
        visit("drop_rate", drop_rate);
        visit("interarrival_ms", self.spacing_ms().unwrap_or(f64::NAN));
        visit("hits", self.hits as f64);
        visit("head_drops", self.head_drops as f64);
    }
}

impl Algorithm for Daqm {
    type Params = Params;
    const FIXED: &'static [&'static str] = &["ring", "sample"];

    const ABOUT: About = About {
        title: "dAQM",
        summary:
            "drops arrivals for a while after the queue, its sojourn time or one of their derivatives was too large",
        source: "Shu 2023, section 4",
        signals_on: "sojourn time, queue length and their first three derivatives",
        drops_at: DropsAt::Both,
        ecn: false,
        per_flow_state: false,
    };

    /// The rows of Table 2: one feature each, and all eight.
    const PRESETS: &'static [&'static str] = &["f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "c1", "c2", "c3"];

    fn preset(name: &str) -> Option<Params> {
        let alone = |feature: usize, threshold: f64| {
            let mut thresholds = [None; 8];
            thresholds[feature] = Some(threshold);
            Some(Params::table2(thresholds, 0.9, Span::from_millis(200)))
        };
        let all = |thresholds: [f64; 8], drop_rate: f64| {
            Some(Params::table2(thresholds.map(Some), drop_rate, Span::from_millis(400)))
        };
        match name {
            "f1" => alone(S0, 200.0),
            "f2" => alone(S1, 0.01),
            "f3" => alone(S2, 0.01),
            "f4" => alone(S3, 0.01),
            "f5" => alone(Q0, 20.0),
            "f6" => alone(Q1, 0.01),
            "f7" => alone(Q2, 0.01),
            "f8" => alone(Q3, 0.01),
            "c1" => all([1000.0, 10.0, 10.0, 10.0, 120.0, 1.0, 10.0, 10.0], 0.05),
            "c2" => all([600.0, 0.1, 0.1, 0.1, 80.0, 0.1, 0.1, 0.1], 0.5),
            "c3" => all([100.0, 0.01, 0.01, 0.01, 20.0, 0.01, 0.01, 0.01], 0.98),
            _ => None,
        }
    }

    fn check(params: &Params) -> Result<(), String> {
        if params.sample.is_zero() {
            return Err("sample is 0; allowed: a time above 0, as in \"15ms\"".into());
        }
        if params.min_queue.get() < EXAMINED {
            return Err("min_queue is below 5p, and five packets are examined; allowed: 5p or more".into());
        }
        match params.interarrival {
            Some(Interarrival::Constant(Span::ZERO)) => Err(
                "interarrival is 0, which whole milliseconds give above about 24 Mbit/s, and sojourn derivatives divide by it; \
                 allowed: a time above 0, as in \"500us\", or \"measured\""
                    .into(),
            ),
            None if params.s1.is_some() || params.s2.is_some() || params.s3.is_some() => Err(
                "s1, s2 and s3 divide by interarrival, which is not given; allowed: the mode, in whole ms, of the spacing of \
                 arrivals at this queue in a run of the same scenario with pfifo (metric interarrival_ms_mode), as in \
                 \"interarrival 1ms\", or \"interarrival measured\""
                    .into(),
            ),
            _ if params.features().iter().all(|feature| feature.threshold.is_none()) => {
                Err("no feature has a threshold; allowed: at least one of s0, s1, s2, s3, q0, q1, q2, q3".into())
            }
            _ => Ok(()),
        }
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        self.ticks = old.ticks.every(params.sample);
        self.phase = old.phase;
        self.cleared = old.cleared;
        self.samples = old.samples;
        self.departures = old.departures;
        self.seen = old.seen;
        self.hits = old.hits;
        self.head_drops = old.head_drops;
    }

    fn new(params: &Params) -> Self {
        let mut ticks = Ticks::new(params.sample);
        // Samples begin at the start of the clock, when nothing waits.
        ticks.start(Instant::ZERO);
        let mut samples = Samples::new(params.ring);
        samples.push(0.0);
        let first = usize::from(params.in_hand == InHand::Apart);
        let dequeues = params.inspect != Inspect::Peek && params.sojourn == Sojourn::Instant;
        Self {
            limit: params.limit,
            target: params.target,
            enough: usize::try_from(params.min_queue.get()).unwrap_or(usize::MAX).saturating_add(first),
            first,
            interarrival: params.interarrival,
            sojourn: params.sojourn,
            inspect: params.inspect,
            flags: params.flags,
            drop_rate: params.drop_rate.get(),
            thresholds: params.features().map(|feature| feature.threshold.unwrap_or(f64::INFINITY)),
            features: params.features(),
            taken: match (dequeues, params.s3, params.s2, params.s1) {
                (false, ..) | (true, None, None, None) => 0,
                (true, Some(_), ..) => 5,
                (true, None, Some(_), _) => 4,
                (true, None, None, Some(_)) => 2,
            },
            phase: Phase::Watching,
            cleared: 0,
            ticks,
            samples,
            departures: Departures::default(),
            needs: Needs {
                waits: params.s1.is_some() || params.s2.is_some() || params.s3.is_some(),
                departures: params.sojourn == Sojourn::Departures
                    || params.interarrival == Some(Interarrival::Measured),
            },
            seen: [f64::NAN; 8],
            hits: 0,
            head_drops: 0,
        }
    }
}
