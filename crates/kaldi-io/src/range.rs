//! Ranges `[first:last,first:last]` after an entry of a script file.

use tracing::warn;

/// Number of rows by which a range may exceed the end: two for the frames that windows of 25 ms
/// lose at the edges, one for the rounding of times to two decimals. They are cut off with a
/// warning.
const TOLERANCE: usize = 3;

/// Start and length of a range.
pub(crate) type Span = (usize, usize);

/// Returns the rows and columns of `range` in a matrix; `None` if it is malformed or outside.
pub(crate) fn of_matrix(range: &str, rows: usize, cols: usize) -> Option<(Span, Span)> {
    let (row_range, col_range) = range.split_once(',').unwrap_or((range, ":"));
    let (first, last) = bounds(row_range, rows, TOLERANCE)?;
    let columns = part(bounds(col_range, cols, 0)?, cols)?;
    if last >= rows {
        warn!("rows {first}:{last} of a matrix with {rows}: taking those that there are");
    }
    Some((part((first, last), rows)?, columns))
}

/// Returns the elements of `range` in a vector; `None` if it is malformed or outside.
pub(crate) fn of_vector(range: &str, dim: usize) -> Option<Span> {
    let (first, last) = bounds(range, dim, TOLERANCE)?;
    if last >= dim {
        warn!("elements {first}:{last} of a vector with {dim}: taking those that there are");
    }
    part((first, last), dim)
}

/// Parses the first and last index of `first:last` or `:`.
fn bounds(range: &str, size: usize, tolerance: usize) -> Option<(usize, usize)> {
    if range == ":" {
        return Some((0, size.checked_sub(1)?));
    }
    let (first, last) = range.split_once(':')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < size + tolerance).then_some((first, last))
}

/// Cuts the last index to the size; `None` if nothing remains.
fn part((first, last): (usize, usize), size: usize) -> Option<Span> {
    let len = (last + 1).min(size).checked_sub(first)?;
    (len > 0).then_some((first, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_included() {
        assert_eq!(of_matrix("2:9", 123, 13), Some(((2, 8), (0, 13))));
        assert_eq!(of_matrix("0:4,1:3", 123, 13), Some(((0, 5), (1, 3))));
        assert_eq!(of_matrix(":,3:6", 123, 13), Some(((0, 123), (3, 4))));
        assert_eq!(of_matrix("5:5,:", 123, 13), Some(((5, 1), (0, 13))));
        assert_eq!(of_vector("1:2", 4), Some((1, 2)));
        assert_eq!(of_vector(":", 4), Some((0, 4)));
    }

    #[test]
    fn three_rows_too_many_are_cut_off_and_four_are_not() {
        assert_eq!(of_matrix("119:122", 123, 13), Some(((119, 4), (0, 13))));
        assert_eq!(of_matrix("119:125", 123, 13), Some(((119, 4), (0, 13))));
        assert_eq!(of_matrix("119:126", 123, 13), None);
        assert_eq!(of_matrix("0:1,0:13", 123, 13), None, "columns are strict");
        assert_eq!(of_vector("0:6", 4), Some((0, 4)));
        assert_eq!(of_vector("0:7", 4), None);
    }

    #[test]
    fn nonsense_is_refused() {
        for range in [
            "",
            ",",
            "1",
            "1:",
            ":1",
            "2:1",
            "-1:2",
            "a:b",
            "0:1,",
            ",0:1",
            "0:1,0:1,0:1",
            "1:2:3",
            "0:99999999999999999999",
        ] {
            assert_eq!(of_matrix(range, 5, 5), None, "{range}");
        }
        for range in ["", "0:1,0:1", "1", "2:1"] {
            assert_eq!(of_vector(range, 5), None, "{range}");
        }
        assert_eq!(of_matrix(":", 0, 0), None);
        assert_eq!(of_matrix("5:6", 5, 5), None, "nothing would remain");
        assert_eq!(of_vector("0:18446744073709551615", 5), None);
    }
}
