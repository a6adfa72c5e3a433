//! Hints for programs of other toolkits: their equivalent here, or that there is none.

use crate::native::{fst, lm};

/// Prefixes of the names of Kaldi's programs around acoustic models.
const MODELS: &[&str] = &[
    "acc-",
    "am-",
    "build-tree",
    "chain-",
    "cuda-",
    "est-",
    "fmllr-",
    "fgmm-",
    "gmm-",
    "gst-",
    "ivector-",
    "kws-",
    "nnet-",
    "nnet2-",
    "nnet3-",
    "online-",
    "online2-",
    "paste-post",
    "rnnlm-",
    "sgmm2-",
    "train-",
    "tree-",
    "convert-ali",
    "ali-to-",
    "align-equal",
    "compile-train-graphs",
    "make-h-transducer",
    "post-to-",
];

/// Names of programs that estimate language models.
const ESTIMATION: &[&str] = &["estimate-ngram", "lmplz", "ngram-count", "tlm"];

/// Other programs that an operation of `kaldera lm` replaces.
const NGRAMS: &[(&str, &str)] = &[("ngram", "help lm"), ("build_binary", "lm convert"), ("query", "lm perplexity")];

/// Returns the end of the message for an unknown command, if it is a known program.
pub(crate) fn hint(name: &str) -> Option<String> {
    if let Some(operation) = fst::operation_named(name) {
        return Some(format!("; it is 'kaldera fst {operation}'"));
    }
    if let Some((_, operation)) = NGRAMS.iter().find(|(program, _)| *program == name) {
        return Some(format!("; see 'kaldera {operation}'"));
    }
    if lm::has_operation(name) {
        return Some(format!("; it is 'kaldera lm {name}'"));
    }
    if ESTIMATION.contains(&name) {
        return Some(
            "; Kaldera does not estimate language models: use KenLM's lmplz or SRILM's ngram-count, and give the \
             ARPA file to 'kaldera lm' or 'kaldera transcribe --lm'"
                .to_owned(),
        );
    }
    let is_of_models = MODELS.iter().any(|begin| name.starts_with(begin));
    is_of_models.then(|| {
        "; Kaldi's programs that train acoustic models, and the ones for GMMs, are not part of Kaldera: 'kaldera \
         nnet3-latgen-faster' decodes with a network of Kaldi's, 'kaldera transcribe' runs ONNX and safetensors networks \
         and folders of Vosk"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_recipes_are_known() {
        for (name, said) in [
            ("arpa2fst", "'kaldera fst arpa2fst'"),
            ("fstcompile", "'kaldera fst compile'"),
            ("fstcompose", "'kaldera fst compose'"),
            ("make-hlg", "'kaldera fst make-hlg'"),
            ("gmm-latgen-faster", "are not part of Kaldera"),
            ("nnet3-train", "are not part of Kaldera"),
            ("online2-wav-gmm-latgen-faster", "are not part of Kaldera"),
            ("lmplz", "does not estimate"),
            ("ngram", "'kaldera help lm'"),
            ("perplexity", "'kaldera lm perplexity'"),
        ] {
            let found = hint(name);
            assert!(found.as_ref().is_some_and(|found| found.contains(said)), "{name}: {found:?}");
        }
        for name in ["featurs", "transcibe", "", "fst"] {
            assert_eq!(hint(name), None, "{name}");
        }
    }
}
