//! Markovian arrival processes and phase-type service times.

use crate::general::balanced;
use crate::Error;
use nalgebra::{DMatrix, DVector, RowDVector};

/// A Markovian arrival process: phases change by `silent` without and by `arriving` with an arrival (Lucantoni 1991: D0, D1).
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    pub(crate) silent: DMatrix<f64>,
    pub(crate) arriving: DMatrix<f64>,
}

impl Arrivals {
    /// Poisson arrivals of rate `load`.
    ///
    /// # Errors
    /// No rate.
    pub fn poisson(load: f64) -> Result<Self, Error> {
        Self::new(DMatrix::from_element(1, 1, -1.0), DMatrix::from_element(1, 1, 1.0), load)
    }

    /// From its matrices, scaled to the mean rate `load`.
    ///
    /// # Errors
    /// Matrices that are not square, of one order, with non-negative rates, and rows that sum to zero together.
    pub fn new(silent: DMatrix<f64>, arriving: DMatrix<f64>, load: f64) -> Result<Self, Error> {
        let order = silent.nrows();
        if order == 0 || silent.ncols() != order || arriving.shape() != (order, order) {
            return Err(Error::new("arrivals: D0 and D1 must be square and of one order"));
        }
        if !(load > 0.0 && load.is_finite()) {
            return Err(Error::new(format!("the load is {load}; allowed: above 0")));
        }
        let scale = silent.amax();
        for i in 0..order {
            let sum = silent.row(i).sum() + arriving.row(i).sum();
            let is_rate = (0..order).all(|j| arriving[(i, j)] >= 0.0 && (i == j || silent[(i, j)] >= 0.0));
            if !is_rate || sum.is_nan() || sum.abs() > 1e-9 * scale || silent[(i, i)] >= 0.0 {
                return Err(Error::new(format!(
                    "arrivals: row {i}: rates must be at least 0 and D0 + D1 must sum to 0 (is {sum})"
                )));
            }
        }
        let mut own = Self { silent, arriving };
        let rate = own.rate()?;
        if rate <= 0.0 {
            return Err(Error::new("arrivals: the mean rate of D1 is 0; allowed: a rate above 0"));
        }
        own.silent *= load / rate;
        own.arriving *= load / rate;
        Ok(own)
    }

    /// Two phases with Poisson rates in the ratio `ratio`, the busy phase holding for a share `busy` of the time and for
    /// `cycle` mean service times each time: a switched Poisson process.
    ///
    /// # Errors
    /// Values outside what their names allow.
    pub fn switched(load: f64, ratio: f64, busy: f64, cycle: f64) -> Result<Self, Error> {
        if !(ratio >= 1.0 && busy > 0.0 && busy < 1.0 && cycle > 0.0 && ratio.is_finite() && cycle.is_finite()) {
            return Err(Error::new(
                "switched: allowed: ratio of at least 1, busy between 0 and 1, cycle above 0 mean service times",
            ));
        }
        let (high, low) = (ratio, 1.0);
        // Rates are scaled to the load below; the times must not be.
        let mean = busy * high + (1.0 - busy) * low;
        let leave = mean / load / cycle;
        let back = leave * busy / (1.0 - busy);
        Self::new(
            DMatrix::from_row_slice(2, 2, &[-high - leave, leave, back, -low - back]),
            DMatrix::from_row_slice(2, 2, &[high, 0.0, 0.0, low]),
            load,
        )
    }

    /// Number of phases.
    #[must_use]
    pub fn order(&self) -> usize {
        self.silent.nrows()
    }

    /// Arrivals per mean service time.
    ///
    /// # Errors
    /// Phases that never meet.
    pub fn rate(&self) -> Result<f64, Error> {
        let phases = stationary(&(&self.silent + &self.arriving))?;
        Ok((phases * &self.arriving).sum())
    }
}

/// A phase-type service time of mean 1: it begins by `start` and changes by `silent` until it ends by `ending`.
#[derive(Clone, Debug, PartialEq)]
pub struct Phased {
    pub(crate) start: RowDVector<f64>,
    pub(crate) silent: DMatrix<f64>,
    pub(crate) ending: DVector<f64>,
}

