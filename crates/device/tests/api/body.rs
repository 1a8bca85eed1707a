//! The control interface over a device in memory, without sockets and in virtual time, and requests made of bytes: what the
//! tests and `fuzz/targets/api.rs` share.

use axum::body::{to_bytes, Body};
use axum::http::{header, HeaderMap, Method, Request, StatusCode, Uri};
use axum::Router;
use sojourn_device::api::{router, Api, Peer, Token};
use sojourn_device::config::{self, Config};
use sojourn_device::control::{Control, Parts, Schedules, SharedWindows};
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::orders::{orders, Commands, Orders};
use sojourn_device::path::Path;
use sojourn_device::pool::Pool;
use sojourn_device::port::{loopback, FarEnd};
use sojourn_device::record::{Recorder, Setting};
use sojourn_device::run::{run_commands, Board, Publisher};
use sojourn_random::Stream;
use sojourn_units::{Instant, Span};
use std::net::SocketAddr;
use std::sync::Arc;
use tower::ServiceExt;

pub const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const FRAMES: u32 = 4096;

pub const CONFIG: &str = r#"[ports.a]
back_end = "loopback"

[ports.b]
back_end = "loopback"

[a_to_b]
scheme = "pfifo limit 100p"
rate = "8 Mbit/s"

[windows]
packets = 1000
"#;

/// A device and what is known of it outside.
pub struct World {
    runtime: tokio::runtime::Runtime,
    router: Router,
    engine: Engine,
    orders: Orders,
    board: Board,
    publisher: Publisher,
    far: [FarEnd; 2],
    now: Instant,
    /// Frames put in at A, taken out at B.
    pub put: u64,
    pub got: u64,
    /// Changes that requests made of bytes brought about.
    pub changes: u64,
}

/// An answer.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }
}

/// Where most requests come from.
pub fn here() -> Peer {
    Peer::Tcp(SocketAddr::from(([127, 0, 0, 1], 50000)))
}

impl World {
    /// Of a configuration that may be read again from `file`.
    pub fn new(config: &Config, file: &std::path::Path) -> Self {
        Self::with(config, file, |_| Schedules::none())
    }

    pub fn with(config: &Config, file: &std::path::Path, schedules: impl FnOnce(Commands) -> Schedules) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (a, far_a) = loopback("a");
        let (b, far_b) = loopback("b");
        let windows = SharedWindows::default();
        let paths = Direction::ALL.map(|direction| {
            let path = config.direction(direction).path();
            let windows = Arc::clone(&windows);
            let sink = Box::new(move |closed| windows.lock().unwrap().add(direction, &closed));
            let scheme = path.scheme.as_ref().map(|scheme| scheme.text()).unwrap_or_default();
            let setting = Setting { scheme, ..Setting::default() };
            let recorder = Recorder::new(config.windows.packets, path.rate, path.overhead, setting, sink);
            Path::new(&path, Box::new(Stream::seeded(1)), 7, recorder)
        });
        let engine = Engine::new(Pool::new(FRAMES, 2048, 256).unwrap(), [Box::new(a), Box::new(b)], paths);
        let (commands, orders) = orders();
        let board = Board::default();
        let control = Control::new(Parts {
            commands: commands.clone(),
            board: Arc::clone(&board),
            windows,
            store: None,
            schedules: schedules(commands),
            file: file.to_owned(),
            config: config.clone(),
        });
        let api = Arc::new(Api::new(control));
        api.know_token(|| Ok::<_, ()>(Token::new(TOKEN))).unwrap();
        let mut world = Self {
            runtime,
            router: router(api),
            engine,
            orders,
            board,
            publisher: Publisher::default(),
            far: [far_a, far_b],
            now: Instant::ZERO,
            put: 0,
            got: 0,
            changes: 0,
        };
        world.turn();
        world
    }

    /// The device of [`CONFIG`].
    pub fn plain() -> Self {
        let config = config::parse(CONFIG, std::path::Path::new("test.toml")).unwrap();
        Self::new(&config, std::path::Path::new("/nonexistent/test.toml"))
    }

    /// A millisecond passes, in which two packets arrive and one fits the first rate.
    pub fn turn(&mut self) {
        for _ in 0..2 {
            self.far[0].put(vec![0; 1000]);
            self.put += 1;
        }
        self.pass();
    }

    fn pass(&mut self) {
        self.now += Span::from_millis(1);
        assert!(!run_commands(&mut self.engine, self.now, &self.orders), "nobody told it to stop");
        self.engine.step(self.now).unwrap();
        while self.far[1].get().is_some() {
            self.got += 1;
        }
        self.publisher.publish(&mut self.engine, self.now, Span::from_millis(1), &self.board);
    }

    /// The answer to a request; the device works meanwhile.
    pub fn ask(&mut self, request: Request<Body>) -> Answer {
        let answer = self.router.clone().oneshot(request);
        let mut answer = Box::pin(answer);
        loop {
            let done = self.runtime.block_on(async {
                // Lets an answer through that needs no more than a turn.
                tokio::time::timeout(std::time::Duration::from_micros(100), answer.as_mut()).await.ok()
            });
            if let Some(done) = done {
                let (parts, body) = done.unwrap().into_parts();
                let bytes = self.runtime.block_on(to_bytes(body, 1 << 24)).unwrap();
                let text = String::from_utf8(bytes.to_vec()).unwrap();
                return Answer { status: parts.status, headers: parts.headers, text };
            }
            self.turn();
        }
    }

    /// Asks as whoever has the token does; with a body where `body` is not empty.
    pub fn please(&mut self, method: Method, path: &str, body: &str) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .extension(here())
            .header(header::HOST, "localhost:9180")
            .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap();
        self.ask(request)
    }

    /// Each frame that was put in is in one place, and each of the pool as well.
    pub fn check_conservation(&mut self) {
        let path = self.engine.path(Direction::AToB);
        let at = path.frame_counts();
        let counters = path.counters();
        let dropped = counters.dropped_total().packets;
        assert_eq!(counters.arrived.packets, self.put, "all arrived");
        assert_eq!(
            self.put,
            self.got + dropped + at.queued + at.delayed + at.ready,
            "received = sent + dropped + queued"
        );
        let free = self.engine.pool.free() as u64;
        assert_eq!(free + at.queued + at.delayed + at.ready, u64::from(FRAMES), "no frame of the pool is lost");
    }

    /// What is in force from A to B.
    pub fn in_force(&self) -> (String, u64, u64) {
        let path = self.engine.path(Direction::AToB);
        (path.scheme().unwrap().text(), path.rate().unwrap().bit_s(), path.delay().nanos())
    }
}

