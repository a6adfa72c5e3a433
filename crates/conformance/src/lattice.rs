//! Kaldi's programs on lattices: `decode_graph/lattice.jsonl`.
//!
//! Every case is a lattice and the answers of Kaldi's programs for it; each program is run as a
//! separate command on the same lattice. The rules are in the README of the answers: costs within
//! 1e-3, best words free where two paths tie, words of minimum Bayes risk free where Kaldi's own
//! risk is not the true one, but then of no greater true risk.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use kaldera::decoder::score::edit_distance;
use kaldera::fsa;
use kaldera::io::lattice::{CompactLattice, CompactLatticeWeight, Lattice};
use kaldera::io::{Holder, SequentialReader};
use serde::Deserialize;

use crate::{Case, Differences, Error, Settings, Stop, Verdict, base64, near, single, verdict};

/// Costs agree within this.
const COST: f64 = 1e-3;
/// Sequences this near to the beam may be there or not.
const BEAM: f64 = 1e-2;
/// Confidences of minimum Bayes risk agree within this.
const CONFIDENCE: f64 = 2e-2;
/// Posteriors are printed with seven digits, of sums in another order.
const POSTERIOR: f64 = 1e-4;
/// Times agree within this.
const TIME: f32 = 0.05;

/// Runs cases of the file.
pub(crate) fn run(settings: &Settings, _: &Path, cases: &[Case]) -> Result<Vec<Verdict>, Error> {
    cases.iter().map(|case| judge(settings, case)).collect()
}

fn judge(settings: &Settings, case: &Case) -> Result<Verdict, Error> {
    let answer = match Answer::deserialize(&case.value) {
        Ok(answer) => answer,
        Err(error) => return Ok(Verdict::fails(format!("the case itself is damaged: {error}"))),
    };
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("in.ark"), &answer.lattice)?;
    let check = Check { settings, folder: folder.path(), answer: &answer, scale: answer.acoustic_scale };
    Ok(verdict::judge(|| Ok(check.all())))
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

/// A path of a lattice.
#[derive(Deserialize, Debug)]
pub(crate) struct Entry {
    pub(crate) words: Vec<i32>,
    pub(crate) graph: f64,
    pub(crate) acoustic: f64,
    pub(crate) alignment: Vec<i32>,
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
    /// The acoustic scale.
    scale: f64,
}

