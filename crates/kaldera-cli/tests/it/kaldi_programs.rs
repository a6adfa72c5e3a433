//! Kaldi's programs, as a recipe meets them: real processes, their files and how they end.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::bench::{Ended, KALDERA, run};

/// Programs that read a table of recordings and write a table.
const OF_RECORDINGS: [&str; 4] = ["compute-fbank-feats", "compute-mfcc-feats", "wav-copy", "wav-to-duration"];
/// What shells tell of a program that writes to a reader that has gone.
const BROKEN_PIPE: i32 = 141;

fn kaldera(dir: &TempDir) -> Command {
    let mut command = Command::new(KALDERA);
    command.current_dir(dir);
    command
}

/// A WAV file: `format` 1 is PCM, 3 is float.
fn wav(format: u16, bits: u16, channels: u16, rate: u32, data: &[u8]) -> Vec<u8> {
    let block = channels * bits / 8;
    let size = u32::try_from(data.len()).unwrap();
    let mut file = Vec::new();
    file.extend(b"RIFF");
    file.extend((36 + size).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    file.extend(format.to_le_bytes());
    file.extend(channels.to_le_bytes());
    file.extend(rate.to_le_bytes());
    file.extend((rate * u32::from(block)).to_le_bytes());
    file.extend(block.to_le_bytes());
    file.extend(bits.to_le_bytes());
    file.extend(b"data");
    file.extend(size.to_le_bytes());
    file.extend(data);
    file
}

/// A pleasant noise of `frames` samples per channel.
fn tone(channels: u16, rate: u32, frames: usize) -> Vec<u8> {
    let sample = |i: usize| ((i * i) as f64 * 0.001).sin() * 8000.0;
    let samples = (0..frames * usize::from(channels)).flat_map(|i| (sample(i) as i16).to_le_bytes());
    wav(1, 16, channels, rate, &samples.collect::<Vec<u8>>())
}

/// A folder with `good.wav` (1 s at 16 kHz), `good.scp`, and the files that are given, each with a
/// script file of its own.
fn folder(files: &[(&str, Vec<u8>)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let good = [("good", tone(1, 16_000, 16_000))];
    for (key, bytes) in good.iter().chain(files) {
        fs::write(dir.path().join(format!("{key}.wav")), bytes).unwrap();
        fs::write(dir.path().join(format!("{key}.scp")), format!("{key} {key}.wav\n")).unwrap();
    }
    dir
}

fn size(dir: &TempDir, name: impl AsRef<Path>) -> u64 {
    fs::metadata(dir.path().join(name)).unwrap().len()
}

#[test]
fn kaldis_programs_are_subcommands() {
    let tools = kaldera_cli::kaldi_tools();
    assert!(tools.is_sorted() && tools.len() >= 36, "{tools:?}");
    let dir = folder(&[]);
    let list = run(&dir, &["--help"]).with(0);
    assert_eq!(run(&dir, &["help"]).with(0).stdout, list.stdout);
    for tool in tools {
        assert!(list.stdout.contains(tool), "{tool}");
        let help = run(&dir, &[tool, "--help"]).with(0);
        assert_eq!(run(&dir, &["help", tool]).with(0).stdout, help.stdout);
        assert!(help.stdout.contains(&format!("{tool} [options")), "{}", help.stdout);
        assert!(help.stdout.contains("Standard options:\n  --config"), "{}", help.stdout);
        assert_eq!(help.stderr, "");
    }
    run(&dir, &["no-such-program"]).with(2);
    assert!(run(&dir, &["help", "no-such-program"]).with(2).stderr.contains("'no-such-program'"));
    run(&dir, &["help", "two", "words"]).with(2);
}

#[test]
#[cfg(unix)]
fn a_link_with_the_name_of_a_program_is_that_program() {
    let dir = folder(&[]);
    for tool in ["compute-mfcc-feats", "copy-feats", "features"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kaldera"), dir.path().join(tool)).unwrap();
    }
    let linked = |tool: &str, args: &[&str]| {
        Ended::from(Command::new(dir.path().join(tool)).args(args).current_dir(&dir).output().unwrap())
    };
    linked("compute-mfcc-feats", &["--dither=0", "scp:good.scp", "ark:linked.ark"]).with(0);
    run(&dir, &["compute-mfcc-feats", "--dither=0", "scp:good.scp", "ark:named.ark"]).with(0);
    assert!(fs::read(dir.path().join("linked.ark")).unwrap() == fs::read(dir.path().join("named.ark")).unwrap());
    assert!(linked("copy-feats", &["--help"]).with(0).stdout.contains("Usage: copy-feats"));
    linked("copy-feats", &[]).with(1);
    linked("features", &["--kind=fbank"]).with(2);
}

#[test]
fn usage_errors_end_as_kaldis_do() {
    let dir = folder(&[]);
    for &tool in kaldera_cli::kaldi_tools() {
        let ended = run(&dir, &[tool]).with(1);
        assert!(ended.stderr.contains("Usage:"), "{}", ended.stderr);
        run(&dir, &[tool, "--no-such=1", "a", "b"]).with(255).has_line("ERROR", &["'--no-such=1'", "--help"]);
    }
    for tool in OF_RECORDINGS {
        for args in [&["one"][..], &["one", "two", "three"], &["one", "two", "--verbose=1"], &["--", "--help"]] {
            let ended = run(&dir, &[&[tool], args].concat()).with(1);
            assert!(ended.stderr.contains("Usage:"), "{}", ended.stderr);
        }
        run(&dir, &[tool, "--verbose=much", "a", "b"]).with(255).has_line("ERROR", &["--verbose", "'much'"]);
        run(&dir, &[tool, "--config=nowhere", "a", "b"]).with(255).has_line("ERROR", &["'nowhere'"]);
        run(&dir, &[tool, "good.wav", "ark:x"]).with(255).has_line("ERROR", &["good.wav"]);
    }
}

#[test]
fn the_command_line_is_echoed_unless_told_otherwise() {
    let dir = folder(&[]);
    let ended = run(&dir, &["wav-copy", "scp:good.scp", "ark:my copy.ark"]).with(0);
    assert_eq!(ended.stderr.lines().next(), Some("kaldera wav-copy scp:good.scp 'ark:my copy.ark'"));
    let quiet = run(&dir, &["wav-copy", "--print-args=false", "--verbose=-1", "scp:good.scp", "ark:copy.ark"]).with(0);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn options_come_from_configuration_files_too() {
    let dir = folder(&[]);
    fs::write(dir.path().join("mfcc.conf"), "--use-energy=false  # C0\n\n--num_ceps=5\n--dither=0\n").unwrap();
    let text = |args: &[&str]| {
        run(&dir, &[&["compute-mfcc-feats"], args, &["scp:good.scp", "ark,t:-"]].concat()).with(0).stdout
    };
    let from_file = text(&["--config=mfcc.conf"]);
    assert_eq!(from_file, text(&["--dither=0", "--use-energy=f", "--num-ceps=5"]));
    assert_eq!(from_file.lines().nth(1).unwrap().split_whitespace().count(), 5);
    assert_ne!(from_file, text(&["--use-energy", "--config=mfcc.conf"]));
}

#[test]
fn damaged_recordings_stop_a_run_and_permission_goes_on() {
    let good = tone(1, 16_000, 8_000);
    let damaged = [
        ("not_a_wav", b"What is this?".to_vec()),
        ("nothing", Vec::new()),
        ("half_a_header", good[..30].to_vec()),
        ("eight_bit", wav(1, 8, 1, 16_000, &[128; 1600])),
        ("floats", wav(3, 32, 1, 16_000, &[0; 6400])),
        ("silent", wav(1, 16, 1, 16_000, &[])),
    ];
    let dir = folder(&damaged);
    fs::write(dir.path().join("missing.scp"), "missing missing.wav\n").unwrap();
    let keys = damaged.iter().map(|(key, _)| *key).chain(["missing"]);
    for (key, tool) in
        keys.flat_map(|key| [(key, "compute-fbank-feats"), (key, "compute-mfcc-feats"), (key, "wav-copy")])
    {
        let out = format!("{key}.{tool}.ark");
        let file = format!("{key}.wav");
        run(&dir, &[tool, &format!("scp:{key}.scp"), &format!("ark:{out}")]).with(255).has_line("ERROR", &[&file]);
        assert_eq!(size(&dir, &out), 0, "{out}");
        run(&dir, &[tool, &format!("scp,p:{key}.scp"), &format!("ark:{out}")]).with(1).has_line("WARNING", &[&file]);
        assert_eq!(size(&dir, &out), 0, "{out}");
    }

    let all: String = damaged.iter().map(|(key, _)| format!("{key} {key}.wav\n")).collect();
    fs::write(dir.path().join("all.scp"), format!("first good.wav\n{all}last good.wav\n")).unwrap();
    let ended = run(&dir, &["wav-to-duration", "--read-entire-file", "scp,p:all.scp", "ark,t:-"]).with(0);
    assert_eq!(ended.stdout, "first 1 \nlast 1 \n");
    run(&dir, &["compute-mfcc-feats", "scp:all.scp", "ark,t:partial"]).with(255);
    assert!(fs::read_to_string(dir.path().join("partial")).unwrap().starts_with("first  [\n"));
}

#[test]
fn a_truncated_recording_gives_what_is_there() {
    let mut half = tone(1, 16_000, 16_000);
    half.truncate(44 + 16_000);
    let dir = folder(&[("half", half)]);
    let ended = run(&dir, &["wav-to-duration", "--read-entire-file", "scp:half.scp", "ark,t:-"]).with(0);
    assert_eq!(ended.has_line("WARNING", &["32000", "16000", "truncated", "half.wav"]).stdout, "half 0.5 \n");
    run(&dir, &["compute-fbank-feats", "scp:half.scp", "ark:half.ark"]).with(0);
}

#[test]
fn no_bytes_make_it_panic() {
    let whole = tone(2, 16_000, 300);
    let mut state = 1_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let dir = folder(&[]);
    let mut script = String::new();
    for i in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..=random(4) {
            // Mostly the header, where it hurts.
            let place = if random(4) == 0 { random(bytes.len()) } else { random(44) };
            bytes[place] = u8::try_from(random(256)).unwrap();
        }
        bytes.truncate(if random(3) == 0 { random(whole.len()) } else { whole.len() });
        fs::write(dir.path().join(format!("{i}.wav")), bytes).unwrap();
        script += &format!("{i} {i}.wav\n");
    }
    fs::write(dir.path().join("all.scp"), script).unwrap();
    for tool in ["compute-mfcc-feats", "wav-copy", "wav-to-duration"] {
        run(&dir, &[tool, "scp,p:all.scp", "ark:out.ark"]);
    }
    for i in 0..40 {
        run(&dir, &["copy-feats", &format!("ark:{i}.wav"), "ark:out.ark"]).with(255);
        run(&dir, &["copy-feats", &format!("{i}.wav"), "out.mat"]).with(255);
    }
}

#[test]
fn another_sample_rate_is_skipped_with_a_remedy() {
    let dir = folder(&[("slow", tone(1, 8_000, 8_000)), ("fast", tone(1, 44_100, 44_100))]);
    fs::write(dir.path().join("all.scp"), "slow slow.wav\ngood good.wav\n").unwrap();
    let mfcc = |args: &[&str]| run(&dir, &[&["compute-mfcc-feats"], args, &["ark,t:out"]].concat());
    mfcc(&["scp:slow.scp"]).with(1).has_line("WARNING", &["slow", "8000", "16000", "--allow-upsample=true"]);
    assert_eq!(size(&dir, "out"), 0);
    mfcc(&["scp:fast.scp"]).with(1).has_line("WARNING", &["fast", "--allow-downsample=true"]);
    mfcc(&["scp:all.scp"]).with(0).has_line("LOG", &["features of 1 of 2 utterances"]);
    mfcc(&["--allow-upsample=true", "scp:slow.scp"]).with(0);
    mfcc(&["--allow-downsample", "scp:fast.scp"]).with(0);
}

#[test]
fn numbers_that_are_none_are_refused_by_name() {
    let dir = folder(&[]);
    let names = ["sample-frequency", "frame-length", "frame-shift", "preemphasis-coefficient", "low-freq", "high-freq"];
    for name in
        names.into_iter().chain(["dither", "vtln-warp", "min-duration", "vtln-low", "energy-floor", "cepstral-lifter"])
    {
        let ended =
            run(&dir, &["compute-mfcc-feats", &format!("--{name}=nan"), "scp:good.scp", "ark:out.ark"]).with(255);
        ended.has_line("ERROR", &[name]);
    }
    for option in ["--channel=-2", "--output-format=matlab", "--num-mel-bins=0", "--num-ceps=99", "--window-type=round"]
    {
        run(&dir, &["compute-mfcc-feats", option, "scp:good.scp", "ark:out.ark"])
            .with(255)
            .has_line("ERROR", &[&option[2..9]]);
    }
    run(&dir, &["compute-mfcc-feats", "--utt2spk=ark:x", "scp:good.scp", "ark:out.ark"])
        .with(255)
        .has_line("ERROR", &["--vtln-map"]);
    // Kaldi's program does not mind.
    run(&dir, &["compute-fbank-feats", "--utt2spk=ark:x", "scp:good.scp", "ark:out.ark"]).with(0);
}

#[test]
fn output_that_cannot_be_written_is_named() {
    let dir = folder(&[]);
    let matrix = run(&dir, &["compute-mfcc-feats", "scp:good.scp", "ark:good.ark"]).with(0);
    drop(matrix);
    let of_recordings = OF_RECORDINGS.map(|tool| (tool, "scp:good.scp"));
    let of_features = ["copy-feats", "add-deltas", "splice-feats", "compute-vad"].map(|tool| (tool, "ark:good.ark"));
    for (tool, input) in of_recordings.into_iter().chain(of_features) {
        run(&dir, &[tool, input, "ark:no/such/folder"]).with(255).has_line("ERROR", &["no/such/folder"]);
        let full = run(&dir, &[tool, input, "ark:/dev/full"]).with(255).has_line("ERROR", &["/dev/full"]);
        assert_eq!(full.stderr.matches("/dev/full'").count(), 1, "{}", full.stderr);
        let gone = run(&dir, &[tool, input, "ark:|true"]);
        assert!(matches!(gone.code, Some(0 | BROKEN_PIPE)), "{gone:?}");
    }
}

#[test]
fn a_reader_that_has_gone_ends_it_without_a_word() {
    let dir = folder(&[]);
    let many: String = (0..200).map(|i| format!("{i} good.wav\n")).collect();
    fs::write(dir.path().join("many.scp"), many).unwrap();
    let mut command = kaldera(&dir);
    command.args(["wav-copy", "--print-args=false", "scp:many.scp", "ark:-"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
    let ended = Ended::from(child.wait_with_output().unwrap()).with(BROKEN_PIPE);
    assert_eq!(ended.stderr, "");
}

#[cfg(unix)]
#[test]
fn a_closed_stderr_changes_nothing() {
    let dir = folder(&[]);
    let script = format!("{} compute-mfcc-feats scp:good.scp ark:out.ark 2>&-", env!("CARGO_BIN_EXE_kaldera"));
    let status = Command::new("sh").args(["-c", &script]).current_dir(&dir).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(size(&dir, "out.ark"), 5 + 15 + 98 * 13 * 4);
}

#[test]
fn copies_come_back_whole() {
    let dir = folder(&[]);
    let ok = |args: &[&str]| run(&dir, args).with(0);
    ok(&["compute-fbank-feats", "--dither=0", "scp:good.scp", "ark,scp:a.ark,a.scp"]);
    ok(&["copy-feats", "--write-num-frames=ark,t:frames", "scp:a.scp", "ark,t:a.txt"]);
    ok(&["copy-feats", "ark:a.txt", "ark:b.ark"]);
    ok(&["copy-feats", "ark:b.ark", "ark,t:b.txt"]);
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert_eq!(read("a.txt"), read("b.txt"));
    assert_eq!(read("frames"), b"good 98 \n");

    ok(&["copy-feats", "a.ark:5", "one.mat"]);
    assert_eq!(read("one.mat"), read("a.ark")[5..]);
    ok(&["copy-feats", "--binary=false", "one.mat", "one.txt"]);
    assert_eq!(read("one.txt"), read("a.txt")["good ".len()..]);
    run(&dir, &["copy-feats", "--write-num-frames=ark:x", "one.mat", "two.mat"])
        .with(255)
        .has_line("ERROR", &["write-num-frames"]);

    ok(&["wav-copy", "scp:good.scp", "ark,scp:w.ark,w.scp"]);
    ok(&["wav-copy", "w.ark:5", "copy.wav"]);
    assert_eq!(read("copy.wav"), read("good.wav"));
    run(&dir, &["wav-copy", "ark:w.ark", "copy.wav"]).with(255).has_line("ERROR", &["ark:w.ark", "copy.wav"]);
    assert_eq!(ok(&["wav-to-duration", "scp:w.scp", "ark,t:-"]).stdout, "good 1 \n");
}

#[test]
fn channels_durations_and_htk_are_kaldis() {
    let dir = folder(&[("stereo", tone(2, 16_000, 16_000))]);
    let mfcc = |args: &[&str]| run(&dir, &[&["compute-mfcc-feats", "--dither=0"], args].concat());
    let ended = mfcc(&["scp:stereo.scp", "ark,t:-"]).with(0).has_line("WARNING", &["2 channels"]);
    assert_eq!(ended.stdout, mfcc(&["--channel=0", "scp:stereo.scp", "ark,t:-"]).with(0).stdout);
    assert_ne!(ended.stdout, mfcc(&["--channel=1", "scp:stereo.scp", "ark,t:-"]).with(0).stdout);
    mfcc(&["--channel=2", "scp:stereo.scp", "ark,t:-"]).with(1).has_line("WARNING", &["stereo", "--channel=2"]);
    mfcc(&["--min-duration=1.5", "scp:good.scp", "ark,t:-"])
        .with(1)
        .has_line("WARNING", &["good", "--min-duration=1.5"]);
    mfcc(&["--write-utt2dur=ark,t:durations", "scp:good.scp", "ark:x.ark"]).with(0);
    assert_eq!(fs::read_to_string(dir.path().join("durations")).unwrap(), "good 1 \n");
    mfcc(&["--output-format=htk", "scp:good.scp", "ark:htk.ark"]).with(0);
    let htk = fs::read(dir.path().join("htk.ark")).unwrap();
    let header = [0, 0, 0, 98, 0, 1, 0x86, 0xA0, 0, 13 * 4, 0, 0o106];
    assert_eq!(htk[..5 + 12], [&b"good "[..], &header].concat());
    assert_eq!(htk.len(), 5 + 12 + 98 * 13 * 4);
}

#[test]
fn a_mean_that_is_subtracted_leaves_none() {
    let dir = folder(&[]);
    let text = run(&dir, &["compute-fbank-feats", "--subtract-mean", "scp:good.scp", "ark,t:-"]).with(0).stdout;
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|line| line.split(' ').filter_map(|x| x.parse().ok()).collect()).collect();
    assert_eq!((rows.len(), rows[0].len()), (98, 23));
    for column in 0..23 {
        let sum: f64 = rows.iter().map(|row| row[column]).sum();
        assert!((sum / 98.0).abs() < 1e-4, "column {column}: {sum}");
    }
}

#[test]
fn warps_come_from_a_map_by_utterance_or_by_speaker() {
    let dir = folder(&[]);
    fs::write(dir.path().join("warps"), "good 0.9\nanna 0.9\n").unwrap();
    fs::write(dir.path().join("utt2spk"), "good anna\n").unwrap();
    let fbank = |args: &[&str]| {
        run(&dir, &[&["compute-fbank-feats", "--dither=0"], args, &["scp:good.scp", "ark,t:-"]].concat())
    };
    let expected = fbank(&["--vtln-warp=0.9"]).with(0).stdout;
    assert_ne!(expected, fbank(&[]).with(0).stdout);
    assert_eq!(expected, fbank(&["--vtln-map=ark:warps"]).with(0).stdout);
    assert_eq!(expected, fbank(&["--vtln-map=ark:warps", "--utt2spk=ark:utt2spk"]).with(0).stdout);
    fs::write(dir.path().join("warps"), "berta 0.9\n").unwrap();
    fbank(&["--vtln-map=ark:warps"]).with(1).has_line("WARNING", &["--vtln-map", "good"]);
}
