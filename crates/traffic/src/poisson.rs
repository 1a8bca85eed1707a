//! A Poisson process: independent exponential inter-departures.

use super::renewal::{Gap, Renewal};
use super::{Check, Distribution, Kind, Traffic};
use crate::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_document::bounds::positive_rate;
use sojourn_document::bounds::{PACKET_RATE, SLOWEST};
use sojourn_document::{Error, Quantity};
use sojourn_units::{BitRate, Bytes};

/// A Poisson process: exponential times between packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Poisson {
    /// Mean payload rate; give either this or `packets_per_second`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity<BitRate>>,
    /// Mean number of packets a second, instead of `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_per_second: Option<f64>,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
}

impl Kind for Poisson {
    const TITLE: &'static str = "Poisson";
    const EXAMPLE: &'static str =
        "packets_per_second = 200, packet_size = { exponential = { mean = \"500 B\", max = \"1400 B\" } }";

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        let packet_size = check.packet_size(&self.packet_size)?;
        let lambda = self.lambda(&packet_size, check)?;
        Ok(Traffic::packets(packet_size, Renewal::new(Gap::Exponential(1e9 / lambda))))
    }
}

impl Poisson {
    fn lambda(&self, packet_size: &Distribution<Bytes>, check: &Check<'_>) -> Result<f64, Error> {
        match (self.rate, self.packets_per_second) {
            (Some(rate), None) => {
                positive_rate(rate.0, check.path.then("rate"))?;
                check.spaced(rate.0, packet_size)?;
                Ok(rate.0.bit_s() as f64 / (8.0 * packet_size.mean()))
            }
            (None, Some(lambda)) if (SLOWEST..=PACKET_RATE.most).contains(&lambda) => Ok(lambda),
            (None, Some(lambda)) => {
                let what = format!("is {lambda:?}; allowed: {SLOWEST} to {}", PACKET_RATE.most);
                Err(check.refuse("packets_per_second", what))
            }
            _ => Err(check.refuse(
                "rate",
                "is needed, unless packets_per_second is given; allowed: exactly one of rate and packets_per_second",
            )),
        }
    }
}
