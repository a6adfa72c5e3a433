//! Model folders whose network is an ONNX file: `model import`, and the demonstration model.

use std::fs;
use std::path::{Path, PathBuf};
#[cfg(all(unix, feature = "onnx"))]
use std::process::Stdio;

use crate::bench::Bench;
#[cfg(all(unix, feature = "onnx"))]
use crate::bench::Ended;

/// Small random networks, as exporters name things.
fn network(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kaldera-onnx/tests/networks").join(name)
}

/// An export: a network and its tokens.
fn export(bench: &Bench, folder: &str, name: &str, tokens: &str) {
    fs::create_dir(bench.path(folder)).unwrap();
    fs::copy(network(&format!("{name}.onnx")), bench.path(&format!("{folder}/model.onnx"))).unwrap();
    bench.file(&format!("{folder}/tokens.txt"), tokens);
}

#[cfg(not(feature = "onnx"))]
#[test]
fn a_build_without_onnx_says_how_to_get_it() {
    let bench = Bench::new();
    export(&bench, "model", "icefall", "<blk> 0\na 1\n");
    bench.run(&["model", "import", "model", "-o", "new"]).with(1).tells(&["--features onnx"]);
    bench.file(
        "model/model.toml",
        "kind = 'ctc'\ntokens = 'tokens.txt'\nfeatures = { kind = 'fbank' }\nnetwork = { file = 'model.onnx' }\n",
    );
    bench.run(&["model", "check", "model"]).with(1).tells(&["network.file", "model.onnx", "--features onnx"]);
    bench.run(&["model", "import", "model"]).with(2).tells(&["-o MODEL"]);
}

#[cfg(feature = "onnx")]
mod with_onnx {
    use super::*;

    #[test]
    fn an_export_becomes_a_model_that_transcribes() {
        let bench = Bench::new();
        bench.wav("in/a.wav", 24_000, 16_000.0);
        let has = |name: &str, line: &str| {
            let text = fs::read_to_string(bench.path(&format!("{name}-model/model.toml"))).unwrap();
            assert!(text.lines().any(|own| own == line), "no '{line}' in {text}");
        };
        for (name, tokens, blank, words, frames) in [
            ("icefall", "<blk> 0\n\u{2581}a 1\nb 2\nc 3\nd 4\n", 0, "marker", "20.0 ms"),
            ("nemo", "\u{2581}a 0\nb 1\nc 2\nd 3\n<blk> 4\n", 4, "marker", "20.0 ms"),
            ("samples", "<pad> 0\n| 1\na 2\nb 3\nc 4\n", 0, "separator", "10.0 ms"),
        ] {
            export(&bench, name, name, tokens);
            let output = format!("{name}-model");
            if name == "samples" {
                let ended = bench.run(&["model", "import", name, "-o", &output]).with(1);
                ended.tells(&["model.onnx", "--normalize=samples", "--normalize=none"]);
            }
            let said = if name == "samples" { &["--normalize=none"][..] } else { &[] };
            let ended = bench.run(&[&["model", "import", name, "-o", &output], said].concat()).with(0);
            assert!(ended.stdout.contains("5 tokens") && ended.stdout.contains(frames), "{ended:?}");
            has(name, &format!("blank = {blank}"));
            has(name, &format!("words = \"{words}\""));
            bench.run(&["transcribe", &output, "in"]).with(0);
            // Shown so far, and at the end, what the whole gives.
            let whole = bench.shell(&format!("$K transcribe {output} in/a.wav")).with(0).stdout;
            let streamed = bench.shell(&format!("$K stream --chunk=2000 {output} <in/a.wav")).with(0).stdout;
            assert_eq!(format!("a {streamed}").trim(), whole.trim());
        }
        for line in ["preset = \"nemo-80\"", "num-mel-bins = 8", "subsampling = 2"] {
            has("nemo", line);
        }
        let toml = fs::read_to_string(bench.path("nemo-model/model.toml")).unwrap();
        assert!(!toml.contains("normalize") && !toml.contains("window-size"), "the preset has them: {toml}");
        let ended = bench.run(&["model", "import", "nemo", "--runtime=tensorrt", "-o", "x"]).with(2);
        ended.tells(&["'tensorrt' is not one of rten, ort, ort-cuda"]);
        if cfg!(not(feature = "ort")) {
            bench.run(&["model", "import", "nemo", "--runtime=ort", "-o", "x"]).with(1).tells(&["ort"]);
        }
        has("icefall", "full-scale = 1.0");
        assert!(bench.names().iter().all(|name| !name.contains("part")), "{:?}", bench.names());
    }

