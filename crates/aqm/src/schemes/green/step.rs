use crate::ticks::Ticks;
use sojourn_units::{BitRate, Instant, Span};

/// The probability that steps by the sign of arrival rate less target, and the arrival rate.
#[derive(Clone, Debug)]
pub(super) struct Step {
    ticks: Ticks,
    interval_s: f64,
    /// T over the time constant: -ln of what an update keeps of x_est.
    steepness: f64,
    /// `exp(-steepness)`.
    kept: f64,
    /// c_t: the target as a share of the link's rate.
    target: f64,
    dp: f64,
    /// Since the last update.
    arrived_bytes: u64,
    /// x_est, in bytes a second.
    estimate: f64,
    probability: f64,
}

impl Step {
    pub(super) fn new(interval: Span, time_constant: Span, target: f64, dp: f64) -> Self {
        let steepness = interval.seconds() / time_constant.seconds();
        Self {
            ticks: Ticks::new(interval),
            interval_s: interval.seconds(),
            steepness,
            kept: libm::exp(-steepness),
            target,
            dp,
            arrived_bytes: 0,
            estimate: 0.0,
            probability: 0.0,
        }
    }

    /// What `old` has learnt.
    pub(super) fn keep(&mut self, old: &mut Self, interval: Span) {
        self.ticks = core::mem::replace(&mut old.ticks, Ticks::new(interval)).every(interval);
        (self.arrived_bytes, self.estimate, self.probability) = (old.arrived_bytes, old.estimate, old.probability);
    }

    pub(super) fn probability(&self) -> f64 {
        self.probability
    }

    pub(super) fn rate_bit_s(&self) -> f64 {
        8.0 * self.estimate
    }

    pub(super) fn arrival(&mut self, now: Instant, bytes: u32) {
        self.ticks.start(now);
        self.arrived_bytes += u64::from(bytes);
    }

    /// An update is due.
    #[inline]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.ticks.is_due(now)
    }

    /// All updates up to `now`. Only the first can have seen arrivals.
    #[cold]
    pub(super) fn catch_up(&mut self, now: Instant, rate: BitRate) {
        let due = self.ticks.due(now);
        if due > 0 {
            self.ticks.skip_to_last(now, 0);
            let target = self.target * rate.bytes_s();
            self.update(target);
            self.idle(due - 1, target);
        }
    }

    /// One update, at its nominal instant.
    fn update(&mut self, target: f64) {
        let arrived = core::mem::take(&mut self.arrived_bytes) as f64 / self.interval_s;
        self.estimate = (1.0 - self.kept) * arrived + self.kept * self.estimate;
        if self.estimate > target {
            self.up(1.0);
        } else if self.estimate < target {
            self.down(1.0);
        }
    }

    /// `n` updates without arrivals: x_est decays, so that P goes up for some of them and then down for the rest.
    fn idle(&mut self, n: u64, target: f64) {
        if n == 0 {
            return;
        }
        let n = n as f64;
        // The k-th leaves x_est e^(-k T/K), above the target for k below ln(x_est / target) K/T.
        let above = if self.estimate * self.kept <= target {
            0.0
        } else if target > 0.0 {
            (libm::ceil(libm::log(self.estimate / target) / self.steepness) - 1.0).clamp(0.0, n)
        } else {
            n
        };
        self.up(above);
        if target > 0.0 {
            self.down(n - above);
        }
        self.estimate *= libm::exp(-self.steepness * n);
    }

    fn up(&mut self, steps: f64) {
        self.probability = (self.probability + steps * self.dp).min(1.0);
    }

    fn down(&mut self, steps: f64) {
        self.probability = (self.probability - steps * self.dp).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::close;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// 1 Mbit/s, so that the target is half of 125,000 bytes a second.
    const RATE: BitRate = BitRate::from_bit_s(1_000_000);

    #[test]
    fn updates_by_hand() {
        // T = K ln 2: an update keeps a half of x_est.
        let interval = Span::from_nanos(10_000_000);
        let mut step = Step::new(interval, Span::from_nanos(14_426_950), 0.5, 0.125);
        assert!((step.kept - 0.5).abs() < 1e-7);
        step.kept = 0.5;
        step.steepness = core::f64::consts::LN_2;
        step.arrival(at(1), 2000);
        step.catch_up(at(9), RATE);
        assert_eq!((step.estimate, step.probability), (0.0, 0.0), "not yet");
        // 10 ms: 2000 B in 10 ms are 200,000 B/s; half of it is above 62,500.
        step.catch_up(at(10), RATE);
        assert_eq!((step.estimate, step.probability), (100_000.0, 0.125));
        // 20 ms: 3000 B more: (300,000 + 100,000)/2 = 200,000.
        step.arrival(at(12), 1000);
        step.arrival(at(19), 2000);
        step.catch_up(at(20), RATE);
        assert_eq!((step.estimate, step.probability, step.rate_bit_s()), (200_000.0, 0.25, 1_600_000.0));
        // Silence: 30 ms: 100,000, above; 40 ms: 50,000, below; 50 ms: below.
        let mut looked = step.clone();
        for (ms, p) in [(30, 0.375), (40, 0.25), (50, 0.125), (60, 0.0), (70, 0.0)] {
            looked.catch_up(at(ms), RATE);
            close(looked.probability, p);
        }
        step.catch_up(at(50), RATE);
        close(step.probability, 0.125);
        close(step.estimate, 25_000.0);
    }

    #[test]
    fn an_idle_time_at_once_is_an_idle_time_step_by_step() {
        for (load, target, steepness_ms) in
            [(90_000, 0.5, 35), (5_000_000, 0.97, 700), (70_000, 0.9, 3), (9_000_000, 0.0, 50)]
        {
            let new = || Step::new(Span::from_millis(10), Span::from_millis(steepness_ms), target, 0.003);
            let (mut at_once, mut by_step) = (new(), new());
            for step in [&mut at_once, &mut by_step] {
                step.probability = 0.4;
                step.arrival(at(0), load);
                step.catch_up(at(10), RATE);
            }
            for n in [1, 2, 3, 10, 77, 500, 100_000] {
                let (mut jump, mut walk) = (at_once.clone(), by_step.clone());
                jump.catch_up(at(10 * (n + 1)), RATE);
                for k in 1..=n {
                    walk.catch_up(at(10 * (k + 1)), RATE);
                }
                let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs().max(1.0);
                assert!(near(jump.probability, walk.probability), "{load} {n}: {jump:?} {walk:?}");
                assert!(near(jump.estimate, walk.estimate), "{load} {n}: {jump:?} {walk:?}");
            }
        }
    }

    #[test]
    fn at_the_target_it_stands() {
        let mut step = Step::new(Span::from_millis(10), Span::from_millis(1), 0.5, 0.125);
        (step.kept, step.probability) = (0.0, 0.5);
        // 625 B in 10 ms are 62,500 B/s.
        step.arrival(at(0), 625);
        step.catch_up(at(10), RATE);
        assert_eq!(step.probability, 0.5);
        // A link without a rate: any arrival is too much, none is as it should be.
        step.arrival(at(11), 1);
        step.catch_up(at(20), BitRate::ZERO);
        assert_eq!(step.probability, 0.625);
        step.catch_up(at(30), BitRate::ZERO);
        assert_eq!(step.probability, 0.625);
    }
}
