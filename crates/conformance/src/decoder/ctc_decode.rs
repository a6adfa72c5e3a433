//! CTC decoding: the best alignment, exact prefix search, and pyctcdecode's beam search.

use std::collections::HashMap;
use std::path::Path;

use fsa::graphs::{ArpaOptions, NgramModel};
use fsa::io::SymbolTable;
use fsa::lattice::LanguageModel;
use kaldera::decoder::ctc::{CtcDecoder, CtcDecoderOptions, NoModel, WordModel, greedy};
use kaldera::decoder::{FrameTimes, Hypothesis, LogProbs, Recognition, Vocabulary, log_softmax};
use serde::Deserialize;

use super::judge;
use crate::{Case, Differences, Error, Number, Settings, Singles, Stop, Verdict};

/// The README's, for single precision.
const EXACT: f64 = 1e-4;
const PYCTC: f64 = 1e-3;

/// Runs cases of `pyctc.jsonl`, whose inputs are in the folder `in` next to it.
pub(crate) fn run_pyctc(_: &Settings, path: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    let folder = path.with_file_name("in");
    let text = std::fs::read_to_string(folder.join("pyctc_inputs.jsonl"))?;
    let inputs = text.lines().filter_map(|line| serde_json::from_str::<Input>(line).ok());
    let inputs: HashMap<_, _> = inputs.map(|input| (input.id.clone(), input)).collect();
    let check = |case: Pyctc| match inputs.get(&case.input) {
        Some(input) => case.check(&folder, input),
        None => Err(Stop::Refused("its input is missing".into())),
    };
    Ok(cases.iter().map(|case| judge(&case.value, check)).collect())
}

#[derive(Deserialize)]
pub(crate) struct Greedy {
    blank: i32,
    #[serde(rename = "C")]
    num_tokens: usize,
    log_probs: Singles,
    tokens: Vec<i32>,
    spans: Vec<(usize, usize)>,
    score: Number,
    tie_frames: Vec<usize>,
}

/// The verdict on a case of `greedy.jsonl`.
pub(crate) fn greedy_case(case: Greedy) -> Result<Verdict, Stop> {
    let log_probs = LogProbs::new("case", &case.log_probs.0, case.num_tokens)?;
    let came = greedy(&log_probs, case.blank, &FrameTimes::default())?;
    let mut differences = Differences::default();
    differences.near("score", case.score.0, came.scores.acoustic, EXACT);
    if case.tie_frames.is_empty() {
        differences.equal("tokens", case.tokens, came.token_ids());
        let spans: Vec<_> = came.tokens.iter().map(|token| (token.frames.start, token.frames.end)).collect();
        differences.equal("spans", case.spans, spans);
    }
    differences.verdict()
}

