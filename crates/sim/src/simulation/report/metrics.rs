use serde::ser::{Serialize, SerializeMap, Serializer};
use std::ops::Index;

/// Metrics by name (`sojourn-measure`'s catalogue), in the order of names; `None` where undefined, as a burst ratio
/// without losses.
///
/// A sorted list: a report holds one for every queue and flow, and a map takes twice the memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics(Vec<(&'static str, Option<f64>)>);

/// A share; none of nothing.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Metrics {
    /// None yet; room for those of a queue.
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(24))
    }

    /// Sets a metric.
    pub(super) fn insert(&mut self, name: &'static str, value: Option<f64>) {
        match self.place(name) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (name, value)),
        }
    }

    /// All are in: gives spare room back.
    pub(super) fn finish(&mut self) {
        self.0.shrink_to_fit();
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (*known).cmp(name))
    }

    /// The metric called `name`, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Option<f64>> {
        self.place(name).ok().and_then(|place| self.0.get(place)).map(|(_, value)| value)
    }

    /// The names.
    pub fn keys(&self) -> impl Iterator<Item = &&'static str> {
        self.0.iter().map(|(name, _)| name)
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        self.0.iter().copied()
    }
}

impl Index<&str> for Metrics {
    type Output = Option<f64>;

    /// Out of range, which panics, for a metric that there is not.
    fn index(&self, name: &str) -> &Option<f64> {
        &self.0[self.place(name).unwrap_or(usize::MAX)].1
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
