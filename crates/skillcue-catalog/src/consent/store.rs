//! Consent that is remembered in a file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use skillcue_base::{Records, RecordsError};

use super::{Answer, ConsentError, ConsentGate, Observed, Question, ResolvedPermissions, Scope, Subject};
use crate::ContentId;

/// Something that a person has allowed: exactly this content, with exactly these permissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Consent {
    /// The thing that is allowed.
    pub subject: Subject,
    /// Its content.
    pub content: ContentId,
    /// For how long it counts. In a file it is always [`Scope::Always`].
    pub scope: Scope,
    /// The permissions beyond the sandbox.
    pub permissions: ResolvedPermissions,
    /// When it was given, by RFC 3339.
    pub since: String,
    /// Whether other content has been seen since. It then counts no longer, even if the content comes back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// Whether it is a refusal: the subject is not allowed, whatever its content. `changed` is set as well, so that
    /// programs that do not know refusals do not take one for consent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
}

impl Consent {
    fn new(question: &Question, scope: Scope) -> Consent {
        Consent {
            subject: question.subject.clone(),
            content: question.content,
            scope,
            permissions: question.permissions.clone(),
            since: skillcue_base::rfc3339_seconds(SystemTime::now()),
            changed: false,
            denied: false,
        }
    }

    fn answers(&self, question: &Question) -> bool {
        !self.changed
            && !self.denied
            && self.subject.covers(&question.subject)
            && self.content == question.content
            && self.permissions.cover(&question.permissions)
    }
}

/// Consent in a file that several processes share, and consent for this process alone. Cheap to clone.
///
/// A yes for once is used up by the first answer that it allows. A yes for good replaces all that was allowed to the
/// subject before; one for once or for the process replaces what was allowed for these, and leaves the file as it is.
///
/// A file that cannot be read is an error, never an empty one: nothing counts as allowed, and nothing is written over
/// it.
///
/// ```
/// use skillcue_base::Digest;
/// use skillcue_catalog::ContentId;
/// use skillcue_catalog::consent::{ConsentGate, ConsentStore, Question, Scope, Subject};
///
/// let tmp = tempfile::tempdir()?;
/// let file = tmp.path().join("data/consent.json");
/// let settings = ContentId::of_listed([("skillcue.toml", Digest::of("[run]\ntimeout_s = 5\n"))]);
/// let question = Question::new(Subject::project(tmp.path()), settings);
/// ConsentStore::new(Some(file.clone())).remember(&question, Scope::Always)?;
///
/// let other_process = ConsentStore::new(Some(file));
/// assert!(other_process.answer(&question).is_allowed());
/// assert_eq!(other_process.withdraw(|consent| consent.subject.kind() == "project")?.len(), 1);
/// assert!(!other_process.answer(&question).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ConsentStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kept: Records<Consent>,
    /// Consent for this process alone.
    here: Mutex<Vec<Consent>>,
}

impl Default for ConsentStore {
    /// Allows nothing, and remembers in memory.
    fn default() -> ConsentStore {
        ConsentStore::new(None)
    }
}

impl ConsentStore {
    /// Opens the file at `path`; without one, consent lasts as long as this value and its clones.
    pub fn new(path: Option<PathBuf>) -> ConsentStore {
        ConsentStore(Arc::new(Inner { kept: Records::new("consents", path), here: Mutex::default() }))
    }

    /// Returns the file.
    pub fn path(&self) -> Option<&Path> {
        self.0.kept.path()
    }

    /// Returns all consent in the file, also what counts no longer, by subject.
    pub fn list(&self) -> Vec<Consent> {
        let mut list = self.0.kept.list();
        list.retain(|consent| !consent.denied);
        list.sort_by(|a, b| a.subject.cmp(&b.subject));
        list
    }

    /// Returns all refusals in the file, by subject.
    pub fn refusals(&self) -> Vec<Consent> {
        let mut list = self.0.kept.list();
        list.retain(|consent| consent.denied);
        list.sort_by(|a, b| a.subject.cmp(&b.subject));
        list
    }

    /// Remembers that a person has said no to a subject, whatever its content becomes. It replaces what was allowed to it;
    /// [`Scope::Always`] of [`ConsentGate::remember`] takes it back.
    pub fn refuse(&self, question: &Question) -> Result<(), ConsentError> {
        let refusal = Consent { changed: true, denied: true, ..Consent::new(question, Scope::Always) };
        let put = |list: &mut Vec<Consent>| {
            list.retain(|known| !known.subject.is_replaced_by(&refusal.subject));
            list.push(refusal.clone());
        };
        self.0.kept.change(put)?;
        skillcue_base::lock(&self.0.here).retain(|known| !known.subject.is_replaced_by(&refusal.subject));
        Ok(())
    }

