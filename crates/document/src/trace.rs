//! `trace` of links: rates that change over time, as a document writes them.

use crate::bounds::{positive, up_to, Bound};
use crate::{Error, Path, Quantity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::{Opportunities, Rates, Steps, Traced};
use sojourn_units::{BitRate, Span};

/// A rate that changes over time: a file, or one of `opportunities`, `rates` and `states`. A file's content takes their place in
/// the canonical form of a scenario, so that results say what they are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, as in {file = \"lte\"}")]
pub struct TraceTable {
    /// Name of the trace in reports; by default that of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// File of the trace, found from the scenario's folder, or the name of one that comes with Sojourn: `lte`, `starlink`. A line
    /// of Mahimahi's format is the time in milliseconds of an opportunity to send 1500 bytes of IP. The first line of a table
    /// with commas names its columns, `time_s` (or `time_ms`) and `rate_mbit_s` (or `rate_kbit_s`, `rate_bit_s`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Opportunities to send 1500 bytes of IP, each as milliseconds since the one before; `5x3` stands for `5 5 5`. Small packets
    /// share an opportunity, a packet may span several, and unused bytes are lost. The period is the last instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opportunities: Option<String>,
    /// Rates, each with the time since the start at which it begins to hold; the first begins at 0 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<Vec<(Quantity<Span>, Quantity<BitRate>)>>,
    /// States of a Markov-modulated rate, drawn for each replication and direction; the first state is drawn by the share of
    /// time that each has where all are equally likely to follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<Vec<StateTable>>,
    /// Of rates: the time after which the first holds again. By default the last rate holds as long as the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Quantity<Span>>,
    /// Of rates: the last one holds until the end, in place of a repetition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// Schemes that use the rate of their link see its mean over so much time before the present. At the start, a trace that
    /// repeats counts as if it had run before.
    #[serde(default = "window")]
    pub window: Quantity<Span>,
}

/// A state of a Markov-modulated rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct StateTable {
    /// Rate in this state; 0 for an outage.
    pub rate: Quantity<BitRate>,
    /// Mean time in this state; the times are exponentially distributed.
    pub mean: Quantity<Span>,
    /// Weights of the states that follow, one for each state, this one's 0. By default all others are equally likely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Vec<f64>>,
}

fn window() -> Quantity<Span> {
    Quantity(Traced::WINDOW)
}

/// What a table of a trace may ask for at most.
#[derive(Clone, Copy, Debug)]
pub struct TraceBounds<'a> {
    /// Times of its rates, and its period.
    pub time: &'a Bound<Span>,
    /// Its rates.
    pub rate: &'a Bound<BitRate>,
    /// Its window.
    pub window: &'a Bound<Span>,
}

/// What a table says.
#[derive(Clone, Debug, PartialEq)]
pub enum Written<'a> {
    /// Rates that are the same in every run.
    Fixed(Rates),
    /// States of which each run draws its rates, not yet checked.
    States(&'a [StateTable]),
}

impl TraceTable {
    /// Takes the content of the file that it names.
    ///
    /// # Errors
    /// The line that is wrong, and what is allowed.
    pub fn take(&mut self, text: &str) -> Result<(), String> {
        let rates = Rates::read(text, !self.hold, self.period.map(|period| period.0))?;
        (self.opportunities, self.rates, self.states) = (None, None, None);
        match rates {
            Rates::Opportunities(trace) => self.opportunities = Some(trace.text()),
            Rates::Steps(steps) => {
                self.rates = Some(steps.entries().map(|(at, rate)| (Quantity(at), Quantity(rate))).collect());
            }
        }
        let file = self.file.take();
        if self.name.is_none() {
            self.name = file.map(|file| file.rsplit('/').next().unwrap_or_default().to_owned());
        }
        Ok(())
    }

    /// Checks the table of the key at `path`, of a link whose packets are framed by the key `framed`.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn written(&self, framed: Option<&str>, bounds: TraceBounds<'_>, path: &Path) -> Result<Written<'_>, Error> {
        if let Some(file) = &self.file {
            let what = format!("is {file:?}, which has not been read; allowed: a trace that is written out");
            return Err(Error::new(path.then("file"), what));
        }
        positive(self.window.0, path.then("window"))?;
        up_to(self.window.0, bounds.window, || path.then("window"))?;
        if self.rates.is_none() {
            let own = [("hold", self.hold), ("period", self.period.is_some())].into_iter().find(|(_, given)| *given);
            if let Some((key, _)) = own {
                return Err(Error::new(path.then(key), "is of `rates` alone; allowed: together with them"));
            }
        }
        if let Some(period) = self.period {
            positive(period.0, path.then("period"))?;
            up_to(period.0, bounds.time, || path.then("period"))?;
        }
        if self.hold && self.period.is_some() {
            return Err(Error::new(path.then("period"), "is given together with `hold`; allowed: one of the two"));
        }
        match (&self.opportunities, &self.rates, &self.states) {
            (Some(text), None, None) => {
                if let Some(key) = framed {
                    let what = format!("counts bytes of IP, and the link has `{key}`; allowed: no `{key}`, or `rates`");
                    return Err(Error::new(path.then("opportunities"), what));
                }
                let trace = Opportunities::parse(text).map_err(|why| Error::new(path.then("opportunities"), why))?;
                Ok(Written::Fixed(Rates::Opportunities(trace)))
            }
            (None, Some(rates), None) => {
                let path = path.then("rates");
                for (k, (at, rate)) in rates.iter().enumerate() {
                    up_to(at.0, bounds.time, || path.then(k))?;
                    up_to(rate.0, bounds.rate, || path.then(k))?;
                }
                let rates: Vec<_> = rates.iter().map(|(at, rate)| (at.0, rate.0)).collect();
                let steps = Steps::new(&rates, !self.hold, self.period.map(|period| period.0));
                Ok(Written::Fixed(Rates::Steps(steps.map_err(|why| Error::new(path, why))?)))
            }
            (None, None, Some(states)) => Ok(Written::States(states)),
            _ => {
                let what = "has none or several of `file`, `opportunities`, `rates` and `states`; allowed: one of them";
                Err(Error::new(path.clone(), what))
            }
        }
    }
}
