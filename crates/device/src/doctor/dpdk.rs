//! Devices of DPDK's.

use super::facts::{Card, Host};
use super::{Findings, Wanted, Weight, ENOUGH_HUGE_BYTES};

/// Drivers through which DPDK reaches a card, and those of the kernel's that let it in beside them.
const DRIVERS: [&str; 6] = ["vfio-pci", "uio_pci_generic", "igb_uio", "mlx4_core", "mlx5_core", "mana"];

pub(super) fn diagnose(wanted: &Wanted, host: &Host, cards: &[Option<Card>], findings: &mut Findings) {
    if wanted.devices.is_empty() {
        return;
    }
    let (free, enough) = (host.free_huge_bytes >> 20, ENOUGH_HUGE_BYTES >> 20);
    let pages = "sysctl -w vm.nr_hugepages=128    # of 2 MiB; and in /etc/sysctl.d";
    if host.free_huge_bytes >= ENOUGH_HUGE_BYTES {
        findings.fine("host", format!("{free} MiB of huge pages are free for DPDK"));
    } else if wanted.devices.iter().any(|device| device.pci) {
        let what = format!("{free} MiB of huge pages are free, less than {enough}: many DPDK drivers need them");
        findings.add(Weight::Mend, "host", what, Some(pages));
    } else {
        let what = format!("{free} MiB of huge pages are free, less than {enough}: DPDK runs without huge pages");
        findings.add(Weight::Note, "host", what, Some(pages));
    }
    if let Some(core) = wanted.cores.iter().find(|core| !host.usable.contains(core)) {
        let what = format!("dpdk.cores names CPU {core}, which does not exist or which this process may not use");
        findings.add(Weight::Mend, "host", what, Some("lscpu --extended    # lists them"));
    }
    for (device, card) in wanted.devices.iter().zip(cards) {
        let name = device.name.as_str();
        match (device.pci, card) {
            (false, _) => findings.fine(name, "a virtual device of DPDK's, into which nobody looks here"),
            (true, None) => {
                findings.add(Weight::Mend, name, "no card at this address", Some("dpdk-devbind.py --status-dev net"))
            }
            (true, Some(Card { driver: Some(driver) })) if DRIVERS.contains(&driver.as_str()) => {
                findings.fine(name, format!("bound to {driver}"));
            }
            (true, Some(Card { driver })) => {
                let what = format!("bound to {}, which DPDK cannot use", driver.as_deref().unwrap_or("no driver"));
                let command = format!("modprobe vfio-pci; dpdk-devbind.py --bind=vfio-pci {name}");
                findings.add(Weight::Mend, name, what, Some(&command));
            }
        }
    }
}
