//! `decode-faster` and `latgen-faster-mapped`: words and lattices from log-likelihoods and graphs.

use std::process::ExitCode;
use std::time::Instant;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::dense::{DenseFsaVec, DenseLattices, DenseOptions, Ending, OnlineDecoder, Outcome};
use kaldera::fsa::io::{OpenFstBinary, OpenFstText, SymbolTable};
use kaldera::fsa::lattice::{DeterminizeOptions, Lattice, LatticePath};
use kaldera::fsa::{Arc, EPSILON, FINAL, Fsa, FsaVec, Graph, GraphLabels, Limits};
use kaldera::io::Matrix;
use kaldera::io::lattice::{self, CompactLattice, GraphFst};
use kaldera::io::specifier::Rspecifier;
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use kaldera::io::transition_model::TransitionModel;
use tracing::{info, warn};

use super::Failure;
use super::lattices::{read_bytes, read_words, say_words, to_kaldi, told};
use crate::{Call, Tool};

pub(super) const FASTER: Tool =
    Tool { name: "decode-faster", about: "Decode log-likelihoods of the labels of a graph", run: faster };
pub(super) const LATGEN: Tool = Tool {
    name: "latgen-faster-mapped",
    about: "Lattices from log-likelihoods of pdfs and a graph of transition identifiers",
    run: latgen,
};

const FASTER_USAGE: &str = "Decodes matrices of log-likelihoods with a graph; its input label 1 is the first column.
Usage: decode-faster [options] <fst-in> <loglikes-rspecifier> <words-wspecifier> [<alignments-wspecifier>]
For example: decode-faster --acoustic-scale=0.1 HLG.fst ark:loglikes.ark ark,t:words.txt";

const LATGEN_USAGE: &str = "Decodes matrices of log-likelihoods of pdfs and writes lattices.
The model maps transition identifiers to pdfs.
Usage: latgen-faster-mapped [options] <trans-model-in> (<fst-in>|<fsts-rspecifier>) <loglikes-rspecifier> <lattice-wspecifier> [<words-wspecifier> [<alignments-wspecifier>]]
For example: latgen-faster-mapped --acoustic-scale=0.1 final.mdl HCLG.fst ark:loglikes.ark \"ark:|gzip -c >lat.gz\"";

/// Frames per second that the logged real-time factors assume.
const FRAMES_PER_SECOND: f64 = 100.0;

/// The options of both programs.
struct Search {
    beam: f32,
    max_active: i32,
    min_active: i32,
    beam_delta: f32,
    hash_ratio: f32,
    acoustic_scale: f32,
    allow_partial: bool,
    word_symbol_table: String,
}

impl Search {
    fn new(min_active: i32, allow_partial: bool) -> Self {
        Self {
            beam: 16.0,
            max_active: i32::MAX,
            min_active,
            beam_delta: 0.5,
            hash_ratio: 2.0,
            acoustic_scale: 0.1,
            allow_partial,
            word_symbol_table: String::new(),
        }
    }

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
        registry.add("acoustic-scale", &mut self.acoustic_scale, "Factor for log-likelihoods");
        registry.add("allow-partial", &mut self.allow_partial, "Produce output even if no final state was reached");
        registry.add(
            "word-symbol-table",
            &mut self.word_symbol_table,
            "Symbol table; if given, the words of each utterance are printed to stderr",
        );
    }

    /// # Errors
    /// Returns an error for a number out of range.
    fn options(&self, lattice_beam: f32) -> Result<DenseOptions, Failure> {
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
}

/// A decoder with its graph.
struct Decoder {
    decoder: OnlineDecoder,
    /// For each arc its input label, if the graph is decoded with other labels.
    labels: Vec<i32>,
    acoustic_scale: f32,
    allow_partial: bool,
}

/// The result for an utterance.
struct Decoded {
    /// The lattice with the input labels of the graph, before any determinization.
    lattice: Lattice,
    best: LatticePath,
    reached_final: bool,
}

