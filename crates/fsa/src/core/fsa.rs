//! One FSA, many, and a type that may be either.

use std::sync::{Arc as Shared, OnceLock};

use kaldera_base::buffer::Buffer;
use kaldera_base::memory;
use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::core::arc::Arc;
use crate::core::properties::Properties;
use crate::core::valid::{check, check_but_scores, check_scores};
use crate::core::view::FsaView;
use crate::error::{Error, Quantity};
use crate::support::ids::{id, index};
use crate::support::threads::{self, split};

/// Concatenated FSAs: a ragged tensor of arcs with the axes `[fsa][state][arc]`.
///
/// ```text
///   FSA 0   0 --a--> 1 --> (2)    row_splits(1)  0     3     5    the states of each FSA
///   FSA 1   0 --> (1)             row_splits(2)  0 1 2 2 3 3      the arcs of each state
///                                 arcs           0>1 1>2 0>1      states counted within their FSA
/// ```
///
/// State 0 is the start, the last state the final one. An FSA has no state at all (it accepts
/// nothing), or two or more. Invalid FSAs are refused when they are made, so that algorithms need
/// no checks. A clone counts references.
///
/// ```
/// use fsa::{Arc, Fsa, FsaVec};
///
/// let word = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)])?;
/// let none = Fsa::empty();
/// let batch = FsaVec::from_fsas(&[word.clone(), none])?;
/// assert_eq!((batch.num_fsas(), batch.num_arcs()), (2, 2));
/// assert_eq!(batch.get(0)?, word);
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FsaVec {
    arcs: Ragged<Arc>,
    topology: Shared<Topology>,
}

/// Results that depend on the arcs without their scores; made on first use and kept, also by copies
/// with other scores.
#[derive(Debug, Default)]
struct Topology {
    properties: OnceLock<Properties>,
    arc_sorted: OnceLock<bool>,
    entering: OnceLock<Ragged<i32>>,
}

impl FsaVec {
    /// Checks arcs with the axes `[fsa][state][arc]` and takes them. O(states + arcs).
    ///
    /// # Errors
    /// [`Error::Axes`], and the errors of single arcs and states in [`Error`].
    pub fn new(arcs: Ragged<Arc>) -> Result<Self, Error> {
        if arcs.num_axes() != 3 {
            return Err(Error::Axes { what: Quantity::FsaVec, expected: 3, found: arcs.num_axes() });
        }
        let made = Self { arcs, topology: Shared::default() };
        threads::for_each_job(made.num_arcs(), made.iter(), check)?;
        Ok(made)
    }

    /// Creates FSAs from arcs of this crate, which are valid.
    pub(crate) fn trusted(arcs: Ragged<Arc>) -> Self {
        let made = Self { arcs, topology: Shared::default() };
        debug_assert_eq!(made.iter().enumerate().try_for_each(|(i, fsa)| check_but_scores(i, fsa)), Ok(()));
        made
    }

    /// Returns no FSAs.
    pub fn empty() -> Self {
        let none = RowSplits::new(vec![0]).and_then(|none| RaggedShape::new([none.clone(), none]));
        Self::trusted(none.and_then(|none| Ragged::new(none, vec![])).expect("no lists are lists"))
    }

