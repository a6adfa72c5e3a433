//! CTC and RNN-T by their definitions, of candle's own operations: minus the log of a sum over all
//! alignments, each of them written out. For tiny inputs alone, as there are exponentially many.

use candle_core::{D, Device, Error, Result, Tensor};

/// The class of the blank.
const BLANK: usize = 0;

/// The CTC loss of one sequence's logits `[T, C]`.
pub(crate) fn ctc_loss(logits: &Tensor, labels: &[i32]) -> Result<Tensor> {
    let ((frames, classes), labels) = (logits.dims2()?, to_classes(labels)?);
    let mut alignments = vec![Vec::new()];
    for _ in 0..frames {
        let longer = |alignment: Vec<usize>| (0..classes).map(move |class| [&alignment[..], &[class]].concat());
        alignments = alignments.into_iter().flat_map(longer).collect();
    }
    alignments.retain(|alignment| {
        let mut found = alignment.clone();
        found.dedup();
        found.retain(|&class| class != BLANK);
        found == labels
    });
    let place = |(t, class): (usize, &usize)| t * classes + class;
    sum_over(logits, alignments.iter().map(|alignment| alignment.iter().enumerate().map(place).collect()).collect())
}

/// The RNN-T loss of one sequence's logits `[T, S + 1, C]`.
pub(crate) fn rnnt_loss(logits: &Tensor, labels: &[i32]) -> Result<Tensor> {
    let ((frames, rows, classes), labels) = (logits.dims3()?, to_classes(labels)?);
    // Each path so far, with the frame and the number of labels that it has come to.
    let mut paths = vec![(Vec::new(), 0, 0)];
    for _ in 0..frames + labels.len() {
        let longer = |(path, t, s): (Vec<usize>, usize, usize)| {
            let with = |class: &usize| [&path[..], &[(t * rows + s) * classes + class]].concat();
            let blank = (t < frames).then(|| (with(&BLANK), t + 1, s));
            let label = labels.get(s).filter(|_| t < frames).map(|label| (with(label), t, s + 1));
            blank.into_iter().chain(label)
        };
        paths = paths.into_iter().flat_map(longer).collect();
    }
    sum_over(logits, paths.into_iter().map(|(path, ..)| path).collect())
}

fn to_classes(labels: &[i32]) -> Result<Vec<usize>> {
    labels.iter().map(|&label| usize::try_from(label).map_err(Error::wrap)).collect()
}

/// Minus the log-probability of all `paths`, given by where the logits of their arcs are. All have
/// the same number of arcs.
fn sum_over(logits: &Tensor, paths: Vec<Vec<usize>>) -> Result<Tensor> {
    let log_probs = logits.broadcast_sub(&logits.log_sum_exp(D::Minus1)?.unsqueeze(D::Minus1)?)?;
    let places = paths.concat().into_iter().map(|place| u32::try_from(place).map_err(Error::wrap));
    let places = Tensor::new(places.collect::<Result<Vec<_>>>()?, &Device::Cpu)?;
    log_probs.flatten_all()?.index_select(&places, 0)?.reshape((paths.len(), ()))?.sum(1)?.log_sum_exp(0)?.neg()
}
