//! The tables of the file. Every default is written here.

use super::choices::{Design, DirectionName, Idle, Level, Log, Mode, ZeroCopy};
use crate::port::BackEnd;
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use sojourn_aqm::{link_effects, Framing, Impairments, Loss};
use sojourn_document::{Quantity, Scheme, TraceTable};
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
    /// Schemes in shared libraries; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugins: Option<PluginsTable>,
    /// How the process runs.
    #[serde(default)]
    pub run: RunTable,
}

/// Schemes in shared libraries (`sojourn_aqm.h`, version 1). A library is loaded before privileges are dropped, and is trusted
/// as sojournd itself. A crash of one, or a call of more than 10 ms of processor time, ends the process. The service manager
/// starts it again, and from then on `fallback` runs in place of that library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PluginsTable {
    /// Folder of the libraries. Folder and libraries must be owned by root and writable by root alone.
    #[serde(default = "plugins_folder")]
    pub folder: PathBuf,
    /// Names of the libraries in this folder, as in `["libmy_pie.so"]`. Schemes may then name their algorithms.
    #[serde(default)]
    pub libraries: Vec<String>,
    /// Built-in scheme that replaces a plug-in that has failed.
    #[serde(default = "plugins_fallback")]
    pub fallback: Scheme,
    /// File that records failures: plug-in, time and lost packets, as JSON. A plug-in that is named in it is not used; delete
    /// the file to try it again. Another build of a library is another plug-in.
    #[serde(default = "plugins_record")]
    pub record: PathBuf,
}

fn plugins_folder() -> PathBuf {
    "/usr/lib/sojournd/plugins".into()
}

fn plugins_record() -> PathBuf {
    "/var/lib/sojournd/plugins.json".into()
}

fn plugins_fallback() -> Scheme {
    let text = "fq_codel";
    #[expect(clippy::expect_used, reason = "a built-in scheme; a test reads the defaults")]
    Scheme(text.parse().expect("a built-in scheme"))
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

/// One of the two ports, between which frames are forwarded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PortTable {
    /// How the port receives and sends frames.
    pub back_end: BackEnd,
    /// Name of the network interface. For `af_xdp` and `af_packet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The only receive queue of the interface that is read, numbered from 0. Without it all queues are read. For
    /// `af_xdp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// Where the XDP program runs: in the driver if it can (`auto`), only in the driver (`native`), or in the kernel
    /// before its network stack (`generic`). For `af_xdp`.
    #[serde(default)]
    pub mode: Mode,
    /// Whether the driver uses the frame memory directly, without a copy: if it can (`auto`) or never (`off`). For
    /// `af_xdp`.
    #[serde(default)]
    pub zero_copy: ZeroCopy,
    /// Capture file (pcap or pcapng) from which frames are read. Without it no frames arrive. For `pcap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<PathBuf>,
    /// Capture file to which frames are written, always in pcap format. Without it sent frames are discarded. For
    /// `pcap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<PathBuf>,
    /// The device, either as DPDK's `--vdev` takes it (`net_af_packet0,iface=eth0`) or as a PCI address
    /// (`0000:01:00.0`). For `dpdk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Rate of generated arrivals, up to 10 Tbit/s: UDP frames of `load_size` from 16 flows. For `loopback`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Quantity<BitRate>>,
    /// Length of the frames of `load` without FCS, 60 B to 1514 B. For `loopback`.
    #[serde(default = "thousand")]
    pub load_size: Quantity<Bytes>,
    /// Capture file (pcapng) that records every frame that passes the port. Without it nothing is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// Random faults that are injected into arriving frames, for tests. Without it there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultsTable>,
}

/// Random faults for tests. Each is a probability from 0 to 1 that applies to every arriving frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct FaultsTable {
    /// The frame is lost.
    #[serde(default)]
    pub loss: f64,
    /// The frame arrives twice.
    #[serde(default)]
    pub duplication: f64,
    /// The next frame overtakes it.
    #[serde(default)]
    pub reordering: f64,
    /// One bit of the frame is inverted.
    #[serde(default)]
    pub corruption: f64,
    /// Seed of the random numbers.
    #[serde(default = "one")]
    pub seed: u64,
}

