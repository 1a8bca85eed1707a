//! From the resolved network to a simulation that is ready to run.

use super::clients::{Clients, Plan};
use super::net::{Audit, Hashes, Hop, Losses, Net, Next, PortRef};
use super::probes::SelfProbes;
use super::tcp::{Tcp, TcpCounts};
use super::{report, Echo, Ends, Event, Flow, FlowMeter, Hosts, Options, Simulation};
use crate::engine::{Lane, Wheel};
use crate::packet::Slab;
use crate::port::{
    Approach, Bucket, Device, Dropped, Follows, HitBook, Line, LineQueue, Medium, Port, Probe, Record, Station,
};
use crate::wlan::{Airtime, Cell, Station as Interface};
use sojourn_aqm::{Channel, ChannelCounts, Config, Ecn, Random, Reads, Server, Traced};
use sojourn_measure::{Histogram, Level, Synchronisation};
use sojourn_random::{fnv1a, Stream};
use sojourn_scenario::{Network, PortKind, Start, Trace, Transport};
use sojourn_traffic::Traffic;
use sojourn_transport::{Receiver, Sender};
use sojourn_units::{Bytes, Instant, Packets, Span, Wire};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A full frame, for choosing the wheel's tick.
const FRAME: Bytes = Bytes::new(1500);

impl Simulation {
    /// A run of `network`, at its start.
    #[must_use]
    pub fn new(network: Arc<Network>, options: Options) -> Self {
        let shift = tick_shift(&network);
        Self::with_tick(network, options, shift)
    }

    /// As [`Simulation::new`], with ticks of 2^`shift` nanoseconds.
    pub(super) fn with_tick(network: Arc<Network>, options: Options, shift: u32) -> Self {
        let Ports { places, ports, lines, mut line_queues, windows_read } = make_ports(&network, &options);
        let (Routes { hops: routes, receivers, ranks }, starts) = lay_routes(&network, &places);
        look_ahead(&network, &places, &lines, &mut line_queues);
        let cells = make_cells(&network, &options, &places);
        let recorder = options.series.map(|interval| report::Recorder::new(interval, &network, &places, &ports));
        let together = network.pooled && ports.iter().filter(|port| port.probe.under_test).count() > 1;
        let count = network.flows.len();
        let apart = network.are_apart();
        let mut simulation = Self {
            end: Instant::ZERO + network.duration,
            net: Net {
                now: Instant::ZERO,
                windows_read,
                wheel: Wheel::new(shift),
                slab: Slab::default(),
                routes,
                lines,
                line_queues,
                ports,
                hashes: Vec::with_capacity(count),
                losses: network.flows.iter().map(|flow| Losses::new(flow.group, network.base_rtt(flow))).collect(),
                synchronisation: vec![Synchronisation::default(); network.groups.len() + 1],
                dropped: Dropped::default(),
                lost: BTreeMap::new(),
                losses_untold: Vec::new(),
                begin: Instant::ZERO + network.warm_up,
                end: Instant::ZERO + network.duration,
                ahead_to: Instant::from_nanos(network.warm_up.nanos().saturating_sub(1)),
                catching_up: false,
                audit: Audit::default(),
                places,
                bus_idle: vec![Instant::ZERO; network.buses.len()],
                cells,
                receivers,
                ranks,
                backoff: Stream::new(options.seed, options.replication, "buses/backoff"),
                total: together.then(|| (Level::new(), Level::new())),
            },
            hosts: Hosts {
                flows: Vec::with_capacity(count),
                ends: Vec::with_capacity(count),
                before: vec![TcpCounts::default(); count],
                delays: vec![Histogram::default(); if apart { count } else { network.groups.len() }],
                paused: BTreeMap::new(),
                clients: Clients::default(),
                probes: BTreeMap::new(),
            },
            recorder,
            phases: report::PhaseBook::new(&network),
            payload_before: 0,
            network: Arc::clone(&network),
            options,
        };
        // Before the flows: what starts with the measurement is measured.
        simulation.net.wheel.push(Instant::ZERO + network.warm_up, Event::Measure);
        // Before the changes: what happens with them is of the phase that they begin.
        for (number, (at, _)) in network.phases.begins.iter().enumerate() {
            simulation.net.wheel.push(*at, Event::Phase(number as u32));
        }
        for (index, change) in network.changes.iter().enumerate() {
            simulation.net.wheel.push(change.at, Event::Change(index as u32));
        }
        let mut shared = Default::default();
        for (index, flow) in network.flows.iter().enumerate() {
            simulation.add_flow(index as u32, flow, starts[index], &mut shared);
        }
        if let Some(series) = simulation.options.series {
            simulation.net.wheel.push(Instant::ZERO + series, Event::Sample);
        }
        simulation.open_traces();
        simulation
    }

