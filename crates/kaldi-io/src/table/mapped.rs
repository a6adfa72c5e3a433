//! Objects of speakers, by utterance.

use super::random::RandomAccessReader;
use crate::error::Error;
use crate::holders::Holder;

/// Looks objects up under what a map, usually `utt2spk`, gives for the key: normalisation or warp factors per speaker are read
/// this way, utterance by utterance.
#[doc(alias = "RandomAccessTableReaderMapped")]
#[derive(Debug)]
pub struct MappedReader<T> {
    objects: RandomAccessReader<T>,
    map: Option<RandomAccessReader<String>>,
}

impl<T: Holder> MappedReader<T> {
    /// Opens a table and the map, also a table (such as `ark:utt2spk`); an empty text for the map means that keys are
    /// looked up as they are.
    ///
    /// # Errors
    /// Those of [`RandomAccessReader::open`] for either.
    pub fn open(rspecifier: &str, utt2spk_rspecifier: &str) -> Result<Self, Error> {
        let map =
            if utt2spk_rspecifier.is_empty() { None } else { Some(RandomAccessReader::open(utt2spk_rspecifier)?) };
        Ok(MappedReader { objects: RandomAccessReader::open(rspecifier)?, map })
    }

    /// True if there is an object for this utterance.
    ///
    /// # Errors
    /// [`Error::MissingKey`] if the map does not have the utterance; those of [`RandomAccessReader::has_key`].
    #[doc(alias = "HasKey")]
    pub fn has_key(&mut self, utterance: &str) -> Result<bool, Error> {
        match &mut self.map {
            Some(map) => self.objects.has_key(map.value(utterance)?),
            None => self.objects.has_key(utterance),
        }
    }

    /// The object for this utterance.
    ///
    /// # Errors
    /// [`Error::MissingKey`] if the map does not have the utterance or the table does not have what the map gives; those of
    /// [`RandomAccessReader::value`].
    #[doc(alias = "Value")]
    pub fn value(&mut self, utterance: &str) -> Result<&T, Error> {
        match &mut self.map {
            Some(map) => self.objects.value(map.value(utterance)?),
            None => self.objects.value(utterance),
        }
    }
}
