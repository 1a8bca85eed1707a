//! A table of function pointers, read and checked once.
#![allow(unsafe_code)]

use crate::abi::{self, Configure, Decide, Table, Update};
use crate::values::ParamValue;
use sojourn_aqm::{About, DropsAt, Limit, Value};
use std::ffi::{c_char, CStr};

/// The greatest state, so that a fair queue of 65,536 queues fits in memory where states are small.
const GREATEST_STATE: u64 = 1 << 20;
/// The most parameters or internals: more than any published algorithm has.
const MOST_NAMES: u64 = 256;

/// A declared parameter and its default.
#[derive(Debug)]
pub struct Declared {
    pub name: &'static str,
    pub doc: &'static str,
    pub initial: ParamValue,
}

/// Where an internal lies, and as what.
#[derive(Debug)]
pub struct Internal {
    pub name: &'static str,
    pub offset: usize,
    pub kind: i32,
}

/// An algorithm's table, checked. It lives as long as the process, as the library does.
#[derive(Debug)]
pub struct Definition {
    pub(crate) name: &'static str,
    pub(crate) about: About,
    pub(crate) file: Option<&'static str>,
    pub(crate) limit: Limit,
    pub(crate) line: Option<usize>,
    pub(crate) state_bytes: usize,
    pub(crate) parameters: Vec<Declared>,
    pub(crate) internals: Vec<Internal>,
    /// Index of the parameter that is the time between updates.
    pub(crate) period: Option<usize>,
    pub(crate) init: Configure,
    pub(crate) set_params: Configure,
    pub(crate) enqueue: Decide,
    pub(crate) dequeue: Option<Decide>,
    pub(crate) update: Option<Update>,
}

/// A text of the table.
///
/// # Safety
/// `text` is NULL or points to a text that ends in NUL and stays.
unsafe fn text(text: *const c_char, what: &str) -> Result<Option<&'static str>, String> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: promised by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| format!("{what} is not UTF-8 text"))
}

/// A list of the table.
///
/// # Safety
/// `first` points to `len` values that stay, where both are not zero.
unsafe fn list<T>(first: *const T, len: u64, what: &str) -> Result<&'static [T], String> {
    if len > MOST_NAMES {
        return Err(format!("{what} are {len}; allowed: at most {MOST_NAMES}"));
    }
    if len == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return Err(format!("{what} are {len} at NULL; allowed: a list of that length"));
    }
    // SAFETY: promised by the caller; `len` is small.
    Ok(unsafe { std::slice::from_raw_parts(first, len as usize) })
}

fn named(name: Option<&'static str>, what: &str) -> Result<&'static str, String> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let name = name.unwrap_or_default();
    if is_name(name) {
        return Ok(name);
    }
    Err(format!("{what} is called \"{name}\"; allowed: lower-case letters, digits and _, a letter first"))
}

