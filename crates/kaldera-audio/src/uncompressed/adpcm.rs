//! ADPCM: samples as differences of four bits, in independent blocks.

use kaldi_io::wave::header::MICROSOFT_COEFFICIENTS;

use crate::error::Error;

/// A kind of ADPCM, and the size of its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adpcm {
    /// IMA ADPCM of WAV files.
    Ima {
        /// Bytes of all channels together; at least the head of a block.
        block_bytes: usize,
    },
    /// IMA ADPCM of QuickTime: each channel has its own packets.
    QuickTime,
    /// Microsoft ADPCM.
    Microsoft {
        /// Bytes of all channels together; at least the head of a block.
        block_bytes: usize,
    },
}

/// Bytes of one of QuickTime's packets.
pub(super) const PACKET_BYTES: usize = 34;
/// Samples of a packet.
const PACKET_FRAMES: usize = 64;

impl Adpcm {
    /// Returns the number of bytes of a block's head, which is also the minimum of a block.
    pub(super) fn head_bytes(self, num_channels: usize) -> usize {
        num_channels
            * match self {
                Self::Ima { .. } => 4,
                Self::QuickTime => PACKET_BYTES,
                Self::Microsoft { .. } => 7,
            }
    }

    /// Returns the number of samples per channel in a block, or in the first `block_bytes` of one.
    pub(super) fn frames_in(self, block_bytes: usize, num_channels: usize) -> usize {
        let Some(rest) = block_bytes.checked_sub(self.head_bytes(num_channels)) else { return 0 };
        match self {
            Self::Ima { .. } => 1 + rest / (4 * num_channels) * 8,
            Self::QuickTime => PACKET_FRAMES,
            Self::Microsoft { .. } => 2 + rest * 2 / num_channels,
        }
    }

    fn block_bytes(self, num_channels: usize) -> usize {
        match self {
            Self::Ima { block_bytes } | Self::Microsoft { block_bytes } => block_bytes,
            Self::QuickTime => PACKET_BYTES * num_channels,
        }
    }

    /// Returns the number of bytes of the fewest blocks with at least `num_samples` samples per
    /// channel.
    pub(super) fn bytes_of(self, num_samples: usize, num_channels: usize) -> usize {
        let block = self.block_bytes(num_channels);
        num_samples.div_ceil(self.frames_in(block, num_channels).max(1)).saturating_mul(block)
    }

    /// Decodes the samples of all channels, side by side. A truncated block gives its samples
    /// before the end.
    pub(super) fn decode(self, bytes: &[u8], num_channels: usize) -> Result<Vec<i16>, Error> {
        let block_bytes = self.block_bytes(num_channels);
        let frames_of = |block: &[u8]| self.frames_in(block.len(), num_channels);
        let frames: usize = bytes.chunks(block_bytes).map(frames_of).sum();
        let mut samples = Vec::new();
        let count = frames * num_channels;
        samples.try_reserve_exact(count).map_err(|_| Error::NoMemory { samples: count })?;
        let mut quick_time = vec![Ima::default(); num_channels];
        for (number, block) in bytes.chunks(block_bytes).enumerate() {
            let frames = frames_of(block);
            if frames == 0 {
                continue;
            }
            let begin = samples.len();
            // Within the reserved capacity.
            samples.resize(begin + frames * num_channels, 0);
            let rows = &mut samples[begin..];
            match self {
                Self::Ima { .. } => decode_ima(block, num_channels, rows),
                Self::QuickTime => decode_quick_time(block, &mut quick_time, rows),
                Self::Microsoft { .. } => decode_microsoft(block, num_channels, rows),
            }
            .map_err(|found| Error::AdpcmBlock { block: number, found })?;
        }
        Ok(samples)
    }
}

/// Decodes a block: first sample and step index of each channel, then eight samples of each channel
/// in turn.
fn decode_ima(block: &[u8], num_channels: usize, samples: &mut [i16]) -> Result<(), String> {
    let (heads, body) = block.split_at(4 * num_channels);
    for (channel, &[low, high, index, _]) in heads.as_chunks::<4>().0.iter().enumerate() {
        let predictor = i16::from_le_bytes([low, high]);
        let mut ima = Ima::new(predictor, index)?;
        samples[channel] = predictor;
        let words = body.as_chunks::<4>().0.iter().skip(channel).step_by(num_channels);
        let rows = samples[num_channels..].iter_mut().skip(channel).step_by(num_channels);
        words.flatten().flat_map(low_first).zip(rows).for_each(|(code, sample)| *sample = ima.next(code, rounded_once));
    }
    Ok(())
}

