use crate::{Ecn, Packet};
use alloc::boxed::Box;
use sojourn_units::{BitRate, Instant};

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The queue was full: `limit` in packets or bytes.
    Overflow,
    /// The algorithm decided on congestion before the queue was full.
    Early,
    /// The algorithm decided against this flow (FRED's strikes, SFB's penalty box, CHOKe's match).
    Flow,
}

impl Reason {
    /// All reasons, in the order of [`Counters::dropped`].
    pub const ALL: [Self; 3] = [Self::Overflow, Self::Early, Self::Flow];

    /// `overflow`, `early` or `flow`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Early => "early",
            Self::Flow => "flow",
        }
    }
}

/// Where random numbers come from: the host's stream for this queue.
pub trait Random {
    /// 64 random bits.
    fn next_u64(&mut self) -> u64;

    /// Uniform in [0, 1), from the upper 53 bits of one draw.
    fn uniform(&mut self) -> f64 {
        // Signed, because that converts in one instruction; the sign bit is 0.
        (self.next_u64() >> 11) as i64 as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True with probability `p`: one draw of [`uniform`](Self::uniform) is below it.
    fn is_below(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Uniform in 0..n from one draw (multiply and shift; bias below n / 2^64); 0 when `n` is 0.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }
}

impl<R: Random + ?Sized> Random for Box<R> {
    fn next_u64(&mut self) -> u64 {
        (**self).next_u64()
    }

    fn uniform(&mut self) -> f64 {
        (**self).uniform()
    }

    fn is_below(&mut self, p: f64) -> bool {
        (**self).is_below(p)
    }

    fn below(&mut self, n: u64) -> u64 {
        (**self).below(n)
    }
}

/// Who is told what the algorithm did; the host.
pub trait Observer {
    /// `packet` left the queue by being dropped, or never entered it. The packet is the host's again.
    fn dropped(&mut self, now: Instant, packet: Packet, reason: Reason);

    /// `packet` was marked CE here; it was ECN-capable and not CE before.
    fn marked(&mut self, _now: Instant, _packet: &Packet) {}
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
    }
}

/// What every algorithm counts (ALGORITHMS section 6): conservation is
/// `arrived = forwarded + dropped + backlog`, in packets and in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Offered to the queue.
    pub arrived: Tally,
    /// Left by the front door.
    pub forwarded: Tally,
    /// Dropped, by [`Reason`] in the order of [`Reason::ALL`].
    pub dropped: [Tally; 3],
    /// Marked CE here.
    pub marked: Tally,
    /// Arrived with CE already set.
    pub ce_on_arrival: Tally,
}

impl Counters {
    /// Dropped for any reason.
    #[must_use]
    pub fn dropped_total(&self) -> Tally {
        self.dropped
            .iter()
            .fold(Tally::default(), |sum, t| Tally { packets: sum.packets + t.packets, bytes: sum.bytes + t.bytes })
    }
}

/// What a decision may depend on besides the queue, and where its outcome goes.
pub struct Cx<'a> {
    /// The present instant; never earlier than at the last call.
    pub now: Instant,
    /// The present service rate of the queue.
    pub rate: BitRate,
    /// This queue's stream of random numbers.
    pub random: &'a mut dyn Random,
    /// Takes dropped packets and news.
    pub observer: &'a mut dyn Observer,
    /// This queue's counters, kept by the host.
    pub counters: &'a mut Counters,
    /// The observer has been told of a drop.
    pub has_dropped: bool,
}

impl Cx<'_> {
    /// Gives `packet` away as dropped.
    #[inline(always)]
    pub fn drop(&mut self, packet: Packet, reason: Reason) {
        self.hand_over(&packet, reason);
    }

    /// Tells the observer of a drop.
    // Apart, so that the way of a packet that is queued saves no registers for it. The observer's copy is made here
    // and not by every caller.
    #[inline(never)]
    fn hand_over(&mut self, packet: &Packet, reason: Reason) {
        self.counters.dropped[reason as usize].add(packet);
        self.has_dropped = true;
        self.observer.dropped(self.now, packet.clone(), reason);
    }

    /// Marks `packet` CE where it is ECN-capable; false (and unmarked) where it is not.
    /// A packet that already carries CE counts as marked, but not as marked here.
    #[must_use]
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        match packet.ecn {
            Ecn::NotEct => false,
            Ecn::Ce => true,
            Ecn::Ect0 | Ecn::Ect1 => {
                packet.ecn = Ecn::Ce;
                self.counters.marked.add(packet);
                self.observer.marked(self.now, packet);
                true
            }
        }
    }

    /// True with probability `p`; draws only when `p` lies strictly within 0 and 1.
    #[must_use]
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        p >= 1.0 || (p > 0.0 && self.random.is_below(p))
    }

    #[inline]
    pub(crate) fn arrived(&mut self, packet: &Packet) {
        self.counters.arrived.add(packet);
        if packet.ecn == Ecn::Ce {
            self.counters.ce_on_arrival.add(packet);
        }
    }

    #[inline]
    pub(crate) fn forwarded(&mut self, packet: &Packet) {
        self.counters.forwarded.add(packet);
    }
}
