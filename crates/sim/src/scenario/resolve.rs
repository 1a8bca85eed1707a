//! From a document to a network: names become indices, groups their members, and what is impossible is refused.

mod flows;
pub(super) mod names;
pub(crate) mod traffic;

use super::bounds::{self, up_to, MOST};
use super::document::{BusTable, ChangeTable, Document, LinkTable, PortTable};
use super::network::{Bus, Cell, Change, Network, Port, PortKind};
pub(super) use names::slips;
use names::Names;
use sojourn_aqm::{Config, Loss};
use sojourn_document::{did_you_mean, Error, Path};
use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

impl Document {
    /// The network that this document describes.
    ///
    /// # Errors
    /// Contradictions, names that do not exist, values that cannot be. The error names the key; where the document
    /// came from [`load`](super::load), all this has been checked and the error named the line as well.
    pub fn resolve(&self) -> Result<Network, Error> {
        self.check()?;
        let names = Names::of(self)?;
        let Channels { ports, buses, cells } = self.ports(&names)?;
        let flows = self.flows(&names, &ports)?;
        let changes = self.changes(&ports)?;
        let network = Network {
            name: self.name.clone(),
            duration: self.duration.0,
            warm_up: self.warm_up.0,
            nodes: names.nodes,
            buses,
            cells,
            ports,
            groups: self.flows.iter().map(|flow| flow.name.clone()).collect(),
            flows,
            changes,
            flow_series: self.series.is_some_and(|series| series.flows),
            internal_series: self.series.is_some_and(|series| series.internals),
            windows: self.windows.map(|packets| packets.0.get()),
        };
        network.check_tables(None).map_err(|what| Error::new(Path::default(), what))?;
        if let Some(series) = &self.series {
            let refused = |what| Error::new(["series".into(), "interval".into()].into(), what);
            network.check_series(series.interval.0).map_err(refused)?;
        }
        Ok(network)
    }

