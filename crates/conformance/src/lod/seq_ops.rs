//! Paddle's sequence operators, forward and backward.

use kaldera::lod::sequence::{self, Context, Patches, Pool};
use kaldera::lod::{Error, Lod, LodTensor};
use serde_json::Value;

use super::plain::{Float, Number, Results, lod_of, optional, tensor};
use crate::{Stop, field, list, number_of, numbers_of};

/// Calls the operator of a case and compares all that the case has answers for.
pub(crate) fn check(case: &Value) -> Result<Vec<String>, Stop> {
    let (inputs, op) = (&case["inputs"], case["op"].as_str().unwrap_or_default());
    let call = Call { case, op, inputs, attrs: &case["attrs"] };
    let x = &inputs["X"];
    let results = match x["dtype"].as_str().or_else(|| x[0]["dtype"].as_str()) {
        Some("f32") => call.run::<f32>(),
        Some("f64") => call.run::<f64>(),
        Some("i32") => call.run_ids::<i32>(),
        Some("i64") => call.run_ids::<i64>(),
        _ => Err(Stop::NotRun),
    }?;
    results.differences(case)
}

struct Call<'a> {
    case: &'a Value,
    op: &'a str,
    inputs: &'a Value,
    attrs: &'a Value,
}

impl Call<'_> {
    /// An attribute whose negative numbers stand for its default.
    fn size(&self, name: &str) -> Result<Option<usize>, Stop> {
        Ok(usize::try_from(field::<i64>(self.attrs, name)?).ok())
    }

    /// A list of numbers that is an input.
    fn data<T: Number>(&self, name: &str) -> Result<Vec<T>, Stop> {
        numbers_of(&self.inputs[name], "data")
    }

    /// The gradient of an output that the case feeds in, if it does.
    fn out_grad<T: Number>(&self, name: &str) -> Result<Option<LodTensor<T>>, Stop> {
        optional(&self.case["out_grads"][name])
    }

    /// The LoD of an input.
    fn lod(&self, name: &str) -> Result<Lod, Stop> {
        lod_of(&self.inputs[name])
    }

    /// The results of an operator with one output, and the gradient of X.
    fn unary<T: Number, S>(
        &self,
        output: &'static str,
        (y, saved): (LodTensor<T>, S),
        backward: impl FnOnce(&S, &LodTensor<T>) -> Result<LodTensor<T>, Error>,
    ) -> Result<Results, Stop> {
        let results = Results::default().output(output, &y);
        Ok(match self.out_grad(output)? {
            Some(grad) => results.gradient("X", &backward(&saved, &grad)?),
            None => results,
        })
    }

    fn run<T: Float + kaldera::ragged::Float>(&self) -> Result<Results, Stop> {
        if self.op == "sequence_concat" {
            return self.concat::<T>();
        }
        let x: LodTensor<T> = tensor(&self.inputs["X"])?;
        match self.op {
            "sequence_pool" | "sequence_first_step" | "sequence_last_step" => {
                let how = match self.attrs["pooltype"].as_str() {
                    Some("AVERAGE") => Pool::Average,
                    Some("SUM") => Pool::Sum,
                    Some("SQRT") => Pool::Sqrt,
                    Some("MAX") => Pool::Max,
                    Some("FIRST") => Pool::First,
                    Some("LAST") => Pool::Last,
                    _ if self.op == "sequence_first_step" => Pool::First,
                    _ if self.op == "sequence_last_step" => Pool::Last,
                    _ => return Err(Stop::NotRun),
                };
                let pad_value = T::from_f64(self.attrs["pad_value"].as_f64().unwrap_or(0.0));
                let (y, saved) = sequence::pool(&x, how, pad_value)?;
                let max_index = y.like(y.num_rows(), saved.max_index().to_vec(), Lod::none());
                let results = self.unary("Out", (y, saved), |s, g| s.backward(g))?;
                Ok(if how == Pool::Max { results.output("MaxIndex", &max_index?) } else { results })
            }
            "sequence_softmax" => self.unary("Out", sequence::softmax(&x)?, |s, g| s.backward(g)),
            "sequence_expand" => {
                self.unary("Out", sequence::expand(&x, &self.lod("Y")?, self.size("ref_level")?)?, |s, g| s.backward(g))
            }
            "sequence_expand_as" => self.unary("Out", sequence::expand_as(&x, &self.lod("Y")?)?, |s, g| s.backward(g)),
            "sequence_slice" => self.unary(
                "Out",
                sequence::slice(&x, &self.data::<i64>("Offset")?, &self.data::<i64>("Length")?)?,
                |s, g| s.backward(g),
            ),
            "sequence_reverse" => self.unary("Y", sequence::reverse(&x)?, |s, g| s.backward(g)),
            "sequence_pad" => {
                let (y, saved) = sequence::pad(&x, &self.data::<T>("PadValue")?, self.size("padded_length")?)?;
                let lengths: Vec<i64> = saved.lengths().map(|n| n as i64).collect();
                let lengths = LodTensor::from_vec([lengths.len()], lengths, Lod::none())?;
                let results = self.unary("Out", (y, saved), |s, g| s.backward(g))?;
                Ok(results.output("Length", &lengths))
            }
            "sequence_unpad" => {
                self.unary("Out", sequence::unpad(&x, &self.data::<i64>("Length")?)?, |s, g| s.backward(g))
            }
            "sequence_conv" => self.conv(&x),
            "row_conv" => {
                let (y, saved) = sequence::row_conv(&x, &tensor(&self.inputs["Filter"])?)?;
                let results = Results::default().output("Out", &y);
                let Some(out_grad) = self.out_grad("Out")? else { return Ok(results) };
                let (x, filter) = saved.backward(&out_grad)?;
                Ok(results.gradient("X", &x).gradient("Filter", &filter))
            }
            "sequence_reshape" => {
                let width = self.size("new_dim")?.ok_or_else(|| Stop::Refused("a negative width".into()))?;
                self.unary("Out", sequence::reshape(&x, width)?, |s, g| s.backward(g))
            }
            "sequence_scatter" => {
                let (y, saved) =
                    sequence::scatter(&x, &tensor(&self.inputs["Ids"])?, &tensor(&self.inputs["Updates"])?)?;
                let results = Results::default().output("Out", &y);
                let Some(out_grad) = self.out_grad::<T>("Out")? else { return Ok(results) };
                let (x, updates) = saved.backward(&out_grad)?;
                Ok(results.gradient("X", &x).gradient("Updates", &updates))
            }
            "sequence_topk_avg_pooling" => {
                let (row, column) = (self.lod("ROW")?, self.lod("COLUMN")?);
                let topks: Vec<usize> = field(self.attrs, "topks")?;
                let channels = self.size("channel_num")?.unwrap_or(0);
                let (y, saved) = sequence::topk_avg_pool(&x, &row, &column, &topks, channels)?;
                let pos = saved.positions().to_vec();
                let pos = LodTensor::from_vec([pos.len()], pos, Lod::none())?;
                Ok(self.unary("Out", (y, saved), |s, g| s.backward(g))?.output("pos", &pos))
            }
            "im2sequence" => {
                let [kernel, stride] = [field(self.attrs, "kernels")?, field(self.attrs, "strides")?];
                let patches = Patches { kernel, stride, padding: field(self.attrs, "paddings")? };
                self.unary("Out", sequence::im2sequence(&x, patches)?, |s, g| s.backward(g))
            }
            "lod_reset" => {
                let y = &self.inputs["Y"];
                let target = match (y.is_null(), lod_of(y)?) {
                    (false, lod) if !lod.is_none() => lod,
                    (false, _) => Lod::from_offsets(&[self.data::<i64>("Y")?])?,
                    (true, _) => Lod::from_offsets(&[field::<Vec<i64>>(self.attrs, "target_lod")?])?,
                };
                let came = sequence::reset(&x, &target, self.attrs["append"] == true)?;
                self.unary("Out", came, |s, g| s.backward(g))
            }
            "split_lod_tensor" => {
                let mask: Vec<bool> = self.data("Mask")?;
                let ((yes, _), (no, _)) = sequence::split_by_mask(&x, &mask, self.size("level")?.unwrap_or(0))?;
                Ok(Results::default().output("OutTrue", &yes).output("OutFalse", &no))
            }
            _ => Err(Stop::NotRun),
        }
    }

    fn concat<T: Float>(&self) -> Result<Results, Stop> {
        let sources: Vec<LodTensor<T>> = list(self.inputs, "X")?.iter().map(tensor).collect::<Result<_, _>>()?;
        let (y, saved) = sequence::concat(&sources.iter().collect::<Vec<_>>())?;
        let results = Results::default().output("Out", &y);
        Ok(match self.out_grad::<T>("Out")? {
            Some(out_grad) => results.gradients("X", &saved.backward(&out_grad)?),
            None => results,
        })
    }

    fn conv<T: Float>(&self, x: &LodTensor<T>) -> Result<Results, Stop> {
        if self.attrs["contextStride"].as_i64().is_some_and(|stride| stride != 1) {
            return Err(Stop::Refused("only steps of 1".into()));
        }
        let length = u32::try_from(field::<i32>(self.attrs, "contextLength")?);
        let length = length.map_err(|_| Stop::Refused("a negative length".into()))?;
        let context = Context { start: field(self.attrs, "contextStart")?, length };
        let trainable = self.attrs["paddingTrainable"] == true;
        let padding = if trainable { Some(tensor(&self.inputs["PaddingData"])?) } else { None };
        let (y, saved) = sequence::conv(x, &tensor(&self.inputs["Filter"])?, context, padding.as_ref())?;
        let results = Results::default().output("Out", &y);
        let Some(out_grad) = self.out_grad("Out")? else { return Ok(results) };
        let grads = saved.backward(&out_grad)?;
        let results = results.gradient("X", &grads.x).gradient("Filter", &grads.filter);
        Ok(if let Some(padding) = &grads.padding { results.gradient("PaddingData", padding) } else { results })
    }

    fn run_ids<T: Number + kaldera::ragged::Number>(&self) -> Result<Results, Stop> {
        let (results, x) = (Results::default(), &self.inputs["X"]);
        match self.op {
            "sequence_enumerate" => {
                let window = self.size("win_size")?.ok_or_else(|| Stop::Refused("a negative window".into()))?;
                let pad_value = number_of::<T>(self.attrs, "pad_value")?;
                Ok(results.output("Out", &sequence::enumerate(&tensor::<T>(x)?, window, pad_value)?))
            }
            "sequence_erase" => {
                let tokens = numbers_of::<T>(self.attrs, "tokens")?;
                Ok(results.output("Out", &sequence::erase(&tensor::<T>(x)?, &tokens)?))
            }
            "sequence_mask" => {
                let mask = sequence::mask(&tensor(x)?, self.size("maxlen")?)?;
                let numbers: Vec<i64> = mask.values().iter().map(|&flag| flag.into()).collect();
                Ok(results.output("Y", &LodTensor::from_vec(mask.shape(), numbers, Lod::none())?))
            }
            "sequence_reverse" => Ok(results.output("Y", &sequence::reverse(&tensor::<T>(x)?)?.0)),
            _ => Err(Stop::NotRun),
        }
    }
}
