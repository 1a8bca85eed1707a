//! RED (random early detection): drops or marks an arrival at random; the probability rises with the average queue length.
//!
//! RED keeps an exponentially weighted average of the queue length. While the average is below `min`, it drops nothing.
//! Between `min` and `max` it drops (or, with `ecn`, marks) arrivals at random, with a probability that grows to `max_p`.
//! From `max` on it drops every arrival. So senders slow down before the queue is full, and short bursts, which move the
//! average little, pass.
//!
//! # Control law
//! Each arrival that finds the queue length q updates `avg <- (1 - w) avg + w q`. Between `min` and `max` the base
//! probability is `p_b = max_p (avg - min) / (max - min)`. The probability of a signal (a drop or a mark) is `p_a = p_b / (1
//! - count p_b)`, where count is the number of arrivals since the last signal; this spaces signals more evenly. With
//! `gentle` the base probability rises from `max_p` to 1 between `max` and twice `max`, instead of being 1 from `max` on.
//!
//! * Idle link: a link that asks for a packet and gets none is idle. The first arrival after that uses the average `avg (1 -
//!   w)^m`, where m is the idle time divided by the transmission time of a mean packet (`avpkt` at the present rate).
//! * Units: `min` and `max` state whether q is counted in packets or in bytes. `bytemode` is independent of that: it
//!   multiplies p_a by the packet's size divided by `avpkt`, and counts bytes divided by `avpkt` instead of packets in count
//!   (as ns-2 does).
//! * ECN: ECN-capable packets are marked where RED signals some arrivals. Where it signals every arrival they are marked
//!   too, unless `harddrop` is set.
//!
//! # Deviations and interpretations
//! * count follows figure 2 of the paper: it is 0 after a signal and grows by one before each decision. Signals are
//!   therefore 1 to 1/p_b - 1 arrivals apart, uniformly distributed.
//! * If the queue is full, the arrival is dropped before RED decides, and this drop restarts count.
//! * Linux draws one random number per signal instead of one per arrival; its signals are uniformly 1 to 1/p_b arrivals
//!   apart. tc gives w as a power of two by `burst`; here w is given directly.
//! * ns-3 and ns-2 add one averaging step with q = 0 at the end of an idle time and count whole packets in it. They never
//!   signal the first arrival above `min`, nor an arrival that finds fewer than two packets. None of this is done here, not
//!   even with preset `ns3`.
//! * Updates of max_p (with `adaptive`) take place at whole multiples of `interval` on the host's clock, beginning with the
//!   first arrival.
//! * Linux's `red_change` drops every waiting packet and begins the average anew, whichever parameter changes. Here the
//!   average is kept, and a lower `limit` drops only the packets that exceed it.
//!
//! # Work per packet
//! Constant. With `adaptive`, at most 1024 updates of max_p are made up at once after an idle time (512 s at the default
//! interval), and earlier ones are left out. While nothing arrives, the average stays or decays; with the default alpha and
//! beta max_p reaches its bound after 60 updates, so nothing is lost.
//!
//! # References
//! * S. Floyd and V. Jacobson, "Random Early Detection gateways for congestion avoidance", IEEE/ACM Transactions on
//!   Networking 1(4), 1993, figure 2.
//! * S. Floyd, "Recommendation on using the gentle_ variant of RED", 2000.
//! * For `adaptive`: S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED: an algorithm for increasing the robustness of RED's
//!   active queue management", 2001, sections 4 and 5.
//! * tc-red(8).

pub(crate) mod adapt;
pub(crate) mod average;
pub(crate) mod law;
mod length;

pub use length::Length;

use crate::acts::{Acts, NONE, ON};
use crate::params::KERNELS;
use crate::ticks::Ticks;
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Ecn, Internal, Limit, Packet, Queue, Reason};
use adapt::Automatic;
use alloc::format;
use alloc::string::String;
use average::{Average, Weight};
use law::{Band, Count, Curve, Linear, Region};
use sojourn_units::{BitRate, Bytes, Instant, Packets, Probability, Span};

/// The most updates of max_p that are caught up at once.
const CATCH_UP: u64 = 1024;

