//! N-gram models: from ARPA files to acceptors.

use std::io::BufRead;

use crate::core::arc::{Arc, EPSILON, FINAL};
use crate::core::fsa::Fsa;
use crate::core::graph::Graph;
use crate::error::{Error, Quantity};
use crate::graphs::left_out::LeftOut;
use crate::graphs::lines::{Lines, fields, trim};
use crate::graphs::progress::{OutOfVocabulary, Progress, Step};
use crate::io::symbols::SymbolTable;
use crate::support::adjacency::Adjacency;
use crate::support::pair_interner::PairInterner;

/// How an ARPA file is read.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct ArpaOptions {
    /// The word that begins sentences, `<s>`.
    pub start: String,
    /// The word that ends sentences, `</s>`.
    pub end: String,
    /// What becomes of n-grams with words that are not in the table.
    pub out_of_vocabulary: OutOfVocabulary,
}

impl Default for ArpaOptions {
    fn default() -> Self {
        Self { start: "<s>".into(), end: "</s>".into(), out_of_vocabulary: OutOfVocabulary::Add }
    }
}

/// An n-gram model with back-off: the words of each n-gram are a path from the root of a tree.
///
/// ```
/// use fsa::graphs::{ArpaOptions, NgramModel};
/// use fsa::io::SymbolTable;
///
/// let arpa = "\\data\\\nngram 1=3\nngram 2=1\n\\1-grams:\n-99 <s> -0.5\n-0.25 </s>\n-1 hello\n\\2-grams:\n-0.125 <s> hello\n\\end\\\n";
/// let mut words = SymbolTable::default();
/// let model = NgramModel::read(arpa.as_bytes(), &mut words, &ArpaOptions::default(), &mut |_| {})?;
/// let hello = words.find("hello").unwrap();
/// // log10: -0.125 of "<s> hello", -0.25 of "</s>"; "hello" has no weight for backing off.
/// assert!((model.score(&[hello]) / std::f64::consts::LN_10 - -0.375).abs() < 1e-6);
/// let grammar = model.to_fsa(fsa::EPSILON)?;
/// assert_eq!((grammar.num_states(), grammar.num_arcs()), (3, 4));
/// # Ok::<(), fsa::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NgramModel {
    /// (node of the words before, word) of each node but the root, whose number is 0; that of a
    /// pair is one less than its node's.
    tree: PairInterner,
    nodes: Vec<Node>,
    order: usize,
    left_out: LeftOut,
    /// How many n-grams the header counts that are not there.
    missing: u64,
    /// N-grams have been added for the sake of longer ones since suffixes were found for all.
    added: bool,
}

/// An n-gram. Logarithms are natural ones here.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The logarithm of the probability of the last word after those before.
    score: f32,
    /// What is added where the words are not known to be followed by the next one.
    backoff: f32,
    /// The node of as many of the last words as there is one for.
    suffix: u32,
    /// There are n-grams of these words and one more.
    extended: bool,
}

const ROOT: u32 = 0;

/// The beginning of a sentence, among words; the end is [`FINAL`].
const START: i32 = -2;