    /// Concatenates FSAs. O(states + arcs).
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "create_fsa_vec")]
    #[doc(alias = "CreateFsaVec")]
    pub fn from_fsas(fsas: &[Fsa]) -> Result<Self, Error> {
        Self::cat(&fsas.iter().map(|fsa| &fsa.0).collect::<Vec<_>>())
    }

    /// Concatenates the FSAs of all vectors. O(states + arcs).
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    #[doc(alias = "Cat")]
    pub fn cat(vectors: &[&Self]) -> Result<Self, Error> {
        match vectors {
            [] => Ok(Self::empty()),
            [one] => Ok((*one).clone()),
            _ => {
                let sources: Vec<_> = vectors.iter().map(|vector| &vector.arcs).collect();
                Ok(Self::trusted(Ragged::cat(0, &sources)?))
            }
        }
    }

    /// Returns the FSAs given by `indexes`, in any order and as often as they are given, with the
    /// arc map. O(states + arcs of the result).
    ///
    /// # Errors
    /// If an index is not the index of an FSA; -1 gives an FSA without states.
    #[doc(alias = "index_fsa")]
    pub fn index(&self, indexes: &[i32]) -> Result<(Self, Vec<i32>), Error> {
        let (arcs, map) = self.arcs.index(0, indexes)?;
        Ok((Self::trusted(arcs), map))
    }

    /// Returns FSA `i` on its own.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, i: usize) -> Result<Fsa, Error> {
        let indexes = [Error::fit(Quantity::FsaIndex, i)?];
        if self.num_fsas() == 1 && i == 0 { Ok(Fsa(self.clone())) } else { Ok(Fsa(self.index(&indexes)?.0)) }
    }

    /// Returns the number of FSAs.
    #[inline]
    #[doc(alias = "dim0")]
    pub fn num_fsas(&self) -> usize {
        self.arcs.dim0()
    }

    /// Returns the number of states of all FSAs together.
    #[inline]
    pub fn num_states(&self) -> usize {
        self.shape().tot_size(1)
    }

    /// Returns the number of arcs of all FSAs together.
    #[inline]
    pub fn num_arcs(&self) -> usize {
        self.arcs.num_elements()
    }

    /// Returns the shape `[fsa][state][arc]`.
    #[inline]
    pub fn shape(&self) -> &RaggedShape {
        self.arcs.shape()
    }

    /// Returns the arcs as a ragged tensor.
    #[inline]
    pub fn as_ragged(&self) -> &Ragged<Arc> {
        &self.arcs
    }

    /// Returns all arcs of all FSAs.
    #[inline]
    pub fn arcs(&self) -> &[Arc] {
        self.arcs.values()
    }

    /// Returns FSA `i`, borrowed.
    ///
    /// # Panics
    /// If there is none, as indexing a slice does.
    pub fn fsa(&self, i: usize) -> FsaView<'_> {
        let states = self.shape().row_splits(1).row(i);
        let splits: &[i32] = self.shape().row_splits(2).as_ref();
        FsaView::new(&splits[states.start..=states.end], self.arcs())
    }

    /// Returns an iterator over the FSAs, borrowed.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FsaView<'_>> + Clone {
        (0..self.num_fsas()).map(|i| self.fsa(i))
    }

    /// Returns the properties that all FSAs have. O(states + arcs) at first, then kept.
    #[doc(alias = "GetFsaVecBasicProperties")]
    pub fn properties(&self) -> Properties {
        *self
            .topology
            .properties
            .get_or_init(|| self.properties_of_each().into_iter().fold(Properties::ALL, |all, one| all & one))
    }

    /// Returns `true` if all have [`Properties::ARC_SORTED`], without finding the other properties.
    /// O(arcs) at first, then kept.
    pub(crate) fn is_arc_sorted(&self) -> bool {
        *self.topology.arc_sorted.get_or_init(|| match self.topology.properties.get() {
            Some(properties) => properties.contains(Properties::ARC_SORTED),
            None => {
                let (splits, arcs): (&[i32], _) = (self.shape().row_splits(2).as_ref(), self.arcs());
                let row = |row: usize| &arcs[index(splits[row])..index(splits[row + 1])];
                threads::all_rows(splits, |mut rows| rows.all(|i| row(i).is_sorted_by_key(Arc::sort_key)))
            }
        })
    }

    /// Returns the properties of each FSA. O(states + arcs).
    pub fn properties_of_each(&self) -> Vec<Properties> {
        let each = threads::for_each_job(self.num_arcs(), self.iter(), |_, fsa| Ok(Properties::new(fsa)));
        each.expect("nothing that can fail")
    }

    /// Returns the arcs that enter each state, as `[fsa][state][entering arc]`: indexes of
    /// [`arcs`](Self::arcs), in rising order for each state. O(states + arcs) at first, then kept,
    /// also by copies with other scores.
    #[doc(alias = "GetIncomingArcs")]
    pub fn entering_arcs(&self) -> &Ragged<i32> {
        self.topology.entering.get_or_init(|| entering_arcs(self).expect("as many arcs as leave states"))
    }

    /// Returns the scores of all arcs.
    pub fn scores(&self) -> Vec<f32> {
        self.arcs().iter().map(|arc| arc.score).collect()
    }

    /// Returns the labels of all arcs.
    pub fn labels(&self) -> Vec<i32> {
        self.arcs().iter().map(|arc| arc.label).collect()
    }

    /// Returns the same FSAs with other scores. Results about states and labels are kept.
    ///
    /// # Errors
    /// [`Error::Size`] if there is not one score for each arc; [`Error::Score`].
    pub fn with_scores(&self, scores: &[f32]) -> Result<Self, Error> {
        Error::same_size(Quantity::Scores, self.num_arcs(), scores.len())?;
        let arcs: Vec<_> = self.arcs().iter().zip(scores).map(|(&arc, &score)| Arc { score, ..arc }).collect();
        check_scores(0, &arcs)?;
        Ok(Self { arcs: self.arcs.with_values(arcs)?, topology: Shared::clone(&self.topology) })
    }

    /// Returns `true` if both share the same memory.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.arcs.ptr_eq(&other.arcs)
    }
}

