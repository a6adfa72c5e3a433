//! Inputs as they are found: what is good is read, what is not is named and counted, and nothing is
//! passed over in silence.

use std::fs;

use crate::bench::{Bench, Ended};

const FBANK: [&str; 5] = ["features", "--kind", "fbank", "-o", "x.ark"];

fn fbank(bench: &Bench, args: &[&str]) -> Ended {
    bench.run(&[&FBANK[..], args].concat())
}

/// A WAV file of a tone in a header of these fields and sizes.
fn wav(tag: u16, bits: u16, channels: u16, riff_size: u32, data_size: u32) -> Vec<u8> {
    const RATE: u32 = 16_000;
    let frame = bits / 8 * channels;
    let mut file = b"RIFF".to_vec();
    file.extend(riff_size.to_le_bytes());
    file.extend(b"WAVEfmt \x10\0\0\0");
    file.extend([tag, channels].map(u16::to_le_bytes).concat());
    file.extend([RATE, RATE * u32::from(frame)].map(u32::to_le_bytes).concat());
    file.extend([frame, bits].map(u16::to_le_bytes).concat());
    file.extend(b"data");
    file.extend(data_size.to_le_bytes());
    // A second.
    file.extend((0..usize::from(frame) * 16_000).map(|i| u8::try_from(i * 7 % 31).unwrap()));
    file
}

#[test]
fn streams_are_read_to_their_end_from_files_and_commands() {
    let bench = Bench::new();
    let mut script = String::new();
    let sizes = [(u32::MAX, u32::MAX), (0x8000_0024, 0x8000_0000), (0x7FFF_F024, 0x7FFF_F000), (0, 0)];
    for (tag, bits, channels) in
        [(1, 8, 1), (1, 16, 3), (1, 24, 1), (1, 32, 2), (3, 32, 1), (3, 64, 1), (6, 8, 1), (7, 8, 2)]
    {
        for (number, (riff_size, data_size)) in sizes.into_iter().enumerate() {
            let frame = u32::from(bits / 8 * channels);
            let data_size = data_size - if data_size == u32::MAX { 0 } else { data_size % frame };
            let name = format!("{tag}-{bits}-{channels}-{number}");
            fs::write(bench.path(&format!("{name}.wav")), wav(tag, bits, channels, riff_size, data_size)).unwrap();
            script += &format!("{name} {name}.wav\n{name}-pipe cat {name}.wav |\n");
        }
    }
    fs::write(bench.path("wav.scp"), script).unwrap();
    let ended = fbank(&bench, &["--channel=0", "wav.scp"]).with(0);
    assert!(ended.stdout.contains("64 recordings, 64.00 s of audio, 6272 frames"), "{ended:?}");
}

#[test]
fn headers_that_contradict_themselves_are_read_with_a_warning_and_refused_as_kaldi_does() {
    let bench = Bench::new();
    let good = wav(1, 16, 1, 32_036, 32_000);
    let (mut byte_rate, mut block_align) = (good.clone(), good);
    byte_rate[28] ^= 1;
    block_align[32] = 1;
    for (name, bytes) in [("rate.wav", byte_rate), ("align.wav", block_align)] {
        fs::write(bench.path(name), bytes).unwrap();
        fbank(&bench, &[name]).with(0).tells(&["contradicts itself"]);
        let scp = format!("echo a {name} > a.scp; \"$K\" compute-fbank-feats scp:a.scp ark:y.ark");
        bench.shell(&scp).with(255).tells(&["contradicts itself"]);
    }
}

#[test]
fn a_truncated_recording_fails_unless_it_is_allowed() {
    let bench = Bench::new();
    let whole = bench.wav("a.wav", 16_000, 16_000.0);
    fs::write(bench.path("a.wav"), &whole[..16_044]).unwrap();
    fbank(&bench, &["a.wav"]).with(1).tells(&["a.wav", "truncated", "32000 bytes", "16000", "--allow-truncated"]);
    let ended = fbank(&bench, &["--allow-truncated", "a.wav"]).with(0).tells(&["truncated"]);
    assert!(ended.stdout.contains("48 frames"), "{ended:?}");
}

