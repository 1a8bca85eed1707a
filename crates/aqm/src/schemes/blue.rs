//! BLUE: drops or marks arrivals with a probability that losses raise and an idle link lowers.
//!
//! BLUE uses neither the queue length nor the delay. When the buffer overflows, it raises the drop probability; when the
//! link is idle, it lowers it. Between two changes at least `freeze_time` passes, so that senders have time to react. BLUE
//! is a part of SFB and COBALT.
//!
//! # Control law
//! A packet lost to a full queue gives `p += d1`; an idle link gives `p -= d2`. Neither happens within `freeze_time` of the
//! last change of either kind. Every arrival is dropped or marked with probability p.
//!
//! # Deviations and interpretations
//! * A change takes place only after more than `freeze_time` since the last, as in the paper's figure. The first change may
//!   come at any time.
//! * `idle event` follows the figure: the link asks for a packet and none waits. A link that asks once and then rests until
//!   something is queued produces one event, however long it is idle. With `idle lasting`, as in the authors' simulator, p
//!   falls by d2 every `freeze_time` of the idle time.
//! * `raise_above` is the condition "or Q_len > L" of the figure: an arrival that finds more than L waiting packets raises p
//!   as a loss does, before it is judged itself.
//! * If the queue is full, the arrival is dropped without a random draw.
//!
//! # Work per packet
//! Constant. An idle time of any length takes one division.
//!
//! # References
//! * W. Feng, K. G. Shin, D. D. Kandlur and D. Saha, "The BLUE active queue management algorithms", IEEE/ACM Transactions on
//!   Networking 10(4), 2002, section 3.
//! * S. Shu, "Adaptive In-Network Queue Management based on the Stochasticity of Network Flows", University of Groningen,
//!   2023, section 2.5, for the default values.

use crate::{About, Algorithm, Aqm, Cx, DropsAt, Internal, Limit, Packet, Queue, Reason};
use alloc::string::String;
use sojourn_units::{BitRate, Instant, Packets, Probability, Span};

crate::choice! {
    /// What counts as idle.
    pub enum Idle {
        /// Every time that the link asks for a packet and finds none.
        Event = "event",
        /// All the time until it sends again.
        Lasting = "lasting",
    }
}

crate::params! {
    /// Parameters of `blue`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped.
        limit: Limit = Limit::packets(1000),
        /// Increase of the probability at a loss (0.0025: Shu 2023, section 2.5; the authors' ns-2 code).
        d1: Probability = Probability::clamped(0.0025),
        /// Decrease of the probability when the link is idle (0.00025: Shu 2023, section 2.5; the authors' ns-2 code).
        d2: Probability = Probability::clamped(0.00025),
        /// Least time between two changes of the probability (100 ms: Shu 2023, section 2.5).
        freeze_time: Span = Span::from_millis(100),
        /// Whether an idle time lowers the probability once, or repeatedly as long as it lasts (the paper's figure; the authors' simulator).
        idle: Idle = Idle::Event,
        /// Waiting packets above which an arrival raises the probability as a loss does (L in the paper's figure).
        raise_above: Option<Packets> = None,
        /// Mark ECN-capable packets instead of dropping them (section 3: "marks or drops").
        ecn: bool = false,
    }
}

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Blue {
    params: Params,
    d1: f64,
    d2: f64,
    probability: f64,
    /// last_update.
    changed: Option<Instant>,
    /// The link asked last for a packet and got none.
    idle: bool,
}

impl Blue {
    /// True, and noted as a change, when the last one is long enough ago.
    fn may_change(&mut self, now: Instant) -> bool {
        let may = self.changed.is_none_or(|changed| now.since(changed) > self.params.freeze_time);
        if may {
            self.changed = Some(now);
        }
        may
    }

    fn raise(&mut self, now: Instant) {
        if self.may_change(now) {
            self.probability = (self.probability + self.d1).min(1.0);
        }
    }

    fn lower(&mut self, now: Instant) {
        if self.may_change(now) {
            self.probability = (self.probability - self.d2).max(0.0);
        }
    }

    /// The changes of an idle time that lasts, each as soon as the one before is `freeze_time` ago.
    fn stay_idle(&mut self, now: Instant) {
        let (Some(changed), freeze) = (self.changed, self.params.freeze_time) else { return };
        let changes = now.since(changed).nanos().saturating_sub(1) / freeze.nanos().max(1);
        if changes > 0 {
            self.changed = Some(changed + freeze * changes);
            self.probability = (self.probability - self.d2 * changes as f64).max(0.0);
        }
    }
}

impl Aqm for Blue {
    #[inline]
    fn advance(&mut self, now: Instant, _rate: BitRate, _queue: &Queue) {
        if self.idle && self.params.idle == Idle::Lasting {
            self.stay_idle(now);
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if self.params.limit.is_full(queue, packet.bytes) {
            self.raise(cx.now);
            return cx.drop(packet, Reason::Overflow);
        }
        if self.params.raise_above.is_some_and(|above| queue.len() as u64 > above.get()) {
            self.raise(cx.now);
        }
        if cx.chance(self.probability) {
            return cx.signal(queue, packet, self.params.ecn);
        }
        queue.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        let packet = queue.pop();
        self.idle = packet.is_none();
        if self.idle {
            self.lower(cx.now);
        }
        packet
    }

    fn overflowed(&mut self, now: Instant, _packets: u64) {
        self.raise(now);
    }

    #[inline(always)]
    fn passes(&mut self, _now: Instant, _rate: BitRate, queue: &Queue) -> bool {
        let is_quiet = queue.is_empty() || self.idle && self.params.idle == Idle::Lasting;
        if !is_quiet {
            self.idle = false;
        }
        !is_quiet
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("probability", self.probability);
    }
}

impl Algorithm for Blue {
    type Params = Params;

