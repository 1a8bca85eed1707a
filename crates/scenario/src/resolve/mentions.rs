//! Names of nodes as a document mentions them, and which of them are probably slips.

use crate::document::Document;
use crate::names::Names;
use sojourn_document::{did_you_mean, Error, Path};
use std::collections::{BTreeMap, BTreeSet};

/// The nodes of a document.
pub(super) fn names(document: &Document) -> Result<Names, Error> {
    let mut names = Names::default();
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
pub(crate) fn slips(document: &Document) -> Vec<(Path, String)> {
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
