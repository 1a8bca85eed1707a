//! The process: opens what the configuration names, starts the packet thread, answers until it is told to stop.

use crate::api::{self, Api, Token};
use crate::clock::Clock;
use crate::config::{BackEnd, Config, Idle, PortTable};
use crate::control::{Control, SharedWindows};
use crate::engine::{Direction, Engine};
use crate::path::Path as Way;
use crate::pool::Pool;
use crate::port::{Generated, Port, PortError};
use crate::random::Stream;
use crate::record::{Recorder, Setting, Sink};
use crate::run::{self, Board, Command, RunConfig};
use sojourn_units::BitRate;
use std::io;
use std::path::Path;
use std::sync::mpsc::{channel, Receiver};
use std::sync::{Arc, PoisonError};
use tokio::signal::unix::{signal, SignalKind};

/// Room before the contents of a frame (`XDP_PACKET_HEADROOM`).
const HEADROOM: usize = 256;

/// Why the device does not run, or stopped running.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Something of the configuration cannot be opened.
    #[error("{0}")]
    Open(#[from] io::Error),
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
    let windows = SharedWindows::default();
    let mut pool = Pool::new(config.frames.count, config.frames.size.0.get() as usize, HEADROOM)?;
    let ports = open_ports(&config, &mut pool)?;
    let sockets = api::bind(config.control.listen.0, config.control.socket.0.as_deref())?;
    let token = Token::open(&config.control.token_file)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let seed = match config.run.seed {
        Some(seed) => seed,
        None => drawn()?,
    };
    let paths = Direction::ALL.map(|direction| {
        let number = direction as u64;
        way(&config, direction, seed.wrapping_add(number), sink(&windows, direction))
    });
    let mut engine = Engine::new(pool, ports, paths);
    let (commands, orders) = channel();
    let board = Board::default();
    if let Some(address) = sockets.address() {
        tracing::info!(url = %format_args!("http://{address}/"), token_file = %config.control.token_file.display(), "control");
    }
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
        let turn = move || turn(&mut engine, clock, &run_config, &orders, &board, ended);
        std::thread::Builder::new().name("packets".into()).spawn(turn)?
    };
    let control = Control::new(commands, board, windows, file.to_owned(), config);
    let api = Arc::new(Api::new(control, token));
    runtime.block_on(attend(sockets, Arc::clone(&api), end))?;
    // Dropping the sender of commands would end the thread as well; this waits for the windows under way.
    let outcome = thread.join();
    tracing::info!("stopped");
    match outcome {
        Ok(outcome) => Ok(outcome?),
        Err(_) => Err(io::Error::other("the packet thread panicked").into()),
    }
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

fn sink(windows: &SharedWindows, direction: Direction) -> Sink {
    let windows = Arc::clone(windows);
    Box::new(move |closed| windows.lock().unwrap_or_else(PoisonError::into_inner).add(direction, &closed))
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
    Way::new(&path, Box::new(Stream::new(seed)), seed, recorder)
}

fn open_ports(config: &Config, _pool: &mut Pool) -> Result<[Box<dyn Port>; 2], DaemonError> {
    let one = |port: &PortTable, name: &str| -> Result<Box<dyn Port>, DaemonError> {
        match port.back_end {
            BackEnd::Loopback => {
                let rate = port.load.map_or(BitRate::ZERO, |load| load.0);
                Ok(Box::new(Generated::new(&format!("loopback {name}"), rate, port.load_size.0)))
            }
            other => {
                let what = format!("back_end = \"{}\" is not in this build", other.name());
                Err(io::Error::new(io::ErrorKind::Unsupported, what).into())
            }
        }
    };
    Ok([one(&config.ports.a, "a")?, one(&config.ports.b, "b")?])
}
