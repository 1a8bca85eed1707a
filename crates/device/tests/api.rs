//! The control interface: who is let in, what is changed, and what is refused. In a program of its own, whose memory is looked at.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "api/body.rs"]
mod body;

use axum::body::Body;
use axum::http::{header, Method, Request, StatusCode};
use body::{here, requests, World, CONFIG, TOKEN};
use sojourn_aqm::Random;
use sojourn_device::api::{self, Peer, Token};
use sojourn_device::clock::{Clock, Dated};
use sojourn_device::config;
use sojourn_device::control::Schedules;
use sojourn_device::schedule::{Design, Plan, Schedule};
use sojourn_random::Stream;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

fn bare(path: &str, peer: Peer) -> axum::http::request::Builder {
    Request::builder().uri(path).extension(peer).header(header::HOST, "localhost:9180")
}

fn status_of(world: &mut World, request: axum::http::request::Builder) -> u16 {
    world.ask(request.body(Body::empty()).unwrap()).status.as_u16()
}

#[test]
fn without_the_token_with_a_wrong_one_and_from_elsewhere_nobody_gets_in() {
    let mut world = World::plain();
    let from = |address: &str| Peer::Tcp(address.parse::<SocketAddr>().unwrap());
    let with = |token: &str| bare("/status", here()).header(header::AUTHORIZATION, format!("Bearer {token}"));
    assert_eq!(status_of(&mut world, with(TOKEN)), 200);
    assert_eq!(status_of(&mut world, bare("/status", here())), 401);
    // Wrong in the last character, too short, too long, empty.
    for wrong in ["0123456789abcdef0123456789abcdee", "0123456789abcdef", &format!("{TOKEN}0"), ""] {
        assert_eq!(status_of(&mut world, with(wrong)), 401, "{wrong}");
    }
    assert_eq!(status_of(&mut world, bare(&format!("/status?token={TOKEN}"), here())), 401);
    let bearer = format!("Bearer {TOKEN}");
    for (peer, status) in [
        ("127.0.0.1:5", 200),
        ("127.8.8.8:5", 200),
        ("[::1]:5", 200),
        ("[::ffff:127.0.0.1]:5", 200),
        ("192.0.2.1:5", 403),
        ("[2001:db8::1]:5", 403),
        ("[::ffff:192.0.2.1]:5", 403),
        ("0.0.0.0:5", 403),
    ] {
        let request = bare("/status", from(peer)).header(header::AUTHORIZATION, &bearer);
        assert_eq!(status_of(&mut world, request), status, "{peer}");
        // Open to this machine, not to others.
        assert_eq!(status_of(&mut world, bare("/healthz", from(peer))), status, "{peer}");
    }
    // The Unix socket needs none: its permissions protect.
    assert_eq!(status_of(&mut world, bare("/status", Peer::Unix)), 200);
    // A request of which nobody says where it comes from.
    let lost = Request::builder().uri("/status").header(header::AUTHORIZATION, &bearer);
    assert_eq!(status_of(&mut world, lost), 403);
}

#[test]
fn a_name_that_was_made_to_point_here_is_refused() {
    let mut world = World::plain();
    for (host, status) in [
        ("localhost", 200),
        ("localhost:9180", 200),
        ("127.0.0.1:9180", 200),
        ("[::1]:9180", 200),
        ("[::1]", 200),
        ("evil.example", 421),
        ("evil.example:9180", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example:9180", 421),
        ("localhost:evil", 421),
    ] {
        let request = Request::builder()
            .uri("/status")
            .extension(here())
            .header(header::HOST, host)
            .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
        assert_eq!(status_of(&mut world, request), status, "{host}");
    }
    let none = Request::builder().uri("/healthz").extension(here());
    assert_eq!(status_of(&mut world, none), 421);
}

#[test]
fn a_session_of_the_page_may_look_and_not_change() {
    let mut world = World::plain();
    let form = |token: &str| {
        let request = bare("/login", here()).method(Method::POST);
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        request.body(Body::from(format!("token={token}"))).unwrap()
    };
    assert_eq!(world.ask(form("wrong")).status, StatusCode::UNAUTHORIZED);
    let answer = world.ask(form(TOKEN));
    assert_eq!((answer.status, answer.headers[header::LOCATION].as_bytes()), (StatusCode::SEE_OTHER, &b"/"[..]));
    let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(TOKEN), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let page = world.ask(bare("/", here()).header(header::COOKIE, cookie).body(Body::empty()).unwrap());
    assert!(page.status == StatusCode::OK && page.text.contains("pfifo limit 100p"), "{}", page.text);
    let change = bare("/directions/a_to_b", here())
        .method(Method::PATCH)
        .header(header::COOKIE, cookie)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from("{\"rate\": \"1 Mbit/s\"}"))
        .unwrap();
    assert_eq!(world.ask(change).status, StatusCode::FORBIDDEN);
    assert_eq!(status_of(&mut world, bare("/status", here()).header(header::COOKIE, "sojourn_session=0")), 401);
    // Sixteen sessions later the first has ended.
    for _ in 0..16 {
        assert_eq!(world.ask(form(TOKEN)).status, StatusCode::SEE_OTHER);
    }
    assert_eq!(status_of(&mut world, bare("/status", here()).header(header::COOKIE, cookie)), 401);
}

