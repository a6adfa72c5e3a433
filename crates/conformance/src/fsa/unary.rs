//! Algorithms on one FSA or vector.

use fsa::algorithms::{self, WeightPushing};
use fsa::{Attribute, FsaOrVec, FsaVec, Fsas, Graph, Properties};
use serde_json::Value;

use super::json::{close, compare, compare_ints, field, graph, number};
use super::language::{Language, language};
use super::{Operation, Stop};

/// The code of the operations of this file.
pub(super) fn operation(op: &str) -> Option<Operation> {
    Some(match op {
        "arc_sort" => |args, expect| with_map(args, expect, algorithms::arc_sort),
        "connect" => |args, expect| with_map(args, expect, algorithms::connect),
        "add_epsilon_self_loops" => |args, expect| with_map(args, expect, algorithms::add_epsilon_self_loops),
        "remove_epsilon_self_loops" => |args, expect| with_map(args, expect, algorithms::remove_epsilon_self_loops),
        "closure" => closure,
        "union" => union,
        "invert" => |args, expect| compare(expect, &graph(args)?.invert()?),
        "invert_ragged" => invert_ragged,
        "replace_fsa" => replace_fsa,
        "index_fsa" => index_fsa,
        "cat_fsa_vec" => cat_fsa_vec,
        "top_sort" => top_sort,
        "reverse" => reverse,
        "remove_epsilon" => remove_epsilon,
        "remove_epsilon_and_add_self_loops" => remove_epsilon_and_add_self_loops,
        "determinize" => determinize,
        _ => return None,
    })
}

type Mapped = Result<(FsaOrVec, Vec<i32>), fsa::Error>;

/// States, arcs, their order, the arc map and all attributes are equal.
fn with_map(args: &Value, expect: &Value, run: impl Fn(&FsaOrVec) -> Mapped) -> Result<Vec<String>, Stop> {
    let before = graph(args)?;
    let (fsas, arc_map) = run(before.fsas())?;
    let mut differences = compare_ints(expect, "arc_map", &arc_map)?;
    differences.append(&mut compare(expect, &before.carry((fsas, arc_map))?)?);
    Ok(differences)
}

/// k2 puts 0 in place of -1 on what former final arcs put out, but misses such an arc if it is the first of state 1.
fn closure(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let before = graph(args)?;
    let (_, arc_map) = algorithms::closure(before.fsas())?;
    let mut differences = compare_ints(expect, "arc_map", &arc_map)?;
    let mut after = before.closure()?;
    let first_of_state_1 = after.fsas().as_vec().arcs().iter().position(|arc| arc.src_state == 1);
    if let (Some(arc), Some(aux_labels)) = (first_of_state_1, after.aux_labels()) {
        let was_final = usize::try_from(arc_map[arc]).is_ok_and(|from| before.fsas().as_vec().arcs()[from].label == -1);
        let mut aux_labels = aux_labels.to_vec();
        if was_final && before.aux_labels().is_some_and(|before| before[arc - 1] == -1) {
            aux_labels[arc] = -1;
        }
        after = after.with_aux_labels(aux_labels)?;
    }
    differences.append(&mut compare(expect, &after)?);
    Ok(differences)
}

fn vector(graph: Graph<FsaOrVec>) -> Result<Graph<FsaVec>, Stop> {
    let (fsas, attributes) = graph.into_parts();
    Ok(Graph::from_parts(fsas.as_vec().clone(), attributes)?)
}

fn union(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let before = vector(graph(args)?)?;
    let mut differences = compare_ints(expect, "arc_map", &algorithms::union(before.fsas())?.1)?;
    differences.append(&mut compare(expect, &before.union()?)?);
    Ok(differences)
}

fn invert_ragged(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (after, _) = algorithms::invert(&graph(args)?)?;
    compare_languages(expect, &after, Scores::Both)
}

fn replace_fsa(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (src, index) = (graph(&args["src"])?, graph(&args["index"])?);
    let first = field(args, "symbol_begin_range")?;
    let (fsas, map_index, map_src) = algorithms::replace_fsa(src.fsas().as_vec(), index.fsas(), first)?;
    let mut differences = compare_ints(expect, "arc_map_index", &map_index)?;
    differences.append(&mut compare_ints(expect, "arc_map_src", &map_src)?);
    differences.append(&mut compare(expect, &Graph::new(fsas))?);
    Ok(differences)
}

fn index_fsa(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let before = vector(graph(args)?)?;
    let indexes: Vec<i32> = field(args, "indexes")?;
    compare(expect, &before.carry(before.fsas().index(&indexes)?)?)
}

fn cat_fsa_vec(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (a, b) = (graph(&args["a"])?, graph(&args["b"])?);
    compare(expect, &Graph::new(FsaVec::cat(&[a.fsas().as_vec(), b.fsas().as_vec()])?))
}

