//! A locked-down process goes on, and can do no more than that. Needs root.

#![allow(clippy::unwrap_used)]

use sojourn_device::clock::{Clock, Dated};
use sojourn_device::engine::Direction;
use sojourn_device::hardening::{lock_down, Account};
use sojourn_device::pool::Note;
use sojourn_device::record::{Recorder, Setting};
use sojourn_device::store::{Run, Store};
use sojourn_units::{BitRate, Bytes, Instant};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CHILD: &str = "SOJOURND_TEST_HARDENING";

/// Runs a test of this file in a process of its own, for it cannot be taken back.
fn alone(name: &str, folder: &Path) {
    let output = start(name, folder);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("reached the end"), "{text}");
}

fn start(name: &str, folder: &Path) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(CHILD, folder)
        .output()
        .unwrap()
}

fn child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

fn status(field: &str) -> String {
    let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    line.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn locked_down() {
    let folder = tempfile::tempdir().unwrap();
    alone("child_of_locked_down", folder.path());
    // What it stored is there.
    let connection = rusqlite::Connection::open(folder.path().join("w.sqlite")).unwrap();
    let arrived: i64 = connection.query_row("SELECT arrived FROM windows", [], |row| row.get(0)).unwrap();
    assert_eq!(arrived, 1);
}

/// As `lock_down` does it for a device whose `run.user` is nobody.
fn become_nobody() {
    lock_down(Account::find("nobody").unwrap().as_ref(), || Ok(())).unwrap();
}

#[test]
fn child_of_locked_down() {
    let Some(folder) = child() else { return };
    std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).unwrap();
    // It may listen, but not connect.
    let before = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(before.local_addr().unwrap()).unwrap();
    become_nobody();
    let path = folder.join("w.sqlite");
    let run = Run { version: "test".into(), config: String::new(), seed: 1, rate_bit_s: 1, overhead_bytes: 0 };
    let mut store = Store::open(&path, &run, Dated::new(Clock::start())).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();

    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(status(set), "0000000000000000", "{set}");
    }
    assert_eq!((status("NoNewPrivs").as_str(), status("Seccomp").as_str()), ("1", "2"));
    assert_ne!(status("Uid"), "0");
    // No program, no socket, no file of root's, no way back.
    let denied = |error: std::io::Error| assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    denied(Command::new("/bin/true").status().unwrap_err());
    denied(UdpSocket::bind("127.0.0.1:0").unwrap_err());
    denied(TcpStream::connect(listener.local_addr().unwrap()).unwrap_err());
    denied(std::fs::read("/etc/shadow").unwrap_err());
    assert!(nix::unistd::setuid(nix::unistd::Uid::from_raw(0)).is_err());
    // Accepts, answers, starts threads, measures and stores.
    store.start().unwrap();
    let (mut served, _) = before.accept().unwrap();
    served.write_all(b"x").unwrap();
    let mut byte = [0];
    client.read_exact(&mut byte).unwrap();
    let sink = store.sink(Direction::AToB);
    let mut recorder = Recorder::new(1, BitRate::from_bit_s(1), Bytes::new(0), Setting::default(), sink);
    recorder.arrived(Instant::ZERO, Note { length: 100, ..Note::default() });
    recorder.finish(Instant::ZERO);
    drop(recorder);
    let health = store.close().unwrap();
    assert_eq!((health.stored, health.error), (1, None));
    println!("reached the end");
}

