//! Kaldi-style log lines on stderr.
