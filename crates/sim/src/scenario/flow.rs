//! The document's flows: transport, traffic, start and the random amounts in them.

mod tcp;

pub use tcp::{Tcp, TcpTable};

use schemars::{JsonSchema, Schema};
use serde::de::{
    self, value::MapAccessDeserializer, DeserializeSeed, Deserializer, EnumAccess, MapAccess, VariantAccess, Visitor,
};
use serde::{Deserialize, Serialize};
use sojourn_document::{Quantity, Unit};
use sojourn_units::{BitRate, Bytes, Span};
use std::fmt;
use std::marker::PhantomData;

/// A group of flows: one flow from a node to another, or one for each node of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct FlowTable {
    /// Name of the group; its flows are called `name[0]`, `name[1]`, and so on.
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
    /// How the flows send.
    #[serde(default)]
    pub transport: TransportTable,
    /// What the flows send.
    #[serde(default)]
    pub traffic: TrafficTable,
}

fn one() -> u32 {
    1
}

/// Declares a table whose `kind` chooses among tables: `Variant(Table) = "kind",` with a doc comment each.
/// `default` is the kind of a table that does not say one.
macro_rules! tagged {
    (
        $(#[$meta:meta])*
        pub enum $name:ident (default $default:literal, $expecting:literal) {
            $( $(#[$doc:meta])+ $variant:ident($table:ty) = $kind:literal ),+ $(,)?
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        $(#[$meta])*
        pub enum $name {
            $( $(#[$doc])+ #[serde(rename = $kind)] $variant($table), )+
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const KINDS: &[&str] = &[$($kind),+];
                struct Chosen;
                impl<'de> Visitor<'de> for Chosen {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<$name, A::Error> {
                        let (kind, table) = access.variant_seed(OneOf(KINDS))?;
                        match kind {
                            $( $kind => table.newtype_variant().map($name::$variant), )+
                            unknown => Err(de::Error::unknown_variant(unknown, KINDS)),
                        }
                    }
                }
                deserializer.deserialize_enum($default, KINDS, Chosen)
            }
        }
    };
}

/// Reads one of these words.
struct OneOf(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for OneOf {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        let word = String::deserialize(deserializer)?;
        self.0.iter().find(|known| **known == word).copied().ok_or_else(|| de::Error::unknown_variant(&word, self.0))
    }
}

tagged! {
    /// How a flow sends: by TCP, which is the default, or by UDP.
    #[schemars(transform = tcp_without_kind)]
    pub enum TransportTable (default "tcp", "a table, as in {kind = \"tcp\", congestion_control = \"cubic\"}") {
        /// TCP.
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

impl Default for TransportTable {
    fn default() -> Self {
        Self::Tcp(TcpTable::default())
    }
}

/// UDP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct UdpTable {
    /// Bytes of headers added to the payload. 28 B are IPv4 and UDP; with 0 B the payload is the whole packet, which
    /// suits queueing theory.
    pub header: Quantity<Bytes>,
}

impl Default for UdpTable {
    fn default() -> Self {
        Self { header: Quantity(Bytes::new(28)) }
    }
}

tagged! {
    /// What a flow sends. Sizes and rates are those of the application's payload; the headers of the transport and
    /// the overhead of links come on top, as with ns-3's applications.
    pub enum TrafficTable (default "", "a table, as in {kind = \"cbr\", rate = \"1.5 Mbit/s\", packet_size = \"1400 B\"}") {
        /// An endless stream of data, as fast as TCP allows; TCP only.
        Bulk(BulkTable) = "bulk",
        /// One transfer of a given size; TCP only.
        Transfer(TransferTable) = "transfer",
        /// Packets at a constant bit rate.
        Cbr(CbrTable) = "cbr",
        /// Variable bit rate: ON and OFF periods alternate, with a constant bit rate while ON.
        Vbr(VbrTable) = "vbr",
        /// ON and OFF periods of given lengths, with a constant bit rate while ON, as ns-3's `OnOffApplication`.
        OnOff(OnOffTable) = "on_off",
        /// A Poisson process: exponential times between packets.
        Poisson(PoissonTable) = "poisson",
        /// A Poisson process that switches between two rates.
        SwitchedPoisson(SwitchedTable) = "switched_poisson",
        /// Pareto distributed times between packets.
        Pareto(TailTable) = "pareto",
        /// Weibull distributed times between packets.
        Weibull(TailTable) = "weibull",
    }
}

impl Default for TrafficTable {
    fn default() -> Self {
        Self::Bulk(BulkTable::default())
    }
}

/// Data without end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct BulkTable {}

/// A transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct TransferTable {
    /// Payload of the transfer.
    pub size: Quantity<Bytes>,
}

/// Constant bit rate: `on_off` without OFF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct CbrTable {
    /// Payload rate.
    pub rate: Quantity<BitRate>,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
}

/// Variable bit rate; the default periods are those of S. Shu's thesis (Groningen, 2023), Table 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct VbrTable {
    /// Payload rate while ON.
    pub rate: Quantity<BitRate>,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
    /// Length of an ON period: a time, or a random time.
    #[serde(default = "on")]
    pub on: Amount<Span>,
    /// Length of an OFF period: a time, or a random time. The flow begins with an OFF period.
    #[serde(default = "off")]
    pub off: Amount<Span>,
}

fn on() -> Amount<Span> {
    Amount::Constant(Quantity(Span::from_secs(1)))
}

fn off() -> Amount<Span> {
    Amount::Constant(Quantity(Span::from_millis(1500)))
}

/// ON and OFF periods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct OnOffTable {
    /// Payload rate while ON.
    pub rate: Quantity<BitRate>,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
    /// Length of an ON period: a time, or a random time.
    pub on: Amount<Span>,
    /// Length of an OFF period: a time, or a random time. The flow begins with an OFF period.
    pub off: Amount<Span>,
}

/// A Poisson process, by its rate in payload bits or in packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PoissonTable {
    /// Mean payload rate; give either this or `packets_per_second`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity<BitRate>>,
    /// Mean number of packets a second, instead of `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_per_second: Option<f64>,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
}

/// A Poisson process that switches between two rates: correlated arrivals with a known theory (a Markovian arrival process).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct SwitchedTable {
    /// Packets a second in each phase.
    pub packets_per_second: [f64; 2],
    /// Mean time in each phase; the times are exponentially distributed.
    pub hold: [Quantity<Span>; 2],
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
}

/// Independent inter-departures with a scale and a shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct TailTable {
    /// Scale of the time between packets: k of Pareto, which is its least value, or b of Weibull.
    pub scale: Quantity<Span>,
    /// Shape of the distribution: alpha of Pareto or c of Weibull.
    pub shape: f64,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
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

/// A time or a size that is either constant or drawn at random each time it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(bound = "T: Unit", rename_all = "snake_case")]
#[schemars(bound = "T: Unit")]
pub enum Amount<T: Unit> {
    /// Uniformly distributed between two values.
    Uniform([Quantity<T>; 2]),
    /// Exponentially distributed.
    Exponential(ExponentialTable<T>),
    /// Pareto distributed.
    Pareto(ScaledTable<T>),
    /// Weibull distributed.
    Weibull(ScaledTable<T>),
    /// Always this value.
    #[serde(untagged)]
    Constant(Quantity<T>),
}

/// An exponential distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(bound = "T: Unit", deny_unknown_fields, expecting = "a table")]
#[schemars(bound = "T: Unit")]
pub struct ExponentialTable<T: Unit> {
    /// Mean of the distribution without `max`.
    pub mean: Quantity<T>,
    /// Largest value: the distribution is conditioned on not exceeding it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Quantity<T>>,
}

/// A distribution with a scale and a shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(bound = "T: Unit", deny_unknown_fields, expecting = "a table")]
#[schemars(bound = "T: Unit")]
pub struct ScaledTable<T: Unit> {
    /// k of Pareto, which is its least value, or b of Weibull.
    pub scale: Quantity<T>,
    /// alpha of Pareto or c of Weibull.
    pub shape: f64,
    /// Largest value: the distribution is conditioned on not exceeding it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Quantity<T>>,
}

impl<'de, T: Unit> Deserialize<'de> for Amount<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(bound = "T: Unit", deny_unknown_fields)]
        struct Keys<T: Unit> {
            constant: Option<Quantity<T>>,
            uniform: Option<[Quantity<T>; 2]>,
            exponential: Option<ExponentialTable<T>>,
            pareto: Option<ScaledTable<T>>,
            weibull: Option<ScaledTable<T>>,
        }
        struct Form<T>(PhantomData<T>);
        impl<'de, T: Unit> Visitor<'de> for Form<T> {
            type Value = Amount<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}, or one of {{uniform = [low, high]}}, {{exponential = {{mean, max}}}}, {{pareto = {{scale, shape, max}}}}, {{weibull = {{scale, shape, max}}}}", T::ALLOWED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount<T>, E> {
                text.parse().map(|value| Amount::Constant(Quantity(value))).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Amount<T>, E> {
                Err(E::custom(format_args!("{n} has no unit; allowed: {}", T::ALLOWED)))
            }
            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Amount<T>, E> {
                Err(E::custom(format_args!("{x} has no unit; allowed: {}", T::ALLOWED)))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Amount<T>, A::Error> {
                let keys = Keys::<T>::deserialize(MapAccessDeserializer::new(map))?;
                let given = [
                    keys.constant.map(Amount::Constant),
                    keys.uniform.map(Amount::Uniform),
                    keys.exponential.map(Amount::Exponential),
                    keys.pareto.map(Amount::Pareto),
                    keys.weibull.map(Amount::Weibull),
                ];
                let mut given = given.into_iter().flatten();
                match (given.next(), given.next()) {
                    (Some(amount), None) => Ok(amount),
                    _ => Err(de::Error::custom(
                        "does not name one distribution; allowed: exactly one of constant, uniform, exponential, pareto, weibull",
                    )),
                }
            }
        }
        deserializer.deserialize_any(Form(PhantomData))
    }
}
