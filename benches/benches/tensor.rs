//! Slices and transposes of `tensor-strided` as views and as copies, in useful bytes, beside a
//! plain copy of memory.
//!
//! ```text
//! RAYON_NUM_THREADS=1 cargo bench -p kaldera-benches --bench tensor        # one thread, as the peers are
//! cargo bench -p kaldera-benches --bench tensor -- transpose               # a name, or a part of one
//! ```
//!
//! The large input is 256 MiB, [512, 512, 256] of `f32`; the small one has the shape [6, 3, 4, 10].
//! Beside NumPy, TensorFlow and ndarray, the same cases run in `benches/peers/tensor.py`.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kaldera_benches::tensor::{COORDINATES, Case, coordinates, large, small};

const LARGE: [&str; 22] = [
    "memcpy",
    "[:]",
    "[1:-1,1:-1,:]",
    "[:,:,3:-5]",
    "[:,:,::2]",
    "[:,::2,:]",
    "[::2,::2,::2]",
    "[:,:,::3]",
    "[:,:,::-1]",
    "[::-1,::-1,::-1]",
    "transpose 2,1,0",
    "transpose 0,2,1",
    "transpose 1,0,2",
    "transpose 2,0,1",
    "[:,:,7]",
    "[:,7,:]",
    "[:,None,:,None,::2]",
    "grad [:,:,::2]",
    "grad [::2,::2,::2]",
    "grad [::-1,::-1,::-1]",
    "fresh [:]",
    "fresh [:,:,::2]",
];

const SMALL: [&str; 6] = [
    "view x[None, 0:2, 2]",
    "spec and view x[None, 0:2, 2]",
    "copy x[None, 0:2, 2]",
    "copy into x[None, 0:2, 2]",
    "copy x[::2, :, ::-1, ::2]",
    "copy into x[::2, :, ::-1, ::2]",
];

fn bench(criterion: &mut Criterion, group: &str, names: &[&str], find: impl Fn(&str) -> Option<Case>) {
    let mut group = criterion.benchmark_group(group);
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for name in names {
        let mut case = find(name).expect("a case of this name");
        if case.bytes > 0 {
            group.throughput(Throughput::Bytes(case.bytes as u64));
        }
        group.bench_function(*name, |bencher| {
            bencher.iter_custom(|times| {
                let start = Instant::now();
                (case.run)(usize::try_from(times).expect("as many as a loop can count"));
                start.elapsed()
            });
        });
    }
}

fn large_copies(criterion: &mut Criterion) {
    bench(criterion, "large", &LARGE, large);
}

fn small_tensors(criterion: &mut Criterion) {
    bench(criterion, "small", &SMALL, small);
}

fn ten_million_coordinates(criterion: &mut Criterion) {
    assert_eq!(COORDINATES, 10_000_000);
    bench(criterion, "ten million", &["offsets to coordinates", "coordinates to offsets"], coordinates);
}

criterion_group!(benches, large_copies, small_tensors, ten_million_coordinates);
criterion_main!(benches);
