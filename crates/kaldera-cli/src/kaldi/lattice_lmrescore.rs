//! `lattice-lmrescore`: scores of a language model on lattices.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::io::OpenFstBinary;
use kaldera::fsa::lattice::{DeterminizeOptions, Lattice};
use kaldera::fsa::{Fsa, Graph, Limits};
use kaldera::io::lattice::CompactLattice;
use tracing::warn;

use super::Failure;
use super::driver::map_table;
use super::lattices::{read_bytes, to_kaldi, told};
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "lattice-lmrescore", about: "Add or subtract the scores of a language model", run };

const USAGE: &str = "Adds the costs of a language model, times a scale, to the graph costs of lattices, and determinizes.
Usage: lattice-lmrescore [options] <lattice-rspecifier> <lm-fst-in> <lattice-wspecifier>
For example: lattice-lmrescore --lm-scale=-1.0 ark:in.lats 'fstproject --project_output=true data/lang/G.fst|' ark:out.lats";

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
        registry.add("lm-scale", &mut self.lm_scale, "Factor for the costs of the model; often 1.0 or -1.0");
        registry.add(
            "num-states-cache",
            &mut self.num_states_cache,
            "Accepted for compatibility with Kaldi; has no effect",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [input, grammar, output]| {
        let (grammar, scale) = (read_fst(&grammar)?, options.lm_scale);
        let limits = Limits::default().with_max_bytes(Limits::half_of_memory());
        let everything = DeterminizeOptions::default().with_beam(f32::INFINITY).with_limits(limits);
        let counts = map_table(&input, &output, |key, lattice: CompactLattice| {
            if scale == 0.0 {
                return Ok(Some(lattice));
            }
            // The lattice is scaled so that the best path through the model is kept for either sign
            // of the scale.
            let made = Lattice::try_from(&lattice)
                .and_then(|lattice| lattice.scale(1.0 / scale, 1.0)?.compose(&grammar, limits))
                .and_then(|lattice| lattice.determinize(&everything))
                .and_then(|(lattice, _)| lattice.scale(scale, 1.0));
            let Some(made) = told(key, made) else { return Ok(None) };
            if made.fsas().num_states() == 0 {
                warn!("leaving out {key}: no path of the lattice is one of the model");
                return Ok(None);
            }
            Ok(Some(to_kaldi(&made)))
        })?;
        counts.log("rescored", "lattices");
        Ok(counts.any_done())
    })
}

/// Reads a binary file of OpenFst.
fn read_fst(rxfilename: &str) -> Result<Graph<Fsa>, Failure> {
    Ok(OpenFstBinary::read(&read_bytes(rxfilename)?)?.graph)
}
