//! Kaldi's programs that move tables: what they write and how they end.

use std::ffi::OsStr;
use std::fs;

use tempfile::TempDir;

use crate::bench::{Ended, run};

/// A folder with a text archive of matrices: `a` of 3 x 2, `b` of 1 x 2, `c` of 12 x 1.
fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (0..12).map(|i| format!("\n  {i} ")).collect();
    let text = format!("a  [\n  1 2 \n  3 4 \n  5 6 ]\nb  [\n  -1 0.5 ]\nc  [{rows}]\n");
    fs::write(dir.path().join("m.txt"), text).unwrap();
    dir
}

/// Runs a program that should end with `code`, and returns what it printed.
#[track_caller]
fn ends(dir: &TempDir, code: i32, args: &[impl AsRef<OsStr>]) -> String {
    run(dir, args).with(code).stdout
}

/// Runs a program that should fail with `code`, and tell one thing.
#[track_caller]
fn fails(dir: &TempDir, code: i32, args: &[impl AsRef<OsStr>], told: &str) {
    let ended = run(dir, args).with(code);
    assert!(ended.stderr.lines().any(|line| !line.starts_with("kaldera ") && line.contains(told)), "{}", ended.stderr);
}

fn read(dir: &TempDir, name: &str) -> String {
    String::from_utf8_lossy(&fs::read(dir.path().join(name)).unwrap()).into_owned()
}

#[test]
fn compressed_copies() {
    let dir = folder();
    let dims = "a\t3\t2\nb\t1\t2\nc\t12\t1\n";
    for (number, tokens) in [(1, ["CM2", "CM"]), (2, ["CM", "CM"]), (3, ["CM2", "CM2"]), (7, ["CM3", "CM3"])] {
        let method = format!("--compression-method={number}");
        let frames = "--write-num-frames=ark,t:frames";
        ends(&dir, 0, &["copy-feats", "--compress", &method, frames, "ark:m.txt", "ark:m.ark"]);
        assert_eq!(read(&dir, "frames"), "a 3 \nb 1 \nc 12 \n");
        let bytes = fs::read(dir.path().join("m.ark")).unwrap();
        for (key, token) in ["a", "c"].iter().zip(tokens) {
            let start = format!("{key} \0B{token} ");
            assert!(bytes.windows(start.len()).any(|window| window == start.as_bytes()), "{number} {key}");
        }
        assert_eq!(ends(&dir, 0, &["matrix-dim", "ark:m.ark"]), dims);
    }
    fails(&dir, 255, &["copy-feats", "--compress", "--compression-method=8", "ark:m.txt", "ark:x"], "from 1 to 7");
    fails(&dir, 255, &["copy-feats", "--compress", "m.txt:2", "x"], "--compress is for tables");
    fails(&dir, 255, &["copy-feats", "--write-num-frames=ark:f", "m.txt:2", "x"], "--write-num-frames is for tables");
    fails(&dir, 255, &["copy-feats", "--sphinx-in", "m.txt:2", "x"], "--sphinx-in is for tables");
    fs::write(dir.path().join("nan.txt"), "n  [\n nan ]\n").unwrap();
    fails(&dir, 255, &["copy-feats", "--compress", "ark:nan.txt", "ark:x"], "NaN");
}

