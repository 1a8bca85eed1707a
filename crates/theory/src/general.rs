//! Poisson arrivals and any service time: the Markov chain at departures.
//!
//! Source: the embedded chain of the M/G/1 queue (Kendall 1953), with accepted arrivals in place of arrivals
//! (Chydzinski and Chrost 2011). The service time enters through a_m alone, the probability of m arrivals in one service;
//! of m arrivals that begin at n, the number accepted follows from d(n), d(n + 1), ...

use crate::moments::poisson;
use crate::{Error, Law, Steady};

/// A service time of mean 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Always 1: packets of one size.
    Deterministic,
    /// Exponential.
    Exponential,
    /// Sum of `stages` exponential times: squared coefficient of variation 1/stages.
    Erlang {
        /// Number of stages.
        stages: u32,
    },
    /// Two exponential times at random, with balanced means.
    Hyperexponential {
        /// Squared coefficient of variation, above 1.
        scv: f64,
    },
    /// One of several values with its share: packets of several sizes. Scaled to mean 1.
    Sizes(Vec<(f64, f64)>),
}

impl Service {
    /// Second moment over the squared mean.
    ///
    /// # Errors
    /// As `Self::parts`.
    pub fn second_moment(&self) -> Result<f64, Error> {
        Ok(match self {
            Self::Erlang { stages } => 1.0 + 1.0 / f64::from(*stages),
            _ => self.parts()?.iter().map(|(share, part)| share * part.second_moment()).sum(),
        })
    }

    /// The service as a mixture.
    fn parts(&self) -> Result<Vec<(f64, Part)>, Error> {
        match self {
            Self::Deterministic => Ok(vec![(1.0, Part::Fixed(1.0))]),
            Self::Exponential => Ok(vec![(1.0, Part::Exponential(1.0))]),
            Self::Erlang { stages } if *stages > 0 => Ok(vec![(1.0, Part::Erlang(*stages))]),
            Self::Erlang { stages } => Err(Error::new(format!("stages is {stages}; allowed: 1 or more"))),
            Self::Hyperexponential { scv } => {
                let share = balanced(*scv)?;
                Ok(vec![(share, Part::Exponential(0.5 / share)), (1.0 - share, Part::Exponential(0.5 / (1.0 - share)))])
            }
            Self::Sizes(sizes) => {
                let whole: f64 = sizes.iter().map(|(_, share)| share).sum();
                let mean: f64 = sizes.iter().map(|(size, share)| size * share).sum::<f64>() / whole;
                let are_positive = sizes.iter().all(|(size, share)| *size > 0.0 && *share >= 0.0);
                if !(are_positive && mean.is_finite() && mean > 0.0) {
                    return Err(Error::new("sizes: allowed: pairs of a size above 0 and a share of at least 0"));
                }
                Ok(sizes.iter().map(|(size, share)| (share / whole, Part::Fixed(size / mean))).collect())
            }
        }
    }

    /// a_m: the probability of m Poisson arrivals of rate `load` in one service, until less than 1e-15 is left.
    fn counts(&self, load: f64) -> Result<Vec<f64>, Error> {
        let parts = self.parts()?;
        let mut length = 64;
        loop {
            let mut found = vec![0.0; length];
            for (share, part) in &parts {
                for (sum, one) in found.iter_mut().zip(part.counts(load, length)) {
                    *sum += share * one;
                }
            }
            if 1.0 - found.iter().sum::<f64>() < 1e-13 {
                let kept = length - found.iter().rev().take_while(|&&a| a < 1e-18).count();
                found.truncate(kept.max(1));
                return Ok(found);
            }
            if length > 1 << 16 {
                return Err(Error::new("the service time varies too much: more than 65,536 arrivals in one service"));
            }
            length *= 2;
        }
    }
}

/// The share of the first branch of two with balanced means: (1 + sqrt((c - 1)/(c + 1)))/2 for a squared coefficient of
/// variation c.
pub(crate) fn balanced(scv: f64) -> Result<f64, Error> {
    if !(scv > 1.0 && scv.is_finite()) {
        return Err(Error::new(format!("scv is {scv}; allowed: above 1 (1 is exponential)")));
    }
    Ok(0.5 * (1.0 + libm::sqrt((scv - 1.0) / (scv + 1.0))))
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Fixed(f64),
    Exponential(f64),
    Erlang(u32),
}

