//! The files of a folder with an online model.

use std::path::{Component, Path, PathBuf};

use kaldi_io::rxfilename::{Rxfilename, classify};

use crate::error::Error;

/// Arrangement of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Vosk's: `am/final.mdl`, `conf/model.conf`, `graph/`, `ivector/`.
    VoskV2,
    /// Vosk's older one: `final.mdl` and `mfcc.conf` in the folder itself, `ivector/`.
    VoskV1,
    /// Kaldi's, as `prepare_online_decoding.sh` makes it: `final.mdl`, `conf/online.conf`, which
    /// names other files, and a graph in `graph/`.
    Kaldi,
}

impl Layout {
    /// Returns its name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::VoskV2 => "a Vosk model",
            Self::VoskV1 => "an older Vosk model",
            Self::Kaldi => "an online model of Kaldi",
        }
    }
}

/// A file of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Transition model and network.
    AcousticModel,
    /// Options of decoding.
    DecodingConfig,
    /// Options of MFCC.
    MfccConfig,
    /// Options of filterbanks.
    FbankConfig,
    /// Options of pitch.
    PitchConfig,
    /// Statistics for the normalisation of the network's input.
    GlobalCmvn,
    /// Options of that normalisation.
    CmvnConfig,
    /// The graph in one file.
    Graph,
    /// The lexicon's side of the graph.
    Lexicon,
    /// The grammar's side of the graph.
    Grammar,
    /// Transition identifiers that become epsilons.
    Disambiguation,
    /// The words.
    Words,
    /// Positions of phones in words.
    WordBoundary,
    /// The i-vector extractor.
    IvectorExtractor,
    /// Options of i-vectors, and the names of their files.
    IvectorConfig,
    /// The large n-gram model for rescoring.
    Carpa,
    /// The grammar of the graph, which is taken away before rescoring.
    RescoredGrammar,
    /// The recurrent language model.
    Rnnlm,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 18] = [
        Self::AcousticModel,
        Self::DecodingConfig,
        Self::MfccConfig,
        Self::FbankConfig,
        Self::PitchConfig,
        Self::GlobalCmvn,
        Self::CmvnConfig,
        Self::Graph,
        Self::Lexicon,
        Self::Grammar,
        Self::Disambiguation,
        Self::Words,
        Self::WordBoundary,
        Self::IvectorExtractor,
        Self::IvectorConfig,
        Self::Carpa,
        Self::RescoredGrammar,
        Self::Rnnlm,
    ];

    /// Returns its use, for messages.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::AcousticModel => "the transition model and the acoustic network",
            Self::DecodingConfig => "the options of decoding: beams, endpoints, frames of the network",
            Self::MfccConfig => "the options of MFCC",
            Self::FbankConfig => "the options of filterbank features",
            Self::PitchConfig => "the options of pitch, which is appended to the features",
            Self::GlobalCmvn => "statistics for normalising the network's input",
            Self::CmvnConfig => "the options of that normalisation",
            Self::Graph => "the decoding graph in one file",
            Self::Lexicon => "the side of the decoding graph with phones and words",
            Self::Grammar => "the side of the decoding graph with the n-gram model",
            Self::Disambiguation => "the transition identifiers of HCLr.fst that become epsilons",
            Self::Words => "the words, unless the graph has them",
            Self::WordBoundary => "the positions of phones in words, for times",
            Self::IvectorExtractor => "the i-vector extractor",
            Self::IvectorConfig => "the options of i-vectors, and the names of their files",
            Self::Carpa => "the large n-gram model for rescoring",
            Self::RescoredGrammar => "the n-gram model of the graph, which rescoring takes away",
            Self::Rnnlm => "the recurrent language model for rescoring",
        }
    }

    /// Returns its path in a folder of this layout.
    pub fn path(self, layout: Layout) -> &'static str {
        let of_v2 = match self {
            Self::AcousticModel => "am/final.mdl",
            Self::DecodingConfig => "conf/model.conf",
            Self::MfccConfig => "conf/mfcc.conf",
            Self::FbankConfig => "conf/fbank.conf",
            Self::PitchConfig => "conf/pitch.conf",
            Self::GlobalCmvn => "am/global_cmvn.stats",
            Self::CmvnConfig => "conf/online_cmvn.conf",
            Self::Graph => "graph/HCLG.fst",
            Self::Lexicon => "graph/HCLr.fst",
            Self::Grammar => "graph/Gr.fst",
            Self::Disambiguation => "graph/disambig_tid.int",
            Self::Words => "graph/words.txt",
            Self::WordBoundary => "graph/phones/word_boundary.int",
            Self::IvectorExtractor => "ivector/final.ie",
            Self::IvectorConfig => "conf/ivector_extractor.conf",
            Self::Carpa => "rescore/G.carpa",
            Self::RescoredGrammar => "rescore/G.fst",
            Self::Rnnlm => "rnnlm/final.raw",
        };
        match (layout, self) {
            (Layout::VoskV2, _) | (_, Self::IvectorExtractor | Self::Carpa | Self::RescoredGrammar | Self::Rnnlm) => {
                of_v2
            }
            (Layout::Kaldi, Self::DecodingConfig) => "conf/online.conf",
            (Layout::Kaldi, Self::AcousticModel) => "final.mdl",
            (Layout::Kaldi, Self::GlobalCmvn) => "global_cmvn.stats",
            (Layout::Kaldi, Self::PitchConfig) => "conf/online_pitch.conf",
            (Layout::Kaldi, _) => of_v2,
            // Without folders.
            (Layout::VoskV1, _) => of_v2.rsplit('/').next().unwrap_or(of_v2),
        }
    }
}

