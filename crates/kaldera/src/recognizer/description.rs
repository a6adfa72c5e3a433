//! `model.toml`, and the files that it names.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, BufRead, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldera_decoder::align::Topology;
use kaldera_decoder::{FrameTimes, Vocabulary, WordUnits};
use kaldera_network::{LayerOptions, LayerStack, Merge, Network, ParameterStore, Predictor, StatelessPredictor};
use serde::Deserialize;
use toml::Table;

use crate::Error;
use crate::pipeline::inputs::beginning;
use crate::recognizer::confinement::{self, Bounds};
use crate::recognizer::decoding::{DecodingOptions, TABLES, beside};
use crate::recognizer::front_end::ModelFrontEnd;
use crate::similar::did_you_mean;
use crate::text;

/// Name of the description.
const FILE: &str = "model.toml";

/// Key of the file of outputs that are merged.
const OUTPUTS: &str = "network.outputs";

/// Maximum size of a description, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Seconds of silence after an utterance for a network with states, as in icefall's
/// `onnx_pretrained-streaming.py`.
#[cfg(feature = "onnx")]
const TAIL_SECONDS: f64 = 0.3;

#[cfg(not(feature = "onnx"))]
const NO_ONNX: &str = "this build reads no ONNX files: build with the feature `onnx`, as in \
                       'cargo install --path crates/kaldera-cli --features onnx'";

/// Description of a model.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Description {
    pub(super) kind: ModelKind,
    pub(super) tokens: PathBuf,
    #[serde(default)]
    pub(super) blank: usize,
    pub(super) unk: Option<usize>,
    #[serde(default)]
    pub(super) words: Words,
    pub(super) separator: Option<String>,
    #[serde(default)]
    pub(super) hide_tags: bool,
    pub(super) frame_shift: Option<f64>,
    pub(super) subsampling: Option<usize>,
    pub(super) features: Option<Table>,
    #[serde(default)]
    pub(super) network: NetworkFile,
    pub(super) graph: Option<PathBuf>,
    pub(super) graph_words: Option<PathBuf>,
    pub(super) lexicon: Option<PathBuf>,
    pub(super) language_model: Option<PathBuf>,
    #[serde(default)]
    pub(super) decoding: DecodingOptions,
}

/// Kind of a network's training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ModelKind {
    Ctc,
    /// Each token is a state with a loop; no frame is a blank.
    Hmm,
    /// An encoder, a predictor and a joiner.
    Transducer,
}

/// Relation of tokens and words.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Words {
    /// Each token is a word.
    #[default]
    Tokens,
    /// Tokens between separators.
    Separator,
    /// Pieces; the first piece of a word begins with `▁`.
    Marker,
    /// Pieces; all pieces of a word except the first begin with `##`.
    Continuation,
    /// Pieces; a word goes on after a piece that ends in `@@`.
    Joined,
}

/// Files of the network.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct NetworkFile {
    /// The network, or an archive of log-probabilities.
    file: Option<PathBuf>,
    runtime: Option<String>,
    inputs: Option<usize>,
    layers: Vec<LayerOptions>,
    outputs: Option<PathBuf>,
    predictor: Option<PathBuf>,
    joiner: Option<PathBuf>,
    pub(super) durations: Vec<usize>,
    constants: BTreeMap<String, i64>,
    prompt_rows: usize,
    end_token: Option<usize>,
}

impl NetworkFile {
    /// Returns the keys that only ONNX files have, and `true` for each that is there.
    fn of_onnx(&self) -> [(&'static str, bool); 4] {
        [
            ("network.runtime", self.runtime.is_some()),
            ("network.constants", !self.constants.is_empty()),
            ("network.prompt-rows", self.prompt_rows > 0),
            ("network.end-token", self.end_token.is_some()),
        ]
    }

    /// Returns the archive of log-probabilities, if there is one in place of a network.
    fn archive(&self) -> Option<&Path> {
        self.file.as_deref().filter(|file| ["ark", "scp", "npz"].contains(&ending(file)))
    }
}

impl Description {
    /// Returns the files that the description names, with their keys.
    fn named_files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let Self { tokens, network, graph, graph_words, lexicon, language_model, decoding, features, .. } = self;
        let cmvn = features.as_ref().and_then(|table| table.get("cmvn")?.as_str());
        let named = [
            ("tokens", Some(tokens)),
            ("network.file", network.file.as_ref()),
            ("network.predictor", network.predictor.as_ref()),
            ("network.joiner", network.joiner.as_ref()),
            ("network.outputs", network.outputs.as_ref()),
            ("graph", graph.as_ref()),
            ("graph-words", graph_words.as_ref()),
            ("lexicon", lexicon.as_ref()),
            ("language-model", language_model.as_ref()),
            ("decoding.graph", decoding.graph.as_ref()),
            ("decoding.language-model", decoding.language_model.as_ref()),
        ];
        let named = named.into_iter().filter_map(|(key, file)| Some((key, file?.as_path())));
        named.chain(cmvn.map(|file| ("features.cmvn", Path::new(file))))
    }
}

