//! The place of an utterance in a stream.

use kaldera_decoder::{Recognition, Segment};

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
