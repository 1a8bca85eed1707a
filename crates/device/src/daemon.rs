//! The process: opens what the configuration names, starts the packet thread, answers until it is told to stop.

use crate::api::{self, Api, Listen};
use crate::clock::{Clock, Dated, Step};
use crate::config::{self, Config, FaultsTable, Idle, PortTable};
use crate::control::{Control, MakeSchedule, Parts, Recent, Schedules, SharedWindows};
use crate::engine::{Direction, Engine};
use crate::frame::Key;
use crate::hardening::{self, Account, HardeningError};
use crate::lines::Lines;
use crate::links::{Links, Watch};
use crate::offline::{self, Files};
use crate::orders::{self, Commands, Orders};
use crate::path::Path as PacketPath;
use crate::plugins;
use crate::pool::{Pool, HEADROOM};
use crate::port::{
    self, BackEnd, FaultConfig, Faults, Open, Port, PortCounters, PortError, TimeSource, Tracer, XdpOptions,
};
use crate::priority;
use crate::record::{Recorder, Setting, Sink};
use crate::run::{self, Board, RunConfig};
use crate::schedule::{AskLastSlot, Design, Plan, Schedule};
use crate::service::Service;
use crate::status::QueueCounts;
use crate::store::{self, Health, SlotSink, Store, StoreError};
use crate::turns;
use rustix::thread::{sched_setaffinity, CpuSet};
use serde::Serialize;
use sojourn_random::Stream;
use sojourn_units::{Probability, Span};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{signal, SignalKind};
#[cfg(feature = "dpdk")]
use {
    crate::doctor::facts,
    crate::port::eal::{self, Device},
    std::sync::atomic::{AtomicBool, Ordering},
};

/// Frames of a trace: a gigabyte or two of the longest.
const TRACED: u64 = 1_000_000;

/// Until a control interface that failed is started again.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// Between two looks at whether the storage thread runs and the host's date was changed.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

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
/// Ports and privileges come first, and the packet thread. What is opened afterwards only measures and controls: where it
/// cannot be opened, frames are forwarded all the same, the [`api`] and the log say what is missing, and it is tried again.
///
/// # Errors
/// A port cannot be opened or stopped working, or privileges cannot be given up.
pub fn run(mut config: Config, file: &Path) -> Result<(), DaemonError> {
    config.warnings().iter().for_each(|what| tracing::warn!("{what}"));
    let clock = Clock::start();
    let dated = Dated::new(clock);
    let account = Account::find(&config.run.user)?;
    let service = Arc::new(Service::from_environment());
    priority::set_niceness(&config.run);
    let mut pool = Pool::new(config.frames.count, config.frames.size.0.get() as usize, HEADROOM)?;
    let interfaces = open_interfaces(&config, &mut pool)?;
    let watch_links = Watch::open([&config.ports.a, &config.ports.b]).unwrap_or_else(|error| {
        tracing::warn!(%error, "the kernel does not tell of links: one that is lost is not noticed");
        None
    });
    let named = [
        config.control.socket.0.clone(),
        config.windows.store.0.clone(),
        Some(config.control.token_file.clone()),
        config.plugins.as_ref().map(|table| table.record.clone()),
    ];
    let named = named.each_ref().map(|path| path.as_deref());
    hardening::make_folders(named.into_iter().flatten(), account.as_ref());
    let raised = priority::raise(&config.run);
    hardening::lock_down(account.as_ref(), elsewhere)?;
    // From here on as the user, who may have put links where files are expected.
    let ports = open_ports(&config, interfaces, clock)?;
    make_folders(named.into_iter().flatten());
    plugins::begin(&config);
    plugins::contain(&mut config);
    let seed = config.run.seed.map_or_else(drawn, Ok)?;
    let mut store = config.windows.store.0.as_ref().map(|path| Store::keep(path, &begun(&config, seed), dated));
    let windows = SharedWindows::default();
    let keys = config.keys(seed)?;
    let engine = Engine::new(pool, ports, ways(&config, seed, keys, &windows, store.as_ref()));
    let (commands, orders) = orders::orders();
    let board = Board::default();
    let status_every = config.run.status_every.0;
    let publish_every = service.publish_within().map_or(status_every, |within| status_every.min(within));
    let watch = plugins::watch(&config, &board)?;
    let links = watch_links.as_ref().map(Watch::links).unwrap_or_default();
    let (thread, end) = start_packets(engine, clock, &config, (publish_every, links), orders, &board)?;
    if raised {
        priority::lower();
    }
    // Tokio panics where the system refuses it a pair of sockets.
    let held = std::panic::catch_unwind(hold_signals);
    if let Err(error) = held.unwrap_or_else(|_| Err(io::Error::other("the runtime for signals panicked"))) {
        tracing::warn!(%error, "a signal that comes before the control interface listens ends the device");
    }
    let lines = config.run.status_lines.then(|| Lines::start(Arc::clone(&board), publish_every)).transpose()?;
    let heart = Arc::clone(&board);
    let heartbeat = move || heart.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|status| status.uptime_s);
    if let Err(error) = service.watch(heartbeat) {
        tracing::warn!(%error, "the service manager cannot be notified");
    }
    if let Some(Err(error)) = watch_links.map(Watch::start) {
        tracing::warn!(%error, "a link that is lost is not noticed");
    }
    // Where it gets no thread, that is said and tried again.
    let _ = store.as_mut().map(Store::start);
    // Now, and not when somebody relies on it.
    if let Err(error) = config::load(file) {
        tracing::warn!(%error, "the configuration cannot be read again: a reload will be refused");
    }
    let last = ask_last_slot(&config, store.as_ref());
    let schedules = Schedules::new(maker(commands.clone(), dated, store.as_ref()), config.schedule.as_ref(), last);
    let sockets = Listen {
        tcp: config.control.listen.0,
        token_file: config.control.token_file.clone(),
        unix: config.control.socket.0.clone(),
        headers: api::HEADERS,
    };
    let store_progress = store.as_ref().map(Store::progress);
    let parts = Parts { commands, board, windows, store: store_progress, schedules, file: file.to_owned(), config };
    answer(&sockets, &Arc::new(Api::new(Control::new(parts))), &service, dated, store.as_mut(), end);
    // The schedule has ended with the interface; without senders the packet thread ends in any case.
    let outcome = thread.join();
    drop(watch);
    if let Some(lines) = lines {
        lines.finish();
    }
    match store.map(Store::close) {
        Some(Ok(health)) => {
            let Health { stored, lost, lost_slots, error, .. } = health;
            tracing::info!(stored, lost, lost_slots, error, "store");
        }
        Some(Err(error)) => tracing::error!(%error, "nothing was stored"),
        None => {}
    }
    tracing::info!("stopped");
    match outcome {
        Ok(outcome) => Ok(outcome?),
        Err(_) => Err(io::Error::other("the packet thread panicked").into()),
    }
}

