use crate::{Packet, Value};
use alloc::format;
use alloc::string::{String, ToString};

/// Packets whose eight bits of DSCP and ECN have these values where the mask has ones; `0x1/0x3` is ECT(1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selector {
    value: u8,
    mask: u8,
}

impl Selector {
    /// True for the packets that are selected.
    #[must_use]
    pub const fn selects(self, packet: &Packet) -> bool {
        ((packet.dscp << 2) | packet.ecn as u8) & self.mask == self.value
    }
}

impl Value for Selector {
    const KIND: &'static str = "value/mask";

    fn read(text: &str) -> Result<Self, String> {
        let both = text.split_once('/').and_then(|(value, mask)| byte(value).zip(byte(mask)));
        both.map(|(value, mask)| Self { value, mask })
            .ok_or_else(|| format!("\"{text}\" is refused; allowed: {}", Self::allowed()))
    }

    fn print(&self) -> String {
        format!("{:#x}/{:#x}", self.value, self.mask)
    }

    fn allowed() -> String {
        "VALUE/MASK over the eight bits of DSCP and ECN, as in \"0x1/0x3\"".to_string()
    }
}

/// `3` or `0x3`.
fn byte(text: &str) -> Option<u8> {
    match text.strip_prefix("0x") {
        Some(hexadecimal) => u8::from_str_radix(hexadecimal, 16).ok(),
        None => text.parse().ok(),
    }
}