/// The files of a model: a folder, or a function that returns the bytes of a name.
pub(super) enum ModelFiles<'f> {
    Folder(PathBuf),
    Memory(&'f dyn Fn(&str) -> io::Result<Vec<u8>>),
}

impl ModelFiles<'_> {
    fn open(&self, file: &Path) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            Self::Folder(folder) => Box::new(fs::File::open(folder.join(file))?),
            Self::Memory(read) => Box::new(Cursor::new(read(&file.to_string_lossy())?)),
        })
    }

    fn has(&self, file: &Path) -> bool {
        match self {
            Self::Folder(folder) => folder.join(file).is_file(),
            Self::Memory(read) => read(&file.to_string_lossy()).is_ok(),
        }
    }

    /// Returns the path of a file; its name if there is no folder.
    fn path(&self, file: &Path) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.join(file),
            Self::Memory(_) => file.to_owned(),
        }
    }

    /// Returns the problem of a file of a folder.
    fn check(&self, file: &Path, bounds: Bounds) -> Result<(), String> {
        match self {
            Self::Folder(folder) => confinement::check(folder, file, bounds),
            Self::Memory(_) => confinement::check_name(file),
        }
    }
}

/// The files of a model, and its description.
pub(super) struct Model<'f> {
    files: ModelFiles<'f>,
    pub(super) description: Description,
}

impl Model<'static> {
    /// Reads the description of a folder. With `outside` it may name files outside the folder.
    pub(super) fn open(folder: &Path, outside: bool) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let wrong = |reason: String| Error::ModelFile { path: path.clone(), reason };
        let size =
            fs::metadata(&path).map_err(|error| wrong(format!("{error}; a model is a folder with this file")))?;
        let bounds = if outside { Bounds::Anywhere } else { Bounds::Folder };
        confinement::check(folder, Path::new(FILE), bounds).map_err(wrong)?;
        if size.len() > MAX_BYTES {
            return Err(wrong(format!("it has {} bytes, and a description at most {MAX_BYTES}", size.len())));
        }
        Self::read(ModelFiles::Folder(folder.to_owned()), outside)
    }
}

impl<'f> Model<'f> {
    /// Reads the description of files in memory.
    pub(super) fn from_files(read: &'f dyn Fn(&str) -> io::Result<Vec<u8>>) -> Result<Self, Error> {
        Self::read(ModelFiles::Memory(read), false)
    }

    fn read(files: ModelFiles<'f>, outside: bool) -> Result<Self, Error> {
        let path = files.path(Path::new(FILE));
        let wrong = |reason: String| Error::ModelFile { path: path.clone(), reason };
        let text = files.open(Path::new(FILE)).and_then(text::read).map_err(|error| wrong(error.to_string()))?;
        let description = toml::from_str(&text).map_err(|error| {
            let line =
                error.span().and_then(|span| text.get(..span.start)).map_or(1, |before| before.split('\n').count());
            let shown = beginning(text.lines().nth(line - 1).unwrap_or_default().trim());
            wrong(format!("line {line}, '{shown}': {}{}", error.message(), hint(error.message())))
        })?;
        let model = Self { files, description };
        let bounds = match (outside, model.description.network.archive().is_some()) {
            (true, _) => Bounds::Anywhere,
            (false, true) => Bounds::Relative,
            (false, false) => Bounds::Folder,
        };
        for (key, file) in model.description.named_files() {
            model.files.check(file, bounds).map_err(|reason| model.refuse(key, reason))?;
            let tables =
                TABLES.iter().filter(|_| ["graph", "decoding.graph"].contains(&key)).map(|kind| beside(file, kind));
            for table in tables {
                model.files.check(&table, bounds).map_err(|reason| model.refuse(key, reason))?;
            }
        }
        Ok(model)
    }

    /// Returns the error of a key.
    pub(super) fn refuse(&self, key: &str, reason: impl Into<String>) -> Error {
        Error::ModelKey { path: self.path(Path::new(FILE)), key: key.to_owned(), reason: reason.into() }
    }

    /// Returns the path of a file that the description names.
    pub(super) fn path(&self, file: &Path) -> PathBuf {
        self.files.path(file)
    }

    /// Returns `true` if there is such a file.
    pub(super) fn has(&self, file: &Path) -> bool {
        self.files.has(file)
    }

