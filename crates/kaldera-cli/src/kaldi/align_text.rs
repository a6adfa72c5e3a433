//! `align-text`: words of two texts side by side.

use std::process::ExitCode;

use kaldera::feat::options::{OptionSet, Registry};
use kaldera::io::table::RandomAccessReader;
use tracing::warn;

use super::Failure;
use super::driver::map_table;
use crate::{Call, Tool};

pub(super) const TOOL: Tool = Tool { name: "align-text", about: "Align the words of two texts", run };

const USAGE: &str =
    "Aligns the words of the utterances with the same key by the edit distance. Pairs are written with a
separator between them; a symbol stands for a missing word.
Usage: align-text [options] <text1-rspecifier> <text2-rspecifier> <alignment-wspecifier>
For example: align-text ark:ref.txt ark:hyp.txt ark,t:alignment.txt";

struct Options {
    special_symbol: String,
    separator: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { special_symbol: "<eps>".into(), separator: ";".into() }
    }
}

impl OptionSet for Options {
    fn register<'a>(&'a mut self, registry: &mut dyn Registry<'a>) {
        registry.add("special-symbol", &mut self.special_symbol, "Symbol in the place of a missing word");
        registry.add("separator", &mut self.separator, "Word between two pairs");
    }
}

fn run(call: Call<'_>) -> ExitCode {
    super::run(TOOL.name, USAGE, call, Options::default(), |options, [first, second, output]| {
        let mut others = RandomAccessReader::<Vec<String>>::open(&second)?;
        let counts = map_table(&first, &output, |key, words: Vec<String>| {
            if !others.has_key(key)? {
                warn!("leaving out {key}: it is not in {second}");
                return Ok(None);
            }
            let other = others.value(key)?;
            if words.iter().chain(other).any(|word| *word == options.special_symbol) {
                let (name, value) = ("special-symbol", options.special_symbol.clone());
                return Err(Failure::Option { name, value, expected: "a symbol that is no word of the texts" });
            }
            let mut line = Vec::new();
            for (word, other) in align(&words, other) {
                if !line.is_empty() {
                    line.push(options.separator.clone());
                }
                line.extend([word, other].map(|word| word.unwrap_or(&options.special_symbol).to_owned()));
            }
            Ok(Some(line))
        })?;
        counts.log("aligned", "texts");
        Ok(counts.any_done())
    })
}

/// The last step of a best alignment of two beginnings.
#[derive(Clone, Copy)]
enum Step {
    Both,
    First,
    Second,
}

/// Aligns words by the edit distance. Among equal ways, the last words are a pair if they can be,
/// else a word of the first text stands for itself.
fn align<'a>(first: &'a [String], second: &'a [String]) -> Vec<(Option<&'a str>, Option<&'a str>)> {
    let width = second.len() + 1;
    let mut steps = Vec::with_capacity((first.len() + 1) * width);
    let mut costs: Vec<usize> = (0..width).collect();
    steps.extend(std::iter::repeat_n(Step::Second, width));
    for word in first {
        let mut diagonal = costs[0];
        costs[0] += 1;
        steps.push(Step::First);
        for (at, other) in second.iter().enumerate() {
            let both = diagonal + usize::from(word != other);
            let (only_first, only_second) = (costs[at + 1] + 1, costs[at] + 1);
            let (step, cost) = if both <= only_first.min(only_second) {
                (Step::Both, both)
            } else if only_first <= only_second {
                (Step::First, only_first)
            } else {
                (Step::Second, only_second)
            };
            diagonal = std::mem::replace(&mut costs[at + 1], cost);
            steps.push(step);
        }
    }
    let (mut m, mut n, mut pairs) = (first.len(), second.len(), Vec::new());
    while m > 0 || n > 0 {
        let step = steps[m * width + n];
        let (own, other) = (!matches!(step, Step::Second), !matches!(step, Step::First));
        m -= usize::from(own);
        n -= usize::from(other);
        pairs.push((own.then(|| &*first[m]), other.then(|| &*second[n])));
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use super::align;

    #[test]
    fn equal_ways_are_chosen_as_kaldi_does() {
        let shown = |first: &str, second: &str| {
            let [first, second] = [first, second].map(|text| text.split(' ').map(str::to_owned).collect::<Vec<_>>());
            let pairs = align(&first, &second).into_iter();
            pairs.map(|(a, b)| format!("{}{}", a.unwrap_or("-"), b.unwrap_or("-"))).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown("a b c", "a c"), "aa b- cc");
        assert_eq!(shown("a b", "x a b y"), "-x aa bb -y");
        assert_eq!(shown("a b", "c"), "a- bc");
        assert_eq!(shown("a a", "a"), "a- aa");
        assert!(align(&[], &[]).is_empty());
    }
}