    /// `shared` are the configurations of the last sender and receiver, which flows of one kind have in common.
    fn add_flow(
        &mut self,
        index: u32,
        flow: &sojourn_scenario::Flow,
        (route, ack_route): (u32, u32),
        shared: &mut (Arc<sojourn_transport::Config>, Arc<sojourn_transport::ReceiverConfig>),
    ) {
        let (seed, replication) = (self.options.seed, self.options.replication);
        let node = |n: usize| self.network.nodes.get(n).map_or("", String::as_str);
        let hash = |text: &str| fnv1a(text.bytes()) as u32;
        let own_hash = hash(&format!("{} {} {}", node(flow.from), node(flow.to), flow.name));
        let (way, ack_way) = (self.net.way(route), self.net.way(ack_route));
        let (mut tcp, mut header, mut echo) = (None, 0, None);
        let listener = match &flow.traffic {
            Traffic::Heard(_, listener) => Some(Box::new(listener.clone())),
            _ => None,
        };
        let (transfer, source) = match &flow.traffic {
            Traffic::Bulk { .. } => (u64::MAX, None),
            Traffic::Transfer { size } => (size.get(), None),
            Traffic::Packets(source) | Traffic::Heard(source, _) => (u64::MAX, Some(source.clone())),
            Traffic::Client(_) => (u64::MAX, None),
        };
        match &*flow.transport {
            Transport::Tcp { sender, receiver } => {
                let mut random = Stream::new(seed, replication, &format!("flows/{}/congestion_control", flow.name));
                if (&*shared.0, &*shared.1) != (sender, receiver) {
                    *shared = (Arc::new(*sender), Arc::new(*receiver));
                }
                if let Traffic::Client(client) = &flow.traffic {
                    let is_first = flow.index.is_multiple_of(client.connections().max(1) as usize);
                    let stream = || Stream::new(seed, replication, &format!("flows/{}/traffic", flow.name));
                    self.hosts.clients.add(Plan {
                        flow: index,
                        group: flow.group,
                        ways: (way, ack_way),
                        sender: Arc::clone(&shared.0),
                        receiver: Arc::clone(&shared.1),
                        seeds: random,
                        hash: own_hash,
                        user: is_first.then(|| (client.clone(), stream(), flow.stop)),
                    });
                } else {
                    let mut endpoint = Sender::seeded(Arc::clone(&shared.0), random.next_u64());
                    if self.net.windows_read {
                        endpoint.give_hints();
                    }
                    tcp = Some(Box::new(Tcp {
                        sender: endpoint,
                        receiver: Receiver::new(Arc::clone(&shared.1)),
                        unstamped: !sender.timestamps,
                        way,
                        ack_way,
                        unwritten: 0,
                        transfer,
                        stays_open: false,
                        mark: 1,
                        retransmit_at: Instant::NEVER,
                        pace_at: Instant::NEVER,
                        acknowledge_at: Instant::NEVER,
                    }));
                }
            }
            Transport::Udp { header: bytes, echo: returns } => {
                header = bytes.get() as u32;
                echo = returns.then(|| Box::new(Echo::new(ack_way)));
            }
        }
        let place = if self.network.are_apart() { index as usize } else { flow.group };
        let meter = FlowMeter { place: place as u32, ..FlowMeter::default() };
        self.hosts.ends.push(Ends { tcp, meter });
        self.net.hashes.push(Hashes {
            flow: own_hash,
            source: hash(node(flow.from)),
            destination: hash(node(flow.to)),
            dscp: flow.dscp.get(),
        });
        self.hosts.flows.push(Flow {
            way,
            header,
            ecn: Ecn::NotEct,
            stop: flow.stop,
            source,
            echo,
            listener,
            emitted: 0,
            next_bytes: 0,
            begun: false,
            random: Stream::new(seed, replication, &format!("flows/{}/traffic", flow.name)),
        });
        let start = match flow.start {
            Start::At(at) => at,
            Start::Uniform(from, to) => {
                let mut random = Stream::new(seed, replication, &format!("flows/{}/start", flow.name));
                from + (to - from).scaled(random.uniform())
            }
        };
        self.net.wheel.push(start, Event::Start(index));
        if let (Traffic::Bulk { after, first, self_probes }, Some(tcp)) =
            (&flow.traffic, &mut self.hosts.ends[index as usize].tcp)
        {
            if !self_probes.is_zero() {
                let way_back = self.network.propagation(&flow.ack_route);
                self.hosts.probes.insert(index, Box::new(SelfProbes::new(*self_probes, way_back)));
                self.net.wheel.push(start + *after + *self_probes, Event::Probe(index));
            }
            if !after.is_zero() {
                tcp.sender.hold(*first);
                self.net.wheel.push(start + *after, Event::Emit(index));
            }
        }
    }
}