/// Every call that would lead out, by what makes it dangerous. Arguments are such that a system without filter would carry
/// it out or refuse it for another reason than `EPERM`, or need only the privileges that are gone.
const DENIED: &[(&str, i64, [i64; 6])] = &[
    ("unshare", libc::SYS_unshare, [libc::CLONE_NEWUSER as i64, 0, 0, 0, 0, 0]),
    ("unshare of files", libc::SYS_unshare, [libc::CLONE_FILES as i64, 0, 0, 0, 0, 0]),
    ("setns", libc::SYS_setns, [-1, 0, 0, 0, 0, 0]),
    ("mount", libc::SYS_mount, [0; 6]),
    ("umount2", libc::SYS_umount2, [0; 6]),
    ("fsopen", libc::SYS_fsopen, [0; 6]),
    ("move_mount", libc::SYS_move_mount, [-1, 0, -1, 0, 0, 0]),
    ("pivot_root", libc::SYS_pivot_root, [0; 6]),
    ("chroot", libc::SYS_chroot, [0; 6]),
    ("ptrace", libc::SYS_ptrace, [libc::PTRACE_ATTACH as i64, -1, 0, 0, 0, 0]),
    ("process_vm_readv", libc::SYS_process_vm_readv, [-1, 0, 0, 0, 0, 0]),
    ("process_vm_writev", libc::SYS_process_vm_writev, [-1, 0, 0, 0, 0, 0]),
    ("pidfd_open", libc::SYS_pidfd_open, [-1, 0, 0, 0, 0, 0]),
    ("pidfd_getfd", libc::SYS_pidfd_getfd, [-1, 0, 0, 0, 0, 0]),
    ("kill", libc::SYS_kill, [i32::MAX as i64, 0, 0, 0, 0, 0]),
    ("bpf", libc::SYS_bpf, [-1, 0, 0, 0, 0, 0]),
    ("perf_event_open", libc::SYS_perf_event_open, [0, 0, -1, -1, 0, 0]),
    ("keyctl", libc::SYS_keyctl, [-1, 0, 0, 0, 0, 0]),
    ("add_key", libc::SYS_add_key, [0; 6]),
    ("io_uring_setup", libc::SYS_io_uring_setup, [0; 6]),
    ("io_uring_enter", libc::SYS_io_uring_enter, [-1, 0, 0, 0, 0, 0]),
    ("io_uring_register", libc::SYS_io_uring_register, [-1, 0, 0, 0, 0, 0]),
    ("userfaultfd", libc::SYS_userfaultfd, [-1, 0, 0, 0, 0, 0]),
    ("memfd_create", libc::SYS_memfd_create, [0; 6]),
    ("execve", libc::SYS_execve, [0; 6]),
    ("execveat", libc::SYS_execveat, [-1, 0, 0, 0, 0, 0]),
    ("init_module", libc::SYS_init_module, [0; 6]),
    ("finit_module", libc::SYS_finit_module, [-1, 0, 0, 0, 0, 0]),
    ("kexec_load", libc::SYS_kexec_load, [0; 6]),
    ("seccomp", libc::SYS_seccomp, [-1, 0, 0, 0, 0, 0]),
    ("setuid", libc::SYS_setuid, [0; 6]),
    ("connect", libc::SYS_connect, [-1, 0, 0, 0, 0, 0]),
    ("sendto that connects", libc::SYS_sendto, [-1, 0, 0, libc::MSG_FASTOPEN as i64, 0, 0]),
    ("sendmsg that connects", libc::SYS_sendmsg, [-1, 0, libc::MSG_FASTOPEN as i64, 0, 0, 0]),
    ("UDP", libc::SYS_socket, [libc::AF_INET as i64, libc::SOCK_DGRAM as i64, 0, 0, 0, 0]),
    ("UDP over IPv6", libc::SYS_socket, [libc::AF_INET6 as i64, libc::SOCK_DGRAM as i64, 0, 0, 0, 0]),
    ("raw IP", libc::SYS_socket, [libc::AF_INET as i64, libc::SOCK_RAW as i64, 255, 0, 0, 0]),
    ("a packet socket", libc::SYS_socket, [libc::AF_PACKET as i64, libc::SOCK_RAW as i64, 0, 0, 0, 0]),
    ("netlink", libc::SYS_socket, [libc::AF_NETLINK as i64, libc::SOCK_RAW as i64, 0, 0, 0, 0]),
    ("a virtual machine's socket", libc::SYS_socket, [libc::AF_VSOCK as i64, libc::SOCK_STREAM as i64, 0, 0, 0, 0]),
    ("to be dumped and traced", libc::SYS_prctl, [libc::PR_SET_DUMPABLE as i64, 1, 0, 0, 0, 0]),
    ("executable memory", libc::SYS_mmap, [0, 4096, EXECUTE, PRIVATE, -1, 0]),
    ("to make memory executable", libc::SYS_mprotect, [0, 4096, EXECUTE, 0, 0, 0]),
    #[cfg(not(feature = "dpdk"))]
    ("to type at a terminal", libc::SYS_ioctl, [-1, libc::TIOCSTI as i64, 0, 0, 0, 0]),
    ("a process", libc::SYS_clone, [libc::SIGCHLD as i64, 0, 0, 0, 0, 0]),
    ("a mount namespace", libc::SYS_clone, [THREAD | libc::CLONE_NEWNS as i64, 0, 0, 0, 0, 0]),
    ("a user namespace", libc::SYS_clone, [libc::SIGCHLD as i64 | libc::CLONE_NEWUSER as i64, 0, 0, 0, 0, 0]),
    ("a PID namespace", libc::SYS_clone, [libc::SIGCHLD as i64 | libc::CLONE_NEWPID as i64, 0, 0, 0, 0, 0]),
    ("a network namespace", libc::SYS_clone, [THREAD | libc::CLONE_NEWNET as i64, 0, 0, 0, 0, 0]),
    ("an IPC namespace", libc::SYS_clone, [THREAD | libc::CLONE_NEWIPC as i64, 0, 0, 0, 0, 0]),
    ("a UTS namespace", libc::SYS_clone, [THREAD | libc::CLONE_NEWUTS as i64, 0, 0, 0, 0, 0]),
    ("a cgroup namespace", libc::SYS_clone, [THREAD | libc::CLONE_NEWCGROUP as i64, 0, 0, 0, 0, 0]),
    // The numbering of x32: `getpid`, and `execve`, which has a number of its own there.
    #[cfg(target_arch = "x86_64")]
    ("a call of x32", 0x4000_0000 | libc::SYS_getpid, [0; 6]),
    #[cfg(target_arch = "x86_64")]
    ("execve of x32", 0x4000_0000 | 520, [0; 6]),
];
const EXECUTE: i64 = (libc::PROT_READ | libc::PROT_EXEC) as i64;
const PRIVATE: i64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as i64;
const THREAD: i64 = (libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_THREAD) as i64;

