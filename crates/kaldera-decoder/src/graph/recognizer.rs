//! A recogniser over a decoding graph: partial results, endpoints, words with times and
//! confidences.

use std::ops::Range;

use fsa::dense::{DecodingStream, DenseFsaVec, DenseOptions, Ending, OnlineDecoder};
use fsa::io::SymbolTable;
use fsa::lattice::{DeterminizeOptions, Lattice, LatticeBuilder, LatticePath, MbrOptions};
use fsa::{FINAL, Fsa, Graph};
use kaldera_base::setters;

use crate::error::Error;
use crate::graph::endpoint::{EndpointRules, EndpointState};
use crate::log_probs::{LogProbs, narrow};
use crate::result::{FrameTimes, Hypothesis, Recognition, Scores, Segment};

/// Options of [`GraphRecognizer`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct GraphOptions {
    /// The search, and how the labels of the graph are to be read
    /// ([`DenseOptions::labels`](fsa::dense::DenseOptions)): those of OpenFst's and Kaldi's graphs
    /// are a class + 1, and 0 is epsilon.
    pub search: DenseOptions,
    /// The network's scores are multiplied by this.
    pub acoustic_scale: f32,
    /// Classes that are silence: the blank, and whatever else stands for it. Endpoint rules count
    /// them.
    pub silence: Vec<i32>,
    /// When an utterance has ended.
    pub endpoints: EndpointRules,
    /// How long frames are.
    pub times: FrameTimes,
    /// How many hypotheses are returned.
    pub n_best: usize,
    /// What the words of the best hypothesis are: those of the least expected error (minimum Bayes
    /// risk), or those of the best path. Either have confidences.
    pub minimum_bayes_risk: bool,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self {
            search: DenseOptions::default(),
            acoustic_scale: 1.0,
            silence: vec![0],
            endpoints: EndpointRules::kaldi(),
            times: FrameTimes::default(),
            n_best: 1,
            minimum_bayes_risk: false,
        }
    }
}

setters! {
    GraphOptions:
    search, with_search: DenseOptions, "With this search.";
    acoustic_scale, with_acoustic_scale: f32, "With this scale of the network's scores.";
    silence, with_silence: Vec<i32>, "With these classes as silence.";
    endpoints, with_endpoints: EndpointRules, "With these endpoint rules.";
    times, with_times: FrameTimes, "With frames of this length.";
    n_best, with_n_best: usize, "With this many hypotheses in the result.";
    minimum_bayes_risk, with_minimum_bayes_risk: bool, "With words of minimum Bayes risk, or of the best path.";
}

/// Recognises utterances with a graph whose labels are the network's classes and whose output
/// labels are words, such as HLG; streams in chunks, with the result so far and endpoints.
///
/// ```
/// use fsa::graphs::ctc_topo;
/// use fsa::io::SymbolTable;
/// use kaldera_decoder::LogProbs;
/// use kaldera_decoder::graph::{GraphOptions, GraphRecognizer};
///
/// let words: SymbolTable = "<eps> 0\nyes 1\nno 2\n".parse()?;
/// let recognizer = GraphRecognizer::new(ctc_topo(2, false)?, Some(words), GraphOptions::default())?;
/// let mut stream = recognizer.stream("utt-1");
/// let values: Vec<f32> = [[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.2, 0.1, 0.7]].concat().iter().map(|p: &f32| p.ln()).collect();
/// recognizer.accept(&mut stream, &LogProbs::new("utt-1", &values[..6], 3)?)?;
/// assert_eq!(recognizer.partial(&stream)?.text(), "yes");
/// recognizer.accept(&mut stream, &LogProbs::new("utt-1", &values[6..], 3)?)?;
/// let result = recognizer.finish(&stream)?;
/// assert_eq!(result.text(), "yes no");
/// let word = &result.best().unwrap().words[1];
/// assert!(word.confidence.unwrap() > 0.5 && word.frames == (2..3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[doc(alias = "OnlineRecognizer")]
#[doc(alias = "LatticeFasterDecoder")]
pub struct GraphRecognizer {
    decoder: OnlineDecoder,
    words: Option<SymbolTable>,
    options: GraphOptions,
}

/// An utterance whose frames come in chunks. Clones are independent.
#[derive(Debug, Clone)]
pub struct GraphStream {
    utterance: String,
    search: DecodingStream,
}

impl GraphStream {
    /// How many frames it has taken.
    pub fn num_frames(&self) -> usize {
        self.search.num_frames()
    }
}

/// What a stream has found: a lattice of frames and words.
struct Found {
    lattice: Lattice,
    best: Option<LatticePath>,
}