impl PartialEq for FsaVec {
    fn eq(&self, other: &Self) -> bool {
        self.arcs == other.arcs
    }
}

fn entering_arcs(fsas: &FsaVec) -> Result<Ragged<i32>, Error> {
    let mut ends = memory::zeros(fsas.num_states() + 1);
    let mut entering = memory::zeros(fsas.num_arcs());
    let of_states = split(&mut ends[1..], fsas.iter().map(|fsa| fsa.num_states()));
    let of_arcs = split(&mut entering, fsas.iter().map(|fsa| fsa.arcs().len()));
    let jobs = fsas.iter().zip(of_states.into_iter().zip(of_arcs));
    threads::for_each_job(fsas.num_arcs(), jobs, |_, (fsa, (ends, entering))| {
        // As many arcs enter the states of an FSA as leave them.
        let first = id(fsa.first_arc());
        let by_dest = fsa.entering();
        ends.iter_mut().enumerate().for_each(|(state, end)| *end = first + id(by_dest.range(state).end));
        entering.iter_mut().zip(by_dest.order()).for_each(|(to, arc)| *to = first + arc.cast_signed());
        Ok(())
    })?;
    let states = fsas.shape().row_splits(1).clone();
    Ok(Ragged::new(RaggedShape::new([states, RowSplits::new(ends)?])?, entering)?)
}

/// One FSA.
///
/// ```
/// use fsa::{Arc, Fsa};
///
/// let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)])?;
/// assert_eq!((fsa.num_states(), fsa.num_arcs(), fsa.arcs()[0].label), (3, 2, 7));
/// // An arc into the final state has label -1, and no other has.
/// assert!(Fsa::from_arcs(2, vec![Arc::new(0, 1, 7, 0.5)]).is_err());
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Fsa(FsaVec);

impl Fsa {
    /// Checks arcs with the axes `[state][arc]` and takes them. O(states + arcs).
    ///
    /// # Errors
    /// [`Error::Axes`], and the errors of single arcs and states in [`Error`].
    pub fn new(arcs: Ragged<Arc>) -> Result<Self, Error> {
        if arcs.num_axes() != 2 {
            return Err(Error::Axes { what: Quantity::Fsa, expected: 2, found: arcs.num_axes() });
        }
        FsaVec::new(arcs.unsqueeze(0)?).map(Self)
    }

    /// Creates an FSA of `num_states` states; the arcs stand in the order of the states that they
    /// leave ([`FsaBuilder`](crate::FsaBuilder) takes any order). O(states + arcs).
    ///
    /// # Errors
    /// [`Error::UnsortedArcs`] if they do not, [`Error::Ragged`] for a state that does not exist,
    /// and the errors of single arcs and states in [`Error`].
    pub fn from_arcs(num_states: usize, arcs: impl Into<Buffer<Arc>>) -> Result<Self, Error> {
        let arcs = arcs.into();
        if let Some(at) = arcs.windows(2).position(|pair| pair[0].src_state > pair[1].src_state) {
            let (before, found) = (arcs[at].src_state, arcs[at + 1].src_state);
            return Err(Error::UnsortedArcs { arc: at + 1, found, before });
        }
        let sources: Vec<_> = arcs.iter().map(|arc| arc.src_state).collect();
        let splits = RowSplits::from_row_ids(&sources, num_states)?;
        Self::new(Ragged::new(RaggedShape::new([splits])?, arcs)?)
    }

    /// Returns an FSA without states, which accepts nothing.
    pub fn empty() -> Self {
        Self::from_arcs(0, vec![]).expect("no states are valid")
    }

    /// Returns the one FSA of a vector that this crate made.
    pub(crate) fn single(vec: FsaVec) -> Self {
        debug_assert_eq!(vec.num_fsas(), 1);
        Self(vec)
    }

