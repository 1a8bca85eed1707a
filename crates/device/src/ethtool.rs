//! Questions about an interface that the kernel answers by ioctl (linux/ethtool.h, linux/sockios.h).

use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};
use std::os::fd::{AsRawFd, OwnedFd};

const SIOCGIFFLAGS: libc::Ioctl = 0x8913;
const SIOCGIFMTU: libc::Ioctl = 0x8921;
const SIOCETHTOOL: libc::Ioctl = 0x8946;

const GDRVINFO: u32 = 0x03;
const GCHANNELS: u32 = 0x3c;
const GFLAGS: u32 = 0x25;
/// Features with a question each; `ethtool -K` takes the names.
const FEATURES: [(&str, u32); 5] = [("rx", 0x14), ("tx", 0x16), ("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];
/// Features that share [`GFLAGS`], and their bits.
const FLAGS: [(&str, u32); 3] = [("txvlan", 1 << 7), ("rxvlan", 1 << 8), ("lro", 1 << 15)];

/// `struct ifreq`: a name and a union of 24 bytes.
#[repr(C, align(8))]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: [u8; 24],
}

/// `struct ethtool_value`.
#[repr(C)]
#[derive(Default)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    max: [u32; 4],
    rx: u32,
    tx: u32,
    other: u32,
    combined: u32,
}

fn request(name: &str) -> Option<(OwnedFd, Request)> {
    let mut request = Request { name: [0; libc::IFNAMSIZ], data: [0; 24] };
    // One byte stays for the end.
    let place = request.name[..libc::IFNAMSIZ - 1].get_mut(..name.len())?;
    place.copy_from_slice(name.as_bytes());
    let descriptor = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).ok()?;
    Some((descriptor, request))
}

/// The answer of a question whose answer lies in the request.
#[allow(unsafe_code)]
fn ask(name: &str, question: libc::Ioctl) -> Option<[u8; 24]> {
    let (descriptor, mut request) = request(name)?;
    // SAFETY: the request is as long as the kernel's, alive, and only its own bytes are written for these questions.
    let outcome = unsafe { libc::ioctl(descriptor.as_raw_fd(), question, &raw mut request) };
    (outcome == 0).then_some(request.data)
}

/// Asks ethtool with `question`, one of the structures above with its command set.
#[allow(unsafe_code)]
fn ethtool<T>(name: &str, mut question: T) -> Option<T> {
    let (descriptor, mut request) = request(name)?;
    let address = (&raw mut question) as usize;
    request.data[..size_of::<usize>()].copy_from_slice(&address.to_ne_bytes());
    // SAFETY: the request points to `question`, which is alive and as long as the kernel's structure for its command.
    let outcome = unsafe { libc::ioctl(descriptor.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    (outcome == 0).then_some(question)
}

/// `IFF_UP` and the like.
pub fn flags(name: &str) -> Option<i32> {
    let data = ask(name, SIOCGIFFLAGS)?;
    Some(i32::from(i16::from_ne_bytes([data[0], data[1]])))
}

/// Bytes of the longest IP packet.
pub fn mtu(name: &str) -> Option<u32> {
    let data = ask(name, SIOCGIFMTU)?;
    Some(u32::from_ne_bytes([data[0], data[1], data[2], data[3]]))
}

/// The driver's name.
pub fn driver(name: &str) -> Option<String> {
    let info = ethtool(name, DriverInfo { command: GDRVINFO, driver: [0; 32], rest: [0; 160] })?;
    let name = info.driver.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Receive queues in use.
pub fn queues(name: &str) -> Option<u32> {
    let channels = ethtool(name, Channels { command: GCHANNELS, ..Channels::default() })?;
    Some(channels.rx + channels.combined)
}

/// Features that are on.
pub fn features(name: &str) -> Vec<&'static str> {
    let value = |command| ethtool(name, Value { command, data: 0 }).map_or(0, |value| value.data);
    let flags = value(GFLAGS);
    let alone = FEATURES.iter().filter(|(_, command)| value(*command) != 0).map(|(name, _)| *name);
    alone.chain(FLAGS.iter().filter(|(_, bit)| flags & bit != 0).map(|(name, _)| *name)).collect()
}
