//! Time series.

use super::super::net::PortRef;
use super::super::{Event, Simulation};
use super::{of_queue, Series, ALL};
use crate::port::Port;
use sojourn_aqm::{Rates, Steps};
use sojourn_scenario::{Network, PortKind};
use sojourn_transport::Sender;
use sojourn_units::{Instant, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// No threshold is this high; an unset one is.
const UNSET: u64 = 1 << 48;

/// Collects the points of time series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    pub interval: Span,
    t_s: Vec<f64>,
    /// Of all flows.
    goodput: Vec<Option<f64>>,
    /// Of each queue under test.
    tested: Vec<OfTested>,
    last: Snapshot,
    /// Of each flow, where wanted.
    flows: Vec<OfFlow>,
    /// Of each queue under test, where wanted.
    queues: Vec<OfQueue>,
    /// Of each link behind a queue under test whose rate changes.
    links: Vec<OfLink>,
}

/// A queue under test: its port in the network, none for all together, its totals at the last point, and a value of each of [`OF_TESTED`].
#[derive(Clone, Debug)]
struct OfTested {
    port: Option<usize>,
    last: Totals,
    values: [Vec<Option<f64>>; OF_TESTED.len()],
}

/// Series of each queue under test.
const OF_TESTED: [(&str, &str); 4] = [
    ("queue_packets", "packets"),
    ("sojourn_ms", "ms"),
    ("drops_packets_s", "packets/s"),
    // Of a queue that marks.
    ("marks_packets_s", "packets/s"),
];

/// What a link can send, and the mean of it in each interval in bit/s.
#[derive(Clone, Debug)]
struct OfLink {
    name: String,
    rates: Arc<Rates>,
    values: Vec<Option<f64>>,
}

