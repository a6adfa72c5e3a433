//! Damaged recordings: errors may come of them, and nothing worse. `kaldera-fuzz` describes how to
//! search longer.

use kaldera_audio::{ReadOptions, Recording, WaveData};
use kaldera_fuzz::fuzz;

#[test]
fn recordings() {
    fuzz!("recordings", |bytes| {
        for allow_truncated in [false, true] {
            let read = Recording::read(bytes, &ReadOptions::default().with_allow_truncated(allow_truncated));
            if let Ok(recording) = read {
                assert!(recording.num_channels() > 0 && recording.samp_freq() > 0.0);
                let channel = recording.channel(recording.num_channels() - 1).expect("a channel");
                assert_eq!(channel.num_samples(), recording.num_samples());
                // If only the size of the RIFF chunk is that of a stream, Kaldi reads more.
                if let Ok(wave) = WaveData::read(bytes) {
                    assert_eq!((recording.samp_freq(), recording.num_channels()), (wave.samp_freq, wave.num_channels));
                    assert!(recording.samples().len() <= wave.samples.len());
                }
            }
        }
    });
}

/// Checksums are right, so that damage goes on to the decoder.
#[cfg(feature = "opus")]
#[test]
fn opus() {
    fuzz!("opus", |bytes| {
        let bytes = crate::ogg::with_checksums(bytes.to_vec());
        for allow_truncated in [false, true] {
            let read = Recording::read(&bytes[..], &ReadOptions::default().with_allow_truncated(allow_truncated));
            if let Ok(recording) = read {
                assert!(recording.num_samples() > 0 && recording.samples().iter().all(|sample| sample.is_finite()));
            }
        }
    });
}
