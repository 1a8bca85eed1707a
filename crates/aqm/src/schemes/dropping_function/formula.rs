//! A dropping function as a [formula](crate::formula) of [signals](Signal).

use super::signal::{Signal, Signals, NAMES};
use crate::formula::{functions, Expression};
use crate::Value;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const LONGEST: usize = 256;

/// A dropping function as a formula of signals.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula(Expression);

impl Formula {
    /// Its value at a queue length of `n`, where that is the only signal that it names.
    #[must_use]
    pub fn at(&self, n: f64) -> f64 {
        self.0.value(&Signals::of_length(n).values())
    }

    /// Whether it names no signal but `n`, so that it can be computed beforehand for every length.
    #[must_use]
    pub fn is_of_length(&self) -> bool {
        self.0.uses().all(|place| place == Signal::N as usize)
    }

    /// Whether it names `signal`.
    #[must_use]
    pub fn names(&self, signal: Signal) -> bool {
        self.0.uses().any(|place| place == signal as usize)
    }

    /// Its value as a probability: at least 0 and at most 1, and 0 where it is not a number.
    #[must_use]
    pub fn probability(&self, signals: &Signals) -> f64 {
        let value = self.0.value(&signals.values());
        if value > 0.0 {
            value.min(1.0)
        } else {
            0.0
        }
    }
}

impl Value for Formula {
    const KIND: &'static str = "formula";

    fn read(text: &str) -> Result<Self, String> {
        let read = Expression::read(text, NAMES, LONGEST);
        read.map(Self).map_err(|why| format!("{why}; allowed: {}", Self::allowed()))
    }

    fn print(&self) -> String {
        self.0.text().into()
    }

    fn allowed() -> String {
        format!(
            "the signals {}, numbers with units (5ms, 10p, 3kB, 10Mbit/s, 5%), + - * / ^ < >, parentheses, {}, up to \
             {LONGEST} characters, as in \"min(1,(sojourn-5ms)/50ms)\"",
            NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
            functions().join(", ")
        )
    }
}

#[cfg(test)]
#[path = "formula_tests.rs"]
mod tests;
