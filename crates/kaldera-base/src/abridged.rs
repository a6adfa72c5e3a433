//! `Debug` of long slices, short enough for a terminal.

use std::fmt;

/// The longest slice of which every element is printed.
const MAX_LEN: usize = 16;
/// Number of elements printed from the beginning and from the end of a longer slice.
const HEAD: usize = 8;
const TAIL: usize = 3;

/// A slice whose `Debug` leaves out the middle if there are more than 16 elements, and says how
/// many there are.
///
/// ```
/// use kaldera_base::abridged::Abridged;
///
/// let squares: Vec<u32> = (0..1000).map(|x| x * x).collect();
/// assert_eq!(format!("{:?}", Abridged(&squares[..3])), "[0, 1, 4]");
/// assert_eq!(
///     format!("{:?}", Abridged(&squares)),
///     "[0, 1, 4, 9, 16, 25, 36, 49, .., 994009, 996004, 998001] (1000 elements)"
/// );
/// ```
#[derive(Clone, Copy)]
pub struct Abridged<'a, T>(pub &'a [T]);

impl<T: fmt::Debug> fmt::Debug for Abridged<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.0;
        if all.len() <= MAX_LEN {
            return all.fmt(f);
        }
        let tail = &all[all.len() - TAIL..];
        f.debug_list().entries(&all[..HEAD]).entry(&format_args!("..")).entries(tail).finish()?;
        write!(f, " ({} elements)", all.len())
    }
}
