//! Scoring: NIST's sclite, Kaldi's `compute-wer`, kaldialign and jiwer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kaldera::decoder::score::{
    self, Counts, Keep, Rules, Scored, Sums, Units, align_words, edit_distance, read_ctm, read_stm, read_trn,
    score_ctm, score_stm, score_trn,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{Differences, Number, Settings, Stop, Verdict};

/// The README's, of rates.
const RATE: f64 = 1e-9;

/// [C, S, D, I].
type Vector = [usize; 4];

fn vector(counts: Counts) -> Vector {
    [counts.correct, counts.substitutions, counts.deletions, counts.insertions]
}

#[derive(Deserialize)]
pub(crate) struct Nist {
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

/// The verdict on a case of `trn.jsonl`.
pub(crate) fn trn(case: Nist) -> Result<Verdict, Stop> {
    case.compare(&score_trn(&read_trn(&case.reference)?, &read_trn(&case.hyp)?, &case.rules())?)
}

/// The verdict on a case of `ctm.jsonl`.
pub(crate) fn ctm(case: Nist) -> Result<Verdict, Stop> {
    let words = read_ctm(&case.hyp)?;
    case.compare(&if case.ref_format.as_deref() == Some("stm") {
        let keep = match (case.has("ref"), case.has("hyp")) {
            (false, false) => Keep::All,
            (true, false) => Keep::ReducedReference,
            (false, true) => Keep::ReducedHypothesis,
            (true, true) => Keep::Both,
        };
        score_stm(&read_stm(&case.reference)?, &words, &case.rules(), keep)?
    } else {
        score_ctm(&read_ctm(&case.reference)?, &words, &case.rules(), case.has("-T"))?
    })
}

impl Nist {
    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    fn rules(&self) -> Rules {
        Rules::sclite()
            .with_case(if self.has("-s") { score::Case::Distinct } else { score::Case::Ascii })
            .with_optional_words(self.has("-D"))
            .with_fragments(self.has("-F"))
            .with_units(if self.has("-c") { Units::Characters } else { Units::Words })
    }

    fn compare(&self, scored: &Scored) -> Result<Verdict, Stop> {
        if self.free {
            return Ok(Verdict::Free(None));
        }
        let mut differences = Differences::default();
        let came: BTreeMap<&str, Counts> = scored.aligned.iter().map(|(id, aligned)| (&**id, aligned.counts)).collect();
        let expected: BTreeSet<&str> = self.utterances.iter().map(|utterance| &*utterance.id).collect();
        differences.check(came.keys().eq(&expected), || format!("utterances: came {:?}", came.keys()));
        let mut same = true;
        for utterance in self.utterances.iter().filter(|utterance| !utterance.free) {
            let Some(&counts) = came.get(&*utterance.id) else { continue };
            let (right, counts) = (utterance.counts, vector(counts));
            same &= counts == right;
            let holds = match &utterance.optimal {
                Some(optimal) => optimal.contains(&counts),
                // The answer does not list ties; then only the cost is sure.
                None => counts == right || self.ties(right, counts),
            };
            let (id, kind) = (&utterance.id, &self.kind);
            differences.check(holds, || format!("{id} ({kind}): expected {right:?}, came {counts:?}"));
        }
        if same {
            for expected in &self.speakers {
                let name = expected["speaker"].as_str().unwrap_or_default();
                match scored.score.speakers().iter().find(|(speaker, _)| speaker == name) {
                    Some((_, came)) => compare_sums(name, expected, came, &mut differences),
                    None => differences.check(false, || format!("no speaker {name}")),
                }
            }
            compare_sums("total", &self.total, &scored.score.total(), &mut differences);
        }
        differences.verdict()
    }

    /// Returns `true` if two results of a word alignment cost the same.
    fn ties(&self, a: Vector, b: Vector) -> bool {
        let cost = |[_, s, d, i]: Vector| 4 * s + 3 * (d + i);
        self.kind != "ctm-T" && cost(a) == cost(b)
    }
}

fn compare_sums(name: &str, expected: &Value, came: &Sums, differences: &mut Differences) {
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
        let right = &expected[key];
        differences.check(*right == number, || format!("{name}, {key}: expected {right}, came {number}"));
    }
}

