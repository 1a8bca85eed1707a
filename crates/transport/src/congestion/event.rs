//! What congestion control is told: acknowledgements, and the begin of an episode.

use sojourn_units::{BitRate, Bytes, Instant, Packets, Span};

/// Delivery-rate sample of one acknowledgement (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Data delivered during `interval`.
    pub delivered: Bytes,
    /// The longer of the times in which that data was sent and was acknowledged.
    pub interval: Span,
    /// The connection's count of delivered data when the segment that gave this sample was sent.
    pub prior_delivered: Bytes,
    /// The application, not the network, bounded this sample.
    pub app_limited: bool,
    /// The segment that gave this sample had been sent before.
    pub retransmitted: bool,
    /// In flight when it was sent, itself included.
    pub tx_in_flight: Bytes,
    /// Taken as lost since then.
    pub lost: Bytes,
}

impl RateSample {
    /// The rate; zero when no time passed.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        if self.interval.is_zero() {
            return BitRate::ZERO;
        }
        let bit_s = u128::from(self.delivered.get()) * 8_000_000_000 / u128::from(self.interval.nanos());
        BitRate::from_bit_s(u64::try_from(bit_s).unwrap_or(u64::MAX))
    }
}

/// Segments, and their payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub packets: Packets,
    /// Their payload.
    pub bytes: Bytes,
}

/// Times of the path that an acknowledgement tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// RTT of the most recently sent segment that is newly delivered: if it was sent only once, or if a timestamp tells.
    pub sample: Option<Span>,
    /// Smallest RTT of the connection; [`Span::MAX`] before the first.
    pub min: Span,
    /// Smoothed RTT; zero before the first sample.
    pub smoothed: Span,
    /// Delay from sender to receiver of the segment whose timestamp is echoed.
    pub one_way: Option<Span>,
}

/// What the sampler of delivery rates says; nothing for algorithms that do not read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Delivery-rate sample, where one is valid.
    pub rate: Option<RateSample>,
    /// Delivered since the start, this acknowledgement included.
    pub total: Bytes,
    /// The application, not the network, bounds what is sent (as in [`RateSample`], but now).
    pub app_limited: bool,
    /// Until pacing lets the next segment go; zero where it does not wait.
    pub departs_in: Span,
}

/// An acknowledgement as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Instant,
    /// Newly acknowledged by the cumulative acknowledgement, without what had been SACKed before.
    pub acked: Amount,
    /// Newly SACKed (without SACK: what a duplicate acknowledgement stands for).
    pub sacked: Amount,
    /// Newly reported as marked CE; none where feedback is classic.
    pub ce: Amount,
    /// Times of the path.
    pub rtt: Rtt,
    /// What of the delivery rate is known.
    pub delivery: Delivery,
    /// In flight (RFC 6675's pipe) after this acknowledgement.
    pub in_flight: Bytes,
    /// In flight before it.
    pub prior_in_flight: Bytes,
    /// Newly taken as lost by it.
    pub lost: Bytes,
    /// Taken as lost since the start; what is lost again counts again.
    pub total_lost: Bytes,
    /// Where the sender stands, after this acknowledgement.
    pub phase: Phase,
    /// The window in force: within a reduction the one that its course allows, else [`CongestionControl::cwnd`](super::CongestionControl::cwnd).
    pub cwnd: Bytes,
    /// It ends the time after a timeout, which lasted up to this offset.
    pub timeout_over: Option<u64>,
    /// Cumulative acknowledgement, as an offset in the stream.
    pub una: u64,
    /// Next new byte to send, as an offset in the stream: a round trip ends when `una` passes it.
    pub next: u64,
    /// The window may grow: the cumulative acknowledgement advanced, and no reduction is under way.
    pub may_grow: bool,
    /// The window, not the application or the receiver, bounds what is sent (RFC 7661; Linux's `tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
}

impl AckEvent {
    /// Newly delivered, acknowledged or SACKed, in bytes.
    #[must_use]
    #[inline(always)]
    pub fn newly_delivered(&self) -> Bytes {
        self.acked.bytes + self.sacked.bytes
    }

    /// As [`AckEvent::newly_delivered`], in segments.
    #[must_use]
    #[inline(always)]
    pub fn newly_delivered_packets(&self) -> Packets {
        self.acked.packets + self.sacked.packets
    }
}

/// Where the sender stands towards congestion (Linux's `icsk_ca_state` without Disorder), from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// No episode.
    #[default]
    Open,
    /// Reducing in answer to a mark.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A segment is missing.
    Loss,
    /// A mark was echoed (RFC 3168).
    Ecn,
    /// The retransmission timer expired.
    Timeout,
}

/// The start of a congestion episode; at most one per window of data.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// When.
    pub now: Instant,
    /// Why.
    pub signal: Signal,
    /// In flight (RFC 6675's pipe) at this moment.
    pub in_flight: Bytes,
}

/// What the receiver says of the marks that it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// RFC 3168: ECE from a mark until the sender has answered with CWR.
    #[default]
    Classic,
    /// RFC 8257, section 3.2: an acknowledgement has ECE just when what it newly acknowledges was marked.
    Accurate,
    /// RFC 9768: counters of marked packets and bytes.
    AccEcn,
}