/// A folder with an online model, whose files are not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnlineFolder {
    root: PathBuf,
    layout: Layout,
}

impl OnlineFolder {
    /// Returns `true` if the folder seems to have an online model: its network, or its options of
    /// decoding.
    pub fn is_one(root: impl AsRef<Path>) -> bool {
        let signs = [Layout::VoskV2, Layout::Kaldi]
            .map(|layout| [Part::AcousticModel, Part::DecodingConfig].map(|part| part.path(layout)));
        signs.as_flattened().iter().any(|file| root.as_ref().join(file).is_file())
    }

    /// Returns the folder if it has a model.
    ///
    /// # Errors
    /// [`Error::ModelFile`] if it has neither of the layouts; the message names the files that it
    /// lacks.
    pub fn find(root: impl Into<PathBuf>) -> Result<Self, Error> {
        let root = root.into();
        let lacks = |layout: Layout, second: Part| {
            let files = [Part::AcousticModel, second].map(|part| part.path(layout));
            files.into_iter().find(|file| !root.join(file).is_file())
        };
        let kinds = [
            (Layout::VoskV2, Part::DecodingConfig),
            (Layout::Kaldi, Part::DecodingConfig),
            (Layout::VoskV1, Part::MfccConfig),
        ];
        let mut reasons = Vec::new();
        for (layout, second) in kinds {
            match lacks(layout, second) {
                None => return Ok(Self { root, layout }),
                Some(file) => reasons.push(format!("{} has {file}", layout.name())),
            }
        }
        let reason = format!("it is no folder of an online model: {}", reasons.join("; "));
        Err(Error::ModelFile { path: root, reason })
    }

    /// Returns the arrangement of the files.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a part, which may not be there.
    pub fn path(&self, part: Part) -> PathBuf {
        self.root.join(part.path(self.layout))
    }

    /// Returns the path of a part that is there.
    pub fn find_part(&self, part: Part) -> Option<PathBuf> {
        Some(self.path(part)).filter(|path| path.is_file())
    }

    /// Returns the path of a part as text.
    ///
    /// # Errors
    /// [`Error::ModelFile`] if the file is missing, with its use, or its path is not UTF-8.
    pub fn require(&self, part: Part) -> Result<String, Error> {
        let path = self.path(part);
        if !path.is_file() {
            return Err(missing(path, part.purpose()));
        }
        text(path)
    }

    /// Returns the file that a configuration names: the longest end of the name that is a file of
    /// the folder, as folders are moved. Names of files elsewhere, and commands, are none.
    pub fn named(&self, name: &str) -> Option<PathBuf> {
        let parts: Vec<Component<'_>> = Path::new(name).components().collect();
        let ends = (0..parts.len()).map(|first| &parts[first..]);
        let below = ends.filter(|end| end.iter().all(|part| matches!(part, Component::Normal(_))));
        below.map(|end| self.root.join(end.iter().collect::<PathBuf>())).find(|path| path.is_file())
    }

    /// Returns the parts that are there, in order, with their paths.
    pub fn parts(&self) -> impl Iterator<Item = (Part, PathBuf)> {
        Part::ALL.into_iter().filter_map(|part| Some((part, self.find_part(part)?)))
    }

    /// Returns the parts that are there and are used, in order, with their paths.
    pub fn used_parts(&self) -> impl Iterator<Item = (Part, PathBuf)> {
        self.parts().filter(|&(part, _)| self.is_used(part))
    }

    fn is_used(&self, part: Part) -> bool {
        match part {
            Part::Rnnlm => false,
            // Nothing is taken away if nothing is added.
            Part::RescoredGrammar => self.find_part(Part::Carpa).is_some(),
            _ => true,
        }
    }

