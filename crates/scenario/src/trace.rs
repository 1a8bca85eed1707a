//! `trace` of links: rates that change over time.

use sojourn_aqm::{Random, Rates, Steps};
use sojourn_document::bounds::{self, positive_rate, up_to};
use sojourn_document::{positive, Error, Path, TraceBounds, Written};
pub use sojourn_document::{StateTable, TraceTable};
use sojourn_random::Stream;
use sojourn_units::{BitRate, Instant, Span};
use std::sync::Arc;

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

/// Checks the table of the key at `path`, of a link whose packets are framed by the key `framed`, for a run of `duration`.
///
/// # Errors
/// What is wrong, and what is allowed.
pub(super) fn resolve(table: &TraceTable, framed: Option<&str>, duration: Span, path: &Path) -> Result<Trace, Error> {
    let limits = TraceBounds { time: &bounds::TIME, rate: &bounds::RATE, window: &bounds::DELAY };
    let kind = match table.written(framed, limits, path)? {
        Written::Fixed(rates) => Kind::Fixed(Arc::new(rates)),
        Written::States(states) => Kind::Markov(markov(states, &path.then("states"))?),
    };
    let trace = Trace { kind, window: table.window.0 };
    let entries = trace.entries(duration);
    if entries > bounds::TRACE_ENTRIES {
        let what = format!("makes {entries:.0} changes in a run; allowed: up to {}", bounds::TRACE_ENTRIES);
        return Err(Error::new(path.then("states"), what));
    }
    Ok(trace)
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
            positive_rate(state.rate.0, path.then("rate"))?;
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
    #[must_use]
    pub fn rates(&self, duration: Span, seed: u64, replication: u64, name: &str) -> Arc<Rates> {
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
