//! Links OpenBLAS for the feature `openblas`: the library in the folder `OPENBLAS_LIB_DIR`, else the
//! one that pkg-config knows, else the one that the linker finds.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "openblas")]
    link_openblas();
}

#[cfg(feature = "openblas")]
fn link_openblas() {
    println!("cargo::rerun-if-env-changed=OPENBLAS_LIB_DIR");
    if let Some(folder) = std::env::var_os("OPENBLAS_LIB_DIR") {
        println!("cargo::rustc-link-search=native={}", folder.display());
    } else if pkg_config::probe_library("openblas").is_ok() {
        return;
    }
    println!("cargo::rustc-link-lib=openblas");
}
