//! Writes the packets that pass a queue as pcapng.
//!
//! The first file has every packet as it arrives, and a comment with what the queue did with it. What that is turns out later,
//! so packets wait here until it is known for all that came before them. The second file, where it is asked for, has the
//! packets that leave to be sent.

mod frame;

use crate::packet::{Body, Packet, Payload};
use crate::traces::{file_stem, PacketTraces, DEPARTURES, PACKETS};
use frame::Frame;
use sojourn_aqm::{Config, Ecn, Reason};
use sojourn_capture::pcapng::{About, PacketOption, Writer};
use sojourn_capture::Error;
use sojourn_scenario::Network;
use sojourn_transport::Data;
use sojourn_units::{BitRate, Instant, Span};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

/// Packets that wait for their fate; the first is written without it when there are more. A queue in which a packet waits
/// while so many others come is possible where one class of packets starves.
const MOST_WAITING: usize = 1 << 18;

/// One file, and the frames that go there.
#[derive(Debug)]
struct Output {
    writer: Writer,
    frame: Frame,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    waited: Span,
    marked: bool,
    dropped: Option<Reason>,
}

/// A packet that has arrived.
#[derive(Debug)]
struct Arrived {
    at: Instant,
    view: QueueView,
    packet: Packet,
    outcome: Option<Outcome>,
}

/// What a queue sees of a packet.
#[derive(Clone, Copy, Debug)]
struct QueueView {
    serial: u64,
    ecn: Ecn,
    dscp: u8,
}

impl From<&sojourn_aqm::Packet> for QueueView {
    fn from(&sojourn_aqm::Packet { serial, ecn, dscp, .. }: &sojourn_aqm::Packet) -> Self {
        Self { serial, ecn, dscp }
    }
}

/// Writes what passes a queue. A copy writes nothing.
#[derive(Debug)]
pub(crate) struct Tap {
    network: Arc<Network>,
    arrivals: Option<Output>,
    departures: Option<Output>,
    /// In the order of arrival, without gaps.
    waiting: VecDeque<Arrived>,
    failed: Option<Error>,
    comment: String,
}

impl Clone for Tap {
    fn clone(&self) -> Self {
        Self::silent(&self.network)
    }
}

/// What of a run the files say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub scheme: &'a Config,
    pub rate: BitRate,
    pub seed: u64,
    pub replication: u64,
}

impl Tap {
    /// The files of the network's port number `port`.
    pub fn new(network: &Arc<Network>, port: usize, traces: &PacketTraces, run: &Run<'_>) -> Self {
        let mut tap = Self::silent(network);
        let create = |what, ending| Output::create(network, port, traces, run, (what, ending));
        let departures = || traces.departures.then(|| create("departures from", DEPARTURES)).transpose();
        match create("arrivals at", PACKETS).and_then(|arrivals| Ok((arrivals, departures()?))) {
            Ok((arrivals, departures)) => (tap.arrivals, tap.departures) = (Some(arrivals), departures),
            Err(error) => tap.failed = Some(error),
        }
        tap
    }

    fn silent(network: &Arc<Network>) -> Self {
        Self {
            network: Arc::clone(network),
            arrivals: None,
            departures: None,
            waiting: VecDeque::new(),
            failed: None,
            comment: String::new(),
        }
    }

    /// A packet arrives; `view` is what the scheme sees of it.
    pub fn arrived(&mut self, now: Instant, view: &sojourn_aqm::Packet, packet: &Packet) {
        if self.arrivals.is_none() {
            return;
        }
        if self.waiting.len() >= MOST_WAITING {
            self.write_first();
        }
        self.waiting.push_back(Arrived { at: now, view: view.into(), packet: *packet, outcome: None });
    }

    /// A packet leaves the queue to be sent.
    pub fn left(&mut self, now: Instant, taken: &sojourn_aqm::Packet, packet: &Packet) {
        let outcome = Outcome::of(now, taken, packet, None);
        self.settle(taken.serial, outcome);
        if let Some(mut output) = self.departures.take() {
            let written = self.write(&mut output, now, taken.into(), packet, Some(outcome));
            self.departures = self.keep(written).then_some(output);
        }
    }

    /// A packet is dropped.
    pub fn dropped(&mut self, now: Instant, taken: &sojourn_aqm::Packet, packet: &Packet, reason: Reason) {
        self.settle(taken.serial, Outcome::of(now, taken, packet, Some(reason)));
    }

