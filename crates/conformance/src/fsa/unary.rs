//! Algorithms on one FSA or vector.

use std::collections::BTreeMap;

use fsa::k2::WeightPushing;
use fsa::{FsaOrVec, FsaVec, Fsas, Graph, Properties, k2};
use serde::Deserialize;
use serde_json::Value;

use super::json::{close, compare, compare_ints, graph};
use super::language::{Language, Strings, languages, languages_of_both};
use crate::{Stop, field, number, unless};

/// Runs an operation of this file.
pub(super) fn run(op: &str, args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    match op {
        "arc_sort" => with_map(args, expect, k2::arc_sort),
        "connect" => with_map(args, expect, k2::connect),
        "add_epsilon_self_loops" => with_map(args, expect, k2::add_epsilon_self_loops),
        "remove_epsilon_self_loops" => with_map(args, expect, k2::remove_epsilon_self_loops),
        "closure" => closure(args, expect),
        "union" => {
            let before = vector(graph(args)?)?;
            let map = compare_ints(expect, "arc_map", &k2::union(before.fsas())?.1)?;
            Ok([map, compare(expect, &before.union()?)?].concat())
        }
        "invert" => compare(expect, &graph(args)?.invert()?),
        "invert_ragged" => compare_languages(expect, &k2::invert(&graph(args)?)?.0, Scores::Both),
        "replace_fsa" => replace_fsa(args, expect),
        "index_fsa" => {
            let before = vector(graph(args)?)?;
            compare(expect, &before.carry(before.fsas().index(&field::<Vec<i32>>(args, "indexes")?)?)?)
        }
        "cat_fsa_vec" => {
            let (a, b) = (vector(graph(&args["a"])?)?, vector(graph(&args["b"])?)?);
            compare(expect, &Graph::cat(&[&a, &b])?)
        }
        "top_sort" => top_sort(args, expect),
        "reverse" => reverse(args, expect),
        "remove_epsilon" => remove_epsilon(args, expect),
        "remove_epsilon_and_add_self_loops" => remove_epsilon_and_add_self_loops(args, expect),
        "determinize" => determinize(args, expect),
        _ => Err(Stop::NotRun),
    }
}

type Mapped = Result<(FsaOrVec, Vec<i32>), fsa::Error>;

/// States, arcs, their order, the arc map and all attributes are equal.
fn with_map(args: &Value, expect: &Value, run: impl Fn(&FsaOrVec) -> Mapped) -> Result<Vec<String>, Stop> {
    let before = graph(args)?;
    let (fsas, arc_map) = run(before.fsas())?;
    let map = compare_ints(expect, "arc_map", &arc_map)?;
    Ok([map, compare(expect, &before.carry((fsas, arc_map))?)?].concat())
}

/// k2 puts 0 in place of -1 into the output labels of former final arcs, but misses such an arc if
/// it comes right behind the new one. There it leaves a label that a transducer cannot have, since
/// nothing but arcs into the final state may have it; here it is 0 like all others.
fn closure(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let before = graph(args)?;
    let (_, arc_map) = k2::closure(before.fsas())?;
    let map = compare_ints(expect, "arc_map", &arc_map)?;
    let mut after = before.closure()?;
    let behind = arc_map.iter().position(|&from| from == -1).map(|new| new + 1);
    let missed = behind.filter(|&arc| {
        let from = arc_map.get(arc).and_then(|&from| usize::try_from(from).ok());
        from.zip(before.aux_labels()).is_some_and(|(from, aux_labels)| aux_labels[from] == -1)
    });
    if let (Some(arc), Some(aux_labels)) = (missed, after.aux_labels()) {
        let mut aux_labels = aux_labels.to_vec();
        aux_labels[arc] = -1;
        after = after.with_aux_labels(aux_labels)?;
    }
    Ok([map, compare(expect, &after)?].concat())
}

/// The vector that an FSA is.
pub(super) fn vector(graph: Graph<FsaOrVec>) -> Result<Graph<FsaVec>, Stop> {
    let (fsas, attributes) = graph.into_parts();
    Ok(Graph::from_parts(fsas.as_fsa_vec().clone(), attributes)?)
}

