//! The files of an export.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::CliError;
use super::files::{failed, file_name, folder_of};
use crate::log::say;

/// Marks in the names of files with weights of another precision than in training.
const QUANTISED: [&str; 6] = ["int8", "int4", "fp16", "quant", "bnb4", "q4"];

/// Files of features that onnx-asr puts next to a network.
const PREPROCESSORS: [&str; 2] = ["nemo80.onnx", "nemo128.onnx"];

/// Maximum size of a file in JSON, in bytes.
const MAX_JSON: u64 = 1 << 24;

/// The files of an export.
pub(super) struct Export {
    /// A network trained with CTC, or the encoder of a transducer.
    pub(super) network: PathBuf,
    /// The other parts of a transducer.
    pub(super) parts: Option<Parts>,
    /// The list of tokens.
    pub(super) tokens: PathBuf,
}

/// The predictor and the joiner of a transducer.
pub(super) enum Parts {
    Two([PathBuf; 2]),
    /// NeMo's `decoder_joint`.
    Fused(PathBuf),
}

impl Parts {
    /// Returns the files: the predictor, and the joiner if it has its own.
    pub(super) fn files(&self) -> &[PathBuf] {
        match self {
            Self::Two(files) => files,
            Self::Fused(file) => std::slice::from_ref(file),
        }
    }
}

/// A part of a transducer, by the words of its file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Encoder,
    Decoder,
    Joiner,
    DecoderJoint,
}

impl Part {
    fn from_name(name: &str) -> Option<Self> {
        let has = |word: &str| name.split(|c: char| !c.is_ascii_alphabetic()).any(|own| own == word);
        match (has("encoder"), has("decoder"), has("joiner") || has("joint")) {
            (_, true, true) => Some(Self::DecoderJoint),
            (true, ..) => Some(Self::Encoder),
            (_, true, _) => Some(Self::Decoder),
            (.., true) => Some(Self::Joiner),
            _ => None,
        }
    }

    /// Names that the part has in place of `encoder`.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Encoder => &["encoder"],
            Self::Decoder => &["decoder"],
            Self::Joiner => &["joiner", "joint"],
            Self::DecoderJoint => &["decoder_joint"],
        }
    }
}

impl Export {
    /// Finds the files: in a folder, or belonging to this file. `tokens` is empty unless given.
    pub(super) fn find(source: &Path, tokens: &str) -> Result<Self, CliError> {
        let is_folder = fs::metadata(source).map_err(|error| failed(source, &error))?.is_dir();
        let named = if is_folder { None } else { Some(file_name(source)?) };
        let folder = if is_folder { &*networks_of(source)? } else { folder_of(source) };
        let names = names_of(folder, "onnx")?;
        let (network, parts) = match named {
            Some(name) if Part::from_name(&name).is_none() => (source.to_owned(), None),
            Some(name) if Part::from_name(&name) != Some(Part::Encoder) => {
                return Err(failed(source, &"a part of a transducer: name its encoder, or the folder"));
            }
            None if names.iter().all(|name| Part::from_name(name).is_none()) => {
                (folder.join(only_network(source, &names)?), None)
            }
            named => {
                let one =
                    |part, like: Option<&str>| part_of(&names, part, like).map_err(|reason| failed(folder, &reason));
                let encoder = named.map_or_else(|| one(Part::Encoder, None), Ok)?;
                let has = |part| names.iter().any(|name| Part::from_name(name) == Some(part));
                let parts = if has(Part::DecoderJoint) && !has(Part::Joiner) {
                    Parts::Fused(folder.join(one(Part::DecoderJoint, Some(&encoder))?))
                } else {
                    let [decoder, joiner] = [one(Part::Decoder, Some(&encoder))?, one(Part::Joiner, Some(&encoder))?];
                    Parts::Two([folder.join(decoder), folder.join(joiner)])
                };
                (folder.join(encoder), Some(parts))
            }
        };
        let tokens = if tokens.is_empty() { tokens_beside(&network)? } else { tokens.into() };
        Ok(Self { network, parts, tokens })
    }

    /// Returns the files of networks.
    pub(super) fn networks(&self) -> Vec<&Path> {
        let parts = self.parts.as_ref().map_or(&[][..], Parts::files);
        std::iter::once(&self.network).chain(parts).map(PathBuf::as_path).collect()
    }

    /// Reads a file in JSON of the folder of the network, or of the folder around it; `None` if it
    /// is missing.
    pub(super) fn json(&self, name: &str) -> Result<Option<Value>, CliError> {
        for folder in folders_of(&self.network) {
            let path = folder.join(name);
            match fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(&path, &error)),
                Ok(_) => return read_json(&path).map(Some),
            }
        }
        Ok(None)
    }
}

/// Reads a file in JSON.
pub(super) fn read_json(path: &Path) -> Result<Value, CliError> {
    let mut text = vec![];
    let read = fs::File::open(path).and_then(|file| file.take(MAX_JSON + 1).read_to_end(&mut text));
    match read.map_err(|error| failed(path, &error))? as u64 {
        0..=MAX_JSON => serde_json::from_slice(&text).map_err(|error| failed(path, &error)),
        _ => Err(failed(path, &format!("it has more than {MAX_JSON} bytes"))),
    }
}

