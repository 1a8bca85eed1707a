//! Nodes and groups by name.

use super::{Nodes, MOST};
use crate::document::Document;
use sojourn_document::{did_you_mean, Error, Path};
use std::collections::{BTreeMap, BTreeSet};

/// Which nodes there are: the declared ones in their order, then those that links, buses and cells name.
pub(in super::super) struct Names {
    /// Names of the nodes.
    pub(in super::super) nodes: Vec<String>,
    /// Every name, of a node or a group, with its nodes.
    known: BTreeMap<String, Nodes>,
    /// Groups, for messages.
    groups: Vec<String>,
    /// What is probably a slip, for messages.
    slips: Vec<(Path, String)>,
}

impl Names {
    pub(super) fn of(document: &Document) -> Result<Self, Error> {
        let mut names = Self { nodes: Vec::new(), known: BTreeMap::new(), groups: Vec::new(), slips: Vec::new() };
        for (i, table) in document.nodes.iter().enumerate() {
            let path = Path::from(["nodes".into(), i.into()]);
            names.declare(&table.name, table.count, &path)?;
        }
        for (path, name) in mentions(document) {
            names.mention(name, path)?;
        }
        names.slips = slips(document);
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
            let known: Vec<&str> = self.known.keys().map(String::as_str).collect();
            let hint = did_you_mean(name, &known);
            Error::new(path, format!("is \"{name}\", which is not a node or group{hint}; allowed: {}", self.allowed()))
        })
    }

    /// What an error adds where nodes are not connected: names that are probably slips.
    pub(super) fn hint(&self) -> String {
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

/// The names by which links, buses and cells connect nodes, in the order of the document.
fn mentions(document: &Document) -> Vec<(Path, &str)> {
    let mut found: Vec<(Path, &str)> = Vec::new();
    for (i, link) in document.links.iter().enumerate() {
        let path = Path::from(["links".into(), i.into()]);
        found.push((path.then("from"), &link.from));
        found.push((path.then("to"), &link.to));
    }
    let all = |path: Path, names: &'_ [String]| (0..names.len()).map(move |k| path.then(k));
    for (i, bus) in document.buses.iter().enumerate() {
        let path = Path::from(["buses".into(), i.into(), "stations".into()]);
        found.extend(all(path, &bus.stations).zip(bus.stations.iter().map(String::as_str)));
    }
    for (i, cell) in document.cells.iter().enumerate() {
        let path = Path::from(["cells".into(), i.into()]);
        found.push((path.then("access_point"), &cell.access_point));
        found.extend(all(path.then("stations"), &cell.stations).zip(cell.stations.iter().map(String::as_str)));
    }
    found
}

/// Most undeclared names, and most groups, that are looked at for slips: a bound on the work.
const LOOKED_AT: usize = 100;

/// Names that are probably slips: a link, bus or cell names a node that is not declared, while a declared group has nearly
/// this name or is connected to nothing. Each with its place and what is to be said of it.
pub(in super::super) fn slips(document: &Document) -> Vec<(Path, String)> {
    let groups: BTreeMap<&str, u32> =
        document.nodes.iter().filter_map(|table| Some((table.name.as_str(), table.count?))).collect();
    if groups.is_empty() {
        return Vec::new();
    }
    let singles: BTreeSet<&str> =
        document.nodes.iter().filter(|table| table.count.is_none()).map(|table| table.name.as_str()).collect();
    // `host12` is node 12 of a group `host`, or node 2 of a group `host1`.
    let digits = |name: &str| name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let group_of = |name: &str| {
        (0..=digits(name)).map(|n| name.split_at(name.len() - n)).find_map(|(group, number)| {
            let (group, count) = groups.get_key_value(group)?;
            Some((*group, *count, number.parse::<u32>().ok(), number.is_empty()))
        })
    };
    let mentions = mentions(document);
    let connected: BTreeSet<&str> = mentions.iter().filter_map(|(_, name)| Some(group_of(name)?.0)).collect();
    let unused: Vec<&str> = groups.keys().filter(|group| !connected.contains(*group)).copied().collect();
    let names: Vec<&str> = groups.keys().copied().take(LOOKED_AT).collect();
    let mut seen = BTreeSet::new();
    let undeclared: Vec<(Path, &str)> = mentions
        .into_iter()
        .filter(|(_, name)| !singles.contains(name) && seen.insert(*name))
        .filter(|(_, name)| {
            !group_of(name)
                .is_some_and(|(_, count, number, whole)| whole || number.is_some_and(|number| number < count))
        })
        .take(LOOKED_AT)
        .collect();
    let slip = |(path, name): &(Path, &str)| {
        let hint = match group_of(name) {
            Some((group, count, ..)) => format!("; the group \"{group}\" has {count} nodes, numbered from 0"),
            // Short names, as R1 beside D1, differ by one letter on purpose.
            None if name.len() < 4 => return None,
            None => Some(did_you_mean(name, &names)).filter(|hint| !hint.is_empty())?,
        };
        Some((path.clone(), format!("\"{name}\" is not declared in [[nodes]], so it is a single node{hint}")))
    };
    let near: Vec<_> = undeclared.iter().filter_map(slip).collect();
    if !near.is_empty() || unused.is_empty() {
        return near;
    }
    let Some((path, _)) = undeclared.first() else { return near };
    let quoted = |names: Vec<&str>| format!("\"{}\"", names.join("\", \""));
    let what = format!(
        "nothing connects the group {}, while each of these is a single node that is not declared in [[nodes]]: {}",
        quoted(unused),
        quoted(undeclared.iter().map(|(_, name)| *name).collect())
    );
    vec![(path.clone(), what)]
}

/// A name is not empty and needs no quotes in an override or a report.
pub(super) fn plain(name: &str, path: Path) -> Result<(), Error> {
    let fine =
        name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') && !name.chars().all(|c| c.is_ascii_digit());
    if fine {
        return Ok(());
    }
    Err(Error::new(path, format!("is {name:?}; allowed: letters, digits, _ and -, at least one of them no digit")))
}

/// A text that tables, reports and pictures show: a line of it is a line there, in the order in which it is written.
pub(in super::super) fn shown(text: &str, path: impl FnOnce() -> Path) -> Result<(), Error> {
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
pub(in super::super) fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
