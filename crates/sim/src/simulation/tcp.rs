//! A flow's TCP at its two hosts, and what is counted of it.

use super::net::Egress;
use sojourn_transport::{Receiver, Sender};
use sojourn_units::Instant;

/// A flow's TCP, and what its two hosts need besides. In the order of use: what each packet touches comes first, and so it does
/// in sender and receiver.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Tcp {
    /// Payload at whose arrival something happens: the first byte, the last of a transfer, the answer to a self probe, or what
    /// the client of a connection waits for.
    pub mark: u64,
    /// When the pending event of each timer fires; a timer that moved later is looked at again then.
    pub acknowledge_at: Instant,
    pub retransmit_at: Instant,
    pub pace_at: Instant,
    /// What the application of a finite transfer has yet to write.
    pub unwritten: u64,
    /// Of data, and of acknowledgements.
    pub way: Egress,
    pub ack_way: Egress,
    /// Segments carry no timestamps.
    pub unstamped: bool,
    /// It is a client's, whose application does not close it.
    pub stays_open: bool,
    pub receiver: Receiver,
    pub sender: Sender,
    /// Bytes of a finite transfer; `u64::MAX` of another flow.
    pub transfer: u64,
}

/// TCP's own counters that are measured as differences.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TcpCounts {
    pub sent: u64,
    pub rtt_ns: u128,
    pub rtt_samples: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub marked_acks: u64,
    pub delivered: u64,
}

impl TcpCounts {
    pub fn of(tcp: &Tcp) -> Self {
        let stats = tcp.sender.stats();
        Self {
            sent: stats.segments_sent,
            rtt_ns: u128::from(stats.rtt_sum.nanos()),
            rtt_samples: stats.rtt_samples,
            retransmitted: stats.segments_retransmitted,
            timeouts: stats.timeouts,
            marked_acks: stats.marked_acks,
            delivered: tcp.receiver.delivered().get(),
        }
    }

    pub fn plus(&self, other: &Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            rtt_ns: self.rtt_ns + other.rtt_ns,
            rtt_samples: self.rtt_samples + other.rtt_samples,
            retransmitted: self.retransmitted + other.retransmitted,
            timeouts: self.timeouts + other.timeouts,
            marked_acks: self.marked_acks + other.marked_acks,
            delivered: self.delivered + other.delivered,
        }
    }
}

/// Where a flow stands now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stands {
    /// It has begun and has not ended.
    pub lasts: bool,
    /// Its TCP has a connection, if it has a TCP.
    pub has_sender: bool,
}
