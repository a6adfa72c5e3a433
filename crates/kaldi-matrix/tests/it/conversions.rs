//! How vectors and matrices come from the standard library's collections, and go back to them.

use kaldi_matrix::{Error, Matrix, Real, SubMatrix, Vector};

#[test]
fn a_matrix_iterates_over_its_rows_as_slices() {
    let m = Matrix::from_fn(3, 4, |r, c| (10 * r + c) as f32);
    let part = m.col_range(1, 2).unwrap();
    let mut rows = Vec::new();
    for row in &part {
        rows.push(row.to_vec());
    }
    assert_eq!(rows, [[1.0, 2.0], [11.0, 12.0], [21.0, 22.0]]);
    assert_eq!(part.rows().len(), 3);
    assert_eq!(part.rows().rev().map(|row| row[0]).collect::<Vec<_>>(), [21.0, 11.0, 1.0]);
    assert_eq!(part.rows().nth(2), Some(&[21.0, 22.0][..]));
    assert_eq!((&Matrix::<f32>::zeros(3, 0)).into_iter().count(), 0);

    let mut m = m.to_owned();
    for row in &mut m {
        row.reverse();
    }
    assert_eq!(m.row_data(1), [13.0, 12.0, 11.0, 10.0]);
}

#[test]
fn rows_of_unequal_length_are_no_matrix() {
    let m = Matrix::try_from(vec![vec![1.0_f64, 2.0], vec![3.0, 4.0]]).unwrap();
    assert_eq!(m, Matrix::from([[1.0, 2.0], [3.0, 4.0]]));
    let error = Matrix::try_from(vec![vec![1.0_f64, 2.0], vec![3.0, 4.0], vec![5.0]]).unwrap_err();
    assert_eq!(error, Error::UnequalRows { row: 2, expected: 2, found: 1 });
    assert_eq!(error.to_string(), "row 2 has 1 elements, while row 0 has 2: all rows of a matrix are of one length");
    assert_eq!(Matrix::<f32>::try_from(Vec::new()).unwrap(), Matrix::default());
}

#[test]
fn a_vector_is_made_of_what_holds_numbers_and_iterates_over_them() {
    let mut v = Vector::from([1.0_f32, 2.0]);
    v.extend([3.0]);
    assert_eq!(v, Vector::from(&[1.0, 2.0, 3.0][..]));
    assert_eq!(v, Vector::from_iter([1.0, 2.0, 3.0]));
    for x in &mut v {
        *x *= 2.0;
    }
    assert_eq!((&v).into_iter().sum::<f32>(), 12.0);
    assert_eq!(v.as_ref(), [2.0, 4.0, 6.0]);
    assert_eq!(Vec::from(v.clone()), [2.0, 4.0, 6.0]);
    assert_eq!(v.into_iter().next_back(), Some(6.0));
    assert_eq!(Vector::<f32>::default().dim(), 0);
}

#[test]
fn generic_code_names_real_without_another_crate() {
    fn trace<T: Real>(m: SubMatrix<'_, T>) -> T {
        (0..m.num_rows()).map(|i| m[(i, i)]).sum()
    }
    assert_eq!(trace(Matrix::from([[1.0_f32, 2.0], [3.0, 4.0]]).view()), 5.0);
}
