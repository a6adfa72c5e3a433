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

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
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
/// files have is passed over; `txt` and `json` next to a recording of the same name have its text.
pub(super) fn add(path: &Path, inputs: &mut Inputs) -> Result<(), Error> {
    // The files of one name follow each other, in any order.
    let (mut stem, mut text, mut audio) = (PathBuf::new(), None, None);
    for_each_member(path, inputs, |member, reader, inputs| {
        if stem_of(&member.name) != stem {
            (stem, text, audio) = (stem_of(&member.name), None, None);
        }
        if is_audio(&member.name) {
            let mut utterance = Utterance::new(key_of_member(&member.name), member.into_source(path));
            utterance.text.clone_from(&text);
            audio = Some(inputs.utterances.len());
            inputs.utterances.push(utterance);
        } else if member.len <= MOST_TEXT {
            let mut bytes = vec![];
            reader.read_to_end(&mut bytes)?;
            text = text_of(&member.name, &bytes).or(text.take());
            if let Some(at) = audio {
                inputs.utterances[at].text.clone_from(&text);
            }
        }
        Ok(())
    })
}

/// Gives the entries of NeMo's tarred manifests, which have a `shard_id`, the members that they
/// name in the archives among `paths`. Other members of these archives are left out, as in NeMo.
pub(super) fn join_entries(paths: &[PathBuf], inputs: &mut Inputs) {
    let mut members = HashMap::new();
    for Utterance { source, .. } in &inputs.utterances {
        if let Source::Member { archive, name, .. } = source
            && let Some(shard) = shard_of(archive).filter(|_| paths.contains(archive))
        {
            members.insert((shard, name.clone()), source.clone());
        }
    }
    if members.is_empty() {
        return;
    }
    let (mut shards, mut named, mut errors) = (HashSet::new(), HashSet::new(), vec![]);
    inputs.utterances.retain_mut(|utterance| {
        let entry = utterance.nemo.as_ref().and_then(|entry| serde_json::from_str::<Value>(entry).ok());
        let entry = entry.unwrap_or_default();
        let (Some(shard), Some(name)) = (entry["shard_id"].as_u64(), entry["audio_filepath"].as_str()) else {
            return true;
        };
        let member = |name: String| members.get_key_value(&(shard, name));
        let found = member(name.to_owned()).or_else(|| member(without_part(name)?));
        match found {
            Some((own, source)) => {
                shards.insert(shard);
                named.insert(own);
                utterance.source = source.clone();
            }
            None => {
                let message =
                    format!("no archive of shard {shard}, such as audio_{shard}.tar, among the inputs has it");
                let source = io::Error::new(io::ErrorKind::NotFound, message);
                errors.push(Error::Read { path: name.into(), source });
            }
        }
        found.is_some()
    });
    errors.into_iter().for_each(|error| inputs.reject(error));
    let mut left_out = 0;
    inputs.utterances.retain(|Utterance { source, nemo, .. }| {
        let Source::Member { archive, name, .. } = source else { return true };
        let Some(shard) = shard_of(archive).filter(|shard| nemo.is_none() && shards.contains(shard)) else {
            return true;
        };
        left_out += usize::from(!named.contains(&(shard, name.clone())));
        false
    });
    if left_out > 0 {
        tracing::warn!("recordings in archives that no entry of the manifests names, which are left out: {left_out}");
    }
}

/// The number of a shard in the name of its archive, `audio_3.tar`.
fn shard_of(archive: &Path) -> Option<u64> {
    archive.file_name()?.to_str()?.split(['_', '.']).rev().find_map(|part| part.parse().ok())
}

/// The name of the recording `a.wav` that has the part `a-sub2.wav`.
fn without_part(name: &str) -> Option<String> {
    let (stem, part) = name.rsplit_once("-sub")?;
    let ending = part.trim_start_matches(|c: char| c.is_ascii_digit());
    Some(format!("{stem}{ending}"))
}

