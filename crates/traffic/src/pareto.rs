//! Pareto distributed inter-departures.

use super::renewal::tail;
use super::{Check, Distribution, Kind, Traffic};
use crate::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_document::{Error, Quantity};
use sojourn_units::{Bytes, Span};

/// Pareto distributed times between packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Pareto {
    /// Scale of the time between packets: k, which is the least of these times.
    pub scale: Quantity<Span>,
    /// Shape of the distribution: alpha.
    pub shape: f64,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
}

impl Kind for Pareto {
    const TITLE: &'static str = "Pareto";
    const EXAMPLE: &'static str = "scale = \"1.5 ms\", shape = 2.5, packet_size = \"1000 B\"";

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        tail(Distribution::Pareto { scale: self.scale.0, shape: self.shape, max: None }, &self.packet_size, check)
    }
}
