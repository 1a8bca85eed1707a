//! Values of the two directions of a link.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, value::MapAccessDeserializer, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// What is written for a link: one value, or `{ down = VALUE, up = VALUE }` for its two directions, of which down is the one in
/// which the link is written, from `from` to `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directed<T> {
    /// One value.
    Plain(T),
    /// A table, in which a direction may be missing.
    Each {
        /// From `from` to `to`.
        down: Option<T>,
        /// From `to` to `from`.
        up: Option<T>,
    },
}

/// Tells the reader of documents that a table may be one of directions.
pub(crate) const DIRECTED: &str = "a table with `down` and `up`";

impl<T> Directed<T> {
    /// The value towards `to`, where there is one.
    #[must_use]
    pub fn down(&self) -> Option<&T> {
        match self {
            Self::Plain(value) => Some(value),
            Self::Each { down, .. } => down.as_ref(),
        }
    }

    /// The value of the other direction, where a table has one.
    #[must_use]
    pub fn up(&self) -> Option<&T> {
        match self {
            Self::Plain(_) => None,
            Self::Each { up, .. } => up.as_ref(),
        }
    }
}

impl<T: Default> Default for Directed<T> {
    fn default() -> Self {
        Self::Plain(T::default())
    }
}

impl<T: Serialize> Serialize for Directed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(value) => value.serialize(serializer),
            Self::Each { down, up } => {
                serializer.collect_map([("down", down), ("up", up)].into_iter().filter(|(_, value)| value.is_some()))
            }
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Directed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, bound = "T: Deserialize<'de>")]
        struct Each<T> {
            down: Option<T>,
            up: Option<T>,
        }
        struct Form<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Form<T> {
            type Value = Directed<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(DIRECTED)
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Directed<T>, D::Error> {
                T::deserialize(deserializer).map(Directed::Plain)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Directed<T>, A::Error> {
                let Each { down, up } = Each::deserialize(MapAccessDeserializer::new(map))?;
                if down.is_none() && up.is_none() {
                    return Err(de::Error::custom("is an empty table; allowed: down, up, or both"));
                }
                Ok(Directed::Each { down, up })
            }
        }
        deserializer.deserialize_newtype_struct(DIRECTED, Form(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Directed<T> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("directed_{}", T::schema_name()))
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [
                one,
                {
                    "type": "object",
                    "properties": { "down": one, "up": one },
                    "additionalProperties": false,
                    "minProperties": 1,
                },
            ],
        })
    }
}
