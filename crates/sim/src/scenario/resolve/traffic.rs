//! Traffic: from tables to distributions.

use super::bounds::{self, up_to, Bound, PACKET_RATE, SHAPES, SLOWEST};
use super::{moving, Error, Path};
use crate::scenario::flow::{Amount, PoissonTable, SwitchedTable, TailTable, TrafficTable, TransportTable};
use crate::traffic::{Distribution, Measure, Traffic};
use sojourn_document::{Quantity, Unit};
use sojourn_units::{BitRate, Bytes, Span};

/// UDP's largest payload, and the largest write of an application over TCP.
const UDP_MAX: Bytes = Bytes::new(65_507);
const TCP_MAX: Bytes = Bytes::new(1 << 30);

/// A packet takes at most so many ON periods: more would cost as many draws for one packet.
const PERIODS_MAX: f64 = 1e6;

pub(super) fn resolve(table: &TrafficTable, transport: &TransportTable, path: &Path) -> Result<Traffic, Error> {
    let udp = matches!(transport, TransportTable::Udp(_));
    let size =
        |amount: &Amount<Bytes>| packet_size(amount, if udp { UDP_MAX } else { TCP_MAX }, path.then("packet_size"));
    let tail = |table: &TailTable, weibull: bool| {
        let (scale, shape, max) = (table.scale.0, table.shape, None);
        let gap = if weibull {
            Distribution::Weibull { scale, shape, max }
        } else {
            Distribution::Pareto { scale, shape, max }
        };
        check(&gap, Some(&bounds::TIME), path)?;
        Ok(Traffic::Renewal { gap, packet_size: size(&table.packet_size)? })
    };
    match table {
        TrafficTable::Bulk(_) | TrafficTable::Transfer(_) if udp => {
            let what =
                "sends at the rate of its transport, and udp sets none; allowed: cbr, vbr, on_off, poisson, switched_poisson, pareto, weibull, or transport kind = \"tcp\"";
            Err(Error::new(path.then("kind"), what))
        }
        TrafficTable::Bulk(_) => Ok(Traffic::Bulk),
        TrafficTable::Transfer(transfer) => {
            if transfer.size.0 == Bytes::ZERO {
                return Err(Error::new(path.then("size"), "is 0; allowed: 1 B or more"));
            }
            up_to(transfer.size.0, &bounds::DATA, || path.then("size"))?;
            Ok(Traffic::Transfer { size: transfer.size.0 })
        }
        TrafficTable::Cbr(cbr) => {
            let on = Distribution::Constant(Span::MAX);
            on_off(cbr.rate.0, size(&cbr.packet_size)?, on, Distribution::Constant(Span::ZERO), path)
        }
        TrafficTable::Vbr(t) => on_off(
            t.rate.0,
            size(&t.packet_size)?,
            amount(&t.on, Some(&bounds::TIME), path.then("on"))?,
            amount(&t.off, Some(&bounds::TIME), path.then("off"))?,
            path,
        ),
        TrafficTable::OnOff(t) => on_off(
            t.rate.0,
            size(&t.packet_size)?,
            amount(&t.on, Some(&bounds::TIME), path.then("on"))?,
            amount(&t.off, Some(&bounds::TIME), path.then("off"))?,
            path,
        ),
        TrafficTable::Poisson(poisson) => {
            let packet_size = size(&poisson.packet_size)?;
            Ok(Traffic::Poisson { packets_per_second: lambda(poisson, &packet_size, path)?, packet_size })
        }
        TrafficTable::SwitchedPoisson(t) => switched(t, size(&t.packet_size)?, path),
        TrafficTable::Pareto(t) => tail(t, false),
        TrafficTable::Weibull(t) => tail(t, true),
    }
}

fn on_off(
    rate: BitRate,
    packet_size: Distribution<Bytes>,
    on: Distribution<Span>,
    off: Distribution<Span>,
    path: &Path,
) -> Result<Traffic, Error> {
    moving(rate, path.then("rate"))?;
    let packet_ns = packet_size.mean() * 8e9 / rate.bit_s() as f64;
    spaced(rate, &packet_size, path)?;
    if on.mean() * PERIODS_MAX < packet_ns {
        let what = format!(
            "is {} on average, while a packet takes {}; allowed: at least a millionth of that",
            Span::from_nanos(on.mean() as u64),
            Span::from_nanos(packet_ns as u64)
        );
        return Err(Error::new(path.then("on"), what));
    }
    Ok(Traffic::OnOff { rate, packet_size, on, off })
}

/// A rate that packets of this size can have.
fn spaced(rate: BitRate, packet_size: &Distribution<Bytes>, path: &Path) -> Result<(), Error> {
    let packets_per_second = rate.bit_s() as f64 / (8.0 * packet_size.mean());
    if packets_per_second > PACKET_RATE.most {
        let what = format!(
            "is {rate}, {packets_per_second:.0} packets a second; allowed: up to {} packets a second",
            PACKET_RATE.most
        );
        return Err(Error::new(path.then("rate"), what));
    }
    Ok(())
}

fn switched(table: &SwitchedTable, packet_size: Distribution<Bytes>, path: &Path) -> Result<Traffic, Error> {
    let rates = table.packets_per_second;
    let most = PACKET_RATE.most;
    if rates.iter().any(|rate| *rate != 0.0 && !(SLOWEST..=most).contains(rate)) || rates == [0.0, 0.0] {
        let what = format!("is {rates:?}; allowed: two numbers from {SLOWEST} to {most}, or one of them 0");
        return Err(Error::new(path.then("packets_per_second"), what));
    }
    let holds = table.hold.map(|hold| hold.0);
    if holds.contains(&Span::ZERO) {
        return Err(Error::new(path.then("hold"), "is 0; allowed: two times above 0"));
    }
    for (k, hold) in holds.into_iter().enumerate() {
        up_to(hold, &bounds::TIME, || path.then("hold").then(k))?;
    }
    let packets: f64 = holds.iter().zip(rates).map(|(hold, rate)| hold.seconds() * rate).sum();
    if packets * PERIODS_MAX < 1.0 {
        let what = format!("makes {packets:e} packets in both phases on average; allowed: at least a millionth");
        return Err(Error::new(path.then("hold"), what));
    }
    Ok(Traffic::Switched { rates, holds, packet_size })
}

fn lambda(table: &PoissonTable, packet_size: &Distribution<Bytes>, path: &Path) -> Result<f64, Error> {
    match (table.rate, table.packets_per_second) {
        (Some(rate), None) => {
            moving(rate.0, path.then("rate"))?;
            spaced(rate.0, packet_size, path)?;
            Ok(rate.0.bit_s() as f64 / (8.0 * packet_size.mean()))
        }
        (None, Some(lambda)) if (SLOWEST..=PACKET_RATE.most).contains(&lambda) => Ok(lambda),
        (None, Some(lambda)) => {
            let what = format!("is {lambda:?}; allowed: {SLOWEST} to {}", PACKET_RATE.most);
            Err(Error::new(path.then("packets_per_second"), what))
        }
        _ => Err(Error::new(
            path.then("rate"),
            "is needed, unless packets_per_second is given; allowed: exactly one of rate and packets_per_second",
        )),
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
    check(&distribution, bound, &path)?;
    Ok(distribution)
}

/// Parameters that make a distribution; `path` is of the table that holds them.
fn check<T: Unit + Measure + PartialOrd>(
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
