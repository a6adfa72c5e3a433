//! Recordings in tar archives: WebDataset's shards, and lhotse's Shar.
//!
//! ```text
//!   WebDataset   x.tar: a.wav, a.json, b.wav, b.txt ...
//!                files of one key follow each other
//!   Shar         folder: cuts.000000.jsonl.gz, recording.000000.tar, ...
//!                cut i is recording i of its shard
//! ```
//!
//! An archive is not unpacked. Its names are keys and never paths; the samples are read where they
//! are.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::Error;
use crate::pipeline::inputs::{Inputs, Source, Utterance, has_ending, key_of, manifest};

/// The most bytes of a text or of metadata in an archive.
const MOST_TEXT: u64 = 1 << 20;

/// Returns `true` if the name has the extension of an archive.
pub(super) fn is_one(path: &Path) -> bool {
    has_ending(path, &["tar"])
}

/// Lists the recordings of an archive, in its order. A member with another extension than audio
/// files have is passed over; `txt` and `json` with the key of the recording before them have its
/// text.
pub(super) fn add(path: &Path, inputs: &mut Inputs) -> Result<(), Error> {
    let mut stem = None;
    for_each_member(path, inputs, |member, reader, inputs| {
        let is_of_last = stem.as_ref() == Some(&stem_of(&member.name));
        if is_audio(&member.name) {
            stem = Some(stem_of(&member.name));
            inputs.utterances.push(Utterance::new(key_of_member(&member.name), member.into_source(path)));
        } else if let Some(utterance) = inputs.utterances.last_mut().filter(|_| is_of_last && member.len <= MOST_TEXT) {
            let mut bytes = vec![];
            reader.read_to_end(&mut bytes)?;
            utterance.text = text_of(&member.name, &bytes).or(utterance.text.take());
        }
        Ok(())
    })
}

/// Returns `true` for a folder in lhotse's Shar format.
pub(super) fn is_shar(folder: &Path) -> bool {
    !shards(folder).unwrap_or_default().is_empty()
}

/// Lists the cuts of a folder of Shar, shard by shard.
pub(super) fn add_shar(folder: &Path, inputs: &mut Inputs) -> Result<(), Error> {
    for (cuts, recordings) in shards(folder).map_err(|source| Error::Read { path: folder.to_owned(), source })? {
        let mut members = vec![];
        for_each_member(&recordings, inputs, |member, _, _| {
            if is_audio(&member.name) {
                members.push(member);
            }
            Ok(())
        })?;
        let mut members = members.into_iter();
        manifest::for_each_entry(&cuts, inputs, &mut |cut| {
            let member = members.next().ok_or("its shard has fewer recordings than cuts")?;
            let stem = stem_of(&member.name);
            if cut["id"].as_str().is_none_or(|id| Path::new(id) != stem) {
                return Err("the recording at its place in the shard has another name");
            }
            manifest::cut(cut, Some(member.into_source(&recordings)))
        })?;
        if members.next().is_some() {
            let source = io::Error::new(io::ErrorKind::InvalidData, "it has more recordings than its shard has cuts");
            inputs.reject(Error::Read { path: recordings, source });
        }
    }
    Ok(())
}

/// The lists and archives of a folder of Shar, in the order of their numbers.
fn shards(folder: &Path) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let mut shards: BTreeMap<String, (Option<PathBuf>, Option<PathBuf>)> = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let parts: Vec<&str> = name.split('.').collect();
        match parts[..] {
            ["cuts", number, "jsonl"] | ["cuts", number, "jsonl", "gz"] => {
                shards.entry(number.to_owned()).or_default().0 = Some(path.clone());
            }
            ["recording", number, "tar"] => shards.entry(number.to_owned()).or_default().1 = Some(path.clone()),
            _ => {}
        }
    }
    Ok(shards.into_values().filter_map(|(cuts, recordings)| Some((cuts?, recordings?))).collect())
}

/// A file in an archive.
struct Member {
    name: PathBuf,
    /// Place of the first byte in the archive.
    offset: u64,
    len: u64,
}

impl Member {
    fn into_source(self, archive: &Path) -> Source {
        let Self { name, offset, len } = self;
        Source::Member { archive: archive.to_owned(), name: name.to_string_lossy().into_owned(), offset, len }
    }
}

/// Calls `take` with each file of an archive, in order. Damage is rejected, with the members before
/// it taken.
fn for_each_member(
    path: &Path,
    inputs: &mut Inputs,
    mut take: impl FnMut(Member, &mut dyn Read, &mut Inputs) -> io::Result<()>,
) -> Result<(), Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    let mut archive = tar::Archive::new(BufReader::new(file));
    for entry in archive.entries_with_seek().map_err(unreadable)? {
        let taken = entry.and_then(|mut entry| {
            if !entry.header().entry_type().is_file() {
                return Ok(());
            }
            let member =
                Member { name: entry.path()?.into_owned(), offset: entry.raw_file_position(), len: entry.size() };
            if member.offset.checked_add(member.len).is_none_or(|end| end > size) {
                let name = member.name.display();
                let message = format!("truncated: it ends within {name}; copy it again");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
            take(member, &mut entry, inputs)
        });
        if let Err(source) = taken {
            inputs.reject(unreadable(source));
            break;
        }
    }
    Ok(())
}

