//! GREEN: computes the drop probability from the number of active flows, or from the arrival rate, and never from the queue.
//!
//! Two different schemes have the name GREEN, and `scheme` selects one. `scheme flows` computes the probability from TCP's
//! throughput equation and the number of active flows. `scheme rate` raises the probability by a fixed step while the
//! arrival rate exceeds a target share of the link's rate, and lowers it otherwise.
//!
//! # Control law
//! * `scheme flows`: N flows of `mss / rtt x c / sqrt(p)` each fill a link of rate C if `p = (N mss c / (C rtt))^2`, limited
//!   to 1.
//! * `scheme rate`: every `interval`, `P += dp sign(x_est - c_t C)`, limited to 0 to 1. x_est is the arrival rate, including
//!   dropped packets: `x_est <- (1 - e) B / T + e x_est` with `e = exp(-T / time_constant)`, where B is the number of bits
//!   that arrived in T.
//!
//! Every arrival is dropped or marked with this probability.
//!
//! # Deviations and interpretations
//! The original papers were not available to us.
//!
//! * A flow is active if its last arrival, dropped or not, is at most `window` ago; the flow of the present arrival is
//!   active. If more than `flows` are active at once, the one that has been silent longest is forgotten.
//! * `rtt` and `mss` are the same for all flows, because packets do not carry their own values; the first paper infers them.
//! * The second paper averages its rate at each arrival, where T is the time since the previous one. Here T is `interval`,
//!   so that one update does both. Updates take place at whole multiples of `interval` on the host's clock, beginning with
//!   the first arrival.
//! * If x_est equals the target, P keeps its value.
//!
//! # Work per packet
//! Constant. With `scheme flows` an arrival may also forget up to `flows` flows, each once after its last arrival. An idle
//! time of any length takes one exponential and one logarithm.
//!
//! # References
//! * `scheme flows`: W. Feng, A. Kapadia and S. Thulasidasan, "GREEN: proactive queue management over a best-effort
//!   network", IEEE GLOBECOM 2002, to which Hassan, Hassan and Arif refer.
//! * `scheme rate`: B. Wydrowski and M. Zukerman, "GREEN: an active queue management algorithm for a self managed Internet",
//!   IEEE ICC 2002.

mod active;
mod step;

use crate::acts::Acts;
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use active::Active;
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Probability, Span};
use step::Step;

crate::choice! {
    /// Which of the two schemes.
    pub enum Kind {
        /// The throughput equation and the number of active flows (Feng, Kapadia and Thulasidasan).
        Flows = "flows",
        /// Steps by the sign of arrival rate less target (Wydrowski and Zukerman).
        Rate = "rate",
    }
}

crate::params! {
    /// Parameters of `green`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped.
        limit: Limit = Limit::packets(1000),
        /// Which of the two schemes of this name.
        scheme: Kind = Kind::Flows,
        /// Scheme flows: round-trip time of a flow (our choice: CoDel's worst case).
        rtt: Span = Span::from_millis(100) => [Acts::With("scheme", &["flows"])],
        /// Scheme flows: segment size of a flow (our choice: of an Ethernet frame without options).
        mss: Bytes = Bytes::new(1460) => [Acts::With("scheme", &["flows"])],
        /// Scheme flows: the equation's constant (0.93: delayed acknowledgements, random losses).
        c: f64 = 0.93 => [Acts::With("scheme", &["flows"])],
        /// Scheme flows: time without arrivals after which a flow is no longer active (our choice).
        window: Span = Span::from_secs(1) => [Acts::With("scheme", &["flows"])],
        /// Scheme flows: most flows counted at once, 1 to 65536 (our choice).
        flows: u32 = 4096 => [Acts::With("scheme", &["flows"])],
        /// Scheme rate: target as a share of the link's rate (0.97).
        c_t: Probability = Probability::clamped(0.97) => [Acts::With("scheme", &["rate"])],
        /// Scheme rate: step of the probability (0.001).
        dp: Probability = Probability::clamped(0.001) => [Acts::With("scheme", &["rate"])],
        /// Scheme rate: time between two steps (our choice).
        interval: Span = Span::from_millis(10) => [Acts::With("scheme", &["rate"])],
        /// Scheme rate: time constant of the arrival rate's average (our choice).
        time_constant: Span = Span::from_millis(100) => [Acts::With("scheme", &["rate"])],
        /// Mark ECN-capable packets instead of dropping them (the second paper allows it).
        ecn: bool = false,
    }
}

/// `p = (n mss c / (C rtt))^2`, at most 1; 0 without flows.
fn equation(n: usize, mss_c: f64, rate: BitRate, rtt: Span) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let share = n as f64 * mss_c / (rate.bytes_s() * rtt.seconds());
    (share * share).min(1.0)
}

