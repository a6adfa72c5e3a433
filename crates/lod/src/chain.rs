//! Operators one after the other, and the LoD that goes along with the values.
//!
//! Most operators work on rows and know nothing of sequences. Their output has the rows of their
//! input, and so its LoD: the runner hands it on, for one reference count. Those that do change the
//! LoD say so by being a [`MutatesLod`].

use std::fmt;

use tensor_strided::{Element, Tensor};

use crate::error::Error;
use crate::lod::Lod;
use crate::tensor::LodTensor;

/// An operator that is unaware of the LoD: a *consumer*, which keeps the number of rows.
///
/// Every function from a tensor to a tensor is one.
pub trait Operator<T: Element> {
    /// Computes the output. What it is given it owns: if nobody shares the values, it can write
    /// them in place.
    ///
    /// # Errors
    /// What the operator refuses.
    fn run(&mut self, x: Tensor<T>) -> Result<Tensor<T>, Error>;
}

impl<T: Element, F: FnMut(Tensor<T>) -> Result<Tensor<T>, Error>> Operator<T> for F {
    fn run(&mut self, x: Tensor<T>) -> Result<Tensor<T>, Error> {
        self(x)
    }
}

/// An operator that changes the LoD: a *producer*.
///
/// What was before the operator keeps the LoD it had; what comes after shares the one the operator
/// leaves. Every function of a tensor and a LoD to change is one.
#[doc(alias = "do_mutate_lod_info")]
pub trait MutatesLod<T: Element> {
    /// Computes the output. `lod` is the input's, shared until it is written; it must divide the
    /// rows of the output at the end.
    ///
    /// # Errors
    /// What the operator refuses.
    fn run(&mut self, x: Tensor<T>, lod: &mut Lod) -> Result<Tensor<T>, Error>;
}

impl<T: Element, F: FnMut(Tensor<T>, &mut Lod) -> Result<Tensor<T>, Error>> MutatesLod<T> for F {
    fn run(&mut self, x: Tensor<T>, lod: &mut Lod) -> Result<Tensor<T>, Error> {
        self(x, lod)
    }
}

/// Operators to be run one after the other on batch after batch.
///
/// The LoD is handed on at every run, because every mini-batch has another one. (The document would
/// do it once, at the first.) It costs a reference count for each tensor, and no memory.
///
/// ```
/// use lod::{Lod, LodChain, LodTensor};
/// use tensor_strided::Tensor;
///
/// let mut chain = LodChain::new()
///     // A consumer: knows nothing of sequences.
///     .then(|mut x: Tensor<f32>| {
///         x.view_mut().apply(|x| 2.0 * x);
///         Ok(x)
///     })
///     // A producer: keeps the first row of each sequence.
///     .then_mutating(|x: Tensor<f32>, lod: &mut Lod| {
///         let firsts: Vec<f32> = lod.level(0).rows().map(|rows| x.view().to_vec()[rows.start]).collect();
///         *lod = Lod::from_lengths(&[vec![1; firsts.len()]])?;
///         Ok(Tensor::from_vec([firsts.len()], firsts)?)
///     })
///     // A consumer again: its output has the LoD that the producer left.
///     .then(|x: Tensor<f32>| Ok(x.map(|x| x + 1.0)));
///
/// let y = chain.run(LodTensor::from_sequences(&[vec![1.0, 2.0], vec![3.0]])?)?;
/// assert_eq!((y.values(), y.lod().offsets(0)), (&[3.0, 7.0][..], &[0, 1, 2][..]));
/// // The next batch has other sequences.
/// let y = chain.run(LodTensor::from_sequences(&[vec![5.0]])?)?;
/// assert_eq!((y.values(), y.lod().offsets(0)), (&[11.0][..], &[0, 1][..]));
/// # Ok::<(), lod::Error>(())
/// ```
#[derive(Default)]
pub struct LodChain<'a, T> {
    operators: Vec<Link<'a, T>>,
}

enum Link<'a, T> {
    Consumer(Box<dyn Operator<T> + 'a>),
    Producer(Box<dyn MutatesLod<T> + 'a>),
}

impl<'a, T: Element> LodChain<'a, T> {
    /// No operator: the output is the input.
    pub fn new() -> Self {
        Self { operators: Vec::new() }
    }

    /// One more operator, which is handed values and keeps the LoD unaware of it.
    #[must_use]
    pub fn then(mut self, operator: impl Operator<T> + 'a) -> Self {
        self.operators.push(Link::Consumer(Box::new(operator)));
        self
    }

    /// One more operator, which changes the LoD.
    #[must_use]
    pub fn then_mutating(mut self, operator: impl MutatesLod<T> + 'a) -> Self {
        self.operators.push(Link::Producer(Box::new(operator)));
        self
    }

    /// How many operators there are.
    pub fn len(&self) -> usize {
        self.operators.len()
    }

    /// Whether there is no operator.
    pub fn is_empty(&self) -> bool {
        self.operators.is_empty()
    }

    /// Runs all operators on a batch.
    ///
    /// # Errors
    /// The first that an operator returns; [`Error::Rows`] if one leaves values and a LoD that do
    /// not fit each other, as a consumer does that changes the number of rows.
    #[doc(alias = "InferShape")]
    pub fn run(&mut self, x: LodTensor<T>) -> Result<LodTensor<T>, Error> {
        self.operators.iter_mut().try_fold(x, |x, operator| match operator {
            Link::Consumer(operator) => x.apply(|x| operator.run(x)),
            Link::Producer(operator) => x.apply_mutating(|x, lod| operator.run(x, lod)),
        })
    }
}

impl<T> fmt::Debug for LodChain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |link: &Link<'_, T>| match link {
            Link::Consumer(_) => "Operator",
            Link::Producer(_) => "MutatesLod",
        };
        f.debug_list().entries(self.operators.iter().map(name)).finish()
    }
}

