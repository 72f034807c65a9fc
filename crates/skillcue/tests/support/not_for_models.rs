//! Skills that are not for models, of every kind, and a word by which they are found where they should not be. The one
//! table for the tests of every surface: the façade's, the MCP server's, the agent's.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test file uses its part; a failure is a panic"
)]

use std::path::Path;

use skillcue::{Builder, Enablement, Setup, SkillRoot, Skillcue, Source};

/// A reason why a skill is not for models.
pub struct Kind {
    /// The skill's name.
    pub name: &'static str,
    /// A line of its front matter.
    front: &'static str,
    /// Whether people may call it all the same.
    pub is_for_people: bool,
}

/// All of them. `is-off` is switched off by its user, and `twice` of the user is shadowed by the project's.
pub const KINDS: [Kind; 3] = [
    Kind { name: "hides", front: "disable-model-invocation: true", is_for_people: true },
    Kind { name: "is-off", front: "license: off", is_for_people: false },
    Kind { name: "lacks", front: "requires: [no-such-program-anywhere]", is_for_people: false },
];

/// A word in the descriptions, bodies and files of skills that are not for models, and nowhere else.
pub const SECRET: &str = "quetzal";
/// A word in those of skills that are for models: the control.
pub const OPEN: &str = "openly";

/// A skill of each kind, one that another one shadows, and the control: `open`, which is for models. All fit "invoice".
pub fn write(dir: &Path) {
    let write = |root: &str, name: &str, front: &str, word: &str| {
        let dir = dir.join(root).join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let text = format!(
            "---\nname: {name}\ndescription: Writes invoices, {word}.\n{front}\ntriggers: [invoice]\n---\nBody {word}.\n"
        );
        std::fs::write(dir.join("SKILL.md"), text).unwrap();
        std::fs::write(dir.join("note.md"), format!("Note {word}.\n")).unwrap();
    };
    for kind in &KINDS {
        write("user", kind.name, kind.front, SECRET);
    }
    write("project", "twice", "license: MIT", OPEN);
    write("user", "twice", "license: BSD", SECRET);
    write("user", "open", "license: MIT", OPEN);
}

/// Looks at them.
pub fn builder(dir: &Path) -> Builder {
    let roots = [SkillRoot::new(dir.join("project"), Source::Project), SkillRoot::new(dir.join("user"), Source::User)];
    let off = || Enablement { disable: ["is-off".to_owned()].into(), ..Enablement::default() };
    let setup = move || Setup { enablement: off(), ..Setup::default() };
    Skillcue::builder().roots(roots).setup_by(setup).search_path(Vec::new())
}

/// Fails if a text for models shows any of them. `surface` says where the text was; a name that a model has said itself
/// may be said back, so a surface that was asked for a name names it.
pub fn check(surface: &str, text: &str) {
    assert!(!text.contains(SECRET), "{surface}: {text}");
    for kind in &KINDS {
        assert!(!text.contains(kind.name) || surface.contains(kind.name), "{surface} names {}: {text}", kind.name);
    }
}

/// Fails if a text for people shows any that are not for people.
pub fn check_for_people(surface: &str, text: &str) {
    for kind in KINDS.iter().filter(|kind| !kind.is_for_people) {
        assert!(!text.contains(kind.name) || surface.contains(kind.name), "{surface} names {}: {text}", kind.name);
    }
}
