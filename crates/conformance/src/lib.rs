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
//! Sets without case files have stages (`vosk/mfcc`, `vosk/ivectors`), each a line of its own. A
//! stage that needs a model which is not there says so, and is no failure.
//!
//! The rules of comparison are in the README of each set, and are not loosened here.
//! `KNOWN_ANSWERS` is only read. To add a set, write a module with a function that a `Runner` can
//! hold, and name its files in `runner_of`.
//!
//! The program starts itself as a child process that is the command, so that exit status, panic and
//! signal are the ones that a recipe would see.

#![forbid(unsafe_code)]

mod base64;
mod case_file;
mod const_arpa;
mod decode;
mod decoder;
mod error;
mod filter;
mod folder;
mod fsa;
mod fst_types;
mod json;
mod k2;
mod kaldi;
mod lattice;
mod lod;
mod losses;
mod ndarray;
mod nnet3;
mod npz;
mod openfst;
mod stage;
mod strided_slice;
mod verdict;
mod vosk;
mod vosk_chain;
mod vosk_decoding;
mod vosk_front_end;
mod vosk_results;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use case_file::{Case, read_cases};
pub use error::Error;
pub use filter::Filter;
pub use folder::known_answers;
pub(crate) use json::{
    Dtype, Number, Plain, Singles, field, flat, float, floats, list, number, number_of, numbers_of, single,
};
use serde_json::Value;
use stage::{LeftOut, Part};
pub(crate) use verdict::{Differences, Stop, all_near, caught, near, unless};
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

    /// The command `tool` in a folder, without input.
    fn command(&self, tool: &str, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args([CHILD, tool]).current_dir(folder).stdin(Stdio::null());
        command
    }
}

/// The code that runs the cases of a file.
enum Runner {
    /// Returns the verdict on one case.
    Each(fn(&Value, &Settings) -> Verdict),
    /// Runs the selected cases of the file at a path, in order, and returns one verdict for each.
    All(RunAll),
}

/// Stages, in the order in which they run: name (`SET/STAGE`), and the code that judges the
/// recordings in the folder of the set.
const STAGES: &[(&str, Stage)] = &[
    ("vosk/mfcc", vosk_front_end::mfcc),
    ("vosk/ivectors", vosk_front_end::ivectors),
    ("vosk/best-path", vosk_decoding::best_path),
    ("vosk/lattice", vosk_decoding::lattice),
    ("vosk/words", vosk_decoding::words),
    ("vosk/extra", vosk_chain::extra),
    ("vosk/chain", vosk_chain::chain),
];

type Stage = fn(&Settings, &Path) -> Result<Vec<Part>, LeftOut>;

type RunAll = fn(&Settings, &Path, &[Case]) -> Result<Vec<Verdict>, Error>;

