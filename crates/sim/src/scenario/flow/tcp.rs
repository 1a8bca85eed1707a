//! TCP in the document: every parameter with Linux's default and the texts'.

use crate::transport;
use schemars::JsonSchema;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use sojourn_document::{OrNone, Quantity};
use sojourn_units::{BitRate, Bytes, Packets, Span};

/// TCP. The defaults are those of Linux, with CUBIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TcpTable {
    /// Congestion control: `cubic` (RFC 9438), `reno` (as in Linux), `newreno`, `ns3_reno` and `ns3_cubic` (as in
    /// ns-3), `ns2_reno` (counted as in ns-2), `dctcp` (RFC 8257; needs `ecn`), `bbr` (version 1), `prague` (needs
    /// `ecn` and `ect = 1`),
    /// `ledbat` (RFC 6817; needs `timestamps`) or `compound` (draft-sridharan-tcpm-ctcp). Linux `cubic`; RFC 5681
    /// `newreno`.
    pub congestion_control: String,
    /// How lost segments are detected and retransmitted. Linux `rack` (`tcp_recovery` 1) with `tail_loss_probe`; RFC
    /// 6675 `sack`.
    pub recovery: Recovery,
    /// Tail loss probe, with `sack` and `rack`. Linux true (`tcp_early_retrans` 3); RFC 8985, section 7, recommends it.
    pub tail_loss_probe: bool,
    /// Payload of a full segment; 1448 B give an IP packet of 1500 B. Linux 1448 B over Ethernet; RFC 9293 536 B if
    /// peer and path state nothing, less the options.
    pub mss: Quantity<Bytes>,
    /// Initial congestion window. Linux 10 p; RFC 6928 10 p, RFC 5681 3 p of this size.
    pub initial_window: Quantity<Packets>,
    /// Upper limit of the congestion window. Linux none (`snd_cwnd_clamp`); the RFCs define none; ns-2 20 p
    /// (`window_`).
    pub window_limit: OrNone<Packets>,
    /// Limited transmit: the first duplicate acknowledgements send new segments. Linux true; RFC 3042 recommends it.
    pub limited_transmit: bool,
    /// Proportional rate reduction during recovery; without it the window is reduced at once. Linux true (RFC 6937);
    /// RFC 5681 false.
    pub prr: bool,
    /// How the retransmission timeout is computed from the RTT, also after a lost SYN. Linux `linux`; RFC 6298 `rfc`;
    /// ns-3 `ns3`.
    pub rto: Rto,
    /// Smallest retransmission timeout. Linux 200 ms; RFC 6298 1 s.
    pub min_rto: Quantity<Span>,
    /// Retransmission timeout before the first RTT sample, used for SYN and SYN-ACK. Linux 1 s; RFC 6298 1 s.
    pub initial_rto: Quantity<Span>,
    /// Largest retransmission timeout, including back-off. Linux 120 s; RFC 6298 60 s or more, if any.
    pub max_rto: Quantity<Span>,
    /// Timestamps, which also give RTT samples from retransmissions. Linux true; RFC 7323 leaves it to the host.
    /// Without them segments are 12 B shorter.
    pub timestamps: bool,
    /// Use ECN (RFC 3168; with `dctcp` RFC 8257). Linux false for connections that it opens (`tcp_ecn` 2); RFC 3168
    /// leaves it to the host.
    pub ecn: bool,
    /// The receiver accepts ECN if the sender asks for it. Linux true (`tcp_ecn` 2); RFC 3168 leaves it to the host.
    pub ecn_accept: bool,
    /// Open the connection by SYN, SYN-ACK and ACK and close it by FINs; a flow starts with its SYN. Linux, ns-3 and
    /// RFC 9293 true. Without it, data is sent at once, as with ns-2's one-way agents.
    pub handshake: bool,
    /// Codepoint of ECN-capable packets: 0 for ECT(0), or 1 for ECT(1), which asks for L4S treatment (RFC 9331).
    /// Linux 0; RFC 3168 either, RFC 8311 0 except for experiments.
    pub ect: u8,
    /// Size of the sender's socket buffer. Linux grows it to 4 MiB (`tcp_wmem`); RFC 9293 leaves it to the host.
    pub send_buffer: OrNone<Bytes>,
    /// Bulk traffic fills `send_buffer` in writes of this size. If the buffer limits the flow, its last segment is
    /// then short, unless `nagle` delays it. With `none` the buffer holds whole segments. Linux's bulk senders write
    /// more than the buffer holds, so `none`; ns-3 512 B (`SendSize`); RFC 9293 leaves it to the application.
    pub write_size: OrNone<Bytes>,
    /// Size of the receiver's socket buffer, which is the window offered at first. Linux grows it to 6 MiB
    /// (`tcp_rmem`); RFC 9293 leaves it to the host, up to 1 GiB (RFC 7323).
    pub receive_buffer: Quantity<Bytes>,
    /// Rate at which the receiving application reads; `none` reads at once. A reader that is slower than the sender
    /// closes the window, and the sender probes it (RFC 9293, 3.8.6). Linux and the RFCs leave it to the application.
    pub read_rate: OrNone<BitRate>,
    /// Pace segments even if the congestion control sets no rate: at 2 windows per RTT while the window is below half
    /// the threshold, and at 1.2 above. Linux false with most queueing disciplines, true with `fq`
    /// (`tcp_pacing_ss_ratio` 200, `tcp_pacing_ca_ratio` 120); the RFCs leave it to the host.
    pub pacing: bool,
    /// CUBIC's HyStart, which ends slow start before a loss. Linux true; RFC 9438 recommends HyStart++ (RFC 9406).
    pub hystart: bool,
    /// Prague's reference RTT: a flow with a shorter RTT behaves as with this one. draft-briscoe-iccrg-prague 25 ms.
    pub prague_reference_rtt: Quantity<Span>,
    /// Target queueing delay of LEDBAT. RFC 6817 allows 100 ms at the most.
    pub ledbat_target: Quantity<Span>,
    /// Segments by which LEDBAT's window grows in a round trip without queueing. RFC 6817 allows 1 at the most.
    pub ledbat_gain: f64,
    /// LEDBAT begins with slow start, up to 3/4 of its target. RFC 6817 leaves it to the host.
    pub ledbat_slow_start: bool,
    /// Nagle's algorithm: a short segment waits while data is unacknowledged. Linux true unless TCP_NODELAY; RFC 9293
    /// recommends it. It is false here, so that each write is a packet.
    pub nagle: bool,
    /// Reduce the window after an idle time. Linux true (`tcp_slow_start_after_idle` 1); RFC 5681, 4.1 recommends it.
    pub slow_start_after_idle: bool,
    /// How an idle time reduces the window. Linux `decay` (RFC 2861); RFC 5681 `initial`. RFC 7661 is not
    /// implemented.
    pub idle_restart: IdleRestart,
    /// Unit in which the congestion window is counted. Linux and ns-2 `packets`; RFC 5681 `bytes`. For full segments
    /// both are the same.
    pub window_unit: WindowUnit,
    /// Number of segments per acknowledgement. Linux 2 p; RFC 9293 2 p, RFC 5681 the same; ns-2's sink 1 p.
    pub ack_every: Quantity<Packets>,
    /// Longest delay of an acknowledgement. Linux 40 ms and, for a slow peer, up to 200 ms; RFC 9293 below 500 ms; ns-3 200 ms.
    pub delayed_ack: Quantity<Span>,
    /// Number of segments at the start that are acknowledged one by one. Linux 16 p at most; the RFCs 0 p.
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
            write_size: OrNone(sender.write_size.map(|size| Bytes::new(u64::from(size.get())))),
            receive_buffer: Quantity(receiver.buffer),
            read_rate: OrNone(receiver.read_rate),
            pacing: sender.pacing,
            hystart: sender.hystart,
            prague_reference_rtt: Quantity(sender.prague_reference_rtt),
            ledbat_target: Quantity(sender.ledbat_target),
            ledbat_gain: sender.ledbat_gain,
            ledbat_slow_start: sender.ledbat_slow_start,
            nagle: sender.nagle,
            slow_start_after_idle: sender.slow_start_after_idle,
            idle_restart: sender.idle_restart.into(),
            window_unit: sender.window_unit.into(),
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
    /// How lost segments are detected and retransmitted.
    pub enum Recovery for transport::Recovery {
        /// RFC 5681.
        Reno = "reno" => Reno,
        /// RFC 6582.
        NewReno = "newreno" => NewReno,
        /// RFC 2018 and RFC 6675.
        Sack = "sack" => Sack,
        /// RFC 2018, RFC 6675 and RFC 6937, as ns-3 has them.
        Ns3 = "ns3" => Ns3,
        /// RFC 2018 and RFC 8985, which detects losses by time, as Linux.
        Rack = "rack" => Rack,
    }
}

