//! Runs algorithms, which work on one FSA at a time, over all FSAs, and concatenates the results.

use ragged_core::{Ragged, RaggedShape, RowSplits};

use crate::core::arc::Arc;
use crate::core::each_fsa::for_each;
use crate::core::fsa::{FsaVec, Fsas};
use crate::core::view::FsaView;
use crate::error::{Error, Quantity};
use crate::support::ids::id;
use crate::support::slots::{Slot, SlotVec};
use crate::support::threads::for_each_job;

/// Builds an FSA state by state: the arcs, and the end of each state's arcs.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct SortedFsaBuilder {
    /// For each state, the number of arcs up to its last one.
    pub(crate) ends: Vec<usize>,
    /// The arcs in the order of the states that they leave.
    pub(crate) arcs: Vec<Arc>,
}

impl SortedFsaBuilder {
    /// Allocates memory for that many states and arcs.
    pub(crate) fn with_capacity(states: usize, arcs: usize) -> Self {
        Self { ends: Vec::with_capacity(states), arcs: Vec::with_capacity(arcs) }
    }

    /// Ends the arcs of a state.
    #[inline]
    pub(crate) fn end_state(&mut self) {
        self.ends.push(self.arcs.len());
    }

    /// Returns the offset at which the arcs of each state begin, and the total, as an [`FsaView`]
    /// has them.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(crate) fn splits(&self) -> Result<Vec<i32>, Error> {
        Error::fit(Quantity::Arcs, self.arcs.len())?;
        let mut splits = Vec::with_capacity(self.ends.len() + 1);
        splits.push(0);
        splits.extend(self.ends.iter().map(|&end| id(end)));
        Ok(splits)
    }

    /// Returns the number of states and arcs.
    fn size(&self) -> Size {
        Size { states: self.ends.len(), arcs: self.arcs.len() }
    }

    /// Concatenates the parts into one vector. They must be valid FSAs.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(crate) fn assemble(parts: Vec<Self>) -> Result<FsaVec, Error> {
        Ok(assemble(parts.into_iter().map(|builder| (builder, [])).collect())?.0)
    }
}

/// For each arc of a part, the arc that it comes from, or -1.
pub(crate) struct ArcMap {
    /// Arcs of the FSA from which the part is made, counted within that FSA.
    map: Vec<i32>,
    /// Index of the first arc of that FSA among the arcs of all.
    first_arc: i32,
}

impl ArcMap {
    /// Creates a map to the arcs of `fsa`.
    pub(crate) fn new(fsa: FsaView<'_>, map: Vec<i32>) -> Self {
        Self { map, first_arc: id(fsa.first_arc()) }
    }

    /// Returns the same map, counted among the arcs of all FSAs.
    fn of_all(&self) -> impl ExactSizeIterator<Item = i32> {
        self.map.iter().map(|&arc| if arc < 0 { arc } else { arc + self.first_arc })
    }
}

/// Concatenates the parts into one vector, with one arc map for each map of a part. They must be
/// valid FSAs.
///
/// # Errors
/// [`Error::TooLarge`].
pub(crate) fn assemble<const N: usize>(
    parts: Vec<(SortedFsaBuilder, [ArcMap; N])>,
) -> Result<(FsaVec, [Vec<i32>; N]), Error> {
    match <[_; 1]>::try_from(parts) {
        // Arcs are not copied.
        Ok([(builder, maps)]) => {
            let splits = checked_splits([builder.size()].into_iter())?;
            let maps = maps.map(|map| if map.first_arc == 0 { map.map } else { map.of_all().collect() });
            Ok((concatenated(splits, builder.splits()?, builder.arcs)?, maps))
        }
        Err(parts) => {
            let num_arcs: usize = parts.iter().map(|(builder, _)| builder.size().arcs).sum();
            let sizes = parts.iter().map(|(builder, _)| builder.size()).collect();
            write_each(num_arcs / COPY, sizes, parts, |_, builder, place| {
                copy(builder, place);
                Ok(())
            })
        }
    }
}

/// Writes a part behind others, with its arc maps. The part is freed at once, by the thread that
/// has just read it.
fn copy<const N: usize>((builder, maps): (SortedFsaBuilder, [ArcMap; N]), mut place: FsaSlot<'_, N>) {
    let first = place.first_arc;
    place.splits.extend(builder.ends.iter().map(|end| id(first + end)));
    place.arcs.extend(builder.arcs.iter().copied());
    for (slot, map) in place.maps.iter_mut().zip(&maps) {
        debug_assert_eq!(builder.size().arcs, map.map.len(), "one source for each arc");
        slot.extend(map.of_all());
    }
}

