//! Scores and paths as methods of [`Graph`].

use kaldera_base::Real;

use crate::core::fsa::Fsas;
use crate::core::graph::Graph;
use crate::core::semiring::Semiring;
use crate::error::Error;
use crate::paths::best_path::{fsas_of_paths, shortest_path};
use crate::paths::distance::{reverse_shortest_distance, shortest_distance};
use crate::paths::n_best_paths::n_best_paths;
use crate::paths::nbest::Nbest;
use crate::paths::posteriors::{arc_posteriors, prune_on_arc_post};
use crate::paths::random::{random_paths, sample_paths};
use crate::paths::scores::{backward_scores, forward_scores, total_scores};
use crate::paths::stochastic::set_scores_stochastic;

impl<F: Fsas> Graph<F> {
    /// Returns the best path of each FSA, as an FSA of its own with the attributes; without states
    /// if there is no path.
    ///
    /// Cycles are allowed. If there are several best paths, returns the one of
    /// [`shortest_path`](crate::paths::shortest_path()) if all FSAs are top-sorted, otherwise the
    /// first of [`n_best_paths`](crate::paths::n_best_paths()).
    ///
    /// ```
    /// use fsa::FsaBuilder;
    ///
    /// let mut builder = FsaBuilder::new();
    /// let [start, end] = [builder.add_state(), builder.add_state()];
    /// builder.add_transducer_arc(start, end, 7, 70, -1.0);
    /// builder.add_transducer_arc(start, end, 8, 80, -0.5);
    /// builder.add_arc(end, end, 9, -0.25);
    /// builder.add_final(end, 0.0);
    /// let best = builder.build_graph()?.shortest_path()?;
    /// assert_eq!(
    ///     (best.fsas().labels(), best.aux_labels().unwrap()),
    ///     (vec![8, -1], &[80, -1][..])
    /// );
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::EndlessCycle`] if a cycle makes scores better; [`Error::TooLarge`].
    pub fn shortest_path(&self) -> Result<Self, Error> {
        match shortest_path(self.fsas()) {
            Err(Error::NotTopSorted { .. }) => {
                let best = n_best_paths(self.fsas(), 1)?.remove_axis(1)?;
                let (fsas, arc_map) = fsas_of_paths(self.fsas().as_fsa_vec(), &best)?;
                self.carry((self.fsas().same_kind(fsas), arc_map))
            }
            best => self.carry(best?),
        }
    }

    /// Returns the `n` best paths of each FSA with different output labels (or labels, for an
    /// acceptor), the best first, with the attributes: [`Nbest::best`]. Cycles are allowed.
    ///
    /// ```
    /// use fsa::io::K2Text;
    ///
    /// let lattice = K2Text::acceptor().read("0 1 7 0.5\n0 1 8 0.75\n1 1 9 -1\n1 2 -1 0\n2")?;
    /// let best = lattice.n_best(3)?;
    /// assert_eq!(best.words().rows().collect::<Vec<_>>(), [&[8][..], &[7], &[8, 9]]);
    /// assert_eq!(best.total_scores().values(), [0.75, 0.5, -0.25]);
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Nbest::best`].
    pub fn n_best(&self, n: usize) -> Result<Nbest, Error> {
        Nbest::best(self, n)
    }

    /// Returns [`random_paths`](crate::paths::random_paths()) as FSAs with the attributes,
    /// `num_paths` for each FSA.
    ///
    /// # Errors
    /// As the function.
    pub fn random_paths(&self, num_paths: usize) -> Result<Nbest, Error> {
        Nbest::of_paths(self, &random_paths(self.fsas(), num_paths)?)
    }

    /// Returns [`sample_paths`](crate::paths::sample_paths()) as FSAs with the attributes,
    /// `num_paths` for each FSA.
    ///
    /// # Errors
    /// As the function.
    pub fn sample_paths(&self, num_paths: usize, seed: u64) -> Result<Nbest, Error> {
        Nbest::of_paths(self, &sample_paths(self.fsas(), num_paths, seed)?)
    }

    /// Calls [`total_scores`](crate::paths::total_scores()).
    ///
    /// # Errors
    /// As the function.
    pub fn total_scores<T: Real>(&self, semiring: Semiring) -> Result<Vec<T>, Error> {
        total_scores(self.fsas(), semiring)
    }

    /// Calls [`forward_scores`](crate::paths::forward_scores()).
    ///
    /// # Errors
    /// As the function.
    pub fn forward_scores<T: Real>(&self, semiring: Semiring) -> Result<Vec<T>, Error> {
        forward_scores(self.fsas(), semiring)
    }

    /// Calls [`backward_scores`](crate::paths::backward_scores()).
    ///
    /// # Errors
    /// As the function.
    pub fn backward_scores<T: Real>(&self, semiring: Semiring) -> Result<Vec<T>, Error> {
        backward_scores(self.fsas(), semiring)
    }

    /// Calls [`arc_posteriors`](crate::paths::arc_posteriors()).
    ///
    /// # Errors
    /// As the function.
    pub fn arc_posteriors<T: Real>(&self, semiring: Semiring) -> Result<Vec<T>, Error> {
        arc_posteriors(self.fsas(), semiring)
    }

    /// Calls [`shortest_distance`](crate::paths::shortest_distance()).
    ///
    /// # Errors
    /// As the function.
    pub fn shortest_distance(&self, semiring: Semiring, delta: f64) -> Result<Vec<f64>, Error> {
        shortest_distance(self.fsas(), semiring, delta)
    }

    /// Calls [`reverse_shortest_distance`](crate::paths::reverse_shortest_distance()).
    ///
    /// # Errors
    /// As the function.
    pub fn reverse_shortest_distance(&self, semiring: Semiring, delta: f64) -> Result<Vec<f64>, Error> {
        reverse_shortest_distance(self.fsas(), semiring, delta)
    }

    /// Calls [`prune_on_arc_post`](crate::paths::prune_on_arc_post()), with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn prune_on_arc_post(&self, threshold: f64) -> Result<Self, Error> {
        self.carry(prune_on_arc_post(self.fsas(), threshold)?)
    }

    /// Calls [`set_scores_stochastic`](crate::paths::set_scores_stochastic()), with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn set_scores_stochastic(&self) -> Result<Self, Error> {
        Graph::from_parts(set_scores_stochastic(self.fsas())?, self.attributes().clone())
    }
}