/// Returns `true` for a folder in lhotse's Shar format.
pub(super) fn is_shar(folder: &Path) -> bool {
    !shards(folder).unwrap_or_default().is_empty()
}

/// Returns the lists and archives of a folder of Shar; none of another folder.
pub(crate) fn files_of_shar(folder: &Path) -> Vec<PathBuf> {
    shards(folder).unwrap_or_default().into_iter().flat_map(|(cuts, recordings)| [cuts, recordings]).flatten().collect()
}

/// Lists the cuts of a folder of Shar, shard by shard.
pub(super) fn add_shar(folder: &Path, inputs: &mut Inputs) -> Result<(), Error> {
    for shard in shards(folder).map_err(|source| Error::Read { path: folder.to_owned(), source })? {
        let (cuts, recordings) = match shard {
            (Some(cuts), Some(recordings)) => (cuts, recordings),
            (Some(path), None) | (None, Some(path)) => {
                let source = io::Error::new(io::ErrorKind::NotFound, "the other file of its shard is missing");
                inputs.reject(Error::Read { path, source });
                continue;
            }
            (None, None) => continue,
        };
        let mut members = HashMap::new();
        for_each_member(&recordings, inputs, |member, _, _| {
            if is_audio(&member.name) {
                members.insert(stem_of(&member.name), member);
            }
            Ok(())
        })?;
        manifest::for_each_entry(&cuts, inputs, &mut |cut, _| {
            let member = cut["id"].as_str().and_then(|id| members.remove(Path::new(id)));
            let member = member.ok_or("its shard has no recording of this name")?;
            manifest::cut(cut, Some(member.into_source(&recordings)))
        })?;
        if !members.is_empty() {
            let message = format!("{} recordings of it belong to no cut of its shard", members.len());
            let source = io::Error::new(io::ErrorKind::InvalidData, message);
            inputs.reject(Error::Read { path: recordings, source });
        }
    }
    Ok(())
}

/// A list of cuts and an archive of recordings.
type Shard = (Option<PathBuf>, Option<PathBuf>);

/// The shards of a folder of Shar, in the order of their numbers; none unless one is whole.
fn shards(folder: &Path) -> io::Result<Vec<Shard>> {
    let mut shards: BTreeMap<String, Shard> = BTreeMap::new();
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
    let is_whole = |shard: &Shard| shard.0.is_some() && shard.1.is_some();
    Ok(if shards.values().any(is_whole) { shards.into_values().collect() } else { vec![] })
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
    let mut end = 0;
    for entry in archive.entries_with_seek().map_err(unreadable)? {
        let taken = entry.and_then(|mut entry| {
            let member =
                Member { name: entry.path()?.into_owned(), offset: entry.raw_file_position(), len: entry.size() };
            let refuse = |kind, message: String| Err(io::Error::new(kind, message));
            let name = member.name.display();
            let kind = entry.header().entry_type();
            if kind.is_dir() {
                end = member.offset;
                return Ok(());
            }
            if member.offset.checked_add(member.len).is_none_or(|end| end > size) {
                return refuse(
                    io::ErrorKind::UnexpectedEof,
                    format!("truncated: it ends within {name}; copy it again"),
                );
            }
            end = member.offset + member.len.next_multiple_of(BLOCK);
            if !kind.is_file() {
                return match is_audio(&member.name) {
                    true => refuse(
                        io::ErrorKind::Unsupported,
                        format!("{name} is a link or a sparse file, which is not read"),
                    ),
                    false => Ok(()),
                };
            }
            take(member, &mut entry, inputs)
        });
        match taken {
            Ok(()) => {}
            Err(source) if source.kind() == io::ErrorKind::Unsupported => inputs.reject(unreadable(source)),
            Err(source) => {
                inputs.reject(unreadable(source));
                return Ok(());
            }
        }
    }
    check_end(path, end).unwrap_or_else(|source| inputs.reject(unreadable(source)));
    Ok(())
}

/// Bytes of a block, of which headers and contents are whole ones.
const BLOCK: u64 = 512;