    /// Returns the FSA, borrowed.
    #[inline]
    pub fn view(&self) -> FsaView<'_> {
        self.0.fsa(0)
    }

    /// Returns the number of states.
    #[inline]
    pub fn num_states(&self) -> usize {
        self.0.num_states()
    }

    /// Returns the number of arcs.
    #[inline]
    pub fn num_arcs(&self) -> usize {
        self.0.num_arcs()
    }

    /// Returns all arcs, in the order of the states that they leave.
    #[inline]
    pub fn arcs(&self) -> &[Arc] {
        self.0.arcs()
    }

    /// Returns the properties. O(states + arcs) at first, then kept.
    pub fn properties(&self) -> Properties {
        self.0.properties()
    }

    /// Returns the scores of all arcs.
    pub fn scores(&self) -> Vec<f32> {
        self.0.scores()
    }

    /// Returns the labels of all arcs.
    pub fn labels(&self) -> Vec<i32> {
        self.0.labels()
    }

    /// Returns the same FSA with other scores.
    ///
    /// # Errors
    /// As [`FsaVec::with_scores`].
    pub fn with_scores(&self, scores: &[f32]) -> Result<Self, Error> {
        self.0.with_scores(scores).map(Self)
    }

    /// Returns a vector of this one FSA; nothing is copied.
    #[inline]
    pub fn into_vec(self) -> FsaVec {
        self.0
    }
}

/// Creates an FSA of arcs that are written as tuples.
#[cfg(test)]
pub(crate) fn fsa<T: Copy + Into<Arc>>(num_states: usize, arcs: &[T]) -> Fsa {
    Fsa::from_arcs(num_states, arcs.iter().map(|&arc| arc.into()).collect::<Vec<_>>()).expect("a valid FSA")
}

/// An FSA or a vector of FSAs, if the kind is known only at run time.
#[derive(Debug, Clone, PartialEq)]
pub enum FsaOrVec {
    /// One FSA.
    Fsa(Fsa),
    /// Any number of FSAs.
    FsaVec(FsaVec),
}

/// Input of an algorithm that works on each FSA: [`Fsa`], [`FsaVec`] or [`FsaOrVec`]; the algorithm
/// returns the same kind.
pub trait Fsas: Clone + Into<FsaOrVec> + sealed::Sealed {
    /// Output of an algorithm that takes this and a `B`: one FSA for two, a vector if either is
    /// one.
    type With<B: Fsas>: Fsas;

    /// Returns the FSAs as a vector; nothing is copied.
    fn as_fsa_vec(&self) -> &FsaVec;

    /// Returns `true` if it is one FSA and no vector.
    fn is_single(&self) -> bool;

    /// Returns `made`, which has as many FSAs as this, as this kind.
    #[doc(hidden)]
    fn same_kind(&self, made: FsaVec) -> Self;

    /// Returns `made`, the result of this and `other`, as the kind that both together have.
    #[doc(hidden)]
    fn common_kind<B: Fsas>(&self, other: &B, made: FsaVec) -> Self::With<B>;
}

impl Fsas for FsaVec {
    type With<B: Fsas> = Self;

    fn common_kind<B: Fsas>(&self, _: &B, made: FsaVec) -> Self {
        made
    }

    #[inline]
    fn is_single(&self) -> bool {
        false
    }

    #[inline]
    fn as_fsa_vec(&self) -> &FsaVec {
        self
    }

    fn same_kind(&self, made: FsaVec) -> Self {
        made
    }
}

impl Fsas for Fsa {
    type With<B: Fsas> = B;

    fn common_kind<B: Fsas>(&self, other: &B, made: FsaVec) -> B {
        other.same_kind(made)
    }

    #[inline]
    fn is_single(&self) -> bool {
        true
    }

    #[inline]
    fn as_fsa_vec(&self) -> &FsaVec {
        &self.0
    }

    fn same_kind(&self, made: FsaVec) -> Self {
        debug_assert_eq!(made.num_fsas(), 1);
        Self(made)
    }
}

impl Fsas for FsaOrVec {
    fn is_single(&self) -> bool {
        matches!(self, Self::Fsa(_))
    }

    type With<B: Fsas> = Self;

    fn common_kind<B: Fsas>(&self, other: &B, made: FsaVec) -> Self {
        match self {
            Self::Fsa(_) => other.same_kind(made).into(),
            Self::FsaVec(_) => Self::FsaVec(made),
        }
    }

    fn as_fsa_vec(&self) -> &FsaVec {
        match self {
            Self::Fsa(fsa) => fsa.as_fsa_vec(),
            Self::FsaVec(vec) => vec,
        }
    }

    fn same_kind(&self, made: FsaVec) -> Self {
        match self {
            Self::Fsa(fsa) => Self::Fsa(fsa.same_kind(made)),
            Self::FsaVec(_) => Self::FsaVec(made),
        }
    }
}

impl From<Fsa> for FsaOrVec {
    fn from(fsa: Fsa) -> Self {
        Self::Fsa(fsa)
    }
}

impl From<FsaVec> for FsaOrVec {
    fn from(vec: FsaVec) -> Self {
        Self::FsaVec(vec)
    }
}

