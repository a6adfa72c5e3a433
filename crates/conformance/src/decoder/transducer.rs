//! Searches over a stateless transducer: icefall's, and k2's streams with a graph.

use std::path::Path;
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

use super::json::{Number, flat};
use super::{Outcome, differ, differ_by, judge};
use crate::{Case, Error, Settings, Verdict};

/// Scores of the beam search, and where two are as good as equal.
const BEAM: f64 = 1e-3;
const TIE: f64 = 1e-4;
const EXACT: f64 = 1e-5;

/// Runs cases of the file.
pub(crate) fn run(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(judge(cases, |case: Answer| case.check()))
}

#[derive(Deserialize)]
struct Answer {
    context_size: usize,
    blank: i32,
    encoder: Vec<Vec<Number>>,
    embedding: Vec<Vec<Vec<Number>>>,
    weight: Vec<Vec<Number>>,
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

impl Answer {
    fn model(&self) -> Result<StatelessModel, String> {
        let embeddings = self.embedding.iter().map(|rows| flat(rows)).collect();
        let bias: Vec<f32> = self.bias.iter().map(|number| number.single()).collect();
        let dim = self.weight.first().map_or(0, Vec::len);
        let made = StatelessModel::new(embeddings, flat(&self.weight), bias, dim, self.blank);
        made.map_err(|error| error.to_string())
    }

    fn check(&self) -> Result<Outcome, String> {
        let model = self.model()?;
        let values = flat(&self.encoder);
        let dim = self.weight.first().map_or(1, Vec::len);
        let encoder = EncoderOutput::new("case", &values, dim).map_err(|error| error.to_string())?;
        let times = FrameTimes::default();
        let mut differences = vec![];
        for (number, expected) in self.greedy.iter().enumerate() {
            let options = TransducerOptions::default()
                .with_max_symbols_per_frame(expected.max_symbols_per_frame)
                .with_blank_penalty(expected.blank_penalty);
            let came = greedy_search(&model, &encoder, &options, &times).map_err(|error| error.to_string())?;
            differ(&format!("greedy {number}"), &expected.tokens, &came.token_ids(), &mut differences);
            let frames = came.tokens.iter().map(|token| token.frames.start).collect();
            differ(&format!("greedy {number}: frames"), &expected.frames, &frames, &mut differences);
        }
        for (number, expected) in self.beam.iter().enumerate() {
            let what = format!("beam {number}");
            self.check_beam(&what, expected, &model, &encoder, &mut differences)?;
        }
        if let Some(exact) = &self.exact {
            self.check_exact(exact, &model, &encoder, &mut differences)?;
        }
        Ok(Outcome::Binding(differences))
    }

    fn check_beam(
        &self,
        what: &str,
        expected: &Beam,
        model: &StatelessModel,
        encoder: &EncoderOutput<'_>,
        differences: &mut Vec<String>,
    ) -> Result<(), String> {
        let options = TransducerOptions::default()
            .with_beam(expected.beam.unwrap_or(usize::MAX))
            .with_temperature(expected.temperature)
            .with_blank_penalty(expected.blank_penalty)
            .with_n_best(usize::MAX);
        let graph = match &expected.context {
            None => None,
            Some(context) => {
                let phrases = Ragged::from_lists(&context.phrases).map_err(|error| error.to_string())?;
                let own = |i: usize| context.scores.as_ref().map(|scores| scores[i]).filter(|&score| score != 0.0);
                let scores: Vec<f32> =
                    (0..context.phrases.len()).map(|i| own(i).unwrap_or(context.context_score)).collect();
                Some(ContextGraph::new(&phrases, &scores).map_err(|error| error.to_string())?)
            }
        };
        let fusion = graph.as_ref().map_or(Fusion::NONE, Fusion::hot_words);
        let search = |options: &TransducerOptions| {
            modified_beam_search(model, encoder, &fusion, options, &FrameTimes::default())
                .map_err(|error| error.to_string())
        };
        let came = search(&options)?;
        let normalised = search(&options.clone().with_length_norm(Some(self.context_size)))?;
        if expected.free {
            return Ok(());
        }
        compare(what, &expected.nbest, &came, BEAM, expected.beam == Some(1), differences);
        let best = normalised.best().map(|best| best.token_ids()).unwrap_or_default();
        let key = |tokens: &[i32]| {
            let of = came.hypotheses.iter().find(|one| one.token_ids() == tokens)?;
            #[expect(clippy::cast_precision_loss, reason = "few tokens")]
            Some(of.scores.total() / (tokens.len() + self.context_size) as f64)
        };
        let tied = key(&best).zip(key(&expected.best_length_normalised)).is_some_and(|(a, b)| (a - b).abs() < TIE);
        if !tied {
            differ(&format!("{what}: normalised by length"), &expected.best_length_normalised, &best, differences);
        }
        Ok(())
    }

