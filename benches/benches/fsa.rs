//! The operations of `fsa` on batches shaped as those of k2's figures.
//!
//! ```text
//! RAYON_NUM_THREADS=1 cargo bench -p kaldera-benches --bench fsa               # one thread, as k2's figures are
//! RAYON_NUM_THREADS=2 cargo bench -p kaldera-benches --bench fsa -- determinize
//! ```
//!
//! All is measured cold: an FSA remembers its properties and entering arcs, so that each round
//! takes a fresh one. OpenFst and others beside ours, on a lexicon and a language model:
//! `benches/peers/fst.py`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use fsa::graphs::{CtcTopology, ctc_topo};
use fsa::k2::{
    Epsilons, WeightPushing, arc_sort, connect, determinize, intersect, invert, linear_fsas, remove_epsilon, top_sort,
};
use fsa::{FsaVec, Fsas, Graph, GraphLabels, Limits, Semiring, paths};
use kaldera_benches::fsa::{self as inputs, fresh};

fn group(criterion: &mut Criterion) -> BenchmarkGroup<'_, WallTime> {
    let mut group = criterion.benchmark_group("fsa");
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    group
}

/// One operation on fresh FSAs.
fn bench<T>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, fsas: &FsaVec, mut run: impl FnMut(&FsaVec) -> T) {
    group.bench_function(name, |bencher| {
        bencher.iter_batched_ref(|| fresh(fsas), |fsas| black_box(run(fsas)), BatchSize::PerIteration);
    });
}

fn bench_properties(criterion: &mut Criterion) {
    let fsas = inputs::unsorted();
    let mut group = group(criterion);
    bench(&mut group, "construct and properties, 1 M arcs", &fsas, |fsas| fresh(fsas).properties());
    bench(&mut group, "entering arcs, 1 M arcs", &fsas, |fsas| fsas.entering_arcs().num_elements());
}

fn bench_order(criterion: &mut Criterion) {
    let fsas = inputs::unsorted();
    let mut group = group(criterion);
    bench(&mut group, "arc_sort, 1 M arcs", &fsas, arc_sort);
    bench(&mut group, "connect, 1 M arcs", &fsas, connect);
    let (connected, _) = connect(&fsas).expect("valid FSAs");
    bench(&mut group, "top_sort, 1 M arcs", &connected, top_sort);
}

fn bench_scores(criterion: &mut Criterion) {
    let fsas = inputs::top_sorted();
    let mut group = group(criterion);
    for semiring in [Semiring::Log, Semiring::Tropical] {
        let name = |what: &str, real: &str| format!("{what} {semiring:?} {real}, 1 M arcs");
        bench(&mut group, &name("total scores", "f32"), &fsas, |fsas| paths::total_scores::<f32, _>(fsas, semiring));
        bench(&mut group, &name("total scores", "f64"), &fsas, |fsas| paths::total_scores::<f64, _>(fsas, semiring));
        bench(&mut group, &name("posteriors", "f64"), &fsas, |fsas| paths::arc_posteriors::<f64, _>(fsas, semiring));
        bench(&mut group, &name("total scores and gradient", "f64"), &fsas, |fsas| {
            let (totals, saved) = paths::total_scores_saved::<f64, _>(fsas, semiring).expect("sorted FSAs");
            saved.backward(&totals)
        });
    }
    bench(&mut group, "shortest path, 1 M arcs", &fsas, paths::shortest_path);
    bench(&mut group, "100 best paths, 1 M arcs", &fsas, |fsas| paths::n_best_paths(fsas, 100));
    bench(&mut group, "100 random paths, 1 M arcs", &fsas, |fsas| paths::random_paths(fsas, 100));
}

fn bench_epsilons(criterion: &mut Criterion) {
    let mut group = group(criterion);
    bench(&mut group, "remove_epsilon, 200 k arcs", &inputs::with_epsilons(), remove_epsilon);
}

fn bench_determinize(criterion: &mut Criterion) {
    let mut group = group(criterion);
    bench(&mut group, "determinize, 20,000 words of 8", inputs::word_trie().as_fsa_vec(), |fsas| {
        determinize(fsas, WeightPushing::No.into())
    });
}

fn bench_ctc(criterion: &mut Criterion) {
    let mut group = group(criterion);
    let topology = ctc_topo(499, false).and_then(|topology| invert(&topology)).expect("small").0;
    let (topology, _) = arc_sort(&topology.into_parts().0.into_vec()).expect("small");
    let transcripts = linear_fsas(&inputs::symbols()).expect("tokens");
    bench(&mut group, "ctc_topo of 499 tokens o 64 transcripts", &transcripts, |transcripts| {
        intersect(&topology, transcripts, Epsilons::Sequenced.into())
    });
    let implicit = CtcTopology::new(499, false).expect("small");
    let first = Graph::new(transcripts.get(0).expect("64 of them"));
    group.bench_function("implicit ctc_topo of 499 tokens o 1 transcript", |bencher| {
        bencher.iter(|| black_box(implicit.compose(&first, GraphLabels::Class, None, Limits::default())));
    });
}

criterion_group!(benches, bench_properties, bench_order, bench_scores, bench_epsilons, bench_determinize, bench_ctc);
criterion_main!(benches);
