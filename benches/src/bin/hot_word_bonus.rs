//! How many words are wrong with hot words of each bonus, from which the default was chosen:
//! `hot_word_bonus MODEL DATA`, where MODEL is what `kaldera model digits` writes, and DATA a folder
//! with `fsdd` and `realset`. Each decoder gets hot words that are said, and such that nobody says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use fsa::graphs::NgramModel;
use fsa::io::SymbolTable;
use kaldera::Recognizer;
use kaldera::feat::Audio;
use kaldera::io::wave::WaveData;
use kaldera_benches::random::Random;
use kaldera_decoder::ctc::{CtcDecoder, CtcDecoderOptions, NoModel, SpellingTree};
use kaldera_decoder::score::{Counts, Rules, score_words};
use kaldera_decoder::transducer::{EncoderOutput, Fusion, TransducerModel, TransducerOptions, modified_beam_search};
use kaldera_decoder::{Error, FrameTimes, LogProbs, Vocabulary};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

const BONUSES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0];
/// Hot words that nobody says, for each recording.
const UNSAID: usize = 10;
/// Hot words of recordings have at least so many characters.
const SHORTEST: usize = 4;
const BEAM: usize = 50;

/// A recording, or several in one.
struct Utterance {
    log_probs: Vec<f32>,
    reference: String,
    said: Vec<String>,
    unsaid: Vec<String>,
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, data] = &arguments[..] else { return Err("give MODEL and DATA".into()) };
    println!("| decoder | hot words |{}", BONUSES.map(|bonus| format!(" {bonus} |")).concat());
    println!("|---|---|{}", "--:|".repeat(BONUSES.len()));
    digits(Path::new(model), &Path::new(data).join("fsdd"))?;
    realset(&Path::new(data).join("realset"))
}

/// Prints two rows: of hot words that are said, and of others.
fn rows(
    name: &str,
    utterances: &[Utterance],
    decode: impl Fn(&Utterance, &[String], f64) -> Fallible<String>,
) -> Fallible<()> {
    for said in [true, false] {
        let mut row = format!("| {name} | {} |", if said { "said" } else { "that nobody says" });
        for bonus in BONUSES {
            let mut counts = Counts::default();
            for one in utterances {
                let hot = if said { &one.said } else { &one.unsaid };
                let found = decode(one, hot, bonus)?;
                counts += score_words(&one.reference, &found, &Rules::levenshtein())?.counts;
            }
            row += &format!(" {:.1} |", counts.error_rate() * 100.0);
        }
        println!("{row}");
    }
    Ok(())
}

/// Strings of four digits of one speaker, of which one digit is hot.
fn digits(model: &Path, fsdd: &Path) -> Fallible<()> {
    const NAMES: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    const SPEAKERS: [&str; 6] = ["george", "jackson", "lucas", "nicolas", "theo", "yweweler"];
    const STRINGS: usize = 150;
    let recognizer = Recognizer::open(model)?;
    let vocabulary = recognizer.vocabulary().ok_or("the model has no tokens")?;
    let mut random = Random(1);
    let mut utterances = vec![];
    for _ in 0..STRINGS {
        let speaker = SPEAKERS[random.between(0, SPEAKERS.len())];
        let spoken: Vec<usize> = (0..4).map(|_| random.between(0, 10)).collect();
        let (mut samples, mut rate): (Vec<i16>, f32) = (vec![], 8000.0);
        for &digit in &spoken {
            // Those that the model has not been trained with.
            let file = format!("recordings/{digit}_{speaker}_{}.wav", random.between(0, 5));
            let wave = WaveData::open(fsdd.join(file))?;
            rate = wave.samp_freq;
            samples.extend_from_slice(&wave.samples);
        }
        let log_probs = recognizer.log_probs(&[Audio::new(&samples[..], rate).with_key("digits")])?;
        let others: Vec<&str> = (0..10).filter(|digit| !spoken.contains(digit)).map(|digit| NAMES[digit]).collect();
        utterances.push(Utterance {
            log_probs: log_probs.values().to_vec(),
            reference: spoken.iter().map(|&digit| NAMES[digit]).collect::<Vec<_>>().join(" "),
            said: vec![NAMES[spoken[0]].to_owned()],
            unsaid: vec![others[random.between(0, others.len())].to_owned()],
        });
    }
    let all = (0..).take(vocabulary.len()).filter(|&token| token != vocabulary.blank());
    let spellings: Vec<(&str, Vec<i32>)> = all.map(|token| (vocabulary.text(token), vec![token])).collect();
    rows("digits, a token each; lexicon", &utterances, |one, hot, bonus| {
        let tree = SpellingTree::new(spellings.clone(), &mut SymbolTable::default())?;
        let decoder = CtcDecoder::<NoModel>::with_lexicon(vocabulary.clone(), options(bonus), tree, None)?;
        let decoder = decoder.with_hot_texts(hot)?;
        Ok(decoder.decode(&LogProbs::new("u", &one.log_probs, vocabulary.len())?)?.text())
    })?;
    rows("digits, a token each; transducer", &utterances, |one, hot, bonus| transducer(vocabulary, one, hot, bonus))
}

