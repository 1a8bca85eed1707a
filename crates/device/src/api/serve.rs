//! Sockets and connections. Each socket is opened, and opened again when that fails or it is lost, apart from the other: what
//! happens on TCP, which every local user may connect to, keeps nobody from the Unix socket.

use super::places::{ConnectionSlot, ConnectionSlots};
use super::{Api, Peer, Token};
use crate::hardening::access_problem;
use axum::body::Body;
use axum::Router;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::fcntl::{fcntl, FcntlArg};
use nix::sys::socket::{bind, listen, socket, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use nix::sys::stat::{fchmod, Mode};
use std::convert::Infallible;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tower::ServiceExt;

/// Connections at a time on TCP, from one address, and on the Unix socket.
const TCP: usize = 64;
const ADDRESS: usize = 16;
const UNIX: usize = 32;
/// For the headers of a request, and for a request as a whole.
pub const HEADERS: Duration = Duration::from_secs(5);
const REQUEST: Duration = Duration::from_secs(20);
/// Longest life of a connection.
const CONNECTION: Duration = Duration::from_secs(600);
/// Between two attempts to open a socket, and two looks at whether its file is there.
const RETRY: Duration = Duration::from_secs(5);
/// Connections that wait in the kernel.
const BACKLOG: i32 = 128;

/// What is to be opened.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Address of HTTP, on loopback.
    pub tcp: Option<SocketAddr>,
    /// Has the token of HTTP on TCP, or gets one.
    pub token_file: PathBuf,
    /// The Unix socket.
    pub unix: Option<PathBuf>,
    /// For the headers of a request: [`HEADERS`].
    pub headers: Duration,
}

/// A socket of the control interface.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Interface {
    /// Its address or path: the address in use once it is up, which matters where port 0 was asked for.
    pub at: String,
    /// It answers.
    pub up: bool,
    /// Why it does not; it is tried again every 5 s.
    pub error: Option<String>,
}

/// The sockets of the control interface; `null`: not wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Interfaces {
    /// HTTP on TCP.
    pub tcp: Option<Interface>,
    /// HTTP on the Unix socket.
    pub unix: Option<Interface>,
}

/// How one socket fares, where others read it.
struct ConnectionInfo<'a> {
    interfaces: &'a Mutex<Interfaces>,
    which: fn(&mut Interfaces) -> &mut Option<Interface>,
}

impl ConnectionInfo<'_> {
    fn set(&self, at: String, error: Option<String>) {
        let mut interfaces: MutexGuard<'_, Interfaces> = self.interfaces.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (self.which)(&mut interfaces);
        let new = Interface { at, up: error.is_none(), error };
        // Once, however often it is tried again.
        if place.as_ref() != Some(&new) {
            match &new.error {
                Some(error) => tracing::warn!(%error, "a control socket is not open; it is tried again"),
                None => tracing::info!(at = new.at, "control"),
            }
            *place = Some(new);
        }
    }
}

/// Opens the sockets of `sockets` and answers on them until dropped. What cannot be opened is said in `Api::interfaces` and
/// tried again.
pub async fn serve(sockets: &Listen, api: Arc<Api>) -> Infallible {
    let router = super::router(Arc::clone(&api));
    let tcp = async {
        match sockets.tcp {
            Some(address) => serve_tcp(address, sockets, &api, &router).await,
            None => std::future::pending().await,
        }
    };
    let unix = async {
        match &sockets.unix {
            Some(path) => serve_unix(path, sockets, &api, &router).await,
            None => std::future::pending().await,
        }
    };
    tokio::join!(tcp, unix).0
}

