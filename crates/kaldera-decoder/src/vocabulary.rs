//! Tokens by their texts, and their combination into words.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use fsa::graphs::ContextGraph;
use fsa::io::SymbolTable;
use kaldera_base::text::lines;

use crate::ctc::{Placed, phrase_graph};
use crate::error::Error;
use crate::hot_word::HotWord;
use crate::result::{FrameTimes, Hypothesis, Segment};
use crate::tokenizer::{Tokenizer, byte_of};

/// The relation of tokens and words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum WordUnits {
    /// Each token is a word.
    #[default]
    None,
    /// A separate token stands between words: the space of characters, or `|`.
    Separator,
    /// The character `▁` before or after a token's text is a boundary: SentencePiece. Tokens such
    /// as `<0xE7>` are bytes of UTF-8.
    Marker,
    /// Tokens that begin with `##` continue a word: WordPiece.
    Continuation,
    /// Words go on after tokens that end in `@@`: subword-nmt, Paraformer.
    Joined,
}

/// The character with which SentencePiece marks the beginning of a word.
pub(crate) const MARKER: char = '▁';
const CONTINUATION: &str = "##";
const JOINED: &str = "@@";

/// The tokens of a network, one per column, with their texts.
///
/// ```
/// use kaldera_decoder::{Vocabulary, WordUnits};
///
/// let characters = Vocabulary::new(["<blk>", " ", "a", "b"], 0)?.with_separator(" ")?;
/// assert_eq!(characters.tokenize("ab a")?, [2, 3, 1, 2]);
/// let pieces =
///     Vocabulary::new(["<blk>", "▁the", "▁", "t", "he"], 0)?.with_words(WordUnits::Marker);
/// assert_eq!(pieces.tokenize("the he")?, [1, 2, 4]);
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "Alphabet")]
#[doc(alias = "build_ctcdecoder")]
pub struct Vocabulary {
    texts: Vec<String>,
    numbers: HashMap<String, i32>,
    blank: i32,
    words: WordUnits,
    separator: Option<i32>,
    most_chars: usize,
    hides_tags: bool,
    tokenizer: Option<Tokenizer>,
}

impl Vocabulary {
    /// Creates a vocabulary of tokens by their texts, in the order of the network's columns.
    /// `blank` is the column of the blank.
    ///
    /// # Errors
    /// [`Error::Token`] if a text occurs twice, or if the blank is none of the tokens.
    pub fn new<T: Into<String>>(texts: impl IntoIterator<Item = T>, blank: usize) -> Result<Self, Error> {
        let texts: Vec<String> = texts.into_iter().map(Into::into).collect();
        let mut numbers = HashMap::new();
        for (number, text) in (0..).zip(&texts) {
            if numbers.insert(text.clone(), number).is_some() {
                return Err(Error::Token { token: text.clone(), reason: "it is in the vocabulary twice" });
            }
        }
        let refused = Error::Token { token: blank.to_string(), reason: "the vocabulary has no token of this number" };
        let blank = i32::try_from(blank).ok().filter(|_| blank < texts.len()).ok_or(refused)?;
        let most_chars = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        Ok(Self {
            texts,
            numbers,
            blank,
            words: WordUnits::None,
            separator: None,
            most_chars,
            hides_tags: false,
            tokenizer: None,
        })
    }

    /// Creates a vocabulary of the tokens of a symbol table, whose numbers must be 0, 1 and so on.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Token`] for a missing number.
    pub fn from_symbols(symbols: &SymbolTable, blank: usize) -> Result<Self, Error> {
        let text = |number: usize| {
            let label = i32::try_from(number).ok();
            let found = label.and_then(|label| symbols.get(label)).map(str::to_owned);
            found.ok_or_else(|| Error::Token {
                token: number.to_string(),
                reason: "the symbol table has no such number",
            })
        };
        Self::new((0..symbols.len()).map(text).collect::<Result<Vec<_>, _>>()?, blank)
    }

