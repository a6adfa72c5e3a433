//! The cases of a file, whatever its set: an id, the names that a filter can ask for, and the case
//! itself.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// One case, still as JSON: the set's runner interprets the fields.
pub(crate) struct Case {
    pub(crate) id: String,
    /// Group and operation, under whichever key the set keeps them.
    pub(crate) names: Vec<String>,
    pub(crate) value: Value,
}

/// Why a file of cases cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Damage {
    #[error("cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error("damaged: line {line}: {source}")]
    Json { line: usize, source: serde_json::Error },
    #[error("damaged: no list of cases")]
    NoCases,
    #[error("damaged: its head announces {announced} cases, {found} follow")]
    WrongCount { announced: u64, found: usize },
    #[error("damaged: case {number} is not an object")]
    NoObject { number: usize },
}

/// Reads a file in any layout of the sets: a list, an object with a list of `cases` or `records`,
/// or a case a line (with or without a head).
pub(crate) fn read_cases(path: &Path) -> Result<Vec<Case>, Damage> {
    if path.is_dir() {
        return crate::fst_types::cases(path);
    }
    let text = fs::read_to_string(path)?;
    let (announced, values) =
        if path.extension().is_some_and(|ending| ending == "jsonl") { lines(&text)? } else { document(&text)? };
    if let Some(announced) = announced.filter(|&announced| u64::try_from(values.len()) != Ok(announced)) {
        return Err(Damage::WrongCount { announced, found: values.len() });
    }
    if values.is_empty() {
        return Err(Damage::NoCases);
    }
    values.into_iter().enumerate().map(|(number, value)| case(number, value)).collect()
}

fn lines(text: &str) -> Result<(Option<u64>, Vec<Value>), Damage> {
    let mut values = Vec::new();
    let mut announced = None;
    for (line, text) in text.lines().enumerate() {
        let value: Value = serde_json::from_str(text).map_err(|source| Damage::Json { line: line + 1, source })?;
        match value.get("cases").and_then(Value::as_u64) {
            Some(count) if line == 0 => announced = Some(count),
            _ => values.push(value),
        }
    }
    Ok((announced, values))
}

fn document(text: &str) -> Result<(Option<u64>, Vec<Value>), Damage> {
    let document = serde_json::from_str(text).map_err(|source| Damage::Json { line: source.line(), source })?;
    let mut object = match document {
        Value::Array(values) => return Ok((None, values)),
        Value::Object(object) => object,
        _ => return Err(Damage::NoCases),
    };
    let announced = object.get("num_cases").and_then(Value::as_u64);
    match object.remove("cases").or_else(|| object.remove("records")) {
        Some(Value::Array(values)) => Ok((announced, values)),
        _ => Err(Damage::NoCases),
    }
}

fn case(number: usize, value: Value) -> Result<Case, Damage> {
    let object = value.as_object().ok_or(Damage::NoObject { number })?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let names: Vec<String> = ["group", "op", "fn", "g", "kind"].into_iter().filter_map(text).collect();
    // matrix.json numbers its records by their place only.
    let id = text("id").or_else(|| text("name")).unwrap_or_else(|| format!("{}#{number}", names.join(".")));
    Ok(Case { id, names, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Vec<Case>, Damage> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), text).unwrap();
        read_cases(&folder.path().join(name))
    }

    #[test]
    fn every_layout_is_read() {
        let ids = |name, text| read(name, text).unwrap().into_iter().map(|case| case.id).collect::<Vec<_>>();
        assert_eq!(ids("a.json", r#"[{"id": "a"}, {"name": "b"}]"#), ["a", "b"]);
        assert_eq!(ids("a.json", r#"{"records": [{"op": "Sp.Eig"}]}"#), ["Sp.Eig#0"]);
        assert_eq!(ids("a.jsonl", "{\"schema\": \"s\", \"cases\": 1}\n{\"id\": \"a\"}\n"), ["a"]);
        assert_eq!(ids("a.jsonl", "{\"id\": \"a\"}\n{\"id\": \"b\"}"), ["a", "b"]);
    }

    #[test]
    fn damage_is_named() {
        assert!(matches!(read("a.json", "{\"cases\": [{]"), Err(Damage::Json { line: 1, .. })));
        assert!(matches!(read("a.jsonl", "{\"id\": \"a\"}\n{"), Err(Damage::Json { line: 2, .. })));
        assert!(matches!(
            read("a.jsonl", "{\"cases\": 2}\n{\"id\": \"a\"}"),
            Err(Damage::WrongCount { announced: 2, found: 1 })
        ));
        assert!(matches!(read("a.json", "{}"), Err(Damage::NoCases)));
        assert!(matches!(read("a.json", "[]"), Err(Damage::NoCases)));
        assert!(matches!(read("a.json", "[1]"), Err(Damage::NoObject { number: 0 })));
    }
}
