//! Phrases that a search prefers.

use std::str::FromStr;

use kaldera_base::text::lines;

use crate::error::Error;

/// A phrase that a search prefers over the network's scores.
///
/// ```
/// use kaldera_decoder::HotWord;
///
/// let hot: HotWord = "five nine :2.5".parse()?;
/// assert_eq!((hot.phrase.as_str(), hot.bonus), ("five nine", Some(2.5)));
/// assert_eq!(HotWord::from("five nine").bonus, None);
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HotWord {
    /// The phrase.
    pub phrase: String,
    /// Bonus of each of its tokens, or of each of its words, instead of the bonus that the search
    /// gives to all.
    pub bonus: Option<f64>,
    /// Source of the phrase, for messages: a file and a line.
    pub place: Option<String>,
}

impl HotWord {
    /// Reads the phrases of a text, one on each line as in [`from_str`](Self::from_str). Empty
    /// lines are skipped. Messages call the text `name`.
    ///
    /// # Errors
    /// [`Error::HotWord`] with the line.
    pub fn read_lines(text: &str, name: &str) -> Result<Vec<Self>, Error> {
        let lines = lines(text).filter(|(_, line)| !line.trim().is_empty());
        let read = |(number, line): (usize, &str)| {
            let place = format!("{name}, line {number}");
            match line.parse() {
                Ok(hot) => Ok(Self { place: Some(place), ..hot }),
                Err(Error::HotWord { phrase, reason, .. }) => Err(Error::HotWord { place, phrase, reason }),
                Err(error) => Err(error),
            }
        };
        lines.map(read).collect()
    }
}

/// Reads a phrase, followed by ` :2.5` if it has a bonus of its own: a line of the files of
/// sherpa-onnx.
impl FromStr for HotWord {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self, Error> {
        let wrong = |reason| Error::HotWord { place: "hot word".to_owned(), phrase: line.trim().to_owned(), reason };
        let mut fields: Vec<&str> = line.split_whitespace().collect();
        let number = |field: &str, sign: char| field.strip_prefix(sign)?.parse::<f64>().ok();
        let mut bonus = None;
        while let Some(&last) = fields.last() {
            if number(last, '#').is_some() {
                return Err(wrong("a threshold (#) is for spotting keywords, which is not done here: leave it out"));
            }
            let Some(found) = number(last, ':') else { break };
            if !found.is_finite() {
                return Err(wrong("its bonus must be finite"));
            }
            if bonus.replace(found).is_some() {
                return Err(wrong("it has two bonuses"));
            }
            fields.pop();
        }
        if fields.is_empty() {
            return Err(wrong("it has no phrase"));
        }
        Ok(Self { phrase: fields.join(" "), bonus, place: None })
    }
}

/// Takes the text unchanged, without a bonus.
impl From<&str> for HotWord {
    fn from(phrase: &str) -> Self {
        Self { phrase: phrase.to_owned(), bonus: None, place: None }
    }
}

impl From<String> for HotWord {
    fn from(phrase: String) -> Self {
        Self { phrase, bonus: None, place: None }
    }
}

impl From<&String> for HotWord {
    fn from(phrase: &String) -> Self {
        phrase.as_str().into()
    }
}

/// Formats a line that [`from_str`](HotWord::from_str) reads.
impl From<HotWord> for String {
    fn from(hot: HotWord) -> Self {
        match hot.bonus {
            Some(bonus) => format!("{} :{bonus}", hot.phrase),
            None => hot.phrase,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_sherpa_onnx_are_read() {
        let text = "\u{feff}five nine :2.5\r\n\n  four \nten :-1\na : b\n";
        let read = HotWord::read_lines(text, "h.txt").unwrap();
        let all: Vec<_> = read.iter().map(|hot| (hot.phrase.as_str(), hot.bonus)).collect();
        assert_eq!(all, [("five nine", Some(2.5)), ("four", None), ("ten", Some(-1.0)), ("a : b", None)]);
        assert_eq!(read[1].place.as_deref(), Some("h.txt, line 3"));
        for (text, said) in [
            ("a\nb #0.5", "h.txt, line 2, 'b #0.5': a threshold"),
            ("a :1 #0.5 :2", "a threshold"),
            ("a :1 :2", "line 1, 'a :1 :2': it has two"),
            (":1", "no phrase"),
            ("a :inf", "finite"),
            ("a :nan", "finite"),
        ] {
            let error = HotWord::read_lines(text, "h.txt").unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for line in ["five nine :2.5", "four"] {
            assert_eq!(String::from(line.parse::<HotWord>().unwrap()), line);
        }
    }
}
