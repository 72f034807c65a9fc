use std::fs;

use super::*;

struct ModuleTree(tempfile::TempDir);

impl ModuleTree {
    fn new(files: &[(&str, &str)]) -> ModuleTree {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        ModuleTree(dir)
    }

    fn resolver(&self) -> Resolver {
        let packages = self.0.path().join("packages");
        Resolver::new("s", &self.0.path().join("skill"), packages.exists().then_some(packages.as_path())).unwrap()
    }
}

fn tree() -> ModuleTree {
    ModuleTree::new(&[
        ("skill/toolsets/index.ts", "import './a.js'"),
        ("skill/toolsets/a.ts", ""),
        ("skill/toolsets/b.js", ""),
        ("skill/toolsets/b.ts", ""),
        ("skill/toolsets/data.json", "{}"),
        ("skill/toolsets/deep/index.mjs", ""),
        ("skill/package.json", r##"{"imports": {"#x": "./toolsets/a.ts", "#d": "dep"}}"##),
        (
            "skill/node_modules/dep/package.json",
            r#"{"type": "module", "exports": {".": {"import": "./m.js"}, "./s/*": "./src/*.js"}}"#,
        ),
        ("skill/node_modules/dep/m.js", "import '../other/index.js'"),
        ("skill/node_modules/dep/src/one.js", ""),
        ("skill/node_modules/other/package.json", r#"{"main": "lib"}"#),
        ("skill/node_modules/other/lib/index.js", "module.exports = 1"),
        ("skill/node_modules/esm/package.json", r#"{"module": "./e.js", "main": "./c.js"}"#),
        ("skill/node_modules/esm/e.js", "export default 1"),
        (
            "packages/node_modules/zod/package.json",
            r#"{"type": "module", "main": "./index.cjs", "module": "./index.js"}"#,
        ),
        ("packages/node_modules/zod/index.js", "import './v4.js'"),
        ("packages/node_modules/zod/v4.js", ""),
        ("outside.ts", "secret"),
    ])
}

#[test]
fn specifiers_mean_files() {
    let tree = tree();
    let mut resolver = tree.resolver();
    for (from, specifier, id) in [
        ("", "toolsets/index", "toolsets/index.ts"),
        ("", "./toolsets/index.ts", "toolsets/index.ts"),
        ("toolsets/index.ts", "./a", "toolsets/a.ts"),
        ("toolsets/index.ts", "./a.js", "toolsets/a.ts"),
        ("toolsets/index.ts", "./b.js", "toolsets/b.js"),
        ("toolsets/index.ts", "./b", "toolsets/b.ts"),
        ("toolsets/index.ts", "./data.json", "toolsets/data.json"),
        ("toolsets/index.ts", "./deep", "toolsets/deep/index.mjs"),
        ("toolsets/deep/index.mjs", "..", "toolsets/index.ts"),
        ("toolsets/index.ts", "dep", "node_modules/dep/m.js"),
        ("toolsets/index.ts", "dep/s/one", "node_modules/dep/src/one.js"),
        ("toolsets/index.ts", "esm", "node_modules/esm/e.js"),
        ("toolsets/index.ts", "#x", "toolsets/a.ts"),
        ("toolsets/index.ts", "#d", "node_modules/dep/m.js"),
        ("toolsets/index.ts", "zod", "packages:node_modules/zod/index.js"),
        ("packages:node_modules/zod/index.js", "./v4.js", "packages:node_modules/zod/v4.js"),
    ] {
        assert_eq!(resolver.resolve(from, specifier).as_deref(), Ok(id), "{specifier} from {from}");
    }
    assert_eq!(resolver.source("toolsets/a.ts").unwrap().kind, ModuleKind::Ts);
    assert!(resolver.source("node_modules/esm/e.js").is_ok());
    assert!(resolver.source("packages:node_modules/zod/v4.js").is_ok());
}

#[test]
fn the_rest_is_refused_with_a_reason() {
    let tree = tree();
    std::os::unix::fs::symlink(tree.0.path().join("outside.ts"), tree.0.path().join("skill/toolsets/link.ts")).unwrap();
    let mut resolver = tree.resolver();
    let from = "toolsets/index.ts";
    for (from, specifier, code, word) in [
        (from, "fs", "module_refused", "module of node"),
        (from, "fs/promises", "module_refused", "module of node"),
        (from, "node:fs", "module_refused", "module of node"),
        (from, "../../outside", "module_refused", "leads out of the skill"),
        (from, "/etc/passwd", "module_refused", "absolute"),
        (from, "file:///etc/passwd", "module_refused", "URL"),
        (from, "http://example.com/x.js", "module_refused", "URL"),
        (from, "https://example.com/x.js", "module_refused", "URL"),
        (from, "data:text/javascript,1", "module_refused", "URL"),
        (from, "./link", "module_refused", "leads out"),
        (from, "./x.tsx", "module_refused", "JSX"),
        (from, "./x.cjs", "module_refused", "CommonJS"),
        (from, "./nope", "module_not_found", "there is no module"),
        (from, "nope", "module_not_found", "package `nope`"),
        (from, "dep/hidden", "module_not_found", "exports no"),
        (from, "a b", "module_refused", "no name"),
        ("", "../outside", "module_refused", "climbs out"),
        ("node_modules/dep/m.js", "../other/index.js", "module_refused", "out of the package"),
        ("packages:node_modules/zod/index.js", "../../../skill/toolsets/a", "module_refused", "leads out"),
    ] {
        let refused = resolver.resolve(from, specifier).unwrap_err();
        assert_eq!(refused.code, code, "{specifier}: {refused:?}");
        assert!(refused.message.contains(word), "{specifier}: {refused:?}");
    }
    let other = resolver.resolve(from, "other").unwrap();
    assert!(resolver.source(&other).unwrap_err().message.contains("CommonJS"));
    let bare = ModuleTree::new(&[("skill/i.ts", "")]);
    let zod = bare.resolver().resolve("i.ts", "zod").unwrap_err();
    assert!(zod.help.unwrap().contains("among your packages"));
}

#[test]
fn links_of_installers_are_followed_below_the_root() {
    let tree = ModuleTree::new(&[
        ("skill/i.ts", ""),
        ("skill/node_modules/.pnpm/a@1/node_modules/a/package.json", r#"{"type": "module", "main": "a.js"}"#),
        ("skill/node_modules/.pnpm/a@1/node_modules/a/a.js", ""),
        ("skill/node_modules/.pnpm/a@1/node_modules/b/package.json", r#"{"type": "module", "main": "b.js"}"#),
        ("skill/node_modules/.pnpm/a@1/node_modules/b/b.js", ""),
    ]);
    std::os::unix::fs::symlink(".pnpm/a@1/node_modules/a", tree.0.path().join("skill/node_modules/a")).unwrap();
    let mut resolver = tree.resolver();
    let a = resolver.resolve("i.ts", "a").unwrap();
    assert_eq!(a, "node_modules/.pnpm/a@1/node_modules/a/a.js");
    assert_eq!(resolver.resolve(&a, "b").unwrap(), "node_modules/.pnpm/a@1/node_modules/b/b.js");
}
