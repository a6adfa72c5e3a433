//! The states of a frame with their tokens.

use crate::support::ids::{NONE, number};

/// A map from states to tokens that keeps the order in which states were reached. It does not order
/// anything by the numbers of states, which depend on other users of a graph.
#[derive(Debug, Clone)]
pub(super) struct ActiveStates {
    pub(super) states: Vec<u32>,
    pub(super) tokens: Vec<u32>,
    /// Open addressing: positions in the lists, or [`NONE`]. At most half of it is in use.
    table: Vec<u32>,
}

impl ActiveStates {
    pub(super) fn new() -> Self {
        const FIRST_SIZE: usize = 1 << 11;
        Self { states: Vec::new(), tokens: Vec::new(), table: vec![NONE; FIRST_SIZE] }
    }

    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.tokens.clear();
        self.table.fill(NONE);
    }

    /// Returns the states and their tokens, in the order in which they were added.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.states.iter().copied().zip(self.tokens.iter().copied())
    }

    /// Returns the place of a state in the table, or the free place where it belongs.
    #[inline(always)]
    fn place(&self, state: u32) -> usize {
        // Fibonacci hashing: neighbouring numbers, which are frequent, get different places.
        const FACTOR: u32 = 0x9E37_79B9;
        let mask = self.table.len() - 1;
        let shift = self.table.len().trailing_zeros();
        let mut place = (state.wrapping_mul(FACTOR) >> (u32::BITS - shift)) as usize & mask;
        loop {
            let at = self.table[place];
            if at == NONE || self.states[at as usize] == state {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    /// Returns the token of a state.
    #[inline]
    pub(super) fn get(&self, state: u32) -> Option<u32> {
        match self.table[self.place(state)] {
            NONE => None,
            at => Some(self.tokens[at as usize]),
        }
    }

    /// Adds a state that is not there yet.
    #[inline]
    pub(super) fn insert(&mut self, state: u32, token: u32) {
        if 2 * (self.states.len() + 1) > self.table.len() {
            self.grow();
        }
        let place = self.place(state);
        self.table[place] = number(self.states.len());
        self.states.push(state);
        self.tokens.push(token);
    }

    #[cold]
    fn grow(&mut self) {
        let size = 2 * self.table.len();
        self.table.clear();
        self.table.resize(size, NONE);
        for (at, state) in (0..).zip(self.states.clone()) {
            let place = self.place(state);
            self.table[place] = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map_in_the_order_of_insertion(states in prop::collection::vec(0..50_000_u32, 0..6000)) {
            let (mut map, mut model, mut order) = (ActiveStates::new(), HashMap::new(), Vec::new());
            for (token, &state) in (0..).zip(&states) {
                prop_assert_eq!(map.get(state), model.get(&state).copied());
                if model.insert(state, token).is_none() {
                    map.insert(state, token);
                    order.push(state);
                } else {
                    model.insert(state, map.get(state).unwrap());
                }
            }
            prop_assert_eq!(&map.states, &order);
            map.clear();
            prop_assert!(order.iter().all(|&state| map.get(state).is_none()));
        }
    }
}
