//! k2's determinization, which knows for each arc the arcs that it stands for.

use ragged_core::Ragged;

use self::leaving::{Leaving, Search};
use self::subsets::{Numbering, Subsets};
use crate::algorithms::connect::{goes_forward, useful_states};
use crate::parts::{Lists, WholePart, map_fsas};
use crate::rounds::{Lead, in_rounds};
use crate::threads::{join, worth};
use crate::view::FsaView;
use crate::{Error, Fsas};

mod leaving;
mod subsets;

/// Where [`determinize`] puts the scores of paths that are still undecided; the score of a whole path is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WeightPushing {
    /// On the arc where they are decided: an arc's score is that of the arcs that it stands for.
    #[doc(alias = "kNoWeightPushing")]
    No,
    /// As early as possible: an arc has the best of the scores that are undecided after it.
    #[doc(alias = "kTropicalWeightPushing")]
    #[default]
    Tropical,
    /// As early as possible: an arc has the logarithm of the sum of the scores that are undecided after it.
    #[doc(alias = "kLogWeightPushing")]
    Log,
}

/// Up to so many states are made of one FSA, unless another number is given.
const MOST_STATES: usize = 1 << 24;

/// FSAs in which no two arcs of a state have the same label, so that each string has one path, with the score of the best one before; and for each arc
/// the arcs before that it stands for, in order. Label 0 is a symbol like others.
///
/// Where several paths are open, arcs stand for none until the best one is decided; the one after that stands for all of its arcs since. So attributes
/// of the best path follow by [`carry_ragged`](crate::Graph::carry_ragged), where a transducer that puts out different strings for one input keeps the best. States of no use are
/// left out. [`optimize::determinize`](crate::optimize::determinize) is smaller, as it puts states together whose scores ahead are equal.
///
/// A state of the result is the last state through which all open paths went, and the labels since. That takes time and memory in proportion to the
/// result and to the open paths; the result can be exponential, and infinite where paths stay open around a cycle.
///
/// # Errors
/// [`Error::DeterminizeLimit`] with more than 2^24 states ([`determinize_within`] sets another limit), [`Error::TooLarge`], [`Error::Score`] if scores overflow.
#[doc(alias = "Determinize")]
pub fn determinize<F: Fsas>(fsas: &F, weight_pushing: WeightPushing) -> Result<(F, Ragged<i32>), Error> {
    determinize_within(fsas, weight_pushing, MOST_STATES)
}

/// [`determinize`] of FSAs that become no more than `max_states` states each.
///
/// # Errors
/// [`Error::DeterminizeLimit`] where they would, and as [`determinize`].
pub fn determinize_within<F: Fsas>(
    fsas: &F,
    weight_pushing: WeightPushing,
    max_states: usize,
) -> Result<(F, Ragged<i32>), Error> {
    let (made, maps) = map_fsas(fsas.as_vec(), |i, fsa| Work::new(i, fsa, weight_pushing, max_states).run())?;
    Ok((fsas.same_kind(made), Lists::assemble(maps)?))
}

/// So many steps and arcs that leave them are a job, about.
const SIZE_OF_JOB: usize = 1024;

/// Fewer jobs are done sooner than another thread wakes.
const JOBS_FOR_THREADS: usize = 8;

/// The result in the making: all states that are known are left, which makes more of them known, and so on.
#[derive(Clone, Copy)]
struct Work<'a> {
    fsa_index: usize,
    fsa: FsaView<'a>,
    weight_pushing: WeightPushing,
    max_states: usize,
    /// So many steps are a job, and so many jobs are shared among threads.
    steps_of_job: usize,
    jobs_for_threads: usize,
}

impl<'a> Work<'a> {
    fn new(fsa_index: usize, fsa: FsaView<'a>, weight_pushing: WeightPushing, max_states: usize) -> Self {
        let size_of_step = 1 + fsa.arcs().len() / fsa.num_states().max(1);
        let jobs_for_threads = if worth(fsa.arcs().len()) { JOBS_FOR_THREADS } else { usize::MAX };
        let steps_of_job = SIZE_OF_JOB / size_of_step;
        Self { fsa_index, fsa, weight_pushing, max_states, steps_of_job, jobs_for_threads }
    }

    fn run(self) -> Result<(WholePart, Lists), Error> {
        let Self { fsa, jobs_for_threads, .. } = self;
        if fsa.num_states() == 0 {
            return Ok(nothing());
        }
        // Mostly all states lead to the end. While that is looked at, the first state, which often has many arcs, is left as if it were so.
        let (forward, mut begun) = join(jobs_for_threads < usize::MAX, || goes_forward(fsa), || self.leave_first(None));
        let useful = (!forward).then(|| useful_states(fsa));
        if let Some(useful) = &useful {
            if !useful[0] {
                return Ok(nothing());
            }
            begun = self.leave_first(Some(useful));
        }
        let (known, mut numbering, memory) = begun?;
        let leave = |known: &Known, job, leaving: &mut Leaving| self.leave(known, useful.as_deref(), job, leaving);
        in_rounds(jobs_for_threads, known, memory, &mut numbering, leave)?;
        numbering.finish()
    }

    /// The first state, and the numbers of those that its arcs enter; and memory to leave more of them in. `useful` are the states of the FSA that lead
    /// to the end, if not all do.
    fn leave_first(self, useful: Option<&[bool]>) -> Result<(Known, Numbering<'a>, Leaving), Error> {
        let Self { fsa_index, fsa, max_states, steps_of_job, .. } = self;
        let mut known = Known::default();
        let mut numbering = Numbering::new(fsa_index, fsa, max_states, steps_of_job);
        numbering.single(&known.subsets, 0, 0)?;
        numbering.begin(&mut known);
        let mut leaving = Leaving::default();
        self.leave(&known, useful, 0, &mut leaving);
        numbering.take(&known, &leaving)?;
        Ok((known, numbering, leaving))
    }

