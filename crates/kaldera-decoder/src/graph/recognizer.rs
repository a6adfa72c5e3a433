//! A recogniser over a decoding graph: partial results, endpoints, words with times and
//! confidences.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::Range;

use fsa::dense::{DecodingStream, DenseFsaVec, DenseLattices, DenseOptions, Ending, OnlineDecoder};
use fsa::io::SymbolTable;
use fsa::lattice::{DeterminizeOptions, Lattice, LatticeBuilder, LatticePath, MbrOptions};
use fsa::{AUX_LABELS, FINAL, Fsa, Graph};
use kaldera_base::setters;

use crate::error::Error;
use crate::graph::endpoint::{EndpointRules, EndpointState};
use crate::graph::word_spellings::WordSpellings;
use crate::ids::narrow;
use crate::log_probs::LogProbs;
use crate::result::{FrameTimes, Hypothesis, Recognition, Scores, Segment};

/// Options of [`GraphRecognizer`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct GraphOptions {
    /// Options of the search.
    pub search: DenseOptions,
    /// Factor of the network's scores, before the search and in the [scores](crate::Scores) of
    /// hypotheses.
    pub acoustic_scale: f32,
    /// Classes that are silence: the blank, and any other class that stands for silence. Endpoint
    /// rules count them.
    pub silence: Vec<i32>,
    /// Rules by which an utterance has ended.
    pub endpoints: EndpointRules,
    /// Length of frames.
    pub times: FrameTimes,
    /// Number of hypotheses that are returned.
    pub n_best: usize,
    /// `true` if the words of the best hypothesis are the words of least expected error (minimum
    /// Bayes risk), `false` for the words of the best path. Both have confidences.
    pub minimum_bayes_risk: bool,
}

setters! {
    GraphOptions:
    search, with_search: DenseOptions = DenseOptions::default(), "With this search.";
    acoustic_scale, with_acoustic_scale: f32 = 1.0, "With this scale of the network's scores.";
    silence, with_silence: Vec<i32> = vec![0], "With these classes as silence.";
    endpoints, with_endpoints: EndpointRules = EndpointRules::kaldi(), "With these endpoint rules.";
    times, with_times: FrameTimes = FrameTimes::default(), "With frames of this length.";
    n_best, with_n_best: usize = 1, "With this many hypotheses in the result.";
    minimum_bayes_risk, with_minimum_bayes_risk: bool = false, "With words of minimum Bayes risk, or of the best path.";
}

/// Recognises utterances with a graph, such as HLG. The labels of the graph are the network's
/// classes, or classes + 1 ([`Graph::graph_labels`]); its output labels are words. Streams take
/// chunks of frames, and return partial results and endpoints.
///
/// ```
/// use fsa::graphs::ctc_topo;
/// use fsa::io::SymbolTable;
/// use kaldera_decoder::LogProbs;
/// use kaldera_decoder::graph::{GraphOptions, GraphRecognizer};
///
/// let words: SymbolTable = "<eps> 0\nyes 1\nno 2\n".parse()?;
/// let recognizer =
///     GraphRecognizer::new(ctc_topo(2, false)?, Some(words), GraphOptions::default())?;
/// let mut stream = recognizer.stream("utt-1");
/// let values: Vec<f32> = [[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.2, 0.1, 0.7]]
///     .concat()
///     .iter()
///     .map(|p: &f32| p.ln())
///     .collect();
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
    spellings: WordSpellings,
    options: GraphOptions,
}

/// An utterance whose frames come in chunks. Clones are independent.
#[derive(Debug, Clone)]
pub struct GraphStream {
    utterance: String,
    search: DecodingStream,
}

impl GraphStream {
    /// Returns the number of frames taken so far.
    pub fn num_frames(&self) -> usize {
        self.search.num_frames()
    }
}

