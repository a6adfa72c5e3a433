//! Recognisers from folders: whole utterances, batches and streams; folders that are wrong.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kaldera::decoder::HotWord;
use kaldera::feat::Audio;
use kaldera::network::ParameterStore;
use kaldera::prelude::*;
use kaldera::recognizer::{AllOptions, AnyDecoder, PauseOptions, Recognizer};
use kaldera::recurrent::train::{Linear, uniform};

const FEATURES: &str = "features = { kind = 'fbank', sample-frequency = 8000, num-mel-bins = 20 }\n";
const TOKENS: &str = "<blk> 0\none 1\ntwo 2\nthree 3\n";

/// A network of random weights: three frames stacked, a GRU, scores.
fn write_network(folder: &Path, both_directions: bool) {
    let mut gru = Stack::<Gru<f32>>::new(1, both_directions, 60, |inputs| Gru::zeros(inputs, 8));
    uniform(&mut gru, 0.4, 3);
    let mut output = Linear::<f32>::zeros(if both_directions { 16 } else { 8 }, 4);
    uniform(&mut output, 2.0, 4);
    let mut weights = gru.to_torch("encoder.").unwrap();
    let output = ParameterStore::from_parameters(&output);
    for name in ["weight", "bias"] {
        let (shape, values) = output.get(name).unwrap();
        weights.insert(&format!("output.{name}"), shape, values.to_vec()).unwrap();
    }
    weights.save(folder.join("network.safetensors")).unwrap();
}

pub(crate) fn write_model(folder: &Path, both_directions: bool, more: &str) {
    write_network(folder, both_directions);
    fs::write(folder.join("tokens.txt"), TOKENS).unwrap();
    let layers = "[network]\nfile = 'network.safetensors'\nlayers = [\n{ kind = 'stack', frames = 3, stride = 3 },\n\
                  { kind = 'gru', name = 'encoder' }, { kind = 'linear', name = 'output' }, { kind = 'log-softmax' }]\n";
    let text = format!("kind = 'ctc'\ntokens = 'tokens.txt'\n{FEATURES}{more}\n{layers}");
    fs::write(folder.join("model.toml"), text).unwrap();
}

/// A second of tones that change.
pub(crate) fn samples(count: u16) -> Vec<f32> {
    let tone =
        |i: u16| (f32::from(i) * (0.2 + f32::from(i / 900 % 5) * 0.3)).sin() * (f32::from(i / 450 % 3) * 900.0 + 3.0);
    (0..count).map(tone).collect()
}

#[test]
fn batches_and_streams_give_what_utterances_give() {
    for (both_directions, beam) in [(false, ""), (true, ""), (false, "[decoding]\nbeam = 6\nn-best = 2")] {
        let folder = tempfile::tempdir().unwrap();
        write_model(folder.path(), both_directions, "");
        let description = folder.path().join("model.toml");
        let text = fs::read_to_string(&description).unwrap();
        fs::write(&description, format!("{text}{beam}\n")).unwrap();
        let recognizer = Arc::new(Recognizer::open(folder.path()).unwrap());
        let (long, short) = (samples(9000), samples(2000));
        let audio = [("a", &long[..]), ("b", &short[..]), ("empty", &[]), ("c", &short[..40])];
        let audio = audio.map(|(key, samples)| Audio::new(samples, 8000.0).with_key(key));
        let alone: Vec<_> = audio.iter().map(|audio| recognizer.transcribe(audio).unwrap()).collect();
        assert!(alone[0].num_frames > 30 && !alone[0].text().is_empty());
        assert_eq!((alone[2].num_frames, alone[2].text()), (0, String::new()));
        assert_eq!(recognizer.transcribe_batch(&audio).unwrap(), alone);
        for chunk in [80, 799, 9000] {
            let mut stream = recognizer.stream("a", 8000.0).unwrap();
            for samples in long.chunks(chunk) {
                stream.accept(samples).unwrap();
                let so_far = stream.partial().unwrap();
                assert!(so_far.num_frames <= alone[0].num_frames);
            }
            assert_eq!(stream.keeps_state(), !both_directions);
            assert_eq!(stream.finish().unwrap(), alone[0]);
        }
    }
}