impl From<Fsa> for FsaVec {
    fn from(fsa: Fsa) -> Self {
        fsa.0
    }
}

/// Only this crate's types are FSAs.
mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::core::fsa::Fsa {}
    impl Sealed for crate::core::fsa::FsaVec {}
    impl Sealed for crate::core::fsa::FsaOrVec {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arc(src: i32, dest: i32, label: i32) -> Arc {
        Arc::new(src, dest, label, 0.0)
    }

    #[test]
    fn what_is_not_valid_cannot_be_made() {
        let of = |num_states, arcs: &[Arc]| Fsa::from_arcs(num_states, arcs.to_vec()).map(|_| ());
        assert_eq!(of(0, &[]), Ok(()));
        assert_eq!(of(1, &[]), Err(Error::SingleState { fsa: 0 }));
        assert_eq!(of(2, &[]), Ok(()));
        assert_eq!(of(2, &[arc(0, 1, -1)]), Ok(()));
        assert_eq!(of(2, &[arc(0, 1, 3)]), Err(Error::FinalLabel { fsa: 0, arc: 0, dest_state: 1, label: 3 }));
        assert_eq!(of(3, &[arc(0, 1, -1)]), Err(Error::FinalLabel { fsa: 0, arc: 0, dest_state: 1, label: -1 }));
        assert_eq!(of(3, &[arc(0, 1, -2)]), Err(Error::Label { fsa: 0, arc: 0, label: -2 }));
        assert_eq!(of(3, &[arc(0, 3, 1)]), Err(Error::DestState { fsa: 0, arc: 0, found: 3, num_states: 3 }));
        assert_eq!(of(3, &[arc(0, -1, 1)]), Err(Error::DestState { fsa: 0, arc: 0, found: -1, num_states: 3 }));
        assert_eq!(of(3, &[arc(2, 1, 1)]), Err(Error::FinalStateLeft { fsa: 0, arc: 0 }));
        assert_eq!(of(3, &[arc(1, 1, 1), arc(0, 1, 1)]), Err(Error::UnsortedArcs { arc: 1, found: 0, before: 1 }));
        assert!(matches!(of(2, &[arc(-1, 1, -1)]), Err(Error::Ragged(_))));
        assert!(matches!(of(2, &[Arc::new(0, 1, -1, f32::NAN)]), Err(Error::Score { arc: 0, .. })));
        assert!(of(2, &[Arc::new(0, 1, -1, f32::NEG_INFINITY)]).is_ok());
        let shape = RaggedShape::new([RowSplits::new(vec![0, 1, 1]).unwrap()]).unwrap();
        let wrong_row = Ragged::new(shape, vec![arc(1, 1, -1)]).unwrap();
        assert_eq!(Fsa::new(wrong_row), Err(Error::SourceState { fsa: 0, arc: 0, expected: 0, found: 1 }));
    }

    #[test]
    fn vectors_are_made_of_fsas_and_taken_apart() {
        let a = Fsa::from_arcs(3, vec![arc(0, 1, 1), arc(0, 2, -1), arc(1, 1, 2)]).unwrap();
        let b = Fsa::from_arcs(2, vec![arc(0, 1, -1)]).unwrap();
        let both = FsaVec::from_fsas(&[a.clone(), Fsa::empty(), b.clone()]).unwrap();
        assert_eq!((both.num_fsas(), both.num_states(), both.num_arcs()), (3, 5, 4));
        assert_eq!([both.get(0).unwrap(), both.get(1).unwrap(), both.get(2).unwrap()], [a, Fsa::empty(), b.clone()]);
        assert!(both.get(3).is_err());
        let (turned, map) = both.index(&[2, 0, 2]).unwrap();
        assert_eq!((turned.get(0).unwrap(), map), (b, vec![3, 0, 1, 2, 3]));
        assert_eq!(both.entering_arcs().rows().collect::<Vec<_>>(), [&[][..], &[0, 2], &[1], &[], &[3]]);
    }

    #[test]
    fn other_scores_keep_what_is_known() {
        let a = Fsa::from_arcs(2, vec![arc(0, 1, -1)]).unwrap();
        let b = a.with_scores(&[2.5]).unwrap();
        assert!(Shared::ptr_eq(&a.0.topology, &b.0.topology) && b.scores() == [2.5]);
        assert!(a.with_scores(&[]).is_err() && a.with_scores(&[f32::NAN]).is_err());
    }

    #[test]
    fn properties_of_no_states() {
        assert_eq!(Fsa::empty().properties().bits(), 509);
        assert_eq!(FsaVec::empty().properties(), Properties::ALL);
    }
}
