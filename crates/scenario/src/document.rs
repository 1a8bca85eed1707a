//! The document: what a person writes. Every default is written here and printed by [`Document::to_json`],
//! so that a canonical document keeps its meaning when a default changes.

use super::cell::CellTable;
use super::change::ChangeTable;
use super::flow::FlowTable;
use super::link::LinkTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    /// Also measure the queues under test together, where there are several: results then have a queue `all`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pooled: bool,
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
    /// Changes of queues, links and flows during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeTable>,
}

/// Time series that a run records: `queue_packets`, `sojourn_ms`, `drops_packets_s` and, where it marks, `marks_packets_s`
/// of the queue under test, and `goodput_bit_s` of all flows. Several queues under test have their names behind a colon, as in
/// `queue_packets:left->right`; the 16 busiest are kept. Where the rate of a link behind a queue under test changes, `capacity_bit_s:` and the queue's
/// name are what the link could send.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct SeriesTable {
    /// Time between samples.
    pub interval: Quantity<Span>,
    /// Record each flow's goodput, too, as `goodput_bit_s:` followed by the flow's name, `one_way_delay_ms:`, the mean delay
    /// of its packets that were delivered in the interval, and of TCP's senders `srtt_ms:`,
    /// `cwnd_packets:`, `ssthresh_packets:` once it is set, `delivery_rate_bit_s:` (newly acknowledged or SACKed in the
    /// interval) and, where it paces, `pacing_rate_bit_s:`. A flow that has not begun or has ended has no values (NaN in
    /// tables). It begins at its `start`. It ends when all that its application handed over has been acknowledged and no more
    /// can come, as after its `stop` or with the last byte of a transfer; without TCP it ends at its `stop`. A connection of a
    /// client begins when it is first opened, has no sender while it is opened anew, and ends with the last answer after the
    /// client's `stop`. A flow that sends nothing, or that a change has stopped and may start again, has a goodput of 0.
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
    /// Name of the node, or of the group if `count` is given. It is part of the names of queues, which choose the random
    /// numbers of schemes and links, and of the hashes by which schemes tell flows apart.
    pub name: String,
    /// Makes a group of this many nodes, called `name0`, `name1`, and so on. Without it there is one node `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
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
    #[serde(default = "Scheme::tail_drop")]
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
    #[serde(default = "Scheme::tail_drop")]
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