    /// Creates a vocabulary of the labels of pyctcdecode: the empty text is the blank. Tokens are
    /// SentencePiece's if one of them begins with `▁`; otherwise words have a space between them.
    ///
    /// # Errors
    /// As [`new`](Self::new); there must be an empty text.
    #[doc(alias = "Alphabet.build_alphabet")]
    pub fn pyctcdecode<T: Into<String>>(labels: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        let labels: Vec<String> = labels.into_iter().map(Into::into).collect();
        let no_blank = Error::Token { token: String::new(), reason: "no label is empty, and the blank should be" };
        let blank = labels.iter().position(String::is_empty).ok_or(no_blank)?;
        let marked = labels.iter().any(|label| label.starts_with(MARKER));
        let made = Self::new(labels, blank)?;
        if marked { Ok(made.with_words(WordUnits::Marker)) } else { made.with_separator(" ") }
    }

    /// Sets the token that stands between words.
    ///
    /// # Errors
    /// [`Error::Token`] if it is not among the tokens.
    pub fn with_separator(mut self, token: &str) -> Result<Self, Error> {
        let missing = || Error::Token { token: token.into(), reason: "it should stand between words, and is no token" };
        self.separator = Some(self.number(token).ok_or_else(missing)?);
        self.words = WordUnits::Separator;
        Ok(self)
    }

    /// Sets the relation of tokens and words; for [`WordUnits::Separator`] use
    /// [`with_separator`](Self::with_separator).
    #[must_use]
    pub fn with_words(mut self, words: WordUnits) -> Self {
        self.words = words;
        self
    }

    /// Leaves tokens for tags out of words: languages (`<en>`, `<en-US>`) of NeMo's multilingual
    /// models, and tags such as `<|HAPPY|>` of SenseVoice.
    #[must_use]
    pub fn with_hidden_tags(mut self) -> Self {
        self.hides_tags = true;
        self
    }

    /// Opens a file of tokens, as [`read_tokens`](Self::read_tokens) reads it.
    ///
    /// # Errors
    /// [`Error::File`] with the file and the problem.
    pub fn open(path: impl AsRef<Path>, blank: usize) -> Result<Self, Error> {
        let path = path.as_ref();
        let in_file = |problem: String| Error::File { path: path.to_owned(), problem };
        let text = std::fs::read_to_string(path).map_err(|error| in_file(error.to_string()))?;
        Self::read_tokens(&text, blank).map_err(|error| in_file(error.to_string()))
    }

    /// Reads `tokens.txt`: a token and its number in each line, in any order. A line with only a
    /// number is the line of a space. Tokens are SentencePiece's if one of them begins with `▁`;
    /// otherwise words are separated by the space token, if there is one, or by the token `|`.
    ///
    /// ```
    /// use kaldera_decoder::{Vocabulary, WordUnits};
    ///
    /// let pieces = Vocabulary::read_tokens("<blk> 0\n▁a 1\nb 2\n", 0)?;
    /// assert_eq!((pieces.words(), pieces.tokenize("ab")?), (WordUnits::Marker, vec![1, 2]));
    /// let characters = Vocabulary::read_tokens("<blk> 0\na 2\n  1\n", 0)?;
    /// assert_eq!(characters.tokenize("a a")?, [2, 1, 2]);
    /// # Ok::<(), kaldera_decoder::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of [`token_texts`](Self::token_texts) and of [`new`](Self::new).
    pub fn read_tokens(text: &str, blank: usize) -> Result<Self, Error> {
        let made = Self::new(Self::token_texts(text)?, blank)?;
        if made.texts.iter().any(|text| text.starts_with(MARKER)) {
            return Ok(made.with_words(WordUnits::Marker));
        }
        match [" ", "|"].into_iter().find(|&token| made.number(token).is_some()) {
            Some(separator) => made.with_separator(separator),
            None => Ok(made),
        }
    }

