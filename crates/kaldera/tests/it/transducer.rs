//! Transducers from folders: our own weights, and ONNX files where they are read.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kaldera::decoder::transducer::TransducerOptions;
use kaldera::decoder::{HotWord, Hypothesis, Recognition, Segment, WordUnits};
use kaldera::feat::{FeatureOptions, FrontEnd, FrontEndOptions};
use kaldera::network::{Batch, LayerOptions, LayerStack, Network, ParameterStore, StatelessPredictor};
use kaldera::prelude::*;
use kaldera::recognizer::AnyDecoder;

const TOKENS: &str = "<blk> 0\n\u{2581}one 1\n<unk> 2\n\u{2581}two 3\nth 4\n";

const NETWORK: &str = "[network]\nfile = 'network.safetensors'\nlayers = [\n{ kind = 'stack', frames = 4, stride = 4 },\n\
                       { kind = 'linear', name = 'joiner.encoder_proj' }]\n";

const HEAD: &str = "kind = 'transducer'\ntokens = 'tokens.txt'\nunk = 2\nwords = 'marker'\n\
                    features = { kind = 'fbank', sample-frequency = 8000, num-mel-bins = 8 }\n";

/// Weights that seem random, of which those of the joiner are large: the best token changes.
fn write_weights(folder: &Path) {
    let mut seed = 36_u32;
    let mut weights = ParameterStore::new();
    for (name, shape, scale) in [
        ("joiner.encoder_proj.weight", &[6, 32][..], 0.05),
        ("decoder.embedding.weight", &[5, 4], 1.0),
        ("decoder.conv.weight", &[4, 2, 2], 1.0),
        ("joiner.decoder_proj.weight", &[6, 4], 1.0),
        ("joiner.output_linear.weight", &[5, 6], 2.0),
        ("joiner.output_linear.bias", &[5], 0.5),
    ] {
        let value = |_: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (f32::from(u16::try_from(seed >> 16).unwrap()) / 32_768.0 - 1.0) * scale
        };
        let values = (0..shape.iter().product()).map(value).collect();
        weights.insert(name, shape, values).unwrap();
    }
    weights.save(folder.join("network.safetensors")).unwrap();
}

fn write_model(folder: &Path, text: &str) {
    write_weights(folder);
    fs::write(folder.join("tokens.txt"), TOKENS).unwrap();
    fs::write(folder.join("model.toml"), text).unwrap();
}

fn opened(more: &str) -> Result<Arc<Recognizer>, String> {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path(), more);
    Recognizer::open(folder.path()).map(Arc::new).map_err(|error| error.to_string())
}

/// Tones that change, without digital silence.
fn samples(count: u16) -> Vec<f32> {
    let tone =
        |i: u16| (f32::from(i) * (0.2 + f32::from(i / 700 % 7) * 0.3)).sin() * (f32::from(i / 350 % 3) * 900.0 + 3.0);
    (0..count).map(tone).collect()
}

/// What was found is where it was found, or where it is more probable.
fn assert_aligned(recognizer: &Recognizer, audio: &Audio<'_>, found: &Recognition) {
    let words = recognizer.align(audio, &found.text()).unwrap();
    assert_eq!(words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" "), found.text());
    assert!(words.iter().all(|word| !word.frames.is_empty() && word.frames.end <= found.num_frames));
    let are_apart = |pair: &[Segment]| pair[0].frames.end <= pair[1].frames.start.max(pair[0].frames.start + 1);
    assert!(words.windows(2).all(|pair| pair[0].frames.start <= pair[1].frames.start && are_apart(pair)));
}

/// The same in chunks of several lengths.
fn assert_streams(
    recognizer: &Arc<Recognizer>,
    samples: &[f32],
    samp_freq: f32,
    whole: &Recognition,
    keeps_state: bool,
) {
    for chunk in [170, 1999, samples.len()] {
        let mut stream = recognizer.stream(&whole.utterance, samp_freq).unwrap();
        for samples in samples.chunks(chunk) {
            stream.accept(samples).unwrap();
            assert!(stream.partial().unwrap().num_frames <= whole.num_frames);
        }
        assert_eq!(stream.keeps_state(), keeps_state);
        assert_eq!(stream.finish().unwrap(), *whole, "{chunk}");
    }
}

