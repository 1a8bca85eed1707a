//! The resolved network: names have become indices, groups their members, routes lists of ports.

use super::trace::Trace;
use sojourn_aqm::{Config, Dscp, Framing, Impairments, Loss};
use sojourn_document::bounds::{SERIES_VALUES, TABLE_ENTRIES};
use sojourn_traffic::Traffic;
use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A network with its flows, ready for the engine. Every index is valid.
#[derive(Clone, Debug)]
pub struct Network {
    /// The scenario's name.
    pub name: String,
    /// How long a run lasts.
    pub duration: Span,
    /// Statistics start here; shorter than `duration`.
    pub warm_up: Span,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Shared channels.
    pub buses: Vec<Bus>,
    /// 802.11 cells.
    pub cells: Vec<Cell>,
    /// Every direction of every link (`from -> to`, then back), then every station of every bus, then of every cell the
    /// access point and the stations.
    pub ports: Vec<Port>,
    /// Names of the flow groups, one for each entry of the document's `flows`.
    pub groups: Vec<String>,
    /// The flows, group by group.
    pub flows: Vec<Flow>,
    /// What changes during the run, in the order of the document.
    pub changes: Vec<Change>,
    /// Phases of the run, which have statistics of their own.
    pub phases: Phases,
    /// Time series, where any are kept, have each flow's goodput.
    pub flow_series: bool,
    /// And the internals of the schemes under test.
    pub internal_series: bool,
    /// Packets of a window of each queue under test; `None` for no windows.
    pub windows: Option<u64>,
    /// Several queues under test are measured together, too.
    pub pooled: bool,
}

impl Network {
    /// Whether the tables of flows of all queues fit into memory, with `scheme` in place of those under test where given.
    ///
    /// # Errors
    /// How many entries they have, and how many are allowed.
    pub fn check_tables(&self, scheme: Option<&Config>) -> Result<(), String> {
        let mut entries = 0_u64;
        // Neighbours mostly have the same scheme.
        let mut last: Option<(&Config, u64)> = None;
        for port in &self.ports {
            let config = scheme.filter(|_| port.under_test).unwrap_or(&port.queue);
            let own = last.filter(|(known, _)| *known == config).map_or_else(|| table_entries(config), |(_, own)| own);
            last = Some((config, own));
            entries = entries.saturating_add(own);
        }
        if entries > TABLE_ENTRIES {
            let what = "the schemes' tables of flows (`flows`, `divisor`)";
            let queues = self.ports.len();
            return Err(format!("{what} have {entries} entries in {queues} queues; allowed: up to {TABLE_ENTRIES}"));
        }
        Ok(())
    }

    /// Whether every change of parameters is one that `scheme` can take, in place of those under test.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn check_changes(&self, scheme: Option<&Config>) -> Result<(), String> {
        check_parameters(&self.changes, &self.ports, scheme)
            .map_err(|(_, what)| format!("key `changes`: `parameters` do not fit the scheme: {what}"))
    }

    /// Whether time series sampled at this interval are possible: not all the time, and not more than fit into memory.
    ///
    /// # Errors
    /// What is wrong with the interval, and what is allowed.
    pub fn check_series(&self, interval: Span) -> Result<(), String> {
        let tested = self.ports.iter().filter(|port| port.under_test).count() as u64;
        let series = SERIES
            + if self.flow_series { FLOW_SERIES * self.flows.len() as u64 } else { 0 }
            + if self.internal_series { INTERNAL_SERIES * tested } else { 0 }
            + (0..self.ports.len()).filter(|port| self.is_moving(*port)).count() as u64;
        // Rounded up, so that what is allowed is within the bound.
        let least = Span::from_nanos((self.duration.nanos() / (SERIES_VALUES / series).max(1)).saturating_add(1));
        if interval.is_zero() {
            return Err("is 0; allowed: a time above 0, as in \"50 ms\"".to_owned());
        }
        if interval < least {
            let values = (self.duration.nanos() / interval.nanos()).saturating_mul(series);
            return Err(format!(
                "is {interval}, which makes {values} values in {}; allowed: {least} or more, up to {SERIES_VALUES} values",
                self.duration
            ));
        }
        Ok(())
    }
}

/// What of a port changes during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changing {
    /// Anything.
    pub any: bool,
    /// The propagation delay.
    pub delay: bool,
    /// The random loss.
    pub loss: bool,
}

impl Network {
    /// Propagation delay of a flow's way there and back, at the start of the run.
    #[must_use]
    pub fn base_rtt(&self, flow: &Flow) -> Span {
        self.propagation(&flow.route) + self.propagation(&flow.ack_route)
    }

    /// Propagation delay of a route.
    #[must_use]
    pub fn propagation(&self, route: &[usize]) -> Span {
        let delay = |port: &usize| match self.ports[*port].kind {
            PortKind::Link { delay, .. } => delay,
            PortKind::Bus { bus, .. } => self.buses[bus].delay,
            PortKind::Cell { cell, .. } => self.cells[cell].delay,
        };
        route.iter().map(delay).fold(Span::ZERO, |sum, delay| sum + delay)
    }

