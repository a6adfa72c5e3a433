//! Answers `benches/peers/decoder.py` with the score and the texts that a case has found:
//! `decoder_cases FOLDER`. With `write` before the folder, this adds to it what is made here: the
//! synthetic posteriors, hot words and labels, and HLG. `decoder_cases score` counts word errors: it
//! reads lines `REFERENCE TAB HYPOTHESIS`.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufReader, stdin};
use std::path::Path;

use fsa::dense::DenseOptions;
use fsa::graphs::{ArpaOptions, HlgOptions, NgramModel, OutOfVocabulary, WordBoundary, make_hlg};
use fsa::io::{OpenFstBinary, SymbolTable};
use kaldera_benches::on_demand::serve;
use kaldera_benches::random::Random;
use kaldera_decoder::align::{AlignOptions, forced_align};
use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, NoModel, SpellingTree};
use kaldera_decoder::graph::{GraphOptions, GraphRecognizer};
use kaldera_decoder::score::{Counts, Rules, score_words};
use kaldera_decoder::{FrameTimes, LogProbs, Recognition, Vocabulary, log_softmax};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Synthetic utterances of characters: the blank, a space, and the characters from this one on.
const UTTERANCES: usize = 2;
const FRAMES: usize = 500;
const CHARACTERS: usize = 100;
const FIRST_CHARACTER: u32 = 0x4E00;
const SPACE: usize = 1;
const HOT_WORDS: usize = 200;

/// The alignment: labels and classes.
const LABELS: usize = 60;
const CLASSES: usize = 500;

const WORD_BOUNDARY: &str = "<wb>";
const ACOUSTIC_SCALE: f32 = 1.25;

fn main() -> Fallible<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match &arguments[..] {
        [score] if score == "score" => score_lines(),
        [write, folder] if write == "write" => {
            let folder = Path::new(folder);
            write_synthetic(folder)?;
            write_hlg(folder)
        }
        [folder] => {
            let folder = Path::new(folder);
            serve(|name| case(name, folder).map(|case| case.expect("the input")), answer)?;
            Ok(())
        }
        _ => Err("give the folder of the inputs".into()),
    }
}

/// The sum of scores, and a text for each utterance.
struct Found {
    score: f64,
    texts: Vec<String>,
}

type Case = Box<dyn FnMut() -> Fallible<Found>>;

fn answer(case: &mut Case, times: usize) -> String {
    let mut found = None;
    for _ in 0..times {
        found = Some(case().expect("a result"));
    }
    found.map_or_else(|| "0".to_owned(), |found| format!("{}\t{}", found.score, found.texts.join("\t")))
}

fn case(name: &str, folder: &Path) -> Option<Fallible<Case>> {
    let of_words = CtcDecoderOptions::pyctcdecode().with_beam_size(20).with_n_best(1);
    Some(match name {
        "characters" => characters(folder, false),
        "characters, 200 hot words" => characters(folder, true),
        "spelled words" => words(folder, of_words, false),
        "spelled words, 200 hot words" => words(folder, of_words, true),
        "alignment" => alignment(folder),
        "lexicon, best alignment" => lexicon(folder, 50.0, false),
        "lexicon, sum of alignments" => lexicon(folder, 20.0, true),
        "HLG, one best" => hlg(folder, 0.0),
        "HLG, lattice" => hlg(folder, 8.0),
        _ => return None,
    })
}

fn characters(folder: &Path, hot: bool) -> Fallible<Case> {
    let vocabulary = Vocabulary::pyctcdecode(labels())?;
    // A hot word as likely as pyctcdecode's 10 would be heard everywhere: here its beginning counts too.
    let options = CtcDecoderOptions::default().with_word_score(0.0).with_hotword_weight(2.0);
    let mut decoder = CtcDecoder::new(vocabulary, options)?;
    if hot {
        decoder = decoder.with_hot_texts(fs::read_to_string(folder.join("hot_words.txt"))?.lines())?;
    }
    each_utterance(folder, move |log_probs| Ok(decoder.decode(log_probs)?))
}

fn words(folder: &Path, options: CtcDecoderOptions, hot: bool) -> Fallible<Case> {
    let mut decoder = CtcDecoder::<NoModel>::with_words(Vocabulary::pyctcdecode(labels())?, options, None)?;
    if hot {
        decoder = decoder.with_hot_texts(fs::read_to_string(folder.join("hot_words.txt"))?.lines())?;
    }
    each_utterance(folder, move |log_probs| Ok(decoder.decode(log_probs)?))
}

