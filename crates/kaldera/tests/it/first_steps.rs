//! What people type first works, and what they get wrong is told with names.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldera::Error;
use kaldera::pipeline::{PitchFeatures, Source};
use kaldera::prelude::*;
use tempfile::TempDir;

/// A folder with one file: left a ramp, right its negative, of 16 bits.
fn stereo() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stereo.wav");
    let samples = (0..16_000_i16).flat_map(|i| [i, -i]).collect();
    write(&path, &WaveData { samp_freq: 16_000.0, num_channels: 2, samples });
    (folder, path)
}

fn write(path: &Path, wave: &WaveData) {
    wave.write(&mut File::create(path).unwrap()).unwrap();
}

fn quiet() -> FbankOptions {
    FbankOptions::default().with_dither(0.0)
}

#[test]
fn a_file_becomes_samples() {
    let (_folder, path) = stereo();
    let recording = Recording::open(&path).unwrap();
    assert_eq!((recording.num_channels(), recording.num_samples(), recording.samp_freq()), (2, 16_000, 16_000.0));
    assert_eq!(recording.duration(), 1.0);
    assert_eq!(recording.samples()[2..6], [1.0, -1.0, 2.0, -2.0]);
    assert_eq!(recording.samples_i16().unwrap()[2..6], [1, -1, 2, -2]);

    let right = recording.channel(1).unwrap();
    assert_eq!((right.num_channels(), right.num_samples()), (1, 16_000));
    assert_eq!(right.samples_i16().unwrap()[..3], [0, -1, -2]);
    assert!(recording.mean().samples().iter().all(|&sample| sample == 0.0));
    assert_eq!(recording.mean().num_samples(), 16_000);
    assert_eq!(right.mean(), right);
}

#[test]
fn floating_point_samples_are_integers_only_where_each_is_one() {
    let integers =
        |samples: Vec<f32>| Recording::from_f32(samples, 8000.0).samples_i16().map(|found| found.into_owned());
    assert_eq!(integers(vec![-32_768.0, 0.0, 32_767.0]), Some(vec![-32_768, 0, 32_767]));
    for other in [0.5, 32_768.0, -32_769.0, f32::NAN, f32::INFINITY] {
        assert_eq!(integers(vec![1.0, other]), None, "{other}");
    }
}

#[test]
fn a_recording_becomes_audio_once_it_is_clear_from_which_channel() {
    let (_folder, path) = stereo();
    let recording = Recording::open(&path).unwrap();
    let error = recording.audio().unwrap_err();
    assert!(matches!(error, kaldera::audio::Error::SeveralChannels { channels: 2 }), "{error}");
    assert!(matches!(
        recording.channel(2).unwrap_err(),
        kaldera::audio::Error::NoSuchChannel { channel: 2, channels: 2 }
    ));

    let left = recording.channel(0).unwrap();
    let audio = Audio::try_from(&left).unwrap();
    assert_eq!((audio.samples.len(), audio.samp_freq), (16_000, 16_000.0));
    let fbank = Fbank::new(quiet()).unwrap();
    let of_audio = fbank.compute(&audio).unwrap();
    assert_eq!((of_audio.num_rows(), of_audio.num_cols()), (98, 23));

    let files = Inputs::from_paths([&path]).unwrap();
    let samples = Inputs::new(vec![Utterance::new("stereo", left)]).unwrap();
    for inputs in [files, samples] {
        let mut features = Vec::new();
        Pipeline::new(&fbank).with_channel(0).run(&inputs, &mut features).unwrap();
        assert_eq!(features, [("stereo".to_owned(), of_audio.clone())]);
    }
}

#[test]
fn what_cannot_be_read_is_told_with_the_name_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let noise = folder.path().join("noise.wav");
    std::fs::write(&noise, "noise").unwrap();
    for path in [folder.path().join("missing.wav"), noise, folder.path().to_owned()] {
        let error = Recording::open(&path).unwrap_err();
        assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
        assert!(matches!(error, kaldera::audio::Error::Recording { path: found, .. } if found == path));
    }
}

#[test]
fn a_pipeline_takes_options_or_an_extractor_of_any_ownership() {
    let (folder, _) = stereo();
    let inputs = Inputs::from_paths([folder.path()]).unwrap();
    assert_eq!(inputs.len(), 1);
    let run = |features: &mut Vec<(String, Matrix<f32>)>, run: &dyn Fn(&mut Vec<_>) -> Result<Summary, Error>| {
        features.clear();
        run(features).unwrap();
        std::mem::take(features)
    };
    let mut room = Vec::new();
    let fbank = Fbank::new(quiet()).unwrap();
    let of_options = run(&mut room, &|out| Pipeline::fbank(quiet())?.run(&inputs, out));
    assert!(run(&mut room, &|out| Pipeline::new(&fbank).run(&inputs, out)) == of_options);
    let shared = Arc::new(fbank);
    assert!(run(&mut room, &|out| Pipeline::new(Arc::clone(&shared)).run(&inputs, out)) == of_options);
    assert!(run(&mut room, &|out| Pipeline::new(Fbank::new(quiet())?).run(&inputs, out)) == of_options);

    let dims = [
        Pipeline::fbank(FbankOptions::default()).unwrap().dim(),
        Pipeline::mfcc(MfccOptions::default()).unwrap().dim(),
        Pipeline::plp(PlpOptions::default()).unwrap().dim(),
        Pipeline::spectrogram(SpectrogramOptions::default()).unwrap().dim(),
        Pipeline::log_mel(LogMelOptions::default()).unwrap().dim(),
    ];
    assert!(dims.iter().all(|&dim| dim > 0), "{dims:?}");
}

