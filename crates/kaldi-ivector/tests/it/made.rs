//! Random models.

use kaldera_base::random::Philox;
use kaldi_ivector::{DiagGmm, IvectorExtractor, IvectorModel, IvectorOptions, IvectorTerms, Matrix, SpMatrix, Vector};

/// Random numbers of a seed, one call after the other.
pub(crate) struct Numbers {
    stream: Philox,
    at: u64,
}

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stream: Philox::new(seed), at: 0 }
    }

    pub(crate) fn gaussian(&mut self, count: usize) -> Vec<f32> {
        let mut numbers = vec![0.0; count];
        self.stream.add_gaussian(1.0, self.at, &mut numbers);
        self.at += 1 << 20;
        numbers
    }

    pub(crate) fn doubles(&mut self, count: usize) -> Vec<f64> {
        self.gaussian(count).into_iter().map(f64::from).collect()
    }

    /// A symmetric matrix with eigenvalues of 1 and above.
    pub(crate) fn definite(&mut self, dim: usize) -> SpMatrix<f64> {
        let mut made = SpMatrix::unit(dim);
        for _ in 0..=dim {
            made.add_vec2(0.5, &Vector::from(self.doubles(dim))).unwrap();
        }
        made
    }
}

/// Sizes of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) gaussians: usize,
    pub(crate) dim: usize,
    pub(crate) ivector: usize,
}

pub(crate) const SMALL: Sizes = Sizes { gaussians: 7, dim: 3, ivector: 5 };

pub(crate) fn ubm(numbers: &mut Numbers, sizes: Sizes) -> DiagGmm {
    let Sizes { gaussians, dim, .. } = sizes;
    let weights = Vector::from(vec![1.0 / gaussians as f32; gaussians]);
    let inv_vars = numbers.gaussian(gaussians * dim).into_iter().map(|x| 0.5 + x * x).collect();
    let means = numbers.gaussian(gaussians * dim);
    let means = Matrix::from_vec(gaussians, dim, means).unwrap();
    DiagGmm::new(weights, means, Matrix::from_vec(gaussians, dim, inv_vars).unwrap()).unwrap()
}

pub(crate) fn extractor(numbers: &mut Numbers, sizes: Sizes) -> IvectorExtractor {
    let Sizes { gaussians, dim, ivector } = sizes;
    let weights = Vector::from(vec![1.0 / gaussians as f64; gaussians]);
    let projection = |_| Matrix::from_vec(dim, ivector, numbers.doubles(dim * ivector)).unwrap();
    let projections = (0..gaussians).map(projection).collect();
    let inv_covars = (0..gaussians).map(|_| numbers.definite(dim)).collect();
    IvectorExtractor::new(weights, projections, inv_covars, 10.0).unwrap()
}

pub(crate) fn model(seed: u64, options: IvectorOptions) -> IvectorModel {
    let mut numbers = Numbers::new(seed);
    let ubm = ubm(&mut numbers, SMALL);
    let terms = IvectorTerms::new(&extractor(&mut numbers, SMALL)).unwrap();
    IvectorModel::new(ubm, terms, options).unwrap()
}
