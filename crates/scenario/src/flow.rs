//! The document's flows: transport, traffic, start and the random amounts in them.

mod tcp;

pub use sojourn_traffic::{Amount, TrafficTable};
pub use tcp::{Tcp, TcpTable};

use schemars::{JsonSchema, Schema};
use serde::de::{self, value::MapAccessDeserializer, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use sojourn_aqm::Dscp;
use sojourn_document::tagged;
use sojourn_document::Quantity;
use sojourn_units::{Bytes, Span};
use std::borrow::Cow;
use std::fmt;

/// A group of flows: one flow from a node to another, or one for each node of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct FlowTable {
    /// Name of the group; its flows are called `name[0]`, `name[1]`, and so on. The name of a flow chooses its random
    /// numbers: with another name it starts and sends at other random times.
    pub name: String,
    /// Node or group that sends data.
    pub from: String,
    /// Node or group that receives data. With groups there are as many pairs as the larger group has nodes; pair i
    /// connects node i of one group to node i of the other, each modulo its size.
    pub to: String,
    /// Number of flows for each pair; flow i of the group belongs to pair i modulo the number of pairs.
    #[serde(default = "one")]
    pub count: u32,
    /// Nodes that data packets pass, in this order; between them they take shortest paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
    /// Nodes that acknowledgements pass; without it they take `route` backwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_route: Option<Vec<String>>,
    /// When the flows start.
    #[serde(default)]
    pub start: StartTable,
    /// Time at which the flows stop; without it they send until the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Quantity<Span>>,
    /// How the flows send. By default traffic that has a rate of its own (`cbr`, `replay`, `poisson` and others) runs over UDP,
    /// and all other traffic over TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TransportTable")]
    pub transport: Option<TransportTable>,
    /// What the flows send.
    #[serde(default)]
    pub traffic: TrafficTable,
    /// Differentiated services codepoint of every packet of the flows, those of the receiver included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Quantity<Dscp>>,
}

fn one() -> u32 {
    1
}

impl FlowTable {
    /// How the flows send, by default as their traffic asks for.
    #[must_use]
    pub fn transport(&self) -> Cow<'_, TransportTable> {
        match &self.transport {
            Some(table) => Cow::Borrowed(table),
            None if self.traffic.has_own_rate() => Cow::Owned(TransportTable::Udp(UdpTable::default())),
            None => Cow::Owned(TransportTable::Tcp(TcpTable::default())),
        }
    }

    /// Writes out what was left to its default.
    pub(super) fn normalise(&mut self) {
        let transport = self.transport().into_owned();
        self.transport = Some(transport);
    }
}

tagged! {
    /// How a flow sends: by TCP or by UDP. A table without `kind` is TCP's.
    #[schemars(transform = tcp_without_kind)]
    pub enum TransportTable (default "tcp", "a table, as in {kind = \"tcp\", congestion_control = \"cubic\"}") {
        /// TCP. Most defaults are those of Linux, with CUBIC; where Linux has another value, the key says so.
        Tcp(TcpTable) = "tcp",
        /// UDP: packets are sent as the application makes them, without retransmission.
        Udp(UdpTable) = "udp",
    }
}

/// Makes `kind` optional in the schema of TCP, the first alternative, as it is in the document.
fn tcp_without_kind(schema: &mut Schema) {
    let tcp = schema.get_mut("oneOf").and_then(|kinds| kinds.get_mut(0)).and_then(|tcp| tcp.as_object_mut());
    if let Some(tcp) = tcp {
        tcp.remove("required");
    }
}

/// UDP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct UdpTable {
    /// Bytes of headers added to the payload. 28 B are IPv4 and UDP; with 0 B the payload is the whole packet, which
    /// suits queueing theory.
    pub header: Quantity<Bytes>,
    /// The receiver returns every datagram at once over the way of acknowledgements, as ping does; the time until it is back is
    /// the flow's round-trip time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub echo: bool,
}

impl Default for UdpTable {
    fn default() -> Self {
        Self { header: Quantity(Bytes::new(28)), echo: false }
    }
}

/// When the flows of a group start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum StartTable {
    /// All flows start at this time.
    At(Quantity<Span>),
    /// Each flow starts at a random time, uniformly distributed between two times.
    Uniform {
        /// Earliest and latest time.
        uniform: [Quantity<Span>; 2],
    },
    /// Flow i starts at `first` plus i times `every`.
    Every {
        /// Start of flow 0.
        #[serde(default)]
        first: Quantity<Span>,
        /// Time between the starts of one flow and the next.
        every: Quantity<Span>,
    },
}

impl Default for StartTable {
    fn default() -> Self {
        Self::At(Quantity(Span::ZERO))
    }
}

impl<'de> Deserialize<'de> for StartTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Keys {
            uniform: Option<[Quantity<Span>; 2]>,
            first: Option<Quantity<Span>>,
            every: Option<Quantity<Span>>,
        }
        const ALLOWED: &str =
            "a time, as in \"1 s\", or {uniform = [\"0 s\", \"1 s\"]}, or {first = \"0 s\", every = \"1 s\"}";
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = StartTable;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(ALLOWED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<StartTable, E> {
                text.parse().map(|at| StartTable::At(Quantity(at))).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<StartTable, E> {
                Err(E::custom(format_args!("{n} has no unit; allowed: {ALLOWED}")))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StartTable, A::Error> {
                match Keys::deserialize(MapAccessDeserializer::new(map))? {
                    Keys { uniform: Some(uniform), first: None, every: None } => Ok(StartTable::Uniform { uniform }),
                    Keys { uniform: None, first, every: Some(every) } => {
                        Ok(StartTable::Every { first: first.unwrap_or_default(), every })
                    }
                    _ => Err(de::Error::custom(format_args!("is not a start time; allowed: {ALLOWED}"))),
                }
            }
        }
        deserializer.deserialize_any(Form)
    }
}
