//! Nodes and groups by name.

use sojourn_document::bounds::MOST;
use sojourn_document::{did_you_mean, Error, Path};
use std::collections::BTreeMap;
use std::ops::Range;

/// The nodes of a name: one, or the members of a group, which are consecutive.
pub(crate) type Nodes = Range<usize>;

/// Which nodes there are: the declared ones in their order, then those that links, buses and cells name.
#[derive(Default)]
pub(crate) struct Names {
    /// Names of the nodes.
    pub(crate) nodes: Vec<String>,
    /// Every name, of a node or a group, with its nodes.
    known: BTreeMap<String, Nodes>,
    /// Groups, for messages.
    groups: Vec<String>,
    /// What is probably a slip, for messages.
    pub(crate) slips: Vec<(Path, String)>,
}

impl Names {
    pub(crate) fn declare(&mut self, name: &str, count: Option<u32>, path: &Path) -> Result<(), Error> {
        plain(name, path.then("name"))?;
        let Some(count) = count else { return self.add(name, path.then("name")) };
        if count == 0 || u64::from(count) > MOST {
            return Err(Error::new(path.then("count"), format!("is {count}; allowed: 1 to {MOST}")));
        }
        let start = self.nodes.len();
        for i in 0..count {
            self.add(&format!("{name}{i}"), path.then("name"))?;
        }
        self.groups.push(name.to_owned());
        self.know(name, start..self.nodes.len(), path.then("name"))
    }

    pub(crate) fn mention(&mut self, name: &str, path: Path) -> Result<(), Error> {
        plain(name, path.clone())?;
        if self.known.contains_key(name) {
            Ok(())
        } else {
            self.add(name, path)
        }
    }

    fn add(&mut self, name: &str, path: Path) -> Result<(), Error> {
        let index = self.nodes.len();
        if index as u64 >= MOST {
            return Err(Error::new(path, format!("makes too many nodes; allowed: up to {MOST}")));
        }
        self.nodes.push(name.to_owned());
        self.know(name, index..index + 1, path)
    }

    fn know(&mut self, name: &str, nodes: Nodes, path: Path) -> Result<(), Error> {
        if self.known.insert(name.to_owned(), nodes).is_some() {
            return Err(Error::new(
                path,
                format!("makes a second \"{name}\"; allowed: a name that no node or group has"),
            ));
        }
        Ok(())
    }

    /// The nodes called `name`.
    pub(crate) fn find(&self, name: &str, path: Path) -> Result<Nodes, Error> {
        self.known.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = self.known.keys().map(String::as_str).collect();
            let hint = did_you_mean(name, &known);
            Error::new(path, format!("is \"{name}\", which is not a node or group{hint}; allowed: {}", self.allowed()))
        })
    }

    /// What an error adds where nodes are not connected: names that are probably slips.
    pub(crate) fn hint(&self) -> String {
        let texts = self.slips.iter().take(3).map(|(path, what)| format!("; `{path}`: {what}"));
        texts.collect()
    }

    /// Groups, and nodes that belong to none; not all when there are many.
    fn allowed(&self) -> String {
        const SHOWN: usize = 12;
        let in_group = |node: &str| {
            self.groups
                .iter()
                .any(|group| node.strip_prefix(group.as_str()).is_some_and(|rest| rest.parse::<u32>().is_ok()))
        };
        let singles = self.nodes.iter().map(String::as_str).filter(|node| !in_group(node));
        let mut all: Vec<&str> = self.groups.iter().map(String::as_str).chain(singles).collect();
        if all.is_empty() {
            return "none, no link, bus or cell is there".to_owned();
        }
        let more = all.len().saturating_sub(SHOWN);
        all.truncate(SHOWN);
        let shown = all.join(", ");
        if more == 0 {
            shown
        } else {
            format!("{shown} and {more} more")
        }
    }
}

/// A name is not empty and needs no quotes in an override or a report.
pub(crate) fn plain(name: &str, path: Path) -> Result<(), Error> {
    let fine =
        name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') && !name.chars().all(|c| c.is_ascii_digit());
    if fine {
        return Ok(());
    }
    Err(Error::new(path, format!("is {name:?}; allowed: letters, digits, _ and -, at least one of them no digit")))
}

/// A text that tables, reports and pictures show: a line of it is a line there, in the order in which it is written.
pub(crate) fn shown(text: &str, path: impl FnOnce() -> Path) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::new(path(), "is empty; allowed: any text"));
    }
    match text.chars().find(|c| acts(*c)) {
        None => Ok(()),
        Some(c) => {
            let what =
                format!("is {text:?}, with the control character U+{:04X}; allowed: one line of text", u32::from(c));
            Err(Error::new(path(), what))
        }
    }
}

/// Control characters, ends of lines, and what turns the direction of a text.
pub(crate) fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