#[test]
fn an_answer_says_what_has_no_effect() {
    let mut world = World::plain();
    for (body, warnings) in [
        (
            "{\"scheme\": \"cake autorate-ingress\"}",
            &["key `a_to_b.scheme`: cake: `autorate-ingress` has no effect: the bandwidth stays as it is set"][..],
        ),
        // It is still in force.
        (
            "{\"rate\": \"2 Mbit/s\"}",
            &["key `a_to_b.scheme`: cake: `autorate-ingress` has no effect: the bandwidth stays as it is set"],
        ),
        ("{\"scheme\": \"cake\"}", &[]),
    ] {
        let answer = world.please(Method::PATCH, "/directions/a_to_b", body);
        let found: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(found["warnings"], serde_json::json!(warnings), "{body}");
    }
}

#[test]
fn a_change_is_in_force_as_a_whole_or_not_at_all() {
    let mut world = World::plain();
    let change = |world: &mut World, body: &str| {
        let answer = world.please(Method::PATCH, "/directions/a_to_b", body);
        (answer.status.as_u16(), answer.text)
    };
    let before = world.in_force();
    let table = [
        ("{\"rate\": \"1 Mbit/s\", \"scheme\": \"nothing\"}", 422, "key `scheme`: unknown algorithm"),
        ("{\"rate\": \"1 Mbit/s\", \"delay\": \"2 min\"}", 422, "key `delay`: is 120 s; allowed: 0 s to 60 s"),
        ("{\"rate\": 7}", 422, "key `rate`: 7 has no unit; allowed: a rate with its unit"),
        ("{\"speed\": 7}", 422, "key `speed`: is not a key here; allowed: scheme, label, rate, delay"),
        ("{\"label\": \"x\"}", 422, "key `label`: is given without `scheme`; allowed: together with `scheme`"),
        ("{}", 422, "changes nothing; allowed: at least one of scheme, rate and delay"),
        ("[]", 422, "the body, line 1, column 1: is no JSON object"),
    ];
    for (body, status, error) in table {
        let (found, text) = change(&mut world, body);
        let text = serde_json::from_str::<serde_json::Value>(&text).unwrap()["error"].as_str().unwrap().to_owned();
        assert!(found == status && text.starts_with(error), "{body}: {found} {text}");
        assert_eq!(world.in_force(), before, "{body}");
    }
    // Whoever sends a body for somebody else learns which key to name in his words.
    for (body, key) in [("{\"rate\": 7}", "rate"), ("{\"rate\": \"1 Mbit/s\", \"delay\": \"2 min\"}", "delay")] {
        let (_, text) = change(&mut world, body);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["key"], key);
    }
    let deep = format!("{{\"label\": {}{}}}", "[".repeat(16_000), "]".repeat(16_000));
    let why = "the body, line 1, column 138: is nested too deeply; allowed: at most 128 levels of tables and lists";
    assert_eq!(change(&mut world, &deep), (422, serde_json::json!({ "error": why }).to_string()));
    let long = format!("{{\"label\": \"{}\"}}", "x".repeat(70_000));
    assert_eq!(change(&mut world, &long).0, 413);
    let answer = world.please(Method::PATCH, "/directions/b_to_a", "{\"rate\": \"1 Mbit/s\"}");
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert_eq!(answer.json()["error"], "b_to_a has no queue: its frames are forwarded at once");
    let body = "{\"scheme\": \"codel target 3ms\", \"label\": \"c3\", \"rate\": \"16 Mbit/s\", \"delay\": \"2 ms\"}";
    assert_eq!(change(&mut world, body).0, 200);
    assert_eq!(world.in_force(), ("codel target 3ms".to_owned(), 16_000_000, 2_000_000));
    world.turn();
    let status = world.please(Method::GET, "/status", "").json();
    assert_eq!(status["directions"][0]["label"], "c3");
    assert_eq!(status["directions"][0]["scheme"], "codel target 3ms");
    world.check_conservation();
}