/// Takes bytes from the front; zeros when there are none left.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn one(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    fn length(&mut self) -> usize {
        self.one() << 8 | self.one()
    }

    fn some(&mut self) -> &'a [u8] {
        let length = self.length().min(self.0.len());
        let (some, rest) = self.0.split_at(length);
        self.0 = rest;
        some
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.one() % choices.len()]
    }
}

const PATHS: &[&str] = &[
    "/",
    "/healthz",
    "/login",
    "/page.css",
    "/page.js",
    "/status",
    "/windows",
    "/windows?limit=3",
    "/windows?limit=-1",
    // Often: there most is changed.
    "/directions/a_to_b",
    "/directions/a_to_b",
    "/directions/a_to_b",
    "/directions/a_to_b",
    "/directions/a_to_b",
    "/directions/a_to_b",
    "/directions/a_to_b",
    "/directions/a_to_b",
    "/directions/b_to_a",
    "/directions/c",
    "/schedule",
    "/schedule/start",
    "/schedule/stop",
    "/reload",
    "/metrics",
    "/openapi.json",
    "",
];
const BODIES: &[&str] = &[
    "",
    "{}",
    "[]",
    "{\"rate\": \"5 Mbit/s\"}",
    "{\"rate\": \"9 Mbit/s\"}",
    "{\"delay\": \"1 ms\"}",
    "{\"delay\": \"0 s\", \"scheme\": \"codel\"}",
    "{\"rate\": 5}",
    "{\"rate\": \"0 bit/s\"}",
    "{\"scheme\": \"fq_codel\"}",
    "{\"scheme\": \"pie target 20ms\", \"label\": \"p\", \"delay\": \"3 ms\"}",
    "{\"scheme\": {\"kind\": \"red\", \"limit\": \"100 p\"}}",
    "{\"scheme\": \"nothing\"}",
    "{\"delay\": \"1 h\"}",
    "{\"label\": \"alone\"}",
    "{\"rate\": \"1 Mbit/s\", \"rate\": \"2 Mbit/s\"}",
    "token=0123456789abcdef0123456789abcdef",
    "token=wrong",
];
/// Open to everybody on this machine.
const OPEN: &[&str] = &["/healthz", "/login", "/page.css", "/page.js"];

