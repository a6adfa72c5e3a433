//! Model folders from the exports of other toolkits.

mod describe;
mod export;
mod family;
mod features;
mod files;
mod metadata;
mod said;
mod settings;
mod tokens;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use kaldera::Recognizer;
use kaldera_onnx::{Runtime, weight_files};

use self::describe::describe;
use self::export::Export;
use self::files::{failed, folder_of};
use self::said::Said;
use self::tokens::Tokens;
use super::super::CliError;
use super::super::decoding::Decoding;
use super::{Given, TOOL, print};
use crate::interrupt;

/// Number of bytes that are copied between two checks for a signal.
const PIECE: u64 = 1 << 26;

/// Makes the folder `output` and returns its recogniser; `None` if a signal asked to stop.
pub(super) fn import(source: &Path, given: &Given, output: &Path) -> Result<Option<Recognizer>, CliError> {
    let runtime = match &*given.runtime {
        "" => Runtime::default(),
        name => name.parse().map_err(|error| CliError::Usage(format!("option --runtime: {error}")))?,
    };
    let said = Said::new(given)?;
    let export = Export::find(source, &given.tokens)?;
    let tokens = Tokens::read(&export.tokens)?;
    let (settings, cmvn) = describe(&export, &tokens, (runtime, &said))?;
    print(&settings.table())?;
    if let Some(questions) = settings.open_questions() {
        return Err(failed(&export.network, &questions));
    }
    let texts: Vec<(&str, String)> =
        [("tokens.txt", Some(tokens.text)), ("model.toml", Some(settings.toml())), ("am.mvn", cmvn)]
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
            .collect();
    if output.symlink_metadata().is_ok() {
        return Err(failed(output, &"it exists: remove it, or choose another name"));
    }
    // A trailing slash is no part of the name.
    let mut part = output.file_name().ok_or_else(|| failed(output, &"choose a name of a new folder"))?.to_owned();
    let output = &output.with_file_name(&part);
    part.push(format!(".{}.part", std::process::id()));
    let part = output.with_file_name(part);
    // Networks have gigabytes: a signal must not leave a partial copy.
    let stop = interrupt::watch_folder(TOOL, "nothing was written", part.clone());
    let made = write(&part, &export, &texts, stop)
        .and_then(|()| unless(stop, || check(&part, &export)))
        .and_then(|made| unless(stop, || publish(&part, output).map(|()| made)));
    match made {
        Ok(recognizer) => Ok(Some(recognizer)),
        Err(end) => {
            // The remaining files are no model, and their folder has a temporary name.
            let _ = fs::remove_dir_all(&part);
            end.map_or(Ok(None), |trouble| Err(renamed(trouble, &part, output)))
        }
    }
}

/// Reason why a folder is not made: an error, or `None` if a signal asked to stop.
type End = Option<CliError>;

/// Runs a step, unless a signal asked to stop.
fn unless<T>(stop: &AtomicBool, step: impl FnOnce() -> Result<T, CliError>) -> Result<T, End> {
    if stop.load(Ordering::Relaxed) {
        return Err(None);
    }
    step().map_err(Some)
}

/// Opens the folder like a recogniser. Errors name the source files instead of their copies.
fn check(folder: &Path, export: &Export) -> Result<Recognizer, CliError> {
    Decoding::default().recognizer(folder).map_err(|trouble| {
        let networks = export.networks().into_iter().map(|path| (path.file_name().unwrap_or_default(), path));
        let others = [("tokens.txt".as_ref(), &*export.tokens), ("model.toml".as_ref(), "the new model.toml".as_ref())];
        let named = |trouble, (own, name): (&OsStr, &Path)| renamed(trouble, &folder.join(own), name);
        networks.chain(others).fold(trouble, named)
    })
}

/// Returns the error with `name` in place of a path.
fn renamed(trouble: CliError, path: &Path, name: &Path) -> CliError {
    let rename = |text: String| text.replace(&*path.to_string_lossy(), &name.to_string_lossy());
    match trouble {
        CliError::Usage(text) => CliError::Usage(rename(text)),
        CliError::Failed(text) => CliError::Failed(rename(text)),
        CliError::Closed => CliError::Closed,
    }
}

/// Renames the finished folder to its final name.
fn publish(part: &Path, output: &Path) -> Result<(), CliError> {
    sync_folder(part);
    fs::rename(part, output).map_err(|error| failed(output, &error))?;
    sync_folder(folder_of(output));
    Ok(())
}

/// Writes the folder: networks with their weight files, and files of text.
fn write(folder: &Path, export: &Export, texts: &[(&str, String)], stop: &AtomicBool) -> Result<(), End> {
    unless(stop, || fs::create_dir(folder).map_err(|error| failed(folder, &error)))?;
    let mut files = BTreeSet::new();
    for network in export.networks() {
        files.insert(network.to_owned());
        files.extend(weight_files(network).map_err(|error| Some(CliError::failed(&error)))?);
    }
    let source = folder_of(&export.network);
    for from in files {
        // Weights may be in a subfolder.
        let to = folder.join(from.strip_prefix(source).unwrap_or(&from));
        copy(&from, &to, stop)?;
    }
    for (own, text) in texts {
        let path = folder.join(own);
        let write = || fs::write(&path, text).and_then(|()| fs::File::open(&path)?.sync_all());
        unless(stop, || write().map_err(|error| failed(&path, &error)))?;
    }
    Ok(())
}

/// Copies a file in pieces, until a signal asks to stop.
fn copy(from: &Path, to: &Path, stop: &AtomicBool) -> Result<(), End> {
    let source = unless(stop, || fs::File::open(from).map_err(|error| failed(from, &error)))?;
    let create = || fs::create_dir_all(folder_of(to)).and_then(|()| fs::File::create(to));
    let mut copied = unless(stop, || create().map_err(|error| failed(to, &error)))?;
    let both = |error: io::Error| CliError::Failed(format!("{} to {}: {error}", from.display(), to.display()));
    let mut piece = || io::copy(&mut (&source).take(PIECE), &mut copied).map_err(both);
    while unless(stop, &mut piece)? > 0 {}
    unless(stop, || copied.sync_all().map_err(|error| failed(to, &error)))
}

/// Waits until the names in a folder are on the disk, if the system supports this.
fn sync_folder(folder: &Path) {
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
}