    /// The fate of the packet with this number is known: writes what has waited for it.
    fn settle(&mut self, serial: u64, outcome: Outcome) {
        let first = self.waiting.front().map_or(u64::MAX, |first| first.view.serial);
        let place = serial.checked_sub(first).and_then(|place| usize::try_from(place).ok());
        if let Some(arrived) = place.and_then(|place| self.waiting.get_mut(place)) {
            arrived.outcome = Some(outcome);
        }
        while self.waiting.front().is_some_and(|first| first.outcome.is_some()) {
            self.write_first();
        }
    }

    /// The packet that came first.
    fn write_first(&mut self) {
        let Some(Arrived { at, view, packet, outcome }) = self.waiting.pop_front() else { return };
        if let Some(mut output) = self.arrivals.take() {
            let written = self.write(&mut output, at, view, &packet, outcome);
            self.arrivals = self.keep(written).then_some(output);
        }
    }

    /// Whether there is more to write.
    fn keep(&mut self, written: Result<(), Error>) -> bool {
        match written {
            Ok(()) => true,
            Err(error) => {
                self.failed.get_or_insert(error);
                self.waiting.clear();
                false
            }
        }
    }

    fn write(
        &mut self,
        output: &mut Output,
        at: Instant,
        view: QueueView,
        packet: &Packet,
        outcome: Option<Outcome>,
    ) -> Result<(), Error> {
        let Some(flow) = self.network.flows.get(packet.flow as usize) else { return Ok(()) };
        self.comment.clear();
        // Writing to a text does not fail.
        let _ = write!(self.comment, "packet={} flow={}", view.serial, flow.name);
        if matches!(&packet.body, Body::Load(_, Payload::Data(data)) if data.has(Data::RETRANSMIT)) {
            self.comment.push_str(" retransmission=yes");
        }
        match outcome {
            None => self.comment.push_str(" waiting=yes"),
            Some(Outcome { waited, marked, dropped }) => {
                let nanos = waited.nanos();
                let _ = write!(self.comment, " sojourn_ms={}.{:06}", nanos / 1_000_000, nanos % 1_000_000);
                if marked {
                    self.comment.push_str(" mark=ce");
                }
                if let Some(reason) = dropped {
                    let _ = write!(self.comment, " drop={}", reason.name());
                }
            }
        }
        let (length, data) = output.frame.build(flow, (view.ecn, view.dscp), packet);
        output.writer.packet(at, length, data, PacketOption::Comment(&self.comment))
    }

    /// What went wrong, if anything.
    pub fn failed(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// Writes the packets that still wait, and sees to it that all is in the files.
    pub fn finish(&mut self) {
        while !self.waiting.is_empty() {
            self.write_first();
        }
        for mut output in [self.arrivals.take(), self.departures.take()].into_iter().flatten() {
            let finished = output.writer.finish();
            self.keep(finished);
        }
    }
}

impl Outcome {
    fn of(now: Instant, taken: &sojourn_aqm::Packet, packet: &Packet, dropped: Option<Reason>) -> Self {
        let marked = taken.ecn == Ecn::Ce && packet.ecn() != Ecn::Ce;
        Self { waited: now - taken.enqueued, marked, dropped }
    }
}

impl Output {
    fn create(
        network: &Network,
        port: usize,
        traces: &PacketTraces,
        run: &Run<'_>,
        (what, ending): (&str, &str),
    ) -> Result<Self, Error> {
        let spec = &network.ports[port];
        let about = About {
            application: concat!("sojourn ", env!("CARGO_PKG_VERSION")),
            comment: &format!("scenario {}, seed {}, replication {}", network.name, run.seed, run.replication),
            interface: &spec.name,
            description: &format!("{what} {}", run.scheme.text()),
            rate: Some(run.rate),
            snaplen: traces.snaplen,
        };
        let path = traces.folder.join(format!("{}{ending}", file_stem(network, port)));
        let mut writer = Writer::create_new(&path, &about)?;
        let passing = network.flows.iter().filter(|flow| flow.route.contains(&port) || flow.ack_route.contains(&port));
        let mut nodes: Vec<usize> = passing.flat_map(|flow| [flow.from, flow.to]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        writer.names(nodes.iter().map(|node| (frame::address(*node), network.nodes[*node].as_str())))?;
        Ok(Self { writer, frame: Frame::new(traces.snaplen) })
    }
}
