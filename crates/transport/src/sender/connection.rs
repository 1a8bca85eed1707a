//! What a sender sends besides data: SYN, bare acknowledgements, FIN, probes of a closed window.
//!
//! Texts: RFC 9293, sections 3.5, 3.6 and 3.8.6.1; RFC 3168, section 6.1.1; RFC 6298, section 5.7.
//! As Linux: the RTT of the handshake is the first sample of the timer; a SYN sent again no longer asks for ECN
//! (`tcp_ecn_fallback`); a SYN is ECN-capable only with `ect_on` `all` (Linux: also where DCTCP asks for it); a FIN without data does not wait for
//! the congestion window; a probe is a segment without payload just before the window.
//! Deviations: a SYN is sent again until it is answered, after twice the time each (Linux gives up after 6, and since 6.5
//! sends the first four at equal spacing); so are probes (RFC 9293; Linux gives up after 15).

use super::core::Core;
use super::recovery::Strategy;
use super::Ect;
use crate::congestion::{CongestionControl, EcnFeedback};
use crate::segment::{ace_of, Ack, Control, Data};
use sojourn_aqm::Ecn;
use sojourn_units::{Bytes, Instant};

/// What comes before the next byte of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Stream,
    /// The SYN is to be sent.
    Syn,
    /// It has been, and is not answered.
    SynSent,
    /// A SYN-ACK or the receiver's FIN is to be acknowledged.
    Acknowledge,
    /// The closed window is to be probed.
    Probe,
    /// The tail of what was sent is to be probed.
    TailProbe,
}

impl<R: Strategy> Core<R> {
    /// The segment that is due before the stream goes on.
    #[inline(never)]
    pub(super) fn poll_step(&mut self, now: Instant) -> Option<Data> {
        match self.step {
            Step::Stream | Step::SynSent => None,
            Step::Syn => Some(self.send_syn(now)),
            Step::Acknowledge => {
                self.step = Step::Stream;
                Some(Data { seq: self.board.next, sent: now, len: 0, flags: self.bare_flags() })
            }
            Step::TailProbe => {
                self.step = Step::Stream;
                self.send_tail_probe(now)
            }
            Step::Probe => {
                self.step = Step::Stream;
                Some(self.send_probe(now))
            }
        }
    }

    fn send_syn(&mut self, now: Instant) -> Data {
        self.step = Step::SynSent;
        let again = self.stats.syns > 0;
        // What goes unanswered may be lost to a host or a middlebox that dislikes ECN.
        self.marks.ecn = self.config.ecn && !again;
        self.stats.syns += 1;
        self.stats.first_sent.get_or_insert(now);
        self.usage.last_sent = now;
        self.restart_timer(now);
        let repeated = if again { Data::RETRANSMIT } else { 0 };
        let asks = match (self.marks.ecn, self.wanted_feedback()) {
            (false, _) => 0,
            (true, EcnFeedback::AccEcn) if self.config.ect_on.has_syns(EcnFeedback::AccEcn) => {
                Data::CWR | Data::AE | self.ect_of_syn()
            }
            (true, EcnFeedback::AccEcn) => Data::CWR | Data::AE,
            (true, _) => Data::CWR,
        };
        Data { seq: 0, sent: now, len: 0, flags: Data::SYN | repeated | asks }
    }

    /// The codepoint of a SYN, before either side knows what the other speaks.
    fn ect_of_syn(&self) -> u8 {
        match self.config.ect {
            Ect::Zero => Data::ECT,
            Ect::One => Data::ECT | Data::ECT_1,
        }
    }

    /// The timer with nothing in flight: a SYN or a probe has not been answered.
    pub(super) fn on_idle_timer(&mut self, now: Instant) {
        self.timer.deadline = Instant::NEVER;
        if self.step == Step::SynSent {
            self.stats.timeouts += 1;
            self.timer.backoff += 1;
            self.step = Step::Syn;
        } else if self.blocked() {
            self.peer.probes += 1;
            self.step = Step::Probe;
            self.timer.deadline = now + self.rtt.rto(self.peer.probes);
        }
    }

