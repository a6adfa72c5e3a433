//! The recipe in `examples/`, over recordings that are made here.

use std::f32::consts::TAU;
use std::fs;
use std::path::Path;
use std::process::Command;

use kaldera::io::Holder;
use kaldera::io::table::SequentialReader;
use kaldera::io::wave::WaveData;
use kaldera::matrix::{Matrix, Vector};

/// A voice that glides from `low` to `low` + 40 Hz, with a break in the middle: harmonics, and a
/// little noise.
fn voice(path: &Path, low: f32, seconds: f32) {
    let samp_freq = 16_000.0;
    let (mut phase, mut noise) = (0.0_f32, 1_u32);
    let count = (seconds * samp_freq) as usize;
    let mut sample = |i: usize| {
        let at = i as f32 / count as f32;
        phase = (phase + (low + 40.0 * at) / samp_freq).fract();
        let harmonics: f32 = (1..12).map(|k| (phase * TAU * k as f32).sin() / k as f32).sum();
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let hiss = (noise >> 16) as f32 / 65_536.0 - 0.5;
        let loudness = if (0.45..0.6).contains(&at) { 0.0 } else { 4000.0 };
        (loudness * harmonics + 60.0 * hiss) as i16
    };
    let samples = (0..count).map(&mut sample).collect();
    let wave = WaveData { samp_freq, num_channels: 1, samples };
    wave.write(&mut fs::File::create(path).unwrap()).unwrap();
}

#[test]
fn the_recipe_normalises_mfcc_and_pitch_by_speaker() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("data")).unwrap();
    let (mut scp, mut utt2spk) = (String::new(), String::new());
    for (speaker, low) in [("anna", 190.0), ("ben", 95.0)] {
        for (index, seconds) in [(1, 1.0), (2, 1.5)] {
            let key = format!("{speaker}-{index}");
            voice(&at(&format!("{key}.wav")), low, seconds);
            // One of each pair comes through a command.
            scp += &if index == 1 { format!("{key} {key}.wav\n") } else { format!("{key} cat {key}.wav |\n") };
            utt2spk += &format!("{key} {speaker}\n");
        }
    }
    fs::write(at("data/wav.scp"), scp).unwrap();
    fs::write(at("data/utt2spk"), utt2spk).unwrap();

    let recipe = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/recipe.sh");
    let output = Command::new("sh")
        .args([recipe, env!("CARGO_BIN_EXE_kaldera"), "data", "out"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("ERROR") && !stderr.contains("panicked"), "{stderr}");
    // (1 s, 1.5 s) of two speakers, 13 MFCC and 3 of pitch.
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "492 frames of 16 dimensions in out/feats.scp\n");

    let feats: Vec<(String, Matrix<f32>)> = read(folder.path(), "copy-feats", "out/feats.scp");
    assert_eq!(feats.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["anna-1", "anna-2", "ben-1", "ben-2"]);
    for speaker in ["anna", "ben"] {
        for dim in 0..16 {
            let of_speaker = feats.iter().filter(|(key, _)| key.starts_with(speaker));
            let values: Vec<f32> = of_speaker.flat_map(|(_, matrix)| matrix.rows().map(move |row| row[dim])).collect();
            let mean = values.iter().sum::<f32>() / values.len() as f32;
            let variance = values.iter().map(|value| value * value).sum::<f32>() / values.len() as f32;
            assert!(mean.abs() < 1e-3 && (variance - 1.0).abs() < 1e-2, "{speaker} {dim}: {mean}, {variance}");
        }
    }
    let vad: Vec<(String, Vector<f32>)> = read(folder.path(), "copy-vector", "out/vad.scp");
    let voiced: f32 = vad.iter().filter(|(key, _)| key == "ben-1").flat_map(|(_, vad)| vad.data()).sum();
    assert!((50.0..98.0).contains(&voiced), "{voiced} of 98 frames are voiced");
}

/// A table whose index has names that count from `folder`.
fn read<T: Holder>(folder: &Path, copy: &str, scp: &str) -> Vec<(String, T)> {
    let (from, to) = (format!("scp:{scp}"), format!("ark:{}", folder.join("copy.ark").display()));
    let copied = Command::new(env!("CARGO_BIN_EXE_kaldera")).args([copy, &from, &to]).current_dir(folder).output();
    assert!(copied.unwrap().status.success());
    SequentialReader::open(&to).unwrap().map(Result::unwrap).collect()
}
