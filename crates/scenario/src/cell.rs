//! 802.11 cells in the document: a profile's parameters, and what the user sets over them.

use super::names::Names;
use super::network::{Cell, Port, PortKind};
use schemars::JsonSchema;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use sojourn_document::bounds::{self, positive_rate, up_to};
use sojourn_document::{Error, Path, Step};
use sojourn_document::{OrNone, Quantity, Scheme};
use sojourn_units::{BitRate, Bytes, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An IEEE 802.11 cell: stations and an access point share one channel by CSMA/CA. Packets between two stations pass
/// through the access point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct CellTable {
    /// Name of the cell, which chooses the random numbers of its back-off and frame errors.
    pub name: String,
    /// Node that is the access point; all stations send to it and receive from it.
    pub access_point: String,
    /// Nodes and groups in the cell, without the access point.
    pub stations: Vec<String>,
    /// Standard that supplies the values of all keys that are not given.
    #[serde(default)]
    pub profile: Profile,
    /// Data rates of stations or groups that differ from `data_rate`, in both directions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, Quantity<BitRate>>,
    /// Scheme of the interface queue of every station.
    #[serde(default = "Scheme::tail_drop")]
    pub queue: Scheme,
    /// The queues are under test: a comparison replaces `queue` by each of its schemes.
    #[serde(default)]
    pub under_test: bool,
    /// Scheme of the access point's interface queue.
    #[serde(default = "Scheme::tail_drop")]
    pub access_point_queue: Scheme,
    /// The queue is under test: a comparison replaces `access_point_queue` by each of its schemes.
    #[serde(default)]
    pub access_point_under_test: bool,
    /// The access point has a queue for each station, each with `access_point_queue`, and serves stations so that each
    /// has the same air time, as Linux's mac80211 does. Without it, one queue holds the packets for all stations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub airtime_fairness: bool,
    /// Propagation delay between any two nodes. Two transmissions that begin within this time collide.
    #[serde(default = "micro")]
    pub delay: Quantity<Span>,
    /// Data rate of data frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_rate: Option<Quantity<BitRate>>,
    /// Data rate of RTS, CTS and acknowledgements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic_rate: Option<Quantity<BitRate>>,
    /// Slot time, the unit of back-off. DIFS is SIFS plus two slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Quantity<Span>>,
    /// SIFS, the time between a frame and the answer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sifs: Option<Quantity<Span>>,
    /// Duration of preamble and PHY header before a data frame, including a signal extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preamble: Option<Quantity<Span>>,
    /// Duration of preamble and PHY header before a control frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_preamble: Option<Quantity<Span>>,
    /// Duration of an OFDM symbol; frames last whole symbols, with service and tail bits included. With `0 s` the
    /// duration follows from the number of bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<Quantity<Span>>,
    /// Bytes that a data frame has in addition to the packet: MAC header, LLC/SNAP and check sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_header: Option<Quantity<Bytes>>,
    /// Initial contention window: the back-off is uniform in 0 to `cw_min` slots at first, and the window w becomes 2
    /// w + 1 with every failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,
    /// Largest contention window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,
    /// Number of transmissions of a frame without RTS, or of an RTS, before the frame is dropped.
    #[serde(default = "short_limit")]
    pub short_retry_limit: u32,
    /// Number of transmissions of a frame after CTS before it is dropped.
    #[serde(default = "long_limit")]
    pub long_retry_limit: u32,
    /// Data frames longer than this, with MAC header, are announced by RTS; `none` for no RTS.
    #[serde(default)]
    pub rts_threshold: OrNone<Bytes>,
    /// Time after the end of a frame for which its sender waits for the answer. The default is SIFS, a slot and the
    /// preamble of a control frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_timeout: Option<Quantity<Span>>,
    /// EIFS: how long the channel must be idle after a collision before the nodes that heard it count slots. The
    /// default is SIFS, an acknowledgement and DIFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eifs: Option<Quantity<Span>>,
    /// A frame that finds the channel idle for DIFS, with no back-off pending, is sent immediately; ns-2.35 backs off
    /// even then.
    #[serde(default = "yes")]
    pub immediate_access: bool,
    /// Probability that a data frame has errors; within an A-MPDU, that of each data frame.
    #[serde(default)]
    pub frame_error_rate: f64,
    /// Largest number of data frames in an A-MPDU, which are all for one receiver and are answered by a block
    /// acknowledgement; 1 for no aggregation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate_frames: Option<u32>,
    /// Largest size of an A-MPDU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate_bytes: Option<Quantity<Bytes>>,
    /// Longest duration of an A-MPDU, preamble included. The default is 5.484 ms, the most that the HT-mixed format can
    /// announce. A frame alone may last longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate_duration: Option<Quantity<Span>>,
}

