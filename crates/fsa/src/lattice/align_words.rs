//! Alignment of words: arcs that have a word with exactly its frames.

use std::ops::Range;

use kaldera_base::setters;

use crate::core::arc::FINAL;
use crate::core::each_fsa::for_each;
use crate::core::limits::Limits;
use crate::error::{Error, Operation};
use crate::lattice::best::LatticePath;
use crate::lattice::builder::LatticeBuilder;
use crate::lattice::container::Lattice;
use crate::lattice::trie::{EMPTY, Trie};
use crate::lattice::utterance::Utterance;
use crate::lattice::word_boundaries::{Stretch, WordBoundaries};
use crate::support::ids::{id, narrow, number};
use crate::support::interner::Interner;

/// Options of [`Lattice::align_words`]: labels of arcs that are not words, and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct AlignWordsOptions {
    /// Word on arcs whose labels belong to no word; 0, none, unless set.
    pub silence_label: i32,
    /// Word on arcs whose labels are left over without a word; 0, none, unless set.
    pub partial_word_label: i32,
    /// The largest size of one lattice, with the work.
    pub limits: Limits,
}

setters! {
    AlignWordsOptions:
    silence_label, with_silence_label: i32, "With this word on silence.";
    partial_word_label, with_partial_word_label: i32, "With this word on what is left.";
    limits, with_limits: Limits, "With these limits.";
}

/// A word of a path, and its frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordTime {
    /// The word.
    pub word: i32,
    /// Its frames; the end is the first frame behind it.
    pub frames: Range<usize>,
}

impl Lattice {
    /// Returns the same paths, with arcs on which each word has exactly the input labels that it
    /// takes. Labels that belong to no word are on arcs without a word. So an arc with a word
    /// begins and ends when the word does: use [`word_times`](Self::word_times) for a path,
    /// [`state_times`](Self::state_times) for all states.
    ///
    /// In a lattice of a search, a word is on the arc on which the graph has its output label.
    /// `boundaries` says where it begins and ends: by the roles of labels
    /// ([`LabelRoles`](super::LabelRoles)), by the tokens of words
    /// ([`WordTokens`](super::WordTokens)), or because words are where they end
    /// ([`WordsAtEnds`](super::WordsAtEnds)). Labels and words that do not fit wait until the end
    /// of the path: then the next word gets all labels, and words behind it are left out, as in
    /// Kaldi. The second result is the number of such ends of each lattice, 0 if all is complete.
    ///
    /// A state of the result is a state of the lattice with the waiting words and labels. Arcs with
    /// neither words nor labels stay if leaving them out would make more arcs.
    ///
    /// # Errors
    /// [`Error::Limit`]; [`Error::Label`] for words below 0 in `options`; [`Error::TooLarge`].
    #[doc(alias = "WordAlignLattice")]
    #[doc(alias = "lattice-align-words")]
    pub fn align_words<B: WordBoundaries>(
        &self,
        boundaries: &B,
        options: &AlignWordsOptions,
    ) -> Result<(Self, Vec<usize>), Error> {
        let made = for_each(self.fsas(), |i, _| Aligner::new(self.utterance(i), boundaries, options).run())?;
        let lattices: Vec<_> = made.iter().map(|(lattice, _)| lattice).collect();
        Ok((Self::cat(&lattices)?, made.iter().map(|&(_, incomplete)| incomplete).collect()))
    }

    /// Returns the words of a path of lattice `i`, which is [aligned](Self::align_words), and the
    /// frames of each.
    ///
    /// # Errors
    /// If there is no such lattice; [`Error::NotAPath`].
    pub fn word_times(&self, i: usize, path: &LatticePath) -> Result<Vec<WordTime>, Error> {
        self.check_index(i)?;
        let utterance = self.utterance(i);
        let (mut times, mut frame, mut state) = (Vec::new(), 0, 0);
        for &arc in &path.arcs {
            let arc = utterance.arc_from(state, arc)?;
            let frames = frame..frame + utterance.alignment(arc).len();
            frame = frames.end;
            let crate::Arc { label, dest_state, .. } = utterance.arc(arc);
            state = dest_state;
            if label > 0 {
                times.push(WordTime { word: label, frames });
            }
        }
        Ok(times)
    }
}

