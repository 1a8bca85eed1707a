//! Variable bit rate: ON and OFF with periods of its own.

use super::on_off::on_off;
use super::{Check, Kind, Traffic};
use crate::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_document::{Error, Quantity};
use sojourn_units::{BitRate, Bytes, Span};

/// Variable bit rate: ON and OFF periods alternate, with a constant bit rate while ON.
// The default periods are those of S. Shu's thesis (Groningen, 2023), Table 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Vbr {
    /// Payload rate while ON.
    pub rate: Quantity<BitRate>,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
    /// Length of an ON period: a time, or a random time.
    #[serde(default = "on")]
    pub on: Amount<Span>,
    /// Length of an OFF period: a time, or a random time. The flow begins with an OFF period.
    #[serde(default = "off")]
    pub off: Amount<Span>,
}

fn on() -> Amount<Span> {
    Amount::Constant(Quantity(Span::from_secs(1)))
}

fn off() -> Amount<Span> {
    Amount::Constant(Quantity(Span::from_millis(1500)))
}

impl Kind for Vbr {
    const TITLE: &'static str = "variable bit rate";
    const EXAMPLE: &'static str = "rate = \"2 Mbit/s\", packet_size = \"1200 B\", on = \"1 s\", off = \"1.5 s\"";

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        let size = check.packet_size(&self.packet_size)?;
        on_off(self.rate.0, size, check.time("on", &self.on)?, check.time("off", &self.off)?, check)
    }
}