impl GraphRecognizer {
    /// A recogniser with this graph; `words` are the texts of its output labels.
    ///
    /// # Errors
    /// [`Error::Option`] for a scale that is not finite or no hypotheses; those of
    /// [`OnlineDecoder::new`].
    pub fn new(graph: Graph<Fsa>, words: Option<SymbolTable>, options: GraphOptions) -> Result<Self, Error> {
        let refuse = |name, value, reason| Err(Error::Option { name, value, reason });
        if !(options.acoustic_scale.is_finite() && options.acoustic_scale > 0.0) {
            return refuse("acoustic_scale", options.acoustic_scale.into(), "it must be finite and above 0");
        }
        if options.n_best == 0 {
            return refuse("n_best", 0.0, "at least one hypothesis is the result");
        }
        let decoder = OnlineDecoder::new(graph, options.search.clone())?;
        Ok(Self { decoder, words, options })
    }

    /// The options.
    pub fn options(&self) -> &GraphOptions {
        &self.options
    }

    /// A stream before its first frame.
    pub fn stream(&self, utterance: &str) -> GraphStream {
        GraphStream { utterance: utterance.into(), search: self.decoder.stream() }
    }

    /// Takes more frames.
    ///
    /// # Errors
    /// Those of the search: a label of the graph without a column, a limit.
    pub fn accept(&self, stream: &mut GraphStream, chunk: &LogProbs<'_>) -> Result<(), Error> {
        if chunk.num_frames() == 0 {
            return Ok(());
        }
        let scale = self.options.acoustic_scale;
        let scaled: Vec<f32>;
        let values = if scale == 1.0 {
            chunk.values()
        } else {
            scaled = chunk.values().iter().map(|value| value * scale).collect();
            &scaled
        };
        let dense = DenseFsaVec::from_frames(values, chunk.num_tokens())?;
        let mut taken = self.decoder.decode(&mut [&mut stream.search], &dense)?;
        taken.pop().unwrap_or(Ok(())).map_err(Error::from)
    }

    /// The words so far: the best path, whether the graph can end there or not.
    ///
    /// # Errors
    /// Those of the lattice.
    pub fn partial(&self, stream: &GraphStream) -> Result<Recognition, Error> {
        self.result(stream, Ending::Active)
    }

    /// The words of the utterance. If no path of the graph has ended, those of the best path.
    ///
    /// # Errors
    /// Those of the lattice.
    pub fn finish(&self, stream: &GraphStream) -> Result<Recognition, Error> {
        self.result(stream, Ending::FinalElseActive)
    }

    /// A whole utterance.
    ///
    /// # Errors
    /// As [`accept`](Self::accept) and [`finish`](Self::finish).
    pub fn decode(&self, log_probs: &LogProbs<'_>) -> Result<Recognition, Error> {
        let mut stream = self.stream(log_probs.utterance());
        self.accept(&mut stream, log_probs)?;
        self.finish(&stream)
    }

    /// The lattice of a stream: words with their graph and acoustic scores (without the scale) and
    /// the classes of their frames, each one more, as 0 stands for none. For n best lists,
    /// rescoring with another language model and all else that [`fsa::lattice`] does.
    ///
    /// # Errors
    /// Those of the search.
    pub fn lattice(&self, stream: &GraphStream) -> Result<Lattice, Error> {
        self.frames_lattice(stream, Ending::FinalElseActive)
    }

    /// The first endpoint rule that holds: the utterance has ended.
    ///
    /// # Errors
    /// Those of the lattice and of the rules.
    pub fn endpoint(&self, stream: &GraphStream) -> Result<Option<usize>, Error> {
        let so_far = self.found(stream, Ending::Active)?;
        let Some(best) = so_far.best else { return Ok(None) };
        let silent = |&&class: &&i32| self.options.silence.contains(&(class - 1));
        let silence = best.alignment.iter().rev().take_while(silent).count();
        let relative = match self.found(stream, Ending::Final)?.best {
            Some(ended) => (self.total(&best) - self.total(&ended)).max(0.0),
            None => f64::INFINITY,
        };
        let times = &self.options.times;
        let shift = narrow(times.frame_shift * f64::from(times.subsampling));
        let state = EndpointState::new(best.alignment.len(), silence, shift, narrow(relative));
        self.options.endpoints.detect(&state)
    }

    /// What the search compares: the acoustic score counts with its scale.
    fn total(&self, path: &LatticePath) -> f64 {
        path.graph_score + path.acoustic_score * f64::from(self.options.acoustic_scale)
    }

    fn found(&self, stream: &GraphStream, ending: Ending) -> Result<Found, Error> {
        let lattice = self.frames_lattice(stream, ending)?;
        let best = if lattice.num_lattices() == 0 { None } else { self.scaled(&lattice)?.best_path(0)? };
        let unscaled = |mut path: LatticePath| {
            path.acoustic_score /= f64::from(self.options.acoustic_scale);
            path
        };
        Ok(Found { best: best.map(unscaled), lattice })
    }

    fn scaled(&self, lattice: &Lattice) -> Result<Lattice, Error> {
        Ok(lattice.scale(1.0, self.options.acoustic_scale)?)
    }

