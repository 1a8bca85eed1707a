//! What sockets of the kernel need beside the standard library.
#![allow(unsafe_code)]

use super::PortError;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Plain data that the kernel reads and writes as bytes.
///
/// # Safety
/// Every bit pattern is a value.
pub(super) unsafe trait Plain: Copy {}

// SAFETY: integers, and structures of integers.
unsafe impl Plain for libc::c_int {}
unsafe impl Plain for libc::xdp_umem_reg {}
unsafe impl Plain for libc::xdp_mmap_offsets {}
unsafe impl Plain for libc::xdp_statistics {}
unsafe impl Plain for libc::xdp_options {}
unsafe impl Plain for libc::sockaddr_xdp {}
unsafe impl Plain for libc::sockaddr_ll {}
unsafe impl Plain for libc::packet_mreq {}
unsafe impl Plain for libc::tpacket_stats {}

/// A socket that no child inherits and that never blocks.
pub(super) fn socket(family: i32, protocol: i32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointer is passed; the descriptor, if not negative, is new and ours.
    unsafe {
        let descriptor = libc::socket(family, kind, protocol);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// `setsockopt`.
pub(super) fn set<T: Plain>(socket: &OwnedFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of `value`.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    check(outcome)
}

/// `getsockopt` into a copy of `value`, which stays where the kernel writes less.
pub(super) fn get<T: Plain>(socket: &OwnedFd, level: i32, name: i32, mut value: T) -> io::Result<T> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `value`, which takes any bytes.
    let outcome = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, std::ptr::from_mut(&mut value).cast(), &raw mut length)
    };
    check(outcome).map(|()| value)
}

/// `bind`.
pub(super) fn bind<T: Plain>(socket: &OwnedFd, address: &T) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of `address`.
    let outcome = unsafe {
        libc::bind(socket.as_raw_fd(), std::ptr::from_ref(address).cast(), size_of::<T>() as libc::socklen_t)
    };
    check(outcome)
}

fn check(outcome: i32) -> io::Result<()> {
    if outcome < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The number of an interface in this network namespace.
pub(super) fn interface_index(interface: &str) -> Result<u32, PortError> {
    let none = || failed(interface, "there is no interface of this name here; `ip link` lists them");
    let name = CString::new(interface).map_err(|_| none())?;
    // SAFETY: `name` ends with a zero byte.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(none()),
        index => Ok(index),
    }
}

/// Whether the interface numbered `index` is still there.
pub(super) fn exists(index: u32) -> bool {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the length that the call asks for.
    unsafe { !libc::if_indextoname(index, name.as_mut_ptr()).is_null() }
}

/// The error of a port whose interface was there and is no longer.
pub(super) fn gone(interface: &str) -> PortError {
    failed(interface, "the interface is gone; `ip link` lists those that are there")
}

/// An empty request about `interface`.
fn request(interface: &str) -> libc::ifreq {
    // SAFETY: all zeros is a value of this structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IF_NAMESIZE - 1)) {
        *to = from as libc::c_char;
    }
    request
}

/// What the kernel says of an interface while its port is open.
pub(super) struct Link {
    interface: String,
    /// Its count of frames dropped on sending, where /sys shows this network namespace.
    tx_dropped: Option<File>,
    /// What it was at first, and when it was last read.
    first: u64,
    last: u64,
}

impl Link {
    /// Of the interface called `interface`, whose number is `index`.
    pub(super) fn open(interface: &str, index: u32) -> Self {
        let folder = format!("/sys/class/net/{interface}");
        let here =
            std::fs::read_to_string(format!("{folder}/ifindex")).is_ok_and(|text| text.trim() == index.to_string());
        let tx_dropped = File::open(format!("{folder}/statistics/tx_dropped")).ok().filter(|_| here);
        let first = tx_dropped.as_ref().and_then(number).unwrap_or_default();
        Self { interface: interface.to_owned(), tx_dropped, first, last: first }
    }

    /// Frames that the interface dropped on sending since the port was opened; 0 where nobody tells.
    pub(super) fn dropped(&mut self) -> u64 {
        self.last = self.tx_dropped.as_ref().and_then(number).unwrap_or(self.last);
        self.last.saturating_sub(self.first)
    }

    /// The interface is up and its carrier too, as far as the kernel has noticed; true where it does not say.
    pub(super) fn is_up(&self, socket: &OwnedFd) -> bool {
        const BOTH: i32 = libc::IFF_UP | libc::IFF_RUNNING;
        let mut request = request(&self.interface);
        // SAFETY: the kernel reads and writes one `struct ifreq`, which lives until after the call.
        let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) };
        // SAFETY: after success the kernel has written the flags.
        outcome < 0 || i32::from(unsafe { request.ifr_ifru.ifru_flags }) & BOTH == BOTH
    }
}

/// The number in a file of /sys, from its beginning.
fn number(file: &File) -> Option<u64> {
    let mut text = [0; 24];
    let length = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(text.get(..length)?).ok()?.trim().parse().ok()
}

/// Lets the process lock as much memory as it wants, where it may; who may not is told when the lock fails.
pub(super) fn lift_memory_limit() {
    let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the pointer is to a structure that lives until after the call. A refusal changes nothing.
    unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) };
}

/// An error of the port on `interface`.
pub(super) fn failed(interface: &str, what: impl Into<String>) -> PortError {
    PortError { port: interface.to_owned(), what: what.into() }
}

/// Turns an error of the system into one of the port, saying what was tried.
pub(super) fn during<'a>(interface: &'a str, what: &'a str) -> impl Fn(io::Error) -> PortError + 'a {
    move |error| {
        let hint = match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => "; needed are root or CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF",
            Some(libc::ENOBUFS) => "; the locked-memory limit is too low: give CAP_IPC_LOCK or `ulimit -l unlimited`",
            Some(libc::ENXIO | libc::ENODEV) => return gone(interface),
            Some(libc::EBUSY) => "; another program has this queue or its XDP hook: `ip link show` names the program",
            _ => "",
        };
        failed(interface, format!("{what}: {error}{hint}"))
    }
}
