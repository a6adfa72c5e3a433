//! Recordings of single digits.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use kaldi_feat::LinearResample;
use kaldi_io::wave::WaveData;

use crate::Error;

/// Somebody says one digit.
#[derive(Debug, Clone)]
pub struct Recording {
    /// 0 to 9.
    pub digit: u8,
    /// Who says it.
    pub speaker: String,
    /// Which time this speaker says this digit.
    pub take: u32,
    /// The samples.
    pub samples: Vec<i16>,
}

impl Recording {
    /// `DIGIT_SPEAKER_TAKE`.
    pub fn name(&self) -> String {
        format!("{}_{}_{}", self.digit, self.speaker, self.take)
    }
}

/// Recordings of one sampling rate, ordered by folder and name.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// The recordings.
    pub recordings: Vec<Recording>,
    /// Samples per second, Hz.
    pub sample_rate: f32,
}

impl Corpus {
    /// Reads all files `DIGIT_SPEAKER_TAKE.wav` of some folders, which is how the Free Spoken Digit
    /// Dataset names them, and resamples what has another rate.
    ///
    /// # Errors
    /// For a folder without recordings, a name that is not of this form, a file that is no WAV
    /// file of one channel.
    pub fn read(folders: &[impl AsRef<Path>], sample_rate: f32) -> Result<Self, Error> {
        let mut corpus = Self { recordings: Vec::new(), sample_rate };
        folders.iter().try_for_each(|folder| corpus.add(folder.as_ref()))?;
        Ok(corpus)
    }

    fn add(&mut self, folder: &Path) -> Result<(), Error> {
        let at = |path: &Path, problem: &dyn std::fmt::Display| Error::from(format!("{}: {problem}", path.display()));
        let files = fs::read_dir(folder).map_err(|error| at(folder, &error))?;
        let paths = files.map(|file| file.map(|file| file.path())).collect::<Result<Vec<_>, _>>();
        let mut paths = paths.map_err(|error| at(folder, &error))?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "wav"));
        paths.sort_unstable();
        if paths.is_empty() {
            return Err(at(folder, &"no file DIGIT_SPEAKER_TAKE.wav is in this folder"));
        }
        for path in &paths {
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            let (digit, speaker, take) =
                parse(name).ok_or_else(|| at(path, &"the name is not DIGIT_SPEAKER_TAKE.wav"))?;
            let wave = WaveData::open(path)?;
            if wave.num_channels != 1 {
                return Err(at(path, &format!("{} channels; one was expected", wave.num_channels)));
            }
            let mut samples = wave.channel(0).into_owned();
            if wave.samp_freq != self.sample_rate {
                samples = resampled(&samples, wave.samp_freq, self.sample_rate).map_err(|error| at(path, &error))?;
            }
            self.recordings.push(Recording { digit, speaker: speaker.into(), take, samples });
        }
        Ok(())
    }

    /// The indexes of the recordings to learn from and of those to test with: of these takes, and
    /// if a speaker is left out, without that one and of that one alone.
    ///
    /// # Errors
    /// If nothing is left to test with; for a speaker that there is not, too.
    pub fn divide(
        &self,
        train: &RangeInclusive<u32>,
        test: &RangeInclusive<u32>,
        left_out: Option<&str>,
    ) -> Result<(Vec<usize>, Vec<usize>), Error> {
        let learnt = self.select(|one| train.contains(&one.take) && left_out != Some(&one.speaker));
        let tested = self.select(|one| test.contains(&one.take) && left_out.is_none_or(|name| name == one.speaker));
        if tested.is_empty() {
            let speakers: BTreeSet<&str> = self.recordings.iter().map(|one| &*one.speaker).collect();
            let speakers = speakers.into_iter().collect::<Vec<_>>().join(", ");
            let of = left_out.map_or(String::new(), |name| format!(" of '{name}'"));
            let (first, last) = (test.start(), test.end());
            return Err(format!("there is no take {first}-{last}{of} to test with; the speakers are {speakers}").into());
        }
        Ok((learnt, tested))
    }

    /// The indexes of the recordings that `wanted` wants.
    pub fn select(&self, wanted: impl Fn(&Recording) -> bool) -> Vec<usize> {
        (0..self.recordings.len()).filter(|&i| wanted(&self.recordings[i])).collect()
    }
}

/// The samples at another rate, as Kaldi resamples them.
fn resampled(samples: &[i16], from: f32, to: f32) -> Result<Vec<i16>, Error> {
    let samples: Vec<f32> = samples.iter().map(|&sample| f32::from(sample)).collect();
    let resampled = LinearResample::for_waveform(from, to)?.resample(&samples);
    // What overshoots is clipped by the cast.
    Ok(resampled.into_iter().map(|sample| sample.round() as i16).collect())
}

/// Digit, speaker and take of a name.
fn parse(name: &str) -> Option<(u8, &str, u32)> {
    let (digit, rest) = name.split_once('_')?;
    let (speaker, take) = rest.rsplit_once('_')?;
    let digit = digit.parse().ok().filter(|digit| *digit < 10)?;
    Some((digit, speaker, take.parse().ok()?)).filter(|_| !speaker.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_or_refused() {
        assert_eq!(parse("7_jackson_32"), Some((7, "jackson", 32)));
        assert_eq!(parse("0_en_us_f1_3"), Some((0, "en_us_f1", 3)));
        for bad in ["", "7", "7_jackson", "10_jackson_1", "x_jackson_1", "7_jackson_-1", "7__1"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_leaves_nothing_to_test_with_is_refused() {
        let one = |speaker: &str, take| Recording { digit: 1, speaker: speaker.into(), take, samples: vec![] };
        let corpus = Corpus { recordings: vec![one("theo", 0), one("theo", 7), one("ann", 9)], sample_rate: 8000.0 };
        assert_eq!(corpus.divide(&(0..=4), &(5..=9), None).unwrap(), (vec![0], vec![1, 2]));
        assert_eq!(corpus.divide(&(0..=9), &(5..=9), Some("theo")).unwrap(), (vec![2], vec![1]));
        let error = corpus.divide(&(0..=9), &(5..=9), Some("Theo")).unwrap_err().to_string();
        assert!(error.contains("'Theo'") && error.contains("ann, theo"), "{error}");
        assert!(corpus.divide(&(0..=9), &(10..=12), None).unwrap_err().to_string().contains("10-12"));
    }

    #[test]
    fn folders_without_recordings_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let message = Corpus::read(&[folder.path()], 8000.0).unwrap_err().to_string();
        assert!(message.contains(&*folder.path().to_string_lossy()), "{message}");
        fs::write(folder.path().join("hello.wav"), b"").unwrap();
        assert!(Corpus::read(&[folder.path()], 8000.0).unwrap_err().to_string().contains("hello.wav"));
    }
}