#[test]
fn results_so_far_of_a_network_without_a_state_have_the_word_that_has_begun() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    // A sample is a frame: high ones are `a`, low ones are `b`, others are blanks. None is so sure that
    // the beam loses the path of blanks alone, which is complete.
    let mut network = ParameterStore::new();
    network.insert("output.weight", &[3, 1], vec![0.0_f32, 1.0, -1.0]).unwrap();
    network.insert("output.bias", &[3], vec![0.0_f32, -5.0, -5.0]).unwrap();
    network.save(folder.path().join("network.safetensors")).unwrap();
    file("tokens.txt", "<blk> 0\na 1\nb 2\n");
    file("lexicon.txt", "word a b\n");
    file(
        "model.toml",
        "kind = 'ctc'\ntokens = 'tokens.txt'\nlexicon = 'lexicon.txt'\n\
         features = { kind = 'samples', sample-frequency = 8000, normalize = 'samples' }\n\
         [network]\nfile = 'network.safetensors'\n\
         layers = [{ kind = 'linear', name = 'output' }, { kind = 'log-softmax' }]\n",
    );
    let recognizer = Arc::new(Recognizer::open(folder.path()).unwrap());
    let begun = [vec![0.0; 90], vec![1000.0; 2]].concat();
    let rest = [vec![0.0; 40], vec![-1000.0; 2], vec![0.0; 48]].concat();
    let mut stream = recognizer.stream("a", 8000.0).unwrap();
    assert!(!stream.keeps_state());
    stream.accept(&begun).unwrap();
    let last = |found: &Recognition| found.best().and_then(|best| best.tokens.last()).map(|token| token.frames.clone());
    let so_far = stream.partial().unwrap();
    // No silence has begun. At the end of an utterance the same frames are no word, and silence.
    assert!(last(&so_far).is_some_and(|frames| frames.start >= 90), "{so_far:?}");
    let ended = recognizer.transcribe(&Audio::new(&begun, 8000.0)).unwrap();
    assert_eq!(last(&ended), None);
    stream.accept(&rest).unwrap();
    assert_eq!(stream.partial().unwrap().text(), "word");
    assert_eq!(stream.finish().unwrap().text(), "word");
}

#[test]
fn audio_of_another_rate_is_resampled() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path(), false, "");
    let recognizer = Recognizer::open(folder.path()).unwrap();
    let samples = samples(16_000);
    let result = recognizer.transcribe(&Audio::new(&samples, 16_000.0)).unwrap();
    assert_eq!(result.num_frames, 32); // a second of 8 kHz: 98 rows, of which three are a frame
}

#[test]
fn a_long_recording_is_cut_and_has_times_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path(), true, "");
    let recognizer = Recognizer::open(folder.path()).unwrap();
    let samples: Vec<f32> = [samples(9000), vec![0.0; 800], samples(9000)].concat();
    let audio = Audio::new(&samples, 8000.0).with_key("long");
    let whole = recognizer.transcribe_long(&audio, &PauseOptions::default()).unwrap();
    assert_eq!(whole.recognition, recognizer.transcribe(&audio).unwrap());
    let cut = recognizer.transcribe_long(&audio, &PauseOptions::default().with_max_seconds(1.5)).unwrap();
    assert!((cut.seconds - 2.35).abs() < 1e-9);
    let words = &cut.recognition.best().unwrap().words;
    assert!(words.last().unwrap().end > 1.3 && words.last().unwrap().end < 2.4, "{words:?}");
    assert!(words.windows(2).all(|pair| pair[0].end <= pair[1].start + 1e-9), "{words:?}");
}

/// Log-probabilities of which each row favours a token.
fn favoured(tokens: &[usize]) -> Vec<f32> {
    let row = |&token: &usize| (0..4).map(move |column| if token == column { 0.7_f32.ln() } else { 0.1_f32.ln() });
    tokens.iter().flat_map(row).collect()
}

/// The tokens that the rows of two utterances favour.
const UTTERANCES: [&[usize]; 2] = [&[0, 1, 1, 0, 1, 2, 0], &[3, 3]];

/// Writes a model without a network.
fn write_decoder(folder: &Path, more: &str) {
    fs::write(folder.join("tokens.txt"), TOKENS).unwrap();
    let text = format!("kind = 'ctc'\ntokens = 'tokens.txt'\nframe-shift = 0.01\nsubsampling = 4\n{more}\n");
    fs::write(folder.join("model.toml"), text).unwrap();
}

fn open_decoder(folder: &Path) -> AnyDecoder {
    AnyDecoder::open(folder, 4, |options| options).unwrap()
}

