//! The answers of the command line.

use kaldera::feat::Preset;

use super::super::super::CliError;
use super::super::super::features::preset_named;
use super::super::Given;

/// Properties of the network from the command line.
pub(super) struct Said {
    pub(super) preset: Option<Preset>,
    pub(super) normalize: Option<String>,
    /// Values of integer inputs.
    pub(super) constants: Vec<(String, i64)>,
}

impl Said {
    pub(super) fn new(given: &Given) -> Result<Self, CliError> {
        const NORMALIZE: [&str; 3] = ["none", "per_feature", "samples"];
        let preset = match &*given.preset {
            "" => None,
            name => {
                let preset = preset_named(name)?;
                if preset.kinds().len() != 1 {
                    let text = format!(
                        "option --preset: {name} has several kinds of features, and is not a preset of a model"
                    );
                    return Err(CliError::Usage(text));
                }
                Some(preset)
            }
        };
        let normalize = (!given.normalize.is_empty()).then(|| given.normalize.clone());
        if let Some(other) = normalize.as_deref().filter(|kind| !NORMALIZE.contains(kind)) {
            let text = format!("option --normalize: '{other}' is not one of {}", NORMALIZE.join(", "));
            return Err(CliError::Usage(text));
        }
        let constants = given.constants.split(',').filter(|text| !text.trim().is_empty()).map(|text| {
            let parsed = text.split_once('=').and_then(|(name, value)| Some((name, value.trim().parse().ok()?)));
            let (name, value) = parsed.ok_or_else(|| {
                CliError::Usage(format!(
                    "option --constants: '{text}' is not NAME=NUMBER, as in language=3,text_norm=14"
                ))
            })?;
            Ok::<_, CliError>((name.trim().to_owned(), value))
        });
        Ok(Self { preset, normalize, constants: constants.collect::<Result<_, _>>()? })
    }
}