#[test]
fn the_file_is_put_in_force_again_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.toml");
    std::fs::write(&file, CONFIG).unwrap();
    let mut world = World::new(&config::load(&file).unwrap(), &file);
    let reload = |world: &mut World, text: &str| {
        std::fs::write(&file, text).unwrap();
        let answer = world.please(Method::POST, "/reload", "");
        (answer.status.as_u16(), answer.json())
    };
    let quicker = CONFIG.replace("8 Mbit/s", "16 Mbit/s").replace("limit 100p", "limit 50p");
    let before = world.in_force();
    for (text, status, error) in [
        (
            quicker.replace("packets = 1000", "packets = 2"),
            409,
            "d.toml: windows.packets changed; that needs a restart; nothing was changed",
        ),
        (
            format!("{quicker}\n[b_to_a]\nscheme = \"codel\"\nrate = \"1 Mbit/s\"\n"),
            409,
            "d.toml: b_to_a.rate, b_to_a.scheme changed; that needs a restart",
        ),
        (
            format!("{}\n[ports.b.faults]\nloss = 0.5\n[b_to_a]\noverhead = \"24 B\"\ndelay = \"1 ms\"\n", quicker),
            409,
            "d.toml: b_to_a.overhead, ports.b.faults changed; that needs a restart",
        ),
        (quicker.replace("16 Mbit/s", "16"), 422, "d.toml:9:8: key `a_to_b.rate`: \"16\" has no unit"),
    ] {
        let (found, answer) = reload(&mut world, &text);
        assert!(found == status && answer["error"].as_str().unwrap().contains(error), "{found} {answer}");
        assert_eq!(world.in_force(), before);
    }
    let (status, answer) = reload(&mut world, &quicker);
    assert_eq!(status, 200);
    let changed = serde_json::json!(["a_to_b.scheme = pfifo limit 50p", "a_to_b.rate = 16 Mbit/s"]);
    assert_eq!(answer["changed"], changed);
    assert_eq!(world.in_force(), ("pfifo limit 50p".to_owned(), 16_000_000, 0));
    // What was changed meanwhile goes back to what the file says.
    assert_eq!(world.please(Method::PATCH, "/directions/a_to_b", "{\"rate\": \"1 Mbit/s\"}").status, StatusCode::OK);
    assert_eq!(reload(&mut world, &quicker).1["changed"], serde_json::json!(["a_to_b.rate = 16 Mbit/s"]));
    world.check_conservation();
}

#[test]
fn a_running_schedule_keeps_its_direction_to_itself() {
    let text = format!("{CONFIG}\n[schedule]\nseed = 1\nstart = false\nschemes = {{ a = \"codel\", b = \"pie\" }}\n");
    let config = config::parse(&text, std::path::Path::new("d.toml")).unwrap();
    let mut world = World::with(&config, std::path::Path::new("/nonexistent"), |commands| {
        let make = move |table: &config::ScheduleTable, last| {
            let schemes = table.schemes.iter().map(|(label, scheme)| (label.clone(), scheme.0.clone())).collect();
            let plan = Plan::new(schemes, table.every.0, table.seed, Design::Random, table.direction.into()).unwrap();
            let slots = Box::new(|_| {});
            Schedule::new(plan, Dated::new(Clock::start()), last, commands.clone(), slots).map_err(|e| e.to_string())
        };
        Schedules::new(Box::new(make), config.schedule.as_ref(), Box::new(|| Some(None)))
    });
    let scheme = "{\"scheme\": \"red limit 100p\"}";
    assert_eq!(world.please(Method::GET, "/schedule", "").json()["running"], false);
    assert_eq!(world.please(Method::PATCH, "/directions/a_to_b", scheme).status, StatusCode::OK);
    assert_eq!(world.please(Method::POST, "/schedule/start", "").status, StatusCode::OK);
    let refused = world.please(Method::PATCH, "/directions/a_to_b", scheme);
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert_eq!(world.please(Method::PATCH, "/directions/a_to_b", "{\"rate\": \"4 Mbit/s\"}").status, StatusCode::OK);
    // Its thread hands the first switch over in its own time.
    while world.in_force().0.starts_with("red") {
        world.turn();
        std::thread::yield_now();
    }
    assert!(["codel", "pie"].contains(&world.in_force().0.as_str()));
    assert_eq!(world.please(Method::POST, "/schedule/stop", "").status, StatusCode::OK);
    assert_eq!(world.please(Method::PATCH, "/directions/a_to_b", scheme).status, StatusCode::OK);
    world.check_conservation();
}

