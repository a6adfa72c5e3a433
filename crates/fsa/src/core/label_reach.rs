//! The labels that each state of a transducer can reach.

/// For each state, the output labels (or input labels) that can come next behind it, after any
/// number of epsilons, as intervals of numbers: labels are numbered so that the sets are few
/// intervals. Files of OpenFst's types `olabel_lookahead` and `ilabel_lookahead` hold it.
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "LabelReachableData")]
pub struct LabelReach {
    /// `true` if the labels are input labels.
    of_input: bool,
    /// The number that stands for the end of a path; -1 if no state reaches it.
    final_label: i32,
    /// End of each state's intervals, which begin where those of the state before end.
    ends: Vec<u32>,
    /// Intervals, with their ends excluded, disjoint and ascending within a state.
    intervals: Vec<[i32; 2]>,
}

impl LabelReach {
    /// Creates the sets of some states, whose intervals end at `ends`.
    pub(crate) fn from_parts(of_input: bool, final_label: i32, ends: Vec<u32>, intervals: Vec<[i32; 2]>) -> Self {
        Self { of_input, final_label, ends, intervals }
    }

    /// Returns `true` if input labels are meant, `false` for output labels.
    #[doc(alias = "ReachInput")]
    pub fn of_input(&self) -> bool {
        self.of_input
    }

    /// Returns the label that stands for the end of a path, -1 if there is none.
    #[doc(alias = "FinalLabel")]
    pub fn final_label(&self) -> i32 {
        self.final_label
    }

    /// Returns the number of states.
    pub fn num_states(&self) -> usize {
        self.ends.len()
    }

    /// Returns the intervals, `[first, end]` with the end excluded, of the labels that a state can
    /// reach, in ascending order.
    ///
    /// # Panics
    /// If there is no such state.
    #[inline]
    pub fn intervals(&self, state: u32) -> &[[i32; 2]] {
        let first = state.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.intervals[first as usize..self.ends[state as usize] as usize]
    }

    /// Returns `true` if a state can reach a label.
    ///
    /// # Panics
    /// If there is no such state.
    #[inline]
    pub fn reaches(&self, state: u32, label: i32) -> bool {
        contains(self.intervals(state), label)
    }

    /// Returns the number of bytes in memory.
    pub fn num_bytes(&self) -> usize {
        self.ends.capacity() * size_of::<u32>() + self.intervals.capacity() * size_of::<[i32; 2]>()
    }
}

/// Returns `true` if a label is in one of some ascending intervals.
#[inline]
pub(crate) fn contains(intervals: &[[i32; 2]], label: i32) -> bool {
    let after = intervals.partition_point(|&[first, _]| first <= label);
    after.checked_sub(1).is_some_and(|last| label < intervals[last][1])
}
