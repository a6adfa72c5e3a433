//! Kaldi's programs on lattices: `decode_graph/lattice.jsonl`.
//!
//! Every case is a lattice and the answers of Kaldi's programs for it; each program is run as a
//! separate command on the same lattice. The rules are in the README of the answers: costs within
//! 1e-3, best words free where two paths tie, words of minimum Bayes risk free where Kaldi's own
//! risk is not the true one, but then of no greater true risk.

use std::collections::HashMap;
use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use kaldera::fsa;
use kaldera::io::lattice::{CompactLattice, Lattice};
use kaldera::io::{Holder, SequentialReader};
use serde::Deserialize;

use crate::{CHILD, Case, Error, Settings, Verdict, caught};

/// Costs agree within this.
const COST: f64 = 1e-3;
/// Sequences this near to the beam may be there or not.
const BEAM: f64 = 1e-2;
/// Confidences of minimum Bayes risk agree within this.
const CONFIDENCE: f64 = 2e-2;
/// Posteriors are printed with seven digits, of sums in another order.
const POSTERIOR: f64 = 1e-4;

/// Runs cases of the file.
pub(crate) fn run(settings: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    cases.iter().map(|case| judge(settings, case)).collect()
}

fn judge(settings: &Settings, case: &Case) -> Result<Verdict, Error> {
    let answer: Answer = match serde_json::from_value(case.value.clone()) {
        Ok(answer) => answer,
        Err(error) => return Ok(Verdict::Fails(vec![format!("the case itself is damaged: {error}")])),
    };
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("in.ark"), &answer.lattice)?;
    let differences = caught(|| {
        let mut check = Check { settings, folder: folder.path(), answer: &answer, differences: Vec::new() };
        check.all();
        check.differences
    });
    Ok(match differences {
        Ok(differences) => Verdict::of(differences),
        Err(panic) => Verdict::Fails(vec![panic]),
    })
}

#[derive(Deserialize)]
struct Answer {
    lattice: String,
    acoustic_scale: f64,
    n: usize,
    beam: f64,
    binary_compact: String,
    binary_lattice: String,
    text_lattice: String,
    text_compact: String,
    scaled: String,
    best_path: Words,
    nbest: Vec<Entry>,
    pruned: String,
    mbr: Mbr,
    ctm_mbr: Vec<Vec<String>>,
    ctm_onebest: Vec<Vec<String>>,
    arc_post: Vec<Vec<String>>,
    margin: Option<f64>,
    word_sequences_in_beam: Vec<Entry>,
    total_logprob: f64,
    #[serde(default)]
    disagreement: serde_json::Value,
}

#[derive(Deserialize)]
struct Words {
    words: Vec<i32>,
    #[serde(default)]
    alignment: Vec<i32>,
}

#[derive(Deserialize, Debug)]
struct Entry {
    words: Vec<i32>,
    graph: f64,
    acoustic: f64,
    alignment: Vec<i32>,
}

#[derive(Deserialize)]
struct Mbr {
    words: Vec<i32>,
    risk: f64,
    sausage: Vec<Vec<(i32, f64)>>,
    times: String,
    true_risk: Option<f64>,
    binding: bool,
}

struct Check<'a> {
    settings: &'a Settings,
    folder: &'a Path,
    answer: &'a Answer,
    differences: Vec<String>,
}

