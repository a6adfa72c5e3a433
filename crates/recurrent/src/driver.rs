//! Networks with a user-defined step.

use kaldera_base::Real;
use lod::{
    Lod, LodTensor, RankTable, Segments, concat_outputs, init_states, init_states_backward, segment_inputs,
    shrink_state,
};

use crate::error::Error;
use crate::state::Direction;

/// Inputs of one step, or the gradients by them. Each row (or sequence, if a tensor has a LoD)
/// belongs to a sequence that has such a step, longest first. All tensors have the same sequences.
#[derive(Clone, Debug)]
pub struct StepInputs<T: Real> {
    /// This step of each input.
    pub inputs: Vec<LodTensor<T>>,
    /// Inputs that are the same at all steps.
    pub statics: Vec<LodTensor<T>>,
    /// The memories of the step before: `[sequences with such a step, ..]`.
    pub memories: Vec<LodTensor<T>>,
}

/// Outputs of one step, or the gradients by them.
#[derive(Clone, Debug)]
pub struct StepOutputs<T: Real> {
    /// This step of each output.
    pub outputs: Vec<LodTensor<T>>,
    /// The new memories, of the shapes of the old ones.
    pub memories: Vec<LodTensor<T>>,
}

/// One step of a network: any cell that maps inputs and memories to outputs and memories.
#[doc(alias = "step_net")]
#[doc(alias = "StepNet")]
pub trait Step<T: Real> {
    /// Values of a step's forward pass that its backward pass needs.
    type Saved;

    /// Returns the shape of a row of each output, for mini-batches without any step.
    fn output_shapes(&self) -> Vec<Vec<usize>>;

    /// Runs the forward pass.
    ///
    /// # Errors
    /// Any error of the step.
    fn forward(&self, step: StepInputs<T>) -> Result<(StepOutputs<T>, Self::Saved), Error>;

    /// Runs the backward pass. Takes the gradients by all outputs and new memories. Returns the
    /// gradients by all inputs, statics and old memories, in the shapes of these. Adds up gradients
    /// by parameters in `self`. Called for the last step first.
    ///
    /// # Errors
    /// Any error of the step.
    fn backward(&mut self, saved: Self::Saved, grads: StepOutputs<T>) -> Result<StepInputs<T>, Error>;
}

/// A network that takes one [`Step`] after the other, without padding: the design document's
/// `RecurrentOp`.
///
/// ```text
///   inputs  --segment_inputs-->  step 0   step 1   step 2 ...  --concat_outputs-->  outputs
///   boots   --init_states--->  [ Step ]-[ Step ]-[ Step ]--->                     last memories
///   statics --init_states--->    '--------'--------'
/// ```
///
/// ```
/// use lod::{Lod, LodTensor};
/// use recurrent::{Direction, Error, Recurrent, Step, StepInputs, StepOutputs};
///
/// /// Sums up: m = m' + x, and gives out what it has so far.
/// struct Sum;
///
/// impl Step<f32> for Sum {
///     type Saved = ();
///     fn output_shapes(&self) -> Vec<Vec<usize>> {
///         vec![vec![1]]
///     }
///     fn forward(&self, step: StepInputs<f32>) -> Result<(StepOutputs<f32>, ()), Error> {
///         let sum = step.memories[0].zip_map(&step.inputs[0], |m, x| m + x)?;
///         Ok((StepOutputs { outputs: vec![sum.clone()], memories: vec![sum] }, ()))
///     }
///     fn backward(&mut self, (): (), grads: StepOutputs<f32>) -> Result<StepInputs<f32>, Error> {
///         let by_sum = grads.outputs[0].zip_map(&grads.memories[0], |y, m| y + m)?;
///         Ok(StepInputs { inputs: vec![by_sum.clone()], statics: vec![], memories: vec![by_sum] })
///     }
/// }
///
/// let x = LodTensor::from_vec([3, 1], vec![1.0, 2.0, 3.0], Lod::from_lengths(&[[1, 2]])?)?;
/// let boot = LodTensor::from_vec([2, 1], vec![10.0, 20.0], Lod::none())?;
/// let (out, saved) =
///     Recurrent::new(Direction::Forward).forward(&Sum, &[x.clone()], &[], &[boot])?;
/// assert_eq!(
///     (out.outputs[0].values(), out.last[0].values()),
///     (&[11.0, 22.0, 25.0][..], &[11.0, 25.0][..])
/// );
///
/// let grads = saved.backward(&mut Sum, &[Some(&x.map(|_| 1.0))], &[None])?;
/// assert_eq!(
///     (grads.inputs[0].values(), grads.boots[0].values()),
///     (&[1.0, 2.0, 1.0][..], &[1.0, 2.0][..])
/// );
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[doc(alias = "RecurrentOp")]
#[doc(alias = "DynamicRNN")]
pub struct Recurrent {
    direction: Direction,
}

