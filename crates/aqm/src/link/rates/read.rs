//! Traces as text: Mahimahi's, and tables of time and rate.

use super::{Opportunities, Rates, Steps};
use crate::suggest::did_you_mean;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_units::{BitRate, Span};

/// Columns of a table of rates, with nanoseconds or bit/s of one.
const TIMES: [(&str, f64); 3] = [("time_s", 1e9), ("time_ms", 1e6), ("time_us", 1e3)];
const RATES: [(&str, f64); 3] = [("rate_bit_s", 1.0), ("rate_kbit_s", 1e3), ("rate_mbit_s", 1e6)];

/// More entries than this are a slip of the pen: each is in memory.
const ENTRIES: usize = 10_000_000;

/// What a line of a trace says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An opportunity, in milliseconds since the start.
    Opportunity(u64),
    /// From this time on this rate holds.
    Rate(Span, BitRate),
}

/// Reads a trace line by line: Mahimahi's format, one time in whole milliseconds a line, or a table with commas whose first line
/// names the columns `time_s` (or `time_ms`, `time_us`) and `rate_mbit_s` (or `rate_kbit_s`, `rate_bit_s`). Empty lines and lines
/// that begin with `#` are left out, and a byte order mark before the first.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    number: usize,
    begun: bool,
    columns: Option<Columns>,
    last: Option<Entry>,
}

impl Lines {
    /// What the next line says; `None` if it is left out or names the columns.
    ///
    /// # Errors
    /// What is wrong, with the line, and what is allowed.
    pub fn take(&mut self, line: &str) -> Result<Option<Entry>, String> {
        self.number += 1;
        let line = if self.number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        self.read(line.trim()).map_err(|why| format!("line {}: {why}", self.number))
    }

    /// After the last line.
    ///
    /// # Errors
    /// There was none.
    pub fn end(&self) -> Result<(), String> {
        if self.begun {
            return Ok(());
        }
        Err("is empty; allowed: at least one line".into())
    }

    fn read(&mut self, line: &str) -> Result<Option<Entry>, String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        if !self.begun {
            self.begun = true;
            if line.contains(',') {
                self.columns = Some(columns(line)?);
                return Ok(None);
            }
        }
        let found = match self.columns {
            Some(columns) => {
                let (at, rate) = entry(line, columns)?;
                Entry::Rate(at, rate)
            }
            None => Entry::Opportunity(line.parse().map_err(|_| {
                format!(
                    "is {line:?}; allowed: a time in whole milliseconds as in Mahimahi's traces, or a first line that names \
                     columns, as in \"time_s,rate_mbit_s\""
                )
            })?),
        };
        match (self.last, found) {
            (Some(Entry::Opportunity(last)), Entry::Opportunity(ms)) if ms < last => {
                return Err(format!("is {ms}, after {last}; allowed: times that never fall"));
            }
            (Some(Entry::Rate(a, _)), Entry::Rate(b, _)) if a >= b => {
                return Err(format!("the time is {b}, after {a}; allowed: times that rise"));
            }
            (None, Entry::Rate(first, _)) if !first.is_zero() => {
                return Err(format!("the first time is {first}; allowed: 0"));
            }
            _ => {}
        }
        self.last = Some(found);
        Ok(Some(found))
    }
}

impl Rates {
    /// Reads a trace as [`Lines`] does. `repeats` and `period` are of tables, see [`Steps::new`].
    ///
    /// # Errors
    /// What is wrong, with the line, and what is allowed.
    pub fn read(text: &str, repeats: bool, period: Option<Span>) -> Result<Self, String> {
        let (mut lines, mut at, mut rates) = (Lines::default(), Vec::new(), Vec::new());
        for line in text.lines() {
            match lines.take(line)? {
                Some(Entry::Opportunity(ms)) => at.push(ms),
                Some(Entry::Rate(time, rate)) => rates.push((time, rate)),
                None => {}
            }
            few(at.len().max(rates.len())).map_err(|why| format!("line {}: {why}", lines.number))?;
        }
        lines.end()?;
        match lines.columns {
            Some(_) => Steps::new(&rates, repeats, period).map(Self::Steps),
            None => Opportunities::new(at).map(Self::Opportunities),
        }
    }
}

