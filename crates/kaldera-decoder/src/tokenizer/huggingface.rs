//! `tokenizer.json`, by the crate `tokenizers`.

use kaldera_base::panics::catch;
use tokenizers::{Model, ModelWrapper, OffsetReferential, OffsetType, PreTokenizer};

use crate::error::Error;

/// A tokenizer of the crate `tokenizers`.
#[derive(Debug)]
pub(super) struct HuggingFace {
    tokenizer: tokenizers::Tokenizer,
    /// The number of the token for unknown text.
    unknown: Option<u32>,
}

/// Calls that crate. Its panics on files that contradict themselves become errors.
fn guarded<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, Error> {
    let failed = |reason: String| Error::Tokenizer { position: 0, reason };
    match catch(call) {
        Ok(result) => result.map_err(|error| failed(error.to_string())),
        Err(message) => Err(failed(format!("the crate tokenizers panicked: {message}"))),
    }
}

impl HuggingFace {
    pub(super) fn from_json(bytes: &[u8]) -> Result<Self, Error> {
        let mut tokenizer = guarded(|| tokenizers::Tokenizer::from_bytes(bytes))?;
        // Both are for batches of a network.
        tokenizer.with_padding(None);
        guarded(|| tokenizer.with_truncation(None).map(|_| ()))?;
        let unknown = unknown_token(tokenizer.get_model(), bytes);
        Ok(Self { tokenizer, unknown })
    }

    /// Returns numbers and texts of tokens, or the unknown part of the text.
    pub(super) fn encode(&self, text: &str) -> Result<Result<Vec<(i32, String)>, String>, Error> {
        if let Some(part) = self.dropped(text)? {
            return Ok(Err(part));
        }
        let encoding = guarded(|| self.tokenizer.encode(text, false))?;
        let mut parts = vec![];
        for ((&id, token), &(start, end)) in
            encoding.get_ids().iter().zip(encoding.get_tokens()).zip(encoding.get_offsets())
        {
            if self.unknown == Some(id) {
                return Ok(Err(text.get(start..end).unwrap_or(token).to_owned()));
            }
            let wrong = || Error::Tokenizer { position: 0, reason: format!("the number {id} of '{token}'") };
            parts.push((i32::try_from(id).map_err(|_| wrong())?, token.clone()));
        }
        Ok(Ok(parts))
    }

    /// Returns the first word with a character that the model drops: byte pairs without an unknown
    /// token. The tokens of such a word are shorter than the word.
    fn dropped(&self, text: &str) -> Result<Option<String>, Error> {
        let ModelWrapper::BPE(model) = self.tokenizer.get_model() else { return Ok(None) };
        if model.unk_token.is_some() {
            return Ok(None);
        }
        guarded(|| {
            let added = self.tokenizer.get_added_vocabulary();
            let mut words = added.extract_and_normalize(self.tokenizer.get_normalizer(), text);
            if let Some(divide) = self.tokenizer.get_pre_tokenizer() {
                divide.pre_tokenize(&mut words)?;
            }
            for (word, (start, end), tokens) in words.get_splits(OffsetReferential::Original, OffsetType::Byte) {
                // Tokens that were added to the model are already there.
                if tokens.is_none() && model.tokenize(word)?.last().map_or(0, |token| token.offsets.1) < word.len() {
                    return Ok(Some(text.get(start..end).unwrap_or(word).to_owned()));
                }
            }
            Ok(None)
        })
    }

    /// Returns all tokens by their numbers.
    pub(super) fn pieces(&self) -> Result<Vec<String>, Error> {
        let count = u32::try_from(self.tokenizer.get_vocab_size(true)).unwrap_or(u32::MAX);
        let piece = |id| {
            let missing = || Error::Tokenizer { position: 0, reason: format!("no token has the number {id}") };
            self.tokenizer.id_to_token(id).ok_or_else(missing)
        };
        (0..count).map(piece).collect()
    }
}

fn unknown_token(model: &ModelWrapper, bytes: &[u8]) -> Option<u32> {
    match model {
        ModelWrapper::BPE(own) => model.token_to_id(own.unk_token.as_deref()?),
        ModelWrapper::WordPiece(own) => model.token_to_id(&own.unk_token),
        ModelWrapper::WordLevel(own) => model.token_to_id(&own.unk_token),
        // The crate does not return the number; the file has it.
        ModelWrapper::Unigram(_) => {
            let file: serde_json::Value = serde_json::from_slice(bytes).ok()?;
            u32::try_from(file.get("model")?.get("unk_id")?.as_u64()?).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer(model: &str, pre_tokenizer: &str) -> HuggingFace {
        let rest = r#""added_tokens":[],"normalizer":null,"post_processor":null,"decoder":null"#;
        let file = format!(r#"{{"version":"1.0",{rest},"pre_tokenizer":{pre_tokenizer},"model":{model}}}"#);
        HuggingFace::from_json(file.as_bytes()).unwrap()
    }

    #[test]
    fn the_unknown_token_of_a_unigram_model_is_known_by_its_number() {
        let model = r#"{"type":"Unigram","unk_id":1,"vocab":[["a",-1.0],["*",0.0],["b",-2.0]]}"#;
        let tokenizer = tokenizer(model, "null");
        assert_eq!(tokenizer.encode("ab").unwrap(), Ok(vec![(0, "a".into()), (2, "b".into())]));
        assert_eq!(tokenizer.encode("axb").unwrap(), Err("x".into()));
    }

    #[test]
    fn characters_that_byte_pairs_drop_are_unknown() {
        let model = r#"{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}"#;
        let tokenizer = tokenizer(model, r#"{"type":"Whitespace"}"#);
        assert_eq!(tokenizer.encode("ab  b").unwrap(), Ok(vec![(2, "ab".into()), (1, "b".into())]));
        for (text, part) in [("b axb", "axb"), ("b x", "x"), ("ab bx", "bx")] {
            assert_eq!(tokenizer.encode(text).unwrap(), Err(part.into()));
        }
    }
}