#[test]
fn files_of_other_toolkits_there_and_back() {
    let dir = folder();
    ends(&dir, 0, &["copy-feats-to-htk", "--output-dir=htk", "--sample-kind=6", "ark:m.txt"]);
    assert_eq!(
        fs::read(dir.path().join("htk/b.fea")).unwrap()[..16],
        *b"\0\0\0\x01\0\x01\x86\xA0\0\x08\0\x06\xBF\x80\0\0"
    );
    fs::write(dir.path().join("htk.scp"), "a htk/a.fea\nb htk/b.fea\nc htk/c.fea\n").unwrap();
    ends(&dir, 0, &["copy-feats", "--htk-in", "scp:htk.scp", "ark,t:back.txt"]);
    assert_eq!(read(&dir, "back.txt"), read(&dir, "m.txt"));
    ends(&dir, 0, &["copy-feats", "--htk-in", "--binary=false", "htk/b.fea", "b.mat"]);
    assert_eq!(read(&dir, "b.mat"), " [\n  -1 0.5 ]\n");
    ends(&dir, 0, &["copy-feats-to-sphinx", "--output-dir=htk/", "--output-ext=mfc", "ark:m.txt"]);
    assert_eq!(fs::read(dir.path().join("htk/b.mfc")).unwrap(), b"\x02\0\0\0\0\0\x80\xBF\0\0\0\x3F");
    // Read as Kaldi reads them, they are big-endian.
    let frame: Vec<u8> = (1..=13).flat_map(|x| (x as f32).to_be_bytes()).collect();
    fs::write(dir.path().join("s.mfc"), [&[0, 0, 0, 13], &frame[..]].concat()).unwrap();
    fs::write(dir.path().join("s.scp"), "s s.mfc\n").unwrap();
    ends(&dir, 0, &["copy-feats", "--sphinx-in", "scp:s.scp", "ark,t:s.txt"]);
    assert_eq!(read(&dir, "s.txt"), "s  [\n  1 2 3 4 5 6 7 8 9 10 11 12 13 ]\n");

    fails(&dir, 255, &["copy-feats-to-htk", "--output-dir=no/such", "ark:m.txt"], "no/such");
    fails(&dir, 255, &["copy-feats-to-htk", "--sample-kind=-1", "ark:m.txt"], "--sample-kind=-1");
    fs::write(dir.path().join("empty"), "").unwrap();
    ends(&dir, 1, &["copy-feats-to-htk", "ark:empty"]);
    ends(&dir, 1, &["copy-feats-to-sphinx"]);
}

#[test]
fn copies_that_change_elements() {
    let dir = folder();
    ends(&dir, 0, &["copy-matrix", "--scale=2", "--apply-power=2", "ark:m.txt", "ark,t:x"]);
    assert!(read(&dir, "x").starts_with("a  [\n  4 16 \n  36 64 \n  100 144 ]\nb  [\n  4 1 ]\nc  [\n  0 "));
    ends(&dir, 0, &["copy-matrix", "--apply-log", "--binary=false", "m.txt:2", "x"]);
    assert_eq!(read(&dir, "x"), " [\n  0 0.6931472 \n  1.098612 1.386294 \n  1.609438 1.791759 ]\n");
    fails(&dir, 255, &["copy-matrix", "--apply-log", "--apply-exp", "ark:m.txt", "ark:x"], "exclude each other");
    fails(&dir, 255, &["copy-matrix", "ark:m.txt", "x"], "a table and a single file");
    fs::write(dir.path().join("v"), "a  [ 1 2 3 ]\nb  [ ]\n").unwrap();
    ends(&dir, 0, &["copy-vector", "--change-dim=2", "--scale=-1", "ark:v", "ark,t:x"]);
    assert_eq!(read(&dir, "x"), "a  [ -1 -2 ]\nb  [ -0 -0 ]\n");
    ends(&dir, 0, &["copy-vector", "--change-dim=0", "--binary=false", "v:2", "x"]);
    assert_eq!(read(&dir, "x"), " [ ]\n");
    fs::write(dir.path().join("i"), "[ 1 -2 ]\n").unwrap();
    ends(&dir, 0, &["copy-int-vector", "i", "x"]);
    assert_eq!(fs::read(dir.path().join("x")).unwrap(), b"\0B\x04\x02\0\0\0\x01\0\0\0\xFE\xFF\xFF\xFF");
    ends(&dir, 0, &["copy-int-vector", "--binary=false", "x", "y"]);
    assert_eq!(read(&dir, "y"), "[ 1 -2 ]\n");
    ends(&dir, 0, &["matrix-sum-rows", "--do-average", "ark:m.txt", "ark,t:x"]);
    assert_eq!(read(&dir, "x"), "a  [ 3 4 ]\nb  [ -1 0.5 ]\nc  [ 5.5 ]\n");
}

