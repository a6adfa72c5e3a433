//! Training on a few generated recordings.

use kaldera_base::random::Philox;
use kaldera_train_digits::corpus::{Corpus, Recording};
use kaldera_train_digits::evaluation::evaluate;
use kaldera_train_digits::training::{Options, Trainer};
use recurrent::train::ParameterStore;

/// Digits are tones; two speakers, a few takes.
fn corpus() -> Corpus {
    let mut recordings = Vec::new();
    for (digit, speaker, take) in (0..10_u8).flat_map(|digit| (0..8_u32).map(move |i| (digit, i % 2, i / 2))) {
        let frequency = 300.0 * 1.22_f64.powi(digit.into()) * (1.0 + 0.01 * f64::from(speaker));
        let length = 1400 + 100 * take;
        let wave = |i: u32| 4000.0 * (f64::from(i) * frequency * std::f64::consts::TAU / 8000.0).sin();
        let mut samples: Vec<f32> = (0..length).map(|i| wave(i) as f32).collect();
        Philox::for_name(1, &format!("{digit} {speaker} {take}")).add_gaussian(200.0, 0, &mut samples);
        let samples = samples.into_iter().map(|sample| sample as i16).collect();
        recordings.push(Recording { digit, speaker: ["a", "b"][speaker as usize].into(), take, samples });
    }
    Corpus { recordings, sample_rate: 8000.0 }
}

fn options() -> Options {
    Options { hidden: 12, epochs: 4, curriculum: 2, batch: 4, dropout: 0.1, ..Options::default() }
}

fn all(corpus: &Corpus) -> Vec<usize> {
    corpus.select(|recording| recording.take < 3)
}

/// The weights after so many epochs.
fn learn(trainer: &mut Trainer<'_>, epochs: usize) -> ParameterStore<f32> {
    (0..epochs).for_each(|_| assert!(trainer.learn_epoch(|_, _, _| {}).unwrap().loss.is_finite()));
    ParameterStore::from_parameters(trainer.network())
}

#[test]
fn resumed_training_gives_the_weights_of_uninterrupted_training() {
    let (corpus, folder) = (corpus(), tempfile::tempdir().unwrap());
    let new = || Trainer::new(&corpus, all(&corpus), options()).unwrap();
    let whole = learn(&mut new(), 4);
    for before in 0..4 {
        let path = folder.path().join("checkpoint.safetensors");
        let mut first = new();
        learn(&mut first, before);
        first.save(&path).unwrap();
        let mut second = new();
        second.resume(&path).unwrap();
        assert_eq!(second.epoch(), before);
        assert_eq!(learn(&mut second, 4 - before), whole, "resumed after {before} epochs");
        assert!(second.is_done());
    }
}

#[test]
fn weights_do_not_depend_on_the_number_of_threads() {
    let corpus = corpus();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learn(&mut Trainer::new(&corpus, all(&corpus), options()).unwrap(), 3))
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(5));
}

#[test]
fn weights_depend_on_the_seed() {
    let corpus = corpus();
    let of_seed = |seed| learn(&mut Trainer::new(&corpus, all(&corpus), Options { seed, ..options() }).unwrap(), 1);
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1), of_seed(2));
}

#[test]
fn checkpoint_of_other_options_or_recordings_is_refused() {
    let (corpus, folder) = (corpus(), tempfile::tempdir().unwrap());
    let path = folder.path().join("checkpoint.safetensors");
    Trainer::new(&corpus, all(&corpus), options()).unwrap().save(&path).unwrap();
    for (changed, name) in [
        (Options { seed: 1 << 24 | 1, ..options() }, "seed"),
        (Options { learning_rate: 1e-3, ..options() }, "learning rate"),
        (Options { hidden: 13, ..options() }, "hidden"),
    ] {
        let error = Trainer::new(&corpus, all(&corpus), changed).unwrap().resume(&path).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
    let others = corpus.select(|recording| recording.take > 0);
    let error = Trainer::new(&corpus, others, options()).unwrap().resume(&path).unwrap_err();
    assert!(error.to_string().contains("other recordings"), "{error}");
    std::fs::write(&path, b"nothing").unwrap();
    assert!(Trainer::new(&corpus, all(&corpus), options()).unwrap().resume(&path).is_err());
    assert!(Trainer::new(&corpus, vec![], options()).is_err(), "no recording");
}

#[test]
fn tones_are_learnt() {
    let corpus = corpus();
    let options = Options { hidden: 24, epochs: 40, curriculum: 25, learning_rate: 1e-2, ..options() };
    let mut trainer = Trainer::new(&corpus, all(&corpus), options).unwrap();
    learn(&mut trainer, 40);
    let tested = corpus.select(|recording| recording.take == 3);
    let result = evaluate(trainer.network(), trainer.front_end(), &corpus, &tested).unwrap();
    assert_eq!((result.digits, result.lines.lines().count()), (80, result.strings));
    assert!(result.error_rate() < 10.0, "{} of {} digits", result.errors, result.digits);
}
