//! Parameters: RFC 9332's, Linux's, and what follows from an RTT.

use super::{BufferLimit, Share, StepThreshold};
use crate::acts::{Acts, Kind, ANY};
use crate::{Dscp, Ecn};
use sojourn_units::{Bytes, Packets, Span};

crate::choice! {
    /// The L4S queue's own marking.
    pub enum L4sAqm {
        /// RFC 9332's `laqm`: from 0 at `min_th` to 1 at `min_th + range`.
        Ramp = "ramp",
        /// Linux's: every packet beyond `step_thresh`.
        Step = "step",
    }
}

crate::choice! {
    /// Which queue is next where both hold packets.
    pub enum Scheduler {
        /// Weighted round robin by bytes; `classic_protection` is the classic queue's weight.
        Wrr = "wrr",
        /// The head that has waited longest, the classic one `tshift` less.
        TsFifo = "ts_fifo",
    }
}

crate::choice! {
    /// How a probability becomes decisions.
    pub enum Marking {
        /// RFC 9332's `recur`: evenly, each queue accumulating until a whole mark is due.
        Recurrent = "recurrent",
        /// Independent draws, as Linux.
        Random = "random",
    }
}

crate::params! {
    /// Parameters of `dualpi2`.
    pub struct Params {
        /// Size of the buffer that both queues share (RFC 9332 appendix A.1, 250 ms at the link's rate; tc-dualpi2(8)).
        limit: BufferLimit = BufferLimit::Time(Span::from_millis(250)),
        /// Memory of waiting packets, 2304 B for one of up to 1664 B, beyond which an arrival is dropped (tc-dualpi2(8)).
        memlimit: Option<Bytes> = None,
        /// Coupling factor k between p' and the L4S probability, 1 to 255 (RFC 9332 section 2.1 and appendix A.1; 2).
        coupling_factor: f64 = 2.0,
        /// Target delay of the classic queue (RFC 9332 appendix A.1; 15 ms).
        target: Span = Span::from_millis(15),
        /// Time between updates, Tupdate (RFC 9332 appendix A.1; min(target, RTT_max/3) = 15 ms).
        tupdate: Span = Span::from_millis(15),
        /// Gain in Hz: change of p' in an update for each second by which the delay exceeds target (RFC 9332 appendix A.1; 0.1 Tupdate/RTT_max^2).
        alpha: f64 = 0.15,
        /// Gain in Hz: change of p' in an update for each second by which the delay has grown since the last one (RFC 9332 appendix A.1; 0.3/RTT_max).
        beta: f64 = 3.0,
        /// Largest RTT expected: replaces target, tupdate, alpha and beta by appendix A.1's formulas (tc-dualpi2(8); 6 typical_rtt).
        max_rtt: Option<Span> = None,
        /// Typical RTT expected, which becomes the target; otherwise as max_rtt (tc-dualpi2(8); a sixth of max_rtt).
        typical_rtt: Option<Span> = None,
        /// The L4S queue's own marking.
        l4s_aqm: L4sAqm = L4sAqm::Ramp => [Acts::On(Kind::L4s)],
        /// Ramp: sojourn time up to which nothing is marked, minTh (RFC 9332 appendix A.1; 800 us).
        min_th: Span = Span::from_micros(800) => [Acts::With("l4s_aqm", &["ramp"]), Acts::On(Kind::L4s)],
        /// Ramp: range of the sojourn time above min_th in which the marking probability rises to 1 (RFC 9332 appendix A.1; 400 us).
        range: Span = Span::from_micros(400) => [Acts::With("l4s_aqm", &["ramp"]), Acts::On(Kind::L4s)],
        /// Ramp: nothing is marked unless more packets than this remain in the queue, Th_len (RFC 9332 appendix A.1; 1).
        th_len: Packets = Packets::new(1) => [Acts::With("l4s_aqm", &["ramp"]), Acts::On(Kind::L4s)],
        /// Step: sojourn time, or packets that remain in the queue, beyond which everything is marked (tc-dualpi2(8); 1 ms).
        step_thresh: StepThreshold = StepThreshold::Time(Span::from_millis(1)) => [Acts::With("l4s_aqm", &["step"]), Acts::On(Kind::L4s)],
        /// Step: only packets that found at least this many in the L4S queue on arrival are marked (tc-dualpi2(8); 0).
        min_qlen_step: Packets = Packets::ZERO => [Acts::With("l4s_aqm", &["step"]), Acts::On(Kind::L4s)],
        /// Treat every ECN-capable packet as L4S, not only ECT(1) and CE; tc's any_ect and l4s_ect (tc-dualpi2(8)).
        any_ect: bool = false => [Acts::On(Kind::EcnCapable)],
        /// Codepoint of non-queue-building traffic, which joins the L4S queue without being marked there (RFC 9956; NQB, 45).
        nqb: Option<Dscp> = Some(Dscp::NQB),
        /// A non-queue-building packet is dropped where the L4S queue holds more than the link sends in this time (RFC 9956; 10 ms at the most).
        nqb_limit: Span = Span::from_millis(10) => [Acts::With("nqb", ANY)],
        /// Drop ECN-capable packets too once p_CL reaches 1; else p_CL stays at 1 and the buffer overflows, tc's overflow (tc-dualpi2(8)).
        drop_on_overload: bool = true,
        /// Drop and mark by p' at arrival instead of departure; tc's drop_enqueue and drop_dequeue (tc-dualpi2(8)).
        drop_enqueue: bool = false,
        /// Which queue is next (RFC 9332 appendices A.1 and B.1).
        scheduler: Scheduler = Scheduler::Wrr,
        /// Round robin: guaranteed share of the classic queue (RFC 9332 appendix A.1, 1/16; tc-dualpi2(8)).
        classic_protection: Share = Share::new(1.0 / 16.0) => [Acts::With("scheduler", &["wrr"])],
        /// Time-shifted FIFO: how much longer a classic packet must have waited to be sent first (RFC 9332 appendix A.1; 50 ms).
        tshift: Span = Span::from_millis(50) => [Acts::With("scheduler", &["ts_fifo"])],
        /// How a probability becomes decisions (RFC 9332 appendix A.1).
        marking: Marking = Marking::Recurrent,
        /// Largest packet: PI2 does nothing while less than two of them wait (sch_dualpi2), and room for one in a limit in bytes or time (RFC 9332 appendix A.1).
        mtu: Bytes = Bytes::new(1514),
        /// No effect: packets are never aggregated (tc-dualpi2(8)).
        split_gso: bool = true => [Acts::Never("packets are never aggregated")],
    }
}