    /// The parts of a transducer, as they are exported, and its tokens.
    fn export_parts(bench: &Bench, folder: &str, tokens: &str) {
        fs::create_dir(bench.path(folder)).unwrap();
        for entry in fs::read_dir(network(folder)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, bench.path(folder).join(path.file_name().unwrap())).unwrap();
        }
        bench.file(&format!("{folder}/tokens.txt"), tokens);
    }

    #[test]
    fn an_exported_transducer_becomes_a_model() {
        let bench = Bench::new();
        // Too short for a pause.
        bench.wav("in/a.wav", 14_400, 16_000.0);
        let of_icefall = "<blk> 0\n\u{2581}a 1\n<unk> 2\nb 3\n\u{2581}c 4\n";
        let of_nemo = "\u{2581}a 0\n\u{2581}b 1\nc 2\n<unk> 3\n<blk> 4\n";
        for (name, tokens, state, lines) in [
            ("transducer", of_icefall, "whole utterances", &["kind = \"transducer\"", "blank = 0", "unk = 2"][..]),
            ("streaming", of_icefall, "keep a state", &["file = \"encoder-epoch-1-avg-1.onnx\"", "words = \"marker\""]),
            ("tdt", of_nemo, "whole utterances", &["blank = 4", "durations = [0, 1, 2]", "symbols-per-frame = 10"]),
        ] {
            export_parts(&bench, name, tokens);
            let output = format!("{name}-model");
            let ended = bench.run(&["model", "import", name, "-o", &output]).with(0);
            assert!(ended.stdout.contains("a transducer, 5 tokens") && ended.stdout.contains(state), "{ended:?}");
            let toml = fs::read_to_string(bench.path(&format!("{output}/model.toml"))).unwrap();
            for line in lines {
                assert!(toml.lines().any(|own| own == *line), "no '{line}' in {toml}");
            }
            assert_eq!(toml.contains("unk = "), name != "tdt", "{toml}");
            let whole = bench.shell(&format!("$K transcribe {output} in/a.wav")).with(0).stdout;
            let streamed = bench.shell(&format!("$K stream --chunk=2000 {output} <in/a.wav")).with(0).stdout;
            assert_eq!(format!("a {streamed}").trim(), whole.trim());
            bench.run(&["transcribe", &output, "in", "--nbest=2", "-o", &format!("{name}.jsonl")]).with(0);
        }
        bench.file("text", "a a a\n");
        for model in ["streaming-model", "tdt-model"] {
            let aligned = bench.run(&["align", "--text=text", "--format=ctm", model, "in/a.wav"]).with(0).stdout;
            assert_eq!(aligned.lines().count(), 2, "{aligned}");
            let ended = bench.run(&["transcribe", "--lm=text", model, "in/a.wav"]).with(1);
            ended.tells(&["option --lm: a transducer", "--hotwords"]);
        }
    }

    #[test]
    fn files_next_to_a_network_answer_for_it() {
        let bench = Bench::new();
        bench.wav("in/a.wav", 14_400, 16_000.0);
        let toml = |model: &str| fs::read_to_string(bench.path(&format!("{model}/model.toml"))).unwrap();
        // As onnx-asr has NeMo's exports; the same network as `tdt`.
        export_parts(&bench, "tdt-fused", "");
        fs::rename(bench.path("tdt-fused/tokens.txt"), bench.path("tdt-fused/vocab.txt")).unwrap();
        bench.file("tdt-fused/vocab.txt", "\u{2581}a 0\n\u{2581}b 1\nc 2\n<unk> 3\n<blk> 4\n");
        bench.run(&["model", "import", "tdt-fused", "-o", "x"]).with(1).tells(&["values", "--preset"]);
        let config = r#"{"model_type": "nemo-conformer-tdt", "features_size": 8, "max_tokens_per_step": 5}"#;
        bench.file("tdt-fused/config.json", config);
        let preset = ["--preset=nemo-80", "--normalize=per_feature"];
        let ended = bench.run(&[&["model", "import", "tdt-fused", "-o", "fused"][..], &preset].concat()).with(0);
        for row in ["vocab.txt: <blk>", "NeMo  ", "config.json: max_tokens_per_step"] {
            assert!(ended.stdout.contains(row), "no '{row}' in {ended:?}");
        }
        let own = toml("fused");
        for line in ["predictor = \"decoder_joint-model.onnx\"", "durations = [0, 1, 2]", "symbols-per-frame = 5"] {
            assert!(own.contains(line), "no '{line}' in {own}");
        }
        assert!(!own.contains("joiner"), "{own}");
        export_parts(&bench, "tdt", "\u{2581}a 0\n\u{2581}b 1\nc 2\n<unk> 3\n<blk> 4\n");
        bench.run(&["model", "import", "tdt", "-o", "split"]).with(0);
        let jsonl = |model: &str| {
            let ended = bench.run(&["transcribe", "--format=jsonl", model, "in/a.wav"]).with(0);
            assert!(ended.stdout.contains("word"), "{ended:?}");
            ended.stdout
        };
        let text = toml("split").replace("symbols-per-frame = 10", "symbols-per-frame = 5");
        bench.file("split/model.toml", &text);
        assert_eq!(jsonl("fused"), jsonl("split"));
        let hot = |model: &str| {
            let ended = bench.run(&["transcribe", "--hotwords=bc", "--hotword-weight=30", model, "in/a.wav"]).with(0);
            ended.stdout
        };
        bench.file("bc", "bc\n");
        let plain = bench.run(&["transcribe", "fused", "in/a.wav"]).with(0).stdout;
        assert!(!plain.contains("bc") && hot("fused").contains("bc"), "{plain}");
        assert_eq!(hot("fused"), hot("split"));
        let weight = |options: &[&str]| {
            let call = ["transcribe", "--hotwords=bc", "fused", "in/a.wav"];
            bench.run(&[&call[..], options].concat()).with(0).stdout
        };
        assert_eq!(weight(&["--hotword-weight=nan"]), weight(&[]));

        // As optimum has exports of Hugging Face's models.
        export(&bench, "samples", "samples", "");
        fs::remove_file(bench.path("samples/tokens.txt")).unwrap();
        bench.run(&["model", "import", "samples", "-o", "x"]).with(1).tells(&["list of tokens", "--tokens"]);
        bench.file("samples/vocab.json", r#"{"a": 1, "b": 2, "|": 3, "[PAD]": 4, "[UNK]": 0}"#);
        bench.file("samples/tokenizer_config.json", r#"{"pad_token": {"content": "[PAD]"}}"#);
        bench.file("samples/preprocessor_config.json", r#"{"do_normalize": true, "sampling_rate": 16000}"#);
        bench.run(&["model", "import", "samples", "-o", "wav2vec2"]).with(0);
        let own = toml("wav2vec2");
        for line in ["blank = 4", "separator = \"|\"", "normalize = \"samples\""] {
            assert!(own.lines().any(|known| known == line), "no '{line}' in {own}");
        }
        assert_eq!(fs::read_to_string(bench.path("wav2vec2/tokens.txt")).unwrap().lines().nth(4), Some("[PAD] 4"));
        bench.run(&["transcribe", "wav2vec2", "in/a.wav"]).with(0);
        for (text, words) in [("{", "vocab.json"), (r#"{"a": 1}"#, "no token has the number 0"), ("7", "neither")] {
            bench.file("samples/vocab.json", text);
            bench.run(&["model", "import", "samples", "-o", "x"]).with(1).tells(&["vocab.json", words]);
        }

        // As Vosk's models since 0.52.
        export_parts(&bench, "transducer", "");
        fs::create_dir(bench.path("vosk")).unwrap();
        fs::rename(bench.path("transducer"), bench.path("vosk/am-onnx")).unwrap();
        fs::remove_file(bench.path("vosk/am-onnx/tokens.txt")).unwrap();
        fs::create_dir(bench.path("vosk/lang")).unwrap();
        bench.file("vosk/lang/tokens.txt", "<blk> 0\n\u{2581}a 1\n<unk> 2\nb 3\n\u{2581}c 4\n");
        bench.run(&["model", "import", "vosk", "-o", "of-vosk"]).with(0);
        bench.run(&["transcribe", "of-vosk", "in/a.wav"]).with(0);
    }

    #[test]
    fn weights_and_tokens_of_real_exports_are_understood() {
        let bench = Bench::new();
        bench.wav("in/a.wav", 24_000, 16_000.0);
        // icefall's lists end in disambiguation symbols, some of NeMo's have a <pad> before the blank.
        let tokens = "<pad> 0\n\u{2581}a 1\nb 2\nc 3\n<blk> 4\n#0 5\n#1 6\n";
        export(&bench, "nemo-streaming", "nemo-streaming", tokens);
        let ended = bench.run(&["model", "import", "nemo-streaming", "-o", "m"]).with(0);
        assert!(ended.stdout.contains("5 tokens") && ended.stdout.contains("keep a state"), "{ended:?}");
        let toml = fs::read_to_string(bench.path("m/model.toml")).unwrap();
        for line in ["blank = 4", "normalize = \"none\"", "preset = \"nemo-80\""] {
            assert!(toml.lines().any(|own| own == line), "no '{line}' in {toml}");
        }
        let whole = bench.shell("$K transcribe m in/a.wav").with(0).stdout;
        let streamed = bench.shell("$K stream --chunk=2000 m <in/a.wav").with(0).stdout;
        assert_eq!(format!("a {streamed}").trim(), whole.trim());

        export(&bench, "beside", "beside/model", "<blk> 0\na 1\nb 2\nc 3\nd 4\n");
        fs::copy(network("beside/weights.data"), bench.path("beside/weights.data")).unwrap();
        bench.file("beside/model.onnx.bak", "this is no part of it");
        bench.run(&["model", "import", "beside", "-o", "n"]).with(0);
        let mut names: Vec<_> =
            fs::read_dir(bench.path("n")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["model.onnx", "model.toml", "tokens.txt", "weights.data"]);
        fs::remove_file(bench.path("beside/weights.data")).unwrap();
        bench.run(&["model", "import", "beside", "-o", "x"]).with(1).tells(&["model.onnx", "weights.data"]);
        assert!(!bench.names().iter().any(|name| name.starts_with('x')), "{:?}", bench.names());
    }

    #[test]
    fn of_a_transducer_the_files_that_belong_together_are_taken() {
        let bench = Bench::new();
        let tokens = "<blk> 0\n\u{2581}a 1\n<unk> 2\nb 3\n\u{2581}c 4\n";
        export_parts(&bench, "transducer", tokens);
        let at = |part: &str, ending: &str| bench.path(&format!("transducer/{part}-epoch-1-avg-1{ending}.onnx"));
        for part in ["encoder", "joiner"] {
            fs::copy(at(part, ""), at(part, ".int8")).unwrap();
        }
        let imported = |source: &str, output: &str| {
            bench.run(&["model", "import", source, "-o", output]).with(0);
            fs::read_to_string(bench.path(&format!("{output}/model.toml"))).unwrap()
        };
        assert!(!imported("transducer", "plain").contains("int8"));
        let toml = imported("transducer/encoder-epoch-1-avg-1.int8.onnx", "quantised");
        for line in ["file = \"encoder-epoch-1-avg-1.int8.onnx\"", "joiner = \"joiner-epoch-1-avg-1.int8.onnx\""] {
            assert!(toml.contains(line), "{toml}");
        }
        assert!(toml.contains("predictor = \"decoder-epoch-1-avg-1.onnx\""), "{toml}");
        fs::copy(at("encoder", ""), bench.path("transducer/encoder-epoch-2-avg-1.onnx")).unwrap();
        let ended = bench.run(&["model", "import", "transducer", "-o", "x"]).with(1);
        ended.tells(&["encoder-epoch-2-avg-1.onnx", "name the encoder"]);
        bench.file("transducer/tokens.txt", "<blk> 0\na 1\n");
        let ended = bench.run(&["model", "import", "transducer/encoder-epoch-1-avg-1.onnx", "-o", "x"]).with(1);
        ended.tells(&["2 tokens", "5 scores"]);
        fs::remove_file(at("decoder", "")).unwrap();
        let ended = bench.run(&["model", "import", "transducer/encoder-epoch-1-avg-1.onnx", "-o", "x"]).with(1);
        ended.tells(&["no decoder*.onnx"]);
    }

    /// A field of bytes of fewer than 2^14.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let size = [bytes.len() % 128 + 128, bytes.len() / 128].map(|byte| u8::try_from(byte).unwrap());
        [&[(number << 3) + 2], &size[..], bytes].concat()
    }

    fn metadata(key: &str, value: &str) -> Vec<u8> {
        field(14, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat())
    }

    /// A network that gives its columns as scores.
    fn columns(width: u8) -> Vec<u8> {
        let value = |number: u8, name: &str, axes: [&[u8]; 3]| {
            let shape: Vec<u8> = axes.into_iter().flat_map(|axis| field(1, axis)).collect();
            let tensor = [&[8, 1][..], &field(2, &shape)].concat();
            field(number, &[field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat())
        };
        let perm = [field(1, b"perm"), vec![0x40, 0, 0x40, 2, 0x40, 1, 0xa0, 1, 7]].concat();
        let node = [field(1, b"audio_signal"), field(2, b"logprobs"), field(4, b"Transpose"), field(5, &perm)].concat();
        let (batch, time, fixed) = (field(2, b"N"), field(2, b"T"), [8, width % 128 + 128, width / 128]);
        let inputs = value(11, "audio_signal", [&batch, &fixed, &time]);
        let outputs = value(12, "logprobs", [&batch, &time, &fixed]);
        let graph = [field(1, &node), inputs, outputs].concat();
        [vec![8, 8], field(8, &[16, 13]), field(7, &graph)].concat()
    }

    #[test]
    fn features_that_the_file_does_not_say_are_asked_for() {
        let bench = Bench::new();
        let tokens = |count: usize| (1..count).fold("<blk> 0\n".to_owned(), |all, i| format!("{all}t{i} {i}\n"));
        let known = [metadata("model_type", "EncDecCTCModel"), metadata("normalize_type", "per_feature")].concat();
        let (preset, medasr) = ("--preset", metadata("model_type", "medasr_ctc"));
        for (name, network, expected) in [
            (
                "gigaam",
                [columns(64), known.clone(), metadata("is_giga_am", "1")].concat(),
                ["is_giga_am", "--preset=gigaam-v3"],
            ),
            ("quartznet", [columns(64), known.clone()].concat(), ["64 values", preset]),
            ("mean", [columns(80), known.clone(), metadata("mean", "1,2")].concat(), ["mean = 1,2", preset]),
            (
                "lfr",
                [columns(80), known.clone(), metadata("lfr_window_size", "7")].concat(),
                ["lfr_window_size", preset],
            ),
            ("names", columns(80), ["normalisation", "--normalize=per_feature"]),
            ("rate", [columns(128), medasr.clone(), metadata("sample_rate", "8000")].concat(), ["8000", preset]),
            ("odd", columns(81), ["features of 81 values", preset]),
        ] {
            fs::create_dir(bench.path(name)).unwrap();
            fs::write(bench.path(&format!("{name}/model.onnx")), network).unwrap();
            bench.file(&format!("{name}/tokens.txt"), &tokens(if name == "odd" { 81 } else { 80 }));
            let ended = bench.run(&["model", "import", name, "-o", "x"]).with(1);
            ended.tells(&[&format!("{name}/model.onnx"), expected[0], expected[1]]);
        }
        bench.file("gigaam/tokens.txt", &tokens(64));
        fs::create_dir(bench.path("medasr")).unwrap();
        fs::write(bench.path("medasr/model.onnx"), [columns(128), medasr].concat()).unwrap();
        bench.file("medasr/tokens.txt", &tokens(128));
        for (name, said, line) in [
            ("gigaam", &["--preset=nemo-80", "--normalize=none"][..], "num-mel-bins = 64"),
            ("names", &["--normalize=per_feature"], "preset = \"nemo-80\""),
            ("mean", &["--preset=nemo-80"], "preset = \"nemo-80\""),
            ("medasr", &[], "preset = \"medasr\""),
        ] {
            let output = format!("{name}-model");
            bench.run(&[&["model", "import", name, "-o", &output], said].concat()).with(0);
            let toml = fs::read_to_string(bench.path(&format!("{output}/model.toml"))).unwrap();
            assert!(toml.lines().any(|own| own == line), "no '{line}' in {toml}");
        }
        bench
            .run(&["model", "import", "names", "--normalize=mean", "-o", "x"])
            .with(2)
            .tells(&["'mean' is not one of"]);
        bench.run(&["model", "import", "names", "--preset=kaldi", "-o", "x"]).with(2).tells(&["--preset", "kaldi"]);
        bench.run(&["model", "check", "names-model", "--preset=nemo-80"]).with(2);
        // Nothing is known of these.
        export(&bench, "unknown", "icefall", "\u{feff}<blk> 0\na 1\nb 2\nc 3\nd 4\n");
        let icefall = fs::read(network("icefall.onnx")).unwrap();
        fs::write(bench.path("unknown/model.onnx"), [icefall, metadata("dialect", "7")].concat()).unwrap();
        bench.run(&["model", "import", "unknown", "-o", "u"]).with(0).tells(&["not used: dialect"]);
    }

    #[test]
    fn what_cannot_be_imported_is_named() {
        let bench = Bench::new();
        let tokens = "<blk> 0\na 1\nb 2\nc 3\nd 4\n";
        export(&bench, "streaming", "streaming", tokens);
        bench.run(&["model", "import", "streaming", "-o", "x"]).with(1).tells(&["model.onnx", "cached_len_0"]);
        export(&bench, "no-blank", "icefall", "a 0\nb 1\n");
        bench.run(&["model", "import", "no-blank", "-o", "x"]).with(1).tells(&["tokens.txt", "<blk>"]);
        export(&bench, "few", "icefall", "<blk> 0\na 1\n");
        let ended = bench.run(&["model", "import", "few", "-o", "x"]).with(1);
        ended.tells(&["the new model.toml: key tokens: few/tokens.txt: there are 2 tokens", "5 scores"]);
        export(&bench, "transducer", "icefall", tokens);
        bench.file("transducer/joiner-epoch-99.onnx", "");
        let ended = bench.run(&["model", "import", "transducer", "-o", "x"]).with(1);
        ended.tells(&["joiner-epoch-99.onnx", "transducer", "no encoder*.onnx"]);
        bench.run(&["model", "import", "transducer/joiner-epoch-99.onnx", "-o", "x"]).with(1).tells(&["its encoder"]);
        export(&bench, "two", "icefall", tokens);
        bench.file("two/model.int8.onnx", "this is no network");
        bench.run(&["model", "import", "two/model.int8.onnx", "-o", "x"]).with(1).tells(&["model.int8.onnx"]);
        bench.file("two/other.onnx", "this is no network");
        let all = "model.int8.onnx, model.onnx, other.onnx";
        bench.run(&["model", "import", "two", "-o", "x"]).with(1).tells(&[all, "name one of them"]);
        fs::remove_file(bench.path("two/other.onnx")).unwrap();
        // The file that is not quantised.
        bench.run(&["model", "import", "two", "-o", "x"]).with(0).tells(&["using this one of", ": model.onnx"]);
        bench.run(&["model", "import", "two/model.onnx", "-o", "x"]).with(1).tells(&["x: it exists"]);
        bench.run(&["model", "import", "nowhere", "-o", "y"]).with(1).tells(&["nowhere"]);
        bench.run(&["model", "import", "two/model.onnx", "-o", "z/"]).with(0);
        bench.run(&["model", "import", "two/model.onnx", "-o", ".."]).with(1).tells(&["..: it exists"]);
        let names = bench.names();
        assert_eq!(names, ["few", "no-blank", "streaming", "transducer", "two", "x", "z"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_second_ctrl_c_leaves_no_folder() {
        use std::time::{Duration, Instant};

        let bench = Bench::new();
        export_parts(&bench, "transducer", "<blk> 0\n\u{2581}a 1\n<unk> 2\nb 3\n\u{2581}c 4\n");
        // A network that takes forever to read.
        bench.shell("cd transducer && rm decoder-*.onnx && mkfifo decoder-epoch-1-avg-1.onnx").with(0);
        let mut command = bench.command(&["model", "import", "transducer", "-o", "x"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let began = Instant::now();
        while !bench.names().iter().any(|name| name.ends_with(".part")) && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(20));
        }
        bench.shell(&format!("kill -INT {0}; sleep 0.3; kill -INT {0}", child.id())).with(0);
        Ended::from(child.wait_with_output().unwrap()).with(130).tells(&["stopped; nothing was written"]);
        assert_eq!(bench.names(), ["transducer"]);
    }

    /// The most words of 71 that may be wrong: pocketsphinx has 20, FasterDecoder over such a graph 9 to 10.
    const MOST_WRONG: usize = 12;

    /// The folder that `scripts/get-demo-model.sh` made.
    fn demonstration() -> Option<PathBuf> {
        let Some(folder) = std::env::var_os("KALDERA_DEMO_MODEL").filter(|folder| !folder.is_empty()) else {
            println!("left out: KALDERA_DEMO_MODEL names no folder that scripts/get-demo-model.sh made");
            return None;
        };
        Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder))
    }

    /// ONNX Runtime rounds what is between the layers of this file to half precision, of 2^-11; RTen
    /// computes in single precision. Runs of the former with and without that differ by 0.0158.
    #[cfg(feature = "symphonia")]
    const POSTERIOR_TOLERANCE: f32 = 0.03;

    #[cfg(feature = "symphonia")]
    #[test]
    fn posteriors_of_recordings_equal_those_of_onnx_runtime() {
        let (Some(folder), Some(data)) = (demonstration(), crate::realset::realset()) else { return };
        let bench = Bench::new();
        fs::create_dir(bench.path("model")).unwrap();
        for name in ["network.onnx", "tokens.txt", "outputs.txt"] {
            fs::copy(folder.join("model").join(name), bench.path(&format!("model/{name}"))).unwrap();
        }
        let network = "network = { file = 'network.onnx', outputs = 'outputs.txt' }\n";
        let toml = format!("kind = 'ctc'\ntokens = 'tokens.txt'\nfeatures = {{ kind = 'samples' }}\n{network}");
        bench.file("model/model.toml", &toml);
        let recognizer = kaldera::recognizer::Recognizer::open(bench.path("model")).unwrap();
        let mut largest = 0.0_f32;
        for (id, expected) in crate::realset::arrays(&data.join("posteriors.npz")) {
            let recording = kaldera::Recording::open(data.join(format!("audio/{id}.flac"))).unwrap();
            let found = recognizer.log_probs(&[recording.audio().unwrap()]).unwrap();
            assert_eq!(found.values().len(), expected.len(), "{id}");
            let distances = found.values().iter().zip(&expected).map(|(a, b)| (a.exp() - b.exp()).abs());
            largest = largest.max(distances.fold(0.0, f32::max));
        }
        println!("largest distance of probabilities: {largest:e}");
        assert!(largest <= POSTERIOR_TOLERANCE, "{largest}");
    }

    #[test]
    fn the_demonstration_model_transcribes_and_streams() {
        let Some(folder) = demonstration() else { return };
        let (model, text) = (folder.join("model"), folder.join("results/text"));
        let recordings = folder.join("testdata/usr/share/pocketsphinx/test/data/librivox");
        let bench = Bench::new();
        bench.run(&["transcribe", "-o", "words.txt", path(&model), path(&recordings)]).with(0);
        let words = fs::read_to_string(bench.path("words.txt")).unwrap().replace(" mister ", " mr ");
        bench.file("words.txt", &words);
        let scored = bench.run(&["score", path(&text), "words.txt"]).with(0).stdout;
        println!("{words}{scored}");
        let wrong = scored
            .split("%WER")
            .nth(1)
            .and_then(|rest| rest.split('[').nth(1))
            .and_then(|rest| rest.split_whitespace().next());
        let wrong = wrong.unwrap();
        assert!(wrong.parse::<usize>().unwrap() <= MOST_WRONG, "{scored}");
        let first = words.lines().find(|line| line.contains("-0880 ")).unwrap();
        let recording = recordings.join("sense_and_sensibility_01_austen_64kb-0880.wav");
        let line = format!("$K stream {} <{}", model.display(), recording.display());
        let streamed = bench.shell(&line).with(0).stdout;
        assert_eq!(Some(streamed.trim()), first.split_once(' ').map(|(_, words)| words));
    }

    fn path(path: &Path) -> &str {
        path.to_str().unwrap()
    }
}
