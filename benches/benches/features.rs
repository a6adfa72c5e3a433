//! Feature extraction on one thread, from samples in memory to rows of features: ten seconds of
//! speech-like noise.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kaldera::base::random::Philox;
use kaldera::feat::{
    Audio, Extractor, Fbank, FbankOptions, FeatureStream, Kind, LogMel, LogMelOptions, Mfcc, MfccOptions, Plp,
    PlpOptions, Spectrogram, SpectrogramOptions, Workspace,
};

const SAMP_FREQ: f32 = 16000.0;
const SECONDS: usize = 10;

/// Noise of the loudness of speech, as 16-bit samples.
fn recording() -> Vec<i16> {
    let mut noise = vec![0.0; SECONDS * SAMP_FREQ as usize];
    Philox::new(1).add_gaussian(2000.0, 0, &mut noise);
    noise.iter().map(|&x| x as i16).collect()
}

fn extract<K: Kind>(c: &mut Criterion, name: &str, extractor: &Extractor<K>) {
    let samples = recording();
    let audio = Audio::new(&samples[..], SAMP_FREQ).with_key("bench");
    let (mut workspace, mut rows) = (Workspace::default(), Vec::new());
    let mut group = c.benchmark_group("features");
    // One element is one sample: divided by the sample rate, the rate is how many times faster than
    // real time.
    group.throughput(Throughput::Elements(samples.len() as u64));
    group.bench_function(name, |b| {
        b.iter(|| extractor.compute_into(&mut workspace, black_box(&audio), &mut rows).expect("good options"));
    });
    group.finish();
}

fn fbank(edit: impl FnOnce(&mut FbankOptions)) -> Fbank {
    let mut options = FbankOptions::default();
    options.frame.dither = 0.0;
    options.mel.num_bins = 80;
    edit(&mut options);
    Fbank::new(options).expect("good options")
}

/// The same audio in chunks of 10 ms. With `at_once` each row is asked for as soon as it is ready;
/// else those are taken that have been computed.
fn stream<K: Kind>(c: &mut Criterion, name: &str, extractor: Extractor<K>, at_once: bool) {
    let (samples, extractor) = (recording(), Arc::new(extractor));
    let mut rows = Vec::new();
    let mut group = c.benchmark_group("streams");
    group.throughput(Throughput::Elements(samples.len() as u64));
    group.bench_function(name, |b| {
        b.iter(|| {
            rows.clear();
            let mut stream = FeatureStream::new(Arc::clone(&extractor))
                .with_key("bench")
                .with_sample_rate(SAMP_FREQ)
                .expect("good options");
            for chunk in black_box(&samples).chunks(SAMP_FREQ as usize / 100) {
                stream.accept(chunk).expect("not at its end");
                if at_once {
                    stream.take_rows(&mut rows)
                } else {
                    stream.take_computed_rows(&mut rows)
                };
            }
            stream.finish();
            stream.take_rows(&mut rows)
        });
    });
    group.finish();
}

/// As many streams as a vector has lanes, each in chunks of 10 ms, and each row as soon as it is
/// ready.
fn streams_together<K: Kind>(c: &mut Criterion, name: &str, extractor: Extractor<K>) {
    const STREAMS: usize = 16;
    let (samples, extractor) = (recording(), Arc::new(extractor));
    let mut rows = Vec::new();
    let mut group = c.benchmark_group("streams");
    group.throughput(Throughput::Elements((STREAMS * samples.len()) as u64));
    group.bench_function(name, |b| {
        b.iter(|| {
            rows.clear();
            let stream = |_| {
                FeatureStream::new(Arc::clone(&extractor))
                    .with_key("bench")
                    .with_sample_rate(SAMP_FREQ)
                    .expect("good options")
            };
            let mut streams: Vec<_> = (0..STREAMS).map(stream).collect();
            for chunk in black_box(&samples).chunks(SAMP_FREQ as usize / 100) {
                for stream in &mut streams {
                    stream.accept(chunk).expect("not at its end");
                }
                FeatureStream::compute_together(&mut streams);
                for stream in &mut streams {
                    stream.take_computed_rows(&mut rows);
                }
            }
        });
    });
    group.finish();
}

fn mfcc() -> Mfcc {
    let mut options = MfccOptions::default();
    options.frame.dither = 0.0;
    Mfcc::new(options).expect("good options")
}

fn plp() -> Plp {
    let mut options = PlpOptions::default();
    options.frame.dither = 0.0;
    Plp::new(options).expect("good options")
}

fn spectrogram() -> Spectrogram {
    let mut options = SpectrogramOptions::default();
    options.frame.dither = 0.0;
    Spectrogram::new(options).expect("good options")
}

fn whisper(num_bins: i32) -> LogMel {
    LogMel::new(LogMelOptions::whisper(num_bins)).expect("good options")
}

fn features(c: &mut Criterion) {
    extract(c, "fbank-80", &fbank(|_| {}));
    extract(c, "fbank-80, dither", &fbank(|options| options.frame.dither = 1.0));
    extract(c, "fbank-80, FFT of 400", &fbank(|options| options.frame.round_to_power_of_two = false));
    extract(c, "MFCC-13", &mfcc());
    extract(c, "PLP-13", &plp());
    extract(c, "spectrogram", &spectrogram());
    extract(c, "Whisper-80", &whisper(80));
    extract(c, "Whisper-128", &whisper(128));
    extract(c, "librosa-128", &LogMel::new(LogMelOptions::librosa(SAMP_FREQ)).expect("good options"));
}

fn streams(c: &mut Criterion) {
    stream(c, "fbank-80, chunks of 10 ms", fbank(|_| {}), false);
    stream(c, "MFCC-13, chunks of 10 ms", mfcc(), false);
    stream(c, "PLP-13, chunks of 10 ms", plp(), false);
    stream(c, "spectrogram, chunks of 10 ms", spectrogram(), false);
    stream(c, "Whisper-80, chunks of 10 ms", whisper(80), false);
    stream(c, "fbank-80, chunks of 10 ms, each row at once", fbank(|_| {}), true);
    streams_together(c, "fbank-80, chunks of 10 ms, each row at once, 16 streams", fbank(|_| {}));
}

criterion_group!(benches, features, streams);
criterion_main!(benches);