/// Parameters of a standard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Profile {
    /// 2 Mbit/s for data and 1 Mbit/s for control frames: the first standard with direct sequence (IEEE 802.11-1997,
    /// clause 15). `data_rate = "1 Mbit/s"` gives its other rate.
    #[serde(rename = "802.11")]
    First,
    /// 11 Mbit/s for data and 1 Mbit/s for control frames, long preamble (IEEE 802.11-2016, clause 16).
    #[serde(rename = "802.11b")]
    B,
    /// 54 Mbit/s for data and 6 Mbit/s for control frames, short slot, signal extension (IEEE 802.11-2016, clause
    /// 18).
    #[default]
    #[serde(rename = "802.11g")]
    G,
    /// 65 Mbit/s for data and 24 Mbit/s for control frames at 5 GHz: one stream, 20 MHz, A-MPDUs of up to 64 frames
    /// and 65,535 B (IEEE 802.11-2016, clause 19).
    #[serde(rename = "802.11n")]
    N,
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "802.11" => Ok(Self::First),
            "802.11b" => Ok(Self::B),
            "802.11g" => Ok(Self::G),
            "802.11n" => Ok(Self::N),
            unknown => Err(de::Error::unknown_variant(unknown, &["802.11", "802.11b", "802.11g", "802.11n"])),
        }
    }
}

/// aPPDUMaxTime of the HT-mixed format (IEEE 802.11-2016, table 19-25). L-SIG announces at most 4095 B at 6 Mbit/s, with 22
/// bits of service and tail 1366 symbols of 4 us, behind 20 us of preamble.
const ANNOUNCED: Span = Span::from_micros(20 + 1366 * 4);

fn micro() -> Quantity<Span> {
    Quantity(Span::from_micros(1))
}

/// dot11ShortRetryLimit and dot11LongRetryLimit (802.11-2016, annex C).
fn short_limit() -> u32 {
    7
}

fn long_limit() -> u32 {
    4
}

fn yes() -> bool {
    true
}

/// What the profiles differ in.
struct Standard {
    data_rate: u64,
    basic_rate: u64,
    slot: u64,
    sifs: u64,
    preamble: u64,
    control_preamble: u64,
    symbol: u64,
    mac_header: u64,
    cw_min: u32,
    aggregate_frames: u32,
}

impl Profile {
    /// Rates in Mbit/s, times in microseconds, lengths in bytes.
    fn standard(self) -> Standard {
        match self {
            // 802.11b kept all but the rates.
            Self::First => Standard { data_rate: 2, ..Self::B.standard() },
            // Long preamble and header: 144 and 48 bits at 1 Mbit/s. Data: 24 B of header, 8 B of LLC/SNAP, 4 B of check.
            Self::B => Standard {
                data_rate: 11,
                basic_rate: 1,
                slot: 20,
                sifs: 10,
                preamble: 192,
                control_preamble: 192,
                symbol: 0,
                mac_header: 36,
                cw_min: 31,
                aggregate_frames: 1,
            },
            // 16 us of training, 4 us of SIGNAL, 6 us of extension after the frame.
            Self::G => Standard {
                data_rate: 54,
                basic_rate: 6,
                slot: 9,
                sifs: 10,
                preamble: 26,
                control_preamble: 26,
                symbol: 4,
                mac_header: 36,
                cw_min: 15,
                aggregate_frames: 1,
            },
            // HT-mixed format: 20 us as before, HT-SIG 8, HT-STF 4, HT-LTF 4. QoS control makes the header 2 B longer.
            Self::N => Standard {
                data_rate: 65,
                basic_rate: 24,
                slot: 9,
                sifs: 16,
                preamble: 36,
                control_preamble: 20,
                symbol: 4,
                mac_header: 38,
                cw_min: 15,
                aggregate_frames: 64,
            },
        }
    }
}