impl GraphRecognizer {
    /// Creates a recogniser with this graph; `words` has the texts of its output labels.
    ///
    /// # Errors
    /// [`Error::Option`] for a scale that is not finite and above 0, frames without a length or no
    /// hypotheses; errors of [`OnlineDecoder::new`].
    pub fn new(graph: Graph<Fsa>, words: Option<SymbolTable>, options: GraphOptions) -> Result<Self, Error> {
        let refuse = |name, value, reason| Err(Error::Option { name, value, reason });
        if !(options.acoustic_scale.is_finite() && options.acoustic_scale > 0.0) {
            return refuse("acoustic_scale", options.acoustic_scale.into(), "it must be finite and above 0");
        }
        if options.n_best == 0 {
            return refuse("n_best", 0.0, "at least one hypothesis is the result");
        }
        options.times.check()?;
        let lists = graph.attributes().lists(AUX_LABELS).is_some();
        let graph = if lists { graph.into_class_plus_one()? } else { graph };
        let decoder = OnlineDecoder::new(graph, options.search.clone())?;
        Ok(Self { decoder, words, spellings: WordSpellings::default(), options })
    }

    /// Sets spellings, with which words begin and end with their tokens. Without them, or if a path
    /// has other tokens, a word begins with its arc: in a determinized graph this is the place
    /// where the word becomes known.
    #[must_use]
    pub fn with_spellings(mut self, spellings: WordSpellings) -> Self {
        self.spellings = spellings;
        self
    }

    /// Sets the length of frames.
    ///
    /// # Errors
    /// [`Error::Option`] for frames without a length.
    pub fn with_times(mut self, times: FrameTimes) -> Result<Self, Error> {
        times.check()?;
        self.options.times = times;
        Ok(self)
    }

    /// The options.
    pub fn options(&self) -> &GraphOptions {
        &self.options
    }

    /// Creates a stream before its first frame.
    pub fn stream(&self, utterance: &str) -> GraphStream {
        GraphStream { utterance: utterance.into(), search: self.decoder.stream() }
    }

    /// Takes more frames.
    ///
    /// # Errors
    /// Errors of the search: a label of the graph without a column, a limit.
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

    /// Returns the words of the best path so far, even if the graph cannot end there. They have no
    /// confidences, as only the best path is traced back; [`lattice`](Self::lattice) has the
    /// alternatives.
    ///
    /// # Errors
    /// Errors of the lattice.
    pub fn partial(&self, stream: &GraphStream) -> Result<Recognition, Error> {
        let hypotheses = match self.best_path(stream, Ending::Active)? {
            Some((lattice, best)) => vec![self.hypothesis(&lattice, &best)],
            None => vec![],
        };
        Ok(Recognition::new(&*stream.utterance, stream.num_frames(), hypotheses))
    }

    /// Returns the words of the utterance. If no path of the graph has ended, they come from the
    /// best path.
    ///
    /// # Errors
    /// Errors of the lattice.
    pub fn finish(&self, stream: &GraphStream) -> Result<Recognition, Error> {
        self.finish_rescored(stream, Ok)
    }

    /// Returns the words of the utterance after rescoring with other language models. `rescore`
    /// gets the lattice in which each string of words is one path, with the acoustic scale applied.
    /// Words and confidences come from the lattice that it returns.
    ///
    /// ```
    /// use fsa::Limits;
    /// use fsa::graphs::{ArpaOptions, NgramModel, ctc_topo};
    /// use fsa::io::SymbolTable;
    /// use kaldera_decoder::LogProbs;
    /// use kaldera_decoder::graph::{GraphOptions, GraphRecognizer};
    ///
    /// let mut words: SymbolTable = "<eps> 0\nyes 1\nno 2\n".parse()?;
    /// let arpa = "\\data\\\nngram 1=4\n\n\
    ///     \\1-grams:\n-99 <s>\n-0.5 </s>\n-2 yes\n-0.5 no\n\n\\end\\\n";
    /// let model =
    ///     NgramModel::read(arpa.as_bytes(), &mut words, &ArpaOptions::default(), &mut |_| {})?;
    /// let recognizer =
    ///     GraphRecognizer::new(ctc_topo(2, false)?, Some(words), GraphOptions::default())?;
    /// let mut stream = recognizer.stream("utt-1");
    /// let values = [0.1_f32, 0.5, 0.4].map(f32::ln);
    /// recognizer.accept(&mut stream, &LogProbs::new("utt-1", &values, 3)?)?;
    /// assert_eq!(recognizer.finish(&stream)?.text(), "yes");
    /// let rescored = recognizer
    ///     .finish_rescored(&stream, |lattice| lattice.rescore(&model, 0.8, Limits::default()))?;
    /// assert_eq!(rescored.text(), "no");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// To replace the model of the graph, subtract it first: `lattice.rescore(&old, -1.0, limits)`.
    ///
    /// # Errors
    /// Errors of the lattice and of `rescore`.
    #[doc(alias = "lattice-lmrescore")]
    pub fn finish_rescored(
        &self,
        stream: &GraphStream,
        rescore: impl FnOnce(Lattice) -> Result<Lattice, fsa::Error>,
    ) -> Result<Recognition, Error> {
        let none = || Recognition::new(&*stream.utterance, stream.num_frames(), vec![]);
        let lattice = self.frames_lattice(&self.decoder.lattices(&[&stream.search], Ending::FinalElseActive)?)?;
        let Some(best) = self.best_of(&lattice)? else { return Ok(none()) };
        let beam = self.options.search.output_beam;
        let options = DeterminizeOptions::default().with_beam(beam);
        let (words_alone, _) = self.scaled(&lattice)?.determinize(&options)?;
        let words_alone = rescore(words_alone)?;
        let mut hypotheses = self.n_best(&words_alone, &lattice, &best)?;
        if hypotheses.is_empty() {
            hypotheses.push(Hypothesis { tokens: self.tokens(&best.alignment), ..Hypothesis::default() });
        }
        Ok(Recognition::new(&*stream.utterance, stream.num_frames(), hypotheses))
    }