impl<'a> Check<'a> {
    fn all(&self) -> Vec<String> {
        type Step<'a> = fn(&Check<'a>, &mut Differences) -> Result<(), Stop>;
        let steps: [(&str, Step<'a>); 9] = [
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
        let run = |(name, step): (&str, Step<'a>)| {
            let mut differences = Differences::default();
            if let Err(Stop::Refused(why) | Stop::Damaged(why)) = step(self, &mut differences) {
                differences.0.push(why);
            }
            differences.0.into_iter().map(|difference| format!("{name}: {difference}")).collect::<Vec<_>>()
        };
        steps.into_iter().flat_map(run).collect()
    }

    /// Runs a program in the folder.
    fn command(&self, tool: &str, args: &[&str]) -> Result<(), Stop> {
        let output = self.settings.command(tool, self.folder).args(args).output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("(silent)");
        Err(Stop::Refused(format!("{args:?} ended with {}: {last}", output.status)))
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, Stop> {
        fs::read(self.folder.join(name)).map_err(|error| Stop::Refused(format!("{name}: {error}")))
    }

    fn text(&self, name: &str) -> Result<String, Stop> {
        String::from_utf8(self.bytes(name)?).map_err(|error| Stop::Refused(format!("{name}: {error}")))
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), Stop> {
        Ok(fs::write(self.folder.join(name), content)?)
    }

    /// The objects of an archive.
    fn read<T: Holder>(&self, name: &str) -> Result<Vec<(String, T)>, Stop> {
        Ok(SequentialReader::from_archive(self.folder.join(name))?.collect::<Result<_, _>>()?)
    }

    fn one<T: Holder>(&self, name: &str) -> Result<T, Stop> {
        let mut objects = self.read(name)?;
        if objects.len() != 1 {
            return Err(Stop::Refused(format!("{name} has {} objects and should have one", objects.len())));
        }
        Ok(objects.remove(0).1)
    }

    /// The paths of the one lattice of an archive.
    fn paths(&self, name: &str) -> Result<Vec<Entry>, Stop> {
        paths(&self.one(name)?)
    }

    fn option(&self) -> String {
        format!("--acoustic-scale={}", self.scale)
    }

    fn cost(&self, path: &Entry) -> f64 {
        path.graph + self.scale * path.acoustic
    }

    /// The least cost of some paths.
    fn least<'b>(&self, paths: impl IntoIterator<Item = &'b Entry>) -> f64 {
        paths.into_iter().map(|path| self.cost(path)).fold(f64::INFINITY, f64::min)
    }

    /// The words of the best path are not free.
    fn words_bind(&self) -> bool {
        self.answer.margin.is_none_or(|margin| margin >= COST) && self.answer.disagreement.is_null()
    }

    fn copies(&self, differences: &mut Differences) -> Result<(), Stop> {
        let answer = self.answer;
        self.command("lattice-copy", &["ark:in.ark", "ark:compact.ark"])?;
        self.command("lattice-copy", &["ark:in.ark", "ark,t:compact.txt"])?;
        let (known, came) = (base64::decode(&answer.binary_compact)?, self.bytes("compact.ark")?);
        let sizes = || format!("binary compact: {} bytes, expected {}", came.len(), known.len());
        differences.check(came == known, sizes);
        let (known_text, came) = (&answer.text_compact, self.text("compact.txt")?);
        differences.check(came == *known_text, || format!("text compact: {came:?}, expected {known_text:?}"));
        // Every form is read, and is the same lattice.
        let expected = self.paths("in.ark")?;
        self.write("kaldi-compact.ark", &known)?;
        self.write("kaldi-lattice.ark", base64::decode(&answer.binary_lattice)?)?;
        self.write("kaldi-lattice.txt", &answer.text_lattice)?;
        for form in ["kaldi-compact.ark", "kaldi-lattice.ark", "kaldi-lattice.txt"] {
            for (compact, text) in [(true, false), (true, true), (false, false), (false, true)] {
                let (source, out) = (format!("ark:{form}"), if text { "ark,t:out.ark" } else { "ark:out.ark" });
                self.command("lattice-copy", &[&format!("--write-compact={compact}"), &source, out])?;
                let what = format!("{form}, compact {compact}, text {text}");
                compare_paths(&what, &expected, &self.paths("out.ark")?, differences);
                let is_plain = self.bytes("out.ark")?.windows(9).any(|window| window == b"\0lattice4");
                let right = text || compact != is_plain;
                differences.check(right, || format!("the kind of lattice: {form}: compact {compact}"));
            }
            let came = paths(&CompactLattice::from(&self.one::<Lattice>(form)?))?;
            compare_paths(&format!("{form} as a lattice"), &expected, &came, differences);
        }
        Ok(())
    }

    fn scales(&self, differences: &mut Differences) -> Result<(), Stop> {
        self.command("lattice-scale", &[&self.option(), "--lm-scale=1.5", "ark:in.ark", "ark,t:scaled.txt"])?;
        self.write("expected.txt", &self.answer.scaled)?;
        let (came, expected): (CompactLattice, CompactLattice) = (self.one("scaled.txt")?, self.one("expected.txt")?);
        let arcs = |lattice: &CompactLattice| {
            let states = lattice.states().iter().enumerate();
            let arcs = states.flat_map(|(from, state)| state.arcs.iter().map(move |arc| (from, arc.clone())));
            arcs.collect::<Vec<_>>()
        };
        let finals = |lattice: &CompactLattice| {
            lattice.states().iter().map(|state| state.final_weight.is_some()).collect::<Vec<_>>()
        };
        let (own, known) = (arcs(&came), arcs(&expected));
        let same = finals(&came) == finals(&expected)
            && own.len() == known.len()
            && own.iter().zip(&known).all(|((from, came), (known_from, known))| {
                let (a, b) = (&came.weight.weight, &known.weight.weight);
                (from, came.olabel, came.next_state, &came.weight.alignment)
                    == (known_from, known.olabel, known.next_state, &known.weight.alignment)
                    && near(b.graph.into(), a.graph.into(), COST)
                    && near(b.acoustic.into(), a.acoustic.into(), COST)
            });
        differences.check(same, || format!("costs: {came:?}, expected {expected:?}"));
        Ok(())
    }

    fn best_path(&self, differences: &mut Differences) -> Result<(), Stop> {
        let (scale, known) = (self.option(), &self.answer.best_path);
        self.command("lattice-best-path", &[&scale, "ark:in.ark", "ark:words.ark", "ark:ali.ark"])?;
        let (words, alignment) = (self.one::<Vec<i32>>("words.ark")?, self.one::<Vec<i32>>("ali.ark")?);
        let right = words == known.words || !self.words_bind();
        differences.check(right, || format!("words: {words:?}, expected {:?}", known.words));
        let all = self.paths("in.ark")?;
        let least = self.least(&all);
        let own = self.least(all.iter().filter(|path| path.words == words && path.alignment == alignment));
        differences.check(near(least, own, COST), || format!("cost: {own}, but the least is {least}"));
        let alone = all.iter().filter(|path| self.cost(path) < least + COST).count() == 1;
        differences.check(!alone || alignment == known.alignment, || format!("alignment: {alignment:?}"));
        // The one path of lattice-1best, and the programs that read it.
        self.command("lattice-1best", &[&scale, "ark:in.ark", "ark:1best.ark"])?;
        self.command("nbest-to-linear", &["ark:1best.ark", "ark:1.ali", "ark:1.tra", "ark:1.lm", "ark:1.ac"])?;
        let total = f64::from(self.one::<f32>("1.lm")?) + self.scale * f64::from(self.one::<f32>("1.ac")?);
        differences.check(self.one::<Vec<i32>>("1.tra")? == words, || "lattice-1best: other words".into());
        differences.check(near(least, total, COST), || format!("lattice-1best: {total}, but the least is {least}"));
        Ok(())
    }

    fn n_best(&self, differences: &mut Differences) -> Result<(), Stop> {
        let n = format!("--n={}", self.answer.n);
        self.command("lattice-to-nbest", &[&n, &self.option(), "ark:in.ark", "ark:nbest.ark"])?;
        let mut came = Vec::new();
        for (i, (key, lattice)) in self.read::<CompactLattice>("nbest.ark")?.into_iter().enumerate() {
            differences.check(key == format!("utt-{}", i + 1), || format!("key: {key}"));
            let mut own = paths(&lattice)?;
            differences.check(own.len() == 1, || format!("one path: {key} has {}", own.len()));
            came.extend(own.pop());
        }
        let known = &self.answer.nbest;
        let counts = || format!("paths: {} paths, expected {}", came.len(), known.len());
        differences.check(came.len() == known.len(), counts);
        for (i, (came, known)) in came.iter().zip(known).enumerate() {
            let (own, expected) = (self.cost(came), self.cost(known));
            differences.check(near(expected, own, COST), || format!("cost: path {i}: {own}, expected {expected}"));
        }
        // All differ, and paths that no other path ties with are the same.
        let all = self.paths("in.ark")?;
        for (i, entry) in came.iter().enumerate() {
            let times = came[..=i].iter().filter(|other| same_path(other, entry)).count();
            let there = all.iter().filter(|other| same_path(other, entry)).count();
            let tell = || format!("paths: {entry:?} comes {times} times, and {there} are there");
            differences.check(times <= there, tell);
        }
        for entry in known {
            let ties = all.iter().filter(|other| near(self.cost(entry), self.cost(other), COST)).count();
            let found = came.iter().any(|other| same_path(other, entry));
            differences.check(ties > 1 || found, || format!("paths: no path as {entry:?}"));
        }
        Ok(())
    }

    fn prunes(&self, differences: &mut Differences) -> Result<(), Stop> {
        let beam = format!("--beam={}", self.answer.beam);
        self.command("lattice-prune", &[&self.option(), &beam, "ark:in.ark", "ark:pruned.ark"])?;
        self.write("expected.txt", &self.answer.pruned)?;
        compare_paths("pruned", &self.paths("expected.txt")?, &self.paths("pruned.ark")?, differences);
        Ok(())
    }

    fn determinizes(&self, differences: &mut Differences) -> Result<(), Stop> {
        let beam = format!("--beam={}", self.answer.beam);
        self.command("lattice-determinize-pruned", &[&self.option(), &beam, "ark:in.ark", "ark:det.ark"])?;
        let lattice: CompactLattice = self.one("det.ark")?;
        for (i, state) in lattice.states().iter().enumerate() {
            let mut words: Vec<_> = state.arcs.iter().map(|arc| arc.olabel).collect();
            words.sort_unstable();
            let deterministic = words.windows(2).all(|pair| pair[0] != pair[1]) && !words.contains(&0);
            differences.check(deterministic, || format!("deterministic: state {i} has the words {words:?}"));
        }
        let mut came = HashMap::new();
        for path in paths(&lattice)? {
            let words = path.words.clone();
            let twice = came.insert(path.words.clone(), path).is_some();
            differences.check(!twice, || format!("one path: {words:?} has two"));
        }
        // All word sequences with their best paths, by enumeration.
        let all = self.paths("in.ark")?;
        let mut best: HashMap<&[i32], Vec<&Entry>> = HashMap::new();
        all.iter().for_each(|path| best.entry(&path.words).or_default().push(path));
        let sure = self.least(&all) + self.answer.beam - BEAM;
        for (words, paths) in &best {
            let own = self.least(paths.iter().copied());
            let Some(found) = came.get(*words) else {
                differences.check(own > sure, || format!("in the beam: no {words:?}, of cost {own}"));
                continue;
            };
            let cost = self.cost(found);
            differences.check(near(own, cost, COST), || format!("cost: {words:?}: {cost}, expected {own}"));
            let is_path = paths.iter().any(|path| {
                path.alignment == found.alignment
                    && near(path.graph, found.graph, COST)
                    && near(path.acoustic, found.acoustic, COST / self.scale.min(1.0))
            });
            differences.check(is_path, || format!("alignment: no path of the lattice is {found:?}"));
        }
        for words in came.keys() {
            let there = best.contains_key(words.as_slice());
            differences.check(there, || format!("words: {words:?} is not in the lattice"));
        }
        for known in self.answer.word_sequences_in_beam.iter().filter(|known| self.cost(known) <= sure) {
            let found = came.get(&known.words);
            let same = found.is_some_and(|found| near(self.cost(known), self.cost(found), COST));
            differences.check(same, || format!("in the beam: {found:?}, expected {known:?}"));
        }
        Ok(())
    }

    fn mbr(&self, differences: &mut Differences) -> Result<(), Stop> {
        let outputs = ["ark:mbr.tra", "ark:mbr.risk", "ark:mbr.sau", "ark:mbr.times"];
        self.command("lattice-mbr-decode", &[&[&self.option(), "ark:in.ark"], &outputs[..]].concat())?;
        let (words, risk) = (self.one::<Vec<i32>>("mbr.tra")?, f64::from(self.one::<f32>("mbr.risk")?));
        let sausage: Vec<Vec<(i32, f32)>> = self.one("mbr.sau")?;
        let times: Vec<(f32, f32)> = self.one("mbr.times")?;
        let known = &self.answer.mbr;
        let own_risk = self.true_risk(&words, &self.paths("in.ark")?);
        if let Some(kaldi) = known.true_risk {
            let tell = || format!("true risk: {own_risk}, but Kaldi's words have {kaldi}");
            differences.check(own_risk <= kaldi + COST, tell);
        }
        if !known.binding {
            return Ok(());
        }
        let ties = known.true_risk.is_some_and(|kaldi| near(kaldi, own_risk, COST));
        let right = words == known.words || ties;
        differences.check(right, || format!("words: {words:?}, expected {:?}", known.words));
        differences.check(near(known.risk, risk, COST), || format!("risk: {risk}, expected {}", known.risk));
        if words != known.words {
            return Ok(());
        }
        let counts = || format!("sausage: {} bins, expected {}", sausage.len(), known.sausage.len());
        differences.check(sausage.len() == known.sausage.len(), counts);
        for (i, (came, known)) in sausage.iter().zip(&known.sausage).enumerate() {
            let came: HashMap<_, _> = came.iter().map(|&(word, posterior)| (word, f64::from(posterior))).collect();
            let known: HashMap<_, _> = known.iter().copied().collect();
            let same = came.keys().chain(known.keys()).all(|word| {
                let of = |bin: &HashMap<i32, f64>| bin.get(word).copied().unwrap_or(0.0);
                near(of(&known), of(&came), CONFIDENCE)
            });
            differences.check(same, || format!("sausage: bin {i}: {came:?}, expected {known:?}"));
        }
        let pairs = known.times.split(';');
        let numbers = |pair: &str| pair.split_whitespace().filter_map(|time| time.parse().ok()).collect::<Vec<f32>>();
        let expected: Vec<_> = pairs.map(numbers).collect();
        let came: Vec<_> = times.iter().map(|&(begin, end)| vec![begin, end]).collect();
        let same = came.len() == expected.len()
            && came.iter().flatten().zip(expected.iter().flatten()).all(|(came, known)| (came - known).abs() < TIME);
        differences.check(same, || format!("times: {came:?}, expected {expected:?}"));
        Ok(())
    }

    fn ctm(&self, differences: &mut Differences) -> Result<(), Stop> {
        for (decode, known) in [(true, &self.answer.ctm_mbr), (false, &self.answer.ctm_onebest)] {
            let option = format!("--decode-mbr={decode}");
            self.command("lattice-to-ctm-conf", &[&option, &self.option(), "ark:in.ark", "out.ctm"])?;
            let text = self.text("out.ctm")?;
            let came: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().skip(2).collect()).collect();
            // Times and confidences are printed with two decimals, and informative where the words
            // are.
            if !self.answer.mbr.binding || !self.words_bind() {
                continue;
            }
            let words: Vec<_> = came.iter().map(|line| line.get(2).copied().unwrap_or_default()).collect();
            let expected: Vec<_> = known.iter().map(|line| &*line[2]).collect();
            let tell = || format!("words: decode-mbr={decode}: {words:?}, expected {expected:?}");
            differences.check(words == expected, tell);
            for (came, known) in came.iter().zip(known) {
                let numbers = came.iter().zip(known);
                let same = came.len() == 4
                    && numbers.into_iter().all(|(came, known)| near(number(known), number(came), CONFIDENCE));
                differences.check(same, || format!("line: decode-mbr={decode}: {came:?}, expected {known:?}"));
            }
        }
        Ok(())
    }

