//! Skills of the parts of a project, added when files there are touched.

use std::path::Path;

use skillcue_catalog::{DiscoveryState, touched_roots};

use crate::Skillcue;

/// The number of folders that touched files add to one set-up.
const MAX_TOUCHED: usize = 128;

impl Skillcue {
    /// Adds the skills of the parts of a project that some files are in, below the directory of [`Builder::touch_below`](crate::Builder::touch_below), and
    /// looks again if these have folders that were not known. Returns whether they have. Paths are absolute, or relative to
    /// that directory.
    ///
    /// ```
    /// use std::path::Path;
    /// use skillcue::Skillcue;
    ///
    /// let repo = tempfile::tempdir()?;
    /// let dir = repo.path().join("apps/web/.agents/skills/deploy");
    /// std::fs::create_dir_all(&dir)?;
    /// std::fs::write(dir.join("SKILL.md"), "---\nname: deploy\ndescription: Deploys the web app.\n---\nRun it.\n")?;
    /// let skills = Skillcue::builder().touch_below(repo.path()).build()?;
    /// assert!(skills.catalog().get("deploy").is_none());
    /// assert!(skills.touch([Path::new("apps/web/src/main.ts")]));
    /// assert!(skills.catalog().get("deploy").is_some());
    /// assert!(!skills.touch([Path::new("apps/web/src/main.ts")]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn touch<'p>(&self, files: impl IntoIterator<Item = &'p Path>) -> bool {
        let Some(dir) = &self.touch_dir else { return false };
        let mut touched = skillcue_base::lock(&self.touched);
        let before = touched.len();
        for root in touched_roots(dir, files) {
            if touched.len() < MAX_TOUCHED && !touched.contains(&root) {
                touched.push(root);
            }
        }
        let is_new = touched.len() > before;
        drop(touched);
        if is_new {
            // The memory belongs to fewer roots.
            *skillcue_base::lock(&self.memory) = DiscoveryState::default();
            self.refresh();
        }
        is_new
    }
}
