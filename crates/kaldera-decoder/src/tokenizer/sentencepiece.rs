//! SentencePiece's models.

use std::collections::HashMap;

use kaldera_base::text::lines;

use crate::error::Error;
use crate::tokenizer::normalizer::Normalizer;
use crate::tokenizer::protobuf::Fields;
use crate::tokenizer::segment::{self, Segment};

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    Normal,
    Unknown,
    /// `<s>` and similar pieces, into which no text is divided.
    Control,
    UserDefined,
    /// In the model, but never returned.
    Unused,
    Byte,
}

/// A piece of a model; its number is its index.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) kind: PieceKind,
}

/// The pieces of a model, by number and by text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pieces {
    all: Vec<Piece>,
    /// The pieces into which texts are divided.
    numbers: HashMap<String, usize>,
    reserved: HashMap<String, usize>,
    unknown: usize,
    bytes: Vec<Option<usize>>,
    /// The numbers of these pieces, and of the user-defined symbols among them, sorted by text.
    sorted: Vec<usize>,
    symbols: Vec<usize>,
    /// Least and best score of normal pieces; the best is above 0, as in SentencePiece.
    scores: (f32, f32),
}

impl Pieces {
    fn new(all: Vec<Piece>) -> Result<Self, Error> {
        let wrong = |position, reason: String| Err(Error::Tokenizer { position, reason });
        let mut made = Self {
            numbers: HashMap::new(),
            reserved: HashMap::new(),
            unknown: 0,
            bytes: vec![None; 256],
            sorted: vec![],
            symbols: vec![],
            scores: (f32::MAX, f32::MIN_POSITIVE),
            all: vec![],
        };
        let mut unknown = None;
        for (number, piece) in all.iter().enumerate() {
            let searched = matches!(piece.kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused);
            let map = if searched { &mut made.numbers } else { &mut made.reserved };
            if piece.text.is_empty() || !piece.score.is_finite() {
                return wrong(number, format!("piece {number} is '{}' with a score of {}", piece.text, piece.score));
            }
            if map.insert(piece.text.clone(), number).is_some() {
                return wrong(number, format!("the piece '{}' is there twice", piece.text));
            }
            if searched {
                made.sorted.push(number);
            }
            match piece.kind {
                PieceKind::Normal => {
                    made.scores = (made.scores.0.min(piece.score), made.scores.1.max(piece.score));
                }
                PieceKind::UserDefined => made.symbols.push(number),
                PieceKind::Unknown if unknown.is_some() => return wrong(number, "two pieces are unknown".into()),
                PieceKind::Unknown => unknown = Some(number),
                PieceKind::Byte => match byte_of(&piece.text) {
                    Some(byte) => made.bytes[usize::from(byte)] = Some(number),
                    None => return wrong(number, format!("the piece '{}' should be a byte", piece.text)),
                },
                _ => {}
            }
        }
        made.unknown = match unknown {
            Some(unknown) => unknown,
            None => return wrong(0, "no piece stands for what is unknown".into()),
        };
        for numbers in [&mut made.sorted, &mut made.symbols] {
            numbers.sort_by(|&a, &b| all[a].text.cmp(&all[b].text));
        }
        made.all = all;
        Ok(made)
    }

    pub(super) fn all(&self) -> &[Piece] {
        &self.all
    }

    /// Returns the least and the best score of normal pieces.
    pub(super) fn scores(&self) -> (f32, f32) {
        self.scores
    }

    /// Returns the number of a piece into which texts are divided.
    pub(super) fn number(&self, text: &str) -> Option<usize> {
        self.numbers.get(text).copied()
    }

    /// Returns the number of any piece.
    pub(super) fn any_number(&self, text: &str) -> Option<usize> {
        self.reserved.get(text).or_else(|| self.numbers.get(text)).copied()
    }

    /// Returns the pieces at the beginning of a text, by rising length in bytes.
    pub(super) fn prefixes(&self, text: &str) -> impl Iterator<Item = (usize, usize)> {
        self.prefixes_among(&self.sorted, text)
    }

    /// Narrows sorted pieces to pieces that begin with one more character of the text at a time,
    /// until there is none. O(log pieces) for each character of the longest of them.
    fn prefixes_among(&self, mut sorted: &[usize], text: &str) -> impl Iterator<Item = (usize, usize)> {
        let bytes = |number: &usize| self.all[*number].text.as_bytes();
        let narrowed = text.char_indices().map_while(move |(at, c)| {
            // All pieces that are left begin with the text up to here.
            let end = at + c.len_utf8();
            let own = &text.as_bytes()[at..end];
            let next = |number: &usize| &bytes(number)[at..bytes(number).len().min(end)];
            sorted = &sorted[sorted.partition_point(|number| next(number) < own)..];
            sorted = &sorted[..sorted.partition_point(|number| next(number) == own)];
            // The shortest is the first, and no two are equal.
            sorted.first().map(|&number| (end, number))
        });
        narrowed.filter(|&(end, number)| self.all[number].text.len() == end)
    }

