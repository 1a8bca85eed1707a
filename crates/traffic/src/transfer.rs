//! A transfer: so much data, handed over at the start.

use super::{Check, Kind, Traffic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_document::bounds::{up_to, DATA};
use sojourn_document::{Error, Quantity};
use sojourn_units::Bytes;

/// One transfer of a given size; TCP only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Transfer {
    /// Payload of the transfer.
    pub size: Quantity<Bytes>,
}

impl Kind for Transfer {
    const TITLE: &'static str = "transfer";
    const EXAMPLE: &'static str = "size = \"3 MB\"";
    const OWN_RATE: bool = false;

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        let Quantity(size) = self.size;
        if size == Bytes::ZERO {
            return Err(check.refuse("size", "is 0; allowed: 1 B or more"));
        }
        up_to(size, &DATA, || check.path.then("size"))?;
        Ok(Traffic::Transfer { size })
    }
}
