//! Weibull distributed inter-departures.

use super::renewal::tail;
use super::{Check, Distribution, Kind, Traffic};
use crate::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_document::{Error, Quantity};
use sojourn_units::{Bytes, Span};

/// Weibull distributed times between packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Weibull {
    /// Scale of the time between packets: b.
    pub scale: Quantity<Span>,
    /// Shape of the distribution: c.
    pub shape: f64,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
}

impl Kind for Weibull {
    const TITLE: &'static str = "Weibull";
    const EXAMPLE: &'static str = "scale = \"2 ms\", shape = 0.7, packet_size = \"1000 B\"";

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        tail(Distribution::Weibull { scale: self.scale.0, shape: self.shape, max: None }, &self.packet_size, check)
    }
}