/// Where all packets of a port come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Unknown,
    Hosts,
    /// This one port.
    Port(usize),
    Several,
}

/// All routes one after another, each with its end; of each entry what [`Net`] has of it.
#[derive(Default)]
struct Routes {
    hops: Vec<Hop>,
    receivers: Vec<u32>,
    ranks: Vec<u32>,
}

/// All routes, and where each flow's two begin.
fn lay_routes(network: &Network, places: &[PortRef]) -> (Routes, Vec<(u32, u32)>) {
    let all = || network.flows.iter().flat_map(|flow| [&flow.route, &flow.ack_route]);
    let changing = network.changing();
    let mut before = vec![Before::Unknown; network.ports.len()];
    for route in all() {
        let mut last = Before::Hosts;
        for port in route {
            let known = &mut before[*port];
            *known = match *known {
                Before::Unknown => last,
                same if same == last => last,
                _ => Before::Several,
            };
            // Where the delay changes, packets may overtake others.
            let is_constant = !changing[*port].delay && !reorders(&network.ports[*port]);
            last = if is_constant { Before::Port(*port) } else { Before::Several };
        }
    }
    let members = members(network);
    let mut routes = Routes::default();
    let mut lay = |ports: &[usize], end: usize| {
        let Routes { hops, receivers, ranks } = &mut routes;
        let start = hops.len() as u32;
        ranks.extend(ports.iter().map(|port| *port as u32).chain([u32::MAX]));
        hops.extend(ports.iter().map(|port| match places[*port] {
            PortRef::Port(index) => Hop::new(Next::Port(index)),
            PortRef::Line(index) if before[*port] == Before::Several => Hop::new(Next::Line(index)),
            PortRef::Line(index) if Some(port) == ports.last() => Hop::new(Next::Last(index)),
            PortRef::Line(index) => Hop::new(Next::Fused(index)),
        }));
        hops.push(Hop::new(Next::End));
        if !members.is_empty() {
            let mut next = ports.iter().skip(1).map(|port| network.ports[*port].node()).chain([end]);
            let receiver = |port: &usize| match (network.ports[*port].kind, next.next()) {
                (PortKind::Cell { cell, .. }, Some(node)) => members.get(&(cell, node)).copied().unwrap_or_default(),
                _ => 0,
            };
            receivers.extend(ports.iter().map(receiver));
            receivers.push(0);
        }
        start
    };
    let both = |flow: &sojourn_scenario::Flow| (lay(&flow.route, flow.to), lay(&flow.ack_route, flow.from));
    let starts = network.flows.iter().map(both).collect();
    (routes, starts)
}

/// How far ahead each line knows what arrives, where all of it comes from hosts over one line each: the least time from there. Not
/// at all where several packets may leave a link at one instant.
fn look_ahead(network: &Network, places: &[PortRef], lines: &[Line], queues: &mut [LineQueue]) {
    // What leaves together is answered together, by hosts whose answers then come together, too.
    let sends_several =
        |port: &sojourn_scenario::Port| port.trace.is_some() || port.burst.is_some() || port.impairments.is_some();
    if !network.cells.is_empty() || network.ports.iter().any(sends_several) {
        return;
    }
    let mut least = vec![Span::MAX; lines.len()];
    for flow in &network.flows {
        let header = match &*flow.transport {
            Transport::Tcp { sender, .. } if sender.timestamps => sojourn_transport::segment::DATA_HEADER.get(),
            Transport::Tcp { .. } => {
                let saved = sojourn_transport::segment::unstamped_saves(false);
                sojourn_transport::segment::DATA_HEADER.get() - u64::from(saved)
            }
            Transport::Udp { header, .. } => header.get(),
        };
        for route in [&flow.route, &flow.ack_route] {
            for (place, port) in route.iter().enumerate() {
                let PortRef::Line(line) = places[*port] else { continue };
                let from_host = match place.checked_sub(1).map(|before| places[route[before]]) {
                    Some(PortRef::Line(first)) if place == 1 => lines[first as usize].least(header),
                    _ => Span::ZERO,
                };
                let known = &mut least[line as usize];
                *known = from_host.min(*known);
            }
        }
    }
    for (ahead, queue) in least.into_iter().zip(queues) {
        if !ahead.is_zero() && ahead != Span::MAX {
            // Of two hosts whose packets arrive at one instant after the least time, the one that sends first comes first.
            queue.approach = Some(Box::new(Approach::new(ahead + Span::from_nanos(1))));
        }
    }
}

