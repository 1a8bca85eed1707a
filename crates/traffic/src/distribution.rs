//! Random amounts by inverse transform: one draw a value, the same on every machine.

use sojourn_aqm::Random;
use sojourn_units::{Bytes, Span};

/// A quantity that a [`Distribution`] can be over.
pub trait Measure: Copy {
    /// In base units (ns, B).
    fn base(self) -> f64;
}

impl Measure for Span {
    fn base(self) -> f64 {
        self.nanos() as f64
    }
}

impl Measure for Bytes {
    fn base(self) -> f64 {
        self.get() as f64
    }
}

/// A distribution of times or sizes.
///
/// With `max`, the distribution given that the value does not exceed `max`, as ns-3's `Bound` draws again;
/// here by scaling the uniform draw, so that one draw always suffices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution<T> {
    /// Always this; draws nothing.
    Constant(T),
    /// Uniform between the two.
    Uniform(T, T),
    /// F(x) = 1 - exp(-x / mean).
    Exponential {
        /// The mean without `max`.
        mean: T,
        /// The largest value.
        max: Option<T>,
    },
    /// F(x) = 1 - (scale / x)^shape from `scale` on.
    Pareto {
        /// The smallest value, k.
        scale: T,
        /// Tail index, alpha; the mean is infinite at 1 and below, the variance at 2 and below.
        shape: f64,
        /// The largest value.
        max: Option<T>,
    },
    /// F(x) = 1 - exp(-(x / scale)^shape).
    Weibull {
        /// b.
        scale: T,
        /// c; 1 is the exponential distribution.
        shape: f64,
        /// The largest value.
        max: Option<T>,
    },
}

impl<T: Measure> Distribution<T> {
    /// The probability of a value up to `max`; 1 without one.
    fn below_max(self) -> f64 {
        match self {
            Self::Exponential { mean, max: Some(max) } => -libm::expm1(-max.base() / mean.base()),
            Self::Pareto { scale, shape, max: Some(max) } => 1.0 - libm::pow(scale.base() / max.base(), shape),
            Self::Weibull { scale, shape, max: Some(max) } => {
                -libm::expm1(-libm::pow(max.base() / scale.base(), shape))
            }
            _ => 1.0,
        }
    }

    /// The value at which the distribution function reaches `u`, in base units.
    fn quantile(self, u: f64) -> f64 {
        // -ln(1 - u), exact for small u.
        let exponential = |u: f64| -libm::log1p(-u);
        match self {
            Self::Constant(value) => value.base(),
            Self::Uniform(low, high) => low.base() + u * (high.base() - low.base()),
            Self::Exponential { mean, .. } => mean.base() * exponential(u),
            Self::Pareto { scale, shape, .. } => scale.base() * libm::pow(1.0 - u, -1.0 / shape),
            Self::Weibull { scale, shape, .. } => scale.base() * libm::pow(exponential(u), 1.0 / shape),
        }
    }

    /// Draws a value, in base units.
    pub fn draw(self, random: &mut dyn Random) -> f64 {
        match self {
            Self::Constant(value) => value.base(),
            _ => self.quantile(random.uniform() * self.below_max()),
        }
    }

    /// The mean, in base units; infinite for a Pareto tail of index 1 and below.
    #[must_use]
    pub fn mean(self) -> f64 {
        match self {
            Self::Constant(value) => value.base(),
            Self::Uniform(low, high) => low.base() / 2.0 + high.base() / 2.0,
            Self::Exponential { mean, max } => {
                let mean = mean.base();
                // E[X | X <= m] = mean - m exp(-m / mean) / (1 - exp(-m / mean)).
                max.map_or(mean, |max| mean - max.base() / libm::expm1(max.base() / mean))
            }
            Self::Pareto { scale, shape, max: None } => {
                if shape > 1.0 {
                    scale.base() * shape / (shape - 1.0)
                } else {
                    f64::INFINITY
                }
            }
            Self::Weibull { scale, shape, max: None } => scale.base() * libm::tgamma(1.0 + 1.0 / shape),
            Self::Pareto { .. } | Self::Weibull { .. } => self.mean_by_quantiles(),
        }
    }

    /// The mean as the integral of the quantile function, by the midpoint rule; for bounded tails only.
    fn mean_by_quantiles(self) -> f64 {
        const N: u32 = 100_000;
        let top = self.below_max();
        (0..N).map(|i| self.quantile(top * (f64::from(i) + 0.5) / f64::from(N))).sum::<f64>() / f64::from(N)
    }
}
