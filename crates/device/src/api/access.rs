//! Who may ask: peers on this machine, with the token or a session that came from it.

use super::error::ApiError;
use super::Api;
use crate::hardening::access_problem;
use axum::extract::{Request, State};
use axum::http::{header, HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use rustix::rand::{getrandom, GetRandomFlags};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

/// Where a request comes from. A request without is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Through the Unix socket, whose file permissions let in root and the device's user alone.
    Unix,
    /// Through TCP.
    Tcp(SocketAddr),
}

/// Bytes of a token and of a session's key.
const SECRET_BYTES: usize = 32;
/// Shortest token that is taken from a file, in characters.
const SHORTEST_TOKEN: usize = 32;
/// Sessions at a time; a further one ends the oldest.
const SESSIONS: usize = 16;
const SESSION: Duration = Duration::from_secs(12 * 3600);
const COOKIE: &str = "sojourn_session";
/// What anybody on this machine may ask for.
const OPEN: [&str; 4] = ["/healthz", "/login", "/page.css", "/page.js"];

/// A secret text, compared in constant time and not printed.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// This text as a token.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Reads the token in `file`, or makes one there that only its owner can read.
    ///
    /// # Errors
    /// The file cannot be read or made, others may read it, or it holds less than a token.
    pub fn open(file: &Path) -> io::Result<Self> {
        let named = |e: io::Error| {
            let hint = access_problem(file);
            io::Error::new(e.kind(), format!("token file {}: {e}{hint}", file.display()))
        };
        match OpenOptions::new().read(true).open(file) {
            Ok(mut opened) => {
                let mode = opened.metadata().map_err(named)?.permissions().mode();
                if mode & 0o077 != 0 {
                    let what = format!(
                        "token file {}: others may read it (mode {:o}); `chmod 600 {}` mends it",
                        file.display(),
                        mode & 0o777,
                        file.display()
                    );
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
                }
                let mut text = String::new();
                opened.read_to_string(&mut text).map_err(named)?;
                let text = text.trim();
                if text.len() < SHORTEST_TOKEN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
                    let what = format!(
                        "token file {}: holds no token; allowed: {SHORTEST_TOKEN} or more printable characters, or no file: one is made",
                        file.display()
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                Ok(Self::new(text))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                if let Some(folder) = file.parent() {
                    std::fs::create_dir_all(folder).map_err(named)?;
                }
                let token = secret()?;
                let mut made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(named)?;
                writeln!(made, "{token}").map_err(named)?;
                Ok(Self(token))
            }
            Err(e) => Err(named(e)),
        }
    }

    pub(super) fn is(&self, given: &str) -> bool {
        same(&self.0, given)
    }
}

/// In a time that depends on the length of `given` alone.
fn same(secret: &str, given: &str) -> bool {
    secret.as_bytes().ct_eq(given.as_bytes()).into()
}

/// Random text.
fn secret() -> io::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    let got = getrandom(&mut bytes[..], GetRandomFlags::empty())?;
    if got < SECRET_BYTES {
        return Err(io::Error::other("the system gave too few random bytes"));
    }
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Sessions of the page: each may look, and change nothing. Cookies go to every port of an address, so that a session is
/// worth less than the token.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<VecDeque<(String, Instant)>>);

impl Sessions {
    /// Begins one; the value of the header `Set-Cookie`.
    fn begin(&self) -> io::Result<String> {
        let key = secret()?;
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() == SESSIONS {
            sessions.pop_front();
        }
        let cookie = format!("{COOKIE}={key}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}", SESSION.as_secs());
        sessions.push_back((key, Instant::now()));
        Ok(cookie)
    }

    fn holds(&self, given: &str) -> bool {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // All are compared, so that the time tells nothing about which.
        let found = sessions.iter().filter(|(key, begun)| same(key, given) && begun.elapsed() < SESSION).count();
        found > 0
    }
}

/// Lets a request through, or answers why not.
pub(super) async fn admit(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let Some(peer) = request.extensions().get::<Peer>().copied() else {
        return ApiError::new(StatusCode::FORBIDDEN, "the request comes from nowhere").into_response();
    };
    if let Peer::Tcp(address) = peer {
        if let Err(refused) = check(&api, address, &request) {
            tracing::debug!(%address, path = request.uri().path(), "refused");
            return match refused {
                Refused::Error(error) => error.into_response(),
                Refused::LogIn => Redirect::to("/login").into_response(),
            };
        }
    }
    next.run(request).await
}

enum Refused {
    Error(ApiError),
    /// A browser is sent to the form.
    LogIn,
}

fn check(api: &Api, address: SocketAddr, request: &Request) -> Result<(), Refused> {
    let error = |status, what: &str| Err(Refused::Error(ApiError::new(status, what)));
    if !is_loopback(address.ip()) {
        return error(StatusCode::FORBIDDEN, "only this machine may ask");
    }
    if !host_is_here(request.headers()) {
        // A page from elsewhere, whose name was made to point here, says its own name.
        return error(
            StatusCode::MISDIRECTED_REQUEST,
            "the header Host names another machine; allowed: localhost, 127.0.0.1, [::1]",
        );
    }
    let path = request.uri().path();
    if OPEN.contains(&path) {
        return Ok(());
    }
    if let Some(given) = bearer(request.headers()) {
        if api.lets_in(given) {
            return Ok(());
        }
        tracing::warn!(%address, path, "wrong token");
        return error(StatusCode::UNAUTHORIZED, "wrong token");
    }
    if cookie(request.headers()).is_some_and(|key| api.sessions.holds(key)) {
        if [Method::GET, Method::HEAD].contains(request.method()) {
            return Ok(());
        }
        return error(StatusCode::FORBIDDEN, "the page's session may look, not change; changes need the token");
    }
    if path == "/" {
        return Err(Refused::LogIn);
    }
    error(StatusCode::UNAUTHORIZED, "needs the token, as in \"Authorization: Bearer TOKEN\"")
}

/// Also an IPv4 address that came through an IPv6 socket.
fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn host_is_here(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|text| text.split(';')).find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// Begins a session for whoever has the token; the header `Set-Cookie`.
pub(super) fn log_in(api: &Api, given: &str) -> Result<String, ApiError> {
    if !api.lets_in(given.trim()) {
        tracing::warn!("wrong token at the login");
        return Err(ApiError::new(StatusCode::UNAUTHORIZED, "wrong token"));
    }
    api.sessions.begin().map_err(|e| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))
}