/// Result of a [`Recurrent`] network.
#[derive(Clone, Debug)]
pub struct RecurrentOutput<T: Real> {
    /// Each output, its sequences in the order of the inputs'.
    pub outputs: Vec<LodTensor<T>>,
    /// Each memory after the last step of each sequence, in the caller's order; the row of `boots`
    /// for sequences of length 0.
    pub last: Vec<LodTensor<T>>,
}

/// Gradients by all inputs of a [`Recurrent`] network.
#[derive(Clone, Debug)]
pub struct RecurrentGradients<T: Real> {
    /// By each input.
    pub inputs: Vec<LodTensor<T>>,
    /// By each static input.
    pub statics: Vec<LodTensor<T>>,
    /// By each initial memory.
    pub boots: Vec<LodTensor<T>>,
}

/// Values that the backward pass of a [`Recurrent`] network needs.
#[derive(Debug)]
#[doc(alias = "RecurrentGradientOp")]
pub struct RecurrentSaved<T: Real, S: Step<T>> {
    table: RankTable,
    steps: Vec<S::Saved>,
    /// Only for shapes and levels.
    inputs: Vec<LodTensor<T>>,
    statics: Vec<LodTensor<T>>,
    boots: Vec<LodTensor<T>>,
}

impl Recurrent {
    /// Creates a network that begins with the first or with the last entry of each sequence.
    pub fn new(direction: Direction) -> Self {
        Self { direction }
    }

    /// Runs all steps. The coarsest level of `inputs` gives the sequences. There must be at least
    /// one input, and all inputs must have the same lengths. `statics` and `boots` have a row for
    /// each sequence; `statics` may have a sequence for each.
    ///
    /// # Errors
    /// [`Error::Count`] without inputs or if a step gives another number of outputs or memories
    /// than expected; [`Error::Lod`] for tensors of other sequences; any error of the step.
    pub fn forward<T: Real, S: Step<T>>(
        &self,
        net: &S,
        inputs: &[LodTensor<T>],
        statics: &[LodTensor<T>],
        boots: &[LodTensor<T>],
    ) -> Result<(RecurrentOutput<T>, RecurrentSaved<T, S>), Error> {
        let first = inputs.first().ok_or(Error::Count { what: "the number of inputs", expected: 1, found: 0 })?;
        let table = first.lod().rank_table(0)?;
        let table = if self.direction == Direction::Reverse { table.reversed() } else { table };
        let segments: Vec<Segments<T>> = inputs.iter().map(|x| segment_inputs(x, &table)).collect::<Result<_, _>>()?;
        let ranked: Vec<_> = statics.iter().map(|x| init_states(x, &table)).collect::<Result<_, _>>()?;
        let mut memories = Vec::with_capacity(boots.len());
        for boot in boots {
            if !boot.lod().is_none() {
                let found = boot.lod().num_levels();
                return Err(lod::Error::NumLevels { what: "an initial memory", expected: 0, found }.into());
            }
            memories.push(init_states(boot, &table)?);
        }
        // Rows of sequences that are over keep their values; each step overwrites the other rows.
        let mut last = memories.clone();
        let shapes = net.output_shapes();
        let mut outputs: Vec<Vec<LodTensor<T>>> = shapes.iter().map(|_| Vec::new()).collect();
        let mut steps = Vec::with_capacity(table.max_sequence_len());
        for step in 0..table.max_sequence_len() {
            let shrink = |all: &[LodTensor<T>]| -> Result<Vec<_>, Error> {
                all.iter().map(|x| Ok(shrink_state(x, &table, step)?)).collect()
            };
            let into = StepInputs {
                inputs: segments.iter().map(|x| x.step_tensor(step)).collect(),
                statics: shrink(&ranked)?,
                memories: shrink(&memories)?,
            };
            let (out, saved) = net.forward(into)?;
            check_count("the number of outputs of a step", shapes.len(), out.outputs.len())?;
            check_count("the number of memories of a step", boots.len(), out.memories.len())?;
            for (last, memory) in last.iter_mut().zip(&out.memories) {
                check_rows("a memory of a step", table.active(step), last, memory)?;
                last.values_mut()[..memory.values().len()].copy_from_slice(memory.values());
            }
            outputs.iter_mut().zip(out.outputs).for_each(|(all, output)| all.push(output));
            memories = out.memories;
            steps.push(saved);
        }
        let outputs =
            outputs.iter().zip(&shapes).map(|(steps, shape)| join(&table, steps, shape)).collect::<Result<_, _>>()?;
        let last = last.iter().map(|x| init_states_backward(x, &table)).collect::<Result<_, _>>()?;
        let (inputs, statics, boots) = (inputs.to_vec(), statics.to_vec(), boots.to_vec());
        Ok((RecurrentOutput { outputs, last }, RecurrentSaved { table, steps, inputs, statics, boots }))
    }
}

