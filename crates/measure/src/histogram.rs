use crate::Moments;
use sojourn_units::Span;

/// Buckets a doubling: a value is known to 1/128 of itself (0.8 %).
const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;

/// A histogram of times with buckets of constant relative width (at most 1/128) over the whole range of nanoseconds.
///
/// Memory: 8 bytes for each bucket in use while these are few (a link behind which bursts of one size wait);
/// else 4 bytes a bucket up to the highest seen, 12 KiB for 1 second.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Counts,
    total: u64,
}

#[derive(Clone, Debug)]
enum Counts {
    /// Buckets in use and their counts, ascending.
    Few(Vec<(u32, u32)>),
    /// All buckets.
    All(Vec<u32>),
}

impl Default for Counts {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

/// Buckets in use that are kept in a list.
const FEW: usize = 16;

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
        if let Counts::All(counts) = &mut self.counts {
            if let Some(count) = counts.get_mut(bucket) {
                *count += 1;
                self.total += 1;
                return;
            }
        } else if let Counts::Few(few) = &mut self.counts {
            // Behind a link on which bursts of one size wait, nearly all fall into one bucket.
            if let Some((_, count)) = few.first_mut().filter(|(known, _)| *known as usize == bucket) {
                *count = count.saturating_add(1);
                self.total += 1;
                return;
            }
        }
        self.add_to(bucket, 1);
    }

    /// Adds `n` times of a bucket, for which there may be no room yet.
    #[inline(never)]
    fn add_to(&mut self, bucket: usize, n: u32) {
        self.total += u64::from(n);
        if let Counts::Few(few) = &mut self.counts {
            let place = few.partition_point(|(known, _)| (*known as usize) < bucket);
            let room = few.len() < FEW;
            match few.get_mut(place) {
                Some((known, count)) if *known as usize == bucket => {
                    *count = count.saturating_add(n);
                    return;
                }
                _ if room => {
                    few.insert(place, (bucket as u32, n));
                    return;
                }
                _ => {}
            }
            let mut all = Vec::new();
            let highest = few.last().map_or(0, |(bucket, _)| *bucket as usize);
            all.resize((highest + 1).next_multiple_of(SUB as usize), 0);
            for (bucket, count) in few {
                all[*bucket as usize] = *count;
            }
            self.counts = Counts::All(all);
        }
        if let Counts::All(all) = &mut self.counts {
            if bucket >= all.len() {
                all.resize((bucket + 1).next_multiple_of(SUB as usize), 0);
            }
            all[bucket] = all[bucket].saturating_add(n);
        }
    }

    /// Buckets in use and their counts, ascending.
    fn used(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let (few, all): (&[(u32, u32)], &[u32]) = match &self.counts {
            Counts::Few(few) => (few, &[]),
            Counts::All(all) => (&[], all),
        };
        let few = few.iter().map(|(bucket, count)| (*bucket as usize, *count));
        few.chain(all.iter().copied().enumerate()).filter(|(_, count)| *count > 0)
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in other.used() {
            self.add_to(bucket, count);
        }
    }

    /// What was added since this was as `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut later = Self::default();
        let mut before = earlier.used().peekable();
        for (bucket, count) in self.used() {
            let known = before.next_if(|(known, _)| *known == bucket).map_or(0, |(_, count)| count);
            if count > known {
                later.add_to(bucket, count - known);
            }
        }
        later
    }

    /// Adds `n` times of zero.
    pub fn add_zeros(&mut self, n: u64) {
        if n > 0 {
            self.add_to(0, u32::try_from(n).unwrap_or(u32::MAX));
            // A count saturates, their total does not.
            self.total += n - n.min(u64::from(u32::MAX));
        }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        match &mut self.counts {
            Counts::Few(few) => few.clear(),
            Counts::All(all) => all.fill(0),
        }
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
        for (bucket, count) in self.used() {
            below += u64::from(count);
            if below as f64 >= wanted {
                return Some(middle(bucket) / 1e6);
            }
        }
        None
    }

    /// The least time in milliseconds, to 0.8 %; `None` of nothing.
    #[must_use]
    pub fn least_ms(&self) -> Option<f64> {
        self.used().next().map(|(bucket, _)| middle(bucket) / 1e6)
    }

    /// How far the `q` quantile lies above the least time, in milliseconds; `None` of nothing.
    #[must_use]
    pub fn variation_ms(&self, q: f64) -> Option<f64> {
        Some(self.quantile_ms(q)? - self.least_ms()?)
    }

    /// The distribution function: (milliseconds, share at or below), buckets in use only.
    #[must_use]
    pub fn cdf_ms(&self) -> Vec<(f64, f64)> {
        let mut below = 0_u64;
        let points = self.used().map(|(bucket, count)| {
            below += u64::from(count);
            (middle(bucket) / 1e6, below as f64 / self.total as f64)
        });
        points.collect()
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

    /// What was added since this was as `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self { moments: self.moments.since(&earlier.moments), histogram: self.histogram.since(&earlier.histogram) }
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
    fn few_buckets_and_all_of_them_agree() {
        // 40 values in 20 buckets apart, which passes from the list to the table on the way.
        let mut whole = Histogram::default();
        let mut parts = Histogram::default();
        for i in 0..40 {
            let span = Span::from_nanos(1000 << (i % 20));
            whole.add(span);
            let mut one = Histogram::default();
            one.add(span);
            parts.merge(&one);
            assert_eq!(whole.cdf_ms(), parts.cdf_ms());
            assert_eq!((whole.count(), whole.cdf_ms().len()), (i + 1, (i as usize + 1).min(20)));
        }
        assert_eq!(whole.quantile_ms(0.5), Some(middle(bucket(1000 << 9)) / 1e6));
        whole.clear();
        assert_eq!((whole.count(), whole.quantile_ms(0.5)), (0, None));
    }

    #[test]
    fn a_part_is_what_the_whole_has_more_than_before() {
        // 20 buckets in all, 10 of which had been used before: the difference of two tables is that of a list and a table.
        let mut whole = Sampled::default();
        (0..10).for_each(|i| whole.add(Span::from_nanos(1000 << i)));
        let earlier = whole.clone();
        let mut later = Sampled::default();
        for i in 5..20 {
            whole.add(Span::from_nanos(1000 << i));
            later.add(Span::from_nanos(1000 << i));
        }
        let found = whole.since(&earlier);
        assert_eq!((found.histogram.cdf_ms(), found.moments), (later.histogram.cdf_ms(), later.moments));
        assert_eq!(found.histogram.count(), 15);
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