#[test]
fn a_recogniser_of_parts_finds_what_that_of_a_folder_finds() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path(), &format!("{HEAD}{NETWORK}"));
    let weights = ParameterStore::load(folder.path().join("network.safetensors")).unwrap();
    let layers =
        [LayerOptions::Stack { frames: 4, stride: 4 }, LayerOptions::Linear { name: "joiner.encoder_proj".into() }];
    let options = || {
        let fbank = FbankOptions::default().with_sample_frequency(8000.0).with_num_mel_bins(8);
        FrontEndOptions::from_features(FeatureOptions::Fbank(fbank))
    };
    let network = || LayerStack::new(8, &layers, &weights).unwrap();
    let vocabulary = || {
        let texts = Vocabulary::token_texts(TOKENS).unwrap();
        Vocabulary::new(texts, 0).unwrap().with_words(WordUnits::Marker)
    };
    let decoder = |durations| {
        let predictor = StatelessPredictor::new(&weights, 0).unwrap();
        let options = TransducerOptions::default().with_beam(1).with_unk(Some(2));
        AnyDecoder::from_predictor(vocabulary(), predictor, durations, None, options)
    };
    let recognizer = Recognizer::new(FrontEnd::new(options()).unwrap(), network(), decoder(vec![]).unwrap()).unwrap();
    let samples = samples(16_000);
    let audio = Audio::new(&samples[..], 8000.0).with_key("a");
    let found = recognizer.transcribe(&audio).unwrap();
    assert_eq!(found, Recognizer::open(folder.path()).unwrap().transcribe(&audio).unwrap());
    assert_streams(&Arc::new(recognizer), &samples, 8000.0, &found, true);

    assert!(decoder(vec![1]).unwrap_err().to_string().contains("5 scores for 5 tokens and 1 durations"));
    let wide = FrontEnd::new(FrontEndOptions::from_features(FeatureOptions::Fbank(FbankOptions::default()))).unwrap();
    let error = Recognizer::new(wide, network(), decoder(vec![]).unwrap()).unwrap_err();
    assert!(error.to_string().contains("rows of 8 values, but these have 23"), "{error}");
    let ctc = CtcDecoder::new(vocabulary(), CtcDecoderOptions::default()).unwrap();
    let error = Recognizer::new(FrontEnd::new(options()).unwrap(), network(), ctc).unwrap_err();
    assert!(error.to_string().contains("6 columns, where the vocabulary has 5 tokens"), "{error}");
    let front_end = FrontEnd::new(options()).unwrap();
    let error = Recognizer::new(front_end, WithoutFrames(network()), decoder(vec![]).unwrap()).unwrap_err();
    assert!(error.to_string().contains("subsampling = 0: it must be from 1"), "{error}");
}

#[test]
fn a_beam_of_one_in_a_description_is_no_greedy_search() {
    let samples = samples(16_000);
    let audio = Audio::new(&samples[..], 8000.0);
    for (decoding, is_greedy) in [("", true), ("beam = 1", false)] {
        let recognizer = opened(&format!("{HEAD}{NETWORK}[decoding]\n{decoding}\n")).unwrap();
        let found = recognizer.transcribe(&audio).unwrap();
        // Only the greedy search has them.
        assert_eq!(found.best().unwrap().tokens[0].confidence.is_some(), is_greedy);
    }
}

/// A network whose subsampling makes no sense.
#[derive(Debug)]
struct WithoutFrames(LayerStack);

impl Network for WithoutFrames {
    fn num_inputs(&self) -> usize {
        self.0.num_inputs()
    }
    fn num_outputs(&self) -> usize {
        self.0.num_outputs()
    }
    fn subsampling(&self) -> usize {
        0
    }
    fn log_probs(&self, batch: &Batch<'_>) -> Result<LodTensor<f32>, kaldera::network::Error> {
        self.0.log_probs(batch)
    }
}

