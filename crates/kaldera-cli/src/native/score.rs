//! `kaldera score`: word errors of transcripts.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use kaldera::decoder::score::{
    Case, Keep, Rules, Score, ScoreError, Scored, Units, read_ctm, read_stm, read_trn, score_ctm, score_stm,
    score_words,
};
use kaldera::feat::options::Registry as _;
use kaldera::pipeline::Utterance;
use serde_json::value::RawValue;

use super::files::{is_standard, read_text};
use super::{CliError, arguments, print};
use crate::Call;
use crate::log::printable;
use crate::parse_options::{ParseOptions, Syntax};

const TOOL: &str = "score";
const USAGE: &str = "\
Count the word errors of transcripts.

Usage: kaldera score [OPTIONS] REF HYP
       kaldera score [OPTIONS] MANIFEST

File extensions select the formats: both .trn (words and a name in parentheses), both .ctm, REF .stm and
HYP .ctm, or anything else (Kaldi's text: KEY and words; either may be the .jsonl of 'kaldera
transcribe', or a manifest of NeMo, .jsonl or .json, on lines or as one list, whose text is the reference and
whose pred_text the hypothesis). MANIFEST has both. The names trn, ctm and stm without an extension select their formats, too; use
--format for other names. A file may be - for standard input.

trn, stm and ctm are scored as by sclite: the case of ASCII letters is ignored, a substitution
costs 4, an insertion or deletion 3, and a reference may have alternatives ({ a / b }; in ctm between
<ALT_BEGIN>, <ALT> and <ALT_END>). For text and jsonl each error costs 1, and case is significant.
Words and keys are separated by ASCII white space.

Utterances without a hypothesis count as deleted, and hypotheses without a reference are not scored;
a warning reports both numbers.

Examples:
  kaldera score text hyp.txt
  kaldera score --format=stm data/test/stm.filt hyp.ctm
  kaldera score --ignore-case --mixed text hyp.jsonl
  kaldera score predicted.jsonl

Exit status: 0 success, 1 failure, 2 wrong usage.";

/// Maximum number of confusions, deletions and insertions in the report.
const SHOWN: usize = 10;

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Trn,
    Stm,
    Ctm,
    Text,
    Jsonl,
}

/// The names of formats.
const FORMATS: [&str; 5] = ["trn", "stm", "ctm", "text", "jsonl"];

impl Format {
    /// Returns the format by the extension of a file name (before .gz), or by a name without an
    /// extension.
    fn from_name(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let path = Path::new(name.strip_suffix(".gz").unwrap_or(&name));
        match path.extension().or(path.file_name()).and_then(|ending| ending.to_str()) {
            Some("trn") => Self::Trn,
            Some("stm") => Self::Stm,
            Some("ctm") => Self::Ctm,
            Some("json" | "jsonl") => Self::Jsonl,
            _ => Self::Text,
        }
    }

    /// Returns the formats of REF and HYP, by `--format` or by their names.
    fn from_names(format: &str, names: [&str; 2]) -> [Self; 2] {
        match format {
            "trn" => [Self::Trn; 2],
            "stm" => [Self::Stm, Self::Ctm],
            "ctm" => [Self::Ctm; 2],
            "text" => [Self::Text; 2],
            "jsonl" => [Self::Jsonl; 2],
            _ => names.map(Self::from_name),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trn => "trn",
            Self::Stm => "stm",
            Self::Ctm => "ctm",
            Self::Text => "Kaldi's text",
            Self::Jsonl => "jsonl",
        })
    }
}

/// Answers a call of `kaldera score`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, score(call))
}

#[derive(Default)]
struct Options {
    format: String,
    characters: bool,
    mixed: bool,
    ignore_case: bool,
    case_sensitive: bool,
    reduced: String,
}

impl Options {
    /// Returns the rules of a format with the changes of these options.
    fn rules(&self, rules: Rules) -> Result<Rules, CliError> {
        let exclusive = |a: &str, b: &str| CliError::Usage(format!("options --{a} and --{b} exclude each other"));
        let rules = match (self.characters, self.mixed) {
            (true, true) => return Err(exclusive("characters", "mixed")),
            (true, false) => rules.with_units(Units::Characters),
            (false, true) => rules.with_units(Units::Mixed),
            (false, false) => rules,
        };
        Ok(match (self.ignore_case, self.case_sensitive) {
            (true, true) => return Err(exclusive("ignore-case", "case-sensitive")),
            (true, false) => rules.with_case(Case::Unicode),
            (false, true) => rules.with_case(Case::Distinct),
            (false, false) => rules,
        })
    }

    fn keep(&self) -> Keep {
        match &*self.reduced {
            "ref" => Keep::ReducedReference,
            "hyp" => Keep::ReducedHypothesis,
            "both" => Keep::Both,
            _ => Keep::All,
        }
    }
}

