//! TCP in the document: every parameter with Linux's default and the texts'.

use super::super::quantity::{OrNone, Quantity};
use crate::transport;
use schemars::JsonSchema;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use sojourn_units::{BitRate, Bytes, Packets, Span};

/// TCP; the defaults are Linux's, with CUBIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TcpTable {
    /// `cubic` (RFC 9438), `reno` (as Linux has it), `newreno` (as ns-3 has it) or `dctcp` (RFC 8257; it needs `ecn`).
    pub congestion_control: String,
    /// How missing segments are found and sent again.
    pub recovery: Recovery,
    /// Tail loss probe (RFC 8985, section 7), with `sack` and `rack`.
    pub tail_loss_probe: bool,
    /// Payload of a full segment; 1448 B makes 1500 B of IP.
    pub mss: Quantity<Bytes>,
    /// Initial window (RFC 6928).
    pub initial_window: Quantity<Packets>,
    /// The congestion window never exceeds this (ns-2's `window_`).
    pub window_limit: OrNone<Packets>,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Proportional rate reduction (RFC 6937).
    pub prr: bool,
    /// How the retransmission timeout follows from the RTT.
    pub rto: Rto,
    /// Smallest retransmission timeout.
    pub min_rto: Quantity<Span>,
    /// Retransmission timeout before the first RTT sample.
    pub initial_rto: Quantity<Span>,
    /// Largest retransmission timeout, back-off included.
    pub max_rto: Quantity<Span>,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// ECN (RFC 3168; with `dctcp` RFC 8257).
    pub ecn: bool,
    /// The receiver agrees to ECN where the sender asks. Linux does (`tcp_ecn` is 2); RFC 3168 leaves it to the host.
    pub ecn_accept: bool,
    /// SYN, SYN-ACK and ACK before data and FINs after it (RFC 9293, 3.5 and 3.6), as Linux and ns-3 have them; a flow starts
    /// with its SYN. Without, data starts and ends by itself, as with ns-2's one-way agents.
    pub handshake: bool,
    /// The codepoint of ECN-capable packets: 0 for ECT(0), or 1 for ECT(1), which asks for L4S treatment (RFC 9331).
    pub ect: u8,
    /// Data that the sender's socket can hold.
    pub send_buffer: OrNone<Bytes>,
    /// Data that the receiver's socket can hold.
    pub receive_buffer: Quantity<Bytes>,
    /// Rate at which the receiving application reads, in bits a second; `none` reads at once. A slower reader than sender
    /// closes the window, and the sender probes it (RFC 9293, 3.8.6).
    pub read_rate: OrNone<BitRate>,
    /// CUBIC's HyStart.
    pub hystart: bool,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// The window decays while the application does not use it (RFC 2861).
    pub slow_start_after_idle: bool,
    /// An acknowledgement for every so many segments.
    pub ack_every: Quantity<Packets>,
    /// Longest delay of an acknowledgement.
    pub delayed_ack: Quantity<Span>,
    /// So many segments at the start are acknowledged each.
    pub quick_acks: Quantity<Packets>,
}

impl Default for TcpTable {
    /// What the transport's own defaults are.
    fn default() -> Self {
        let sender = transport::Config::default();
        let receiver = transport::ReceiverConfig::default();
        Self {
            congestion_control: sender.congestion_control.name.to_owned(),
            recovery: sender.recovery.into(),
            tail_loss_probe: sender.tail_loss_probe,
            mss: Quantity(sender.mss),
            initial_window: Quantity(sender.initial_window),
            window_limit: OrNone(sender.window_limit.map(|bytes| Packets::new(bytes.get() / sender.mss.get().max(1)))),
            limited_transmit: sender.limited_transmit,
            prr: sender.prr,
            rto: sender.rto.into(),
            min_rto: Quantity(sender.min_rto),
            initial_rto: Quantity(sender.initial_rto),
            max_rto: Quantity(sender.max_rto),
            timestamps: sender.timestamps,
            ecn: sender.ecn,
            ecn_accept: receiver.ecn,
            handshake: sender.handshake,
            ect: u8::from(sender.ect == transport::Ect::One),
            send_buffer: OrNone(sender.send_buffer),
            receive_buffer: Quantity(receiver.buffer),
            read_rate: OrNone(receiver.read_rate),
            hystart: sender.hystart,
            nagle: sender.nagle,
            slow_start_after_idle: sender.slow_start_after_idle,
            ack_every: Quantity(receiver.ack_every),
            delayed_ack: Quantity(receiver.ack_delay),
            quick_acks: Quantity(receiver.quick_acks),
        }
    }
}

/// Declares a list of words that stand for the values of another enum.
macro_rules! word {
    (
        $(#[$meta:meta])*
        pub enum $name:ident for $target:ty {
            $( $(#[$doc:meta])+ $variant:ident = $word:literal => $value:ident ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
        pub enum $name {
            $( $(#[$doc])+ #[serde(rename = $word)] $variant, )+
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match String::deserialize(deserializer)?.as_str() {
                    $( $word => Ok(Self::$variant), )+
                    unknown => Err(de::Error::unknown_variant(unknown, &[$($word),+])),
                }
            }
        }

        impl From<$target> for $name {
            fn from(value: $target) -> Self {
                match value {
                    $( <$target>::$value => Self::$variant, )+
                }
            }
        }

        impl From<$name> for $target {
            fn from(word: $name) -> Self {
                match word {
                    $( $name::$variant => Self::$value, )+
                }
            }
        }
    };
}

word! {
    /// How missing segments are found and sent again.
    pub enum Recovery for transport::Recovery {
        /// RFC 5681.
        Reno = "reno" => Reno,
        /// RFC 6582.
        NewReno = "newreno" => NewReno,
        /// RFC 2018 and RFC 6675.
        Sack = "sack" => Sack,
        /// RFC 2018 and RFC 8985: by time, as Linux.
        Rack = "rack" => Rack,
    }
}

word! {
    /// How the retransmission timeout follows from the RTT.
    pub enum Rto for transport::RtoRule {
        /// As Linux: srtt + max(variation, min_rto).
        Linux = "linux" => Linux,
        /// RFC 6298: max(srtt + 4 rttvar, min_rto).
        Rfc = "rfc" => Rfc6298,
    }
}
