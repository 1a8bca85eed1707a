//! The tables of the file. Every default is written here.

use super::words::{BackEnd, Design, DirectionName, Idle, Level, Log, Mode, ZeroCopy};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use sojourn_document::{Quantity, Scheme};
use sojourn_units::{BitRate, Bytes, Span};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The device: two ports and what happens between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(title = "sojournd configuration")]
pub struct Config {
    /// The two ports.
    pub ports: PortsTable,
    /// From port A to port B.
    #[serde(default)]
    pub a_to_b: DirectionTable,
    /// The return path.
    #[serde(default)]
    pub b_to_a: DirectionTable,
    /// How DPDK runs.
    #[serde(default)]
    pub dpdk: DpdkTable,
    /// Frame memory.
    #[serde(default)]
    pub frames: FramesTable,
    /// Measurement windows.
    #[serde(default)]
    pub windows: WindowsTable,
    /// Switching among schemes by chance; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleTable>,
    /// The control interfaces.
    #[serde(default)]
    pub control: ControlTable,
    /// How the process runs.
    #[serde(default)]
    pub run: RunTable,
}

/// The two ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PortsTable {
    /// Port A.
    pub a: PortTable,
    /// Port B.
    pub b: PortTable,
}

/// One port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PortTable {
    /// How frames come and go.
    pub back_end: BackEnd,
    /// The network interface; for `af_xdp` and `af_packet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The only receive queue of the interface to read, from 0; absent: all of them. For `af_xdp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// Where the XDP program runs: in the driver where it can (`auto`), in the driver or not at all (`native`), before the
    /// stack (`generic`). For `af_xdp`.
    #[serde(default)]
    pub mode: Mode,
    /// Whether the driver works on the frame memory itself: where it can (`auto`) or never (`off`). For `af_xdp`.
    #[serde(default)]
    pub zero_copy: ZeroCopy,
    /// The capture (pcap or pcapng) to read frames from; absent: none arrive. For `pcap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<PathBuf>,
    /// The capture (pcap, whatever its name) to write frames to; absent: what is sent is forgotten. For `pcap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<PathBuf>,
    /// The device: as DPDK's `--vdev` takes it, `net_af_packet0,iface=eth0`, or a PCI address, `0000:01:00.0`. For `dpdk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Frames that arrive by themselves, at this rate up to 10 Tbit/s: UDP of `load_size`, from 16 flows. For `loopback`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Quantity<BitRate>>,
    /// Length of the frames of `load`, without FCS, 60 B to 1514 B.
    #[serde(default = "thousand")]
    pub load_size: Quantity<Bytes>,
    /// A capture (pcapng) of everything that passes the port; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// Faults that the port makes by chance in what arrives; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultsTable>,
}

/// Faults by chance: each a probability from 0 to 1 for every frame that arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct FaultsTable {
    /// It is lost.
    #[serde(default)]
    pub loss: f64,
    /// It arrives twice.
    #[serde(default)]
    pub duplication: f64,
    /// The next one overtakes it.
    #[serde(default)]
    pub reordering: f64,
    /// One of its bits is inverted.
    #[serde(default)]
    pub corruption: f64,
    /// Of the random numbers.
    #[serde(default = "one")]
    pub seed: u64,
}

/// One direction. `scheme` and `rate` belong together; without them frames are forwarded at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct DirectionTable {
    /// The queueing scheme. Can change while the device runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// The shaped rate, 1 kbit/s to 10 Tbit/s. Can change while the device runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity<BitRate>>,
    /// Counted on the link with every frame, besides its bytes from the destination address to the last of the contents: `24 B`
    /// makes `rate` that of an Ethernet line (FCS, preamble, gap).
    #[serde(default)]
    pub overhead: Quantity<Bytes>,
    /// Time that a packet thread that comes late may catch up on: what fell due in it leaves at once, as fast as the port takes it.
    /// What it is late beyond that is lost to the rate and counted in `late_s`. Longer keeps the rate on a busy host; shorter
    /// spares a small buffer behind the device.
    #[serde(default = "burst")]
    pub burst: Quantity<Span>,
    /// A frame that left the queue and found no room at the port for so long, as the link is down, is dropped.
    #[serde(default = "stale_after")]
    pub stale_after: Quantity<Span>,
    /// A delay line after the queue, up to 60 s: emulates a longer path. Can change while the device runs.
    #[serde(default)]
    pub delay: Quantity<Span>,
    /// Delay lines of other lengths for frames to these networks, `{ "10.0.1.0/24" = "20 ms" }`: hosts with round-trip times
    /// of their own. The smallest network that holds the destination counts. Up to 1024, each up to 60 s.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub delays: BTreeMap<String, Quantity<Span>>,
}