fn score(call: Call<'_>) -> Result<ExitCode, CliError> {
    let mut options = Options::default();
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    parser.add("format", &mut options.format, "Format of both files instead of their extensions; for stm, HYP is ctm");
    parser.choices("format", &FORMATS);
    parser.add("characters", &mut options.characters, "Count characters instead of words");
    parser.add("mixed", &mut options.mixed, "Count Chinese and Japanese characters, and words of other scripts");
    parser.add("ignore-case", &mut options.ignore_case, "Ignore the case of letters of all alphabets");
    parser.add("case-sensitive", &mut options.case_sensitive, "Respect the case of letters, also in trn, stm and ctm");
    parser.add(
        "reduced",
        &mut options.reduced,
        "For stm and ctm, ignore segments outside the times of the other file: in REF, HYP or both (sclite -m)",
    );
    parser.choices("reduced", &["ref", "hyp", "both"]);
    let Some(plain) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    drop(parser);
    let names: Option<Vec<String>> = plain.into_iter().map(|name| name.into_string().ok()).collect();
    let (reference, hypothesis) = match names.as_deref() {
        Some([reference, hypothesis]) => (reference, hypothesis),
        Some([both]) if Format::from_names(&options.format, [both, both])[0] == Format::Jsonl => (both, both),
        _ => {
            return Err(CliError::Usage("expected two files, REF and HYP, or a manifest of NeMo with both".to_owned()));
        }
    };
    let is_both = std::ptr::eq(reference, hypothesis);
    if is_standard(reference) && is_standard(hypothesis) && !is_both {
        return Err(CliError::Usage("only one of the files can be standard input".to_owned()));
    }
    let formats = Format::from_names(&options.format, [reference, hypothesis]);
    let rules = match formats {
        [Format::Trn, Format::Trn] | [Format::Stm | Format::Ctm, Format::Ctm] => Rules::sclite(),
        [Format::Text | Format::Jsonl, Format::Text | Format::Jsonl] => Rules::levenshtein(),
        [left, right] => {
            return Err(CliError::Usage(format!(
                "'{reference}' is {left} and '{hypothesis}' is {right}, by their names, and these cannot be scored \
                 together: use two of trn, of ctm, or of text or jsonl, or stm with ctm; --format sets the formats"
            )));
        }
    };
    let rules = options.rules(rules)?;
    if !options.reduced.is_empty() && formats != [Format::Stm, Format::Ctm] {
        return Err(CliError::Usage("option --reduced is for stm with ctm".to_owned()));
    }
    let first = read_text(reference)?;
    let second = if is_both { String::new() } else { read_text(hypothesis)? };
    let texts = (&*first, if is_both { &*first } else { &*second });
    let of_reference = |error: ScoreError| CliError::Failed(format!("{reference}: {error}"));
    let of_hypothesis = |error: ScoreError| CliError::Failed(format!("{hypothesis}: {error}"));
    let score = match formats {
        [Format::Stm, _] => {
            let segments = read_stm(texts.0).map_err(of_reference)?;
            let words = read_ctm(texts.1).map_err(of_hypothesis)?;
            of_channels(score_stm(&segments, &words, &rules, options.keep()).map_err(of_reference)?)?
        }
        [Format::Ctm, _] => {
            let words = read_ctm(texts.0).map_err(of_reference)?;
            let other = read_ctm(texts.1).map_err(of_hypothesis)?;
            of_channels(score_ctm(&words, &other, &rules, false).map_err(of_reference)?)?
        }
        [left, right] => {
            let lines = keyed(texts.0, reference, left, REFERENCE, is_both)?;
            if lines.is_empty() {
                return Err(CliError::Failed(format!("{reference}: there is no utterance in it")));
            }
            let other = keyed(texts.1, hypothesis, right, HYPOTHESIS, is_both)?;
            score_keyed(&lines, &other, &rules, reference)?
        }
    };
    print(&report(&score))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the score by channels; at least one channel of the hypothesis must be in the reference.
fn of_channels(scored: Scored) -> Result<Score, CliError> {
    let without = &scored.without_reference;
    if let [first, ..] = &without[..] {
        if scored.score.total().counts.hypothesis_words() == 0 {
            return Err(CliError::Failed(format!(
                "no recording and channel of the hypothesis has a reference; the first is '{first}'"
            )));
        }
        tracing::warn!(
            "{} recordings and channels of the hypothesis have no reference and are not scored, the first is {first}",
            without.len()
        );
    }
    Ok(scored.score)
}

/// A key and its text.
type Line<'t> = (Cow<'t, str>, Cow<'t, str>);

/// Returns the lines of a transcript with their keys.
pub(super) fn transcripts<'t>(text: &'t str, name: &str) -> Result<Vec<Line<'t>>, CliError> {
    keyed(text, name, Format::from_name(name), REFERENCE, false)
}

/// The fields of words in NeMo's manifests.
const REFERENCE: &str = "text";
const HYPOTHESIS: &str = "pred_text";