/// A queue's: its port in the network, and the scheme's internals by name.
type OfQueue = (usize, BTreeMap<&'static str, Vec<Option<f64>>>);

/// A flow's series.
#[derive(Clone, Debug, Default)]
struct OfFlow {
    /// Payload at the last point.
    payload: u64,
    /// What had reached the receiver then, as the sender knew.
    delivered: u64,
    /// Packets that had been delivered then, and the sum of their delays in ns.
    delays: (u64, u128),
    /// It had begun then, and not ended.
    lasted: bool,
    values: [Vec<Option<f64>>; OF_FLOWS.len()],
}

/// Series of a flow. Those of a sender are what it holds at the point; flows that have none are without. Before a flow has
/// begun and after it has ended it has no values; goodput and delivery rate are of every interval that it had a part in.
const OF_FLOWS: [(&str, &str); 8] = [
    ("goodput_bit_s", "bit/s"),
    ("srtt_ms", "ms"),
    ("cwnd_packets", "packets"),
    ("pacing_rate_bit_s", "bit/s"),
    ("ssthresh_packets", "packets"),
    ("delivery_rate_bit_s", "bit/s"),
    ("rtt_ms", "ms"),
    ("one_way_delay_ms", "ms"),
];

impl Recorder {
    /// With those of the flows and of the schemes' internals that `network` asks for; `places` and `ports` are its.
    pub fn new(interval: Span, network: &Network, places: &[PortRef], ports: &[Port]) -> Self {
        let flows = if network.flow_series { network.flows.len() } else { 0 };
        let tested = || network.ports.iter().enumerate().filter(|(_, port)| port.under_test);
        let together = (network.pooled && tested().count() > 1).then_some(None);
        let own = tested().map(|(port, _)| Some(port)).chain(together);
        let own = own.map(|port| OfTested { port, last: Totals::default(), values: Default::default() }).collect();
        let queues = tested().filter(|_| network.internal_series).map(|(port, _)| (port, BTreeMap::new())).collect();
        let rates = |index: usize| {
            let traced = match places.get(index) {
                Some(PortRef::Port(place)) => ports.get(*place as usize).and_then(Port::follows),
                _ => None,
            };
            traced.or_else(|| changed(network, index).map(Arc::new))
        };
        let links = tested().filter(|(index, _)| network.is_moving(*index));
        let links = links.filter_map(|(index, port)| {
            Some(OfLink { name: port.name.clone(), rates: rates(index)?, values: Vec::new() })
        });
        let links = links.collect();
        Self { interval, flows: vec![OfFlow::default(); flows], queues, links, tested: own, ..Self::default() }
    }

    /// A copy that has the points from number `from` on.
    pub(in crate::simulation) fn tail(&self, from: usize) -> Self {
        let mut copy = self.clone();
        let first = from.min(copy.t_s.len());
        copy.t_s.drain(..first);
        let tested = copy.tested.iter_mut().flat_map(|one| &mut one.values);
        let flows = copy.flows.iter_mut().flat_map(|flow| &mut flow.values);
        let queues = copy.queues.iter_mut().flat_map(|(_, values)| values.values_mut());
        let links = copy.links.iter_mut().map(|link| &mut link.values);
        for values in tested.chain(flows).chain(queues).chain(links).chain([&mut copy.goodput]) {
            values.drain(..first.min(values.len()));
        }
        copy
    }

    /// The measurement begins.
    pub(super) fn begin(&mut self, snapshot: Snapshot, totals: &[Totals]) {
        self.last = snapshot;
        self.tested.iter_mut().zip(totals).for_each(|(own, totals)| own.last = *totals);
        // The flows' payload and delays are counted anew.
        self.flows.iter_mut().for_each(|flow| (flow.payload, flow.delays) = (0, (0, 0)));
    }

    /// All series: of the queues under test those of the ports `compared`; `names` are the flows'.
    pub(in crate::simulation) fn series<'a>(
        mut self,
        network: &Network,
        compared: &[usize],
        names: impl Iterator<Item = &'a str>,
    ) -> Vec<Series> {
        let several = network.ports.iter().filter(|port| port.under_test).count();
        let goodput = ("goodput_bit_s".to_owned(), "bit/s", self.goodput);
        let mut own = Vec::with_capacity(compared.len());
        for port in compared.iter().map(|port| Some(*port)).chain([None]) {
            let found = self.tested.iter().position(|one| one.port == port);
            own.extend(found.map(|place| self.tested.swap_remove(place)));
        }
        let of_queues = own.into_iter().flat_map(|one| {
            let queue = one.port.map_or(ALL, |port| &*network.ports[port].name);
            let name = move |quantity| of_queue(quantity, queue, several).into_owned();
            OF_TESTED.iter().zip(one.values).map(move |((quantity, unit), value)| (name(quantity), *unit, value))
        });
        let is_seen = |name: &str, value: &[Option<f64>]| {
            !name.starts_with("marks_packets_s") || value.iter().any(|value| *value != Some(0.0))
        };
        let mut series: Vec<_> = of_queues.filter(|(name, _, value)| is_seen(name, value)).collect();
        series.insert(series.len().min(2), goodput);
        let series = series.into_iter().map(|(name, unit, value)| Series {
            name,
            unit: unit.into(),
            t_s: self.t_s.clone(),
            value,
        });
        let flows = names
            .zip(self.flows)
            .flat_map(|(name, flow)| OF_FLOWS.iter().zip(flow.values).map(move |(of, value)| (name, of, value)));
        let flows = flows.filter(|(_, of, value)| *of == &OF_FLOWS[0] || value.iter().any(Option::is_some));
        let flows = flows.map(|(name, (series, unit), value)| Series {
            name: format!("{series}:{name}"),
            unit: (*unit).into(),
            t_s: self.t_s.clone(),
            value,
        });
        let queues = self.queues.into_iter().flat_map(|(port, values)| {
            let queue = &network.ports[port].name;
            let named = move |(name, value)| (format!("{name}:{queue}"), value);
            values.into_iter().map(named)
        });
        let queues = queues.map(|(name, value)| Series { name, unit: String::new(), t_s: self.t_s.clone(), value });
        let links = self.links.into_iter().map(|link| Series {
            name: format!("capacity_bit_s:{}", link.name),
            unit: "bit/s".into(),
            t_s: self.t_s.clone(),
            value: link.values,
        });
        series.chain(flows).chain(queues).chain(links).collect()
    }
}

