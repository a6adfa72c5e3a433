//! Choice of a library for an operation and a shape.

use std::sync::LazyLock;

use crate::backend::Backend;
#[cfg(not(feature = "pure"))]
use crate::backend::element::Concrete as PureNumber;
#[cfg(not(feature = "openblas"))]
use crate::backend::element::Concrete as OpenBlasNumber;
#[cfg(feature = "pure")]
use crate::backend::faer::Number as PureNumber;
#[cfg(feature = "openblas")]
use crate::backend::openblas::Number as OpenBlasNumber;
#[cfg(any(feature = "openblas", feature = "pure"))]
use crate::error::{Error, Shape};

/// The environment variable that overrides the measurements.
const VARIABLE: &str = "KALDERA_BACKEND";

/// A type that every library of this build supports.
pub(super) trait Element: OpenBlasNumber + PureNumber {}

impl Element for f32 {}
impl Element for f64 {}

/// A library, or the loops of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    Plain,
    #[cfg(feature = "openblas")]
    OpenBlas,
    #[cfg(feature = "pure")]
    Pure,
}

/// The request of the environment, read once.
pub(super) struct Wish {
    /// The library, if this build has it.
    pub(super) backend: Option<Library>,
    /// A value that is not the name of a library of this build.
    pub(super) ignored: Option<String>,
}

pub(super) static WISH: LazyLock<Wish> = LazyLock::new(|| match std::env::var(VARIABLE) {
    Ok(name) => match name.as_str() {
        "" => Wish { backend: None, ignored: None },
        #[cfg(feature = "openblas")]
        "openblas" => Wish { backend: Some(Library::OpenBlas), ignored: None },
        #[cfg(feature = "pure")]
        "pure" => Wish { backend: Some(Library::Pure), ignored: None },
        _ => Wish { backend: None, ignored: Some(name) },
    },
    Err(std::env::VarError::NotPresent) => Wish { backend: None, ignored: None },
    Err(std::env::VarError::NotUnicode(name)) => {
        Wish { backend: None, ignored: Some(name.to_string_lossy().into_owned()) }
    }
});

/// The fastest library for an operation and shape, if all libraries are available.
enum Fastest {
    Plain,
    OpenBlas,
    Pure,
}

/// Returns the library that the environment requests, else the fastest one of this build.
fn pick(fastest: Fastest) -> Library {
    WISH.backend.unwrap_or(match fastest {
        Fastest::Plain => Library::Plain,
        #[cfg(feature = "openblas")]
        Fastest::OpenBlas => Library::OpenBlas,
        #[cfg(feature = "pure")]
        Fastest::Pure => Library::Pure,
        #[cfg(not(all(feature = "openblas", feature = "pure")))]
        _ => only_library(),
    })
}

#[cfg(not(all(feature = "openblas", feature = "pure")))]
fn only_library() -> Library {
    #[cfg(feature = "openblas")]
    return Library::OpenBlas;
    #[cfg(feature = "pure")]
    return Library::Pure;
    #[cfg(not(any(feature = "openblas", feature = "pure")))]
    Library::Plain
}

/// The operation, for the choice of a library.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    Gemm,
    Gemv,
    Ger,
    Syrk,
    #[cfg(any(feature = "openblas", feature = "pure"))]
    Eigh,
    #[cfg(any(feature = "openblas", feature = "pure"))]
    Svd,
    #[cfg(any(feature = "openblas", feature = "pure"))]
    Invert,
    #[cfg(any(feature = "openblas", feature = "pure"))]
    InvertSymmetric,
    #[cfg(any(feature = "openblas", feature = "pure"))]
    Eig,
}

