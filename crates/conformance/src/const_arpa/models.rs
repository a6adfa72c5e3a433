//! Models written, read, printed and looked up.

use std::fs;
use std::path::{Path, PathBuf};

use kaldera::fsa::graphs::{ConstArpa, ConstArpaForm, ConstArpaOptions};
use kaldera::fsa::lattice::LanguageModel;

use super::{Verdicts, entries, name_of, succeed, symbols, text_of};
use crate::{Differences, Settings, Stop, verdict};

/// The largest distance with which the models of `variants` were made that have an overflow.
const OVERFLOW_DISTANCE: i32 = 40;

pub(crate) fn run(settings: &Settings, folder: &Path) -> Verdicts {
    let mut all = Vec::new();
    for model in entries(folder)? {
        let judged = verdict::judge(|| judge(settings, &model));
        all.push((name_of(&model), judged));
    }
    let variants = folder.with_file_name("variants");
    for file in if variants.exists() { entries(&variants)? } else { vec![] } {
        let judged = verdict::judge(|| judge_variant(folder, &file));
        all.push((name_of(&file), judged));
    }
    Ok(all)
}

fn judge(settings: &Settings, folder: &Path) -> Result<Vec<String>, Stop> {
    let mut differences = Differences::default();
    let [start, end, unknown] = symbols(folder)?;
    let known = fs::read(folder.join("G.carpa"))?;
    let out = tempfile::tempdir()?;
    let path = |path: PathBuf| path.to_string_lossy().into_owned();
    let (arpa, carpa) = (path(folder.join("lm.int.arpa")), path(out.path().join("G.carpa")));
    let options = [format!("--bos-symbol={start}"), format!("--eos-symbol={end}"), format!("--unk-symbol={unknown}")];
    succeed(settings, out.path(), "arpa-to-const-arpa", &[&options[0], &options[1], &options[2], &arpa, &carpa])?;
    let written = fs::read(&carpa)?;
    differences.check(written == known, || format!("G.carpa: {}", first_difference(&known, &written)));
    let model = ConstArpa::from_bytes(known.clone())?;
    let again = model.to_bytes(ConstArpaForm::Named)?;
    differences.check(again == known, || format!("read and written: {}", first_difference(&known, &again)));
    let old = ConstArpa::from_bytes(model.to_bytes(ConstArpaForm::Old)?)?;
    let again = old.to_bytes(ConstArpaForm::Named)?;
    differences.check(again == known, || format!("through the old form: {}", first_difference(&known, &again)));
    if let Some(known) = text_of(&folder.join("back.arpa"))? {
        let mut written = Vec::new();
        model.write_arpa(&mut written)?;
        let written = String::from_utf8_lossy(&written);
        differences.check(written == known, || {
            let line = known.lines().zip(written.lines()).find(|(known, written)| known != written);
            format!("back.arpa: first other line: {line:?}")
        });
    }
    look_up(folder, &model, &mut differences)?;
    look_up(folder, &old, &mut differences)?;
    if let Some(known) = text_of(&folder.join("sentences.txt"))? {
        let written = sentences(&model, &known)?;
        let line = known.lines().zip(written.lines()).find(|(known, written)| known != written);
        differences.check(written == known, || format!("sentences.txt: first other line: {line:?}"));
    }
    Ok(differences.0)
}

/// Two forms of a model: `m05.old.carpa`, `m05.overflow.carpa`.
fn judge_variant(models: &Path, file: &Path) -> Result<Vec<String>, Stop> {
    let mut differences = Differences::default();
    let name = name_of(file);
    let damaged = || Stop::Damaged(format!("no name of a variant: {name}"));
    let (model, kind) = name.strip_suffix(".carpa").and_then(|name| name.split_once('.')).ok_or_else(damaged)?;
    let folder = models.join(model);
    let known = fs::read(file)?;
    let model = ConstArpa::from_bytes(known.clone())?;
    let written = match kind {
        "old" => {
            let plain = fs::read(folder.join("G.carpa"))?;
            let named = model.to_bytes(ConstArpaForm::Named)?;
            differences.check(named == plain, || format!("as G.carpa: {}", first_difference(&plain, &named)));
            ConstArpa::from_bytes(plain)?.to_bytes(ConstArpaForm::Old)?
        }
        "overflow" => {
            let [start, end, unknown] = symbols(&folder)?;
            let options = ConstArpaOptions::new(start, end)
                .with_unknown(Some(unknown).filter(|&word| word != -1))
                .with_max_distance(OVERFLOW_DISTANCE);
            let arpa = fs::read(folder.join("lm.int.arpa"))?;
            ConstArpa::from_arpa(&arpa[..], &options, &mut |_, _| {})?.as_bytes().to_vec()
        }
        _ => return Err(damaged()),
    };
    differences.check(written == known, || format!("written: {}", first_difference(&known, &written)));
    look_up(&folder, &model, &mut differences)?;
    Ok(differences.0)
}