impl Part {
    fn second_moment(self) -> f64 {
        match self {
            Self::Fixed(s) => s * s,
            Self::Exponential(mean) => 2.0 * mean * mean,
            Self::Erlang(stages) => 1.0 + 1.0 / f64::from(stages),
        }
    }

    fn counts(self, load: f64, length: usize) -> Vec<f64> {
        match self {
            Self::Fixed(s) => poisson(load * s, length),
            // Geometric: an arrival precedes the end with probability load m / (1 + load m).
            Self::Exponential(mean) => negative_binomial(1, load * mean, length),
            Self::Erlang(stages) => negative_binomial(stages, load / f64::from(stages), length),
        }
    }
}

/// Arrivals in `stages` exponential times, each with `mean` arrivals.
fn negative_binomial(stages: u32, mean: f64, length: usize) -> Vec<f64> {
    let (arrival, end) = (mean / (1.0 + mean), 1.0 / (1.0 + mean));
    let r = f64::from(stages);
    let mut next = libm::pow(end, r);
    (0..length)
        .map(|m| {
            let own = next;
            next *= arrival * (r + m as f64) / (m as f64 + 1.0);
            own
        })
        .collect()
}

/// The steady state at `load`.
///
/// The cut between lengths below k and the rest is crossed downwards from k alone, so the distribution at departures
/// follows from sums of positive numbers; level crossings give that over time: the rate of accepted arrivals at n equals
/// that of departures that leave n.
///
/// # Errors
/// No load, no steady state, or a service that cannot be.
pub fn steady(load: f64, law: &Law, service: &Service) -> Result<Steady, Error> {
    law.check(load)?;
    let counts = service.counts(load)?;
    law.ended(|law, capacity| {
        let found = ending(load, law, capacity, &counts);
        let last = found.p.last().copied().unwrap_or(0.0);
        Ok((found, last))
    })
}

/// The steady state for a law with a buffer's end.
fn ending(load: f64, law: &Law, capacity: usize, counts: &[f64]) -> Steady {
    let rows: Vec<Vec<f64>> = (0..capacity).map(|n| accepted(law, n.max(1), counts)).collect();
    let left = departures(&rows);
    // Per service: idle time follows a departure that leaves 0.
    let idle = left[0] / (load * (1.0 - law.at(0)));
    let throughput = 1.0 / (1.0 + idle);
    let mut p: Vec<f64> =
        left.iter().enumerate().map(|(n, own)| throughput * own / (load * (1.0 - law.at(n)))).collect();
    p.push((1.0 - p.iter().sum::<f64>()).max(0.0));
    let mean: f64 = p.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
    let second: f64 = p.iter().enumerate().map(|(n, p)| (n as f64) * (n as f64) * p).sum();
    let idle = p[0];
    let lost: f64 = p.iter().enumerate().map(|(n, p)| p * law.at(n)).sum();
    Steady::from_sums(p, mean, second, idle, lost, load)
}

/// P(j accepted in a service that begins at `n`), j from 0.
fn accepted(law: &Law, n: usize, counts: &[f64]) -> Vec<f64> {
    let room = law.len() - n;
    // P(j accepted of the m arrivals so far).
    let mut so_far = vec![1.0];
    let mut found = Vec::new();
    for &count in counts {
        found.resize(so_far.len(), 0.0);
        for (sum, one) in found.iter_mut().zip(&so_far) {
            *sum += count * one;
        }
        if so_far.len() <= room {
            so_far.push(0.0);
        }
        for j in (0..so_far.len()).rev() {
            let below = if j > 0 { so_far[j - 1] * (1.0 - law.at(n + j - 1)) } else { 0.0 };
            so_far[j] = so_far[j] * law.at(n + j) + below;
        }
    }
    found
}