/// Words without labels and labels without a word, pending at a state of the lattice.
#[derive(Clone, Copy)]
struct Waiting {
    words: u32,
    labels: u32,
}

struct Aligner<'a, B> {
    input: Utterance<'a>,
    boundaries: &'a B,
    options: &'a AlignWordsOptions,
    trie: Trie,
    /// States of the lattice with their pending words and labels, and the state of the builder for
    /// each.
    known: Interner<(u64, u32)>,
    states: Vec<(usize, Waiting, i32)>,
    builder: LatticeBuilder,
    num_arcs: usize,
    num_labels: usize,
    incomplete: usize,
}

impl<'a, B: WordBoundaries> Aligner<'a, B> {
    fn new(input: Utterance<'a>, boundaries: &'a B, options: &'a AlignWordsOptions) -> Self {
        Self {
            input,
            boundaries,
            options,
            trie: Trie::new(),
            known: Interner::new(),
            states: Vec::new(),
            builder: LatticeBuilder::new(),
            num_arcs: 0,
            num_labels: 0,
            incomplete: 0,
        }
    }

    fn run(mut self) -> Result<(Lattice, usize), Error> {
        if self.input.fsa.num_states() == 0 {
            return Ok((self.builder.build()?, 0));
        }
        self.state(0, Waiting { words: EMPTY, labels: EMPTY });
        let mut next = 0;
        while let Some(&(state, waiting, from)) = self.states.get(next) {
            for arc in self.input.fsa.arc_range(state) {
                self.follow(from, waiting, arc)?;
            }
            next += 1;
            self.check()?;
        }
        let lattice = self.builder.build()?.connect()?;
        Ok((contract(&lattice.utterance(0))?, self.incomplete))
    }

    fn check(&self) -> Result<(), Error> {
        /// States, words, scores and offsets of labels, while lists grow.
        const BYTES_OF_ARC: usize = 96;
        let bytes = self.trie.bytes()
            + self.known.bytes()
            + self.states.capacity() * size_of::<(usize, Waiting, i32)>()
            + self.num_arcs * BYTES_OF_ARC
            + self.num_labels * 2 * size_of::<i32>();
        self.options.limits.check(Operation::AlignWords, bytes, self.states.len(), self.num_arcs)
    }

    /// Returns the state of the builder for a state of the lattice and its pending words and
    /// labels.
    fn state(&mut self, state: usize, waiting: Waiting) -> i32 {
        let key = ((u64::from(number(state)) << 32) | u64::from(waiting.words), waiting.labels);
        let known = self.known.number(key) as usize;
        if known == self.states.len() {
            self.states.push((state, waiting, self.builder.add_state()));
        }
        self.states[known].2
    }

    /// Adds an arc of the lattice to the pending ones, and adds arcs for the completed words.
    fn follow(&mut self, from: i32, waiting: Waiting, arc: usize) -> Result<(), Error> {
        let crate::Arc { label, .. } = self.input.arc(arc);
        let dest = self.input.arc(arc).states().1;
        let is_end = label == FINAL;
        let mut words = self.trie.labels(waiting.words);
        words.extend(Some(label).filter(|&word| word > 0));
        let mut labels = self.trie.labels(waiting.labels);
        labels.extend_from_slice(self.input.alignment(arc));
        let mut stretches = Vec::new();
        let (mut word, mut label) = (0, 0);
        loop {
            let (words, labels) = (&words[word..], &labels[label..]);
            let (is_word, length) = match self.boundaries.next(words, labels, is_end) {
                Stretch::Word(length) if !words.is_empty() => (true, length.min(labels.len())),
                Stretch::Gap(length) if length > 0 && !labels.is_empty() => (false, length.min(labels.len())),
                _ => break,
            };
            stretches.push((if is_word { words[0] } else { self.options.silence_label }, label..label + length));
            word += usize::from(is_word);
            label += length;
        }
        if is_end && (word < words.len() || label < labels.len()) {
            // If the labels do not fit, the next word gets all labels.
            if label < labels.len() {
                let next = words.get(word).copied().unwrap_or(self.options.partial_word_label);
                stretches.push((next, label..labels.len()));
            }
            self.incomplete += 1;
        }
        let (mut at, mut scores) = (from, self.input.scores(arc));
        let to = if is_end {
            None
        } else {
            let waiting = Waiting {
                words: self.trie.extend(EMPTY, &words[word..])?,
                labels: self.trie.extend(EMPTY, &labels[label..])?,
            };
            Some(self.state(dest, waiting))
        };
        let last = stretches.len();
        for (i, (word, range)) in stretches.into_iter().enumerate() {
            let next = to.filter(|_| i + 1 == last).unwrap_or_else(|| self.builder.add_state());
            self.add(at, next, word, scores, &labels[range]);
            (at, scores) = (next, (0.0, 0.0));
        }
        match to {
            Some(to) if last == 0 => self.add(at, to, 0, scores, &[]),
            Some(_) => {}
            None => self.builder.add_final(at, scores.0, scores.1, &[]),
        }
        Ok(())
    }