/// Decodes a packet of each channel: nine bits of predictor, seven of the step's index, 64 samples.
///
/// The previous predictor is kept if those nine bits do not contradict it, as in Apple's decoder.
fn decode_quick_time(block: &[u8], states: &mut [Ima], samples: &mut [i16]) -> Result<(), String> {
    let num_channels = states.len();
    for (channel, (&[high, low, ref codes @ ..], state)) in
        block.as_chunks::<PACKET_BYTES>().0.iter().zip(states).enumerate()
    {
        let start = Ima::new(i16::from_be_bytes([high, low & 0x80]), low & 0x7F)?;
        let is_continued = state.index == start.index && (state.predictor - start.predictor).abs() <= 0x7F;
        if !is_continued {
            *state = start;
        }
        let rows = samples.iter_mut().skip(channel).step_by(num_channels);
        codes
            .iter()
            .flat_map(low_first)
            .zip(rows)
            .for_each(|(code, sample)| *sample = state.next(code, rounded_by_parts));
    }
    Ok(())
}

/// Returns the two codes of a byte, the lower one first.
fn low_first(byte: &u8) -> [u8; 2] {
    [byte & 0x0F, byte >> 4]
}

/// Decoder of IMA's codes.
#[derive(Debug, Clone, Copy, Default)]
struct Ima {
    predictor: i32,
    index: usize,
}

impl Ima {
    fn new(predictor: i16, index: u8) -> Result<Self, String> {
        let index = usize::from(index);
        if index >= STEPS.len() {
            return Err(format!("step {index}, and there are {}", STEPS.len()));
        }
        Ok(Self { predictor: i32::from(predictor), index })
    }

    /// Returns the next sample. `difference` computes its difference from the last one, given the
    /// step and the three lower bits of the code.
    fn next(&mut self, code: u8, difference: fn(i32, u8) -> i32) -> i16 {
        let difference = difference(i32::from(STEPS[self.index]), code & 7);
        let change = if code & 8 == 0 { difference } else { -difference };
        let sample = saturated(self.predictor + change);
        self.predictor = i32::from(sample);
        self.index = self.index.saturating_add_signed(INDEX_CHANGES[usize::from(code & 7)]).min(STEPS.len() - 1);
        sample
    }
}

/// Multiplies the step by an odd number of eighths, rounded down. Encoders of WAV files differ in
/// their rounding. ffmpeg and tools based on it decode this way; sox and libsndfile use
/// [`rounded_by_parts`].
fn rounded_once(step: i32, code: u8) -> i32 {
    ((2 * i32::from(code) + 1) * step) >> 3
}

/// Adds parts of the step, each rounded down, as in IMA's recommendation of 1992. Packets that
/// continue each other need the encoder's rounding, and all decoders of QuickTime's packets use
/// this one.
fn rounded_by_parts(step: i32, code: u8) -> i32 {
    let part = |bit: u8, shift: u32| if code & bit == 0 { 0 } else { step >> shift };
    (step >> 3) + part(4, 0) + part(2, 1) + part(1, 2)
}

/// Changes of the step index after a code.
const INDEX_CHANGES: [isize; 8] = [-1, -1, -1, -1, 2, 4, 6, 8];

/// IMA's steps; each is about a tenth larger than the one before.
const STEPS: [i16; 89] = [
    7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107,
    118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963,
    1060, 1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894,
    6484, 7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794,
    32767,
];

/// Decodes a block: coefficient index, step and two samples of each channel; then the channels in
/// turn.
fn decode_microsoft(block: &[u8], num_channels: usize, samples: &mut [i16]) -> Result<(), String> {
    let (head, codes) = block.split_at(7 * num_channels);
    let (which, words) = head.split_at(num_channels);
    let word = |number: usize| words.as_chunks::<2>().0[number];
    for (channel, &which) in which.iter().enumerate() {
        let [step, last, before] = [0, 1, 2].map(|field| i16::from_le_bytes(word(field * num_channels + channel)));
        let coefficients = MICROSOFT_COEFFICIENTS.get(usize::from(which));
        let &coefficients = coefficients.ok_or_else(|| format!("coefficients {which}, and there are 7"))?;
        let mut state =
            Microsoft { coefficients, step: i32::from(step), last: i32::from(last), before: i32::from(before) };
        let mut rows = samples.iter_mut().skip(channel).step_by(num_channels);
        for (first, row) in [before, last].into_iter().zip(&mut rows) {
            *row = first;
        }
        let codes = codes.iter().flat_map(|byte| [byte >> 4, byte & 0x0F]).skip(channel).step_by(num_channels);
        codes.zip(rows).for_each(|(code, sample)| *sample = state.next(code));
    }
    Ok(())
}