crate::params! {
    /// Parameters of `red`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (tc-red(8)).
        limit: Limit = Limit::packets(1000),
        /// Average queue length below which nothing is dropped, packets or bytes (5 p: Floyd 1997); "none": computed from the rate, as Adaptive RED does.
        min: Option<Length> = Some(Length::packets(5)),
        /// Average queue length from which every arrival is dropped; with gentle, a growing share of them (three times min: Floyd 1997); "none": three times min.
        max: Option<Length> = Some(Length::packets(15)),
        /// Drop probability when the average reaches max; tc's "probability" (0.1: Floyd 1997).
        max_p: Probability = Probability::clamped(0.1),
        /// Weight of one arrival in the average (0.002: Floyd and Jacobson 1993); "none": computed from the rate, as Adaptive RED does.
        w: Option<Probability> = Some(Probability::clamped(0.002)),
        /// Mean packet size, used for idle times and bytemode (tc-red(8): "1000 is a good value").
        avpkt: Bytes = Bytes::new(1000),
        /// Let the probability rise from max_p to 1 between max and twice max, instead of being 1 from max on (Floyd 2000).
        gentle: bool = false,
        /// No drop or mark before 1/p_b arrivals since the last one, and one after 2/p_b at the latest (ns-2, ns-3).
        wait: bool = false,
        /// Multiply the probability by the packet's size divided by avpkt (Floyd and Jacobson 1993; ns-2).
        bytemode: bool = false,
        /// Mark ECN-capable packets instead of dropping them (tc-red(8)).
        ecn: bool = false,
        /// Drop ECN-capable packets, too, where every arrival is signalled (tc-red(8)).
        harddrop: bool = false => [Acts::With("ecn", ON)],
        /// Queue packets that are not ECN-capable instead of dropping them early; only with ecn (tc-red(8)).
        nodrop: bool = false,
        /// Adapt max_p so that the average stays between min and max (Adaptive RED; tc-red(8)).
        adaptive: bool = false,
        /// Queue delay from which "min none" is computed (Adaptive RED section 5).
        target: Span = Span::from_millis(5) => [Acts::With("min", NONE)],
        /// Time between adaptations of max_p (Adaptive RED section 4).
        interval: Span = Span::from_millis(500) => [Acts::With("adaptive", ON)],
        /// Largest increase of max_p in an adaptation; a quarter of max_p when that is less (Adaptive RED section 4).
        alpha: Probability = Probability::clamped(0.01) => [Acts::With("adaptive", ON)],
        /// Factor by which max_p decreases in an adaptation (Adaptive RED section 4).
        beta: Probability = Probability::clamped(0.9) => [Acts::With("adaptive", ON)],
    }
}

impl Params {
    /// How many mean packets a link of `rate` sends in a second.
    fn mean_packets_s(&self, rate: BitRate) -> f64 {
        rate.bytes_s() / self.avpkt.get().max(1) as f64
    }

    /// ns-3's RedQueueDisc with its default attributes.
    fn ns3() -> Self {
        Self {
            limit: Limit::packets(25),
            max_p: Probability::clamped(1.0 / 50.0),
            avpkt: Bytes::new(500),
            gentle: true,
            wait: true,
            harddrop: true,
            ..Self::default()
        }
    }

    /// The sizes of the example in tc-red(8): `burst 55` gives a weight of 2^-5 there.
    fn linux() -> Self {
        Self {
            limit: Limit::Bytes(Bytes::new(400_000)),
            min: Some(Length::Bytes(Bytes::new(30_000))),
            max: Some(Length::Bytes(Bytes::new(90_000))),
            max_p: Probability::clamped(0.02),
            w: Some(Probability::clamped(1.0 / 32.0)),
            ..Self::default()
        }
    }