/// One request of bytes, and its answer, judged; `None`: the bytes make no request.
fn one(world: &mut World, bytes: &mut Bytes<'_>) -> Option<()> {
    let method =
        bytes.of(&[Method::GET, Method::POST, Method::PATCH, Method::PATCH, Method::PUT, Method::DELETE, Method::HEAD]
            .each_ref());
    let path = bytes.of(PATHS);
    let raw = if path.is_empty() { String::from_utf8_lossy(bytes.some()).into_owned() } else { path.to_owned() };
    let uri: Uri = raw.parse().ok()?;
    let peer = bytes.of(&[
        Some(Peer::Unix),
        Some(here()),
        Some(here()),
        Some(Peer::Tcp(SocketAddr::from(([192, 0, 2, 1], 9)))),
        None,
    ]);
    let host = bytes.of(&["localhost:9180", "127.0.0.1", "[::1]:1", "localhost:9180", "evil.example", ""]);
    let right = format!("Bearer {TOKEN}");
    let credential = bytes.of(&["", "Bearer wrong", right.as_str(), right.as_str(), "Basic eDp5", "Bearer "]);
    let json = "application/json";
    let kind = bytes.of(&[json, json, json, json, "application/x-www-form-urlencoded", "text/plain", ""]);
    let body = match bytes.one() % 8 {
        0..=4 => bytes.of(BODIES).as_bytes().to_vec(),
        5 | 6 => bytes.some().to_vec(),
        _ => deep(bytes.of(&["rate", "scheme", "x"]), bytes.length()),
    };
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in [(header::HOST, host), (header::AUTHORIZATION, credential), (header::CONTENT_TYPE, kind)] {
        if !value.is_empty() {
            request = request.header(name, value);
        }
    }
    let mut request = request.body(Body::from(body)).ok()?;
    if let Some(peer) = peer {
        request.extensions_mut().insert(peer);
    }
    let asked = (request.method().clone(), request.uri().path().to_owned());
    let before = world.in_force();
    let answer = world.ask(request);
    judge(&asked, peer, host, credential, &answer);
    let may_change = peer == Some(Peer::Unix) || (peer == Some(here()) && credential == right);
    if world.in_force() != before {
        world.changes += 1;
        if std::env::var_os("FUZZ_DEFECT").is_some() && before.0.starts_with("red") && before.2 > 0 {
            // The defect that the fuzzer must find: a change after that of scheme and delay loses a frame.
            world.got -= 1;
        }
    }
    if !may_change || answer.status != StatusCode::OK || asked.0 != Method::PATCH {
        assert_eq!(world.in_force(), before, "{asked:?} changed something: {}", answer.status);
    }
    Some(())
}

/// Lists in lists, as long as a request may be.
fn deep(key: &str, depth: usize) -> Vec<u8> {
    let depth = depth.min(32_000);
    format!("{{\"{key}\":{}{}}}", "[".repeat(depth), "]".repeat(depth)).into_bytes()
}

fn judge((method, path): &(Method, String), peer: Option<Peer>, host: &str, credential: &str, answer: &Answer) {
    let status = answer.status;
    let what = format!("{method} {path} from {peer:?}, Host {host:?}, {credential:?}: {status} {}", answer.text);
    assert!(!status.is_server_error(), "{what}");
    let refused = match peer {
        None => Some(StatusCode::FORBIDDEN),
        Some(Peer::Unix) => None,
        Some(peer) if peer != here() => Some(StatusCode::FORBIDDEN),
        Some(_) if host.is_empty() || host == "evil.example" => Some(StatusCode::MISDIRECTED_REQUEST),
        Some(_) if OPEN.contains(&path.as_str()) || credential == format!("Bearer {TOKEN}") => None,
        // The page sends who has no token to the form.
        Some(_) if path == "/" && !credential.starts_with("Bearer") => Some(StatusCode::SEE_OTHER),
        Some(_) => Some(StatusCode::UNAUTHORIZED),
    };
    match refused {
        Some(expected) => assert_eq!(status, expected, "{what}"),
        None => assert!(![401, 403, 421].contains(&status.as_u16()) || path == "/login", "{what}"),
    }
    let page = answer.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if status.is_client_error() && method != Method::HEAD && !page {
        let error = answer.json()["error"].as_str().map(str::len);
        assert!(error.is_some_and(|length| length > 0), "{what}");
    }
}

/// Up to eight requests of the bytes. How many there were.
pub fn requests(world: &mut World, bytes: &[u8]) -> u64 {
    let mut bytes = Bytes(bytes);
    let mut asked = 0;
    for _ in 0..8 {
        if bytes.0.is_empty() {
            break;
        }
        if one(world, &mut bytes).is_some() {
            asked += 1;
        }
    }
    world.check_conservation();
    asked
}