fn replace_fsa(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let (src, index) = (graph(&args["src"])?, graph(&args["index"])?);
    let first = field(args, "symbol_begin_range")?;
    let (_, map_index, map_src) = k2::replace_fsa(src.fsas().as_fsa_vec(), index.fsas(), first)?;
    Ok([
        compare_ints(expect, "arc_map_index", &map_index)?,
        compare_ints(expect, "arc_map_src", &map_src)?,
        compare(expect, &index.replace_fsa(&vector(src)?, first)?)?,
    ]
    .concat())
}

/// The difference `tell`, unless all FSAs have the properties.
fn unless_all(fsas: &impl Fsas, properties: Properties, tell: &str) -> Vec<String> {
    unless(fsas.as_fsa_vec().properties().contains(properties), || tell.into())
}

fn top_sort(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let before = graph(args)?;
    let after = before.top_sort()?;
    Ok([
        compare_languages(expect, &after, Scores::Both)?,
        compare_both(&before, &after, Scores::Both)?,
        unless_all(after.fsas(), Properties::TOP_SORTED, "an arc goes back"),
    ]
    .concat())
}

/// The strings turned round with their scores. Each path is one arc longer, that into the new final
/// state.
fn reverse(args: &Value, _: &Value) -> Result<Vec<String>, Stop> {
    let before = graph(args)?;
    let turn = |((mut labels, mut aux), scores): (Strings, (f64, f64))| {
        labels.reverse();
        aux.reverse();
        ((labels, aux), scores)
    };
    let pairs = languages_of_both(&before, &before.reverse()?, 1)?.into_iter();
    Ok(compare_all(pairs.map(|(before, after)| (before.into_iter().map(turn).collect(), after)), Scores::Both))
}

/// The case has k2's arcs, if not the strings that they accept. Every string has as many arcs in
/// both, because there are no epsilons.
fn remove_epsilon(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let before = graph(args)?;
    let after = before.remove_epsilon()?;
    let pairs = match languages_of_case(expect)? {
        Some(told) => told.beside(&after)?,
        None => languages_of_both(&graph(expect)?, &after, 0)?,
    };
    let free = unless_all(after.fsas(), Properties::EPSILON_FREE, "an epsilon is left");
    Ok([compare_best(&before, pairs)?, free].concat())
}

/// The differences of the best paths between the known answer and our result, made from `before`.
fn compare_best(before: &Graph<FsaOrVec>, pairs: Vec<(Language, Option<Language>)>) -> Result<Vec<String>, Stop> {
    let inputs = languages(before)?;
    if inputs.len() != pairs.len() {
        return Ok(vec![format!("expected as many FSAs as there were, {}, came {}", inputs.len(), pairs.len())]);
    }
    let each = inputs.iter().zip(&pairs).enumerate();
    Ok(each
        .flat_map(|(i, (input, (right, came)))| match came {
            Some(came) => compare_best_outputs(i, right, came, input.as_ref()),
            None => vec![no_language(i)],
        })
        .collect())
}

/// The case has k2's arcs; ours must accept the same strings, and each state but the last has its
/// loop.
fn remove_epsilon_and_add_self_loops(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let before = graph(args)?;
    let after = before.remove_epsilon_and_add_self_loops()?;
    let fsas = after.fsas().as_fsa_vec();
    let loops = fsas.arcs().iter().filter(|arc| arc.label == 0);
    let are_loops = loops.clone().all(|arc| arc.src_state == arc.dest_state && arc.score == 0.0);
    let num_loops = fsas.iter().map(|fsa| fsa.num_states().saturating_sub(1)).sum::<usize>();
    let right = graph(expect)?.remove_epsilon_self_loops()?;
    let pairs = languages_of_both(&right, &after.remove_epsilon_self_loops()?, 0)?;
    Ok([
        unless(are_loops, || "an epsilon is left that is no loop with score 0".into()),
        unless(loops.count() == num_loops, || format!("not each of {num_loops} states has one loop")),
        compare_best(&before, pairs)?,
    ]
    .concat())
}

