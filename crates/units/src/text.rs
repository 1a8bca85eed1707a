//! Exact reading of `NUMBER UNIT`: the decimal is scaled in integers, so nothing is lost silently.

use crate::UnitError;
use alloc::string::{String, ToString};
use alloc::{borrow::ToOwned, format};

/// Units of one kind: name as written (compared without case unless `exact`), and its size in the base unit.
pub(crate) struct Units {
    pub table: &'static [(&'static str, u64)],
    /// Upper and lower case differ (`Mbit` and `mbit` do not; `B` and `b` do).
    pub exact: bool,
    /// What a number without a unit means, where that is allowed.
    pub bare: Option<u64>,
    pub allowed: &'static str,
}

pub(crate) fn error(given: &str, why: impl Into<String>, allowed: &'static str) -> UnitError {
    UnitError { given: given.to_owned(), why: why.into(), allowed }
}

/// Reads `text` as an exact whole number of base units.
pub(crate) fn read(text: &str, units: &Units) -> Result<u64, UnitError> {
    let refuse = |why: String| Err(error(text, why, units.allowed));
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_' || c == '+' || c == '-'))
        .unwrap_or(trimmed.len());
    // An exponent belongs to the number only when digits follow it ("1e3 s", but not "1 exabyte").
    let (number, unit) = split_exponent(trimmed, split);
    if number.starts_with('-') {
        return refuse("is negative".to_string());
    }
    let number = number.trim_start_matches('+').replace('_', "");
    let Some((mantissa, shift)) = decimal(&number) else {
        return refuse("does not start with a number".to_string());
    };
    let unit = unit.trim();
    let scale = if unit.is_empty() {
        match units.bare {
            Some(scale) => scale,
            None => return refuse("has no unit".to_string()),
        }
    } else {
        let found = units.table.iter().find(
            |(name, _)| {
                if units.exact {
                    *name == unit
                } else {
                    name.eq_ignore_ascii_case(unit)
                }
            },
        );
        match found {
            Some((_, scale)) => *scale,
            None => return refuse(format!("has the unknown unit \"{unit}\"")),
        }
    };
    let Some(mut value) = mantissa.checked_mul(u128::from(scale)) else {
        return refuse("is too large".to_string());
    };
    for _ in 0..shift.unsigned_abs().min(60) {
        if shift < 0 {
            if value % 10 != 0 {
                return refuse("is finer than can be held exactly".to_string());
            }
            value /= 10;
        } else {
            value = match value.checked_mul(10) {
                Some(value) => value,
                None => return refuse("is too large".to_string()),
            };
        }
    }
    match u64::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => refuse("is too large".to_string()),
    }
}

fn split_exponent(text: &str, split: usize) -> (&str, &str) {
    let (number, rest) = text.split_at(split);
    let mut tail = rest.chars();
    if matches!(tail.next(), Some('e' | 'E')) {
        let digits = tail.as_str().trim_start_matches(['+', '-']);
        let count = digits.chars().take_while(char::is_ascii_digit).count();
        if count > 0 && tail.as_str().len() - digits.len() <= 1 {
            let end = text.len() - digits.len() + count;
            return text.split_at(end);
        }
    }
    (number, rest)
}

/// `12.50e3` as (1250, -2 + 3).
fn decimal(number: &str) -> Option<(u128, i32)> {
    let (mantissa, exponent) = match number.find(['e', 'E']) {
        Some(at) => (&number[..at], number[at + 1..].parse::<i32>().ok()?),
        None => (number, 0),
    };
    if exponent.unsigned_abs() > 40 {
        return None;
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value: u128 = 0;
    for c in whole.chars().chain(fraction.chars()) {
        value = value.checked_mul(10)?.checked_add(u128::from(c.to_digit(10)?))?;
    }
    Some((value, exponent - i32::try_from(fraction.len()).ok()?))
}

/// Prints `value` base units in the largest unit of `table` (largest first) that shows it in at most
/// `places` decimals, exactly; the last entry must be the base unit.
pub(crate) fn print(value: u64, table: &[(&str, u64)]) -> String {
    for (unit, scale) in table {
        if value < *scale {
            continue;
        }
        let (whole, rest) = (value / scale, value % scale);
        if rest == 0 {
            return format!("{whole} {unit}");
        }
        // Scales are powers of ten (or 1024 for bytes, where fractions are not used).
        if scale % 10 == 0 {
            let digits = scale.ilog10() as usize;
            let fraction = format!("{rest:0digits$}");
            let fraction = fraction.trim_end_matches('0');
            if fraction.len() <= 3 {
                return format!("{whole}.{fraction} {unit}");
            }
        }
    }
    let unit = table.last().map_or("", |(unit, _)| unit);
    format!("{value} {unit}")
}