impl Check<'_> {
    fn all(&mut self) {
        type Step<'a> = fn(&mut Check<'a>) -> Result<(), String>;
        let steps: [(&str, Step<'_>); 9] = [
            ("lattice-copy", Self::copies),
            ("lattice-scale", Self::scales),
            ("lattice-best-path", Self::best_path),
            ("lattice-to-nbest", Self::n_best),
            ("lattice-prune", Self::prunes),
            ("lattice-determinize-pruned", Self::determinizes),
            ("lattice-mbr-decode", Self::mbr),
            ("lattice-to-ctm-conf", Self::ctm),
            ("lattice-arc-post", Self::posteriors),
        ];
        for (name, step) in steps {
            let before = self.differences.len();
            if let Err(error) = step(self) {
                self.differences.push(error);
            }
            self.differences[before..].iter_mut().for_each(|difference| *difference = format!("{name}: {difference}"));
        }
    }

    /// Runs a program in the folder.
    fn command(&self, tool: &str, args: &[&str]) -> Result<(), String> {
        let output = Command::new(&self.settings.program)
            .arg(CHILD)
            .arg(tool)
            .args(args)
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{args:?} ended with {}: {}", output.status, said.lines().last().unwrap_or("(silent)")))
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        fs::read(self.folder.join(name)).map_err(|error| format!("{name}: {error}"))
    }

    fn text(&self, name: &str) -> Result<String, String> {
        String::from_utf8(self.bytes(name)?).map_err(|error| format!("{name}: {error}"))
    }

    /// The objects of an archive.
    fn read<T: Holder>(&self, name: &str) -> Result<Vec<(String, T)>, String> {
        let reader = SequentialReader::from_archive(self.folder.join(name)).map_err(|error| error.to_string())?;
        reader.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    fn one<T: Holder>(&self, name: &str) -> Result<T, String> {
        let mut objects = self.read(name)?;
        if objects.len() != 1 {
            return Err(format!("{name} has {} objects and should have one", objects.len()));
        }
        Ok(objects.remove(0).1)
    }

    fn expect(&mut self, what: &str, holds: bool, tell: impl FnOnce() -> String) {
        if !holds {
            self.differences.push(format!("{what}: {}", tell()));
        }
    }

    fn copies(&mut self) -> Result<(), String> {
        let answer = self.answer;
        self.command("lattice-copy", &["ark:in.ark", "ark:compact.ark"])?;
        self.command("lattice-copy", &["ark:in.ark", "ark,t:compact.txt"])?;
        let known = decode_base64(&answer.binary_compact)?;
        let came = self.bytes("compact.ark")?;
        self.expect("binary compact", came == known, || format!("{} bytes, expected {}", came.len(), known.len()));
        let came = self.text("compact.txt")?;
        self.expect("text compact", came == answer.text_compact, || {
            format!("{came:?}, expected {:?}", answer.text_compact)
        });
        // Every form is read, and is the same lattice.
        let expected = paths(&self.one::<CompactLattice>("in.ark")?)?;
        fs::write(self.folder.join("kaldi-compact.ark"), &known).map_err(|error| error.to_string())?;
        fs::write(self.folder.join("kaldi-lattice.ark"), decode_base64(&answer.binary_lattice)?)
            .map_err(|error| error.to_string())?;
        fs::write(self.folder.join("kaldi-lattice.txt"), &answer.text_lattice).map_err(|error| error.to_string())?;
        for form in ["kaldi-compact.ark", "kaldi-lattice.ark", "kaldi-lattice.txt"] {
            let source = format!("ark:{form}");
            for (compact, text) in [(true, false), (true, true), (false, false), (false, true)] {
                let out = format!("{}:out.ark", if text { "ark,t" } else { "ark" });
                self.command("lattice-copy", &[&format!("--write-compact={compact}"), &source, &out])?;
                let came = paths(&self.one::<CompactLattice>("out.ark")?)?;
                self.compare_paths(&format!("{form}, compact {compact}, text {text}"), &expected, &came);
                let is_plain = self.bytes("out.ark")?.windows(9).any(|window| window == b"\0lattice4");
                self.expect("the kind of lattice", text || compact != is_plain, || {
                    format!("{form}: compact {compact}")
                });
            }
            let plain: Lattice = self.one(form)?;
            let came = paths(&CompactLattice::from(&plain))?;
            self.compare_paths(&format!("{form} as a lattice"), &expected, &came);
        }
        Ok(())
    }

    /// The same paths: words, alignment and costs, in any order.
    fn compare_paths(&mut self, what: &str, expected: &[Entry], came: &[Entry]) {
        let mut left: Vec<_> = came.iter().collect();
        for entry in expected {
            let found = left.iter().position(|other| {
                (&other.words, &other.alignment) == (&entry.words, &entry.alignment)
                    && (other.graph - entry.graph).abs() < COST
                    && (other.acoustic - entry.acoustic).abs() < COST
            });
            match found {
                Some(at) => drop(left.swap_remove(at)),
                None => self.differences.push(format!("{what}: no path as {entry:?}")),
            }
        }
        self.expect(what, left.is_empty(), || format!("too many paths: {left:?}"));
    }

    fn scales(&mut self) -> Result<(), String> {
        let scale = format!("--acoustic-scale={}", self.answer.acoustic_scale);
        self.command("lattice-scale", &[&scale, "--lm-scale=1.5", "ark:in.ark", "ark,t:scaled.txt"])?;
        let came: CompactLattice = self.one("scaled.txt")?;
        fs::write(self.folder.join("expected.txt"), &self.answer.scaled).map_err(|error| error.to_string())?;
        let expected: CompactLattice = self.one("expected.txt")?;
        let same = came.states().len() == expected.states().len()
            && came.states().iter().zip(expected.states()).all(|(came, expected)| {
                came.arcs.len() == expected.arcs.len()
                    && came.final_weight.is_some() == expected.final_weight.is_some()
                    && came.arcs.iter().zip(&expected.arcs).all(|(came, expected)| {
                        (came.olabel, came.next_state, &came.weight.alignment)
                            == (expected.olabel, expected.next_state, &expected.weight.alignment)
                            && (came.weight.weight.graph - expected.weight.weight.graph).abs() < 1e-3
                            && (came.weight.weight.acoustic - expected.weight.weight.acoustic).abs() < 1e-3
                    })
            });
        self.expect("costs", same, || format!("{came:?}, expected {expected:?}"));
        Ok(())
    }

    /// The words of the best path are not free.
    fn words_bind(&self) -> bool {
        self.answer.margin.is_none_or(|margin| margin >= 1e-3) && self.answer.disagreement.is_null()
    }

    fn scale(&self) -> String {
        format!("--acoustic-scale={}", self.answer.acoustic_scale)
    }

    fn best_path(&mut self) -> Result<(), String> {
        let (scale, known) = (self.scale(), &self.answer.best_path);
        self.command("lattice-best-path", &[&scale, "ark:in.ark", "ark:words.ark", "ark:ali.ark"])?;
        let (words, alignment) = (self.one::<Vec<i32>>("words.ark")?, self.one::<Vec<i32>>("ali.ark")?);
        if self.words_bind() {
            self.expect("words", words == known.words, || format!("{words:?}, expected {:?}", known.words));
        }
        let scale_of = self.answer.acoustic_scale;
        let all = paths(&self.one::<CompactLattice>("in.ark")?)?;
        let least = all.iter().map(|path| cost(path, scale_of)).fold(f64::INFINITY, f64::min);
        let own = all.iter().filter(|path| path.words == words && path.alignment == alignment);
        let own = own.map(|path| cost(path, scale_of)).fold(f64::INFINITY, f64::min);
        self.expect("cost", (own - least).abs() < COST, || format!("{own}, but the least is {least}"));
        let alone = all.iter().filter(|path| cost(path, scale_of) < least + COST).count() == 1;
        self.expect("alignment", !alone || alignment == known.alignment, || format!("{alignment:?}"));
        // The one path of lattice-1best, and the programs that read it.
        self.command("lattice-1best", &[&scale, "ark:in.ark", "ark:1best.ark"])?;
        self.command("nbest-to-linear", &["ark:1best.ark", "ark:1.ali", "ark:1.tra", "ark:1.lm", "ark:1.ac"])?;
        let total = f64::from(self.one::<f32>("1.lm")?) + scale_of * f64::from(self.one::<f32>("1.ac")?);
        self.expect("lattice-1best", self.one::<Vec<i32>>("1.tra")? == words, || "other words".into());
        self.expect("lattice-1best", (total - least).abs() < COST, || format!("{total}, but the least is {least}"));
        Ok(())
    }

    fn n_best(&mut self) -> Result<(), String> {
        let (n, scale) = (format!("--n={}", self.answer.n), self.scale());
        self.command("lattice-to-nbest", &[&n, &scale, "ark:in.ark", "ark:nbest.ark"])?;
        let mut came = Vec::new();
        for (i, (key, lattice)) in self.read::<CompactLattice>("nbest.ark")?.into_iter().enumerate() {
            self.expect("key", key == format!("utt-{}", i + 1), || key.clone());
            let mut own = paths(&lattice)?;
            self.expect("one path", own.len() == 1, || format!("{key} has {}", own.len()));
            came.extend(own.pop());
        }
        let (known, of) = (&self.answer.nbest, self.answer.acoustic_scale);
        self.expect("paths", came.len() == known.len(), || format!("{} paths, expected {}", came.len(), known.len()));
        for (i, (came, known)) in came.iter().zip(known).enumerate() {
            let (own, expected) = (cost(came, of), cost(known, of));
            self.expect("cost", (own - expected).abs() < COST, || format!("path {i}: {own}, expected {expected}"));
        }
        // All differ, and paths that no other path ties with are the same.
        let all = paths(&self.one::<CompactLattice>("in.ark")?)?;
        for (i, entry) in came.iter().enumerate() {
            let twice = came[..i].iter().filter(|other| same_path(other, entry)).count();
            let there = all.iter().filter(|other| same_path(other, entry)).count();
            self.expect("paths", twice < there, || {
                format!("{entry:?} comes {} times, and {there} are there", twice + 1)
            });
        }
        for entry in known {
            let ties = all.iter().filter(|other| (cost(other, of) - cost(entry, of)).abs() < COST).count();
            let found = came.iter().any(|other| same_path(other, entry));
            self.expect("paths", ties > 1 || found, || format!("no path as {entry:?}"));
        }
        Ok(())
    }

    fn prunes(&mut self) -> Result<(), String> {
        let beam = format!("--beam={}", self.answer.beam);
        self.command("lattice-prune", &[&self.scale(), &beam, "ark:in.ark", "ark:pruned.ark"])?;
        fs::write(self.folder.join("expected.txt"), &self.answer.pruned).map_err(|error| error.to_string())?;
        let expected = paths(&self.one::<CompactLattice>("expected.txt")?)?;
        let came = paths(&self.one::<CompactLattice>("pruned.ark")?)?;
        self.compare_paths("pruned", &expected, &came);
        Ok(())
    }

    fn determinizes(&mut self) -> Result<(), String> {
        let beam = format!("--beam={}", self.answer.beam);
        self.command("lattice-determinize-pruned", &[&self.scale(), &beam, "ark:in.ark", "ark:det.ark"])?;
        let lattice: CompactLattice = self.one("det.ark")?;
        for (i, state) in lattice.states().iter().enumerate() {
            let mut words: Vec<_> = state.arcs.iter().map(|arc| arc.olabel).collect();
            words.sort_unstable();
            let deterministic = words.windows(2).all(|pair| pair[0] != pair[1]) && !words.contains(&0);
            self.expect("deterministic", deterministic, || format!("state {i} has the words {words:?}"));
        }
        let (of, beam) = (self.answer.acoustic_scale, self.answer.beam);
        let mut came = HashMap::new();
        for path in paths(&lattice)? {
            let words = path.words.clone();
            let twice = came.insert(path.words.clone(), path).is_some();
            self.expect("one path", !twice, || format!("{words:?} has two"));
        }
        // All word sequences with their best paths, by enumeration.
        let all = paths(&self.one::<CompactLattice>("in.ark")?)?;
        let mut best: HashMap<&[i32], Vec<&Entry>> = HashMap::new();
        all.iter().for_each(|path| best.entry(&path.words).or_default().push(path));
        let least = all.iter().map(|path| cost(path, of)).fold(f64::INFINITY, f64::min);
        for (words, paths) in &best {
            let own = paths.iter().map(|path| cost(path, of)).fold(f64::INFINITY, f64::min);
            let Some(found) = came.get(*words) else {
                self.expect("in the beam", own > least + beam - BEAM, || format!("no {words:?}, of cost {own}"));
                continue;
            };
            let found_cost = cost(found, of);
            self.expect("cost", (found_cost - own).abs() < COST, || format!("{words:?}: {found_cost}, expected {own}"));
            let is_path = paths.iter().any(|path| {
                path.alignment == found.alignment
                    && (path.graph - found.graph).abs() < COST
                    && (path.acoustic - found.acoustic).abs() < COST / of.min(1.0)
            });
            self.expect("alignment", is_path, || format!("no path of the lattice is {found:?}"));
        }
        for words in came.keys() {
            self.expect("words", best.contains_key(words.as_slice()), || format!("{words:?} is not in the lattice"));
        }
        for known in &self.answer.word_sequences_in_beam {
            if cost(known, of) <= least + beam - BEAM {
                let found = came.get(&known.words);
                let near = found.is_some_and(|found| (cost(found, of) - cost(known, of)).abs() < COST);
                self.expect("in the beam", near, || format!("{found:?}, expected {known:?}"));
            }
        }
        Ok(())
    }

    fn mbr(&mut self) -> Result<(), String> {
        let outputs = ["ark:mbr.tra", "ark:mbr.risk", "ark:mbr.sau", "ark:mbr.times"];
        let scale = self.scale();
        let args: Vec<&str> = [scale.as_str(), "ark:in.ark"].into_iter().chain(outputs).collect();
        self.command("lattice-mbr-decode", &args)?;
        let (words, risk) = (self.one::<Vec<i32>>("mbr.tra")?, f64::from(self.one::<f32>("mbr.risk")?));
        let sausage: Vec<Vec<(i32, f32)>> = self.one("mbr.sau")?;
        let times: Vec<(f32, f32)> = self.one("mbr.times")?;
        let known = &self.answer.mbr;
        let all = paths(&self.one::<CompactLattice>("in.ark")?)?;
        let own_risk = true_risk(&words, &all, self.answer.acoustic_scale);
        if let Some(kaldi) = known.true_risk {
            self.expect("true risk", own_risk <= kaldi + COST, || {
                format!("{own_risk}, but Kaldi's words have {kaldi}")
            });
        }
        if !known.binding {
            return Ok(());
        }
        let ties = known.true_risk.is_some_and(|kaldi| (own_risk - kaldi).abs() < COST);
        self.expect("words", words == known.words || ties, || format!("{words:?}, expected {:?}", known.words));
        self.expect("risk", (risk - known.risk).abs() < COST, || format!("{risk}, expected {}", known.risk));
        if words != known.words {
            return Ok(());
        }
        let as_map = |bin: &[(i32, f64)]| bin.iter().copied().collect::<HashMap<_, _>>();
        self.expect("sausage", sausage.len() == known.sausage.len(), || {
            format!("{} bins, expected {}", sausage.len(), known.sausage.len())
        });
        for (i, (came, known)) in sausage.iter().zip(&known.sausage).enumerate() {
            let came: Vec<_> = came.iter().map(|&(word, posterior)| (word, f64::from(posterior))).collect();
            let (came, known) = (as_map(&came), as_map(known));
            let near = came.keys().chain(known.keys()).all(|word| {
                let of = |bin: &HashMap<i32, f64>| bin.get(word).copied().unwrap_or(0.0);
                (of(&came) - of(&known)).abs() < CONFIDENCE
            });
            self.expect("sausage", near, || format!("bin {i}: {came:?}, expected {known:?}"));
        }
        let expected: Vec<Vec<f32>> = known
            .times
            .split(';')
            .map(|pair| pair.split_whitespace().filter_map(|time| time.parse().ok()).collect())
            .collect();
        let came: Vec<_> = times.iter().map(|&(begin, end)| vec![begin, end]).collect();
        let near = came.len() == expected.len()
            && came.iter().flatten().zip(expected.iter().flatten()).all(|(came, known)| (came - known).abs() < 0.05);
        self.expect("times", near, || format!("{came:?}, expected {expected:?}"));
        Ok(())
    }

    fn ctm(&mut self) -> Result<(), String> {
        for (decode, known) in [(true, &self.answer.ctm_mbr), (false, &self.answer.ctm_onebest)] {
            let option = format!("--decode-mbr={decode}");
            self.command("lattice-to-ctm-conf", &[&option, &self.scale(), "ark:in.ark", "out.ctm"])?;
            let text = self.text("out.ctm")?;
            let came: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().skip(2).collect()).collect();
            // Times and confidences are printed with two decimals, and informative where the words
            // are.
            if !self.answer.mbr.binding || !self.words_bind() {
                continue;
            }
            let word = |line: &[&str]| line.get(2).copied().unwrap_or_default().to_owned();
            let words: Vec<_> = came.iter().map(|line| word(line)).collect();
            let expected: Vec<_> = known.iter().map(|line| line[2].clone()).collect();
            self.expect("words", words == expected, || {
                format!("decode-mbr={decode}: {words:?}, expected {expected:?}")
            });
            for (came, known) in came.iter().zip(known) {
                let near = came.len() == 4
                    && came.iter().zip(known).all(|(came, known)| {
                        let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
                        (number(came) - number(known)).abs() < CONFIDENCE
                    });
                self.expect("line", near, || format!("decode-mbr={decode}: {came:?}, expected {known:?}"));
            }
        }
        Ok(())
    }

    fn posteriors(&mut self) -> Result<(), String> {
        self.command("lattice-arc-post", &[&self.scale(), "ark:in.ark", "post.txt"])?;
        let text = self.text("post.txt")?;
        let came: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').skip(1).collect()).collect();
        let known = &self.answer.arc_post;
        let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
        let mut left: Vec<_> = came.iter().collect();
        for line in known {
            let found = left.iter().position(|came| {
                came.len() == 4
                    && [0, 1, 3].iter().all(|&column| came[column] == line[column])
                    && (number(came[2]) - number(&line[2])).abs() < POSTERIOR
            });
            match found {
                Some(at) => drop(left.remove(at)),
                None => self.differences.push(format!("no line as {line:?} among {came:?}")),
            }
        }
        self.expect("lines", left.is_empty(), || format!("too many: {left:?}"));
        let scaled = fsa::lattice::Lattice::try_from(&self.one::<CompactLattice>("in.ark")?)
            .and_then(|lattice| Ok(lattice.scale(1.0, as_f32(self.answer.acoustic_scale))?.total_scores()[0]))
            .map_err(|error| error.to_string())?;
        let known = self.answer.total_logprob;
        self.expect("total", (scaled - known).abs() < COST, || format!("{scaled}, expected {known}"));
        Ok(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest f32 is wanted")]
fn as_f32(scale: f64) -> f32 {
    scale as f32
}

fn cost(path: &Entry, acoustic_scale: f64) -> f64 {
    path.graph + acoustic_scale * path.acoustic
}

fn same_path(a: &Entry, b: &Entry) -> bool {
    (&a.words, &a.alignment) == (&b.words, &b.alignment)
        && (a.graph - b.graph).abs() < COST
        && (a.acoustic - b.acoustic).abs() < COST
}

/// Every path of a lattice, by following each arc.
fn paths(lattice: &CompactLattice) -> Result<Vec<Entry>, String> {
    const MOST: usize = 1 << 20;
    let (mut all, mut open) = (Vec::new(), Vec::new());
    if let Some(start) = lattice.start() {
        open.push((start, Entry { words: vec![], graph: 0.0, acoustic: 0.0, alignment: vec![] }));
    }
    while let Some((at, path)) = open.pop() {
        let state = &lattice.states()[at];
        let with = |weight: &kaldera::io::lattice::CompactLatticeWeight, word: i32| Entry {
            words: path.words.iter().copied().chain(Some(word).filter(|&word| word != 0)).collect(),
            graph: path.graph + f64::from(weight.weight.graph),
            acoustic: path.acoustic + f64::from(weight.weight.acoustic),
            alignment: path.alignment.iter().chain(&weight.alignment).copied().collect(),
        };
        all.extend(state.final_weight.as_ref().map(|weight| with(weight, 0)));
        open.extend(state.arcs.iter().map(|arc| (arc.next_state, with(&arc.weight, arc.olabel))));
        if all.len() + open.len() > MOST {
            return Err("more paths than can be listed".into());
        }
    }
    Ok(all)
}

/// The expected edit distance of words to the paths.
fn true_risk(words: &[i32], paths: &[Entry], acoustic_scale: f64) -> f64 {
    let least = paths.iter().map(|path| cost(path, acoustic_scale)).fold(f64::INFINITY, f64::min);
    let (mut sum, mut risk) = (0.0, 0.0);
    for path in paths {
        let share = (least - cost(path, acoustic_scale)).exp();
        sum += share;
        risk += share * edit_distance(words, &path.words);
    }
    risk / sum
}

fn edit_distance(a: &[i32], b: &[i32]) -> f64 {
    let mut row: Vec<f64> = (0..=b.len()).map(|i| f64::from(u32::try_from(i).unwrap_or(u32::MAX))).collect();
    for &word in a {
        let mut diagonal = row[0];
        row[0] += 1.0;
        for (i, &other) in b.iter().enumerate() {
            let least = (diagonal + f64::from(u8::from(word != other))).min(row[i] + 1.0).min(row[i + 1] + 1.0);
            diagonal = std::mem::replace(&mut row[i + 1], least);
        }
    }
    row[b.len()]
}

fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes().filter(|&letter| letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err(format!("the case itself is damaged: byte {letter} in base64")),
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap_or_default());
            bits &= (1 << count) - 1;
        }
    }
    Ok(bytes)
}
