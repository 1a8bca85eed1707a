//! Ports of the kernel's interfaces from what a configuration says.

use super::{af_xdp_pair, AfPacket, AfXdp, Port, PortError, XdpOptions};
use crate::pool::Pool;

/// Which of the kernel's ways to frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// [`AfXdp`].
    AfXdp(XdpOptions),
    /// [`AfPacket`].
    AfPacket,
}

/// A port to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelPort<'a> {
    /// The interface's name in this network namespace.
    pub interface: &'a str,
    /// How.
    pub how: Interface,
}

/// Opens ports A and B. Two AF_XDP ports share the pool as their UMEM.
///
/// # Errors
/// As [`AfXdp::open`] and [`AfPacket::open`].
pub fn open(pool: &mut Pool, ports: [KernelPort<'_>; 2]) -> Result<[Box<dyn Port>; 2], PortError> {
    if let [KernelPort { interface: a, how: Interface::AfXdp(options_a) }, KernelPort { interface: b, how: Interface::AfXdp(options_b) }] =
        ports
    {
        let [a, b] = af_xdp_pair(pool, [(a, options_a), (b, options_b)])?;
        return Ok([Box::new(a), Box::new(b)]);
    }
    let mut one = |port: KernelPort<'_>| -> Result<Box<dyn Port>, PortError> {
        match port.how {
            Interface::AfXdp(options) => Ok(Box::new(AfXdp::open(pool, port.interface, options, None)?)),
            Interface::AfPacket => Ok(Box::new(AfPacket::open(pool, port.interface)?)),
        }
    };
    let [a, b] = ports;
    Ok([one(a)?, one(b)?])
}
