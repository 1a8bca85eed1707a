//! What queues measured: each by itself and, where asked for, all under test together.

use super::super::net::Place;
use super::super::state::Internals;
use super::super::Simulation;
use super::classes;
use super::metrics::ratio;
use super::{Metrics, QueueReport, QueueWindow, Switched, ALL};
use crate::port::{Classes, Line, LineQueue, Port, Record};
use crate::scenario::PortKind;
use sojourn_aqm::{ChannelCounts, Counters, Tally};
use sojourn_measure::{Level, Mode, Moments, Sampled};
use sojourn_units::{Instant, Span};
use std::collections::BTreeSet;

/// What several queues, or one, measured.
#[derive(Clone, Default)]
pub(super) struct Merged {
    pub waiting: Level,
    system: Level,
    pub sojourn: Sampled,
    dropped: Moments,
    spacing: Mode,
    counters: Counters,
    /// dAQM's hits, and packets that left it or were dropped at a dequeue.
    daqm: Option<[u64; 2]>,
    /// Of DualPI2.
    classes: Option<Box<Classes>>,
    lost: u64,
    runs: u64,
    /// Of links with impairments.
    on_link: ChannelCounts,
    busy: Span,
    /// Time that the links (each bus once) had.
    capacity: Span,
}

fn since(now: &Counters, before: &Counters) -> Counters {
    let mut left = *now;
    let less = |a: &mut Tally, b: &Tally| {
        a.packets -= b.packets;
        a.bytes -= b.bytes;
    };
    less(&mut left.arrived, &before.arrived);
    less(&mut left.forwarded, &before.forwarded);
    less(&mut left.marked, &before.marked);
    less(&mut left.ce_on_arrival, &before.ce_on_arrival);
    for (mine, theirs) in left.dropped.iter_mut().zip(&before.dropped) {
        less(mine, theirs);
    }
    left
}

fn add(sum: &mut Counters, more: &Counters) {
    let plus = |a: &mut Tally, b: &Tally| {
        a.packets += b.packets;
        a.bytes += b.bytes;
    };
    plus(&mut sum.arrived, &more.arrived);
    plus(&mut sum.forwarded, &more.forwarded);
    plus(&mut sum.marked, &more.marked);
    for (mine, theirs) in sum.dropped.iter_mut().zip(&more.dropped) {
        plus(mine, theirs);
    }
}

fn merged_line(line: &Line, queue: &LineQueue, end: Instant, measured: Span) -> Merged {
    let [packets, bytes, dropped_packets, dropped_bytes] = line.counted(queue);
    let mut counters = Counters {
        arrived: Tally { packets, bytes },
        forwarded: Tally { packets: packets - dropped_packets, bytes: bytes - dropped_bytes },
        ..Counters::default()
    };
    counters.dropped[0] = Tally { packets: dropped_packets, bytes: dropped_bytes };
    let mut sojourn = queue.sojourn();
    let (lost, runs) = queue.losses();
    sojourn.add_zeros((packets - dropped_packets).saturating_sub(sojourn.moments.count()));
    let mut dropped = Moments::default();
    dropped.add_zeros(dropped_packets);
    Merged {
        waiting: queue.level(end),
        sojourn,
        dropped,
        counters,
        lost,
        runs,
        busy: line.busy(queue, end),
        capacity: measured,
        ..Merged::default()
    }
}

