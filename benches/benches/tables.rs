//! Tables on a file system in memory: how fast archives are copied, beside a bare copy of their
//! bytes, and what shapes and single matrices cost.
//!
//! `KALDERA_BENCH_DIR` says where the archives lie, `/dev/shm` without it. Each has 64 MiB.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kaldera::io::table::{IndexedArchive, RandomAccessReader, SequentialReader, TableWriter};
use kaldera::matrix::codec::MatrixHeader;
use kaldera::matrix::{CompressedMatrix, CompressionMethod, Matrix};

/// Bytes of elements in an archive.
const BYTES: usize = 64 << 20;
const COLS: usize = 80;
/// Frames of a matrix: an utterance of ten seconds, and a short word.
const ROWS: [usize; 2] = [1000, 20];

fn folder() -> PathBuf {
    let folder = std::env::var_os("KALDERA_BENCH_DIR").map_or_else(|| PathBuf::from("/dev/shm"), PathBuf::from);
    folder.join(format!("kaldera-bench-tables-{}", std::process::id()))
}

fn matrix(rows: usize) -> Matrix<f32> {
    Matrix::from_fn(rows, COLS, |row, col| ((row * 31 + col * 7) % 1000) as f32 / 50.0 - 10.0)
}

fn write_archive(archive: &Path, script: &Path, rows: usize) -> usize {
    let matrix = matrix(rows);
    let count = BYTES / (4 * rows * COLS);
    let mut writer = TableWriter::to_archive_and_script(archive, script).expect("an archive");
    (0..count).for_each(|i| writer.write(&format!("utterance-{i:06}"), &matrix).expect("a matrix"));
    writer.close().expect("an archive");
    count
}

/// What a copy costs that knows nothing of archives.
fn copy_bytes(from: &Path, to: &Path) {
    let (mut from, mut to) = (File::open(from).expect("an archive"), File::create(to).expect("a file"));
    let mut buffer = vec![0; 1 << 18];
    loop {
        match from.read(&mut buffer).expect("bytes") {
            0 => return,
            len => to.write_all(&buffer[..len]).expect("bytes"),
        }
    }
}

fn copy_table(from: &Path, to: &Path, flush: bool) {
    let writer = TableWriter::<Matrix<f32>>::to_archive(to).expect("a file");
    let mut writer = if flush { writer } else { writer.unflushed() };
    for entry in SequentialReader::from_archive(from).expect("an archive") {
        let (key, matrix) = entry.expect("a matrix");
        writer.write(&key, &matrix).expect("a matrix");
    }
    writer.close().expect("a file");
}

fn tables(c: &mut Criterion) {
    let folder = folder();
    std::fs::create_dir_all(&folder).expect("a folder in memory");
    let [archive, script, copy] = ["feats.ark", "feats.scp", "copy.ark"].map(|name| folder.join(name));
    for rows in ROWS {
        let count = write_archive(&archive, &script, rows);
        let mut group = c.benchmark_group(format!("tables of {rows} x {COLS}"));
        group.sample_size(10);
        group.throughput(Throughput::Bytes(std::fs::metadata(&archive).expect("an archive").len()));
        group.bench_function("copy, bare bytes", |b| b.iter(|| copy_bytes(&archive, &copy)));
        for (name, flush) in [("each object flushed", true), ("unflushed", false)] {
            let id = BenchmarkId::new("copy", name);
            group.bench_function(id, |b| b.iter(|| copy_table(&archive, &copy, flush)));
        }
        group.bench_function("read", |b| {
            b.iter(|| SequentialReader::<Matrix<f32>>::from_archive(&archive).expect("an archive").count());
        });
        group.bench_function("shapes, skipping", |b| {
            b.iter(|| SequentialReader::<MatrixHeader>::from_archive(&archive).expect("an archive").count());
        });
        group.bench_function("index of the mapped file", |b| {
            b.iter(|| {
                // SAFETY: nobody else knows the file.
                let archive: IndexedArchive<Matrix<f32>> =
                    unsafe { IndexedArchive::map(&archive) }.expect("an archive");
                assert_eq!(black_box(archive.len()), count);
            });
        });
        group.bench_function("script, each matrix at its offset", |b| {
            b.iter(|| {
                let mut reader = RandomAccessReader::<Matrix<f32>>::from_script(&script).expect("a script");
                // Backwards, so that no order helps.
                for i in (0..count).rev() {
                    black_box(reader.value(&format!("utterance-{i:06}")).expect("a matrix"));
                }
            });
        });
        group.finish();
    }
    let matrix = matrix(ROWS[0]);
    let mut group = c.benchmark_group("compression");
    group.throughput(Throughput::Bytes((4 * ROWS[0] * COLS) as u64));
    for method in [CompressionMethod::SpeechFeature, CompressionMethod::TwoByteAuto, CompressionMethod::OneByteAuto] {
        let compressed = CompressedMatrix::new(&matrix, method).expect("numbers");
        group.bench_function(BenchmarkId::new("compress", format!("{method:?}")), |b| {
            b.iter(|| CompressedMatrix::new(black_box(&matrix), method).expect("numbers"));
        });
        group.bench_function(BenchmarkId::new("decompress", format!("{method:?}")), |b| {
            b.iter(|| black_box(&compressed).to_matrix::<f32>());
        });
    }
    group.finish();
    std::fs::remove_dir_all(&folder).expect("our folder");
}

criterion_group!(benches, tables);
criterion_main!(benches);
