//! Stepping through a run from outside: looking at queues over windows, and giving them other schemes on the way.

use super::net::{Hashes, PortRef};
use super::{Series, Simulation};
use crate::port::Window;
use serde::Serialize;
use sojourn_aqm::{Config, Ecn};
use sojourn_measure::trace::{Event, Facts};
use sojourn_units::{Instant, Span};

/// What one queue did from `from_s` to `to_s`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowReport {
    /// Begin, in seconds.
    pub from_s: f64,
    /// End, in seconds.
    pub to_s: f64,
    /// Offered to the queue.
    pub arrivals_packets: u64,
    /// Left to be sent.
    pub departures_packets: u64,
    /// Dropped, for any reason.
    pub drops_packets: u64,
    /// Of those that left: marked CE here.
    pub marks_packets: u64,
    /// Waiting, mean over time.
    pub queue_packets_mean: Option<f64>,
    /// Waiting at the end.
    pub backlog_packets: u64,
    /// Their bytes.
    pub backlog_bytes: u64,
    /// Sojourn time of packets that left: mean.
    pub sojourn_ms_mean: Option<f64>,
    /// Its median.
    pub sojourn_ms_p50: Option<f64>,
    /// Its 95 % quantile.
    pub sojourn_ms_p95: Option<f64>,
    /// Its 99 % quantile.
    pub sojourn_ms_p99: Option<f64>,
    /// Of packets that left, with their framing.
    pub throughput_bit_s: Option<f64>,
    /// Payload that reached applications, of all flows of the run.
    pub goodput_bit_s: Option<f64>,
    /// S0 (ms) to S3 and Q0 (packets) to Q3 of dAQM: means over samples every 15 ms of absolute values.
    pub features: [Option<f64>; 8],
}

impl Simulation {
    /// The end of the scenario.
    #[must_use]
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Begins a window at every queue under test; those of [`Simulation::window`] follow on it.
    pub fn watch(&mut self) {
        let (now, payload) = (self.net.now, self.payload_ever());
        self.net.settle_all(self.net.now);
        for port in self.net.ports.iter_mut().filter(|port| port.probe.under_test) {
            let waiting = port.probe.waiting.get();
            port.probe.watch().window = Some(Window::new(now, waiting, *port.server.counters(), payload));
        }
    }

    /// What the network's port number `index` did since its window began, and the next window begins. `None` where it
    /// is not watched: only queues under test are.
    pub fn window(&mut self, index: usize) -> Option<WindowReport> {
        let Some(PortRef::Port(port)) = self.net.places.get(index).copied() else { return None };
        let (now, payload) = (self.net.now, self.payload_ever());
        self.net.settle_all(now);
        let port = &mut self.net.ports[port as usize];
        let backlog = port.server.backlog();
        let counters = port.server.counters();
        let window = port.probe.watch.as_mut()?.window.as_mut()?;
        window.advance(now);
        window.waiting.settle(now);
        let before = &window.before;
        let length = now - window.since;
        let rate = |bytes: u64| (length > Span::ZERO).then(|| bytes as f64 * 8.0 / length.seconds());
        let sojourn = &window.sojourn;
        let report = WindowReport {
            from_s: window.since.seconds(),
            to_s: now.seconds(),
            arrivals_packets: counters.arrived.packets - before.arrived.packets,
            departures_packets: counters.forwarded.packets - before.forwarded.packets,
            drops_packets: counters.dropped_total().packets - before.dropped_total().packets,
            marks_packets: window.marked,
            queue_packets_mean: window.waiting.mean(),
            backlog_packets: backlog.packets,
            backlog_bytes: backlog.bytes,
            sojourn_ms_mean: sojourn.moments.mean_ms(),
            sojourn_ms_p50: sojourn.histogram.quantile_ms(0.5),
            sojourn_ms_p95: sojourn.histogram.quantile_ms(0.95),
            sojourn_ms_p99: sojourn.histogram.quantile_ms(0.99),
            throughput_bit_s: rate(counters.forwarded.bytes - before.forwarded.bytes),
            goodput_bit_s: rate(payload - window.payload_before),
            features: window.features(),
        };
        window.restart(now, *counters, payload);
        Some(report)
    }

    /// Begins the decision log of the network's port number `index`, in place of any before, written ones included; false where it has no queue
    /// whose decisions are simulated. It grows until [`Simulation::take_log`].
    #[must_use]
    pub fn log(&mut self, index: usize) -> bool {
        let Some(PortRef::Port(logged)) = self.net.places.get(index).copied() else { return false };
        self.net.settle_all(self.net.now);
        for (number, port) in (0..).zip(&mut self.net.ports) {
            if number == logged {
                port.probe.watch().logged = Some(logged);
                self.net.windows_read = true;
            } else if let Some(watch) = &mut port.probe.watch {
                watch.logged = None;
            }
        }
        self.net.dropped.log = Some(Vec::new());
        self.give_hints();
        true
    }

    /// What was logged since the last call; nothing without [`Simulation::log`].
    pub fn take_log(&mut self) -> Vec<Event> {
        self.net.settle_all(self.net.now);
        self.net.dropped.log.as_mut().map_or_else(Vec::new, std::mem::take)
    }

    /// From now on queues see the packets of flow number `index` as these facts say, their size and fields of TCP left
    /// out: for a comparison with a host that reads them off headers. False without such a flow.
    #[must_use]
    pub fn identify(&mut self, index: usize, facts: &Facts) -> bool {
        let Some((hashes, flow)) = self.net.hashes.get_mut(index).zip(self.hosts.flows.get_mut(index)) else {
            return false;
        };
        let Facts { flow: hash, source, destination, dscp, ecn, .. } = *facts;
        *hashes = Hashes { flow: hash, source, destination, dscp };
        flow.ecn = Ecn::from_bits(ecn);
        true
    }

