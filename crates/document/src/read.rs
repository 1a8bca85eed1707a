//! Reading typed tables from a located tree: a serde deserializer whose errors know key and place.

use crate::directed::DIRECTED;
use crate::error::{Path, Step};
use crate::tree::{Entry, Node, Origin, Value};
use serde::de::{
    self, value::StrDeserializer, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::{forward_to_deserialize_any, Deserialize, Deserializer};
use sojourn_aqm::suggest::{did_you_mean, nearest};
use std::borrow::Cow;
use std::fmt::{self, Display};

/// The key that says which of several tables one is.
const KIND: &str = "kind";

/// Reads a `T`.
///
/// # Errors
/// The first thing that is not as `T` wants it.
pub fn read<'de, T: Deserialize<'de>>(node: &'de Node) -> Result<T, Refused> {
    T::deserialize(At(node)).map_err(|e| e.or_at(node.origin))
}

/// Why a tree is not the wanted document.
#[derive(Debug)]
pub struct Refused {
    /// From the outside in, once it is complete.
    steps: Vec<Step>,
    origin: Option<Origin>,
    what: String,
}

impl Refused {
    /// The key, its place where the tree has it, and what is wrong.
    #[must_use]
    pub fn into_parts(mut self) -> (Path, Option<Origin>, String) {
        self.steps.reverse();
        (Path(self.steps), self.origin, self.what)
    }

    fn or_at(mut self, origin: Origin) -> Self {
        self.origin = self.origin.or(Some(origin));
        self
    }

    /// Met one step further inside, at `origin` unless a nearer place is known.
    fn inside(mut self, step: Step, origin: Origin) -> Self {
        self.steps.push(step);
        self.or_at(origin)
    }
}

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refused {}

/// serde's name for a type, in words.
fn words(expected: &dyn de::Expected) -> String {
    let text = expected.to_string();
    match text.as_str() {
        "u64" | "u32" | "usize" => "a whole number, 0 or more".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a sequence" => "a list".to_owned(),
        _ => match text.strip_prefix("an array of length ") {
            Some(length) => format!("a list of {length} values"),
            None => text,
        },
    }
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

impl de::Error for Refused {
    fn custom<T: Display>(what: T) -> Self {
        Self { steps: Vec::new(), origin: None, what: what.to_string() }
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let found = match found {
            de::Unexpected::Map => "a table".to_owned(),
            de::Unexpected::Seq => "a list".to_owned(),
            de::Unexpected::Unit => "null".to_owned(),
            de::Unexpected::Str(text) => format!("the text \"{text}\""),
            de::Unexpected::Bool(b) => b.to_string(),
            de::Unexpected::Signed(n) => n.to_string(),
            de::Unexpected::Unsigned(n) => n.to_string(),
            de::Unexpected::Float(x) => x.to_string(),
            other => other.to_string(),
        };
        Self::custom(format_args!("is {found}; allowed: {}", words(expected)))
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("has {length} elements; allowed: {}", words(expected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let hint = did_you_mean(variant, expected);
        Self::custom(format_args!("\"{variant}\" is unknown{hint}; allowed: {}", listed(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let hint = did_you_mean(field, expected);
        Self::custom(format_args!("is not a key here{hint}; allowed: {}", listed(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        let mut error = Self::custom("is missing");
        error.steps.push(field.into());
        error
    }
}

/// A node as a deserializer.
#[derive(Clone, Copy)]
struct At<'de>(&'de Node);

impl<'de> Deserializer<'de> for At<'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match &self.0.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Integer(n) => visitor.visit_i64(*n),
            Value::Float(x) => visitor.visit_f64(*x),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Date(date) => {
                Err(de::Error::invalid_type(de::Unexpected::Other(&format!("the date {date}")), &visitor))
            }
            Value::List(nodes) => visitor.visit_seq(List { nodes, next: 0 }),
            Value::Table(entries) => visitor.visit_map(Table { entries, next: 0, tagged: false }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Refused> {
        match &self.0.value {
            // A scheme may be a table, too, with other keys; one that is nearly a direction is a slip.
            Value::Table(entries)
                if name == DIRECTED && entries.iter().all(|entry| nearest(&entry.key, &["down", "up"]).is_some()) =>
            {
                visitor.visit_map(Table { entries, next: 0, tagged: false })
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    /// A table whose `kind` chooses the variant; `name` is the kind of a table that has none, or empty where it must.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        match &self.0.value {
            Value::Table(entries) => {
                let kind = match entries.iter().find(|e| e.key == KIND) {
                    Some(entry) => Kind::Key(&entry.node),
                    None if name.is_empty() => return Err(missing_kind(variants)),
                    None => Kind::Default(name),
                };
                visitor.visit_enum(Tagged { kind, entries })
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct List<'de> {
    nodes: &'de [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for List<'de> {
    type Error = Refused;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Refused> {
        let Some(node) = self.nodes.get(self.next) else { return Ok(None) };
        let step = Step::Index(self.next);
        self.next += 1;
        seed.deserialize(At(node)).map(Some).map_err(|e| e.inside(step, node.origin))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.nodes.len() - self.next)
    }
}

struct Table<'de> {
    entries: &'de [Entry],
    /// The entry whose key comes next; its value follows.
    next: usize,
    /// `kind` has been read already.
    tagged: bool,
}

impl<'de> MapAccess<'de> for Table<'de> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refused> {
        if self.tagged && self.entries.get(self.next).is_some_and(|e| e.key == KIND) {
            self.next += 1;
        }
        let Some(entry) = self.entries.get(self.next) else { return Ok(None) };
        let key = StrDeserializer::<Refused>::new(&entry.key);
        seed.deserialize(key).map(Some).map_err(|e| e.inside(step(&entry.key), entry.origin))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Refused> {
        let Some(entry) = self.entries.get(self.next) else {
            return Err(de::Error::custom("has no value"));
        };
        self.next += 1;
        seed.deserialize(At(&entry.node)).map_err(|e| e.inside(step(&entry.key), entry.node.origin))
    }
}

fn step(key: &str) -> Step {
    Step::Key(Cow::Owned(key.to_owned()))
}

struct Tagged<'de> {
    kind: Kind<'de>,
    entries: &'de [Entry],
}

enum Kind<'de> {
    Key(&'de Node),
    Default(&'static str),
}

fn missing_kind(variants: &[&str]) -> Refused {
    let mut error: Refused = de::Error::missing_field(KIND);
    error.what = format!("is missing; allowed: {}", listed(variants));
    error
}

impl<'de> EnumAccess<'de> for Tagged<'de> {
    type Error = Refused;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Refused> {
        let kind = match self.kind {
            Kind::Key(node) => seed.deserialize(At(node)).map_err(|e| e.inside(KIND.into(), node.origin)),
            Kind::Default(kind) => seed.deserialize(StrDeserializer::<Refused>::new(kind)),
        };
        kind.map(|kind| (kind, self))
    }
}

impl<'de> VariantAccess<'de> for Tagged<'de> {
    type Error = Refused;

    fn unit_variant(self) -> Result<(), Refused> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Refused> {
        let table = Table { entries: self.entries, next: 0, tagged: true };
        seed.deserialize(de::value::MapAccessDeserializer::new(table))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Refused> {
        Err(de::Error::custom("is a table; allowed: a list"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_map(Table { entries: self.entries, next: 0, tagged: true })
    }
}
