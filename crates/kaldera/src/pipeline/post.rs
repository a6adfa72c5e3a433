//! Processing of features after they are computed: normalisation, deltas, the choice of voiced
//! frames.

use std::collections::HashMap;

use kaldi_feat::{
    CmvnStats, DeltaFeaturesOptions, SlidingWindowCmnOptions, VadEnergyOptions, apply_cmvn, compute_deltas,
    compute_vad_energy, select_voiced, sliding_window_cmn,
};
use kaldi_matrix::{Matrix, SubMatrix};

use crate::Error;
use crate::pipeline::inputs::Utterance;

/// The scope over which means, and variances, are normalised.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
#[non_exhaustive]
pub enum Cmvn {
    /// Over each utterance.
    Utterance {
        /// Also give each dimension variance 1.
        #[cfg_attr(feature = "serde", serde(default))]
        norm_vars: bool,
    },
    /// Over all utterances of a speaker. The recordings are read twice.
    Speaker {
        /// Also give each dimension variance 1.
        #[cfg_attr(feature = "serde", serde(default))]
        norm_vars: bool,
    },
    /// Over all utterances. The recordings are read twice.
    All {
        /// Also give each dimension variance 1.
        #[cfg_attr(feature = "serde", serde(default))]
        norm_vars: bool,
    },
    /// Over a window that moves along.
    Sliding(SlidingWindowCmnOptions),
}

impl Cmvn {
    /// Returns `true` if the result depends on other utterances.
    pub(super) fn needs_others(&self) -> bool {
        matches!(self, Self::Speaker { .. } | Self::All { .. })
    }
}

/// The steps to do, in the order of the fields, as in Kaldi's recipes. The voiced frames are
/// found before all of them, by the log energy in column 0, and selected last.
#[derive(Debug, Clone, Default)]
pub(super) struct Post {
    pub(super) cmvn: Option<Cmvn>,
    pub(super) deltas: Option<DeltaFeaturesOptions>,
    pub(super) vad: Option<VadEnergyOptions>,
}

impl Post {
    /// Returns `true` if features pass unchanged.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self { cmvn: None, deltas: None, vad: None })
    }

    /// The number of columns computed from `dim` columns.
    pub(super) fn dim(&self, dim: usize) -> usize {
        let order = self.deltas.as_ref().map_or(0, |deltas| usize::try_from(deltas.order).unwrap_or(0));
        dim * (order + 1)
    }

    /// Does all steps with the features of `utterance`, which has at least one frame.
    pub(super) fn apply(
        &self,
        utterance: &Utterance,
        stats: Option<&GroupStats>,
        mut features: Matrix<f32>,
    ) -> Result<Matrix<f32>, Error> {
        let voiced = self.vad.as_ref().map(|options| compute_vad_energy(options, &features)).transpose()?;
        match &self.cmvn {
            None => {}
            Some(Cmvn::Utterance { norm_vars }) => {
                let mut stats = CmvnStats::new(features.num_cols());
                stats.accumulate(&features)?;
                normalise(stats, *norm_vars, &mut features)?;
            }
            Some(Cmvn::Speaker { norm_vars } | Cmvn::All { norm_vars }) => {
                let stats = stats.ok_or(Error::NoSpeaker)?;
                normalise(stats.group_stats(utterance)?.clone(), *norm_vars, &mut features)?;
            }
            Some(Cmvn::Sliding(options)) => features = sliding_window_cmn(options, &features)?,
        }
        if let Some(options) = &self.deltas {
            features = compute_deltas(options, &features)?;
        }
        if let Some(voiced) = voiced {
            features = select_voiced(&features, &voiced)?;
            if features.is_empty() {
                return Err(Error::NotVoiced { frames: voiced.len() });
            }
        }
        Ok(features)
    }
}

/// [`apply_cmvn`], in which a constant dimension becomes 0 with `norm_vars`, too. Kaldi divides it
/// by 1e-10, which makes thousands of a rounding error.
fn normalise(mut stats: CmvnStats, norm_vars: bool, features: &mut Matrix<f32>) -> Result<(), Error> {
    if norm_vars {
        stats.fake_constant_dims()?;
    }
    Ok(apply_cmvn(&stats, norm_vars, features)?)
}

/// Checks that all values of `features` are finite. Other values would be written without a
/// warning, or spoil a speaker's statistics.
pub(super) fn check_finite(features: &[f32], frames: usize) -> Result<(), Error> {
    if features.iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    let dim = (features.len() / frames.max(1)).max(1);
    let mut bad = features.chunks(dim).enumerate().filter(|(_, row)| row.iter().any(|x| !x.is_finite()));
    let first = bad.next().map_or(0, |(row, _)| row);
    Err(Error::NotFinite { rows: 1 + bad.count(), frames, first })
}

/// Statistics of speakers, or of all utterances; empty if each utterance is normalised
/// separately.
#[derive(Debug, Default)]
pub(super) struct GroupStats {
    by_speaker: bool,
    groups: HashMap<String, CmvnStats>,
}

impl GroupStats {
    pub(super) fn new(cmvn: &Cmvn) -> Self {
        Self { by_speaker: matches!(cmvn, Cmvn::Speaker { .. }), groups: HashMap::new() }
    }

    fn group<'u>(&self, utterance: &'u Utterance) -> Result<&'u str, Error> {
        if self.by_speaker { utterance.speaker.as_deref().ok_or(Error::NoSpeaker) } else { Ok("") }
    }

    /// Adds features; an utterance without a speaker has no part in this, and fails later.
    pub(super) fn add(&mut self, utterance: &Utterance, features: SubMatrix<'_, f32>) -> Result<(), Error> {
        let Ok(group) = self.group(utterance) else { return Ok(()) };
        if !self.groups.contains_key(group) {
            self.groups.insert(group.to_owned(), CmvnStats::new(features.num_cols()));
        }
        match self.groups.get_mut(group) {
            Some(stats) => Ok(stats.accumulate(&features)?),
            None => Ok(()),
        }
    }

    fn group_stats(&self, utterance: &Utterance) -> Result<&CmvnStats, Error> {
        self.groups.get(self.group(utterance)?).ok_or(Error::NoSpeaker)
    }
}