/// Makes the folder of each file where there is none. What cannot be made is logged.
fn make_folders<'a>(files: impl Iterator<Item = &'a Path>) {
    for folder in files.filter_map(Path::parent) {
        if folder.as_os_str().is_empty() || folder.exists() {
            continue;
        }
        if let Err(error) = std::fs::DirBuilder::new().recursive(true).mode(0o750).create(folder) {
            let hint = hardening::access_problem(folder);
            tracing::warn!(%error, "folder {} cannot be made{hint}", folder.display());
        }
    }
}

type PacketThread = std::thread::JoinHandle<Result<(), PortError>>;
type End = tokio::sync::oneshot::Receiver<()>;

/// Starts the packet thread; its end is told however it ends.
fn start_packets(
    mut engine: Engine,
    clock: Clock,
    config: &Config,
    (publish_every, links): (Span, Links),
    orders: Orders,
    board: &Board,
) -> io::Result<(PacketThread, End)> {
    let run_config = RunConfig {
        idle: match config.run.idle {
            Idle::Wait => run::Idle::Wait,
            Idle::Spin => run::Idle::Spin,
        },
        publish_every,
        links,
    };
    let (ended, end) = tokio::sync::oneshot::channel();
    let (board, core) = (Arc::clone(board), config.dpdk.cores.first().copied());
    let turn = move || {
        turns::on_packet_thread();
        core.map_or(Ok(()), stay_on)?;
        turn(&mut engine, clock, &run_config, &orders, &board, ended)
    };
    Ok((std::thread::Builder::new().name("packets".into()).spawn(turn)?, end))
}

