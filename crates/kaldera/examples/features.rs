//! The log mel filterbanks of audio files, folders or lists, into an archive, an .npz or a
//! .safetensors file.
//!
//! ```text
//! cargo run --release -p kaldera-speech --example features -- fbank.npz examples/audio
//! ```

use std::process::ExitCode;

use kaldera::prelude::*;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(output), inputs) = (arguments.next(), arguments) else {
        eprintln!("usage: features OUT.ark|OUT.npz|OUT.safetensors INPUT...");
        return ExitCode::FAILURE;
    };
    match run(inputs, output) {
        Ok(summary) => {
            println!("{} recordings, {} frames of {} dimensions", summary.utterances, summary.frames, summary.dim);
            for failure in &summary.failures {
                eprintln!("left out: {failure}");
            }
            if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(
    inputs: impl Iterator<Item = std::ffi::OsString>,
    output: impl AsRef<std::path::Path>,
) -> Result<Summary, kaldera::Error> {
    Pipeline::fbank(FbankOptions::default().with_num_mel_bins(80))?.run_to_file(&Inputs::from_paths(inputs)?, output)
}
