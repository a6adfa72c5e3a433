//! The edit distance of two lists.

/// The least number of insertions, deletions and substitutions between two lists, in memory of one
/// list. O(product of the lengths).
///
/// ```
/// use kaldera_base::edit_distance;
///
/// let characters = |text: &str| text.chars().collect::<Vec<_>>();
/// assert_eq!(edit_distance(&characters("kitten"), &characters("sitting")), 3);
/// ```
#[doc(alias = "LevenshteinEditDistance")]
pub fn edit_distance<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, right) in b.iter().enumerate() {
            let best = (diagonal + usize::from(left != right)).min(row[j].min(row[j + 1]) + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insertions_deletions_and_substitutions_are_counted() {
        let distance = |a: &str, b: &str| edit_distance(a.as_bytes(), b.as_bytes());
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!((distance("", "abc"), distance("abc", ""), distance("abc", "abc")), (3, 3, 0));
    }
}
