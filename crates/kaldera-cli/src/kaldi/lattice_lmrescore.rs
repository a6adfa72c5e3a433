//! `lattice-lmrescore`, `lattice-lmrescore-const-arpa` and `lattice-lmrescore-pruned`: scores of a
//! language model on lattices.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::graphs::ConstArpa;
use kaldera::fsa::io::OpenFstBinary;
use kaldera::fsa::lattice::{BackoffModel, CombinedModels, LanguageModel, Lattice, PrunedRescoreOptions};
use kaldera::fsa::openfst::Side;
use kaldera::fsa::{EPSILON, Error, Fsa, Graph, Limits};
use kaldera::io::lattice::CompactLattice;
use tracing::warn;

use super::Failure;
use super::driver::{Counts, map_table};
use super::lattices::{check_invertible, read_bytes, register_acoustic_scale, to_kaldi, told};
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "lattice-lmrescore", about: "Add or subtract the scores of a language model", run };
pub(super) const CONST_ARPA: Tool = Tool {
    name: "lattice-lmrescore-const-arpa",
    about: "Add or subtract the scores of a language model in Kaldi's ConstArpaLm",
    run: run_const_arpa,
};
pub(super) const PRUNED: Tool = Tool {
    name: "lattice-lmrescore-pruned",
    about: "Replace a language model by another, on the most promising paths",
    run: run_pruned,
};

const USAGE: &str = "Adds the costs of a language model, times a scale, to the graph costs of lattices, and determinizes.
Usage: lattice-lmrescore [options] <lattice-rspecifier> <lm-fst-in> <lattice-wspecifier>
For example: lattice-lmrescore --lm-scale=-1.0 ark:in.lats 'fstproject --project_output=true data/lang/G.fst|' ark:out.lats";

const CONST_ARPA_USAGE: &str =
    "Adds the costs of a language model (G.carpa), times a scale, to the graph costs of lattices, and determinizes.
Usage: lattice-lmrescore-const-arpa [options] <lattice-rspecifier> <const-arpa-in> <lattice-wspecifier>
For example: lattice-lmrescore-const-arpa --lm-scale=1.0 ark:in.lats data/lang_fg/G.carpa ark:out.lats";

const PRUNED_USAGE: &str = "Subtracts the costs of a language model from the graph costs of lattices and adds the costs of
another, on the most promising paths only. Output labels count in models that are FSTs.
Usage: lattice-lmrescore-pruned [options] <lm-to-subtract> <lm-to-add> <lattice-rspecifier> <lattice-wspecifier>
For example: lattice-lmrescore-pruned --acoustic-scale=0.1 --add-const-arpa=true data/lang/G.fst data/lang_fg/G.carpa ark:in.lats ark:out.lats";

/// Help of `--lm-scale`.
const LM_SCALE: &str = "Factor for the costs of the model; often 1.0 or -1.0";

struct Options {
    lm_scale: f32,
    num_states_cache: i32,
}

impl Default for Options {
    fn default() -> Self {
        Self { lm_scale: 1.0, num_states_cache: 50_000 }
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("lm-scale", &mut self.lm_scale, LM_SCALE);
        registry.add(
            "num-states-cache",
            &mut self.num_states_cache,
            "Accepted for compatibility with Kaldi; has no effect",
        );
    }
}

struct ConstArpaOptions {
    lm_scale: f32,
}

impl OptionSet for ConstArpaOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("lm-scale", &mut self.lm_scale, LM_SCALE);
    }
}

struct PrunedOptions {
    lm_scale: f32,
    acoustic_scale: f32,
    add_const_arpa: bool,
    lattice_compose_beam: f32,
    max_arcs: i32,
    growth_ratio: f32,
}

impl Default for PrunedOptions {
    fn default() -> Self {
        Self {
            lm_scale: 1.0,
            acoustic_scale: 1.0,
            add_const_arpa: false,
            lattice_compose_beam: 6.0,
            max_arcs: 100_000,
            growth_ratio: 1.5,
        }
    }
}