    /// Returns the files that the recogniser is read from.
    ///
    /// # Errors
    /// An error with the key of an ONNX file whose files of weights cannot be determined.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>, Error> {
        if let ModelFiles::Memory(_) = self.files {
            return Ok(vec![]);
        }
        let mut files = self.files_without_network();
        for (key, file) in self.networks() {
            files.push(self.path(file));
            if ending(file) == "onnx" {
                files.extend(self.weights_beside(key, file)?);
            }
        }
        Ok(files)
    }

    /// Returns the files that the decoder is read from, with the network if it is there, as it may
    /// have the subsampling; none in memory.
    pub(super) fn files_of_decoder(&self) -> Vec<PathBuf> {
        let mut files = self.files_without_network();
        for (key, file) in self.networks() {
            files.extend(Some(self.path(file)).filter(|file| file.is_file()));
            files.extend(self.weights_beside(key, file).unwrap_or_default());
        }
        files
    }

    /// Returns the files of networks, with their keys.
    fn networks(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let NetworkFile { file, predictor, joiner, .. } = &self.description.network;
        let networks = [("network.file", file), ("network.predictor", predictor), ("network.joiner", joiner)];
        networks.into_iter().filter_map(|(key, file)| Some((key, file.as_deref()?)))
    }

    fn files_without_network(&self) -> Vec<PathBuf> {
        let ModelFiles::Folder(folder) = &self.files else { return vec![] };
        let Description { tokens, network, graph, graph_words, lexicon, language_model, decoding, .. } =
            &self.description;
        let graph = decoding.graph.as_ref().or(graph.as_ref());
        let words = graph_words.as_ref().filter(|_| graph.is_some());
        let language_model = decoding.language_model.as_ref().or(language_model.as_ref());
        let others =
            [network.outputs.as_ref(), lexicon.as_ref(), graph, words, language_model.filter(|_| graph.is_none())];
        let named = std::iter::once(tokens).chain(others.into_iter().flatten());
        let mut files: Vec<PathBuf> =
            std::iter::once(folder.join(FILE)).chain(named.map(|file| self.path(file))).collect();
        files.extend(
            graph
                .into_iter()
                .flat_map(|graph| TABLES.map(|kind| self.path(&beside(graph, kind))))
                .filter(|table| table.is_file()),
        );
        let cmvn = self.description.features.as_ref().and_then(|table| table.get("cmvn")?.as_str());
        files.extend(cmvn.map(|file| self.path(Path::new(file))));
        files
    }

    /// Returns the files next to an ONNX file with its weights, such as `model.onnx.data`.
    #[cfg(feature = "onnx")]
    fn weights_beside(&self, key: &str, file: &Path) -> Result<Vec<PathBuf>, Error> {
        kaldera_onnx::weight_files(self.path(file)).map_err(|error| self.of_onnx(key, &error))
    }

    #[cfg(not(feature = "onnx"))]
    fn weights_beside(&self, _key: &str, _file: &Path) -> Result<Vec<PathBuf>, Error> {
        Ok(vec![])
    }

    /// Returns the error of a file that a key names.
    pub(super) fn in_file(&self, key: &str, file: &Path, error: &dyn std::fmt::Display) -> Error {
        self.refuse(key, format!("{}: {error}", self.path(file).display()))
    }

    /// Returns the transitions that a path of an alignment may take.
    pub(super) fn topology(&self) -> Topology {
        match self.description.kind {
            ModelKind::Ctc | ModelKind::Transducer => Topology::Ctc,
            ModelKind::Hmm => Topology::Hmm,
        }
    }

    pub(super) fn read_text(&self, key: &str, file: &Path) -> Result<String, Error> {
        text::read(self.opened(key, file)?).map_err(|error| self.in_file(key, file, &error))
    }

    /// Opens a file, uncompressed if it is gzip, up to a limit.
    pub(super) fn reader(&self, key: &str, file: &Path) -> Result<Box<dyn BufRead>, Error> {
        text::uncompressed(self.opened(key, file)?).map_err(|error| self.in_file(key, file, &error))
    }

    fn opened(&self, key: &str, file: &Path) -> Result<Box<dyn Read>, Error> {
        self.files.open(file).map_err(|error| self.in_file(key, file, &error))
    }

    /// Reads the tensors of the network.
    fn weights(&self, file: &Path) -> Result<ParameterStore<f32>, String> {
        let read = match self.files {
            ModelFiles::Folder(_) => ParameterStore::load(self.path(file)),
            ModelFiles::Memory(read) => {
                ParameterStore::from_bytes(&read(&file.to_string_lossy()).map_err(|error| error.to_string())?)
            }
        };
        read.map_err(|error| error.to_string())
    }

    /// Returns the file of the network. An archive of log-probabilities in its place is an error.
    pub(super) fn network_file(&self) -> Result<&Path, Error> {
        let NetworkFile { file, .. } = &self.description.network;
        let archive = self.description.network.archive().map(|archive| self.path(archive));
        let file = file.as_deref().filter(|_| archive.is_none());
        file.ok_or_else(|| Error::NoNetwork { path: self.path(FILE.as_ref()), archive })
    }

    /// Returns the number of outputs of the network for which the description is: the lines of
    /// `network.outputs`, or else the tokens before the disambiguation symbols at their end.
    pub(super) fn num_outputs(&self) -> Result<usize, Error> {
        let tokens = self.token_texts()?;
        Ok(match &self.description.network.outputs {
            Some(file) => self.outputs(file, &tokens)?.len(),
            None => tokens.iter().rposition(|text| !is_disambiguation(text)).map_or(0, |last| last + 1),
        })
    }

    pub(super) fn front_end(&self) -> Result<ModelFrontEnd, Error> {
        let table = self.description.features.as_ref();
        let table = table.ok_or_else(|| self.refuse("features", "it is missing: the network takes features"))?;
        let refuse = |key: &str, reason| self.refuse(&format!("features.{key}"), reason);
        ModelFrontEnd::from_table(table, &refuse, &|key, file| self.read_text(key, file)).map_err(|error| match error {
            Error::Feat(error) => self.refuse("features", error.to_string()),
            error => error,
        })
    }

    /// Returns the predictor and the joiner of a transducer; `None` for other kinds.
    pub(super) fn predictor(&self) -> Result<Option<Box<dyn Predictor>>, Error> {
        let Description { kind, blank, unk, network, .. } = &self.description;
        let NetworkFile { file, predictor, joiner, outputs, durations, .. } = network;
        if *kind != ModelKind::Transducer {
            let of_transducers = [
                ("unk", unk.is_some()),
                ("network.predictor", predictor.is_some()),
                ("network.joiner", joiner.is_some()),
                ("network.durations", !durations.is_empty()),
            ];
            return match of_transducers.into_iter().find(|(_, is_there)| *is_there) {
                Some((key, _)) => Err(self.refuse(key, "it is for kind = \"transducer\"")),
                None => Ok(None),
            };
        }
        if outputs.is_some() {
            return Err(self.refuse("network.outputs", "a transducer's outputs are not merged: leave it out"));
        }
        // The predictor begins with the blank.
        self.check_blank(self.token_texts()?.len())?;
        let made: Box<dyn Predictor> = match file.as_deref().map(|file| (file, ending(file))) {
            Some((_, "onnx")) => {
                let missing = "the decoder or decoder_joint, as exporters call it, is missing: an .onnx file";
                let predictor = predictor.as_ref().ok_or_else(|| self.refuse("network.predictor", missing))?;
                self.onnx_predictor(predictor, joiner.as_deref())?
            }
            Some((file, "safetensors")) => {
                if let Some((key, _)) = [("network.predictor", predictor), ("network.joiner", joiner)]
                    .into_iter()
                    .find(|(_, file)| file.is_some())
                {
                    return Err(self.refuse(key, "its tensors are in network.file: leave it out"));
                }
                let failed = |error: &dyn std::fmt::Display| self.in_file("network.file", file, error);
                let weights = self.weights(file).map_err(|error| failed(&error))?;
                Box::new(StatelessPredictor::new(&weights, *blank).map_err(|error| failed(&error))?)
            }
            _ => return Err(self.refuse("network.file", "the encoder of a transducer is .onnx or .safetensors")),
        };
        match made.num_scores().checked_sub(durations.len()) {
            Some(1..) => Ok(Some(made)),
            _ => {
                let reason = format!("there are {} of them, and {} scores in all", durations.len(), made.num_scores());
                Err(self.refuse("network.durations", reason))
            }
        }
    }

    /// Returns the tokens of `num_outputs` outputs of the network, if these are merged.
    pub(super) fn merge(&self, num_outputs: usize) -> Result<Option<Merge>, Error> {
        let Some(file) = &self.description.network.outputs else { return Ok(None) };
        let tokens = self.token_texts()?;
        let merge = Merge::new(self.outputs(file, &tokens)?, tokens.len());
        let merge = merge.and_then(|merge| merge.check_outputs(num_outputs).map(|()| merge));
        merge.map(Some).map_err(|error| self.in_file(OUTPUTS, file, &error))
    }

    /// Returns the token of each output of the network, if outputs are merged.
    fn outputs(&self, file: &Path, tokens: &[String]) -> Result<Vec<Option<usize>>, Error> {
        let text = self.read_text(OUTPUTS, file)?;
        merged_tokens(&text, tokens).map_err(|reason| self.in_file(OUTPUTS, file, &reason))
    }

    fn token_texts(&self) -> Result<Vec<String>, Error> {
        let tokens = &self.description.tokens;
        let text = self.read_text("tokens", tokens)?;
        Vocabulary::token_texts(&text).map_err(|error| self.in_file("tokens", tokens, &error))
    }

    /// Opens the network, whose outputs are not merged.
    pub(super) fn network(&self, front_end: &ModelFrontEnd) -> Result<Arc<dyn Network>, Error> {
        let NetworkFile { inputs, layers, .. } = &self.description.network;
        let file = self.network_file()?;
        let dim = front_end.dim();
        if let Some(inputs) = inputs.filter(|&inputs| inputs != dim) {
            return Err(
                self.refuse("network.inputs", format!("it is {inputs}, and the features have {dim} values a row"))
            );
        }
        let path = self.path(file);
        let mut of_onnx = self.description.network.of_onnx().into_iter();
        if let Some((key, _)) = of_onnx.find(|(_, is_there)| *is_there && ending(file) != "onnx") {
            return Err(self.refuse(key, "only ONNX files have it: leave it out"));
        }
        match ending(file) {
            "onnx" if !layers.is_empty() => {
                Err(self.refuse("network.layers", "an ONNX file has its layers inside: leave them out"))
            }
            "onnx" if matches!(self.files, ModelFiles::Memory(_)) => {
                Err(self.refuse("network.file", "an ONNX file is read from a folder only"))
            }
            "onnx" => self.onnx(&path, front_end),
            "safetensors" => {
                let weights = self.weights(file).map_err(|error| self.refuse("network.file", error))?;
                let stack = LayerStack::new(dim, layers, &weights);
                Ok(Arc::new(stack.map_err(|error| self.in_file("network.layers", file, &error))?))
            }
            _ => Err(self.refuse(
                "network.file",
                "it must end in .safetensors, .onnx, or .ark, .scp or .npz (log-probabilities)",
            )),
        }
    }

    #[cfg(feature = "onnx")]
    fn onnx(&self, path: &Path, front_end: &ModelFrontEnd) -> Result<Arc<dyn Network>, Error> {
        use kaldera_onnx::{OnnxNetwork, OnnxOptions};

        let options = OnnxOptions::default().with_inputs(front_end.dim());
        let options = options.with_subsampling(self.description.subsampling);
        let options = options.with_encoder(self.description.kind == ModelKind::Transducer);
        let NetworkFile { constants, prompt_rows, end_token, .. } = &self.description.network;
        let constants = constants.iter().map(|(name, value)| (name.clone(), *value)).collect();
        let options = options.with_constants(constants).with_prompt_rows(*prompt_rows);
        let options = options.with_blank(self.description.blank).with_end_token(*end_token);
        let failed = |error| self.of_onnx("network.file", &error);
        let mut network = OnnxNetwork::open(path, &options.with_runtime(self.runtime()?)).map_err(failed)?;
        if network.chunk().is_some() {
            network = network.with_tail(front_end.silence(TAIL_SECONDS)?).map_err(failed)?;
        }
        Ok(Arc::new(network))
    }

    /// Opens the predictor; without a joiner its file has both.
    #[cfg(feature = "onnx")]
    fn onnx_predictor(&self, predictor: &Path, joiner: Option<&Path>) -> Result<Box<dyn Predictor>, Error> {
        use kaldera_onnx::{Error as OnnxError, OnnxDecoderJoint, OnnxPredictor, PredictorOptions};

        let predictor = self.path(predictor);
        let options = PredictorOptions::default().with_blank(self.description.blank).with_runtime(self.runtime()?);
        let of_predictor = |error| self.of_onnx("network.predictor", &error);
        let Some(joiner) = joiner.map(|joiner| self.path(joiner)) else {
            return Ok(Box::new(OnnxDecoderJoint::open(predictor, &options).map_err(of_predictor)?));
        };
        Ok(Box::new(OnnxPredictor::open(predictor, &joiner, &options).map_err(|error| match &error {
            OnnxError::Load { path, .. } | OnnxError::Part { path, .. } if *path == joiner => {
                self.of_onnx("network.joiner", &error)
            }
            _ => of_predictor(error),
        })?))
    }

    #[cfg(feature = "onnx")]
    fn runtime(&self) -> Result<kaldera_onnx::Runtime, Error> {
        let runtime = self.description.network.runtime.as_ref().map(|name| name.parse()).transpose();
        Ok(runtime.map_err(|error| self.of_onnx("network.runtime", &error))?.unwrap_or_default())
    }

    /// Returns the error of an ONNX file that this key names.
    #[cfg(feature = "onnx")]
    fn of_onnx(&self, key: &str, error: &kaldera_onnx::Error) -> Error {
        use kaldera_onnx::Error as OnnxError;

        let file = self.networks().find(|(own, _)| *own == key).map(|(_, file)| file);
        match (error, file) {
            (OnnxError::NoRuntime | OnnxError::Library { .. }, _) => self.refuse("network.runtime", error.to_string()),
            // These name their file.
            (OnnxError::Load { .. } | OnnxError::Part { .. }, _) | (_, None) => self.refuse(key, error.to_string()),
            (_, Some(file)) => self.in_file(key, file, error),
        }
    }

    #[cfg(not(feature = "onnx"))]
    fn onnx(&self, path: &Path, _front_end: &ModelFrontEnd) -> Result<Arc<dyn Network>, Error> {
        Err(self.refuse("network.file", format!("{}: {NO_ONNX}", path.display())))
    }

    #[cfg(not(feature = "onnx"))]
    fn onnx_predictor(&self, predictor: &Path, _joiner: Option<&Path>) -> Result<Box<dyn Predictor>, Error> {
        Err(self.refuse("network.predictor", format!("{}: {NO_ONNX}", predictor.display())))
    }

    /// Returns the length of frames, without the network if the description has its subsampling.
    pub(super) fn times_of_archive(&self) -> Result<FrameTimes, Error> {
        let Description { subsampling, features, network, .. } = &self.description;
        let NetworkFile { file, inputs, layers, .. } = network;
        let of_networks = [
            ("features", features.is_some()),
            ("network.inputs", inputs.is_some()),
            ("network.layers", !layers.is_empty()),
        ];
        let mut of_networks = of_networks.into_iter().chain(network.of_onnx());
        if let Some((key, _)) = of_networks.find(|(_, is_there)| network.archive().is_some() && *is_there) {
            return Err(self.refuse(key, "an archive of log-probabilities has none: leave it out"));
        }
        let front_end = features.as_ref().map(|_| self.front_end()).transpose()?;
        let subsampling = match subsampling {
            Some(subsampling) => (*subsampling, 1),
            None if file.is_none() || network.archive().is_some() => (1, 1),
            None => {
                let opened = self.front_end().and_then(|front_end| self.network(&front_end));
                let failed = |error| format!("it is missing, and the network that has it cannot be read: {error}");
                let network = opened.map_err(|error| self.refuse("subsampling", failed(error)))?;
                (network.subsampling(), network.upsampling())
            }
        };
        self.times(front_end.as_ref(), subsampling)
    }

    /// Returns the length of frames of a network with this subsampling and upsampling.
    pub(super) fn times(
        &self,
        front_end: Option<&ModelFrontEnd>,
        (subsampling, upsampling): (usize, usize),
    ) -> Result<FrameTimes, Error> {
        let Description { frame_shift, subsampling: described, network, .. } = &self.description;
        if let Some(shift) = frame_shift.filter(|shift| !(*shift > 0.0 && shift.is_finite())) {
            return Err(self.refuse("frame-shift", format!("{shift} s is no time from frame to frame")));
        }
        let shift = match (frame_shift, front_end) {
            // Frames advance by whole samples: 9.977 ms at 22050 Hz are also 10 ms.
            (Some(shift), Some(own)) if (shift - own.frame_shift()).abs() > 1.0 / f64::from(own.samp_freq()) => {
                let own = own.frame_shift();
                return Err(self.refuse("frame-shift", format!("it is {shift} s, and that of the features is {own} s")));
            }
            (Some(shift), None) => *shift,
            (_, Some(own)) => own.frame_shift(),
            (None, None) => return Err(self.refuse("frame-shift", "it is missing: seconds from frame to frame")),
        };
        if network.end_token.is_some() && described.is_some() {
            return Err(self.refuse("subsampling", "the frames of a network with an end-token are fixed: leave it out"));
        }
        if let Some(described) = described.filter(|&described| described != subsampling) {
            let reason = format!("it is {described}, and that of the network is {subsampling}");
            return Err(self.refuse("subsampling", reason));
        }
        let subsampling = u32::try_from(subsampling).ok().filter(|&subsampling| subsampling > 0);
        let subsampling = subsampling.ok_or_else(|| self.refuse("subsampling", "it must be from 1 to 2^32"))?;
        #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
        let upsampling = upsampling as f64;
        Ok(FrameTimes::new(shift / upsampling).with_subsampling(subsampling))
    }

    fn check_blank(&self, num_tokens: usize) -> Result<(), Error> {
        match self.description.blank {
            blank if blank < num_tokens => Ok(()),
            blank => Err(self.refuse("blank", format!("it is {blank}, and there are {num_tokens} tokens, from 0 on"))),
        }
    }

    /// Returns the tokens; there must be one for each column of the network's output.
    pub(super) fn vocabulary(&self, columns: usize) -> Result<Vocabulary, Error> {
        let Description { tokens, blank, words, separator, .. } = &self.description;
        let mut texts = self.token_texts()?;
        // icefall's lists end in the disambiguation symbols of its lexicons, which are no outputs.
        if texts.get(columns..).is_some_and(|rest| rest.iter().all(|text| is_disambiguation(text))) {
            texts.truncate(columns);
        }
        if texts.len() != columns {
            let reason = format!("there are {} tokens, and the network gives {columns} scores", texts.len());
            return Err(self.in_file("tokens", tokens, &reason));
        }
        self.check_blank(columns)?;
        let vocabulary = Vocabulary::new(texts, *blank).map_err(|error| self.in_file("tokens", tokens, &error))?;
        let vocabulary = if self.description.hide_tags { vocabulary.with_hidden_tags() } else { vocabulary };
        match (words, separator) {
            (Words::Separator, separator) => {
                let separator = separator.as_deref().unwrap_or(" ");
                vocabulary.with_separator(separator).map_err(|error| self.refuse("separator", error.to_string()))
            }
            // With a lexicon, it may stand between words.
            (Words::Tokens, Some(separator)) if self.description.lexicon.is_some() => {
                vocabulary.with_separator(separator).map_err(|error| self.refuse("separator", error.to_string()))
            }
            (_, Some(_)) => Err(self.refuse("separator", "it is for words = \"separator\", and for a lexicon")),
            (Words::Tokens, None) => Ok(vocabulary),
            (Words::Marker, None) => Ok(vocabulary.with_words(WordUnits::Marker)),
            (Words::Continuation, None) => Ok(vocabulary.with_words(WordUnits::Continuation)),
            (Words::Joined, None) => Ok(vocabulary.with_words(WordUnits::Joined)),
        }
    }
}

