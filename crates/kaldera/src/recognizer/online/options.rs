//! Options of decoding for an online model.

use std::path::Path;

use crate::Error;
use crate::kaldi_online::DecodingConfig;
use crate::recognizer::decoding::DecodingOptions;

/// Refuses options that an online model has no use for.
pub(super) fn refuse_idle(folder: &Path, options: &DecodingOptions) -> Result<(), Error> {
    let DecodingOptions { beam, lm_weight, word_score, symbols_per_frame, language_model, graph, .. } = options;
    let idle = [
        ("beam", beam.is_some()),
        ("lm-weight", lm_weight.is_some()),
        ("word-score", word_score.is_some()),
        ("symbols-per-frame", symbols_per_frame.is_some()),
        ("hotwords", !options.hot_words().is_empty()),
        ("hotword-weight", options.weight_of_hot_words().is_some()),
        ("language-model", language_model.is_some()),
        ("graph", graph.is_some()),
    ];
    match idle.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => {
            let reason = "a Vosk or Kaldi folder has no use for it: its graph decides that".to_owned();
            Err(Error::ModelKey { path: folder.to_owned(), key: format!("decoding.{name}"), reason })
        }
        None => Ok(()),
    }
}

/// Returns the options of a model with changes.
pub(super) fn changed(mut config: DecodingConfig, options: &DecodingOptions) -> DecodingConfig {
    let search = &mut config.search;
    search.beam = options.search_beam.unwrap_or(search.beam);
    search.lattice_beam = options.lattice_beam.unwrap_or(search.lattice_beam);
    search.max_active = options.max_active.unwrap_or(search.max_active);
    search.min_active = search.min_active.min(search.max_active);
    config.acoustic_scale = options.acoustic_scale.unwrap_or(config.acoustic_scale);
    config
}
