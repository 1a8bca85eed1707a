//! The document: what a person writes. Every default is written here and printed by [`Document::to_json`],
//! so that a canonical document keeps its meaning when a default changes.

use super::cell::CellTable;
use super::flow::FlowTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::Config;
use sojourn_document::{Quantity, Scheme};
use sojourn_units::{BitRate, Bytes, Packets, Span};

/// A scenario: a network, its flows and how long to watch them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(title = "Sojourn scenario")]
pub struct Document {
    /// What results and reports call it.
    pub name: String,
    /// A sentence for reports.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How long a run lasts.
    pub duration: Quantity<Span>,
    /// Statistics start here; shorter than `duration`.
    #[serde(default)]
    pub warm_up: Quantity<Span>,
    /// Seed of the random streams.
    #[serde(default = "one")]
    pub seed: u64,
    /// Replications of a comparison that names no other number.
    #[serde(default = "five")]
    pub replications: u32,
    /// Time series to keep; none unless asked for here or by the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesTable>,
    /// Each queue under test is also measured in windows of so many packets offered to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Quantity<Packets>>,
    /// Nodes and groups of nodes; a node that a link or bus names exists without being declared.
    #[serde(default)]
    pub nodes: Vec<NodeTable>,
    /// Full-duplex point-to-point links.
    #[serde(default)]
    pub links: Vec<LinkTable>,
    /// Shared channels with carrier sense.
    #[serde(default)]
    pub buses: Vec<BusTable>,
    /// 802.11 cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellTable>,
    /// Who sends what to whom.
    #[serde(default)]
    pub flows: Vec<FlowTable>,
    /// What changes during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeTable>,
}

/// Another scheme for a queue, at a time. What waits moves over with its age; what the new scheme cannot hold is dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct ChangeTable {
    /// When; before the end of the run.
    pub at: Quantity<Span>,
    /// The queue, as results call it, `left->right` or `lan:client0`; without it, every queue under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The new scheme.
    pub scheme: Scheme,
}

/// Time series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct SeriesTable {
    /// Time between samples.
    pub interval: Quantity<Span>,
    /// Each flow's goodput as well, `goodput_bit_s:` and the flow's name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flows: bool,
}

/// A node, or a group of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct NodeTable {
    /// Of the node; with `count`, of the group.
    pub name: String,
    /// Makes a group of so many nodes `name0`, `name1`, ...; without it, one node `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

/// A full-duplex point-to-point link, or one for every node of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct LinkTable {
    /// Of the link.
    pub name: String,
    /// Node or group. A group is linked node by node: to the one node `to`, or to the nodes of a group of the same size.
    pub from: String,
    /// Node or group.
    pub to: String,
    /// Of serialisation, in both directions.
    pub rate: Quantity<BitRate>,
    /// Propagation delay, in both directions.
    pub delay: Quantity<Span>,
    /// Framing added to every packet.
    #[serde(default)]
    pub overhead: Quantity<Bytes>,
    /// Scheme of the queue from `from` to `to`.
    #[serde(default = "default_queue")]
    pub queue: Scheme,
    /// Scheme of the queue from `to` to `from`.
    #[serde(default = "default_queue")]
    pub reverse_queue: Scheme,
    /// A comparison replaces `queue`.
    #[serde(default)]
    pub under_test: bool,
    /// A comparison replaces `reverse_queue`.
    #[serde(default)]
    pub reverse_under_test: bool,
    /// A FIFO of so many packets below each of the two schemes, as a driver's ring has; `0 p` for none.
    #[serde(default)]
    pub device_queue: Quantity<Packets>,
}

/// A shared half-duplex channel with carrier sense (CSMA).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct BusTable {
    /// Of the bus.
    pub name: String,
    /// Of transmission.
    pub rate: Quantity<BitRate>,
    /// Propagation delay; the channel stays busy for it after every transmission.
    pub delay: Quantity<Span>,
    /// Framing added to every packet.
    #[serde(default)]
    pub overhead: Quantity<Bytes>,
    /// Nodes and groups on it, at least two nodes.
    pub stations: Vec<String>,
    /// Scheme of the queue of every station.
    #[serde(default = "default_queue")]
    pub queue: Scheme,
    /// A comparison replaces `queue`.
    #[serde(default)]
    pub under_test: bool,
    /// A FIFO of so many packets below the scheme of every station; `0 p` for none.
    #[serde(default)]
    pub device_queue: Quantity<Packets>,
    /// Stations whose queue is another than `queue`, as the port of a switch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortTable>,
}

/// The queue of one station of a bus, or of a group of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PortTable {
    /// Node or group, one of the bus's stations.
    pub name: String,
    /// Its scheme.
    #[serde(default = "default_queue")]
    pub queue: Scheme,
    /// A comparison replaces `queue`.
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
