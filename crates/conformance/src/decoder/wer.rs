//! Scoring: NIST's sclite, Kaldi's `compute-wer`, kaldialign and jiwer.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use kaldera::decoder::score::{
    self, Aligned, Counts, Keep, Rules, Scored, Sums, Units, align_words, edit_distance, read_ctm, read_stm, read_trn,
    score_ctm, score_stm, score_trn,
};
use serde::Deserialize;
use serde_json::Value;

use super::json::Number;
use super::{Outcome, differ, differ_by, judge};
use crate::{Case, Error, Settings, Verdict};

/// The README's, of rates.
const RATE: f64 = 1e-9;

/// Runs cases of `trn.jsonl`.
pub(crate) fn run_trn(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(judge(cases, |case: Nist| case.check_trn()))
}

/// Runs cases of `ctm.jsonl`.
pub(crate) fn run_ctm(_: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(judge(cases, |case: Nist| case.check_ctm()))
}

/// Runs cases of `text.jsonl`.
pub(crate) fn run_text(settings: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    Ok(judge(cases, |case: Text| case.check(settings)))
}

/// [C, S, D, I].
type Vector = [usize; 4];

fn vector(counts: Counts) -> Vector {
    [counts.correct, counts.substitutions, counts.deletions, counts.insertions]
}

#[derive(Deserialize)]
struct Nist {
    kind: String,
    options: Vec<String>,
    ref_format: Option<String>,
    #[serde(rename = "ref")]
    reference: String,
    hyp: String,
    utterances: Vec<Utterance>,
    speakers: Vec<Value>,
    total: Value,
    #[serde(default)]
    free: bool,
}

#[derive(Deserialize)]
struct Utterance {
    id: String,
    counts: Vector,
    optimal: Option<Vec<Vector>>,
    #[serde(default)]
    free: bool,
}

impl Nist {
    fn rules(&self) -> Rules {
        let has = |option: &str| self.options.iter().any(|given| given == option);
        Rules::sclite()
            .with_case(if has("-s") { score::Case::Distinct } else { score::Case::Ascii })
            .with_optional_words(has("-D"))
            .with_fragments(has("-F"))
            .with_units(if has("-c") { Units::Characters } else { Units::Words })
    }

    fn check_trn(&self) -> Result<Outcome, String> {
        let read = |text: &str| read_trn(text).map_err(|error| error.to_string());
        let scored = score_trn(&read(&self.reference)?, &read(&self.hyp)?, &self.rules());
        Ok(self.compare(&scored.map_err(|error| error.to_string())?))
    }

    fn check_ctm(&self) -> Result<Outcome, String> {
        let text = |error: kaldera::decoder::score::ScoreError| error.to_string();
        let words = read_ctm(&self.hyp).map_err(text)?;
        let scored = if self.ref_format.as_deref() == Some("stm") {
            let has = |option: &str| self.options.iter().any(|given| given == option);
            let keep = match (has("ref"), has("hyp")) {
                (false, false) => Keep::All,
                (true, false) => Keep::ReducedReference,
                (false, true) => Keep::ReducedHypothesis,
                (true, true) => Keep::Both,
            };
            score_stm(&read_stm(&self.reference).map_err(text)?, &words, &self.rules(), keep)
        } else {
            let mediated = self.options.iter().any(|option| option == "-T");
            score_ctm(&read_ctm(&self.reference).map_err(text)?, &words, &self.rules(), mediated)
        };
        Ok(self.compare(&scored.map_err(text)?))
    }

    fn compare(&self, scored: &Scored) -> Outcome {
        if self.free {
            return Outcome::Free;
        }
        let mut differences = vec![];
        let came: HashMap<&str, Counts> = scored.aligned.iter().map(|(id, aligned)| (&**id, aligned.counts)).collect();
        let score = &scored.score;
        let expected: HashSet<&str> = self.utterances.iter().map(|utterance| &*utterance.id).collect();
        if came.len() != expected.len() || came.keys().any(|id| !expected.contains(id)) {
            let mut names: Vec<_> = came.keys().collect();
            names.sort();
            differences.push(format!("utterances: came {names:?}"));
        }
        let mut same = true;
        for utterance in self.utterances.iter().filter(|utterance| !utterance.free) {
            let Some(&counts) = came.get(&*utterance.id) else { continue };
            let counts = vector(counts);
            same &= counts == utterance.counts;
            let holds = match &utterance.optimal {
                Some(optimal) => optimal.contains(&counts),
                // The answer does not list ties; then only the cost is sure.
                None => counts == utterance.counts || self.ties(utterance.counts, counts),
            };
            if !holds {
                differences.push(format!(
                    "{} ({}): expected {:?}, came {counts:?}",
                    utterance.id, self.kind, utterance.counts
                ));
            }
        }
        if same {
            let sums = |name: &str, expected: &Value, came: &Sums, differences: &mut Vec<String>| {
                let [c, s, d, i] = vector(came.counts);
                let numbers = [
                    ("sentences", came.sentences),
                    ("words", came.counts.words()),
                    ("C", c),
                    ("S", s),
                    ("D", d),
                    ("I", i),
                    ("sentences_with_errors", came.sentences_with_errors),
                ];
                for (key, number) in numbers {
                    if expected[key] != number {
                        differences.push(format!("{name}, {key}: expected {}, came {number}", expected[key]));
                    }
                }
            };
            for expected in &self.speakers {
                let name = expected["speaker"].as_str().unwrap_or_default();
                match score.speakers().iter().find(|(speaker, _)| speaker == name) {
                    Some((_, came)) => sums(name, expected, came, &mut differences),
                    None => differences.push(format!("no speaker {name}")),
                }
            }
            sums("total", &self.total, &score.total(), &mut differences);
        }
        Outcome::Binding(differences)
    }