    const ABOUT: About = About {
        title: "BLUE",
        summary: "drops arrivals with a probability that overflow raises and idleness lowers",
        source: "Feng, Shin, Kandlur and Saha 2002",
        signals_on: "full and empty queue",
        drops_at: DropsAt::Enqueue,
        ecn: true,
        per_flow_state: false,
    };

    fn check(params: &Params) -> Result<(), String> {
        if params.freeze_time.is_zero() && params.idle == Idle::Lasting {
            return Err("freeze_time is 0: p would be 0 at once; allowed: above 0, or \"idle event\"".into());
        }
        Ok(())
    }

    fn set_params(&mut self, params: &Params) {
        let old = core::mem::replace(self, Self::new(params));
        self.probability = old.probability;
        self.changed = old.changed;
        self.idle = old.idle;
    }

    fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            d1: params.d1.get(),
            d2: params.d2.get(),
            probability: 0.0,
            changed: None,
            idle: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{canonical, close, refused, Fate, Host};
    use crate::Ecn;

    fn params() -> Params {
        let (d1, d2) = (Probability::clamped(0.25), Probability::clamped(0.0625));
        Params { d1, d2, limit: Limit::packets(2), ..Params::default() }
    }

    /// Two wait, and one was lost at 0 ms, so that p is 1/4.
    fn full(params: Params) -> Host<Blue> {
        let mut host = Host::new(params);
        host.random.fixed = Some(0.999_999);
        assert_eq!(host.arrive_many(2), 2);
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Overflow));
        close(host.internal("probability"), 0.25);
        host
    }

    fn wait(host: &mut Host<Blue>, ms: u64) {
        host.wait(Span::from_millis(ms));
    }

    #[test]
    fn losses_raise_p_once_in_freeze_time() {
        let mut host = full(params());
        wait(&mut host, 100);
        host.arrive();
        close(host.internal("probability"), 0.25);
        host.wait(Span::from_nanos(1));
        host.arrive();
        close(host.internal("probability"), 0.5);
        for p in [0.75, 1.0, 1.0] {
            wait(&mut host, 101);
            host.arrive();
            close(host.internal("probability"), p);
        }
        // p is 1: nothing comes in.
        host.send();
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    }

    #[test]
    fn losses_and_idleness_share_the_freeze_time() {
        let mut host = full(params());
        host.send();
        host.send();
        wait(&mut host, 100);
        assert!(host.send().is_none());
        close(host.internal("probability"), 0.25);
        wait(&mut host, 1);
        assert!(host.send().is_none());
        close(host.internal("probability"), 0.1875);
        // 50 ms after that fall nothing rises.
        wait(&mut host, 50);
        assert_eq!((host.arrive_many(2), host.arrive()), (2, Fate::Dropped(Reason::Overflow)));
        close(host.internal("probability"), 0.1875);
    }

    #[test]
    fn an_idle_time_lowers_p_once_or_as_long_as_it_lasts() {
        for (idle, at_450_ms) in [(Idle::Event, 0.1875), (Idle::Lasting, 0.0)] {
            let mut host = full(Params { idle, ..params() });
            host.send();
            host.send();
            wait(&mut host, 150);
            host.send();
            close(host.internal("probability"), 0.1875);
            // The next is due at 250 ms, and comes after it.
            wait(&mut host, 100);
            close(host.internal("probability"), 0.1875);
            host.wait(Span::from_nanos(1));
            close(host.internal("probability"), if idle == Idle::Event { 0.1875 } else { 0.125 });
            wait(&mut host, 200);
            close(host.internal("probability"), at_450_ms);
            wait(&mut host, 1_000_000_000);
            close(host.internal("probability"), at_450_ms);
        }
    }

    #[test]
    fn sending_ends_an_idle_time() {
        let mut host = full(Params { idle: Idle::Lasting, ..params() });
        while host.send().is_some() {}
        host.arrive();
        host.arrive();
        host.send();
        wait(&mut host, 10_000);
        close(host.internal("probability"), 0.25);
    }

    #[test]
    fn a_long_queue_can_raise_p_too() {
        let raise_above = Some(Packets::new(1));
        let mut host = Host::<Blue>::new(Params { raise_above, limit: Limit::packets(9), ..params() });
        host.random.fixed = Some(0.999_999);
        host.arrive_many(2);
        assert_eq!(host.internal("probability"), 0.0);
        // Finds 2, which is more than 1, and meets the raised p.
        host.random.fixed = Some(0.2499);
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        close(host.internal("probability"), 0.25);
    }

    #[test]
    fn arrivals_are_dropped_or_marked_with_p() {
        let mut host = full(Params { ecn: true, ..params() });
        host.send();
        host.random.fixed = Some(0.25);
        assert_eq!(host.arrive(), Fate::Queued);
        host.send();
        host.random.fixed = Some(0.2499);
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        host.ecn = Ecn::Ect1;
        assert_eq!(host.arrive(), Fate::Marked);
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Overflow), "a full queue cannot mark");
    }

    #[test]
    fn an_overflow_of_all_queues_together_raises_p() {
        let mut host = Host::<Blue>::new(params());
        host.with(|blue| blue.overflowed(Instant::ZERO, 3));
        close(host.internal("probability"), 0.25);
    }

    #[test]
    fn texts() {
        let text = "blue d1 0.02 d2 0.002 freeze_time 50ms idle lasting raise_above 30p ecn";
        assert_eq!(canonical(text), text);
        assert!(refused("blue idle lasting freeze_time 0ms").contains("freeze_time is 0"));
        assert!(refused("blue idle always").contains("allowed: event, lasting"));
    }
}