    /// Gives the network's port number `index` another scheme now: what waits moves over, see [`sojourn_aqm::replace`].
    /// False where it has no queue that can change: a plain tail drop that is not under test is computed, not simulated.
    #[must_use]
    pub fn switch(&mut self, index: usize, scheme: &Config) -> bool {
        let Some(PortRef::Port(port)) = self.net.places.get(index).copied() else { return false };
        self.net.replace_scheme(port, scheme);
        self.give_hints();
        true
    }

    /// Senders write their windows into what they send from now on, where somebody reads these.
    pub(super) fn give_hints(&mut self) {
        if self.net.windows_read {
            self.hosts.ends.iter_mut().filter_map(|ends| ends.tcp.as_mut()).for_each(|tcp| tcp.sender.give_hints());
            self.hosts.clients.give_hints();
        }
    }

    /// Gives the scheme of the network's port number `index` other values of some parameters now, written as tc writes them behind
    /// the name. What the scheme has learnt is kept.
    ///
    /// # Errors
    /// What [`Config::with`] refuses, and a port without a queue that can change.
    pub fn set_parameters(&mut self, index: usize, parameters: &str) -> Result<(), String> {
        let present =
            self.scheme_of(index).ok_or("this queue is a tail drop outside of the test, which cannot change")?;
        let scheme = present.with(parameters).map_err(|error| error.to_string())?;
        if let Some(PortRef::Port(port)) = self.net.places.get(index).copied() {
            self.net.take_parameters(port, scheme);
            self.give_hints();
        }
        Ok(())
    }

    /// The present scheme of the network's port number `index`; `None` where it has no queue that can change.
    #[must_use]
    pub fn scheme_of(&self, index: usize) -> Option<&Config> {
        let Some(PortRef::Port(port)) = self.net.places.get(index) else { return None };
        let spec = self.network.ports.get(index)?;
        let first = self.options.scheme.as_ref().filter(|_| spec.under_test).unwrap_or(&spec.queue);
        let port = self.net.ports.get(*port as usize)?;
        Some(port.switched.last().map_or(first, |(_, scheme)| scheme))
    }

    /// Shows every internal of the scheme of the network's port number `index`, as of now.
    pub fn internals_of(&mut self, index: usize, visit: &mut sojourn_aqm::Internal<'_>) {
        let Some(PortRef::Port(port)) = self.net.places.get(index).copied() else { return };
        let now = self.net.now;
        self.net.settle_all(now);
        if let Some(port) = self.net.ports.get_mut(port as usize) {
            port.server.internals(now, visit);
        }
    }

    /// Shows the queues that take turns at the network's port number `index`, as of the last packet.
    pub fn listed_queues_of(&self, index: usize, visit: &mut dyn FnMut(sojourn_aqm::ListedQueue)) {
        if let Some(PortRef::Port(port)) = self.net.places.get(index) {
            self.net.ports.get(*port as usize).inspect(|port| port.server.listed_queues(visit));
        }
    }

    /// Hash of the five-tuple of each flow of the network, by which schemes tell packets apart.
    pub fn flow_hashes(&self) -> impl Iterator<Item = u32> + '_ {
        self.net.hashes.iter().map(|hashes| hashes.flow)
    }

    /// The time series so far, from their point number `from` on; none where the run has none.
    #[must_use]
    pub fn series_from(&self, from: usize) -> Vec<Series> {
        let names = self.network.flows.iter().map(|flow| &*flow.name);
        let ports = self.network.ports.iter().enumerate();
        let tested: Vec<usize> = ports.filter(|(_, port)| port.under_test).map(|(index, _)| index).collect();
        let tail = self.recorder.as_ref().map(|recorder| recorder.tail(from));
        tail.map_or_else(Vec::new, |tail| tail.series(&self.network, &tested, names))
    }

    /// The present rate of the link behind the network's port number `index`, as its scheme knows it.
    #[must_use]
    pub fn rate_of(&self, index: usize) -> Option<sojourn_units::BitRate> {
        let Some(PortRef::Port(port)) = self.net.places.get(index) else { return None };
        self.net.ports.get(*port as usize).map(|port| port.server.wire.rate())
    }

    /// A change of the scenario's timeline.
    pub(super) fn change(&mut self, index: u32) {
        let network = std::sync::Arc::clone(&self.network);
        let Some(change) = network.changes.get(index as usize) else { return };
        for number in &change.ports {
            // Ports that change are simulated (`make_ports`).
            let (Some(PortRef::Port(port)), Some(spec)) = (self.net.places.get(*number), network.ports.get(*number))
            else {
                continue;
            };
            let port = *port;
            self.net.change_link(port, change);
            if let Some(scheme) = &change.scheme {
                self.net.replace_scheme(port, scheme);
            }
            if let Some(parameters) = &change.parameters {
                let first = self.options.scheme.as_ref().filter(|_| spec.under_test).unwrap_or(&spec.queue);
                self.net.change_parameters(port, parameters, first);
            }
        }
        if change.stop.is_empty() && change.start.is_empty() {
            return;
        }
        for (index, flow) in (0..).zip(&network.flows) {
            if change.stop.contains(&flow.group) {
                self.pause(index);
            }
            if change.start.contains(&flow.group) {
                self.resume(index);
            }
        }
    }

    /// Payload delivered by all flows since the start of the run.
    fn payload_ever(&self) -> u64 {
        self.payload_before + self.payload_all()
    }
}
