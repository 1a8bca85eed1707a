//! `[[changes]]`: what changes during a run, when, and which phases follow from it.

use super::document::Document;
use super::network::{Change, Phases, Port};
use super::resolve::shown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::{Config, Loss};
use sojourn_document::bounds::{self, positive, positive_rate, up_to};
use sojourn_document::{did_you_mean, Error, Path, Quantity, Scheme, Step};
use sojourn_units::{BitRate, Instant, Span};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

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
    /// The new rate, in the direction of this queue; only of links without a trace.
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
    fn is_of_queue(&self) -> bool {
        self.scheme.is_some()
            || self.parameters.is_some()
            || self.rate.is_some()
            || self.delay.is_some()
            || self.loss.is_some()
    }

    /// The phase that it begins where no change has a name for it.
    fn title(&self) -> String {
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

/// What changes may name.
pub(super) struct Targets<'a> {
    pub ports: &'a [Port],
    /// The ports of each link table.
    pub links: &'a [Range<usize>],
}

impl Document {
    /// The changes in the order of the document, each with its repetitions.
    pub(super) fn changes(&self, targets: &Targets<'_>) -> Result<Vec<Change>, Error> {
        let mut all = Vec::new();
        for (i, table) in self.changes.iter().enumerate() {
            let path = Path::from(["changes".into(), i.into()]);
            let change = self.change(table, targets, &path)?;
            let times = self.times(table, &path)?;
            if all.len() as u64 + times > bounds::CHANGES.most {
                let what = format!("makes {times} changes; allowed: up to {} in all", bounds::CHANGES.most);
                return Err(Error::new(path.then("every"), what));
            }
            let every = table.every.unwrap_or_default().0;
            all.extend((0..times).map(|time| Change { at: change.at + every * time, ..change.clone() }));
        }
        check_parameters(&all, targets.ports, None)
            .map_err(|(i, what)| Error::new(Path::from(["changes".into(), i.into(), "parameters".into()]), what))?;
        Ok(all)
    }

    /// How often a change happens.
    fn times(&self, table: &ChangeTable, path: &Path) -> Result<u64, Error> {
        let Some(every) = table.every else { return Ok(1) };
        positive(every.0, path.then("every"))?;
        let times = self.duration.0.saturating_sub(table.at.0).nanos().div_ceil(every.0.nanos());
        if times > bounds::CHANGES.most {
            let what = format!("makes {times} changes; allowed: up to {}", bounds::CHANGES.most);
            return Err(Error::new(path.then("every"), what));
        }
        Ok(times)
    }

