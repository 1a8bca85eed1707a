//! Reads a formula by recursive descent, checks its units, and gives the steps of its evaluation.

use super::program::{BinaryOp, Program, Step, UnaryOp, STACK};
use super::unit::{Unit, UNITS};
use crate::suggest::did_you_mean;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const DEEPEST: u32 = 32;

/// The functions by their names.
pub(super) const FUNCTIONS: [(&str, Function); 6] = [
    ("min", Function::Many(BinaryOp::Min)),
    ("max", Function::Many(BinaryOp::Max)),
    ("exp", Function::UnaryOp(UnaryOp::Exp)),
    ("log", Function::UnaryOp(UnaryOp::Log)),
    ("sqrt", Function::UnaryOp(UnaryOp::Sqrt)),
    ("abs", Function::UnaryOp(UnaryOp::Abs)),
];

/// How a function takes its arguments.
#[derive(Clone, Copy)]
pub(super) enum Function {
    UnaryOp(UnaryOp),
    Many(BinaryOp),
}

/// What is wrong, and where.
pub(super) struct Refused {
    /// In characters, from 1.
    pub column: usize,
    pub why: String,
}

/// The program of `text`.
pub(super) fn compile(text: &str, names: &[(&str, Unit)]) -> Result<Program, Refused> {
    let mut reader = Reader { text, names, at: 0, depth: 0, steps: Vec::new(), kept: 0 };
    let result = reader.truth().and_then(|unit| {
        if let Some(c) = reader.peek() {
            return Err(reader.unexpected(c));
        }
        if unit.is_some_and(|unit| unit != Unit::NUMBER) {
            reader.at = 0;
            let words = unit.unwrap_or(Unit::NUMBER).words();
            return Err(format!("the result is {words}, but it must be a number: divide by one of its kind"));
        }
        Ok(())
    });
    match result {
        Ok(()) => Ok(Program::new(reader.steps)),
        Err(why) => Err(Refused { column: text[..reader.at.min(text.len())].chars().count() + 1, why }),
    }
}

/// The unit of a value; `None` for 0, which fits every unit.
type Kind = Option<Unit>;

