//! ARPA files whose words are numbers, by the rules of Kaldi's `ArpaFileParser`.

use std::io::BufRead;

use super::file::MAX_ORDER;
use crate::core::limits::Limits;
use crate::error::{Error, Quantity};
use crate::graphs::lines::Lines;
use crate::graphs::ngram::layout::check_limit;
use crate::graphs::ngram::lists::Level;
use crate::support::ids::narrow;

/// Name of the text in messages.
const WHAT: &str = "n-gram model of numbers";
const BLANKS: [char; 2] = [' ', '\t'];

/// Reads the n-grams of each order, sorted by their words, with natural logarithms. The words
/// before the last one of each n-gram are an n-gram.
pub(super) fn read(
    reader: impl BufRead,
    limits: Limits,
    warn: &mut dyn FnMut(usize, &str),
) -> Result<Vec<Level>, Error> {
    let mut lines = Lines::new(WHAT, reader);
    let counts = read_counts(&mut lines, warn)?;
    let highest = counts.len();
    let mut levels: Vec<Level> = Vec::new();
    let (mut taken, mut ngram) = (0, Vec::new());
    for (order, &expected) in (1..).zip(&counts) {
        if expected == 0 {
            warn(lines.number(), &format!("the header counts 0 n-grams of order {order}"));
        }
        let section = format!("\\{order}-grams:");
        if directive(&lines) != section {
            return Err(lines.error("the sections must follow each other as 1-grams, 2-grams and so on", lines.whole()));
        }
        let next = format!("\\{}-grams:", order + 1);
        let (mut level, mut numbers, mut found) = (Level::new(order), Vec::new(), 0_i64);
        // Kaldi does not take a line without an end for an n-gram.
        while lines.advance()? && lines.is_whole() {
            if lines.text().is_empty() {
                continue;
            }
            if lines.whole().starts_with('\\') {
                let directive = directive(&lines);
                if directive == next || directive == "\\end\\" {
                    break;
                }
                warn(lines.number(), &format!("'{directive}' is taken for an n-gram"));
            }
            let (score, backoff) = parse(&lines, order, highest, &mut ngram)?;
            found += 1;
            Error::fit(Quantity::Ngrams, level.len())?;
            level.push(&ngram, score, backoff);
            numbers.push(lines.number());
            let of_lines = 2 * size_of::<usize>() * numbers.len();
            check_limit(limits, taken + level.bytes() + of_lines, level.len())?;
        }
        if found > expected.into() {
            let [expected, found] = [expected.into(), found].map(|count: i64| u64::try_from(count).unwrap_or(0));
            return Err(Error::NgramCount { order, expected, found });
        }
        let moved = sort(&mut level);
        let line_of = |at: usize| numbers[moved.as_ref().map_or(at, |moved| moved[at] as usize)];
        let wrong = |level: &Level, at: usize, problem| {
            let words: Vec<_> = level.ngram(at).iter().map(u32::to_string).collect();
            Error::Line { what: WHAT, line: line_of(at), problem, found: words.join(" ") }
        };
        if let Some(again) = level.repeated().filter(|_| order < highest || order == 1) {
            return Err(wrong(&level, again, "an n-gram stands there twice"));
        }
        if let Some(shorter) = levels.last() {
            let mut parent = 0;
            for at in 0..level.len() {
                let history = &level.ngram(at)[..order - 1];
                while parent < shorter.len() && shorter.ngram(parent) < history {
                    parent += 1;
                }
                if parent == shorter.len() || shorter.ngram(parent) != history {
                    return Err(wrong(&level, at, "the words before its last one are no n-gram"));
                }
            }
        }
        taken += level.bytes();
        levels.push(level);
    }
    if directive(&lines) != "\\end\\" {
        return Err(lines.error("there should be \\end\\", lines.whole()));
    }
    Ok(levels)
}

/// Returns the current line without blanks behind it, as Kaldi compares it with the names of
/// sections. A line without an end has its blanks.
fn directive<R: BufRead>(lines: &Lines<R>) -> &str {
    let line = lines.whole();
    if lines.is_whole() { line.trim_end_matches([' ', '\t', '\n', '\r']) } else { line }
}

