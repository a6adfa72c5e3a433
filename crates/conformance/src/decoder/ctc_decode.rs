//! CTC decoding: the best alignment, exact prefix search, and pyctcdecode's beam search.

use std::collections::HashMap;
use std::path::Path;

use fsa::graphs::{ArpaOptions, NgramModel};
use fsa::io::SymbolTable;
use fsa::lattice::LanguageModel;
use kaldera::decoder::ctc::{CtcDecoder, CtcDecoderOptions, NoModel, WordModel, greedy};
use kaldera::decoder::{FrameTimes, Hypothesis, LogProbs, Recognition, Vocabulary, log_softmax};
use serde::Deserialize;

use super::json::{Number, flat};
use super::{Outcome, differ, differ_by, judge};
use crate::{Case, Error, Settings, Verdict};

/// The README's, for single precision.
const EXACT: f64 = 1e-4;
const PYCTC: f64 = 1e-3;

/// Runs cases of `greedy.jsonl`.
pub(crate) fn run_greedy(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(judge(cases, |case: Greedy| case.check()))
}

/// Runs cases of `exact.jsonl`.
pub(crate) fn run_exact(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(judge(cases, |case: Exact| case.check()))
}

/// Runs cases of `pyctc.jsonl`, whose inputs are in the folder `in` next to it.
pub(crate) fn run_pyctc(_: &Settings, path: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    let folder = path.with_file_name("in");
    let text = std::fs::read_to_string(folder.join("pyctc_inputs.jsonl"))?;
    let mut inputs = HashMap::new();
    for line in text.lines() {
        if let Ok(input) = serde_json::from_str::<Input>(line) {
            inputs.insert(input.id.clone(), input);
        }
    }
    Ok(judge(cases, |case: Pyctc| case.check(&folder, inputs.get(&case.input).ok_or("its input is missing")?)))
}

#[derive(Deserialize)]
struct Greedy {
    blank: i32,
    #[serde(rename = "C")]
    num_tokens: usize,
    log_probs: Vec<Vec<Number>>,
    tokens: Vec<i32>,
    spans: Vec<(usize, usize)>,
    score: Number,
    tie_frames: Vec<usize>,
}

impl Greedy {
    fn check(&self) -> Result<Outcome, String> {
        let values = flat(&self.log_probs);
        let log_probs = LogProbs::new("case", &values, self.num_tokens).map_err(|error| error.to_string())?;
        let came = greedy(&log_probs, self.blank, &FrameTimes::default()).map_err(|error| error.to_string())?;
        let mut differences = vec![];
        differ_by("score", self.score.0, came.scores.acoustic, EXACT, &mut differences);
        if self.tie_frames.is_empty() {
            differ("tokens", &self.tokens, &came.token_ids(), &mut differences);
            let spans = came.tokens.iter().map(|token| (token.frames.start, token.frames.end)).collect();
            differ("spans", &self.spans, &spans, &mut differences);
        }
        Ok(Outcome::Binding(differences))
    }
}

#[derive(Deserialize)]
struct Exact {
    blank: usize,
    #[serde(rename = "C")]
    num_tokens: usize,
    log_probs: Vec<Vec<Number>>,
    nbest: Vec<ExactEntry>,
    num_hyps: usize,
    lm: Option<Bigram>,
}

#[derive(Deserialize)]
struct ExactEntry {
    tokens: Vec<i32>,
    score: f64,
    ctc: f64,
    #[serde(default)]
    tie_with_next: bool,
    path: Option<Vec<i32>>,
}

/// A bigram model: natural logarithms, the end in the last column.
#[derive(Clone, Debug, Deserialize)]
struct Bigram {
    weight: f64,
    insertion: f64,
    tokens: Vec<i32>,
    start: Vec<Number>,
    after: Vec<Vec<Number>>,
    #[serde(default)]
    use_eos: bool,
}

impl Bigram {
    fn row(&self, state: usize) -> &[Number] {
        if state == 0 { &self.start } else { &self.after[state - 1] }
    }
}

impl LanguageModel for Bigram {
    type State = usize;

    fn start(&self) -> usize {
        0
    }

    fn step(&self, state: usize, token: i32) -> Option<(usize, f64)> {
        let place = self.tokens.iter().position(|&known| known == token)?;
        Some((place + 1, self.row(state)[place].0))
    }

