//! What one queue did since someone last looked, among it the eight features that dAQM looks at.

use sojourn_aqm::{schemes::daqm, Counters};
use sojourn_measure::{Level, Sampled};
use sojourn_units::{Instant, Span};

/// Time between samples of the features: that of dAQM's queue length (Shu 2023, section 4.1.2).
const SAMPLE: Span = Span::from_millis(15);

/// Equal samples after which a derivative over five is zero.
const SETTLED: u64 = 5;

/// Measures of a window, and what the features need from before it.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// Its begin.
    pub since: Instant,
    pub waiting: Level,
    pub sojourn: Sampled,
    /// Packets that left with a CE mark of this queue.
    pub marked: u64,
    /// The queue's counters at its begin.
    pub before: Counters,
    /// Payload that all flows had delivered at its begin.
    pub payload_before: u64,
    /// Due at this instant, a multiple of [`SAMPLE`].
    next: Instant,
    /// Waiting packets at the last samples, oldest first, and how many there were.
    lengths: [f64; 5],
    sampled: u64,
    /// Waiting times in ms of the last packets that left, oldest first, and how many there were.
    sojourns: [f64; 5],
    departed: u64,
    last_joined: Option<Instant>,
    /// Average spacing of arrivals of packets that left, weight 1/16, as dAQM's `interarrival measured`.
    spacing_ms: Option<f64>,
    /// Sums over samples of each feature's absolute value, and of how many.
    sums: [f64; 8],
    counts: [u64; 8],
}

impl Window {
    /// Begins to look at a queue in which `waiting` packets wait.
    pub fn new(now: Instant, waiting: u64, before: Counters, payload_before: u64) -> Self {
        let mut level = Level::new();
        level.set(now, waiting);
        let past = now.nanos() / SAMPLE.nanos();
        Self {
            since: now,
            waiting: level,
            sojourn: Sampled::default(),
            marked: 0,
            before,
            payload_before,
            next: Instant::from_nanos((past + 1) * SAMPLE.nanos()),
            lengths: [0.0; 5],
            sampled: 0,
            sojourns: [0.0; 5],
            departed: 0,
            last_joined: None,
            spacing_ms: None,
            sums: [0.0; 8],
            counts: [0; 8],
        }
    }

    /// A packet arrived; dropped or not is heard of next.
    #[inline]
    pub fn arrived(&mut self, now: Instant) {
        self.advance(now);
        self.waiting.up(now);
    }

    /// A packet was dropped.
    #[inline]
    pub fn dropped(&mut self, now: Instant) {
        self.advance(now);
        self.waiting.down(now);
    }

    /// A packet that had joined at `joined` left.
    #[inline]
    pub fn left(&mut self, now: Instant, joined: Instant) {
        self.advance(now);
        self.waiting.down(now);
        self.sojourn.add(now - joined);
        self.sojourns.rotate_left(1);
        self.sojourns[4] = (now - joined).millis();
        self.departed += 1;
        if let Some(last) = self.last_joined.replace(joined) {
            // Of a fair queue also packets leave that came before the last one.
            let spacing = joined.since(last).millis();
            self.spacing_ms = Some(self.spacing_ms.map_or(spacing, |mean| mean + (spacing - mean) / 16.0));
        }
    }