    /// Decodes a whole utterance.
    ///
    /// # Errors
    /// As [`accept`](Self::accept) and [`finish`](Self::finish).
    pub fn decode(&self, log_probs: &LogProbs<'_>) -> Result<Recognition, Error> {
        let mut stream = self.stream(log_probs.utterance());
        self.accept(&mut stream, log_probs)?;
        self.finish(&stream)
    }

    /// Returns the lattice of a stream: words with their graph and acoustic scores (without the
    /// scale), and the classes of their frames plus 1, as 0 stands for no class. It serves n-best
    /// lists, rescoring with another language model and all other functions of [`fsa::lattice`].
    ///
    /// # Errors
    /// Errors of the search.
    pub fn lattice(&self, stream: &GraphStream) -> Result<Lattice, Error> {
        self.frames_lattice(&self.decoder.lattices(&[&stream.search], Ending::FinalElseActive)?)
    }

    /// Returns the first endpoint rule that holds: the utterance has ended.
    ///
    /// # Errors
    /// Errors of the lattice and of the rules.
    pub fn endpoint(&self, stream: &GraphStream) -> Result<Option<usize>, Error> {
        let Some((_, best)) = self.best_path(stream, Ending::Active)? else { return Ok(None) };
        let silent = |&&class: &&i32| self.options.silence.contains(&(class - 1));
        let silence = best.alignment.iter().rev().take_while(silent).count();
        let relative = self.cost_of_ending(stream, &best)?;
        let times = &self.options.times;
        let shift = narrow(times.frame_shift * f64::from(times.subsampling));
        let state = EndpointState::new(best.alignment.len(), silence, shift, narrow(relative));
        self.options.endpoints.detect(&state)
    }

    /// Returns the score of the best path minus the score of the best path that ends in a final
    /// state; infinite if there is no such path, or no path at all.
    ///
    /// # Errors
    /// Errors of the lattice.
    #[doc(alias = "FinalRelativeCost")]
    pub fn final_relative_cost(&self, stream: &GraphStream) -> Result<f64, Error> {
        match self.best_path(stream, Ending::Active)? {
            Some((_, best)) => self.cost_of_ending(stream, &best),
            None => Ok(f64::INFINITY),
        }
    }

    fn cost_of_ending(&self, stream: &GraphStream, best: &LatticePath) -> Result<f64, Error> {
        Ok(match self.best_path(stream, Ending::Final)? {
            Some((_, ended)) => (scores(best).total() - scores(&ended).total()).max(0.0),
            None => f64::INFINITY,
        })
    }

    /// Returns the best path so far, with a lattice of only this path.
    fn best_path(&self, stream: &GraphStream, ending: Ending) -> Result<Option<(Lattice, LatticePath)>, Error> {
        let lattice = self.frames_lattice(&self.decoder.best_paths(&[&stream.search], ending)?)?;
        Ok(self.best_of(&lattice)?.map(|best| (lattice, best)))
    }

