//! `sojournd doctor`: what of this host does not suit a configuration, and the command that mends it.

mod dpdk;
pub mod facts;
#[cfg(test)]
mod tests;

use crate::port::eal::{Device, ENOUGH_HUGE_BYTES};
pub use crate::port::Attachment;
use crate::port::MOST_QUEUES;
use facts::{Card, Host, Interface};
use std::fmt;
use std::path::PathBuf;

/// What a configuration needs of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Interfaces of the ports that have one, and how frames are taken from them.
    pub ports: Vec<(String, Attachment)>,
    /// Devices of DPDK's.
    pub devices: Vec<Device>,
    /// CPUs that DPDK is to use.
    pub cores: Vec<u32>,
    /// Longest frame that fits into a frame of the pool, bytes.
    pub room_bytes: u32,
    /// Bytes of the pool.
    pub pool_bytes: u64,
    /// The packet thread never sleeps.
    pub spins: bool,
    /// Where it was read from, without links.
    pub file: PathBuf,
    /// What the process becomes when it is started as root.
    pub user: String,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// Frames would be lost or changed, or the device would not start.
    Mend,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub weight: Weight,
    /// The interface, or `host`.
    pub place: String,
    /// What was found and what follows from it.
    pub what: String,
    /// The command that mends it.
    pub command: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = match self.weight {
            Weight::Fine => "ok",
            Weight::Note => "note",
            Weight::Mend => "FIX",
        };
        write!(f, "{weight:<4} {}: {}", self.place, self.what)?;
        self.command.as_ref().map_or(Ok(()), |command| write!(f, "\n       {command}"))
    }
}

/// Asks the system, and judges what it says.
#[must_use]
pub fn examine(wanted: &Wanted) -> Vec<Finding> {
    let interfaces = wanted.ports.iter().map(|(name, _)| facts::interface(name)).collect::<Vec<_>>();
    let cards = wanted.devices.iter().map(|device| facts::card(&device.name)).collect::<Vec<_>>();
    let mut host = facts::host();
    host.barrier = facts::barrier(&wanted.file, &wanted.user);
    host.unknown_user = facts::unknown(&wanted.user);
    diagnose(wanted, &host, &interfaces, &cards)
}

/// Drivers with native XDP, and whether AF_XDP works on their memory without a copy (Linux 6.12, drivers/net).
const DRIVERS: [(&str, bool); 25] = [
    ("atlantic", false),
    ("bnxt_en", false),
    ("cpsw", false),
    ("ena", false),
    ("fsl_dpaa2_eth", false),
    ("gve", true),
    ("hv_netvsc", false),
    ("i40e", true),
    ("ice", true),
    ("igb", false),
    ("igc", true),
    ("ixgbe", true),
    ("ixgbevf", false),
    ("mana", false),
    ("mlx4_en", false),
    ("mlx5_core", true),
    ("mvneta", false),
    ("mvpp2", false),
    ("nfp", true),
    ("qede", false),
    ("sfc", false),
    ("st_gmac", true),
    ("tun", false),
    ("veth", false),
    ("virtio_net", true),
];

/// Judges what was found; `interfaces` and `cards` in the order of the ports and the devices, `None` for one that does not exist.
#[must_use]
pub fn diagnose(
    wanted: &Wanted,
    host: &Host,
    interfaces: &[Option<Interface>],
    cards: &[Option<Card>],
) -> Vec<Finding> {
    let mut findings = Findings::default();
    judge_host(wanted, host, &mut findings);
    judge_user(wanted, host, &mut findings);
    for ((name, way), interface) in wanted.ports.iter().zip(interfaces) {
        match interface {
            None => findings.add(Weight::Mend, name, "no such interface in this network namespace", Some("ip link")),
            Some(interface) => judge_interface(wanted, *way, interface, &mut findings),
        }
    }
    dpdk::diagnose(wanted, host, cards, &mut findings);
    findings.0
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, weight: Weight, place: &str, what: impl Into<String>, command: Option<&str>) {
        let command = command.map(ToOwned::to_owned);
        self.0.push(Finding { weight, place: place.to_owned(), what: what.into(), command });
    }

    /// Ends what has no finding yet with a good word.
    fn fine(&mut self, place: &str, what: impl Into<String>) {
        self.add(Weight::Fine, place, what, None);
    }
}

