//! `kaldera score`: word errors of transcripts.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use kaldera::decoder::score::{
    Keep, Rules, Score, ScoreError, read_ctm, read_stm, read_trn, score_ctm, score_stm, score_trn, score_words,
};
use kaldera::feat::options::Registry as _;

use super::files::{is_standard, read_text};
use super::{Trouble, arguments, print};
use crate::Call;
use crate::parse_options::{ParseOptions, Syntax};

const TOOL: &str = "score";
const USAGE: &str = "\
Count the word errors of transcripts.

Usage: kaldera score [OPTIONS] REF HYP

Both end alike: in .trn (words and a name in parentheses), in .ctm, REF in .stm and HYP in .ctm
(scored as sclite does), or in anything else (Kaldi's text: KEY and words; HYP may be the .jsonl of
'kaldera transcribe'). A file may be - for standard input. Utterances without a hypothesis count as
deleted, with a warning.

Examples:
  kaldera score text hyp.txt
  kaldera score --ignore-case ref.stm hyp.ctm

Exit status: 0 scored, 1 not scored, 2 wrong usage.";

/// How many confusions, deletions and insertions are shown.
const SHOWN: usize = 10;

/// Answers a call of `kaldera score`.
pub(crate) fn run(call: Call<'_>) -> ExitCode {
    super::end(TOOL, score(call))
}

fn score(call: Call<'_>) -> Result<ExitCode, Trouble> {
    let (mut characters, mut ignore_case) = (false, false);
    let mut parser = ParseOptions::new(Syntax::Native, USAGE);
    parser.add("characters", &mut characters, "Count characters instead of words");
    parser.add("ignore-case", &mut ignore_case, "Upper and lower case are the same");
    let Some(plain) = arguments(TOOL, &mut parser, call)? else { return Ok(ExitCode::SUCCESS) };
    drop(parser);
    let names: Option<Vec<String>> = plain.into_iter().map(|name| name.into_string().ok()).collect();
    let Some([reference, hypothesis]) = names.and_then(|names| <[String; 2]>::try_from(names).ok()) else {
        return Err(Trouble::Usage("expected two files, REF and HYP".to_owned()));
    };
    if is_standard(&reference) && is_standard(&hypothesis) {
        return Err(Trouble::Usage("only one of the files can be standard input".to_owned()));
    }
    let texts = (read_text(&reference)?, read_text(&hypothesis)?);
    let failed = |name: &str, error: &dyn std::fmt::Display| Trouble::Failed(format!("{name}: {error}"));
    let of_both = |error: ScoreError| failed(&format!("{reference}, {hypothesis}"), &error);
    let rules = |rules: Rules| rules.with_characters(characters).with_case_sensitive(!ignore_case);
    let score = match (&*ending(&reference), &*ending(&hypothesis)) {
        ("trn", "trn") => {
            let lines = read_trn(&texts.0).map_err(|error| failed(&reference, &error))?;
            let other = read_trn(&texts.1).map_err(|error| failed(&hypothesis, &error))?;
            score_trn(&lines, &other, &rules(Rules::sclite())).map_err(of_both)?
        }
        ("stm", "ctm") => {
            let segments = read_stm(&texts.0).map_err(|error| failed(&reference, &error))?;
            let words = read_ctm(&texts.1).map_err(|error| failed(&hypothesis, &error))?;
            score_stm(&segments, &words, &rules(Rules::sclite()), Keep::default()).map_err(of_both)?.score
        }
        ("ctm", "ctm") => {
            let words = read_ctm(&texts.0).map_err(|error| failed(&reference, &error))?;
            let other = read_ctm(&texts.1).map_err(|error| failed(&hypothesis, &error))?;
            score_ctm(&words, &other, &rules(Rules::sclite()), false).map_err(of_both)?.score
        }
        ("stm" | "ctm" | "trn", _) | (_, "stm" | "ctm" | "trn") => {
            return Err(Trouble::Usage(format!("'{reference}' and '{hypothesis}' are not of kinds that go together")));
        }
        _ => {
            let lines = keyed(&texts.0, &reference)?;
            let other = keyed(&texts.1, &hypothesis)?;
            score_keyed(&lines, &other, &rules(Rules::levenshtein())).map_err(of_both)?
        }
    };
    print(&report(&score))?;
    Ok(ExitCode::SUCCESS)
}

/// The ending of a name, in lower case.
fn ending(name: &str) -> String {
    Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Keys and texts, of lines `KEY WORDS` or of JSON objects; each key once.
pub(super) fn keyed(text: &str, name: &str) -> Result<Vec<(String, String)>, Trouble> {
    let is_json = matches!(&*ending(name), "json" | "jsonl");
    let mut lines = vec![];
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: &str| Trouble::Failed(format!("{name}: line {number}: {what}"));
        let (key, words) = if is_json {
            let value: serde_json::Value = serde_json::from_str(line).map_err(|error| wrong(&error.to_string()))?;
            let get = |key: &str| value.get(key).and_then(|value| value.as_str()).map(str::to_owned);
            match (get("key"), get("text")) {
                (Some(key), Some(text)) => (key, text),
                _ => return Err(wrong("an object with the texts 'key' and 'text' is expected")),
            }
        } else {
            let line = line.trim();
            let (key, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            (key.to_owned(), words.trim().to_owned())
        };
        lines.push((key, words));
    }
    let mut seen = HashMap::new();
    for (key, _) in &lines {
        if seen.insert(key, ()).is_some() {
            return Err(Trouble::Failed(format!("{name}: utterance {key} is there twice")));
        }
    }
    Ok(lines)
}

fn score_keyed(
    references: &[(String, String)],
    hypotheses: &[(String, String)],
    rules: &Rules,
) -> Result<Score, ScoreError> {
    let mut by_key: HashMap<&str, &str> = hypotheses.iter().map(|(key, text)| (&**key, &**text)).collect();
    let mut score = Score::default();
    let mut missing = vec![];
    for (key, reference) in references {
        let hypothesis = by_key.remove(&**key).unwrap_or_else(|| {
            missing.push(&**key);
            ""
        });
        let speaker = key.split(['_', '-']).next().unwrap_or_default();
        score.add(key, speaker, &score_words(reference, hypothesis, rules)?);
    }
    if let [first, ..] = missing[..] {
        tracing::warn!("{} utterances have no hypothesis and count as deleted, the first is {first}", missing.len());
    }
    match by_key.into_keys().min() {
        Some(utterance) => Err(ScoreError::Missing { utterance: utterance.into(), missing: "reference" }),
        None => Ok(score),
    }
}

/// The table of speakers, the most frequent errors, and the line of Kaldi's `compute-wer`.
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
    text
}
