//! What is measured of `fsa` beside k2.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use fsa::graphs::ctc_topo;
use fsa::k2::{
    Epsilons, WeightPushing, arc_sort, connect, determinize, intersect, invert, linear_fsas, remove_epsilon, top_sort,
};
use fsa::{FsaVec, Semiring, io, paths};

use super::{symbols, top_sorted, unsorted, with_epsilons, word_trie};

/// One run of an operation, and how many seconds it took.
pub type Case = Box<dyn FnMut() -> f64>;

/// A name, and what makes the input of this name.
type Input = (&'static str, fn() -> FsaVec);

const INPUTS: [Input; 7] = [
    ("unsorted", unsorted),
    ("connected", || connect(&unsorted()).expect("valid FSAs").0),
    ("top_sorted", top_sorted),
    ("with_epsilons", with_epsilons),
    ("word_trie", || word_trie().into_vec()),
    ("topology", || {
        let (topology, _) = ctc_topo(499, false).and_then(|topology| invert(&topology)).expect("small");
        arc_sort(&topology.into_parts().0.into_vec()).expect("small").0
    }),
    ("transcripts", || linear_fsas(&symbols()).expect("tokens")),
];

fn input(name: &str) -> FsaVec {
    INPUTS.iter().find(|(of_input, _)| *of_input == name).expect("one of the inputs").1()
}

/// Writes all inputs into this folder, as `NAME.i32`: the numbers of k2's tensor of an `FsaVec`,
/// the lowest byte first.
///
/// # Errors
/// Those of writing.
pub fn write_inputs(folder: &Path) -> std::io::Result<()> {
    for (name, make) in INPUTS {
        let tensor = io::fsa_vec_to_tensor(&make()).expect("inputs that k2 can hold");
        let bytes: Vec<u8> = tensor.iter().flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(folder.join(name).with_extension("i32"), bytes)?;
    }
    Ok(())
}

/// The same FSAs in the same memory, with nothing known of them.
pub fn fresh(fsas: &FsaVec) -> FsaVec {
    FsaVec::new(fsas.as_ragged().clone()).expect("they were valid before")
}

/// `run` on FSAs of which nothing is known, and which are there before time is taken.
fn cold<T>(name: &str, run: impl Fn(&FsaVec) -> T + 'static) -> Case {
    let fsas = input(name);
    Box::new(move || {
        let fsas = fresh(&fsas);
        let start = Instant::now();
        let result = black_box(run(&fsas));
        let seconds = start.elapsed().as_secs_f64();
        drop(result);
        seconds
    })
}

/// The operation of this name, if there is one.
pub fn case(name: &str) -> Option<Case> {
    Some(match name {
        "construct" => cold("unsorted", |fsas| fresh(fsas).properties()),
        "arc_sort" => cold("unsorted", arc_sort),
        "connect" => cold("unsorted", connect),
        "top_sort" => cold("connected", top_sort),
        "total_log" => cold("top_sorted", |fsas| paths::total_scores::<f64, _>(fsas, Semiring::Log)),
        "total_tropical" => cold("top_sorted", |fsas| paths::total_scores::<f64, _>(fsas, Semiring::Tropical)),
        "gradient" => cold("top_sorted", |fsas| {
            let (totals, saved) = paths::total_scores_saved::<f64, _>(fsas, Semiring::Log).expect("sorted FSAs");
            saved.backward(&totals)
        }),
        "posteriors" => cold("top_sorted", |fsas| paths::arc_posteriors::<f64, _>(fsas, Semiring::Log)),
        "shortest_path" => cold("top_sorted", paths::shortest_path),
        "random_paths" => cold("top_sorted", |fsas| paths::random_paths(fsas, 100)),
        "remove_epsilon" => cold("with_epsilons", remove_epsilon),
        "determinize" => cold("word_trie", |fsas| determinize(fsas, WeightPushing::No.into())),
        "intersect" => {
            let topology = input("topology");
            cold("transcripts", move |transcripts| intersect(&topology, transcripts, Epsilons::Sequenced.into()))
        }
        _ => return None,
    })
}
