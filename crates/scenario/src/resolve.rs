//! From a document to a network: names become indices, groups their members, and what is impossible is refused.

mod changes;
mod flows;
mod mentions;

use super::document::{BusTable, Document, PortTable};
use super::link::{device, LinkTable};
use super::network::{Bus, Cell, Network, Port, PortKind};
use crate::names::{self, shown, Names};
pub(super) use mentions::slips;
use sojourn_document::bounds::{self, positive, positive_rate, up_to, MOST};
use sojourn_document::{Error, Path};
use sojourn_units::{Bytes, Packets, Span};
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
        let names = mentions::names(self)?;
        let Channels { ports, links, buses, cells } = self.ports(&names)?;
        let flows = self.flows(&names, &ports)?;
        let changes = self.changes(&changes::Targets { ports: &ports, links: &links })?;
        let phases = self.phases()?;
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
            phases,
            flow_series: self.series.is_some_and(|series| series.flows),
            internal_series: self.series.is_some_and(|series| series.internals),
            windows: self.windows.map(|packets| packets.0.get()),
            pooled: self.pooled,
        };
        network.check_tables(None).map_err(|what| Error::new(Path::default(), what))?;
        if let Some(series) = &self.series {
            let refused = |what| Error::new(["series".into(), "interval".into()].into(), what);
            network.check_series(series.interval.0).map_err(refused)?;
        }
        Ok(network)
    }

    fn check(&self) -> Result<(), Error> {
        shown(&self.name, || "name".into())?;
        if let Some(c) = self.description.chars().find(|c| names::acts(*c) && !matches!(c, '\n' | '\r' | '\t')) {
            let what = format!("has the control character U+{:04X}; allowed: text", u32::from(c));
            return Err(Error::new("description".into(), what));
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
        let mut links = Vec::new();
        let mut linked = BTreeMap::new();
        for (i, link) in self.links.iter().enumerate() {
            let path = Path::from(["links".into(), i.into()]);
            let [there, back] = link.directions(self.duration.0, &path)?;
            let first = ports.len();
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
                ports.push(there.port(names, from, to));
                ports.push(back.port(names, to, from));
            }
            links.push(first..ports.len());
        }
        let mut buses = Vec::new();
        for (i, bus) in self.buses.iter().enumerate() {
            let path = Path::from(["buses".into(), i.into()]);
            positive_rate(bus.rate.0, path.then("rate"))?;
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
        Ok(Channels { ports, links, buses, cells })
    }
}

/// What connects the nodes.
struct Channels {
    ports: Vec<Port>,
    /// The ports of each link table.
    links: Vec<Range<usize>>,
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
                impairments: None,
                framing: None,
                trace: None,
                device_queue: device(bus.device_queue.0),
                burst: None,
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

fn channel(delay: Span, overhead: Bytes, device_queue: Packets, path: &Path) -> Result<(), Error> {
    up_to(delay, &bounds::DELAY, || path.then("delay"))?;
    up_to(overhead, &bounds::FRAMING, || path.then("overhead"))?;
    up_to(device_queue, &bounds::PACKETS, || path.then("device_queue"))
}

/// By node: its table, and where that stands.
type OwnPorts<'a> = BTreeMap<usize, (Path, &'a PortTable)>;