/// Asks the store, once it is open, for the last slot of the schedule.
fn ask_last_slot(config: &Config, store: Option<&Store>) -> AskLastSlot {
    let asked = config.schedule.as_ref().map(|table| table.seed).zip(store.map(Store::progress));
    match asked {
        Some((seed, progress)) => Box::new(move || progress.last_slot(seed)),
        None => Box::new(|| Some(None)),
    }
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

fn maker(commands: Commands, dated: Dated, store: Option<&Store>) -> MakeSchedule {
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
    set.set(core as usize);
    sched_setaffinity(None, &set)
        .map_err(|error| PortError { port: "dpdk".to_owned(), what: format!("CPU {core}: {error}") })
}

/// The packet thread; its end is told however it ends.
fn turn(
    engine: &mut Engine,
    clock: Clock,
    config: &RunConfig,
    orders: &Orders,
    board: &Board,
    ended: tokio::sync::oneshot::Sender<()>,
) -> Result<(), PortError> {
    let told = ended;
    let outcome = run::run(engine, clock, config, orders, board);
    if let Err(error) = &outcome {
        tracing::error!(%error, "a port stopped working");
    }
    // It wakes the control interface, which panics where the system refuses that.
    let _ = std::panic::catch_unwind(AssertUnwindSafe(|| drop(told)));
    outcome
}

/// Keeps signals for [`attend`]. The service manager may send one as soon as it knows that the device is ready, and SIGHUP
/// without a handler would end the process.
fn hold_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _context = runtime.enter();
    // Tokio never takes a handler away, and what came is told to those who listen when a runtime runs.
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        drop(signal(kind)?);
    }
    Ok(())
}

/// Answers until the device is to stop or the packet thread has ended, whatever happens to the control interface.
fn answer(
    sockets: &Listen,
    api: &Arc<Api>,
    service: &Service,
    dated: Dated,
    mut store: Option<&mut Store>,
    mut end: End,
) {
    use tokio::sync::oneshot::error::TryRecvError;
    while end.try_recv() == Err(TryRecvError::Empty) {
        let turn = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(attend(sockets, Arc::clone(api), service, dated, store.as_deref_mut(), &mut end))
        };
        match std::panic::catch_unwind(AssertUnwindSafe(turn)) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::error!(%error, "the control interface failed; it is started again"),
            Err(_) => tracing::error!("the control interface panicked; it is started again"),
        }
        std::thread::sleep(RESTART_DELAY);
    }
}

