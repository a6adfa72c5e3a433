//! Validity of an FSA.

use kaldera_base::simd::{Kernel, Simd, dispatch};

use crate::core::arc::{Arc, FINAL};
use crate::core::view::FsaView;
use crate::error::Error;
use crate::support::ids::id;

/// Checks that an FSA is valid.
///
/// # Errors
/// The error of the first arc that is wrong.
#[inline]
pub(crate) fn check(fsa: usize, view: FsaView<'_>) -> Result<(), Error> {
    if is_valid(view) {
        return Ok(());
    }
    check_scores(view.first_arc(), view.arcs())?;
    check_but_scores(fsa, view)
}

/// Checks all arcs at once: many are compared at a time, since the wrong one need not be known.
fn is_valid(view: FsaView<'_>) -> bool {
    match view.num_states() {
        0 => true,
        1 => false,
        states => dispatch(Arcs { arcs: view.arcs(), last: id(states - 1) }) && rows_are_right(view),
    }
}

/// Kernel that checks everything about arcs except for their source states: of these it only checks
/// that they do not fall.
struct Arcs<'a> {
    arcs: &'a [Arc],
    last: i32,
}

impl Kernel for Arcs<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> bool {
        let Self { arcs, last } = self;
        let is_wrong = |arc: &Arc| {
            let Arc { dest_state, label, score, .. } = *arc;
            (dest_state.cast_unsigned() > last.cast_unsigned())
                | (label < FINAL)
                | ((label == FINAL) != (dest_state == last))
                | is_wrong(score)
        };
        let [.., last_arc] = arcs else { return true };
        let mut wrong = u32::from(is_wrong(last_arc));
        for (arc, next) in arcs.iter().zip(&arcs[1..]) {
            wrong |= u32::from(is_wrong(arc) | (arc.src_state > next.src_state));
        }
        wrong == 0
    }
}

/// Checks source states if they do not fall: it is enough to look where rows meet.
fn rows_are_right(view: FsaView<'_>) -> bool {
    let (arcs, last) = (view.arcs(), view.num_states() - 1);
    let right = (0..last).all(|state| {
        let end = view.arc_range(state).end;
        (end == 0 || arcs[end - 1].src_state <= id(state)) && (end == arcs.len() || arcs[end].src_state > id(state))
    });
    right && arcs.first().is_none_or(|arc| arc.src_state >= 0) && view.arc_range(last).is_empty()
}

/// Returns `true` if a score is NaN or plus infinity.
#[inline(always)]
fn is_wrong(score: f32) -> bool {
    score.is_nan() | (score == f32::INFINITY)
}

/// Checks the scores of arcs, which begin with index `first` of all; the first wrong one is an
/// error.
pub(crate) fn check_scores(first: usize, arcs: &[Arc]) -> Result<(), Error> {
    match arcs.iter().position(|arc| is_wrong(arc.score)) {
        None => Ok(()),
        Some(arc) => Err(Error::Score { arc: first + arc, score: arcs[arc].score }),
    }
}

/// Checks that an FSA is valid except for its scores, arc by arc.
///
/// # Errors
/// The error of the first arc that is wrong.
#[cold]
pub(crate) fn check_but_scores(fsa: usize, view: FsaView<'_>) -> Result<(), Error> {
    let num_states = view.num_states();
    if num_states == 1 {
        return Err(Error::SingleState { fsa });
    }
    let last = num_states.wrapping_sub(1);
    for state in 0..num_states {
        for (arc, it) in view.arc_range(state).zip(view.arcs_of(state)) {
            let Arc { src_state, dest_state, label, .. } = *it;
            if usize::try_from(src_state) != Ok(state) {
                return Err(Error::SourceState { fsa, arc, expected: state, found: src_state });
            }
            let Some(dest) = usize::try_from(dest_state).ok().filter(|&dest| dest < num_states) else {
                return Err(Error::DestState { fsa, arc, found: dest_state, num_states });
            };
            if state == last {
                return Err(Error::FinalStateLeft { fsa, arc });
            }
            if label < FINAL {
                return Err(Error::Label { fsa, arc, label });
            }
            if (label == FINAL) != (dest == last) {
                return Err(Error::FinalLabel { fsa, arc, dest_state, label });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::support::ids::index;

    proptest! {
        /// A valid FSA in which some numbers are changed is right for the kernel if it is right arc
        /// by arc.
        #[test]
        fn one_look_finds_what_is_wrong(
            rows in prop::collection::vec(prop::collection::vec((0..9_usize, 0..9), 0..7), 1..9),
            changes in prop::collection::vec((0..80_usize, 0..5, -3..9), 0..3),
        ) {
            let last = rows.len();
            let mut splits = vec![7];
            let mut arcs = vec![Arc::default(); 7];
            for (state, row) in rows.iter().enumerate() {
                arcs.extend(row.iter().map(|&(dest, label)| {
                    let dest = dest % (last + 1);
                    Arc::new(id(state), id(dest), if dest == last { FINAL } else { label }, 0.5)
                }));
                splits.push(id(arcs.len()));
            }
            splits.push(id(arcs.len()));
            for (place, what, to) in changes {
                let [.., before, end, _] = &mut splits[..] else { unreachable!() };
                match (what, arcs[7..].len()) {
                    // The last arc leaves the final state.
                    (4, _) => *end = (*end - 1).max(*before),
                    (_, 0) => {}
                    (_, len) => {
                        let arc = &mut arcs[7 + place % len];
                        match what {
                            0 => arc.src_state = to,
                            1 => arc.dest_state = to,
                            2 => arc.label = to,
                            _ => arc.score = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN][index(to + 3) % 4],
                        }
                    }
                }
            }
            let view = FsaView::new(&splits, &arcs);
            let right = check_scores(7, view.arcs()).is_ok() && check_but_scores(3, view).is_ok();
            prop_assert_eq!(is_valid(view), right, "{:?} {:?}", splits, arcs);
        }
    }
}
