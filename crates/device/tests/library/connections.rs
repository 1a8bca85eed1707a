//! Who opens connections and says nothing keeps nobody out.

use sojourn_device::api::{serve, Api, Listen, Token};
use sojourn_device::config;
use sojourn_device::control::{Control, Parts, Schedules, SharedWindows};
use sojourn_device::orders::orders;
use sojourn_device::run::Board;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// Far beyond what any machine needs.
const TIMEOUT: Duration = Duration::from_secs(120);
const ASK: &[u8] = b"GET /schedule HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdef\r\nConnection: close\r\n\r\n";

/// A control interface without a device. Connections that say nothing stay open for an hour.
fn interface(socket: &Path) -> SocketAddr {
    let text = "[ports.a]\nback_end = \"loopback\"\n[ports.b]\nback_end = \"loopback\"\n";
    let config = config::parse(text, Path::new("d.toml")).unwrap();
    let (commands, _orders) = orders();
    let (board, windows, schedules) = (Board::default(), SharedWindows::default(), Schedules::none());
    let parts = Parts { commands, board, windows, store: None, schedules, file: "d.toml".into(), config };
    let api = Arc::new(Api::new(Control::new(parts)));
    api.know_token(|| Ok::<_, ()>(Token::new(TOKEN))).unwrap();
    let sockets = Listen {
        tcp: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        token_file: "/nonexistent".into(),
        unix: Some(socket.to_owned()),
        headers: Duration::from_secs(3600),
    };
    let there = Arc::clone(&api);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        match runtime.block_on(serve(&sockets, api)) {}
    });
    loop {
        let interfaces = there.interfaces.lock().unwrap().clone();
        if let (Some(tcp), Some(unix)) = (interfaces.tcp, interfaces.unix) {
            assert!(unix.up, "{unix:?}");
            return tcp.at.parse().unwrap();
        }
        std::thread::yield_now();
    }
}

/// The answer to a request: that there is no schedule.
fn asked(mut stream: impl Read + Write) -> String {
    stream.write_all(ASK).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 409 Conflict"), "{text}");
    text
}

fn tcp(to: SocketAddr, from: [u8; 4]) -> TcpStream {
    let flags = nix::sys::socket::SockFlag::SOCK_CLOEXEC;
    let (family, kind) = (nix::sys::socket::AddressFamily::Inet, nix::sys::socket::SockType::Stream);
    let socket = nix::sys::socket::socket(family, kind, flags, None).unwrap();
    let raw = std::os::fd::AsRawFd::as_raw_fd(&socket);
    let address = |address: SocketAddr| nix::sys::socket::SockaddrStorage::from(address);
    nix::sys::socket::bind(raw, &address(SocketAddr::from((from, 0)))).unwrap();
    nix::sys::socket::connect(raw, &address(to)).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

/// Nothing has come, not even an end.
fn is_open(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn silent_connections_keep_neither_the_unix_socket_nor_tcp_from_answering() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("c.sock");
    let address = interface(&socket);
    let unix = || {
        let stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    };
    // All places of TCP, no address over its share.
    let mut silent: Vec<TcpStream> = (0..64).map(|n| tcp(address, [127, 0, 1, n / 8])).collect();
    // Some have begun a request.
    silent.iter_mut().step_by(3).for_each(|stream| stream.write_all(b"GET /status HTTP/1.1\r\nHost: lo").unwrap());
    asked(unix());
    assert!(silent.iter_mut().all(is_open), "none had to go for the Unix socket");
    // The issue's: from one address 250 more.
    let mut more: Vec<TcpStream> = (0..250).map(|_| tcp(address, [127, 0, 0, 1])).collect();
    asked(unix());
    asked(tcp(address, [127, 0, 0, 1]));
    asked(tcp(address, [127, 0, 2, 1]));
    // Those that gave way end in their own time.
    let mut open = more.len();
    while open > 16 {
        std::thread::yield_now();
        open = more.iter_mut().filter_map(|stream| is_open(stream).then_some(())).count();
    }
    assert!(open > 0, "its share stays with the address");
    let others = silent.iter_mut().filter_map(|stream| is_open(stream).then_some(())).count();
    assert!(others >= 64 - 17, "{others}: an address takes its share from others, not more");
}
