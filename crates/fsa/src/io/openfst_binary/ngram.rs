//! Files of the type `ngram`: a back-off model as two bitmaps and arrays of labels and costs.
//!
//! The states are the contexts of the model in breadth-first order of the tree in which the parent
//! of a context lacks its oldest word; state 0 is the empty one. The first bitmap has the number of
//! children of each state in unary, a one for each and a zero behind them (LOUDS); the second one
//! the numbers of words that can follow. The destination of a word is not stored: it is the longest
//! context in the tree that ends the state's context with the word.
//!
//! J. Sorensen, C. Allauzen: *Unary data structures for language models*, Interspeech 2011.

use super::header::{Cost, Header};
use super::states::Sink;
use crate::core::arc::EPSILON;
use crate::error::{Error, Quantity};
use crate::io::bytes::Bytes;
use crate::support::ids::{NONE, id, number};

/// Longest context: the destinations of a state take as many steps.
const MAX_CONTEXT: usize = 255;

const DAMAGED: &str = "the contexts of the n-gram model are no tree";

/// Reads the states and returns their number.
pub(super) fn read_ngram(bytes: &mut Bytes<'_>, header: &Header, sink: &mut impl Sink) -> Result<i32, Error> {
    if header.cost != Cost::Single {
        return Err(Error::ArcType { found: "log64 in the type ngram".to_owned() });
    }
    let too_large = "a count that the file has no room for";
    let mut count = |size| {
        let number = bytes.u64()?;
        bytes.count(i64::try_from(number).map_err(|_| bytes.error(too_large))?, size)
    };
    // A state has a label and a cost; a word, too; one more of each is not used.
    let (num_states, num_words, num_finals) = (count(8)?, count(8)?, count(4)?);
    Error::fit(Quantity::States, num_states)?;
    Error::fit(Quantity::Arcs, num_states + num_words)?;
    let context_bits = Bitmap::read(bytes, 2 * num_states + 1)?;
    let word_bits = Bitmap::read(bytes, num_words + num_states + 1)?;
    let final_bits = Bitmap::read(bytes, num_states)?;
    let labels = read_array(bytes, num_states + 1, i32::from_le_bytes)?;
    let tree = Tree::new(&context_bits, labels).ok_or_else(|| bytes.error(DAMAGED))?;
    let counts = unary(&word_bits, 1).filter(|counts| !word_bits.bit(0) && counts.len() == num_states);
    let counts =
        counts.ok_or_else(|| bytes.error("the words of the n-gram model are not as many as its states say"))?;
    let words = read_array(bytes, num_words, i32::from_le_bytes)?;
    if words.iter().any(|&word| word <= EPSILON) {
        return Err(bytes.error("a word below 1"));
    }
    let backoffs = read_array(bytes, num_states + 1, f32::from_le_bytes)?;
    let finals = read_array(bytes, num_finals, f32::from_le_bytes)?;
    let is_final = |state: usize| final_bits.bit(state);
    if (0..num_states).filter(|&state| is_final(state)).count() != num_finals {
        return Err(bytes.error("the final costs are not as many as the final states"));
    }
    bytes.count(id(num_words).into(), 4)?;
    sink.reserve(num_states, num_states + num_words);
    let (mut path, mut words, mut finals) = (Vec::new(), words.into_iter(), finals.into_iter());
    for (state, num_words) in counts.into_iter().enumerate() {
        if state > 0 {
            sink.arc(id(state), EPSILON, EPSILON, backoffs[state], tree.parents[state].cast_signed());
        }
        tree.path(state, &mut path);
        for word in words.by_ref().take(num_words as usize) {
            sink.arc(id(state), word, word, bytes.f32()?, tree.context(&path, word).cast_signed());
        }
        let final_cost = if is_final(state) { finals.next() } else { None };
        sink.end_state(id(state), final_cost.unwrap_or(f32::INFINITY))?;
    }
    Error::fit(Quantity::States, num_states)
}

/// Reads numbers of four bytes, for which the file must have room.
fn read_array<T>(bytes: &mut Bytes<'_>, len: usize, of_bytes: fn([u8; 4]) -> T) -> Result<Vec<T>, Error> {
    bytes.count(i64::try_from(len).unwrap_or(i64::MAX), 4)?;
    (0..len).map(|_| bytes.array().map(of_bytes)).collect()
}

