//! I-vectors of a folder as Vosk's models have it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kaldera::Error;
use kaldera::ivector::{DiagGmm, IvectorExtractor};
use kaldera::kaldi_online::{IvectorConfig, IvectorFrontEnd, IvectorStream, write_model};
use kaldera::matrix::{Matrix, SpMatrix, Vector, codec};
use proptest::prelude::*;

/// Columns of features, of the model, and elements of i-vectors.
const SIZES: [usize; 3] = [2, 3, 4];

/// A number that looks random.
fn number(seed: usize, row: usize, col: usize) -> f64 {
    (((seed * 7919 + row * 104_729 + col * 1_299_709) % 2003) as f64 - 1001.0) / 700.0
}

fn write(folder: &Path, left: usize) {
    let [features, dim, ivector] = SIZES;
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let weights = Vector::from(vec![0.25; 4]);
    let means = Matrix::from_fn(4, dim, |r, c| number(1, r, c) as f32);
    let inv_vars = Matrix::from_fn(4, dim, |r, c| 1.0 + 0.25 * (r + c) as f32);
    write_model(&file("final.dubm"), &DiagGmm::new(weights, means, inv_vars).unwrap(), true).unwrap();
    let projections = (0..4).map(|g| Matrix::from_fn(dim, ivector, |r, c| number(2 + g, r, c))).collect();
    let inv_covars = vec![SpMatrix::unit(dim); 4];
    let extractor = IvectorExtractor::new(Vector::from(vec![0.25; 4]), projections, inv_covars, 10.0).unwrap();
    write_model(&file("final.ie"), &extractor, true).unwrap();
    let spliced = features * (left + 2);
    let lda: Matrix<f32> = Matrix::from_fn(dim, spliced + 1, |r, c| number(9, r, c) as f32 * 0.5);
    codec::write(&mut fs::File::create(file("final.mat")).unwrap(), &lda, true).unwrap();
    fs::write(file("global_cmvn.stats"), " [ 5 -5 10\n 20 20 0 ]\n").unwrap();
    fs::write(file("online_cmvn.conf"), "--cmn-window=20\n").unwrap();
    fs::write(file("splice.conf"), format!("--left-context={left}\n--right-context=1\n")).unwrap();
}

fn opened(left: usize, period: bool) -> Arc<IvectorFrontEnd> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), left);
    let mut config = IvectorConfig::vosk(folder.path());
    assert_eq!(config.options.max_count, 100.0);
    config.options.use_most_recent_ivector = !period;
    config.open().unwrap()
}

fn features(frames: usize) -> Matrix<f32> {
    Matrix::from_fn(frames, SIZES[0], |r, c| number(77, r, c) as f32 * 3.0)
}

proptest! {
    #[test]
    fn chunks_give_the_bits_of_the_whole(frames in 1_usize..60, size in 1_usize..20, left in 0_usize..3, ask in any::<bool>()) {
        let front_end = opened(left, true);
        let features = features(frames);
        let (whole, _) = front_end.extract(&features, None, None, true).unwrap();
        prop_assert_eq!((whole.num_rows(), whole.num_cols()), (frames, SIZES[2]));
        let mut stream = IvectorStream::new(Arc::clone(&front_end), None).unwrap();
        let mut out = [0.0; SIZES[2]];
        for chunk in features.data().chunks(size * SIZES[0]) {
            stream.accept(chunk).unwrap();
            if ask && stream.num_frames_ready() > 0 {
                let last = stream.num_frames_ready() - 1;
                stream.ivector(last, &mut out).unwrap();
                prop_assert_eq!(&out, whole.row_data(last));
            }
        }
        prop_assert_eq!(stream.num_frames_ready(), frames - 1, "the last frame waits for its right context");
        stream.finish().unwrap();
        prop_assert_eq!(stream.num_frames_ready(), frames);
        for frame in 0..frames {
            stream.ivector(frame, &mut out).unwrap();
            prop_assert_eq!(&out, whole.row_data(frame));
        }
    }
}

#[test]
fn a_speaker_goes_on_where_the_last_utterance_ended() {
    let front_end = opened(1, true);
    let features = features(45);
    let (alone, mut stream) = front_end.extract(&features, None, None, false).unwrap();
    let speaker = stream.speaker().unwrap();
    assert_eq!(speaker.cmvn.count(), 45.0);
    assert!((speaker.stats.num_frames() - 4.1).abs() < 1e-5, "up to frame 40");
    let (again, _) = front_end.extract(&features, Some(speaker), None, false).unwrap();
    assert_eq!(again.num_rows(), alone.num_rows());
    assert_ne!(again.row_data(0), alone.row_data(0));
    // Frames without weight do not count.
    let weights: Vec<f32> = (0..45).map(|frame| if frame < 5 { 1.0 } else { 0.0 }).collect();
    let (weighted, _) = front_end.extract(&features, None, Some(&weights), false).unwrap();
    assert_eq!(weighted.row_data(0), alone.row_data(0));
    let close = weighted.row_data(1).iter().zip(weighted.row_data(4)).all(|(a, b)| (a - b).abs() < 1e-5);
    assert!(close, "{weighted}");
}

#[test]
fn faults_of_a_folder_are_named() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(IvectorConfig::default().open(), Err(Error::NoFile { option: "lda-matrix" })));
    for (file, contents) in [
        ("final.mat", None),
        ("final.ie", None),
        ("final.dubm", Some("<DiagGMM> x")),
        ("final.ie", Some("\0B<DiagGMM> ")),
        ("splice.conf", Some("--left-context=x")),
        ("online_cmvn.conf", Some("--nothing=1")),
        ("global_cmvn.stats", Some(" [ 1 2 3 ]\n")),
    ] {
        write(folder.path(), 0);
        match contents {
            Some(text) => fs::write(folder.path().join(file), text).unwrap(),
            None => fs::remove_file(folder.path().join(file)).unwrap(),
        }
        let error = IvectorConfig::vosk(folder.path()).open().unwrap_err().to_string();
        assert!(error.contains(file) || file == "global_cmvn.stats", "{file}: {error}");
    }
    write(folder.path(), 0);
    fs::write(folder.path().join("online_cmvn.conf"), "--skip-dims=1:2\n--modulus=20\n").unwrap();
    let error = IvectorConfig::vosk(folder.path()).open().unwrap_err().to_string();
    assert!(error.contains("--skip-dims"), "{error}");
    write(folder.path(), 0);
    fs::write(folder.path().join("splice.conf"), "--left-context=7\n").unwrap();
    let error = IvectorConfig::vosk(folder.path()).open().unwrap_err().to_string();
    assert!(error.contains("columns of the matrix for spliced features"), "{error}");
    let front_end = opened(0, false);
    assert!(front_end.extract(&Matrix::zeros(3, 9), None, None, false).is_err());
    let (none, _) = front_end.extract(&Matrix::zeros(0, 0), None, None, false).unwrap();
    assert!(none.is_empty());
}
