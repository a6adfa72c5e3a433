//! Kaldi's configuration files: an option a line, as in `--num-mel-bins=40`.

use kaldi_feat::options::{OptionSet, OptionValue, Registry};
use kaldi_io::lines::Lines;
use kaldi_io::rxfilename::Input;

use crate::error::Error;

/// The options of a set by name.
#[derive(Default)]
struct Options<'a>(Vec<(&'static str, &'a mut dyn OptionValue)>);

impl<'a> Registry<'a> for Options<'a> {
    fn add(&mut self, name: &'static str, value: &'a mut dyn OptionValue, _doc: &'static str) {
        self.0.push((name, value));
    }
}

/// Sets the options in a configuration file: `--name=value` or `--name` on a line, and comments
/// after `#`. `_` and `-` are the same in names, and so are upper and lower case.
///
/// ```
/// use kaldera::feat::OnlineCmvnOptions;
/// use kaldera::kaldi_online::read_config;
///
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("online_cmvn.conf");
/// std::fs::write(&file, "# of a recipe\n--cmn-window=300  # 3 s\n--norm_vars\n")?;
/// let mut options = OnlineCmvnOptions::default();
/// read_config(file.to_str().ok_or("the path is no text")?, &mut options)?;
/// assert_eq!((options.cmn_window, options.normalize_variance), (300, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of opening the file; [`Error::ConfigLine`] for a line of another form, an unknown
/// option, or a value that does not suit it. Earlier lines have been set then.
#[doc(alias = "ReadConfigFromFile")]
pub fn read_config(rxfilename: &str, set: &mut impl OptionSet) -> Result<(), Error> {
    let mut options = Options::default();
    set.register(&mut options);
    let mut lines = Lines::new(Input::open(rxfilename)?);
    while let Some(line) = lines.next() {
        let wrong = |line, reason: String| Error::ConfigLine { file: rxfilename.to_owned(), line, reason };
        let line = line.map_err(|error| wrong(lines.number(), error.to_string()))?;
        let text = line.split('#').next().unwrap_or_default().trim();
        if !text.is_empty() {
            set_option(text, &mut options.0).map_err(|reason| wrong(lines.number(), reason))?;
        }
    }
    Ok(())
}

fn set_option(text: &str, options: &mut [(&'static str, &mut dyn OptionValue)]) -> Result<(), String> {
    let Some(option) = text.strip_prefix("--") else {
        return Err(format!("'{text}' is not of the form --name=value"));
    };
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    let name = name.trim().replace('_', "-").to_lowercase();
    let Some((_, found)) = options.iter_mut().find(|(known, _)| *known == name) else {
        return Err(format!("there is no option --{name} here"));
    };
    match value {
        Some(value) => found.set(value).map_err(|error| format!("option --{name}: {error}")),
        None if found.is_bool() => found.set("").map_err(|error| error.to_string()),
        None => Err(format!("option --{name} needs a value, as in --{name}=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use kaldi_feat::MfccOptions;

    use super::*;

    fn read(text: &str) -> Result<MfccOptions, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.conf");
        std::fs::write(&file, text).unwrap();
        let mut options = MfccOptions::default();
        let came = read_config(file.to_str().unwrap(), &mut options);
        came.map(|()| options).map_err(|error| error.to_string().rsplit_once("a.conf").unwrap().1.to_owned())
    }

    #[test]
    fn lines_set_options() {
        let options = read("\n--num-mel-bins=40\r\n  --Num_Ceps=40 # all\n#--dither=1\n--use-energy=false\n").unwrap();
        assert_eq!(options, MfccOptions::default().with_num_mel_bins(40).with_num_ceps(40).with_use_energy(false));
        assert_eq!(read("").unwrap(), MfccOptions::default());
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, expected) in [
            ("num-ceps=3", ":1: 'num-ceps=3' is not of the form --name=value"),
            ("\n--num-caps=3", ":2: there is no option --num-caps here"),
            ("--num-ceps", ":1: option --num-ceps needs a value, as in --num-ceps=VALUE"),
            ("--num-ceps=x", ":1: option --num-ceps: 'x' is not an integer"),
        ] {
            assert_eq!(read(text).unwrap_err(), expected);
        }
    }
}
