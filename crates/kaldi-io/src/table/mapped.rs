//! Objects of speakers, by utterance.

use crate::error::Error;
use crate::holders::Holder;
use crate::table::random::RandomAccessReader;

/// Looks objects up under what a map, usually `utt2spk`, gives for the key: normalisation or warp
/// factors per speaker are read this way, utterance by utterance.
#[doc(alias = "RandomAccessTableReaderMapped")]
#[derive(Debug)]
pub struct MappedReader<T> {
    objects: RandomAccessReader<T>,
    map: Option<RandomAccessReader<String>>,
}

impl<T: Holder> MappedReader<T> {
    /// Opens a table and the map, also a table (such as `ark:utt2spk`); an empty text for the map
    /// means that keys are looked up as they are.
    ///
    /// # Errors
    /// Those of [`RandomAccessReader::open`] for either.
    pub fn open(rspecifier: &str, utt2spk_rspecifier: &str) -> Result<Self, Error> {
        let map =
            if utt2spk_rspecifier.is_empty() { None } else { Some(RandomAccessReader::open(utt2spk_rspecifier)?) };
        Ok(MappedReader { objects: RandomAccessReader::open(rspecifier)?, map })
    }

    /// Looks `objects` up under what `map` gives.
    pub fn new(objects: RandomAccessReader<T>, map: RandomAccessReader<String>) -> Self {
        MappedReader { objects, map: Some(map) }
    }

    /// True if there is an object for this utterance.
    ///
    /// # Errors
    /// [`Error::MissingKey`] if the map does not have the utterance; those of
    /// [`RandomAccessReader::has_key`].
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
    /// [`Error::MissingKey`] if the map does not have the utterance or the table does not have what
    /// the map gives; those of [`RandomAccessReader::value`].
    #[doc(alias = "Value")]
    pub fn value(&mut self, utterance: &str) -> Result<&T, Error> {
        match &mut self.map {
            Some(map) => self.objects.value(map.value(utterance)?),
            None => self.objects.value(utterance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_through_the_map() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("warps"), "ann 0.5\nbob 2\n").unwrap();
        std::fs::write(path("utt2spk"), "u1 ann\nu2 bob\nu3 ann\nu4 eve\n").unwrap();
        let (warps, map) = (format!("ark:{}", path("warps")), format!("ark:{}", path("utt2spk")));

        let mut reader = MappedReader::<f32>::open(&warps, &map).unwrap();
        for (utterance, warp) in [("u3", 0.5), ("u2", 2.0), ("u1", 0.5)] {
            assert!(reader.has_key(utterance).unwrap());
            assert_eq!(*reader.value(utterance).unwrap(), warp);
        }
        assert!(!reader.has_key("u4").unwrap());
        assert!(reader.has_key("u5").unwrap_err().to_string().contains("utt2spk: no entry for the key 'u5'"));

        let mut reader = MappedReader::<f32>::open(&warps, "").unwrap();
        assert_eq!(*reader.value("bob").unwrap(), 2.0);
        assert!(!reader.has_key("u1").unwrap());
    }
}
