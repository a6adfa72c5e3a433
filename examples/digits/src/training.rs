//! Epochs, and checkpoints between them.

use std::path::Path;

use kaldera_base::par;
use kaldera_base::random::Philox;
use kaldi_matrix::RandomState;
use ragged_core::Ragged;
use recurrent::train::{Adam, AdamOptions, ParameterStore, WarmUpDecay, clip_grad_norm};
use recurrent::{Dropout, Gru, Parameters};

use crate::Error;
use crate::corpus::Corpus;
use crate::features::{FrontEnd, Signal};
use crate::network::Network;
use crate::strings::{DigitString, divide};

/// How the network learns.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Hidden units of each direction.
    pub hidden: usize,
    /// How often each recording is used.
    pub epochs: usize,
    /// In so many epochs at the beginning, strings have one or two digits, later three to seven. (A
    /// network that begins with long strings finds nothing better than blanks for a long time.)
    pub curriculum: usize,
    /// Strings of a batch.
    pub batch: usize,
    /// The highest learning rate.
    pub learning_rate: f64,
    /// The probability of dropout before the output layer.
    pub dropout: f64,
    /// The length of the gradient above which it is scaled down.
    pub clip: f64,
    /// Whether strings are changed as [`augmentation`](crate::augmentation) says.
    pub augment: bool,
    /// Where all random numbers come from.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        let (hidden, epochs, curriculum, batch) = (64, 24, 6, 8);
        Self {
            hidden,
            epochs,
            curriculum,
            batch,
            learning_rate: 3e-3,
            dropout: 0.3,
            clip: 5.0,
            augment: false,
            seed: 1,
        }
    }
}

impl Options {
    /// The options as numbers that single precision holds: a checkpoint keeps them.
    fn numbers(&self) -> [(&'static str, f32); 11] {
        let seed = [self.seed >> 48, self.seed >> 24, self.seed].map(|part| (part & 0xFF_FFFF) as f32);
        [
            ("hidden", self.hidden as f32),
            ("epochs", self.epochs as f32),
            ("curriculum", self.curriculum as f32),
            ("batch", self.batch as f32),
            ("learning rate", self.learning_rate as f32),
            ("dropout", self.dropout as f32),
            ("clip", self.clip as f32),
            ("augment", f32::from(u8::from(self.augment))),
            ("seed", seed[0]),
            ("seed", seed[1]),
            ("seed", seed[2]),
        ]
    }
}

/// What an epoch brought.
#[derive(Debug, Clone, Copy)]
pub struct Epoch {
    /// The mean loss of the batches.
    pub loss: f64,
    /// Seconds of audio.
    pub seconds: f64,
}

/// A network that learns.
#[derive(Debug)]
pub struct Trainer<'a> {
    corpus: &'a Corpus,
    chosen: Vec<usize>,
    options: Options,
    schedule: WarmUpDecay,
    front_end: FrontEnd,
    network: Network<Gru<f32>>,
    adam: Adam<f32>,
    /// Epochs that are done.
    epoch: usize,
    /// Batches that are done.
    step: u64,
}

impl<'a> Trainer<'a> {
    /// A network that has learnt nothing, for the `chosen` recordings of a corpus.
    ///
    /// # Errors
    /// For options out of range, and recordings that have no features.
    pub fn new(corpus: &'a Corpus, chosen: Vec<usize>, options: Options) -> Result<Self, Error> {
        if options.batch == 0 || options.hidden == 0 {
            return Err("a batch and a network must not be empty".into());
        }
        if chosen.is_empty() {
            return Err("there is no recording to learn from".into());
        }
        let samples = chosen.iter().map(|&i| &corpus.recordings[i].samples[..]);
        let front_end = FrontEnd::of_recordings(corpus.sample_rate, samples)?;
        let network = Network::new(front_end.width(), options.hidden, options.seed);
        let adam = Adam::new(AdamOptions::default().with_learning_rate(options.learning_rate))?;
        let schedule = WarmUpDecay { peak: options.learning_rate, last: 0.0, warm_up: 0, total: 0 };
        let mut trainer = Self { corpus, chosen, options, schedule, front_end, network, adam, epoch: 0, step: 0 };
        let batches = |epoch| trainer.strings(epoch).len().div_ceil(trainer.options.batch) as u64;
        let total = (0..trainer.options.epochs).map(batches).sum();
        trainer.schedule = WarmUpDecay { warm_up: total / 20, total, ..schedule };
        trainer.schedule.check()?;
        Ok(trainer)
    }

    /// Whether all epochs are done.
    pub fn is_done(&self) -> bool {
        self.epoch >= self.options.epochs
    }

    /// Epochs that are done.
    pub fn epoch(&self) -> usize {
        self.epoch
    }

    /// The network as it is.
    pub fn network(&self) -> &Network<Gru<f32>> {
        &self.network
    }

    /// The front end, whose means are those of the recordings.
    pub fn front_end(&self) -> &FrontEnd {
        &self.front_end
    }

