//! What follows a change of load: the distribution over time by uniformisation (Jensen 1953).

use crate::moments::poisson;
use crate::quasi::Quasi;
use crate::Error;
use nalgebra::RowDVector;

/// Means at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instant {
    /// Mean service times since the change.
    pub time: f64,
    /// Mean number in the system.
    pub mean: f64,
    /// Its standard deviation.
    pub sd: f64,
    /// Probability that an arrival now is lost.
    pub loss: f64,
}

/// Steps of the uniformised chain that one call may take.
const MOST: f64 = 2e7;

/// From the steady state of `before` into the load of `after`, at `times` in ascending order.
/// Both have one law, one service and as many arrival phases; the law needs a buffer's end.
///
/// # Errors
/// What cannot be, and more steps than are allowed.
pub fn change(before: &Quasi<'_>, after: &Quasi<'_>, times: &[f64]) -> Result<Vec<Instant>, Error> {
    if before.arrivals.order() != after.arrivals.order() {
        return Err(Error::new("a change of load must keep the number of arrival phases"));
    }
    let Some(capacity) = after.law.capacity() else {
        return Err(Error::new("a change of load needs a finite buffer; allowed: a dropping function that reaches 1"));
    };
    if times.windows(2).any(|pair| pair[1] < pair[0]) || times.iter().any(|&t| !(t >= 0.0 && t.is_finite())) {
        return Err(Error::new("times must be at least 0 and ascend"));
    }
    let blocks = after.blocks();
    let rate = (0..2)
        .flat_map(|i| (0..blocks.silent[i].nrows()).map(move |j| (i, j)))
        .map(|(i, j)| -blocks.silent[i][(j, j)])
        .fold(0.0, f64::max);
    let last = times.last().copied().unwrap_or(0.0);
    if rate * last * capacity as f64 > MOST * 1000.0 || rate * last > MOST {
        return Err(Error::new(format!("{last} mean service times are too long for {capacity} levels")));
    }
    let step = |levels: &[RowDVector<f64>]| -> Vec<RowDVector<f64>> {
        (0..levels.len())
            .map(|n| {
                let local = &levels[n] * (&blocks.silent[n.min(1)] + &blocks.arriving[n.min(1)] * after.law.at(n));
                let mut flow = local;
                if n > 0 {
                    let joining = 1.0 - after.law.at(n - 1);
                    flow += match n {
                        1 => &levels[0] * &blocks.arriving[0] * &blocks.begin * joining,
                        _ => &levels[n - 1] * &blocks.arriving[1] * joining,
                    };
                }
                if let Some(above) = levels.get(n + 1) {
                    flow += above * &blocks.ending[n.min(1)];
                }
                &levels[n] + flow / rate
            })
            .collect()
    };
    let mut levels = before.solve()?.levels;
    let zeros = RowDVector::zeros(levels.last().map_or(1, |level| level.len()));
    levels.resize(capacity + 1, zeros);
    let mut now = 0.0;
    let mut found = Vec::with_capacity(times.len());
    for &time in times {
        // Poisson weights over at most 400 expected jumps at a time, so that none underflows.
        while now < time {
            let part = (time - now).min(400.0 / rate);
            let mean = rate * part;
            let count = (mean + 12.0 * libm::sqrt(mean) + 30.0) as usize;
            let weights = poisson(mean, count);
            let mut sum: Vec<RowDVector<f64>> = levels.iter().map(|level| level * weights[0]).collect();
            for weight in &weights[1..] {
                levels = step(&levels);
                for (sum, level) in sum.iter_mut().zip(&levels) {
                    *sum += level * *weight;
                }
            }
            levels = sum;
            now = if time - now <= 400.0 / rate { time } else { now + part };
        }
        found.push(instant(after, time, &levels)?);
    }
    Ok(found)
}

fn instant(queue: &Quasi<'_>, time: f64, levels: &[RowDVector<f64>]) -> Result<Instant, Error> {
    let blocks = queue.blocks();
    let p: Vec<f64> = levels.iter().map(|level| level.sum()).collect();
    let mean: f64 = p.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
    let spread: f64 = p.iter().enumerate().map(|(n, p)| (n as f64 - mean) * (n as f64 - mean) * p).sum();
    let arriving: Vec<f64> =
        levels.iter().enumerate().map(|(n, level)| (level * &blocks.arriving[n.min(1)]).sum()).collect();
    let whole: f64 = arriving.iter().sum();
    let lost: f64 = arriving.iter().enumerate().map(|(n, rate)| rate * queue.law.at(n)).sum();
    Ok(Instant { time, mean, sd: libm::sqrt(spread.max(0.0)), loss: lost / whole })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::{Arrivals, Phased};
    use crate::Law;

    #[test]
    fn one_place_relaxes_exponentially() {
        // Room for one packet: p_1' = load (1 - p_1) - p_1. From load 0.5 (p_1 = 1/3) to load 2 (p_1 = 2/3):
        // p_1(t) = 2/3 - 1/3 exp(-3 t).
        let law = Law::new(vec![0.0], 1.0).unwrap();
        let service = Phased::exponential().unwrap();
        let (low, high) = (Arrivals::poisson(0.5).unwrap(), Arrivals::poisson(2.0).unwrap());
        let found = change(
            &Quasi { arrivals: &low, service: &service, law: &law },
            &Quasi { arrivals: &high, service: &service, law: &law },
            &[0.0, 0.5, 2.0],
        )
        .unwrap();
        for one in found {
            let expected = 2.0 / 3.0 - libm::exp(-3.0 * one.time) / 3.0;
            assert!((one.mean - expected).abs() < 1e-10, "{one:?}");
            assert!((one.loss - expected).abs() < 1e-10);
        }
    }

    #[test]
    fn it_ends_in_the_new_steady_state() {
        let law = Law::of(&"dropping_function function d1 count system limit 150p".parse().unwrap(), false).unwrap();
        let service = Phased::erlang(3).unwrap();
        let (low, high) = (Arrivals::poisson(0.7).unwrap(), Arrivals::poisson(1.2).unwrap());
        let (before, after) = (
            Quasi { arrivals: &low, service: &service, law: &law },
            Quasi { arrivals: &high, service: &service, law: &law },
        );
        let found = change(&before, &after, &[0.0, 3000.0]).unwrap();
        assert!((found[0].mean - before.steady().unwrap().mean).abs() < 1e-9);
        assert!((found[1].mean - after.steady().unwrap().mean).abs() < 1e-6);
        assert!((found[1].loss - after.steady().unwrap().loss).abs() < 1e-8);
    }

    #[test]
    fn times_that_descend_are_refused() {
        let law = Law::new(vec![0.0], 1.0).unwrap();
        let service = Phased::exponential().unwrap();
        let arrivals = Arrivals::poisson(0.5).unwrap();
        let queue = Quasi { arrivals: &arrivals, service: &service, law: &law };
        assert!(change(&queue, &queue, &[1.0, 0.5]).is_err());
    }
}
