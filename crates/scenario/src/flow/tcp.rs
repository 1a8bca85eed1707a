//! TCP in the document: every parameter with Linux's default and the texts'.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use sojourn_aqm::acts::Acts::{With, Without};
use sojourn_aqm::acts::ON;
use sojourn_document::keys;
use sojourn_document::keys::{KeySet, Listed, Scalar};
use sojourn_transport::congestion::{self, Algorithm, ALGORITHMS};
use sojourn_transport::{
    AckPolicy, Config, Ect, EctOn, FeedbackRule, IdleRestart, ReceiverConfig, Recovery, RtoRule, WindowUnit,
};
use sojourn_units::{BitRate, Bytes, Packets, Span};
use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

// The defaults are what the transport's own are.
fn sender() -> Config {
    Config::default()
}

fn receiver() -> ReceiverConfig {
    ReceiverConfig::default()
}

keys! {
    /// Keys of TCP whatever the congestion control. Most defaults are those of Linux, with CUBIC.
    pub struct Tcp {
        /// Congestion control. Linux `cubic`; RFC 5681 `newreno`.
        congestion_control: &'static Algorithm = sender().congestion_control;
        /// How lost segments are detected and retransmitted. Linux `rack` (`tcp_recovery` 1) with `tail_loss_probe`; RFC
        /// 6675 `sack`.
        recovery: Recovery = sender().recovery;
        /// Tail loss probe, with `sack` and `rack`. Linux true (`tcp_early_retrans` 3); RFC 8985, section 7, recommends it.
        tail_loss_probe: bool = sender().tail_loss_probe;
        /// Undo a reduction of the window that was not needed, with `recovery` `rack`: Eifel (RFC 3522, 4015), F-RTO (RFC 5682)
        /// and, with `ack_policy` `linux`, DSACK (RFC 2883, 3708). Linux true (`tcp_frto` 2, `tcp_dsack` 1); RFC 5682 and RFC
        /// 4015 allow it.
        undo: bool = sender().undo;
        /// Tick of the clock by which retransmission timer, tail loss probe and RACK's reordering timer expire, with `recovery`
        /// `rack`; the latter two wait two ticks more. Linux 4 ms in Debian (`CONFIG_HZ` 250), 1 ms or 10 ms elsewhere; RFC 6298
        /// leaves it to the host. It is 0 s here, for no ticks.
        timer_tick: Span = sender().tick;
        /// Payload of a full segment; 1448 B give an IP packet of 1500 B. Linux 1448 B over Ethernet; RFC 9293 536 B if
        /// peer and path state nothing, less the options.
        mss: Bytes = sender().mss;
        /// Initial congestion window. Linux 10 p; RFC 6928 10 p, RFC 5681 3 p of this size.
        initial_window: Packets = sender().initial_window;
        /// Upper limit of the congestion window. Linux none (`snd_cwnd_clamp`); the RFCs define none; ns-2 20 p
        /// (`window_`).
        window_limit: Option<Packets> = sender().window_limit.map(|bytes| Packets::new(bytes.get() / sender().mss.get().max(1)));
        /// Limited transmit: the first duplicate acknowledgements send new segments. Linux true; RFC 3042 recommends it.
        limited_transmit: bool = sender().limited_transmit;
        /// Proportional rate reduction during recovery; without it the window is reduced at once. Linux true (RFC 6937);
        /// RFC 5681 false.
        prr: bool = sender().prr => [Without("congestion_control", &["bbr", "bbr3"])];
        /// How the retransmission timeout is computed from the RTT, also after a lost SYN. Linux `linux`; RFC 6298 `rfc`;
        /// ns-3 `ns3`.
        rto: RtoRule = sender().rto;
        /// Smallest retransmission timeout. Linux 200 ms; RFC 6298 1 s.
        min_rto: Span = sender().min_rto;
        /// Retransmission timeout before the first RTT sample, used for SYN and SYN-ACK. Linux 1 s; RFC 6298 1 s.
        initial_rto: Span = sender().initial_rto;
        /// Largest retransmission timeout, including back-off. Linux 120 s; RFC 6298 60 s or more, if any.
        max_rto: Span = sender().max_rto;
        /// Timestamps, which also give RTT samples from retransmissions. Linux true; RFC 7323 leaves it to the host.
        /// Without them segments are 12 B shorter.
        timestamps: bool = sender().timestamps;
        /// Tick of the timestamps' clock: an RTT is taken from timestamps only where segments were sent again, in whole ticks. Linux
        /// 1 ms (6.1; `TCP_TS_HZ` 1000); RFC 7323 1 ms to 1 s. It is 0 s here, for exact times.
        timestamp_tick: Span = sender().timestamp_tick => [With("timestamps", ON), Without("rto", &["ns3"])];
        /// Use ECN (RFC 3168; with `dctcp` RFC 8257). Linux false for connections that it opens (`tcp_ecn` 2); RFC 3168
        /// leaves it to the host.
        ecn: bool = sender().ecn => [Without("ecn_accept", &["false"])];
        /// The receiver accepts ECN if the sender asks for it. Linux true (`tcp_ecn` 2); RFC 3168 leaves it to the host.
        ecn_accept: bool = receiver().ecn => [With("ecn", ON)];
        /// How the receiver reports marks. `auto` is what the congestion control reads: RFC 9768 with `prague`, RFC 8257 with
        /// `dctcp`, else RFC 3168. Linux `classic`, or `accecn` with `tcp_ecn` 3; RFC 9768 recommends `accecn`.
        ecn_feedback: FeedbackRule = sender().ecn_feedback => [With("ecn", ON)];
        /// The receiver speaks Accurate ECN (RFC 9768) if the sender asks for it; without, the connection falls back to
        /// classic ECN (RFC 3168). Linux true with `tcp_ecn` 3 to 5; RFC 9768 true.
        accecn_accept: bool = true => [With("ecn", ON), With("ecn_feedback", &["accecn"])];
        /// Acknowledgements carry the option of Accurate ECN, 8 B with two counters. Linux true with `tcp_ecn_option` 2;
        /// RFC 9768 recommends it.
        accecn_option: bool = receiver().accecn_option => [With("ecn", ON), With("ecn_feedback", &["accecn"])];
        /// Open the connection by SYN, SYN-ACK and ACK and close it by FINs; a flow starts with its SYN. Linux, ns-3 and
        /// RFC 9293 true. Without it, data is sent at once, as with ns-2's one-way agents.
        handshake: bool = sender().handshake;
        /// Codepoint of ECN-capable packets: 0 for ECT(0), or 1 for ECT(1), which asks for L4S treatment (RFC 9331).
        /// Linux 0; RFC 3168 either, RFC 8311 0 except for experiments.
        ect: u8 = u8::from(sender().ect == Ect::One) => [With("ecn", ON)];
        /// Which packets are ECN-capable, of both ends. Linux `data`, with Accurate ECN `acks` (`auto` does the same), and
        /// `acks` with `dctcp`, too; RFC 3168 `data`; ECN++ (draft-ietf-tcpm-generalized-ecn) `all`.
        ect_on: EctOn = sender().ect_on => [With("ecn", ON)];
        /// Size of the sender's socket buffer, for payload. Linux grows it to 4 MiB (`tcp_wmem`), of which it uses 3 to 8 % itself; RFC
        /// 9293 leaves it to the host.
        send_buffer: Option<Bytes> = sender().send_buffer;
        /// Bulk traffic fills `send_buffer` in writes of this size. If the buffer limits the flow, its last segment is
        /// then short, unless `nagle` delays it. With `none` the buffer holds whole segments. Linux's bulk senders write
        /// more than the buffer holds, so `none`; ns-3 512 B (`SendSize`); RFC 9293 leaves it to the application.
        write_size: Option<Bytes> = sender().write_size.map(|size| Bytes::new(u64::from(size.get())));
        /// Bulk traffic and transfers write again as soon as anything of a full `send_buffer` is free. Otherwise they wait until
        /// a third of it is, and then fill it, which sends a burst where the buffer limits the flow. Linux false; ns-3 true;
        /// RFC 9293 leaves it to the host.
        write_at_once: bool = sender().write_at_once;
        /// Size of the receiver's socket buffer, which is the window offered at first. Linux grows it to 6 MiB
        /// (`tcp_rmem`), of which 6.1 offers half; RFC 9293 leaves it to the host, up to 1 GiB (RFC 7323).
        receive_buffer: Bytes = receiver().buffer;
        /// Rate at which the receiving application reads; `none` reads at once. A reader that is slower than the sender
        /// closes the window, and the sender probes it (RFC 9293, 3.8.6). Linux and the RFCs leave it to the application.
        read_rate: Option<BitRate> = receiver().read_rate;
        /// Pace segments even if the congestion control sets no rate: at 2 windows per RTT while the window is below half
        /// the threshold, and at 1.2 above. Linux false with most queueing disciplines, true with `fq`
        /// (`tcp_pacing_ss_ratio` 200, `tcp_pacing_ca_ratio` 120); the RFCs leave it to the host.
        pacing: bool = sender().pacing => [Without("congestion_control", &["bbr", "bbr3", "prague"])];
        /// New segments leave in groups, as with Linux's segmentation offload: at most what is sent in a millisecond and
        /// half the window, two at the least; less room than that waits up to a millisecond. The last segment of a group and
        /// of a write carries PSH, which `ack_policy` `linux` acknowledges at once. Linux true, also over links without
        /// offload; the RFCs leave it to the host. It is false here, so that segments leave one by one.
        segmentation_offload: bool = sender().segmentation_offload;
        /// Nagle's algorithm: a short segment waits while data is unacknowledged. Linux true unless TCP_NODELAY; RFC 9293
        /// recommends it. It is false here, so that each write is a packet.
        nagle: bool = sender().nagle;
        /// Reduce the window after an idle time. Linux true (`tcp_slow_start_after_idle` 1); RFC 5681, 4.1 recommends it.
        slow_start_after_idle: bool = sender().slow_start_after_idle => [Without("congestion_control", &["bbr", "bbr3", "ledbat"])];
        /// How an idle time reduces the window. Linux `decay` (RFC 2861); RFC 5681 `initial`. RFC 7661 is not
        /// implemented.
        idle_restart: IdleRestart = sender().idle_restart => [With("slow_start_after_idle", ON)];
        /// Unit in which the congestion window is counted. Linux and ns-2 `packets`; RFC 5681 `bytes`. For full segments
        /// both are the same.
        window_unit: WindowUnit = sender().window_unit;
        /// Number of segments per acknowledgement. Linux 2 p; RFC 9293 2 p, RFC 5681 the same; ns-2's sink 1 p.
        ack_every: Packets = receiver().ack_every;
        /// When the receiver acknowledges beyond that. Linux `linux`; RFC 5681 `rfc`.
        ack_policy: AckPolicy = receiver().ack_policy;
        /// Longest delay of an acknowledgement. Linux 40 ms and, for a slow peer, up to 200 ms; RFC 9293 below 500 ms; ns-3 200 ms.
        delayed_ack: Span = receiver().ack_delay => [Without("ack_every", &["1 p"])];
        /// Number of segments at the start that are acknowledged one by one. Linux 16 p at most; the RFCs 0 p.
        quick_acks: Packets = receiver().quick_acks => [Without("ack_every", &["1 p"])];
    }
}

