//! The native module of the Python package `skillcue`.
//!
//! It is thin: each function takes what Python has, releases the interpreter's lock, calls the library, and returns plain
//! objects. The Python layer above it (`python/skillcue`) makes dataclasses of them and has the documentation.

mod catalog;
mod compat;
mod consent;
mod failure;
mod files;
mod launchers;
mod open;
mod pool;
mod programs;
mod records;
mod rows;
mod skills;
mod turn;
mod value;
mod watch;

use pyo3::prelude::*;

/// The native module. The GIL stays on in free-threaded interpreters, for which no wheel is made.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    pool::remember_process();
    records::listen();
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<skills::NativeSkills>()?;
    module.add_class::<skills::NativeDisclosure>()?;
    module.add_class::<catalog::NativeCatalog>()?;
    module.add_class::<programs::Cancel>()?;
    module.add_class::<watch::NativeWatch>()?;
    module.add_function(wrap_pyfunction!(programs::call_tool, module)?)?;
    module.add_function(wrap_pyfunction!(programs::program_for_call, module)?)?;
    module.add_function(wrap_pyfunction!(programs::skill_scripts, module)?)?;
    module.add_function(wrap_pyfunction!(programs::run_script, module)?)?;
    module.add_function(wrap_pyfunction!(programs::run_script_in, module)?)?;
    module.add_function(wrap_pyfunction!(programs::scripts_in, module)?)?;
    module.add_function(wrap_pyfunction!(launchers::end_helper, module)?)?;
    module.add_function(wrap_pyfunction!(files::read_in, module)?)?;
    module.add_function(wrap_pyfunction!(files::files_in, module)?)?;
    module.add_function(wrap_pyfunction!(files::parse, module)?)?;
    module.add_function(wrap_pyfunction!(files::count_tokens, module)?)?;
    compat::register(module)
}
