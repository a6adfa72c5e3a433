//! `arpa-to-const-arpa`: a language model whose words are numbers, in Kaldi's `ConstArpaLm`.

use std::io::BufReader;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::fsa::graphs::{ConstArpa, ConstArpaOptions};
use kaldera::io::rxfilename::Input;
use kaldera::io::wxfilename::Output;
use tracing::{info, warn};

use super::Failure;
use crate::{Call, Tool};

pub(super) const TOOL: Tool =
    Tool { name: "arpa-to-const-arpa", about: "Convert an ARPA language model of numbers to Kaldi's ConstArpaLm", run };

const USAGE: &str = "Converts an ARPA language model whose words are numbers, as utils/map_arpa_lm.pl writes it, to
Kaldi's ConstArpaLm (G.carpa), with which lattices are rescored.
Usage: arpa-to-const-arpa [options] <arpa-rxfilename> <const-arpa-wxfilename>
For example: arpa-to-const-arpa --bos-symbol=1 --eos-symbol=2 lm.int.arpa G.carpa";

struct Options {
    max_arpa_warnings: i32,
    unk_symbol: i32,
    bos_symbol: i32,
    eos_symbol: i32,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_arpa_warnings: 30, unk_symbol: -1, bos_symbol: -1, eos_symbol: -1 }
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add(
            "max-arpa-warnings",
            &mut self.max_arpa_warnings,
            "Maximum number of warnings about the ARPA file; -1 for no limit",
        );
        registry.add("unk-symbol", &mut self.unk_symbol, "Number of the unknown word; -1 if the model has none");
        registry.add("bos-symbol", &mut self.bos_symbol, "Number of <s>");
        registry.add("eos-symbol", &mut self.eos_symbol, "Number of </s>");
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [arpa, output]| {
        for (name, value) in [("bos-symbol", options.bos_symbol), ("eos-symbol", options.eos_symbol)] {
            if value < 1 {
                let value = value.to_string();
                return Err(Failure::Option { name, value, expected: "the number of a word, 1 or above" });
            }
        }
        let unknown = Some(options.unk_symbol).filter(|&word| word != -1);
        let made = ConstArpaOptions::new(options.bos_symbol, options.eos_symbol).with_unknown(unknown);
        let mut input = Input::open(&arpa)?;
        let (mut warnings, most) = (0_u64, u64::try_from(options.max_arpa_warnings).unwrap_or(u64::MAX));
        let model = ConstArpa::from_arpa(BufReader::new(&mut input), &made, &mut |line, remark| {
            warnings += 1;
            if warnings <= most {
                warn!("{arpa}, line {line}: {remark}");
            }
        })?;
        input.finish()?;
        let mut out = Output::create(&output)?;
        out.put(model.as_bytes())?;
        out.close()?;
        info!("{arpa}: a model of order {} in {} bytes", model.order(), model.as_bytes().len());
        Ok(true)
    })
}
