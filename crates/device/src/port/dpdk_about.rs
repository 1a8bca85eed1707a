//! DPDK as a back end of the configuration, in builds with it and without.

use super::about::{About, Attachment, Open};
use super::eal::Device;
use crate::config::PortTable;

pub const ABOUT: About =
    About { is_live: true, keys: &["device"], needs: Some(("device", Device::ALLOWED)), uses: interface, open: OPEN };

/// Of DPDK's drivers one has a packet socket too.
fn interface(table: &PortTable) -> Option<(String, Attachment)> {
    let device = Device::parse(table.device.as_deref()?).ok()?;
    Some((device.interface()?.to_owned(), Attachment::AfPacket))
}

#[cfg(feature = "dpdk")]
const OPEN: Open = Open::Privileged(|table, _| {
    let device = Device::parse(table.device.as_deref().unwrap_or_default());
    let device = device.map_err(|what| super::PortError { port: "dpdk".to_owned(), what })?;
    Ok(Box::new(super::Dpdk::open(&device.name)?))
});

#[cfg(not(feature = "dpdk"))]
const OPEN: Open =
    Open::Elsewhere("`cargo build --release -p sojourn-device --features dpdk`, which needs Debian's libdpdk-dev");
