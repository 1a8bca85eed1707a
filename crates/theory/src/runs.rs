//! How losses cluster: runs of lost arrivals, and the burst ratio.
//!
//! Governing text, section 2: the burst ratio is the mean number of packets lost in a row over that of independent losses,
//! 1/(1 - L). A loss that the next arrival shares continues its run, so the mean run is 1/(1 - q), q being the probability
//! that the arrival after a lost one is lost too, and the ratio is (1 - L)/(1 - q).

use crate::quasi::Quasi;
use crate::Error;
use nalgebra::DVector;

/// The structure of losses.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    /// Mean number of packets lost in a row; NaN where nothing is lost.
    pub mean: f64,
    /// The burst ratio.
    pub ratio: f64,
    /// P(a run has j packets), j from 1.
    pub lengths: Vec<f64>,
}

/// The runs of losses, with the distribution of their length up to `longest`.
///
/// # Errors
/// As [`Quasi::steady`].
pub fn runs(queue: &Quasi<'_>, longest: usize) -> Result<Runs, Error> {
    let found = queue.solve()?;
    let blocks = queue.blocks();
    let lost = found.lost(&blocks);
    let whole: f64 = lost.iter().map(|lost| lost.sum()).sum();
    let loss = whole / queue.arrivals.rate()?;
    if whole <= 0.0 {
        return Ok(Runs { mean: f64::NAN, ratio: f64::NAN, lengths: Vec::new() });
    }
    let until: Vec<_> = blocks.silent.iter().map(|silent| (-silent).lu()).collect();
    let singular = || Error::new("the queue's equations are singular");
    // By level and phase just after a loss: P(at least j further arrivals are lost).
    let mut further: Vec<DVector<f64>> =
        found.levels.iter().map(|level| DVector::from_element(level.len(), 1.0)).collect();
    // e_j over a loss at random; the differences are P(run >= j) / mean.
    let mut shares = vec![1.0];
    for _ in 0..longest.max(1) + 1 {
        let mut next: Vec<DVector<f64>> = Vec::with_capacity(further.len());
        for (n, own) in further.iter().enumerate() {
            // Until the next arrival only service ends: levels below are known.
            let mut right = &blocks.arriving[n.min(1)] * own * found.law.at(n);
            if n > 0 {
                right += &blocks.ending[(n - 1).min(1)] * &next[n - 1];
            }
            next.push(until[n.min(1)].solve(&right).ok_or_else(singular)?);
        }
        further = next;
        let share: f64 = lost.iter().zip(&further).map(|(lost, further)| (lost * further)[0]).sum();
        shares.push(share / whole);
    }
    let mean = 1.0 / (1.0 - shares[1]);
    let at_least: Vec<f64> = shares.windows(2).map(|pair| mean * (pair[0] - pair[1])).collect();
    let lengths = at_least.windows(2).map(|pair| pair[0] - pair[1]).take(longest).collect();
    Ok(Runs { mean, ratio: mean * (1.0 - loss), lengths })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::{Arrivals, Phased};
    use crate::Law;

    fn of(load: f64, law: &Law) -> Runs {
        let (arrivals, service) = (Arrivals::poisson(load).unwrap(), Phased::exponential().unwrap());
        runs(&Quasi { arrivals: &arrivals, service: &service, law }, 40).unwrap()
    }

    #[test]
    fn a_constant_law_loses_independently() {
        let found = of(1.5, &Law::new(vec![0.4], 0.4).unwrap());
        assert!((found.ratio - 1.0).abs() < 1e-9, "{}", found.ratio);
        // Geometric: P(j) = 0.6 x 0.4^(j - 1).
        assert!((found.lengths[0] - 0.6).abs() < 1e-9);
        assert!((found.lengths[2] - 0.6 * 0.16).abs() < 1e-9);
    }

    #[test]
    fn a_full_buffer_loses_until_a_service_ends() {
        // Tail drop: after a loss the next arrival is lost when it comes before the end of the service under way:
        // rho/(1 + rho). At load 1 with room for 100: mean run 2, L = 1/101, ratio 2 x 100/101. After a service that
        // ends there is room, so no other way leads to a loss.
        let found = of(1.0, &Law::new(vec![0.0; 100], 1.0).unwrap());
        assert!((found.mean - 2.0).abs() < 1e-9);
        assert!((found.ratio - 200.0 / 101.0).abs() < 1e-9);
        assert!((found.lengths[3] - 1.0 / 16.0).abs() < 1e-9);
    }

    #[test]
    fn lengths_sum_to_one_and_give_their_mean() {
        let law = Law::of(&"dropping_function function d8 count system".parse().unwrap(), true).unwrap();
        let found = of(1.1, &law);
        let mean: f64 = found.lengths.iter().enumerate().map(|(j, p)| (j + 1) as f64 * p).sum();
        assert!((found.lengths.iter().sum::<f64>() - 1.0).abs() < 1e-6);
        assert!((mean - found.mean).abs() < 1e-5);
    }

    #[test]
    fn nothing_lost_has_no_runs() {
        assert!(of(0.5, &Law::new(vec![0.0], 0.0).unwrap()).mean.is_nan());
    }
}
