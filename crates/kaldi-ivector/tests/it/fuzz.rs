//! Damaged models: errors may come of them, and nothing worse.

use kaldera_fuzz::fuzz;
use kaldi_ivector::codec::{self, KaldiRead, KaldiWrite};
use kaldi_ivector::{DiagGmm, FullGmm, IvectorExtractor, IvectorTerms, Matrix, OnlineStats, UtteranceStats, Vector};

/// A model that can be read is written, and read again, without a difference in its bytes.
fn again<T: KaldiRead + KaldiWrite>(bytes: &[u8]) -> Option<T> {
    let object: T = codec::read(&mut &*bytes).ok()?;
    let mut written = Vec::new();
    codec::write(&mut written, &object, true).expect("sizes that were read");
    let read: T = codec::read(&mut &*written).expect("bytes that were written");
    let mut twice = Vec::new();
    codec::write(&mut twice, &read, true).expect("sizes that were read");
    assert_eq!(written, twice);
    codec::write(&mut Vec::new(), &object, false).expect("sizes that were read");
    Some(object)
}

#[test]
fn models() {
    fuzz!("models", |bytes| {
        if let Some(gmm) = again::<DiagGmm>(bytes) {
            let _ = gmm.log_likelihoods(&Matrix::zeros(2, gmm.dim()));
        }
        if let Some(gmm) = again::<FullGmm>(bytes) {
            let _ = gmm.log_likelihoods(&Matrix::zeros(2, gmm.dim()));
            let _ = gmm.to_diagonal();
        }
        if let Some(extractor) = again::<IvectorExtractor>(bytes)
            && let Ok(terms) = IvectorTerms::new(&extractor)
        {
            let mut stats = UtteranceStats::new(terms.num_gaussians(), terms.feature_dim());
            stats.accumulate(&Matrix::zeros(1, terms.feature_dim()), &[vec![(0, 1.0)]]).expect("sizes that fit");
            if let Ok(ivector) = terms.ivector(&stats) {
                let _ = terms.improvement(&stats, &ivector);
            }
            let online = OnlineStats::new(&terms, 1.0);
            let _ = online.ivector(15, &mut Vector::zeros(terms.ivector_dim()));
        }
        if let Some(mut stats) = again::<OnlineStats>(bytes) {
            let mut ivector = Vector::zeros(stats.ivector_dim());
            let _ = stats.ivector(15, &mut ivector);
            let _ = stats.improvement(&ivector);
            let _ = stats.scale(0.5);
        }
    });
}
