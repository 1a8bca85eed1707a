//! `trace` of links: rates that change over time.

use super::bounds::{self, up_to};
use super::resolve::{moving, positive};
use crate::random::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::{Opportunities, Random, Rates, Steps, Traced};
use sojourn_document::{Error, Path, Quantity};
use sojourn_units::{BitRate, Instant, Span};
use std::sync::Arc;

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

/// A trace, ready to be followed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    kind: Kind,
    /// Schemes see the mean rate over this time.
    pub window: Span,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// The same in every run.
    Fixed(Arc<Rates>),
    /// Drawn for each run.
    Markov(Vec<State>),
}

#[derive(Clone, Debug, PartialEq)]
struct State {
    rate: BitRate,
    mean: Span,
    /// Weights of all states.
    next: Vec<f64>,
}

impl TraceTable {
    /// Takes the content of the file that it names.
    ///
    /// # Errors
    /// The line that is wrong, and what is allowed.
    pub(super) fn take(&mut self, text: &str) -> Result<(), String> {
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

    /// Checks the table of the key at `path`, of a link whose packets are framed by the key `framed`, for a run of `duration`.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub(super) fn resolve(&self, framed: Option<&str>, duration: Span, path: &Path) -> Result<Trace, Error> {
        if let Some(file) = &self.file {
            let what = format!("is {file:?}, which has not been read; allowed: a trace that is written out");
            return Err(Error::new(path.then("file"), what));
        }
        positive(self.window.0, path.then("window"))?;
        up_to(self.window.0, &bounds::DELAY, || path.then("window"))?;
        if self.rates.is_none() {
            let own = [("hold", self.hold), ("period", self.period.is_some())].into_iter().find(|(_, given)| *given);
            if let Some((key, _)) = own {
                return Err(Error::new(path.then(key), "is of `rates` alone; allowed: together with them"));
            }
        }
        if let Some(period) = self.period {
            positive(period.0, path.then("period"))?;
            up_to(period.0, &bounds::TIME, || path.then("period"))?;
        }
        if self.hold && self.period.is_some() {
            return Err(Error::new(path.then("period"), "is given together with `hold`; allowed: one of the two"));
        }
        let kind = match (&self.opportunities, &self.rates, &self.states) {
            (Some(text), None, None) => {
                if let Some(key) = framed {
                    let what = format!("counts bytes of IP, and the link has `{key}`; allowed: no `{key}`, or `rates`");
                    return Err(Error::new(path.then("opportunities"), what));
                }
                let trace = Opportunities::parse(text).map_err(|why| Error::new(path.then("opportunities"), why))?;
                Kind::Fixed(Arc::new(Rates::Opportunities(trace)))
            }
            (None, Some(rates), None) => {
                let path = path.then("rates");
                for (k, (at, rate)) in rates.iter().enumerate() {
                    up_to(at.0, &bounds::TIME, || path.then(k))?;
                    up_to(rate.0, &bounds::RATE, || path.then(k))?;
                }
                let rates: Vec<_> = rates.iter().map(|(at, rate)| (at.0, rate.0)).collect();
                let steps = Steps::new(&rates, !self.hold, self.period.map(|period| period.0));
                Kind::Fixed(Arc::new(Rates::Steps(steps.map_err(|why| Error::new(path, why))?)))
            }
            (None, None, Some(states)) => Kind::Markov(markov(states, &path.then("states"))?),
            _ => {
                let what = "has none or several of `file`, `opportunities`, `rates` and `states`; allowed: one of them";
                return Err(Error::new(path.clone(), what));
            }
        };
        let trace = Trace { kind, window: self.window.0 };
        let entries = trace.entries(duration);
        if entries > bounds::TRACE_ENTRIES {
            let what = format!("makes {entries:.0} changes in a run; allowed: up to {}", bounds::TRACE_ENTRIES);
            return Err(Error::new(path.then("states"), what));
        }
        Ok(trace)
    }
}

fn markov(states: &[StateTable], path: &Path) -> Result<Vec<State>, Error> {
    const STATES: usize = 1000;
    if !(2..=STATES).contains(&states.len()) {
        return Err(Error::new(path.clone(), format!("has {} states; allowed: 2 to {STATES}", states.len())));
    }
    let one = |(k, state): (usize, &StateTable)| {
        let path = path.then(k);
        positive(state.mean.0, path.then("mean"))?;
        up_to(state.mean.0, &bounds::TIME, || path.then("mean"))?;
        if !state.rate.0.is_zero() {
            moving(state.rate.0, path.then("rate"))?;
        }
        let next = match &state.next {
            None => (0..states.len()).map(|other| f64::from(u8::from(other != k))).collect(),
            Some(next) => {
                let good = next.len() == states.len() && next.iter().all(|weight| (0.0..=1e9).contains(weight));
                if !good || next.get(k).is_none_or(|own| *own != 0.0) || next.iter().sum::<f64>() <= 0.0 {
                    let what = format!(
                        "is {next:?}; allowed: {} weights of 0 or more, this state's 0 and not all 0",
                        states.len()
                    );
                    return Err(Error::new(path.then("next"), what));
                }
                next.clone()
            }
        };
        Ok(State { rate: state.rate.0, mean: state.mean.0, next })
    };
    let found = states.iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()?;
    if found.iter().all(|state| state.rate.is_zero()) {
        return Err(Error::new(path.clone(), "has no state with a rate above 0; allowed: at least one"));
    }
    Ok(found)
}