impl<T: Real, S: Step<T>> RecurrentSaved<T, S> {
    /// Returns the gradients by inputs, statics and initial memories, given the gradients by
    /// outputs and last memories. `None` means that the tensor has no part in the loss.
    ///
    /// # Errors
    /// [`Error::Count`] unless there is an entry for each output and each memory; [`Error::Shape`],
    /// [`Error::Lod`] for gradients of other shapes than their tensors; any error of the step.
    pub fn backward(
        self,
        net: &mut S,
        outputs: &[Option<&LodTensor<T>>],
        last: &[Option<&LodTensor<T>>],
    ) -> Result<RecurrentGradients<T>, Error> {
        let Self { table, steps, inputs, statics, boots } = self;
        let shapes = net.output_shapes();
        check_count("the number of gradients by outputs", shapes.len(), outputs.len())?;
        check_count("the number of gradients by memories", boots.len(), last.len())?;
        let mut segments = Vec::with_capacity(shapes.len());
        for (grad, shape) in outputs.iter().zip(&shapes) {
            segments.push(match grad {
                Some(grad) => segment_inputs(grad, &table)?,
                None => Segments::zeros(&table, shape)?,
            });
        }
        // By the memories of the active sequences: at first the memories after the last steps.
        let mut by_memories = Vec::with_capacity(boots.len());
        for (grad, boot) in last.iter().zip(&boots) {
            by_memories.push(match grad {
                Some(grad) => {
                    Error::check_shape("the gradient of a last memory", boot.shape(), grad.shape())?;
                    init_states(grad, &table)?
                }
                None => boot.map(|_| T::ZERO),
            });
        }
        let ranked: Vec<_> = statics.iter().map(|x| init_states(x, &table)).collect::<Result<_, _>>()?;
        let mut by_statics: Vec<LodTensor<T>> = ranked.iter().map(|x| x.map(|_| T::ZERO)).collect();
        let mut by_inputs: Vec<Vec<LodTensor<T>>> = inputs.iter().map(|_| Vec::new()).collect();
        for (step, saved) in steps.into_iter().enumerate().rev() {
            let grads = StepOutputs {
                outputs: segments.iter().map(|x| x.step_tensor(step)).collect(),
                memories: by_memories.iter().map(|x| shrink_state(x, &table, step)).collect::<Result<_, _>>()?,
            };
            let by = net.backward(saved, grads)?;
            check_count("the number of gradients by inputs of a step", inputs.len(), by.inputs.len())?;
            check_count("the number of gradients by statics of a step", statics.len(), by.statics.len())?;
            check_count("the number of gradients by memories of a step", boots.len(), by.memories.len())?;
            for (all, grad) in by_memories.iter_mut().zip(&by.memories) {
                check_rows("the gradient of a memory", table.active(step), all, grad)?;
                all.values_mut()[..grad.values().len()].copy_from_slice(grad.values());
            }
            for (all, grad) in by_statics.iter_mut().zip(&by.statics) {
                let expected = shrink_state(all, &table, step)?.shape().to_vec();
                Error::check_shape("the gradient of a static input", &expected, grad.shape())?;
                all.values_mut().iter_mut().zip(grad.values()).for_each(|(sum, &grad)| *sum += grad);
            }
            by_inputs.iter_mut().zip(by.inputs).for_each(|(all, grad)| all.push(grad));
        }
        let mut joined = Vec::with_capacity(inputs.len());
        for (x, mut steps) in inputs.iter().zip(by_inputs) {
            steps.reverse();
            let grad = join(&table, &steps, &x.shape()[1..])?;
            Error::check_shape("the gradients of the steps of an input", x.shape(), grad.shape())?;
            joined.push(grad.with_lod(x.lod().clone())?);
        }
        let back = |all: &[LodTensor<T>]| -> Result<Vec<_>, Error> {
            all.iter().map(|x| Ok(init_states_backward(x, &table)?)).collect()
        };
        Ok(RecurrentGradients { inputs: joined, statics: back(&by_statics)?, boots: back(&by_memories)? })
    }
}

/// Joins the steps to sequences; without steps, a tensor of no rows of this shape.
fn join<T: Real>(table: &RankTable, steps: &[LodTensor<T>], shape: &[usize]) -> Result<LodTensor<T>, Error> {
    let segments = match steps.is_empty() {
        true => Segments::zeros(table, shape)?,
        false => Segments::from_steps(table, steps)?,
    };
    Ok(concat_outputs(&segments)?)
}

fn check_count(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Count { what, expected, found }) }
}

/// Checks that `found` has `rows` rows like the rows of `whole`, and no levels.
fn check_rows<T: Real>(
    tensor: &'static str,
    rows: usize,
    whole: &LodTensor<T>,
    found: &LodTensor<T>,
) -> Result<(), Error> {
    let mut expected = whole.shape().to_vec();
    expected[0] = rows;
    Error::check_shape(tensor, &expected, found.shape())?;
    match found.lod() == &Lod::none() {
        true => Ok(()),
        false => Err(Error::OtherLod { tensor, expected: Lod::none(), found: found.lod().clone() }),
    }
}
