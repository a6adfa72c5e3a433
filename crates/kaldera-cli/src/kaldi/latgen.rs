//! `latgen-faster-mapped`: lattices from log-likelihoods and graphs; the parts of such programs.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::dense::DenseOptions;
use kaldera::fsa::io::SymbolTable;
use kaldera::fsa::lattice::{DeterminizeOptions, Lattice};
use kaldera::fsa::{Fsa, Graph, Limits};
use kaldera::io::Matrix;
use kaldera::io::lattice::{self, CompactLattice, GraphFst};
use kaldera::io::specifier::Rspecifier;
use kaldera::io::table::{RandomAccessReader, SequentialReader, TableWriter};
use kaldera::io::transition_model::TransitionModel;
use tracing::warn;

use super::Failure;
use super::decode::{Decoded, Decoder, Search, Totals, decode_some, read_graph};
use super::lattices::{read_words, say_words, to_kaldi, told};
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "latgen-faster-mapped",
    about: "Lattices from log-likelihoods of pdfs and a graph of transition identifiers",
    run,
};

const USAGE: &str = "Decodes matrices of log-likelihoods of pdfs and writes lattices.
The model maps transition identifiers to pdfs.
Usage: latgen-faster-mapped [options] <trans-model-in> (<fst-in>|<fsts-rspecifier>) <loglikes-rspecifier> <lattice-wspecifier> [<words-wspecifier> [<alignments-wspecifier>]]
For example: latgen-faster-mapped --acoustic-scale=0.1 final.mdl HCLG.fst ark:loglikes.ark \"ark:|gzip -c >lat.gz\"";

/// The options of lattices.
pub(super) struct LatticeOptions {
    pub(super) lattice_beam: f32,
    prune_interval: i32,
    pub(super) determinize_lattice: bool,
    delta: f32,
    max_mem: i32,
    phone_determinize: bool,
    word_determinize: bool,
    minimize: bool,
    tokens_block_size: i32,
    links_block_size: i32,
}

