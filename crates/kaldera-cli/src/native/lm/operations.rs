//! The operations of `kaldera lm`.

use std::fmt::Write as _;

use kaldera::fsa::graphs::{NgramModel, Perplexity};

use super::files::{check_output, for_each_line, read, read_vocabulary, words, write};
use super::steps::{Step, sizes};
use super::{CliError, Inputs, Operation, Options, print};
use crate::native::files::{in_file, is_standard, shown};

/// The operations in the order of help.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "info",
        usage: "Show the sizes and symbols of models\n\
            Usage: kaldera lm info [OPTIONS] MODEL...",
        examples: &["lm.arpa.gz", "en-us.lm.bin lm.bin"],
        inputs: Inputs::Any,
        options: &["bos-symbol", "eos-symbol", "unk", "max-mem"],
        run: info,
    },
    Operation {
        name: "convert",
        usage: "Write a model in another format\n\
            Usage: kaldera lm convert [OPTIONS] [IN [OUT]]\n\
            A binary file loads at once; it takes 12 to 20 bytes per n-gram, as it does in memory.",
        examples: &["lm.arpa.gz lm.bin", "pocketsphinx/model/en-us/en-us.lm.bin en-us.arpa.gz"],
        inputs: Inputs::Files(1),
        options: &["format", "bos-symbol", "eos-symbol", "unk", "max-mem"],
        run: |options| change(options, |_, model| Ok(model)),
    },
    Operation {
        name: "restrict",
        usage: "Keep the n-grams of the words of a list\n\
            Usage: kaldera lm restrict --vocab=WORDS [OPTIONS] [IN [OUT]]\n\
            Equivalent to SRILM's 'ngram -limit-vocab -vocab WORDS'. Sentence boundaries and the unknown word are \
            kept. The probabilities after a history sum to less than 1 until 'kaldera lm normalize' is run.",
        examples: &["--vocab=words.txt lm.arpa.gz small.bin"],
        inputs: Inputs::Files(1),
        options: &["format", "vocab", "bos-symbol", "eos-symbol", "unk", "max-mem"],
        run: restrict,
    },
    Operation {
        name: "prune",
        usage: "Prune n-grams by relative entropy\n\
            Usage: kaldera lm prune [OPTIONS] [IN [OUT]]\n\
            Equivalent to SRILM's 'ngram -prune THRESHOLD' (Stolcke 1998). Backoff weights are recomputed.",
        examples: &["--threshold=1e-7 lm.arpa.gz small.arpa.gz"],
        inputs: Inputs::Files(1),
        options: &["format", "threshold", "bos-symbol", "eos-symbol", "unk", "max-mem"],
        run: |options| {
            if !(options.threshold > 0.0 && options.threshold < 1.0) {
                return Err(CliError::Usage("--threshold must be above 0 and below 1".to_owned()));
            }
            change(options, |options, model| model.prune(options.threshold, options.limits()))
        },
    },
    Operation {
        name: "normalize",
        usage: "Recompute the backoff weights so that the probabilities after each history sum to 1\n\
            Usage: kaldera lm normalize [OPTIONS] [IN [OUT]]\n\
            Equivalent to SRILM's 'ngram -renorm'. The remaining probability of unigrams is assigned to the unknown word, if the model has one.",
        examples: &["lm.arpa.gz sums-to-one.arpa.gz"],
        inputs: Inputs::Files(1),
        options: &["format", "bos-symbol", "eos-symbol", "unk", "max-mem"],
        run: |options| change(options, |options, model| model.normalize(options.limits())),
    },
    Operation {
        name: "interpolate",
        usage: "Interpolate two models\n\
            Usage: kaldera lm interpolate [OPTIONS] IN1 IN2 [OUT]\n\
            Equivalent to SRILM's 'ngram -lm IN1 -mix-lm IN2 -lambda L': the result has the n-grams of both.",
        examples: &["--lambda=0.7 domain.arpa.gz general.bin mixed.bin"],
        inputs: Inputs::Files(2),
        options: &["format", "lambda", "bos-symbol", "eos-symbol", "unk", "max-mem"],
        run: interpolate,
    },
    Operation {
        name: "perplexity",
        usage: "Compute the perplexity of texts\n\
            Usage: kaldera lm perplexity [OPTIONS] MODEL [TEXT...]\n\
            Texts have one sentence per line. The output for each text is as of SRILM's 'ngram -ppl', which ignores \
            unknown words (OOVs); a third line scores them as the unknown word of the model, if it has one.",
        examples: &["lm.bin test.txt", "lm.arpa.gz dev.txt.gz test.txt"],
        inputs: Inputs::Any,
        options: &["bos-symbol", "eos-symbol", "unk", "max-mem"],
        run: perplexity,
    },
];

