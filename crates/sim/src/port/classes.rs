//! The two queues of a DualPI2, measured apart.

use crate::packet::Packet;
use sojourn_aqm::{schemes::dualpi2, Config, Ecn, Reason};
use sojourn_measure::Sampled;
use sojourn_units::Span;

/// What one of the two queues did.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassTally {
    /// Of packets that left.
    pub sojourn: Sampled,
    pub marks: u64,
    /// Dropped by the controller.
    pub early: u64,
    /// Dropped for any reason.
    pub drops: u64,
}

/// Both queues.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes {
    pub l4s: ClassTally,
    pub classic: ClassTally,
}

impl ClassTally {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            sojourn: self.sojourn.since(&earlier.sojourn),
            marks: self.marks - earlier.marks,
            early: self.early - earlier.early,
            drops: self.drops - earlier.drops,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.sojourn.merge(&other.sojourn);
        self.marks += other.marks;
        self.early += other.early;
        self.drops += other.drops;
    }

    /// Packets that left or were dropped.
    pub fn judged(&self) -> u64 {
        self.sojourn.moments.count() + self.drops
    }
}

impl Classes {
    pub fn since(&self, earlier: &Self) -> Self {
        Self { l4s: self.l4s.since(&earlier.l4s), classic: self.classic.since(&earlier.classic) }
    }

    pub fn merge(&mut self, other: &Self) {
        self.l4s.merge(&other.l4s);
        self.classic.merge(&other.classic);
    }
}

/// Sorts the packets of a port as its DualPI2 does.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassBook {
    /// None while the port runs another scheme.
    rule: Option<dualpi2::Params>,
    pub measured: Classes,
}

impl ClassBook {
    /// For a port that runs `scheme`; none where it has no such classes.
    pub fn new(scheme: &Config) -> Option<Self> {
        let rule = rule(scheme);
        rule.is_some().then(|| Self { rule, measured: Classes::default() })
    }

    /// The port runs `scheme` from now on.
    pub fn follow(&mut self, scheme: &Config) {
        self.rule = rule(scheme);
    }

    fn tally(&mut self, taken: &sojourn_aqm::Packet, packet: &Packet) -> Option<&mut ClassTally> {
        let rule = self.rule.as_ref()?;
        // The network's packet still has the codepoint that it arrived with.
        let l4s = rule.is_low_latency(packet.ecn(), taken.dscp);
        Some(if l4s { &mut self.measured.l4s } else { &mut self.measured.classic })
    }

    pub fn left(&mut self, sojourn: Span, taken: &sojourn_aqm::Packet, packet: &Packet) {
        let is_marked = taken.ecn == Ecn::Ce && packet.ecn() != Ecn::Ce;
        if let Some(tally) = self.tally(taken, packet) {
            tally.sojourn.add(sojourn);
            tally.marks += u64::from(is_marked);
        }
    }

    pub fn dropped(&mut self, reason: Reason, taken: &sojourn_aqm::Packet, packet: &Packet) {
        if let Some(tally) = self.tally(taken, packet) {
            tally.drops += 1;
            tally.early += u64::from(reason == Reason::Early);
        }
    }
}

fn rule(scheme: &Config) -> Option<dualpi2::Params> {
    scheme.typed().downcast_ref::<dualpi2::Params>().cloned()
}
