//! What `kaldera features` does beyond features: pitch, normalisation, parts of recordings, parts
//! of the work.

use std::fs;

use kaldera::matrix::Matrix;

use crate::bench::{Bench, features};

/// Two speakers' recordings as a data folder, and their keys.
fn data(bench: &Bench) -> [&'static str; 4] {
    let keys = ["anna-1", "anna-2", "ben-1", "ben-2"];
    let mut scp = String::new();
    for (i, key) in (0..).zip(keys) {
        bench.wav(&format!("wav/{key}.wav"), 8000 + 3000 * i, 16_000.0);
        scp += &format!("{key} wav/{key}.wav\n");
    }
    fs::create_dir(bench.path("data")).unwrap();
    fs::write(bench.path("data/wav.scp"), scp).unwrap();
    fs::write(bench.path("data/utt2spk"), keys.map(|key| format!("{key} {}\n", &key[..key.len() - 2])).concat())
        .unwrap();
    keys
}

/// Sum and number of the values of a column.
fn sum_of<'m>(matrices: impl Iterator<Item = &'m Matrix<f32>>, column: usize) -> (f32, usize) {
    let values: Vec<f32> = matrices.flat_map(|matrix| matrix.rows().map(move |row| row[column])).collect();
    (values.iter().sum(), values.len())
}

#[test]
fn there_are_all_kinds() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    for (kind, dim) in [
        ("fbank", 23),
        ("mfcc", 13),
        ("plp", 13),
        ("spectrogram", 257),
        ("pitch", 3),
        ("whisper", 80),
        ("librosa", 128),
    ] {
        bench.run(&["features", "-q", "--kind", kind, "-o", "x.ark", "a.wav"]).with(0);
        assert_eq!(features(&bench.path("x.ark"))[0].1.num_cols(), dim, "{kind}");
        bench.run(&["features", "-q", "--kind", kind, "--with-pitch", "-o", "x.ark", "a.wav"]).with(0);
        assert_eq!(features(&bench.path("x.ark"))[0].1.num_cols(), dim + 3, "{kind} with pitch");
    }
    let help = bench.run(&["features", "--kind=mfcc", "--with-pitch", "--help"]).with(0).stdout;
    assert!(help.contains("--min-f0") && help.matches("--frame-shift ").count() == 1, "{help}");
}

#[test]
fn the_steps_are_those_of_kaldis_programs() {
    let bench = Bench::new();
    data(&bench);
    let kaldi = "\
        set -e
        \"$K\" compute-mfcc-feats --dither=0 scp:data/wav.scp ark:mfcc.ark
        \"$K\" compute-kaldi-pitch-feats scp:data/wav.scp ark:raw_pitch.ark
        \"$K\" process-kaldi-pitch-feats --delta-pitch-noise-stddev=0 ark:raw_pitch.ark ark:pitch.ark
        \"$K\" paste-feats --length-tolerance=2 ark:mfcc.ark ark:pitch.ark ark:both.ark
        \"$K\" compute-cmvn-stats ark:both.ark ark:cmvn.ark
        \"$K\" apply-cmvn --norm-vars=true ark:cmvn.ark ark:both.ark ark:normalised.ark
        \"$K\" add-deltas ark:normalised.ark ark:deltas.ark
        \"$K\" compute-vad --vad-energy-mean-scale=1 --vad-energy-threshold=0 ark:both.ark ark:vad.ark
        \"$K\" select-voiced-frames ark:deltas.ark ark:vad.ark ark:expected.ark";
    bench.shell(kaldi).with(0);
    let args =
        "features -q --kind mfcc --with-pitch --cmvn utterance --norm-vars --deltas --vad --vad-energy-mean-scale=1";
    let args: Vec<_> = args.split(' ').chain(["--vad-energy-threshold=0", "-o", "x.ark", "data"]).collect();
    bench.run(&args).with(0);
    assert!(features(&bench.path("x.ark")) == features(&bench.path("expected.ark")));
}

