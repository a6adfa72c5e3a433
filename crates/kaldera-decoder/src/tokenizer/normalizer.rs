//! Normalization of a text before SentencePiece divides it into pieces.

use crate::error::Error;
use crate::tokenizer::protobuf::Fields;
use crate::vocabulary::MARKER;

/// The normalizer of a model: a map of characters (NFKC and others, compiled into the model), and
/// the treatment of white space.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Normalizer {
    map: Option<CharacterMap>,
    pub(super) add_dummy_prefix: bool,
    pub(super) remove_extra_whitespaces: bool,
    pub(super) escape_whitespaces: bool,
    pub(super) whitespace_as_suffix: bool,
}

impl Default for Normalizer {
    fn default() -> Self {
        Self {
            map: None,
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
            whitespace_as_suffix: false,
        }
    }
}

impl Normalizer {
    /// Reads the fields of a `NormalizerSpec`.
    pub(super) fn read(&mut self, message: &[u8]) -> Result<(), Error> {
        for field in Fields::new(message) {
            match field? {
                (2, value) => self.map = value.bytes().map(CharacterMap::read).transpose()?.flatten(),
                (3, value) => self.add_dummy_prefix = value.flag().unwrap_or(true),
                (4, value) => self.remove_extra_whitespaces = value.flag().unwrap_or(true),
                (5, value) => self.escape_whitespaces = value.flag().unwrap_or(true),
                _ => {}
            }
        }
        Ok(())
    }

    /// Normalizes a text. `symbol` returns the length of a symbol at the beginning of a text;
    /// symbols are unchanged.
    pub(super) fn apply(&self, text: &str, symbol: impl Fn(&str) -> Option<usize>) -> String {
        let mut rest = text;
        let prefix = |rest| self.prefix(rest, symbol(rest));
        if self.remove_extra_whitespaces {
            while !rest.is_empty() {
                let (mapped, length) = prefix(rest);
                if mapped != " " {
                    break;
                }
                rest = &rest[length..];
            }
        }
        let mut made = String::new();
        if rest.is_empty() {
            return made;
        }
        let space = if self.escape_whitespaces { MARKER } else { ' ' };
        if self.add_dummy_prefix && !self.whitespace_as_suffix {
            made.push(space);
        }
        let mut after_space = self.remove_extra_whitespaces;
        while !rest.is_empty() {
            let (mapped, length) = prefix(rest);
            let kept = if after_space { mapped.trim_start_matches(' ') } else { mapped };
            if !kept.is_empty() {
                made.extend(kept.chars().map(|c| if c == ' ' { space } else { c }));
                after_space = kept.ends_with(' ');
            }
            rest = &rest[length..];
            after_space &= self.remove_extra_whitespaces;
        }
        if self.remove_extra_whitespaces {
            made.truncate(made.trim_end_matches(space).len());
        }
        if self.add_dummy_prefix && self.whitespace_as_suffix {
            made.push(space);
        }
        made
    }

    /// Returns the replacement of the first characters of a text, and their length; a symbol is
    /// unchanged.
    fn prefix<'a>(&'a self, rest: &'a str, symbol: Option<usize>) -> (&'a str, usize) {
        let mapped = self.map.as_ref().filter(|_| symbol.is_none()).and_then(|map| map.longest(rest));
        mapped.unwrap_or_else(|| {
            let length = symbol.unwrap_or_else(|| rest.chars().next().map_or(0, char::len_utf8));
            (&rest[..length], length)
        })
    }
}

/// Maximum number of bytes of a replacement. Unicode's longest has 33; each character of a text may
/// be replaced.
const MOST_REPLACEMENT: usize = 1024;

/// Strings and their replacements: a trie as a double array (darts-clone), whose values are offsets
/// in a block of texts that end with a zero.
#[derive(Debug, Clone, PartialEq)]
struct CharacterMap {
    units: Vec<u32>,
    texts: Vec<u8>,
}

impl CharacterMap {
    /// Reads a map: the length of the trie in bytes, the trie, the texts. No bytes are no map.
    fn read(bytes: &[u8]) -> Result<Option<Self>, Error> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let wrong = || Error::Tokenizer { position: 0, reason: "the map of characters is damaged".into() };
        let (length, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| wrong())?;
        let (trie, texts) = rest.split_at_checked(length).ok_or_else(wrong)?;
        let units: Vec<u32> = trie.as_chunks().0.iter().map(|&unit| u32::from_le_bytes(unit)).collect();
        if units.len() * 4 != length || std::str::from_utf8(texts).is_err() {
            return Err(wrong());
        }
        let longest = texts.split(|&byte| byte == 0).map(<[u8]>::len).max().unwrap_or(0);
        if longest > MOST_REPLACEMENT {
            let reason =
                format!("the map of characters has a text of {longest} bytes, {MOST_REPLACEMENT} are the most");
            return Err(Error::Tokenizer { position: 0, reason });
        }
        Ok(Some(Self { units, texts: texts.into() }))
    }

    fn unit(&self, position: u32) -> Option<u32> {
        self.units.get(usize::try_from(position).ok()?).copied()
    }

    /// Returns the replacement of the longest string of the map at the beginning of the text, and
    /// its length.
    fn longest(&self, text: &str) -> Option<(&str, usize)> {
        let offset = |unit: u32| (unit >> 10) << ((unit & (1 << 9)) >> 6);
        let mut found = None;
        let mut position = offset(self.unit(0)?);
        for (length, byte) in (1..).zip(text.bytes()) {
            position ^= u32::from(byte);
            let Some(unit) = self.unit(position).filter(|unit| unit & (1 << 31 | 0xFF) == u32::from(byte)) else {
                break;
            };
            position ^= offset(unit);
            if unit & (1 << 8) != 0 && text.is_char_boundary(length) {
                found = self.unit(position).map(|leaf| (leaf & 0x7FFF_FFFF, length)).or(found);
            }
        }
        let (value, length) = found?;
        let texts = self.texts.get(usize::try_from(value).ok()?..)?;
        let end = texts.iter().position(|&byte| byte == 0).unwrap_or(texts.len());
        Some((std::str::from_utf8(&texts[..end]).ok()?, length))
    }
}
