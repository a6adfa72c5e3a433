//! The tokens of an export, and their blank.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::super::CliError;
use super::export::{Export, read_json};
use super::family::Family;
use super::files::failed;
use super::settings::beginning;

/// Names of the blank token: icefall, sherpa-onnx and NeMo; WeNet; ESPnet. If there are several,
/// the first in this list is used.
const BLANKS: [&str; 4] = ["<blk>", "<blank>", "<eps>", "[blank]"];

/// Names of the token for padding, which is the blank of wav2vec 2.0 and T-one.
const PADDINGS: [&str; 2] = ["<pad>", "[PAD]"];

/// The tokens of an export.
pub(super) struct Tokens {
    /// The text of `tokens.txt`.
    pub(super) text: String,
    /// Texts and numbers.
    pub(super) all: Vec<(String, String)>,
}

impl Tokens {
    /// Reads a list: lines `TOKEN NUMBER`, lines of only a token, or an object or an array in JSON.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        if path.extension().is_some_and(|ending| ending == "json") {
            let texts = from_json(&read_json(path)?).map_err(|reason| failed(path, &reason))?;
            if let Some((number, text)) =
                (0..).zip(&texts).find(|(_, text)| text.is_empty() || text.contains(char::is_control))
            {
                return Err(failed(path, &format!("token {number} is {text:?}: it must be a text of one line")));
            }
            return Ok(Self::from_texts(&texts));
        }
        let text = kaldera::text::read_file(path).map_err(|error| failed(path, &error))?;
        let is_list = text.lines().all(|line| !line.trim_end().contains([' ', '\t']));
        if is_list && text.lines().any(|line| line.trim().parse::<usize>().is_err()) {
            return Ok(Self::from_texts(&text.lines().map(str::to_owned).collect::<Vec<_>>()));
        }
        let line = |line: &str| {
            let (text, number) = line.trim_end().rsplit_once([' ', '\t'])?;
            Some((text.trim().to_owned(), number.to_owned()))
        };
        Ok(Self { all: text.lines().filter_map(line).collect(), text })
    }

    fn from_texts(texts: &[String]) -> Self {
        let all: Vec<(String, String)> =
            texts.iter().enumerate().map(|(number, text)| (text.clone(), number.to_string())).collect();
        let text = all.iter().map(|(text, number)| format!("{text} {number}\n")).collect();
        Self { text, all }
    }

    /// Returns `true` if a token has this property.
    pub(super) fn any(&self, is: impl Fn(&str) -> bool) -> bool {
        self.all.iter().any(|(text, _)| is(text))
    }

    /// Returns the number of a token.
    pub(super) fn number(&self, token: &str) -> Option<&str> {
        self.all.iter().find(|(text, _)| text == token).map(|(_, number)| &**number)
    }

    /// Returns the number of the blank, and its source: the metadata `blank_id`, the family's, the
    /// token for padding of a Hugging Face folder, or a token of a known name.
    pub(super) fn blank(
        &self,
        export: &Export,
        blank_id: Option<&str>,
        family: Option<Family>,
    ) -> Result<(usize, String), CliError> {
        let path = &export.tokens;
        let parsed = |number: &str| {
            number.trim().parse().map_err(|_| failed(path, &format!("the blank's number is '{}'", beginning(number))))
        };
        if let Some(number) = blank_id {
            return Ok((parsed(number)?, "metadata: blank_id".to_owned()));
        }
        if let Some((family, blank)) = family.and_then(|family| Some((family, family.blank()?))) {
            return Ok((blank, format!("{}'s", family.name())));
        }
        let pads = matches!(family, None | Some(Family::Wav2Vec2 | Family::TOne));
        let padding = export.json("tokenizer_config.json")?.filter(|_| pads).and_then(|config| {
            let token = &config["pad_token"];
            token.as_str().or_else(|| token["content"].as_str()).map(str::to_owned)
        });
        if let Some((number, token)) = padding.and_then(|token| Some((self.number(&token)?, token))) {
            return Ok((parsed(number)?, format!("tokenizer_config.json: pad_token {}", beginning(&token))));
        }
        // The order of the names matters: some of NeMo's lists have a <pad> before the blank.
        let names = || BLANKS.iter().chain(PADDINGS.iter().filter(|_| pads));
        let named = names().find_map(|blank| Some((blank, self.number(blank)?)));
        let (blank, number) = named.ok_or_else(|| {
            let names = names().copied().collect::<Vec<_>>().join(", ");
            failed(path, &format!("there is no blank in it: one of {names}; or blank_id in the network's metadata"))
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok((parsed(number)?, format!("{name}: {blank}")))
    }
}

/// Returns the texts of tokens in the order of their numbers.
fn from_json(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(texts) => {
            let text = |text: &Value| text.as_str().map(str::to_owned).ok_or_else(|| format!("{text} is no token"));
            texts.iter().map(text).collect()
        }
        Value::Object(numbers) => {
            let mut by_number = BTreeMap::new();
            for (text, number) in numbers {
                let number =
                    number.as_u64().ok_or_else(|| format!("token {text}: {number} is no number of a token"))?;
                if by_number.insert(number, text).is_some() {
                    return Err(format!("token {text}: its number {number} is there twice"));
                }
            }
            match (0..).zip(by_number.keys()).find(|(expected, found)| expected != *found) {
                Some((missing, _)) => Err(format!("no token has the number {missing}")),
                None => Ok(by_number.into_values().cloned().collect()),
            }
        }
        _ => Err("it is neither an object of tokens and numbers nor a list of tokens".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_json_are_in_the_order_of_their_numbers() {
        let read = |text: &str| from_json(&serde_json::from_str(text).unwrap());
        assert_eq!(read(r#"{"|": 1, "<pad>": 0, "a": 2}"#).unwrap(), ["<pad>", "|", "a"]);
        assert_eq!(read(r#"["a", "b"]"#).unwrap(), ["a", "b"]);
        for (text, words) in [
            (r#"{"a": 0, "b": 2}"#, "no token has the number 1"),
            (r#"{"a": 0, "b": 0}"#, "token b: its number 0 is there twice"),
            (r#"{"a": -1}"#, "token a: -1 is no number"),
            (r#"{"a": "0"}"#, "is no number"),
            ("[1]", "1 is no token"),
            ("3", "neither an object"),
        ] {
            assert!(read(text).unwrap_err().contains(words), "{text}");
        }
    }
}
