//! One runner for the known answers: compares the results of the real systems with Kaldera's.
//!
//! ```text
//! cargo run --release -p conformance -- [FILTER...]
//!
//! known-answers/            KNOWN_ANSWERS, or the project's own copy inside this crate
//!   kaldi/                  a set: one oracle, one README.md with the rules of comparison
//!     manifest.json         a case file: *.json or *.jsonl, one level down
//!     precision.json        a companion that the README names, not a case file
//!     audio/ in/ out/       what the cases read, and what the oracle wrote
//! ```
//!
//! For each case file with a selected case it prints one line, `kaldi/manifest.json: 86 of 86
//! hold, 1 free, 139 not run`. The first two numbers are about the binding cases that were run;
//! *free* cases are those that the README declares free; *not run* are those whose group or
//! operation has no code here yet, which is never a pass. Every failing case is printed before
//! that line: its id, the expected value and ours.
//!
//! A FILTER is the beginning of a file's path (`kaldi/manifest`, `k2/ragged`, `lod`), with an
//! optional `:NAME` for one group or operation (`kaldi/manifest:mfcc`, `k2/nbest:random_paths`).
//! NAME is the whole name, or its beginning up to a character that is neither a letter, a digit nor
//! an underscore: `kaldi/matrix:feat` selects `feat.MelBanks` and all its siblings,
//! `k2/ragged_ops:sum` does not select `sum_grad`. Several filters select what any of them selects.
//!
//! | exit | meaning |
//! |---|---|
//! | 0 | every selected case was run and every binding one holds |
//! | 1 | a failure, a case that was not run, a damaged file, a file that no runner knows |
//! | 2 | wrong usage, no folder, a filter that selects nothing |
//!
//! The rules of comparison are in the README of each set, and are not loosened here.
//! `KNOWN_ANSWERS` is only read. To add a set, write a module with a function of the shape
//! `Runner` and name its files in `runner_of`.
//!
//! The program starts itself as a child process that is the command, so that exit status, panic and
//! signal are the ones that a recipe would see.

#![forbid(unsafe_code)]

mod case_file;
mod decode;
mod decoder;
mod error;
mod filter;
mod folder;
mod fsa;
mod k2;
mod kaldi;
mod lattice;
mod lod;
mod losses;
mod ndarray;
mod openfst;
mod strided_slice;
mod verdict;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use case_file::{Case, read_cases};
pub use error::Error;
pub use filter::Filter;
pub use folder::known_answers;
use verdict::caught;
pub use verdict::{Totals, Verdict};

/// The private first argument with which the runner starts itself as the command `kaldera`.
const CHILD: &str = "__kaldera";

/// The time after which a command counts as hung; the slowest known one takes well under a
/// second.
const TIME_LIMIT: Duration = Duration::from_secs(60);

const USAGE: &str = "\
Runs known answers against Kaldera.

Usage: conformance [FILTER...]

FILTER  the beginning of a case file's path, with an optional :GROUP-OR-OP
        (kaldi/manifest  k2/ragged  lod  kaldi/manifest:mfcc  kaldi/matrix:feat); none = everything
KNOWN_ANSWERS  environment variable: the folder of known answers, relative to the workspace root;
        default: the project's own copy, crates/conformance/known-answers

Prints a line for each file: FILE: N of N binding cases hold, then those that are free and those not run.
Exit status: 0 every selected case was run and every binding one holds
             1 a failure, a case that was not run, a damaged file or a file that no runner knows
             2 wrong usage, no folder, a filter that selects nothing
";

/// The cases to run, and the program to run them with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of known answers; see [`known_answers`].
    pub folder: PathBuf,
    /// This crate's command, which is started anew for every case that is a command line.
    pub program: PathBuf,
    /// Filters that select cases; empty selects everything.
    pub filters: Vec<Filter>,
    /// Time limit of one command.
    pub time_limit: Duration,
}

impl Settings {
    /// Everything in `folder`, with `program` as the command to start.
    #[must_use]
    pub fn new(folder: PathBuf, program: PathBuf) -> Self {
        Self { folder, program, filters: Vec::new(), time_limit: TIME_LIMIT }
    }
}

/// A function that runs the selected cases of one file, in order, and returns one verdict for
/// each.
type Runner = fn(&Settings, &Path, &[Case]) -> Result<Vec<Verdict>, Error>;