    /// The arcs that leave the states of a job.
    fn leave(self, known: &Known, useful: Option<&[bool]>, job: usize, leaving: &mut Leaving) {
        let Self { fsa, weight_pushing, .. } = self;
        let search = Search { fsa, weight_pushing, useful, known: &known.subsets };
        search.leave(known.cuts[job]..known.cuts[job + 1], leaving);
    }
}

/// No states, and no arc map.
fn nothing() -> (WholePart, Lists) {
    (WholePart::default(), Lists::default())
}

/// What is known before a round, and where each of its jobs begins among the states, and the last one ends.
#[derive(Default)]
struct Known {
    subsets: Subsets,
    cuts: Vec<usize>,
}

impl Lead<Known, Leaving> for Numbering<'_> {
    fn begin(&mut self, known: &mut Known) -> usize {
        self.cut_new(&mut known.subsets, &mut known.cuts);
        known.cuts.len().saturating_sub(1)
    }

    fn take(&mut self, known: &Known, leaving: &Leaving) -> Result<(), Error> {
        self.number(&known.subsets, leaving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsa::fsa;
    use crate::{Fsa, Graph};

    /// Case 168 of k2's known answers, with shorter numbers.
    #[test]
    fn scores_wait_or_are_pushed() {
        let arcs =
            [(0, 1, 3, -1.0), (0, 2, 3, -0.5), (1, 3, -1, 0.5), (1, 2, 2, -0.25), (2, 3, -1, -0.5), (2, 3, -1, 0.75)];
        let graph = Graph::new(fsa(4, &arcs)).with_aux_labels(vec![3, 1, -1, 1, -1, -1]).unwrap();
        let scores = |pushing| determinize(graph.fsas(), pushing).unwrap().0.scores();
        assert_eq!(scores(WeightPushing::No), [0.0, -1.25, 0.25, 0.75]);
        assert_eq!(scores(WeightPushing::Tropical), [-0.5, -0.75, 0.75, 0.75]);
        let (made, map) = determinize(graph.fsas(), WeightPushing::No).unwrap();
        assert_eq!(made.labels(), [3, 2, -1, -1]);
        assert_eq!(map.rows().collect::<Vec<_>>(), [&[][..], &[0, 3], &[1, 5], &[5]]);
        let aux = graph.determinize(WeightPushing::No).unwrap();
        let lists = aux.attributes().lists(crate::AUX_LABELS).unwrap();
        assert_eq!(lists.rows().collect::<Vec<_>>(), [&[][..], &[3, 1], &[1, -1], &[-1]]);
    }

    #[test]
    fn dead_ends_and_nothing() {
        let dead = fsa(4, &[(0, 1, 3, 0.0), (0, 2, 3, 1.0), (1, 3, -1, 0.5)]);
        let (made, map) = determinize(&dead, WeightPushing::default()).unwrap();
        assert_eq!(made, fsa(3, &[(0, 1, 3, 0.0), (1, 2, -1, 0.5)]));
        assert_eq!(map.values(), [0, 2]);
        assert_eq!(determinize(&Fsa::empty(), WeightPushing::No).unwrap().0, Fsa::empty());
        assert_eq!(determinize(&fsa(3, &[(0, 1, 3, 0.0)]), WeightPushing::No).unwrap().0, Fsa::empty());
    }

    #[test]
    fn what_stays_open_is_refused() {
        let twins =
            fsa(4, &[(0, 1, 3, 0.0), (0, 2, 3, 1.0), (1, 1, 5, 0.0), (1, 3, -1, 0.0), (2, 2, 5, 0.5), (2, 3, -1, 0.0)]);
        let made = determinize_within(&twins, WeightPushing::Log, 100);
        assert!(matches!(made, Err(Error::DeterminizeLimit { limit: 100, largest_subset: 2, .. })), "{made:?}");
    }

    /// With jobs of any size, on any number of threads, arcs, maps and errors are the same as if one state was left after the other.
    #[cfg(feature = "rayon")]
    #[test]
    fn jobs_and_threads_change_nothing() {
        use crate::algorithms::{RandomFsaOptions, random_fsa};

        let pools: Vec<_> = (1..=3).map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap()).collect();
        for seed in 0..60 {
            let (acyclic, max_symbol) = (seed % 3 != 0, 2 + i32::try_from(seed % 4).unwrap());
            let max_num_arcs = 20 + 4 * usize::try_from(seed % 50).unwrap();
            let options = RandomFsaOptions { acyclic, max_symbol, max_num_arcs, ..Default::default() };
            let fsa = random_fsa(seed, &options).unwrap();
            for pushing in [WeightPushing::No, WeightPushing::Tropical, WeightPushing::Log] {
                for most in [2000, 50, 7, 1] {
                    let work = Work::new(0, fsa.view(), pushing, most);
                    let made = |steps_of_job, jobs_for_threads| Work { steps_of_job, jobs_for_threads, ..work }.run();
                    let right = made(usize::MAX, usize::MAX);
                    for steps in [1, 3, 50] {
                        assert!(made(steps, usize::MAX) == right);
                        assert!(pools.iter().all(|pool| pool.install(|| made(steps, 2)) == right));
                    }
                }
            }
        }
    }
}
