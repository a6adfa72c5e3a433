//! Owned tensors by name, and their files.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use kaldera_base::{Real, edit_distance};
use kaldi_matrix::{Matrix, Vector};
use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::error::Error;
use crate::parameters::{Named, Parameters, Visitor, VisitorMut};

/// Name of the file in errors about bytes.
const MEMORY: &str = "safetensors in memory";

/// Tensors by name: the contents of a safetensors file, or a copy of a model's parameters.
///
/// ```
/// use recurrent::Parameters;
/// use recurrent::train::{Linear, ParameterStore, uniform};
///
/// let mut layer = Linear::<f32>::zeros(3, 2);
/// uniform(&mut layer, 0.5, 7);
/// let bytes = ParameterStore::from_parameters(&layer).to_bytes()?;
///
/// let mut again = Linear::zeros(3, 2);
/// ParameterStore::from_bytes(&bytes)?.copy_to("", &mut again)?;
/// assert_eq!(again, layer);
/// # Ok::<(), recurrent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "state_dict")]
pub struct ParameterStore<T> {
    tensors: BTreeMap<String, Tensor<T>>,
    /// Tensors of a file with another type, and that type: an error only on access.
    others: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq)]
struct Tensor<T> {
    shape: Vec<usize>,
    values: Vec<T>,
}

impl<T> Default for ParameterStore<T> {
    fn default() -> Self {
        Self { tensors: BTreeMap::new(), others: BTreeMap::new() }
    }
}

impl<T: Real> ParameterStore<T> {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Copies all parameters.
    pub fn from_parameters(parameters: &(impl Parameters<T> + ?Sized)) -> Self {
        let tensor = |Named { name, shape, values }: Named<&[T]>| (name, Tensor { shape, values: values.to_vec() });
        Self { tensors: parameters.named().into_iter().map(tensor).collect(), others: BTreeMap::new() }
    }

    /// Adds a tensor, or replaces the tensor of that name; values in C order.
    ///
    /// # Errors
    /// [`Error::TensorShape`] unless there is one value for each element.
    pub fn insert(&mut self, name: &str, shape: &[usize], values: Vec<T>) -> Result<(), Error> {
        if shape.iter().try_fold(1, |product: usize, &n| product.checked_mul(n)) != Some(values.len()) {
            let (expected, found) = (shape.to_vec(), vec![values.len()]);
            return Err(Error::TensorShape { tensor: name.into(), expected, found });
        }
        self.others.remove(name);
        self.tensors.insert(name.into(), Tensor { shape: shape.to_vec(), values });
        Ok(())
    }