    /// Shu (2023), Table 2 and, for the buffer, Table 3.
    pub(crate) fn shu2023() -> Self {
        Self {
            limit: Limit::packets(2000),
            min: Some(Length::packets(500)),
            max: Some(Length::packets(1000)),
            ..Self::ns3()
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        match (self.min, self.max) {
            (None, Some(_)) => return Err("max is given without min; allowed: both, min alone, or none".into()),
            (Some(min), Some(max)) if !min.same_unit(max) => {
                return Err(format!("min is {min:?} and max is {max:?}; allowed: both in packets or both in bytes"));
            }
            (Some(min), Some(max)) if min.number() >= max.number() => {
                let (min, max) = (crate::Value::print(&min), crate::Value::print(&max));
                return Err(format!("min ({min}) is not below max ({max}); allowed: min < max"));
            }
            (Some(min), None) if min.number() <= 0.0 => {
                return Err("min is 0 and max is three times that; allowed: min above 0, or max given".into());
            }
            _ => {}
        }
        if self.w.is_some_and(|w| w.get() <= 0.0) {
            return Err("w is 0: the average would never move; allowed: above 0, up to 1".into());
        }
        if self.nodrop && !self.ecn {
            return Err("nodrop is given without ecn; allowed: both".into());
        }
        if self.avpkt.get() == 0 {
            return Err("avpkt is 0; allowed: 1 B or more".into());
        }
        if self.interval.is_zero() {
            return Err("interval is 0; allowed: a time above 0, as in \"500ms\"".into());
        }
        Ok(())
    }
}

/// A value of an algorithm that is built on RED, as RED's own parameter of that name has it.
pub(crate) trait Shared<T> {
    fn shared(self) -> T;
}

impl<T> Shared<T> for T {
    fn shared(self) -> T {
        self
    }
}

impl Shared<Limit> for Packets {
    fn shared(self) -> Limit {
        Limit::Packets(self)
    }
}

impl Shared<Option<Length>> for Packets {
    fn shared(self) -> Option<Length> {
        Some(Length::Packets(self))
    }
}

impl Shared<Option<Length>> for Length {
    fn shared(self) -> Option<Length> {
        Some(self)
    }
}

impl Shared<Option<Probability>> for Probability {
    fn shared(self) -> Option<Probability> {
        Some(self)
    }
}

/// Makes [`Params`] from those of an algorithm that is built on RED: `$shared` have the same values, the others RED's
/// defaults or, behind `with`, a value of the algorithm. Those that RED has not are `own`: a parameter that is not named
/// is an error of the compiler.
macro_rules! shares {
    ($($shared:ident)+ $(, own $($own:ident)+)? $(, with $field:ident $value:expr)?) => {
        impl From<&Params> for red::Params {
            fn from(params: &Params) -> Self {
                let Params { $($shared,)+ $($($own: _,)+)? } = params.clone();
                Self { $($shared: red::Shared::shared($shared),)+ $($field: $value,)? ..Self::default() }
            }
        }
    };
}
pub(crate) use shares;

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Red<C: Curve = Linear> {
    params: Params,
    /// The rate that `band` and `weight` were computed for.
    rate: BitRate,
    /// The unit of the average is that of `min`; packets when both are automatic.
    in_bytes: bool,
    /// Neither `wait` nor `bytemode`: signals are spread by [`law::uniform`].
    is_uniform: bool,
    weight: Weight,
    pub(crate) band: Band<C>,
    pub(crate) average: Average,
    pub(crate) count: Count,
    /// p_a at the last arrival.
    pub(crate) probability: f64,
    updates: Ticks,
    /// The first arrival is still to start the updates.
    awaits_start: bool,
}

impl<C: Curve> Red<C> {
    /// Everything that follows from the rate.
    #[cold]
    fn tune(&mut self, rate: BitRate) {
        self.rate = rate;
        let mean_packets_s = self.params.mean_packets_s(rate);
        let automatic = Automatic::new(mean_packets_s, self.params.target.seconds());
        self.weight = Weight::new(self.params.w.map_or(automatic.w, Probability::get), mean_packets_s);
        let min = self.params.min.map_or(automatic.min, Length::number);
        self.band = self.band.between(min, self.params.max.map_or(3.0 * min, Length::number));
    }

    /// The first arrival under `adaptive`.
    #[cold]
    fn start(&mut self, now: Instant) {
        self.updates.start(now);
        self.awaits_start = false;
    }

