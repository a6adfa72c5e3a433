//! `kaldera info`: what this build and machine compute with.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;

use kaldera::base::simd::{self, Level};
use kaldera::matrix::{OpenBlasInfo, backend_info};

use super::{Trouble, print};
use crate::parse_options::{ParseOptions, Request, Syntax};

const USAGE: &str = "\
Show what this build and machine compute with.
Usage: kaldera info";

/// Names of the OpenBLAS kernels for AVX-512.
const AVX512_KERNELS: [&str; 4] = ["SkylakeX", "Cooperlake", "SapphireRapids", "Zen5"];

/// Runs `kaldera info` with the arguments after its name.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    super::end("info", info(&args))
}

fn info(args: &[OsString]) -> Result<ExitCode, Trouble> {
    let mut parser = ParseOptions::new(Syntax::People, USAGE);
    match parser.read(args)? {
        Request::Help => print(&parser.help())?,
        Request::Run(arguments) if arguments.is_empty() => print(&report())?,
        Request::Run(arguments) => {
            return Err(Trouble::Usage(format!("expected no arguments, found {}", arguments.len())));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn report() -> String {
    let backend = backend_info();
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line("version", concat!("kaldera ", env!("CARGO_PKG_VERSION")));
    line("features", &features());
    line("SIMD", &simd::level().to_string());
    line("threads", &threads());
    line("backend", &backend.choice.to_string());
    if let Some(name) = &backend.ignored {
        line("", &format!("KALDERA_BACKEND={name} names no backend of this build and has no effect"));
    }
    if backend.pure {
        line("pure", "faer");
    }
    if let Some(openblas) = &backend.openblas {
        let OpenBlasInfo { config, corename, threads, .. } = openblas;
        line("openblas", &format!("{}, kernels for {corename}, {threads} thread(s)", config.trim()));
        if let Some(advice) = advice(corename) {
            line("", &advice);
        }
    }
    text
}

/// The features that this program was compiled with.
fn features() -> String {
    let all = [
        ("openblas", cfg!(feature = "openblas")),
        ("pure", cfg!(feature = "pure")),
        ("rayon", cfg!(feature = "rayon")),
    ];
    let compiled: Vec<_> = all.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    if compiled.is_empty() { "none".to_owned() } else { compiled.join(", ") }
}

fn threads() -> String {
    match std::thread::available_parallelism() {
        Ok(threads) if cfg!(feature = "rayon") => threads.to_string(),
        Ok(processors) => format!("1 of {processors}: the feature rayon is off"),
        Err(error) => format!("1: the number of processors is unknown ({error})"),
    }
}

/// OpenBLAS knows the processors of its time; one that came later can get kernels of half its width.
fn advice(corename: &str) -> Option<String> {
    let narrow = !AVX512_KERNELS.iter().any(|name| name.eq_ignore_ascii_case(corename));
    (simd::level() == Level::Avx512 && narrow).then(|| {
        "this processor has AVX-512, which these kernels do not use: set OPENBLAS_CORETYPE=SkylakeX in the \
         environment before the start for about twice the speed"
            .to_owned()
    })
}
