//! Limits and damage of compressed files.

use crate::error::Error;

/// Number of samples that any file of compressed audio may become: 1 GiB, four and a half hours
/// at 16 kHz.
const FREE_SAMPLES: u64 = 1 << 28;

/// Samples that each of its bytes may become beyond that. Speech at 8 kbit/s becomes 16, silence in
/// FLAC 600 in two channels and 960 in eight, and silence in Opus, whose 20 ms are 1920 samples of
/// two channels and 2 to 4 bytes, 960.
const SAMPLES_PER_BYTE: u64 = 1024;

/// The most samples, of all channels, that an audio file of so many bytes may become, and no more
/// than `limit`.
pub(crate) fn most_samples(bytes: usize, limit: Option<u64>) -> u64 {
    let most = FREE_SAMPLES.max(SAMPLES_PER_BYTE.saturating_mul(bytes as u64));
    limit.map_or(most, |limit| most.min(limit))
}

/// Returns the result of a decoder. If `allow_truncated` is true, damage or truncation is only a
/// warning, unless there are no samples before it. An exceeded limit stays an error.
pub(crate) fn take_what_comes_before(
    ended: Result<(), Error>,
    samples: &[f32],
    allow_truncated: bool,
) -> Result<(), Error> {
    match ended {
        Err(error)
            if allow_truncated
                && !samples.is_empty()
                && !matches!(error, Error::TooManySamples { .. } | Error::NoMemory { .. }) =>
        {
            tracing::warn!("the recording is truncated or damaged ({error}); going on with what comes before");
            Ok(())
        }
        ended => ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_in_flac_is_below_the_limit() {
        // 50 minutes of two channels at 48 kHz, as ffmpeg writes them.
        assert!(most_samples(506_000, None) >= 2 * 50 * 60 * 48_000);
        assert_eq!((most_samples(0, None), most_samples(506_000, Some(7))), (FREE_SAMPLES, 7));
    }
}
