//! A Poisson process whose rate switches between two values, each held for an exponential time: correlated arrivals with a known
//! theory (a Markovian arrival process).

use super::on_off::PERIODS_MAX;
use super::source::{exponential, whole};
use super::{Check, Kind, Process, Traffic};
use crate::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::Random;
use sojourn_document::bounds::{up_to, PACKET_RATE, SLOWEST, TIME};
use sojourn_document::{Error, Quantity};
use sojourn_units::{Bytes, Span};

/// A Poisson process that switches between two rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct SwitchedPoisson {
    /// Packets a second in each phase.
    pub packets_per_second: [f64; 2],
    /// Mean time in each phase; the times are exponentially distributed.
    pub hold: [Quantity<Span>; 2],
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
}

impl Kind for SwitchedPoisson {
    const TITLE: &'static str = "switched Poisson";
    const EXAMPLE: &'static str =
        "packets_per_second = [50, 500], hold = [\"2 s\", \"200 ms\"], packet_size = \"1000 B\"";

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        let packet_size = check.packet_size(&self.packet_size)?;
        let rates = self.packets_per_second;
        let most = PACKET_RATE.most;
        if rates.iter().any(|rate| *rate != 0.0 && !(SLOWEST..=most).contains(rate)) || rates == [0.0, 0.0] {
            let what = format!("is {rates:?}; allowed: two numbers from {SLOWEST} to {most}, or one of them 0");
            return Err(check.refuse("packets_per_second", what));
        }
        let holds = self.hold.map(|hold| hold.0);
        if holds.contains(&Span::ZERO) {
            return Err(check.refuse("hold", "is 0; allowed: two times above 0"));
        }
        for (k, hold) in holds.into_iter().enumerate() {
            up_to(hold, &TIME, || check.path.then("hold").then(k))?;
        }
        let packets: f64 = holds.iter().zip(rates).map(|(hold, rate)| hold.seconds() * rate).sum();
        if packets * PERIODS_MAX < 1.0 {
            let what = format!("makes {packets:e} packets in both phases on average; allowed: at least a millionth");
            return Err(check.refuse("hold", what));
        }
        Ok(Traffic::packets(packet_size, Switched::new(rates, holds)))
    }
}

/// Phases without a packet after which one comes all the same, so that the loop ends.
const PHASES_MAX: u32 = 1_000_000;

/// The process.
#[derive(Clone, Debug)]
pub(super) struct Switched {
    /// Packets a nanosecond in each phase.
    rates: [f64; 2],
    /// Mean nanoseconds in each phase.
    holds: [f64; 2],
    phase: usize,
    /// Nanoseconds of the present phase that remain; `None` before the first.
    left: Option<f64>,
    /// As for renewals.
    carry: f64,
}

impl Switched {
    /// `rates` in packets a second, one of them above 0.
    pub(super) fn new(rates: [f64; 2], holds: [Span; 2]) -> Self {
        let holds = holds.map(|hold| hold.nanos() as f64);
        Self { rates: rates.map(|rate| rate * 1e-9), holds, phase: 0, left: None, carry: 0.0 }
    }
}

impl Process for Switched {
    fn gap(&mut self, _bytes: u32, random: &mut dyn Random) -> Span {
        // It begins in either phase with the share of time that each has: the process is stationary.
        let mut rest = match self.left {
            Some(left) => left,
            None => {
                self.phase = usize::from(random.uniform() * (self.holds[0] + self.holds[1]) >= self.holds[0]);
                exponential(self.holds[self.phase], random)
            }
        };
        let mut gap = 0.0;
        for _ in 0..PHASES_MAX {
            let next = if self.rates[self.phase] > 0.0 {
                exponential(1.0 / self.rates[self.phase], random)
            } else {
                f64::INFINITY
            };
            if next <= rest {
                self.left = Some(rest - next);
                return whole(gap + next, &mut self.carry);
            }
            // Without memory, the wait for a packet starts again in the next phase.
            gap += rest;
            self.phase = 1 - self.phase;
            rest = exponential(self.holds[self.phase], random);
        }
        self.left = Some(rest);
        whole(gap, &mut self.carry)
    }

    fn packets_per_second(&self, _bytes: f64) -> f64 {
        self.rates[0].max(self.rates[1]) * 1e9
    }
}
