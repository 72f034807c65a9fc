//! The disclosure for a message: selection, budget, session.

use std::sync::Arc;
use std::time::Instant;

use skillcue_catalog::{Skill, Source};
use skillcue_disclose::{
    BodySource, Budget, Characters4, Discloser, Disclosure, Fallback, FileHead, Rehydration, Session, Situation,
    SkillList,
};
use skillcue_format::Tokens;
use skillcue_load::LoadRequest;
use skillcue_select::{Census, Explanation, Hit, Intent, Mode, SelectOptions, Selection, Turn};

use crate::snapshot::{Snapshot, prime};
use crate::{Request, Skillcue, spans};

/// The number of ranks in which a skill is looked for to explain its rank.
const MAX_EXPLAINED: usize = 1_000;

/// The number of bytes of a file by which it is known whether it fits a message.
const FILE_HEAD: usize = 2048;

/// The number of skills that are named when none fits.
const MAX_CLOSEST: usize = 3;

impl Skillcue {
    /// Returns the skills that fit a request, ranked, each with its reasons.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf-tools"))?;
    /// # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
    /// # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
    /// use skillcue::{Request, Skillcue};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// let selection = skills.select(&Request::new("open report.pdf").limit(3));
    /// assert_eq!(selection.hits[0].name, "pdf-tools");
    /// assert_eq!(selection.hits[0].reasons[0].text, "pdf");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn select(&self, request: &Request<'_>) -> Selection {
        let selection =
            self.judged_select(&self.snapshot(), &request.turn, &request.options(self.mode()), request.eagerness);
        Arc::unwrap_or_clone(selection)
    }

    /// Returns ranked skills for a query, as a model may see them: like [`select`](Skillcue::select), without skills
    /// that are hidden from models.
    pub fn search(&self, request: &Request<'_>) -> Selection {
        let snapshot = self.snapshot();
        let found = self.judged_select(&snapshot, &request.turn, &request.options(self.mode()), request.eagerness);
        let mut found = Arc::unwrap_or_clone(found);
        let before = found.hits.len();
        let all = snapshot.catalog.all();
        // Only a name with a sigil finds hidden skills, and a query is no call.
        found.hits.retain(|hit| all.get(hit.skill).is_some_and(|skill| skill.is_for_models()));
        found.matched -= before - found.hits.len();
        found
    }

    /// Explains why a skill fits a request, or what it would have taken.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf-tools"))?;
    /// # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
    /// # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
    /// use skillcue::{Request, Skillcue};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// let why = skills.explain(&Request::new("What is 2+2?"), "pdf-tools");
    /// assert!(why.hit.is_none());
    /// assert!(why.triggers.iter().any(|report| report.trigger == "pdf" && report.matched.is_none()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, request: &Request<'_>, name: &str) -> Explanation {
        let snapshot = self.snapshot();
        let turn = &request.turn;
        let mut explanation = snapshot.selector().explain(&snapshot.catalog, turn, name);
        let mode = request.options(self.mode()).mode;
        if mode != Mode::Keyword {
            let hits = snapshot.closest(turn, mode, MAX_EXPLAINED);
            if let Some(skill) =
                snapshot.catalog.all().iter().position(|skill| skill.name() == name && !skill.shadowed())
            {
                let excluded = snapshot.texts().excluded(turn.message(), skill).into_iter();
                explanation.excluded = excluded.map(str::to_owned).collect();
                let refused = snapshot.texts().refused(turn.message(), skill).into_iter();
                explanation.refused = refused.map(str::to_owned).collect();
            }
            explanation.before = hits.iter().position(|hit| hit.name == name);
            explanation.hit = explanation.before.and_then(|at| hits.into_iter().nth(at));
            self.explain_feedback(&mut explanation, &snapshot, request.eagerness);
            if self.judging.is_some() {
                let judged = self.select(request).hits;
                if let Some(at) = judged.iter().position(|hit| hit.name == name) {
                    (explanation.before, explanation.hit) = (Some(at), judged.into_iter().nth(at));
                }
            }
        }
        explanation
    }

    /// Returns what the model is shown for a request. The request's session remembers it.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf-tools"))?;
    /// # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
    /// # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
    /// use skillcue::{Request, Session, Skillcue};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// assert_eq!(skills.disclose("What is 2+2?").turn, "[1 skill available]");
    ///
    /// // Within a conversation nothing is shown twice: the request's session remembers what was.
    /// let mut session = Session::default();
    /// let first = skills.disclose(Request::new("open report.pdf").session(&mut session));
    /// let second = skills.disclose(Request::new("and now the other pdf").session(&mut session));
    /// assert!(first.turn.ends_with("Use pdftotext."));
    /// assert!(!second.turn.contains("Use pdftotext."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// With [`Policy::Hint`](crate::Policy::Hint) the skills are in the part that never changes, and a turn gets one
    /// line; with [`Policy::Catalog`](crate::Policy::Catalog) not even that:
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf-tools"))?;
    /// # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
    /// # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
    /// use skillcue::{Policy, Request, Skillcue};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// for (policy, hints) in [(Policy::Hint, true), (Policy::Catalog, false)] {
    ///     let shown = skills.disclose(Request::new("open report.pdf").policy(policy));
    ///     assert!(shown.stable.contains("<id>pdf-tools</id>"));
    ///     assert_eq!(shown.turn.contains("pdf-tools"), hints);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Bodies are read from disk for it. An async host keeps that off its executor:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skillcue::{Request, Session, Skillcue};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let skills = Arc::new(Skillcue::builder().build()?);
    /// let (message, mut session) = (String::from("open report.pdf"), Session::default());
    /// let (shown, session) = tokio::task::spawn_blocking(move || {
    ///     let shown = skills.disclose(Request::new(&message).session(&mut session));
    ///     (shown, session)
    /// })
    /// .await?;
    /// # assert_eq!((shown.turn.as_str(), session.turn()), ("", 1));
    /// # Ok(()) }
    /// ```
    pub fn disclose<'r>(&self, request: impl Into<Request<'r>>) -> Disclosure {
        self.answer(request.into())
    }

    fn answer(&self, request: Request<'_>) -> Disclosure {
        let snapshot = self.snapshot();
        let options = request.options(self.mode());
        let Request { turn, session, policy, budget, characters, conversation, eagerness, .. } = request;
        let span = spans::selection_span(conversation);
        let entered = span.enter();
        let usual = snapshot.discloser();
        let policy = policy.unwrap_or(usual.config().policy);
        let budget = budget.unwrap_or(usual.config().budget());
        let shown = if let Some(most) = characters {
            let make = |budget| {
                let discloser = snapshot.discloser_by_characters(policy, budget);
                self.shown(&snapshot, &discloser, &turn, session.as_deref(), &options, eagerness)
            };
            within_characters(most, budget, make, |shown| &shown.turn)
        } else if (policy, budget) == (usual.config().policy, usual.config().budget()) {
            self.shown(&snapshot, usual, &turn, session.as_deref(), &options, eagerness)
        } else {
            let discloser = snapshot.other_discloser(policy, budget);
            self.shown(&snapshot, &discloser, &turn, session.as_deref(), &options, eagerness)
        };
        drop(entered);
        spans::end_selection_span(&span, &shown);
        self.report_disclosure(&shown, session.as_deref(), options.mode, (conversation, turn.message()));
        if let Some(session) = session {
            session.apply(&shown);
        }
        shown
    }

    /// Returns the static section that lists every skill, for hosts that put a prompt together themselves.
    pub fn prompt(&self) -> SkillList {
        self.snapshot().discloser().prompt().clone()
    }

    /// Returns the static section that lists every skill for a model with a context window of so many tokens.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf"))?;
    /// # let text = format!("---\nname: pdf\ndescription: Reads PDF. {}\n---\n", "Every page of it. ".repeat(50));
    /// # std::fs::write(dir.path().join("pdf/SKILL.md"), text)?;
    /// use skillcue::{Skillcue, Tokens};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// assert!(skills.prompt_within(Tokens(200_000)).shortened.is_empty());
    /// assert_eq!(skills.prompt_within(Tokens(10_000)).shortened.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prompt_within(&self, window: Tokens) -> SkillList {
        self.snapshot().discloser_within(window).prompt().clone()
    }

    /// Returns the number of skills that models may see.
    pub fn census(&self) -> Census {
        let snapshot = self.snapshot();
        snapshot.selector().census(&snapshot.catalog)
    }

    /// Returns the skills that a conversation must be shown again after its host has compacted its context, most recent
    /// first, each with the arguments that it was loaded with.
    pub fn rehydrate(&self, session: &mut Session, budget: Budget) -> Rehydration {
        session.compacted();
        self.rehydrate_rest(session, budget)
    }

    /// Like [`rehydrate`](Skillcue::rehydrate), in at most `most` characters (UTF-16 units).
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf"))?;
    /// # std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF.\ntriggers: [pdf]\n---\nUse it.\n")?;
    /// use skillcue::{Request, Session, Skillcue};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// let mut session = Session::default();
    /// skills.disclose(Request::new("open a.pdf").session(&mut session));
    /// let again = skills.rehydrate_characters(&mut session, 9_000);
    /// assert!(again.text.ends_with("Use it.") && again.text.encode_utf16().count() <= 9_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rehydrate_characters(&self, session: &mut Session, most: usize) -> Rehydration {
        let snapshot = self.snapshot();
        session.compacted();
        let before = session.clone();
        let bodies = LoadedBodies { skills: self, session: Some(&before) };
        let config = snapshot.discloser().config();
        let make = |budget| {
            let mut after = before.clone();
            let discloser = snapshot.discloser_by_characters(config.policy, budget);
            (discloser.rehydrate_rest(&mut after, budget, &bodies), after)
        };
        let (shown, after) = within_characters(most, config.budget(), make, |(shown, _)| &shown.text);
        *session = after;
        shown
    }

    /// Like [`rehydrate`](Skillcue::rehydrate), for a conversation whose host has dropped a part of its context: what the
    /// session has in context is not shown again.
    pub fn rehydrate_rest(&self, session: &mut Session, budget: Budget) -> Rehydration {
        let snapshot = self.snapshot();
        let before = session.clone();
        let bodies = LoadedBodies { skills: self, session: Some(&before) };
        snapshot.discloser().rehydrate_rest(session, budget, &bodies)
    }

    fn shown(
        &self,
        snapshot: &Snapshot,
        discloser: &Discloser,
        turn: &Turn<'_>,
        session: Option<&Session>,
        options: &SelectOptions,
        eagerness: Option<f32>,
    ) -> Disclosure {
        let mode = options.mode;
        // Made once, and not for this message alone: it does not count as deciding.
        let census = snapshot.selector().census(&snapshot.catalog);
        if mode != Mode::Keyword {
            snapshot.texts();
        }
        let start = Instant::now();
        let selection = self.judged_select(snapshot, turn, options, eagerness);
        let selected = start.elapsed();
        prime(discloser, selection.intent == Intent::Registry);
        let start = Instant::now();
        let bodies = LoadedBodies { skills: self, session };
        let closest = closest(snapshot, discloser, turn, mode, &selection);
        let (message, closest) = (turn.message(), &closest[..]);
        let usual = Situation::new(census, &selection, &bodies);
        let situation = Situation { message, session, mode, closest, eagerness, ..usual };
        let mut shown = discloser.disclose(&situation);
        shown.elapsed = selected + start.elapsed();
        shown.trace();
        shown
    }

    /// Returns level 2 of a skill. For a remote one only a sentence on how to load it: nothing is fetched ahead of
    /// need, and no message waits for a server. So, too, for one that is held back, unless the conversation has seen
    /// exactly this text already: the load was allowed then.
    fn body(&self, skill: &Skill, arguments: &str, session: Option<&Session>) -> Result<Arc<str>, String> {
        let name = skill.name();
        if let Some(server) = skill.server() {
            let from = match skill.source() {
                Source::Catalog => format!("The catalog \"{server}\" has this skill"),
                _ => format!("The MCP server \"{server}\" serves this skill"),
            };
            let text = format!("{from}. `load_skill` with the id \"{name}\" loads it.");
            return Ok(text.into());
        }
        let load = |arguments| {
            let request = LoadRequest { arguments, ..LoadRequest::default() };
            self.loads().load(&skill.body_file(), &request).map(|loaded| loaded.content)
        };
        let body = load("").map_err(|error| error.to_string())?;
        let is_held = self.held.holds(skill) && !session.is_some_and(|session| session.has_seen(skill, &body));
        if let Some(text) = self.stand_in.text(skill, &body, is_held) {
            return Ok(text);
        }
        if is_held {
            let text = format!(
                "The user has not allowed this skill yet. `load_skill` with the id \"{name}\" asks, and loads it."
            );
            return Ok(text.into());
        }
        if arguments.is_empty() { Ok(body) } else { load(arguments).map_err(|error| error.to_string()) }
    }
}

