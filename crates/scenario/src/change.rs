//! `[[changes]]`: what changes during a run, when, and which phases follow from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::Loss;
use sojourn_document::bounds;
use sojourn_document::{did_you_mean, Error, Path, Quantity, Scheme, Step};
use sojourn_units::{BitRate, Span};

/// A queue gets another scheme or other parameters during the run, its link another rate, delay or loss, or groups of flows stop
/// or start. With a new scheme, packets that wait move to it and keep their age; packets that it has no room for are dropped.
/// With a new rate or delay, the packet that is being sent still has the old one. A shorter delay lets packets overtake those
/// on their way. Results are also reported by the phases between changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct ChangeTable {
    /// Time of the change; must be before the end of the run.
    pub at: Quantity<Span>,
    /// Repeat the change after each such time, until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Quantity<Span>>,
    /// Name of the queue as in results, for example `left->right` or `lan:client0`; without it and `link`, every queue under
    /// test changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Name of a link: the change is of both directions, and of each link of a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The new scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// New parameters of the scheme that the queue has then, as tc writes them behind the scheme's name; the others keep their
    /// values, and what the scheme has learnt is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
    /// The new rate, in the direction of this queue, of a link without a trace; of a station of a cell, the new data rate in
    /// both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity<BitRate>>,
    /// The new propagation delay, in the direction of this queue; only of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Quantity<Span>>,
    /// The new random loss, in the direction of this queue; only of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Quantity<Loss>>,
    /// Names of groups of flows whose applications stop sending; what they have handed over is still sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Names of groups of flows whose applications go on sending after a `stop`, on the same connections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start: Vec<String>,
    /// Name of the phase that begins. Phases of one name are also reported together. Without any such name, each change begins
    /// a phase that is called after it, for example `rate 5 Mbit/s`; with one, only changes with a name begin phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// File with a table of changes: its first line names columns among `at`, `rate`, `delay`, `loss`, `scheme`, `parameters`
    /// and `phase`, every other line has their values, written as here and separated by commas. `at` of this table is added to
    /// theirs. The file is found from the scenario's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl ChangeTable {
    /// Something of a queue or its link.
    pub(super) fn is_of_queue(&self) -> bool {
        self.scheme.is_some()
            || self.parameters.is_some()
            || self.rate.is_some()
            || self.delay.is_some()
            || self.loss.is_some()
    }

    /// The phase that it begins where no change has a name for it.
    pub(super) fn title(&self) -> String {
        let list = |verb: &str, groups: &[String]| (!groups.is_empty()).then(|| format!("{verb} {}", groups.join(" ")));
        let parts = [
            self.scheme.as_ref().map(|scheme| scheme.0.text()),
            self.parameters.clone(),
            self.rate.map(|rate| format!("rate {}", rate.0)),
            self.delay.map(|delay| format!("delay {}", delay.0)),
            self.loss.map(|loss| format!("loss {}", loss.0)),
            list("stop", &self.stop),
            list("start", &self.start),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The changes of a file's text, each with its line, in place of this one, which names the file.
    ///
    /// # Errors
    /// The line that is wrong, and what is allowed.
    pub(super) fn read(&self, text: &str) -> Result<Vec<(usize, Self)>, String> {
        let lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let Some((n, head)) = lines.next() else {
            return Err("is empty; allowed: a line with names of columns, then changes".to_owned());
        };
        let names: Vec<&str> = head.split(',').map(str::trim).collect();
        if let Some(name) = names.iter().find(|name| !COLUMNS.contains(name)) {
            let hint = did_you_mean(name, &COLUMNS);
            return Err(format!("line {n}: there is no column {name:?}{hint}; allowed: {}", COLUMNS.join(", ")));
        }
        if !names.contains(&"at") {
            return Err(format!("line {n}: the column `at` is missing; allowed: {}", COLUMNS.join(", ")));
        }
        let mut changes = Vec::new();
        for (n, line) in lines {
            let mut change = Self { file: None, ..self.clone() };
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != names.len() {
                return Err(format!("line {n}: has {} values; allowed: {}, one a column", cells.len(), names.len()));
            }
            for (name, cell) in names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
                let wrong = |why: String| format!("line {n}: {name}: {why}");
                match *name {
                    "at" => {
                        let at = cell.parse::<Span>().map_err(|e| wrong(e.to_string()))?;
                        change.at.0 = Span::from_nanos(self.at.0.nanos().saturating_add(at.nanos()));
                    }
                    "rate" => {
                        change.rate =
                            Some(Quantity(cell.parse().map_err(|e: sojourn_units::UnitError| wrong(e.to_string()))?))
                    }
                    "delay" => {
                        change.delay =
                            Some(Quantity(cell.parse().map_err(|e: sojourn_units::UnitError| wrong(e.to_string()))?))
                    }
                    "loss" => {
                        change.loss =
                            Some(Quantity(cell.parse().map_err(|e: sojourn_units::UnitError| wrong(e.to_string()))?))
                    }
                    "scheme" => {
                        change.scheme =
                            Some(Scheme(cell.parse().map_err(|e: sojourn_aqm::ConfigError| wrong(e.to_string()))?))
                    }
                    "parameters" => change.parameters = Some(cell.to_owned()),
                    _ => change.phase = Some(cell.to_owned()),
                }
            }
            changes.push((n, change));
            if changes.len() as u64 > bounds::CHANGES.most {
                return Err(format!("has more than {0} changes; allowed: up to {0}", bounds::CHANGES.most));
            }
        }
        Ok(changes)
    }
}

/// What a file of changes may have.
const COLUMNS: [&str; 7] = ["at", "rate", "delay", "loss", "scheme", "parameters", "phase"];

/// Where a change was written: the table of the document, and the file with its line where the table names one.
pub(super) struct Written {
    pub table: usize,
    pub line: Option<(String, usize)>,
}

/// An error of the changes as they are applied, with the place where its change was written.
pub(super) fn as_written(error: Error, written: &[Written]) -> Error {
    let [Step::Key(list), Step::Index(index), rest @ ..] = error.key().0.as_slice() else { return error };
    let Some(Written { table, line }) = written.get(*index).filter(|_| list == "changes") else { return error };
    let path = Path::from(["changes".into(), (*table).into()]);
    match (line, rest) {
        (Some((file, line)), [Step::Key(key), ..]) if COLUMNS.contains(&key.as_ref()) => {
            Error::new(path.then("file"), format!("{file}: line {line}: {key}: {}", error.what()))
        }
        _ => Error::new(rest.iter().fold(path, |path, step| path.then(step.clone())), error.what()),
    }
}