impl NgramModel {
    /// Reads an ARPA file. Its words get numbers from `words`, but for those that begin and end
    /// sentences. O(n-grams), and no more memory than is needed for the n-grams that there are,
    /// whatever the file promises. There may be fewer than the header counts, as where somebody has
    /// filtered the lines ([`num_missing`](Self::num_missing)). `progress` is called now and then.
    ///
    /// An n-gram is skipped if the beginning of sentences is not its first word or the end not its
    /// last one, since no sentence can have it, and if [`OutOfVocabulary`] says so. Where the words
    /// before the last one of an n-gram are none themselves, they are added with the probability
    /// that backing off gives.
    ///
    /// # Errors
    /// [`Error::Line`] with the line that cannot be understood, [`Error::NgramCount`] if there are
    /// more n-grams than the header counts, [`Error::Read`], and [`Error::TooLarge`].
    pub fn read(
        reader: impl BufRead,
        words: &mut SymbolTable,
        options: &ArpaOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Error> {
        let mut lines = Lines::new("n-gram model", reader);
        let promised = read_counts(&mut lines)?;
        let all = promised.iter().fold(0_u64, |sum, &count| sum.saturating_add(count));
        let root = Node { score: 0.0, backoff: 0.0, suffix: ROOT, extended: false };
        let mut model = Self {
            tree: PairInterner::with_capacity(0),
            nodes: vec![root],
            order: promised.len(),
            left_out: LeftOut::default(),
            missing: 0,
            added: false,
        };
        let (mut done, mut ngram) = (0, Vec::new());
        for (order, &expected) in (1..).zip(&promised) {
            // The section's name is at hand: reading the counts, or the section before, has stopped
            // there.
            if section(lines.text()) != Some(order) {
                return Err(
                    lines.error("the sections must follow each other as 1-grams, 2-grams and so on", lines.text())
                );
            }
            let mut found = 0;
            loop {
                if !lines.advance()? {
                    return Err(lines.error("the model ends before \\end\\", ""));
                }
                let text = lines.text();
                if text.is_empty() {
                    continue;
                }
                if text.starts_with('\\') && (text == "\\end\\" || section(text).is_some()) {
                    break;
                }
                found += 1;
                done += 1;
                if done % (1 << 16) == 0 {
                    progress(Progress { done, of: Some(all), ..Progress::of(Step::ReadNgrams) });
                }
                let (score, backoff) = parse_ngram(&lines, order, words, options, &mut ngram, &mut model.left_out)?;
                if ngram.len() == order {
                    let fresh = model.add(&ngram, score, backoff)?;
                    if !fresh {
                        return Err(lines.error("an n-gram stands there twice", lines.text()));
                    }
                }
            }
            if model.added {
                model.find_suffixes();
            }
            if found > expected {
                return Err(Error::NgramCount { order, expected, found });
            }
            model.missing += expected - found;
        }
        if lines.text() != "\\end\\" {
            return Err(lines.error("a section of n-grams that were not counted", lines.text()));
        }
        progress(Progress { done, of: Some(all), ..Progress::of(Step::ReadNgrams) });
        Ok(model)
    }

    /// How many words its longest n-grams have.
    pub fn order(&self) -> usize {
        self.order
    }

    /// How many n-grams it has, those included that were added.
    pub fn num_ngrams(&self) -> usize {
        self.tree.len()
    }

    /// The n-grams of the file that were left out, and the words because of which they were: those
    /// that the table lacks, and the ends of sentences where no sentence has them.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// How many n-grams fewer the file has than its header counts.
    pub fn num_missing(&self) -> u64 {
        self.missing
    }

    /// Whether it has a word as an n-gram of its own.
    pub fn has_word(&self, word: i32) -> bool {
        self.find(ROOT, word).is_some()
    }

    /// The natural logarithm of the probability of a sentence, its end included; its beginning is
    /// certain.
    pub fn score(&self, sentence: &[i32]) -> f64 {
        let mut context = self.find(ROOT, START).unwrap_or(ROOT);
        let mut total = 0.0;
        for &word in sentence.iter().chain(&[FINAL]) {
            let (score, next) = self.step(context, word);
            total += score;
            context = next;
        }
        total
    }

    /// The score of a word after those of a node, -inf if even alone it is unknown, and the node
    /// after it.
    fn step(&self, mut context: u32, word: i32) -> (f64, u32) {
        let mut total = 0.0;
        loop {
            if let Some(node) = self.find(context, word) {
                return (total + f64::from(self.node(node).score), node);
            }
            if context == ROOT {
                return (f64::NEG_INFINITY, ROOT);
            }
            total += f64::from(self.node(context).backoff);
            context = self.node(context).suffix;
        }
    }

    fn node(&self, node: u32) -> Node {
        self.nodes[node as usize]
    }

    fn find(&self, context: u32, word: i32) -> Option<u32> {
        self.tree.find(context, word.cast_unsigned()).map(|pair| pair + 1)
    }

    /// Takes in an n-gram; false if there is one of these words.
    fn add(&mut self, ngram: &[i32], score: f32, backoff: f32) -> Result<bool, Error> {
        let (&word, before) = ngram.split_last().expect("an n-gram has words");
        let mut context = ROOT;
        for &word in before {
            context = match self.find(context, word) {
                Some(node) => node,
                None => {
                    let score = self.step(context, word).0;
                    self.added = true;
                    self.insert(context, word, rounded(score), 0.0)?.expect("it was not found")
                }
            };
        }
        Ok(self.insert(context, word, score, backoff)?.is_some())
    }

    /// A new node, if there is none of these words.
    fn insert(&mut self, context: u32, word: i32, score: f32, backoff: f32) -> Result<Option<u32>, Error> {
        let (pair, fresh) = self.tree.insert(context, word.cast_unsigned())?;
        if !fresh {
            return Ok(None);
        }
        let suffix = self.suffix(context, word);
        self.nodes.push(Node { score, backoff, suffix, extended: false });
        self.nodes[context as usize].extended = true;
        Ok(Some(pair + 1))
    }

    /// The node of as many of the last words as there is one for, if that of `context` knows its
    /// own.
    fn suffix(&self, mut context: u32, word: i32) -> u32 {
        let mut suffix = ROOT;
        while context != ROOT && word != FINAL && suffix == ROOT {
            context = self.node(context).suffix;
            suffix = self.find(context, word).unwrap_or(ROOT);
        }
        suffix
    }

    /// Nodes that have been added may be the suffixes of others that came before. Those of fewer
    /// words must know theirs first.
    #[cold]
    fn find_suffixes(&mut self) {
        self.added = false;
        let mut lengths = vec![0; self.nodes.len()];
        for length in 1..=self.order {
            for node in (1..).take(self.tree.len()) {
                let (context, word) = self.tree.pair(node - 1);
                if length == 1 {
                    lengths[node as usize] = lengths[context as usize] + 1;
                }
                if lengths[node as usize] == length {
                    self.nodes[node as usize].suffix = self.suffix(context, word.cast_signed());
                }
            }
        }
    }

    /// As an acceptor of sentences: a state for each beginning of n-grams, in which the words lead
    /// on that may follow, and an arc with `label` ([`EPSILON`], or a symbol of its own) backs off
    /// to the words but for the first one. State 0 is the beginning of a sentence. Arcs are sorted.
    /// O(n-grams).
    ///
    /// Arcs for backing off can be taken also where they need not: the best path of a sentence then
    /// has a score above that of [`score`](Self::score), if its words are likelier so. With a
    /// symbol that each such arc must take, both are told apart.
    ///
    /// States that can only be left by backing off are left out; their weights go to the arcs that
    /// would have entered them.
    ///
    /// # Errors
    /// [`Error::NoSentence`] if the model has no end of sentences, [`Error::Symbol`] if `label` is
    /// a word of the model, and [`Error::TooLarge`].
    #[doc(alias = "arpa2fst")]
    #[doc(alias = "kaldilm")]
    pub fn to_fsa(&self, label: i32) -> Result<Fsa, Error> {
        let start =
            self.find(ROOT, START).filter(|&start| self.node(start).extended || self.node(start).backoff != 0.0);
        let start = start.unwrap_or(ROOT);
        // The root is always there, the start as the first.
        let is_state = |node: u32| node == ROOT || node == start || self.node(node).extended;
        let mut states = vec![0; self.nodes.len()];
        let mut num_states = 1;
        for node in (0..).take(self.nodes.len()) {
            if node != start && is_state(node) {
                states[node as usize] = Error::fit(Quantity::States, num_states)?;
                num_states += 1;
            }
        }
        let last = Error::fit(Quantity::States, num_states)?;
        // The state of as many of the words as matter for what follows, and what it costs to forget
        // the others.
        let resolve = |mut node: u32, mut score: f64| {
            while !is_state(node) {
                score += f64::from(self.node(node).backoff);
                node = self.node(node).suffix;
            }
            (states[node as usize], rounded(score))
        };
        let mut arcs = Vec::with_capacity(self.nodes.len() * 2);
        let mut ends = false;
        for node in (1..).take(self.tree.len()) {
            let (context, word) = self.tree.pair(node - 1);
            let (from, word) = (states[context as usize], word.cast_signed());
            if word == label {
                return Err(Error::Symbol { position: node as usize, symbol: word, least: 1 });
            }
            let it = self.node(node);
            let (dest, score) = match word {
                FINAL => (last, it.score),
                _ => resolve(node, it.score.into()),
            };
            if word != START {
                arcs.push(Arc::new(from, dest, word, score));
            }
            ends |= word == FINAL;
            if is_state(node) {
                let (dest, score) = resolve(it.suffix, it.backoff.into());
                arcs.push(Arc::new(states[node as usize], dest, label, score));
            }
        }
        if !ends {
            return Err(Error::NoSentence);
        }
        Error::fit(Quantity::Arcs, arcs.len())?;
        sort(&mut arcs, num_states);
        Fsa::from_arcs(num_states + 1, arcs)
    }
}

/// What a grammar takes where no word stands, as Kaldi's `arpa2fst` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrammarLabels {
    /// With `--disambig-symbol`: arcs that back off take this label and output nothing; sentences
    /// are their words.
    Disambiguated {
        /// The number of `#0`.
        backoff: i32,
    },
    /// Without: arcs that back off are epsilons; sentences are their words between two that say
    /// where they begin and end.
    Plain {
        /// The number of `<s>`.
        start: i32,
        /// The number of `</s>`.
        end: i32,
    },
}