#[test]
fn a_transducer_transcribes_streams_and_aligns() {
    let samples = samples(16_000);
    let audio = Audio::new(&samples[..], 8000.0).with_key("a");
    let mut texts = vec![];
    for decoding in ["", "beam = 4\nn-best = 3", "hotwords = ['two two']\nhotword-weight = 8.0"] {
        let recognizer = opened(&format!("{HEAD}{NETWORK}[decoding]\n{decoding}\n")).unwrap();
        assert!(recognizer.is_transducer());
        let found = recognizer.transcribe(&audio).unwrap();
        let best = found.best().unwrap();
        assert!(best.words.len() > 3 && !best.token_ids().contains(&2), "{}", found.text());
        assert_eq!(found.hypotheses.len(), if decoding.contains("n-best") { 3 } else { 1 });
        assert!(best.words.windows(2).all(|pair| pair[0].end <= pair[1].start + 1e-9));
        let empty = Audio::new(&[][..] as &[f32], 8000.0).with_key("b");
        let batch = recognizer.transcribe_batch(&[audio, empty]).unwrap();
        assert_eq!((&batch[0], batch[1].num_frames, batch[1].text()), (&found, 0, String::new()));
        assert_streams(&recognizer, &samples, 8000.0, &found, true);
        texts.push(found.text());
        for error in [recognizer.log_probs(&[audio]).unwrap_err(), recognizer.decode("a", &[]).unwrap_err()] {
            assert!(error.to_string().contains("no log-probabilities of frames"), "{error}");
        }
        assert_aligned(&recognizer, &audio, &found);
        let words = recognizer.align(&audio, &found.text()).unwrap();
        assert!(words.windows(2).all(|pair| pair[0].frames.end <= pair[1].frames.start));
        let error = recognizer.align(&audio, "three").unwrap_err().to_string();
        assert!(error.contains("'three' cannot be spelled"), "{error}");
    }
    let count = |text: &str| text.matches("two two").count();
    assert!(count(&texts[2]) > count(&texts[0]), "{texts:?}");
    let plain = opened(&format!("{HEAD}{NETWORK}")).unwrap();
    let hot: HotWord = "two two :8".parse().unwrap();
    assert_eq!(plain.with_hot_words([hot]).unwrap().transcribe(&audio).unwrap().text(), texts[2]);
    let error = plain.with_hot_words(["four"]).unwrap_err().to_string();
    assert!(error.contains("four"), "{error}");
    assert_eq!(plain.check_hot_word("four").unwrap_err().to_string(), error);
    assert!(plain.check_hot_word("two two").is_ok());
}

#[test]
fn hypotheses_are_ordered_as_those_of_icefall() {
    let samples = samples(16_000);
    let audio = Audio::new(&samples[..], 8000.0).with_key("a");
    let found = opened(&format!("{HEAD}{NETWORK}[decoding]\nn-best = 9\n")).unwrap().transcribe(&audio).unwrap();
    assert_eq!(found.hypotheses.len(), 9);
    // The two tokens that the predictor starts with count.
    let by_length = |of: &Hypothesis| of.scores.total() / f64::from(u8::try_from(of.tokens.len() + 2).unwrap());
    let falls = |score: &dyn Fn(&Hypothesis) -> f64| found.hypotheses.is_sorted_by(|a, b| score(a) >= score(b));
    assert!(falls(&by_length) && !falls(&|of| of.scores.total()), "{found:?}");
}

#[test]
fn several_tokens_in_a_frame_and_durations_stream_and_align() {
    let samples = samples(8000);
    let audio = Audio::new(&samples[..], 8000.0).with_key("a");
    // The last two scores are durations: of 1 and of 2 frames.
    let with_durations = format!(
        "{}{}durations = [1, 2]\n",
        HEAD.replace("'tokens.txt'", "'few.txt'"),
        NETWORK.replace("stride = 4", "stride = 2")
    );
    for text in [format!("{HEAD}{NETWORK}[decoding]\nsymbols-per-frame = 3\n"), with_durations] {
        for beam in ["", "beam = 3\n", "hotwords = ['one']\n"] {
            let decoding = if text.contains("[decoding]") { beam.to_owned() } else { format!("[decoding]\n{beam}") };
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("few.txt"), "<blk> 0\n\u{2581}one 1\n<unk> 2\n").unwrap();
            write_model(folder.path(), &format!("{text}{decoding}"));
            let recognizer = Arc::new(Recognizer::open(folder.path()).unwrap());
            let found = recognizer.transcribe(&audio).unwrap();
            assert!(!found.text().is_empty());
            assert_streams(&recognizer, &samples, 8000.0, &found, true);
            assert_aligned(&recognizer, &audio, &found);
        }
    }
}

