//! Comparison of two results of a recogniser: words, then numbers, then the layout of the text.

use serde_json::Value;

use crate::verdict::near;
use crate::{Stop, Verdict};

/// Times in seconds, and confidences.
const TOLERANCES: [(&str, f64); 3] = [("start", 5e-3), ("end", 5e-3), ("conf", CONFIDENCE)];
const CONFIDENCE: f64 = 0.02;

/// The `confidence` of an alternative is minus its cost. Its distance from the best one decides
/// words, and has the tolerance of a confidence. The cost of the best one is a sum over all frames,
/// and has this share of itself: libvosk and Kaldi's lattices in `lat-raw.ark` differ by as much
/// (`zeros`: 255.797 and 254.443).
const COST: f64 = 0.006;

/// Of so many recordings one may have other words: two builds of Kaldi agree in 22 of 24.
const ONE_OF: usize = 12;

/// The differences of a recording.
#[derive(Default)]
pub(crate) struct Comparison {
    /// Words, the number of results and where they end: a path that falls out of the beam changes
    /// them.
    pub(crate) words: Vec<String>,
    /// Numbers, where the words are the same.
    pub(crate) numbers: Vec<String>,
    /// The layout of texts, where the words are the same.
    pub(crate) layout: Vec<String>,
}

impl Comparison {
    /// Compares two values; numbers only if the words are the same.
    pub(crate) fn values(&mut self, place: &str, expected: &Value, came: &Value) {
        let (mut expected_words, mut came_words) = (Vec::new(), Vec::new());
        texts(expected, &mut expected_words);
        texts(came, &mut came_words);
        if expected_words == came_words {
            self.numbers(place, expected, came);
        } else {
            let [expected, came] = [expected_words, came_words].map(|words| words.join(" "));
            self.words.push(format!("{place}: expected {expected:?}, came {came:?}"));
        }
    }

    /// Compares two texts, JSON or NLSML: its layout byte by byte, apart from the digits.
    pub(crate) fn texts(&mut self, place: &str, expected: &str, came: &str) -> Result<(), Stop> {
        let (layout, numbers) = masked(expected);
        let (came_layout, came_numbers) = masked(came);
        if expected.starts_with('{') && came.starts_with('{') {
            let words = self.words.len();
            self.values(place, &serde_json::from_str(expected)?, &serde_json::from_str(came)?);
            if self.words.len() == words && layout != came_layout {
                self.layout.push(format!("{place}: the layout differs: expected {expected:?}, came {came:?}"));
            }
            return Ok(());
        }
        if layout != came_layout {
            self.words.push(format!("{place}: expected {expected:?}, came {came:?}"));
            return Ok(());
        }
        self.costs(place, &numbers, &came_numbers);
        Ok(())
    }

    fn numbers(&mut self, place: &str, expected: &Value, came: &Value) {
        match (expected, came) {
            (Value::Object(expected), Value::Object(came)) if expected.keys().eq(came.keys()) => {
                for (name, value) in expected {
                    self.numbers(&format!("{place}.{name}"), value, &came[name]);
                }
            }
            (Value::Array(expected), Value::Array(came)) if expected.len() == came.len() => {
                let costs =
                    |list: &[Value]| list.iter().filter_map(|one| one["confidence"].as_f64()).collect::<Vec<_>>();
                self.costs(place, &costs(expected), &costs(came));
                for (i, (expected, came)) in expected.iter().zip(came).enumerate() {
                    self.numbers(&format!("{place}.{i}"), expected, came);
                }
            }
            (Value::Number(_), Value::Number(_)) if place.ends_with(".confidence") => {}
            (Value::Number(expected), Value::Number(came)) => {
                let number = |number: &serde_json::Number| number.as_f64().unwrap_or(f64::NAN);
                self.number(place, number(expected), number(came));
            }
            (expected, came) if expected == came => {}
            (expected, came) => self.numbers.push(format!("{place}: expected {expected}, came {came}")),
        }
    }

    /// Compares minus the costs of alternatives.
    fn costs(&mut self, place: &str, expected: &[f64], came: &[f64]) {
        let (Some(&best), Some(&own_best)) = (expected.first(), came.first()) else { return };
        let is_near = near(best, own_best, COST * best.abs());
        let is_as_far = |(expected, came): (&f64, &f64)| near(best - expected, own_best - came, CONFIDENCE);
        if expected.len() != came.len() || !is_near || !expected.iter().zip(came).all(is_as_far) {
            self.numbers.push(format!("{place}: expected the confidences {expected:?}, came {came:?}"));
        }
    }

    fn number(&mut self, place: &str, expected: f64, came: f64) {
        let name = place.rsplit('.').next().unwrap_or_default();
        let tolerance = TOLERANCES.into_iter().find(|(known, _)| *known == name).map_or(0.0, |(_, bound)| bound);
        if !near(expected, came, tolerance) {
            self.numbers.push(format!("{place}: expected {expected}, came {came}"));
        }
    }
}