/// Reads a model, changes it and writes it.
fn change(
    options: &Options,
    change: impl FnOnce(&Options, NgramModel) -> Result<NgramModel, kaldera::fsa::Error>,
) -> Result<(), CliError> {
    let [input] = &options.arguments[..] else { return Err(CliError::Usage("one model is read".to_owned())) };
    check_output(options)?;
    let model = read(input, options)?;
    let num_ngrams = model.num_ngrams();
    let step = Step::start("changing it", options.quiet);
    let changed = change(options, model).map_err(|error| in_file(input, &error))?;
    step.end(format_args!("{} of {num_ngrams}", sizes(&changed)));
    write(&changed, options)
}

fn restrict(options: &Options) -> Result<(), CliError> {
    if options.vocab.is_empty() {
        return Err(CliError::Usage("--vocab=WORDS is missing".to_owned()));
    }
    let vocabulary = read_vocabulary(&options.vocab)?;
    change(options, |options, model| model.restrict(|word| vocabulary.contains(word), options.limits()))
}

fn interpolate(options: &Options) -> Result<(), CliError> {
    let [first, second] = &options.arguments[..] else {
        return Err(CliError::Usage("two models are read".to_owned()));
    };
    if !(0.0..=1.0).contains(&options.lambda) {
        return Err(CliError::Usage("--lambda must be from 0 to 1".to_owned()));
    }
    check_output(options)?;
    let (one, other) = (read(first, options)?, read(second, options)?);
    let step = Step::start("mixing them", options.quiet);
    let weighted = [(&one, options.lambda), (&other, 1.0 - options.lambda)];
    let mixed = NgramModel::interpolate(&weighted, options.limits());
    let mixed = mixed.map_err(|error| in_file(first, &error))?;
    step.end(sizes(&mixed));
    write(&mixed, options)
}

fn info(options: &Options) -> Result<(), CliError> {
    for name in &options.arguments {
        let model = read(name, options)?;
        let mut text = String::new();
        let mut line = |what: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(text, "{what:<22} {value}");
        };
        line("model", &shown(name));
        line("words", &model.num_words());
        for order in 1..=model.order() {
            line(&format!("n-grams of order {order}"), &model.num_ngrams_of(order));
        }
        line("bytes in memory", &model.num_bytes());
        let has = |has: bool| if has { "yes" } else { "no" };
        line(&options.bos_symbol, &has(model.starts_sentences()));
        line(&options.eos_symbol, &has(model.ends_sentences()));
        line(&options.unk, &has(model.unknown().is_some()));
        print(&text)?;
    }
    Ok(())
}

fn perplexity(options: &Options) -> Result<(), CliError> {
    let (name, texts) = options.arguments.split_first().map_or(("", &[][..]), |(name, texts)| (name, texts));
    if texts.is_empty() && is_standard(name) {
        return Err(CliError::Usage("the model is standard input: name a text".to_owned()));
    }
    let model = read(name, options)?;
    let standard_input = [String::new()];
    let texts = if texts.is_empty() { &standard_input } else { texts };
    for name in texts {
        let mut measured = Perplexity::default();
        for_each_line(name, |line| {
            let mut sentence = words(line).peekable();
            // SRILM does not count empty lines.
            if sentence.peek().is_some() {
                measured.add(&model, sentence);
            }
        })?;
        let mut text = format!("file {}: {measured}\n", shown(name));
        if measured.unknown > 0 && model.unknown().is_some() {
            let log10 = measured.log10 + measured.log10_unknown;
            let ppl = measured.perplexity_with_unknown();
            let _ = writeln!(text, "with OOVs as {}: logprob= {log10:.4} ppl= {ppl:.4}", options.unk);
        }
        print(&text)?;
    }
    Ok(())
}