impl Merged {
    /// What was measured since this was as `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            waiting: self.waiting.since(&earlier.waiting),
            system: self.system.since(&earlier.system),
            sojourn: self.sojourn.since(&earlier.sojourn),
            dropped: self.dropped.since(&earlier.dropped),
            spacing: Mode::default(),
            counters: since(&self.counters, &earlier.counters),
            daqm: None,
            classes: self.classes.as_ref().map(|now| match &earlier.classes {
                Some(before) => Box::new(now.since(before)),
                None => now.clone(),
            }),
            // A run of losses over a boundary belongs to the earlier side.
            lost: self.lost - earlier.lost,
            runs: self.runs.saturating_sub(earlier.runs),
            on_link: self.on_link.since(&earlier.on_link),
            busy: self.busy.saturating_sub(earlier.busy),
            capacity: self.capacity.saturating_sub(earlier.capacity),
        }
    }

    /// Adds what was measured at another time.
    pub fn merge(&mut self, other: &Self) {
        self.waiting.merge(&other.waiting);
        self.system.merge(&other.system);
        self.sojourn.merge(&other.sojourn);
        self.dropped.merge(&other.dropped);
        add(&mut self.counters, &other.counters);
        self.merge_classes(other);
        self.lost += other.lost;
        self.runs += other.runs;
        self.on_link = self.on_link.plus(&other.on_link);
        self.busy += other.busy;
        self.capacity += other.capacity;
    }

    fn merge_classes(&mut self, other: &Self) {
        if let Some(classes) = &other.classes {
            self.classes.get_or_insert_default().merge(classes);
        }
    }

    /// Share of the time that was spent sending.
    fn utilisation(&self) -> Option<f64> {
        (self.capacity > Span::ZERO).then(|| self.busy.seconds() / self.capacity.seconds())
    }

    /// The entry of all queues under test together.
    pub fn report(&self) -> QueueReport {
        let mut metrics = Metrics::new();
        self.metrics(&mut metrics, true);
        QueueReport {
            name: ALL.into(),
            under_test: false,
            scheme: String::new(),
            switched: Vec::new(),
            metrics,
            windows: Vec::new(),
            counts: None,
            internals: Internals::default(),
        }
    }

    pub fn metrics(&self, metrics: &mut Metrics, with_system: bool) {
        let counters = &self.counters;
        let drops = counters.dropped_total().packets;
        let arrived = counters.arrived.packets;
        metrics.insert("queue_packets_mean", self.waiting.mean());
        metrics.insert("queue_packets_sd", self.waiting.sd());
        metrics.insert("queue_packets_p50", self.waiting.quantile(0.5));
        metrics.insert("queue_packets_p99", self.waiting.quantile(0.99));
        if with_system {
            metrics.insert("system_packets_mean", self.system.mean());
            metrics.insert("system_packets_sd", self.system.sd());
            metrics.insert("interarrival_ms_mode", self.spacing.mode_ms());
            metrics.insert("interarrival_fine_ms_mode", self.spacing.mode_fine_ms());
            metrics.insert("daqm_hit_ratio", self.daqm.and_then(|[hits, left]| ratio(hits, left)));
        }
        if with_system || self.classes.is_some() {
            classes::metrics(self.classes.as_deref(), metrics);
        }
        metrics.insert("sojourn_ms_mean", self.sojourn.moments.mean_ms());
        metrics.insert("sojourn_ms_sd", self.sojourn.moments.sd_ms());
        metrics.insert("sojourn_ms_p50", self.sojourn.histogram.quantile_ms(0.5));
        metrics.insert("sojourn_ms_p99", self.sojourn.histogram.quantile_ms(0.99));
        metrics.insert("dropped_sojourn_ms_mean", self.dropped.mean_ms());
        metrics.insert("arrivals_packets", Some(arrived as f64));
        metrics.insert("drops_packets", Some(drops as f64));
        metrics.insert("drops_overflow_packets", Some(counters.dropped[0].packets as f64));
        metrics.insert("drops_early_packets", Some(counters.dropped[1].packets as f64));
        metrics.insert("drops_flow_packets", Some(counters.dropped[2].packets as f64));
        metrics.insert("link_losses_packets", self.on_link.lost.map(|lost| lost as f64));
        metrics.insert("link_overtakes_packets", self.on_link.overtakes.map(|count| count as f64));
        metrics.insert("link_duplicates_packets", self.on_link.duplicates.map(|count| count as f64));
        metrics.insert("marks_packets", Some(counters.marked.packets as f64));
        metrics.insert("mark_ratio", ratio(counters.marked.packets, arrived));
        metrics.insert("loss_ratio", ratio(drops, arrived));
        metrics.insert("burst_ratio", sojourn_measure::burst_ratio(self.lost, self.runs, arrived));
        metrics.insert("utilisation", self.utilisation());
        metrics.finish();
    }
}

impl Simulation {
    /// The queues under test up to `now`, in the time `measured`: by utilisation, equal ones in the order of the document.
    pub(super) fn busiest(&self, now: Instant, measured: Span) -> Vec<usize> {
        let tested = self.network.ports.iter().enumerate().filter(|(_, spec)| spec.under_test);
        let share = |index| self.merged(index, now, measured).utilisation().unwrap_or_default();
        let mut found: Vec<(usize, f64)> = tested.map(|(index, _)| (index, share(index))).collect();
        found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        found.into_iter().map(|(index, _)| index).collect()
    }

