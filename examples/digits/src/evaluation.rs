//! How many digits are wrong.

use std::fmt::Write as _;

use kaldera_decoder::score::edit_distance;
use kaldera_decoder::{FrameTimes, LogProbs, ctc};
use kaldi_matrix::RandomState;
use recurrent::Gru;

use crate::Error;
use crate::corpus::Corpus;
use crate::features::{FrontEnd, Signal};
use crate::network::{BLANK, Network};
use crate::strings::{DigitString, divide};

/// How often a recording is used.
const COPIES: usize = 4;
/// Of the strings and pauses: the same for all networks.
const SEED: u64 = 0;
/// Strings that are recognised together.
const BATCH: usize = 32;

/// Errors of the best path without a grammar, over strings of 3 to 7 digits.
#[derive(Debug, Clone, Default)]
pub struct Evaluation {
    /// Digits said.
    pub digits: usize,
    /// Insertions, deletions and substitutions.
    pub errors: usize,
    /// Strings said.
    pub strings: usize,
    /// Strings with an error.
    pub wrong_strings: usize,
    /// A line for each string: what was said, what was recognised, the indexes of the recordings,
    /// and the pauses in samples; with tabs between.
    pub lines: String,
}

impl Evaluation {
    /// Errors in percent of the digits.
    pub fn error_rate(&self) -> f64 {
        100.0 * self.errors as f64 / self.digits.max(1) as f64
    }

    fn add(&mut self, said: &[u8], recognised: &[u8]) -> Result<(), Error> {
        let errors = edit_distance(said, recognised);
        self.digits += said.len();
        self.errors += errors;
        self.strings += 1;
        self.wrong_strings += usize::from(errors > 0);
        let text = |digits: &[u8]| digits.iter().map(|digit| char::from(b'0' + digit)).collect::<String>();
        Ok(write!(self.lines, "{}\t{}", text(said), text(recognised))?)
    }
}

/// The strings that the `chosen` recordings are tested with.
pub fn test_strings(corpus: &Corpus, chosen: &[usize]) -> Vec<DigitString> {
    let mut random = RandomState::new(SEED);
    (0..COPIES).flat_map(|_| divide(corpus, chosen, &(3..=7), &mut random)).collect()
}

/// Recognises the test strings of the `chosen` recordings.
///
/// # Errors
/// For a network that does not fit the front end.
pub fn evaluate(
    network: &Network<Gru<f32>>,
    front_end: &FrontEnd,
    corpus: &Corpus,
    chosen: &[usize],
) -> Result<Evaluation, Error> {
    let mut evaluation = Evaluation::default();
    for batch in test_strings(corpus, chosen).chunks(BATCH) {
        let signals: Vec<Signal> = batch.iter().map(|string| string.signal(corpus, false)).collect();
        let logits = network.logits(&front_end.rows(&signals)?)?;
        for (i, string) in batch.iter().enumerate() {
            evaluation.add(&string.digits(corpus), &best_digits(logits.sequence(i), logits.width())?)?;
            let names: Vec<String> = string.recordings.iter().map(|&i| corpus.recordings[i].name()).collect();
            let pauses: Vec<String> = string.pauses.iter().map(usize::to_string).collect();
            writeln!(evaluation.lines, "\t{}\t{}", names.join(" "), pauses.join(" "))?;
        }
    }
    Ok(evaluation)
}

/// The digits of the best path.
fn best_digits(logits: &[f32], tokens: usize) -> Result<Vec<u8>, Error> {
    let scores = LogProbs::new("test", logits, tokens)?;
    let best = ctc::greedy(&scores, BLANK as i32, &FrameTimes::default())?;
    Ok(best.token_ids().into_iter().map(|token| u8::try_from(token - 1)).collect::<Result<_, _>>()?)
}
