//! Parameters of SFQ.

use crate::acts::{Acts, ANY, ON};
use sojourn_units::{Bytes, Packets, Probability, Span};

crate::params! {
    /// Parameters of `sfq`.
    pub struct Params {
        /// Packets waiting in all queues together above which the longest loses one (tc-sfq(8)).
        limit: Packets = Packets::new(127),
        /// Most packets in one queue (tc-sfq(8)).
        depth: Packets = Packets::new(127),
        /// Most queues at one time, 1 to 65536 (tc-sfq(8)).
        flows: u32 = 127,
        /// Number of buckets that flows are hashed into, 1 to 65536 (tc-sfq(8)).
        divisor: u32 = 1024,
        /// Bytes a queue may send in a round (tc-sfq(8): the device's MTU).
        quantum: Bytes = Bytes::new(1514),
        /// Time between changes of the hash; 0 is never (tc-sfq(8)).
        perturb: Span = Span::ZERO,
        /// Queues lose their first packet instead of their last (tc-sfq(8)).
        headdrop: bool = false,
        /// Average bytes of a queue from which RED may drop or mark; "none": no RED (tc-sfq(8)).
        min: Option<Bytes> = None,
        /// Average bytes of a queue from which RED drops or marks every arrival; "none": no RED (tc-sfq(8)).
        max: Option<Bytes> = None,
        /// RED's drop probability when the average reaches max; tc's "probability" (tc-sfq(8)).
        max_p: Probability = Probability::clamped(0.02) => [Acts::With("max", ANY)],
        /// Weight of one arrival in RED's average (2^-6: what tc computes for the example in tc-sfq(8)).
        w: Probability = Probability::clamped(1.0 / 64.0) => [Acts::With("max", ANY)],
        /// RED marks ECN-capable packets instead of dropping them (tc-sfq(8)).
        ecn: bool = false => [Acts::With("max", ANY)],
        /// RED drops, and does not mark, from max on (tc-sfq(8)).
        harddrop: bool = false => [Acts::With("ecn", ON)],
    }
}
