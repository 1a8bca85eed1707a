//! What changes during a run, and the phases that follow from it.

use crate::change::ChangeTable;
use crate::document::Document;
use crate::names::shown;
use crate::network::{check_parameters, Change, Phases, Port, PortKind};
use sojourn_document::bounds::{self, positive, positive_rate, up_to};
use sojourn_document::{did_you_mean, Error, Path};
use sojourn_units::Instant;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

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
        let link = |key: &'static str, is_rate: bool| {
            let mut chosen = ports.iter().map(|index| &targets.ports[*index]);
            let wrong = chosen.find_map(|port| {
                let what = match port.kind {
                    PortKind::Link { .. } if is_rate && port.trace.is_some() => {
                        "whose rate follows a trace; allowed: queues of links with a `rate`"
                    }
                    PortKind::Link { .. } => return None,
                    PortKind::Cell { station, access_point, .. } if is_rate && station != access_point => return None,
                    PortKind::Cell { .. } if is_rate => {
                        "whose frames have the data rates of the stations; allowed: queues of stations and of links"
                    }
                    _ => "which is no queue of a link; allowed: queues of links",
                };
                Some(format!("changes {}, {what}", port.name))
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

/// Names of queues; not all when there are many.
fn listed(ports: &[Port]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = ports.iter().take(SHOWN).map(|port| port.name.as_str()).collect();
    match ports.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