#[test]
fn a_stereo_file_without_a_frame_does_not_end_the_others() {
    let bench = Bench::new();
    bench.wav("good.wav", 16_000, 16_000.0);
    let stereo = wav(1, 16, 2, 38, 2);
    fs::write(bench.path("bad.wav"), &stereo[..46]).unwrap();
    for channel in ["--channel=0", "--channel=1"] {
        fbank(&bench, &[channel, "bad.wav"]).with(1).tells(&["failed: bad (bad.wav)"]);
        bench
            .shell(&format!("echo bad bad.wav > b.scp; \"$K\" compute-fbank-feats {channel} scp:b.scp ark:y.ark"))
            .with(255);
    }
    fbank(&bench, &["bad.wav", "good.wav"]).with(1);
    assert_eq!(bench.keys("x.ark"), ["good"]);
}

#[test]
fn bad_lines_of_lists_are_named_and_the_others_read() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    fs::create_dir(bench.path("d")).unwrap();
    let write = |name: &str, text: &str| fs::write(bench.path(name), text).unwrap();
    write("d/wav.scp", "\u{feff}a a.wav\r\n\r\n");
    write("d/segments", "u1 a 0.2 0.8\nu2 a 0.5 0.5\n\nu3 a 0 -1\nu4 a 1 2 3 4 5\nu5 a 0 0.05\nu6 b 0 1\n");
    write("d/utt2spk", "\u{feff}u1 s\r\nu3 s\r\nlonely\r\n");
    let ended = fbank(&bench, &["--cmvn=speaker", "d"]).with(1);
    assert_eq!(bench.keys("x.ark"), ["u1", "u3"]);
    let told = |word: &str| ended.stderr.lines().filter(|line| line.starts_with(word)).collect::<Vec<_>>();
    let rejected = told("rejected: ");
    for (line, expected) in rejected.iter().zip([
        "d/wav.scp:2: ''",
        "d/segments, line 2: expected an end after the start, found 'u2 a 0.5 0.5'",
        "d/segments, line 3: ",
        "d/segments, line 5: ",
        "d/utt2spk:3: 'lonely'",
    ]) {
        assert!(line.contains(expected), "{line}");
    }
    assert_eq!((rejected.len(), told("failed: ").len()), (5, 2), "{ended:?}");
    assert!(ended.stdout.contains("2 recordings failed\n5 files or lines were rejected"), "{ended:?}");

    let cut =
        r#""start": 0, "duration": 0.5, "recording": {"id": "a", "sources": [{"type": "file", "source": "a.wav"}]}"#;
    let lines = [
        format!(r#"{{"id": "one", {cut}, "channel": 0, "type": "MonoCut"}}"#),
        format!(r#"{{"id": "two", {cut}, "channel": [0, 1], "type": "MultiCut"}}"#),
        "{\"id\": ".to_owned(),
        format!(r#"{{"id": "four", {cut}, "channel": 0, "type": "MonoCut"}}"#),
    ];
    write("c.jsonl", &format!("\u{feff}{}\r\n", lines.join("\r\n")));
    fbank(&bench, &["c.jsonl"]).with(1).tells(&["c.jsonl:2: a cut of several channels", "c.jsonl:3: EOF"]);
    assert_eq!(bench.keys("x.ark"), ["one", "four"]);
}

#[test]
fn files_of_a_folder_that_cannot_be_read_are_named_and_counted() {
    let bench = Bench::new();
    bench.wav("in/a.wav", 16_000, 16_000.0);
    for (name, bytes) in [
        ("in/a.wma", &b"\x30\x26\xB2\x75\x8E\x66\xCF\x11"[..]),
        ("in/a.amr-nb", b"#!AMR\n"),
        ("in/a.wv", b"wvpk"),
        ("in/a.txt", b"hello"),
    ] {
        fs::write(bench.path(name), bytes).unwrap();
    }
    let ended = fbank(&bench, &["in"]).with(1).tells(&[
        "rejected: in/a.wma: Windows Media",
        "rejected: in/a.amr-nb: AMR",
        "rejected: in/a.wv: WavPack",
        "ffmpeg -i FILE -f wav - |",
        "1 other file is not audio: in/a.txt",
    ]);
    assert!(ended.stdout.contains("3 files or lines were rejected"), "{ended:?}");
    assert_eq!(bench.keys("x.ark"), ["a"]);
    // What is no audio is no failure.
    for name in ["in/a.wma", "in/a.amr-nb", "in/a.wv"] {
        fs::remove_file(bench.path(name)).unwrap();
    }
    fbank(&bench, &["in"]).with(0).tells(&["in/a.txt"]);
}

#[test]
fn a_command_that_fails_is_told_with_its_status() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    let lines = "none cat none.wav 2>&- |\nfile ./a.wav 2>&- |\nlate cat a.wav; exit 5 |\ngood cat a.wav |\n";
    fs::write(bench.path("wav.scp"), lines).unwrap();
    let ended = fbank(&bench, &["wav.scp"]).with(1);
    let failures: Vec<_> = ended.stderr.lines().filter(|line| line.starts_with("failed: ")).collect();
    for (line, status) in failures.iter().zip(["exit status: 1;", "exit status: 126", "exit status: 5"]) {
        assert!(line.contains("the command") && line.contains(status), "{line}");
    }
    assert_eq!((failures.len(), bench.keys("x.ark")), (3, vec!["good".to_owned()]), "{ended:?}");
    // Kaldi's programs say why as well.
    let kaldi = "echo 'u exit 3 |' > u.scp; \"$K\" compute-fbank-feats scp:u.scp ark:y.ark";
    bench.shell(kaldi).with(255).tells(&["the command 'exit 3' failed with exit status: 3"]);
}

#[test]
fn no_pipes_refuses_commands_of_every_list_by_name() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    fs::create_dir(bench.path("d")).unwrap();
    let write = |name: &str, text: &str| fs::write(bench.path(name), text).unwrap();
    write("wav.scp", "a a.wav\nb touch ran; cat a.wav |\n");
    write("d/wav.scp", "c touch ran; cat a.wav |\n");
    write("d/segments", "d c 0 1\n");
    write("e.jsonl", "{\"id\": \"e\", \"sources\": [{\"type\": \"command\", \"source\": \"touch ran; cat a.wav\"}]}\n");
    let ended = fbank(&bench, &["--no-pipes", "wav.scp", "d", "e.jsonl"]).with(1);
    let refused = ended.stderr.matches("the command 'touch ran; cat a.wav' is not run").count();
    assert_eq!((refused, bench.keys("x.ark")), (3, vec!["a".to_owned()]), "{ended:?}");
    assert!(!bench.path("ran").exists());
    write("d/segments", "c c 0 1\n");
    write("x.scp", "c touch ran; cat x.ark |\n");
    for arguments in [&["d"][..], &["x.scp"], &["x.scp", "c"], &["scp:x.scp", "c"]] {
        bench.run(&[&["plot", "--no-pipes"], arguments].concat()).with(1).tells(&["is not run"]);
    }
    assert!(!bench.path("ran").exists());
    // A list that was found in a folder may be somebody else's.
    fbank(&bench, &["d"]).with(1).tells(&["is not run", "--pipes", "name the wav.scp itself"]);
    assert!(!bench.path("ran").exists());
    fbank(&bench, &["--pipes", "d"]).with(0);
    fs::remove_file(bench.path("ran")).unwrap();
    fbank(&bench, &["wav.scp", "e.jsonl"]).with(0);
    fs::remove_file(bench.path("ran")).unwrap();
    write("c.scp", "c touch ran; cat x.ark |\n");
    for line in ["copy-feats --no-pipes scp:c.scp ark:y.ark", "merge --no-pipes -o y.ark c.scp"] {
        assert_ne!(bench.line(line).tells(&["is not run"]).code, Some(0));
    }
    assert!(!bench.path("ran").exists());
    bench.line("merge -o y.ark c.scp");
    assert!(bench.path("ran").exists());
}