#[test]
fn steps_are_added_one_call_each() {
    let (folder, _) = stereo();
    let pitch = PitchFeatures::new(Default::default(), Default::default()).unwrap();
    let pipeline = Pipeline::fbank(quiet())
        .unwrap()
        .with_jobs(2)
        .with_channel(0)
        .with_min_seconds(0.1)
        .with_pitch(&pitch)
        .with_cmvn(Cmvn::Utterance { norm_vars: true })
        .with_deltas(Default::default());
    let mut features = Vec::new();
    let summary = pipeline.run(&Inputs::from_paths([folder.path()]).unwrap(), &mut features).unwrap();
    assert_eq!((summary.utterances, summary.dim), (1, 3 * (23 + 3)));
    assert_eq!(features[0].1.num_cols(), summary.dim);
}

#[test]
fn inputs_are_gone_through_like_any_list() {
    let utterances = [Utterance::new("a", "a.wav"), Utterance::new("b", Recording::from_i16(vec![1; 800], 8000.0))];
    let inputs = Inputs::new(utterances.to_vec()).unwrap();
    assert_eq!((&inputs).into_iter().map(|utterance| utterance.key.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(matches!(&inputs.utterances()[0].source, Source::File(path) if path == Path::new("a.wav")));
    assert!(inputs.into_iter().eq(utterances));
}

#[test]
fn errors_of_all_crates_become_one_that_threads_may_pass_on() {
    fn all(wrong: usize) -> Result<(), Error> {
        match wrong {
            0 => drop("0 1 x".parse::<Fsa>()?),
            1 => drop("[[1".parse::<Ragged<i32>>()?),
            2 => drop(Lod::from_offsets(&[vec![1, 0]])?),
            3 => drop(Matrix::from_vec(2, 2, vec![0.0_f32])?),
            4 => drop(Tensor::<f32>::load_npy("/no/such/file")?),
            5 => drop(SequentialReader::<Matrix<f32>>::open("ark:/no/such/file")?),
            6 => drop(Fbank::new(one_bin())?),
            7 => drop(File::open("/no/such/file")?),
            8 => drop("1:2:3:4".parse::<kaldera::tensor::IndexSpec>()?),
            9 => drop(Inputs::from_paths::<&str>([])?),
            _ => drop(kaldera::matrix::codec::read::<Matrix<f32>>(&mut &b"nothing"[..])?),
        }
        Ok(())
    }
    fn one_bin() -> FbankOptions {
        FbankOptions::default().with_num_mel_bins(1)
    }
    let of_a_thread = std::thread::spawn(|| (0..11).map(all).collect::<Vec<_>>()).join().unwrap();
    for (wrong, result) in of_a_thread.into_iter().enumerate() {
        let Err(error) = result else { panic!("{wrong} is no error") };
        let error: Box<dyn std::error::Error + Send + Sync> = error.into();
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn errors_of_the_pipeline_name_fields() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.wav"), &WaveData { samp_freq: 16_000.0, num_channels: 1, samples: vec![1; 100] });
    let inputs = Inputs::from_paths([folder.path()]).unwrap();
    let fails = |pipeline: Pipeline<'_, Fbank>, field: &str| {
        let summary = pipeline.run(&inputs, &mut Vec::new()).unwrap();
        let error = summary.failures[0].source.to_string();
        assert!(error.contains(field) && !error.contains("--"), "{error}");
    };
    let fbank = || Pipeline::fbank(quiet()).unwrap();
    fails(fbank(), "too few for one frame");
    fails(fbank().with_min_seconds(1.0), "`min_seconds`");
    fails(fbank().with_channel(1), "no channel 1");
}

#[cfg(feature = "serde")]
#[test]
fn normalisation_is_read_from_json_and_misspelt_names_are_refused() {
    let read = |text: &str| serde_json::from_str::<Cmvn>(text);
    assert_eq!(read(r#"{"speaker": {"norm_vars": true}}"#).unwrap(), Cmvn::Speaker { norm_vars: true });
    assert_eq!(read(r#"{"utterance": {}}"#).unwrap(), Cmvn::Utterance { norm_vars: false });
    assert_eq!(read(r#"{"sliding": {}}"#).unwrap(), Cmvn::Sliding(Default::default()));
    assert!(read(r#"{"speaker": {"norm_var": true}}"#).is_err());
    for cmvn in [Cmvn::All { norm_vars: true }, Cmvn::Sliding(Default::default())] {
        assert_eq!(read(&serde_json::to_string(&cmvn).unwrap()).unwrap(), cmvn);
    }
}