impl NgramModel {
    /// The grammar that Kaldi's `arpa2fst` makes; otherwise as [`to_fsa`](Self::to_fsa).
    /// O(n-grams).
    ///
    /// # Errors
    /// As [`to_fsa`](Self::to_fsa); [`Error::Symbol`] too if a label of `labels` is below 1 or a
    /// word of the model.
    #[doc(alias = "arpa2fst")]
    pub fn to_graph(&self, labels: GrammarLabels) -> Result<Graph<Fsa>, Error> {
        match labels {
            GrammarLabels::Disambiguated { backoff } => {
                self.check_label(backoff)?;
                let fsa = self.to_fsa(backoff)?;
                let output = |arc: &Arc| if arc.label == backoff { EPSILON } else { arc.label };
                let aux_labels: Vec<_> = fsa.arcs().iter().map(output).collect();
                Graph::new(fsa).with_aux_labels(aux_labels)
            }
            GrammarLabels::Plain { start, end } => {
                self.check_label(start)?;
                self.check_label(end)?;
                let fsa = self.to_fsa(EPSILON)?;
                // State 0 takes the beginning, all others stand one behind; the last but one takes
                // nothing any more.
                let before_last = Error::fit(Quantity::States, fsa.num_states())?;
                let mut arcs = Vec::with_capacity(fsa.num_arcs() + 2);
                arcs.push(Arc::new(0, 1, start, 0.0));
                arcs.extend(fsa.arcs().iter().map(|&Arc { src_state, dest_state, label, score }| {
                    Arc::new(src_state + 1, dest_state + 1, if label == FINAL { end } else { label }, score)
                }));
                arcs.push(Arc::new(before_last, before_last + 1, FINAL, 0.0));
                Error::fit(Quantity::States, fsa.num_states() + 2)?;
                sort(&mut arcs, fsa.num_states() + 1);
                Ok(Graph::new(Fsa::from_arcs(fsa.num_states() + 2, arcs)?))
            }
        }
    }

