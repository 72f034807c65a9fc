//! From a message to what the model is shown: selection, disclosure, session.

use std::sync::Arc;
use std::time::Instant;

use skillcue_catalog::Skill;
use skillcue_disclose::{
    Bodies, Budget, CounterError, DiscloseConfig, Discloser, Disclosure, Fallback, Rehydration, Section, Session,
    Situation,
};
use skillcue_load::LoadRequest;
use skillcue_select::{Census, Explanation, Intent, Mode, SelectOptions, Selection, Turn};

use crate::Skillcue;
use crate::snapshot::{Snapshot, prime};

/// How far down a skill is looked for to explain its rank.
const EXPLAINED: usize = 1_000;

/// How many skills are named when none fits.
const CLOSEST: usize = 3;

impl Skillcue {
    /// The skills that fit a turn, ranked, each with its reasons.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf-tools"))?;
    /// # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
    /// # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
    /// use skillcue::{SelectOptions, Skillcue, Turn};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build();
    /// let selection = skills.select(&Turn::new("open report.pdf"), &SelectOptions::default());
    /// assert_eq!(selection.hits[0].name, "pdf-tools");
    /// assert_eq!(selection.hits[0].reasons[0].text, "pdf");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn select(&self, turn: &Turn<'_>, options: &SelectOptions) -> Selection {
        self.snapshot().select(turn, options)
    }

    /// Ranked skills for a query, as a model may see them: by triggers and texts, and never what hides from models.
    pub fn search(&self, turn: &Turn<'_>, options: &SelectOptions) -> Selection {
        let snapshot = self.snapshot();
        let mut found = snapshot.select(turn, options);
        let before = found.hits.len();
        let all = snapshot.catalog.all();
        // Only a name with a sigil finds those, and a query is no call.
        found.hits.retain(|hit| all.get(hit.skill).is_some_and(|skill| skill.is_for_models()));
        found.matched -= before - found.hits.len();
        found
    }

    /// Why a skill fits a turn, or what it would have taken.
    pub fn explain(&self, turn: &Turn<'_>, name: &str, mode: Mode) -> Explanation {
        let snapshot = self.snapshot();
        let mut explanation = snapshot.selector().explain(&snapshot.catalog, turn, name);
        if mode == Mode::Hybrid {
            let options = SelectOptions { mode, limit: EXPLAINED };
            let hits = snapshot.select(turn, &options).hits;
            if let Some(skill) =
                snapshot.catalog.all().iter().position(|skill| skill.name() == name && !skill.shadowed())
            {
                let excluded = snapshot.texts().excluded(turn.message, skill).into_iter();
                explanation.excluded = excluded.map(str::to_owned).collect();
            }
            explanation.before = hits.iter().position(|hit| hit.name == name);
            explanation.hit = explanation.before.and_then(|at| hits.into_iter().nth(at));
        }
        explanation
    }

    /// What the model is shown this turn, as the builder was told to.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf-tools"))?;
    /// # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
    /// # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
    /// use skillcue::{Skillcue, Turn};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build();
    /// assert_eq!(skills.disclose(&Turn::new("What is 2+2?")).turn, "[1 skill available]");
    /// assert!(skills.disclose(&Turn::new("open report.pdf")).turn.ends_with("Use pdftotext."));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// With [`Policy::Hint`](crate::Policy::Hint) the skills stand in the part that never changes, and a turn gets one
    /// line; with [`Policy::Catalog`](crate::Policy::Catalog) not even that:
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf-tools"))?;
    /// # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
    /// # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
    /// use skillcue::{DiscloseConfig, Policy, Skillcue, Turn};
    ///
    /// for (policy, hints) in [(Policy::Hint, true), (Policy::Catalog, false)] {
    ///     let config = DiscloseConfig { policy, ..DiscloseConfig::default() };
    ///     let skills = Skillcue::builder().skills_dir(dir.path()).disclosure(config)?.build();
    ///     let shown = skills.disclose(&Turn::new("open report.pdf"));
    ///     assert!(shown.stable.contains("<id>pdf-tools</id>"));
    ///     assert_eq!(shown.turn.contains("pdf-tools"), hints);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn disclose(&self, turn: &Turn<'_>) -> Disclosure {
        let snapshot = self.snapshot();
        self.shown(&snapshot, snapshot.discloser(), turn, None, self.usual_mode())
    }

    /// The same within a conversation: what it has been shown is not shown again, what it has used counts, and this turn
    /// is remembered.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf-tools"))?;
    /// # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
    /// # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
    /// use skillcue::{Session, Skillcue, Turn};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build();
    /// let mut session = Session::default();
    /// let first = skills.disclose_in(&Turn::new("open report.pdf"), &mut session);
    /// let second = skills.disclose_in(&Turn::new("and now the other pdf"), &mut session);
    /// assert!(first.turn.contains("Use pdftotext."));
    /// assert!(!second.turn.contains("Use pdftotext."), "it is in the conversation already");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn disclose_in(&self, turn: &Turn<'_>, session: &mut Session) -> Disclosure {
        let snapshot = self.snapshot();
        let shown = self.shown(&snapshot, snapshot.discloser(), turn, Some(session), self.usual_mode());
        session.apply(&shown);
        shown
    }

    /// The same for a configuration and a mode of its own. What depends on the whole catalog is made anew each time:
    /// for a program that runs once, or tries things out.
    pub fn disclose_with(
        &self,
        turn: &Turn<'_>,
        session: Option<&Session>,
        config: &DiscloseConfig,
        mode: Mode,
    ) -> Result<Disclosure, CounterError> {
        let snapshot = self.snapshot();
        Ok(self.shown(&snapshot, &snapshot.discloser_for(config)?, turn, session, mode))
    }

    /// The static section that lists every skill, for hosts that put a prompt together themselves.
    pub fn prompt(&self) -> Section {
        self.snapshot().discloser().prompt().clone()
    }

    /// The same for a configuration of its own.
    pub fn prompt_with(&self, config: &DiscloseConfig) -> Result<Section, CounterError> {
        Ok(self.snapshot().discloser_for(config)?.prompt().clone())
    }

    /// How many skills there are for a model.
    pub fn census(&self) -> Census {
        let snapshot = self.snapshot();
        snapshot.selector().census(&snapshot.catalog)
    }

    /// What a conversation must be shown again after its host has compacted its context, most recent first, each skill with
    /// the arguments that it was loaded with.
    pub fn rehydrate(&self, session: &mut Session, budget: Budget) -> Rehydration {
        let snapshot = self.snapshot();
        let counter = snapshot.discloser().counter();
        let before = session.clone();
        let bodies = LoadedBodies { skills: self, session: &before };
        session.rehydrate(budget, &snapshot.catalog, &bodies, counter)
    }

    fn shown(
        &self,
        snapshot: &Snapshot,
        discloser: &Discloser,
        turn: &Turn<'_>,
        session: Option<&Session>,
        mode: Mode,
    ) -> Disclosure {
        let recent: Vec<&str> = match session {
            Some(session) if turn.recent.is_empty() => session.recent().collect(),
            _ => turn.recent.to_vec(),
        };
        let turn = Turn { recent: &recent, ..*turn };
        // Made once, and not for this message alone.
        let census = snapshot.selector().census(&snapshot.catalog);
        if mode == Mode::Hybrid {
            snapshot.texts();
        }
        prime(discloser, Intent::of(turn.message) == Intent::Registry);
        let start = Instant::now();
        let selection = snapshot.select(&turn, &SelectOptions { mode, ..SelectOptions::default() });
        let bodies = |skill: &Skill| self.body(skill, "", session);
        // Triggers know no near misses; texts do.
        let asks = discloser.config().fallback == Fallback::AskUser && selection.hits.is_empty();
        let closest = if asks {
            snapshot.select(&turn, &SelectOptions { mode: Mode::Hybrid, limit: CLOSEST }).hits
        } else {
            Vec::new()
        };
        let situation = Situation { session, mode, closest: &closest, ..Situation::new(census, &selection, &bodies) };
        let mut shown = discloser.disclose(&situation);
        shown.elapsed = start.elapsed();
        shown.trace();
        shown
    }

    /// Level 2 of a skill. Of a remote one only how to get it: nothing is fetched ahead of need, and no
    /// message waits for a server. So, too, of one that is held back, unless the conversation has seen it already, as it
    /// is: whoever loaded it was allowed to.
    fn body(&self, skill: &Skill, arguments: &str, session: Option<&Session>) -> Result<Arc<str>, String> {
        let name = skill.name();
        if let Some(server) = skill.server() {
            let text =
                format!("The MCP server \"{server}\" serves this skill. `load_skill` with the id \"{name}\" loads it.");
            return Ok(text.into());
        }
        let load = |arguments| {
            let request = LoadRequest { arguments, ..LoadRequest::default() };
            self.loads().load(&skill.body_file(), &request).map(|loaded| loaded.content)
        };
        let body = load("").map_err(|error| error.to_string())?;
        if self.held.holds(skill) && !session.is_some_and(|session| session.has_seen(skill, &body)) {
            let text = format!(
                "The user has not approved this skill yet. `load_skill` with the id \"{name}\" asks, and loads it."
            );
            return Ok(text.into());
        }
        if arguments.is_empty() { Ok(body) } else { load(arguments).map_err(|error| error.to_string()) }
    }
}

/// Bodies for a conversation that is shown them again.
struct LoadedBodies<'a> {
    skills: &'a Skillcue,
    session: &'a Session,
}

impl Bodies for LoadedBodies<'_> {
    fn body(&self, skill: &Skill) -> Result<Arc<str>, String> {
        self.skills.body(skill, "", Some(self.session))
    }

    fn body_with(&self, skill: &Skill, arguments: &str) -> Result<Arc<str>, String> {
        self.skills.body(skill, arguments, Some(self.session))
    }
}
