//! Keys of a table in scenarios, declared once: `keys!` makes the struct, its defaults, checks, reading, writing and JSON Schema
//! from one list, as `params!` does for the parameters of schemes. A scenario's values have types and places, and a
//! quantity is not a flag, so they are not read from a line of text as those are.

use crate::bounds::{Bound, DATA, DELAY, PACKETS, RATE};
use crate::{OrNone, Quantity};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{forward_to_deserialize_any, Deserialize, Serialize};
use serde_json::Value;
use sojourn_aqm::acts::Acts;
use sojourn_units::{BitRate, Bytes, Packets, Span};
use std::fmt::{self, Display};
use std::marker::PhantomData;

/// A type that a key can have.
pub trait Key: Copy + PartialEq + 'static {
    /// Its form in documents.
    type Written: Serialize + DeserializeOwned + JsonSchema;
    /// To a document.
    fn written(self) -> Self::Written;
    /// From a document.
    fn read(written: Self::Written) -> Self;
    /// Why a value is refused that its key declares no range for; `None` where it is not.
    fn refused(self) -> Option<String> {
        None
    }
    /// Values of this type have a bound without a range of the key's own.
    const BOUNDED: bool = true;
}

macro_rules! quantity {
    ($($type:ty: $bound:expr),+) => {$(
        impl Key for $type {
            type Written = Quantity<Self>;
            fn written(self) -> Quantity<Self> {
                Quantity(self)
            }
            fn read(written: Quantity<Self>) -> Self {
                written.0
            }
            fn refused(self) -> Option<String> {
                let bound: &Bound<Self> = &$bound;
                up_to(bound.most)(self)
            }
        }

        impl Key for Option<$type> {
            type Written = OrNone<$type>;
            fn written(self) -> OrNone<$type> {
                OrNone(self)
            }
            fn read(written: OrNone<$type>) -> Self {
                written.0
            }
            fn refused(self) -> Option<String> {
                self.and_then(Key::refused)
            }
        }
    )+};
}

quantity!(Span: DELAY, Bytes: DATA, Packets: PACKETS, BitRate: RATE);

macro_rules! plain {
    ($($type:ty: $bounded:literal),+) => {$(
        impl Key for $type {
            type Written = Self;
            fn written(self) -> Self {
                self
            }
            fn read(written: Self) -> Self {
                written
            }
            const BOUNDED: bool = $bounded;
        }
    )+};
}

plain!(bool: true, u8: true, u32: false, f64: false);

/// At most this.
pub fn up_to<T: PartialOrd + Display>(most: T) -> impl Fn(T) -> Option<String> {
    // Not `>`, so that NaN is refused.
    move |value| if value <= most { None } else { Some(format!("is {value}; allowed: up to {most}")) }
}

/// Above 0, and at most `most`.
pub fn above_zero<T: PartialOrd + Display + Default>(most: T) -> impl Fn(T) -> Option<String> {
    move |value| {
        if value > T::default() && value <= most {
            return None;
        }
        let found = if value == T::default() { "0".to_owned() } else { value.to_string() };
        Some(format!("is {found}; allowed: above 0, up to {most}"))
    }
}

/// A key with its present value.
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// What it does, and the source of its default.
    pub doc: &'static str,
    /// As documents have it.
    pub value: Value,
    /// Why the value is refused.
    pub refused: Option<String>,
    /// Values have a range, or a type that has one.
    pub bounded: bool,
    /// Without which it has no effect.
    pub acts: &'static [Acts],
    schema: fn(&mut SchemaGenerator) -> Schema,
}

impl Listed {
    #[doc(hidden)]
    pub fn new<T: Key>(
        name: &'static str,
        doc: &'static str,
        value: T,
        range: Option<Option<String>>,
        acts: &'static [Acts],
    ) -> Self {
        // Only maps with keys that are no texts can fail, and there is none.
        let written = serde_json::to_value(value.written()).unwrap_or_default();
        Self {
            name,
            doc: doc.trim_ascii_start(),
            value: written,
            bounded: T::BOUNDED || range.is_some(),
            refused: range.unwrap_or_else(|| value.refused()),
            acts,
            schema: SchemaGenerator::subschema_for::<T::Written>,
        }
    }

    /// The schema, with the present value as the default.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut schema = (self.schema)(generator);
        schema.insert("description".to_owned(), self.doc.into());
        schema.insert("default".to_owned(), self.value.clone());
        schema
    }
}

/// A struct made by `keys!`.
pub trait KeySet {
    /// Sets the key `name`; `None` where there is no such key.
    fn set<E: de::Error>(&mut self, name: &str, value: &Scalar) -> Option<Result<(), E>>;

    /// Every key with its present value, in the order of declaration.
    fn list(&self) -> Vec<Listed>;
}