    fn add(&mut self, from: i32, to: i32, word: i32, (graph, acoustic): (f32, f32), labels: &[i32]) {
        self.builder.add_arc(from, to, word, graph, acoustic, labels);
        self.num_arcs += 1;
        self.num_labels += labels.len();
    }
}

/// The state whose arcs replace the arcs of a state, and the scores that are added to theirs.
#[derive(Clone, Copy)]
struct Moved {
    state: usize,
    graph: f64,
    acoustic: f64,
}

impl Moved {
    fn and(self, (graph, acoustic): (f64, f64)) -> Self {
        Self { graph: self.graph + graph, acoustic: self.acoustic + acoustic, ..self }
    }
}

/// Leaves out arcs without words and labels that are the only ones into a state, or out of one: the
/// other arcs of that state get their scores. O(states + arcs).
fn contract(input: &Utterance<'_>) -> Result<Lattice, Error> {
    let (arcs, num_states) = (input.fsa.arcs(), input.fsa.num_states());
    let scores = |arc: usize| (input.graph(arc), input.acoustic(arc));
    let is_empty = |arc: usize| arcs[arc].label == 0 && input.alignment(arc).is_empty();
    let mut entering = vec![0_usize; num_states];
    arcs.iter().for_each(|arc| entering[arc.states().1] += 1);
    let still = |state| Moved { state, graph: 0.0, acoustic: 0.0 };
    // Arcs lead to later states, so that a state has moved before its arcs are looked at.
    let mut from: Vec<_> = (0..num_states).map(still).collect();
    let mut gone = vec![false; arcs.len()];
    for arc in 0..arcs.len() {
        let (src, dest) = arcs[arc].states();
        if is_empty(arc) && entering[dest] == 1 {
            from[dest] = from[src].and(scores(arc));
            gone[arc] = true;
        }
    }
    // The only arc that leaves a state, if there is just one.
    let mut leaving: Vec<(usize, Option<usize>)> = vec![(0, None); num_states];
    for arc in (0..arcs.len()).filter(|&arc| !gone[arc]) {
        let (count, only) = &mut leaving[from[arcs[arc].states().0].state];
        *count += 1;
        *only = (*count == 1).then_some(arc);
    }
    let mut to: Vec<_> = (0..num_states).map(still).collect();
    for state in (1..num_states).rev() {
        if let (1, Some(arc)) = leaving[state]
            && is_empty(arc)
        {
            let (src, dest) = arcs[arc].states();
            to[state] = to[dest].and(scores(arc)).and((from[src].graph, from[src].acoustic));
            gone[arc] = true;
        }
    }
    let mut builder = LatticeBuilder::new();
    // The final state is the builder's own.
    (1..num_states).for_each(|_| {
        builder.add_state();
    });
    for arc in (0..arcs.len()).filter(|&arc| !gone[arc]) {
        let (src, dest) = arcs[arc].states();
        let (from, to) = (from[src], to[dest]);
        let sum = |before: f64, own: f64, behind: f64| narrow(before + own + behind);
        let graph = sum(from.graph, input.graph(arc), to.graph);
        let acoustic = sum(from.acoustic, input.acoustic(arc), to.acoustic);
        let labels = input.alignment(arc);
        match arcs[arc].label {
            FINAL => builder.add_final(id(from.state), graph, acoustic, labels),
            word => builder.add_arc(id(from.state), id(to.state), word, graph, acoustic, labels),
        }
    }
    builder.build()?.connect()
}
