//! `decode-faster`: words from log-likelihoods and a graph; the decoder of all such programs.

use std::process::ExitCode;
use std::time::Instant;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::dense::{DenseFsaVec, DenseLattices, DenseOptions, Ending, OnlineDecoder, Outcome};
use kaldera::fsa::incremental::IncrementalOptions;
use kaldera::fsa::io::{OpenFstBinary, OpenFstText};
use kaldera::fsa::lattice::{Lattice, LatticePath};
use kaldera::fsa::{Arc, EPSILON, FINAL, Fsa, FsaVec, Graph, GraphLabels};
use kaldera::io::Matrix;
use kaldera::io::table::{SequentialReader, TableWriter};
use tracing::{info, warn};

use super::Failure;
use super::lattices::{read_bytes, read_words, register_word_symbol_table, say_words, told};
use crate::{Call, Tool};

pub(super) const FASTER: Tool =
    Tool { name: "decode-faster", about: "Decode log-likelihoods of the labels of a graph", run: faster };

const FASTER_USAGE: &str = "Decodes matrices of log-likelihoods with a graph; its input label 1 is the first column.
Usage: decode-faster [options] <fst-in> <loglikes-rspecifier> <words-wspecifier> [<alignments-wspecifier>]
For example: decode-faster --acoustic-scale=0.1 HLG.fst ark:loglikes.ark ark,t:words.txt";

/// Frames per second that the logged real-time factors assume.
const FRAMES_PER_SECOND: f64 = 100.0;

/// The options of the search.
pub(super) struct Beams {
    beam: f32,
    max_active: i32,
    min_active: i32,
    beam_delta: f32,
    hash_ratio: f32,
}

impl Beams {
    pub(super) fn new(min_active: i32) -> Self {
        Self { beam: 16.0, max_active: i32::MAX, min_active, beam_delta: 0.5, hash_ratio: 2.0 }
    }
}

impl OptionSet for Beams {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("beam", &mut self.beam, "Decoding beam: maximum cost difference to the best state of a frame");
        registry.add("max-active", &mut self.max_active, "Maximum number of active states per frame");
        registry.add("min-active", &mut self.min_active, "Minimum number of active states per frame");
        registry.add(
            "beam-delta",
            &mut self.beam_delta,
            "Increment added to the beam that --max-active or --min-active implies",
        );
        registry.add("hash-ratio", &mut self.hash_ratio, "Accepted for compatibility with Kaldi; has no effect");
    }
}

impl Beams {
    /// # Errors
    /// Returns an error for a number out of range.
    pub(super) fn options(&self, lattice_beam: f32) -> Result<DenseOptions, Failure> {
        let refuse = |name, value: String, expected| Err(Failure::Option { name, value, expected });
        for (name, value) in [("beam", self.beam), ("lattice-beam", lattice_beam), ("beam-delta", self.beam_delta)] {
            if value.is_nan() || value < 0.0 {
                return refuse(name, value.to_string(), "a number of 0 or above");
            }
        }
        let max_active = usize::try_from(self.max_active).ok().filter(|&most| most > 1);
        let Some(max_active) = max_active else {
            return refuse("max-active", self.max_active.to_string(), "a number above 1");
        };
        let min_active = usize::try_from(self.min_active).ok().filter(|&least| least <= max_active);
        let Some(min_active) = min_active else {
            return refuse("min-active", self.min_active.to_string(), "a number from 0 to --max-active");
        };
        Ok(DenseOptions::default()
            .with_search_beam(self.beam)
            .with_output_beam(lattice_beam)
            .with_max_active_states(max_active)
            .with_min_active_states(min_active)
            .with_beam_delta(self.beam_delta))
    }

    /// Returns the options of a decoder that goes on, which determinizes at the end.
    ///
    /// # Errors
    /// As [`options`](Self::options).
    pub(super) fn incremental(&self, lattice_beam: f32) -> Result<IncrementalOptions, Failure> {
        self.options(lattice_beam)?;
        let count = |number: i32| usize::try_from(number).unwrap_or(0);
        Ok(IncrementalOptions::default()
            .with_beam(self.beam)
            .with_lattice_beam(lattice_beam)
            .with_max_active(count(self.max_active))
            .with_min_active(count(self.min_active))
            .with_beam_delta(self.beam_delta)
            .with_determinize_max_delay(usize::MAX))
    }
}

/// The options that programs on matrices have in common.
pub(super) struct Search {
    pub(super) beams: Beams,
    pub(super) acoustic_scale: f32,
    allow_partial: bool,
    pub(super) word_symbol_table: String,
}

impl Search {
    pub(super) fn new(min_active: i32, allow_partial: bool) -> Self {
        let beams = Beams::new(min_active);
        Self { beams, acoustic_scale: 0.1, allow_partial, word_symbol_table: String::new() }
    }
}

