//! The algorithms as methods of [`Graph`], which carry the attributes of the arcs.

use crate::core::fsa::{Fsa, FsaVec, Fsas};
use crate::core::graph::Graph;
use crate::core::limits::Limits;
use crate::error::Error;
use crate::k2 as of_fsas;
use crate::k2::compose::ComposeOptions;
use crate::k2::determinize::DeterminizeOptions;
use crate::k2::intersect::IntersectOptions;

impl<F: Fsas> Graph<F> {
    /// Calls [`arc_sort`](of_fsas::arc_sort), with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn arc_sort(&self) -> Result<Self, Error> {
        self.carry_unless_same(of_fsas::arc_sort(self.fsas())?)
    }

    /// Calls [`connect`](of_fsas::connect), with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn connect(&self) -> Result<Self, Error> {
        self.carry_unless_same(of_fsas::connect(self.fsas())?)
    }

    /// Calls [`top_sort`](of_fsas::top_sort), with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn top_sort(&self) -> Result<Self, Error> {
        self.carry_unless_same(of_fsas::top_sort(self.fsas())?)
    }

    /// Calls [`add_epsilon_self_loops`](of_fsas::add_epsilon_self_loops), with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn add_epsilon_self_loops(&self) -> Result<Self, Error> {
        self.carry(of_fsas::add_epsilon_self_loops(self.fsas())?)
    }

    /// Calls [`remove_epsilon_self_loops`](of_fsas::remove_epsilon_self_loops), with the
    /// attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn remove_epsilon_self_loops(&self) -> Result<Self, Error> {
        self.carry_unless_same(of_fsas::remove_epsilon_self_loops(self.fsas())?)
    }

    /// Calls [`closure`](of_fsas::closure), with the attributes; former final arcs have output
    /// label 0 in place of -1.
    ///
    /// # Errors
    /// As the function.
    pub fn closure(&self) -> Result<Self, Error> {
        self.carry(of_fsas::closure(self.fsas())?)?.with_final_aux_labels()
    }

    /// Calls [`reverse`](of_fsas::reverse), with the attributes; former final arcs have output
    /// label 0 in place of -1.
    ///
    /// # Errors
    /// As the function.
    pub fn reverse(&self) -> Result<Self, Error> {
        self.carry(of_fsas::reverse(self.fsas())?)?.with_final_aux_labels()
    }

    /// Calls [`invert`](of_fsas::invert), without the arc map.
    ///
    /// # Errors
    /// As the function.
    pub fn invert(&self) -> Result<Self, Error> {
        Ok(of_fsas::invert(self)?.0)
    }

    /// Calls [`expand_aux_labels`](of_fsas::expand_aux_labels), without the arc map.
    ///
    /// # Errors
    /// As the function.
    pub fn expand_aux_labels(&self) -> Result<Self, Error> {
        Ok(of_fsas::expand_aux_labels(self)?.0)
    }

    /// Calls [`concat`](of_fsas::concat), with the attributes of both; former final arcs have
    /// output label 0 in place of -1. Attributes of the same name and different kinds are left out.
    ///
    /// # Errors
    /// As the function.
    pub fn concat<B: Fsas>(&self, other: &Graph<B>) -> Result<Graph<F::With<B>>, Error> {
        let (fsas, map_a, map_b) = of_fsas::concat(self.fsas(), other.fsas())?;
        Graph::from_parts(fsas, crate::k2::compose::either(self, &map_a, other, &map_b)?)?.with_final_aux_labels()
    }

    /// Calls [`intersect`](of_fsas::intersect), with the attributes of both: floating-point ones of
    /// the same name are added, others of the same name are left out.
    ///
    /// # Errors
    /// As the function.
    pub fn intersect<B: Fsas>(&self, other: &Graph<B>, options: IntersectOptions) -> Result<Graph<F::With<B>>, Error> {
        let (fsas, map_a, map_b) = of_fsas::intersect(self.fsas(), other.fsas(), options)?;
        Graph::from_parts(fsas, crate::k2::compose::merge(self.attributes(), &map_a, other.attributes(), &map_b)?)
    }

    /// Calls [`replace_fsa`](of_fsas::replace_fsa) with this one as `index`, with the attributes of
    /// both; former final arcs have output label 0 in place of -1. Attributes of the same name and
    /// different kinds are left out.
    ///
    /// # Errors
    /// As the function.
    pub fn replace_fsa(&self, src: &Graph<FsaVec>, first_symbol: i32) -> Result<Self, Error> {
        let (fsas, map_index, map_src) = of_fsas::replace_fsa(src.fsas(), self.fsas(), first_symbol)?;
        Graph::from_parts(fsas, crate::k2::compose::either(self, &map_index, src, &map_src)?)?.with_final_aux_labels()
    }

    /// Calls [`compose`](of_fsas::compose()) with default options: the output labels of this one
    /// match the labels of `other`.
    ///
    /// ```
    /// use fsa::k2::linear_fst;
    ///
    /// let both = linear_fst(&[1, 2], &[5, 6])?.compose(&linear_fst(&[5, 6], &[8, 9])?)?;
    /// assert_eq!(
    ///     (both.fsas().labels(), both.aux_labels().unwrap()),
    ///     (vec![1, 2, -1], &[8, 9, -1][..])
    /// );
    /// # Ok::<(), fsa::Error>(())
    /// ```
    ///
    /// # Errors
    /// As the function.
    pub fn compose<B: Fsas>(&self, other: &Graph<B>) -> Result<Graph<F::With<B>>, Error> {
        self.compose_with(other, &ComposeOptions::default())
    }

    /// Calls [`compose`](of_fsas::compose()).
    ///
    /// # Errors
    /// As the function.
    pub fn compose_with<B: Fsas>(
        &self,
        other: &Graph<B>,
        options: &ComposeOptions,
    ) -> Result<Graph<F::With<B>>, Error> {
        of_fsas::compose(self, other, options)
    }

    /// Calls [`remove_epsilon`](of_fsas::remove_epsilon), with the attributes: integers become
    /// lists.
    ///
    /// # Errors
    /// As the function.
    pub fn remove_epsilon(&self) -> Result<Self, Error> {
        self.remove_epsilon_within(Limits::default())
    }

    /// Calls [`remove_epsilon_within`](of_fsas::remove_epsilon_within), with the attributes:
    /// integers become lists.
    ///
    /// # Errors
    /// As the function.
    pub fn remove_epsilon_within(&self, limits: Limits) -> Result<Self, Error> {
        if self.attributes().is_empty() {
            let made = of_fsas::remove_epsilon_without_map(self.fsas(), limits)?;
            return Ok(Graph::new(made).with_graph_labels(self.graph_labels()));
        }
        let attributes = self.attributes();
        let kept = |arc: usize| !attributes.is_neutral(arc);
        self.carry_ragged(of_fsas::remove_epsilon::remove_epsilon_keeping(self.fsas(), limits, &kept)?)
    }

    /// Calls [`remove_epsilon_and_add_self_loops`](of_fsas::remove_epsilon_and_add_self_loops),
    /// with the attributes: integers become lists.
    ///
    /// # Errors
    /// As the function.
    pub fn remove_epsilon_and_add_self_loops(&self) -> Result<Self, Error> {
        self.carry_ragged(of_fsas::remove_epsilon_and_add_self_loops(self.fsas())?)
    }

    /// Calls [`remove_epsilon_log`](of_fsas::remove_epsilon_log) for graphs without attributes.
    ///
    /// # Errors
    /// [`Error::LostAttribute`] if there are attributes, and as the function.
    pub fn remove_epsilon_log(&self, limits: Limits) -> Result<Self, Error> {
        match self.attributes().iter().next() {
            Some((name, _)) => Err(Error::LostAttribute { name: name.clone() }),
            None => {
                let made = of_fsas::remove_epsilon_log(self.fsas(), limits)?;
                Ok(Self::new(made).with_graph_labels(self.graph_labels()))
            }
        }
    }

    /// Calls [`with_self_loops`](of_fsas::with_self_loops) for linear FSAs, with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn with_self_loops(&self) -> Result<Self, Error> {
        self.carry(of_fsas::with_self_loops(self.fsas())?)
    }

    /// Calls k2's [`determinize`](of_fsas::determinize()), with the attributes: integers become
    /// lists. OpenFst's is [`determinize_openfst`](Graph::determinize_openfst).
    ///
    /// # Errors
    /// As the function.
    pub fn determinize(&self, options: DeterminizeOptions) -> Result<Self, Error> {
        self.carry_ragged(of_fsas::determinize(self.fsas(), options)?)
    }

    /// Returns the result of an algorithm that returns the same FSAs if there is nothing to do.
    fn carry_unless_same(&self, (fsas, arc_map): (F, Vec<i32>)) -> Result<Self, Error> {
        if fsas.as_fsa_vec().ptr_eq(self.fsas().as_fsa_vec()) { Ok(self.clone()) } else { self.carry((fsas, arc_map)) }
    }
}