    /// Flows are so few that each has its own distribution of delays; else each group has one.
    #[must_use]
    pub fn are_apart(&self) -> bool {
        const FLOWS: usize = 16;
        self.flows.len() <= FLOWS
    }

    /// The port is under test, and the rate of its link changes.
    #[must_use]
    pub fn is_moving(&self, port: usize) -> bool {
        let changes = || self.changes.iter().any(|change| change.rate.is_some() && change.ports.contains(&port));
        self.ports.get(port).is_some_and(|it| it.under_test && it.is_link() && (it.trace.is_some() || changes()))
    }

    /// What changes, of each port.
    #[must_use]
    pub fn changing(&self) -> Vec<Changing> {
        let mut all = vec![Changing::default(); self.ports.len()];
        for change in &self.changes {
            for port in &change.ports {
                let Some(one) = all.get_mut(*port) else { continue };
                one.any = true;
                one.delay |= change.delay.is_some();
                one.loss |= change.loss.is_some();
            }
        }
        all
    }
}

/// Whether every change of parameters is one that the scheme of its queue then can take, with `scheme` in place of those under
/// test where given.
///
/// # Errors
/// The number of the change, in the order of the document, and what is wrong.
pub(crate) fn check_parameters(
    changes: &[Change],
    ports: &[Port],
    scheme: Option<&Config>,
) -> Result<(), (usize, String)> {
    if changes.iter().all(|change| change.parameters.is_none()) {
        return Ok(());
    }
    let mut order: Vec<(usize, &Change)> = changes.iter().enumerate().collect();
    order.sort_by_key(|(_, change)| change.at);
    let mut now: BTreeMap<usize, Config> = BTreeMap::new();
    for (number, change) in order {
        for index in &change.ports {
            let port = &ports[*index];
            let config = now.entry(*index).or_insert_with(|| {
                let under_test = scheme.filter(|_| port.under_test);
                under_test.map_or_else(|| (*port.queue).clone(), Config::clone)
            });
            if let Some(scheme) = &change.scheme {
                *config = scheme.clone();
            }
            if let Some(parameters) = &change.parameters {
                *config = config.with(parameters).map_err(|e| (number, e.to_string()))?;
            }
        }
    }
    Ok(())
}

/// Entries of a scheme's table of flows.
fn table_entries(config: &Config) -> u64 {
    let tables = config.params().into_iter().filter(|param| ["flows", "divisor"].contains(&param.name));
    tables.filter_map(|param| param.value.parse::<u64>().ok()).sum()
}

/// Series of a run besides those of its flows.
const SERIES: u64 = 4;
/// Time series of a flow, where they are kept.
const FLOW_SERIES: u64 = 7;
/// Internals of a scheme, at the most.
const INTERNAL_SERIES: u64 = 16;

/// Parts of a run that follow one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases {
    /// What each begins with, an index into `names`; rising, and neighbours differ.
    pub begins: Vec<(Instant, usize)>,
    /// Their names.
    pub names: Vec<String>,
}

impl Phases {
    /// The name of what comes before the first that begins.
    pub const START: &'static str = "start";
}

/// Another scheme for queues, or another rate, delay or loss for their links, at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When; before the end of the run.
    pub at: Instant,
    /// Indices into [`Network::ports`].
    pub ports: Vec<usize>,
    /// The new scheme, if it changes.
    pub scheme: Option<Config>,
    /// New values of parameters of the scheme that the queue has then.
    pub parameters: Option<Arc<str>>,
    /// The new rate.
    pub rate: Option<BitRate>,
    /// The new propagation delay.
    pub delay: Option<Span>,
    /// The new random loss.
    pub loss: Option<Loss>,
    /// Groups of flows that stop sending: indices into [`Network::groups`].
    pub stop: Vec<usize>,
    /// Groups of flows that go on sending.
    pub start: Vec<usize>,
}

/// A shared half-duplex channel with carrier sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Bus {
    /// Its name.
    pub name: String,
    /// Rate of a frame's transmission.
    pub rate: BitRate,
    /// Propagation delay, for which the channel stays busy after a frame's transmission.
    pub delay: Span,
    /// Framing added to every packet.
    pub overhead: Bytes,
}