    /// Returns `true` if two results of a word alignment cost the same.
    fn ties(&self, a: Vector, b: Vector) -> bool {
        let cost = |[_, s, d, i]: Vector| 4 * s + 3 * (d + i);
        self.kind != "ctm-T" && cost(a) == cost(b)
    }
}

#[derive(Deserialize)]
struct Text {
    #[serde(rename = "ref")]
    reference: Vec<(String, String)>,
    hyp: Vec<(String, String)>,
    compute_wer: HashMap<String, Option<Vec<String>>>,
    utterances: Vec<TextUtterance>,
    total: TextTotal,
    jiwer: Jiwer,
}

#[derive(Deserialize)]
struct TextUtterance {
    id: String,
    words: usize,
    distance: usize,
    optimal: Vec<Vector>,
    chars: usize,
    char_distance: usize,
}

#[derive(Deserialize)]
struct TextTotal {
    words: usize,
    distance: usize,
    wer: Option<Number>,
    chars: usize,
    char_distance: usize,
    cer: Option<Number>,
}

#[derive(Deserialize)]
struct Jiwer {
    utterances: Vec<String>,
    wer: Option<Number>,
    mer: Option<Number>,
    wil: Option<Number>,
    wip: Option<Number>,
    cer: Option<Number>,
}

fn characters(text: &str) -> Vec<char> {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect()
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

impl Text {
    fn check(&self, settings: &Settings) -> Result<Outcome, String> {
        let mut differences = vec![];
        let hypotheses: HashMap<&str, &str> = self.hyp.iter().map(|(id, text)| (&**id, &**text)).collect();
        let references: HashMap<&str, &str> = self.reference.iter().map(|(id, text)| (&**id, &**text)).collect();
        let (mut total, mut chars, mut pooled, mut pooled_chars) =
            (Counts::default(), (0, 0), Counts::default(), (0, 0));
        let mut unique = true;
        for utterance in &self.utterances {
            let id = &utterance.id;
            let (Some(&reference), hypothesis) = (references.get(&**id), hypotheses.get(&**id).copied().unwrap_or(""))
            else {
                return Err(format!("{id} has no reference"));
            };
            let aligned: Aligned = align_words(&words(reference), &words(hypothesis), &Rules::levenshtein());
            let counts = aligned.counts;
            differ(&format!("{id}: words"), &utterance.words, &counts.words(), &mut differences);
            differ(&format!("{id}: distance"), &utterance.distance, &counts.errors(), &mut differences);
            if !utterance.optimal.contains(&vector(counts)) {
                differences.push(format!("{id}: expected one of {:?}, came {:?}", utterance.optimal, vector(counts)));
            }
            let (left, right) = (characters(reference), characters(hypothesis));
            let distance = edit_distance(&left, &right);
            differ(&format!("{id}: characters"), &utterance.chars, &left.len(), &mut differences);
            differ(&format!("{id}: distance of characters"), &utterance.char_distance, &distance, &mut differences);
            total += counts;
            chars = (chars.0 + left.len(), chars.1 + distance);
            if self.jiwer.utterances.contains(id) {
                unique &= utterance.optimal.len() == 1;
                pooled += counts;
                pooled_chars = (pooled_chars.0 + left.len(), pooled_chars.1 + distance);
            }
        }
        differ("words", &self.total.words, &total.words(), &mut differences);
        differ("distance", &self.total.distance, &total.errors(), &mut differences);
        differ("characters", &self.total.chars, &chars.0, &mut differences);
        differ("distance of characters", &self.total.char_distance, &chars.1, &mut differences);
        let mut rate = |name: &str, expected: Option<Number>, came: f64| {
            if let Some(expected) = expected {
                differ_by(name, expected.0, came, RATE, &mut differences);
            }
        };
        #[expect(clippy::cast_precision_loss, reason = "few characters")]
        let cer = |(whole, errors): (usize, usize)| errors as f64 / whole as f64;
        rate("wer", self.total.wer, total.error_rate());
        rate("cer", self.total.cer, cer(chars));
        rate("jiwer's wer", self.jiwer.wer, pooled.error_rate());
        rate("jiwer's cer", self.jiwer.cer, cer(pooled_chars));
        if unique {
            rate("mer", self.jiwer.mer, pooled.match_error_rate());
            rate("wil", self.jiwer.wil, pooled.information_lost());
            rate("wip", self.jiwer.wip, pooled.information_preserved());
        }
        super::compute_wer::check(
            settings,
            &self.reference,
            &self.hyp,
            &self.compute_wer,
            self.ambiguous(),
            &mut differences,
        )?;
        Ok(Outcome::Binding(differences))
    }

    /// Returns `true` if some alignment is not the only best one.
    fn ambiguous(&self) -> bool {
        self.utterances.iter().any(|utterance| utterance.optimal.len() > 1)
    }
}
