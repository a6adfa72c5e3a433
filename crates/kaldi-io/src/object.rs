//! Single objects, outside tables.

use crate::error::Error;
use crate::holders::Holder;
use crate::rxfilename::Input;
use crate::wxfilename::Output;

/// Reads the object at an rxfilename, such as `global.mat`, `feats.ark:17` or `feats.ark:17[0:9]`.
///
/// # Errors
/// The errors of opening the file; [`Error::File`] for its contents.
#[doc(alias = "ReadKaldiObject")]
pub fn read_object<T: Holder>(rxfilename: &str) -> Result<T, Error> {
    let (name, range) = match rxfilename.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        Some((name, range)) => (name, Some(range)),
        None => (rxfilename, None),
    };
    let mut input = Input::open(name)?;
    let _span = tracing::error_span!("reading", file = name).entered();
    let object = T::read(&mut input).and_then(|object| match range {
        Some(range) => object.extract_range(range),
        None => Ok(object),
    });
    object.map_err(|error| error.in_file(name))
}

/// Writes one object to a wxfilename, with Kaldi's header and nothing else.
///
/// # Errors
/// The errors of creating or writing the file; [`Error::File`] for an object that has no such form.
#[doc(alias = "WriteKaldiObject")]
pub fn write_object<T: Holder>(wxfilename: &str, object: &T, binary: bool) -> Result<(), Error> {
    let mut output = Output::create(wxfilename)?;
    object.write(&mut output, binary).map_err(|error| match error {
        Error::Stream { source } => output.write_error(source),
        other => other.in_file(output.name()),
    })?;
    output.close()
}
