//! `lattice-align-words` and `lattice-align-words-lexicon`: lattices whose arcs each have one word
//! and its frames.

use std::collections::HashMap;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::Limits;
use kaldera::fsa::lattice::{AlignWordsOptions, Lattice, WordBoundaries, WordTokens};
use kaldera::io::lattice::{CompactLattice, PhoneBoundaries, PhoneTokens, PhoneType};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::io::transition_model::TransitionModel;
use tracing::{info, warn};

use super::Failure;
use super::lattices::{read_text, to_kaldi, told};
use crate::{Call, Tool};

pub(super) const WORDS: Tool =
    Tool { name: "lattice-align-words", about: "Align the arcs of lattices with words", run: words };
pub(super) const LEXICON: Tool = Tool {
    name: "lattice-align-words-lexicon",
    about: "Align the arcs of lattices with words, by a lexicon of phones",
    run: lexicon,
};

const WORDS_USAGE: &str =
    "Aligns lattices with words: each arc has one word with its frames, or silence without a word.
Word boundaries are determined by position-dependent phones. <word-boundary-file> has lines of a phone
and one of nonword, begin, end, internal, singleton; <model> begins with the transition model.
Usage: lattice-align-words [options] <word-boundary-file> <model> <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-align-words phones/word_boundary.int final.mdl ark:1.lats ark:aligned.lats";

const LEXICON_USAGE: &str =
    "Aligns lattices with words: each arc has one word with its frames, or silence without a word.
Word boundaries are determined by the pronunciations. <lexicon-file> has lines of a word, its output
word and its phones; the word 0 is optional silence between words. <model> begins with the
transition model.
Usage: lattice-align-words-lexicon [options] <lexicon-file> <model> <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-align-words-lexicon phones/align_lexicon.int final.mdl ark:1.lats ark:aligned.lats";

struct Options {
    partial_word_label: i32,
    reorder: bool,
    max_expand: f32,
    test: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { partial_word_label: 0, reorder: true, max_expand: 0.0, test: false }
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "partial-word-label",
            &mut self.partial_word_label,
            "Label for a partial word at the end of a path; 0 for none",
        );
        registry.add(
            "reorder",
            &mut self.reorder,
            "True if the graphs were made with --reorder=true, with self-loops last",
        );
        registry.add(
            "max-expand",
            &mut self.max_expand,
            "If above 0, reject lattices that exceed 1000 states plus this factor times the number of input states",
        );
        registry.add("test", &mut self.test, "Accepted for compatibility with Kaldi; has no effect");
    }
}

struct WordsOptions {
    common: Options,
    silence_label: i32,
    output_error_lats: bool,
}

impl Default for WordsOptions {
    fn default() -> Self {
        Self { common: Options::default(), silence_label: 0, output_error_lats: true }
    }
}

impl OptionSet for WordsOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.common.register(registry);
        registry.add("silence-label", &mut self.silence_label, "Label of silence arcs; 0 for none");
        registry.add("output-error-lats", &mut self.output_error_lats, "Write lattices with alignment errors");
    }
}

struct LexiconOptions {
    common: Options,
    output_error_lats: bool,
    output_if_empty: bool,
    allow_duplicate_paths: bool,
}

impl Default for LexiconOptions {
    fn default() -> Self {
        let common = Options { max_expand: -1.0, ..Options::default() };
        Self { common, output_error_lats: true, output_if_empty: false, allow_duplicate_paths: false }
    }
}

impl OptionSet for LexiconOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.common.register(registry);
        registry.add("output-error-lats", &mut self.output_error_lats, "Write lattices with alignment errors");
        registry.add("output-if-empty", &mut self.output_if_empty, "Write the input lattice if it cannot be aligned");
        registry.add(
            "allow-duplicate-paths",
            &mut self.allow_duplicate_paths,
            "Accepted for compatibility with Kaldi; duplicate paths are never written",
        );
    }
}

fn words(call: Call<'_>) -> ExitCode {
    super::run(WORDS.name, WORDS_USAGE, call, WordsOptions::default(), |options, [types, model, input, output]| {
        let model = TransitionModel::open(&model)?;
        let boundaries = PhoneBoundaries::new(model, read_types(&types)?, options.common.reorder);
        let how = Alignment {
            boundaries,
            options: &options.common,
            silence_label: options.silence_label,
            writes_wrong: options.output_error_lats,
            passes_on: false,
            renamed: HashMap::new(),
        };
        how.table(&input, &output)
    })
}

fn lexicon(call: Call<'_>) -> ExitCode {
    super::run(
        LEXICON.name,
        LEXICON_USAGE,
        call,
        LexiconOptions::default(),
        |options, [words, model, input, output]| {
            let model = TransitionModel::open(&model)?;
            let (words, mut renamed) = read_lexicon(&words)?;
            let silence_label = renamed.remove(&0).unwrap_or(0);
            let how = Alignment {
                boundaries: PhoneTokens::new(model, words, options.common.reorder),
                options: &options.common,
                silence_label,
                writes_wrong: options.output_error_lats,
                passes_on: options.output_if_empty,
                renamed,
            };
            how.table(&input, &output)
        },
    )
}

