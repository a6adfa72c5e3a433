//! The operations of `ragged-core`, in bytes that each must at least touch, beside a plain copy of
//! memory.
//!
//! ```text
//! RAYON_NUM_THREADS=1 cargo bench -p kaldera-benches --bench ragged        # one thread, as k2's figures are
//! cargo bench -p kaldera-benches --bench ragged -- "long rows"             # a name, or the beginning of one
//! ```
//!
//! The sizes are those of k2's figures: 10 M ids of 1 M rows, and 5 M values in 500 k rows of
//! geometric lengths, a tenth of them empty. *Long rows* hold 64 elements and more.

use std::hint::black_box;
use std::time::Duration;

use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use kaldera::ragged::{Order, PadMode, PadSide, Ragged, RowSplits};
use kaldera_benches::ragged::{floats, integers, long_rows, permutation, quarters, repeated, short_rows};

fn cases() -> [(&'static str, Ragged<f32>); 2] {
    [("short rows", floats(short_rows(500_000))), ("long rows", floats(long_rows(39_000)))]
}

fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    group
}

/// Numbers of four bytes that are read or written.
fn words(count: usize) -> Throughput {
    Throughput::Bytes(4 * count as u64)
}

fn copy(criterion: &mut Criterion) {
    let mut group = group(criterion, "copy");
    for count in [5_000_000, 10_000_000] {
        let (from, mut to) = (vec![1_i32; count], vec![0_i32; count]);
        group.throughput(words(2 * count));
        group.bench_function(format!("{} M words", count / 1_000_000), |bencher| {
            bencher.iter(|| black_box(&mut to).copy_from_slice(black_box(&from)));
        });
    }
}

fn splits_and_ids(criterion: &mut Criterion) {
    let mut group = group(criterion, "splits and ids");
    let splits = short_rows(1_000_000);
    let ids = splits.to_row_ids();
    group.throughput(words(splits.num_rows() + ids.len()));
    let mut warm = ids.clone();
    group.bench_function("splits -> ids, 10 M, into warm memory", |bencher| {
        bencher.iter(|| black_box(&splits).row_ids_into(black_box(&mut warm)).unwrap());
    });
    group.bench_function("splits -> ids, 10 M", |bencher| bencher.iter(|| black_box(&splits).to_row_ids()));
    group.bench_function("ids -> splits, 10 M", |bencher| {
        bencher.iter(|| RowSplits::from_row_ids(black_box(&ids), splits.num_rows()).unwrap());
    });
}

fn reduce(criterion: &mut Criterion) {
    let mut group = group(criterion, "reduce");
    for (name, ragged) in cases() {
        group.throughput(words(ragged.num_elements() + 2 * ragged.num_rows()));
        group.bench_function(format!("sum, {name}"), |bencher| bencher.iter(|| black_box(&ragged).sum()));
        // What k2 runs on a CPU: it tells how this machine, at this moment, compares with the one
        // of k2's figures.
        let splits = ragged.shape().row_splits(1);
        let plain = |row: std::ops::Range<usize>| ragged.values()[row].iter().sum();
        group.bench_function(format!("sum, plain loop, {name}"), |bencher| {
            bencher.iter(|| black_box(splits).rows().map(plain).collect::<Vec<f32>>());
        });
        group.bench_function(format!("max, {name}"), |bencher| bencher.iter(|| black_box(&ragged).max()));
        group.bench_function(format!("argmax, {name}"), |bencher| bencher.iter(|| black_box(&ragged).argmax()));
        group.bench_function(format!("logsumexp, {name}"), |bencher| {
            bencher.iter(|| black_box(&ragged).logsumexp());
        });
        let bytes = ragged.map(|x| (12.0 * (x + 10.0)) as u8);
        group.throughput(Throughput::Bytes((bytes.num_elements() + 8 * bytes.num_rows()) as u64));
        group.bench_function(format!("argmax of u8, {name}"), |bencher| bencher.iter(|| black_box(&bytes).argmax()));
        group.throughput(words(2 * ragged.num_elements() + ragged.num_rows()));
        group.bench_function(format!("normalize, {name}"), |bencher| {
            bencher.iter(|| black_box(&ragged).normalize_log())
        });
    }
}

fn sort(criterion: &mut Criterion) {
    let mut group = group(criterion, "sort");
    for (name, ragged) in cases() {
        let fresh = || {
            let mut copy = ragged.clone();
            copy.values_mut();
            copy
        };
        group.throughput(words(2 * ragged.num_elements() + ragged.num_rows()));
        group.bench_function(format!("sort, {name}"), |bencher| {
            bencher.iter_batched_ref(fresh, |copy| copy.sort(Order::Ascending), BatchSize::PerIteration);
        });
        group.throughput(words(3 * ragged.num_elements() + ragged.num_rows()));
        group.bench_function(format!("sort with map, {name}"), |bencher| {
            bencher.iter_batched_ref(fresh, |copy| copy.sort_with_map(Order::Ascending), BatchSize::PerIteration);
        });
    }
}

