//! The process: opens what the configuration names, starts the packet thread, answers until it is told to stop.

use crate::api::{self, Api, Token};
use crate::clock::{Clock, Dated};
use crate::config::{self, BackEnd, Config, FaultsTable, Idle, PortTable};
use crate::control::{Control, MakeSchedule, Parts, Recent, Schedules, SharedWindows};
use crate::engine::{Direction, Engine};
use crate::hardening::{self, HardeningError};
use crate::offline::{self, Files};
use crate::path::Path as Way;
use crate::pool::Pool;
use crate::port::{
    self, AfPacket, AfXdp, Generated, Interface, KernelPort, Port, PortError, XdpMode, XdpOptions, ZeroCopy,
};
use crate::port::{Capture, FaultConfig, Faults, Now, Pace, Pcap, PortCounters, Tracer, Writer};
use crate::random::Stream;
use crate::record::{Recorder, Setting, Sink};
use crate::run::{self, Board, Command, RunConfig};
use crate::schedule::{Design, Plan, Schedule};
use crate::status::QueueCounts;
use crate::store::{self, SlotSink, Store, StoreError};
use nix::sched::{sched_setaffinity, CpuSet};
use nix::unistd::Pid;
use serde::Serialize;
use sojourn_units::{BitRate, Probability};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::signal::unix::{signal, SignalKind};
#[cfg(feature = "dpdk")]
use {
    crate::doctor::facts,
    crate::port::eal::{self, Device},
    std::sync::atomic::{AtomicBool, Ordering},
};

/// Room before the contents of a frame (`XDP_PACKET_HEADROOM`).
pub const HEADROOM: usize = 256;
/// Frames of a trace: a gigabyte or two of the longest.
const TRACED: u64 = 1_000_000;

/// Why the device does not run, or stopped running.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Something of the configuration cannot be opened.
    #[error("{0}")]
    Open(#[from] io::Error),
    /// The store cannot be opened.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// Privileges cannot be given up.
    #[error("{0}")]
    Hardening(#[from] HardeningError),
    /// A port cannot be opened or stopped working.
    #[error("{0}")]
    Port(#[from] PortError),
}

/// Runs the device that `config`, read from `file`, describes, until SIGTERM or SIGINT.
///
/// # Errors
/// Something cannot be opened, or a port stopped working.
pub fn run(config: Config, file: &Path) -> Result<(), DaemonError> {
    let clock = Clock::start();
    let dated = Dated::new(clock);
    let mut pool = Pool::new(config.frames.count, config.frames.size.0.get() as usize, HEADROOM)?;
    let ports = open_ports(&config, &mut pool, clock)?;
    let mut files = Vec::new();
    for path in
        [config.control.socket.0.as_deref(), config.windows.store.0.as_deref(), Some(&config.control.token_file)]
    {
        files.extend(path.map(with_folder).transpose()?.flatten());
    }
    let sockets = api::bind(config.control.listen.0, config.control.socket.0.as_deref())?;
    let token = Token::open(&config.control.token_file)?;
    let seed = config.run.seed.map_or_else(drawn, Ok)?;
    let mut store = open_store(&config, seed, dated)?;
    if let Some(path) = &config.windows.store.0 {
        files.push(path.clone());
        files.extend(["-wal", "-shm"].map(|end| PathBuf::from(format!("{}{end}", path.display()))));
    }
    files.extend(config.control.socket.0.clone());
    files.push(config.control.token_file.clone());
    // Its descriptors need no privilege later; its threads are none.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    hardening::lock_down(&config.run.user, &files, elsewhere)?;
    // Now, and not when somebody relies on it.
    if let Err(error) = config::load(file) {
        tracing::warn!(%error, "the configuration cannot be read again: a reload will be refused");
    }
    if let Some(store) = &mut store {
        store.start()?;
    }
    let windows = SharedWindows::default();
    let mut engine = Engine::new(pool, ports, ways(&config, seed, &windows, store.as_ref()));
    let (commands, orders) = channel();
    let board = Board::default();
    let run_config = RunConfig {
        idle: match config.run.idle {
            Idle::Wait => run::Idle::Wait,
            Idle::Spin => run::Idle::Spin,
        },
        publish_every: config.run.status_every.0,
    };
    let (ended, end) = tokio::sync::oneshot::channel();
    let thread = {
        let board = Arc::clone(&board);
        let core = config.dpdk.cores.first().copied();
        let turn = move || {
            core.map_or(Ok(()), stay_on)?;
            turn(&mut engine, clock, &run_config, &orders, &board, ended)
        };
        std::thread::Builder::new().name("packets".into()).spawn(turn)?
    };
    let last = config.schedule.as_ref().and_then(|table| store.as_ref()?.last_slot(table.seed));
    let make = maker(commands.clone(), dated, store.as_ref());
    let schedules = Schedules::new(make, config.schedule.as_ref(), last).map_err(io::Error::other)?;
    if let Some(address) = sockets.address() {
        tracing::info!(url = %format_args!("http://{address}/"), token_file = %config.control.token_file.display(), "control");
    }
    let control = Control::new(Parts {
        commands,
        board,
        windows,
        store: store.as_ref().map(Store::health),
        schedules,
        file: file.to_owned(),
        config,
    });
    let api = Arc::new(Api::new(control, token));
    let answered = runtime.block_on(attend(sockets, Arc::clone(&api), end));
    // Connections end with the runtime, the schedule with the interface; without senders the packet thread ends in any case.
    drop(runtime);
    drop(api);
    let outcome = thread.join();
    if let Some(store) = store {
        let health = store.close()?;
        tracing::info!(stored = health.stored, lost = health.lost, error = health.error, "store");
    }
    tracing::info!("stopped");
    answered?;
    match outcome {
        Ok(outcome) => Ok(outcome?),
        Err(_) => Err(io::Error::other("the packet thread panicked").into()),
    }
}

/// Makes the folder of a file where there is none, and names it then.
fn with_folder(file: &Path) -> io::Result<Option<PathBuf>> {
    match file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        None => Ok(None),
        Some(folder) => {
            let named = |e: io::Error| io::Error::new(e.kind(), format!("folder {}: {e}", folder.display()));
            std::fs::create_dir_all(folder).map_err(named)?;
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o750)).map_err(named)?;
            Ok(Some(folder.to_owned()))
        }
    }
}

