//! Which library for which operation and shape.

use std::sync::LazyLock;

#[cfg(any(feature = "openblas", feature = "pure"))]
use crate::error::{Error, Shape};

/// The environment variable that overrides the measurements.
const VARIABLE: &str = "KALDERA_BACKEND";

/// Something that computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    Plain,
    #[cfg(feature = "openblas")]
    OpenBlas,
    #[cfg(feature = "pure")]
    Pure,
}

/// What the environment asks for, read once.
pub(super) struct Wish {
    /// The library, if this build has it.
    pub(super) backend: Option<Backend>,
    /// A value that names no library of this build.
    pub(super) ignored: Option<String>,
}

pub(super) static WISH: LazyLock<Wish> = LazyLock::new(|| match std::env::var(VARIABLE) {
    Ok(name) => match name.as_str() {
        "" => Wish { backend: None, ignored: None },
        #[cfg(feature = "openblas")]
        "openblas" => Wish { backend: Some(Backend::OpenBlas), ignored: None },
        #[cfg(feature = "pure")]
        "pure" => Wish { backend: Some(Backend::Pure), ignored: None },
        _ => Wish { backend: None, ignored: Some(name) },
    },
    Err(std::env::VarError::NotPresent) => Wish { backend: None, ignored: None },
    Err(std::env::VarError::NotUnicode(name)) => {
        Wish { backend: None, ignored: Some(name.to_string_lossy().into_owned()) }
    }
});

#[cfg(all(feature = "openblas", feature = "pure"))]
fn pick(openblas_is_faster: impl FnOnce() -> bool) -> Backend {
    match WISH.backend {
        Some(backend) => backend,
        None if openblas_is_faster() => Backend::OpenBlas,
        None => Backend::Pure,
    }
}

#[cfg(all(feature = "openblas", not(feature = "pure")))]
fn pick(_openblas_is_faster: impl FnOnce() -> bool) -> Backend {
    Backend::OpenBlas
}

#[cfg(all(feature = "pure", not(feature = "openblas")))]
fn pick(_openblas_is_faster: impl FnOnce() -> bool) -> Backend {
    Backend::Pure
}

#[cfg(not(any(feature = "openblas", feature = "pure")))]
fn pick(_openblas_is_faster: impl FnOnce() -> bool) -> Backend {
    Backend::Plain
}

pub(super) fn gemm(_m: usize, _n: usize, _k: usize) -> Backend {
    pick(|| false)
}

pub(super) fn gemv(_rows: usize, _cols: usize) -> Backend {
    pick(|| true)
}

pub(super) fn ger(_rows: usize, _cols: usize) -> Backend {
    pick(|| true)
}

pub(super) fn syrk(_n: usize, _k: usize) -> Backend {
    pick(|| false)
}

#[cfg(any(feature = "openblas", feature = "pure"))]
pub(super) fn eigh(_n: usize) -> Backend {
    pick(|| false)
}

#[cfg(any(feature = "openblas", feature = "pure"))]
pub(super) fn svd(_rows: usize, _cols: usize) -> Backend {
    pick(|| false)
}

impl Backend {
    /// This one, unless it is OpenBLAS, which counts in `i32`, and `largest` is beyond that.
    #[cfg_attr(not(feature = "openblas"), expect(unused_variables, reason = "only OpenBLAS has this limit"))]
    pub(super) fn within_i32(self, largest: usize) -> Self {
        match self {
            #[cfg(feature = "openblas")]
            Self::OpenBlas if i32::try_from(largest).is_err() => Self::without_openblas(),
            other => other,
        }
    }

    /// This one, unless it is OpenBLAS and LAPACK's work space for the shape would be beyond `i32`.
    #[cfg(any(feature = "openblas", feature = "pure"))]
    #[cfg_attr(not(feature = "openblas"), expect(unused_variables, reason = "only LAPACK has this limit"))]
    pub(super) fn within_lapack(self, shape: Shape) -> Result<Self, Error> {
        // gesdd, the hungriest, asks for less than 8 times the elements.
        #[cfg(feature = "openblas")]
        if self == Self::OpenBlas
            && i32::try_from(shape.rows.max(shape.cols).saturating_pow(2).saturating_mul(8)).is_err()
        {
            return match Self::without_openblas() {
                Self::Plain => Err(Error::TooLarge { shape, stride: shape.cols }),
                other => Ok(other),
            };
        }
        Ok(self)
    }

    #[cfg(feature = "openblas")]
    fn without_openblas() -> Self {
        #[cfg(feature = "pure")]
        return Self::Pure;
        #[cfg(not(feature = "pure"))]
        Self::Plain
    }
}