#[test]
fn log_probabilities_are_decoded_without_a_network() {
    let folder = tempfile::tempdir().unwrap();
    write_decoder(folder.path(), "");
    let decoder = open_decoder(folder.path());
    let [first, second] = UTTERANCES.map(favoured);
    let result = decoder.decode("utt-1", &first).unwrap();
    assert_eq!(result.text(), "one one two");
    let words = &result.best().unwrap().words;
    assert_eq!((words[0].start, words[2].start, words[2].end), (0.04, 0.2, 0.24));
    assert!(decoder.decode("utt-1", &first[1..]).is_err());
    let words = decoder.align("utt-1", &first, "one two").unwrap();
    assert_eq!(words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert!(decoder.align("utt-1", &first, "four").unwrap_err().to_string().contains("four"));
    assert!(decoder.align("utt-2", &second, "one two three").is_err());
    assert_eq!(decoder.files(), ["model.toml", "tokens.txt"].map(|name| folder.path().join(name)));
    let decoder = AnyDecoder::open(folder.path(), None, |options| options).unwrap();
    assert_eq!((decoder.num_outputs(), decoder.decode("utt-1", &first).unwrap()), (4, result.clone()));
    let refused = |num_outputs| AnyDecoder::open(folder.path(), num_outputs, |options| options).unwrap_err();
    assert!(refused(5).to_string().contains("there are 4 tokens, and the network gives 5 scores"));
    let error = Recognizer::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("key network.file: it is missing") && error.contains("'kaldera decode'"), "{error}");
    write_decoder(folder.path(), "network = { file = '../posteriors.ark' }");
    assert_eq!(open_decoder(folder.path()).decode("utt-1", &first).unwrap(), result);
    let error = Recognizer::open(folder.path()).unwrap_err();
    assert!(
        matches!(&error, kaldera::Error::NoNetwork { archive: Some(file), .. } if file.ends_with("posteriors.ark"))
    );
    assert!(["network.file", "'kaldera decode'", "AnyDecoder"].iter().all(|said| error.to_string().contains(said)));
    write_decoder(folder.path(), "network = { file = 'posteriors.ark', inputs = 20 }");
    assert!(refused(4).to_string().contains("key network.inputs: an archive of log-probabilities has none"));
    fs::write(folder.path().join("outputs.txt"), "one one\nnone -\nzwei two\n- <blk>\ndrei three\ntwo two\n").unwrap();
    write_decoder(folder.path(), "network = { outputs = 'outputs.txt' }");
    assert!(refused(4).to_string().contains("tokens for 6 outputs, and the network has 4"));
    let decoder = AnyDecoder::open(folder.path(), None, |options| options).unwrap();
    assert_eq!(decoder.num_outputs(), 6);
    let rows = [[0.1, 0.0, 0.4, 0.1, 0.1, 0.3], [0.1, 0.5, 0.1, 0.2, 0.1, 0.0]].concat();
    let rows: Vec<f32> = rows.into_iter().map(f32::ln).collect();
    assert_eq!(decoder.decode("utt-1", &rows).unwrap().text(), "two");
    write_model(folder.path(), true, "");
    let text = fs::read_to_string(folder.path().join("model.toml")).unwrap();
    let text = text.replace("[network]", "[network]\noutputs = 'outputs.txt'");
    fs::write(folder.path().join("model.toml"), text).unwrap();
    fs::write(folder.path().join("outputs.txt"), "o one\nt two\n- <blk>\nd three\n").unwrap();
    let (samples, recognizer) = (samples(4000), Recognizer::open(folder.path()).unwrap());
    let merged = recognizer.log_probs(&[Audio::new(&samples, 8000.0)]).unwrap();
    let sum: f32 = merged.row(0).iter().map(|value| value.exp()).sum();
    assert!(merged.width() == 4 && (sum - 1.0).abs() < 1e-5, "{sum}");
    assert!(decoder.decode("utt-1", &rows[1..]).is_err());
}

#[test]
fn the_decoder_of_a_whole_model_needs_its_network_for_the_subsampling_only() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path(), true, "");
    let recognizer = Recognizer::open(folder.path()).unwrap();
    let samples = samples(9000);
    let audio = Audio::new(&samples, 8000.0).with_key("a");
    let log_probs = recognizer.log_probs(std::slice::from_ref(&audio)).unwrap();
    let found = open_decoder(folder.path()).decode("a", log_probs.values()).unwrap();
    assert_eq!(found, recognizer.decode("a", log_probs.values()).unwrap());
    fs::remove_file(folder.path().join("network.safetensors")).unwrap();
    let error = AnyDecoder::open(folder.path(), 4, |options| options).unwrap_err().to_string();
    assert!(error.contains("key subsampling") && error.contains("network.safetensors"), "{error}");
    write_model(folder.path(), true, "subsampling = 3");
    fs::remove_file(folder.path().join("network.safetensors")).unwrap();
    assert_eq!(open_decoder(folder.path()).decode("a", log_probs.values()).unwrap(), found);
}