#[test]
fn recordings_beside_a_list_that_does_not_name_them_are_counted() {
    let bench = Bench::new();
    for name in ["d/a.wav", "d/sub/b.wav", "d/c.wav"] {
        bench.wav(name, 16_000, 16_000.0);
    }
    fs::write(bench.path("d/wav.scp"), "a d/a.wav\n").unwrap();
    fbank(&bench, &["d"]).with(0).tells(&["2 of the 3 audio files in d are not in its wav.scp"]);
    assert_eq!(bench.keys("x.ark"), ["a"]);
}

#[test]
fn of_a_key_that_occurs_again_the_first_is_done_and_the_other_named() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    fs::write(bench.path("wav.scp"), "a a.wav\nb a.wav\na none.wav\n").unwrap();
    let ended = fbank(&bench, &["wav.scp"]).with(1).tells(&["rejected: none.wav", "'a'", "a.wav"]);
    assert!(ended.stdout.contains("1 file or line was rejected"), "{ended:?}");
    assert_eq!(bench.keys("x.ark"), ["a", "b"]);
}

#[test]
fn byte_order_marks_and_carriage_returns_are_no_part_of_anything() {
    let bench = Bench::new();
    bench.wav("a.wav", 16_000, 16_000.0);
    let write = |name: &str, text: &str| {
        fs::write(bench.path(name), format!("\u{feff}{}", text.replace('\n', "\r\n"))).unwrap()
    };
    write("wav.scp", "utt1 a.wav\nutt2 cat a.wav |\n");
    write("segments", "seg1 utt1 0 1\nseg2 utt2 0 0.5\n");
    write("utt2spk", "utt1 anna\nutt2 ben\n");
    write("c.conf", "--num-mel-bins=40\n--dither=0\n");
    write("tok.txt", "<blk> 0\nx 1\n");
    write("lex.txt", "A x\n");
    write("lm.arpa", "\\data\\\nngram 1=3\n\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.6 A\n\n\\end\\\n");
    write("f.txt", "0 1 1 1 0.5\n1\n");
    write("vtln", "anna 1.0\nben 1.1\n");
    fbank(&bench, &["--config=c.conf", "wav.scp"]).with(0);
    assert_eq!(bench.keys("x.ark"), ["utt1", "utt2"]);
    for line in [
        "\"$K\" compute-fbank-feats --config=c.conf --vtln-map=ark:vtln --utt2spk=ark:utt2spk scp:wav.scp ark:y.ark",
        "\"$K\" extract-segments scp:wav.scp segments ark:z.ark && \"$K\" wav-to-duration ark:z.ark ark,t:w.txt",
        "\"$K\" fst make-hlg --tokens=tok.txt --write-words=w2.txt lex.txt lm.arpa h.fst && ! grep -q \"$(printf '\\357\\273\\277')\" w2.txt",
        "\"$K\" fst info f.txt",
    ] {
        bench.shell(line).with(0);
    }
    assert_eq!(bench.keys("y.ark"), ["utt1", "utt2"]);
    assert_eq!(fs::read_to_string(bench.path("w.txt")).unwrap(), "seg1 1 \nseg2 0.5 \n");
}