    fn end(&self, state: usize) -> Option<f64> {
        self.row(state).last().map(|score| score.0)
    }
}

impl Exact {
    fn check(&self) -> Result<Outcome, String> {
        let values = flat(&self.log_probs);
        let log_probs = LogProbs::new("case", &values, self.num_tokens).map_err(|error| error.to_string())?;
        let tokens = (0..self.num_tokens).map(|token| token.to_string());
        let vocabulary = Vocabulary::new(tokens, self.blank).map_err(|error| error.to_string())?;
        let options = CtcDecoderOptions::default()
            .with_beam_size(usize::MAX)
            .with_beam_threshold(f64::INFINITY)
            .with_n_best(self.nbest.len().max(1));
        let came = match &self.lm {
            None => CtcDecoder::new(vocabulary, options.with_word_score(0.0)).and_then(|of| of.decode(&log_probs)),
            Some(lm) => {
                let options =
                    options.with_lm_weight(lm.weight).with_word_score(lm.insertion).with_score_boundary(lm.use_eos);
                CtcDecoder::with_tokens(vocabulary, options, lm.clone()).and_then(|of| of.decode(&log_probs))
            }
        };
        let came = came.map_err(|error| error.to_string())?;
        let mut differences = vec![];
        differ("hypotheses", &self.nbest.len().min(self.num_hyps), &came.hypotheses.len(), &mut differences);
        let mut place = 0;
        while place < self.nbest.len() {
            let mut end = place + 1;
            while end < self.nbest.len() && self.nbest[end - 1].tie_with_next {
                end += 1;
            }
            // The last of the list may tie with one that is not in it.
            let open = end == self.nbest.len() && self.nbest[end - 1].tie_with_next;
            for expected in &self.nbest[place..end] {
                let found = came.hypotheses.iter().enumerate().find(|(_, one)| one.token_ids() == expected.tokens);
                match found {
                    Some((at, one)) if (place..end).contains(&at) => exact_entry(expected, one, &mut differences),
                    _ if open => {}
                    Some((at, _)) => {
                        differences.push(format!("{:?} expected in {place}..{end}, came {at}", expected.tokens))
                    }
                    None => differences.push(format!("{:?} did not come", expected.tokens)),
                }
            }
            place = end;
        }
        Ok(Outcome::Binding(differences))
    }
}

fn exact_entry(expected: &ExactEntry, came: &Hypothesis, differences: &mut Vec<String>) {
    let what = |name: &str| format!("{name} of {:?}", expected.tokens);
    differ_by(&what("score"), expected.score, came.scores.total(), EXACT, differences);
    differ_by(&what("ctc"), expected.ctc, came.scores.acoustic, EXACT, differences);
    if let Some(path) = &expected.path {
        // Each token's frames are taken from the best alignment.
        let came: Vec<_> = came.tokens.iter().map(|token| (token.id, token.frames.clone())).collect();
        let holds = came.iter().all(|(token, frames)| path[frames.clone()].iter().all(|label| label == token));
        if !holds {
            differences.push(format!("{}: expected {path:?}, came {came:?}", what("path")));
        }
    }
}

#[derive(Deserialize)]
struct Input {
    id: String,
    kind: String,
    labels: Vec<String>,
    logits: Vec<Vec<Number>>,
}

#[derive(Deserialize)]
struct Pyctc {
    input: String,
    beam_width: usize,
    beam_prune_logp: f64,
    token_min_logp: f64,
    prune_history: bool,
    hotwords: Vec<String>,
    hotword_weight: f64,
    lm: Option<Lm>,
    beams: Vec<Beam>,
    binding: usize,
    binding_frames: usize,
}