/// Bits in words of 64.
struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    fn read(bytes: &mut Bytes<'_>, len: usize) -> Result<Self, Error> {
        let num_words = bytes.count(i64::try_from(len.div_ceil(64)).unwrap_or(i64::MAX), 8)?;
        let words = (0..num_words).map(|_| bytes.u64()).collect::<Result<_, _>>()?;
        Ok(Self { words, len })
    }

    #[inline]
    fn bit(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }
}

/// Returns the unary numbers from bit `first` on; `None` if the last one is not ended by a zero.
fn unary(bits: &Bitmap, first: usize) -> Option<Vec<u32>> {
    let (mut counts, mut ones) = (Vec::new(), 0);
    for at in first..bits.len {
        if bits.bit(at) {
            ones += 1;
        } else {
            counts.push(std::mem::take(&mut ones));
        }
    }
    (ones == 0).then_some(counts)
}

/// The tree of contexts. The children of a state have consecutive numbers.
struct Tree {
    /// The oldest word of each context.
    labels: Vec<i32>,
    parents: Vec<u32>,
    /// End of each state's children, which begin where those of the state before end.
    child_ends: Vec<u32>,
    /// State of each context of one word, or [`NONE`], if their labels are dense.
    of_word: Option<Vec<u32>>,
}

impl Tree {
    /// Returns `None` if the bits and labels are those of no tree.
    fn new(bits: &Bitmap, labels: Vec<i32>) -> Option<Self> {
        // The root is the only child of a state before it.
        let starts = bits.len >= 2 && bits.bit(0) && !bits.bit(1);
        let counts = unary(bits, 2).filter(|counts| starts && counts.len() + 1 == labels.len())?;
        let (mut parents, mut child_ends) = (vec![NONE], Vec::with_capacity(counts.len()));
        let mut depths = vec![0_usize];
        for (state, &count) in counts.iter().enumerate() {
            let first = parents.len();
            // A state is made before its children are.
            if first <= state {
                return None;
            }
            let depth = depths[state] + 1;
            if count > 0 && depth > MAX_CONTEXT {
                return None;
            }
            parents.extend(std::iter::repeat_n(number(state), count as usize));
            depths.extend(std::iter::repeat_n(depth, count as usize));
            child_ends.push(number(parents.len()));
            let of_children = labels.get(first..parents.len())?;
            let are_sorted = of_children.is_sorted_by(|a, b| a < b);
            // The beginning of a sentence has the label of epsilon.
            if !are_sorted || of_children.first().is_some_and(|&label| label < EPSILON) {
                return None;
            }
        }
        // The start is the first child of the root.
        if parents.len() != counts.len() || counts.first() == Some(&0) {
            return None;
        }
        let mut tree = Self { labels, parents, child_ends, of_word: None };
        let children = 1..tree.child_ends[0] as usize;
        let highest = usize::try_from(tree.labels[children.end - 1]).unwrap_or(usize::MAX);
        if highest < 4 * tree.labels.len() {
            let mut of_word = vec![NONE; highest + 1];
            for (state, &label) in children.clone().zip(&tree.labels[children]) {
                of_word[label.cast_unsigned() as usize] = number(state);
            }
            tree.of_word = Some(of_word);
        }
        Some(tree)
    }

    /// Returns the words of a context into `path`, the newest first.
    fn path(&self, state: usize, path: &mut Vec<i32>) {
        path.clear();
        let mut state = state;
        while state != 0 {
            path.push(self.labels[state]);
            state = self.parents[state] as usize;
        }
        path.reverse();
    }

    /// Returns the child of a state with a label.
    #[inline]
    fn child(&self, state: u32, label: i32) -> Option<u32> {
        let first = match state.checked_sub(1) {
            None => match &self.of_word {
                Some(of_word) => {
                    let child = of_word.get(label.cast_unsigned() as usize);
                    return child.copied().filter(|&child| child != NONE);
                }
                None => 1,
            },
            Some(before) => self.child_ends[before as usize],
        };
        let labels = &self.labels[first as usize..self.child_ends[state as usize] as usize];
        labels.binary_search(&label).ok().map(|at| first + number(at))
    }

    /// Returns the longest context that ends a history, its newest word first, with a word.
    fn context(&self, path: &[i32], word: i32) -> u32 {
        let mut words = std::iter::once(&word).chain(path);
        let (mut state, mut next) = (0, words.next());
        while let Some(child) = next.and_then(|&word| self.child(state, word)) {
            (state, next) = (child, words.next());
        }
        state
    }
}
