//! REM (random exponential marking): keeps a price for congestion and drops with a probability that depends exponentially on
//! it.
//!
//! REM updates a price every `tupdate`: it rises while more packets arrive than the link can send, or while more wait than
//! `b_ref`, and falls otherwise. The higher the price, the more arrivals are dropped or marked. Because the exponent adds
//! up, the probability over a path with several such queues depends on the sum of their prices.
//!
//! # Control law
//! Every T (`tupdate`), `price <- max(0, price + gamma (x + alpha (b - b_ref) - c))`. x is the number of packets that
//! arrived in T, including dropped ones, b the backlog in packets, and c the number of packets that the link can send in T.
//! An arrival is dropped or marked with probability `p = 1 - phi^-price`.
//!
//! `form queue` needs no rates (equation 8 of Hassan, Hassan and Arif): `price <- max(0, price + gamma (q - (1 - alpha)
//! q_old - alpha b_ref))`.
//!
//! # Deviations and interpretations
//! * Hassan, Hassan and Arif write that phi is "less than 1", which would give negative probabilities. This must be a slip:
//!   phi must exceed 1.
//! * gamma is not scaled by T: with another `tupdate` the same gamma gives another controller.
//! * c uses the present rate and packets of `avpkt` bytes. x counts packets of any size.
//! * A `w` below 1 smooths x exponentially, as ns-2's parameter `inw_` can. Both papers and ns-2's default do not smooth.
//! * Updates take place at whole multiples of T on the host's clock after the first arrival; q_old is 0 at first.
//!
//! # Work per packet
//! Constant. Updates that are made up after an idle time are computed at once: nothing arrives between them and the backlog
//! is constant, so x decays geometrically, and the price first rises and then falls, in closed form.
//!
//! # References
//! * S. Athuraliya, V. H. Li, S. H. Low and Q. Yin, "REM: Active Queue Management", IEEE Network 15(3), 2001.
//! * S. Hassan, A. F. Hassan and S. Arif, "A Fairness Investigation on Active Queue Management Schemes in Wireless Local
//!   Area Network", equations 8 and 9. gamma, alpha and phi are those of its Table 2; T, b_ref and the mean packet size
//!   those of ns-2.

use crate::acts::Acts;
use crate::ticks::Ticks;
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::format;
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Packets, Probability, Span};

/// The greatest gain that is accepted.
const GAIN_MAX: f64 = 1e7;

crate::choice! {
    /// How the price is updated: from arrival rates or from queue lengths.
    pub enum Form {
        /// From arrivals, backlog and link rate (Athuraliya et al. 2001).
        Rate = "rate",
        /// From two successive queue lengths (Hassan, Hassan and Arif, equation 8).
        Queue = "queue",
    }
}