    /// Learns from each recording once. `progress` is called with the batches that are done, those
    /// that there are, and the loss of the last one.
    ///
    /// # Errors
    /// For a gradient that is not finite.
    pub fn learn_epoch(&mut self, mut progress: impl FnMut(usize, usize, f64)) -> Result<Epoch, Error> {
        let strings = self.strings(self.epoch);
        let batches = strings.chunks(self.options.batch);
        let (count, mut sum, mut samples) = (batches.len(), 0.0, 0);
        for (i, batch) in batches.enumerate() {
            let signals = par::map(batch.iter().collect(), |string: &DigitString| {
                string.signal(self.corpus, self.options.augment)
            });
            samples += signals.iter().map(|signal| signal.samples.len()).sum::<usize>();
            let loss = self.learn(batch, &signals)?;
            sum += loss;
            progress(i + 1, count, loss);
        }
        self.epoch += 1;
        let seconds = samples as f64 / f64::from(self.corpus.sample_rate);
        Ok(Epoch { loss: sum / count.max(1) as f64, seconds })
    }

    /// One step.
    fn learn(&mut self, batch: &[DigitString], signals: &[Signal]) -> Result<f64, Error> {
        let rows = self.front_end.rows(signals)?;
        let tokens = |string: &DigitString| -> Vec<i32> {
            string.digits(self.corpus).into_iter().map(|digit| i32::from(digit) + 1).collect()
        };
        let labels = Ragged::from_lists(&batch.iter().map(tokens).collect::<Vec<_>>())?;
        let mask = Philox::for_name(self.options.seed, &format!("dropout {}", self.step)).block([0; 4]);
        let seed = u64::from(mask[0]) << 32 | u64::from(mask[1]);
        let dropout = Dropout { probability: self.options.dropout, seed };
        let (loss, mut gradient) = self.network.gradient(&rows, &labels, dropout)?;
        clip_grad_norm(&mut gradient, self.options.clip)?;
        self.adam.set_learning_rate(self.schedule.rate(self.step))?;
        self.adam.step(&mut self.network, &gradient)?;
        self.step += 1;
        Ok(loss)
    }

    /// The strings of an epoch: a function of seed and epoch.
    fn strings(&self, epoch: usize) -> Vec<DigitString> {
        let words = Philox::for_name(self.options.seed, &format!("strings of epoch {epoch}")).block([0; 4]);
        let mut random = RandomState::new(u64::from(words[0]) << 32 | u64::from(words[1]));
        let lengths = if epoch < self.options.curriculum { 1..=2 } else { 3..=7 };
        divide(self.corpus, &self.chosen, &lengths, &mut random)
    }

    /// A hash of the recordings' names and numbers of samples, in numbers that single precision
    /// holds.
    fn recordings(&self) -> [f32; 4] {
        let recordings = self.chosen.iter().map(|&i| &self.corpus.recordings[i]);
        let names: String = recordings.map(|one| format!("{} {}\n", one.name(), one.samples.len())).collect();
        Philox::for_name(0, &names).block([0; 4]).map(|word| (word >> 8) as f32)
    }

    /// Writes all that the next epochs depend on; the file appears whole or not at all.
    ///
    /// # Errors
    /// For a file that cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let mut store = ParameterStore::new();
        for tensor in self.network.named() {
            store.insert(&format!("network.{}", tensor.name), &tensor.shape, tensor.values.to_vec())?;
        }
        self.front_end.save("features.", &mut store)?;
        self.adam.save_moments("adam.", &self.network, &mut store)?;
        let numbers: Vec<f32> = self.options.numbers().into_iter().map(|(_, number)| number).collect();
        store.insert("training.options", &[numbers.len()], numbers)?;
        let recordings = self.recordings();
        store.insert("training.recordings", &[recordings.len()], recordings.to_vec())?;
        store.insert("training.epoch", &[1], vec![self.epoch as f32])?;
        Ok(store.save(path)?)
    }

    /// Takes over a checkpoint: what is learnt from here on is, to the bit, what the training that
    /// wrote it would have learnt.
    ///
    /// # Errors
    /// For a file that is no checkpoint, or one of a training with other options or recordings.
    pub fn resume(&mut self, path: &Path) -> Result<(), Error> {
        let store = ParameterStore::load(path)?;
        let ours = self.options.numbers();
        let theirs = store.get_shaped("training.options", &[ours.len()])?;
        for ((name, ours), &theirs) in ours.into_iter().zip(theirs) {
            if ours != theirs {
                let path = path.display();
                return Err(format!("{path}: the checkpoint has {theirs} for {name}, not {ours}; remove it, or train with the same options").into());
            }
        }
        let ours = self.recordings();
        if store.get_shaped("training.recordings", &[ours.len()])? != ours {
            let path = path.display();
            return Err(format!(
                "{path}: the checkpoint is of other recordings; remove it, or train with the same ones"
            )
            .into());
        }
        let epoch = store.get_shaped("training.epoch", &[1])?[0];
        let mut network = self.network.clone();
        store.copy_to("network.", &mut network)?;
        let front_end = FrontEnd::load(self.corpus.sample_rate, "features.", &store)?;
        self.adam.load_moments("adam.", &network, &store)?;
        (self.network, self.front_end, self.epoch) = (network, front_end, epoch as usize);
        let batches = |epoch| self.strings(epoch).len().div_ceil(self.options.batch) as u64;
        self.step = (0..self.epoch).map(batches).sum();
        Ok(())
    }
}
