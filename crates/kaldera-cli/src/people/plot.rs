//! `kaldera plot`: one feature matrix as a picture.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use kaldera::feat::options::Registry as _;
use kaldera::io::table::{RandomAccessReader, SequentialReader};
use kaldera::matrix::Matrix;
use plotters::prelude::{BitMapBackend, IntoDrawingArea as _, SVGBackend};

use super::heat_map::{HeatMap, SIZE};
use super::lettering::Lettered;
use super::{Trouble, print};
use crate::log;
use crate::parse_options::{ParseOptions, Request, Syntax};

const TOOL: &str = "plot";
const USAGE: &str = "\
Draw a feature matrix: time to the right, dimension upwards, value as colour.
Usage: kaldera plot [options] FEATS KEY -o IMAGE
FEATS is an .ark or .scp file, or any Kaldi rspecifier; IMAGE ends in .png or .svg.
Example: kaldera plot fbank.scp utt1 -o utt1.png
Exit status: 0 drawn, 1 not drawn, 2 wrong usage.";

/// Keys that an error shows when the one asked for is not there.
const KEYS_SHOWN: usize = 5;

/// Runs `kaldera plot` with the arguments after its name.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    super::end(TOOL, plot(&args))
}

fn plot(args: &[OsString]) -> Result<ExitCode, Trouble> {
    let (mut output, mut frame_shift) = (String::new(), 10.0_f64);
    let mut parser = ParseOptions::new(Syntax::People, USAGE);
    parser.add("output", &mut output, "The image to write, .png or .svg");
    parser.add("frame-shift", &mut frame_shift, "Frame shift in milliseconds; 0 counts frames instead of seconds");
    parser.letter('o', "output");
    let arguments = match parser.read(args)? {
        Request::Help => return print(&parser.help()).map(|()| ExitCode::SUCCESS),
        Request::Run(arguments) => arguments,
    };
    log::init(TOOL, parser.verbose());

    let [feats, key] = arguments.as_slice() else {
        return Err(Trouble::Usage(format!("expected FEATS and KEY, found {} arguments", arguments.len())));
    };
    let (Some(feats), Some(key)) = (feats.to_str(), key.to_str()) else {
        return Err(Trouble::Usage("FEATS and KEY must be UTF-8".to_owned()));
    };
    if !(0.0..f64::INFINITY).contains(&frame_shift) {
        return Err(Trouble::Usage(format!("option --frame-shift: {frame_shift} is not 0 or more")));
    }
    let format = Format::of(&output)?;

    let features = find(&rspecifier(feats), key)?;
    if features.is_empty() {
        return Err(Trouble::Failed(format!("'{key}' in {feats} is empty: there is nothing to draw")));
    }
    let map = HeatMap { title: key, features: &features, frame_shift: frame_shift / 1000.0 };
    format.draw(&map, &output).map_err(|reason| {
        Trouble::Failed(format!(
            "cannot write '{output}': {reason}; it needs a folder that exists, may be written to and has space"
        ))
    })?;
    let (frames, dims) = (features.num_rows(), features.num_cols());
    print(&format!("{output}: {key}, {frames} frames of {dims} dimensions\n"))?;
    Ok(ExitCode::SUCCESS)
}

enum Format {
    Png,
    Svg,
}

impl Format {
    fn of(output: &str) -> Result<Self, Trouble> {
        match Path::new(output).extension().and_then(|ending| ending.to_str()) {
            Some("png") => Ok(Self::Png),
            Some("svg") => Ok(Self::Svg),
            _ if output.is_empty() => Err(Trouble::Usage("-o IMAGE is missing".to_owned())),
            _ => Err(Trouble::Usage(format!("'{output}' must end in .png or .svg"))),
        }
    }

    fn draw(&self, map: &HeatMap<'_>, output: &str) -> Result<(), String> {
        match self {
            Self::Png => map
                .draw(&Lettered(BitMapBackend::new(output, SIZE)).into_drawing_area())
                .map_err(|error| error.to_string()),
            Self::Svg => {
                map.draw(&SVGBackend::new(output, SIZE).into_drawing_area()).map_err(|error| error.to_string())
            }
        }
    }
}

/// A file name as what it most likely is; anything else as it stands.
fn rspecifier(feats: &str) -> String {
    match Path::new(feats).extension().and_then(|ending| ending.to_str()) {
        Some(kind @ ("ark" | "scp")) if !is_rspecifier(feats) => format!("{kind}:{feats}"),
        _ => feats.to_owned(),
    }
}

fn is_rspecifier(text: &str) -> bool {
    text.split_once(':').is_some_and(|(options, _)| options.split(',').any(|option| matches!(option, "ark" | "scp")))
}

/// The matrix of `key`: by a look into a script file, or by going through an archive.
fn find(rspecifier: &str, key: &str) -> Result<Matrix<f32>, Trouble> {
    let failed = |error: kaldera::io::Error| Trouble::failed(&error);
    let is_script =
        rspecifier.split(':').next().is_some_and(|options| options.split(',').any(|option| option == "scp"));
    if is_script {
        let mut reader = RandomAccessReader::<Matrix<f32>>::open(rspecifier).map_err(failed)?;
        if reader.has_key(key).map_err(failed)? {
            return Ok(reader.value(key).map_err(failed)?.to_owned());
        }
    }
    let mut others = Vec::new();
    for entry in SequentialReader::<Matrix<f32>>::open(rspecifier).map_err(failed)? {
        let (found, features) = entry.map_err(failed)?;
        if found == key {
            return Ok(features);
        }
        if others.len() < KEYS_SHOWN {
            others.push(found);
        } else if is_script {
            break;
        }
    }
    Err(Trouble::Failed(match others.as_slice() {
        [] => format!("{rspecifier} has no '{key}'; it is empty"),
        some => format!("{rspecifier} has no '{key}'; it has '{}', for example", some.join("', '")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_becomes_an_rspecifier() {
        for (given, expected) in [
            ("f.ark", "ark:f.ark"),
            ("dir/f.scp", "scp:dir/f.scp"),
            ("scp:f.scp", "scp:f.scp"),
            ("ark,bg:f.ark", "ark,bg:f.ark"),
            ("C:x.ark", "ark:C:x.ark"),
            ("ark:-", "ark:-"),
        ] {
            assert_eq!(rspecifier(given), expected);
        }
    }
}
