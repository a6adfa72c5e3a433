//! From files to files: the same bytes whatever the number of threads, and nothing half-written.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use kaldera::feat::{Fbank, FbankOptions, PlpOptions};
use kaldera::io::table::{RandomAccessReader, SequentialReader};
use kaldera::io::wave::WaveData;
use kaldera::matrix::{Matrix, SubMatrix};
use kaldera::pipeline::{Cmvn, FeatureFile, FeatureSink, Inputs, Pipeline, Utterance, merge};
use kaldera::{Error, Recording};
use ndarray::Array2;
use safetensors::SafeTensors;
use tempfile::TempDir;
use tensor_strided::Tensor;
use zip::ZipArchive;

const ENDINGS: [&str; 3] = ["ark", "npz", "safetensors"];

fn write_wav(path: &Path, num_samples: usize, samp_freq: f32) {
    let sample = |i: usize| i16::try_from((i * i * 31 + 17 * i) % 20_011).unwrap() - 10_000;
    let wave = WaveData { samp_freq, num_channels: 1, samples: (0..num_samples).map(sample).collect() };
    wave.write(&mut fs::File::create(path).unwrap()).unwrap();
}

/// Thirty recordings of uneven length; every seventh, from the fourth on, is one that fails.
fn corpus() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..30 {
        let path = folder.path().join(format!("utt{index:02}.wav"));
        match index {
            3 => fs::write(path, "RIFF, but that is all").unwrap(),
            10 => write_wav(&path, 8000, 8000.0),
            17 => write_wav(&path, 100, 16_000.0),
            24 => fs::write(path, "").unwrap(),
            _ => write_wav(&path, 2000 + 9000 * (index * 7 % 11), 16_000.0),
        }
    }
    folder
}

const FAILING: [&str; 4] = ["utt03", "utt10", "utt17", "utt24"];

fn fbank() -> Fbank {
    let mut options = FbankOptions::default();
    options.frame.dither = 0.5;
    Fbank::new(options).unwrap()
}

/// What a run writes into memory.
fn in_memory(inputs: &Inputs) -> Vec<(String, Matrix<f32>)> {
    let mut features = Vec::new();
    Pipeline::new(&fbank()).with_jobs(1).run(inputs, &mut features).unwrap();
    features
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let (corpus, out) = (corpus(), tempfile::tempdir().unwrap());
    let inputs = Inputs::from_paths([corpus.path()]).unwrap();
    for ending in ENDINGS {
        let path = out.path().join("x").with_extension(ending);
        let write = |jobs| {
            let summary = Pipeline::new(&fbank()).with_jobs(jobs).run_to_file(&inputs, &path).unwrap();
            let failed: Vec<_> = summary.failures.iter().map(|failure| failure.utterance.key.as_str()).collect();
            assert_eq!(failed, FAILING);
            assert_eq!((summary.utterances, summary.dim), (26, 23));
            (fs::read(&path).unwrap(), fs::read(path.with_extension("scp")).ok(), summary.frames)
        };
        let serial = write(1);
        for jobs in [2, 4, 13] {
            assert!(write(jobs) == serial, "{jobs} jobs, {ending}");
        }
    }
    assert_eq!(names(out.path()), ["x.ark", "x.npz", "x.safetensors", "x.scp"]);
}

