//! The entries of a report: each has the metrics that are declared for its scope.

use super::super::net::PortRef;
use super::super::Simulation;
use super::catalogue::{Accumulators, Scope};
use super::flows::{OneFlow, Sums};
use super::queues::Merged;
use super::{FlowReport, GroupReport, Internals, Metrics, QueueReport, QueueWindow, Switched, ALL};
use crate::port::{LineQueue, Port, Record};
use sojourn_scenario::Transport;
use sojourn_traffic::application::Measured;
use sojourn_units::Span;
use std::sync::Arc;

impl Merged {
    /// The entry of all queues under test together.
    pub fn report(&self) -> QueueReport {
        QueueReport {
            name: ALL.into(),
            under_test: false,
            scheme: String::new(),
            switched: Vec::new(),
            metrics: Metrics::collect(Scope::Queue, &self.accumulators(true)),
            windows: Vec::new(),
            counts: None,
            internals: Internals::default(),
        }
    }

    /// What the metrics of a queue follow from; `is_tested`: of a queue under test, in the whole run.
    pub fn accumulators(&self, is_tested: bool) -> Accumulators<'_> {
        Accumulators {
            queue: Some(self),
            tested: is_tested.then_some(self),
            classes: (is_tested || self.classes.is_some()).then_some(self),
            ..Accumulators::default()
        }
    }
}

impl Simulation {
    /// Every flow, every group of flows, and what the run has of all flows together.
    ///
    /// A flow's TCP goes when it has been reported: the reports take its room.
    pub(super) fn flow_reports(&mut self, measured: Span) -> (Vec<FlowReport>, Vec<GroupReport>, Metrics) {
        let network = Arc::clone(&self.network);
        let mut reports = Vec::with_capacity(self.hosts.flows.len());
        let (mut all, mut groups) = (Sums::default(), vec![Sums::default(); self.network.groups.len()]);
        for (index, spec) in network.flows.iter().enumerate() {
            let mut own = OneFlow::of(self, index);
            self.hosts.ends[index].tcp = None;
            all.add(&own);
            groups[spec.group].add(&own);
            own.traffic.measured = measured;
            if network.are_apart() {
                own.traffic.delays.clone_from(&self.hosts.delays[index]);
            }
            let node = |n: usize| self.network.nodes[n].clone();
            reports.push(FlowReport {
                name: spec.name.clone(),
                group: self.network.groups[spec.group].clone(),
                from: node(spec.from),
                to: node(spec.to),
                transport: if matches!(*spec.transport, Transport::Tcp { .. }) { "tcp" } else { "udp" },
                metrics: Metrics::collect(
                    Scope::Flow,
                    &Accumulators { traffic: Some(&own.traffic), flow: Some(&own), ..Accumulators::default() },
                ),
            });
        }
        (all.traffic.measured, all.traffic.delays, all.traffic.echo) = (measured, self.delay_of_all(), None);
        let together = &self.net.synchronisation;
        all.synchronisation = together.last().and_then(|all_flows| all_flows.share(all.started));
        let applications = self.applications();
        let named = self.network.groups.iter().zip(&applications).zip(groups);
        let groups = named.zip(self.delays_of_groups().into_iter().zip(together));
        let groups = groups.map(|(((name, applications), mut sums), (delays, together))| {
            (sums.traffic.measured, sums.traffic.delays) = (measured, delays);
            sums.synchronisation = together.share(sums.started);
            let application = Measured::together(applications);
            let own = Accumulators { traffic: Some(&sums.traffic), flows: Some(&sums), ..Accumulators::default() };
            let metrics = Metrics::collect(Scope::Group, &own.with(application.as_ref()));
            GroupReport { name: name.clone(), metrics }
        });
        let own = Accumulators { traffic: Some(&all.traffic), flows: Some(&all), ..Accumulators::default() };
        (reports, groups.collect(), Metrics::collect(Scope::Run, &own))
    }

    pub(super) fn queue_report(&mut self, index: usize, measured: Span) -> QueueReport {
        let under_test = self.network.ports[index].under_test;
        let (counts, internals) = if under_test { self.state(index) } else { Default::default() };
        let spec = &self.network.ports[index];
        let scheme = match &self.options.scheme {
            Some(scheme) if spec.under_test => scheme,
            _ => &*spec.queue,
        };
        let merged = self.merged(index, self.end, measured);
        let metrics = Metrics::collect(Scope::Queue, &merged.accumulators(spec.under_test));
        if let PortRef::Line(line) = self.net.places[index] {
            // It has been reported: room for the reports that follow.
            self.net.line_queues[line as usize] = LineQueue::new(0);
        }
        let switched = match self.net.places[index] {
            PortRef::Port(port) => self.net.ports[port as usize].switched.as_slice(),
            PortRef::Line(_) => &[],
        };
        let windows = match self.net.places[index] {
            PortRef::Port(port) => self.windows_of(&self.net.ports[port as usize], &scheme.text()),
            PortRef::Line(_) => Vec::new(),
        };
        let switched = switched.iter().map(|(at, to)| Switched { at_s: at.seconds(), scheme: to.text() }).collect();
        QueueReport {
            name: spec.name.clone(),
            under_test,
            scheme: scheme.text(),
            switched,
            metrics,
            windows,
            counts: counts.map(Box::new),
            internals,
        }
    }

    /// The closed windows of a port that had `scheme` at the start.
    fn windows_of(&self, port: &Port, scheme: &str) -> Vec<QueueWindow> {
        let text = |switches: usize| match switches.checked_sub(1).and_then(|last| port.switched.get(last)) {
            Some((_, scheme)) => scheme.text(),
            None => scheme.to_owned(),
        };
        let rows = port.probe.watch.iter().filter_map(|watch| watch.record.as_ref()).flat_map(Record::rows);
        rows.map(|(switches, row)| QueueWindow { scheme: text(*switches), row: row.clone() }).collect()
    }
}