    fn check_exact(
        &self,
        exact: &Value,
        model: &StatelessModel,
        encoder: &EncoderOutput<'_>,
        differences: &mut Vec<String>,
    ) -> Result<(), String> {
        let entries = exact.get("nbest").unwrap_or(exact);
        let Ok(entries) = Vec::<Entry>::deserialize(entries) else { return Ok(()) };
        let options = TransducerOptions::default().with_beam(usize::MAX).with_n_best(usize::MAX);
        let came = modified_beam_search(model, encoder, &Fusion::NONE, &options, &FrameTimes::default());
        compare("exact", &entries, &came.map_err(|error| error.to_string())?, EXACT, false, differences);
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
    differences: &mut Vec<String>,
) {
    let least = expected.last().map_or(f64::NEG_INFINITY, |last| last.score.0);
    for (place, entry) in expected.iter().enumerate() {
        let found = came.hypotheses.iter().enumerate().find(|(_, one)| one.token_ids() == entry.tokens);
        let Some((at, one)) = found else {
            // A hypothesis that ties with the last of the list may be in its place.
            if (entry.score.0 - least).abs() > TIE {
                differences.push(format!("{what}: {:?} did not come", entry.tokens));
            }
            continue;
        };
        differ_by(
            &format!("{what}: score of {:?}", entry.tokens),
            entry.score.0,
            one.scores.total(),
            tolerance,
            differences,
        );
        let tied = expected.get(at).is_none_or(|other| (other.score.0 - entry.score.0).abs() < TIE);
        if at != place && !tied {
            differences.push(format!("{what}: {:?} expected at {place}, came at {at}", entry.tokens));
        }
        if frames && !entry.frames.is_empty() {
            let came = one.tokens.iter().map(|token| token.frames.start).collect();
            differ(&format!("{what}: frames"), &entry.frames, &came, differences);
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
pub(crate) fn rnnt_decode(case: &RnntDecode, answer: &RnntDecodeAnswer) -> Result<Vec<String>, String> {
    let graph = Arc::new(trivial_graph(case.vocab_size - 1).map_err(|error| error.to_string())?);
    let mut streams: Vec<_> = (0..case.num_streams).map(|i| RnntStream::new(&i.to_string(), graph.clone())).collect();
    let config = RnntConfig::default()
        .with_vocabulary(case.vocab_size, case.decoder_history_len)
        .with_beam(case.beam)
        .with_limits(case.max_states, case.max_contexts);
    let mut all = RnntStreams::new(streams.iter_mut().collect(), config).map_err(|error| error.to_string())?;
    let mut differences = vec![];
    for frame in 0..case.num_frames {
        let (shape, contexts) = all.contexts().map_err(|error| error.to_string())?;
        let rows: Vec<&[i32]> = contexts.chunks(case.decoder_history_len).collect();
        if let Ok((splits, expected)) = <(Vec<i32>, Vec<Vec<i32>>)>::deserialize(&answer.contexts[frame]) {
            differ(
                "row splits of contexts",
                &splits,
                &AsRef::<[i32]>::as_ref(shape.row_splits(1)).to_vec(),
                &mut differences,
            );
            differ("contexts", &expected, &rows.iter().map(|row| row.to_vec()).collect(), &mut differences);
        }
        let mut log_probs = vec![];
        for row in rows {
            let number =
                row.iter().try_fold(0, |number, &token| Some(number * case.vocab_size + usize::try_from(token).ok()?));
            let of =
                number.and_then(|number| case.log_probs.get(number)?.get(frame)).ok_or("a context has no scores")?;
            log_probs.extend(of.iter().map(|number| number.single()));
        }
        all.advance(&log_probs).map_err(|error| error.to_string())?;
    }
    let lattices = all.lattices(false).map_err(|error| error.to_string())?;
    for stream in 0..case.num_streams {
        let error = |error: fsa::Error| error.to_string();
        let lattice = lattices.graph(stream).map_err(|error| error.to_string())?;
        let lattice = lattice.connect().map_err(error)?;
        for (semiring, expected) in [(Semiring::Log, &answer.tot_log), (Semiring::Tropical, &answer.tot_tropical)] {
            let came = lattice.total_scores::<f64>(semiring).map_err(error)?[0];
            differ_by(&format!("total score, {semiring:?}"), expected[stream].0, came, TOTAL, &mut differences);
        }
        let best = lattice.shortest_path().map_err(error)?;
        differ("best labels", &answer.best_labels[stream], &best.fsas().labels(), &mut differences);
        let aux = best.aux_labels().unwrap_or_default().to_vec();
        differ("best output labels", &answer.best_aux[stream], &aux, &mut differences);
    }
    Ok(differences)
}
