//! Tokenizers, which divide texts as the network's own tokenizer does: `bpe.model` and
//! `tokenizer.json`.
//!
//! A network learned from transcripts that a tokenizer divided. Hot words, the spellings of a
//! lexicon and transcripts to be aligned should be divided the same way: the token `▁the` is
//! frequent in the network's output, `▁t h e` is not.
//!
//! ```
//! use kaldera_decoder::tokenizer::{ModelType, SentencePiece, Tokenizer};
//! use kaldera_decoder::{Vocabulary, WordUnits};
//!
//! // From a file: Tokenizer::from_bytes(&std::fs::read("bpe.model")?)?
//! let pieces = "<blk>\t0\n<unk>\t0\n▁th\t-1\ne\t-2\n▁the\t-9\n▁\t-9\nt\t-9\nh\t-9\n";
//! let tokenizer = Tokenizer::from(SentencePiece::from_vocab(pieces, ModelType::Unigram)?);
//! let vocabulary = tokenizer.vocabulary(0)?.with_words(WordUnits::Marker);
//! assert_eq!(vocabulary.tokenize("the")?, [4]); // the longest piece
//! assert_eq!(vocabulary.with_tokenizer(tokenizer).tokenize("the")?, [2, 3]); // the likeliest
//! # Ok::<(), kaldera_decoder::Error>(())
//! ```
//!
//! This crate reads SentencePiece's models. The crate `tokenizers` reads `tokenizer.json`, with the
//! feature of that name.

#[cfg(feature = "tokenizers")]
mod huggingface;
mod normalizer;
mod protobuf;
mod segment;
mod sentencepiece;

use std::sync::Arc;

pub(crate) use sentencepiece::byte_of;
pub use sentencepiece::{ModelType, SentencePiece};

use crate::error::Error;
use crate::vocabulary::Vocabulary;

/// A tokenizer of any kind; cheap to clone.
#[derive(Debug, Clone)]
pub struct Tokenizer(Kind);

#[derive(Debug, Clone)]
enum Kind {
    SentencePiece(Arc<SentencePiece>),
    #[cfg(feature = "tokenizers")]
    HuggingFace(Arc<huggingface::HuggingFace>),
}

impl From<SentencePiece> for Tokenizer {
    fn from(model: SentencePiece) -> Self {
        Self(Kind::SentencePiece(Arc::new(model)))
    }
}

impl Tokenizer {
    /// Reads the bytes of a `bpe.model` or of a `tokenizer.json`, whose first byte is a brace.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] for bytes that are neither, and for a `tokenizer.json` without the
    /// feature `tokenizers`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.first() == Some(&b'{') {
            return Self::from_json(bytes);
        }
        SentencePiece::from_model(bytes).map(Self::from)
    }

    #[cfg(feature = "tokenizers")]
    fn from_json(bytes: &[u8]) -> Result<Self, Error> {
        huggingface::HuggingFace::from_json(bytes).map(|made| Self(Kind::HuggingFace(Arc::new(made))))
    }

    #[cfg(not(feature = "tokenizers"))]
    fn from_json(_: &[u8]) -> Result<Self, Error> {
        let reason = "a tokenizer.json is read with the feature 'tokenizers', which this build has not".into();
        Err(Error::Tokenizer { position: 0, reason })
    }

    /// Returns the numbers of a text's tokens, without tokens that the tokenizer adds before and
    /// after a text.
    ///
    /// # Errors
    /// [`Error::Untokenizable`] with the unknown part, [`Error::Tokenizer`] if the tokenizer fails.
    pub fn encode(&self, text: &str) -> Result<Vec<i32>, Error> {
        Ok(self.encode_parts(text)?.into_iter().map(|(id, _)| id).collect())
    }

    /// Returns the texts of a text's tokens, as in vocabularies.
    ///
    /// # Errors
    /// Errors of [`encode`](Self::encode).
    pub fn encode_as_pieces(&self, text: &str) -> Result<Vec<String>, Error> {
        Ok(self.encode_parts(text)?.into_iter().map(|(_, piece)| piece).collect())
    }

    fn encode_parts(&self, text: &str) -> Result<Vec<(i32, String)>, Error> {
        let unknown = |part: String| Error::Untokenizable { phrase: text.into(), part };
        match &self.0 {
            Kind::SentencePiece(model) => {
                let parts: Vec<_> = model.encode(text).into_iter().zip(model.encode_as_pieces(text)).collect();
                match parts.iter().find(|(id, _)| *id == model.unknown()) {
                    Some((_, part)) => Err(unknown(part.clone())),
                    None => Ok(parts),
                }
            }
            #[cfg(feature = "tokenizers")]
            Kind::HuggingFace(tokenizer) => tokenizer.encode(text)?.map_err(unknown),
        }
    }

    /// Returns the tokens as the columns of a network that has one for each, in their order.
    ///
    /// # Errors
    /// Errors of [`Vocabulary::new`].
    pub fn vocabulary(&self, blank: usize) -> Result<Vocabulary, Error> {
        match &self.0 {
            Kind::SentencePiece(model) => Vocabulary::new(model.pieces(), blank),
            #[cfg(feature = "tokenizers")]
            Kind::HuggingFace(tokenizer) => Vocabulary::new(tokenizer.pieces()?, blank),
        }
    }
}