    /// Returns `true` if there is a tensor of that name, of any type.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name) || self.others.contains_key(name)
    }

    /// Returns the names of all tensors of type `T`, sorted.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Returns the shape and the values of a tensor; all values are finite.
    ///
    /// # Errors
    /// [`Error::NotInStore`], [`Error::TensorType`], [`Error::TensorNotFinite`].
    pub fn get(&self, name: &str) -> Result<(&[usize], &[T]), Error> {
        match (self.tensors.get(name), self.others.get(name)) {
            (Some(Tensor { shape, values }), _) => {
                Named::new(name, &shape[..], &values[..]).check_finite()?;
                Ok((shape, values))
            }
            (None, Some(found)) => {
                Err(Error::TensorType { tensor: name.into(), expected: type_name::<T>(), found: found.clone() })
            }
            (None, None) => Err(self.not_in_store(name)),
        }
    }

    fn not_in_store(&self, name: &str) -> Error {
        let mut present: Vec<String> = self.tensors.keys().chain(self.others.keys()).cloned().collect();
        present.sort_unstable();
        let characters = |name: &str| name.chars().collect::<Vec<_>>();
        let wanted = characters(name);
        let nearest = present.iter().min_by_key(|other| edit_distance(&wanted, &characters(other))).cloned();
        Error::NotInStore { tensor: name.into(), nearest, present }
    }

    /// Returns the values of a tensor of a known shape.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`Error::TensorShape`].
    pub fn get_shaped(&self, name: &str, expected: &[usize]) -> Result<&[T], Error> {
        let (found, values) = self.get(name)?;
        if found != expected {
            let (expected, found) = (expected.to_vec(), found.to_vec());
            return Err(Error::TensorShape { tensor: name.into(), expected, found });
        }
        Ok(values)
    }

    /// Copies a tensor with two axes.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`Error::NoMatrix`].
    pub fn matrix(&self, name: &str) -> Result<Matrix<T>, Error> {
        let (shape, values) = self.get(name)?;
        match *shape {
            [rows, cols] => Ok(Matrix::from_vec(rows, cols, values.to_vec())?),
            _ => Err(Error::NoMatrix { tensor: name.into(), found: shape.to_vec() }),
        }
    }

    /// Copies a tensor with one axis of a known length.
    ///
    /// # Errors
    /// As [`get_shaped`](Self::get_shaped).
    pub fn vector(&self, name: &str, len: usize) -> Result<Vector<T>, Error> {
        Ok(Vector::from(self.get_shaped(name, &[len])?.to_vec()))
    }

    /// Copies to each parameter the tensor with the parameter's name after `prefix`. The store may
    /// have more tensors.
    ///
    /// # Errors
    /// As [`get_shaped`](Self::get_shaped), for any of them; the parameters are then unchanged.
    #[doc(alias = "load_state_dict")]
    pub fn copy_to(&self, prefix: &str, parameters: &mut (impl Parameters<T> + ?Sized)) -> Result<(), Error> {
        let tensors = parameters.named_mut().into_iter();
        let found = tensors.map(|to| Ok((self.get_shaped(&format!("{prefix}{}", to.name), &to.shape)?, to.values)));
        for (from, to) in found.collect::<Result<Vec<_>, Error>>()? {
            to.copy_from_slice(from);
        }
        Ok(())
    }

    /// Returns the bytes of a safetensors file.
    ///
    /// # Errors
    /// [`Error::File`] if the format cannot hold the tensors, for example a header above 100 MB.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let bytes: Vec<Vec<u8>> = self.tensors.values().map(|tensor| encode(&tensor.values)).collect();
        let views =
            self.tensors.iter().zip(&bytes).map(|((name, tensor), bytes)| {
                Ok((name, TensorView::new(type_of::<T>(), tensor.shape.clone(), bytes)?))
            });
        // Without this entry some of PyTorch's readers refuse a file.
        let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
        let views: Result<Vec<_>, _> = views.collect();
        let bytes = views.and_then(|views| safetensors::serialize(views, Some(metadata)));
        bytes.map_err(|error| file_error(Path::new(MEMORY), &error))
    }

    /// Reads tensors from the bytes of a safetensors file. The file may have tensors of other
    /// types; access to one is an error.
    ///
    /// # Errors
    /// [`Error::File`] for damaged bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let file =
            SafeTensors::deserialize(bytes).map_err(|error| file_error(Path::new(MEMORY), &in_words(&error, bytes)))?;
        let mut store = Self::new();
        for (name, view) in file.iter() {
            if view.dtype() == type_of::<T>() {
                let tensor = Tensor { shape: view.shape().to_vec(), values: decode(view.data()) };
                store.tensors.insert(name.to_owned(), tensor);
            } else {
                store.others.insert(name.to_owned(), format!("{:?}", view.dtype()));
            }
        }
        Ok(store)
    }

    /// Writes a safetensors file, which appears complete or not at all.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let bytes = self.to_bytes()?;
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
        written.map_err(|error| file_error(path, &error))
    }

    /// Reads a safetensors file.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be read or is damaged.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|error| file_error(path, &error))?;
        Self::from_bytes(&bytes).map_err(|error| match error {
            Error::File { problem, .. } => Error::File { path: path.to_owned(), problem },
            other => other,
        })
    }
}

