use crate::Value;
use alloc::format;
use alloc::string::{String, ToString};
use sojourn_units::{Bytes, Packets};

/// A queue length, which says itself whether RED counts packets or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Waiting packets.
    Packets(Packets),
    /// Waiting bytes on the wire.
    Bytes(Bytes),
}

impl Length {
    /// `n` packets.
    #[must_use]
    pub const fn packets(n: u64) -> Self {
        Self::Packets(Packets::new(n))
    }

    /// The number, in the unit that it has.
    #[must_use]
    pub fn number(self) -> f64 {
        match self {
            Self::Packets(packets) => packets.get() as f64,
            Self::Bytes(bytes) => bytes.get() as f64,
        }
    }

    pub(crate) fn same_unit(self, other: Self) -> bool {
        matches!(self, Self::Packets(_)) == matches!(other, Self::Packets(_))
    }
}

impl Value for Length {
    const KIND: &'static str = "packets or bytes";

    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.parse::<f64>().is_ok() {
            return Err(format!(
                "\"{text}\" is ambiguous without a unit (to tc's red it is bytes); allowed: {}",
                Self::allowed()
            ));
        }
        if let Ok(packets) = text.parse() {
            return Ok(Self::Packets(packets));
        }
        let bytes = text.parse().map(Self::Bytes);
        bytes.map_err(|_| format!("\"{text}\" is refused; allowed: {}", Self::allowed()))
    }

    fn print(&self) -> String {
        match self {
            Self::Packets(packets) => packets.to_string().replace(' ', ""),
            Self::Bytes(bytes) => bytes.to_string().replace(' ', ""),
        }
    }

    fn allowed() -> String {
        "packets, as in \"30p\", or bytes, as in \"45kB\"".into()
    }
}
