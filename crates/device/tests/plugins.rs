//! A scheme in a shared library that crashes or does not return: the process ends, and the next start runs the built-in scheme.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far beyond what any machine needs.
const TIMEOUT: Duration = Duration::from_secs(120);
/// What the service manager waits before a new start (packaging/sojournd.service).
const RESTART: Duration = Duration::from_millis(100);

/// A library that does `fault` at its arrival number 500.
fn library(folder: &Path, name: &str, fault: &str) {
    let source = format!(
        r#"#include "sojourn_aqm.h"
typedef struct {{ uint64_t arrivals; }} state;
static int32_t init(void *at, const sojourn_value *given) {{ (void)at; (void)given; return SOJOURN_DONE; }}
static int32_t enqueue(void *at, const sojourn_packet *arrival, sojourn_queue *queue) {{
    state *self = at; (void)arrival; (void)queue;
    if (++self->arrivals == 500) {{ {fault} }}
    return SOJOURN_ACCEPT;
}}
const sojourn_aqm *sojourn_aqm_plugin(void) {{
    static const sojourn_aqm table = {{
        .version = SOJOURN_AQM_VERSION, .table_bytes = sizeof(sojourn_aqm), .name = "{name}",
        .line_offset = SOJOURN_NO_LINE, .state_bytes = sizeof(state), .state_align = 8,
        .init = init, .set_params = init, .enqueue = enqueue,
    }};
    return &table;
}}
"#
    );
    let (c, so) = (folder.join(format!("{name}.c")), folder.join(format!("lib{name}.so")));
    fs::write(&c, source).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/sojourn/plugins");
    let built =
        Command::new("cc").args(["-O1", "-fPIC", "-shared", "-I"]).arg(include).arg("-o").arg(&so).arg(&c).status();
    assert!(built.unwrap().success());
}

fn configure(at: &Path, scheme: &str) {
    let text = format!(
        "[ports.a]\nback_end = \"loopback\"\nload = \"8 Mbit/s\"\n[ports.b]\nback_end = \"loopback\"\n\
         [a_to_b]\nscheme = \"{scheme}\"\nrate = \"4 Mbit/s\"\n[windows]\nstore = \"none\"\n\
         [control]\nlisten = \"none\"\nsocket = \"none\"\ntoken_file = \"token\"\n\
         [plugins]\nfolder = \"{}\"\nlibraries = [\"lib{scheme}.so\"]\nfallback = \"codel\"\nrecord = \"record.json\"\n\
         [run]\nuser = \"root\"\nstatus_every = \"10 ms\"\nstatus_lines = true\n",
        at.join("plugins").display()
    );
    fs::write(at.join("d.toml"), text).unwrap();
}

fn start(at: &Path, log: &str) -> Child {
    let out = fs::File::create(at.join(log)).unwrap();
    let error = fs::File::create(at.join(format!("{log}.error"))).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sojournd"));
    command.args(["run", "d.toml"]).current_dir(at).stdin(Stdio::null()).stdout(out).stderr(error);
    command.spawn().unwrap()
}

/// The last state that was printed.
fn last(at: &Path, log: &str) -> Option<Value> {
    let text = fs::read_to_string(at.join(log)).ok()?;
    text.lines().rev().find_map(|line| serde_json::from_str(line).ok())
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn fails(name: &str, fault: &str, what: &str) {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: libraries must be owned by root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("plugins")).unwrap();
    library(&at.join("plugins"), name, fault);
    configure(at, name);
    let mut first = start(at, "first");
    let ended = until("the plug-in ends the process", || first.try_wait().unwrap());
    assert!(!ended.success(), "{ended}");
    let seen = last(at, "first").unwrap_or_else(|| panic!("{}", fs::read_to_string(at.join("first.error")).unwrap()));
    assert!(seen["directions"][0]["scheme"].as_str().unwrap().starts_with(name), "{seen}");
    // What the service manager does.
    std::thread::sleep(RESTART);
    let begun = Instant::now();
    let mut second = start(at, "second");
    let state = until("the wire is up again", || {
        last(at, "second").filter(|state| state["directions"][0]["counts"]["forwarded"]["packets"].as_u64() > Some(0))
    });
    println!("{name}: {ended}; forwards again {:.0} ms after it was started", begun.elapsed().as_secs_f64() * 1e3);
    assert_eq!(state["directions"][0]["scheme"], "codel");
    let record: Value = serde_json::from_str(&fs::read_to_string(at.join("record.json")).unwrap()).unwrap();
    println!("{record}");
    let failure = &record["failures"][0];
    assert!(failure["scheme"].as_str().unwrap().starts_with(&format!("{name}@")), "{record}");
    assert!(failure["what"].as_str().unwrap().contains(what) && failure["at_unix_s"].as_f64() > Some(1e9), "{record}");
    // 8 Mbit/s meet 4 Mbit/s, so a queue has formed: of 500 arrivals half wait. What is recorded was seen up to 0.1 s, or 100
    // arrivals, before.
    assert!((100..=300).contains(&failure["lost_packets"].as_u64().unwrap()), "{record}");
    second.kill().unwrap();
    second.wait().unwrap();
    // A third start keeps the record and the fallback.
    let mut third = start(at, "third");
    until("the third start", || last(at, "third").filter(|state| state["directions"][0]["scheme"] == "codel"));
    third.kill().unwrap();
    third.wait().unwrap();
}

#[test]
fn a_crash_ends_the_process_and_the_next_start_runs_the_fallback() {
    fails("crasher", "*(volatile int *)0 = 1;", "the process ended while the plug-in was at work");
}

#[test]
fn a_call_that_does_not_return_ends_the_process_likewise() {
    fails("looper", "for (;;) __asm__ volatile(\"\");", "a call took more than 10 ms");
}

#[test]
fn a_configuration_that_names_what_may_not_be_loaded_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("plugins")).unwrap();
    library(&at.join("plugins"), "fine", "");
    configure(at, "fine");
    let check = || {
        let ended =
            Command::new(env!("CARGO_BIN_EXE_sojournd")).args(["check", "d.toml"]).current_dir(at).output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    assert_eq!(check(), (Some(0), String::new()));
    let mode = |name: &str, mode| fs::set_permissions(at.join(name), fs::Permissions::from_mode(mode)).unwrap();
    mode("plugins/libfine.so", 0o666);
    let (status, error) = check();
    assert_eq!(status, Some(2));
    assert!(
        error.contains("key `plugins.libraries`")
            && error.contains("allowed: owned by root and writable by root alone"),
        "{error}"
    );
    mode("plugins/libfine.so", 0o644);
    mode("plugins", 0o777);
    assert!(check().1.contains("mode 0777"), "{}", check().1);
    mode("plugins", 0o755);
    fs::write(at.join("plugins/libfine.so"), "no library").unwrap();
    assert!(check().1.contains("libfine.so"), "{}", check().1);
}
