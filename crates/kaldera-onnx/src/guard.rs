//! Panics of the runtime.

use std::fmt::Display;

use kaldera_base::panics::catch_with_workers;

/// How RTen names the threads of its pools, which resume panics in the thread that waits.
const WORKERS: &str = "rten-";

/// Calls the runtime; a panic is an error with its message.
pub(crate) fn guarded<T, E: Display>(call: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    // What the panic may have left half done is dropped with the closure, but for the runtime's pools
    // of buffers, which hold no values.
    match catch_with_workers(WORKERS, call) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(message) => Err(format!("the runtime panicked: {message}")),
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

    #[test]
    fn panics_reach_us_from_threads_that_are_known_by_name() {
        let pool = rten::ThreadPool::with_num_threads(1);
        let name = pool.run(|| std::thread::current().name().map(str::to_owned));
        assert!(name.is_some_and(|name| name.starts_with(WORKERS)));
        let panicked = guarded(|| -> Result<(), String> { pool.run(|| panic!("in a pool")) });
        assert_eq!(panicked, Err("the runtime panicked: in a pool".to_owned()));
    }
}