/// The runner of the case file `name` (`SET/FILE`), `None` for an unknown file.
fn runner_of(name: &str) -> Option<Runner> {
    let set = name.split('/').next().unwrap_or_default();
    match name {
        "kaldi/manifest.json" => Some(kaldi::run_manifest),
        "kaldi/matrix.json" => Some(kaldi::run_matrix),
        "k2/ragged_ops.json" => Some(k2::run_ragged_ops),
        "k2/ragged_shape.json" => Some(k2::run_ragged_shape),
        "k2/fsa_basic.json" | "k2/intersect.json" | "k2/nbest.json" => Some(fsa::run),
        "k2/dense.json" => Some(fsa::run_dense),
        "k2/losses.json" => Some(losses::run),
        "ctc_rnnt/ctc.json" => Some(losses::run_torch_ctc),
        "ctc_rnnt/rnnt.json" => Some(losses::run_torchaudio_rnnt),
        "strided_slice/rules.jsonl" | "strided_slice/slice.jsonl" => Some(strided_slice::run_slice),
        "strided_slice/grad.jsonl" => Some(strided_slice::run_grad),
        "strided_slice/update.jsonl" => Some(strided_slice::run_update),
        "lod/lod_algebra.jsonl" => Some(lod::run_algebra),
        "lod/segment.jsonl" => Some(lod::run_segment),
        "lod/dynamic.jsonl" => Some(lod::run_dynamic),
        "lod/seq_ops.jsonl" => Some(lod::run_seq_ops),
        "lod/fused_rnn.jsonl" => Some(lod::run_fused_rnn),
        "lod/torch_rnn.jsonl" => Some(lod::run_torch_rnn),
        "context_graph/context_graph.jsonl" => Some(decoder::run_context_graph),
        "ctc_align/align.jsonl" => Some(decoder::run_ctc_align),
        "ctc_decode/greedy.jsonl" => Some(decoder::run_greedy),
        "ctc_decode/exact.jsonl" => Some(decoder::run_exact),
        "ctc_decode/pyctc.jsonl" => Some(decoder::run_pyctc),
        "decode_graph/decode.jsonl" => Some(decode::run),
        "decode_graph/lattice.jsonl" => Some(lattice::run),
        "endpoint/endpoint.jsonl" => Some(decoder::run_endpoint),
        "transducer_search/transducer.jsonl" => Some(decoder::run_transducer),
        "wer/ctm.jsonl" => Some(decoder::run_ctm),
        "wer/text.jsonl" => Some(decoder::run_text),
        "wer/trn.jsonl" => Some(decoder::run_trn),
        "openfst/openfst.json" => Some(openfst::run),
        _ if set == "ndarray" => Some(ndarray::run),
        _ => matches!(set, "ctc_rnnt" | "k2" | "lod").then_some(not_run as Runner),
    }
}

/// Counts the cases of a set whose code is still to be written.
fn not_run(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(cases.iter().map(|_| Verdict::NotRun).collect())
}

/// Runs the cases that `settings` selects and prints the report to `out`.
///
/// # Errors
/// [`Error`] where nothing can be judged: no folder, a filter that selects nothing, a temporary
/// folder that cannot be made. A case that fails and a file that is damaged are part of the report
/// and of the totals.
pub fn run(settings: &Settings, out: &mut dyn Write) -> Result<Totals, Error> {
    let files = folder::case_files(&settings.folder)?;
    let mut unused: Vec<&Filter> = settings.filters.iter().collect();
    let mut totals = Totals::default();
    for file in files {
        let filters: Vec<&Filter> = settings.filters.iter().filter(|filter| filter.selects_file(&file.name)).collect();
        if filters.is_empty() && !settings.filters.is_empty() {
            continue;
        }
        let cases = match read_cases(&file.path) {
            Ok(cases) => cases,
            Err(damage) => {
                unused.retain(|filter| !filters.contains(filter));
                writeln!(out, "{}: {damage}", file.name)?;
                totals.broken_files += 1;
                continue;
            }
        };
        unused.retain(|filter| !(filters.contains(filter) && cases.iter().any(|case| filter.selects_case(case))));
        let cases: Vec<Case> = cases
            .into_iter()
            .filter(|case| filters.is_empty() || filters.iter().any(|filter| filter.selects_case(case)))
            .collect();
        if cases.is_empty() {
            continue;
        }
        let Some(runner) = runner_of(&file.name) else {
            writeln!(out, "{}: no runner knows this file ({} cases)", file.name, cases.len())?;
            totals.broken_files += 1;
            continue;
        };
        let verdicts = runner(settings, &file.path, &cases)?;
        let mut counts = Totals::default();
        for (case, verdict) in cases.iter().zip(&verdicts) {
            verdict.explain(&case.id, out)?;
            counts.add(verdict);
        }
        writeln!(out, "{}: {counts}", file.name)?;
        out.flush()?;
        totals += counts;
    }
    match unused.first() {
        Some(filter) => Err(Error::NothingSelected { filter: filter.to_string(), folder: settings.folder.clone() }),
        None if totals == Totals::default() => {
            Err(Error::NothingSelected { filter: String::new(), folder: settings.folder.clone() })
        }
        None => Ok(totals),
    }
}

