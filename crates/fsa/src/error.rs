//! Errors of FSAs and of the operations on them.

pub(crate) mod kinds;
pub(crate) mod parse;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

pub use kinds::{AttributeProblem, Limited, LookAheadProblem, Operation, Quantity, TensorProblem};

/// All errors of this crate, with the values that were rejected.
///
/// `fsa` is the index of the FSA in its vector; `state` and `arc` are counted within the FSA.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An FSA with a single state, which would be both start and final state. A valid FSA has no
    /// states, or two or more.
    #[error("FSA {fsa} has a single state; it needs none, or a start and a final state")]
    SingleState {
        /// Index of the FSA.
        fsa: usize,
    },
    /// An arc stored in the row of a state other than its source state.
    #[error("FSA {fsa}: arc {arc} leaves state {found}, but stands among the arcs of state {expected}")]
    SourceState {
        /// Index of the FSA.
        fsa: usize,
        /// Index of the arc in the FSA.
        arc: usize,
        /// The state in whose row it is stored.
        expected: usize,
        /// The state that it names.
        found: i32,
    },
    /// An arc into a state that does not exist.
    #[error("FSA {fsa}: arc {arc} enters state {found}, but there are {num_states} states")]
    DestState {
        /// Index of the FSA.
        fsa: usize,
        /// Index of the arc in the FSA.
        arc: usize,
        /// The state that it names.
        found: i32,
        /// Number of states.
        num_states: usize,
    },
    /// Arcs that are not sorted by source state.
    #[error(
        "arc {arc} leaves state {found} and stands behind one that leaves state {before}; arcs come in the order of the states \
         that they leave: sort them, or use FsaBuilder, which takes any order"
    )]
    UnsortedArcs {
        /// Index of the arc.
        arc: usize,
        /// The state that it leaves.
        found: i32,
        /// The state that the arc before it leaves.
        before: i32,
    },
    /// An arc or a final score of a state that was not added to a builder.
    #[error("arc {arc} (final states come behind all others) names state {state}, but {num_states} states were added")]
    NoState {
        /// Index of the arc, in the order in which arcs were added.
        arc: usize,
        /// The state that it names.
        state: i32,
        /// Number of states.
        num_states: usize,
    },
    /// Arcs that were given as a path, but do not form one.
    #[error("arc {arc} is no arc that leaves state {state}, to which the arcs of the path before it lead")]
    NotAPath {
        /// The arc.
        arc: i32,
        /// The state.
        state: i32,
    },
    /// An arc that leaves the final state, which is the last one.
    #[error("FSA {fsa}: arc {arc} leaves the final state, which is the last one")]
    FinalStateLeft {
        /// Index of the FSA.
        fsa: usize,
        /// Index of the arc in the FSA.
        arc: usize,
    },
    /// The label -1 on an arc that does not enter the final state, or another label on one that
    /// does.
    #[error(
        "FSA {fsa}: arc {arc} enters state {dest_state} with label {label}; -1 stands on all arcs into the \
         final state, which is the last one, and on no other; FsaBuilder adds such a state"
    )]
    FinalLabel {
        /// Index of the FSA.
        fsa: usize,
        /// Index of the arc in the FSA.
        arc: usize,
        /// The state that it enters.
        dest_state: i32,
        /// Its label.
        label: i32,
    },
    /// A label below -1.
    #[error("FSA {fsa}: arc {arc} has label {label}; labels are -1, 0 or above")]
    Label {
        /// Index of the FSA.
        fsa: usize,
        /// Index of the arc in the FSA.
        arc: usize,
        /// Its label.
        label: i32,
    },
    /// A score that is NaN or plus infinity, with which no total could be formed.
    #[error("arc {arc} has the score {score}; a score is a finite number or -inf")]
    Score {
        /// Index of the arc, counted over all FSAs.
        arc: usize,
        /// Its score.
        score: f32,
    },
    /// A ragged tensor of arcs with the wrong number of axes.
    #[error("{what} needs {expected} axes, but there are {found}")]
    Axes {
        /// The object to be built.
        what: Quantity,
        /// The number of axes that it needs.
        expected: usize,
        /// The number of axes given.
        found: usize,
    },
    /// Numbers of things that must be equal.
    #[error("{what} must be {expected}, but it is {found}")]
    Size {
        /// The quantity with the wrong size.
        what: Quantity,
        /// The right size.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// More states or arcs than 32-bit indexes can represent.
    #[error("{what} would be {size}, but at most {} fit; split the work in parts", i32::MAX)]
    TooLarge {
        /// The quantity that is too large.
        what: Quantity,
        /// Its size.
        size: u64,
    },
    /// An arc map that names an arc that does not exist.
    #[error("the arc map names arc {found} at position {position}, but there are {num_arcs} arcs (-1 is none)")]
    ArcMap {
        /// Position of the entry in the arc map.
        position: usize,
        /// The arc that it names.
        found: i32,
        /// Number of arcs.
        num_arcs: usize,
    },
    /// An attribute of a kind that the operation cannot take.
    #[error("{problem}")]
    Attribute {
        /// The problem.
        problem: AttributeProblem,
    },
    /// An attribute that cannot be kept, because an arc of the result stands for several arcs whose
    /// values may differ.
    #[error(
        "the attribute {name:?} cannot follow, as an arc of the result stands for many; take it out before with Graph::without, or use \
         Graph::determinize, which makes lists"
    )]
    LostAttribute {
        /// Its name.
        name: String,
    },
    /// An arc that does not go to a later state, in an operation that needs topologically sorted
    /// states.
    #[error(
        "FSA {fsa}: arc {arc} goes from state {src_state} to state {dest_state}; all must go to later ones: sort with top_sort, remove loops"
    )]
    NotTopSorted {
        /// Index of the FSA.
        fsa: usize,
        /// Index of the arc in the FSA.
        arc: usize,
        /// The state that it leaves.
        src_state: i32,
        /// The state that it enters, which is the same or an earlier one.
        dest_state: i32,
    },
    /// A total score above everything that the type of number can hold.
    #[error("FSA {fsa}: the scores add up to more than the type of number holds; use f64, or smaller scores")]
    Overflow {
        /// Index of the FSA.
        fsa: usize,
    },
    /// Scores that grow without end around a cycle.
    #[error(
        "FSA {fsa}: after {visits} visits to states scores still grow: a cycle at state {state} has a score that adds up without end"
    )]
    EndlessCycle {
        /// Index of the FSA.
        fsa: usize,
        /// A state whose score still grew.
        state: usize,
        /// Number of visits made.
        visits: u64,
    },
    /// A cycle of more than one state, in an operation that has to order the states.
    #[error(
        "FSA {fsa} has a cycle through the states {}; an order of states needs that all cycles are self-loops", Shown(.states)
    )]
    Cycle {
        /// Index of the FSA.
        fsa: usize,
        /// The states of one cycle, in the order in which its arcs go.
        states: Vec<i32>,
    },
    /// An arc that enters the start state from a state that cannot be reached. The start state
    /// would have to be the first, and is not.
    #[error("FSA {fsa}: arc {arc} enters the start state from one that cannot be reached; connect it first")]
    StartEntered {
        /// Index of the FSA.
        fsa: usize,
        /// Index of the arc in the FSA.
        arc: usize,
    },
    /// A number outside the valid range.
    #[error("{what} must be within {min} and {max}, but it is {found}")]
    OutOfRange {
        /// The quantity that has this number.
        what: Quantity,
        /// The smallest valid number.
        min: i64,
        /// The largest valid number.
        max: i64,
        /// The number found.
        found: i64,
    },
    /// A symbol from which no graph can be built.
    #[error("symbol {symbol} at position {position}: symbols are {least} or above")]
    Symbol {
        /// Position of the symbol among all symbols.
        position: usize,
        /// The symbol.
        symbol: i32,
        /// The smallest valid symbol.
        least: i32,
    },
    /// An FSA that accepts more, or less, than one string.
    #[error("FSA {fsa} is not linear: state {state} has not exactly one arc, to the next state")]
    NotLinear {
        /// Index of the FSA.
        fsa: usize,
        /// The state.
        state: usize,
    },
    /// A line of a text that is read line by line.
    #[error("{what}, line {line}: {problem}{}{found}", if found.is_empty() { "" } else { ": " })]
    Line {
        /// Name of the kind of text.
        what: &'static str,
        /// The line, from 1.
        line: usize,
        /// The problem.
        problem: &'static str,
        /// The text found there.
        found: String,
    },
    /// A text that could not be read to its end.
    #[error("{what}, line {line}: {problem}")]
    Read {
        /// Name of the kind of text.
        what: &'static str,
        /// The line, from 1.
        line: usize,
        /// Message of the operating system.
        problem: String,
    },
    /// An error in a file.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The problem.
        error: Box<Error>,
    },
    /// A file that cannot be read.
    #[error("{problem}")]
    Unreadable {
        /// Message of the operating system.
        problem: String,
    },
    /// A file in an unsupported format.
    #[error("it is {format}, which is not read: {remedy}")]
    Foreign {
        /// The format.
        format: &'static str,
        /// Advice how to proceed.
        remedy: &'static str,
    },
    /// A language model that has none of the requested words.
    #[error(
        "the language model has none of the words, such as '{wanted}'; its own are such as '{own}'{}",
        if *other_case { ": they differ in case, so write both in lower case or both in upper case" } else { "" }
    )]
    NoSharedWord {
        /// One of the words.
        wanted: String,
        /// One of the model's words.
        own: String,
        /// `true` if the words differ only in case.
        other_case: bool,
    },
    /// A decoding graph without words.
    #[error("the graph outputs no word: it has nothing but the empty sentence")]
    NoWords,
    /// More n-grams than the header of the model counts.
    #[error("the model has {found} n-grams of order {order}, but says that it has {expected}")]
    NgramCount {
        /// The number of words of the n-grams.
        order: usize,
        /// The number that the header declares.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// A language model without an end of sentences: it has no sentence at all.
    #[error("no n-gram of the model ends a sentence")]
    NoSentence,
    /// The same word at both ends of sentences.
    #[error("the words that begin and end sentences are both {word}; they must differ")]
    SameEnds {
        /// The word.
        word: i32,
    },
    /// A symbol that must be in a table and is not.
    #[error("there is no symbol {symbol:?}")]
    MissingSymbol {
        /// The symbol.
        symbol: String,
    },
    /// Disambiguation symbols that do not come after all other symbols. They must, because they are
    /// removed by their numbers.
    #[error(
        "the {what} go up to {highest}, but the symbols #0, #1, ... begin at {disambiguation}; they must come behind all others"
    )]
    SymbolOrder {
        /// The kind of the other symbols.
        what: &'static str,
        /// The highest number in use.
        highest: i32,
        /// The lowest number of a disambiguation symbol.
        disambiguation: i32,
    },
    /// A probability that is not between 0 and 1.
    #[error("{what} must be above 0 and below 1, but it is {found}")]
    Probability {
        /// The quantity that has this probability.
        what: Quantity,
        /// The number given.
        found: f64,
    },
    /// Weights of models that do not form a mixture.
    #[error("the weights of models are 0 or above and sum to 1, but one of them, or their sum, is {found}")]
    InterpolationWeight {
        /// The weight below 0, or the sum.
        found: f64,
    },
    /// An invalid text, with the place of the error.
    #[error(transparent)]
    Parse(Box<crate::error::parse::ParseError>),
    /// An invalid binary file.
    #[error("byte {offset}: {what}")]
    Binary {
        /// Offset in bytes at which reading stopped.
        offset: usize,
        /// The problem.
        what: &'static str,
    },
    /// An OpenFst binary file of an unsupported type.
    #[error(
        "OpenFst files of type {found:?} are not read, but those of the types vector, const and compact_*: convert it with \
         `fstconvert --fst_type=vector IN OUT`"
    )]
    FileType {
        /// The type.
        found: String,
    },
    /// An OpenFst binary file with an unsupported type of arcs.
    #[error(
        "OpenFst files with arcs of type {found:?} are not read, but those of the types standard, log and log64: convert it with \
         `fstmap --map_type=to_std IN OUT`"
    )]
    ArcType {
        /// The type.
        found: String,
    },
    /// Plain arrays that do not form FSAs.
    #[error("{problem}")]
    Tensor {
        /// The problem.
        problem: TensorProblem,
    },
    /// A symbol or a label that is in the table already.
    #[error("the table has {what} of {symbol:?} and {label} already")]
    RepeatedSymbol {
        /// Names the one that is repeated.
        what: &'static str,
        /// The symbol.
        symbol: String,
        /// The label.
        label: i32,
    },
    /// A label that a table has no symbol for.
    #[error("the table has no symbol for label {label}")]
    NoSymbol {
        /// The label.
        label: i32,
    },
    /// A determinization that reached a limit. If the largest subset is large, or if many labels or
    /// a large score are pending, it would probably never end. Look for cycles whose paths have the
    /// same labels but different scores or output labels, or for homophones without disambiguation
    /// symbols.
    #[error(
        "FSA {fsa}: determinization stopped at its limit of {limit} {limited}, with {states} states and {arcs} arcs so far; the largest subset has \
         {largest_subset} states, pending in the newest one are up to {pending_labels} labels and a score of {pending_score}"
    )]
    DeterminizeLimit {
        /// Index of the FSA.
        fsa: usize,
        /// The limited quantity.
        limited: Limited,
        /// The limit.
        limit: usize,
        /// The number of states made.
        states: usize,
        /// The number of arcs made.
        arcs: usize,
        /// The size of the largest subset of states of the input.
        largest_subset: usize,
        /// Largest number of labels pending in the newest state.
        pending_labels: usize,
        /// Largest score pending in the newest state.
        pending_score: f32,
    },
    /// An operation that reached one of its [`Limits`](crate::Limits).
    #[error(
        "{operation} needs {needed} {limited} or more, with {states} states and {arcs} arcs so far, but its limit is {limit}; raise the limit, or \
         prune what goes in"
    )]
    Limit {
        /// The operation.
        operation: Operation,
        /// The limited quantity.
        limited: Limited,
        /// The limit.
        limit: usize,
        /// Lower bound of the amount needed.
        needed: usize,
        /// The number of states made, or to be made.
        states: usize,
        /// The number of arcs made, or to be made.
        arcs: usize,
    },
    /// An n-gram model that would take more memory than its [`Limits`](crate::Limits) allow.
    #[error(
        "the n-gram model needs {needed} bytes or more, with {ngrams} n-grams so far, but its limit is {limit}; raise the limit, or prune the model"
    )]
    NgramLimit {
        /// The limit, in bytes.
        limit: usize,
        /// Lower bound of the number of bytes needed.
        needed: usize,
        /// Number of n-grams when the limit was reached: of all models of the input or, while
        /// n-grams are collected, of the current order; 0 if the limit is exceeded by a binary file
        /// itself. May include the empty n-gram.
        ngrams: usize,
    },
    /// Two graphs that cannot be composed with look-ahead.
    #[error("state {state}: {problem}")]
    LookAhead {
        /// The state, of HL or of G as the problem says.
        state: usize,
        /// The problem.
        problem: LookAheadProblem,
    },
    /// A transducer with two output strings for one input string, in an operation that keeps one.
    #[error(
        "FSA {fsa}: two paths with the same input, up to label {label}, output {} and {} behind what they have in common; \
         disambiguate to keep the better one, or encode the labels", Shown(.first), Shown(.second)
    )]
    NotFunctional {
        /// Index of the FSA.
        fsa: usize,
        /// The label where the paths meet.
        label: i32,
        /// The output labels of the better path, or the beginning of them.
        first: Vec<i32>,
        /// The output labels of the other path, or the beginning of them.
        second: Vec<i32>,
    },
    /// A cycle with more output than input labels, in an operation that delays output labels to
    /// later arcs.
    #[error(
        "FSA {fsa}: a cycle has more output labels than input labels, so that more than the {labels} labels of any path without cycles would have to \
         wait, and then ever more; determinize with remove_epsilons, which lets none wait"
    )]
    EndlessOutput {
        /// Index of the FSA.
        fsa: usize,
        /// Upper bound of the labels pending on a path without cycles.
        labels: i64,
    },
    /// An operation that needs a best path, on arcs whose weights are summed over all paths.
    #[error(
        "{operation} is not done in the log semiring: it takes the best of several paths, where arcs of the type log mean their sum; \
         if the best is meant, convert them: `fstmap --map_type=to_std IN OUT`"
    )]
    LogSemiring {
        /// The operation.
        operation: Operation,
    },
    /// Two arcs of a state with the same label, in an operation that needs deterministic FSAs.
    #[error("FSA {fsa}: state {state} has two arcs with label {label}; determinize it first")]
    NotDeterministic {
        /// Index of the FSA.
        fsa: usize,
        /// The state.
        state: usize,
        /// The label.
        label: i32,
    },
    /// A lattice without any path from its start to its end.
    #[error("lattice {fsa} has no path")]
    NoPath {
        /// Index of the lattice.
        fsa: usize,
    },
    /// An arc with label 0, in an operation that accepts no epsilons.
    #[error("FSA {fsa}: state {state} has an arc with label 0; remove epsilons first")]
    Epsilons {
        /// Index of the FSA.
        fsa: usize,
        /// The state.
        state: usize,
    },
    /// Shapes that do not fit.
    #[error(transparent)]
    Ragged(#[from] ragged_core::Error),
    /// An utterance that refers to a sequence that does not exist.
    #[error("utterance {utterance} is a segment of sequence {sequence}, but there are {num_sequences} sequences")]
    DenseSequence {
        /// Index of the utterance.
        utterance: usize,
        /// The sequence that it names.
        sequence: usize,
        /// Number of sequences.
        num_sequences: usize,
    },
    /// An utterance that is longer than its sequence.
    #[error(
        "utterance {utterance} has {duration} frames from frame {start} of sequence {sequence} on, which has {num_frames} frames"
    )]
    DenseSegment {
        /// Index of the utterance.
        utterance: usize,
        /// The sequence that it is a segment of.
        sequence: usize,
        /// Its first frame.
        start: usize,
        /// Number of frames of the utterance.
        duration: usize,
        /// Number of frames of the sequence.
        num_frames: usize,
    },
    /// A score of a network that is NaN or plus infinity.
    #[error(
        "utterance {utterance}, frame {frame}: class {class} has the score {score}; a score is a finite number or -inf"
    )]
    DenseScore {
        /// Index of the utterance.
        utterance: usize,
        /// The frame, counted within the utterance.
        frame: usize,
        /// The class.
        class: usize,
        /// Its score.
        score: f32,
    },
    /// An error that stopped the search of one utterance.
    #[error("utterance {utterance}, frame {frame}: {error}")]
    DenseFrame {
        /// Index of the utterance.
        utterance: usize,
        /// The frame; in a stream, counted from the beginning of the stream.
        frame: usize,
        /// The error.
        error: Box<Error>,
    },
    /// A label of a graph for which a network has no score.
    #[error(
        "arc {arc} of graph {fsa} has label {label}, but the network has the classes 0 to {num_classes}, the last one not included"
    )]
    DenseLabel {
        /// Index of the FSA.
        fsa: usize,
        /// Index of the arc in the FSA.
        arc: usize,
        /// Its label.
        label: i32,
        /// Number of classes.
        num_classes: usize,
    },
    /// A beam that is negative or NaN.
    #[error("{what} is {found}, but a beam is 0 or above; infinity keeps everything")]
    Beam {
        /// The beam.
        what: Quantity,
        /// The number given.
        found: f32,
    },
}

