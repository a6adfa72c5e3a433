//! `kaldi-matrix` on each backend, beside faer, nalgebra and ndarray, and beside plain loops and
//! bare BLAS calls: tables for `benches/README.md`.
//!
//! ```text
//! cargo bench -p kaldera-benches --bench matrix_peers                 # all tables, some ten minutes
//! cargo bench -p kaldera-benches --bench matrix_peers -- quick        # small sizes, one round
//! cargo bench -p kaldera-benches --bench matrix_peers -- rows         # tables by name: products, decompositions, inverses, rows, calls
//! ```
//!
//! The backend is chosen once in a process, so each column of a table is a child process of its
//! own. They take turns, round after round, and the least time of all rounds counts: what else the
//! machine does then costs all of them alike. One thread.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use kaldera::matrix::{Matrix, SpCopyType, SpMatrix, Trans, Vector};

/// Set for a child: the name of its column.
const COLUMN: &str = "KALDERA_BENCH_COLUMN";
/// Sides of the matrices in the tables of products and decompositions.
const SIDES: [usize; 7] = [32, 64, 128, 256, 512, 1024, 2048];
/// Sides in the table of rows and columns.
const SMALL_SIDES: [usize; 9] = [4, 8, 13, 16, 32, 64, 128, 256, 1024];
/// Kaldi's figures, 10⁹ additions per second in `f32` (`matrix-lib-speed-test`, -O3, one thread,
/// the same kind of machine).
const KALDI: [(&str, [(usize, f64); 5]); 4] = [
    ("add_row_sum_mat", [(4, 0.07), (16, 0.46), (64, 2.79), (256, 6.10), (1024, 4.67)]),
    ("add_col_sum_mat", [(4, 0.12), (16, 0.68), (64, 0.48), (256, 4.97), (1024, 2.60)]),
    ("add_vec_to_rows", [(4, 0.11), (16, 0.88), (64, 2.57), (256, 3.53), (1024, 1.98)]),
    ("add_vec_to_cols", [(4, 0.12), (16, 0.94), (64, 1.56), (256, 3.36), (1024, 2.61)]),
];
/// An operation that would take longer than this is left out.
const PATIENCE: f64 = 20.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let quick = arguments.iter().any(|a| a == "quick");
    let tables: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| *a != "quick").collect();
    let wanted = |name: &str| tables.is_empty() || tables.contains(&name);
    match std::env::var(COLUMN) {
        Ok(column) => measure(&column, quick, &wanted),
        Err(_) => print_tables(&collect(quick), &wanted),
    }
}

/// (table, operation, size, column) -> least seconds per call
type Times = BTreeMap<(String, String, usize, String), f64>;

/// Runs the children in turn.
fn collect(quick: bool) -> Times {
    let mut columns = vec!["peers"];
    if cfg!(feature = "openblas") {
        columns.insert(0, "openblas");
    }
    if cfg!(feature = "pure") {
        columns.insert(columns.len() - 1, "pure");
    }
    let program = std::env::current_exe().expect("this program has a path");
    let mut times = Times::new();
    for round in 1..=if quick { 1 } else { 3 } {
        for column in &columns {
            eprintln!("round {round}: {column}");
            let mut child = Command::new(&program);
            child.args(std::env::args().skip(1)).env(COLUMN, column).env("RAYON_NUM_THREADS", "1");
            if *column != "peers" {
                child.env("KALDERA_BACKEND", column);
            }
            let output =
                child.stderr(std::process::Stdio::inherit()).output().expect("this program can be started again");
            assert!(output.status.success(), "{column}: {}", output.status);
            for line in String::from_utf8(output.stdout).expect("text").lines() {
                let [table, operation, size, column, seconds] =
                    line.split_whitespace().collect::<Vec<_>>().try_into().expect("five fields");
                let key = (table.into(), operation.into(), size.parse().expect("a size"), column.into());
                let seconds: f64 = seconds.parse().expect("seconds");
                let least = times.entry(key).or_insert(f64::INFINITY);
                *least = least.min(seconds);
            }
        }
    }
    times
}

/// The least seconds per call, of runs that take some milliseconds each.
fn seconds(mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    call();
    let first = start.elapsed().as_secs_f64();
    let calls = ((0.002 / first.max(1e-9)) as usize).clamp(1, 100_000);
    let runs = ((0.3 / (first * calls as f64)) as usize).clamp(2, 40);
    let run = |_| {
        let start = Instant::now();
        for _ in 0..calls {
            call();
        }
        start.elapsed().as_secs_f64() / calls as f64
    };
    (0..runs).map(run).fold(if calls == 1 { first } else { f64::INFINITY }, f64::min)
}

