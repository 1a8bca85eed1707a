//! Parameters of a sender.

use crate::congestion::{self, Algorithm, EcnFeedback, Keys, Parameters};
use sojourn_document::words;
use sojourn_units::{Bytes, Packets, Span};
use std::num::NonZeroU32;

words! {
    /// How lost segments are detected and retransmitted.
    pub enum Recovery {
        /// RFC 5681.
        // Fast retransmit and fast recovery, which any new acknowledgement ends.
        Reno = "reno",
        /// RFC 6582.
        // A partial acknowledgement has the next missing segment sent again.
        NewReno = "newreno",
        /// RFC 2018 and RFC 6675.
        // A scoreboard of selective acknowledgements.
        #[default]
        Sack = "sack",
        /// RFC 2018, RFC 6675 and RFC 6937, as ns-3 has them.
        // `recovery::ns3` lists the departures.
        Ns3 = "ns3",
        /// RFC 2018 and RFC 8985, which detects losses by time, as Linux.
        // A segment is lost when one sent well after it has arrived.
        Rack = "rack",
    }
}

words! {
    /// How the retransmission timeout is computed from the RTT.
    #[schemars(rename = "Rto")]
    pub enum RtoRule {
        /// As Linux: srtt + max(variation, min_rto).
        // The variation is the largest within a round trip and decays slowly. A SYN sent again more than once makes the initial
        // window one segment; a handshake without RTT sample, the timeout 3 s.
        #[default]
        Linux = "linux",
        /// RFC 6298: max(srtt + 4 rttvar, min_rto).
        // A SYN sent again makes the initial window one segment (RFC 5681, 3.1) and the timeout at least 3 s until the first RTT
        // sample of data (5.7).
        Rfc6298 = "rfc",
        /// As ns-3: RFC 6298 without samples from retransmitted segments or segments outstanding at a timeout. Any
        /// advance ends the back-off. In fast recovery only the first partial acknowledgement restarts the timer,
        /// retransmissions never do, and every expiry lowers the threshold.
        // Timestamps or not. The first partial acknowledgement: RFC 6582's impatient variant. An expiry lowers the threshold in
        // fast recovery (RFC 5681, equation 4) and after an expiry as well. A SYN sent again changes nothing.
        Ns3 = "ns3",
    }
}

words! {
    /// How an idle time reduces the window.
    pub enum IdleRestart {
        /// RFC 2861, as Linux: it is halved for each timeout, down to the initial window.
        // The threshold is three quarters of it at the least.
        #[default]
        Decay = "decay",
        /// RFC 5681, 4.1: it becomes the initial window after one timeout.
        // The restart window, which is the initial one at the most.
        Initial = "initial",
    }
}

words! {
    /// Unit in which a congestion window is counted.
    pub enum WindowUnit {
        /// A segment counts as its payload.
        // RFC 5681.
        #[default]
        Bytes = "bytes",
        /// Every segment counts as a full one.
        // However short, as in Linux and ns-2.
        Packets = "packets",
    }
}

words! {
    /// How the receiver reports marks.
    #[schemars(rename = "EcnFeedback")]
    pub enum FeedbackRule {
        /// As the congestion control reads them: `accecn` for `prague`, `dctcp` for `dctcp`, else `classic`.
        #[default]
        Auto = "auto",
        /// RFC 3168: ECE from a mark until CWR.
        Classic = "classic",
        /// RFC 8257: ECE where what is newly acknowledged was marked.
        Dctcp = "dctcp",
        /// RFC 9768: counters of marked packets and bytes.
        AccEcn = "accecn",
    }
}

impl FeedbackRule {
    /// The feedback, for a congestion control that reads `auto`.
    #[must_use]
    pub const fn of(self, auto: EcnFeedback) -> EcnFeedback {
        match self {
            Self::Auto => auto,
            Self::Classic => EcnFeedback::Classic,
            Self::Dctcp => EcnFeedback::Accurate,
            Self::AccEcn => EcnFeedback::AccEcn,
        }
    }
}

