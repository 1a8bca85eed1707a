//! Propagation delays that differ from packet to packet: for every host that has links.

use crate::link::effect::{Effect, EffectState};
use crate::Random;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use sojourn_units::{Instant, Span, UnitError};

/// How the differences are distributed, as tc-netem(8) has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    /// Uniform from -TIME to TIME; netem's, where nothing is said.
    Uniform,
    /// Normal with the standard deviation TIME; beyond four of them it is cut off, as the table is that netem reads.
    Normal,
}

/// How much a link's propagation delay varies, as tc-netem(8) writes it behind `delay TIME`, each packet for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    time: Span,
    law: Law,
    is_ordered: bool,
}

/// Standard deviations that the normal distribution reaches: NETEM_DIST_SCALE is 8192, and values have 16 bits.
const DEVIATIONS: f64 = 4.0;

impl Jitter {
    /// What [`FromStr`] accepts.
    pub const ALLOWED: &'static str =
        "a time with its unit, then `uniform` (the default) or `normal`, then `ordered` if packets may \
        not overtake each other, as in \"5 ms\" or \"5 ms normal ordered\"";

    /// The delay of one packet, where the mean is `delay`: not below 0. Always the same number of draws.
    fn draw(self, delay: Span, random: &mut impl Random) -> Span {
        let unit = match self.law {
            Law::Uniform => 2.0 * random.uniform() - 1.0,
            // Box and Muller, "A note on the generation of random normal deviates", Annals of Mathematical Statistics 29, 1958.
            Law::Normal => {
                let radius = libm::sqrt(-2.0 * libm::log1p(-random.uniform()));
                let angle = core::f64::consts::TAU * random.uniform();
                (radius * libm::cos(angle)).clamp(-DEVIATIONS, DEVIATIONS)
            }
        };
        let change = self.time.scaled(unit.abs());
        if unit < 0.0 {
            delay.saturating_sub(change)
        } else {
            delay + change
        }
    }
}

impl Effect for Jitter {
    fn most_delay(self) -> Span {
        match self.law {
            Law::Uniform => self.time,
            Law::Normal => self.time * DEVIATIONS as u64,
        }
    }

    fn reorders(self) -> bool {
        !self.is_ordered && !self.time.is_zero()
    }
}

impl FromStr for Jitter {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = |why: String| UnitError { given: text.into(), why, allowed: Self::ALLOWED };
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let mut ends_with = |word: &str| words.pop_if(|last| *last == word).is_some();
        let is_ordered = ends_with("ordered");
        let law = if ends_with("normal") { Law::Normal } else { Law::Uniform };
        if law == Law::Uniform {
            ends_with("uniform");
        }
        // As tc writes it.
        ends_with("distribution");
        let time = words.join(" ");
        let time = time.parse().map_err(|e: UnitError| error(format!("begins with \"{time}\", which {}", e.why)))?;
        Ok(Self { time, law, is_ordered })
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let law = if self.law == Law::Normal { " normal" } else { "" };
        write!(f, "{}{law}{}", self.time, if self.is_ordered { " ordered" } else { "" })
    }
}

/// A link whose delay varies: the model, and when the last packet arrives.
#[derive(Clone, Debug)]
pub(crate) struct Jittery {
    model: Jitter,
    /// The latest arrival of a packet sent so far.
    latest: Instant,
    /// Packets that arrive before one that was sent earlier.
    pub overtakes: u64,
}

impl Jittery {
    /// A link that has carried nothing.
    pub fn new(model: Jitter) -> Self {
        Self { model, latest: Instant::ZERO, overtakes: 0 }
    }
}

impl EffectState for Jittery {
    fn arrival(&mut self, sent: Instant, delay: Span, random: &mut impl Random) -> Instant {
        let at = sent + self.model.draw(delay, random);
        if at < self.latest {
            if self.model.is_ordered {
                return self.latest;
            }
            self.overtakes += 1;
            return at;
        }
        self.latest = at;
        at
    }

