//! A document's values with the place of each: from TOML or JSON, before anything is known about keys.

mod json;
mod toml;

use crate::error::{Path, Step};

/// Most levels of tables and lists, the document itself being the first. What reads, prints and drops a tree calls itself
/// once for each level, so this bounds the stack.
pub const DEEPEST: usize = 128;

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
        for step in &path.0 {
            let Some(next) = node.step(step) else { break };
            node = next;
        }
        node.origin
    }

    /// The value at `path`.
    #[must_use]
    pub fn at(&self, path: &Path) -> Option<&Self> {
        path.0.iter().try_fold(self, |node, step| node.step(step))
    }

    fn step(&self, step: &Step) -> Option<&Self> {
        match (step, &self.value) {
            (Step::Key(key), Value::Table(entries)) => entries.iter().find(|e| e.key == *key).map(|e| &e.node),
            (Step::Index(index), Value::List(nodes)) => nodes.get(*index),
            _ => None,
        }
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

impl Syntax {
    /// What opens at this byte would be a level too many.
    fn too_deep(at: usize) -> Self {
        Self { at, why: too_deep() }
    }
}

/// The reason for a refusal of a document that is nested too deeply.
#[must_use]
pub fn too_deep() -> String {
    format!("is nested too deeply; allowed: at most {DEEPEST} levels of tables and lists")
}

/// Reads JSON when `text` starts with a brace, else TOML, in time proportional to its length.
///
/// # Errors
/// It is neither, or is nested more than [`DEEPEST`] levels deep.
pub fn parse(text: &str) -> Result<Node, Syntax> {
    if text.trim_start().starts_with('{') {
        return json::parse(text);
    }
    toml::parse(text)
}

/// One TOML value for a place `above` levels below the document, every part of which has the same origin; `None` when it
/// is not one.
///
/// # Errors
/// It reaches below [`DEEPEST`].
pub fn parse_value(text: &str, origin: Origin, above: usize) -> Result<Option<Node>, Syntax> {
    toml::parse_value(text, origin, above)
}
