//! Suggestions for names that are misspelt.

/// Similarity from which names are alike: 0 is not at all, 1 is equal.
const SIMILAR: f64 = 0.85;

/// Returns `; did you mean 'x'?` for the candidate most similar to `typed`, or an empty text if
/// none is similar.
///
/// ```
/// assert_eq!(
///     kaldera::similar::did_you_mean("fbnak", ["mfcc", "fbank"]),
///     "; did you mean 'fbank'?"
/// );
/// ```
pub fn did_you_mean<'c>(typed: &str, candidates: impl IntoIterator<Item = &'c str>) -> String {
    match most_similar(typed, candidates) {
        Some(candidate) => format!("; did you mean '{candidate}'?"),
        None => String::new(),
    }
}

/// Returns the candidate most similar to `typed`, or the only one with `typed` between its hyphens.
pub fn most_similar<'c>(typed: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let typed = typed.replace('_', "-");
    let likely = candidates
        .iter()
        .map(|candidate| (strsim::jaro_winkler(&typed, candidate), *candidate))
        .filter(|(likeness, _)| *likeness >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let has_it = |candidate: &&&str| candidate.split('-').any(|part| part == typed);
    let mut with_it = candidates.iter().filter(has_it);
    match (likely, with_it.next(), with_it.next()) {
        (Some((_, candidate)), ..) | (None, Some(&candidate), None) => Some(candidate),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_what_was_meant() {
        let candidates = ["kind", "output", "num-mel-bins", "no-snip-edges", "compute-fbank-feats", "determinize"];
        for (typed, meant) in [
            ("knd", Some("kind")),
            ("outptu", Some("output")),
            ("num-mel-bin", Some("num-mel-bins")),
            ("mel-bins", None),
            ("no-snip-edge", Some("no-snip-edges")),
            ("compute-fbank-feat", Some("compute-fbank-feats")),
            ("determine", Some("determinize")),
            ("no-such", None),
            ("num_mel_bins", Some("num-mel-bins")),
            ("mel", Some("num-mel-bins")),
            ("feats", Some("compute-fbank-feats")),
            ("", None),
        ] {
            assert_eq!(most_similar(typed, candidates), meant, "{typed}");
        }
        assert_eq!(did_you_mean("knd", candidates), "; did you mean 'kind'?");
        assert_eq!(did_you_mean("cqt", candidates), "");
    }
}