    /// Returns the texts of a `tokens.txt` in the order of their numbers, as
    /// [`read_tokens`](Self::read_tokens) reads them.
    ///
    /// # Errors
    /// [`Error::TokenLine`] for a line without a number, and for a number that occurs twice or is
    /// not below the number of lines.
    pub fn token_texts(text: &str) -> Result<Vec<String>, Error> {
        let lines: Vec<_> = lines(text).filter(|(_, line)| !line.trim_ascii().is_empty()).collect();
        let mut texts: Vec<Option<&str>> = vec![None; lines.len()];
        for (number, line) in lines {
            let wrong = |reason| Error::TokenLine { line: number, text: line.into(), reason };
            let line = line.trim_ascii_end();
            let (token, number) = line.rsplit_once([' ', '\t']).unwrap_or(("", line));
            let token = if token.trim_ascii().is_empty() { " " } else { token.trim_ascii() };
            let number: usize = number.parse().map_err(|_| wrong("it is not 'TOKEN NUMBER'"))?;
            let place = texts.get_mut(number).ok_or_else(|| wrong("its number is not below that of lines"))?;
            if place.replace(token).is_some() {
                return Err(wrong("its number is there twice"));
            }
        }
        // There are as many numbers as lines, and none twice: none is missing.
        Ok(texts.into_iter().flatten().map(str::to_owned).collect())
    }