#[test]
fn which_output_is_there_when_the_input_is_not() {
    let dir = folder();
    let check = |there: bool, tool: &str, args: &[&str]| {
        let output = format!("ark:{tool}");
        ends(&dir, 255, &[&[tool], args, &[&output]].concat());
        assert_eq!(dir.path().join(tool).exists(), there, "{tool}");
        let _ = fs::remove_file(dir.path().join(tool));
    };
    for tool in ["add-deltas", "add-deltas-sdc", "copy-feats", "copy-matrix", "copy-vector", "feat-to-len"] {
        check(true, tool, &["ark:none"]);
    }
    for tool in ["compute-cmvn-stats", "splice-feats", "subset-feats", "wav-to-duration"] {
        check(true, tool, &["ark:none"]);
    }
    for tool in ["compute-vad", "feat-to-dim", "interpolate-pitch", "matrix-sum-rows", "modify-cmvn-stats"] {
        check(false, tool, &["ark:none"]);
    }
    for tool in ["process-kaldi-pitch-feats", "shift-feats", "subsample-feats", "wav-copy"] {
        check(false, tool, &["ark:none"]);
    }
    check(true, "paste-feats", &["ark:none", "ark:m.txt"]);
    check(true, "paste-feats", &["ark:m.txt", "ark:none"]);
    check(false, "apply-cmvn", &["ark:m.txt", "ark:none"]);
    check(true, "apply-cmvn", &["ark:none", "ark:m.txt"]);
    check(true, "apply-cmvn", &["--utt2spk=ark:none", "m.txt:2", "ark:m.txt"]);
    check(true, "compute-cmvn-stats", &["--spk2utt=ark:none", "ark:m.txt"]);
    check(false, "compute-cmvn-stats", &["--weights=ark:none", "ark:m.txt"]);
    check(false, "select-feats", &["0", "ark:none"]);
    check(false, "select-feats", &["0,2", "ark:m.txt"]);
    check(true, "extract-feature-segments", &["ark:none", "none"]);
    check(false, "extract-segments", &["ark:none", "none"]);
    fs::write(dir.path().join("empty"), "").unwrap();
    ends(&dir, 0, &["select-feats", "0", "ark:empty", "ark:selected"]);
    assert!(!dir.path().join("selected").exists());
    fs::write(dir.path().join("first_is_empty"), "e  [ ]\na  [\n  1 2 ]\n").unwrap();
    check(false, "select-feats", &["0", "ark:first_is_empty"]);
}

#[test]
fn sizes() {
    let dir = folder();
    assert_eq!(ends(&dir, 0, &["feat-to-len", "ark:m.txt"]), "16\n");
    assert_eq!(ends(&dir, 0, &["feat-to-len", "ark:m.txt", "ark,t:-"]), "a 3 \nb 1 \nc 12 \n");
    assert_eq!(ends(&dir, 0, &["feat-to-dim", "ark:m.txt", "-"]), "2\n");
    assert_eq!(ends(&dir, 0, &["feat-to-dim", "ark:m.txt", "ark,t:-"]), "a 2 \nb 2 \nc 1 \n");
    assert_eq!(ends(&dir, 0, &["matrix-dim", "m.txt:2"]), "3\t2\n");
    fs::write(dir.path().join("empty"), "").unwrap();
    assert_eq!(ends(&dir, 0, &["feat-to-len", "ark:empty"]), "0\n");
    assert_eq!(ends(&dir, 1, &["matrix-dim", "ark:empty"]), "");
    fails(&dir, 255, &["feat-to-dim", "ark:empty", "-"], "no frames");
    ends(&dir, 1, &["feat-to-len", "a", "b", "c"]);
    fs::write(dir.path().join("r.scp"), "x m.txt:2[0:1]\n").unwrap();
    assert_eq!(ends(&dir, 0, &["matrix-dim", "scp:r.scp"]), "x\t2\t2\n");
}