/// Returns the ending of a file's name; empty without one.
fn ending(file: &Path) -> &str {
    file.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// Suggests a name instead of the one that the description does not know.
fn hint(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let typed = names.next().filter(|_| message.starts_with("unknown"));
    let hint = typed.map_or_else(String::new, |typed| did_you_mean(typed, names));
    if !hint.is_empty() || !message.starts_with("unknown field") {
        return hint;
    }
    // A key of the description itself after the header of a table is taken for a key of the table.
    let keys =
        toml::from_str::<Description>("'?' = 0").map_or_else(|error| error.message().to_owned(), |_| String::new());
    let hint = did_you_mean(typed.unwrap_or_default(), keys.split('`').skip(3).step_by(2));
    if hint.is_empty() { hint } else { format!("{hint} It belongs before the first table, [...]") }
}

/// Returns `true` for `#0`, `#1` ..., which disambiguate words of a lexicon.
fn is_disambiguation(text: &str) -> bool {
    let number = text.strip_prefix('#').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the tokens of lines `OUTPUT TOKEN`, one for each output of a network; `-` is none.
fn merged_tokens(text: &str, tokens: &[String]) -> Result<Vec<Option<usize>>, String> {
    let numbers: HashMap<&str, usize> = tokens.iter().map(String::as_str).zip(0..).collect();
    let token = |(line, content): (usize, &str)| {
        let Some((_, token)) = content.trim_end().rsplit_once([' ', '\t']) else {
            return Err(format!("line {line}, '{content}': not OUTPUT TOKEN"));
        };
        match token {
            "-" => Ok(None),
            token => match numbers.get(token) {
                Some(&number) => Ok(Some(number)),
                None => Err(format!("line {line}: there is no token {token}")),
            },
        }
    };
    kaldera_base::text::lines(text).map(token).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_merged_by_lines() {
        let tokens = ["<blk>".to_owned(), "A".to_owned()];
        let merged = |text| merged_tokens(text, &tokens);
        assert_eq!(merged("a A\n  -\n\u{251}\tA\n<blank> <blk>\n"), Ok(vec![Some(1), None, Some(1), Some(0)]));
        assert!(merged("a A\nb B\n").unwrap_err().contains("line 2: there is no token B"));
        assert!(merged("a A\nb\n").unwrap_err().contains("line 2, 'b'"));
    }

    #[cfg(feature = "onnx")]
    #[test]
    fn weights_beside_an_onnx_file_belong_to_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at(FILE), "kind = 'ctc'\ntokens = 'tokens.txt'\nnetwork = { file = 'model.onnx' }").unwrap();
        // A graph of a tensor whose external_data have a location.
        let field = |number: u8, bytes: &[u8]| [&[8 * number + 2, u8::try_from(bytes.len()).unwrap()], bytes].concat();
        let location = |file: &[u8]| field(13, &[field(1, b"location"), field(2, file)].concat());
        let tensor = |file: &[u8]| field(5, &[location(file), vec![0x70, 0x01]].concat());
        for name in ["w.weights", "w.data"] {
            fs::write(at(name), [0; 8]).unwrap();
        }
        fs::write(at("model.onnx"), field(7, &[tensor(b"w.weights"), tensor(b"w.data")].concat())).unwrap();
        let model = Model::open(folder.path(), false).unwrap();
        assert_eq!(model.files().unwrap(), [FILE, "tokens.txt", "model.onnx", "w.data", "w.weights"].map(at));
        // A file that cannot be read is an error, and does not only leave out files.
        for broken in [&[0xff; 20][..], &field(7, &tensor(b"../w.data"))] {
            fs::write(at("model.onnx"), broken).unwrap();
            let error = model.files().unwrap_err().to_string();
            assert!(error.contains("key network.file") && error.contains("model.onnx"), "{error}");
        }
    }

    #[test]
    fn a_misspelt_key_has_a_suggestion() {
        let folder = tempfile::tempdir().unwrap();
        let error = |text: &str| {
            let network = "[network]\nfile = 'x.ark'\n";
            let text = format!("kind = 'ctc'\ntokens = 'tokens.txt'\n{}", text.replace("NETWORK\n", network));
            fs::write(folder.path().join(FILE), text).unwrap();
            Model::open(folder.path(), false).map(drop).unwrap_err().to_string()
        };
        assert!(error("languge-model = 'x'\nNETWORK\n").contains("did you mean 'language-model'?"));
        assert!(error("NETWORK\n[decoding]\nmax_active = 1\n").contains("did you mean 'max-active'?"));
        let behind = error("NETWORK\nlanguge-model = 'x'\n");
        assert!(behind.contains("did you mean 'language-model'? It belongs before the first table"), "{behind}");
    }

    #[test]
    fn disambiguation_symbols_are_no_outputs() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "kind = 'ctc'\ntokens = 'tokens.txt'\nnetwork = { file = 'x.ark' }")
            .unwrap();
        let model = Model::open(folder.path(), false).unwrap();
        let count = |tokens: &str| {
            fs::write(folder.path().join("tokens.txt"), tokens).unwrap();
            model.vocabulary(3).map(|vocabulary| vocabulary.len()).map_err(|error| error.to_string())
        };
        assert_eq!(count("<blk> 0\na 1\n#2 2\n#0 3\n#1 4\n"), Ok(3));
        assert_eq!(count("<blk> 0\na 1\n#2 2\n"), Ok(3));
        for tokens in ["<blk> 0\na 1\nb 2\n#0 3\nc 4\n", "<blk> 0\na 1\nb 2\n# 3\n", "<blk> 0\n#0 1\n"] {
            let error = count(tokens).unwrap_err();
            assert!(error.contains("the network gives 3 scores"), "{error}");
        }
    }

    #[test]
    fn a_runtime_is_one_of_onnx_files() {
        let folder = tempfile::tempdir().unwrap();
        let model = |network: &str| {
            let text =
                format!("kind = 'ctc'\ntokens = 'tokens.txt'\nfeatures = {{ kind = 'fbank' }}\nnetwork = {network}");
            fs::write(folder.path().join(FILE), text).unwrap();
            Model::open(folder.path(), false).unwrap()
        };
        let model_of_layers = model("{ file = 'x.safetensors', runtime = 'ort' }");
        let opened = model_of_layers.front_end().and_then(|front_end| model_of_layers.network(&front_end).map(|_| ()));
        let error = opened.unwrap_err().to_string();
        assert!(error.contains("key network.runtime") && error.contains("only ONNX files"), "{error}");
        #[cfg(feature = "onnx")]
        {
            let error = model("{ file = 'x.onnx', runtime = 'tract' }").runtime().unwrap_err().to_string();
            assert!(error.contains("key network.runtime: 'tract' is not one of rten, ort, ort-cuda"), "{error}");
        }
    }

    #[test]
    fn what_swells_out_of_gzip_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, &vec![b'\n'; 1 << 20]).unwrap();
        let member = encoder.finish().unwrap();
        fs::write(folder.path().join("tokens.txt"), member.repeat(257)).unwrap();
        fs::write(folder.path().join(FILE), "kind = 'ctc'\ntokens = 'tokens.txt'\nnetwork = { file = 'x.ark' }")
            .unwrap();
        let error = Model::open(folder.path(), false).unwrap().vocabulary(1).unwrap_err().to_string();
        assert!(error.contains("key tokens") && error.contains("come out of gzip"), "{error}");
    }
}
