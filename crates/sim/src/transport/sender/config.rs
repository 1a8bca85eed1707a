//! Parameters of a sender.

use crate::transport::congestion::{cubic, Algorithm, Parameters};
use sojourn_units::{Bytes, Packets, Span};

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
}

/// How the retransmission timeout follows from the smoothed RTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RtoRule {
    /// Linux: `srtt + max(variation, min_rto)`, the variation being the largest within a round trip and decaying slowly.
    #[default]
    Linux,
    /// RFC 6298: `max(srtt + 4 rttvar, min_rto)`.
    Rfc6298,
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
    /// Limited transmit (RFC 3042): new segments for the first duplicate acknowledgements.
    pub limited_transmit: bool,
    /// Proportional rate reduction (RFC 6937); else the window drops to the threshold at once.
    pub prr: bool,
    /// Retransmission timeout from the RTT.
    pub rto: RtoRule,
    /// Smallest timeout: 200 ms in Linux, 1 s in RFC 6298.
    pub min_rto: Span,
    /// Timeout before the first RTT sample.
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
    /// The congestion window never exceeds this (ns-2's `window_`).
    pub window_limit: Option<Bytes>,
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
    /// The application always has data (until `close`); `write` is not used.
    pub unlimited: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: Bytes::new(1448),
            initial_window: Packets::new(10),
            recovery: Recovery::Sack,
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
            window_limit: None,
            hystart: true,
            prague_reference_rtt: Span::from_millis(25),
            ledbat_target: Span::from_millis(100),
            ledbat_gain: 1.0,
            ledbat_slow_start: false,
            nagle: false,
            slow_start_after_idle: true,
            unlimited: false,
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