/// Reads the counts of `\data\`, up to the first section's name, which stays the current line.
fn read_counts<R: BufRead>(lines: &mut Lines<R>, warn: &mut dyn FnMut(usize, &str)) -> Result<Vec<i32>, Error> {
    let (mut counts, mut is_data) = (Vec::new(), false);
    while lines.advance()? && lines.is_whole() {
        let line = directive(lines);
        if !is_data {
            is_data = line == "\\data\\";
            continue;
        }
        if line.is_empty() {
            continue;
        }
        if line.starts_with('\\') {
            break;
        }
        let fields: Vec<_> = line.split(BLANKS).filter(|field| !field.is_empty()).collect();
        let spread = fields.join(" ").replacen('=', " = ", 1);
        let fields: Vec<_> = spread.split(BLANKS).filter(|field| !field.is_empty()).collect();
        let ["ngram", order, "=", count] = fields[..] else {
            warn(lines.number(), "a line of the header that says nothing of n-grams");
            continue;
        };
        let (Some(order), Some(count)) = (integer(order), integer(count)) else {
            return Err(lines.error("there should be `ngram ORDER=COUNT`", line));
        };
        let order = usize::try_from(order).ok().filter(|order| (1..=MAX_ORDER).contains(order));
        let order = order.ok_or_else(|| lines.error("an order that is not within 1 and 16", line))?;
        counts.resize(order.max(counts.len()), 0);
        counts[order - 1] = count;
    }
    if counts.is_empty() {
        return Err(lines.error("the section \\data\\ is missing, or says nothing of n-grams", ""));
    }
    Ok(counts)
}

/// Returns the logarithms of the current line; its words are written to `ngram`.
fn parse<R: BufRead>(
    lines: &Lines<R>,
    order: usize,
    highest: usize,
    ngram: &mut Vec<u32>,
) -> Result<(f32, f32), Error> {
    // Other blanks, such as a carriage return, are a part of a field.
    let line = lines.whole().trim_end_matches('\n');
    let mut fields = line.split(BLANKS).filter(|field| !field.is_empty());
    let most = if order == highest { order + 1 } else { order + 2 };
    if !(order + 1..=most).contains(&fields.clone().count()) {
        return Err(lines.error("too many fields, or too few", line));
    }
    let logarithm =
        |text: &str| natural(text).ok_or_else(|| lines.error("there should be a logarithm of a probability", text));
    let score = logarithm(fields.next().unwrap_or_default())?;
    ngram.clear();
    for text in fields.by_ref().take(order) {
        let word = integer(text).and_then(|word| u32::try_from(word).ok()).filter(|&word| word > 0);
        ngram.push(word.ok_or_else(|| lines.error("there should be the number of a word, 1 or above", text))?);
    }
    Ok((score, fields.next().map_or(Ok(0.0), logarithm)?))
}

/// Parses an integer, which may have blanks around it.
fn integer(text: &str) -> Option<i32> {
    text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b').parse().ok()
}

/// Parses a decimal logarithm in single precision, and returns the natural one.
fn natural(text: &str) -> Option<f32> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b').to_ascii_lowercase();
    let (sign, number) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(&text)),
    };
    match number {
        "inf" | "infinity" | "1.#inf" => return Some(sign * f32::INFINITY),
        "nan" | "1.#qnan" => return Some(f32::NAN.copysign(sign)),
        _ => {}
    }
    let log10 = text.parse::<f32>().ok().filter(|log10| log10.is_finite())?;
    Some(narrow(f64::from(log10) * std::f64::consts::LN_10))
}

/// Sorts n-grams by their words; returns the old index of each, if any has moved. N-grams of the
/// same words keep their order.
fn sort(level: &mut Level) -> Option<Vec<u32>> {
    /// Counting takes as many counters as there are numbers of words, which may be far apart.
    const SPARE: usize = 1 << 16;
    let words = level.words.iter().max().map_or(0, |&word| word as usize + 1);
    if words <= SPARE + 4 * level.len() {
        return level.sort(words);
    }
    if level.ngrams().is_sorted() {
        return None;
    }
    let mut order: Vec<u32> = (0..).take(level.len()).collect();
    order.sort_by_key(|&at| level.ngram(at as usize));
    level.reorder(&order);
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_read_as_kaldi_reads_them() {
        for (text, expected) in [("-inf", f32::NEG_INFINITY), ("INF", f32::INFINITY), ("-0.25\r", -0.575_646_3)] {
            assert_eq!(natural(text), Some(expected));
        }
        assert!(natural("nan").is_some_and(f32::is_nan));
        for text in ["-0x1p-2", "1e99", "", "1e", "--1", "infinite", "0.5,", "- 1"] {
            assert_eq!(natural(text), None, "{text}");
        }
    }

    #[test]
    fn integers_may_have_blanks_around_them() {
        assert_eq!(
            [" 7\r", "+7", "-7", "7x", "", "3000000000"].map(integer),
            [Some(7), Some(7), Some(-7), None, None, None]
        );
    }
}
