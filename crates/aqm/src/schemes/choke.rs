//! CHOKe: RED that compares each arrival with a randomly chosen queued packet and drops both if they belong to the same
//! flow.
//!
//! A flow that fills much of the queue is likely to be hit by this comparison, so CHOKe limits unresponsive flows without
//! keeping any state per flow. Arrivals that pass the comparison are treated as by RED.
//!
//! # Control law
//! While RED's average is above `min`, each arrival is compared with one queued packet, chosen with equal probability. If
//! both belong to one flow, both are dropped. Otherwise the queued packet stays in its place, and the arrival meets
//! [`red`]: it is signalled with probability p_a up to `max`, and always from `max` on. All lengths are counted
//! in packets.
//!
//! A flow that has the share f of the queue loses a share f of its arrivals to matches, and as many queued packets again.
//!
//! ECN: RED's signals become marks. A match always drops, because it is directed against flows that do not respond to
//! congestion signals.
//!
//! # Deviations and interpretations
//! * A match leaves RED's count unchanged, as in Linux.
//! * Whether the queue is full is checked after the comparison and before RED decides, so a match in a full queue drops both
//!   packets. Linux checks it after RED decides.
//! * Linux's queue contains gaps, so it draws up to three times and then takes the head. Here every waiting packet has the
//!   same probability at the first draw. Linux draws one random number per RED signal, see [`red`].
//! * After a lower `limit`, as many packets stay as Linux's `choke_change` has places for: the oldest, up to one less than the
//!   next power of two above the limit. Linux also begins the average anew at each change; here it is kept.
//! * One packet is drawn. The paper's variants with several candidates are not included.
//!
//! # Work per packet
//! Constant, except for a match: it removes a packet from the middle of the queue, which moves up to half of the queued
//! packets.
//!
//! # References
//! * R. Pan, B. Prabhakar and K. Psounis, "CHOKe, a stateless active queue management scheme for approximating fair
//!   bandwidth allocation", IEEE INFOCOM 2000, figure 1.
//! * tc-choke(8).

use crate::schemes::red::{self, as_red, shares, Red};
use crate::{About, Algorithm, Aqm, Cx, Excess, Internal, Limit, Packet, Queue, Reason};
use alloc::string::String;
use sojourn_units::{BitRate, Bytes, Instant, Packets, Probability};

crate::params! {
    /// Parameters of `choke`.
    pub struct Params {
        /// Waiting packets at which an arrival is dropped (tc-choke(8)).
        limit: Packets = Packets::new(1000),
        /// Average queue length above which arrivals are compared with a queued packet, and may be dropped (default as RED).
        min: Packets = Packets::new(5),
        /// Average queue length from which every arrival is dropped (default as RED).
        max: Packets = Packets::new(15),
        /// RED's drop probability when the average reaches max; tc's "probability" (default as RED).
        max_p: Probability = Probability::clamped(0.1),
        /// Weight of one arrival in the average (default as RED).
        w: Probability = Probability::clamped(0.002),
        /// Mean packet size, used for idle times (tc-choke(8); default as RED).
        avpkt: Bytes = Bytes::new(1000),
        /// Mark ECN-capable packets where RED would drop them (tc-choke(8)).
        ecn: bool = false,
    }
}

shares!(limit min max max_p w avpkt ecn);

/// The algorithm and its state.
#[derive(Clone, Debug)]
pub struct Choke {
    red: Red,
    /// Arrivals that were of the drawn packet's flow, so far.
    matches: u64,
}

impl Choke {
    /// Draws a queued packet; takes it out when it is of `flow`.
    fn draw_match(cx: &mut Cx<'_>, queue: &mut Queue, flow: u32) -> Option<Packet> {
        let drawn = cx.random.below(queue.len() as u64) as usize;
        if queue.get(drawn)?.flow == flow {
            queue.remove(drawn)
        } else {
            None
        }
    }
}

impl Aqm for Choke {
    as_red!();

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        self.red.observe(cx.now, queue);
        if self.red.average.get() > self.red.band.min && !queue.is_empty() {
            if let Some(queued) = Self::draw_match(cx, queue, packet.flow) {
                self.matches += 1;
                cx.drop(queued, Reason::Flow);
                return cx.drop(packet, Reason::Flow);
            }
        }
        if self.red.overflows(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        let band = self.red.band;
        self.red.decide(cx, queue, packet, &band);
    }

    fn internals(&self, visit: &mut Internal<'_>) {
        visit("avg", self.red.average.get());
        visit("count", self.red.count.packets());
        visit("probability", self.red.probability);
        visit("matches", self.matches as f64);
    }
}

impl Algorithm for Choke {
    type Params = Params;

    const ABOUT: About = About {
        title: "CHOKe",
        summary: "RED that drops an arrival together with a randomly drawn queued packet of the same flow",
        source: "Pan, Prabhakar and Psounis 2000; tc-choke(8)",
        signals_on: "average queue length; flow of a random queued packet",
        ..<Red>::ABOUT
    };