#[test]
fn tokens_of_an_hmm_fill_all_frames_and_may_be_equal() {
    let folder = tempfile::tempdir().unwrap();
    write_decoder(folder.path(), "");
    let description = folder.path().join("model.toml");
    fs::write(&description, fs::read_to_string(&description).unwrap().replace("'ctc'", "'hmm'")).unwrap();
    let decoder = open_decoder(folder.path());
    let [first, second] = UTTERANCES.map(favoured);
    let words = decoder.align("utt-1", &first, "one one two").unwrap();
    assert_eq!((words[0].frames.start, words[0].frames.end), (0, words[1].frames.start));
    assert_eq!((words[1].frames.end, words[2].frames.clone()), (5, 5..7));
    let words = decoder.align("utt-2", &second, "three three").unwrap();
    assert_eq!(words.iter().map(|word| word.frames.clone()).collect::<Vec<_>>(), [0..1, 1..2]);
    assert!(decoder.align("utt-2", &second, "three three three").is_err());
}

#[test]
fn the_spelling_that_fits_is_aligned_and_separators_are_optional() {
    let folder = tempfile::tempdir().unwrap();
    write_decoder(folder.path(), "lexicon = 'lexicon.txt'\nseparator = 'three'");
    fs::write(folder.path().join("lexicon.txt"), "eleven two two\neleven one one\ntwo two\nx three\n").unwrap();
    let words = open_decoder(folder.path()).align("utt-1", &favoured(UTTERANCES[0]), "eleven two").unwrap();
    let found: Vec<_> = words.iter().map(|word| (&*word.text, word.frames.clone())).collect();
    assert_eq!(found, [("eleven", 1..5), ("two", 5..6)]);
    fs::write(folder.path().join("lexicon.txt"), "eleven one four\n").unwrap();
    let error = AnyDecoder::open(folder.path(), 4, |options| options).unwrap_err().to_string();
    assert!(error.contains("four"), "{error}");
}

#[test]
fn a_lexicon_a_language_model_and_a_graph_make_words() {
    let folder = tempfile::tempdir().unwrap();
    write_decoder(folder.path(), "lexicon = 'lexicon.txt'\nlanguage-model = 'lm.arpa'");
    fs::write(folder.path().join("lexicon.txt"), "eleven one one\ntwelve one two\nten one\n").unwrap();
    let arpa = "\\data\\\nngram 1=5\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.7 eleven\n-0.7 ten\n-3 twelve\n\\end\\\n";
    fs::write(folder.path().join("lm.arpa"), arpa).unwrap();
    let log_probs = favoured(UTTERANCES[0]);
    let decoder = AnyDecoder::open(folder.path(), 4, |options| options.with_n_best(3)).unwrap();
    let result = decoder.decode("utt-1", &log_probs).unwrap();
    assert!(result.hypotheses.len() > 1 && !result.text().is_empty());
    let hot = |options: kaldera::recognizer::DecodingOptions| {
        options.with_hotwords(vec!["twelve".into()]).with_hotword_weight(30.0)
    };
    let hot = AnyDecoder::open(folder.path(), 4, hot).unwrap();
    assert!(hot.decode("utt-1", &log_probs).unwrap().text().contains("twelve"));

    // Blank loops, then token 1 (label 2), which is the word 7.
    fs::write(
        folder.path().join("graph.txt"),
        "0 0 1 0\n0 1 2 7\n1 1 2 0\n1 0 1 0\n0 2 3 8\n2 2 3 0\n2 0 1 0\n0\n1\n2\n",
    )
    .unwrap();
    fs::write(folder.path().join("words.txt"), "<eps> 0\nuno 7\ndue 8\n").unwrap();
    write_decoder(folder.path(), "graph = 'graph.txt'\ngraph-words = 'words.txt'");
    assert!(open_decoder(folder.path()).decode("utt-1", &log_probs).unwrap().text().starts_with("uno"));
}

#[test]
fn hot_words_of_a_request_have_the_effect_of_hot_words_of_the_options() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path(), true, "");
    let recognizer = Recognizer::open(folder.path()).unwrap();
    let samples = samples(16_000);
    let audio = Audio::new(&samples[..], 8000.0).with_key("a");
    for phrase in ["two :9", "one"] {
        let hot = vec![phrase.parse::<HotWord>().unwrap()];
        let options = |options: kaldera::recognizer::DecodingOptions| options.with_hotwords(hot.clone());
        let expected = Recognizer::open_with(folder.path(), options).unwrap().transcribe(&audio).unwrap();
        assert_eq!(recognizer.with_hot_words(hot.clone()).unwrap().transcribe(&audio).unwrap(), expected);
    }
}

