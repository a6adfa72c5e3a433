//! Pitch against the definition written out in double precision, on random audio, random options
//! and random chunks; and its streams against themselves.
//!
//! A search among near ties may end elsewhere, so that paths are not compared but their costs: what
//! came must cost no more than the best path does.

use kaldera_base::random::Philox;
use kaldi_feat::{
    Audio, Error, LinearResample, OnlinePitch, PitchExtractionOptions, PitchExtractor, PitchProcessor, PitchWorkspace,
    ProcessPitchOptions, RowStream, compute_kaldi_pitch, process_pitch,
};
use kaldi_matrix::Matrix;
use proptest::prelude::*;

/// One frame as the search sees it.
struct Frame {
    /// Correlations at the lags of pitches, with and without ballast.
    pitch: Vec<f64>,
    pov: Vec<f64>,
    /// What it takes to change the ballast.
    mean_square: f64,
    norm: f64,
    /// How much of the window's energy is above what single precision tells from zero.
    loud: bool,
}

/// The definition.
struct Naive<'a> {
    options: &'a PitchExtractionOptions,
    lags: Vec<f64>,
    window: usize,
    shift: usize,
    first_lag: i64,
    last_lag: i64,
    frames: Vec<Frame>,
    finished: bool,
}

impl<'a> Naive<'a> {
    fn new(options: &'a PitchExtractionOptions, extractor: &PitchExtractor) -> Self {
        let rate = f64::from(options.resample_freq);
        let reach = f64::from(options.upsample_filter_width) / 2.0;
        Self {
            options,
            lags: extractor.pitches().map(|hz| 1.0 / f64::from(hz)).collect(),
            window: options.window_size(),
            shift: options.window_shift(),
            first_lag: (rate / f64::from(options.max_f0) - reach).ceil() as i64,
            last_lag: (rate / f64::from(options.min_f0) + reach).floor() as i64,
            frames: Vec::new(),
            finished: false,
        }
    }

    fn ballast(&self, mean_square: f64) -> f64 {
        (mean_square * self.window as f64).powi(2) * f64::from(self.options.nccf_ballast)
    }

    fn num_frames(&self, samples: usize) -> usize {
        let full = self.window + self.last_lag as usize;
        let length = if self.finished { self.window } else { full };
        if samples < length {
            0
        } else if self.options.snip_edges {
            (samples - length) / self.shift + 1
        } else if self.finished {
            (samples as f64 / self.shift as f64 + 0.5) as usize
        } else {
            let count = ((samples - length / 2) as f64 / self.shift as f64 + 0.5) as usize;
            (0..count).take_while(|&frame| self.span(frame).1 <= samples as i64).count()
        }
    }

    /// The first sample of a frame and the one after its last.
    fn span(&self, frame: usize) -> (i64, i64) {
        let full = self.window as i64 + self.last_lag;
        let start = (frame * self.shift) as i64;
        let start = if self.options.snip_edges { start } else { start + self.shift as i64 / 2 - full / 2 };
        (start, start + full)
    }

