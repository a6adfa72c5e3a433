//! Kaldi's lattices: both kinds, both forms, and damaged ones.

use std::fs;
use std::path::Path;

use kaldera_fuzz::fuzz;
use kaldi_io::lattice::{CompactLattice, CompactLatticeWeight, Lattice, LatticeArc, LatticeState, LatticeWeight};
use kaldi_io::{Holder, SequentialReader};
use proptest::prelude::*;

use crate::fuzz::input;

fn written<T: Holder>(object: &T, binary: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    object.write(&mut bytes, binary).unwrap();
    bytes
}

fn read<T: Holder>(mut bytes: &[u8]) -> T {
    T::read(&mut bytes).unwrap()
}

const TEXT: &str = "\n0\t1\t2\t0.01,3.02,11_14\n0\t2\t0\n1\t2\t1\t2.19,-5.43,20_13\n1\n2\t0.47,0.52,9\n\n";

#[test]
fn text_and_binary_hold_the_same() {
    let lattice: CompactLattice = read(TEXT.as_bytes());
    assert_eq!((lattice.start(), lattice.states().len(), lattice.num_arcs()), (Some(0), 3, 3));
    assert_eq!(lattice.states()[1].final_weight, Some(CompactLatticeWeight::default()));
    assert_eq!(lattice.states()[0].arcs[0].weight.alignment, [11, 14]);
    assert_eq!(String::from_utf8(written(&lattice, false)).unwrap(), TEXT);
    assert_eq!(read::<CompactLattice>(&written(&lattice, true)), lattice);
}

#[test]
fn either_kind_is_read_as_either() {
    let compact: CompactLattice = read(TEXT.as_bytes());
    let plain: Lattice = read(TEXT.as_bytes());
    assert_eq!(Lattice::from(&compact), plain);
    // Two identifiers more, and one for the final weight with a state to end in.
    assert_eq!((plain.states().len(), plain.num_arcs()), (6, 6));
    let text = String::from_utf8(written(&plain, false)).unwrap();
    assert!(text.starts_with("\n0\t3\t11\t2\t0.01,3.02\n0\t2\t0\t0\n1\t4\t20\t1\t2.19,-5.43\n1\n"), "{text}");
    for binary in [false, true] {
        assert_eq!(read::<Lattice>(&written(&plain, binary)), plain);
        let again: CompactLattice = read(&written(&plain, binary));
        // The identifier of the final weight is on an arc without a word.
        assert_eq!((again.states().len(), again.num_arcs()), (4, 4));
        let scores = |lattice: &CompactLattice| {
            let lattice = fsa::lattice::Lattice::try_from(lattice).unwrap();
            (lattice.total_scores()[0] * 1e4).round()
        };
        assert_eq!(scores(&again), scores(&compact));
    }
}

#[test]
fn numbers_of_states_and_the_start_are_kept() {
    let text = "\n3\t1\t5\t1,2,7\n1\t0.5,0,\n\n";
    let lattice: CompactLattice = read(text.as_bytes());
    assert_eq!((lattice.start(), lattice.states().len()), (Some(3), 4));
    assert_eq!(String::from_utf8(written(&lattice, false)).unwrap(), text);
    let scores = fsa::lattice::Lattice::try_from(&lattice).unwrap();
    let best = scores.best_path(0).unwrap().unwrap();
    assert_eq!((best.score(), best.words, best.alignment), (-3.5, vec![5], vec![7]));
    let back = CompactLattice::from_fsa(&scores, 0).unwrap();
    assert_eq!((back.start(), back.num_arcs()), (Some(0), 1));
    assert_eq!(CompactLattice::from_fsa(&scores, 1), None);
}

#[test]
fn an_empty_lattice_is_one() {
    let empty = CompactLattice::default();
    for binary in [false, true] {
        assert_eq!(read::<CompactLattice>(&written(&empty, binary)), empty);
    }
    let scores = fsa::lattice::Lattice::try_from(&empty).unwrap();
    assert_eq!(scores.best_path(0).unwrap(), None);
    assert_eq!(CompactLattice::from_fsa(&scores, 0).unwrap(), empty);
}

#[test]
fn archives_mix_forms() {
    let lattice: CompactLattice = read(TEXT.as_bytes());
    let mut bytes = format!("a {TEXT}b ").into_bytes();
    bytes.extend(written(&lattice, true));
    bytes.extend(format!("c{TEXT}").into_bytes());
    let reader = SequentialReader::<CompactLattice>::from_archive_input(input(&bytes)).unwrap();
    let all: Vec<_> = reader.map(|entry| entry.unwrap()).collect();
    assert_eq!(all, ["a", "b", "c"].map(|key| (key.to_owned(), lattice.clone())));
}

