//! What a link does to packets besides carrying them: it loses some, carries some longer than others, and doubles some. For
//! every host that has links.

use crate::{Jitter, Jittery, Loss, Lossy, Random};
use sojourn_units::{Instant, Probability, Span};

/// Impairments of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Packets that it loses.
    pub loss: Option<Loss>,
    /// How much its delay varies.
    pub jitter: Option<Jitter>,
    /// Probability that a packet arrives twice.
    pub duplicate: Option<Probability>,
}

impl Impairments {
    /// There is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Packets may overtake each other.
    #[must_use]
    pub fn reorders(&self) -> bool {
        self.jitter.is_some_and(Jitter::reorders)
    }
}

/// When a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// It itself.
    pub at: Instant,
    /// Its copy, if it has been doubled.
    pub copy: Option<Instant>,
}

/// What a link has done to packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelCounts {
    /// Packets lost; `None` where it loses none ever, as with those below.
    pub lost: Option<u64>,
    /// Packets that arrive before one that was sent earlier.
    pub overtakes: Option<u64>,
    /// Packets doubled.
    pub duplicates: Option<u64>,
}

impl ChannelCounts {
    fn each(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        let one = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(of(a.unwrap_or(0), b.unwrap_or(0))),
        };
        Self {
            lost: one(self.lost, other.lost),
            overtakes: one(self.overtakes, other.overtakes),
            duplicates: one(self.duplicates, other.duplicates),
        }
    }

    /// What has been counted since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.each(before, u64::saturating_sub)
    }

    /// Of two links together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add)
    }
}

/// One direction of a link with impairments: their state, and a stream of random numbers for each.
#[derive(Clone, Debug)]
pub struct Channel<R> {
    delay: Span,
    lossy: Option<Lossy<R>>,
    jittery: Option<Jittery<R>>,
    doubling: Option<Doubling<R>>,
}

#[derive(Clone, Debug)]
struct Doubling<R> {
    share: Probability,
    random: R,
    duplicates: u64,
}

impl<R: Random> Channel<R> {
    /// A link with a mean propagation delay of `delay`. `stream` gives the random numbers of "losses", "jitter" and
    /// "duplicates".
    #[must_use]
    pub fn new(delay: Span, impairments: &Impairments, mut stream: impl FnMut(&'static str) -> R) -> Self {
        let Impairments { loss, jitter, duplicate } = *impairments;
        Self {
            delay,
            lossy: loss.map(|model| Lossy::new(model, stream("losses"))),
            jittery: jitter.map(|model| Jittery::new(model, stream("jitter"))),
            doubling: duplicate.map(|share| Doubling { share, random: stream("duplicates"), duplicates: 0 }),
        }
    }

    /// Another mean delay from now on.
    pub fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// Another model of losses from now on, where it has one.
    pub fn set_loss(&mut self, loss: Loss) {
        if let Some(lossy) = &mut self.lossy {
            lossy.change(loss);
        }
    }

    /// The least delay that a packet can have.
    #[must_use]
    pub fn least_delay(&self) -> Span {
        self.delay.saturating_sub(self.jittery.as_ref().map_or(Span::ZERO, Jittery::most))
    }

    /// When a packet arrives that has been sent at `sent`; `None` when it is lost. A packet that is lost is not doubled, and a
    /// copy has a delay of its own.
    pub fn carry(&mut self, sent: Instant) -> Option<Arrival> {
        if self.lossy.as_mut().is_some_and(Lossy::takes) {
            return None;
        }
        let delay = self.delay;
        let arrival = |jittery: &mut Option<Jittery<R>>| {
            jittery.as_mut().map_or(sent + delay, |jittery| jittery.arrival(sent, delay))
        };
        let at = arrival(&mut self.jittery);
        let doubled = self.doubling.as_mut().is_some_and(|doubling| {
            let is_doubled = doubling.random.is_below(doubling.share.get());
            doubling.duplicates += u64::from(is_doubled);
            is_doubled
        });
        Some(Arrival { at, copy: doubled.then(|| arrival(&mut self.jittery)) })
    }

    /// What it has done so far.
    #[must_use]
    pub fn counts(&self) -> ChannelCounts {
        ChannelCounts {
            lost: self.lossy.as_ref().map(|lossy| lossy.lost),
            overtakes: self.jittery.as_ref().map(|jittery| jittery.overtakes),
            duplicates: self.doubling.as_ref().map(|doubling| doubling.duplicates),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::Stream;

    fn run(impairments: Impairments) -> (Channel<Stream>, u64, u64) {
        let mut channel = Channel::new(Span::from_millis(10), &impairments, |name| Stream::new(name.len() as u64));
        let (mut arrived, mut copies) = (0, 0);
        for n in 0..100_000 {
            if let Some(arrival) = channel.carry(Instant::from_nanos(n * 1_000_000)) {
                arrived += 1;
                copies += u64::from(arrival.copy.is_some());
                assert!(arrival.at.nanos() >= n * 1_000_000 + channel.least_delay().nanos());
            }
        }
        (channel, arrived, copies)
    }

    #[test]
    fn effects_are_counted_apart_and_draw_apart() {
        let all =
            Impairments { loss: "10%".parse().ok(), jitter: "3 ms".parse().ok(), duplicate: Probability::new(0.05) };
        let (channel, arrived, copies) = run(all);
        let counts = channel.counts();
        assert_eq!((counts.lost, counts.duplicates), (Some(100_000 - arrived), Some(copies)));
        // 10 % of 100,000: standard error 95; 5 % of 90,000: 65.
        assert!(
            (arrived as f64 - 90_000.0).abs() < 380.0 && (copies as f64 - 4_500.0).abs() < 270.0,
            "{arrived} {copies}"
        );
        assert!(counts.overtakes > Some(0) && channel.least_delay() == Span::from_millis(7));
        // Loss draws from a stream of its own: without the others the same packets are lost.
        let (alone, _, _) = run(Impairments { loss: all.loss, ..Impairments::default() });
        assert_eq!(alone.counts(), ChannelCounts { lost: counts.lost, ..ChannelCounts::default() });
        assert!(Impairments::default().is_none() && !alone.least_delay().is_zero());
    }
}