/// All tensors, sorted by name.
impl<T: Real> Parameters<T> for ParameterStore<T> {
    fn visit<'a>(&'a self, f: Visitor<'_, 'a, T>) {
        self.tensors.iter().for_each(|(name, tensor)| f(name, &tensor.shape, &tensor.values));
    }

    fn visit_mut<'a>(&'a mut self, f: VisitorMut<'_, 'a, T>) {
        self.tensors.iter_mut().for_each(|(name, tensor)| f(name, &tensor.shape, &mut tensor.values));
    }
}

fn file_error(path: &Path, problem: &dyn std::fmt::Display) -> Error {
    Error::File { path: path.to_owned(), problem: problem.to_string() }
}

/// Describes the error in the bytes of a file.
fn in_words(error: &SafeTensorError, bytes: &[u8]) -> String {
    const REMEDY: &str = "it is cut short or damaged, or no safetensors file: copy it again";
    let what = match error {
        SafeTensorError::HeaderTooSmall => format!("it has {} bytes, and the length of its header 8", bytes.len()),
        SafeTensorError::HeaderTooLarge | SafeTensorError::InvalidHeaderLength => {
            let header = bytes.first_chunk().map_or(0, |&len| u64::from_le_bytes(len));
            format!("its header would have {header} bytes, and the file has {}", bytes.len())
        }
        SafeTensorError::InvalidHeader(_) | SafeTensorError::InvalidHeaderDeserialization(_) => {
            "its header is no list of tensors".to_owned()
        }
        SafeTensorError::MetadataIncompleteBuffer => {
            "its header lists tensors that end before or behind its last byte".to_owned()
        }
        SafeTensorError::InvalidOffset(tensor) => {
            format!("the place of the tensor '{}' in it is wrong", tensor.escape_debug())
        }
        SafeTensorError::TensorInvalidInfo | SafeTensorError::ValidationOverflow => {
            "a tensor has another number of bytes than its shape asks for".to_owned()
        }
        other => other.to_string(),
    };
    format!("{what}: {REMEDY}")
}

fn type_of<T: Real>() -> Dtype {
    if T::as_f32(&[]).is_some() { Dtype::F32 } else { Dtype::F64 }
}

fn type_name<T: Real>() -> &'static str {
    if T::as_f32(&[]).is_some() { "F32" } else { "F64" }
}

/// Encodes values in little-endian order, as the format requires.
fn encode<T: Real>(values: &[T]) -> Vec<u8> {
    match (T::as_f32(values), T::as_f64(values)) {
        (Some(values), _) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        (None, Some(values)) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        (None, None) => unreachable!("there are two types"),
    }
}