fn gather(criterion: &mut Criterion) {
    let mut group = group(criterion, "gather");
    for (name, ragged) in cases() {
        let (values, rows) = (ragged.num_elements(), ragged.num_rows());
        let order = permutation(rows);
        group.throughput(words(3 * values + 3 * rows));
        group.bench_function(format!("index by all rows with map, {name}"), |bencher| {
            bencher.iter(|| black_box(&ragged).index(0, &order).unwrap());
        });
        group.throughput(words(2 * values + 3 * rows));
        group.bench_function(format!("select all rows, {name}"), |bencher| {
            bencher.iter(|| black_box(&ragged).select(0, &order).unwrap());
        });
        let mut selected = ragged.select(0, &order).unwrap();
        group.bench_function(format!("select all rows into warm memory, {name}"), |bencher| {
            bencher.iter(|| black_box(&ragged).select_into(0, &order, black_box(&mut selected)).unwrap());
        });
        group.throughput(words(2 * values + 2 * rows));
        group.bench_function(format!("remove_values_leq, {name}"), |bencher| {
            bencher.iter(|| black_box(&ragged).remove_values_leq(0.0));
        });
        let quarters = quarters(&ragged);
        group.bench_function(format!("cat of four, {name}"), |bencher| {
            bencher.iter(|| Ragged::cat(0, black_box(&quarters)).unwrap());
        });
        let (lines, columns) = ragged.padded_size().unwrap();
        let mut dense = vec![0.0; lines * columns];
        group.throughput(words(values + rows + dense.len()));
        group.bench_function(format!("pad into warm memory, {name}"), |bencher| {
            bencher.iter(|| ragged.pad_into(PadMode::Constant, PadSide::Right, 0.0, black_box(&mut dense)).unwrap());
        });
    }
}

fn unique(criterion: &mut Criterion) {
    let mut group = group(criterion, "unique");
    for (name, ragged) in cases() {
        let distinct = integers(&ragged);
        let repeated = repeated(&distinct);
        group.throughput(words(repeated.num_elements() + repeated.num_rows()));
        group.bench_function(format!("lists that repeat, {name}"), |bencher| {
            bencher.iter(|| black_box(&repeated).unique());
        });
        group.throughput(words(2 * distinct.num_elements() + 2 * distinct.num_rows()));
        group.bench_function(format!("lists that differ, {name}"), |bencher| {
            bencher.iter(|| black_box(&distinct).unique());
        });
    }
}

/// Few short rows, where nothing may cost more than the plain loop that someone would write.
fn small(criterion: &mut Criterion) {
    let mut group = group(criterion, "small");
    for rows in [4, 64] {
        let ragged = floats(short_rows(rows));
        let (splits, values) = (ragged.shape().row_splits(1).as_ref().to_vec(), ragged.values().to_vec());
        let lists = || splits.windows(2).map(|ends| &values[ends[0] as usize..ends[1] as usize]);
        group.bench_function(format!("sum, {rows} rows"), |bencher| bencher.iter(|| black_box(&ragged).sum()));
        group.bench_function(format!("sum, {rows} rows, plain loop"), |bencher| {
            bencher.iter(|| black_box(lists()).map(|row| row.iter().sum()).collect::<Vec<f32>>());
        });
        group.bench_function(format!("max, {rows} rows"), |bencher| bencher.iter(|| black_box(&ragged).max()));
        group.bench_function(format!("max, {rows} rows, plain loop"), |bencher| {
            let max = |row: &[f32]| row.iter().fold(f32::MIN, |a, &x| a.max(x));
            bencher.iter(|| black_box(lists()).map(max).collect::<Vec<f32>>());
        });
        let ids = ragged.shape().row_ids(1).to_vec();
        group.bench_function(format!("ids -> splits, {rows} rows"), |bencher| {
            bencher.iter(|| RowSplits::from_row_ids(black_box(&ids), rows).unwrap());
        });
        group.bench_function(format!("ids -> splits, {rows} rows, plain loop"), |bencher| {
            bencher.iter(|| {
                let mut splits = vec![0; rows + 1];
                black_box(&ids).iter().for_each(|&id| splits[id as usize + 1] += 1);
                (1..=rows).for_each(|i| splits[i] += splits[i - 1]);
                splits
            });
        });
        group.bench_function(format!("splits -> ids, {rows} rows"), |bencher| {
            bencher.iter(|| black_box(ragged.shape().row_splits(1)).to_row_ids());
        });
        group.bench_function(format!("splits -> ids, {rows} rows, plain loop"), |bencher| {
            bencher.iter(|| {
                let rows = (0..).zip(black_box(&splits).windows(2));
                rows.flat_map(|(row, ends)| std::iter::repeat_n(row, (ends[1] - ends[0]) as usize))
                    .collect::<Vec<i32>>()
            });
        });
        let order = permutation(rows);
        group.bench_function(format!("select, {rows} rows"), |bencher| {
            bencher.iter(|| black_box(&ragged).select(0, &order).unwrap());
        });
        group.bench_function(format!("select, {rows} rows, plain loop"), |bencher| {
            bencher.iter(|| {
                let (mut new_splits, mut new_values) = (vec![0], Vec::with_capacity(values.len()));
                for &row in black_box(&order) {
                    let row = splits[row as usize] as usize..splits[row as usize + 1] as usize;
                    new_values.extend_from_slice(&values[row]);
                    new_splits.push(new_values.len() as i32);
                }
                (new_splits, new_values)
            });
        });
    }
}

criterion_group!(benches, copy, splits_and_ids, reduce, sort, gather, unique, small);
criterion_main!(benches);