#[test]
fn many_recordings_keep_their_order_and_failures_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path(), true, "");
    let recognizer = Recognizer::open(folder.path()).unwrap();
    let utterance =
        |number: u16| Utterance::new(format!("u{number}"), Recording::from_f32(samples(900 * number), 8000.0));
    let mut utterances: Vec<Utterance> = (1..9).map(utterance).collect();
    utterances.insert(3, Utterance::new("missing", "no-such.wav"));
    let inputs = Inputs::new(utterances).unwrap();
    let mut runs = vec![];
    for jobs in [1, 3] {
        let mut found = vec![];
        let take = |utterance: &Utterance, transcript: kaldera::recognizer::Transcript| {
            found.push((utterance.key.clone(), transcript));
            Ok(())
        };
        let options = AllOptions::default().with_jobs(jobs);
        let summary = recognizer.transcribe_all(&inputs, &options, take, |_| ()).unwrap();
        assert_eq!((summary.utterances, summary.failures.len()), (8, 1));
        assert_eq!(summary.failures[0].utterance.key, "missing");
        runs.push(found);
    }
    assert!(
        runs[0] == runs[1]
            && runs[0].iter().map(|(key, _)| &key[..]).eq(["u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8"])
    );
}

#[test]
fn what_is_wrong_with_a_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let refused = || Recognizer::open(path).unwrap_err().to_string();
    assert!(refused().contains("model.toml"));
    write_model(path, true, "");
    let good = fs::read_to_string(path.join("model.toml")).unwrap();
    for (from, to, said) in [
        ("kind = 'ctc'", "kind = 'hybrid'", "hybrid"),
        ("kind = 'ctc'", "", "kind"),
        ("tokens = 'tokens.txt'", "tokens = 'none.txt'", "key tokens"),
        ("tokens = 'tokens.txt'", "tokens = 3", "line 2"),
        ("features = {", "blank = 4\nfeatures = {", "key blank"),
        ("features = {", "nonsense = 4\nfeatures = {", "nonsense"),
        ("features = {", "subsampling = 2\nfeatures = {", "key subsampling"),
        ("features = {", "frame-shift = 0.02\nfeatures = {", "key frame-shift"),
        ("features = {", "separator = '|'\nfeatures = {", "key separator"),
        ("features = {", "words = 'separator'\nseparator = '|'\nfeatures = {", "key separator"),
        ("features = {", "graph = 'g.fst'\nfeatures = {", "key graph"),
        ("features = {", "language-model = 'g.arpa'\nfeatures = {", "key language-model"),
        ("num-mel-bins = 20", "num-mel-bins = 0", "mel.num_bins"),
        ("num-mel-bins = 20", "num-mel-bins = 'many'", "key features.num-mel-bins"),
        ("num-mel-bins = 20", "num-mels = 20", "key features.num-mels"),
        ("num-mel-bins = 20", "num-mel-bins = 30", "encoder.weight_ih_l0"),
        ("kind = 'fbank'", "kind = 'fbanks'", "key features.kind"),
        ("network.safetensors", "network.bin", "key network.file"),
        ("network.safetensors", "none.safetensors", "none.safetensors"),
        ("layers = [", "inputs = 21\nlayers = [", "key network.inputs"),
        ("kind = 'linear', name = 'output'", "kind = 'linear', name = 'out'", "out.weight"),
        ("{ kind = 'log-softmax' }]", "{ kind = 'log-softmax' }]\n[decoding]\nbeams = 3", "beams"),
        ("{ kind = 'log-softmax' }]", "{ kind = 'log-softmax' }]\n[decoding]\nbeam = 0", "beam_size"),
    ] {
        assert!(good.contains(from), "{from}");
        fs::write(path.join("model.toml"), good.replace(from, to)).unwrap();
        let error = refused();
        assert!(error.contains(said), "{to}: {error}");
    }
    fs::write(path.join("model.toml"), &good).unwrap();
    fs::write(path.join("tokens.txt"), "<blk> 0\none 1\n").unwrap();
    assert!(refused().contains("2 tokens, and the network gives 4 scores"));
    fs::write(path.join("tokens.txt"), TOKENS).unwrap();
    let weights = fs::read(path.join("network.safetensors")).unwrap();
    fs::write(path.join("network.safetensors"), &weights[..weights.len() - 3]).unwrap();
    assert!(refused().contains("network.safetensors"));
}