impl<T: Element> LodTensor<T> {
    /// What an operator that is unaware of the LoD makes of the values, with this LoD. The type of
    /// the values may change.
    ///
    /// ```
    /// let x = lod::LodTensor::from_sequences(&[vec![1, 2], vec![3]])?;
    /// let halves = x.clone().apply(|x| Ok(x.map(|&x| f64::from(x) / 2.0)))?;
    /// assert_eq!(halves.sequence(0), [0.5, 1.0]);
    /// assert!(halves.lod().ptr_eq(x.lod()));
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the operator returns; [`Error::Rows`] if it changes the number of rows of a tensor with
    /// LoD.
    pub fn apply<U: Element>(
        self,
        operator: impl FnOnce(Tensor<T>) -> Result<Tensor<U>, Error>,
    ) -> Result<LodTensor<U>, Error> {
        let (tensor, lod) = self.into_parts();
        LodTensor::new(operator(tensor)?, lod)
    }

    /// What an operator that changes the LoD makes of the values, with the LoD that it leaves. The
    /// type of the values may change.
    ///
    /// # Errors
    /// What the operator returns; [`Error::Rows`] if the LoD is not one for the rows of the output.
    pub fn apply_mutating<U: Element>(
        self,
        operator: impl FnOnce(Tensor<T>, &mut Lod) -> Result<Tensor<U>, Error>,
    ) -> Result<LodTensor<U>, Error> {
        let (tensor, mut lod) = self.into_parts();
        LodTensor::new(operator(tensor, &mut lod)?, lod)
    }
}

/// The output of an operator of several inputs, with the LoD of the first of them that has one.
///
/// # Errors
/// [`Error::Scalar`]; [`Error::Rows`] if the output has other rows than that input.
#[doc(alias = "ValidLODInput")]
pub fn with_lod_of_inputs<T: Element>(output: Tensor<T>, inputs: &[&Lod]) -> Result<LodTensor<T>, Error> {
    let lod = inputs.iter().find(|lod| !lod.is_none()).map_or_else(Lod::none, |lod| (*lod).clone());
    LodTensor::new(output, lod)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scale(i32);

    impl Operator<i32> for Scale {
        fn run(&mut self, mut x: Tensor<i32>) -> Result<Tensor<i32>, Error> {
            x.view_mut().apply(|x| x * self.0);
            Ok(x)
        }
    }

    struct DropFirst;

    impl MutatesLod<i32> for DropFirst {
        fn run(&mut self, x: Tensor<i32>, lod: &mut Lod) -> Result<Tensor<i32>, Error> {
            let (rest, rows) = lod.sub_lod(0, 1..lod.num_sequences(0))?;
            *lod = rest;
            let values = x.into_vec()[rows].to_vec();
            Ok(Tensor::from_vec([values.len()], values)?)
        }
    }

    #[test]
    fn tensors_before_a_producer_keep_their_lod() {
        let x = LodTensor::from_sequences(&[vec![1, 2], vec![3], vec![4]]).unwrap();
        let mut chain = LodChain::new().then(Scale(2)).then_mutating(DropFirst).then(Scale(10));
        assert_eq!((chain.len(), chain.is_empty()), (3, false));
        assert_eq!(format!("{chain:?}"), r#"["Operator", "MutatesLod", "Operator"]"#);
        let y = chain.run(x.clone()).unwrap();
        assert_eq!(y, LodTensor::from_sequences(&[vec![60], vec![80]]).unwrap());
        assert_eq!(x, LodTensor::from_sequences(&[vec![1, 2], vec![3], vec![4]]).unwrap());
        // A tensor without LoD goes through consumers as it is.
        let plain = LodTensor::from_vec([2], vec![1, 2], Lod::none()).unwrap();
        assert_eq!(LodChain::new().then(Scale(3)).run(plain).unwrap().values(), [3, 6]);
    }

    #[test]
    fn an_operator_that_changes_rows_is_refused() {
        let x = LodTensor::from_sequences(&[vec![1, 2], vec![3]]).unwrap();
        let mut chain = LodChain::new().then(|_: Tensor<i32>| Ok(Tensor::from_vec([2], vec![0, 0])?));
        assert_eq!(chain.run(x.clone()).unwrap_err(), Error::Rows { expected: 3, found: 2 });
        let sum =
            |output: Vec<i32>, inputs: &[&Lod]| with_lod_of_inputs(Tensor::from_vec([3], output).unwrap(), inputs);
        assert!(sum(vec![1; 3], &[&Lod::none(), x.lod()]).unwrap().lod().ptr_eq(x.lod()));
        assert!(sum(vec![1; 3], &[&Lod::none()]).unwrap().lod().is_none());
    }
}
