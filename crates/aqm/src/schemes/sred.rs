//! SRED: drops arrivals with a probability that follows the queue length in steps and an estimate of the number of flows.
//!
//! SRED keeps a list of recently seen flows, the zombie list, and compares each arrival with one of them, chosen at random.
//! The frequency of hits estimates the number of flows without state for each. The drop probability grows with its square,
//! because the window of a TCP flow falls with the square root of the loss: so the queue keeps its length when flows come
//! and go. A flow with a large share of the arrivals hits more often, and a hit raises the probability of being dropped.
//!
//! # Control law
//! The flow of each arrival enters the list, until this has M entries (`zombies`). From then on an arrival is compared with
//! an entry chosen with equal probability. A hit is an entry of the arrival's flow. Without a hit, the arrival's flow
//! replaces the entry with probability p (`replace`). The frequency of hits is an average with weight a = 1/M:
//! `P = (1 - a) P + a Hit`, where Hit is 1 or 0. 1/P estimates the number of flows.
//!
//! With q waiting and a buffer of B (`limit`), p_sred is `max_p` from B/3 on, a quarter of it from B/6 on, and 0 below. The
//! arrival is dropped with probability `p_zap = p_sred min(1, 1/(256 P)^2) (1 + Hit/P)`, where 256 is `flows`. Simple SRED
//! (`variant simple`) leaves out the last factor.
//!
//! With n equal flows P is 1/n. The average of the last factor is then `1 + P/P = 2`, and a flow with the share f of the
//! arrivals has `1 + f/P`.
//!
//! ECN: what would be dropped by p_zap is marked.
//!
//! # Deviations and interpretations
//! * The paper's list also counts an entry's hits and notes their last time, to find candidates for closer inspection. No
//!   decision depends on these, so they are left out.
//! * The weight of the average is what the paper's simulations used, 1/M. Its equation 3.3 names p/M as another choice.
//! * P is updated before it decides on the arrival, as "P(t)" with "Hit(t)" in the paper's equations. While the list fills,
//!   nothing is compared and P stays 0: `min(1, 1/(256 P)^2)` is then 1.
//! * B and q are in the unit of `limit`, and q is the queue that the arrival finds.
//! * Arrivals that are dropped because the queue is full enter the list as others do.
//! * Marks for ECN are our addition.
//!
//! # Work per packet
//! Constant.
//!
//! # References
//! * T. J. Ott, T. V. Lakshman and L. H. Wong, "SRED: stabilized RED", IEEE INFOCOM 1999, sections II (list), III
//!   (frequency of hits), IV (simple SRED) and V (full SRED).

use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_units::{BitRate, Instant, Probability};

crate::choice! {
    /// Which of the paper's two probabilities decides.
    pub enum Variant {
        /// Without the factor of hits (section IV).
        Simple = "simple",
        /// With it (section V).
        Full = "full",
    }
}