    fn changes(&self, ports: &[Port]) -> Result<Vec<Change>, Error> {
        let one = |(i, table): (usize, &ChangeTable)| {
            let path = Path::from(["changes".into(), i.into()]);
            if table.at.0 >= self.duration.0 {
                let what = format!(
                    "is {}, the end of the run or later; allowed: less than `duration`, {}",
                    table.at.0, self.duration.0
                );
                return Err(Error::new(path.then("at"), what));
            }
            let is_meant = |port: &Port| table.queue.as_ref().map_or(port.under_test, |name| *name == port.name);
            let chosen: Vec<usize> = (0..ports.len()).filter(|index| is_meant(&ports[*index])).collect();
            match (&table.queue, chosen.is_empty()) {
                (_, false) => {}
                (Some(name), true) => {
                    let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
                    let hint = did_you_mean(name, &names);
                    let what = format!("is \"{name}\", and no queue has that name{hint}; allowed: {}", listed(ports));
                    return Err(Error::new(path.then("queue"), what));
                }
                (None, true) => {
                    let what = format!("is missing, and no queue is under test; allowed: {}", listed(ports));
                    return Err(Error::new(path.then("queue"), what));
                }
            }
            let link = |key: &'static str| {
                let other = chosen.iter().map(|index| &ports[*index]).find(|port| !port.is_link());
                other.map_or(Ok(()), |port| {
                    let what = format!("changes {}, which is no queue of a link; allowed: queues of links", port.name);
                    Err(Error::new(path.then(key), what))
                })
            };
            if let Some(rate) = table.rate {
                moving(rate.0, path.then("rate"))?;
                link("rate")?;
            }
            if let Some(delay) = table.delay {
                up_to(delay.0, &bounds::DELAY, || path.then("delay"))?;
                link("delay")?;
            }
            if table.loss.is_some() {
                link("loss")?;
            }
            if table.scheme.is_none() && table.rate.is_none() && table.delay.is_none() && table.loss.is_none() {
                let what = "changes nothing; allowed: at least one of `scheme`, `rate`, `delay` and `loss`";
                return Err(Error::new(path, what));
            }
            let times = match table.every {
                None => 1,
                Some(every) => {
                    positive(every.0, path.then("every"))?;
                    self.duration.0.saturating_sub(table.at.0).nanos().div_ceil(every.0.nanos())
                }
            };
            if times > bounds::CHANGES.most {
                let what = format!("makes {times} changes; allowed: up to {}", bounds::CHANGES.most);
                return Err(Error::new(path.then("every"), what));
            }
            let change = Change {
                at: Instant::ZERO + table.at.0,
                ports: chosen,
                scheme: table.scheme.as_ref().map(|scheme| scheme.0.clone()),
                rate: table.rate.map(|rate| rate.0),
                delay: table.delay.map(|delay| delay.0),
                loss: table.loss.map(|loss| loss.0),
            };
            let every = table.every.unwrap_or_default().0;
            Ok((0..times).map(move |time| Change { at: change.at + every * time, ..change.clone() }))
        };
        let all = self.changes.iter().enumerate().map(one).collect::<Result<Vec<_>, Error>>()?;
        Ok(all.into_iter().flatten().collect())
    }

    fn check(&self) -> Result<(), Error> {
        if self.name.trim().is_empty() {
            return Err(Error::new("name".into(), "is empty; allowed: any text"));
        }
        positive(self.duration.0, "duration".into())?;
        up_to(self.duration.0, &bounds::TIME, || "duration".into())?;
        if self.warm_up.0 >= self.duration.0 {
            let what = format!(
                "is {}, not shorter than the run; allowed: less than `duration`, {}",
                self.warm_up.0, self.duration.0
            );
            return Err(Error::new("warm_up".into(), what));
        }
        if self.replications == 0 {
            return Err(Error::new("replications".into(), "is 0; allowed: 1 or more"));
        }
        up_to(self.replications, &bounds::REPLICATIONS, || "replications".into())?;
        if self.windows.is_some_and(|packets| packets.0.get() == 0) {
            return Err(Error::new("windows".into(), "is 0 p; allowed: 1 p or more"));
        }
        up_to(self.windows.unwrap_or_default().0, &bounds::PACKETS, || "windows".into())?;
        if self.flows.is_empty() {
            return Err(Error::new(
                "flows".into(),
                "has no flow; allowed: at least one, as in [[flows]] name = \"bulk\" from = \"a\" to = \"b\"",
            ));
        }
        let links = self.links.iter().enumerate().map(|(i, link)| (Path::from(["links".into(), i.into()]), &link.name));
        let buses = self.buses.iter().enumerate().map(|(i, bus)| (Path::from(["buses".into(), i.into()]), &bus.name));
        let cells = self.cells.iter().enumerate().map(|(i, cell)| (Path::from(["cells".into(), i.into()]), &cell.name));
        unique(links.chain(buses).chain(cells))?;
        unique(self.flows.iter().enumerate().map(|(i, flow)| (Path::from(["flows".into(), i.into()]), &flow.name)))
    }

    fn ports(&self, names: &Names) -> Result<Channels, Error> {
        let mut ports = Vec::new();
        let mut linked = BTreeMap::new();
        for (i, link) in self.links.iter().enumerate() {
            let path = Path::from(["links".into(), i.into()]);
            moving(link.rate.0, path.then("rate"))?;
            channel(link.delay.0, link.overhead.0, link.device_queue.0, &path)?;
            if let Some(rate) = link.reverse_rate {
                moving(rate.0, path.then("reverse_rate"))?;
            }
            up_to(link.reverse_delay.unwrap_or_default().0, &bounds::DELAY, || path.then("reverse_delay"))?;
            let there = Channel { rate: link.rate.0, delay: link.delay.0, loss: link.loss.map(|loss| loss.0) };
            let back = Channel {
                rate: link.reverse_rate.unwrap_or(link.rate).0,
                delay: link.reverse_delay.unwrap_or(link.delay).0,
                loss: link.reverse_loss.map(|loss| loss.0),
            };
            let queues = [&link.queue, &link.reverse_queue].map(|queue| Arc::new(queue.0.clone()));
            for (from, to) in pairs(link, names, &path)? {
                if from == to {
                    return Err(Error::new(
                        path.then("to"),
                        format!("is {}, which is `from` too; allowed: another node", names.nodes[from]),
                    ));
                }
                if let Some(other) = linked.insert((from.min(to), from.max(to)), i) {
                    let what = format!(
                        "links {} and {}, which `links[{other}]` links already; allowed: one link between two nodes",
                        names.nodes[from], names.nodes[to]
                    );
                    return Err(Error::new(path.then("to"), what));
                }
                ports.push(link_port(link, names, (from, to), there, &queues[0], link.under_test));
                ports.push(link_port(link, names, (to, from), back, &queues[1], link.reverse_under_test));
            }
        }
        let mut buses = Vec::new();
        for (i, bus) in self.buses.iter().enumerate() {
            let path = Path::from(["buses".into(), i.into()]);
            moving(bus.rate.0, path.then("rate"))?;
            channel(bus.delay.0, bus.overhead.0, bus.device_queue.0, &path)?;
            let own = own_ports(bus, names, &path.then("ports"))?;
            let stations = stations(bus, i, &own, names, &path.then("stations"))?;
            if let Some((node, (port, _))) = own.iter().find(|(node, _)| stations.iter().all(|p| p.node() != **node)) {
                let what =
                    format!("is {}, which is not a station of the bus; allowed: one of `stations`", names.nodes[*node]);
                return Err(Error::new(port.then("name"), what));
            }
            ports.extend(stations);
            buses.push(Bus { name: bus.name.clone(), rate: bus.rate.0, delay: bus.delay.0, overhead: bus.overhead.0 });
        }
        let mut cells = Vec::new();
        for (i, table) in self.cells.iter().enumerate() {
            let (cell, interfaces) = table.resolve(i, names, &Path::from(["cells".into(), i.into()]))?;
            cells.push(cell);
            ports.extend(interfaces);
        }
        ports.shrink_to_fit();
        Ok(Channels { ports, buses, cells })
    }
}

/// What connects the nodes.
struct Channels {
    ports: Vec<Port>,
    buses: Vec<Bus>,
    cells: Vec<Cell>,
}