/// Decoder of Microsoft's codes.
struct Microsoft {
    coefficients: [i32; 2],
    step: i32,
    last: i32,
    before: i32,
}

impl Microsoft {
    fn next(&mut self, code: u8) -> i16 {
        /// Factors of the step, in units of 1/256.
        const FACTORS: [i32; 8] = [230, 230, 230, 230, 307, 409, 512, 614];
        /// Factors of the step after negative codes, from -8.
        const NEGATIVE_FACTORS: [i32; 8] = [768, 614, 512, 409, 307, 230, 230, 230];
        const LEAST_STEP: i32 = 16;
        /// Largest step whose product with a factor fits 32 bits.
        const MOST_STEP: i32 = i32::MAX / 768;
        let [of_last, of_before] = self.coefficients;
        // Rounds towards 0, as in Microsoft's definition and ffmpeg; sox and libsndfile round down.
        let predicted = (self.last * of_last + self.before * of_before) / 256;
        let (signed, factor) = if code < 8 {
            (i32::from(code), FACTORS[usize::from(code)])
        } else {
            (i32::from(code) - 16, NEGATIVE_FACTORS[usize::from(code) - 8])
        };
        let sample = saturated(predicted + signed * self.step);
        (self.before, self.last) = (self.last, i32::from(sample));
        self.step = ((self.step * factor) >> 8).clamp(LEAST_STEP, MOST_STEP);
        sample
    }
}

