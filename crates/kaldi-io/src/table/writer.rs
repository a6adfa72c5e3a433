//! Table writer.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::io::Write;
use std::marker::PhantomData;
use std::path::Path;

use crate::error::Error;
use crate::holders::{Holder, is_token};
use crate::rxfilename::Input;
use crate::specifier::{WriteTo, Wspecifier};
use crate::table::script::{ScriptLine, ScriptLines};
use crate::wxfilename::{Output, Wxfilename, classify};

/// Writes keys and objects into an archive, an archive with a script file, or the files of a script
/// file.
///
/// ```
/// use kaldi_io::table::TableWriter;
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// let mut ages = TableWriter::<i32>::open("ark,scp,t:ages.txt,ages.scp")?;
/// ages.write("ann", &31)?;
/// ages.close()?;
/// assert_eq!(std::fs::read_to_string("ages.txt")?, "ann 31 \n");
/// assert_eq!(std::fs::read_to_string("ages.scp")?, "ann ages.txt:4\n");
///
/// // A whole map, to a path.
/// let ages = std::collections::HashMap::from([("bob", 27)]);
/// let mut writer = TableWriter::<i32>::to_archive("ages.ark")?;
/// writer.write_all(&ages)?;
/// writer.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TableWriter<T> {
    target: Target,
    binary: bool,
    flush: bool,
    // `true` forever after a failed write.
    failed: bool,
    holder: PhantomData<fn(&T)>,
}

#[derive(Debug)]
enum Target {
    Archive { archive: Output, script: Option<Output> },
    Files { script: String, files: HashMap<String, ScriptLine>, permissive: bool },
}

impl<T: Holder> TableWriter<T> {
    /// Creates the file or files. For `scp:` it reads the script file instead.
    ///
    /// # Errors
    /// [`Error::InvalidWspecifier`], also for `ark,scp` with an archive that is not a file, as
    /// offsets into a pipe are useless; the errors of creating the files.
    pub fn open(wspecifier: &str) -> Result<Self, Error> {
        let specifier = Wspecifier::parse(wspecifier)?;
        let target = match specifier.to {
            WriteTo::Archive { archive } => Target::Archive { archive: Output::create(&archive)?, script: None },
            WriteTo::Both { archive, script } => {
                if !matches!(classify(&archive)?, Wxfilename::File { .. }) {
                    return Err(Error::InvalidWspecifier {
                        text: wspecifier.to_owned(),
                        hint: "a script file can only point into an archive that is a file; write 'ark:' alone, or to a file".to_owned(),
                    });
                }
                Target::Archive { archive: Output::create(&archive)?, script: Some(Output::create(&script)?) }
            }
            WriteTo::Script { script } => {
                let lines = ScriptLines::new(Input::open(&script)?);
                let lines = lines.map(|line| line.map(|line| (line.key.clone(), line)));
                Target::Files { files: lines.collect::<Result<_, _>>()?, script, permissive: specifier.permissive }
            }
        };
        Ok(TableWriter { target, binary: specifier.binary, flush: specifier.flush, failed: false, holder: PhantomData })
    }

