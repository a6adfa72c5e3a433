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

/// The fastest for an operation and shape, were everything there.
enum Fastest {
    Plain,
    OpenBlas,
    Pure,
}

/// What the environment asks for, else the fastest of those that this build has.
fn pick(fastest: Fastest) -> Backend {
    WISH.backend.unwrap_or(match fastest {
        Fastest::Plain => Backend::Plain,
        #[cfg(feature = "openblas")]
        Fastest::OpenBlas => Backend::OpenBlas,
        #[cfg(feature = "pure")]
        Fastest::Pure => Backend::Pure,
        #[cfg(not(all(feature = "openblas", feature = "pure")))]
        _ => only_library(),
    })
}

#[cfg(not(all(feature = "openblas", feature = "pure")))]
fn only_library() -> Backend {
    #[cfg(feature = "openblas")]
    return Backend::OpenBlas;
    #[cfg(feature = "pure")]
    return Backend::Pure;
    #[cfg(not(any(feature = "openblas", feature = "pure")))]
    Backend::Plain
}

// The measurements: 21 November 2026, AMD EPYC (Zen 5), one thread, OpenBLAS 0.3.21 (which takes this machine for a Haswell)
// against faer 0.24.4, least of 12 runs on a loaded machine; decompositions and inverses, least of three rounds on a quiet one.
// `benches/benches/matrix.rs` repeats them, with `KALDERA_BACKEND`, and `matrix_peers.rs` the square ones from 32 on.

/// faer throughout. Gflop/s in `f32`, OpenBLAS : faer: 8 x 8 x 8 11 : 24, 32³ 85 : 160, 128³ 109 : 217, 512³ 114 : 233,
/// 1000 x 80 x 257 111 : 231, 1 x 512 x 512 9 : 36, 16 x 512 x 2048 91 : 177; half of each in `f64`. OpenBLAS leads only in
/// a product of 4 columns, 512 x 4 x 512: 38 : 30.
pub(super) fn gemm(_m: usize, _n: usize, _k: usize) -> Backend {
    pick(Fastest::Pure)
}

/// OpenBLAS throughout. µs in `f32`, OpenBLAS : faer, as it is and transposed: 13 x 23 0.06 : 0.06 and 0.04 : 0.09,
/// 64 x 64 0.19 : 0.19 and 0.14 : 0.37, 512 x 512 11 : 12 and 10 : 13, 1000 x 8 1.3 : 1.4 and 0.6 : 3.4.
pub(super) fn gemv(_rows: usize, _cols: usize) -> Backend {
    pick(Fastest::OpenBlas)
}

/// Our own loop for a few elements, else faer. µs in `f32`, loop : OpenBLAS : faer: 8 x 8 0.01 : 0.05 : 0.03,
/// 16 x 16 0.03 : 0.13 : 0.04, 64 x 64 0.36 : 0.32 : 0.22, 512 x 512 22 : 13 : 12, 1000 x 8 1.1 : 5.0 : 1.1.
pub(super) fn ger(rows: usize, cols: usize) -> Backend {
    const FEW: usize = 256;
    pick(if rows.saturating_mul(cols) <= FEW { Fastest::Plain } else { Fastest::Pure })
}

/// faer throughout. µs in `f32`, OpenBLAS : faer: n, k = 16, 16 0.26 : 0.18, 128, 128 25 : 17, 512, 512 1325 : 720,
/// 40, 1000 27 : 19, 512, 40 110 : 58.
pub(super) fn syrk(_n: usize, _k: usize) -> Backend {
    pick(Fastest::Pure)
}

/// LAPACK for what is small, else faer. ms in `f64`, LAPACK : faer: n = 4 0.0016 : 0.0024, 16 0.018 : 0.022, 32 0.072 : 0.061,
/// 64 0.34 : 0.25, 128 2.1 : 1.2, 512 94 : 22, 2048 4866 : 975.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(super) fn eigh(n: usize) -> Backend {
    const SMALL: usize = 16;
    pick(if n <= SMALL { Fastest::OpenBlas } else { Fastest::Pure })
}

/// LAPACK for what is small and nearly square, else faer. ms in `f64`, LAPACK : faer: 4 x 4 0.0025 : 0.0036, 16 x 16 0.025 : 0.030,
/// 32 x 32 0.096 : 0.102, 64 x 64 0.45 : 0.41, 128 x 128 1.6 : 1.5, 512 x 512 49 : 40, 1024 x 1024 299 : 295, 2048 x 2048
/// 2622 : 2802; 100 x 13 0.043 : 0.032, 1000 x 40 1.12 : 0.45, 40 x 1000 0.72 : 0.43.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(super) fn svd(rows: usize, cols: usize) -> Backend {
    const SMALL: usize = 32;
    let (short, long) = (rows.min(cols), rows.max(cols));
    pick(if long <= SMALL && long < 2 * short { Fastest::OpenBlas } else { Fastest::Pure })
}

/// LAPACK. ms in `f64`, LAPACK : faer: n = 4 0.0005 : 0.0009, 32 0.0099 : 0.0123, 64 0.041 : 0.040, 128 0.29 : 0.32, 512 9.3 : 14.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(super) fn invert(_n: usize) -> Backend {
    pick(Fastest::OpenBlas)
}

/// LAPACK. ms in `f64`, LAPACK : faer: n = 4 0.0006 : 0.0006, 32 0.0083 : 0.0089, 128 0.16 : 0.33, 512 8.6 : 21.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(super) fn invert_symmetric(_n: usize) -> Backend {
    pick(Fastest::OpenBlas)
}

/// LAPACK for what is small, else faer. ms in `f64`, LAPACK : faer: n = 4 0.0040 : 0.0037, 16 0.039 : 0.047, 32 0.18 : 0.24,
/// 64 1.00 : 1.15, 128 5.2 : 3.5, 256 16.4 : 17.1, 512 87 : 78.
#[cfg(any(feature = "openblas", feature = "pure"))]
pub(super) fn eig(n: usize) -> Backend {
    const SMALL: usize = 64;
    pick(if n <= SMALL { Fastest::OpenBlas } else { Fastest::Pure })
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
        // gesdd, the hungriest, asks for no more than this, with blocks of 64.
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
        for backend in [gemm(4, 4, 4), gemv(4, 4), ger(400, 4), syrk(4, 4)] {
            assert_eq!(backend.within_i32(1 << 30), backend);
            let other = backend.within_i32(1 << 40);
            #[cfg(feature = "openblas")]
            assert_ne!(other, Backend::OpenBlas);
            assert_eq!(other.within_i32(1 << 40), other);
        }
    }

    #[cfg(any(feature = "openblas", feature = "pure"))]
    #[test]
    fn lapack_gets_no_work_space_beyond_its_integers() {
        let small = Shape { rows: 1_000_000, cols: 40 };
        let large = Shape { rows: 100_000, cols: 100_000 };
        assert_eq!(svd(30, 30).within_lapack(small), Ok(svd(30, 30)));
        match eigh(100_000).within_lapack(large) {
            #[cfg(feature = "pure")]
            Ok(backend) => assert_eq!(backend, Backend::Pure),
            other => assert_eq!(other, Err(Error::TooLarge { shape: large, stride: 100_000 })),
        }
    }
}