/// Makes a text of at most `most` characters: with a budget of bodies that is reduced until headings and lines fit, too.
/// Where no body fits, lines that name skills are left, which have less than a thousand characters.
fn within_characters<T>(most: usize, budget: Budget, make: impl Fn(Budget) -> T, text: impl Fn(&T) -> &String) -> T {
    // No limit at all would be zero.
    let mut total = (most / 4).min(budget.total.filter(|total| total.0 > 0).map_or(usize::MAX, |total| total.0)).max(1);
    loop {
        let made = make(Budget { total: Some(Tokens(total)), ..budget });
        let over = Characters4::length(text(&made)).saturating_sub(most);
        if over == 0 || total == 1 {
            return made;
        }
        total = total.saturating_sub(over.div_ceil(4)).max(1);
    }
}

/// Returns the closest skills, where the configuration wants them named and nothing matches. Triggers have no near
/// misses; texts have.
pub(crate) fn closest(
    snapshot: &Snapshot,
    discloser: &Discloser,
    turn: &Turn<'_>,
    mode: Mode,
    selection: &Selection,
) -> Vec<Hit> {
    let asks = discloser.config().fallback == Fallback::AskUser && selection.hits.is_empty();
    if asks { snapshot.closest(turn, mode, MAX_CLOSEST) } else { Vec::new() }
}