fn judge_host(wanted: &Wanted, host: &Host, findings: &mut Findings) {
    let xdp = wanted.ports.iter().any(|(_, way)| matches!(way, Attachment::AfXdp(_)));
    let mut needed = Vec::new();
    if !wanted.ports.is_empty() {
        needed.push("CAP_NET_RAW");
    }
    if xdp {
        needed.extend(["CAP_NET_ADMIN", "CAP_BPF"]);
    }
    let has = |name: &str| host.capabilities.iter().any(|have| have == name);
    let missing: Vec<_> = needed.iter().copied().filter(|name| !has(name)).collect();
    if missing.is_empty() {
        findings.fine(
            "host",
            format!("capabilities: {}", if needed.is_empty() { "none needed".into() } else { needed.join(", ") }),
        );
    } else {
        let what = format!("the ports cannot be opened without {}", missing.join(", "));
        findings.add(Weight::Mend, "host", what, Some("systemctl start sojournd    # or as root"));
    }
    if xdp {
        match host.memlock_bytes {
            Some(limit) if limit < wanted.pool_bytes && !has("CAP_IPC_LOCK") => {
                let what = format!(
                    "only {} KiB of memory may be locked, but the frames of AF_XDP need {} KiB",
                    limit / 1024,
                    wanted.pool_bytes / 1024
                );
                findings.add(
                    Weight::Mend,
                    "host",
                    what,
                    Some("ulimit -l unlimited    # in the unit: LimitMEMLOCK=infinity"),
                );
            }
            _ => findings.fine("host", format!("{} KiB of frames may be locked", wanted.pool_bytes / 1024)),
        }
    }
    if wanted.spins && host.cpus < 2 {
        let what = "only one CPU, which the packet thread would use entirely because it never sleeps";
        let command = match wanted.devices.is_empty() {
            true => "set run.idle = \"wait\" in the configuration",
            false => "set run.idle = \"wait\" and another back_end than \"dpdk\" in the configuration",
        };
        findings.add(Weight::Mend, "host", what, Some(command));
    } else {
        findings.fine("host", format!("{} CPUs", host.cpus));
    }
    match host.governor.as_deref() {
        None | Some("performance") => {}
        Some(governor) => {
            let what = format!("CPU governor {governor}: the clock rate follows the load, so delays vary");
            findings.add(Weight::Note, "host", what, Some("cpupower frequency-set -g performance"));
        }
    }
}

/// The user must exist, and a file that it cannot read again cannot be reloaded.
fn judge_user(wanted: &Wanted, host: &Host, findings: &mut Findings) {
    let (file, user) = (&wanted.file, &wanted.user);
    if host.unknown_user {
        let what = format!("there is no user {user} (run.user): a device started as root would refuse to start");
        let command = format!("useradd --system --user-group --shell /usr/sbin/nologin {user}");
        findings.add(Weight::Mend, "host", what, Some(&command));
        return;
    }
    let Some(barrier) = &host.barrier else {
        findings.fine("host", format!("{user} may read {}", file.display()));
        return;
    };
    let place = barrier.display();
    let what = format!("{user} (run.user) may not read {place}: a device started as root would refuse to reload");
    let command = if barrier == file {
        format!("chgrp \"$(id -gn {user})\" {place} && chmod g+r {place}")
    } else {
        format!("chmod o+x {place}")
    };
    findings.add(Weight::Note, "host", what, Some(&command));
}