    /// The adaptations due up to `now`.
    #[cold]
    fn catch_up(&mut self, now: Instant) {
        self.updates.skip_to_last(now, CATCH_UP);
        while let Some(at) = self.updates.take(now) {
            self.adapt(at);
        }
    }

    /// Adaptive RED section 4, at the nominal instant `at`.
    fn adapt(&mut self, at: Instant) {
        let avg = self.average.at(at, &self.weight);
        let Band { min, max, max_p, .. } = self.band;
        let (alpha, beta) = (self.params.alpha.get(), self.params.beta.get());
        self.band = self.band.up_to(adapt::max_p(max_p, avg, min, max, alpha, beta));
    }

    /// Counts a packet of `bytes`; gives its p_a, from p_b and the count.
    #[inline(always)]
    fn spread(&mut self, p_b: f64, bytes: u32) -> f64 {
        if self.is_uniform {
            self.count.packet();
            return law::uniform(p_b, self.count.packets());
        }
        self.spread_otherwise(p_b, bytes)
    }

    /// The same with `wait` or `bytemode`.
    #[inline(never)]
    fn spread_otherwise(&mut self, p_b: f64, bytes: u32) -> f64 {
        self.count.arrival(bytes);
        let avpkt = self.params.avpkt.get() as f64;
        let count = if self.params.bytemode { self.count.mean_packets(avpkt) } else { self.count.packets() };
        let p_a = if self.params.wait { law::wait(p_b, count) } else { law::uniform(p_b, count) };
        // A count that is used up signals whatever the size.
        if self.params.bytemode && p_a < 1.0 {
            (p_a * f64::from(bytes) / avpkt).min(1.0)
        } else {
            p_a
        }
    }

    /// What waits, in the unit of the average.
    #[inline(always)]
    fn queued(&self, queue: &Queue) -> u64 {
        if self.in_bytes {
            return bytes(queue);
        }
        queue.len() as u64
    }

    /// Takes the queue that an arrival finds into the average.
    #[inline(always)]
    pub(crate) fn observe(&mut self, now: Instant, queue: &Queue) {
        self.average.arrival(now, self.queued(queue), &self.weight);
    }

    /// Takes the present queue into the average, without regard to idle time.
    #[inline(always)]
    pub(crate) fn sample(&mut self, queue: &Queue) {
        self.average.sample(self.queued(queue), self.weight.w);
    }

    /// True when the queue has no room for an arrival of `bytes`, which is then to be dropped.
    #[inline(always)]
    pub(crate) fn overflows(&mut self, queue: &Queue, bytes: u32) -> bool {
        let full = self.params.limit.is_full(queue, bytes);
        if full {
            self.count.signalled();
        }
        full
    }

    /// Counts an arrival of `bytes` that may be signalled, and draws whether it is.
    #[inline(always)]
    pub(crate) fn draw(&mut self, cx: &mut Cx<'_>, p_b: f64, bytes: u32) -> bool {
        self.probability = self.spread(p_b, bytes);
        if !cx.chance(self.probability) {
            return false;
        }
        self.count.signalled();
        true
    }

    /// Decides on an arrival that finds room, by the average and `band`.
    #[inline(always)]
    pub(crate) fn decide(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet, band: &Band<C>) {
        match band.region(self.average.get()) {
            Region::Below => {
                self.count.below();
                self.probability = 0.0;
            }
            Region::Early(p_b) => {
                if self.draw(cx, p_b, packet.bytes) {
                    return self.signal(cx, queue, packet, self.params.ecn);
                }
            }
            Region::Forced => {
                self.count.signalled();
                self.probability = 1.0;
                return self.signal(cx, queue, packet, self.params.ecn && !self.params.harddrop);
            }
        }
        queue.push(packet);
    }