    fn check(params: &Params) -> Result<(), String> {
        red::Params::from(params).check()
    }

    fn set_params(&mut self, params: &Params) {
        self.red.set_params(&params.into());
    }

    const EXCESS: Excess = Excess::Newest;

    /// `choke_change` moves the oldest packets into a table of a power of two, of which one place stays free.
    fn room(params: &Params) -> Option<Limit> {
        let table = params.limit.get().saturating_add(1).checked_next_power_of_two();
        Some(Limit::packets(table.map_or(u64::MAX, |places| places - 1)))
    }

    fn new(params: &Params) -> Self {
        Self { red: Red::new(&params.into()), matches: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::test_host::{canonical, close, refused, Fate, Host};
    use crate::Ecn;
    use alloc::vec::Vec;

    /// The average is the queue length that an arrival finds.
    fn instant() -> Params {
        Params { w: Probability::clamped(1.0), ..Params::default() }
    }

    /// A host whose queue holds one packet each of the flows 0, 1, ..., and whose draws are all `u` from then on.
    fn filled(params: Params, n: u32, u: f64) -> Host<Choke> {
        let mut host = Host::new(params);
        host.random.fixed = Some(0.999_999);
        for flow in 0..n {
            host.flow = flow;
            assert_eq!(host.arrive(), Fate::Queued);
        }
        host.random.fixed = Some(u);
        host
    }

    #[test]
    fn a_match_drops_both_and_the_rest_keep_their_order() {
        // 0.45 x 10 = 4.5: the packet at position 4.
        let mut host = filled(instant(), 10, 0.45);
        host.flow = 4;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow));
        assert_eq!(host.log.dropped, [(4, Reason::Flow), (10, Reason::Flow)], "the queued one, then the arrival");
        assert_eq!(host.internal("matches"), 1.0);
        let left: Vec<u64> = core::iter::from_fn(|| host.send()).map(|packet| packet.serial).collect();
        assert_eq!(left, [0, 1, 2, 3, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn other_flows_meet_red() {
        let mut host = filled(instant(), 10, 0.45);
        host.flow = 5;
        // Finds 10: p_b = 0.1 x 5/10; those that found 6 to 9 and this one count 5: 0.05 / (1 - 0.25), below the draw.
        assert_eq!(host.arrive(), Fate::Queued);
        close(host.internal("probability"), 0.05 / 0.75);
        host.random.fixed = Some(0.0);
        // Position 0, flow 0: no match; RED's draw is 0 too.
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
    }

    #[test]
    fn at_min_nothing_is_drawn_and_above_it_the_head_to_the_tail_may_be() {
        // The sixth arrival finds 5, which is min: not above.
        let mut host = filled(instant(), 5, 0.0);
        let draws = host.random.draws;
        host.flow = 0;
        assert_eq!((host.arrive(), host.random.draws), (Fate::Queued, draws));
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow), "finds 6, draws position 0");
        // Position 0.999 x 5 = 4: the tail.
        host.random.fixed = Some(0.999_999);
        assert_eq!(host.arrive(), Fate::Queued, "finds 5");
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow), "finds 6, draws the one just queued");
    }

    #[test]
    fn a_match_drops_also_where_ecn_marks_and_in_a_full_queue() {
        let mut host = filled(Params { ecn: true, limit: Packets::new(10), ..instant() }, 10, 0.0);
        host.ecn = Ecn::Ect0;
        host.flow = 99;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Overflow));
        host.flow = 0;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow));
        assert_eq!(host.len(), 9);
        host.flow = 99;
        assert_eq!(host.arrive(), Fate::Marked);
    }

    #[test]
    fn from_max_on_no_arrival_is_queued() {
        let mut host = filled(Params { max: Packets::new(8), max_p: Probability::clamped(0.0), ..instant() }, 8, 0.5);
        host.flow = 99;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Early));
        host.flow = 4;
        assert_eq!(host.arrive(), Fate::Dropped(Reason::Flow));
    }

    #[test]
    fn an_empty_queue_has_nothing_to_draw() {
        // The average stays above min while the queue is empty: a small weight.
        let mut host = Host::<Choke>::new(Params { w: Probability::clamped(0.5), ..Params::default() });
        host.with(|choke| choke.red.average.sample(28, 0.5));
        host.random.fixed = Some(0.5);
        // avg (14 + 0)/2 = 7: p_b = 0.1 x 2/10, count 0; one draw, which is RED's.
        assert_eq!((host.arrive(), host.random.draws), (Fate::Queued, 1));
        close(host.internal("probability"), 0.02);
    }

    #[test]
    fn texts() {
        assert_eq!(canonical("choke limit 1000 min 30 max 90 avpkt 1000 ecn"), "choke min 30p max 90p ecn");
        assert!(refused("choke min 45kB").contains("min"));
        assert!(refused("choke min 90 max 30").contains("min (90p) is not below max (30p)"));
    }
}
