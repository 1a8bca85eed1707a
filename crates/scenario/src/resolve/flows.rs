//! Flows: pairs, routes, transport, start and stop.

use super::{positive, Document, Error, Path, Port, MOST};
use crate::flow::{FlowTable, StartTable, TcpTable, TrafficTable, TransportTable, UdpTable};
use crate::names::Names;
use crate::network::{Flow, Start, Transport};
use crate::routes::Routes;
use sojourn_document::bounds::{self, up_to, COPIES, HOPS};
use sojourn_document::keys::KeySet;
use sojourn_traffic::{Check, Traffic};
use sojourn_transport::Recovery;
use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};
use std::num::NonZeroU32;
use std::sync::Arc;

/// IPv4, TCP and its timestamps take 52 B of at most 65,535 B.
const MSS_MAX: Bytes = Bytes::new(65_483);

impl Document {
    pub(super) fn flows(&self, names: &Names, ports: &[Port]) -> Result<Vec<Flow>, Error> {
        let mut routes = Routes::new(names.nodes.len(), self.buses.len(), ports, HOPS);
        let (mut flows, mut hops) = (Vec::new(), 0_u64);
        for (group, table) in self.flows.iter().enumerate() {
            let path = Path::from(["flows".into(), group.into()]);
            let from = names.find(&table.from, path.then("from"))?;
            let to = names.find(&table.to, path.then("to"))?;
            let pairs = from.len().max(to.len());
            let count = u64::from(table.count) * pairs as u64;
            if count == 0 || count + flows.len() as u64 > MOST {
                let what = format!(
                    "is {}, which makes {count} flows here; allowed: 1 or more, up to {MOST} flows in all",
                    table.count
                );
                return Err(Error::new(path.then("count"), what));
            }
            let transport = Arc::new(transport(table, &path)?);
            let udp = matches!(*table.transport(), TransportTable::Udp(_));
            let traffic = table.traffic.resolve(&Check { path: &path.then("traffic"), udp })?;
            check_times(table, &path)?;
            let ways = Ways::of(table, names, &path)?;
            let members = (0..pairs).map(|i| {
                let (from, to) = (from.start + i % from.len(), to.start + i % to.len());
                let route = ways.data(&mut routes, names, from, to, &path)?;
                let ack_route = ways.acks(&mut routes, names, to, from, &path)?;
                Ok((from, to, route, ack_route))
            });
            let members: Vec<_> = members.collect::<Result<_, Error>>()?;
            // A client's connections are flows, one after another.
            let each = u64::from(traffic.connections());
            if count * each + flows.len() as u64 > MOST {
                let what = format!(
                    "is {}, which makes {} flows here; allowed: up to {MOST} in all",
                    table.count,
                    count * each
                );
                return Err(Error::new(path.then("count"), what));
            }
            check_client(table, &traffic, &path)?;
            let longest = members.iter().map(|(_, _, route, ack_route)| route.len() + ack_route.len()).max();
            hops = hops.saturating_add((count * each).saturating_mul(longest.unwrap_or(0) as u64));
            if hops > HOPS {
                let what =
                    format!("is {}, which makes up to {hops} hops over all flows; allowed: up to {HOPS}", table.count);
                return Err(Error::new(path.then("count"), what));
            }
            let users = (0..count).zip(members.iter().cycle());
            let all = users
                .flat_map(|(user, member)| (user * each..(user + 1) * each).map(move |index| (user, index, member)));
            for (user, index, (from, to, route, ack_route)) in all {
                let index = index as usize;
                flows.push(Flow {
                    name: format!("{}[{index}]", table.name),
                    group,
                    index,
                    from: *from,
                    to: *to,
                    route: route.clone(),
                    ack_route: ack_route.clone(),
                    transport: Arc::clone(&transport),
                    dscp: table.dscp.unwrap_or_default().0,
                    traffic: traffic.clone(),
                    start: start(&table.start, user),
                    stop: table.stop.map(|stop| Instant::ZERO + stop.0),
                });
            }
        }
        flows.shrink_to_fit();
        check_copies(&flows, ports)?;
        Ok(flows)
    }
}

