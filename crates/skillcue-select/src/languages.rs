//! Programming languages of files, by the files' names.

/// Endings of files' names, and whole names, with the names of their languages. Skills use one of several names.
const TABLE: [(&[&str], &[&str]); 34] = [
    (&["py", "pyi", "pyw", "ipynb"], &["python", "py"]),
    (&["rs"], &["rust", "rs"]),
    (&["js", "mjs", "cjs", "jsx"], &["javascript", "js"]),
    (&["ts", "mts", "cts", "tsx"], &["typescript", "ts"]),
    (&["go"], &["go", "golang"]),
    (&["java"], &["java"]),
    (&["kt", "kts"], &["kotlin"]),
    (&["swift"], &["swift"]),
    (&["c", "h"], &["c"]),
    (&["cc", "cpp", "cxx", "hh", "hpp", "hxx"], &["c++", "cpp"]),
    (&["cs"], &["c#", "csharp"]),
    (&["fs", "fsx"], &["f#", "fsharp"]),
    (&["rb", "gemfile", "rakefile"], &["ruby", "rb"]),
    (&["php"], &["php"]),
    (&["pl", "pm"], &["perl"]),
    (&["lua"], &["lua"]),
    (&["r", "rmd"], &["r"]),
    (&["jl"], &["julia"]),
    (&["scala", "sc"], &["scala"]),
    (&["hs"], &["haskell"]),
    (&["ml", "mli"], &["ocaml"]),
    (&["ex", "exs"], &["elixir"]),
    (&["erl"], &["erlang"]),
    (&["clj", "cljs"], &["clojure"]),
    (&["dart"], &["dart"]),
    (&["zig"], &["zig"]),
    (&["sh", "bash", "zsh"], &["shell", "bash", "sh"]),
    (&["ps1"], &["powershell"]),
    (&["sql"], &["sql"]),
    (&["html", "htm"], &["html"]),
    (&["css"], &["css"]),
    (&["scss", "sass"], &["scss", "sass"]),
    (&["tf"], &["terraform", "hcl"]),
    (&["dockerfile"], &["docker", "dockerfile"]),
];

/// Returns the languages that these files are written in, each by every name that skills use for it, in the order of
/// the files.
///
/// ```
/// use skillcue_select::languages_of;
///
/// assert_eq!(languages_of(["src/main.rs", "web/App.tsx", "lib.rs", "README"]), ["rust", "rs", "typescript", "ts"]);
/// ```
pub fn languages_of(files: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<&'static str> {
    let mut found: Vec<&str> = Vec::new();
    for file in files {
        let file = file.as_ref();
        let name = file.rsplit('/').next().unwrap_or(file);
        let ending = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
        let known = TABLE.iter().find(|(endings, _)| endings.contains(&ending.as_str()));
        // A whole name counts only for names such as `Dockerfile`: `c` is not a file of C.
        let counts = name.contains('.') || ending.ends_with("file");
        if let Some((_, names)) = known.filter(|_| counts)
            && !found.contains(&names[0])
        {
            found.extend_from_slice(names);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_language() {
        for (file, languages) in [
            ("a.PY", &["python", "py"][..]),
            ("x/y.test.ts", &["typescript", "ts"]),
            ("Dockerfile", &["docker", "dockerfile"]),
            ("deploy/web.dockerfile", &["docker", "dockerfile"]),
            ("Gemfile", &["ruby", "rb"]),
            ("c", &[]),
            ("dir.c/README", &[]),
            ("go", &[]),
            ("", &[]),
            ("a.", &[]),
        ] {
            assert_eq!(languages_of([file]), languages, "{file}");
        }
        assert_eq!(languages_of(["a.c", "b.h", "c.cc"]), ["c", "c++", "cpp"], "each once");
    }
}
