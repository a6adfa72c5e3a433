//! Components with parameters, and with more than a matrix.

use std::fmt::Write as _;

use kaldera_base::text::general;

use super::{Info, component_info};
use crate::fields::Value;
use crate::words::kebab;

impl Info<'_> {
    pub(super) fn tdnn(&mut self) -> Result<(), String> {
        self.updatable()?;
        self.reals_unless_zero(&["OrthonormalConstraint"]);
        let offsets = self.component.ints("TimeOffsets").unwrap_or_default();
        let offsets: Vec<String> = offsets.iter().map(i32::to_string).collect();
        self.item("time-offsets", offsets.join(","));
        self.matrix_with_norms("linear-params", "LinearParams");
        match self.component.vector("BiasParams").filter(|bias| !bias.is_empty()) {
            Some(bias) => self.mean_and_deviation("bias", &bias),
            None => self.item("has-bias", false),
        }
        if !self.component.bool("UseNaturalGradient").unwrap_or(true) {
            self.item("use-natural-gradient", false);
            return Ok(());
        }
        self.ranks();
        self.reals(&["NumSamplesHistory"]);
        // The period that all of them have.
        self.item("update-period", 4);
        let both = self.component.double("Alpha").unwrap_or(4.0);
        let (input, output) = match self.component.get("AlphaInOut") {
            Some(&Value::Reals2([input, output])) => (input.into(), output.into()),
            _ => (both, both),
        };
        self.item("alpha-in", general(input, 6));
        self.item("alpha-out", general(output, 6));
        Ok(())
    }

    pub(super) fn lstm(&mut self) -> Result<(), String> {
        self.updatable()?;
        let Some(params) = self.component.matrix("Params") else { return Ok(()) };
        self.item("cell-dim", params.num_cols());
        self.switch("UseDropout");
        for (name, row) in ["w_ic", "w_fc", "w_oc"].into_iter().zip(params.rows()) {
            self.rms(name, row);
        }
        let count = self.component.double("Count").unwrap_or(0.0);
        if count > 0.0 {
            self.item("count", general(count, 3));
        }
        let config = self.component.vector("SelfRepairConfig").unwrap_or_default();
        let repaired = self.component.vector("SelfRepairProb").unwrap_or_default();
        let at = |values: &[f32], i: usize| general(values.get(i).copied().unwrap_or(0.0).into(), 6);
        let names = ["i_t_sigmoid", "f_t_sigmoid", "c_t_tanh", "o_t_sigmoid", "m_t_tanh"];
        for (i, name) in names.into_iter().enumerate() {
            let _ = write!(self.text, ", {name}={{ self-repair-lower-threshold={}", at(&config, i));
            self.item("self-repair-scale", at(&config, i + 5));
            if count != 0.0 {
                self.item("self-repaired-proportion", at(&repaired, i));
                for (name, field) in [("value-avg", "ValueAvg"), ("deriv-avg", "DerivAvg")] {
                    let matrix = self.component.matrix(field).filter(|matrix| i < matrix.num_rows());
                    self.summary(name, matrix.map_or(Vec::new(), |matrix| matrix.row_data(i).to_vec()));
                }
            }
            self.text.push_str(" }");
        }
        Ok(())
    }

    pub(super) fn gru(&mut self) -> Result<(), String> {
        self.updatable()?;
        self.ints(&["CellDim", "RecurrentDim"]);
        self.matrix("w_h", "w_h");
        if self.component.kind() == "OutputGruNonlinearityComponent" {
            let weights = self.component.vector("w_h").unwrap_or_default();
            self.rms("w_h", &weights);
        }
        self.reals(&["SelfRepairThreshold", "SelfRepairScale"]);
        let count = self.component.double("Count").unwrap_or(0.0);
        if count > 0.0 {
            self.item("count", general(count, 3));
            let cells = f64::from(self.component.int("CellDim").unwrap_or(0));
            let repaired = self.component.double("SelfRepairTotal").unwrap_or(0.0);
            self.item("self-repaired-proportion", general(repaired / (count * cells), 6));
            for (name, field) in [("value-avg", "ValueAvg"), ("deriv-avg", "DerivAvg")] {
                self.summary(name, self.component.vector(field).unwrap_or_default());
            }
        }
        self.reals(&["Alpha"]);
        self.ranks();
        self.ints(&["Rank", "UpdatePeriod"]);
        Ok(())
    }

    pub(super) fn time_height(&mut self) -> Result<(), String> {
        self.updatable()?;
        let sizes = ["NumFiltersIn", "NumFiltersOut", "HeightIn", "HeightOut", "HeightSubsampleOut"];
        let size = |field: &&str| format!("{}={}", kebab(field), self.component.int(field).unwrap_or(0));
        let sizes: Vec<String> = sizes.iter().map(size).collect();
        let pairs = match self.component.get("Offsets") {
            Some(Value::Pairs(pairs)) => pairs.iter().map(|(time, height)| format!("{time},{height}")).collect(),
            _ => Vec::new(),
        };
        let required = self.component.ints("RequiredTimeOffsets").unwrap_or_default();
        let required: Vec<String> = required.iter().map(i32::to_string).collect();
        let _ = write!(self.text, " {}", sizes.join(", "));
        self.item("{time,height}-offsets", format!("[{}]", pairs.join(" ")));
        self.item("required-time-offsets", format!("[{}]", required.join(",")));
        self.dims()?;
        self.matrix("filter-params", "LinearParams");
        self.vector("bias-params", "BiasParams");
        self.item("num-params", self.component.num_parameters());
        self.reals(&["MaxMemoryMb"]);
        let natural = self.component.bool("UseNaturalGradient").unwrap_or(true);
        self.item("use-natural-gradient", i32::from(natural));
        if natural {
            self.reals(&["NumMinibatchesHistory"]);
            self.ranks();
            if let Some(&Value::Reals2([alpha, _])) = self.component.get("AlphaInOut") {
                self.item("alpha", general(alpha.into(), 6));
            }
        }
        Ok(())
    }

    pub(super) fn composite(&mut self) -> Result<(), String> {
        self.text.push(' ');
        let Some(Value::Components(parts)) = self.component.get("NumComponents") else { return Ok(()) };
        for (i, part) in parts.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let _ = write!(self.text, "{comma}sub-component{} = {{ {} }}", i + 1, component_info(part)?);
        }
        Ok(())
    }
}