impl OptionSet for Search {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.beams.register(registry);
        registry.add("acoustic-scale", &mut self.acoustic_scale, "Factor for log-likelihoods");
        registry.add("allow-partial", &mut self.allow_partial, "Produce output even if no final state was reached");
        register_word_symbol_table(registry, &mut self.word_symbol_table);
    }
}

/// A decoder with its graph.
pub(super) struct Decoder {
    decoder: OnlineDecoder,
    /// For each arc its input label, if the graph is decoded with other labels.
    labels: Vec<i32>,
    acoustic_scale: f32,
    allow_partial: bool,
}

/// The result for an utterance.
pub(super) struct Decoded {
    /// The lattice with the input labels of the graph, before any determinization.
    pub(super) lattice: Lattice,
    pub(super) best: LatticePath,
    pub(super) reached_final: bool,
}

impl Decoder {
    /// Creates a decoder; `column` maps the labels of the graph to columns of the log-likelihoods.
    pub(super) fn new(
        graph: Graph<Fsa>,
        options: DenseOptions,
        search: &Search,
        column: impl Fn(i32) -> Option<i32>,
    ) -> Result<Self, Failure> {
        let labels = graph.fsas().labels();
        let mut arcs = Vec::with_capacity(labels.len());
        for &arc in graph.fsas().arcs() {
            // A column below 0 would become epsilon.
            let plus_one = |label| column(label).filter(|&column| column >= 0)?.checked_add(1);
            let label = match arc.label {
                EPSILON | FINAL => arc.label,
                label => plus_one(label).ok_or_else(|| Failure::Argument {
                    value: label.to_string(),
                    expected: "a transition identifier of the model; the graph has this label",
                })?,
            };
            arcs.push(Arc { label, ..arc });
        }
        let (fsa, attributes) = graph.into_parts();
        let graph = Graph::from_parts(Fsa::from_arcs(fsa.num_states(), arcs)?, attributes)?;
        let graph = graph.with_graph_labels(GraphLabels::ClassPlusOne);
        let decoder = OnlineDecoder::new(graph, options)?;
        Ok(Self { decoder, labels, acoustic_scale: search.acoustic_scale, allow_partial: search.allow_partial })
    }

    /// Decodes an utterance; logs the reason if there is no result.
    fn decode(&self, key: &str, loglikes: &Matrix<f32>) -> Result<Option<Decoded>, Failure> {
        let columns = loglikes.num_cols();
        let mut values = Vec::with_capacity(loglikes.num_rows() * columns);
        for row in loglikes.rows() {
            values.extend(row.iter().map(|value| value * self.acoustic_scale));
        }
        let dense = DenseFsaVec::from_frames(&values, columns)?;
        let mut stream = self.decoder.stream();
        let outcomes = self.decoder.decode(&mut [&mut stream], &dense)?;
        if let Some(error) = outcomes.into_iter().find_map(Result::err) {
            warn!("Did not successfully decode utterance {key}, len = {}: {error}", loglikes.num_rows());
            return Ok(None);
        }
        let found = self.decoder.lattices(&[&stream], Ending::FinalElseActive)?;
        let reached_final = match &found.outcomes()[0] {
            Outcome::Final => true,
            Outcome::Partial if self.allow_partial => false,
            Outcome::Partial => {
                warn!(
                    "Not producing output for utterance {key} since no final-state reached and --allow-partial=false."
                );
                return Ok(None);
            }
            Outcome::Died { frame } => {
                warn!(
                    "Did not successfully decode utterance {key}, len = {}: no path goes on at frame {frame}",
                    loglikes.num_rows()
                );
                return Ok(None);
            }
            Outcome::Failed(error) => {
                warn!("Did not successfully decode utterance {key}, len = {}: {error}", loglikes.num_rows());
                return Ok(None);
            }
            _ => {
                warn!("Did not successfully decode utterance {key}, len = {}", loglikes.num_rows());
                return Ok(None);
            }
        };
        let lattice = self.lattice(&found).and_then(|lattice| Ok((lattice.best_path(0)?, lattice)));
        let Some((Some(best), lattice)) = told(key, lattice) else { return Ok(None) };
        Ok(Some(Decoded { lattice, best, reached_final }))
    }

