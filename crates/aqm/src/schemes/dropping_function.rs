//! Dropping function: drops an arrival with a probability d(n) that depends only on the queue length n.
//!
//! The function d(n) can be one of nine published shapes (`function d0` to `d8`), a table or a formula. There is no average,
//! no timer and no other state. For Poisson arrivals the distribution of the queue length can be computed from d(n), so
//! theory can design and check the scheme.
//!
//! A formula may also name other signals than n, such as the sojourn time. So a new scheme without state of its own is a line
//! of text: `formula "min(1, max(0, (sojourn - 5ms) / 50ms))"`. Theory does not cover such formulas.
//!
//! # Control law
//! An arrival that finds n packets is dropped with probability d(n), where n does not include the arrival. The values of d
//! are computed once, for n from 0 to `limit`. Barczyk and Chydzinski (2022) set the parameters of their nine functions d0
//! to d8 so that an M/M/1 queue at load 1 holds 50 packets on average (their Theorem 1).
//!
//! A formula of other signals (ours) is evaluated at each arrival. Its result is used as a probability: below 0 it counts as
//! 0, above 1 as 1, and a result that is not a number counts as 0. A formula in n alone is computed beforehand as well, and
//! must lie in 0 to 1 for every n up to `limit`.
//!
//! # Signals of a formula
//! | signal | unit | what it is when a packet arrives |
//! |---|---|---|
//! | `n` | packets | packets that it finds, as `count` says |
//! | `bytes` | bytes | bytes that wait |
//! | `size` | bytes | its own size |
//! | `sojourn` | time | how long the packet that left last had waited; 0 since the link has found the queue empty |
//! | `head` | time | how long the packet at the head has waited so far; 0 where nothing waits |
//! | `delay` | time | `bytes / rate`: how long it will wait at this rate |
//! | `rate` | rate | the present service rate |
//! | `average` | packets | mean of n over time: `average = n + (average - n) exp(-t/window)`, t since the last arrival |
//! | `utilisation` | 1 | share of the time in which a packet was in service; a mean that forgets in the same way |
//!
//! Numbers have units, as in `5ms`, `30p`, `3kB`, `10Mbit/s` and `5%`, and units are checked: `sojourn - 5` is refused.
//! A 0 fits every unit. `<` and `>` give 1 or 0. Operators are `+ - * / ^`; functions are `min`, `max`, `exp`, `log`, `sqrt`
//! and `abs`. A formula with blanks stands in quotes or parentheses.
//!
//! # Deviations and interpretations
//! * The device in the paper counts the packets in its queue, whereas the theorem counts those in the system. `count queue`
//!   counts waiting packets; `count system` adds the packet in service. The scheme does not see transmissions, so "in
//!   service" means that the last dequeue returned a packet. The link asks for a packet whenever it becomes free, even if
//!   none waits, so a returned packet is being sent until the next dequeue. With a device queue below the scheme, or inside
//!   fair queueing, the packet in service is the last one that was handed over.
//! * `ecn` marks instead of dropping, which the paper does not consider.
//!
//! # Work per packet
//! Constant. d is evaluated `limit + 1` times when the queue is created. A formula of other signals takes at most 256 steps for
//! each arrival.
//!
//! # References
//! * M. Barczyk and A. Chydzinski, "AQM based on the queue length: A real-network study", PLoS ONE 17(2), e0263407, 2022,
//!   section 2.
//! * A. Chydzinski and L. Chrost, 2011, for theory and other shapes.

mod formula;
mod live;
mod shapes;
mod signal;
mod table;

pub use formula::Formula;
pub use shapes::Shape;
pub use signal::{Signal, Signals};
pub use table::{Between, Table};

use crate::acts::{Acts, ANY, NONE};
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Packet, Queue, Reason};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use live::Live;
use sojourn_units::{BitRate, Instant, Packets, Span};

/// The largest `limit`: one probability is kept for every length up to it.
const MOST: u64 = 1 << 20;

crate::choice! {
    /// What n counts.
    pub enum Count {
        /// Packets that wait.
        Queue = "queue",
        /// Packets that wait and the one in service, as in the paper's Theorem 1.
        System = "system",
    }
}

crate::params! {
    /// Parameters of `dropping_function`.
    pub struct Params {
        /// Waiting packets at which an arrival is dropped whatever d says (the paper's buffer; section 2).
        limit: Packets = Packets::new(300),
        /// One of the paper's functions by its name there; a table or a formula takes its place.
        function: Shape = Shape::D1 => [Acts::With("formula", NONE), Acts::With("table", NONE)],
        /// d by points n:d, as in "0:0,50:0.1,100:1"; its last value holds beyond the last point.
        table: Option<Table> = None,
        /// What holds between the points of the table.
        between: Between = Between::Linear => [Acts::With("table", ANY)],
        /// d as a formula of signals, as in "min(1,(n/100)^2)" or "(sojourn-5ms)/50ms".
        formula: Option<Formula> = None,
        /// Time constant of the signals average and utilisation (our choice).
        window: Span = Span::from_millis(100) => [Acts::With("formula", ANY)],
        /// Whether n counts the packet in service.
        count: Count = Count::Queue,
        /// Mark ECN-capable packets instead of dropping them (our choice).
        ecn: bool = false,
    }
}

