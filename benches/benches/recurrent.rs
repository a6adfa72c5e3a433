//! Recurrent networks of one layer and of two, forward and backward.
//!
//! ```text
//! RAYON_NUM_THREADS=1 cargo bench -p kaldera-benches --bench recurrent
//! RAYON_NUM_THREADS=2 cargo bench -p kaldera-benches --bench recurrent
//! ```
//!
//! The throughput is in frames that are no padding. The peers are in `benches/peers/recurrent.py`.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kaldera_benches::recurrent::{LENGTHS, case};

/// A pass takes some tenths of a second, so that few samples must do.
const SAMPLES: usize = 10;
const TIME: Duration = Duration::from_secs(10);

fn passes(c: &mut Criterion) {
    let mut group = c.benchmark_group("recurrent");
    let frames = LENGTHS.iter().map(|&length| length as u64).sum();
    group.sample_size(SAMPLES).measurement_time(TIME).throughput(Throughput::Elements(frames));
    for cell in ["lstm", "gru"] {
        for layers in [1, 2] {
            for kind in ["forward", "forward+backward"] {
                let name = format!("{cell} {layers} {kind}");
                let Some(mut once) = case(&name) else { continue };
                group.bench_function(&name, |b| b.iter(&mut once));
            }
        }
    }
}

criterion_group!(benches, passes);
criterion_main!(benches);
