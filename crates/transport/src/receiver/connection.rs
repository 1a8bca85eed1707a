//! The receiver's side of opening and closing: SYN-ACK, and a FIN in answer to the sender's.
//!
//! Text: RFC 9293, sections 3.5 and 3.6; RFC 3168, section 6.1.1 (ECN). As Linux: a SYN that comes again is answered again,
//! besides the SYN-ACK's own timer. The receiver has no data, and its application closes as soon as it has all of the
//! sender's: its FIN goes out with the acknowledgement of the sender's, and again until that is confirmed.
//! Deviations: its timer starts from the initial timeout (Linux: from an RTT sample of the handshake), and it never gives up
//! (Linux: after 5 SYN-ACKs).

use super::config::ReceiverConfig;
use sojourn_units::{Instant, Span};

/// Where the connection stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Connection {
    /// Open, or not asked for: data is taken as it comes.
    #[default]
    Open,
    /// SYN-ACK sent and not confirmed.
    SynReceived(Unanswered),
    /// FIN sent and not confirmed.
    Closing(Unanswered),
    /// FIN confirmed.
    Closed,
}

/// What the peer has not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unanswered {
    deadline: Instant,
    /// Times that it has been sent again by the timer.
    repeated: u32,
}

impl Connection {
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::SynReceived(_))
    }

    pub fn is_closing(&self) -> bool {
        matches!(self, Self::Closing(_))
    }

    pub fn deadline(&self) -> Instant {
        match self {
            Self::SynReceived(wait) | Self::Closing(wait) => wait.deadline,
            Self::Open | Self::Closed => Instant::NEVER,
        }
    }

    /// A SYN has arrived, and the SYN-ACK leaves.
    pub fn on_syn(&mut self, config: &ReceiverConfig, now: Instant) {
        let repeated = match self {
            Self::SynReceived(wait) => wait.repeated,
            _ => 0,
        };
        *self = Self::SynReceived(Unanswered::new(config, now, repeated));
    }

    /// All data and the FIN have arrived.
    pub fn close(&mut self, config: &ReceiverConfig, now: Instant) {
        if let Self::Open = self {
            *self = Self::Closing(Unanswered::new(config, now, 0));
        }
    }

    /// What is unanswered is sent once more.
    pub fn repeat(&mut self, config: &ReceiverConfig, now: Instant) {
        if let Self::SynReceived(wait) | Self::Closing(wait) = self {
            *wait = Unanswered::new(config, now, wait.repeated + 1);
        }
    }
}

impl Unanswered {
    fn new(config: &ReceiverConfig, now: Instant, repeated: u32) -> Self {
        let timeout = config.initial_rto.nanos().saturating_mul(1 << repeated.min(32));
        Self { deadline: now + Span::from_nanos(timeout.min(config.max_rto.nanos())), repeated }
    }
}