impl Default for DirectionTable {
    fn default() -> Self {
        Self {
            scheme: None,
            rate: None,
            overhead: Quantity::default(),
            burst: burst(),
            stale_after: stale_after(),
            delay: Quantity::default(),
            delays: BTreeMap::new(),
        }
    }
}

/// How DPDK runs, for ports with `back_end = "dpdk"`; they need a build with the feature `dpdk`. DPDK's memory lies in huge
/// pages where 64 MiB of them are free.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct DpdkTable {
    /// CPUs. The first is that of the packet thread, which decides; up to four more share out receiving and sending at both
    /// ports. Each is in full use. Absent: the packet thread does all, on any CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u32>,
    /// Further arguments of DPDK's environment layer (EAL), as `["--log-level=debug"]`. Devices, cores and memory are seen to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

/// Frame memory, which every frame between arrival and departure lies in. Its size bounds what can wait. A device whose frames
/// need more memory than the machine, its control group or its limits (`ulimit`) leave does not start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct FramesTable {
    /// How many, 256 to 4,194,304.
    #[serde(default = "frame_count")]
    pub count: u32,
    /// Bytes of one, 256 of them headroom: `2048 B`, `4096 B`, and for jumbo frames `16384 B`, not with `af_xdp`.
    #[serde(default = "frame_size")]
    pub size: Quantity<Bytes>,
}

impl Default for FramesTable {
    fn default() -> Self {
        Self { count: frame_count(), size: frame_size() }
    }
}

/// Measurement windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct WindowsTable {
    /// Arrivals in one window, up to 10^12. A switch of schemes ends a window early.
    #[serde(default = "two_million")]
    pub packets: u64,
    /// The SQLite file that keeps them, or `none`. A file that is damaged or no store of this version is set aside under another
    /// name.
    #[serde(default = "store")]
    pub store: PathOrNone,
}

impl Default for WindowsTable {
    fn default() -> Self {
        Self { packets: two_million(), store: store() }
    }
}

/// A switchback experiment: a scheme drawn anew for every slot of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct ScheduleTable {
    /// Names and schemes to draw from, at least two and at most 1000.
    pub schemes: BTreeMap<String, Scheme>,
    /// Length of a slot, 10 ms to 366 days (8784 h).
    #[serde(default = "hour")]
    pub every: Quantity<Span>,
    /// Of the draws: the same seed and schemes give the same assignment.
    pub seed: u64,
    /// How slots are drawn: each by itself (`random`), or every scheme once in each block of slots, in random order (`blocks`).
    #[serde(default)]
    pub design: Design,
    /// The direction whose scheme changes.
    #[serde(default)]
    pub direction: DirectionName,
    /// Starts with the device; otherwise on request.
    #[serde(default = "yes")]
    pub start: bool,
}

/// The control interfaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct ControlTable {
    /// Address and port of HTTP, on loopback alone, or `none`. Needs the token. A port that is taken is tried again every 5 s;
    /// with port 0 the system chooses a free one, which `sojournd status` names.
    #[serde(default = "listen")]
    pub listen: Listen,
    /// Unix socket of HTTP, or `none`. Open to root and `run.user`, without token.
    #[serde(default = "socket")]
    pub socket: PathOrNone,
    /// Keeps the bearer token; made with a random one where it is missing. Nobody else may be able to read it.
    #[serde(default = "token_file")]
    pub token_file: PathBuf,
}

impl Default for ControlTable {
    fn default() -> Self {
        Self { listen: listen(), socket: socket(), token_file: token_file() }
    }
}