/// Measures one operation at size after size until it takes too long, and tells the parent.
fn series(table: &str, operation: &str, column: &str, sides: &[usize], mut at: impl FnMut(usize) -> f64) {
    let mut last = None;
    for &n in sides {
        // All operations here take at most eight times as long with twice the side.
        if last.is_some_and(|(side, seconds): (usize, f64)| seconds * (n as f64 / side as f64).powi(3) > PATIENCE) {
            break;
        }
        let seconds = at(n);
        println!("{table} {operation} {n} {column} {seconds:e}");
        last = Some((n, seconds));
    }
}

fn element(r: usize, c: usize) -> f64 {
    ((r * r * 7 + c * 13 + r * c) % 101) as f64 / 101.0 - 0.4
}

fn symmetric(r: usize, c: usize) -> f64 {
    element(r.min(c), r.max(c))
}

fn measure(column: &str, quick: bool, wanted: &dyn Fn(&str) -> bool) {
    let sides = if quick { &SIDES[..3] } else { &SIDES[..] };
    if column == "peers" {
        peers::measure(sides, wanted);
        return;
    }
    if wanted("products") {
        products(column, sides);
    }
    if wanted("decompositions") {
        decompositions(column, sides);
    }
    if wanted("inverses") {
        inverses(column);
    }
    // These two do not depend on the backend.
    if wanted("rows") && column == if cfg!(feature = "pure") { "pure" } else { "openblas" } {
        rows();
    }
    #[cfg(feature = "openblas")]
    if wanted("calls") && column == "openblas" {
        calls::measure();
    }
}

fn products(column: &str, sides: &[usize]) {
    let matrix = |n| Matrix::<f32>::from_fn(n, n, |r, c| element(r, c) as f32);
    series("products", "gemm", column, sides, |n| {
        let (a, b, mut c) = (matrix(n), matrix(n), matrix(n));
        seconds(|| c.add_mat_mat(1.0, black_box(&a), Trans::No, black_box(&b), Trans::No, 0.0).expect("they fit"))
    });
    series("products", "gemv", column, sides, |n| {
        let (a, x, mut y) = (matrix(n), Vector::from(vec![0.5; n]), Vector::zeros(n));
        seconds(|| y.add_mat_vec(1.0, black_box(&a), Trans::No, black_box(&x), 0.0).expect("they fit"))
    });
    series("products", "syrk", column, sides, |n| {
        let (a, mut c) = (matrix(n), matrix(n));
        seconds(|| c.sym_add_mat2(1.0, black_box(&a), Trans::No, 0.0).expect("they fit"))
    });
}

#[cfg(any(feature = "openblas", feature = "pure"))]
fn decompositions(column: &str, sides: &[usize]) {
    series("decompositions", "svd", column, sides, |n| {
        let a = Matrix::<f64>::from_fn(n, n, element);
        seconds(|| drop(black_box(black_box(&a).svd())))
    });
    series("decompositions", "eigh", column, sides, |n| {
        let a = Matrix::<f64>::from_fn(n, n, symmetric);
        seconds(|| drop(black_box(black_box(&a).symmetric_eig())))
    });
}

/// What no peer is asked for: how the two backends share it.
#[cfg(any(feature = "openblas", feature = "pure"))]
fn inverses(column: &str) {
    const SIDES: [usize; 7] = [4, 16, 32, 64, 128, 256, 512];
    let regular = |r, c| element(r, c) + if r == c { 2.0 } else { 0.0 };
    series("inverses", "invert", column, &SIDES, |n| {
        let a = Matrix::<f64>::from_fn(n, n, regular);
        seconds(|| drop(black_box(black_box(&a).clone().invert())))
    });
    series("inverses", "sp_invert", column, &SIDES, |n| {
        let a =
            SpMatrix::<f64>::from_mat(&Matrix::<f64>::from_fn(n, n, regular), SpCopyType::Lower).expect("it is square");
        seconds(|| drop(black_box(black_box(&a).clone().invert())))
    });
    series("inverses", "eig", column, &SIDES, |n| {
        let a = Matrix::<f64>::from_fn(n, n, element);
        seconds(|| drop(black_box(black_box(&a).eig())))
    });
}

#[cfg(not(any(feature = "openblas", feature = "pure")))]
fn decompositions(_: &str, _: &[usize]) {}

#[cfg(not(any(feature = "openblas", feature = "pure")))]
fn inverses(_: &str) {}