struct Reader<'a> {
    text: &'a str,
    names: &'a [(&'a str, Unit)],
    /// Where it reads, in bytes. An error stays where it is.
    at: usize,
    depth: u32,
    steps: Vec<Step>,
    /// Values that the steps so far leave.
    kept: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    /// Takes the next character if it is one of `wanted`.
    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let c = self.peek().filter(|c| wanted.contains(c))?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Takes the longest run of characters that `belongs` accepts.
    fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn unexpected(&self, c: char) -> String {
        format!("\"{c}\" is unexpected")
    }

    fn push(&mut self, step: Step) -> Result<(), String> {
        self.kept += 1;
        if self.kept > STACK {
            return Err(format!("more than {STACK} values are needed at a time"));
        }
        self.steps.push(step);
        Ok(())
    }

    /// Applies `one`; at once where its value is known.
    fn one(&mut self, one: UnaryOp, at: usize) -> Result<(), String> {
        if let Some(Step::Number(x)) = self.steps.last().copied() {
            self.steps.pop();
            return self.known(one.of(x), at);
        }
        self.steps.push(Step::UnaryOp(one));
        Ok(())
    }

    /// Applies `two`; at once where both values are known.
    fn two(&mut self, two: BinaryOp, at: usize) -> Result<(), String> {
        self.kept -= 1;
        if let [.., Step::Number(x), Step::Number(y)] = self.steps[..] {
            self.steps.truncate(self.steps.len() - 2);
            return self.known(two.of(x, y), at);
        }
        self.steps.push(Step::BinaryOp(two));
        Ok(())
    }

    /// A constant that was computed; refused where it is not finite.
    fn known(&mut self, value: f64, at: usize) -> Result<(), String> {
        if !value.is_finite() {
            self.at = at;
            return Err(format!("this constant is {value}"));
        }
        self.steps.push(Step::Number(value));
        Ok(())
    }

    /// The common unit of two values that `what` puts together at `at`.
    fn alike(&mut self, a: Kind, b: Kind, what: &str, at: usize) -> Result<Kind, String> {
        match (a, b) {
            (Some(a), Some(b)) if a != b => {
                self.at = at;
                Err(format!("\"{what}\" has {} on one side and {} on the other", a.words(), b.words()))
            }
            _ => Ok(a.or(b)),
        }
    }

    /// A value that must be a plain number.
    fn number_only(&mut self, kind: Kind, what: &str, at: usize) -> Result<(), String> {
        match kind {
            Some(unit) if unit != Unit::NUMBER => {
                self.at = at;
                Err(format!("{what} takes a number, and this is {}", unit.words()))
            }
            _ => Ok(()),
        }
    }

    fn truth(&mut self) -> Result<Kind, String> {
        let kind = self.sum()?;
        self.peek();
        let at = self.at;
        let (two, name) = match self.take(&['<', '>']) {
            Some('<') => (BinaryOp::Less, "<"),
            Some(_) => (BinaryOp::Greater, ">"),
            None => return Ok(kind),
        };
        let other = self.sum()?;
        self.alike(kind, other, name, at)?;
        self.two(two, at)?;
        Ok(Some(Unit::NUMBER))
    }

    fn sum(&mut self) -> Result<Kind, String> {
        let mut kind = self.product()?;
        loop {
            self.peek();
            let at = self.at;
            let (two, name) = match self.take(&['+', '-']) {
                Some('+') => (BinaryOp::Add, "+"),
                Some(_) => (BinaryOp::Subtract, "-"),
                None => return Ok(kind),
            };
            let other = self.product()?;
            kind = self.alike(kind, other, name, at)?;
            self.two(two, at)?;
        }
    }

    fn product(&mut self) -> Result<Kind, String> {
        let mut kind = self.sign()?;
        loop {
            self.peek();
            let at = self.at;
            let Some(sign) = self.take(&['*', '/']) else { return Ok(kind) };
            let other = self.sign()?.unwrap_or(Unit::NUMBER);
            let (two, unit) = if sign == '*' {
                (BinaryOp::Multiply, Unit::times as fn(_, _) -> _)
            } else {
                (BinaryOp::Divide, Unit::over as fn(_, _) -> _)
            };
            kind = Some(unit(kind.unwrap_or(Unit::NUMBER), other));
            self.two(two, at)?;
        }
    }

    /// Every way down the grammar passes here, so here its depth is bounded.
    fn sign(&mut self) -> Result<Kind, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("it nests more than {DEEPEST} deep"));
        }
        self.peek();
        let at = self.at;
        let kind = match self.take(&['-', '+']) {
            Some('-') => {
                let kind = self.sign()?;
                self.one(UnaryOp::Minus, at)?;
                kind
            }
            Some(_) => self.sign()?,
            None => self.power()?,
        };
        self.depth -= 1;
        Ok(kind)
    }

    fn power(&mut self) -> Result<Kind, String> {
        let start = self.at;
        let base = self.atom()?;
        self.peek();
        let at = self.at;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        self.number_only(base, "\"^\"", start)?;
        let after = self.at;
        let exponent = self.sign()?;
        self.number_only(exponent, "\"^\"", after)?;
        self.two(BinaryOp::Power, at)?;
        Ok(Some(Unit::NUMBER))
    }

    fn atom(&mut self) -> Result<Kind, String> {
        match self.peek() {
            None => Err("it ends too early".into()),
            Some('(') => {
                self.open()?;
                let kind = self.truth()?;
                self.close()?;
                Ok(kind)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            Some(c) => Err(self.unexpected(c)),
        }
    }

    fn number(&mut self) -> Result<Kind, String> {
        let start = self.at;
        self.run(|c| c.is_ascii_digit() || c == '.');
        // An exponent, where digits follow: "1e-3".
        let rest = self.rest();
        if let Some(tail) = rest.strip_prefix(['e', 'E']) {
            let unsigned = tail.strip_prefix(['+', '-']).unwrap_or(tail);
            if unsigned.starts_with(|c: char| c.is_ascii_digit()) {
                self.at += rest.len() - unsigned.len();
                self.run(|c| c.is_ascii_digit());
            }
        }
        let digits = self.text.get(start..self.at).unwrap_or_default();
        let Ok(value) = digits.parse::<f64>() else {
            self.at = start;
            return Err(format!("\"{digits}\" is not a number"));
        };
        let (scale, unit) = self.unit()?;
        if !(value * scale).is_finite() {
            self.at = start;
            return Err(format!("\"{digits}\" is too large"));
        }
        self.push(Step::Number(value * scale))?;
        Ok(if value == 0.0 && unit == Unit::NUMBER { None } else { Some(unit) })
    }

    /// The unit behind a number; 1 where there is none.
    fn unit(&mut self) -> Result<(f64, Unit), String> {
        if self.peek() == Some('%') {
            self.at += 1;
            return Ok((1e-2, Unit::NUMBER));
        }
        let start = self.at;
        let mut name = self.run(|c| c.is_ascii_alphabetic());
        if name.is_empty() {
            return Ok((1.0, Unit::NUMBER));
        }
        if name.ends_with("bit") && self.rest().starts_with("/s") {
            self.at += "/s".len();
            name = self.text.get(start..self.at).unwrap_or_default();
        }
        let Some((_, scale, unit)) = UNITS.iter().find(|(known, ..)| *known == name) else {
            self.at = start;
            let known: Vec<&str> = UNITS.iter().map(|(name, ..)| *name).collect();
            let hint = did_you_mean(name, &known);
            return Err(format!("\"{name}\" is no unit{hint}; units: {}", known.join(" ")));
        };
        Ok((*scale, *unit))
    }

    fn name(&mut self) -> Result<Kind, String> {
        let start = self.at;
        let name = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
        if let Some(place) = self.names.iter().position(|(known, _)| *known == name) {
            self.push(Step::Input(place))?;
            return Ok(self.names.get(place).map(|(_, unit)| *unit));
        }
        let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            self.at = start;
            let mut known: Vec<&str> = self.names.iter().map(|(name, _)| *name).collect();
            known.extend(FUNCTIONS.map(|(name, _)| name));
            return Err(format!("\"{name}\" is unknown{}", did_you_mean(name, &known)));
        };
        self.open()?;
        let first = self.at;
        let mut kind = self.truth()?;
        match function {
            Function::UnaryOp(UnaryOp::Abs) => self.one(UnaryOp::Abs, start)?,
            Function::UnaryOp(one) => {
                self.number_only(kind, name, first)?;
                self.one(*one, start)?;
                kind = Some(Unit::NUMBER);
            }
            Function::Many(two) => {
                while self.take(&[',']).is_some() {
                    let at = self.at;
                    let other = self.truth()?;
                    kind = self.alike(kind, other, name, at)?;
                    self.two(*two, start)?;
                }
            }
        }
        self.close()?;
        Ok(kind)
    }

    fn open(&mut self) -> Result<(), String> {
        self.take(&['(']).map(|_| ()).ok_or_else(|| "\"(\" is missing".into())
    }

    fn close(&mut self) -> Result<(), String> {
        self.take(&[')']).map(|_| ()).ok_or_else(|| "\")\" is missing".into())
    }
}