fn judge_interface(wanted: &Wanted, way: Attachment, interface: &Interface, findings: &mut Findings) {
    let name = interface.name.as_str();
    if interface.running {
        findings.fine(name, "up");
    } else {
        let what = "down, or without a carrier";
        findings.add(Weight::Mend, name, what, Some(&format!("ip link set dev {name} up")));
    }
    judge_mtu(wanted, way, interface, findings);
    judge_offloads(interface, findings);
    if let Attachment::AfXdp(queue) = way {
        judge_driver(interface, findings);
        judge_queues(interface, queue, findings);
    }
    judge_bridge(way, interface, findings);
    let link_local = |address: &&std::net::IpAddr| match address {
        std::net::IpAddr::V4(four) => four.is_link_local(),
        std::net::IpAddr::V6(six) => six.is_unicast_link_local(),
    };
    if let Some(address) = interface.addresses.iter().find(|address| !link_local(address)) {
        let what = format!("the host has the address {address} on it; a port of the bridge needs none, reach the host through another interface");
        findings.add(Weight::Mend, name, what, Some(&format!("ip address flush dev {name}")));
    } else if let Some(address) = interface.addresses.iter().find(link_local) {
        let what = format!("the host sends packets from its link-local address {address} on it");
        let command = format!("ip link set dev {name} addrgenmode none; ip address flush dev {name}");
        findings.add(Weight::Note, name, what, Some(&command));
    }
}

/// Ethernet header and two VLAN tags.
const HEADERS: u32 = 14 + 8;

fn judge_mtu(wanted: &Wanted, way: Attachment, interface: &Interface, findings: &mut Findings) {
    let Some(mtu) = interface.mtu else { return };
    let name = interface.name.as_str();
    // The kernel's limit for a program in the driver that takes frames in one piece, on a page of 4 KiB (headroom 256 B, tail 320 B).
    let single = if matches!(way, Attachment::AfXdp(_)) { 4096 - 256 - 320 } else { u32::MAX };
    let room = wanted.room_bytes.min(single);
    if mtu + HEADERS > room {
        let fits = room.saturating_sub(HEADERS).min(1500);
        let what = format!(
            "MTU {mtu}: its longest frames ({} B) do not fit into {room} B and would be dropped",
            mtu + HEADERS
        );
        let command =
            format!("ip link set dev {name} mtu {fits}    # or frames.size = \"4096 B\" in the configuration");
        findings.add(Weight::Mend, name, what, Some(&command));
    } else {
        findings.fine(name, format!("MTU {mtu}"));
    }
}

fn judge_offloads(interface: &Interface, findings: &mut Findings) {
    let name = interface.name.as_str();
    let veth = interface.driver.as_deref() == Some("veth");
    let on = |list: &[&'static str], which: &[&'static str]| -> Vec<&'static str> {
        which.iter().copied().filter(|feature| list.contains(feature)).collect()
    };
    let off = |which: &[&str]| which.iter().map(|feature| format!(" {feature} off")).collect::<String>();
    // A veth has no hardware that strips tags; its other end does what offloads would.
    let which: &[&str] = if veth { &["gro", "lro"] } else { &["gro", "lro", "rxvlan"] };
    let wrong = on(&interface.features, which);
    if wrong.is_empty() {
        findings.fine(name, format!("no offload among {} is on", which.join(", ")));
    } else {
        let what = format!(
            "{} on: the kernel would merge frames or remove their VLAN tags before sojournd sees them",
            wrong.join(", ")
        );
        findings.add(Weight::Mend, name, what, Some(&format!("ethtool -K {name}{}", off(&wrong))));
    }
    if !veth {
        return;
    }
    match &interface.peer {
        Some((peer, features)) => {
            let wrong = on(features, &["tx", "tso", "gso"]);
            if wrong.is_empty() {
                findings.fine(name, format!("its peer {peer} completes checksums and segments"));
            } else {
                let what = format!(
                    "its peer {peer} has {} on: frames arrive without a checksum or longer than the MTU, and TCP connections fail",
                    wrong.join(", ")
                );
                findings.add(Weight::Mend, name, what, Some(&format!("ethtool -K {peer}{}", off(&wrong))));
            }
        }
        None => {
            let what = "a veth whose peer is in another namespace: switch off its transmit offloads there";
            findings.add(
                Weight::Note,
                name,
                what,
                Some("ethtool -K PEER tx off tso off gso off    # in its namespace"),
            );
        }
    }
}

