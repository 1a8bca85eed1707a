use alloc::vec::Vec;

/// The fewest slots; a power of two.
const LEAST: usize = 16;
/// The most slots that are made in advance; beyond them the table doubles as it fills.
const MOST: usize = 2048;

/// What an algorithm remembers of each flow that it knows, found in constant time.
///
/// Open addressing with linear probing, never more than half full: 1.5 slots are looked at on average for a known flow,
/// 2.5 for an unknown one, and at most one more than there are flows. Removal closes the gap, so nothing ages.
/// The place of a flow depends on the flows alone, and no loop runs over places except [`retain`](Self::retain).
#[derive(Clone, Debug)]
pub(crate) struct FlowTable<V> {
    /// A power of two of them.
    slots: Vec<Option<(u32, V)>>,
    len: usize,
}

impl<V> FlowTable<V> {
    /// Empty, with room for `flows`, if that is not many.
    pub(crate) fn with_room_for(flows: usize) -> Self {
        let slots = flows.clamp(LEAST / 2, MOST / 2).next_power_of_two() * 2;
        Self { slots: empty(slots), len: 0 }
    }

    /// Flows known.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    /// Where the search for `flow` begins: the upper bits of a product with 2^32 over the golden ratio.
    fn home(&self, flow: u32) -> usize {
        ((u64::from(flow.wrapping_mul(0x9e37_79b9)) * self.slots.len() as u64) >> 32) as usize
    }

    /// The slot of `flow`, or the free one where it would go.
    fn find(&self, flow: u32) -> usize {
        let mut at = self.home(flow);
        while self.slots[at].as_ref().is_some_and(|(other, _)| *other != flow) {
            at = (at + 1) & self.mask();
        }
        at
    }

    pub(crate) fn get(&self, flow: u32) -> Option<&V> {
        match &self.slots[self.home(flow)] {
            Some((other, value)) if *other == flow => Some(value),
            Some(_) => self.get_further(flow),
            None => None,
        }
    }

    /// The same for a flow that is not where its search begins.
    #[inline(never)]
    fn get_further(&self, flow: u32) -> Option<&V> {
        self.slots[self.find(flow)].as_ref().map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, flow: u32) -> Option<&mut V> {
        let at = self.find(flow);
        self.slots[at].as_mut().map(|(_, value)| value)
    }

    /// The value of `flow`, which becomes known if it was not.
    pub(crate) fn get_or(&mut self, flow: u32, new: V) -> &mut V {
        let mut at = self.find(flow);
        if self.slots[at].is_none() {
            if 2 * (self.len + 1) > self.slots.len() {
                self.double();
                at = self.find(flow);
            }
            self.len += 1;
        }
        &mut self.slots[at].get_or_insert((flow, new)).1
    }

    /// Changes the value of `flow`, if it is known, and forgets it unless `keep` says so.
    pub(crate) fn update(&mut self, flow: u32, keep: impl FnOnce(&mut V) -> bool) {
        let at = self.find(flow);
        if self.slots[at].as_mut().is_some_and(|(_, value)| !keep(value)) {
            self.free(at);
        }
    }

    /// Forgets every flow for which `keep` is false; one look at every slot.
    pub(crate) fn retain(&mut self, keep: impl Fn(&V) -> bool) {
        for at in 0..self.slots.len() {
            // What moves up into a freed slot has not been looked at, or is looked at again.
            while self.slots[at].as_ref().is_some_and(|(_, value)| !keep(value)) {
                self.free(at);
            }
        }
    }

    /// Every value, in no order that may matter.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.slots.iter().flatten().map(|(_, value)| value)
    }

    /// As [`values`](Self::values), to be changed.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.slots.iter_mut().flatten().map(|(_, value)| value)
    }

    /// Empties a slot and moves up those behind it that passed over it.
    fn free(&mut self, mut hole: usize) {
        let mask = self.mask();
        self.slots[hole] = None;
        self.len -= 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let Some((flow, _)) = &self.slots[at] else { return };
            let searched = at.wrapping_sub(self.home(*flow)) & mask;
            if searched >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[at].take();
                hole = at;
            }
        }
    }

    fn double(&mut self) {
        let doubled = empty(2 * self.slots.len());
        for (flow, value) in core::mem::replace(&mut self.slots, doubled).into_iter().flatten() {
            let at = self.find(flow);
            self.slots[at] = Some((flow, value));
        }
    }
}

fn empty<V>(slots: usize) -> Vec<Option<(u32, V)>> {
    let mut vector = Vec::new();
    vector.resize_with(slots, || None);
    vector
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::Stream;
    use crate::Random;
    use std::collections::BTreeMap;

    #[test]
    fn a_random_walk_agrees_with_a_map() {
        for flows in [3, 12, 40, 3000] {
            let (mut table, mut map) = (FlowTable::with_room_for(1), BTreeMap::new());
            let mut script = Stream::new(flows);
            for step in 0..if cfg!(miri) { 300_u64 } else { 20_000 } {
                // Few values of the upper bits, so that searches collide and wrap round the end.
                let flow = (script.below(flows) as u32).wrapping_mul(0x0100_0193) | 0xf000_0000;
                match script.below(5) {
                    0 | 1 => {
                        let (value, expected) = (table.get_or(flow, step), map.entry(flow).or_insert(step));
                        assert_eq!(value, expected);
                        (*value, *expected) = (*value + 1, *expected + 1);
                    }
                    2 | 3 => {
                        table.update(flow, |value| *value % 3 == 0);
                        if map.get(&flow).is_some_and(|value| value % 3 != 0) {
                            map.remove(&flow);
                        }
                    }
                    _ if step % 50 == 0 => {
                        table.retain(|value| value % 2 == 0);
                        map.retain(|_, value| *value % 2 == 0);
                    }
                    _ => {}
                }
                assert_eq!((table.get(flow), table.len()), (map.get(&flow), map.len()), "step {step}");
            }
            assert!(map.iter().all(|(flow, value)| table.get(*flow) == Some(value)));
            assert_eq!(table.values().sum::<u64>(), map.values().sum::<u64>());
            assert!(2 * table.len() <= table.slots.len());
        }
    }

    #[test]
    fn room_in_advance_is_a_power_of_two_within_bounds() {
        for (flows, slots) in [(0, 16), (8, 16), (9, 32), (1000, 2048), (1 << 40, 2048)] {
            assert_eq!(FlowTable::<u8>::with_room_for(flows).slots.len(), slots, "{flows}");
        }
    }
}