/// Chooses the library for an operation, with one threshold each. `size` is the number of elements
/// for [`Operation::Ger`], else the longest side.
///
/// Measured on 21 November 2026 on an AMD EPYC (Zen 5), one thread, OpenBLAS 0.3.21 against faer
/// 0.24.4; `benches/benches/matrix.rs` repeats the measurement with `KALDERA_BACKEND`.
pub(super) fn choose(operation: Operation, size: usize) -> Library {
    let up_to = |threshold, small| if size <= threshold { small } else { Fastest::Pure };
    pick(match operation {
        Operation::Gemm | Operation::Syrk => Fastest::Pure,
        Operation::Gemv => Fastest::OpenBlas,
        Operation::Ger => up_to(256, Fastest::Plain),
        #[cfg(any(feature = "openblas", feature = "pure"))]
        Operation::Eigh => up_to(16, Fastest::OpenBlas),
        #[cfg(any(feature = "openblas", feature = "pure"))]
        Operation::Svd => up_to(32, Fastest::OpenBlas),
        #[cfg(any(feature = "openblas", feature = "pure"))]
        Operation::Invert | Operation::InvertSymmetric => Fastest::OpenBlas,
        #[cfg(any(feature = "openblas", feature = "pure"))]
        Operation::Eig => up_to(64, Fastest::OpenBlas),
    })
}

impl Library {
    /// Returns its implementation for elements of one type.
    pub(super) fn backend<T: Element>(self) -> &'static dyn Backend<T> {
        match self {
            Self::Plain => &super::plain::Plain,
            #[cfg(feature = "openblas")]
            Self::OpenBlas => &super::openblas::OpenBlas,
            #[cfg(feature = "pure")]
            Self::Pure => &super::faer::Faer,
        }
    }

    /// Returns this library, or another one if it is OpenBLAS, which counts in `i32`, and `largest`
    /// does not fit.
    #[cfg_attr(not(feature = "openblas"), expect(unused_variables, reason = "only OpenBLAS has this limit"))]
    pub(super) fn within_i32(self, largest: usize) -> Self {
        match self {
            #[cfg(feature = "openblas")]
            Self::OpenBlas if i32::try_from(largest).is_err() => Self::without_openblas(),
            other => other,
        }
    }

    /// Returns this library, or another one if it is OpenBLAS and the size of LAPACK's work space
    /// for the shape does not fit in an `i32`.
    #[cfg(any(feature = "openblas", feature = "pure"))]
    #[cfg_attr(not(feature = "openblas"), expect(unused_variables, reason = "only LAPACK has this limit"))]
    pub(super) fn within_lapack(self, shape: Shape) -> Result<Self, Error> {
        // gesdd needs the most, and not more than this, with blocks of 64.
        #[cfg(feature = "openblas")]
        let work =
            shape.rows.saturating_mul(shape.cols).saturating_mul(8).saturating_add(64 * (shape.rows + shape.cols));
        #[cfg(feature = "openblas")]
        if self == Self::OpenBlas && i32::try_from(work).is_err() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openblas_gets_no_size_beyond_its_integers() {
        for operation in [Operation::Gemm, Operation::Gemv, Operation::Ger, Operation::Syrk] {
            let library = choose(operation, 400);
            assert_eq!(library.within_i32(1 << 30), library);
            let other = library.within_i32(1 << 40);
            #[cfg(feature = "openblas")]
            assert_ne!(other, Library::OpenBlas);
            assert_eq!(other.within_i32(1 << 40), other);
        }
    }

    #[cfg(any(feature = "openblas", feature = "pure"))]
    #[test]
    fn lapack_gets_no_work_space_beyond_its_integers() {
        let small = Shape { rows: 1_000_000, cols: 40 };
        let large = Shape { rows: 100_000, cols: 100_000 };
        let svd = choose(Operation::Svd, 30);
        assert_eq!(svd.within_lapack(small), Ok(svd));
        match choose(Operation::Eigh, 100_000).within_lapack(large) {
            #[cfg(feature = "pure")]
            Ok(library) => assert_eq!(library, Library::Pure),
            other => assert_eq!(other, Err(Error::TooLarge { shape: large, stride: 100_000 })),
        }
    }
}
