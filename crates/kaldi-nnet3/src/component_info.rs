//! Components in words, as Kaldi prints them.

mod fixed;
mod trained;

use std::fmt::Write as _;

use kaldera_base::text::general;

use crate::fields::{Component, Value};
use crate::layer::Layer;
use crate::words::{kebab, means, summary};

/// Returns the type of a component, its dimensions, options and statistics of its parameters.
///
/// # Errors
/// The problem, if its values do not fit together.
pub(crate) fn component_info(component: &Component) -> Result<String, String> {
    let mut info = Info { component, text: component.kind().to_owned() };
    info.describe()?;
    Ok(info.text)
}

struct Info<'a> {
    component: &'a Component,
    text: String,
}

impl Info<'_> {
    fn item(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = write!(self.text, ", {name}={value}");
    }

    /// Integers, under their names in files, as in `InputDim` and `input-dim`.
    fn ints(&mut self, fields: &[&str]) {
        for field in fields {
            if let Some(value) = self.component.int(field) {
                self.item(&kebab(field), value);
            }
        }
    }

    fn reals(&mut self, fields: &[&str]) {
        for field in fields {
            if let Some(value) = self.component.double(field) {
                self.item(&kebab(field), general(value, 6));
            }
        }
    }

    /// Numbers that are left out if they are 0.
    fn reals_unless_zero(&mut self, fields: &[&str]) {
        for field in fields {
            if self.component.double(field).is_some_and(|value| value != 0.0) {
                self.reals(&[field]);
            }
        }
    }

    fn switch(&mut self, field: &str) {
        let value = self.component.bool(field).unwrap_or(false);
        self.item(&kebab(field), value);
    }

    fn dims(&mut self) -> Result<(), String> {
        let layer = Layer::of(self.component)?;
        self.item("input-dim", layer.inputs);
        self.item("output-dim", layer.outputs);
        Ok(())
    }

    /// The values that all trainable components have.
    fn updatable(&mut self) -> Result<(), String> {
        self.dims()?;
        let rate = self.component.double("LearningRate").unwrap_or(0.001);
        self.item("learning-rate", general(rate, 6));
        if self.component.bool("IsGradient").unwrap_or(false) {
            self.item("is-gradient", true);
        }
        self.reals_unless_zero(&["L2Regularize"]);
        if self.component.real("LearningRateFactor").is_some_and(|factor| factor != 1.0) {
            self.reals(&["LearningRateFactor"]);
        }
        self.reals_unless_zero(&["MaxChange"]);
        Ok(())
    }

    fn rms(&mut self, name: &str, values: &[f32]) {
        let (_, square) = means(values);
        self.item(&format!("{name}-rms"), general(square.sqrt(), 4));
    }

    fn mean_and_deviation(&mut self, name: &str, values: &[f32]) {
        let (mean, square) = means(values);
        let deviation = (square - mean * mean).max(0.0).sqrt();
        let _ = write!(self.text, ", {name}-{{mean,stddev}}={},{}", general(mean, 4), general(deviation, 4));
    }

    /// A matrix with the norms of its rows and columns.
    fn matrix_with_norms(&mut self, name: &str, field: &str) {
        let Some(matrix) = self.component.matrix(field) else { return };
        self.rms(name, matrix.data());
        let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let rows: Vec<f64> = matrix.rows().map(|row| norm(&mut row.iter().copied())).collect();
        let column = |c: usize| norm(&mut matrix.rows().map(|row| row[c]));
        let columns: Vec<f64> = (0..matrix.num_cols()).map(column).collect();
        self.item(&format!("{name}-row-norms"), summary(rows));
        self.item(&format!("{name}-col-norms"), summary(columns));
    }

    fn matrix(&mut self, name: &str, field: &str) {
        if let Some(matrix) = self.component.matrix(field) {
            self.rms(name, matrix.data());
        }
    }

    fn vector(&mut self, name: &str, field: &str) {
        if let Some(values) = self.component.vector(field) {
            self.mean_and_deviation(name, &values);
        }
    }

    fn summary(&mut self, name: &str, values: impl IntoIterator<Item = f32>) {
        self.item(name, summary(values.into_iter().map(f64::from).collect()));
    }

    /// The ranks of both sides.
    fn ranks(&mut self) {
        if let Some(&Value::Ints2([input, output])) = self.component.get("RankInOut") {
            self.item("rank-in", input);
            self.item("rank-out", output);
        }
    }

    fn describe(&mut self) -> Result<(), String> {
        match self.component.kind() {
            "SigmoidComponent"
            | "TanhComponent"
            | "RectifiedLinearComponent"
            | "SoftmaxComponent"
            | "LogSoftmaxComponent" => self.nonlinear(),
            "AffineComponent" | "NaturalGradientAffineComponent" => {
                self.updatable()?;
                self.reals_unless_zero(&["OrthonormalConstraint"]);
                self.matrix_with_norms("linear-params", "LinearParams");
                self.vector("bias", "BiasParams");
                self.ints(&["RankIn", "RankOut"]);
                self.reals(&["NumSamplesHistory"]);
                self.ints(&["UpdatePeriod"]);
                self.reals(&["Alpha"]);
            }
            "LinearComponent" => {
                self.updatable()?;
                self.matrix_with_norms("params", "Params");
                self.reals_unless_zero(&["OrthonormalConstraint"]);
                self.switch("UseNaturalGradient");
                self.ranks();
                self.reals(&["NumSamplesHistory"]);
                self.ints(&["UpdatePeriod"]);
                self.reals(&["Alpha"]);
            }
            "TdnnComponent" => self.tdnn()?,
            "RepeatedAffineComponent" | "NaturalGradientRepeatedAffineComponent" | "BlockAffineComponent" => {
                self.updatable()?;
                self.ints(&["NumRepeats", "NumBlocks"]);
                self.matrix("linear-params", "LinearParams");
                self.vector("bias", "BiasParams");
            }
            "FixedAffineComponent" => {
                self.dims()?;
                self.matrix("linear-params", "LinearParams");
                self.vector("bias", "BiasParams");
            }
            "FixedScaleComponent" => {
                self.dims()?;
                self.vector("scales", "Scales");
            }
            "FixedBiasComponent" => {
                self.dims()?;
                self.vector("bias", "Bias");
            }
            "PerElementScaleComponent" | "NaturalGradientPerElementScaleComponent" => {
                self.updatable()?;
                self.extremes("scales", "Params");
                self.vector("scales", "Params");
                self.ints(&["Rank", "UpdatePeriod"]);
                self.reals(&["NumSamplesHistory", "Alpha"]);
            }
            "PerElementOffsetComponent" => {
                self.updatable()?;
                self.extremes("offsets", "Offsets");
                let block = self.component.vector("Offsets").map_or(0, |offsets| offsets.len());
                self.item("block-dim", block);
                let natural = self.component.bool("UseNaturalGradient").unwrap_or(true);
                self.item("use-natural-gradient", natural);
                self.vector("offsets", "Offsets");
            }
            "ScaleAndOffsetComponent" => {
                self.updatable()?;
                self.ints(&["Rank"]);
                let block = self.component.vector("Scales").map_or(0, |scales| scales.len());
                if self.component.int("Dim").and_then(|dim| usize::try_from(dim).ok()) != Some(block) {
                    self.item("block-size", block);
                }
                self.vector("scales", "Scales");
                self.vector("offsets", "Offsets");
            }
            "ConstantFunctionComponent" | "ConstantComponent" => {
                self.updatable()?;
                let _ = write!(self.text, ", {}", self.component.kind());
                let layer = Layer::of(self.component)?;
                if self.component.kind() == "ConstantFunctionComponent" {
                    self.item("input-dim", layer.inputs);
                }
                self.item("output-dim", layer.outputs);
                self.switch("IsUpdatable");
                self.switch("UseNaturalGradient");
                self.vector("output", "Output");
            }
            "LstmNonlinearityComponent" => self.lstm()?,
            "GruNonlinearityComponent" | "OutputGruNonlinearityComponent" => self.gru()?,
            "ConvolutionComponent" => {
                self.updatable()?;
                self.ints(&["InputXDim", "InputYDim", "InputZDim", "FiltXDim", "FiltYDim", "FiltXStep", "FiltYStep"]);
                self.ints(&["InputVectorization"]);
                let filters = self.component.matrix("FilterParams").map_or(0, |filters| filters.num_rows());
                self.item("num-filters", filters);
                self.matrix("filter-params", "FilterParams");
                self.vector("bias-params", "BiasParams");
            }
            "TimeHeightConvolutionComponent" => self.time_height()?,
            "BatchNormComponent" => self.batch_norm(),
            "CompositeComponent" => self.composite()?,
            "RestrictedAttentionComponent" => self.attention()?,
            "PermuteComponent" => self.permute(),
            _ => self.simple()?,
        }
        Ok(())
    }

    fn extremes(&mut self, name: &str, field: &str) {
        let values = self.component.vector(field).unwrap_or_default();
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        self.item(&format!("{name}-min"), general(least.into(), 6));
        self.item(&format!("{name}-max"), general(most.into(), 6));
    }
}
