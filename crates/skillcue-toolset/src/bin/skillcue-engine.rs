//! The helper for library users: the sandbox, and the engine that runs in it. It does nothing by itself.

fn main() {
    skillcue_exec::helper::run_if_asked(Some(skillcue_toolset::engine));
    std::process::exit(2);
}
