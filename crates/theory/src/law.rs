//! d(n) as a table with a constant beyond it.

use crate::Error;
use sojourn_aqm::schemes::dropping_function::{Count, Params};
use sojourn_aqm::{schemes::threshold, Algorithm, Config, Limit, Parameters};

/// The largest number of packets that a table may hold.
pub const MOST: usize = 1 << 20;

/// The probability that an arrival which finds n packets in the system, the one in service included, is lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    table: Vec<f64>,
    beyond: f64,
}

impl Law {
    /// d(n) for n from 0, and what holds beyond the table: 1 where the buffer ends.
    ///
    /// # Errors
    /// Values outside 0 to 1, no table, or one above a million packets.
    pub fn new(mut table: Vec<f64>, beyond: f64) -> Result<Self, Error> {
        if table.is_empty() || table.len() > MOST {
            return Err(Error::new(format!("d(n) has {} values; allowed: 1 to {MOST}", table.len())));
        }
        for (n, d) in table.iter().enumerate() {
            if !(0.0..=1.0).contains(d) {
                return Err(Error::new(format!("d({n}) is {d}; allowed: 0 to 1")));
            }
        }
        if !(0.0..=1.0).contains(&beyond) {
            return Err(Error::new(format!("d beyond the table is {beyond}; allowed: 0 to 1")));
        }
        // Nothing is above the first length at which every arrival is lost.
        let beyond = match table.iter().position(|&d| d >= 1.0) {
            Some(end) => {
                table.truncate(end);
                1.0
            }
            None => beyond,
        };
        while table.len() > 1 && table.last() == Some(&beyond) {
            table.pop();
        }
        if table.is_empty() {
            return Err(Error::new("d(0) is 1: every packet is lost; allowed: below 1"));
        }
        Ok(Self { table, beyond })
    }

    /// Of a scheme whose decision is a function of the queue length alone: `dropping_function`, `threshold`, `pfifo`.
    /// `is_endless` leaves out the buffer's end, as in the governing text's infinite sums.
    ///
    /// # Errors
    /// Any other scheme, and limits in bytes.
    pub fn of(scheme: &Config, is_endless: bool) -> Result<Self, Error> {
        match scheme.name() {
            "dropping_function" => {
                let params: Params = read(scheme)?;
                if !params.is_of_length() {
                    return Err(Error::new(format!(
                        "{}: its formula names more than the queue length; allowed: a formula in n alone",
                        scheme.text()
                    )));
                }
                let table =
                    sojourn_aqm::schemes::dropping_function::DroppingFunction::new(&params).probabilities().to_vec();
                let last = table.last().copied().unwrap_or(0.0);
                // With `queue`, one packet in service and n waiting are n + 1 in the system, and an idle server is n = 0.
                let shift = usize::from(params.count == Count::Queue);
                let first = table.first().copied().unwrap_or(0.0);
                let mut own: Vec<f64> = core::iter::repeat_n(first, shift).chain(table).collect();
                // With `system`, the buffer of `limit` waiting packets still has room when n = limit.
                let room = usize::try_from(params.limit.get()).unwrap_or(MOST) + 1;
                own.resize(room, last);
                Self::new(own, if is_endless { last } else { 1.0 })
            }
            "pfifo" => {
                let limit: sojourn_aqm::schemes::pfifo::PfifoParams = read(scheme)?;
                Self::new(vec![0.0; room(limit.limit.get())?], 1.0)
            }
            "threshold" => {
                let params: threshold::Params = read(scheme)?;
                let Limit::Packets(limit) = params.limit else {
                    return Err(Error::new(format!(
                        "{}: its limit is in bytes; allowed: a limit in packets",
                        scheme.text()
                    )));
                };
                let most = params.q_th.get() + u64::from(params.at == threshold::At::Exceeds);
                Self::new(vec![0.0; room(most.min(limit.get()))?], 1.0)
            }
            name => Err(Error::new(format!(
                "{name} does not depend on the queue length alone; allowed: dropping_function, threshold, pfifo"
            ))),
        }
    }

    /// d(n).
    #[must_use]
    pub fn at(&self, n: usize) -> f64 {
        self.table.get(n).copied().unwrap_or(self.beyond)
    }

    /// The smallest n from which d is constant.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Never: a law has one value at least.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The constant.
    #[must_use]
    pub fn beyond(&self) -> f64 {
        self.beyond
    }