#[test]
fn costs_are_scaled_by_a_matrix() {
    let mut lattice: CompactLattice = read("\n0\t1\t2\t1,10,3\n1\tInfinity,4,\n\n".as_bytes());
    lattice.scale([[2.0, 0.5], [0.0, 0.1]]);
    assert_eq!(lattice.states()[0].arcs[0].weight.weight, LatticeWeight::new(7.0, 1.0));
    assert_eq!(lattice.states()[1].final_weight.as_ref().unwrap().weight, LatticeWeight::new(f32::INFINITY, 0.4));
}

#[test]
fn damage_is_told_with_its_place() {
    let error = |mut bytes: &[u8]| CompactLattice::read(&mut bytes).unwrap_err().to_string();
    let good = written(&read::<CompactLattice>(TEXT.as_bytes()), true);
    for end in 0..good.len() {
        assert!(error(&good[..end]).contains("at byte"), "{end}");
    }
    let with = |at: usize, bytes: &[u8]| {
        let mut damaged = good.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        error(&damaged)
    };
    assert!(with(8, b"konst!").contains("expected a lattice of OpenFst's type `vector`, found `konst!`"));
    assert!(with(18, b"compactlattice99").contains("`compactlattice99`"));
    assert!(with(38, &3_i32.to_le_bytes()).contains("tables of symbols"));
    assert!(with(50, &9_i64.to_le_bytes()).contains("a start state among them"));
    assert!(with(58, &i64::MAX.to_le_bytes()).contains("found the end"));
    assert!(with(58, &(-1_i64).to_le_bytes()).contains("the number of states"));
    assert!(with(58, &1_i64.to_le_bytes()).contains("a state that there is"));
    for (text, expected) in [
        ("0 1 2\n", "the end of the line after the key"),
        ("\n0 1 2 x\n\n", "at byte 1: expected an arc"),
        ("\n0 1 2 1,2,3_x\n\n", "expected an arc"),
        ("\n0 1 2 1,2,3\n0 1 2 3 1,2\n\n", "at byte 13: expected an arc"),
        ("\n-1 1 2 1,2,3\n\n", "expected an arc"),
        ("\n0 4000000000 2 1,2,3\n\n", "expected an arc"),
        ("\n0 2000000000 2 1,2,3\n\n", "states with numbers one after another"),
        ("\n0 1 2 3 4 5 6\n\n", "expected an arc"),
        ("", "a lattice"),
    ] {
        assert!(error(text.as_bytes()).contains(expected), "{text:?}: {}", error(text.as_bytes()));
    }
    assert!(CompactLattice::new(Some(1), vec![LatticeState::default()]).is_err());
}

#[test]
fn cycles_and_costs_that_are_none_cannot_be_decoded() {
    let lattice = |text: &str| fsa::lattice::Lattice::try_from(&read::<CompactLattice>(text.as_bytes()));
    assert!(matches!(lattice("\n0 1 2 1,2,3\n1 0 2 1,2,3\n1\n\n"), Err(fsa::Error::Cycle { .. })));
    assert!(matches!(lattice("\n0 0 2 1,2,3\n0\n\n"), Err(fsa::Error::NotTopSorted { .. })));
    assert!(matches!(lattice("\n0 1 2 nan,2,3\n1\n\n"), Err(fsa::Error::Score { .. })));
    assert!(matches!(lattice("\n0 1 2 -Infinity,2,3\n1\n\n"), Err(fsa::Error::Score { .. })));
    assert!(matches!(lattice("\n0 1 -2 1,2,3\n1\n\n"), Err(fsa::Error::Label { .. })));
    // A cost of infinity is that of no path.
    assert_eq!(lattice("\n0 1 2 Infinity,Infinity,3\n1\n\n").unwrap().best_path(0), Ok(None));
}

/// Any states and arcs.
fn compact() -> impl Strategy<Value = CompactLattice> {
    let weight = (-8..80_i32, -80..80_i32, prop::collection::vec(1..30_i32, 0..4));
    let weight = weight.prop_map(|(graph, acoustic, alignment)| CompactLatticeWeight {
        weight: LatticeWeight::new(graph as f32 / 8.0, acoustic as f32 / 8.0),
        alignment,
    });
    (1..6_usize).prop_flat_map(move |num_states| {
        let arc = (0..4_i32, weight.clone(), 0..num_states);
        let arc =
            arc.prop_map(|(word, weight, next_state)| LatticeArc { ilabel: word, olabel: word, weight, next_state });
        let state = (prop::option::of(weight.clone()), prop::collection::vec(arc, 0..4));
        let state = state.prop_map(|(final_weight, arcs)| LatticeState { final_weight, arcs });
        let states = prop::collection::vec(state, num_states);
        (0..num_states, states).prop_map(|(start, states)| CompactLattice::new(Some(start), states).unwrap())
    })
}

