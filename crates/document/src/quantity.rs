//! Values of a document that are texts: quantities with their unit, and queueing schemes.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use sojourn_aqm::{link_effects, registry, Config, Dscp, Framing};
use sojourn_units::{BitRate, Bytes, Packets, Span, UnitError};
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

/// A quantity written as text with its unit.
pub trait Unit: Copy + Display + FromStr<Err = UnitError> {
    /// The name in the JSON Schema.
    const NAME: &'static str;
    /// What is accepted, with an example.
    const ALLOWED: &'static str;
}

macro_rules! unit {
    ($($type:ty => $name:literal),+) => {$(
        impl Unit for $type {
            const NAME: &'static str = $name;
            const ALLOWED: &'static str = <$type>::ALLOWED;
        }
    )+};
}

unit!(Span => "time", Bytes => "data", Packets => "packets", BitRate => "rate", Framing => "framing", Dscp => "codepoint");

macro_rules! effect_units {
    ($({ $key:ident $reverse:ident ($value:ty $(as $name:literal)?) $($more:tt)* })*) => {
        $($(unit!($value => $name);)?)*
    };
}
link_effects!(effect_units);

/// A quantity with its unit, `"20 Mbit/s"`; a bare number is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity<T>(pub T);

impl<T: Unit> Serialize for Quantity<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: Unit> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Text::<T>(PhantomData))
    }
}

impl<T: Unit> JsonSchema for Quantity<T> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed(T::NAME)
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": T::ALLOWED })
    }
}

/// Reads a quantity from text; says of a number that its unit is missing.
struct Text<T>(PhantomData<T>);

impl<T: Unit> Visitor<'_> for Text<T> {
    type Value = Quantity<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::ALLOWED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity<T>, E> {
        text.parse().map(Quantity).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Quantity<T>, E> {
        Err(E::custom(format_args!("{n} has no unit; allowed: {}", T::ALLOWED)))
    }

    fn visit_f64<E: de::Error>(self, x: f64) -> Result<Quantity<T>, E> {
        Err(E::custom(format_args!("{x} has no unit; allowed: {}", T::ALLOWED)))
    }
}

/// A quantity or the word `none`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrNone<T>(pub Option<T>);

const NONE: &str = "none";

impl<T: Unit> Serialize for OrNone<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_str(NONE),
        }
    }
}

impl<'de, T: Unit> Deserialize<'de> for OrNone<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Word<T>(PhantomData<T>);
        impl<T: Unit> Visitor<'_> for Word<T> {
            type Value = OrNone<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}, or \"{NONE}\"", T::ALLOWED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OrNone<T>, E> {
                if text == NONE {
                    return Ok(OrNone(None));
                }
                let value = text.parse().map_err(|e| E::custom(format_args!("{e}, or \"{NONE}\"")))?;
                Ok(OrNone(Some(value)))
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<OrNone<T>, E> {
                Err(E::custom(format_args!("{n} has no unit; allowed: {}, or \"{NONE}\"", T::ALLOWED)))
            }
        }
        deserializer.deserialize_any(Word::<T>(PhantomData))
    }
}

impl<T: Unit> JsonSchema for OrNone<T> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("{}_or_none", T::NAME))
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": format!("{}, or \"{NONE}\"", T::ALLOWED) })
    }
}

/// A queueing scheme: tc-style text (`"codel target 10ms"`) or a table (`{kind = "codel", target = "10 ms"}`).
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme(pub Config);

impl Scheme {
    /// Plain tail drop, with the limit that is `pfifo`'s own default.
    #[must_use]
    pub fn tail_drop() -> Self {
        Self(Config::from_pairs("pfifo", &[]).unwrap_or_else(|_| unreachable!("pfifo is registered")))
    }
}

impl Serialize for Scheme {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.text())
    }
}

impl<'de> Deserialize<'de> for Scheme {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Scheme;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an algorithm with its parameters as in tc, \"codel target 10ms\", or as a table, {kind = \"codel\", target = \"10 ms\"}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Scheme, E> {
                text.parse().map(Scheme).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scheme, A::Error> {
                let mut kind = None;
                let mut pairs = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    let Word(value) = map.next_value()?;
                    if key == "kind" {
                        kind = Some(value);
                    } else {
                        pairs.push((key, value));
                    }
                }
                let kind = kind.ok_or_else(|| {
                    let names = registry::names();
                    de::Error::custom(format_args!("is a table without `kind`; allowed: {}", names.join(", ")))
                })?;
                Config::from_pairs(&kind, &pairs).map(Scheme).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for Scheme {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("scheme")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = registry::ALL.iter().map(|entry| entry.name).collect();
        json_schema!({
            "description": "an algorithm with its parameters, as in tc or as a table",
            "anyOf": [
                { "type": "string" },
                { "type": "object", "properties": { "kind": { "enum": names } }, "required": ["kind"] },
            ],
        })
    }
}

/// The text of a scalar: what a parameter of a scheme is read from.
struct Word(String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Word;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Word, E> {
                Ok(Word(text.to_owned()))
            }
            fn visit_bool<E: de::Error>(self, b: bool) -> Result<Word, E> {
                Ok(Word(b.to_string()))
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Word, E> {
                Ok(Word(n.to_string()))
            }
            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Word, E> {
                if x.is_finite() {
                    // Debug keeps the point of a whole number, which PIE's gains tell from tc's sixteenths.
                    Ok(Word(format!("{x:?}")))
                } else {
                    Err(E::invalid_value(Unexpected::Float(x), &self))
                }
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}