    /// Withdraws the consent for which `is_meant` returns true, in the file and for this process. Returns it.
    /// Refusals stay.
    pub fn withdraw(&self, is_meant: impl Fn(&Consent) -> bool) -> Result<Vec<Consent>, ConsentError> {
        let is_meant = |consent: &Consent| !consent.denied && is_meant(consent);
        if let Some(trouble) = self.0.kept.trouble() {
            return Err(RecordsError::Format(trouble).into());
        }
        let mut withdrawn: Vec<Consent> =
            skillcue_base::lock(&self.0.here).extract_if(.., |consent| is_meant(consent)).collect();
        // Without anything to take back, no file is made or locked.
        if self.0.kept.look(|kept| kept.iter().any(&is_meant)) {
            withdrawn.extend(
                self.0.kept.change(|kept| kept.extract_if(.., |consent| is_meant(consent)).collect::<Vec<_>>())?,
            );
        }
        withdrawn.sort_by(|a, b| a.subject.cmp(&b.subject));
        Ok(withdrawn)
    }

    /// Returns whether consent of this process answers a question. What was given for once is used up by it.
    fn take(&self, question: &Question) -> bool {
        let mut here = skillcue_base::lock(&self.0.here);
        let answers = |consent: &Consent| consent.answers(question);
        if here.iter().any(|consent| consent.scope != Scope::Once && answers(consent)) {
            return true;
        }
        let once = here.iter().position(answers);
        once.map(|at| here.remove(at)).is_some()
    }

    /// Returns whether any consent, in the file or for this process, `is_meant`.
    fn any(&self, mut is_meant: impl FnMut(&Consent) -> bool) -> bool {
        self.0.kept.look(|kept| kept.iter().any(&mut is_meant))
            || skillcue_base::lock(&self.0.here).iter().any(&mut is_meant)
    }
}

impl ConsentGate for ConsentStore {
    fn answer(&self, question: &Question) -> Answer {
        let refuses = |consent: &Consent| consent.denied && consent.subject.covers(&question.subject);
        if self.0.kept.look(|kept| kept.iter().any(refuses)) {
            Answer::Denied
        } else if self.0.kept.look(|kept| kept.iter().any(|consent| consent.answers(question))) || self.take(question) {
            Answer::Allowed
        } else if self.knows(&question.subject) {
            Answer::Changed
        } else {
            Answer::NotAsked
        }
    }

    fn remember(&self, question: &Question, scope: Scope) -> Result<(), ConsentError> {
        let consent = Consent::new(question, scope);
        let put = |list: &mut Vec<Consent>| {
            list.retain(|known| !known.subject.is_replaced_by(&consent.subject));
            list.push(consent.clone());
        };
        if scope == Scope::Always {
            self.0.kept.change(put)?;
            skillcue_base::lock(&self.0.here).retain(|known| !known.subject.is_replaced_by(&consent.subject));
        } else {
            put(&mut skillcue_base::lock(&self.0.here));
        }
        Ok(())
    }

    fn knows(&self, subject: &Subject) -> bool {
        self.any(|consent| consent.subject.covers(subject))
    }

    fn observe(&self, now: &dyn Fn(&Subject) -> Observed) -> Result<(), ConsentError> {
        let ends = |consent: &Consent| {
            !consent.changed
                && match now(&consent.subject) {
                    Observed::NotSeen => false,
                    Observed::Content(content) => content != consent.content,
                    Observed::NoContent => true,
                }
        };
        for consent in skillcue_base::lock(&self.0.here).iter_mut() {
            consent.changed |= ends(consent);
        }
        // Most of the time nothing has changed, and no file is locked.
        if self.0.kept.look(|kept| kept.iter().any(ends)) {
            self.0.kept.change(|kept| {
                for consent in kept {
                    consent.changed |= ends(consent);
                }
            })?;
        }
        Ok(())
    }

    fn directory(&self) -> Option<&Path> {
        self.path().and_then(Path::parent)
    }

