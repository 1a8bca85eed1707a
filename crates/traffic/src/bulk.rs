//! Bulk data: the transport always has some.

use super::{Check, Kind, Traffic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_document::bounds::{up_to, DATA, TIME};
use sojourn_document::{Error, Quantity};
use sojourn_units::{Bytes, Span};

/// An endless stream of data, as fast as TCP allows; TCP only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Bulk {
    /// Time from the flow's start, when the connection opens, to the stream. iperf3, for one, opens all its connections
    /// before it sends on any.
    #[serde(default, skip_serializing_if = "is_default")]
    pub after: Quantity<Span>,
    /// Payload that is sent as soon as the connection is open; only with `after`. iperf3 37 B.
    #[serde(default, skip_serializing_if = "is_default")]
    pub first: Quantity<Bytes>,
    /// Time from one self probe to the next (draft-ietf-ippm-responsiveness-09): a request for one byte on this connection,
    /// answered behind what TCP has sent. The times are the series `self_probe_ms` of the flow. None by default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub self_probes: Quantity<Span>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Between self probes: the draft sends at most 100 a second.
const LEAST: Span = Span::from_millis(1);

impl Kind for Bulk {
    const TITLE: &'static str = "bulk";
    const EXAMPLE: &'static str = "";
    const OWN_RATE: bool = false;

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        let (Quantity(after), Quantity(first)) = (self.after, self.first);
        if after.is_zero() && first > Bytes::ZERO {
            return Err(check.refuse("first", "needs `after`: without it the stream begins at once"));
        }
        up_to(after, &TIME, || check.path.then("after"))?;
        up_to(first, &DATA, || check.path.then("first"))?;
        let Quantity(self_probes) = self.self_probes;
        up_to(self_probes, &TIME, || check.path.then("self_probes"))?;
        if !self_probes.is_zero() && self_probes < LEAST {
            return Err(
                check.refuse("self_probes", format!("is {self_probes}; allowed: {LEAST} or more, or 0 s for none"))
            );
        }
        Ok(Traffic::Bulk { after, first, self_probes })
    }
}