word! {
    /// How the retransmission timeout is computed from the RTT.
    pub enum Rto for transport::RtoRule {
        /// As Linux: srtt + max(variation, min_rto).
        Linux = "linux" => Linux,
        /// RFC 6298: max(srtt + 4 rttvar, min_rto).
        Rfc = "rfc" => Rfc6298,
        /// As ns-3: RFC 6298 without samples from retransmitted segments or segments outstanding at a timeout. Any
        /// advance ends the back-off. In fast recovery only the first partial acknowledgement restarts the timer,
        /// retransmissions never do, and every expiry lowers the threshold.
        Ns3 = "ns3" => Ns3,
    }
}

word! {
    /// How an idle time reduces the window.
    pub enum IdleRestart for transport::IdleRestart {
        /// RFC 2861, as Linux: it is halved for each timeout, down to the initial window.
        Decay = "decay" => Decay,
        /// RFC 5681, 4.1: it becomes the initial window after one timeout.
        Initial = "initial" => Initial,
    }
}

word! {
    /// Unit in which a congestion window is counted.
    pub enum WindowUnit for transport::WindowUnit {
        /// A segment counts as its payload.
        Bytes = "bytes" => Bytes,
        /// Every segment counts as a full one.
        Packets = "packets" => Packets,
    }
}