/// The common part of both programs.
struct Alignment<'a, B> {
    boundaries: B,
    options: &'a Options,
    silence_label: i32,
    writes_wrong: bool,
    /// `true` to write a lattice unchanged if it cannot be aligned.
    passes_on: bool,
    /// Words that are written as other words.
    renamed: HashMap<i32, i32>,
}

impl<B: WordBoundaries> Alignment<'_, B> {
    fn table(&self, input: &str, output: &str) -> Result<bool, Failure> {
        let how = AlignWordsOptions::default()
            .with_silence_label(self.silence_label)
            .with_partial_word_label(self.options.partial_word_label);
        let reader = SequentialReader::<CompactLattice>::open(input)?;
        let mut writer = TableWriter::<CompactLattice>::open(output)?;
        let (mut done, mut failed) = (0_u64, 0_u64);
        for entry in reader {
            let (key, compact) = entry?;
            let how = how.with_limits(limits(self.options, compact.states().len()));
            let aligned = Lattice::try_from(&compact).and_then(|lattice| lattice.align_words(&self.boundaries, &how));
            let Some((aligned, incomplete)) = told(&key, aligned) else {
                failed += 1;
                if self.passes_on && !compact.states().is_empty() {
                    writer.write(&key, &compact)?;
                }
                continue;
            };
            let is_empty = aligned.fsas().num_states() == 0;
            let is_wrong = incomplete.iter().any(|&arcs| arcs > 0);
            if is_wrong {
                warn!("{key}: words and phones do not fit on some paths");
            } else if is_empty {
                warn!("{key}: the lattice has no path");
            }
            if is_wrong || is_empty {
                failed += 1;
            } else {
                done += 1;
            }
            if !is_empty && (!is_wrong || self.writes_wrong) {
                let mut aligned = to_kaldi(&aligned);
                aligned.rename_words(|word| self.renamed.get(&word).copied().unwrap_or(word));
                writer.write(&key, &aligned)?;
            }
        }
        writer.close()?;
        info!("{done} lattices aligned; {failed} had errors");
        Ok(done > failed)
    }
}

/// Returns Kaldi's limit on the number of states of a lattice.
fn limits(options: &Options, num_states: usize) -> Limits {
    if options.max_expand.is_nan() || options.max_expand <= 0.0 {
        return Limits::default();
    }
    #[expect(clippy::cast_precision_loss, reason = "a bound")]
    let most = 1000.0 + f64::from(options.max_expand) * num_states as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above 0; larger ones are no bound")]
    Limits::default().with_max_states(most as usize)
}

/// Reads the types of phones.
fn read_types(rxfilename: &str) -> Result<HashMap<i32, PhoneType>, Failure> {
    let parse = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let made = fields.next()?.parse().ok().zip(PhoneType::named(fields.next()?));
        made.filter(|_| fields.next().is_none())
    };
    let text = read_text(rxfilename)?;
    let lines = text.lines().filter(|line| !line.trim_ascii().is_empty());
    let wrong = |line: &str| Failure::Argument {
        value: line.to_owned(),
        expected: "a line of a phone and its type: nonword, begin, end, internal or singleton",
    };
    lines.map(|line| parse(line).ok_or_else(|| wrong(line))).collect()
}

/// Reads the phones of words and of silence, and the words that are renamed.
fn read_lexicon(rxfilename: &str) -> Result<(WordTokens, HashMap<i32, i32>), Failure> {
    let (mut silence, mut lines, mut renamed) = (Vec::new(), Vec::new(), HashMap::new());
    for line in read_text(rxfilename)?.lines().filter(|line| !line.trim_ascii().is_empty()) {
        let numbers = line.split_ascii_whitespace().map(|field| field.parse().ok()).collect::<Option<Vec<i32>>>();
        let Some((&[word, written], phones)) = numbers.as_deref().and_then(|numbers| numbers.split_first_chunk())
        else {
            let expected = "a line of a word, its output word and its phones, all of them numbers";
            return Err(Failure::Argument { value: line.to_owned(), expected });
        };
        if word == 0 {
            silence.extend_from_slice(phones);
        } else {
            lines.push((word, phones.to_vec()));
        }
        if word != written && renamed.insert(word, written).is_some_and(|before| before != written) {
            let expected = "a line that writes the same word as the lines of that word before";
            return Err(Failure::Argument { value: line.to_owned(), expected });
        }
    }
    let words = WordTokens::new([], silence);
    Ok((lines.into_iter().fold(words, |words, (word, phones)| words.with_word(word, phones)), renamed))
}
