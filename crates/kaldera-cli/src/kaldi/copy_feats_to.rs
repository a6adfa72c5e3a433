//! `copy-feats-to-htk` and `copy-feats-to-sphinx`: each feature matrix in a separate file, for
//! other toolkits.

use std::fs::DirBuilder;
use std::io::{self, Write};
use std::path::{Component, Path};
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::overwrite::refuse_overwriting;
use kaldera::io::specifier::Rspecifier;
use kaldera::io::table::SequentialReader;
use kaldera::io::wxfilename::Output;
use kaldera::matrix::Matrix;
use kaldera::matrix::codec::{HtkHeader, write_htk, write_sphinx};
use tracing::info;

use crate::kaldi::Failure;
use crate::{Call, Tool};

pub(super) const HTK: Tool =
    Tool { name: "copy-feats-to-htk", about: "Write each feature matrix into an HTK file", run: htk };
pub(super) const SPHINX: Tool =
    Tool { name: "copy-feats-to-sphinx", about: "Write each feature matrix into a Sphinx file", run: sphinx };

const HTK_USAGE: &str = "Writes each feature matrix into an HTK file, named by its key.
Usage: copy-feats-to-htk [options] <feats-rspecifier>
For example: copy-feats-to-htk --output-dir=htk --output-ext=fea scp:feats.scp";

const SPHINX_USAGE: &str = "Writes each feature matrix into a Sphinx file, named by its key.
Usage: copy-feats-to-sphinx [options] <feats-rspecifier>
For example: copy-feats-to-sphinx --output-dir=sphinx --output-ext=mfc scp:feats.scp";

/// Folder and extension of the output files.
struct Files {
    output_dir: String,
    output_ext: String,
}

impl Files {
    fn with_extension(extension: &str) -> Self {
        Self { output_dir: "./".to_owned(), output_ext: extension.to_owned() }
    }
}

impl OptionSet for Files {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("output-dir", &mut self.output_dir, "Output folder; created if it does not exist");
        registry.add("output-ext", &mut self.output_ext, "File extension, without the dot");
    }
}

struct HtkOptions {
    files: Files,
    sample_period: i32,
    sample_kind: i32,
}

impl OptionSet for HtkOptions {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        self.files.register(registry);
        registry.add("sample-period", &mut self.sample_period, "Frame shift in units of 100 ns");
        registry.add(
            "sample-kind",
            &mut self.sample_kind,
            "HTK's code for the kind of features, such as 6 for MFCC, 7 for fbank, 9 for others, 11 for PLP",
        );
    }
}

fn htk(call: Call<'_>) -> ExitCode {
    /// HTK's kind for features that it does not define.
    const USER: i32 = 9;

    let options = HtkOptions { files: Files::with_extension("fea"), sample_period: 100_000, sample_kind: USER };
    super::run(HTK.name, HTK_USAGE, call, options, |options, [features]| {
        let sample_kind = u16::try_from(options.sample_kind).map_err(|_| Failure::Option {
            name: "sample-kind",
            value: options.sample_kind.to_string(),
            expected: "a number from 0 to 65535",
        })?;
        let header = HtkHeader { sample_period: options.sample_period, sample_kind };
        write_files(&features, &options.files, |file, matrix| write_htk(file, matrix, &header))
    })
}

fn sphinx(call: Call<'_>) -> ExitCode {
    super::run(SPHINX.name, SPHINX_USAGE, call, Files::with_extension("mfc"), |files, [features]| {
        write_files(&features, &files, |file, matrix| write_sphinx(file, matrix))
    })
}

fn write_files(
    rspecifier: &str,
    files: &Files,
    write: impl Fn(&mut dyn Write, &Matrix<f32>) -> io::Result<()>,
) -> Result<bool, Failure> {
    make_folder(&files.output_dir)?;
    let input = Rspecifier::parse(rspecifier)?.rxfilename;
    let mut written = 0_u64;
    for entry in SequentialReader::<Matrix<f32>>::open(rspecifier)? {
        let (key, matrix) = entry?;
        if !stays_in_folder(&key) {
            let place = "as its file would lie outside --output-dir";
            return Err(Failure::KeyAsFile { key, place });
        }
        let name = format!("{}/{key}.{}", files.output_dir, files.output_ext);
        refuse_overwriting(&[&format!("ark:{input}")], &[&name])?;
        let mut file = Output::create_path(&name)?;
        write(&mut file, &matrix).map_err(|source| kaldera::io::Error::Write { name, source })?;
        file.close()?;
        written += 1;
    }
    info!("{written} feature files written to {}", files.output_dir);
    Ok(written > 0)
}

/// Returns `true` if a file with this name lies in the folder, or in one below it.
fn stays_in_folder(key: &str) -> bool {
    let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    !key.contains('\0') && Path::new(key).components().all(is_below)
}

/// Creates the folder, but not its parents.
fn make_folder(name: &str) -> Result<(), kaldera::io::Error> {
    if Path::new(name).exists() {
        return Ok(());
    }
    let builder = DirBuilder::new();
    #[cfg(unix)]
    let builder = {
        let mut builder = builder;
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o750);
        builder
    };
    builder.create(name).map_err(|source| kaldera::io::Error::Create { name: name.to_owned(), source })
}