impl Opportunities {
    /// The trace as a text of times since the one before, in milliseconds; `5x3` stands for `5 5 5`.
    #[must_use]
    pub fn text(&self) -> String {
        let (mut text, mut last, mut run) = (String::new(), 0, (0_u64, 0_u64));
        let mut write = |(gap, times): (u64, u64)| {
            let space = if text.is_empty() { "" } else { " " };
            match times {
                0 => {}
                1 => text.push_str(&format!("{space}{gap}")),
                _ => text.push_str(&format!("{space}{gap}x{times}")),
            }
        };
        for at in self.at_ms() {
            let gap = at - last;
            last = *at;
            if run.1 > 0 && run.0 == gap {
                run.1 += 1;
            } else {
                write(core::mem::replace(&mut run, (gap, 1)));
            }
        }
        write(run);
        text
    }

    /// Reads [`Self::text`].
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut at, mut last) = (Vec::new(), 0_u64);
        for word in text.split_whitespace() {
            let (gap, times) = word.split_once('x').unwrap_or((word, "1"));
            let number = |text: &str| text.parse::<u64>().ok();
            let Some((gap, times)) = number(gap).zip(number(times)) else {
                return Err(format!(
                    "has {word:?}; allowed: milliseconds since the opportunity before, as in \"12 0x2 5x3\""
                ));
            };
            few(usize::try_from(times).unwrap_or(usize::MAX).saturating_add(at.len()))?;
            for _ in 0..times {
                last = last.saturating_add(gap);
                at.push(last);
            }
        }
        Self::new(at)
    }
}

fn few(entries: usize) -> Result<(), String> {
    if entries > ENTRIES {
        return Err(format!("the trace has more than {ENTRIES} entries; allowed: up to {ENTRIES}"));
    }
    Ok(())
}

/// Places and units of the two columns.
type Columns = [(usize, f64); 2];

fn columns(head: &str) -> Result<Columns, String> {
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    let find = |known: &[(&str, f64)]| {
        let place = names.iter().enumerate().find_map(|(place, name)| {
            let unit = known.iter().find(|(column, _)| column == name)?.1;
            Some((place, unit))
        });
        place.ok_or_else(|| {
            let all: Vec<&str> = known.iter().map(|(column, _)| *column).collect();
            let hint = names.iter().map(|name| did_you_mean(name, &all)).find(|hint| !hint.is_empty());
            format!(
                "names the columns {}{}; allowed: one of {}",
                names.join(", "),
                hint.unwrap_or_default(),
                all.join(", ")
            )
        })
    };
    Ok([find(&TIMES)?, find(&RATES)?])
}

fn entry(line: &str, [(time, time_unit), (rate, rate_unit)]: Columns) -> Result<(Span, BitRate), String> {
    let cell = |place: usize| line.split(',').nth(place).unwrap_or_default().trim();
    let number = |place: usize, what: &str| {
        let value: Option<f64> = cell(place).parse().ok();
        let allowed = value.filter(|value| value.is_finite() && *value >= 0.0);
        allowed.ok_or_else(|| format!("the {what} is {:?}; allowed: a number of at least 0", cell(place)))
    };
    let at = libm::round(number(time, "time")? * time_unit);
    const YEAR: Span = Span::from_secs(366 * 86_400);
    if at > YEAR.nanos() as f64 {
        return Err(format!("the time is {}; allowed: up to a year, {YEAR}", cell(time)));
    }
    let at = Span::from_nanos(at as u64);
    let bit_s = libm::round(number(rate, "rate")? * rate_unit);
    const MOST: f64 = 1e13;
    if bit_s > MOST {
        return Err(format!("the rate is {}; allowed: up to {}", cell(rate), BitRate::from_bit_s(MOST as u64)));
    }
    Ok((at, BitRate::from_bit_s(bit_s as u64)))
}