impl Default for LatticeOptions {
    fn default() -> Self {
        Self {
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

impl OptionSet for LatticeOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        const NOT_HERE: &str = "Accepted for compatibility with Kaldi; does not affect the results";
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

impl LatticeOptions {
    /// Returns `true` if lattices are to be determinized.
    pub(super) fn determinizes(&self) -> bool {
        self.word_determinize || self.phone_determinize
    }

    /// Logs the option that is not supported.
    pub(super) fn warn(&self) {
        if self.minimize {
            warn!("--minimize=true: lattices are determinized, and not minimized");
        }
    }

    fn determinization(&self) -> DeterminizeOptions {
        let max_mem = usize::try_from(self.max_mem).ok().filter(|&bytes| bytes > 0);
        let max_mem = max_mem.unwrap_or_else(Limits::half_of_memory);
        DeterminizeOptions::kaldi()
            .with_beam(self.lattice_beam)
            .with_delta(self.delta)
            .with_limits(Limits::default().with_max_bytes(max_mem))
    }
}

/// The options of programs that write lattices of matrices.
pub(super) struct LatgenOptions {
    search: Search,
    lattice: LatticeOptions,
}

impl Default for LatgenOptions {
    fn default() -> Self {
        Self { search: Search::new(200, false), lattice: LatticeOptions::default() }
    }
}

impl OptionSet for LatgenOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.search.register(registry);
        self.lattice.register(registry);
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

/// A run of a program that writes lattices.
pub(super) struct Latgen {
    search: Search,
    dense: DenseOptions,
    model: TransitionModel,
    writers: Writers,
    pub(super) totals: Totals,
    /// The kind of matrices that are read, in words.
    pub(super) matrices: &'static str,
}

impl Latgen {
    /// Opens the table of lattices.
    ///
    /// # Errors
    /// Returns an error for options out of range.
    pub(super) fn open(model: TransitionModel, options: LatgenOptions, lattices: &str) -> Result<Self, Failure> {
        let LatgenOptions { search, lattice } = options;
        let dense = search.beams.options(lattice.lattice_beam)?;
        lattice.warn();
        let (compact, plain) = if lattice.determinize_lattice {
            (Some(TableWriter::open(lattices)?), None)
        } else {
            (None, Some(TableWriter::open(lattices)?))
        };
        let writers = Writers {
            compact,
            plain,
            words: None,
            alignments: None,
            table: None,
            determinize: lattice.determinizes().then(|| lattice.determinization()),
            acoustic_scale: search.acoustic_scale,
        };
        Ok(Self { search, dense, model, writers, totals: Totals::new(), matrices: "loglikes" })
    }

    /// Opens the tables of words and alignments, which may be empty texts.
    pub(super) fn open_words(&mut self, words: &str, alignments: &str) -> Result<(), Failure> {
        self.writers.words = super::open_if_given(words)?;
        self.writers.alignments = super::open_if_given(alignments)?;
        self.writers.table = read_words(&self.search.word_symbol_table)?;
        Ok(())
    }

    /// Decodes all utterances with a graph, or with the graphs of a table. `loglikes` makes
    /// log-likelihoods of pdfs of a matrix; if it returns `None`, it has logged the reason.
    ///
    /// # Errors
    /// Returns errors of reading and writing, and errors of `loglikes`.
    pub(super) fn run(
        mut self,
        graphs: &str,
        matrices: &str,
        mut loglikes: impl FnMut(&str, Matrix<f32>) -> Result<Option<Matrix<f32>>, Failure>,
    ) -> Result<bool, Failure> {
        if Rspecifier::parse(graphs).is_err() {
            let reader = SequentialReader::<Matrix<f32>>::open(matrices)?;
            let decoder = self.decoder(read_graph(graphs)?)?;
            for entry in reader {
                let (key, matrix) = entry?;
                let loglikes = loglikes(&key, matrix)?;
                self.decode(&decoder, &key, loglikes)?;
            }
        } else {
            let graphs = SequentialReader::<GraphFst>::open(graphs)?;
            let mut reader = RandomAccessReader::<Matrix<f32>>::open(matrices)?;
            for entry in graphs {
                let (key, GraphFst(graph)) = entry?;
                if !reader.has_key(&key)? {
                    warn!("Not decoding utterance {key} because no {} available.", self.matrices);
                    self.totals.failed += 1;
                    continue;
                }
                let loglikes = loglikes(&key, reader.value(&key)?.clone())?;
                let decoder = self.decoder(graph)?;
                self.decode(&decoder, &key, loglikes)?;
            }
        }
        self.writers.close()?;
        Ok(self.totals.log())
    }

    fn decoder(&self, graph: Graph<Fsa>) -> Result<Decoder, Failure> {
        Decoder::new(graph, self.dense.clone(), &self.search, |label| {
            self.model.get(label).map(|transition| transition.pdf)
        })
    }

    fn decode(&mut self, decoder: &Decoder, key: &str, loglikes: Option<Matrix<f32>>) -> Result<(), Failure> {
        let decoded = match &loglikes {
            Some(loglikes) => decode_some(decoder, key, loglikes)?.map(|decoded| (decoded, loglikes.num_rows())),
            None => None,
        };
        match decoded {
            Some((decoded, frames)) if self.writers.write(key, &decoded)? => {
                self.totals.add(key, &decoded.best, frames);
            }
            _ => self.totals.failed += 1,
        }
        Ok(())
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = LatgenOptions::default();
    super::run_with_outputs(TOOL.name, USAGE, call, options, (4..=6, 3), |options, plain| {
        let argument = |i: usize| plain.get(i).map_or("", String::as_str);
        let model = TransitionModel::open(argument(0))?;
        let pdfs = model.num_pdfs();
        let mut latgen = Latgen::open(model, options, argument(3))?;
        latgen.open_words(argument(4), argument(5))?;
        latgen.run(argument(1), argument(2), |key, loglikes| {
            if loglikes.num_rows() > 0 && loglikes.num_cols() != pdfs {
                let (key, found, wanted) = (key.to_owned(), loglikes.num_cols(), pdfs);
                return Err(Failure::Columns { key, found, wanted });
            }
            Ok(Some(loglikes))
        })
    })
}
