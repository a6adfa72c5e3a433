//! Properties of an FSA that one look at each arc finds.

use std::fmt;
use std::ops::BitAnd;

use kaldera_base::simd::{Kernel, Simd, dispatch};

use crate::core::arc::{Arc, EPSILON};
use crate::core::view::FsaView;

/// A set of properties as k2's bit field; for several FSAs, the properties that all have.
///
/// ```
/// use fsa::{Arc, Fsa, Properties};
///
/// let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)])?;
/// assert!(
///     fsa.properties().contains(Properties::TOP_SORTED_AND_ACYCLIC | Properties::EPSILON_FREE)
/// );
/// assert_eq!(fsa.properties().bits(), 511);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Properties(u32);

impl Properties {
    /// Start, final state and labels are as they must be. Always there: an invalid FSA cannot be
    /// made.
    pub const VALID: Self = Self(1);
    /// There are arcs.
    pub const NONEMPTY: Self = Self(2);
    /// No arc goes back; it may enter the state that it leaves.
    pub const TOP_SORTED: Self = Self(4);
    /// All arcs go to later states.
    pub const TOP_SORTED_AND_ACYCLIC: Self = Self(8);
    /// The arcs of each state are in the order of [`Arc::sort_key`].
    pub const ARC_SORTED: Self = Self(16);
    /// The labels of each state's arcs rise strictly.
    pub const ARC_SORTED_AND_DETERMINISTIC: Self = Self(32);
    /// No arc has label 0.
    pub const EPSILON_FREE: Self = Self(64);
    /// Each state but the start is entered from another state.
    pub const MAYBE_ACCESSIBLE: Self = Self(128);
    /// Each state but the final one is left for another state.
    pub const MAYBE_COACCESSIBLE: Self = Self(256);
    /// All properties.
    pub const ALL: Self = Self(511);

    const NAMES: [&'static str; 9] = [
        "Valid",
        "Nonempty",
        "TopSorted",
        "TopSortedAndAcyclic",
        "ArcSorted",
        "ArcSortedAndDeterministic",
        "EpsilonFree",
        "MaybeAccessible",
        "MaybeCoaccessible",
    ];

    /// Returns the bits, as k2 numbers them.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns `true` if all of `others` hold.
    #[inline]
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Returns each property of the set with k2's name, from the lowest bit.
    ///
    /// ```
    /// use fsa::Properties;
    ///
    /// let names: Vec<_> = (Properties::VALID | Properties::EPSILON_FREE).iter_names().collect();
    /// assert_eq!(
    ///     names,
    ///     [("Valid", Properties::VALID), ("EpsilonFree", Properties::EPSILON_FREE)]
    /// );
    /// ```
    pub fn iter_names(self) -> impl Iterator<Item = (&'static str, Self)> {
        let named = Self::NAMES.into_iter().enumerate().map(|(bit, name)| (name, Self(1 << bit)));
        named.filter(move |&(_, property)| self.contains(property))
    }

    /// Finds the properties of a valid FSA; looks at each arc once. O(states + arcs).
    #[doc(alias = "GetFsaBasicProperties")]
    pub(crate) fn new(fsa: FsaView<'_>) -> Self {
        let mut all = Self::ALL;
        if fsa.arcs().is_empty() {
            all = all.without(Self::NONEMPTY);
        }
        if fsa.num_states() == 0 {
            return all;
        }
        let Order { back, loops, unsorted, ambiguous, epsilon } = dispatch(OrderOf(fsa.arcs()));
        let mut entered = vec![false; fsa.num_states()];
        fsa.arcs().iter().for_each(|arc| entered[arc.states().1] = true);
        let (_, left) = fsa.splits().split_last().expect("states");
        let mut dead_end = left.windows(2).any(|row| row[0] == row[1]);
        if loops {
            // Loops do not count here.
            entered.fill(false);
            dead_end = false;
            for state in 0..fsa.num_states() {
                let mut left = state + 1 == fsa.num_states();
                for arc in fsa.arcs_of(state).iter().filter(|arc| arc.dest_state != arc.src_state) {
                    entered[arc.states().1] = true;
                    left = true;
                }
                dead_end |= !left;
            }
        }
        for (gone, property) in [
            (back, Self::TOP_SORTED | Self::TOP_SORTED_AND_ACYCLIC),
            (loops, Self::TOP_SORTED_AND_ACYCLIC),
            (unsorted, Self::ARC_SORTED | Self::ARC_SORTED_AND_DETERMINISTIC),
            (ambiguous, Self::ARC_SORTED_AND_DETERMINISTIC),
            (epsilon, Self::EPSILON_FREE),
            (entered[1..].contains(&false), Self::MAYBE_ACCESSIBLE),
            (dead_end, Self::MAYBE_COACCESSIBLE),
        ] {
            if gone {
                all = all.without(property);
            }
        }
        all
    }
}

/// Findings about single arcs and neighboring arcs of a state, over all arcs.
#[derive(Debug, Default)]
struct Order {
    back: bool,
    loops: bool,
    unsorted: bool,
    ambiguous: bool,
    epsilon: bool,
}

/// Kernel that finds the [`Order`] of all arcs of a valid FSA; many are compared at a time.
struct OrderOf<'a>(&'a [Arc]);

impl Kernel for OrderOf<'_> {
    type Output = Order;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Order {
        let [.., last] = self.0 else { return Order::default() };
        let [mut back, mut loops, mut unsorted, mut ambiguous, mut epsilon] = [false; 5];
        let mut look = |arc: &Arc, next: &Arc| {
            let (label, next_label) = (arc.label.cast_unsigned(), next.label.cast_unsigned());
            let same_state = arc.src_state == next.src_state;
            let key_falls = (label > next_label) | ((label == next_label) & (arc.dest_state > next.dest_state));
            back |= arc.dest_state < arc.src_state;
            loops |= arc.dest_state == arc.src_state;
            epsilon |= arc.label == EPSILON;
            unsorted |= same_state & key_falls;
            ambiguous |= same_state & (label >= next_label);
        };
        self.0.iter().zip(&self.0[1..]).for_each(|(arc, next)| look(arc, next));
        look(last, &Arc { src_state: -1, ..*last });
        Order { back, loops, unsorted, ambiguous, epsilon }
    }
}

impl std::ops::BitOr for Properties {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Properties {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Formats the properties with k2's names: `"Valid|Nonempty|..."`, without the quotes.
impl fmt::Display for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, _)) in self.iter_names().enumerate() {
            write!(f, "{}{name}", if i > 0 { "|" } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::core::fsa::{Fsa, fsa};

    /// The numbers are k2's (1.23.4).
    #[test]
    fn loops_lead_nowhere_and_states_alone_are_nothing() {
        assert_eq!(Fsa::empty().properties().bits(), 509);
        assert_eq!(Fsa::from_arcs(2, vec![]).unwrap().properties().bits(), 125);
        assert_eq!(fsa(2, &[(0, 0, 1, 0.0)]).properties().bits(), 119);
        assert_eq!(fsa(3, &[(0, 1, 1, 0.0)]).properties().bits(), 127);
        assert_eq!(fsa(3, &[(0, 0, 0, 0.0), (1, 2, -1, 0.0)]).properties().bits(), 55);
        assert_eq!(fsa(3, &[(1, 1, 3, 0.0), (1, 2, -1, 0.0)]).properties().bits(), 119);
        assert_eq!(fsa(3, &[(0, 0, 2, 0.0), (0, 1, 3, 0.0), (1, 2, -1, 0.0)]).properties().bits(), 503);
    }
}