    /// Takes the samples due up to `now`: the queue has not changed since the last event.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        if self.next <= now {
            self.take_samples(now);
        }
    }

    #[inline(never)]
    fn take_samples(&mut self, now: Instant) {
        let due = now.since(self.next).nanos() / SAMPLE.nanos() + 1;
        self.next += SAMPLE * due;
        let taken = due.min(SETTLED);
        for _ in 0..taken {
            self.lengths.rotate_left(1);
            self.lengths[4] = self.waiting.get() as f64;
            self.sampled += 1;
            self.count(1);
        }
        // From here on five equal samples follow each other.
        self.count(due - taken);
    }

    /// Counts the present features `times` times.
    fn count(&mut self, times: u64) {
        for (feature, value) in self.present().into_iter().enumerate() {
            if value.is_finite() {
                self.sums[feature] += value.abs() * times as f64;
                self.counts[feature] += times;
            }
        }
    }

    /// S0 to S3 and Q0 to Q3 now; not a number where one cannot be had.
    fn present(&self) -> [f64; 8] {
        let [_, _, _, _, s0] = self.sojourns;
        let s0 = if self.departed > 0 { s0 } else { f64::NAN };
        let spacing = self.spacing_ms.filter(|ms| *ms > 0.0 && self.departed >= 5);
        let [s1, s2, s3] = spacing.map_or([f64::NAN; 3], |ms| daqm::derivatives(&self.sojourns, ms));
        let [_, _, _, _, q0] = self.lengths;
        let is_known = self.sampled >= 5;
        let [q1, q2, q3] = if is_known { daqm::derivatives(&self.lengths, 1.0) } else { [f64::NAN; 3] };
        [s0, s1, s2, s3, q0, q1, q2, q3]
    }

    /// Means over the window's samples of the features' absolute values; `None` where there was none.
    pub fn features(&self) -> [Option<f64>; 8] {
        std::array::from_fn(|i| (self.counts[i] > 0).then(|| self.sums[i] / self.counts[i] as f64))
    }

    /// The next window begins.
    pub fn restart(&mut self, now: Instant, before: Counters, payload_before: u64) {
        self.advance(now);
        self.since = now;
        self.waiting.restart(now);
        self.sojourn.clear();
        self.marked = 0;
        (self.before, self.payload_before) = (before, payload_before);
        (self.sums, self.counts) = ([0.0; 8], [0; 8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn near(found: Option<f64>, expected: f64) {
        let found = found.unwrap_or(f64::NAN);
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn features_of_a_queue_that_grows_by_one_a_sample() {
        // Arrivals at 10, 25, 40, ... ms: the samples at 15, 30, ..., 150 ms find 1, 2, ..., 10 packets. Q0 is 5.5 in the mean.
        // From the fifth sample on the derivatives are of five rising by one: Q1 = q1 - q2 = -1, so 1; a = b = c = 1, so
        // Q2 = Q3 = 0.
        let mut window = Window::new(Instant::ZERO, 0, Counters::default(), 0);
        (0..10).for_each(|i| window.arrived(at(10 + 15 * i)));
        window.advance(at(150));
        let [s0, _, _, _, q0, q1, q2, q3] = window.features();
        assert_eq!(s0, None);
        near(q0, 5.5);
        near(q1, 1.0);
        near(q2, 0.0);
        near(q3, 0.0);
    }

    #[test]
    fn sojourn_features_divide_by_the_measured_spacing() {
        // Packets joined every 2 ms and waited 1, 2, 4, 8, 16 ms: spacing 2 ms. S1 = (1 - 2)/2 = -0.5; a = 3/4, b = 6/4, c = 12/4;
        // d = (b - a)/2 = 0.375, e = (c - b)/2 = 0.75, S3 = (e - d)/2 = 0.1875.
        let mut window = Window::new(Instant::ZERO, 5, Counters::default(), 0);
        let sojourns = [1, 2, 4, 8, 16];
        // Departures at 1, 4, 8, 14, 24 ms: the sample at 15 ms knows four, that at 30 ms all.
        sojourns.iter().enumerate().for_each(|(i, ms)| window.left(at(2 * i as u64 + ms), at(2 * i as u64)));
        window.advance(at(30));
        let [s0, s1, s2, s3, ..] = window.features();
        // The last that left had waited 8 ms, then 16.
        near(s0, 12.0);
        near(s1, 0.5);
        near(s2, 0.375);
        near(s3, 0.1875);
    }

    #[test]
    fn an_idle_hour_costs_five_samples_and_counts_all() {
        // 4 packets throughout 3600/0.015 = 240,000 samples.
        let mut window = Window::new(Instant::ZERO, 4, Counters::default(), 0);
        window.advance(at(3_600_000));
        assert_eq!(window.counts[4], 240_000);
        near(window.features()[4], 4.0);
        // Those of four and fewer samples have no derivative.
        assert_eq!(window.counts[5], 240_000 - 4);
        near(window.features()[5], 0.0);
    }
}
