//! Results of a recognizer, in seconds and words, and as Vosk's JSON and NLSML.

use std::fmt::Write;

use kaldera_base::text::general;

use crate::kaldi_online::json::Json;
use crate::kaldi_online::speaker_model::SpeakerVector;

/// A word of a result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpokenWord {
    /// The word.
    pub word: String,
    /// The second at which it begins, in the audio of the recognizer.
    pub start: f64,
    /// The second at which it ends.
    pub end: f64,
    /// Probability of the word at its place; `None` in alternatives.
    pub confidence: Option<f32>,
}

/// One of several readings.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpokenAlternative {
    /// Its words.
    pub words: Vec<SpokenWord>,
    /// Minus its cost, which is no probability.
    pub confidence: f32,
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OnlineResult {
    /// Nothing was decoded.
    Empty,
    /// The words with the least expected error.
    Best {
        /// The words.
        words: Vec<SpokenWord>,
        /// The vector of the speaker; `None` without a speaker model, or if there is too little
        /// speech.
        speaker: Option<SpeakerVector>,
    },
    /// Several readings.
    Alternatives {
        /// The best ones, from the best down.
        found: Vec<SpokenAlternative>,
        /// As in `Best`.
        speaker: Option<SpeakerVector>,
    },
    /// The words so far.
    Partial(Vec<String>),
    /// The words so far, with times and confidences.
    PartialWords(Vec<SpokenWord>),
}

/// Returns the words with spaces between them.
pub(super) fn joined<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().collect::<Vec<_>>().join(" ")
}

fn text_of(words: &[SpokenWord]) -> String {
    joined(words.iter().map(|word| word.word.as_str()))
}

/// Returns the list of words as JSON. Names of an object are in the order of the alphabet.
fn list_of(words: &[SpokenWord]) -> Json {
    let word = |word: &SpokenWord| {
        let confidence = word.confidence.map(|confidence| ("conf", Json::Number(confidence.into())));
        let others = [
            ("end", Json::Number(word.end)),
            ("start", Json::Number(word.start)),
            ("word", Json::Text(word.word.clone())),
        ];
        Json::Object(confidence.into_iter().chain(others).collect())
    };
    Json::List(words.iter().map(word).collect())
}

/// Returns a speaker's vector as the values `spk` and `spk_frames`.
fn values_of(speaker: Option<&SpeakerVector>) -> impl Iterator<Item = (&'static str, Json)> {
    let values = speaker.map(|speaker| {
        let elements = speaker.values.iter().map(|&x| Json::Number(x.into()));
        [("spk", Json::List(elements.collect())), ("spk_frames", Json::Count(speaker.num_frames))]
    });
    values.into_iter().flatten()
}

impl OnlineResult {
    /// Returns the words with spaces between them; of alternatives the words of the first one.
    pub fn text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Best { words, .. } | Self::PartialWords(words) => text_of(words),
            Self::Alternatives { found, .. } => found.first().map_or_else(String::new, |first| text_of(&first.words)),
            Self::Partial(words) => joined(words.iter().map(String::as_str)),
        }
    }

    /// Returns Vosk's JSON. `words` asks for the list of words with times in a result.
    pub fn to_json(&self, words: bool) -> String {
        let list = |list: &[SpokenWord]| (words && !list.is_empty()).then(|| ("result", list_of(list))).into_iter();
        let text = |words: &[SpokenWord]| [("text", Json::Text(text_of(words)))];
        let object = match self {
            // As Vosk has it, in another layout.
            Self::Empty => return "{\"text\": \"\"}".to_owned(),
            Self::Best { words, speaker } => {
                list(words).chain(values_of(speaker.as_ref())).chain(text(words)).collect()
            }
            Self::Alternatives { found, speaker } => {
                let one = |SpokenAlternative { words, confidence }: &SpokenAlternative| {
                    let confidence = [("confidence", Json::Number((*confidence).into()))];
                    Json::Object(confidence.into_iter().chain(list(words)).chain(text(words)).collect())
                };
                let found = [("alternatives", Json::List(found.iter().map(one).collect()))];
                found.into_iter().chain(values_of(speaker.as_ref())).collect()
            }
            Self::Partial(_) => vec![("partial", Json::Text(self.text()))],
            Self::PartialWords(list) => {
                let list = (!list.is_empty()).then(|| ("partial_result", list_of(list)));
                std::iter::once(("partial", Json::Text(self.text()))).chain(list).collect()
            }
        };
        Json::Object(object).to_text()
    }

    /// Returns Vosk's NLSML, the W3C's markup for results, of alternatives.
    pub fn to_nlsml(&self) -> String {
        let mut out = "<?xml version=\"1.0\"?>\n<result grammar=\"default\">\n".to_owned();
        let Self::Alternatives { found, .. } = self else {
            out.push_str("<interpretation confidence=\"1.0\">\n<instance/>\n<input><noinput/></input>\n");
            out.push_str("</interpretation>\n</result>\n");
            return out;
        };
        for found in found {
            let (text, confidence) = (text_of(&found.words), general(found.confidence.into(), 6));
            // Writing into a text does not fail.
            let _ = write!(
                out,
                "<interpretation grammar=\"default\" confidence=\"{confidence}\">\n\
                 <input mode=\"speech\">{text}</input>\n<instance>{text}</instance>\n</interpretation>\n"
            );
        }
        out.push_str("</result>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_layout_of_vosk() {
        let word = |confidence| SpokenWord { word: "ja".into(), start: 0.03, end: 1.5, confidence };
        let best = OnlineResult::Best { words: vec![word(Some(0.5))], speaker: None };
        let list = "[{\n      \"conf\" : 0.500000,\n      \"end\" : 1.500000,\n      \"start\" : 0.030000,\n      \"word\" : \"ja\"\n    }]";
        assert_eq!(best.to_json(true), format!("{{\n  \"result\" : {list},\n  \"text\" : \"ja\"\n}}"));
        assert_eq!(best.to_json(false), "{\n  \"text\" : \"ja\"\n}");
        let empty = OnlineResult::Best { words: vec![], speaker: None };
        assert_eq!(empty.to_json(true), "{\n  \"text\" : \"\"\n}");
        let readings = vec![SpokenAlternative { words: vec![], confidence: 2.5 }];
        let found = OnlineResult::Alternatives { found: readings.clone(), speaker: None };
        let expected = "{\n  \"alternatives\" : [{\n      \"confidence\" : 2.500000,\n      \"text\" : \"\"\n    }]\n}";
        assert_eq!(found.to_json(true), expected);
        assert!(found.to_nlsml().contains("confidence=\"2.5\">"));
        let speaker = Some(SpeakerVector { values: vec![0.25, -1.0], num_frames: 63 });
        let values = "\"spk\" : [0.250000, -1.000000],\n  \"spk_frames\" : 63";
        let best = OnlineResult::Best { words: vec![word(Some(0.5))], speaker: speaker.clone() };
        assert_eq!(best.to_json(true), format!("{{\n  \"result\" : {list},\n  {values},\n  \"text\" : \"ja\"\n}}"));
        let found = OnlineResult::Alternatives { found: readings, speaker };
        assert_eq!(found.to_json(true), format!("{},\n  {values}\n}}", expected.trim_end_matches("\n}")));
        assert_eq!(OnlineResult::Partial(vec!["a".into(), "b".into()]).to_json(true), "{\n  \"partial\" : \"a b\"\n}");
    }
}
