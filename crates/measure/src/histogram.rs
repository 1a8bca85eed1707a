use crate::Moments;
use sojourn_units::Span;

/// Buckets a doubling: a value is known to 1/128 of itself (0.8 %).
const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;

/// A histogram of times with buckets of constant relative width (at most 1/128) over the whole range of nanoseconds.
///
/// Memory: 4 bytes a bucket up to the highest seen; 12 KiB for 1 second.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u32>,
    total: u64,
}

#[inline]
fn bucket(ns: u64) -> usize {
    if ns < SUB {
        return ns as usize;
    }
    let octave = 63 - ns.leading_zeros() - SUB_BITS;
    (((u64::from(octave) + 1) << SUB_BITS) + ((ns >> octave) - SUB)) as usize
}

/// The middle of a bucket, in nanoseconds.
fn middle(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < SUB {
        return bucket as f64;
    }
    let octave = (bucket >> SUB_BITS) - 1;
    let low = (SUB + (bucket & (SUB - 1))) << octave;
    let width = 1_u64 << octave;
    low as f64 + (width - 1) as f64 / 2.0
}

impl Histogram {
    /// Adds one time.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let bucket = bucket(span.nanos());
        self.total += 1;
        match self.counts.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.grow(bucket),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bucket: usize) {
        self.counts.resize((bucket + 1).next_multiple_of(SUB as usize), 0);
        self.counts[bucket] += 1;
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    /// Adds `n` times of zero.
    pub fn add_zeros(&mut self, n: u64) {
        if self.counts.is_empty() {
            self.counts.resize(SUB as usize, 0);
        }
        self.counts[0] = self.counts[0].saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
        self.total += n;
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
    }

    /// How many times were added.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The `q` quantile in milliseconds, to 0.8 %; `None` of nothing.
    #[must_use]
    pub fn quantile_ms(&self, q: f64) -> Option<f64> {
        let wanted = q * self.total as f64;
        let mut below = 0_u64;
        for (i, count) in self.counts.iter().enumerate() {
            below += u64::from(*count);
            if below > 0 && below as f64 >= wanted {
                return Some(middle(i) / 1e6);
            }
        }
        None
    }

    /// The distribution function: (milliseconds, share at or below), buckets in use only.
    #[must_use]
    pub fn cdf_ms(&self) -> Vec<(f64, f64)> {
        let mut below = 0_u64;
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(i, count)| {
            below += u64::from(*count);
            (middle(i) / 1e6, below as f64 / self.total as f64)
        })
        .collect()
    }
}

/// Times with exact mean and deviation, and quantiles to 0.8 %.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    /// Exact sums.
    pub moments: Moments,
    /// For quantiles.
    pub histogram: Histogram,
}

impl Sampled {
    /// Adds one time.
    #[inline]
    pub fn add(&mut self, span: Span) {
        self.moments.add(span);
        self.histogram.add(span);
    }

    /// Adds `n` times of zero.
    pub fn add_zeros(&mut self, n: u64) {
        self.moments.add_zeros(n);
        self.histogram.add_zeros(n);
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.merge(&other.histogram);
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.moments = Moments::default();
        self.histogram.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_and_tight() {
        // Every value falls into a bucket whose middle is within 1/256 of it, and buckets never go back.
        let mut last = 0;
        for ns in (0..4096).chain((12..63).flat_map(|e| [(1 << e) - 1, 1 << e, (1 << e) + (1 << (e - 1))])) {
            let b = bucket(ns);
            assert!(b >= last || ns < 4096, "{ns}");
            last = last.max(b);
            assert!((middle(b) - ns as f64).abs() <= ns as f64 / 256.0 + 0.5, "{ns} in {b}");
        }
        assert_eq!(bucket(127), 127);
        assert_eq!(bucket(128), 128);
        assert_eq!(bucket(255), 255);
        assert_eq!(bucket(256), 256);
        assert_eq!(bucket(257), 256);
    }

    #[test]
    fn quantiles_of_a_uniform_ramp() {
        let mut histogram = Histogram::default();
        for us in 1..=1000 {
            histogram.add(Span::from_micros(us));
        }
        let p50 = histogram.quantile_ms(0.5).unwrap();
        let p99 = histogram.quantile_ms(0.99).unwrap();
        assert!((p50 / 0.5 - 1.0).abs() < 0.008, "{p50}");
        assert!((p99 / 0.99 - 1.0).abs() < 0.008, "{p99}");
    }
}
