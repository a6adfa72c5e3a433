//! One channel of interleaved samples, extracted on demand.

use std::sync::Arc;

use kaldi_feat::{Interleaved, PolyphaseResample, PolyphaseStream, Samples, check_resampled};

use crate::error::Error;

/// Frames that are taken out at once to be resampled: enough for all lanes of the resampler, few
/// enough for the cache.
const BLOCK: usize = 1 << 16;

/// A channel of a recording, or the mean of all channels.
#[derive(Debug, Clone, Copy)]
pub struct OneChannel<'a> {
    all: Interleaved<'a>,
    /// `None` for the mean.
    channel: Option<usize>,
}

impl<'a> OneChannel<'a> {
    /// A channel of `samples`, which are whole frames of `num_channels`; `channel` is one of
    /// them.
    pub(crate) fn new(samples: Samples<'a>, num_channels: usize, channel: Option<usize>) -> Self {
        debug_assert!(channel.is_none_or(|channel| channel < num_channels));
        Self { all: Interleaved::new(samples, num_channels).expect("whole frames"), channel }
    }

    fn into(self, out: &mut Vec<f32>) {
        match self.channel {
            None => self.all.mean_into(out),
            Some(channel) => self.all.channel_into(channel, out).expect("a channel that is there"),
        }
    }

    /// The samples; they are in `buffer` unless there is only one channel.
    pub fn samples<'b>(self, buffer: &'b mut Vec<f32>) -> Samples<'b>
    where
        'a: 'b,
    {
        if self.all.num_channels() == 1 {
            return self.all.samples();
        }
        self.into(buffer);
        Samples::F32(buffer)
    }

    /// Replaces `out` by the samples at the rate of `resampler`. The channel is never copied as a
    /// whole.
    ///
    /// # Errors
    /// [`kaldi_feat::Error::TooManyResampled`], [`Error::NoMemory`].
    pub fn resample_into(self, resampler: &Arc<PolyphaseResample>, out: &mut Vec<f32>) -> Result<(), Error> {
        /// The resampler computes whole groups, and cuts off the end.
        const GROUP: usize = 64;
        let num_frames = self.all.num_frames();
        let num_resampled = resampler.num_output_samples(num_frames);
        check_resampled(num_frames, num_resampled)?;
        out.clear();
        out.try_reserve_exact(num_resampled.saturating_add(GROUP))
            .map_err(|_| Error::NoMemory { samples: num_resampled })?;
        let (mut stream, mut block) = (PolyphaseStream::new(Arc::clone(resampler)), Vec::new());
        for begin in (0..num_frames).step_by(BLOCK) {
            let frames = self.all.frames(begin..num_frames.min(begin + BLOCK));
            stream.accept(Self { all: frames, ..self }.samples(&mut block), out);
        }
        stream.finish(out);
        Ok(())
    }
}

impl<'a> From<Samples<'a>> for OneChannel<'a> {
    fn from(samples: Samples<'a>) -> Self {
        Self::new(samples, 1, None)
    }
}