/// Names of the folder with the networks in the folder of a model: Vosk's, Hugging Face's.
const INNER: [&str; 3] = ["am-onnx", "am", "onnx"];

/// Returns the folders with the files of a network: its own, and the folder around it if its own
/// has only networks.
fn folders_of(network: &Path) -> Vec<&Path> {
    let own = folder_of(network);
    let around = own.parent().filter(|_| own.file_name().is_some_and(|name| INNER.iter().any(|inner| name == *inner)));
    std::iter::once(own)
        .chain(around.map(|around| if around == Path::new("") { Path::new(".") } else { around }))
        .collect()
}

/// Returns the folder with the networks.
fn networks_of(source: &Path) -> Result<PathBuf, CliError> {
    if !names_of(source, "onnx")?.is_empty() {
        return Ok(source.to_owned());
    }
    let inner = INNER.map(|name| source.join(name)).into_iter().find(|folder| folder.is_dir());
    Ok(inner.unwrap_or_else(|| source.to_owned()))
}

/// Returns the sorted names of the files with an ending.
fn names_of(folder: &Path, ending: &str) -> Result<Vec<String>, CliError> {
    let mut names = vec![];
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let path = entry.map_err(|error| failed(folder, &error))?.path();
        if path.extension().is_some_and(|own| own == ending) {
            names.push(file_name(&path)?);
        }
    }
    names.retain(|name| !PREPROCESSORS.contains(&name.as_str()));
    names.sort();
    Ok(names)
}

/// Returns the list of tokens that belongs to a network.
fn tokens_beside(network: &Path) -> Result<PathBuf, CliError> {
    let known = ["tokens.txt", "vocab.txt", "units.txt", "vocab.json", "tokens.json", "lang/tokens.txt"];
    let folders = folders_of(network);
    let mut files = folders.iter().flat_map(|folder| known.map(|name| folder.join(name)));
    if let Some(found) = files.find(|path| path.is_file()) {
        return Ok(found);
    }
    // GigaAM's are `v3_ctc.onnx` and `v3_vocab.txt`, `v3_e2e_ctc.onnx` and `v3_e2e_ctc_vocab.txt`.
    let (folder, name) = (folder_of(network), file_name(network)?);
    let begins = |list: &String| list.strip_suffix("_vocab.txt").is_some_and(|begin| name.starts_with(begin));
    match names_of(folder, "txt")?.into_iter().filter(begins).max_by_key(String::len) {
        Some(list) => Ok(folder.join(list)),
        None => Err(failed(
            folder,
            &format!("there is no list of tokens in it: one of {}; or give --tokens", known.join(", ")),
        )),
    }
}

/// Returns `true` if the name does not mark a quantised file.
fn is_plain(name: &&String) -> bool {
    !QUANTISED.iter().any(|kind| name.contains(kind))
}

/// Returns the only network, or the only one that is not quantised.
fn only_network<'n>(source: &Path, names: &'n [String]) -> Result<&'n String, CliError> {
    let plain: Vec<&String> = names.iter().filter(is_plain).collect();
    match (names, &plain[..]) {
        ([one], _) => Ok(one),
        ([], _) => Err(failed(source, &"there is no .onnx file in it")),
        (_, [one]) => {
            say(format_args!("using this one of {}: {one}", names.join(", ")));
            Ok(one)
        }
        _ => Err(failed(source, &format!("there are {}: name one of them", names.join(", ")))),
    }
}

/// Returns the file of a part of a transducer: the file with the encoder's name but for the part,
/// with or without the precision; otherwise the only file that is not quantised, or the only file.
fn part_of(names: &[String], part: Part, encoder: Option<&str>) -> Result<String, String> {
    let all: Vec<&String> = names.iter().filter(|name| Part::from_name(name) == Some(part)).collect();
    if let Some(encoder) = encoder {
        let plain = QUANTISED.iter().fold(encoder.to_owned(), |name, kind| name.replace(&format!(".{kind}"), ""));
        let wanted = [encoder, &*plain];
        let mut wanted = wanted.iter().flat_map(|like| part.names().iter().map(|name| like.replace("encoder", name)));
        if let Some(found) = wanted.find(|name| all.contains(&name)) {
            return Ok(found);
        }
    }
    let plain: Vec<&String> = all.iter().copied().filter(is_plain).collect();
    match (&plain[..], &all[..]) {
        ([one], _) => Ok((*one).clone()),
        ([], [one]) => Ok((*one).clone()),
        (_, []) => Err(format!(
            "a transducer needs encoder, decoder and joiner, or encoder and decoder_joint, and there is no {}*.onnx \
             next to {}",
            part.names()[0],
            names.join(", ")
        )),
        _ => {
            let all: Vec<&str> = all.iter().map(|name| name.as_str()).collect();
            Err(format!("there are {}: name the encoder, or move the others away", all.join(", ")))
        }
    }
}
