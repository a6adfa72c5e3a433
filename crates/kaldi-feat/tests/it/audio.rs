//! What audio can be given as, and what a stream is told of it.

use kaldi_feat::{Audio, Error, Fbank, FbankOptions, FeatureStream, Interleaved, Matrix, PitchExtractor, Samples};

fn fbank() -> Fbank {
    Fbank::new(FbankOptions::default()).unwrap()
}

fn samples(len: usize) -> Vec<i16> {
    (0..len).map(|i| ((i * i * 7) % 20_011) as i16).collect()
}

#[test]
fn slices_vectors_and_arrays_of_either_type_give_the_same_features() {
    let (integers, fbank) = (samples(800), fbank());
    let floats: Vec<f32> = integers.iter().map(|&x| f32::from(x)).collect();
    let array: [i16; 800] = integers.clone().try_into().unwrap();
    let floats_array: [f32; 800] = floats.clone().try_into().unwrap();
    let expected: Matrix<f32> = fbank.compute(&Audio::new(&integers, 16_000.0)).unwrap();
    for audio in [
        Audio::new(&integers[..], 16_000.0),
        Audio::new(&floats, 16_000.0),
        Audio::new(&floats[..], 16_000.0),
        Audio::new(&array, 16_000.0),
        Audio::new(&floats_array, 16_000.0),
        Audio::new(Samples::I16(&integers), 16_000.0),
    ] {
        assert_eq!(fbank.compute(&audio).unwrap(), expected);
    }
}

#[test]
fn streams_take_references_to_vectors_and_arrays() {
    let mut stream = FeatureStream::new(fbank());
    stream.accept_waveform(&samples(100)).unwrap();
    stream.accept_waveform(&vec![1.0_f32; 100]).unwrap();
    stream.accept_waveform(&[1_i16; 200]).unwrap();
    assert_eq!(stream.num_frames_ready(), 1);
    let mut pitch = PitchExtractor::new(Default::default()).unwrap().stream();
    pitch.accept_waveform(&samples(1000)).unwrap();
    pitch.accept_waveform(&[0.5_f32; 10]).unwrap();
}

#[test]
fn a_new_key_warp_factor_or_sample_rate_restarts_a_stream() {
    let (samples, fbank) = (samples(1000), std::sync::Arc::new(fbank()));
    let audio = Audio::new(&samples, 16_000.0).with_key("a").with_vtln_warp(0.9);
    let expected = fbank.compute(&audio).unwrap();
    let mut used = FeatureStream::new(std::sync::Arc::clone(&fbank));
    used.accept_waveform(&samples).unwrap();
    used.input_finished();
    let mut stream = used.with_key("a").with_vtln_warp(0.9).unwrap().with_sample_rate(16_000.0).unwrap();
    assert_eq!(stream.num_frames_ready(), 0);
    let mut rows = Vec::new();
    stream.accept_waveform(&samples).unwrap();
    stream.input_finished();
    stream.take_rows(&mut rows);
    assert_eq!(rows, expected.data());

    let refused = FeatureStream::new(std::sync::Arc::clone(&fbank)).with_sample_rate(8000.0).unwrap_err();
    assert!(matches!(refused, Error::SampleRateMismatch { .. }));
    assert!(matches!(FeatureStream::new(fbank).with_vtln_warp(0.0), Err(Error::BadVtln { .. })));
}

#[test]
fn the_warp_factor_is_the_audios_in_batches_too() {
    let (samples, fbank) = (samples(1000), fbank());
    let plain = Audio::new(&samples, 16_000.0);
    let warped = plain.with_vtln_warp(1.1);
    let batch = fbank.compute_batch(&[plain, warped]).unwrap();
    assert_eq!(batch.utterance(0), fbank.compute(&plain).unwrap());
    assert_eq!(batch.utterance(1), fbank.compute(&warped).unwrap());
    assert_ne!(batch.utterance(0), batch.utterance(1));
    assert!(matches!(fbank.compute(&plain.with_vtln_warp(f32::NAN)), Err(Error::BadVtln { .. })));
}

#[test]
fn interleaved_channels_are_taken_apart() {
    let stereo = Interleaved::new(&[1_i16, -3, 2, -4, 3, i16::MIN], 2).unwrap();
    assert_eq!((stereo.num_channels(), stereo.num_frames()), (2, 3));
    assert_eq!(stereo.channel(0).unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(stereo.channel(1).unwrap(), [-3.0, -4.0, -32768.0]);
    assert_eq!(stereo.mean(), [-1.0, -1.0, -16382.5]);
    assert_eq!(stereo.channel(2), Err(Error::NoSuchChannel { channel: 2, num_channels: 2 }));
    let mono = vec![0.5_f32, 1.5];
    assert_eq!(Interleaved::new(&mono, 1).unwrap().mean(), mono);
    for num_channels in [0, 2, 4] {
        let error = Interleaved::new(&[1_i16; 3], num_channels).unwrap_err();
        assert_eq!(error, Error::NotInterleaved { samples: 3, num_channels });
    }
}
