//! `subset-feats`: the first few matrices of a table, or those with keys that a list has or lacks.

use std::collections::HashSet;
use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::Error;
use kaldera::io::specifier::{Rspecifier, TableKind};
use kaldera::io::table::{SequentialReader, TableWriter};
use kaldera::matrix::Matrix;
use tracing::info;

use crate::kaldi::Failure;
use crate::kaldi::lattices::read_text;
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "subset-feats",
    about: "Copy the first feature matrices, or the keys in a list, or the keys not in it",
    run,
};

const USAGE: &str =
    "Copies a subset of the feature matrices of a table: the first few, the keys in a list, or the keys not in a list.
Usage: subset-feats [options] <feats-rspecifier> <feats-wspecifier>
For example: subset-feats --n=10 ark:feats.ark ark:few.ark
         or: subset-feats --include=keys ark:feats.ark ark:some.ark";

/// Default of --n.
const FIRST: i32 = 10;

struct Options {
    n: i32,
    include: String,
    exclude: String,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("n", &mut self.n, "Number of matrices to copy, without --include and --exclude");
        registry.add(
            "include",
            &mut self.include,
            "Copy the matrices whose keys are the first words of the lines of this file",
        );
        registry.add(
            "exclude",
            &mut self.exclude,
            "Skip the matrices whose keys are the first words of the lines of this file",
        );
    }
}

fn run(call: Call<'_>) -> ExitCode {
    let options = Options { n: FIRST, include: String::new(), exclude: String::new() };
    super::run(TOOL.name, USAGE, call, options, |options, [input, output]| {
        let wrong_number = |expected| Failure::Option { name: "n", value: options.n.to_string(), expected };
        let n = usize::try_from(options.n).map_err(|_| wrong_number("a number of matrices"))?;
        let mut writer = TableWriter::<Matrix<f32>>::open(&output)?;
        let mut reader = SequentialReader::<Matrix<f32>>::open(&input)?;
        let exclusive = |first, second| Err(Failure::Exclusive { first, second });
        let (list, wanted) = match (options.include.as_str(), options.exclude.as_str()) {
            ("", "") if n == 0 => return Err(wrong_number("at least 1")),
            ("", "") => {
                reader.by_ref().take(n).try_for_each(|entry| copy(entry, &mut writer))?;
                writer.close()?;
                // Kaldi has read the next object of an archive by then, and fails if it is damaged.
                if Rspecifier::parse(&input)?.kind == TableKind::Archive {
                    reader.next().transpose()?;
                }
                return Ok(true);
            }
            (_, "") if options.n != FIRST => return exclusive("include", "n"),
            ("", _) if options.n != FIRST => return exclusive("exclude", "n"),
            (include, "") => (keys(include)?, true),
            ("", exclude) => (keys(exclude)?, false),
            _ => return exclusive("include", "exclude"),
        };
        let mut copied = 0_u64;
        for entry in reader.only(move |key| list.contains(key) == wanted) {
            copy(entry, &mut writer)?;
            copied += 1;
        }
        writer.close()?;
        info!("{copied} feature matrices copied");
        Ok(copied > 0)
    })
}

fn copy(entry: Result<(String, Matrix<f32>), Error>, writer: &mut TableWriter<Matrix<f32>>) -> Result<(), Failure> {
    let (key, matrix) = entry?;
    Ok(writer.write(&key, &matrix)?)
}

/// Reads the first word of each line.
fn keys(rxfilename: &str) -> Result<HashSet<String>, Failure> {
    let key = |line: &str| {
        let key = line.split_ascii_whitespace().next().map(str::to_owned);
        key.ok_or_else(|| Failure::EmptyLine { file: rxfilename.to_owned() })
    };
    read_text(rxfilename)?.lines().map(key).collect()
}
