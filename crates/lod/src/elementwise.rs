//! Operations element by element, which need no sequences, on LoD tensors and on packed steps.

use tensor_strided::{Element, Tensor};

use crate::error::Error;
use crate::lod::Lod;
use crate::segment::Segments;
use crate::tensor::LodTensor;

impl<T: Element> LodTensor<T> {
    /// `f` of each value, with the same LoD.
    pub fn map<U: Element>(&self, f: impl FnMut(&T) -> U) -> LodTensor<U> {
        let mapped = self.like(self.num_rows(), self.values().iter().map(f).collect::<Vec<_>>(), self.lod().clone());
        mapped.unwrap_or_else(|error| unreachable!("as many values as before: {error}"))
    }

    /// `f` of each two values at the same position.
    ///
    /// Both must have the same shape and the same LoD; that it is the same memory is not needed,
    /// but quicker to see.
    ///
    /// # Errors
    /// [`Error::Tensor`] for different shapes; [`Error::OtherLod`] for different levels.
    pub fn zip_map<U: Element, V: Element>(
        &self,
        other: &LodTensor<U>,
        mut f: impl FnMut(&T, &U) -> V,
    ) -> Result<LodTensor<V>, Error> {
        if self.shape() != other.shape() {
            let (expected, found) = (self.shape().to_vec(), other.shape().to_vec());
            return Err(tensor_strided::Error::ShapeMismatch { what: "the other tensor", expected, found }.into());
        }
        if self.lod() != other.lod() {
            let levels = |lod: &Lod| (0..lod.num_levels()).map(|level| lod.level(level).clone()).collect();
            return Err(Error::OtherLod { expected: levels(self.lod()), found: levels(other.lod()) });
        }
        let values: Vec<V> = self.values().iter().zip(other.values()).map(|(a, b)| f(a, b)).collect();
        self.like(self.num_rows(), values, self.lod().clone())
    }
}

impl<T: Element> Segments<T> {
    /// Applies an operator that is unaware of steps to all of them at once. The result has the same
    /// steps.
    ///
    /// ```
    /// use lod::{LodTensor, concat_outputs, segment_inputs};
    ///
    /// let x = LodTensor::from_sequences(&[vec![1], vec![2, 3]])?;
    /// let steps = segment_inputs(&x, &x.lod().rank_table(0)?)?;
    /// let tenfold = steps.apply(|steps| Ok(steps.map(|x| 10 * x)))?;
    /// assert_eq!(concat_outputs(&tenfold)?.values(), [10, 20, 30]);
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of the operator; [`Error::Size`], [`Error::Rows`] if it changes the number of
    /// rows.
    pub fn apply<U: Element>(
        self,
        operator: impl FnOnce(Tensor<T>) -> Result<Tensor<U>, Error>,
    ) -> Result<Segments<U>, Error> {
        let table = self.table().clone();
        Segments::new(&table, self.into_packed().apply(operator)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lod::Lod;

    #[test]
    fn tensors_of_the_same_sequences_meet_element_by_element() {
        let x = LodTensor::from_sequences(&[vec![1, 2], vec![3]]).unwrap();
        // The same lengths from elsewhere.
        let y = LodTensor::from_sequences(&[vec![0.5, 0.25], vec![0.125]]).unwrap();
        let z = x.zip_map(&y, |&x, y| f64::from(x) * y).unwrap();
        assert_eq!(z.values(), [0.5, 0.5, 0.375]);
        assert!(z.lod().ptr_eq(x.lod()) && x.map(|x| x + 1).lod().ptr_eq(x.lod()));
        let other = y.with_lod(Lod::from_lengths(&[[1, 2]]).unwrap()).unwrap();
        assert!(matches!(x.zip_map(&other, |_, _| 0), Err(Error::OtherLod { .. })));
        let longer = LodTensor::from_vec([4], vec![0; 4], Lod::none()).unwrap();
        assert!(x.zip_map(&longer, |_, _| 0).is_err());
    }
}
