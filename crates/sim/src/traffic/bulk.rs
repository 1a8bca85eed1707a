//! Bulk data: the transport always has some.

use super::{Check, Kind, Traffic};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_document::Error;

/// An endless stream of data, as fast as TCP allows; TCP only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Bulk {}

impl Kind for Bulk {
    const TITLE: &'static str = "bulk";
    const EXAMPLE: &'static str = "";
    const OWN_RATE: bool = false;

    fn resolve(&self, _: &Check<'_>) -> Result<Traffic, Error> {
        Ok(Traffic::Bulk)
    }
}
