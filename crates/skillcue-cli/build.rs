//! Links the program at a fixed address where that is usual: Linux with glibc.
//!
//! A position-independent executable is relocated at every start, which took a third of the time of a small command
//! (docs/decisions.md has the figures).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bin=skillcue=-no-pie");
    }
}