#[test]
fn the_description_has_every_route_and_every_route_is_there() {
    let mut world = World::plain();
    let description = world.please(Method::GET, "/openapi.json", "").json();
    let mut described = BTreeSet::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            described.insert(format!("{method} {path}"));
            let method = method.to_uppercase().parse::<Method>().unwrap();
            let status = world.please(method, &path.replace("{direction}", "a_to_b"), "{}").status;
            assert!(![404, 405].contains(&status.as_u16()), "{path}: {status}");
        }
    }
    let expected = [
        "get /healthz",
        "get /metrics",
        "get /openapi.json",
        "get /schedule",
        "get /status",
        "get /windows",
        "patch /directions/{direction}",
        "post /reload",
        "post /schedule/start",
        "post /schedule/stop",
    ];
    assert_eq!(described, expected.map(str::to_owned).into());
    // What a client reads is described: a field of the innermost table.
    let schemas = &description["components"]["schemas"];
    assert!(schemas["QueueCounts"]["properties"]["dropped_overflow"].is_object(), "{schemas}");
}

#[test]
fn metrics_say_what_the_status_says() {
    let mut world = World::plain();
    (0..1000).for_each(|_| world.turn());
    let status = world.please(Method::GET, "/status", "").json();
    let text = world.please(Method::GET, "/metrics", "").text;
    let value = |name: &str| {
        let line =
            text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("{name}: {text}"));
        line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()
    };
    let counts = &status["directions"][0]["counts"];
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let a_to_b = "{direction=\"a_to_b\"}";
    assert_eq!(value(&format!("sojourn_arrived_packets_total{a_to_b}")), number(&counts["arrived"]["packets"]));
    assert_eq!(value(&format!("sojourn_forwarded_bytes_total{a_to_b}")), number(&counts["forwarded"]["bytes"]));
    let overflow = "sojourn_dropped_packets_total{direction=\"a_to_b\",reason=\"overflow\"}";
    assert!(number(&counts["dropped_overflow"]["packets"]) > 100.0);
    assert_eq!(value(overflow), number(&counts["dropped_overflow"]["packets"]));
    assert_eq!(
        value(&format!("sojourn_backlog_packets{a_to_b}")),
        number(&status["directions"][0]["backlog"]["packets"])
    );
    assert_eq!(value(&format!("sojourn_windows_total{a_to_b}")), number(&status["windows_closed"][0]));
    // Two arrive and one leaves a millisecond: packet n, which leaves after n ms, has waited n/2 ms, until 100 packets wait at
    // n = 200, and 100 ms from then on. 100 of 1000 have waited 50 ms or less, all of them less than 200 ms.
    let count = value(&format!("sojourn_time_seconds_count{a_to_b}"));
    assert_eq!(count, number(&counts["forwarded"]["packets"]));
    let below = |le: &str| value(&format!("sojourn_time_seconds_bucket{{le=\"{le}\",direction=\"a_to_b\"}}"));
    assert_eq!(below("0.2"), count);
    assert!((80.0..120.0).contains(&below("0.05")), "{}", below("0.05"));
    // By the conventions: described, prefixed, counters end in _total, base units, no value without its family.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.starts_with("sojourn_"), "{line}");
    }
    for line in text.lines().filter(|line| line.starts_with("# TYPE")) {
        let [_, _, name, kind] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert!(text.contains(&format!("# HELP {name} ")), "{name}");
        assert!(kind != "counter" || text.contains(&format!("\n{name}_total")), "{name}");
        assert!(!name.ends_with("_ms") && !name.ends_with("_us"), "{name}");
    }
    assert!(text.ends_with("# EOF\n"));
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn ten_thousand_requests_of_random_bytes_do_no_harm() {
    let mut world = World::plain();
    let mut random = Stream::seeded(10);
    let (mut asked, mut warm) = (0, None);
    while asked < 10_000 {
        let mut bytes = vec![0; 64 + random.next_u64() as usize % 192];
        bytes.iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
        asked += requests(&mut world, &bytes);
        if asked > 3_000 && warm.is_none() {
            warm = Some(resident());
        }
    }
    // Seven thousand requests after the warm-up: a leak of 1 KiB each would be 7 MiB.
    let grown = resident().saturating_sub(warm.unwrap());
    assert!(grown < 4 << 20, "{grown} bytes");
    // They reach what they are to try.
    assert!(world.changes > 10, "{}", world.changes);
    assert_eq!(world.please(Method::GET, "/healthz", "").text, "ok\n");
}