fn open_store(config: &Config, seed: u64, dated: Dated) -> Result<Option<Store>, StoreError> {
    config.windows.store.0.as_ref().map(|path| Store::open(path, &begun(config, seed), dated)).transpose()
}

/// What the store notes of this run.
fn begun(config: &Config, seed: u64) -> store::Run {
    let path = config.a_to_b.path();
    store::Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        config: config.to_json(),
        seed,
        rate_bit_s: path.rate.bit_s(),
        overhead_bytes: path.overhead.get(),
    }
}

fn maker(commands: Sender<Command>, dated: Dated, store: Option<&Store>) -> MakeSchedule {
    let slots: Arc<Mutex<SlotSink>> = Arc::new(Mutex::new(match store {
        Some(store) => store.slots(),
        None => Box::new(|_| {}),
    }));
    Box::new(move |table, last| {
        let schemes = table.schemes.iter().map(|(label, scheme)| (label.clone(), scheme.0.clone())).collect();
        let design = match table.design {
            config::Design::Random => Design::Random,
            config::Design::Blocks => Design::Blocks,
        };
        let plan = Plan::new(schemes, table.every.0, table.seed, design, table.direction.into());
        let plan = plan.map_err(|e| e.to_string())?;
        let slots = Arc::clone(&slots);
        let sink = Box::new(move |slot| (slots.lock().unwrap_or_else(PoisonError::into_inner))(slot));
        Schedule::new(plan, dated, last, commands.clone(), sink).map_err(|e| e.to_string())
    })
}

/// Binds the calling thread to a CPU.
fn stay_on(core: u32) -> Result<(), PortError> {
    let mut set = CpuSet::new();
    let bound = set.set(core as usize).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    bound.map_err(|error| PortError { port: "dpdk".to_owned(), what: format!("CPU {core}: {error}") })
}

/// The packet thread; its end is told however it ends.
fn turn(
    engine: &mut Engine,
    clock: Clock,
    config: &RunConfig,
    orders: &Receiver<Command>,
    board: &Board,
    ended: tokio::sync::oneshot::Sender<()>,
) -> Result<(), PortError> {
    let _told = ended;
    let outcome = run::run(engine, clock, config, orders, board);
    if let Err(error) = &outcome {
        tracing::error!(%error, "a port stopped working");
    }
    outcome
}

/// Answers requests and signals until the device is to stop or the packet thread has ended.
async fn attend(sockets: api::Sockets, api: Arc<Api>, end: tokio::sync::oneshot::Receiver<()>) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let serving = api::serve(sockets, Arc::clone(&api));
    tokio::pin!(serving);
    tokio::pin!(end);
    loop {
        tokio::select! {
            outcome = &mut serving => return outcome,
            _ = &mut end => return Ok(()),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => {
                if let Err(refusal) = api.control.reload().await {
                    tracing::error!(%refusal, "not reloaded");
                }
            }
        }
    }
    tracing::info!("stopping");
    if let Err(refusal) = api.control.stop().await {
        tracing::warn!(%refusal, "the packet thread was gone already");
    }
    Ok(())
}

