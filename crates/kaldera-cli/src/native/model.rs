//! `kaldera model`: checks a model folder, or makes one from the exports of other toolkits.

#[cfg(feature = "digits")]
mod digits {
    use std::path::Path;
    use std::process::ExitCode;

    use super::{CliError, print};

    pub(super) fn write(folder: &Path) -> Result<ExitCode, CliError> {
        let failed = |error| CliError::Failed(format!("cannot write {}: {error}", folder.display()));
        kaldera_digits::write_model(folder).map_err(failed)?;
        print(&format!("written to {}: a model of English digits, and digits.wav\n", folder.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}
#[cfg(not(feature = "digits"))]
mod digits {
    use std::path::Path;
    use std::process::ExitCode;

    use super::CliError;

    pub(super) fn write(_folder: &Path) -> Result<ExitCode, CliError> {
        let how = "cargo install --path crates/kaldera-cli --features digits";
        Err(CliError::Failed(format!(
            "this build has no model of digits: build with the feature `digits`, as in '{how}'"
        )))
    }
}
#[cfg(feature = "onnx")]
mod import;
#[cfg(not(feature = "onnx"))]
mod import {
    use std::path::Path;

    use kaldera::Recognizer;

    use super::CliError;

    pub(super) fn import(
        _source: &Path,
        _given: &super::Given,
        _output: &Path,
    ) -> Result<Option<Recognizer>, CliError> {
        let how = "cargo install --path crates/kaldera-cli --features onnx";
        Err(CliError::Failed(format!("this build reads no ONNX files: build with the feature `onnx`, as in '{how}'")))
    }
}

mod online;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use kaldera::Recognizer;
use kaldera::feat::options::Registry as _;
use kaldera::recognizer::AnyDecoder;

use super::decoding::{ALLOW_OUTSIDE, Decoding, Opened};
use super::{CliError, arguments, print};
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt};

const TOOL: &str = "model";
const USAGE: &str = "\
Check a model folder, or make one.

Usage: kaldera model check MODEL
       kaldera model import [OPTIONS] SOURCE -o MODEL
       kaldera model digits -o MODEL

'check' reads the model.toml of the folder and the files that it lists, as 'kaldera transcribe' and, for a
folder without a network, 'kaldera decode' do. Of a folder of Vosk or Kaldi's online programs it opens
all parts, and lists them with their sizes, and the parts that are left out.

'import' makes a folder from the exports of icefall, sherpa-onnx, NeMo, onnx-asr, Hugging Face
(wav2vec 2.0), GigaAM, WeNet, FunASR (SenseVoice), TeleSpeech, FireRed and Vosk: CTC networks and
transducers, with or without states between chunks. SOURCE is an .onnx file next to its list of
tokens, or the encoder of a transducer next to its decoder and joiner (or decoder_joint), or a
folder with all files. In a folder, files that are not quantised are preferred. 'import' prints each
setting of the new model with its source: the shapes and the metadata of the files, files next to
them, or the toolkit that they are from. If these leave a setting open, it stops and names the
options that answer: --preset for the features, --normalize for their normalisation. An ONNX file
is a program: damaged files are rejected, but the computation is not limited, so import only files
that you trust. Use --runtime=ort for types that RTen does not support, such as int4. The new folder
is checked, and appears complete or not at all. Existing folders with other contents are never
changed.

'digits' writes a small model of connected English digits, and digits.wav for a first test; both are
under CC BY-SA 4.0 (NOTICE.md).

'import' needs a build with the feature onnx (and ort for --runtime=ort), 'digits' one with digits.

Examples:
  kaldera model digits -o digits/ && kaldera transcribe digits/ digits/digits.wav
  kaldera model check model/
  kaldera model import sherpa-onnx-zipformer-ctc/model.onnx -o model/
  kaldera model import --preset=nemo-80 --normalize=per_feature parakeet-ctc/ -o model/

Exit status: 0 success, 1 the model cannot be used or written, 2 wrong usage, 130 stopped by Ctrl-C,
143 stopped by SIGTERM.";

/// Options of 'import'; empty if not given.
#[derive(Debug, Default, PartialEq)]
struct Given {
    tokens: String,
    runtime: String,
    preset: String,
    normalize: String,
    constants: String,
}

/// Answers a call of `kaldera model`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, model(call))
}

fn model(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut output, mut given, mut allow_outside) = (String::new(), Given::default(), false);
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    parser.add("output", &mut output, "Folder to write");
    parser.add(
        "tokens",
        &mut given.tokens,
        "For 'import': file of lines 'TOKEN NUMBER', or in JSON [tokens.txt, vocab.txt or vocab.json next to the network]",
    );
    parser.add(
        "runtime",
        &mut given.runtime,
        "For 'import': rten, ort or ort-cuda, as network.runtime in MODEL.md [rten]",
    );
    parser.add(
        "preset",
        &mut given.preset,
        "For 'import': preset of the features, as for 'kaldera features --preset' [by the metadata]",
    );
    parser.add(
        "normalize",
        &mut given.normalize,
        "For 'import': none, samples or per_feature, as features.normalize in MODEL.md [by the metadata]",
    );
    parser.add(
        "constants",
        &mut given.constants,
        "For 'import': values of integer inputs, as in language=3,text_norm=14 [by the metadata]",
    );
    parser.add("allow-outside", &mut allow_outside, ALLOW_OUTSIDE);
    parser.letter('o', "output");
    let Some(plain) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    drop(parser);
    let no_import = given == Given::default();
    match &plain[..] {
        [operation, folder] if operation == "check" && output.is_empty() && no_import => {
            check(Path::new(folder), allow_outside)
        }
        [operation, source] if operation == "import" && !output.is_empty() => {
            let output = Path::new(&output);
            match import::import(Path::new(source), &given, output)? {
                Some(recognizer) => report(recognizer, output),
                None => Ok(interrupt::stopped()),
            }
        }
        [operation] if operation == "digits" && !output.is_empty() && no_import => digits::write(Path::new(&output)),
        _ => {
            let usages = "expected 'check MODEL', 'import SOURCE -o MODEL' or 'digits -o MODEL'";
            Err(CliError::Usage(usages.to_owned()))
        }
    }
}

