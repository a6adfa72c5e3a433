//! Results as the JSON that Vosk writes, byte for byte.

use std::fmt::Write;

/// A value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Json {
    /// A text.
    Text(String),
    /// A number, written with six decimals.
    Number(f64),
    /// A number of things, written without decimals.
    Count(usize),
    /// A list.
    List(Vec<Json>),
    /// Named values, in the order of their names.
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// Returns the text of Vosk's layout: an object's names on lines of their own, a list on the
    /// line of its name.
    ///
    /// ```
    /// use kaldera::kaldi_online::Json;
    ///
    /// let values = vec![("conf", Json::Number(1.0)), ("word", Json::Text("ja".into()))];
    /// let word = Json::Object(values);
    /// let text = Json::Object(vec![("result", Json::List(vec![word]))]).to_text();
    /// let lines: Vec<_> = text.lines().collect();
    /// assert_eq!(lines[1..3], ["  \"result\" : [{", "      \"conf\" : 1.000000,"]);
    /// ```
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 1);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Self::Text(text) => quote(text, out),
            // Writing into a text does not fail.
            Self::Number(number) => drop(write!(out, "{number:.6}")),
            Self::Count(count) => drop(write!(out, "{count}")),
            Self::List(values) => {
                out.push('[');
                for (i, value) in values.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    value.write(out, depth + 1);
                }
                out.push(']');
            }
            Self::Object(values) => {
                out.push_str("{\n");
                for (i, (name, value)) in values.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ",\n" });
                    out.push_str(&"  ".repeat(depth));
                    quote(name, out);
                    out.push_str(" : ");
                    value.write(out, depth + 1);
                }
                out.push('\n');
                out.push_str(&"  ".repeat(depth - 1));
                out.push('}');
            }
        }
    }
}

/// Writes a text in quotes. Letters beyond ASCII stay as they are.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_escaped() {
        assert_eq!(Json::Text("a\"\\\n하".into()).to_text(), "\"a\\\"\\\\\\n하\"");
        assert_eq!(Json::Object(vec![("text", Json::Text(String::new()))]).to_text(), "{\n  \"text\" : \"\"\n}");
    }
}