    fn trouble(&self) -> Option<String> {
        self.0.kept.trouble()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SkillDir;
    use skillcue_base::ErrorInfo as _;
    use skillcue_format::Permissions;

    fn content(text: &str) -> ContentId {
        ContentId::of_listed([("a", skillcue_base::Digest::of(text))])
    }

    fn remote(server: &str, name: &str) -> Subject {
        let uri = format!("skill://{name}/SKILL.md");
        Subject::RemoteSkill { label: "acme".into(), server: server.into(), uri, name: name.into() }
    }

    /// A subject of every kind.
    fn subjects(dir: &Path) -> Vec<Subject> {
        let skill = SkillDir::open("a", dir).unwrap();
        vec![
            Subject::project(dir),
            remote("url", "pdf"),
            Subject::load(&skill),
            Subject::script(&skill, "run.sh"),
            Subject::toolset(&skill),
            Subject::tool(&skill, "add"),
        ]
    }

    #[test]
    fn exactly_this_content_is_allowed_until_it_is_taken_back() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("data/consent.json");
        let (one, other) = (ConsentStore::new(Some(path.clone())), ConsentStore::new(Some(path)));
        for subject in subjects(tmp.path()) {
            let question = Question::new(subject.clone(), content("one"));
            assert_eq!(other.answer(&question), Answer::NotAsked, "{subject}");
            one.remember(&question, Scope::Always).unwrap();
            assert_eq!(other.answer(&question), Answer::Allowed, "{subject}: another process sees it");
            let changed = Question::new(subject.clone(), content("two"));
            assert_eq!(other.answer(&changed), Answer::Changed, "{subject}");
            assert_eq!(other.answer(&question), Answer::Allowed, "{subject}: asking changes nothing");
            let withdrawn = other.withdraw(|consent| consent.subject == subject).unwrap();
            assert_eq!(withdrawn.len(), 1, "{subject}");
            assert_eq!(one.answer(&question), Answer::NotAsked, "{subject}");
        }
        assert!(one.list().is_empty());
    }

    #[test]
    fn other_subjects_and_permissions_are_other_questions() {
        let tmp = tempfile::tempdir().unwrap();
        let all = subjects(tmp.path());
        let permissions = |network| ResolvedPermissions {
            asked: Permissions { network, ..Permissions::default() },
            ..ResolvedPermissions::default()
        };
        for subject in &all {
            let store = ConsentStore::default();
            store.remember(&Question::new(subject.clone(), content("one")), Scope::Always).unwrap();
            for other in &all {
                let covered = subject == other || (subject.kind(), other.kind()) == ("toolset", "tool");
                let answer = store.answer(&Question::new(other.clone(), content("one")));
                assert_eq!(answer.is_allowed(), covered, "{subject} and {other}");
            }
            let more = Question::new(subject.clone(), content("one")).with_permissions(permissions(true));
            assert_eq!(store.answer(&more), Answer::Changed, "{subject}");
            store.remember(&more, Scope::Always).unwrap();
            let less = Question::new(subject.clone(), content("one"));
            assert!(store.answer(&more).is_allowed() && store.answer(&less).is_allowed(), "{subject}");
            assert_eq!(store.list().len(), 1, "{subject}: replaced");
        }
        let store = ConsentStore::default();
        store.remember(&Question::new(remote("url", "pdf"), content("one")), Scope::Always).unwrap();
        let elsewhere = Question::new(remote("other url", "pdf"), content("one"));
        assert_eq!(store.answer(&elsewhere), Answer::NotAsked, "another server under that label");
    }

