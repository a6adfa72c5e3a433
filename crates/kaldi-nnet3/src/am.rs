//! Acoustic models: a network, and priors of its outputs.

use std::io::{self, BufRead, Write};

use kaldi_matrix::Vector;
use kaldi_matrix::codec::{self, FieldReader, FieldWriter};

use crate::error::Error;
use crate::nnet::Nnet;
use crate::reader::Reader;

/// The part of a `final.mdl` after the transition model: a network, and priors.
///
/// `kaldi_io::transition_model::TransitionModel::read` reads the part before it and stops where
/// this one begins.
///
/// ```text
/// TransitionModel::read(&mut file)?;
/// let model = AcousticModel::read(&mut file)?;
/// ```
#[doc(alias = "AmNnetSimple")]
#[derive(Clone, Debug, PartialEq)]
pub struct AcousticModel {
    nnet: Nnet,
    left_context: i32,
    right_context: i32,
    priors: Vector<f32>,
}

impl AcousticModel {
    /// Creates a model. The contexts are numbers of frames, which Kaldi writes and does not use.
    pub fn new(nnet: Nnet, left_context: i32, right_context: i32, priors: Vector<f32>) -> Self {
        Self { nnet, left_context, right_context, priors }
    }

    /// Returns the network.
    #[doc(alias = "GetNnet")]
    pub fn nnet(&self) -> &Nnet {
        &self.nnet
    }

    /// Returns the network, and drops the rest.
    pub fn into_nnet(self) -> Nnet {
        self.nnet
    }

    /// Returns the priors of the columns of the output; none for a chain model.
    #[doc(alias = "Priors")]
    pub fn priors(&self) -> &[f32] {
        self.priors.data()
    }

    /// Reads a model in binary or text. A header may come first, and the transition model must not.
    ///
    /// # Errors
    /// As [`Nnet::read`].
    pub fn read(input: &mut dyn BufRead) -> Result<Self, Error> {
        let binary = codec::read_header(input)?;
        let mut reader = Reader { fields: FieldReader::new(input, binary) };
        let nnet = Nnet::read_body(&mut reader)?;
        reader.fields.expect("<LeftContext>")?;
        let left_context = reader.fields.int("a number of frames")?;
        reader.fields.expect("<RightContext>")?;
        let right_context = reader.fields.int("a number of frames")?;
        reader.fields.expect("<Priors>")?;
        let priors = reader.fields.object()?;
        Ok(Self { nnet, left_context, right_context, priors })
    }

    /// Writes the model without a header, as it follows a transition model.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, out: &mut dyn Write, binary: bool) -> io::Result<()> {
        let mut fields = FieldWriter::new(out, binary);
        self.nnet.write_body(&mut fields)?;
        fields.token("<LeftContext>")?;
        fields.int(self.left_context)?;
        fields.token("<RightContext>")?;
        fields.int(self.right_context)?;
        fields.token("<Priors>")?;
        fields.object(&self.priors)
    }
}