    /// All frames that `wave` is enough for.
    fn extract(&mut self, wave: &[f32]) {
        let mean_square = |wave: &[f32]| {
            let n = wave.len() as f64;
            let [sum, square] = [1, 2].map(|p| wave.iter().map(|&x| f64::from(x).powi(p)).sum::<f64>() / n);
            square - sum * sum
        };
        for frame in self.frames.len()..self.num_frames(wave.len()) {
            let (start, end) = self.span(frame);
            let inside = |i: i64| usize::try_from(i).ok().and_then(|i| wave.get(i)).copied();
            let preemph = f64::from(self.options.preemph_coeff);
            let mut x: Vec<f64> = (start..end)
                .map(|i| {
                    let before = if i == start { None } else { inside(i - 1) };
                    inside(i).map_or(0.0, |x| f64::from(x) - preemph * f64::from(before.unwrap_or(x)))
                })
                .collect();
            let mean = x[..self.window].iter().sum::<f64>() / self.window as f64;
            let before: f64 = x[..self.window].iter().map(|x| x * x).sum();
            x.iter_mut().for_each(|x| *x -= mean);
            let energy = |lag: i64| x[lag as usize..][..self.window].iter().map(|x| x * x).sum::<f64>();
            let loudness = if self.options.nccf_ballast_online {
                mean_square(&wave[..wave.len().min(end.max(0) as usize)])
            } else {
                mean_square(wave)
            };
            let lags = self.first_lag..=self.last_lag;
            let norms: Vec<f64> = lags.clone().map(|lag| energy(0) * energy(lag)).collect();
            let dots: Vec<f64> =
                lags.map(|lag| x[..self.window].iter().zip(&x[lag as usize..]).map(|(a, b)| a * b).sum()).collect();
            let nccf = |ballast: f64| -> Vec<f64> {
                let q =
                    |(dot, norm): (&f64, &f64)| if norm + ballast > 0.0 { dot / (norm + ballast).sqrt() } else { 0.0 };
                self.at_lags(&dots.iter().zip(&norms).map(q).collect::<Vec<_>>())
            };
            self.frames.push(Frame {
                pitch: nccf(self.ballast(loudness)),
                pov: nccf(0.0),
                mean_square: loudness,
                norm: norms.iter().sum::<f64>() / norms.len() as f64,
                loud: norms.iter().all(|norm| norm.sqrt() > 1e-3 * before.max(1e-3 * loudness)),
            });
        }
    }

    /// Measured correlations at the lags of pitches.
    fn at_lags(&self, measured: &[f64]) -> Vec<f64> {
        let rate = f64::from(self.options.resample_freq);
        let (cutoff, zeros) = (rate / 2.0, f64::from(self.options.upsample_filter_width));
        let weight = |t: f64| {
            if t.abs() >= zeros / (2.0 * cutoff) {
                return 0.0;
            }
            let x = std::f64::consts::TAU * cutoff * t;
            let window = 0.5 + 0.5 * (x / zeros).cos();
            window * if x == 0.0 { 1.0 } else { x.sin() / x }
        };
        let value = |lag: &f64| {
            measured.iter().enumerate().map(|(i, x)| x * weight(lag - (self.first_lag as f64 + i as f64) / rate)).sum()
        };
        self.lags.iter().map(value).collect()
    }

    /// Changes the ballast of the frames before `recompute-frame`, once that many are there or the
    /// audio has ended.
    fn recompute(&mut self, frames: usize, wave: &[f32]) {
        let n = wave.len() as f64;
        let [sum, square] = [1, 2].map(|p| wave.iter().map(|&x| f64::from(x).powi(p)).sum::<f64>() / n);
        let now = square - sum * sum;
        let close = |a: f64, b: f64| (a - b).abs() <= 0.01 * (a.abs() + b.abs());
        if self.frames[..frames].iter().all(|frame| close(frame.mean_square, now)) {
            return;
        }
        let new = self.ballast(now);
        let olds: Vec<f64> = self.frames[..frames].iter().map(|frame| self.ballast(frame.mean_square)).collect();
        for (frame, old) in self.frames[..frames].iter_mut().zip(olds) {
            let scale = ((old + frame.norm) / (new + frame.norm)).sqrt();
            frame.pitch.iter_mut().for_each(|x| *x *= scale);
        }
    }

    fn local(&self, frame: usize, lag: usize) -> f64 {
        let nccf = self.frames[frame].pitch[lag];
        1.0 - nccf + f64::from(self.options.soft_min_f0) * self.lags[lag] * nccf
    }

    fn move_cost(&self, from: usize, to: usize) -> f64 {
        let step = (1.0 + f64::from(self.options.delta_pitch)).ln().powi(2) * f64::from(self.options.penalty_factor);
        step * (from as f64 - to as f64).powi(2)
    }

    /// What the best path costs.
    fn best_cost(&self) -> f64 {
        let mut costs = vec![0.0; self.lags.len()];
        for frame in 0..self.frames.len() {
            costs = (0..costs.len())
                .map(|i| {
                    let best = (0..costs.len()).map(|j| costs[j] + self.move_cost(j, i)).fold(f64::INFINITY, f64::min);
                    best + self.local(frame, i)
                })
                .collect();
        }
        costs.into_iter().fold(f64::INFINITY, f64::min)
    }

