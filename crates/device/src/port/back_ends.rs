//! The back ends of the configuration, one line each. What a back end reads of a port's table, what it needs of the host and
//! how it is opened stands in its own file.

use super::about::{About, Open};
use super::{af_packet, af_xdp, dpdk_about, generated, pcap};
use crate::config::{words, PortTable};

macro_rules! back_ends {
    ($($(#[$meaning:meta])* $word:literal => $variant:ident: $about:expr;)+) => {
        words! {
            /// How frames come and go.
            BackEnd {
                $($(#[$meaning])* $word => $variant,)+
            }
        }

        impl BackEnd {
            /// Every back end.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// What the program knows of it.
            #[must_use]
            pub const fn about(self) -> &'static About {
                match self {
                    $(Self::$variant => &$about),+
                }
            }
        }
    };
}

back_ends! {
    /// A socket on frame memory shared with the kernel.
    "af_xdp" => AfXdp: af_xdp::ABOUT;
    /// A packet socket.
    "af_packet" => AfPacket: af_packet::ABOUT;
    /// In memory.
    "loopback" => Loopback: generated::ABOUT;
    /// Capture files.
    "pcap" => Pcap: pcap::ABOUT;
    /// A DPDK device.
    "dpdk" => Dpdk: dpdk_about::ABOUT;
}

impl BackEnd {
    /// Words of the back ends that this build has, and for which `wanted` holds.
    pub fn words(wanted: impl Fn(&About) -> bool) -> Vec<&'static str> {
        let chosen =
            |back_end: &&Self| !matches!(back_end.about().open, Open::Elsewhere(_)) && wanted(back_end.about());
        Self::ALL.iter().filter(chosen).map(|back_end| back_end.name()).collect()
    }
}

impl PortTable {
    /// The keys that are set to something else than their defaults.
    #[must_use]
    pub fn set_keys(&self) -> Vec<String> {
        let alone = serde_json::from_value::<Self>(serde_json::json!({ "back_end": self.back_end }));
        let fields = |table: &Self| match serde_json::to_value(table) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let defaults = alone.map(|alone| fields(&alone)).unwrap_or_default();
        fields(self).into_iter().filter(|(key, value)| defaults.get(key) != Some(value)).map(|(key, _)| key).collect()
    }
}