fn each_utterance(folder: &Path, decode: impl Fn(&LogProbs<'_>) -> Fallible<Recognition> + 'static) -> Fallible<Case> {
    let values = read_floats(&folder.join("characters.f32"))?;
    let utterances = values.chunks(FRAMES * CHARACTERS).map(|part| (String::new(), part.to_vec())).collect();
    Ok(decoding(utterances, CHARACTERS, 1.0, decode))
}

/// The real recordings: files of their names with this ending.
fn each_recording(
    folder: &Path,
    ending: &str,
    (num_tokens, scale): (usize, f64),
    decode: impl Fn(&LogProbs<'_>) -> Fallible<Recognition> + 'static,
) -> Fallible<Case> {
    let names = fs::read_to_string(folder.join("recordings.txt"))?;
    let read = |name: &str| Ok((name.to_owned(), read_floats(&folder.join(format!("{name}.{ending}")))?));
    let recordings = names.lines().map(read).collect::<Fallible<Vec<_>>>()?;
    Ok(decoding(recordings, num_tokens, scale, decode))
}

fn decoding(
    utterances: Vec<(String, Vec<f32>)>,
    num_tokens: usize,
    scale: f64,
    decode: impl Fn(&LogProbs<'_>) -> Fallible<Recognition> + 'static,
) -> Case {
    Box::new(move || {
        let mut found = Found { score: 0.0, texts: vec![] };
        for (name, values) in &utterances {
            let result = decode(&LogProbs::new(name, values, num_tokens)?)?;
            let best = result.best().ok_or("no hypothesis")?;
            found.score += best.scores.acoustic * scale + best.scores.extra();
            found.texts.push(best.text());
        }
        Ok(found)
    })
}

fn alignment(folder: &Path) -> Fallible<Case> {
    let values = read_floats(&folder.join("alignment.f32"))?;
    let labels = fs::read_to_string(folder.join("alignment.labels"))?;
    let labels = labels.split_whitespace().map(str::parse).collect::<Result<Vec<i32>, _>>()?;
    Ok(Box::new(move || {
        let log_probs = LogProbs::new("", &values, CLASSES)?;
        let found = forced_align(&log_probs, &labels, &AlignOptions::default(), &FrameTimes::default())?;
        Ok(Found { score: found.score, texts: vec![] })
    }))
}

/// Exactly one boundary ends each word, so that the vocabulary has no separator; recordings end with
/// one more, which the network does not have.
fn lexicon(folder: &Path, beam_threshold: f64, log_add: bool) -> Fallible<Case> {
    let tokens: SymbolTable = fs::read_to_string(folder.join("tokens.txt"))?.parse()?;
    let lexicon = fs::read_to_string(folder.join("lexicon.txt"))?;
    let spelled: String = lexicon.lines().map(|line| format!("{line} {WORD_BOUNDARY}\n")).collect();
    let mut symbols = SymbolTable::default();
    let tree = SpellingTree::read(&spelled, |token| tokens.find(token), &mut symbols)?;
    let arpa = BufReader::new(File::open(folder.join("lm.arpa"))?);
    let model = NgramModel::read(arpa, &mut symbols, &ArpaOptions::default(), &mut |_| {})?;
    let tree = tree.smeared(&model);
    let options = CtcDecoderOptions::flashlight().with_lm_weight(0.8).with_word_score(0.6);
    let options = options.with_beam_size(200).with_beam_threshold(beam_threshold).with_log_add(log_add);
    let decoder = CtcDecoder::with_lexicon(Vocabulary::from_symbols(&tokens, 0)?, options, tree, Some(model))?;
    each_recording(folder, "ended", (tokens.len(), 1.0), move |log_probs| Ok(decoder.decode(log_probs)?))
}

fn hlg(folder: &Path, output_beam: f32) -> Fallible<Case> {
    let graph = OpenFstBinary::read(&fs::read(folder.join("hlg.fst"))?)?.graph;
    let words: SymbolTable = fs::read_to_string(folder.join("words.txt"))?.parse()?;
    let tokens: SymbolTable = fs::read_to_string(folder.join("tokens.txt"))?.parse()?;
    let search = DenseOptions::default()
        .with_search_beam(20.0)
        .with_output_beam(output_beam)
        .with_min_active_states(20)
        .with_max_active_states(7000);
    let options = GraphOptions::default().with_search(search).with_acoustic_scale(ACOUSTIC_SCALE);
    let recognizer = GraphRecognizer::new(graph, Some(words), options)?;
    let scale = (tokens.len(), f64::from(ACOUSTIC_SCALE));
    each_recording(folder, "f32", scale, move |log_probs| Ok(recognizer.decode(log_probs)?))
}

/// The labels of the synthetic utterances, as pyctcdecode has them.
fn labels() -> Vec<String> {
    let characters = (FIRST_CHARACTER..).filter_map(char::from_u32).map(String::from);
    [String::new(), " ".to_owned()].into_iter().chain(characters).take(CHARACTERS).collect()
}

/// Scores of words of 3 to 8 characters; a token is held for up to 3 frames, and up to 4 blanks
/// follow. Half of the hot words are among those that were said.
fn write_synthetic(folder: &Path) -> Fallible<()> {
    let (mut random, labels) = (Random(34), labels());
    let (mut values, mut said) = (vec![], BTreeSet::new());
    for _ in 0..UTTERANCES {
        let mut path = vec![0; random.between(1, 4)];
        while path.len() < FRAMES {
            let word = word(&mut random);
            for &token in word.iter().chain([&SPACE]) {
                path.extend(vec![token; random.between(1, 4)]);
                path.extend(vec![0; random.between(1, 5)]);
            }
            said.insert(word);
        }
        for &peak in &path[..FRAMES] {
            let row = values.len();
            values.extend((0..CHARACTERS).map(|_| (4.0 * random.uniform()) as f32));
            values[row + peak] += (4.0 + 5.0 * random.uniform()) as f32;
        }
    }
    log_softmax(&mut values, CHARACTERS);
    write_floats(&folder.join("characters.f32"), &values)?;

    let mut hot: Vec<Vec<usize>> = said.into_iter().collect();
    random.shuffle(&mut hot);
    hot.truncate(HOT_WORDS / 2);
    hot.extend((hot.len()..HOT_WORDS).map(|_| word(&mut random)));
    let spell = |word: &Vec<usize>| word.iter().map(|&token| &*labels[token]).collect::<String>() + "\n";
    fs::write(folder.join("hot_words.txt"), hot.iter().map(spell).collect::<String>())?;

    let mut values: Vec<f32> = (0..FRAMES * CLASSES).map(|_| (4.0 * random.uniform()) as f32).collect();
    log_softmax(&mut values, CLASSES);
    write_floats(&folder.join("alignment.f32"), &values)?;
    let targets: Vec<_> = (0..LABELS).map(|_| random.between(1, CLASSES)).collect();
    Ok(fs::write(folder.join("alignment.labels"), spaced(&targets))?)
}

fn word(random: &mut Random) -> Vec<usize> {
    (0..random.between(3, 9)).map(|_| random.between(SPACE + 1, CHARACTERS)).collect()
}

fn write_hlg(folder: &Path) -> Fallible<()> {
    let open = |name: &str| Ok::<_, std::io::Error>(BufReader::new(File::open(folder.join(name))?));
    let tokens: SymbolTable = fs::read_to_string(folder.join("tokens.txt"))?.parse()?;
    let mut options = HlgOptions::default();
    options.lexicon.tokens = OutOfVocabulary::Refuse;
    options.lexicon.word_boundary = Some(WordBoundary::new(WORD_BOUNDARY));
    let (lexicon, arpa) = (open("lexicon.txt")?, open("lm.arpa")?);
    let file = make_hlg(tokens, SymbolTable::default(), lexicon, arpa, &options, &mut |_| {})?.to_openfst()?;
    if let Some(words) = &file.output_symbols {
        fs::write(folder.join("words.txt"), words.to_string())?;
    }
    // The tables are in files of their own, as kaldifst reads none.
    Ok(fs::write(folder.join("hlg.fst"), OpenFstBinary::new(file.graph).write()?)?)
}

fn score_lines() -> Fallible<()> {
    let mut total = Counts::default();
    for line in stdin().lines() {
        let line = line?;
        let (reference, hypothesis) = line.split_once('\t').ok_or("a line is REFERENCE TAB HYPOTHESIS")?;
        total += score_words(reference, hypothesis, &Rules::levenshtein())?.counts;
    }
    println!("{} {}", total.errors(), total.words());
    Ok(())
}

fn spaced(numbers: &[impl Display]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn read_floats(path: &Path) -> Fallible<Vec<f32>> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}

fn write_floats(path: &Path, values: &[f32]) -> Fallible<()> {
    Ok(fs::write(path, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())?)
}
