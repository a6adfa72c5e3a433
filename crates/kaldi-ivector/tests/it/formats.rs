//! Files in both forms.

use kaldi_ivector::codec::{self, KaldiRead, KaldiWrite};
use kaldi_ivector::{DiagGmm, Error, FullGmm, IvectorExtractor, Matrix, OnlineStats, Vector};

fn corpus(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/__fuzz__/models/corpus/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

/// A file that a program of another language wrote is written as it was, and the two forms of an
/// object give the same text.
fn round_trip<T: KaldiRead + KaldiWrite + PartialEq + std::fmt::Debug>(name: &str, same_bytes: bool) {
    for (form, binary) in [("bin", true), ("txt", false)] {
        let bytes = corpus(&format!("{name}.{form}"));
        let object: T = codec::read(&mut &bytes[..]).unwrap();
        let mut written = Vec::new();
        codec::write(&mut written, &object, binary).unwrap();
        if same_bytes {
            assert_eq!(written, bytes, "{name}.{form}");
        }
        let again: T = codec::read(&mut &written[..]).unwrap();
        assert_eq!(again, object);
        for end in 0..bytes.len() - 2 {
            assert!(codec::read::<T>(&mut &bytes[..end]).is_err(), "{name}.{form} up to {end}");
        }
    }
}

#[test]
fn models_are_written_as_they_were_read() {
    // The constants of mixtures are computed, and the files have zeros.
    round_trip::<DiagGmm>("diag", false);
    round_trip::<FullGmm>("full", false);
    round_trip::<IvectorExtractor>("extractor", true);
    round_trip::<IvectorExtractor>("weights", true);
    round_trip::<OnlineStats>("stats", true);
}

#[test]
fn older_files_are_read() {
    let text = String::from_utf8(corpus("stats.txt")).unwrap();
    let stats: OnlineStats = codec::read(&mut text.replace("<MaxCount> 100 ", "").as_bytes()).unwrap();
    assert_eq!(stats.num_frames(), 3.0);
    let text = String::from_utf8(corpus("diag.txt")).unwrap();
    let new: DiagGmm = codec::read(&mut text.as_bytes()).unwrap();
    let old = text.replace("<DiagGMM>", "<DiagGMMBegin>").replace("</DiagGMM>", "<DiagGMMEnd>");
    let begin = old.find("<GCONSTS>").unwrap();
    let old = format!("{}{}", &old[..begin], &old[old.find("<WEIGHTS>").unwrap()..]);
    assert_eq!(codec::read::<DiagGmm>(&mut old.as_bytes()).unwrap(), new);
}

#[test]
fn errors_have_the_offset_in_the_file() {
    let bytes = corpus("diag.bin");
    let cut = codec::read::<DiagGmm>(&mut &bytes[..bytes.len() - 20]).unwrap_err();
    assert_eq!(cut.offset(), (bytes.len() - 20) as u64, "{cut}");
    let text = String::from_utf8(corpus("extractor.txt")).unwrap();
    for (from, to, expected) in [
        ("<M> 3", "<M> 0", "<SigmaInv>"),
        ("<M> 3", "<M> 2147483647", "found"),
        ("<M> 3", "<M> 4", "found"),
        ("<w_vec>  [", "<w_vec>  [ 0.5", "weights of an extractor"),
        ("<SigmaInv>", "<Sigma>", "<SigmaInv>"),
        ("<IvectorOffset> 10", "<IvectorOffset> ten", "the offset of the prior"),
    ] {
        let error = codec::read::<IvectorExtractor>(&mut text.replace(from, to).as_bytes()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn impossible_gaussians_are_refused() {
    let gmm: DiagGmm = codec::read(&mut &corpus("diag.bin")[..]).unwrap();
    let (weights, means, vars) = (gmm.weights(), gmm.means_invvars(), gmm.inv_vars());
    for wrong in [0.0, -1.0, f32::NAN] {
        let mut vars = vars.clone();
        vars[(1, 1)] = wrong;
        let made = DiagGmm::new(weights.clone(), means.clone(), vars);
        assert!(matches!(made, Err(Error::Gaussian { gaussian: 1, .. })), "{wrong}");
    }
    for wrong in [-0.5, f32::NAN] {
        let mut weights = weights.clone();
        weights[2] = wrong;
        let made = DiagGmm::new(weights, means.clone(), vars.clone());
        assert!(matches!(made, Err(Error::Gaussian { gaussian: 2, .. })), "{wrong}");
    }
    assert!(DiagGmm::new(weights.clone(), means.clone(), Matrix::zeros(3, 1)).is_err());
    assert!(DiagGmm::new(Vector::zeros(2), means.clone(), vars.clone()).is_err());
    assert!(matches!(DiagGmm::new(Vector::zeros(0), Matrix::default(), Matrix::default()), Err(Error::Empty { .. })));
    // A weight of 0 excludes its Gaussian.
    let excluded = DiagGmm::new(Vector::from(vec![0.0, 0.5, 0.5]), means.clone(), vars.clone()).unwrap();
    assert_eq!(excluded.log_likelihoods(&Matrix::zeros(1, 2)).unwrap()[(0, 0)], f32::NEG_INFINITY);
    let full = String::from_utf8(corpus("full.txt")).unwrap();
    let part = full.find("<INV_COVARS>").unwrap();
    let damaged = format!("{}{}", &full[..part], full[part..].replacen("[\n", "[\n-", 1));
    assert!(codec::read::<FullGmm>(&mut damaged.as_bytes()).is_err());
}

#[test]
fn a_full_mixture_with_diagonal_covariances_equals_a_diagonal_one() {
    let diagonal: DiagGmm = codec::read(&mut &corpus("diag.bin")[..]).unwrap();
    let inv_covars = diagonal.inv_vars().rows().map(|row| {
        let mut matrix = kaldi_ivector::SpMatrix::zeros(row.len());
        matrix.add_diag_vec(1.0, &kaldi_ivector::Vector::from(row.to_vec())).unwrap();
        matrix
    });
    let (weights, means) = (diagonal.weights().clone(), diagonal.means_invvars().clone());
    let full = FullGmm::new(weights, means, inv_covars.collect()).unwrap();
    let features = Matrix::from_fn(5, 2, |r, c| (r as f32 - 2.0) * (0.5 + c as f32));
    let (a, b) = (diagonal.log_likelihoods(&features).unwrap(), full.log_likelihoods(&features).unwrap());
    assert!(a.data().iter().zip(b.data()).all(|(a, b)| (a - b).abs() < 1e-4), "{a} {b}");
    let some = full.log_likelihoods_of(features.row_data(3), &[2, 0]).unwrap();
    assert_eq!(some, [b[(3, 2)], b[(3, 0)]]);
    assert!(full.log_likelihoods_of(features.row_data(3), &[3]).is_err());
    let back = full.to_diagonal().unwrap();
    assert!(back.inv_vars().data().iter().zip(diagonal.inv_vars().data()).all(|(a, b)| (a - b).abs() < 1e-5));
    assert!(back.means_invvars().data().iter().zip(diagonal.means_invvars().data()).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn likelihoods_equal_the_density() {
    let gmm: DiagGmm = codec::read(&mut &corpus("diag.bin")[..]).unwrap();
    let x = [0.3_f32, -1.2];
    let came = gmm.log_likelihoods(&Matrix::from_vec(1, 2, x.to_vec()).unwrap()).unwrap();
    for g in 0..3 {
        let mut expected = f64::from(gmm.weights()[g]).ln();
        for (d, &x) in x.iter().enumerate() {
            let inv_var = f64::from(gmm.inv_vars()[(g, d)]);
            let mean = f64::from(gmm.means_invvars()[(g, d)]) / inv_var;
            let distance = f64::from(x) - mean;
            expected += 0.5 * ((inv_var / (2.0 * std::f64::consts::PI)).ln() - distance * distance * inv_var);
        }
        assert!((f64::from(came[(0, g)]) - expected).abs() < 1e-5);
    }
    assert!(gmm.log_likelihoods(&Matrix::zeros(2, 3)).is_err());
    assert!(gmm.log_likelihoods(&Matrix::zeros(0, 0)).unwrap().is_empty());
}