/// A client opens its connections.
fn check_client(table: &FlowTable, traffic: &Traffic, path: &Path) -> Result<(), Error> {
    match (traffic, &*table.transport()) {
        (Traffic::Client(_), TransportTable::Tcp(TcpTable { tcp, .. })) if !tcp.handshake => {
            let what = "is false, and a client opens its connections; allowed: true";
            Err(Error::new(path.then("transport").then("handshake"), what))
        }
        _ => Ok(()),
    }
}

/// Copies of a packet that its links make are few.
fn check_copies(flows: &[Flow], ports: &[Port]) -> Result<(), Error> {
    let copies: Vec<f64> = ports
        .iter()
        .map(|port| port.impairments.as_ref().and_then(|all| all.duplicate))
        .map(|duplicate| 1.0 + duplicate.map_or(0.0, sojourn_units::Probability::get))
        .collect();
    if copies.iter().all(|copies| *copies <= 1.0) {
        return Ok(());
    }
    for flow in flows {
        let of = |route: &[usize]| route.iter().map(|port| copies[*port]).product::<f64>();
        // A datagram that is returned passes both.
        let all = of(&flow.route) * of(&flow.ack_route);
        if all > COPIES {
            let what =
                format!("sends over links that make {all:.0} of one packet by `duplicate`; allowed: up to {COPIES}");
            return Err(Error::new(Path::from(["flows".into(), flow.group.into()]), what));
        }
    }
    Ok(())
}

fn start(table: &StartTable, index: u64) -> Start {
    match table {
        StartTable::At(at) => Start::At(Instant::ZERO + at.0),
        StartTable::Uniform { uniform: [low, high] } => Start::Uniform(Instant::ZERO + low.0, Instant::ZERO + high.0),
        StartTable::Every { first, every } => Start::At(Instant::ZERO + first.0 + every.0 * index),
    }
}

fn check_times(table: &FlowTable, path: &Path) -> Result<(), Error> {
    let start = path.then("start");
    let times = match table.start {
        StartTable::At(at) => [(at, start), (at, Path::default())],
        StartTable::Uniform { uniform: [low, high] } => {
            [(low, start.then("uniform").then(0)), (high, start.then("uniform").then(1))]
        }
        StartTable::Every { first, every } => [(first, start.then("first")), (every, start.then("every"))],
    };
    for (time, key) in times.into_iter().chain(table.stop.map(|stop| (stop, path.then("stop")))) {
        up_to(time.0, &bounds::TIME, || key)?;
    }
    let first = match table.start {
        StartTable::At(at) => at.0,
        StartTable::Uniform { uniform: [low, high] } => {
            if low > high {
                let what = format!("goes from {} down to {}; allowed: the earlier time first", low.0, high.0);
                return Err(Error::new(path.then("start").then("uniform"), what));
            }
            high.0
        }
        StartTable::Every { first, .. } => first.0,
    };
    if let Some(stop) = table.stop.filter(|stop| stop.0 <= first) {
        let what = format!("is {}, not after the start, {first}; allowed: a later time", stop.0);
        return Err(Error::new(path.then("stop"), what));
    }
    Ok(())
}

/// Nodes to pass, by index.
struct Ways {
    data: Vec<usize>,
    acks: Vec<usize>,
}

