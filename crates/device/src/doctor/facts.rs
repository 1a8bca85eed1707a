//! What the system says of itself.

use nix::unistd::{getgrouplist, User};
use rustix::process::{getrlimit, Resource};
use rustix::thread::{capabilities, sched_getaffinity, CapabilitySet, CpuSet};
use std::ffi::CString;
use std::fs::read_to_string;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An interface of this network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Name of its driver.
    pub driver: Option<String>,
    /// Up, with a carrier.
    pub running: bool,
    /// Longest IP packet, bytes.
    pub mtu: Option<u32>,
    /// Receive queues in use.
    pub queues: Option<u32>,
    /// Features that are on, as `ethtool -K` names them.
    pub features: Vec<&'static str>,
    /// Addresses of the host on it.
    pub addresses: Vec<IpAddr>,
    /// The bridge that it is a port of.
    pub bridge: Option<String>,
    /// As a port of a bridge, it exchanges nothing with other isolated ports.
    pub isolated: bool,
    /// Of a veth whose other end is in this namespace too: that end, and its features that are on.
    pub peer: Option<(String, Vec<&'static str>)>,
}

/// The host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// CPUs that this process may use.
    pub cpus: usize,
    /// Their numbers.
    pub usable: Vec<u32>,
    /// Governor of the first CPU, where it has one.
    pub governor: Option<String>,
    /// Bytes that may be locked; `None`: no limit.
    pub memlock_bytes: Option<u64>,
    /// Effective capabilities.
    pub capabilities: Vec<String>,
    /// Memory in free huge pages of any size.
    pub free_huge_bytes: u64,
    /// What keeps the user of [`super::Wanted`] from its file; see [`barrier`].
    pub barrier: Option<PathBuf>,
    /// The user of [`super::Wanted`] does not exist.
    pub unknown_user: bool,
}

/// A card on the PCI bus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// Name of the driver that it is bound to.
    pub driver: Option<String>,
}

/// The host at present.
#[must_use]
pub fn host() -> Host {
    let capabilities = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    Host {
        usable: usable_cpus(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        memlock_bytes: getrlimit(Resource::Memlock).current,
        capabilities: capabilities.iter_names().map(|(name, _)| format!("CAP_{name}")).collect(),
        free_huge_bytes: free_huge_bytes(),
        barrier: None,
        unknown_user: false,
    }
}

/// Numbers of the CPUs that this process may use.
#[must_use]
pub fn usable_cpus() -> Vec<u32> {
    let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let usable = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    usable.map(|cpu| cpu as u32).collect()
}

/// Memory in free huge pages of any size, bytes.
#[must_use]
pub fn free_huge_bytes() -> u64 {
    let Ok(sizes) = std::fs::read_dir("/sys/kernel/mm/hugepages") else { return 0 };
    let bytes = sizes.flatten().filter_map(|size| {
        // hugepages-2048kB
        let name = size.file_name().into_string().ok()?;
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let free: u64 = line(&format!("{}/free_hugepages", size.path().display()))?.parse().ok()?;
        Some(free.saturating_mul(kib).saturating_mul(1024))
    });
    bytes.fold(0, u64::saturating_add)
}

/// The card at a PCI address; `None` when there is none.
#[must_use]
pub fn card(address: &str) -> Option<Card> {
    let folder = std::path::Path::new("/sys/bus/pci/devices").join(address);
    let driver = std::fs::read_link(folder.join("driver")).ok();
    let driver = driver.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    folder.exists().then_some(Card { driver })
}

/// Whether the system has no user of this name.
#[must_use]
pub fn unknown(user: &str) -> bool {
    matches!(User::from_name(user), Ok(None))
}

/// What keeps `user` from reading `file`: the outermost folder that it may not pass, or the file. Permission bits alone
/// are looked at. `None` also for a user or a file that is not there.
#[must_use]
pub fn barrier(file: &Path, user: &str) -> Option<PathBuf> {
    let file = file.canonicalize().ok()?;
    let user = User::from_name(user).ok()??;
    let groups = getgrouplist(&CString::new(user.name).ok()?, user.gid).ok()?;
    let may = |path: &Path, bit: u32| {
        path.metadata().is_ok_and(|found| {
            let shift = if found.uid() == user.uid.as_raw() {
                6
            } else if groups.iter().any(|group| group.as_raw() == found.gid()) {
                3
            } else {
                0
            };
            user.uid.is_root() || found.mode() >> shift & bit != 0
        })
    };
    let mut folders: Vec<&Path> = file.ancestors().skip(1).collect();
    folders.reverse();
    let closed = folders.into_iter().find(|folder| !may(folder, 1)).map(Path::to_owned);
    closed.or_else(|| (!may(&file, 4)).then_some(file))
}

/// An interface at present; `None` when this namespace has none of that name.
#[must_use]
pub fn interface(name: &str) -> Option<Interface> {
    let index = nix::net::if_::if_nametoindex(name).ok()?;
    let flags = crate::ethtool::flags(name).unwrap_or(0);
    let running = flags & (libc::IFF_UP | libc::IFF_RUNNING) == libc::IFF_UP | libc::IFF_RUNNING;
    let link = |name: &str| line(&format!("/sys/class/net/{name}/iflink"))?.parse::<u32>().ok();
    // The other end may have that number in another namespace: it is the peer when it points back.
    let peer = link(name)
        .filter(|other| *other != index)
        .and_then(|other| nix::net::if_::if_indextoname(other).ok()?.into_string().ok())
        .filter(|other| link(other) == Some(index))
        .map(|other| {
            let features = crate::ethtool::features(&other);
            (other, features)
        });
    let master = std::fs::read_link(format!("/sys/class/net/{name}/master")).ok();
    Some(Interface {
        name: name.to_owned(),
        driver: crate::ethtool::driver(name),
        running,
        mtu: crate::ethtool::mtu(name),
        queues: crate::ethtool::queues(name),
        features: crate::ethtool::features(name),
        addresses: addresses(name),
        bridge: master.and_then(|path| Some(path.file_name()?.to_str()?.to_owned())),
        isolated: line(&format!("/sys/class/net/{name}/brport/isolated")).as_deref() == Some("1"),
        peer,
    })
}

fn addresses(name: &str) -> Vec<IpAddr> {
    let Ok(all) = nix::ifaddrs::getifaddrs() else { return Vec::new() };
    all.filter(|one| one.interface_name == name)
        .filter_map(|one| {
            let address = one.address?;
            let four = address.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
            four.or_else(|| address.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())))
        })
        .collect()
}

fn line(path: &str) -> Option<String> {
    Some(read_to_string(path).ok()?.trim().to_owned())
}