    /// The first time of a change.
    fn change(&self, table: &ChangeTable, targets: &Targets<'_>, path: &Path) -> Result<Change, Error> {
        if let Some(file) = &table.file {
            let what = format!("is {file:?}, which has not been read; allowed: changes that are written out");
            return Err(Error::new(path.then("file"), what));
        }
        if table.at.0 >= self.duration.0 {
            let what = format!(
                "is {}, the end of the run or later; allowed: less than `duration`, {}",
                table.at.0, self.duration.0
            );
            return Err(Error::new(path.then("at"), what));
        }
        let ports = self.changed(table, targets, path)?;
        let link = |key: &'static str, traced: bool| {
            let mut chosen = ports.iter().map(|index| &targets.ports[*index]);
            let wrong = chosen.find_map(|port| {
                if !port.is_link() {
                    return Some(format!(
                        "changes {}, which is no queue of a link; allowed: queues of links",
                        port.name
                    ));
                }
                let what = "whose rate follows a trace; allowed: queues of links with a `rate`";
                (traced && port.trace.is_some()).then(|| format!("changes {}, {what}", port.name))
            });
            wrong.map_or(Ok(()), |what| Err(Error::new(path.then(key), what)))
        };
        if let Some(rate) = table.rate {
            positive_rate(rate.0, path.then("rate"))?;
            link("rate", true)?;
        }
        if let Some(delay) = table.delay {
            up_to(delay.0, &bounds::DELAY, || path.then("delay"))?;
            link("delay", false)?;
        }
        if table.loss.is_some() {
            link("loss", false)?;
        }
        let groups = |names: &[String], key: &'static str| -> Result<Vec<usize>, Error> {
            let known: Vec<&str> = self.flows.iter().map(|flow| flow.name.as_str()).collect();
            let one = |(k, name): (usize, &String)| {
                known.iter().position(|known| known == name).ok_or_else(|| {
                    let hint = did_you_mean(name, &known);
                    let what = format!(
                        "is \"{name}\", and no group of flows has that name{hint}; allowed: {}",
                        known.join(", ")
                    );
                    Error::new(path.then(key).then(k), what)
                })
            };
            names.iter().enumerate().map(one).collect()
        };
        if let Some(name) = &table.phase {
            shown(name, || path.then("phase"))?;
        }
        Ok(Change {
            at: Instant::ZERO + table.at.0,
            ports,
            scheme: table.scheme.as_ref().map(|scheme| scheme.0.clone()),
            parameters: table.parameters.as_deref().map(Arc::from),
            rate: table.rate.map(|rate| rate.0),
            delay: table.delay.map(|delay| delay.0),
            loss: table.loss.map(|loss| loss.0),
            stop: groups(&table.stop, "stop")?,
            start: groups(&table.start, "start")?,
        })
    }

    /// The ports of a change.
    fn changed(&self, table: &ChangeTable, targets: &Targets<'_>, path: &Path) -> Result<Vec<usize>, Error> {
        let ports = targets.ports;
        if !table.is_of_queue() {
            if table.stop.is_empty() && table.start.is_empty() && table.phase.is_none() {
                let what =
                    "changes nothing; allowed: at least one of `scheme`, `parameters`, `rate`, `delay`, `loss`, \
                            `stop`, `start` and `phase`";
                return Err(Error::new(path.clone(), what));
            }
            let idle =
                [("queue", table.queue.is_some()), ("link", table.link.is_some())].into_iter().find(|(_, is)| *is);
            return idle.map_or(Ok(Vec::new()), |(key, _)| {
                let what = "is named, and nothing of it changes; allowed: with `scheme`, `parameters`, `rate`, `delay` or `loss`";
                Err(Error::new(path.then(key), what))
            });
        }
        if let Some(name) = &table.link {
            if table.queue.is_some() {
                let what = "is given together with `queue`; allowed: one of the two";
                return Err(Error::new(path.then("link"), what));
            }
            let place = self.links.iter().position(|link| link.name == *name);
            return place.and_then(|place| targets.links.get(place)).map(|range| range.clone().collect()).ok_or_else(
                || {
                    let names: Vec<&str> = self.links.iter().map(|link| link.name.as_str()).collect();
                    let hint = did_you_mean(name, &names);
                    let what = format!("is \"{name}\", and no link has that name{hint}; allowed: {}", names.join(", "));
                    Error::new(path.then("link"), what)
                },
            );
        }
        let is_meant = |port: &Port| table.queue.as_ref().map_or(port.under_test, |name| *name == port.name);
        let chosen: Vec<usize> = (0..ports.len()).filter(|index| is_meant(&ports[*index])).collect();
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        let what = match &table.queue {
            Some(name) => {
                let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
                let hint = if self.links.iter().any(|link| link.name == *name) {
                    format!(" (a link has: `link = \"{name}\"` changes both of its directions)")
                } else {
                    did_you_mean(name, &names)
                };
                format!("is \"{name}\", and no queue has that name{hint}; allowed: {}", listed(ports))
            }
            None => format!("is missing, and no queue is under test; allowed: {}", listed(ports)),
        };
        Err(Error::new(path.then("queue"), what))
    }

    /// The phases that the changes begin.
    pub(super) fn phases(&self) -> Result<Phases, Error> {
        let named = self.changes.iter().any(|change| change.phase.is_some());
        // By instant: the name, and the table that gave it.
        let mut begins: BTreeMap<Instant, (String, usize)> = BTreeMap::new();
        for (i, table) in self.changes.iter().enumerate() {
            let path = Path::from(["changes".into(), i.into()]);
            let name = match &table.phase {
                Some(name) => name.clone(),
                None if named => continue,
                None => table.title(),
            };
            for time in 0..self.times(table, &path)? {
                let at = Instant::ZERO + table.at.0 + table.every.unwrap_or_default().0 * time;
                let Some((known, other)) = begins.get_mut(&at) else {
                    begins.insert(at, (name.clone(), i));
                    continue;
                };
                if !named {
                    *known = format!("{known}, {name}");
                } else if *known != name {
                    let what = format!(
                        "is \"{name}\", and `changes[{other}]` begins the phase \"{known}\" at the same instant; allowed: \
                         one phase at a time"
                    );
                    return Err(Error::new(path.then("phase"), what));
                }
            }
        }
        let mut phases = Phases::default();
        let mut numbers = BTreeMap::new();
        for (at, (name, i)) in begins {
            let next = phases.names.len();
            let number = *numbers.entry(name.clone()).or_insert(next);
            if number == next {
                phases.names.push(name);
            }
            if phases.names.len() > bounds::PHASES {
                let what = format!(
                    "makes more than {0} phases of different names; allowed: up to {0}, which `phase` can name",
                    bounds::PHASES
                );
                return Err(Error::new(Path::from(["changes".into(), i.into()]), what));
            }
            // What goes on is no new phase.
            if phases.begins.last().is_none_or(|(_, last)| *last != number) {
                phases.begins.push((at, number));
            }
        }
        Ok(phases)
    }
}

/// Whether every change of parameters is one that the scheme of its queue then can take, with `scheme` in place of those under
/// test where given.
///
/// # Errors
/// The number of the change, in the order of the document, and what is wrong.
pub(super) fn check_parameters(
    changes: &[Change],
    ports: &[Port],
    scheme: Option<&Config>,
) -> Result<(), (usize, String)> {
    if changes.iter().all(|change| change.parameters.is_none()) {
        return Ok(());
    }
    let mut order: Vec<(usize, &Change)> = changes.iter().enumerate().collect();
    order.sort_by_key(|(_, change)| change.at);
    let mut now: BTreeMap<usize, Config> = BTreeMap::new();
    for (number, change) in order {
        for index in &change.ports {
            let port = &ports[*index];
            let config = now.entry(*index).or_insert_with(|| {
                let under_test = scheme.filter(|_| port.under_test);
                under_test.map_or_else(|| (*port.queue).clone(), Config::clone)
            });
            if let Some(scheme) = &change.scheme {
                *config = scheme.clone();
            }
            if let Some(parameters) = &change.parameters {
                *config = config.with(parameters).map_err(|e| (number, e.to_string()))?;
            }
        }
    }
    Ok(())
}

/// Names of queues; not all when there are many.
fn listed(ports: &[Port]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = ports.iter().take(SHOWN).map(|port| port.name.as_str()).collect();
    match ports.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