macro_rules! with_effects {
    ({ $($head:tt)* } { $($before:tt)* } { $($after:tt)* } $({
        $key:ident $reverse:ident ($value:ty $(as $name:literal)?) state $state:tt there $there:tt back $back:tt
        device ($(#[$device:meta])*) $($words:tt)*
    })*) => {
        $($head)* {
            $($before)*
            $(
                $(#[$device])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $key: Option<Quantity<$value>>,
            )*
            $($after)*
        }

        impl Default for DirectionTable {
            fn default() -> Self {
                Self {
                    scheme: None,
                    rate: None,
                    trace: None,
                    framing: None,
                    overhead: Quantity::default(),
                    burst: burst(),
                    stale_after: stale_after(),
                    delay: Quantity::default(),
                    delays: BTreeMap::new(),
                    $($key: None,)*
                    changes: Vec::new(),
                }
            }
        }

        impl DirectionTable {
            /// What the link does to frames besides carrying them.
            #[must_use]
            pub fn impairments(&self) -> Impairments {
                Impairments { $($key: self.$key.map(|value| value.0)),* }
            }
        }
    };
}

link_effects! { with_effects {
    /// One direction of forwarding. `scheme` belongs together with `rate` or `trace`; without them frames are forwarded immediately.
    /// The keys of the link behind the queue have the names and values that they have in scenarios.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, expecting = "a table")]
    pub struct DirectionTable
} {
    /// Queueing scheme. It can be changed while sojournd runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// Rate to which the direction is shaped, 1 kbit/s to 10 Tbit/s. It can be changed while sojournd runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity<BitRate>>,
    /// A rate that changes over time, in place of `rate`: a table as in scenarios, except `states`. Its time begins with
    /// sojournd. A `file` is relative to the folder of the configuration. `opportunities` count bytes from the IP header on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceTable>,
    /// What the link adds to a packet, its least frame and its cells, in place of `overhead`: words of tc-cake(8), which count
    /// from the IP header on. `raw` makes `rate` that of IP packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing: Option<Quantity<Framing>>,
    /// Bytes that the link adds to every frame, besides those from the destination address to the end of the payload.
    /// `24 B` makes `rate` that of an Ethernet line (FCS, preamble, gap).
    #[serde(default)]
    pub overhead: Quantity<Bytes>,
    /// How much lateness of the packet thread is made up: frames that fell due within this time leave at once, as
    /// fast as the port takes them. Further lateness reduces the rate and is counted in `late_s`. A larger value
    /// keeps the rate on a busy host; a smaller one protects a small buffer behind the device.
    #[serde(default = "burst")]
    pub burst: Quantity<Span>,
    /// A frame that has left the queue is dropped if the port has had no room for it for this time, for example
    /// because the link is down.
    #[serde(default = "stale_after")]
    pub stale_after: Quantity<Span>,
    /// Constant delay after the queue, up to 60 s, which emulates a longer path. It can be changed while sojournd
    /// runs.
    #[serde(default)]
    pub delay: Quantity<Span>,
    /// Delays for frames to certain destination networks, `{ "10.0.1.0/24" = "20 ms" }`, which give hosts their own
    /// round-trip times. The most specific network that contains the destination applies. Up to 1024 networks, each
    /// delay up to 60 s.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub delays: BTreeMap<String, Quantity<Span>>,
} {
    /// Changes at given times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeTable>,
} }

/// A change of a direction at a given time; what is left out stays. A delay that changes lets frames overtake those on their way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct ChangeTable {
    /// Time since the start of sojournd.
    pub at: Quantity<Span>,
    /// Repeat the change after each such time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Quantity<Span>>,
    /// The new rate; not of a direction with a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity<BitRate>>,
    /// The new delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Quantity<Span>>,
    /// The new random loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Quantity<Loss>>,
    /// The new scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
}

/// How DPDK runs, for ports with `back_end = "dpdk"`. They need a build with the feature `dpdk`. DPDK uses huge pages
/// if 64 MiB of them are free.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct DpdkTable {
    /// CPUs to use. The first one runs the packet thread, which decides; up to four more share receiving and sending
    /// at both ports. Each is fully loaded. Without it the packet thread does everything, on any CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u32>,
    /// Further arguments of DPDK's environment layer (EAL), for example `["--log-level=debug"]`. Devices, cores and
    /// memory are set automatically.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

/// Frame memory, which holds every frame between arrival and departure and so bounds how much can wait. sojournd does
/// not start if the frames need more memory than the machine, its control group or its limits (`ulimit`) leave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct FramesTable {
    /// Number of frames, 256 to 4,194,304.
    #[serde(default = "frame_count")]
    pub count: u32,
    /// Size of one frame, with 256 B of headroom: `2048 B`, `4096 B`, or for jumbo frames `16384 B` (not with
    /// `af_xdp`).
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
    /// Number of arrivals in one window, up to 10^12. A change of the scheme ends a window early.
    #[serde(default = "two_million")]
    pub packets: u64,
    /// SQLite file that stores the windows, or `none`. A file that is damaged, or is not a store of this version, is
    /// renamed and a new one is created.
    #[serde(default = "store")]
    pub store: PathOrNone,
}

impl Default for WindowsTable {
    fn default() -> Self {
        Self { packets: two_million(), store: store() }
    }
}

/// A switchback experiment: time is divided into slots, and each slot gets a randomly drawn scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct ScheduleTable {
    /// Names and schemes from which slots are drawn, 2 to 1000 of them.
    pub schemes: BTreeMap<String, Scheme>,
    /// Length of a slot, 10 ms to 366 days (8784 h).
    #[serde(default = "hour")]
    pub every: Quantity<Span>,
    /// Seed of the draws: the same seed and schemes give the same assignment.
    pub seed: u64,
    /// How slots are drawn: each independently (`random`), or every scheme once in each block of slots, in random
    /// order (`blocks`).
    #[serde(default)]
    pub design: Design,
    /// The direction whose scheme changes.
    #[serde(default)]
    pub direction: DirectionName,
    /// Start the experiment with sojournd; otherwise it is started on request.
    #[serde(default = "yes")]
    pub start: bool,
}

