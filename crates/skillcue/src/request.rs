//! [`Request`]: one message, and options for selecting and disclosing skills for it.

use skillcue_disclose::{Budget, Policy, Session};
use skillcue_select::{Mode, SelectOptions, Turn, languages_of};

/// A message, facts about it, and options for selecting and disclosing skills for it.
///
/// [`Skillcue::select`](crate::Skillcue::select), [`explain`](crate::Skillcue::explain) and
/// [`disclose`](crate::Skillcue::disclose) take the same request. Options that it does not set are those of the
/// [`Builder`](crate::Builder).
///
/// ```
/// use skillcue::{Budget, Mode, Policy, Request, Session, Tokens};
///
/// let changed = vec![String::from("src/main.rs")];
/// let mut session = Session::default();
/// let request = Request::new("fill in the form")
///     .files(["form.pdf"])
///     .languages(["rust"])
///     .nearby(&changed)
///     .session(&mut session)
///     .policy(Policy::Inject)
///     .budget(Budget { total: Some(Tokens(4000)), ..Budget::default() })
///     .mode(Mode::Keyword);
/// # let _ = request;
/// ```
#[derive(Debug, Default)]
#[must_use = "a request does nothing until it is passed to a Skillcue"]
pub struct Request<'a> {
    pub(crate) turn: Turn<'a>,
    pub(crate) session: Option<&'a mut Session>,
    pub(crate) policy: Option<Policy>,
    pub(crate) budget: Option<Budget>,
    pub(crate) mode: Option<Mode>,
    pub(crate) limit: Option<usize>,
    pub(crate) characters: Option<usize>,
    pub(crate) eagerness: Option<f32>,
    pub(crate) conversation: &'a str,
}

impl<'a> Request<'a> {
    /// Starts with the latest user message.
    pub fn new(message: &'a str) -> Request<'a> {
        Turn::new(message).into()
    }

    /// Adds paths of files that the message is about, and their programming languages.
    pub fn files(mut self, paths: impl IntoIterator<Item = impl AsRef<str>>) -> Request<'a> {
        let paths: Vec<_> = paths.into_iter().collect();
        self.turn = self.turn.languages(languages_of(&paths)).files(paths);
        self
    }

    /// Adds programming languages that the message is about.
    pub fn languages(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Request<'a> {
        self.turn = self.turn.languages(names);
        self
    }

    /// Adds paths of files that are merely at hand, such as those with uncommitted changes. They, and their languages,
    /// raise the score of skills that are selected for another reason, and select none by themselves.
    pub fn nearby(mut self, paths: impl IntoIterator<Item = impl AsRef<str>>) -> Request<'a> {
        self.turn = self.turn.nearby(paths);
        self
    }

    /// Adds earlier user messages, latest first. They count less the earlier they are.
    pub fn earlier(mut self, messages: impl IntoIterator<Item = impl AsRef<str>>) -> Request<'a> {
        self.turn = self.turn.earlier(messages);
        self
    }

    /// Sets the conversation that the message belongs to: texts that it has been shown are not shown again, skills that
    /// it has used score higher, and disclosing adds to it.
    pub fn session(mut self, session: &'a mut Session) -> Request<'a> {
        self.turn = self.turn.recent(session.recent());
        self.session = Some(session);
        self
    }

    /// Sets where the disclosed text is placed. With a policy or a budget other than the builder's, the parts that
    /// depend on the whole catalog are made for this request alone.
    pub fn policy(mut self, policy: Policy) -> Request<'a> {
        self.policy = Some(policy);
        self
    }

    /// Sets how many tokens bodies may take.
    pub fn budget(mut self, budget: Budget) -> Request<'a> {
        self.budget = Some(budget);
        self
    }

    /// Limits the turn's text to a number of characters (UTF-16 units), headings and last lines included: for hosts
    /// that cut what is longer. The parts of bodies that fit the message are shown as far as there is room, every gap
    /// with a line. Costs are counted as a quarter of the characters, and the budget for each skill still applies. A limit
    /// below a thousand may be exceeded by the lines that name skills.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf"))?;
    /// # let filler = "Much more to read here.\n".repeat(400);
    /// # let text = format!("---\nname: pdf\ndescription: Reads PDF.\ntriggers: [pdf]\n---\nReads.\n\n# Merge\n\n{filler}\n# Forms\n\nFill them in.\n");
    /// # std::fs::write(dir.path().join("pdf/SKILL.md"), text)?;
    /// use skillcue::{Request, Session, Skillcue};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// let mut session = Session::default();
    /// let shown = skills.disclose(Request::new("fill in a form of this pdf").session(&mut session).characters(9_000));
    /// assert!(shown.turn.encode_utf16().count() <= 9_000);
    /// assert!(shown.turn.contains("# Forms\n\nFill them in.") && shown.turn.contains("[Not shown: Merge ("));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn characters(mut self, most: usize) -> Request<'a> {
        self.characters = Some(most);
        self
    }

    /// Sets the id of the conversation, for [events of use](crate::usage).
    pub fn conversation(mut self, id: &'a str) -> Request<'a> {
        self.conversation = id;
        self
    }

    /// Sets how readily skills are shown and named, from 0 to 1; other numbers count as the nearest of these.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// use skillcue::{Request, Skillcue};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// let body = |eagerness| skills.disclose(Request::new("fill in a form").eagerness(eagerness)).thresholds.body;
    /// assert!(body(0.9) < body(0.1), "the more eager, the less certainty is enough");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn eagerness(mut self, eagerness: f32) -> Request<'a> {
        self.eagerness = Some(if eagerness.is_nan() { 0.5 } else { eagerness.clamp(0.0, 1.0) });
        self
    }

    /// Sets how the message is matched.
    pub fn mode(mut self, mode: Mode) -> Request<'a> {
        self.mode = Some(mode);
        self
    }

    /// Sets how many hits are returned at most, best first. [`Selection::matched`](crate::Selection::matched) counts
    /// all.
    pub fn limit(mut self, limit: usize) -> Request<'a> {
        self.limit = Some(limit);
        self
    }

    /// Returns the options for selecting, with the builder's mode where the request has none.
    pub(crate) fn options(&self, mode: Mode) -> SelectOptions {
        let usual = SelectOptions::default();
        SelectOptions { mode: self.mode.unwrap_or(mode), limit: self.limit.unwrap_or(usual.limit) }
    }
}

impl<'a> From<Turn<'a>> for Request<'a> {
    fn from(turn: Turn<'a>) -> Request<'a> {
        Request { turn, ..Request::default() }
    }
}

impl<'a> From<&'a str> for Request<'a> {
    fn from(message: &'a str) -> Request<'a> {
        Request::new(message)
    }
}

impl<'a> From<&'a String> for Request<'a> {
    fn from(message: &'a String) -> Request<'a> {
        Request::new(message)
    }
}