/// Runs `run` on each job and returns the results as one vector with its arc maps. Several threads
/// are used if going through `num_arcs` is worth it.
///
/// # Errors
/// The error of the first job that has one; [`Error::TooLarge`].
pub(crate) fn make_each<J: Send, const N: usize>(
    num_arcs: usize,
    jobs: impl ExactSizeIterator<Item = J>,
    run: impl Fn(usize, J) -> Result<(SortedFsaBuilder, [ArcMap; N]), Error> + Sync,
) -> Result<(FsaVec, [Vec<i32>; N]), Error> {
    assemble(for_each_job(num_arcs, jobs, run)?)
}

/// Lists of arcs from which the arcs of an FSA come, one after another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lists {
    /// Offset at which each list begins, and the end of the last one.
    pub(crate) splits: Vec<i32>,
    /// Arcs, counted among the arcs of all FSAs.
    pub(crate) arcs: Vec<i32>,
}

impl Default for Lists {
    fn default() -> Self {
        Self { splits: vec![0], arcs: vec![] }
    }
}

impl Lists {
    /// Returns no lists, with memory for so many lists of one entry each.
    pub(crate) fn with_capacity(lists: usize) -> Self {
        let mut splits = Vec::with_capacity(lists + 1);
        splits.push(0);
        Self { splits, arcs: Vec::with_capacity(lists) }
    }

    fn into_ragged(self) -> Result<Ragged<i32>, Error> {
        Ok(Ragged::new(RaggedShape::new([RowSplits::new(self.splits)?])?, self.arcs)?)
    }

    /// Concatenates the lists of all FSAs into one arc map; the lists of a single FSA are not
    /// copied.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(crate) fn assemble(mut lists: Vec<Self>) -> Result<Ragged<i32>, Error> {
        if lists.len() == 1 {
            return lists.swap_remove(0).into_ragged();
        }
        let num_entries: usize = lists.iter().map(|of_one| of_one.arcs.len()).sum();
        let mut slots = ListSlots::new(lists.iter().map(|of_one| (of_one.splits.len() - 1, of_one.arcs.len())))?;
        for_each_job(num_entries / COPY, lists.iter().zip(slots.each()), |_, (of_one, mut place)| {
            place.copy(of_one);
            Ok(())
        })?;
        slots.finish()
    }
}

/// Builds an arc map of lists, with a slot for each FSA.
pub(crate) struct ListSlots {
    splits: SlotVec<i32>,
    arcs: SlotVec<i32>,
    /// For each FSA, the number of entries in the lists before its own.
    firsts: Vec<i32>,
}

impl ListSlots {
    /// Creates slots for FSAs with so many lists, and so many entries in all of them.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(crate) fn new(sizes: impl Iterator<Item = (usize, usize)> + Clone) -> Result<Self, Error> {
        let mut num_entries = 0;
        let mut firsts = Vec::new();
        for (_, entries) in sizes.clone() {
            firsts.push(Error::fit(Quantity::ArcMapEntries, num_entries)?);
            num_entries += entries;
        }
        Error::fit(Quantity::ArcMapEntries, num_entries)?;
        let splits = SlotVec::new(std::iter::once(1).chain(sizes.clone().map(|(lists, _)| lists)));
        Ok(Self { splits, arcs: SlotVec::new(sizes.map(|(_, entries)| entries)), firsts })
    }

    /// Returns the slot of each FSA.
    pub(crate) fn each(&mut self) -> impl ExactSizeIterator<Item = ListSlot<'_>> + Send {
        let mut splits = self.splits.each();
        splits.next().into_iter().for_each(|mut first| first.push(0));
        let slots = self.firsts.iter().zip(splits).zip(self.arcs.each());
        slots.map(|((&first, splits), arcs)| ListSlot { first, splits, arcs })
    }

    /// Returns the arc map.
    ///
    /// # Errors
    /// None, if the slots are full.
    pub(crate) fn finish(self) -> Result<Ragged<i32>, Error> {
        Lists { splits: self.splits.finish(), arcs: self.arcs.finish() }.into_ragged()
    }
}

/// Slot into which the lists of one FSA are written.
pub(crate) struct ListSlot<'a> {
    first: i32,
    splits: Slot<'a, i32>,
    arcs: Slot<'a, i32>,
}

impl ListSlot<'_> {
    /// Appends entries to a list.
    #[inline(always)]
    pub(crate) fn extend(&mut self, arcs: &[i32]) {
        self.arcs.extend(arcs.iter().copied());
    }

    /// Ends a list.
    #[inline(always)]
    pub(crate) fn end_list(&mut self) {
        self.splits.push(self.first + id(self.arcs.len()));
    }

    /// Appends all lists at once.
    fn copy(&mut self, lists: &Lists) {
        self.splits.extend(lists.splits[1..].iter().map(|split| self.first + split));
        self.extend(&lists.arcs);
    }
}