#[test]
fn subsets() {
    let dir = folder();
    let keys = |dir: &TempDir| -> Vec<String> {
        let dims = ends(dir, 0, &["matrix-dim", "ark:x"]);
        dims.lines().filter_map(|line| Some(line.split_once('\t')?.0.to_owned())).collect()
    };
    ends(&dir, 0, &["subset-feats", "--n=2", "ark:m.txt", "ark:x"]);
    assert_eq!(keys(&dir), ["a", "b"]);
    fs::write(dir.path().join("list"), "  c 1 2\nz\na\r\n").unwrap();
    ends(&dir, 0, &["subset-feats", "--include=list", "ark:m.txt", "ark:x"]);
    assert_eq!(keys(&dir), ["a", "c"]);
    ends(&dir, 0, &["subset-feats", "--exclude=list", "ark:m.txt", "ark:x"]);
    assert_eq!(keys(&dir), ["b"]);
    // What is not asked for need not be there.
    fs::write(dir.path().join("some.scp"), "a m.txt:3\nb none\nc m.txt:3\n").unwrap();
    ends(&dir, 0, &["subset-feats", "--include=list", "scp:some.scp", "ark:x"]);
    assert_eq!(keys(&dir), ["a", "c"]);
    fs::write(dir.path().join("other"), "z\n").unwrap();
    ends(&dir, 1, &["subset-feats", "--include=other", "ark:m.txt", "ark:x"]);
    fails(&dir, 255, &["subset-feats", "--n=0", "ark:m.txt", "ark:x"], "at least 1");
    fails(&dir, 255, &["subset-feats", "--n=-1", "ark:m.txt", "ark:x"], "--n=-1");
    fails(&dir, 255, &["subset-feats", "--n=3", "--include=list", "ark:m.txt", "ark:x"], "--include and --n exclude");
    fails(&dir, 255, &["subset-feats", "--include=list", "--exclude=list", "ark:m.txt", "ark:x"], "exclude each other");
    fs::write(dir.path().join("gap"), "a\n\nb\n").unwrap();
    fails(&dir, 255, &["subset-feats", "--include=gap", "ark:m.txt", "ark:x"], "without a key");
}

/// 1000 samples in a second: a recording of 2 s, each sample its own number, and one of two
/// channels.
fn recordings(dir: &TempDir) {
    let wav = |channels: u16, samples: &[i16]| {
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let size = u32::try_from(bytes.len()).unwrap();
        let mut file = b"RIFF".to_vec();
        file.extend((36 + size).to_le_bytes());
        file.extend(b"WAVEfmt \x10\0\0\0\x01\0");
        file.extend(channels.to_le_bytes());
        file.extend(1000_u32.to_le_bytes());
        file.extend((2000 * u32::from(channels)).to_le_bytes());
        file.extend((2 * channels).to_le_bytes());
        file.extend(b"\x10\0data");
        file.extend(size.to_le_bytes());
        file.extend(bytes);
        file
    };
    let numbers: Vec<i16> = (0..2000).collect();
    fs::write(dir.path().join("mono.wav"), wav(1, &numbers)).unwrap();
    fs::write(dir.path().join("stereo.wav"), wav(2, &numbers)).unwrap();
    fs::write(dir.path().join("wav.scp"), "mono mono.wav\nstereo stereo.wav\n").unwrap();
}

