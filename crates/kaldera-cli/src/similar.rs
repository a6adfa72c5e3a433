//! What somebody may have meant.

/// From here on, names are like each other: 0 is not at all, 1 is the same.
const SIMILAR: f64 = 0.85;

/// `; did you mean 'x'?` for the candidate most like what was typed, and nothing if none is like
/// it.
pub(crate) fn did_you_mean<'c>(typed: &str, candidates: impl IntoIterator<Item = &'c str>) -> String {
    match most_similar(typed, candidates) {
        Some(candidate) => format!("; did you mean '{candidate}'?"),
        None => String::new(),
    }
}

/// The candidate most like what was typed, if one is.
pub(crate) fn most_similar<'c>(typed: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(typed, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
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
            ("", None),
        ] {
            assert_eq!(most_similar(typed, candidates), meant, "{typed}");
        }
        assert_eq!(did_you_mean("knd", candidates), "; did you mean 'kind'?");
        assert_eq!(did_you_mean("cqt", candidates), "");
    }
}
