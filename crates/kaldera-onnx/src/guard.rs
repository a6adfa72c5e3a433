//! Panics of the runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls the runtime; a panic is an error with its message.
pub(crate) fn guarded<T, E: std::fmt::Display>(call: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    // What the panic may have left half done is dropped with the closure, but for the runtime's pools
    // of buffers, which hold no values.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            Err(format!("the runtime panicked: {}", text.unwrap_or("it does not say why").replace('\n', " ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        assert_eq!(guarded(|| Ok::<_, String>(1)), Ok(1));
        assert_eq!(guarded(|| Err::<(), _>("refused")), Err("refused".to_owned()));
        let panicked = guarded(|| -> Result<(), String> { panic!("no {}\nmore", "rows") });
        assert_eq!(panicked, Err("the runtime panicked: no rows more".to_owned()));
    }
}