    /// Returns a sentence for each part that is there, but is not used.
    pub fn left_out(&self) -> Vec<String> {
        let found = self.parts().filter(|&(part, _)| !self.is_used(part));
        found.map(|(part, _)| format!("{} is left out: {}", part.path(self.layout), part.purpose())).collect()
    }
}

/// Returns the error for a file that is not there, with its use.
pub(super) fn missing(path: PathBuf, purpose: &str) -> Error {
    Error::ModelFile { path, reason: format!("the file is missing; it has {purpose}") }
}

/// Returns a path as text, which names this file and nothing else where an rxfilename is expected.
pub(super) fn text(path: PathBuf) -> Result<String, Error> {
    let wrong = |path: PathBuf, reason: &str| Error::ModelFile { path, reason: reason.to_owned() };
    let path = path.into_os_string().into_string().map_err(|path| wrong(path.into(), "the path is not UTF-8"))?;
    match classify(&path) {
        Ok(Rxfilename::File { .. }) => Ok(path),
        _ => Err(wrong(path.into(), "this is the name of a command, or of a place in a file")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn layouts_are_found_by_their_files() {
        for (layout, files) in [
            (Layout::VoskV2, &["am/final.mdl", "conf/model.conf", "conf/mfcc.conf"][..]),
            (Layout::VoskV1, &["final.mdl", "mfcc.conf"]),
            (Layout::Kaldi, &["final.mdl", "conf/online.conf", "conf/mfcc.conf"]),
        ] {
            let made = folder(files);
            let found = OnlineFolder::find(made.path()).unwrap();
            assert_eq!(found.layout(), layout);
            assert!(found.find_part(Part::MfccConfig).is_some() && found.find_part(Part::Graph).is_none());
        }
    }

    #[test]
    fn configurations_name_files_of_the_folder() {
        let made = folder(&["final.mdl", "conf/online.conf", "conf/splice.conf", "extractor/final.mat", "final.mat"]);
        let found = OnlineFolder::find(made.path()).unwrap();
        let named = |name: &str| {
            found.named(name).map(|path| path.strip_prefix(made.path()).unwrap().to_str().unwrap().to_owned())
        };
        for (name, file) in [
            ("exp/tdnn_online/extractor/final.mat", Some("extractor/final.mat")),
            ("/export/a11/exp/tdnn_online/conf/splice.conf", Some("conf/splice.conf")),
            ("exp/other/final.mat", Some("final.mat")),
            ("../conf/splice.conf", Some("conf/splice.conf")),
            ("/etc/passwd", None),
            ("cat final.mat |", None),
            ("conf", None),
            ("", None),
        ] {
            assert_eq!(named(name).as_deref(), file, "{name}");
        }
        let error = text(made.path().join(";touch x;|")).unwrap_err().to_string();
        assert!(error.ends_with("this is the name of a command, or of a place in a file"), "{error}");
        assert!(text(made.path().join("final.mdl:12")).is_err());
        assert!(OnlineFolder::is_one(made.path()) && !OnlineFolder::is_one(made.path().join("conf")));
    }

    #[test]
    fn missing_files_are_named_with_their_use() {
        let empty = folder(&["am/final.mdl"]);
        let error = OnlineFolder::find(empty.path()).unwrap_err().to_string();
        assert!(
            error.contains("a Vosk model has conf/model.conf; ") && error.contains("Vosk model has final.mdl"),
            "{error}"
        );
        let found = folder(&["am/final.mdl", "conf/model.conf", "rnnlm/final.raw"]);
        let found = OnlineFolder::find(found.path()).unwrap();
        let error = found.require(Part::Disambiguation).unwrap_err().to_string();
        assert!(error.contains("graph/disambig_tid.int") && error.contains("become epsilons"), "{error}");
        assert_eq!(found.left_out(), ["rnnlm/final.raw is left out: the recurrent language model for rescoring"]);
    }

    #[test]
    fn the_grammar_is_used_with_a_larger_one() {
        let files = ["am/final.mdl", "conf/model.conf", "rescore/G.fst", "rescore/G.carpa"];
        let both = folder(&files);
        let both = OnlineFolder::find(both.path()).unwrap();
        assert!(both.left_out().is_empty());
        assert!(both.used_parts().any(|(part, _)| part == Part::RescoredGrammar));
        let one = folder(&files[..3]);
        let one = OnlineFolder::find(one.path()).unwrap();
        assert!(one.used_parts().all(|(part, _)| part != Part::RescoredGrammar));
        let left_out = "rescore/G.fst is left out: the n-gram model of the graph, which rescoring takes away";
        assert_eq!(one.left_out(), [left_out]);
    }
}