/// Kaldi's four methods beside the loops that one would write.
fn rows() {
    both(
        "add_row_sum_mat",
        |a, m, v| v.add_row_sum_mat(a, m, 1.0).expect("it fits"),
        |a, m, v| {
            add_row_sum(a, m, v.data_mut());
        },
    );
    both(
        "add_col_sum_mat",
        |a, m, v| v.add_col_sum_mat(a, m, 1.0).expect("it fits"),
        |a, m, v| {
            add_col_sum(a, m, v.data_mut());
        },
    );
    both(
        "add_vec_to_rows",
        |a, m, v| m.add_vec_to_rows(a, v).expect("it fits"),
        |a, m, v| {
            add_to_rows(a, v.data(), m);
        },
    );
    both(
        "add_vec_to_cols",
        |a, m, v| m.add_vec_to_cols(a, v).expect("it fits"),
        |a, m, v| {
            add_to_cols(a, v.data(), m);
        },
    );
}

/// A method and a loop on the same memory: where matrix and vector lie to each other alone can make
/// a small one three times as slow.
fn both(
    operation: &str,
    ours: impl Fn(f32, &mut Matrix<f32>, &mut Vector<f32>),
    plain: impl Fn(f32, &mut Matrix<f32>, &mut Vector<f32>),
) {
    // Small enough for the numbers to stay what they are.
    let alpha = black_box(1e-12);
    for n in SMALL_SIDES {
        let mut m = Matrix::<f32>::from_fn(n, n, |r, c| element(r, c) as f32);
        let mut v = Vector::from(vec![0.5_f32; n]);
        let ours = seconds(|| ours(alpha, black_box(&mut m), black_box(&mut v)));
        println!("rows {operation} {n} ours {ours:e}");
        let plain = seconds(|| plain(alpha, black_box(&mut m), black_box(&mut v)));
        println!("rows {operation} {n} loop {plain:e}");
    }
}

#[inline(never)]
fn add_row_sum(alpha: f32, m: &Matrix<f32>, y: &mut [f32]) {
    for row in m.rows() {
        y.iter_mut().zip(row).for_each(|(y, &x)| *y += alpha * x);
    }
}

#[inline(never)]
fn add_col_sum(alpha: f32, m: &Matrix<f32>, y: &mut [f32]) {
    for (y, row) in y.iter_mut().zip(m.rows()) {
        *y += alpha * row.iter().map(|&x| f64::from(x)).sum::<f64>() as f32;
    }
}

#[inline(never)]
fn add_to_rows(alpha: f32, v: &[f32], m: &mut Matrix<f32>) {
    for row in m.rows_mut() {
        row.iter_mut().zip(v).for_each(|(y, &x)| *y += alpha * x);
    }
}

#[inline(never)]
fn add_to_cols(alpha: f32, v: &[f32], m: &mut Matrix<f32>) {
    for (row, &x) in m.rows_mut().zip(v) {
        row.iter_mut().for_each(|y| *y += alpha * x);
    }
}

/// What a call costs over that of OpenBLAS's own function.
#[cfg(feature = "openblas")]
mod calls {
    use cblas_sys::{CblasLower, CblasNoTrans, CblasRowMajor, cblas_sgemm, cblas_sgemv, cblas_sger, cblas_ssyrk};

    use super::*;

    const SIDES: [usize; 4] = [1, 4, 16, 64];

