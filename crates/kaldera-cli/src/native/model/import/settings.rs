//! The settings of a new model, each with its source.

use std::fmt::{Display, Write as _};

/// Returns a text in TOML, whose basic strings have JSON's escapes.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the beginning of a text of a file, for people.
pub(super) fn beginning(text: &str) -> String {
    let shown: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(40).is_some() { format!("{shown}...") } else { shown }
}

/// A value of `model.toml`, or of the table only.
struct Setting {
    /// The table of `model.toml`: empty for its beginning; `None` for a value that it does not get.
    table: Option<&'static str>,
    key: &'static str,
    value: String,
    source: String,
}

/// The settings that are known, and the questions that the files leave open.
#[derive(Default)]
pub(super) struct Settings {
    known: Vec<Setting>,
    questions: Vec<String>,
}

impl Settings {
    /// Adds a line of `model.toml`; `value` is in TOML.
    pub(super) fn set(
        &mut self,
        table: &'static str,
        key: &'static str,
        value: impl Display,
        source: impl Into<String>,
    ) {
        self.add(Some(table), key, value, source);
    }

    /// Adds a value that a preset, the network or a default has.
    pub(super) fn note(&mut self, key: &'static str, value: impl Display, source: impl Into<String>) {
        self.add(None, key, value, source);
    }

    fn add(&mut self, table: Option<&'static str>, key: &'static str, value: impl Display, source: impl Into<String>) {
        self.known.push(Setting { table, key, value: value.to_string(), source: source.into() });
    }

    /// Adds a question that nothing answers.
    pub(super) fn ask(&mut self, question: impl Into<String>) {
        self.questions.push(question.into());
    }

    /// Returns all questions; none if everything is known.
    pub(super) fn open_questions(&self) -> Option<String> {
        Some(self.questions.join("; ")).filter(|all| !all.is_empty())
    }

    /// Returns the text of `model.toml`.
    pub(super) fn toml(&self) -> String {
        let mut text = String::new();
        for table in ["", "features", "network", "decoding"] {
            let own: Vec<&Setting> = self.known.iter().filter(|setting| setting.table == Some(table)).collect();
            if !table.is_empty() && !own.is_empty() {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n[{table}]\n");
            }
            for Setting { key, value, .. } in own {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        text
    }

    /// Returns the settings as a table for people: setting, value, source.
    pub(super) fn table(&self) -> String {
        let rows = self.known.iter().map(|Setting { table, key, value, source }| {
            let table = table.filter(|table| !table.is_empty()).map_or_else(String::new, |table| format!("{table}."));
            [format!("{table}{key}"), value.clone(), source.clone()]
        });
        let rows: Vec<[String; 3]> =
            [["setting", "value", "from"].map(str::to_owned)].into_iter().chain(rows).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (first, second) = (width(0), width(1));
        let line = |[key, value, source]: &[String; 3]| format!("{key:first$}  {value:second$}  {source}\n");
        rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_a_description_and_a_table() {
        let mut settings = Settings::default();
        settings.set("network", "file", "\"a.onnx\"", "SOURCE");
        settings.set("", "blank", 4, "vocab.txt: <blk>");
        settings.note("subsampling", "by trial", "the network");
        assert_eq!(settings.toml(), "blank = 4\n\n[network]\nfile = \"a.onnx\"\n");
        let lines = [
            "setting       value     from",
            "network.file  \"a.onnx\"  SOURCE",
            "blank         4         vocab.txt: <blk>",
            "subsampling   by trial  the network\n",
        ];
        assert_eq!(settings.table(), lines.join("\n"));
        assert_eq!(settings.open_questions(), None);
        settings.ask("a: give --a");
        settings.ask("b");
        assert_eq!(settings.open_questions().unwrap(), "a: give --a; b");
    }
}
