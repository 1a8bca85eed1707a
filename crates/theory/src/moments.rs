//! What is asked of a distribution.

/// A steady state. Lengths in packets, times in mean service times.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// P_n: the share of time with n packets in the system. Beyond its end at most 1e-12 is left.
    pub p: Vec<f64>,
    /// Mean number in the system (governing text, equation 3).
    pub mean: f64,
    /// Its standard deviation (equation 3).
    pub sd: f64,
    /// Mean number waiting, without the one in service.
    pub waiting: f64,
    /// Share of arrivals that are lost (equation 4).
    pub loss: f64,
    /// Mean response time of an accepted packet: wait and service (equation 5).
    pub response: f64,
    /// Share of time that the server works.
    pub utilisation: f64,
}

impl Steady {
    /// From sums over the distribution: `mass` = sum w, `first` = sum n w, `second` = sum n^2 w.
    pub(crate) fn from_sums(p: Vec<f64>, first: f64, second: f64, idle: f64, loss: f64, load: f64) -> Self {
        let sd = libm::sqrt((second - first * first).max(0.0));
        let carried = load * (1.0 - loss);
        let utilisation = 1.0 - idle;
        Self { p, mean: first, sd, waiting: first - utilisation, loss, response: first / carried, utilisation }
    }
}

/// How long an accepted packet stays, for exponential service: Erlang of what it finds and itself.
#[derive(Clone, Debug)]
pub struct Delay {
    /// P(an accepted packet finds n or more), n from 0.
    at_least: Vec<f64>,
}

impl Delay {
    /// From the distribution of what an accepted packet finds.
    pub(crate) fn new(finds: &[f64]) -> Self {
        let whole: f64 = finds.iter().rev().sum();
        let mut at_least: Vec<f64> = finds
            .iter()
            .rev()
            .scan(0.0, |sum, p| {
                *sum += p / whole;
                Some(*sum)
            })
            .collect();
        at_least.reverse();
        Self { at_least }
    }

    /// P(response time > t), t in mean service times.
    ///
    /// A packet that finds n stays longer than t when at most n services end by t: the sum over j of Poisson(j; t)
    /// times P(it finds j or more).
    #[must_use]
    pub fn exceeds(&self, t: f64) -> f64 {
        poisson(t, self.at_least.len()).iter().zip(&self.at_least).map(|(a, b)| a * b).sum()
    }

    /// The response time that a share `q` of accepted packets does not exceed, by bisection.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        while self.exceeds(high) > 1.0 - q && high < 1e12 {
            high *= 2.0;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.exceeds(middle) > 1.0 - q {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }
}

/// Poisson probabilities of 0 to `count` - 1 for mean `mean`, from logarithms so that none overflows.
#[must_use]
pub(crate) fn poisson(mean: f64, count: usize) -> Vec<f64> {
    if mean <= 0.0 {
        return (0..count).map(|j| f64::from(u8::from(j == 0))).collect();
    }
    let log = libm::log(mean);
    (0..count).map(|j| libm::exp(j as f64 * log - mean - libm::lgamma(j as f64 + 1.0))).collect()
}
