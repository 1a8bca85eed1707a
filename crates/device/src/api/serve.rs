//! Sockets and connections.

use super::{Api, Peer};
use axum::body::Body;
use axum::Router;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tower::ServiceExt;

/// Connections at a time; further ones wait.
const CONNECTIONS: usize = 64;
/// For the headers of a request, and for a request as a whole.
const HEADERS: Duration = Duration::from_secs(5);
const REQUEST: Duration = Duration::from_secs(20);
/// Longest life of a connection.
const CONNECTION: Duration = Duration::from_secs(600);

/// The sockets, bound.
#[derive(Debug)]
pub struct Sockets {
    tcp: Option<std::net::TcpListener>,
    unix: Option<(std::os::unix::net::UnixListener, PathBuf)>,
}

/// Binds both sockets. One that a process of before left is replaced; one that answers is not.
///
/// # Errors
/// The address is not loopback, it or the path is in use, or the system refuses.
pub fn bind(listen: Option<SocketAddr>, socket: Option<&Path>) -> io::Result<Sockets> {
    let tcp = listen.map(|address| {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("control.listen {address}: {e}"));
        if !address.ip().is_loopback() {
            return Err(named(io::Error::new(io::ErrorKind::InvalidInput, "is not loopback")));
        }
        let listener = std::net::TcpListener::bind(address).map_err(named)?;
        listener.set_nonblocking(true).map_err(named)?;
        Ok(listener)
    });
    let unix = socket.map(|path| {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("control.socket {}: {e}", path.display()));
        let listener = bind_unix(path).map_err(named)?;
        Ok::<_, io::Error>((listener, path.to_owned()))
    });
    Ok(Sockets { tcp: tcp.transpose()?, unix: unix.transpose()? })
}

fn bind_unix(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "is there and no socket"));
        }
        Ok(_) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another sojournd answers there"));
        }
        Ok(_) => std::fs::remove_file(path)?,
        Err(_) => {}
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    // Between bind and this the process's umask protects; nobody is answered before `serve`.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Sockets {
    /// Where TCP is bound: the port that the system chose for port 0.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().and_then(|tcp| tcp.local_addr().ok())
    }
}

/// Answers on `sockets` until dropped. Removes the Unix socket then.
///
/// # Errors
/// A socket stopped working.
pub async fn serve(sockets: Sockets, api: Arc<Api>) -> io::Result<()> {
    let router = super::router(api);
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let Sockets { tcp, unix } = sockets;
    let (unix, _remove) = match unix {
        Some((listener, path)) => (Some(UnixListener::from_std(listener)?), Some(Remove(path))),
        None => (None, None),
    };
    let tcp = tcp.map(TcpListener::from_std).transpose()?;
    loop {
        // Closed never: the semaphore lives here.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
        tokio::select! {
            accepted = accept_tcp(tcp.as_ref()) => match accepted {
                Ok((stream, address)) => {
                    let router = router.clone();
                    tokio::spawn(async move {
                        converse(stream, Peer::Tcp(address), router).await;
                        drop(place);
                    });
                }
                Err(error) => wait_after(&error).await,
            },
            accepted = accept_unix(unix.as_ref()) => match accepted {
                Ok(stream) => {
                    let router = router.clone();
                    tokio::spawn(async move {
                        converse(stream, Peer::Unix, router).await;
                        drop(place);
                    });
                }
                Err(error) => wait_after(&error).await,
            },
        }
    }
}

async fn accept_tcp(listener: Option<&TcpListener>) -> io::Result<(tokio::net::TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

async fn accept_unix(listener: Option<&UnixListener>) -> io::Result<tokio::net::UnixStream> {
    match listener {
        Some(listener) => listener.accept().await.map(|(stream, _)| stream),
        None => std::future::pending().await,
    }
}

/// Too many open files, mostly: looking again at once would only spin.
async fn wait_after(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, peer: Peer, router: Router) {
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let router = router.clone();
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            let answer = match tokio::time::timeout(REQUEST, router.oneshot(request)).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(never)) => match never {},
                Err(_) => {
                    let what = "the request took too long";
                    axum::response::IntoResponse::into_response(super::ApiError::new(
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
        .header_read_timeout(HEADERS)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    // What goes wrong here went wrong at the other end.
    if let Ok(Err(error)) = tokio::time::timeout(CONNECTION, connection).await {
        tracing::debug!(%error, "a connection ended");
    }
}

struct Remove(PathBuf);

impl Drop for Remove {
    fn drop(&mut self) {
        // Where the folder is not ours any more, the next start replaces the socket.
        let _ = std::fs::remove_file(&self.0);
    }
}