async fn serve_tcp(address: SocketAddr, sockets: &Listen, api: &Api, router: &Router) -> Infallible {
    let told = ConnectionInfo { interfaces: &api.interfaces, which: |all| &mut all.tcp };
    loop {
        // Without a token nobody could be told from anybody.
        let opened = api.know_token(|| Token::open(&sockets.token_file)).and_then(|()| bind_tcp(address));
        match opened.and_then(TcpListener::from_std) {
            Ok(listener) => {
                told.set(listener.local_addr().unwrap_or(address).to_string(), None);
                let places = ConnectionSlots::new(TCP, ADDRESS);
                loop {
                    match listener.accept().await {
                        Ok((stream, peer)) => {
                            // Full of connections that are being answered: this one is closed.
                            let Some(place) = places.take(peer.ip()) else { continue };
                            tokio::spawn(converse(stream, Peer::Tcp(peer), router.clone(), place, sockets.headers));
                        }
                        Err(error) => wait_after(&error).await,
                    }
                }
            }
            Err(error) => told.set(address.to_string(), Some(error.to_string())),
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn serve_unix(path: &Path, sockets: &Listen, api: &Api, router: &Router) -> Infallible {
    let told = ConnectionInfo { interfaces: &api.interfaces, which: |all| &mut all.unix };
    let at = path.display().to_string();
    loop {
        match bind_unix(path).and_then(Bound::listener) {
            Ok((listener, bound)) => {
                told.set(at.clone(), None);
                let places = ConnectionSlots::new(UNIX, UNIX);
                while bound.is_there() {
                    match tokio::time::timeout(RETRY, listener.accept()).await {
                        Ok(Ok((stream, _))) => {
                            let Some(place) = places.take(()) else { continue };
                            tokio::spawn(converse(stream, Peer::Unix, router.clone(), place, sockets.headers));
                        }
                        Ok(Err(error)) => wait_after(&error).await,
                        // Time to look whether it is there.
                        Err(_) => {}
                    }
                }
                told.set(at.clone(), Some(format!("control.socket {at}: was removed or replaced")));
            }
            Err(error) => {
                told.set(at.clone(), Some(error.to_string()));
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Listens on `address`.
///
/// # Errors
/// It is not loopback or in use, or the system refuses.
pub fn bind_tcp(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let named = |e: io::Error| {
        let hint = match e.kind() {
            io::ErrorKind::AddrInUse => {
                "; `ss -ltnp` names the program that has it; with port 0 the system chooses a free one"
            }
            _ => "",
        };
        io::Error::new(e.kind(), format!("control.listen {address}: {e}{hint}"))
    };
    if !address.ip().is_loopback() {
        return Err(named(io::Error::new(io::ErrorKind::InvalidInput, "is not loopback")));
    }
    let listener = std::net::TcpListener::bind(address).map_err(named)?;
    listener.set_nonblocking(true).map_err(named)?;
    Ok(listener)
}

/// A Unix socket and its file. Removes the file when dropped.
#[derive(Debug)]
pub struct Bound {
    listener: Option<std::os::unix::net::UnixListener>,
    path: PathBuf,
    /// Device and inode of the file.
    identity: (u64, u64),
    /// Held as long as the socket is in use.
    _lock: File,
}

impl Bound {
    fn listener(mut self) -> io::Result<(UnixListener, Self)> {
        let listener = self.listener.take().ok_or_else(|| io::Error::other("is taken"))?;
        Ok((UnixListener::from_std(listener)?, self))
    }

    /// Its file is still there.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|found| (found.dev(), found.ino()) == self.identity)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if self.is_there() {
            // Where the folder is not ours any more, the next start replaces the socket.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Listens at `path`, for the owner alone. A socket that a process of before left is replaced; one that is in use is not.
///
/// # Errors
/// It is in use, something else is there, or the system refuses.
pub fn bind_unix(path: &Path) -> io::Result<Bound> {
    let named = |e: io::Error| {
        io::Error::new(e.kind(), format!("control.socket {}: {e}{}", path.display(), access_problem(path)))
    };
    bind_at(path).map_err(named)
}

fn bind_at(path: &Path) -> io::Result<Bound> {
    let error = |kind, what: &str| Err(io::Error::new(kind, what));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o750).create(folder)?;
    }
    match path.symlink_metadata() {
        Ok(found) if !found.file_type().is_socket() => {
            return error(io::ErrorKind::AlreadyExists, "is there and no socket")
        }
        Ok(_) if listened_at(path) => return error(io::ErrorKind::AddrInUse, "another program listens there"),
        _ => {}
    }
    let Some(lock) = lock(path)? else { return error(io::ErrorKind::AddrInUse, "another sojournd answers there") };
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let unix = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // The file that `bind` makes gets this mode.
    fchmod(&unix, Mode::S_IRUSR | Mode::S_IWUSR)?;
    bind(std::os::fd::AsRawFd::as_raw_fd(&unix), &UnixAddr::new(path)?)?;
    let found = path.symlink_metadata()?;
    let listener = Some(std::os::unix::net::UnixListener::from(unix));
    let bound = Bound { listener, path: path.to_owned(), identity: (found.dev(), found.ino()), _lock: lock };
    if let Some(unix) = &bound.listener {
        listen(unix, Backlog::new(BACKLOG)?)?;
    }
    Ok(bound)
}

/// The lock beside the socket, which ends with the process that holds it; `None`: another one holds it. To connect would tell as
/// well, but a running device may not connect to anything.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let open = || {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&name)
    };
    let file = open().map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", Path::new(&name).display())))?;
    let whole =
        libc::flock { l_type: libc::F_WRLCK as i16, l_whence: libc::SEEK_SET as i16, l_start: 0, l_len: 0, l_pid: 0 };
    match fcntl(&file, FcntlArg::F_OFD_SETLK(&whole)) {
        Ok(_) => Ok(Some(file)),
        Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EACCES) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Some program of this network namespace listens at `path`, as the kernel's table says (proc_net(5)).
fn listened_at(path: &Path) -> bool {
    /// `__SO_ACCEPTCON`
    const LISTENS: u32 = 1 << 16;
    let Ok(table) = std::fs::read(Path::new("/proc/net/unix")) else { return false };
    let table = String::from_utf8_lossy(&table);
    let listens = |line: &str| {
        // Number, references, protocol, flags, type, state, inode, path.
        let mut fields = line.splitn(8, ' ').filter(|field| !field.is_empty());
        let flags = fields.nth(3).and_then(|flags| u32::from_str_radix(flags, 16).ok()).unwrap_or_default();
        flags & LISTENS != 0 && line.ends_with(&format!(" {}", path.display()))
    };
    table.lines().any(listens)
}

/// Too many open files, mostly: looking again at once would only spin.
async fn wait_after(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: Peer,
    router: Router,
    mut place: ConnectionSlot,
    headers: Duration,
) {
    let activity = place.activity();
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (router, activity) = (router.clone(), activity.clone());
        async move {
            let _busy = activity.begin();
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            let answer = match tokio::time::timeout(REQUEST, router.oneshot(request)).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(never)) => match never {},
                Err(_) => {
                    let what = "the request took too long";
                    axum::response::IntoResponse::into_response(super::error::ApiError::new(
                        axum::http::StatusCode::REQUEST_TIMEOUT,
                        what,
                    ))
                }
            };
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(headers)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // What goes wrong here went wrong at the other end.
        ended = tokio::time::timeout(CONNECTION, connection) => if let Ok(Err(error)) = ended {
            tracing::debug!(%error, "a connection ended");
        },
        // It waits for a request, and another connection needs the place.
        () = place.given_up() => {}
    }
}
