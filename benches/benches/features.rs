//! Feature extraction on one thread, from samples in memory to rows of features: ten seconds of speech-like noise.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kaldera::base::random::Philox;
use kaldera::feat::{Audio, Extractor, Fbank, FbankOptions, Kind, Mfcc, MfccOptions, Workspace};

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
    // One element is one sample: divided by the sample rate, the rate is how many times faster than real time.
    group.throughput(Throughput::Elements(samples.len() as u64));
    group.bench_function(name, |b| {
        b.iter(|| extractor.compute_into(&mut workspace, black_box(&audio), 1.0, &mut rows).expect("good options"));
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

fn features(c: &mut Criterion) {
    extract(c, "fbank-80", &fbank(|_| {}));
    extract(c, "fbank-80, dither", &fbank(|options| options.frame.dither = 1.0));
    extract(c, "fbank-80, FFT of 400", &fbank(|options| options.frame.round_to_power_of_two = false));
    let mut options = MfccOptions::default();
    options.frame.dither = 0.0;
    extract(c, "MFCC-13", &Mfcc::new(options).expect("good options"));
}

criterion_group!(benches, features);
criterion_main!(benches);
