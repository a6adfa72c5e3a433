//! Panics of code that is not ours, as errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Prefixes of the names of threads whose panics are not reported; an entry for each call that
/// runs.
static QUIET_WORKERS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

fn quiet_workers() -> MutexGuard<'static, Vec<&'static str>> {
    QUIET_WORKERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a closure that may panic; the error is the message of the panic in one line. The panic
/// hook does not report this panic; it reports panics of other threads as before.
///
/// State that the panic may have left half done must not be used afterwards, unless it is dropped
/// with `run`.
///
/// ```
/// use kaldera_base::panics;
///
/// assert_eq!(panics::catch(|| 1), Ok(1));
/// assert_eq!(
///     panics::catch(|| -> i32 { panic!("no {}\nmore", "rows") }),
///     Err("no rows more".to_owned())
/// );
/// ```
///
/// # Errors
/// The message of the panic.
pub fn catch<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    // A thread that is unwinding may not change the hook.
    if !thread::panicking() {
        HOOK.call_once(|| {
            let report = panic::take_hook();
            panic::set_hook(Box::new(move |panic| {
                // If a panic aborts, it cannot be caught and reported later.
                if cfg!(panic = "abort") || !is_quiet() {
                    report(panic);
                }
            }));
        });
    }
    let before = IS_QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    IS_QUIET.set(before);
    result.map_err(|panic| message(&*panic))
}

/// [`catch`] for code with a pool of threads whose names begin with `workers`: their panics, which
/// the pool resumes in the thread that waits, are not reported either while this runs.
///
/// # Errors
/// The message of the panic.
pub fn catch_with_workers<T>(workers: &'static str, run: impl FnOnce() -> T) -> Result<T, String> {
    quiet_workers().push(workers);
    let result = catch(run);
    let mut all = quiet_workers();
    if let Some(place) = all.iter().position(|&other| other == workers) {
        all.swap_remove(place);
    }
    result
}

/// Returns `true` if a caller catches the panics of this thread.
fn is_quiet() -> bool {
    let is_worker = |name: &str| quiet_workers().iter().any(|workers| name.starts_with(workers));
    IS_QUIET.try_with(Cell::get).unwrap_or(false) || thread::current().name().is_some_and(is_worker)
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it does not say why").lines().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// The hook belongs to the process: all of this is one test.
    #[test]
    fn caught_panics_are_errors_and_others_are_reported() {
        let reported = Arc::new(Mutex::new(vec![]));
        let names = Arc::clone(&reported);
        panic::set_hook(Box::new(move |panic| {
            names.lock().unwrap().push(panic.payload_as_str().unwrap_or_default().to_owned());
        }));
        let in_thread = |name: &str, text: &'static str| {
            let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || -> i32 { panic!("{text}") });
            spawned.unwrap().join().unwrap_or_else(|panic| panic::resume_unwind(panic))
        };
        assert_eq!(catch(|| 1), Ok(1));
        assert_eq!(catch(|| -> i32 { panic!("static") }), Err("static".to_owned()));
        assert_eq!(catch(|| -> i32 { panic::panic_any(7) }), Err("it does not say why".to_owned()));
        let nested = catch(|| {
            assert_eq!(catch(|| -> i32 { panic!("no {}\nmore", "rows") }), Err("no rows more".to_owned()));
            panic!("outer")
        });
        assert_eq!(nested, Err::<(), _>("outer".to_owned()));
        assert_eq!(catch_with_workers("pool-", || in_thread("pool-3", "worker")), Err("worker".to_owned()));
        // Another thread meanwhile, and a worker that nobody waits for.
        assert_eq!(catch_with_workers("pool-", || in_thread("main-1", "other")), Err("other".to_owned()));
        assert!(panic::catch_unwind(|| in_thread("pool-3", "late")).is_err());
        let _ = panic::take_hook();
        let reported = reported.lock().unwrap();
        assert!(!reported.iter().any(|text| text.contains("more") || ["static", "outer", "worker"].contains(&&**text)));
        assert!(reported.contains(&"other".to_owned()) && reported.contains(&"late".to_owned()), "{reported:?}");
    }
}