impl Ways {
    fn of(table: &FlowTable, names: &Names, path: &Path) -> Result<Self, Error> {
        let nodes = |list: &[String], key: &'static str| -> Result<Vec<usize>, Error> {
            let node = |(k, name): (usize, &String)| {
                let path = path.then(key).then(k);
                let nodes = names.find(name, path.clone())?;
                if nodes.len() > 1 {
                    return Err(Error::new(path, format!("is the group \"{name}\"; allowed: a node")));
                }
                Ok(nodes.start)
            };
            list.iter().enumerate().map(node).collect()
        };
        let data = nodes(&table.route, "route")?;
        let acks = match &table.ack_route {
            Some(list) => nodes(list, "ack_route")?,
            None => data.iter().rev().copied().collect(),
        };
        Ok(Self { data, acks })
    }

    fn data(
        &self,
        routes: &mut Routes<'_>,
        names: &Names,
        from: usize,
        to: usize,
        path: &Path,
    ) -> Result<Vec<usize>, Error> {
        if from == to {
            let what = format!("is {}, which is `from` too; allowed: another node", names.nodes[to]);
            return Err(Error::new(path.then("to"), what));
        }
        way(routes, names, from, &self.data, to, path.then("to"))
    }

    fn acks(
        &self,
        routes: &mut Routes<'_>,
        names: &Names,
        from: usize,
        to: usize,
        path: &Path,
    ) -> Result<Vec<usize>, Error> {
        way(routes, names, from, &self.acks, to, path.then("to"))
    }
}

fn way(
    routes: &mut Routes<'_>,
    names: &Names,
    from: usize,
    through: &[usize],
    to: usize,
    path: Path,
) -> Result<Vec<usize>, Error> {
    let mut route = Vec::new();
    let mut at = from;
    for &next in through.iter().chain([&to]) {
        if !routes.extend(&mut route, at, next) {
            if routes.is_full() {
                let what = format!("is one destination too many; allowed: nodes times destinations up to {HOPS}");
                return Err(Error::new(path, what));
            }
            let what = format!(
                "cannot be reached: no path from {} to {}{}; allowed: nodes that links, buses and cells connect",
                names.nodes[at],
                names.nodes[next],
                names.hint()
            );
            return Err(Error::new(path, what));
        }
        at = next;
    }
    Ok(route)
}

fn transport(table: &FlowTable, path: &Path) -> Result<Transport, Error> {
    let path = path.then("transport");
    match &*table.transport() {
        TransportTable::Udp(UdpTable { header, echo }) => {
            if header.0 > Bytes::new(65_535) {
                return Err(Error::new(path.then("header"), format!("is {}; allowed: up to 65535 B", header.0)));
            }
            Ok(Transport::Udp { header: header.0, echo: *echo })
        }
        TransportTable::Tcp(tcp) => {
            let unlimited = matches!(table.traffic, TrafficTable::Bulk(_));
            tcp_configs(tcp, unlimited, &path)
        }
    }
}

