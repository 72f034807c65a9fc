//! The permissions that a skill's programs ask for beyond the sandbox.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::manifest::TextList;

/// The permissions that a skill's scripts ask for beyond those that the sandbox gives every skill. Asking
/// grants nothing: a person does.
///
/// ```
/// let file = b"---\nname: fetch\ndescription: Gets pages. Use when asked.\npermissions:\n  network: true\n  env: [API_KEY]\n---\n";
/// let manifest = skillcue_format::Parsed::of(file, skillcue_format::FileKind::Markdown).manifest.unwrap();
/// assert_eq!(manifest.permissions().unwrap().to_string(), "the network, the variable API_KEY");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Permissions {
    /// Files and directories to read: absolute, below `~/`, or relative to the skill's directory.
    pub read: TextList,
    /// Files and directories to write, written like those to read.
    pub write: TextList,
    /// Whether to reach the network.
    pub network: bool,
    /// Variables of the user's environment to see.
    pub env: TextList,
}

impl Permissions {
    /// Returns whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Permissions::default()
    }
}

/// Plain text for the user's decision.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = |one: &str, some: &str, words: &TextList| {
            let list = words.join(", ");
            (!words.is_empty()).then(|| format!("{} {list}", if words.len() == 1 { one } else { some }))
        };
        let parts = [
            many("reading", "reading", &self.read),
            many("writing", "writing", &self.write),
            self.network.then(|| "the network".to_owned()),
            many("the variable", "the variables", &self.env),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(if parts.is_empty() { "nothing" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}
