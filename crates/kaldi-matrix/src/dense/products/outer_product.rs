//! Outer products of vectors.

use kaldera_base::Real;

use crate::check::check_shape;
use crate::error::{Error, Shape};
use crate::matrix::MatrixBase;
use crate::storage::{Storage, StorageMut};
use crate::vector::VectorBase;

/// `plus += max(0, alpha * a b')` and `minus += max(0, -alpha * a b')`, element by element.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless both matrices have a row for each element of `a` and a column
/// for each element of `b`.
#[doc(alias = "AddOuterProductPlusMinus")]
pub fn add_outer_product_plus_minus<T: Real>(
    alpha: T,
    a: &VectorBase<impl Storage<Elem = T>>,
    b: &VectorBase<impl Storage<Elem = T>>,
    plus: &mut MatrixBase<impl StorageMut<Elem = T>>,
    minus: &mut MatrixBase<impl StorageMut<Elem = T>>,
) -> Result<(), Error> {
    let shape = Shape { rows: a.dim(), cols: b.dim() };
    check_shape("add_outer_product_plus_minus", shape, plus.shape())?;
    check_shape("add_outer_product_plus_minus", shape, minus.shape())?;
    for ((&a, plus), minus) in a.iter().zip(plus.rows_mut()).zip(minus.rows_mut()) {
        let scale = alpha * a;
        for ((&b, plus), minus) in b.iter().zip(plus).zip(minus) {
            let product = scale * b;
            if product > T::ZERO {
                *plus += product;
            } else {
                *minus += -product;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Matrix, Vector};

    #[test]
    fn elements_are_split_by_sign() {
        let (a, b) = (Vector::from(vec![2.0, -1.0]), Vector::from(vec![3.0, 0.0, -5.0]));
        let (mut plus, mut minus) = (Matrix::zeros(2, 3), Matrix::zeros(2, 3));
        minus.set(1.0);
        add_outer_product_plus_minus(0.5, &a, &b, &mut plus, &mut minus).unwrap();
        assert_eq!(plus.data(), [3.0, 0.0, 0.0, 0.0, 0.0, 2.5]);
        assert_eq!(minus.data(), [1.0, 1.0, 6.0, 2.5, 1.0, 1.0]);
        assert!(add_outer_product_plus_minus(1.0, &b, &a, &mut plus, &mut minus).is_err());
    }
}
