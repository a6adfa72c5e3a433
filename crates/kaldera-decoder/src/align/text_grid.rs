//! Reader of Praat's TextGrid.

use kaldera_base::text::without_mark;

use crate::error::Error;
use crate::result::Segment;

/// Reads the interval tiers of a TextGrid in one of Praat's text formats, long or short. Returns
/// their names and the segments that have a text. Tiers of points are left out.
///
/// As in Praat, only numbers, texts in quotes and flags in angle brackets count. Everything else,
/// such as `xmin =` and `intervals [1]:`, is a comment. Praat may write UTF-16 if a text is not
/// ASCII. Such a file must first be saved as UTF-8; Praat's "Text writing preferences..." set the
/// encoding.
///
/// ```
/// use kaldera_decoder::align::{read_text_grid, write_text_grid};
/// use kaldera_decoder::{FrameTimes, Segment};
///
/// let words = [Segment::new(1, "one", 1..3, &FrameTimes::new(0.5))];
/// let mut file = vec![];
/// write_text_grid(&mut file, 2.0, &[("words", &words)])?;
/// let tiers = read_text_grid(std::str::from_utf8(&file)?)?;
/// assert_eq!((&*tiers[0].0, &*tiers[0].1[0].text, tiers[0].1[0].end), ("words", "one", 1.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::TextGrid`] with the line at which something else should be.
pub fn read_text_grid(text: &str) -> Result<Vec<(String, Vec<Segment>)>, Error> {
    let mut values = Values { rest: without_mark(text), line: 1 };
    if text.contains('\0') {
        return Err(values.wrong("it is in UTF-16: save it as UTF-8, Praat's 'Text writing preferences...'".to_owned()));
    }
    for expected in ["ooTextFile", "TextGrid"] {
        let found = values.text(expected)?;
        if found != expected {
            return Err(values.wrong(format!("'{found}', where '{expected}' is expected")));
        }
    }
    let _ = (values.number("the start")?, values.number("the end")?);
    match values.next()? {
        Some(Value::Flag(flag)) if flag == "<exists>" => {}
        Some(Value::Flag(flag)) if flag == "<absent>" => return Ok(vec![]),
        _ => return Err(values.wrong("neither <exists> nor <absent>, where it says if there are tiers".to_owned())),
    }
    let count = values.count("the number of tiers")?;
    let mut tiers = vec![];
    for _ in 0..count {
        let class = values.text("the class of a tier")?;
        let name = values.text("the name of a tier")?;
        let _ = (values.number("the start of a tier")?, values.number("the end of a tier")?);
        let size = values.count("the number of intervals")?;
        match &*class {
            "IntervalTier" => {
                let mut segments = vec![];
                for _ in 0..size {
                    let (start, end) = (values.number("the start of an interval")?, values.number("its end")?);
                    let text = values.text("its text")?;
                    if start > end {
                        return Err(values.wrong(format!("an interval from {start} to {end} s")));
                    }
                    if !text.trim().is_empty() {
                        segments.push(Segment { id: -1, text, start, end, ..Segment::default() });
                    }
                }
                tiers.push((name, segments));
            }
            "TextTier" => {
                for _ in 0..size {
                    let _ = (values.number("the time of a point")?, values.text("its text")?);
                }
            }
            other => return Err(values.wrong(format!("a tier of the class '{other}'"))),
        }
    }
    Ok(tiers)
}

/// A value in a file.
enum Value {
    Text(String),
    Number(f64),
    Flag(String),
}

struct Values<'t> {
    rest: &'t str,
    line: usize,
}