/// Copying the data of an arc is faster by this factor than finding it.
const COPY: usize = 16;

/// Size that an FSA is going to have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) states: usize,
    pub(crate) arcs: usize,
}

/// Slot into which one FSA of several is written, with its arc maps, which count among all arcs.
pub(crate) struct FsaSlot<'a, const N: usize> {
    /// Number of arcs of the FSAs before.
    first_arc: usize,
    splits: Slot<'a, i32>,
    arcs: Slot<'a, Arc>,
    maps: [Slot<'a, i32>; N],
}

impl<const N: usize> FsaSlot<'_, N> {
    /// Appends an arc, and the arcs that it comes from.
    #[inline(always)]
    pub(crate) fn push(&mut self, arc: Arc, from: [i32; N]) {
        self.push_if(true, arc, from);
    }

    /// Appends an arc, if `keep`, without a branch.
    #[inline(always)]
    pub(crate) fn push_if(&mut self, keep: bool, arc: Arc, from: [i32; N]) {
        self.arcs.push_if(keep, arc);
        self.maps.iter_mut().zip(from).for_each(|(map, from)| map.push_if(keep, from));
    }

    /// Ends the arcs of a state.
    #[inline(always)]
    pub(crate) fn end_state(&mut self) {
        self.splits.push(id(self.next_arc()));
    }

    /// Returns the index of the next arc among all arcs.
    #[inline(always)]
    pub(crate) fn next_arc(&self) -> usize {
        self.first_arc + self.arcs.len()
    }
}

impl FsaSlot<'_, 1> {
    /// Copies an FSA as it is.
    fn copy(&mut self, fsa: FsaView<'_>) {
        self.splits.extend((0..fsa.num_states()).map(|state| id(self.first_arc + fsa.arc_range(state).end)));
        self.arcs.extend(fsa.arcs().iter().copied());
        self.maps[0].extend((0..fsa.arcs().len()).map(|arc| id(fsa.first_arc() + arc)));
    }
}

/// Runs `write` on each plan, with its slot of the given size. Several threads are used if going
/// through `num_arcs` is worth it.
///
/// # Errors
/// [`Error::TooLarge`]; the error of the first plan that has one.
pub(crate) fn write_each<P: Send, const N: usize>(
    num_arcs: usize,
    sizes: Vec<Size>,
    plans: Vec<P>,
    write: impl Fn(usize, P, FsaSlot<'_, N>) -> Result<(), Error> + Sync,
) -> Result<(FsaVec, [Vec<i32>; N]), Error> {
    let mut output = Output::new(sizes)?;
    let places = output.places();
    for_each_job(num_arcs, plans.into_iter().zip(places), |i, (plan, place)| write(i, plan, place))?;
    output.finish()
}

/// Builds concatenated FSAs and their arc maps, with a slot for each FSA.
struct Output<const N: usize> {
    sizes: Vec<Size>,
    state_splits: RowSplits,
    splits: SlotVec<i32>,
    arcs: SlotVec<Arc>,
    maps: [SlotVec<i32>; N],
}

impl<const N: usize> Output<N> {
    /// Allocates memory for FSAs of these sizes.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    fn new(sizes: Vec<Size>) -> Result<Self, Error> {
        let by_arcs = || sizes.iter().map(|size| size.arcs);
        Ok(Self {
            state_splits: checked_splits(sizes.iter().copied())?,
            splits: SlotVec::new(std::iter::once(1).chain(sizes.iter().map(|size| size.states))),
            arcs: SlotVec::new(by_arcs()),
            maps: [(); N].map(|()| SlotVec::new(by_arcs())),
            sizes,
        })
    }

    /// Returns the slot of each FSA.
    fn places(&mut self) -> impl ExactSizeIterator<Item = FsaSlot<'_, N>> + Send {
        let Self { sizes, splits, arcs, maps, .. } = self;
        let mut splits = splits.each();
        splits.next().into_iter().for_each(|mut first| first.push(0));
        let mut maps = maps.each_mut().map(|maps| maps.each());
        let mut first_arc = 0;
        splits.zip(arcs.each()).zip(sizes).map(move |((splits, arcs), size)| {
            let maps = maps.each_mut().map(|maps| maps.next().expect("as many as FSAs"));
            first_arc += size.arcs;
            FsaSlot { first_arc: first_arc - size.arcs, splits, arcs, maps }
        })
    }

    /// Returns the FSAs and their arc maps.
    ///
    /// # Errors
    /// None, if all slots are full.
    fn finish(self) -> Result<(FsaVec, [Vec<i32>; N]), Error> {
        let Self { state_splits, splits, arcs, maps, .. } = self;
        Ok((concatenated(state_splits, splits.finish(), arcs.finish())?, maps.map(SlotVec::finish)))
    }
}