words! {
    /// Which packets of a connection that uses ECN are ECN-capable.
    pub enum EctOn {
        /// `acks` where the receiver reports marks by Accurate ECN, else `data`.
        #[default]
        Auto = "auto",
        /// Segments with data (RFC 3168, 6.1); where marks are reported accurately, sent again as well (RFC 8311, 4.3).
        Data = "data",
        /// Also pure acknowledgements, FINs and window probes, where marks are reported accurately.
        Acks = "acks",
        /// Also SYN and SYN-ACK, where the SYN asks for Accurate ECN (ECN++, draft-ietf-tcpm-generalized-ecn).
        All = "all",
    }
}

impl EctOn {
    /// Pure acknowledgements are ECN-capable on a connection with this feedback.
    #[must_use]
    pub fn has_acks(self, feedback: EcnFeedback) -> bool {
        match self {
            Self::Auto => feedback == EcnFeedback::AccEcn,
            Self::Data => false,
            Self::Acks | Self::All => feedback != EcnFeedback::Classic,
        }
    }

    /// SYN and SYN-ACK are, where the SYN asks for this feedback.
    #[must_use]
    pub fn has_syns(self, wanted: EcnFeedback) -> bool {
        self == Self::All && wanted == EcnFeedback::AccEcn
    }
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
    /// Reductions that were not needed are undone (`sender::undo`), with [`Recovery::Rack`].
    pub undo: bool,
    /// Tick of the clock that its timers go by, with [`Recovery::Rack`]; zero for none.
    pub tick: Span,
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
    /// Tick of their clock; zero where they are exact.
    pub timestamp_tick: Span,
    /// ECN: as in RFC 3168, or as in RFC 8257 where congestion control reads accurate feedback.
    pub ecn: bool,
    /// The codepoint of ECN-capable packets.
    pub ect: Ect,
    /// On which packets.
    pub ect_on: EctOn,
    /// The feedback of marks that the SYN asks for, or that is spoken without a handshake.
    pub ecn_feedback: FeedbackRule,
    /// Unacknowledged and unsent data the sender can hold; `None` is without bound.
    pub send_buffer: Option<Bytes>,
    /// An unlimited source fills the send buffer in writes of this size in bytes, so the last segment of it may be short; `None` has
    /// it hold whole segments.
    pub write_size: Option<NonZeroU32>,
    /// Who filled the send buffer writes again whenever some of it is free, not only when a third of it is.
    pub write_at_once: bool,
    /// The congestion window never exceeds this (ns-2's `window_`).
    pub window_limit: Option<Bytes>,
    /// Segments are spaced also where congestion control asks for no rate (Linux's `fq`).
    pub pacing: bool,
    /// Parameters of single congestion controls.
    pub keys: Keys,
    /// New segments leave in groups, the last with PSH (`sender::offload`).
    pub segmentation_offload: bool,
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
            undo: false,
            tick: Span::ZERO,
            congestion_control: congestion::find(congestion::cubic::ABOUT.name)
                .unwrap_or_else(|| unreachable!("cubic is registered")),
            limited_transmit: true,
            prr: true,
            rto: RtoRule::Linux,
            min_rto: Span::from_millis(200),
            initial_rto: Span::from_secs(1),
            max_rto: Span::from_secs(120),
            timestamps: true,
            timestamp_tick: Span::ZERO,
            ecn: false,
            ect: Ect::Zero,
            ect_on: EctOn::Auto,
            ecn_feedback: FeedbackRule::Auto,
            send_buffer: Some(Bytes::new(4 << 20)),
            write_size: None,
            write_at_once: false,
            window_limit: None,
            pacing: false,
            keys: Keys::default(),
            segmentation_offload: false,
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
        Parameters { mss: self.mss, initial_window: self.initial_window, window_limit: self.window_limit, seed }
    }
}
