//! Decoding graphs: lexicon, n-gram language model, HLG, hot words.