crate::params! {
    /// Parameters of `sred`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped, B in the paper (our choice).
        limit: Limit = Limit::packets(1000),
        /// Entries of the zombie list, M, 1 to 65536 (section II: 1000).
        zombies: u32 = 1000,
        /// Probability that an arrival without a hit replaces the entry that it was compared with, above 0 (section II: 0.25).
        replace: Probability = Probability::clamped(0.25),
        /// Drop probability from a third of the limit on, p_max (section IV: 0.15).
        max_p: Probability = Probability::clamped(0.15),
        /// Estimated number of flows from which the probability no longer rises with it, 1 or more (equation 4.4: 256).
        flows: u32 = 256,
        /// Whether a hit raises the probability (section V: it does).
        variant: Variant = Variant::Full,
        /// Mark ECN-capable packets instead of dropping them (our choice).
        ecn: bool = false,
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Sred {
    params: Params,
    /// The zombie list: hashes of flows; it has room for M.
    zombies: Vec<u32>,
    /// M.
    room: usize,
    /// P.
    hit_frequency: f64,
    probability: f64,
}

/// p_sred over p_max: equation 4.3.
fn step(limit: Limit, queue: &Queue) -> f64 {
    let (q, b) = match limit {
        Limit::Packets(limit) => (queue.len() as u64, limit.get()),
        Limit::Bytes(limit) => (queue.bytes(), limit.get()),
    };
    if 3 * u128::from(q) >= u128::from(b) {
        1.0
    } else if 6 * u128::from(q) >= u128::from(b) {
        0.25
    } else {
        0.0
    }
}

impl Sred {
    /// Puts an arrival's flow into the list, or compares it with an entry and updates P. True at a hit.
    fn compare(&mut self, cx: &mut Cx<'_>, flow: u32) -> bool {
        if self.zombies.len() < self.room {
            self.zombies.push(flow);
            return false;
        }
        let replace = self.params.replace.get();
        let drawn = cx.random.below(self.room as u64) as usize;
        let Some(zombie) = self.zombies.get_mut(drawn) else { return false };
        let hit = *zombie == flow;
        if !hit && cx.chance(replace) {
            *zombie = flow;
        }
        let a = 1.0 / self.room as f64;
        self.hit_frequency = (1.0 - a) * self.hit_frequency + a * f64::from(u8::from(hit));
        hit
    }

    /// p_zap: equations 4.4 and 5.1.
    fn zap(&self, p_sred: f64, hit: bool) -> f64 {
        // Without this, 0 would meet an infinity where P is tiny.
        if p_sred <= 0.0 {
            return 0.0;
        }
        let spread = f64::from(self.params.flows) * self.hit_frequency;
        let simple = if spread > 1.0 { p_sred / (spread * spread) } else { p_sred };
        if hit && self.params.variant == Variant::Full {
            (simple * (1.0 + 1.0 / self.hit_frequency)).min(1.0)
        } else {
            simple
        }
    }
}

impl Aqm for Sred {
    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        let hit = self.compare(cx, packet.flow);
        if self.params.limit.is_full(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        self.probability = self.zap(self.params.max_p.get() * step(self.params.limit, queue), hit);
        if cx.chance(self.probability) {
            return cx.signal(queue, packet, self.params.ecn);
        }
        queue.push(packet);
    }

    #[inline(always)]
    fn passes(&mut self, _now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        true
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("probability", self.probability);
        visit("hit_frequency", self.hit_frequency);
        visit("n_flows", if self.hit_frequency > 0.0 { 1.0 / self.hit_frequency } else { 0.0 });
        visit("zombies", self.zombies.len() as f64);
    }
}

impl Algorithm for Sred {
    type Params = Params;

    const ABOUT: About = About {
        title: "SRED",
        summary: "drops by steps of the queue length and the square of an estimated number of flows",
        source: "Ott, Lakshman and Wong 1999",
        signals_on: "queue length; hits of arrivals in a list of recent flows",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: false,
    };

    fn check(params: &Params) -> Result<(), String> {
        if !(1..=65_536).contains(&params.zombies) {
            return Err(format!("zombies is {}; allowed: 1 to 65536 entries", params.zombies));
        }
        if params.replace.get() <= 0.0 {
            return Err("replace is 0, so that the list would never change; allowed: above 0".into());
        }
        if params.flows == 0 {
            return Err("flows is 0; allowed: 1 flow or more".into());
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        self.probability = old.probability;
        // A list of another length begins anew.
        if old.room == self.room {
            (self.zombies, self.hit_frequency) = (old.zombies, old.hit_frequency);
        }
    }

    fn new(params: &Params) -> Self {
        let room = params.zombies as usize;
        Self { params: params.clone(), zombies: Vec::with_capacity(room), room, hit_frequency: 0.0, probability: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{canonical, close, queue_of, refused, Fate, Host, Stream};
    use crate::{Ecn, Random};
    use alloc::vec;
    use sojourn_units::Bytes;

    /// A host with a full list of one entry, flow 0, and P as given.
    fn seen(params: Params, hit_frequency: f64) -> Host<Sred> {
        let mut host = Host::<Sred>::new(Params { zombies: 1, ..params });
        host.with(|sred| (sred.zombies, sred.hit_frequency) = (vec![0], hit_frequency));
        host
    }

    #[test]
    fn steps_are_at_a_sixth_and_a_third_of_the_buffer() {
        // B = 12: 2 is B/6, 4 is B/3.
        for (waiting, share) in [(0, 0.0), (1, 0.0), (2, 0.25), (3, 0.25), (4, 1.0), (11, 1.0)] {
            let queue = queue_of(waiting, Instant::ZERO);
            assert_eq!(step(Limit::packets(12), &queue), share, "{waiting} packets");
            let bytes = Limit::Bytes(Bytes::new(12 * queue_of(1, Instant::ZERO).bytes()));
            assert_eq!(step(bytes, &queue), share, "{waiting} packets in bytes");
        }
        // B = 10: B/6 is 1.67 and B/3 is 3.33, so 2 and 4 are the first.
        let shares = [1, 2, 3, 4].map(|waiting| step(Limit::packets(10), &queue_of(waiting, Instant::ZERO)));
        assert_eq!(shares, [0.0, 0.25, 0.25, 1.0]);
    }

    #[test]
    fn the_probability_grows_with_the_square_of_the_flows_up_to_256() {
        let sred = |hit_frequency: f64| {
            let mut sred = Sred::new(&Params::default());
            sred.hit_frequency = hit_frequency;
            sred
        };
        // 0.15/(256/16)^2 = 0.15/256, and twice the flows give four times as much.
        close(sred(1.0 / 16.0).zap(0.15, false), 0.15 / 256.0);
        close(sred(1.0 / 32.0).zap(0.15, false), 4.0 * 0.15 / 256.0);
        // From 256 flows on all of p_sred; also before the first hit.
        close(sred(1.0 / 256.0).zap(0.15, false), 0.15);
        close(sred(1.0 / 5000.0).zap(0.15, false), 0.15);
        close(sred(0.0).zap(0.15, false), 0.15);
        // A hit with 16 flows: 1 + 16 times as much; with 5000, 0.15 x 5001 is more than 1.
        close(sred(1.0 / 16.0).zap(0.15, true), 17.0 * 0.15 / 256.0);
        assert_eq!(sred(1.0 / 5000.0).zap(0.15, true), 1.0);
        let mut simple = Sred::new(&Params { variant: Variant::Simple, ..Params::default() });
        simple.hit_frequency = 1.0 / 16.0;
        close(simple.zap(0.15, true), 0.15 / 256.0);
    }

    #[test]
    fn the_frequency_is_an_average_with_weight_one_over_zombies() {
        let mut host = Host::<Sred>::new(Params { zombies: 4, ..Params::default() });
        host.with(|sred| sred.zombies = vec![0; 4]);
        host.random.fixed = Some(0.9);
        // a = 1/4. A hit: P = 1/4. A miss, not replaced at a draw of 0.9: 3/16. A hit: 9/64 + 1/4 = 25/64.
        for (flow, expected) in [(0, 0.25), (1, 3.0 / 16.0), (0, 25.0 / 64.0)] {
            host.flow = flow;
            host.arrive();
            close(host.internal("hit_frequency"), expected);
        }
        close(host.internal("n_flows"), 64.0 / 25.0);
    }

    #[test]
    fn a_miss_replaces_the_drawn_entry_with_probability_replace() {
        let mut host = Host::<Sred>::new(Params { zombies: 4, ..Params::default() });
        for flow in [1, 2, 3, 4] {
            host.flow = flow;
            host.arrive();
        }
        // While the list fills, nothing is drawn. Then 0.24 draws entry 0 (0.24 x 4), and is below 0.25: replaced.
        assert_eq!((host.random.draws, host.internal("hit_frequency")), (0, 0.0));
        host.flow = 9;
        for (u, list) in [(0.24, [9, 2, 3, 4]), (0.25, [9, 2, 3, 4]), (0.5, [9, 2, 3, 4]), (0.2, [9, 2, 3, 4])] {
            host.random.fixed = Some(u);
            host.arrive();
            host.with(|sred| assert_eq!(sred.zombies, list, "draw {u}"));
        }
        // The last was a hit of entry 0, after three misses.
        close(host.internal("hit_frequency"), 1.0 / 4.0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn one_over_the_frequency_is_the_number_of_equal_flows() {
        // Nothing is dropped: the queue is emptied at once. P has mean 1/20 and weight 1/1000.
        let mut host = Host::<Sred>::new(Params::default());
        let mut script = Stream::new(7);
        for _ in 0..200_000 {
            host.flow = script.below(20) as u32;
            host.arrive();
            host.send();
        }
        // Noise of the average itself: sqrt(a/2 x 0.05 x 0.95) = 0.0049. The list has 1000 entries, so that the share of a
        // flow in it varies by sqrt(0.05 x 0.95/1000) = 0.007; over 20 flows 0.0016 in P. Five of both: 0.026.
        let p = host.internal("hit_frequency");
        assert!((p - 0.05).abs() < 0.026, "{p}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn a_flow_with_half_of_the_arrivals_loses_more_of_them() {
        // Shares 0.5 and ten of 0.05: P = 0.25 + 10 x 0.0025 = 0.275. 256 P = 70.4; with max_p 1, p_sred/(256 P)^2 is
        // 1/4956. A flow with the share f has (1 + f/0.275)/4956: 2.82/4956 and 1.18/4956, so 2.39 times as much.
        let mut host = Host::<Sred>::new(Params {
            max_p: Probability::clamped(1.0),
            flows: 32,
            limit: Limit::packets(300),
            ..Params::default()
        });
        // flows = 32 makes that 2.82/77.4 = 0.0364 and 1.18/77.4 = 0.0153.
        host.arrive_many(1200);
        let mut script = Stream::new(11);
        let (mut offered, mut lost) = ([0.0_f64; 2], [0.0_f64; 2]);
        for step in 0..300_000 {
            let draw = script.below(20);
            host.flow = if draw < 10 { 0 } else { draw as u32 };
            let heavy = usize::from(draw < 10);
            let dropped = matches!(host.arrive(), Fate::Dropped(_));
            // From a third of the buffer on; the queue is kept near 200 of 300.
            if step > 50_000 {
                offered[heavy] += 1.0;
                lost[heavy] += f64::from(u8::from(dropped));
            }
            while host.len() > 200 {
                host.send();
            }
        }
        let rates = [lost[0] / offered[0], lost[1] / offered[1]];
        // P follows the list, whose shares vary by sqrt(0.25/1000) = 0.016: 6 % of P, and the rate goes with P^-2 to P^-3.
        assert!((rates[1] - 0.0364).abs() < 0.0073, "{rates:?}");
        assert!((rates[0] - 0.0153).abs() < 0.003, "{rates:?}");
        assert!((rates[1] / rates[0] - 2.39).abs() < 0.3, "{rates:?}");
    }

    #[test]
    fn ecn_marks_and_a_full_queue_drops() {
        let mut host = seen(Params { ecn: true, max_p: Probability::clamped(1.0), ..Params::default() }, 0.0);
        host.with(|sred| sred.params.limit = Limit::packets(3));
        host.random.fixed = Some(0.999_999);
        host.flow = 5;
        // Finds 0: nothing. Finds 1, a third of 3: p_zap = 1.
        assert_eq!(host.arrive(), Fate::Queued);
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        host.ecn = Ecn::Ect0;
        assert_eq!((host.arrive(), host.arrive()), (Fate::Marked, Fate::Marked));
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Overflow));
    }

    #[test]
    fn a_list_of_another_length_begins_anew() {
        let mut sred = seen(Params::default(), 0.5);
        sred.with(|sred| {
            sred.set_params(&Params { zombies: 1, flows: 9, ..Params::default() });
            assert_eq!((sred.zombies.len(), sred.hit_frequency), (1, 0.5));
            sred.set_params(&Params { zombies: 2, ..Params::default() });
            assert_eq!((sred.zombies.len(), sred.hit_frequency), (0, 0.0));
        });
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("sred zombies 50 replace 1 flows 64"), "sred zombies 50 replace 1 flows 64");
        assert!(refused("sred zombies 0").contains("1 to 65536"));
        assert!(refused("sred zombies 65537").contains("1 to 65536"));
        assert!(refused("sred replace 0").contains("above 0"));
        assert!(refused("sred flows 0").contains("1 flow or more"));
    }
}