/// Compares the bits of all look-ups: `BITS VALUE STATE | WORDS`.
fn look_up(folder: &Path, model: &ConstArpa, differences: &mut Differences) -> Result<(), Stop> {
    for line in text_of(&folder.join("ngrams.txt"))?.unwrap_or_default().lines() {
        let (known, words) = line.split_once(" | ").ok_or_else(|| Stop::Damaged(line.into()))?;
        let words = words_of(words)?;
        let (word, history) = words.split_last().ok_or_else(|| Stop::Damaged(line.into()))?;
        let known: Vec<_> = known.split(' ').collect();
        let score = model.score(history, *word);
        let came = (format!("{:08x}", score.to_bits()), u8::from(model.has_history(history)).to_string());
        let same = (known[0], known[2]) == (&*came.0, &*came.1);
        differences.check(same, || format!("{line}: came {came:?}, {score}"));
    }
    Ok(())
}

fn words_of(text: &str) -> Result<Vec<i32>, Stop> {
    let word = |word: &str| word.parse().map_err(|_| Stop::Damaged(format!("no word: {word}")));
    text.split_whitespace().map(word).collect()
}

/// Scores the sentences of a file, and returns it with our numbers.
fn sentences(model: &ConstArpa, known: &str) -> Result<String, Stop> {
    let mut out = String::new();
    let bits = |cost: f32| format!("{:08x} {}", cost.to_bits(), nine_digits(cost));
    for head in known.lines().filter(|line| line.starts_with("sentence ")) {
        let (_, words) = head.split_once('|').ok_or_else(|| Stop::Damaged(head.into()))?;
        out += &format!("{head}\n");
        let mut state = LanguageModel::start(model);
        // States have numbers in the order in which they come.
        let (mut states, mut total, mut stopped) = (vec![state], 0.0_f32, false);
        for word in words_of(words)? {
            let Some((next, score)) = model.step(state, word) else {
                out += &format!("  {word} none\n");
                stopped = true;
                break;
            };
            let number = states.iter().position(|&it| it == next).unwrap_or(states.len());
            if number == states.len() {
                states.push(next);
            }
            let cost = -crate::single(score);
            total += cost;
            out += &format!("  {word} {} {number}\n", bits(cost));
            state = next;
        }
        if !stopped {
            let cost = model.end(state).map_or(f32::INFINITY, |score| -crate::single(score));
            out += &format!("  final {}\n  total {}\n", bits(cost), bits(total + cost));
        }
    }
    Ok(out)
}

/// Nine significant digits without zeros at the end, as `%.9g` prints a cost.
fn nine_digits(cost: f32) -> String {
    if cost.is_infinite() {
        return if cost > 0.0 { "inf" } else { "-inf" }.into();
    }
    let magnitude = format!("{cost:.8e}");
    let exponent = magnitude.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok()).unwrap_or(0);
    match usize::try_from(8 - exponent) {
        Ok(decimals) if exponent >= -4 => {
            let fixed = format!("{cost:.decimals$}");
            let trimmed = if decimals > 0 { fixed.trim_end_matches('0').trim_end_matches('.') } else { &fixed };
            trimmed.to_owned()
        }
        _ => {
            let (digits, _) = magnitude.split_once('e').unwrap_or((&magnitude, ""));
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
    }
}

fn first_difference(known: &[u8], came: &[u8]) -> String {
    let at = known.iter().zip(came).position(|(a, b)| a != b).unwrap_or(known.len().min(came.len()));
    format!("expected {} bytes, came {}; the first other byte is {at}", known.len(), came.len())
}