fn drawn() -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}

fn sink(windows: &SharedWindows, direction: Direction, mut kept: Option<Sink>) -> Sink {
    let windows = Arc::clone(windows);
    Box::new(move |closed| {
        windows.lock().unwrap_or_else(PoisonError::into_inner).add(direction, &closed);
        if let Some(kept) = &mut kept {
            kept(closed);
        }
    })
}

/// Both directions.
fn ways(config: &Config, seed: u64, windows: &SharedWindows, store: Option<&Store>) -> [Way; 2] {
    Direction::ALL.map(|direction| {
        let kept = store.map(|store| store.sink(direction));
        way(config, direction, seed.wrapping_add(direction as u64), sink(windows, direction, kept))
    })
}

fn way(config: &Config, direction: Direction, seed: u64, sink: Sink) -> Way {
    let path = config.direction(direction).path();
    let recorder = match &path.scheme {
        None => Recorder::idle(),
        Some(scheme) => {
            let setting = Setting { scheme: scheme.text(), label: scheme.name().to_owned(), slot: None };
            Recorder::new(config.windows.packets, path.rate, path.overhead, setting, sink)
        }
    };
    let mut way = Way::new(&path, Box::new(Stream::new(seed)), seed, recorder);
    way.set_delays(&config.direction(direction).delays());
    way
}

fn open_ports(config: &Config, pool: &mut Pool, clock: Clock) -> Result<[Box<dyn Port>; 2], DaemonError> {
    let (a, b) = (&config.ports.a, &config.ports.b);
    start_dpdk(config)?;
    let [port_a, port_b] = match (kernel(a), kernel(b)) {
        (Some(a), Some(b)) => port::open(pool, [a, b])?,
        _ => [open_port(a, "a", pool, clock)?, open_port(b, "b", pool, clock)?],
    };
    Ok([wrapped(port_a, a, clock)?, wrapped(port_b, b, clock)?])
}

/// A port of the kernel's, where it is one.
fn kernel(table: &PortTable) -> Option<KernelPort<'_>> {
    let how = match table.back_end {
        BackEnd::AfXdp => Interface::AfXdp(xdp(table)),
        BackEnd::AfPacket => Interface::AfPacket,
        BackEnd::Loopback | BackEnd::Pcap | BackEnd::Dpdk => return None,
    };
    Some(KernelPort { interface: table.interface.as_deref()?, how })
}

fn xdp(table: &PortTable) -> XdpOptions {
    XdpOptions {
        queue: table.queue,
        mode: match table.mode {
            config::Mode::Auto => XdpMode::Auto,
            config::Mode::Native => XdpMode::Native,
            config::Mode::Generic => XdpMode::Generic,
        },
        zero_copy: match table.zero_copy {
            config::ZeroCopy::Auto => ZeroCopy::Auto,
            config::ZeroCopy::Off => ZeroCopy::Off,
        },
    }
}

fn open_port(table: &PortTable, side: &str, pool: &mut Pool, clock: Clock) -> Result<Box<dyn Port>, DaemonError> {
    if let Some(KernelPort { interface, how }) = kernel(table) {
        return Ok(match how {
            Interface::AfXdp(options) => Box::new(AfXdp::open(pool, interface, options, None)?),
            Interface::AfPacket => Box::new(AfPacket::open(pool, interface)?),
        });
    }
    match table.back_end {
        BackEnd::Loopback => {
            let rate = table.load.map_or(BitRate::ZERO, |load| load.0);
            Ok(Box::new(Generated::new(&format!("loopback {side}"), rate, table.load_size.0)))
        }
        BackEnd::Pcap => {
            let input = table.read.as_deref().map(Capture::open).transpose()?;
            let output = table.write.as_deref().map(Writer::create).transpose()?;
            let name = format!("pcap {side}");
            Ok(Box::new(Pcap::new(&name, input, output, Pace::Recorded, Now::Clock(clock), None)))
        }
        #[cfg(feature = "dpdk")]
        BackEnd::Dpdk => {
            let device = table.device.as_deref().map(Device::parse).transpose().map_err(io::Error::other)?;
            Ok(Box::new(port::Dpdk::open(&device.map(|device| device.name).unwrap_or_default())?))
        }
        other => {
            let what = format!("ports.{side}: back_end = \"{}\" is not in this build", other.name());
            Err(io::Error::new(io::ErrorKind::Unsupported, what).into())
        }
    }
}

