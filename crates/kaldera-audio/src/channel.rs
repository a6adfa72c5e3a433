//! The choice of a channel of a recording.

use kaldi_feat::options::{OptionError, OptionValue};

use crate::error::Error;

/// The channel to take of recordings with several channels.
///
/// ```
/// use kaldera_audio::ChannelChoice;
/// use kaldi_feat::options::OptionValue;
///
/// let mut choice = ChannelChoice::default();
/// choice.set("mean")?;
/// assert_eq!(choice, ChannelChoice::Mean);
/// assert_eq!(ChannelChoice::from(1).show(), "1");
/// # Ok::<(), kaldi_feat::options::OptionError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChannelChoice {
    /// The first one, with a warning if there are more.
    #[default]
    First,
    /// This one, counted from 0.
    One(usize),
    /// The mean of all, sample by sample.
    Mean,
}

impl ChannelChoice {
    /// The channel to take of `channels`; `None` for the mean.
    ///
    /// # Errors
    /// [`Error::NoSuchChannel`].
    pub fn index(self, channels: usize) -> Result<Option<usize>, Error> {
        match self {
            Self::One(channel) if channel >= channels => Err(Error::NoSuchChannel { channel, channels }),
            Self::One(channel) => Ok(Some(channel)),
            Self::Mean => Ok(None),
            Self::First => Ok(Some(0)),
        }
    }
}

impl From<usize> for ChannelChoice {
    fn from(channel: usize) -> Self {
        Self::One(channel)
    }
}

/// `-1` is the first one, as in Kaldi's `--channel`.
impl OptionValue for ChannelChoice {
    fn set(&mut self, text: &str) -> Result<(), OptionError> {
        *self = match text.trim() {
            "-1" => Self::First,
            "mean" => Self::Mean,
            number => match number.parse() {
                Ok(channel) => Self::One(channel),
                Err(_) => return Err(OptionError::new(text, "-1, 0, 1, ... or mean")),
            },
        };
        Ok(())
    }

    fn show(&self) -> String {
        match self {
            Self::First => "-1".to_owned(),
            Self::One(channel) => channel.to_string(),
            Self::Mean => "mean".to_owned(),
        }
    }

    fn type_name(&self) -> &'static str {
        "string"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_again() {
        for choice in [ChannelChoice::First, ChannelChoice::One(0), ChannelChoice::One(12), ChannelChoice::Mean] {
            let mut read = ChannelChoice::One(99);
            read.set(&choice.show()).unwrap();
            assert_eq!(read, choice);
        }
    }

    #[test]
    fn what_is_no_channel_leaves_the_old_one() {
        let mut choice = ChannelChoice::One(1);
        for text in ["-2", "", "left", "1.5", "Mean", "99999999999999999999999"] {
            let error = choice.set(text).unwrap_err().to_string();
            assert!(error.contains("-1, 0, 1, ... or mean"), "{error}");
        }
        assert_eq!(choice, ChannelChoice::One(1));
    }
}
