//! Parameters of a sender.

use crate::transport::congestion::{cubic, Algorithm, Parameters};
use sojourn_units::{Bytes, Packets, Span};
use std::num::NonZeroU32;

/// How missing segments are found and sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// RFC 5681: fast retransmit and fast recovery, which any new acknowledgement ends.
    Reno,
    /// RFC 6582: a partial acknowledgement has the next missing segment sent again.
    NewReno,
    /// RFC 2018 and RFC 6675: a scoreboard of selective acknowledgements.
    #[default]
    Sack,
    /// RFC 2018, RFC 6675 and RFC 6937 with the departures of ns-3, which `recovery::ns3` lists.
    Ns3,
    /// RFC 2018 and RFC 8985: a segment is lost when one sent well after it has arrived. Linux's own way.
    Rack,
}

impl Recovery {
    /// It works on selective acknowledgements.
    #[must_use]
    pub const fn is_selective(self) -> bool {
        matches!(self, Self::Sack | Self::Ns3 | Self::Rack)
    }
}

/// How the retransmission timeout follows from the smoothed RTT, and what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RtoRule {
    /// Linux: `srtt + max(variation, min_rto)`, the variation being the largest within a round trip and decaying slowly.
    /// A SYN sent again more than once makes the initial window one segment; a handshake without RTT sample, the timeout 3 s.
    #[default]
    Linux,
    /// RFC 6298: `max(srtt + 4 rttvar, min_rto)`. A SYN sent again makes the initial window one segment (RFC 5681, 3.1)
    /// and the timeout at least 3 s until the first RTT sample of data (5.7).
    Rfc6298,
    /// ns-3: RFC 6298, but no sample from what was sent again or outstanding at a timeout, timestamps or not, and the back-off
    /// ends with any advance. In fast recovery only the first partial acknowledgement restarts the timer (RFC 6582's impatient
    /// variant), a retransmission of the first segment never; every expiry lowers the threshold, in fast recovery (RFC 5681, equation 4)
    /// and after an expiry as well. A SYN sent again changes nothing.
    Ns3,
}

/// What an idle time does to the window, where [`Config::slow_start_after_idle`] lets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleRestart {
    /// RFC 2861, as Linux: half of it for each timeout, the initial window at the least; the threshold is three quarters of it at the least.
    #[default]
    Decay,
    /// RFC 5681, section 4.1: after one timeout the restart window, which is the initial one at the most.
    Initial,
}

/// What a window is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowUnit {
    /// A segment counts for its payload (RFC 5681).
    #[default]
    Bytes,
    /// Every segment counts for a full one, however short, as in Linux and ns-2.
    Packets,
}

/// The codepoint that says ECN-capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ect {
    /// ECT(0), of any sender.
    #[default]
    Zero,
    /// ECT(1), of a scalable sender: it asks for L4S treatment (RFC 9331).
    One,
}

/// Parameters of a sender; [`Config::default`] is Linux's bulk sender with CUBIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Payload of a full segment; 1448 B makes 1500 B of IP.
    pub mss: Bytes,
    /// Initial window (RFC 6928).
    pub initial_window: Packets,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Congestion control.
    pub congestion_control: &'static Algorithm,
    /// Tail loss probe (RFC 8985, section 7), where recovery is selective.
    pub tail_loss_probe: bool,
    /// Limited transmit (RFC 3042): new segments for the first duplicate acknowledgements.
    pub limited_transmit: bool,
    /// Proportional rate reduction (RFC 6937); else the window drops to the threshold at once.
    pub prr: bool,
    /// Retransmission timeout from the RTT.
    pub rto: RtoRule,
    /// Smallest timeout: 200 ms in Linux, 1 s in RFC 6298.
    pub min_rto: Span,
    /// Timeout before the first RTT sample: the SYN's.
    pub initial_rto: Span,
    /// Largest timeout, back-off included.
    pub max_rto: Span,
    /// Timestamps (RFC 7323): RTT samples from retransmissions too.
    pub timestamps: bool,
    /// ECN: as in RFC 3168, or as in RFC 8257 where congestion control reads accurate feedback.
    pub ecn: bool,
    /// The codepoint of ECN-capable packets.
    pub ect: Ect,
    /// Unacknowledged and unsent data the sender can hold; `None` is without bound.
    pub send_buffer: Option<Bytes>,
    /// An unlimited source fills the send buffer in writes of this size in bytes, so the last segment of it may be short; `None` has
    /// it hold whole segments.
    pub write_size: Option<NonZeroU32>,
    /// The congestion window never exceeds this (ns-2's `window_`).
    pub window_limit: Option<Bytes>,
    /// Segments are spaced also where congestion control asks for no rate (Linux's `fq`).
    pub pacing: bool,
    /// CUBIC's HyStart.
    pub hystart: bool,
    /// Prague's reference RTT: shorter ones count as this.
    pub prague_reference_rtt: Span,
    /// Queueing delay that LEDBAT holds: 100 ms at the most (RFC 6817).
    pub ledbat_target: Span,
    /// LEDBAT's gain: 1 at the most (RFC 6817).
    pub ledbat_gain: f64,
    /// LEDBAT begins with slow start.
    pub ledbat_slow_start: bool,
    /// Nagle's algorithm (RFC 1122, 4.2.3.4): a short segment waits while anything is unacknowledged.
    pub nagle: bool,
    /// Window decays while the application does not use it (RFC 2861; Linux's `tcp_slow_start_after_idle`).
    pub slow_start_after_idle: bool,
    /// How it decays.
    pub idle_restart: IdleRestart,
    /// What the congestion window is counted in.
    pub window_unit: WindowUnit,
    /// The application always has data (until `close`); `write` is not used.
    pub unlimited: bool,
    /// The connection opens with SYN, SYN-ACK and ACK and ends with FIN (RFC 9293); without, the stream starts and ends by
    /// itself, as with ns-2's one-way agents.
    pub handshake: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: Bytes::new(1448),
            initial_window: Packets::new(10),
            recovery: Recovery::Sack,
            tail_loss_probe: false,
            congestion_control: &cubic::ALGORITHM,
            limited_transmit: true,
            prr: true,
            rto: RtoRule::Linux,
            min_rto: Span::from_millis(200),
            initial_rto: Span::from_secs(1),
            max_rto: Span::from_secs(120),
            timestamps: true,
            ecn: false,
            ect: Ect::Zero,
            send_buffer: Some(Bytes::new(4 << 20)),
            write_size: None,
            window_limit: None,
            pacing: false,
            hystart: true,
            prague_reference_rtt: Span::from_millis(25),
            ledbat_target: Span::from_millis(100),
            ledbat_gain: 1.0,
            ledbat_slow_start: false,
            nagle: false,
            slow_start_after_idle: true,
            idle_restart: IdleRestart::Decay,
            window_unit: WindowUnit::Bytes,
            unlimited: false,
            handshake: true,
        }
    }
}

impl Config {
    /// The part that congestion control is built from.
    pub(super) fn parameters(&self, seed: u64) -> Parameters {
        Parameters {
            mss: self.mss,
            initial_window: self.initial_window,
            window_limit: self.window_limit,
            hystart: self.hystart,
            seed,
            reference_rtt: self.prague_reference_rtt,
            ledbat_target: self.ledbat_target,
            ledbat_gain: self.ledbat_gain,
            ledbat_slow_start: self.ledbat_slow_start,
        }
    }
}
