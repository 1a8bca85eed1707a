//! Nodes and groups by name.

use super::{Nodes, MOST};
use crate::scenario::document::Document;
use sojourn_document::{Error, Path};
use std::collections::BTreeMap;

/// Which nodes there are: the declared ones in their order, then those that links, buses and cells name.
pub(in super::super) struct Names {
    /// Names of the nodes.
    pub(in super::super) nodes: Vec<String>,
    /// Every name, of a node or a group, with its nodes.
    known: BTreeMap<String, Nodes>,
    /// Groups, for messages.
    groups: Vec<String>,
}

impl Names {
    pub(super) fn of(document: &Document) -> Result<Self, Error> {
        let mut names = Self { nodes: Vec::new(), known: BTreeMap::new(), groups: Vec::new() };
        for (i, table) in document.nodes.iter().enumerate() {
            let path = Path::from(["nodes".into(), i.into()]);
            names.declare(&table.name, table.count, &path)?;
        }
        for (i, link) in document.links.iter().enumerate() {
            let path = Path::from(["links".into(), i.into()]);
            names.mention(&link.from, path.then("from"))?;
            names.mention(&link.to, path.then("to"))?;
        }
        for (i, bus) in document.buses.iter().enumerate() {
            let path = Path::from(["buses".into(), i.into(), "stations".into()]);
            for (k, name) in bus.stations.iter().enumerate() {
                names.mention(name, path.then(k))?;
            }
        }
        for (i, cell) in document.cells.iter().enumerate() {
            let path = Path::from(["cells".into(), i.into()]);
            names.mention(&cell.access_point, path.then("access_point"))?;
            for (k, name) in cell.stations.iter().enumerate() {
                names.mention(name, path.then("stations").then(k))?;
            }
        }
        Ok(names)
    }

    fn declare(&mut self, name: &str, count: Option<u32>, path: &Path) -> Result<(), Error> {
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

    fn mention(&mut self, name: &str, path: Path) -> Result<(), Error> {
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
    pub(in super::super) fn find(&self, name: &str, path: Path) -> Result<Nodes, Error> {
        self.known.get(name).cloned().ok_or_else(|| {
            Error::new(path, format!("is \"{name}\", which is neither node nor group; allowed: {}", self.allowed()))
        })
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
pub(super) fn plain(name: &str, path: Path) -> Result<(), Error> {
    let fine =
        name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') && !name.chars().all(|c| c.is_ascii_digit());
    if fine {
        return Ok(());
    }
    Err(Error::new(path, format!("is \"{name}\"; allowed: letters, digits, _ and -, at least one of them no digit")))
}
