//! Mutations of documents (TOML or JSON) by their JSON Schema, so that most results get past the parser.

use crate::Draw;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Quantities of every kind: ordinary ones, and those at the ends of what a unit holds.
const QUANTITIES: &[&str] = &[
    "0 s",
    "1 ns",
    "1 us",
    "1 ms",
    "20 ms",
    "1 s",
    "60 s",
    "1 h",
    "18446744073 s",
    "-1 s",
    "1e300 s",
    "0.1 ns",
    "0 bit/s",
    "1 bit/s",
    "1 kbit/s",
    "8 Mbit/s",
    "100 Mbit/s",
    "1 Gbit/s",
    "1e18 bit/s",
    "18446744073709551615 bit/s",
    "0 B",
    "1 B",
    "60 B",
    "1000 B",
    "1500 B",
    "64 KiB",
    "4294967295 B",
    "0 p",
    "1 p",
    "3 p",
    "20 p",
    "1000 p",
    "4294967296 p",
    "none",
];
const SCHEMES: &[&str] = &[
    "pfifo limit 3p",
    "codel target 1us interval 1ms",
    "fq_codel limit 20p ecn",
    "pie tupdate 1ms",
    "red limit 20p",
    "cake",
    "dualpi2",
    "sfq",
    "blue",
    "nothing",
    "fq_codel flows 1",
];
const TEXTS: &[&str] = &["a", "b", "left", "right", "x0", "", "\u{fc}\u{1f4e6}", "a b", "none", "a:b", "a->b", "\0"];

/// What a document may have.
pub struct Grammar {
    root: Value,
    /// The keys of every kind of table, each with the schema of its value.
    tables: Vec<Map<String, Value>>,
    /// Schemas of a key's value, in any table.
    schemas: BTreeMap<String, Vec<Value>>,
    /// Values that seeds have for a key.
    seen: BTreeMap<String, Vec<Value>>,
    seeds: Vec<Value>,
}

impl Grammar {
    /// Of a schema, and of documents that are good.
    ///
    /// # Panics
    /// A seed is no document.
    pub fn new(schema: Value, seeds: &[&str]) -> Self {
        let seeds: Vec<Value> = seeds.iter().map(|text| read(text).unwrap_or_else(|| panic!("{text}"))).collect();
        let mut grammar =
            Self { root: schema, tables: Vec::new(), schemas: BTreeMap::new(), seen: BTreeMap::new(), seeds };
        let root = grammar.root.clone();
        grammar.learn(&root);
        for seed in grammar.seeds.clone() {
            grammar.look(&seed);
        }
        grammar
    }

