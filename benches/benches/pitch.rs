//! Pitch extraction on one thread, from samples in memory: ten seconds that are voiced half of the
//! time.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kaldera::base::random::Philox;
use kaldera::feat::{
    Audio, LinearResample, PitchExtractionOptions, PitchExtractor, PitchProcessor, ProcessPitchOptions,
};

const SAMP_FREQ: f32 = 16000.0;
const SECONDS: usize = 10;

/// A voice that comes and goes, gliding, on noise.
fn recording() -> Vec<i16> {
    let mut samples = vec![0.0; SECONDS * SAMP_FREQ as usize];
    Philox::new(1).add_gaussian(100.0, 0, &mut samples);
    for (i, x) in samples.iter_mut().enumerate() {
        let t = i as f32 / SAMP_FREQ;
        let phase = std::f32::consts::TAU * (150.0 * t + 8.0 * (2.0 * t).sin());
        let loud = 4000.0 * (4.0 * t).sin().max(0.0);
        *x += loud * (phase.sin() + 0.6 * (2.0 * phase).sin() + 0.4 * (3.0 * phase).cos() + 0.2 * (5.0 * phase).sin());
    }
    samples.iter().map(|&x| x as i16).collect()
}

fn pitch(c: &mut Criterion) {
    let samples = recording();
    let audio = Audio::new(&samples[..], SAMP_FREQ).with_key("bench");
    let mut group = c.benchmark_group("pitch");
    // One element is one sample: divided by the sample rate, the rate is how many times faster than
    // real time.
    group.throughput(Throughput::Elements(samples.len() as u64));
    let extractor = PitchExtractor::new(PitchExtractionOptions::default()).expect("good options");
    group.bench_function("pitch", |b| b.iter(|| extractor.compute(black_box(&audio)).expect("good audio")));
    let processor = PitchProcessor::new(ProcessPitchOptions::default()).expect("good options");
    group.bench_function("pitch, processed", |b| {
        b.iter(|| processor.compute(&extractor, black_box(&audio)).expect("good audio"));
    });
    group.bench_function("pitch, chunks of 10 ms", |b| {
        b.iter(|| {
            let mut stream = extractor.stream();
            for chunk in black_box(&samples).chunks(160) {
                stream.accept(chunk).expect("good audio");
            }
            stream.finish();
            stream.num_frames_ready()
        });
    });
    let resampler = LinearResample::for_waveform(SAMP_FREQ, 8000.0).expect("good rates");
    let signal: Vec<f32> = samples.iter().map(|&x| f32::from(x)).collect();
    let mut out = Vec::new();
    group.bench_function("resampled to 8 kHz", |b| b.iter(|| resampler.resample_into(black_box(&signal), &mut out)));
    group.finish();
}

criterion_group!(benches, pitch);
criterion_main!(benches);
