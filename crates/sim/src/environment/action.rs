//! What an action changes: parameters of the scheme, a drop probability, or the scheme.

use crate::Simulation;
use serde::Deserialize;
use sojourn_aqm::Config;
use sojourn_units::Span;

/// Networks, observations, schemes and parameters at most.
pub(super) const MOST: usize = 4096;

/// What an action changes, as a document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Document {
    /// Values of parameters, which keep what the scheme has learnt.
    Parameters(Vec<Range>),
    /// The probability of a `dropping_function`.
    Probability(Bounds),
    /// The scheme: the action is its number.
    Schemes(Vec<String>),
}

/// A parameter and its bounds, as texts with units.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    name: String,
    low: String,
    high: String,
    #[serde(default)]
    log: bool,
}

/// Bounds of a probability.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    low: f64,
    high: f64,
    #[serde(default)]
    log: bool,
}

/// A way from -1 to 1 to a value's text.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    /// Before the number: `target `, `table 0:`.
    before: String,
    low: f64,
    high: f64,
    log: bool,
    /// Behind the number.
    unit: String,
    whole: bool,
}

pub(super) enum Action {
    Values(Vec<Scale>),
    Schemes(Vec<Config>),
}

impl Scale {
    fn of(range: &Range, scheme: &Config) -> Result<Self, String> {
        let Range { name, low, high, log } = range;
        let params = scheme.params();
        let Some(param) = params.iter().find(|param| param.name == *name) else {
            let known: Vec<&str> = params.iter().map(|param| param.name).collect();
            let hint = sojourn_aqm::suggest::did_you_mean(name, &known);
            return Err(format!(
                "action: {} has no parameter \"{name}\"{hint}; allowed: {}",
                scheme.name(),
                known.join(", ")
            ));
        };
        // Times are set in whole nanoseconds, as a part of one is refused.
        let (low, high, unit, whole) = match (low.parse::<Span>(), high.parse::<Span>()) {
            (Ok(low), Ok(high)) => (low.nanos() as f64, high.nanos() as f64, "ns".to_owned(), true),
            _ => {
                let ((low, unit), (high, other)) = (apart(low)?, apart(high)?);
                if unit != other {
                    return Err(format!(
                        "action: the bounds of {name} have the units \"{unit}\" and \"{other}\"; allowed: the same"
                    ));
                }
                let whole = matches!(param.kind, "packets" | "bytes" | "packets or bytes" | "count" | "rate");
                (low, high, unit.to_owned(), whole)
            }
        };
        Self { before: format!("{name} "), low, high, log: *log, unit, whole }.checked(name)
    }

    fn checked(self, name: &str) -> Result<Self, String> {
        if !(self.low < self.high && self.high.is_finite()) {
            return Err(format!(
                "action: the bounds of {name} are {} and {}; allowed: a lower and a higher",
                self.low, self.high
            ));
        }
        if self.log && self.low <= 0.0 {
            return Err(format!("action: the lower bound of {name} is {}; allowed with log: above 0", self.low));
        }
        Ok(self)
    }

    /// `name value` of an action; outside of -1 to 1 it is at the nearer bound, and at the lower where it is no number.
    fn text(&self, action: f64) -> String {
        let share = if action.is_nan() { 0.0 } else { (action.clamp(-1.0, 1.0) + 1.0) / 2.0 };
        let value = if self.log {
            self.low * libm::pow(self.high / self.low, share)
        } else {
            self.low + (self.high - self.low) * share
        };
        let value = if self.whole { libm::round(value) } else { value.clamp(self.low, self.high) };
        format!("{}{value}{}", self.before, self.unit)
    }
}

/// Number and unit.
fn apart(text: &str) -> Result<(f64, &str), String> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number = number.parse().map_err(|_| format!("action: \"{text}\" does not start with a number"))?;
    Ok((number, unit.trim()))
}

impl Action {
    pub fn new(document: &Document, scheme: &Config) -> Result<Self, String> {
        match document {
            Document::Parameters(ranges) => {
                if ranges.is_empty() || ranges.len() > MOST {
                    return Err(format!("action: {} parameters; allowed: 1 to {MOST}", ranges.len()));
                }
                let scales = ranges.iter().map(|range| Scale::of(range, scheme)).collect::<Result<Vec<_>, _>>()?;
                Self::Values(scales).checked(scheme)
            }
            Document::Probability(Bounds { low, high, log }) => {
                if scheme.name() != "dropping_function" {
                    return Err(format!(
                        "action: the scheme is {}; allowed with a drop probability: dropping_function",
                        scheme.name()
                    ));
                }
                let (low, high) = (*low, *high);
                if !(0.0..=1.0).contains(&low) || !(0.0..=1.0).contains(&high) {
                    return Err(format!(
                        "action: the drop probability is from {low} to {high}; allowed: within 0 to 1"
                    ));
                }
                let scale =
                    Scale { before: "table 0:".into(), low, high, log: *log, unit: String::new(), whole: false };
                Self::Values(vec![scale.checked("the drop probability")?]).checked(scheme)
            }
            Document::Schemes(texts) => {
                if texts.is_empty() || texts.len() > MOST {
                    return Err(format!("action: {} schemes; allowed: 1 to {MOST}", texts.len()));
                }
                let schemes = texts.iter().map(|text| text.parse::<Config>().map_err(|why| format!("action: {why}")));
                Ok(Self::Schemes(schemes.collect::<Result<_, _>>()?))
            }
        }
    }

    /// The scheme takes every parameter at both of its bounds.
    fn checked(self, scheme: &Config) -> Result<Self, String> {
        if let Self::Values(scales) = &self {
            for bound in [-1.0, 1.0] {
                scheme.with(&texts(scales, &vec![bound; scales.len()])).map_err(|why| format!("action: {why}"))?;
            }
        }
        Ok(self)
    }

    /// Numbers of an action.
    pub fn len(&self) -> usize {
        match self {
            Self::Values(scales) => scales.len(),
            Self::Schemes(_) => 1,
        }
    }

    /// The schemes that may run.
    pub fn schemes(&self, first: &Config) -> Vec<Config> {
        let others = match self {
            Self::Values(_) => &[][..],
            Self::Schemes(schemes) => schemes,
        };
        [first].into_iter().chain(others).cloned().collect()
    }

    /// Does what `action` says at a queue where `before` was done last.
    pub fn carry_out(
        &self,
        action: &[f64],
        before: &[f64],
        simulation: &mut Simulation,
        port: usize,
    ) -> Result<(), String> {
        match self {
            Self::Values(scales) => {
                let changed = scales.iter().zip(action).zip(before.iter().map(Some).chain(core::iter::repeat(None)));
                let changed = changed.filter(|((_, now), before)| Some(**now) != before.copied());
                let texts: Vec<String> = changed.map(|((scale, now), _)| scale.text(*now)).collect();
                simulation.set_parameters(port, &texts.join(" "))
            }
            Self::Schemes(schemes) => {
                let number = action.first().copied().unwrap_or(f64::NAN);
                let found = if number >= 0.0 { schemes.get(number as usize) } else { None };
                let scheme = found.ok_or_else(|| format!("action {number}; allowed: 0 to {}", schemes.len() - 1))?;
                // A scheme that runs already keeps what it has learnt.
                if simulation.scheme_of(port) != Some(scheme) {
                    let _ = simulation.switch(port, scheme);
                }
                Ok(())
            }
        }
    }
}

fn texts(scales: &[Scale], action: &[f64]) -> String {
    scales.iter().zip(action).map(|(scale, value)| scale.text(*value)).collect::<Vec<_>>().join(" ")
}