impl Phased {
    /// From the initial distribution and the sub-generator, scaled to mean 1.
    ///
    /// # Errors
    /// What is no distribution or no sub-generator.
    pub fn new(start: RowDVector<f64>, silent: DMatrix<f64>) -> Result<Self, Error> {
        let order = start.len();
        if order == 0 || silent.shape() != (order, order) {
            return Err(Error::new("service: T must be square and of the order of alpha"));
        }
        if start.iter().any(|&a| a < 0.0) || (start.sum() - 1.0).abs() > 1e-9 {
            return Err(Error::new("service: alpha must be at least 0 and sum to 1"));
        }
        let ending = DVector::from_fn(order, |i, _| -silent.row(i).sum());
        let scale = silent.amax();
        let is_rate = (0..order).all(|i| {
            silent[(i, i)] < 0.0 && ending[i] >= -1e-9 * scale && (0..order).all(|j| i == j || silent[(i, j)] >= 0.0)
        });
        if !is_rate {
            return Err(Error::new("service: T must have rates of at least 0 and rows that sum to at most 0"));
        }
        let times = (-&silent).lu().solve(&DVector::from_element(order, 1.0));
        let mean = times.map(|times| (&start * times)[0]).filter(|mean| mean.is_finite() && *mean > 0.0);
        let Some(mean) = mean else {
            return Err(Error::new("service: the service time is infinite; allowed: a finite mean"));
        };
        Ok(Self { start, silent: silent * mean, ending: ending.map(|e| e.max(0.0)) * mean })
    }

    /// Exponential.
    ///
    /// # Errors
    /// Never.
    pub fn exponential() -> Result<Self, Error> {
        Self::erlang(1)
    }

    /// Erlang of `stages`.
    ///
    /// # Errors
    /// No stage, or more than 64.
    pub fn erlang(stages: u32) -> Result<Self, Error> {
        let order = stages as usize;
        if !(1..=64).contains(&order) {
            return Err(Error::new(format!("stages is {stages}; allowed: 1 to 64")));
        }
        let rate = f64::from(stages);
        let start = RowDVector::from_fn(order, |_, i| f64::from(u8::from(i == 0)));
        let silent = DMatrix::from_fn(order, order, |i, j| match j {
            _ if i == j => -rate,
            _ if i + 1 == j => rate,
            _ => 0.0,
        });
        Self::new(start, silent)
    }

    /// Two exponential times with balanced means.
    ///
    /// # Errors
    /// A squared coefficient of variation of 1 or less.
    pub fn hyperexponential(scv: f64) -> Result<Self, Error> {
        let share = balanced(scv)?;
        Self::new(
            RowDVector::from_row_slice(&[share, 1.0 - share]),
            DMatrix::from_row_slice(2, 2, &[-2.0 * share, 0.0, 0.0, -2.0 * (1.0 - share)]),
        )
    }

    /// Number of phases.
    #[must_use]
    pub fn order(&self) -> usize {
        self.start.len()
    }
}

/// The stationary distribution of a generator: x Q = 0, x 1 = 1.
pub(crate) fn stationary(generator: &DMatrix<f64>) -> Result<RowDVector<f64>, Error> {
    let order = generator.nrows();
    let mut system = generator.transpose();
    system.row_mut(0).fill(1.0);
    let mut right = DVector::zeros(order);
    right[0] = 1.0;
    system
        .lu()
        .solve(&right)
        .map(|x| x.map(|v| v.max(0.0)).transpose())
        .filter(|x| x.iter().all(|v| v.is_finite()))
        .ok_or_else(|| Error::new("the phases do not all reach each other"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switched_process_has_its_rate_and_times() {
        // A share 0.2 of the time at 10 times the rate: mean 0.2 x 10 + 0.8 = 2.8 slow rates = 0.9.
        let own = Arrivals::switched(0.9, 10.0, 0.2, 50.0).unwrap();
        assert!((own.rate().unwrap() - 0.9).abs() < 1e-12);
        assert!((own.arriving[(1, 1)] - 0.9 / 2.8).abs() < 1e-12);
        // It leaves the busy phase once in 50 mean service times, and the other in 50 x 0.8/0.2 = 200.
        assert!((own.silent[(0, 1)] - 0.02).abs() < 1e-12);
        assert!((own.silent[(1, 0)] - 0.005).abs() < 1e-12);
    }

    #[test]
    fn service_has_mean_one() {
        for service in [Phased::erlang(5), Phased::hyperexponential(4.0), Phased::exponential()] {
            let own = service.unwrap();
            let times = (-&own.silent).lu().solve(&DVector::from_element(own.order(), 1.0)).unwrap();
            assert!(((&own.start * times)[0] - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn impossible_matrices_are_refused() {
        let one = |v| DMatrix::from_element(1, 1, v);
        assert!(Arrivals::new(one(-1.0), one(0.5), 1.0).is_err());
        assert!(Arrivals::new(one(-1.0), DMatrix::zeros(2, 2), 1.0).is_err());
        assert!(Phased::new(RowDVector::from_row_slice(&[1.0]), one(1.0)).is_err());
        assert!(Phased::new(RowDVector::from_row_slice(&[0.5]), one(-1.0)).is_err());
        assert!(Arrivals::switched(1.0, 0.5, 0.2, 1.0).is_err());
    }
}