    /// Every word that documents have: keys and allowed values.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.schemas.keys().cloned().collect();
        let mut collect = |value: &Value| words.extend(value.as_str().map(str::to_owned));
        for schema in self.schemas.values().flatten() {
            schema.get("const").into_iter().for_each(&mut collect);
            schema.get("enum").and_then(Value::as_array).into_iter().flatten().for_each(&mut collect);
        }
        words.extend(QUANTITIES.iter().chain(SCHEMES).map(|word| (*word).to_owned()));
        words.sort();
        words.dedup();
        words.retain(|word| !word.is_empty() && word.len() < 60);
        words
    }

    fn learn(&mut self, schema: &Value) {
        if let Some(Value::Object(properties)) = schema.get("properties") {
            self.tables.push(properties.clone());
            for (key, value) in properties {
                self.schemas.entry(key.clone()).or_default().push(value.clone());
            }
        }
        match schema {
            Value::Object(members) => members.values().for_each(|value| self.learn(value)),
            Value::Array(values) => values.iter().for_each(|value| self.learn(value)),
            _ => {}
        }
    }

    fn look(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    self.seen.entry(key.clone()).or_default().push(value.clone());
                    self.look(value);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.look(value)),
            _ => {}
        }
    }

    /// A value that a schema describes, more or less.
    fn make(&self, schema: &Value, depth: usize, draw: &mut Draw) -> Value {
        if depth > 5 {
            return Value::Null;
        }
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(name.trim_start_matches('#')).unwrap_or(&Value::Null);
            if name.ends_with("/scheme") {
                return json!(draw.of(SCHEMES));
            }
            return self.make(target, depth + 1, draw);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        for key in ["enum", "anyOf", "oneOf"] {
            if let Some(Value::Array(choices)) =
                schema.get(key).filter(|choices| choices.as_array().is_some_and(|c| !c.is_empty()))
            {
                let one = draw.of(choices);
                return if key == "enum" { one.clone() } else { self.make(one, depth + 1, draw) };
            }
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("boolean") => json!(draw.once_in(2)),
            Some("integer" | "number") => number(draw),
            Some("array") => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                let length = schema.get("minItems").and_then(Value::as_u64).unwrap_or(draw.below(3) as u64);
                (0..length.min(4)).map(|_| self.make(items, depth + 1, draw)).collect()
            }
            Some("object") => {
                let mut made = Map::new();
                let required: Vec<&str> = schema
                    .get("required")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                for (key, value) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    if required.contains(&key.as_str()) || draw.once_in(5) {
                        made.insert(key.clone(), self.value(key, Some(value), depth + 1, draw));
                    }
                }
                Value::Object(made)
            }
            _ => text(draw),
        }
    }

    /// A value for a key.
    fn value(&self, key: &str, schema: Option<&Value>, depth: usize, draw: &mut Draw) -> Value {
        let seen = self.seen.get(key).filter(|_| draw.once_in(2));
        if let Some(seen) = seen {
            return draw.of(seen).clone();
        }
        match schema.or_else(|| self.schemas.get(key).map(|all| draw.of(all))) {
            Some(schema) => self.make(schema, depth, draw),
            None => scalar(draw),
        }
    }

    /// The document, changed in a few places; `None` when the text is none.
    pub fn mutate(&self, text: &str, seed: u32) -> Option<Vec<u8>> {
        let mut draw = Draw::new(seed);
        let mut document = read(text)?;
        for _ in 0..=draw.below(4) {
            self.change(&mut document, &mut draw);
        }
        Some(written(&document, &mut draw))
    }

    /// A seed, changed.
    pub fn fresh(&self, seed: u32) -> Vec<u8> {
        let mut draw = Draw::new(seed);
        let mut document = draw.of(&self.seeds).clone();
        self.change(&mut document, &mut draw);
        written(&document, &mut draw)
    }

    fn change(&self, document: &mut Value, draw: &mut Draw) {
        let mut places = Vec::new();
        find(document, String::new(), &mut places);
        let place = draw.of(&places).clone();
        let key: String =
            place.rsplit('/').find(|step| step.parse::<usize>().is_err()).unwrap_or("").replace("~1", "/");
        let Some(node) = document.pointer_mut(&place) else { return };
        match (draw.below(10), node) {
            (0..=2, Value::Object(table)) => {
                let misfit = |keys: &Map<String, Value>| {
                    let known = table.keys().filter(|key| keys.contains_key(*key)).count();
                    (table.len() - known, keys.len())
                };
                let best: Vec<_> = self.tables.iter().filter(|keys| misfit(keys).0 == 0).collect();
                let Some(keys) = best.get(draw.below(best.len())) else { return };
                let Some((key, schema)) = keys.iter().nth(draw.below(keys.len())) else { return };
                let made = self.value(key, Some(schema), 0, draw);
                table.insert(key.clone(), made);
            }
            (3, Value::Object(table)) => {
                let key = table.keys().nth(draw.below(table.len())).cloned();
                key.map(|key| table.remove(&key));
            }
            (0..=3, Value::Array(list)) if !list.is_empty() => {
                let mut one = list[draw.below(list.len())].clone();
                // Most lists want names of their own.
                if let Some(name) = one.get_mut("name") {
                    *name = json!(format!("n{}", draw.below(20)));
                }
                let at = draw.below(list.len() + 1);
                list.insert(at, one);
            }
            (4, Value::Array(list)) if !list.is_empty() => {
                let at = draw.below(list.len());
                list.remove(at);
            }
            (5, Value::Array(list)) => {
                let item = self.schemas.get(&key).and_then(|all| draw.of(all).get("items").cloned());
                list.push(match item {
                    Some(item) => self.make(&item, 0, draw),
                    None => scalar(draw),
                });
            }
            (6, node) => *node = scalar(draw),
            (0..=5, Value::Number(n)) => *n = number(draw).as_number().cloned().unwrap_or_else(|| 0.into()),
            (0..=3, Value::String(text)) => *text = tweaked(text, draw),
            (_, node) => *node = self.value(&key, None, 0, draw),
        }
    }
}

/// A document as a value; `None` when the text is none.
fn read(text: &str) -> Option<Value> {
    match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text).ok(),
        false => toml::from_str(text).ok(),
    }
}

fn written(document: &Value, draw: &mut Draw) -> Vec<u8> {
    let toml = if draw.once_in(2) { toml::to_string(document).ok() } else { None };
    toml.unwrap_or_else(|| document.to_string()).into_bytes()
}

/// JSON pointers of all values.
fn find(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            find(value, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), places)
        }),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(index, value)| find(value, format!("{at}/{index}"), places));
        }
        _ => {}
    }
    places.push(at);
}

/// Another number before the unit, or another text.
fn tweaked(old: &str, draw: &mut Draw) -> String {
    let digits = old.find(|c: char| c.is_ascii_digit());
    match digits {
        Some(start) if !draw.once_in(4) => {
            let end = old[start..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(old.len(), |n| start + n);
            let number =
                draw.of(&["0", "1", "2", "0.5", "10", "64", "1000", "65535", "4294967296", "99999999999", "1e9"]);
            format!("{}{number}{}", &old[..start], &old[end..])
        }
        _ => text(draw).as_str().unwrap_or_default().to_owned(),
    }
}

fn text(draw: &mut Draw) -> Value {
    let choices = *draw.of(&[QUANTITIES, QUANTITIES, QUANTITIES, SCHEMES, TEXTS]);
    json!(draw.of(choices))
}

fn number(draw: &mut Draw) -> Value {
    match draw.below(3) {
        0 => json!(draw.below(20)),
        1 => json!(draw.of(&[0.0, 0.001, 0.5, 1.0, 1.5, -1.0, 1e9, 1e308, 5e-324])),
        _ => json!(draw.of(&[0, 1, 100, -1, 65_536, i64::from(u32::MAX), i64::MAX, i64::MIN])),
    }
}

fn scalar(draw: &mut Draw) -> Value {
    match draw.below(5) {
        0 => number(draw),
        1 => json!(draw.once_in(2)),
        2 => draw.of(&[json!([]), json!({}), Value::Null, json!([[]])]).clone(),
        _ => text(draw),
    }
}
