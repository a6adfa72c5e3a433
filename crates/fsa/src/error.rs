//! What can be wrong with an FSA or with what is asked of it.

pub(crate) mod kinds;
pub(crate) mod parse;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

pub use kinds::{AttributeProblem, Limited, LookAheadProblem, Operation, Quantity, TensorProblem};

/// Everything that this crate refuses, with the numbers that were wrong.
///
/// `fsa` is the place of the FSA in its vector, `state` and `arc` are counted within the FSA.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A single state, which would be start and final state at once; a valid FSA has none, or two
    /// or more.
    #[error("FSA {fsa} has a single state; it needs none, or a start and a final state")]
    SingleState {
        /// Which FSA.
        fsa: usize,
    },
    /// An arc that stands in the row of another state than the one that it leaves.
    #[error("FSA {fsa}: arc {arc} leaves state {found}, but stands among the arcs of state {expected}")]
    SourceState {
        /// Which FSA.
        fsa: usize,
        /// Which of its arcs.
        arc: usize,
        /// The state whose row it stands in.
        expected: usize,
        /// The state that it names.
        found: i32,
    },
    /// An arc into a state that does not exist.
    #[error("FSA {fsa}: arc {arc} enters state {found}, but there are {num_states} states")]
    DestState {
        /// Which FSA.
        fsa: usize,
        /// Which of its arcs.
        arc: usize,
        /// The state that it names.
        found: i32,
        /// How many there are.
        num_states: usize,
    },
    /// Arcs that do not stand in the order of the states that they leave.
    #[error(
        "arc {arc} leaves state {found} and stands behind one that leaves state {before}; arcs come in the order of the states \
         that they leave: sort them, or use FsaBuilder, which takes any order"
    )]
    UnsortedArcs {
        /// Which arc.
        arc: usize,
        /// The state that it leaves.
        found: i32,
        /// The state that the arc before it leaves.
        before: i32,
    },
    /// An arc or a final score of a state that was not added to a builder.
    #[error("arc {arc} (final states come behind all others) names state {state}, but {num_states} states were added")]
    NoState {
        /// Which arc, in the order in which they were added.
        arc: usize,
        /// The state that it names.
        state: i32,
        /// How many there are.
        num_states: usize,
    },
    /// Arcs that are said to be a path, and are none.
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
        /// Which FSA.
        fsa: usize,
        /// Which of its arcs.
        arc: usize,
    },
    /// The label -1 on an arc that does not enter the final state, or another label on one that
    /// does.
    #[error(
        "FSA {fsa}: arc {arc} enters state {dest_state} with label {label}; -1 stands on all arcs into the \
         final state, which is the last one, and on no other; FsaBuilder adds such a state"
    )]
    FinalLabel {
        /// Which FSA.
        fsa: usize,
        /// Which of its arcs.
        arc: usize,
        /// The state that it enters.
        dest_state: i32,
        /// Its label.
        label: i32,
    },
    /// A label below -1.
    #[error("FSA {fsa}: arc {arc} has label {label}; labels are -1, 0 or above")]
    Label {
        /// Which FSA.
        fsa: usize,
        /// Which of its arcs.
        arc: usize,
        /// Its label.
        label: i32,
    },
    /// A score that is NaN or plus infinity, with which no total could be formed.
    #[error("arc {arc} has the score {score}; a score is a finite number or -inf")]
    Score {
        /// Which arc, counted over all FSAs.
        arc: usize,
        /// Its score.
        score: f32,
    },
    /// A ragged tensor of arcs with the wrong number of axes.
    #[error("{what} needs {expected} axes, but there are {found}")]
    Axes {
        /// What was to be made.
        what: Quantity,
        /// The number of axes that it needs.
        expected: usize,
        /// The number of axes given.
        found: usize,
    },
    /// Numbers of things that must be equal.
    #[error("{what} must be {expected}, but it is {found}")]
    Size {
        /// What has the wrong size.
        what: Quantity,
        /// The right size.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// More states or arcs than indexes of 32 bits can tell apart.
    #[error("{what} would be {size}, but at most {} fit; split the work in parts", i32::MAX)]
    TooLarge {
        /// What is too large.
        what: Quantity,
        /// How large it would be.
        size: u64,
    },
    /// An arc map that names an arc that does not exist.
    #[error("the arc map names arc {found} at position {position}, but there are {num_arcs} arcs (-1 is none)")]
    ArcMap {
        /// Where it stands.
        position: usize,
        /// The arc that it names.
        found: i32,
        /// How many there are.
        num_arcs: usize,
    },
    /// An attribute of a kind that the operation cannot take.
    #[error("{problem}")]
    Attribute {
        /// What is wrong.
        problem: AttributeProblem,
    },
    /// An attribute that cannot follow, because an arc of the result stands for many that may
    /// differ in it.
    #[error(
        "the attribute {name:?} cannot follow, as an arc of the result stands for many; take it out before with Graph::without, or use \
         Graph::determinize, which makes lists"
    )]
    LostAttribute {
        /// Its name.
        name: String,
    },
    /// An arc that does not go to a later state, where the order of the states must be one in which
    /// all can be visited once.
    #[error(
        "FSA {fsa}: arc {arc} goes from state {src_state} to state {dest_state}; all must go to later ones: sort with top_sort, remove loops"
    )]
    NotTopSorted {
        /// Which FSA.
        fsa: usize,
        /// Which of its arcs.
        arc: usize,
        /// The state that it leaves.
        src_state: i32,
        /// The state that it enters, which is the same or an earlier one.
        dest_state: i32,
    },
    /// A total score above everything that the type of number can hold.
    #[error("FSA {fsa}: the scores add up to more than the type of number holds; use f64, or smaller scores")]
    Overflow {
        /// Which FSA.
        fsa: usize,
    },
    /// Scores that grow without end around a cycle.
    #[error(
        "FSA {fsa}: after {visits} visits to states scores still grow: a cycle at state {state} has a score that adds up without end"
    )]
    EndlessCycle {
        /// Which FSA.
        fsa: usize,
        /// A state whose score still grew.
        state: usize,
        /// How many visits were made.
        visits: u64,
    },
    /// A cycle of more than one state, where states are to be put in an order.
    #[error(
        "FSA {fsa} has a cycle through the states {}; an order of states needs that all cycles are self-loops", Shown(.states)
    )]
    Cycle {
        /// Which FSA.
        fsa: usize,
        /// The states of one cycle, in the order in which its arcs go.
        states: Vec<i32>,
    },
    /// An arc from a state that cannot be reached into the start state, which would have to be the
    /// first and is not.
    #[error("FSA {fsa}: arc {arc} enters the start state from one that cannot be reached; connect it first")]
    StartEntered {
        /// Which FSA.
        fsa: usize,
        /// Which of its arcs.
        arc: usize,
    },
    /// A number outside the range that makes sense.
    #[error("{what} must be within {min} and {max}, but it is {found}")]
    OutOfRange {
        /// What the number is.
        what: Quantity,
        /// The smallest that makes sense.
        min: i64,
        /// The largest that makes sense.
        max: i64,
        /// The one given.
        found: i64,
    },
    /// A symbol that a graph cannot be built of.
    #[error("symbol {symbol} at position {position}: symbols are {least} or above")]
    Symbol {
        /// Where it stands among all symbols.
        position: usize,
        /// The symbol.
        symbol: i32,
        /// The least that is taken.
        least: i32,
    },
    /// An FSA that accepts more, or less, than one string.
    #[error("FSA {fsa} is not linear: state {state} has not exactly one arc, to the next state")]
    NotLinear {
        /// Which FSA.
        fsa: usize,
        /// Which of its states.
        state: usize,
    },
    /// A line of a text that is read line by line.
    #[error("{what}, line {line}: {problem}{}{found}", if found.is_empty() { "" } else { ": " })]
    Line {
        /// What the text is.
        what: &'static str,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
        /// What stands there.
        found: String,
    },
    /// A text that could not be read to its end.
    #[error("{what}, line {line}: {problem}")]
    Read {
        /// What the text is.
        what: &'static str,
        /// The line, from 1.
        line: usize,
        /// What the system says.
        problem: String,
    },
    /// A file that something is wrong with.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: Box<Error>,
    },
    /// A file that cannot be read.
    #[error("{problem}")]
    Unreadable {
        /// What the system says.
        problem: String,
    },
    /// A file of a format that is not read here.
    #[error("it is {format}, which is not read: {remedy}")]
    Foreign {
        /// The format.
        format: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A language model that has none of the words that are wanted.
    #[error(
        "the language model has none of the words, such as '{wanted}'; its own are such as '{own}'{}",
        if *other_case { ": they differ in case, so write both in lower case or both in upper case" } else { "" }
    )]
    NoSharedWord {
        /// One of the words.
        wanted: String,
        /// One of the model's words.
        own: String,
        /// Whether words are the same but for their case.
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
        /// How many there are said to be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// A language model without an end of sentences: it has no sentence at all.
    #[error("no n-gram of the model ends a sentence")]
    NoSentence,
    /// A symbol that must be in a table and is not.
    #[error("there is no symbol {symbol:?}")]
    MissingSymbol {
        /// The symbol.
        symbol: String,
    },
    /// Symbols for disambiguation among the others: they must all come behind them, since they are
    /// taken out again by their numbers.
    #[error(
        "the {what} go up to {highest}, but the symbols #0, #1, ... begin at {disambiguation}; they must come behind all others"
    )]
    SymbolOrder {
        /// Which symbols.
        what: &'static str,
        /// The highest number of one in use.
        highest: i32,
        /// The lowest number of one for disambiguation.
        disambiguation: i32,
    },
    /// A probability that is none.
    #[error("{what} must be above 0 and below 1, but it is {found}")]
    Probability {
        /// Of what.
        what: Quantity,
        /// The number given.
        found: f64,
    },
    /// Weights of models that do not make a mixture of them.
    #[error("the weights of models are 0 or above and sum to 1, but one of them, or their sum, is {found}")]
    InterpolationWeight {
        /// The weight below 0, or the sum.
        found: f64,
    },
    /// A text that is not what it should be, with the place.
    #[error(transparent)]
    Parse(Box<crate::error::parse::ParseError>),
    /// A binary file that is not what it should be.
    #[error("byte {offset}: {what}")]
    Binary {
        /// Where reading stopped.
        offset: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// One of OpenFst's binary files of a type that is not read.
    #[error(
        "OpenFst files of type {found:?} are not read, but those of the types vector, const and compact_*: convert it with \
         `fstconvert --fst_type=vector IN OUT`"
    )]
    FileType {
        /// The type.
        found: String,
    },
    /// One of OpenFst's binary files whose arcs are of a type that is not read.
    #[error(
        "OpenFst files with arcs of type {found:?} are not read, but those of the types standard, log and log64: convert it with \
         `fstmap --map_type=to_std IN OUT`"
    )]
    ArcType {
        /// The type.
        found: String,
    },
    /// Plain arrays that are no FSAs.
    #[error("{problem}")]
    Tensor {
        /// What is wrong.
        problem: TensorProblem,
    },
    /// A symbol or a label that a table has already.
    #[error("the table has {what} of {symbol:?} and {label} already")]
    RepeatedSymbol {
        /// Which of the two.
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
    /// A determinization that reached a limit. If the largest subset, or what is pending, is large,
    /// it would probably never end: look for cycles whose paths take the same labels with other
    /// scores or other output labels, or for homophones without disambiguation symbols.
    #[error(
        "FSA {fsa}: determinization stopped at its limit of {limit} {limited}, with {states} states and {arcs} arcs so far; the largest subset has \
         {largest_subset} states, pending in the newest one are up to {pending_labels} labels and a score of {pending_score}"
    )]
    DeterminizeLimit {
        /// Which FSA.
        fsa: usize,
        /// What is limited.
        limited: Limited,
        /// The limit.
        limit: usize,
        /// The number of states made.
        states: usize,
        /// The number of arcs made.
        arcs: usize,
        /// The size of the largest subset of states of the input.
        largest_subset: usize,
        /// How many labels are still to be output in the newest state, at most.
        pending_labels: usize,
        /// Which score is still to come in the newest state, at most.
        pending_score: f32,
    },
    /// An operation that reached one of its [`Limits`](crate::Limits).
    #[error(
        "{operation} needs {needed} {limited} or more, with {states} states and {arcs} arcs so far, but its limit is {limit}; raise the limit, or \
         prune what goes in"
    )]
    Limit {
        /// Which operation.
        operation: Operation,
        /// What is limited.
        limited: Limited,
        /// The limit.
        limit: usize,
        /// How much it needs at least.
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
        /// How much it needs at least.
        needed: usize,
        /// How many n-grams it has, or its order at hand has.
        ngrams: usize,
    },
    /// Two graphs that cannot be composed with look-ahead.
    #[error("state {state}: {problem}")]
    LookAhead {
        /// Of HL or G, as the problem says.
        state: usize,
        /// What is wrong.
        problem: LookAheadProblem,
    },
    /// A transducer with two output strings for one input string, where one was to be kept.
    #[error(
        "FSA {fsa}: two paths with the same input, up to label {label}, output {} and {} behind what they have in common; \
         disambiguate to keep the better one, or encode the labels", Shown(.first), Shown(.second)
    )]
    NotFunctional {
        /// Which FSA.
        fsa: usize,
        /// The label where the paths meet.
        label: i32,
        /// The output labels of the better path, or the beginning of them.
        first: Vec<i32>,
        /// The output labels of the other path, or the beginning of them.
        second: Vec<i32>,
    },
    /// A cycle with more output than input labels, where output labels wait for later arcs.
    #[error(
        "FSA {fsa}: a cycle has more output labels than input labels, so that more than the {labels} labels of any path without cycles would have to \
         wait, and then ever more; determinize with remove_epsilons, which lets none wait"
    )]
    EndlessOutput {
        /// Which FSA.
        fsa: usize,
        /// As many labels wait on a path without cycles, at most.
        labels: i64,
    },
    /// An operation that needs a best path, which the sum of all paths has not.
    #[error(
        "{operation} is not done in the log semiring: it takes the best of several paths, where arcs of the type log mean their sum; \
         if the best is meant, convert them: `fstmap --map_type=to_std IN OUT`"
    )]
    LogSemiring {
        /// What it is.
        operation: Operation,
    },
    /// Two arcs of a state with the same label, where there may be only one.
    #[error("FSA {fsa}: state {state} has two arcs with label {label}; determinize it first")]
    NotDeterministic {
        /// Which FSA.
        fsa: usize,
        /// Which of its states.
        state: usize,
        /// The label.
        label: i32,
    },
    /// A lattice without any path from its start to its end.
    #[error("lattice {fsa} has no path")]
    NoPath {
        /// Which lattice.
        fsa: usize,
    },
    /// An arc with label 0, where there may be none.
    #[error("FSA {fsa}: state {state} has an arc with label 0; remove epsilons first")]
    Epsilons {
        /// Which FSA.
        fsa: usize,
        /// Which of its states.
        state: usize,
    },
    /// Shapes that do not fit.
    #[error(transparent)]
    Ragged(#[from] ragged_core::Error),
    /// An utterance that is to be cut from a sequence that does not exist.
    #[error("utterance {utterance} is a segment of sequence {sequence}, but there are {num_sequences} sequences")]
    DenseSequence {
        /// Which utterance.
        utterance: usize,
        /// The sequence that it names.
        sequence: usize,
        /// How many there are.
        num_sequences: usize,
    },
    /// An utterance that is longer than its sequence.
    #[error(
        "utterance {utterance} has {duration} frames from frame {start} of sequence {sequence} on, which has {num_frames} frames"
    )]
    DenseSegment {
        /// Which utterance.
        utterance: usize,
        /// The sequence that it is a segment of.
        sequence: usize,
        /// Its first frame.
        start: usize,
        /// How many frames it has.
        duration: usize,
        /// How many frames the sequence has.
        num_frames: usize,
    },
    /// A score of a network that is NaN or plus infinity.
    #[error(
        "utterance {utterance}, frame {frame}: class {class} has the score {score}; a score is a finite number or -inf"
    )]
    DenseScore {
        /// Which utterance.
        utterance: usize,
        /// The frame, counted within the utterance.
        frame: usize,
        /// The class.
        class: usize,
        /// Its score.
        score: f32,
    },
    /// What stopped the search of one utterance.
    #[error("utterance {utterance}, frame {frame}: {error}")]
    DenseFrame {
        /// Which utterance.
        utterance: usize,
        /// In which frame; of a stream, counted from its beginning.
        frame: usize,
        /// Why.
        error: Box<Error>,
    },
    /// A label of a graph for which a network has no score.
    #[error(
        "arc {arc} of graph {fsa} has label {label}, but the network has the classes 0 to {num_classes}, the last one not included"
    )]
    DenseLabel {
        /// Which FSA.
        fsa: usize,
        /// Which of its arcs.
        arc: usize,
        /// Its label.
        label: i32,
        /// How many classes there are.
        num_classes: usize,
    },
    /// A beam that is none.
    #[error("{what} is {found}, but a beam is 0 or above; infinity keeps everything")]
    Beam {
        /// Which beam.
        what: Quantity,
        /// The number given.
        found: f32,
    },
}

/// Numbers in a message: the first ones, and how many there are.
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
    /// `size` as the number that indexes are stored as.
    #[inline]
    pub(crate) fn fit(what: Quantity, size: usize) -> Result<i32, Self> {
        i32::try_from(size).map_err(|_| Self::TooLarge { what, size: size as u64 })
    }

    /// What `read` makes of a file; its error has the file.
    pub(crate) fn in_file<T>(path: &Path, read: impl FnOnce(File) -> Result<T, Self>) -> Result<T, Self> {
        let opened = File::open(path).map_err(|error| Self::Unreadable { problem: error.to_string() });
        opened.and_then(read).map_err(|error| Self::File { path: path.to_owned(), error: Box::new(error) })
    }

    /// More of something than there may be.
    pub(crate) fn too_many(what: Quantity, most: usize, found: usize) -> Self {
        let [max, found] = [most, found].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        Self::OutOfRange { what, min: 0, max, found }
    }

    /// `found` is `expected`.
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