#[derive(Deserialize)]
pub(crate) struct Exact {
    blank: usize,
    #[serde(rename = "C")]
    num_tokens: usize,
    log_probs: Singles,
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

/// The verdict on a case of `exact.jsonl`.
pub(crate) fn exact_case(case: Exact) -> Result<Verdict, Stop> {
    let log_probs = LogProbs::new("case", &case.log_probs.0, case.num_tokens)?;
    let vocabulary = Vocabulary::new((0..case.num_tokens).map(|token| token.to_string()), case.blank)?;
    let nbest = &case.nbest;
    let options = CtcDecoderOptions::default()
        .with_beam_size(usize::MAX)
        .with_beam_threshold(f64::INFINITY)
        .with_n_best(nbest.len().max(1));
    let came = match &case.lm {
        None => CtcDecoder::new(vocabulary, options.with_word_score(0.0))?.decode(&log_probs)?,
        Some(lm) => {
            let options =
                options.with_lm_weight(lm.weight).with_word_score(lm.insertion).with_score_boundary(lm.use_eos);
            CtcDecoder::with_tokens(vocabulary, options, lm.clone())?.decode(&log_probs)?
        }
    };
    let mut differences = Differences::default();
    differences.equal("hypotheses", nbest.len().min(case.num_hyps), came.hypotheses.len());
    let mut place = 0;
    while place < nbest.len() {
        let mut end = place + 1;
        while end < nbest.len() && nbest[end - 1].tie_with_next {
            end += 1;
        }
        // The last of the list may tie with one that is not in it.
        let open = end == nbest.len() && nbest[end - 1].tie_with_next;
        for expected in &nbest[place..end] {
            let tokens = &expected.tokens;
            match came.hypotheses.iter().enumerate().find(|(_, one)| one.token_ids() == *tokens) {
                Some((at, one)) if (place..end).contains(&at) => exact_entry(expected, one, &mut differences),
                Some((at, _)) => {
                    differences.check(open, || format!("{tokens:?} expected in {place}..{end}, came {at}"));
                }
                None => differences.check(open, || format!("{tokens:?} did not come")),
            }
        }
        place = end;
    }
    differences.verdict()
}

fn exact_entry(expected: &ExactEntry, came: &Hypothesis, differences: &mut Differences) {
    let what = |name: &str| format!("{name} of {:?}", expected.tokens);
    differences.near(&what("score"), expected.score, came.scores.total(), EXACT);
    differences.near(&what("ctc"), expected.ctc, came.scores.acoustic, EXACT);
    if let Some(path) = &expected.path {
        // Each token's frames are taken from the best alignment.
        let came: Vec<_> = came.tokens.iter().map(|token| (token.id, token.frames.clone())).collect();
        let holds = came.iter().all(|(token, frames)| path[frames.clone()].iter().all(|label| label == token));
        differences.check(holds, || format!("{}: expected {path:?}, came {came:?}", what("path")));
    }
}

#[derive(Deserialize)]
struct Input {
    id: String,
    kind: String,
    labels: Vec<String>,
    logits: Singles,
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
    fn check(&self, folder: &Path, input: &Input) -> Result<Verdict, Stop> {
        let (mut values, num_tokens) = (input.logits.0.clone(), input.labels.len());
        if input.kind.ends_with("probabilities") {
            values.iter_mut().for_each(|value| *value = value.clamp(LEAST, 1.0).ln());
        } else {
            log_softmax(&mut values, num_tokens);
            values.iter_mut().for_each(|value| *value = value.clamp(LEAST.ln(), 0.0));
        }
        let came = self.decode(folder, input, &LogProbs::new(&input.id, &values, num_tokens)?)?;
        if self.binding == 0 {
            return Ok(Verdict::Free(None));
        }
        let mut differences = Differences::default();
        for (place, expected) in self.beams.iter().enumerate().take(self.binding) {
            let Some(one) = came.hypotheses.get(place) else {
                differences.check(false, || format!("beam {place} did not come"));
                break;
            };
            let what = |name: &str| format!("beam {place}: {name}");
            differences.equal(&what("text"), &expected.text, &one.text());
            differences.near(&what("logit_score"), expected.logit_score, one.scores.acoustic, PYCTC);
            differences.near(&what("score"), expected.score, one.scores.total(), PYCTC);
            if place < self.binding_frames {
                let words = one.words.iter();
                let words: Vec<_> = words.map(|word| (word.text.clone(), word.frames.start, word.frames.end)).collect();
                differences.equal(&what("words"), &expected.words, &words);
            }
        }
        differences.verdict()
    }

    fn decode(&self, folder: &Path, input: &Input, log_probs: &LogProbs<'_>) -> Result<Recognition, Stop> {
        let vocabulary = Vocabulary::pyctcdecode(input.labels.clone())?;
        let options = CtcDecoderOptions::pyctcdecode()
            .with_beam_size(self.beam_width)
            .with_beam_threshold(-self.beam_prune_logp)
            .with_token_min_logp(self.token_min_logp)
            .with_prune_history(self.prune_history)
            .with_hotword_weight(self.hotword_weight);
        let Some(lm) = &self.lm else {
            let decoder = CtcDecoder::<NoModel>::with_words(vocabulary, options, None)?;
            return Ok(decoder.with_hot_texts(&self.hotwords)?.decode(log_probs)?);
        };
        let options = options
            .with_lm_weight(lm.alpha)
            .with_word_score(lm.beta)
            .with_unk_score(lm.unk_score_offset)
            .with_score_boundary(lm.score_boundary);
        let text = std::fs::read_to_string(folder.join(&lm.arpa))?;
        let mut words = SymbolTable::default();
        let model = NgramModel::read(text.as_bytes(), &mut words, &ArpaOptions::default(), &mut |_| {})?;
        let order = model.order();
        let model = WordModel::new(model, words, order);
        let model = match &lm.unigrams {
            None => model.without_unigrams(),
            Some(Unigrams::Arpa(name)) if name != "arpa" => {
                return Err(Stop::Refused(format!("unigrams of {name}, which is unknown")));
            }
            Some(Unigrams::Arpa(_)) => model.with_unigrams(words_with_backoff(&text)),
            Some(Unigrams::List(list)) => model.with_unigrams(list.clone()),
        };
        let decoder = CtcDecoder::with_words(vocabulary, options, Some(model))?;
        Ok(decoder.with_hot_texts(&self.hotwords)?.decode(log_probs)?)
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