#[derive(Deserialize)]
struct Lm {
    arpa: String,
    alpha: f64,
    beta: f64,
    unk_score_offset: f64,
    score_boundary: bool,
    unigrams: Option<Unigrams>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Unigrams {
    Arpa(String),
    List(Vec<String>),
}

#[derive(Deserialize)]
struct Beam {
    text: String,
    words: Vec<(String, usize, usize)>,
    logit_score: f64,
    score: f64,
}

/// pyctcdecode's least probability.
const LEAST: f32 = 1e-15;

impl Pyctc {
    fn check(&self, folder: &Path, input: &Input) -> Result<Outcome, String> {
        let mut values = flat(&input.logits);
        let num_tokens = input.labels.len();
        if input.kind.ends_with("probabilities") {
            values.iter_mut().for_each(|value| *value = value.clamp(LEAST, 1.0).ln());
        } else {
            log_softmax(&mut values, num_tokens);
            values.iter_mut().for_each(|value| *value = value.clamp(LEAST.ln(), 0.0));
        }
        let log_probs = LogProbs::new(&input.id, &values, num_tokens).map_err(|error| error.to_string())?;
        let came = self.decode(folder, input, &log_probs)?;
        if self.binding == 0 {
            return Ok(Outcome::Free);
        }
        let mut differences = vec![];
        for (place, expected) in self.beams.iter().enumerate().take(self.binding) {
            let Some(one) = came.hypotheses.get(place) else {
                differences.push(format!("beam {place} did not come"));
                break;
            };
            let what = |name: &str| format!("beam {place}: {name}");
            differ(&what("text"), &expected.text, &one.text(), &mut differences);
            differ_by(&what("logit_score"), expected.logit_score, one.scores.acoustic, PYCTC, &mut differences);
            differ_by(&what("score"), expected.score, one.scores.total(), PYCTC, &mut differences);
            if place < self.binding_frames {
                let words = one.words.iter();
                let words = words.map(|word| (word.text.clone(), word.frames.start, word.frames.end)).collect();
                differ(&what("words"), &expected.words, &words, &mut differences);
            }
        }
        Ok(Outcome::Binding(differences))
    }

    fn decode(&self, folder: &Path, input: &Input, log_probs: &LogProbs<'_>) -> Result<Recognition, String> {
        let vocabulary = Vocabulary::pyctcdecode(input.labels.clone()).map_err(|error| error.to_string())?;
        let options = CtcDecoderOptions::pyctcdecode()
            .with_beam_size(self.beam_width)
            .with_beam_threshold(-self.beam_prune_logp)
            .with_token_min_logp(self.token_min_logp)
            .with_prune_history(self.prune_history)
            .with_hotword_weight(self.hotword_weight);
        let result = match &self.lm {
            None => CtcDecoder::<NoModel>::with_words(vocabulary, options, None)
                .and_then(|decoder| decoder.with_hot_texts(&self.hotwords)?.decode(log_probs)),
            Some(lm) => {
                let options = options
                    .with_lm_weight(lm.alpha)
                    .with_word_score(lm.beta)
                    .with_unk_score(lm.unk_score_offset)
                    .with_score_boundary(lm.score_boundary);
                let text = std::fs::read_to_string(folder.join(&lm.arpa)).map_err(|error| error.to_string())?;
                let mut words = SymbolTable::default();
                let model = NgramModel::read(text.as_bytes(), &mut words, &ArpaOptions::default(), &mut |_| {})
                    .map_err(|error| error.to_string())?;
                let order = model.order();
                let model = WordModel::new(model, words, order);
                let model = match &lm.unigrams {
                    None => model.without_unigrams(),
                    Some(Unigrams::Arpa(name)) if name != "arpa" => {
                        return Err(format!("unigrams of {name}, which is unknown"));
                    }
                    Some(Unigrams::Arpa(_)) => model.with_unigrams(words_with_backoff(&text)),
                    Some(Unigrams::List(list)) => model.with_unigrams(list.clone()),
                };
                CtcDecoder::with_words(vocabulary, options, Some(model))
                    .and_then(|decoder| decoder.with_hot_texts(&self.hotwords)?.decode(log_probs))
            }
        };
        result.map_err(|error| error.to_string())
    }
}

/// The words of an ARPA file that have a back-off weight: pyctcdecode's
/// `load_unigram_set_from_arpa`.
fn words_with_backoff(arpa: &str) -> Vec<String> {
    let unigrams = arpa.lines().skip_while(|line| line.trim() != "\\1-grams:").skip(1);
    let unigrams = unigrams.take_while(|line| !line.starts_with('\\'));
    let word = |line: &str| {
        let fields: Vec<_> = line.trim().split('\t').collect();
        (fields.len() == 3).then(|| fields[1].to_owned())
    };
    unigrams.filter_map(word).collect()
}
