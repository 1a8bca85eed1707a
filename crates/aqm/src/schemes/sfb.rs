//! SFB (stochastic fair BLUE): keeps BLUE's drop probability for each bin of a Bloom filter of flows and limits flows that
//! do not respond.
//!
//! Every flow is hashed into one bin on each of several levels, and each bin has a drop probability of its own. A flow is
//! dropped (or marked) with the least probability of its bins, so a flow suffers only if all of its bins are shared with
//! heavy flows. Flows whose probability reaches 1 do not respond to congestion signals; together they are limited to
//! `penalty_rate`. The memory is small and independent of the number of flows.
//!
//! # Control law
//! There are 8 levels of 16 bins. When a packet arrives, each bin of its flow without packets lowers its probability by
//! `decrement`, and each with at least `target` packets raises it by `increment`. p and n are the least probability and the
//! least number of packets over these bins.
//!
//! * `n >= max`: the arrival is dropped.
//! * `p = 1`: the flow does not respond. Its packets pass a token bucket (the penalty box) of `penalty_rate` packets a
//!   second for all such flows.
//! * Otherwise: the arrival is marked with probability p. Of these signals, the share `2 (p - 1/2)` are drops even if the
//!   packet is ECN-capable.
//!
//! Every `rehash` the hash changes and flows move to other bins, so that no flow suffers for long from sharing all of its
//! bins. During the last `db` before a change, flows in the penalty box, and only these, already update the coming bins.
//!
//! # Deviations and interpretations
//! * One 32-bit hash gives the eight bins, four bits each, as in Linux; the paper uses eight hashes. Its seed is drawn at
//!   the first arrival and at every rehash.
//! * Rehashing takes place at multiples of `rehash`; in Linux at the first arrival after that time.
//! * Rehashing empties the old bins. In Linux they keep their probabilities for the next hash.
//! * The token bucket fills continuously. Linux fills its bucket only when it is empty and discards the fraction, so that a
//!   flow that sends faster than `penalty_rate` gets nothing after its burst.
//! * Probabilities are doubles; in Linux they have 16 bits. Linux always marks ECN-capable packets; `noecn` is an addition
//!   of this library.
//! * Linux's `sfb_change` drops every waiting packet and empties the bins, whichever parameter changes. Here the bins are
//!   kept, and a lower `limit` drops only the packets that exceed it.
//!
//! # Work per packet
//! An arrival visits 8 bins (16 during the last `db`), and so does a departure. A rehash visits every waiting packet.
//!
//! # References
//! * W. Feng, D. D. Kandlur, D. Saha and K. G. Shin, "Stochastic Fair Blue: a queue management algorithm for enforcing
//!   fairness", IEEE INFOCOM 2001.
//! * tc-sfb(8), for parameters and defaults.
//! * S. Hassan, A. F. Hassan and S. Arif, "A Fairness Investigation on Active Queue Management Schemes in Wireless Local
//!   Area Network", section III.C.

use crate::acts::Acts;
use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use sojourn_units::{BitRate, Instant, Packets, Probability, Span};

crate::params! {
    /// Parameters of `sfb`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (tc-sfb(8)).
        limit: Limit = Limit::packets(1000),
        /// Packets in a bin from which its probability rises (tc-sfb(8); Linux's bin_size).
        target: Packets = Packets::new(20),
        /// Packets in all bins of a flow at which its arrivals are dropped (tc-sfb(8)).
        max: Packets = Packets::new(25),
        /// Increase of a bin's probability when an arrival finds it at target (tc-sfb(8); Linux).
        increment: Probability = Probability::clamped(1.0 / 1000.0),
        /// Decrease of a bin's probability when an arrival finds it empty (tc-sfb(8); Linux).
        decrement: Probability = Probability::clamped(1.0 / 6000.0),
        /// Packets a second that all unresponsive flows together may send (tc-sfb(8)).
        penalty_rate: f64 = 10.0,
        /// Burst of the penalty box (tc-sfb(8)).
        penalty_burst: Packets = Packets::new(20),
        /// Time between changes of the hash; 0 is never (tc-sfb(8)).
        rehash: Span = Span::from_secs(600),
        /// How long before a change the coming bins are updated as well, "double buffering" (tc-sfb(8)).
        db: Span = Span::from_secs(60) => [Acts::Without("rehash", &["0ns"])],
        /// Mark ECN-capable packets instead of dropping them (Linux always does).
        ecn: bool = true,
    }
}