    /// Returns the best path of a lattice, with the acoustic scale.
    fn best_of(&self, lattice: &Lattice) -> Result<Option<LatticePath>, Error> {
        Ok(if lattice.num_lattices() == 0 { None } else { self.scaled(lattice)?.best_path(0)? })
    }

    fn scaled(&self, lattice: &Lattice) -> Result<Lattice, Error> {
        Ok(lattice.scale(1.0, self.options.acoustic_scale)?)
    }

    fn frames_lattice(&self, lattices: &DenseLattices) -> Result<Lattice, Error> {
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

    /// Returns the best paths of a lattice of words with their confidences; `best` is the best path
    /// of `lattice`, by frames.
    fn n_best(&self, words_alone: &Lattice, lattice: &Lattice, best: &LatticePath) -> Result<Vec<Hypothesis>, Error> {
        let options = MbrOptions::default().with_decode_mbr(self.options.minimum_bayes_risk);
        let mut hypotheses = vec![];
        for path in words_alone.n_best(0, self.options.n_best)? {
            let first = hypotheses.is_empty();
            let own = if first { options } else { options.with_decode_mbr(false) };
            let risk = words_alone.minimum_bayes_risk_from(0, &path.words, &own)?;
            // These times are averages over all paths; a path of these words has its own times.
            let frames = match first && risk.words == best.words {
                true => Some(self.word_frames(lattice, best)),
                false if risk.words == path.words => self.frames_of_words(lattice, &path),
                false => None,
            };
            let frames = frames.unwrap_or_else(|| {
                let (starts, ends) = risk.times.iter().map(|&(start, end)| (nearest(start), nearest(end))).unzip();
                word_ranges(starts, ends, path.alignment.len())
            });
            let word = |((&word, &confidence), frames): ((&i32, &f32), Range<usize>)| {
                self.word(word, frames).with_confidence(confidence.into())
            };
            let words = risk.words.iter().zip(&risk.confidences).zip(frames).map(word).collect();
            hypotheses.push(Hypothesis { tokens: self.tokens(&path.alignment), words, scores: scores(&path) });
        }
        Ok(hypotheses)
    }

    /// Makes a hypothesis from a path of a lattice of frames.
    fn hypothesis(&self, lattice: &Lattice, path: &LatticePath) -> Hypothesis {
        let frames = self.word_frames(lattice, path);
        let words = path.words.iter().zip(frames).map(|(&word, frames)| self.word(word, frames)).collect();
        Hypothesis { tokens: self.tokens(&path.alignment), words, scores: scores(path) }
    }

    fn word(&self, word: i32, frames: Range<usize>) -> Segment {
        let text = self.words.as_ref().and_then(|words| words.get(word)).unwrap_or_default();
        Segment::new(word, text, frames, &self.options.times)
    }

    /// Returns the frames of each word of a path. They are the frames of its spelling; otherwise
    /// they begin at the first frame of its arc and end before the silence that precedes the next
    /// word. A word has at least one frame.
    fn word_frames(&self, lattice: &Lattice, path: &LatticePath) -> Vec<Range<usize>> {
        if let Some(frames) = self.spellings.frames(&path.words, &self.sounds(&path.alignment)) {
            return frames;
        }
        let arcs = lattice.graph().fsas().arcs();
        let (mut starts, mut frame) = (vec![], 0);
        for arc in path.arcs.iter().filter_map(|&arc| usize::try_from(arc).ok()) {
            if arcs.get(arc).is_some_and(|arc| arc.label > 0) {
                starts.push(frame);
            }
            frame += lattice.alignment().row(arc).len();
        }
        let silent = |class: &i32| self.options.silence.contains(&(class - 1));
        let ends = starts.iter().skip(1).copied().chain([path.alignment.len()]);
        let end = |(&start, end): (&usize, usize)| {
            let own = path.alignment.get(start..end).unwrap_or_default();
            end - own.iter().rev().take_while(|class| silent(class)).count()
        };
        let ends = starts.iter().zip(ends).map(end).collect();
        word_ranges(starts, ends, path.alignment.len())
    }

    /// Returns the frames of each word of a path of a lattice with separate words and frames. They
    /// come from the best path of the lattice of frames with the same alignment and words; `None`
    /// if there is no such path.
    fn frames_of_words(&self, lattice: &Lattice, path: &LatticePath) -> Option<Vec<Range<usize>>> {
        let view = lattice.graph().fsas().fsa(0);
        // By state, frames and words so far: the graph score, the arc and its origin.
        let mut reached = BTreeMap::from([((0, 0, 0), (0.0_f64, None))]);
        let mut at = (0, 0, 0);
        let last = loop {
            let (score, _) = reached[&at];
            let (state, frame, word) = at;
            if Some(state) == view.final_state() && (frame, word) == (path.alignment.len(), path.words.len()) {
                break at;
            }
            for number in view.arc_range(state) {
                let arc = view.arcs()[number];
                let alignment = lattice.alignment().row(view.first_arc() + number);
                let same_word = arc.label <= 0 || path.words.get(word) == Some(&arc.label);
                if !same_word || !path.alignment[frame..].starts_with(alignment) {
                    continue;
                }
                let to = usize::try_from(arc.dest_state).ok()?;
                let next = (to, frame + alignment.len(), word + usize::from(arc.label > 0));
                let score = score + f64::from(arc.score);
                let known = reached.entry(next).or_insert((f64::NEG_INFINITY, None));
                if known.1.is_none() || score > known.0 {
                    *known = (score, Some((number, at)));
                }
            }
            // States are in topological order.
            at = *reached.range((Excluded(at), Unbounded)).next()?.0;
        };
        let (mut arcs, mut at) = (vec![], last);
        while let Some((number, before)) = reached[&at].1 {
            arcs.push(i32::try_from(view.first_arc() + number).ok()?);
            at = before;
        }
        arcs.reverse();
        let path = LatticePath { arcs, ..path.clone() };
        Some(self.word_frames(lattice, &path))
    }

    /// Returns the runs of classes that are not silence, with their frames.
    fn sounds(&self, alignment: &[i32]) -> Vec<(i32, Range<usize>)> {
        let mut start = 0;
        let runs = alignment.chunk_by(|a, b| a == b).map(|run| {
            start += run.len();
            (run[0] - 1, start - run.len()..start)
        });
        runs.filter(|(class, _)| !self.options.silence.contains(class)).collect()
    }

    fn tokens(&self, alignment: &[i32]) -> Vec<Segment> {
        let segment = |(class, frames)| Segment::new(class, "", frames, &self.options.times);
        self.sounds(alignment).into_iter().map(segment).collect()
    }
}

/// Returns the scores of a path of a lattice to which the acoustic scale was applied.
fn scores(path: &LatticePath) -> Scores {
    Scores { acoustic: path.acoustic_score, language_model: path.graph_score, ..Scores::default() }
}

/// Returns words of at least one frame each that do not overlap, if there are enough frames. The
/// ends are as given, but at most the next starts.
fn word_ranges(mut starts: Vec<usize>, ends: Vec<usize>, num_frames: usize) -> Vec<Range<usize>> {
    let mut least = 0;
    for start in &mut starts {
        *start = (*start).max(least);
        least = *start + 1;
    }
    let mut most = num_frames;
    for start in starts.iter_mut().rev() {
        most = most.saturating_sub(1);
        *start = (*start).min(most);
        most = *start;
    }
    let nexts: Vec<usize> = starts.iter().skip(1).copied().chain([num_frames]).collect();
    let range = |((start, end), next): ((usize, usize), usize)| start..end.max(start + 1).min(next);
    starts.into_iter().zip(ends).zip(nexts).map(range).collect()
}

/// Returns the frame of an average time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are at least 0 and at most the frames"
)]
fn nearest(time: f32) -> usize {
    time.max(0.0).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_a_frame_each_and_do_not_overlap() {
        let ranges = |starts: &[usize], ends: &[usize], frames| word_ranges(starts.to_vec(), ends.to_vec(), frames);
        assert_eq!(ranges(&[0, 3], &[2, 3], 5), [0..2, 3..4]);
        assert_eq!(ranges(&[1, 1, 1], &[1, 1, 4], 5), [1..2, 2..3, 3..4]);
        assert_eq!(ranges(&[2, 5], &[5, 5], 5), [2..4, 4..5]);
        assert_eq!(ranges(&[4, 4], &[9, 9], 5), [3..4, 4..5]);
        assert_eq!(ranges(&[], &[], 5), [0..0; 0]);
    }
}
