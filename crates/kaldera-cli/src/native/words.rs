//! Words with times, from the files of `transcribe`, `align` and other programs.

use std::path::Path;

use kaldera::base::text::from_utf8;
use kaldera::decoder::align::read_text_grid;
use kaldera::decoder::score::read_ctm;
use serde_json::Value;

use super::CliError;
use super::files::read_bytes;

/// The file extensions of formats.
pub(super) const ENDINGS: &str = ".ctm, .TextGrid, .jsonl or .json";

/// Name of the tier that is used if a TextGrid has several.
const TIER: &str = "words";

/// Advice for a text that cannot be read.
const REMEDY: &str = "save it as UTF-8";

/// Maximum number of keys in an error.
const KEYS_SHOWN: usize = 5;

/// A word and its times in seconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    /// Text without control characters, which a terminal would obey.
    pub(super) text: String,
    pub(super) start: f64,
    pub(super) end: f64,
}

impl Word {
    pub(super) fn new(text: &str, start: f64, end: f64) -> Self {
        Self { text: text.replace(char::is_control, "\u{fffd}"), start, end }
    }
}

/// Reads the words of the recording `key`, sorted by start. A TextGrid has one recording, and `key`
/// is ignored.
pub(super) fn read(file: &str, key: &str) -> Result<Vec<Word>, CliError> {
    let ending = Path::new(file).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let read = match &*ending.to_ascii_lowercase() {
        "ctm" => of_ctm,
        "textgrid" => of_text_grid,
        "json" | "jsonl" => of_json,
        _ => return Err(CliError::Usage(format!("option --words: '{file}' must end in {ENDINGS}"))),
    };
    let words = text_of(read_bytes(file)?).and_then(|text| read(&text, key));
    let mut words = words.map_err(|reason| CliError::Failed(format!("{file}: {reason}")))?;
    words.sort_by(|a, b| a.start.total_cmp(&b.start));
    Ok(words)
}

/// Decodes a file in UTF-8, with or without a byte order mark, or in UTF-16 with one, as Praat
/// writes text that is not ASCII.
fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    let unit = match bytes[..] {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return from_utf8(bytes).map_err(|error| error.to_string()),
    };
    let (units, rest) = bytes[2..].as_chunks();
    if !rest.is_empty() {
        return Err(format!("UTF-16, and it has an odd number of bytes, {}: {REMEDY}", bytes.len()));
    }
    let text: Result<String, _> = char::decode_utf16(units.iter().map(|&pair| unit(pair))).collect();
    text.map_err(|error| format!("no UTF-16 ({error}): {REMEDY}"))
}

/// Cuts words at the end of a recording. Returns the number of words beyond it, and the first of
/// them.
pub(super) fn clip(words: &mut Vec<Word>, seconds: f64) -> Option<(usize, Word)> {
    let beyond = words.iter().filter(|word| word.start >= seconds).count();
    let first = words.iter().find(|word| word.start >= seconds).cloned();
    words.retain(|word| word.start < seconds);
    for word in words {
        word.end = word.end.min(seconds);
    }
    first.map(|first| (beyond, first))
}

fn of_ctm(text: &str, key: &str) -> Result<Vec<Word>, String> {
    let all = read_ctm(text).map_err(|error| error.to_string())?;
    if let Some(word) = all.iter().find(|word| word.start < 0.0) {
        return Err(format!("'{}' begins at {} s", word.word, word.start));
    }
    let own = all.iter().filter(|word| word.file == key && !word.is_tag());
    let words: Vec<Word> = own.map(|word| Word::new(&word.word, word.start, word.start + word.duration)).collect();
    if words.is_empty() { Err(missing(key, all.iter().map(|word| &*word.file))) } else { Ok(words) }
}

fn of_text_grid(text: &str, _key: &str) -> Result<Vec<Word>, String> {
    let tiers = read_text_grid(text).map_err(|error| error.to_string())?;
    let named = tiers.iter().find(|(name, _)| name.eq_ignore_ascii_case(TIER));
    let (_, segments) = named.or(tiers.first()).ok_or("it has no tier of intervals")?;
    if let Some(segment) = segments.iter().find(|segment| segment.start < 0.0) {
        return Err(format!("'{}' begins at {} s", segment.text, segment.start));
    }
    Ok(segments.iter().map(|segment| Word::new(&segment.text, segment.start, segment.end)).collect())
}

fn of_json(text: &str, key: &str) -> Result<Vec<Word>, String> {
    let mut keys = vec![];
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))?;
        let own = value.get("key").and_then(Value::as_str);
        let own = own.ok_or_else(|| format!("line {number}: an object with a text 'key' is expected"))?;
        if own == key {
            let words = value.get("words").and_then(Value::as_array);
            let words = words.ok_or_else(|| format!("line {number}: {key} has no list 'words'"))?;
            let wrong =
                |word: &Value| format!("line {number}: {word} is no word with 'text', 'start' and 'end' in seconds");
            return words.iter().map(|word| of_object(word).ok_or_else(|| wrong(word))).collect();
        }
        keys.push(own.to_owned());
    }
    Err(missing(key, keys.iter().map(String::as_str)))
}