impl CellTable {
    /// The cell and its ports: the access point's, then the stations'. With air-time fairness, the access point has one
    /// before each station's.
    pub(super) fn resolve(&self, index: usize, names: &Names, path: &Path) -> Result<(Cell, Vec<Port>), Error> {
        let cell = self.parameters(path)?;
        let found = names.find(&self.access_point, path.then("access_point"))?;
        if found.len() != 1 {
            let what = format!("is a group of {} nodes; allowed: one node", found.len());
            return Err(Error::new(path.then("access_point"), what));
        }
        let access_point = found.start;
        let mut rates: BTreeMap<usize, BitRate> = BTreeMap::new();
        for (name, rate) in &self.rates {
            let key = path.then("rates").then(Step::Key(name.clone().into()));
            positive_rate(rate.0, key.clone())?;
            rates.extend(names.find(name, key)?.map(|node| (node, rate.0)));
        }
        let port = |station: usize, rate| Port {
            impairments: None,
            framing: None,
            trace: None,
            name: format!("{}:{}", self.name, names.nodes[station]),
            kind: PortKind::Cell { cell: index, station, access_point, rate },
            queue: Arc::new(if station == access_point { &self.access_point_queue } else { &self.queue }.0.clone()),
            under_test: if station == access_point { self.access_point_under_test } else { self.under_test },
            device_queue: None,
            burst: None,
        };
        let towards = |station: usize| Port {
            name: format!("{}:{}->{}", self.name, names.nodes[access_point], names.nodes[station]),
            ..port(access_point, cell.data_rate)
        };
        let mut ports = if self.airtime_fairness { vec![] } else { vec![port(access_point, cell.data_rate)] };
        for (k, name) in self.stations.iter().enumerate() {
            let at = path.then("stations").then(k);
            for station in names.find(name, at.clone())? {
                if station == access_point || ports.iter().any(|port| port.node() == station) {
                    let node = &names.nodes[station];
                    return Err(Error::new(at, format!("names node {node} twice; allowed: each node once")));
                }
                if self.airtime_fairness {
                    ports.push(towards(station));
                }
                ports.push(port(station, rates.remove(&station).unwrap_or(cell.data_rate)));
            }
        }
        if ports.len() < 2 {
            return Err(Error::new(path.then("stations"), "has no node; allowed: at least one node or a group"));
        }
        if let Some(stray) = rates.keys().next() {
            let what =
                format!("names {}, which is not a station of this cell; allowed: its `stations`", names.nodes[*stray]);
            return Err(Error::new(path.then("rates"), what));
        }
        Ok((cell, ports))
    }

