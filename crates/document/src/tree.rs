//! A document's values with the place of each: from TOML or JSON, before anything is known about keys.

use crate::error::{Path, Step};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// Where a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// At this byte of the text.
    Text(usize),
    /// In the override of this number.
    Set(usize),
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it was written.
    pub origin: Origin,
    /// What was written.
    pub value: Value,
}

/// What is written.
#[derive(Clone, Debug)]
pub enum Value {
    /// JSON's `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A text.
    Text(String),
    /// A TOML date or time, which no key takes.
    Date(String),
    /// A list.
    List(Vec<Node>),
    /// A table, in the order of the text.
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// Where the key was written.
    pub origin: Origin,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// The place of the value at `path`, or of the nearest that exists on the way.
    #[must_use]
    pub fn find(&self, path: &Path) -> Origin {
        let mut node = self;
        let mut origin = self.origin;
        for step in &path.0 {
            let next = match (step, &node.value) {
                (Step::Key(key), Value::Table(entries)) => entries.iter().find(|e| e.key == *key).map(|e| &e.node),
                (Step::Index(index), Value::List(nodes)) => nodes.get(*index),
                _ => None,
            };
            let Some(next) = next else { break };
            node = next;
            origin = next.origin;
        }
        origin
    }
}

/// A text that is neither: the byte and the reason.
#[derive(Clone, Debug)]
pub struct Syntax {
    /// The byte.
    pub at: usize,
    /// The reason.
    pub why: String,
}

/// Reads JSON when `text` starts with a brace, else TOML.
///
/// # Errors
/// It is neither.
pub fn parse(text: &str) -> Result<Node, Syntax> {
    if text.trim_start().starts_with('{') {
        return json(text);
    }
    let table = DeTable::parse(text).map_err(|e| syntax(&e, text))?;
    Ok(from_table(&table, &Origin::Text))
}

/// One TOML value, every part of which has the same origin; `None` when it is not one.
#[must_use]
pub fn parse_value(text: &str, origin: Origin) -> Option<Node> {
    DeValue::parse(text).ok().map(|value| from_value(&value, &|_| origin))
}

fn syntax(error: &toml::de::Error, text: &str) -> Syntax {
    let at = error.span().map_or(text.len(), |span| span.start);
    Syntax { at, why: error.message().trim().replace('\n', ", ") }
}

type At<'a> = &'a dyn Fn(usize) -> Origin;

fn from_table(table: &Spanned<DeTable<'_>>, at: At<'_>) -> Node {
    let entry = |(key, value): (&Spanned<toml::de::DeString<'_>>, &Spanned<DeValue<'_>>)| Entry {
        key: key.get_ref().to_string(),
        origin: at(key.span().start),
        node: from_value(value, at),
    };
    let mut entries: Vec<Entry> = table.get_ref().iter().map(entry).collect();
    // The parser sorts by key; the first mistake a reader meets should be the first reported.
    entries.sort_by_key(|e| match e.origin {
        Origin::Text(at) => at,
        Origin::Set(_) => 0,
    });
    Node { origin: at(table.span().start), value: Value::Table(entries) }
}

fn from_value(value: &Spanned<DeValue<'_>>, at: At<'_>) -> Node {
    let origin = at(value.span().start);
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(n) => match i64::from_str_radix(&n.as_str().replace('_', ""), n.radix()) {
            Ok(n) => Value::Integer(n),
            Err(_) => Value::Float(n.as_str().parse().unwrap_or(f64::INFINITY)),
        },
        DeValue::Float(x) => Value::Float(x.as_str().replace('_', "").parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(values) => Value::List(values.iter().map(|v| from_value(v, at)).collect()),
        DeValue::Table(table) => {
            let spanned = Spanned::new(value.span(), table.clone());
            return from_table(&spanned, at);
        }
    };
    Node { origin, value }
}

fn json(text: &str) -> Result<Node, Syntax> {
    let fail = |e: &serde_json::Error| Syntax { at: offset(text, e.line(), e.column()), why: plain(e) };
    // The whole text is checked here, so that the pieces below cannot fail on syntax.
    let whole: &RawValue = serde_json::from_str(text).map_err(|e| fail(&e))?;
    from_raw(whole, text)
}

/// Without the place, which is relative to a piece.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or_else(|| text.clone(), |(why, _)| why.to_owned())
}

fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

fn from_raw(raw: &RawValue, text: &str) -> Result<Node, Syntax> {
    // A raw value borrows from the text: its address tells its place.
    let at = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let fail = |e: serde_json::Error| Syntax { at, why: plain(&e) };
    let piece = raw.get();
    let value = match piece.bytes().next() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(piece).map_err(fail)?;
            let entry = |(key, raw): (String, &RawValue)| {
                let node = from_raw(raw, text)?;
                Ok(Entry { key, origin: node.origin, node })
            };
            Value::Table(members.into_iter().map(entry).collect::<Result<_, _>>()?)
        }
        Some(b'[') => {
            let raws: Vec<&RawValue> = serde_json::from_str(piece).map_err(fail)?;
            Value::List(raws.into_iter().map(|raw| from_raw(raw, text)).collect::<Result<_, _>>()?)
        }
        _ => match serde_json::from_str(piece).map_err(fail)? {
            serde_json::Value::Bool(b) => Value::Bool(b),
            serde_json::Value::Number(n) => match n.as_i64() {
                Some(n) => Value::Integer(n),
                None => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::Text(text),
            _ => Value::Null,
        },
    };
    Ok(Node { origin: Origin::Text(at), value })
}

/// The members of a JSON object in their order, none twice.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members: Vec<(String, &RawValue)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    if members.iter().any(|(known, _)| *known == key) {
                        return Err(de::Error::custom(format_args!("duplicate key `{key}`")));
                    }
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}