impl Graph<FsaVec> {
    /// Calls [`intersect_device`](of_fsas::intersect_device), with the attributes of both:
    /// floating-point ones of the same name are added, others of the same name are left out.
    ///
    /// # Errors
    /// As the function.
    pub fn intersect_device<B: Fsas>(&self, other: &Graph<B>, b_to_a_map: &[i32]) -> Result<Graph<B>, Error> {
        let (fsas, map_a, map_b) = of_fsas::intersect_device(self.fsas(), other.fsas(), b_to_a_map)?;
        Graph::from_parts(fsas, crate::k2::compose::merge(self.attributes(), &map_a, other.attributes(), &map_b)?)
    }

    /// Calls [`union`](of_fsas::union), with the attributes.
    ///
    /// # Errors
    /// As the function.
    pub fn union(&self) -> Result<Graph<Fsa>, Error> {
        self.carry(of_fsas::union(self.fsas())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::arc::Arc;

    fn word() -> Graph<Fsa> {
        let fsa = Fsa::from_arcs(3, vec![Arc::new(0, 1, 7, 0.5), Arc::new(1, 2, -1, 0.0)]).unwrap();
        Graph::new(fsa).with_aux_labels(vec![9, -1]).unwrap()
    }

    #[test]
    fn attributes_of_two_sides_follow() {
        let word = word();
        let twice = Graph::cat(&[&word, &word.clone().with("cost", vec![0.5, 1.0]).unwrap()]).unwrap();
        assert_eq!(twice.aux_labels(), Some(&[9, -1, 9, -1][..]));
        assert!(twice.attributes().get("cost").is_none(), "only one of them has it");
        let acceptor = Graph::new(word.fsas().clone());
        let met = twice.intersect_device(&acceptor, &[1]).unwrap();
        assert_eq!((met.fsas().scores(), met.aux_labels()), (vec![1.0, 0.0], Some(&[9, -1][..])));
        let replaced = acceptor.replace_fsa(&twice, 7).unwrap();
        assert_eq!((replaced.fsas().labels(), replaced.aux_labels()), (vec![0, 7, 0, -1], Some(&[0, 9, 0, -1][..])));
        assert_eq!(Graph::<Fsa>::cat(&[]).unwrap(), Graph::new(FsaVec::empty()));
    }

    #[test]
    fn output_labels_follow() {
        assert_eq!(word().closure().unwrap().aux_labels(), Some(&[9, -1, 0][..]));
        assert_eq!(word().reverse().unwrap().aux_labels(), Some(&[0, 9, -1][..]));
        assert_eq!(word().concat(&Graph::new(word().into_parts().0)).unwrap().aux_labels(), Some(&[9, 0, 0, -1][..]));
        assert_eq!(word().add_epsilon_self_loops().unwrap().remove_epsilon_self_loops().unwrap(), word());
        assert_eq!(word().with_self_loops().unwrap().aux_labels(), Some(&[0, 9, 0, -1][..]));
        let lost = Error::LostAttribute { name: "aux_labels".into() };
        assert_eq!(word().remove_epsilon_log(Limits::default()), Err(lost));
        assert_eq!(word().connect().unwrap().top_sort().unwrap().arc_sort().unwrap(), word());
    }
}
