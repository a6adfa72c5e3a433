//! Options by Kaldi's names, from Python's keyword arguments and back.

use kaldi_feat::options::{OptionSet, OptionValue, Registry};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use crate::arguments::did_you_mean;
use crate::errors::value_error;

/// The names of options in librosa, torchaudio, lhotse and transformers, with ours.
const ELSEWHERE: [(&str, &str); 9] = [
    ("fmax", "high_freq"),
    ("fmin", "low_freq"),
    ("n_mels", "num_mel_bins"),
    ("n_mfcc", "num_ceps"),
    ("num_filters", "num_mel_bins"),
    ("num_mels", "num_mel_bins"),
    ("preemph_coeff", "preemphasis_coefficient"),
    ("sampling_rate", "sample_frequency"),
    ("sr", "sample_frequency"),
];

/// All options of a structure.
struct Listed<'a>(Vec<(&'static str, &'a mut dyn OptionValue)>);

impl<'a> Registry<'a> for Listed<'a> {
    fn add(&mut self, name: &'static str, value: &'a mut dyn OptionValue, _doc: &'static str) {
        self.0.push((name, value));
    }
}

/// Sets options by name: `num_mel_bins` or `num-mel-bins`. None keeps the present value.
///
/// An error suggests the name that was probably meant, and lists the valid names.
pub(crate) fn set<T: OptionSet>(target: &mut T, options: &Bound<'_, PyDict>) -> PyResult<()> {
    let mut listed = Listed(Vec::new());
    target.register(&mut listed);
    for (name, value) in options {
        let name: String = name.extract()?;
        let wanted = name.replace('_', "-");
        let Some((_, place)) = listed.0.iter_mut().find(|(known, _)| *known == wanted) else {
            let mut names: Vec<String> = listed.0.iter().map(|(known, _)| known.replace('-', "_")).collect();
            names.sort_unstable();
            let own_name =
                ELSEWHERE.iter().find(|(theirs, ours)| *theirs == name && names.iter().any(|own| own == ours));
            let typed = own_name.map_or(&*name, |(_, ours)| ours);
            let hint = did_you_mean(options.py(), typed, &names)?;
            return Err(value_error(format!("there is no option '{name}'{hint}: there are {}", names.join(", "))));
        };
        if value.is_none() {
            continue;
        }
        let text = match value.cast::<PyBool>() {
            Ok(truth) => truth.is_true().to_string(),
            Err(_) => value.str()?.to_string(),
        };
        place.set(&text).map_err(|error| value_error(format!("{name}: {error}")))?;
    }
    Ok(())
}

/// All options with their values, under Python's names.
pub(crate) fn get<'py, T: OptionSet + Clone>(py: Python<'py>, source: &T) -> PyResult<Bound<'py, PyDict>> {
    let mut copy = source.clone();
    let mut listed = Listed(Vec::new());
    copy.register(&mut listed);
    let options = PyDict::new(py);
    for (name, value) in listed.0 {
        let (name, text) = (name.replace('-', "_"), value.show());
        let wrong = |_| value_error(format!("{name}={text}"));
        match value.type_name() {
            "bool" => options.set_item(&name, text == "true")?,
            "int" => options.set_item(&name, text.parse::<i128>().map_err(|error| wrong(error.to_string()))?)?,
            "float" | "double" => {
                options.set_item(&name, text.parse::<f64>().map_err(|error| wrong(error.to_string()))?)?;
            }
            _ => options.set_item(&name, text)?,
        }
    }
    Ok(options)
}