#[test]
fn means_are_taken_over_utterances_speakers_or_all() {
    let bench = Bench::new();
    let keys = data(&bench);
    let run = |cmvn: &str| {
        bench.run(&["features", "-q", "--kind=mfcc", "--cmvn", cmvn, "-o", "x.ark", "data"]).with(0);
        features(&bench.path("x.ark"))
    };
    let is_zero = |of: &dyn Fn(&str) -> bool, all: &[(String, Matrix<f32>)]| {
        let (sum, count) = sum_of(all.iter().filter(|(key, _)| of(key)).map(|(_, matrix)| matrix), 1);
        sum.abs() / count as f32 <= 1e-3
    };
    let by_speaker = run("speaker");
    for speaker in ["anna", "ben"] {
        assert!(is_zero(&|key| key.starts_with(speaker), &by_speaker), "{speaker}");
    }
    assert!(!keys.iter().all(|&wanted| is_zero(&|key| key == wanted, &by_speaker)));
    let by_utterance = run("utterance");
    assert!(keys.iter().all(|&wanted| is_zero(&|key| key == wanted, &by_utterance)));
    let of_all = run("all");
    assert!(is_zero(&|_| true, &of_all) && !is_zero(&|key| key.starts_with("anna"), &of_all));
    assert_ne!(run("sliding"), by_utterance);

    bench
        .run(&["features", "-q", "--kind=mfcc", "--cmvn=speaker", "-o", "x.ark", "wav"])
        .with(1)
        .tells(&["anna-1", "utt2spk"]);
}

#[test]
fn parts_of_recordings_are_cut_out() {
    let bench = Bench::new();
    data(&bench);
    fs::write(bench.path("data/segments"), "s1 anna-1 0.1 0.3\ns2 ben-2 0.2 -1\ns3 ben-9 0 1\ns4 anna-1 3 4\n")
        .unwrap();
    fs::remove_file(bench.path("data/utt2spk")).unwrap();
    bench.run(&["features", "--kind=fbank", "-o", "x.ark", "data"]).with(1).tells(&[
        "s3",
        "'ben-9'",
        "s4",
        "3 s to 4 s",
    ]);
    let found: Vec<_> =
        features(&bench.path("x.ark")).iter().map(|(key, matrix)| (key.clone(), matrix.num_rows())).collect();
    assert_eq!(found, [("s1".to_owned(), 18), ("s2".to_owned(), 84)]);

    bench.shell("\"$K\" extract-segments scp:data/wav.scp data/segments ark:cut.ark").with(0);
    bench.shell("\"$K\" compute-fbank-feats --dither=0 ark:cut.ark ark:expected.ark").with(0);
    assert!(features(&bench.path("x.ark")) == features(&bench.path("expected.ark")));

    let cut = |key: &str, start: f64| {
        format!(
            r#"{{"id": "{key}", "start": {start}, "duration": 0.2, "channel": 0, "recording": {{"id": "r", "sources": [{{"type": "file", "source": "wav/anna-1.wav"}}]}}}}"#
        )
    };
    fs::write(bench.path("cuts.jsonl"), format!("{}\n{}\n", cut("s1", 0.1), cut("c2", 0.0))).unwrap();
    bench.run(&["features", "-q", "--kind=fbank", "-o", "y.ark", "cuts.jsonl"]).with(0);
    assert_eq!(bench.keys("y.ark"), ["s1", "c2"]);
    assert!(features(&bench.path("y.ark"))[0] == features(&bench.path("x.ark"))[0]);
}

#[test]
fn shards_merged_are_the_whole() {
    let bench = Bench::new();
    data(&bench);
    for ending in ["ark", "npz", "safetensors"] {
        let (whole, all) = (format!("whole.{ending}"), format!("all.{ending}"));
        let run = |out: &str, shard: &[&str]| {
            bench.run(&[&["features", "-q", "--kind=fbank", "-o", out, "data"], shard].concat()).with(0);
        };
        run(&whole, &[]);
        bench.run(&["merge", "-o", &all]).with(1).tells(&[&format!("all.1-of-8.{ending}")]);
        for shard in ["1/3", "3/3"] {
            run(&all, &["--shard", shard]);
        }
        bench.run(&["merge", "-o", &all]).with(1).tells(&[&format!("all.2-of-3.{ending}")]);
        run(&all, &["--shard=2/3"]);
        let ended = bench.run(&["merge", "-o", &all]).with(0);
        assert!(ended.stdout.contains("3 files, 4 matrices"), "{ended:?}");
        assert!(fs::read(bench.path(&all)).unwrap() == fs::read(bench.path(&whole)).unwrap(), "{ending}");
        bench.run(&["merge", "-o", "twice.ark", &all, &whole]).with(2).tells(&["anna-1", &all, &whole]);
    }
    assert!(!bench.path("twice.ark").exists());
    bench.run(&["merge"]).with(2).tells(&["-o"]);
}

