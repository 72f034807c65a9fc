fn main() { std::process::exit(skillfold_toolset::engine()); }
