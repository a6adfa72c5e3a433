//! `compute-wer` and `compute-wer-bootci`: word error rates of texts.

use std::fmt::Write;
use std::process::ExitCode;

use kaldera::decoder::score::{Counts, Rules, align_words, bootstrap};
use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::table::{RandomAccessReader, SequentialReader};

use crate::kaldi::Failure;
use crate::{Call, Tool, log};

pub(super) const TOOL: Tool = Tool { name: "compute-wer", about: "Word and sentence error rates of texts", run };
pub(super) const BOOTSTRAP: Tool =
    Tool { name: "compute-wer-bootci", about: "Confidence intervals of word error rates", run: run_bootstrap };

const USAGE: &str = "Compares hypotheses with references and prints word and sentence error rates.
Usage: compute-wer [options] <ref-rspecifier> <hyp-rspecifier>
For example: compute-wer --mode=present ark:data/test/text ark:hyp.txt";

const USAGE_BOOTSTRAP: &str =
    "Prints a 95 % confidence interval of the word error rate by bootstrapping (Bisani and Ney,
2004); with a second table of hypotheses, also the probability that it is better than the first.
Usage: compute-wer-bootci [options] <ref-rspecifier> <hyp-rspecifier> [<hyp2-rspecifier>]
For example: compute-wer-bootci --mode=present ark:data/test/text ark:hyp.txt ark:hyp2.txt";

/// Seed of the random draws.
const SEED: u64 = 0;

struct Options {
    mode: String,
    text: bool,
    replications: Option<i32>,
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        let mode = "References without a hypothesis: 'strict' is an error, 'present' skips the reference, 'all' uses \
                    an empty hypothesis";
        registry.add("mode", &mut self.mode, mode);
        match &mut self.replications {
            Some(replications) => registry.add("replications", replications, "Number of bootstrap samples"),
            None => registry.add("text", &mut self.text, "Has no effect; tables are read as text"),
        }
    }
}

/// Treatment of a reference without a hypothesis.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Strict,
    Present,
    All,
}

impl Options {
    fn new(replications: Option<i32>) -> Self {
        Self { mode: "strict".into(), text: false, replications }
    }

    fn mode(&self) -> Result<Mode, Failure> {
        match &*self.mode {
            "strict" => Ok(Mode::Strict),
            "present" => Ok(Mode::Present),
            "all" => Ok(Mode::All),
            value => {
                let expected = "strict, present or all";
                Err(Failure::Option { name: "mode", value: value.into(), expected })
            }
        }
    }
}

/// Counts of an utterance for each table of hypotheses; `None` if the table lacks the utterance.
type Scored = Vec<Option<Counts>>;

/// Scores each reference with all tables of hypotheses.
fn score(reference: &str, hypotheses: &[String], mode: Mode) -> Result<Vec<(Scored, usize)>, Failure> {
    let mut tables = hypotheses
        .iter()
        .map(|specifier| RandomAccessReader::<Vec<String>>::open(specifier))
        .collect::<Result<Vec<_>, _>>()?;
    let mut scored = vec![];
    for entry in SequentialReader::<Vec<String>>::open(reference)? {
        let (key, words) = entry?;
        let mut counts: Scored = vec![];
        for table in &mut tables {
            counts.push(if table.has_key(&key)? {
                Some(align_words(&words, table.value(&key)?, &Rules::levenshtein()).counts)
            } else if mode == Mode::Strict {
                return Err(Failure::NoHypothesis { key });
            } else {
                None
            });
        }
        scored.push((counts, words.len()));
    }
    Ok(scored)
}

fn missing(words: usize) -> Counts {
    Counts { deletions: words, ..Counts::default() }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run_reading(TOOL.name, USAGE, call, Options::new(None), 2..=2, |options, plain| {
        let mode = options.mode()?;
        let (mut total, mut sentences, mut wrong, mut absent) = (Counts::default(), 0_usize, 0_usize, 0_usize);
        for (counts, words) in score(&plain[0], &plain[1..], mode)? {
            let counts = match counts[0] {
                Some(counts) => counts,
                None => {
                    absent += 1;
                    if mode == Mode::Present {
                        continue;
                    }
                    missing(words)
                }
            };
            total += counts;
            sentences += 1;
            wrong += usize::from(counts.errors() > 0);
        }
        let Counts { insertions, deletions, substitutions, .. } = total;
        let (errors, words) = (total.errors(), total.words());
        let partial = if absent > 0 { " [PARTIAL]" } else { "" };
        let text = format!(
            "%WER {} [ {errors} / {words}, {insertions} ins, {deletions} del, {substitutions} sub ]{partial}\n\
             %SER {} [ {wrong} / {sentences} ]\n\
             Scored {sentences} sentences, {absent} not present in hyp.\n",
            percent(errors, words),
            percent(wrong, sentences)
        );
        say(&text)?;
        Ok(true)
    })
}

/// Formats a percentage with two decimals; if `whole` is 0, as the C library writes the quotient.
#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return if part == 0 { "-nan" } else { "inf" }.into();
    }
    format!("{:.2}", 100.0 * part as f64 / whole as f64)
}

fn run_bootstrap(call: Call<'_>) -> ExitCode {
    super::run_reading(BOOTSTRAP.name, USAGE_BOOTSTRAP, call, Options::new(Some(10_000)), 2..=3, |options, plain| {
        let mode = options.mode()?;
        let replications =
            options.replications.and_then(|count| usize::try_from(count).ok()).filter(|&count| count > 1);
        let value = options.replications.unwrap_or_default().to_string();
        let refused = Failure::Option { name: "replications", value, expected: "2 or more" };
        let replications = replications.ok_or(refused)?;
        let mut sets: Vec<Vec<Counts>> = vec![vec![]; plain.len() - 1];
        for (counts, words) in score(&plain[0], &plain[1..], mode)? {
            if mode == Mode::Present && counts.contains(&None) {
                continue;
            }
            for (set, counts) in sets.iter_mut().zip(counts) {
                set.push(counts.unwrap_or_else(|| missing(words)));
            }
        }
        let mut text = String::new();
        for (number, set) in (1..).zip(&sets) {
            let interval = bootstrap(set, None, replications, SEED)?;
            let (mean, half) = (100.0 * interval.mean, 100.0 * interval.half_width);
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "Set{number}: %WER {mean:.2} 95% Conf Interval [ {:.2}, {:.2} ]",
                mean - half,
                mean + half
            );
        }
        if let [first, second] = &sets[..] {
            let better = bootstrap(first, Some(second), replications, SEED)?.improvement.unwrap_or_default();
            let _ = writeln!(text, "Probability of Set2 improving Set1: {:.2}", 100.0 * better);
        }
        say(&text)?;
        Ok(true)
    })
}

fn say(text: &str) -> Result<(), Failure> {
    Ok(log::print(text).map_err(kaldera::io::Error::from)?)
}