fn tcp_configs(TcpTable { tcp, own }: &TcpTable, unlimited: bool, path: &Path) -> Result<Transport, Error> {
    let refuse = |key: &'static str, what: String| Error::new(path.then(key), what);
    for key in own.list() {
        key.refused.map_or(Ok(()), |what| Err(refuse(key.name, what)))?;
    }
    let ect = match tcp.ect {
        0 => sojourn_transport::Ect::Zero,
        1 => sojourn_transport::Ect::One,
        other => return Err(refuse("ect", format!("is {other}; allowed: 0 or 1"))),
    };
    let mss = tcp.mss;
    if mss == Bytes::ZERO || mss > MSS_MAX {
        return Err(refuse("mss", format!("is {mss}; allowed: 1 B to {} B", MSS_MAX.get())));
    }
    let some = |packets: Packets, key| match packets {
        Packets::ZERO => Err(refuse(key, "is 0; allowed: 1 p or more".to_owned())),
        _ => Ok(()),
    };
    for (key, packets) in [
        ("initial_window", tcp.initial_window),
        ("window_limit", tcp.window_limit.unwrap_or_default()),
        ("ack_every", tcp.ack_every),
        ("quick_acks", tcp.quick_acks),
    ] {
        up_to(packets, &bounds::PACKETS, || path.then(key))?;
    }
    up_to(tcp.max_rto, &bounds::DELAY, || path.then("max_rto"))?;
    up_to(tcp.send_buffer.unwrap_or_default(), &bounds::DATA, || path.then("send_buffer"))?;
    up_to(tcp.read_rate.unwrap_or_default(), &bounds::RATE, || path.then("read_rate"))?;
    some(tcp.initial_window, "initial_window")?;
    some(tcp.ack_every, "ack_every")?;
    tcp.window_limit.map_or(Ok(()), |limit| some(limit, "window_limit"))?;
    for (key, rto) in [("min_rto", tcp.min_rto), ("initial_rto", tcp.initial_rto), ("max_rto", tcp.max_rto)] {
        positive(rto, path.then(key))?;
        if rto > tcp.max_rto {
            return Err(refuse(key, format!("is {rto}; allowed: up to `max_rto`, {}", tcp.max_rto)));
        }
    }
    for (key, buffer) in [("send_buffer", tcp.send_buffer), ("receive_buffer", Some(tcp.receive_buffer))] {
        if let Some(buffer) = buffer.filter(|buffer| *buffer < mss) {
            return Err(refuse(key, format!("is {buffer}; allowed: at least a segment, `mss`, {mss}")));
        }
    }
    let write_size = match tcp.write_size {
        None => None,
        Some(size) => {
            let fits = tcp.send_buffer.is_none_or(|buffer| size <= buffer);
            let size_bytes = u32::try_from(size.get()).ok().filter(|_| fits).and_then(NonZeroU32::new);
            Some(size_bytes.ok_or_else(|| {
                refuse("write_size", format!("is {size}; allowed: 1 B to `send_buffer`, below 4 GiB"))
            })?)
        }
    };
    let most = Bytes::new(u64::from(u32::MAX));
    if tcp.receive_buffer > most {
        return Err(refuse("receive_buffer", format!("is {}; allowed: below 4 GiB", tcp.receive_buffer)));
    }
    if tcp.delayed_ack > Span::from_secs(10) {
        return Err(refuse("delayed_ack", format!("is {}; allowed: up to 10 s", tcp.delayed_ack)));
    }
    let mut sender = sojourn_transport::Config {
        mss,
        initial_window: tcp.initial_window,
        recovery: tcp.recovery,
        tail_loss_probe: tcp.tail_loss_probe,
        undo: tcp.undo,
        tick: tcp.timer_tick,
        segmentation_offload: tcp.segmentation_offload,
        congestion_control: tcp.congestion_control,
        limited_transmit: tcp.limited_transmit,
        prr: tcp.prr,
        rto: tcp.rto,
        min_rto: tcp.min_rto,
        initial_rto: tcp.initial_rto,
        max_rto: tcp.max_rto,
        timestamps: tcp.timestamps,
        timestamp_tick: tcp.timestamp_tick,
        ecn: tcp.ecn,
        ect,
        ect_on: tcp.ect_on,
        ecn_feedback: tcp.ecn_feedback,
        send_buffer: tcp.send_buffer,
        write_size,
        write_at_once: tcp.write_at_once,
        window_limit: tcp.window_limit.map(|limit| Bytes::new(limit.get().saturating_mul(mss.get()))),
        pacing: tcp.pacing,
        keys: *own,
        nagle: tcp.nagle,
        slow_start_after_idle: tcp.slow_start_after_idle,
        idle_restart: tcp.idle_restart,
        window_unit: tcp.window_unit,
        unlimited,
        handshake: tcp.handshake,
    };
    let example = sojourn_transport::Sender::new(sender);
    let wanted = tcp.ecn_feedback.of(example.congestion_control().ecn_feedback());
    let read = example.congestion_control().ecn_feedback();
    let ecn_feedback = match wanted {
        sojourn_transport::EcnFeedback::AccEcn if !tcp.accecn_accept => sojourn_transport::EcnFeedback::Classic,
        feedback => feedback,
    };
    if !tcp.handshake && !tcp.accecn_accept {
        // Nothing negotiates, so both know.
        sender.ecn_feedback = sojourn_transport::FeedbackRule::Classic;
    }
    if read != sojourn_transport::EcnFeedback::Classic && !tcp.ecn {
        let what = format!("is false, but {} needs it; allowed: true", tcp.congestion_control.name);
        return Err(refuse("ecn", what));
    }
    if read != sojourn_transport::EcnFeedback::Classic && tcp.handshake && !tcp.ecn_accept {
        let what = format!("is false, but {} needs it; allowed: true", tcp.congestion_control.name);
        return Err(refuse("ecn_accept", what));
    }
    if tcp.tail_loss_probe && !sender.recovery.is_selective() {
        let words = Recovery::ALL.iter().filter(|one| one.is_selective()).map(|one| format!("\"{}\"", one.word()));
        let words: Vec<String> = words.collect();
        let what = format!(
            "is true, which needs selective acknowledgements; allowed: false, or recovery {}",
            words.join(" or ")
        );
        return Err(refuse("tail_loss_probe", what));
    }
    if tcp.undo && sender.recovery != Recovery::Rack {
        return Err(refuse("undo", "is true, which needs recovery \"rack\"; allowed: false, or that".to_owned()));
    }
    let most = if sender.recovery == Recovery::Rack { Span::from_secs(1) } else { Span::ZERO };
    if tcp.timer_tick > most {
        let what = format!("is {}; allowed: up to {most} with recovery \"{}\"", tcp.timer_tick, tcp.recovery.word());
        return Err(refuse("timer_tick", what));
    }
    if tcp.timestamp_tick > Span::from_secs(1) {
        return Err(refuse("timestamp_tick", format!("is {}; allowed: up to 1 s", tcp.timestamp_tick)));
    }
    if tcp.read_rate == Some(BitRate::ZERO) {
        return Err(refuse("read_rate", "is 0 bit/s; allowed: more, or \"none\"".to_owned()));
    }
    if example.congestion_control().is_l4s() && ect == sojourn_transport::Ect::Zero {
        let what = format!("is 0, but {} needs 1; allowed: 1", tcp.congestion_control.name);
        return Err(refuse("ect", what));
    }
    let is_classic = wanted == sojourn_transport::EcnFeedback::Classic;
    if example.congestion_control().is_l4s() && is_classic {
        // RFC 9331, section 4.2: without it a sender must not use ECT(1).
        let what = format!(
            "is \"classic\", but {} needs accurate feedback; allowed: \"accecn\" or \"auto\" (with `accecn_accept = false` the \
             receiver refuses it, and the connection falls back to ECT(0) and classic ECN)",
            tcp.congestion_control.name
        );
        return Err(refuse("ecn_feedback", what));
    }
    if matches!(tcp.ect_on, sojourn_transport::EctOn::Acks | sojourn_transport::EctOn::All) && (is_classic || !tcp.ecn)
    {
        let what = format!(
            "is \"{}\", which needs accurate feedback; allowed: \"auto\" or \"data\", or `ecn = true` and `ecn_feedback = \"accecn\"`",
            tcp.ect_on.word()
        );
        return Err(refuse("ect_on", what));
    }
    if example.congestion_control().needs_timestamps() && !tcp.timestamps {
        let what = format!("is false, but {} needs it; allowed: true", tcp.congestion_control.name);
        return Err(refuse("timestamps", what));
    }
    let receiver = sojourn_transport::ReceiverConfig {
        ack_every: tcp.ack_every,
        ack_delay: tcp.delayed_ack,
        quick_acks: tcp.quick_acks,
        ack_policy: tcp.ack_policy,
        sack: sender.recovery.is_selective(),
        buffer: tcp.receive_buffer,
        ecn_feedback,
        accecn_option: tcp.accecn_option,
        ecn: tcp.ecn_accept,
        ect,
        // Without a handshake a receiver does not hear that its sender uses no ECN.
        ect_on: if tcp.ecn || tcp.handshake { tcp.ect_on } else { sojourn_transport::EctOn::Data },
        read_rate: tcp.read_rate,
        mss,
        initial_rto: tcp.initial_rto,
        max_rto: tcp.max_rto,
    };
    Ok(Transport::Tcp { sender, receiver })
}