/// Answers requests and signals until the device is to stop or the packet thread has ended.
async fn attend(
    sockets: &Listen,
    api: Arc<Api>,
    service: &Service,
    dated: Dated,
    mut store: Option<&mut Store>,
    end: &mut End,
) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let serving = api::serve(sockets, Arc::clone(&api));
    tokio::pin!(serving);
    let (mut look, mut ahead) = (tokio::time::interval(CHECK_INTERVAL), Step::default());
    loop {
        tokio::select! {
            never = &mut serving => match never {},
            _ = &mut *end => return Ok(()),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => {
                service.reloading();
                match api.control.reload().await {
                    Ok(_) => service.ready("forwarding"),
                    Err(refusal) => {
                        tracing::error!(%refusal, "not reloaded");
                        service.ready(&format!("forwarding; not reloaded: {refusal}"));
                    }
                }
            }
            _ = look.tick() => {
                let _ = store.as_mut().map(|store| store.start());
                let step = dated.step(SystemTime::now());
                if step.since(ahead) {
                    tracing::warn!(
                        ahead_s = step.seconds(),
                        "the host's date was changed; windows and slots of this run go on by the clock of its start"
                    );
                    ahead = step;
                }
            }
        }
    }
    service.stopping();
    tracing::info!("stopping");
    if let Err(refusal) = api.control.stop().await {
        tracing::warn!(%refusal, "the packet thread had already ended");
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
fn ways(config: &Config, seed: u64, keys: [Key; 2], windows: &SharedWindows, store: Option<&Store>) -> [PacketPath; 2] {
    Direction::ALL.map(|direction| {
        let kept = store.map(|store| store.sink(direction));
        let seed = seed.wrapping_add(direction as u64);
        way(config, direction, seed, keys[direction as usize], sink(windows, direction, kept))
    })
}

fn way(config: &Config, direction: Direction, seed: u64, key: Key, sink: Sink) -> PacketPath {
    let path = config.direction(direction).path();
    let recorder = match &path.scheme {
        None => Recorder::idle(),
        Some(scheme) => {
            let setting = Setting { scheme: scheme.text(), label: scheme.name().to_owned(), slot: None };
            Recorder::new(config.windows.packets, path.rate, path.overhead, setting, sink)
        }
    };
    let mut way = PacketPath::new(&path, Box::new(Stream::seeded(seed)), key, recorder);
    way.set_delays(&config.direction(direction).delays());
    way.set_link(config.direction(direction).link(), |effect| {
        let own =
            sojourn_aqm::EFFECTS.iter().position(|known| known.stream == effect).unwrap_or(sojourn_aqm::EFFECTS.len())
                as u64;
        // The odd constant of splitmix64 takes the seeds of neighbouring streams far apart.
        Box::new(Stream::seeded(seed.wrapping_add((own + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))))
    });
    way.set_stale_after(config.direction(direction).stale_after.0);
    way
}

/// The ports that need privileges to open; `None` for the others.
fn open_interfaces(config: &Config, pool: &mut Pool) -> Result<[Option<Box<dyn Port>>; 2], DaemonError> {
    let (a, b) = (&config.ports.a, &config.ports.b);
    start_dpdk(config)?;
    // Two AF_XDP ports have the pool as one frame memory.
    if let (BackEnd::AfXdp, BackEnd::AfXdp) = (a.back_end, b.back_end) {
        let [a, b] = port::af_xdp_pair(
            pool,
            [a, b].map(|table| (table.interface.as_deref().unwrap_or_default(), XdpOptions::of(table))),
        )?;
        return Ok([Some(Box::new(a)), Some(Box::new(b))]);
    }
    let mut open = |table: &PortTable| match table.back_end.about().open {
        Open::Privileged(open) => open(table, pool).map(Some),
        Open::AsUser(_) | Open::Elsewhere(_) => Ok(None),
    };
    Ok([open(a)?, open(b)?])
}

/// Both ports, with their faults and traces.
fn open_ports(
    config: &Config,
    interfaces: [Option<Box<dyn Port>>; 2],
    clock: Clock,
) -> Result<[Box<dyn Port>; 2], DaemonError> {
    let [port_a, port_b] = interfaces;
    let opened = |port: Option<Box<dyn Port>>, table: &PortTable, side: &str| {
        let port = match (port, &table.back_end.about().open) {
            (Some(port), _) => port,
            (None, Open::AsUser(open)) => open(table, side, clock)?,
            (None, Open::Privileged(_) | Open::Elsewhere(_)) => {
                let what =
                    format!("ports.{side}: back_end = \"{}\" is not available in this build", table.back_end.name());
                return Err(io::Error::new(io::ErrorKind::Unsupported, what).into());
            }
        };
        wrapped(port, table, clock)
    };
    Ok([opened(port_a, &config.ports.a, "a")?, opened(port_b, &config.ports.b, "b")?])
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
        port = Box::new(Tracer::new(port, path, TRACED, TimeSource::Clock(clock))?);
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
    /// Of the captures that they read: what became of their frames.
    pub captures: [Option<port::Account>; 2],
    /// Of the queues, A to B and B to A.
    pub queues: [QueueCounts; 2],
    /// The windows that closed.
    pub windows: Vec<Recent>,
    /// What to know before the numbers are used.
    #[serde(skip)]
    pub warnings: Vec<String>,
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
    config.windows.store.0.as_deref().map_or(Ok(()), hardening::not_for_root)?;
    let dated = Dated::new(Clock::start());
    let store = config.windows.store.0.as_ref().map(|path| Store::open(path, &begun(config, seed), dated));
    let mut store = store.transpose()?;
    if let Some(store) = &mut store {
        store.start()?;
    }
    let windows = SharedWindows::default();
    let outcome = offline::run(pool, files, ways(config, seed, config.keys(seed)?, &windows, store.as_ref()))?;
    let queues = outcome.paths.each_ref().map(|path| path.counters().into());
    let (took_s, ports) = (outcome.took.seconds(), outcome.ports);
    let warnings = [(&config.ports.a, 0), (&config.ports.b, 1)].into_iter().flat_map(|(table, side)| {
        let (input, file) = (outcome.inputs[side].as_ref(), table.read.as_deref());
        input
            .zip(file)
            .map_or(Vec::new(), |(input, file)| input.warnings(file, ports[side].oversize, config.frames.size.0.get()))
    });
    let warnings = warnings.collect();
    let captures = outcome.inputs.each_ref().map(|input| input.as_ref().map(|input| input.account.clone()));
    // The sinks go before the store waits for them.
    drop(outcome);
    if let Some(store) = store {
        store.close()?;
    }
    let windows = windows.lock().unwrap_or_else(PoisonError::into_inner).latest(usize::MAX);
    Ok(Replayed { took_s, ports, captures, queues, windows, warnings })
}
