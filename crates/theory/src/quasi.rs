//! Markovian arrivals and phase-type service: a level-dependent quasi-birth-death process.
//!
//! Source: linear level reduction (Gaver, Jacobs and Latouche 1984): seen from below, level n is R_n times level n - 1,
//! and R_n follows from R_(n + 1). Blocks of a level are arrival phase times service phase; level 0 has no service phase.

use crate::phases::{stationary, Arrivals, Phased};
use crate::{Error, Law, Steady};
use nalgebra::{DMatrix, RowDVector};

/// Numbers that the blocks of one solution may hold.
const MOST: usize = 60_000_000;

/// The queue: who arrives, how long service takes, and what is dropped.
#[derive(Clone, Debug)]
pub struct Quasi<'a> {
    /// Arrivals, per mean service time.
    pub arrivals: &'a Arrivals,
    /// Service of mean 1.
    pub service: &'a Phased,
    /// d(n).
    pub law: &'a Law,
}

/// A solution with its phases.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// By level: the probability of each phase.
    pub(crate) levels: Vec<RowDVector<f64>>,
    /// The law that it is for.
    pub(crate) law: Law,
}

/// Generator blocks.
pub(crate) struct Blocks {
    /// Without arrival: D0 and D0 x I + I x T.
    pub(crate) silent: [DMatrix<f64>; 2],
    /// With an arrival, level 0 and above, not yet joined: D1 and D1 x I.
    pub(crate) arriving: [DMatrix<f64>; 2],
    /// Joining level 0: I x alpha.
    pub(crate) begin: DMatrix<f64>,
    /// End of service, from level 1 (I x t) and from above (I x t alpha).
    pub(crate) ending: [DMatrix<f64>; 2],
}

impl Quasi<'_> {
    pub(crate) fn blocks(&self) -> Blocks {
        let (a, s) = (self.arrivals.order(), self.service.order());
        let (of_arrivals, of_service) = (DMatrix::identity(a, a), DMatrix::identity(s, s));
        let start = DMatrix::from_fn(1, s, |_, j| self.service.start[j]);
        let end = DMatrix::from_fn(s, 1, |i, _| self.service.ending[i]);
        Blocks {
            silent: [
                self.arrivals.silent.clone(),
                self.arrivals.silent.kronecker(&of_service) + of_arrivals.kronecker(&self.service.silent),
            ],
            arriving: [self.arrivals.arriving.clone(), self.arrivals.arriving.kronecker(&of_service)],
            begin: of_arrivals.kronecker(&start),
            ending: [of_arrivals.kronecker(&end), of_arrivals.kronecker(&(&end * &start))],
        }
    }

    /// The steady state.
    ///
    /// # Errors
    /// No steady state, or more levels and phases than fit.
    pub fn steady(&self) -> Result<Steady, Error> {
        let load = self.arrivals.rate()?;
        let found = self.solve()?;
        let p: Vec<f64> = found.levels.iter().map(|level| level.sum()).collect();
        let mean = p.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
        let second = p.iter().enumerate().map(|(n, p)| (n as f64) * (n as f64) * p).sum();
        let lost: f64 = found.lost(&self.blocks()).iter().map(|lost| lost.sum()).sum();
        let idle = p[0];
        Ok(Steady::from_sums(p, mean, second, idle, lost / load, load))
    }

    pub(crate) fn solve(&self) -> Result<Solution, Error> {
        self.law.check(self.arrivals.rate()?)?;
        self.law.ended(|law, capacity| {
            let levels = self.levels(law, capacity)?;
            let at_end = levels.last().map_or(0.0, |level| level.sum());
            // What is lost is asked of the law itself, not of the end that stands for its tail.
            Ok((Solution { levels, law: self.law.clone() }, at_end))
        })
    }

    fn levels(&self, law: &Law, capacity: usize) -> Result<Vec<RowDVector<f64>>, Error> {
        let blocks = self.blocks();
        let order = blocks.silent[1].nrows();
        if order * order * capacity > MOST {
            return Err(Error::new(format!(
                "{capacity} levels of {order} phases are too many; allowed: levels x phases^2 up to {MOST}"
            )));
        }
        let singular = || Error::new("the queue's equations are singular");
        // R_n for n from the end down to 1, the last first.
        let mut reduced: Vec<DMatrix<f64>> = Vec::with_capacity(capacity);
        for n in (1..=capacity).rev() {
            let mut local = &blocks.silent[1] + &blocks.arriving[1] * law.at(n);
            if let Some(above) = reduced.last() {
                local += above * &blocks.ending[1];
            }
            let inverse = (-local).try_inverse().ok_or_else(singular)?;
            let joining = 1.0 - law.at(n - 1);
            let up = if n == 1 { &blocks.arriving[0] * &blocks.begin } else { blocks.arriving[1].clone() };
            reduced.push(up * joining * inverse);
        }
        let Some(first) = reduced.last() else { return Err(singular()) };
        let bottom = &blocks.silent[0] + &blocks.arriving[0] * law.at(0) + first * &blocks.ending[0];
        let mut levels = vec![stationary(&bottom)?];
        for (n, step) in reduced.iter().rev().enumerate() {
            let next = &levels[n] * step;
            let sum = next.sum();
            levels.push(next);
            if sum > 1e200 {
                levels.iter_mut().for_each(|level| *level /= 1e200);
            }
        }
        let whole: f64 = levels.iter().map(|level| level.sum()).sum();
        levels.iter_mut().for_each(|level| *level /= whole);
        Ok(levels)
    }
}

