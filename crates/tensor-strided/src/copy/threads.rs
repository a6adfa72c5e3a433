//! Large copies in parts: one for each thread and some more. Each element is copied once, so the
//! result is the same as with one thread.

use kaldera_base::par;

use crate::copy::axes::Nest;

/// Number of bytes that is worth a separate task.
const TASK: usize = 1 << 20;

/// Calls `f` with parts that together are all of the nest.
pub(super) fn divide<T: Send + Sync>(nest: Nest<T>, f: &(impl Fn(Nest<T>) + Sync)) {
    let bytes = nest.len() * size_of::<T>();
    match par::num_parts(bytes, TASK) {
        1 => f(nest),
        _ => halve(nest, TASK.max(bytes / (4 * par::num_threads())), f),
    }
}

fn halve<T: Send + Sync>(nest: Nest<T>, task: usize, f: &(impl Fn(Nest<T>) + Sync)) {
    let at = nest.axes().iter().position(|axis| axis.len > 1);
    match at {
        Some(at) if nest.len() * size_of::<T>() >= 2 * task => {
            let len = nest.axes()[at].len;
            // Whole lines and tiles where there are many.
            let middle = if len < 256 { len / 2 } else { (len / 2).next_multiple_of(64) };
            let (low, high) = (nest.part(at, 0..middle), nest.part(at, middle..len));
            par::join(move || halve(low, task, f), move || halve(high, task, f));
        }
        _ => f(nest),
    }
}
