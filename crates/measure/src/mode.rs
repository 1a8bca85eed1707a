use sojourn_units::Span;

/// The most frequent values of times: rounded to whole milliseconds (Shu 2023, section 4.1.1), and in finer bins.
#[derive(Clone, Debug, Default)]
pub struct Mode {
    /// Times below [`FINE_MS`] - 0.5 ms, in bins of 10 us: the edges of whole milliseconds, half between two, are among theirs.
    fine: Vec<u32>,
    /// Longer times, rounded, from [`FINE_MS`] on.
    coarse: Vec<u32>,
}

const BIN_NS: u64 = 10_000;
/// Bins in a millisecond.
const BINS: usize = 100;
const FINE_MS: usize = 50;
const FINE_BINS: usize = FINE_MS * BINS - BINS / 2;
/// Longer times fall together into the last bucket.
const LONGEST_MS: usize = 10_000;

impl Mode {
    /// Adds one time.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let bin = (span.nanos() / BIN_NS) as usize;
        match self.fine.get_mut(bin) {
            Some(count) => *count += 1,
            None => self.add_long(bin),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_long(&mut self, bin: usize) {
        if self.fine.is_empty() {
            self.fine.resize(FINE_BINS, 0);
        }
        if bin < FINE_BINS {
            self.fine[bin] += 1;
            return;
        }
        let place = ((bin + BINS / 2) / BINS).min(LONGEST_MS) - FINE_MS;
        if self.coarse.len() <= place {
            self.coarse.resize(place + 1, 0);
        }
        self.coarse[place] += 1;
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in [(&mut self.fine, &other.fine), (&mut self.coarse, &other.coarse)] {
            if mine.len() < theirs.len() {
                mine.resize(theirs.len(), 0);
            }
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.fine.fill(0);
        self.coarse.clear();
    }

    /// The mode in whole milliseconds, the smallest of equals; `None` of nothing.
    #[must_use]
    pub fn mode_ms(&self) -> Option<f64> {
        // The first millisecond has half as many bins: times below 0.5 ms.
        let (zero, rest) = self.fine.split_at_checked(BINS / 2)?;
        let fine = std::iter::once(zero).chain(rest.chunks(BINS)).map(|bins| bins.iter().sum::<u32>());
        most(fine.chain(self.coarse.iter().copied())).map(|ms| ms as f64)
    }

    /// The middle of the most frequent bin of 10 us, in milliseconds, the smallest of equals; `None` without times
    /// below 49.5 ms.
    #[must_use]
    pub fn mode_fine_ms(&self) -> Option<f64> {
        most(self.fine.iter().copied()).map(|bin| (bin as f64 + 0.5) * BIN_NS as f64 / 1e6)
    }
}

/// The place of the first of the largest counts; `None` where all are 0.
fn most(counts: impl Iterator<Item = u32>) -> Option<usize> {
    let mut found = (0, None);
    for (place, count) in counts.enumerate() {
        if count > found.0 {
            found = (count, Some(place));
        }
    }
    found.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times_us: &[u64]) -> Mode {
        let mut mode = Mode::default();
        times_us.iter().for_each(|us| mode.add(Span::from_micros(*us)));
        mode
    }

    #[test]
    fn mode_of_rounded_milliseconds() {
        // 7.4 and 6.6 ms round to 7, 7.5 to 8, 0.4 to 0.
        assert_eq!(of(&[7_400, 6_600, 7_500, 400]).mode_ms(), Some(7.0));
        // 0.499 to 0, 0.5 and 1.499 to 1.
        assert_eq!(of(&[499, 500, 1_499]).mode_ms(), Some(1.0));
        // The smallest of equals, and nothing.
        assert_eq!(of(&[3_000, 2_000]).mode_ms(), Some(2.0));
        assert_eq!(of(&[]).mode_ms(), None);
    }

    #[test]
    fn long_times_are_in_whole_milliseconds_only() {
        // 49.499 rounds to 49, 49.5 and 50.4 to 50; what is beyond 10 s falls together.
        assert_eq!(of(&[49_499, 49_500, 50_400]).mode_ms(), Some(50.0));
        assert_eq!(of(&[49_500]).mode_fine_ms(), None);
        assert_eq!(of(&[11_000_000, 12_000_000, 7]).mode_ms(), Some(10_000.0));
    }

    #[test]
    fn the_mode_of_finer_bins_is_the_middle_of_one() {
        // Bins [7.19, 7.20) and [7.20, 7.21): two of three times in the second, its middle is 7.205.
        let mut mode = of(&[7_199, 7_200, 7_209]);
        assert_eq!(mode.mode_fine_ms(), Some(7.205));
        mode.merge(&of(&[60_000, 60_000, 60_100, 60_200, 7_195, 7_195]));
        // Now [7.19, 7.20) has three; 60 ms has four times, 7 ms five.
        assert_eq!(mode.mode_fine_ms(), Some(7.195));
        assert_eq!(mode.mode_ms(), Some(7.0));
        mode.clear();
        assert_eq!((mode.mode_ms(), mode.mode_fine_ms()), (None, None));
    }
}
