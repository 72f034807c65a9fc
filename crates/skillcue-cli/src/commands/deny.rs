//! `skillcue deny`: takes consent back.

use std::path::{Path, PathBuf};

use skillcue::consent::{Consent, Subject};
use skillcue_host::absolute;

use crate::consent::{json, project_named, short, this_project};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue deny weather          everything of a skill
  skillcue deny acme:refunds     a remote skill, also one of a signed catalog
  skillcue deny --server acme    all skills of a server
  skillcue deny                  the skillcue.toml of this project
  skillcue deny --all            everything

It counts at once, for running programs, too; what was allowed for a session only ends with the session.
A name means everything that was allowed under it, also of a skill that is gone; NAME@SOURCE, PLUGIN:NAME and what
ends with #2 mean one skill. A skill of a catalog with `trust = \"signed\"` is refused, whatever it becomes, until it is
allowed; a whole one is left out with `enabled = false` below its [[catalog]]. It exits with 1 if nothing of what was named was allowed.
`skillcue allowed` lists what is left. With --json it prints what was taken back, as `skillcue allowed --json` does.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// A skill's NAME, SERVER:NAME or SERVER:URI of a remote skill, or the PATH of a project with a slash in it;
    /// without, this project
    #[arg(value_name = "SUBJECT", conflicts_with_all = ["server", "all"])]
    subjects: Vec<String>,
    /// All skills of a server
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    server: Option<String>,
    /// Everything that is allowed
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let names_nothing = args.subjects.is_empty() && args.server.is_none() && !args.all;
    let mut meant: Vec<(String, DenyTarget)> =
        args.subjects.iter().map(|word| (word.clone(), DenyTarget::by(word, context))).collect();
    if names_nothing {
        let project = this_project(context)?;
        meant.push((
            project.to_string_lossy().into_owned(),
            DenyTarget::Project(Subject::project(project), real(project)),
        ));
    }
    if let Some(server) = &args.server {
        meant.push((server.clone(), DenyTarget::Server(server.clone())));
    }
    let refused = refuse_signed(&meant, context)?;
    let is_meant = |consent: &Consent| args.all || meant.iter().any(|(_, meant)| meant.is(&consent.subject));
    let withdrawn = context.host()?.consent_store().withdraw(is_meant)?;
    let document: Vec<_> = withdrawn.iter().map(|consent| json(consent, false)).collect();
    let mut names: Vec<String> = withdrawn.iter().map(|consent| short(&consent.subject)).collect();
    names.dedup();
    let mut said: Vec<String> = Vec::new();
    if !names.is_empty() {
        said.push(format!("not allowed any more: {}", text::one_line(&names.join(", "))));
    }
    if !refused.is_empty() {
        let names = text::one_line(&refused.iter().map(short).collect::<Vec<_>>().join(", "));
        said.push(format!("denied: {names}; `skillcue allow` allows it again"));
    }
    let in_vain = meant.iter().filter(|(_, meant)| {
        !withdrawn.iter().map(|consent| &consent.subject).chain(&refused).any(|subject| meant.is(subject))
    });
    let in_vain: Vec<&str> = in_vain.map(|(word, _)| word.as_str()).collect();
    let outcome = context.report(Outcome::of(in_vain.is_empty()), &document, || Printout::default().remarks(said))?;
    if !in_vain.is_empty() {
        let names = text::one_line(&in_vain.join(", "));
        context.terminal.say(&format!("nothing was allowed to {names}; `skillcue allowed` lists what is"));
    }
    Ok(outcome)
}