crate::params! {
    /// Parameters of `rem`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped.
        limit: Limit = Limit::packets(1000),
        /// Gain: change of the price in an update for each packet of mismatch (Hassan, Hassan and Arif, Table 2; ns-2).
        gamma: f64 = 0.001,
        /// Weight of the backlog relative to the rate (Hassan, Hassan and Arif, Table 2; ns-2).
        alpha: f64 = 0.1,
        /// Base of the probability, above 1 (Hassan, Hassan and Arif, Table 2; ns-2).
        phi: f64 = 1.001,
        /// Target backlog (ns-2's pbo_).
        b_ref: Packets = Packets::new(20),
        /// Time between updates, T (ns-2's pupdtime_).
        tupdate: Span = Span::from_millis(2),
        /// Weight of the newest count of arrivals in x; 1 is no smoothing (ns-2's inw_).
        w: Probability = Probability::clamped(1.0) => [Acts::With("form", &["rate"])],
        /// Mean packet size, which turns the link's rate into packets (ns-2's mean_pktsize_).
        avpkt: Bytes = Bytes::new(1000) => [Acts::With("form", &["rate"])],
        /// How the price is updated: from arrival rates or from queue lengths.
        form: Form = Form::Rate,
        /// Mark ECN-capable packets instead of dropping them (the paper allows marking).
        ecn: bool = false,
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Rem {
    params: Params,
    /// ln(phi).
    ln_phi: f64,
    /// Packets that 1 bit/s sends in T.
    capacity: f64,
    /// The rate of the last update.
    rate: BitRate,
    /// Packets that it sends in T.
    c: f64,
    /// The target backlog in packets.
    b_ref: f64,
    /// `1 - alpha`.
    one_less_alpha: f64,
    /// `alpha b_ref`.
    alpha_b_ref: f64,
    price: f64,
    /// `1 - phi^-price`.
    probability: f64,
    /// Packets that arrived since the last update.
    arrived: u64,
    /// x of the last update, in packets.
    input: f64,
    /// Backlog in packets at the last update.
    backlog_old: f64,
    updates: Ticks,
}

impl Rem {
    /// The price's next value for a mismatch in packets.
    fn move_price(&mut self, mismatch: f64) {
        let price = self.price + self.params.gamma * mismatch;
        self.price = if price > 0.0 { price } else { 0.0 };
    }

    /// The updates due up to `now`.
    #[inline(never)]
    fn catch_up(&mut self, now: Instant, rate: BitRate, queue: &Queue) {
        let due = self.updates.take_all(now);
        if due > 0 {
            // Signed, because that converts in one instruction.
            self.update(queue.len() as i64 as f64, due - 1, rate);
        }
    }

    /// One update, and `rest` more over which nothing arrives and `b` packets wait.
    fn update(&mut self, b: f64, rest: u64, rate: BitRate) {
        let Params { alpha, form, .. } = self.params;
        let (b_ref, rest) = (self.b_ref, rest as i64 as f64);
        match form {
            Form::Rate => {
                if self.rate != rate {
                    (self.rate, self.c) = (rate, rate.bit_s() as f64 * self.capacity);
                }
                let stand = alpha * (b - b_ref) - self.c;
                let w = self.params.w.get();
                self.input = w * (self.arrived as i64 as f64) + (1.0 - w) * self.input;
                self.move_price(self.input + stand);
                if rest > 0.0 {
                    let (sum, left) = geometric(1.0 - w, rest);
                    // Each step adds less than the one before, so that 0 is met, if at all, for good.
                    self.move_price(self.input * sum + rest * stand);
                    self.input *= left;
                }
            }
            Form::Queue => {
                self.move_price(b - self.one_less_alpha * self.backlog_old - self.alpha_b_ref);
                self.move_price(rest * alpha * (b - b_ref));
            }
        }
        self.arrived = 0;
        self.backlog_old = b;
        self.probability = if self.price > 0.0 { 1.0 - libm::exp(-self.price * self.ln_phi) } else { 0.0 };
    }
}

/// `d + d^2 + ... + d^n`, and `d^n`.
fn geometric(d: f64, n: f64) -> (f64, f64) {
    if d >= 1.0 {
        return (n, 1.0);
    }
    let left = if d > 0.0 { libm::pow(d, n) } else { 0.0 };
    (d * (1.0 - left) / (1.0 - d), left)
}

impl Aqm for Rem {
    #[inline]
    fn advance(&mut self, now: Instant, rate: BitRate, queue: &Queue) {
        if self.updates.is_due(now) {
            self.catch_up(now, rate, queue);
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.updates.start(cx.now);
        self.arrived += 1;
        if self.params.limit.is_full(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        if cx.chance(self.probability) {
            return cx.signal(queue, packet, self.params.ecn);
        }
        queue.push(packet);
    }

    #[inline(always)]
    fn passes(&mut self, now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        !self.updates.is_due(now)
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("price", self.price);
        visit("drop_probability", self.probability);
        visit("input_packets", self.input);
    }
}

impl Algorithm for Rem {
    type Params = Params;

    const ABOUT: About = About {
        title: "REM",
        summary: "drops an arrival with a probability exponential in a price that sums mismatches of rate and backlog",
        source: "Athuraliya et al. 2001",
        signals_on: "arrival rate and queue length",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: false,
    };

    fn check(params: &Params) -> Result<(), String> {
        if params.phi <= 1.0 {
            return Err("phi is 1 or less; allowed: above 1, as in \"1.001\"".into());
        }
        if params.alpha > 1.0 {
            return Err("alpha is above 1; allowed: 0 to 1".into());
        }
        // Beyond, a price could become infinite, which no later update could lower.
        if params.gamma > GAIN_MAX {
            return Err(format!("gamma is above {GAIN_MAX}; allowed: 0 to {GAIN_MAX}"));
        }
        if params.tupdate.is_zero() {
            return Err("tupdate is 0; allowed: a time above 0, as in \"2ms\"".into());
        }
        if params.avpkt.get() == 0 {
            return Err("avpkt is 0; allowed: 1 B or more".into());
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        self.updates = old.updates.every(params.tupdate);
        self.price = old.price;
        self.probability = old.probability;
        self.arrived = old.arrived;
        self.input = old.input;
        self.backlog_old = old.backlog_old;
    }

    fn new(params: &Params) -> Self {
        Self {
            ln_phi: libm::log(params.phi),
            capacity: params.tupdate.seconds() / (8.0 * params.avpkt.get() as f64),
            rate: BitRate::ZERO,
            c: 0.0,
            b_ref: params.b_ref.get() as f64,
            one_less_alpha: 1.0 - params.alpha,
            alpha_b_ref: params.alpha * params.b_ref.get() as f64,
            price: 0.0,
            probability: 0.0,
            arrived: 0,
            input: 0.0,
            backlog_old: 0.0,
            updates: Ticks::new(params.tupdate),
            params: params.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{canonical, close, refused, Fate, Host};
    use crate::Ecn;

    /// A link of 8 Mbit/s sends c = 2 packets of 1000 B in 2 ms.
    fn host(change: impl FnOnce(&mut Params)) -> Host<Rem> {
        let mut params = Params { gamma: 1.0, ..Params::default() };
        change(&mut params);
        Host::new(params)
    }

    #[test]
    fn price_by_hand() {
        let mut host = host(|_| ());
        host.arrive_many(30);
        host.wait(Span::from_millis(2));
        // x = 30, b = 30: 0 + 30 + 0.1 (30 - 20) - 2 = 29.
        close(host.internal("price"), 29.0);
        close(host.internal("drop_probability"), 1.0 - 1.001_f64.powi(-29));
        // No arrivals, 30 wait still: + 0.1 (30 - 20) - 2 = -1 an update, five of them.
        host.wait(Span::from_millis(10));
        close(host.internal("price"), 24.0);
        for _ in 0..30 {
            host.send();
        }
        // Empty: -0.1 x 20 - 2 = -4 an update; 6 of them end at 0, and it stays there.
        host.wait(Span::from_millis(10));
        close(host.internal("price"), 4.0);
        host.wait(Span::from_secs(1000));
        assert_eq!((host.internal("price"), host.internal("drop_probability")), (0.0, 0.0));
    }

    #[test]
    fn the_queue_form_by_hand() {
        let mut host = host(|params| params.form = Form::Queue);
        host.arrive_many(30);
        host.wait(Span::from_millis(2));
        // 30 - 0.9 x 0 - 0.1 x 20 = 28, then 30 - 0.9 x 30 - 2 = 1 an update.
        close(host.internal("price"), 28.0);
        host.wait(Span::from_millis(6));
        close(host.internal("price"), 31.0);
        for _ in 0..20 {
            host.send();
        }
        host.wait(Span::from_millis(2));
        // 10 - 0.9 x 30 - 2 = -19.
        close(host.internal("price"), 12.0);
    }

    #[test]
    fn dropped_arrivals_count_and_the_draw_decides() {
        let mut host = host(|params| {
            params.limit = Limit::packets(10);
            params.phi = 2.0;
        });
        // Ten join, five are lost to overflow: x = 15, so 15 + 0.1 (10 - 20) - 2 = 12.
        assert_eq!(host.arrive_many(15), 10);
        host.wait(Span::from_millis(2));
        close(host.internal("price"), 12.0);
        host.send();
        // p = 1 - 2^-12 = 4095/4096: a draw at p is spared, one below is not.
        host.random.fixed = Some(4095.0 / 4096.0);
        assert_eq!(host.arrive(), Fate::Queued);
        host.send();
        host.random.fixed = Some(4094.0 / 4096.0);
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    }

    #[test]
    fn ecn_marks() {
        let mut host = host(|params| {
            params.phi = 1e9;
            params.ecn = true;
        });
        host.ecn = Ecn::Ect0;
        host.arrive_many(30);
        host.wait(Span::from_millis(2));
        assert_eq!(host.arrive(), Fate::Marked);
        host.ecn = Ecn::NotEct;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("rem gamma 0.001 form queue tupdate 10ms"), "rem tupdate 10ms form queue");
        assert!(refused("rem phi 1").contains("phi is 1 or less; allowed: above 1"));
        assert!(refused("rem tupdate 0s").contains("tupdate is 0"));
        assert!(refused("rem avpkt 0").contains("avpkt is 0"));
        assert!(refused("rem alpha 1.5").contains("alpha is above 1"));
        assert!(refused("rem gamma 1e308").contains("gamma is above 10000000; allowed: 0 to 10000000"));
        assert!(refused("rem form price").contains("allowed: rate, queue"));
    }
}