#[test]
fn keys_that_do_not_fit_a_transducer_are_named() {
    let all = format!("{HEAD}{NETWORK}");
    for (text, said) in [
        (format!("{HEAD}graph = 'g.fst'\n{NETWORK}"), "key graph: a transducer is decoded without it"),
        (format!("{HEAD}lexicon = 'tokens.txt'\n{NETWORK}"), "prefer as hot words (decoding.hotwords, --hotwords)"),
        (format!("{all}[decoding]\nlanguage-model = 'lm'\n"), "key decoding.language-model"),
        (format!("{all}outputs = 'o.txt'\n"), "key network.outputs"),
        (format!("{all}joiner = 'joiner.onnx'\n"), "key network.joiner: its tensors are in network.file"),
        (format!("{all}durations = [1, 1, 1, 1, 1]\n"), "key network.durations: there are 5 of them, and 5 scores"),
        (format!("{all}durations = [1]\n"), "there are 5 tokens, and the network gives 4 scores"),
        (all.replace("unk = 2", "unk = 5"), "key unk: it is 5, and there are 5 tokens"),
        (all.replace("unk = 2", "blank = 5"), "key blank: it is 5, and there are 5 tokens, from 0 on"),
        (all.replace("'transducer'", "'ctc'"), "key unk: it is for kind = \"transducer\""),
        (all.replace(".safetensors", ".ark"), "key network.file"),
        (all.replace("name = 'joiner.encoder_proj'", "name = 'joiner.output_linear'"), "joiner.output_linear.weight"),
        (
            all.replace(",\n{ kind = 'linear', name = 'joiner.encoder_proj' }", ""),
            "frames of 32 values of the encoder, where the joiner takes 6",
        ),
        (format!("{all}[decoding]\nhotwords = ['four']\n"), "key decoding.hotwords"),
        (format!("{all}[decoding]\nsymbols-per-frame = 0\n"), "key decoding.symbols-per-frame: it is 0: it must be 1"),
        (format!("{all}[decoding]\nsymbols-per-frame = 5000\n"), "it is 5000: it must be 1000 or less"),
        (format!("{all}[decoding]\nbeam = 0\n"), "key decoding.beam: it is 0"),
        (format!("{all}[decoding]\nn-best = 0\n"), "key decoding.n-best: it is 0"),
    ] {
        let error = opened(&text).unwrap_err();
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[cfg(feature = "onnx")]
mod with_onnx {
    use super::*;

    /// A folder of files that `crates/kaldera-onnx/tests/make-transducers.py` writes, with more of the
    /// description.
    fn model(folder: &Path, name: &str, parts: [&str; 3], more: &str) {
        let networks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kaldera-onnx/tests/networks").join(name);
        for part in parts {
            fs::copy(networks.join(part), folder.join(part)).unwrap();
        }
        fs::write(folder.join("tokens.txt"), TOKENS).unwrap();
        let [encoder, predictor, joiner] = parts;
        let network = format!("[network]\nfile = '{encoder}'\npredictor = '{predictor}'\njoiner = '{joiner}'\n{more}");
        fs::write(folder.join("model.toml"), format!("{}{network}", HEAD.replace("8000", "16000"))).unwrap();
    }

    const PARTS: [&str; 3] = ["encoder-epoch-1-avg-1.onnx", "decoder-epoch-1-avg-1.onnx", "joiner-epoch-1-avg-1.onnx"];

    #[test]
    fn onnx_files_transcribe_and_stream() {
        let samples = samples(16_000);
        let audio = Audio::new(&samples[..], 16_000.0).with_key("a");
        for (name, decoding) in [
            ("transducer", ""),
            ("streaming", ""),
            ("streaming", "[decoding]\nbeam = 4\nn-best = 2\nhotwords = ['two']\n"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            model(folder.path(), name, PARTS, decoding);
            let recognizer = Arc::new(Recognizer::open(folder.path()).unwrap());
            assert_eq!(recognizer.files().len(), 5);
            let found = recognizer.transcribe(&audio).unwrap();
            assert!(found.num_frames >= 49, "{found:?}");
            assert_streams(&recognizer, &samples, 16_000.0, &found, name == "streaming");
            let words = recognizer.align(&audio, "one two").unwrap();
            assert_eq!(words.len(), 2);
        }
        // A network that was trained with CTC, with states.
        let folder = tempfile::tempdir().unwrap();
        model(folder.path(), "", ["streaming-ctc.onnx"; 3], "");
        let text = format!("{}[network]\nfile = 'streaming-ctc.onnx'\n", HEAD.replace("8000", "16000"));
        let text = text.replace("'transducer'", "'ctc'").replace("unk = 2\n", "");
        fs::write(folder.path().join("model.toml"), text).unwrap();
        let recognizer = Arc::new(Recognizer::open(folder.path()).unwrap());
        let found = recognizer.transcribe(&audio).unwrap();
        assert_streams(&recognizer, &samples, 16_000.0, &found, true);
    }

    #[test]
    fn predictors_with_states_stream_and_align() {
        let samples = samples(16_000);
        let audio = Audio::new(&samples[..], 16_000.0).with_key("a");
        let networks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kaldera-onnx/tests/networks");
        for (encoder, keeps_state) in [("tdt/encoder.onnx", false), ("streaming/encoder-epoch-1-avg-1.onnx", true)] {
            for beam in ["", "beam = 3\n"] {
                let folder = tempfile::tempdir().unwrap();
                let paths = [encoder, "tdt/decoder.onnx", "tdt/joiner.onnx"];
                for (path, part) in paths.into_iter().zip(["encoder", "decoder", "joiner"]) {
                    fs::copy(networks.join(path), folder.path().join(format!("{part}.onnx"))).unwrap();
                }
                let lines = (0..5).map(|token| format!("\u{2581}w{token} {token}\n"));
                fs::write(folder.path().join("tokens.txt"), lines.collect::<String>()).unwrap();
                let head = HEAD.replace("8000", "16000").replace("unk = 2", "blank = 4");
                let network = "file = 'encoder.onnx'\npredictor = 'decoder.onnx'\njoiner = 'joiner.onnx'\n";
                let decoding = format!("symbols-per-frame = 3\n{beam}");
                let text = format!("{head}[network]\n{network}durations = [0, 1, 2]\n[decoding]\n{decoding}");
                fs::write(folder.path().join("model.toml"), text).unwrap();
                let recognizer = Arc::new(Recognizer::open(folder.path()).unwrap());
                let found = recognizer.transcribe(&audio).unwrap();
                assert_streams(&recognizer, &samples, 16_000.0, &found, keeps_state);
                assert_aligned(&recognizer, &audio, &found);
            }
        }
    }

    #[test]
    fn parts_that_are_missing_or_of_another_kind_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let refused = || Recognizer::open(folder.path()).unwrap_err().to_string();
        model(folder.path(), "transducer", PARTS, "");
        fs::write(folder.path().join(PARTS[1]), "this is no network").unwrap();
        let error = refused();
        assert!(error.contains("key network.predictor") && error.contains(PARTS[1]), "{error}");
        model(folder.path(), "transducer", PARTS, "");
        fs::remove_file(folder.path().join(PARTS[2])).unwrap();
        let error = refused();
        assert!(error.contains("key network.joiner") && error.contains(PARTS[2]), "{error}");
        model(folder.path(), "transducer", [PARTS[0], PARTS[1], PARTS[1]], "");
        assert!(refused().contains("as the joiner of a transducer"), "{}", refused());
        model(folder.path(), "transducer", PARTS, "");
        let text = fs::read_to_string(folder.path().join("model.toml")).unwrap();
        fs::write(folder.path().join("model.toml"), text.replace(&format!("joiner = '{}'", PARTS[2]), "")).unwrap();
        let error = refused();
        assert!(error.contains("key network.predictor") && error.contains("its joiner is another file"), "{error}");
    }
}