impl Definition {
    /// Reads and checks a table.
    ///
    /// # Safety
    /// `table` is NULL or what `sojourn_aqm_plugin()` of a library that stays loaded returned.
    ///
    /// # Errors
    /// Another version of the interface, or a member that the header does not allow.
    pub unsafe fn read(table: *const Table) -> Result<Self, String> {
        if table.is_null() {
            return Err("the table is NULL; allowed: one that stays".into());
        }
        // SAFETY: not NULL. The first two members are the same in every version.
        let (version, bytes) = unsafe { ((*table).version, (*table).table_bytes) };
        if version != abi::VERSION {
            return Err(format!(
                "interface version {version}; this build of Sojourn reads version {}: compile with its sojourn_aqm.h",
                abi::VERSION
            ));
        }
        if bytes as usize != size_of::<Table>() {
            let right = size_of::<Table>();
            return Err(format!("table_bytes is {bytes}; allowed: sizeof(sojourn_aqm), which is {right}"));
        }
        // SAFETY: a whole table, as its version and length say.
        let table: &'static Table = unsafe { &*table };
        // SAFETY: all that a table points to stays, and lists have the length that it says (`sojourn_aqm.h`).
        let texts = unsafe {
            [
                text(table.name, "name")?,
                text(table.title, "title")?,
                text(table.summary, "summary")?,
                text(table.source, "source")?,
                text(table.signals_on, "signals_on")?,
                text(table.limit, "limit")?,
                text(table.period, "period")?,
                text(table.file, "file")?,
            ]
        };
        let [name, title, summary, source, signals_on, limit, period, file] = texts;
        let name = named(name, "the algorithm")?;
        // SAFETY: as above.
        let (parameters, internals) = unsafe {
            (
                list(table.parameters, table.parameters_len, "parameters")?,
                list(table.internals, table.internals_len, "internals")?,
            )
        };
        let parameters = parameters.iter().map(declared).collect::<Result<Vec<_>, _>>()?;
        if let Some(twice) = parameters.iter().enumerate().find_map(|(k, one)| {
            let before = parameters.get(..k).unwrap_or_default();
            before.iter().any(|other| other.name == one.name).then_some(one.name)
        }) {
            return Err(format!("the parameter {twice} is declared twice"));
        }
        let is_alignment = table.state_align.is_power_of_two() && table.state_align <= 64;
        if table.state_bytes > GREATEST_STATE || !is_alignment {
            let (bytes, align) = (table.state_bytes, table.state_align);
            return Err(format!(
                "a state of {bytes} bytes at multiples of {align}; allowed: at most {GREATEST_STATE} bytes at 1, 2, 4, ... 64"
            ));
        }
        let within = |offset: u64, bytes: u64| {
            offset.is_multiple_of(bytes) && offset.checked_add(bytes).is_some_and(|end| end <= table.state_bytes)
        };
        let internals = internals.iter().map(|one| internal(one, within)).collect::<Result<Vec<_>, _>>()?;
        let line = match table.line_offset {
            abi::NO_LINE => None,
            offset if within(u64::from(offset), 4) => Some(offset as usize),
            offset => return Err(format!("line_offset is {offset}, which is no place for a line in the state")),
        };
        let is_time =
            |(_, one): &(usize, &Declared)| Some(one.name) == period && matches!(one.initial, ParamValue::Time(_));
        let index = parameters.iter().enumerate().find(is_time).map(|(index, _)| index);
        if period.is_some() != table.update.is_some() || period.is_some() != index.is_some() {
            return Err(
                "period and update belong together; allowed: the name of a time parameter and a function, or neither"
                    .into(),
            );
        }
        let missing = |what: &str| format!("{what} is NULL; allowed: a function");
        Ok(Self {
            name,
            about: About {
                title: title.unwrap_or(name),
                summary: summary.unwrap_or("an algorithm from outside"),
                source: source.unwrap_or("not said"),
                signals_on: signals_on.unwrap_or("not said"),
                drops_at: if table.dequeue.is_some() { DropsAt::Both } else { DropsAt::Enqueue },
                ecn: table.flags & 1 != 0,
                per_flow_state: table.flags & 2 != 0,
            },
            file,
            limit: Limit::read(limit.unwrap_or("1000p")).map_err(|why| format!("limit: {why}"))?,
            line,
            state_bytes: table.state_bytes as usize,
            parameters,
            internals,
            period: index,
            init: table.init.ok_or_else(|| missing("init"))?,
            set_params: table.set_params.ok_or_else(|| missing("set_params"))?,
            enqueue: table.enqueue.ok_or_else(|| missing("enqueue"))?,
            dequeue: table.dequeue,
            update: table.update,
        })
    }
}

fn declared(one: &'static abi::Parameter) -> Result<Declared, String> {
    // SAFETY: as in `Definition::read`.
    let texts =
        unsafe { [text(one.name, "a parameter's name")?, text(one.initial, "a default")?, text(one.doc, "a doc")?] };
    let [name, initial, doc] = texts;
    let name = named(name, "a parameter")?;
    if matches!(name, "limit" | "preset" | "kind") {
        return Err(format!("a parameter is called {name}, which Sojourn keeps for itself; allowed: another name"));
    }
    let initial = initial.ok_or_else(|| format!("the parameter {name} has no default"))?;
    let initial =
        ParamValue::read(one.kind, initial).map_err(|why| format!("the default of the parameter {name}: {why}"))?;
    let doc = doc.filter(|doc| !doc.trim().is_empty());
    let doc = doc.ok_or_else(|| {
        format!("the parameter {name} has no doc; allowed: what it does, and the source of its default")
    })?;
    if initial.print().contains(char::is_whitespace) {
        return Err(format!("the default of the parameter {name} has a blank"));
    }
    Ok(Declared { name, doc, initial })
}

fn internal(one: &'static abi::Internal, within: impl Fn(u64, u64) -> bool) -> Result<Internal, String> {
    // SAFETY: as in `Definition::read`.
    let name = named(unsafe { text(one.name, "an internal's name")? }, "an internal")?;
    let bytes = match one.kind {
        1..=3 => 8,
        4 => 4,
        5 => 1,
        kind => return Err(format!("{kind} is no kind of internal, at {name}; allowed: 1 to 5")),
    };
    if !within(one.offset, bytes) {
        return Err(format!("the internal {name} lies at {} of the state, where none can be", one.offset));
    }
    Ok(Internal { name, offset: one.offset as usize, kind: one.kind })
}