/// Clips at full scale.
fn saturated(sample: i32) -> i16 {
    i16::try_from(sample).unwrap_or(if sample < 0 { i16::MIN } else { i16::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ima(block_bytes: usize) -> Adpcm {
        Adpcm::Ima { block_bytes }
    }

    fn microsoft(block_bytes: usize) -> Adpcm {
        Adpcm::Microsoft { block_bytes }
    }

    const IMA: &[u8] =
        &[46, 251, 40, 0, 0, 38, 138, 44, 12, 42, 134, 32, 251, 17, 101, 247, 199, 213, 33, 171, 118, 124, 192, 66];
    const MICROSOFT: &[u8] = &[
        5, 70, 0, 191, 254, 220, 5, 0, 255, 219, 176, 0, 223, 240, 191, 130, 48, 61, 82, 80, 113, 127, 32, 149, 229, 0,
    ];
    const QUICK_TIME: &[u8] = &[
        4, 178, 0, 38, 138, 44, 12, 42, 134, 32, 251, 17, 101, 247, 199, 213, 33, 171, 118, 124, 192, 66, 2, 0, 60,
        182, 113, 103, 155, 13, 189, 171, 215, 65,
    ];

    #[test]
    fn samples_are_those_of_ffmpeg() {
        let of_ima = ima(IMA.len()).decode(IMA, 1).unwrap();
        #[rustfmt::skip]
        assert_eq!(of_ima, [
            -1234, -1192, -1154, -701, -393, -673, -724, -1141, -861, -1320, -1259, -1539, -1284, -682, -764, -690, -350,
            -782, -1623, -1262, -934, 160, 2054, 5927, -2375, 15424, -7469, 26387, -18667, -6380, 12241, -11459, -26848,
            9527, 32767, -4095, 32767, 32767, -751, 19728, 32767,
        ]);
        let of_microsoft = microsoft(MICROSOFT.len()).decode(MICROSOFT, 1).unwrap();
        #[rustfmt::skip]
        assert_eq!(of_microsoft, [
            1500, -321, -1795, -2964, -3922, -4688, -5369, -6033, -6788, -7295, -7592, -7714, -7902, -7993, -7997, -7875,
            -7872, -7816, -8144, -7911, -7097, -6324, -5195, -4556, -3430, -2121, -264, 1248, 3976, 6650, 11987, 15016,
            19254, 22396, 18921, 25526, 24279, 32767, 32767, 32255,
        ]);
        let quick_time = Adpcm::QuickTime.decode(QUICK_TIME, 1).unwrap();
        #[rustfmt::skip]
        assert_eq!(quick_time, [
            1261, 1360, 2536, 3337, 2609, 2477, 1394, 2122, 930, 1090, 362, 1024, 2588, 2375, 2569, 3450, 2329, 144, 1080,
            1932, 4772, 9686, 19731, -1805, 32767, -4095, 32767, -12286, 0, 18621, -5078, -20466, 15909, 32767, -4095,
            32767, 32767, -751, 19727, 32767, 32767, 32767, 32767, 32767, 7584, 31283, 32767, 4098, 15270, 32767, 32767,
            32767, 4098, -7074, -32768, -28673, -32768, -32768, -32768, -32768, 13398, -31655, -19369, 14149,
        ]);
    }

    /// Returns another block with the codes of `block` inverted, and the samples of both blocks.
    fn both_channels(block: &[u8], adpcm: fn(usize) -> Adpcm) -> (Vec<u8>, [Vec<i16>; 2]) {
        let head = adpcm(0).head_bytes(1).min(block.len());
        let other: Vec<u8> = block.iter().enumerate().map(|(i, &byte)| if i < head { byte } else { !byte }).collect();
        let alone = [block, &other].map(|channel| adpcm(channel.len()).decode(channel, 1).unwrap());
        (other, alone)
    }

    #[test]
    fn each_channel_is_decoded_as_if_it_were_alone() {
        let interleaved =
            |[left, right]: [Vec<i16>; 2]| left.into_iter().zip(right).flat_map(|(l, r)| [l, r]).collect();

        let (other, alone) = both_channels(IMA, ima);
        let words = IMA.as_chunks::<4>().0.iter().zip(other.as_chunks::<4>().0);
        let block: Vec<u8> = words.flat_map(|(&left, &right)| [left, right].concat()).collect();
        let expected: Vec<i16> = interleaved(alone);
        assert_eq!(ima(block.len()).decode(&block, 2).unwrap(), expected);
        // Two blocks, and the beginning of a third: its first sample and eight others.
        let three = [&block[..], &block, &block[..16]].concat();
        let decoded = ima(block.len()).decode(&three, 2).unwrap();
        assert_eq!(decoded, [&expected[..], &expected, &expected[..18]].concat());

        let (other, alone) = both_channels(MICROSOFT, microsoft);
        let mut block = vec![MICROSOFT[0], other[0]];
        for field in [1, 3, 5] {
            block.extend([&MICROSOFT[field..field + 2], &other[field..field + 2]].concat());
        }
        for (left, right) in MICROSOFT[7..].iter().zip(&other[7..]) {
            block.extend([left & 0xF0 | right >> 4, left << 4 | right & 0x0F]);
        }
        let expected: Vec<i16> = interleaved(alone);
        assert_eq!(microsoft(block.len()).decode(&block, 2).unwrap(), expected);

        let other: Vec<u8> = QUICK_TIME.iter().enumerate().map(|(i, &byte)| if i < 2 { byte } else { !byte }).collect();
        let alone = [QUICK_TIME, &other].map(|packet| Adpcm::QuickTime.decode(packet, 1).unwrap());
        let expected: Vec<i16> = interleaved(alone);
        assert_eq!(Adpcm::QuickTime.decode(&[QUICK_TIME, &other].concat(), 2).unwrap(), expected);
    }

    #[test]
    fn what_no_encoder_writes_is_an_error_with_its_block() {
        for (adpcm, block, at) in
            [(ima(IMA.len()), IMA, 2), (microsoft(MICROSOFT.len()), MICROSOFT, 0), (Adpcm::QuickTime, QUICK_TIME, 1)]
        {
            let mut damaged = block.to_vec();
            damaged[at] = 89 | damaged[at] & 0x80;
            let error = adpcm.decode(&[block, &damaged].concat(), 1).unwrap_err();
            assert!(matches!(error, Error::AdpcmBlock { block: 1, .. }), "{error}");
            assert!(error.to_string().contains("89"), "{error}");
            assert_eq!(adpcm.decode(&block[..1], 1).unwrap(), []);
        }
    }
}
