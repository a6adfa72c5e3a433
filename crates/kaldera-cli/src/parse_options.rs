//! Kaldi's option syntax.