fn of_object(word: &Value) -> Option<Word> {
    let seconds = |name: &str| word.get(name)?.as_f64();
    let (start, end) = (seconds("start")?, seconds("end")?);
    (0.0 <= start && start <= end).then_some(Word::new(word.get("text")?.as_str()?, start, end))
}

/// Returns the error for a file without words of `key`.
fn missing<'k>(key: &str, keys: impl Iterator<Item = &'k str>) -> String {
    let mut keys: Vec<&str> = keys.collect();
    keys.dedup();
    let more = if keys.len() > KEYS_SHOWN { ", ..." } else { "" };
    keys.truncate(KEYS_SHOWN);
    match keys[..] {
        [] => format!("it has no words of '{key}'"),
        _ => format!("it has no words of '{key}', but of '{}'{more}", keys.join("', '")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str, start: f64, end: f64) -> Word {
        Word::new(text, start, end)
    }

    #[test]
    fn words_of_a_key_are_read() {
        let two = Ok(vec![word("one", 0.5, 0.75), word("two", 1.0, 1.5)]);
        assert_eq!(of_ctm("a 1 0.5 0.25 one 0.9\nb 1 0 1 x\na 1 1.0 0.5 two\n", "a"), two);
        let json = "{\"key\": \"b\", \"words\": []}\n{\"key\": \"a\", \"words\": [{\"text\": \"one\", \"start\": 0.5, \
            \"end\": 0.75}, {\"text\": \"two\", \"start\": 1, \"end\": 1.5, \"confidence\": 0.1}]}\n";
        assert_eq!(of_json(json, "a"), two);
        assert_eq!(of_json(json, "b"), Ok(vec![]));
        let tier = |name: &str, text: &str| format!("\"IntervalTier\" \"{name}\" 0 2 1\n0.5 0.75 \"{text}\"\n");
        let grid =
            format!("\"ooTextFile\" \"TextGrid\" 0 2 <exists> 2\n{}{}", tier("phones", "w"), tier("Words", "one"));
        assert_eq!(of_text_grid(&grid, "c"), Ok(vec![word("one", 0.5, 0.75)]));
        assert_eq!(of_text_grid(&grid.replace("Words", "x"), "c"), Ok(vec![word("w", 0.5, 0.75)]));
        assert_eq!(word("\u{1b}[2J", 0.0, 0.0).text, "\u{fffd}[2J");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (error, said) in [
            (of_ctm("b 1 0 1 x\n", "a"), "of 'a', but of 'b'"),
            (of_ctm("", "a"), "no words of 'a'"),
            (of_ctm("a 1 -1 1 x\n", "a"), "'x' begins at -1 s"),
            (of_ctm("a 1 0\n", "a"), "a 1 0"),
            (of_json("{\"key\": \"b\"}", "b"), "line 1: b has no list"),
            (of_json("\n{\"kex\": \"b\"}", "b"), "line 2: "),
            (of_json("{\"key\": \"b\", \"words\": [{\"text\": \"x\", \"start\": 2, \"end\": 1}]}", "b"), "no word"),
            (of_json("[", "b"), "line 1: "),
            (of_text_grid("", "a"), "line 1: "),
            (of_text_grid("\"ooTextFile\" \"TextGrid\" 0 1 <exists> 0", "a"), "no tier"),
        ] {
            let error = error.unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(matches!(read("x.srt", "a"), Err(CliError::Usage(text)) if text.contains(".ctm, .TextGrid")));
    }

    #[test]
    fn texts_are_utf_8_or_utf_16() {
        let text = "\"\u{fc}b\u{1f600}r\"";
        let units: Vec<u16> = std::iter::once(0xfeff).chain(text.encode_utf16()).collect();
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let mut bytes: Vec<u8> = units.iter().flat_map(|&unit| bytes(unit)).collect();
            assert_eq!(text_of(bytes.clone()), Ok(text.to_owned()));
            bytes.pop();
            assert!(text_of(bytes.clone()).is_err_and(|error| error.contains("odd number of bytes, 15")));
            bytes.truncate(10);
            assert!(text_of(bytes).is_err_and(|error| error.contains("no UTF-16 (") && error.contains(REMEDY)));
        }
        assert_eq!(text_of(text.into()), Ok(text.to_owned()));
        assert_eq!(text_of(format!("\u{feff}{text}").into()), Ok(text.to_owned()));
        assert!(
            text_of(vec![b'\n', b'a', 0xff]).is_err_and(|error| error.contains("line 2") && error.contains("UTF-8"))
        );
        assert_eq!(text_of(vec![]), Ok(String::new()));
    }

    #[test]
    fn words_beyond_the_end_are_cut() {
        let mut words = vec![word("a", 0.0, 1.0), word("b", 1.5, 2.5), word("c", 2.0, 3.0), word("d", 4.0, 5.0)];
        assert_eq!(clip(&mut words, 2.0), Some((2, word("c", 2.0, 3.0))));
        assert_eq!(words, [word("a", 0.0, 1.0), word("b", 1.5, 2.0)]);
        assert_eq!(clip(&mut words, 2.0), None);
    }
}