#[test]
fn every_format_gives_back_what_was_computed() {
    let (corpus, out) = (corpus(), tempfile::tempdir().unwrap());
    let inputs = Inputs::from_paths([corpus.path()]).unwrap();
    let expected = in_memory(&inputs);
    assert_eq!(expected.len(), 26);
    for ending in ENDINGS {
        Pipeline::new(&fbank()).run_to_file(&inputs, out.path().join("x").with_extension(ending)).unwrap();
    }

    let table = |kind: &str| format!("{kind}:{}", out.path().join("x").with_extension(kind).display());
    let ark: Vec<_> = SequentialReader::<Matrix<f32>>::open(&table("ark")).unwrap().map(Result::unwrap).collect();
    assert!(ark == expected);
    let mut scp = RandomAccessReader::<Matrix<f32>>::open(&table("scp")).unwrap();

    let mut npz = ZipArchive::new(fs::File::open(out.path().join("x.npz")).unwrap()).unwrap();
    assert_eq!(npz.len(), expected.len());

    let bytes = fs::read(out.path().join("x.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.len(), expected.len());

    for (key, features) in &expected {
        assert!(scp.has_key(key).unwrap());
        assert!(scp.value(key).unwrap() == features, "{key}");

        let array = Tensor::<f32>::read_npy(npz.by_name(&format!("{key}.npy")).unwrap()).unwrap();
        let array: Array2<f32> = array.try_into().unwrap();
        assert_eq!(array.dim(), (features.num_rows(), features.num_cols()));
        assert!(array.iter().eq(features.data()), "{key}");

        let tensor = tensors.tensor(key).unwrap();
        assert_eq!(tensor.shape(), [features.num_rows(), features.num_cols()]);
        let values = tensor.data().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        assert!(values.eq(features.data().iter().copied()), "{key}");
    }
}

#[test]
fn if_every_recording_fails_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    fs::write(&path, "noise").unwrap();
    fs::write(folder.path().join("x.npz"), "of yesterday").unwrap();
    let inputs = Inputs::from_paths([&path]).unwrap();
    for ending in ENDINGS {
        let out = folder.path().join("x").with_extension(ending);
        let summary = Pipeline::new(&fbank()).run_to_file(&inputs, out).unwrap();
        assert_eq!((summary.utterances, summary.failures.len()), (0, 1));
    }
    assert_eq!(names(folder.path()), ["a.wav", "x.npz"]);
    assert_eq!(fs::read(folder.path().join("x.npz")).unwrap(), b"of yesterday");
}

#[test]
fn an_output_that_cannot_be_written_is_told_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    write_wav(&path, 4000, 16_000.0);
    let inputs = Inputs::from_paths([&path]).unwrap();
    for ending in ENDINGS {
        let out = folder.path().join("no/such/folder/x").with_extension(ending);
        let error = Pipeline::new(&fbank()).run_to_file(&inputs, &out).unwrap_err();
        assert!(matches!(error, Error::Write { .. }) && error.to_string().contains("no/such/folder"), "{error}");

        let out = folder.path().join(format!("folder.{ending}"));
        fs::create_dir(&out).unwrap();
        assert!(Pipeline::new(&fbank()).run_to_file(&inputs, &out).is_err());
    }
    let error = Pipeline::new(&fbank()).run_to_file(&inputs, "x.mat").unwrap_err().to_string();
    assert!(ENDINGS.iter().all(|ending| error.contains(ending)), "{error}");
}

#[test]
fn a_sink_that_fails_ends_the_run() {
    struct Full(usize);
    impl FeatureSink for Full {
        fn write(&mut self, _: &str, _: SubMatrix<'_, f32>) -> Result<(), Error> {
            self.0 += 1;
            if self.0 < 3 { Ok(()) } else { Err(Error::NoInputs) }
        }
    }
    let corpus = corpus();
    let inputs = Inputs::from_paths([corpus.path()]).unwrap();
    for jobs in [1, 4] {
        let mut sink = Full(0);
        assert!(Pipeline::new(&fbank()).with_jobs(jobs).run(&inputs, &mut sink).is_err());
        assert_eq!(sink.0, 3);
    }
}

#[test]
fn progress_is_told_after_each_recording() {
    let corpus = corpus();
    let inputs = Inputs::from_paths([corpus.path()]).unwrap();
    let mut seen = Vec::new();
    let count = |summary: &kaldera::pipeline::Summary| summary.utterances as usize + summary.failures.len();
    Pipeline::new(&fbank()).with_jobs(3).run_with(&inputs, &mut Vec::new(), |so_far| seen.push(count(so_far))).unwrap();
    assert_eq!(seen, (1..=30).collect::<Vec<_>>());
}

