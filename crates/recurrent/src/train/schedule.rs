//! Learning rate schedules.

use crate::error::Error;

/// A learning rate that rises linearly and then falls linearly.
///
/// ```text
///   peak   |     .'''--..
///          |   .'        ''--..
///   last   |_.'________________''--........
///          0   warm_up          total       step
/// ```
///
/// ```
/// use recurrent::train::WarmUpDecay;
///
/// let schedule = WarmUpDecay { peak: 1.0, last: 0.0, warm_up: 2, total: 6 };
/// let rates: Vec<f64> = (0..8).map(|step| schedule.rate(step)).collect();
/// assert_eq!(rates, [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[doc(alias = "get_linear_schedule_with_warmup")]
pub struct WarmUpDecay {
    /// Highest rate.
    pub peak: f64,
    /// Rate from step `total` on.
    pub last: f64,
    /// Number of steps in which the rate rises.
    pub warm_up: u64,
    /// Number of steps, including the warm-up, after which the rate is constant.
    pub total: u64,
}

impl WarmUpDecay {
    /// Checks that rates are finite and not negative, and that the warm-up is not longer than
    /// `total`.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn check(&self) -> Result<(), Error> {
        for (what, found) in [("peak", self.peak), ("last", self.last)] {
            if !(0.0..f64::INFINITY).contains(&found) {
                return Err(Error::Range { what, low: 0.0, high: f64::INFINITY, found });
            }
        }
        if self.warm_up > self.total {
            let (high, found) = (self.total as f64 + 1.0, self.warm_up as f64);
            return Err(Error::Range { what: "warm_up", low: 0.0, high, found });
        }
        Ok(())
    }

    /// Returns the rate of step `step`; the first step is 0.
    pub fn rate(&self, step: u64) -> f64 {
        if step < self.warm_up {
            return self.peak * (step + 1) as f64 / self.warm_up as f64;
        }
        let left = self.total.saturating_sub(step) as f64 / (self.total - self.warm_up.min(self.total)).max(1) as f64;
        self.last + (self.peak - self.last) * left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_rises_to_the_peak_and_falls_to_the_last() {
        let schedule = WarmUpDecay { peak: 3e-3, last: 1e-5, warm_up: 100, total: 1000 };
        schedule.check().unwrap();
        let rates: Vec<f64> = (0..1200).map(|step| schedule.rate(step)).collect();
        assert!(rates[..100].is_sorted() && rates[100..].iter().rev().is_sorted());
        assert_eq!((rates[99], rates[100], rates[1000], rates[1199]), (3e-3, 3e-3, 1e-5, 1e-5));
        assert!(rates[0] > 0.0, "the first step moves");
    }

    #[test]
    fn no_warm_up_and_no_steps_are_fine() {
        let schedule = WarmUpDecay { peak: 1.0, last: 0.5, warm_up: 0, total: 0 };
        schedule.check().unwrap();
        assert_eq!(schedule.rate(0), 0.5);
        assert_eq!(WarmUpDecay { total: 2, ..schedule }.rate(1), 0.75);
        assert_eq!(WarmUpDecay { warm_up: 2, total: 2, ..schedule }.rate(2), 0.5);
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        let schedule = WarmUpDecay { peak: 1.0, last: 0.5, warm_up: 0, total: 9 };
        for bad in [
            WarmUpDecay { peak: f64::NAN, ..schedule },
            WarmUpDecay { last: -1.0, ..schedule },
            WarmUpDecay { warm_up: 10, ..schedule },
        ] {
            assert!(matches!(bad.check(), Err(Error::Range { .. })), "{bad:?}");
        }
    }
}