    fn check_label(&self, label: i32) -> Result<(), Error> {
        if label <= EPSILON || self.has_word(label) {
            return Err(Error::Symbol { position: 0, symbol: label, least: 1 });
        }
        Ok(())
    }
}

/// By the states that they leave, then as arcs of a state are sorted.
fn sort(arcs: &mut Vec<Arc>, num_states: usize) {
    let by_source = Adjacency::new(num_states, arcs.iter().map(|arc| arc.states().0));
    let mut sorted: Vec<_> = by_source.order().iter().map(|&arc| arcs[arc as usize]).collect();
    (0..num_states).for_each(|state| sorted[by_source.range(state)].sort_by_key(Arc::sort_key));
    *arcs = sorted;
}

/// As arcs have them; what is too small for a number is never.
#[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
fn rounded(score: f64) -> f32 {
    score as f32
}

/// The counts of `\data\`, up to the first section's name, which stays at hand.
fn read_counts<R: BufRead>(lines: &mut Lines<R>) -> Result<Vec<u64>, Error> {
    loop {
        if !lines.advance()? {
            return Err(lines.error("there is no \\data\\", ""));
        }
        if lines.text() == "\\data\\" {
            break;
        }
    }
    let mut counts = Vec::new();
    loop {
        if !lines.advance()? {
            return Err(lines.error("the model ends before its n-grams", ""));
        }
        let text = lines.text();
        if text.is_empty() {
            continue;
        }
        if section(text).is_some() && !counts.is_empty() {
            return Ok(counts);
        }
        let count = text.strip_prefix("ngram").and_then(|rest| rest.split_once('='));
        let count = count
            .and_then(|(order, count)| Some((trim(order).parse::<usize>().ok()?, trim(count).parse::<u64>().ok()?)));
        match count {
            Some((order, count)) if order == counts.len() + 1 => counts.push(count),
            _ => return Err(lines.error("there should be `ngram ORDER=COUNT`, for the orders 1, 2 and so on", text)),
        }
    }
}

