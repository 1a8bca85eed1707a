//! An online game: small updates at constant intervals.

use super::renewal::{Gap, Renewal};
use super::{Check, Distribution, Kind, Source, Traffic};
use crate::application::{Late, Listener};
use crate::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_document::{Error, Quantity};
use sojourn_units::{Bytes, Span};

/// Updates of an online game at constant intervals; UDP only. The share of updates that take more than 50 and 100 ms is reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Gaming {
    /// Time between updates; the default is 64 updates a second.
    #[serde(default = "interval")]
    pub interval: Quantity<Span>,
    /// Payload of an update: a size, or a random size.
    #[serde(default = "packet_size")]
    pub packet_size: Amount<Bytes>,
}

fn interval() -> Quantity<Span> {
    Quantity(Span::from_micros(15_625))
}

fn packet_size() -> Amount<Bytes> {
    Amount::Constant(Quantity(Bytes::new(125)))
}

impl Kind for Gaming {
    const TITLE: &'static str = "online game";
    const EXAMPLE: &'static str = "interval = \"20 ms\", packet_size = { uniform = [\"60 B\", \"200 B\"] }";
    const UDP_ONLY: bool = true;

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        let interval = self.interval.0;
        if interval < Span::from_micros(100) || interval > Span::from_secs(10) {
            return Err(check.refuse("interval", format!("is {interval}; allowed: 100 us to 10 s")));
        }
        let process = Renewal::new(Gap::Drawn(Distribution::Constant(interval)));
        let source = Source::new(check.packet_size(&self.packet_size)?, Box::new(process));
        Ok(Traffic::Heard(source, Listener::Game(Late::default())))
    }
}
