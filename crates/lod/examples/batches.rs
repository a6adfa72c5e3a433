//! Mini-batches of utterances of different lengths without padding: means, softmax, time steps, and
//! Paddle's file format.
//!
//! `cargo run -p lod --example batches`

use lod::{
    Batching, Error, LodTensor, Padding, concat_outputs, pad_sequence, segment_inputs, sequence, sort_by_seq_len,
};

fn main() -> Result<(), Error> {
    // Utterances of 4, 2 and 3 frames with 2 features each.
    let frames = |first: i32, count: i32| (first..first + count).flat_map(|i| [f64::from(i), f64::from(-i)]);
    let values: Vec<f64> = frames(0, 4).chain(frames(10, 2)).chain(frames(20, 3)).collect();
    let x = LodTensor::from_lengths(&[4, 2, 3], 2, values)?;
    for (utterance, values) in x.sequences().enumerate() {
        println!("utterance {utterance}: {} frames, {values:?}", x.lengths()[utterance]);
    }

    // Operators over sequences return what their backward pass needs, too.
    let (means, saved) = sequence::pool(&x, sequence::Pool::Average, 0.0)?;
    println!("means            {}", means.tensor());
    println!("their gradient   {:?}", saved.backward(&means)?.values());

    // The time steps of a recurrent network: what is left of the batch are always its first rows.
    let steps = segment_inputs(&x, &sort_by_seq_len(&x)?)?;
    for (step, rows) in steps.steps().enumerate() {
        println!("step {step}: {rows:?}");
    }
    assert_eq!(concat_outputs(&steps)?, x);

    let padded = pad_sequence(&x, &Padding::default().with_batch_first(true))?;
    println!("padded: {} values instead of {}", padded.len(), x.len());

    // A data set in batches of at most 6 frames, similar lengths together.
    println!("batches          {:?}", Batching::by_rows(6).with_sort_window(3).batches(&x.lengths())?);

    // The bytes that Paddle writes and reads.
    assert_eq!(LodTensor::<f64>::read_from(&mut &x.to_bytes()[..])?, x);
    Ok(())
}
