//! The n best paths of a batch of utterances: the best path of each, probabilities within each, and
//! a padded matrix.
//!
//! `cargo run -p ragged-core --example paths`

use ragged_core::{PadMode, PadSide, Ragged};

fn main() -> Result<(), ragged_core::Error> {
    // Log-probabilities of the paths of three utterances; decoding of the second one failed.
    let scores: Ragged<f32> = [vec![-2.0, -1.0, -4.0], vec![], vec![-0.5, -0.7]].into();
    for (utterance, paths) in scores.rows().enumerate() {
        println!("utterance {utterance}: {} paths, scores {paths:?}", paths.len());
    }
    println!("best scores     {:?}", scores.max_from(f32::NEG_INFINITY));
    println!("best paths      {:?} of all {}, -1 for none", scores.argmax(), scores.num_elements());
    println!("log-likelihoods {:?}", scores.logsumexp());

    let posteriors = scores.softmax();
    println!("posteriors      {posteriors}");

    // Utterances 2 and 0, in this order.
    let picked = posteriors.select(0, &[2, 0])?;
    println!("of 2 and 0      {picked}");

    let padded = picked.pad(PadMode::Constant, PadSide::Right, 0.0)?;
    for row in padded.rows() {
        println!("padded          {row:?}");
    }
    Ok(())
}