    /// Creates an archive in a file, binary, like `ark:`.
    ///
    /// # Errors
    /// [`Error::Create`].
    pub fn to_archive(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::to_output(Output::create_path(path)?))
    }

    /// Creates an archive in a file, and a script file that points into it, like `ark,scp:`. A
    /// script file is text, so the archive's path must be text too. A relative path stays relative
    /// to the present working directory.
    ///
    /// # Errors
    /// [`Error::Create`]; [`Error::InvalidWxfilename`] for an archive whose name is not possible in
    /// a script file.
    pub fn to_archive_and_script(archive: impl AsRef<Path>, script: impl AsRef<Path>) -> Result<Self, Error> {
        let name = archive.as_ref().to_str().filter(|name| matches!(classify(name), Ok(Wxfilename::File { .. })));
        if name.is_none() {
            let hint = "a line of a script file cannot name it";
            return Err(Error::InvalidWxfilename { name: archive.as_ref().display().to_string(), hint });
        }
        let mut writer = Self::to_archive(archive)?;
        if let Target::Archive { script: target, .. } = &mut writer.target {
            *target = Some(Output::create_path(script)?);
        }
        Ok(writer)
    }

    /// Writes a binary archive to any output.
    pub fn to_output(output: Output) -> Self {
        let target = Target::Archive { archive: output, script: None };
        TableWriter { target, binary: true, flush: true, failed: false, holder: PhantomData }
    }

    /// Writes text, like the option `t`.
    #[must_use]
    pub fn text(mut self) -> Self {
        self.binary = false;
        self
    }

    /// Flushes only when the buffer is full, like the option `nf`, not after each object.
    #[must_use]
    pub fn unflushed(mut self) -> Self {
        self.flush = false;
        self
    }

    /// Writes all objects with their keys, for example a map.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write); stops at the first.
    pub fn write_all<K: AsRef<str>, O: Borrow<T>>(
        &mut self,
        objects: impl IntoIterator<Item = (K, O)>,
    ) -> Result<(), Error> {
        objects.into_iter().try_for_each(|(key, object)| self.write(key.as_ref(), object.borrow()))
    }

    /// Writes one object.
    ///
    /// # Errors
    /// [`Error::InvalidKey`]; [`Error::Write`] or [`Error::BrokenPipe`] for the output;
    /// [`Error::Unwritable`] for objects that have no such form; for `scp:` without `p`,
    /// [`Error::MissingKey`].
    #[doc(alias = "Write")]
    pub fn write(&mut self, key: &str, object: &T) -> Result<(), Error> {
        if !is_token(key) {
            return Err(Error::InvalidKey { key: key.to_owned() });
        }
        let written = match &mut self.target {
            Target::Archive { archive, script } => {
                write_entry(archive, script.as_mut(), key, object, self.binary, self.flush)
            }
            Target::Files { script, files, permissive } => match files.get(key) {
                Some(line) => write_file(line, object, self.binary),
                None if *permissive => Ok(()),
                None => Err(Error::MissingKey { name: script.clone(), key: key.to_owned() }),
            },
        };
        self.failed |= written.is_err();
        written
    }

    /// Flushes the buffers, and waits for a command at the other end.
    ///
    /// # Errors
    /// [`Error::Write`] or [`Error::BrokenPipe`]; also if an earlier write has failed.
    #[doc(alias = "Close")]
    pub fn close(self) -> Result<(), Error> {
        let Target::Archive { archive, script } = self.target else {
            return Ok(());
        };
        let name = archive.name().to_owned();
        archive.close()?;
        if let Some(script) = script {
            script.close()?;
        }
        if self.failed {
            return Err(Error::write(&name, std::io::Error::other("an earlier object could not be written")));
        }
        Ok(())
    }
}

/// Appends an entry to an archive. The line that points to it is written before the object, which
/// helps to find the cause of an error.
fn write_entry<T: Holder>(
    archive: &mut Output,
    script: Option<&mut Output>,
    key: &str,
    object: &T,
    binary: bool,
    flush: bool,
) -> Result<(), Error> {
    archive.put(format!("{key} ").as_bytes())?;
    if let Some(script) = script {
        script.put(format!("{key} {}:{}\n", archive.name(), archive.position()).as_bytes())?;
        if flush {
            script.flush().map_err(|error| script.write_error(error))?;
        }
    }
    put_object(archive, key, object, binary)?;
    if flush { archive.flush().map_err(|error| archive.write_error(error)) } else { Ok(()) }
}

/// Writes an object into a file of its own.
fn write_file<T: Holder>(line: &ScriptLine, object: &T, binary: bool) -> Result<(), Error> {
    let mut output = Output::create(&line.rxfilename)?;
    put_object(&mut output, &line.key, object, binary)?;
    output.close()
}