fn top_sort(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let after = graph(args)?.top_sort()?;
    let mut differences = compare_languages(expect, &after, Scores::Both)?;
    if !after.fsas().as_vec().properties().contains(Properties::TOP_SORTED) {
        differences.push("an arc goes back".into());
    }
    Ok(differences)
}

/// k2's own arcs. What they put out is nothing if it is 0 or -1, which k2 leaves on arcs that were final.
fn compare_arcs_of_reversed(expect: &Value, came: Graph<FsaOrVec>) -> Result<Vec<String>, Stop> {
    let right = graph(expect)?;
    let visible =
        |graph: &Graph<FsaOrVec>| graph.aux_labels().map(|aux| aux.iter().map(|&l| l.max(0)).collect::<Vec<_>>());
    match right.aux_labels() {
        Some(aux_labels) if visible(&right) == visible(&came) => {
            let aux_labels = aux_labels.to_vec();
            compare(expect, &came.with_aux_labels(aux_labels)?)
        }
        _ => compare(expect, &came),
    }
}

/// The strings turned round with their scores; where there are cycles, k2's own arcs.
fn reverse(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let before = graph(args)?;
    let reversed = before.reverse()?;
    let mut differences = Vec::new();
    let (befores, afters) = (languages(&before)?, languages(&reversed)?);
    for (i, pair) in befores.into_iter().zip(afters).enumerate() {
        let (Some(before), Some(after)) = pair else { return compare_arcs_of_reversed(expect, reversed) };
        let turned: Language = before
            .into_iter()
            .map(|((mut labels, mut aux), scores)| {
                labels.reverse();
                aux.reverse();
                ((labels, aux), scores)
            })
            .collect();
        differences.append(&mut compare_two(i, &turned, &after, Scores::Both));
    }
    Ok(differences)
}

fn remove_epsilon(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let after = graph(args)?.remove_epsilon()?;
    let mut differences = compare_languages(expect, &after, Scores::BestPerInput)?;
    if !after.fsas().as_vec().properties().contains(Properties::EPSILON_FREE) {
        differences.push("an epsilon is left".into());
    }
    Ok(differences)
}

/// The case tells k2's arcs; what they accept must be the same, and each state but the last has its loop.
fn remove_epsilon_and_add_self_loops(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let after = graph(args)?.remove_epsilon_and_add_self_loops()?;
    let fsas = after.fsas().as_vec();
    let loops = fsas.arcs().iter().filter(|arc| arc.label == 0);
    let mut differences = Vec::new();
    if loops.clone().any(|arc| arc.src_state != arc.dest_state || arc.score != 0.0) {
        differences.push("an epsilon is left that is no loop with score 0".into());
    }
    let with_loops = fsas.iter().map(|fsa| fsa.num_states().saturating_sub(1)).sum::<usize>();
    if loops.count() != with_loops {
        differences.push(format!("not each of {with_loops} states has one loop"));
    }
    let without = |graph: &Graph<FsaOrVec>| graph.remove_epsilon_self_loops();
    let (right, came) = (languages(&without(&graph(expect)?)?)?, languages(&without(&after)?)?);
    for (i, pair) in right.into_iter().zip(came).enumerate() {
        let (Some(right), Some(came)) = pair else {
            differences.push(format!("FSA {i} has cycles besides the loops"));
            continue;
        };
        differences.append(&mut compare_two(i, &best_per_input(right), &best_per_input(came), Scores::BestPerInput));
    }
    Ok(differences)
}

fn determinize(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let weight_pushing = match args["weight_pushing"].as_str() {
        Some("kNoWeightPushing") => WeightPushing::No,
        Some("kTropicalWeightPushing") => WeightPushing::Tropical,
        Some("kLogWeightPushing") => WeightPushing::Log,
        other => return Err(Stop::Damaged(format!("weight_pushing {other:?}"))),
    };
    let after = graph(args)?.determinize(weight_pushing)?;
    let mut differences = compare_languages(expect, &after, Scores::BestPerInput)?;
    if expect["language"].is_null() {
        // The strings are too many for the case; k2's arcs tell them.
        let right = languages(&graph(expect)?.without(fsa::AUX_LABELS))?;
        for (i, pair) in right.into_iter().zip(languages(&after.clone().without(fsa::AUX_LABELS))?).enumerate() {
            if let (Some(right), Some(came)) = pair {
                differences.append(&mut compare_two(i, &right, &came, Scores::BestPerInput));
            }
        }
    }
    let sorted = after.arc_sort()?;
    if !sorted.fsas().as_vec().properties().contains(Properties::ARC_SORTED_AND_DETERMINISTIC) {
        differences.push("two arcs of a state have the same label".into());
    }
    Ok(differences)
}

/// Which scores of a language must be equal.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scores {
    /// Of the best path and of all.
    Both,
    /// Of the best path.
    Best,
    /// Of the best path for each string of labels, and what that puts out.
    BestPerInput,
}

/// Scores through f32 and the six digits of the case.
const SCORE: f64 = 1e-4;