    pub(super) fn measure() {
        let matrix = |n| Matrix::<f32>::from_fn(n, n, |r, c| element(r, c) as f32);
        let vector = |n| Vector::from(vec![1e-12_f32; n]);
        let int = |n: usize| i32::try_from(n).expect("a small size");
        series("calls", "gemm", "ours", &SIDES, |n| {
            let (a, b, mut c) = (matrix(n), matrix(n), matrix(n));
            seconds(|| c.add_mat_mat(1.0, black_box(&a), Trans::No, black_box(&b), Trans::No, 0.0).expect("they fit"))
        });
        series("calls", "gemm", "bare", &SIDES, |n| {
            let (a, b, mut c, i) = (matrix(n), matrix(n), matrix(n), int(n));
            let no = CblasNoTrans;
            seconds(|| {
                let (a, b, c) =
                    (black_box(&a).data().as_ptr(), black_box(&b).data().as_ptr(), c.data_mut().as_mut_ptr());
                // SAFETY: each pointer is that of n x n elements without gaps, and C is not one of
                // the others.
                unsafe { cblas_sgemm(CblasRowMajor, no, no, i, i, i, 1.0, a, i, b, i, 0.0, c, i) };
            })
        });
        series("calls", "gemv", "ours", &SIDES, |n| {
            let (a, x, mut y) = (matrix(n), vector(n), vector(n));
            seconds(|| y.add_mat_vec(1.0, black_box(&a), Trans::No, black_box(&x), 0.0).expect("they fit"))
        });
        series("calls", "gemv", "bare", &SIDES, |n| {
            let (a, x, mut y, i) = (matrix(n), vector(n), vector(n), int(n));
            seconds(|| {
                let (a, x, y) =
                    (black_box(&a).data().as_ptr(), black_box(&x).data().as_ptr(), y.data_mut().as_mut_ptr());
                // SAFETY: the pointers are those of n x n and n elements without gaps, and y is not
                // one of the others.
                unsafe { cblas_sgemv(CblasRowMajor, CblasNoTrans, i, i, 1.0, a, i, x, 1, 0.0, y, 1) };
            })
        });
        series("calls", "ger", "ours", &SIDES, |n| {
            let (mut a, x, y) = (matrix(n), vector(n), vector(n));
            seconds(|| a.add_vec_vec(1.0, black_box(&x), black_box(&y)).expect("they fit"))
        });
        series("calls", "ger", "bare", &SIDES, |n| {
            let (mut a, x, y, i) = (matrix(n), vector(n), vector(n), int(n));
            seconds(|| {
                let (x, y, a) =
                    (black_box(&x).data().as_ptr(), black_box(&y).data().as_ptr(), a.data_mut().as_mut_ptr());
                // SAFETY: the pointers are those of n and n x n elements without gaps, and A is not
                // one of the others.
                unsafe { cblas_sger(CblasRowMajor, i, i, 1.0, x, 1, y, 1, a, i) };
            })
        });
        series("calls", "syrk", "ours", &SIDES, |n| {
            let (a, mut c) = (matrix(n), matrix(n));
            seconds(|| c.sym_add_mat2(1.0, black_box(&a), Trans::No, 0.0).expect("they fit"))
        });
        series("calls", "syrk", "bare", &SIDES, |n| {
            let (a, mut c, i) = (matrix(n), matrix(n), int(n));
            seconds(|| {
                let (a, c) = (black_box(&a).data().as_ptr(), c.data_mut().as_mut_ptr());
                // SAFETY: each pointer is that of n x n elements without gaps, and C is not A.
                unsafe { cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, i, i, 1.0, a, i, 0.0, c, i) };
            })
        });
    }
}

/// The same work for other crates, as their users would write it.
mod peers {
    use faer::linalg::matmul::{matmul, triangular};
    use faer::{Accum, Mat, Par, Side};
    use nalgebra::{DMatrix, DVector};
    use ndarray::linalg::{general_mat_mul, general_mat_vec_mul};
    use ndarray::{Array1, Array2};

    use super::*;

    pub(super) fn measure(sides: &[usize], wanted: &dyn Fn(&str) -> bool) {
        faer::set_global_parallelism(Par::Seq);
        if wanted("products") {
            of_faer(sides);
            of_nalgebra(sides);
            of_ndarray(sides);
        }
        if wanted("decompositions") {
            series("decompositions", "svd", "faer", sides, |n| {
                let a = Mat::from_fn(n, n, element);
                seconds(|| drop(black_box(black_box(&a).thin_svd())))
            });
            series("decompositions", "svd", "nalgebra", sides, |n| {
                let a = DMatrix::from_fn(n, n, element);
                seconds(|| drop(black_box(black_box(&a).clone().svd(true, true))))
            });
            series("decompositions", "eigh", "faer", sides, |n| {
                let a = Mat::from_fn(n, n, symmetric);
                seconds(|| drop(black_box(black_box(&a).self_adjoint_eigen(Side::Lower))))
            });
            series("decompositions", "eigh", "nalgebra", sides, |n| {
                let a = DMatrix::from_fn(n, n, symmetric);
                seconds(|| drop(black_box(black_box(&a).clone().symmetric_eigen())))
            });
        }
    }

    fn of_faer(sides: &[usize]) {
        let matrix = |n| Mat::from_fn(n, n, |r, c| element(r, c) as f32);
        series("products", "gemm", "faer", sides, |n| {
            let (a, b, mut c) = (matrix(n), matrix(n), matrix(n));
            seconds(|| matmul(c.as_mut(), Accum::Replace, black_box(&a), black_box(&b), 1.0, Par::Seq))
        });
        series("products", "gemv", "faer", sides, |n| {
            let (a, x, mut y) = (matrix(n), Mat::from_fn(n, 1, |_, _| 0.5_f32), Mat::zeros(n, 1));
            seconds(|| matmul(y.as_mut(), Accum::Replace, black_box(&a), black_box(&x), 1.0, Par::Seq))
        });
        series("products", "syrk", "faer", sides, |n| {
            let (a, mut c) = (matrix(n), matrix(n));
            let (all, lower) = (triangular::BlockStructure::Rectangular, triangular::BlockStructure::TriangularLower);
            seconds(|| {
                let a = black_box(&a);
                triangular::matmul(c.as_mut(), lower, Accum::Replace, a, all, a.transpose(), all, 1.0, Par::Seq);
            })
        });
    }