    /// Returns the length of the longest user-defined symbol at the beginning of a text.
    pub(super) fn symbol(&self, text: &str) -> Option<usize> {
        self.prefixes_among(&self.symbols, text).last().map(|(length, _)| length)
    }
}

/// Returns the byte that `<0x41>` stands for.
pub(crate) fn byte_of(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
}

/// Segmentation algorithm of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ModelType {
    /// The pieces with the largest sum of scores.
    #[default]
    Unigram,
    /// Byte pair encoding: neighbours are merged, the best score first.
    Bpe,
    /// Whole words.
    Word,
    /// Characters.
    Char,
}

/// A model of SentencePiece: `bpe.model`, `spm.model`, `tokenizer.model`.
///
/// A text is normalized by the model's own map, and divided as by version 0.2 of the library.
///
/// ```
/// use kaldera_decoder::tokenizer::{ModelType, SentencePiece};
///
/// let vocabulary = "<blk>\t0\n<unk>\t0\n▁go\t-1\n▁\t-2\ng\t-3\no\t-3.5\nt\t-3.5\n";
/// let model = SentencePiece::from_vocab(vocabulary, ModelType::Unigram)?;
/// assert_eq!(model.encode("go  got tog"), [2, 2, 6, 3, 6, 5, 4]);
/// assert_eq!(model.encode_as_pieces("gx"), ["▁", "g", "x"]);
/// # Ok::<(), kaldera_decoder::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "SentencePieceProcessor")]
pub struct SentencePiece {
    pieces: Pieces,
    model_type: ModelType,
    byte_fallback: bool,
    normalizer: Normalizer,
}

impl SentencePiece {
    /// Reads a model as defined by SentencePiece's `sentencepiece_model.proto`.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] for bytes that are no model, and for a model with two pieces of one
    /// text, without a piece for unknown text, or, if it falls back to bytes, without the pieces of
    /// bytes.
    #[doc(alias = "LoadFromSerializedProto")]
    pub fn from_model(bytes: &[u8]) -> Result<Self, Error> {
        let (mut all, mut normalizer) = (vec![], Normalizer::default());
        let (mut model_type, mut byte_fallback) = (ModelType::Unigram, false);
        for field in Fields::new(bytes) {
            let (number, value) = field?;
            let Some(message) = value.bytes() else { continue };
            match number {
                1 => all.push(piece(message, all.len())?),
                2 => {
                    for field in Fields::new(message) {
                        match field? {
                            (3, value) => {
                                model_type = match value.number() {
                                    Some(1) => ModelType::Unigram,
                                    Some(2) => ModelType::Bpe,
                                    Some(3) => ModelType::Word,
                                    Some(4) => ModelType::Char,
                                    other => {
                                        let reason = format!("its model type {other:?} is none of 1 to 4");
                                        return Err(Error::Tokenizer { position: 0, reason });
                                    }
                                }
                            }
                            (24, value) => normalizer.whitespace_as_suffix = value.flag().unwrap_or(false),
                            (35, value) => byte_fallback = value.flag().unwrap_or(false),
                            _ => {}
                        }
                    }
                }
                3 => normalizer.read(message)?,
                _ => {}
            }
        }
        Self::new(all, model_type, byte_fallback, normalizer)
    }

    /// Reads the list of pieces that is written next to a model, `bpe.vocab`: in each line a piece,
    /// a tabulator and its score. It has no map of characters, so texts are not normalized beyond
    /// white space. `<unk>` is the unknown piece, `<0x41>` a byte, and other pieces in angle
    /// brackets with a score of 0 are control symbols.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] with the number of the wrong line.
    pub fn from_vocab(text: &str, model_type: ModelType) -> Result<Self, Error> {
        let mut all = vec![];
        for (number, line) in lines(text) {
            let parsed = line.split_once('\t').and_then(|(piece, score)| Some((piece, score.trim().parse().ok()?)));
            let Some((text, score)) = parsed else {
                let reason = format!("line {number}: '{line}' is no 'PIECE<tab>SCORE'");
                return Err(Error::Tokenizer { position: number - 1, reason });
            };
            let kind = match text {
                "<unk>" => PieceKind::Unknown,
                _ if byte_of(text).is_some() => PieceKind::Byte,
                _ if text.starts_with('<') && text.ends_with('>') && text.len() > 2 && score == 0.0 => {
                    PieceKind::Control
                }
                _ => PieceKind::Normal,
            };
            all.push(Piece { text: text.into(), score, kind });
        }
        let byte_fallback = all.iter().any(|piece| piece.kind == PieceKind::Byte);
        Self::new(all, model_type, byte_fallback, Normalizer::default())
    }