/// The rates of the link at a port, where changes give it others.
fn changed(network: &Network, port: usize) -> Option<Rates> {
    let PortKind::Link { rate, .. } = network.ports.get(port)?.kind else { return None };
    let own = network.changes.iter().filter(|change| change.ports.contains(&port));
    let mut steps: Vec<_> = own.filter_map(|change| Some((change.at - Instant::ZERO, change.rate?))).collect();
    steps.sort_by_key(|(at, _)| *at);
    steps.insert(0, (Span::ZERO, rate));
    // Of changes at one instant the last one in the document holds.
    steps.reverse();
    steps.dedup_by_key(|(at, _)| *at);
    steps.reverse();
    Steps::new(&steps, false, None).ok().map(Rates::Steps)
}

/// Running totals at the last point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Snapshot {
    at: Instant,
    payload: u64,
}

/// Running totals of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    queue_integral: u128,
    sojourn: (u64, u128),
    drops: u64,
    marks: u64,
}

impl Simulation {
    /// Time series: running totals now, of all flows and of each queue under test.
    pub(super) fn snapshot(&mut self) -> (Snapshot, Vec<Totals>) {
        let Some(recorder) = &self.recorder else { return Default::default() };
        let tested: Vec<Option<usize>> = recorder.tested.iter().map(|one| one.port).collect();
        self.net.settle_before();
        let now = self.net.now;
        let mut totals = Vec::with_capacity(tested.len());
        let mut all = Totals::default();
        for port in tested {
            let Some(PortRef::Port(place)) = port.map(|port| self.net.places[port]) else {
                totals.push(all);
                continue;
            };
            let port = &mut self.net.ports[place as usize];
            port.probe.waiting.settle(now);
            let own = Totals {
                queue_integral: port.probe.waiting.integral(),
                sojourn: (port.probe.sojourn.moments.count(), port.probe.sojourn.moments.sum_ns()),
                drops: port.server.counters().dropped_total().packets,
                marks: port.probe.marked,
            };
            all.queue_integral += own.queue_integral;
            all.sojourn = (all.sojourn.0 + own.sojourn.0, all.sojourn.1 + own.sojourn.1);
            all.drops += own.drops;
            all.marks += own.marks;
            totals.push(own);
        }
        (Snapshot { at: now, payload: self.payload_all() }, totals)
    }

    /// A point of the time series, and the next one later.
    pub(in crate::simulation) fn sample(&mut self) {
        self.point();
        if let Some(recorder) = &self.recorder {
            self.net.wheel.push(self.net.now + recorder.interval, Event::Sample);
        }
    }

    /// The interval that ends as the measurement begins, before totals are counted anew.
    pub(super) fn sample_warm_up(&mut self) {
        if self.recorder.as_ref().is_some_and(|it| self.net.now.nanos().is_multiple_of(it.interval.nanos())) {
            self.point();
        }
    }

    /// A point of the schemes' internals. A name that a scheme has had no value for before is without one until now.
    fn internals(&self, recorder: &mut Recorder) {
        let points = recorder.t_s.len();
        for (port, values) in &mut recorder.queues {
            let PortRef::Port(port) = self.net.places[*port] else { continue };
            // Of a copy: what is looked at here is brought up to date, and the run's own is not looked at before its time.
            let mut server = self.net.ports[port as usize].server.clone();
            server.internals(self.net.now, &mut |name, value| {
                let all = values.entry(name).or_default();
                all.resize(points - 1, None);
                all.push(value.is_finite().then_some(value));
            });
            values.values_mut().for_each(|all| all.resize(points, None));
        }
    }