/// The number of each node within each of its cells, in the order of ports: the access point is 0.
fn members(network: &Network) -> BTreeMap<(usize, usize), u32> {
    let mut count = vec![0; network.cells.len()];
    let mut members = BTreeMap::new();
    for port in &network.ports {
        if let PortKind::Cell { cell, station, .. } = port.kind {
            // An access point may have several ports.
            members.entry((cell, station)).or_insert_with(|| {
                count[cell] += 1;
                count[cell] - 1
            });
        }
    }
    members
}

fn make_cells(network: &Network, options: &Options, places: &[PortRef]) -> Vec<Cell> {
    let mut stations = vec![(Vec::new(), Vec::new()); network.cells.len()];
    for (number, (port, place)) in network.ports.iter().zip(places).enumerate() {
        if let (PortKind::Cell { cell, rate, station, access_point }, PortRef::Port(index)) = (port.kind, *place) {
            let (interfaces, towards) = &mut stations[cell];
            if station == access_point {
                towards.push(index);
            }
            if station != access_point || towards.len() == 1 {
                interfaces.push(Interface::new(number, index, rate, &network.cells[cell]));
            }
        }
    }
    let cell = |(spec, (stations, towards)): (&sojourn_scenario::Cell, (_, Vec<u32>))| {
        let airtime = spec.airtime_fairness.then(|| Airtime::new(&towards));
        Cell::new(spec, stations, airtime, options.seed, options.replication)
    };
    network.cells.iter().zip(stations).map(cell).collect()
}

/// The time of two frames on the fastest link, as a power of two: few events share a tick, and few ticks are empty. Narrower
/// ticks have the wheel touch more memory.
fn tick_shift(network: &Network) -> u32 {
    let links = network.ports.iter().filter_map(|port| match port.kind {
        PortKind::Link { rate, .. } => Some(rate),
        PortKind::Cell { rate, .. } => Some(rate),
        PortKind::Bus { .. } => None,
    });
    let fastest = links.chain(network.buses.iter().map(|bus| bus.rate)).max().unwrap_or_default();
    let two = fastest.time_for(FRAME).nanos() * 2;
    two.clamp(1 << 8, 1 << 20).ilog2()
}

/// The limit of a plain `pfifo` that takes packets; `None` for any other scheme.
fn pfifo_limit(config: &Config) -> Option<u32> {
    if config.name() != "pfifo" {
        return None;
    }
    let limit = config.params().into_iter().find(|param| param.name == "limit")?;
    let packets = Packets::from_tc(&limit.value).ok()?.get();
    // Even a packet that need not wait is dropped at a limit of none, which a line does not look at.
    (packets > 0).then(|| packets.min(u64::from(u32::MAX)) as u32)
}

/// Packets may overtake each other on the link behind the port.
fn reorders(port: &sojourn_scenario::Port) -> bool {
    port.impairments.as_ref().is_some_and(|impairments| impairments.reorders())
}

/// The network's ports.
struct Ports {
    places: Vec<PortRef>,
    ports: Vec<Port>,
    lines: Vec<Line>,
    line_queues: Vec<LineQueue>,
    /// A scheme reads congestion windows, or will.
    windows_read: bool,
}

/// What a link does to packets besides carrying them, if anything.
fn make_channel(
    port: &sojourn_scenario::Port,
    delay: Span,
    loss: bool,
    options: &Options,
) -> Option<Box<Channel<Stream>>> {
    let mut impairments = port.impairments.as_deref().copied().unwrap_or_default();
    if loss {
        impairments.loss.get_or_insert_default();
    }
    if impairments.is_none() && port.framing.is_none() {
        return None;
    }
    let stream = |what| Stream::new(options.seed, options.replication, &format!("{what}/{}", port.name));
    Some(Box::new(Channel::new(delay, &impairments, stream)))
}

