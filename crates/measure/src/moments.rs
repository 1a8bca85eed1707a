use sojourn_units::Span;

/// Count, sum and sum of squares of times, exact in whole nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    sum: u128,
    squares: u128,
}

impl Moments {
    /// Adds one time.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let ns = u128::from(span.nanos());
        self.count += 1;
        self.sum += ns;
        self.squares += ns * ns;
    }

    /// Adds `n` times of zero.
    pub fn add_zeros(&mut self, n: u64) {
        self.count += n;
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// What was added since this was as `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self { count: self.count - earlier.count, sum: self.sum - earlier.sum, squares: self.squares - earlier.squares }
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum in nanoseconds.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// Mean; zero of nothing.
    #[must_use]
    pub fn mean(&self) -> Span {
        Span::from_nanos(self.sum.checked_div(u128::from(self.count)).unwrap_or_default() as u64)
    }

    /// Mean in milliseconds; `None` of nothing.
    #[must_use]
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e6)
    }

    /// Standard deviation (population) in milliseconds; `None` of nothing.
    #[must_use]
    pub fn sd_ms(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        // n * squares - sum^2 may pass 2^128 for long runs: take the mean off first, in floating point.
        let n = self.count as f64;
        let mean = self.sum as f64 / n;
        let variance = self.squares as f64 / n - mean * mean;
        Some(variance.max(0.0).sqrt() / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation() {
        // 1, 2, 3, 4 ms: mean 2.5, population variance 1.25.
        let mut moments = Moments::default();
        for ms in 1..=4 {
            moments.add(Span::from_millis(ms));
        }
        assert_eq!(moments.mean_ms(), Some(2.5));
        assert!((moments.sd_ms().unwrap() - 1.25_f64.sqrt()).abs() < 1e-12);
    }
}
