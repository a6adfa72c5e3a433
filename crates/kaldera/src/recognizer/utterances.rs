//! Utterances of a stream: their names, places and results.

use kaldera_decoder::{Recognition, Segment};

/// Results for new samples.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LiveUpdate {
    /// Utterances that have ended, in order: `utt-1`, `utt-2`, ... Utterances without a token are
    /// left out.
    pub ended: Vec<Recognition>,
    /// The words so far of the current utterance, if there is a new result.
    pub so_far: Option<Recognition>,
}

/// The place in a stream where an utterance begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) first_frame: usize,
    pub(super) seconds: f64,
}

impl Place {
    /// Counts frames and times from the start of the stream.
    pub(super) fn shift(&self, mut found: Recognition) -> Recognition {
        let place = |segment: &mut Segment| {
            segment.frames = segment.frames.start + self.first_frame..segment.frames.end + self.first_frame;
            segment.start += self.seconds;
            segment.end += self.seconds;
            segment.peak = segment.peak.take().map(|peak| peak.start + self.seconds..peak.end + self.seconds);
        };
        for hypothesis in &mut found.hypotheses {
            hypothesis.tokens.iter_mut().chain(&mut hypothesis.words).for_each(place);
        }
        found
    }
}

/// Returns the name of an utterance of a stream.
pub(super) fn name(utterance: usize) -> String {
    format!("utt-{utterance}")
}

/// Returns `true` if something was found.
pub(super) fn has_words(found: &Recognition) -> bool {
    found.best().is_some_and(|best| !(best.tokens.is_empty() && best.words.is_empty()))
}