fn make_ports(network: &Network, options: &Options) -> Ports {
    let changing = network.changing();
    let tested = network.ports.iter().filter(|port| port.under_test).count();
    let members = members(network);
    let routes = network.flows.iter().flat_map(|flow| [&flow.route, &flow.ack_route]);
    let passed: BTreeSet<usize> = routes.flat_map(|route| route.iter().skip(1).copied()).collect();
    let (mut places, mut ports) = (Vec::with_capacity(network.ports.len()), Vec::new());
    let (mut lines, mut line_queues) = (Vec::new(), Vec::new());
    let mut windows_read = false;
    for (index, port) in network.ports.iter().enumerate() {
        let config = match &options.scheme {
            Some(scheme) if port.under_test => scheme,
            _ => &*port.queue,
        };
        let (medium, rate, delay, overhead) = match port.kind {
            PortKind::Link { rate, delay, overhead, .. } if port.trace.is_some() => {
                (Medium::Trace, rate, delay, overhead)
            }
            PortKind::Link { rate, delay, overhead, .. } if port.burst.is_some() => {
                (Medium::Shaped, rate, delay, overhead)
            }
            PortKind::Link { rate, delay, overhead, .. } => (Medium::Link, rate, delay, overhead),
            PortKind::Bus { bus, .. } => {
                let channel = &network.buses[bus];
                let medium = Medium::Bus { bus: bus as u32, station: Station::Idle };
                (medium, channel.rate, channel.delay, channel.overhead)
            }
            PortKind::Cell { cell, rate, station, .. } => {
                let station = members[&(cell, station)];
                (Medium::Cell { cell: cell as u32, station }, rate, network.cells[cell].delay, Bytes::ZERO)
            }
        };
        let wire = Wire::new(rate, overhead);
        let record = network.windows.filter(|_| port.under_test);
        let record = record.map(|every| Record::new(every, rate, wire.overhead(), port.framing));
        let changing = changing[index];
        let stays = port.impairments.is_none() && port.framing.is_none() && !changing.any;
        let plain = !port.under_test
            && !options.traces(index)
            && stays
            && port.device_queue.is_none()
            && matches!(medium, Medium::Link);
        if let Some(limit) = pfifo_limit(config).filter(|_| plain) {
            places.push(PortRef::Line(lines.len() as u32));
            lines.push(Line::new(wire, delay));
            line_queues.push(LineQueue::new(limit));
            continue;
        }
        places.push(PortRef::Port(ports.len() as u32));
        let random = Stream::new(options.seed, options.replication, &format!("queues/{}", port.name));
        let channel = make_channel(port, delay, changing.loss, options);
        let follows = |trace: &Trace| {
            let name = format!("rates/{}", port.name);
            let rates = trace.rates(network.duration, options.seed, options.replication, &name);
            Box::new(Follows { trace: Traced::new(rates, trace.window), sending: false, before: [0.0; 2] })
        };
        let device = port.device_queue.map(|limit| Device { limit: limit.get() as usize, handles: VecDeque::new() });
        ports.push(Port {
            busy_until: Instant::ZERO,
            delay,
            unasked: false,
            waking: false,
            lazy: false,
            pending: Lane::default(),
            wake_at: Instant::NEVER,
            eager: port.under_test && tested > 1,
            server: Server::new(config, wire, random),
            channel,
            channel_before: ChannelCounts::default(),
            framing: port.framing,
            probe: Probe::new(port.under_test, record),
            medium,
            follows: port.trace.as_deref().map(follows),
            bucket: port.burst.map(|size| Bucket::new(size.get(), rate.time_for(size))),
            saved_before: Span::ZERO,
            is_passed: passed.contains(&index),
            device,
            abandoned: 0,
            switched: Vec::new(),
        });
        if let Some(port) = ports.last_mut() {
            port.set_delay(delay);
            if port.framing.is_some() {
                port.probe.watch();
            }
            windows_read |= port.follow(config);
            // What waits when a scheme takes over must have all that it reads.
            let later = read_later(network, index, config);
            windows_read |= later.window;
            if later.any() {
                port.probe.watch();
            }
            if config.name() == "daqm" {
                port.probe.hits = Some(HitBook { since: Some([0; 2]), counted: [0; 2] });
            }
            port.lazy = port.may_be_lazy();
            port.probe.derive_system(port.lazy);
        }
    }
    lines.shrink_to_fit();
    line_queues.shrink_to_fit();
    Ports { places, ports, lines, line_queues, windows_read }
}

/// What the schemes read that the network's port number `number` changes to during the run.
fn read_later(network: &Network, number: usize, first: &Config) -> Reads {
    let changes = network.changes.iter().filter(|change| change.ports.contains(&number));
    let mut present = first.clone();
    let mut all = Reads::NONE;
    for change in changes {
        if let Some(scheme) = &change.scheme {
            present = scheme.clone();
        }
        if let Some(changed) = change.parameters.as_ref().and_then(|parameters| present.with(parameters).ok()) {
            present = changed;
        }
        let Reads { ack, window } = present.reads();
        all = Reads { ack: all.ack | ack, window: all.window | window };
    }
    all
}
