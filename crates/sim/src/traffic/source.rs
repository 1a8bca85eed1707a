//! The generators: pure state machines over a random stream.

use super::{Distribution, Traffic};
use sojourn_aqm::Random;
use sojourn_units::{BitRate, Bytes, Span};

/// One write of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Time since the previous emission, or since the start for the first.
    pub gap: Span,
    /// Payload in bytes.
    pub bytes: u32,
}

/// The generator of a flow's packets.
#[derive(Clone, Debug)]
pub struct Source {
    packet_size: Distribution<Bytes>,
    process: Process,
}

#[derive(Clone, Debug)]
enum Process {
    OnOff {
        rate: BitRate,
        on: Distribution<Span>,
        off: Distribution<Span>,
        /// What remains of the present ON period; `None` before the first.
        left: Option<Span>,
        /// Bit-nanoseconds (numerator over `rate`) by which emissions so far lie before their exact instants.
        carry: u64,
    },
    Switched {
        /// Packets a nanosecond in each phase.
        rates: [f64; 2],
        /// Mean nanoseconds in each phase.
        holds: [f64; 2],
        phase: usize,
        /// Nanoseconds of the present phase that remain; `None` before the first.
        left: Option<f64>,
        /// As for renewals.
        carry: f64,
    },
    Renewal {
        gap: Gap,
        /// Nanoseconds, within half of one, by which emissions so far lie before their exact instants.
        carry: f64,
    },
}

#[derive(Clone, Copy, Debug)]
enum Gap {
    /// The mean in ns, which need not be whole.
    Exponential(f64),
    Drawn(Distribution<Span>),
}

impl Source {
    /// The generator of `traffic`; `None` for bulk data and transfers, which need none.
    #[must_use]
    pub fn new(traffic: &Traffic) -> Option<Self> {
        let renewal = |gap| Process::Renewal { gap, carry: 0.0 };
        let (packet_size, process) = match *traffic {
            Traffic::Bulk | Traffic::Transfer { .. } => return None,
            Traffic::OnOff { rate, packet_size, on, off } => {
                (packet_size, Process::OnOff { rate, on, off, left: None, carry: 0 })
            }
            Traffic::Poisson { packets_per_second, packet_size } => {
                (packet_size, renewal(Gap::Exponential(1e9 / packets_per_second)))
            }
            Traffic::Switched { rates, holds, packet_size } => {
                let holds = holds.map(|hold| hold.nanos() as f64);
                let rates = rates.map(|rate| rate * 1e-9);
                (packet_size, Process::Switched { rates, holds, phase: 0, left: None, carry: 0.0 })
            }
            Traffic::Renewal { gap, packet_size } => (packet_size, renewal(Gap::Drawn(gap))),
        };
        Some(Self { packet_size, process })
    }

    /// The next emission. A gap too long for a [`Span`] is [`Span::MAX`]: after any run.
    pub fn next(&mut self, random: &mut dyn Random) -> Emission {
        // At least one byte: an exponential size may round to none. At most the largest write, to which headers and framing
        // can be added: a Pareto tail knows no end.
        let bytes = libm::round(self.packet_size.draw(random)).clamp(1.0, f64::from(LARGEST)) as u32;
        let gap = self.process.gap(bytes, random);
        Emission { gap, bytes }
    }
}

/// Largest payload that is handed to the transport at once.
const LARGEST: u32 = 1 << 30;

impl Process {
    fn gap(&mut self, bytes: u32, random: &mut dyn Random) -> Span {
        match self {
            Self::OnOff { rate, on, off, left, carry } => {
                let mut gap = Span::ZERO;
                let mut rest = interval(*rate, bytes, carry);
                let mut available = match *left {
                    Some(left) => left,
                    None => {
                        gap += period(*off, random);
                        period(*on, random)
                    }
                };
                while rest > available && gap < Span::MAX {
                    rest = rest.saturating_sub(available);
                    gap += available + period(*off, random);
                    // Never 0, so that the loop ends.
                    available = period(*on, random).max(Span::from_nanos(1));
                }
                // A source that is always ON has no end of its period to come nearer to.
                *left = Some(if available == Span::MAX { available } else { available.saturating_sub(rest) });
                gap + rest
            }
            Self::Switched { rates, holds, phase, left, carry } => {
                // It begins in either phase with the share of time that each has: the process is stationary.
                let mut rest = match *left {
                    Some(left) => left,
                    None => {
                        *phase = usize::from(random.uniform() * (holds[0] + holds[1]) >= holds[0]);
                        exponential(holds[*phase], random)
                    }
                };
                let mut gap = 0.0;
                for _ in 0..PHASES_MAX {
                    let next =
                        if rates[*phase] > 0.0 { exponential(1.0 / rates[*phase], random) } else { f64::INFINITY };
                    if next <= rest {
                        *left = Some(rest - next);
                        return whole(gap + next, carry);
                    }
                    // Without memory, the wait for a packet starts again in the next phase.
                    gap += rest;
                    *phase = 1 - *phase;
                    rest = exponential(holds[*phase], random);
                }
                *left = Some(rest);
                whole(gap, carry)
            }
            Self::Renewal { gap, carry } => {
                let drawn = match *gap {
                    Gap::Exponential(mean) => exponential(mean, random),
                    Gap::Drawn(gap) => gap.draw(random),
                };
                whole(drawn, carry)
            }
        }
    }
}

/// Phases without a packet after which one comes all the same, so that the loop ends.
const PHASES_MAX: u32 = 1_000_000;

/// -mean ln(1 - u), exact for small u.
fn exponential(mean: f64, random: &mut dyn Random) -> f64 {
    -mean * libm::log1p(-random.uniform())
}

/// Whole nanoseconds, with the rest carried.
fn whole(exact: f64, carry: &mut f64) -> Span {
    let exact = exact + *carry;
    let whole = libm::round(exact).max(0.0);
    *carry = if whole < 1e18 { exact - whole } else { 0.0 };
    Span::from_nanos(whole as u64)
}

/// Time in which `rate` makes `bytes`, rounded down with the remainder carried, so that the sum is exact.
fn interval(rate: BitRate, bytes: u32, carry: &mut u64) -> Span {
    let rate = u128::from(rate.bit_s().max(1));
    let numerator = u128::from(bytes) * 8_000_000_000 + u128::from(*carry);
    // The remainder is below a rate that fits 64 bits.
    *carry = (numerator % rate) as u64;
    Span::from_nanos(u64::try_from(numerator / rate).unwrap_or(u64::MAX))
}

fn period(distribution: Distribution<Span>, random: &mut dyn Random) -> Span {
    match distribution {
        Distribution::Constant(span) => span,
        drawn => Span::from_nanos(libm::round(drawn.draw(random)) as u64),
    }
}