    fn point(&mut self) {
        let (snapshot, totals) = self.snapshot();
        let now = self.net.now;
        let Some(mut recorder) = self.recorder.take() else { return };
        let elapsed = now - recorder.last.at;
        if elapsed.is_zero() {
            // Taken as the measurement began, at the same instant; or nothing has passed yet.
            self.recorder = Some(recorder);
            return;
        }
        let last = std::mem::replace(&mut recorder.last, snapshot);
        recorder.t_s.push(now.seconds());
        let payload = snapshot.payload.saturating_sub(last.payload);
        recorder.goodput.push(Some(payload as f64 * 8.0 / elapsed.seconds()));
        for (own, totals) in recorder.tested.iter_mut().zip(totals) {
            let last = std::mem::replace(&mut own.last, totals);
            let waited = totals.queue_integral.saturating_sub(last.queue_integral);
            let count = totals.sojourn.0.saturating_sub(last.sojourn.0);
            let sum = totals.sojourn.1.saturating_sub(last.sojourn.1);
            let a_second = |count: u64, before: u64| Some(count.saturating_sub(before) as f64 / elapsed.seconds());
            let values = [
                Some(waited as f64 / elapsed.nanos() as f64),
                (count > 0).then(|| sum as f64 / count as f64 / 1e6),
                a_second(totals.drops, last.drops),
                a_second(totals.marks, last.marks),
            ];
            own.values.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
        }
        let a_second = |bytes: u64, before: u64| bytes.saturating_sub(before) as f64 * 8.0 / elapsed.seconds();
        for (index, flow) in recorder.flows.iter_mut().enumerate() {
            let payload = self.payload(index);
            let goodput = a_second(payload, flow.payload);
            flow.payload = payload;
            let stands = self.hosts.stands(index);
            let lasted = std::mem::replace(&mut flow.lasted, stands.lasts) || stands.lasts;
            let all = self.hosts.tcp_of(index).map(|tcp| &tcp.sender);
            let sender = all.filter(|_| stands.has_sender);
            let srtt = sender.filter(|it| !it.srtt().is_zero()).map(|it| it.srtt().millis());
            let cwnd = sender.map(|it| it.cwnd().get() as f64 / it.config().mss.get() as f64);
            let pacing = sender.and_then(Sender::pacing_rate).map(|rate| rate.bit_s() as f64);
            let threshold = sender.filter(|it| it.ssthresh().get() < UNSET);
            let threshold = threshold.map(|it| it.ssthresh().get() as f64 / it.config().mss.get() as f64);
            let delivered = all.map(|it| it.delivered().get());
            // Another connection of a client begins at 0.
            let before = delivered.filter(|bytes| *bytes >= flow.delivered).map_or(0, |_| flow.delivered);
            let delivery = delivered.map(|bytes| a_second(bytes, before));
            flow.delivered = delivered.unwrap_or_default();
            // What is on its way when a datagram's sender stops arrives later.
            let had_part = |rate: &f64| lasted || *rate > 0.0;
            let echo = self.hosts.flows[index].echo.as_mut().and_then(|echo| echo.since_last());
            let (goodput, delivery) = (Some(goodput).filter(had_part), delivery.filter(had_part));
            let delays = &self.hosts.ends[index].meter.delay;
            let delays = (delays.count(), delays.sum_ns());
            let before = std::mem::replace(&mut flow.delays, delays);
            let arrived = delays.0.saturating_sub(before.0);
            let delay = (arrived > 0).then(|| delays.1.saturating_sub(before.1) as f64 / arrived as f64 / 1e6);
            let values = [goodput, srtt, cwnd, pacing, threshold, delivery, echo, delay];
            flow.values.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
        }
        for link in &mut recorder.links {
            let bits = link.rates.offered_bits(now) - link.rates.offered_bits(last.at);
            link.values.push(Some(bits / elapsed.seconds()));
        }
        self.internals(&mut recorder);
        self.recorder = Some(recorder);
    }
}