#[test]
fn sockets_are_bound_on_loopback_alone() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = api::bind_tcp(address.parse().unwrap()).unwrap_err();
        assert!(refused.to_string().ends_with("is not loopback"), "{refused}");
    }
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("c.sock");
    assert!(api::bind_tcp("127.0.0.1:0".parse().unwrap()).unwrap().local_addr().unwrap().ip().is_loopback());
    let bound = api::bind_unix(&socket).unwrap();
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    // One that is in use is not replaced, nor that of another program; one that a killed process left is.
    assert!(api::bind_unix(&socket).is_err());
    assert!(bound.is_there());
    drop(bound);
    assert!(!socket.exists());
    let stranger = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(api::bind_unix(&socket).unwrap_err().to_string().ends_with("another program listens there"));
    drop(stranger);
    assert!(socket.exists());
    drop(api::bind_unix(&socket).unwrap());
    std::fs::write(folder.path().join("file"), "kept").unwrap();
    assert!(api::bind_unix(&folder.path().join("file")).is_err());
}

#[test]
fn the_token_is_made_once_and_kept_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("below/token");
    Token::open(&file).unwrap();
    let made = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // 32 random bytes in hexadecimal and the end of the line.
    assert_eq!(made.len(), 65);
    Token::open(&file).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), made);
    Token::open(&folder.path().join("other")).unwrap();
    assert_ne!(std::fs::read_to_string(folder.path().join("other")).unwrap(), made);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(Token::open(&file).unwrap_err().to_string().contains("others may read it (mode 640)"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&file, "short").unwrap();
    assert!(Token::open(&file).unwrap_err().to_string().contains("holds no token"));
}

#[test]
fn a_table_with_classes_and_links_named_is_for_whoever_wants_one() {
    let mut world = World::plain();
    world.please(Method::GET, "/status", "");
    let request = bare("/status", Peer::Unix).header(header::ACCEPT, api::TEXT);
    let answer = world.ask(request.body(Body::empty()).unwrap());
    assert!(answer.headers[header::CONTENT_TYPE].to_str().unwrap().starts_with("text/plain"));
    let row = |name: &str| {
        let line = answer.text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{}", answer.text));
        // Cells are two spaces apart at least.
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("Scheme"), ["Scheme", "pfifo limit 100p", "none: forwarded at once"]);
    assert_eq!(row("Shaped rate"), ["Shaped rate", "8.00 Mbit/s", "–"]);
    // 1000 zeros are no IP: a packet each half millisecond, since the start.
    let other = row("Other: arrived");
    assert_ne!(other[1], "0 / 0 / 0");
    for class in ["TCP", "UDP", "ICMP"] {
        assert_eq!(row(class)[1..], ["0 / 0 / 0", "–"], "{class}");
    }
    assert_eq!(row("Port")[1..3], ["Link", "Received"]);
    // Nothing in memory has a carrier.
    assert_eq!(row("A (")[..2], ["A (a)", "–"]);
    // Whoever says nothing, or takes anything, gets JSON.
    for accept in ["*/*", "application/json"] {
        let request = bare("/status", Peer::Unix).header(header::ACCEPT, accept);
        assert_eq!(world.ask(request.body(Body::empty()).unwrap()).json()["version"], env!("CARGO_PKG_VERSION"));
    }
}
