//! What a service manager hears (sd_notify(3)) from a device that starts, reloads, hangs and stops. Needs root, for the packet
//! thread is held by ptrace.

#![allow(clippy::unwrap_used)]

use rustix::process::{kill_process, Pid, Signal};
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const WATCHDOG: Duration = Duration::from_millis(400);
/// More than any machine needs.
const TIMEOUT: Duration = Duration::from_secs(60);

struct Manager {
    folder: tempfile::TempDir,
    socket: UnixDatagram,
    device: Child,
}

impl Manager {
    /// Starts a device whose service manager is this test.
    fn start(watchdog: Option<Duration>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        let config = folder.path().join("sojournd.toml");
        // The state is shown more seldom than the watchdog wants it.
        configure(&config, "status_every = \"5 s\"");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sojournd"));
        command.arg("run").arg(&config).env("NOTIFY_SOCKET", folder.path().join("notify"));
        if let Some(time) = watchdog {
            command.env("WATCHDOG_USEC", time.as_micros().to_string());
        }
        let device = command.stderr(Stdio::null()).spawn().unwrap();
        Self { folder, socket, device }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.device), signal).unwrap();
    }

    /// The next message within this time.
    fn next(&self, within: Duration) -> Option<String> {
        let mut message = [0; 4096];
        self.socket.set_read_timeout(Some(within)).unwrap();
        let length = self.socket.recv(&mut message).ok()?;
        Some(String::from_utf8(message[..length].to_vec()).unwrap())
    }

    /// Waits for a message that begins like this.
    fn hears(&self, beginning: &str) -> String {
        let until = Instant::now() + TIMEOUT;
        let left = || Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero());
        let messages = std::iter::from_fn(|| self.next(left()?));
        messages.into_iter().find(|message| message.starts_with(beginning)).unwrap()
    }

    /// The packet thread's number.
    fn packets(&self) -> i32 {
        let threads =
            fs::read_dir(format!("/proc/{}/task", self.device.id())).unwrap().map(|task| task.unwrap().path());
        let named = |task: &PathBuf| fs::read_to_string(task.join("comm")).unwrap().trim() == "packets";
        threads.into_iter().find(named).unwrap().file_name().unwrap().to_str().unwrap().parse().unwrap()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.device.kill();
        let _ = self.device.wait();
    }
}

fn configure(file: &Path, run: &str) {
    let folder = file.parent().unwrap().display();
    let text = format!(
        "[ports]\na = {{ back_end = \"loopback\" }}\nb = {{ back_end = \"loopback\" }}\n[windows]\nstore = \"none\"\n\
         [control]\nlisten = \"none\"\nsocket = \"{folder}/control.sock\"\ntoken_file = \"{folder}/token\"\n\
         [run]\nuser = \"root\"\n{run}\n"
    );
    fs::write(file, text).unwrap();
}

/// Holds a thread by itself until dropped: the others of its process go on.
struct Held(i32);

#[allow(unsafe_code)]
impl Held {
    fn new(thread: i32) -> Self {
        let mut status = 0;
        // SAFETY: neither request takes a pointer; the status is written where there is one.
        unsafe {
            assert_eq!(libc::ptrace(libc::PTRACE_SEIZE, thread, 0, 0), 0, "{}", std::io::Error::last_os_error());
            assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, thread, 0, 0), 0);
            assert_eq!(libc::waitpid(thread, &raw mut status, libc::__WALL), thread);
        }
        Self(thread)
    }
}

#[allow(unsafe_code)]
impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: as above. The process may be gone.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.0, 0, 0) };
    }
}

#[test]
fn a_reload_as_soon_as_the_device_is_ready_does_not_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let (text, pipe) = (folder.path().join("text"), folder.path().join("sojournd.toml"));
    configure(&text, "");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sojournd"));
    command.arg("run").arg(&pipe).env("NOTIFY_SOCKET", folder.path().join("notify")).stderr(Stdio::null());
    let manager = Manager { device: command.spawn().unwrap(), folder, socket };
    let contents = fs::read(text).unwrap();
    // Read once for the start. The main thread then waits here until it has read it again, and looks for signals after that.
    fs::write(&pipe, &contents).unwrap();
    assert_eq!(manager.next(TIMEOUT).unwrap(), "READY=1\nSTATUS=forwarding");
    manager.signal(Signal::HUP);
    fs::write(&pipe, &contents).unwrap();
    manager.hears("RELOADING=1");
    fs::write(&pipe, &contents).unwrap();
    manager.hears("READY=1");
}

#[test]
fn a_start_a_reload_and_a_stop_are_told() {
    let manager = Manager::start(None);
    assert_eq!(manager.next(TIMEOUT).unwrap(), "READY=1\nSTATUS=forwarding");
    manager.signal(Signal::HUP);
    let reloading = manager.hears("RELOADING=1\nMONOTONIC_USEC=");
    let number = reloading.lines().nth(1).unwrap().rsplit('=').next().unwrap();
    assert!(number.parse::<u64>().unwrap() > 0);
    assert_eq!(manager.next(TIMEOUT).unwrap(), "READY=1\nSTATUS=forwarding");
    // A reload that is refused is over, too.
    configure(&manager.folder.path().join("sojournd.toml"), "seed = \"no number\"");
    manager.signal(Signal::HUP);
    manager.hears("RELOADING=1");
    let refused = manager.hears("READY=1");
    assert!(refused.contains("STATUS=forwarding; not reloaded:") && refused.lines().count() == 2, "{refused}");
    manager.signal(Signal::TERM);
    manager.hears("STOPPING=1");
}

#[test]
fn the_watchdog_is_fed_while_the_packet_thread_turns_and_only_then() {
    let manager = Manager::start(Some(WATCHDOG));
    manager.hears("READY=1");
    (0..5).for_each(|_| assert_eq!(manager.hears("WATCHDOG=1"), "WATCHDOG=1"));
    // Every other thread goes on: the control interface, too.
    let held = Held::new(manager.packets());
    // What was said before; the kernel keeps a few messages.
    let said = (0..100).take_while(|_| manager.next(WATCHDOG * 2).is_some()).count();
    assert!(said < 100, "it is fed by a thread that stands still");
    assert_eq!(manager.next(WATCHDOG * 3), None);
    assert!(std::os::unix::net::UnixStream::connect(manager.folder.path().join("control.sock")).is_ok());
    drop(held);
    manager.hears("WATCHDOG=1");
}