fn determinize(args: &Value, expect: &Value) -> Result<Vec<String>, Stop> {
    let weight_pushing = match args["weight_pushing"].as_str() {
        Some("kNoWeightPushing") => WeightPushing::No,
        Some("kTropicalWeightPushing") => WeightPushing::Tropical,
        Some("kLogWeightPushing") => WeightPushing::Log,
        other => return Err(Stop::Damaged(format!("weight_pushing {other:?}"))),
    };
    let after = graph(args)?.determinize(weight_pushing.into())?;
    let mut differences = compare_languages(expect, &after, Scores::BestPerInput)?;
    if expect["language"].is_null() {
        // The strings are too many for the case, or infinitely many, so the case has k2's arcs.
        // Epsilons are symbols here, so that a string has as many arcs in both.
        let labels = |graph: &Graph<FsaOrVec>| graph.clone().without(fsa::AUX_LABELS);
        differences.extend(compare_both(&labels(&graph(expect)?), &labels(&after), Scores::BestPerInput)?);
    }
    let sorted = after.arc_sort()?;
    let same = "two arcs of a state have the same label";
    differences.extend(unless_all(sorted.fsas(), Properties::ARC_SORTED_AND_DETERMINISTIC, same));
    Ok(differences)
}

/// The scores of a language that must be equal.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scores {
    /// Of the best path and of all.
    Both,
    /// Of the best path.
    Best,
    /// Of the best path for each string of labels, and its output.
    BestPerInput,
}

/// Scores through f32 and the six digits of the case.
pub(super) const SCORE: f64 = 1e-4;

/// The languages of a case.
struct Told {
    languages: Vec<Language>,
    /// True if they are languages of transducers.
    with_aux: bool,
}

/// The language of a case, whose entries are `[labels, best, sum]` or `[labels, aux_labels, best,
/// sum]`; for vectors a list of such lists.
fn languages_of_case(expect: &Value) -> Result<Option<Told>, Stop> {
    let value = &expect["language"];
    let Some(list) = value.as_array() else { return Ok(None) };
    let mut with_aux = false;
    // Entries end with a score, languages with an entry.
    let is_entry = |value: &Value| value.as_array().and_then(|parts| parts.last()).is_some_and(|last| !last.is_array());
    let no_fsas = expect["fsas"].as_array().is_some_and(Vec::is_empty);
    let single = list.first().map_or(!no_fsas, is_entry);
    let mut read = |value: &Value| -> Result<Language, Stop> {
        let mut language = Language::new();
        for entry in value.as_array().into_iter().flatten() {
            let damaged = || Stop::Damaged(format!("{entry} is no entry of a language"));
            let ints = |value: &Value| Vec::<i32>::deserialize(value).map_err(|_| damaged());
            let (strings, scores) = match &entry.as_array().ok_or_else(damaged)?[..] {
                [labels, best, sum] => ((ints(labels)?, vec![]), (number(best)?, number(sum)?)),
                [labels, aux, best, sum] => {
                    with_aux = true;
                    ((ints(labels)?, ints(aux)?), (number(best)?, number(sum)?))
                }
                _ => return Err(damaged()),
            };
            language.insert(strings, scores);
        }
        Ok(language)
    };
    let lists = if single { std::slice::from_ref(value) } else { &list[..] };
    let languages = lists.iter().map(&mut read).collect::<Result<_, _>>()?;
    Ok(Some(Told { languages, with_aux }))
}

impl Told {
    /// Pairs each of the languages with the language of our result.
    fn beside<F: Fsas>(self, came: &Graph<F>) -> Result<Vec<(Language, Option<Language>)>, Stop> {
        let came = if self.with_aux { came.clone() } else { came.clone().without(fsa::AUX_LABELS) };
        let (fsas, attributes) = came.into_parts();
        let came = languages(&Graph::from_parts(fsas.into(), attributes)?)?;
        if self.languages.len() != came.len() {
            return Err(Stop::Refused(format!("expected {} FSAs, came {}", self.languages.len(), came.len())));
        }
        Ok(self.languages.into_iter().zip(came).collect())
    }
}