    fn posteriors(&self, differences: &mut Differences) -> Result<(), Stop> {
        self.command("lattice-arc-post", &[&self.option(), "ark:in.ark", "post.txt"])?;
        let text = self.text("post.txt")?;
        let came: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').skip(1).collect()).collect();
        let mut left: Vec<_> = came.iter().collect();
        for line in &self.answer.arc_post {
            let found = left.iter().position(|came| {
                came.len() == 4
                    && [0, 1, 3].iter().all(|&column| came[column] == line[column])
                    && near(number(&line[2]), number(came[2]), POSTERIOR)
            });
            match found {
                Some(at) => drop(left.remove(at)),
                None => differences.check(false, || format!("no line as {line:?} among {came:?}")),
            }
        }
        differences.check(left.is_empty(), || format!("lines: too many: {left:?}"));
        let lattice = fsa::lattice::Lattice::try_from(&self.one::<CompactLattice>("in.ark")?)?;
        let (came, known) = (lattice.scale(1.0, single(self.scale))?.total_scores()[0], self.answer.total_logprob);
        differences.check(near(known, came, COST), || format!("total: {came}, expected {known}"));
        Ok(())
    }

    /// The expected edit distance of words to the paths.
    fn true_risk(&self, words: &[i32], paths: &[Entry]) -> f64 {
        let least = self.least(paths);
        let shares = paths.iter().map(|path| (least - self.cost(path)).exp());
        let distances = paths.iter().map(|path| edit_distance(words, &path.words) as f64);
        shares.clone().zip(distances).map(|(share, distance)| share * distance).sum::<f64>() / shares.sum::<f64>()
    }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// The same paths: words, alignment and costs, in any order.
fn compare_paths(what: &str, expected: &[Entry], came: &[Entry], differences: &mut Differences) {
    let mut left: Vec<_> = came.iter().collect();
    for entry in expected {
        match left.iter().position(|other| same_path(other, entry)) {
            Some(at) => drop(left.swap_remove(at)),
            None => differences.check(false, || format!("{what}: no path as {entry:?}")),
        }
    }
    differences.check(left.is_empty(), || format!("{what}: too many paths: {left:?}"));
}

fn same_path(a: &Entry, b: &Entry) -> bool {
    (&a.words, &a.alignment) == (&b.words, &b.alignment)
        && near(a.graph, b.graph, COST)
        && near(a.acoustic, b.acoustic, COST)
}

/// Every path of a lattice, by following each arc.
pub(crate) fn paths(lattice: &CompactLattice) -> Result<Vec<Entry>, Stop> {
    const MOST: usize = 1 << 20;
    let (mut all, mut open) = (Vec::new(), Vec::new());
    let empty = Entry { words: vec![], graph: 0.0, acoustic: 0.0, alignment: vec![] };
    open.extend(lattice.start().map(|start| (start, empty)));
    while let Some((at, path)) = open.pop() {
        let state = &lattice.states()[at];
        let with = |weight: &CompactLatticeWeight, word: i32| Entry {
            words: path.words.iter().copied().chain(Some(word).filter(|&word| word != 0)).collect(),
            graph: path.graph + f64::from(weight.weight.graph),
            acoustic: path.acoustic + f64::from(weight.weight.acoustic),
            alignment: path.alignment.iter().chain(&weight.alignment).copied().collect(),
        };
        all.extend(state.final_weight.as_ref().map(|weight| with(weight, 0)));
        open.extend(state.arcs.iter().map(|arc| (arc.next_state, with(&arc.weight, arc.olabel))));
        if all.len() + open.len() > MOST {
            return Err(Stop::Refused("more paths than can be listed".into()));
        }
    }
    Ok(all)
}
