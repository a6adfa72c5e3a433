//! Comparison of two FSAs by their strings and scores.

use kaldera_base::math::log_add;
use kaldera_base::random::Philox;

use crate::core::arc::{EPSILON, FINAL};
use crate::core::fsa::{Fsa, Fsas};
use crate::core::semiring::Semiring;
use crate::error::{Error, Quantity};
use crate::k2::epsilon_closure::Closures;
use crate::k2::{connect, top_sort};
use crate::support::ids::index;

/// The largest number of strings that [`is_equivalent`] compares.
const MOST_STRINGS: usize = 1 << 20;

/// Returns `true` if two FSAs without cycles accept the same strings, not counting epsilons, with
/// scores that differ by at most `delta`: scores of the best path, or of all paths ([`Semiring`]).
/// Every string is compared, so FSAs must be small.
///
/// # Errors
/// [`Error::Cycle`] if there are cycles on accepted paths, [`Error::OutOfRange`] if there are more
/// than 2^20 strings.
#[doc(alias = "IsEquivalent")]
pub(crate) fn is_equivalent(a: &Fsa, b: &Fsa, semiring: Semiring, delta: f64) -> Result<bool, Error> {
    let (a, b) = (acyclic(a)?, acyclic(b)?);
    let (mut side_a, mut side_b) = (Side::new(&a, semiring), Side::new(&b, semiring));
    let mut open = vec![(side_a.start()?, side_b.start()?)];
    let mut num_strings = 0;
    while let Some((front_a, front_b)) = open.pop() {
        let mut labels: Vec<i32> = side_a.labels(&front_a).chain(side_b.labels(&front_b)).collect();
        labels.sort_unstable();
        labels.dedup();
        for label in labels {
            let (next_a, next_b) = (side_a.step(&front_a, label)?, side_b.step(&front_b, label)?);
            if label != FINAL {
                open.push((next_a, next_b));
                continue;
            }
            if !same(total(&next_a), total(&next_b), delta) {
                return Ok(false);
            }
            num_strings += 1;
            if num_strings > MOST_STRINGS {
                let (max, found) = (1 << 20, (1 << 20) + 1);
                return Err(Error::OutOfRange { what: Quantity::Strings, min: 0, max, found });
            }
        }
    }
    Ok(true)
}

