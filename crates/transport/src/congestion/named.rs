//! A congestion control as the value of a key.

use super::{find, names, Algorithm, ALGORITHMS};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use sojourn_document::keys::Key;
use std::borrow::Cow;
use std::sync::LazyLock;

/// A congestion control by its name.
#[derive(Clone, Copy)]
pub struct ByName(&'static Algorithm);

static ALGORITHM_NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| names().collect());

impl Key for &'static Algorithm {
    type Written = ByName;
    fn written(self) -> ByName {
        ByName(self)
    }
    fn read(written: ByName) -> Self {
        written.0
    }
}

impl Serialize for ByName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name)
    }
}

impl<'de> Deserialize<'de> for ByName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        find(&name).map(ByName).ok_or_else(|| de::Error::unknown_variant(&name, &ALGORITHM_NAMES))
    }
}

impl JsonSchema for ByName {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("CongestionControl")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |algorithm: &Algorithm| json!({ "type": "string", "const": algorithm.name, "description": algorithm.description() });
        let all: Vec<Value> = ALGORITHMS.iter().map(one).collect();
        json_schema!({ "description": "Congestion control: how much may be in flight.", "oneOf": all })
    }
}