#[test]
fn rates_too_far_apart_are_refused_with_the_limit() {
    let bench = Bench::new();
    bench.wav("a.wav", 100, 150.0);
    let ended = fbank(&bench, &["--allow-upsample", "--sample-frequency=192000", "a.wav"]);
    ended.with(1).tells(&["from 150 Hz to 192000 Hz", "1000"]);
    bench.wav("b.wav", 100, 5.0);
    fbank(&bench, &["--allow-upsample", "b.wav"])
        .with(1)
        .tells(&["WAV header has 1 channels at 5 Hz", "100 Hz to 2 MHz"]);
}

/// Damage from which the decoder panics: it is told of, nothing of the panic is seen, and the
/// others are read.
#[test]
#[cfg(feature = "symphonia")]
fn a_damaged_ogg_file_does_not_end_the_others() {
    let bench = Bench::new();
    bench.wav("in/z.wav", 16_000, 16_000.0);
    let ogg = include_bytes!("../../../kaldera-audio/tests/it/audio/tone.ogg");
    fs::write(bench.path("in/a.ogg"), ogg).unwrap();
    for (number, step) in [3, 7, 11, 101, 997].into_iter().enumerate() {
        let mut damaged = ogg.to_vec();
        damaged.iter_mut().skip(26).step_by(step).for_each(|byte| *byte ^= 0x55);
        fs::write(bench.path(&format!("in/b{number}.ogg")), damaged).unwrap();
    }
    let ended = fbank(&bench, &["in"]).with(1);
    let keys = bench.keys("x.ark");
    assert!(keys.contains(&"a".to_owned()) && keys.contains(&"z".to_owned()), "{keys:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    assert!(ended.stderr.lines().all(|line| line.starts_with("failed: ")), "{ended:?}");
}
