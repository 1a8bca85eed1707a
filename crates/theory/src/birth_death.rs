//! Poisson arrivals and exponential service: Theorem 1 of the governing text.

use crate::{Delay, Error, Law, Steady};

/// Of the mass that a geometric tail may leave out of [`Steady::p`].
const LEFT: f64 = 1e-12;

/// The steady state at `load` (arrival rate times mean service time).
///
/// P_k is proportional to rho^k (1 - d(0)) ... (1 - d(k - 1)) (equation 2), from logarithms: rho^k alone overflows at
/// k = 647 for rho = 3. Beyond the table the weights are geometric, and their sums are closed.
///
/// # Errors
/// No load, or no steady state.
pub fn steady(load: f64, law: &Law) -> Result<Steady, Error> {
    law.check(load)?;
    let weights = weights(load, law);
    let n = law.len();
    let last = weights[n];
    let ratio = load * (1.0 - law.beyond());
    let rest = 1.0 - ratio;
    // Sums over k >= n of last * ratio^(k - n) times 1, k, k^2.
    let tail = last / rest;
    let tail_first = last * (n as f64 / rest + ratio / (rest * rest));
    let m = n as f64;
    let tail_second =
        last * (m * m / rest + 2.0 * m * ratio / (rest * rest) + ratio * (1.0 + ratio) / (rest * rest * rest));
    let body = &weights[..n];
    let mass = body.iter().sum::<f64>() + tail;
    let sum = |of: &dyn Fn(f64) -> f64| body.iter().enumerate().map(|(k, w)| w * of(k as f64)).sum::<f64>();
    let first = (sum(&|k| k) + tail_first) / mass;
    // About the mean: the difference of the raw moments loses digits when the mean is large.
    let spread = (sum(&|k| (k - first) * (k - first))
        + (tail_second - 2.0 * first * tail_first + first * first * tail).max(0.0))
        / mass;
    // The sum of P_k d(k) is equation 4 without its cancellation when little is lost.
    let lost = body.iter().enumerate().map(|(k, w)| w * law.at(k)).sum::<f64>() + tail * law.beyond();
    let mut p: Vec<f64> = body.iter().map(|w| w / mass).collect();
    extend(&mut p, last / mass, ratio);
    Ok(Steady::from_sums(p, first, spread + first * first, weights[0] / mass, lost / mass, load))
}

/// The response time of accepted packets.
///
/// # Errors
/// As [`steady`].
pub fn delay(load: f64, law: &Law) -> Result<Delay, Error> {
    let steady = steady(load, law)?;
    let finds: Vec<f64> = steady.p.iter().enumerate().map(|(n, p)| p * (1.0 - law.at(n))).collect();
    Ok(Delay::new(&finds))
}

/// Unnormalised P_0 to P_n, n the length of the table; the largest is 1.
fn weights(load: f64, law: &Law) -> Vec<f64> {
    let mut logs = Vec::with_capacity(law.len() + 1);
    let mut log = 0.0;
    logs.push(log);
    for k in 0..law.len() {
        log += libm::log(load) + libm::log1p(-law.at(k));
        logs.push(log);
    }
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter().map(|log| libm::exp(log - most)).collect()
}

/// Appends a geometric tail until little is left.
fn extend(p: &mut Vec<f64>, first: f64, ratio: f64) {
    let mut next = first;
    loop {
        p.push(next);
        next *= ratio;
        if next / (1.0 - ratio) < LEFT || p.len() >= 4 * crate::law::MOST {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, relative: f64) {
        assert!((found - expected).abs() <= relative * expected.abs().max(1e-300), "{found} is not {expected}");
    }

    #[test]
    fn without_drops_it_is_mm1() {
        // rho = 0.8: mean rho / (1 - rho) = 4, variance rho / (1 - rho)^2 = 20, response 1 / (1 - rho) = 5.
        let law = Law::new(vec![0.0], 0.0).unwrap();
        let found = steady(0.8, &law).unwrap();
        near(found.mean, 4.0, 1e-12);
        near(found.sd, libm::sqrt(20.0), 1e-12);
        near(found.response, 5.0, 1e-12);
        near(found.waiting, 3.2, 1e-12);
        assert!(found.loss.abs() < 1e-300);
        // The response time is exponential with mean 5: P(> 10) = exp(-2), its 0.95 quantile 5 ln 20.
        let delay = delay(0.8, &law).unwrap();
        near(delay.exceeds(10.0), libm::exp(-2.0), 1e-9);
        near(delay.quantile(0.95), 5.0 * libm::log(20.0), 1e-9);
    }

    #[test]
    fn a_buffer_at_load_one_is_uniform() {
        // d0: P_0 .. P_100 are equal, 1/101 each: mean 50, variance (101^2 - 1) / 12 = 850, loss P_100 = 1/101.
        let law = Law::of(&"dropping_function function d0 count system".parse().unwrap(), true).unwrap();
        let found = steady(1.0, &law).unwrap();
        near(found.mean, 50.0, 1e-12);
        near(found.sd, libm::sqrt(850.0), 1e-12);
        near(found.loss, 1.0 / 101.0, 1e-12);
        // Little: 50 / (100/101).
        near(found.response, 50.5, 1e-12);
    }

    #[test]
    fn a_constant_law_thins_the_stream() {
        // Half of all arrivals enter: M/M/1 at load 0.75 of 1.5.
        let found = steady(1.5, &Law::new(vec![0.5], 0.5).unwrap()).unwrap();
        near(found.mean, 3.0, 1e-12);
        near(found.loss, 0.5, 1e-12);
        near(found.utilisation, 0.75, 1e-12);
        assert!(steady(2.0, &Law::new(vec![0.5], 0.5).unwrap()).is_err());
    }

    #[test]
    fn loss_agrees_with_equation_4() {
        let law = Law::of(&"dropping_function function d4 count system".parse().unwrap(), true).unwrap();
        for load in [0.5, 0.9, 1.0, 1.3, 1.9] {
            let found = steady(load, &law).unwrap();
            assert!((found.loss - (1.0 - found.utilisation / load)).abs() < 1e-12);
        }
    }

    #[test]
    fn the_nine_functions_hold_fifty() {
        // The text's purpose: E X = 50 at load 1; then loss is about 0.0099. Its integer and rounded parameters leave
        // up to 0.05.
        for name in ["d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"] {
            let scheme = format!("dropping_function function {name} count system");
            let found = steady(1.0, &Law::of(&scheme.parse().unwrap(), true).unwrap()).unwrap();
            assert!((found.mean - 50.0).abs() < 0.05, "{name}: {}", found.mean);
            assert!((found.loss - 0.0099).abs() < 0.0003, "{name}: {}", found.loss);
        }
    }

    #[test]
    fn high_loads_and_large_buffers_are_safe() {
        // rho = 3, buffer 100,000: the distance below the end is geometric with ratio 1/3: mean 99,999.5, loss 2/3.
        let law = Law::new(vec![0.0; 100_000], 1.0).unwrap();
        let found = steady(3.0, &law).unwrap();
        near(found.mean, 99_999.5, 1e-12);
        near(found.sd, libm::sqrt(0.75), 1e-6);
        near(found.loss, 2.0 / 3.0, 1e-12);
        // rho = 0.5 with the same buffer: loss rho^K (1 - rho) is below the smallest number.
        assert!(steady(0.5, &law).unwrap().loss < 1e-300);
    }
}
