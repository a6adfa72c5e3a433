//! Errors of this crate.

use thiserror::Error;

/// The reason that features can't be computed.
///
/// Messages name fields, between backticks: `frame.dither` is the field `dither` of the field
/// `frame`. A program whose users type options hands its messages to
/// [`fields_to_options`](crate::fields_to_options).
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of the options, or an argument, has a value that no features can be computed with.
    #[error("`{field}`={value} can't be: it must be {expected}")]
    BadOption {
        /// The field, such as `frame.dither`.
        field: &'static str,
        /// Its value.
        value: String,
        /// The values that it may have.
        expected: String,
    },

    /// The audio has another sample rate than the options, and they don't allow to resample it.
    #[error(
        "waveform and config sample frequency mismatch: {found} .vs {expected} (use `samp_freq`={found}, or \
         `allow_{direction}sample`=true to resample the waveform)"
    )]
    SampleRateMismatch {
        /// The sample rate of the audio in Hz.
        found: f32,
        /// The options' `samp_freq` in Hz.
        expected: f32,
        /// `up` or `down`: how the audio would have to be resampled.
        direction: &'static str,
    },

    /// The audio's sample rate is not a positive number of Hz.
    #[error("the waveform says that it has {found} samples a second: that must be a number from 1 to 10000000")]
    BadSampleRate {
        /// The sample rate in Hz.
        found: f32,
    },

    /// A sample rate that is so low that resampling makes far too many samples.
    #[error(
        "resampling makes {resampled} of {samples} samples, where the limit is {limit}: the sample rate in its header \
         is probably wrong; copy or record it again"
    )]
    TooManyResampled {
        /// The number of samples of all channels.
        samples: usize,
        /// The number of samples after resampling.
        resampled: usize,
        /// The largest number allowed.
        limit: u64,
    },

    /// The system has no memory for a signal.
    #[error("there is no memory for {samples} samples")]
    NoMemory {
        /// The number of samples requested.
        samples: usize,
    },

    /// The sample rates are too far from each other.
    #[error("can't resample from {from} Hz to {to} Hz: the limit is a factor of {limit}")]
    ResamplingFactor {
        /// The sample rate of the input, Hz.
        from: u32,
        /// The sample rate of the output, Hz.
        to: u32,
        /// The largest ratio of the two rates.
        limit: u32,
    },

    /// A resampler can't have such a filter.
    #[error("can't resample with a filter whose {what} is {value}: it must be {expected}")]
    BadFilter {
        /// The parameter that has a bad value.
        what: &'static str,
        /// The value of the parameter.
        value: f32,
        /// The values that it may have.
        expected: &'static str,
    },

    /// The audio has another sample rate than the options, and nothing here resamples.
    #[error(
        "sample frequency mismatch: the options say {expected} Hz and the data {found} Hz (use `samp_freq`={found})"
    )]
    WrongSampleRate {
        /// The sample rate of the audio in Hz.
        found: f32,
        /// The options' `samp_freq` in Hz.
        expected: f32,
    },

    /// Samples arrived after the end of their stream.
    #[error("the input of this stream was finished before these samples came: begin a new one")]
    AfterEnd,

    /// A pitch to be interpolated is negative, not finite, or too far from the others.
    #[error(
        "frame {frame} has a pitch of {pitch} Hz: pitches are above 0, or 0 for none, and not millions of steps apart"
    )]
    BadPitch {
        /// The frame, from 0.
        frame: usize,
        /// Its pitch.
        pitch: f32,
    },

    /// A sample of the audio is infinite or not a number.
    #[error("sample {index} (counted from 0) is {value}: samples must be finite numbers")]
    BadSample {
        /// The sample, counted from where this call began.
        index: usize,
        /// Its value.
        value: f32,
    },

    /// A mel filter has no frequency of the spectrum in it.
    #[error(
        "mel filter {bin} of {num_bins} has no frequency in it: `mel.num_bins` is too large for a spectrum of \
         {num_fft_bins} frequencies (use fewer bins, or a longer `frame.frame_length_ms`)"
    )]
    EmptyMelBin {
        /// The filter, from 0.
        bin: usize,
        /// The number of filters.
        num_bins: usize,
        /// Half the size of the FFT.
        num_fft_bins: usize,
    },

    /// The frequencies at which the VTLN warping bends don't lie within the mel filters' range.
    #[error(
        "can't warp by {warp}: `mel.vtln_low` ({vtln_low} Hz) and `mel.vtln_high` ({vtln_high} Hz), times the warp factor where it \
         moves them outwards, must lie in this order between `mel.low_freq` ({low_freq} Hz) and `mel.high_freq` ({high_freq} Hz)"
    )]
    BadVtln {
        /// The warp factor.
        warp: f32,
        /// `vtln_low`.
        vtln_low: f32,
        /// `vtln_high`, from zero up.
        vtln_high: f32,
        /// `low_freq`.
        low_freq: f32,
        /// `high_freq`, from zero up.
        high_freq: f32,
    },

    /// Rows have another number of columns than something that they are used with.
    #[error("{what} has {found} columns where {expected} are needed")]
    DimMismatch {
        /// The object that has the columns: `"a row"`, `"the statistics"`.
        what: &'static str,
        /// The expected number of columns.
        expected: usize,
        /// The actual number of columns.
        found: usize,
    },

    /// Interleaved samples are not a whole number of frames of the channels, or there are no
    /// channels.
    #[error("{samples} samples are not frames of {num_channels} channels")]
    NotInterleaved {
        /// The number of samples.
        samples: usize,
        /// The number of channels given.
        num_channels: usize,
    },

    /// A channel is asked for that the audio does not have.
    #[error("there is no channel {channel}: the audio has {num_channels}, counted from 0")]
    NoSuchChannel {
        /// The channel asked for.
        channel: usize,
        /// The number of channels.
        num_channels: usize,
    },

    /// A column is asked for that the features don't have.
    #[error("there is no column {column}: the features have {dim} columns, counted from 0")]
    BadColumn {
        /// The column asked for.
        column: usize,
        /// The number of columns.
        dim: usize,
    },

    /// Features, pitch or weights of the same frames have different lengths.
    #[error("lengths differ by more than {tolerance}: the shortest is of {shortest} frames, the longest of {longest}")]
    LengthMismatch {
        /// Frames of the shortest.
        shortest: usize,
        /// Frames of the longest.
        longest: usize,
        /// The largest difference allowed.
        tolerance: usize,
    },

    /// A result would have more elements than memory can have addresses.
    #[error("{rows} rows of {cols} columns are more than memory can hold")]
    TooLarge {
        /// Rows of the result.
        rows: usize,
        /// Columns of the result.
        cols: usize,
    },

    /// A matrix is not the statistics of a mean and variance normalisation.
    #[error(
        "statistics of CMVN have 1 or 2 rows and 2 columns or more, one more than the features: not {rows} x {cols}"
    )]
    BadStats {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
    },

    /// Variances are to be normalised by statistics that have none.
    #[error("the statistics are of the mean alone, so that variances can't be normalised")]
    NoVarianceStats,

    /// Numbers for normalising features, or the text that they are read from, can't be used.
    #[error("CMVN, {place}: {found}, where there must be {expected}")]
    BadCmvn {
        /// A line of the text, or a column.
        place: String,
        /// The text or value found there.
        found: String,
        /// The text or value required there.
        expected: &'static str,
    },

    /// Rows are requested while samples still arrive, but each row depends on the whole utterance.
    #[error("there is no stream of these features, as each row depends on the whole utterance: {reason}")]
    NeedsUtterance {
        /// The cause of this dependence.
        reason: &'static str,
    },

    /// Statistics of less than one frame normalise nothing.
    #[error("statistics of {count} frames are too few to normalise with: 1 is the least")]
    TooFewFrames {
        /// The frames, or their weights added up.
        count: f64,
    },

    /// Statistics whose variance in a dimension is no number to divide by.
    #[error("the statistics give dimension {dim} a variance of {variance}")]
    BadVariance {
        /// The dimension.
        dim: usize,
        /// The variance.
        variance: f64,
    },

    /// The bytes are not the state of a stream of this kind.
    #[error("this is not a saved state of such a stream: {reason}")]
    BadState {
        /// The defect of the bytes.
        reason: &'static str,
    },

    /// A batch has more frames than 32-bit row splits can count.
    #[error("a batch of {frames} frames is too large: 2147483647 is the most, so use smaller batches")]
    BatchTooLarge {
        /// The frames.
        frames: usize,
    },
}

impl Error {
    pub(crate) fn bad_option(field: &'static str, value: impl ToString, expected: impl Into<String>) -> Self {
        Self::BadOption { field, value: value.to_string(), expected: expected.into() }
    }
}