    /// The largest number of packets in the system; `None` without a buffer's end.
    #[must_use]
    pub fn capacity(&self) -> Option<usize> {
        (self.beyond >= 1.0).then_some(self.table.len())
    }

    /// Solves with the buffer's end, or without one for buffers twice as large each time until less than 1e-13 is at the end.
    /// `solve` gives its answer and what is at the end.
    pub(crate) fn ended<T>(&self, mut solve: impl FnMut(&Self, usize) -> Result<(T, f64), Error>) -> Result<T, Error> {
        if let Some(capacity) = self.capacity() {
            return solve(self, capacity).map(|(found, _)| found);
        }
        let mut more = 64;
        while self.table.len() + more <= MOST {
            let mut table = self.table.clone();
            table.resize(table.len() + more, self.beyond);
            let law = Self { table, beyond: 1.0 };
            let (found, at_end) = solve(&law, law.table.len())?;
            if at_end < 1e-13 {
                return Ok(found);
            }
            more *= 2;
        }
        Err(Error::new(format!("more than {MOST} packets: the load is too close to the limit of stability")))
    }

    /// Whether a steady state exists at this load.
    ///
    /// # Errors
    /// The load is none, or too high for what is dropped.
    pub fn check(&self, load: f64) -> Result<(), Error> {
        if !(load > 0.0 && load.is_finite()) {
            return Err(Error::new(format!("the load is {load}; allowed: above 0")));
        }
        if load * (1.0 - self.beyond) >= 1.0 {
            return Err(Error::new(format!(
                "no steady state: load {load} times 1 - d(infinity) = {} is {}; allowed: below 1, or a buffer",
                1.0 - self.beyond,
                load * (1.0 - self.beyond)
            )));
        }
        Ok(())
    }
}

/// The number in the system at which a buffer of `limit` waiting packets is full.
fn room(limit: u64) -> Result<usize, Error> {
    usize::try_from(limit)
        .ok()
        .filter(|&limit| limit < MOST)
        .map(|limit| limit + 1)
        .ok_or_else(|| Error::new(format!("the limit is {limit} packets; allowed: below {MOST}")))
}

fn read<P: Parameters>(scheme: &Config) -> Result<P, Error> {
    let mut params = P::default();
    let standing = params.list();
    for (param, standing) in scheme.params().iter().zip(standing) {
        // What stands at its default may have no text that reads (an absent table).
        if param.value != standing.value {
            if let Some(Err(why)) = params.set(param.name, &param.value) {
                return Err(Error::new(why));
            }
        }
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_end_where_the_scheme_says() {
        // 100 may wait and one is in service: arrivals that find 101 are lost.
        let law = Law::of(&"pfifo limit 100p".parse().unwrap(), false).unwrap();
        assert_eq!(law.capacity(), Some(101));
        // d0 in the system: an arrival that finds 100 is lost.
        let law = Law::of(&"dropping_function function d0 count system".parse().unwrap(), false).unwrap();
        assert_eq!(law.capacity(), Some(100));
        // d0 of waiting packets: 100 wait and one is in service.
        let law = Law::of(&"dropping_function function d0".parse().unwrap(), false).unwrap();
        assert_eq!(law.capacity(), Some(101));
        // q >= 15: 15 wait; q > 15: 16.
        assert_eq!(Law::of(&"threshold".parse().unwrap(), false).unwrap().capacity(), Some(16));
        assert_eq!(Law::of(&"threshold at exceeds".parse().unwrap(), false).unwrap().capacity(), Some(17));
    }

    #[test]
    fn endless_laws_keep_their_last_value() {
        let law = Law::of(&"dropping_function function d8 count system".parse().unwrap(), true).unwrap();
        assert_eq!((law.at(98), law.at(99), law.at(100_000), law.capacity()), (0.0, 0.5, 0.5, None));
        // 2 x (1 - 0.5) = 1.
        assert!(law.check(2.0).unwrap_err().to_string().contains("no steady state"));
        assert!(law.check(1.99).is_ok());
    }

    #[test]
    fn other_schemes_are_refused() {
        let error = Law::of(&"codel".parse().unwrap(), false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "codel does not depend on the queue length alone; allowed: dropping_function, threshold, pfifo"
        );
    }
}
