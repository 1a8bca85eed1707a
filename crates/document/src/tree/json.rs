//! JSON as a tree. A scan bounds the depth and notes where every key and value begins; one pass of `serde_json` builds the
//! tree and takes these places in the same order.

use super::{Entry, Node, Origin, Syntax, Value, DEEPEST};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

pub(super) fn parse(text: &str) -> Result<Node, Syntax> {
    let mut places = Places { starts: scan(text)?.into_iter(), last: 0, twice: None };
    let mut reader = serde_json::Deserializer::from_str(text);
    // The scan has bounded the depth. `serde_json` itself would stop one level earlier.
    reader.disable_recursion_limit();
    let node = Place(&mut places).deserialize(&mut reader);
    let node = node.and_then(|node| reader.end().map(|()| node));
    node.map_err(|e| match places.twice.take() {
        Some(at) => Syntax { at, why: plain(&e) },
        None => Syntax { at: offset(text, e.line(), e.column()), why: plain(&e) },
    })
}

/// Where every key and value begins, in the order of the text. Exact up to the first mistake, where `serde_json` stops.
fn scan(text: &str) -> Result<Vec<usize>, Syntax> {
    let bytes = text.as_bytes();
    let mut starts = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(Syntax::too_deep(start));
                }
                starts.push(start);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                starts.push(start);
                at = string_end(bytes, at);
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => {
                starts.push(start);
                let rest = &bytes[at..];
                let ends = |byte: &u8| b"{}[]\",: \t\n\r".contains(byte);
                at += rest.iter().position(ends).unwrap_or(rest.len());
            }
        }
    }
    Ok(starts)
}

/// The byte behind a string whose contents begin at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    bytes.len()
}

/// Without the place, which is told apart.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or_else(|| text.clone(), |(why, _)| why.to_owned())
}

fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// The places that are left to take.
struct Places {
    starts: std::vec::IntoIter<usize>,
    last: usize,
    /// Where a key is written the second time.
    twice: Option<usize>,
}

impl Places {
    fn next(&mut self) -> usize {
        self.last = self.starts.next().unwrap_or(self.last);
        self.last
    }
}

/// Reads the value at the next place.
struct Place<'a>(&'a mut Places);

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        let origin = Origin::Text(self.0.next());
        deserializer.deserialize_any(self).map(|value| Node { origin, value })
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(Value::Integer(n))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(i64::try_from(n).map_or(Value::Float(n as f64), Value::Integer))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        Ok(Value::Float(x))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = seq.next_element_seed(Place(self.0))? {
            nodes.push(node);
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        let mut known = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let at = self.0.next();
            if !known.insert(key.clone()) {
                self.0.twice = Some(at);
                return Err(de::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let node = map.next_value_seed(Place(self.0))?;
            entries.push(Entry { key, origin: node.origin, node });
        }
        Ok(Value::Table(entries))
    }
}