/// The nodes that a link table links.
fn pairs(link: &LinkTable, names: &Names, path: &Path) -> Result<Vec<(usize, usize)>, Error> {
    let from = names.find(&link.from, path.then("from"))?;
    let to = names.find(&link.to, path.then("to"))?;
    match (from.len(), to.len()) {
        (_, 1) => Ok(from.map(|node| (node, to.start)).collect()),
        (1, _) => Ok(to.map(|node| (from.start, node)).collect()),
        (a, b) if a == b => Ok(from.zip(to).collect()),
        (a, b) => {
            let what = format!(
                "is a group of {b} nodes, but `from` is a group of {a}; allowed: one node, or a group of {a} nodes"
            );
            Err(Error::new(path.then("to"), what))
        }
    }
}

/// What is different in the two directions of a link.
#[derive(Clone, Copy)]
struct Channel {
    rate: BitRate,
    delay: Span,
    loss: Option<Loss>,
}

/// One direction of a link.
fn link_port(
    link: &LinkTable,
    names: &Names,
    (from, to): (usize, usize),
    Channel { rate, delay, loss }: Channel,
    queue: &Arc<Config>,
    under_test: bool,
) -> Port {
    Port {
        name: format!("{}->{}", names.nodes[from], names.nodes[to]),
        kind: PortKind::Link { rate, delay, overhead: link.overhead.0, from, to },
        queue: Arc::clone(queue),
        under_test,
        loss,
        device_queue: device(link.device_queue.0),
    }
}

/// The stations of a bus with a queue of their own.
fn own_ports<'a>(bus: &'a BusTable, names: &Names, path: &Path) -> Result<OwnPorts<'a>, Error> {
    let mut found = BTreeMap::new();
    for (k, port) in bus.ports.iter().enumerate() {
        let own = path.then(k);
        for node in names.find(&port.name, own.then("name"))? {
            if found.insert(node, (own.clone(), port)).is_some() {
                let what = format!("names node {} twice; allowed: each node once", names.nodes[node]);
                return Err(Error::new(own.then("name"), what));
            }
        }
    }
    Ok(found)
}

fn stations(bus: &BusTable, index: usize, own: &OwnPorts<'_>, names: &Names, path: &Path) -> Result<Vec<Port>, Error> {
    let mut seen = BTreeSet::new();
    let mut ports = Vec::new();
    for (k, name) in bus.stations.iter().enumerate() {
        for station in names.find(name, path.then(k))? {
            if !seen.insert(station) {
                return Err(Error::new(
                    path.then(k),
                    format!("names node {} twice; allowed: each node once", names.nodes[station]),
                ));
            }
            let (queue, under_test) =
                own.get(&station).map_or((&bus.queue, bus.under_test), |(_, port)| (&port.queue, port.under_test));
            ports.push(Port {
                name: format!("{}:{}", bus.name, names.nodes[station]),
                kind: PortKind::Bus { bus: index, station },
                queue: Arc::new(queue.0.clone()),
                under_test,
                loss: None,
                device_queue: device(bus.device_queue.0),
            });
        }
    }
    if ports.len() < 2 {
        return Err(Error::new(
            path.clone(),
            format!("has {} nodes; allowed: at least two nodes, or a group of them", ports.len()),
        ));
    }
    Ok(ports)
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

fn device(packets: Packets) -> Option<Packets> {
    (packets > Packets::ZERO).then_some(packets)
}

/// Names are plain, and none is used twice.
fn unique<'a>(names: impl Iterator<Item = (Path, &'a String)>) -> Result<(), Error> {
    let mut seen = BTreeMap::new();
    for (path, name) in names {
        names::plain(name, path.then("name"))?;
        if let Some(other) = seen.insert(name, path.clone()) {
            let what = format!("is \"{name}\", which is the name of `{other}` too; allowed: a name that is not in use");
            return Err(Error::new(path.then("name"), what));
        }
    }
    Ok(())
}

fn positive(span: Span, path: Path) -> Result<(), Error> {
    if span.is_zero() {
        return Err(Error::new(path, "is 0; allowed: a time above 0, as in \"5 ms\""));
    }
    Ok(())
}

pub(crate) fn moving(rate: BitRate, path: Path) -> Result<(), Error> {
    if rate.is_zero() {
        return Err(Error::new(path, "is 0; allowed: a rate above 0, as in \"10 Mbit/s\""));
    }
    up_to(rate, &bounds::RATE, || path)
}

/// What links and buses share.
fn channel(delay: Span, overhead: Bytes, device_queue: Packets, path: &Path) -> Result<(), Error> {
    up_to(delay, &bounds::DELAY, || path.then("delay"))?;
    up_to(overhead, &bounds::FRAMING, || path.then("overhead"))?;
    up_to(device_queue, &bounds::PACKETS, || path.then("device_queue"))
}

/// By node: its table, and where that stands.
type OwnPorts<'a> = BTreeMap<usize, (Path, &'a PortTable)>;

/// The nodes of a name: one, or the members of a group, which are consecutive.
type Nodes = Range<usize>;
