//! A kernel of one's own, with every instruction set of this processor: numbers are scaled so that
//! their mean square is 1.
//!
//! ```sh
//! cargo run --release -p kaldera-base --example normalise
//! ```

use std::time::Instant;

use kaldera_base::simd::{Kernel, Simd, available, dispatch_at, level};

struct Normalise<'a>(&'a mut [f32]);

impl Kernel for Normalise<'_> {
    /// The root of the mean square that there was.
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f32 {
        let Normalise(x) = self;
        let vectors = x.chunks_exact(S::LANES);
        let rest: f32 = vectors.remainder().iter().map(|x| x * x).sum();
        let squares = s.sum(vectors.map(|x| s.load(x)).fold(s.splat(0.0), |sum, x| s.mul_add(x, x, sum)));
        let rms = ((squares + rest) / x.len() as f32).sqrt();

        let factor = s.splat(1.0 / rms);
        let mut vectors = x.chunks_exact_mut(S::LANES);
        for x in &mut vectors {
            s.store(s.mul(s.load(x), factor), x);
        }
        for x in vectors.into_remainder() {
            *x /= rms;
        }
        rms
    }
}

fn main() {
    println!("dispatch() chooses {}", level());
    for level in available() {
        let mut samples: Vec<f32> = (0..4001).map(|i| 1000.0 * (i as f32 * 0.1).sin()).collect();
        let start = Instant::now();
        let rms = dispatch_at(level, Normalise(&mut samples));
        let took = start.elapsed();
        let after = dispatch_at(level, Normalise(&mut samples));
        let name = level.to_string();
        println!("{name:>16}: root mean square {rms:.3}, after it {after:.6}; {took:.1?}");
    }
}
