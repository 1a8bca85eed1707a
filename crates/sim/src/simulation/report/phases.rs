//! Statistics of the phases between changes: what was measured in each, and in all of one name together.

use super::super::Simulation;
use super::catalogue::{Accumulators, Scope};
use super::flows::Traffic;
use super::queues::Merged;
use super::Metrics;
use serde::Serialize;
use sojourn_scenario::{Network, Phases};
use sojourn_traffic::application::Measured;
use sojourn_units::{Instant, Span};

/// Phases of a run that are reported one by one at most; of more, only those of one name together.
const SINGLE: usize = 1000;

/// A phase, or all of one name together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseReport {
    /// Its name.
    pub phase: String,
    /// Which of this name, counted from 1; 0 for all of them together.
    pub occurrence: u64,
    /// The group of flows that it is of; empty for all traffic.
    pub group: String,
    /// The queue under test that its metrics of queues are of: the run's first, with those of all flows; then each other
    /// one by itself. Empty for a group of flows.
    pub queue: String,
    /// Begin in seconds; of several the first.
    pub from_s: f64,
    /// End in seconds; of several the last.
    pub to_s: f64,
    /// Measured time in seconds.
    pub measured_s: f64,
    /// Metrics as of the run, or of a group.
    pub metrics: Metrics,
}

/// All that is measured, up to an instant or between two.
#[derive(Clone, Default)]
struct Part {
    /// Of each queue under test, in the order of the network.
    queues: Vec<Merged>,
    groups: Vec<Traffic>,
    /// Of each group: what its applications measured.
    applications: Vec<Vec<Measured>>,
}

impl Part {
    fn since(&self, earlier: &Self) -> Self {
        let groups = self.groups.iter().zip(&earlier.groups).map(|(now, before)| now.since(before)).collect();
        let each = self.applications.iter().zip(&earlier.applications);
        let since = |(now, before): (&Vec<Measured>, &Vec<Measured>)| {
            now.iter().zip(before).map(|(now, before)| now.since(before)).collect()
        };
        let queues = self.queues.iter().zip(&earlier.queues).map(|(now, before)| now.since(before)).collect();
        Self { queues, groups, applications: each.map(since).collect() }
    }

    fn merge(&mut self, other: &Self) {
        self.queues.resize_with(other.queues.len(), Merged::default);
        self.queues.iter_mut().zip(&other.queues).for_each(|(mine, theirs)| mine.merge(theirs));
        self.groups.resize_with(other.groups.len(), Traffic::default);
        self.groups.iter_mut().zip(&other.groups).for_each(|(mine, theirs)| mine.merge(theirs));
        if self.applications.is_empty() {
            self.applications.clone_from(&other.applications);
            return;
        }
        for (mine, theirs) in self.applications.iter_mut().flatten().zip(other.applications.iter().flatten()) {
            mine.merge(theirs);
        }
    }

    /// Of all flows, and of the queues under test.
    fn metrics(&self, measured: Span) -> (Metrics, Vec<Metrics>) {
        let mut all = Traffic { measured, ..Traffic::default() };
        self.groups.iter().for_each(|group| all.merge(group));
        let of = |own| Metrics::collect(Scope::Phase, &own);
        let metrics = of(Accumulators { traffic: Some(&all), ..Accumulators::default() });
        let queues = if self.queues.is_empty() { &[Merged::default()][..] } else { &self.queues };
        (metrics, queues.iter().map(|queue| of(queue.accumulators(false))).collect())
    }
}

/// All phases of one name.
#[derive(Clone, Default)]
struct Kind {
    name: String,
    times: u64,
    span: Option<(Instant, Instant)>,
    measured: Span,
    sum: Part,
}

/// Collects the statistics of phases.
#[derive(Clone)]
pub(crate) struct PhaseBook {
    kinds: Vec<Kind>,
    /// The present phase's place in `kinds`, and its begin; that of the measurement, if it began before.
    now: usize,
    since: Option<Instant>,
    /// What had been measured then.
    before: Part,
    /// Of all flows, and the metrics of the queues under test.
    single: Vec<(PhaseReport, Vec<Metrics>)>,
    /// Phases in all.
    count: usize,
}

impl PhaseBook {
    /// For a network with changes that begin phases.
    pub fn new(network: &Network) -> Option<Box<Self>> {
        let Phases { begins, names } = &network.phases;
        if begins.is_empty() {
            return None;
        }
        let kind = |name: &str| Kind { name: name.to_owned(), ..Kind::default() };
        let mut kinds: Vec<Kind> = names.iter().map(|name| kind(name)).collect();
        // Of one name with a phase that begins later, both are of one kind.
        let start = names.iter().position(|name| name == Phases::START).unwrap_or(kinds.len());
        if start == kinds.len() {
            kinds.push(kind(Phases::START));
        }
        Some(Box::new(Self { kinds, now: start, since: None, before: Part::default(), single: Vec::new(), count: 0 }))
    }