/// The control interfaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct ControlTable {
    /// Address and port of the HTTP interface, on loopback only, or `none`. Requests need the token. If the port is
    /// in use, sojournd retries every 5 s; with port 0 the system chooses a free port, which `sojournd status`
    /// prints.
    #[serde(default = "listen")]
    pub listen: Listen,
    /// Unix socket of the HTTP interface, or `none`. It is open to root and `run.user`, without a token.
    #[serde(default = "socket")]
    pub socket: PathOrNone,
    /// File with the bearer token. If it does not exist, it is created with a random token. No other user may be able
    /// to read it.
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
    /// What the packet thread does when it has nothing to do: poll again at once, which uses one core fully (`spin`),
    /// or sleep until a frame arrives or is due (`wait`).
    #[serde(default)]
    pub idle: Idle,
    /// User that sojournd becomes when its ports are open, if started as root. Store, token and sockets are opened as
    /// this user, which should be used by nothing else: `useradd --system --user-group sojournd`. The Debian package
    /// creates it.
    #[serde(default = "own_user")]
    pub user: String,
    /// Seed of the schemes' random numbers; without it, it is drawn at each start. It is also the key of the flow
    /// hash if no port is `af_xdp`, `af_packet` or `dpdk`. With these ports the key is a secret, drawn at each start
    /// and stored nowhere, so that nobody can choose flows that collide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Priority relative to other processes, from -20 (highest) to 19, as for `nice`. The unit of the Debian package
    /// sets the same value. Without permission sojournd keeps its present priority and logs a warning.
    #[serde(default = "niceness")]
    pub niceness: i32,
    /// Real-time priority of the packet thread (`SCHED_RR`, 1): it runs before every ordinary process of the host, whatever
    /// their niceness and control group. On a busy host this raises the rate, but can raise the longest delays. With
    /// `idle = "spin"` the thread needs a processor of its own. Without permission it keeps its niceness, with a warning.
    #[serde(default)]
    pub real_time: bool,
    /// Interval at which the state is updated, 10 ms to 10 s: for the page, the metrics and the live quantiles.
    #[serde(default = "status_every")]
    pub status_every: Quantity<Span>,
    /// Print the state to standard output whenever it is updated, and once more at the end: one JSON document a line, as
    /// `GET /status` answers.
    #[serde(default)]
    pub status_lines: bool,
    /// Format of the log lines on standard error. Like all keys of `run` it takes effect only at a start.
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
            real_time: false,
            status_every: status_every(),
            status_lines: false,
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
