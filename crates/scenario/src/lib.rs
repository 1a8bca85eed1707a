//! Scenarios: documents in TOML or JSON, checked and resolved to networks.
//!
//! [`load`] takes a text and overrides to a [`Document`] that is possible as a whole, or says where and why it is not;
//! [`Document::resolve`] gives the [`Network`] that the engine runs; [`schema`] describes documents.

mod cell;
mod change;
mod document;
mod flow;
mod inert;
mod link;
mod names;
mod network;
mod resolve;
mod routes;
mod sets;
#[cfg(test)]
mod tests;
pub mod timing;
mod trace;

pub use cell::{CellTable, Profile};
pub use change::ChangeTable;
pub use document::{BusTable, Document, NodeTable, PortTable, SeriesTable};
pub use flow::*;
pub use inert::Inert;
pub use link::LinkTable;
pub use network::{Bus, Cell, Change, Changing, Flow, Network, Phases, Port, PortKind, Start, Transport};
pub use sojourn_document::{bounds::bounds, Content, Directed, Error, OrNone, Quantity, Scheme, Unit};

pub use trace::{StateTable, Trace, TraceTable};

use sojourn_document::tree::{self, Origin};
use sojourn_document::{line_and_column, read, Path};

/// Reads a scenario in TOML, or in JSON when it starts with a brace, applies the overrides `KEY=VALUE` in their order,
/// and checks it whole. `source` is the file's name in errors.
///
/// # Errors
/// The first thing that is wrong: `FILE:LINE:COLUMN: key ...: why; allowed: ...`. A file that the scenario names is.
pub fn load(text: &str, source: &str, sets: &[String]) -> Result<Document, Error> {
    load_with(text, source, sets, &|_| Err("names a file, and none can be read here".to_owned()))
}

/// As [`load`], with the files that the scenario names: `read` gives the content of one, or why there is none. Their content takes
/// their place in the document.
///
/// # Errors
/// As [`load`]'s; of a file with its line.
pub fn load_with(
    text: &str,
    source: &str,
    sets: &[String],
    read_file: &dyn Fn(&str) -> Result<Content, String>,
) -> Result<Document, Error> {
    let place = |origin: Origin| match origin {
        Origin::Text(at) => {
            let (line, column) = line_and_column(text, at);
            format!("{source}:{line}:{column}")
        }
        Origin::Set(index) => format!("--set {}", sets.get(index).map_or("", String::as_str)),
    };
    let refused = |origin, what: String| Error::new(Path::default(), what).at(place(origin));
    let mut tree = tree::parse(text).map_err(|e| refused(Origin::Text(e.at), e.why))?;
    for (index, set) in sets.iter().enumerate() {
        sets::apply(&mut tree, index, set).map_err(|why| refused(Origin::Set(index), why))?;
    }
    let mut document: Document = read(&tree).map_err(|e| {
        let (path, origin, what) = e.into_parts();
        Error::new(path, what).at(place(origin.unwrap_or(tree.origin)))
    })?;
    let checked = document.take_files(read_file).and_then(|written| {
        let resolved = document.resolve();
        resolved.map(drop).map_err(|e| change::as_written(e, &written))
    });
    match checked {
        Ok(()) => {
            document.links.iter_mut().for_each(LinkTable::normalise);
            document.flows.iter_mut().for_each(FlowTable::normalise);
            Ok(document)
        }
        Err(e) => {
            let origin = tree.find(e.key());
            Err(e.at(place(origin)))
        }
    }
}

