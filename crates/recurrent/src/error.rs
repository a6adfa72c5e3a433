//! The error type.

/// An error of this crate, with the numbers that were wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tensor whose shape does not fit the other tensors.
    #[error("{tensor} must have the shape {expected:?}, but it has {found:?}")]
    Shape {
        /// The name of the tensor, such as `weight_hh`.
        tensor: &'static str,
        /// The right shape.
        expected: Vec<usize>,
        /// The shape found.
        found: Vec<usize>,
    },
    /// A size that must not be 0, such as the number of hidden units.
    #[error("{what} must not be 0")]
    Zero {
        /// Name of the size.
        what: &'static str,
    },
    /// A weight, an option or an initial state that is no finite number.
    #[error("{tensor} holds {found} at position {position}, which is not finite")]
    NotFinite {
        /// The name of the tensor.
        tensor: &'static str,
        /// Position in the tensor, counted row by row.
        position: usize,
        /// The number found.
        found: f64,
    },
    /// A number outside its valid range.
    #[error("{what} must be in {low}..{high}, but it is {found}")]
    Range {
        /// The name of the option.
        what: &'static str,
        /// Lowest valid value.
        low: f64,
        /// Upper bound, itself not valid.
        high: f64,
        /// The number found.
        found: f64,
    },
    /// A tensor that this kind of cell has no use for.
    #[error("{tensor} is of no use here: {because}")]
    Unused {
        /// The name of the tensor.
        tensor: &'static str,
        /// Why it is not used.
        because: &'static str,
    },
    /// A wrong number, such as states for the layers of a stack.
    #[error("{what} must be {expected}, but it is {found}")]
    Count {
        /// Name of the count.
        what: &'static str,
        /// The right number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A tensor of another mini-batch: its sequences differ from the sequences of the input.
    #[error("{tensor} must have the LoD of the input, {expected}, but it has {found}")]
    OtherLod {
        /// The name of the tensor.
        tensor: &'static str,
        /// The LoD of the input.
        expected: lod::Lod,
        /// The LoD found.
        found: lod::Lod,
    },
    /// A tensor that a cell or a set of gradients should have.
    #[error("there is no tensor named {tensor}")]
    MissingTensor {
        /// Its name.
        tensor: String,
    },
    /// A name, perhaps with a wrong prefix, that no tensor of a store or file has.
    #[error("there is no tensor named {tensor}{}", suggestion(nearest.as_deref(), present))]
    NotInStore {
        /// The name.
        tensor: String,
        /// The name most like it; `None` if there are no tensors.
        nearest: Option<String>,
        /// The names of all tensors, sorted.
        present: Vec<String>,
    },
    /// A named tensor of another shape than is needed.
    #[error("{tensor} must have the shape {expected:?}, but it has {found:?}")]
    TensorShape {
        /// Its name.
        tensor: String,
        /// The right shape.
        expected: Vec<usize>,
        /// The shape found.
        found: Vec<usize>,
    },
    /// A named tensor that is not a matrix.
    #[error("{tensor} must be a matrix, but it has the shape {found:?}")]
    NoMatrix {
        /// Its name.
        tensor: String,
        /// The shape found.
        found: Vec<usize>,
    },
    /// A tensor of a file whose numbers are of another type.
    #[error("{tensor} must be of type {expected}, but it is of type {found}")]
    TensorType {
        /// Its name.
        tensor: String,
        /// The right type, such as `F32`.
        expected: &'static str,
        /// The type found.
        found: String,
    },
    /// A number of a named tensor that is infinite or NaN.
    #[error("{tensor} holds {found} at position {position}, which is not finite")]
    TensorNotFinite {
        /// Its name.
        tensor: String,
        /// Position in the tensor, counted in C order.
        position: usize,
        /// The number found.
        found: f64,
    },
    /// A right class without a score.
    #[error("row {row} has the class {class}, but there are scores for {classes} classes")]
    Class {
        /// The row.
        row: usize,
        /// Its class.
        class: usize,
        /// Number of classes that have scores.
        classes: usize,
    },
    /// A file of tensors that cannot be read or written.
    #[error("{}: {problem}", path.display())]
    File {
        /// The path of the file, or a stand-in for it.
        path: std::path::PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// Sequences that `lod` refuses.
    #[error(transparent)]
    Lod(#[from] lod::Error),
    /// Matrices that `kaldi-matrix` refuses.
    #[error(transparent)]
    Matrix(#[from] kaldi_matrix::Error),
}

impl Error {
    /// Checks that a tensor has the expected shape.
    pub(crate) fn check_shape(tensor: &'static str, expected: &[usize], found: &[usize]) -> Result<(), Self> {
        if expected == found {
            return Ok(());
        }
        Err(Self::Shape { tensor, expected: expected.to_vec(), found: found.to_vec() })
    }
}

/// Maximum number of names that a message lists.
const MAX_LISTED: usize = 20;

fn suggestion(nearest: Option<&str>, present: &[String]) -> String {
    let Some(nearest) = nearest else { return ": there are no tensors at all".into() };
    let listed = present[..present.len().min(MAX_LISTED)].join(", ");
    let more = match present.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("; did you mean {nearest}? There are {listed}{more}")
}