fn check(folder: &Path, allow_outside: bool) -> Result<ExitCode, CliError> {
    match Decoding::with_model_defaults(allow_outside).open_to_check(folder)? {
        Opened::Recognizer(recognizer) => report(*recognizer, folder),
        Opened::Archives(decoder, archives) => {
            let audio = match archives.files().is_empty() {
                true => "no network: 'kaldera decode' takes log-probabilities",
                false => "log-probabilities of an archive, by key",
            };
            report_decoder(&decoder, "", audio, folder)
        }
    }
}

fn report(recognizer: Recognizer, folder: &Path) -> Result<ExitCode, CliError> {
    let recognizer = Arc::new(recognizer);
    let samp_freq = recognizer.samp_freq();
    if let Some(model) = recognizer.online_model() {
        print(&online::about(model, folder))?;
        return Ok(ExitCode::SUCCESS);
    }
    let stream = recognizer.stream("check", samp_freq).map_err(|error| CliError::failed(&error))?;
    let streams = match stream.keeps_state() {
        true => "streams keep a state",
        false => "it needs whole utterances: streams compute a sentence again for each result",
    };
    let kind = if recognizer.is_transducer() { "a transducer, " } else { "" };
    let audio = format!("audio of {samp_freq} Hz; {streams}");
    recognizer.decoder().map_or(Ok(ExitCode::SUCCESS), |decoder| report_decoder(decoder, kind, &audio, folder))
}

fn report_decoder(decoder: &AnyDecoder, kind: &str, audio: &str, folder: &Path) -> Result<ExitCode, CliError> {
    let (times, tokens) = (decoder.times(), decoder.vocabulary().len());
    let shift = (times.seconds(1) - times.seconds(0)) * 1000.0;
    print(&format!("{}: {kind}{tokens} tokens, a frame each {shift:.1} ms\n{audio}\n", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
