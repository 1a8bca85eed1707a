use super::catalogue::{Accumulators, Metric, Scope, METRICS};
use serde::ser::{Serialize, SerializeMap, Serializer};
use sojourn_traffic::application::Measured;
use std::sync::OnceLock;

/// Metrics by name, in the order of names; `None` where undefined, as a burst ratio
/// without losses.
///
/// A report holds one list for every queue and flow, so a name takes a byte: its place in the alphabet of the catalogue.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    names: Vec<Number>,
    /// NaN where undefined.
    values: Vec<f64>,
}

type Number = u8;
const _: () = assert!(METRICS.len() <= 1 << Number::BITS, "there are more metrics than numbers: make `Number` wider");

/// What is not NaN.
fn defined(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

/// The catalogue in alphabetical order.
fn alphabet() -> &'static [&'static Metric] {
    static METRICS_BY_NAME: OnceLock<Vec<&'static Metric>> = OnceLock::new();
    METRICS_BY_NAME.get_or_init(|| {
        let mut metrics: Vec<_> = METRICS.iter().collect();
        metrics.sort_unstable_by_key(|metric| metric.name);
        metrics.dedup_by_key(|metric| metric.name);
        metrics
    })
}

/// The place of a name in the alphabet.
fn number(name: &str) -> Option<usize> {
    alphabet().binary_search_by_key(&name, |metric| metric.name).ok()
}

impl Metrics {
    /// All that are declared for `scope`, as far as `from` has what they follow from.
    pub(super) fn collect(scope: Scope, from: &Accumulators) -> Self {
        let mut all = Self { names: Vec::with_capacity(48), values: Vec::with_capacity(48) };
        for (number, metric) in (0..).zip(alphabet()) {
            let own = metric.values.iter().filter(|(scopes, _)| scopes.contains(&scope));
            if let Some(value) = own.filter_map(|(_, value)| from.value(*value)).next() {
                all.names.push(number);
                all.values.push(value.unwrap_or(f64::NAN));
            }
        }
        all.names.shrink_to_fit();
        all.values.shrink_to_fit();
        all
    }

    /// Those of applications of one kind, as of a group of flows.
    #[must_use]
    pub fn of_application(all: &[Measured]) -> Self {
        let application = Measured::together(all);
        Self::collect(Scope::Group, &Accumulators::default().with(application.as_ref()))
    }

    /// Those of these names.
    #[cfg(test)]
    pub(super) fn named(values: &[(&'static str, f64)]) -> Self {
        let mut all = Self::default();
        for (name, value) in values {
            let number = number(name).and_then(|number| Number::try_from(number).ok());
            all.extend(&Self { names: number.into_iter().collect(), values: vec![*value] });
        }
        all
    }

    /// Sets every metric that `other` has.
    pub(super) fn extend(&mut self, other: &Self) {
        for (number, value) in other.names.iter().zip(&other.values) {
            match self.names.binary_search(number) {
                Ok(place) => self.values[place] = *value,
                Err(place) => {
                    self.names.insert(place, *number);
                    self.values.insert(place, *value);
                }
            }
        }
    }

    /// The metric called `name`, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Option<f64>> {
        let number = number(name)?;
        let place = self.names.iter().position(|known| usize::from(*known) == number)?;
        self.values.get(place).copied().map(defined)
    }

    /// The metric called `name`. Out of range, which panics, for one that there is not.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<f64> {
        defined(self.values[self.keys().position(|known| known == name).unwrap_or(usize::MAX)])
    }

    /// The names.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.known().map(|(metric, _)| metric.name)
    }

    /// Metrics and values.
    pub(super) fn known(&self) -> impl Iterator<Item = (&'static Metric, Option<f64>)> + '_ {
        let metric = |number: &u8| alphabet().get(usize::from(*number)).copied();
        self.names.iter().filter_map(metric).zip(self.values.iter().copied().map(defined))
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        self.known().map(|(metric, value)| (metric.name, value))
    }
}

impl PartialEq for Metrics {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names && self.iter().eq(other.iter())
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.names.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}
