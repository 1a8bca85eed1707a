//! What acknowledgements say of marks: classic ECN, RFC 8257's echo, or Accurate ECN.
//!
//! Text: RFC 9768, sections 3.1 (negotiation), 3.2.2 (the ACE field) and 3.2.3 (the option); RFC 8257, section 3.3.
//! Modelled: the SYN asks with AE, CWR and ECE; a receiver that speaks Accurate ECN answers with how the SYN was marked, another one as
//! in RFC 3168, and then the connection has classic ECN. The ACE field has 3 bits and starts from 5. The option has two of its three
//! 24-bit counters: bytes marked, and bytes of the codepoint that is sent. Where an acknowledgement stands for 8 packets and more, ACE
//! may have wrapped: then the bytes decide, or without the option the most packets that fit (3.2.2.5.2, and appendix A.2).
//! Pure acknowledgements are ECN-capable, as Linux sends them. Marks on them are counted, and the data that follows reports them in
//! ACE. The side that gets this report has no data, so its congestion window, which it would reduce, limits nothing.
//! Deviations: no path strips the option, bleaches codepoints or zeroes ACE, so that the tests for those (3.2.2.3, 3.2.2.4, 3.2.3.2) are
//! not needed; a SYN sent again asks for no ECN; a sender without data to send reports marks on acknowledgements with its next segment,
//! not by an acknowledgement of its own (3.2.2.5.1).

use super::config::Config;
use super::core::Core;
use super::progress::Progress;
use super::recovery::Strategy;
use crate::congestion::{CongestionControl, EcnFeedback};
use crate::segment::{Ack, ACE_AT_START, ACE_MASK};
use sojourn_aqm::Ecn;
use sojourn_units::Instant;

/// ECN of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// In use: asked for, and agreed to where there is a handshake.
    pub ecn: bool,
    /// The next new segment carries CWR.
    pub announce: bool,
    /// What both sides speak.
    pub feedback: EcnFeedback,
    /// ACE of an acknowledgement that may take the short way: none where it is to be looked at.
    pub plain_ace: u8,
}

/// Counters of Accurate ECN as last seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkCounters {
    ace: u8,
    marked_bytes: u32,
    /// Arrival that the latest acknowledgement reported: an older one says nothing new.
    latest: Instant,
}

/// What an acknowledgement newly reports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reported {
    /// Packets marked.
    pub packets: u64,
    /// Their payload.
    pub bytes: u64,
}

/// No acknowledgement has it.
const NEVER: u8 = u8::MAX;

impl Marks {
    /// Of a sender that wants this feedback.
    pub fn new(config: &Config, wanted: EcnFeedback) -> Self {
        let ecn = config.ecn && !config.handshake;
        let mut marks = Self { ecn, announce: false, feedback: EcnFeedback::Classic, plain_ace: 0 };
        if ecn {
            marks.speak(wanted);
        }
        marks
    }

    fn speak(&mut self, feedback: EcnFeedback) {
        let accurate = feedback == EcnFeedback::AccEcn;
        self.feedback = feedback;
        self.plain_ace = if accurate { NEVER } else { 0 };
    }

    /// The SYN-ACK has come, to a SYN that asked for `wanted`.
    pub fn agree(&mut self, syn_ack: &Ack, wanted: EcnFeedback) {
        // Table 2 of RFC 9768: ACE says how the SYN was marked; ECE alone is a host of RFC 3168.
        let accurate = syn_ack.accurate.ace != 0 && wanted == EcnFeedback::AccEcn;
        self.ecn &= syn_ack.ece || accurate;
        self.speak(match wanted {
            _ if !self.ecn => EcnFeedback::Classic,
            EcnFeedback::AccEcn if !accurate => EcnFeedback::Classic,
            wanted => wanted,
        });
    }

    /// The counters of a connection that speaks Accurate ECN.
    pub fn counters(&self) -> Option<Box<MarkCounters>> {
        (self.feedback == EcnFeedback::AccEcn).then(Box::default)
    }
}

impl Default for MarkCounters {
    fn default() -> Self {
        Self { ace: ACE_AT_START, marked_bytes: 0, latest: Instant::ZERO }
    }
}

impl MarkCounters {
    /// The acknowledgement delivered `delivered`, of which a full segment has `mss`.
    fn newly_marked(&mut self, ack: &Ack, delivered: Reported, mss: u64) -> Reported {
        if ack.received_at < self.latest {
            return Reported::default();
        }
        self.latest = ack.received_at;
        let least = u64::from(ack.accurate.ace.wrapping_sub(self.ace) & ACE_MASK);
        self.ace = ack.accurate.ace;
        let wraps = u64::from(ACE_MASK) + 1;
        // The most that has the same three bits.
        let most = least + delivered.packets.saturating_sub(least) / wraps * wraps;
        let Some(counters) = ack.counters() else {
            return Reported { packets: most, bytes: (most * mss).min(delivered.bytes) };
        };
        let bytes = u64::from(counters.marked.wrapping_sub(self.marked_bytes) & Ack::COUNTER_MASK);
        self.marked_bytes = counters.marked;
        // The fewest packets that hold the bytes.
        let more = bytes.saturating_sub(least * mss).div_ceil(wraps * mss) * wraps;
        Reported { packets: (least + more).min(most), bytes }
    }
}

