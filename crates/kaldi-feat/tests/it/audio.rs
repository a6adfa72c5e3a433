//! What audio can be given as, and what a stream is told of it.

use std::sync::Arc;

use kaldi_feat::{
    Audio, Error, Fbank, FbankOptions, FeatureStream, FrontEnd, Interleaved, LinearResample, LogMel, Matrix, Mfcc,
    PitchExtractor, Plp, PolyphaseResample, Preset, Samples, Spectrogram,
};

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
    stream.accept(&samples(100)).unwrap();
    stream.accept(&vec![1.0_f32; 100]).unwrap();
    stream.accept(&[1_i16; 200]).unwrap();
    assert_eq!(stream.num_frames_ready(), 1);
    let mut pitch = PitchExtractor::new(Default::default()).unwrap().stream();
    pitch.accept(&samples(1000)).unwrap();
    pitch.accept(&[0.5_f32; 10]).unwrap();
}

#[test]
fn a_new_key_warp_factor_or_sample_rate_restarts_a_stream() {
    let (samples, fbank) = (samples(1000), std::sync::Arc::new(fbank()));
    let audio = Audio::new(&samples, 16_000.0).with_key("a").with_vtln_warp(0.9);
    let expected = fbank.compute(&audio).unwrap();
    let mut used = FeatureStream::new(std::sync::Arc::clone(&fbank));
    used.accept(&samples).unwrap();
    used.finish();
    let mut stream = used.with_key("a").with_vtln_warp(0.9).unwrap().with_sample_rate(16_000.0).unwrap();
    assert_eq!(stream.num_frames_ready(), 0);
    let mut rows = Vec::new();
    stream.accept(&samples).unwrap();
    stream.finish();
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
fn a_sample_that_is_not_finite_is_refused_by_every_extractor_stream_and_front_end() {
    for (value, index) in [(f32::NAN, 0), (f32::INFINITY, 4999), (f32::NEG_INFINITY, 1024)] {
        let mut signal = vec![1.0_f32; 5000];
        signal[index] = value;
        let audio = Audio::new(&signal, 16_000.0);
        let refused =
            |error: Error| assert!(matches!(error, Error::BadSample { index: at, .. } if at == index), "{error}");
        refused(fbank().compute(&audio).unwrap_err());
        refused(fbank().compute_batch(&[audio]).unwrap_err());
        refused(Mfcc::new(Default::default()).unwrap().compute(&audio).unwrap_err());
        refused(Plp::new(Default::default()).unwrap().compute(&audio).unwrap_err());
        refused(Spectrogram::new(Default::default()).unwrap().compute(&audio).unwrap_err());
        refused(LogMel::new(Default::default()).unwrap().compute(&audio).unwrap_err());
        let pitch = PitchExtractor::new(Default::default()).unwrap();
        refused(pitch.compute(&audio).unwrap_err());
        refused(pitch.stream().accept(&signal).unwrap_err());
        refused(FeatureStream::new(Arc::new(fbank())).accept(&signal).unwrap_err());
        for preset in Preset::ALL {
            let front_end = FrontEnd::new(preset.front_end()).unwrap();
            let rate = front_end.samp_freq();
            refused(front_end.compute(&Audio::new(&signal, rate)).unwrap_err());
            refused(front_end.compute_batch(&[Audio::new(&signal, rate)]).unwrap_err());
            refused(front_end.unfinished_stream("", rate).unwrap().accept(&signal).unwrap_err());
        }
        let mut out = Vec::new();
        let linear = LinearResample::for_waveform(16_000.0, 8000.0).unwrap();
        refused(linear.try_resample_into(&signal, &mut out).unwrap_err());
        let polyphase = PolyphaseResample::new(16_000.0, 8000.0).unwrap();
        refused(polyphase.try_resample_into(&signal, &mut out).unwrap_err());
    }
    assert!(fbank().compute(&Audio::new(&[f32::MAX; 500], 16_000.0)).is_ok());
}

#[test]
fn a_sample_that_is_not_finite_is_found_wherever_frames_lie() {
    let snip = |frame_shift, snip_edges| {
        Fbank::new(FbankOptions::default().with_frame_shift(frame_shift).with_snip_edges(snip_edges)).unwrap()
    };
    for fbank in [snip(10.0, true), snip(10.0, false), snip(40.0, true), snip(40.0, false), snip(25.0, true)] {
        for len in [1, 17, 399, 400, 401, 1000, 2200] {
            for index in 0..len {
                let mut signal = vec![1.0_f32; len];
                signal[index] = if index % 2 == 0 { f32::NAN } else { f32::NEG_INFINITY };
                let error = fbank.compute(&Audio::new(&signal, 16_000.0)).unwrap_err();
                assert!(matches!(error, Error::BadSample { index: at, .. } if at == index), "{len} {index}: {error}");
            }
        }
    }
    let whisper = LogMel::new(kaldi_feat::LogMelOptions::whisper(80).of_30_seconds()).unwrap();
    let mut signal = vec![0.0_f32; 481_000];
    for index in [0, 479_999, 480_000, 480_100, 480_999] {
        signal[index] = f32::INFINITY;
        let error = whisper.compute(&Audio::new(&signal, 16_000.0)).unwrap_err();
        assert!(matches!(error, Error::BadSample { index: at, .. } if at == index), "{index}: {error}");
        signal[index] = 0.0;
    }
    assert!(whisper.compute(&Audio::new(&signal, 16_000.0)).is_ok());
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
