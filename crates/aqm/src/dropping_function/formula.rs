//! A formula in n, read and evaluated by recursive descent.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = sign { ("*" | "/") sign }
//! sign    = ("-" | "+") sign | power
//! power   = atom [ "^" sign ]                     right to left: 2^3^2 = 2^9; -n^2 = -(n^2)
//! atom    = number | "n" | "(" sum ")" | name "(" sum { "," sum } ")"
//! name    = "min" | "max" | "exp" | "log" | "sqrt"
//! ```
//! Bound: the text has at most 256 bytes and nests at most 32 deep, so an evaluation takes at most 256 steps.

use crate::Value;
use alloc::format;
use alloc::string::{String, ToString};

const LONGEST: usize = 256;
const DEEPEST: u32 = 32;

/// A dropping function as a formula in n.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula(String);

impl Formula {
    /// Its value at `n`.
    ///
    /// # Errors
    /// Never for a formula that was read; the text of what is wrong otherwise.
    pub fn at(&self, n: f64) -> Result<f64, String> {
        evaluate(&self.0, n)
    }
}

impl Value for Formula {
    const KIND: &'static str = "formula";

    fn read(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("the formula has {} characters; allowed: {}", text.len(), Self::allowed()));
        }
        // The grammar does not depend on n: what reads at 0 reads everywhere.
        match evaluate(text, 0.0) {
            Ok(_) => Ok(Self(text.split_whitespace().collect())),
            Err(why) => Err(format!("\"{text}\": {why}; allowed: {}", Self::allowed())),
        }
    }

    fn print(&self) -> String {
        self.0.clone()
    }

    fn allowed() -> String {
        format!(
            "n, numbers, + - * / ^, parentheses, min, max, exp, log, sqrt, up to {LONGEST} characters, \
             as in \"min(1,(n/100)^2)\""
        )
    }
}

fn evaluate(text: &str, n: f64) -> Result<f64, String> {
    let mut reader = Reader { rest: text, n, depth: 0 };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(c) => Err(format!("\"{c}\" is unexpected")),
    }
}

struct Reader<'a> {
    rest: &'a str,
    n: f64,
    depth: u32,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Takes the next character if it is one of `wanted`.
    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let c = self.peek().filter(|c| wanted.contains(c))?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    /// Takes the longest run of characters that `belongs` accepts.
    fn run(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(end);
        self.rest = rest;
        run.to_string()
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let other = self.product()?;
            value = if sign == '+' { value + other } else { value - other };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.sign()?;
        while let Some(sign) = self.take(&['*', '/']) {
            let other = self.sign()?;
            value = if sign == '*' { value * other } else { value / other };
        }
        Ok(value)
    }

    /// Every way down the grammar passes here, so here its depth is bounded.
    fn sign(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("it nests more than {DEEPEST} deep"));
        }
        let value = match self.take(&['-', '+']) {
            Some('-') => -self.sign()?,
            Some(_) => self.sign()?,
            None => self.power()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn power(&mut self) -> Result<f64, String> {
        let base = self.atom()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        Ok(libm::pow(base, self.sign()?))
    }

    fn atom(&mut self) -> Result<f64, String> {
        match self.peek() {
            None => Err("it ends too early".into()),
            Some('(') => self.argument(),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            Some(c) => Err(format!("\"{c}\" is unexpected")),
        }
    }

    fn number(&mut self) -> Result<f64, String> {
        let mut digits = self.run(|c| c.is_ascii_digit() || c == '.');
        // An exponent, where digits follow: "1e-3".
        let mut after = self.rest.chars();
        if matches!(after.next(), Some('e' | 'E')) {
            let tail = after.as_str();
            let unsigned = tail.strip_prefix(['+', '-']).unwrap_or(tail);
            if unsigned.starts_with(|c: char| c.is_ascii_digit()) {
                digits.push('e');
                if tail.starts_with('-') {
                    digits.push('-');
                }
                self.rest = unsigned;
                digits.push_str(&self.run(|c| c.is_ascii_digit()));
            }
        }
        digits.parse::<f64>().map_err(|_| format!("\"{digits}\" is not a number"))
    }

    fn name(&mut self) -> Result<f64, String> {
        let name = self.run(|c| c.is_ascii_alphanumeric());
        match name.as_str() {
            "n" => Ok(self.n),
            "min" => self.arguments(f64::min),
            "max" => self.arguments(f64::max),
            "exp" => self.argument().map(libm::exp),
            "log" => self.argument().map(libm::log),
            "sqrt" => self.argument().map(libm::sqrt),
            _ => Err(format!("\"{name}\" is unknown")),
        }
    }

    /// `( sum )`.
    fn argument(&mut self) -> Result<f64, String> {
        self.open()?;
        let value = self.sum()?;
        self.close(value)
    }

    /// `( sum , sum ... )`, joined by `pick`; not a number as soon as one of them is not.
    fn arguments(&mut self, pick: fn(f64, f64) -> f64) -> Result<f64, String> {
        self.open()?;
        let mut value = self.sum()?;
        while self.take(&[',']).is_some() {
            let other = self.sum()?;
            value = if value.is_nan() || other.is_nan() { f64::NAN } else { pick(value, other) };
        }
        self.close(value)
    }

    fn open(&mut self) -> Result<(), String> {
        self.take(&['(']).map(|_| ()).ok_or_else(|| "\"(\" is missing".into())
    }

    fn close(&mut self, value: f64) -> Result<f64, String> {
        self.take(&[')']).map(|_| value).ok_or_else(|| "\")\" is missing".into())
    }
}
