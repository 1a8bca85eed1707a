//! A formula of signals, compiled once to a short program.
//!
//! ```text
//! truth   = sum [ ("<" | ">") sum ]               1 where it holds, or else 0
//! sum     = product { ("+" | "-") product }
//! product = sign { ("*" | "/") sign }
//! sign    = ("-" | "+") sign | power
//! power   = atom [ "^" sign ]                     right to left: 2^3^2 = 2^9; -n^2 = -(n^2)
//! atom    = number [ unit ] | signal | "(" truth ")" | function "(" truth { "," truth } ")"
//! ```
//! Units are checked when the formula is read: `sojourn - 5ms` is a time, `(sojourn - 5ms) / 50ms` a number, and
//! `sojourn - 5` is refused. A 0 fits every unit.
//!
//! Bounds: the text has at most 256 bytes and nests at most 32 deep, so a program has at most 256 steps; a program
//! keeps at most 16 values at a time, in a fixed array. So an evaluation allocates nothing.

mod compile;
mod program;
mod signal;
mod unit;

pub use signal::{Signal, Signals};

use crate::Value;
use alloc::format;
use alloc::string::String;
use program::Program;

const LONGEST: usize = 256;

/// A dropping function as a formula of [signals](Signal).
#[derive(Clone, Debug)]
pub struct Formula {
    /// As it was written, without blanks.
    text: String,
    program: Program,
}

impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Formula {
    /// Its value at a queue length of `n`, where that is the only signal that it names.
    #[must_use]
    pub fn at(&self, n: f64) -> f64 {
        self.program.run(&Signals::of_length(n))
    }

    /// Whether it names no signal but `n`, so that it can be computed beforehand for every length.
    #[must_use]
    pub fn is_of_length(&self) -> bool {
        self.program.signals().all(|signal| signal == Signal::N)
    }

    /// Whether it names `signal`.
    #[must_use]
    pub fn names(&self, signal: Signal) -> bool {
        self.program.signals().any(|named| named == signal)
    }

    /// Its value as a probability: at least 0 and at most 1, and 0 where it is not a number.
    #[must_use]
    pub fn probability(&self, signals: &Signals) -> f64 {
        let value = self.program.run(signals);
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
        if text.len() > LONGEST {
            return Err(format!("the formula has {} characters; allowed: {}", text.len(), Self::allowed()));
        }
        match compile::compile(text) {
            Ok(program) => Ok(Self { text: text.split_whitespace().collect(), program }),
            Err(compile::Refused { column, why }) => {
                Err(format!("\"{text}\", column {column}: {why}; allowed: {}", Self::allowed()))
            }
        }
    }

    fn print(&self) -> String {
        self.text.clone()
    }

    fn allowed() -> String {
        format!(
            "the signals {}, numbers with units (5ms, 10p, 3kB, 10Mbit/s, 5%), + - * / ^ < >, parentheses, {}, up to \
             {LONGEST} characters, as in \"min(1,(sojourn-5ms)/50ms)\"",
            signal::names().join(", "),
            compile::FUNCTIONS.map(|(name, _)| name).join(", ")
        )
    }
}

#[cfg(test)]
mod tests;
