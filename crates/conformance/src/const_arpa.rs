//! Kaldi's ConstArpaLm: the files of `const_arpa`, a group for each of its folders.
//!
//! `models` has the folder `variants` too. `G.fst` of the models is an input of `rescore`; it and
//! `G.txt` are not compared. Bytes and bits agree exactly; costs of rescored lattices
//! within the README's limit. A case whose files are not all here, as some are kept for acceptance,
//! is judged by those that are, and a set of `rescore` without a model is not run.

mod faulty;
mod models;
mod rescore;

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Settings, Stop, Verdict};

pub(crate) use faulty::run as run_faulty;
pub(crate) use models::run as run_models;
pub(crate) use rescore::run as run_rescore;

/// Ids and verdicts of the cases of a folder.
type Verdicts = Result<Vec<(String, Verdict)>, Error>;

/// Returns the entries of a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Error>>()?;
    entries.sort();
    Ok(entries)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a text; `None` if there is no such file.
fn text_of(path: &Path) -> Result<Option<String>, Stop> {
    if path.exists() { Ok(Some(fs::read_to_string(path)?)) } else { Ok(None) }
}

/// The `--bos-symbol`, `--eos-symbol` and `--unk-symbol` of a model, in the order of its file.
fn symbols(model: &Path) -> Result<[i32; 3], Stop> {
    let text = fs::read_to_string(model.join("options"))?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        line.ok_or_else(|| Stop::Damaged(format!("no {name} among {text:?}")))
    };
    Ok([of("bos ")?, of("eos ")?, of("unk ")?])
}

/// The result of a program run in a folder: its exit status, `None` after a signal, and its last
/// line.
fn run(settings: &Settings, folder: &Path, tool: &str, args: &[&str]) -> Result<(Option<i32>, String), Stop> {
    let output = settings.command(tool, folder).args(args).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    Ok((output.status.code(), said.lines().last().unwrap_or("(silent)").to_owned()))
}

/// Runs a program that must succeed.
fn succeed(settings: &Settings, folder: &Path, tool: &str, args: &[&str]) -> Result<(), Stop> {
    match run(settings, folder, tool, args)? {
        (Some(0), _) => Ok(()),
        (status, said) => Err(Stop::Refused(format!("{tool} {args:?} ended with {status:?}: {said}"))),
    }
}