    /// Marks or drops an arrival, or spares it.
    #[inline(never)]
    fn signal(&self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet, ecn: bool) {
        if ecn && self.params.nodrop && packet.ecn == Ecn::NotEct {
            queue.push(packet);
        } else {
            cx.signal(queue, packet, ecn);
        }
    }
}

/// What an algorithm over the field `red` leaves to RED: time and departures.
macro_rules! as_red {
    () => {
        #[inline]
        fn advance(&mut self, now: Instant, rate: BitRate, queue: &Queue) {
            self.red.advance(now, rate, queue);
        }

        #[inline]
        fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
            self.red.dequeue(cx, queue)
        }

        #[inline(always)]
        fn passes(&mut self, now: Instant, rate: BitRate, queue: &Queue) -> bool {
            self.red.passes(now, rate, queue)
        }
    };
}
pub(crate) use as_red;

/// What waits in bytes. Apart, or both lengths would be read for each packet.
#[inline(never)]
fn bytes(queue: &Queue) -> u64 {
    queue.bytes()
}

impl<C: Curve> Aqm for Red<C> {
    #[inline(always)]
    fn advance(&mut self, now: Instant, rate: BitRate, _queue: &Queue) {
        if self.rate != rate {
            self.tune(rate);
        }
        // Never without `adaptive`, which alone starts them.
        if self.updates.is_due(now) {
            self.catch_up(now);
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if self.awaits_start {
            self.start(cx.now);
        }
        self.observe(cx.now, queue);
        if self.overflows(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        let band = self.band;
        self.decide(cx, queue, packet, &band);
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        self.average.departure(cx.now, !queue.is_empty());
        queue.pop()
    }

    #[inline(always)]
    fn passes(&mut self, now: Instant, rate: BitRate, queue: &Queue) -> bool {
        let is_ready = self.rate == rate && !self.updates.is_due(now);
        if is_ready {
            self.average.departure(now, !queue.is_empty());
        }
        is_ready
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("avg", self.average.get());
        visit("count", self.count.packets());
        visit("probability", self.probability);
        visit("max_p", self.band.max_p);
        visit("min", self.band.min);
        visit("max", self.band.max);
        visit("w", self.weight.w);
    }
}

impl<C: Curve> Algorithm for Red<C> {
    type Params = Params;

    const ABOUT: About = About {
        title: "RED",
        summary: "drops an arrival with a probability that rises with the average queue length",
        source: "Floyd and Jacobson 1993",
        signals_on: "average queue length",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: false,
    };

    const PRESETS: &'static [&'static str] = &["ns3", "linux-6.1", "linux-6.12", "linux-7.2", "shu2023"];

    fn preset(name: &str) -> Option<Params> {
        match name {
            "ns3" => Some(Params::ns3()),
            "shu2023" => Some(Params::shu2023()),
            kernel => KERNELS.contains(&kernel).then(Params::linux),
        }
    }

    fn check(params: &Params) -> Result<(), String> {
        params.check()
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        self.tune(old.rate);
        self.updates = old.updates.every(params.interval);
        self.awaits_start = params.adaptive && (old.awaits_start || !old.params.adaptive);
        // What adaptation has made of max_p, unless another is given.
        if params.adaptive && params.max_p == old.params.max_p {
            self.band = self.band.up_to(old.band.max_p);
        }
        (self.average, self.count, self.probability) = (old.average, old.count, old.probability);
        let size = match (old.in_bytes, self.in_bytes) {
            (false, true) => params.avpkt.get() as f64,
            (true, false) => 1.0 / params.avpkt.get() as f64,
            _ => return,
        };
        self.average.set(self.average.get() * size);
    }

    fn new(params: &Params) -> Self {
        let band = Band::new(0.0, 0.0, params.max_p.get(), params.gentle);
        let mut red = Self {
            rate: BitRate::ZERO,
            in_bytes: matches!(params.min, Some(Length::Bytes(_))),
            is_uniform: !params.wait && !params.bytemode,
            weight: Weight::new(1.0, 0.0),
            band,
            average: Average::default(),
            count: Count::default(),
            probability: 0.0,
            updates: Ticks::new(params.interval),
            awaits_start: params.adaptive,
            params: params.clone(),
        };
        red.tune(BitRate::ZERO);
        red
    }
}

#[cfg(test)]
mod tests;