#[derive(Deserialize)]
pub(crate) struct Text {
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

/// The verdict on a case of `text.jsonl`.
pub(crate) fn text(case: Text, settings: &Settings) -> Result<Verdict, Stop> {
    let mut differences = Differences::default();
    let hypotheses: HashMap<&str, &str> = case.hyp.iter().map(|(id, text)| (&**id, &**text)).collect();
    let references: HashMap<&str, &str> = case.reference.iter().map(|(id, text)| (&**id, &**text)).collect();
    let (mut total, mut chars, mut pooled, mut pooled_chars) = (Counts::default(), (0, 0), Counts::default(), (0, 0));
    let mut unique = true;
    for utterance in &case.utterances {
        let (id, optimal) = (&utterance.id, &utterance.optimal);
        let reference = references.get(&**id).ok_or_else(|| Stop::Refused(format!("{id} has no reference")))?;
        let hypothesis = hypotheses.get(&**id).copied().unwrap_or_default();
        let counts = align_words(&words(reference), &words(hypothesis), &Rules::levenshtein()).counts;
        let came = vector(counts);
        differences.equal(&format!("{id}: words"), utterance.words, counts.words());
        differences.equal(&format!("{id}: distance"), utterance.distance, counts.errors());
        differences.check(optimal.contains(&came), || format!("{id}: expected one of {optimal:?}, came {came:?}"));
        let (left, right) = (characters(reference), characters(hypothesis));
        let distance = edit_distance(&left, &right);
        differences.equal(&format!("{id}: characters"), utterance.chars, left.len());
        differences.equal(&format!("{id}: distance of characters"), utterance.char_distance, distance);
        total += counts;
        chars = (chars.0 + left.len(), chars.1 + distance);
        if case.jiwer.utterances.contains(id) {
            unique &= optimal.len() == 1;
            pooled += counts;
            pooled_chars = (pooled_chars.0 + left.len(), pooled_chars.1 + distance);
        }
    }
    differences.equal("words", case.total.words, total.words());
    differences.equal("distance", case.total.distance, total.errors());
    differences.equal("characters", case.total.chars, chars.0);
    differences.equal("distance of characters", case.total.char_distance, chars.1);
    let mut rate = |name: &str, expected: Option<Number>, came: f64| {
        if let Some(expected) = expected {
            differences.near(name, expected.0, came, RATE);
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "few characters")]
    let cer = |(whole, errors): (usize, usize)| errors as f64 / whole as f64;
    rate("wer", case.total.wer, total.error_rate());
    rate("cer", case.total.cer, cer(chars));
    rate("jiwer's wer", case.jiwer.wer, pooled.error_rate());
    rate("jiwer's cer", case.jiwer.cer, cer(pooled_chars));
    if unique {
        rate("mer", case.jiwer.mer, pooled.match_error_rate());
        rate("wil", case.jiwer.wil, pooled.information_lost());
        rate("wip", case.jiwer.wip, pooled.information_preserved());
    }
    // Some alignment is perhaps not the only best one.
    let ambiguous = case.utterances.iter().any(|utterance| utterance.optimal.len() > 1);
    let texts = [&case.reference[..], &case.hyp[..]];
    compute_wer(settings, texts, &case.compute_wer, ambiguous, &mut differences)?;
    differences.verdict()
}

/// Runs the program `compute-wer` in each mode and compares the lines that it prints. If the split
/// into insertions, deletions and substitutions is `ambiguous`, only the other lines are compared.
fn compute_wer(
    settings: &Settings,
    [reference, hypothesis]: [&[(String, String)]; 2],
    modes: &HashMap<String, Option<Vec<String>>>,
    ambiguous: bool,
    differences: &mut Differences,
) -> Result<(), Stop> {
    let folder = tempfile::tempdir()?;
    for (name, lines) in [("ref", reference), ("hyp", hypothesis)] {
        let text: String = lines.iter().map(|(id, text)| format!("{id} {text}\n")).collect();
        std::fs::write(folder.path().join(name), text)?;
    }
    for (mode, expected) in modes {
        let args = ["--text", &format!("--mode={mode}"), "ark:ref", "ark:hyp"];
        let output = settings.command("compute-wer", folder.path()).args(args).output()?;
        let Some(expected) = expected else {
            differences.check(!output.status.success(), || format!("compute-wer, {mode}: expected a failure"));
            continue;
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let came: Vec<String> = said.lines().map(|line| shown(line, ambiguous)).collect();
        let expected: Vec<String> = expected.iter().map(|line| shown(line, ambiguous)).collect();
        differences.equal(&format!("compute-wer, {mode}"), expected, came);
    }
    Ok(())
}

/// A line, without the split of errors if that is free.
fn shown(line: &str, ambiguous: bool) -> String {
    match (line.strip_prefix("%WER"), line.split_once(", ")) {
        (Some(_), Some((before, after))) if ambiguous => {
            format!("{before}{}", after.split_once(']').map_or("", |(_, rest)| rest))
        }
        _ => line.trim_end().to_owned(),
    }
}