    fn lattice(&self, found: &DenseLattices) -> Result<Lattice, kaldera::fsa::Error> {
        let fsas = found.graph().fsas();
        let label = |(arc, &of_graph): (&Arc, &i32)| {
            let label = usize::try_from(of_graph).ok().and_then(|place| self.labels.get(place));
            Arc { label: label.copied().unwrap_or(arc.label), ..*arc }
        };
        let arcs: Vec<_> = fsas.arcs().iter().zip(found.graph_arcs()).map(label).collect();
        let arcs = fsas.as_ragged().with_values(arcs)?;
        let fsas = FsaVec::new(arcs)?;
        let acoustic = found.graph().fsas().scores();
        let acoustic = acoustic.iter().zip(found.graph_scores()).map(|(all, graph)| all - graph).collect();
        let graph = Graph::from_parts(fsas, found.graph().attributes().clone())?;
        Lattice::from_transducers(&graph, acoustic)
    }
}

/// Totals of a run, logged at its end.
pub(super) struct Totals {
    begin: Instant,
    done: u64,
    pub(super) failed: u64,
    frames: usize,
    /// Frames of features for a frame that is decoded.
    pub(super) subsampling: usize,
    log_likelihood: f64,
}

impl Totals {
    pub(super) fn new() -> Self {
        Self { begin: Instant::now(), done: 0, failed: 0, frames: 0, subsampling: 1, log_likelihood: 0.0 }
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean over frames, to be read")]
    pub(super) fn add(&mut self, key: &str, best: &LatticePath, frames: usize) {
        let log_likelihood = best.score();
        info!("Log-like per frame for utterance {key} is {} over {frames} frames.", log_likelihood / frames as f64);
        self.done += 1;
        self.frames += frames;
        self.log_likelihood += log_likelihood;
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean over frames, to be read")]
    pub(super) fn log(&self) -> bool {
        let (Self { done, failed, frames, .. }, seconds) = (self, self.begin.elapsed().as_secs_f64());
        let real_time = seconds * FRAMES_PER_SECOND / (*frames * self.subsampling) as f64;
        info!("Time taken {seconds}s: real-time factor assuming 100 frames/sec is {real_time}");
        info!("Done {done} utterances, failed for {failed}");
        let per_frame = self.log_likelihood / *frames as f64;
        info!("Overall log-likelihood per frame is {per_frame} over {frames} frames.");
        *done > 0
    }
}

/// Reads a graph from a file that holds only the graph.
pub(super) fn read_graph(rxfilename: &str) -> Result<Graph<Fsa>, Failure> {
    let bytes = read_bytes(rxfilename)?;
    if OpenFstBinary::is_one(&bytes) {
        return Ok(OpenFstBinary::read(&bytes)?.graph);
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| Failure::Argument {
        value: rxfilename.to_owned(),
        expected: "a graph, in OpenFst's binary form or its text",
    })?;
    Ok(OpenFstText::default().read(text)?)
}

struct FasterOptions {
    search: Search,
    binary: bool,
}

impl OptionSet for FasterOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.search.register(registry);
        registry.add("binary", &mut self.binary, "Accepted for compatibility with Kaldi; use ark,t: for text output");
    }
}

fn faster(call: Call<'_>) -> ExitCode {
    let options = FasterOptions { search: Search::new(20, true), binary: true };
    super::run_with_outputs(
        FASTER.name,
        FASTER_USAGE,
        call,
        options,
        (3..=4, 2),
        |FasterOptions { search, .. }, plain| {
            let argument = |i: usize| plain.get(i).map_or("", String::as_str);
            // A beam of 0 keeps only the best paths.
            let dense = search.beams.options(0.0)?;
            let mut words = TableWriter::<Vec<i32>>::open(argument(2))?;
            let mut alignments = super::open_if_given::<Vec<i32>>(argument(3))?;
            let table = read_words(&search.word_symbol_table)?;
            let reader = SequentialReader::<Matrix<f32>>::open(argument(1))?;
            let decoder = Decoder::new(read_graph(argument(0))?, dense, &search, |label| label.checked_sub(1))?;
            let mut totals = Totals::new();
            for entry in reader {
                let (key, loglikes) = entry?;
                let Some(Decoded { best, reached_final, .. }) = decode_some(&decoder, &key, &loglikes)? else {
                    totals.failed += 1;
                    continue;
                };
                if !reached_final {
                    warn!("Decoder did not reach end-state, outputting partial traceback.");
                }
                words.write(&key, &best.words)?;
                if let Some(writer) = &mut alignments {
                    writer.write(&key, &best.alignment)?;
                }
                say_words(&key, &best.words, table.as_ref())?;
                totals.add(&key, &best, loglikes.num_rows());
            }
            words.close()?;
            super::close_if_given(alignments)?;
            Ok(totals.log())
        },
    )
}

/// Decodes an utterance if it has frames.
pub(super) fn decode_some(decoder: &Decoder, key: &str, loglikes: &Matrix<f32>) -> Result<Option<Decoded>, Failure> {
    if loglikes.num_rows() == 0 {
        warn!("Zero-length utterance: {key}");
        return Ok(None);
    }
    decoder.decode(key, loglikes)
}