impl Trace {
    /// A rate that stands for it where one number is needed: the mean, or of a random one the largest.
    pub(super) fn rate(&self) -> BitRate {
        let rate = match &self.kind {
            Kind::Fixed(rates) => rates.mean(),
            Kind::Markov(states) => states.iter().map(|state| state.rate).max().unwrap_or_default(),
        };
        rate.max(BitRate::from_bit_s(1))
    }

    /// How many changes a run of this length makes in memory, on average.
    pub(super) fn entries(&self, duration: Span) -> f64 {
        match &self.kind {
            Kind::Fixed(_) => 0.0,
            Kind::Markov(states) => {
                let least = states.iter().map(|state| state.mean).min().unwrap_or_default();
                duration.seconds() / least.seconds().max(1e-9)
            }
        }
    }

    /// The rates of one run; `name` is that of the stream that random ones come from.
    pub(crate) fn rates(&self, duration: Span, seed: u64, replication: u64, name: &str) -> Arc<Rates> {
        match &self.kind {
            Kind::Fixed(rates) => Arc::clone(rates),
            Kind::Markov(states) => Arc::new(path(states, duration, &mut Stream::new(seed, replication, name))),
        }
    }
}

/// The index that a uniform number from 0 to 1 picks.
fn pick(weights: impl Iterator<Item = f64> + Clone, uniform: f64) -> usize {
    let mut left = uniform * weights.clone().sum::<f64>();
    let mut last = 0;
    for (index, weight) in weights.enumerate().filter(|(_, weight)| *weight > 0.0) {
        last = index;
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    last
}

/// One path of the process, as long as the run.
fn path(states: &[State], duration: Span, random: &mut Stream) -> Rates {
    let mut steps: Vec<(Span, BitRate)> = Vec::new();
    let mut state = pick(states.iter().map(|state| state.mean.seconds()), random.uniform());
    let mut at = Span::ZERO;
    // Bound: see `bounds::TRACE_ENTRIES`; times are at least a nanosecond apart.
    while at < duration || steps.is_empty() {
        let State { rate, mean, next } = &states[state];
        if steps.last().is_none_or(|(_, last)| last != rate) {
            steps.push((at, *rate));
        }
        at += mean.scaled(-libm::log(1.0 - random.uniform())).max(Span::from_nanos(1));
        state = pick(next.iter().copied(), random.uniform());
    }
    // Of a run that ends in its first outage.
    if steps.iter().all(|(_, rate)| rate.is_zero()) {
        let first = states.iter().map(|state| state.rate).max().unwrap_or_default();
        steps.push((at.max(duration), first));
    }
    let steps = Steps::new(&steps, false, None);
    steps.map_or_else(|_| unreachable!("times rise from 0, and a rate is above 0"), Rates::Steps)
}

impl Trace {
    /// Its mean rate up to the end of a run, for reports.
    #[must_use]
    pub fn mean(rates: &Rates, duration: Span) -> f64 {
        rates.offered_bits(Instant::ZERO + duration) / duration.seconds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_rate_spends_its_time_as_its_states_say() {
        // 8 Mbit/s for 3 s and 0 for 1 s on average: 6 Mbit/s. Over 40,000 s some 10,000 cycles: standard error of the mean of
        // the exponential times 4 * 0.75 * 0.25 * sqrt(2) / ... below 1 %; tolerance 4 %.
        let state = |rate: u64, mean: u64, next: [f64; 2]| State {
            rate: BitRate::from_bit_s(rate),
            mean: Span::from_secs(mean),
            next: next.to_vec(),
        };
        let states = [state(8_000_000, 3, [0.0, 1.0]), state(0, 1, [1.0, 0.0])];
        let duration = Span::from_secs(40_000);
        let rates = path(&states, duration, &mut Stream::new(1, 0, "rates/x"));
        let mean = Trace::mean(&rates, duration);
        assert!((mean / 6e6 - 1.0).abs() < 0.04, "{mean}");
        assert_ne!(rates, path(&states, duration, &mut Stream::new(1, 1, "rates/x")));
    }

    #[test]
    fn the_next_state_is_drawn_by_weight() {
        assert_eq!([0.0, 0.24, 0.26, 0.99].map(|uniform| pick([1.0, 0.0, 3.0].into_iter(), uniform)), [0, 0, 2, 2]);
    }
}