/// TCP: its own keys, and those of the congestion controls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpTable {
    /// Whatever the congestion control.
    pub tcp: Tcp,
    /// Of single congestion controls.
    pub own: congestion::Keys,
}

static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| TcpTable::default().list().iter().map(|key| key.name).collect());

impl KeySet for TcpTable {
    fn set<E: de::Error>(&mut self, name: &str, value: &Scalar) -> Option<Result<(), E>> {
        self.tcp.set(name, value).or_else(|| self.own.set(name, value))
    }

    fn list(&self) -> Vec<Listed> {
        let mut list = self.tcp.list();
        // Canonical documents have always had them here.
        let at = list.iter().position(|key| key.name == "nagle").unwrap_or(list.len());
        list.splice(at..at, self.own.list());
        list
    }
}

impl Serialize for TcpTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let list = self.list();
        let mut map = serializer.serialize_map(Some(list.len()))?;
        list.iter().try_for_each(|key| map.serialize_entry(key.name, &key.value))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for TcpTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = TcpTable;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TcpTable, A::Error> {
                let mut table = TcpTable::default();
                while let Some(name) = map.next_key_seed(Name)? {
                    map.next_value_seed(Into { table: &mut table, name })?;
                }
                Ok(table)
            }
        }
        deserializer.deserialize_map(Table)
    }
}

/// Reads the name of a key.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        let name = String::deserialize(deserializer)?;
        NAMES.iter().find(|known| **known == name).copied().ok_or_else(|| de::Error::unknown_field(&name, &NAMES))
    }
}

/// Reads the value of a key.
struct Into<'a> {
    table: &'a mut TcpTable,
    name: &'static str,
}

impl<'de> DeserializeSeed<'de> for Into<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let value = Scalar::deserialize(deserializer)?;
        self.table.set(self.name, &value).unwrap_or(Ok(()))
    }
}

impl JsonSchema for TcpTable {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("TcpTable")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for key in Self::default().list() {
            let mut schema = key.schema(generator);
            let of: Vec<String> =
                ALGORITHMS.iter().filter(|one| one.has(key.name)).map(|one| format!("`{}`", one.name)).collect();
            if !of.is_empty() {
                schema.insert("description".to_owned(), format!("{} Only with {}.", key.doc, of.join(" and ")).into());
            }
            properties.insert(key.name.to_owned(), schema.to_value());
        }
        json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
    }
}