/// Returns `true` if strings drawn from either FSA have the same score in both, not counting
/// epsilons. If it returns `false`, the FSAs differ; if `true`, no difference was found.
///
/// # Errors
/// [`Error::EndlessCycle`] if cycles of epsilons have no finite score.
pub(crate) fn is_rand_equivalent(
    a: &Fsa,
    b: &Fsa,
    semiring: Semiring,
    delta: f64,
    num_paths: usize,
    seed: u64,
) -> Result<bool, Error> {
    let (a, b) = (connect(a)?.0, connect(b)?.0);
    if a.num_states() == 0 || b.num_states() == 0 {
        return Ok(a.num_states() == b.num_states());
    }
    let (mut side_a, mut side_b) = (Side::new(&a, semiring), Side::new(&b, semiring));
    let stream = Philox::new(seed);
    let mut number = 0_u32;
    let mut draw = |below: usize| {
        number = number.wrapping_add(1);
        usize::try_from(stream.block([number, 0, 0, 0])[0]).unwrap_or(0) % below
    };
    for fsa in [&a, &b] {
        let distances = distances_to_final(fsa);
        for _ in 0..num_paths {
            let string = random_string(fsa, &distances, &mut draw);
            let (mut front_a, mut front_b) = (side_a.start()?, side_b.start()?);
            for label in string {
                (front_a, front_b) = (side_a.step(&front_a, label)?, side_b.step(&front_b, label)?);
            }
            if !same(total(&front_a), total(&front_b), delta) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn same(a: f64, b: f64, delta: f64) -> bool {
    a == b || (a - b).abs() <= delta
}

fn acyclic(fsa: &Fsa) -> Result<Fsa, Error> {
    let (fsa, _) = top_sort(&connect(fsa)?.0)?;
    match fsa.arcs().iter().find(|arc| arc.src_state == arc.dest_state) {
        None => Ok(fsa),
        Some(arc) => Err(Error::Cycle { fsa: 0, states: vec![arc.src_state] }),
    }
}

/// The states after a string, with the scores of the paths to them.
type Front = Vec<(usize, f64)>;

fn total(front: &Front) -> f64 {
    front.first().map_or(f64::NEG_INFINITY, |&(_, score)| score)
}

struct Side<'a> {
    fsa: &'a Fsa,
    semiring: Semiring,
    closures: Closures,
}

impl<'a> Side<'a> {
    fn new(fsa: &'a Fsa, semiring: Semiring) -> Self {
        Self { fsa, semiring, closures: Closures::new(0, fsa.view(), semiring) }
    }

    fn start(&mut self) -> Result<Front, Error> {
        if self.fsa.num_states() == 0 { Ok(vec![]) } else { self.closed(vec![(0, 0.0)]) }
    }

    fn labels(&self, front: &Front) -> impl Iterator<Item = i32> {
        front
            .iter()
            .flat_map(|&(state, _)| self.fsa.view().arcs_of(state))
            .map(|arc| arc.label)
            .filter(|&l| l != EPSILON)
    }

    fn step(&mut self, front: &Front, label: i32) -> Result<Front, Error> {
        let mut next = vec![];
        for &(state, score) in front {
            for arc in self.fsa.view().arcs_of(state).iter().filter(|arc| arc.label == label) {
                next.push((arc.states().1, score + f64::from(arc.score)));
            }
        }
        self.closed(next)
    }

    /// Adds the states that epsilons reach, each state once.
    fn closed(&mut self, front: Front) -> Result<Front, Error> {
        let mut all = vec![];
        for (state, score) in self.joined(front) {
            for place in 0..self.closures.find_from(state)? {
                let (reached, way) = self.closures.found(place);
                all.push((reached, score + way));
            }
        }
        Ok(self.joined(all))
    }

    fn joined(&self, mut front: Front) -> Front {
        front.sort_by_key(|&(state, _)| state);
        front.dedup_by(|(state, score), (kept, sum)| {
            let same = state == kept;
            if same {
                *sum = match self.semiring {
                    Semiring::Tropical => sum.max(*score),
                    Semiring::Log => log_add(*sum, *score),
                };
            }
            same
        });
        front
    }
}

/// Returns for each state the least number of arcs to the final one; all states reach it.
fn distances_to_final(fsa: &Fsa) -> Vec<usize> {
    let entering = fsa.as_fsa_vec().entering_arcs();
    let mut distances = vec![usize::MAX; fsa.num_states()];
    let mut open = std::collections::VecDeque::from([fsa.num_states() - 1]);
    distances[fsa.num_states() - 1] = 0;
    while let Some(state) = open.pop_front() {
        for &arc in entering.row(state) {
            let src = fsa.arcs()[index(arc)].states().0;
            if distances[src] == usize::MAX {
                distances[src] = distances[state] + 1;
                open.push_back(src);
            }
        }
    }
    distances
}

/// Returns the labels of a path with random turns that, from some length on, goes straight to the
/// end.
fn random_string(fsa: &Fsa, distances: &[usize], draw: &mut impl FnMut(usize) -> usize) -> Vec<i32> {
    let (mut state, mut labels, mut length) = (0, vec![], 0);
    while state + 1 < fsa.num_states() {
        let arcs = fsa.view().arcs_of(state);
        let arc = if length < 3 * fsa.num_states().min(100) {
            arcs[draw(arcs.len())]
        } else {
            *arcs.iter().min_by_key(|arc| distances[arc.states().1]).unwrap_or(&arcs[0])
        };
        labels.extend((arc.label != EPSILON).then_some(arc.label));
        state = arc.states().1;
        length += 1;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fsa::fsa;

    #[test]
    fn equal_in_one_semiring_and_not_in_the_other() {
        let once = fsa(3, &[(0, 1, 5, 1.0), (1, 2, -1, 0.0)]);
        let twice = fsa(4, &[(0, 1, 5, 1.0), (0, 2, 0, 0.0), (1, 3, -1, 0.0), (2, 1, 5, 0.5)]);
        let exactly = |semiring| is_equivalent(&once, &twice, semiring, 1e-6).unwrap();
        assert!(exactly(Semiring::Tropical) && !exactly(Semiring::Log));
        let at_random = |semiring| is_rand_equivalent(&once, &twice, semiring, 1e-4, 100, 0).unwrap();
        assert!(at_random(Semiring::Tropical) && !at_random(Semiring::Log));
        assert!(!is_equivalent(&once, &Fsa::empty(), Semiring::Log, 1e-6).unwrap());
        assert!(!is_rand_equivalent(&once, &Fsa::empty(), Semiring::Log, 1e-4, 100, 0).unwrap());
        assert!(is_equivalent(&Fsa::empty(), &Fsa::empty(), Semiring::Log, 1e-6).unwrap());
    }

    #[test]
    fn cycles_are_walked_at_random_only() {
        let looping = fsa(3, &[(0, 0, 4, -1.0), (0, 1, 5, 1.0), (1, 2, -1, 0.0)]);
        assert!(matches!(is_equivalent(&looping, &looping, Semiring::Log, 0.0), Err(Error::Cycle { .. })));
        let heavier = looping.with_scores(&[-1.0, 1.0, 0.5]).unwrap();
        assert!(is_rand_equivalent(&looping, &looping, Semiring::Log, 1e-4, 100, 0).unwrap());
        assert!(!is_rand_equivalent(&looping, &heavier, Semiring::Log, 1e-4, 100, 0).unwrap());
    }
}