/// Returns the row splits of the states of FSAs.
///
/// # Errors
/// [`Error::TooLarge`], also if the arcs are too many.
fn checked_splits(sizes: impl ExactSizeIterator<Item = Size> + Clone) -> Result<RowSplits, Error> {
    Error::fit(Quantity::Arcs, sizes.clone().map(|size| size.arcs).sum())?;
    let mut splits = Vec::with_capacity(sizes.len() + 1);
    splits.push(0);
    let mut num_states = 0;
    for size in sizes {
        num_states += size.states;
        splits.push(Error::fit(Quantity::States, num_states)?);
    }
    Ok(RowSplits::new(splits)?)
}

fn concatenated(state_splits: RowSplits, arc_splits: Vec<i32>, arcs: Vec<Arc>) -> Result<FsaVec, Error> {
    let shape = RaggedShape::new([state_splits, RowSplits::new(arc_splits)?])?;
    Ok(FsaVec::trusted(Ragged::new(shape, arcs)?))
}

/// Runs `run` on each FSA and returns the FSAs that it makes, with its other results.
pub(crate) fn map_fsas<T: Send>(
    fsas: &FsaVec,
    run: impl Fn(usize, FsaView<'_>) -> Result<(SortedFsaBuilder, T), Error> + Sync,
) -> Result<(FsaVec, Vec<T>), Error> {
    let (parts, rest): (Vec<_>, _) =
        for_each(fsas, run)?.into_iter().map(|(builder, rest)| ((builder, []), rest)).unzip();
    Ok((assemble(parts)?.0, rest))
}

/// [`map_fsas`] for algorithms that map arcs to arcs: `run` returns for each arc the arc of its FSA
/// that it comes from, or -1. All of them are returned as one arc map.
pub(crate) fn map_arcs(
    fsas: &FsaVec,
    run: impl Fn(usize, FsaView<'_>) -> Result<(SortedFsaBuilder, Vec<i32>), Error> + Sync,
) -> Result<(FsaVec, Vec<i32>), Error> {
    let parts = for_each(fsas, |i, fsa| run(i, fsa).map(|(builder, map)| (builder, [ArcMap::new(fsa, map)])))?;
    let (made, [map]) = assemble(parts)?;
    Ok((made, map))
}

/// For algorithms that know the size of each FSA before they write it, and may find nothing to do:
/// `plan` returns `None` for an FSA that stays as it is, else the size and the input of `write`.
/// The arc map that `write` returns counts among the arcs of all FSAs. If all FSAs stay, the input
/// itself is returned.
pub(crate) fn map_arcs_if_needed<F: Fsas, P: Send>(
    fsas: &F,
    plan: impl Fn(usize, FsaView<'_>) -> Result<Option<(Size, P)>, Error> + Sync,
    write: impl Fn(usize, FsaView<'_>, P, &mut FsaSlot<'_, 1>) -> Result<(), Error> + Sync,
) -> Result<(F, Vec<i32>), Error> {
    let all = fsas.as_fsa_vec();
    let plans = for_each(all, plan)?;
    if plans.iter().all(Option::is_none) {
        return Ok((fsas.clone(), identity(all.num_arcs())));
    }
    let as_is = |fsa: FsaView<'_>| Size { states: fsa.num_states(), arcs: fsa.arcs().len() };
    let sizes = plans.iter().zip(all.iter()).map(|(plan, fsa)| plan.as_ref().map_or_else(|| as_is(fsa), |plan| plan.0));
    let sizes = sizes.collect();
    let plans = plans.into_iter().zip(all.iter()).collect();
    let (made, [map]) = write_each(all.num_arcs(), sizes, plans, |i, (plan, fsa), mut place| match plan {
        None => {
            place.copy(fsa);
            Ok(())
        }
        Some((_, plan)) => write(i, fsa, plan, &mut place),
    })?;
    Ok((fsas.same_kind(made), map))
}

/// Returns the arc map of `len` arcs that each come from themselves; `len` is a number of arcs,
/// which fits.
pub(crate) fn identity(len: usize) -> Vec<i32> {
    (0..).take(len).collect()
}

/// Concatenates vectors; a single one is not copied.
pub(crate) fn flatten<T: Clone>(mut vectors: Vec<Vec<T>>) -> Vec<T> {
    if vectors.len() == 1 { vectors.swap_remove(0) } else { vectors.concat() }
}
