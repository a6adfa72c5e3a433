//! `nnet3-compute`: the output of a network for utterances.

use std::process::ExitCode;
use std::time::Instant;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::matrix::Matrix;
use tracing::info;

use super::nnet3_forward::{Forward, IvectorReaders};
use super::nnet3_models::{read_acoustic_model, read_nnet};
use super::nnet3_options::{ComputationOptions, IvectorTables};
use crate::kaldi::Failure;
use crate::kaldi::driver::Counts;
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool { name: "nnet3-compute", about: "Compute the output of a network", run };

const USAGE: &str = "Computes the output of a network for matrices of features.
With --use-priors the file is a whole model (.mdl), else a network (.raw).
Usage: nnet3-compute [options] <nnet-in> <features-rspecifier> <matrix-wspecifier>
For example: nnet3-compute final.raw scp:feats.scp ark:output.ark";

struct Options {
    computation: ComputationOptions,
    acoustic_scale: f32,
    tables: IvectorTables,
    apply_exp: bool,
    use_gpu: String,
    use_priors: bool,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.computation.register(registry);
        registry.add("acoustic-scale", &mut self.acoustic_scale, "Factor for the output");
        self.tables.register(registry);
        registry.add("apply-exp", &mut self.apply_exp, "Apply the exponential function to the output");
        registry.add("use-gpu", &mut self.use_gpu, "No effect");
        let doc = "Subtract the logarithms of the model's priors; <nnet-in> is a .mdl then";
        registry.add("use-priors", &mut self.use_priors, doc);
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options {
        computation: ComputationOptions::default(),
        acoustic_scale: 1.0,
        tables: IvectorTables::default(),
        apply_exp: false,
        use_gpu: "yes".to_owned(),
        use_priors: false,
    };
    super::run(TOOL.name, USAGE, call, options, |options, [nnet, features, matrices]| {
        compute(&options, &nnet, &features, &matrices)
    })
}

fn compute(options: &Options, nnet: &str, features: &str, matrices: &str) -> Result<bool, Failure> {
    let (begin, mut counts, mut frames) = (Instant::now(), Counts::default(), 0);
    let forward = if options.use_priors {
        let (_, model) = read_acoustic_model(nnet)?;
        Forward::new(model.nnet(), model.priors(), &options.computation)?
    } else {
        Forward::new(&read_nnet(nnet)?, &[], &options.computation)?
    };
    let mut ivectors = IvectorReaders::open(&options.tables)?;
    let mut writer = TableWriter::<Matrix<f32>>::open(matrices)?;
    for entry in SequentialReader::<Matrix<f32>>::open(features)? {
        let (key, features) = entry?;
        let Some(mut output) = forward.compute(&key, &features, &mut ivectors)? else {
            counts.failed += 1;
            continue;
        };
        if options.acoustic_scale != 1.0 {
            output.scale(options.acoustic_scale);
        }
        if options.apply_exp {
            output.rows_mut().flatten().for_each(|x| *x = x.exp());
        }
        writer.write(&key, &output)?;
        frames += features.num_rows();
        counts.done += 1;
    }
    writer.close()?;
    let seconds = begin.elapsed().as_secs_f64();
    let real_time = seconds * 100.0 / frames as f64;
    info!("Time taken {seconds}s: real-time factor assuming 100 frames/sec is {real_time}");
    info!("Done {} utterances, failed for {}", counts.done, counts.failed);
    Ok(counts.any_done())
}
