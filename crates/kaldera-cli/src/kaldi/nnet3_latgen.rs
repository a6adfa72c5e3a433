//! `nnet3-latgen-faster`: lattices from features, a network and a graph.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};

use super::latgen::{Latgen, LatgenOptions};
use super::nnet3_forward::{Forward, IvectorReaders};
use super::nnet3_models::read_acoustic_model;
use super::nnet3_options::{ComputationOptions, IvectorTables};
use crate::kaldi::Failure;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "nnet3-latgen-faster", about: "Lattices from features, a network and a graph", run };

const USAGE: &str = "Decodes matrices of features with a model's network and a graph, and writes lattices.
Usage: nnet3-latgen-faster [options] <nnet-in> (<fst-in>|<fsts-rspecifier>) <features-rspecifier> <lattice-wspecifier> [<words-wspecifier> [<alignments-wspecifier>]]
For example: nnet3-latgen-faster --frame-subsampling-factor=3 --acoustic-scale=1.0 final.mdl HCLG.fst scp:feats.scp ark:lat.ark";

#[derive(Default)]
struct Options {
    latgen: LatgenOptions,
    computation: ComputationOptions,
    tables: IvectorTables,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.latgen.register(registry);
        self.computation.register(registry);
        self.tables.register(registry);
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options::default();
    super::run_with_outputs(TOOL.name, USAGE, call, options, (4..=6, 3), |options, plain| {
        let argument = |i: usize| plain.get(i).map_or("", String::as_str);
        let Options { latgen, computation, tables } = options;
        let (transitions, model) = read_acoustic_model(argument(0))?;
        let forward = Forward::new(model.nnet(), model.priors(), &computation)?;
        drop(model);
        if forward.output_dim() < transitions.num_pdfs() {
            return Err(Failure::FewPdfs { found: forward.output_dim(), wanted: transitions.num_pdfs() });
        }
        let mut latgen = Latgen::open(transitions, latgen, argument(3))?;
        latgen.totals.subsampling = computation.frame_subsampling_factor();
        latgen.matrices = "features";
        let mut ivectors = IvectorReaders::open(&tables)?;
        latgen.open_words(argument(4), argument(5))?;
        latgen.run(argument(1), argument(2), |key, features| forward.compute(key, &features, &mut ivectors))
    })
}