    fn cost(&self, path: &[usize]) -> f64 {
        let local: f64 = path.iter().enumerate().map(|(frame, &lag)| self.local(frame, lag)).sum();
        local + path.windows(2).map(|pair| self.move_cost(pair[0], pair[1])).sum::<f64>()
    }
}

/// A voice that comes and goes, on noise; sometimes nothing at all.
fn audio(seed: u64, len: usize, hz: f32, rate: f32, noise: f32) -> Vec<f32> {
    let mut samples = vec![0.0; len];
    Philox::new(seed).add_gaussian(noise, 0, &mut samples);
    for (i, x) in samples.iter_mut().enumerate() {
        let t = i as f32 / rate;
        let swell = (t * 11.0 + seed as f32).sin().max(0.0);
        let phase = std::f32::consts::TAU * (hz * t + 3.0 * (t * 5.0).sin());
        *x += 3000.0 * swell * (phase.sin() + 0.5 * (2.0 * phase).sin() + 0.3 * (3.0 * phase).cos());
        *x = x.round();
    }
    samples
}

fn options() -> impl Strategy<Value = PitchExtractionOptions> {
    let rates =
        (prop::sample::select(&[8000.0_f32, 11025.0, 16000.0][..]), prop::sample::select(&[3000.0_f32, 4000.0][..]));
    let grid = (40.0..90.0_f32, 200.0..500.0_f32, 0.01..0.06_f32, 3..7_i32);
    let frames = (5.0..15.0_f32, 15.0..30.0_f32, any::<bool>(), prop::sample::select(&[0.0_f32, 0.0, 0.9][..]));
    let costs = (0.0..20.0_f32, 0.01..1.0_f32, 10.0..10000.0_f32);
    let online =
        (any::<bool>(), prop::sample::select(&[0_i32, 3, 10, 500][..]), prop::sample::select(&[0_i32, 4, 30][..]));
    (rates, grid, frames, costs, online).prop_map(|(rates, grid, frames, costs, online)| {
        PitchExtractionOptions::default()
            .with_sample_frequency(rates.0)
            .with_resample_frequency(rates.1)
            .with_min_f0(grid.0)
            .with_max_f0(grid.1)
            .with_delta_pitch(grid.2)
            .with_upsample_filter_width(grid.3)
            .with_frame_shift(frames.0)
            .with_frame_length(frames.1)
            .with_snip_edges(frames.2)
            .with_preemphasis_coefficient(frames.3)
            .with_soft_min_f0(costs.0)
            .with_penalty_factor(costs.1)
            .with_nccf_ballast(costs.2)
            .with_nccf_ballast_online(online.0)
            .with_recompute_frame(online.1)
            .with_max_frames_latency(online.2)
    })
}

/// Cuts `samples` in pieces of these lengths, as far as they go; the rest is one piece.
fn chunks<'a>(samples: &'a [f32], cuts: &'a [usize]) -> impl Iterator<Item = &'a [f32]> {
    let mut rest = samples;
    let mut cuts = cuts.iter();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let chunk;
        (chunk, rest) = rest.split_at(cuts.next().copied().unwrap_or(rest.len()).min(rest.len()));
        Some(chunk)
    })
}

fn all_frames(stream: &OnlinePitch) -> Vec<[f32; 2]> {
    (0..stream.num_frames_ready()).map(|i| stream.frame(i).unwrap().try_into().unwrap()).collect()
}