fn put_object<T: Holder>(output: &mut Output, key: &str, object: &T, binary: bool) -> Result<(), Error> {
    object.write(output, binary).map_err(|error| match error {
        Error::Stream { source } => output.write_error(source),
        other => other.in_table(output.name().to_owned(), key, ""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wave::WaveData;
    use kaldi_matrix::Matrix;
    use std::fs;

    fn folder() -> (tempfile::TempDir, impl Fn(&str) -> String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        (folder, move |name: &str| path.join(name).to_str().unwrap().to_owned())
    }

    fn write(wspecifier: &str) {
        let mut writer = TableWriter::open(wspecifier).unwrap();
        writer.write("a", &1i32).unwrap();
        writer.write("bb", &2).unwrap();
        writer.close().unwrap();
    }

    #[test]
    fn archives_in_both_forms() {
        let (_folder, path) = folder();
        let archive = path("ark");
        write(&format!("ark:{archive}"));
        assert_eq!(fs::read(&archive).unwrap(), b"a \0B\x04\x01\0\0\0bb \0B\x04\x02\0\0\0");
        for wspecifier in [format!("ark,t:{archive}"), format!("ark,t,nf:|cat > {archive}")] {
            write(&wspecifier);
            assert_eq!(fs::read(&archive).unwrap(), b"a 1 \nbb 2 \n");
        }
    }

    #[test]
    fn script_lines_point_behind_the_keys() {
        let (_folder, path) = folder();
        let (archive, script) = (path("ark"), path("scp"));
        write(&format!("ark,scp:{archive},{script}"));
        assert_eq!(fs::read_to_string(&script).unwrap(), format!("a {archive}:2\nbb {archive}:12\n"));
        write(&format!("ark,t,scp:{archive},{script}"));
        assert_eq!(fs::read_to_string(&script).unwrap(), format!("a {archive}:2\nbb {archive}:8\n"));
    }

    #[test]
    fn a_script_needs_an_archive_that_is_a_file() {
        for wspecifier in ["ark,scp:-,/no/scp", "ark,scp:|cat,/no/scp"] {
            let error = TableWriter::<i32>::open(wspecifier).unwrap_err();
            assert!(error.to_string().contains("archive that is a file"), "{error}");
        }
    }

    #[test]
    fn a_script_that_names_the_files() {
        let (_folder, path) = folder();
        let script = path("scp");
        fs::write(&script, format!("a {}\nbb {}\n", path("1"), path("2"))).unwrap();
        write(&format!("scp,t:{script}"));
        assert_eq!(fs::read_to_string(path("2")).unwrap(), "2 \n");
        let mut writer = TableWriter::open(&format!("scp:{script}")).unwrap();
        assert!(matches!(writer.write("c", &3i32), Err(Error::MissingKey { .. })));
        let mut writer = TableWriter::open(&format!("scp,p:{script}")).unwrap();
        writer.write("c", &3i32).unwrap();
    }

    #[test]
    fn each_object_is_in_the_file_at_once_unless_told_otherwise() {
        let (_folder, path) = folder();
        let archive = path("ark");
        for (options, expected) in [("ark", 10), ("ark,nf", 0)] {
            let mut writer = TableWriter::open(&format!("{options}:{archive}")).unwrap();
            writer.write("a", &true).unwrap();
            writer.write("b", &true).unwrap();
            // Two keys with a space and two values of three bytes make ten.
            assert_eq!(fs::read(&archive).unwrap().len(), expected);
        }
    }

    #[test]
    fn keys_are_words() {
        let (_folder, path) = folder();
        let mut writer = TableWriter::open(&format!("ark:{}", path("ark"))).unwrap();
        for key in ["", "a b", "a\n", "\0"] {
            assert!(matches!(writer.write(key, &1i32), Err(Error::InvalidKey { .. })), "{key:?}");
        }
    }

    #[test]
    fn failures_name_the_output() {
        let (_folder, path) = folder();
        let archive = path("ark");
        let mut writer = TableWriter::open(&format!("ark,t:{archive}")).unwrap();
        let wave = WaveData { samp_freq: 8000.0, num_channels: 1, samples: vec![1] };
        let message = writer.write("a", &wave).unwrap_err().to_string();
        assert!(message.contains(&archive) && message.contains("key 'a'") && message.contains("as text"), "{message}");
        assert!(writer.close().is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_and_a_broken_pipe() {
        let matrix = Matrix::<f32>::zeros(100, 100);
        let mut writer = TableWriter::open("ark:/dev/full").unwrap();
        let message = writer.write("a", &matrix).unwrap_err().to_string();
        assert!(message.contains("'/dev/full'") && message.contains("free some space"), "{message}");
        let mut writer = TableWriter::open("ark:|exec 0<&-").unwrap();
        let written = (0..100).try_for_each(|_| writer.write("a", &matrix));
        assert!(written.unwrap_err().is_broken_pipe());
    }
}