    fn of_nalgebra(sides: &[usize]) {
        let matrix = |n| DMatrix::from_fn(n, n, |r, c| element(r, c) as f32);
        series("products", "gemm", "nalgebra", sides, |n| {
            let (a, b, mut c) = (matrix(n), matrix(n), matrix(n));
            seconds(|| c.gemm(1.0, black_box(&a), black_box(&b), 0.0))
        });
        series("products", "gemv", "nalgebra", sides, |n| {
            let (a, x, mut y) = (matrix(n), DVector::from_element(n, 0.5_f32), DVector::zeros(n));
            seconds(|| y.gemv(1.0, black_box(&a), black_box(&x), 0.0))
        });
    }

    fn of_ndarray(sides: &[usize]) {
        let matrix = |n| Array2::from_shape_fn((n, n), |(r, c)| element(r, c) as f32);
        series("products", "gemm", "ndarray", sides, |n| {
            let (a, b, mut c) = (matrix(n), matrix(n), matrix(n));
            seconds(|| general_mat_mul(1.0, black_box(&a), black_box(&b), 0.0, &mut c))
        });
        series("products", "gemv", "ndarray", sides, |n| {
            let (a, x, mut y) = (matrix(n), Array1::from_elem(n, 0.5_f32), Array1::zeros(n));
            seconds(|| general_mat_vec_mul(1.0, black_box(&a), black_box(&x), 0.0, &mut y))
        });
    }
}

fn print_tables(times: &Times, wanted: &dyn Fn(&str) -> bool) {
    let all = ["openblas", "pure", "faer", "nalgebra", "ndarray"];
    if wanted("products") {
        println!("\nProducts of n x n matrices in `f32`, Gflop/s:\n");
        print_table(times, "products", &all, |operation, n, seconds| {
            let n = n as f64;
            let flop = match operation {
                "gemm" => 2.0 * n * n * n,
                "syrk" => n * n * (n + 1.0),
                _ => 2.0 * n * n,
            };
            format!("{:.1}", flop / seconds / 1e9)
        });
    }
    if wanted("decompositions") {
        println!("\nDecompositions of n x n matrices in `f64`, ms:\n");
        print_table(times, "decompositions", &all[..4], |_, _, seconds| format!("{:.3}", seconds * 1e3));
    }
    if wanted("inverses") {
        println!("\nInverses and eigenvalues of n x n matrices in `f64`, ms:\n");
        print_table(times, "inverses", &all[..2], |_, _, seconds| format!("{:.4}", seconds * 1e3));
    }
    if wanted("rows") {
        println!("\nAn n x n matrix and a vector in `f32`, 10⁹ additions per second:\n");
        print_table(times, "rows", &["ours", "loop", "Kaldi"], |_, n, seconds| {
            format!("{:.2}", (n * n) as f64 / seconds / 1e9)
        });
    }
    if wanted("calls") {
        println!("\nCalls with n x n matrices on OpenBLAS, ns:\n");
        print_table(times, "calls", &["ours", "bare"], |_, _, seconds| format!("{:.1}", seconds * 1e9));
    }
}

fn print_table(times: &Times, table: &str, columns: &[&str], cell: impl Fn(&str, usize, f64) -> String) {
    println!("| | n | {} |\n|---|--:|{}", columns.join(" | "), "--:|".repeat(columns.len()));
    let mut lines: Vec<(&String, usize)> =
        times.keys().filter(|key| key.0 == table).map(|(_, operation, n, _)| (operation, *n)).collect();
    lines.dedup();
    for (operation, n) in lines {
        let cells = columns.iter().map(|&column| {
            let recorded = || {
                let figures = KALDI.iter().find(|(name, _)| column == "Kaldi" && name == operation)?.1;
                figures.iter().find(|(side, _)| *side == n).map(|(_, figure)| format!("{figure:.2}"))
            };
            let measured = times.get(&(table.into(), operation.clone(), n, column.into()));
            measured.map(|&seconds| cell(operation, n, seconds)).or_else(recorded).unwrap_or("-".into())
        });
        println!("| {operation} | {n} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}
