//! Patches of images as sequences.

use kaldera_base::Real;
use ragged_core::RowSplits;

use crate::error::Error;
use crate::lod::Lod;
use crate::sequence::check_gradient;
use crate::tensor::LodTensor;

/// The patches that [`im2sequence`] takes of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Patches {
    /// Height and width of a patch.
    pub kernel: [usize; 2],
    /// From one patch to the next, down and to the right.
    pub stride: [usize; 2],
    /// Zeros around the image: above, to the left, below, to the right.
    pub padding: [usize; 4],
}

/// The data that the gradient of [`im2sequence`] needs.
#[derive(Debug, Clone)]
pub struct Im2SequenceSaved {
    patches: Patches,
    shape: [usize; 4],
    grid: [usize; 2],
}

/// The patches of each image of `[images, channels, height, width]`, line by line, as a sequence of
/// rows `channels * patch height * patch width`.
///
/// # Errors
/// [`Error::Size`] for another number of axes than 4; [`Error::Nothing`] for a patch or a stride of
/// 0, or patches larger than the padded image; [`Error::TooLarge`].
pub fn im2sequence<T: Real>(x: &LodTensor<T>, patches: Patches) -> Result<(LodTensor<T>, Im2SequenceSaved), Error> {
    let &[images, channels, height, width] = &x.shape()[..] else {
        return Err(Error::Size { what: "the number of axes", expected: 4, found: x.shape().len() });
    };
    let Patches { kernel, stride, padding: [up, left, down, right] } = patches;
    let count = |size: usize, before: usize, after: usize, kernel: usize, stride: usize| {
        let room = size.checked_add(before)?.checked_add(after)?.checked_sub(kernel)?;
        (kernel > 0).then_some(room.checked_div(stride)? + 1)
    };
    let grid = count(height, up, down, kernel[0], stride[0]).zip(count(width, left, right, kernel[1], stride[1]));
    let (lines, columns) = grid.ok_or(Error::Nothing { what: "patch of the image" })?;
    let saved = Im2SequenceSaved { patches, shape: [images, channels, height, width], grid: [lines, columns] };
    let row = channels.checked_mul(kernel[0]).and_then(|n| n.checked_mul(kernel[1]));
    let size = [images, lines, columns].iter().try_fold(row, |n, &m| Some(n?.checked_mul(m))).flatten();
    let (Some(row), Some(size)) = (row, size) else {
        return Err(Error::TooLarge { what: "the number of values of patches", size: u64::MAX });
    };
    let mut values = Vec::new();
    values
        .try_reserve_exact(size)
        .map_err(|_| Error::TooLarge { what: "the number of values of patches", size: size as u64 })?;
    saved.each_position(|position| values.push(position.map_or(T::ZERO, |position| x.values()[position])));
    let lod = Lod::new([RowSplits::regular(images, lines * columns)?])?;
    Ok((LodTensor::from_vec([images * lines * columns, row], values, lod)?, saved))
}

impl Im2SequenceSaved {
    /// Calls `f` with the position in the images of each value of the patches in turn, `None` in
    /// the padding.
    fn each_position(&self, mut f: impl FnMut(Option<usize>)) {
        let [images, channels, height, width] = self.shape;
        let Patches { kernel, stride, padding: [up, left, ..] } = self.patches;
        for image in 0..images {
            for patch in 0..self.grid[0] * self.grid[1] {
                let (line, column) = (patch / self.grid[1] * stride[0], patch % self.grid[1] * stride[1]);
                for channel in 0..channels {
                    for y in (line..line + kernel[0]).map(|y| y.checked_sub(up).filter(|&y| y < height)) {
                        for x in (column..column + kernel[1]).map(|x| x.checked_sub(left).filter(|&x| x < width)) {
                            f(y.zip(x).map(|(y, x)| ((image * channels + channel) * height + y) * width + x));
                        }
                    }
                }
            }
        }
    }

    /// The gradient of the images.
    ///
    /// # Errors
    /// [`Error::Size`] if `out_grad` does not have the shape of the result.
    pub fn backward<T: Real>(&self, out_grad: &LodTensor<T>) -> Result<LodTensor<T>, Error> {
        let row = self.shape[1] * self.patches.kernel[0] * self.patches.kernel[1];
        check_gradient(self.shape[0] * self.grid[0] * self.grid[1], row, out_grad)?;
        let mut grad = vec![T::ZERO; self.shape.iter().product()];
        let mut out_grad = out_grad.values().iter();
        self.each_position(|position| {
            if let (Some(position), Some(&g)) = (position, out_grad.next().as_ref()) {
                grad[position] += *g;
            }
        });
        LodTensor::from_vec(self.shape, grad, Lod::none())
    }
}