    #[test]
    fn a_refusal_counts_for_any_content_until_it_is_allowed_for_good() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("consent.json");
        let (one, other) = (ConsentStore::new(Some(path.clone())), ConsentStore::new(Some(path)));
        let [old, new] = ["one", "two"].map(|text| Question::new(remote("url", "pdf"), content(text)));
        one.remember(&old, Scope::Session).unwrap();
        one.remember(&old, Scope::Always).unwrap();
        one.refuse(&old).unwrap();
        for store in [&one, &other] {
            assert_eq!((store.answer(&old), store.answer(&new)), (Answer::Denied, Answer::Denied));
            assert!(store.knows(&old.subject) && store.list().is_empty());
        }
        one.remember(&old, Scope::Session).unwrap();
        assert_eq!(one.answer(&old), Answer::Denied, "a yes for the process does not undo a no for good");
        assert_eq!(other.withdraw(|_| true).unwrap(), [], "taking everything back allows nothing");
        let [kept] = &other.refusals()[..] else { panic!("not one refusal") };
        assert!(kept.changed && kept.denied, "an older program takes it for consent that is over");
        let elsewhere = Question::new(remote("other url", "pdf"), content("one"));
        assert_eq!(other.answer(&elsewhere), Answer::NotAsked);
        other.remember(&new, Scope::Always).unwrap();
        assert_eq!((other.answer(&new), other.refusals()), (Answer::Allowed, Vec::new()));
    }

    #[test]
    fn content_that_was_seen_otherwise_is_over_for_good() {
        let store = ConsentStore::default();
        let question = Question::new(remote("url", "pdf"), content("one"));
        for scope in [Scope::Session, Scope::Always] {
            store.remember(&question, scope).unwrap();
        }
        let sees = |seen: Observed| move |_: &Subject| seen.clone();
        store.observe(&sees(Observed::NotSeen)).unwrap();
        store.observe(&sees(Observed::Content(content("one")))).unwrap();
        assert!(store.answer(&question).is_allowed());
        store.observe(&sees(Observed::Content(content("two")))).unwrap();
        assert_eq!(store.answer(&question), Answer::Changed, "going back does not help");
        store.remember(&question, Scope::Always).unwrap();
        assert!(store.answer(&question).is_allowed(), "a person looks again");
        store.observe(&sees(Observed::NoContent)).unwrap();
        assert_eq!(store.answer(&question), Answer::Changed);
    }

    #[test]
    fn once_is_not_written_down() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("consent.json");
        let store = ConsentStore::new(Some(path.clone()));
        let question = Question::new(Subject::project(tmp.path()), content("one"));
        store.remember(&question, Scope::Session).unwrap();
        assert!(store.answer(&question).is_allowed() && store.clone().answer(&question).is_allowed());
        assert!(!path.exists() && !ConsentStore::new(Some(path)).answer(&question).is_allowed());
        assert_eq!(store.withdraw(|_| true).unwrap().len(), 1);
        assert!(!store.answer(&question).is_allowed());
    }

    #[test]
    fn once_is_once() {
        let store = ConsentStore::default();
        let question = Question::new(remote("url", "pdf"), content("one"));
        store.remember(&question, Scope::Once).unwrap();
        let other = Question::new(remote("url", "pdf"), content("two"));
        assert_eq!(store.answer(&other), Answer::Changed, "a no uses nothing up");
        assert_eq!(store.answer(&question), Answer::Allowed);
        assert_eq!(store.answer(&question), Answer::NotAsked);
        store.remember(&question, Scope::Always).unwrap();
        store.remember(&other, Scope::Once).unwrap();
        assert!(store.answer(&other).is_allowed() && !store.answer(&other).is_allowed());
        assert!(store.answer(&question).is_allowed(), "what is in the file stays");
    }

    #[test]
    fn a_yes_for_good_replaces_one_for_the_process() {
        let store = ConsentStore::default();
        let [old, new] = ["old", "new"].map(|text| Question::new(remote("url", "pdf"), content(text)));
        for scope in [Scope::Once, Scope::Session] {
            store.remember(&old, scope).unwrap();
            store.remember(&new, Scope::Always).unwrap();
            assert_eq!((store.answer(&old), store.answer(&new)), (Answer::Changed, Answer::Allowed), "{scope:?}");
        }
    }

    #[test]
    fn a_broken_file_allows_nothing_and_is_never_overwritten() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("consent.json");
        let question = Question::new(Subject::project(tmp.path()), content("one"));
        let newer = r#"{"version":2,"consents":[]}"#;
        for broken in ["{", "", r#"{"version":1,"consents":[{"subject":{"kind":"?"}}]}"#, newer] {
            std::fs::write(&path, broken).unwrap();
            let store = ConsentStore::new(Some(path.clone()));
            assert!(!store.answer(&question).is_allowed() && store.trouble().is_some(), "{broken}");
            assert_eq!(store.remember(&question, Scope::Always).unwrap_err().code(), "consent", "{broken}");
            assert_eq!(store.withdraw(|_| true).unwrap_err().code(), "consent", "{broken}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
            assert_eq!(std::fs::read_dir(tmp.path()).unwrap().count(), 2, "the file and its lock");
        }
    }

    #[test]
    fn concurrent_consent_is_kept_completely() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("consent.json");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let path = path.clone();
                scope.spawn(move || {
                    // Each with its own handle, as separate processes have.
                    let store = ConsentStore::new(Some(path));
                    for n in 0..5 {
                        let subject = remote("url", &format!("s{thread}-{n}"));
                        store.remember(&Question::new(subject, content("x")), Scope::Always).unwrap();
                    }
                });
            }
        });
        assert_eq!(ConsentStore::new(Some(path)).list().len(), 40);
    }
}