impl Document {
    /// Puts the content of the files that the document names into their place. Returns where each change was written.
    fn take_files(&mut self, read: &dyn Fn(&str) -> Result<Content, String>) -> Result<Vec<change::Written>, Error> {
        let content = |file: &str, path: &Path| read(file).map_err(|why| Error::new(path.then("file"), why));
        for (i, link) in self.links.iter_mut().enumerate() {
            for (key, table) in [("trace", &mut link.trace), ("reverse_trace", &mut link.reverse_trace)] {
                let Some((table, file)) =
                    table.as_mut().and_then(|table| Some((table.file.clone()?, table)).map(|(f, t)| (t, f)))
                else {
                    continue;
                };
                let path = Path::from(["links".into(), i.into(), key.into()]);
                let content = content(&file, &path)?;
                content
                    .text()
                    .and_then(|text| table.take(text))
                    .map_err(|why| Error::new(path.then("file"), format!("{file}: {why}")))?;
            }
        }
        for (i, flow) in self.flows.iter_mut().enumerate() {
            let file = match &flow.traffic {
                TrafficTable::Replay(replay) => replay.file.clone(),
                TrafficTable::RequestResponse(table) => table.file.clone(),
                _ => None,
            };
            let Some(file) = file else { continue };
            let path = Path::from(["flows".into(), i.into(), "traffic".into()]);
            let content = content(&file, &path)?;
            let taken = match &mut flow.traffic {
                TrafficTable::Replay(replay) => replay.take(&content),
                TrafficTable::RequestResponse(table) => content.text().and_then(|text| table.take(text)),
                _ => Ok(()),
            };
            taken.map_err(|why| Error::new(path.then("file"), format!("{file}: {why}")))?;
        }
        let mut written = Vec::new();
        for (table, change) in std::mem::take(&mut self.changes).into_iter().enumerate() {
            let Some(file) = &change.file else {
                written.push(change::Written { table, line: None });
                self.changes.push(change);
                continue;
            };
            let path = Path::from(["changes".into(), table.into()]);
            let content = content(file, &path)?;
            let read = content
                .text()
                .and_then(|text| change.read(text))
                .map_err(|why| Error::new(path.then("file"), format!("{file}: {why}")))?;
            for (line, change) in read {
                written.push(change::Written { table, line: Some((file.clone(), line)) });
                self.changes.push(change);
            }
        }
        Ok(written)
    }

    /// What its writer should change although it is accepted, with the key of each: names of nodes that are probably
    /// slips, former names of presets, and words of schemes that do nothing.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let slips = resolve::slips(self).into_iter().map(|(path, what)| format!("key `{path}`: {what}"));
        let mut schemes: Vec<(String, &Scheme)> = Vec::new();
        for (i, link) in self.links.iter().enumerate() {
            schemes.extend(link.queue.down().map(|queue| (format!("links[{i}].queue"), queue)));
            schemes.push((format!("links[{i}].reverse_queue"), &link.reverse_queue));
        }
        for (i, bus) in self.buses.iter().enumerate() {
            schemes.push((format!("buses[{i}].queue"), &bus.queue));
            schemes
                .extend(bus.ports.iter().enumerate().map(|(k, p)| (format!("buses[{i}].ports[{k}].queue"), &p.queue)));
        }
        for (i, cell) in self.cells.iter().enumerate() {
            schemes.push((format!("cells[{i}].queue"), &cell.queue));
            schemes.push((format!("cells[{i}].access_point_queue"), &cell.access_point_queue));
        }
        let changes = self.changes.iter().enumerate();
        schemes.extend(changes.filter_map(|(i, c)| Some((format!("changes[{i}].scheme"), c.scheme.as_ref()?))));
        let warnings = |(key, Scheme(config)): (String, &Scheme)| -> Vec<String> {
            // The canonical form does not have these words, so that nothing can warn of them later.
            let idle = config.idle().iter();
            let idle = idle.map(|(word, why)| format!("{}: `{word}` has no effect: {why}", config.name()));
            config.warning().into_iter().chain(idle).map(|what| format!("key `{key}`: {what}")).collect()
        };
        slips.chain(schemes.into_iter().flat_map(warnings)).collect()
    }

    /// The canonical form: every key in the order of the schema, defaults included, quantities in their usual unit.
    /// [`load`] of it gives an equal document.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Only maps with keys that are no strings can fail, and there is none.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The JSON Schema of documents.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Document).to_value()
}