#[test]
fn segments_of_recordings() {
    let dir = folder();
    recordings(&dir);
    let cut = |lines: &str, options: &[&str]| -> (Vec<(String, usize, i16)>, Ended) {
        fs::write(dir.path().join("segments"), lines).unwrap();
        let args = [&["extract-segments"], options, &["scp:wav.scp", "segments", "ark:x"]].concat();
        let ended = run(&dir, &args);
        let bytes = fs::read(dir.path().join("x")).unwrap();
        let mut parts = Vec::new();
        let mut rest = &bytes[..];
        while let Some(space) = rest.iter().position(|&byte| byte == b' ') {
            let key = String::from_utf8(rest[..space].to_vec()).unwrap();
            let wav = &rest[space + 1..];
            let size = u32::from_le_bytes(wav[40..44].try_into().unwrap()) as usize;
            parts.push((key, size / 2, i16::from_le_bytes([wav[44], wav[45]])));
            rest = &wav[44 + size..];
        }
        (parts, ended)
    };
    let part = |key: &str, len, first| (key.to_owned(), len, first);
    let lines =
        "a mono 0.5 1.0\nb mono 1.5 -1\nc mono 1.2344 1.5006\nd mono 1.8 2.5\ne stereo 0.25 0.5 1\nf mono 0 2 0\n";
    let (parts, ended) = cut(lines, &[]);
    assert_eq!(ended.code, Some(0));
    let expected = [
        part("a", 500, 500),
        part("b", 500, 1500),
        part("c", 267, 1234),
        part("d", 200, 1800),
        part("e", 250, 501),
        part("f", 2000, 0),
    ];
    assert_eq!(parts, expected);
    let bad = "a none 0 1\nb mono 0 0.05\nc mono 1.5 2.6\nd mono 2.5 3\ne stereo 0 1 2\nf mono 1\ng mono x 1\nh mono 1 0.5\ni mono 0 1 -1\n\n";
    let (parts, ended) = cut(bad, &[]);
    assert_eq!((parts.len(), ended.code), (0, Some(0)), "Kaldi ends well here");
    assert_eq!(ended.stderr.lines().filter(|line| line.starts_with("WARNING")).count(), 10, "{}", ended.stderr);
    let (parts, _) = cut("b mono 0 0.05\nc mono 1.5 2.6\n", &["--min-segment-length=0.01", "--max-overshoot=1"]);
    assert_eq!(parts, [part("b", 50, 0), part("c", 500, 1500)]);
    let (parts, ended) = cut("a mono 0 1\nb stereo 0 1\nc mono 0 1\n", &[]);
    assert_eq!((parts.len(), ended.code), (1, Some(255)));
    assert!(ended.stderr.contains("'b' needs a channel"), "{}", ended.stderr);
}

#[test]
fn segments_of_features() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (0..100).map(|i| format!("\n  {i} ")).collect();
    fs::write(dir.path().join("feats"), format!("u  [{rows}]\n")).unwrap();
    let cut = |lines: &str, options: &[&str], code: i32| -> Vec<String> {
        fs::write(dir.path().join("segments"), lines).unwrap();
        let args = [&["extract-feature-segments"], options, &["ark:feats", "segments", "ark,t:x"]].concat();
        ends(&dir, code, &args);
        read(&dir, "x").lines().filter(|line| !line.ends_with('[')).map(|line| line.trim().to_owned()).collect()
    };
    let frames = cut("s u 0.20 0.35\n", &[], 0);
    assert_eq!((frames.len(), frames[0].as_str(), frames.last().unwrap().as_str()), (13, "20", "32 ]"));
    assert_eq!(cut("s u 0.204 0.346\n", &["--snip-edges=false"], 0).len(), 15);
    assert_eq!(cut("s u 0 0.4\n", &["--frame-shift=20", "--frame-length=50"], 0).len(), 18, "ceil of 1.5 is 2");
    assert_eq!(cut("s u 0.5 1.02\n", &[], 0).len(), 50, "cut off where the snipped end is");
    assert_eq!(cut("s u 0.5 1.04\nt u 0.5 0.9\n", &[], 0).len(), 38, "nothing may go beyond");
    assert_eq!(cut("s u 0.5 1.04\n", &["--max-overshoot=0.03"], 0).len(), 50);
    let bad = "a none 0 1\nb u 0 0.1\nc u 1.5 2\nd u 0.5 -1\ne u 0.5 9\nf u x 1\n";
    assert!(cut(bad, &[], 255).is_empty());
    fails(&dir, 255, &["extract-feature-segments", "--frame-shift=0", "ark:feats", "segments", "ark:x"], "frame-shift");
}
