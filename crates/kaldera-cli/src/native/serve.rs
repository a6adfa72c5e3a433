//! `kaldera serve`: recognition for programs that make requests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet as _, Registry as _};
use kaldera_server::{Models, Server, ServerOptions};

use super::decoding::{Decoding, NO_MODEL};
use super::{CliError, arguments, print};
use crate::log::say;
use crate::parse_options::{ParseOptions, Syntax};
use crate::{Call, interrupt};

const TOOL: &str = "serve";
const USAGE: &str = "\
Serve speech recognition by the protocols that clients speak.

Usage: kaldera serve [OPTIONS] [NAME=]MODEL...

A client names a model by NAME, or else by the last part of its folder; the first one is the
default. The address is 127.0.0.1:8000 unless --listen says another:

  POST /v1/audio/transcriptions   a file, as OpenAI has it; GET /v1/models
  WebSocket /v1/realtime          live speech, as OpenAI has it
  WebSocket / and /vosk           live speech, as Vosk's server has it
  GET /                           a page with a microphone
  GET /health, /ready, /metrics   for operation
  --wyoming=ADDRESS               Wyoming's protocol over TCP, for Home Assistant

Live speech goes before files, and a short file does not wait for a long one. Streams and uploads
beyond --max-streams and --max-queue are refused with 429. Anyone who reaches the address may
connect unless --api-key-file names a file of keys; encryption is a proxy's work. Words and audio
are not logged unless --log-words is set. SIGTERM and Ctrl-C end the server when its streams and
uploads are done, or after --grace seconds; a second one ends it at once.

Examples:
  kaldera serve model/
  kaldera serve --listen=0.0.0.0:8000 --api-key-file=keys.txt whisper-1=model/
  curl -F file=@hello.wav http://127.0.0.1:8000/v1/audio/transcriptions

Exit status: 0 ended by a signal, 1 a model or an address cannot be used, 2 wrong usage.";

/// Answers a call of `kaldera serve`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, serve(call))
}

fn serve(call: Call<'_>) -> Result<ExitCode, CliError> {
    let (mut decoding, mut options, mut print_config) = (Decoding::default(), ServerOptions::default(), false);
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    options.register(&mut parser);
    decoding.register(&mut parser);
    parser.add("print-config", &mut print_config, "Print all options with their values, and end");
    let Some(models) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    let config = parser.settings(&["print-config"]);
    let quiet = parser.quiet();
    drop(parser);
    if print_config {
        return print(&config).map(|()| ExitCode::SUCCESS);
    }
    let models = models.into_iter().map(|argument| {
        let (name, folder) = named(argument)?;
        Ok((name, decoding.recognizer(&folder)?))
    });
    let models = models.collect::<Result<Vec<_>, CliError>>()?;
    if models.is_empty() {
        return Err(CliError::Usage(NO_MODEL.to_owned()));
    }
    let failed = |error: kaldera_server::Error| CliError::failed(&error);
    let server = Server::bind(Models::new(models).map_err(failed)?, options).map_err(failed)?;
    let stop = interrupt::watch_flag(TOOL, "the server ended");
    if !quiet {
        say(format_args!("kaldera serve: http://{}", server.addr()));
        if let Some(address) = server.wyoming_addr() {
            say(format_args!("kaldera serve: wyoming tcp://{address}"));
        }
    }
    server.run(stop);
    Ok(ExitCode::SUCCESS)
}

/// Divides an argument into the name of a model and its folder.
fn named(argument: OsString) -> Result<(String, PathBuf), CliError> {
    if let Some((name, folder)) = argument.to_str().and_then(|text| text.split_once('='))
        && !Path::new(&argument).exists()
    {
        return Ok((name.to_owned(), folder.into()));
    }
    let folder = PathBuf::from(argument);
    let whole = std::path::absolute(&folder).unwrap_or_else(|_| folder.clone());
    match whole.file_name().and_then(|name| name.to_str()) {
        Some(name) => Ok((name.to_owned(), folder)),
        None => Err(CliError::Usage(format!("{}: give it a name: NAME=FOLDER", folder.display()))),
    }
}