/// What each FSA accepts and puts out, lists of labels put out being one string; `None` where there are cycles.
pub(super) fn languages(graph: &Graph<FsaOrVec>) -> Result<Vec<Option<Language>>, Stop> {
    // A list of labels put out becomes a chain with two inversions: labels are put out where the lists were.
    let graph = match graph.attributes().get(fsa::AUX_LABELS) {
        Some(Attribute::Lists(_)) => &graph.invert()?.invert()?,
        _ => graph,
    };
    // Dead ends may have cycles that no accepted path meets.
    let connected = graph.connect()?;
    let aux_labels = connected.aux_labels();
    let of = |fsa: fsa::FsaView<'_>| {
        language(fsa, aux_labels.map(|aux| &aux[fsa.first_arc()..fsa.first_arc() + fsa.arcs().len()]))
    };
    Ok(connected.fsas().as_vec().iter().map(of).collect())
}

/// The language of the case, whose entries are `[labels, best, sum]` or `[labels, aux_labels, best, sum]`; for vectors a list of such lists.
fn languages_of_case(value: &Value) -> Result<Option<Vec<Language>>, Stop> {
    let Some(list) = value.as_array() else { return Ok(None) };
    // Entries end with a score, languages with an entry.
    let is_entry = |value: &Value| value.as_array().and_then(|parts| parts.last()).is_some_and(|last| !last.is_array());
    let single = list.is_empty() || is_entry(&list[0]);
    let lists: Vec<&Value> = if single { vec![value] } else { list.iter().collect() };
    let read = |value: &&Value| -> Result<Language, Stop> {
        let mut language = Language::new();
        for entry in value.as_array().into_iter().flatten() {
            let ints =
                |value: &Value| serde_json::from_value(value.clone()).map_err(|why| Stop::Damaged(format!("{why}")));
            let parts = entry.as_array().ok_or_else(|| Stop::Damaged(format!("{entry} is no entry of a language")))?;
            let (strings, scores) = match &parts[..] {
                [labels, best, sum] => ((ints(labels)?, vec![]), (number(best)?, number(sum)?)),
                [labels, aux, best, sum] => ((ints(labels)?, ints(aux)?), (number(best)?, number(sum)?)),
                _ => return Err(Stop::Damaged(format!("{entry} is no entry of a language"))),
            };
            language.insert(strings, scores);
        }
        Ok(language)
    };
    Ok(Some(lists.iter().map(read).collect::<Result<_, _>>()?))
}

/// The differences to the language that the case tells, if it does.
pub(super) fn compare_languages<F: Fsas>(expect: &Value, came: &Graph<F>, scores: Scores) -> Result<Vec<String>, Stop> {
    let Some(right) = languages_of_case(&expect["language"])? else { return Ok(vec![]) };
    let tells_aux = right.iter().flat_map(Language::keys).any(|(_, aux)| !aux.is_empty());
    let came = if tells_aux { came.clone() } else { came.clone().without(fsa::AUX_LABELS) };
    let (fsas, attributes) = came.into_parts();
    let came = languages(&Graph::from_parts(fsas.into(), attributes)?)?;
    if right.len() != came.len() {
        return Ok(vec![format!("expected {} FSAs, came {}", right.len(), came.len())]);
    }
    let mut differences = Vec::new();
    for (i, (right, came)) in right.into_iter().zip(came).enumerate() {
        let Some(came) = came else {
            differences.push(format!("FSA {i} has a cycle"));
            continue;
        };
        let (right, came) = match scores {
            Scores::BestPerInput => (best_per_input(right), best_per_input(came)),
            _ => (right, came),
        };
        differences.append(&mut compare_two(i, &right, &came, scores));
    }
    Ok(differences)
}

fn compare_two(i: usize, right: &Language, came: &Language, scores: Scores) -> Vec<String> {
    let same = |right: &(f64, f64), came: &(f64, f64)| {
        close(right.0, came.0, SCORE) && (scores != Scores::Both || close(right.1, came.1, SCORE))
    };
    let mut differences = Vec::new();
    for (strings, scores) in right {
        match came.get(strings) {
            Some(came) if same(scores, came) => {}
            other => differences.push(format!("FSA {i}: expected {scores:?} for {strings:?}, came {other:?}")),
        }
    }
    let more = came.keys().filter(|strings| !right.contains_key(*strings));
    differences.extend(more.map(|strings| format!("FSA {i}: {strings:?} came besides")));
    differences
}

/// Of all that is put out for a string of labels, the best.
fn best_per_input(language: Language) -> Language {
    let mut best = Language::new();
    let mut entries: Vec<_> = language.into_iter().collect();
    entries.sort_by(|a, b| a.0.0.cmp(&b.0.0).then(b.1.0.total_cmp(&a.1.0)));
    entries.dedup_by(|later, first| later.0.0 == first.0.0);
    best.extend(entries);
    best
}
