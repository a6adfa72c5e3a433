//! Lines of a network's configuration: a word, and values by key.

use crate::error::Error;

/// Largest number of columns.
pub(crate) const MAX_DIM: usize = 1 << 20;

/// The first word of a line and its values by key.
pub(crate) struct Line<'a> {
    text: &'a str,
    pub(crate) kind: &'a str,
    values: Vec<(&'a str, String)>,
}

impl<'a> Line<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, Error> {
        let mut words = text.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let mut values: Vec<(&str, String)> = Vec::new();
        for word in words {
            let wrong = |problem| Error::Line { line: text.to_owned(), problem };
            match (word.split_once('='), values.last_mut()) {
                (Some((key, value)), _) => {
                    if values.iter().any(|(known, _)| *known == key) {
                        return Err(wrong(format!("`{key}=` stands twice")));
                    }
                    values.push((key, value.to_owned()));
                }
                (None, Some((_, value))) => {
                    value.push(' ');
                    value.push_str(word);
                }
                (None, None) => return Err(wrong(format!("`{word}` has no key"))),
            }
        }
        Ok(Self { text, kind, values })
    }

    pub(crate) fn error(&self, problem: impl Into<String>) -> Error {
        Error::Line { line: self.text.to_owned(), problem: problem.into() }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(found, _)| *found == key).map(|(_, value)| value.as_str())
    }

    pub(crate) fn need(&self, key: &str) -> Result<&str, Error> {
        self.get(key).ok_or_else(|| self.error(format!("`{key}=` is missing")))
    }

    pub(crate) fn size(&self, key: &str, least: usize) -> Result<usize, Error> {
        let text = self.need(key)?;
        let size = text.parse().ok().filter(|&size: &usize| size >= least && size <= MAX_DIM);
        size.ok_or_else(|| self.error(format!("`{key}={text}` is not a number from {least} to {MAX_DIM}")))
    }

    /// Refuses keys that are not in `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Error> {
        match self.values.iter().find(|(key, _)| !known.contains(key)) {
            Some((key, _)) => Err(self.error(format!("`{key}=` has no meaning here"))),
            None => Ok(()),
        }
    }
}
