//! Log-mel spectrograms against librosa's, and Whisper's put together from librosa's parts
//! (`scripts/make-log-mel-answers.py`).

use kaldi_feat::{Audio, LogMel, LogMelOptions};

const ANSWERS: &str = include_str!("log_mel/answers.txt");

/// The script's signal.
pub(crate) fn signal(n: usize) -> Vec<i16> {
    let mut state = 12345_u64;
    (0..n as i64)
        .map(|i| {
            state = (state * 1_103_515_245 + 12345) % (1 << 31);
            let noise = (state >> 16) as i64 % 2001 - 1000;
            let triangle = (i * (20 + i / 200) % 4000 - 2000).abs() - 1000;
            let loud = i / 4000 % 3;
            if loud == 2 { 0 } else { (triangle * 5 + noise * loud) as i16 }
        })
        .collect()
}

fn options(name: &str, num_bins: i32) -> LogMelOptions {
    match name {
        "whisper" => LogMelOptions::whisper(num_bins),
        "whisper-30s" => LogMelOptions::whisper(num_bins).of_30_seconds(),
        "librosa" => LogMelOptions::librosa(16000.0),
        "librosa-22050-htk-40" => LogMelOptions::librosa(22050.0)
            .with_fft_size(1024)
            .with_hop(256)
            .with_num_mel_bins(num_bins)
            .with_htk_mel(true)
            .with_unit_area(false),
        "librosa-magnitude" => LogMelOptions::librosa(16000.0)
            .with_fft_size(512)
            .with_hop(128)
            .with_window_size(400)
            .with_use_power(false)
            .with_low_freq(50.0)
            .with_high_freq(7000.0)
            .with_num_mel_bins(num_bins),
        _ => panic!("options for {name}"),
    }
}

/// The noise of a transform in single precision, relative to the largest magnitude of a frame: some
/// roundings of 2^-24.
const NOISE: f64 = 3e-7;

/// `answers.txt` has six digits.
const DIGITS: f64 = 1e-6;

#[test]
fn rows_are_those_of_librosa() {
    let mut lines = ANSWERS.lines().peekable();
    let mut cases = 0;
    while let Some(head) = lines.next() {
        let words: Vec<&str> = head.split(' ').collect();
        let [name, n, bins, frames] = words[..] else { panic!("{head}") };
        let (n, bins, frames): (usize, usize, usize) =
            (n.parse().unwrap(), bins.parse().unwrap(), frames.parse().unwrap());
        let options = options(name, bins as i32);
        // What one unit of the logarithm to base e of a magnitude is in the result.
        let unit = if options.whisper_scale { 2.0 / 4.0 / 10_f64.ln() } else { 20.0 / 10_f64.ln() };
        let unit = if options.use_power { unit } else { unit / 2.0 };
        let samples = signal(n);
        let log_mel = LogMel::new(options.clone()).unwrap();
        let found = log_mel.compute(&Audio::new(&samples, options.samp_freq)).unwrap();
        if name == "whisper-30s" {
            assert_eq!(found.num_rows(), 3000);
        } else {
            assert_eq!((found.num_rows(), found.num_cols()), (frames, bins), "{head}");
        }
        let mut worst = 0.0_f64;
        for frame in (0..frames).step_by(7) {
            let expected = lines.next().unwrap().split(' ').map(|x| x.parse::<f64>().unwrap());
            let row = found.row_data(frame);
            let largest = f64::from(row.iter().copied().fold(f32::MIN, f32::max));
            for (expected, &found) in expected.zip(row.iter().step_by(5)) {
                let error = (f64::from(found) - expected).abs();
                worst = worst.max(error);
                // The smaller a magnitude beside the largest, the more of it is noise.
                let bound = DIGITS + unit * NOISE * (1.0 + ((largest - expected) / unit).exp()) + 4e-7 * expected.abs();
                assert!(
                    error < bound,
                    "{head}: {found} for {expected} in frame {frame}, off by {error}, {bound} at most"
                );
            }
        }
        println!("{head}: off by {worst:e} at most");
        cases += 1;
    }
    assert_eq!(cases, 14);
}

#[test]
fn invalid_options_are_named() {
    let base = || LogMelOptions::whisper(80);
    for (name, options) in [
        ("fft_size", base().with_fft_size(401)),
        ("fft_size", base().with_fft_size(i32::MAX)),
        ("window_size", base().with_window_size(401)),
        ("hop", base().with_hop(0)),
        ("pad_to", base().with_pad_to(-1)),
        ("num_bins", base().with_num_mel_bins(0)),
        ("low_freq", base().with_low_freq(8000.0)),
        ("high_freq", base().with_high_freq(8001.0)),
        ("samp_freq", base().with_sample_frequency(f32::NAN)),
        ("floor", base().with_floor(f32::NAN)),
        ("range", base().with_range(-1.0)),
    ] {
        let Err(kaldi_feat::Error::BadOption { field, .. }) = LogMel::new(options) else { panic!("{name} was taken") };
        assert_eq!(field, name);
    }
}

#[test]
fn tiny_audio_gives_finite_rows() {
    for options in
        [LogMelOptions::whisper(80), LogMelOptions::librosa(16000.0), LogMelOptions::whisper(128).of_30_seconds()]
    {
        let log_mel = LogMel::new(options.clone()).unwrap();
        for n in [0_usize, 1, 2, 159, 160, 200, 201] {
            let rows = log_mel.compute(&Audio::new(&vec![100_i16; n], 16000.0)).unwrap();
            let expected = match (options.pad_to, n) {
                (480_000, _) => 3000,
                (_, 0) => 0,
                _ => n / options.hop as usize + usize::from(options.last_frame),
            };
            assert_eq!(rows.num_rows(), expected);
            assert!(rows.data().iter().all(|x| x.is_finite()));
        }
    }
}
