//! The universities of the article on k2's ragged tensors as a vector of FSAs: a province is an
//! FSA, a city a state, a university an arc. Builds it, prints it as k2 does, with its row splits
//! and row ids, and writes a drawing for Graphviz.
//!
//! ```sh
//! cargo run -p fsa --example universities -- china_univ_fsav.dot
//! ```

use std::error::Error;
use std::{env, fs};

use fsa::io::{Drawing, K2Text, SymbolTable};
use fsa::{Fsa, FsaVec, Graph};

const UNIVERSITIES: &str = "\
- 0
西北工业大学 1
西安交通大学 2
西安电子科技大学 3
长安大学 4
延安大学 5
陕西理工大学 6
成功大学 7
逢甲大学 8
";

fn main() -> Result<(), Box<dyn Error>> {
    let universities: SymbolTable = UNIVERSITIES.parse()?;
    // Xi'an, Yan'an, Hanzhong; then the states that k2 needs for the end. The article shows its
    // arcs only in a picture: where they lead is our choice.
    let shaanxi: Fsa = "0 1 1 0\n0 1 2 0\n0 2 3 0\n0 2 4 0\n1 3 5 0\n2 3 6 0\n3 4 -1 0\n4".parse()?;
    let taiwan: Fsa = "0 1 7 0\n1 2 8 0\n2 3 -1 0\n3".parse()?;
    let china_univ_fsav = FsaVec::from_fsas(&[shaanxi, taiwan])?;

    let shape = china_univ_fsav.shape().clone();
    let graph = Graph::new(china_univ_fsav);
    print!("{}", K2Text::acceptor().print(&graph)?);
    println!("shape:         {shape}");
    for (axis, of) in [(1, "province - city"), (2, "city - university")] {
        println!("{of}:");
        println!("  row_splits({axis}): {:?}", shape.row_splits(axis).as_ref());
        println!("  row_ids({axis}):    {:?}", shape.row_ids(axis));
    }

    if let Some(file) = env::args().nth(1) {
        let drawing = Drawing::default().with_title("china_univ_fsav").with_input_symbols(Some(&universities));
        fs::write(&file, drawing.dot(&graph))?;
        println!("drawn in {file}");
    }
    Ok(())
}
