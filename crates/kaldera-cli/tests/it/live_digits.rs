//! Live recognition of digits beside recognition of the whole: no word is found twice.
//!
//! Pairs of recordings of the Free Spoken Digit Dataset and ten minutes of them are no part of the
//! project: `KALDERA_DATA` names the folder that has them in `fsdd/recordings`. Without it, that test says
//! that it was left out.
//!
//! ```text
//! KALDERA_DATA=../shared/data cargo test --release -p kaldera-cli --features digits --test it live_digits -- --nocapture
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kaldera::decoder::score::{Rules, score_words};
use kaldera::feat::Audio;
use kaldera::io::wave::WaveData;
use kaldera::recognizer::{LiveRecognizer, PauseOptions, Recognizer};

const RATE: f32 = 8000.0;

fn digits() -> Arc<Recognizer> {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    kaldera_digits::write_model(&model).unwrap();
    Arc::new(Recognizer::open(&model).unwrap())
}

/// The words of all utterances.
fn live(recognizer: &Arc<Recognizer>, samples: &[i16], chunk: usize) -> String {
    let mut live = LiveRecognizer::new(Arc::clone(recognizer), RATE).unwrap();
    let mut ended = vec![];
    for samples in samples.chunks(chunk) {
        ended.extend(live.accept(samples).unwrap().ended);
    }
    ended.extend(live.finish().unwrap());
    let words = ended.iter().flat_map(|utterance| &utterance.best().unwrap().words);
    let mut last = 0.0;
    for word in words {
        assert!(word.start >= last && word.end > word.start, "{word:?} begins before {last}");
        last = word.start;
    }
    ended.iter().map(|utterance| utterance.text()).collect::<Vec<_>>().join(" ")
}

fn whole(recognizer: &Recognizer, samples: &[i16]) -> String {
    let audio = Audio::new(samples, RATE);
    recognizer.transcribe_long(&audio, &PauseOptions::default()).unwrap().recognition.text()
}

#[test]
fn files_in_memory_are_a_model_like_a_folder() {
    let read = |name: &str| match name {
        "model.toml" => Ok(kaldera_digits::MODEL_TOML.into()),
        "tokens.txt" => Ok(kaldera_digits::TOKENS.into()),
        "network.safetensors" => Ok(kaldera_digits::NETWORK.to_vec()),
        _ => Err(std::io::Error::other("no such file")),
    };
    let recognizer = Recognizer::from_files(read, |options| options).unwrap();
    let wave = WaveData::read(kaldera_digits::RECORDING).unwrap();
    let audio = Audio::new(&wave.samples, RATE);
    let found = recognizer.transcribe(&audio).unwrap();
    assert_eq!((found.text().as_str(), recognizer.files().len()), (kaldera_digits::TRANSCRIPT, 0));
    assert_eq!(found, digits().transcribe(&audio).unwrap());
    let text = |name: &str| if name == "tokens.txt" { Err(std::io::Error::other("torn")) } else { read(name) };
    let error = Recognizer::from_files(text, |options| options).unwrap_err().to_string();
    assert!(error.contains("model.toml: key tokens: tokens.txt: torn"), "{error}");
}

#[test]
fn two_digits_are_two_words_however_far_they_are_apart() {
    let recognizer = digits();
    let wave = WaveData::read(kaldera_digits::RECORDING).unwrap();
    let clips = [1800..4200, 4200..6800, 7800..10_800, 12_600..15_600].map(|clip| &wave.samples[clip]);
    let words: Vec<&str> = kaldera_digits::TRANSCRIPT.split(' ').collect();
    let noise = &wave.samples[..1200];
    for (first, second) in (0..4).flat_map(|first| (0..4).map(move |second| (first, second))) {
        for pause in [0.1_f32, 0.25, 0.4, 0.5, 0.6, 0.8, 1.2] {
            let pause: Vec<i16> = noise.iter().cycle().take((pause * RATE) as usize).copied().collect();
            let samples = [noise, clips[first], &pause, clips[second], noise].concat();
            let expected = format!("{} {}", words[first], words[second]);
            assert_eq!(live(&recognizer, &samples, 800), expected, "a pause of {}", pause.len());
        }
    }
}

/// Numbers that seem random.
struct Numbers(u32);

impl Numbers {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(self.0 >> 8).unwrap() % count
    }
}

fn recordings() -> Option<Vec<(PathBuf, usize)>> {
    let Some(data) = std::env::var_os("KALDERA_DATA").filter(|data| !data.is_empty()) else {
        println!("left out: KALDERA_DATA names no folder with fsdd/recordings");
        return None;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(data).join("fsdd/recordings");
    let mut found: Vec<(PathBuf, usize)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let fields: Vec<String> = path.file_stem()?.to_str()?.split('_').map(str::to_owned).collect();
            // The takes that the model was not trained on.
            let is_test = fields[2].parse::<u32>().ok()? < 5;
            is_test.then(|| (path.clone(), fields[0].parse().unwrap()))
        })
        .collect();
    found.sort();
    Some(found)
}

const WORDS: [&str; 10] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

/// An utterance of a stream has a second of audio before it and none behind it, where the network
/// would see more in the whole: one word of so many may be another one.
const WORDS_FOR_AN_ERROR: usize = 100;

#[test]
fn words_of_a_stream_are_those_of_the_whole() {
    let Some(recordings) = recordings() else { return };
    let (recognizer, mut numbers) = (digits(), Numbers(48));
    let mut next = |least: f32, most: f32| {
        let (path, digit) = &recordings[numbers.below(recordings.len())];
        let silence = least + (most - least) * numbers.below(1000) as f32 / 1000.0;
        (WaveData::open(path).unwrap().samples, WORDS[*digit], vec![0_i16; (silence * RATE) as usize])
    };
    let rules = Rules::levenshtein();
    let errors = |reference: &str, found: &str| score_words(reference, found, &rules).unwrap().counts.errors();
    let (mut of_live, mut of_whole, mut differ, mut longer) = (0, 0, 0, 0);
    for _ in 0..770 {
        let (first, one, silence) = next(0.1, 0.6);
        let (second, two, _) = next(0.1, 0.6);
        let samples = [first, silence, second].concat();
        let (streamed, all) = (live(&recognizer, &samples, 800), whole(&recognizer, &samples));
        let reference = format!("{one} {two}");
        of_live += errors(&reference, &streamed);
        of_whole += errors(&reference, &all);
        if streamed != all {
            println!("{reference}: '{all}' of the whole, '{streamed}' of the stream");
            differ += 1;
            longer += usize::from(streamed.split(' ').count() > all.split(' ').count());
        }
    }
    println!("770 pairs: {differ} differ; of 1540 words {of_whole} errors of the whole, {of_live} of the stream");
    assert!(longer == 0 && of_live <= of_whole, "{longer} have more words");
    let (mut samples, mut reference) = (vec![], vec![]);
    while samples.len() < 600 * 8000 {
        let (clip, word, silence) = next(0.1, 0.9);
        samples.extend([clip, silence].concat());
        reference.push(word);
    }
    let reference = reference.join(" ");
    let all = errors(&reference, &whole(&recognizer, &samples));
    let streamed = [800, 80, 8000].map(|chunk| live(&recognizer, &samples, chunk));
    let found = errors(&reference, &streamed[0]);
    let num_words = reference.split(' ').count();
    println!("10 minutes: of {num_words} words {all} errors of the whole, {found} of the stream");
    assert!(streamed.iter().all(|one| *one == streamed[0]), "words depend on chunks");
    assert!(found <= all + num_words / WORDS_FOR_AN_ERROR, "{found} and {all}");
}
