//! Alignment of words: arcs that have a word with exactly its frames.

use std::collections::HashMap;
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
    /// States and arcs are Kaldi's, as the confidences of [`minimum_bayes_risk`] depend on them: a
    /// state is a state of the lattice with the waiting words and labels. Of arcs with the same
    /// word between the same states, the one with the best score stays.
    ///
    /// [`minimum_bayes_risk`]: Self::minimum_bayes_risk
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
        self.state(0, [&[], &[]])?;
        let mut next = 0;
        while let Some(&(state, waiting, from)) = self.states.get(next) {
            self.leave(from, state, waiting)?;
            next += 1;
            self.check(0)?;
        }
        let lattice = std::mem::take(&mut self.builder).build()?;
        Ok((without_empty_arcs(&lattice.utterance(0), |arcs| self.check(arcs))?, self.incomplete))
    }

    /// Checks the size, with this number of arcs more.
    fn check(&self, more: usize) -> Result<(), Error> {
        /// States, words, scores and offsets of labels, while lists grow.
        const BYTES_OF_ARC: usize = 96;
        let arcs = self.num_arcs + more;
        let bytes = self.trie.bytes()
            + self.known.bytes()
            + self.states.capacity() * size_of::<(usize, Waiting, i32)>()
            + arcs * BYTES_OF_ARC
            + self.num_labels * 2 * size_of::<i32>();
        self.options.limits.check(Operation::AlignWords, bytes, self.states.len(), arcs)
    }

    /// Returns the state of the builder for a state of the lattice and its pending words and
    /// labels.
    fn state(&mut self, state: usize, [words, labels]: [&[i32]; 2]) -> Result<i32, Error> {
        let waiting = Waiting { words: self.trie.extend(EMPTY, words)?, labels: self.trie.extend(EMPTY, labels)? };
        let key = ((u64::from(number(state)) << 32) | u64::from(waiting.words), waiting.labels);
        let known = self.known.number(key) as usize;
        if known == self.states.len() {
            self.states.push((state, waiting, self.builder.add_state()));
        }
        Ok(self.states[known].2)
    }

    /// Adds the arcs that leave a state: the arc of the first waiting word, if it is complete, or
    /// else empty arcs, after which more words and labels wait.
    fn leave(&mut self, from: i32, state: usize, waiting: Waiting) -> Result<(), Error> {
        let (words, labels) = (self.trie.labels(waiting.words), self.trie.labels(waiting.labels));
        let is_end = state + 1 == self.input.fsa.num_states();
        let (word, length, num_words) = match self.boundaries.next(&words, &labels, is_end) {
            Stretch::Word(length) if !words.is_empty() => (words[0], length.min(labels.len()), 1),
            Stretch::Gap(length) if length > 0 && !labels.is_empty() => {
                (self.options.silence_label, length.min(labels.len()), 0)
            }
            _ if !is_end => {
                return self.input.fsa.arc_range(state).try_for_each(|arc| self.wait(from, &words, &labels, arc));
            }
            _ if words.is_empty() && labels.is_empty() => {
                self.builder.add_final(from, 0.0, 0.0, &[]);
                return Ok(());
            }
            _ => {
                // The next word gets all labels, and the others are left out.
                self.incomplete += 1;
                let next = if labels.is_empty() { None } else { words.first().copied() };
                let left = if labels.is_empty() { 0 } else { self.options.partial_word_label };
                (next.unwrap_or(left), labels.len(), words.len())
            }
        };
        let to = self.state(state, [&words[num_words..], &labels[length..]])?;
        self.add(from, to, word, (0.0, 0.0), &labels[..length]);
        Ok(())
    }

    /// Adds the empty arc of an arc of the lattice, whose word and labels wait behind it.
    fn wait(&mut self, from: i32, words: &[i32], labels: &[i32], arc: usize) -> Result<(), Error> {
        let crate::Arc { label, .. } = self.input.arc(arc);
        let mut words = words.to_vec();
        words.extend(Some(label).filter(|&word| word > 0));
        let labels = [labels, self.input.alignment(arc)].concat();
        let to = self.state(self.input.arc(arc).states().1, [&words, &labels])?;
        self.add(from, to, 0, self.input.scores(arc), &[]);
        Ok(())
    }

    fn add(&mut self, from: i32, to: i32, word: i32, (graph, acoustic): (f32, f32), labels: &[i32]) {
        self.builder.add_arc(from, to, word, graph, acoustic, labels);
        self.num_arcs += 1;
        self.num_labels += labels.len();
    }
}

/// An arc of a state, perhaps behind empty arcs, whose scores it has in addition.
#[derive(Clone, Copy)]
struct Behind {
    /// The arc itself.
    arc: usize,
    graph: f64,
    acoustic: f64,
}

impl Behind {
    /// Returns `true` if it is better than another; the better graph score decides if both are
    /// equal.
    fn is_better(&self, other: &Self) -> bool {
        let key = |arc: &Self| (arc.graph + arc.acoustic, arc.graph);
        key(self) > key(other)
    }
}

/// Leaves out arcs without words and labels: their states get the arcs behind them. Of arcs with
/// the same word between the same states, the best stays. `check` gets the number of arcs so far.
fn without_empty_arcs(input: &Utterance<'_>, check: impl Fn(usize) -> Result<(), Error>) -> Result<Lattice, Error> {
    let (arcs, num_states) = (input.fsa.arcs(), input.fsa.num_states());
    let mut leaving: Vec<Vec<Behind>> = vec![vec![]; num_states];
    let mut places: HashMap<(i32, usize), usize> = HashMap::new();
    let mut count = 0;
    // Arcs lead to later states, which are complete.
    for state in (0..num_states).rev() {
        places.clear();
        let mut own: Vec<Behind> = vec![];
        let mut take = |behind: Behind| {
            let place = *places.entry((arcs[behind.arc].label, arcs[behind.arc].states().1)).or_insert(own.len());
            match own.get_mut(place) {
                None => own.push(behind),
                Some(known) if behind.is_better(known) => *known = behind,
                Some(_) => {}
            }
        };
        for arc in input.fsa.arc_range(state) {
            let (graph, acoustic) = (input.graph(arc), input.acoustic(arc));
            if arcs[arc].label == 0 && input.alignment(arc).is_empty() {
                for behind in &leaving[arcs[arc].states().1] {
                    take(Behind { graph: graph + behind.graph, acoustic: acoustic + behind.acoustic, ..*behind });
                }
            } else {
                take(Behind { arc, graph, acoustic });
            }
        }
        count += own.len();
        check(count)?;
        leaving[state] = own;
    }
    let mut builder = LatticeBuilder::new();
    // The final state is the builder's own.
    (1..num_states).for_each(|_| _ = builder.add_state());
    for (state, own) in leaving.iter().enumerate() {
        for &Behind { arc, graph, acoustic } in own {
            let (graph, acoustic, labels) = (narrow(graph), narrow(acoustic), input.alignment(arc));
            match arcs[arc].label {
                FINAL => builder.add_final(id(state), graph, acoustic, labels),
                word => builder.add_arc(id(state), id(arcs[arc].states().1), word, graph, acoustic, labels),
            }
        }
    }
    builder.build()?.connect()
}
