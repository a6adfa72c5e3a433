//! Searches over a stateless transducer: icefall's, and k2's streams with a graph.

use std::sync::Arc;

use fsa::graphs::{ContextGraph, trivial_graph};
use fsa::{Ragged, Semiring};
use kaldera::decoder::transducer::{
    EncoderOutput, Fusion, RnntConfig, RnntStream, RnntStreams, StatelessModel, TransducerOptions, greedy_search,
    modified_beam_search,
};
use kaldera::decoder::{FrameTimes, Recognition};
use serde::Deserialize;
use serde_json::Value;

use crate::{Differences, Number, Singles, Stop, Verdict, single};

/// Scores of the beam search, and where two are as good as equal.
const BEAM: f64 = 1e-3;
const TIE: f64 = 1e-4;
const EXACT: f64 = 1e-5;

#[derive(Deserialize)]
pub(crate) struct Answer {
    context_size: usize,
    blank: i32,
    encoder: Singles,
    embedding: Vec<Singles>,
    weight: Singles,
    bias: Vec<Number>,
    greedy: Vec<Greedy>,
    beam: Vec<Beam>,
    exact: Option<Value>,
}

#[derive(Deserialize)]
struct Greedy {
    max_symbols_per_frame: usize,
    blank_penalty: f64,
    tokens: Vec<i32>,
    frames: Vec<usize>,
}

#[derive(Deserialize)]
struct Beam {
    beam: Option<usize>,
    temperature: f64,
    blank_penalty: f64,
    context: Option<Context>,
    nbest: Vec<Entry>,
    best_length_normalised: Vec<i32>,
    #[serde(default)]
    free: bool,
}

#[derive(Deserialize)]
struct Context {
    phrases: Vec<Vec<i32>>,
    context_score: f32,
    scores: Option<Vec<f32>>,
}

#[derive(Deserialize)]
struct Entry {
    tokens: Vec<i32>,
    score: Number,
    #[serde(default)]
    frames: Vec<usize>,
}

pub(crate) fn check(answer: Answer) -> Result<Verdict, Stop> {
    // Each token has a bias and a row of weights.
    let dim = answer.weight.0.len() / answer.bias.len().max(1);
    let embeddings = answer.embedding.iter().map(|rows| rows.0.clone()).collect();
    let (weight, bias) = (answer.weight.0.clone(), answer.bias.iter().map(|number| single(number.0)).collect());
    let model = StatelessModel::new(embeddings, weight, bias, dim, answer.blank)?;
    let search = Search { answer: &answer, model, encoder: EncoderOutput::new("case", &answer.encoder.0, dim)? };
    let mut differences = Differences::default();
    for (number, expected) in answer.greedy.iter().enumerate() {
        let options = TransducerOptions::default()
            .with_max_symbols_per_frame(expected.max_symbols_per_frame)
            .with_blank_penalty(expected.blank_penalty);
        let came = greedy_search(&search.model, &search.encoder, &options, &FrameTimes::default())?;
        differences.equal(&format!("greedy {number}"), &expected.tokens, &came.token_ids());
        let frames: Vec<_> = came.tokens.iter().map(|token| token.frames.start).collect();
        differences.equal(&format!("greedy {number}: frames"), &expected.frames, &frames);
    }
    for (number, expected) in answer.beam.iter().enumerate() {
        search.check_beam(&format!("beam {number}"), expected, &mut differences)?;
    }
    if let Some(exact) = &answer.exact
        && let Ok(entries) = Vec::<Entry>::deserialize(exact.get("nbest").unwrap_or(exact))
    {
        let options = TransducerOptions::default().with_beam(usize::MAX).with_n_best(usize::MAX);
        compare("exact", &entries, &search.run(&Fusion::NONE, &options)?, EXACT, false, &mut differences);
    }
    differences.verdict()
}

struct Search<'a> {
    answer: &'a Answer,
    model: StatelessModel,
    encoder: EncoderOutput<'a>,
}

impl Search<'_> {
    fn run(&self, fusion: &Fusion, options: &TransducerOptions) -> Result<Recognition, Stop> {
        Ok(modified_beam_search(&self.model, &self.encoder, fusion, options, &FrameTimes::default())?)
    }

    fn check_beam(&self, what: &str, expected: &Beam, differences: &mut Differences) -> Result<(), Stop> {
        let options = TransducerOptions::default()
            .with_beam(expected.beam.unwrap_or(usize::MAX))
            .with_temperature(expected.temperature)
            .with_blank_penalty(expected.blank_penalty)
            .with_n_best(usize::MAX);
        let graph = match &expected.context {
            None => None,
            Some(context) => {
                let own = |i: usize| context.scores.as_ref().map(|scores| scores[i]).filter(|&score| score != 0.0);
                let scores: Vec<f32> =
                    (0..context.phrases.len()).map(|i| own(i).unwrap_or(context.context_score)).collect();
                Some(ContextGraph::new(&Ragged::from_lists(&context.phrases)?, &scores)?)
            }
        };
        let fusion = graph.map_or(Fusion::NONE, Fusion::hot_words);
        let context_size = self.answer.context_size;
        let came = self.run(&fusion, &options)?;
        let normalised = self.run(&fusion, &options.with_length_norm(Some(context_size)))?;
        if expected.free {
            return Ok(());
        }
        compare(what, &expected.nbest, &came, BEAM, expected.beam == Some(1), differences);
        let best = normalised.best().map(|best| best.token_ids()).unwrap_or_default();
        let right = &expected.best_length_normalised;
        let key = |tokens: &[i32]| {
            let of = came.hypotheses.iter().find(|one| one.token_ids() == tokens)?;
            #[expect(clippy::cast_precision_loss, reason = "few tokens")]
            Some(of.scores.total() / (tokens.len() + context_size) as f64)
        };
        if !key(&best).zip(key(right)).is_some_and(|(a, b)| (a - b).abs() < TIE) {
            differences.equal(&format!("{what}: normalised by length"), right, &best);
        }
        Ok(())
    }
}