const LEVELS: usize = 8;
const BINS: usize = 16;

/// The bins under one hash.
#[derive(Clone, Debug)]
struct Bins {
    packets: [[u32; BINS]; LEVELS],
    probability: [[f64; BINS]; LEVELS],
}

impl Bins {
    const EMPTY: Self = Self { packets: [[0; BINS]; LEVELS], probability: [[0.0; BINS]; LEVELS] };

    #[inline(always)]
    fn remove(&mut self, hash: u32) {
        for (level, packets) in self.packets.iter_mut().enumerate() {
            packets[place(hash, level)] -= 1;
        }
    }
}

/// The bin of a flow on a level.
#[inline(always)]
fn place(hash: u32, level: usize) -> usize {
    (hash >> (4 * level)) as usize % BINS
}

/// Under which hashes a waiting packet is counted in each of the two sets of bins.
#[derive(Clone, Copy, Debug)]
struct Counted {
    hashes: [u32; 2],
    /// Bit 0 and bit 1: the sets that it is counted in.
    sets: u32,
}

impl Counted {
    #[inline]
    fn is_in(self, set: usize) -> bool {
        self.sets >> set & 1 == 1
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Sfb {
    limit: Limit,
    target: u32,
    max: u32,
    /// What an arrival adds to the probability of a bin that is empty, between, at target.
    steps: [f64; 3],
    penalty_rate: f64,
    penalty_burst: f64,
    rehash: Span,
    db: Span,
    ecn: bool,
    /// The first arrival has drawn the first hash's seed.
    begun: bool,
    /// Changes of the hash so far; the bins in use are those of its parity.
    generation: u64,
    /// The present hash's seed: the first one's plus the generation.
    key: u64,
    next_rehash: Instant,
    sets: [Bins; 2],
    /// For the packets at the tail of the queue, in its order; those before them (after a reset) are not counted.
    counted: VecDeque<Counted>,
    tokens: f64,
    /// When `tokens` was right.
    filled: Instant,
}

/// All bits of flow and seed mixed (splitmix64's finaliser).
fn mix(flow: u32, seed: u64) -> u32 {
    let mut x = seed ^ u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 32) as u32
}

impl Sfb {
    fn active(&self) -> usize {
        (self.generation % 2) as usize
    }

    /// The flow's hash in the present generation, or in a later one.
    fn hash(&self, flow: u32, later: u64) -> u32 {
        mix(flow, self.key.wrapping_add(later))
    }

    /// The bins of a flow learn from its arrival and count it; gives the least probability and the least count before it.
    #[inline(always)]
    fn learn(&mut self, set: usize, hash: u32) -> (f64, u32) {
        let Self { target, steps, sets, .. } = self;
        let Bins { packets, probability } = &mut sets[set];
        let (mut p, mut least) = ([0.0; LEVELS], u32::MAX);
        for (level, p) in p.iter_mut().enumerate() {
            let packets = &mut packets[level][place(hash, level)];
            // A table, not branches: eight bins in different states would mispredict them.
            let state = usize::from(*packets > 0) + usize::from(*packets >= *target);
            *p = probability[level][place(hash, level)] + steps[state];
            least = least.min(*packets);
            *packets += 1;
        }
        // Apart from the loop before, so that all eight are clamped at once and without branches.
        let p = p.map(|p| if p > 0.0 { p } else { 0.0 }).map(|p| if p < 1.0 { p } else { 1.0 });
        for (level, p) in p.iter().enumerate() {
            probability[level][place(hash, level)] = *p;
        }
        let lesser = |a: f64, b: f64| if a < b { a } else { b };
        let [p0, p1, p2, p3, p4, p5, p6, p7] = p;
        let halves = (lesser(lesser(p0, p1), lesser(p2, p3)), lesser(lesser(p4, p5), lesser(p6, p7)));
        (lesser(halves.0, halves.1), least)
    }