/// Refuses the skills of signed catalogs that are meant by their names, and returns them. They may be loaded without
/// consent, so that taking consent back would change nothing.
#[cfg(feature = "fleet")]
fn refuse_signed(meant: &[(String, DenyTarget)], context: &Context) -> Result<Vec<Subject>, CliError> {
    let Some(catalogs) = context.host()?.catalogs()? else { return Ok(Vec::new()) };
    let is_named = |target: &DenyTarget| matches!(target, DenyTarget::Remote { .. } | DenyTarget::Name(_));
    let mut refused = Vec::new();
    for remote in catalogs.remotes().iter().filter(|remote| remote.is_trusted()) {
        for entry in remote.entries().iter() {
            let Some(question) = catalogs.question(remote.label(), entry) else { continue };
            if meant.iter().any(|(_, target)| is_named(target) && target.is(&question.subject)) {
                context.host()?.consent_store().refuse(&question)?;
                refused.push(question.subject);
            }
        }
    }
    Ok(refused)
}

#[cfg(not(feature = "fleet"))]
fn refuse_signed(_: &[(String, DenyTarget)], _: &Context) -> Result<Vec<Subject>, CliError> {
    Ok(Vec::new())
}

/// The meaning of a word that a person typed.
enum DenyTarget {
    /// A project; a skill that is, or was, in exactly this directory.
    Project(Subject, PathBuf),
    /// All skills of a server.
    Server(String),
    /// Exactly this skill of a server.
    Remote { label: String, uri: String },
    /// Exactly the skill of this name in one of these directories.
    Skill { name: String, dirs: Vec<PathBuf> },
    /// Whatever was allowed under this name. Rather one too many than one too few.
    Name(String),
}

impl DenyTarget {
    fn by(word: &str, context: &Context) -> DenyTarget {
        if let Some(project) = project_named(word) {
            return DenyTarget::Project(Subject::project(&project), real(&absolute(word.as_ref())));
        }
        // An address is that of one skill; a name alone may have been that of several, one after the other.
        let is_address = !word.contains("://") && word.contains(['@', '#', ':']);
        if is_address
            && let Ok(skills) = context.skills()
            && let Some(skill) = skills.catalog().get(word)
        {
            return match skill.server() {
                Some(_) if skill.name() == word => DenyTarget::Name(word.to_owned()),
                Some(server) => {
                    DenyTarget::Remote { label: server.to_owned(), uri: skill.path().to_string_lossy().into_owned() }
                }
                None => DenyTarget::Skill {
                    name: skill.name().to_owned(),
                    dirs: skill.locations().iter().map(|place| real(&place.dir)).collect(),
                },
            };
        }
        // The skill is gone: the name is left.
        let numbered =
            word.rsplit_once('#').filter(|(_, nth)| !nth.is_empty() && nth.bytes().all(|b| b.is_ascii_digit()));
        DenyTarget::Name(numbered.map_or(word, |(name, _)| name).to_owned())
    }

    fn is(&self, subject: &Subject) -> bool {
        match (self, subject) {
            (DenyTarget::Project(project, dir), _) => project == subject || subject.dir() == Some(dir),
            (DenyTarget::Server(server), Subject::RemoteSkill { label, .. }) => label == server,
            (DenyTarget::Remote { label, uri }, Subject::RemoteSkill { label: of, uri: at, .. }) => {
                label == of && uri == at
            }
            (DenyTarget::Skill { name, dirs }, _) => {
                subject.skill() == Some(name) && subject.dir().is_some_and(|dir| dirs.iter().any(|it| it == dir))
            }
            (DenyTarget::Name(word), Subject::RemoteSkill { label, name, uri, .. }) => {
                word == uri || [name, uri].iter().any(|it| word.strip_prefix(&**label) == Some(&format!(":{it}")))
            }
            // As `name`, `name@source` or `plugin:name`.
            (DenyTarget::Name(word), _) => subject.skill().is_some_and(|skill| {
                let word = word.split_once('@').map_or(word.as_str(), |(name, _)| name);
                word == skill || word.rsplit_once(':').is_some_and(|(_, name)| name == skill)
            }),
            (DenyTarget::Server(_) | DenyTarget::Remote { .. }, _) => false,
        }
    }
}

/// Returns the path as subjects have it.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
