//! Tensors as text: nested lists, each row on a separate line.

use std::fmt;

use crate::element::Element;
use crate::reshape::TensorCow;
use crate::tensor::Tensor;
use crate::view::{TensorView, TensorViewMut};

/// Number of entries of an axis that are written before and after the dots, if there are more
/// than twice as many.
const ENDS: usize = 3;

/// Above this number of elements, long axes are shortened.
const SHORTEN_ABOVE: usize = 1000;

/// Writes nested lists; the innermost ones each on a line, `depth` brackets from the left.
fn write_list<T: Element>(
    f: &mut fmt::Formatter<'_>,
    view: &TensorView<'_, T>,
    depth: usize,
    short: bool,
    item: &impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    let Some(&len) = view.shape().first() else {
        return view.iter().try_for_each(|x| item(x, f));
    };
    let cut = short && len > 2 * ENDS;
    let (head, tail) = if cut { (ENDS, len - ENDS) } else { (len, len) };
    let separate = |f: &mut fmt::Formatter<'_>| {
        f.write_str(",")?;
        match view.shape().len() {
            1 => f.write_str(" "),
            rank => write!(f, "{}{:2$}", "\n".repeat(rank - 1), "", depth + 1),
        }
    };
    f.write_str("[")?;
    for i in (0..head).chain(tail..len) {
        if i > 0 {
            separate(f)?;
        }
        if cut && i == tail {
            f.write_str("...")?;
            separate(f)?;
        }
        let entry = view.index_axis(0, i).map_err(|_| fmt::Error)?;
        write_list(f, &entry, depth + 1, short, item)?;
    }
    f.write_str("]")
}

/// Nested lists, `[[1, 2],\n [3, 4]]`. Of more than 1000 elements, the middle of long axes is left
/// out.
impl<T: Element + fmt::Display> fmt::Display for TensorView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self, 0, self.layout().len() > SHORTEN_ABOVE, &|x, f| x.fmt(f))
    }
}

/// Nested lists with shape and strides behind. Of more than 1000 elements, the middle of long axes
/// is left out.
impl<T: Element + fmt::Debug> fmt::Debug for TensorView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self, 0, self.layout().len() > SHORTEN_ABOVE, &|x, f| x.fmt(f))?;
        write!(f, ", shape {}, strides {}", self.shape(), self.strides())
    }
}

macro_rules! as_its_view {
    ($($Type:ty)*) => {$(
        /// As its view.
        impl<T: Element + fmt::Display> fmt::Display for $Type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.view(), f)
            }
        }

        /// As its view.
        impl<T: Element + fmt::Debug> fmt::Debug for $Type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.view(), f)
            }
        }
    )*};
}

as_its_view! { Tensor<T> TensorViewMut<'_, T> TensorCow<'_, T> }