/// The result of any cut must be what the definition says.
fn check(options: &PitchExtractionOptions, samples: &[f32], cuts: &[usize]) -> Result<(), TestCaseError> {
    let extractor = PitchExtractor::new(options.clone()).unwrap();
    let resampler =
        LinearResample::new(options.samp_freq as u32, options.resample_freq as u32, options.lowpass_cutoff, 1).unwrap();
    let wave = resampler.resample(samples);
    let recompute = if options.nccf_ballast_online { 0 } else { options.recompute_frame as usize };
    let mut naive = Naive::new(options, &extractor);
    let mut stream = extractor.stream();
    let (mut taken, mut recomputed) = (0, false);
    let mut advance = |naive: &mut Naive<'_>, known: usize| {
        naive.extract(&wave[..known]);
        let frames = naive.frames.len();
        if !recomputed && recompute > 0 && (frames >= recompute || (naive.finished && frames > 0)) {
            recomputed = true;
            naive.recompute(frames.min(recompute), &wave[..known]);
        }
    };
    for chunk in chunks(samples, cuts) {
        stream.accept(chunk).unwrap();
        taken += chunk.len();
        advance(&mut naive, resampler.num_output_samples(taken, false));
        let ready = stream.num_frames_ready();
        prop_assert!(ready <= naive.frames.len() && ready + options.max_frames_latency as usize >= naive.frames.len());
    }
    stream.finish();
    naive.finished = true;
    advance(&mut naive, wave.len());
    let found = all_frames(&stream);
    prop_assert_eq!(found.len(), naive.frames.len());

    let pitches: Vec<f32> = extractor.pitches().collect();
    let path: Vec<usize> = found.iter().map(|[_, hz]| pitches.iter().position(|pitch| pitch == hz).unwrap()).collect();
    let (best, came) = (naive.best_cost(), naive.cost(&path));
    let bound = 2e-4 * (1.0 + found.len() as f64);
    if naive.frames.iter().all(|frame| frame.loud) {
        prop_assert!(came <= best + bound, "the path costs {came}, the best {best}, of {} frames", found.len());
        for (i, ([nccf, _], lag)) in found.iter().zip(&path).enumerate() {
            let expected = naive.frames[i].pov[*lag];
            prop_assert!((f64::from(*nccf) - expected).abs() < 2e-3, "frame {i}: {nccf} for {expected}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_cut_gives_the_best_path_of_the_definition(
        options in options(),
        seed in 0..1000_u64,
        len in 0..9000_usize,
        hz in 60.0..350.0_f32,
        cuts in prop::collection::vec(0..3000_usize, 0..20),
    ) {
        check(&options, &audio(seed, len, hz, options.samp_freq, 30.0), &cuts)?;
    }

    #[test]
    fn with_the_ballast_of_each_frame_no_cut_makes_a_worse_path(
        options in options(),
        seed in 0..1000_u64,
        len in 0..12000_usize,
        cuts in prop::collection::vec(0..800_usize, 0..40),
    ) {
        // Of two paths whose costs differ by rounding alone, a cut may give the other: sums are
        // taken chunk by chunk.
        let options = options.with_nccf_ballast_online(true);
        let samples = audio(seed, len, 150.0, options.samp_freq, 5.0);
        check(&options, &samples, &[])?;
        check(&options, &samples, &cuts)?;
    }

    #[test]
    fn restored_stream_continues_with_the_same_bits(
        options in options(),
        seed in 0..1000_u64,
        len in 1..9000_usize,
        chunk in 1..3000_usize,
        cut in 0..10_usize,
    ) {
        let samples = audio(seed, len, 150.0, options.samp_freq, 5.0);
        let extractor = PitchExtractor::new(options.clone()).unwrap();
        let process = PitchProcessor::new(ProcessPitchOptions::default().with_normalization_right_context(3)).unwrap();
        let mut stream = process.online(extractor.stream(), "key");
        let mut rows: Vec<Vec<f32>> = Vec::new();
        let mut frames = 0;
        for (i, chunk) in samples.chunks(chunk).enumerate() {
            if i == cut {
                let state = stream.save_state();
                stream = process.online(extractor.stream(), "key");
                stream.restore_state(&state).unwrap();
            }
            stream.accept(chunk).unwrap();
            while let Some(row) = stream.frame(frames) {
                rows.push(row.to_vec());
                frames += 1;
            }
        }
        stream.finish();

        let mut straight = process.online(extractor.stream(), "key");
        let mut frames = 0;
        for chunk in samples.chunks(chunk) {
            straight.accept(chunk).unwrap();
            while let Some(row) = straight.frame(frames) {
                prop_assert_eq!(row, &rows[frames][..]);
                frames += 1;
            }
        }
        straight.finish();
        prop_assert_eq!(all_frames(straight.pitch()), all_frames(stream.pitch()));
        for i in 0..straight.num_frames_ready() {
            let row = straight.frame(i).unwrap().to_vec();
            prop_assert_eq!(Some(&row[..]), stream.frame(i));
        }
    }

    #[test]
    fn processed_rows_are_those_of_the_formulas(
        process in process_options(),
        rows in prop::collection::vec((-1.1..1.1_f32, 50.0..400.0_f32), 0..60),
    ) {
        let pitch = Matrix::from_fn(rows.len(), if rows.is_empty() { 0 } else { 2 }, |r, c| [rows[r].0, rows[r].1][c]);
        let features = process_pitch(&process, &pitch, "key").unwrap();
        let expected = naive_process(&process, &rows);
        prop_assert_eq!(features.num_rows(), expected.len());
        for (r, expected) in expected.iter().enumerate() {
            for (c, &b) in expected.iter().enumerate() {
                let a = f64::from(features[(r, c)]);
                prop_assert!((a - b).abs() < 2e-5 * (1.0 + b.abs()), "row {r}, column {c}: {a} for {b}");
            }
        }
    }
}

fn process_options() -> impl Strategy<Value = ProcessPitchOptions> {
    let contexts = (0..20_i32, 0..20_i32, 1..5_i32, 0..6_i32);
    let scales = (0.5..3.0_f32, 0.5..3.0_f32, -1.0..1.0_f32, 1.0..12.0_f32);
    let add = (any::<bool>(), any::<bool>(), any::<bool>());
    (contexts, scales, add).prop_map(|(contexts, scales, add)| {
        ProcessPitchOptions::default()
            .with_normalization_left_context(contexts.0)
            .with_normalization_right_context(contexts.1)
            .with_delta_window(contexts.2)
            .with_delay(contexts.3)
            .with_pitch_scale(scales.0)
            .with_pov_scale(scales.1)
            .with_pov_offset(scales.2)
            .with_delta_pitch_scale(scales.3)
            .with_delta_pitch_noise_stddev(0.0)
            .with_add_pov_feature(add.0)
            .with_add_normalized_log_pitch(add.1)
            .with_add_delta_pitch(add.2)
            .with_add_raw_log_pitch(true)
    })
}

fn naive_process(options: &ProcessPitchOptions, rows: &[(f32, f32)]) -> Vec<Vec<f64>> {
    let len = rows.len() as i64;
    let ln = |t: i64| f64::from(rows[t.clamp(0, len - 1) as usize].1).ln();
    let pov = |t: i64| {
        let n = f64::from(rows[t as usize].0).abs().min(1.0);
        let r =
            -5.2 + 5.4 * (7.5 * (n - 1.0)).exp() + 4.8 * n - 2.0 * (-10.0 * n).exp() + 4.2 * (20.0 * (n - 1.0)).exp();
        1.0 / (1.0 + (-r).exp())
    };
    let features = |t: i64| {
        let mut row = Vec::new();
        if options.add_pov_feature {
            let n = f64::from(rows[t as usize].0.clamp(-1.0, 1.0));
            row.push(f64::from(options.pov_scale) * ((1.0001 - n).powf(0.15) - 1.0) + f64::from(options.pov_offset));
        }
        if options.add_normalized_log_pitch {
            let from = (t - i64::from(options.normalization_left_context)).max(0);
            let to = (t + i64::from(options.normalization_right_context)).min(len - 1);
            let weight: f64 = (from..=to).map(pov).sum();
            let mean = (from..=to).map(|t| pov(t) * ln(t)).sum::<f64>() / weight;
            row.push(f64::from(options.pitch_scale) * (ln(t) - mean));
        }
        if options.add_delta_pitch {
            let window = i64::from(options.delta_window);
            let norm: i64 = (-window..=window).map(|j| j * j).sum();
            let delta: f64 = (-window..=window).map(|j| j as f64 * ln(t + j)).sum();
            row.push(f64::from(options.delta_pitch_scale) * delta / norm as f64);
        }
        row.push(ln(t));
        row
    };
    let delay = if len == 0 { 0 } else { i64::from(options.delay) };
    (0..len + delay).map(|t| features((t - delay).max(0))).collect()
}

/// In digital silence no path is better than another, so that no frame is ever sure.
#[test]
fn endless_silence_takes_bounded_memory() {
    let extractor = PitchExtractor::new(PitchExtractionOptions::default()).unwrap();
    for sound_seconds in [0, 3] {
        let mut samples = audio(7, sound_seconds * 16_000, 150.0, 16_000.0, 5.0);
        samples.resize((sound_seconds + 60) * 16_000, 0.0);
        let (mut stream, mut sizes) = (extractor.stream(), Vec::new());
        for second in samples.chunks(16_000) {
            stream.accept(second).unwrap();
            stream.discard_frames(usize::MAX);
            sizes.push(stream.save_state().len());
        }
        let [.., before, _, _, _, _, _, _, _, _, _, after] = sizes[..] else { panic!() };
        assert!(after < before + 1000 * 20, "{before} bytes, and {after} ten seconds later");

        let (mut straight, mut restored) = (extractor.stream(), extractor.stream());
        for chunk in samples.chunks(77_777) {
            straight.accept(chunk).unwrap();
            restored.accept(chunk).unwrap();
            let state = restored.save_state();
            restored = extractor.stream();
            restored.restore_state(&state).unwrap();
        }
        straight.finish();
        restored.finish();
        assert!(all_frames(&straight) == all_frames(&restored));
    }
}

#[test]
fn row_stream_equals_whole() {
    let options = ProcessPitchOptions::default().with_delay(3).with_normalization_right_context(5);
    let processor = PitchProcessor::new(options).unwrap();
    let pitch = Matrix::from_fn(40, 2, |r, c| if c == 0 { (r as f32 * 0.3).sin() } else { 100.0 + r as f32 });
    let whole = processor.process(&pitch, "a").unwrap();
    assert_eq!((whole.num_rows(), whole.num_cols()), (43, 3));
    let (mut stream, mut out) = (processor.stream("a"), Vec::new());
    for (r, row) in pitch.rows().enumerate() {
        stream.accept(row, &mut out).unwrap();
        if r % 7 == 0 {
            let state = stream.save_state();
            stream = processor.stream("a");
            stream.restore_state(&state).unwrap();
            assert!(processor.stream("b").restore_state(&state).is_err());
        }
    }
    stream.finish(&mut out);
    assert_eq!(out, whole.data());
    // Noise is the key's.
    assert_ne!(processor.process(&pitch, "b").unwrap().data(), whole.data());
}

#[test]
fn a_hum_has_its_pitch() {
    let options = PitchExtractionOptions::default();
    for hz in [60.0, 101.3, 155.0, 240.0, 390.0] {
        let steady: Vec<f32> =
            (0..24000).map(|i| 4000.0 * (i as f32 / 16000.0 * hz * std::f32::consts::TAU).sin()).collect();
        let frames = compute_kaldi_pitch(&options, &Audio::new(&steady, 16000.0)).unwrap();
        assert_eq!(frames.num_rows(), 148);
        for row in frames.rows().skip(2).take(140) {
            // The cost draws a broad peak towards shorter lags.
            assert!((row[1] / hz - 1.0).abs() < 0.02, "{} for {hz}", row[1]);
            assert!(row[0] > 0.98, "{}", row[0]);
        }
    }
}

#[test]
fn signals_without_pitch_have_frames_and_numbers() {
    let extractor = |options| PitchExtractor::new(options).unwrap();
    let signals = [vec![0.0; 16000], vec![1000.0; 16000], vec![-32768.0; 500], vec![1e30; 4000], vec![], vec![5.0]];
    for snip_edges in [true, false] {
        let extractor = extractor(PitchExtractionOptions::default().with_snip_edges(snip_edges));
        for signal in &signals {
            let frames = extractor.compute(&Audio::new(signal, 16000.0)).unwrap();
            assert!(frames.data().iter().all(|x| x.is_finite()));
            // In the smallest of chunks.
            let mut stream = extractor.stream();
            for sample in signal.chunks(1).take(2000) {
                stream.accept(sample).unwrap();
            }
            stream.finish();
            stream.finish();
            assert!(all_frames(&stream).iter().flatten().all(|x| x.is_finite()));
        }
    }
    let mut stream = extractor(PitchExtractionOptions::default()).stream();
    assert!(matches!(stream.accept(&[0.0, f32::NAN][..]), Err(Error::BadSample { index: 1, .. })));
    stream.finish();
    assert_eq!(stream.accept(&[0.0][..]), Err(Error::AfterEnd));
    let wrong = compute_kaldi_pitch(&PitchExtractionOptions::default(), &Audio::new(&[0.0_f32][..], 8000.0));
    assert!(matches!(wrong, Err(Error::WrongSampleRate { .. })));
}

#[test]
fn memory_is_bounded_when_frames_are_discarded() {
    let options = PitchExtractionOptions::default().with_recompute_frame(100);
    let mut stream = PitchExtractor::new(options).unwrap().stream();
    let samples = audio(3, 160_000, 140.0, 16000.0, 20.0);
    let mut largest = 0;
    for _ in 0..4 {
        for chunk in samples.chunks(1000) {
            stream.accept(chunk).unwrap();
            stream.discard_frames(stream.num_frames_ready().saturating_sub(10));
        }
        largest = largest.max(stream.save_state().len());
    }
    assert!(stream.num_frames_ready() > 3990);
    assert!(stream.frame(10).is_none() && stream.frame(3990).is_some());
    assert!(largest < 3_000_000, "{largest}");
}

#[test]
fn invalid_options_are_named() {
    let base = PitchExtractionOptions::default;
    let bad = [
        ("min_f0", base().with_min_f0(0.0)),
        ("min_f0", base().with_min_f0(500.0)),
        ("max_f0", base().with_max_f0(5000.0)),
        ("max_f0", base().with_max_f0(f32::NAN)),
        ("delta_pitch", base().with_delta_pitch(1e-9)),
        ("delta_pitch", base().with_delta_pitch(-0.1)),
        ("lowpass_cutoff", base().with_lowpass_cutoff(2001.0)),
        ("resample_freq", base().with_resample_frequency(f32::INFINITY)),
        ("frame_length_ms", base().with_frame_length(1e9)),
        ("frame_length_ms", base().with_frame_length(0.1)),
        ("frame_shift_ms", base().with_frame_shift(0.1)),
        ("penalty_factor", base().with_penalty_factor(-0.1)),
        ("upsample_filter_width", base().with_upsample_filter_width(0)),
        ("simulate_first_pass_online", base().with_simulate_first_pass_online(true)),
        ("frames_per_chunk", base().with_frames_per_chunk(-1)),
    ];
    for (name, options) in bad {
        match PitchExtractor::new(options) {
            Err(Error::BadOption { field, .. }) => assert_eq!(field, name),
            Err(other) => panic!("{name}: {other}"),
            Ok(_) => panic!("{name} was taken"),
        }
    }
    let none = ProcessPitchOptions::default()
        .with_add_pov_feature(false)
        .with_add_normalized_log_pitch(false)
        .with_add_delta_pitch(false);
    assert!(PitchProcessor::new(none).is_err());
    assert!(PitchProcessor::new(ProcessPitchOptions::default().with_delay(-1)).is_err());
    assert!(process_pitch(&ProcessPitchOptions::default(), &Matrix::<f32>::zeros(3, 3), "").is_err());
}

#[test]
fn reused_workspace_changes_nothing() {
    let plan = |recompute_frame| {
        PitchExtractor::new(PitchExtractionOptions::default().with_recompute_frame(recompute_frame)).unwrap()
    };
    let extractors = [plan(500), plan(100)];
    let processor = PitchProcessor::new(ProcessPitchOptions::default()).unwrap();
    let mut workspace = PitchWorkspace::default();
    for (i, len) in [30_000, 0, 8000, 100, 20_000, 16_000].into_iter().enumerate() {
        let samples = audio(i as u64, len, 150.0, 16000.0, 5.0);
        let audio = Audio::new(&samples, 16000.0);
        let extractor = &extractors[i / 4];
        assert_eq!(extractor.compute_with(&mut workspace, &audio), extractor.compute(&audio));
        let processed = processor.compute_with(&mut workspace, extractor, &audio).unwrap();
        assert_eq!(processed, processor.compute(extractor, &audio).unwrap());
        assert!(extractor.compute_with(&mut workspace, &Audio::new(&samples, 11025.0)).is_err());
    }
}