/// A script whose second recording stops the run that reads it.
#[cfg(unix)]
fn stopping_script(bench: &Bench) {
    data(bench);
    let stop = "kill -INT $PPID; sleep 0.5; cat wav/anna-2.wav |";
    fs::write(bench.path("stop.scp"), format!("anna-1 wav/anna-1.wav\nanna-2 {stop}\nben-1 wav/ben-1.wav\n")).unwrap();
}

#[test]
#[cfg(unix)]
fn a_run_that_is_stopped_leaves_nothing() {
    let bench = Bench::new();
    stopping_script(&bench);
    let before = bench.names();
    for out in ["x.ark", "x.npz", "x.safetensors"] {
        bench.run(&["features", "--kind=fbank", "-o", out, "stop.scp"]).with(130).tells(&["stopped", "nothing"]);
        assert_eq!(bench.names(), before);
    }
}

#[test]
#[cfg(unix)]
fn a_run_that_was_stopped_goes_on() {
    let bench = Bench::new();
    data(&bench);
    let stop_once = "if mkdir stopped 2> /dev/null; then kill -INT $PPID; sleep 0.5; fi; cat wav/anna-2.wav |";
    let list = format!("anna-1 wav/anna-1.wav\nanna-2 {stop_once}\nben-1 wav/ben-1.wav\n");
    fs::write(bench.path("stop.scp"), list).unwrap();
    let run = |options: &[&str]| {
        bench.run(
            &[&["features", "--kind=fbank", "--jobs=1", "-o", "x.ark", "--resume"], options, &["stop.scp"]].concat(),
        )
    };
    run(&[]).with(130).tells(&["--resume continues"]);
    assert!(!bench.path("x.ark").exists());
    let parts = || bench.names().into_iter().filter(|name| name.ends_with(".part")).count();
    assert_eq!(parts(), 1);
    fs::remove_dir(bench.path("stopped")).unwrap();
    run(&["--num-mel-bins=40"]).with(130).tells(&["of a run with other options or inputs"]);
    assert_eq!(parts(), 2, "other options, another file");

    let ended = run(&[]).with(0);
    assert!(ended.stdout.contains("2 recordings") && ended.stdout.contains("1 recording were there"), "{ended:?}");
    bench.run(&["features", "-q", "--kind=fbank", "-o", "y.ark", "stop.scp"]).with(0);
    assert!(fs::read(bench.path("x.ark")).unwrap() == fs::read(bench.path("y.ark")).unwrap());
    let scp = fs::read_to_string(bench.path("x.scp")).unwrap();
    assert_eq!(scp, fs::read_to_string(bench.path("y.scp")).unwrap().replace("y.ark", "x.ark"));
    assert!(run(&[]).with(0).stdout.contains("nothing to do"));
}

#[test]
fn a_recording_and_its_pitch_are_drawn() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    bench.wav("slow.wav", 8_000, 8_000.0);
    let ended = bench.run(&["plot", "a.wav", "-o", "a.png"]).with(0);
    assert!(ended.stdout.contains("spectrogram, fbank and pitch of 98 frames"), "{ended:?}");
    assert!(fs::read(bench.path("a.png")).unwrap().starts_with(b"\x89PNG"));
    bench.run(&["plot", "slow.wav", "-o", "slow.svg"]).with(0);
    let svg = fs::read_to_string(bench.path("slow.svg")).unwrap();
    for word in ["slow: spectrogram", "slow: fbank", "slow: pitch and voicing", "Hz", "<circle"] {
        assert!(svg.contains(word), "no {word}");
    }
    bench.shell("echo a a.wav | \"$K\" compute-kaldi-pitch-feats scp:- ark:pitch.ark").with(0);
    bench.run(&["plot", "--pitch", "pitch.ark", "a", "-o", "pitch.svg"]).with(0);
    bench.run(&["features", "-q", "--kind=fbank", "-o", "x.ark", "a.wav"]).with(0);
    bench.run(&["plot", "--pitch", "x.ark", "a", "-o", "y.svg"]).with(1).tells(&["23 columns"]);
    bench.run(&["plot", "none.wav", "-o", "y.svg"]).with(1).tells(&["none.wav"]);
    assert_eq!(
        bench.names(),
        ["a.png", "a.wav", "pitch.ark", "pitch.svg", "slow.svg", "slow.wav", "x.ark", "x.scp"],
        "nothing half-drawn"
    );
}

