//! Methods, products, decompositions and codecs of `kaldi-matrix`. Beside its peers:
//! `matrix_peers`.
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
use kaldera::matrix::{Matrix, Trans, Vector, backend_info, codec, vec_vec};

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

/// Element-wise methods and reductions, in bytes that each must read and write at least, and
/// functions in elements.
fn methods(criterion: &mut Criterion) {
    /// A matrix of this side fills a quarter of the second cache of a recent processor.
    const N: usize = 256;
    let mut group = criterion.benchmark_group("methods");
    group.sample_size(20).warm_up_time(std::time::Duration::from_millis(100));
    group.measurement_time(std::time::Duration::from_millis(500));
    let (a, mut m) = (matrix(N, N), matrix(N, N));
    let (x, row) = (Vector::from(a.data().to_vec()), Vector::from(vec![1e-12_f32; N]));
    let (mut y, mut sums) = (x.clone(), row.clone());
    let (other, ones) = (y.clone(), Vector::from(vec![1.0_f32; N]));
    let wide: Vector<f64> = x.iter().map(|&x| x.into()).collect();
    let bytes = (4 * N * N) as u64;
    macro_rules! bench {
        ($throughput:expr, $name:expr, $call:expr) => {
            group.throughput($throughput);
            group.bench_function($name, |bencher| bencher.iter(|| $call));
        };
    }

    let read = Throughput::Bytes(bytes);
    bench!(read.clone(), "sum", black_box(&x).sum());
    bench!(read.clone(), "min", black_box(&x).min());
    bench!(read.clone(), "max_index", black_box(&x).max_index());
    bench!(read.clone(), "norm 2", black_box(&x).norm(2.0));
    bench!(read.clone(), "sum of a matrix", black_box(&a).sum());
    bench!(read.clone(), "add_row_sum_mat", sums.add_row_sum_mat(1e-12, black_box(&a), 1.0));
    bench!(read, "add_col_sum_mat", sums.add_col_sum_mat(1e-12, black_box(&a), 1.0));

    let two = Throughput::Bytes(2 * bytes);
    bench!(two.clone(), "vec_vec", vec_vec(black_box(&x), black_box(&other)));
    bench!(two.clone(), "scale", black_box(&mut y).scale(1.0));
    bench!(two.clone(), "set", black_box(&mut y).set(0.5));
    bench!(two.clone(), "apply_floor", black_box(&mut y).apply_floor(-2.0));
    bench!(two.clone(), "copy_from_vec", y.copy_from_vec(black_box(&x)));
    bench!(two.clone(), "add_vec_to_rows", m.add_vec_to_rows(1.0, black_box(&row)));
    bench!(two.clone(), "add_vec_to_cols", m.add_vec_to_cols(1.0, black_box(&row)));
    bench!(two.clone(), "mul_cols_vec", m.mul_cols_vec(black_box(&ones)));
    bench!(two, "copy_from_mat, transposed", m.copy_from_mat(black_box(&a), Trans::Yes));

    let three = Throughput::Bytes(3 * bytes);
    bench!(three.clone(), "copy_from_vec, f64 to f32", y.copy_from_vec(black_box(&wide)));
    bench!(three.clone(), "add_vec", y.add_vec(1e-12, black_box(&x)));
    bench!(three.clone(), "mul_elements", m.mul_elements(black_box(&a)));
    bench!(three, "add_mat", m.add_mat(1e-12, black_box(&a), Trans::No));

    let elements = Throughput::Elements((N * N) as u64);
    bench!(elements.clone(), "tanh", y.tanh(black_box(&x)));
    bench!(elements.clone(), "sigmoid", y.sigmoid(black_box(&x)));
    bench!(elements.clone(), "copy, exp", y.copy_from_vec(black_box(&x)).map(|()| y.apply_exp()));
    y.set(0.7);
    bench!(elements.clone(), "ln (of its own results)", y.apply_log().map(|()| y.set(0.7)));
    bench!(elements.clone(), "copy, soft-max per row", {
        m.copy_from_mat(black_box(&a), Trans::No).map(|()| m.apply_soft_max_per_row())
    });
    bench!(elements, "log_sum_exp", black_box(&x).log_sum_exp(None));
}

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

criterion_group!(benches, methods, gemm, gemv, ger, syrk, decompositions, codecs);
criterion_main!(benches);