    fn frames_lattice(&self, stream: &GraphStream, ending: Ending) -> Result<Lattice, Error> {
        let lattices = self.decoder.lattices(&[&stream.search], ending)?;
        let graph = lattices.graph();
        let (fsas, aux, classes) = (graph.fsas(), graph.aux_labels(), lattices.classes());
        let mut builder = LatticeBuilder::new();
        let view = fsas.fsa(0);
        for _ in 1..view.num_states() {
            builder.add_state();
        }
        for (number, arc) in (view.first_arc()..).zip(view.arcs()) {
            if arc.label == FINAL {
                builder.add_final(arc.src_state, arc.score, 0.0, &[]);
                continue;
            }
            let from_graph = lattices.graph_scores()[number];
            let acoustic = (arc.score - from_graph) / self.options.acoustic_scale;
            let word = aux.map_or(arc.label, |aux| aux[number]).max(0);
            // An epsilon arc takes no frame.
            let class = classes[number] + 1;
            let alignment = if class > 0 { &[class][..] } else { &[] };
            builder.add_arc(arc.src_state, arc.dest_state, word, from_graph, acoustic, alignment);
        }
        Ok(builder.build()?)
    }

    fn result(&self, stream: &GraphStream, ending: Ending) -> Result<Recognition, Error> {
        let Found { lattice, best } = self.found(stream, ending)?;
        let none = || Recognition::new(&*stream.utterance, stream.num_frames(), vec![]);
        let Some(best) = best else { return Ok(none()) };
        let scaled = self.scaled(&lattice)?;
        let options = MbrOptions::default().with_decode_mbr(self.options.minimum_bayes_risk);
        let beam = self.options.search.output_beam;
        let (words_alone, _) = scaled.determinize(&DeterminizeOptions::default().with_beam(beam))?;
        let mut hypotheses = vec![];
        for path in words_alone.n_best(0, self.options.n_best)? {
            let first = hypotheses.is_empty();
            let own = if first { options } else { options.with_decode_mbr(false) };
            let risk = words_alone.minimum_bayes_risk_from(0, &path.words, &own)?;
            let word = |((&word, &confidence), &(start, end)): ((&i32, &f32), &(f32, f32))| {
                let text = self.words.as_ref().and_then(|words| words.get(word)).unwrap_or_default();
                let frames = nearest(start)..nearest(end).max(nearest(start));
                Segment::new(word, text, frames, &self.options.times).with_confidence(confidence.into())
            };
            let mut words: Vec<Segment> = risk.words.iter().zip(&risk.confidences).zip(&risk.times).map(word).collect();
            if risk.words == best.words {
                // The times above are averages over all paths; the best path has its own.
                for (word, frames) in words.iter_mut().zip(self.word_frames(&lattice, &best)) {
                    let exact = Segment::new(word.id, std::mem::take(&mut word.text), frames, &self.options.times);
                    *word = Segment { confidence: word.confidence, ..exact };
                }
            }
            let scores = Scores {
                acoustic: path.acoustic_score / f64::from(self.options.acoustic_scale),
                language_model: path.graph_score,
                ..Scores::default()
            };
            let tokens = self.tokens(&path.alignment);
            hypotheses.push(Hypothesis { tokens, words, scores });
        }
        if hypotheses.is_empty() {
            hypotheses.push(Hypothesis { tokens: self.tokens(&best.alignment), ..Hypothesis::default() });
        }
        Ok(Recognition::new(&*stream.utterance, stream.num_frames(), hypotheses))
    }

    /// For each word of a path its frames: from the arc that it is on to the last frame before the
    /// next word that is not silence.
    fn word_frames(&self, lattice: &Lattice, path: &LatticePath) -> Vec<Range<usize>> {
        let arcs = lattice.graph().fsas().arcs();
        let (mut starts, mut frame) = (vec![], 0);
        for arc in path.arcs.iter().filter_map(|&arc| usize::try_from(arc).ok()) {
            if arcs.get(arc).is_some_and(|arc| arc.label > 0) {
                starts.push(frame);
            }
            frame += lattice.alignment().row(arc).len();
        }
        let ends = starts.iter().skip(1).copied().chain([path.alignment.len()]);
        let silent = |class: &i32| self.options.silence.contains(&(class - 1));
        let range = |(&start, end): (&usize, usize)| {
            let own = path.alignment.get(start..end).unwrap_or_default();
            start..end - own.iter().rev().take_while(|class| silent(class)).count()
        };
        starts.iter().zip(ends).map(range).collect()
    }

    /// The runs of classes that are not silence.
    fn tokens(&self, alignment: &[i32]) -> Vec<Segment> {
        let mut start = 0;
        let runs = alignment.chunk_by(|a, b| a == b).map(|run| {
            start += run.len();
            (run[0] - 1, start - run.len()..start)
        });
        let sounds = runs.filter(|(class, _)| !self.options.silence.contains(class));
        sounds.map(|(class, frames)| Segment::new(class, "", frames, &self.options.times)).collect()
    }
}

/// The frame of an average time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are at least 0 and at most the frames"
)]
fn nearest(time: f32) -> usize {
    time.max(0.0).round() as usize
}