/// The runner of the case file `name` (`SET/FILE`), `None` for an unknown file.
fn runner_of(name: &str) -> Option<Runner> {
    use Runner::{All, Each};
    let set = name.split('/').next().unwrap_or_default();
    Some(match name {
        "kaldi/manifest.json" => All(kaldi::run_manifest),
        "kaldi/matrix.json" => Each(|case, _| kaldi::judge_matrix(case)),
        "k2/ragged_ops.json" => Each(|case, _| k2::judge(case, k2::tensor_ops::run)),
        "k2/ragged_shape.json" => Each(|case, _| k2::judge(case, k2::shape_ops::run)),
        "k2/fsa_basic.json" | "k2/intersect.json" | "k2/nbest.json" => Each(|case, _| fsa::judge(case, fsa::run)),
        "k2/dense.json" => Each(|case, _| fsa::judge(case, |op, _, args, expect| fsa::dense::run(op, args, expect))),
        "k2/losses.json" => Each(|case, _| fsa::judge(case, |op, _, args, expect| losses::run(op, args, expect))),
        "ctc_rnnt/ctc.json" => Each(|case, _| verdict::judge(|| losses::torch_ctc(case))),
        "ctc_rnnt/rnnt.json" => Each(|case, _| verdict::judge(|| losses::torchaudio_rnnt(case))),
        "strided_slice/rules.jsonl" | "strided_slice/slice.jsonl" => {
            Each(|case, _| strided_slice::judge(case, strided_slice::slice))
        }
        "strided_slice/grad.jsonl" => Each(|case, _| strided_slice::judge(case, strided_slice::grad)),
        "strided_slice/update.jsonl" => Each(|case, _| strided_slice::judge(case, strided_slice::update)),
        "lod/lod_algebra.jsonl" => Each(|case, _| lod::algebra::judge(case)),
        "lod/segment.jsonl" => Each(|case, _| lod::judge(case, lod::segment::check)),
        "lod/dynamic.jsonl" => Each(|case, _| lod::judge(case, lod::dynamic::check)),
        "lod/seq_ops.jsonl" => Each(|case, _| lod::judge(case, lod::seq_ops::check)),
        "lod/fused_rnn.jsonl" => Each(|case, _| lod::judge(case, lod::fused_rnn::check)),
        "lod/torch_rnn.jsonl" => Each(|case, _| lod::judge(case, lod::torch_rnn::check)),
        "context_graph/context_graph.jsonl" => Each(|case, _| decoder::judge(case, decoder::context_graph::check)),
        "ctc_align/align.jsonl" => Each(|case, _| decoder::judge(case, decoder::ctc_align::check)),
        "ctc_decode/greedy.jsonl" => Each(|case, _| decoder::judge(case, decoder::ctc_decode::greedy_case)),
        "ctc_decode/exact.jsonl" => Each(|case, _| decoder::judge(case, decoder::ctc_decode::exact_case)),
        "ctc_decode/pyctc.jsonl" => All(decoder::ctc_decode::run_pyctc),
        "decode_graph/decode.jsonl" => Each(|case, _| decoder::judge(case, decode::check)),
        "decode_graph/lattice.jsonl" => All(lattice::run),
        "endpoint/endpoint.jsonl" => Each(|case, _| decoder::judge(case, decoder::endpoint::check)),
        "transducer_search/transducer.jsonl" => Each(|case, _| decoder::judge(case, decoder::transducer::check)),
        "wer/ctm.jsonl" => Each(|case, _| decoder::judge(case, decoder::wer::ctm)),
        "wer/text.jsonl" => Each(|case, settings| decoder::judge(case, |case| decoder::wer::text(case, settings))),
        "wer/trn.jsonl" => Each(|case, _| decoder::judge(case, decoder::wer::trn)),
        "openfst/openfst.json" => Each(|case, _| verdict::judge(|| openfst::run(case))),
        "fst_types/read" => All(fst_types::run_read),
        "fst_types/lookahead" => All(fst_types::run_look_ahead),
        _ if set == "ndarray" => Each(|case, _| ndarray::judge(case)),
        // The code of other files of these sets is still to be written.
        _ if matches!(set, "ctc_rnnt" | "k2" | "lod") => Each(|_, _| Verdict::NotRun),
        _ => return None,
    })
}

/// Groups whose cases are files in a folder of their own, not in a file of cases: the name, the
/// folder, and the function that returns ids and verdicts, and a remark for the group's line.
const FOLDERS: &[(&str, &str, RunFolder)] = &[
    ("const_arpa/faulty", "const_arpa/faulty", |settings, folder| {
        Ok((const_arpa::run_faulty(settings, folder)?, String::new()))
    }),
    ("const_arpa/models", "const_arpa/models", |settings, folder| {
        Ok((const_arpa::run_models(settings, folder)?, String::new()))
    }),
    ("const_arpa/rescore", "const_arpa/rescore", |settings, folder| {
        Ok((const_arpa::run_rescore(settings, folder)?, String::new()))
    }),
    ("nnet3", "nnet3", nnet3::run),
    ("vosk/output", "vosk", vosk::run_output),
];

