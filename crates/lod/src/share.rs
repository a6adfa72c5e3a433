//! One LoD for many tensors: shared as it is, or to be changed.

use ragged_core::RowSplits;
use tensor_strided::Element;

use crate::error::Error;
use crate::lod::Lod;
use crate::tensor::LodTensor;

impl<T: Element> LodTensor<T> {
    /// Takes the LoD of another tensor, of any type. One reference is counted; no offsets are
    /// copied or looked at.
    ///
    /// ```
    /// use lod::{Lod, LodTensor};
    ///
    /// let x = LodTensor::from_sequences(&[vec![1, 2], vec![3]])?;
    /// let mut y = LodTensor::from_vec([3, 1], vec![0.5, 1.0, 1.5], Lod::none())?;
    /// y.share_const_lod_from(&x)?;
    /// assert!(y.lod().ptr_eq(x.lod()));
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Rows`] if the other tensor has another number of rows; then nothing changes.
    #[doc(alias = "ShareConstLODFrom")]
    #[doc(alias = "ShareLoD")]
    pub fn share_const_lod_from<U: Element>(&mut self, other: &LodTensor<U>) -> Result<(), Error> {
        *self.lod_mut_checked(other.lod())? = other.lod().clone();
        Ok(())
    }

    /// Takes the LoD of another tensor to change it: what is written through the result is this
    /// tensor's own. Until then one reference is counted, and levels that are never written stay
    /// shared.
    ///
    /// ```
    /// use lod::{Lod, LodTensor};
    ///
    /// let x = LodTensor::from_sequences(&[vec![1, 2], vec![3]])?;
    /// let mut y = LodTensor::from_vec([3, 1], vec![0.5, 1.0, 1.5], Lod::none())?;
    /// let mut lod = y.share_mutable_lod_from(&x)?;
    /// lod.set_lengths(0, &[1, 2])?;
    /// assert_eq!((y.lod().offsets(0), x.lod().offsets(0)), (&[0, 1, 3][..], &[0, 2, 3][..]));
    /// # Ok::<(), lod::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Rows`] if the other tensor has another number of rows; then nothing changes.
    #[doc(alias = "ShareMutableLODFrom")]
    pub fn share_mutable_lod_from<U: Element>(&mut self, other: &LodTensor<U>) -> Result<LodMut<'_>, Error> {
        self.share_const_lod_from(other)?;
        Ok(self.lod_mut())
    }

    /// The LoD, to be changed; others that share it keep theirs.
    pub fn lod_mut(&mut self) -> LodMut<'_> {
        let rows = self.num_rows();
        LodMut { lod: self.lod_slot(), rows }
    }

    /// Where the LoD is kept, for one that divides the rows that there are.
    fn lod_mut_checked(&mut self, lod: &Lod) -> Result<&mut Lod, Error> {
        match lod.num_rows() {
            Some(expected) if expected != self.num_rows() => Err(Error::Rows { expected, found: self.num_rows() }),
            _ => Ok(self.lod_slot()),
        }
    }
}

/// The LoD of a tensor, to be changed level by level: it always divides just the rows of the
/// tensor.
#[derive(Debug)]
pub struct LodMut<'a> {
    lod: &'a mut Lod,
    rows: usize,
}

impl LodMut<'_> {
    /// The LoD as it is now.
    pub fn get(&self) -> &Lod {
        self.lod
    }

    /// Replaces the LoD.
    ///
    /// # Errors
    /// [`Error::Rows`] if it divides another number of rows; then nothing changes.
    pub fn set(&mut self, lod: Lod) -> Result<(), Error> {
        match lod.num_rows() {
            Some(expected) if expected != self.rows => Err(Error::Rows { expected, found: self.rows }),
            _ => {
                *self.lod = lod;
                Ok(())
            }
        }
    }

    /// Other offsets for a level; the other levels stay, and stay shared.
    ///
    /// # Errors
    /// [`Error::NoLevel`]; [`Error::LevelMismatch`], [`Error::Rows`] if the offsets do not fit the
    /// levels above and below or the rows. Then nothing changes.
    pub fn set_level(&mut self, level: usize, offsets: RowSplits) -> Result<(), Error> {
        self.set(self.lod.with_level(level, offsets)?)
    }

    /// Other offsets for a level, as numbers. See [`set_level`](Self::set_level).
    ///
    /// # Errors
    /// As [`set_level`](Self::set_level) and [`Lod::from_offsets`].
    pub fn set_offsets<N: Copy + TryInto<i64>>(&mut self, level: usize, offsets: &[N]) -> Result<(), Error> {
        self.set_only_level(level, &Lod::from_offsets(&[offsets])?)
    }

    /// Other lengths for the sequences of a level. See [`set_level`](Self::set_level).
    ///
    /// # Errors
    /// As [`set_level`](Self::set_level) and [`Lod::from_lengths`].
    pub fn set_lengths<N: Copy + TryInto<i64>>(&mut self, level: usize, lengths: &[N]) -> Result<(), Error> {
        self.set_only_level(level, &Lod::from_lengths(&[lengths])?)
    }

    fn set_only_level(&mut self, level: usize, only: &Lod) -> Result<(), Error> {
        self.set_level(level, only.level(0).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_private_and_the_rest_stays_shared() {
        let lod = Lod::from_lengths(&[vec![2, 1], vec![1, 2, 3]]).unwrap();
        let x = LodTensor::from_vec([6], vec![0; 6], lod.clone()).unwrap();
        let mut y = LodTensor::from_vec([6], vec![0.5; 6], Lod::none()).unwrap();
        let mut own = y.share_mutable_lod_from(&x).unwrap();
        assert!(own.get().ptr_eq(&lod));
        own.set_lengths(1, &[3, 3, 0]).unwrap();
        assert_eq!(x.lod(), &lod);
        assert_eq!(y.lod().offsets(1), [0, 3, 6, 6]);
        assert!(y.lod().level(0).buffer().ptr_eq(lod.level(0).buffer()));
        y.lod_mut().set_offsets(0, &[0, 0, 3]).unwrap();
        assert_eq!(y.lod().to_lengths(), [vec![0, 3], vec![3, 3, 0]]);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_changes_nothing() {
        let mut x = LodTensor::from_sequences(&[vec![1, 2], vec![3]]).unwrap();
        let before = x.lod().clone();
        assert_eq!(x.lod_mut().set_lengths(0, &[1, 1]), Err(Error::Rows { expected: 2, found: 3 }));
        assert_eq!(x.lod_mut().set_lengths(1, &[3]), Err(Error::NoLevel { level: 1, levels: 1 }));
        assert!(x.lod_mut().set_offsets(0, &[0, 3, 2]).is_err());
        let other = LodTensor::from_sequences(&[vec![1.5]]).unwrap();
        assert!(x.share_const_lod_from(&other).is_err() && x.share_mutable_lod_from(&other).is_err());
        let mut y = LodTensor::from_vec([3], vec![0; 3], Lod::from_lengths(&[vec![2], vec![1, 2]]).unwrap()).unwrap();
        let wrong = y.lod_mut().set_lengths(1, &[1, 1, 1]);
        assert_eq!(wrong, Err(Error::LevelMismatch { level: 1, expected: 2, found: 3 }));
        let wrong = y.lod_mut().set_lengths(0, &[1]);
        assert_eq!(wrong, Err(Error::LevelMismatch { level: 1, expected: 1, found: 2 }));
        assert!(x.lod().ptr_eq(&before));
    }
}
