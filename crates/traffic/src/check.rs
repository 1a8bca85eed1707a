//! What the tables of traffic have in common: random amounts, sizes and rates of packets.

use crate::amount::Amount;
use crate::distribution::{Distribution, Measure};
use sojourn_document::bounds::{self, up_to, Bound, PACKET_RATE, SHAPES};
use sojourn_document::{Error, Path, Quantity, Unit};
use sojourn_units::{BitRate, Bytes, Span};

/// UDP's largest payload, and the largest write of an application over TCP.
const UDP_MAX: Bytes = Bytes::new(65_507);
const TCP_MAX: Bytes = Bytes::new(1 << 30);

/// The place of a table of traffic, and what carries it.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// Of the table.
    pub path: &'a Path,
    /// UDP, which sets no rate.
    pub udp: bool,
}

impl Check<'_> {
    /// The error that `what` is wrong with a key.
    #[must_use]
    pub fn refuse(&self, key: &'static str, what: impl Into<String>) -> Error {
        Error::new(self.path.then(key), what)
    }

    /// The key `packet_size`: a size that the transport can carry.
    ///
    /// # Errors
    /// Another one.
    pub fn packet_size(&self, amount: &Amount<Bytes>) -> Result<Distribution<Bytes>, Error> {
        packet_size(amount, Bytes::new(self.largest()), self.path.then("packet_size"))
    }

    /// Bytes that the transport takes at once.
    #[must_use]
    pub fn largest(&self) -> u64 {
        if self.udp {
            UDP_MAX.get()
        } else {
            TCP_MAX.get()
        }
    }

    /// The size of what a server sends.
    ///
    /// # Errors
    /// One that is none, or too large.
    pub fn size(&self, key: &'static str, table: &Amount<Bytes>) -> Result<Distribution<Bytes>, Error> {
        let path = self.path.then(key);
        let size = amount(table, Some(&bounds::DATA), path.clone())?;
        let is_none =
            matches!(size, Distribution::Constant(bytes) | Distribution::Uniform(_, bytes) if bytes == Bytes::ZERO);
        if is_none {
            return Err(Error::new(path, "is 0; allowed: 1 B or more"));
        }
        Ok(size)
    }

    /// A time, up to the bound of times.
    ///
    /// # Errors
    /// A longer one, or parameters that make no distribution.
    pub fn time(&self, key: &'static str, table: &Amount<Span>) -> Result<Distribution<Span>, Error> {
        amount(table, Some(&bounds::TIME), self.path.then(key))
    }

    /// The key `rate`: one that packets of this size can have.
    ///
    /// # Errors
    /// More packets a second than the bound.
    pub fn spaced(&self, rate: BitRate, packet_size: &Distribution<Bytes>) -> Result<(), Error> {
        let packets_per_second = rate.bit_s() as f64 / (8.0 * packet_size.mean());
        if packets_per_second > PACKET_RATE.most {
            let what = format!(
                "is {rate}, {packets_per_second:.0} packets a second; allowed: up to {} packets a second",
                PACKET_RATE.most
            );
            return Err(self.refuse("rate", what));
        }
        Ok(())
    }
}

fn packet_size(table: &Amount<Bytes>, most: Bytes, path: Path) -> Result<Distribution<Bytes>, Error> {
    let size = amount(table, None, path.clone())?;
    let refuse = |what: String| Err(Error::new(path.clone(), format!("{what}; allowed: 1 B to {} B", most.get())));
    match size {
        Distribution::Constant(bytes) | Distribution::Uniform(bytes, _) if bytes == Bytes::ZERO => {
            refuse("is 0".to_owned())
        }
        Distribution::Constant(bytes) | Distribution::Uniform(_, bytes) if bytes > most => {
            refuse(format!("is {bytes}"))
        }
        _ if !(0.5..=most.get() as f64).contains(&size.mean()) => refuse(format!("has a mean of {:.0} B", size.mean())),
        _ => Ok(size),
    }
}

fn amount<T: Unit + Measure + PartialOrd>(
    table: &Amount<T>,
    bound: Option<&Bound<T>>,
    path: Path,
) -> Result<Distribution<T>, Error> {
    let plain = |max: Option<Quantity<T>>| max.map(|max| max.0);
    let (distribution, key) = match *table {
        Amount::Constant(value) => (Distribution::Constant(value.0), ""),
        Amount::Uniform([low, high]) => (Distribution::Uniform(low.0, high.0), "uniform"),
        Amount::Exponential(t) => (Distribution::Exponential { mean: t.mean.0, max: plain(t.max) }, "exponential"),
        Amount::Pareto(t) => (Distribution::Pareto { scale: t.scale.0, shape: t.shape, max: plain(t.max) }, "pareto"),
        Amount::Weibull(t) => {
            (Distribution::Weibull { scale: t.scale.0, shape: t.shape, max: plain(t.max) }, "weibull")
        }
    };
    let path = if key.is_empty() { path } else { path.then(key) };
    possible(&distribution, bound, &path)?;
    Ok(distribution)
}

/// Parameters that make a distribution; `path` is of the table that holds them.
pub(crate) fn possible<T: Unit + Measure + PartialOrd>(
    distribution: &Distribution<T>,
    bound: Option<&Bound<T>>,
    path: &Path,
) -> Result<(), Error> {
    if let Some(bound) = bound {
        let (values, [first, second]) = match *distribution {
            Distribution::Constant(value) => ([Some(value), None], ["", ""]),
            Distribution::Uniform(low, high) => ([Some(low), Some(high)], ["", ""]),
            Distribution::Exponential { mean, max } => ([Some(mean), max], ["mean", "max"]),
            Distribution::Pareto { scale, max, .. } | Distribution::Weibull { scale, max, .. } => {
                ([Some(scale), max], ["scale", "max"])
            }
        };
        for (value, key) in values.into_iter().zip([first, second]) {
            let at = || if key.is_empty() { path.clone() } else { path.then(key) };
            value.map_or(Ok(()), |value| up_to(value, bound, at))?;
        }
    }
    let above = |value: T, key: &'static str| {
        if value.base() > 0.0 {
            Ok(())
        } else {
            Err(Error::new(path.then(key), format!("is 0; allowed: above 0, {}", T::ALLOWED)))
        }
    };
    let reaches = |max: Option<T>, least: f64, name: &str| match max {
        Some(max) if max.base() <= least => {
            Err(Error::new(path.then("max"), format!("is {max}; allowed: above {name}")))
        }
        _ => Ok(()),
    };
    let shaped = |shape: f64| {
        if SHAPES.contains(&shape) {
            return Ok(());
        }
        let what = format!("is {shape:?}; allowed: {} to {}", SHAPES.start(), SHAPES.end());
        Err(Error::new(path.then("shape"), what))
    };
    match *distribution {
        Distribution::Constant(_) => Ok(()),
        Distribution::Uniform(low, high) if low.base() > high.base() => {
            Err(Error::new(path.clone(), format!("goes from {low} down to {high}; allowed: the smaller value first")))
        }
        Distribution::Uniform(..) => Ok(()),
        Distribution::Exponential { mean, max } => {
            above(mean, "mean")?;
            reaches(max, 0.0, "0")
        }
        Distribution::Pareto { scale, shape, max } => {
            above(scale, "scale")?;
            shaped(shape)?;
            reaches(max, scale.base(), "`scale`")
        }
        Distribution::Weibull { scale, shape, max } => {
            above(scale, "scale")?;
            shaped(shape)?;
            reaches(max, 0.0, "0")
        }
    }
}
