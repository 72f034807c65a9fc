//! The helper for library users: the sandbox, and the engine that runs in it. It does nothing by itself.

fn main() {
    skillfold_exec::helper::run_if_asked(Some(skillfold_toolset::engine));
    std::process::exit(2);
}
