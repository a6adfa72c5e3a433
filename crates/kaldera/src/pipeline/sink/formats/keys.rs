//! Checks of keys that the formats can hold.

use std::collections::HashSet;
use std::path::Path;

use kaldi_io::is_token;

use crate::Error;

/// The name of a safetensors file's own entry.
const METADATA: &str = "__metadata__";

/// The suffix of a key in the name of an entry of an `.npz` file.
const NPY: &str = ".npy";

/// The longest name of an entry of an `.npz` file.
const MAX_NPZ_NAME: usize = u16::MAX as usize;

/// Refuses a key that a file with the ending of `path` cannot hold; `staged` files are archives
/// first.
pub(in crate::pipeline::sink) fn check(path: &Path, staged: bool, key: &str) -> Result<(), Error> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let reason = match ending {
        _ if key.is_empty() => Some("it is empty"),
        "npz" => npz(key),
        "safetensors" if key == METADATA => Some("safetensors files have an entry of their own with this name"),
        _ => None,
    };
    let in_archive =
        || ((ending == "ark" || staged) && !is_token(key)).then_some("Kaldi's archives separate keys by white space");
    match reason.or_else(in_archive) {
        Some(reason) => Err(refused(path, key, reason)),
        None => Ok(()),
    }
}

/// Returns the reason to refuse a key. An entry becomes a file when the archive is unpacked,
/// which must not be outside the folder.
fn npz(key: &str) -> Option<&'static str> {
    let is_separator = |c| matches!(c, '/' | '\\');
    let drive = key.as_bytes().get(1) == Some(&b':') && key.as_bytes()[0].is_ascii_alphabetic();
    if key.starts_with(is_separator) || drive || key.split(is_separator).any(|part| part == "..") {
        Some("unpacked, it would be a file outside the folder")
    } else if key.contains(char::is_control) {
        Some("it has control characters")
    } else if key.len() + NPY.len() > MAX_NPZ_NAME {
        Some("it is too long")
    } else {
        None
    }
}

/// Records a key, which must not have been written before.
pub(in crate::pipeline::sink) fn take(seen: &mut HashSet<String>, path: &Path, key: &str) -> Result<(), Error> {
    // NumPy takes `a.npy` for the entry of `a`.
    let is_npz = path.extension().is_some_and(|ending| ending == "npz");
    let twin = is_npz
        && (key.strip_suffix(NPY).is_some_and(|key| seen.contains(key)) || seen.contains(&(key.to_owned() + NPY)));
    if twin {
        return Err(refused(path, key, "NumPy would not tell it from the same with '.npy'"));
    }
    if seen.insert(key.to_owned()) { Ok(()) } else { Err(refused(path, key, "it has been written already")) }
}

fn refused(path: &Path, key: &str, reason: &'static str) -> Error {
    Error::Key { path: path.to_owned(), key: key.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_refuse_the_keys_that_they_cannot_hold() {
        let refuses = |path: &str, staged, key: &str| check(Path::new(path), staged, key).is_err();
        for key in ["", "a b", "a\nb", "a\tb", "a\0", "a\u{1b}[2J"] {
            assert!(refuses("x.ark", false, key), "{key:?}");
            assert!(refuses("x.npz", true, key), "{key:?}");
        }
        for key in ["", "../a", "a/../../b", "..", "/a", "\\a", "..\\a", "C:a", "a\0", "a\nb"] {
            assert!(refuses("x.npz", false, key), "{key:?}");
        }
        for key in ["", METADATA] {
            assert!(refuses("x.safetensors", false, key), "{key:?}");
        }
        for (path, key) in [
            ("x.ark", "../a"),
            ("x.ark", METADATA),
            ("x.ark", "sp1.1-\u{e9}t\u{e9}"),
            ("x.npz", "a b"),
            ("x.npz", "spk/a..b"),
            ("x.npz", METADATA),
            ("x.safetensors", "../a b"),
        ] {
            assert!(!refuses(path, false, key), "{path} {key:?}");
        }
    }

    #[test]
    fn keys_come_once() {
        let mut seen = HashSet::new();
        let path = Path::new("x.npz");
        take(&mut seen, path, "a").unwrap();
        take(&mut seen, path, "b.npy").unwrap();
        for key in ["a", "a.npy", "b"] {
            assert!(take(&mut seen, path, key).is_err(), "{key}");
        }
        take(&mut seen, Path::new("x.ark"), "a.npy").unwrap();
    }
}
