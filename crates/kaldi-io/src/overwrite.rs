//! Detection of outputs that are inputs: opening one for writing would destroy unread data.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::rxfilename::{self, Input, Rxfilename};
use crate::specifier::{Rspecifier, TableKind, WriteTo, Wspecifier};
use crate::table::ScriptLines;
use crate::wxfilename::{self, Wxfilename};

/// The outputs that exist as regular files. Files are identified by device and inode, so that every
/// link to a file counts as that file; on systems without inodes by their canonical paths.
///
/// Devices and FIFOs are not included: writing to them destroys nothing.
///
/// ```
/// use kaldi_io::overwrite::ExistingFiles;
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("feats.ark");
/// assert!(ExistingFiles::new([&path]).is_empty());
/// std::fs::write(&path, "")?;
/// let outputs = ExistingFiles::new([&path]);
/// assert_eq!(outputs.find(folder.path().join("./feats.ark")), Some(path.as_path()));
/// assert_eq!(outputs.find(folder.path()), None);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ExistingFiles(HashMap<FileId, PathBuf>);

#[cfg(unix)]
type FileId = (u64, u64);
#[cfg(not(unix))]
type FileId = PathBuf;

impl ExistingFiles {
    /// Collects the files of `outputs` that exist.
    pub fn new<P: AsRef<Path>>(outputs: impl IntoIterator<Item = P>) -> Self {
        let existing = |output: P| Some((file_id(output.as_ref())?, output.as_ref().to_owned()));
        Self(outputs.into_iter().filter_map(existing).collect())
    }

    /// Returns `true` if none of them exists, so that no input can be one of them.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the output that is the same file as `input`, by its name as an output.
    pub fn find(&self, input: impl AsRef<Path>) -> Option<&Path> {
        if self.is_empty() {
            return None;
        }
        self.0.get(&file_id(input.as_ref())?).map(PathBuf::as_path)
    }
}

fn file_id(path: &Path) -> Option<FileId> {
    let metadata = fs::metadata(path).ok().filter(Metadata::is_file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        drop(metadata);
        fs::canonicalize(path).ok()
    }
}

/// Refuses outputs that are inputs, before anything is opened for writing. Each text is a specifier
/// of a table or a single file.
///
/// The files in a script file are inputs too; the script file is read only if an output exists.
/// Files that commands read, and the contents of pipes, are not known.
///
/// With `scp:` as the output, objects go to files of their own, and an object may replace the
/// object that it was made from: only the tables themselves are compared with these files. Nothing
/// is refused if all inputs and outputs are single files, as the inputs have been read before the
/// outputs are opened.
///
/// ```
/// use kaldi_io::overwrite::refuse_overwriting;
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// std::fs::write("a.ark", "ann 31\n")?;
/// std::fs::write("a.scp", "ann a.ark:4\n")?;
/// assert!(refuse_overwriting(&["ark:a.ark"], &["ark,t:b.ark"]).is_ok());
/// assert!(refuse_overwriting(&["scp:a.scp"], &["ark,t:./a.ark"]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Overwrite`].
pub fn refuse_overwriting(inputs: &[&str], outputs: &[&str]) -> Result<(), Error> {
    let is_table = |text: &&str| Rspecifier::parse(text).is_ok() || Wspecifier::parse(text).is_ok();
    if !inputs.iter().chain(outputs).any(is_table) {
        return Ok(());
    }
    let (mut whole, mut listed) = (Vec::new(), Vec::new());
    for output in outputs {
        match Wspecifier::parse(output).map(|specifier| specifier.to) {
            Ok(WriteTo::Archive { archive }) => whole.push(archive),
            Ok(WriteTo::Both { archive, script }) => whole.extend([archive, script]),
            Ok(WriteTo::Script { script }) => listed.extend(files_of_script(&script)),
            Err(_) => whole.push((*output).to_owned()),
        }
    }
    let is_file = |name: &&String| matches!(wxfilename::classify(name), Ok(Wxfilename::File { .. }));
    let whole = ExistingFiles::new(whole.iter().filter(is_file));
    let listed = ExistingFiles::new(listed);
    let refuse = |output: Option<&Path>, input: &str| match output {
        Some(output) => Err(Error::Overwrite { output: output.display().to_string(), input: input.to_owned() }),
        None => Ok(()),
    };
    for input in inputs {
        let specifier = Rspecifier::parse(input).ok();
        let table = specifier.as_ref().map_or(*input, |specifier| specifier.rxfilename.as_str());
        let Some(path) = path_of(table) else { continue };
        refuse(whole.find(&path).or_else(|| listed.find(&path)), table)?;
        if specifier.as_ref().is_some_and(|specifier| specifier.kind == TableKind::Script) && !whole.is_empty() {
            let mut last = PathBuf::new();
            for path in files_of_script(table) {
                // Adjacent lines often point into one archive.
                if path != last {
                    refuse(whole.find(&path), &path.display().to_string())?;
                    last = path;
                }
            }
        }
    }
    Ok(())
}

