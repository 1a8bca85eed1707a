//! Packets that a link loses at random, apart from its queue: for every host that has links.

use crate::link::effect::{Effect, EffectState};
use crate::Random;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use sojourn_units::{Instant, Probability, UnitError};

/// How a link loses packets, as tc-netem(8) writes it behind `loss`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each packet for itself.
    Random(Probability),
    /// Gilbert and Elliott's channel with two states (Elliott, "Estimates of error rates for codes on burst-noise channels",
    /// Bell System Technical Journal 42, 1963). Each packet is judged in the state that the one before left.
    Gemodel {
        /// From the good state to the bad one, a packet; tc's `p`.
        p: Probability,
        /// Back; tc's `r`.
        r: Probability,
        /// Loss in the bad state; tc's `1-h`.
        bad: Probability,
        /// Loss in the good state; tc's `1-k`.
        good: Probability,
    },
}

impl Loss {
    /// What [`FromStr`] accepts.
    pub const ALLOWED: &'static str =
        "a probability, as in \"1%\", or \"gemodel P [R [1-H [1-K]]]\" as in tc-netem(8), as in \"gemodel 1% 20%\"";

    /// The share of packets that is lost in the long run.
    #[must_use]
    pub fn mean(self) -> f64 {
        match self {
            Self::Random(p) => p.get(),
            Self::Gemodel { p, r, bad, good } => {
                let sum = p.get() + r.get();
                // A channel that leaves neither state stays in the good one, where it begins.
                let share = if sum > 0.0 { p.get() / sum } else { 0.0 };
                share * bad.get() + (1.0 - share) * good.get()
            }
        }
    }
}

impl Effect for Loss {}

impl Default for Loss {
    fn default() -> Self {
        Self::Random(Probability::ZERO)
    }
}

impl FromStr for Loss {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = |why: String| UnitError { given: text.into(), why, allowed: Self::ALLOWED };
        let number =
            |word: &str| word.parse::<Probability>().map_err(|e| error(format!("has \"{word}\", which {}", e.why)));
        let words: alloc::vec::Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            [p] if *p != "gemodel" && *p != "random" => number(p).map(Self::Random).map_err(|e| match &e.why {
                why if why.ends_with("is not a number") => error("is no loss".into()),
                _ => e,
            }),
            ["random", p] => number(p).map(Self::Random),
            ["gemodel", p, rest @ ..] if rest.len() <= 3 => {
                let p = number(p)?;
                let or = |place: usize, otherwise: f64| {
                    rest.get(place).map_or(Ok(Probability::clamped(otherwise)), |word| number(word))
                };
                Ok(Self::Gemodel { p, r: or(0, 1.0 - p.get())?, bad: or(1, 1.0)?, good: or(2, 0.0)? })
            }
            _ => Err(error("is no loss".into())),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(p) => write!(f, "{p}"),
            Self::Gemodel { p, r, bad, good } => write!(f, "gemodel {p} {r} {bad} {good}"),
        }
    }
}

/// A link that loses packets: the model and its state.
#[derive(Clone, Debug)]
pub(crate) struct Lossy {
    pub model: Loss,
    is_bad: bool,
    /// Packets lost.
    pub lost: u64,
}

impl Lossy {
    /// In the good state.
    pub fn new(model: Loss) -> Self {
        Self { model, is_bad: false, lost: 0 }
    }
}

impl EffectState for Lossy {
    fn loses(&mut self, _: Instant, random: &mut impl Random) -> bool {
        let is_lost = match self.model {
            Loss::Random(p) => random.is_below(p.get()),
            Loss::Gemodel { p, r, bad, good } => {
                let (leave, loss) = if self.is_bad { (r, bad) } else { (p, good) };
                let leaves = random.is_below(leave.get());
                self.is_bad ^= leaves;
                random.is_below(loss.get())
            }
        };
        self.lost += u64::from(is_lost);
        is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::Stream;

    #[test]
    fn texts_as_tc_writes_them() {
        let read = |text: &str| text.parse::<Loss>().map(|loss| format!("{loss}")).map_err(|e| e.why);
        assert_eq!(read("1%"), Ok("0.01".into()));
        assert_eq!(read("random 0.5"), Ok("0.5".into()));
        // tc-netem(8): r is 1 - p, 1-h is 1 and 1-k is 0 where they are not given.
        assert_eq!(read("gemodel 25%"), Ok("gemodel 0.25 0.75 1 0".into()));
        assert_eq!(read("gemodel 1% 10% 70% 0.1%"), Ok("gemodel 0.01 0.1 0.7 0.001".into()));
        assert_eq!(read("gemodel 0.01 0.1 0.7 0.001"), read("gemodel 1% 10% 70% 0.1%"));
        assert_eq!(read("often"), Err("is no loss".into()));
        assert_eq!(read("gemodel"), Err("is no loss".into()));
        assert_eq!(read("gemodel 1% 2% 3% 4% 5%"), Err("is no loss".into()));
        assert_eq!(read("150%"), Err("has \"150%\", which is 1.5, outside 0 to 1".into()));
    }

    #[test]
    fn shares_and_lengths_of_losses() {
        let run = |text: &str| {
            let (mut link, mut random) = (Lossy::new(text.parse().unwrap()), Stream::new(7));
            let lost: alloc::vec::Vec<bool> = (0..200_000).map(|_| link.loses(Instant::ZERO, &mut random)).collect();
            let runs = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
            (link.lost as f64 / 200_000.0, link.lost as f64 / runs as f64)
        };
        // 2 % of 200,000: standard error sqrt(0.02 * 0.98 / 200,000) = 0.0003; runs of 1/(1 - 0.02) = 1.02 packets.
        let (share, length) = run("2%");
        assert!((share - 0.02).abs() < 4.0 * 0.0003 && (length - 1.02).abs() < 0.02, "{share} {length}");
        // p 0.01 and r 0.2: the bad state has 1/21 of the packets and lasts 5. Runs are correlated, so the standard error is
        // about sqrt(2 * 5) times that of independent losses, 0.0015.
        let (share, length) = run("gemodel 1% 20%");
        assert!((share - 1.0 / 21.0).abs() < 4.0 * 0.0015 && (length - 5.0).abs() < 0.25, "{share} {length}");
        let model: Loss = "gemodel 1% 20% 50% 1%".parse().unwrap();
        // 1/21 * 0.5 + 20/21 * 0.01.
        assert!((model.mean() - 0.7 / 21.0).abs() < 1e-12);
        assert!((run("gemodel 1% 20% 50% 1%").0 - 0.7 / 21.0).abs() < 0.003);
        assert_eq!(run("0%").0, 0.0);
    }
}