impl Solution {
    /// Rates of lost arrivals by level, and by phase just after.
    pub(crate) fn lost(&self, blocks: &Blocks) -> Vec<RowDVector<f64>> {
        self.levels.iter().enumerate().map(|(n, level)| level * &blocks.arriving[n.min(1)] * self.law.at(n)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::birth_death;
    use crate::general::{self, Service};

    fn near(found: f64, expected: f64, relative: f64) {
        assert!((found - expected).abs() <= relative * expected.abs(), "{found} is not {expected}");
    }

    fn law(text: &str) -> Law {
        Law::of(&text.parse().unwrap(), false).unwrap()
    }

    #[test]
    fn poisson_and_exponential_is_theorem_1() {
        let law = law("dropping_function function d6 count system");
        for load in [0.8, 1.0, 1.7] {
            let arrivals = Arrivals::poisson(load).unwrap();
            let service = Phased::exponential().unwrap();
            let found = Quasi { arrivals: &arrivals, service: &service, law: &law }.steady().unwrap();
            let exact = birth_death::steady(load, &law).unwrap();
            near(found.mean, exact.mean, 1e-9);
            near(found.sd, exact.sd, 1e-8);
            near(found.loss, exact.loss, 1e-9);
        }
    }

    #[test]
    fn phases_agree_with_the_chain_at_departures() {
        // Two methods that share no equation.
        let law = law("dropping_function function d3 count system");
        let pairs = [
            (Phased::erlang(4).unwrap(), Service::Erlang { stages: 4 }),
            (Phased::hyperexponential(3.0).unwrap(), Service::Hyperexponential { scv: 3.0 }),
        ];
        for (phased, service) in &pairs {
            for load in [0.9, 1.2] {
                let arrivals = Arrivals::poisson(load).unwrap();
                let found = Quasi { arrivals: &arrivals, service: phased, law: &law }.steady().unwrap();
                let other = general::steady(load, &law, service).unwrap();
                near(found.mean, other.mean, 1e-8);
                near(found.sd, other.sd, 1e-7);
                near(found.loss, other.loss, 1e-7);
            }
        }
    }

    #[test]
    fn two_equal_phases_are_poisson() {
        // Switching between equal rates changes nothing.
        let arrivals = Arrivals::switched(0.8, 1.0, 0.3, 10.0).unwrap();
        let service = Phased::exponential().unwrap();
        let law = Law::new(vec![0.0], 0.0).unwrap();
        near(Quasi { arrivals: &arrivals, service: &service, law: &law }.steady().unwrap().mean, 4.0, 1e-9);
    }

    #[test]
    fn slow_switching_mixes_two_queues() {
        // Phases that last 10^7 services: the mean over the phases' own M/M/1/K, to the order of 1/10^7 of a transient.
        let law = law("pfifo limit 20p");
        let arrivals = Arrivals::switched(0.9, 3.0, 0.4, 1e7).unwrap();
        let service = Phased::exponential().unwrap();
        let found = Quasi { arrivals: &arrivals, service: &service, law: &law }.steady().unwrap();
        // 0.4 x 3 r + 0.6 r = 0.9: r = 0.5, busy 1.5.
        let mean =
            0.4 * birth_death::steady(1.5, &law).unwrap().mean + 0.6 * birth_death::steady(0.5, &law).unwrap().mean;
        near(found.mean, mean, 1e-4);
    }
}
