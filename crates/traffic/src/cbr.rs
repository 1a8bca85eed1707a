//! Constant bit rate: ON and OFF without OFF.

use super::on_off::on_off;
use super::{Check, Distribution, Kind, Traffic};
use crate::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_document::{Error, Quantity};
use sojourn_units::{BitRate, Bytes, Span};

/// Packets at a constant bit rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Cbr {
    /// Payload rate.
    pub rate: Quantity<BitRate>,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
}

impl Kind for Cbr {
    const TITLE: &'static str = "constant bit rate";
    const EXAMPLE: &'static str = "rate = \"64 kbit/s\", packet_size = \"160 B\"";

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        let always = Distribution::Constant(Span::MAX);
        on_off(self.rate.0, check.packet_size(&self.packet_size)?, always, Distribution::Constant(Span::ZERO), check)
    }
}