proptest! {
    #[test]
    fn binary_files_keep_everything(lattice in compact()) {
        prop_assert_eq!(read::<CompactLattice>(&written(&lattice, true)), lattice.clone());
        let plain = Lattice::from(&lattice);
        prop_assert_eq!(read::<Lattice>(&written(&plain, true)), plain.clone());
    }

    /// States without a line have no place in a text, and the first line tells the start.
    #[test]
    fn texts_keep_what_can_be_reached(mut lattice in compact()) {
        let start = lattice.start().unwrap();
        let mut states = lattice.states().to_vec();
        for state in &mut states {
            state.final_weight.get_or_insert_default();
        }
        lattice = CompactLattice::new(Some(start), states).unwrap();
        prop_assert_eq!(read::<CompactLattice>(&written(&lattice, false)), lattice.clone());
        let plain = Lattice::from(&lattice);
        prop_assert_eq!(read::<Lattice>(&written(&plain, false)), plain.clone());
    }

    /// Spelling out alignments and taking them together again changes no path's words, alignment or
    /// costs.
    #[test]
    fn both_kinds_have_the_same_totals(lattice in compact()) {
        let again = CompactLattice::from(&Lattice::from(&lattice));
        let (a, b) = (fsa::lattice::Lattice::try_from(&lattice), fsa::lattice::Lattice::try_from(&again));
        if let (Ok(a), Ok(b)) = (&a, &b) {
            let (x, y) = (a.total_scores()[0], b.total_scores()[0]);
            prop_assert!(x == y || (x - y).abs() < 1e-9, "{} and {}", x, y);
            let (x, y) = (a.n_best(0, 9).unwrap(), b.n_best(0, 9).unwrap());
            prop_assert!(x.iter().zip(&y).all(|(x, y)| (x.score() - y.score()).abs() < 1e-4));
            prop_assert_eq!(x.len(), y.len());
        } else {
            // A cycle of states that nothing enters is lost.
            prop_assert!(a.is_err());
        }
    }
}

/// What there is of objects in an archive is written as it was read.
fn archive<T: Holder>(bytes: &[u8], check: impl Fn(&T)) {
    let Ok(reader) = SequentialReader::<T>::from_archive_input(input(bytes)) else { return };
    for (_, lattice) in reader.map_while(Result::ok) {
        let binary = written(&lattice, true);
        let again: T = read(&binary);
        assert_eq!(written(&again, true), binary);
        let _ = written(&lattice, false);
        check(&lattice);
    }
}

#[test]
fn damaged_lattices() {
    fuzz!("lattices", |bytes| {
        archive::<CompactLattice>(bytes, |lattice| {
            let Ok(scores) = fsa::lattice::Lattice::try_from(lattice) else { return };
            let _ = scores.best_path(0).expect("there is one lattice");
            let _ = scores.prune(5.0);
            let _ = scores.minimum_bayes_risk(0, &Default::default());
            let _ = scores.determinize(&Default::default());
        });
        archive::<Lattice>(bytes, |lattice| {
            let _ = CompactLattice::from(lattice);
        });
    });
}

/// Writes the corpus anew, with `--ignored`.
#[test]
#[ignore = "writes into the source"]
fn write_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/__fuzz__/lattices/corpus");
    fs::create_dir_all(&folder).unwrap();
    let compact: CompactLattice = read(TEXT.as_bytes());
    let plain = Lattice::from(&compact);
    let file = |name: &str, objects: [Vec<u8>; 2]| {
        let [a, b] = objects.map(|object| [&b"utt "[..], &object].concat());
        fs::write(folder.join(name), [a, b].concat()).unwrap();
    };
    file("compact.ark", [written(&compact, true), written(&CompactLattice::default(), true)]);
    file("compact.txt", [written(&compact, false), written(&CompactLattice::default(), false)]);
    file("plain.ark", [written(&plain, true), written(&Lattice::default(), true)]);
    file("plain.txt", [written(&plain, false), written(&Lattice::default(), false)]);
}
