//! The state of [`Adam`] in a store, so that training can resume.

use kaldera_base::Real;

use crate::error::Error;
use crate::parameters::Parameters;
use crate::train::optimizer::Adam;
use crate::weights::ParameterStore;

/// Bound of each of the two numbers that store the number of steps; single precision holds them
/// exactly.
const HALF: u32 = 1 << 16;

impl<T: Real> Adam<T> {
    /// Adds the state that the next steps depend on, in addition to the options, to a store:
    /// `{prefix}steps`, and, once there was a step, `{prefix}mean.NAME` and `{prefix}square.NAME`
    /// for each parameter.
    ///
    /// ```
    /// use recurrent::train::{Adam, AdamOptions, Linear, ParameterStore};
    ///
    /// let (mut layer, gradient) = (Linear::<f32>::zeros(1, 1), Linear::zeros(1, 1));
    /// let mut adam = Adam::new(AdamOptions::default())?;
    /// adam.step(&mut layer, &gradient)?;
    /// let mut checkpoint = ParameterStore::from_parameters(&layer);
    /// adam.save_moments("adam.", &layer, &mut checkpoint)?;
    ///
    /// let mut again = Adam::new(AdamOptions::default())?;
    /// again.load_moments("adam.", &layer, &checkpoint)?;
    /// assert_eq!(again, adam);
    /// # Ok::<(), recurrent::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::MissingTensor`], [`Error::TensorShape`] for other parameters than in the steps.
    pub fn save_moments(
        &self,
        prefix: &str,
        parameters: &(impl Parameters<T> + ?Sized),
        store: &mut ParameterStore<T>,
    ) -> Result<(), Error> {
        let halves = [self.steps / HALF, self.steps % HALF].map(|half| T::from_f64(half.into()));
        store.insert(&format!("{prefix}steps"), &[2], halves.to_vec())?;
        for (kind, moments) in ["mean", "square"].into_iter().zip(self.moments.iter().flatten()) {
            for (i, tensor) in parameters.named().into_iter().enumerate() {
                let missing = || Error::MissingTensor { tensor: tensor.name.clone() };
                let values = moments.get(i).ok_or_else(missing)?.clone();
                store.insert(&format!("{prefix}{kind}.{}", tensor.name), &tensor.shape, values)?;
            }
        }
        Ok(())
    }

    /// Loads the state that [`save_moments`](Self::save_moments) added. The next step is then, to
    /// the bit, the step that the saved optimizer would have made with the same options.
    ///
    /// # Errors
    /// As [`ParameterStore::get_shaped`]; [`Error::Range`] for an invalid number of steps, and for
    /// a mean of squares below 0. After an error nothing has changed.
    pub fn load_moments(
        &mut self,
        prefix: &str,
        parameters: &(impl Parameters<T> + ?Sized),
        store: &ParameterStore<T>,
    ) -> Result<(), Error> {
        let mut steps = 0;
        for half in store.get_shaped(&format!("{prefix}steps"), &[2])? {
            steps = steps * HALF + whole(half.to_f64())?;
        }
        let tensors = parameters.named();
        let moments = |kind: &str| -> Result<Vec<Vec<T>>, Error> {
            let get = |tensor: &crate::Named<&[T]>| {
                store.get_shaped(&format!("{prefix}{kind}.{}", tensor.name), &tensor.shape).map(<[T]>::to_vec)
            };
            tensors.iter().map(get).collect()
        };
        let moments = if steps == 0 { None } else { Some([moments("mean")?, moments("square")?]) };
        if let Some(&negative) = moments.iter().flat_map(|[_, squares]| squares).flatten().find(|&&x| x < T::ZERO) {
            let found = negative.to_f64();
            return Err(Error::Range { what: "Adam's mean of squares", low: 0.0, high: f64::INFINITY, found });
        }
        (self.steps, self.moments) = (steps, moments);
        Ok(())
    }
}

