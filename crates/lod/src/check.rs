//! Checks whether numbers are a valid LoD, by Paddle's rules.

/// Returns `true` if these offsets, coarsest level first, are a LoD for a tensor of `height` rows
/// (`None`: of any number).
///
/// A LoD without levels is always valid. Every level needs at least 2 offsets. The first is 0,
/// and none is lower than the one before. The last offset of each level must be the number of
/// sequences of the next one, and the last offset of all must be the height. As in Paddle, a
/// height of 0 is not compared. Paddle's rules are narrower than [`Lod`](crate::Lod)'s, which may
/// also have no sequences at all (`[0]`).
///
/// ```
/// assert!(lod::check_lod(&[vec![0, 2, 3], vec![0, 3, 5, 9]], Some(9)));
/// assert!(!lod::check_lod(&[vec![0, 2, 3], vec![0, 3, 5, 9]], Some(8)));
/// assert!(!lod::check_lod(&[vec![0, 4], vec![0, 3, 5, 9]], None)); // Level 0 must end with 3.
/// ```
#[doc(alias = "CheckLoD")]
pub fn check_lod<N: Copy + TryInto<i128>>(levels: &[impl AsRef<[N]>], height: Option<usize>) -> bool {
    let levels: Option<Vec<_>> = levels.iter().map(|level| sorted_level(level.as_ref())).collect();
    let Some(levels) = levels else { return false };
    let fits = levels.windows(2).all(|pair| pair[0].end == pair[1].sequences);
    let height = height.filter(|&height| height > 0);
    fits && levels.last().is_none_or(|last| height.is_none_or(|height| last.end == height as i128))
}

/// Returns `true` if these absolute offsets, of which each level counts rows, are a LoD for a
/// tensor of `height` rows (`None`: of any number).
///
/// Every level needs at least 2 offsets. The first is 0, and none is lower than the one before.
/// All levels must end with the same number, which is the height. Paddle up to 2.6.2 has these
/// rules too, but does not check whether offsets fall, so it accepts `[0, 3, 2]`.
///
/// ```
/// assert!(lod::check_abs_lod(&[vec![0, 5, 9], vec![0, 3, 5, 9]], Some(9)));
/// assert!(!lod::check_abs_lod(&[vec![0, 2, 3], vec![0, 3, 5, 9]], Some(9)));
/// assert!(!lod::check_abs_lod(&[vec![0, 3, 2]], None));
/// ```
#[doc(alias = "CheckAbsLoD")]
pub fn check_abs_lod<N: Copy + TryInto<i128>>(levels: &[impl AsRef<[N]>], height: Option<usize>) -> bool {
    let mut levels = levels.iter().map(|level| sorted_level(level.as_ref()));
    let Some(first) = levels.next() else { return true };
    let Some(first) = first else { return false };
    let end = height.map_or(first.end, |height| height as i128);
    first.end == end && levels.all(|level| level.is_some_and(|level| level.end == end))
}

/// The sizes of one level that other levels must fit.
struct Level {
    /// Number of sequences.
    sequences: i128,
    /// Its last offset.
    end: i128,
}

/// A level that is good by itself.
fn sorted_level<N: Copy + TryInto<i128>>(offsets: &[N]) -> Option<Level> {
    let offsets: Vec<i128> = offsets.iter().map(|&offset| offset.try_into().ok()).collect::<Option<_>>()?;
    let (first, end) = (*offsets.first()?, *offsets.last()?);
    let good = offsets.len() >= 2 && first == 0 && offsets.is_sorted();
    good.then_some(Level { sequences: offsets.len() as i128 - 1, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_type_are_checked() {
        assert!(check_lod(&[[0, u64::MAX]], None));
        assert!(!check_lod(&[[0, -1]], None));
        assert!(check_abs_lod(&[[0, u64::MAX], [0, u64::MAX]], None));
        assert!(check_lod::<i32>(&[] as &[Vec<i32>], Some(7)));
        assert!(!check_lod(&[vec![0]], None) && !check_lod::<i32>(&[vec![]], None));
        assert!(check_lod(&[[0, 2, 5]], Some(0)) && !check_abs_lod(&[[0, 2, 5]], Some(0)));
    }
}