fn decode<T: Real>(bytes: &[u8]) -> Vec<T> {
    let mut values = vec![T::ZERO; bytes.len() / size_of::<T>()];
    if let Some(values) = T::as_f32_mut(&mut values) {
        let (numbers, _) = bytes.as_chunks();
        values.iter_mut().zip(numbers).for_each(|(value, &bytes)| *value = f32::from_le_bytes(bytes));
    } else if let Some(values) = T::as_f64_mut(&mut values) {
        let (numbers, _) = bytes.as_chunks();
        values.iter_mut().zip(numbers).for_each(|(value, &bytes)| *value = f64::from_le_bytes(bytes));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> ParameterStore<f32> {
        let mut store = ParameterStore::new();
        store.insert("x.b", &[2], vec![1.5, -2.5]).unwrap();
        store.insert("x.a", &[1, 3], vec![0.25, 0.5, f32::MIN_POSITIVE]).unwrap();
        store.insert("none", &[0, 4], vec![]).unwrap();
        store
    }

    #[test]
    fn a_file_gives_back_what_went_in() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        store().save(&path).unwrap();
        assert_eq!(ParameterStore::load(&path).unwrap(), store());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
        assert_eq!(store().names().collect::<Vec<_>>(), ["none", "x.a", "x.b"]);
        let mut doubles = ParameterStore::<f64>::new();
        doubles.insert("c", &[2], vec![f64::MAX, -0.0]).unwrap();
        assert_eq!(ParameterStore::from_bytes(&doubles.to_bytes().unwrap()).unwrap(), doubles);
    }

    #[test]
    fn tensors_of_another_type_matter_only_if_asked_for() {
        let mut doubles = ParameterStore::<f64>::new();
        doubles.insert("x.b", &[2], vec![1.0, 2.0]).unwrap();
        let mut singles = ParameterStore::<f32>::from_bytes(&doubles.to_bytes().unwrap()).unwrap();
        assert!(singles.contains("x.b") && singles.names().len() == 0);
        let error = Error::TensorType { tensor: "x.b".into(), expected: "F32", found: "F64".into() };
        assert_eq!(singles.get("x.b"), Err(error));
        singles.insert("x.b", &[1], vec![3.0]).unwrap();
        assert_eq!(singles.get("x.b"), Ok((&[1][..], &[3.0][..])));
    }

    #[test]
    fn copying_is_all_or_nothing() {
        let mut to = ParameterStore::new();
        to.insert("a", &[1, 3], vec![0.0; 3]).unwrap();
        to.insert("b", &[2], vec![0.0; 2]).unwrap();
        let empty = to.clone();
        let mut from = store();
        from.copy_to("x.", &mut to).unwrap();
        assert_eq!((to.get("a").unwrap().1[1], to.get("b").unwrap().1[1]), (0.5, -2.5));

        let refused = |from: &ParameterStore<f32>, prefix: &str| {
            let mut to = empty.clone();
            let error = from.copy_to(prefix, &mut to).unwrap_err();
            assert_eq!(to, empty);
            error
        };
        let error = refused(&from, "y.");
        assert!(matches!(&error, Error::NotInStore { tensor, nearest: Some(nearest), present }
            if tensor == "y.a" && nearest == "x.a" && present.contains(&"none".to_owned())));
        from.insert("x.b", &[2], vec![1.0, f32::NAN]).unwrap();
        let error = refused(&from, "x.");
        assert!(matches!(error, Error::TensorNotFinite { tensor, position: 1, .. } if tensor == "x.b"));
        from.insert("x.b", &[2, 1], vec![1.0, 2.0]).unwrap();
        let error = Error::TensorShape { tensor: "x.b".into(), expected: vec![2], found: vec![2, 1] };
        assert_eq!(refused(&from, "x."), error);
        assert_eq!(from.matrix("none").unwrap().num_cols(), 4);
        assert!(matches!(from.matrix("x.c"), Err(Error::NotInStore { .. })));
        from.insert("x.c", &[2], vec![1.0, 2.0]).unwrap();
        assert!(matches!(from.matrix("x.c"), Err(Error::NoMatrix { .. })));
        assert_eq!(from.vector("x.c", 2).unwrap().data(), [1.0, 2.0]);
        assert!(matches!(from.vector("x.c", 3), Err(Error::TensorShape { .. })));
    }

    #[test]
    fn damaged_files_are_named() {
        let bytes = store().to_bytes().unwrap();
        for damaged in [&bytes[..bytes.len() - 1], &bytes[..20], &bytes[..3], &[]] {
            assert!(matches!(ParameterStore::<f32>::from_bytes(damaged), Err(Error::File { .. })));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        std::fs::write(&path, &bytes[..30]).unwrap();
        for missing in [path, folder.path().join("not there"), folder.path().to_owned()] {
            match ParameterStore::<f32>::load(&missing) {
                Err(Error::File { path, .. }) => assert_eq!(path, missing),
                other => panic!("{other:?}"),
            }
        }
        assert!(store().save(folder.path().join("no/such/folder")).is_err());
        let mut store = store();
        let error = Error::TensorShape { tensor: "d".into(), expected: vec![2, 2], found: vec![3] };
        assert_eq!(store.insert("d", &[2, 2], vec![0.0; 3]), Err(error));
        assert!(store.insert("d", &[usize::MAX, 2], vec![]).is_err() && !store.contains("d"));
    }
}
