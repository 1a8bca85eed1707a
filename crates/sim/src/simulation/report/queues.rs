//! What queues measured: each by itself and, where asked for, all under test together.

use super::super::net::PortRef;
use super::super::Simulation;
use crate::port::{ClassTally, Classes, Line, LineQueue};
use sojourn_aqm::ChannelCounts;
use sojourn_measure::{Level, Mode, Moments, Sampled};
use sojourn_scenario::PortKind;
use sojourn_units::{Instant, Span};
use std::collections::{BTreeMap, BTreeSet};

/// A share; none of nothing.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What several queues, or one, measured.
#[derive(Clone, Default)]
pub(super) struct Merged {
    pub waiting: Level,
    pub system: Level,
    pub sojourn: Sampled,
    pub dropped: Moments,
    pub spacing: Mode,
    /// Packets that left the queue to be sent.
    sent: u64,
    /// Packets dropped, by reason.
    pub drops: [u64; 3],
    /// Packets sent with a mark that the queue set.
    pub marked: u64,
    /// dAQM's hits, and packets that left it or were dropped at a dequeue.
    pub daqm: Option<[u64; 2]>,
    /// Of DualPI2.
    pub classes: Option<Box<Classes>>,
    pub lost: u64,
    pub runs: u64,
    /// Of links with impairments.
    pub on_link: ChannelCounts,
    /// One of each link, and of each bus and cell.
    usage: Vec<Usage>,
}

/// How much a link, a bus or a cell sent of what it could send.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Time that it was measured for.
    measured: Span,
    /// Of that: time spent sending.
    busy: Span,
    /// What its token bucket has saved now, and had saved when the measurement began (and changes of rate have added since), as
    /// time: it can send that besides.
    saved: Span,
    saved_before: Span,
    /// Bits that its trace let it send, and that it sent, where it follows one: the share of these, in place of a share of time.
    bits: Option<[f64; 2]>,
}

