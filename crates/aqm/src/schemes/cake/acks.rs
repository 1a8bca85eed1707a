//! The ACK filter: which waiting acknowledgement a new one makes superfluous.
//!
//! The new packet at the tail is a pure ACK; candidates are earlier pure ACKs of the same flow with a lower number. The first
//! of two candidates goes, so that one is always left behind the head. `aggressive` also drops an only candidate if it waits
//! directly before the new one and both are plain.
//! Reading: [`AckFields::precious`](crate::AckFields::precious) says SACK, ECE or CWR in one flag. Such a packet is never a
//! candidate, and those before it are none any more (Linux: a change of ECE or CWR says something that must not be lost); Linux
//! also drops a SACK that a later one covers. Linux lets a data packet trigger too; here only a pure ACK does.

use crate::queues::pool::{Chain, Pool};

/// The place of the packet that the last one of `chain` makes superfluous.
pub(super) fn superfluous(pool: &Pool, chain: &Chain, aggressive: bool) -> Option<u32> {
    let new = pool.last(chain).filter(|packet| packet.ack.pure)?;
    let mut candidate = None;
    // The packet directly before the new one is the candidate.
    let mut adjacent = false;
    for (place, packet) in pool.iter(chain).take(chain.len().saturating_sub(1)) {
        adjacent = false;
        if packet.flow != new.flow || !packet.ack.pure {
            continue;
        }
        if packet.ack.precious {
            candidate = None;
            continue;
        }
        // Sequence numbers wrap: lower means less than half the circle behind.
        let ahead = new.ack.number.wrapping_sub(packet.ack.number);
        if ahead == 0 || ahead > u32::MAX / 2 {
            continue;
        }
        if candidate.is_some() {
            return candidate;
        }
        candidate = Some(place);
        adjacent = true;
    }
    candidate.filter(|_| aggressive && adjacent && !new.ack.precious)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AckFields, Packet};

    /// `(flow, number)`; a negative number is precious, `None` is data. Gives the position of what goes.
    fn goes(packets: &[(u32, Option<i64>)], aggressive: bool) -> Option<usize> {
        let (mut pool, mut chain) = (Pool::default(), Chain::default());
        for (flow, ack) in packets {
            let number = ack.unwrap_or(0);
            let ack = AckFields::of_segment(ack.is_some(), number.unsigned_abs() as u32, number < 0, false);
            pool.push(&mut chain, Packet { flow: *flow, ack, ..Packet::without_signals(0) });
        }
        let place = superfluous(&pool, &chain, aggressive)?;
        let position = pool.iter(&chain).position(|(at, _)| at == place);
        position
    }

    #[test]
    fn the_first_of_two_goes() {
        assert_eq!(goes(&[(1, Some(10)), (1, Some(20)), (1, Some(30))], false), Some(0));
        // One is not enough, unless aggressive and adjacent.
        assert_eq!(goes(&[(1, Some(10)), (1, Some(30))], false), None);
        assert_eq!(goes(&[(1, Some(10)), (1, Some(30))], true), Some(0));
        assert_eq!(goes(&[(1, Some(10)), (2, Some(5)), (1, Some(30))], true), None);
        assert_eq!(goes(&[(1, Some(10)), (1, None), (1, Some(30))], true), None);
        assert_eq!(goes(&[(1, Some(30))], true), None);
    }

    #[test]
    fn only_lower_numbers_of_the_same_flow() {
        assert_eq!(goes(&[(2, Some(10)), (1, Some(20)), (1, Some(21)), (1, Some(30))], false), Some(1));
        assert_eq!(goes(&[(1, Some(30)), (1, Some(20)), (1, Some(30))], true), Some(1));
        assert_eq!(goes(&[(1, Some(30)), (1, Some(31)), (1, Some(30))], true), None);
        // Across the wrap of 32 bits.
        assert_eq!(goes(&[(1, Some(0xffff_fff0)), (1, Some(0xffff_fff8)), (1, Some(4))], false), Some(0));
    }

    #[test]
    fn data_and_precious_packets_stay() {
        assert_eq!(goes(&[(1, None), (1, Some(20)), (1, Some(30)), (1, Some(40))], false), Some(1));
        // What a precious packet follows is kept as well.
        assert_eq!(goes(&[(1, Some(10)), (1, Some(-20)), (1, Some(30)), (1, Some(40))], false), None);
        assert_eq!(goes(&[(1, Some(10)), (1, Some(-20)), (1, Some(30)), (1, Some(40)), (1, Some(50))], false), Some(2));
        // A precious one may follow two, but not make an only one go.
        assert_eq!(goes(&[(1, Some(10)), (1, Some(20)), (1, Some(-30))], false), Some(0));
        assert_eq!(goes(&[(1, Some(10)), (1, Some(-30))], true), None);
        // Data triggers nothing.
        assert_eq!(goes(&[(1, Some(10)), (1, Some(20)), (1, None)], true), None);
    }
}
