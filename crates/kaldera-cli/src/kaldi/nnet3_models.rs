//! `nnet3-copy`, `nnet3-am-copy`, `nnet3-info`, `nnet3-am-info`: networks and models from file to
//! file, and in words.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::rxfilename::Input;
use kaldera::io::transition_model::TransitionModel;
use kaldera::io::wxfilename::Output;
use kaldera::matrix::Vector;
use kaldera::nnet3::{self, AcousticModel, Network, Nnet};
use tracing::{info, warn};

use super::NoOptions;
use super::lattices::read_text;
use crate::kaldi::Failure;
use crate::{Call, Tool};

pub(super) const COPY: Tool = Tool { name: "nnet3-copy", about: "Copy a network, and edit it", run: copy };
pub(super) const AM_COPY: Tool =
    Tool { name: "nnet3-am-copy", about: "Copy a model with a network, and edit it", run: copy_model };
pub(super) const INFO: Tool = Tool { name: "nnet3-info", about: "Describe a network", run: info };
pub(super) const AM_INFO: Tool =
    Tool { name: "nnet3-am-info", about: "Describe the network of a model", run: model_info };

const COPY_USAGE: &str = "Copies a network (.raw), and edits it.
Batch norms get the test mode of --batchnorm-test-mode.
Usage: nnet3-copy [options] <nnet-in> <nnet-out>
For example: nnet3-copy --binary=false final.raw -";

const AM_COPY_USAGE: &str = "Copies a model (.mdl): transition model, network and priors. Edits the network.
Usage: nnet3-am-copy [options] <nnet-in> <nnet-out>
For example: nnet3-am-copy --binary=false final.mdl text.mdl
For example: nnet3-am-copy --raw=true final.mdl final.raw";

const INFO_USAGE: &str = "Prints the dimensions, nodes and components of a network (.raw).
Usage: nnet3-info [options] <nnet-in>
For example: nnet3-info final.raw";

const AM_INFO_USAGE: &str = "Prints the dimensions, nodes and components of a model's network (.mdl).
Usage: nnet3-am-info [options] <nnet-in>
For example: nnet3-am-info final.mdl";

/// Reads a network.
pub(super) fn read_nnet(rxfilename: &str) -> Result<Nnet, Failure> {
    let mut input = Input::open(rxfilename)?;
    let nnet = Nnet::read(&mut input).map_err(|error| in_file(rxfilename, error))?;
    input.finish()?;
    Ok(nnet)
}

/// Reads a transition model, and a network with priors.
pub(super) fn read_acoustic_model(rxfilename: &str) -> Result<(TransitionModel, AcousticModel), Failure> {
    let mut input = Input::open(rxfilename)?;
    let transitions = TransitionModel::read(&mut input).map_err(|error| in_file(rxfilename, error.into()))?;
    let model = AcousticModel::read(&mut input).map_err(|error| in_file(rxfilename, error))?;
    input.finish()?;
    Ok((transitions, model))
}

fn in_file(rxfilename: &str, error: nnet3::Error) -> Failure {
    kaldera::Error::ModelFile { path: rxfilename.into(), reason: error.to_string() }.into()
}

/// Writes a file.
fn write_file(wxfilename: &str, write: impl FnOnce(&mut Output) -> std::io::Result<()>) -> Result<(), Failure> {
    let mut output = Output::create(wxfilename)?;
    write(&mut output).map_err(kaldera::Error::from)?;
    Ok(output.close()?)
}

/// The changes that both programs make.
struct Edits {
    learning_rate: f32,
    nnet_config: String,
    edits_config: String,
    edits: String,
    scale: f32,
    prepare_for_test: bool,
}

impl Default for Edits {
    fn default() -> Self {
        Self {
            learning_rate: -1.0,
            nnet_config: String::new(),
            edits_config: String::new(),
            edits: String::new(),
            scale: 1.0,
            prepare_for_test: false,
        }
    }
}

impl OptionSet for Edits {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        let doc = "Learning rate of all components that training changes, if 0 or above";
        registry.add("learning-rate", &mut self.learning_rate, doc);
        registry.add("nnet-config", &mut self.nnet_config, "Not supported: nodes and components to add");
        let doc = "File with edits, one a line: remove-orphans, rename-node old-name=a new-name=b, ... (rxfilename)";
        registry.add("edits-config", &mut self.edits_config, doc);
        registry.add("edits", &mut self.edits, "Edits as in --edits-config, with semicolons between them");
        registry.add("scale", &mut self.scale, "Not supported: factor of all parameters; must be 1");
        let doc = "Not supported: collapse components. All programs here do it when they read a network";
        registry.add("prepare-for-test", &mut self.prepare_for_test, doc);
    }
}

