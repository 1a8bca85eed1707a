//! Dropping function: drops an arrival with a probability d(n) that depends only on the queue length n.
//!
//! The function d(n) can be one of nine published shapes (`function d0` to `d8`), a table or a formula. There is no average,
//! no timer and no other state. For Poisson arrivals the distribution of the queue length can be computed from d(n), so
//! theory can design and check the scheme.
//!
//! # Control law
//! An arrival that finds n packets is dropped with probability d(n), where n does not include the arrival. The values of d
//! are computed once, for n from 0 to `limit`. Barczyk and Chydzinski (2022) set the parameters of their nine functions d0
//! to d8 so that an M/M/1 queue at load 1 holds 50 packets on average (their Theorem 1).
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
//! Constant. d is evaluated `limit + 1` times when the queue is created.
//!
//! # References
//! * M. Barczyk and A. Chydzinski, "AQM based on the queue length: A real-network study", PLoS ONE 17(2), e0263407, 2022,
//!   section 2.
//! * A. Chydzinski and L. Chrost, 2011, for theory and other shapes.

mod formula;
mod shapes;
mod table;

pub use formula::Formula;
pub use shapes::Shape;
pub use table::{Between, Table};

use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Packet, Queue, Reason};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_units::{BitRate, Instant, Packets};

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
        function: Shape = Shape::D1,
        /// d by points n:d, as in "0:0,50:0.1,100:1"; its last value holds beyond the last point.
        table: Option<Table> = None,
        /// What holds between the points of the table.
        between: Between = Between::Linear,
        /// d as a formula in n, as in "min(1,(n/100)^2)".
        formula: Option<Formula> = None,
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
            (None, Some(formula)) => formula.at(n as f64),
            (None, None) => Ok(self.function.at(n)),
        }
    }

    /// The lengths that an arrival can find.
    fn lengths(&self) -> core::ops::RangeInclusive<u64> {
        0..=self.limit.get().min(MOST)
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct DroppingFunction {
    limit: u64,
    count: Count,
    ecn: bool,
    /// d(0), d(1), ..., d(limit).
    d: Vec<f64>,
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

    /// d(n).
    fn at(&self, n: usize) -> f64 {
        self.d.get(n).or(self.d.last()).copied().unwrap_or(0.0)
    }
}

impl Aqm for DroppingFunction {
    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.probability = self.at(self.length(queue));
        if queue.len() as u64 >= self.limit {
            return cx.drop(packet, Reason::Overflow);
        }
        if cx.chance(self.probability) {
            return cx.signal(queue, packet, self.ecn);
        }
        queue.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, _cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        let packet = queue.pop();
        self.in_service = packet.is_some();
        packet
    }

    #[inline(always)]
    fn passes(&mut self, _now: Instant, _rate: BitRate, queue: &Queue) -> bool {
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
        summary: "drops an arrival with a probability that depends on the queue length alone",
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
        self.in_service = old.in_service;
        self.probability = old.probability;
    }

    fn new(params: &Params) -> Self {
        Self {
            limit: params.limit.get(),
            count: params.count,
            ecn: params.ecn,
            d: params.lengths().map(|n| params.evaluate(n).unwrap_or(1.0)).collect(),
            in_service: false,
            probability: 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
