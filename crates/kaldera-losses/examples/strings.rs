//! Two small recognisers learn strings from frames: one by CTC, one as a transducer.
//!
//! A symbol lasts two to four frames, with a frame or two of silence between symbols; features are
//! noisy. The networks are linear: of each frame the scores of silence and five symbols. The
//! transducer has in addition scores of the next symbol given the last one.
//!
//! ```sh
//! cargo run --release -p kaldera-losses --example strings
//! ```

use std::error::Error;

use kaldera_base::random::Philox;
use kaldera_losses::rnnt::rnnt_loss_simple;
use kaldera_losses::{CtcOptions, RnntOptions, ctc_loss};
use lod::LodTensor;
use ragged_core::Ragged;
use recurrent::parameters;
use recurrent::train::{Adam, AdamOptions, Linear, uniform};

/// Silence, and five symbols.
const CLASSES: usize = 6;
const STEPS: usize = 150;
/// Of 200 strings that the network has never seen, so many must be right to the last symbol.
const WANTED: usize = 190;

/// Scores of each frame, and of what comes after each symbol.
struct Transducer {
    encoder: Linear<f32>,
    decoder: Linear<f32>,
}

parameters! {
    impl Parameters<f32> for Transducer { encoder, decoder }
}

/// Trains both, and returns an error unless they learn.
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let test = Batch::draw(1_000_000, 200)?;
    let ctc = train_ctc()?;
    let scores = ctc.forward(&test.frames)?;
    report("CTC", &test, scores.sequences().map(best_labels))?;

    let transducer = train_transducer()?;
    let am = transducer.encoder.forward(&test.frames)?;
    let after_each = LodTensor::from_lengths(&[CLASSES], CLASSES, one_hot(0..CLASSES))?;
    let lm = transducer.decoder.forward(&after_each)?;
    report("transducer", &test, am.sequences().map(|frames| greedy(frames, &lm)))
}

fn train_ctc() -> Result<Linear<f32>, Box<dyn Error>> {
    let mut model = Linear::zeros(CLASSES, CLASSES);
    uniform(&mut model, 0.1, 1);
    let mut adam = Adam::new(AdamOptions::default().with_learning_rate(0.1))?;
    for step in 0..STEPS {
        let batch = Batch::draw(step, 16)?;
        let logits = model.forward(&batch.frames)?;
        let (loss, saved) = ctc_loss(&logits, &batch.labels, &CtcOptions::default())?;
        let (_, gradient) = model.backward(&batch.frames, &saved.backward(&[1.0])?)?;
        adam.step(&mut model, &gradient)?;
        if step % 50 == 0 {
            println!("CTC, step {step}: loss {:.3}", loss[0]);
        }
    }
    Ok(model)
}

fn train_transducer() -> Result<Transducer, Box<dyn Error>> {
    let mut model = Transducer { encoder: Linear::zeros(CLASSES, CLASSES), decoder: Linear::zeros(CLASSES, CLASSES) };
    uniform(&mut model, 0.1, 1);
    let mut adam = Adam::new(AdamOptions::default().with_learning_rate(0.1))?;
    for step in 0..STEPS {
        let batch = Batch::draw(step, 16)?;
        let before = batch.symbols_before()?;
        let (am, lm) = (model.encoder.forward(&batch.frames)?, model.decoder.forward(&before)?);
        let (loss, saved) = rnnt_loss_simple(&am, &lm, &batch.labels, &RnntOptions::default())?;
        let (by_am, by_lm) = saved.backward(&[1.0])?;
        let gradient = Transducer {
            encoder: model.encoder.backward(&batch.frames, &by_am)?.1,
            decoder: model.decoder.backward(&before, &by_lm)?.1,
        };
        adam.step(&mut model, &gradient)?;
        if step % 50 == 0 {
            println!("transducer, step {step}: loss {:.3}", loss[0]);
        }
    }
    Ok(model)
}

fn report(name: &str, test: &Batch, found: impl Iterator<Item = Vec<i32>>) -> Result<(), Box<dyn Error>> {
    let right = found.zip(test.labels.rows()).filter(|(found, labels)| found == labels).count();
    println!("{name}: {right} of {} strings are right", test.labels.num_rows());
    if right < WANTED { Err(format!("{name}: at least {WANTED} were to be right, {right} are").into()) } else { Ok(()) }
}

/// Noisy frames of strings without equal neighbours.
struct Batch {
    frames: LodTensor<f32>,
    labels: Ragged<i32>,
}

impl Batch {
    fn draw(number: usize, count: usize) -> Result<Self, Box<dyn Error>> {
        let stream = Philox::for_name(7, &format!("batch {number}"));
        let mut counter = 0;
        let mut below = |n: u32| {
            counter += 1;
            stream.block([counter, 0, 0, 0])[0] % n
        };
        let (mut values, mut lengths, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let mut classes = vec![0];
            let mut string = Vec::new();
            for _ in 0..1 + below(6) {
                let symbol = 1 + below(5);
                if string.last() == Some(&i32::try_from(symbol)?) {
                    continue;
                }
                string.push(i32::try_from(symbol)?);
                classes.extend((0..2 + below(3)).map(|_| symbol));
                classes.extend((0..1 + below(2)).map(|_| 0));
            }
            lengths.push(classes.len());
            labels.push(string);
            for class in classes {
                values.extend((0..6).map(|i| f32::from(u8::from(i == class)) + below(600) as f32 / 1000.0 - 0.3));
            }
        }
        let frames = LodTensor::from_lengths(&lengths, CLASSES, values)?;
        Ok(Self { frames, labels: Ragged::from_lists(&labels)? })
    }

    /// For each number of symbols the last one before it, as rows with a single 1.
    fn symbols_before(&self) -> Result<LodTensor<f32>, Box<dyn Error>> {
        let lengths: Vec<usize> = self.labels.rows().map(|labels| labels.len() + 1).collect();
        let before = self.labels.rows().flat_map(|labels| [0].into_iter().chain(labels.iter().copied()));
        let before = before.map(usize::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(LodTensor::from_lengths(&lengths, CLASSES, one_hot(before))?)
    }
}

fn one_hot(classes: impl IntoIterator<Item = usize>) -> Vec<f32> {
    let row = |class: usize| (0..CLASSES).map(move |i| f32::from(u8::from(i == class)));
    classes.into_iter().flat_map(row).collect()
}

fn best(row: &[f32]) -> usize {
    (1..row.len()).fold(0, |best, i| if row[i] > row[best] { i } else { best })
}

/// The labels of the best class in each frame.
fn best_labels(frames: &[f32]) -> Vec<i32> {
    let mut classes: Vec<usize> = frames.chunks(CLASSES).map(best).collect();
    classes.dedup();
    classes.into_iter().filter(|&class| class != 0).filter_map(|class| i32::try_from(class).ok()).collect()
}

/// The symbol of the best score, frame by frame, until it is the blank.
fn greedy(frames: &[f32], lm: &LodTensor<f32>) -> Vec<i32> {
    let (mut found, mut last) = (Vec::new(), 0);
    for frame in frames.chunks(CLASSES) {
        for _ in 0..3 {
            let sums: Vec<f32> = frame.iter().zip(lm.row(last)).map(|(am, lm)| am + lm).collect();
            let class = best(&sums);
            if class == 0 {
                break;
            }
            found.extend(i32::try_from(class));
            last = class;
        }
    }
    found
}