/// Checks that an archive ends with a block of zeros, and that nothing follows.
fn check_end(path: &Path, end: u64) -> io::Result<()> {
    let mut file = BufReader::new(File::open(path)?);
    file.seek(SeekFrom::Start(end))?;
    let mut zeros = 0;
    loop {
        let bytes = file.fill_buf()?;
        if bytes.iter().any(|&byte| byte != 0) {
            let message = "more follows its end, as of archives that were joined: give each as a file";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        match bytes.len() {
            0 if zeros < BLOCK => {
                let message = "truncated: it has no end; copy it again";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
            0 => return Ok(()),
            len => {
                zeros += len as u64;
                file.consume(len);
            }
        }
    }
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
            ("a two.json", br#"{"text": "c", "speaker": 1}"#),
            ("a two.flac", b"22"),
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
    fn entries_of_a_tarred_manifest_have_their_members() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        archive(&at("audio_0.tar"), &[("a.wav", b"1"), ("more.wav", b"2")]);
        archive(&at("audio_1.tar"), &[("a.wav", b"33"), ("b.wav", b"4")]);
        archive(&at("other_2.tar"), &[("c.wav", b"5")]);
        let entry = |name: &str, shard: usize, more: &str| {
            format!(r#"{{"audio_filepath": "{name}", "shard_id": {shard}, "text": "x"{more}}}"#)
        };
        let entries = [
            entry("b.wav", 1, ""),
            entry("a.wav", 0, r#", "offset": 0, "duration": 1"#),
            entry("a-sub1.wav", 1, r#", "offset": 1, "duration": 1"#),
            entry("b.wav", 0, ""),
            r#"{"audio_filepath": "d.wav"}"#.to_owned(),
        ];
        fs::write(at("tarred_audio_manifest.json"), entries.join("\n")).unwrap();
        let names = ["audio_0.tar", "tarred_audio_manifest.json", "audio_1.tar", "other_2.tar"];
        let inputs = Inputs::from_paths(names.map(at)).unwrap();
        let found = inputs.utterances().iter().map(|one| match &one.source {
            Source::Member { len, .. } => (&*one.key, *len, one.nemo.is_some()),
            _ => (&*one.key, 0, one.nemo.is_some()),
        });
        let expected = [
            ("b", 1, true),
            ("a-0000000-0001000", 1, true),
            ("a-sub1-0001000-0002000", 2, true),
            ("d", 0, true),
            ("c", 1, false),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let errors: Vec<_> = inputs.rejected().iter().map(ToString::to_string).collect();
        assert!(errors.len() == 1 && errors[0].contains("b.wav") && errors[0].contains("shard 0"), "{errors:?}");
    }

    #[test]
    fn what_is_before_the_damage_is_listed_and_the_damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tar");
        let samples = [7; 1000];
        archive(&path, &[("a.wav", &samples), ("b.wav", &samples), ("c.wav", &samples)]);
        let bytes = fs::read(&path).unwrap();
        // Headers are blocks of 512 bytes, contents whole blocks.
        // The last one ends where a header should be.
        for (end, count) in [(3 * 1536 - 600, 2), (1536 + 100, 1), (1536 + 600, 1), (2 * 1536, 2)] {
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
        // Archives that were joined.
        fs::write(&path, [&bytes[..], &bytes].concat()).unwrap();
        let (found, rejected) = listed(&path);
        assert_eq!((found.len(), rejected.len()), (3, 1), "{rejected:?}");
        assert!(rejected[0].contains("more follows its end"), "{rejected:?}");
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
        let expected =
            ["jsonl:1: its shard has no", "jsonl:2: its shard has no", "1 recordings of it belong to no cut"];
        assert!(rejected.len() == 3 && rejected.iter().zip(expected).all(|(error, text)| error.contains(text)));
        fs::remove_file(at("recording.000001.tar")).unwrap();
        let (_, rejected) = listed(folder.path());
        assert!(rejected.len() == 1 && rejected[0].contains("cuts.000001.jsonl"), "{rejected:?}");
    }
}