fn judge_driver(interface: &Interface, findings: &mut Findings) {
    let name = interface.name.as_str();
    let driver = interface.driver.as_deref().unwrap_or("unknown");
    match DRIVERS.iter().find(|(known, _)| *known == driver) {
        Some((_, true)) => findings.fine(name, format!("driver {driver}: native XDP, AF_XDP in zero-copy mode")),
        Some((_, false)) => findings.fine(name, format!("driver {driver}: native XDP, AF_XDP in copy mode")),
        None => {
            let what = format!("driver {driver} is not known to have native XDP: generic XDP is used, which is slower");
            findings.add(Weight::Note, name, what, None);
        }
    }
}

fn judge_queues(interface: &Interface, queue: Option<u32>, findings: &mut Findings) {
    let name = interface.name.as_str();
    let Some(queues) = interface.queues else { return };
    match queue {
        Some(queue) if queue >= queues => {
            let what = format!("there is no receive queue {queue}: the interface has {queues}, numbered from 0");
            findings.add(Weight::Mend, name, what, Some("remove `queue` from the configuration    # to read all"));
        }
        Some(queue) if queues > 1 => {
            let what = format!(
                "{queues} receive queues, only number {queue} is read: the kernel receives the frames of the others"
            );
            findings.add(Weight::Note, name, what, Some("remove `queue` from the configuration    # to read all"));
        }
        None if queues > MOST_QUEUES => {
            let what = format!("{queues} receive queues, of which at most {MOST_QUEUES} can be read");
            findings.add(Weight::Mend, name, what, Some(&format!("ethtool -L {name} combined {MOST_QUEUES}")));
        }
        _ if queues <= 1 => findings.fine(name, "one receive queue"),
        _ => findings.fine(name, format!("{queues} receive queues, all of them are read")),
    }
}

fn judge_bridge(way: Attachment, interface: &Interface, findings: &mut Findings) {
    let name = interface.name.as_str();
    match (&interface.bridge, way) {
        (Some(bridge), Attachment::AfXdp(_)) => {
            findings.fine(name, format!("port of bridge {bridge}, which forwards while sojournd does not run"));
        }
        (Some(bridge), Attachment::AfPacket) if interface.isolated => {
            findings.fine(name, format!("isolated port of bridge {bridge}: nothing is forwarded twice"));
        }
        (Some(bridge), Attachment::AfPacket) => {
            let what = format!("port of bridge {bridge}, which forwards every frame a second time while sojournd runs");
            let command = format!(
                "bridge link set dev {name} isolated on    # and off at its end: af_packet-bypass.conf does both"
            );
            findings.add(Weight::Mend, name, what, Some(&command));
        }
        (None, _) => {
            let what =
                "not in a bridge: nothing is forwarded while sojournd does not run (docs/guides/gateway.md, bypass)";
            findings.add(Weight::Note, name, what, Some(&format!("ip link set dev {name} master BRIDGE")));
        }
    }
}

/// Prints findings, the gravest last; true when something must be mended.
#[must_use]
pub fn print(findings: &[Finding]) -> bool {
    let mut sorted: Vec<_> = findings.iter().collect();
    sorted.sort_by_key(|finding| finding.weight);
    for finding in sorted {
        println!("{finding}");
    }
    let mend = findings.iter().filter(|finding| finding.weight == Weight::Mend).count();
    match mend {
        0 => println!("nothing needs to be fixed"),
        1 => println!("1 thing needs to be fixed"),
        n => println!("{n} things need to be fixed"),
    }
    mend > 0
}