impl Usage {
    fn since(&self, earlier: &Self) -> Self {
        let bits = self.bits.zip(earlier.bits).map(|(now, before)| [now[0] - before[0], now[1] - before[1]]);
        Self {
            measured: self.measured.saturating_sub(earlier.measured),
            busy: self.busy.saturating_sub(earlier.busy),
            saved: self.saved,
            saved_before: earlier.saved + self.saved_before.saturating_sub(earlier.saved_before),
            bits,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.measured += other.measured;
        self.busy += other.busy;
        self.saved_before += other.saved_before;
        self.bits = match (self.bits, other.bits) {
            (Some(mine), Some(theirs)) => Some([mine[0] + theirs[0], mine[1] + theirs[1]]),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// Time in use, and the time that could have been.
    fn times(&self) -> [f64; 2] {
        let could = (self.measured + self.saved_before).seconds();
        match self.bits {
            // What is being sent counts from its beginning.
            Some([offered, sent]) if offered > 0.0 => [(sent / offered).clamp(0.0, 1.0) * could, could],
            Some(_) => [0.0, could],
            None => [self.busy.seconds(), could],
        }
    }

    /// The share in use of several together.
    fn share(all: &[Self]) -> Option<f64> {
        let [busy, could] = all.iter().map(Self::times).fold([0.0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
        (could > 0.0).then(|| busy / could)
    }
}

fn merged_line(line: &Line, queue: &LineQueue, end: Instant, measured: Span) -> Merged {
    let [sent, drops] = line.counted(queue);
    let mut sojourn = queue.sojourn();
    let (lost, runs) = queue.losses();
    sojourn.add_zeros(sent.saturating_sub(sojourn.moments.count()));
    let mut dropped = Moments::default();
    dropped.add_zeros(drops);
    Merged {
        waiting: queue.level(end),
        sojourn,
        dropped,
        sent,
        drops: [drops, 0, 0],
        lost,
        runs,
        usage: vec![Usage { measured, busy: line.busy(queue, end), ..Usage::default() }],
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
            sent: self.sent - earlier.sent,
            drops: std::array::from_fn(|why| self.drops[why] - earlier.drops[why]),
            marked: self.marked - earlier.marked,
            daqm: None,
            classes: self.classes.as_ref().map(|now| match &earlier.classes {
                Some(before) => Box::new(now.since(before)),
                None => now.clone(),
            }),
            // A run of losses over a boundary belongs to the earlier side.
            lost: self.lost - earlier.lost,
            runs: self.runs.saturating_sub(earlier.runs),
            on_link: self.on_link.since(&earlier.on_link),
            usage: self.usage.iter().zip(&earlier.usage).map(|(now, before)| now.since(before)).collect(),
        }
    }

    /// Adds what was measured at another time.
    pub fn merge(&mut self, other: &Self) {
        self.waiting.merge(&other.waiting);
        self.system.merge(&other.system);
        self.sojourn.merge(&other.sojourn);
        self.dropped.merge(&other.dropped);
        self.add_counts(other);
        self.usage.resize_with(other.usage.len(), Usage::default);
        self.usage.iter_mut().zip(&other.usage).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    fn add_counts(&mut self, other: &Self) {
        self.sent += other.sent;
        self.drops = std::array::from_fn(|why| self.drops[why] + other.drops[why]);
        self.marked += other.marked;
        self.merge_classes(other);
        self.lost += other.lost;
        self.runs += other.runs;
        self.on_link = self.on_link.plus(&other.on_link);
    }

    fn merge_classes(&mut self, other: &Self) {
        if let Some(classes) = &other.classes {
            self.classes.get_or_insert_default().merge(classes);
        }
    }

    /// Share of the time that was spent sending.
    pub fn utilisation(&self) -> Option<f64> {
        Usage::share(&self.usage)
    }

    /// Packets that left the queue, sent or dropped.
    pub fn left(&self) -> u64 {
        self.sent + self.drops.iter().sum::<u64>()
    }

    /// The L4S queue of a DualPI2.
    pub fn l4s(&self) -> Option<&ClassTally> {
        self.classes.as_deref().map(|both| &both.l4s)
    }

    /// The classic queue of a DualPI2.
    pub fn classic(&self) -> Option<&ClassTally> {
        self.classes.as_deref().map(|both| &both.classic)
    }

    /// Share of the L4S queue's packets that were marked.
    pub fn l4s_marked(&self) -> Option<f64> {
        self.l4s().and_then(|it| ratio(it.marks, it.judged()))
    }

    /// Share of the classic queue's packets that its controller marked or dropped.
    pub fn classic_signalled(&self) -> Option<f64> {
        self.classic().and_then(|it| ratio(it.marks + it.early, it.judged()))
    }

    /// The L4S share over the root of the classic one.
    pub fn coupling(&self) -> Option<f64> {
        let (marked, signalled) = self.l4s_marked().zip(self.classic_signalled())?;
        (signalled > 0.0).then(|| marked / signalled.sqrt())
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
            PortRef::Port(port) => &self.net.ports[port as usize],
            PortRef::Line(line) => {
                return merged_line(&self.net.lines[line as usize], &self.net.line_queues[line as usize], now, measured)
            }
        };
        let (now_counted, before) = (port.server.counters(), &port.probe.before);
        Merged {
            waiting: port.probe.waiting.clone(),
            system: port.probe.in_system(),
            sojourn: port.probe.sojourn.clone(),
            dropped: port.probe.dropped,
            spacing: port.probe.spacing.clone(),
            sent: now_counted.forwarded.packets - before.forwarded.packets,
            drops: std::array::from_fn(|why| now_counted.dropped[why].packets - before.dropped[why].packets),
            marked: port.probe.marked - port.probe.marked_before,
            daqm: port.probe.hits.map(|hits| hits.counted),
            classes: port.probe.classes().map(|classes| Box::new(classes.clone())),
            lost: port.probe.losses.lost(),
            runs: port.probe.losses.runs(),
            on_link: port
                .channel
                .as_ref()
                .map(|channel| channel.counts().since(&port.channel_before))
                .unwrap_or_default(),
            usage: vec![Usage {
                measured,
                busy: port.probe.busy.total(now),
                saved: port.saved(now),
                saved_before: port.saved_before,
                bits: port.offered_and_sent(now),
            }],
        }
    }

    /// All queues under test together, up to `now`, in the time `measured`.
    pub(super) fn merge_tested(&self, now: Instant, measured: Span) -> Merged {
        let mut all = Merged::default();
        let (mut buses, mut cells) = (BTreeMap::new(), BTreeSet::new());
        for (index, spec) in self.network.ports.iter().enumerate().filter(|(_, spec)| spec.under_test) {
            let one = self.merged(index, now, measured);
            all.sojourn.merge(&one.sojourn);
            all.dropped.merge(&one.dropped);
            all.spacing.merge(&one.spacing);
            all.add_counts(&one);
            if let Some([hits, left]) = one.daqm {
                let [all_hits, all_left] = all.daqm.unwrap_or_default();
                all.daqm = Some([all_hits + hits, all_left + left]);
            }
            match spec.kind {
                PortKind::Bus { bus, .. } => {
                    // Stations of a bus hold its channel one after another.
                    let busy = one.usage.iter().fold(Span::ZERO, |sum, usage| sum + usage.busy);
                    let place = *buses.entry(bus).or_insert(all.usage.len());
                    all.usage.resize_with(all.usage.len().max(place + 1), Usage::default);
                    all.usage[place].measured = measured;
                    all.usage[place].busy += busy;
                }
                PortKind::Cell { cell, .. } => {
                    // Stations that collide hold the channel together.
                    if cells.insert(cell) {
                        let busy = self.net.cells[cell].tested.total(now);
                        all.usage.push(Usage { measured, busy, ..Usage::default() });
                    }
                }
                PortKind::Link { .. } => all.usage.extend(one.usage),
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
}