/// Parses lines `KEY WORDS`, `WORDS (KEY)` or JSON objects, or a JSON list of such objects, into
/// keys and texts; each key may occur once. The words of an entry of NeMo's manifest are in
/// `field`; with `only_nemo` all are such entries.
fn keyed<'t>(
    text: &'t str,
    name: &str,
    format: Format,
    field: &str,
    only_nemo: bool,
) -> Result<Vec<Line<'t>>, CliError> {
    if format == Format::Trn {
        // `read_trn` has checked that keys are unique.
        let lines = read_trn(text).map_err(|error| CliError::Failed(format!("{name}: {error}")))?;
        return Ok(lines.into_iter().map(|line| (line.utterance.into(), line.text.into())).collect());
    }
    let (place, all): (_, Vec<&str>) = if format == Format::Jsonl && text.trim_ascii_start().starts_with('[') {
        let list: Vec<&RawValue> =
            serde_json::from_str(text).map_err(|error| CliError::Failed(format!("{name}: {error}")))?;
        ("entry", list.into_iter().map(RawValue::get).collect())
    } else {
        ("line", text.lines().collect())
    };
    let mut lines: Vec<Line<'t>> = vec![];
    for (number, line) in (1..).zip(all).filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let wrong = |what: &str| CliError::Failed(format!("{name}: {place} {number}: {what}"));
        lines.push(if format == Format::Jsonl {
            let value: serde_json::Value = serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?;
            let get = |key: &str| value.get(key).and_then(|value| value.as_str()).map(str::to_owned);
            if only_nemo || value.get("audio_filepath").is_some() {
                let utterance = Utterance::from_nemo(line).map_err(|error| wrong(&error.to_string()))?;
                let text = get(field).ok_or_else(|| {
                    let remedy =
                        if field == HYPOTHESIS { ": 'kaldera transcribe --format=nemo' writes it" } else { "" };
                    wrong(&format!("NeMo's manifest: it has no text '{field}'{remedy}"))
                })?;
                (utterance.key.into(), text.into())
            } else {
                match (get("key"), get("text")) {
                    (Some(key), Some(text)) => (key.into(), text.into()),
                    _ => return Err(wrong("an object with the texts 'key' and 'text' is expected")),
                }
            }
        } else {
            let line = line.trim_ascii();
            let (key, words) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
            (key.into(), words.trim_ascii_start().into())
        });
    }
    let mut seen = HashSet::new();
    match lines.iter().find(|(key, _)| !seen.insert(&**key)) {
        Some((key, _)) => Err(CliError::Failed(format!("{name}: utterance {key} is there twice"))),
        None => Ok(lines),
    }
}

fn score_keyed(
    references: &[Line<'_>],
    hypotheses: &[Line<'_>],
    rules: &Rules,
    reference: &str,
) -> Result<Score, CliError> {
    let mut by_key: HashMap<&str, &str> = hypotheses.iter().map(|(key, text)| (&**key, &**text)).collect();
    let mut score = Score::default();
    let mut missing = vec![];
    for (key, text) in references {
        let hypothesis = by_key.remove(&**key).unwrap_or_else(|| {
            missing.push(&**key);
            ""
        });
        let aligned = score_words(text, hypothesis, rules).map_err(|error| match error {
            ScoreError::Alternatives { reason, .. } => {
                CliError::Failed(format!("{reference}: {key}: '{text}': {reason}"))
            }
            error => CliError::Failed(format!("{reference}: {key}: {error}")),
        })?;
        score.add(key.split(['_', '-']).next().unwrap_or_default(), &aligned);
    }
    if let [(other, _), ..] = hypotheses
        && by_key.len() == hypotheses.len()
    {
        let first = missing
            .first()
            .map_or(String::new(), |first| format!(", and the first key of the references is '{first}'"));
        return Err(CliError::Failed(format!("no hypothesis has a reference: the first key is '{other}'{first}")));
    }
    if let [first, ..] = missing[..] {
        tracing::warn!("{} utterances have no hypothesis and count as deleted, the first is {first}", missing.len());
    }
    let extra = by_key.len();
    if let Some(first) = hypotheses.iter().map(|(key, _)| &**key).find(|&key| by_key.contains_key(key)) {
        tracing::warn!("{extra} hypotheses have no reference and are not scored, the first is {first}");
    }
    Ok(score)
}

/// Formats the table of speakers, the most frequent errors, and the line of Kaldi's `compute-wer`.
fn report(score: &Score) -> String {
    use std::fmt::Write as _;

    let mut text = score.to_string();
    let mut list = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = write!(text, "\n{title}\n{}\n", lines.join("\n"));
        }
    };
    let confusions = score.confusions();
    list("confused", confusions.iter().take(SHOWN).map(|(a, b, count)| format!("{count:5}  {a} -> {b}")).collect());
    let line = |(word, count): &(&str, usize)| format!("{count:5}  {word}");
    list("deleted", score.deletions().iter().take(SHOWN).map(line).collect());
    list("inserted", score.insertions().iter().take(SHOWN).map(line).collect());
    let total = score.total();
    let counts = total.counts;
    let _ = writeln!(
        text,
        "\n%WER {:.2} [ {} / {}, {} ins, {} del, {} sub ]",
        100.0 * total.error_rate(),
        counts.errors(),
        counts.words(),
        counts.insertions,
        counts.deletions,
        counts.substitutions
    );
    // Names and words may hold any characters.
    if text.contains(|c: char| c.is_control() && c != '\n') {
        text = text.split('\n').map(printable).collect::<Vec<_>>().join("\n");
    }
    text
}