    /// The present phase ends at `now`, when `all` has been measured.
    fn close(&mut self, now: Instant, all: &Part) {
        let Some(since) = self.since.filter(|since| *since < now) else { return };
        let part = all.since(&self.before);
        let Some(kind) = self.kinds.get_mut(self.now) else { return };
        let measured = now - since;
        kind.times += 1;
        kind.measured += measured;
        kind.span = Some((kind.span.map_or(since, |(from, _)| from), now));
        kind.sum.merge(&part);
        self.count += 1;
        if self.single.len() < SINGLE {
            let (metrics, queues) = part.metrics(measured);
            let report = PhaseReport {
                phase: kind.name.clone(),
                occurrence: kind.times,
                group: String::new(),
                queue: String::new(),
                from_s: since.seconds(),
                to_s: now.seconds(),
                measured_s: measured.seconds(),
                metrics,
            };
            self.single.push((report, queues));
        }
    }

    /// Every name with all of its phases together, each followed by the groups of flows, then the single phases. `queues` are
    /// the numbers and names of the queues under test, the run's first.
    fn reports(self, groups: &[String], queues: &[(usize, String)]) -> Vec<PhaseReport> {
        let mut kinds: Vec<Kind> = self.kinds.into_iter().filter(|kind| kind.times > 0).collect();
        kinds.sort_by_key(|kind| kind.span);
        let mut reports = Vec::new();
        for Kind { name, span, measured, sum, .. } in kinds {
            let (from, to) = span.unwrap_or_default();
            let report = |group: &str, metrics| PhaseReport {
                phase: name.clone(),
                occurrence: 0,
                group: group.to_owned(),
                queue: String::new(),
                from_s: from.seconds(),
                to_s: to.seconds(),
                measured_s: measured.seconds(),
                metrics,
            };
            let (metrics, of_queues) = sum.metrics(measured);
            reports.extend(with_queues(report("", metrics), &of_queues, queues));
            for ((group, mut traffic), applications) in groups.iter().zip(sum.groups).zip(&sum.applications) {
                traffic.measured = measured;
                let application = Measured::together(applications);
                let own = Accumulators { traffic: Some(&traffic), ..Accumulators::default() };
                reports.push(report(group, Metrics::collect(Scope::Phase, &own.with(application.as_ref()))));
            }
        }
        if self.count <= SINGLE {
            reports.extend(self.single.into_iter().flat_map(|(report, own)| with_queues(report, &own, queues)));
        }
        reports
    }
}

/// The reports of a phase: of all flows and the first queue, then of each other queue. `metrics` are the queues'.
fn with_queues(mut all: PhaseReport, metrics: &[Metrics], queues: &[(usize, String)]) -> Vec<PhaseReport> {
    let others = queues.iter().skip(1).map(|(number, name)| PhaseReport {
        queue: name.clone(),
        metrics: metrics[*number].clone(),
        ..all.clone()
    });
    let others: Vec<PhaseReport> = others.collect();
    // Without a queue under test there is one that nothing entered.
    let (number, name) = queues.first().cloned().unwrap_or_default();
    all.queue = name;
    all.metrics.extend(&metrics[number]);
    std::iter::once(all).chain(others).collect()
}

impl Simulation {
    /// Everything that has been measured, as of now.
    fn part(&mut self) -> Part {
        let now = self.net.now;
        for port in self.net.ports.iter_mut().filter(|port| port.probe.under_test) {
            port.probe.finish(now);
        }
        if let Some((waiting, system)) = &mut self.net.total {
            waiting.settle(now);
            system.settle(now);
        }
        let measured = now.since(Instant::ZERO + self.network.warm_up);
        let delays = self.delays_of_groups().into_iter();
        let mut groups: Vec<Traffic> = delays.map(|delays| Traffic { delays, ..Traffic::default() }).collect();
        for (index, spec) in self.network.flows.iter().enumerate() {
            if let Some(group) = groups.get_mut(spec.group) {
                group.merge(&Traffic::of(self, index));
            }
        }
        let tested = self.network.ports.iter().enumerate().filter(|(_, spec)| spec.under_test);
        let queues = tested.map(|(index, _)| self.merged(index, now, measured)).collect();
        Part { queues, groups, applications: self.applications() }
    }

    /// The measurement begins, in the phase that the run is in.
    pub(super) fn measure_phases(&mut self) {
        if self.phases.is_some() {
            let part = self.part();
            let now = self.net.now;
            if let Some(book) = &mut self.phases {
                (book.since, book.before) = (Some(now), part);
            }
        }
    }

    /// A phase begins.
    pub(in crate::simulation) fn begin_phase(&mut self, number: u32) {
        let Some(next) = self.network.phases.begins.get(number as usize).map(|(_, next)| *next) else { return };
        let now = self.net.now;
        if self.phases.as_ref().is_some_and(|book| book.since.is_some()) {
            self.net.settle_before();
            let part = self.part();
            if let Some(book) = &mut self.phases {
                book.close(now, &part);
                (book.since, book.before) = (Some(now), part);
            }
        }
        if let Some(book) = &mut self.phases {
            book.now = next;
        }
    }

    /// The run has ended; `compared` are the ports of the queues under test that are reported, the run's first.
    pub(super) fn phase_reports(&mut self, compared: &[usize]) -> Vec<PhaseReport> {
        if self.phases.is_none() {
            return Vec::new();
        }
        let part = self.part();
        let now = self.net.now;
        let Some(mut book) = self.phases.take() else { return Vec::new() };
        book.close(now, &part);
        let ports = &self.network.ports;
        let number = |port: usize| ports[..port].iter().filter(|spec| spec.under_test).count();
        let queues: Vec<_> = compared.iter().map(|port| (number(*port), ports[*port].name.clone())).collect();
        book.reports(&self.network.groups, &queues)
    }
}