/// An 802.11 cell's channel and medium access.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its name.
    pub name: String,
    /// Propagation delay between any two nodes.
    pub delay: Span,
    /// Of data, unless a station has its own.
    pub data_rate: BitRate,
    /// Of control frames.
    pub basic_rate: BitRate,
    /// Unit of back-off.
    pub slot: Span,
    /// Between a frame and its answer.
    pub sifs: Span,
    /// Before data.
    pub preamble: Span,
    /// Before control frames.
    pub control_preamble: Span,
    /// Length of an OFDM symbol; zero for none.
    pub symbol: Span,
    /// What data carry besides the packet.
    pub mac_header: Bytes,
    /// First contention window.
    pub cw_min: u32,
    /// Largest contention window.
    pub cw_max: u32,
    /// Transmissions of a frame without RTS, or of an RTS.
    pub short_retry_limit: u32,
    /// Transmissions of a frame after CTS.
    pub long_retry_limit: u32,
    /// Longer data are announced by RTS.
    pub rts_threshold: Option<Bytes>,
    /// How long after its end a sender waits for the answer.
    pub answer_timeout: Span,
    /// Idle time after a collision before slots count.
    pub eifs: Span,
    /// Whether a frame that finds the channel idle and no back-off pending goes at once.
    pub immediate_access: bool,
    /// Probability that a data frame has errors.
    pub frame_error_rate: f64,
    /// The access point has a port for each station, and gives them equal air time.
    pub airtime_fairness: bool,
    /// Most frames of an A-MPDU; 1 for none.
    pub aggregate_frames: u32,
    /// Largest A-MPDU.
    pub aggregate_bytes: Bytes,
    /// Longest A-MPDU in time, with its preamble.
    pub aggregate_duration: Span,
}

/// A queue and what it sends into.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// `left->right` or `lan:client0`; unique.
    pub name: String,
    /// What it sends into.
    pub kind: PortKind,
    /// The scheme of its queue.
    pub queue: Arc<Config>,
    /// Whether a comparison replaces `queue`.
    pub under_test: bool,
    /// What the link does to packets behind it besides carrying them, if anything.
    pub impairments: Option<Arc<Impairments>>,
    /// Framing of the link in place of its overhead.
    pub framing: Option<Framing>,
    /// A rate that changes over time, in place of that of `kind`; only of links.
    pub trace: Option<Arc<Trace>>,
    /// The FIFO below the scheme, as a driver's ring; `None` for none.
    pub device_queue: Option<Packets>,
    /// Size of the token bucket that shapes the link; `None` for a wire.
    pub burst: Option<Bytes>,
}

impl Port {
    /// It sends into one direction of a link.
    #[must_use]
    pub const fn is_link(&self) -> bool {
        matches!(self.kind, PortKind::Link { .. })
    }

    /// The node that this port belongs to.
    #[must_use]
    pub const fn node(&self) -> usize {
        match self.kind {
            PortKind::Link { from, .. } => from,
            PortKind::Bus { station, .. } | PortKind::Cell { station, .. } => station,
        }
    }
}

/// What a port sends into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// One direction of a point-to-point link.
    Link {
        /// Rate of serialisation.
        rate: BitRate,
        /// Propagation delay.
        delay: Span,
        /// Framing added to every packet.
        overhead: Bytes,
        /// The node it leaves.
        from: usize,
        /// The node it reaches.
        to: usize,
    },
    /// A station's interface on a bus. A packet reaches the node of the next port on its route, or its destination.
    Bus {
        /// Index into [`Network::buses`].
        bus: usize,
        /// The node.
        station: usize,
    },
    /// An interface in an 802.11 cell: a station's, which sends to the access point, or the access point's, which sends to
    /// the station that the route names next.
    Cell {
        /// Index into [`Network::cells`].
        cell: usize,
        /// The node.
        station: usize,
        /// The access point: `station` itself where this is its port.
        access_point: usize,
        /// Of data between the two.
        rate: BitRate,
    },
}

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// `bulk[0]`: the group's name and the flow's number in it.
    pub name: String,
    /// Index into [`Network::groups`].
    pub group: usize,
    /// The number in the group.
    pub index: usize,
    /// The node that sends data.
    pub from: usize,
    /// The node that receives data.
    pub to: usize,
    /// Ports on the way of data, in order.
    pub route: Vec<usize>,
    /// Ports on the way of acknowledgements, in order.
    pub ack_route: Vec<usize>,
    /// How it sends.
    pub transport: Arc<Transport>,
    /// Of every packet.
    pub dscp: Dscp,
    /// What it sends.
    pub traffic: Traffic,
    /// When it starts.
    pub start: Start,
    /// When it stops, if before the run does; later than any possible start.
    pub stop: Option<Instant>,
}

/// How a flow sends.
#[allow(clippy::large_enum_variant, reason = "one a group of flows, looked at while the network is built")]
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// TCP; a bulk flow's sender is `unlimited`.
    Tcp {
        /// Of the node `from`.
        sender: sojourn_transport::Config,
        /// Of the node `to`.
        receiver: sojourn_transport::ReceiverConfig,
    },
    /// UDP: packets as they come, no retransmission.
    Udp {
        /// Bytes added to the payload (IPv4 and UDP: 28).
        header: Bytes,
        /// The receiver returns every datagram.
        echo: bool,
    },
}

/// When a flow starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this instant.
    At(Instant),
    /// Uniform between the two, drawn for each flow and replication.
    Uniform(Instant, Instant),
}