/// Formats numbers in a message: the first ones, and their count.
struct Shown<'a>(&'a [i32]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 10;
        match self.0.get(..SHOWN) {
            Some(first) if self.0.len() > SHOWN => write!(f, "{first:?} and so on, {} in all", self.0.len()),
            _ => write!(f, "{:?}", self.0),
        }
    }
}

impl Error {
    /// Converts `size` to the integer type of indexes.
    #[inline]
    pub(crate) fn fit(what: Quantity, size: usize) -> Result<i32, Self> {
        i32::try_from(size).map_err(|_| Self::TooLarge { what, size: size as u64 })
    }

    /// Opens a file and passes it to `read`; adds the path to errors.
    pub(crate) fn in_file<T>(path: &Path, read: impl FnOnce(File) -> Result<T, Self>) -> Result<T, Self> {
        let opened = File::open(path).map_err(|error| Self::Unreadable { problem: error.to_string() });
        opened.and_then(read).map_err(|error| Self::File { path: path.to_owned(), error: Box::new(error) })
    }

    /// Returns the error for a quantity above `most`.
    pub(crate) fn too_many(what: Quantity, most: usize, found: usize) -> Self {
        let [max, found] = [most, found].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        Self::OutOfRange { what, min: 0, max, found }
    }

    /// Checks that `found` equals `expected`.
    pub(crate) fn same_size(what: Quantity, expected: usize, found: usize) -> Result<(), Self> {
        if expected == found { Ok(()) } else { Err(Self::Size { what, expected, found }) }
    }
}

impl From<crate::error::parse::ParseError> for Error {
    fn from(error: crate::error::parse::ParseError) -> Self {
        Self::Parse(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_short() {
        let cycle = |num_states| Error::Cycle { fsa: 0, states: (0..num_states).collect() }.to_string();
        assert!(cycle(3).contains("the states [0, 1, 2];"));
        assert!(cycle(10).contains("9];"));
        assert!(cycle(100_000).contains("9] and so on, 100000 in all;"), "{}", cycle(11));
    }
}
