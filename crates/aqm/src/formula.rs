//! Formulas over named values, with units, compiled once to a short program.
//!
//! ```text
//! truth   = sum [ ("<" | ">") sum ]               1 where it holds, or else 0
//! sum     = product { ("+" | "-") product }
//! product = sign { ("*" | "/") sign }
//! sign    = ("-" | "+") sign | power
//! power   = atom [ "^" sign ]                     right to left: 2^3^2 = 2^9; -n^2 = -(n^2)
//! atom    = number [ unit ] | name | "(" truth ")" | function "(" truth { "," truth } ")"
//! ```
//! Units are checked when the formula is read: `sojourn - 5ms` is a time, `(sojourn - 5ms) / 50ms` a number, and
//! `sojourn - 5` is refused. A 0 fits every unit.
//!
//! Bounds: the text has a greatest length and nests at most 32 deep, so a program has at most as many steps as the text has
//! characters; a program keeps at most 16 values at a time, in a fixed array. So an evaluation allocates nothing.

mod compile;
mod program;
mod unit;

pub use unit::Unit;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use program::Program;

/// A formula, ready to be evaluated.
///
/// ```
/// use sojourn_aqm::formula::{Expression, Unit};
/// let names = [("sojourn", Unit::TIME), ("loss", Unit::NUMBER)];
/// let formula = Expression::read("sojourn / 10ms + 2 * loss", &names, 256)?;
/// // Times are in seconds.
/// assert_eq!(formula.value(&[0.02, 0.25]), 2.5);
/// let why = Expression::read("sojurn / 10ms", &names, 256).unwrap_err();
/// assert_eq!(why, "\"sojurn / 10ms\", column 1: \"sojurn\" is unknown (did you mean \"sojourn\"?)");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Expression {
    /// As it was written, without blanks.
    text: String,
    program: Program,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Expression {
    /// Reads a formula over `names`, with up to `longest` bytes. Its result is a plain number.
    ///
    /// # Errors
    /// What is wrong and its column. What is allowed is for the caller to say.
    pub fn read(text: &str, names: &[(&str, Unit)], longest: usize) -> Result<Self, String> {
        if text.len() > longest {
            return Err(format!("the formula has {} characters, more than {longest}", text.len()));
        }
        match compile::compile(text, names) {
            Ok(program) => Ok(Self { text: text.split_whitespace().collect(), program }),
            Err(compile::Refused { column, why }) => Err(format!("\"{text}\", column {column}: {why}")),
        }
    }

    /// Its value; `values` are of the names that it was read with, in their order, in seconds, bytes and bytes/s. It need not
    /// be finite, nor a number.
    #[must_use]
    #[inline]
    pub fn value(&self, values: &[f64]) -> f64 {
        self.program.run(values)
    }

    /// The places of the names that it uses, in the list that it was read with.
    pub fn uses(&self) -> impl Iterator<Item = usize> + '_ {
        self.program.inputs()
    }

    /// As it was written, without blanks.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The functions of formulas.
#[must_use]
pub fn functions() -> Vec<&'static str> {
    compile::FUNCTIONS.iter().map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_computed_when_it_is_read() {
        let steps = |text: &str| {
            let formula = Expression::read(text, &[("n", Unit::NUMBER)], 256).unwrap();
            format!("{formula:?}").matches("BinaryOp(").count()
        };
        assert_eq!(steps("(n - (2+3)*4) / (8*5)"), 2);
    }
}