impl<R: Strategy> Core<R> {
    /// What the acknowledgement newly says of marks.
    #[inline]
    pub(super) fn update_marks(&mut self, ack: &Ack, progress: &Progress) -> Reported {
        if self.marks.feedback == EcnFeedback::Classic {
            return Reported::default();
        }
        let packets = progress.acked_packets + progress.sacked_packets;
        let delivered = Reported { packets, bytes: progress.delivered() };
        match &mut self.ecn_counters {
            Some(counters) => {
                self.stats.marked_acks += u64::from(ack.accurate.ecn() == Ecn::Ce);
                counters.newly_marked(ack, delivered, self.mss)
            }
            None if ack.ece => delivered,
            None => Reported::default(),
        }
    }

    /// The ACE field of what is sent; 0 where Accurate ECN is not spoken.
    pub(super) fn ace(&self) -> u8 {
        let counted = (u64::from(ACE_AT_START) + self.stats.marked_acks) as u8 & ACE_MASK;
        if self.marks.feedback == EcnFeedback::AccEcn {
            counted
        } else {
            0
        }
    }

    /// The feedback that the SYN asks for.
    pub(super) fn wanted_feedback(&self) -> EcnFeedback {
        self.config.ecn_feedback.of(self.congestion.ecn_feedback())
    }

    /// The connection is open: both sides know what they speak.
    pub(super) fn agree_on_ecn(&mut self, syn_ack: &Ack) {
        let wanted = self.wanted_feedback();
        self.marks.agree(syn_ack, wanted);
        self.ecn_counters = self.marks.counters();
        self.congestion.on_feedback(self.marks.feedback);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Accurate, Counters};

    const MSS: u64 = 1000;

    fn with_ace(ace: u8) -> Ack {
        Ack { accurate: Accurate::new(ace, false, Ecn::NotEct), ..Ack::default() }
    }

    fn marks(feedback: EcnFeedback) -> Marks {
        Marks::new(&Config { ecn: true, handshake: false, ..Config::default() }, feedback)
    }

    /// Acknowledges `n` segments, with this many packets and bytes marked since the start; without an option for no bytes.
    fn take(marks: &mut MarkCounters, n: u64, packets: u64, bytes: Option<u64>) -> (u64, u64) {
        let mut ack = with_ace((u64::from(ACE_AT_START) + packets) as u8 & ACE_MASK);
        if let Some(bytes) = bytes {
            ack.set_counters(Counters { marked: bytes as u32 & Ack::COUNTER_MASK, unmarked: 1 });
        }
        let reported = marks.newly_marked(&ack, Reported { packets: n, bytes: n * MSS }, MSS);
        (reported.packets, reported.bytes)
    }

    #[test]
    fn three_bits_count_up_to_seven_packets() {
        let mut marks = MarkCounters::default();
        // 5, then 5 + 2 = 7, 7 + 7 = 14 which is 6, and no more.
        assert_eq!(take(&mut marks, 2, 2, None), (2, 2000));
        assert_eq!(take(&mut marks, 7, 9, None), (7, 7000));
        assert_eq!(take(&mut marks, 7, 9, None), (0, 0));
    }

    #[test]
    fn without_the_option_a_long_acknowledgement_is_taken_for_the_worst() {
        // 3 of 20 packets and ACE 3 on: 3, 11 or 19 were marked. RFC 9768, appendix A.2.1: 20 - (20 - 3) mod 8 = 19.
        assert_eq!(take(&mut MarkCounters::default(), 20, 3, None), (19, 19_000));
        // The bytes tell: 3000, or 11 packets of 1000 B.
        assert_eq!(take(&mut MarkCounters::default(), 20, 3, Some(3000)), (3, 3000));
        assert_eq!(take(&mut MarkCounters::default(), 20, 11, Some(11_000)), (11, 11_000));
        // 8 of 8: ACE is where it was.
        assert_eq!(take(&mut MarkCounters::default(), 8, 8, Some(8000)), (8, 8000));
        assert_eq!(take(&mut MarkCounters::default(), 8, 0, Some(0)), (0, 0));
    }

    #[test]
    fn byte_counters_wrap_at_24_bits() {
        let mut marks = MarkCounters { marked_bytes: (1 << 24) - 500, ..MarkCounters::default() };
        assert_eq!(take(&mut marks, 2, 1, Some(500)), (1, 1000));
    }

    #[test]
    fn an_old_acknowledgement_says_nothing() {
        let mut marks = MarkCounters::default();
        let late = Instant::ZERO + sojourn_units::Span::from_millis(2);
        let ack = |ace, received_at| Ack { received_at, ..with_ace(ace) };
        let one = Reported { packets: 1, bytes: MSS };
        assert_eq!(marks.newly_marked(&ack(6, late), one, MSS).packets, 1);
        assert_eq!(marks.newly_marked(&ack(5, Instant::ZERO), one, MSS).packets, 0);
        assert_eq!(marks.newly_marked(&ack(7, late), one, MSS).packets, 1);
    }

    #[test]
    fn what_both_speak_is_what_the_answer_says() {
        use EcnFeedback::{AccEcn, Accurate, Classic};
        let agreed = |wanted, ece, ace| {
            let mut marks = marks(wanted);
            marks.agree(&Ack { ece, ..with_ace(ace) }, wanted);
            (marks.ecn, marks.feedback)
        };
        // RFC 9768, table 2: 010 to a SYN that was not ECN-capable; 001 from a host of RFC 3168; 000 from one without ECN.
        assert_eq!(agreed(AccEcn, false, 0b010), (true, AccEcn));
        assert_eq!(agreed(AccEcn, true, 0), (true, Classic));
        assert_eq!(agreed(AccEcn, false, 0), (false, Classic));
        // RFC 8257 negotiates nothing of its own.
        assert_eq!(agreed(Accurate, true, 0), (true, Accurate));
        assert_eq!(agreed(Accurate, false, 0), (false, Classic));
        assert_eq!(agreed(Classic, true, 0), (true, Classic));
    }
}