/// Starts DPDK where a port is its.
#[cfg(feature = "dpdk")]
fn start_dpdk(config: &Config) -> Result<(), DaemonError> {
    let devices = [&config.ports.a, &config.ports.b].into_iter().filter_map(|port| port.device.as_deref());
    let devices = devices.map(Device::parse).collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    if devices.is_empty() {
        return Ok(());
    }
    let (mut cores, usable) = (config.dpdk.cores.clone(), facts::usable_cpus());
    if let Some(core) = cores.iter().find(|core| !usable.contains(core)) {
        let what = format!("key `dpdk.cores`: there is no CPU {core} that this process may use; allowed: {usable:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what).into());
    }
    // DPDK wants a CPU that it may use. The packet thread, which then does all, is not bound to it.
    if cores.is_empty() {
        cores.extend(usable.first());
    }
    let arguments = eal::arguments(&devices, &cores, &config.dpdk.arguments, facts::free_huge_bytes());
    tracing::info!(arguments = arguments.join(" "), "dpdk");
    Ok(port::dpdk::start(&arguments)?)
}

#[cfg(not(feature = "dpdk"))]
fn start_dpdk(_: &Config) -> Result<(), DaemonError> {
    Ok(())
}

/// The capabilities of DPDK's threads.
#[cfg(feature = "dpdk")]
fn elsewhere() -> Result<(), HardeningError> {
    static REFUSED: AtomicBool = AtomicBool::new(false);
    extern "C" fn drop_all() {
        REFUSED.fetch_or(hardening::drop_capabilities().is_err(), Ordering::Relaxed);
    }
    let refused = |why| HardeningError::Refused { what: "capabilities of DPDK's threads", why };
    port::dpdk::everywhere(drop_all).map_err(|error| refused(error.to_string()))?;
    match REFUSED.load(Ordering::Relaxed) {
        true => Err(refused("they cannot be given up".to_owned())),
        false => Ok(()),
    }
}

#[cfg(not(feature = "dpdk"))]
fn elsewhere() -> Result<(), HardeningError> {
    Ok(())
}

/// With its faults, and outside of them its trace: that shows what the pipeline gets.
fn wrapped(mut port: Box<dyn Port>, table: &PortTable, clock: Clock) -> Result<Box<dyn Port>, DaemonError> {
    if let Some(faults) = &table.faults {
        let FaultsTable { loss, duplication, reordering, corruption, seed } = *faults;
        let [loss, duplication, reordering, corruption] =
            [loss, duplication, reordering, corruption].map(Probability::clamped);
        port = Box::new(Faults::new(port, FaultConfig { loss, duplication, reordering, corruption, seed }));
    }
    if let Some(path) = &table.trace {
        port = Box::new(Tracer::new(port, path, TRACED, Now::Clock(clock))?);
    }
    Ok(port)
}

/// What a run of files counted.
#[derive(Debug, Serialize)]
pub struct Replayed {
    /// Time from the first frame until nothing waited or travelled any more.
    pub took_s: f64,
    /// Of the ports, A and B.
    pub ports: [PortCounters; 2],
    /// Of the queues, A to B and B to A.
    pub queues: [QueueCounts; 2],
    /// The windows that closed.
    pub windows: Vec<Recent>,
}

/// Runs the captures that the ports of `config` read through its directions in virtual time. Windows are stored where it says so.
///
/// # Errors
/// A port is no capture, or a file cannot be read or written.
pub fn replay(config: &Config) -> Result<Replayed, DaemonError> {
    let side = |table: &PortTable, side: &str| match table.back_end {
        BackEnd::Pcap => Ok(Files { input: table.read.clone(), output: table.write.clone() }),
        other => {
            let name = other.name();
            let what = format!("ports.{side}.back_end is \"{name}\"; allowed for a replay: \"pcap\"");
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
    };
    let files = [side(&config.ports.a, "a")?, side(&config.ports.b, "b")?];
    let seed = config.run.seed.map_or_else(drawn, Ok)?;
    let pool = Pool::new(config.frames.count, config.frames.size.0.get() as usize, HEADROOM)?;
    let mut store = open_store(config, seed, Dated::new(Clock::start()))?;
    if let Some(store) = &mut store {
        store.start()?;
    }
    let windows = SharedWindows::default();
    let outcome = offline::run(pool, files, ways(config, seed, &windows, store.as_ref()))?;
    let queues = outcome.paths.each_ref().map(|path| path.counters().into());
    let (took_s, ports) = (outcome.took.seconds(), outcome.ports);
    // The sinks go before the store waits for them.
    drop(outcome);
    if let Some(store) = store {
        store.close()?;
    }
    let windows = windows.lock().unwrap_or_else(PoisonError::into_inner).latest(usize::MAX);
    Ok(Replayed { took_s, ports, queues, windows })
}