    fn most_delay(&self) -> Span {
        self.model.most_delay()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::Stream;

    fn delays_ms(text: &str, mean: Span) -> (Vec<f64>, u64) {
        let (mut link, mut random) = (Jittery::new(text.parse().unwrap()), Stream::new(7));
        // One packet a second, so that none can overtake.
        let delays = (0..100_000).map(|n| {
            let sent = Instant::ZERO + Span::from_secs(n);
            (link.arrival(sent, mean, &mut random) - sent).millis()
        });
        (delays.collect(), link.overtakes)
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, libm::sqrt(values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n))
    }

    #[test]
    fn texts_as_tc_writes_them() {
        let read = |text: &str| text.parse::<Jitter>().map(|jitter| format!("{jitter}")).map_err(|e| e.why);
        assert_eq!(read("5 ms"), Ok("5 ms".into()));
        assert_eq!(read("5ms uniform"), Ok("5 ms".into()));
        assert_eq!(read("5 ms distribution normal ordered"), Ok("5 ms normal ordered".into()));
        assert_eq!(read("5"), Err("begins with \"5\", which has no unit (tc would read microseconds)".into()));
        assert_eq!(read("5 ms 25%"), Err("begins with \"5 ms 25%\", which has the unknown unit \"ms 25%\"".into()));
        assert!(read("normal").is_err() && read("5 ms pareto").is_err() && read("5 ms ordered normal").is_err());
    }

    #[test]
    fn delays_have_the_moments_of_their_distribution() {
        // 100,000 draws. Uniform over 20 +- 6 ms: standard deviation 6/sqrt(3) = 3.4641 ms, standard error 0.011 ms.
        let (delays, overtakes) = delays_ms("6 ms", Span::from_millis(20));
        let (mean, sd) = moments(&delays);
        assert!((mean - 20.0).abs() < 0.044 && (sd - 3.4641).abs() < 0.03 && overtakes == 0, "{mean} {sd}");
        assert!(delays.iter().all(|ms| (14.0..=26.0).contains(ms)));
        // Normal: standard error 3/sqrt(100,000) = 0.0095 ms of the mean and 0.0067 ms of the deviation.
        let (delays, _) = delays_ms("3 ms normal", Span::from_millis(20));
        let (mean, sd) = moments(&delays);
        assert!((mean - 20.0).abs() < 0.038 && (sd - 3.0).abs() < 0.027, "{mean} {sd}");
        // Within one and two deviations: 68.27 % and 95.45 %, standard errors 0.15 % and 0.07 %; none beyond four.
        let within = |ms: f64| delays.iter().filter(|x| (**x - 20.0).abs() <= ms).count() as f64 / 1e5;
        assert!((within(3.0) - 0.6827).abs() < 0.006 && (within(6.0) - 0.9545).abs() < 0.0028);
        assert_eq!(within(12.000_001), 1.0);
        // A mean of 1 ms: a delay is never below 0, and half of the uniform distribution over -9 to 11 ms is: 9/20.
        let (delays, _) = delays_ms("10 ms", Span::from_millis(1));
        let none = delays.iter().filter(|ms| **ms == 0.0).count() as f64 / 1e5;
        assert!((none - 0.45).abs() < 4.0 * 0.0016, "{none}");
    }

    #[test]
    fn packets_overtake_each_other_unless_they_are_ordered() {
        let run = |text: &str| {
            let (mut link, mut random) = (Jittery::new(text.parse().unwrap()), Stream::new(7));
            let sent = |n: u64| Instant::ZERO + Span::from_micros(100 * n);
            let arrivals: Vec<_> =
                (0..10_000).map(|n| link.arrival(sent(n), Span::from_millis(10), &mut random)).collect();
            (arrivals.windows(2).all(|pair| pair[0] <= pair[1]), link.overtakes)
        };
        let (in_order, overtakes) = run("5 ms");
        // 100 packets within the 10 ms of the distribution: nearly all arrive before one of those sent earlier.
        assert!(!in_order && overtakes > 8_000, "{overtakes}");
        assert_eq!(run("5 ms ordered"), (true, 0));
        assert_eq!(run("5 ms normal ordered"), (true, 0));
        assert_eq!(run("0 ms"), (true, 0));
    }
}