impl Params {
    /// Linux's defaults (sch_dualpi2).
    pub(super) fn linux() -> Self {
        Self {
            limit: BufferLimit::Packets(Packets::new(10_000)),
            tupdate: Span::from_millis(16),
            alpha: 41.0 / 256.0,
            beta: 819.0 / 256.0,
            l4s_aqm: L4sAqm::Step,
            classic_protection: Share::new(0.1),
            marking: Marking::Random,
            nqb: None,
            ..Self::default()
        }
    }

    /// Of the L4S queue's AQM: ECT(1) and CE (odd), or with `any_ect` all but not-ECT.
    pub(super) fn is_l4s(&self, ecn: Ecn) -> bool {
        if self.any_ect {
            ecn != Ecn::NotEct
        } else {
            matches!(ecn, Ecn::Ect1 | Ecn::Ce)
        }
    }

    /// Whether a packet that arrives with these fields joins the L4S queue.
    #[must_use]
    pub fn is_low_latency(&self, ecn: Ecn, dscp: u8) -> bool {
        self.is_l4s(ecn) || self.nqb.is_some_and(|nqb| nqb.get() == dscp)
    }

    /// With target, tupdate, alpha and beta derived where an RTT is given (RFC 9332 appendix A.1, lines 8 to 14).
    pub(super) fn derived(&self) -> Self {
        let (max, typical) = match (self.max_rtt, self.typical_rtt) {
            (None, None) => return self.clone(),
            (Some(max), Some(typical)) => (max, typical),
            (Some(max), None) => (max, max / 6),
            (None, Some(typical)) => (typical * 6, typical),
        };
        let tupdate = typical.min(max / 3).max(Span::from_nanos(1));
        Self {
            target: typical,
            tupdate,
            alpha: 0.1 * tupdate.seconds() / (max.seconds() * max.seconds()),
            beta: 0.3 / max.seconds(),
            ..self.clone()
        }
    }
}
