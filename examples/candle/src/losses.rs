//! CTC and RNN-T of `kaldera-losses` as custom operations of candle, with their backward passes.

use std::sync::OnceLock;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, DType, Device, Error, Layout, Result, Shape, Tensor, WithDType, bail};
use kaldera_losses::{CtcOptions, Padded, Ragged, Real, Reduction, RnntOptions};

/// The CTC loss of logits `[N, T, C]` of `f32` or `f64` on the CPU; sequence n has `lengths[n]`
/// frames. `[N]` losses, or a scalar after reduction.
///
/// # Errors
/// For another shape or type; all that [`kaldera_losses::ctc_loss`] refuses.
pub(crate) fn ctc_loss(
    logits: &Tensor,
    lengths: &[usize],
    labels: &Ragged<i32>,
    options: &CtcOptions,
) -> Result<Tensor> {
    logits.dims3()?;
    apply(logits, lengths, Ctc { labels: labels.clone(), options: options.clone() })
}

/// The RNN-T loss of a joiner's logits `[N, T, S + 1, C]`, where S is the largest number of labels;
/// otherwise as [`ctc_loss`].
///
/// # Errors
/// For another shape or type; all that [`kaldera_losses::rnnt_loss`] refuses.
pub(crate) fn rnnt_loss(
    logits: &Tensor,
    lengths: &[usize],
    labels: &Ragged<i32>,
    options: &RnntOptions,
) -> Result<Tensor> {
    logits.dims4()?;
    apply(logits, lengths, Rnnt { labels: labels.clone(), options: options.clone() })
}

/// A loss of padded logits, in single and in double precision.
trait Loss: Send + Sync + 'static {
    const NAME: &'static str;

    fn reduction(&self) -> Reduction;

    fn forward<T: Real>(&self, logits: &Padded<T>) -> Result<(Vec<f64>, Backward<Padded<T>>)>;
}

/// The derivative by the logits, from that by each loss: `saved.backward` with what it has saved.
type Backward<G> = Box<dyn Fn(&[f64]) -> Result<G> + Send + Sync>;

struct Ctc {
    labels: Ragged<i32>,
    options: CtcOptions,
}

impl Loss for Ctc {
    const NAME: &'static str = "ctc_loss";

    fn reduction(&self) -> Reduction {
        self.options.reduction
    }

    fn forward<T: Real>(&self, logits: &Padded<T>) -> Result<(Vec<f64>, Backward<Padded<T>>)> {
        let (loss, saved) = kaldera_losses::ctc_loss(logits, &self.labels, &self.options).map_err(Error::wrap)?;
        Ok((loss, Box::new(move |grad| saved.backward(grad).map_err(Error::wrap))))
    }
}

struct Rnnt {
    labels: Ragged<i32>,
    options: RnntOptions,
}

impl Loss for Rnnt {
    const NAME: &'static str = "rnnt_loss";

    fn reduction(&self) -> Reduction {
        self.options.reduction
    }

    fn forward<T: Real>(&self, logits: &Padded<T>) -> Result<(Vec<f64>, Backward<Padded<T>>)> {
        let (loss, saved) = kaldera_losses::rnnt_loss(logits, &self.labels, &self.options).map_err(Error::wrap)?;
        Ok((loss, Box::new(move |grad| saved.backward(grad).map_err(Error::wrap))))
    }
}

fn apply(logits: &Tensor, lengths: &[usize], loss: impl Loss) -> Result<Tensor> {
    logits.contiguous()?.apply_op1(Op { loss, lengths: lengths.to_vec(), backward: OnceLock::new() })
}

/// A node of candle's graph. It is applied once: the forward pass leaves there what the backward
/// pass needs, and neither is computed twice.
struct Op<L> {
    loss: L,
    lengths: Vec<usize>,
    backward: OnceLock<Backward<Tensor>>,
}

impl<L: Loss> Op<L> {
    fn forward<T: Real + WithDType>(&self, values: &[T], layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let Some((begin, end)) = layout.contiguous_offsets() else {
            return Err(Error::RequiresContiguous { op: L::NAME }.bt());
        };
        let shape = layout.shape().clone();
        let logits = Padded::new(values[begin..end].to_vec(), shape.dims(), self.lengths.clone());
        let (losses, backward) = self.loss.forward(&logits.map_err(Error::wrap)?)?;
        let backward =
            move |grad: &[f64]| Tensor::from_vec(backward(grad)?.into_buffer().into_vec(), &shape, &Device::Cpu);
        if self.backward.set(Box::new(backward)).is_err() {
            bail!("{} was applied twice: each forward pass needs an operation of its own", L::NAME);
        }
        let shape = match self.loss.reduction() {
            Reduction::None => Shape::from(losses.len()),
            Reduction::Mean | Reduction::Sum => Shape::from(()),
        };
        let losses = losses.into_iter().map(<T as Real>::from_f64).collect();
        Ok((T::to_cpu_storage_owned(losses), shape))
    }
}

impl<L: Loss> CustomOp1 for Op<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        match storage {
            CpuStorage::F32(values) => self.forward(values, layout),
            CpuStorage::F64(values) => self.forward(values, layout),
            other => Err(Error::UnsupportedDTypeForOp(other.dtype(), L::NAME).bt()),
        }
    }

    fn bwd(&self, _logits: &Tensor, _loss: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let Some(backward) = self.backward.get() else {
            bail!("{}: the backward pass needs a forward pass before it", L::NAME);
        };
        let grad = grad.flatten_all()?.to_dtype(DType::F64)?.to_vec1()?;
        backward(&grad).map(Some)
    }
}