/// The distribution at departures from rows of accepted counts.
fn departures(rows: &[Vec<f64>]) -> Vec<f64> {
    // At least j accepted.
    let above: Vec<Vec<f64>> = rows
        .iter()
        .map(|row| {
            let mut sums: Vec<f64> = row
                .iter()
                .rev()
                .scan(0.0, |sum, p| {
                    *sum += p;
                    Some(*sum)
                })
                .collect();
            sums.reverse();
            sums
        })
        .collect();
    let longest = rows.iter().map(Vec::len).max().unwrap_or(1);
    let mut found = vec![1.0_f64];
    for k in 1..rows.len() {
        // From n to k or more: at least k - (n - 1) accepted, and from 0 as from 1.
        let up: f64 = (k.saturating_sub(longest)..k)
            .map(|n| found[n] * above[n].get(k + 1 - n.max(1)).copied().unwrap_or(0.0))
            .sum();
        found.push(up / rows[k][0]);
        if found[k] > 1e200 {
            found.iter_mut().for_each(|own| *own /= 1e200);
        }
    }
    let whole: f64 = found.iter().sum();
    found.iter().map(|own| own / whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::birth_death;

    fn near(found: f64, expected: f64, relative: f64) {
        assert!((found - expected).abs() <= relative * expected.abs(), "{found} is not {expected}");
    }

    #[test]
    fn exponential_service_is_theorem_1() {
        for scheme in ["dropping_function function d2 count system", "pfifo limit 40p"] {
            let law = Law::of(&scheme.parse().unwrap(), false).unwrap();
            for load in [0.7, 1.0, 1.6] {
                let general = steady(load, &law, &Service::Exponential).unwrap();
                let exact = birth_death::steady(load, &law).unwrap();
                near(general.mean, exact.mean, 1e-10);
                near(general.sd, exact.sd, 1e-9);
                assert!((general.loss - exact.loss).abs() < 1e-12);
                near(general.response, exact.response, 1e-10);
            }
        }
    }

    #[test]
    fn large_buffers_give_pollaczek_and_khinchine() {
        // Mean number: rho + rho^2 E[S^2] / (2 (1 - rho)). At rho = 0.6: 0.6 + 0.45 E[S^2].
        let law = Law::new(vec![0.0; 600], 1.0).unwrap();
        let cases = [
            (Service::Deterministic, 1.0),
            (Service::Erlang { stages: 4 }, 1.25),
            (Service::Hyperexponential { scv: 3.0 }, 4.0),
            // 40 B and 1500 B, half each, mean 770 B: (40^2 + 1500^2) / 2 / 770^2.
            (Service::Sizes(vec![(40.0, 1.0), (1500.0, 1.0)]), (1600.0 + 2_250_000.0) / 2.0 / (770.0 * 770.0)),
        ];
        for (service, second) in cases {
            near(service.second_moment().unwrap(), second, 1e-12);
            near(steady(0.6, &law, &service).unwrap().mean, 0.6 + 0.45 * second, 1e-9);
        }
    }

    #[test]
    fn one_place_follows_erlang_b() {
        // With room for one packet the loss is rho / (1 + rho) for any service (Erlang's loss formula is insensitive).
        let law = Law::new(vec![0.0], 1.0).unwrap();
        for service in [Service::Deterministic, Service::Hyperexponential { scv: 5.0 }] {
            near(steady(1.5, &law, &service).unwrap().loss, 0.6, 1e-12);
        }
    }

    #[test]
    fn overload_does_not_overflow() {
        let law = Law::new(vec![0.0; 20_000], 1.0).unwrap();
        let found = steady(3.0, &law, &Service::Deterministic).unwrap();
        // The server never rests: two thirds are lost.
        near(found.loss, 2.0 / 3.0, 1e-9);
        assert!(found.mean > 19_998.0);
    }

    #[test]
    fn impossible_services_are_refused() {
        let law = Law::new(vec![0.0], 1.0).unwrap();
        assert!(steady(1.0, &law, &Service::Hyperexponential { scv: 1.0 }).is_err());
        assert!(steady(1.0, &law, &Service::Erlang { stages: 0 }).is_err());
        assert!(steady(1.0, &law, &Service::Sizes(vec![(0.0, 1.0)])).is_err());
    }

    #[test]
    fn without_a_buffer_the_tail_is_followed() {
        // M/D/1 at 0.8: 0.8 + 0.64/(2 x 0.2) = 2.4.
        let found = steady(0.8, &Law::new(vec![0.0], 0.0).unwrap(), &Service::Deterministic).unwrap();
        near(found.mean, 2.4, 1e-9);
        let error = steady(1.1, &Law::new(vec![0.0], 0.0).unwrap(), &Service::Deterministic).unwrap_err();
        assert!(error.to_string().contains("no steady state"));
    }
}