/// The first hypotheses must be those expected, in their order but for ties.
fn compare(
    what: &str,
    expected: &[Entry],
    came: &Recognition,
    tolerance: f64,
    frames: bool,
    differences: &mut Differences,
) {
    let least = expected.last().map_or(f64::NEG_INFINITY, |last| last.score.0);
    for (place, Entry { tokens, score, frames: right }) in expected.iter().enumerate() {
        let found = came.hypotheses.iter().enumerate().find(|(_, one)| one.token_ids() == *tokens);
        let Some((at, one)) = found else {
            // A hypothesis that ties with the last of the list may be in its place.
            let ties = (score.0 - least).abs() <= TIE;
            differences.check(ties, || format!("{what}: {tokens:?} did not come"));
            continue;
        };
        differences.near(&format!("{what}: score of {tokens:?}"), score.0, one.scores.total(), tolerance);
        let tied = expected.get(at).is_none_or(|other| (other.score.0 - score.0).abs() < TIE);
        differences.check(at == place || tied, || format!("{what}: {tokens:?} expected at {place}, came at {at}"));
        if frames && !right.is_empty() {
            let came: Vec<_> = one.tokens.iter().map(|token| token.frames.start).collect();
            differences.equal(&format!("{what}: frames"), right, &came);
        }
    }
}

/// A case of k2's `rnnt_decode`.
#[derive(Deserialize)]
pub(crate) struct RnntDecode {
    vocab_size: usize,
    decoder_history_len: usize,
    num_frames: usize,
    num_streams: usize,
    /// By the number of a context, frame and token.
    log_probs: Vec<Vec<Vec<Number>>>,
    beam: f64,
    max_states: usize,
    max_contexts: usize,
}

#[derive(Deserialize)]
pub(crate) struct RnntDecodeAnswer {
    contexts: Value,
    tot_log: Vec<Number>,
    tot_tropical: Vec<Number>,
    best_labels: Vec<Vec<i32>>,
    best_aux: Vec<Vec<i32>>,
}

/// k2's rule `tolerance`, for values computed in single precision.
const TOTAL: f64 = 2e-3;

/// Runs a case, with the graph that accepts every token.
pub(crate) fn rnnt_decode(case: &RnntDecode, answer: &RnntDecodeAnswer) -> Result<Vec<String>, Stop> {
    let graph = Arc::new(trivial_graph(case.vocab_size - 1)?);
    let mut streams: Vec<_> = (0..case.num_streams).map(|i| RnntStream::new(&i.to_string(), graph.clone())).collect();
    let config = RnntConfig::default()
        .with_vocabulary(case.vocab_size, case.decoder_history_len)
        .with_beam(case.beam)
        .with_limits(case.max_states, case.max_contexts);
    let mut all = RnntStreams::new(streams.iter_mut().collect(), config)?;
    let mut differences = Differences::default();
    for frame in 0..case.num_frames {
        let (shape, contexts) = all.contexts()?;
        let rows: Vec<&[i32]> = contexts.chunks(case.decoder_history_len).collect();
        if let Ok((splits, expected)) = <(Vec<i32>, Vec<Vec<i32>>)>::deserialize(&answer.contexts[frame]) {
            differences.equal("row splits of contexts", &splits[..], shape.row_splits(1).as_ref());
            differences.equal("contexts", &expected, &rows);
        }
        let mut log_probs = vec![];
        for row in rows {
            let number =
                row.iter().try_fold(0, |number, &token| Some(number * case.vocab_size + usize::try_from(token).ok()?));
            let of = number.and_then(|number| case.log_probs.get(number)?.get(frame));
            let of = of.ok_or_else(|| Stop::Refused("a context has no scores".into()))?;
            log_probs.extend(of.iter().map(|number| single(number.0)));
        }
        all.advance(&log_probs)?;
    }
    let lattices = all.lattices(false)?;
    for stream in 0..case.num_streams {
        let lattice = lattices.graph(stream)?.connect()?;
        for (semiring, expected) in [(Semiring::Log, &answer.tot_log), (Semiring::Tropical, &answer.tot_tropical)] {
            let came = lattice.total_scores::<f64>(semiring)?[0];
            differences.near(&format!("total score, {semiring:?}"), expected[stream].0, came, TOTAL);
        }
        let best = lattice.shortest_path()?;
        differences.equal("best labels", &answer.best_labels[stream], &best.fsas().labels());
        let aux = best.aux_labels().unwrap_or_default();
        differences.equal("best output labels", &answer.best_aux[stream][..], aux);
    }
    Ok(differences.0)
}
