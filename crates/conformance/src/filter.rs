//! Selects the cases to run.

use std::fmt;

use crate::case_file::Case;

/// `PATH-PREFIX[:NAME]`: the beginning of a case file's path and, optionally, one group or
/// operation in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    path: String,
    name: Option<String>,
}

impl Filter {
    /// Reads a filter as typed; every text is one, if perhaps of nothing.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match text.split_once(':') {
            Some((path, name)) => Self { path: path.into(), name: Some(name.into()) },
            None => Self { path: text.into(), name: None },
        }
    }

    pub(crate) fn selects_file(&self, name: &str) -> bool {
        name.starts_with(&self.path)
    }

    pub(crate) fn selects_case(&self, case: &Case) -> bool {
        self.name.as_ref().is_none_or(|wanted| case.names.iter().any(|name| names(wanted, name)))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        self.name.iter().try_for_each(|name| write!(f, ":{name}"))
    }
}

/// Returns `true` if `wanted` is `name`, or its beginning up to a character that ends a word.
fn names(wanted: &str, name: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_whole_or_ends_at_a_word() {
        assert!(names("feat", "feat.MelBanks"));
        assert!(names("CompressedMatrix", "CompressedMatrix(empty)"));
        assert!(names("mfcc", "mfcc"));
        assert!(!names("pitch", "pitchproc"));
        assert!(!names("sum", "sum_grad"));
        assert!(!names("feat.MelBanks", "feat"));
    }

    #[test]
    fn the_path_is_a_beginning() {
        assert!(Filter::new("k2/ragged").selects_file("k2/ragged_ops.json"));
        assert!(Filter::new("kaldi/manifest:mfcc").selects_file("kaldi/manifest.json"));
        assert!(!Filter::new("ragged").selects_file("k2/ragged_ops.json"));
    }
}
