//! How a port of AF_XDP is opened.

use crate::config::{self, PortTable};

/// Where the XDP program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver where it can, before the stack otherwise.
    #[default]
    Auto,
    /// In the driver, or not at all.
    Native,
    /// Before the stack.
    Generic,
}

/// Whether the driver works on the pool itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZeroCopy {
    /// Where the driver can.
    #[default]
    Auto,
    /// Never: the kernel copies.
    Off,
}

/// How a port is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpOptions {
    /// The receive queue; `None`: all that the interface has.
    pub queue: Option<u32>,
    /// Where the XDP program runs.
    pub mode: XdpMode,
    /// Whether the driver works on the pool itself.
    pub zero_copy: ZeroCopy,
}

impl XdpOptions {
    /// As a port's table has them.
    #[must_use]
    pub fn of(table: &PortTable) -> Self {
        Self {
            queue: table.queue,
            mode: match table.mode {
                config::Mode::Auto => XdpMode::Auto,
                config::Mode::Native => XdpMode::Native,
                config::Mode::Generic => XdpMode::Generic,
            },
            zero_copy: match table.zero_copy {
                config::ZeroCopy::Auto => ZeroCopy::Auto,
                config::ZeroCopy::Off => ZeroCopy::Off,
            },
        }
    }

    /// The kernel copies.
    pub(super) fn copying(self) -> Self {
        Self { zero_copy: ZeroCopy::Off, ..self }
    }
}
