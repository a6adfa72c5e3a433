//! The metadata of ONNX files.

use kaldera_onnx::Description;

use crate::log::say;

/// Metadata that are used, or do not affect the computation.
const KNOWN: [&str; 56] = [
    "T",
    "author",
    "auto_prompt_id",
    "blank_id",
    "chunk_shift",
    "chunk_size",
    "chunk_size_ms",
    "cmvn_inv_stddev",
    "cmvn_mean",
    "comment",
    "context_size",
    "decode_chunk_len",
    "description",
    "feat_dim",
    "feature",
    "feature_dim",
    "feature_type",
    "frame_length_ms",
    "head",
    "inv_stddev",
    "invstd",
    "is_giga_am",
    "joiner_dim",
    "language",
    "lfr_window_shift",
    "lfr_window_size",
    "license",
    "maintainer",
    "mean",
    "model_author",
    "model_type",
    "neg_mean",
    "normalize_samples",
    "normalize_type",
    "num_blocks",
    "num_encoder_layers",
    "num_heads",
    "num_left_chunks",
    "output_size",
    "pred_hidden",
    "pred_rnn_layers",
    "prompt_dictionary",
    "right_context",
    "sample_rate",
    "scale",
    "state_dim",
    "stddev",
    "subsampling_factor",
    "url",
    "use_whisper_feature",
    "version",
    "vocab_size",
    "window_size",
    "window_stride",
    "with_itn",
    "without_itn",
];

/// Prefixes of metadata with the sizes of states and the structure of layers.
const KNOWN_BEGINNINGS: [&str; 13] = [
    "attention_",
    "cache_",
    "cnn_module_kernel",
    "d_model",
    "dim_feedforward",
    "encoder_dim",
    "lang_",
    "left_",
    "onnx.",
    "pad_length",
    "query_head_dim",
    "rnn_hidden_size",
    "value_head_dim",
];

/// Reports the metadata that are not used.
pub(super) fn say_what_is_not_used(description: &Description) {
    let is_used = |key: &str| KNOWN.contains(&key) || KNOWN_BEGINNINGS.iter().any(|begin| key.starts_with(begin));
    let unused: Vec<&str> = description.metadata.iter().map(|(key, _)| &**key).filter(|key| !is_used(key)).collect();
    if !unused.is_empty() {
        say(format_args!("unknown metadata, which are not used: {}", unused.join(", ")));
    }
}
