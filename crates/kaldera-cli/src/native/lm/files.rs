//! Files of n-gram models.

use std::collections::HashSet;
use std::io::{self, BufRead as _, Read as _, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use kaldera::base::text;
use kaldera::fsa::graphs::{ArpaOptions, NgramModel};

use super::steps::{Step, sizes};
use super::{CliError, Options};
use crate::native::files::{in_file, is_standard, open, read_text, refuse_terminal, shown, write_with};

/// File format of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Arpa,
    /// An ARPA file, compressed with gzip.
    ArpaGz,
    Binary,
}

impl Format {
    /// Returns the format by `--format`, or by the extension of the output.
    fn from_options(options: &Options) -> Result<Self, CliError> {
        let name = &options.output;
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
        let is_gz = ending == Some("gz");
        match (&*options.format, ending) {
            ("arpa", _) if is_gz => Ok(Self::ArpaGz),
            ("arpa", _) | ("", None | Some("arpa" | "lm" | "txt")) => Ok(Self::Arpa),
            ("", Some("gz")) => Ok(Self::ArpaGz),
            ("binary", _) | ("", Some("bin")) => Ok(Self::Binary),
            ("", Some(_)) => Err(CliError::Usage(format!(
                "'{name}': the file extension must select the format: .arpa, .lm or .txt, with or without .gz (ARPA files), or .bin \
                 (binary); or add --format=arpa or --format=binary"
            ))),
            (other, _) => Err(CliError::Usage(format!("option --format: '{other}' is neither arpa nor binary"))),
        }
    }
}

/// Checks the output options before the work.
pub(super) fn check_output(options: &Options) -> Result<(), CliError> {
    match Format::from_options(options)? {
        Format::Binary => refuse_terminal(&options.output, "--format=arpa"),
        Format::Arpa | Format::ArpaGz => Ok(()),
    }
}

/// Reads a model of any format, and reports its sizes and the number of n-grams left out.
pub(super) fn read(name: &str, options: &Options) -> Result<NgramModel, CliError> {
    let mut how = ArpaOptions::default();
    how.start.clone_from(&options.bos_symbol);
    how.end.clone_from(&options.eos_symbol);
    how.unknown.clone_from(&options.unk);
    how.limits = options.limits();
    let mut step = Step::start(format_args!("reading {}", shown(name)), options.quiet);
    let model = NgramModel::from_reader(open(name)?, &how, &mut |progress| step.tell(progress));
    let model = model.map_err(|error| in_file(name, &error))?;
    step.end(format_args!("{}, {} words", sizes(&model), model.num_words()));
    if !model.left_out().is_empty() {
        tracing::warn!("{}: {} n-grams left out, as they cannot occur in a sentence", shown(name), model.left_out());
    }
    if model.num_missing() > 0 {
        tracing::warn!("{} has {} n-grams fewer than its header counts", shown(name), model.num_missing());
    }
    Ok(model)
}

/// Writes a model, atomically if the output is a file.
pub(super) fn write(model: &NgramModel, options: &Options) -> Result<(), CliError> {
    let format = Format::from_options(options)?;
    let name = if is_standard(&options.output) { "standard output".to_owned() } else { shown(&options.output) };
    let mut step = Step::start(format_args!("writing {name}"), options.quiet);
    let mut bytes = 0;
    write_with(&options.output, |out| {
        let mut out = Counted { out, bytes: &mut bytes };
        match format {
            Format::Binary => out.write_all(model.as_bytes()),
            Format::Arpa => {
                let mut out = io::BufWriter::new(out);
                model.write_arpa(&mut out, &mut |progress| step.tell(progress))?;
                out.flush()
            }
            Format::ArpaGz => {
                let mut out = GzEncoder::new(out, Compression::default());
                model.write_arpa(io::BufWriter::new(&mut out), &mut |progress| step.tell(progress))?;
                out.finish().map(drop)
            }
        }
    })?;
    step.end(format_args!("{}, {bytes} bytes", sizes(model)));
    Ok(())
}

/// Writer that counts the bytes written.
struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: &'a mut u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buffer)?;
        *self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads the first word of each line of a file.
pub(super) fn read_vocabulary(name: &str) -> Result<HashSet<String>, CliError> {
    let text = read_text(name)?;
    let words = text.lines().filter_map(|line| words(line).next().map(str::to_owned));
    Ok(words.collect())
}

/// Splits a line into words at blanks, tabs and line ends.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split([' ', '\t', '\r', '\n']).filter(|word| !word.is_empty())
}

/// Calls `each` with the lines of a text. Lines of 16 MiB or more are an error.
pub(super) fn for_each_line(name: &str, mut each: impl FnMut(&str)) -> Result<(), CliError> {
    const LONGEST: u64 = 1 << 24;
    let failed = |problem: &dyn std::fmt::Display, line: usize| {
        CliError::Failed(format!("cannot read {}, line {line}: {problem}", shown(name)))
    };
    let mut input = open(name)?;
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut buffer).map_err(|error| failed(&error, line))?;
        if read == 0 {
            break;
        }
        if read as u64 == LONGEST {
            return Err(failed(&"it is too long for a line of text", line));
        }
        if line == 1 && text::is_utf_16(&buffer) {
            return Err(failed(&text::NotUtf8::Utf16, line));
        }
        let text = std::str::from_utf8(&buffer).map_err(|_| failed(&"it is not UTF-8", line))?;
        each(if line == 1 { text::without_mark(text) } else { text });
    }
    Ok(())
}