    /// What the port of the network's number `index` measured up to `now`, in the time `measured`.
    pub(super) fn merged(&self, index: usize, now: Instant, measured: Span) -> Merged {
        let port = match self.net.places[index] {
            Place::Port(port) => &self.net.ports[port as usize],
            Place::Line(line) => {
                return merged_line(&self.net.lines[line as usize], &self.net.line_queues[line as usize], now, measured)
            }
        };
        let counters = since(port.server.counters(), &port.probe.before);
        Merged {
            waiting: port.probe.waiting.clone(),
            system: port.probe.in_system(),
            sojourn: port.probe.sojourn.clone(),
            dropped: port.probe.dropped,
            spacing: port.probe.spacing.clone(),
            counters,
            daqm: port.probe.daqm.map(|[hits, dropped]| [hits, counters.forwarded.packets + dropped]),
            classes: port.probe.classes().map(|classes| Box::new(classes.clone())),
            lost: port.probe.losses.lost(),
            runs: port.probe.losses.runs(),
            on_link: port
                .channel
                .as_ref()
                .map(|channel| channel.counts().since(&port.channel_before))
                .unwrap_or_default(),
            busy: match port.offered_and_sent(now) {
                // The share of what the link could send, in place of a share of time.
                Some([offered, sent]) => {
                    if offered > 0.0 {
                        measured.scaled((sent / offered).min(1.0))
                    } else {
                        Span::ZERO
                    }
                }
                None => port.probe.busy.total(now),
            },
            capacity: measured,
        }
    }

    /// All queues under test together, up to `now`, in the time `measured`.
    pub(super) fn merge_tested(&self, now: Instant, measured: Span) -> Merged {
        let mut all = Merged::default();
        let (mut buses, mut cells) = (BTreeSet::new(), BTreeSet::new());
        for (index, spec) in self.network.ports.iter().enumerate().filter(|(_, spec)| spec.under_test) {
            let one = self.merged(index, now, measured);
            all.sojourn.merge(&one.sojourn);
            all.dropped.merge(&one.dropped);
            all.spacing.merge(&one.spacing);
            add(&mut all.counters, &one.counters);
            if let Some([hits, left]) = one.daqm {
                let [all_hits, all_left] = all.daqm.unwrap_or_default();
                all.daqm = Some([all_hits + hits, all_left + left]);
            }
            all.merge_classes(&one);
            all.lost += one.lost;
            all.runs += one.runs;
            all.on_link = all.on_link.plus(&one.on_link);
            match spec.kind {
                PortKind::Bus { bus, .. } => {
                    // Stations of a bus hold its channel one after another.
                    all.busy += one.busy;
                    if buses.insert(bus) {
                        all.capacity += measured;
                    }
                }
                PortKind::Cell { cell, .. } => {
                    // Stations that collide hold the channel together.
                    if cells.insert(cell) {
                        all.busy += self.net.cells[cell].tested.total(now);
                        all.capacity += measured;
                    }
                }
                PortKind::Link { .. } => {
                    all.busy += one.busy;
                    all.capacity += measured;
                }
            }
            if self.net.total.is_none() {
                (all.waiting, all.system) = (one.waiting, one.system);
            }
        }
        if let Some((waiting, system)) = &self.net.total {
            (all.waiting, all.system) = (waiting.clone(), system.clone());
        }
        all
    }

    pub(super) fn queue_report(&mut self, index: usize, measured: Span) -> QueueReport {
        let under_test = self.network.ports[index].under_test;
        let (counts, internals) = if under_test { self.state(index) } else { Default::default() };
        let spec = &self.network.ports[index];
        let scheme = match &self.options.scheme {
            Some(scheme) if spec.under_test => scheme,
            _ => &*spec.queue,
        };
        let mut metrics = Metrics::new();
        self.merged(index, self.end, measured).metrics(&mut metrics, spec.under_test);
        if let Place::Line(line) = self.net.places[index] {
            // It has been reported: room for the reports that follow.
            self.net.line_queues[line as usize] = LineQueue::new(0);
        }
        let switched = match self.net.places[index] {
            Place::Port(port) => self.net.ports[port as usize].switched.as_slice(),
            Place::Line(_) => &[],
        };
        let windows = match self.net.places[index] {
            Place::Port(port) => self.windows_of(&self.net.ports[port as usize], &scheme.text()),
            Place::Line(_) => Vec::new(),
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
