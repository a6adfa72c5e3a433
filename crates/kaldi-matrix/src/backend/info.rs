//! Description of the libraries, for users.

use std::fmt;

use crate::backend::choice::{Library, WISH};

/// The libraries of this build and the choice between them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendInfo {
    /// OpenBLAS, with the feature `openblas`.
    pub openblas: Option<OpenBlasInfo>,
    /// `true` if the build has faer, with the feature `pure`.
    pub pure: bool,
    /// The library that computes.
    pub choice: Choice,
    /// The value of `KALDERA_BACKEND`, if it is not the name of a library of this build and has no
    /// effect.
    pub ignored: Option<String>,
}

/// Description that the loaded OpenBLAS gives of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenBlasInfo {
    /// Version and build options.
    pub config: String,
    /// The processor type that it detected. On a newer processor than it knows, it can be half as
    /// fast.
    pub corename: String,
    /// Number of threads that a call may use: 1, unless `OPENBLAS_NUM_THREADS` is set.
    pub threads: usize,
}

/// The library that computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// Loops of this crate; there is no library.
    Plain,
    /// OpenBLAS: it is the only library, or `KALDERA_BACKEND` requests it.
    OpenBlas,
    /// faer: it is the only library, or `KALDERA_BACKEND` requests it.
    Pure,
    /// For each operation and shape the library that was faster in measurements.
    Fastest,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain loops",
            Self::OpenBlas => "openblas",
            Self::Pure => "pure",
            Self::Fastest => "the faster for each operation and shape",
        })
    }
}

/// Ends the threads that OpenBLAS starts, one for each further processor, when a program that links
/// it is loaded. They are idle, because OpenBLAS is called with one thread, but they busy-wait for
/// some hundred milliseconds.
///
/// Call it first in `main`, before any other call of OpenBLAS. Without the feature `openblas`, or
/// with `OPENBLAS_NUM_THREADS` set, it does nothing.
///
/// ```
/// kaldi_matrix::stop_idle_blas_threads();
/// // ... the rest of `main`
/// ```
pub fn stop_idle_blas_threads() {
    #[cfg(feature = "openblas")]
    super::openblas::stop_idle_threads();
}

/// Returns the libraries of this build, as `kaldera info` prints them.
///
/// ```
/// let info = kaldi_matrix::backend_info();
/// println!("products are computed by {}", info.choice);
/// ```
pub fn backend_info() -> BackendInfo {
    let choice = match WISH.backend {
        Some(Library::Plain) => Choice::Plain,
        #[cfg(feature = "openblas")]
        Some(Library::OpenBlas) => Choice::OpenBlas,
        #[cfg(feature = "pure")]
        Some(Library::Pure) => Choice::Pure,
        None => match (cfg!(feature = "openblas"), cfg!(feature = "pure")) {
            (true, true) => Choice::Fastest,
            (true, false) => Choice::OpenBlas,
            (false, true) => Choice::Pure,
            (false, false) => Choice::Plain,
        },
    };
    #[cfg(feature = "openblas")]
    let openblas = {
        let (config, corename, threads) = super::openblas::info();
        Some(OpenBlasInfo { config, corename, threads })
    };
    #[cfg(not(feature = "openblas"))]
    let openblas = None;
    BackendInfo { openblas, pure: cfg!(feature = "pure"), choice, ignored: WISH.ignored.clone() }
}