    /// A SYN-ACK or a FIN; true when there is no more to it.
    #[inline(never)]
    pub(super) fn on_control(&mut self, now: Instant, ack: &Ack) -> bool {
        if self.step == Step::SynSent {
            if ack.control == Control::Syn {
                self.establish(now, ack);
            }
            return true;
        }
        if self.step != Step::Syn {
            self.step = Step::Acknowledge;
        } else if ack.control == Control::Syn {
            // The SYN was about to be sent again.
            self.establish(now, ack);
        }
        ack.control == Control::Syn
    }

    fn establish(&mut self, now: Instant, ack: &Ack) {
        self.step = Step::Acknowledge;
        self.timer.deadline = Instant::NEVER;
        self.timer.backoff = 0;
        self.peer.edge = u64::from(ack.window);
        self.peer.widest = u64::from(ack.window);
        self.agree_on_ecn(ack);
        let again = (self.stats.syns - 1) as u32;
        // Karn: without timestamps, which SYN was answered is unknown.
        let rtt = (again == 0 || self.config.timestamps).then(|| now.since(ack.echo));
        if let Some(rtt) = rtt {
            self.rtt.first(rtt);
        }
        self.rtt.after_handshake(again);
        // A SYN that was marked is a signal of congestion (draft-ietf-tcpm-generalized-ecn, 3.2.1.3).
        let is_marked = ack.accurate.ace == ace_of(Ecn::Ce) && self.marks.feedback == EcnFeedback::AccEcn;
        if is_marked || again > self.rule().tolerated_syns() {
            self.congestion.set_cwnd(Bytes::new(self.mss));
        }
        self.congestion.on_established(now, rtt);
        self.cwnd = self.congestion.cwnd().get();
        self.set_pacing();
    }

    /// All data has been sent: a FIN without data goes out whatever the window.
    pub(super) fn poll_end(&mut self, now: Instant) -> Option<Data> {
        let due = self.source.closed && self.config.handshake && self.board.next == self.source.written;
        if !due {
            return self.poll_idle(now);
        }
        if self.peer.edge <= self.board.next {
            if self.board.flight() == 0 {
                self.persist(now);
            }
            return self.stop(now, false);
        }
        Some(self.send_apart(now, self.board.next, 0))
    }

    /// There is something to send, nothing in flight, and no room for it at the receiver.
    fn blocked(&self) -> bool {
        let seq = self.board.next;
        let end = if self.source.closed { self.end() } else { self.data_end() };
        if end <= seq || self.board.flight() > 0 {
            return false;
        }
        let room = self.peer.edge.saturating_sub(seq);
        room < (end - seq).min(self.mss) && (room == 0 || 2 * room < self.peer.widest)
    }

    /// The window is closed: it will be probed.
    pub(super) fn persist(&mut self, now: Instant) {
        if self.timer.deadline == Instant::NEVER {
            self.timer.deadline = now + self.rtt.rto(self.peer.probes);
        }
    }

    /// RFC 9293's override timeout: what room there is gets used; without any, the probe is empty and asks for an answer.
    fn send_probe(&mut self, now: Instant) -> Data {
        self.stats.window_probes += 1;
        let seq = self.board.next;
        let room = self.peer.edge.saturating_sub(seq).min(self.data_end().saturating_sub(seq));
        if room > 0 {
            return self.send_apart(now, seq, room.min(self.mss));
        }
        Data { seq: seq.saturating_sub(1), sent: now, len: 0, flags: self.bare_flags() }
    }

    /// An answer has moved the window's edge so that sending goes on.
    pub(super) fn reopen(&mut self) {
        if self.peer.probes > 0 && !self.blocked() {
            self.peer.probes = 0;
            if self.board.flight() == 0 {
                self.timer.deadline = Instant::NEVER;
            }
        }
    }
}
