//! Merges the feature files of several jobs into one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use kaldi_io::overwrite;

use crate::Error;
use crate::pipeline::overwrite::refuse_overwriting;
use crate::pipeline::sink::folder_of;
use crate::pipeline::{FeatureSink, Shard, Summary, read_features};

/// Writes all matrices of `parts`, files of the formats of [`FeatureFile`](super::FeatureFile), to
/// `sink` in their order.
///
/// An `.ark` and an `.npz` are read as they are written, one matrix in memory; a `.safetensors`
/// file is read as a whole.
///
/// ```no_run
/// use kaldera::pipeline::{FeatureFile, merge, shards_of};
///
/// let mut all = FeatureFile::create("fbank.ark")?;
/// merge(shards_of("fbank.ark")?, &mut all)?; // fbank.1-of-8.ark to fbank.8-of-8.ark
/// all.finish()?;
/// # Ok::<(), kaldera::Error>(())
/// ```
///
/// # Errors
/// A part that is an [output](FeatureSink::outputs) of `sink`, or that cannot be read, a key that
/// occurs twice, a sink that fails.
pub fn merge<P: AsRef<Path>>(
    parts: impl IntoIterator<Item = P>,
    sink: &mut impl FeatureSink,
) -> Result<Summary, Error> {
    let parts: Vec<P> = parts.into_iter().collect();
    let outputs = sink.outputs();
    refuse_overwriting(parts.iter().map(AsRef::as_ref), &outputs)?;
    let outputs: Vec<_> = outputs.iter().filter_map(|output| output.to_str()).collect();
    for part in &parts {
        let part: &Path = part.as_ref();
        if part.extension().is_some_and(|ending| ending == "scp") {
            overwrite::refuse_overwriting(&[&format!("scp:{}", part.display())], &outputs)?;
        }
    }
    let mut summary = Summary::default();
    let mut seen: HashMap<String, PathBuf> = HashMap::new();
    for part in parts {
        let part: &Path = part.as_ref();
        read_features(part, |key, features| {
            match seen.entry(key.to_owned()) {
                Entry::Vacant(entry) => entry.insert(part.to_owned()),
                Entry::Occupied(first) => {
                    let (first, second) = (first.get().display().to_string(), part.display().to_string());
                    return Err(Error::DuplicateKey { key: key.to_owned(), first, second });
                }
            };
            summary.utterances += 1;
            summary.frames += features.num_rows() as u64;
            summary.dim = features.num_cols();
            sink.write(key, features.view())?;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(summary)
}

/// The files that the shards of `path` have written, in their order; see [`Shard::path`].
///
/// # Errors
/// [`Error::NoShards`], [`Error::MissingShard`] and [`Error::MixedShards`].
pub fn shards_of(path: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
    let path = path.as_ref();
    let folder = folder_of(path);
    let unreadable = |source| Error::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        found.extend(shard_of(path, &entry.map_err(unreadable)?.path()));
    }
    let counts = found.iter().map(|shard| shard.count());
    let (Some(fewer), Some(count)) = (counts.clone().min(), counts.max()) else {
        return Err(Error::NoShards { path: path.to_owned() });
    };
    if fewer < count {
        return Err(Error::MixedShards { path: path.to_owned(), fewer, more: count });
    }
    let parts = (1..=count).filter_map(|index| Shard::new(index, count)).map(|shard| (shard, shard.path(path)));
    parts
        .map(|(shard, part)| if found.contains(&shard) { Ok(part) } else { Err(Error::MissingShard { part }) })
        .collect()
}

/// The shard of `whole` that `part` is, by its name.
fn shard_of(whole: &Path, part: &Path) -> Option<Shard> {
    if whole.extension() != part.extension() {
        return None;
    }
    let stem = part.file_stem()?.to_str()?.strip_prefix(whole.file_stem()?.to_str()?)?;
    let (index, count) = stem.strip_prefix('.')?.split_once("-of-")?;
    let shard = Shard::new(index.parse().ok()?, count.parse().ok()?)?;
    (shard.path(whole).file_name() == part.file_name()).then_some(shard)
}

#[cfg(test)]
mod tests {
    use kaldi_matrix::Matrix;

    use super::*;
    use crate::pipeline::FeatureFile;

    fn matrix(seed: usize) -> Matrix<f32> {
        Matrix::from_fn(seed + 1, 3, |row, col| (seed * 100 + row * 10 + col) as f32)
    }

    fn write(path: &Path, seeds: &[usize]) {
        let mut file = FeatureFile::create(path).unwrap();
        for &seed in seeds {
            file.write(&format!("utt{seed}"), matrix(seed).view()).unwrap();
        }
        file.finish().unwrap();
    }

    #[test]
    fn shards_of_any_format_become_one_file() {
        for ending in ["ark", "npz", "safetensors"] {
            let folder = tempfile::tempdir().unwrap();
            let whole = folder.path().join("x.y").with_added_extension(ending);
            for (index, seeds) in [(1, &[7, 2][..]), (2, &[5]), (3, &[1, 0])] {
                write(&Shard::new(index, 3).unwrap().path(&whole), seeds);
            }
            let mut all = Vec::new();
            let summary = merge(shards_of(&whole).unwrap(), &mut all).unwrap();
            assert_eq!((summary.utterances, summary.frames, summary.dim), (5, 20, 3));
            let expected: Vec<_> = [7, 2, 5, 1, 0].map(|seed| (format!("utt{seed}"), matrix(seed))).into();
            assert_eq!(all, expected, "{ending}");

            let second = Shard::new(2, 3).unwrap().path(&whole);
            fs::remove_file(&second).unwrap();
            assert!(matches!(shards_of(&whole), Err(Error::MissingShard { part }) if part == second));
            write(&Shard::new(1, 2).unwrap().path(&whole), &[9]);
            assert!(matches!(shards_of(&whole), Err(Error::MixedShards { fewer: 2, more: 3, .. })));
        }
    }

    #[test]
    fn what_is_missing_or_doubled_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.ark"), folder.path().join("b.ark"));
        assert!(matches!(shards_of(&a), Err(Error::NoShards { .. })));
        write(&a, &[1, 2]);
        write(&b, &[2]);
        let error = merge([&a, &b], &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("'utt2'") && error.contains("a.ark") && error.contains("b.ark"), "{error}");
        fs::write(folder.path().join("c.npz"), "no archive").unwrap();
        let error = merge([folder.path().join("c.npz")], &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("c.npz"), "{error}");
    }
}