type RunFolder = fn(&Settings, &Path) -> Result<(Vec<(String, Verdict)>, String), Error>;

/// Runs the groups of [`FOLDERS`] that are here and selected. Returns `true` if one said that it
/// was left out.
fn run_folders(
    settings: &Settings,
    unused: &mut Vec<&Filter>,
    totals: &mut Totals,
    out: &mut dyn Write,
) -> Result<bool, Error> {
    let mut left_out = false;
    for (name, folder, run) in FOLDERS {
        let filters: Vec<&Filter> = settings.filters.iter().filter(|filter| filter.selects_file(name)).collect();
        let folder = settings.folder.join(folder);
        if (filters.is_empty() && !settings.filters.is_empty()) || !folder.is_dir() {
            continue;
        }
        let mut counts = Totals::default();
        let (verdicts, remark) = run(settings, &folder)?;
        for (id, verdict) in verdicts {
            let case = Case { id: id.clone(), names: vec![id], value: Value::Null };
            unused.retain(|filter| !(filters.contains(filter) && filter.selects_case(&case)));
            if filters.is_empty() || filters.iter().any(|filter| filter.selects_case(&case)) {
                verdict.explain(&case.id, out)?;
                counts.add(&verdict);
                totals.add(&verdict);
            }
        }
        if counts != Totals::default() {
            writeln!(out, "{name}: {counts}{}{remark}", if remark.is_empty() { "" } else { ", " })?;
        } else if !remark.is_empty() {
            unused.retain(|filter| !filters.contains(filter));
            writeln!(out, "{name}: {remark}")?;
            left_out = true;
        }
        out.flush()?;
    }
    Ok(left_out)
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
        let verdicts = match runner {
            Runner::Each(judge) => cases.iter().map(|case| judge(&case.value, settings)).collect(),
            Runner::All(run) => run(settings, &file.path, &cases)?,
        };
        let mut counts = Totals::default();
        for (case, verdict) in cases.iter().zip(&verdicts) {
            verdict.explain(&case.id, out)?;
            counts.add(verdict);
            totals.add(verdict);
        }
        writeln!(out, "{}: {counts}", file.name)?;
        out.flush()?;
    }
    let mut staged = false;
    for &(name, stage) in STAGES {
        let set = settings.folder.join(name.split('/').next().unwrap_or_default());
        let selected = settings.filters.is_empty() || settings.filters.iter().any(|filter| filter.selects_file(name));
        if !set.is_dir() || !selected {
            continue;
        }
        staged = true;
        unused.retain(|filter| !filter.selects_file(name));
        totals.merge(&run_stage(settings, name, stage, &set, out)?);
    }
    let left_out = run_folders(settings, &mut unused, &mut totals, out)?;
    match unused.first() {
        Some(filter) => Err(Error::NothingSelected { filter: filter.to_string(), folder: settings.folder.clone() }),
        None if totals == Totals::default() && !staged && !left_out => {
            Err(Error::NothingSelected { filter: String::new(), folder: settings.folder.clone() })
        }
        None => Ok(totals),
    }
}

/// Runs a stage and prints its line.
fn run_stage(settings: &Settings, name: &str, stage: Stage, set: &Path, out: &mut dyn Write) -> Result<Totals, Error> {
    let mut counts = Totals::default();
    let parts = match stage(settings, set) {
        Ok(parts) => parts,
        Err(LeftOut(why)) => {
            writeln!(out, "{name}: left out: {why}")?;
            return Ok(counts);
        }
    };
    let mut left_out = Vec::new();
    for Part { id, verdict } in parts {
        match verdict {
            Ok(verdict) => {
                verdict.explain(&id, out)?;
                counts.add(&verdict);
            }
            Err(why) => left_out.push(format!("{id} ({why})")),
        }
    }
    write!(out, "{name}: {counts}")?;
    match &*left_out {
        [] => writeln!(out)?,
        left_out => writeln!(out, "; left out: {}", left_out.join(", "))?,
    }
    out.flush()?;
    Ok(counts)
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