    /// The profile's values and those set over them.
    fn parameters(&self, path: &Path) -> Result<Cell, Error> {
        fn set<T: Copy>(value: Option<Quantity<T>>, standard: T) -> T {
            value.map_or(standard, |value| value.0)
        }
        let standard = self.profile.standard();
        let mbit = |rate: u64| BitRate::from_bit_s(rate * 1_000_000);
        let sifs = set(self.sifs, Span::from_micros(standard.sifs));
        let slot = set(self.slot, Span::from_micros(standard.slot));
        let control_preamble = set(self.control_preamble, Span::from_micros(standard.control_preamble));
        let mut cell = Cell {
            name: self.name.clone(),
            delay: self.delay.0,
            data_rate: set(self.data_rate, mbit(standard.data_rate)),
            basic_rate: set(self.basic_rate, mbit(standard.basic_rate)),
            slot,
            sifs,
            preamble: set(self.preamble, Span::from_micros(standard.preamble)),
            control_preamble,
            symbol: set(self.symbol, Span::from_micros(standard.symbol)),
            mac_header: set(self.mac_header, Bytes::new(standard.mac_header)),
            cw_min: self.cw_min.unwrap_or(standard.cw_min),
            cw_max: self.cw_max.unwrap_or(1023),
            short_retry_limit: self.short_retry_limit,
            long_retry_limit: self.long_retry_limit,
            rts_threshold: self.rts_threshold.0,
            answer_timeout: set(self.answer_timeout, sifs + slot + control_preamble),
            eifs: Span::ZERO,
            immediate_access: self.immediate_access,
            frame_error_rate: self.frame_error_rate,
            airtime_fairness: self.airtime_fairness,
            aggregate_frames: self.aggregate_frames.unwrap_or(standard.aggregate_frames),
            aggregate_bytes: set(self.aggregate_bytes, Bytes::new(65_535)),
            aggregate_duration: set(self.aggregate_duration, ANNOUNCED),
        };
        cell.eifs = set(self.eifs, cell.long_space());
        positive_rate(cell.data_rate, path.then("data_rate"))?;
        positive_rate(cell.basic_rate, path.then("basic_rate"))?;
        let refuse = |key: &'static str, what: String| Err(Error::new(path.then(key), what));
        let set_times = [
            ("slot", Some(cell.slot)),
            ("sifs", Some(cell.sifs)),
            ("preamble", Some(cell.preamble)),
            ("control_preamble", Some(cell.control_preamble)),
            ("symbol", Some(cell.symbol)),
            ("answer_timeout", self.answer_timeout.map(|time| time.0)),
            ("eifs", self.eifs.map(|time| time.0)),
            ("aggregate_duration", Some(cell.aggregate_duration)),
        ];
        for (key, time) in set_times {
            up_to(time.unwrap_or_default(), &bounds::MEDIUM, || path.then(key))?;
        }
        up_to(cell.mac_header, &bounds::FRAMING, || path.then("mac_header"))?;
        for (key, bytes) in [("rts_threshold", cell.rts_threshold), ("aggregate_bytes", Some(cell.aggregate_bytes))] {
            up_to(bytes.unwrap_or_default(), &bounds::DATA, || path.then(key))?;
        }
        if cell.slot.is_zero() {
            return refuse("slot", "is 0; allowed: a time above 0, as in \"9 us\"".into());
        }
        if cell.delay > cell.slot {
            return refuse("delay", format!("is {}; allowed: at most a slot, {}", cell.delay, cell.slot));
        }
        if cell.cw_max < cell.cw_min || cell.cw_max > 1 << 20 {
            return refuse(
                "cw_max",
                format!("is {}; allowed: from `cw_min`, {}, to 1048576", cell.cw_max, cell.cw_min),
            );
        }
        for (key, limit) in [("short_retry_limit", cell.short_retry_limit), ("long_retry_limit", cell.long_retry_limit)]
        {
            if limit == 0 {
                return refuse(key, "is 0; allowed: 1 or more".into());
            }
            up_to(limit, &bounds::RETRIES, || path.then(key))?;
        }
        if !(0.0..1.0).contains(&cell.frame_error_rate) {
            let what = format!("is {}; allowed: at least 0 and less than 1", cell.frame_error_rate);
            return refuse("frame_error_rate", what);
        }
        if !(1..=256).contains(&cell.aggregate_frames) {
            return refuse("aggregate_frames", format!("is {}; allowed: 1 to 256", cell.aggregate_frames));
        }
        Ok(cell)
    }
}