    /// The penalty box has a token for this packet.
    fn is_excused(&mut self, now: Instant) -> bool {
        let gained = self.penalty_rate * now.since(self.filled).seconds();
        self.tokens = (self.tokens + gained).min(self.penalty_burst);
        self.filled = now;
        let excused = self.tokens >= 1.0;
        if excused {
            self.tokens -= 1.0;
        }
        excused
    }

    /// The packet counted longest is gone.
    #[inline(always)]
    fn forget_first(&mut self) {
        if let Some(counted) = self.counted.pop_front() {
            self.uncount(counted);
        }
    }

    #[inline(always)]
    fn uncount(&mut self, counted: Counted) {
        for set in 0..2 {
            if counted.is_in(set) {
                self.sets[set].remove(counted.hashes[set]);
            }
        }
    }

    /// Drops an arrival that has been counted.
    #[inline(never)]
    fn refuse(&mut self, cx: &mut Cx<'_>, packet: Packet, counted: Counted, reason: Reason) {
        self.uncount(counted);
        cx.drop(packet, reason);
    }

    #[inline(always)]
    fn accept(&mut self, queue: &mut Queue, packet: Packet, counted: Counted) {
        self.counted.push_back(counted);
        queue.push(packet);
    }

    fn advance_generation(&mut self, changes: u64) {
        self.generation = self.generation.wrapping_add(changes);
        self.key = self.key.wrapping_add(changes);
    }

    /// The bins in use are left behind for the others.
    fn change_hash(&mut self) {
        let left = self.active();
        self.sets[left] = Bins::EMPTY;
        self.counted.iter_mut().for_each(|counted| counted.sets &= !(1 << left));
        self.advance_generation(1);
    }

    fn is_warming(&self, now: Instant) -> bool {
        !self.rehash.is_zero() && now >= self.next_rehash.before(self.db)
    }

    /// Marks an arrival that has been counted, where it may be, or drops it.
    #[inline(never)]
    fn signal(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet, counted: Counted, may_mark: bool) {
        let mut packet = packet;
        if may_mark && cx.mark(&mut packet) {
            self.accept(queue, packet, counted);
        } else {
            self.refuse(cx, packet, counted, Reason::Early);
        }
    }

    /// Decides on an arrival of a flow whose bins have all reached the probability 1.
    #[cold]
    fn judge_unresponsive(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet, mut counted: Counted) {
        if self.is_warming(cx.now) {
            let (other, next) = (1 - self.active(), self.hash(packet.flow, 1));
            self.learn(other, next);
            counted.hashes[other] = next;
            counted.sets |= 1 << other;
        }
        if self.is_excused(cx.now) {
            self.accept(queue, packet, counted);
        } else {
            self.refuse(cx, packet, counted, Reason::Flow);
        }
    }

    /// A change of the hash may be due, or a container has taken packets from the head.
    #[cold]
    fn catch_up(&mut self, now: Instant, queue: &Queue) {
        while self.counted.len() > queue.len() {
            self.forget_first();
        }
        if self.begun && !self.rehash.is_zero() && now >= self.next_rehash && self.next_rehash < Instant::NEVER {
            let passed = now.since(self.next_rehash).nanos() / self.rehash.nanos() + 1;
            // Two changes leave nothing of what was learnt, and so do more.
            self.change_hash();
            if passed > 1 {
                self.change_hash();
                self.advance_generation(passed - 2);
            }
            self.next_rehash += self.rehash * passed;
        }
    }

    /// The first arrival draws the seed.
    #[cold]
    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.begun = true;
        self.key = cx.random.next_u64().wrapping_add(self.generation);
        self.filled = cx.now;
        if !self.rehash.is_zero() {
            let whole = cx.now.nanos() / self.rehash.nanos();
            self.next_rehash = Instant::ZERO + self.rehash * whole + self.rehash;
        }
    }
}