/// How the process runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct RunTable {
    /// What the packet thread does when nothing is to be done: looks again at once, one core in full use (`spin`), or sleeps
    /// until a frame arrives or something falls due (`wait`).
    #[serde(default)]
    pub idle: Idle,
    /// Becomes this user once its ports are open, when started as root. Store, token and sockets are opened as this user, who
    /// should be the device's alone: `useradd --system --user-group sojournd`. The Debian package makes it.
    #[serde(default = "own_user")]
    pub user: String,
    /// Of the schemes' random numbers; absent: drawn at each start. Of the flow hashes as well where no port is `af_xdp`,
    /// `af_packet` or `dpdk`; with these their key is a secret, drawn at each start and stored nowhere, so that nobody can choose
    /// flows that collide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Priority beside other processes, from -20 (first) to 19, as `nice` has it. The unit of the Debian package has the same;
    /// who may not have it runs on with what there is, and the log says so.
    #[serde(default = "niceness")]
    pub niceness: i32,
    /// Time between two looks at the state, 10 ms to 10 s: of the page, the metrics and the live quantiles.
    #[serde(default = "status_every")]
    pub status_every: Quantity<Span>,
    /// Form of the log lines on standard error. Can change only at a start, as all of `run`.
    #[serde(default)]
    pub log: Log,
    /// Least severe level that is logged.
    #[serde(default)]
    pub level: Level,
}

impl Default for RunTable {
    fn default() -> Self {
        Self {
            idle: Idle::default(),
            user: own_user(),
            seed: None,
            niceness: niceness(),
            status_every: status_every(),
            log: Log::default(),
            level: Level::default(),
        }
    }
}

/// The word that leaves something out.
const NONE: &str = "none";

/// A path, or `none`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct PathOrNone(pub Option<PathBuf>);

impl From<String> for PathOrNone {
    fn from(text: String) -> Self {
        Self((text != NONE).then(|| text.into()))
    }
}

impl Serialize for PathOrNone {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(path) => serializer.collect_str(&path.display()),
            None => serializer.serialize_str(NONE),
        }
    }
}

impl JsonSchema for PathOrNone {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("path_or_none")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "a path, or \"none\"" })
    }
}

/// An address of this machine alone with a port, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Listen(pub Option<SocketAddr>);

impl Listen {
    const ALLOWED: &'static str =
        "a loopback address with a port, as in \"127.0.0.1:9180\" or \"[::1]:9180\", or \"none\"";
}

impl TryFrom<String> for Listen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text == NONE {
            return Ok(Self(None));
        }
        let address: SocketAddr = text
            .parse()
            .map_err(|_| format!("\"{text}\" is not an address with a port; allowed: {}", Self::ALLOWED))?;
        if !address.ip().is_loopback() {
            return Err(format!("\"{text}\" can be reached from other machines; allowed: {}", Self::ALLOWED));
        }
        Ok(Self(Some(address)))
    }
}

impl Serialize for Listen {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(address) => serializer.collect_str(address),
            None => serializer.serialize_str(NONE),
        }
    }
}

impl JsonSchema for Listen {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("address")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": Self::ALLOWED })
    }
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

fn thousand() -> Quantity<Bytes> {
    Quantity(Bytes::new(1000))
}

fn burst() -> Quantity<Span> {
    Quantity(Span::from_millis(20))
}

/// With ten busy processes on two cores and `burst` at 1 ms, 13 % of the rate are lost, and 74 % at 0.
fn niceness() -> i32 {
    -10
}

fn stale_after() -> Quantity<Span> {
    Quantity(crate::path::STALE_AFTER)
}

fn hour() -> Quantity<Span> {
    Quantity(Span::from_millis(3_600_000))
}

fn status_every() -> Quantity<Span> {
    Quantity(Span::from_millis(200))
}

fn frame_count() -> u32 {
    16384
}

fn frame_size() -> Quantity<Bytes> {
    Quantity(Bytes::new(2048))
}

/// As the device of Barczyk and Chydzinski (2022) measured.
fn two_million() -> u64 {
    2_000_000
}

fn store() -> PathOrNone {
    PathOrNone(Some("/var/lib/sojournd/windows.sqlite".into()))
}

fn listen() -> Listen {
    Listen(Some(SocketAddr::from(([127, 0, 0, 1], 9180))))
}

fn socket() -> PathOrNone {
    PathOrNone(Some("/run/sojournd/control.sock".into()))
}

fn token_file() -> PathBuf {
    "/var/lib/sojournd/token".into()
}

fn own_user() -> String {
    "sojournd".into()
}
