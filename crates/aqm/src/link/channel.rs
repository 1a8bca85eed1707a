//! What a link does to packets besides carrying them: it loses some, carries some longer than others, and doubles some. For
//! every host that has links.

use super::effect::{Effect, EffectState};
use super::effects::{self, EffectAbout, Loss, EFFECTS};
use crate::{link_effects, Random};
use sojourn_units::{Instant, Span};

/// When a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// It itself.
    pub at: Instant,
    /// Its copy, if it has been doubled.
    pub copy: Option<Instant>,
}

macro_rules! channel {
    ($({
        $key:ident $reverse:ident ($value:ty $(as $name:literal)?) state ($state:ident $stream:literal $count:ident)
        there ($(#[$there:meta])*) back $back:tt device $device:tt counted ($(#[$counted:meta])*) $($words:tt)*
    })*) => {
        /// Impairments of one direction of a link.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Impairments {
            $($(#[$there])* pub $key: Option<$value>,)*
        }

        impl Impairments {
            /// Packets may overtake each other.
            #[must_use]
            pub fn reorders(&self) -> bool {
                $(self.$key.is_some_and(Effect::reorders))||*
            }

            /// The longest by which each effect changes a delay.
            pub fn most_delays(&self) -> impl Iterator<Item = (&'static EffectAbout, Span)> {
                EFFECTS.iter().zip([$(self.$key.map_or(Span::ZERO, Effect::most_delay)),*])
            }
        }

        /// What a link has done to packets; `None` of an effect that it has not.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct ChannelCounts {
            $($(#[$counted])* pub $count: Option<u64>,)*
        }

        impl ChannelCounts {
            /// The count of each effect.
            pub fn each(&self) -> impl Iterator<Item = (&'static EffectAbout, Option<u64>)> {
                EFFECTS.iter().zip([$(self.$count),*])
            }

            fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
                let one = |a: Option<u64>, b: Option<u64>| match (a, b) {
                    (None, None) => None,
                    (a, b) => Some(of(a.unwrap_or(0), b.unwrap_or(0))),
                };
                Self { $($count: one(self.$count, other.$count)),* }
            }
        }

        /// One direction of a link with impairments: their state, and a stream of random numbers for each.
        #[derive(Clone, Debug)]
        pub struct Channel<R> {
            delay: Span,
            $($key: Option<(effects::$state, R)>,)*
        }

        impl<R: Random> Channel<R> {
            /// A link with a mean propagation delay of `delay`. `stream` gives the random numbers of each effect.
            #[must_use]
            pub fn new(delay: Span, impairments: &Impairments, mut stream: impl FnMut(&'static str) -> R) -> Self {
                Self { delay, $($key: impairments.$key.map(|value| (effects::$state::new(value), stream($stream))),)* }
            }

            /// What it has done so far.
            #[must_use]
            pub fn counts(&self) -> ChannelCounts {
                ChannelCounts { $($count: self.$key.as_ref().map(|(state, _)| state.$count)),* }
            }

            /// The least delay that a packet can have.
            #[must_use]
            pub fn least_delay(&self) -> Span {
                self.delay $(.saturating_sub(self.$key.as_ref().map_or(Span::ZERO, |(state, _)| state.most_delay())))*
            }

            /// When a packet arrives that has been sent at `sent`; `None` when it is lost. A packet that is lost is not doubled,
            /// and a copy has a delay of its own.
            pub fn carry(&mut self, sent: Instant) -> Option<Arrival> {
                $(if self.$key.as_mut().is_some_and(|(state, random)| state.loses(sent, random)) {
                    return None;
                })*
                let at = self.arrival(sent);
                let mut is_doubled = false;
                $(is_doubled |= self.$key.as_mut().is_some_and(|(state, random)| state.doubles(random));)*
                Some(Arrival { at, copy: is_doubled.then(|| self.arrival(sent)) })
            }

            fn arrival(&mut self, sent: Instant) -> Instant {
                let mut at = sent + self.delay;
                $(if let Some((state, random)) = &mut self.$key {
                    at = state.arrival(sent, at - sent, random);
                })*
                at
            }
        }
    };
}
link_effects!(channel);

impl Impairments {
    /// There is none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl ChannelCounts {
    /// What has been counted since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// Of two links together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }
}

impl<R: Random> Channel<R> {
    /// Another mean delay from now on.
    pub fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// Another model of losses from now on, where it has one.
    pub fn set_loss(&mut self, loss: Loss) {
        if let Some((lossy, _)) = &mut self.loss {
            lossy.model = loss;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::Stream;
    use sojourn_units::Probability;

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
        let loss = Impairments { loss: "10%".parse().ok(), ..Impairments::default() };
        let all = Impairments { jitter: "3 ms".parse().ok(), duplicate: Probability::new(0.05), ..loss };
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
        let (alone, _, _) = run(loss);
        assert_eq!(alone.counts(), ChannelCounts { lost: counts.lost, ..ChannelCounts::default() });
        assert!(Impairments::default().is_none() && !alone.least_delay().is_zero());
    }
}