impl OptionSet for PrunedOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "lm-scale",
            &mut self.lm_scale,
            "Factor for the costs of <lm-to-add>; the costs of <lm-to-subtract> have its negative",
        );
        register_acoustic_scale(registry, &mut self.acoustic_scale);
        registry.add("add-const-arpa", &mut self.add_const_arpa, "<lm-to-add> is a ConstArpaLm, not an FST");
        registry.add(
            "lattice-compose-beam",
            &mut self.lattice_compose_beam,
            "Beam: maximum difference of the expected cost of a path to the best one",
        );
        registry.add("max-arcs", &mut self.max_arcs, "Maximum number of arcs that are expanded for a lattice");
        registry.add(
            "growth-ratio",
            &mut self.growth_ratio,
            "Growth of a lattice, above 1, between two computations of the expected costs",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [input, grammar, output]| {
        let grammar = read_fst(&grammar)?;
        let rescore = |lattice: &Lattice| lattice.compose_best(&grammar, options.lm_scale, limits());
        Ok(rescore_table(&input, &output, options.lm_scale, rescore)?.any_done())
    })
}

fn run_const_arpa(call: Call<'_>) -> ExitCode {
    let options = ConstArpaOptions { lm_scale: 1.0 };
    super::run(CONST_ARPA.name, CONST_ARPA_USAGE, call, options, |options, [input, model, output]| {
        let model = ConstArpa::from_bytes(read_bytes(&model)?)?;
        let rescore = |lattice: &Lattice| lattice.rescore_best(&model, options.lm_scale, limits());
        Ok(rescore_table(&input, &output, options.lm_scale, rescore)?.any_done())
    })
}

fn run_pruned(call: Call<'_>) -> ExitCode {
    super::run(PRUNED.name, PRUNED_USAGE, call, PrunedOptions::default(), |options, [old, new, input, output]| {
        check_invertible("acoustic-scale", options.acoustic_scale)?;
        if options.growth_ratio.is_nan() || options.growth_ratio <= 1.0 {
            let value = options.growth_ratio.to_string();
            return Err(Failure::Option { name: "growth-ratio", value, expected: "a number above 1" });
        }
        let old = read_acceptor(&old)?;
        let old = BackoffModel::new(&old, EPSILON);
        if options.add_const_arpa {
            let new = ConstArpa::from_bytes(read_bytes(&new)?)?;
            rescore_pruned(&options, &old, &new, &input, &output)
        } else {
            let new = read_acceptor(&new)?;
            rescore_pruned(&options, &old, &BackoffModel::new(&new, EPSILON), &input, &output)
        }
    })
}

fn rescore_pruned(
    options: &PrunedOptions,
    old: &impl LanguageModel,
    new: &impl LanguageModel,
    input: &str,
    output: &str,
) -> Result<bool, Failure> {
    let model = CombinedModels::new((old, -options.lm_scale), (new, options.lm_scale));
    let pruned = PrunedRescoreOptions::default()
        .with_beam(options.lattice_compose_beam)
        .with_max_arcs(usize::try_from(options.max_arcs).unwrap_or(0))
        .with_growth_ratio(options.growth_ratio)
        .with_limits(limits());
    let counts = rescore_table(input, output, 1.0, |lattice| {
        let scaled = lattice.scale(1.0, options.acoustic_scale)?;
        scaled.rescore_pruned(&model, &pruned)?.scale(1.0, 1.0 / options.acoustic_scale)
    })?;
    Ok(counts.any_done())
}

fn limits() -> Limits {
    Limits::default().with_max_bytes(Limits::half_of_memory())
}

/// Applies `rescore` to the lattices of a table, unless the scale is 0, and logs the lattices of
/// which nothing is left.
fn rescore_table(
    input: &str,
    output: &str,
    scale: f32,
    rescore: impl Fn(&Lattice) -> Result<Lattice, Error>,
) -> Result<Counts, Failure> {
    let counts = map_table(input, output, |key, lattice: CompactLattice| {
        if scale == 0.0 {
            return Ok(Some(lattice));
        }
        let made = Lattice::try_from(&lattice).and_then(|lattice| rescore(&lattice));
        let Some(made) = told(key, made) else { return Ok(None) };
        if made.fsas().num_states() == 0 {
            warn!("leaving out {key}: no path of the lattice is one of the model");
            return Ok(None);
        }
        Ok(Some(to_kaldi(&made)))
    })?;
    counts.log("rescored", "lattices");
    Ok(counts)
}

/// Reads a binary file of OpenFst.
pub(super) fn read_fst(rxfilename: &str) -> Result<Graph<Fsa>, Failure> {
    Ok(OpenFstBinary::read(&read_bytes(rxfilename)?)?.graph)
}

/// Reads the acceptor of the output labels of a binary file of OpenFst, with sorted arcs.
fn read_acceptor(rxfilename: &str) -> Result<Fsa, Failure> {
    let sorted = read_fst(rxfilename)?.project(Side::Output)?.arc_sort()?;
    Ok(sorted.fsas().clone())
}
