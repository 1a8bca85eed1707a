//! What a back end says of itself.

use super::{Port, PortError};
use crate::clock::Clock;
use crate::config::PortTable;
use crate::pool::Pool;

/// How a port takes its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// AF_XDP: from one receive queue, or from all (`None`).
    AfXdp(Option<u32>),
    /// AF_PACKET.
    AfPacket,
}

/// What the program knows of a back end.
pub struct About {
    /// Its frames are a network's, so nobody may know the key of the flow hash.
    pub is_live: bool,
    /// The keys of a port that mean something to it; a port of another back end may not have them.
    pub keys: &'static [&'static str],
    /// The key that it cannot do without, and what is allowed there.
    pub needs: Option<(&'static str, &'static str)>,
    /// The interface that it uses, and how.
    pub uses: fn(&PortTable) -> Option<(String, Attachment)>,
    /// Opens a port.
    pub open: Open,
}

/// A port that is open.
pub type Opened = Result<Box<dyn Port>, PortError>;

/// When a port is opened, and how. The text is the name of its side, for messages.
pub enum Open {
    /// While the process has its privileges.
    Privileged(fn(&PortTable, &mut Pool) -> Opened),
    /// Afterwards: it may use files, which are the user's.
    AsUser(fn(&PortTable, &str, Clock) -> Opened),
    /// Not in this build; what makes one with it.
    Elsewhere(&'static str),
}

/// An interface's name, in messages.
pub const INTERFACE: &str = "the name of a network interface, as in \"eth0\"";

/// Uses nothing of the host.
pub fn nothing(_: &PortTable) -> Option<(String, Attachment)> {
    None
}
