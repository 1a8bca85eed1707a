//! Parameters of a receiver.

use crate::congestion::EcnFeedback;
use crate::sender::{Ect, EctOn};
use sojourn_aqm::Ecn;
use sojourn_document::words;
use sojourn_units::{BitRate, Bytes, Packets, Span};

words! {
    /// When a receiver acknowledges.
    pub enum AckPolicy {
        /// RFC 5681, 4.2: `ack_every` segments, or `delayed_ack`; at once while a segment is missing.
        #[default]
        Rfc = "rfc",
        /// As Linux: also a segment with PSH at once, and each of 16 segments after a long pause or a segment that brought
        /// nothing new. While a segment is missing, one acknowledgement stands for all segments of a millisecond.
        // `receiver::adaptive` has the rule.
        Linux = "linux",
    }
}

/// Parameters of a receiver; the default is Linux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// An acknowledgement for every so many segments; 1 acknowledges each (ns-2).
    pub ack_every: Packets,
    /// The rule beyond that.
    pub ack_policy: AckPolicy,
    /// Longest delay of an acknowledgement: 40 ms in Linux, 200 ms in ns-3.
    pub ack_delay: Span,
    /// So many segments at the start are acknowledged at once, each; 0 for none.
    pub quick_acks: Packets,
    /// Selective acknowledgements.
    pub sack: bool,
    /// Receive buffer: the window at first; at most 4 GiB.
    pub buffer: Bytes,
    /// How marks are reported; of Accurate ECN: it is spoken where the sender's SYN asks for it, or without a handshake.
    pub ecn_feedback: EcnFeedback,
    /// Accurate ECN with its option.
    pub accecn_option: bool,
    /// Agrees to ECN where the sender's SYN asks for it.
    pub ecn: bool,
    /// The codepoint of what it sends itself.
    pub ect: Ect,
    /// On which packets.
    pub ect_on: EctOn,
    /// Rate at which the application reads; `None` reads at once, so that the window never closes.
    pub read_rate: Option<BitRate>,
    /// A window that is to grow grows by a segment of this payload at the least (RFC 9293, 3.8.6.2.2).
    pub mss: Bytes,
    /// Until an unanswered SYN-ACK or FIN is sent again, at first.
    pub initial_rto: Span,
    /// The longest such time, after doubling.
    pub max_rto: Span,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            ack_every: Packets::new(2),
            ack_policy: AckPolicy::Rfc,
            ack_delay: Span::from_millis(40),
            quick_acks: Packets::new(16),
            sack: true,
            buffer: Bytes::new(6 << 20),
            ecn_feedback: EcnFeedback::Classic,
            accecn_option: true,
            ecn: true,
            ect: Ect::Zero,
            ect_on: EctOn::Auto,
            read_rate: None,
            mss: Bytes::new(1448),
            initial_rto: Span::from_secs(1),
            max_rto: Span::from_secs(120),
        }
    }
}

impl ReceiverConfig {
    /// The ECN field of acknowledgements with this feedback.
    pub(super) fn ecn_of_acks(&self, feedback: EcnFeedback) -> Ecn {
        match self.ect {
            _ if !self.ect_on.has_acks(feedback) => Ecn::NotEct,
            Ect::Zero => Ecn::Ect0,
            Ect::One => Ecn::Ect1,
        }
    }

    /// The buffer in bytes, as far as a window can tell.
    #[inline(always)]
    pub(super) fn space(&self) -> u64 {
        self.buffer.get().min(u64::from(u32::MAX))
    }
}
