//! Tells a service manager how the process fares (sd_notify(3)): that it forwards, reloads or stops, and, as long as the packet
//! thread turns, that it lives. Without one (`NOTIFY_SOCKET` is not set) nothing happens.

use crate::clock::monotonic_ns;
use sojourn_units::Span;
use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks whether the packet thread has begun.
const BEGINNING: Duration = Duration::from_millis(10);
/// Looks at the packet thread in the time after which the service manager takes the process for hung.
const CHECKS_PER_TIMEOUT: u32 = 4;

/// The service manager, if there is one.
#[derive(Debug, Default)]
pub struct Service {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl Service {
    /// What the environment names: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`. One that cannot be used is logged.
    #[must_use]
    pub fn from_environment() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let Some(name) = variable("NOTIFY_SOCKET") else { return Self::default() };
        let number = |name| variable(name)?.to_str()?.parse::<u64>().ok();
        let mine = number("WATCHDOG_PID").is_none_or(|process| process == u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|time| mine && *time > 0).map(Duration::from_micros);
        let socket = open(&name);
        if let Err(error) = &socket {
            tracing::warn!(%error, "NOTIFY_SOCKET {}: the service manager cannot be notified", Path::new(&name).display());
        }
        Self { socket: socket.ok(), watchdog }
    }

    /// The longest time between two publications of the status at which a look always finds a new one.
    #[must_use]
    pub fn publish_within(&self) -> Option<Span> {
        Some(Span::from_nanos(u64::try_from(self.pause()?.as_nanos()).ok()?))
    }

    /// Between two looks.
    fn pause(&self) -> Option<Duration> {
        self.watchdog.map(|time| time / CHECKS_PER_TIMEOUT)
    }

    /// Starts a thread that says when the device is ready: as soon as `heartbeat`, which changes as long as the packet thread
    /// turns, is there. From then on it feeds the watchdog after every change. The thread serves nothing else, so that the
    /// control interface and the store can hang while frames are forwarded.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn watch(self: &Arc<Self>, heartbeat: impl Fn() -> Option<f64> + Send + 'static) -> io::Result<()> {
        if self.socket.is_none() {
            return Ok(());
        }
        let service = Arc::clone(self);
        let turn = move || {
            while heartbeat().is_none() {
                std::thread::sleep(BEGINNING);
            }
            service.ready("forwarding");
            let Some(pause) = service.pause() else { return };
            let mut last = None;
            loop {
                let beat = heartbeat();
                if beat != last {
                    service.tell("WATCHDOG=1");
                    last = beat;
                }
                std::thread::sleep(pause);
            }
        };
        std::thread::Builder::new().name("service".into()).spawn(turn).map(|_| ())
    }

    /// It forwards, with the configuration that it has; `status` is for people.
    pub fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={}", line(status)));
    }

    /// It reads its configuration again; [`Self::ready`] says that it is done.
    pub fn reloading(&self) {
        let microseconds = monotonic_ns() / 1000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}\nSTATUS=reloading"));
    }

    /// It ends.
    pub fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=stopping");
    }

    fn tell(&self, what: &str) {
        let Some((socket, address)) = &self.socket else { return };
        // A service manager that hears nothing acts on that itself.
        if let Err(error) = socket.send_to_addr(what.as_bytes(), address) {
            tracing::debug!(%error, what, "the service manager could not be reached");
        }
    }
}

/// A socket that waits for nobody, and the address of the service manager's.
fn open(name: &OsString) -> io::Result<(UnixDatagram, SocketAddr)> {
    let address = match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
        [b'/', ..] => SocketAddr::from_pathname(name)?,
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a path nor an abstract address")),
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}

/// An assignment ends with its line.
fn line(text: &str) -> String {
    text.replace('\n', " ")
}