/// The bodies for a conversation.
pub(crate) struct LoadedBodies<'a> {
    pub(crate) skills: &'a Skillcue,
    pub(crate) session: Option<&'a Session>,
}

impl BodySource for LoadedBodies<'_> {
    fn body(&self, skill: &Skill) -> Result<Arc<str>, String> {
        self.skills.body(skill, "", self.session)
    }

    fn body_with(&self, skill: &Skill, arguments: &str) -> Result<Arc<str>, String> {
        self.skills.body(skill, arguments, self.session)
    }

    fn is_elsewhere(&self, skill: &Skill) -> bool {
        skill.server().is_some()
    }

    fn file_head(&self, skill: &Skill, path: &str) -> Option<FileHead> {
        // Nothing is fetched from a server, and nothing is shown of a skill that is held back.
        if skill.server().is_some() || self.skills.held.holds(skill) {
            return None;
        }
        let bytes = self.skills.read_file(skill, path).ok()?;
        let size = bytes.len() as u64;
        let text = String::from_utf8(bytes).ok()?;
        Some(FileHead { text: text[..text.floor_char_boundary(FILE_HEAD)].to_owned(), bytes: size })
    }

    fn may_suggest(&self, skill: &Skill) -> bool {
        // A server that does not answer for its skill any more has allowed nothing.
        let is_allowed = match self.skills.served(skill) {
            Ok(served) => served.is_none_or(|served| served.remote.is_allowed(&served.entry)),
            Err(_) => false,
        };
        is_allowed && !self.skills.held.holds(skill)
    }
}