/// The command: `args` with the program's own name first. See the crate's documentation for the
/// exit status.
#[must_use]
pub fn main(args: Vec<OsString>) -> ExitCode {
    if args.get(1).is_some_and(|first| first == CHILD) {
        return kaldera_cli::run(std::iter::once("kaldera".into()).chain(args.into_iter().skip(2)));
    }
    match main_of_parent(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::from(2)
        }
    }
}

fn main_of_parent(args: &[OsString]) -> Result<ExitCode, Error> {
    let mut filters = Vec::new();
    for arg in args.iter().skip(1) {
        match arg.to_str() {
            Some("-h" | "--help") => {
                print!("{USAGE}");
                return Ok(ExitCode::SUCCESS);
            }
            Some(text) if !text.is_empty() && !text.starts_with('-') => filters.push(Filter::new(text)),
            _ => return Err(Error::Usage { argument: arg.to_string_lossy().into_owned() }),
        }
    }
    let settings = Settings { filters, ..Settings::new(known_answers()?, std::env::current_exe()?) };
    let totals = run(&settings, &mut std::io::stdout().lock())?;
    Ok(if totals.complete() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn report(folder: &Path, filters: &[&str]) -> (Result<Totals, Error>, String) {
        let filters = filters.iter().map(|text| Filter::new(text)).collect();
        let settings = Settings { filters, ..Settings::new(folder.into(), "/no/such/program".into()) };
        let mut out = Vec::new();
        let totals = run(&settings, &mut out);
        (totals, String::from_utf8(out).unwrap())
    }

    #[test]
    fn cases_without_code_are_counted_and_are_no_success() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            "k2/a.json",
            r#"{"num_cases": 2, "cases": [{"id": "x-0", "op": "x"}, {"id": "y-0", "op": "y"}]}"#,
        );
        write(folder.path(), "lod/b.jsonl", "{\"schema\": \"s\", \"cases\": 1}\n{\"id\": \"z\", \"fn\": \"z\"}\n");
        write(folder.path(), "top.json", "not looked at");
        let (totals, text) = report(folder.path(), &[]);
        assert_eq!(text, "k2/a.json: 0 of 0 hold, 2 not run\nlod/b.jsonl: 0 of 0 hold, 1 not run\n");
        assert!(!totals.unwrap().complete());
        assert_eq!(report(folder.path(), &["k2/a:y"]).1, "k2/a.json: 0 of 0 hold, 1 not run\n");
    }

    #[test]
    fn damaged_and_unknown_files_are_failures() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "k2/a.json", r#"{"num_cases": 3, "cases": [{"id": "x-0", "op": "x"}]}"#);
        write(folder.path(), "mystery/c.json", r#"[{"id": "q"}]"#);
        let (totals, text) = report(folder.path(), &[]);
        assert_eq!(totals.unwrap(), Totals { broken_files: 2, ..Totals::default() });
        assert!(text.contains("k2/a.json: damaged: its head announces 3 cases, 1 follow"), "{text}");
        assert!(text.contains("mystery/c.json: no runner knows this file (1 cases)"), "{text}");
    }

    #[test]
    fn a_filter_that_selects_nothing_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "k2/a.json", r#"[{"id": "x-0", "op": "x"}]"#);
        for filters in [vec!["lod"], vec!["k2", "k2/a:nope"], vec!["k2/b"]] {
            assert!(matches!(report(folder.path(), &filters).0, Err(Error::NothingSelected { .. })), "{filters:?}");
        }
        let (nowhere, _) = report(&folder.path().join("nowhere"), &[]);
        assert!(matches!(nowhere, Err(Error::NoFolder { .. })));
    }
}