/// Collects all texts in order: the words.
fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(values) => values.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// Returns a text with `#` for its numbers, at most one a line, and the numbers. In JSON, a number
/// keeps the count of its decimals.
fn masked(text: &str) -> (String, Vec<f64>) {
    let (mut layout, mut numbers) = (String::new(), Vec::new());
    for line in text.split_inclusive('\n') {
        let found = ["\" : ", "confidence=\""].iter().find_map(|before| {
            let begin = line.find(before)? + before.len();
            let rest = &line[begin..];
            let length = rest.find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+' | 'e')).unwrap_or(rest.len());
            Some((begin, begin + length, rest[..length].parse().ok()?))
        });
        let Some((begin, end, number)) = found else {
            layout.push_str(line);
            continue;
        };
        numbers.push(number);
        layout.push_str(&line[..begin]);
        layout.push('#');
        if line[..begin].ends_with(": ") {
            let decimals = line[begin..end].split_once('.').map_or("", |(_, decimals)| decimals);
            layout.extend(decimals.chars().map(|_| '#'));
        }
        layout.push_str(&line[end..]);
    }
    (layout, numbers)
}

/// Returns the verdicts on recordings that one rule binds: one of [`ONE_OF`] may have other words,
/// and is then named; the numbers of the others must hold, and all layouts.
pub(crate) fn verdicts(found: Vec<Result<Comparison, Verdict>>) -> Vec<Verdict> {
    let others = found.iter().flatten().filter(|found| !found.words.is_empty()).count();
    let may_differ = others <= found.len().div_ceil(ONE_OF);
    let verdict = |found: Result<Comparison, Verdict>| match found {
        Err(verdict) => verdict,
        Ok(Comparison { words, layout, .. }) if may_differ && layout.is_empty() && !words.is_empty() => {
            Verdict::Free(Some(format!("other words, as one of {ONE_OF} may have: {}", words.join("; "))))
        }
        Ok(Comparison { words, numbers, layout }) => Verdict::of([words, numbers, layout].concat()),
    };
    found.into_iter().map(verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(expected: &str, came: &str) -> Comparison {
        let mut comparison = Comparison::default();
        comparison.texts("", expected, came).unwrap_or_else(|_| panic!("{came} is no JSON"));
        comparison
    }

    #[test]
    fn numbers_have_the_tolerance_of_their_name_and_layout_is_exact() {
        let text = "{\n  \"result\" : [{\n      \"conf\" : 0.500000,\n      \"end\" : 1.500000,\n      \"word\" : \"5.1\"\n    }]\n}";
        for (from, to, words, rest) in [
            ("", "", 0, 0),
            ("0.500000", "0.519000", 0, 0),
            ("0.500000", "0.521000", 0, 1),
            ("1.500000", "1.504000", 0, 0),
            ("1.500000", "1.506000", 0, 1),
            ("0.500000", "0.5", 0, 1),
            ("  \"result\"", " \"result\"", 0, 1),
            ("5.1", "5.2", 1, 0),
        ] {
            let found = compared(text, &text.replacen(from, to, 1));
            assert_eq!((found.words.len(), found.numbers.len() + found.layout.len()), (words, rest), "{from} {to}");
        }
        let nlsml = "<i confidence=\"72.28\">\n<input>a</input>\n<i confidence=\"70\">\n<input>b</input>\n";
        assert!(compared(nlsml, &nlsml.replace("\"70\"", "\"70.015\"")).numbers.is_empty());
        assert_eq!(compared(nlsml, &nlsml.replace("\"70\"", "\"70.025\"")).numbers.len(), 1);
        assert!(compared(nlsml, &nlsml.replace("72.28", "72.38").replace("\"70\"", "\"70.1\"")).numbers.is_empty());
        assert_eq!(compared(nlsml, &nlsml.replace("72.28", "72.88").replace("\"70\"", "\"70.6\"")).numbers.len(), 1);
        assert_eq!(compared(nlsml, &nlsml.replace(">a<", ">c<")).words.len(), 1);
    }

    #[test]
    fn one_of_twelve_may_have_other_words() {
        let other = || Ok(Comparison { words: vec!["other".to_owned()], ..Comparison::default() });
        let mut found: Vec<_> = (0..11).map(|_| Ok(Comparison::default())).collect();
        found.push(other());
        assert!(matches!(verdicts(found).as_slice(), [.., Verdict::Holds, Verdict::Free(Some(_))]));
        let found = vec![other(), other()];
        assert!(verdicts(found).iter().all(|verdict| matches!(verdict, Verdict::Fails(_))));
    }
}