/// Returns `true` for the names of audio, even of a format that is not read: such a member fails by
/// name.
fn is_audio(name: &Path) -> bool {
    has_ending(name, kaldera_audio::AUDIO_ENDINGS)
}

/// A name without its extension, as WebDataset groups files.
fn stem_of(name: &Path) -> PathBuf {
    name.with_extension("")
}

/// The key of a member: its path, without parts such as `..`.
fn key_of_member(name: &Path) -> String {
    let parts = name.components().filter(|part| matches!(part, Component::Normal(_)));
    key_of(&parts.collect::<PathBuf>())
}

/// The text of a `txt`, or of the key `text` of a `json`.
fn text_of(name: &Path, bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    if has_ending(name, &["txt"]) {
        return Some(text.trim().to_owned());
    }
    has_ending(name, &["json"])
        .then(|| serde_json::from_str::<Value>(text).ok()?["text"].as_str().map(str::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(path: &Path, members: &[(&str, &[u8])]) {
        let mut builder = tar::Builder::new(File::create(path).unwrap());
        for &(name, bytes) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            // Not by `append_data`, which refuses the names of attackers.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder.append(&header, bytes).unwrap();
        }
        builder.finish().unwrap();
    }

    fn listed(path: &Path) -> (Vec<(String, Option<String>)>, Vec<String>) {
        let inputs = Inputs::from_paths([path]).unwrap();
        let found = inputs.utterances().iter().map(|one| (one.key.clone(), one.text.clone())).collect();
        (found, inputs.rejected().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn shards_are_listed_in_their_order_with_texts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tar");
        let members = [
            ("b/one.wav", &b"1"[..]),
            ("b/one.txt", b"a b\n"),
            ("b/one.cls", b"7"),
            ("a two.flac", b"22"),
            ("a two.json", br#"{"text": "c", "speaker": 1}"#),
            ("../../etc/three.wav", b"333"),
            ("other.txt", b"of none"),
        ];
        archive(&path, &members);
        let text = |text: &str| Some(text.to_owned());
        let expected = [("b-one", text("a b")), ("a_two", text("c")), ("etc-three", None)];
        let (found, rejected) = listed(&path);
        assert_eq!(found, expected.map(|(key, text)| (key.to_owned(), text)));
        assert!(rejected.is_empty(), "{rejected:?}");
        let inputs = Inputs::from_paths([&path]).unwrap();
        let Source::Member { offset, len, .. } = &inputs.utterances()[2].source else { panic!() };
        let bytes = fs::read(&path).unwrap();
        assert_eq!(&bytes[usize::try_from(*offset).unwrap()..][..usize::try_from(*len).unwrap()], b"333");
    }

    #[test]
    fn what_is_before_the_damage_is_listed_and_the_damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tar");
        let samples = [7; 1000];
        archive(&path, &[("a.wav", &samples), ("b.wav", &samples), ("c.wav", &samples)]);
        let bytes = fs::read(&path).unwrap();
        // Headers are blocks of 512 bytes, contents whole blocks.
        for (end, count) in [(3 * 1536 - 600, 2), (1536 + 100, 1), (1536 + 600, 1)] {
            fs::write(&path, &bytes[..end]).unwrap();
            let (found, rejected) = listed(&path);
            assert_eq!((found.len(), rejected.len()), (count, 1), "{end} {rejected:?}");
            assert!(rejected[0].contains("x.tar"), "{rejected:?}");
        }
        let mut spoilt = bytes.clone();
        spoilt[1536] ^= 1;
        fs::write(&path, &spoilt).unwrap();
        let (found, rejected) = listed(&path);
        assert_eq!((found.len(), rejected.len()), (1, 1), "{rejected:?}");
        fs::write(&path, [0; 1024]).unwrap();
        assert!(matches!(Inputs::from_paths([&path]), Err(Error::EmptyInput { .. })));
    }

    #[test]
    fn a_folder_of_shar_has_the_cuts_of_its_shards() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let cut = |id: &str| {
            format!(
                r#"{{"id": "{id}", "start": 0, "duration": 1.5, "channel": 0, "supervisions": [{{"id": "s", "text": "x {id}"}}], "recording": {{"id": "{id}", "sources": [{{"type": "shar", "source": ""}}]}}}}"#
            )
        };
        fs::write(at("cuts.000001.jsonl"), [cut("c"), cut("d")].join("\n")).unwrap();
        fs::write(at("cuts.000000.jsonl"), [cut("a"), cut("b")].join("\n")).unwrap();
        archive(
            &at("recording.000000.tar"),
            &[("a.flac", b"1"), ("a.json", b"{}"), ("b.flac", b"2"), ("b.json", b"{}")],
        );
        archive(&at("recording.000001.tar"), &[("x.flac", b"3")]);
        let (found, rejected) = listed(folder.path());
        let keys: Vec<_> = found.iter().map(|(key, text)| (key.as_str(), text.as_deref().unwrap())).collect();
        assert_eq!(keys, [("a", "x a"), ("b", "x b")]);
        assert!(rejected[0].contains("jsonl:1: the recording at its place") && rejected[1].contains("fewer"));
        assert_eq!(rejected.len(), 2);
    }
}