    fn new(all: Vec<Piece>, model_type: ModelType, byte_fallback: bool, normalizer: Normalizer) -> Result<Self, Error> {
        let pieces = Pieces::new(all)?;
        if byte_fallback && let Some(byte) = pieces.bytes.iter().position(Option::is_none) {
            let reason = format!("it falls back to bytes, and has no piece for {byte}");
            return Err(Error::Tokenizer { position: 0, reason });
        }
        Ok(Self { pieces, model_type, byte_fallback, normalizer })
    }

    /// Returns the number of pieces.
    #[doc(alias = "GetPieceSize")]
    pub fn len(&self) -> usize {
        self.pieces.all.len()
    }

    /// Returns `true` if there are no pieces.
    pub fn is_empty(&self) -> bool {
        self.pieces.all.is_empty()
    }

    /// Returns the segmentation algorithm.
    pub fn model_type(&self) -> ModelType {
        self.model_type
    }

    /// Returns the piece of a number; empty if there is no such piece.
    #[doc(alias = "IdToPiece")]
    pub fn piece(&self, id: i32) -> &str {
        usize::try_from(id).ok().and_then(|id| self.pieces.all.get(id)).map_or("", |piece| &piece.text)
    }

    /// Returns all pieces by their numbers, as [`Vocabulary::new`](crate::Vocabulary::new) takes
    /// them.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.pieces.all.iter().map(|piece| &*piece.text)
    }

    /// Returns the number of the unknown piece.
    pub fn unknown(&self) -> i32 {
        id(self.pieces.unknown)
    }

    /// Returns the normalized text, which is then divided: characters are replaced by the model's
    /// map, and white space by `▁`.
    #[doc(alias = "Normalize")]
    pub fn normalize(&self, text: &str) -> String {
        self.normalizer.apply(text, |rest| self.pieces.symbol(rest))
    }

    fn parts(&self, normalized: &str) -> Vec<Segment> {
        let divide = match self.model_type {
            ModelType::Unigram => segment::unigram,
            ModelType::Bpe => segment::byte_pair,
            ModelType::Word => segment::words,
            ModelType::Char => segment::characters,
        };
        // Unknown neighbours are merged.
        let mut made: Vec<Segment> = vec![];
        for (part, piece) in divide(&self.pieces, normalized) {
            let piece = piece.filter(|&piece| piece != self.pieces.unknown);
            match made.last_mut() {
                Some((last, None)) if piece.is_none() => last.end = part.end,
                _ => made.push((part, piece)),
            }
        }
        made
    }

    /// Returns the numbers of a text's pieces. An unknown part is [`unknown`](Self::unknown), or
    /// the pieces of its bytes if the model falls back to them.
    #[doc(alias = "EncodeAsIds")]
    pub fn encode(&self, text: &str) -> Vec<i32> {
        let normalized = self.normalize(text);
        let mut ids = vec![];
        for (part, piece) in self.parts(&normalized) {
            match piece {
                Some(piece) => ids.push(id(piece)),
                None if self.byte_fallback => {
                    let bytes = normalized[part].bytes();
                    ids.extend(bytes.map(|byte| id(self.pieces.bytes[usize::from(byte)].unwrap_or_default())));
                }
                None => ids.push(self.unknown()),
            }
        }
        ids
    }

    /// Returns the pieces of a text. An unknown part is unchanged, or is given as bytes.
    #[doc(alias = "EncodeAsPieces")]
    pub fn encode_as_pieces(&self, text: &str) -> Vec<String> {
        let normalized = self.normalize(text);
        let mut pieces = vec![];
        for (part, piece) in self.parts(&normalized) {
            match piece {
                None if self.byte_fallback => {
                    pieces.extend(normalized[part].bytes().map(|byte| format!("<0x{byte:02X}>")));
                }
                _ => pieces.push(normalized[part].to_owned()),
            }
        }
        pieces
    }
}

/// Returns the number of a piece; there are fewer than 2^31.
fn id(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Reads a message `SentencePiece`.
fn piece(message: &[u8], number: usize) -> Result<Piece, Error> {
    let mut made = Piece { text: String::new(), score: 0.0, kind: PieceKind::Normal };
    for field in Fields::new(message) {
        let wrong = |reason: String| Error::Tokenizer { position: number, reason };
        match field? {
            (1, value) => {
                let text = value.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok());
                made.text = text.ok_or_else(|| wrong(format!("the text of piece {number} is no UTF-8")))?.into();
            }
            (2, value) => {
                made.score = value.float().ok_or_else(|| wrong(format!("the score of piece {number} is none")))?;
            }
            (3, value) => {
                made.kind = match value.number() {
                    Some(1) => PieceKind::Normal,
                    Some(2) => PieceKind::Unknown,
                    Some(3) => PieceKind::Control,
                    Some(4) => PieceKind::UserDefined,
                    Some(5) => PieceKind::Unused,
                    Some(6) => PieceKind::Byte,
                    other => return Err(wrong(format!("the type {other:?} of piece {number} is none of 1 to 6"))),
                };
            }
            _ => {}
        }
    }
    Ok(made)
}
