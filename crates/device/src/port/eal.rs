//! Devices of DPDK as a configuration names them, and the arguments of DPDK's environment layer (EAL) for them.

/// Free huge pages from which on DPDK's memory is put there: its frames take 20 MB, rings and drivers the rest.
pub const ENOUGH_HUGE_BYTES: u64 = 64 << 20;

/// A device of DPDK's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// As DPDK calls it: `net_af_packet0`, `0000:01:00.0`.
    pub name: String,
    /// What follows the name, with its comma.
    arguments: String,
    /// A card at this address of the bus; otherwise a virtual device.
    pub pci: bool,
}

impl Device {
    /// What is allowed.
    pub const ALLOWED: &str =
        "a virtual device as DPDK's --vdev takes it, as in \"net_af_packet0,iface=eth0\", or a PCI address, as in \"0000:01:00.0\"";

    /// Reads a device with its arguments.
    ///
    /// # Errors
    /// The text is neither a virtual device nor a PCI address; the error says what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, arguments) = text.split_at(text.find(',').unwrap_or(text.len()));
        let virtual_device = name.strip_prefix("net_").is_some_and(|driver| !driver.is_empty());
        let pci = address(name);
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) || !virtual_device && pci.is_none() {
            return Err(format!("is \"{}\"; allowed: {}", text.escape_debug(), Self::ALLOWED));
        }
        let arguments = arguments.to_owned();
        Ok(match pci {
            Some(name) => Self { name, arguments, pci: true },
            None => Self { name: name.to_owned(), arguments, pci: false },
        })
    }

    /// The network interface that the driver net_af_packet takes frames from.
    #[must_use]
    pub fn interface(&self) -> Option<&str> {
        let packets = self.name.starts_with("net_af_packet");
        self.arguments.split(',').find_map(|argument| argument.strip_prefix("iface=")).filter(|_| packets)
    }
}

/// A PCI address with its domain: `0000:01:00.0` for `01:00.0`.
fn address(text: &str) -> Option<String> {
    let (rest, function) = text.split_once('.')?;
    let parts: Vec<&str> = rest.split(':').collect();
    let (domain, bus, slot) = match parts[..] {
        [bus, slot] => ("0000", bus, slot),
        [domain, bus, slot] => (domain, bus, slot),
        _ => return None,
    };
    let hex = |text: &str, digits| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let good = hex(domain, 4) && hex(bus, 2) && hex(slot, 2) && matches!(function.as_bytes(), [b'0'..=b'7']);
    good.then(|| format!("{domain}:{bus}:{slot}.{function}").to_ascii_lowercase())
}

/// The arguments that start DPDK for `devices` on the CPUs `cores`, the first of which is that of the packet thread. Those of
/// the operator (`further`) come last.
#[must_use]
pub fn arguments(devices: &[Device], cores: &[u32], further: &[String], free_huge_bytes: u64) -> Vec<String> {
    // A core of DPDK's runs on the CPU after the @, whatever its number.
    let map: Vec<String> = cores.iter().enumerate().map(|(core, cpu)| format!("{core}@{cpu}")).collect();
    let mut arguments = vec![format!("--lcores={}", map.join(",")), "--no-telemetry".to_owned()];
    // Both leave no files behind, over which two processes would come to clash.
    let memory: &[&str] = match free_huge_bytes {
        ENOUGH_HUGE_BYTES.. => &["--in-memory"],
        _ => &["--no-huge", "-m", "512", "--no-shconf"],
    };
    arguments.extend(memory.iter().map(|word| (*word).to_owned()));
    arguments.push("--log-level=warning".to_owned());
    if !devices.iter().any(|device| device.pci) {
        arguments.push("--no-pci".to_owned());
    }
    for Device { name, arguments: more, pci } in devices {
        arguments.push(if *pci { format!("--allow={name}{more}") } else { format!("--vdev={name}{more}") });
    }
    arguments.extend(further.iter().cloned());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_virtual_or_have_an_address() {
        let device = Device::parse("net_af_packet0,iface=eth0,framecnt=512").unwrap();
        assert_eq!((device.name.as_str(), device.pci, device.interface()), ("net_af_packet0", false, Some("eth0")));
        // Of another driver the interface is not taken as a packet socket.
        assert_eq!(Device::parse("net_af_xdp0,iface=eth0").unwrap().interface(), None);
        for text in ["01:00.A", "eth0", "net_", "", "net_ring0 --no-huge", "01:00.8", "001:00.0", "1:00.0", "net_x\0"] {
            assert!(Device::parse(text).unwrap_err().contains("allowed: "), "{text}");
        }
        // DPDK names a card by its whole address.
        for text in ["0A:00.1", "0000:0a:00.1"] {
            let device = Device::parse(text).unwrap();
            assert_eq!((device.name.as_str(), device.pci), ("0000:0a:00.1", true), "{text}");
        }
    }

    #[test]
    fn arguments_follow_from_devices_cores_and_memory() {
        let devices = |texts: [&str; 2]| texts.map(|text| Device::parse(text).unwrap());
        let ring = devices(["net_ring0", "net_af_packet0,iface=eth0"]);
        assert_eq!(
            arguments(&ring, &[3], &["--log-level=debug".to_owned()], ENOUGH_HUGE_BYTES - 1).join(" "),
            "--lcores=0@3 --no-telemetry --no-huge -m 512 --no-shconf --log-level=warning --no-pci --vdev=net_ring0 \
             --vdev=net_af_packet0,iface=eth0 --log-level=debug"
        );
        let cards = devices(["01:00.0,option=1", "net_ring0"]);
        assert_eq!(
            arguments(&cards, &[2, 130], &[], ENOUGH_HUGE_BYTES).join(" "),
            "--lcores=0@2,1@130 --no-telemetry --in-memory --log-level=warning --allow=0000:01:00.0,option=1 --vdev=net_ring0"
        );
    }
}
