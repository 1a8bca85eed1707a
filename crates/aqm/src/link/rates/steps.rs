//! A rate that holds for some time, then another: exact sums of what can be sent.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_units::{BitRate, Instant, Span};

/// Rates that hold one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// When each rate begins, in nanoseconds: 0, then rising.
    at: Vec<u64>,
    /// In bit/s.
    rates: Vec<u64>,
    /// Bit nanoseconds that can be sent before each begins.
    before: Vec<u128>,
    /// It begins again after so many nanoseconds; `None` where the last rate holds.
    period: Option<u64>,
    /// Bit nanoseconds of a period.
    whole: u128,
}

impl Steps {
    /// The rates by the time since the start at which each begins. Repeated, the last one holds as long as the one before it,
    /// unless `period` says when the first begins again; without `repeats` the last one holds.
    ///
    /// # Errors
    /// No rate, a first one that does not begin at 0, a time that does not rise, with the number (from 1) of the entry, a
    /// period that ends before the last rate begins, or rates that are all 0.
    pub fn new(rates: &[(Span, BitRate)], repeats: bool, period: Option<Span>) -> Result<Self, String> {
        let Some((first, _)) = rates.first() else { return Err("has no rate; allowed: at least one".into()) };
        if !first.is_zero() {
            return Err(format!("begins at {first}; allowed: a first entry at 0 s"));
        }
        if let Some(n) = rates.windows(2).position(|pair| matches!(pair, [(a, _), (b, _)] if a >= b)) {
            return Err(format!("entry {} is not later than the one above it; allowed: times that rise", n + 2));
        }
        if rates.iter().all(|(_, rate)| rate.is_zero()) {
            return Err("has no rate above 0; allowed: at least one".into());
        }
        let at: Vec<u64> = rates.iter().map(|(at, _)| at.nanos()).collect();
        let last = at.last().copied().unwrap_or_default();
        let natural = match at.as_slice() {
            [.., a, b] => Self::repeated(Some(*a), *b),
            _ => Self::repeated(None, last),
        };
        let period = match period {
            Some(period) if period.nanos() <= last => {
                return Err(format!(
                    "has a period of {period} and an entry at {}; allowed: a longer period",
                    Span::from_nanos(last)
                ));
            }
            Some(period) => period.nanos(),
            None => natural,
        };
        let mut before = Vec::with_capacity(at.len());
        let mut sum = 0;
        let ends = at.iter().copied().skip(1).chain([period]);
        for ((begin, end), (_, rate)) in at.iter().zip(ends).zip(rates) {
            before.push(sum);
            sum += u128::from(rate.bit_s()) * u128::from(end - begin);
        }
        if repeats && sum == 0 {
            return Err("has no rate above 0 within its period; allowed: at least one".into());
        }
        let rates = rates.iter().map(|(_, rate)| rate.bit_s()).collect();
        Ok(Self { at, rates, before, period: repeats.then_some(period), whole: sum })
    }

    /// Nanoseconds after which rates repeat whose last ones begin at these times: the last holds as long as the one before it,
    /// or for a second.
    pub(super) fn repeated(before: Option<u64>, last: u64) -> u64 {
        last + before.map_or(1_000_000_000, |before| last - before)
    }

    /// The rates by the time at which each begins.
    pub fn entries(&self) -> impl Iterator<Item = (Span, BitRate)> + '_ {
        self.at.iter().zip(&self.rates).map(|(at, rate)| (Span::from_nanos(*at), BitRate::from_bit_s(*rate)))
    }

    /// Whether it begins again.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.period.is_some()
    }

    /// The period, or the time of the last change where that rate holds.
    #[must_use]
    pub fn length(&self) -> Span {
        Span::from_nanos(self.period.or(self.at.last().copied()).unwrap_or_default())
    }

    /// The first rate.
    pub(super) fn first(&self) -> BitRate {
        BitRate::from_bit_s(self.rates.first().copied().unwrap_or_default())
    }

    /// The rate that holds at `within` a period.
    fn entry(&self, within: u64) -> usize {
        self.at.partition_point(|at| *at <= within).saturating_sub(1)
    }

    /// Bit nanoseconds that can be sent between the start and `until`.
    pub(super) fn offered(&self, until: u64) -> u128 {
        let (past, within) = match self.period {
            Some(period) => (u128::from(until / period) * self.whole, until % period),
            None => (0, until),
        };
        let entry = self.entry(within);
        let (Some(at), Some(rate), Some(before)) = (self.at.get(entry), self.rates.get(entry), self.before.get(entry))
        else {
            return past;
        };
        past + before + u128::from(*rate) * u128::from(within - at)
    }

    /// When so many bit nanoseconds have been sent, in whole nanoseconds before that; never if they cannot be.
    pub(super) fn reached(&self, sum: u128) -> Instant {
        let Some(before_end) = sum.checked_sub(1) else { return Instant::ZERO };
        let (past, rest) = match self.period {
            // Up to a whole period: what ends with a period does not wait for the next one.
            Some(_) => (before_end / self.whole, before_end % self.whole + 1),
            None => (0, sum),
        };
        let entry = self.before.partition_point(|before| *before < rest).saturating_sub(1);
        let (Some(at), Some(rate), Some(before)) = (self.at.get(entry), self.rates.get(entry), self.before.get(entry))
        else {
            return Instant::NEVER;
        };
        if *rate == 0 {
            return Instant::NEVER;
        }
        let begun = past.saturating_mul(u128::from(self.period.unwrap_or_default()));
        let at = begun.saturating_add(u128::from(*at) + (rest - before) / u128::from(*rate));
        u64::try_from(at).map_or(Instant::NEVER, Instant::from_nanos)
    }

    /// The first instant at `now` or later at which the rate is above 0.
    ///
    /// Bound: the entries of a period.
    pub(super) fn moving(&self, now: Instant) -> Instant {
        let period = self.period.unwrap_or(u64::MAX);
        let (past, within) = (now.nanos() / period, now.nanos() % period);
        let entry = self.entry(within);
        if self.rates.get(entry).is_some_and(|rate| *rate > 0) {
            return now;
        }
        let above = |place: &usize| self.rates.get(*place).is_some_and(|rate| *rate > 0);
        let at = |place: usize| self.at.get(place).copied().unwrap_or_default();
        if let Some(place) = (entry + 1..self.at.len()).find(above) {
            return Instant::from_nanos(past * period + at(place));
        }
        match (self.period, (0..self.at.len()).find(above)) {
            (Some(_), Some(place)) => Instant::from_nanos((past + 1) * period + at(place)),
            _ => Instant::NEVER,
        }
    }
}
