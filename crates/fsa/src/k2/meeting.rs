//! Matching of two FSAs: the arcs that leave a pair of their states.

use crate::core::arc::{Arc, EPSILON};
use crate::core::view::FsaView;
use crate::error::Error;
use crate::k2::matching::for_each_match;
use crate::support::ids::id;

/// The meaning of label 0 when two FSAs are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Epsilons {
    /// Epsilon: one side moves while the other waits, first `a`, then `b`, so that each pair of
    /// paths occurs once and totals are right in every semiring (the sequence filter of C.
    /// Allauzen, J. Schalkwyk, M. Mohri: *OpenFst*, CIAA 2007).
    #[default]
    Sequenced,
    /// Epsilon, and the two sides may move in any order, as in k2 with
    /// `treat_epsilons_specially=True`. If both have epsilons, a pair of paths occurs once for each
    /// order: best paths are right, log totals are not.
    AnyOrder,
    /// A symbol like others, as in k2 with `treat_epsilons_specially=False`.
    AsSymbol,
}

/// A pair of states, one of each side. `b_moved` is set after `b` has moved without `a`; then `a`
/// must not move without `b` until both have moved together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) a: i32,
    pub(crate) b: i32,
    pub(crate) b_moved: bool,
}

impl Pair {
    /// The start states of both.
    pub(crate) const START: Self = Self { a: 0, b: 0, b_moved: false };

    /// Returns the pair as two numbers.
    #[inline]
    pub(crate) fn to_numbers(self) -> (u32, u32) {
        (self.a.cast_unsigned(), self.b.cast_unsigned() << 1 | u32::from(self.b_moved))
    }

    /// Returns the pair of [`to_numbers`](Self::to_numbers).
    #[inline]
    pub(crate) fn from_numbers((a, b): (u32, u32)) -> Self {
        Self { a: a.cast_signed(), b: (b >> 1).cast_signed(), b_moved: b & 1 == 1 }
    }
}

/// An arc that leaves a pair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) to: Pair,
    /// The matched label, 0 if only one side moves, -1 at the end of both.
    pub(crate) label: i32,
    pub(crate) score: f32,
    /// Arcs of both, counted within their FSAs, -1 for the side that waits.
    pub(crate) from_a: i32,
    pub(crate) from_b: i32,
}

/// Calls `found` for each arc that leaves a pair: first if only `a` moves, then if only `b` moves,
/// then if both move, by label. The arcs of both are sorted, and neither state is final.
#[inline]
pub(crate) fn for_each_step(
    (a, b): (FsaView<'_>, FsaView<'_>),
    from: Pair,
    epsilons: Epsilons,
    mut found: impl FnMut(Step) -> Result<(), Error>,
) -> Result<(), Error> {
    let (range_a, range_b) =
        (a.arc_range(crate::support::ids::index(from.a)), b.arc_range(crate::support::ids::index(from.b)));
    let (mut first_a, mut first_b) = (id(range_a.start), id(range_b.start));
    let (mut arcs_a, mut arcs_b) = (&a.arcs()[range_a], &b.arcs()[range_b]);
    if epsilons != Epsilons::AsSymbol {
        let num_epsilons = |arcs: &[Arc]| arcs.iter().take_while(|arc| arc.label == EPSILON).count();
        let (alone_a, rest_a) = arcs_a.split_at(num_epsilons(arcs_a));
        let (alone_b, rest_b) = arcs_b.split_at(num_epsilons(arcs_b));
        if !from.b_moved {
            for (arc, from_a) in alone_a.iter().zip(first_a..) {
                let to = Pair { a: arc.dest_state, ..from };
                found(Step { to, label: EPSILON, score: arc.score, from_a, from_b: -1 })?;
            }
        }
        let b_moved = epsilons == Epsilons::Sequenced && !alone_a.is_empty();
        for (arc, from_b) in alone_b.iter().zip(first_b..) {
            let to = Pair { a: from.a, b: arc.dest_state, b_moved };
            found(Step { to, label: EPSILON, score: arc.score, from_a: -1, from_b })?;
        }
        (first_a, first_b) = (first_a + id(alone_a.len()), first_b + id(alone_b.len()));
        (arcs_a, arcs_b) = (rest_a, rest_b);
    }
    for_each_match(arcs_a, arcs_b, |i, j| {
        let (a, b) = (arcs_a[i], arcs_b[j]);
        let to = Pair { a: a.dest_state, b: b.dest_state, b_moved: false };
        let score = a.score + b.score;
        found(Step { to, label: a.label, score, from_a: first_a + id(i), from_b: first_b + id(j) })
    })
}