    /// Sets the tokenizer that the network was trained with, which [`tokenize`](Self::tokenize)
    /// then uses. Its tokens are found here by their texts, so that their numbers may differ.
    #[must_use]
    pub fn with_tokenizer(mut self, tokenizer: Tokenizer) -> Self {
        self.tokenizer = Some(tokenizer);
        self
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns `true` if there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns the blank.
    pub fn blank(&self) -> i32 {
        self.blank
    }

    /// Returns the relation of tokens and words.
    pub fn words(&self) -> WordUnits {
        self.words
    }

    /// Returns the token that stands between words.
    pub fn separator(&self) -> Option<i32> {
        self.separator.filter(|_| self.words == WordUnits::Separator)
    }

    /// Returns `true` for a tag that is no part of words.
    pub(crate) fn is_hidden(&self, token: i32) -> bool {
        self.hides_tags && is_tag(self.text(token))
    }

    /// Returns the text of a token; empty if there is no such token.
    pub fn text(&self, token: i32) -> &str {
        usize::try_from(token).ok().and_then(|token| self.texts.get(token)).map_or("", |text| text)
    }

    /// Returns the number of a token.
    pub fn number(&self, text: &str) -> Option<i32> {
        self.numbers.get(text).copied()
    }

    /// Returns the tokens of a text: the tokens of the [tokenizer](Self::with_tokenizer), or else
    /// the longest token that fits at each place, which spells characters.
    ///
    /// # Errors
    /// [`Error::Untokenizable`] with the part that no token fits, [`Error::EmptyPhrase`],
    /// [`Error::Tokenizer`] if the tokenizer fails.
    pub fn tokenize(&self, text: &str) -> Result<Vec<i32>, Error> {
        let mut tokens = vec![];
        if let Some(tokenizer) = &self.tokenizer {
            for piece in tokenizer.encode_as_pieces(text)? {
                let unknown = || Error::Untokenizable { phrase: text.into(), part: piece.clone() };
                tokens.push(self.number(&piece).filter(|&token| token != self.blank).ok_or_else(unknown)?);
            }
            return if tokens.is_empty() { Err(Error::EmptyPhrase { phrase: text.into() }) } else { Ok(tokens) };
        }
        for (place, word) in text.split_whitespace().enumerate() {
            if let Some(separator) = self.separator().filter(|_| place > 0) {
                tokens.push(separator);
            }
            let marked = if self.words == WordUnits::Marker { format!("{MARKER}{word}") } else { word.to_owned() };
            self.tokenize_word(&marked, text, &mut tokens)?;
        }
        if tokens.is_empty() { Err(Error::EmptyPhrase { phrase: text.into() }) } else { Ok(tokens) }
    }

    fn tokenize_word(&self, word: &str, phrase: &str, tokens: &mut Vec<i32>) -> Result<(), Error> {
        let mut rest = word;
        while !rest.is_empty() {
            let continued = self.words == WordUnits::Continuation && rest.len() < word.len();
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(self.most_chars);
            let longest = ends.collect::<Vec<_>>().into_iter().rev().find_map(|end| {
                let piece = &rest[..end];
                let found = match self.words {
                    _ if continued => self.number(&format!("{CONTINUATION}{piece}")),
                    WordUnits::Joined if end < rest.len() => {
                        let joined = self.number(&format!("{piece}{JOINED}"));
                        // Each Chinese character is a word.
                        joined.or_else(|| self.number(piece).filter(|_| !piece.is_ascii()))
                    }
                    _ => self.number(piece),
                };
                Some((found.filter(|&token| token != self.blank)?, end))
            });
            let Some((token, end)) = longest else {
                let part: String = rest.chars().take(1).collect();
                let bytes: Option<Vec<i32>> = part.bytes().map(|byte| self.token_of_byte(byte)).collect();
                rest = &rest[part.len()..];
                tokens.extend(bytes.ok_or_else(|| Error::Untokenizable { phrase: phrase.into(), part })?);
                continue;
            };
            tokens.push(token);
            rest = &rest[end..];
        }
        Ok(())
    }

    /// Returns the token of a byte of text that no other token spells: SentencePiece's byte
    /// fallback.
    fn token_of_byte(&self, byte: u8) -> Option<i32> {
        self.number(&format!("<0x{byte:02X}>")).filter(|_| self.words == WordUnits::Marker)
    }

    /// Returns the byte of a token.
    pub(crate) fn byte(&self, token: i32) -> Option<u8> {
        byte_of(self.text(token)).filter(|_| self.words == WordUnits::Marker)
    }

    /// Returns the effect of a token on words: `true` if it ends the word before, the text that it
    /// adds, and `true` if it ends its own word.
    pub(crate) fn piece(&self, token: i32) -> (bool, &str, bool) {
        let text = self.text(token);
        match self.words {
            _ if self.is_hidden(token) => (false, "", false),
            WordUnits::None => (false, text, false),
            WordUnits::Separator if self.separator == Some(token) => (true, "", false),
            WordUnits::Separator => (false, text, false),
            WordUnits::Marker if self.byte(token).is_some_and(|byte| byte.is_ascii_whitespace()) => (true, "", true),
            WordUnits::Marker => {
                let opened = text.strip_prefix(MARKER);
                let rest = opened.unwrap_or(text);
                let closed = rest.strip_suffix(MARKER);
                // A token of only a marker is both.
                let ends = closed.is_some() || text.len() == MARKER.len_utf8() && opened.is_some();
                (opened.is_some(), closed.unwrap_or(rest), ends)
            }
            WordUnits::Continuation => {
                let continued = text.strip_prefix(CONTINUATION);
                (continued.is_none(), continued.unwrap_or(text), false)
            }
            WordUnits::Joined => {
                let joined = text.strip_suffix(JOINED);
                (false, joined.unwrap_or(text), joined.is_none())
            }
        }
    }

    /// Makes a graph of phrases of tokens for a search: each token of a phrase adds its bonus, or
    /// else `weight`.
    ///
    /// # Errors
    /// Errors of [`tokenize`](Self::tokenize).
    pub fn hot_words<T: Into<HotWord>>(
        &self,
        phrases: impl IntoIterator<Item = T>,
        weight: f64,
    ) -> Result<ContextGraph, Error> {
        let phrases: Vec<HotWord> = phrases.into_iter().map(Into::into).collect();
        phrase_graph(&phrases, weight, |text| self.tokenize(text))
    }

    /// Adds the texts of tokens, and the words that they spell, to a hypothesis of a search that
    /// only has numbers.
    #[must_use]
    pub fn spelled(&self, mut hypothesis: Hypothesis, times: &FrameTimes) -> Hypothesis {
        for token in &mut hypothesis.tokens {
            self.text(token.id).clone_into(&mut token.text);
        }
        let placed = |of: &Segment| Placed { token: of.id, word: -1, start: of.frames.start, end: of.frames.end };
        let placed: Vec<Placed> = hypothesis.tokens.iter().map(placed).collect();
        hypothesis.words = self.spell(&placed, times);
        hypothesis
    }

    /// Returns the words that tokens spell, each with its frames. Bytes of SentencePiece are
    /// decoded run by run, as in SentencePiece: each byte that is not UTF-8 is U+FFFD. Bytes of
    /// white space end a word.
    pub(crate) fn spell(&self, tokens: &[Placed], times: &FrameTimes) -> Vec<Segment> {
        let tokens = tokens.iter().filter(|placed| !self.is_hidden(placed.token));
        if self.words == WordUnits::None {
            let word = |of: &Placed| Segment::new(of.token, self.text(of.token), of.start..of.end, times);
            return tokens.map(word).collect();
        }
        let mut words = vec![];
        let (mut word, mut frames): (String, Option<Range<usize>>) = (String::new(), None);
        let mut bytes = vec![];
        let mut close = |word: &mut String, bytes: &mut Vec<u8>, frames: &mut Option<Range<usize>>| {
            append_utf8(word, bytes);
            if let Some(frames) = frames.take().filter(|_| !word.is_empty()) {
                words.push(Segment::new(-1, std::mem::take(word), frames, times));
            }
            word.clear();
        };
        for placed in tokens {
            let (before, text, after) = self.piece(placed.token);
            let byte = self.byte(placed.token);
            let is_space = byte.is_some_and(|byte| byte.is_ascii_whitespace());
            if before || is_space {
                close(&mut word, &mut bytes, &mut frames);
            }
            if is_space {
                continue;
            }
            if self.separator() != Some(placed.token) {
                match byte {
                    Some(byte) => bytes.push(byte),
                    None => {
                        append_utf8(&mut word, &mut bytes);
                        word.push_str(text);
                    }
                }
                let start = frames.as_ref().map_or(placed.start, |frames| frames.start);
                frames = Some(start..placed.end);
            }
            if after && self.words == WordUnits::Marker && text.is_empty() {
                continue;
            }
            if after {
                close(&mut word, &mut bytes, &mut frames);
            }
        }
        close(&mut word, &mut bytes, &mut frames);
        words
    }
}

/// Tokens of two or three letters that are no languages.
const OTHERS: [&str; 12] = ["blk", "bos", "cls", "eos", "eps", "pad", "sep", "sil", "sos", "spk", "unk", "nsn"];

/// Returns `true` for `<|TEXT|>` and for languages: `<en>`, `<yue>`, `<en-US>`.
fn is_tag(text: &str) -> bool {
    let Some(name) = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')) else { return false };
    let (language, region) = name.split_once('-').unwrap_or((name, "XX"));
    let is_language = (2..=3).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_region = region.len() == 2 && region.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_marked = name.len() > 2 && name.starts_with('|') && name.ends_with('|');
    is_marked || is_language && is_region && !OTHERS.contains(&name)
}

/// Moves bytes to the end of a text.
fn append_utf8(text: &mut String, bytes: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    bytes.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_numbered_from_0_on() {
        let texts = |text| Vocabulary::token_texts(text).map(|texts| texts.join(","));
        assert_eq!(texts("b 1\n<blk> 0\n\n  2\nc\t3\n"), Ok("<blk>,b, ,c".to_owned()));
        assert_eq!(texts(""), Ok(String::new()));
        for (text, said) in [
            ("a", "line 1, 'a': it is not"),
            ("\na 0\nb 2", "line 3, 'b 2': its number is not below"),
            ("a 0\nb 0", "line 2, 'b 0': its number is there twice"),
            ("a -1", "line 1, 'a -1': it is not"),
        ] {
            let error = texts(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn phrases_without_tokens_are_refused() {
        let vocabulary = Vocabulary::new(["", " ", "a"], 0).unwrap().with_separator(" ").unwrap();
        assert!(Vocabulary::read_tokens("a x", 0).is_err() && Vocabulary::read_tokens("", 0).is_err());
        assert_eq!(vocabulary.tokenize("  "), Err(Error::EmptyPhrase { phrase: "  ".into() }));
        let refused = Error::Untokenizable { phrase: "a xa".into(), part: "x".into() };
        assert_eq!(vocabulary.tokenize("a xa"), Err(refused));
        assert!(Vocabulary::new(["a", "a"], 0).is_err());
        assert!(Vocabulary::new(["a"], 1).is_err());
        assert!(Vocabulary::pyctcdecode(["a"]).is_err());
    }

    #[test]
    fn bytes_of_sentencepiece_are_decoded() {
        let bytes = (0..256).map(|byte| format!("<0x{byte:02X}>"));
        let tokens = ["<blk>", "▁", "▁a", "b", "</s>"].map(str::to_owned).into_iter().chain(bytes);
        let vocabulary = Vocabulary::new(tokens, 0).unwrap().with_words(WordUnits::Marker);
        let spelled = |tokens: &[i32]| {
            let placed = (0..).zip(tokens).map(|(start, &token)| Placed { token, word: -1, start, end: start + 1 });
            let words = vocabulary.spell(&placed.collect::<Vec<_>>(), &FrameTimes::default());
            words.into_iter().map(|word| (word.text, word.frames)).collect::<Vec<_>>()
        };
        let number = |byte: u8| i32::from(byte) + 5;
        let run = |bytes: &[u8]| bytes.iter().map(|&byte| number(byte)).collect::<Vec<_>>();
        for text in ["爿b", "aé爿 b", "🦀 ▁b"] {
            let found = spelled(&vocabulary.tokenize(text).unwrap());
            assert_eq!(found.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(" "), text.replace('▁', ""));
        }
        assert_eq!(spelled(&[&[2][..], &run("爿".as_bytes()), &[3]].concat()), [("a爿b".to_owned(), 0..5)]);
        // Each byte that is not UTF-8 is U+FFFD, as in SentencePiece.
        assert_eq!(spelled(&[&run(&[0xE7, 0x88])[..], &[3]].concat()), [("\u{FFFD}\u{FFFD}b".to_owned(), 0..3)]);
        assert_eq!(spelled(&run(b"x\ny")), [("x".to_owned(), 0..1), ("y".to_owned(), 2..3)]);
        let few = Vocabulary::new(["<blk>", "▁", "<0xE7>"], 0).unwrap().with_words(WordUnits::Marker);
        let refused = Error::Untokenizable { phrase: "爿".into(), part: "爿".into() };
        assert_eq!(few.tokenize("爿"), Err(refused));
    }

    #[test]
    fn word_pieces_continue_words() {
        let vocabulary = Vocabulary::new(["", "un", "##able", "##a"], 0).unwrap().with_words(WordUnits::Continuation);
        assert_eq!(vocabulary.tokenize("unable").unwrap(), [1, 2]);
        let tokens = [(1, 0), (2, 2), (1, 5)].map(|(token, start)| Placed { token, word: -1, start, end: start + 1 });
        let words = vocabulary.spell(&tokens, &FrameTimes::default());
        assert_eq!(
            words.iter().map(|word| (&*word.text, word.frames.clone())).collect::<Vec<_>>(),
            [("unable", 0..3), ("un", 5..6)]
        );
    }

    #[test]
    fn tags_are_no_part_of_words() {
        for text in ["<en>", "<yue>", "<pt-BR>", "<|zh|>", "<|HAPPY|>"] {
            assert!(is_tag(text), "{text}");
        }
        for text in ["<unk>", "<s>", "</s>", "<0xE7>", "<>", "<||>", "<EN>", "en", "<en-us>", "<english>", "<sos>"] {
            assert!(!is_tag(text), "{text}");
        }
        let vocabulary = Vocabulary::new(["", "▁a", "<en-US>", "b"], 0).unwrap().with_words(WordUnits::Marker);
        let placed = [1, 2, 3].map(|token| Placed { token, word: -1, start: 0, end: 1 });
        let text = |vocabulary: &Vocabulary| vocabulary.spell(&placed, &FrameTimes::default())[0].text.clone();
        assert_eq!(text(&vocabulary), "a<en-US>b");
        assert_eq!(text(&vocabulary.with_hidden_tags()), "ab");
    }

    #[test]
    fn words_go_on_after_joined_tokens() {
        let vocabulary = Vocabulary::new(["", "un@@", "able", "你"], 0).unwrap().with_words(WordUnits::Joined);
        assert_eq!(vocabulary.tokenize("unable 你你").unwrap(), [1, 2, 3, 3]);
        let tokens = [3, 1, 2, 3, 1].into_iter().zip(0..);
        let placed: Vec<_> = tokens.map(|(token, start)| Placed { token, word: -1, start, end: start + 1 }).collect();
        let words = vocabulary.spell(&placed, &FrameTimes::default());
        assert_eq!(
            words.iter().map(|word| (&*word.text, word.frames.clone())).collect::<Vec<_>>(),
            [("你", 0..1), ("unable", 1..3), ("你", 3..4), ("un", 4..5)]
        );
    }
}