#[test]
fn what_a_recording_must_have_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stereo.wav");
    let (left, right) = ([100_i16, -300], [5_i16, 7]);
    let samples = (0..4000).flat_map(|i| [left[i % 2], right[i % 2]]).collect();
    WaveData { samp_freq: 16_000.0, num_channels: 2, samples }.write(&mut fs::File::create(&path).unwrap()).unwrap();
    let inputs = Inputs::from_paths([&path]).unwrap();
    let fbank = Fbank::new(FbankOptions::default()).unwrap();
    let run = |pipeline: Pipeline<'_, _>| {
        let mut features = Vec::new();
        let summary = pipeline.run(&inputs, &mut features).unwrap();
        (features, summary)
    };

    let (first, _) = run(Pipeline::new(&fbank));
    assert!(run(Pipeline::new(&fbank).with_channel(0)).0 == first);
    assert!(run(Pipeline::new(&fbank).with_channel(1)).0 != first);
    assert!(matches!(
        run(Pipeline::new(&fbank).with_channel(2)).1.failures[0].source,
        Error::Audio(kaldera::audio::Error::NoSuchChannel { channel: 2, channels: 2 })
    ));
    assert!(matches!(run(Pipeline::new(&fbank).with_min_seconds(0.5)).1.failures[0].source, Error::TooShort { .. }));

    let (centred, _) = run(Pipeline::new(&fbank).with_subtract_mean(true));
    let sums = centred[0]
        .1
        .rows()
        .fold(vec![0.0_f32; 23], |sums, row| sums.iter().zip(row).map(|(sum, value)| sum + value).collect());
    assert!(sums.iter().all(|sum| sum.abs() < 1e-3), "{sums:?}");
}

#[test]
fn batches_are_the_features_of_a_run() {
    let corpus = corpus();
    let inputs = Inputs::from_paths([corpus.path()]).unwrap();
    let expected: Vec<_> = in_memory(&inputs).into_iter().map(|(key, matrix)| (key, matrix.into_vec())).collect();
    let fbank = fbank();
    for (size, jobs) in [(1, 1), (7, 3), (100, 2)] {
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        let pipeline = Pipeline::new(&fbank).with_jobs(jobs);
        for batch in pipeline.batches(inputs.utterances().to_vec(), size).unwrap() {
            let batch = batch.unwrap();
            assert!(batch.keys.len() + batch.failures.len() <= size);
            let sequences = (0..batch.keys.len()).map(|i| batch.features.sequence(i).to_vec());
            found.extend(batch.keys.iter().cloned().zip(sequences));
            failed.extend(batch.failures.into_iter().map(|failure| failure.utterance.key));
        }
        assert!(found == expected, "{size} at a time");
        assert_eq!(failed, FAILING);
    }
    let by_speaker = Pipeline::new(&fbank).with_cmvn(Cmvn::Speaker { norm_vars: false });
    assert!(matches!(by_speaker.batches(Vec::new(), 1), Err(Error::NeedsAll { .. })));
}

#[test]
fn a_run_that_is_asked_to_stop_stops() {
    let (corpus, out) = (corpus(), tempfile::tempdir().unwrap());
    let inputs = Inputs::from_paths([corpus.path()]).unwrap();
    let (fbank, stop) = (fbank(), AtomicBool::new(false));
    let pipeline = Pipeline::new(&fbank).with_jobs(2).with_stop(&stop);
    let mut seen = 0;
    let mut file = FeatureFile::create(out.path().join("x.npz")).unwrap();
    let outcome = pipeline.run_with(&inputs, &mut file, |_| {
        seen += 1;
        stop.store(seen == 5, Ordering::Relaxed);
    });
    assert!(matches!(outcome, Err(Error::Stopped)) && seen == 5, "{seen}: {outcome:?}");
    drop(file);
    assert_eq!(names(out.path()), [""; 0]);
}

