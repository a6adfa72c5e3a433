//! Writes the lexicon of 20,000 words and the model of 180,000 n-grams that `kaldera fst make-hlg`
//! is measured on, the same in every run.
//!
//! ```text
//! cargo run --release -p kaldera-benches --bin fsa_language -- FOLDER
//! ```

use std::path::Path;
use std::process::ExitCode;

use kaldera_benches::fsa::Language;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: fsa_language FOLDER");
        return ExitCode::from(2);
    };
    match Language::large().write(Path::new(&folder)) {
        Ok(files) => {
            println!(
                "{}\n{}\n{}\n{}",
                files.lexicon.display(),
                files.tokens.display(),
                files.words.display(),
                files.arpa.display()
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::FAILURE
        }
    }
}
