//! `gmm-global-copy`, `fgmm-global-copy`, `fgmm-global-to-gmm` and `ivector-extractor-copy`: models
//! from file to file, between the binary and the text form.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::ivector::{DiagGmm, FullGmm, IvectorExtractor};
use kaldera::kaldi_online::{read_model, write_model};
use kaldera::matrix::codec::{KaldiRead, KaldiWrite};
use tracing::info;

use crate::kaldi::Failure;
use crate::{Call, Tool};

pub(super) const DIAGONAL: Tool = Tool {
    name: "gmm-global-copy",
    about: "Copy a mixture of diagonal Gaussians, as binary or text",
    run: |call| copy(DIAGONAL.name, DIAGONAL_USAGE, call, Ok::<DiagGmm, Failure>),
};
pub(super) const FULL: Tool = Tool {
    name: "fgmm-global-copy",
    about: "Copy a mixture of full Gaussians, as binary or text",
    run: |call| copy(FULL.name, FULL_USAGE, call, Ok::<FullGmm, Failure>),
};
pub(super) const FULL_TO_DIAGONAL: Tool = Tool {
    name: "fgmm-global-to-gmm",
    about: "Keep the variances of a mixture of full Gaussians",
    run: |call| {
        copy(FULL_TO_DIAGONAL.name, TO_DIAGONAL_USAGE, call, |gmm: FullGmm| -> Result<DiagGmm, Failure> {
            Ok(gmm.to_diagonal()?)
        })
    },
};
pub(super) const EXTRACTOR: Tool = Tool {
    name: "ivector-extractor-copy",
    about: "Copy an i-vector extractor, as binary or text",
    run: |call| copy(EXTRACTOR.name, EXTRACTOR_USAGE, call, Ok::<IvectorExtractor, Failure>),
};

const DIAGONAL_USAGE: &str = "Copies a mixture of diagonal Gaussians.
Usage: gmm-global-copy [options] <gmm-rxfilename> <gmm-wxfilename>
For example: gmm-global-copy --binary=false final.dubm -";

const FULL_USAGE: &str = "Copies a mixture of full Gaussians.
Usage: fgmm-global-copy [options] <fgmm-rxfilename> <fgmm-wxfilename>
For example: fgmm-global-copy --binary=false final.ubm -";

const TO_DIAGONAL_USAGE: &str = "Makes a mixture of diagonal Gaussians of one of full Gaussians.
Usage: fgmm-global-to-gmm [options] <fgmm-rxfilename> <gmm-wxfilename>
For example: fgmm-global-to-gmm final.ubm final.dubm";

const EXTRACTOR_USAGE: &str = "Copies an i-vector extractor.
Usage: ivector-extractor-copy [options] <extractor-rxfilename> <extractor-wxfilename>
For example: ivector-extractor-copy --binary=false final.ie -";

struct Options {
    binary: bool,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("binary", &mut self.binary, "Write as binary");
    }
}

fn copy<T: KaldiRead, U: KaldiWrite>(
    name: &'static str,
    usage: &'static str,
    call: Call<'_>,
    convert: impl FnOnce(T) -> Result<U, Failure>,
) -> ExitCode {
    super::run(name, usage, call, Options { binary: true }, |options, [input, output]| {
        let model = convert(read_model(&input)?)?;
        write_model(&output, &model, options.binary)?;
        info!("{input} copied to {output}");
        Ok(true)
    })
}