/// Returns a half of the number of steps.
fn whole(found: f64) -> Result<u32, Error> {
    let half = found as u32; // saturates; what is lost shows in the comparison
    match half < HALF && f64::from(half) == found {
        true => Ok(half),
        false => Err(Error::Range { what: "half of Adam's steps", low: 0.0, high: HALF.into(), found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::init::uniform;
    use crate::train::linear::Linear;
    use crate::train::optimizer::AdamOptions;

    fn layer(seed: u64) -> Linear<f32> {
        let mut layer = Linear::zeros(3, 2);
        uniform(&mut layer, 1.0, seed);
        layer
    }

    #[test]
    fn resumed_steps_equal_uninterrupted_ones() {
        for before in [0, 1, 5] {
            let (mut layer_a, mut adam_a) = (layer(1), Adam::new(AdamOptions::default()).unwrap());
            (0..before).for_each(|i| adam_a.step(&mut layer_a, &layer(10 + i)).unwrap());
            let mut store = ParameterStore::from_parameters(&layer_a);
            adam_a.save_moments("adam.", &layer_a, &mut store).unwrap();
            let store = ParameterStore::from_bytes(&store.to_bytes().unwrap()).unwrap();

            let (mut layer_b, mut adam_b) = (layer(2), Adam::new(AdamOptions::default()).unwrap());
            store.copy_to("", &mut layer_b).unwrap();
            adam_b.load_moments("adam.", &layer_b, &store).unwrap();
            for i in 0..5 {
                adam_a.step(&mut layer_a, &layer(20 + i)).unwrap();
                adam_b.step(&mut layer_b, &layer(20 + i)).unwrap();
            }
            assert_eq!((layer_a, adam_a), (layer_b, adam_b), "{before} steps");
        }
    }

    #[test]
    fn many_steps_are_kept_exactly() {
        for steps in [0, 1, HALF - 1, HALF, (1 << 24) + 1, u32::MAX] {
            let mut adam = Adam::<f32>::new(AdamOptions::default()).unwrap();
            adam.steps = steps;
            let (none, mut store) = (ParameterStore::new(), ParameterStore::new());
            adam.save_moments("", &none, &mut store).unwrap();
            let mut again = Adam::new(AdamOptions::default()).unwrap();
            again.load_moments("", &none, &store).unwrap();
            assert_eq!(again.steps, steps);
        }
    }

    #[test]
    fn what_is_no_state_is_refused_and_changes_nothing() {
        let (mut layer, gradient) = (layer(1), layer(2));
        let mut adam = Adam::new(AdamOptions::default()).unwrap();
        adam.step(&mut layer, &gradient).unwrap();
        let mut store = ParameterStore::new();
        adam.save_moments("", &layer, &mut store).unwrap();
        let refused = |name: &str, shape: &[usize], values: Vec<f32>| {
            let (mut bad, mut again) = (store.clone(), adam.clone());
            bad.insert(name, shape, values).unwrap();
            let error = again.load_moments("", &layer, &bad).unwrap_err();
            assert_eq!(again, adam);
            error
        };
        for half in [-1.0, 0.5, 65_536.0, 1e30] {
            assert!(matches!(refused("steps", &[2], vec![0.0, half]), Error::Range { .. }), "{half}");
        }
        assert!(matches!(refused("steps", &[1], vec![1.0]), Error::TensorShape { .. }));
        assert!(matches!(refused("square.bias", &[2], vec![0.0, -1.0]), Error::Range { .. }));
        assert!(matches!(refused("mean.weight", &[6], vec![0.0; 6]), Error::TensorShape { .. }));
        assert!(matches!(refused("mean.bias", &[2], vec![0.0, f32::NAN]), Error::TensorNotFinite { .. }));
        let missing = adam.load_moments("other.", &layer, &store);
        assert!(matches!(missing, Err(Error::NotInStore { .. })));
        assert!(adam.save_moments("", &vec![layer.clone(), layer.clone()], &mut ParameterStore::new()).is_err());
    }
}
