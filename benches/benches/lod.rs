//! Sequences without padding: sorting them into time steps and back, and reductions over them, in
//! bytes that each must at least touch.
//!
//! ```text
//! RAYON_NUM_THREADS=1 cargo bench -p kaldera-benches --bench lod
//! python3 benches/peers/lod.py                     # the same with PyTorch
//! ```
//!
//! The batch is that of the recurrent networks: 64 sequences, log-normal lengths with a median of
//! 600 and a sigma of 0.5, cut to 200..1600. The reductions have a million rows of 64 values in
//! 1,528 sequences like these.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use kaldera::lod::sequence::{Pool, column_softmax, pool};
use kaldera::lod::{Lod, LodTensor, concat_outputs_into, segment_inputs, segment_inputs_into};
use kaldera_benches::random::Random;

fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.positive().ln()).sqrt() * (std::f64::consts::TAU * random.positive()).cos()
}

fn speech_length(random: &mut Random) -> usize {
    (600.0 * (0.5 * normal(random)).exp()).clamp(200.0, 1600.0) as usize
}

/// Sequences of speech, of which the first are taken until there are `rows` rows or `count`
/// sequences.
fn speech(rows: usize, count: usize, width: usize) -> LodTensor<f32> {
    let mut random = Random(20_261_121);
    let mut lengths = Vec::new();
    let mut left = rows;
    while left > 0 && lengths.len() < count {
        lengths.push(speech_length(&mut random).min(left));
        left -= lengths[lengths.len() - 1];
    }
    let rows = lengths.iter().sum::<usize>();
    let values: Vec<f32> = (0..rows * width).map(|_| (random.uniform() * 4.0 - 2.0) as f32).collect();
    LodTensor::from_vec([rows, width], values, Lod::from_lengths(&[lengths]).unwrap()).unwrap()
}

fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    group
}

fn segment(criterion: &mut Criterion) {
    let mut group = group(criterion, "segment");
    for width in [80, 512] {
        let x = speech(usize::MAX, 64, width);
        let table = x.lod().rank_table(0).unwrap();
        let mut out = vec![0.0; x.values().len()];
        group.throughput(Throughput::Bytes(8 * x.values().len() as u64));
        group.bench_function(format!("copy, {width}"), |bencher| {
            bencher.iter(|| black_box(&mut out).copy_from_slice(black_box(x.values())));
        });
        group.bench_function(format!("segment into warm memory, {width}"), |bencher| {
            bencher.iter(|| segment_inputs_into(black_box(&x), &table, black_box(&mut out)).unwrap());
        });
        group.bench_function(format!("segment, {width}"), |bencher| {
            bencher.iter(|| segment_inputs(black_box(&x), &table).unwrap());
        });
        let segments = segment_inputs(&x, &table).unwrap();
        group.bench_function(format!("concat into warm memory, {width}"), |bencher| {
            bencher.iter(|| concat_outputs_into(black_box(&segments), black_box(&mut out)).unwrap());
        });
    }
    let lengths = speech(usize::MAX, 64, 1).lod().to_lengths();
    group.throughput(Throughput::Elements(38_000));
    group.bench_function("sort and index of a new batch", |bencher| {
        bencher.iter(|| {
            let x = LodTensor::from_vec(
                [lengths[0].iter().sum(), 0],
                Vec::<f32>::new(),
                Lod::from_lengths(&lengths).unwrap(),
            );
            x.unwrap().lod().rank_table(0).unwrap().packed_to_entry().len()
        });
    });
}

fn reduce(criterion: &mut Criterion) {
    let mut group = group(criterion, "reduce sequences");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    let x = speech(1_000_000, usize::MAX, 64);
    group.throughput(Throughput::Bytes(4 * x.values().len() as u64));
    group.bench_function("pool sum", |bencher| bencher.iter(|| pool(black_box(&x), Pool::Sum, 0.0).unwrap()));
    group.bench_function("pool max", |bencher| bencher.iter(|| pool(black_box(&x), Pool::Max, 0.0).unwrap()));
    group.throughput(Throughput::Bytes(8 * x.values().len() as u64));
    group.bench_function("softmax of each column", |bencher| bencher.iter(|| column_softmax(black_box(&x)).unwrap()));
}

criterion_group!(benches, segment, reduce);
criterion_main!(benches);
