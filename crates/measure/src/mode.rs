use sojourn_units::Span;

/// The most frequent value of times rounded to whole milliseconds (seed 000 section 4.1.1).
#[derive(Clone, Debug, Default)]
pub struct ModeMs {
    counts: Vec<u32>,
}

/// Longer times fall together into the last bucket.
const LONGEST_MS: usize = 10_000;

impl ModeMs {
    /// Adds one time.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let ms = (((span.nanos() + 500_000) / 1_000_000) as usize).min(LONGEST_MS);
        match self.counts.get_mut(ms) {
            Some(count) => *count += 1,
            None => self.grow(ms),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, ms: usize) {
        self.counts.resize(ms + 1, 0);
        self.counts[ms] += 1;
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.counts.clear();
    }

    /// The mode in milliseconds, the smallest of equals; `None` of nothing.
    #[must_use]
    pub fn mode_ms(&self) -> Option<f64> {
        let highest = *self.counts.iter().max()?;
        self.counts.iter().position(|count| *count == highest).map(|ms| ms as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_of_rounded_milliseconds() {
        let mut mode = ModeMs::default();
        // 7.4 and 6.6 ms round to 7, 7.5 to 8, 0.4 to 0.
        for us in [7_400, 6_600, 7_500, 400] {
            mode.add(Span::from_micros(us));
        }
        assert_eq!(mode.mode_ms(), Some(7.0));
    }
}