/// Read speech with a network of phones: words of a lexicon, and words that phones spell, each of
/// which is written as one letter.
fn realset(folder: &Path) -> Fallible<()> {
    let tokens: SymbolTable = fs::read_to_string(folder.join("lexicon/tokens.txt"))?.parse()?;
    let lexicon = fs::read_to_string(folder.join("lexicon/lexicon-g2p-20k.txt"))?;
    let number = |token: &str| tokens.find(token);
    let letter = |token: i32| char::from_u32('A' as u32 + token.unsigned_abs()).unwrap_or('?');
    let mut spelled: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for line in lexicon.lines() {
        let mut fields = line.split_whitespace();
        let Some(word) = fields.next() else { continue };
        spelled.entry(word).or_insert_with(|| fields.filter_map(number).collect());
    }
    let letters =
        |word: &str| spelled.get(word).map(|tokens| tokens.iter().map(|&token| letter(token)).collect::<String>());
    let mut posteriors = BTreeMap::new();
    kaldera::pipeline::read_features(folder.join("posteriors.npz"), |key, matrix| {
        posteriors.insert(key.to_owned(), matrix.into_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    let mut references: BTreeMap<&str, String> = BTreeMap::new();
    let transcripts = fs::read_to_string(folder.join("transcripts.txt"))?.to_lowercase().replace("mister", "mr");
    for line in transcripts.lines() {
        let (key, words) = line.split_once(' ').unwrap_or((line, ""));
        if key != "numbers" {
            references.insert(key, words.to_owned());
        }
    }
    let hot_of = |text: &str| -> BTreeSet<String> {
        let long = |word: &&str| word.len() >= SHORTEST && spelled.contains_key(*word);
        text.split_whitespace().filter(long).map(str::to_owned).collect()
    };
    let mut random = Random(2);
    let all: Vec<String> =
        references.values().flat_map(|text| hot_of(text)).collect::<BTreeSet<_>>().into_iter().collect();
    let mut utterances = vec![];
    for (key, reference) in &references {
        let said = hot_of(reference);
        let mut unsaid: Vec<String> = all.iter().filter(|word| !said.contains(*word)).cloned().collect();
        random.shuffle(&mut unsaid);
        unsaid.truncate(UNSAID);
        let log_probs = posteriors.get(*key).ok_or("no posteriors")?.clone();
        utterances.push(Utterance {
            log_probs,
            reference: reference.clone(),
            said: said.into_iter().collect(),
            unsaid,
        });
    }

    let texts = (0..).take(tokens.len()).map(|token| tokens.get(token).unwrap_or_default());
    let vocabulary = Vocabulary::new(texts, 0)?.with_separator("<wb>")?;
    let model = NgramModel::from_reader(
        std::io::BufReader::new(
            std::process::Command::new("gunzip")
                .arg("-c")
                .arg(folder.join("lm/en-us-20k-pruned.arpa.gz"))
                .stdout(std::process::Stdio::piped())
                .spawn()?
                .stdout
                .ok_or("no output of gunzip")?,
        ),
        &Default::default(),
        &mut |_| {},
    )?;
    let mut symbols = model.symbols()?;
    let tree = SpellingTree::read(&lexicon, number, &mut symbols)?.smeared(&model);
    rows("read speech, lexicon and language model", &utterances, |one, hot, bonus| {
        let decoder = CtcDecoder::with_lexicon(vocabulary.clone(), options(bonus), tree.clone(), Some(model.clone()))?;
        let decoder = decoder.with_hot_texts(hot)?;
        Ok(decoder.decode(&LogProbs::new("u", &one.log_probs, vocabulary.len())?)?.text())
    })?;

    let spell = |text: &str| {
        text.split_whitespace().map(|word| letters(word).unwrap_or_else(|| "?".to_owned())).collect::<Vec<_>>()
    };
    for one in &mut utterances {
        one.reference = spell(&one.reference).join(" ");
        one.said = spell(&one.said.join(" "));
        one.unsaid = spell(&one.unsaid.join(" "));
    }
    let texts = (0..).take(tokens.len()).map(|token| match token {
        0 => "<blk>".to_owned(),
        1 => " ".to_owned(),
        token => letter(token).to_string(),
    });
    let vocabulary = Vocabulary::new(texts, 0)?.with_separator(" ")?;
    rows("read speech, words that phones spell", &utterances, |one, hot, bonus| {
        let decoder =
            CtcDecoder::<NoModel>::with_words(vocabulary.clone(), options(bonus), None)?.with_hot_texts(hot)?;
        Ok(decoder.decode(&LogProbs::new("u", &one.log_probs, vocabulary.len())?)?.text())
    })?;
    rows("read speech, phones", &utterances, |one, hot, bonus| {
        let decoder = CtcDecoder::new(vocabulary.clone(), options(bonus))?.with_hot_texts(hot)?;
        Ok(decoder.decode(&LogProbs::new("u", &one.log_probs, vocabulary.len())?)?.text())
    })?;
    rows("read speech, phones; transducer", &utterances, |one, hot, bonus| transducer(&vocabulary, one, hot, bonus))
}

fn options(bonus: f64) -> CtcDecoderOptions {
    CtcDecoderOptions::default().with_beam_size(BEAM).with_hotword_weight(bonus)
}

/// A network of CTC as a transducer: a token that goes on counts as the blank.
struct Collapsing {
    num_tokens: usize,
}

impl TransducerModel for Collapsing {
    type State = i32;

    fn num_tokens(&self) -> usize {
        self.num_tokens
    }

    fn start(&self) -> Result<i32, Error> {
        Ok(0)
    }

    fn advance(&self, _: &i32, token: i32) -> Result<i32, Error> {
        Ok(token)
    }

    fn join(&self, encoder: &[f32], last: &i32, scores: &mut [f32]) -> Result<(), Error> {
        scores.copy_from_slice(encoder);
        if let Some(last) = usize::try_from(*last).ok().filter(|&last| last > 0) {
            let most = scores[0].max(scores[last]);
            scores[0] = most + ((scores[0] - most).exp() + (scores[last] - most).exp()).ln();
            scores[last] = f32::NEG_INFINITY;
        }
        Ok(())
    }
}

fn transducer(vocabulary: &Vocabulary, one: &Utterance, hot: &[String], bonus: f64) -> Fallible<String> {
    let model = Collapsing { num_tokens: vocabulary.len() };
    let encoder = EncoderOutput::new("u", &one.log_probs, vocabulary.len())?;
    let graph = vocabulary.hot_words(hot, bonus)?;
    let (search, times) = (TransducerOptions::default().with_beam(8), FrameTimes::default());
    let mut found = modified_beam_search(&model, &encoder, &Fusion::hot_words(graph), &search, &times)?;
    let best = vocabulary.spelled(found.hypotheses.swap_remove(0), &times);
    let words = if best.words.is_empty() { &best.tokens } else { &best.words };
    Ok(words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
}
