//! The document: what a person writes. Every default is written here and printed by [`Document::to_json`],
//! so that a canonical document keeps its meaning when a default changes.

use super::cell::CellTable;
use super::flow::FlowTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::{Config, Loss};
use sojourn_document::{Quantity, Scheme};
use sojourn_units::{BitRate, Bytes, Packets, Span};

/// A scenario: a network, its flows and how long to watch them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(title = "Sojourn scenario")]
pub struct Document {
    /// Name of the scenario in results and reports.
    pub name: String,
    /// One sentence about the scenario for reports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Simulated time of a run.
    pub duration: Quantity<Span>,
    /// Time at the start of a run that statistics leave out; must be shorter than `duration`.
    #[serde(default)]
    pub warm_up: Quantity<Span>,
    /// Seed of all random numbers.
    #[serde(default = "one")]
    pub seed: u64,
    /// Number of replications in a comparison, unless the command states another.
    #[serde(default = "five")]
    pub replications: u32,
    /// Time series to record; without it none are recorded, unless the command asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesTable>,
    /// Also measure each queue under test in windows of this many offered packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Quantity<Packets>>,
    /// Nodes and groups of nodes. A single node need not be declared if a link, bus or cell names it.
    #[serde(default)]
    pub nodes: Vec<NodeTable>,
    /// Full-duplex point-to-point links.
    #[serde(default)]
    pub links: Vec<LinkTable>,
    /// Shared half-duplex channels with carrier sense.
    #[serde(default)]
    pub buses: Vec<BusTable>,
    /// 802.11 cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellTable>,
    /// Groups of flows: who sends what to whom.
    #[serde(default)]
    pub flows: Vec<FlowTable>,
    /// Changes of queues and links during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeTable>,
}

/// A queue gets another scheme during the run, or its link another rate, delay or loss. With a new scheme, packets that wait move
/// to it and keep their age; packets that it has no room for are dropped. With a new rate or delay, the packet that is being
/// sent still has the old one. A shorter delay lets packets overtake those on their way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct ChangeTable {
    /// Time of the change; must be before the end of the run.
    pub at: Quantity<Span>,
    /// Repeat the change after each such time, until the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Quantity<Span>>,
    /// Name of the queue as in results, for example `left->right` or `lan:client0`; without it, every queue under
    /// test changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The new scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// The new rate, in the direction of this queue; only of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity<BitRate>>,
    /// The new propagation delay, in the direction of this queue; only of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Quantity<Span>>,
    /// The new random loss, in the direction of this queue; only of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Quantity<Loss>>,
}

/// Time series that a run records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct SeriesTable {
    /// Time between samples.
    pub interval: Quantity<Span>,
    /// Record each flow's goodput, too, as `goodput_bit_s:` followed by the flow's name, and of TCP's senders `srtt_ms:`,
    /// `cwnd_packets:`, `ssthresh_packets:` once it is set, `delivery_rate_bit_s:` (newly acknowledged or SACKed in the
    /// interval) and, where it paces, `pacing_rate_bit_s:`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flows: bool,
    /// Record the internal values of the scheme of each queue under test, too: the value's name and the queue's, as in
    /// `drop_probability:left->right`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub internals: bool,
}

/// A node, or a group of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct NodeTable {
    /// Name of the node, or of the group if `count` is given.
    pub name: String,
    /// Makes a group of this many nodes, called `name0`, `name1`, and so on. Without it there is one node `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

/// A full-duplex point-to-point link, or one for every node of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct LinkTable {
    /// Name of the link.
    pub name: String,
    /// Node or group at one end. Each node of a group gets a link of its own, either to the single node `to` or to
    /// the corresponding node of a group of the same size.
    pub from: String,
    /// Node or group at the other end.
    pub to: String,
    /// Rate, in each direction unless `reverse_rate` is given.
    pub rate: Quantity<BitRate>,
    /// Propagation delay, in each direction unless `reverse_delay` is given.
    pub delay: Quantity<Span>,
    /// Rate from `to` to `from`, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<Quantity<BitRate>>,
    /// Propagation delay from `to` to `from`, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_delay: Option<Quantity<Span>>,
    /// Random loss of packets that have been sent, from `from` to `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Quantity<Loss>>,
    /// Random loss from `to` to `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_loss: Option<Quantity<Loss>>,
    /// Bytes of framing added to every packet.
    #[serde(default)]
    pub overhead: Quantity<Bytes>,
    /// Scheme of the queue from `from` to `to`.
    #[serde(default = "default_queue")]
    pub queue: Scheme,
    /// Scheme of the queue from `to` to `from`.
    #[serde(default = "default_queue")]
    pub reverse_queue: Scheme,
    /// The queue is under test: a comparison replaces `queue` by each of its schemes.
    #[serde(default)]
    pub under_test: bool,
    /// The queue is under test: a comparison replaces `reverse_queue` by each of its schemes.
    #[serde(default)]
    pub reverse_under_test: bool,
    /// Size of a FIFO below each of the two schemes, like the transmit ring of a network driver; `0 p` for none.
    #[serde(default)]
    pub device_queue: Quantity<Packets>,
}

/// A shared half-duplex channel with carrier sense (CSMA), such as an old Ethernet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct BusTable {
    /// Name of the bus.
    pub name: String,
    /// Rate of transmission.
    pub rate: Quantity<BitRate>,
    /// Propagation delay; the channel stays busy for this time after every transmission.
    pub delay: Quantity<Span>,
    /// Bytes of framing added to every packet.
    #[serde(default)]
    pub overhead: Quantity<Bytes>,
    /// Nodes and groups on the bus, at least two nodes in all.
    pub stations: Vec<String>,
    /// Scheme of the queue of every station.
    #[serde(default = "default_queue")]
    pub queue: Scheme,
    /// The queue is under test: a comparison replaces `queue` by each of its schemes.
    #[serde(default)]
    pub under_test: bool,
    /// Size of a FIFO below the scheme of every station; `0 p` for none.
    #[serde(default)]
    pub device_queue: Quantity<Packets>,
    /// Stations with a queue other than `queue`, such as the port of a switch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortTable>,
}

/// The queue of one station of a bus, or of a group of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PortTable {
    /// Node or group, one of the bus's stations.
    pub name: String,
    /// Scheme of the queue.
    #[serde(default = "default_queue")]
    pub queue: Scheme,
    /// The queue is under test: a comparison replaces `queue` by each of its schemes.
    #[serde(default)]
    pub under_test: bool,
}

fn one() -> u64 {
    1
}

fn five() -> u32 {
    5
}

/// `pfifo limit 1000p`: where nothing is said, a queue has a limit that only an overload reaches, as Linux's default length.
pub(super) fn default_queue() -> Scheme {
    // pfifo's own default is this limit.
    Scheme(Config::from_pairs("pfifo", &[]).unwrap_or_else(|_| unreachable!("pfifo is registered")))
}