/// What each scheme knows.
// The tag is a byte of its own: one hidden in a pointer takes three instructions more to read.
#[derive(Clone, Debug)]
#[repr(u8)]
enum Scheme {
    Flows {
        active: Active,
        rtt: Span,
        /// mss in bytes times c.
        mss_c: f64,
        /// The number of flows and the rate that the probability was computed for.
        computed_for: (usize, BitRate),
    },
    Rate(Step),
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Green {
    limit: Limit,
    ecn: bool,
    /// What an arrival meets.
    probability: f64,
    scheme: Scheme,
}

impl Green {
    /// An arrival, whatever becomes of it.
    #[inline(always)]
    fn count(&mut self, now: Instant, rate: BitRate, packet: &Packet) {
        match &mut self.scheme {
            Scheme::Flows { active, .. } => {
                if !active.arrival(now, packet.flow) {
                    self.recompute(rate);
                }
            }
            Scheme::Rate(step) => step.arrival(now, packet.bytes),
        }
    }

    #[cold]
    fn recompute(&mut self, rate: BitRate) {
        if let Scheme::Flows { active, rtt, mss_c, computed_for } = &mut self.scheme {
            *computed_for = (active.len(), rate);
            self.probability = equation(active.len(), *mss_c, rate, *rtt);
        }
    }
}

impl Aqm for Green {
    #[inline(always)]
    fn advance(&mut self, now: Instant, rate: BitRate, _queue: &Queue) {
        match &mut self.scheme {
            Scheme::Flows { active, computed_for, .. } => {
                if active.expire(now) || computed_for.1 != rate {
                    self.recompute(rate);
                }
            }
            Scheme::Rate(step) => {
                if step.is_due(now) {
                    step.catch_up(now, rate);
                    self.probability = step.probability();
                }
            }
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.count(cx.now, cx.rate, &packet);
        if self.limit.is_full(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        if cx.chance(self.probability) {
            return cx.signal(queue, packet, self.ecn);
        }
        queue.push(packet);
    }

    /// Time alone changes what the next arrival will find, and it is then caught up.
    #[inline(always)]
    fn passes(&mut self, now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        match &self.scheme {
            Scheme::Flows { .. } => true,
            Scheme::Rate(step) => !step.is_due(now),
        }
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("probability", self.probability);
        match &self.scheme {
            Scheme::Flows { active, .. } => visit("active_flows", active.len() as f64),
            Scheme::Rate(step) => visit("arrival_rate_bit_s", step.rate_bit_s()),
        }
    }
}

impl Algorithm for Green {
    type Params = Params;
    const FIXED: &'static [&'static str] = &["scheme", "flows"];

    const ABOUT: About = About {
        title: "GREEN",
        summary: "drops arrivals by TCP's throughput equation, or by the sign of arrival rate less target",
        source: "Feng, Kapadia and Thulasidasan 2002; Wydrowski and Zukerman 2002",
        signals_on: "number of active flows, or arrival rate",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: true,
    };

    fn check(params: &Params) -> Result<(), String> {
        for (name, span) in
            [("rtt", params.rtt), ("interval", params.interval), ("time_constant", params.time_constant)]
        {
            if span.is_zero() {
                return Err(alloc::format!("{name} is 0; allowed: a time above 0, as in \"100ms\""));
            }
        }
        if !(1..=65536).contains(&params.flows) {
            return Err(alloc::format!("flows is {}; allowed: 1 to 65536", params.flows));
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let mut next = Self::new(params);
        match (&mut next.scheme, &mut self.scheme) {
            (Scheme::Flows { active: next, .. }, Scheme::Flows { active, .. }) => {
                core::mem::swap(next, active);
                next.set_window(params.window);
            }
            (Scheme::Rate(next), Scheme::Rate(step)) => next.keep(step, params.interval),
            _ => {}
        }
        next.probability = self.probability;
        *self = next;
    }

    fn new(params: &Params) -> Self {
        let scheme = match params.scheme {
            Kind::Flows => Scheme::Flows {
                active: Active::new(params.window, params.flows),
                rtt: params.rtt,
                mss_c: params.mss.get() as f64 * params.c,
                computed_for: (0, BitRate::ZERO),
            },
            Kind::Rate => {
                Scheme::Rate(Step::new(params.interval, params.time_constant, params.c_t.get(), params.dp.get()))
            }
        };
        Self { limit: params.limit, ecn: params.ecn, probability: 0.0, scheme }
    }
}

#[cfg(test)]
mod tests;