/// The N of `\N-grams:`.
fn section(text: &str) -> Option<usize> {
    text.strip_prefix('\\')?.strip_suffix("-grams:")?.parse().ok()
}

/// The score and the back-off weight of the line at hand; its words go to `ngram`, or less than all
/// of them if it is to be skipped.
fn parse_ngram<R: BufRead>(
    lines: &Lines<R>,
    order: usize,
    words: &mut SymbolTable,
    options: &ArpaOptions,
    ngram: &mut Vec<i32>,
    left_out: &mut LeftOut,
) -> Result<(f32, f32), Error> {
    let number = |text: &str| {
        let log10 = text.parse::<f64>().ok().map(|log10| rounded(log10 * std::f64::consts::LN_10));
        let valid = log10.filter(|&log| !log.is_nan() && log < f32::INFINITY);
        valid.ok_or_else(|| lines.error("there should be a logarithm of a probability", text))
    };
    let mut fields = fields(lines.text());
    let score = number(fields.next().unwrap_or_default())?;
    ngram.clear();
    let mut unfit = Vec::new();
    for position in 0..order {
        let Some(word) = fields.next() else {
            return Err(lines.error("too few words", lines.text()));
        };
        let id = match word {
            _ if word == options.start => {
                unfit.extend((position > 0).then_some(word));
                START
            }
            _ if word == options.end => {
                unfit.extend((position + 1 < order).then_some(word));
                FINAL
            }
            _ => match (words.find(word), &options.out_of_vocabulary) {
                (Some(EPSILON), _) => return Err(lines.error("epsilon is no word", word)),
                (Some(id), _) => id,
                (None, OutOfVocabulary::Add) => words.find_or_add(word)?,
                (None, OutOfVocabulary::Refuse) => return Err(lines.error("a word that the table does not have", word)),
                (None, OutOfVocabulary::Skip) => {
                    unfit.push(word);
                    continue;
                }
            },
        };
        ngram.push(id);
    }
    let backoff = fields.next().map(number).transpose()?.unwrap_or(0.0);
    if fields.next().is_some() {
        return Err(lines.error("too many words", lines.text()));
    }
    if !unfit.is_empty() {
        left_out.add(unfit);
        ngram.clear();
    }
    Ok((score, backoff))
}