/// Returns the path of the file that is read, or `None` for a pipe.
fn path_of(rxfilename: &str) -> Option<PathBuf> {
    let name = match rxfilename.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        Some((name, _range)) => name,
        None => rxfilename,
    };
    match rxfilename::classify(name).ok()? {
        Rxfilename::File { path } | Rxfilename::Offset { path, .. } => Some(path.into()),
        // A redirected standard input is a file that has this name too.
        Rxfilename::Stdin => Some("/dev/stdin".into()),
        Rxfilename::Pipe { .. } => None,
    }
}

/// Returns the files that a script file lists. Errors in the file are left to its reader.
fn files_of_script(script: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let regular = match rxfilename::classify(script) {
        Ok(Rxfilename::File { path }) => Path::new(path).is_file(),
        _ => false,
    };
    let lines = if regular { Input::open(script).ok() } else { None };
    let lines = lines.into_iter().flat_map(ScriptLines::new);
    lines.map_while(Result::ok).filter_map(|line| path_of(&line.rxfilename))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with `a.ark`, `a.scp`, which points into it and at `one.mat`, and `one.scp`, which
    /// lists only `one.mat`; `@` is the folder.
    fn refused(inputs: &[&str], outputs: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let at = |text: &str| text.replace('@', folder.path().to_str().unwrap());
        for (name, text) in [
            ("a.ark", "ann 31\n"),
            ("one.mat", "1\n"),
            ("a.scp", "ann @/a.ark:4\nbob @/one.mat\ncid echo 3 |\n"),
            ("one.scp", "bob @/one.mat\n"),
        ] {
            std::fs::write(folder.path().join(name), at(text)).unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path().join("a.ark"), folder.path().join("soft.ark")).unwrap();
            std::fs::hard_link(folder.path().join("a.ark"), folder.path().join("hard.ark")).unwrap();
        }
        let (inputs, outputs): (Vec<_>, Vec<_>) =
            (inputs.iter().map(|text| at(text)).collect(), outputs.iter().map(|text| at(text)).collect());
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        refuse_overwriting(&inputs, &outputs).err().map(|error| error.to_string())
    }

    #[test]
    fn an_output_that_is_an_input_is_refused_by_whatever_name() {
        for (input, output) in [
            ("ark:@/a.ark", "ark:@/a.ark"),
            ("ark,s,cs:@/a.ark", "ark,t:@/./a.ark"),
            ("ark:@/a.ark", "ark,scp:@/x.ark,@/a.ark"),
            ("scp:@/a.scp", "ark,scp:@/x.ark,@/a.scp"),
            ("scp,p:@/a.scp", "ark:@/a.ark"),
            ("scp:@/a.scp", "ark:@/one.mat"),
            ("ark:@/a.ark", "@/a.ark"),
            ("ark:@/one.mat", "scp:@/one.scp"),
            ("scp:@/one.scp", "ark:@/one.scp"),
            ("@/one.mat", "ark:@/one.mat"),
        ] {
            let message = refused(&["10:11", input], &[output]).unwrap_or_else(|| panic!("{input} {output}"));
            assert!(message.contains("would overwrite the input"), "{message}");
        }
        #[cfg(unix)]
        for output in ["ark:@/soft.ark", "ark:@/hard.ark"] {
            assert!(refused(&["scp:@/a.scp"], &[output]).is_some());
        }
    }

    #[test]
    fn other_outputs_are_not_refused() {
        for (input, output) in [
            ("ark:@/a.ark", "ark:@/x.ark"),
            ("scp:@/one.scp", "scp:@/one.scp"),
            ("@/one.mat", "@/one.mat"),
            ("scp:@/one.scp", "ark:@/a.ark"),
            ("ark:cat @/a.ark |", "ark:@/a.ark"),
            ("ark:/dev/null", "ark:/dev/null"),
            ("ark:-", "ark:-"),
            ("scp:@/none", "ark:@/a.ark"),
        ] {
            assert_eq!(refused(&[input], &[output]), None, "{input} {output}");
        }
    }
}