impl Values<'_> {
    fn wrong(&self, reason: String) -> Error {
        Error::TextGrid { line: self.line, reason }
    }

    /// Skips `bytes` bytes.
    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }

    fn next(&mut self) -> Result<Option<Value>, Error> {
        loop {
            self.skip(self.rest.len() - self.rest.trim_start().len());
            if self.rest.is_empty() {
                return Ok(None);
            }
            if self.rest.starts_with('"') {
                return self.quoted().map(Some);
            }
            if self.rest.starts_with('!') {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
                continue;
            }
            let length = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
            let word = &self.rest[..length];
            let value = match word.parse::<f64>() {
                Ok(number) if number.is_finite() => Some(Value::Number(number)),
                _ if word.starts_with('<') && word.ends_with('>') => Some(Value::Flag(word.to_owned())),
                _ => None,
            };
            self.skip(length);
            if value.is_some() {
                return Ok(value);
            }
        }
    }

    /// Reads a text in quotes; two quotes stand for one.
    fn quoted(&mut self) -> Result<Value, Error> {
        let mut text = String::new();
        let mut at = 1;
        loop {
            let Some(length) = self.rest[at..].find('"') else {
                return Err(self.wrong("a text without an end".to_owned()));
            };
            text.push_str(&self.rest[at..at + length]);
            at += length + 1;
            if !self.rest[at..].starts_with('"') {
                self.skip(at);
                return Ok(Value::Text(text));
            }
            text.push('"');
            at += 1;
        }
    }

    fn text(&mut self, what: &str) -> Result<String, Error> {
        match self.next()? {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(self.wrong(format!("no text in quotes, where {what} is expected"))),
        }
    }

    fn number(&mut self, what: &str) -> Result<f64, Error> {
        match self.next()? {
            Some(Value::Number(number)) => Ok(number),
            _ => Err(self.wrong(format!("no number, where {what} is expected"))),
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0, and saturates")]
    fn count(&mut self, what: &str) -> Result<u64, Error> {
        let number = self.number(what)?;
        if number < 0.0 || number.fract() != 0.0 {
            return Err(self.wrong(format!("{number}, where {what} is expected")));
        }
        Ok(number as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read_and_comments_are_not() {
        let long = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\nxmin = 0\nxmax = 2.5\ntiers? <exists>\n\
            size = 2\nitem []:\n item [1]:\n class = \"TextTier\"\n name = \"clicks\"\n xmin = 0\n xmax = 2.5\n\
            points: size = 1\n points [1]:\n number = 1\n mark = \"x\"\n item [2]:\n class = \"IntervalTier\"\n\
            name = \"words\"\n xmin = 0\n xmax = 2.5\n intervals: size = 2\n intervals [1]:\n xmin = 0\n xmax = 1\n\
            text = \"say \"\"hi\"\"\"\n intervals [2]:\n xmin = 1\n xmax = 2.5\n text = \"\"\n";
        let short = "\u{feff}\"ooTextFile\"\n\"TextGrid\"\n0 ! 9\n2.5\n<exists>\n1\n\"IntervalTier\"\n\"words\"\n0\n2.5\n1\n\
            0\n1\n\"say \"\"hi\"\"\"\n";
        for text in [long, short] {
            let tiers = read_text_grid(text).unwrap();
            assert_eq!((tiers.len(), &*tiers[0].0, tiers[0].1.len()), (1, "words", 1));
            let word = &tiers[0].1[0];
            assert_eq!((&*word.text, word.start, word.end), ("say \"hi\"", 0.0, 1.0));
        }
        assert!(read_text_grid("\"ooTextFile\" \"TextGrid\" 0 1 <absent>").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_text_grid_is_refused_with_its_line() {
        let head = "\"ooTextFile\"\n\"TextGrid\"\n0 1 <exists>\n";
        for (text, line, said) in [
            (String::new(), 1, "ooTextFile"),
            ("\"ooTextFile\"\n\"Sound\"\n".to_owned(), 2, "'Sound'"),
            ("\"ooTextFile\"\n\"TextGrid\"\n0 1\n".to_owned(), 4, "neither <exists> nor <absent>"),
            ("\"\0o\0o\0".to_owned(), 1, "UTF-8"),
            (format!("{head}1e300\n"), 5, "class"),
            (format!("{head}-1"), 4, "-1"),
            (format!("{head}1 \"Matrix\" \"m\" 0 1 3"), 4, "'Matrix'"),
            (format!("{head}1 \"IntervalTier\" \"m\" 0 1\n1 0.5 0.1 \"a\""), 5, "from 0.5 to 0.1"),
            (format!("{head}1 \"IntervalTier\" \"m\" 0 1\n1 0.5 0.7 \"a"), 5, "without an end"),
            (format!("{head}1 \"IntervalTier\" \"m\" 0 1\n1 0.5 x \"a\""), 5, "its end"),
        ] {
            match read_text_grid(&text) {
                Err(Error::TextGrid { line: found, reason }) => {
                    assert_eq!(found, line, "{text}: {reason}");
                    assert!(reason.contains(said), "{reason}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