/// The error of a call, 0 for none.
#[allow(unsafe_code)]
fn errno(call: i64, [a, b, c, d, e, f]: [i64; 6]) -> i32 {
    // SAFETY: no argument is a pointer to anything; a call that should be denied, and is not, ends the test below.
    let outcome = unsafe { libc::syscall(call, a, b, c, d, e, f) };
    if outcome == -1 {
        std::io::Error::last_os_error().raw_os_error().unwrap()
    } else {
        0
    }
}

#[test]
fn calls_that_lead_out_are_denied_and_threads_go_on() {
    let folder = tempfile::tempdir().unwrap();
    alone("child_of_calls_that_lead_out", folder.path());
}

#[test]
fn child_of_calls_that_lead_out() {
    if child().is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    become_nobody();
    let check = || {
        let wrong = |(name, call, arguments): &(&'static str, i64, [i64; 6])| {
            let error = errno(*call, *arguments);
            (error != libc::EPERM).then_some((*name, error))
        };
        // The C library takes `clone` when it hears this.
        let clone3 = (errno(libc::SYS_clone3, [0; 6]) != libc::ENOSYS).then_some(("clone3", 0));
        DENIED.iter().filter_map(wrong).chain(clone3).collect::<Vec<_>>()
    };
    assert_eq!(check(), []);
    // In a thread as well, and threads there are: of the standard library, named, and of tokio.
    assert_eq!(std::thread::spawn(check).join().unwrap(), []);
    let named =
        std::thread::Builder::new().name("packets".into()).spawn(|| std::thread::current().name() == Some("packets"));
    assert!(named.unwrap().join().unwrap());
    let blocking = runtime.block_on(async { tokio::task::spawn_blocking(|| 7).await });
    assert_eq!(blocking.unwrap(), 7);
    println!("reached the end");
}

/// Calls in the numbering of i386 (`int 0x80`), where the kernel has it, are denied as well, and end nothing.
#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_i386_are_denied() {
    let folder = tempfile::tempdir().unwrap();
    let output = start("child_of_calls_of_i386", folder.path());
    let text = String::from_utf8_lossy(&output.stdout);
    // Without this numbering the instruction itself is a fault.
    if text.contains("it is there") {
        assert!(output.status.success() && text.contains("reached the end"), "{text}");
    } else {
        println!("this kernel has no calls of i386");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
#[allow(unsafe_code)]
fn child_of_calls_of_i386() {
    fn getpid() -> i32 {
        let mut outcome = 20_u64;
        // SAFETY: getpid of i386 takes nothing and changes nothing.
        unsafe {
            std::arch::asm!("int 0x80", inout("rax") outcome, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
        }
        outcome as i32
    }
    if child().is_none() {
        return;
    }
    assert_eq!(getpid(), std::process::id() as i32);
    println!("it is there");
    become_nobody();
    assert_eq!(getpid(), -libc::EPERM);
    println!("reached the end");
}

#[test]
fn nobody_of_that_name() {
    let message = Account::find("no-such-user").unwrap_err().to_string();
    assert!(message.contains("no-such-user") && message.contains("useradd --system"), "{message}");
    assert!(message.contains("run.user"), "{message}");
}
