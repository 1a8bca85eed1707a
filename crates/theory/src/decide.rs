//! The best d(n) for a stated cost of delay and loss: a Markov decision process over Poisson arrivals and exponential
//! service (Naor 1969; Stidham 1985: the best law admits below a length and drops from it on).

use crate::birth_death;
use crate::{Error, Law};

/// A law with its cost per mean service time.
#[derive(Clone, Debug, PartialEq)]
pub struct Admission {
    /// An arrival that finds this many in the system, or more, is dropped.
    pub length: usize,
    /// `delay` times the mean number in the system plus `loss` times the rate of losses.
    pub cost: f64,
}

/// The best law by policy iteration, for costs of `delay` per packet and mean service time and of `loss` per lost packet.
///
/// # Errors
/// No load, negative costs, or delay without a cost: then nothing need be dropped.
pub fn admission(load: f64, delay: f64, loss: f64) -> Result<Admission, Error> {
    if !(load > 0.0 && load.is_finite()) {
        return Err(Error::new(format!("the load is {load}; allowed: above 0")));
    }
    if !(delay > 0.0 && loss >= 0.0 && delay.is_finite() && loss.is_finite()) {
        return Err(Error::new("costs: allowed: delay above 0 and loss of at least 0"));
    }
    // A packet that joins n others stays n + 1 services, so beyond loss/delay no packet is worth its own delay.
    let most = (loss / delay) as usize + 1;
    if most > crate::law::MOST {
        return Err(Error::new(
            "the cost of loss is more than a million times that of delay; allowed: a smaller ratio",
        ));
    }
    let mut best = Admission { length: most, cost: cost_of(load, most, delay, loss)? };
    loop {
        let length = improved(load, best.length, most, delay, loss, best.cost);
        let cost = cost_of(load, length, delay, loss)?;
        // Each step lowers the cost, so the number of steps is bounded by that of lengths.
        if cost >= best.cost {
            return Ok(best);
        }
        best = Admission { length, cost };
    }
}

/// The cost of admitting below `length`.
fn cost_of(load: f64, length: usize, delay: f64, loss: f64) -> Result<f64, Error> {
    if length == 0 {
        return Ok(loss * load);
    }
    let found = birth_death::steady(load, &Law::new(vec![0.0; length], 1.0)?)?;
    Ok(delay * found.mean + loss * load * found.loss)
}

/// One step of policy iteration: admit where the relative value of one more packet is below the cost of a loss.
///
/// With v(n) the relative value, s(n) = v(n + 1) - v(n) follows from the equations of the lengths. At 0: cost = load s(0);
/// below `length`: cost = delay n + load s(n) - s(n - 1); from `length` on: cost = delay n + loss load - s(n - 1).
/// Each load has the direction in which no difference grows.
fn improved(load: f64, length: usize, most: usize, delay: f64, loss: f64, cost: f64) -> usize {
    let mut slopes: Vec<f64> = (0..most).map(|n| delay * (n + 1) as f64 + loss * load - cost).collect();
    if load > 1.0 {
        let mut below = 0.0;
        for (n, slope) in slopes.iter_mut().take(length).enumerate() {
            *slope = (cost - delay * n as f64 + below) / load;
            below = *slope;
        }
    } else if length > 0 {
        let mut slope = delay * length as f64 + loss * load - cost;
        for n in (0..length.min(most)).rev() {
            slopes[n] = slope;
            slope = delay * n as f64 + load * slope - cost;
        }
    }
    slopes.iter().position(|&slope| slope > loss).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_iteration_finds_what_enumeration_finds() {
        for (load, delay, loss) in [(0.8, 1.0, 20.0), (1.0, 1.0, 50.0), (1.5, 1.0, 200.0), (2.5, 0.1, 3.0)] {
            let found = admission(load, delay, loss).unwrap();
            let all: Vec<f64> = (0..400).map(|k| cost_of(load, k, delay, loss).unwrap()).collect();
            let least = all.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((found.cost - least).abs() < 1e-9 * least, "{load} {delay} {loss}: {found:?}, {least}");
        }
    }

    #[test]
    fn cheap_losses_admit_nobody() {
        // A packet costs at least its own service time of delay.
        assert_eq!(admission(1.0, 1.0, 0.5).unwrap(), Admission { length: 0, cost: 0.5 });
    }
}