/// The differences to the language of the case, if it has one.
pub(super) fn compare_languages<F: Fsas>(expect: &Value, came: &Graph<F>, scores: Scores) -> Result<Vec<String>, Stop> {
    let Some(told) = languages_of_case(expect)? else { return Ok(vec![]) };
    Ok(compare_all(told.beside(came)?.into_iter(), scores))
}

/// The differences between two vectors of FSAs by their input and output labels, if a path has as
/// many arcs in one as in the other.
pub(super) fn compare_both(
    right: &Graph<FsaOrVec>,
    came: &Graph<FsaOrVec>,
    scores: Scores,
) -> Result<Vec<String>, Stop> {
    let (of_right, of_came) = (right.fsas().as_fsa_vec().num_fsas(), came.fsas().as_fsa_vec().num_fsas());
    if of_right != of_came {
        return Ok(vec![format!("expected {of_right} FSAs, came {of_came}")]);
    }
    Ok(compare_all(languages_of_both(right, came, 0)?.into_iter(), scores))
}

/// The differences between pairs of languages.
fn compare_all(pairs: impl Iterator<Item = (Language, Option<Language>)>, scores: Scores) -> Vec<String> {
    pairs.enumerate().flat_map(|(i, (right, came))| compare_two(i, &right, came.as_ref(), scores)).collect()
}

/// `came` is `None` if it has cycles that it should not have.
fn compare_two(i: usize, right: &Language, came: Option<&Language>, scores: Scores) -> Vec<String> {
    let Some(came) = came else { return vec![no_language(i)] };
    if scores == Scores::BestPerInput {
        return compare_best_outputs(i, right, came, None);
    }
    let same = |right: &(f64, f64), came: &(f64, f64)| {
        close(right.0, came.0, SCORE) && (scores == Scores::Best || close(right.1, came.1, SCORE))
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

fn no_language(i: usize) -> String {
    format!("FSA {i} has a cycle, or far too many paths")
}

/// For each string of labels the best score must be the same, and its output labels too. Of
/// several outputs that are equally good, k2 keeps one and we perhaps another. This is right if
/// ours is in `input`, which has them all. `input` is known if it has no cycles.
fn compare_best_outputs(i: usize, right: &Language, came: &Language, input: Option<&Language>) -> Vec<String> {
    let (right, came, input) = (best_outputs(right), best_outputs(came), input.map(best_outputs).unwrap_or_default());
    let mut differences = Vec::new();
    for (labels, best) in &right {
        let ties = input.get(labels).filter(|ties| close(best.score, ties.score, SCORE));
        let known = |aux: &&[i32]| best.outputs.contains(aux) || ties.is_some_and(|ties| ties.outputs.contains(aux));
        let same = came
            .get(labels)
            .is_some_and(|other| close(best.score, other.score, SCORE) && other.outputs.iter().any(known));
        if !same {
            differences.push(format!("FSA {i}: expected {best:?} for {labels:?}, came {:?}", came.get(labels)));
        }
    }
    let more = came.keys().filter(|labels| !right.contains_key(*labels));
    differences.extend(more.map(|labels| format!("FSA {i}: {labels:?} came besides")));
    differences
}

/// The best scores and outputs of a string of labels.
#[derive(Debug)]
struct Best<'a> {
    score: f64,
    /// All output labels with that score.
    outputs: Vec<&'a [i32]>,
}

fn best_outputs(language: &Language) -> BTreeMap<&[i32], Best<'_>> {
    let mut found = BTreeMap::<&[i32], Best<'_>>::new();
    for ((labels, aux), &(score, _)) in language {
        let best = found.entry(labels).or_insert(Best { score: f64::NEG_INFINITY, outputs: vec![] });
        if score > best.score && !close(score, best.score, SCORE) {
            best.outputs.clear();
        }
        if score > best.score || close(score, best.score, SCORE) {
            best.outputs.push(aux);
            best.score = best.score.max(score);
        }
    }
    found
}