#[test]
fn a_recording_whose_rows_are_not_finite_fails_and_spoils_no_statistics() {
    let samples = |beyond: bool| {
        let mut samples: Vec<f32> = (0..4000).map(|i| ((i * i) % 2003) as f32).collect();
        samples[2000] = if beyond { 1e30 } else { samples[2000] };
        Recording::from_f32(samples, 16_000.0)
    };
    let fbank = Fbank::new(FbankOptions::default().with_dither(0.0)).unwrap();
    let good = [Utterance::new("a", samples(false)), Utterance::new("c", samples(false))];
    let [first, last] = good.clone();
    let with_bad = Inputs::new(vec![first, Utterance::new("b", samples(true)), last]).unwrap();
    for cmvn in [Cmvn::Utterance { norm_vars: false }, Cmvn::All { norm_vars: true }] {
        let pipeline = Pipeline::new(&fbank).with_cmvn(cmvn);
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        pipeline.run(&Inputs::new(good.to_vec()).unwrap(), &mut expected).unwrap();
        let summary = pipeline.run(&with_bad, &mut found).unwrap();
        assert!(found == expected);
        let [failure] = &summary.failures[..] else { panic!("{:?}", summary.failures) };
        assert_eq!(failure.utterance.key, "b");
        assert!(matches!(failure.source, Error::NotFinite { rows: 2, frames: 23, first: 11 }), "{}", failure.source);
    }
}

#[test]
fn one_row_and_silence_are_normalised_to_zeros() {
    for samples in [vec![0; 400], vec![0; 8000], vec![77; 400]] {
        let inputs = Inputs::new(vec![Utterance::new("a", Recording::from_i16(samples, 16_000.0))]).unwrap();
        for norm_vars in [false, true] {
            let plp = PlpOptions::default().with_dither(0.0);
            let mut features = Vec::new();
            let pipeline = Pipeline::plp(plp).unwrap().with_cmvn(Cmvn::Utterance { norm_vars });
            let summary = pipeline.run(&inputs, &mut features).unwrap();
            assert!(summary.failures.is_empty());
            assert!(features[0].1.data().iter().all(|x| x.abs() < 1e-3), "{:?}", features[0].1);
        }
    }
}

#[test]
fn a_run_replaces_no_recording_and_takes_no_key_that_its_format_cannot_hold() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_wav(&at("a.wav"), 8000, 16_000.0);
    fs::copy(at("a.wav"), at("rec.ark")).unwrap();
    fs::write(at("list.scp"), format!("a {}\n", at("a.wav").display())).unwrap();
    let fbank = fbank();
    let pipeline = Pipeline::new(&fbank);
    let before = names(folder.path());
    for (input, output) in [("rec.ark", "rec.ark"), ("list.scp", "list.ark")] {
        let inputs = Inputs::from_paths([at(input)]).unwrap();
        let refused = pipeline.run_to_file(&inputs, at(output));
        assert!(matches!(refused, Err(Error::Overwrite { .. })), "{refused:?}");
    }
    for (output, key) in [("x.safetensors", "__metadata__"), ("x.ark", "a b"), ("x.npz", "../a"), ("x.npz", "")] {
        let inputs = Inputs::new(vec![Utterance::new(key, at("a.wav"))]).unwrap();
        let refused = pipeline.run_to_file(&inputs, at(output));
        assert!(matches!(&refused, Err(Error::Key { key: found, .. }) if found == key), "{refused:?}");
    }
    let refused = merge([at("x.ark")], &mut FeatureFile::create(at("x.ark")).unwrap());
    assert!(refused.is_err());
    assert_eq!(names(folder.path()), before);
    assert_eq!(fs::read(at("rec.ark")).unwrap(), fs::read(at("a.wav")).unwrap());
}

#[test]
fn a_key_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ENDINGS {
        let mut file = FeatureFile::create(folder.path().join("x").with_extension(ending)).unwrap();
        file.write("a", Matrix::zeros(1, 2).view()).unwrap();
        assert!(matches!(file.write("a", Matrix::zeros(1, 2).view()), Err(Error::Key { .. })), "{ending}");
    }
}

#[test]
fn another_rate_is_an_error_with_all_ways_to_take_it() {
    let recording = Recording::from_i16(vec![1; 8000], 8000.0);
    let inputs = Inputs::new(vec![Utterance::new("a", recording)]).unwrap();
    let summary = Pipeline::new(&fbank()).run(&inputs, &mut Vec::new()).unwrap();
    let error = summary.failures[0].to_string();
    for part in ["8000 .vs 16000", "`resample`", "`samp_freq`=8000", "`allow_upsample`=true"] {
        assert!(error.contains(part), "{error}");
    }
}