impl Decoder {
    /// Creates a decoder; `column` maps the labels of the graph to columns of the log-likelihoods.
    fn new(
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
struct Totals {
    begin: Instant,
    done: u64,
    failed: u64,
    frames: usize,
    log_likelihood: f64,
}

impl Totals {
    fn new() -> Self {
        Self { begin: Instant::now(), done: 0, failed: 0, frames: 0, log_likelihood: 0.0 }
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean over frames, to be read")]
    fn add(&mut self, key: &str, best: &LatticePath, frames: usize) {
        let log_likelihood = best.score();
        info!("Log-like per frame for utterance {key} is {} over {frames} frames.", log_likelihood / frames as f64);
        self.done += 1;
        self.frames += frames;
        self.log_likelihood += log_likelihood;
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean over frames, to be read")]
    fn log(&self) -> bool {
        let (Self { done, failed, frames, .. }, seconds) = (self, self.begin.elapsed().as_secs_f64());
        let real_time = seconds * FRAMES_PER_SECOND / *frames as f64;
        info!("Time taken {seconds}s: real-time factor assuming 100 frames/sec is {real_time}");
        info!("Done {done} utterances, failed for {failed}");
        let per_frame = self.log_likelihood / *frames as f64;
        info!("Overall log-likelihood per frame is {per_frame} over {frames} frames.");
        *done > 0
    }
}

/// Reads a graph from a file that holds only the graph.
fn read_graph(rxfilename: &str) -> Result<Graph<Fsa>, Failure> {
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
            let dense = search.options(0.0)?;
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
fn decode_some(decoder: &Decoder, key: &str, loglikes: &Matrix<f32>) -> Result<Option<Decoded>, Failure> {
    if loglikes.num_rows() == 0 {
        warn!("Zero-length utterance: {key}");
        return Ok(None);
    }
    decoder.decode(key, loglikes)
}

struct LatgenOptions {
    search: Search,
    lattice_beam: f32,
    prune_interval: i32,
    determinize_lattice: bool,
    delta: f32,
    max_mem: i32,
    phone_determinize: bool,
    word_determinize: bool,
    minimize: bool,
    tokens_block_size: i32,
    links_block_size: i32,
}

impl Default for LatgenOptions {
    fn default() -> Self {
        Self {
            search: Search::new(200, false),
            lattice_beam: 10.0,
            prune_interval: 25,
            determinize_lattice: true,
            delta: DeterminizeOptions::default().delta,
            max_mem: 50_000_000,
            phone_determinize: true,
            word_determinize: true,
            minimize: false,
            tokens_block_size: 1 << 8,
            links_block_size: 1 << 8,
        }
    }
}

impl OptionSet for LatgenOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        const NOT_HERE: &str = "Accepted for compatibility with Kaldi; does not affect the results";
        self.search.register(registry);
        registry.add("lattice-beam", &mut self.lattice_beam, "Lattice beam: maximum cost difference to the best path");
        registry.add("prune-interval", &mut self.prune_interval, NOT_HERE);
        registry.add(
            "determinize-lattice",
            &mut self.determinize_lattice,
            "Keep the best path of each word sequence, and write compact lattices",
        );
        registry.add("delta", &mut self.delta, "Tolerance for the comparison of costs");
        registry.add(
            "max-mem",
            &mut self.max_mem,
            "Memory limit for the determinization of a lattice, in bytes; 0 for half of the memory. The beam is narrowed at the limit",
        );
        registry.add("phone-determinize", &mut self.phone_determinize, NOT_HERE);
        registry.add(
            "word-determinize",
            &mut self.word_determinize,
            "If false, and --phone-determinize=false: write lattices without determinization",
        );
        registry.add(
            "minimize",
            &mut self.minimize,
            "Not supported: lattices are not minimized, and a warning is logged",
        );
        registry.add("memory-pool-tokens-block-size", &mut self.tokens_block_size, NOT_HERE);
        registry.add("memory-pool-links-block-size", &mut self.links_block_size, NOT_HERE);
    }
}

/// Writers of the results of an utterance.
struct Writers {
    compact: Option<TableWriter<CompactLattice>>,
    plain: Option<TableWriter<lattice::Lattice>>,
    words: Option<TableWriter<Vec<i32>>>,
    alignments: Option<TableWriter<Vec<i32>>>,
    table: Option<SymbolTable>,
    /// `None` to write lattices without determinization.
    determinize: Option<DeterminizeOptions>,
    acoustic_scale: f32,
}

impl Writers {
    /// Writes the results; returns `false` if there is no lattice to write, and logs the reason.
    fn write(&mut self, key: &str, decoded: &Decoded) -> Result<bool, Failure> {
        let Decoded { lattice, best, reached_final } = decoded;
        let Some(made) = told(key, self.finish(key, lattice)) else { return Ok(false) };
        if !reached_final {
            warn!("Outputting partial output for utterance {key} since no final-state reached");
        }
        if let Some(writer) = &mut self.words {
            writer.write(key, &best.words)?;
        }
        if let Some(writer) = &mut self.alignments {
            writer.write(key, &best.alignment)?;
        }
        say_words(key, &best.words, self.table.as_ref())?;
        if let Some(writer) = &mut self.compact {
            writer.write(key, &made)?;
        }
        if let Some(writer) = &mut self.plain {
            writer.write(key, &lattice::Lattice::from(&made))?;
        }
        Ok(true)
    }

    /// Returns the lattice to write: determinized if the options say so, and without the scale.
    fn finish(&self, key: &str, lattice: &Lattice) -> Result<CompactLattice, kaldera::fsa::Error> {
        let determinized = match &self.determinize {
            Some(options) if self.compact.is_some() => {
                let (made, beams) = lattice.determinize(options)?;
                if beams.first().is_some_and(|&beam| beam < options.beam) {
                    warn!("Determinization finished earlier than the beam for utterance {key}");
                }
                Some(made)
            }
            _ => None,
        };
        let lattice = determinized.as_ref().unwrap_or(lattice);
        match self.acoustic_scale {
            0.0 => Ok(to_kaldi(lattice)),
            scale => lattice.scale(1.0, 1.0 / scale).map(|lattice| to_kaldi(&lattice)),
        }
    }

    fn close(self) -> Result<(), Failure> {
        super::close_if_given(self.compact)?;
        super::close_if_given(self.plain)?;
        super::close_if_given(self.words)?;
        super::close_if_given(self.alignments)
    }
}

fn latgen(call: Call<'_>) -> ExitCode {
    super::run_with_outputs(LATGEN.name, LATGEN_USAGE, call, LatgenOptions::default(), (4..=6, 3), |options, plain| {
        let argument = |i: usize| plain.get(i).map_or("", String::as_str);
        let dense = options.search.options(options.lattice_beam)?;
        if options.minimize {
            warn!("--minimize=true: lattices are determinized, and not minimized");
        }
        let model = TransitionModel::open(argument(0))?;
        let (compact, plain_lattices) = if options.determinize_lattice {
            (Some(TableWriter::open(argument(3))?), None)
        } else {
            (None, Some(TableWriter::open(argument(3))?))
        };
        let max_mem = usize::try_from(options.max_mem).ok().filter(|&bytes| bytes > 0);
        let max_mem = max_mem.unwrap_or_else(Limits::half_of_memory);
        let determinize = DeterminizeOptions::default()
            .with_beam(options.lattice_beam)
            .with_delta(options.delta)
            .with_limits(Limits::default().with_max_bytes(max_mem));
        let mut writers = Writers {
            compact,
            plain: plain_lattices,
            words: super::open_if_given(argument(4))?,
            alignments: super::open_if_given(argument(5))?,
            table: read_words(&options.search.word_symbol_table)?,
            determinize: (options.word_determinize || options.phone_determinize).then_some(determinize),
            acoustic_scale: options.search.acoustic_scale,
        };
        let mut totals = Totals::new();
        let new_decoder = |graph: Graph<Fsa>| {
            Decoder::new(graph, dense.clone(), &options.search, |label| {
                model.get(label).map(|transition| transition.pdf)
            })
        };
        let mut decode = |decoder: &Decoder, key: &str, loglikes: &Matrix<f32>| -> Result<(), Failure> {
            if loglikes.num_rows() > 0 && loglikes.num_cols() != model.num_pdfs() {
                let (key, found, wanted) = (key.to_owned(), loglikes.num_cols(), model.num_pdfs());
                return Err(Failure::Columns { key, found, wanted });
            }
            match decode_some(decoder, key, loglikes)? {
                Some(decoded) if writers.write(key, &decoded)? => {
                    totals.add(key, &decoded.best, loglikes.num_rows());
                }
                _ => totals.failed += 1,
            }
            Ok(())
        };
        if Rspecifier::parse(argument(1)).is_err() {
            let reader = SequentialReader::<Matrix<f32>>::open(argument(2))?;
            let decoder = new_decoder(read_graph(argument(1))?)?;
            for entry in reader {
                let (key, loglikes) = entry?;
                decode(&decoder, &key, &loglikes)?;
            }
        } else {
            let graphs = SequentialReader::<GraphFst>::open(argument(1))?;
            let mut loglikes = RandomAccessReader::<Matrix<f32>>::open(argument(2))?;
            let mut without = 0;
            for entry in graphs {
                let (key, GraphFst(graph)) = entry?;
                if !loglikes.has_key(&key)? {
                    warn!("Not decoding utterance {key} because no loglikes available.");
                    without += 1;
                    continue;
                }
                let decoder = new_decoder(graph)?;
                decode(&decoder, &key, loglikes.value(&key)?)?;
            }
            totals.failed += without;
        }
        writers.close()?;
        Ok(totals.log())
    })
}
