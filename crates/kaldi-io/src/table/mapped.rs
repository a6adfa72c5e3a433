//! Per-speaker objects, by utterance.

use crate::error::Error;
use crate::holders::Holder;
use crate::table::random::RandomAccessReader;

/// Reader that maps each key through another table, usually `utt2spk`, before the lookup: for
/// normalisation or warp factors per speaker, utterance by utterance.
#[doc(alias = "RandomAccessTableReaderMapped")]
#[derive(Debug)]
pub struct MappedReader<T> {
    objects: RandomAccessReader<T>,
    map: Option<RandomAccessReader<String>>,
}

impl<T: Holder> MappedReader<T> {
    /// Opens a table and the map, also a table (such as `ark:utt2spk`). With an empty text for the
    /// map, keys are looked up unchanged.
    ///
    /// # Errors
    /// The errors of [`RandomAccessReader::open`] for either.
    pub fn open(rspecifier: &str, utt2spk_rspecifier: &str) -> Result<Self, Error> {
        let map =
            if utt2spk_rspecifier.is_empty() { None } else { Some(RandomAccessReader::open(utt2spk_rspecifier)?) };
        Ok(MappedReader { objects: RandomAccessReader::open(rspecifier)?, map })
    }

    /// Creates a reader of `objects` under the keys that `map` gives.
    pub fn new(objects: RandomAccessReader<T>, map: RandomAccessReader<String>) -> Self {
        MappedReader { objects, map: Some(map) }
    }

    /// Returns `true` if there is an object for this utterance.
    ///
    /// # Errors
    /// [`Error::MissingKey`] if the map does not have the utterance; the errors of
    /// [`RandomAccessReader::has_key`].
    #[doc(alias = "HasKey")]
    pub fn has_key(&mut self, utterance: &str) -> Result<bool, Error> {
        match &mut self.map {
            Some(map) => self.objects.has_key(map.value(utterance)?),
            None => self.objects.has_key(utterance),
        }
    }

    /// Returns the object for this utterance.
    ///
    /// # Errors
    /// [`Error::MissingKey`] if the map does not have the utterance, or if the table does not have
    /// the mapped key; the errors of [`RandomAccessReader::value`].
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
