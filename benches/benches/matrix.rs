//! Products, decompositions and codecs of `kaldi-matrix`.
//!
//! ```text
//! cargo bench -p kaldera-benches --bench matrix                              # the choice by shape
//! KALDERA_BACKEND=openblas cargo bench -p kaldera-benches --bench matrix     # one library throughout
//! KALDERA_BACKEND=pure     cargo bench -p kaldera-benches --bench matrix
//! ```
//!
//! The last two are what the choice in `kaldi-matrix/src/backend/choice.rs` rests on.

use std::hint::black_box;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use kaldera::matrix::{Matrix, Trans, Vector, backend_info, codec};

fn matrix(rows: usize, cols: usize) -> Matrix<f32> {
    Matrix::from_fn(rows, cols, |r, c| ((r * 7 + c * 3) % 11) as f32 / 11.0 - 0.4)
}

/// A group whose throughput is counted in floating-point operations.
fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(format!("{name}, {}", backend_info().choice));
    group.sample_size(20).warm_up_time(std::time::Duration::from_millis(300));
    group.measurement_time(std::time::Duration::from_secs(1));
    group
}

fn gemm(criterion: &mut Criterion) {
    let mut group = group(criterion, "gemm");
    let shapes = [
        (4, 4, 4),
        (16, 16, 16),
        (64, 64, 64),
        (256, 256, 256),
        (1024, 1024, 1024),
        (1, 512, 512),
        (4, 512, 512),
        (512, 4, 512),
        (16, 512, 2048),
        (1000, 80, 257),
    ];
    for (m, n, k) in shapes {
        let (a, b, mut c) = (matrix(m, k), matrix(k, n), matrix(m, n));
        group.throughput(Throughput::Elements((2 * m * n * k) as u64));
        group.bench_function(format!("{m} x {n} x {k}"), |bencher| {
            bencher.iter(|| c.add_mat_mat(1.0, black_box(&a), Trans::No, black_box(&b), Trans::No, 0.0));
        });
    }
}

fn gemv(criterion: &mut Criterion) {
    let mut group = group(criterion, "gemv");
    for (rows, cols) in [(4, 4), (13, 23), (64, 64), (512, 512), (1024, 1024), (1000, 8), (8, 1000)] {
        for (name, trans) in [("", Trans::No), (", transposed", Trans::Yes)] {
            let a = matrix(rows, cols);
            let (from, to) = if trans == Trans::No { (cols, rows) } else { (rows, cols) };
            let (x, mut y) = (Vector::from(vec![0.5; from]), Vector::zeros(to));
            group.throughput(Throughput::Elements((2 * rows * cols) as u64));
            group.bench_function(format!("{rows} x {cols}{name}"), |bencher| {
                bencher.iter(|| y.add_mat_vec(1.0, black_box(&a), trans, black_box(&x), 0.0));
            });
        }
    }
}

fn ger(criterion: &mut Criterion) {
    let mut group = group(criterion, "ger");
    for (rows, cols) in [(4, 4), (16, 16), (64, 64), (512, 512), (1000, 8)] {
        let (x, y, mut a) = (Vector::zeros(rows), Vector::from(vec![0.5; cols]), matrix(rows, cols));
        group.throughput(Throughput::Elements((2 * rows * cols) as u64));
        group.bench_function(format!("{rows} x {cols}"), |bencher| {
            bencher.iter(|| a.add_vec_vec(1.0, black_box(&x), black_box(&y)));
        });
    }
}

fn syrk(criterion: &mut Criterion) {
    let mut group = group(criterion, "syrk");
    for (n, k) in [(4, 4), (16, 16), (128, 128), (512, 512), (40, 1000), (512, 40)] {
        let (a, mut c) = (matrix(n, k), matrix(n, n));
        group.throughput(Throughput::Elements((n * n * k) as u64));
        group.bench_function(format!("{n}, {k}"), |bencher| {
            bencher.iter(|| c.sym_add_mat2(1.0, black_box(&a), Trans::No, 0.0));
        });
    }
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn decompositions(criterion: &mut Criterion) {
    let mut group = group(criterion, "decompositions");
    for n in [4, 16, 64, 256] {
        let a = matrix(n, n);
        group.bench_function(format!("symmetric_eig {n}"), |bencher| bencher.iter(|| black_box(&a).symmetric_eig()));
    }
    for (rows, cols) in [(4, 4), (16, 16), (64, 64), (256, 256), (1000, 40), (100, 13)] {
        let a = Matrix::from_fn(rows, cols, |r, c| ((r * r * 7 + c * 13 + r * c) % 101) as f32);
        group.bench_function(format!("svd {rows} x {cols}"), |bencher| bencher.iter(|| black_box(&a).svd()));
    }
}

#[cfg(not(any(feature = "openblas", feature = "pure")))]
fn decompositions(_: &mut Criterion) {}

/// One utterance of ten seconds.
fn codecs(criterion: &mut Criterion) {
    let mut group = group(criterion, "codec");
    let m = Matrix::from_fn(1000, 80, |r, c| ((r * 31 + c * 17) % 997) as f32 / 99.7 - 3.0);
    for (name, binary) in [("binary", true), ("text", false)] {
        let mut bytes = Vec::new();
        codec::write(&mut bytes, &m, binary).expect("memory takes everything");
        group.throughput(Throughput::Elements(80_000));
        group.bench_function(format!("write {name}"), |bencher| {
            bencher.iter(|| {
                bytes.clear();
                codec::write(&mut bytes, black_box(&m), binary)
            });
        });
        group.bench_function(format!("read {name}"), |bencher| {
            bencher.iter(|| codec::read::<Matrix<f32>>(&mut black_box(&bytes[..])));
        });
    }
}

criterion_group!(benches, gemm, gemv, ger, syrk, decompositions, codecs);
criterion_main!(benches);
