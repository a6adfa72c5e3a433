//! `tokenizer.json`, by the crate `tokenizers`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Error;

/// A tokenizer of the crate `tokenizers`.
#[derive(Debug)]
pub(super) struct HuggingFace {
    tokenizer: tokenizers::Tokenizer,
    /// The token of what is unknown.
    unknown: Option<String>,
}

/// Calls that crate, whose panics on files that contradict themselves become errors.
fn guarded<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, Error> {
    let failed = |reason: String| Error::Tokenizer { position: 0, reason };
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| failed(error.to_string())),
        Err(_) => Err(failed("the crate tokenizers panicked".into())),
    }
}

impl HuggingFace {
    pub(super) fn from_json(bytes: &[u8]) -> Result<Self, Error> {
        let mut tokenizer = guarded(|| tokenizers::Tokenizer::from_bytes(bytes))?;
        // Both belong to batches for a network.
        tokenizer.with_padding(None);
        guarded(|| tokenizer.with_truncation(None).map(|_| ()))?;
        let unknown = unknown_token(&tokenizer);
        Ok(Self { tokenizer, unknown })
    }

    /// Numbers and texts of tokens, or what is unknown.
    pub(super) fn encode(&self, text: &str) -> Result<Result<Vec<(i32, String)>, String>, Error> {
        let encoding = guarded(|| self.tokenizer.encode(text, false))?;
        let mut parts = vec![];
        for ((&id, token), &(start, end)) in
            encoding.get_ids().iter().zip(encoding.get_tokens()).zip(encoding.get_offsets())
        {
            if self.unknown.as_deref() == Some(token) {
                return Ok(Err(text.get(start..end).unwrap_or(token).to_owned()));
            }
            let wrong = || Error::Tokenizer { position: 0, reason: format!("the number {id} of '{token}'") };
            parts.push((i32::try_from(id).map_err(|_| wrong())?, token.clone()));
        }
        Ok(Ok(parts))
    }

    /// All tokens by their numbers.
    pub(super) fn pieces(&self) -> Result<Vec<String>, Error> {
        let count = u32::try_from(self.tokenizer.get_vocab_size(true)).unwrap_or(u32::MAX);
        let piece = |id| {
            let missing = || Error::Tokenizer { position: 0, reason: format!("no token has the number {id}") };
            self.tokenizer.id_to_token(id).ok_or_else(missing)
        };
        (0..count).map(piece).collect()
    }
}

fn unknown_token(tokenizer: &tokenizers::Tokenizer) -> Option<String> {
    use tokenizers::ModelWrapper::{BPE, Unigram, WordLevel, WordPiece};
    match tokenizer.get_model() {
        BPE(model) => model.unk_token.clone(),
        WordPiece(model) => Some(model.unk_token.clone()),
        WordLevel(model) => Some(model.unk_token.clone()),
        // Its number is not to be had; the usual names are looked for.
        Unigram(_) => {
            ["<unk>", "[UNK]"].into_iter().find(|&token| tokenizer.token_to_id(token).is_some()).map(Into::into)
        }
    }
}