impl Edits {
    /// Refuses options that are not supported.
    fn check(&self) -> Result<(), Failure> {
        let refuse = |name, reason| Err(Failure::Unsupported { name, reason });
        if !self.nnet_config.is_empty() {
            return refuse("nnet-config", "networks are read, and not made here");
        }
        if self.scale != 1.0 {
            return refuse("scale", "parameters are copied as they are");
        }
        if self.prepare_for_test {
            return refuse("prepare-for-test", "components are collapsed when a network is computed, not in files");
        }
        Ok(())
    }

    fn apply(&self, nnet: &mut Nnet) -> Result<(), Failure> {
        if self.learning_rate >= 0.0 {
            nnet.set_learning_rate(self.learning_rate);
        }
        if !self.edits_config.is_empty() {
            nnet.edit(&read_text(&self.edits_config)?)?;
        }
        Ok(nnet.edit(&self.edits.replace(';', "\n"))?)
    }
}

struct CopyOptions {
    binary: bool,
    edits: Edits,
    batchnorm_test_mode: bool,
}

impl OptionSet for CopyOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("binary", &mut self.binary, "Write as binary");
        self.edits.register(registry);
        registry.add("batchnorm-test-mode", &mut self.batchnorm_test_mode, "The test mode that batch norms get");
    }
}

fn copy(call: Call<'_>) -> ExitCode {
    let options = CopyOptions { binary: true, edits: Edits::default(), batchnorm_test_mode: false };
    super::run(COPY.name, COPY_USAGE, call, options, |options, [input, output]| {
        options.edits.check()?;
        let mut nnet = read_nnet(&input)?;
        options.edits.apply(&mut nnet)?;
        nnet.set_batchnorm_test_mode(options.batchnorm_test_mode);
        write_file(&output, |out| nnet.write(out, options.binary))?;
        info!("Copied raw neural net from {input} to {output}");
        Ok(true)
    })
}

struct ModelOptions {
    binary: bool,
    raw: bool,
    set_raw_nnet: String,
    convert_repeated_to_block: bool,
    edits: Edits,
}

impl OptionSet for ModelOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("binary", &mut self.binary, "Write as binary");
        registry.add("raw", &mut self.raw, "Write only the network");
        let doc = "Network in place of the model's own; before other changes (rxfilename)";
        registry.add("set-raw-nnet", &mut self.set_raw_nnet, doc);
        let doc = "Not supported: make block-affine components of repeated ones";
        registry.add("convert-repeated-to-block", &mut self.convert_repeated_to_block, doc);
        self.edits.register(registry);
    }
}

fn copy_model(call: Call<'_>) -> ExitCode {
    let options = ModelOptions {
        binary: true,
        raw: false,
        set_raw_nnet: String::new(),
        convert_repeated_to_block: false,
        edits: Edits::default(),
    };
    super::run(AM_COPY.name, AM_COPY_USAGE, call, options, |options, [input, output]| {
        options.edits.check()?;
        if options.convert_repeated_to_block {
            let reason = "repeated components are copied as they are";
            return Err(Failure::Unsupported { name: "convert-repeated-to-block", reason });
        }
        let (transitions, model) = read_acoustic_model(&input)?;
        let mut priors = Vector::from(model.priors().to_vec());
        let mut nnet = model.into_nnet();
        if !options.set_raw_nnet.is_empty() {
            nnet = read_nnet(&options.set_raw_nnet)?;
            let columns = Network::new(&nnet)?.output_dim();
            if priors.dim() != 0 && priors.dim() != columns {
                warn!("Removing {} priors: the network has {columns} columns of output", priors.dim());
                priors = Vector::default();
            }
        }
        options.edits.apply(&mut nnet)?;
        let network = Network::new(&nnet)?;
        if options.raw {
            write_file(&output, |out| nnet.write(out, options.binary))?;
            info!("Copied neural net from {input} to raw format as {output}");
            return Ok(true);
        }
        let context = |frames: usize| i32::try_from(frames).unwrap_or(i32::MAX);
        let (left, right) = (context(network.left_context()), context(network.right_context()));
        let model = AcousticModel::new(nnet, left, right, priors);
        write_file(&output, |out| {
            transitions.write(out, options.binary)?;
            model.write(out, options.binary)
        })?;
        info!("Copied neural net from {input} to {output}");
        Ok(true)
    })
}

fn info(call: Call<'_>) -> ExitCode {
    super::run_reading(INFO.name, INFO_USAGE, call, NoOptions, 1..=1, |_, plain| print(&read_nnet(&plain[0])?.info()?))
}

fn model_info(call: Call<'_>) -> ExitCode {
    super::run_reading(AM_INFO.name, AM_INFO_USAGE, call, NoOptions, 1..=1, |_, plain| {
        let (_, model) = read_acoustic_model(&plain[0])?;
        print(&model.info()?)
    })
}

fn print(text: &str) -> Result<bool, Failure> {
    crate::log::print(text).map_err(kaldera::io::Error::from)?;
    Ok(true)
}