impl Aqm for Sfb {
    #[inline]
    fn advance(&mut self, now: Instant, _rate: BitRate, queue: &Queue) {
        if self.counted.len() > queue.len() || now >= self.next_rehash {
            self.catch_up(now, queue);
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if !self.begun {
            self.begin(cx);
        }
        if self.limit.is_full(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        let (active, hash) = (self.active(), self.hash(packet.flow, 0));
        let (p, packets) = self.learn(active, hash);
        let counted = Counted { hashes: [hash; 2], sets: 1 << active };
        if packets >= self.max {
            return self.refuse(cx, packet, counted, Reason::Flow);
        }
        if p >= 1.0 {
            return self.judge_unresponsive(cx, queue, packet, counted);
        }
        if p > 0.0 {
            let draw = cx.random.uniform();
            if draw < p {
                // Marking so many has not helped, whether it is this flow's fault or not.
                let may_mark = self.ecn && draw >= 2.0 * (p - 0.5);
                return self.signal(cx, queue, packet, counted, may_mark);
            }
        }
        self.accept(queue, packet, counted);
    }

    #[inline]
    fn dequeue(&mut self, _cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        if self.counted.len() == queue.len() {
            self.forget_first();
        }
        queue.pop()
    }

    #[inline(always)]
    fn passes(&mut self, now: Instant, _rate: BitRate, queue: &Queue) -> bool {
        let is_ready = self.counted.len() <= queue.len() && now < self.next_rehash;
        if is_ready && self.counted.len() == queue.len() {
            self.forget_first();
        }
        is_ready
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        let Bins { packets, probability } = &self.sets[self.active()];
        visit("greatest_probability", probability.iter().flatten().fold(0.0, |most, p| most.max(*p)));
        visit("greatest_bin_packets", f64::from(packets.iter().flatten().fold(0, |most, n| most.max(*n))));
        visit("penalty_tokens", self.tokens);
        visit("rehashes", self.generation as f64);
    }
}

impl Algorithm for Sfb {
    type Params = Params;

    const ABOUT: About = About {
        title: "SFB",
        summary: "a drop probability for each bin of a Bloom filter of flows, and a penalty box for those that do not respond",
        source: "Feng et al. 2001; tc-sfb(8)",
        signals_on: "queue length of each flow's bins",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: true,
    };

    fn check(params: &Params) -> Result<(), String> {
        let Params { max, rehash, db, .. } = params;
        if *max == Packets::ZERO {
            return Err("max is 0 p; allowed: 1 p or more".into());
        }
        if !rehash.is_zero() && db > rehash {
            return Err(format!("db is {db}, longer than rehash ({rehash}); allowed: at most rehash"));
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let tokens = self.tokens;
        let old = core::mem::replace(self, Self::new(params));
        self.begun = old.begun;
        self.key = old.key;
        self.generation = old.generation;
        self.next_rehash = old.next_rehash;
        self.sets = old.sets;
        self.counted = old.counted;
        self.filled = old.filled;
        self.tokens = tokens.min(self.penalty_burst);
    }

    fn new(params: &Params) -> Self {
        let count = |packets: Packets| u32::try_from(packets.get()).unwrap_or(u32::MAX);
        let burst = params.penalty_burst.get() as f64;
        Self {
            limit: params.limit,
            // An empty bin is empty, whatever the target.
            target: count(params.target).max(1),
            max: count(params.max),
            steps: [-params.decrement.get(), 0.0, params.increment.get()],
            penalty_rate: params.penalty_rate,
            penalty_burst: burst,
            rehash: params.rehash,
            db: params.db,
            ecn: params.ecn,
            begun: false,
            key: 0,
            generation: 0,
            next_rehash: Instant::NEVER,
            sets: [Bins::EMPTY; 2],
            counted: VecDeque::new(),
            tokens: burst,
            filled: Instant::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;
