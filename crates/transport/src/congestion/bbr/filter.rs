//! Kathleen Nichols' windowed maximum: three candidates instead of all samples.
//!
//! As Linux's `lib/win_minmax.c`: the best of the window, the best since that one, and the best since the second. When no
//! second has come for a quarter of the window, or third for half of it, the newest sample is taken, so that candidates are
//! spread over the window. The result is the maximum of the window or of a younger part of it.

/// A sample and its round.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    round: u32,
    value: f64,
}

/// The maximum over `window` rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowedMax {
    window: u32,
    best: [Sample; 3],
}

impl WindowedMax {
    pub fn new(window: u32) -> Self {
        Self { window, best: [Sample::default(); 3] }
    }

    pub fn get(&self) -> f64 {
        self.best[0].value
    }

    /// Takes a sample; `round` never falls.
    pub fn update(&mut self, round: u32, value: f64) {
        let sample = Sample { round, value };
        let [first, second, third] = self.best;
        if value >= first.value || round - third.round > self.window {
            self.best = [sample; 3];
            return;
        }
        if value >= second.value {
            self.best = [first, sample, sample];
        } else if value >= third.value {
            self.best[2] = sample;
        }
        let [first, second, third] = self.best;
        let age = round - first.round;
        if age > self.window {
            self.best = [second, third, sample];
            if round - second.round > self.window {
                self.best = [third, sample, sample];
            }
        } else if second.round == first.round && age > self.window / 4 {
            self.best = [first, sample, sample];
        } else if third.round == second.round && age > self.window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_lives_for_ten_rounds() {
        let mut max = WindowedMax::new(10);
        max.update(1, 100.0);
        for round in 2..=11 {
            max.update(round, 50.0 + f64::from(round));
            assert_eq!(max.get(), 100.0, "round {round}");
        }
        // Round 12 is the eleventh after; candidates then are the newest of each part of the window.
        max.update(12, 40.0);
        assert!((50.0..=61.0).contains(&max.get()), "{}", max.get());
    }

    #[test]
    fn what_it_gives_is_a_sample_of_the_window_and_no_less_than_the_newest() {
        let (mut max, mut seen, mut state) = (WindowedMax::new(10), Vec::new(), 7_u64);
        for round in 0..2_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = (state >> 40) as f64;
            seen.push(value);
            max.update(round, value);
            let window = &seen[seen.len().saturating_sub(11)..];
            assert!(max.get() >= value && window.contains(&max.get()), "round {round}");
        }
    }

    #[test]
    fn a_silence_longer_than_the_window_forgets_all() {
        let mut max = WindowedMax::new(10);
        max.update(1, 100.0);
        max.update(12, 1.0);
        assert_eq!(max.get(), 1.0);
    }
}
