//! The receiver's side of opening and closing: SYN-ACK, and a FIN in answer to the sender's.
//!
//! Text: RFC 9293, sections 3.5 and 3.6; RFC 3168, section 6.1.1 (ECN). As Linux: a SYN that comes again is answered again,
//! besides the SYN-ACK's own timer. The receiver has no data, and its application closes as soon as it has all of the
//! sender's: its FIN goes out with the acknowledgement of the sender's, and again until that is confirmed.
//! Deviations: its timer starts from the initial timeout (Linux: from an RTT sample of the handshake), and it never gives up
//! (Linux: after 5 SYN-ACKs).

use super::{AckAction, Receiver};
use crate::congestion::EcnFeedback;
use crate::segment::{ace_of, Accurate, Ack, Control, Data};
use sojourn_aqm::Ecn;
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
}

impl Receiver {
    fn unanswered(&self, now: Instant, repeated: u32) -> Unanswered {
        let timeout = self.config.initial_rto.nanos().saturating_mul(1 << repeated.min(32));
        Unanswered { deadline: now + Span::from_nanos(timeout.min(self.config.max_rto.nanos())), repeated }
    }

    /// A SYN, a segment without payload, or the first after a SYN-ACK.
    /// Nothing where it is to be taken as any other segment.
    #[inline(never)]
    pub(super) fn on_connection(&mut self, now: Instant, data: &Data, ce: bool) -> Option<AckAction> {
        if data.has(Data::SYN) {
            return Some(AckAction::Now(self.on_syn(now, data, ce)));
        }
        if let Connection::SynReceived(_) = self.connection {
            // Every later segment acknowledges the SYN-ACK.
            self.connection = Connection::Open;
            self.plain = self.feedback == EcnFeedback::Classic && self.reader.is_none() && self.adaptive.is_none();
            if let Some(rule) = &mut self.adaptive {
                rule.on_open(now);
            }
            self.plan();
        }
        if !data.is_bare() {
            return None;
        }
        if ce && self.feedback == EcnFeedback::AccEcn {
            self.count_mark(data, ce);
        }
        if self.connection.is_closing() && data.seq == self.next {
            self.connection = Connection::Closed;
        }
        // Before the window: not acceptable, to be answered (RFC 9293, 3.10.7.4). A probe of a closed window is one.
        if data.seq < self.last_ack {
            return Some(AckAction::Now(self.acknowledge_apart()));
        }
        Some(AckAction::None)
    }

    fn on_syn(&mut self, now: Instant, data: &Data, ce: bool) -> Ack {
        let fresh = self.next == 0 && self.stats.segments == 0;
        if !fresh {
            return self.acknowledge_apart();
        }
        let repeated = match self.connection {
            Connection::SynReceived(wait) => wait.repeated,
            _ => 0,
        };
        self.connection = Connection::SynReceived(self.unanswered(now, repeated));
        self.plain = false;
        self.ecn = self.config.ecn && data.has(Data::CWR);
        // RFC 9768, 3.1.1 and 3.1.2: a host that does not speak it sees a SYN of RFC 3168.
        self.feedback = match self.config.ecn_feedback {
            EcnFeedback::AccEcn if !(self.ecn && data.has(Data::AE)) => EcnFeedback::Classic,
            feedback => feedback,
        };
        self.syn_ecn = if ce { Ecn::Ce } else { data.codepoint() };
        (self.echo, self.echo_arrived) = (data.sent, now);
        self.syn_ack(now)
    }

    fn syn_ack(&mut self, now: Instant) -> Ack {
        self.stats.syn_acks += 1;
        if let Some(rule) = &mut self.adaptive {
            rule.on_syn_ack(now);
        }
        let accurate = match self.ecn && self.feedback == EcnFeedback::AccEcn {
            false => Accurate::default(),
            true if !self.config.ect_on.has_syns(self.feedback) => {
                Accurate::new(ace_of(self.syn_ecn), false, Ecn::NotEct)
            }
            true => Accurate::new(ace_of(self.syn_ecn), false, self.config.ecn_of_acks(self.feedback)),
        };
        Ack {
            ack: 0,
            echo: self.echo,
            received_at: self.echo_arrived,
            window: self.edge as u32,
            ece: self.ecn && self.feedback != EcnFeedback::AccEcn,
            accurate,
            control: Control::Syn,
            ..Ack::default()
        }
    }

    /// All data and the FIN have arrived.
    pub(super) fn close(&mut self, now: Instant) {
        if let Connection::Open = self.connection {
            self.connection = Connection::Closing(self.unanswered(now, 0));
        }
    }

    /// SYN-ACK or FIN once more.
    pub(super) fn repeat(&mut self, now: Instant) -> Option<Ack> {
        match self.connection {
            Connection::SynReceived(wait) => {
                self.connection = Connection::SynReceived(self.unanswered(now, wait.repeated + 1));
                Some(self.syn_ack(now))
            }
            Connection::Closing(wait) => {
                self.connection = Connection::Closing(self.unanswered(now, wait.repeated + 1));
                Some(self.acknowledge_apart())
            }
            Connection::Open | Connection::Closed => None,
        }
    }

    /// The connection is closed in both directions.
    #[must_use]
    pub fn closed(&self) -> bool {
        matches!(self.connection, Connection::Closed)
    }
}