#[test]
#[cfg(feature = "symphonia")]
fn recordings_of_other_widths_are_the_same() {
    let bench = Bench::new();
    let narrow = bench.wav("narrow.wav", 8000, 16_000.0);
    // 24 bits, of which the lowest are 0.
    let samples: Vec<u8> = narrow[44..].chunks(2).flat_map(|sample| [0, sample[0], sample[1]]).collect();
    let size = u32::try_from(samples.len()).unwrap();
    let mut wide = narrow[..44].to_vec();
    wide[4..8].copy_from_slice(&(36 + size).to_le_bytes());
    wide[28..32].copy_from_slice(&48_000_u32.to_le_bytes());
    wide[32..36].copy_from_slice(&[3, 0, 24, 0]);
    wide[40..44].copy_from_slice(&size.to_le_bytes());
    fs::write(bench.path("wide.wav"), [wide, samples].concat()).unwrap();
    bench.run(&["features", "-q", "--kind=fbank", "-o", "x.ark", "narrow.wav", "wide.wav"]).with(0);
    let both = features(&bench.path("x.ark"));
    assert!(both[0].1 == both[1].1);
    fs::write(bench.path("bad.flac"), "fLaC, it says").unwrap();
    bench.run(&["features", "-q", "--kind=fbank", "-o", "y.ark", "bad.flac"]).with(1).tells(&["bad.flac", "truncated"]);
}

/// A checksum over whole bytes, the highest bit first, as FLAC has it.
#[cfg(feature = "symphonia")]
fn checksum(bytes: &[u8], polynomial: u32, bits: u32) -> u32 {
    bytes.iter().fold(0, |sum, &byte| {
        (0..8).fold(sum ^ (u32::from(byte) << (bits - 8)), |sum, _| {
            let shifted = sum << 1;
            (if shifted >> bits & 1 == 1 { shifted ^ polynomial } else { shifted }) & ((1 << bits) - 1)
        })
    })
}

/// Samples of one channel at 16 kHz as a FLAC file of one frame, as they are.
#[cfg(feature = "symphonia")]
fn flac(samples: &[i16]) -> Vec<u8> {
    let size = u16::try_from(samples.len()).unwrap();
    let mut file = b"fLaC\x80\0\0\x22".to_vec();
    file.extend([size.to_be_bytes(), size.to_be_bytes()].concat());
    file.extend([0; 6]);
    // 20 bits of rate, 3 of channels less one, 5 of bits less one, 36 of samples.
    let about = (16_000_u64 << 44) | (15 << 36) | u64::from(size);
    file.extend(about.to_be_bytes());
    file.extend([0; 16]);

    let mut frame = vec![0xFF, 0xF8, 0x75, 0x08, 0];
    frame.extend((size - 1).to_be_bytes());
    frame.push(u8::try_from(checksum(&frame, 0x07, 8)).unwrap());
    frame.push(2);
    frame.extend(samples.iter().flat_map(|sample| sample.to_be_bytes()));
    frame.extend(u16::try_from(checksum(&frame, 0x8005, 16)).unwrap().to_be_bytes());
    file.extend(frame);
    file
}

#[test]
#[cfg(feature = "symphonia")]
fn flac_is_found_in_folders_and_read() {
    let bench = Bench::new();
    let wav = bench.wav("in/a.wav", 16_000, 16_000.0);
    let samples: Vec<_> = wav[44..].chunks(2).map(|sample| i16::from_le_bytes([sample[0], sample[1]])).collect();
    let whole = flac(&samples);
    fs::write(bench.path("in/b.flac"), &whole).unwrap();
    fs::write(bench.path("in/c.flac"), &whole[..20_000]).unwrap();
    bench.run(&["features", "-q", "--kind=fbank", "-o", "x.ark", "in"]).with(1).tells(&["c.flac"]);
    let both = features(&bench.path("x.ark"));
    assert_eq!(bench.keys("x.ark"), ["a", "b"]);
    assert!(both[0].1 == both[1].1);
}