/// Declares keys: `name: Type = default;` with a doc comment each, and after a comma the range where that of the type does not do.
/// `=> [...]` at the end says without what a key has no effect.
#[macro_export]
macro_rules! keys {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident : $type:ty = $default:expr $(, $range:expr)? $(=> [$($acts:expr),+])?; )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )+ }
            }
        }

        impl $crate::keys::KeySet for $name {
            fn set<E: serde::de::Error>(
                &mut self,
                name: &str,
                value: &$crate::keys::Scalar,
            ) -> Option<Result<(), E>> {
                match name {
                    $( stringify!($field) => Some(
                        value.read().map(|written| self.$field = $crate::keys::Key::read(written))
                    ), )+
                    _ => None,
                }
            }

            fn list(&self) -> Vec<$crate::keys::Listed> {
                vec![ $( $crate::keys::Listed::new(
                    stringify!($field),
                    concat!($($doc,)+),
                    self.$field,
                    None $( .or(Some($range(self.$field))) )?,
                    &[$($($acts),+)?],
                ) ),+ ]
            }
        }
    };
}

/// Declares an enum whose values are words in documents: `Variant = "word",` with a doc comment each.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$doc:meta])+ $variant:ident = $word:literal ),+ $(,)?
        }
    ) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
        $(#[$meta])*
        pub enum $name {
            $( $(#[$doc])+ #[serde(rename = $word)] $variant, )+
        }

        impl $name {
            /// All, in the order of declaration.
            pub const ALL: &'static [Self] = &[ $( Self::$variant ),+ ];

            /// As documents have it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $( Self::$variant => $word, )+
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(deserializer)?;
                let found = Self::ALL.iter().find(|one| one.word() == word).copied();
                found.ok_or_else(|| serde::de::Error::unknown_variant(&word, &[$($word),+]))
            }
        }

        impl $crate::keys::Key for $name {
            type Written = Self;
            fn written(self) -> Self {
                self
            }
            fn read(written: Self) -> Self {
                written
            }
        }
    };
}

/// Declares a table whose `kind` chooses among tables: `Variant(Table) = "kind",`, the kind being the variant's name in snake
/// case. The table's doc comment describes it where the variant has none.
/// `default` is the kind of a table that does not say one.
#[macro_export]
macro_rules! tagged {
    (
        $(#[$meta:meta])*
        pub enum $name:ident (default $default:literal, $expecting:literal) {
            $( $(#[$doc:meta])* $variant:ident($table:ty) = $kind:expr ),+ $(,)?
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        #[allow(clippy::large_enum_variant, reason = "a document has few, and is read once")]
        $(#[$meta])*
        pub enum $name {
            $( $(#[$doc])* #[allow(missing_docs, reason = "the table says what it is")] $variant($table), )+
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use serde::de::{Error, EnumAccess, VariantAccess, Visitor};
                const KINDS: &[&str] = &[$($kind),+];
                struct Chosen;
                impl<'de> Visitor<'de> for Chosen {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<$name, A::Error> {
                        let (kind, table) = access.variant_seed($crate::keys::OneOf(KINDS))?;
                        match kind {
                            $( known if known == $kind => table.newtype_variant().map($name::$variant), )+
                            unknown => Err(Error::unknown_variant(unknown, KINDS)),
                        }
                    }
                }
                deserializer.deserialize_enum($default, KINDS, Chosen)
            }
        }
    };
}

/// Reads one of these words.
pub struct OneOf(pub &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for OneOf {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        let word = String::deserialize(deserializer)?;
        self.0.iter().find(|known| **known == word).copied().ok_or_else(|| de::Error::unknown_variant(&word, self.0))
    }
}

#[allow(missing_docs, reason = "the variants are those of a document")]
/// The value of a key before its type is known, and what it is instead of one.
pub enum Scalar {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List,
    Table,
}

impl Scalar {
    /// As a value of this type. Errors are those that the document's own deserializer would have.
    ///
    /// # Errors
    /// Another type, or a text that it refuses.
    pub fn read<T: DeserializeOwned, E: de::Error>(&self) -> Result<T, E> {
        T::deserialize(Of(self, PhantomData))
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Scalar, E> {
                Ok(Scalar::Null)
            }
            fn visit_bool<E: de::Error>(self, b: bool) -> Result<Scalar, E> {
                Ok(Scalar::Bool(b))
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Scalar, E> {
                Ok(Scalar::Integer(n))
            }
            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Scalar, E> {
                Ok(Scalar::Float(x))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Scalar, A::Error> {
                Ok(Scalar::List)
            }
            fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Scalar, A::Error> {
                Ok(Scalar::Table)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A scalar as a deserializer whose errors are `E`.
struct Of<'a, E>(&'a Scalar, PhantomData<E>);

impl<'de, E: de::Error> Deserializer<'de> for Of<'_, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.0 {
            Scalar::Null => visitor.visit_unit(),
            Scalar::Bool(b) => visitor.visit_bool(*b),
            Scalar::Integer(n) => visitor.visit_i64(*n),
            Scalar::Float(x) => visitor.visit_f64(*x),
            Scalar::Text(text) => visitor.visit_str(text),
            Scalar::List => Err(E::invalid_type(Unexpected::Seq, &visitor)),
            Scalar::Table => Err(E::invalid_type(Unexpected::Map, &visitor)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