impl Params {
    /// d(n), before it is known to be a probability.
    fn evaluate(&self, n: u64) -> Result<f64, String> {
        match (&self.table, &self.formula) {
            (Some(table), _) => Ok(table.at(n, self.between)),
            (None, Some(formula)) => Ok(formula.at(n as f64)),
            (None, None) => Ok(self.function.at(n)),
        }
    }

    /// The lengths that an arrival can find; none where d depends on more than the length.
    fn lengths(&self) -> core::ops::Range<u64> {
        let most = if self.is_of_length() { self.limit.get().min(MOST) + 1 } else { 0 };
        0..most
    }

    /// Whether d depends on the queue length alone.
    #[must_use]
    pub fn is_of_length(&self) -> bool {
        self.formula.as_ref().is_none_or(Formula::is_of_length)
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct DroppingFunction {
    limit: u64,
    count: Count,
    ecn: bool,
    /// d(0), d(1), ..., d(limit); empty where `live` computes it.
    d: Vec<f64>,
    /// A formula of other signals than the length.
    live: Option<Box<Live>>,
    /// The last dequeue gave a packet.
    in_service: bool,
    /// d(n) at the last arrival.
    probability: f64,
}

impl DroppingFunction {
    /// d(0), d(1), ..., d(limit).
    #[must_use]
    pub fn probabilities(&self) -> &[f64] {
        &self.d
    }

    /// n: what an arrival finds.
    fn length(&self, queue: &Queue) -> usize {
        let in_service = self.count == Count::System && self.in_service;
        queue.len() + usize::from(in_service)
    }

    /// d for an arrival of `size` bytes that finds n packets.
    #[inline(always)]
    fn at(&mut self, cx: &Cx<'_>, queue: &Queue, n: usize, size: u32) -> f64 {
        match self.d.get(n) {
            Some(d) => *d,
            None => self.beyond(cx, queue, n, size),
        }
    }

    /// Where there is no table, and beyond its end.
    #[inline(never)]
    fn beyond(&mut self, cx: &Cx<'_>, queue: &Queue, n: usize, size: u32) -> f64 {
        match &mut self.live {
            Some(live) => live.at_arrival(cx, queue, n, size, self.in_service),
            None => self.d.last().copied().unwrap_or(0.0),
        }
    }
}

impl Aqm for DroppingFunction {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.probability = self.at(cx, queue, self.length(queue), packet.bytes);
        if queue.len() as u64 >= self.limit {
            return cx.drop(packet, Reason::Overflow);
        }
        if cx.chance(self.probability) {
            return cx.signal(queue, packet, self.ecn);
        }
        queue.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        let packet = queue.pop();
        if let Some(live) = &mut self.live {
            live.at_departure(cx.now, packet.as_ref(), self.in_service);
        }
        self.in_service = packet.is_some();
        packet
    }

    #[inline(always)]
    fn passes(&mut self, _now: Instant, _rate: BitRate, queue: &Queue) -> bool {
        if self.live.is_some() {
            return false;
        }
        self.in_service = !queue.is_empty();
        true
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("probability", self.probability);
        visit("in_service", f64::from(u8::from(self.in_service)));
    }
}

impl Algorithm for DroppingFunction {
    type Params = Params;

    const ABOUT: About = About {
        title: "Dropping function",
        summary:
            "drops an arrival with a probability that is a function of the queue length, or a formula of other signals",
        source: "Barczyk and Chydzinski 2022, section 2",
        signals_on: "queue length",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: false,
    };

    fn check(params: &Params) -> Result<(), String> {
        if params.table.is_some() && params.formula.is_some() {
            return Err("table and formula are both given; allowed: one of them".into());
        }
        if params.limit.get() > MOST {
            return Err(format!(
                "limit is {}; allowed: up to {MOST} p, as every length has its probability",
                params.limit
            ));
        }
        if params.window.is_zero() {
            return Err("window is 0 s; allowed: above 0".into());
        }
        for n in params.lengths() {
            let d = params.evaluate(n)?;
            if !(0.0..=1.0).contains(&d) {
                return Err(format!("d({n}) is {d}; allowed: 0 to 1 for every n from 0 to limit ({})", params.limit));
            }
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        if let (Some(live), Some(old)) = (&mut self.live, &old.live) {
            live.take_over(old);
        }
        self.in_service = old.in_service;
        self.probability = old.probability;
    }

    fn new(params: &Params) -> Self {
        Self {
            limit: params.limit.get(),
            count: params.count,
            ecn: params.ecn,
            live: params
                .formula
                .as_ref()
                .filter(|formula| !formula.is_of_length())
                .map(|formula| Box::new(Live::new(formula.clone(), params.window))),
            d: params.lengths().map(|n| params.evaluate(n).unwrap_or(1.0)).collect(),
            in_service: false,
            probability: 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
